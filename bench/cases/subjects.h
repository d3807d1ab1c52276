// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/cases/subjects.h
// -----------------------------------------------------------------------------
//
// The library's queues with default constructors, which the cases require.
// `Set` is the waiting set, `Heap` or `Wheel`.

#ifndef WORKQUEUE_BENCH_CASES_SUBJECTS_H_
#define WORKQUEUE_BENCH_CASES_SUBJECTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/scheduler.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {

struct Heap {
  static WaitingSetOptions Options() { return {}; }
};

struct Wheel {
  static WaitingSetOptions Options() {
    return *WaitingSetOptions::TimingWheel();
  }
};

template <typename T, typename Set>
class RateLimitingQueueOn : public RateLimitingQueue<T> {
 public:
  using Lease = workqueue::Lease<T>;

  RateLimitingQueueOn() : RateLimitingQueue<T>(Options()) {}

 private:
  static RateLimitingQueueOptions<T> Options() {
    RateLimitingQueueOptions<T> options;
    options.waiting_set = Set::Options();
    options.rate_limiter = *ItemExponentialFailureRateLimiter<T>::Create(
        absl::Nanoseconds(1), absl::Seconds(1));
    return options;
  }
};

// The group of a key is its last three characters. So there are a thousand.
inline std::string GroupOf(const std::string& key) {
  return key.substr(key.size() - (std::min)(key.size(), size_t{3}));
}
inline std::string GroupOf(int64_t key) { return absl::StrCat(key % 1000); }

// A `PriorityQueue`, with a `FairOrdering` if `fair`. That class is final.
template <typename T, bool fair>
class PriorityQueueOn {
 public:
  using Lease = workqueue::Lease<T>;

  PriorityQueueOn() : queue_(Options()) {}

  void Add(const T& item) { queue_.Add(item); }
  void AddAll(absl::Span<const T> items) { queue_.AddAll(items); }
  void AddAfter(const T& item, absl::Duration delay) {
    queue_.AddAfter(item, delay);
  }
  void AddRateLimited(const T& item) { queue_.AddRateLimited(item); }
  void Forget(const T& item) { queue_.Forget(item); }
  std::optional<T> Get() { return queue_.Get(); }
  void Done(const T& item) { queue_.Done(item); }
  auto AcquireNext(Lease* lease) { return queue_.AcquireNext(lease); }
  auto AcquireUpTo(size_t max) { return queue_.AcquireUpTo(max); }
  auto Len() { return queue_.Len(); }

 private:
  static PriorityQueueOptions<T> Options() {
    PriorityQueueOptions<T> options;
    options.rate_limiter = *ItemExponentialFailureRateLimiter<T>::Create(
        absl::Nanoseconds(1), absl::Seconds(1));
    if (fair) {
      FairOrderingOptions<T> ordering;
      ordering.dimensions.resize(1);
      ordering.dimensions[0].group_of = [](const T& key) {
        return GroupOf(key);
      };
      options.ordering = *FairOrdering<T>::Create(std::move(ordering));
    }
    return options;
  }

  PriorityQueue<T> queue_;
};

template <typename T, typename Set>
class DelayQueueOn : public DelayQueue<T> {
 public:
  DelayQueueOn() : DelayQueue<T>(Options()) {}

 private:
  static DelayQueueOptions Options() {
    DelayQueueOptions options;
    options.waiting_set = Set::Options();
    return options;
  }
};

template <typename Set>
std::unique_ptr<Scheduler> NewSchedulerOn() {
  SchedulerOptions options;
  options.waiting_set = Set::Options();
  return *Scheduler::Create(std::move(options));
}

}  // namespace workqueue

#endif  // WORKQUEUE_BENCH_CASES_SUBJECTS_H_
