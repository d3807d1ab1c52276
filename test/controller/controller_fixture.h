// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/controller/controller_fixture.h
// -----------------------------------------------------------------------------

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
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/internal/mutex_lock.h"

namespace workqueue {

// ControllerFixture
//
// A fixture with a clock, a log, and a record of reconciliations.
class ControllerFixture : public testing::Test {
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

  static std::unique_ptr<Controller<std::string>> New(
      ControllerOptions<std::string> options) {
    auto controller = Controller<std::string>::Create(std::move(options));
    EXPECT_TRUE(controller.ok()) << controller.status();
    return *std::move(controller);
  }

  // Returns a started controller.
  static std::unique_ptr<Controller<std::string>> Started(
      ControllerOptions<std::string> options) {
    auto controller = New(std::move(options));
    EXPECT_EQ(controller->Start(), absl::OkStatus());
    return controller;
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

  FakeClock clock_;
  const absl::Time start_ = clock_.TimeNow();
  RecordingLog log_;

 private:
  absl::Mutex mu_;
  Notes noted_ ABSL_GUARDED_BY(mu_);
  std::vector<int> priorities_ ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_CONTROLLER_CONTROLLER_FIXTURE_H_
