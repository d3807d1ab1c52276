// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that every queue of this library fulfils the contract of interfaces.h.

#include "workqueue/interfaces.h"

#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "test/workqueue/contended_queue.h"
#include "test/workqueue/plain_queue.h"
#include "test/workqueue/thread_driven_loop.h"
#include "test/workqueue/watched_fifo.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/testing/queue_test_suite.h"

namespace workqueue::interfaces_test {
namespace {

template <typename Made, typename Options>
std::unique_ptr<Made> Make(FakeClock* clock, Options options = {}) {
  options.clock = clock;
  return std::make_unique<Made>(std::move(options));
}

std::unique_ptr<Queue<std::string>> MakeQueue(FakeClock* clock) {
  return Make<Queue<std::string>, QueueOptions<std::string>>(clock);
}

std::unique_ptr<Queue<std::string>> MakeOrderedQueue(FakeClock* clock) {
  QueueOptions<std::string> options;
  options.ordering = std::make_unique<WatchedFifo<std::string>>();
  return Make<Queue<std::string>>(clock, std::move(options));
}

// A queue with a group for each item hands items out in their order.
std::unique_ptr<Queue<std::string>> MakeFairQueue(FakeClock* clock) {
  QueueOptions<std::string> options;
  options.ordering = *FairOrdering<std::string>::Create(
      [](const std::string& item) { return item; });
  return Make<Queue<std::string>>(clock, std::move(options));
}

std::unique_ptr<ContendedQueue<std::string>> MakeContendedQueue(
    FakeClock* clock) {
  return Make<ContendedQueue<std::string>, QueueOptions<std::string>>(clock);
}

std::unique_ptr<DelayingQueue<std::string>> MakeDelayingQueue(
    FakeClock* clock) {
  return Make<DelayingQueue<std::string>, DelayingQueueOptions<std::string>>(
      clock);
}

std::unique_ptr<DelayingQueue<std::string>> MakeSupersedingQueue(
    FakeClock* clock) {
  DelayingQueueOptions<std::string> options;
  options.add_supersedes_waiting = true;
  return Make<DelayingQueue<std::string>>(clock, std::move(options));
}

std::unique_ptr<RateLimitingQueue<std::string>> MakeRateLimitingQueue(
    FakeClock* clock) {
  return Make<RateLimitingQueue<std::string>,
              RateLimitingQueueOptions<std::string>>(clock);
}

std::unique_ptr<PriorityQueue<std::string>> MakePriorityQueue(
    FakeClock* clock) {
  return Make<PriorityQueue<std::string>, PriorityQueueOptions<std::string>>(
      clock);
}

std::unique_ptr<PriorityQueue<std::string>> MakeOrderedPriorityQueue(
    FakeClock* clock) {
  PriorityQueueOptions<std::string> options;
  options.ordering = std::make_unique<WatchedFifo<std::string>>();
  return Make<PriorityQueue<std::string>>(clock, std::move(options));
}

std::unique_ptr<PlainQueue<std::string>> MakePlainQueue(FakeClock* clock) {
  return Make<PlainQueue<std::string>, QueueOptions<std::string>>(clock);
}

// Returns a queue on a loop that another thread drives.
template <typename Made, typename Options>
std::unique_ptr<Made> MakeDriven(FakeClock* clock) {
  Options options;
  options.clock = NewThreadDrivenLoop(clock);
  return std::make_unique<Made>(std::move(options));
}

constexpr auto* kMakeDrivenDelayingQueue =
    &MakeDriven<DelayingQueue<std::string>, DelayingQueueOptions<std::string>>;
constexpr auto* kMakeDrivenRateLimitingQueue =
    &MakeDriven<RateLimitingQueue<std::string>,
                RateLimitingQueueOptions<std::string>>;
constexpr auto* kMakeDrivenPriorityQueue =
    &MakeDriven<PriorityQueue<std::string>, PriorityQueueOptions<std::string>>;

template <typename TestCase>
std::string NameOf(const testing::TestParamInfo<TestCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    All, QueueTestSuite,
    testing::Values(QueueTestCase{"Queue", MakeQueue},
                    QueueTestCase{"OrderedQueue", MakeOrderedQueue},
                    QueueTestCase{"FairQueue", MakeFairQueue},
                    QueueTestCase{"ContendedQueue", MakeContendedQueue},
                    QueueTestCase{"DelayingQueue", MakeDelayingQueue},
                    QueueTestCase{"RateLimitingQueue", MakeRateLimitingQueue},
                    QueueTestCase{"PriorityQueue", MakePriorityQueue,
                                  /*comes_back_in_order_of_add=*/true},
                    QueueTestCase{"OrderedPriorityQueue",
                                  MakeOrderedPriorityQueue},
                    QueueTestCase{"PlainQueue", MakePlainQueue,
                                  /*comes_back_in_order_of_add=*/false,
                                  /*give_back_keeps_place=*/false}),
    NameOf<QueueTestCase>);

INSTANTIATE_TEST_SUITE_P(
    All, AcquireAsyncTestSuite,
    testing::Values(QueueTestCase{"Queue", MakeQueue},
                    QueueTestCase{"OrderedQueue", MakeOrderedQueue},
                    QueueTestCase{"FairQueue", MakeFairQueue},
                    QueueTestCase{"ContendedQueue", MakeContendedQueue},
                    QueueTestCase{"DelayingQueue", MakeDelayingQueue},
                    QueueTestCase{"SupersedingQueue", MakeSupersedingQueue},
                    QueueTestCase{"RateLimitingQueue", MakeRateLimitingQueue},
                    QueueTestCase{"PriorityQueue", MakePriorityQueue}),
    NameOf<QueueTestCase>);

INSTANTIATE_TEST_SUITE_P(
    All, DelayingQueueTestSuite,
    testing::Values(DelayingQueueTestCase{"DelayingQueue", MakeDelayingQueue},
                    DelayingQueueTestCase{"RateLimitingQueue",
                                          MakeRateLimitingQueue},
                    DelayingQueueTestCase{"PriorityQueue", MakePriorityQueue}),
    NameOf<DelayingQueueTestCase>);

INSTANTIATE_TEST_SUITE_P(
    Driven, QueueTestSuite,
    testing::Values(QueueTestCase{"DelayingQueue", kMakeDrivenDelayingQueue},
                    QueueTestCase{"RateLimitingQueue",
                                  kMakeDrivenRateLimitingQueue},
                    QueueTestCase{"PriorityQueue", kMakeDrivenPriorityQueue,
                                  /*comes_back_in_order_of_add=*/true}),
    NameOf<QueueTestCase>);

INSTANTIATE_TEST_SUITE_P(
    Driven, AcquireAsyncTestSuite,
    testing::Values(QueueTestCase{"DelayingQueue", kMakeDrivenDelayingQueue},
                    QueueTestCase{"RateLimitingQueue",
                                  kMakeDrivenRateLimitingQueue},
                    QueueTestCase{"PriorityQueue", kMakeDrivenPriorityQueue}),
    NameOf<QueueTestCase>);

INSTANTIATE_TEST_SUITE_P(
    Driven, DelayingQueueTestSuite,
    testing::Values(
        DelayingQueueTestCase{"DelayingQueue", kMakeDrivenDelayingQueue},
        DelayingQueueTestCase{"RateLimitingQueue",
                              kMakeDrivenRateLimitingQueue},
        DelayingQueueTestCase{"PriorityQueue", kMakeDrivenPriorityQueue}),
    NameOf<DelayingQueueTestCase>);

}  // namespace
}  // namespace workqueue::interfaces_test
