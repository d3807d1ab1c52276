// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of every class with items that can do no more than the class requires,
// and whose operators do something else than they usually do. An item needs
// only a copy constructor, a hash and an equality; a value of a `DelayQueue`
// needs only a move constructor.

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "ratelimit/bucket_rate_limiter.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "ratelimit/item_fast_slow_rate_limiter.h"
#include "ratelimit/max_of_rate_limiter.h"
#include "ratelimit/token_bucket.h"
#include "ratelimit/with_max_wait_rate_limiter.h"
#include "test/workqueue/plain_queue.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/timer/delay_queue.h"

namespace workqueue {
namespace {

// A number whose operators are deleted.
class Hostile {
 public:
  // Nothing converts to it, and it is not assigned or default constructed.
  Hostile() = delete;
  explicit Hostile(int value) : value_(value) {}
  Hostile& operator=(const Hostile&) = delete;

  int value() const { return value_; }

  void operator&() const = delete;  // NOLINT(runtime/operator)
  void operator*() const = delete;
  void operator->() const = delete;
  void operator!() const = delete;
  explicit operator bool() const = delete;

 protected:
  Hostile(const Hostile&) = default;
  ~Hostile() = default;

 private:
  const int value_;
};

template <typename T>
void operator,(const Hostile&, T&&) = delete;
template <typename T>
void operator,(T&&, const Hostile&) = delete;

class Item final : public Hostile {
 public:
  using Hostile::Hostile;
  Item(const Item&) = default;

