// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of `CancelDelayed()` and `Reschedule()` of a delaying queue and of a
// rate limiting queue.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/fragile_key.h"
#include "test/workqueue/delaying_queue_fixture.h"
#include "test/workqueue/hooked_queue.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/interfaces.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue::cancel_and_reschedule_test {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);

// The parameter chooses a `DelayingQueue` or a `RateLimitingQueue` on one.
class CancelAndRescheduleTest : public testing::TestWithParam<bool> {
 protected:
  CancelAndRescheduleTest() { MakeQueue(""); }

  void MakeQueue(const std::string& name) {
    RateLimitingQueueOptions<std::string> options;
    options.clock = &clock_;
    options.name = name;
    options.metrics_provider = &metrics_;
    if (GetParam()) {
      queue_ =
          std::make_unique<RateLimitingQueue<std::string>>(std::move(options));
    } else {
      queue_ = std::make_unique<DelayingQueue<std::string>>(std::move(options));
    }
    Settle();
  }

  // Returns when the queue's thread has taken in all items added so far.
  void Settle() { clock_.Step(absl::ZeroDuration()); }

  // Checks that the items are added exactly after `delay`.
  void ExpectIn(absl::Duration delay, const Strings& items) {
    clock_.Step(delay - kNs);
    EXPECT_EQ(queue_->Len(), 0u);
    clock_.Step(kNs);
    EXPECT_EQ(TakeAll(*queue_), items);
  }

  void ExpectNothingMore() {
    for (int i = 0; i < 10; ++i) clock_.Step(kSecond);
    clock_.Step(absl::Hours(1000));
    EXPECT_EQ(queue_->Len(), 0u);
  }

  // Returns how long the queue's thread sleeps once it has no work left.
  absl::Duration SleepsFor() {
    Settle();
    return clock_.GetEarliestWakeupTime() - clock_.TimeNow();
  }

  RecordingMetrics metrics_;
  FakeClock clock_;
  std::unique_ptr<DelayingInterface<std::string>> queue_;
};

INSTANTIATE_TEST_SUITE_P(Queues, CancelAndRescheduleTest, testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "RateLimiting" : "Delaying";
                         });

// -----------------------------------------------------------------------------
// CancelDelayed
// -----------------------------------------------------------------------------

TEST_P(CancelAndRescheduleTest, ACancelledItemDoesNotCome) {
  queue_->AddAfter("a", kSecond);
  Settle();
  EXPECT_TRUE(queue_->CancelDelayed("a"));
  EXPECT_FALSE(queue_->CancelDelayed("a")) << "it waits no longer";
  ExpectNothingMore();
}

// Mostly, the queue's thread has not taken the item in yet.
TEST_P(CancelAndRescheduleTest, AnItemCanBeCancelledRightAfterItWasAdded) {
  for (int i = 0; i < 200; ++i) {
    queue_->AddAfter("a", kSecond);
    ASSERT_TRUE(queue_->CancelDelayed("a"));
    ASSERT_FALSE(queue_->CancelDelayed("a"));
  }
  ExpectNothingMore();
}

// The item is due after the loop's wake time, so that it stays in the channel.
TEST_P(CancelAndRescheduleTest, AnItemThatIsNotTakenInYetCanBeCancelled) {
  queue_->AddAfter("first", kSecond);
  Settle();
  for (int i = 0; i < 10; ++i) {
    queue_->AddAfter(std::to_string(i), (2 + i) * kSecond);
  }
  queue_->AddAfter("3", 30 * kSecond);
  EXPECT_TRUE(queue_->CancelDelayed("3")) << "with each of its times";
  EXPECT_FALSE(queue_->CancelDelayed("3"));
  clock_.Step(12 * kSecond);
  EXPECT_EQ(TakeAll(*queue_),
            (Strings{"first", "0", "1", "2", "4", "5", "6", "7", "8", "9"}));
  ExpectNothingMore();
}

