// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The published tests for implementations, with `SharedQueue` on each engine.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/test_engines.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/testing/queue_test_suite.h"

namespace workqueue::shared_queue_suite_test {
namespace {

template <typename Case>
std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const TestEngine& engine : TestEngines()) {
    Case& it = cases.emplace_back();
    it.name = engine.name;
    it.make = [engine](FakeClock* clock) {
      const auto source = engine.make(clock);
      return NewSharedQueue(
          NewSharedQueueOptions<std::string>(clock, source.get()));
    };
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(SharedQueue, QueueTestSuite,
                         testing::ValuesIn(Cases<QueueTestCase>()));
INSTANTIATE_TEST_SUITE_P(SharedQueue, AcquireAsyncTestSuite,
                         testing::ValuesIn(Cases<QueueTestCase>()));
INSTANTIATE_TEST_SUITE_P(SharedQueue, DelayingQueueTestSuite,
                         testing::ValuesIn(Cases<DelayingQueueTestCase>()));

}  // namespace
}  // namespace workqueue::shared_queue_suite_test
