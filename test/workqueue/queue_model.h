// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/workqueue/queue_model.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_WORKQUEUE_QUEUE_MODEL_H_
#define WORKQUEUE_TEST_WORKQUEUE_QUEUE_MODEL_H_

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/time/time.h"

namespace workqueue {

// QueueModel
//
// The promises of a queue, as plainly as they can be written, for one thread.
class QueueModel {
 public:
  bool Add(int item) {
    if (shutting_down_) return false;
    const bool is_new = dirty_.insert(item).second;
    if (is_new && processing_.count(item) == 0) queued_.push_back(item);
    return true;
  }

  // Nothing also if the queue would block.
  std::optional<int> Get() {
    if (queued_.empty()) return std::nullopt;
    const int item = queued_.front();
    queued_.pop_front();
    dirty_.erase(item);
    processing_.insert(item);
    return item;
  }

  bool Done(int item) {
    if (processing_.erase(item) == 0) return false;
    if (dirty_.count(item) > 0) queued_.push_back(item);
    return true;
  }

  size_t Len() const { return queued_.size(); }
  void ShutDown() { shutting_down_ = true; }
  bool ShuttingDown() const { return shutting_down_; }

 private:
  std::deque<int> queued_;
  std::set<int> dirty_;
  std::set<int> processing_;
  bool shutting_down_ = false;
};

// DelayingQueueModel
//
// The same of a delaying queue.
class DelayingQueueModel : public QueueModel {
 public:
  explicit DelayingQueueModel(absl::Time start) : now_(start) {}

  bool AddAfter(int item, absl::Duration delay) {
    if (ShuttingDown()) return false;
    if (delay <= absl::ZeroDuration()) return Add(item);
    const absl::Time ready_at = now_ + delay;
    const auto it = waiting_.find(item);
    if (it == waiting_.end() || ready_at < it->second.first) {
      waiting_[item] = {ready_at, next_++};
    }
    return true;
  }

  // Time moves on by `d`.
  void Step(absl::Duration d) {
    now_ += d;
    // By time, and those of the same time in their order.
    std::map<std::pair<absl::Time, int>, int> due;
    for (const auto& [item, place] : waiting_) {
      if (place.first <= now_) due[place] = item;
    }
    for (const auto& [place, item] : due) {
      waiting_.erase(item);
      Add(item);
    }
  }

  void ShutDown() {
    waiting_.clear();
    QueueModel::ShutDown();
  }

 private:
  absl::Time now_;
  std::map<int, std::pair<absl::Time, int>> waiting_;
  int next_ = 0;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_QUEUE_MODEL_H_
