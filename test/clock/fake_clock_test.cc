// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/clock/fake_clock.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/testing/thread.h"

namespace workqueue::fake_clock_test {
namespace {

using internal::MutexLock;

const absl::Time kStart = absl::FromUnixSeconds(1000);
constexpr absl::Duration kNs = absl::Nanoseconds(1);

// A loop like the library's loops. It acts once per `period` and whenever it is
// woken.
class PeriodicLoop {
 public:
  PeriodicLoop(Clock* clock, absl::Duration period)
      : clock_(clock),
        period_(period),
        parker_(clock->NewParker(Parker::Role::kLoop)),
        next_(clock->TimeNow() + period),
        thread_([this] { Run(); }) {}

  ~PeriodicLoop() {
    stop_ = true;
    parker_->Unpark();
    thread_.join();
  }

  void Wake() { parker_->Unpark(); }
  int ticks() const { return ticks_; }
  int wakes() const { return wakes_; }

 private:
  void Run() {
    while (!stop_) {
      if (parker_->ParkUntil(next_)) ++wakes_;
      const absl::Time now = clock_->TimeNow();
      if (now >= next_) {
        // If Step() returned too early, this would give it the opportunity.
        std::this_thread::yield();
        ++ticks_;
        next_ = now + period_;
      }
    }
  }

  Clock* const clock_;
  const absl::Duration period_;
  const std::unique_ptr<Parker> parker_;
  std::atomic<bool> stop_{false};
  std::atomic<int> ticks_{0};
  std::atomic<int> wakes_{0};
  absl::Time next_;
  Thread thread_;
};

// A loop that runs functions.
class Worker {
 public:
  explicit Worker(Clock* clock)
      : parker_(clock->NewParker(Parker::Role::kLoop)),
        thread_([this] { Loop(); }) {}

  // Runs the functions that it has been given, and ends.
  ~Worker() {
    stop_ = true;
    parker_->Unpark();
    thread_.join();
  }

  void Run(std::function<void()> f) {
    MutexLock lock(&mu_);
    functions_.push_back(std::move(f));
    parker_->Unpark();
  }

 private:
  void Loop() {
    while (!stop_) {
      parker_->ParkUntil(absl::InfiniteFuture());
      for (const std::function<void()>& f : TakeFunctions()) f();
    }
  }

  std::vector<std::function<void()>> TakeFunctions() {
    MutexLock lock(&mu_);
    return std::exchange(functions_, {});
  }

