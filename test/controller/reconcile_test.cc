// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/reconcile.h"

#include <functional>
#include <optional>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/clock/fake_clock.h"

namespace workqueue::reconcile_test {
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

TEST(TerminalErrorTest, IsAnErrorInAnyCase) {
  const absl::Status status = TerminalError(absl::OkStatus());
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(IsTerminalError(status));
}

TEST(TerminalErrorTest, TheMarkStaysWithCopies) {
  const absl::StatusOr<ReconcileResult> result =
      TerminalError(absl::AbortedError("x"));
  const absl::StatusOr<ReconcileResult> copy = result;
  EXPECT_TRUE(IsTerminalError(copy.status()));
}

TEST(ReconcileContextTest, IsCancelledByStopAndAtTheDeadline) {
  const std::string name = "test";
  FakeClock clock;
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

TEST(ReconcileContextTest, RemainingIsTheTimeToTheDeadline) {
  const std::string name = "test";
  FakeClock clock;
  absl::Notification stop;
  const ReconcileContext context = {
      name,           &clock, stop, clock.TimeNow() + absl::Seconds(10),
      /*priority=*/0,
      /*failures=*/0};
  EXPECT_EQ(context.Remaining(), absl::Seconds(10));
  clock.Step(absl::Seconds(7));
  EXPECT_EQ(context.Remaining(), absl::Seconds(3));
  const absl::Time before = absl::Now();
  const absl::Time wall_deadline = context.WallDeadline();
  EXPECT_GE(wall_deadline, before + absl::Seconds(3));
  EXPECT_LE(wall_deadline, absl::Now() + absl::Seconds(3));
  clock.Step(absl::Seconds(7));
  EXPECT_EQ(context.Remaining(), absl::ZeroDuration());
}

TEST(ReconcileContextTest, WithoutADeadlineRemainingIsInfinite) {
  const std::string name = "test";
  FakeClock clock;
  absl::Notification stop;
  const ReconcileContext context = {
      name,          &clock, stop, absl::InfiniteFuture(), /*priority=*/0,
      /*failures=*/0};
  EXPECT_EQ(context.Remaining(), absl::InfiniteDuration());
  EXPECT_EQ(context.WallDeadline(), absl::InfiniteFuture());
}

// Tests of each kind of function that a `ReconcileFunction` can be made of.
class ReconcileFunctionTest : public testing::Test {
 protected:
  static constexpr absl::Duration kSecond = absl::Seconds(1);

  absl::StatusOr<ReconcileResult> Call(
      const ReconcileFunction<std::string>& function, const std::string& item) {
    const ReconcileContext context = {
        name_,         &clock_, stop_, absl::InfiniteFuture(), /*priority=*/0,
        /*failures=*/3};
    return function(item, context);
  }

 private:
  const std::string name_ = "test";
  FakeClock clock_;
  absl::Notification stop_;
};

absl::Status FailIfBad(const std::string& item) {
  return item == "bad" ? absl::AbortedError("bad") : absl::OkStatus();
}

absl::Status FailAtThird(const std::string& item,
                         const ReconcileContext& context) {
  return context.failures == 3 ? absl::AbortedError(item) : absl::OkStatus();
}

TEST_F(ReconcileFunctionTest, AnOkStatusIsAResult) {
  const absl::StatusOr<ReconcileResult> result = Call(FailIfBad, "good");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->requeue_after, absl::ZeroDuration());
  EXPECT_EQ(result->priority, std::nullopt);
  EXPECT_EQ(Call(FailIfBad, "bad").status(), absl::AbortedError("bad"));
}

TEST_F(ReconcileFunctionTest, AFunctionMayTakeTheContext) {
  EXPECT_EQ(Call(FailAtThird, "a").status(), absl::AbortedError("a"));
  const auto function =
      [](const std::string&,
         const ReconcileContext& context) -> absl::StatusOr<ReconcileResult> {
    ReconcileResult result;
    result.requeue_after = context.failures * kSecond;
    return result;
  };
  EXPECT_EQ(Call(function, "a")->requeue_after, 3 * kSecond);
}

TEST_F(ReconcileFunctionTest, AResultIsASuccess) {
  const auto function = [](const std::string&) {
    ReconcileResult result;
    result.priority = 7;
    return result;
  };
  EXPECT_EQ(Call(function, "a")->priority, 7);
}

TEST_F(ReconcileFunctionTest, MayHaveAStateOfItsOwn) {
  const ReconcileFunction<std::string> function =
      [calls = 0](const std::string&) mutable {
        ReconcileResult result;
        result.requeue_after = ++calls * kSecond;
        return result;
      };
  EXPECT_EQ(Call(function, "a")->requeue_after, 1 * kSecond);
  EXPECT_EQ(Call(function, "a")->requeue_after, 2 * kSecond);
}

TEST_F(ReconcileFunctionTest, IsEmptyIfMadeOfNothing) {
  using Function = ReconcileFunction<std::string>;
  absl::Status (*const null)(const std::string&) = nullptr;
  EXPECT_FALSE(Function());
  EXPECT_FALSE(Function(nullptr));
  EXPECT_FALSE(Function(null));
  EXPECT_FALSE(Function(std::function<absl::Status(const std::string&)>()));
  EXPECT_TRUE(Function(FailIfBad));
  EXPECT_TRUE(Function(&FailAtThird));
  EXPECT_TRUE(Function([](const std::string&) { return ReconcileResult(); }));
}

TEST_F(ReconcileFunctionTest, IsMadeOfNothingElse) {
  using Function = ReconcileFunction<std::string>;
  EXPECT_FALSE((std::is_constructible_v<Function, int>));
  EXPECT_FALSE((std::is_constructible_v<Function, absl::Status (*)(int)>));
}

}  // namespace
}  // namespace workqueue::reconcile_test
