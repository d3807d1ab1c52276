// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/delaying_queue.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>  // NOLINT(build/c++11)
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/internal/fragile_key.h"
#include "test/workqueue/hooked_queue.h"
#include "test/workqueue/observed_clock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/ordering.h"
#include "workqueue/queue.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {
namespace {

using Strings = std::vector<std::string>;

constexpr absl::Duration kNs = absl::Nanoseconds(1);
constexpr absl::Duration kMs = absl::Milliseconds(1);

template <typename T>
DelayingQueueOptions<T> On(Clock* clock) {
  DelayingQueueOptions<T> options;
  options.clock = clock;
  return options;
}

// Takes all that is queued, and is done with it.
template <typename T>
std::vector<T> TakeAll(Interface<T>& queue) {
  std::vector<T> items;
  while (queue.Len() > 0) {
    items.push_back(*queue.Get());
    EXPECT_TRUE(queue.Done(items.back()));
  }
  return items;
}

class DelayingQueueTest : public testing::Test {
 protected:
  // Returns when the queue has taken in all that it was given.
  void Settle() { clock_.Step(absl::ZeroDuration()); }

  FakeClock clock_;
  DelayingQueue<std::string> queue_{On<std::string>(&clock_)};
};

// -----------------------------------------------------------------------------
// The tests of client-go's delaying_queue_test.go, under their names
// -----------------------------------------------------------------------------

TEST_F(DelayingQueueTest, SimpleQueue) {
  queue_.AddAfter("foo", 50 * kMs);
  Settle();
  EXPECT_EQ(queue_.Len(), 0u);
  clock_.Step(60 * kMs);
  EXPECT_EQ(TakeAll(queue_), Strings{"foo"});
  clock_.Step(absl::Seconds(10));  // Past the next heartbeat.
  EXPECT_EQ(queue_.Len(), 0u);
}

TEST_F(DelayingQueueTest, Deduping) {
  queue_.AddAfter("foo", 50 * kMs);
  Settle();
  queue_.AddAfter("foo", 70 * kMs);
  Settle();
  EXPECT_EQ(queue_.Len(), 0u);
  clock_.Step(60 * kMs);
  EXPECT_EQ(TakeAll(queue_), Strings{"foo"});
  clock_.Step(20 * kMs);
  EXPECT_EQ(queue_.Len(), 0u) << "the later time did not count";

  queue_.AddAfter("foo", 50 * kMs);
  queue_.AddAfter("foo", 30 * kMs);
  Settle();
  EXPECT_EQ(queue_.Len(), 0u);
  clock_.Step(40 * kMs);
  EXPECT_EQ(TakeAll(queue_), Strings{"foo"});
  clock_.Step(20 * kMs);
  EXPECT_EQ(queue_.Len(), 0u);
}

TEST_F(DelayingQueueTest, AddTwoFireEarly) {
  queue_.AddAfter("foo", absl::Seconds(1));
  queue_.AddAfter("bar", 50 * kMs);
  Settle();
  EXPECT_EQ(queue_.Len(), 0u);
  clock_.Step(60 * kMs);
  EXPECT_EQ(TakeAll(queue_), Strings{"bar"});
  queue_.AddAfter("baz", absl::Seconds(2));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeAll(queue_), Strings{"foo"});
  clock_.Step(absl::Seconds(2));
  EXPECT_EQ(TakeAll(queue_), Strings{"baz"});
}

TEST_F(DelayingQueueTest, CopyShifting) {
  queue_.AddAfter("foo", absl::Seconds(1));
  queue_.AddAfter("bar", 500 * kMs);
  queue_.AddAfter("baz", 250 * kMs);
  Settle();
  EXPECT_EQ(queue_.Len(), 0u);
  clock_.Step(absl::Seconds(2));
  EXPECT_EQ(TakeAll(queue_), (Strings{"baz", "bar", "foo"}));
}

// -----------------------------------------------------------------------------
// When items are added
// -----------------------------------------------------------------------------

TEST_F(DelayingQueueTest, NeverEarly) {
  const absl::Duration delays[] = {kNs,
                                   absl::Microseconds(1),
                                   kMs,
                                   absl::Seconds(1),
                                   absl::Seconds(10),
                                   absl::Hours(1),
                                   absl::Hours(24 * 365 * 100)};
  for (absl::Duration delay : delays) {
    EXPECT_TRUE(queue_.AddAfter("a", delay));
    clock_.Step(delay - kNs);
    EXPECT_EQ(queue_.Len(), 0u) << delay;
    clock_.Step(kNs);
    EXPECT_EQ(TakeAll(queue_), Strings{"a"}) << delay;
  }
}

TEST_F(DelayingQueueTest, AtOnceForZeroAndNegativeDelays) {
  const absl::Duration delays[] = {absl::ZeroDuration(), -kNs,
                                   -absl::InfiniteDuration()};
  for (absl::Duration delay : delays) {
    EXPECT_TRUE(queue_.AddAfter("a", delay));
    EXPECT_EQ(TakeAll(queue_), Strings{"a"}) << delay;
  }
}

TEST_F(DelayingQueueTest, NeverForAnInfiniteDelay) {
  EXPECT_TRUE(queue_.AddAfter("never", absl::InfiniteDuration()));
  EXPECT_TRUE(queue_.AddAfter("sometime", absl::Hours(1)));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(TakeAll(queue_), Strings{"sometime"});
  clock_.Step(absl::Hours(24 * 365 * 200));
  EXPECT_EQ(queue_.Len(), 0u);
  EXPECT_TRUE(queue_.AddAfter("never", absl::Seconds(1)));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeAll(queue_), Strings{"never"}) << "the earlier time counts";
}

TEST_F(DelayingQueueTest, TheEarliestTimeCountsInWhicheverOrder) {
  for (bool settle : {false, true}) {
    std::vector<int> seconds = {1, 2, 3, 4};
    do {
      for (int s : seconds) {
        EXPECT_TRUE(queue_.AddAfter("a", absl::Seconds(s)));
        if (settle) Settle();
      }
      clock_.Step(absl::Seconds(1) - kNs);
      ASSERT_EQ(queue_.Len(), 0u);
      clock_.Step(kNs);
      ASSERT_EQ(TakeAll(queue_), Strings{"a"});
      clock_.Step(absl::Seconds(9));
      ASSERT_EQ(queue_.Len(), 0u);
    } while (std::next_permutation(seconds.begin(), seconds.end()));
  }
}

