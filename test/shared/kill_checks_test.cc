// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/shared/kill_checks.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/shared/kill_record.h"

namespace workqueue::kill_checks_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kLease = absl::Nanoseconds(100);

// The records of one run.
struct Records {
  // An add of `item` that takes 2 ns.
  Records& Add(const std::string& item, int64_t at, int64_t delay = 0) {
    ++adds;
    Write(KillRecord::kAddBegins, adds, at, delay, item);
    return Write(KillRecord::kAddAcknowledged, adds, at + 2);
  }

  Records& HandOut(int64_t token, const std::string& item, int64_t at) {
    return Write(KillRecord::kHandedOut, token, at, 0, item);
  }

  Records& Alive(int64_t token, int64_t at) {
    return Write(KillRecord::kAlive, token, at);
  }

  // A call of `Done()` that takes 2 ns.
  Records& Done(int64_t token, int64_t at, bool result = true) {
    Write(KillRecord::kDoneBegins, token, at);
    return Write(KillRecord::kDone, token, at + 2, result ? 1 : 0);
  }

  Records& Write(KillRecord::Kind kind, int64_t number, int64_t at,
                 int64_t value = 0, const std::string& item = "-") {
    all.push_back({kind, number, at, value, item});
    return *this;
  }

  // The kinds of the violations.
  std::vector<KillViolation::Kind> Violations() const {
    std::vector<KillViolation::Kind> kinds;
    for (const auto& it : CheckKillRecords(all, kLease).violations) {
      kinds.push_back(it.kind);
    }
    return kinds;
  }

  int64_t adds = 0;
  std::vector<KillRecord> all;
};

TEST(KillChecksTest, AcceptsWhatIsAllowed) {
  Records records;
  records.Add("a", 1).HandOut(1, "a", 5);
  // The lease expires, and its Done() is too late.
  records.Alive(1, 90).HandOut(2, "a", 102).Done(1, 110, false).Done(2, 120);
  records.Add("b", 200, 50).HandOut(3, "b", 250);
  // The process is killed before it knows what Done() returns.
  records.Write(KillRecord::kDoneBegins, 3, 260);
  EXPECT_THAT(records.Violations(), IsEmpty());
}

TEST(KillChecksTest, FindsALostAdd) {
  EXPECT_THAT(Records().Add("a", 1).Violations(),
              ElementsAre(KillViolation::kLost));
  // This one may have come for what was added before.
  Records records;
  records.Add("a", 1).HandOut(1, "a", 5).Add("a", 6).Done(1, 20);
  EXPECT_THAT(records.Violations(), ElementsAre(KillViolation::kLost));
}

TEST(KillChecksTest, DoesNotTakeAnItemForProcessed) {
  Records too_late;
  too_late.Add("a", 1).HandOut(1, "a", 5).Done(1, 120, false);
  EXPECT_THAT(too_late.Violations(), ElementsAre(KillViolation::kLost));
  Records given_back;
  given_back.Add("a", 1).HandOut(1, "a", 5);
  given_back.Write(KillRecord::kGiveBackBegins, 1, 7);
  EXPECT_THAT(given_back.Violations(), ElementsAre(KillViolation::kLost));
}

TEST(KillChecksTest, FindsAnOverlap) {
  Records records;
  records.Add("a", 10).HandOut(1, "a", 15).HandOut(2, "a", 109);
  records.Done(1, 115, false).Done(2, 120);
  EXPECT_THAT(records.Violations(), ElementsAre(KillViolation::kOverlap));
}

TEST(KillChecksTest, KnowsALeaseByTheTokensBeforeIt) {
  // The token 2 came after the add of `b`, at 50.
  Records records;
  records.Add("a", 1).Add("b", 50).HandOut(1, "b", 53).Done(1, 55);
  records.HandOut(2, "a", 60).HandOut(3, "a", 149).Done(3, 151);
  EXPECT_THAT(records.Violations(), ElementsAre(KillViolation::kOverlap));
}

TEST(KillChecksTest, FindsALeaseThatIsNotLost) {
  Records records;
  records.Add("a", 1).HandOut(1, "a", 5).HandOut(2, "a", 110);
  records.Alive(1, 111).Done(1, 115, false).Done(2, 120);
  EXPECT_THAT(records.Violations(), ElementsAre(KillViolation::kOverlap));
}

TEST(KillChecksTest, FindsADoneOfAnOldToken) {
  Records records;
  records.Add("a", 1).HandOut(1, "a", 5).HandOut(2, "a", 110);
  records.Done(1, 115).Done(2, 120);
  EXPECT_THAT(records.Violations(), ElementsAre(KillViolation::kStaleDone));
}

TEST(KillChecksTest, FindsAnItemThatWasNotAdded) {
  Records records;
  records.Add("a", 1).HandOut(1, "a", 5).Done(1, 7).HandOut(2, "a", 20);
  EXPECT_THAT(records.Done(2, 30).Violations(),
              ElementsAre(KillViolation::kNotAdded));
}

TEST(KillChecksTest, FindsAnItemThatIsEarly) {
  Records records;
  records.Add("a", 1, 50).HandOut(1, "a", 50).Done(1, 60);
  EXPECT_THAT(records.Violations(), ElementsAre(KillViolation::kEarly));
}

TEST(KillChecksTest, FindsTokensThatAreNotInOrder) {
  Records records;
  records.Add("a", 1).HandOut(2, "a", 5).Done(2, 7);
  records.Add("b", 10).HandOut(1, "b", 15).Done(1, 17);
  EXPECT_THAT(records.Violations(), ElementsAre(KillViolation::kToken));
}

TEST(KillChecksTest, FindsATokenThatComesTwice) {
  Records records;
  records.Add("a", 1).HandOut(1, "a", 5).HandOut(1, "a", 15).Done(1, 20);
  EXPECT_THAT(records.Violations(), ElementsAre(KillViolation::kToken));
}

TEST(KillChecksTest, FindsAFailure) {
  Records records;
  records.Write(KillRecord::kFailed, 0, 1);
  EXPECT_THAT(records.Violations(), ElementsAre(KillViolation::kFailure));
}

}  // namespace
}  // namespace workqueue::kill_checks_test
