// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests the pages as text. inspect_handler_test.cc tests who gets them.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/inspect/fake_inspectable.h"
#include "workqueue/inspect/inspection.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/inspect/internal/page.h"

namespace workqueue {
namespace internal::text_page_test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

NamedInspection Orders(Inspection inspection) {
  return {"orders", "fake queue", std::move(inspection), /*samples=*/{}};
}

// Returns an inspection with nothing in it.
Inspection Empty() {
  Inspection it;
  it.taken_at = absl::UnixEpoch() + absl::Hours(1);
  return it;
}

std::string Overview(const std::vector<NamedInspection>& objects) {
  return OverviewPage(objects, {/*text=*/true});
}

std::string Object(Inspection inspection) {
  return ObjectPage(Orders(std::move(inspection)), {/*text=*/true});
}

std::string Item(Inspection inspection, absl::string_view key) {
  return KeyPage(Orders(std::move(inspection)), key, {/*text=*/true});
}

TEST(TextPageTest, ShowsAllObjects) {
  Inspection leaving = Empty();
  leaving.shutting_down = true;
  Inspection ill = Empty();
  ill.health = absl::InternalError("no way");
  ill.num_failing = 12;
  EXPECT_EQ(
      Overview({Orders(StuckInspection()),
                {"a", "queue", leaving, /*samples=*/{}},
                {"b", "mine", absl::UnavailableError("gone"), /*samples=*/{}},
                {"c", "controller", ill, /*samples=*/{}}}),
      R"(Needs attention:
  orders              The only worker is busy, and 1,000,000 items are queued.
  orders  shop/hangs  has been processed for 12m, since 00:48:00 UTC.
  orders  shop/fails  has failed 37 times in 20m, since 00:40:00 UTC, last with NOT_FOUND: no such pod
  orders              "flood" has 940 of the next 1000 queued items.
  orders  flood/1     is next, and has been queued for 1m30s, since 00:58:30 UTC.
  b                   Unknown: UNAVAILABLE: gone
  c                   Not healthy: INTERNAL: no way

  NAME                   QUEUED               PROCESSING                WAITING  FAILING            HEALTH
  orders  fake queue  1,000,000  next: 1m30s      1 of 1  longest: 12m        1        1  most: 37  OK
  a       queue               0                        0                      0        ?            shutting down
  b       mine        Unknown: UNAVAILABLE: gone
  c       controller          0                        0                      0       12            INTERNAL: no way
)");
}

TEST(TextPageTest, SaysThatNothingNeedsAttention) {
  EXPECT_EQ(Overview({{"a", "queue", Empty(), /*samples=*/{}}}),
            R"(Nothing needs attention.

  NAME         QUEUED  PROCESSING  WAITING  FAILING  HEALTH
  a     queue       0           0        0        ?  OK
)");
}

TEST(TextPageTest, SaysNoMoreOfNothingThanThatItIsNothing) {
  EXPECT_EQ(Overview({}), "Nothing has been registered.\n");
}

TEST(TextPageTest, ShowsAnObject) {
  Inspection it = StuckInspection();
  it.processing.push_back({"", it.taken_at - absl::Milliseconds(500),
                           /*priority=*/0, /*failures=*/1, "NOT_FOUND: x",
                           /*added_again=*/true});
  it.num_processing = 2;
  NamedInspection object = Orders(it);
  object.rates = InspectedRates{1.25, 0, 2, 1200.5, 0};
  EXPECT_EQ(ObjectPage(object, {/*text=*/true}), R"(orders (fake queue)

Needs attention:
              The only worker is busy, and 1,000,000 items are queued.
  shop/hangs  has been processed for 12m, since 00:48:00 UTC.
  shop/fails  has failed 37 times in 20m, since 00:40:00 UTC, last with NOT_FOUND: no such pod
              "flood" has 940 of the next 1000 queued items.
  flood/1     is next, and has been queued for 1m30s, since 00:58:30 UTC.

  queued             1,000,000
  processing         2
  waiting            1
  failing            1
  added              1.2/s
  retried            0.0/s
  succeeded          1200.5/s
  failed             0.0/s
  health             OK
  workers            1
  reconcile timeout  inf

Processing, by 1 worker (2):
  KEY           FOR                NOTES
  shop/hangs    12m  00:48:00 UTC
  (empty)     500ms  00:59:59 UTC  added again, 1 failure, NOT_FOUND: x

Failing (1):
  KEY         FAILURES  FAILING FOR                NEXT TRY                LAST ERROR
  shop/fails        37          20m  00:40:00 UTC    in 30s  01:00:30 UTC  NOT_FOUND: no such pod

Groups (of the next 1,000 queued items):
  GROUP  ITEMS  SHARE
  flood    940  94 %
  shop      60  6 %
  A group with more than half of them needs attention, if they are at least 100.

Queued (1 of 1,000,000):
  KEY        FOR                NOTES
  flood/1  1m30s  00:58:30 UTC  priority 7
  and 999,999 more

Waiting (1):
  KEY         DUE IN                NOTES
  shop/fails     30s  01:00:30 UTC  37 failures, NOT_FOUND: no such pod

History (the last 1 event):
  AGO                KEY         EVENT
  30s  00:59:30 UTC  shop/fails  failed after 1s: NOT_FOUND: no such pod
)");
}

// The lists are parts of those of the object.
TEST(TextPageTest, DoesNotKnowOfEachFailingItemWhetherItIsInProcess) {
  Inspection it = StuckInspection();
  it.failing[0].next_try_at.reset();
  EXPECT_THAT(Object(it), ContainsRegex("\n  shop/fails .* now +NOT_FOUND"));
  ++it.num_processing;
  EXPECT_THAT(Object(it),
              ContainsRegex("\n  shop/fails .* now, or in process +NOT_FOUND"));
}

TEST(TextPageTest, ShowsAnItem) {
  Inspection it = StuckInspection();
  it.queued.clear();
  it.processing.clear();
  it.waiting[0].priority = 5;
  EXPECT_EQ(Item(it, "shop/fails"), R"(orders (fake queue)

shop/fails:
  Waiting for another 30s, until 01:00:30 UTC. priority 5, 37 failures, NOT_FOUND: no such pod
  Has failed 37 times in 20m, since 00:40:00 UTC, last 30s ago, at 00:59:30 UTC: NOT_FOUND: no such pod

History (the last 1 event):
  AGO                EVENT
  30s  00:59:30 UTC  failed after 1s: NOT_FOUND: no such pod
)");
  EXPECT_EQ(Item(Empty(), ""),
            "orders (fake queue)\n\n(empty):\n  Not in the queue.\n");
}

TEST(TextPageTest, ShowsParkedItems) {
  Inspection it = Empty();
  it.num_parked = 3;
  it.parked.push_back({"p", 9, "UNKNOWN: z", it.taken_at - absl::Minutes(4),
                       it.taken_at - absl::Minutes(2)});
  EXPECT_THAT(Object(it), AllOf(HasSubstr("\n  failing     ?\n"),
                                HasSubstr("\n  parked      3\n"), EndsWith(R"(
Parked (1 of 3):
  KEY  FAILURES  PARKED FOR                LAST ERROR
  p           9          2m  00:58:00 UTC  UNKNOWN: z
  and 2 more
)")));
  EXPECT_THAT(Item(it, "p"),
              EndsWith("\n  Not in the queue.\n  Parked for 2m, since 00:58:00 "
                       "UTC, after 9 failures. It is not tried again. Last "
                       "error: UNKNOWN: z\n"));
}

TEST(TextPageTest, ShowsBounds) {
  Inspection it = Empty();
  it.bounds = {{"group a", 3, 3, /*holds_back=*/true, {"a/1", "a/2"}},
               {"retries", 12, 1, /*holds_back=*/false, {"a/1"}}};
  EXPECT_THAT(Object(it), EndsWith(R"(
Bounds:
  OF            PROCESSING  QUEUED ITEMS     BEING PROCESSED
  group a   3 of at most 3  wait for these:  a/1 a/2 and 1 more
  retries  1 of at most 12                   a/1
)"));
  it.bounds[0].queued = 60;
  EXPECT_THAT(Object(it), HasSubstr("60 wait for these:"));
  EXPECT_THAT(Item(it, "a/3"),
              HasSubstr("\n  Held back: group a is at its bound of 3. It waits "
                        "for a/1 a/2 and 1 more\n"));
}

TEST(TextPageTest, SaysSinceWhenAnObjectIsUnknown) {
  NamedInspection object = Orders(Empty());
  object.inspection = absl::UnavailableError("gone");
  object.samples.resize(2);
  object.samples[0].time = absl::UnixEpoch();
  object.samples[1].time = absl::UnixEpoch() + absl::Hours(2);
  object.samples[1].queued = 1;
  object.samples[1].processing = 2;
  object.samples[1].waiting = 3;
  EXPECT_EQ(ObjectPage(object, {/*text=*/true}), R"(orders (fake queue)

Needs attention:
  Unknown since 1970-01-01 02:00:00 UTC, when 1 item was queued, 2 in process and 3 waiting: UNAVAILABLE: gone
)");
  const std::string overview = Overview({object});
  EXPECT_THAT(overview,
              HasSubstr("\n  orders  fake queue  Unknown since 1970-"));
  EXPECT_THAT(overview, Not(HasSubstr("OK")));
  EXPECT_THAT(ObjectPage(object, {}),
              HasSubstr("Unknown since 1970-01-01 02:00:00 UTC, when 1 item"));
}

// An item's key and error are escaped already. Other texts may have any bytes.
TEST(TextPageTest, EscapesWhatATerminalActsOn) {
  const std::string evil = "\033[2J\xC2\x9B\xFF\n\r\t\\001\xE2\x80\xAE";
  const std::string safe = R"(\033[2J\302\233\377\n\r\t\001\342\200\256)";
  Inspection it = StuckInspection();
  it.health = absl::InternalError(evil);
  for (auto* const items : {&it.queued, &it.processing, &it.waiting}) {
    items->at(0).key = items->at(0).last_error = evil;
  }
  it.failing[0].key = it.failing[0].last_error = evil;
  it.num_parked = 1;
  it.parked = {{evil, 1, evil, it.taken_at, it.taken_at}};
  it.settings_problem = evil;
  it.bounds = {{evil,
                1,
                1,
                /*holds_back=*/true,
                {evil},
                1,
                it.taken_at - absl::Hours(1)}};
  it.groups[0].name = evil;
  it.events[0].key = it.events[0].what = evil;
  it.options = {{evil, evil}};
  const NamedInspection object = {evil, evil, it, /*samples=*/{}};
  const NamedInspection broken = {evil, evil, absl::InternalError(evil),
                                  /*samples=*/{}};
  const PageOptions text = {/*text=*/true};
  for (const std::string& page :
       {Overview({object, broken}), ObjectPage(object, text),
        ObjectPage(broken, text), KeyPage(object, evil, text),
        ErrorPage(evil, text)}) {
    EXPECT_THAT(page, HasSubstr(safe));
    for (const char c : page) {
      EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << page;
    }
  }
}

TEST(TextPageTest, AlignsCharactersAndLetsLongTextsStickOut) {
  Inspection it = Empty();
  for (const std::string& key :
       {std::string("\xC3\xA9"), std::string("ab"), std::string(100, 'k')}) {
    it.waiting.emplace_back();
    it.waiting.back().key = key;
    it.waiting.back().time = it.taken_at;
  }
  it.num_waiting = it.waiting.size();
  const std::string pad(60, ' ');
  EXPECT_THAT(Object(it),
              EndsWith(absl::StrCat(
                  "  KEY", pad.substr(3), "  DUE IN\n",                     //
                  "  \xC3\xA9", pad.substr(1), "      0s  01:00:00 UTC\n",  //
                  "  ab", pad.substr(2), "      0s  01:00:00 UTC\n",        //
                  "  ", it.waiting[2].key, "      0s  01:00:00 UTC\n")));
}

TEST(TextPageTest, ShowsAnErrorOnOneLine) {
  EXPECT_EQ(ErrorPage("no\nway", {/*text=*/true}), "no\\nway\n");
}

}  // namespace
}  // namespace internal::text_page_test
}  // namespace workqueue
