// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ratelimit/token_bucket.h"

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/ratelimit/invalid_argument.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/testing/thread.h"

namespace workqueue::token_bucket_test {
namespace {

constexpr double kInfiniteRate = std::numeric_limits<double>::infinity();
constexpr double kMaxRate = std::numeric_limits<double>::max();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
constexpr int64_t kMinInt64 = std::numeric_limits<int64_t>::min();

// One token comes per tick at a rate of 4, which most tests here use.
constexpr absl::Duration kTick = absl::Milliseconds(250);
constexpr int kNever = -1;

class TokenBucketTest : public testing::Test {
 protected:
  std::unique_ptr<TokenBucket> Make(double rate, int64_t burst) {
    return TokenBucket::Create(rate, burst, &clock_).value();
  }

  // Sets the clock to `tick` ticks after the start, earlier or later than now.
  void At(int tick) { clock_.SetTime(start_ + tick * kTick); }

  // Returns the time to act of `reservation`, in ticks after the start.
  double TickToAct(const Reservation& reservation) {
    if (!reservation.ok()) return kNever;
    return absl::FDivDuration(reservation.time_to_act() - start_, kTick);
  }

  // Reserves `n` tokens and returns the time to act, in ticks after the start.
  double Reserve(TokenBucket& bucket, int64_t n) {
    return TickToAct(bucket.Reserve(n));
  }

  FakeClock clock_;
  const absl::Time start_ = clock_.TimeNow();
};

// ---- Allow() ----------------------------------------------------------------

struct Step {
  int tick;
  double tokens;  // before the call
  int64_t n;
  bool allowed;
};

class TokenBucketAllowTest : public TokenBucketTest {
 protected:
  void Run(TokenBucket& bucket, const std::vector<Step>& steps) {
    for (size_t i = 0; i < steps.size(); ++i) {
      At(steps[i].tick);
      EXPECT_EQ(bucket.Tokens(), steps[i].tokens) << "step " << i;
      EXPECT_EQ(bucket.Allow(steps[i].n), steps[i].allowed) << "step " << i;
    }
  }
};

TEST_F(TokenBucketAllowTest, OneTokenDeep) {
  Run(*Make(4, 1), {
                       {0, 1, 1, true},
                       {0, 0, 1, false},
                       {0, 0, 1, false},
                       {1, 1, 2, false},  // more than the bucket holds
                       {1, 1, 1, true},
                       {1, 0, 1, false},
                       {5, 1, 1, true},
                       {5, 0, 1, false},
                   });
}

TEST_F(TokenBucketAllowTest, SeveralTokensDeep) {
  Run(*Make(4, 5), {
                       {0, 5, 3, true},
                       {0, 2, 3, false},  // A refused call takes nothing.
                       {0, 2, 2, true},
                       {0, 0, 1, false},
                       {2, 2, 6, false},
                       {3, 3, 2, true},
                       {4, 2, 1, true},
                       {4, 1, 1, true},
                       {4, 0, 0, true},  // Zero tokens are always there.
                       {4, 0, 1, false},
                       {30, 5, 5, true},  // The bucket did not fill beyond 5.
                       {30, 0, 1, false},
                   });
}

TEST_F(TokenBucketAllowTest, ClockGoesBack) {
  Run(*Make(4, 3), {
                       {2, 3, 1, true},
                       {0, 2, 1, true},  // It neither lost nor gained tokens.
                       {0, 1, 1, true},
                       {0, 0, 1, false},
                       {1, 1, 1, true},  // It fills from the earlier time.
                       {1, 0, 1, false},
                       {2, 1, 1, true},
                       {2, 0, 1, false},
                   });
}

TEST_F(TokenBucketAllowTest, ClockGoesBackWhileEmpty) {
  Run(*Make(4, 2), {
                       {3, 2, 2, true},
                       {0, 0, 1, false},
                       {1, 0, 1, false},  // A refused call changes nothing.
                       {3, 0, 1, false},
                       {4, 1, 1, true},
                       {3, 0, 0, true},
                       {4, 1, 1, true},
                   });
}

TEST_F(TokenBucketAllowTest, ClockGoesBackWhileFull) {
  Run(*Make(4, 2), {
                       {9, 2, 0, true},
                       {1, 2, 2, true},
                       {1, 0, 1, false},
                       {2, 1, 1, true},
                   });
}

TEST_F(TokenBucketAllowTest, ClockGoesBackBehindTheStart) {
  Run(*Make(4, 2), {
                       {-100, 2, 2, true},
                       {-99, 1, 2, false},
                       {-98, 2, 2, true},
                   });
}

TEST_F(TokenBucketAllowTest, NegativeIsNeverAllowed) {
  auto bucket = Make(4, 2);
  EXPECT_FALSE(bucket->Allow(-1));
  EXPECT_FALSE(bucket->Allow(kMinInt64));
  EXPECT_EQ(bucket->Tokens(), 2);
}

TEST_F(TokenBucketAllowTest, TakesOneByDefault) {
  auto bucket = Make(4, 2);
  EXPECT_TRUE(bucket->Allow());
  EXPECT_EQ(bucket->Tokens(), 1);
}

TEST_F(TokenBucketAllowTest, NotWhileTokensAreOwed) {
  auto bucket = Make(4, 2);
  EXPECT_EQ(Reserve(*bucket, 2), 0);
  EXPECT_EQ(Reserve(*bucket, 1), 1);
  EXPECT_EQ(bucket->Tokens(), -1);
  EXPECT_FALSE(bucket->Allow(0));
  At(1);
  EXPECT_TRUE(bucket->Allow(0));
  EXPECT_FALSE(bucket->Allow(1));
}

// A full bucket has a whole number of tokens, even if the time per token is not
// a whole number of nanoseconds.
TEST_F(TokenBucketAllowTest, FirstTokensAreWhole) {
  for (const double rate : {0.1, 1 / 3.0, 0.7, 1 / 1.3, 10 / 7.0, 1e9 / 3}) {
    auto bucket = Make(rate, 3);
    clock_.Step(absl::Seconds(1));
    EXPECT_TRUE(bucket->Allow(3)) << rate;
    EXPECT_FALSE(bucket->Allow(1)) << rate;
  }
}

TEST_F(TokenBucketAllowTest, KeepsTheRateInTheLongRun) {
  constexpr double kRate = 70;
  constexpr int kBurst = 30;
  auto bucket = Make(kRate, kBurst);
  int allowed = 0;
  for (int ms = 0; ms < 20000; ms += 3) {
    if (bucket->Allow()) ++allowed;
    clock_.Step(absl::Milliseconds(3));
  }
  const double ideal = kBurst + kRate * 20;
  EXPECT_LE(allowed, ideal + 1);
  EXPECT_GE(allowed, ideal * 0.999);
}

TEST_F(TokenBucketAllowTest, ThreadsGetNoMoreThanTheBurst) {
  constexpr int kThreads = 4;
  constexpr int kBurst = 100;
  auto bucket = Make(1, kBurst);
  std::atomic<int> allowed{0};
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kBurst; ++i) {
        if (bucket->Allow()) ++allowed;
      }
    });
  }
  for (Thread& thread : threads) thread.join();
  EXPECT_EQ(allowed, kBurst);
}

