// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_REFERENCE_PRIORITY_QUEUE_MODEL_H_
#define WORKQUEUE_TEST_REFERENCE_PRIORITY_QUEUE_MODEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "test/reference/fair_ordering_model.h"
#include "test/reference/queue_model.h"
#include "test/reference/rate_limiter_model.h"
#include "workqueue/priority_queue.h"
#include "workqueue/snapshot.h"

namespace reference {

// PriorityQueueModel
//
// A model of what a priority queue promises, built like `QueueModel`.
class PriorityQueueModel {
 public:
  // `fair` are the options of the queue's `FairOrdering`, if it has one.
  PriorityQueueModel(absl::Time start, RateLimiterModel limiter,
                     const std::optional<FairOrderingModel::Options>& fair)
      : now_(start), limiter_(limiter) {
    if (fair.has_value()) ordering_.emplace(*fair);
  }

  bool Add(int item) { return AddWithOptions({}, {item}); }
  bool AddRateLimited(int item) {
    workqueue::AddOptions options;
    options.rate_limited = true;
    return AddWithOptions(options, {item});
  }
  bool AddRateLimitedAfter(int item, absl::Duration delay) {
    workqueue::AddOptions options;
    options.rate_limited = true;
    options.retry_after = delay;
    return AddWithOptions(options, {item});
  }
  bool AddAfter(int item, absl::Duration delay) {
    workqueue::AddOptions options;
    options.after = delay;
    return AddWithOptions(options, {item});
  }

  bool AddWithOptions(const workqueue::AddOptions& options,
                      const std::vector<int>& items) {
    if (shutting_down_) return items.empty();
    for (int item : items) {
      absl::Duration delay = options.after.value_or(absl::ZeroDuration());
      if (options.rate_limited) {
        const absl::Duration limited =
            options.retry_after.has_value()
                ? limiter_.WhenAfter(item, *options.retry_after)
                : limiter_.When(item);
        if (delay == absl::ZeroDuration() || limited < delay) delay = limited;
      }
      AddOne(item, delay, options.priority,
             options.retry || options.rate_limited, options.reschedule);
    }
    return true;
  }

  bool Reschedule(int item, absl::Duration delay) {
    return AddWithOptions(workqueue::AddOptions::Reschedule(delay), {item});
  }

  bool CancelDelayed(int item) {
    if (shutting_down_) return false;
    const Entry* const entry = Find(item);
    if (entry == nullptr || !Waits(*entry)) return false;
    Erase(item);
    return true;
  }

  void Forget(int item) { limiter_.Forget(item); }
  int NumRequeues(int item) const { return limiter_.NumRequeues(item); }

  // Returns nothing if there is nothing to hand out.
  std::optional<HandedOut> Get() {
    if (!HasNext()) return std::nullopt;
    const Entry first =
        ordering_.has_value() ? *Find(PopFromOrdering()) : Queued().front();
    Erase(first.item);
    processing_.push_back({first.item, first.priority, first.is_retry});
    processed_.insert(first.item);
    return processing_.back();
  }

  bool Done(int item) {
    const auto it = FindProcessed(item);
    if (it == processing_.end()) return false;
    processing_.erase(it);
    processed_.erase(item);
    if (!ordering_.has_value()) return true;
    if (ordering_->IsProcessed(item)) ordering_->Done(item);
    const Entry* const entry = Find(item);
    if (entry != nullptr && !Waits(*entry)) PushToOrdering(*entry);
    return true;
  }

  // Queues `item`, which is being processed, before all others of its priority
  // or, with an ordering, before all others.
  void GiveBack(int item) {
    const auto it = FindProcessed(item);
    Entry given_back = {item,     it->priority, it->is_retry,
                        --front_, /*timed=*/0,  absl::InfinitePast()};
    processing_.erase(it);
    processed_.erase(item);
    if (const Entry* const entry = Find(item)) {
      given_back.priority = std::max(given_back.priority, entry->priority);
      given_back.is_retry = given_back.is_retry && entry->is_retry;
      Erase(item);
    }
    entries_.push_back(given_back);
    if (ordering_.has_value()) given_back_.insert(given_back_.begin(), item);
  }

