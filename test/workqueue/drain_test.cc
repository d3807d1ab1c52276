// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of `ShutDownWithDrainWithin()`. interfaces_test.cc and queue_test.cc
// test drains without a timeout, too.

#include <cstddef>
#include <future>  // NOLINT(build/c++11)
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/every_queue.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/lease.h"
#include "workqueue/testing/thread.h"

namespace workqueue::drain_test {
namespace {

constexpr absl::Duration kNs = absl::Nanoseconds(1);
constexpr absl::Duration kFiveSeconds = absl::Seconds(5);

class DrainTest : public EveryQueueTest {
 protected:
  DrainTest() { clock_.Step(absl::Hours(1)); }

  static std::vector<absl::Duration> NoTime() {
    return {-absl::InfiniteDuration(), -absl::Hours(2), -kNs,
            absl::ZeroDuration()};
  }

  // Starts a drain on another thread, and returns when it waits.
  std::future<bool> StartDrain(absl::Duration timeout) {
    const size_t others = NumWaiters();
    auto drained = Async(
        [this, timeout] { return queue_->ShutDownWithDrainWithin(timeout); });
    AwaitWaiters(others + 1);
    return drained;
  }

  // Adds `item` and gets it.
  void AddAndGet(const std::string& item) {
    EXPECT_TRUE(queue_->Add(item));
    EXPECT_EQ(queue_->Get(), item);
  }

  // Checks that `drained` ends at its timeout, after 5 seconds, and not
  // earlier.
  void ExpectEndsAtItsTimeout(std::future<bool>& drained) {
    clock_.Step(absl::Seconds(5) - kNs);
    EXPECT_EQ(NumWaiters(), 1u);
    clock_.Step(kNs);
    EXPECT_EQ(NumWaiters(), 0u);
    EXPECT_FALSE(drained.get());
  }

