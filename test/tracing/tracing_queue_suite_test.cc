// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that a TracingQueue fulfils the contract of interfaces.h.

#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "test/tracing/recording_tracer.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/priority_queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/testing/queue_test_suite.h"
#include "workqueue/tracing/tracing_queue.h"

namespace workqueue::tracing_queue_suite_test {
namespace {

template <typename Below, typename Options>
std::unique_ptr<TracingQueue<std::string>> Make(FakeClock* clock) {
  Options below;
  below.clock = clock;
  TracingQueueOptions<std::string> options;
  options.queue = std::make_unique<Below>(std::move(below));
  options.tracers = {std::make_shared<RecordingTracer>()};
  return *TracingQueue<std::string>::Create(std::move(options));
}

constexpr auto* MakeOnRateLimitingQueue =
    &Make<RateLimitingQueue<std::string>,
          RateLimitingQueueOptions<std::string>>;
constexpr auto* MakeOnPriorityQueue =
    &Make<PriorityQueue<std::string>, PriorityQueueOptions<std::string>>;

template <typename TestCase>
std::string NameOf(const testing::TestParamInfo<TestCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    Tracing, QueueTestSuite,
    testing::Values(QueueTestCase{"RateLimitingQueue", MakeOnRateLimitingQueue},
                    QueueTestCase{"PriorityQueue", MakeOnPriorityQueue,
                                  /*comes_back_in_order_of_add=*/true}),
    NameOf<QueueTestCase>);

INSTANTIATE_TEST_SUITE_P(
    Tracing, AcquireAsyncTestSuite,
    testing::Values(QueueTestCase{"RateLimitingQueue", MakeOnRateLimitingQueue},
                    QueueTestCase{"PriorityQueue", MakeOnPriorityQueue}),
    NameOf<QueueTestCase>);

INSTANTIATE_TEST_SUITE_P(
    Tracing, DelayingQueueTestSuite,
    testing::Values(
        DelayingQueueTestCase{"RateLimitingQueue", MakeOnRateLimitingQueue},
        DelayingQueueTestCase{"PriorityQueue", MakeOnPriorityQueue}),
    NameOf<DelayingQueueTestCase>);

}  // namespace
}  // namespace workqueue::tracing_queue_suite_test
