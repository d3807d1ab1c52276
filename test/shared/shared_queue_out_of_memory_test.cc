// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests in which the first, second, ... allocation of an `AcquireAsync()` of a
// shared queue fails. If it throws, the callback is not there.

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "absl/base/config.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/lease.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/shared/shared_queue_options.h"
#include "workqueue/shared/testing/memory_engine.h"
#include "workqueue/testing/manual_executor.h"

namespace workqueue {
namespace {

#ifndef ABSL_HAVE_EXCEPTIONS

TEST(SharedQueueOutOfMemoryTest, NeedsExceptions) { GTEST_SKIP(); }

#else

// Adds a callback to a new queue. The allocation with the number `failing` of
// this thread fails. Returns whether there is one.
bool AddACallback(size_t partitions, bool closed, int64_t failing) {
  FakeClock clock;
  MemoryEngine engine(&clock);
  ManualExecutor executor;
  SharedQueueOptions<std::string> options;
  options.name = "pods";
  options.clock = &clock;
  options.engine = &engine;
  options.partitions = partitions;
  auto queue = *SharedQueue<std::string>::Create(std::move(options));
  if (closed) queue->Close();
  bool added = false;
  int called = 0;
  CountedHeap::until_failure_here = failing;
  try {
    queue->AcquireAsync(
        &executor,
        [&called](absl::StatusOr<Lease<std::string> >) { ++called; });
    added = true;
  } catch (const std::bad_alloc&) {
  }
  const bool failed = std::exchange(CountedHeap::until_failure_here, 0) == 0;
  queue->Close();
  executor.RunAll();
  EXPECT_EQ(called, added ? 1 : 0);
  queue.reset();
  return failed;
}

// The same for each allocation.
void AddCallbacks(size_t partitions, bool closed) {
  int64_t failing = 1;
  while (AddACallback(partitions, closed, failing)) ++failing;
  EXPECT_GT(failing, 1);
}

TEST(SharedQueueOutOfMemoryTest, ACallback) { AddCallbacks(1, false); }

TEST(SharedQueueOutOfMemoryTest, ACallbackOfAClosedQueue) {
  AddCallbacks(1, true);
}

TEST(SharedQueueOutOfMemoryTest, ACallbackOfPartitions) {
  AddCallbacks(3, false);
}

TEST(SharedQueueOutOfMemoryTest, ACallbackOfClosedPartitions) {
  AddCallbacks(3, true);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue
