// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/queue_base.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_QUEUE_BASE_H_
#define WORKQUEUE_QUEUE_BASE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/clock/clock.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/lease_access.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/ordering.h"
#include "workqueue/snapshot.h"

namespace workqueue {

// QueueBase
//
// A base class for implementations of `Interface`, or of an interface derived
// from it, outside this library. It builds leases, batches and `Get()` on the
// functions that the implementation provides:
//
//     class MyQueue final : public workqueue::QueueBase<std::string> {
//      public:
//       bool Add(const std::string& item) override;
//       bool Done(const std::string& item) override;
//       absl::StatusOr<std::string> GetWithTimeout(absl::Duration) override;
//       size_t Len() const override;
//       workqueue::Snapshot<std::string> TakeSnapshotUpTo(size_t max) override;
//       void ShutDown() override;
//       bool ShutDownWithDrainWithin(absl::Duration timeout) override;
//       void Close() override;
//       bool ShuttingDown() const override;
//     };
//
// Override more where the implementation can do better: a lease made here
// copies its item, a batch makes one call for each item, and a snapshot of one
// item looks at all.
//
// `Eq` tells whether two items are equal.
//
// Thread-safe, if those functions are.
template <typename T, typename InterfaceType = Interface<T>,
          typename Eq = std::equal_to<T>>
class QueueBase : public InterfaceType {
 public:
  bool AddAll(absl::Span<const T> items) override;

  // Returns `std::nullopt` after any error of `GetWithTimeout()`, and so takes
  // an error for the end. An implementation that can fail must override this
  // function, and block until it has recovered.
  std::optional<T> Get() override;

  // Returns the real clock. An implementation that also works on a `FakeClock`
  // must override this function.
  Clock* clock() const override { return Clock::GetRealClock(); }

  absl::StatusOr<Lease<T>> AcquireWithTimeout(absl::Duration timeout) override;
  absl::Status AcquireNext(Lease<T>* lease) override;
  absl::StatusOr<LeaseBatch<T>> AcquireUpToWithTimeout(
      size_t max, absl::Duration timeout) override;

  // Call `callback` with an `absl::UnimplementedError`. An implementation that
  // serves callbacks must override these functions.
  AcquireId AcquireAsync(Executor* executor,
                         AcquireCallback<T> callback) override {
    executor->Execute([callback = std::move(callback)]() mutable {
      std::move(callback)(absl::UnimplementedError(
          "this queue cannot call back when there is an item"));
    });
    return AcquireId();
  }
  AcquireId AcquireNextAsync(Lease<T>* lease, Executor* executor,
                             AcquireCallback<T> callback) override {
    lease->Done();
    return this->AcquireAsync(executor, std::move(callback));
  }
  bool CancelAcquire(AcquireId /*id*/) override { return false; }

  // Takes O(n log n) for n items, as `TakeSnapshot()` does.
  Snapshot<T> TakeSnapshotOf(const T& item) override;

 protected:
  // Queues `item` again, which a get returned and nobody has processed. The
  // default adds `item` and ends its processing, so that `item` comes last; if
  // the queue takes no more items, `item` is lost. Override this function if
  // the implementation can do better. What it throws is dropped.
  virtual void GiveBack(const T& item) {
    this->Add(item);
    this->Done(item);
  }

 private:
  class CopiedItem;

  // Removes all other items than `item` from `*list`.
  template <typename Part>
  static void KeepOnly(const T& item, std::vector<Part>* list) {
    std::vector<Part> kept;  // A `T` need not be assignable.
    for (Part& it : *list) {
      if (Eq()(it.item, item)) kept.push_back(std::move(it));
    }
    list->swap(kept);
  }

