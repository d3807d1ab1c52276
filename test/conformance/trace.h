// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_CONFORMANCE_TRACE_H_
#define WORKQUEUE_TEST_CONFORMANCE_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "test/conformance/value.h"

namespace conformance {

// A line of a trace that says something, without its comment and the space
// around it.
struct Line {
  int number = 0;  // the first line of the file is 1
  absl::string_view text;
};

// What a trace drives.
struct Header {
  std::string text;      // as written
  std::string subject;   // "queue base", "limiter" and so on
  std::string limiter;   // if the subject has one
  bool metrics = false;  // whether a metrics provider is attached
  double rate = 0;       // of a bucket
  int64_t burst = 0;     // of a bucket
};

// A step of a trace.
struct Operation {
  std::string text;         // as written, without the result
  std::string name;         // "add", "metrics depth" and so on
  std::vector<Value> args;  // those of "addwith" are: after, priority,
                            // ratelimited, and then the items
  Result want;
  std::string want_text;  // as written
  double tolerance = 0;   // by how much the result may differ; see Agree()
};

// Returns the lines of `trace`, which must outlive them, that are neither blank
// nor comment.
std::vector<Line> SplitLines(absl::string_view trace);

// Reads the first line that `SplitLines()` returns.
absl::StatusOr<Header> ParseHeader(absl::string_view line);

// Reads another one.
absl::StatusOr<Operation> ParseOperation(absl::string_view line);

// Returns the names of all operations that there are, and of those that have a
// result.
std::vector<std::string> OperationNames();
std::vector<std::string> OperationNamesWithResult();

}  // namespace conformance

#endif  // WORKQUEUE_TEST_CONFORMANCE_TRACE_H_
