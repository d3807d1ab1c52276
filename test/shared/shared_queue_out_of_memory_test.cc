// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A test of a shared queue without memory.

#include <memory>
#include <string>
#include <utility>

#include "absl/base/config.h"
#include "absl/base/log_severity.h"
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

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue
