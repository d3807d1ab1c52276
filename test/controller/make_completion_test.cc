// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/reconcile.h"

namespace workqueue::make_completion_test {
namespace {

class MakeCompletionTest : public testing::Test {
 protected:
  ReconcileCompletion New(bool taken = true) {
    return MakeCompletion(
        [this, taken](const absl::StatusOr<ReconcileResult>& result) {
          results_.push_back(result);
          return taken;
        });
  }

  std::vector<absl::StatusOr<ReconcileResult>> results_;
};

TEST_F(MakeCompletionTest, CallsTheFunctionWithTheResult) {
  EXPECT_TRUE(New()(ReconcileResult{absl::Seconds(1)}));
  EXPECT_FALSE(New(/*taken=*/false)(absl::UnavailableError("down")));
  ASSERT_EQ(results_.size(), 2u);
  EXPECT_EQ(results_[0]->requeue_after, absl::Seconds(1));
  EXPECT_EQ(results_[1].status(), absl::UnavailableError("down"));
}

TEST(MakeCompletionDeathTest, AFunctionThatIsNullEndsTheProgram) {
  EXPECT_DEATH(MakeCompletion(nullptr),
               "the function of MakeCompletion.. is null");
}

TEST_F(MakeCompletionTest, ADroppedCompletionIsAborted) {
  {
    const ReconcileCompletion done = New();
    const ReconcileCompletion copy = done;  // NOLINT
    EXPECT_TRUE(results_.empty());
  }
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_TRUE(absl::IsAborted(results_[0].status()));
}

TEST_F(MakeCompletionTest, ASecondCallFails) {
  const ReconcileCompletion done = New();
  EXPECT_TRUE(done(absl::OkStatus()));
  EXPECT_FALSE(done(absl::OkStatus()));
  ASSERT_EQ(results_.size(), 2u);
  EXPECT_TRUE(results_[0].ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(results_[1].status()));
}

TEST_F(MakeCompletionTest, TheFunctionIsDestroyedWithTheLastCopy) {
  auto owned = std::make_shared<int>();
  const std::weak_ptr<int> watch = owned;
  {
    const ReconcileCompletion done = MakeCompletion(
        [owned = std::move(owned)](const absl::StatusOr<ReconcileResult>&) {
          return true;
        });
    done(absl::OkStatus());
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace workqueue::make_completion_test
