// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/item_history.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workqueue/inspect/inspection.h"

namespace workqueue::item_history_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Texts(const std::vector<InspectedEvent>& events) {
  std::vector<std::string> texts;
  for (const InspectedEvent& it : events) {
    texts.push_back(absl::StrCat(it.key, " ", it.what));
  }
  return texts;
}

TEST(ItemHistoryTest, KeepsTheLastEventsAndCountsAll) {
  ItemHistory history(3);
  EXPECT_THAT(history.Last(10), IsEmpty());
  const auto record = [&history](InspectedEventKind kind, const char* key,
                                 const char* what) {
    history.Record({absl::UnixEpoch(), key, what, kind});
  };
  record(InspectedEventKind::kAdded, "a", "1");
  record(InspectedEventKind::kHandedOut, "b", "2");
  record(InspectedEventKind::kFailed, "a", "3");
  record(InspectedEventKind::kRetried, "a", "4");
  record(InspectedEventKind::kSucceeded, "b", "5");
  EXPECT_THAT(Texts(history.Last(10)), ElementsAre("b 5", "a 4", "a 3"));
  EXPECT_THAT(Texts(history.Last(1)), ElementsAre("b 5"));
  EXPECT_THAT(Texts(history.Of("a", 10)), ElementsAre("a 4", "a 3"));
  EXPECT_THAT(Texts(history.Of("a", 1)), ElementsAre("a 4"));
  EXPECT_THAT(history.Of("c", 10), IsEmpty());
  EXPECT_EQ(history.totals().added, 1u);
  EXPECT_EQ(history.totals().handed_out, 1u);
  EXPECT_EQ(history.totals().failed, 1u);
  EXPECT_EQ(history.totals().retried, 1u);
  EXPECT_EQ(history.totals().succeeded, 1u);
}

TEST(ItemHistoryTest, KeepsAtLeastOneEvent) {
  ItemHistory history(0);
  history.Record({absl::UnixEpoch(), "a", "1"});
  EXPECT_EQ(history.Last(10).size(), 1u);
}

}  // namespace
}  // namespace workqueue::item_history_test
