// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_REFERENCE_CALLBACK_MODEL_H_
#define WORKQUEUE_TEST_REFERENCE_CALLBACK_MODEL_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <vector>

namespace reference {

// CallbackModel
//
// A model of the callbacks that wait in a queue, and of an executor that keeps
// the tasks.
class CallbackModel {
 public:
  // Makes a callback wait, and returns its number.
  int Add() {
    waiting_.insert(next_);
    return next_++;
  }

  bool Cancel(int callback) {
    const bool submitted =
        std::count(submitted_.begin(), submitted_.end(), callback) > 0;
    return waiting_.erase(callback) > 0 ||
           (submitted && cancelled_.insert(callback).second);
  }

  // Submits callbacks. The queue has `len` items. At most four callbacks are on
  // their way at a time, beside those that are cancelled.
  void Submit(size_t len, bool shutting_down) {
    const auto on_their_way = [this] {
      return submitted_.size() - cancelled_.size();
    };
    while (!waiting_.empty() && on_their_way() < 4 &&
           (shutting_down || on_their_way() < len)) {
      submitted_.push_back(*waiting_.begin());
      waiting_.erase(waiting_.begin());
    }
  }

  // Returns the number of tasks in the executor.
  size_t submitted() const { return submitted_.size(); }

  // Runs the first task. Returns the number of the callback to call, if any.
  std::optional<int> Run(size_t len, bool shutting_down) {
    const int callback = submitted_.front();
    submitted_.erase(submitted_.begin());
    if (cancelled_.erase(callback) > 0) return std::nullopt;
    if (len > 0 || shutting_down) return callback;
    waiting_.insert(callback);
    return std::nullopt;
  }

 private:
  std::set<int> waiting_;       // the first one comes first
  std::vector<int> submitted_;  // in the order of their submission
  std::set<int> cancelled_;     // of those submitted
  int next_ = 0;
};

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_CALLBACK_MODEL_H_
