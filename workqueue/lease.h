// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_LEASE_H_
#define WORKQUEUE_LEASE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/types/span.h"
#include "workqueue/ordering.h"
#include "workqueue/version.h"

namespace workqueue {

namespace internal {

struct LeaseAccess;

// How a lease ends.
enum class LeaseEnd {
  kDone,       // the item has been processed
  kGivenBack,  // the item is queued again, as if it had not been handed out
};

// LeaseOwner
//
// The part of a queue that ends leases.
template <typename T>
class LeaseOwner {
 public:
  // Ends the leases of `items`. Called once for each lease, on any thread. Must
  // not throw. Returns whether all leases had lasted until then; see
  // `Lease::Done()`.
  virtual bool EndLeases(absl::Span<QueuedItem<T>* const> items,
                         LeaseEnd end) = 0;

  // See `Lease::token()` and `Lease::lost()`. The defaults are those of a queue
  // whose leases last until they are ended.
  virtual int64_t TokenOf(const QueuedItem<T>& /*item*/) const { return 0; }
  virtual bool IsLost(const QueuedItem<T>& /*item*/) const { return false; }

 protected:
  ~LeaseOwner() = default;
};

}  // namespace internal

template <typename T>
class LeaseBatch;

// Lease
//
// An item that a queue has handed out to one worker. A lease ends when it is
// destroyed, so no `Done()` is forgotten. It refers to the item in the queue
// and copies nothing.
//
// Example, the loop of a worker:
//
//     workqueue::Lease<std::string> lease;
//     while (queue.AcquireNext(&lease).ok()) Reconcile(*lease);
//
// A lease can be moved: into a container, out of a function, to another thread.
// It may end after its queue has been shut down, but not after its queue has
// been destroyed: destroying a queue while leases exist ends the program with a
// message.
//
// Not thread-safe: one thread at a time may use a lease.
template <typename T>
class Lease {
 public:
  // Leases nothing.
  Lease() = default;

  Lease(Lease&& other) noexcept
      : owner_(other.owner_),
        item_(std::exchange(other.item_, nullptr)),
        priority_(other.priority_),
        is_retry_(other.is_retry_) {}

  // Ends the lease that `*this` held before.
  Lease& operator=(Lease&& other) noexcept {
    Lease(std::move(other)).swap(*this);
    return *this;
  }

  ~Lease() { Done(); }

  // Returns whether this leases an item.
  explicit operator bool() const { return item_ != nullptr; }

  // The item. Requires that this leases one.
  const T& operator*() const { return item_->item(); }
  const T* operator->() const { return std::addressof(item_->item()); }

  // The priority at which the item was handed out; zero from a queue without
  // priorities. Requires that this leases an item.
  int priority() const { return priority_; }

  // Whether the item was added only because its processing failed; see
  // `AddOptions::retry`. False from a queue without priorities. A `SharedQueue`
  // tells whether the item has failed, in any process, and not succeeded since.
  // Requires that this leases an item.
  bool is_retry() const { return is_retry_; }

  // Ends the lease now: the processing of the item is over. Returns false and
  // does nothing if this leases no item, or if the lease was lost before. Also
  // returns false if the queue could not reach its engine: then the lease
  // expires.
  bool Done() { return End(internal::LeaseEnd::kDone); }

  // Ends the lease, and gives the item back to the queue unprocessed. The item
  // is queued again at once, also after a shutdown, as if it had not been
  // handed out: it keeps its place before the items that were added later. Does
  // nothing if this leases no item. Returns what `Done()` returns.
  //
  // A worker that is told to stop gives back an item that it has not begun to
  // process. For an item whose processing failed, use `AddRateLimited()`.
  bool GiveBack() { return End(internal::LeaseEnd::kGivenBack); }

  // The fencing token of the lease: of two leases of an item, the later one has
  // the greater token. The worker can send the token with each write. A store
  // that refuses a token less than the greatest one that it has seen refuses a
  // worker that has lost its lease and does not know it yet. Zero from a queue
  // in the memory of this process, whose leases are never lost. Requires that
  // this leases an item.
  int64_t token() const { return owner_->TokenOf(*item_); }

  // Returns whether the queue may have handed the item to another worker,
  // because the lease has expired: see `SharedQueue`. The worker should stop.
  // Requires that this leases an item.
  bool lost() const { return owner_->IsLost(*item_); }

  void swap(Lease& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(item_, other.item_);
    std::swap(priority_, other.priority_);
    std::swap(is_retry_, other.is_retry_);
  }
  friend void swap(Lease& a, Lease& b) noexcept { a.swap(b); }

 private:
  friend struct internal::LeaseAccess;
  friend class LeaseBatch<T>;

  // Leases `item`, which is not null. `owner` ends the lease.
  Lease(internal::LeaseOwner<T>* owner, QueuedItem<T>* item)
      : owner_(owner),
        item_(item),
        priority_(item->priority()),
        is_retry_(item->is_retry()) {}

  bool End(internal::LeaseEnd end) {
    if (item_ == nullptr) return false;
    QueuedItem<T>* const item = std::exchange(item_, nullptr);
    return owner_->EndLeases(absl::MakeConstSpan(&item, 1), end);
  }

  internal::LeaseOwner<T>* owner_ = nullptr;
  QueuedItem<T>* item_ = nullptr;  // null if nothing is leased
  int priority_ = 0;
  bool is_retry_ = false;
};

}  // namespace workqueue

#endif  // WORKQUEUE_LEASE_H_
