// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_QUEUE_STATE_H_
#define WORKQUEUE_INTERNAL_QUEUE_STATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/slab.h"
#include "workqueue/clock/clock.h"
#include "workqueue/internal/callback_getters.h"
#include "workqueue/internal/compact_time.h"
#include "workqueue/internal/queue_metrics.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/timer/queue_clock.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::internal {

// Whether a queue has an item that it can hand out now.
enum class NextItem {
  kNone,      // No item is queued.
  kHeldBack,  // Each queued item waits until the processing of another ends.
  kReady,
};

// Returns the error of an addition to a queue that is shutting down.
absl::Status ShuttingDownError();

// QueueState
//
// The part of a queue in memory that does not depend on the type of its items:
// the lock, the threads that block, the callbacks that wait, the shutdown and
// the drains. `QueueCore` derives from it.
//
// A thread blocks until an item is ready, or until the queue is drained. This
// class does not know the items. The derived class passes functions that tell
// whether the condition holds; they are called with the lock held.
class QueueState {
 public:
  QueueState(const QueueState&) = delete;
  QueueState& operator=(const QueueState&) = delete;

  // Runs the callback of `getter`, which has been woken. Called once for each
  // wake-up, on a thread that the executor chooses. The queue exists until
  // then, but another thread may run its destructor. So this calls a pointer: a
  // virtual call would race with the destructor.
  void RunCallback(SlabId getter) { run_callback_(this, getter); }

 protected:
  using RunCallbackFunction = void (*)(QueueState* self, SlabId getter);

  // `run_callback` does what `RunCallback()` does. `name`, `metrics_provider`,
  // `log_sink` and `clock` are those of `QueueOptions`.
  QueueState(RunCallbackFunction run_callback, absl::string_view name,
             MetricsProvider* metrics_provider, LogSink* log_sink,
             const QueueClock& clock, bool has_priorities);
  ~QueueState() = default;

