// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/retry_after.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace workqueue::retry_after_test {
namespace {

constexpr char kUrl[] = "workqueue/RetryAfter";

constexpr absl::Duration kLeast = absl::Milliseconds(100);

absl::Status Busy() { return absl::ResourceExhaustedError("busy"); }

TEST(RetryAfterTest, OnlyAMarkedErrorChooses) {
  EXPECT_EQ(RetryAfterOf(absl::OkStatus()), std::nullopt);
  EXPECT_EQ(RetryAfterOf(Busy()), std::nullopt);
  EXPECT_EQ(RetryAfterOf(RetryAfterError(Busy(), absl::Seconds(30))),
            absl::Seconds(30));
}

TEST(RetryAfterTest, TheErrorIsOtherwiseAsItWas) {
  absl::Status error = Busy();
  error.SetPayload("url", absl::Cord("payload"));
  const absl::Status marked = RetryAfterError(error, absl::Seconds(1));
  EXPECT_EQ(marked.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(marked.message(), "busy");
  EXPECT_EQ(marked.GetPayload("url"), absl::Cord("payload"));
  EXPECT_EQ(RetryAfterOf(error), std::nullopt);
}

TEST(RetryAfterTest, IsAnErrorInAnyCase) {
  const absl::Status error =
      RetryAfterError(absl::OkStatus(), absl::Seconds(1));
  EXPECT_EQ(error.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(RetryAfterOf(error), absl::Seconds(1));
  EXPECT_EQ(RetryAfterError(absl::OkStatus(), absl::InfiniteDuration()).code(),
            absl::StatusCode::kInternal);
}

TEST(RetryAfterTest, TheMarkStaysWithCopies) {
  const absl::StatusOr<int> result = RetryAfterError(Busy(), absl::Seconds(1));
  const absl::StatusOr<int> copy = result;
  EXPECT_EQ(RetryAfterOf(copy.status()), absl::Seconds(1));
}

// A status travels as its code, its message and its payloads.
TEST(RetryAfterTest, TheMarkIsAText) {
  const absl::Status marked = RetryAfterError(Busy(), absl::Seconds(90));
  EXPECT_EQ(marked.GetPayload(kUrl), absl::Cord("1m30s"));
  absl::Status received(marked.code(), marked.message());
  received.SetPayload(kUrl, absl::Cord("1m30s"));
  EXPECT_EQ(received, marked);
  EXPECT_EQ(RetryAfterOf(received), absl::Seconds(90));
}

TEST(RetryAfterTest, TheTextIsExact) {
  const auto expect_kept = [](absl::Duration d) {
    ASSERT_EQ(RetryAfterOf(RetryAfterError(Busy(), d)), d) << d;
  };
  expect_kept(kLeast);
  expect_kept(kLeast + absl::Nanoseconds(1) / 4);
  expect_kept(absl::Seconds(60) - absl::Nanoseconds(1) / 4);
  expect_kept(absl::Hours(24 * 365 * 292));
  expect_kept(absl::Seconds(std::numeric_limits<int64_t>::max()));
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    // Of each order of magnitude, as often as of any other.
    const auto quarters = static_cast<int64_t>(random() >> (1 + random() % 63));
    expect_kept(kLeast + absl::Nanoseconds(1) / 4 * quarters);
  }
}

TEST(RetryAfterTest, AShortOrNegativeDelayIsTheLeastOne) {
  for (const absl::Duration d :
       {kLeast - absl::Nanoseconds(1), absl::Nanoseconds(1) / 4,
        absl::ZeroDuration(), -absl::Nanoseconds(1), -absl::Hours(1),
        -absl::InfiniteDuration()}) {
    EXPECT_EQ(RetryAfterOf(RetryAfterError(Busy(), d)), kLeast);
  }
  absl::Status received = Busy();
  received.SetPayload(kUrl, absl::Cord("0"));
  EXPECT_EQ(RetryAfterOf(received), kLeast);
}

TEST(RetryAfterTest, AnInfiniteDelayIsNone) {
  EXPECT_EQ(RetryAfterError(Busy(), absl::InfiniteDuration()), Busy());
}

TEST(RetryAfterTest, TheLastMarkCounts) {
  const absl::Status twice =
      RetryAfterError(RetryAfterError(Busy(), absl::Hours(1)), absl::Hours(2));
  EXPECT_EQ(RetryAfterOf(twice), absl::Hours(2));
}

TEST(RetryAfterTest, AWrongMarkIsNone) {
  for (const char* text :
       {"", "soon", "30", "30 s", "30sec", "-1s", "-0.5ns", "inf", "-inf",
        "1e3s", "Wed, 21 Oct 2026 07:28:00 GMT",
        "99999999999999999999999999h"}) {
    absl::Status error = Busy();
    error.SetPayload(kUrl, absl::Cord(text));
    EXPECT_EQ(RetryAfterOf(error), std::nullopt) << text;
  }
  absl::Status error = Busy();
  error.SetPayload(kUrl, absl::Cord(std::string("1s\0", 3)));
  EXPECT_EQ(RetryAfterOf(error), std::nullopt);
}

}  // namespace
}  // namespace workqueue::retry_after_test
