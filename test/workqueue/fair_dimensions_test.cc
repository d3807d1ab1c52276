// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of turns: over dimensions, at several priorities, of retries, and by
// what is being processed.

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/workqueue/fair_queue.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/priority_queue.h"

namespace workqueue::fair_dimensions_test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

// -----------------------------------------------------------------------------
// Options
// -----------------------------------------------------------------------------

absl::Status CreateStatus(FairOptions options) {
  return Fair::Create(std::move(options)).status();
}

TEST(FairOptionsTest, ADimensionNeedsAFunction) {
  FairOptions options = FairDimensions(2);
  options.dimensions[1].group_of = nullptr;
  const absl::Status status = CreateStatus(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "dimensions[1].group_of is null");
}

TEST(FairOptionsTest, ABoundOfZeroIsAnError) {
  FairOptions options = FairDimensions(2);
  options.dimensions[0].max_in_process = 0;
  absl::Status status = CreateStatus(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "dimensions[0].max_in_process is 0; it must be at least 1");

  options.dimensions[0].max_in_process = 1;
  options.max_retries_in_process = 0;
  status = CreateStatus(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "max_retries_in_process is 0; it must be at least 1");

  options.max_retries_in_process = 1;
  EXPECT_TRUE(CreateStatus(options).ok());
}

// -----------------------------------------------------------------------------
// Dimensions
// -----------------------------------------------------------------------------

TEST(FairDimensionsTest, WithoutDimensionsItIsByPriority) {
  const auto queue = MakeFairQueue({});
  AddAt(*queue, 0, {"b", "a"});
  AddAt(*queue, 1, {"d", "c"});
  AddAt(*queue, -1, {"e"});
  EXPECT_THAT(Queued(*queue, 9), ElementsAre("d", "c", "b", "a", "e"));
  EXPECT_THAT(Drain(*queue), ElementsAre("d", "c", "b", "a", "e"));
}

TEST(FairDimensionsTest, ClustersTakeTurnsAndThenTheirNamespaces) {
  const auto queue = MakeFairQueue(FairDimensions(2));
  queue->AddAll(
      {"a/x/1", "a/x/2", "a/x/3", "a/y/1", "a/y/2", "b/x/1", "b/x/2", "b/x/3"});
  EXPECT_THAT(Drain(*queue), ElementsAre("a/x/1", "b/x/1", "a/y/1", "b/x/2",
                                         "a/x/2", "b/x/3", "a/y/2", "a/x/3"));
}

TEST(FairDimensionsTest, ATenantWithManyNamespacesHasNoMoreTurns) {
  const auto queue = MakeFairQueue(FairDimensions(2));
  for (int i = 0; i < 1000; ++i) queue->Add(absl::StrCat("noisy/", i, "/1"));
  queue->AddAll({"quiet/x/1", "quiet/x/2"});
  EXPECT_EQ(queue->Get(), "noisy/0/1");
  EXPECT_EQ(queue->Get(), "quiet/x/1");
  EXPECT_EQ(queue->Get(), "noisy/1/1");
  EXPECT_EQ(queue->Get(), "quiet/x/2");
  EXPECT_EQ(queue->Get(), "noisy/2/1");
}

TEST(FairDimensionsTest, EachDimensionHasItsWeights) {
  FairOptions options = FairDimensions(2);
  options.dimensions[0].weight_of = [](const std::string& cluster) {
    return cluster == "a" ? 3 : 1;
  };
  options.dimensions[1].weight_of = [](const std::string& name) {
    return name == "y" ? 2 : 1;
  };
  const auto queue = MakeFairQueue(options);
  queue->AddAll(
      {"a/x/1", "a/x/2", "a/y/1", "a/y/2", "a/y/3", "a/y/4", "b/y/1", "b/y/2"});
  EXPECT_THAT(Drain(*queue), ElementsAre("a/x/1", "a/y/1", "a/y/2", "b/y/1",
                                         "a/x/2", "a/y/3", "a/y/4", "b/y/2"));
}

// -----------------------------------------------------------------------------
// Priorities, and retries
// -----------------------------------------------------------------------------

TEST(FairPrioritiesTest, PrioritiesComeBeforeTurns) {
  const auto queue = MakeFairQueue(FairDimensions(1));
  AddAt(*queue, 0, {"a/1", "b/1", "b/2", "c/1"});
  AddAt(*queue, 5, {"b/3", "b/4", "a/2"});
  EXPECT_THAT(Drain(*queue),
              ElementsAre("b/3", "a/2", "b/4", "a/1", "b/1", "c/1", "b/2"));
}