  const std::unique_ptr<Parker> parker_;
  std::atomic<bool> stop_{false};
  absl::Mutex mu_;
  std::vector<std::function<void()>> functions_ ABSL_GUARDED_BY(mu_);
  Thread thread_;
};

TEST(FakeClockTest, StartsAtTheGivenTime) {
  EXPECT_EQ(FakeClock().TimeNow(), absl::UnixEpoch());
  EXPECT_EQ(FakeClock(kStart).TimeNow(), kStart);
}

TEST(FakeClockTest, MovesOnlyOnRequest) {
  FakeClock clock(kStart);
  clock.Step(absl::Seconds(5));
  EXPECT_EQ(clock.TimeNow(), kStart + absl::Seconds(5));
  clock.Step(absl::ZeroDuration());
  EXPECT_EQ(clock.TimeNow(), kStart + absl::Seconds(5));
  clock.SetTime(kStart + absl::Hours(1));
  EXPECT_EQ(clock.TimeNow(), kStart + absl::Hours(1));
}

TEST(FakeClockTest, MovesBack) {
  FakeClock clock(kStart);
  clock.Step(-absl::Seconds(5));
  EXPECT_EQ(clock.TimeNow(), kStart - absl::Seconds(5));
  clock.SetTime(absl::UnixEpoch());
  EXPECT_EQ(clock.TimeNow(), absl::UnixEpoch());
}

TEST(FakeClockTest, AStepBackUnparksEachLoop) {
  FakeClock clock(kStart);
  PeriodicLoop first(&clock, absl::Seconds(1));
  PeriodicLoop second(&clock, absl::Hours(1));
  const auto parker = clock.NewParker(Parker::Role::kCaller);
  Thread caller(
      [&] { EXPECT_FALSE(parker->ParkUntil(kStart + absl::Seconds(5))); });
  clock.AwaitWaiters(3);
  clock.Step(-kNs);
  EXPECT_EQ(first.wakes(), 1);
  EXPECT_EQ(second.wakes(), 1);
  EXPECT_EQ(first.ticks(), 0);
  EXPECT_EQ(clock.NumWaiters(), 3u);
  clock.SetTime(kStart - kNs);
  EXPECT_EQ(first.wakes(), 1) << "that was no step back";
  clock.SetTime(kStart + absl::Seconds(5));
  caller.join();
}

TEST(FakeClockTest, AnInfiniteTimeBecomesTheFirstOrTheLast) {
  const absl::Time first = FakeClock(absl::InfinitePast()).TimeNow();
  const absl::Time last = FakeClock(absl::InfiniteFuture()).TimeNow();
  EXPECT_GT(first, absl::InfinitePast());
  EXPECT_EQ(first - kNs, absl::InfinitePast());
  EXPECT_LT(last, absl::InfiniteFuture());
  EXPECT_EQ(last + kNs, absl::InfiniteFuture());
  FakeClock clock(kStart);
  clock.Step(absl::InfiniteDuration());
  EXPECT_EQ(clock.TimeNow(), last);
  clock.Step(kNs);
  EXPECT_EQ(clock.TimeNow(), last);
  clock.Step(-absl::InfiniteDuration());
  EXPECT_EQ(clock.TimeNow(), first);
  clock.SetTime(absl::InfiniteFuture());
  EXPECT_EQ(clock.TimeNow(), last);
  clock.SetTime(absl::InfinitePast());
  EXPECT_EQ(clock.TimeNow(), first);
}

TEST(FakeClockTest, AtTheLastTimeALoopSleeps) {
  FakeClock clock(kStart);
  PeriodicLoop loop(&clock, absl::Seconds(1));
  clock.Step(absl::InfiniteDuration());
  EXPECT_EQ(loop.ticks(), 1);
  EXPECT_EQ(clock.GetEarliestWakeupTime(), absl::InfiniteFuture());
}

TEST(FakeClockTest, AtTheFirstTimeALoopSleeps) {
  FakeClock clock(absl::InfinitePast());
  PeriodicLoop loop(&clock, absl::Seconds(1));
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(loop.ticks(), 1);
}

TEST(FakeClockTest, AnInfiniteDeadlineNeverComes) {
  FakeClock clock(kStart);
  Thread sleeper([&] { clock.Sleep(absl::Hours(1)); });
  clock.AwaitWaiters(1);
  const auto parker = clock.NewParker(Parker::Role::kCaller);
  Thread parked(
      [&] { EXPECT_TRUE(parker->ParkUntil(absl::InfiniteFuture())); });
  absl::Mutex mu;
  bool flag = false;
  Thread awaiter([&] {
    MutexLock lock(&mu);
    EXPECT_TRUE(clock.AwaitWithDeadline(&mu, absl::Condition(&flag),
                                        absl::InfiniteFuture()));
  });
  clock.AwaitWaiters(3);
  clock.SetTime(absl::InfiniteFuture());
  sleeper.join();
  EXPECT_EQ(clock.NumWaiters(), 2u);
  parker->Unpark();
  parked.join();
  {
    MutexLock lock(&mu);
    flag = true;
  }
  awaiter.join();
}

TEST(FakeClockTest, StepReturnsWhenALoopHasActed) {
  FakeClock clock(kStart);
  PeriodicLoop loop(&clock, absl::Seconds(1));
  for (int i = 1; i <= 1000; ++i) {
    clock.Step(absl::Seconds(1));
    ASSERT_EQ(loop.ticks(), i);
  }
}

TEST(FakeClockTest, StepDoesNotWakeALoopThatIsNotDue) {
  FakeClock clock(kStart);
  PeriodicLoop loop(&clock, absl::Seconds(1));
  clock.Step(absl::Seconds(1) - absl::Nanoseconds(1));
  EXPECT_EQ(loop.ticks(), 0);
  clock.Step(absl::Nanoseconds(1));
  EXPECT_EQ(loop.ticks(), 1);
}

TEST(FakeClockTest, AStepOverSeveralDeadlinesWakesOnce) {
  FakeClock clock(kStart);
  PeriodicLoop loop(&clock, absl::Seconds(1));
  clock.Step(absl::Hours(1));
  EXPECT_EQ(loop.ticks(), 1);
}

TEST(FakeClockTest, StepWaitsForAllLoops) {
  FakeClock clock(kStart);
  std::vector<std::unique_ptr<PeriodicLoop>> loops;
  for (int i = 0; i < 8; ++i) {
    loops.push_back(std::make_unique<PeriodicLoop>(&clock, absl::Seconds(1)));
  }
  for (int i = 1; i <= 100; ++i) {
    clock.Step(absl::Seconds(1));
    for (const auto& loop : loops) ASSERT_EQ(loop->ticks(), i);
  }
}

TEST(FakeClockTest, StepWaitsForALoopThatWasWokenBefore) {
  FakeClock clock(kStart);
  PeriodicLoop loop(&clock, absl::Hours(1));
  for (int i = 1; i <= 1000; ++i) {
    loop.Wake();
    clock.Step(absl::ZeroDuration());
    ASSERT_EQ(loop.wakes(), i);
  }
}

TEST(FakeClockTest, StepWaitsForALoopThatAnotherLoopWakes) {
  FakeClock clock(kStart);
  PeriodicLoop second(&clock, absl::Hours(1000));
  std::atomic<bool> stop{false};
  auto parker = clock.NewParker(Parker::Role::kLoop);
  Thread first([&] {
    absl::Time next = kStart + absl::Seconds(1);
    while (!stop) {
      parker->ParkUntil(next);
      if (clock.TimeNow() < next) continue;
      second.Wake();
      next += absl::Seconds(1);
    }
  });
  for (int i = 1; i <= 100; ++i) {
    clock.Step(absl::Seconds(1));
    ASSERT_EQ(second.wakes(), i);
  }
  stop = true;
  parker->Unpark();
  first.join();
}

TEST(FakeClockTest, ALoopThatHasEndedIsNotWaitedFor) {
  FakeClock clock(kStart);
  { PeriodicLoop loop(&clock, absl::Seconds(1)); }
  clock.Step(absl::Hours(1));
  EXPECT_FALSE(clock.HasWaiters());
}

TEST(FakeClockTest, SleepEndsWhenItsTimeComes) {
  FakeClock clock(kStart);
  absl::Notification woke;
  Thread sleeper([&] {
    clock.Sleep(absl::Seconds(10));
    woke.Notify();
  });
  clock.AwaitWaiters(1);
  EXPECT_EQ(clock.GetEarliestWakeupTime(), kStart + absl::Seconds(10));
  clock.Step(absl::Seconds(10) - absl::Nanoseconds(1));
  EXPECT_TRUE(clock.HasWaiters());
  EXPECT_FALSE(woke.HasBeenNotified());
  clock.Step(absl::Nanoseconds(1));
  EXPECT_FALSE(clock.HasWaiters());
  sleeper.join();
  EXPECT_TRUE(woke.HasBeenNotified());
}

TEST(FakeClockTest, SleepUntilAPastTimeDoesNotBlock) {
  FakeClock clock(kStart);
  clock.Sleep(absl::ZeroDuration());
  clock.Sleep(-absl::Seconds(1));
  clock.SleepUntil(kStart);
  clock.SleepUntil(absl::InfinitePast());
}

TEST(FakeClockTest, ReportsWaiters) {
  FakeClock clock(kStart);
  EXPECT_FALSE(clock.HasWaiters());
  EXPECT_EQ(clock.GetEarliestWakeupTime(), absl::InfiniteFuture());

  Thread late([&] { clock.Sleep(absl::Seconds(20)); });
  clock.AwaitWaiters(1);
  Thread early([&] { clock.Sleep(absl::Seconds(10)); });
  clock.AwaitWaiters(2);
  absl::Mutex mu;
  bool never = false;
  Thread awaiter([&] {
    MutexLock lock(&mu);
    clock.AwaitWithDeadline(&mu, absl::Condition(&never),
                            kStart + absl::Seconds(5));
  });
  clock.AwaitWaiters(3);

  EXPECT_TRUE(clock.HasWaiters());
  EXPECT_EQ(clock.NumWaiters(), 3u);
  EXPECT_EQ(clock.GetEarliestWakeupTime(), kStart + absl::Seconds(5));
  clock.Step(absl::Seconds(5));
  EXPECT_EQ(clock.NumWaiters(), 2u);
  EXPECT_EQ(clock.GetEarliestWakeupTime(), kStart + absl::Seconds(10));
  clock.SetTime(kStart + absl::Seconds(20));
  EXPECT_EQ(clock.NumWaiters(), 0u);
  late.join();
  early.join();
  awaiter.join();
}

class AwaitWithDeadlineTest : public testing::Test {
 protected:
  // Makes another thread wait for `flag_`.
  void StartAwaiting(absl::Time deadline) {
    StartAwaiting(absl::Condition(&flag_), deadline);
  }