TEST_P(CancelAndRescheduleTest, OnlyWhatWaitsCanBeCancelled) {
  EXPECT_FALSE(queue_->CancelDelayed("unknown"));
  queue_->Add("queued");
  EXPECT_FALSE(queue_->CancelDelayed("queued"));
  EXPECT_EQ(queue_->Len(), 1u);
  ASSERT_EQ(queue_->Get(), "queued");
  EXPECT_FALSE(queue_->CancelDelayed("queued")) << "it is being processed";
  queue_->Add("queued");
  EXPECT_FALSE(queue_->CancelDelayed("queued")) << "it has been added again";
  EXPECT_TRUE(queue_->Done("queued"));
  EXPECT_EQ(TakeAll(*queue_), Strings{"queued"});

  queue_->AddAfter("due", kSecond);
  clock_.Step(kSecond);
  EXPECT_FALSE(queue_->CancelDelayed("due")) << "it has come";
  EXPECT_EQ(TakeAll(*queue_), Strings{"due"});
  EXPECT_TRUE(queue_->AddAfter("at once", absl::ZeroDuration()));
  EXPECT_FALSE(queue_->CancelDelayed("at once"));
  EXPECT_EQ(TakeAll(*queue_), Strings{"at once"});
}

TEST_P(CancelAndRescheduleTest, CancelLeavesWhatIsQueuedOrProcessed) {
  queue_->Add("a");
  queue_->AddAfter("a", kSecond);
  EXPECT_TRUE(queue_->CancelDelayed("a"));
  EXPECT_EQ(queue_->Len(), 1u);
  ASSERT_EQ(queue_->Get(), "a");
  queue_->AddAfter("a", kSecond);
  EXPECT_TRUE(queue_->CancelDelayed("a"));
  clock_.Step(kSecond);
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_EQ(queue_->Len(), 0u) << "nothing brought it back";
}

TEST_P(CancelAndRescheduleTest, NothingCanBeCancelledAfterShutDown) {
  queue_->AddAfter("taken in", kSecond);
  Settle();
  queue_->AddAfter("in the channel", 2 * kSecond);
  queue_->ShutDown();
  EXPECT_FALSE(queue_->CancelDelayed("taken in"));
  EXPECT_FALSE(queue_->CancelDelayed("in the channel"));
  EXPECT_FALSE(queue_->CancelDelayed("unknown"));
}

TEST_P(CancelAndRescheduleTest, ACancelledItemCanWaitAgain) {
  for (int i = 1; i <= 20; ++i) {
    queue_->AddAfter("a", kSecond);
    if (i % 2 == 0) Settle();
    ASSERT_TRUE(queue_->CancelDelayed("a"));
    // The new time is later: the cancelled time does not count.
    queue_->AddAfter("a", (1 + i) * kSecond);
    ExpectIn((1 + i) * kSecond, {"a"});
  }
  ExpectNothingMore();
}

TEST_P(CancelAndRescheduleTest, CancelLeavesTheOthersWithTheirTimes) {
  Strings left;
  for (int i = 0; i < 100; ++i) {
    queue_->AddAfter(std::to_string(i), (1 + i) * kSecond);
  }
  for (int i = 0; i < 100; ++i) {
    if (i * 7 % 10 < 5) {
      EXPECT_TRUE(queue_->CancelDelayed(std::to_string(i)));
    }
  }
  for (int i = 0; i < 100; ++i) {
    clock_.Step(kSecond);
    ASSERT_EQ(TakeAll(*queue_),
              i * 7 % 10 < 5 ? Strings{} : Strings{std::to_string(i)});
  }
}

// -----------------------------------------------------------------------------
// Reschedule
// -----------------------------------------------------------------------------

TEST_P(CancelAndRescheduleTest, RescheduleAddsWhatDoesNotWait) {
  EXPECT_TRUE(queue_->Reschedule("a", 3 * kSecond));
  EXPECT_EQ(SleepsFor(), 3 * kSecond);
  ExpectIn(3 * kSecond, {"a"});
  ExpectNothingMore();
}

TEST_P(CancelAndRescheduleTest, RescheduleNeverAddsEarly) {
  const absl::Duration delays[] = {
      kNs,     absl::Microseconds(1), kMs,
      kSecond, absl::Seconds(10),     absl::Hours(24 * 365 * 100)};
  for (bool waits : {false, true}) {
    for (absl::Duration delay : delays) {
      SCOPED_TRACE(delay);
      if (waits) queue_->AddAfter("a", 5 * kSecond);
      EXPECT_TRUE(queue_->Reschedule("a", delay));
      ExpectIn(delay, {"a"});
    }
  }
  ExpectNothingMore();
}

