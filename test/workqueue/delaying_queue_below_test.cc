// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of a `DelayingQueue` whose queue below refuses items, blocks, or is
// shut down separately.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/delaying_queue_fixture.h"
#include "test/workqueue/lifo.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue::delaying_queue_below_test {
namespace {

// -----------------------------------------------------------------------------
// The queue below
// -----------------------------------------------------------------------------

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
  auto drained = Async([this] { return queue_->ShutDownWithDrain(); });
  EXPECT_EQ(queue_->Get(), std::nullopt);
  below_->Done("a");
  EXPECT_TRUE(drained.get());
}

// If `AddAfter()` returns false while `ShuttingDown()` is false, the caller may
// try again. So both must agree during a shutdown.
TEST_F(DelayingQueueBelowTest, AddAfterFailsInAShutDownOnlyIfThatShows) {
  below_->on_shut_down = [this] {
    if (!queue_->AddAfter("a", absl::Seconds(1))) {
      EXPECT_TRUE(queue_->ShuttingDown());
    }
  };
  queue_->ShutDown();
  EXPECT_TRUE(queue_->ShutDownWithDrain());
}

// A thread that sees a drain may end it, by a shutdown that comes later.
TEST_F(DelayingQueueBelowTest, ADrainShowsOnlyWhenItHasBegunBelow) {
  below_->on_shut_down = [this] { EXPECT_FALSE(queue_->ShuttingDown()); };
  EXPECT_TRUE(queue_->ShutDownWithDrain());
  EXPECT_TRUE(queue_->ShuttingDown());
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

TEST(DelayingQueueOptionsTest, CreateNeedsAQueue) {
  const absl::Status status =
      DelayingQueue<int>::Create(nullptr, DelayingQueueOptions<int>()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "queue is null; the layer above needs a queue");
}

TEST(DelayingQueueOptionsTest, CreateRefusesAnOrderingBesideAQueue) {
  DelayingQueueOptions<int> options;
  options.ordering = *FairOrdering<int, int>::Create([](int) { return 0; });
  const absl::Status status =
      DelayingQueue<int>::Create(std::make_unique<Queue<int>>(),
                                 std::move(options))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "ordering is given, and queue, too; the queue below has an order "
            "of its own");
}

TEST(DelayingQueueOptionsTest, CreateRefusesAQueueOnAnotherClock) {
  FakeClock clock;
  const absl::Status status =
      DelayingQueue<int>::Create(std::make_unique<Queue<int>>(),
                                 On<int>(&clock))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "clock is not that of queue; the layer and the queue below need "
            "the same clock");
}

TEST(DelayingQueueOptionsTest, TheOrderingIsTheQueueBelows) {
  FakeClock clock;
  DelayingQueueOptions<int> options = On<int>(&clock);
  options.ordering = std::make_unique<Lifo<int>>();
  DelayingQueue<int> queue(std::move(options));
  for (int i : {1, 2, 3}) queue.AddAfter(i, absl::Seconds(i));
  clock.Step(absl::Seconds(3));
  EXPECT_EQ(TakeAll(queue), (std::vector<int>{3, 2, 1}));
}

// -----------------------------------------------------------------------------
// When the thread is behind
// -----------------------------------------------------------------------------

// The queue's thread is blocked in the queue below until `go_on_`.
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
    // `Step()` waits for the queue's thread. So another thread calls it.
    stepper_ = Thread([this] { clock_.Step(absl::Seconds(1)); });
    stuck_.WaitForNotification();
  }

  void GoOn() {
    go_on_.Notify();
    stepper_.join();
  }

  absl::Notification stuck_, go_on_;
  Thread stepper_;
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

TEST_F(StuckDelayingQueueTest, AddAfterDoesNotWait) {
  for (int i = 0; i < 3 * kCapacity; ++i) {
    EXPECT_TRUE(queue_->AddAfter(std::to_string(i), absl::Seconds(1)));
  }
  GoOn();
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(queue_->Len(), 3 * kCapacity + 1u);
}

TEST_F(StuckDelayingQueueTest, AddAfterTakesNothingOnceShutDown) {
  for (int i = 0; i < kCapacity; ++i) {
    queue_->AddAfter(std::to_string(i), absl::Seconds(1));
  }
  queue_->ShutDown();
  EXPECT_FALSE(queue_->AddAfter("one too many", absl::Seconds(1)));
  GoOn();
  EXPECT_EQ(queue_->Len(), 0u) << "the item that was stuck came too late";
}

TEST_F(StuckDelayingQueueTest, DestructionWaitsForTheQueueBelow) {
  // Otherwise the thread would use the destroyed queue.
  Thread destroyer([this] { queue_.reset(); });
  GoOn();
  destroyer.join();
}

}  // namespace
}  // namespace workqueue::delaying_queue_below_test
