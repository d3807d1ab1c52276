// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_FORWARDING_QUEUE_H_
#define WORKQUEUE_INTERNAL_FORWARDING_QUEUE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/clock/clock.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/snapshot.h"

namespace workqueue::internal {

// ForwardingQueue
//
// A queue that implements `InterfaceType` on a queue that implements `Below`.
// It forwards every function of `Interface<T>` to that queue, which it may own.
template <typename T, typename InterfaceType, typename Below>
class ForwardingQueue : public InterfaceType {
 public:
  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const T> items) override {
    return below_->AddItems(options, items);
  }
  absl::Status GetItem(absl::Duration timeout,
                       ItemReceiver<T> receive) override {
    return below_->GetItem(timeout, receive);
  }
  absl::StatusOr<bool> EndProcessing(const T& item) override {
    return below_->EndProcessing(item);
  }
  absl::Status AcquireInto(Lease<T>* lease, absl::Duration timeout) override {
    return below_->AcquireInto(lease, timeout);
  }
  absl::StatusOr<LeaseBatch<T>> AcquireUpToWithTimeout(
      size_t max, absl::Duration timeout) override {
    return below_->AcquireUpToWithTimeout(max, timeout);
  }
  AcquireId AcquireNextAsync(Lease<T>* lease, Executor* executor,
                             AcquireCallback<T> callback) override {
    return below_->AcquireNextAsync(lease, executor, std::move(callback));
  }
  bool CancelAcquire(AcquireId id) override {
    return below_->CancelAcquire(id);
  }
  absl::StatusOr<Snapshot<T>> TakeSnapshotWith(
      const SnapshotOptions<T>& options) const override {
    return below_->TakeSnapshotWith(options);
  }
  absl::StatusOr<bool> ShutDownAndDrain(
      std::optional<absl::Duration> drain) override {
    return below_->ShutDownAndDrain(drain);
  }
  void Close() override { below_->Close(); }
  bool ShuttingDown() const override { return below_->ShuttingDown(); }
  absl::Status Healthy() const override { return below_->Healthy(); }
  Clock* clock() const override { return below_->clock(); }

 protected:
  // `below` is not null.
  explicit ForwardingQueue(std::unique_ptr<Below> below)
      : owned_(std::move(below)), below_(owned_.get()) {}
  explicit ForwardingQueue(Below* below) : below_(below) {}

  Below& below() { return *below_; }
  const Below& below() const { return *below_; }

 private:
  const std::unique_ptr<Below> owned_;
  Below* const below_;
};

// ForwardingRateLimitingQueue
//
// The same with every function of `RateLimitingInterface<T>`. It has priorities
// if the queue below has them.
template <typename T>
class ForwardingRateLimitingQueue
    : public ForwardingQueue<T, PriorityInterface<T>,
                             RateLimitingInterface<T>> {
 public:
  absl::StatusOr<bool> CancelWait(const T& item) override {
    return this->below().CancelWait(item);
  }
  absl::Status ForgetFailures(const T& item) override {
    return this->below().ForgetFailures(item);
  }
  absl::StatusOr<int> CountFailures(const T& item) const override {
    return this->below().CountFailures(item);
  }
  PriorityInterface<T>* AsPriorityQueue() override {
    return this->below().AsPriorityQueue() == nullptr ? nullptr : this;
  }
  SharedFailures<T>* AsSharedFailures() override {
    return this->below().AsSharedFailures();
  }

 protected:
  using ForwardingRateLimitingQueue::ForwardingQueue::ForwardingQueue;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_FORWARDING_QUEUE_H_
