// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// A build without coroutines has no tests here.
#ifdef __cpp_impl_coroutine

#include "workqueue/coroutine/task.h"

#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "workqueue/coroutine/sync_wait.h"

namespace workqueue::task_test {
namespace {

static_assert(std::is_nothrow_move_constructible_v<Task<int>>);
static_assert(std::is_nothrow_move_assignable_v<Task<int>>);
static_assert(!std::is_copy_constructible_v<Task<int>>);

Task<int> Return(int value) { co_return value; }

// Sets `*begun` when its body begins.
Task<void> Begin(bool* begun, std::shared_ptr<int> /*parameter*/) {
  *begun = true;
  co_return;
}

// -----------------------------------------------------------------------------
// Results
// -----------------------------------------------------------------------------

TEST(TaskTest, ReturnsItsResult) { EXPECT_EQ(SyncWait(Return(5)), 5); }

TEST(TaskTest, PassesResultsOn) {
  const auto sum = [](int n) -> Task<int> {
    int result = 0;
    for (int i = 1; i <= n; ++i) result += co_await Return(i);
    co_return result;
  };
  EXPECT_EQ(SyncWait(sum(10)), 55);
}

TEST(TaskTest, AResultCanBeMovable) {
  const auto make = []() -> Task<std::unique_ptr<int>> {
    co_return std::make_unique<int>(5);
  };
  const auto pass =
      [](Task<std::unique_ptr<int>> task) -> Task<std::unique_ptr<int>> {
    co_return co_await std::move(task);
  };
  EXPECT_EQ(*SyncWait(pass(make())), 5);
}

TEST(TaskTest, AResultCanBeConverted) {
  const auto make = [](bool ok) -> Task<absl::StatusOr<std::string>> {
    if (!ok) co_return absl::NotFoundError("a key");
    co_return "a string";
  };
  EXPECT_EQ(*SyncWait(make(true)), "a string");
  EXPECT_EQ(SyncWait(make(false)).status(), absl::NotFoundError("a key"));
}

TEST(TaskTest, AResultNeedsNoDefaultConstructor) {
  struct Value {
    explicit Value(int v) : value(v) {}
    int value;
  };
  const auto make = []() -> Task<Value> { co_return Value(5); };
  EXPECT_EQ(SyncWait(make()).value, 5);
}

// -----------------------------------------------------------------------------
// Life
// -----------------------------------------------------------------------------

TEST(TaskTest, BeginsWhenItIsAwaited) {
  bool begun = false;
  Task<void> task = Begin(&begun, nullptr);
  EXPECT_FALSE(begun);
  SyncWait(std::move(task));
  EXPECT_TRUE(begun);
}

TEST(TaskTest, ATaskThatIsNotAwaitedIsDestroyed) {
  bool begun = false;
  auto parameter = std::make_shared<int>(0);
  {
    const Task<void> task = Begin(&begun, parameter);
    EXPECT_EQ(parameter.use_count(), 2);
  }
  EXPECT_EQ(parameter.use_count(), 1);
  EXPECT_FALSE(begun);
}

TEST(TaskTest, AwaitingATaskDestroysIt) {
  const auto await = []() -> Task<void> {
    bool begun = false;
    const auto parameter = std::make_shared<int>(0);
    Task<void> task = Begin(&begun, parameter);
    EXPECT_TRUE(task);
    co_await std::move(task);
    EXPECT_TRUE(begun);
    EXPECT_EQ(parameter.use_count(), 1);
    EXPECT_FALSE(task);  // NOLINT(bugprone-use-after-move)
    co_await Begin(&begun, parameter);
    EXPECT_EQ(parameter.use_count(), 1);
  };
  SyncWait(await());
}

TEST(TaskTest, Moves) {
  bool begun = false;
  auto parameter = std::make_shared<int>(0);
  Task<void> a = Begin(&begun, parameter);
  Task<void> b = std::move(a);
  EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(b);
  b = Begin(&begun, nullptr);
  EXPECT_EQ(parameter.use_count(), 1) << "the first task is destroyed";
  Task<void>& itself = b;  // A name of its own, or compilers warn.
  b = std::move(itself);
  EXPECT_TRUE(b);
  a = std::move(b);
  SyncWait(std::move(a));
  EXPECT_TRUE(begun);
  EXPECT_FALSE(Task<>());
}

TEST(TaskTest, TasksCanBeKept) {
  const auto sum = []() -> Task<int> {
    std::vector<Task<int>> tasks;
    for (int i = 0; i < 100; ++i) tasks.push_back(Return(i));
    int result = 0;
    for (Task<int>& task : tasks) result += co_await std::move(task);
    co_return result;
  };
  EXPECT_EQ(SyncWait(sum()), 4950);
}

// -----------------------------------------------------------------------------
// Exceptions
// -----------------------------------------------------------------------------

#ifdef ABSL_HAVE_EXCEPTIONS

Task<int> Throw(std::string message) {
  throw std::runtime_error(message);
  co_return 0;
}

TEST(TaskTest, AnExceptionReachesTheAwaiter) {
  const auto await = []() -> Task<std::string> {
    std::string caught;
    try {
      co_await Throw("a message");
    } catch (const std::runtime_error& e) {
      caught = e.what();
    }
    co_return caught + co_await
        []() -> Task<std::string> { co_return " and more"; }();
  };
  EXPECT_EQ(SyncWait(await()), "a message and more");
}

TEST(TaskTest, AnExceptionPassesThroughTasks) {
  struct Sets {
    ~Sets() { *flag = true; }
    bool* flag;
  };
  bool destroyed = false;
  const auto pass = [](bool* flag) -> Task<void> {
    const Sets sets{flag};
    co_await Throw("a message");
  };
  const auto outer = [&pass](bool* flag) -> Task<void> {
    co_await pass(flag);
    ADD_FAILURE() << "the task goes on";
  };
  EXPECT_THROW(SyncWait(outer(&destroyed)), std::runtime_error);
  EXPECT_TRUE(destroyed);
}

#endif  // ABSL_HAVE_EXCEPTIONS

// -----------------------------------------------------------------------------
// The stack
// -----------------------------------------------------------------------------

constexpr int kMillion = 1000000;

// Where the stack of this thread is.
ABSL_ATTRIBUTE_NOINLINE intptr_t StackPointer() {
  return reinterpret_cast<intptr_t>(__builtin_frame_address(0));
}

TEST(TaskTest, ALoopNeedsNoStack) {
  const auto loop = []() -> Task<int> {
    int sum = 0;
    for (int i = 0; i < kMillion; ++i) sum += co_await Return(1);
    co_return sum;
  };
  EXPECT_EQ(SyncWait(loop()), kMillion);
}

// Awaits itself, `depth` deep. At the end, `*stack` is where its stack was.
Task<int> Chain(int depth, intptr_t* stack) {
  if (depth == 0) {
    *stack = StackPointer();
    co_return 0;
  }
  const int below = co_await Chain(depth - 1, stack);
  co_return below + 1;
}

TEST(TaskTest, AChainNeedsNoStack) {
  intptr_t shallow = 0;
  intptr_t deep = 0;
  EXPECT_EQ(SyncWait(Chain(1, &shallow)), 1);
  EXPECT_EQ(SyncWait(Chain(kMillion, &deep)), kMillion);
  EXPECT_EQ(deep, shallow);
}

// -----------------------------------------------------------------------------
// Coroutines of other libraries
// -----------------------------------------------------------------------------

// A coroutine that begins at once and is never awaited.
struct Foreign {
  struct promise_type {
    Foreign get_return_object() { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const {}
    void unhandled_exception() const { std::terminate(); }
  };
};

// Something to wait for that knows nothing of tasks.
struct Event {
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiter) { waiting = waiter; }
  void await_resume() const {}