TEST_F(DelayingQueueTest, EqualTimesAreFirstInFirstOut) {
  Strings items;
  for (int i = 0; i < 100; ++i) {
    items.push_back(std::to_string(i));
    queue_.AddAfter(items.back(), absl::Seconds(10));
    if (i % 3 == 0) Settle();
  }
  clock_.Step(absl::Seconds(10));
  EXPECT_EQ(TakeAll(queue_), items);
}

TEST_F(DelayingQueueTest, EqualTimesAreFirstInFirstOutWhateverTheDelays) {
  queue_.AddAfter("first", absl::Seconds(10));
  clock_.Step(absl::Seconds(4));
  queue_.AddAfter("second", absl::Seconds(6));
  clock_.Step(absl::Seconds(5));
  queue_.AddAfter("third", absl::Seconds(1));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeAll(queue_), (Strings{"first", "second", "third"}));
}

TEST_F(DelayingQueueTest, ManyItemsComeInTheOrderOfTheirTimes) {
  std::mt19937 random(1);
  std::vector<int> delays(3000);
  for (size_t i = 0; i < delays.size(); ++i)
    delays[i] = static_cast<int>(i) + 1;
  std::shuffle(delays.begin(), delays.end(), random);
  DelayingQueue<int> queue(On<int>(&clock_));
  for (int delay : delays) queue.AddAfter(delay, delay * kMs);
  clock_.Step(3000 * kMs);
  std::sort(delays.begin(), delays.end());
  EXPECT_EQ(TakeAll(queue), delays);
}

TEST_F(DelayingQueueTest, AnItemThatIsQueuedAlreadyStaysOnce) {
  queue_.AddAfter("a", absl::Seconds(1));
  queue_.Add("a");
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeAll(queue_), Strings{"a"});
}

TEST_F(DelayingQueueTest, AnItemThatIsProcessedComesBackWhenDone) {
  queue_.AddAfter("a", absl::Seconds(1));
  queue_.Add("a");
  ASSERT_EQ(queue_.Get(), "a");
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(queue_.Len(), 0u);
  queue_.Done("a");
  EXPECT_EQ(TakeAll(queue_), Strings{"a"});
}

TEST_F(DelayingQueueTest, AddDoesNotEndTheWaiting) {
  queue_.AddAfter("a", absl::Seconds(1));
  queue_.Add("a");
  EXPECT_EQ(TakeAll(queue_), Strings{"a"});
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeAll(queue_), Strings{"a"});
}

TEST_F(DelayingQueueTest, AnItemCanWaitAgainAndAgain) {
  for (int i = 1; i <= 100; ++i) {
    queue_.AddAfter("a", absl::Seconds(i));
    clock_.Step(absl::Seconds(i));
    ASSERT_EQ(TakeAll(queue_), Strings{"a"});
  }
}

TEST_F(DelayingQueueTest, AStepOverSeveralTimesAddsAllOfThemInOrder) {
  queue_.AddAfter("c", absl::Seconds(30));
  queue_.AddAfter("a", absl::Seconds(10));
  queue_.AddAfter("d", absl::Seconds(40));
  queue_.AddAfter("b", absl::Seconds(20));
  clock_.Step(absl::Seconds(35));
  EXPECT_EQ(TakeAll(queue_), (Strings{"a", "b", "c"}));
}

TEST_F(DelayingQueueTest, ManyThreadsMayAdd) {
  constexpr int kThreads = 8, kItems = 400;
  DelayingQueue<int> queue(On<int>(&clock_));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&queue, t] {
      for (int i = 0; i < kItems; ++i) {
        EXPECT_TRUE(queue.AddAfter(t * kItems + i, (1 + i % 7) * kMs));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  clock_.Step(7 * kMs);
  EXPECT_EQ(queue.Len(), static_cast<size_t>(kThreads * kItems));
}

TEST(DelayingQueueRealClockTest, NeverEarly) {
  DelayingQueue<int> queue;
  Clock* const clock = Clock::GetRealClock();
  const absl::Time start = clock->TimeNow();
  for (int i : {3, 1, 2}) queue.AddAfter(i, i * kMs);
  for (int i : {1, 2, 3}) {
    EXPECT_EQ(queue.Get(), i);
    EXPECT_GE(clock->TimeNow() - start, i * kMs);
  }
}

// -----------------------------------------------------------------------------
// The thread
// -----------------------------------------------------------------------------

class DelayingQueueThreadTest : public testing::Test {
 protected:
  void Settle() { fake_.Step(absl::ZeroDuration()); }

  FakeClock fake_;
  ObservedClock clock_{&fake_};
  DelayingQueue<std::string> queue_{On<std::string>(&clock_)};
};

TEST_F(DelayingQueueThreadTest,
       SleepsForTenSecondsWhenThereIsNothingToWaitFor) {
  Settle();
  const int parks_before = clock_.parks();
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(fake_.GetEarliestWakeupTime(),
              fake_.TimeNow() + absl::Seconds(10));
    fake_.Step(absl::Seconds(10) - kNs);
    EXPECT_EQ(clock_.parks() - parks_before, i);
    fake_.Step(kNs);
  }
  EXPECT_EQ(clock_.parks() - parks_before, 6);
}

TEST_F(DelayingQueueThreadTest, SleepsUntilTheFirstItemIsReady) {
  queue_.AddAfter("second", absl::Seconds(5));
  queue_.AddAfter("first", absl::Seconds(3));
  Settle();
  EXPECT_EQ(fake_.GetEarliestWakeupTime(), fake_.TimeNow() + absl::Seconds(3));
  fake_.Step(absl::Seconds(3));
  EXPECT_EQ(fake_.GetEarliestWakeupTime(), fake_.TimeNow() + absl::Seconds(2));
  fake_.Step(absl::Seconds(2));
  EXPECT_GE(fake_.GetEarliestWakeupTime(), fake_.TimeNow() + absl::Seconds(5));
  EXPECT_EQ(TakeAll(queue_), (Strings{"first", "second"}));
}

