// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Rate limits of a `PriorityQueue`.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/config.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/priority_queue_fixture.h"
#include "test/workqueue/scripted_limiter.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/priority_queue.h"

namespace workqueue::priority_queue_limiter_test {
namespace {

class PriorityQueueLimiterTest : public PriorityQueueTest {
 protected:
  PriorityQueueLimiterTest() {
    Make(std::make_unique<ScriptedLimiter>(&script_));
  }

  LimiterScript script_;
};

TEST_F(PriorityQueueLimiterTest, TheShorterOfAfterAndTheLimiterCounts) {
  struct {
    absl::Duration after, limited, expected;
  } cases[] = {
      {absl::ZeroDuration(), 2 * kSecond, 2 * kSecond},
      {3 * kSecond, 2 * kSecond, 2 * kSecond},
      {kSecond, 2 * kSecond, kSecond},
      {absl::InfiniteDuration(), 2 * kSecond, 2 * kSecond},
      {kSecond, absl::ZeroDuration(), absl::ZeroDuration()},
      {absl::ZeroDuration(), absl::ZeroDuration(), absl::ZeroDuration()},
      {kSecond, -kSecond, absl::ZeroDuration()},
      {-kSecond, 2 * kSecond, absl::ZeroDuration()},
      {absl::ZeroDuration(), absl::InfiniteDuration(),
       absl::InfiniteDuration()},
  };
  int expected_retries = 0;
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::Message() << c.after << " " << c.limited);
    script_.delays["a"] = c.limited;
    script_.calls.clear();
    EXPECT_TRUE(Add(RateLimited(c.after), {"a"}));
    EXPECT_EQ(script_.calls, Strings{"When a"});
    if (c.expected > absl::ZeroDuration()) {
      ++expected_retries;
      EXPECT_EQ(queue_->Len(), 0u);
      const auto snapshot = *queue_->TakeSnapshot();
      ASSERT_EQ(snapshot.waiting.size(), 1u);
      EXPECT_EQ(snapshot.waiting[0].ready_at, clock_.TimeNow() + c.expected);
      EXPECT_TRUE(queue_->CancelDelayed("a"));
    } else {
      EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 0}}));
    }
    EXPECT_EQ(retries(), expected_retries);
  }
}

TEST_F(PriorityQueueLimiterTest, ADelayThatAnErrorChoseCountsUpToTheMaximum) {
  script_.max_delay = 5 * kSecond;
  struct {
    absl::Duration after, retry_after, expected;
  } cases[] = {
      {absl::ZeroDuration(), 2 * kSecond, 2 * kSecond},
      {absl::ZeroDuration(), 9 * kSecond, 5 * kSecond},
      {absl::ZeroDuration(), absl::InfiniteDuration(), 5 * kSecond},
      {absl::ZeroDuration(), absl::ZeroDuration(), absl::ZeroDuration()},
      {absl::ZeroDuration(), -kSecond, absl::ZeroDuration()},
      {3 * kSecond, 2 * kSecond, 2 * kSecond},
      {kSecond, 2 * kSecond, kSecond},
      {6 * kSecond, 9 * kSecond, 5 * kSecond},
  };
  int expected_retries = 0;
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::Message() << c.after << " " << c.retry_after);
    script_.calls.clear();
    AddOptions options = RateLimited(c.after);
    options.retry_after = c.retry_after;
    options.priority = 7;
    EXPECT_TRUE(Add(options, {"a"}));
    EXPECT_EQ(script_.calls, Strings{"When a"});
    EXPECT_EQ(queue_->NumRequeues("a"), 1);
    if (c.expected > absl::ZeroDuration()) {
      ++expected_retries;
      EXPECT_EQ(queue_->Len(), 0u);
      clock_.Step(c.expected - kNs);
      EXPECT_EQ(queue_->Len(), 0u);
      clock_.Step(kNs);
    }
    EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 7}}));
    EXPECT_EQ(retries(), expected_retries);
  }
}

