// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timers.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/executor.h"
#include "workqueue/testing/manual_executor.h"
#include "workqueue/thread_pool.h"
#include "workqueue/timer/queue_clock.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue::timers_test {
namespace {

using internal::MutexLock;

constexpr absl::Duration kSecond = absl::Seconds(1);
constexpr absl::Duration kNs = absl::Nanoseconds(1);

// Runs with a heap, and with a wheel that ticks every second: every time below
// is a whole number of seconds.
class TimersTest : public testing::TestWithParam<bool> {
 protected:
  TimersOptions Options() {
    TimersOptions options;
    options.clock = &clock_;
    if (GetParam()) {
      options.waiting_set = *WaitingSetOptions::TimingWheel(kSecond, 8);
    }
    return options;
  }

  // Returns a callback that records `name`, the status and the time.
  TimerCallback Note(std::string name) {
    return [this, name](absl::Status status) {
      MutexLock lock(&mu_);
      noted_.push_back(name + ":" +
                       (status.ok() ? "" : status.ToString() + ":") +
                       std::to_string((clock_.TimeNow() - start_) / kSecond));
    };
  }

  static std::string At(std::string name, int seconds) {
    return name + ":" + std::to_string(seconds);
  }

  static std::string ShutDown(std::string name, int seconds) {
    return At(name + ":CANCELLED: the timers have been shut down", seconds);
  }

  // Returns what has been recorded since the last call.
  using Notes = std::vector<std::string>;
  Notes Noted() {
    MutexLock lock(&mu_);
    return std::exchange(noted_, Notes());
  }

  FakeClock clock_;
  const absl::Time start_ = clock_.TimeNow();
  InlineExecutor inline_executor_;

  absl::Mutex mu_;
  Notes noted_ ABSL_GUARDED_BY(mu_);
};

INSTANTIATE_TEST_SUITE_P(WaitingSet, TimersTest, testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "Wheel" : "Heap";
                         });

TEST_P(TimersTest, ACallbackIsCalledOnceWhenItsDelayIsOver) {
  Timers timers(Options());
  const TimerId id =
      timers.CallAfter(5 * kSecond, &inline_executor_, Note("a"));
  EXPECT_TRUE(id);
  clock_.Step(5 * kSecond - kNs);
  EXPECT_EQ(Noted(), Notes());
  clock_.Step(kNs);
  EXPECT_EQ(Noted(), Notes{At("a", 5)});
  EXPECT_FALSE(timers.Cancel(id));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(Noted(), Notes());
}

TEST_P(TimersTest, ZeroAndNegativeDelaysAreDueAtOnce) {
  Timers timers(Options());
  for (absl::Duration delay :
       {absl::ZeroDuration(), -kSecond, -absl::InfiniteDuration()}) {
    timers.CallAfter(delay, &inline_executor_, Note("a"));
    clock_.Step(absl::ZeroDuration());
    EXPECT_EQ(Noted(), Notes{At("a", 0)});
  }
}

TEST_P(TimersTest, AnInfiniteDelayIsNeverOver) {
  Timers timers(Options());
  const TimerId id =
      timers.CallAfter(absl::InfiniteDuration(), &inline_executor_, Note("a"));
  clock_.Step(absl::InfiniteDuration());
  EXPECT_EQ(Noted(), Notes());
  EXPECT_TRUE(timers.Cancel(id));
}

TEST_P(TimersTest, CallbacksComeInTheOrderOfTheirTimes) {
  Timers timers(Options());
  for (int delay : {3, 1, 4, 2}) {
    timers.CallAfter(delay * kSecond, &inline_executor_,
                     Note(std::to_string(delay)));
    clock_.Step(absl::ZeroDuration());
  }
  clock_.Step(kSecond);
  EXPECT_EQ(Noted(), Notes{At("1", 1)});
  clock_.Step(kSecond);
  clock_.Step(kSecond);
  clock_.Step(kSecond);
  EXPECT_EQ(Noted(), (Notes{At("2", 2), At("3", 3), At("4", 4)}));
}

TEST_P(TimersTest, ManyAreDueAtOnce) {
  constexpr int kMany = 1234;
  Timers timers(Options());
  std::atomic<int> calls{0};
  for (int i = 0; i < kMany; ++i) {
    timers.CallAfter(kSecond, &inline_executor_,
                     [&](const absl::Status&) { ++calls; });
  }
  clock_.Step(kSecond);
  EXPECT_EQ(calls, kMany);
}

