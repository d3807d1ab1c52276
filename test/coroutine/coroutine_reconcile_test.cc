// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// A build without coroutines has no tests here.
#ifdef __cpp_impl_coroutine

#include "workqueue/controller/coroutine_reconcile.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/coroutine/async_timers.h"
#include "workqueue/coroutine/task.h"
#include "workqueue/thread_pool.h"
#include "workqueue/timers.h"

namespace workqueue::coroutine_reconcile_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kSecond = absl::Seconds(1);
constexpr absl::Duration kMs = absl::Milliseconds(1);

class CoroutineReconcileTest : public testing::Test {
 protected:
  CoroutineReconcileTest() : pool_(NewPool()), timers_(MakeOptions()) {}

  std::unique_ptr<ThreadPool> NewPool() {
    ThreadPoolOptions options;
    options.clock = &clock_;
    options.threads = 1;
    return *ThreadPool::Create(options);
  }

  TimersOptions MakeOptions() {
    TimersOptions options;
    options.clock = &clock_;
    return options;
  }

  // Returns a controller that has been started.
  template <typename F>
  std::unique_ptr<Controller<std::string>> Start(
      F f, absl::Duration timeout = absl::InfiniteDuration()) {
    ControllerOptions<std::string> options;
    options.clock = &clock_;
    options.executor = pool_.get();
    options.max_in_flight = 1000;
    options.reconcile_timeout = timeout;
    options.reconcile_async = CoroutineReconcile<std::string>(std::move(f));
    auto controller = *Controller<std::string>::Create(std::move(options));
    EXPECT_TRUE(controller->Start().ok());
    return controller;
  }

  AsyncTimers Timers(std::stop_token stop = {}) {
    return AsyncTimers(&timers_, pool_.get(), std::move(stop));
  }

  void Note(const std::string& note) {
    internal::MutexLock lock(&mu_);
    notes_.push_back(note);
  }

  std::vector<std::string> Notes() {
    clock_.Step(absl::ZeroDuration());
    internal::MutexLock lock(&mu_);
    return std::exchange(notes_, {});
  }

  FakeClock clock_;
  const std::unique_ptr<ThreadPool> pool_;
  workqueue::Timers timers_;

 private:
  absl::Mutex mu_;
  std::vector<std::string> notes_ ABSL_GUARDED_BY(mu_);
};

TEST_F(CoroutineReconcileTest, ManyItemsWaitOnOneThread) {
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  const auto controller = Start([&](const std::string&) -> Task<absl::Status> {
    ++begun;
    const absl::Status status = co_await Timers().After(kSecond);
    ++ended;
    co_return status;
  });
  for (int i = 0; i < 500; ++i) controller->queue().Add(absl::StrCat(i));
  clock_.Step(absl::ZeroDuration());
  EXPECT_EQ(begun, 500);
  EXPECT_EQ(ended, 0);
  clock_.Step(kSecond);
  controller->AwaitIdle();
  EXPECT_EQ(begun, 500);
  EXPECT_EQ(ended, 500);
}

TEST_F(CoroutineReconcileTest, TheItemExistsUntilTheTaskEnds) {
  const auto controller =
      Start([&](const std::string& item) -> Task<absl::Status> {
        const absl::Status status = co_await Timers().After(kSecond);
        Note(item);
        co_return status;
      });
  controller->queue().Add("an item that owns memory, because it is long");
  clock_.Step(kSecond);
  EXPECT_THAT(Notes(),
              ElementsAre("an item that owns memory, because it is long"));
}

TEST_F(CoroutineReconcileTest, AnErrorIsTriedAgain) {
  int calls = 0;
  const auto controller =
      Start([&](const std::string&, AsyncReconcileContext context,
                std::stop_token) -> Task<absl::Status> {
        ++calls;
        Note(absl::StrCat(context.failures()));
        if (calls == 1) co_return absl::UnavailableError("not yet");
        co_return absl::OkStatus();
      });
  controller->queue().Add("a");
  EXPECT_THAT(Notes(), ElementsAre("0"));
  clock_.Step(5 * kMs);
  EXPECT_THAT(Notes(), ElementsAre("1"));
  clock_.Step(absl::Hours(1));
  EXPECT_THAT(Notes(), IsEmpty());
}

TEST_F(CoroutineReconcileTest, AResultCanAskForAnotherCall) {
  const auto controller = Start(
      [&](const std::string& item) -> Task<absl::StatusOr<ReconcileResult>> {
        Note(item);
        co_return ReconcileResult{/*requeue_after=*/kSecond};
      });
  controller->queue().Add("a");
  EXPECT_THAT(Notes(), ElementsAre("a"));
  clock_.Step(kSecond);
  EXPECT_THAT(Notes(), ElementsAre("a"));
}

TEST_F(CoroutineReconcileTest, ATaskCanReturnAPlainResult) {
  const auto controller =
      Start([&](const std::string& item) -> Task<ReconcileResult> {
        Note(item);
        co_return ReconcileResult();
      });
  controller->queue().Add("a");
  EXPECT_THAT(Notes(), ElementsAre("a"));
  clock_.Step(absl::Hours(1));
  EXPECT_THAT(Notes(), IsEmpty());
}

TEST_F(CoroutineReconcileTest, TheDeadlineRequestsAStop) {
  const auto controller = Start(
      [&](const std::string&, std::stop_token stop) -> Task<absl::Status> {
        const absl::Status status =
            co_await Timers(stop).After(absl::InfiniteDuration());
        Note(status.ToString());
        co_return TerminalError(status);
      },
      /*timeout=*/kSecond);
  controller->queue().Add("a");
  clock_.Step(kSecond - absl::Nanoseconds(1));
  EXPECT_THAT(Notes(), IsEmpty());
  clock_.Step(absl::Nanoseconds(1));
  EXPECT_THAT(Notes(), ElementsAre("CANCELLED: a stop has been requested"));
  controller->AwaitIdle();
}

TEST_F(CoroutineReconcileTest, AControllerThatDoesNotWaitRequestsAStop) {
  const auto controller = Start(
      [&](const std::string&, std::stop_token stop) -> Task<absl::Status> {
        const absl::Status status =
            co_await Timers(stop).After(absl::InfiniteDuration());
        Note(status.ToString());
        co_return status;
      });
  controller->queue().Add("a");
  clock_.Step(absl::ZeroDuration());
  controller->Stop(absl::ZeroDuration());
  EXPECT_THAT(Notes(), ElementsAre("CANCELLED: a stop has been requested"));
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_F(CoroutineReconcileTest, AnExceptionIsAnError) {
  bool first = true;
  const auto controller =
      Start([&](const std::string& item) -> Task<absl::Status> {
        Note(item);
        if (std::exchange(first, false)) throw std::runtime_error("a message");
        co_return absl::OkStatus();
      });
  controller->queue().Add("a");
  EXPECT_THAT(Notes(), ElementsAre("a"));
  clock_.Step(5 * kMs);
  EXPECT_THAT(Notes(), ElementsAre("a"));
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::coroutine_reconcile_test

#endif  // __cpp_impl_coroutine
