// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of the waiting items of a `PriorityQueue`, and of the thread that adds
// them in time.

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "test/workqueue/observed_clock.h"
#include "test/workqueue/priority_queue_fixture.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/priority_queue.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::priority_queue_delay_test {
namespace {

// -----------------------------------------------------------------------------
// Waiting
// -----------------------------------------------------------------------------

TEST_F(PriorityQueueTest, NeverEarly) {
  for (absl::Duration delay :
       {kNs, kMs, kSecond, absl::Seconds(10), absl::Hours(24 * 365 * 100)}) {
    EXPECT_TRUE(queue_->AddAfter("a", delay));
    clock_.Step(delay - kNs);
    EXPECT_EQ(queue_->Len(), 0u) << delay;
    clock_.Step(kNs);
    EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 0}})) << delay;
  }
}

TEST_F(PriorityQueueTest, AtOnceForZeroAndNegativeDelays) {
  for (absl::Duration delay :
       {absl::ZeroDuration(), -kNs, -absl::InfiniteDuration()}) {
    EXPECT_TRUE(queue_->AddAfter("a", delay));
    EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 0}})) << delay;
  }
  EXPECT_EQ(retries(), 0);
}

TEST_F(PriorityQueueTest, NeverForAnInfiniteDelay) {
  EXPECT_TRUE(queue_->AddAfter("never", absl::InfiniteDuration()));
  EXPECT_TRUE(queue_->AddAfter("sometime", absl::Hours(1)));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"sometime", 0}}));
  clock_.Step(absl::Hours(24 * 365 * 1000));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_TRUE(queue_->AddAfter("never", kSecond));
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"never", 0}}));
}

TEST_F(PriorityQueueTest, TheEarliestTimeCountsInWhicheverOrder) {
  std::vector<int> seconds = {1, 2, 3, 4};
  do {
    for (int s : seconds) Add(After(absl::Seconds(s)), {"a"});
    clock_.Step(kSecond - kNs);
    ASSERT_EQ(queue_->Len(), 0u);
    clock_.Step(kNs);
    ASSERT_EQ(TakeAll(), (std::vector<Taken>{{"a", 0}}));
    clock_.Step(absl::Seconds(9));
    ASSERT_EQ(queue_->Len(), 0u);
  } while (std::next_permutation(seconds.begin(), seconds.end()));
}

TEST_F(PriorityQueueTest, AWaitingItemTakesTheHighestPriorityAndEarliestTime) {
  Add(At(1, 5 * kSecond), {"a"});
  Add(At(9, 7 * kSecond), {"a"});
  Add(At(3, 4 * kSecond), {"a"});
  clock_.Step(4 * kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 9}}));
  EXPECT_EQ(depth(), (Depth{{9, 0}})) << "it was never counted as another";
}

TEST_F(PriorityQueueTest, ItemsOfOneTimeAreAddedInTheOrderInWhichTheyGotIt) {
  Add(At(-1, kSecond), {"low"});
  Add(At(0, kSecond), {"first", "second"});
  Add(At(1, kSecond), {"high"});
  Add(At(0, kSecond / 2), {"earlier"});
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"high", 1},
                                           {"earlier", 0},
                                           {"first", 0},
                                           {"second", 0},
                                           {"low", -1}}));
  Add(At(0, 2 * kSecond), {"later"});
  Add(At(0, kSecond), {"a"});
  Add(At(1, kSecond), {"b"});
  Add(At(1, kSecond), {"a"});      // only its priority rises
  Add(At(0, 2 * kSecond), {"a"});  // changes nothing
  Add(At(1, kSecond), {"later"});  // gets this time now
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 1}, {"b", 1}, {"later", 1}}));
}

TEST_F(PriorityQueueTest, AnItemThatIsDueCountsAsAddedThen) {
  Add(After(kSecond), {"due"});
  Add({}, {"before"});
  clock_.Step(kSecond);
  Add({}, {"after"});
  EXPECT_EQ(TakeAll(),
            (std::vector<Taken>{{"before", 0}, {"due", 0}, {"after", 0}}));
}

