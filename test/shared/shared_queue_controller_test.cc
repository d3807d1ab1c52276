// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Controllers of several processes on one `SharedQueue`, as far as one process
// can show it.

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/new_shared_queue.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/shared/shared_queue.h"

namespace workqueue::shared_queue_controller_test {
namespace {

class SharedQueueControllerTest : public testing::Test {
 protected:
  static constexpr int kItems = 200;

  std::unique_ptr<SharedQueue<std::string>> NewClient() {
    auto options = NewSharedQueueOptions<std::string>(&clock_);
    options.name = name_;
    return NewSharedQueue(std::move(options));
  }

  std::unique_ptr<Controller<std::string>> NewController(
      ReconcileFunction<std::string> reconcile) {
    ControllerOptions<std::string> options;
    options.queue = NewClient();
    options.workers = 4;
    options.reconcile = std::move(reconcile);
    auto controller = Controller<std::string>::Create(std::move(options));
    EXPECT_TRUE(controller.ok()) << controller.status();
    EXPECT_TRUE((*controller)->Start().ok());
    return *std::move(controller);
  }

  FakeClock clock_;
  const std::string name_ = NewQueueName();
};

TEST_F(SharedQueueControllerTest, EachItemIsReconciledByOneOfThem) {
  std::vector<std::atomic<int>> reconciled(kItems), by(2);
  const auto reconcile_by = [&](int i) {
    return [&, i](const std::string& item, const ReconcileContext&) {
      ++reconciled[std::stoi(item)];
      ++by[i];
      return absl::OkStatus();
    };
  };
  const auto first = NewController(reconcile_by(0));
  const auto second = NewController(reconcile_by(1));
  for (int i = 0; i < kItems; ++i) {
    EXPECT_TRUE((i % 2 == 0 ? first : second)->queue().Add(absl::StrCat(i)));
  }
  EXPECT_TRUE(first->queue().ShutDownWithDrain());
  EXPECT_TRUE(first->Stop());
  EXPECT_TRUE(second->Stop());
  for (int i = 0; i < kItems; ++i) EXPECT_EQ(reconciled[i], 1) << i;
  EXPECT_EQ(by[0] + by[1], kItems);
}

TEST_F(SharedQueueControllerTest, AnotherOneTriesAgainWhatFails) {
  std::atomic<int> failures{0};
  auto failing =
      NewController([&](const std::string&, const ReconcileContext& context) {
        failures = context.failures + 1;
        return absl::UnavailableError("not here");
      });
  failing->queue().Add("x");
  while (failures < 3) clock_.Step(absl::Seconds(1));
  failing->Stop();
  failing.reset();

  const auto queue = NewClient();
  EXPECT_GE(queue->NumRequeues("x"), 3);
  std::atomic<bool> done{false};
  const auto good = NewController(
      [&](const std::string& item, const ReconcileContext& context) {
        EXPECT_EQ(item, "x");
        EXPECT_GE(context.failures, 3);
        done = true;
        return absl::OkStatus();
      });
  clock_.Step(absl::Seconds(1000));
  EXPECT_TRUE(queue->ShutDownWithDrain());
  good->Stop();
  EXPECT_TRUE(done);
  EXPECT_EQ(queue->NumRequeues("x"), 0);
}

TEST_F(SharedQueueControllerTest, AnItemThatFailsDuringAStopIsNotLost) {
  absl::Notification began, go_on;
  auto controller = NewController(
      [&](const std::string&, const ReconcileContext&) -> absl::Status {
        began.Notify();
        go_on.WaitForNotification();
        return absl::UnavailableError("stopped in the middle");
      });
  controller->queue().Add("x");
  began.WaitForNotification();
  EXPECT_FALSE(controller->Stop(absl::ZeroDuration()));
  go_on.Notify();
  controller.reset();
  const auto queue = NewClient();
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(queue->Get(), "x");
}

}  // namespace
}  // namespace workqueue::shared_queue_controller_test