TEST_P(CancelAndRescheduleTest, RescheduleMakesLater) {
  queue_->AddAfter("a", kSecond);
  Settle();
  clock_.Step(500 * kMs);
  EXPECT_TRUE(queue_->Reschedule("a", kSecond));
  ExpectIn(kSecond, {"a"});
  ExpectNothingMore();
}

TEST_P(CancelAndRescheduleTest, RescheduleMakesSoonerAndWakesTheLoopInTime) {
  queue_->AddAfter("a", 8 * kSecond);
  EXPECT_EQ(SleepsFor(), 8 * kSecond);
  for (int seconds = 7; seconds >= 1; --seconds) {
    EXPECT_TRUE(queue_->Reschedule("a", seconds * kSecond));
    EXPECT_EQ(SleepsFor(), seconds * kSecond);
  }
  ExpectIn(kSecond, {"a"});
  ExpectNothingMore();
}

TEST_P(CancelAndRescheduleTest, RescheduleTakesAnItemThatIsNotTakenInYet) {
  queue_->AddAfter("first", kSecond);
  Settle();
  queue_->AddAfter("later", 2 * kSecond);
  queue_->AddAfter("sooner", 5 * kSecond);
  queue_->AddAfter("in between", 3 * kSecond);
  EXPECT_TRUE(queue_->Reschedule("later", 4 * kSecond));
  EXPECT_TRUE(queue_->Reschedule("sooner", 500 * kMs));
  EXPECT_EQ(SleepsFor(), 500 * kMs);
  ExpectIn(500 * kMs, {"sooner"});
  ExpectIn(500 * kMs, {"first"});
  ExpectIn(2 * kSecond, {"in between"});
  ExpectIn(kSecond, {"later"});
  ExpectNothingMore();
}

// `Reschedule()` replaces a time that is still in the channel. An `AddAfter()`
// after it counts.
TEST_P(CancelAndRescheduleTest, TheEarlierTimeCountsAfterAReschedule) {
  queue_->AddAfter("a", kSecond);
  queue_->Reschedule("a", 9 * kSecond);
  queue_->AddAfter("a", 20 * kSecond);
  ExpectIn(9 * kSecond, {"a"});
  queue_->Reschedule("a", 9 * kSecond);
  queue_->AddAfter("a", 4 * kSecond);
  ExpectIn(4 * kSecond, {"a"});
  ExpectNothingMore();
}

TEST_P(CancelAndRescheduleTest, AtOnceForZeroAndNegativeDelays) {
  const absl::Duration delays[] = {absl::ZeroDuration(), -kNs,
                                   -absl::InfiniteDuration()};
  for (absl::Duration delay : delays) {
    SCOPED_TRACE(delay);
    EXPECT_TRUE(queue_->Reschedule("absent", delay));
    EXPECT_EQ(TakeAll(*queue_), Strings{"absent"});
    queue_->AddAfter("waiting", kSecond);
    Settle();
    EXPECT_TRUE(queue_->Reschedule("waiting", delay));
    EXPECT_EQ(TakeAll(*queue_), Strings{"waiting"});
    queue_->AddAfter("in the channel", kSecond);
    EXPECT_TRUE(queue_->Reschedule("in the channel", delay));
    EXPECT_EQ(TakeAll(*queue_), Strings{"in the channel"});
    ExpectNothingMore();
  }
}

TEST_P(CancelAndRescheduleTest, NeverForAnInfiniteDelay) {
  queue_->AddAfter("a", kSecond);
  EXPECT_TRUE(queue_->Reschedule("a", absl::InfiniteDuration()));
  EXPECT_TRUE(queue_->Reschedule("b", absl::InfiniteDuration()));
  ExpectNothingMore();
  EXPECT_TRUE(queue_->CancelDelayed("a")) << "it waits all the same";
  EXPECT_TRUE(queue_->Reschedule("b", kSecond));
  ExpectIn(kSecond, {"b"});
}

TEST_P(CancelAndRescheduleTest, AQueuedItemGetsAWaitingCopy) {
  queue_->Add("a");
  EXPECT_TRUE(queue_->Reschedule("a", kSecond));
  EXPECT_EQ(queue_->Len(), 1u) << "it stays queued";
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
  ExpectIn(kSecond, {"a"});

  queue_->Add("a");
  EXPECT_TRUE(queue_->Reschedule("a", kSecond));
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"}) << "once, if it is still queued";
}

