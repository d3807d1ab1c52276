// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of the thread of a `DelayingQueue`: its sleeps, its wake-ups, and a
// loop that several queues share.

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/delaying_queue_fixture.h"
#include "test/workqueue/hooked_queue.h"
#include "test/workqueue/observed_clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::delaying_queue_thread_test {
namespace {

// -----------------------------------------------------------------------------
// The thread
// -----------------------------------------------------------------------------

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

// `Step()` takes in the items added before it. This holds even if another
// thread that adds at the same time has not yet woken the loop for both items.
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
      // Called by `AddAfter()` below: the other thread may continue.
      if (waking.HasBeenNotified() && !go_on.HasBeenNotified() &&
          std::this_thread::get_id() == this_thread) {
        go_on.Notify();
      }
    };
    DelayingQueue<std::string> queue(On<std::string>(&clock));
    fake.Step(absl::ZeroDuration());
    armed = true;
    Thread other([&queue] { queue.AddAfter("theirs", absl::Seconds(1)); });
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
// Items that are due before the thread is woken
// -----------------------------------------------------------------------------

// Time passes while an item is added: each `TimeNow()` moves the clock by a
// nanosecond.
class DueMeanwhileTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::thread::id this_thread = std::this_thread::get_id();
    clock_.on_time_now = [this, this_thread] {
      if (time_goes_by_ && std::this_thread::get_id() == this_thread) {
        fake_.Step(kNs);
      }
    };
    queue_ = *DelayingQueue<std::string>::Create(
        std::make_unique<HookedQueue<std::string>>(
            [this](const std::string& item) { return on_add_(item); }, &clock_),
        On<std::string>(&clock_));
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
// A loop for several queues
// -----------------------------------------------------------------------------

TEST(DelayingQueuesOnOneLoopTest, ServesEachQueue) {
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

TEST(DelayingQueuesOnOneLoopTest, GoesOnWithoutOneOfTheQueues) {
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

}  // namespace
}  // namespace workqueue::delaying_queue_thread_test
