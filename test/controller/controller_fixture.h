// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_CONTROLLER_CONTROLLER_FIXTURE_H_
#define WORKQUEUE_TEST_CONTROLLER_CONTROLLER_FIXTURE_H_

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/thread_pool.h"

namespace workqueue {

// How a test's reconcile function is called.
enum class Workers {
  kThreads,
  kAsync,  // by an asynchronous function, which completes before it returns
};

// Returns an asynchronous function that calls `reconcile`.
template <typename T>
AsyncReconcileFunction<T> MakeAsync(ReconcileFunction<T> reconcile,
                                    Clock* clock) {
  return [reconcile = std::move(reconcile), clock](
             const T& item, const AsyncReconcileContext& context,
             ReconcileCompletion done) {
    const auto stop = std::make_shared<absl::Notification>();
    const absl::Time deadline = clock->TimeNow() + context.Remaining();
    context.OnCancel([stop, clock, deadline] {
      if (clock->TimeNow() < deadline) stop->Notify();
    });
    const auto lost = [&context] { return context.Lost(); };
    done(reconcile(
        item, {context.controller_name(), clock, *stop, deadline,
               context.priority(), context.failures(), context.token(), lost}));
  };
}

// ControllerFixture
//
// A fixture with a clock, a log, and a record of reconciliations. Each test
// runs with each kind of workers.
class ControllerFixture : public testing::TestWithParam<Workers> {
 protected:
  // Reconciliations: the item, the time in milliseconds since the start, and
  // the number of earlier failures.
  using Notes = std::vector<std::tuple<std::string, int, int>>;

  // Returns options with `reconcile`, whose calls are recorded.
  ControllerOptions<std::string> Options(
      ReconcileFunction<std::string> reconcile) {
    ControllerOptions<std::string> options;
    options.name = "test";
    options.clock = &clock_;
    options.log_sink = &log_;
    options.reconcile = [this, reconcile](const std::string& item,
                                          const ReconcileContext& context) {
      {
        internal::MutexLock lock(&mu_);
        noted_.emplace_back(item,
                            (clock_.TimeNow() - start_) / absl::Milliseconds(1),
                            context.failures);
        priorities_.push_back(context.priority);
      }
      return reconcile(item, context);
    };
    return options;
  }

  std::unique_ptr<Controller<std::string>> New(
      ControllerOptions<std::string> options) {
    if (GetParam() == Workers::kAsync && options.reconcile) {
      // The clock of these threads is the real one, so that `FakeClock::Step()`
      // does not wait for a function that waits for the test.
      ThreadPoolOptions pool;
      pool.threads = options.workers;
      pools_.push_back(*ThreadPool::Create(std::move(pool)));
      options.executor = pools_.back().get();
      options.max_in_flight = std::exchange(options.workers, 1);
      options.reconcile_async = MakeAsync(
          std::exchange(options.reconcile, nullptr), options.clock.clock());
    }
    auto controller = Controller<std::string>::Create(std::move(options));
    EXPECT_TRUE(controller.ok()) << controller.status();
    return *std::move(controller);
  }

  // Returns a started controller.
  std::unique_ptr<Controller<std::string>> Started(
      ControllerOptions<std::string> options) {
    auto controller = New(std::move(options));
    EXPECT_EQ(controller->Start(), absl::OkStatus());
    return controller;
  }

  // Adds `item`, and waits until all items that are due have been reconciled.
  static void AddAndAwait(Controller<std::string>& controller,
                          const std::string& item) {
    EXPECT_TRUE(controller.queue().Add(item));
    controller.AwaitIdle();
  }

  // Moves the clock, and waits until all items that are due have been
  // reconciled.
  void Step(Controller<std::string>& controller, absl::Duration d) {
    clock_.Step(d);
    controller.AwaitIdle();
  }

  // Returns the reconciliations since the last call.
  Notes Noted() {
    internal::MutexLock lock(&mu_);
    priorities_.clear();
    return std::exchange(noted_, Notes());
  }

  // Returns the priorities of the reconciliations since the last call.
  std::vector<int> NotedPriorities() {
    internal::MutexLock lock(&mu_);
    noted_.clear();
    return std::exchange(priorities_, std::vector<int>());
  }

  // A reconcile function that does nothing and succeeds.
  static absl::StatusOr<ReconcileResult> Succeed(const std::string&,
                                                 const ReconcileContext&) {
    return ReconcileResult();
  }

  // Returns a reconcile function that fails an item `times` times in a row, and
  // then returns `last`.
  static ReconcileFunction<std::string> FailTimes(
      int times, absl::Status last = absl::OkStatus()) {
    return [times, last](const std::string&, const ReconcileContext& context) {
      return context.failures < times ? absl::UnavailableError("later") : last;
    };
  }

  FakeClock clock_;
  const absl::Time start_ = clock_.TimeNow();
  RecordingLog log_;

 private:
  std::vector<std::unique_ptr<ThreadPool>> pools_;
  absl::Mutex mu_;
  Notes noted_ ABSL_GUARDED_BY(mu_);
  std::vector<int> priorities_ ABSL_GUARDED_BY(mu_);
};

// Runs the tests of the fixture `name`, which derives from `ControllerFixture`.
#define WORKQUEUE_INSTANTIATE(name)                                    \
  INSTANTIATE_TEST_SUITE_P(                                            \
      , name, testing::Values(Workers::kThreads, Workers::kAsync),     \
      [](const testing::TestParamInfo<Workers>& info) {                \
        return std::string(info.param == Workers::kAsync ? "Async"     \
                                                         : "Threads"); \
      })

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_CONTROLLER_CONTROLLER_FIXTURE_H_
