// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// A build without coroutines has no tests here.
#ifdef __cpp_impl_coroutine

#include "workqueue/coroutine/spawn.h"

#include <atomic>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/blocking_counter.h"
#include "gtest/gtest.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/coroutine/sync_wait.h"
#include "workqueue/coroutine/task.h"
#include "workqueue/executor.h"
#include "workqueue/testing/manual_executor.h"
#include "workqueue/thread_pool.h"

namespace workqueue::spawn_test {
namespace {

// Sets `*flag` when its body begins.
Task<void> Set(bool* flag, std::shared_ptr<int> /*parameter*/) {
  *flag = true;
  co_return;
}

TEST(SpawnTest, BeginsTheTaskOnTheExecutor) {
  ManualExecutor executor;
  bool begun = false;
  Spawn(&executor, Set(&begun, nullptr));
  EXPECT_FALSE(begun);
  executor.RunAll();
  EXPECT_TRUE(begun);
}

TEST(SpawnTest, CallsTheCallbackWhenTheTaskIsDestroyed) {
  InlineExecutor executor;
  bool begun = false;
  const auto parameter = std::make_shared<int>(0);
  int calls = 0;
  Spawn(&executor, Set(&begun, parameter), [&](absl::Status status) {
    EXPECT_TRUE(status.ok());
    EXPECT_TRUE(begun);
    EXPECT_EQ(parameter.use_count(), 1);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
}

TEST(SpawnTest, ManyTasksRunOnAThreadPool) {
  constexpr int kTasks = 10000;
  const auto pool = *ThreadPool::Create();
  std::atomic<int> sum{0};
  absl::BlockingCounter left(kTasks);
  for (int i = 0; i < kTasks; ++i) {
    Spawn(
        pool.get(),
        [](std::atomic<int>* sum, int i) -> Task<void> {
          *sum += co_await [](int i) -> Task<int> { co_return i % 2; }(i);
        }(&sum, i),
        [&left](absl::Status) { left.DecrementCount(); });
  }
  left.Wait();
  EXPECT_EQ(sum, kTasks / 2);
}

TEST(SpawnTest, AnExecutorThatDropsItsTasksDestroysTheTask) {
  bool begun = false;
  const auto parameter = std::make_shared<int>(0);
  {
    ManualExecutor executor;
    Spawn(&executor, Set(&begun, parameter),
          [parameter](absl::Status) { ADD_FAILURE() << "is called"; });
    EXPECT_EQ(parameter.use_count(), 3);
  }
  EXPECT_EQ(parameter.use_count(), 1);
  EXPECT_FALSE(begun);
}

#ifdef ABSL_HAVE_EXCEPTIONS

Task<void> Throw(std::string message) {
  throw std::runtime_error(message);
  co_return;
}

TEST(SpawnTest, TheCallbackGetsTheException) {
  InlineExecutor executor;
  std::vector<absl::Status> results;
  Spawn(&executor, Throw("a message"),
        [&](absl::Status status) { results.push_back(std::move(status)); });
  EXPECT_EQ(results, std::vector{absl::InternalError("a message")});
}

TEST(SpawnTest, WithoutACallbackTheExecutorGetsTheException) {
  RecordingLog log;
  InlineExecutor executor(&log);
  Spawn(&executor, Throw("a message"));
  ASSERT_EQ(log.messages().size(), 1u);
  EXPECT_NE(log.messages()[0].find("a message"), std::string::npos);
}

TEST(SpawnTest, AnExecutorThatThrowsDestroysTheTask) {
  class ThrowingExecutor final : public Executor {
   public:
    void Execute(absl::AnyInvocable<void() &&>) override {
      throw std::bad_alloc();
    }
  };
  ThrowingExecutor executor;
  bool begun = false;
  const auto parameter = std::make_shared<int>(0);
  EXPECT_THROW(Spawn(&executor, Set(&begun, parameter)), std::bad_alloc);
  EXPECT_EQ(parameter.use_count(), 1);
  EXPECT_FALSE(begun);
}

#endif  // ABSL_HAVE_EXCEPTIONS

TEST(SpawnDeathTest, NeedsAnExecutor) {
  bool begun = false;
  EXPECT_DEATH(Spawn(nullptr, Set(&begun, nullptr)),
               "the executor of Spawn.. is null");
}

TEST(SpawnDeathTest, NeedsATask) {
  ManualExecutor executor;  // Runs nothing.
  EXPECT_DEATH(Spawn(&executor, Task<void>()), "the task of Spawn.. is null");
  EXPECT_DEATH(SyncWait(Task<int>()), "the task of SyncWait.. is null");
}

}  // namespace
}  // namespace workqueue::spawn_test

#endif  // __cpp_impl_coroutine
