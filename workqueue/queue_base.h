// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_QUEUE_BASE_H_
#define WORKQUEUE_QUEUE_BASE_H_

#include <cstddef>
#include <memory>
#include <utility>

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

namespace workqueue {

// QueueBase
//
// A base class for implementations of `Interface`, or of an interface derived
// from it, outside this library. It makes leases and batches of what the
// implementation provides:
//
//     class MyQueue final : public workqueue::QueueBase<std::string> {
//      public:
//       absl::Status AddItems(
//           const workqueue::AddOptions& options,
//           absl::Span<const std::string> items) override;
//       absl::Status GetItem(
//           absl::Duration timeout,
//           workqueue::ItemReceiver<std::string> receive) override;
//       absl::StatusOr<bool> EndProcessing(const std::string& item) override;
//       absl::StatusOr<workqueue::Snapshot<std::string>> TakeSnapshotWith(
//           const workqueue::SnapshotOptions<std::string>& options)
//           const override;
//       absl::StatusOr<bool> ShutDownAndDrain(
//           std::optional<absl::Duration> drain) override;
//       void Close() override;
//       bool ShuttingDown() const override;
//     };
//
// Override more where the implementation can do better: a lease made here
// copies its item, and a batch makes one call for each item.
//
// Thread-safe, if those functions are.
template <typename T, typename InterfaceType = Interface<T>>
class QueueBase : public InterfaceType {
 public:
  // Returns the real clock. An implementation that also works on a `FakeClock`
  // must override this function.
  Clock* clock() const override { return Clock::GetRealClock(); }

  absl::Status AcquireInto(Lease<T>* lease, absl::Duration timeout) override {
    lease->Done();
    std::unique_ptr<CopiedItem> copy;
    absl::Status status =
        this->GetItem(timeout, [this, &copy](const T& item, int priority) {
          copy = std::make_unique<CopiedItem>(this, item, priority);
        });
    if (status.ok()) *lease = CopiedItem::LeaseOf(std::move(copy));
    return status;
  }

  absl::StatusOr<LeaseBatch<T>> AcquireUpToWithTimeout(
      size_t max, absl::Duration timeout) override {
    using Access = internal::LeaseAccess;
    if (max == 0) return internal::ZeroMaxError();
    LeaseBatch<T> leases;
    Access::PushBack(&leases, Lease<T>());  // while there is no item to lose
    absl::Status status = this->AcquireInto(&leases.back(), timeout);
    if (!status.ok()) return status;
    // If something throws now, the batch has the leases acquired so far.
    internal::TryCall([this, max, &leases] {
      while (leases.size() < max) {
        Access::PushBack(&leases, Lease<T>());
        if (!this->AcquireInto(&leases.back(), absl::ZeroDuration()).ok()) {
          break;
        }
      }
    });
    if (!leases.back()) Access::PopBack(&leases);
    return leases;
  }

  // Calls `callback` with an `absl::UnimplementedError`. An implementation that
  // serves callbacks must override both functions.
  AcquireId AcquireNextAsync(Lease<T>* lease, Executor* executor,
                             AcquireCallback<T> callback) override {
    internal::DieIfNoCallback(executor, callback != nullptr);
    lease->Done();
    executor->Execute([callback = std::move(callback)]() mutable {
      std::move(callback)(absl::UnimplementedError(
          "this queue cannot call back when there is an item"));
    });
    return AcquireId();
  }
  bool CancelAcquire(AcquireId /*id*/) override { return false; }

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
  // A lease of an item that a get has returned by value.
  class CopiedItem final : public QueuedItem<T>,
                           private internal::LeaseOwner<T> {
   public:
    CopiedItem(QueueBase* queue, const T& item, int priority)
        : QueuedItem<T>(item), queue_(queue) {
      this->set_priority(priority);
    }

    static Lease<T> LeaseOf(std::unique_ptr<CopiedItem> item) {
      item->queue_->leases_.Increment();
      CopiedItem* const released = item.release();
      return internal::LeaseAccess::Make<T>(released, released);
    }

   private:
    bool EndLeases(absl::Span<QueuedItem<T>* const>,
                   internal::LeaseEnd end) override {
      const std::unique_ptr<CopiedItem> self(this);
      // The end of the item may be what the queue is destroyed after.
      queue_->leases_.Decrement();
      bool in_time = true;
      const bool ended = internal::TryCall([this, end, &in_time] {
        if (end == internal::LeaseEnd::kGivenBack) {
          queue_->GiveBack(this->item());
        } else {
          in_time = queue_->Done(this->item());
        }
      });
      return ended && in_time;
    }

    QueueBase* const queue_;
  };

  // Leases made here. None may outlive the queue.
  internal::LeaseCount leases_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_QUEUE_BASE_H_
