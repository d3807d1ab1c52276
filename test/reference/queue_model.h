// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_REFERENCE_QUEUE_MODEL_H_
#define WORKQUEUE_TEST_REFERENCE_QUEUE_MODEL_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "test/reference/fair_ordering_model.h"
#include "workqueue/snapshot.h"

namespace reference {

// An item that was handed out, and its priority and whether it was a retry at
// that time.
struct HandedOut {
  int item;
  int priority = 0;
  bool is_retry = false;
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
    kFair,         // in a `FairOrdering`
  };

  // `fair` are the options of the `FairOrdering`.
  explicit QueueModel(Order order = Order::kFifo,
                      const FairOrderingModel::Options& fair = {})
      : order_(order), ordering_(fair) {}

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
    if (!HasNext()) return std::nullopt;
    const int item = Pop();
    dirty_.erase(item);
    processing_.push_back(item);
    return HandedOut{item};
  }

  bool Done(int item) {
    if (!IsProcessed(item)) return false;
    Erase(processing_, item);
    if (ordering_.IsProcessed(item)) ordering_.Done(item);
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

  size_t Len() const {
    return given_back_.size() + queued_.size() + ordering_.Len();
  }

  // Returns whether an item can be handed out.
  bool HasNext() const {
    return !given_back_.empty() || !queued_.empty() || ordering_.HasNext();
  }

  // Returns how many of the queued items have a known order. The others are
  // held back.
  size_t NumInOrder() const {
    return given_back_.size() + queued_.size() + ordering_.Ready().size();
  }

  bool Idle() const { return Len() == 0 && processing_.empty(); }
  void ShutDown() { shutting_down_ = true; }
  bool ShuttingDown() const { return shutting_down_; }

  workqueue::Snapshot<int> TakeSnapshot() const {
    workqueue::Snapshot<int> snapshot;
    snapshot.shutting_down = shutting_down_;
    const auto add = [&snapshot](int item) {
      snapshot.queued.push_back({item, absl::Time(), /*priority=*/0,
                                 /*failures=*/0, /*last_error=*/""});
    };
    for (int item : given_back_) add(item);
    for (int item : queued_) add(item);
    for (int item : ordering_.Ready()) add(item);
    for (const auto& held : ordering_.Held()) add(held.item);
    for (int item : processing_) {
      snapshot.processing.push_back(
          {item, absl::Time(), /*added_again=*/IsDirty(item), /*failures=*/0,
           /*last_error=*/""});
    }
    return snapshot;
  }

 private:
  static bool Contains(const std::vector<int>& items, int item) {
    return std::count(items.begin(), items.end(), item) > 0;
  }

  static void Erase(std::vector<int>& items, int item) {
    items.erase(std::find(items.begin(), items.end(), item));
  }

  static int PopFront(std::vector<int>& items) {
    const int item = items.front();
    items.erase(items.begin());
    return item;
  }

  bool IsProcessed(int item) const { return Contains(processing_, item); }

  void Push(int item) {
    if (order_ == Order::kFair) {
      ordering_.Push({item});
    } else {
      queued_.push_back(item);
    }
  }

  int Pop() {
    if (!given_back_.empty()) return PopFront(given_back_);
    return order_ == Order::kFair ? ordering_.Pop().item : PopFront(queued_);
  }

  const Order order_;
  std::vector<int> given_back_;  // queued before all others; the last one first
  std::vector<int> queued_;      // in the order in which they were queued
  FairOrderingModel ordering_;   // the queued items, if the order is fair
  std::set<int> dirty_;
  std::vector<int> processing_;  // in the order in which they were handed out
  bool shutting_down_ = false;
};

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_QUEUE_MODEL_H_