TEST_P(TimersTest, StepWaitsForTheTasksOfAThreadPool) {
  ThreadPoolOptions options;
  options.clock = &clock_;
  const auto pool = *ThreadPool::Create(options);
  Timers timers(Options());
  std::atomic<int> calls{0};
  absl::AnyInvocable<void()> again = [&] {
    timers.CallAfter(kSecond, pool.get(), [&](absl::Status status) {
      if (!status.ok()) return;
      ++calls;
      again();
    });
  };
  again();
  for (int i = 1; i <= 100; ++i) {
    clock_.Step(kSecond);
    ASSERT_EQ(calls, i);
  }
}

TEST_P(TimersTest, TheLoopOfAQueueCanServeTheTimers) {
  const auto loop = std::make_shared<WaitingLoop>(&clock_);
  TimersOptions options = Options();
  options.clock = loop;
  Timers a(options);
  Timers b(options);
  a.CallAfter(kSecond, &inline_executor_, Note("a"));
  b.CallAfter(2 * kSecond, &inline_executor_, Note("b"));
  clock_.Step(kSecond);
  clock_.Step(kSecond);
  EXPECT_EQ(Noted(), (Notes{At("a", 1), At("b", 2)}));
}

// -----------------------------------------------------------------------------
// Cancelling
// -----------------------------------------------------------------------------

TEST_P(TimersTest, ACancelledCallbackIsDestroyedAndNotCalled) {
  Timers timers(Options());
  auto held = std::make_shared<int>(0);
  const TimerId id = timers.CallAfter(
      kSecond, &inline_executor_,
      [this, held](const absl::Status& status) { Note("a")(status); });
  EXPECT_EQ(held.use_count(), 2);
  EXPECT_TRUE(timers.Cancel(id));
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(timers.Cancel(id));
  EXPECT_FALSE(timers.Cancel(TimerId()));
  clock_.Step(kSecond);
  EXPECT_EQ(Noted(), Notes());
}

TEST_P(TimersTest, ACallbackThatTheExecutorHasNotBegunCanBeCancelled) {
  ManualExecutor executor;
  Timers timers(Options());
  const TimerId a = timers.CallAfter(kSecond, &executor, Note("a"));
  const TimerId b = timers.CallAfter(kSecond, &executor, Note("b"));
  clock_.Step(kSecond);
  EXPECT_EQ(executor.size(), 2u);
  EXPECT_TRUE(timers.Cancel(a));
  EXPECT_FALSE(timers.Cancel(a));
  executor.RunAll();
  EXPECT_EQ(Noted(), Notes{At("b", 1)});
  EXPECT_FALSE(timers.Cancel(b));
}

TEST_P(TimersTest, ACallbackCannotCancelItself) {
  Timers timers(Options());
  TimerId id;
  bool cancelled = true;
  id = timers.CallAfter(kSecond, &inline_executor_, [&](const absl::Status&) {
    cancelled = timers.Cancel(id);
  });
  clock_.Step(kSecond);
  EXPECT_FALSE(cancelled);
}

TEST_P(TimersTest, AnIdNeverNamesAnotherCallback) {
  Timers timers(Options());
  const TimerId old = timers.CallAfter(kSecond, &inline_executor_, Note("old"));
  clock_.Step(kSecond);
  const TimerId next =
      timers.CallAfter(kSecond, &inline_executor_, Note("next"));
  EXPECT_NE(old, next);
  EXPECT_FALSE(timers.Cancel(old));
  clock_.Step(kSecond);
  EXPECT_EQ(Noted(), (Notes{At("old", 1), At("next", 2)}));
}

// A peak leaves a few callbacks, whose places change.
TEST_P(TimersTest, IdsRemainValidAfterAPeak) {
  constexpr int kMany = 20000;
  Timers timers(Options());
  std::vector<TimerId> ids;
  std::atomic<int> calls{0};
  for (int i = 0; i < kMany; ++i) {
    ids.push_back(timers.CallAfter(100 * kSecond, &inline_executor_,
                                   [&](const absl::Status&) { ++calls; }));
  }
  int cancelled = 0;
  for (int i = 0; i < kMany; ++i) {
    if (i % 100 == 99) continue;
    ASSERT_TRUE(timers.Cancel(ids[i]));
    ++cancelled;
    // New callbacks let the old ones move.
    timers.Cancel(timers.CallAfter(kSecond, &inline_executor_, Note("new")));
  }
  for (int i = 99; i < kMany; i += 200) {
    ASSERT_TRUE(timers.Cancel(ids[i]));
    ++cancelled;
  }
  clock_.Step(100 * kSecond);
  EXPECT_EQ(calls, kMany - cancelled);
  EXPECT_EQ(Noted(), Notes());
}

// -----------------------------------------------------------------------------
// A clock that goes back
// -----------------------------------------------------------------------------