  void StartAwaiting(const absl::Condition& condition, absl::Time deadline) {
    thread_ = Thread([this, condition, deadline] {
      MutexLock lock(&mu_);
      result_ = clock_.AwaitWithDeadline(&mu_, condition, deadline);
      returned_at_ = clock_.TimeNow();
    });
  }

  void SetFlag() {
    MutexLock lock(&mu_);
    flag_ = true;
  }

  FakeClock clock_{kStart};
  absl::Mutex mu_;
  bool flag_ = false;
  bool result_ = false;
  absl::Time returned_at_;
  Thread thread_;
};

TEST_F(AwaitWithDeadlineTest, EndsWhenTheConditionHolds) {
  StartAwaiting(kStart + absl::Seconds(1));
  clock_.AwaitWaiters(1);
  SetFlag();
  thread_.join();
  EXPECT_TRUE(result_);
  EXPECT_EQ(returned_at_, kStart);
  EXPECT_FALSE(clock_.HasWaiters());
}

TEST_F(AwaitWithDeadlineTest, EndsAtTheDeadline) {
  StartAwaiting(kStart + absl::Seconds(1));
  clock_.AwaitWaiters(1);
  clock_.Step(absl::Seconds(1));
  EXPECT_FALSE(clock_.HasWaiters());
  thread_.join();
  EXPECT_FALSE(result_);
  EXPECT_EQ(returned_at_, kStart + absl::Seconds(1));
}

TEST_F(AwaitWithDeadlineTest, DoesNotBlockWhenTheConditionHoldsAlready) {
  flag_ = true;
  StartAwaiting(absl::InfiniteFuture());
  thread_.join();
  EXPECT_TRUE(result_);
}

TEST_F(AwaitWithDeadlineTest, DoesNotBlockIfTheDeadlineHasPassed) {
  StartAwaiting(kStart);
  thread_.join();
  EXPECT_FALSE(result_);
}

TEST_F(AwaitWithDeadlineTest, ReturnsTrueIfTheConditionHoldsAtTheDeadline) {
  const absl::Time deadline = kStart + absl::Seconds(1);
  const auto over = [&] { return clock_.TimeNow() >= deadline; };
  StartAwaiting(absl::Condition(&over), deadline);
  clock_.AwaitWaiters(1);
  clock_.Step(absl::Seconds(1));
  thread_.join();
  EXPECT_TRUE(result_);
}

// The thread may destroy the mutex as soon as the call has returned, whether
// the condition or the deadline ended the call, and even while another thread
// moves the time.
TEST(FakeClockTest, AwaitWithDeadlineDoesNotTouchTheMutexAfterwards) {
  FakeClock clock(kStart);
  std::atomic<bool> stop{false};
  Thread mover([&] {
    while (!stop) clock.Step(absl::Seconds(1));
  });
  for (int i = 0; i < 1000; ++i) {
    auto mu = std::make_unique<absl::Mutex>();
    bool flag = false;
    Thread setter([&] {
      MutexLock lock(mu.get());
      flag = true;
    });
    {
      MutexLock lock(mu.get());
      clock.AwaitWithDeadline(mu.get(), absl::Condition(&flag),
                              clock.TimeNow() + absl::Seconds(1));
    }
    setter.join();
  }
  stop = true;
  mover.join();
}

// One way to wait until a given time.
struct Wait {
  std::string name;
  std::function<void(Clock*, absl::Time)> until;
};

class LoopThatWaitsTest : public testing::TestWithParam<Wait> {
 protected:
  // Makes `worker` wait until `time` and then set `*done`.
  void RunWait(Worker* worker, absl::Time time, std::atomic<bool>* done) {
    worker->Run([this, time, done] {
      GetParam().until(&clock_, time);
      // If Step() returned too early, this would give it the opportunity.
      std::this_thread::yield();
      *done = true;
    });
  }

