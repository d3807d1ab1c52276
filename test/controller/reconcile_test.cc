// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "controller/reconcile.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "clock/fake_clock.h"
#include "gtest/gtest.h"

namespace controller {
namespace {

TEST(TerminalErrorTest, OnlyMarkedErrorsAreTerminal) {
  EXPECT_FALSE(IsTerminalError(absl::OkStatus()));
  EXPECT_FALSE(IsTerminalError(absl::InternalError("broken")));
  EXPECT_TRUE(IsTerminalError(TerminalError(absl::InternalError("broken"))));
}

TEST(TerminalErrorTest, TheErrorIsOtherwiseAsItWas) {
  absl::Status error = absl::NotFoundError("gone");
  error.SetPayload("url", absl::Cord("payload"));
  const absl::Status terminal = TerminalError(error);
  EXPECT_EQ(terminal.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(terminal.message(), "gone");
  EXPECT_EQ(terminal.GetPayload("url"), absl::Cord("payload"));
  EXPECT_FALSE(IsTerminalError(error));
}

TEST(TerminalErrorTest, TheMarkStaysWithCopies) {
  const absl::StatusOr<Result> result = TerminalError(absl::AbortedError("x"));
  const absl::StatusOr<Result> copy = result;
  EXPECT_TRUE(IsTerminalError(copy.status()));
}

TEST(ReconcileContextTest, IsCancelledByStopAndAtTheDeadline) {
  const std::string name = "test";
  clocks::FakeClock clock;
  absl::Notification stop;
  const absl::Time deadline = clock.TimeNow() + absl::Seconds(1);
  const ReconcileContext context = {name,     &clock,         stop,
                                    deadline, /*priority=*/0, /*failures=*/0};
  const ReconcileContext endless = {
      name,          &clock, stop, absl::InfiniteFuture(), /*priority=*/0,
      /*failures=*/0};
  clock.Step(absl::Seconds(1) - absl::Nanoseconds(1));
  EXPECT_FALSE(context.Cancelled());
  clock.Step(absl::Nanoseconds(1));
  EXPECT_TRUE(context.Cancelled());
  EXPECT_FALSE(endless.Cancelled());
  stop.Notify();
  EXPECT_TRUE(endless.Cancelled());
}

}  // namespace
}  // namespace controller
