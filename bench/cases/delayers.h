// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/cases/delayers.h
// -----------------------------------------------------------------------------
//
// One interface for all classes that hand out items after a delay:
//
//   Add(item, delay)  -- some classes return a value that `Cancel()` takes
//   Take()            -- blocks until an item is due, and returns the time when
//                        it had the item
//   kTakesInLater     -- whether an added item may be in a buffer before it is
//                        in the waiting set
//   AwaitTakenIn()    -- blocks until all added items are in the waiting set

#ifndef WORKQUEUE_BENCH_CASES_DELAYERS_H_
#define WORKQUEUE_BENCH_CASES_DELAYERS_H_

#include <memory>
#include <optional>
#include <queue>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "bench/cases/measure.h"
#include "bench/cases/subjects.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/timer/scheduler.h"

namespace workqueue {

// QueueDelayer
//
// This class uses a queue for its delays. No key may be `T()`.
template <typename T, template <typename> class Queue>
class QueueDelayer {
 public:
  static constexpr bool kTakesInLater = true;

  void Add(const T& item, absl::Duration delay) {
    queue_.AddAfter(item, delay);
  }

  SteadyTime Take() {
    const std::optional<T> item = queue_.Get();
    const SteadyTime had = SteadyNow();
    queue_.Done(*item);
    return had;
  }

  // The waiting set takes items in the order in which they were added.
  void AwaitTakenIn() {
    Add(T(), absl::Nanoseconds(1));
    Take();
  }

 private:
  Queue<T> queue_;
};

// DelayQueueDelayer
//
// This class uses a delay queue.
template <typename T, template <typename> class Queue>
class DelayQueueDelayer {
 public:
  static constexpr bool kTakesInLater = false;

  auto Add(T item, absl::Duration delay) {
    return queue_.Push(std::move(item), delay);
  }

  template <typename Handle>
  void Cancel(Handle handle) {
    queue_.Cancel(handle);
  }

  SteadyTime Take() {
    queue_.Take();
    return SteadyNow();
  }

  void AwaitTakenIn() {}

 private:
  Queue<T> queue_;
};

// SchedulerDelayer
//
// This class uses a scheduler. A task has the item when the task runs.
template <typename T, typename Set>
class SchedulerDelayer {
 public:
  static constexpr bool kTakesInLater = false;

  TaskId Add(T item, absl::Duration delay) {
    return *scheduler_->ScheduleOnce(
        [this, item = std::move(item)] {
          MutexLock lock(&mu_);
          ran_.push(SteadyNow());
          has_run_.Signal();
        },
        delay);
  }

  void Cancel(TaskId id) { scheduler_->Cancel(id); }

  SteadyTime Take() {
    MutexLock lock(&mu_);
    while (ran_.empty()) has_run_.Wait(&mu_);
    const SteadyTime ran = ran_.front();
    ran_.pop();
    return ran;
  }

  void AwaitTakenIn() {}

 private:
  using MutexLock = internal::MutexLock;

  absl::Mutex mu_;
  absl::CondVar has_run_;
  std::queue<SteadyTime> ran_ ABSL_GUARDED_BY(mu_);
  // Destroyed first, because its tasks use the other members.
  const std::unique_ptr<Scheduler> scheduler_ = NewSchedulerOn<Set>();
};

}  // namespace workqueue

#endif  // WORKQUEUE_BENCH_CASES_DELAYERS_H_