TEST_P(CancelAndRescheduleTest, AnItemThatIsProcessedGetsAWaitingCopy) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  EXPECT_TRUE(queue_->Reschedule("a", 2 * kSecond));
  EXPECT_TRUE(queue_->Reschedule("a", kSecond));
  clock_.Step(kSecond);
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});

  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  EXPECT_TRUE(queue_->Reschedule("a", absl::ZeroDuration()));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
  ExpectNothingMore();
}

TEST_P(CancelAndRescheduleTest, ASeriesOfReschedulesIsADebounce) {
  for (int series = 0; series < 3; ++series) {
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(queue_->Reschedule("a", kSecond));
      // Events of other items have no effect.
      ASSERT_TRUE(queue_->Reschedule("b", 50 * kMs + i % 2 * kMs));
      clock_.Step(kSecond - (1 + i % 7) * kNs);
      ASSERT_EQ(TakeAll(*queue_), Strings{"b"}) << i;
    }
    ASSERT_TRUE(queue_->Reschedule("a", kSecond));
    ExpectIn(kSecond, {"a"});
  }
  ExpectNothingMore();
}

TEST_P(CancelAndRescheduleTest, EqualTimesComeInTheOrderOfTheCalls) {
  queue_->AddAfter("moved", 3 * kSecond);
  queue_->AddAfter("a", kSecond);
  queue_->Reschedule("b", kSecond);
  queue_->AddAfter("c", kSecond);
  queue_->Reschedule("moved", kSecond);
  queue_->AddAfter("d", kSecond);
  queue_->Reschedule("b", kSecond);
  ExpectIn(kSecond, {"a", "c", "moved", "d", "b"});
}

TEST_P(CancelAndRescheduleTest, NothingCanBeRescheduledAfterShutDown) {
  queue_->AddAfter("waiting", kSecond);
  queue_->ShutDown();
  for (absl::Duration delay :
       {-kSecond, absl::ZeroDuration(), kSecond, absl::InfiniteDuration()}) {
    EXPECT_FALSE(queue_->Reschedule("waiting", delay));
    EXPECT_FALSE(queue_->Reschedule("new", delay));
  }
  ExpectNothingMore();
}

TEST_P(CancelAndRescheduleTest, NeitherIsCountedAsARetry) {
  MakeQueue("with metrics");
  queue_->AddAfter("a", kSecond);
  EXPECT_EQ(metrics_.count(MetricKind::kRetries), 1);
  queue_->Reschedule("a", 2 * kSecond);
  queue_->Reschedule("b", 2 * kSecond);
  queue_->Reschedule("c", absl::ZeroDuration());
  queue_->CancelDelayed("a");
  clock_.Step(2 * kSecond);
  EXPECT_EQ(TakeAll(*queue_), (Strings{"c", "b"}));
  EXPECT_EQ(metrics_.count(MetricKind::kRetries), 1);
  EXPECT_EQ(metrics_.count(MetricKind::kAdds), 2);
}

// The stress test covers concurrent calls for the same item.
TEST_P(CancelAndRescheduleTest, ManyThreadsMayCancelAndReschedule) {
  constexpr int kThreads = 4, kItems = 300;
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < kItems; ++i) {
        const std::string item = std::to_string(t * kItems + i);
        EXPECT_TRUE(queue_->AddAfter(item, kSecond));
        if (i % 3 == 0) {
          EXPECT_TRUE(queue_->CancelDelayed(item));
        }
        if (i % 3 == 1) {
          EXPECT_TRUE(queue_->Reschedule(item, 2 * kSecond));
        }
      }
    });
  }
  for (Thread& thread : threads) thread.join();
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(*queue_).size(), kThreads * kItems / 3u);
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(*queue_).size(), kThreads * kItems / 3u);
  ExpectNothingMore();
}

