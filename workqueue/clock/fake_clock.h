// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CLOCK_FAKE_CLOCK_H_
#define WORKQUEUE_CLOCK_FAKE_CLOCK_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>  // NOLINT(build/c++11)
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/clock/alarm.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/internal/deadline_waiters.h"
#include "workqueue/clock/parker.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

// FakeClock
//
// A `Clock` for tests. Its time moves only when the test calls `Step()` or
// `SetTime()`. Both return when everything due at the new time has been acted
// on. So a test needs no sleep, no polling and no retry, and gives the same
// result each time.
//
// "Acted on" means:
//
// - Every thread of this library that waits for time to pass, for example a
//   delaying queue's waiting loop, has done all that the new time requires, and
//   waits again. Before the time moves, these threads handle every request that
//   the thread that calls `Step()` has made, and every request that happened
//   before that call.
// - Every other thread that slept on this clock until a time that has come has
//   returned from `Sleep()`, `SleepUntil()`, `AwaitWithDeadline()` or
//   `ParkUntil()`. `Step()` does not wait for what such a thread does
//   afterwards.
//
// A function that runs on a loop's thread (see `Parker::Role`) may itself wait
// on this clock, directly or in a call that waits on it, for example
// `DelayQueue::Take()`. `Step()` does not wait for such a thread while the
// thread sleeps. It waits for the thread again as soon as the thread's time
// comes or the thread is unparked. There is one exception: when the condition
// of an `AwaitWithDeadline()` becomes true, the clock does not notice before
// that call returns. A `Step()` in between may treat the thread as asleep, move
// the time and return before the thread continues. A thread that waits for
// anything other than this clock, for example in a `Queue::Get()` without a
// deadline, counts as working, and `Step()` waits for it.
//
// A loop that the program drives (see `WaitingLoop`) counts, too, although its
// thread does not sleep on this clock. At the time of the loop's next run the
// clock calls the loop's `wake` function, and `Step()` waits until the loop's
// thread has run what is due. But it does not wait if it is called on the
// loop's thread. So a test that runs the loop by hand does so after each step:
//
//     clock.Step(absl::Seconds(5));
//     loop->RunDue();
//
// The time can go back. A thread that waits until a time then waits longer,
// because that time is further away. A step back unparks each loop, so that the
// loop sees the new time.
//
// The time is always finite. An infinite time becomes the first or the last
// finite `absl::Time`. At the last one, everything that waits for a finite time
// is due, and `absl::InfiniteFuture()` never comes. There are two exceptions.
// A wait of more than 146 years may never end; see `WaitingSetOptions`. A task
// of a `Scheduler` that runs at a fixed rate makes up for so many runs that
// `Step()` does not return.
//
// The time has whole nanoseconds, as that of a real clock. A fraction is
// rounded up. So an item that was added for a delay is there after a step by
// this delay, whatever fraction a limiter has chosen.
//
// The time jumps: `Step(absl::Hours(1))` wakes each loop once, at the end of
// the hour, and not at the times in between. To visit those times, make several
// smaller steps.
//
// Thread-safe. `Step()` and `SetTime()` never return if they are called from a
// thread that they wait for, or with a mutex held that such a thread needs.
// Waiting on this clock allocates memory, so a test that simulates a failure to
// allocate must exempt this clock. The clock must outlive everything that uses
// it.
//
// Example:
//
//     workqueue::FakeClock clock;
//     workqueue::DelayingQueueOptions<std::string> options;
//     options.clock = &clock;
//     workqueue::DelayingQueue<std::string> queue(std::move(options));
//
//     queue.AddAfter("pod", absl::Seconds(5));
//     clock.Step(absl::Seconds(5));
//     EXPECT_EQ(queue.Get(), "pod");
class FakeClock final : public Clock {
 public:
  // Creates a clock that reads `start`, which may be infinite.
  explicit FakeClock(absl::Time start = absl::UnixEpoch());
  ~FakeClock() override = default;

  FakeClock(const FakeClock&) = delete;
  FakeClock& operator=(const FakeClock&) = delete;

  // Moves the time forward by `d`. Returns when everything due has been acted
  // on. If `d` is zero, only waits for work in progress. If `d` is negative,
  // moves the time back. `d` may be infinite.
  void Step(absl::Duration d);

  // Sets the time to `t`, which may be later or earlier than the current time,
  // or infinite. Returns when everything due has been acted on.
  void SetTime(absl::Time t);

  // The next three methods describe the current moment and do not block. A loop
  // may not have handled its latest requests yet. Call
  // `Step(absl::ZeroDuration())` first to wait for that.

  // Returns whether at least one thread waits on this clock. In these methods a
  // loop that the program drives counts as a thread that waits until the loop's
  // next run, if that is later than now.
  bool HasWaiters() const;

  // Returns the number of threads that wait on this clock. This includes
  // threads with an infinite deadline, which only another thread can wake.
  size_t NumWaiters() const;

  // Returns the earliest time that a thread waits for, or
  // `absl::InfiniteFuture()` if no thread waits for a finite time.
  absl::Time GetEarliestWakeupTime() const;

  // Blocks until at least `n` threads wait on this clock. Use this if the
  // test's own threads must be waiting before the next `Step()`.
  void AwaitWaiters(size_t n) const;

  absl::Time TimeNow() override;
  void Sleep(absl::Duration d) override;
  void SleepUntil(absl::Time wakeup_time) override;
  bool AwaitWithDeadline(sync::Mutex* mu, const absl::Condition& cond,
                         absl::Time deadline) override;
  std::unique_ptr<Parker> NewParker(Parker::Role role) override;
  std::unique_ptr<Alarm> NewAlarm(std::function<void()> ring) override;

 private:
  class FakeAlarm;
  class FakeParker;

  // Waits until the clock is idle, sets the time to `move(current time)`, and
  // waits again until everything due has been acted on.
  void Move(absl::FunctionRef<absl::Time(absl::Time)> move);

  // Blocks until no loop works and every woken thread has returned.
  void AwaitIdle();

  // Returns whether no loop works, except one that this thread runs, and every
  // thread woken in a parker has returned. Does not consider the threads in
  // AwaitWithDeadline().
  bool Idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Returns the number of threads that wait, and of loops that do as if.
  size_t NumWaitersLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Admits one Step() or SetTime() at a time.
  sync::Mutex moving_ ABSL_ACQUIRED_BEFORE(mu_);

  // The threads in AwaitWithDeadline(). Its own mutex comes after mu_ in lock
  // order.
  internal::DeadlineWaiters awaiting_;

  mutable sync::Mutex mu_;
  // Signalled when a thread begins to wait, and when one of the conditions of
  // Idle() may have become true.
  mutable sync::CondVar changed_;
  absl::Time now_ ABSL_GUARDED_BY(mu_);
  // The parkers in which a thread sleeps that has not been woken.
  std::vector<FakeParker*> parked_ ABSL_GUARDED_BY(mu_);
  // The parkers of loops, and the alarms of loops that have none.
  absl::flat_hash_set<FakeParker*> loops_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<FakeAlarm*> alarms_ ABSL_GUARDED_BY(mu_);
  // The threads that wait on this clock in any way, or were woken and have not
  // yet returned. A loop works if its thread is not in this set.
  absl::flat_hash_set<std::thread::id> asleep_ ABSL_GUARDED_BY(mu_);
  // The number of threads that were woken in a parker and have not yet
  // returned. awaiting_ counts the threads in AwaitWithDeadline().
  size_t returning_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace workqueue

#endif  // WORKQUEUE_CLOCK_FAKE_CLOCK_H_
