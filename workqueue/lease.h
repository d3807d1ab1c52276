// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/lease.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_LEASE_H_
#define WORKQUEUE_LEASE_H_

#include <utility>

#include "absl/types/span.h"
#include "workqueue/ordering.h"

namespace workqueue {

// LeaseOwner
//
// What a queue that hands out leases derives from, to get them back.
template <typename T>
class LeaseOwner {
 public:
  // Ends the leases of `items`. Called once for each lease, on any thread; must
  // not throw.
  virtual void EndLeases(absl::Span<QueuedItem<T>* const> items) = 0;

 protected:
  ~LeaseOwner() = default;
};

// Lease
//
// An item that a queue has handed out to be processed, and the promise that the
// queue will be told when that is over: the item is done with when the lease
// goes, whichever way. It refers to the item in the queue; nothing is copied.
//
// Example, the loop of a worker:
//
//     workqueue::Lease<std::string> lease;
//     while (queue.AcquireNext(&lease)) Reconcile(*lease);
//
// Leases move, so that they can be kept, returned, or passed to another thread.
// A queue that has been shut down takes its leases back as ever. One that is
// destroyed before its leases ends the program, with a message.
//
// Not thread-safe: a lease is used by one thread at a time.
template <typename T>
class Lease {
 public:
  // A lease of nothing.
  Lease() = default;

  // For queues: a lease of `item`, which is not null, for `owner` to end.
  Lease(LeaseOwner<T>* owner, QueuedItem<T>* item)
      : owner_(owner), item_(item), priority_(item->priority()) {}

  Lease(Lease&& other) noexcept
      : owner_(other.owner_),
        item_(std::exchange(other.item_, nullptr)),
        priority_(other.priority_) {}

  // Ends the lease that this was before.
  Lease& operator=(Lease&& other) noexcept {
    Lease(std::move(other)).swap(*this);
    return *this;
  }

  ~Lease() { Done(); }

  // Whether this leases an item.
  explicit operator bool() const { return item_ != nullptr; }

  // The item. There must be one.
  const T& operator*() const { return item_->item(); }
  const T* operator->() const { return &item_->item(); }

  // The priority at which the item was handed out; zero from a queue without
  // priorities. There must be an item.
  int priority() const { return priority_; }

  // Ends the lease now: says that the processing of the item is over, and lets
  // go of it. Does nothing if this leases no item.
  void Done() {
    if (item_ == nullptr) return;
    QueuedItem<T>* const item = std::exchange(item_, nullptr);
    owner_->EndLeases(absl::MakeConstSpan(&item, 1));
  }

  // For queues: lets go of the item without ending the lease, if it is one that
  // `owner` is to end, and returns it; null otherwise.
  QueuedItem<T>* ReleaseTo(const LeaseOwner<T>* owner) {
    return owner_ == owner ? std::exchange(item_, nullptr) : nullptr;
  }

  // For queues: who is to end the lease; null if this leases no item.
  LeaseOwner<T>* owner() const { return item_ != nullptr ? owner_ : nullptr; }

  void swap(Lease& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(item_, other.item_);
    std::swap(priority_, other.priority_);
  }
  friend void swap(Lease& a, Lease& b) noexcept { a.swap(b); }

 private:
  LeaseOwner<T>* owner_ = nullptr;
  QueuedItem<T>* item_ = nullptr;  // null if nothing is leased
  int priority_ = 0;
};

}  // namespace workqueue

#endif  // WORKQUEUE_LEASE_H_
