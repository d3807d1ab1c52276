// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of `FairDimension::max_in_process`.

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/workqueue/fair_queue.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"

namespace workqueue::group_bound_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns options with one dimension for each bound.
FairOptions Bounds(const std::vector<size_t>& bounds) {
  FairOptions options = FairDimensions(static_cast<int>(bounds.size()));
  for (size_t d = 0; d < bounds.size(); ++d) {
    options.dimensions[d].max_in_process = bounds[d];
  }
  return options;
}

TEST(GroupBoundTest, OthersOvertakeAGroupAtItsBound) {
  const auto queue = MakeFairQueue(Bounds({2}));
  queue->AddAll({"a/1", "a/2", "a/3", "b/1"});
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/1", "b/1", "a/2"));
  EXPECT_EQ(queue->Len(), 1u);
  queue->AddAll({"a/4", "b/2", "b/3"});
  EXPECT_THAT(GetReady(*queue), ElementsAre("b/2"));
  queue->Done("a/2");
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/3"));
  queue->Done("a/3");
  queue->Done("a/1");
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/4"));
  queue->Done("b/1");
  EXPECT_THAT(GetReady(*queue), ElementsAre("b/3"));
}

TEST(GroupBoundTest, AGroupThatIsNoLongerHeldBackTakesTheLastTurn) {
  const auto queue = MakeFairQueue(Bounds({1}));
  queue->AddAll({"a/1", "a/2"});
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/1"));
  queue->AddAll({"b/1", "c/1"});
  queue->Done("a/1");
  EXPECT_THAT(GetReady(*queue), ElementsAre("b/1", "c/1", "a/2"));
}

TEST(GroupBoundTest, LowerPrioritiesOvertakeAGroupAtItsBound) {
  const auto queue = MakeFairQueue(Bounds({1}));
  AddAt(*queue, 9, {"a/1", "a/2"});
  AddAt(*queue, 0, {"b/1", "a/3"});
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/1", "b/1"));
  queue->Done("a/1");
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/2"));
  queue->Done("a/2");
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/3"));
}

TEST(GroupBoundTest, CountsRetries) {
  const auto queue = MakeFairQueue(Bounds({2}));
  AddRetries(*queue, {"a/1", "a/2"});
  queue->AddAll({"a/3", "a/4"});
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/3", "a/1"));
  queue->Done("a/1");
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/4"));
}

TEST(GroupBoundTest, AnOuterGroupCountsItsInnerGroups) {
  const auto queue = MakeFairQueue(Bounds({3, 2}));
  queue->AddAll({"a/x/1", "a/x/2", "a/x/3", "a/y/1", "a/y/2", "a/z/1", "b/x/1",
                 "b/x/2", "b/x/3"});
  EXPECT_THAT(GetReady(*queue),
              ElementsAre("a/x/1", "b/x/1", "a/y/1", "b/x/2", "a/z/1"));
  queue->Done("a/z/1");
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/x/2"));
  queue->Done("a/y/1");
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/y/2"));
  queue->Done("a/y/2");  // There is room in a, but not in a/x.
  EXPECT_THAT(GetReady(*queue), IsEmpty());
  queue->Done("a/x/1");
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/x/3"));
}

TEST(GroupBoundTest, GroupsOfOneNameInTwoClustersAreTwoGroups) {
  FairOptions options = FairDimensions(2);
  options.dimensions[1].max_in_process = 1;
  const auto queue = MakeFairQueue(options);
  queue->AddAll({"a/x/1", "b/x/1", "a/x/2"});
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/x/1", "b/x/1"));
}

TEST(GroupBoundTest, AnItemThatIsGivenBackIsInProcess) {
  const auto queue = MakeFairQueue(Bounds({1}));
  queue->AddAll({"a/1", "a/2", "b/1"});
  absl::StatusOr<Lease<std::string>> lease = queue->TryAcquire();
  EXPECT_EQ(**lease, "a/1");
  lease->GiveBack();
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/1", "b/1"));
  queue->Done("a/1");
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/2"));
}

TEST(GroupBoundTest, AnItemThatIsAddedAgainIsCountedOnce) {
  const auto queue = MakeFairQueue(Bounds({1}));
  queue->AddAll({"a/1", "a/2"});
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/1"));
  queue->Add("a/1");
  queue->Done("a/1");
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/2"));
  queue->Done("a/2");
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/1"));
  queue->Done("a/1");
  queue->Add("a/3");
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/3"));
}

