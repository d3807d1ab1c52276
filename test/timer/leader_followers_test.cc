// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/internal/leader_followers.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/clock/parker.h"

namespace workqueue {
namespace internal::leader_followers_test {
namespace {

constexpr absl::Time kNever = absl::InfiniteFuture();

absl::Time At(int seconds) { return absl::FromUnixSeconds(seconds); }

// Counts wake-ups. No thread parks: the test plays the threads.
class RecordingParker final : public Parker {
 public:
  bool ParkUntil(absl::Time) override { return false; }
  void Unpark() override { ++unparks_; }

  int unparks() const { return unparks_; }

 private:
  int unparks_ = 0;
};

struct Thread {
  Thread() { waiter.parker = &parker; }

  RecordingParker parker;
  LeaderFollowers::Waiter waiter;
};

class LeaderFollowersTest : public testing::Test {
 protected:
  // `thread` finds nothing to do and waits.
  absl::Time BeginWait(Thread& thread, absl::Time first,
                       absl::Time deadline = kNever) {
    return waiters_.BeginWait(&thread.waiter, first, deadline);
  }

  // `thread` finds something to do and stops waiting.
  void Leave(Thread& thread, bool anything_to_wait_for) {
    waiters_.EndWait(&thread.waiter);
    waiters_.PassOnLead(anything_to_wait_for);
  }

  // Returns how often `a_`, `b_` and `c_` have been woken, as one number.
  int Unparks() const {
    return 100 * a_.parker.unparks() + 10 * b_.parker.unparks() +
           c_.parker.unparks();
  }

