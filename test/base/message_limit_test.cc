// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/base/error_log.h"
#include "workqueue/clock/fake_clock.h"

namespace workqueue {
namespace internal::message_limit_test {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);

class MessageLimitTest : public testing::Test {
 protected:
  // Tries to write `messages` messages. Returns how many were admitted.
  int Admitted(int messages) {
    int admitted = 0;
    for (int i = 0; i < messages; ++i) {
      const std::optional<int64_t> left_out = limit_.Admit(now_);
      if (!left_out.has_value()) continue;
      ++admitted;
      told_ += *left_out;
    }
    return admitted;
  }

  absl::Time now_ = absl::UnixEpoch();
  int64_t told_ = 0;  // the messages that were left out, as told
  MessageLimit limit_;
};

TEST_F(MessageLimitTest, AdmitsTenAtOnceAndThenTwoPerSecond) {
  EXPECT_EQ(Admitted(1000), 10);
  EXPECT_EQ(told_, 0);
  now_ += kSecond / 2 - absl::Nanoseconds(1);
  EXPECT_EQ(Admitted(1000), 0);
  now_ += absl::Nanoseconds(1);
  EXPECT_EQ(Admitted(1000), 1);
  EXPECT_EQ(told_, 990 + 1000);
  now_ += 3 * kSecond;
  EXPECT_EQ(Admitted(1000), 6);
  EXPECT_EQ(told_, 990 + 1000 + 999);
}

TEST_F(MessageLimitTest, AdmitsNoMoreThanTenAfterALongPause) {
  EXPECT_EQ(Admitted(1000), 10);
  now_ += 1000 * kSecond;
  EXPECT_EQ(Admitted(1000), 10);
}

TEST_F(MessageLimitTest, TwoPerSecondAreAlwaysAdmitted) {
  EXPECT_EQ(Admitted(1000), 10);
  for (int i = 0; i < 1000; ++i) {
    now_ += kSecond;
    ASSERT_EQ(Admitted(2), 2);
  }
}

TEST_F(MessageLimitTest, CountsWhatTheCallerLeavesOut) {
  limit_.LeaveOut();
  limit_.LeaveOut();
  EXPECT_EQ(limit_.Admit(now_), 2);
  EXPECT_EQ(limit_.Admit(now_), 0);
}

TEST_F(MessageLimitTest, TheClockMayGoBack) {
  EXPECT_EQ(Admitted(1000), 10);
  now_ -= absl::Hours(1);
  EXPECT_EQ(Admitted(1000), 10);
  now_ -= absl::Nanoseconds(1);
  EXPECT_EQ(Admitted(1000), 10);
}

TEST_F(MessageLimitTest, TheTimeMayBeInfinite) {
  now_ = absl::InfiniteFuture();
  EXPECT_GE(Admitted(20), 10);
  now_ = absl::InfinitePast();
  EXPECT_GE(Admitted(20), 10);
  now_ = absl::UnixEpoch();
  EXPECT_EQ(Admitted(20), 10);
}

TEST(LastingErrorTest, TellsTheBeginningTheDurationAndTheEnd) {
  FakeClock clock;
  RecordingLog log;
  LastingError error("queue", "q", &log, &clock, "has no server",
                     "has a server");
  error.Over();
  const absl::Status why = absl::UnavailableError("gone");
  for (int i = 0; i < 200; ++i) {  // for 19.9 seconds
    error.Lasts(why);
    clock.Step(kSecond / 10);
  }
  error.Over();
  error.Over();
  error.Lasts(why, clock.TimeNow() - 3 * kSecond);
  EXPECT_THAT(log.messages(),
              testing::ElementsAre(
                  "E queue q: has no server: UNAVAILABLE: gone",
                  "E queue q: has no server, for 10s: UNAVAILABLE: gone",
                  "I queue q: has a server, after 20s",
                  "E queue q: has no server, for 3s: UNAVAILABLE: gone"));
}

}  // namespace
}  // namespace internal::message_limit_test
}  // namespace workqueue