  // Handles a move of the time to `now`.
  void MoveTo(absl::Time now,
              absl::FunctionRef<workqueue::Snapshot<int>()> /*look*/) {
    now_ = now;
    // Items that are due are added in the order of their times and, within a
    // time, in the order in which they were given it.
    std::vector<Entry*> due;
    for (Entry& entry : entries_) {
      if (Waits(entry) && entry.ready_at <= now_) due.push_back(&entry);
    }
    std::sort(due.begin(), due.end(), [](const Entry* a, const Entry* b) {
      return std::tie(a->ready_at, a->timed) < std::tie(b->ready_at, b->timed);
    });
    for (Entry* entry : due) {
      entry->ready_at = absl::InfinitePast();
      entry->sequence = next_++;
      BecomeDirty(*entry);
    }
  }

  void ShutDown() {
    shutting_down_ = true;
    entries_.erase(std::remove_if(entries_.begin(), entries_.end(), Waits),
                   entries_.end());
  }

  size_t Len() const {
    return std::count_if(entries_.begin(), entries_.end(),
                         [this](const Entry& e) { return IsQueued(e); });
  }

  // Returns whether an item can be handed out.
  bool HasNext() const {
    if (!ordering_.has_value()) return Len() > 0;
    return !given_back_.empty() || ordering_->HasNext();
  }

  // Returns how many of the queued items have a known order. The others are
  // held back.
  size_t NumInOrder() const {
    if (!ordering_.has_value()) return Len();
    return given_back_.size() + ordering_->Ready().size();
  }

  bool Idle() const { return Len() == 0 && processing_.empty(); }
  bool ShuttingDown() const { return shutting_down_; }

  workqueue::Snapshot<int> TakeSnapshot() const {
    workqueue::Snapshot<int> snapshot;
    snapshot.shutting_down = shutting_down_;
    for (const Entry& entry : Queued()) {
      snapshot.queued.push_back({entry.item, absl::Time(), entry.priority,
                                 /*failures=*/0, /*last_error=*/""});
    }
    for (const HandedOut& processed : processing_) {
      const bool added_again = std::any_of(
          entries_.begin(), entries_.end(), [&processed](const Entry& e) {
            return e.item == processed.item && !Waits(e);
          });
      snapshot.processing.push_back({processed.item, absl::Time(), added_again,
                                     /*failures=*/0,
                                     /*last_error=*/""});
    }
    for (const Entry& entry : entries_) {
      if (!Waits(entry)) continue;
      snapshot.waiting.push_back({entry.item, entry.ready_at, entry.priority,
                                  /*failures=*/0, /*last_error=*/""});
    }
    workqueue::internal::CountFailures(&snapshot, limiter_);
    return snapshot;
  }

  // The values of the metrics: the items added and not handed out, the number
  // of additions, and the number of delayed additions.
  std::map<int, int> DepthByPriority() const {
    std::map<int, int> depth;
    for (const Entry& entry : entries_) {
      if (!Waits(entry)) ++depth[entry.priority];
    }
    return depth;
  }
  int adds() const { return adds_; }
  int retries() const { return retries_; }

 private:
  struct Entry {
    int item;
    int priority;
    bool is_retry;
    int sequence;
    int timed;  // sorts the entries of one time
    // In the past if the item does not wait for a time.
    absl::Time ready_at;
  };

  static bool Waits(const Entry& entry) {
    return entry.ready_at != absl::InfinitePast();
  }

  bool IsQueued(const Entry& entry) const {
    return !Waits(entry) && !IsProcessed(entry.item);
  }