  LeaderFollowers waiters_;
  Thread a_, b_, c_;
};

// -----------------------------------------------------------------------------
// Times until which threads sleep
// -----------------------------------------------------------------------------

TEST_F(LeaderFollowersTest, TheFirstLeadsAndTheOthersFollow) {
  EXPECT_EQ(BeginWait(a_, At(10)), At(10));
  EXPECT_EQ(BeginWait(b_, At(10)), kNever);
  EXPECT_EQ(BeginWait(c_, At(10), /*deadline=*/At(5)), At(5));
  EXPECT_EQ(Unparks(), 0);
}

TEST_F(LeaderFollowersTest, ALeaderSleepsNoLongerThanItsDeadline) {
  EXPECT_EQ(BeginWait(a_, At(10), /*deadline=*/At(5)), At(5));
}

TEST_F(LeaderFollowersTest, NobodyLeadsIfThereIsNothingToWaitFor) {
  EXPECT_EQ(BeginWait(a_, kNever), kNever);
  EXPECT_EQ(BeginWait(b_, kNever, /*deadline=*/At(5)), At(5));
  // The next thread that waits for something leads.
  EXPECT_EQ(BeginWait(c_, At(10)), At(10));
}

TEST_F(LeaderFollowersTest, ALeaderThatLooksAgainLeadsAgain) {
  BeginWait(a_, At(10));
  BeginWait(b_, At(10));
  waiters_.EndWait(&a_.waiter);
  EXPECT_EQ(BeginWait(a_, At(20)), At(20));
  EXPECT_EQ(Unparks(), 0);
}

// -----------------------------------------------------------------------------
// WakeBy
// -----------------------------------------------------------------------------

TEST_F(LeaderFollowersTest, AnEarlierTimeWakesTheLeaderAlone) {
  BeginWait(a_, At(10));
  BeginWait(b_, At(10));
  BeginWait(c_, At(10));
  waiters_.WakeBy(At(9));
  EXPECT_EQ(Unparks(), 100);
}

TEST_F(LeaderFollowersTest, ATimeThatTheLeaderIsThereForWakesNobody) {
  BeginWait(a_, At(10));
  BeginWait(b_, At(10));
  waiters_.WakeBy(At(10));
  waiters_.WakeBy(At(11));
  waiters_.WakeBy(kNever);
  EXPECT_EQ(Unparks(), 0);
}

// The leader wakes at its deadline, and then passes on the lead.
TEST_F(LeaderFollowersTest, ATimeAfterTheLeadersDeadlineWakesNobody) {
  BeginWait(a_, At(10), /*deadline=*/At(5));
  BeginWait(b_, At(10));
  waiters_.WakeBy(At(7));
  EXPECT_EQ(Unparks(), 0);
  waiters_.WakeBy(At(4));
  EXPECT_EQ(Unparks(), 100);
}

TEST_F(LeaderFollowersTest, ALeaderThatHasNotLookedYetIsNotWokenAgain) {
  BeginWait(a_, At(10));
  BeginWait(b_, At(10));
  waiters_.WakeBy(At(9));
  waiters_.WakeBy(At(8));
  waiters_.WakeBy(absl::InfinitePast());
  EXPECT_EQ(Unparks(), 100);

  waiters_.EndWait(&a_.waiter);
  EXPECT_EQ(BeginWait(a_, At(8)), At(8));
  waiters_.WakeBy(At(7));
  EXPECT_EQ(Unparks(), 200);
}

TEST_F(LeaderFollowersTest, WithoutALeaderTheFirstFollowerIsWokenAndLeads) {
  BeginWait(a_, kNever);
  BeginWait(b_, kNever);
  waiters_.WakeBy(kNever);
  EXPECT_EQ(Unparks(), 0);
  waiters_.WakeBy(At(10));
  EXPECT_EQ(Unparks(), 100);
  waiters_.WakeBy(At(9));
  EXPECT_EQ(Unparks(), 100) << "a leads, and has not looked yet";
  EXPECT_EQ(BeginWait(c_, At(9)), kNever);
}

TEST_F(LeaderFollowersTest, AFollowerThatHasBeenWokenFollowsNoMore) {
  BeginWait(a_, kNever);
  waiters_.WakeBy(At(10));
  BeginWait(b_, At(10));
  Leave(a_, /*anything_to_wait_for=*/true);
  EXPECT_EQ(Unparks(), 110);
}

TEST_F(LeaderFollowersTest, IfNobodyWaitsNobodyIsWoken) {
  waiters_.WakeBy(At(10));
  waiters_.PassOnLead(true);
  waiters_.WakeAll();
  EXPECT_EQ(Unparks(), 0);
  EXPECT_EQ(BeginWait(a_, At(10)), At(10)) << "and there is no leader";
}

// -----------------------------------------------------------------------------
// Leaving
// -----------------------------------------------------------------------------

TEST_F(LeaderFollowersTest, ALeaderThatLeavesPassesTheLeadToTheFirstFollower) {
  BeginWait(a_, At(10));
  BeginWait(b_, At(10));
  BeginWait(c_, At(10));
  Leave(a_, /*anything_to_wait_for=*/true);
  EXPECT_EQ(Unparks(), 10);
  // b looks now, and finds that it must wait for another time.
  waiters_.EndWait(&b_.waiter);
  EXPECT_EQ(BeginWait(b_, At(20)), At(20));
  Leave(b_, /*anything_to_wait_for=*/true);
  EXPECT_EQ(Unparks(), 11);
  Leave(c_, /*anything_to_wait_for=*/true);
  EXPECT_EQ(Unparks(), 11);
}

TEST_F(LeaderFollowersTest, TheLeadIsNotPassedOnIfThereIsNothingToWaitFor) {
  BeginWait(a_, At(10));
  BeginWait(b_, At(10));
  Leave(a_, /*anything_to_wait_for=*/false);
  EXPECT_EQ(Unparks(), 0);
  waiters_.WakeBy(At(20));
  EXPECT_EQ(Unparks(), 10);
}

TEST_F(LeaderFollowersTest, AFollowerThatLeavesIsNotWoken) {
  BeginWait(a_, At(10));
  BeginWait(b_, At(10), /*deadline=*/At(5));
  BeginWait(c_, At(10));
  Leave(b_, /*anything_to_wait_for=*/true);
  EXPECT_EQ(Unparks(), 0) << "a leads";
  Leave(a_, /*anything_to_wait_for=*/true);
  EXPECT_EQ(Unparks(), 1);
  waiters_.WakeAll();
  EXPECT_EQ(Unparks(), 2);
}

TEST_F(LeaderFollowersTest, AThreadThatDoesNotWaitMayEndItsWait) {
  BeginWait(a_, At(10));
  BeginWait(b_, At(10));
  waiters_.EndWait(&c_.waiter);
  Leave(a_, /*anything_to_wait_for=*/true);
  EXPECT_EQ(Unparks(), 10);
  waiters_.EndWait(&a_.waiter);
  waiters_.WakeAll();
  EXPECT_EQ(Unparks(), 20);
}

// -----------------------------------------------------------------------------
// WakeAll
// -----------------------------------------------------------------------------

TEST_F(LeaderFollowersTest, WakeAllWakesTheLeaderAndTheFollowers) {
  BeginWait(a_, At(10));
  BeginWait(b_, At(10));
  BeginWait(c_, At(10));
  waiters_.WakeAll();
  EXPECT_EQ(Unparks(), 111);
}

TEST_F(LeaderFollowersTest, WakeAllWakesFollowersWithoutALeader) {
  BeginWait(a_, kNever);
  BeginWait(b_, kNever);
  waiters_.WakeAll();
  EXPECT_EQ(Unparks(), 110);
}

}  // namespace
}  // namespace internal::leader_followers_test
}  // namespace workqueue