// ---- Reserve() --------------------------------------------------------------

class TokenBucketReserveTest : public TokenBucketTest {};

TEST_F(TokenBucketReserveTest, TellsWhenTheTokensAreThere) {
  auto bucket = Make(4, 3);
  EXPECT_EQ(Reserve(*bucket, 3), 0);
  EXPECT_EQ(Reserve(*bucket, 1), 1);
  EXPECT_EQ(Reserve(*bucket, 3), 4);
  At(6);
  EXPECT_EQ(Reserve(*bucket, 2), 6);
  EXPECT_EQ(Reserve(*bucket, 2), 8);
}

TEST_F(TokenBucketReserveTest, DelayCountsFromNow) {
  auto bucket = Make(4, 2);
  bucket->Reserve(2);
  const Reservation reservation = bucket->Reserve(2);
  EXPECT_TRUE(reservation.ok());
  EXPECT_EQ(reservation.Delay(), 2 * kTick);
  At(1);
  EXPECT_EQ(reservation.Delay(), kTick);
  At(2);
  EXPECT_EQ(reservation.Delay(), absl::ZeroDuration());
  At(50);
  EXPECT_EQ(reservation.Delay(), absl::ZeroDuration());
  At(-1);
  EXPECT_EQ(reservation.Delay(), 3 * kTick);
  EXPECT_EQ(reservation.time_to_act(), start_ + 2 * kTick);
}

TEST_F(TokenBucketReserveTest, DelaysAreWholeNanosecondsRoundedDown) {
  auto bucket = Make(3, 1);
  bucket->Reserve();
  EXPECT_EQ(bucket->Reserve().Delay(), absl::Nanoseconds(333333333));
  EXPECT_EQ(bucket->Reserve().Delay(), absl::Nanoseconds(666666666));
  EXPECT_EQ(bucket->Reserve().Delay(), absl::Nanoseconds(1000000000));
}

TEST_F(TokenBucketReserveTest, RejectsMoreThanTheBurst) {
  auto bucket = Make(4, 2);
  const Reservation reservation = bucket->Reserve(3);
  EXPECT_FALSE(reservation.ok());
  EXPECT_EQ(reservation.Delay(), absl::InfiniteDuration());
  EXPECT_EQ(reservation.time_to_act(), absl::InfiniteFuture());
  EXPECT_EQ(bucket->Tokens(), 2);
}

TEST_F(TokenBucketReserveTest, TakesNothingThatComesTooLate) {
  auto bucket = Make(4, 1);
  EXPECT_TRUE(bucket->Reserve(1, -kTick).ok());
  EXPECT_FALSE(bucket->Reserve(1, kTick - absl::Nanoseconds(1)).ok());
  EXPECT_EQ(bucket->Tokens(), 0);
  EXPECT_EQ(TickToAct(bucket->Reserve(1, kTick)), 1);
}

TEST_F(TokenBucketReserveTest, RejectsNegative) {
  auto bucket = Make(4, 2);
  EXPECT_FALSE(bucket->Reserve(-1).ok());
  EXPECT_FALSE(bucket->Reserve(kMinInt64).ok());
  EXPECT_EQ(bucket->Tokens(), 2);
}

TEST_F(TokenBucketReserveTest, ZeroTokensAreThereOnceNothingIsOwed) {
  auto bucket = Make(4, 2);
  EXPECT_EQ(Reserve(*bucket, 0), 0);
  EXPECT_EQ(Reserve(*bucket, 2), 0);
  EXPECT_EQ(Reserve(*bucket, 0), 0);
  EXPECT_EQ(Reserve(*bucket, 2), 2);
  EXPECT_EQ(Reserve(*bucket, 0), 2);
}

TEST_F(TokenBucketReserveTest, MixedWithAllow) {
  auto bucket = Make(4, 2);
  EXPECT_EQ(Reserve(*bucket, 5), kNever);
  EXPECT_EQ(Reserve(*bucket, 2), 0);
  At(1);
  EXPECT_FALSE(bucket->Allow(2));
  EXPECT_EQ(Reserve(*bucket, 2), 2);
  EXPECT_FALSE(bucket->Allow(1));
  At(3);
  EXPECT_TRUE(bucket->Allow(1));
}

TEST_F(TokenBucketReserveTest, ClockGoesBack) {
  auto bucket = Make(4, 2);
  At(1);
  EXPECT_EQ(Reserve(*bucket, 2), 1);
  At(0);
  EXPECT_EQ(Reserve(*bucket, 1), 1);
  At(2);  // Two ticks have passed since the last reservation.
  EXPECT_EQ(Reserve(*bucket, 2), 3);
  At(0);
  EXPECT_EQ(Reserve(*bucket, 3), kNever);  // This changes nothing.
  At(2);
  EXPECT_EQ(Reserve(*bucket, 1), 4);
}

