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
  explicit DelayingQueueModel(absl::Time start,
                              bool add_supersedes_waiting = false)
      : now_(start), add_supersedes_waiting_(add_supersedes_waiting) {}

  // From now on the queue below takes or does not take `item`.
  void SetRefused(int item, bool refused) {
    if (refused) {
      refused_.insert(item);
    } else {
      refused_.erase(item);
    }
  }

  bool Add(int item) {
    if (!AddBelow(item)) return false;
    if (add_supersedes_waiting_) waiting_.erase(item);
    return true;
  }

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

  bool CancelDelayed(int item) { return waiting_.erase(item) > 0; }

  bool Reschedule(int item, absl::Duration delay) {
    if (ShuttingDown()) return false;
    if (delay <= absl::ZeroDuration()) {
      if (!AddBelow(item)) return false;
      waiting_.erase(item);
    } else {
      waiting_[item] = {now_ + delay, next_++};
    }
    return true;
  }

  // Who waits until when.
  std::map<int, absl::Time> Waiting() const {
    std::map<int, absl::Time> times;
    for (const auto& [item, place] : waiting_) times[item] = place.first;
    return times;
  }

  // Time moves on by `d`. What is refused is tried again a second later.
  void Step(absl::Duration d) {
    now_ += d;
    // By time, and those of the same time in their order.
    std::map<std::pair<absl::Time, int>, int> due;
    for (const auto& [item, place] : waiting_) {
      if (place.first <= now_) due[place] = item;
    }
    for (const auto& [place, item] : due) {
      if (AddBelow(item)) {
        waiting_.erase(item);
      } else {
        waiting_[item] = {now_ + absl::Seconds(1), next_++};
      }
    }
  }

  void ShutDown() {
    waiting_.clear();
    QueueModel::ShutDown();
  }

 private:
  bool AddBelow(int item) {
    return refused_.count(item) == 0 && QueueModel::Add(item);
  }

  absl::Time now_;
  const bool add_supersedes_waiting_;
  std::set<int> refused_;  // by the queue below
  std::map<int, std::pair<absl::Time, int>> waiting_;
  int next_ = 0;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_QUEUE_MODEL_H_
