// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/reference/priority_queue_model.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_REFERENCE_PRIORITY_QUEUE_MODEL_H_
#define WORKQUEUE_TEST_REFERENCE_PRIORITY_QUEUE_MODEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
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
  PriorityQueueModel(absl::Time start, RateLimiterModel limiter)
      : now_(start), limiter_(limiter) {}

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
      absl::Duration delay = options.after;
      if (options.rate_limited) {
        const absl::Duration limited =
            options.retry_after.has_value()
                ? limiter_.WhenAfter(item, *options.retry_after)
                : limiter_.When(item);
        if (delay == absl::ZeroDuration() || limited < delay) delay = limited;
      }
      AddOne(item, delay, options.priority);
    }
    return true;
  }

  bool Reschedule(int item, absl::Duration delay) {
    if (shutting_down_) return false;
    Entry* const entry = Find(item);
    if (entry == nullptr || !Waits(*entry)) return AddAfter(item, delay);
    entry->ready_at = ReadyAt(delay);
    if (!Waits(*entry)) ++adds_;
    return true;
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
    const std::vector<Entry> queued = Queued();
    if (queued.empty()) return std::nullopt;
    const HandedOut first = {queued.front().item, queued.front().priority};
    Erase(first.item);
    processing_.push_back(first);
    return first;
  }

  bool Done(int item) {
    const auto it = FindProcessed(item);
    if (it == processing_.end()) return false;
    processing_.erase(it);
    return true;
  }

  // Queues `item`, which is being processed, before all others of its priority.
  void GiveBack(int item) {
    const auto it = FindProcessed(item);
    Entry given_back = {item, it->priority, --front_, absl::InfinitePast()};
    processing_.erase(it);
    if (const Entry* const entry = Find(item)) {
      given_back.priority = std::max(given_back.priority, entry->priority);
      Erase(item);
    }
    entries_.push_back(given_back);
  }

  // Handles a move of the time to `now`.
  void MoveTo(absl::Time now,
              absl::FunctionRef<workqueue::Snapshot<int>()> /*look*/) {
    now_ = now;
    // Items that are due are added in the order of time, then priority, then
    // insertion.
    std::vector<Entry*> due;
    for (Entry& entry : entries_) {
      if (Waits(entry) && entry.ready_at <= now_) due.push_back(&entry);
    }
    std::sort(due.begin(), due.end(), [](const Entry* a, const Entry* b) {
      return std::make_tuple(a->ready_at, -int64_t{a->priority}, a->sequence) <
             std::make_tuple(b->ready_at, -int64_t{b->priority}, b->sequence);
    });
    for (Entry* entry : due) {
      entry->ready_at = absl::InfinitePast();
      entry->sequence = next_++;
      ++adds_;
    }
  }

  void ShutDown() {
    shutting_down_ = true;
    entries_.erase(std::remove_if(entries_.begin(), entries_.end(), Waits),
                   entries_.end());
  }

  size_t Len() const { return Queued().size(); }
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
    int sequence;
    // In the past if the item does not wait for a time.
    absl::Time ready_at;
  };

  static bool Waits(const Entry& entry) {
    return entry.ready_at != absl::InfinitePast();
  }

  void AddOne(int item, absl::Duration delay, int priority) {
    if (delay > absl::ZeroDuration()) ++retries_;
    Entry* const entry = Find(item);
    if (entry == nullptr) {
      entries_.push_back({item, priority, next_++, ReadyAt(delay)});
      if (delay <= absl::ZeroDuration()) ++adds_;
      return;
    }
    if (priority > entry->priority) {
      entry->priority = priority;
      entry->sequence = next_++;
    }
    if (Waits(*entry)) {
      entry->ready_at = std::min(entry->ready_at, ReadyAt(delay));
      if (!Waits(*entry)) ++adds_;
    }
  }

  // Returns the items that can be handed out, in order.
  std::vector<Entry> Queued() const {
    std::vector<Entry> queued;
    for (const Entry& entry : entries_) {
      if (!Waits(entry) && !IsProcessed(entry.item)) queued.push_back(entry);
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

  bool IsProcessed(int item) const {
    return FindProcessed(item) != processing_.end();
  }

  Entry* Find(int item) {
    for (Entry& entry : entries_) {
      if (entry.item == item) return &entry;
    }
    return nullptr;
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
  int next_ = 0;
  int front_ = 0;
  int adds_ = 0;
  int retries_ = 0;
  bool shutting_down_ = false;
};

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_PRIORITY_QUEUE_MODEL_H_
