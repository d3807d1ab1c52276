// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of reconciliations that neither succeed nor fail: those that end with
// an error because the controller stops, and those that cannot be done now.

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/controller/controller_fixture.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"

namespace workqueue::give_back_test {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);

class GiveBackTest : public ControllerFixture {
 protected:
  // Returns a controller whose function waits until it is told to stop, and
  // then returns `result`.
  std::unique_ptr<Controller<std::string>> StartedUntilStop(
      absl::StatusOr<ReconcileResult> result) {
    return Started(Options(
        [this, result](const std::string&, const ReconcileContext& context) {
          began_.Notify();
          context.stop.WaitForNotification();
          return result;
        }));
  }

  absl::Notification began_;
};

TEST_P(GiveBackTest, AnErrorAfterTheStopIsNoFailure) {
  const auto controller =
      StartedUntilStop(absl::CancelledError("told to stop"));
  controller->queue().Add("a");
  began_.WaitForNotification();
  EXPECT_FALSE(controller->Stop(absl::ZeroDuration()));
  controller->AwaitIdle();
  EXPECT_EQ(controller->queue().NumRequeues("a"), 0);
  EXPECT_EQ(controller->failures().Numbers()->failing, 0u);
  const auto snapshot = controller->TakeSnapshot();
  ASSERT_EQ(snapshot->queued.size(), 1u) << "it was given back";
  EXPECT_EQ(snapshot->queued[0].item, "a");
  EXPECT_EQ(snapshot->num_waiting, 0u);
}

TEST_P(GiveBackTest, ATerminalErrorAfterTheStopCounts) {
  const auto controller =
      StartedUntilStop(TerminalError(absl::InternalError("broken")));
  controller->queue().Add("a");
  began_.WaitForNotification();
  EXPECT_FALSE(controller->Stop(absl::ZeroDuration()));
  controller->AwaitIdle();
  EXPECT_EQ(controller->TakeSnapshot()->num_queued, 0u);
}

TEST_P(GiveBackTest, ASuccessAfterTheStopCounts) {
  const auto controller = StartedUntilStop(ReconcileResult());
  controller->queue().Add("a");
  began_.WaitForNotification();
  EXPECT_FALSE(controller->Stop(absl::ZeroDuration()));
  controller->AwaitIdle();
  EXPECT_EQ(controller->TakeSnapshot()->num_queued, 0u);
}

TEST_P(GiveBackTest, NotNowKeepsTheFailures) {
  std::atomic<int> calls{0};
  const auto controller = Started(Options(
      [&calls](const std::string&,
               const ReconcileContext&) -> absl::StatusOr<ReconcileResult> {
        switch (++calls) {
          case 1:
            return absl::UnavailableError("later");
          case 2:
            return ReconcileResult::NotNow(5 * kSecond);
          case 3:
            return ReconcileResult::NotNow(absl::ZeroDuration());
          default:
            return ReconcileResult();
        }
      }));
  AddAndAwait(*controller, "a");
  Step(*controller, 5 * absl::Milliseconds(1));
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}, {"a", 5, 1}}));
  EXPECT_EQ(controller->queue().NumRequeues("a"), 1);
  EXPECT_EQ(controller->failures().Numbers()->failing, 1u);

  // Given back, it comes at once.
  Step(*controller, 5 * kSecond);
  EXPECT_EQ(Noted(), (Notes{{"a", 5005, 1}, {"a", 5005, 1}}));
  EXPECT_EQ(controller->queue().NumRequeues("a"), 0);
  EXPECT_EQ(controller->failures().Numbers()->failing, 0u);
}

WORKQUEUE_INSTANTIATE(GiveBackTest);

}  // namespace
}  // namespace workqueue::give_back_test
