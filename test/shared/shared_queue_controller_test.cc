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
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/new_shared_queue.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/failures.h"
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
      ReconcileFunction<std::string> reconcile,
      const FailureLedgerOptions& failures = {}) {
    ControllerOptions<std::string> options;
    options.failures = failures;
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

TEST_F(SharedQueueControllerTest, ASuccessAnywhereEndsASeriesOfFailures) {
  std::atomic<int> attempts{0};
  const auto reconcile = [&](const std::string&, const ReconcileContext&) {
    return ++attempts % 2 == 1 ? absl::UnavailableError("once")
                               : absl::OkStatus();
  };
  FailureLedgerOptions limits;
  limits.max_failures = 2;
  const auto a = NewController(reconcile, limits);
  const auto b = NewController(reconcile, limits);
  for (int change = 1; change <= 20; ++change) {
    a->queue().Add("x");
    while (attempts < 2 * change) clock_.Step(absl::Seconds(1));
    while (b->TakeSnapshotUpTo(0)->num_processing > 0) {
    }
    EXPECT_EQ(b->failures().Numbers()->failing, 0u);
  }
  EXPECT_EQ(a->failures().Numbers()->parked, 0u);
  EXPECT_EQ(attempts, 40);
}

TEST_F(SharedQueueControllerTest, AllOfThemParkAnItemTogether) {
  std::atomic<int> attempts{0};
  const auto reconcile = [&](const std::string&, const ReconcileContext&) {
    ++attempts;
    return absl::UnavailableError("always");
  };
  FailureLedgerOptions limits;
  limits.max_failures = 5;
  std::vector<std::unique_ptr<Controller<std::string>>> all;
  for (int i = 0; i < 3; ++i) all.push_back(NewController(reconcile, limits));
  all[0]->queue().Add("x");
  while (all[0]->failures().Numbers()->parked == 0) {
    clock_.Step(absl::Seconds(1));
  }
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(attempts, 5);
  for (const auto& it : all) {
    const auto parked = it->failures().Parked(10);
    ASSERT_EQ(parked->size(), 1u);
    EXPECT_EQ(parked->front().failures, 5);
    EXPECT_EQ(it->failures().Find("x")->last_error, "UNAVAILABLE: always");
    EXPECT_EQ(it->TakeSnapshot()->num_parked, 1u);
  }
  EXPECT_TRUE(*all[2]->failures().Unpark("x"));
  while (attempts < 10) clock_.Step(absl::Seconds(1));
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
