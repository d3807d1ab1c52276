// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The published tests for implementations, with `SharedQueue` in a server and
// in memory.

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "test/shared/new_shared_queue.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/shared/testing/memory_engine.h"
#include "workqueue/testing/queue_test_suite.h"

namespace workqueue::shared_queue_suite_test {
namespace {

std::unique_ptr<SharedQueue<std::string>> New(FakeClock* clock) {
  return NewSharedQueue(NewSharedQueueOptions<std::string>(clock));
}

std::unique_ptr<SharedQueue<std::string>> NewInMemory(FakeClock* clock) {
  MemoryEngine engine(clock);
  return NewSharedQueue(NewSharedQueueOptions<std::string>(clock, &engine));
}

const QueueTestCase kCases[] = {{"SharedQueue", New},
                                {"SharedQueueInMemory", NewInMemory}};

INSTANTIATE_TEST_SUITE_P(SharedQueue, QueueTestSuite,
                         testing::ValuesIn(kCases));
INSTANTIATE_TEST_SUITE_P(SharedQueue, AcquireAsyncTestSuite,
                         testing::ValuesIn(kCases));
INSTANTIATE_TEST_SUITE_P(
    SharedQueue, DelayingQueueTestSuite,
    testing::Values(DelayingQueueTestCase{"SharedQueue", New},
                    DelayingQueueTestCase{"SharedQueueInMemory", NewInMemory}));

}  // namespace
}  // namespace workqueue::shared_queue_suite_test