  // Checks that the queue is shut down.
  void ExpectShutDown() {
    EXPECT_TRUE(queue_->ShuttingDown());
    EXPECT_FALSE(queue_->Add("new"));
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, DrainTest, testing::ValuesIn(EveryQueueKind()),
                         NameOfQueueKind);

TEST_P(DrainTest, IsTrueAtOnceIfTheQueueIsIdle) {
  AddAndGet("a");
  queue_->Done("a");
  for (absl::Duration timeout : NoTime()) {
    EXPECT_TRUE(queue_->ShutDownWithDrainWithin(timeout));
    ExpectShutDown();
  }
  EXPECT_TRUE(queue_->ShutDownWithDrainWithin(kFiveSeconds));
  EXPECT_TRUE(queue_->ShutDownWithDrainWithin(absl::InfiniteDuration()));
}

TEST_P(DrainTest, APastDeadlineDoesNotBlockOnWhatIsInFlight) {
  AddAndGet("a");
  for (absl::Duration timeout : NoTime()) {
    EXPECT_FALSE(queue_->ShutDownWithDrainWithin(timeout));
    ExpectShutDown();
  }
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_TRUE(queue_->ShutDownWithDrainWithin(absl::ZeroDuration()));
}

TEST_P(DrainTest, APastDeadlineDoesNotBlockOnWhatIsQueued) {
  queue_->Add("a");
  for (absl::Duration timeout : NoTime()) {
    EXPECT_FALSE(queue_->ShutDownWithDrainWithin(timeout));
    ExpectShutDown();
  }
  EXPECT_EQ(queue_->Get(), "a");
}

TEST_P(DrainTest, IsTrueWhenAllIsDoneBeforeTheDeadline) {
  AddAndGet("a");
  AddAndGet("b");
  auto drained = StartDrain(kFiveSeconds);
  ExpectShutDown();
  clock_.Step(absl::Seconds(5) - kNs);
  EXPECT_TRUE(queue_->Done("b"));
  EXPECT_EQ(NumWaiters(), 1u);
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_TRUE(drained.get());
  EXPECT_EQ(NumWaiters(), 0u);
}

TEST_P(DrainTest, IsFalseAtTheDeadlineIfSomethingIsInFlight) {
  AddAndGet("a");
  auto drained = StartDrain(kFiveSeconds);
  ExpectEndsAtItsTimeout(drained);
  ExpectShutDown();
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_TRUE(queue_->ShutDownWithDrainWithin(absl::ZeroDuration()));
}

TEST_P(DrainTest, IsFalseAtTheDeadlineIfSomethingIsLeased) {
  queue_->Add("a");
  Lease<std::string> lease = *queue_->Acquire();
  auto drained = StartDrain(kFiveSeconds);
  ExpectEndsAtItsTimeout(drained);
  lease.Done();
  EXPECT_TRUE(queue_->ShutDownWithDrainWithin(absl::ZeroDuration()));
}

TEST_P(DrainTest, IsFalseAtTheDeadlineIfSomethingIsQueued) {
  queue_->Add("a");
  queue_->Add("b");
  auto drained = StartDrain(kFiveSeconds);
  ExpectEndsAtItsTimeout(drained);
  ExpectShutDown();
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_EQ(queue_->Get(), "a") << "it is still handed out";
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_EQ(*queue_->TryGet(), "b");
  EXPECT_TRUE(queue_->Done("b"));
  EXPECT_EQ(queue_->Get(), std::nullopt);
  EXPECT_TRUE(queue_->ShutDownWithDrainWithin(absl::ZeroDuration()));
}

// The item was added again while it was processed, so it is queued again.
TEST_P(DrainTest, WaitsForWhatComesBack) {
  AddAndGet("a");
  queue_->Add("a");
  auto drained = StartDrain(kFiveSeconds);
  EXPECT_TRUE(queue_->Done("a"));
  clock_.Step(absl::Seconds(5) - kNs);
  EXPECT_EQ(NumWaiters(), 1u);
  EXPECT_EQ(queue_->Get(), "a");
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_TRUE(drained.get());
}

TEST_P(DrainTest, ALeaseThatGoesEndsIt) {
  queue_->Add("a");
  queue_->Add("b");
  auto leases = *queue_->AcquireUpTo(2);
  auto drained = StartDrain(kFiveSeconds);
  leases.back().Done();
  clock_.Step(absl::Seconds(5) - kNs);
  EXPECT_EQ(NumWaiters(), 1u);
  leases.Done();
  EXPECT_TRUE(drained.get());
}

TEST_P(DrainTest, ShutDownEndsIt) {
  AddAndGet("a");
  auto first = StartDrain(kFiveSeconds);
  auto second = StartDrain(kFiveSeconds);
  queue_->ShutDown();
  EXPECT_FALSE(first.get());
  EXPECT_FALSE(second.get());
  EXPECT_EQ(NumWaiters(), 0u) << "before its timeout";
  EXPECT_TRUE(queue_->Done("a"));
}

TEST_P(DrainTest, AnEarlierShutDownDoesNotEndIt) {
  AddAndGet("a");
  queue_->ShutDown();
  auto drained = StartDrain(kFiveSeconds);
  ExpectEndsAtItsTimeout(drained);
}

TEST_P(DrainTest, AnotherDrainDoesNotEndIt) {
  AddAndGet("a");
  auto later = StartDrain(absl::Seconds(6));
  auto sooner = StartDrain(kFiveSeconds);
  EXPECT_FALSE(queue_->ShutDownWithDrainWithin(absl::ZeroDuration()));
  clock_.Step(absl::Seconds(5));
  EXPECT_FALSE(sooner.get());
  EXPECT_EQ(NumWaiters(), 1u);
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_TRUE(later.get());
}

TEST_P(DrainTest, DrainsWithAndWithoutADeadline) {
  AddAndGet("a");
  auto patient = Async([this] { return queue_->ShutDownWithDrain(); });
  EXPECT_EQ(queue_->Get(), std::nullopt) << "it has begun";
  auto hurried = StartDrain(kFiveSeconds);
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_TRUE(patient.get());
  EXPECT_TRUE(hurried.get());
}

TEST_P(DrainTest, ASpuriousDoneDoesNotEndIt) {
  AddAndGet("a");
  queue_->Add("queued");
  auto drained = StartDrain(kFiveSeconds);
  EXPECT_FALSE(queue_->Done("never added"));
  EXPECT_FALSE(queue_->Done("queued"));
  ExpectEndsAtItsTimeout(drained);
}

TEST_P(DrainTest, ADoubledDoneDoesNotEndIt) {
  for (const char* item : {"a", "b", "c"}) AddAndGet(item);
  auto drained = StartDrain(kFiveSeconds);
  EXPECT_TRUE(queue_->Done("a"));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(queue_->Done("a"));
  EXPECT_TRUE(queue_->Done("b"));
  EXPECT_FALSE(queue_->Done("b"));
  clock_.Step(absl::Seconds(5) - kNs);
  EXPECT_EQ(NumWaiters(), 1u);
  EXPECT_TRUE(queue_->Done("c"));
  EXPECT_TRUE(drained.get());
}

TEST_P(DrainTest, ADoneBeforeItIsNotCounted) {
  AddAndGet("a");
  AddAndGet("b");
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_FALSE(queue_->Done("a"));
  auto drained = StartDrain(kFiveSeconds);
  ExpectEndsAtItsTimeout(drained);
}

TEST_P(DrainTest, ADoubledDoneOfALeaseDoesNotEndIt) {
  queue_->Add("a");
  queue_->Add("b");
  Lease<std::string> a = *queue_->Acquire();
  const Lease<std::string> b = *queue_->Acquire();
  auto drained = StartDrain(kFiveSeconds);
  a.Done();
  a.Done();
  ExpectEndsAtItsTimeout(drained);
}

TEST_P(DrainTest, DoneByValueOfALeasedItemDoesNotEndIt) {
  if (kind_.plain) GTEST_SKIP() << "it cannot tell a lease";
  queue_->Add("a");
  const Lease<std::string> lease = *queue_->Acquire();
  auto drained = StartDrain(kFiveSeconds);
  EXPECT_FALSE(queue_->Done("a"));
  ExpectEndsAtItsTimeout(drained);
}

TEST_P(DrainTest, WakesThoseWhoWaitForAnItem) {
  AddAndGet("a");
  auto patient = Async([this] { return queue_->Get(); });
  AwaitBlocked(1);
  auto hurried =
      Async([this] { return queue_->GetWithTimeout(absl::Hours(2)); });
  AwaitWaiters(1);
  EXPECT_FALSE(queue_->ShutDownWithDrainWithin(absl::ZeroDuration()));
  EXPECT_EQ(patient.get(), std::nullopt);
  EXPECT_EQ(hurried.get().status().code(), absl::StatusCode::kCancelled);
}

TEST(DrainOfADelayingQueueTest, DoesNotWaitForWhatWaits) {
  FakeClock clock;
  DelayingQueueOptions<std::string> options;
  options.clock = &clock;
  DelayingQueue<std::string> queue(std::move(options));
  queue.AddAfter("a", absl::Seconds(1));
  EXPECT_TRUE(queue.ShutDownWithDrainWithin(absl::ZeroDuration()));
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(queue.Len(), 0u);
}

}  // namespace
}  // namespace workqueue::drain_test
