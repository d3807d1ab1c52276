// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TIMERS_H_
#define WORKQUEUE_TIMERS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "workqueue/base/handle.h"
#include "workqueue/base/slot_map.h"
#include "workqueue/base/wake_time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/executor.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/timer/queue_clock.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timer/waiting_set.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {

// TimerId
//
// Names a callback of a `Timers`, for `Cancel()`. An id can be kept for any
// time: once its callback has been called, it names nothing, and never another
// callback. Copyable, comparable and hashable; a default-constructed id names
// nothing.
using TimerId = internal::Handle<struct TimerIdTag>;

// TimerCallback
//
// A function that is called when its time has come, with OK, or when the timers
// are shut down before, with `absl::CancelledError`.
using TimerCallback = absl::AnyInvocable<void(absl::Status status) &&>;

// TimersOptions
//
// Options of a `Timers`. Every field has a usable default.
struct TimersOptions {
  // The name in the name of the thread.
  std::string name;

  // The clock, or a loop to share its thread with queues and other timers.
  QueueClock clock;

  // The data structure that keeps the callbacks until they are due.
  WaitingSetOptions waiting_set;
};

// Timers
//
// Calls functions later, on an executor. A callback that waits costs a place in
// a heap or a timing wheel, and no thread. One thread serves all callbacks: it
// submits each to its executor when its time has come. That thread can also
// serve queues and other timers.
//
// Example:
//
//     workqueue::Timers timers;
//     workqueue::TimerId timeout = timers.CallAfter(
//         absl::Seconds(5), &executor, [call](absl::Status status) {
//           if (status.ok()) call->GiveUp();
//         });
//     ...
//     timers.Cancel(timeout);
//
// Use a `Scheduler` for functions that may take long, or that run periodically,
// if there is no executor: a scheduler has threads of its own.
//
// Before a shutdown, a callback is never submitted before its time on the
// clock. Callbacks are submitted in the order of their times, and those of
// equal times in the order of their `CallAfter()`. With a timing wheel, a
// callback is submitted up to one tick late, and those of the same tick in any
// order. If the clock goes back, a callback still waits until the clock reaches
// its time. A shutdown submits all callbacks that wait, at once and in any
// order.
//
// `CallAfter()` and `Cancel()` take O(log n) for n callbacks, or constant time
// with a timing wheel. They do not block. They allocate nothing in the steady
// state if the callback fits into an `absl::AnyInvocable`.
//
// On a `FakeClock`, `Step()` returns when all callbacks that are due have been
// submitted, and have returned if their executor is an `InlineExecutor` or a
// `ThreadPool` on the same clock.
//
// If the executor is an `InlineExecutor`, or throws, the callback runs on the
// thread of the timers. Such a callback should only pass the work on, because
// others wait for that thread.
//
// Thread-safe. A callback may call every function, but must not destroy the
// timers.
class Timers final : private WaitingLoop::Client {
 public:
  // Starts a thread, unless `options.clock` is a loop.
  explicit Timers(TimersOptions options = {});

  // Shuts the timers down, submits the callbacks that wait, and blocks until
  // all have returned and are destroyed. A callback of other timers may destroy
  // these, even on the same loop.
  //
  // Aborts the program if an executor has callbacks to call, and this is the
  // thread of a `LoopExecutor` among them, or of a loop of these timers that
  // the program drives: shut the timers down first, and let the loop run. That
  // does not happen with an `InlineExecutor`.
  ~Timers() override;

  Timers(const Timers&) = delete;
  Timers& operator=(const Timers&) = delete;

  // Calls `callback` once, on `executor`, when `delay` has passed; soon if
  // `delay` is zero or negative, and only at the shutdown if it is infinite.
  // Does not itself call it, whatever the executor.
  //
  // `executor` is not owned. It must outlive the callback. `callback` is
  // destroyed when it has been called or cancelled. Aborts the program if one
  // of them is null.
  //
  // Throws `std::bad_alloc` if there is no memory. Then nothing has changed.
  TimerId CallAfter(absl::Duration delay, Executor* executor,
                    TimerCallback callback);

  // Cancels the callback that `id` names, and destroys it. Returns true if it
  // had not been called and never will be. Returns false if it has been called,
  // is being called, or has been cancelled before.
  bool Cancel(TimerId id);

  // Calls all callbacks that wait, with `absl::CancelledError`, on their
  // executors, and also those that are passed to `CallAfter()` from now on.
  // Does not block. May be called from any thread and more than once.
  void ShutDown();

 private:
  // A callback is in waiting_ until it is submitted. After that it keeps its
  // address until its task has run, even if it is cancelled.
  struct Entry : internal::SlotMapEntry {
    Entry(Executor* the_executor, TimerCallback&& the_callback)
        : executor(the_executor), callback(std::move(the_callback)) {}

    Executor* executor;
    TimerCallback callback;  // empty once called or cancelled
    bool submitted = false;
    bool ended = false;  // by the shutdown
  };

  // Submits the callbacks that are due.
  absl::Time Run(absl::Time now) override;

  // Returns whether this thread runs the loop for the program, or the executor
  // of a callback that has not been called.
  bool RunsHere() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The task of a callback.
  void Call(Entry* entry);

  // Destroys `entry`, which is not in waiting_. May move another entry.
  void Remove(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Clock* const clock_;
  const std::shared_ptr<WaitingLoop> loop_;

  sync::Mutex mu_;
  internal::SlotMap<Entry, TimerIdTag> entries_ ABSL_GUARDED_BY(mu_);
  // When the callbacks are due, by their slots in entries_.
  internal::WaitingSet waiting_ ABSL_GUARDED_BY(mu_);
  // Until when the loop does not run this client.
  internal::WakeTime wake_time_ ABSL_GUARDED_BY(mu_);
  // The number of calls in progress.
  size_t calls_ ABSL_GUARDED_BY(mu_) = 0;
  bool shut_down_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TIMERS_H_