TEST_F(TokenBucketReserveTest, ClockGoesBackFar) {
  auto bucket = Make(4, 2);
  At(1000000);
  EXPECT_EQ(Reserve(*bucket, 2), 1000000);
  At(-1000000);
  EXPECT_EQ(Reserve(*bucket, 1), -999999);
  EXPECT_EQ(bucket->Reserve(1).Delay(), 2 * kTick);
}

TEST_F(TokenBucketReserveTest, ThreadsGetDifferentTimes) {
  constexpr int kThreads = 4;
  constexpr int kTokens = 250;
  auto bucket = Make(4, 1);
  std::vector<std::atomic<int>> granted(kThreads * kTokens);
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kTokens; ++i) {
        ++granted[static_cast<size_t>(Reserve(*bucket, 1))];
      }
    });
  }
  for (Thread& thread : threads) thread.join();
  for (const std::atomic<int>& n : granted) EXPECT_EQ(n, 1);
}

// ---- Reservation ------------------------------------------------------------

class ReservationTest : public TokenBucketTest {};

TEST_F(ReservationTest, CancelReturnsTheTokens) {
  auto bucket = Make(4, 3);
  EXPECT_EQ(Reserve(*bucket, 3), 0);
  Reservation reservation = bucket->Reserve(3);
  EXPECT_EQ(TickToAct(reservation), 3);
  At(1);
  EXPECT_EQ(bucket->Tokens(), -2);
  reservation.Cancel();
  EXPECT_EQ(bucket->Tokens(), 1);
  EXPECT_EQ(Reserve(*bucket, 3), 3);
}

TEST_F(ReservationTest, CancelAtOnceRestoresTheBucket) {
  auto bucket = Make(4, 3);
  for (int i = 0; i < 10; ++i) {
    Reservation reservation = bucket->Reserve(3);
    EXPECT_EQ(TickToAct(reservation), 0);
    reservation.Cancel();
    EXPECT_EQ(bucket->Tokens(), 3);
  }
}

TEST_F(ReservationTest, CancelHasAnEffectOnce) {
  auto bucket = Make(4, 5);
  bucket->Reserve(5);
  Reservation reservation = bucket->Reserve(2);
  reservation.Cancel();
  reservation.Cancel();
  EXPECT_EQ(bucket->Tokens(), 0);
  At(1);
  reservation.Cancel();
  EXPECT_EQ(bucket->Tokens(), 1);
}

TEST_F(ReservationTest, CancelDoesNotChangeTheReservation) {
  auto bucket = Make(4, 2);
  bucket->Reserve(2);
  Reservation reservation = bucket->Reserve(1);
  reservation.Cancel();
  EXPECT_TRUE(reservation.ok());
  EXPECT_EQ(reservation.Delay(), kTick);
  EXPECT_EQ(reservation.time_to_act(), start_ + kTick);
}

TEST_F(ReservationTest, CancelOfWhatWasNotGrantedDoesNothing) {
  auto bucket = Make(4, 2);
  EXPECT_EQ(Reserve(*bucket, 2), 0);
  Reservation reservation = bucket->Reserve(3);
  reservation.Cancel();
  EXPECT_EQ(bucket->Tokens(), 0);
  Reservation none;
  none.Cancel();
  EXPECT_FALSE(none.ok());
  EXPECT_EQ(none.Delay(), absl::InfiniteDuration());
}

TEST_F(ReservationTest, CancelAfterTheTimeToActDoesNothing) {
  auto bucket = Make(4, 2);
  EXPECT_EQ(Reserve(*bucket, 2), 0);
  Reservation reservation = bucket->Reserve(1);
  At(2);
  reservation.Cancel();
  EXPECT_EQ(bucket->Tokens(), 1);
  At(0);  // Going back in time does not undo the lateness.
  reservation.Cancel();
  At(2);
  EXPECT_EQ(bucket->Tokens(), 1);
}

TEST_F(ReservationTest, CancelAtTheTimeToActIsNotTooLate) {
  auto bucket = Make(4, 2);
  EXPECT_EQ(Reserve(*bucket, 2), 0);
  Reservation reservation = bucket->Reserve(1);
  At(1);
  EXPECT_EQ(bucket->Tokens(), 0);
  reservation.Cancel();
  EXPECT_EQ(bucket->Tokens(), 1);
}

// Tokens that were reserved later stay reserved, because their holders were
// told how long to wait.

TEST_F(ReservationTest, CancelReturnsNothingIfAllWasReservedSince) {
  for (int64_t n : {2, 1}) {  // as many tokens as the first took, and more
    SCOPED_TRACE(n);
    auto bucket = Make(4, 3);
    EXPECT_EQ(Reserve(*bucket, 3), 0);
    Reservation reservation = bucket->Reserve(n);
    EXPECT_EQ(Reserve(*bucket, 4 - n), 4);
    reservation.Cancel();
    EXPECT_EQ(bucket->Tokens(), -4);
    EXPECT_EQ(Reserve(*bucket, 1), 5);
  }
}

TEST_F(ReservationTest, CancelReturnsTokensNotReservedSince) {
  auto bucket = Make(4, 3);
  EXPECT_EQ(Reserve(*bucket, 3), 0);
  Reservation reservation = bucket->Reserve(3);
  EXPECT_EQ(Reserve(*bucket, 1), 4);
  At(3);
  reservation.Cancel();
  EXPECT_EQ(bucket->Tokens(), 1);
  EXPECT_EQ(Reserve(*bucket, 3), 5);
}

TEST_F(ReservationTest, CancelledLaterReservationsDoNotCount) {
  auto bucket = Make(4, 4);
  EXPECT_EQ(Reserve(*bucket, 4), 0);
  Reservation first = bucket->Reserve(4);
  EXPECT_EQ(TickToAct(first), 4);
  EXPECT_EQ(Reserve(*bucket, 1), 5);
  Reservation last = bucket->Reserve(2);
  EXPECT_EQ(TickToAct(last), 7);
  At(2);
  last.Cancel();
  EXPECT_EQ(bucket->Tokens(), -3);
  first.Cancel();  // One of its four tokens was reserved since.
  EXPECT_EQ(bucket->Tokens(), 0);
  EXPECT_EQ(Reserve(*bucket, 4), 6);
}