  void AddOne(int item, absl::Duration delay, int priority, bool is_retry,
              bool reschedule) {
    Entry* const entry = Find(item);
    const bool moves = reschedule && entry != nullptr && Waits(*entry);
    if (delay > absl::ZeroDuration()) ++retries_;
    if (entry == nullptr) {
      entries_.push_back(
          {item, priority, is_retry, next_, /*timed=*/next_, ReadyAt(delay)});
      ++next_;
      if (!Waits(entries_.back())) BecomeDirty(entries_.back());
      return;
    }
    const Entry before = *entry;
    if (priority > entry->priority) {
      entry->priority = priority;
      entry->sequence = next_++;
    }
    entry->is_retry = entry->is_retry && is_retry;
    if (Waits(*entry)) {
      if (!moves && ReadyAt(delay) >= entry->ready_at) return;
      entry->ready_at = ReadyAt(delay);
      entry->timed = next_++;
      if (!Waits(*entry)) BecomeDirty(*entry);
    } else if (entry->priority != before.priority ||
               entry->is_retry != before.is_retry) {
      MoveInOrdering(*entry);
    }
  }

  // Handles that `entry` no longer waits.
  void BecomeDirty(const Entry& entry) {
    ++adds_;
    if (ordering_.has_value() && IsQueued(entry)) PushToOrdering(entry);
  }

  void PushToOrdering(const Entry& entry) {
    ordering_->Push({entry.item, entry.priority, entry.is_retry});
  }

  // Handles that `entry`, which does not wait, has another priority or kind.
  void MoveInOrdering(const Entry& entry) {
    if (!ordering_.has_value() || !IsQueued(entry) || IsListed(entry.item)) {
      return;
    }
    ordering_->Remove(entry.item);
    PushToOrdering(entry);
  }

  // Returns whether `item` was given back, to a queue with an ordering.
  bool IsListed(int item) const {
    return std::count(given_back_.begin(), given_back_.end(), item) > 0;
  }

  int PopFromOrdering() {
    if (given_back_.empty()) return ordering_->Pop().item;
    const int item = given_back_.front();
    given_back_.erase(given_back_.begin());
    return item;
  }

  // Returns the queued items in order. Those that are held back come last.
  std::vector<Entry> Queued() const {
    std::vector<Entry> queued;
    if (ordering_.has_value()) {
      std::vector<int> items = given_back_;
      for (int item : ordering_->Ready()) items.push_back(item);
      for (const auto& held : ordering_->Held()) items.push_back(held.item);
      for (int item : items) queued.push_back(*Find(item));
      return queued;
    }
    for (const Entry& entry : entries_) {
      if (IsQueued(entry)) queued.push_back(entry);
    }
    std::sort(queued.begin(), queued.end(), [](const Entry& a, const Entry& b) {
      return a.priority != b.priority ? a.priority > b.priority
                                      : a.sequence < b.sequence;
    });
    return queued;
  }

  absl::Time ReadyAt(absl::Duration delay) const {
    return delay > absl::ZeroDuration() ? now_ + delay : absl::InfinitePast();
  }

  std::vector<HandedOut>::const_iterator FindProcessed(int item) const {
    return std::find_if(
        processing_.begin(), processing_.end(),
        [item](const HandedOut& processed) { return processed.item == item; });
  }

  bool IsProcessed(int item) const { return processed_.count(item) > 0; }

  const Entry* Find(int item) const {
    for (const Entry& entry : entries_) {
      if (entry.item == item) return &entry;
    }
    return nullptr;
  }
  Entry* Find(int item) {
    return const_cast<Entry*>(std::as_const(*this).Find(item));
  }

  void Erase(int item) {
    entries_.erase(
        std::remove_if(entries_.begin(), entries_.end(),
                       [item](const Entry& e) { return e.item == item; }),
        entries_.end());
  }

  absl::Time now_;
  RateLimiterModel limiter_;
  // queued, waiting, or to be queued again by Done()
  std::vector<Entry> entries_;
  // In the order in which they were handed out.
  std::vector<HandedOut> processing_;
  std::unordered_set<int> processed_;  // the items of processing_
  // With an ordering, the queued items are in it, or have been given back. The
  // one given back last comes first.
  std::optional<FairOrderingModel> ordering_;
  std::vector<int> given_back_;
  int next_ = 0;
  int front_ = 0;
  int adds_ = 0;
  int retries_ = 0;
  bool shutting_down_ = false;
};

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_PRIORITY_QUEUE_MODEL_H_