  friend bool operator==(const Item& a, const Item& b) {
    return a.value() == b.value();
  }
  template <typename H>
  friend H AbslHashValue(H state, const Item& item) {
    return H::combine(std::move(state), item.value());
  }
};

class Value final : public Hostile {
 public:
  using Hostile::Hostile;
  Value(Value&& other) noexcept : Hostile(other.value()) {}
};

// As above, but moving one may throw, and it cannot be copied.
class RiskyValue final : public Hostile {
 public:
  using Hostile::Hostile;
  RiskyValue(RiskyValue&& other) : Hostile(other.value()) {}  // NOLINT
};

static_assert(!std::is_assignable_v<Item&, Item>, "");
static_assert(!std::is_copy_constructible_v<Value>, "");
static_assert(!std::is_nothrow_move_constructible_v<RiskyValue>, "");

const Item kItems[] = {Item(1), Item(2), Item(3)};

template <typename Options>
Options On(FakeClock* clock) {
  Options options;
  options.clock = clock;
  return options;
}

// Calls all functions of `Interface`.
void UseAsQueue(Interface<Item>& queue) {
  EXPECT_TRUE(queue.Add(kItems[0]));
  EXPECT_TRUE(queue.AddAll(kItems));
  EXPECT_EQ(queue.Len(), 3u);
  EXPECT_EQ(queue.TakeSnapshot()->queued.size(), 3u);

  EXPECT_EQ(queue.Get()->value(), 1);
  EXPECT_TRUE(queue.Done(kItems[0]));
  EXPECT_EQ((*queue.TryGet()).value(), 2);
  EXPECT_TRUE(queue.Add(kItems[1]));
  EXPECT_EQ(queue.TakeSnapshot()->processing.size(), 1u);
  EXPECT_TRUE(queue.Done(kItems[1]));
  EXPECT_EQ((*queue.GetWithTimeout(absl::InfiniteDuration())).value(), 3);
  EXPECT_TRUE(queue.Done(kItems[2]));

  {
    absl::StatusOr<Lease<Item>> lease = queue.Acquire();
    EXPECT_EQ((*lease)->value(), 2);
    EXPECT_EQ((**lease).value(), 2);
    lease->GiveBack();
    Lease<Item> next;
    EXPECT_TRUE(queue.AcquireNext(&next).ok());
    EXPECT_EQ(next->value(), 2);
  }
  EXPECT_TRUE(queue.AddAll(kItems));
  absl::StatusOr<LeaseBatch<Item>> batch = queue.AcquireUpTo(3);
  EXPECT_EQ(batch->size(), 3u);
  batch->GiveBack();
  EXPECT_EQ(queue.Len(), 3u);
  while (queue.Len() > 0) queue.Acquire()->Done();
}

// Calls the other functions of `DelayingInterface`.
void UseAsDelayingQueue(DelayingInterface<Item>& queue, FakeClock& clock) {
  EXPECT_TRUE(queue.AddAfter(kItems[0], absl::Seconds(1)));
  EXPECT_TRUE(queue.AddAfter(kItems[1], absl::Seconds(2)));
  EXPECT_TRUE(queue.Reschedule(kItems[0], absl::Seconds(3)));
  EXPECT_TRUE(queue.CancelDelayed(kItems[1]));
  EXPECT_EQ(queue.TakeSnapshot()->waiting.size(), 1u);
  clock.Step(absl::Seconds(3));
  EXPECT_EQ(queue.Get()->value(), 1);
  EXPECT_TRUE(queue.Done(kItems[0]));
}

// Calls the other functions of `RateLimitingInterface`.
void UseAsRateLimitingQueue(RateLimitingInterface<Item>& queue,
                            FakeClock& clock) {
  EXPECT_TRUE(queue.AddRateLimited(kItems[0]));
  EXPECT_EQ(queue.NumRequeues(kItems[0]), 1);
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(queue.Get()->value(), 1);
  queue.Forget(kItems[0]);
  EXPECT_TRUE(queue.Done(kItems[0]));
}

TEST(ItemTypesTest, AQueue) {
  FakeClock clock;
  Queue<Item> queue(On<QueueOptions<Item>>(&clock));
  UseAsQueue(queue);
}

TEST(ItemTypesTest, AQueueWithAFairOrdering) {
  FakeClock clock;
  auto options = On<QueueOptions<Item>>(&clock);
  options.ordering = *FairOrdering<Item, Item>::Create(
      [](const Item&) { return Item(0); }, [](const Item&) { return 1; });
  Queue<Item> queue(std::move(options));
  queue.AddAll(kItems);
  EXPECT_EQ(queue.TakeSnapshot()->queued.size(), 3u);
  for (int i = 1; i <= 3; ++i) EXPECT_EQ((*queue.Acquire())->value(), i);
}

TEST(ItemTypesTest, ADelayingQueue) {
  FakeClock clock;
  for (bool add_supersedes_waiting : {false, true}) {
    auto options = On<DelayingQueueOptions<Item>>(&clock);
    options.add_supersedes_waiting = add_supersedes_waiting;
    DelayingQueue<Item> queue(std::move(options));
    UseAsQueue(queue);
    UseAsDelayingQueue(queue, clock);
  }
}

TEST(ItemTypesTest, ARateLimitingQueue) {
  FakeClock clock;
  RateLimitingQueue<Item> queue(On<RateLimitingQueueOptions<Item>>(&clock));
  UseAsQueue(queue);
  UseAsDelayingQueue(queue, clock);
  UseAsRateLimitingQueue(queue, clock);
}

TEST(ItemTypesTest, APriorityQueue) {
  FakeClock clock;
  PriorityQueue<Item> queue(On<PriorityQueueOptions<Item>>(&clock));
  UseAsDelayingQueue(queue, clock);
  UseAsRateLimitingQueue(queue, clock);
  AddOptions options;
  options.priority = 1;
  EXPECT_TRUE(queue.AddWithOptions(options, kItems));
  EXPECT_EQ(queue.GetWithPriority()->item.value(), 1);
  EXPECT_TRUE(queue.Done(kItems[0]));
  while (queue.Len() > 0) queue.Acquire()->Done();
  EXPECT_TRUE(queue.Add(kItems[0]));
  EXPECT_TRUE(queue.AddAll(kItems));
  EXPECT_EQ(queue.AcquireUpTo(3)->size(), 3u);
}

TEST(ItemTypesTest, AQueueOnQueueBase) {
  FakeClock clock;
  PlainQueue<Item> queue(On<QueueOptions<Item>>(&clock));
  UseAsQueue(queue);
}

TEST(ItemTypesTest, AQueueOnQueueBaseHasTheRealClockUnlessItSaysOtherwise) {
  PlainQueue<Item> queue;
  EXPECT_EQ(queue.QueueBase<Item>::clock(), Clock::GetRealClock());
}

TEST(ItemTypesTest, RateLimiters) {
  FakeClock clock;
  auto exponential = *ItemExponentialFailureRateLimiter<Item>::Create(
      absl::Seconds(1), absl::Seconds(2), /*max_tracked_items=*/2);
  auto fast_slow = *ItemFastSlowRateLimiter<Item>::Create(
      absl::Seconds(1), absl::Seconds(2), /*max_fast_attempts=*/1,
      /*max_tracked_items=*/2);
  auto bucket = *BucketRateLimiter<Item>::Create(
      *TokenBucket::Create(/*rate=*/1, /*burst=*/100, &clock));
  auto all = *MaxOfRateLimiter<Item>::Create(
      std::move(exponential), std::move(fast_slow), std::move(bucket));
  auto limiter =
      *WithMaxWaitRateLimiter<Item>::Create(std::move(all), absl::Seconds(3));
  for (const Item& item : kItems) {
    EXPECT_EQ(limiter->When(item), absl::Seconds(1));
    EXPECT_EQ(limiter->NumRequeues(item), 1);
  }
  limiter->Forget(kItems[2]);
  EXPECT_EQ(limiter->NumRequeues(kItems[2]), 0);
}

TEST(ItemTypesTest, AController) {
  // With a queue with priorities, and with one without.
  for (bool priorities : {true, false}) {
    FakeClock clock;
    int calls = 0;
    auto options = On<ControllerOptions<Item>>(&clock);
    options.reconcile =
        [&calls](const Item& item) -> absl::StatusOr<ReconcileResult> {
      EXPECT_EQ(item.value(), 1);
      if (++calls == 1) return absl::UnavailableError("not yet");
      ReconcileResult result;
      if (calls == 2) result.requeue_after = absl::Seconds(1);
      return result;
    };
    if (!priorities) {
      options.queue = std::make_unique<RateLimitingQueue<Item>>(
          On<RateLimitingQueueOptions<Item>>(&clock));
    }
    auto controller = *Controller<Item>::Create(std::move(options));
    ASSERT_TRUE(controller->Start().ok());
    controller->queue().Add(kItems[0]);
    for (int i = 0; i < 3; ++i) {
      controller->AwaitIdle();
      clock.Step(absl::Seconds(1));
    }
    controller->AwaitIdle();
    EXPECT_EQ(calls, 3);
  }
}

template <typename T>
void UseDelayQueue() {
  FakeClock clock;
  DelayQueue<T> queue(On<DelayQueueOptions>(&clock));
  for (int i = 0; i < 100; ++i) queue.Push(T(i), absl::ZeroDuration());
  EXPECT_TRUE(queue.Cancel(queue.Push(T(-1), absl::Seconds(1))));
  EXPECT_TRUE(
      queue.Reset(queue.Push(T(100), absl::Seconds(1)), absl::ZeroDuration()));
  EXPECT_EQ(queue.Take()->value(), 0);
  EXPECT_EQ((*queue.TryTake()).value(), 1);
  const absl::StatusOr<std::vector<T>> values = queue.TakeUpTo(97);
  EXPECT_EQ(values->size(), 97u);
  queue.ShutDown();
  int next = 99;
  for (auto&& value : queue.Stream()) EXPECT_EQ(value.value(), next++);
  EXPECT_EQ(next, 101);
}

TEST(ItemTypesTest, ADelayQueue) {
  UseDelayQueue<Value>();
  UseDelayQueue<RiskyValue>();
}

}  // namespace
}  // namespace workqueue