TEST_F(ReservationTest, CancelNeverOverfillsTheBucket) {
  auto bucket = Make(4, 4);
  Reservation reservation = bucket->Reserve(4);
  ASSERT_TRUE(bucket->SetBurst(2).ok());
  reservation.Cancel();
  EXPECT_EQ(bucket->Tokens(), 2);
}

TEST_F(ReservationTest, CancelWithTheClockGoneBack) {
  auto bucket = Make(4, 3);
  At(1);
  EXPECT_EQ(Reserve(*bucket, 3), 1);
  Reservation reservation = bucket->Reserve(3);
  EXPECT_EQ(TickToAct(reservation), 4);
  At(1);
  EXPECT_EQ(Reserve(*bucket, 1), 5);
  At(0);
  // Two of three return. The time that went back counts again.
  reservation.Cancel();
  EXPECT_EQ(bucket->Tokens(), -2);
  At(1);
  EXPECT_EQ(bucket->Tokens(), -1);
}

// In the next three tests, Go's Limiter would give back 9, 11 and 19.89 tokens
// of reservations that took 1, 1 and 10.

TEST_F(ReservationTest, CancelReturnsNoMoreThanWasTakenBetweenOthers) {
  auto bucket = Make(4, 10);
  EXPECT_EQ(Reserve(*bucket, 10), 0);
  Reservation large = bucket->Reserve(10);
  EXPECT_EQ(TickToAct(large), 10);
  Reservation small = bucket->Reserve(1);
  EXPECT_EQ(TickToAct(small), 11);
  large.Cancel();
  EXPECT_EQ(bucket->Tokens(), -2);
  EXPECT_EQ(Reserve(*bucket, 1), 3);
  small.Cancel();
  EXPECT_EQ(bucket->Tokens(), -2);
}

TEST_F(ReservationTest, CancelReturnsNoMoreThanWasTakenAfterTheClockWent) {
  auto bucket = Make(4, 100);
  At(10);
  EXPECT_EQ(Reserve(*bucket, 50), 10);
  Reservation reservation = bucket->Reserve(1);
  At(0);
  EXPECT_EQ(Reserve(*bucket, 1), 0);
  EXPECT_EQ(bucket->Tokens(), 48);
  reservation.Cancel();
  EXPECT_EQ(bucket->Tokens(), 49);
}

TEST_F(ReservationTest, CancelReturnsNoMoreThanWasTakenAtAnotherRate) {
  auto bucket = Make(4, 10);
  EXPECT_EQ(Reserve(*bucket, 10), 0);
  Reservation reservation = bucket->Reserve(10);
  EXPECT_EQ(TickToAct(reservation), 10);
  ASSERT_TRUE(bucket->SetLimit(400).ok());
  EXPECT_LT(Reserve(*bucket, 1), 1);
  EXPECT_EQ(bucket->Tokens(), -11);
  reservation.Cancel();
  EXPECT_EQ(bucket->Tokens(), -1);
}

TEST_F(ReservationTest, CancelAtAnInfiniteRateDoesNothing) {
  auto bucket = Make(4, 2);
  bucket->Reserve(2);
  Reservation reservation = bucket->Reserve(2);
  ASSERT_TRUE(bucket->SetLimit(kInfiniteRate).ok());
  reservation.Cancel();
  EXPECT_EQ(bucket->Tokens(), -2);
}

TEST_F(ReservationTest, AtAnInfiniteRateTakesNothing) {
  auto bucket = Make(kInfiniteRate, 2);
  Reservation reservation = bucket->Reserve(2);
  ASSERT_TRUE(bucket->SetLimit(4).ok());
  EXPECT_TRUE(bucket->Allow(2));
  reservation.Cancel();
  EXPECT_EQ(bucket->Tokens(), 0);
}

TEST_F(ReservationTest, CancelAtARateOfZeroReturnsTheTokens) {
  auto bucket = Make(0, 3);
  Reservation one = bucket->Reserve(1);
  Reservation other = bucket->Reserve(2);
  other.Cancel();
  EXPECT_EQ(bucket->Tokens(), 2);
  one.Cancel();
  EXPECT_EQ(bucket->Tokens(), 3);
}

TEST_F(ReservationTest, Moves) {
  auto bucket = Make(4, 2);
  bucket->Reserve(2);
  Reservation from = bucket->Reserve(2);
  Reservation to = std::move(from);
  EXPECT_EQ(TickToAct(to), 2);
  from = Reservation();
  EXPECT_FALSE(from.ok());
  from.Cancel();
  EXPECT_EQ(bucket->Tokens(), -2);
  from = std::move(to);
  EXPECT_EQ(TickToAct(from), 2);
  from.Cancel();
  EXPECT_EQ(bucket->Tokens(), 0);
}

TEST_F(ReservationTest, MovedFromIsNotGranted) {
  auto bucket = Make(4, 2);
  Reservation from = bucket->Reserve(2);
  const Reservation to = std::move(from);
  // NOLINTBEGIN(bugprone-use-after-move): the test is about the moved-from
  // object.
  EXPECT_FALSE(from.ok());
  EXPECT_EQ(from.Delay(), absl::InfiniteDuration());
  EXPECT_EQ(from.time_to_act(), absl::InfiniteFuture());
  from.Cancel();
  // NOLINTEND(bugprone-use-after-move)
  EXPECT_TRUE(to.ok());
  EXPECT_EQ(bucket->Tokens(), 0);
}

TEST_F(ReservationTest, DestroyedKeepsItsTokens) {
  auto bucket = Make(4, 2);
  EXPECT_TRUE(bucket->Reserve(2).ok());
  EXPECT_EQ(bucket->Tokens(), 0);
}

