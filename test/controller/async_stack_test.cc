// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of executors that run a task on the stack of the thread that submits
// it. Each item that is done lets the next one begin, and the stack must not
// grow with the number of items.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

#include "absl/base/config.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"

namespace workqueue::async_stack_test {
namespace {

constexpr int kItems = 20000;

// Runs each task before `Execute()` returns.
class NestingExecutor final : public Executor {
 public:
  void Execute(absl::AnyInvocable<void() &&> task) override {
    std::move(task)();
  }
};

#ifdef ABSL_HAVE_EXCEPTIONS
// The library runs each task itself.
class ThrowingExecutor final : public Executor {
 public:
  void Execute(absl::AnyInvocable<void() &&> /*task*/) override {
    throw std::runtime_error("no thread is left");
  }
};
using Executors =
    testing::Types<NestingExecutor, ThrowingExecutor, InlineExecutor>;
#else
using Executors = testing::Types<NestingExecutor, InlineExecutor>;
#endif

template <typename E>
class AsyncStackTest : public testing::Test {
 protected:
  // Called for each item.
  void OnItem() {
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    if (items_++ == 0) lowest_ = highest_ = here;
    lowest_ = std::min(lowest_, here);
    highest_ = std::max(highest_, here);
  }

  void ExpectShortStack() {
    EXPECT_EQ(items_, kItems);
    EXPECT_LT(highest_ - lowest_, 64u * 1024);
  }

  // Acquires items of `queue`, one after the other, until it is empty.
  void AcquireNext(Interface<int>* queue, Lease<int> last) {
    queue->AcquireNextAsync(&last, &executor_,
                            [this, queue](absl::StatusOr<Lease<int>> lease) {
                              if (!lease.ok()) return;
                              OnItem();
                              AcquireNext(queue, *std::move(lease));
                            });
  }

  void AcquireAll(Interface<int>* queue) {
    for (int i = 0; i < kItems; ++i) queue->Add(i);
    AcquireNext(queue, Lease<int>());
    ExpectShortStack();
    queue->ShutDown();
  }

  E executor_;
  int items_ = 0;
  uintptr_t lowest_ = 0, highest_ = 0;
};

TYPED_TEST_SUITE(AsyncStackTest, Executors);

TYPED_TEST(AsyncStackTest, ControllerWhoseReconciliationsCompleteAtOnce) {
  FakeClock clock;
  ControllerOptions<int> options;
  options.clock = &clock;
  options.executor = &this->executor_;
  options.reconcile_async = [this](const int&, const AsyncReconcileContext&,
                                   ReconcileCompletion done) {
    this->OnItem();
    done(absl::OkStatus());
  };
  auto controller = Controller<int>::Create(std::move(options));
  ASSERT_TRUE(controller.ok()) << controller.status();
  for (int i = 0; i < kItems; ++i) (*controller)->queue().Add(i);
  ASSERT_EQ((*controller)->Start(), absl::OkStatus());
  (*controller)->AwaitIdle();
  this->ExpectShortStack();
}

TYPED_TEST(AsyncStackTest, CallbacksOfAQueue) {
  Queue<int> queue;
  this->AcquireAll(&queue);
}

TYPED_TEST(AsyncStackTest, CallbacksOfAPriorityQueue) {
  PriorityQueue<int> queue;
  this->AcquireAll(&queue);
}

}  // namespace
}  // namespace workqueue::async_stack_test
