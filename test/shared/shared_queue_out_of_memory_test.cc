// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of a shared queue without memory.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "absl/base/config.h"
#include "absl/base/log_severity.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/lease.h"
#include "workqueue/log_sink.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/shared/shared_queue_options.h"
#include "workqueue/shared/testing/memory_engine.h"
#include "workqueue/testing/manual_executor.h"

namespace workqueue {
namespace {

#ifndef ABSL_HAVE_EXCEPTIONS

TEST(SharedQueueOutOfMemoryTest, NeedsExceptions) { GTEST_SKIP(); }

#else

// Keeps the last message that was written without memory.
class ExhaustedLog final : public LogSink {
 public:
  void Log(absl::LogSeverity, absl::string_view message) override {
    if (!std::exchange(CountedHeap::exhausted, false)) return;
    message_ = std::string(message);
    CountedHeap::exhausted = true;
  }
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

// The end of a lease that the engine has not heard is that of its time.
TEST(SharedQueueOutOfMemoryTest, CanBeDestroyed) {
  const std::string key = "a key that no string keeps within itself";
  FakeClock clock;
  MemoryEngine engine(&clock);
  ExhaustedLog log;
  const auto queue_of = [&](const std::string& process) {
    SharedQueueOptions<std::string> options;
    options.name = "pods";
    options.client_name = process;
    options.clock = &clock;
    options.engine = &engine;
    options.log_sink = &log;
    return *SharedQueue<std::string>::Create(std::move(options));
  };
  auto a = queue_of("a");
  ASSERT_TRUE(a->Add(key));
  Lease<std::string> lease = *a->Acquire();
  MemoryEngine::Faults faults;
  faults.away = true;
  engine.SetFaults(faults);
  EXPECT_FALSE(std::move(lease).Done());
  CountedHeap::exhausted = true;
  a.reset();
  CountedHeap::exhausted = false;
  EXPECT_EQ(log.message(),
            "shared queue pods: a message cannot be made; there may be no "
            "memory");
  engine.SetFaults({});
  const auto b = queue_of("b");
  clock.Step(absl::Seconds(40));  // The lease expires, which is a failure.
  clock.Step(absl::Minutes(1));
  ASSERT_EQ(b->Len(), 1u);
  EXPECT_EQ(b->Get(), key);
}

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
