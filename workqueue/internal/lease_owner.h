// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/lease_owner.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_LEASE_OWNER_H_
#define WORKQUEUE_INTERNAL_LEASE_OWNER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "workqueue/ordering.h"

namespace workqueue {
namespace internal {

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
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_LEASE_OWNER_H_
