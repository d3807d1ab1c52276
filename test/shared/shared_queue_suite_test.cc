// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The published tests for implementations, with `SharedQueue`.

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "test/shared/new_shared_queue.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/testing/queue_test_suite.h"

namespace workqueue::shared_queue_suite_test {
namespace {

std::unique_ptr<SharedQueue<std::string>> New(FakeClock* clock) {
  return NewSharedQueue(NewSharedQueueOptions<std::string>(clock));
}

INSTANTIATE_TEST_SUITE_P(SharedQueue, QueueTestSuite,
                         testing::Values(QueueTestCase{"SharedQueue", New}));
INSTANTIATE_TEST_SUITE_P(SharedQueue, AcquireAsyncTestSuite,
                         testing::Values(QueueTestCase{"SharedQueue", New}));
INSTANTIATE_TEST_SUITE_P(SharedQueue, DelayingQueueTestSuite,
                         testing::Values(DelayingQueueTestCase{"SharedQueue",
                                                               New}));

}  // namespace
}  // namespace workqueue::shared_queue_suite_test
