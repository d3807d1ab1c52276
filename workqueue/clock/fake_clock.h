// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/clock/fake_clock.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CLOCK_FAKE_CLOCK_H_
#define WORKQUEUE_CLOCK_FAKE_CLOCK_H_

#include <cstddef>
#include <memory>
#include <thread>  // NOLINT(build/c++11)
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/internal/deadline_waiters.h"
#include "workqueue/clock/parker.h"

namespace workqueue {

// FakeClock
//
// A `Clock` for tests, whose time moves only when the test says so.
//
// `Step()` returns when everything that was due has been acted on: a test needs
// no sleep, no polling and no retry, and gives the same result each time it
// runs.
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
//
// What "acted on" means: the threads of this library that wait for time to pass
// (a delaying queue's waiting loop, say) have done all that the new time calls
// for, and wait again. What they had been asked before `Step()`, by the same
// thread or by one that it synchronized with, is taken in before time moves. A
// thread of the test's own that sleeps on the clock, or waits in
// `AwaitWithDeadline()` or `ParkUntil()`, has returned from that call; what it
// does afterwards is its own affair.
//
// A function that runs on a loop's thread (see `Parker::Role`) may itself wait
// on this clock: in `Sleep()`, `SleepUntil()`, `AwaitWithDeadline()` or another
// `Parker`, or in what waits there, `DelayQueue::Take()` say. `Step()` does not
// wait for such a thread while it sleeps, and waits for it again from the
// moment at which its time comes or it is unparked. Only when the condition of
// an `AwaitWithDeadline()` becomes true does the clock not know before that
// call has returned: a `Step()` in between may find the thread asleep, and move
// the time and return before the thread goes on. A thread that waits for
// anything else, such as a `Queue::Get()` without a deadline, is at work to the
// clock, and `Step()` waits for it.
//
// Time jumps: a `Step()` over an hour wakes a loop once, at the end of it, not
// at each of the times in between. Step in smaller steps to visit those.
//
// A test in which memory runs out has to spare this clock: who waits on it
// allocates.
//
// Thread-safe. Do not move the time from a function that runs on one of the
// threads waited for, or with a mutex held that they need: it would not return.
// The clock must outlive all that use it.
class FakeClock final : public Clock {
 public:
  // The clock starts at `start`.
  explicit FakeClock(absl::Time start = absl::UnixEpoch());
  ~FakeClock() override = default;

  FakeClock(const FakeClock&) = delete;
  FakeClock& operator=(const FakeClock&) = delete;

  // Moves the time on by `d` and returns when everything due has been acted on.
  // A `d` of zero only waits for what is in progress; a negative one moves the
  // time back.
  void Step(absl::Duration d);

  // Sets the time to `t`, later or earlier than now, and returns when
  // everything due has been acted on.
  void SetTime(absl::Time t);

  // The next three tell what is so at the moment: a loop may not yet have taken
  // in what it has been asked. `Step(absl::ZeroDuration())` waits for that.

  // Whether any thread waits for a time on this clock.
  bool HasWaiters() const;

  // How many threads wait for a time on this clock. Those that wait with an
  // infinite deadline, for another thread only, are counted too.
  size_t NumWaiters() const;

  // The earliest time that a thread waits for; `absl::InfiniteFuture()` if none
  // waits for any.
  absl::Time GetEarliestWakeupTime() const;

  // Blocks until at least `n` threads wait on this clock. For a test whose own
  // threads wait on it, and must do so before the next `Step()`.
  void AwaitWaiters(size_t n) const;

  absl::Time TimeNow() override;
  void Sleep(absl::Duration d) override;
  void SleepUntil(absl::Time wakeup_time) override;
  bool AwaitWithDeadline(absl::Mutex* mu, const absl::Condition& cond,
                         absl::Time deadline) override;
  std::unique_ptr<Parker> NewParker(Parker::Role role) override;

 private:
  class FakeParker;

  // Sets the time to what `move` makes of it, and waits on both sides.
  void Move(absl::FunctionRef<absl::Time(absl::Time)> move);

  // Blocks until no loop is at work and no woken thread is on its way.
  void AwaitIdle();

  // Whether that is so, but for the threads in AwaitWithDeadline().
  bool Idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // One Step() or SetTime() at a time.
  absl::Mutex moving_ ABSL_ACQUIRED_BEFORE(mu_);

  // Threads in AwaitWithDeadline(). Has a mutex of its own, which comes after
  // mu_ in lock order.
  internal::DeadlineWaiters awaiting_;

  mutable absl::Mutex mu_;
  // Signalled when a thread begins to wait, and when there is one thing less
  // that keeps the clock from being idle.
  mutable absl::CondVar changed_;
  absl::Time now_ ABSL_GUARDED_BY(mu_);
  // Those in which a thread sleeps, not yet woken.
  std::vector<FakeParker*> parked_ ABSL_GUARDED_BY(mu_);
  // Those that are loops'.
  absl::flat_hash_set<FakeParker*> loops_ ABSL_GUARDED_BY(mu_);
  // The threads that wait on this clock in any way, or were woken and have not
  // yet returned. A loop is at work if its thread is not among them.
  absl::flat_hash_set<std::thread::id> asleep_ ABSL_GUARDED_BY(mu_);
  // How many threads were woken in a parker and have not yet returned. Those in
  // AwaitWithDeadline() are counted by awaiting_.
  size_t returning_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace workqueue

#endif  // WORKQUEUE_CLOCK_FAKE_CLOCK_H_