TEST_F(ReservationTest, MayOutliveTheBucket) {
  auto bucket = Make(4, 2);
  Reservation reservation = bucket->Reserve(2);
  bucket.reset();
  const Reservation moved = std::move(reservation);
  EXPECT_TRUE(moved.ok());
  EXPECT_EQ(moved.time_to_act(), start_);
}

TEST_F(ReservationTest, ThreadsCancelTheirs) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 500;
  auto bucket = Make(4, kThreads);
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        Reservation reservation = bucket->Reserve();
        EXPECT_EQ(reservation.Delay(), absl::ZeroDuration());
        reservation.Cancel();
      }
    });
  }
  for (Thread& thread : threads) thread.join();
  EXPECT_EQ(bucket->Tokens(), kThreads);
}

// ---- SetLimit(), SetBurst() -------------------------------------------------

class TokenBucketSetTest : public TokenBucketTest {};

TEST_F(TokenBucketSetTest, ReturnsRateAndBurst) {
  auto bucket = Make(4.5, 7);
  EXPECT_EQ(bucket->limit(), 4.5);
  EXPECT_EQ(bucket->burst(), 7);
  EXPECT_TRUE(bucket->SetLimit(0.25).ok());
  EXPECT_TRUE(bucket->SetBurst(9).ok());
  EXPECT_EQ(bucket->limit(), 0.25);
  EXPECT_EQ(bucket->burst(), 9);
}

TEST_F(TokenBucketSetTest, RateCountsFromNowOn) {
  auto bucket = Make(4, 100);
  EXPECT_TRUE(bucket->Allow(100));
  At(8);
  ASSERT_TRUE(bucket->SetLimit(40).ok());
  EXPECT_EQ(bucket->Tokens(), 8);
  At(9);
  EXPECT_EQ(bucket->Tokens(), 18);
}

TEST_F(TokenBucketSetTest, RateLeavesReservationsAlone) {
  auto bucket = Make(2, 2);
  EXPECT_EQ(Reserve(*bucket, 2), 0);
  const Reservation reservation = bucket->Reserve(2);
  EXPECT_EQ(TickToAct(reservation), 4);
  At(2);
  ASSERT_TRUE(bucket->SetLimit(4).ok());
  EXPECT_EQ(TickToAct(reservation), 4);
  EXPECT_EQ(Reserve(*bucket, 1), 4);  // One token is owed already.
}

TEST_F(TokenBucketSetTest, CancelUsesTheRateOfTheReservation) {
  auto bucket = Make(2, 2);
  EXPECT_EQ(Reserve(*bucket, 2), 0);
  Reservation reservation = bucket->Reserve(2);
  At(2);
  ASSERT_TRUE(bucket->SetLimit(4).ok());
  reservation.Cancel();
  EXPECT_EQ(bucket->Tokens(), 1);
  EXPECT_EQ(Reserve(*bucket, 2), 3);
}

TEST_F(TokenBucketSetTest, LargerBurstIsNotFilledAtOnce) {
  auto bucket = Make(4, 2);
  ASSERT_TRUE(bucket->SetBurst(5).ok());
  EXPECT_EQ(bucket->Tokens(), 2);
  EXPECT_EQ(Reserve(*bucket, 5), 3);
  At(20);
  EXPECT_EQ(bucket->Tokens(), 5);
}

TEST_F(TokenBucketSetTest, SmallerBurstSpillsTokens) {
  auto bucket = Make(4, 5);
  ASSERT_TRUE(bucket->SetBurst(2).ok());
  EXPECT_EQ(bucket->Tokens(), 2);
  ASSERT_TRUE(bucket->SetBurst(5).ok());
  EXPECT_EQ(bucket->Tokens(), 2);
}

TEST_F(TokenBucketSetTest, BurstLeavesReservationsAlone) {
  auto bucket = Make(4, 4);
  EXPECT_EQ(Reserve(*bucket, 4), 0);
  const Reservation reservation = bucket->Reserve(4);
  At(1);
  ASSERT_TRUE(bucket->SetBurst(2).ok());
  EXPECT_EQ(TickToAct(reservation), 4);
  EXPECT_EQ(Reserve(*bucket, 2), 6);
  EXPECT_EQ(Reserve(*bucket, 4), kNever);
}

TEST_F(TokenBucketSetTest, WithTheClockGoneBack) {
  auto bucket = Make(4, 4);
  At(5);
  EXPECT_TRUE(bucket->Allow(4));
  At(2);
  ASSERT_TRUE(bucket->SetLimit(8).ok());
  EXPECT_EQ(bucket->Tokens(), 0);
  At(3);
  EXPECT_EQ(bucket->Tokens(), 2);
  At(1);
  ASSERT_TRUE(bucket->SetBurst(8).ok());
  EXPECT_EQ(bucket->Tokens(), 0);
  At(5);
  EXPECT_EQ(bucket->Tokens(), 8);
}

TEST_F(TokenBucketSetTest, WhileInUse) {
  constexpr int kThreads = 3;
  constexpr int kRounds = 500;
  auto bucket = Make(4, 10);
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        bucket->Allow(i % 12);
        Reservation reservation = bucket->Reserve(i % 12);
        EXPECT_GE(reservation.Delay(), absl::ZeroDuration());
        if (i % 2 == 0) reservation.Cancel();
        EXPECT_LE(bucket->Tokens(), 20);
      }
    });
  }
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_TRUE(bucket->SetLimit(i % 5 + 1).ok());
    EXPECT_TRUE(bucket->SetBurst(i % 20 + 1).ok());
    EXPECT_GE(bucket->limit(), 1);
    EXPECT_GE(bucket->burst(), 1);
    clock_.Step(absl::Milliseconds(10));
  }
  for (Thread& thread : threads) thread.join();
}

// ---- Wait() -----------------------------------------------------------------