  // Leases made here. None may outlive the queue.
  internal::LeaseCount leases_;
};

// Implementation details follow.

// A lease of an item that a get has returned by value.
template <typename T, typename InterfaceType, typename Eq>
class QueueBase<T, InterfaceType, Eq>::CopiedItem final
    : public QueuedItem<T>,
      private internal::LeaseOwner<T> {
 public:
  static Lease<T> Acquire(QueueBase* queue, const T& item) {
    auto* const copy = new CopiedItem(queue, item);
    return internal::LeaseAccess::Make<T>(copy, copy);
  }

 private:
  CopiedItem(QueueBase* queue, const T& item)
      : QueuedItem<T>(item), queue_(queue) {
    queue_->leases_.Increment();
  }

  bool EndLeases(absl::Span<QueuedItem<T>* const>,
                 internal::LeaseEnd end) override {
    const std::unique_ptr<CopiedItem> self(this);
    bool in_time = true;
    const bool ended = internal::TryCall([this, end, &in_time] {
      if (end == internal::LeaseEnd::kGivenBack) {
        queue_->GiveBack(this->item());
      } else {
        in_time = queue_->Done(this->item());
      }
    });
    queue_->leases_.Decrement();
    return ended && in_time;
  }

  QueueBase* const queue_;
};

template <typename T, typename InterfaceType, typename Eq>
bool QueueBase<T, InterfaceType, Eq>::AddAll(absl::Span<const T> items) {
  bool taken = true;
  for (const T& item : items) taken &= this->Add(item);
  return taken;
}

template <typename T, typename InterfaceType, typename Eq>
std::optional<T> QueueBase<T, InterfaceType, Eq>::Get() {
  std::optional<T> result;  // the only object returned: no copy after the last
  absl::StatusOr<T> item = this->GetWithTimeout(absl::InfiniteDuration());
  if (!item.ok()) return result;
  absl::Cleanup give_back = [this, &item] {
    internal::TryCall([&] { GiveBack(*item); });
  };
  result.emplace(std::move_if_noexcept(*item));
  std::move(give_back).Cancel();
  return result;
}

template <typename T, typename InterfaceType, typename Eq>
absl::StatusOr<Lease<T>> QueueBase<T, InterfaceType, Eq>::AcquireWithTimeout(
    absl::Duration timeout) {
  const absl::StatusOr<T> item = this->GetWithTimeout(timeout);
  if (!item.ok()) return item.status();
  absl::Cleanup give_back = [this, &item] {
    internal::TryCall([&] { GiveBack(*item); });
  };
  Lease<T> lease = CopiedItem::Acquire(this, *item);
  std::move(give_back).Cancel();
  return lease;
}

template <typename T, typename InterfaceType, typename Eq>
absl::Status QueueBase<T, InterfaceType, Eq>::AcquireNext(Lease<T>* lease) {
  lease->Done();
  absl::StatusOr<Lease<T>> next = this->Acquire();
  if (!next.ok()) return next.status();
  *lease = *std::move(next);
  return absl::OkStatus();
}

template <typename T, typename InterfaceType, typename Eq>
absl::StatusOr<LeaseBatch<T>>
QueueBase<T, InterfaceType, Eq>::AcquireUpToWithTimeout(
    size_t max, absl::Duration timeout) {
  using Access = internal::LeaseAccess;
  if (max == 0) return internal::ZeroMaxError();
  LeaseBatch<T> leases;
  Access::PushBack(&leases, Lease<T>());  // while there is no item to lose
  absl::StatusOr<Lease<T>> first = this->AcquireWithTimeout(timeout);
  if (!first.ok()) return first.status();
  leases.back() = *std::move(first);
  // If something throws now, the batch has the leases acquired so far.
  internal::TryCall([this, max, &leases] {
    while (leases.size() < max) {
      Access::PushBack(&leases, Lease<T>());
      absl::StatusOr<Lease<T>> next = this->TryAcquire();
      if (!next.ok()) break;
      leases.back() = *std::move(next);
    }
  });
  if (!leases.back()) Access::PopBack(&leases);
  return leases;
}

template <typename T, typename InterfaceType, typename Eq>
Snapshot<T> QueueBase<T, InterfaceType, Eq>::TakeSnapshotOf(const T& item) {
  Snapshot<T> snapshot = this->TakeSnapshot();
  KeepOnly(item, &snapshot.queued);
  KeepOnly(item, &snapshot.processing);
  KeepOnly(item, &snapshot.waiting);
  return snapshot;
}

}  // namespace workqueue

#endif  // WORKQUEUE_QUEUE_BASE_H_
