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

// What a trace drives: something of the library, on a `FakeClock` of its own.
//
// A subclass says with `On()` in its constructor how it does each of the
// operations that it has.
class Subject {
 public:
  virtual ~Subject() = default;

  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  // Whether it has the operation of this name.
  bool Has(absl::string_view operation) const {
    return actions_.contains(operation);
  }

  // Does `operation`, which it has, and returns what that returned.
  Result Do(const Operation& operation) {
    return actions_.find(operation.name)->second(operation.args);
  }

 protected:
  // The arguments of an operation: as many, and of such types, as
  // `ParseOperation()` lets pass.
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
