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

// A line of a trace that is neither blank nor a comment, without its comment
// and the surrounding space.
struct Line {
  int number = 0;  // The file's first line has number 1.
  absl::string_view text;
};

// The first line of a trace, which says what the trace drives.
struct Header {
  std::string text;      // as written
  std::string subject;   // "queue base", "limiter" and so on
  std::string limiter;   // if the subject has one
  bool metrics = false;  // whether the queue has a metrics provider
  double rate = 0;       // of a bucket
  int64_t burst = 0;     // of a bucket
};

// One step of a trace.
struct Operation {
  std::string text;  // as written, without the result
  std::string name;  // "add", "metrics depth" and so on
  // For "addwith": after, priority, ratelimited, and then the items.
  std::vector<Value> args;
  Result want;
  std::string want_text;  // as written
  double tolerance = 0;   // the accepted difference of the result; see Agree()
};

// Returns the lines of `trace` that are neither blank nor comments. `trace`
// must outlive them.
std::vector<Line> SplitLines(absl::string_view trace);

// Parses the first line that `SplitLines()` returns.
absl::StatusOr<Header> ParseHeader(absl::string_view line);

// Returns whether `line` begins as a count. A count may follow the first line.
bool IsCount(absl::string_view line);

// Parses a count, and returns the number of operations of the trace.
absl::StatusOr<int64_t> ParseCount(absl::string_view line);

// Parses any other line.
absl::StatusOr<Operation> ParseOperation(absl::string_view line);

// Returns the names of all operations, and the names of all operations that
// have a result.
std::vector<std::string> OperationNames();
std::vector<std::string> OperationNamesWithResult();

}  // namespace conformance

#endif  // WORKQUEUE_TEST_CONFORMANCE_TRACE_H_
