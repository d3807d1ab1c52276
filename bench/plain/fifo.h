// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/plain/fifo.h
// -----------------------------------------------------------------------------
//
// bench/plain/run replaces the following header by this file:
// workqueue/base/fifo.h.

#ifndef WORKQUEUE_BASE_FIFO_H_
#define WORKQUEUE_BASE_FIFO_H_

#include <deque>
#include <utility>

namespace workqueue {
namespace internal {

// A `std::deque`.
template <typename T>
class Fifo {
 public:
  bool empty() const { return values_.empty(); }
  void Push(T&& value) { values_.push_back(std::move(value)); }
  T Pop() {
    T value = std::move(values_.front());
    values_.pop_front();
    return value;
  }

 private:
  std::deque<T> values_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_BASE_FIFO_H_