TEST_F(PriorityQueueLimiterTest, AddRateLimitedAfterCountsAndAddsInTime) {
  script_.delays["a"] = absl::Hours(1);
  EXPECT_TRUE(queue_->AddRateLimitedAfter("a", 30 * kSecond));
  EXPECT_EQ(script_.calls, Strings{"When a"});
  clock_.Step(30 * kSecond - kNs);
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 0}}));
}

TEST_F(PriorityQueueLimiterTest, IsAskedOnceForEachItemAndOnlyIfRateLimited) {
  Add(After(kSecond), {"a"});
  Add({}, {"b"});
  EXPECT_EQ(script_.calls, Strings{});
  Add(RateLimited(), {"a", "b", "a"});
  queue_->AddRateLimited("c");
  EXPECT_EQ(script_.calls, (Strings{"When a", "When b", "When a", "When c"}));
  EXPECT_EQ(queue_->NumRequeues("a"), 2);
  queue_->Forget("a");
  EXPECT_EQ(script_.calls.back(), "Forget a");
}

TEST_F(PriorityQueueLimiterTest, AfterShutDownNothingIsTakenOrAsked) {
  queue_->ShutDown();
  EXPECT_FALSE(Add(RateLimited(), {"a", "b"}));
  EXPECT_FALSE(queue_->AddRateLimited("a"));
  EXPECT_FALSE(queue_->AddRateLimitedAfter("a", kSecond));
  EXPECT_FALSE(queue_->Add("a"));
  EXPECT_FALSE(queue_->AddAll({"a"}));
  EXPECT_FALSE(queue_->AddAfter("a", kSecond));
  EXPECT_FALSE(queue_->AddAfter("a", absl::ZeroDuration()));
  EXPECT_FALSE(queue_->Reschedule("a", kSecond));
  EXPECT_FALSE(queue_->CancelDelayed("a"));
  EXPECT_EQ(script_.calls, Strings{});
  EXPECT_EQ(adds(), 0);
  EXPECT_EQ(retries(), 0);
}

TEST_F(PriorityQueueLimiterTest, NoItemsAreAlwaysTaken) {
  EXPECT_TRUE(Add(RateLimited(), {}));
  EXPECT_TRUE(queue_->AddAll({}));
  EXPECT_EQ(queue_->Len(), 0u);
  queue_->ShutDown();
  EXPECT_TRUE(Add(RateLimited(), {}));
  EXPECT_EQ(script_.calls, Strings{});
}

TEST(PriorityQueueDefaultsTest, TheLimiterIsExponentialFrom5msTo1000s) {
  FakeClock clock;
  PriorityQueue<std::string> queue(On<std::string>(&clock));
  absl::Duration delay = 5 * kMs;
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(queue.NumRequeues("a"), i);
    EXPECT_TRUE(queue.AddRateLimited("a"));
    clock.Step(delay - kNs);
    ASSERT_EQ(queue.Len(), 0u);
    clock.Step(kNs);
    ASSERT_EQ(queue.Get(), "a");
    queue.Done("a");
    delay = std::min(2 * delay, absl::Seconds(1000));
  }
  queue.Forget("a");
  EXPECT_EQ(queue.NumRequeues("a"), 0);
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_F(PriorityQueueLimiterTest, AnItemWhoseAddThrewIsNotInTheQueue) {
  script_.on_when = [](const std::string& item) {
    if (item == "bad") throw 1;
  };
  EXPECT_THROW(queue_->AddRateLimited("bad"), int);
  EXPECT_THROW(queue_->AddRateLimitedAfter("bad", kSecond), int);
  EXPECT_THROW(Add(RateLimited(kSecond), {"bad"}), int);
  EXPECT_TRUE(Add(After(kSecond), {"bad"}));
  EXPECT_THROW(Add(RateLimited(kNs), {"bad"}), int);
  clock_.Step(kSecond - kNs);
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"bad", 0}}));
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::priority_queue_limiter_test
