// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/lease_count.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_LEASE_COUNT_H_
#define WORKQUEUE_INTERNAL_LEASE_COUNT_H_

#include <atomic>
#include <cstddef>

namespace workqueue {
namespace internal {

// LeaseCount
//
// Counts the leases of a queue. If the queue is destroyed while leases exist,
// the destructor of the count writes a message and aborts the program.
//
// Thread-safe.
class LeaseCount {
 public:
  ~LeaseCount() {
    const size_t left = count_.load();
    if (left > 0) DieOfLeases(left);
  }

  void Increment() { ++count_; }
  void Decrement() { --count_; }

 private:
  [[noreturn]] static void DieOfLeases(size_t left);

  std::atomic<size_t> count_{0};
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_LEASE_COUNT_H_
