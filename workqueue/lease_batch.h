// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

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
// Leases that were acquired together and that end together when the batch is
// destroyed: the queue takes its lock once for 64 of them. A lease can also end
// earlier on its own, or be moved out of the batch.
//
// Example:
//
//     absl::StatusOr<workqueue::LeaseBatch<std::string>> batch =
//         queue.AcquireUpTo(100);
//     if (!batch.ok()) return;
//     for (workqueue::Lease<std::string>& lease : *batch) Reconcile(*lease);
//
// Movable. Not thread-safe, like its leases.
template <typename T>
class LeaseBatch {
 public:
  using value_type = Lease<T>;
  using iterator = typename std::vector<Lease<T>>::iterator;
  using const_iterator = typename std::vector<Lease<T>>::const_iterator;

  // Has no leases.
  LeaseBatch() = default;

  LeaseBatch(LeaseBatch&& other) noexcept
      : leases_(std::exchange(other.leases_, {})) {}

  // Ends the leases that `*this` held before.
  LeaseBatch& operator=(LeaseBatch&& other) noexcept {
    Done();
    leases_ = std::exchange(other.leases_, {});
    return *this;
  }

  ~LeaseBatch() { Done(); }

  // The number of leases, including those that have ended on their own.
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

  // Ends all leases that are left as `Lease::Done()` does, and empties the
  // batch.
  void Done() { End(internal::LeaseEnd::kDone); }

  // Ends all leases that are left as `Lease::GiveBack()` does, and empties the
  // batch. The items keep their order.
  void GiveBack() { End(internal::LeaseEnd::kGivenBack); }

 private:
  friend struct internal::LeaseAccess;

  // One call to the queue ends so many leases: more would need an allocation.
  static constexpr size_t kMaxAtOnce = 64;

  void End(internal::LeaseEnd end) {
    if (end == internal::LeaseEnd::kGivenBack) {
      // Each item goes before those that wait: the last one goes first.
      EndAll(leases_.rbegin(), leases_.rend(), end);
    } else {
      EndAll(leases_.begin(), leases_.end(), end);
    }
    leases_.clear();
  }

  template <typename Iterator>
  static void EndAll(Iterator lease, Iterator last, internal::LeaseEnd end) {
    std::array<QueuedItem<T>*, kMaxAtOnce> items;
    size_t n = 0;
    internal::LeaseOwner<T>* owner = nullptr;
    const auto end_items = [&] {
      if (n > 0) owner->EndLeases(absl::MakeConstSpan(items.data(), n), end);
      n = 0;
    };
    for (; lease != last; ++lease) {
      if (!*lease) continue;
      if (lease->owner_ != owner || n == kMaxAtOnce) end_items();
      owner = lease->owner_;
      items[n++] = std::exchange(lease->item_, nullptr);
    }
    end_items();
  }

  std::vector<Lease<T>> leases_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_LEASE_BATCH_H_