TEST(RateLimitedCancelTest, AnItemThatFailedCanBeCancelledAndRescheduled) {
  FakeClock clock;
  RateLimitingQueueOptions<std::string> options;
  options.clock = &clock;
  RateLimitingQueue<std::string> queue(std::move(options));
  EXPECT_TRUE(queue.AddRateLimited("a"));
  EXPECT_TRUE(queue.AddRateLimited("b"));
  EXPECT_TRUE(queue.CancelDelayed("a"));
  EXPECT_TRUE(queue.Reschedule("b", absl::Hours(1)));
  EXPECT_EQ(queue.NumRequeues("a"), 1) << "the failures are not forgotten";
  EXPECT_EQ(queue.NumRequeues("b"), 1);
  clock.Step(absl::Hours(1) - kNs);
  EXPECT_EQ(queue.Len(), 0u);
  clock.Step(kNs);
  EXPECT_EQ(TakeAll(queue), Strings{"b"});
}

// -----------------------------------------------------------------------------
// The loop
// -----------------------------------------------------------------------------

using RescheduleLoopTest = DelayingQueueThreadTest;

TEST_F(RescheduleLoopTest, IsNotWokenForALaterTimeNorForACancel) {
  queue_.AddAfter("first", 3 * kSecond);
  queue_.AddAfter("second", 4 * kSecond);
  fake_.Step(absl::ZeroDuration());
  const int parks_before = clock_.parks();
  for (int i = 0; i < 10; ++i) {
    queue_.Reschedule("second", (4 + i) * kSecond);
    queue_.Reschedule("third", (4 + i) * kSecond);
    queue_.CancelDelayed("second");
    fake_.Step(absl::ZeroDuration());
  }
  EXPECT_EQ(clock_.parks(), parks_before);
  fake_.Step(3 * kSecond);
  EXPECT_EQ(TakeAll(queue_), Strings{"first"});
}

// The queue's thread gets no wake-up, as if it were not scheduled. So the
// channel becomes full. `Reschedule()` and `CancelDelayed()` take in the items
// themselves, and the channel has room again.
TEST_F(RescheduleLoopTest, NeitherBlocksOnAFullAddChannel) {
  constexpr int kCapacity = 1000;
  fake_.Step(absl::ZeroDuration());
  clock_.on_unpark = [] { return false; };
  for (int i = 0; i < kCapacity; ++i) {
    ASSERT_TRUE(queue_.AddAfter(std::to_string(i), kSecond));
  }
  EXPECT_TRUE(queue_.Reschedule("new", kSecond));
  for (int i = 0; i < kCapacity; ++i) {
    ASSERT_TRUE(queue_.AddAfter(std::to_string(kCapacity + i), kSecond));
  }
  EXPECT_TRUE(queue_.CancelDelayed("1500"));
  EXPECT_TRUE(queue_.AddAfter("there is room", kSecond));
  clock_.on_unpark = [] { return true; };
  fake_.Step(10 * kSecond);  // To the heartbeat: all wake-ups were lost.
  EXPECT_EQ(queue_.Len(), 2u * kCapacity + 1);
}

// -----------------------------------------------------------------------------
// The queue below
// -----------------------------------------------------------------------------

using RescheduleBelowTest = DelayingQueueBelowTest;

TEST_F(RescheduleBelowTest, AnItemThatIsRefusedGoesOnWaiting) {
  bool refuse = true;
  on_add_ = [&refuse](const std::string&) { return !refuse; };
  queue_->AddAfter("a", kSecond);
  EXPECT_FALSE(queue_->Reschedule("a", absl::ZeroDuration()));
  EXPECT_FALSE(queue_->Reschedule("absent", absl::ZeroDuration()));
  EXPECT_FALSE(queue_->CancelDelayed("absent"));
  refuse = false;
  clock_.Step(kSecond - kNs);
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"}) << "at its old time";
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Len(), 0u);
}

// An item that was refused when it was due waits until the queue tries again.
TEST_F(RescheduleBelowTest, ARefusedItemCanBeCancelledAndRescheduled) {
  bool refuse = true;
  on_add_ = [&refuse](const std::string&) { return !refuse; };
  for (const char* item : {"cancelled", "later", "sooner", "now"}) {
    queue_->AddAfter(item, kSecond);
  }
  clock_.Step(kSecond);
  refuse = false;
  EXPECT_TRUE(queue_->CancelDelayed("cancelled"));
  EXPECT_TRUE(queue_->Reschedule("later", 5 * kSecond));
  EXPECT_TRUE(queue_->Reschedule("sooner", kNs));
  EXPECT_TRUE(queue_->Reschedule("now", absl::ZeroDuration()));
  EXPECT_EQ(TakeAll(*queue_), Strings{"now"});
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(*queue_), Strings{"sooner"});
  clock_.Step(5 * kSecond - 2 * kNs);
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(*queue_), Strings{"later"});
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Len(), 0u);
}

