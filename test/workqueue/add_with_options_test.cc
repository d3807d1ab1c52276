// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "ratelimit/item_fast_slow_rate_limiter.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/interfaces.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"

namespace workqueue::add_with_options_test {
namespace {

using Strings = std::vector<std::string>;

constexpr absl::Duration kSecond = absl::Seconds(1);

class AddWithOptionsTest : public testing::Test {
 protected:
  // Returns options of a queue whose limiter delays each item by 3 seconds.
  template <typename Options>
  Options OnTheClock() {
    Options options;
    options.clock = &clock_;
    options.rate_limiter = *ItemFastSlowRateLimiter<std::string>::Create(
        3 * kSecond, 3 * kSecond, /*max_fast_attempts=*/1);
    return options;
  }

  static Strings GetAll(RateLimitingInterface<std::string>& queue) {
    Strings all;
    while (queue.Len() > 0) {
      all.push_back(*queue.Get());
      queue.Done(all.back());
    }
    return all;
  }

  std::vector<RateLimitingInterface<std::string>*> Both() {
    return {&with_priorities_, &without_};
  }

  FakeClock clock_;
  PriorityQueue<std::string> with_priorities_{
      OnTheClock<PriorityQueueOptions<std::string>>()};
  RateLimitingQueue<std::string> without_{
      OnTheClock<RateLimitingQueueOptions<std::string>>()};
};

TEST_F(AddWithOptionsTest, APriorityCountsIfTheQueueHasPriorities) {
  AddOptions high;
  high.priority = 1;
  for (RateLimitingInterface<std::string>* queue : Both()) {
    EXPECT_TRUE(queue->AddWithOptions(AddOptions(), {"a", "b"}));
    EXPECT_TRUE(queue->AddWithOptions(high, {"c"}));
  }
  EXPECT_EQ(GetAll(with_priorities_), (Strings{"c", "a", "b"}));
  EXPECT_EQ(GetAll(without_), (Strings{"a", "b", "c"}));
}

TEST_F(AddWithOptionsTest, DelaysCountForBoth) {
  AddOptions later;
  later.after = kSecond;
  AddOptions limited;
  limited.rate_limited = true;
  for (RateLimitingInterface<std::string>* queue : Both()) {
    EXPECT_TRUE(queue->AddWithOptions(later, {"a"}));
    EXPECT_TRUE(queue->AddWithOptions(limited, {"b"}));
    EXPECT_EQ(GetAll(*queue), Strings());
  }
  clock_.Step(kSecond);
  EXPECT_EQ(GetAll(with_priorities_), Strings{"a"});
  EXPECT_EQ(GetAll(without_), Strings{"a"});
  clock_.Step(2 * kSecond);
  EXPECT_EQ(GetAll(with_priorities_), Strings{"b"});
  EXPECT_EQ(GetAll(without_), Strings{"b"});
}

TEST_F(AddWithOptionsTest, ADelayThatAnErrorChoseCountsForBoth) {
  AddOptions after_two;
  after_two.rate_limited = true;
  after_two.retry_after = 2 * kSecond;
  AddOptions not_limited;
  not_limited.retry_after = 2 * kSecond;
  for (RateLimitingInterface<std::string>* queue : Both()) {
    EXPECT_TRUE(queue->AddWithOptions(not_limited, {"a"}));
    EXPECT_EQ(GetAll(*queue), Strings{"a"}) << "it is ignored";
    EXPECT_TRUE(queue->AddWithOptions(after_two, {"b"}));
    EXPECT_EQ(queue->NumRequeues("a"), 0);
    EXPECT_EQ(queue->NumRequeues("b"), 1);
  }
  clock_.Step(2 * kSecond - absl::Nanoseconds(1));
  EXPECT_EQ(GetAll(with_priorities_), Strings());
  EXPECT_EQ(GetAll(without_), Strings());
  clock_.Step(absl::Nanoseconds(1));
  EXPECT_EQ(GetAll(with_priorities_), Strings{"b"});
  EXPECT_EQ(GetAll(without_), Strings{"b"});
}

TEST_F(AddWithOptionsTest, TellsThatTheQueueTakesNothing) {
  with_priorities_.ShutDown();
  without_.ShutDown();
  for (RateLimitingInterface<std::string>* queue : Both()) {
    EXPECT_FALSE(queue->AddWithOptions(AddOptions(), {"a"}));
    EXPECT_TRUE(absl::IsCancelled(queue->AddItems(AddOptions(), {"a"})));
    EXPECT_TRUE(queue->AddItems(AddOptions(), {}).ok()) << "nothing is lost";
  }
}

TEST_F(AddWithOptionsTest, SeveralItemsAreRescheduled) {
  for (RateLimitingInterface<std::string>* queue : Both()) {
    queue->AddAfter("a", kSecond);
    queue->AddAfter("b", 9 * kSecond);
    EXPECT_TRUE(queue->AddWithOptions(AddOptions::Reschedule(2 * kSecond),
                                      {"a", "b", "c"}));
  }
  clock_.Step(2 * kSecond - absl::Nanoseconds(1));
  for (auto* queue : Both()) EXPECT_EQ(GetAll(*queue), Strings());
  clock_.Step(absl::Nanoseconds(1));
  for (auto* queue : Both()) {
    EXPECT_EQ(GetAll(*queue), (Strings{"a", "b", "c"}));
  }
}

TEST_F(AddWithOptionsTest, ToRescheduleWithoutADelayEndsTheWait) {
  AddOptions now;
  now.reschedule = true;
  for (RateLimitingInterface<std::string>* queue : Both()) {
    queue->AddAfter("a", kSecond);
    EXPECT_TRUE(queue->AddWithOptions(now, {"a"}));
    EXPECT_EQ(GetAll(*queue), Strings{"a"});
    EXPECT_FALSE(queue->CancelDelayed("a"));
  }
}

TEST_F(AddWithOptionsTest, WhatDoesNotCombineIsRefusedByName) {
  AddOptions both = AddOptions::Reschedule(kSecond);
  both.rate_limited = true;
  for (RateLimitingInterface<std::string>* queue : Both()) {
    const absl::Status refused = absl::InvalidArgumentError(
        "reschedule and rate_limited are true; they do not combine");
    EXPECT_EQ(queue->AddItems(both, {"a"}), refused);
    EXPECT_EQ(queue->AddItems(both, {}), refused);
    EXPECT_EQ(queue->NumRequeues("a"), 0);
  }
}

TEST_F(AddWithOptionsTest, ALayerRefusesWhatItDoesNotDo) {
  Queue<std::string> queue;
  EXPECT_EQ(queue.AddItems(AddOptions::After(5 * kSecond), {"a"}),
            absl::InvalidArgumentError(
                "after is 5s; this queue cannot add an item later"));
  const absl::Status no_limiter = absl::InvalidArgumentError(
      "rate_limited is true; this queue has no rate limiter");
  EXPECT_EQ(queue.AddItems(AddOptions::RateLimited(), {"a"}), no_limiter);
  EXPECT_EQ(queue.Len(), 0u);
  EXPECT_TRUE(queue.AddItems(AddOptions::After(-kSecond), {"a"}).ok());
  EXPECT_EQ(queue.Len(), 1u);
  DelayingQueue<std::string> delaying;
  EXPECT_EQ(delaying.AddItems(AddOptions::RateLimited(), {"a"}), no_limiter);
  EXPECT_EQ(delaying.TakeSnapshotUpTo(0)->num_waiting, 0u);
}

}  // namespace
}  // namespace workqueue::add_with_options_test