  FakeClock clock_{kStart};
};

INSTANTIATE_TEST_SUITE_P(
    EachWay, LoopThatWaitsTest,
    testing::Values(
        Wait{"Sleep", [](Clock* clock,
                         absl::Time t) { clock->Sleep(t - clock->TimeNow()); }},
        Wait{"SleepUntil",
             [](Clock* clock, absl::Time t) { clock->SleepUntil(t); }},
        Wait{"AwaitWithDeadline",
             [](Clock* clock, absl::Time t) {
               absl::Mutex mu;
               bool never = false;
               MutexLock lock(&mu);
               clock->AwaitWithDeadline(&mu, absl::Condition(&never), t);
             }},
        Wait{"SecondParker",
             [](Clock* clock, absl::Time t) {
               clock->NewParker(Parker::Role::kCaller)->ParkUntil(t);
             }},
        Wait{"SecondLoop",
             [](Clock* clock, absl::Time t) {
               clock->NewParker(Parker::Role::kLoop)->ParkUntil(t);
             }}),
    [](const auto& info) { return info.param.name; });

TEST_P(LoopThatWaitsTest, IsWaitedForWhenItsTimeComesAndNotBefore) {
  Worker worker(&clock_);
  for (int i = 0; i < 100; ++i) {
    const absl::Time end = clock_.TimeNow() + absl::Seconds(10);
    std::atomic<bool> done{false};
    RunWait(&worker, end, &done);
    clock_.Step(absl::Seconds(3));
    EXPECT_FALSE(done);
    EXPECT_EQ(clock_.NumWaiters(), 1u);
    EXPECT_EQ(clock_.GetEarliestWakeupTime(), end);
    clock_.Step(absl::Seconds(7));
    ASSERT_TRUE(done);
    // The loop has parked again.
    EXPECT_EQ(clock_.NumWaiters(), 1u);
    EXPECT_EQ(clock_.GetEarliestWakeupTime(), absl::InfiniteFuture());
  }
}

TEST_P(LoopThatWaitsTest, DoesNotHideAnotherLoop) {
  PeriodicLoop other(&clock_, absl::Seconds(1));
  Worker early(&clock_);
  Worker late(&clock_);
  std::atomic<bool> early_done{false};
  std::atomic<bool> late_done{false};
  RunWait(&early, kStart + absl::Seconds(50), &early_done);
  RunWait(&late, kStart + absl::Seconds(100), &late_done);
  for (int i = 1; i <= 100; ++i) {
    clock_.Step(absl::Seconds(1));
    ASSERT_EQ(other.ticks(), i);
    ASSERT_EQ(early_done, i >= 50);
    ASSERT_EQ(late_done, i >= 100);
  }
}

TEST_P(LoopThatWaitsTest, CountsAsWaitingForAllItsLoops) {
  Worker worker(&clock_);
  const auto second = clock_.NewParker(Parker::Role::kLoop);
  worker.Run([&] { second->ParkUntil(absl::InfinitePast()); });
  std::atomic<bool> done{false};
  RunWait(&worker, kStart + absl::Seconds(10), &done);
  clock_.Step(absl::Seconds(3));
  EXPECT_FALSE(done);
  clock_.Step(absl::Seconds(7));
  EXPECT_TRUE(done);
}

// Only the thread that parked last in a loop's parker is that loop's thread.
TEST_P(LoopThatWaitsTest, DoesNotHideALoopThatMovedToAnotherThread) {
  Worker giver(&clock_);
  const auto given = clock_.NewParker(Parker::Role::kLoop);
  std::atomic<bool> giver_done{false};
  giver.Run([&] { given->ParkUntil(absl::InfinitePast()); });
  RunWait(&giver, kStart + absl::Seconds(10), &giver_done);
  clock_.Step(absl::ZeroDuration());

  absl::Notification taken;
  std::atomic<bool> taker_done{false};
  Thread taker([&] {
    given->ParkUntil(absl::InfinitePast());
    taken.Notify();
    std::this_thread::yield();
    taker_done = true;
    given->ParkUntil(absl::InfiniteFuture());
  });
  taken.WaitForNotification();
  clock_.Step(absl::Seconds(3));
  EXPECT_TRUE(taker_done);
  EXPECT_FALSE(giver_done);
  clock_.Step(absl::Seconds(7));
  EXPECT_TRUE(giver_done);
  given->Unpark();
  taker.join();
}

TEST(FakeClockTest, StepWaitsForALoopThatWasWokenInASecondParker) {
  FakeClock clock(kStart);
  const auto second = clock.NewParker(Parker::Role::kCaller);
  Worker worker(&clock);
  for (int i = 0; i < 100; ++i) {
    std::atomic<bool> done{false};
    worker.Run([&] {
      const bool unparked = second->ParkUntil(absl::InfiniteFuture());
      std::this_thread::yield();
      done = unparked;
    });
    clock.Step(absl::Seconds(1));
    EXPECT_FALSE(done);
    second->Unpark();
    clock.Step(absl::ZeroDuration());
    ASSERT_TRUE(done);
  }
}

TEST(FakeClockTest, StepWaitsForALoopThatAnotherLoopWakesInASecondParker) {
  FakeClock clock(kStart);
  const auto second = clock.NewParker(Parker::Role::kCaller);
  Worker sleeper(&clock);
  Worker waker(&clock);
  for (int i = 0; i < 100; ++i) {
    std::atomic<bool> done{false};
    sleeper.Run([&] {
      second->ParkUntil(absl::InfiniteFuture());
      std::this_thread::yield();
      done = true;
    });
    waker.Run([&] {
      clock.Sleep(absl::Seconds(2));
      second->Unpark();
    });
    clock.Step(absl::Seconds(1));
    EXPECT_FALSE(done);
    clock.Step(absl::Seconds(1));
    ASSERT_TRUE(done);
  }
}

TEST(FakeClockTest, StepWaitsForALoopWhoseConditionHasBecomeTrue) {
  FakeClock clock(kStart);
  Worker worker(&clock);
  for (int i = 0; i < 100; ++i) {
    absl::Mutex mu;
    bool flag = false;
    absl::Notification returned;
    std::atomic<bool> done{false};
    worker.Run([&] {
      {
        MutexLock lock(&mu);
        clock.AwaitWithDeadline(&mu, absl::Condition(&flag),
                                absl::InfiniteFuture());
      }
      returned.Notify();
      std::this_thread::yield();
      done = true;
    });
    clock.Step(absl::Seconds(1));
    EXPECT_FALSE(done);
    {
      MutexLock lock(&mu);
      flag = true;
    }
    returned.WaitForNotification();
    clock.Step(absl::ZeroDuration());
    ASSERT_TRUE(done);
  }
}

TEST(FakeClockTest, ParkerKeepsOneUnpark) {
  FakeClock clock(kStart);
  auto parker = clock.NewParker(Parker::Role::kCaller);
  parker->Unpark();
  parker->Unpark();
  EXPECT_TRUE(parker->ParkUntil(absl::InfiniteFuture()));
  EXPECT_FALSE(parker->ParkUntil(kStart));
}

TEST(FakeClockTest, ConcurrentStepsAddUp) {
  FakeClock clock(kStart);
  std::vector<Thread> movers;
  for (int i = 0; i < 4; ++i) {
    movers.emplace_back([&] {
      for (int j = 0; j < 100; ++j) clock.Step(absl::Seconds(1));
    });
  }
  for (Thread& mover : movers) mover.join();
  EXPECT_EQ(clock.TimeNow(), kStart + absl::Seconds(400));
}

}  // namespace
}  // namespace workqueue::fake_clock_test