TEST(FairPrioritiesTest, TurnsAtAPriorityDoNotDependOnOthers) {
  const auto queue = MakeFairQueue(FairDimensions(1));
  AddAt(*queue, 0, {"a/1", "b/1", "a/2", "b/2"});
  EXPECT_EQ(queue->Get(), "a/1");
  AddAt(*queue, 1, {"b/3"});
  EXPECT_EQ(queue->Get(), "b/3");
  EXPECT_THAT(Drain(*queue), ElementsAre("b/1", "a/2", "b/2"));
}

TEST(FairPrioritiesTest, AnItemWhosePriorityRisesTakesALaterTurn) {
  const auto queue = MakeFairQueue(FairDimensions(2));
  AddAt(*queue, 0, {"a/x/1", "a/x/2", "b/y/1"});
  AddAt(*queue, 1, {"b/y/2", "a/x/2"});
  AddAt(*queue, 2, {"b/y/1"});
  EXPECT_THAT(Drain(*queue), ElementsAre("b/y/1", "b/y/2", "a/x/2", "a/x/1"));
}

TEST(FairRetriesTest, TakeTurnsWithOtherItems) {
  const auto queue = MakeFairQueue(FairDimensions(1));
  AddRetries(*queue, {"a/1", "a/2", "b/1", "a/3"});
  queue->AddAll({"a/4", "a/5"});
  EXPECT_THAT(Drain(*queue),
              ElementsAre("a/4", "a/1", "a/5", "b/1", "a/2", "a/3"));
}

TEST(FairRetriesTest, OfAHigherPriorityComeFirst) {
  const auto queue = MakeFairQueue(FairDimensions(1));
  queue->AddAll({"a/1", "b/1"});
  AddOptions options;
  options.priority = 1;
  options.retry = true;
  queue->AddWithOptions(options, {"a/2", "a/3"});
  EXPECT_THAT(Drain(*queue), ElementsAre("a/2", "a/3", "a/1", "b/1"));
}

TEST(FairRetriesTest, ARetryThatIsAddedAgainIsNoRetry) {
  FairOptions options;
  options.max_retries_in_process = 1;
  const auto queue = MakeFairQueue(options);
  AddRetries(*queue, {"a", "b", "c"});
  queue->Add("b");
  EXPECT_THAT(GetReady(*queue), ElementsAre("b", "a"));
}

TEST(FairPrioritiesTest, ThereMayBeManyPriorities) {
  const auto queue = MakeFairQueue(FairDimensions(1));
  Strings expected;
  for (int i = 0; i < 1000; ++i) {
    const int priority = i * 7 % 1000;  // all of them, mixed
    AddAt(*queue, priority, {absl::StrCat("a/", priority)});
    expected.push_back(absl::StrCat("a/", 999 - i));
  }
  EXPECT_EQ(Queued(*queue, 1000), expected);
  EXPECT_EQ(Drain(*queue), expected);
}

// -----------------------------------------------------------------------------
// count_processing
// -----------------------------------------------------------------------------

FairOptions ByShare(int dimensions) {
  FairOptions options = FairDimensions(dimensions);
  for (auto& dimension : options.dimensions) dimension.count_processing = true;
  return options;
}

TEST(CountProcessingTest, TheGroupWithTheFewestInProcessComesNext) {
  const auto queue = MakeFairQueue(ByShare(1));
  queue->AddAll({"a/1", "a/2", "a/3", "a/4"});
  EXPECT_EQ(queue->Get(), "a/1");
  EXPECT_EQ(queue->Get(), "a/2");
  EXPECT_EQ(queue->Get(), "a/3");
  queue->AddAll({"b/1", "b/2", "b/3", "b/4", "b/5"});
  EXPECT_THAT(Queued(*queue, 9),
              ElementsAre("b/1", "b/2", "b/3", "a/4", "b/4", "b/5"));
  EXPECT_THAT(GetReady(*queue),
              ElementsAre("b/1", "b/2", "b/3", "a/4", "b/4", "b/5"));
}

TEST(CountProcessingTest, SlowItemsDoNotGetMoreWorkers) {
  // Group a's items never end, and group b's end at once.
  for (const bool count : {false, true}) {
    FairOptions options = FairDimensions(1);
    options.dimensions[0].count_processing = count;
    const auto queue = MakeFairQueue(options);
    for (int i = 0; i < 100; ++i) {
      queue->AddAll({absl::StrCat("a/", i), absl::StrCat("b/", i)});
    }
    int slow = 0;
    for (int i = 0; i < 20; ++i) {
      const std::string key = *queue->Get();
      if (key[0] == 'a') {
        ++slow;
      } else {
        queue->Done(key);
      }
    }
    EXPECT_EQ(slow, count ? 1 : 10);
  }
}

