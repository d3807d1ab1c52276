// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/internal/findings.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/inspect/fake_inspectable.h"
#include "workqueue/inspect/inspection.h"

namespace workqueue {
namespace internal::findings_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Returns the findings, each with the key in front.
std::vector<std::string> Texts(const Inspection& inspection) {
  std::vector<std::string> texts;
  for (const Finding& it : Findings(inspection)) {
    texts.push_back(it.key.empty() ? it.text
                                   : absl::StrCat(it.key, " ", it.text));
  }
  return texts;
}

TEST(FindingsTest, AStuckQueueHasThemAll) {
  Inspection it = StuckInspection();
  it.health = absl::UnavailableError("a source\nhas ended");
  EXPECT_THAT(
      Texts(it),
      ElementsAre(
          R"(Not healthy: UNAVAILABLE: a source\nhas ended)",
          "The only worker is busy, and 1,000,000 items are queued.",
          "shop/hangs has been processed for 12m, since 00:48:00 UTC.",
          "shop/fails has failed 37 times in 20m, since 00:40:00 UTC, last "
          "with NOT_FOUND: no such pod",
          "\"flood\" has 940 of the next 1000 queued items.",
          "flood/1 is next, and has been queued for 1m30s, since 00:58:30 "
          "UTC."));
}

TEST(FindingsTest, WhatThisProcessCannotKnowIsOne) {
  Inspection it;
  it.taken_at = absl::UnixEpoch() + absl::Hours(2);
  it.data_lost_at = it.taken_at - absl::Minutes(59);
  it.undecodable = {"v2:a"};
  EXPECT_THAT(Texts(it),
              ElementsAre("The engine has lost all items, as this process saw "
                          "59m ago.",
                          "This process cannot decode 1 item: v2:a."));
  it.data_lost_at = it.taken_at - absl::Hours(1);
  it.undecodable.emplace_back("v2:b");
  EXPECT_THAT(Texts(it), ElementsAre("This process cannot decode 2 items, such "
                                     "as v2:a."));
  it.undecodable = {R"(\010\001)"};  // It is escaped already.
  EXPECT_THAT(Texts(it),
              ElementsAre(R"(This process cannot decode 1 item: \010\001.)"));
}

TEST(FindingsTest, SettingsThatMayLoseItemsAreOne) {
  Inspection it;
  for (const std::string& problem :
       {std::string("appendonly is no, not yes"), std::string(1000, 'x')}) {
    it.settings_problem = problem;
    EXPECT_THAT(Texts(it), ElementsAre(absl::StrCat(
                               "The engine may lose items: ", problem, ".")));
  }
}

TEST(FindingsTest, ABoundOfItemsThatHangIsOne) {
  Inspection it;
  it.taken_at = absl::UnixEpoch() + absl::Hours(1);
  const auto begin = [&](const char* key, absl::Duration ago) {
    it.processing.push_back({key, it.taken_at - ago, 0, 0, ""});
  };
  begin("gamma/1", absl::Seconds(59));
  begin("other", absl::Seconds(1));
  begin("gamma/2", absl::Seconds(20));
  it.num_processing = 3;
  InspectedBound bound = {"group gamma",          2, 2, true,
                          {"gamma/1", "gamma/2"}, 60};
  const auto at_bound = [&] {
    bound.full_since = FullSince(bound, it.processing);
    it.bounds = {bound};
    return Texts(it);
  };
  EXPECT_THAT(at_bound(), IsEmpty());
  it.taken_at += absl::Seconds(40);
  EXPECT_THAT(at_bound(), ElementsAre(HasSubstr("gamma/1 has been")));
  it.taken_at += absl::Seconds(2);
  EXPECT_EQ(at_bound()[0],
            "At its bound: group gamma, with 2 of 2 in process for at least "
            "1m2s, while 60 items are queued.");
  bound.queued.reset();
  EXPECT_THAT(at_bound()[0], EndsWith("while others are queued."));
  bound.holds_back = false;
  EXPECT_THAT(at_bound(), Not(Contains(HasSubstr("bound"))));
  // Not all of its items are known.
  bound.holds_back = true;
  bound.processing = 3;
  EXPECT_THAT(at_bound(), Not(Contains(HasSubstr("bound"))));
}

TEST(FindingsTest, ABusyQueueHasNone) {
  Inspection it = StuckInspection();
  it.num_workers = 2;
  it.processing[0].time = it.taken_at - absl::Minutes(1);
  it.queued[0].time = it.taken_at - absl::Minutes(1);
  it.failing[0].failures = 4;
  it.groups[0].items = 500;
  EXPECT_THAT(Texts(it), IsEmpty());
}

TEST(FindingsTest, AFewItemsOfAGroupAreNoFlood) {
  Inspection it;
  it.num_grouped = 99;
  it.groups = {{"shop", 99}};
  EXPECT_THAT(Texts(it), IsEmpty());
  it.num_grouped = 100;
  it.groups[0].items = 51;
  EXPECT_THAT(Texts(it),
              ElementsAre("\"shop\" has 51 of the next 100 queued items."));
}

TEST(FindingsTest, NamesThreeItemsOfAKindAndCountsTheOthers) {
  Inspection it = StuckInspection();
  it.num_workers.reset();
  it.queued.clear();
  it.groups.clear();
  it.failing.resize(4, it.failing[0]);
  it.num_failing = 5;
  it.failing.push_back(it.failing[0]);
  it.failing[4].failures = 4;
  it.processing.resize(1003, it.processing[0]);
  it.num_processing = 1003;
  std::vector<std::string> texts = Texts(it);
  ASSERT_EQ(texts.size(), 8u);
  EXPECT_EQ(texts[3],
            "And 1,000 more have been processed for more than a minute.");
  EXPECT_EQ(texts[7], "And 1 more has failed at least 5 times.");
  // The lists may leave items out.
  it.processing.resize(5);
  it.failing.resize(4);
  texts = Texts(it);
  EXPECT_EQ(texts[3],
            "And at least 2 more have been processed for more than a minute.");
  EXPECT_EQ(texts[7], "And at least 1 more has failed at least 5 times.");
  it.processing.resize(3);
  it.failing.resize(3);
  EXPECT_EQ(Texts(it).size(), 6u);
}

TEST(FindingsTest, CountsParkedItems) {
  Inspection it;
  it.num_parked = 0;
  EXPECT_THAT(Texts(it), IsEmpty());
  it.num_parked = 1;
  EXPECT_THAT(Texts(it), ElementsAre("1 item is parked, and not tried again."));
}

TEST(FindingsTest, AProcessThatIsGoneAndHoldsItems) {
  Inspection it;
  it.taken_at = absl::UnixEpoch() + absl::Hours(1);
  it.clients = {{"alive", "0.1.0", it.taken_at - absl::Seconds(44), 0, 2},
                {"dead", "0.1.0", it.taken_at - absl::Seconds(46), 0, 2},
                {"forgotten", "", absl::InfinitePast(), 0, 1},
                {"idle", "0.1.0", it.taken_at - absl::Minutes(4), 0, 0}};
  EXPECT_THAT(
      Texts(it),
      ElementsAre("dead holds 2 items, and has not been heard of for 46s.",
                  "forgotten holds 1 item, and has not been heard of."));
}

// The workers of other processes do not count.
TEST(FindingsTest, TheWorkersAreThoseOfThisProcess) {
  Inspection it = StuckInspection();
  it.processing.clear();
  it.failing.clear();
  it.groups.clear();
  it.queued[0].time = it.taken_at - absl::Seconds(2);
  it.num_workers = 4;
  it.num_processing = 12;
  it.num_processing_here = 3;
  EXPECT_THAT(Texts(it), IsEmpty());
  it.num_processing_here = 4;
  EXPECT_THAT(
      Texts(it),
      ElementsAre(
          "All 4 workers are busy here, and 1,000,000 items are queued."));
}

// A queue on an engine counts them no more.
TEST(FindingsTest, TellsOfItemsWhoseLeasesAreLost) {
  Inspection it;
  it.taken_at = absl::UnixEpoch() + absl::Hours(1);
  it.num_workers = 2;
  it.num_processing_here = 2;
  for (const char* key : {"a", "b"}) {
    InspectedItem& lost = it.lost_here.emplace_back();
    lost.key = key;
    lost.time = it.taken_at - absl::Seconds(90);
  }
  it.lost_here[1].added_again = true;
  it.num_queued = 1;
  it.queued.emplace_back().time = it.taken_at - absl::Seconds(2);
  EXPECT_THAT(
      Texts(it),
      ElementsAre("a has been processed here for 1m30s, although its lease is "
                  "lost: another worker may have it.",
                  "b has been processed here for 1m30s, although its lease is "
                  "lost: its next processing waits for the end of this one.",
                  "All 2 workers are busy here, and 1 item is queued."));
}

TEST(FindingsTest, CountsSeveralWorkersAndOneItem) {
  Inspection it;
  it.num_workers = 4;
  it.num_processing = 4;
  EXPECT_THAT(Texts(it), IsEmpty()) << "nothing is queued";
  it.num_queued = 1;
  it.queued.emplace_back();
  it.queued.emplace_back();  // added later, but of a higher priority
  it.taken_at = it.queued[1].time + absl::Seconds(1);
  it.queued[0].time = it.taken_at;
  EXPECT_THAT(Texts(it), IsEmpty()) << "for a short time only";
  it.taken_at += absl::Nanoseconds(1);
  EXPECT_THAT(Texts(it),
              ElementsAre("All 4 workers are busy, and 1 item is queued."));
}

TEST(GroupsTest, TheLargestComesFirstAndOneItemIsNoGroup) {
  Inspection it;
  for (const char* key : {"b/1", "a/1", "a/2", "c/1", "b/2", "a/3", "plain",
                          "plain2", "late/1", "late/2"}) {
    it.queued.emplace_back();
    it.queued.back().key = key;
  }
  GroupQueued(8, &it);
  EXPECT_EQ(it.num_grouped, 8u);
  ASSERT_EQ(it.groups.size(), 2u);
  EXPECT_EQ(it.groups[0].name, "a");
  EXPECT_EQ(it.groups[0].items, 3u);
  EXPECT_EQ(it.groups[1].name, "b");
  EXPECT_EQ(it.groups[1].items, 2u);
}

TEST(GroupsTest, TenAreKept) {
  Inspection it;
  for (int i = 0; i < 40; ++i) {
    it.queued.emplace_back();
    it.queued.back().key = absl::StrCat(i % 20, "/", i);
  }
  GroupQueued(1000, &it);
  EXPECT_EQ(it.num_grouped, 40u);
  EXPECT_EQ(it.groups.size(), 10u);
  EXPECT_EQ(it.num_groups, 20u);
}

TEST(GroupsTest, KeepFirstBoundsEachList) {
  Inspection it = StuckInspection();
  it.queued.resize(5, it.queued[0]);
  it.failing.resize(5, it.failing[0]);
  KeepFirst(2, &it);
  EXPECT_EQ(it.queued.size(), 2u);
  EXPECT_EQ(it.failing.size(), 2u);
  EXPECT_EQ(it.processing.size(), 1u);
  EXPECT_EQ(it.num_queued, 1000000u);
}

}  // namespace
}  // namespace internal::findings_test
}  // namespace workqueue