// While an item moves to the queue below, `CancelDelayed()` blocks. Then the
// item is in the queue below: it is not cancelled and not lost.
TEST_F(RescheduleBelowTest, CancelWaitsForAnItemOnItsWay) {
  absl::Notification on_its_way, go_on;
  on_add_ = [&](const std::string&) {
    on_its_way.Notify();
    go_on.WaitForNotification();
    return true;
  };
  queue_->AddAfter("a", kSecond);
  Thread stepper([this] { clock_.Step(kSecond); });
  on_its_way.WaitForNotification();
  Thread canceller([this] {
    EXPECT_FALSE(queue_->CancelDelayed("a"));
    EXPECT_EQ(queue_->Len(), 1u);
  });
  go_on.Notify();
  canceller.join();
  stepper.join();
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
}

TEST_F(RescheduleBelowTest, NothingIsDoneIfTheQueueBelowIsShutDown) {
  queue_->AddAfter("a", kSecond);
  below_->ShutDown();
  EXPECT_FALSE(queue_->CancelDelayed("a"));
  EXPECT_FALSE(queue_->Reschedule("a", kSecond));
  EXPECT_FALSE(queue_->Reschedule("a", absl::ZeroDuration()));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Len(), 0u);
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_F(RescheduleBelowTest, AnItemGoesOnWaitingIfTheQueueBelowThrows) {
  bool throws = true;
  on_add_ = [&throws](const std::string&) {
    if (throws) throw 1;
    return true;
  };
  queue_->AddAfter("a", kSecond);
  EXPECT_THROW(queue_->Reschedule("a", absl::ZeroDuration()), int);
  EXPECT_THROW(queue_->Reschedule("absent", -kSecond), int);
  throws = false;
  clock_.Step(kSecond - kNs);
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Len(), 0u);
}

// -----------------------------------------------------------------------------
// Items that throw
// -----------------------------------------------------------------------------

using FragileDelayingQueue = DelayingQueue<FragileKey, FragileHash, FragileEq>;

// Calls `f(queue)` on new queues in which item `i` of 1 to 6 waits for `i`
// seconds; the thread has not taken in the last three. Makes each hashing,
// copying and comparison in `f` throw once. Calls `check(queue, clock, threw)`
// after each call of `f`.
template <typename F, typename Check>
void BlowEach(F f, Check check) {
  int blown = 0;
  for (FragileOp op : kFragileOps) {
    for (int n = 1;; ++n) {
      SCOPED_TRACE(n);
      ASSERT_LT(n, 200);
      FakeClock clock;
      DelayingQueueOptions<FragileKey> options;
      options.clock = &clock;
      FragileDelayingQueue queue(std::move(options));
      for (int i = 1; i <= 6; ++i) {
        if (i == 4) clock.Step(absl::ZeroDuration());
        queue.AddAfter(FragileKey(i), i * kSecond);
      }
      Fuse::Arm(op, n);
      const bool threw = Blows([&] { f(queue); });
      // The call does not throw for another item, which is taken in later.
      const bool blew = Fuse::Disarm();
      EXPECT_TRUE(blew || !threw);
      check(queue, clock, threw);
      if (!blew) break;
      ++blown;
    }
  }
  EXPECT_GE(blown, 3);
}

// Checks that item `i` + 1 is added after exactly `seconds[i]` seconds.
void ExpectSeconds(FragileDelayingQueue& queue, FakeClock& clock,
                   std::vector<int> seconds) {
  for (int second = 1; second <= 12; ++second) {
    clock.Step(kSecond - kNs);
    EXPECT_EQ(queue.Len(), 0u);
    clock.Step(kNs);
    std::vector<int> came;
    while (queue.Len() > 0) {
      came.push_back(queue.Get()->value());
      EXPECT_TRUE(queue.Done(FragileKey(came.back())));
    }
    std::vector<int> expected;
    for (size_t i = 0; i < seconds.size(); ++i) {
      if (seconds[i] == second) expected.push_back(static_cast<int>(i) + 1);
    }
    EXPECT_EQ(came, expected) << "after " << second << " s";
  }
}