TEST_P(TimersTest, NothingIsEarlyAfterTheClockWentBack) {
  Timers timers(Options());
  timers.CallAfter(10 * kSecond, &inline_executor_, Note("a"));
  clock_.Step(5 * kSecond);
  clock_.Step(-5 * kSecond);
  timers.CallAfter(3 * kSecond, &inline_executor_, Note("b"));
  clock_.Step(3 * kSecond - kNs);
  EXPECT_EQ(Noted(), Notes());
  clock_.Step(kNs);
  EXPECT_EQ(Noted(), Notes{At("b", 3)});
  clock_.Step(7 * kSecond - kNs);
  EXPECT_EQ(Noted(), Notes());
  clock_.Step(kNs);
  EXPECT_EQ(Noted(), Notes{At("a", 10)});
}

// -----------------------------------------------------------------------------
// The end
// -----------------------------------------------------------------------------

TEST_P(TimersTest, TheDestructorCallsWhatWaits) {
  {
    Timers timers(Options());
    timers.CallAfter(kSecond, &inline_executor_, Note("a"));
    timers.CallAfter(absl::InfiniteDuration(), &inline_executor_, Note("b"));
    clock_.Step(absl::ZeroDuration());
  }
  EXPECT_EQ(Noted(), (Notes{ShutDown("a", 0), ShutDown("b", 0)}));
}

TEST_P(TimersTest, TheDestructorWaitsForCallbacks) {
  ThreadPoolOptions options;
  options.clock = &clock_;
  const auto pool = *ThreadPool::Create(options);
  std::atomic<int> ended{0};
  {
    Timers timers(Options());
    for (int i = 0; i < 100; ++i) {
      timers.CallAfter(kSecond, pool.get(), [&](absl::Status status) {
        EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
        // It may still use the timers.
        timers.CallAfter(kSecond, pool.get(), [&](const absl::Status& again) {
          EXPECT_EQ(again.code(), absl::StatusCode::kCancelled);
          ++ended;
        });
      });
    }
  }
  EXPECT_EQ(ended, 100);
}

TEST_P(TimersTest, AShutdownDoesNotEndWhatHasBeenSubmitted) {
  ManualExecutor executor;
  Timers timers(Options());
  timers.CallAfter(kSecond, &executor, Note("a"));
  timers.CallAfter(2 * kSecond, &executor, Note("b"));
  clock_.Step(kSecond);
  timers.ShutDown();
  clock_.Step(absl::ZeroDuration());
  executor.RunAll();
  EXPECT_EQ(Noted(), (Notes{At("a", 1), ShutDown("b", 1)}));
}

TEST_P(TimersTest, AfterAShutdownNothingWaits) {
  Timers timers(Options());
  timers.CallAfter(kSecond, &inline_executor_, Note("a"));
  timers.ShutDown();
  timers.ShutDown();
  clock_.Step(absl::ZeroDuration());
  EXPECT_EQ(Noted(), Notes{ShutDown("a", 0)});
  timers.CallAfter(kSecond, &inline_executor_, Note("b"));
  clock_.Step(-kSecond);
  EXPECT_EQ(Noted().size(), 1u);
  timers.CallAfter(kSecond, &inline_executor_, Note("c"));
  clock_.Step(absl::ZeroDuration());
  EXPECT_EQ(Noted(), Notes{ShutDown("c", -1)});
}

// -----------------------------------------------------------------------------
// Exceptions
// -----------------------------------------------------------------------------

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_P(TimersTest, TheExecutorGetsTheExceptionOfACallback) {
  RecordingLog log;
  InlineExecutor executor(&log);
  Timers timers(Options());
  timers.CallAfter(kSecond, &executor, [](const absl::Status&) {
    throw std::runtime_error("a message");
  });
  timers.CallAfter(kSecond, &executor, Note("a"));
  clock_.Step(kSecond);
  ASSERT_EQ(log.messages().size(), 1u);
  EXPECT_NE(log.messages()[0].find("a message"), std::string::npos);
  EXPECT_EQ(Noted(), Notes{At("a", 1)});
}

TEST_P(TimersTest, ACallbackIsCalledEvenIfTheExecutorThrows) {
  class ThrowingExecutor final : public Executor {
   public:
    void Execute(absl::AnyInvocable<void() &&>) override {
      throw std::runtime_error("no room");
    }
  };
  ThrowingExecutor executor;
  Timers timers(Options());
  timers.CallAfter(kSecond, &executor, Note("a"));
  clock_.Step(kSecond);
  EXPECT_EQ(Noted(), Notes{At("a", 1)});
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::timers_test
