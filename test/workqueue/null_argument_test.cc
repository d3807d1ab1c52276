// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// An executor, a loop or a function that is null, where a call needs one and
// cannot return an error, ends the program in that call. Otherwise a task would
// never run, or another thread would crash later.

#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/every_queue.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/loop_executor.h"
#include "workqueue/testing/manual_executor.h"
#include "workqueue/thread_pool.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timers.h"

namespace workqueue::null_argument_test {
namespace {

TEST(NullArgumentDeathTest, EndsTheProgramAtOnceWithItsName) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  FakeClock clock;
  const auto loop = std::make_shared<WaitingLoop>(&clock, [] {});
  InlineExecutor inline_executor;
  LoopExecutor loop_executor(loop);
  ManualExecutor manual_executor;
  const auto pool = *ThreadPool::Create();
  for (Executor* executor : {static_cast<Executor*>(&inline_executor),
                             static_cast<Executor*>(&loop_executor),
                             static_cast<Executor*>(&manual_executor),
                             static_cast<Executor*>(pool.get())}) {
    EXPECT_DEATH(executor->Execute(nullptr), "the task of Execute.. is null");
  }

  Executor* const executor = &inline_executor;
  Timers timers;
  EXPECT_DEATH(
      timers.CallAfter(absl::ZeroDuration(), nullptr, [](absl::Status) {}),
      "the executor of CallAfter.. is null");
  EXPECT_DEATH(timers.CallAfter(absl::ZeroDuration(), executor, nullptr),
               "the callback of CallAfter.. is null");

  EXPECT_DEATH(DelayQueue<int>({}, absl::AnyInvocable<void(int)>()),
               "the function of a DelayQueue is null");

  EXPECT_DEATH(LoopExecutor(nullptr), "the loop of a LoopExecutor is null");

  const auto callback = [](absl::StatusOr<Lease<std::string>>) {};
  for (const QueueKind& kind : EveryQueueKind()) {
    const std::unique_ptr<Interface<std::string>> queue = kind.make({});
    EXPECT_DEATH(queue->AcquireAsync(nullptr, callback),
                 "the executor of AcquireAsync.. is null");
    EXPECT_DEATH(queue->AcquireAsync(executor, nullptr),
                 "the callback of AcquireAsync.. is null");
  }
}

}  // namespace
}  // namespace workqueue::null_argument_test