TEST_F(DelayingQueueThreadTest, SleepsForTenSecondsAtMost) {
  queue_.AddAfter("a", absl::Seconds(25));
  Settle();
  const int parks_before = clock_.parks();
  EXPECT_EQ(fake_.GetEarliestWakeupTime(), fake_.TimeNow() + absl::Seconds(10));
  fake_.Step(absl::Seconds(10));
  fake_.Step(absl::Seconds(10));
  EXPECT_EQ(fake_.GetEarliestWakeupTime(), fake_.TimeNow() + absl::Seconds(5));
  EXPECT_EQ(clock_.parks() - parks_before, 2);
  fake_.Step(absl::Seconds(5));
  EXPECT_EQ(TakeAll(queue_), Strings{"a"});
}

TEST_F(DelayingQueueThreadTest, IsNotWokenForALaterItem) {
  queue_.AddAfter("first", absl::Seconds(3));
  Settle();
  const int parks_before = clock_.parks();
  for (int i = 0; i < 10; ++i) {
    queue_.AddAfter(std::to_string(i), absl::Seconds(3 + i));
    Settle();
  }
  EXPECT_EQ(clock_.parks(), parks_before);
  fake_.Step(absl::Seconds(3));
  EXPECT_EQ(TakeAll(queue_), (Strings{"first", "0"}));
}

TEST_F(DelayingQueueThreadTest, IsWokenForAnEarlierItem) {
  queue_.AddAfter("late", absl::Seconds(9));
  Settle();
  for (int i = 8; i > 0; --i) {
    queue_.AddAfter(std::to_string(i), absl::Seconds(i));
    Settle();
    EXPECT_EQ(fake_.GetEarliestWakeupTime(),
              fake_.TimeNow() + absl::Seconds(i));
  }
}

TEST_F(DelayingQueueThreadTest, MakesUpForAWakeUpThatWentMissing) {
  Settle();
  clock_.on_unpark = [] { return false; };
  queue_.AddAfter("a", absl::Seconds(1));
  clock_.on_unpark = [] { return true; };
  fake_.Step(absl::Seconds(9));
  EXPECT_EQ(queue_.Len(), 0u);
  fake_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeAll(queue_), Strings{"a"});
}

// What has been added before a step is in, also if another thread that adds at
// the same time has yet to wake the loop for both.
TEST(DelayingQueueTwoThreadsTest, AStepTakesInWhatWasAddedBefore) {
  for (int round = 0; round < 50; ++round) {
    FakeClock fake;
    ObservedClock clock(&fake);
    std::atomic<bool> armed{false};
    absl::Notification waking, go_on;
    clock.on_unpark = [&] {
      if (armed.exchange(false)) {
        waking.Notify();
        go_on.WaitForNotification();
      }
      return true;
    };
    const std::thread::id this_thread = std::this_thread::get_id();
    clock.on_time_now = [&] {
      // AddAfter() below: the other thread may go on.
      if (waking.HasBeenNotified() && !go_on.HasBeenNotified() &&
          std::this_thread::get_id() == this_thread) {
        go_on.Notify();
      }
    };
    DelayingQueue<std::string> queue(On<std::string>(&clock));
    fake.Step(absl::ZeroDuration());
    armed = true;
    std::thread other([&queue] { queue.AddAfter("theirs", absl::Seconds(1)); });
    waking.WaitForNotification();
    queue.AddAfter("ours", absl::Seconds(1));
    fake.Step(absl::Seconds(1));
    const Strings items = TakeAll(queue);
    other.join();
    ASSERT_EQ(std::count(items.begin(), items.end(), "ours"), 1)
        << "in round " << round;
  }
}

// -----------------------------------------------------------------------------
// What is due before the thread could be woken
// -----------------------------------------------------------------------------

// Time goes by while an item is added: a nanosecond before each look at the
// clock.
class DueMeanwhileTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::thread::id this_thread = std::this_thread::get_id();
    clock_.on_time_now = [this, this_thread] {
      if (time_goes_by_ && std::this_thread::get_id() == this_thread) {
        fake_.Step(kNs);
      }
    };
    DelayingQueueOptions<std::string> options = On<std::string>(&clock_);
    options.queue = std::make_unique<HookedQueue<std::string>>(
        [this](const std::string& item) { return on_add_(item); });
    queue_ = std::make_unique<DelayingQueue<std::string>>(std::move(options));
    Settle();
  }

  void Settle() { fake_.Step(absl::ZeroDuration()); }

  bool AddAfterMeanwhile(const std::string& item, absl::Duration delay) {
    time_goes_by_ = true;
    const bool taken = queue_->AddAfter(item, delay);
    time_goes_by_ = false;
    return taken;
  }

  FakeClock fake_;
  ObservedClock clock_{&fake_};
  std::atomic<bool> time_goes_by_{false};
  HookedQueue<std::string>::OnAdd on_add_ = [](const std::string&) {
    return true;
  };
  std::unique_ptr<DelayingQueue<std::string>> queue_;
};

TEST_F(DueMeanwhileTest, IsAddedWithoutTheThread) {
  const int parks_before = clock_.parks();
  EXPECT_TRUE(AddAfterMeanwhile("a", kNs));
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
  Settle();
  EXPECT_EQ(clock_.parks(), parks_before);
}

TEST_F(DueMeanwhileTest, NeverEarly) {
  EXPECT_TRUE(AddAfterMeanwhile("a", 2 * kNs));
  Settle();
  EXPECT_EQ(queue_->Len(), 0u);
  fake_.Step(kNs);
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
}

TEST_F(DueMeanwhileTest, DoesNotComeOnceMoreAtALaterTime) {
  queue_->AddAfter("taken in", absl::Seconds(1));
  Settle();
  queue_->AddAfter("in the channel", absl::Seconds(2));
  queue_->AddAfter("another", absl::Seconds(2));
  for (const char* item : {"in the channel", "taken in"}) {
    EXPECT_TRUE(AddAfterMeanwhile(item, kNs));
    EXPECT_EQ(TakeAll(*queue_), Strings{item});
  }
  fake_.Step(absl::Seconds(2));
  EXPECT_EQ(TakeAll(*queue_), Strings{"another"});
}

TEST_F(DueMeanwhileTest, ComesOnceMoreWhenItIsBeingProcessed) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  EXPECT_TRUE(AddAfterMeanwhile("a", kNs));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
}

TEST_F(DueMeanwhileTest, IsTriedAgainASecondLaterIfTheQueueBelowRefuses) {
  std::atomic<bool> refuse{true};
  on_add_ = [&refuse](const std::string&) { return !refuse; };
  EXPECT_TRUE(AddAfterMeanwhile("a", kNs));
  Settle();
  refuse = false;
  fake_.Step(absl::Seconds(1) - kNs);
  EXPECT_EQ(queue_->Len(), 0u);
  fake_.Step(kNs);
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
}

TEST_F(DueMeanwhileTest, IsNotTakenAfterShutDown) {
  on_add_ = [this](const std::string&) {
    queue_->ShutDown();
    return true;
  };
  EXPECT_FALSE(AddAfterMeanwhile("a", kNs));
  EXPECT_EQ(queue_->Get(), std::nullopt);
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_F(DueMeanwhileTest, IsTriedAgainASecondLaterIfTheQueueBelowThrows) {
  std::atomic<bool> broken{true};
  on_add_ = [&broken](const std::string&) {
    if (broken) throw 1;
    return true;
  };
  EXPECT_TRUE(AddAfterMeanwhile("a", kNs));
  Settle();
  broken = false;
  fake_.Step(absl::Seconds(1) - kNs);
  EXPECT_EQ(queue_->Len(), 0u);
  fake_.Step(kNs);
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
}

#endif  // ABSL_HAVE_EXCEPTIONS

// -----------------------------------------------------------------------------
// The queue below
// -----------------------------------------------------------------------------

// A delaying queue on one that does with an item what `on_add_` says.
class DelayingQueueBelowTest : public testing::Test {
 protected:
  void SetUp() override {
    DelayingQueueOptions<std::string> options = On<std::string>(&clock_);
    auto below = std::make_unique<HookedQueue<std::string>>(
        [this](const std::string& item) { return on_add_(item); });
    below_ = below.get();
    options.queue = std::move(below);
    queue_ = std::make_unique<DelayingQueue<std::string>>(std::move(options));
    Settle();
  }

  void Settle() { clock_.Step(absl::ZeroDuration()); }

  FakeClock clock_;
  HookedQueue<std::string>::OnAdd on_add_ = [](const std::string&) {
    return true;
  };
  HookedQueue<std::string>* below_ = nullptr;
  std::unique_ptr<DelayingQueue<std::string>> queue_;
};

TEST_F(DelayingQueueBelowTest, HasTheItems) {
  queue_->Add("a");
  EXPECT_EQ(below_->Len(), 1u);
  queue_->AddAfter("b", absl::Seconds(1));
  EXPECT_EQ(below_->Len(), 1u);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(below_->Len(), 2u);
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_EQ(queue_->Get(), "a");
  EXPECT_TRUE(below_->Done("a"));
  EXPECT_FALSE(queue_->Done("a"));
  EXPECT_EQ(below_->Get(), "b");
  EXPECT_TRUE(queue_->Done("b"));
}

TEST_F(DelayingQueueBelowTest, IsShutDownToo) {
  EXPECT_FALSE(below_->ShuttingDown());
  queue_->ShutDown();
  EXPECT_TRUE(below_->ShuttingDown());
}

TEST_F(DelayingQueueBelowTest, IsDrainedToo) {
  below_->Add("a");
  below_->Get();
  auto drained = std::async(std::launch::async,
                            [this] { return queue_->ShutDownWithDrain(); });
  EXPECT_EQ(queue_->Get(), std::nullopt);
  below_->Done("a");
  EXPECT_TRUE(drained.get());
}

// False from AddAfter() and not shutting down would mean that the item could
// not be taken, and may be the next time.
TEST_F(DelayingQueueBelowTest, AddAfterFailsInAShutDownOnlyIfThatShows) {
  below_->on_shut_down = [this] {
    if (!queue_->AddAfter("a", absl::Seconds(1))) {
      EXPECT_TRUE(queue_->ShuttingDown());
    }
  };
  queue_->ShutDown();
  EXPECT_TRUE(queue_->ShutDownWithDrain());
}

TEST_F(DelayingQueueBelowTest, CanBeShutDownByItself) {
  queue_->AddAfter("a", absl::Seconds(1));
  below_->ShutDown();
  EXPECT_TRUE(queue_->ShuttingDown());
  EXPECT_FALSE(queue_->AddAfter("b", absl::Seconds(1)));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Get(), std::nullopt);
}

TEST_F(DelayingQueueBelowTest, SaysWhetherItTakesAnItem) {
  on_add_ = [](const std::string&) { return false; };
  EXPECT_FALSE(queue_->Add("a"));
  EXPECT_FALSE(queue_->AddAfter("a", absl::ZeroDuration()));
}

TEST_F(DelayingQueueBelowTest, IsAskedAgainASecondLaterIfItRefuses) {
  int asked = 0;
  on_add_ = [&asked](const std::string&) { return ++asked > 3; };
  EXPECT_TRUE(queue_->AddAfter("a", absl::Seconds(5)));
  clock_.Step(absl::Seconds(5));
  for (int times = 1; times <= 3; ++times) {
    EXPECT_EQ(asked, times);
    clock_.Step(absl::Seconds(1) - kNs);
    EXPECT_EQ(asked, times);
    EXPECT_EQ(queue_->Len(), 0u);
    clock_.Step(kNs);
  }
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(asked, 4);
}

TEST_F(DelayingQueueBelowTest, TakesOthersWhileItRefusesOne) {
  bool refuse = true;
  on_add_ = [&refuse](const std::string& item) {
    return !(refuse && item == "refused");
  };
  queue_->AddAfter("refused", absl::Seconds(1));
  queue_->AddAfter("same time", absl::Seconds(1));
  queue_->AddAfter("later", absl::Seconds(2) - kNs);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeAll(*queue_), Strings{"same time"});
  clock_.Step(absl::Seconds(1) - kNs);
  EXPECT_EQ(TakeAll(*queue_), Strings{"later"});
  refuse = false;
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(*queue_), Strings{"refused"});
}

TEST_F(DelayingQueueBelowTest, CanTakeARefusedItemEarlier) {
  bool refuse = true;
  on_add_ = [&refuse](const std::string&) { return !refuse; };
  queue_->AddAfter("a", absl::Seconds(1));
  clock_.Step(absl::Seconds(1));
  refuse = false;
  queue_->AddAfter("a", 100 * kMs);
  clock_.Step(100 * kMs);
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
}

TEST_F(DelayingQueueBelowTest, MayRefuseUntilTheShutdown) {
  on_add_ = [](const std::string&) { return false; };
  queue_->AddAfter("a", absl::Seconds(1));
  for (int i = 0; i < 10; ++i) clock_.Step(absl::Seconds(1));
  queue_->ShutDown();
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Get(), std::nullopt);
}

TEST(DelayingQueueOptionsTest, TheOrderingIsTheQueueBelows) {
  class Lifo final : public Ordering<int> {
   public:
    void Push(QueuedItem<int>* item) override { items_.push_back(item); }
    size_t Len() const override { return items_.size(); }
    QueuedItem<int>* Pop() override {
      QueuedItem<int>* const item = items_.back();
      items_.pop_back();
      return item;
    }

   private:
    std::vector<QueuedItem<int>*> items_;
  };

  FakeClock clock;
  DelayingQueueOptions<int> options = On<int>(&clock);
  options.ordering = std::make_unique<Lifo>();
  DelayingQueue<int> queue(std::move(options));
  for (int i : {1, 2, 3}) queue.AddAfter(i, absl::Seconds(i));
  clock.Step(absl::Seconds(3));
  EXPECT_EQ(TakeAll(queue), (std::vector<int>{3, 2, 1}));
}

// -----------------------------------------------------------------------------
// When the thread is behind
// -----------------------------------------------------------------------------

// The queue's thread is stuck in the queue below until `go_on_`.
class StuckDelayingQueueTest : public DelayingQueueBelowTest {
 protected:
  static constexpr int kCapacity = 1000;

  void SetUp() override {
    DelayingQueueBelowTest::SetUp();
    on_add_ = [this](const std::string& item) {
      if (item != "stuck") return true;
      stuck_.Notify();
      go_on_.WaitForNotification();
      return true;
    };
    queue_->AddAfter("stuck", absl::Seconds(1));
    Settle();
    // Step() would wait for the thread; time moves on another one.
    stepper_ = std::thread([this] { clock_.Step(absl::Seconds(1)); });
    stuck_.WaitForNotification();
  }

  void GoOn() {
    go_on_.Notify();
    stepper_.join();
  }

  absl::Notification stuck_, go_on_;
  std::thread stepper_;
};

TEST_F(StuckDelayingQueueTest, AThousandItemsFit) {
  for (int i = 0; i < kCapacity; ++i) {
    EXPECT_TRUE(queue_->AddAfter(std::to_string(i), absl::Seconds(1)));
  }
  GoOn();
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(queue_->Len(), kCapacity + 1u);
}

TEST_F(StuckDelayingQueueTest, AddDoesNotWait) {
  for (int i = 0; i < kCapacity; ++i) {
    queue_->AddAfter(std::to_string(i), absl::Seconds(1));
  }
  EXPECT_TRUE(queue_->Add("a"));
  EXPECT_TRUE(queue_->AddAfter("b", absl::ZeroDuration()));
  EXPECT_EQ(TakeAll(*queue_), (Strings{"a", "b"}));
  GoOn();
}

TEST_F(StuckDelayingQueueTest, MoreItemsWaitForRoom) {
  constexpr int kThreads = 4;
  for (int i = 0; i < kCapacity; ++i) {
    queue_->AddAfter(std::to_string(i), absl::Seconds(1));
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < kCapacity; ++i) {
        EXPECT_TRUE(queue_->AddAfter(std::to_string(kCapacity * (t + 1) + i),
                                     absl::Seconds(1)));
      }
    });
  }
  GoOn();
  for (std::thread& thread : threads) thread.join();
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(queue_->Len(), kCapacity * (kThreads + 1) + 1u);
}

TEST_F(StuckDelayingQueueTest, ShutDownFreesThoseWhoWait) {
  constexpr int kThreads = 4;
  for (int i = 0; i < kCapacity; ++i) {
    queue_->AddAfter(std::to_string(i), absl::Seconds(1));
  }
  absl::BlockingCounter adding(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, &adding] {
      adding.DecrementCount();
      for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(queue_->AddAfter("one too many", absl::Seconds(1)));
      }
    });
  }
  adding.Wait();
  queue_->ShutDown();
  for (std::thread& thread : threads) thread.join();
  GoOn();
  EXPECT_EQ(queue_->Len(), 0u) << "the item that was stuck came too late";
}

TEST_F(StuckDelayingQueueTest, DestructionWaitsForTheQueueBelow) {
  // It would otherwise use what is gone.
  std::thread destroyer([this] { queue_.reset(); });
  GoOn();
  destroyer.join();
}

// -----------------------------------------------------------------------------
// A loop for several queues
// -----------------------------------------------------------------------------

TEST(SharedLoopTest, ServesEachQueue) {
  constexpr int kQueues = 5;
  FakeClock clock;
  std::vector<std::unique_ptr<DelayingQueue<int>>> queues;
  {
    const auto loop = std::make_shared<WaitingLoop>(&clock);
    for (int i = 0; i < kQueues; ++i) {
      DelayingQueueOptions<int> options = On<int>(&clock);
      options.clock = loop;
      queues.push_back(
          std::make_unique<DelayingQueue<int>>(std::move(options)));
    }
  }
  clock.Step(absl::ZeroDuration());
  EXPECT_EQ(clock.NumWaiters(), 1u) << "one thread for all";
  for (int item = 0; item < 100; ++item) {
    for (int i = 0; i < kQueues; ++i) {
      queues[i]->AddAfter(item, (1 + (item * 7 + i) % 100) * kMs);
    }
  }
  for (int ms = 1; ms <= 100; ++ms) {
    clock.Step(kMs);
    for (int i = 0; i < kQueues; ++i) {
      ASSERT_EQ(queues[i]->Len(), 1u);
      const int item = TakeAll(*queues[i]).front();
      ASSERT_EQ(1 + (item * 7 + i) % 100, ms);
    }
  }
}

TEST(SharedLoopTest, GoesOnWithoutOneOfTheQueues) {
  FakeClock clock;
  const auto loop = std::make_shared<WaitingLoop>(&clock);
  const auto make = [&] {
    DelayingQueueOptions<int> options = On<int>(&clock);
    options.clock = loop;
    return std::make_unique<DelayingQueue<int>>(std::move(options));
  };
  auto destroyed = make(), shut_down = make(), going_on = make();
  for (auto* queue : {&destroyed, &shut_down, &going_on}) {
    (*queue)->AddAfter(1, absl::Seconds(1));
  }
  clock.Step(absl::ZeroDuration());
  destroyed.reset();
  shut_down->ShutDown();
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(shut_down->Len(), 0u);
  EXPECT_EQ(going_on->Len(), 1u);
  auto late = make();
  late->AddAfter(1, absl::Seconds(1));
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(late->Len(), 1u);
}

// -----------------------------------------------------------------------------
// The end
// -----------------------------------------------------------------------------

TEST_F(DelayingQueueTest, NothingIsAddedAfterShutDown) {
  queue_.AddAfter("taken in", absl::Seconds(1));
  Settle();
  queue_.AddAfter("not taken in", absl::Seconds(2));
  queue_.ShutDown();
  EXPECT_FALSE(queue_.AddAfter("new", absl::Seconds(1)));
  EXPECT_FALSE(queue_.AddAfter("new", absl::ZeroDuration()));
  EXPECT_FALSE(queue_.Add("new"));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_.Len(), 0u);
}

// The counterpart of client-go's TestGarbageCollection.
TEST(DelayingQueueGarbageCollectionTest, ItemsThatLeaveAreReleased) {
  FakeClock clock;
  DelayingQueue<std::shared_ptr<int>> queue(On<std::shared_ptr<int>>(&clock));
  auto item = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = item;
  queue.AddAfter(item, absl::Seconds(2));
  queue.AddAfter(item, absl::Seconds(1));  // The same, earlier.
  item.reset();
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(watched.use_count(), 1) << "it has left the waiting set";
  queue.Done(*queue.Get());
  EXPECT_TRUE(watched.expired());
}

class ShutDownReleasesTest : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Endings, ShutDownReleasesTest, testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "ShutDownWithDrain" : "ShutDown";
                         });

TEST_P(ShutDownReleasesTest, WhatWaits) {
  FakeClock clock;
  DelayingQueue<std::shared_ptr<int>> queue(On<std::shared_ptr<int>>(&clock));
  auto taken_in = std::make_shared<int>(1);
  auto in_channel = std::make_shared<int>(2);
  queue.AddAfter(taken_in, absl::Seconds(1));
  clock.Step(absl::ZeroDuration());
  queue.AddAfter(in_channel, absl::Seconds(2));
  EXPECT_EQ(taken_in.use_count(), 2);
  EXPECT_EQ(in_channel.use_count(), 2);
  if (GetParam()) {
    queue.ShutDownWithDrain();
  } else {
    queue.ShutDown();
  }
  clock.Step(absl::ZeroDuration());
  EXPECT_EQ(taken_in.use_count(), 1);
  EXPECT_EQ(in_channel.use_count(), 1);
}

TEST(DelayingQueueGarbageCollectionTest, ShutDownOfTheQueueBelowReleases) {
  using Item = std::shared_ptr<int>;
  FakeClock clock;
  auto owned = std::make_unique<Queue<Item>>();
  Queue<Item>* const below = owned.get();
  DelayingQueueOptions<Item> options = On<Item>(&clock);
  options.queue = std::move(owned);
  DelayingQueue<Item> queue(std::move(options));
  auto item = std::make_shared<int>(1);
  queue.AddAfter(item, absl::Hours(1));
  below->ShutDown();
  clock.Step(WaitingLoop::Heartbeat());
  EXPECT_EQ(item.use_count(), 1);
}

TEST_F(DelayingQueueTest, ShutDownFromManyThreadsWhileOthersAdd) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 500; ++i) {
        if (!queue_.AddAfter(std::to_string(i), i % 5 * kMs)) break;
      }
    });
    threads.emplace_back([this] {
      while (std::optional<std::string> item = queue_.Get()) {
        queue_.Done(*item);
      }
    });
  }
  for (int i = 0; i < 5; ++i) clock_.Step(kMs);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] { queue_.ShutDown(); });
  }
  for (std::thread& thread : threads) thread.join();
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_.Len(), 0u);
  EXPECT_FALSE(queue_.AddAfter("a", kMs));
}

TEST_F(DelayingQueueTest, AWorkerMayShutDown) {
  queue_.AddAfter("a", absl::Seconds(1));
  queue_.AddAfter("b", absl::Seconds(2));
  std::thread worker([this] {
    while (std::optional<std::string> item = queue_.Get()) {
      queue_.ShutDown();
      EXPECT_TRUE(queue_.Done(*item));
    }
  });
  clock_.Step(absl::Seconds(1));
  worker.join();
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(queue_.Len(), 0u);
}

TEST_F(DelayingQueueTest, AWorkerMayPutItsItemBack) {
  constexpr int kTimes = 5;
  std::vector<absl::Notification> processed(kTimes);
  std::thread worker([&] {
    for (int i = 0; i < kTimes; ++i) {
      const std::optional<std::string> item = queue_.Get();
      EXPECT_EQ(item, "a");
      EXPECT_TRUE(queue_.AddAfter(*item, absl::Seconds(1)));
      EXPECT_TRUE(queue_.Done(*item));
      processed[i].Notify();
    }
  });
  queue_.Add("a");
  for (int i = 0; i < kTimes; ++i) {
    processed[i].WaitForNotification();
    EXPECT_EQ(queue_.Len(), 0u);
    clock_.Step(absl::Seconds(1));
  }
  worker.join();
  EXPECT_EQ(queue_.Len(), 1u);
}