  // Blocks until `next()` tells of an item that is ready, the queue is shut
  // down and has no item, or `timeout` has passed. Returns OK if an item may be
  // handed out. Returns an error at once if it would block the thread of a loop
  // that the program drives. So does `AwaitDrained()`.
  absl::Status AwaitItem(absl::Duration timeout,
                         absl::FunctionRef<NextItem()> next)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Returns whether a get must go on waiting.
  bool MustWait(NextItem next) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (next == NextItem::kReady || closing_) return false;
    return next == NextItem::kHeldBack || !IsShuttingDown();
  }

  // Begins a drain, which `AwaitDrained()` must end. From now on the thread
  // counts as one that blocks in the queue, and so the lock may be released in
  // between. Returns an argument of `AwaitDrained()`.
  int64_t BeginDrain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    ++blocked_;
    return drain_ends_;
  }

  // Blocks until `idle()`, until `EndDrains()` is called after `BeginDrain()`,
  // which has returned `drain`, or until `timeout` has passed. Returns
  // `idle()`.
  absl::StatusOr<bool> AwaitDrained(int64_t drain, absl::Duration timeout,
                                    absl::FunctionRef<bool()> idle)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Returns whether a thread or a callback waits for an item without a timeout,
  // and has not been woken.
  bool GettersWait() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return getters_.size() + callbacks_.size() > 0;
  }

  // Returns whether a thread blocks in the queue, or a callback waits in it, or
  // has been cancelled and its executor has yet to run its task.
  bool ThreadsBlock() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return blocked_ + callbacks_.size() + woken_getters_ + cancelled_ > 0;
  }

  // Wakes threads and callbacks that wait for an item. `queued` items are
  // queued, of which `next` tells whether the first is ready. Adds the
  // callbacks to `*wake_ups`. Threads and callbacks take turns, but a thread is
  // also woken in the turn of a callback: the task of a callback that has been
  // woken may begin late.
  //
  // Only a few are on their way at a time: each of them wakes others once it
  // has taken its own item, so that a burst of items costs a few wake-ups, and
  // not one for each item. Wakes the thread first that has waited for the
  // shortest time, because its memory is still in a cache. After the shutdown,
  // also wakes threads and callbacks for which there is no item.
  void WakeGetters(NextItem next, size_t queued, CallbackWakeUps* wake_ups)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Returns the status of a get that has stopped waiting: OK if an item may be
  // handed out, and otherwise the error.
  absl::Status AfterWait(NextItem next) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void BeginShutDown() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Ends the drains in progress.
  void EndDrains() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The queue has become idle: ends the drains in progress with success.
  void NotifyIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { drained_.SignalAll(); }

  // Shuts the queue down for good: hands out no item from now on. Called by the
  // destructor of the derived class, before `AwaitNobodyBlocks()`.
  void BeginDestruction() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Blocks until no thread blocks in the queue, no callback waits in it, and
  // none is being called. First runs the callbacks that this thread has
  // deferred. Aborts the program if this would block for ever, because this
  // thread runs the queue's loop, or `runs_here()` tells that it runs the
  // executor of a callback.
  void AwaitNobodyBlocks(absl::FunctionRef<bool()> runs_here)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Surround the call of a callback, for whose end the destructor waits. Most
  // calls end without the lock.
  void BeginCall() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { ++begun_calls_; }
  void EndCall() ABSL_LOCKS_EXCLUDED(mu_) {
    if (ended_calls_.fetch_add(1) >= kDestroyed) EndLateCall();
  }

  // Returns the coarse time of the clock.
  CompactTime CoarseNow() const {
    return is_clock_real_ ? CompactTime::FromUnixNanos(
                                clock_epoch_ns_ + sync::CoarseSteadyNanos())
                          : CompactTime(clock_->CoarseTimeNow());
  }

  bool IsShuttingDown() const { return shutting_down_.load(); }

  ErrorLog errors_;

 private:
  // A thread that waits for an item without a timeout.
  struct Getter : IntrusiveLink<Getter> {
    sync::CondVar wake_up;
    bool woken = false;
  };

  // The part of `EndCall()` for which the destructor waits.
  void EndLateCall() ABSL_LOCKS_EXCLUDED(mu_);

  // Wakes all threads that wait for an item, so that they look whether they
  // must end. They leave the list themselves.
  void SignalGetters() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Returns whether this thread must not block.
  bool BlocksLoop() const {
    return driven_loop_ != nullptr && driven_loop_->IsRunHere();
  }

  static constexpr uint64_t kDestroyed = uint64_t{1} << 63;

  const RunCallbackFunction run_callback_;
  // That of the queue's clock, if the program drives it, and null otherwise.
  const std::shared_ptr<WaitingLoop> driven_loop_;
  // Signalled by `EndDrains()` and `NotifyIdle()`.
  sync::CondVar drained_;
  // The number of calls of `EndDrains()`.
  int64_t drain_ends_ ABSL_GUARDED_BY(mu_) = 0;
  // True once the destructor has begun. No item is handed out then.
  bool closing_ ABSL_GUARDED_BY(mu_) = false;

  // Written under mu_.
  sync::Atomic<bool> shutting_down_{false};
  // See `begun_calls_`.
  sync::Atomic<uint64_t> ended_calls_{0};
  // The calls of callbacks that have begun, and those of them that have ended
  // since the destructor added `kDestroyed` to `ended_calls_`. A call that sees
  // no such addition does not use the queue any more.
  uint64_t begun_calls_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t ended_late_ ABSL_GUARDED_BY(mu_) = 0;
  // Whether a callback is woken next if threads wait, too.
  bool turn_of_callback_ ABSL_GUARDED_BY(mu_) = false;

 protected:
  // The number of threads that block in `AwaitItem()` or `AwaitDrained()`.
  size_t blocked_ ABSL_GUARDED_BY(mu_) = 0;
  // The threads and callbacks that have been woken and do not run yet, and the
  // threads among them. While an item is ready and one of either waits, the
  // first number is not zero; while a thread waits, nor is the second.
  size_t woken_getters_ ABSL_GUARDED_BY(mu_) = 0;
  size_t woken_threads_ ABSL_GUARDED_BY(mu_) = 0;
  // The tasks of callbacks that were cancelled after they had been woken. These
  // do not count as woken: their executor may be busy for long.
  size_t cancelled_ ABSL_GUARDED_BY(mu_) = 0;
  // The callbacks that wait and have not been woken, the first one first. This
  // class wakes them; the derived class does whatever else happens to them.
  IntrusiveList<CallbackGetter> callbacks_ ABSL_GUARDED_BY(mu_);
  // The threads that wait and have not been woken, the last one first.
  IntrusiveList<Getter> getters_ ABSL_GUARDED_BY(mu_);

  // The members that every call uses are next to each other, because each line
  // of the cache that another core has written costs more than the lock.
  Clock* const clock_;
  const bool is_clock_real_;
  const int64_t clock_epoch_ns_ = RealClockEpochNanos();
  const std::unique_ptr<QueueMetrics> metrics_;
  // Begins a line, because an addition that is left to another thread reads the
  // members above without the lock.
  alignas(64) mutable sync::Mutex mu_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_QUEUE_STATE_H_
