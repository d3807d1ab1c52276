// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Fixtures and helpers for the tests of `DelayingQueue`.

#ifndef WORKQUEUE_TEST_WORKQUEUE_DELAYING_QUEUE_FIXTURE_H_
#define WORKQUEUE_TEST_WORKQUEUE_DELAYING_QUEUE_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/hooked_queue.h"
#include "test/workqueue/observed_clock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/interfaces.h"

namespace workqueue {

using Strings = std::vector<std::string>;

inline constexpr absl::Duration kNs = absl::Nanoseconds(1);
inline constexpr absl::Duration kMs = absl::Milliseconds(1);

template <typename T>
DelayingQueueOptions<T> On(Clock* clock) {
  DelayingQueueOptions<T> options;
  options.clock = clock;
  return options;
}

// Gets all queued items, and calls `Done()` for each.
template <typename T>
std::vector<T> TakeAll(Interface<T>& queue) {
  std::vector<T> items;
  while (queue.Len() > 0) {
    items.push_back(*queue.Get());
    EXPECT_TRUE(queue.Done(items.back()));
  }
  return items;
}

class DelayingQueueTest : public testing::Test {
 protected:
  // Returns when the queue's thread has taken in all items added so far.
  void Settle() { clock_.Step(absl::ZeroDuration()); }

  FakeClock clock_;
  DelayingQueue<std::string> queue_{On<std::string>(&clock_)};
};

// A delaying queue on a clock that observes its thread.
class DelayingQueueThreadTest : public testing::Test {
 protected:
  void Settle() { fake_.Step(absl::ZeroDuration()); }

  FakeClock fake_;
  ObservedClock clock_{&fake_};
  DelayingQueue<std::string> queue_{On<std::string>(&clock_)};
};

// A delaying queue on a queue below that calls `on_add_` for each item.
class DelayingQueueBelowTest : public testing::Test {
 protected:
  void SetUp() override {
    auto below = std::make_unique<HookedQueue<std::string>>(
        [this](const std::string& item) { return on_add_(item); }, &clock_);
    below_ = below.get();
    queue_ = *DelayingQueue<std::string>::Create(std::move(below),
                                                 On<std::string>(&clock_));
    Settle();
  }

  void Settle() { clock_.Step(absl::ZeroDuration()); }

  FakeClock clock_;
  HookedQueue<std::string>::OnAdd on_add_ = [](const std::string&) {
    return true;
  };
  HookedQueue<std::string>* below_ = nullptr;
  std::unique_ptr<DelayingQueue<std::string>> queue_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_DELAYING_QUEUE_FIXTURE_H_