// As in controller-runtime, the place is that of the add with the delay.
TEST_F(PriorityQueueTest, AnItemThatWaitsNoLongerHasThePlaceOfItsFirstAdd) {
  Add(After(kSecond), {"waited"});
  Add({}, {"a"});
  Add({}, {"waited"});
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"waited", 0}, {"a", 0}}));
  Add(After(kSecond), {"waited"});
  Add(At(1), {"a"});
  Add(At(1), {"waited"});
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 1}, {"waited", 1}}));
}

TEST_F(PriorityQueueTest, MoreThanAHandfulAreDueAtOnce) {
  Strings items;
  for (int i = 0; i < 1234; ++i) items.push_back(std::to_string(i));
  Add(After(kSecond), items);
  clock_.Step(kSecond);
  ASSERT_EQ(queue_->Len(), items.size());
  for (const std::string& item : items) EXPECT_EQ(queue_->Get(), item);
}

TEST(PriorityQueueDefaultsTest, TheClockIsTheRealOne) {
  PriorityQueue<int> queue;
  Clock* const clock = Clock::GetRealClock();
  const absl::Time start = clock->TimeNow();
  for (int i : {3, 1, 2}) queue.AddAfter(i, i * kMs);
  // Their order depends on how long the calls above take.
  for (int n = 0; n < 3; ++n) {
    const std::optional<int> i = queue.Get();
    EXPECT_GE(clock->TimeNow() - start, *i * kMs);
  }
}

// -----------------------------------------------------------------------------
// The thread
// -----------------------------------------------------------------------------

TEST(PriorityQueueThreadTest, SleepsUntilTheFirstItemIsReady) {
  FakeClock fake;
  ObservedClock clock(&fake);
  PriorityQueue<std::string> queue(On<std::string>(&clock));
  queue.AddAfter("second", 5 * kSecond);
  queue.AddAfter("first", 3 * kSecond);
  fake.Step(absl::ZeroDuration());
  EXPECT_EQ(fake.GetEarliestWakeupTime(), fake.TimeNow() + 3 * kSecond);
  const int parks_before = clock.parks();
  for (int i = 0; i < 10; ++i) {
    queue.AddAfter(std::to_string(i), absl::Seconds(3 + i));
    queue.Add("now");
    fake.Step(absl::ZeroDuration());
  }
  EXPECT_EQ(clock.parks(), parks_before) << "none of these is earlier";
  fake.Step(3 * kSecond);
  EXPECT_EQ(fake.GetEarliestWakeupTime(), fake.TimeNow() + kSecond);
  queue.AddAfter("b", kMs);
  fake.Step(absl::ZeroDuration());
  EXPECT_EQ(fake.GetEarliestWakeupTime(), fake.TimeNow() + kMs);
}

// Time passes while items are added: each `TimeNow()` moves the clock by a
// nanosecond.
TEST(PriorityQueueThreadTest, IsNotWokenForWhatIsDueMeanwhile) {
  FakeClock fake;
  ObservedClock clock(&fake);
  std::atomic<bool> time_goes_by{false};
  const std::thread::id this_thread = std::this_thread::get_id();
  clock.on_time_now = [&] {
    if (time_goes_by && std::this_thread::get_id() == this_thread) {
      fake.Step(kNs);
    }
  };
  PriorityQueue<std::string> queue(On<std::string>(&clock));
  queue.AddWithOptions(At(5, absl::Minutes(1)), {"raised"});
  queue.AddAfter("waits", absl::Minutes(1));
  fake.Step(absl::ZeroDuration());
  const int parks_before = clock.parks();

  queue.Add("queued");
  time_goes_by = true;
  queue.AddWithOptions(After(kNs), {"a", "raised", "b"});
  time_goes_by = false;
  for (const char* item : {"raised", "queued", "a", "b"}) {
    EXPECT_EQ(queue.Get(), item);
    EXPECT_TRUE(queue.Done(item));
  }
  fake.Step(absl::ZeroDuration());
  EXPECT_EQ(clock.parks(), parks_before);

  time_goes_by = true;
  queue.AddAfter("a", 2 * kNs);
  time_goes_by = false;
  fake.Step(absl::ZeroDuration());
  EXPECT_EQ(queue.Len(), 0u) << "it would be early";
  fake.Step(kNs);
  EXPECT_EQ(queue.Get(), "a");

  fake.Step(absl::Minutes(1));
  EXPECT_EQ(queue.Get(), "waits");
  EXPECT_EQ(queue.Len(), 0u) << "what was raised comes once";
}