class TokenBucketWaitTest : public TokenBucketTest {
 protected:
  // Calls Wait() on another thread, which must sleep. Returns how many ticks it
  // slept.
  double WaitOnAThread(TokenBucket& bucket, int64_t n,
                       absl::Duration timeout = absl::InfiniteDuration()) {
    const absl::Time begin = clock_.TimeNow();
    std::atomic<bool> done{false};
    Thread thread([&] {
      EXPECT_TRUE(bucket.Wait(n, timeout).ok());
      done = true;
    });
    clock_.AwaitWaiters(1);
    EXPECT_FALSE(done);
    clock_.SetTime(clock_.GetEarliestWakeupTime());
    thread.join();
    return absl::FDivDuration(clock_.TimeNow() - begin, kTick);
  }
};

TEST_F(TokenBucketWaitTest, DoesNotSleepWhenTokensAreThere) {
  auto bucket = Make(4, 3);
  EXPECT_TRUE(bucket->Wait(2).ok());
  EXPECT_TRUE(bucket->Wait().ok());
  EXPECT_TRUE(bucket->Wait(0).ok());
  EXPECT_EQ(bucket->Tokens(), 0);
}

TEST_F(TokenBucketWaitTest, SleepsUntilTokensAreThere) {
  auto bucket = Make(4, 3);
  EXPECT_TRUE(bucket->Wait(2).ok());
  EXPECT_EQ(WaitOnAThread(*bucket, 3), 2);
  EXPECT_EQ(bucket->Tokens(), 0);
  EXPECT_EQ(WaitOnAThread(*bucket, 1), 1);
}

TEST_F(TokenBucketWaitTest, SleepsOnTheClockForTheLastNanosecond) {
  auto bucket = Make(4, 1);
  EXPECT_TRUE(bucket->Wait().ok());
  std::atomic<bool> done{false};
  Thread thread([&] {
    EXPECT_TRUE(bucket->Wait().ok());
    done = true;
  });
  clock_.AwaitWaiters(1);
  clock_.Step(kTick - absl::Nanoseconds(1));
  EXPECT_TRUE(clock_.HasWaiters());
  EXPECT_FALSE(done);
  clock_.Step(absl::Nanoseconds(1));
  thread.join();
  EXPECT_TRUE(done);
}

TEST_F(TokenBucketWaitTest, LocksNothingWhileItSleeps) {
  auto bucket = Make(4, 2);
  EXPECT_TRUE(bucket->Wait(2).ok());
  Thread thread([&] { EXPECT_TRUE(bucket->Wait(1).ok()); });
  clock_.AwaitWaiters(1);
  EXPECT_EQ(bucket->Tokens(), -1);
  EXPECT_FALSE(bucket->Allow());
  EXPECT_EQ(Reserve(*bucket, 1), 2);
  EXPECT_TRUE(bucket->SetLimit(8).ok());
  At(1);
  thread.join();
}

TEST_F(TokenBucketWaitTest, ThreadsWaitInTurn) {
  constexpr int kThreads = 4;
  auto bucket = Make(4, 1);
  EXPECT_TRUE(bucket->Wait().ok());
  std::atomic<int> done{0};
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      EXPECT_TRUE(bucket->Wait().ok());
      ++done;
    });
  }
  clock_.AwaitWaiters(kThreads);
  for (int tick = 1; tick <= kThreads; ++tick) {
    At(tick);
    EXPECT_EQ(clock_.NumWaiters(), static_cast<size_t>(kThreads - tick));
  }
  for (Thread& thread : threads) thread.join();
  EXPECT_EQ(done, kThreads);
}

TEST_F(TokenBucketWaitTest, RejectsMoreThanTheBurst) {
  auto bucket = Make(4, 3);
  const absl::Status status = bucket->Wait(5);
  EXPECT_THAT(status, IsInvalidArgument("n ", "5"));
  EXPECT_THAT(status, IsInvalidArgument("burst", "3"));
  EXPECT_EQ(bucket->Tokens(), 3);
}

TEST_F(TokenBucketWaitTest, RejectsNegative) {
  auto bucket = Make(4, 3);
  EXPECT_THAT(bucket->Wait(-6), IsInvalidArgument("n ", "-6"));
  auto unlimited = Make(kInfiniteRate, 3);
  EXPECT_THAT(unlimited->Wait(-6), IsInvalidArgument("n ", "-6"));
}

TEST_F(TokenBucketWaitTest, FailsAtOnceWhenTheTimeoutIsTooShort) {
  auto bucket = Make(4, 3);
  EXPECT_TRUE(bucket->Wait(2, kTick).ok());
  const absl::Status status = bucket->Wait(3, 2 * kTick - absl::Nanoseconds(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("n = 3"));
  EXPECT_EQ(bucket->Tokens(), 1);
  EXPECT_FALSE(clock_.HasWaiters());
}

TEST_F(TokenBucketWaitTest, SleepsForTheWholeTimeout) {
  auto bucket = Make(4, 3);
  EXPECT_TRUE(bucket->Wait(2).ok());
  EXPECT_EQ(WaitOnAThread(*bucket, 3, 2 * kTick), 2);
}

TEST_F(TokenBucketWaitTest, ANegativeTimeoutIsZero) {
  auto bucket = Make(4, 3);
  auto unlimited = Make(kInfiniteRate, 0);
  At(5);
  for (const absl::Duration timeout :
       {-absl::InfiniteDuration(), -absl::Nanoseconds(1),
        absl::ZeroDuration()}) {
    EXPECT_TRUE(bucket->Wait(1, timeout).ok());
    EXPECT_TRUE(unlimited->Wait(1, timeout).ok());
  }
  EXPECT_EQ(bucket->Tokens(), 0);
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(bucket->Wait(1, -absl::InfiniteDuration())));
  EXPECT_TRUE(absl::IsDeadlineExceeded(bucket->Wait(1, absl::ZeroDuration())));
}

TEST_F(TokenBucketWaitTest, ARefusedWaitTakesNothing) {
  auto bucket = Make(4, 2);
  At(2);
  EXPECT_EQ(Reserve(*bucket, 2), 2);
  EXPECT_EQ(Reserve(*bucket, 1), 3);
  EXPECT_TRUE(absl::IsDeadlineExceeded(bucket->Wait(2, kTick)));
  EXPECT_EQ(Reserve(*bucket, 1), 4);
}