  void Happen() { std::exchange(waiting, nullptr).resume(); }

  std::coroutine_handle<> waiting;
};

// Refers to its operand: gcc 12 copies an awaitable that is no temporary.
struct Wait {
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiter) {
    event->await_suspend(waiter);
  }
  void await_resume() const {}

  Event* event;
};

Task<int> ReturnAfter(Event* event, int value) {
  co_await Wait{event};
  co_return value;
}

TEST(TaskTest, AnyCoroutineCanAwaitATask) {
  int sum = 0;
  const auto loop = [](int* result) -> Foreign {
    for (int i = 0; i < kMillion; ++i) *result += co_await Return(1);
  };
  loop(&sum);
  EXPECT_EQ(sum, kMillion);
}

TEST(TaskTest, ATaskCanAwaitAnything) {
  Event event;
  int sum = 0;
  const auto loop = [](Event* event, int* result) -> Foreign {
    for (int i = 1; i <= 3; ++i) *result += co_await ReturnAfter(event, i);
  };
  loop(&event, &sum);
  EXPECT_EQ(sum, 0);
  event.Happen();
  EXPECT_EQ(sum, 1);
  event.Happen();
  EXPECT_EQ(sum, 3);
  event.Happen();
  EXPECT_EQ(sum, 6);
  EXPECT_EQ(event.waiting, nullptr);
}

// Another coroutine, which awaits a task, is resumed in the middle of a task
// that awaits one, too: neither is forgotten.
TEST(TaskTest, ATaskCanResumeAnotherCoroutine) {
  Event event;
  int inner = 0;
  const auto wait = [](Event* event, int* result) -> Foreign {
    co_await Wait{event};
    *result = co_await Return(5);
  };
  wait(&event, &inner);
  const auto resume = [](Event* event) -> Task<int> {
    event->Happen();
    const int result = co_await Return(7);
    co_return result;
  };
  EXPECT_EQ(SyncWait(resume(&event)), 7);
  EXPECT_EQ(inner, 5);
}

TEST(TaskTest, AChainThatContinuesLaterNeedsNoStack) {
  // The last task of a chain waits, so the others end one after the other.
  struct Links {
    static Task<int> Chain(int depth, Event* event) {
      if (depth == 0) {
        co_await Wait{event};
        co_return 0;
      }
      const int below = co_await Chain(depth - 1, event);
      co_return below + 1;
    }
    static Foreign Run(Event* event, int* result) {
      *result = co_await Chain(kMillion, event);
    }
  };
  Event event;
  int result = 0;
  Links::Run(&event, &result);
  event.Happen();
  EXPECT_EQ(result, kMillion);
}

}  // namespace
}  // namespace workqueue::task_test

#endif  // __cpp_impl_coroutine
