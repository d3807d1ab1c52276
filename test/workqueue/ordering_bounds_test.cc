// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests the bounds of an ordering in snapshots: what an item that is held back
// waits for.

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/workqueue/fair_queue.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/ordering.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/snapshot.h"

namespace workqueue::ordering_bounds_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// Returns a text for each bound, such as "group a: 1 of 2 (a/1)". One that
// holds items back has an exclamation mark.
Strings Bounds(const Snapshot<std::string>& snapshot) {
  Strings texts;
  for (const OrderingBound<std::string>& it : snapshot.bounds) {
    Strings items = it.items;
    std::sort(items.begin(), items.end());
    texts.push_back(absl::StrCat(it.name, ": ", it.processing, " of ", it.max,
                                 it.holds_back ? "!" : "", " (",
                                 absl::StrJoin(items, " "), ")"));
  }
  return texts;
}

// Abseil before 20230125 does not print a snapshot with absl::StrCat().
std::string Text(const Snapshot<std::string>& snapshot) {
  std::ostringstream text;
  text << snapshot;
  return text.str();
}

TEST(OrderingBoundsTest, AQueueWithoutBoundsHasNone) {
  StringQueue plain;
  plain.AddAll({"a", "b"});
  plain.Get();
  EXPECT_THAT(Bounds(*plain.TakeSnapshot()), IsEmpty());
  EXPECT_THAT(Bounds(*plain.TakeSnapshotOf("b")), IsEmpty());
  const auto fair = MakeFairQueue(FairDimensions(1));
  fair->AddAll({"a/1", "a/2"});
  fair->Get();
  EXPECT_THAT(Bounds(*fair->TakeSnapshot()), IsEmpty());
  EXPECT_THAT(Bounds(*fair->TakeSnapshotOf("a/2")), IsEmpty());
}

TEST(OrderingBoundsTest, AGroupAtItsBoundWaitsForItsItems) {
  FairOptions options = FairDimensions(1);
  options.dimensions[0].max_in_process = 2;
  const auto queue = MakeFairQueue(std::move(options));
  queue->AddAll({"a/1", "a/2", "a/3", "b/1"});
  EXPECT_THAT(Bounds(*queue->TakeSnapshot()), IsEmpty());
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/1", "b/1", "a/2"));
  EXPECT_THAT(Bounds(*queue->TakeSnapshot()),
              UnorderedElementsAre("group a: 2 of 2! (a/1 a/2)",
                                   "group b: 1 of 2 (b/1)"));
  EXPECT_THAT(Bounds(*queue->TakeSnapshotOf("a/3")),
              ElementsAre("group a: 2 of 2! (a/1 a/2)"));
  EXPECT_THAT(Bounds(*queue->TakeSnapshotOf("a/1")), IsEmpty());
  EXPECT_THAT(Bounds(*queue->TakeSnapshotUpTo(0)), IsEmpty());
  EXPECT_EQ(queue->TakeSnapshotUpTo(1)->bounds[0].items.size(), 1u);

  queue->Add("b/2");
  EXPECT_THAT(Bounds(*queue->TakeSnapshotOf("b/2")), IsEmpty());
  queue->Done("a/1");
  EXPECT_THAT(Bounds(*queue->TakeSnapshotOf("a/3")), IsEmpty());
  EXPECT_THAT(
      Bounds(*queue->TakeSnapshot()),
      UnorderedElementsAre("group a: 1 of 2 (a/2)", "group b: 1 of 2 (b/1)"));
}

TEST(OrderingBoundsTest, AnItemMayWaitForAnOuterGroup) {
  FairOptions options = FairDimensions(2);
  options.dimensions[0].max_in_process = 2;
  options.dimensions[1].max_in_process = 1;
  const auto queue = MakeFairQueue(std::move(options));
  queue->AddAll({"a/x/1", "a/x/2", "a/y/1", "a/z/1"});
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/x/1", "a/y/1"));
  EXPECT_THAT(Bounds(*queue->TakeSnapshotOf("a/x/2")),
              UnorderedElementsAre("group a: 2 of 2! (a/x/1 a/y/1)",
                                   "group a/x: 1 of 1! (a/x/1)"));
  EXPECT_THAT(Bounds(*queue->TakeSnapshotOf("a/z/1")),
              ElementsAre("group a: 2 of 2! (a/x/1 a/y/1)"));
}

TEST(OrderingBoundsTest, RetriesHaveABound) {
  FairOptions options = FairDimensions(1);
  options.max_retries_in_process = 1;
  const auto queue = MakeFairQueue(std::move(options));
  AddRetries(*queue, {"a/1", "a/2"});
  queue->Add("a/3");
  EXPECT_THAT(GetReady(*queue), UnorderedElementsAre("a/1", "a/3"));
  EXPECT_THAT(Bounds(*queue->TakeSnapshot()),
              ElementsAre("retries: 1 of 1! (a/1)"));
  EXPECT_THAT(Bounds(*queue->TakeSnapshotOf("a/2")),
              ElementsAre("retries: 1 of 1! (a/1)"));
  queue->Add("a/4");
  EXPECT_THAT(Bounds(*queue->TakeSnapshotOf("a/4")), IsEmpty());
}

// A group is destroyed with its last queued item if nothing counts by group.
TEST(OrderingBoundsTest, AGroupWithoutABoundMayBeGone) {
  for (const int dimensions : {1, 2}) {
    FairOptions options = FairDimensions(dimensions);
    options.max_retries_in_process = 1;
    const auto queue = MakeFairQueue(std::move(options));
    for (int i = 0; i < 200; ++i) queue->Add(absl::StrCat(i, "/x/y"));
    for (int i = 0; i < 200; ++i) queue->Get();
    EXPECT_THAT(Bounds(*queue->TakeSnapshot()), IsEmpty());
    AddRetries(*queue, {"a/x/y"});
    queue->Get();
    EXPECT_THAT(Bounds(*queue->TakeSnapshot()),
                ElementsAre("retries: 1 of 1 (a/x/y)"));
  }
}

TEST(OrderingBoundsTest, AQueueWithoutPrioritiesHasThemToo) {
  FairOptions options = FairDimensions(1);
  options.dimensions[0].max_in_process = 1;
  QueueOptions<std::string> queue_options;
  queue_options.ordering = *Fair::Create(std::move(options));
  Queue<std::string> queue(std::move(queue_options));
  queue.AddAll({"a/1", "a/2"});
  queue.Get();
  EXPECT_THAT(Bounds(*queue.TakeSnapshotOf("a/2")),
              ElementsAre("group a: 1 of 1! (a/1)"));
  EXPECT_THAT(Text(*queue.TakeSnapshot()),
              HasSubstr("group a is at its bound of 1, because of:\n  a/1\n"));
  queue.Done("a/1");
  queue.Get();
  EXPECT_THAT(Text(*queue.TakeSnapshot()), Not(HasSubstr("bound")));
}

TEST(OrderingBoundsTest, TheNameOfAGroupIsPrintable) {
  FairOptions options = FairDimensions(1);
  options.dimensions[0].max_in_process = 1;
  const auto queue = MakeFairQueue(std::move(options));
  queue->Add("a\n\xff/1");
  queue->Get();
  EXPECT_EQ(queue->TakeSnapshot()->bounds[0].name, "group a\\n\\377");
}

}  // namespace
}  // namespace workqueue::ordering_bounds_test
