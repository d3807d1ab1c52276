// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests many threads on a delay queue, on the real clock. Each value pushed is
// either cancelled or taken once, and not before its time. No thread stays
// blocked.

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <random>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/clock/clock.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue::delay_queue_stress_test {
namespace {

// The history of one value.
struct Fate {
  std::atomic<int> taken{0};
  std::atomic<bool> cancelled{false};
};

struct Value {
  Fate* fate;
  absl::Time not_before;
};

constexpr int kPushers = 3;
constexpr int kTakers = 3;
constexpr int kEach = 5000;

absl::Duration RandomDelay(std::mt19937& random) {
  return absl::Microseconds(random() % 3000);
}

class DelayQueueStressTest : public testing::TestWithParam<bool> {
 protected:
  static DelayQueueOptions Options() {
    DelayQueueOptions options;
    if (GetParam()) {
      options.waiting_set =
          *WaitingSetOptions::TimingWheel(absl::Microseconds(100), /*slots=*/8);
    }
    return options;
  }

  void Take(Value value) {
    EXPECT_GE(clock_->TimeNow(), value.not_before);
    ++value.fate->taken;
    --left_;
  }

  // Takes values in all possible ways until the queue is shut down.
  void TakeUntilShutDown(int seed) {
    std::mt19937 random(seed);
    while (true) {
      if (random() % 3 == 0) {
        absl::StatusOr<std::unique_ptr<Value>> value =
            queue_.TakeWithTimeout(RandomDelay(random));
        if (value.ok()) Take(**value);
      } else if (random() % 3 == 0) {
        auto values = queue_.TakeUpTo(1 + random() % 10);
        if (!values.ok()) return;
        for (const auto& value : *values) Take(*value);
      } else {
        std::optional<std::unique_ptr<Value>> value = queue_.Take();
        if (!value.has_value()) return;
        Take(**value);
      }
    }
  }

  // Pushes values, and cancels and postpones some of them.
  void Push(std::vector<Fate>& fates, int seed) {
    std::mt19937 random(seed);
    std::vector<DelayQueueHandle> handles;
    for (Fate& fate : fates) {
      const absl::Duration delay = RandomDelay(random);
      handles.push_back(queue_.Push(
          std::make_unique<Value>(Value{&fate, clock_->TimeNow() + delay}),
          delay));
      const size_t any = random() % handles.size();
      switch (random() % 8) {
        case 0:
          if (queue_.Cancel(handles[any])) {
            EXPECT_FALSE(fates[any].cancelled.exchange(true));
            --left_;
          }
          break;
        case 1:
          // The new time must not be earlier than the old one, because the
          // value stores the old one.
          queue_.Reset(handles[any], absl::Milliseconds(3));
          break;
        case 2:
          std::this_thread::yield();
      }
    }
  }

  Clock* const clock_ = Clock::GetRealClock();
  DelayQueue<std::unique_ptr<Value>> queue_{Options()};
  std::atomic<int> left_{kPushers * kEach};
};

INSTANTIATE_TEST_SUITE_P(WaitingSets, DelayQueueStressTest, testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "TimingWheel" : "Heap";
                         });

TEST_P(DelayQueueStressTest, EachValueIsTakenOnceOrCancelled) {
  std::vector<std::vector<Fate>> fates;
  for (int i = 0; i < kPushers; ++i) fates.emplace_back(kEach);
  std::vector<Thread> threads;
  for (int i = 0; i < kPushers; ++i) {
    threads.emplace_back([&, i] { Push(fates[i], i); });
  }
  for (int i = 0; i < kTakers; ++i) {
    threads.emplace_back([&, i] { TakeUntilShutDown(100 + i); });
  }
  while (left_ > 0) std::this_thread::yield();
  EXPECT_EQ(queue_.Len(), 0u);
  queue_.ShutDown();
  for (Thread& thread : threads) thread.join();
  for (const std::vector<Fate>& some : fates) {
    for (const Fate& fate : some) {
      EXPECT_EQ(fate.taken, fate.cancelled ? 0 : 1);
    }
  }
}

TEST_P(DelayQueueStressTest, ShutDownLeavesNoThreadBlocked) {
  std::vector<std::vector<Fate>> fates;
  for (int i = 0; i < kPushers; ++i) fates.emplace_back(kEach);
  std::vector<Thread> threads;
  for (int i = 0; i < kPushers; ++i) {
    threads.emplace_back([&, i] { Push(fates[i], i); });
  }
  for (int i = 0; i < kTakers; ++i) {
    threads.emplace_back([&, i] { TakeUntilShutDown(100 + i); });
  }
  while (left_ > kPushers * kEach / 2) std::this_thread::yield();
  queue_.ShutDown();
  for (Thread& thread : threads) thread.join();
  EXPECT_FALSE(queue_.TryTake().ok());
  for (const std::vector<Fate>& some : fates) {
    for (const Fate& fate : some) {
      EXPECT_LE(fate.taken, fate.cancelled ? 0 : 1);
    }
  }
}

}  // namespace
}  // namespace workqueue::delay_queue_stress_test
