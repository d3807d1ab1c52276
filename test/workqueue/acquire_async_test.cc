// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Callbacks that wait for an item. The tests that every queue must pass are in
// workqueue/testing/queue_test_suite.h.

#include "workqueue/acquire_async.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/workqueue/manual_executor.h"
#include "workqueue/executor.h"
#include "workqueue/lease.h"
#include "workqueue/queue.h"

namespace workqueue {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AcquireAsyncTest : public ::testing::Test {
 protected:
  ~AcquireAsyncTest() override {
    queue_.ShutDown();
    executor_.RunAll();
  }

  // Waits for an item, and processes it at once. Its result becomes "NAME:ITEM"
  // or "NAME:ERROR" in results_.
  AcquireId Acquire(const std::string& name) {
    return queue_.AcquireAsync(
        &executor_, [this, name](absl::StatusOr<Lease<std::string>> lease) {
          results_.push_back(
              name + ":" +
              (lease.ok() ? **lease
                          : absl::StatusCodeToString(lease.status().code())));
        });
  }

  ManualExecutor executor_;
  Queue<std::string> queue_;
  std::vector<std::string> results_;
};

TEST_F(AcquireAsyncTest, ServesCallbacksInTheirOrder) {
  Acquire("a");
  Acquire("b");
  queue_.Add("1");
  queue_.Add("2");
  executor_.RunAll();
  EXPECT_THAT(results_, ElementsAre("a:1", "b:2"));
  EXPECT_EQ(queue_.Len(), 0);
}

TEST_F(AcquireAsyncTest, SubmitsTheCallbackIfAnItemIsQueued) {
  queue_.Add("1");
  Acquire("a");
  EXPECT_THAT(results_, IsEmpty());
  executor_.RunAll();
  EXPECT_THAT(results_, ElementsAre("a:1"));
}

TEST_F(AcquireAsyncTest, WaitsAgainIfAThreadHasTakenTheItem) {
  Acquire("a");
  Acquire("b");
  queue_.Add("1");
  ASSERT_EQ(executor_.size(), 1);
  EXPECT_TRUE(queue_.TryAcquire().ok());
  executor_.RunAll();
  EXPECT_THAT(results_, IsEmpty());
  queue_.Add("2");
  executor_.RunAll();
  EXPECT_THAT(results_, ElementsAre("a:2"));
}

TEST_F(AcquireAsyncTest, ShutDownEndsTheWaitOfAll) {
  for (int i = 0; i < 10; ++i) Acquire("a");
  queue_.Add("1");
  queue_.ShutDown();
  executor_.RunAll();
  EXPECT_EQ(results_.size(), 10);
  EXPECT_EQ(results_.front(), "a:1");
  EXPECT_EQ(results_.back(), "a:CANCELLED");
}

TEST_F(AcquireAsyncTest, ACancelledCallbackTakesNoItem) {
  const AcquireId a = Acquire("a");
  Acquire("b");
  EXPECT_TRUE(queue_.CancelAcquire(a));
  EXPECT_FALSE(queue_.CancelAcquire(a));
  queue_.Add("1");
  executor_.RunAll();
  EXPECT_THAT(results_, ElementsAre("b:1"));
}

TEST_F(AcquireAsyncTest, ACallbackCanBeCancelledOnItsWay) {
  const AcquireId a = Acquire("a");
  Acquire("b");
  queue_.Add("1");
  ASSERT_EQ(executor_.size(), 1);
  EXPECT_TRUE(queue_.CancelAcquire(a));
  EXPECT_FALSE(queue_.CancelAcquire(a));
  executor_.RunAll();
  EXPECT_THAT(results_, ElementsAre("b:1"));
}

TEST_F(AcquireAsyncTest, ACalledCallbackCannotBeCancelled) {
  const AcquireId a = Acquire("a");
  queue_.Add("1");
  executor_.RunAll();
  EXPECT_FALSE(queue_.CancelAcquire(a));
  EXPECT_FALSE(queue_.CancelAcquire(AcquireId()));
}

}  // namespace
}  // namespace workqueue