TEST(PriorityQueueThreadTest, MakesUpForAWakeUpThatWentMissing) {
  FakeClock fake;
  ObservedClock clock(&fake);
  PriorityQueue<std::string> queue(On<std::string>(&clock));
  fake.Step(absl::ZeroDuration());
  clock.on_unpark = [] { return false; };
  queue.AddAfter("a", kSecond);
  clock.on_unpark = [] { return true; };
  fake.Step(WaitingLoop::Heartbeat());
  EXPECT_EQ(queue.Get(), "a");
}

TEST(PriorityQueueThreadTest, ServesSeveralQueues) {
  constexpr int kQueues = 5;
  FakeClock clock;
  std::vector<std::unique_ptr<PriorityQueue<int>>> queues;
  const auto make = [&](const std::shared_ptr<WaitingLoop>& loop) {
    auto options = On<int>(&clock);
    options.clock = loop;
    queues.push_back(std::make_unique<PriorityQueue<int>>(std::move(options)));
  };
  {
    const auto loop = std::make_shared<WaitingLoop>(&clock);
    for (int i = 0; i < kQueues; ++i) make(loop);
  }
  clock.Step(absl::ZeroDuration());
  EXPECT_EQ(clock.NumWaiters(), 1u) << "one thread for all";
  for (int item = 0; item < 50; ++item) {
    for (int i = 0; i < kQueues; ++i) {
      const int added = item;
      queues[i]->AddWithOptions(At(-item, (1 + (item * 7 + i) % 50) * kMs),
                                absl::MakeConstSpan(&added, 1));
    }
  }
  queues[3]->ShutDown();
  queues.erase(queues.begin() + 4);
  for (int ms = 1; ms <= 50; ++ms) {
    clock.Step(kMs);
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(queues[i]->Len(), 1u);
      const int item = *queues[i]->Get();
      ASSERT_EQ(1 + (item * 7 + i) % 50, ms);
    }
    ASSERT_EQ(queues[3]->Len(), 0u);
  }
}

TEST(PriorityQueueThreadTest, LeavesNobodyOnTheClock) {
  FakeClock clock;
  {
    PriorityQueue<int> queue(On<int>(&clock));
    queue.AddAfter(1, absl::Hours(1));
    clock.Step(absl::ZeroDuration());
    EXPECT_TRUE(clock.HasWaiters());
  }
  EXPECT_FALSE(clock.HasWaiters());
}

// -----------------------------------------------------------------------------
// Cancelling and rescheduling
// -----------------------------------------------------------------------------

TEST_F(PriorityQueueTest, CancelDelayedEndsTheWaiting) {
  Add(At(3, kSecond), {"a", "b"});
  EXPECT_TRUE(queue_->CancelDelayed("a"));
  EXPECT_FALSE(queue_->CancelDelayed("a"));
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"b", 3}}));
  // The cancelled add has no effect any more.
  Add(At(-1), {"a"});
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", -1}}));
}

TEST_F(PriorityQueueTest, CancelDelayedLeavesTheRestAsItIs) {
  EXPECT_FALSE(queue_->CancelDelayed("absent"));
  Add({}, {"processing", "both", "queued"});
  Take();
  Take();
  Add(After(kSecond), {"both"});
  EXPECT_FALSE(queue_->CancelDelayed("queued"));
  EXPECT_FALSE(queue_->CancelDelayed("processing"));
  EXPECT_TRUE(queue_->CancelDelayed("both"));
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"queued", 0}}));
  EXPECT_TRUE(queue_->Done("processing"));
  EXPECT_TRUE(queue_->Done("both"));
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_F(PriorityQueueTest, RescheduleMovesWhatWaits) {
  int expected_retries = 0;
  for (int priority : {-5, 0, 5}) {
    Add(At(priority, 5 * kSecond), {"later", "sooner", "now"});
    EXPECT_TRUE(queue_->Reschedule("later", 9 * kSecond));
    EXPECT_TRUE(queue_->Reschedule("sooner", kSecond));
    EXPECT_TRUE(queue_->Reschedule("now", absl::ZeroDuration()));
    expected_retries += 5;
    EXPECT_EQ(retries(), expected_retries);
    // It adds at priority 0, and the highest priority counts.
    const int highest = std::max(priority, 0);
    EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"now", highest}}));
    clock_.Step(kSecond);
    EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"sooner", highest}}));
    clock_.Step(8 * kSecond - kNs);
    EXPECT_EQ(queue_->Len(), 0u);
    clock_.Step(kNs);
    EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"later", highest}}));
  }
}