TEST_F(DelayingQueueTest, DrainWaitsForWhatIsInFlightOnly) {
  queue_.AddAfter("waiting", absl::Seconds(1));
  queue_.Add("in flight");
  queue_.Get();
  std::atomic<bool> done{false};
  auto drained = std::async(std::launch::async, [&] {
    const bool result = queue_.ShutDownWithDrain();
    EXPECT_TRUE(done);
    return result;
  });
  EXPECT_EQ(queue_.Get(), std::nullopt);
  EXPECT_FALSE(queue_.AddAfter("in flight", absl::Seconds(1)));
  done = true;
  queue_.Done("in flight");
  EXPECT_TRUE(drained.get());
}

TEST(DelayingQueueDestructionTest, InAnyState) {
  for (int state = 0; state < 32; ++state) {
    FakeClock clock;
    DelayingQueue<std::string> queue(On<std::string>(&clock));
    if (state & 1) queue.AddAfter("due", absl::Seconds(1));
    if (state & 2) clock.Step(absl::Seconds(1));
    if (state & 4) queue.AddAfter("waiting", absl::Seconds(2));
    if (state & 8) {
      queue.Add("processing");
      queue.Get();
    }
    if (state & 16) queue.AddAfter("in the channel", absl::Seconds(3));
    if (state % 3 == 0) queue.ShutDown();
  }
}

TEST(DelayingQueueDestructionTest, OnTheRealClock) {
  for (int i = 0; i < 100; ++i) {
    DelayingQueue<int> queue;
    if (i % 2 == 0) queue.AddAfter(i, i % 4 * kMs);
    if (i % 3 == 0) queue.AddAfter(i, absl::Hours(1));
    if (i % 5 == 0) queue.ShutDown();
  }
}

TEST(DelayingQueueDestructionTest, LeavesNobodyOnTheClock) {
  FakeClock clock;
  {
    DelayingQueue<int> queue(On<int>(&clock));
    queue.AddAfter(1, absl::Hours(1));
  }
  EXPECT_FALSE(clock.HasWaiters());
  clock.Step(absl::Hours(1));
}

// -----------------------------------------------------------------------------
// Items and exceptions
// -----------------------------------------------------------------------------

using FragileDelayingQueue = DelayingQueue<FragileKey, FragileHash, FragileEq>;

TEST(DelayingQueueItemsTest, NeedOnlyBeCopyable) {
  FakeClock clock;
  FragileDelayingQueue queue(On<FragileKey>(&clock));
  for (int i : {2, 1, 2, 3, 1}) {
    queue.AddAfter(FragileKey(i), absl::Seconds(i));
  }
  clock.Step(absl::Seconds(3));
  for (int i : {1, 2, 3}) {
    EXPECT_EQ(queue.Get()->value(), i);
    EXPECT_TRUE(queue.Done(FragileKey(i)));
  }
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST(DelayingQueueThrowsTest, FromAddAfter) {
  for (FragileOp op : {FragileOp::kCopy, FragileOp::kHash}) {
    FakeClock clock;
    FragileDelayingQueue queue(On<FragileKey>(&clock));
    queue.AddAfter(FragileKey(1), absl::Seconds(1));
    clock.Step(absl::ZeroDuration());
    int blown = 0;
    while (true) {
      // Later than the first, so that only this thread does anything.
      Fuse::Arm(op, blown + 1);
      const bool threw =
          Blows([&] { queue.AddAfter(FragileKey(2), absl::Seconds(2)); });
      Fuse::Disarm();
      if (!threw) break;
      ++blown;
      ASSERT_LT(blown, 100);
    }
    EXPECT_GE(blown, 1);
    clock.Step(absl::Seconds(2));
    EXPECT_EQ(queue.Len(), 2u);
  }
}

TEST(DelayingQueueThrowsTest, WhatThrewIsNotIn) {
  FakeClock clock;
  FragileDelayingQueue queue(On<FragileKey>(&clock));
  for (FragileOp op : {FragileOp::kCopy, FragileOp::kHash}) {
    Fuse::Arm(op, 1);
    EXPECT_TRUE(
        Blows([&] { queue.AddAfter(FragileKey(2), absl::Seconds(1)); }));
    Fuse::Disarm();
  }
  clock.Step(absl::Hours(1));
  EXPECT_EQ(queue.Len(), 0u);
}

// Whatever throws on the queue's own thread, and whichever time: every item
// comes, none early, and the queue lives. What could not be done is tried again
// a second later.
TEST(DelayingQueueThrowsTest, OnItsOwnThreadLosesNothing) {
  int blown = 0;
  for (FragileOp op : kFragileOps) {
    for (int n = 1;; ++n) {
      SCOPED_TRACE(n);
      ASSERT_LT(n, 200);
      FakeClock clock;
      FragileDelayingQueue queue(On<FragileKey>(&clock));
      queue.AddAfter(FragileKey(1), absl::Seconds(3));
      clock.Step(absl::ZeroDuration());

      Fuse::ArmForOthers(op, n);
      for (int i : {3, 5, 4, 1}) {
        queue.AddAfter(FragileKey(i), absl::Seconds(i));
      }
      std::vector<int> came;
      for (int second = 1; second <= 10; ++second) {
        clock.Step(absl::Seconds(1));
        while (queue.Len() > 0) {
          const std::optional<FragileKey> item = queue.Get();
          EXPECT_GE(second, item->value());
          EXPECT_LE(second, item->value() + 1);
          came.push_back(item->value());
          queue.Done(*item);
        }
      }
      const bool threw = Fuse::Disarm();
      std::sort(came.begin(), came.end());
      EXPECT_EQ(came, (std::vector<int>{1, 3, 4, 5}));
      if (!threw) break;
      ++blown;
    }
  }
  EXPECT_GE(blown, 10);
}

TEST(DelayingQueueThrowsTest, WhatWaitsIsInTimeWhileAnotherCannotBeTakenIn) {
  FakeClock clock;
  FragileDelayingQueue queue(On<FragileKey>(&clock));
  queue.AddAfter(FragileKey(1), 500 * kMs);
  queue.AddAfter(FragileKey(2), 600 * kMs);
  clock.Step(absl::ZeroDuration());
  queue.AddAfter(FragileKey(3), 700 * kMs);
  Fuse::ArmForOthers(FragileOp::kCopy, 1);
  clock.Step(500 * kMs);
  EXPECT_TRUE(Fuse::Disarm());
  EXPECT_EQ(queue.Len(), 1u);
  clock.Step(100 * kMs);
  EXPECT_EQ(queue.Len(), 2u);
  clock.Step(100 * kMs);
  EXPECT_EQ(queue.Len(), 3u);
}

TEST_F(DelayingQueueBelowTest, IsAskedAgainASecondLaterIfItThrows) {
  int asked = 0;
  on_add_ = [&asked](const std::string&) {
    if (++asked <= 2) throw 1;
    return true;
  };
  queue_->AddAfter("a", absl::Seconds(5));
  clock_.Step(absl::Seconds(5));
  EXPECT_EQ(asked, 1);
  clock_.Step(absl::Seconds(1) - kNs);
  EXPECT_EQ(asked, 1);
  clock_.Step(kNs);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
}

TEST_F(DelayingQueueBelowTest, ThrowsOutOfAdd) {
  on_add_ = [](const std::string&) -> bool { throw 1; };
  EXPECT_THROW(queue_->Add("a"), int);
  EXPECT_THROW(queue_->AddAfter("a", absl::ZeroDuration()), int);
}

#endif  // ABSL_HAVE_EXCEPTIONS

// -----------------------------------------------------------------------------
// On a timing wheel
// -----------------------------------------------------------------------------

class WheelDelayingQueueTest : public testing::Test {
 protected:
  static constexpr absl::Duration Tick() { return absl::Milliseconds(10); }

  DelayingQueueOptions<int> Options() {
    DelayingQueueOptions<int> options = On<int>(&clock_);
    options.waiting_set = *WaitingSetOptions::TimingWheel(Tick(), /*slots=*/16);
    options.queue = std::make_unique<HookedQueue<int>>(
        [this](int) { return takes_.load(); });
    return options;
  }

  void Settle() { clock_.Step(absl::ZeroDuration()); }

  FakeClock clock_;
  std::atomic<bool> takes_{true};
  DelayingQueue<int> queue_{Options()};
};

TEST_F(WheelDelayingQueueTest, AnItemIsAddedAtTheFirstTickNotBeforeItsTime) {
  queue_.AddAfter(1, Tick() + kNs);
  Settle();
  EXPECT_EQ(clock_.GetEarliestWakeupTime(), clock_.TimeNow() + 2 * Tick());
  clock_.Step(2 * Tick() - kNs);
  EXPECT_EQ(queue_.Len(), 0u);
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(queue_), std::vector<int>{1});
}

