// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "ratelimit/item_fast_slow_rate_limiter.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/priority_queue.h"
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

  FakeClock clock_;
  PriorityQueue<std::string> with_priorities_{
      OnTheClock<PriorityQueueOptions<std::string>>()};
  RateLimitingQueue<std::string> without_{
      OnTheClock<RateLimitingQueueOptions<std::string>>()};
};

TEST_F(AddWithOptionsTest, APriorityCountsIfTheQueueHasPriorities) {
  AddOptions high;
  high.priority = 1;
  for (RateLimitingInterface<std::string>* queue :
       {static_cast<RateLimitingInterface<std::string>*>(&with_priorities_),
        static_cast<RateLimitingInterface<std::string>*>(&without_)}) {
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
  for (RateLimitingInterface<std::string>* queue :
       {static_cast<RateLimitingInterface<std::string>*>(&with_priorities_),
        static_cast<RateLimitingInterface<std::string>*>(&without_)}) {
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
  for (RateLimitingInterface<std::string>* queue :
       {static_cast<RateLimitingInterface<std::string>*>(&with_priorities_),
        static_cast<RateLimitingInterface<std::string>*>(&without_)}) {
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
  EXPECT_FALSE(with_priorities_.AddWithOptions(AddOptions(), {"a"}));
  EXPECT_FALSE(without_.AddWithOptions(AddOptions(), {"a"}));
}

}  // namespace
}  // namespace workqueue::add_with_options_test
