// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A `DelayingQueue` whose items wait on a timing wheel.

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/delaying_queue_fixture.h"
#include "test/workqueue/hooked_queue.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue::delaying_queue_wheel_test {
namespace {

class WheelDelayingQueueTest : public testing::Test {
 protected:
  static constexpr absl::Duration Tick() { return absl::Milliseconds(10); }

  DelayingQueueOptions<int> Options() {
    DelayingQueueOptions<int> options = On<int>(&clock_);
    options.waiting_set = *WaitingSetOptions::TimingWheel(Tick(), /*slots=*/16);
    return options;
  }

  void Settle() { clock_.Step(absl::ZeroDuration()); }

  FakeClock clock_;
  std::atomic<bool> takes_{true};
  const std::unique_ptr<DelayingQueue<int>> owned_ =
      *DelayingQueue<int>::Create(
          std::make_unique<HookedQueue<int>>(
              [this](int) { return takes_.load(); }, &clock_),
          Options());
  DelayingQueue<int>& queue_ = *owned_;
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

// The test records each item's time and compares.
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
        const auto taken = queue_.TakeSnapshot();
        for (const auto& one : taken->waiting) {
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
}  // namespace workqueue::delaying_queue_wheel_test
