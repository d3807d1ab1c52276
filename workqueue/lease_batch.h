// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/lease_batch.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_LEASE_BATCH_H_
#define WORKQUEUE_LEASE_BATCH_H_

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "workqueue/lease.h"
#include "workqueue/ordering.h"

namespace workqueue {

// LeaseBatch
//
// Leases that were acquired together, and that end together when the batch
// goes: for that a queue takes its lock once, and not for each of them. A lease
// can also end on its own before, or be moved out of the batch.
//
// Example:
//
//     absl::StatusOr<workqueue::LeaseBatch<std::string>> batch =
//         queue.AcquireUpTo(100);
//     if (!batch.ok()) return;
//     for (workqueue::Lease<std::string>& lease : *batch) Reconcile(*lease);
//
// Movable. Not thread-safe, as its leases.
template <typename T>
class LeaseBatch {
 public:
  using value_type = Lease<T>;
  using iterator = typename std::vector<Lease<T>>::iterator;
  using const_iterator = typename std::vector<Lease<T>>::const_iterator;

  // An empty one.
  LeaseBatch() = default;

  LeaseBatch(LeaseBatch&& other) noexcept
      : leases_(std::exchange(other.leases_, {})) {}

  // Ends the leases that were in this before.
  LeaseBatch& operator=(LeaseBatch&& other) noexcept {
    Done();
    leases_ = std::exchange(other.leases_, {});
    return *this;
  }

  ~LeaseBatch() { Done(); }

  // How many leases there are, those of nothing included.
  size_t size() const { return leases_.size(); }
  bool empty() const { return leases_.empty(); }

  Lease<T>& operator[](size_t i) { return leases_[i]; }
  const Lease<T>& operator[](size_t i) const { return leases_[i]; }
  Lease<T>& front() { return leases_.front(); }
  const Lease<T>& front() const { return leases_.front(); }
  Lease<T>& back() { return leases_.back(); }
  const Lease<T>& back() const { return leases_.back(); }

  iterator begin() { return leases_.begin(); }
  iterator end() { return leases_.end(); }
  const_iterator begin() const { return leases_.begin(); }
  const_iterator end() const { return leases_.end(); }

  // For queues, which fill it.
  void reserve(size_t n) { leases_.reserve(n); }
  void push_back(Lease<T> lease) { leases_.push_back(std::move(lease)); }
  void pop_back() { leases_.pop_back(); }

  // Ends all the leases that are left, and empties the batch.
  void Done() {
    EndLeases();
    leases_.clear();
  }

 private:
  // As many as one call ends, since the way to more would be an allocation.
  static constexpr size_t kAtOnce = 64;

  void EndLeases() {
    std::array<QueuedItem<T>*, kAtOnce> items;
    size_t n = 0;
    LeaseOwner<T>* owner = nullptr;
    const auto end_items = [&items, &n, &owner] {
      if (n > 0) owner->EndLeases(absl::MakeConstSpan(items.data(), n));
      n = 0;
    };
    for (Lease<T>& lease : leases_) {
      if (!lease) continue;
      if (lease.owner() != owner || n == kAtOnce) end_items();
      owner = lease.owner();
      items[n++] = lease.ReleaseTo(owner);
    }
    end_items();
  }

  std::vector<Lease<T>> leases_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_LEASE_BATCH_H_
