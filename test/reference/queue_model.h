// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/reference/queue_model.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_REFERENCE_QUEUE_MODEL_H_
#define WORKQUEUE_TEST_REFERENCE_QUEUE_MODEL_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "workqueue/snapshot.h"

namespace reference {

// An item that was handed out, and its priority at that time.
struct HandedOut {
  int item;
  int priority = 0;
};

// QueueModel
//
// A simple single-threaded model of what a queue promises. It consists of
// lists, with a linear search for everything.
class QueueModel {
 public:
  enum class Order {
    kFifo,
    kTouchedLast,  // An item that is added again moves to the end.
    kFair,         // like a `FairOrdering` by `GroupOf()` and `WeightOf()`
  };

  static int GroupOf(int item) { return item % 3; }
  static int WeightOf(int group) { return 1 + group; }

  explicit QueueModel(Order order = Order::kFifo) : order_(order) {}

  bool Add(int item) {
    if (shutting_down_) return false;
    const bool is_new = dirty_.insert(item).second;
    if (IsProcessed(item)) return true;
    if (is_new) {
      Push(item);
    } else if (order_ == Order::kTouchedLast && !Contains(given_back_, item)) {
      Erase(queued_, item);
      queued_.push_back(item);
    }
    return true;
  }

  // Returns nothing if the queue has ended or would block.
  std::optional<HandedOut> Get() {
    if (Len() == 0) return std::nullopt;
    const int item = Pop();
    dirty_.erase(item);
    processing_.push_back(item);
    return HandedOut{item};
  }

  bool Done(int item) {
    if (!IsProcessed(item)) return false;
    Erase(processing_, item);
    if (IsDirty(item)) Push(item);
    return true;
  }

  // Queues `item`, which is being processed, before all others.
  void GiveBack(int item) {
    Erase(processing_, item);
    dirty_.insert(item);
    given_back_.insert(given_back_.begin(), item);
  }

  // Returns whether `item` must be processed, or processed again.
  bool IsDirty(int item) const { return dirty_.count(item) > 0; }

  size_t Len() const { return given_back_.size() + queued_.size(); }
  bool Idle() const { return Len() == 0 && processing_.empty(); }
  void ShutDown() { shutting_down_ = true; }
  bool ShuttingDown() const { return shutting_down_; }

  workqueue::Snapshot<int> TakeSnapshot() const {
    workqueue::Snapshot<int> snapshot;
    snapshot.shutting_down = shutting_down_;
    for (QueueModel rest = *this; rest.Len() > 0;) {
      snapshot.queued.push_back({rest.Pop(), absl::Time(), /*priority=*/0,
                                 /*failures=*/0, /*last_error=*/""});
    }
    for (int item : processing_) {
      snapshot.processing.push_back(
          {item, absl::Time(), /*added_again=*/IsDirty(item), /*failures=*/0,
           /*last_error=*/""});
    }
    return snapshot;
  }

 private:
  // A group's turn. turns_ contains the groups that have queued items.
  struct Turn {
    int group;
    int left;
  };

  static bool Contains(const std::vector<int>& items, int item) {
    return std::count(items.begin(), items.end(), item) > 0;
  }

  static void Erase(std::vector<int>& items, int item) {
    items.erase(std::find(items.begin(), items.end(), item));
  }

  bool IsProcessed(int item) const { return Contains(processing_, item); }

  // Returns the first queued item of `group`.
  std::vector<int>::iterator FirstOf(int group) {
    return std::find_if(queued_.begin(), queued_.end(),
                        [group](int item) { return GroupOf(item) == group; });
  }

  void Push(int item) {
    const int group = GroupOf(item);
    if (FirstOf(group) == queued_.end()) {
      turns_.push_back({group, WeightOf(group)});
    }
    queued_.push_back(item);
  }

  int Pop() {
    if (!given_back_.empty()) {
      const int item = given_back_.front();
      given_back_.erase(given_back_.begin());
      return item;
    }
    Turn turn = turns_.front();
    const auto next =
        order_ == Order::kFair ? FirstOf(turn.group) : queued_.begin();
    const int item = *next;
    queued_.erase(next);
    if (order_ != Order::kFair) return item;

    const bool has_more = FirstOf(turn.group) != queued_.end();
    if (has_more && turn.left > 1) {
      --turns_.front().left;
      return item;
    }
    turns_.erase(turns_.begin());
    if (has_more) turns_.push_back({turn.group, WeightOf(turn.group)});
    return item;
  }

  const Order order_;
  std::vector<int> given_back_;  // queued before all others; the last one first
  std::vector<int>
      queued_;  // the others, in the order in which they were queued
  std::vector<Turn> turns_;  // the next one first
  std::set<int> dirty_;
  std::vector<int> processing_;  // in the order in which they were handed out
  bool shutting_down_ = false;
};

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_QUEUE_MODEL_H_
