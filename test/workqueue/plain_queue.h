// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_WORKQUEUE_PLAIN_QUEUE_H_
#define WORKQUEUE_TEST_WORKQUEUE_PLAIN_QUEUE_H_

#include <functional>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/interfaces.h"
#include "workqueue/queue.h"
#include "workqueue/queue_base.h"
#include "workqueue/snapshot.h"

namespace workqueue {

// PlainQueue
//
// An implementation on `QueueBase` that overrides only what it must.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class PlainQueue final : public QueueBase<T> {
 public:
  explicit PlainQueue(QueueOptions<T> options = {})
      : queue_(std::move(options)) {}

  // Each hook is called before an item is added, or its processing ends. If a
  // hook throws, the call throws the same, and the item is as it was.
  std::function<void()> on_add = [] {};
  std::function<void()> on_done = [] {};
  // Is called when the processing of an item has ended. May destroy the queue.
  std::function<void()> after_done = [] {};

  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const T> items) override {
    absl::Status status;
    for (const T& item : items) {
      on_add();
      status.Update(queue_.AddItems(options, this->One(item)));
    }
    return status;
  }
  absl::Status GetItem(absl::Duration timeout,
                       ItemReceiver<T> receive) override {
    return queue_.GetItem(timeout, receive);
  }
  absl::StatusOr<bool> EndProcessing(const T& item) override {
    on_done();
    const std::function<void()> after = after_done;
    absl::StatusOr<bool> ended = queue_.EndProcessing(item);
    after();
    return ended;
  }
  absl::StatusOr<Snapshot<T>> TakeSnapshotWith(
      const SnapshotOptions<T>& options) const override {
    return queue_.TakeSnapshotWith(options);
  }
  absl::StatusOr<bool> ShutDownAndDrain(
      std::optional<absl::Duration> drain) override {
    return queue_.ShutDownAndDrain(drain);
  }
  void Close() override { queue_.Close(); }
  bool ShuttingDown() const override { return queue_.ShuttingDown(); }
  Clock* clock() const override { return queue_.clock(); }

 private:
  Queue<T, Hash, Eq> queue_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_PLAIN_QUEUE_H_
