// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_LEASE_ACCESS_H_
#define WORKQUEUE_INTERNAL_LEASE_ACCESS_H_

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "workqueue/base/error_log.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/ordering.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// LeaseAccess
//
// The functions that make leases and batches of leases. They are for queues
// only, so they are not part of `Lease` and `LeaseBatch`.
struct LeaseAccess {
  // Returns a lease of `item`, which is not null. The lease ends by a call of
  // `owner->EndLeases()`.
  template <typename T>
  static Lease<T> Make(LeaseOwner<T>* owner, QueuedItem<T>* item) {
    return Lease<T>(owner, item);
  }

  // Does the same into `*lease`, which leases nothing.
  template <typename T>
  static void Assign(Lease<T>* lease, LeaseOwner<T>* owner,
                     QueuedItem<T>* item) {
    lease->owner_ = owner;
    lease->item_ = item;
    lease->priority_ = item->priority();
    lease->is_retry_ = item->is_retry();
  }

  // If `owner` is the owner of `*lease`, empties `*lease` without ending the
  // lease, and returns the item. Returns null otherwise.
  template <typename T>
  static QueuedItem<T>* Release(Lease<T>* lease, const LeaseOwner<T>* owner) {
    return lease->owner_ == owner ? std::exchange(lease->item_, nullptr)
                                  : nullptr;
  }

  // Returns that item, and leaves it in `*lease`.
  template <typename T>
  static QueuedItem<T>* ItemOf(const Lease<T>& lease,
                               const LeaseOwner<T>* owner) {
    return lease.owner_ == owner ? lease.item_ : nullptr;
  }

  // Allocates memory for `n` leases.
  template <typename T>
  static void Reserve(LeaseBatch<T>* batch, size_t n) {
    batch->leases_.reserve(n);
  }

  template <typename T>
  static void PushBack(LeaseBatch<T>* batch, Lease<T> lease) {
    batch->leases_.push_back(std::move(lease));
  }

  template <typename T>
  static void PopBack(LeaseBatch<T>* batch) {
    batch->leases_.pop_back();
  }
};

// Returns the error of `Interface::AcquireUpTo(0)`.
inline absl::Status ZeroMaxError() {
  return absl::InvalidArgumentError("max is 0; it must be at least 1");
}

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
    if (left == 0) return;
    Fatal(absl::StrCat("a queue is destroyed before its leases; left: ", left));
  }

  void Increment() { ++count_; }
  void Decrement() { --count_; }

 private:
  sync::Atomic<size_t> count_{0};
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_LEASE_ACCESS_H_