TEST_F(TokenBucketWaitTest, AWaitThatIsRefusedAtAnEarlierTimeChangesNothing) {
  auto bucket = Make(4, 2);
  At(3);
  EXPECT_EQ(Reserve(*bucket, 2), 3);
  At(0);
  EXPECT_TRUE(absl::IsDeadlineExceeded(bucket->Wait(1, absl::ZeroDuration())));
  At(3);
  EXPECT_EQ(bucket->Tokens(), 0);
}

TEST_F(TokenBucketWaitTest, CanBeCancelled) {
  auto bucket = Make(4, 3);
  ASSERT_TRUE(bucket->Wait(2).ok());
  absl::Mutex mu;
  bool stopping = false;
  absl::Status status;
  Thread thread([&] {
    status = bucket->WaitBy(3, absl::InfiniteDuration(), [&](absl::Duration d) {
      EXPECT_EQ(d, 2 * kTick);
      internal::MutexLock lock(&mu);
      return !clock_.AwaitWithDeadline(&mu, absl::Condition(&stopping),
                                       clock_.TimeNow() + d);
    });
  });
  clock_.AwaitWaiters(1);
  EXPECT_EQ(bucket->Tokens(), -2);
  {
    internal::MutexLock lock(&mu);
    stopping = true;
  }
  thread.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_EQ(bucket->Tokens(), 1);  // They have been given back.
}

TEST_F(TokenBucketWaitTest, SleepsAsItIsTold) {
  auto bucket = Make(4, 1);
  std::vector<absl::Duration> slept;
  const auto sleep = [&](absl::Duration d) {
    slept.push_back(d);
    clock_.Step(d);
    return true;
  };
  EXPECT_TRUE(bucket->WaitBy(1, absl::InfiniteDuration(), sleep).ok());
  EXPECT_TRUE(bucket->WaitBy(1, kTick, sleep).ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(bucket->WaitBy(1, kTick / 2, sleep)));
  EXPECT_EQ(slept, std::vector<absl::Duration>{kTick});
  EXPECT_EQ(bucket->Tokens(), 0);
}

TEST_F(TokenBucketWaitTest, EndlessWaitIsAnError) {
  auto bucket = Make(0, 1);
  EXPECT_TRUE(bucket->Wait().ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(bucket->Wait()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(bucket->Wait(1, kTick)));
}

TEST_F(TokenBucketWaitTest, SleepsAfterTheRateWasZero) {
  auto bucket = Make(0, 1);
  EXPECT_TRUE(bucket->Allow());
  EXPECT_FALSE(bucket->Allow());
  ASSERT_TRUE(bucket->SetLimit(4).ok());
  EXPECT_EQ(WaitOnAThread(*bucket, 1), 1);
}

// ---- Rates of all sizes -----------------------------------------------------

class TokenBucketRateTest : public TokenBucketTest {};

TEST_F(TokenBucketRateTest, InfiniteIsNoLimit) {
  for (const int64_t burst : {0, 3}) {
    auto bucket = Make(kInfiniteRate, burst);
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(bucket->Allow(100));
      EXPECT_EQ(bucket->Reserve(kMaxInt64).Delay(), absl::ZeroDuration());
      EXPECT_TRUE(bucket->Wait(100).ok());
      EXPECT_EQ(bucket->Tokens(), burst);
      clock_.Step(absl::Seconds(1));
    }
    EXPECT_FALSE(bucket->Allow(-1));
    EXPECT_FALSE(bucket->Reserve(-1).ok());
  }
}

TEST_F(TokenBucketRateTest, InfiniteFillsTheBucket) {
  auto bucket = Make(4, 3);
  EXPECT_TRUE(bucket->Allow(3));
  ASSERT_TRUE(bucket->SetLimit(kInfiniteRate).ok());
  ASSERT_TRUE(bucket->SetLimit(4).ok());
  EXPECT_EQ(bucket->Tokens(), 0);  // No time has passed.
  ASSERT_TRUE(bucket->SetLimit(kInfiniteRate).ok());
  clock_.Step(absl::Nanoseconds(1));
  ASSERT_TRUE(bucket->SetLimit(4).ok());
  EXPECT_EQ(bucket->Tokens(), 3);
}

TEST_F(TokenBucketRateTest, ZeroGivesTheFirstTokensOnly) {
  auto bucket = Make(0, 2);
  EXPECT_TRUE(bucket->Allow());
  clock_.Step(absl::Hours(1000000));
  EXPECT_EQ(Reserve(*bucket, 2), kNever);
  EXPECT_TRUE(bucket->Reserve(1).ok());
  clock_.Step(absl::Hours(1000000));
  EXPECT_FALSE(bucket->Allow());
  EXPECT_EQ(bucket->Reserve(1).Delay(), absl::InfiniteDuration());
  EXPECT_EQ(bucket->Tokens(), 0);
}

TEST_F(TokenBucketRateTest, AtARateOfZeroDebtStays) {
  auto bucket = Make(4, 2);
  bucket->Reserve(2);
  bucket->Reserve(2);
  ASSERT_TRUE(bucket->SetLimit(0).ok());
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(bucket->Tokens(), -2);
  EXPECT_EQ(Reserve(*bucket, 0), kNever);
  EXPECT_FALSE(bucket->Allow(0));
}

TEST_F(TokenBucketRateTest, TinyIsNoMoreThanTheBurst) {
  for (const double rate :
       {1e-10, 1e-300, std::numeric_limits<double>::denorm_min()}) {
    auto bucket = Make(rate, 1);
    EXPECT_TRUE(bucket->Allow()) << rate;
    EXPECT_FALSE(bucket->Allow()) << rate;
    EXPECT_FALSE(bucket->Reserve().ok()) << rate;  // longer than 292 years
    EXPECT_TRUE(absl::IsDeadlineExceeded(bucket->Wait())) << rate;
    EXPECT_EQ(bucket->Tokens(), 0) << rate;
  }
}

