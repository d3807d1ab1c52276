// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/reference/delaying_queue_model.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_REFERENCE_DELAYING_QUEUE_MODEL_H_
#define WORKQUEUE_TEST_REFERENCE_DELAYING_QUEUE_MODEL_H_

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "test/reference/queue_model.h"
#include "workqueue/snapshot.h"

namespace reference {

// DelayingQueueModel
//
// The promises of a delaying queue, as those of `QueueModel`.
class DelayingQueueModel : public QueueModel {
 public:
  struct Options {
    bool add_supersedes_waiting = false;
    // Of the wheel that items wait in, which the first one begins; zero if it
    // is none.
    absl::Duration tick = absl::ZeroDuration();
  };

  DelayingQueueModel(absl::Time start, Options options)
      : start_(start), options_(options), now_(start) {}

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
    if (options_.add_supersedes_waiting) waiting_.erase(item);
    return true;
  }

  bool AddAfter(int item, absl::Duration delay) {
    if (ShuttingDown()) return false;
    if (delay <= absl::ZeroDuration()) return Add(item);
    const absl::Time ready_at = now_ + delay;
    const auto it = waiting_.find(item);
    if (it == waiting_.end() || ready_at < it->second.ready_at) {
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

  // Time has moved on to `now`. What a wheel's tick leaves open is as `look()`
  // finds it in the queue. What is refused is tried again a second later.
  void MoveTo(absl::Time now,
              absl::FunctionRef<workqueue::Snapshot<int>()> look) {
    now_ = now;
    workqueue::Snapshot<int> seen;
    if (IsWheel()) seen = look();
    std::vector<Due> due;
    for (const auto& [item, place] : waiting_) {
      if (place.ready_at > now_) continue;
      const absl::Time comes_at = TickAt(place.ready_at);
      if (comes_at > now_ && IsIn(seen.waiting, item)) continue;
      due.emplace_back(comes_at,
                       IsWheel() ? IndexIn(seen.queued, item) : place.sequence,
                       item);
    }
    if (IsWheel()) LetNewComeAsSeen(due);
    // By time, and those of the same time in their order.
    std::sort(due.begin(), due.end());
    for (const auto& [comes_at, order, item] : due) {
      if (AddBelow(item)) {
        waiting_.erase(item);
      } else {
        waiting_[item] = {now_ + absl::Seconds(1), next_++};
      }
    }
    next_at_move_ = next_;
  }

  void ShutDown() {
    waiting_.clear();
    QueueModel::ShutDown();
  }

  workqueue::Snapshot<int> TakeSnapshot() const {
    workqueue::Snapshot<int> snapshot = QueueModel::TakeSnapshot();
    for (const auto& [item, place] : waiting_) {
      snapshot.waiting.push_back({item, TickAt(place.ready_at)});
    }
    return snapshot;
  }

 private:
  struct Place {
    absl::Time ready_at;
    int sequence;
  };

  // When it comes, its order among those that come then, and the item.
  using Due = std::tuple<absl::Time, int, int>;

  // What a wheel's thread finds due when it takes it in has no tick to wait
  // for, and may come before others that do. That may be all that has been
  // added since time moved: such an item comes with the one that it is seen
  // behind.
  void LetNewComeAsSeen(std::vector<Due>& due) const {
    std::sort(due.begin(), due.end(), [](const Due& a, const Due& b) {
      return std::get<1>(a) < std::get<1>(b);
    });
    absl::Time last = absl::InfinitePast();
    for (auto& [comes_at, order, item] : due) {
      if (waiting_.at(item).sequence >= next_at_move_) {
        comes_at = last;
      } else if (!IsDirty(item)) {
        last = std::max(last, comes_at);
      }
    }
  }

  bool IsWheel() const { return options_.tick > absl::ZeroDuration(); }

  // Returns when what is ready at `time` comes at the latest.
  absl::Time TickAt(absl::Time time) const {
    if (!IsWheel() || time == absl::InfiniteFuture()) return time;
    return start_ + absl::Ceil(time - start_, options_.tick);
  }

  template <typename Items>
  static int IndexIn(const Items& items, int item) {
    const auto it =
        std::find_if(items.begin(), items.end(),
                     [item](const auto& shown) { return shown.item == item; });
    return static_cast<int>(it - items.begin());
  }

  template <typename Items>
  static bool IsIn(const Items& items, int item) {
    return IndexIn(items, item) < static_cast<int>(items.size());
  }

  bool AddBelow(int item) {
    return refused_.count(item) == 0 && QueueModel::Add(item);
  }

  const absl::Time start_;
  const Options options_;
  absl::Time now_;
  std::set<int> refused_;  // by the queue below
  std::map<int, Place> waiting_;
  int next_ = 0;
  int next_at_move_ = 0;  // what next_ was when time moved last
};

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_DELAYING_QUEUE_MODEL_H_