TEST(GroupBoundTest, AnItemThatIsHeldBackCanBeRaised) {
  const auto queue = MakeFairQueue(Bounds({1}));
  queue->AddAll({"a/1", "a/2", "a/3"});
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/1"));
  AddAt(*queue, 1, {"a/3"});
  EXPECT_THAT(GetReady(*queue), IsEmpty());
  queue->Done("a/1");
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/3"));
}

TEST(GroupBoundTest, ASnapshotHasItemsThatAreHeldBackLast) {
  const auto queue = MakeFairQueue(Bounds({2}));
  AddAt(*queue, 1, {"a/1", "a/2", "a/3"});
  EXPECT_EQ(queue->Get(), "a/1");
  AddAt(*queue, 0, {"a/4", "b/1", "b/2", "b/3"});
  Strings queued = Queued(*queue, 9);
  ASSERT_EQ(queued.size(), 6u);
  std::sort(queued.begin() + 4, queued.end());  // in no particular order
  EXPECT_THAT(queued, ElementsAre("a/2", "b/1", "b/2", "a/3", "a/4", "b/3"));
  EXPECT_THAT(Queued(*queue, 2), ElementsAre("a/2", "b/1"));
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/2", "b/1", "b/2"));
  EXPECT_EQ(Queued(*queue, 9).size(), 3u);
}

// In any order of the ends of processing, all items are processed, and
// no group exceeds its bound.
TEST(GroupBoundTest, NothingStarves) {
  FairOptions options = Bounds({3, 2});
  options.max_retries_in_process = 2;
  options.dimensions[0].count_processing = true;
  const auto queue = MakeFairQueue(options);
  std::mt19937 random(1);
  std::map<std::string, int> added;
  for (int i = 0; i < 3000; ++i) {
    AddOptions add;
    add.priority = static_cast<int>(random() % 3);
    add.retry = random() % 2 == 0;
    const std::string key =
        absl::StrCat(random() % 3, "/", random() % 3, "/", random() % 500);
    queue->AddWithOptions(add, {key});
    added[key] = 1;
  }
  EXPECT_EQ(queue->Len(), added.size());
  Strings processing;
  std::map<std::string, size_t> in_process;  // by group
  while (queue->Len() > 0) {
    for (const std::string& key : GetReady(*queue)) {
      --added[key];
      processing.push_back(key);
      EXPECT_LE(++in_process[key.substr(0, 1)], 3u);
      EXPECT_LE(++in_process[key.substr(0, 3)], 2u);
    }
    ASSERT_FALSE(processing.empty());
    std::swap(processing[random() % processing.size()], processing.back());
    const std::string key = processing.back();
    processing.pop_back();
    queue->Done(key);
    --in_process[key.substr(0, 1)];
    --in_process[key.substr(0, 3)];
  }
  for (const auto& [key, left] : added) EXPECT_EQ(left, 0) << key;
}

// To free the memory of a peak, a queue moves items. An item that has been
// given back must not move, because its ordering still knows its address.
template <typename Q, typename Options>
void GiveBackTheLastOfAPeak() {
  constexpr int kPeak = 20000;
  FairOrderingOptions<int, int> fair;
  fair.dimensions.resize(1);
  fair.dimensions[0].group_of = [](int item) { return item; };
  fair.dimensions[0].max_in_process = 1;
  Options options;
  options.ordering = *FairOrdering<int, int>::Create(std::move(fair));
  Q queue(std::move(options));
  for (int i = 0; i < kPeak; ++i) queue.Add(i);
  std::vector<Lease<int>> leases;
  for (int i = 0; i < kPeak; ++i) leases.push_back(*queue.TryAcquire());
  leases.back().GiveBack();
  for (Lease<int>& lease : leases) lease.Done();
  EXPECT_EQ(queue.Get(), kPeak - 1);
  queue.Add(kPeak - 1);
  EXPECT_TRUE(queue.Done(kPeak - 1));
  EXPECT_EQ(queue.Get(), kPeak - 1);
}

TEST(GroupBoundTest, AnItemThatIsGivenBackDoesNotMove) {
  GiveBackTheLastOfAPeak<Queue<int>, QueueOptions<int>>();
  GiveBackTheLastOfAPeak<PriorityQueue<int>, PriorityQueueOptions<int>>();
}

}  // namespace
}  // namespace workqueue::group_bound_test
