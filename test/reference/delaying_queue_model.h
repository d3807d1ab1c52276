// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

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
// A model of what a delaying queue promises, built like `QueueModel`.
class DelayingQueueModel : public QueueModel {
 public:
  struct Options {
    bool add_supersedes_waiting = false;
    // The tick of the wheel in which items wait, or zero if there is no wheel.
    // The wheel begins at the first item.
    absl::Duration tick = absl::ZeroDuration();
  };

  DelayingQueueModel(absl::Time start, Options options)
      : start_(start), options_(options), now_(start) {}

  // Sets whether the queue below refuses `item` from now on.
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
    } else if (ready_at < TickAt(it->second.ready_at)) {
      // A wheel knows only the tick of the item, so this looks like an earlier
      // time to it, and it moves the item.
      it->second.sequence = next_++;
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

  // Handles a move of the time to `now`. A wheel's tick leaves some times open.
  // There the model follows the queue, as seen by `look()`. A refused item is
  // tried again one second later.
  void MoveTo(absl::Time now,
              absl::FunctionRef<workqueue::Snapshot<int>()> look) {
    // A step of zero wakes no thread, so the wheel may not have taken in what
    // was added before.
    const bool moves = now > now_;
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
    // Sort by time, and by order of insertion for equal times.
    std::sort(due.begin(), due.end());
    for (const auto& [comes_at, order, item] : due) {
      if (AddBelow(item)) {
        waiting_.erase(item);
      } else {
        waiting_[item] = {now_ + absl::Seconds(1), next_++};
      }
    }
    if (moves) next_at_move_ = next_;
  }

  void ShutDown() {
    waiting_.clear();
    QueueModel::ShutDown();
  }

  workqueue::Snapshot<int> TakeSnapshot() const {
    workqueue::Snapshot<int> snapshot = QueueModel::TakeSnapshot();
    for (const auto& [item, place] : waiting_) {
      snapshot.waiting.push_back({item, TickAt(place.ready_at), /*priority=*/0,
                                  /*failures=*/0, /*last_error=*/""});
    }
    return snapshot;
  }

 private:
  struct Place {
    absl::Time ready_at;
    int sequence;
  };

  // The time at which an item comes, its order among items of that time, and
  // the item.
  using Due = std::tuple<absl::Time, int, int>;

  // A wheel's thread may find an item due when it takes the item in. Such an
  // item does not wait for a tick and may come before others that do. This can
  // happen to every item added since the time moved last. The model lets such
  // an item come together with the item before it in the queue.
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

  // Returns the latest time at which an item that is ready at `time` comes.
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
  int next_at_move_ = 0;  // the value of next_ when the time moved last
};

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_DELAYING_QUEUE_MODEL_H_