// Options that a queue with priorities cannot combine are refused by name: see
// AddWithOptionsTest.
TEST_F(PriorityQueueTest, EveryOptionOfAnAdditionCountsWhereverTheItemIs) {
  enum Place { kNowhere, kProcessed, kQueued, kWaitsLong, kWaitsShort };
  const absl::Duration long_wait = 5 * kSecond, short_wait = kSecond / 2;
  for (int choice = 0; choice < 5 * 3 * 2 * 2 * 2; ++choice) {
    const int place = choice % 5, how = choice / 5 % 3;
    const bool was_retry = choice / 15 % 2 == 1;
    AddOptions options;
    if (how > 0) options.after = kSecond;
    options.reschedule = how == 2;
    options.priority = choice / 30 % 2 == 1 ? 10 : -10;
    options.retry = choice / 60 % 2 == 1;
    SCOPED_TRACE(testing::Message()
                 << place << " " << how << " " << was_retry << " "
                 << options.priority << " " << options.retry);
    Make(nullptr);
    AddOptions before = After(place == kWaitsLong    ? long_wait
                              : place == kWaitsShort ? short_wait
                                                     : absl::ZeroDuration());
    before.retry = was_retry;
    if (place != kNowhere) Add(before, {"a"});
    if (place == kProcessed) Take();

    EXPECT_TRUE(Add(options, {"a"}));

    if (place == kProcessed) EXPECT_TRUE(queue_->Done("a"));
    if (how > 0 && place != kQueued) {
      const bool keeps_time = how == 1 && place == kWaitsShort;
      clock_.Step((keeps_time ? short_wait : kSecond) - kNs);
      EXPECT_EQ(queue_->Len(), 0u);
      clock_.Step(kNs);
    }
    const bool merges = place != kNowhere && place != kProcessed;
    const auto lease = queue_->TryAcquire();
    ASSERT_TRUE(lease.ok());
    EXPECT_EQ(lease->priority(),
              merges ? std::max(options.priority, 0) : options.priority);
    EXPECT_EQ(lease->is_retry(), options.retry && (was_retry || !merges));
  }
}

TEST_F(PriorityQueueTest, RescheduleOfWhatDoesNotWaitIsAnAdd) {
  EXPECT_TRUE(queue_->Reschedule("absent", kSecond));
  Add(At(1), {"queued", "processing"});
  EXPECT_TRUE(queue_->Reschedule("queued", absl::Hours(1)));
  EXPECT_EQ(Take(), Taken("queued", 1));
  EXPECT_EQ(Take(), Taken("processing", 1));
  EXPECT_TRUE(queue_->Reschedule("processing", 2 * kSecond));
  EXPECT_TRUE(queue_->Reschedule("processing", 3 * kSecond));
  EXPECT_TRUE(queue_->Reschedule("queued", -kSecond));
  EXPECT_EQ(queue_->Len(), 0u);
  queue_->Done("queued");
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"queued", 0}}));
  queue_->Done("processing");
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"absent", 0}}));
  clock_.Step(kSecond);
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"processing", 0}}));
}

TEST_F(PriorityQueueTest, RescheduleToNever) {
  Add(After(kSecond), {"a"});
  EXPECT_TRUE(queue_->Reschedule("a", absl::InfiniteDuration()));
  clock_.Step(absl::Hours(24 * 365));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_TRUE(queue_->Reschedule("a", kSecond));
  clock_.Step(kSecond);
  EXPECT_EQ(queue_->Len(), 1u);
}

}  // namespace
}  // namespace workqueue::priority_queue_delay_test