TEST_F(WheelDelayingQueueTest, AnEmptyOneDoesNotTick) {
  const absl::Time start = clock_.TimeNow();
  queue_.AddAfter(1, Tick());
  clock_.Step(Tick());
  EXPECT_EQ(TakeAll(queue_), std::vector<int>{1});
  EXPECT_EQ(clock_.GetEarliestWakeupTime(), start + WaitingLoop::Heartbeat());
}

TEST_F(WheelDelayingQueueTest, AnItemThatWasNotTakenIsTriedAgainASecondLater) {
  takes_ = false;
  queue_.AddAfter(1, Tick());
  clock_.Step(Tick());
  takes_ = true;
  clock_.Step(absl::Seconds(1) - kNs);
  EXPECT_EQ(queue_.Len(), 0u);
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(queue_), std::vector<int>{1});
}

TEST_F(WheelDelayingQueueTest, ShutDownDropsWhatWaits) {
  queue_.AddAfter(1, Tick());
  queue_.AddAfter(2, absl::Hours(1));
  Settle();
  queue_.ShutDown();
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_.Get(), std::nullopt);
  EXPECT_FALSE(queue_.CancelDelayed(2));
}

// Each item's time is kept here, as the queue should.
TEST_F(WheelDelayingQueueTest, NeverEarlyLateByATickAtMost) {
  std::mt19937 random(1);
  const absl::Time start = clock_.TimeNow();
  const auto tick_at = [start](absl::Time time) {
    return start + absl::Ceil(time - start, Tick());
  };
  std::map<int, absl::Time> waiting;
  for (int i = 0; i < 10000; ++i) {
    const absl::Duration delay =
        absl::Microseconds(1 + random() % (1 << (random() % 24)));
    const absl::Time due_at = clock_.TimeNow() + delay;
    const int item = static_cast<int>(random() % 100);
    const auto it = waiting.find(item);
    switch (random() % 6) {
      case 0:
      case 1:
        queue_.AddAfter(item, delay);
        if (it == waiting.end() || due_at < it->second) waiting[item] = due_at;
        break;
      case 2:
        queue_.Reschedule(item, delay);
        waiting[item] = due_at;
        break;
      case 3:
        ASSERT_EQ(queue_.CancelDelayed(item), waiting.erase(item) == 1);
        break;
      case 4: {
        std::map<int, absl::Time> snapshot;
        for (const auto& one : queue_.TakeSnapshot().waiting) {
          ASSERT_TRUE(snapshot.emplace(one.item, one.ready_at).second);
        }
        ASSERT_EQ(snapshot.size(), waiting.size());
        for (const auto& [one, one_due_at] : waiting) {
          ASSERT_EQ(snapshot[one], tick_at(one_due_at));
        }
        break;
      }
      default:
        clock_.Step(absl::Microseconds(random() % 100000));
        for (const int due : TakeAll(queue_)) {
          ASSERT_EQ(waiting.count(due), 1u);
          ASSERT_LE(waiting[due], clock_.TimeNow());
          waiting.erase(due);
        }
        for (const auto& [left, left_due_at] : waiting) {
          ASSERT_GT(tick_at(left_due_at), clock_.TimeNow());
        }
    }
  }
}

}  // namespace
}  // namespace workqueue
