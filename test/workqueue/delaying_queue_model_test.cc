// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A delaying queue does as its model does, whatever is asked of it in whatever
// order: here with cancelling and rescheduling, with and without
// `add_supersedes_waiting`, and with a queue below that refuses items.

#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "clock/fake_clock.h"
#include "gtest/gtest.h"
#include "test/workqueue/hooked_queue.h"
#include "test/workqueue/queue_model.h"
#include "workqueue/delaying_queue.h"

namespace workqueue {
namespace {

// With each of five seeds, and each value of the option.
constexpr int kOperations = 30000;

class DelayingQueueModelTest
    : public testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  int Below(int n) { return static_cast<int>(random_() % n); }

  // Few different ones, so that many times are equal; some not positive.
  absl::Duration RandomDelay() {
    const int choice = Below(100);
    if (choice == 0) return absl::InfiniteDuration();
    if (choice == 1) return -absl::InfiniteDuration();
    if (choice < 10) return absl::Nanoseconds(Below(5) - 2);
    return absl::Milliseconds(500 * (Below(40) - 2));
  }

  // Up to 3 seconds, seldom much more.
  absl::Duration RandomStep() {
    const int choice = Below(100);
    if (choice == 0) return absl::Hours(1);
    if (choice < 20) return absl::Nanoseconds(Below(3));
    return absl::Milliseconds(500 * Below(7));
  }

  // One queue's life, of `length` operations on `items` items.
  void LiveOnce(int length, int items);

  // Has the queue and its model do one thing, the same, and checks that they
  // come to the same result.
  void DoOne(DelayingQueue<int>& queue, DelayingQueueModel& model, int item);

  clocks::FakeClock clock_;
  std::mt19937 random_{static_cast<unsigned>(std::get<0>(GetParam()))};
  // By the queue below. Written only while nothing is due.
  std::vector<bool> refused_;
};

INSTANTIATE_TEST_SUITE_P(Seeds, DelayingQueueModelTest,
                         testing::Combine(testing::Range(1, 6),
                                          testing::Bool()),
                         [](const auto& info) {
                           return std::to_string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "AddSupersedes"
                                                           : "");
                         });

void DelayingQueueModelTest::DoOne(DelayingQueue<int>& queue,
                                   DelayingQueueModel& model, int item) {
  const int choice = Below(100);
  if (choice < 22) {
    const absl::Duration delay = RandomDelay();
    EXPECT_EQ(queue.AddAfter(item, delay), model.AddAfter(item, delay))
        << "AddAfter " << item << " " << delay;
  } else if (choice < 37) {
    const absl::Duration delay = RandomDelay();
    EXPECT_EQ(queue.Reschedule(item, delay), model.Reschedule(item, delay))
        << "Reschedule " << item << " " << delay;
  } else if (choice < 45) {
    EXPECT_EQ(queue.CancelDelayed(item), model.CancelDelayed(item))
        << "CancelDelayed " << item;
  } else if (choice < 53) {
    EXPECT_EQ(queue.Add(item), model.Add(item)) << "Add " << item;
  } else if (choice < 56) {
    const int first = Below(static_cast<int>(refused_.size()));
    const bool first_taken = model.Add(first);
    const bool taken = model.Add(item) && first_taken;
    EXPECT_EQ(queue.AddAll({first, item}), taken)
        << "AddAll " << first << ", " << item;
  } else if (choice < 66) {
    const absl::Duration step = RandomStep();
    clock_.Step(step);
    model.Step(step);
  } else if (choice < 82) {
    if (model.Len() > 0 || model.ShuttingDown()) {
      EXPECT_EQ(queue.Get(), model.Get());
    }
  } else if (choice < 98) {
    EXPECT_EQ(queue.Done(item), model.Done(item)) << "Done " << item;
  } else if (choice < 99) {
    const bool refuse = Below(3) == 0;
    refused_[item] = refuse;
    model.SetRefused(item, refuse);
  } else if (Below(5) == 0) {
    // What has not been taken in yet is now: seldom, to have it otherwise too.
    std::map<int, absl::Time> waiting;
    for (const auto& one : queue.TakeSnapshot().waiting) {
      EXPECT_TRUE(waiting.emplace(one.item, one.ready_at).second);
    }
    EXPECT_EQ(waiting, model.Waiting());
  }
  EXPECT_EQ(queue.Len(), model.Len());
}

void DelayingQueueModelTest::LiveOnce(int length, int items) {
  refused_.assign(items, false);
  DelayingQueueOptions<int> options;
  options.clock = &clock_;
  options.add_supersedes_waiting = std::get<1>(GetParam());
  options.queue = std::make_unique<HookedQueue<int>>(
      [this](int item) { return !refused_[item]; });
  DelayingQueue<int> queue(std::move(options));
  DelayingQueueModel model(clock_.TimeNow(), std::get<1>(GetParam()));
  for (int i = 0; i < length; ++i) {
    DoOne(queue, model, Below(items));
    ASSERT_FALSE(HasFailure()) << "in operation " << i << " of a queue";
    if (i == length - length / 20) {
      queue.ShutDown();
      model.ShutDown();
    }
  }
}

TEST_P(DelayingQueueModelTest, AgreesAtEachStep) {
  for (int done = 0; done < kOperations && !HasFailure();) {
    const int length = 1 + Below(10000);
    LiveOnce(length, 1 + Below(Below(2) == 0 ? 4 : 60));
    done += length;
  }
}

}  // namespace
}  // namespace workqueue
