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

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "workqueue/lease.h"
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
