// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of `FairOrderingOptions::max_retries_in_process`.

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/workqueue/fair_queue.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"

namespace workqueue::retry_bound_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

FairOptions RetryBound(size_t bound, int dimensions = 0) {
  FairOptions options = FairDimensions(dimensions);
  options.max_retries_in_process = bound;
  return options;
}

TEST(RetryBoundTest, OtherItemsOvertakeRetries) {
  const auto queue = MakeFairQueue(RetryBound(2));
  AddRetries(*queue, {"a", "b", "c", "d"});
  queue->AddAll({"e", "f", "g"});
  EXPECT_THAT(GetReady(*queue), ElementsAre("e", "a", "f", "b", "g"));
  queue->Done("e");
  EXPECT_THAT(GetReady(*queue), IsEmpty());
  queue->Add("h");
  EXPECT_THAT(GetReady(*queue), ElementsAre("h"));
  queue->Done("b");
  EXPECT_THAT(GetReady(*queue), ElementsAre("c"));
}

TEST(RetryBoundTest, LowerPrioritiesOvertakeRetries) {
  const auto queue = MakeFairQueue(RetryBound(1));
  AddOptions options;
  options.priority = 7;
  options.retry = true;
  queue->AddWithOptions(options, {"a", "b"});
  AddRetries(*queue, {"c"});
  queue->Add("d");
  EXPECT_THAT(GetReady(*queue), ElementsAre("a", "d"));
  queue->Done("a");
  EXPECT_THAT(GetReady(*queue), ElementsAre("b"));
  queue->Done("b");
  EXPECT_THAT(GetReady(*queue), ElementsAre("c"));
}

TEST(RetryBoundTest, HoldsForAllGroupsTogether) {
  const auto queue = MakeFairQueue(RetryBound(2, 2));
  AddRetries(*queue, {"a/x/1", "a/x/2", "a/y/1", "b/x/1"});
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/x/1", "b/x/1"));
  queue->Done("b/x/1");
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/y/1"));
}

TEST(RetryBoundTest, CountsAnItemAsItWasHandedOut) {
  const auto queue = MakeFairQueue(RetryBound(1));
  AddRetries(*queue, {"a", "b"});
  EXPECT_THAT(GetReady(*queue), ElementsAre("a"));
  queue->Add("a");  // no retry the next time
  EXPECT_THAT(GetReady(*queue), IsEmpty());
  queue->Done("a");
  EXPECT_THAT(GetReady(*queue), ElementsAre("a", "b"));
  queue->Done("a");
  AddRetries(*queue, {"c"});
  EXPECT_THAT(GetReady(*queue), IsEmpty());
  queue->Done("b");
  EXPECT_THAT(GetReady(*queue), ElementsAre("c"));
}

TEST(RetryBoundTest, ARetryThatIsGivenBackIsInProcess) {
  const auto queue = MakeFairQueue(RetryBound(1));
  AddRetries(*queue, {"a", "b"});
  absl::StatusOr<Lease<std::string>> lease = queue->TryAcquire();
  lease->GiveBack();
  EXPECT_THAT(GetReady(*queue), ElementsAre("a"));
  queue->Done("a");
  EXPECT_THAT(GetReady(*queue), ElementsAre("b"));
}

TEST(RetryBoundTest, ASnapshotHasRetriesThatAreHeldBackLast) {
  const auto queue = MakeFairQueue(RetryBound(1));
  AddRetries(*queue, {"a", "b", "c"});
  AddAt(*queue, -1, {"d"});
  EXPECT_THAT(Queued(*queue, 9), ElementsAre("a", "d", "b", "c"));
}

}  // namespace
}  // namespace workqueue::retry_bound_test
