// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/queue/lease_owner.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_QUEUE_LEASE_OWNER_H_
#define WORKQUEUE_INTERNAL_QUEUE_LEASE_OWNER_H_

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
  // not throw.
  virtual void EndLeases(absl::Span<QueuedItem<T>* const> items,
                         LeaseEnd end) = 0;

 protected:
  ~LeaseOwner() = default;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_QUEUE_LEASE_OWNER_H_
