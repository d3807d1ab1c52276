// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_CONFORMANCE_SUBJECT_H_
#define WORKQUEUE_TEST_CONFORMANCE_SUBJECT_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "test/conformance/trace.h"
#include "test/conformance/value.h"

namespace conformance {

// Subject
//
// This class is what a trace drives: an object of the library with its own
// `FakeClock`.
//
// A subclass calls `On()` in its constructor to define each of its operations.
class Subject {
 public:
  virtual ~Subject() = default;

  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  // Returns whether the subject has this operation.
  bool Has(absl::string_view operation) const {
    return actions_.contains(operation);
  }

  // Executes `operation`, which the subject must have, and returns its result.
  Result Do(const Operation& operation) {
    return actions_.find(operation.name)->second(operation.args);
  }

 protected:
  // The arguments of an operation. Their number and types are those that
  // `ParseOperation()` accepts.
  using Args = std::vector<Value>;
  using Action = std::function<Result(const Args&)>;

  Subject() = default;

  void On(absl::string_view operation, Action action) {
    actions_[operation] = std::move(action);
  }

 private:
  absl::flat_hash_map<std::string, Action> actions_;
};

}  // namespace conformance

#endif  // WORKQUEUE_TEST_CONFORMANCE_SUBJECT_H_