TEST(CountProcessingTest, GroupsWithTheSameShareTakeTurns) {
  FairOptions options = ByShare(1);
  options.dimensions[0].weight_of = [](const std::string& group) {
    return group == "a" ? 2 : 1;
  };
  const auto queue = MakeFairQueue(options);
  queue->AddAll({"a/1", "a/2", "a/3", "b/1", "b/2", "c/1"});
  EXPECT_THAT(Drain(*queue),
              ElementsAre("a/1", "a/2", "b/1", "c/1", "a/3", "b/2"));
}

TEST(CountProcessingTest, SharesAreRelativeToWeights) {
  FairOptions options = ByShare(1);
  options.dimensions[0].weight_of = [](const std::string& group) {
    return group == "a" ? 30 : 10;
  };
  const auto queue = MakeFairQueue(options);
  std::map<char, int> in_process;
  for (int i = 0; i < 100; ++i) {
    queue->AddAll({absl::StrCat("a/", i), absl::StrCat("b/", i)});
  }
  for (int i = 0; i < 8; ++i) ++in_process[(*queue->Get())[0]];
  EXPECT_EQ(in_process['a'], 6);
  EXPECT_EQ(in_process['b'], 2);
}

TEST(CountProcessingTest, CountsAtAllPriorities) {
  const auto queue = MakeFairQueue(ByShare(1));
  AddAt(*queue, 1, {"a/1", "a/2"});
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/1", "a/2"));
  AddAt(*queue, 0, {"a/3", "b/1", "b/2", "b/3"});
  AddRetries(*queue, {"a/4", "b/4"});
  const Strings expected = {"b/1", "b/4", "a/3", "a/4", "b/2", "b/3"};
  EXPECT_EQ(Queued(*queue, 9), expected);
  EXPECT_EQ(GetReady(*queue), expected);
}

TEST(CountProcessingTest, CountsInEachDimension) {
  const auto queue = MakeFairQueue(ByShare(2));
  queue->AddAll({"a/x/1", "a/x/2"});
  EXPECT_THAT(GetReady(*queue), ElementsAre("a/x/1", "a/x/2"));
  queue->AddAll({"a/x/3", "a/x/4", "a/y/1", "b/x/1", "b/x/2", "b/x/3"});
  EXPECT_THAT(GetReady(*queue), ElementsAre("b/x/1", "b/x/2", "a/y/1", "b/x/3",
                                            "a/x/3", "a/x/4"));
}

// -----------------------------------------------------------------------------
// Exceptions
// -----------------------------------------------------------------------------

#ifdef ABSL_HAVE_EXCEPTIONS

TEST(FairDimensionsTest, AnExceptionLeavesAllAsItWas) {
  for (const bool bounded : {false, true}) {
    for (int failing = 0; failing < 3; ++failing) {
      bool fails = false;
      FairOptions options = FairDimensions(2);
      const auto group_of = options.dimensions[1].group_of;
      options.dimensions[0].weight_of = [&](const std::string&) {
        if (fails && failing == 0) throw 1;
        return 1;
      };
      options.dimensions[1].group_of = [&](const std::string& key) {
        if (fails && failing == 1) throw 1;
        return group_of(key);
      };
      options.dimensions[1].weight_of = [&](const std::string&) {
        if (fails && failing == 2) throw 1;
        return 1;
      };
      if (bounded) options.dimensions[0].max_in_process = 1;
      const auto queue = MakeFairQueue(options);
      queue->AddAll({"a/x/1", "b/x/1"});
      fails = true;
      EXPECT_THROW(queue->Add("c/x/1"), int);
      EXPECT_THROW(AddAt(*queue, 1, {"c/x/1"}), int);
      fails = false;
      EXPECT_EQ(queue->Len(), 2u);
      queue->AddAll({"c/x/1", "a/x/2"});
      EXPECT_THAT(Drain(*queue),
                  ElementsAre("a/x/1", "b/x/1", "c/x/1", "a/x/2"));
    }
  }
}

TEST(FairDimensionsTest, AnItemMovesEvenIfItsGroupCannotBeFound) {
  bool fails = false;
  FairOptions options = FairDimensions(1);
  const auto group_of = options.dimensions[0].group_of;
  options.dimensions[0].group_of = [&](const std::string& key) {
    if (fails) throw 1;
    return group_of(key);
  };
  const auto queue = MakeFairQueue(options);
  AddAt(*queue, 1, {"a/1", "b/1", "b/2"});
  fails = true;
  AddAt(*queue, 2, {"b/1"});
  fails = false;
  // The ordering refuses it at its new priority, so it comes first.
  EXPECT_THAT(Drain(*queue), ElementsAre("b/1", "a/1", "b/2"));
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::fair_dimensions_test