TEST_F(TokenBucketRateTest, LongDelaysDoNotOverflow) {
  auto bucket = Make(1e-9, 1);  // one token in 32 years
  absl::Duration last = absl::ZeroDuration();
  int granted = 0;
  while (granted < 100) {
    const absl::Duration delay = bucket->Reserve().Delay();
    EXPECT_GE(delay, last);
    last = delay;
    if (delay == absl::InfiniteDuration()) break;
    ++granted;
  }
  EXPECT_EQ(granted, 10);
  EXPECT_EQ(last, absl::InfiniteDuration());
}

TEST_F(TokenBucketRateTest, HugeIsAsGoodAsInfinite) {
  auto bucket = Make(kMaxRate, 1);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(bucket->Reserve().Delay(), absl::ZeroDuration());
    clock_.Step(absl::Hours(1000));
    EXPECT_EQ(bucket->Tokens(), 1);
  }
}

TEST_F(TokenBucketRateTest, HugeBurst) {
  auto bucket = Make(4, kMaxInt64);
  EXPECT_TRUE(bucket->Allow(kMaxInt64));
  EXPECT_FALSE(bucket->Allow());
  EXPECT_EQ(Reserve(*bucket, 1), 1);
  EXPECT_EQ(Reserve(*bucket, kMaxInt64), kNever);
  Reservation reservation = bucket->Reserve(1000);
  reservation.Cancel();
  EXPECT_EQ(bucket->Tokens(), -1);
}

TEST_F(TokenBucketRateTest, AllOfTime) {
  auto bucket = Make(4, 2);
  for (const absl::Time t :
       {absl::InfiniteFuture(), absl::InfinitePast(), absl::UnixEpoch(),
        absl::InfiniteFuture(), absl::FromUnixSeconds(kMaxInt64),
        absl::FromUnixSeconds(kMinInt64), absl::UnixEpoch()}) {
    clock_.SetTime(t);
    bucket->Allow();
    Reservation reservation = bucket->Reserve(2);
    EXPECT_GE(reservation.Delay(), absl::ZeroDuration());
    reservation.Cancel();
    EXPECT_TRUE(bucket->SetLimit(4).ok());
    EXPECT_LE(bucket->Tokens(), 2);
  }
}

TEST_F(TokenBucketRateTest, OddFractionsOfANanosecond) {
  auto bucket = Make(kInfiniteRate, 1);
  clock_.Step(absl::Nanoseconds(1) / 4);
  EXPECT_EQ(bucket->Tokens(), 1);
  ASSERT_TRUE(bucket->SetLimit(4).ok());
  EXPECT_TRUE(bucket->Allow());
}

TEST_F(TokenBucketRateTest, Every) {
  EXPECT_EQ(TokenBucket::Every(absl::Nanoseconds(1)), 1e9);
  EXPECT_EQ(TokenBucket::Every(absl::Milliseconds(20)), 50);
  EXPECT_EQ(TokenBucket::Every(absl::Seconds(1)), 1);
  EXPECT_EQ(TokenBucket::Every(absl::Seconds(8)), 0.125);
  EXPECT_EQ(TokenBucket::Every(absl::ZeroDuration()), kInfiniteRate);
  EXPECT_EQ(TokenBucket::Every(absl::Seconds(-1)), kInfiniteRate);
  EXPECT_EQ(TokenBucket::Every(absl::InfiniteDuration()), 0);
}

// ---- Arguments --------------------------------------------------------------

class TokenBucketArgumentsTest : public TokenBucketTest {};

TEST_F(TokenBucketArgumentsTest, RejectsBadOnes) {
  const struct {
    double rate;
    int64_t burst;
    std::string field;
    std::string value;
  } kCases[] = {
      {-1.5, 1, "rate", "-1.5"},
      {-kInfiniteRate, 1, "rate", "-inf"},
      {kNotANumber, 1, "rate", "nan"},
      {4, -2, "burst", "-2"},
      {kInfiniteRate, -2, "burst", "-2"},
      {4.5, 0, "burst", "4.5"},
      {0, 0, "burst", "0"},
      {4, kMinInt64, "burst", "-9223372036854775808"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(TokenBucket::Create(test.rate, test.burst, &clock_).status(),
                IsInvalidArgument(test.field, test.value));
  }
  EXPECT_THAT(TokenBucket::Create(4, 1, nullptr).status(),
              IsInvalidArgument("clock", "null"));
}

TEST_F(TokenBucketArgumentsTest, SetLimitRejectsBadRates) {
  auto bucket = Make(4, 2);
  EXPECT_THAT(bucket->SetLimit(-1.5), IsInvalidArgument("rate", "-1.5"));
  EXPECT_THAT(bucket->SetLimit(kNotANumber), IsInvalidArgument("rate", "nan"));
  EXPECT_EQ(bucket->limit(), 4);

  auto unlimited = Make(kInfiniteRate, 0);
  EXPECT_THAT(unlimited->SetLimit(2.5), IsInvalidArgument("burst", "2.5"));
  EXPECT_EQ(unlimited->limit(), kInfiniteRate);
}

TEST_F(TokenBucketArgumentsTest, SetBurstRejectsBadBursts) {
  auto bucket = Make(4.5, 2);
  EXPECT_THAT(bucket->SetBurst(-3), IsInvalidArgument("burst", "-3"));
  EXPECT_THAT(bucket->SetBurst(0), IsInvalidArgument("burst", "4.5"));
  EXPECT_EQ(bucket->burst(), 2);
  EXPECT_TRUE(Make(kInfiniteRate, 2)->SetBurst(0).ok());
}

TEST(TokenBucketRealClockTest, IsTheDefault) {
  auto bucket = TokenBucket::Create(1e-3, 2).value();
  EXPECT_TRUE(bucket->Wait(2).ok());
  EXPECT_FALSE(bucket->Allow());
  EXPECT_GT(bucket->Reserve().Delay(), absl::Seconds(900));
}

}  // namespace
}  // namespace workqueue::token_bucket_test