TEST(RescheduleThrowsTest, AndTheQueueIsAsItWas) {
  const int kItems[] = {2, 5, 7};  // Taken in, in the channel, and absent.
  for (int item : kItems) {
    SCOPED_TRACE(item);
    BlowEach(
        [item](FragileDelayingQueue& queue) {
          EXPECT_TRUE(queue.Reschedule(FragileKey(item), 9 * kSecond));
        },
        [item](FragileDelayingQueue& queue, FakeClock& clock, bool threw) {
          std::vector<int> seconds = {1, 2, 3, 4, 5, 6, 0};
          if (!threw) seconds[item - 1] = 9;
          ExpectSeconds(queue, clock, seconds);
        });
  }
}

TEST(RescheduleThrowsTest, FromARescheduleToNow) {
  for (int item : {2, 5, 7}) {
    SCOPED_TRACE(item);
    BlowEach(
        [item](FragileDelayingQueue& queue) {
          EXPECT_TRUE(queue.Reschedule(FragileKey(item), absl::ZeroDuration()));
        },
        [item](FragileDelayingQueue& queue, FakeClock& clock, bool threw) {
          std::vector<int> seconds = {1, 2, 3, 4, 5, 6, 0};
          if (!threw) {
            seconds[item - 1] = 0;
            ASSERT_EQ(queue.Len(), 1u);
            EXPECT_EQ(queue.Get()->value(), item);
            EXPECT_TRUE(queue.Done(FragileKey(item)));
          }
          ExpectSeconds(queue, clock, seconds);
        });
  }
}

TEST(CancelThrowsTest, AndTheQueueIsAsItWas) {
  for (int item : {2, 5, 7}) {
    SCOPED_TRACE(item);
    BlowEach(
        [item](FragileDelayingQueue& queue) {
          EXPECT_EQ(queue.CancelDelayed(FragileKey(item)), item != 7);
        },
        [item](FragileDelayingQueue& queue, FakeClock& clock, bool threw) {
          std::vector<int> seconds = {1, 2, 3, 4, 5, 6, 0};
          if (!threw) seconds[item - 1] = 0;
          ExpectSeconds(queue, clock, seconds);
        });
  }
}

// Throws if it is called on the thread that is to throw.
struct ThrowingEq {
  inline static thread_local bool throws = false;

  bool operator()(int a, int b) const {
    if (throws) throw 1;
    return a == b;
  }
};

// An exception leaves received items that are not yet waiting items, while the
// queue's thread is about to sleep until the next waiting item.
TEST(CancelThrowsTest, WhileTheLoopIsAwakeAndTheOtherItemsComeInTime) {
  constexpr int kDue = 1000;
  FakeClock clock;
  absl::Notification adding, go_on;
  DelayingQueueOptions<int> options;
  options.clock = &clock;
  auto below = std::make_unique<HookedQueue<int>>(
      [&](int item) {
        if (item != 0) return true;
        adding.Notify();
        go_on.WaitForNotification();
        return true;
      },
      &clock);
  const auto owned = *DelayingQueue<int, std::hash<int>, ThrowingEq>::Create(
      std::move(below), std::move(options));
  auto& queue = *owned;
  // So many items that the thread releases the lock in between.
  for (int i = 0; i < kDue; ++i) queue.AddAfter(i, kSecond);
  clock.Step(absl::ZeroDuration());
  Thread stepper([&] { clock.Step(kSecond); });
  adding.WaitForNotification();
  queue.AddAfter(kDue, 2 * kSecond);
  queue.AddAfter(kDue, 2 * kSecond);  // Compared with the one before.
  queue.AddAfter(kDue + 1, kSecond);
  Thread canceller([&] {
    ThrowingEq::throws = true;
    go_on.Notify();
    // If this call is late, the items have been taken in and it compares
    // nothing.
    try {
      EXPECT_FALSE(queue.CancelDelayed(-1));
    } catch (int) {
    }
  });
  canceller.join();
  stepper.join();
  EXPECT_EQ(TakeAll(queue).size(), static_cast<size_t>(kDue));
  clock.Step(kSecond);
  EXPECT_EQ(TakeAll(queue), std::vector<int>{kDue + 1});
  clock.Step(kSecond);
  EXPECT_EQ(TakeAll(queue), std::vector<int>{kDue});
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::cancel_and_reschedule_test
