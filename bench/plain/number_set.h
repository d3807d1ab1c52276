// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/plain/number_set.h
// -----------------------------------------------------------------------------
//
// bench/plain/run replaces the following header by this file:
// workqueue/base/number_set.h.

#ifndef WORKQUEUE_BASE_NUMBER_SET_H_
#define WORKQUEUE_BASE_NUMBER_SET_H_

#include <cstddef>
#include <limits>
#include <set>

namespace workqueue {
namespace internal {

// A `std::set`.
class NumberSet {
 public:
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();

  void Reserve(size_t) {}
  void Insert(size_t number) { numbers_.insert(number); }
  void Erase(size_t number) { numbers_.erase(number); }
  size_t First() const { return numbers_.empty() ? kNone : *numbers_.begin(); }
  void Truncate(size_t limit) {
    numbers_.erase(numbers_.lower_bound(limit), numbers_.end());
  }
  void Clear() { numbers_.clear(); }

 private:
  std::set<size_t> numbers_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_BASE_NUMBER_SET_H_
