// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/workqueue/plain_queue.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_WORKQUEUE_PLAIN_QUEUE_H_
#define WORKQUEUE_TEST_WORKQUEUE_PLAIN_QUEUE_H_

#include <cstddef>
#include <functional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
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
class PlainQueue final : public QueueBase<T, Interface<T>, Eq> {
 public:
  explicit PlainQueue(QueueOptions<T> options = {})
      : queue_(std::move(options)) {}

  // Each hook is called at the beginning of the function of its name. If a hook
  // throws, the function throws the same and has no effect.
  std::function<void()> on_add = [] {};
  std::function<void()> on_done = [] {};

  bool Add(const T& item) override {
    on_add();
    return queue_.Add(item);
  }
  bool Done(const T& item) override {
    on_done();
    return queue_.Done(item);
  }
  size_t Len() const override { return queue_.Len(); }
  void ShutDown() override { queue_.ShutDown(); }
  bool ShutDownWithDrainWithin(absl::Duration timeout) override {
    return queue_.ShutDownWithDrainWithin(timeout);
  }
  void Close() override { queue_.Close(); }
  bool ShuttingDown() const override { return queue_.ShuttingDown(); }
  Clock* clock() const override { return queue_.clock(); }
  absl::StatusOr<T> GetWithTimeout(absl::Duration timeout) override {
    return queue_.GetWithTimeout(timeout);
  }
  Snapshot<T> TakeSnapshotUpTo(size_t max) override {
    return queue_.TakeSnapshotUpTo(max);
  }

 private:
  Queue<T, Hash, Eq> queue_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_PLAIN_QUEUE_H_
