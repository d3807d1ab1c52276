// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of the limits of a controller's messages, and of what a `LogSink` is
// told about a failed reconciliation.

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/log_severity.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "ratelimit/rate_limiter.h"
#include "test/controller/controller_fixture.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/log_sink.h"
#include "workqueue/rate_limiting_queue.h"

namespace workqueue::controller_messages_test {
namespace {

using Strings = std::vector<std::string>;

constexpr absl::Duration kMs = absl::Milliseconds(1);
constexpr absl::Duration kSecond = absl::Seconds(1);

// A sink that records failed reconciliations as data, and drops messages.
class StructuredLog final : public LogSink {
 public:
  struct Failure {
    std::string controller;
    std::string item;
    int failures;
    absl::Status error;
    bool terminal;
    std::optional<absl::Duration> retry_after;
    int64_t left_out;
    std::string message;
  };

  void Log(absl::LogSeverity, absl::string_view) override {}

  void LogFailure(const ReconcileFailure& failure) override {
    internal::MutexLock lock(&mu_);
    failures_.push_back({std::string(failure.controller),
                         std::string(failure.item), failure.failures,
                         failure.error, failure.terminal, failure.retry_after,
                         failure.left_out, std::string(failure.message)});
  }

  // Returns the failures since the last call.
  std::vector<Failure> Failures() {
    internal::MutexLock lock(&mu_);
    return std::exchange(failures_, std::vector<Failure>());
  }

 private:
  absl::Mutex mu_;
  std::vector<Failure> failures_ ABSL_GUARDED_BY(mu_);
};

// The calls of a `CountingLimiter`.
struct LimiterCalls {
  std::atomic<int> whens{0};
  std::atomic<int> throws_left{0};  // how many calls of `When()` still throw
};

// A rate limiter whose delay is a second.
class CountingLimiter final : public RateLimiter<std::string> {
 public:
  explicit CountingLimiter(LimiterCalls* calls) : calls_(calls) {}

  absl::Duration When(const std::string&) override {
#ifdef ABSL_HAVE_EXCEPTIONS
    if (calls_->throws_left > 0) {
      --calls_->throws_left;
      throw std::runtime_error("thrown");
    }
#endif
    ++calls_->whens;
    return kSecond;
  }
  void Forget(const std::string&) override {}
  int NumRequeues(const std::string&) override { return calls_->whens; }

 private:
  LimiterCalls* const calls_;
};

class ControllerMessagesTest : public ControllerFixture {
 protected:
  static absl::StatusOr<ReconcileResult> Fail(const std::string&,
                                              const ReconcileContext&) {
    return absl::UnavailableError("later");
  }

  // Returns a started controller whose reconcile function fails.
  std::unique_ptr<Controller<std::string>> StartedFailing() {
    ControllerOptions<std::string> options = Options(Fail);
    options.log_sink = &structured_log_;
    return Started(std::move(options));
  }

  StructuredLog structured_log_;
};

TEST_P(ControllerMessagesTest, ManyKeysThatFailAreFewMessages) {
  constexpr int kKeys = 1000;
  // A controller would wake AwaitIdle() after each key. So this test waits for
  // the last key, and then for the end of its reconciliation.
  std::atomic<int> reconciled{0};
  absl::Notification ended[2];  // after the failures of each number
  ControllerOptions<std::string> options;
  options.name = "test";
  options.clock = &clock_;
  options.log_sink = &structured_log_;
  options.reconcile = [&](const std::string&) {
    const int n = ++reconciled;
    if (n % kKeys == 0) ended[n / kKeys - 1].Notify();
    return absl::UnavailableError("later");
  };
  const auto controller = New(std::move(options));
  const auto await_failures = [&](int number) {
    ended[number - 1].WaitForNotification();
    controller->AwaitIdle();
  };
  Strings keys;
  for (int i = 0; i < kKeys; ++i) keys.push_back(absl::StrCat(i));
  controller->queue().AddAll(keys);
  ASSERT_TRUE(controller->Start().ok());
  await_failures(1);
  std::vector<StructuredLog::Failure> told = structured_log_.Failures();
  ASSERT_EQ(told.size(), 10u);
  for (const StructuredLog::Failure& failure : told) {
    EXPECT_EQ(failure.failures, 1);
    EXPECT_EQ(failure.left_out, 0);
  }

  clock_.Step(kSecond);
  await_failures(2);
  told = structured_log_.Failures();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].failures, 2);
  EXPECT_EQ(told[0].left_out, kKeys - 10);
  EXPECT_EQ(told[0].message,
            absl::StrCat("controller test: reconciling ", told[0].item,
                         " (failures: 2): UNAVAILABLE: later (errors left out "
                         "before: 990)"));
  EXPECT_EQ(told[1].left_out, 0);
}

TEST_P(ControllerMessagesTest, EachPowerOfTwoOfAKeysFailuresIsTold) {
  const auto controller = StartedFailing();
  AddAndAwait(*controller, "a");
  for (int i = 0; i < 19; ++i) Step(*controller, absl::Hours(1));
  EXPECT_EQ(Noted().size(), 20u);
  std::vector<std::pair<int, int64_t>> told;
  for (const StructuredLog::Failure& failure : structured_log_.Failures()) {
    told.emplace_back(failure.failures, failure.left_out);
  }
  EXPECT_EQ(told, (std::vector<std::pair<int, int64_t>>{
                      {1, 0}, {2, 0}, {4, 1}, {8, 3}, {16, 7}}));
}

// The limiter is the user's.
TEST_P(ControllerMessagesTest, TheCountOfFailuresHasALargestValue) {
  static constexpr int kMost = std::numeric_limits<int>::max();
  LimiterCalls calls;
  calls.whens = kMost;
  ControllerOptions<std::string> options =
      Options([](const std::string&, const ReconcileContext& context) {
        EXPECT_EQ(context.failures, kMost);
        return TerminalError(absl::UnavailableError("never"));
      });
  options.rate_limiter = std::make_unique<CountingLimiter>(&calls);
  options.log_sink = &structured_log_;
  const auto controller = Started(std::move(options));
  AddAndAwait(*controller, "a");
  const std::vector<StructuredLog::Failure> told = structured_log_.Failures();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].failures, kMost);
}

TEST_P(ControllerMessagesTest, ASinkIsToldTheParts) {
  const auto controller = StartedFailing();
  AddAndAwait(*controller, "a\nb");
  Step(*controller, 5 * kMs);
  const std::vector<StructuredLog::Failure> told = structured_log_.Failures();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].controller, "test");
  EXPECT_EQ(told[0].item, "a\\nb");
  EXPECT_EQ(told[0].error, absl::UnavailableError("later"));
  EXPECT_FALSE(told[0].terminal);
  EXPECT_EQ(told[0].failures, 1);
  EXPECT_EQ(told[0].retry_after, 5 * kMs);
  EXPECT_EQ(told[0].message,
            "controller test: reconciling a\\nb (failures: 1): UNAVAILABLE: "
            "later");
  EXPECT_EQ(told[1].failures, 2);
  EXPECT_EQ(told[1].retry_after, 10 * kMs);
}

TEST_P(ControllerMessagesTest, ATerminalErrorIsAlwaysTold) {
  ControllerOptions<std::string> options =
      Options([](const std::string&, const ReconcileContext& context) {
        absl::Status error = absl::NotFoundError("gone");
        if (context.failures == 2) return TerminalError(error);
        return error;
      });
  options.log_sink = &structured_log_;
  const auto controller = Started(std::move(options));
  AddAndAwait(*controller, "a");
  for (int i = 0; i < 3; ++i) Step(*controller, kSecond);
  const std::vector<StructuredLog::Failure> told = structured_log_.Failures();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[2].failures, 3);
  EXPECT_TRUE(told[2].terminal);
  EXPECT_EQ(told[2].retry_after, std::nullopt);
  EXPECT_TRUE(IsTerminalError(told[2].error));
}

// Only a queue that was given knows its rate limiter.
TEST_P(ControllerMessagesTest, TheDelayOfAGivenQueueIsUnknown) {
  ControllerOptions<std::string> options = Options(Fail);
  RateLimitingQueueOptions<std::string> queue_options;
  queue_options.clock = &clock_;
  options.queue = std::make_unique<RateLimitingQueue<std::string>>(
      std::move(queue_options));
  options.log_sink = &structured_log_;
  const auto controller = Started(std::move(options));
  AddAndAwait(*controller, "a");
  Step(*controller, 5 * kMs);
  const std::vector<StructuredLog::Failure> told = structured_log_.Failures();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].failures, 2);
  EXPECT_EQ(told[1].retry_after, std::nullopt);
}

TEST_P(ControllerMessagesTest, TheRateLimiterIsAskedOncePerFailure) {
  LimiterCalls calls;
  ControllerOptions<std::string> options = Options(Fail);
  options.rate_limiter = std::make_unique<CountingLimiter>(&calls);
  const auto controller = Started(std::move(options));
  AddAndAwait(*controller, "a");
  EXPECT_EQ(calls.whens, 1);
  Step(*controller, kSecond);
  EXPECT_EQ(calls.whens, 2);
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}, {"a", 1000, 1}}));
}

// The message about a source has a limit of its own.
TEST_P(ControllerMessagesTest, AFloodOfFailuresDoesNotHideOtherErrors) {
  absl::Notification end;
  ControllerOptions<std::string> options = Options(Fail);
  Source<std::string> source;
  source.name = "pods";
  source.run = [&end](SourceContext<std::string>&) {
    end.WaitForNotification();
    return absl::DataLossError("torn");
  };
  options.sources.push_back(std::move(source));
  const auto controller = Started(std::move(options));
  for (int i = 0; i < 100; ++i) controller->queue().Add(absl::StrCat(i));
  controller->AwaitIdle();
  EXPECT_EQ(log_.messages().size(), 2u + 10u);
  end.Notify();
  EXPECT_EQ(log_.Await(2 + 10 + 1),
            "E controller test: DATA_LOSS: source pods: torn");
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_P(ControllerMessagesTest, ManyErrorsOfTheQueueAreFewMessages) {
  LimiterCalls calls;
  calls.throws_left = 1000;
  ControllerOptions<std::string> options = Options(Fail);
  options.rate_limiter = std::make_unique<CountingLimiter>(&calls);
  options.workers = 100;
  const auto controller = Started(std::move(options));
  for (int i = 0; i < 100; ++i) controller->queue().Add(absl::StrCat(i));
  // Each worker waits to try again, and so does the queue's thread.
  clock_.AwaitWaiters(101);
  int errors_of_the_queue = 0;
  for (const std::string& message : log_.messages()) {
    if (absl::StrContains(message, "INTERNAL: thrown")) ++errors_of_the_queue;
  }
  EXPECT_EQ(errors_of_the_queue, 10);
}

TEST_P(ControllerMessagesTest, ALimiterThatThrowsIsAskedAgainASecondLater) {
  LimiterCalls calls;
  calls.throws_left = 2;
  ControllerOptions<std::string> options = Options(Fail);
  options.rate_limiter = std::make_unique<CountingLimiter>(&calls);
  const auto controller = Started(std::move(options));
  controller->queue().Add("a");
  EXPECT_EQ(log_.Await(3),
            "E controller test: choosing the delay of a: INTERNAL: thrown");
  EXPECT_EQ(log_.Await(4),
            "E controller test: reconciling a (failures: 1): UNAVAILABLE: "
            "later");
  EXPECT_EQ(log_.Await(5),
            "E controller test: adding again a: INTERNAL: thrown");
  clock_.AwaitWaiters(2);
  clock_.Step(kSecond);
  controller->AwaitIdle();
  Step(*controller, kSecond);
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}, {"a", 2000, 1}}));
}

TEST_P(ControllerMessagesTest, WhatASinkThrowsIsDropped) {
  class ThrowingLog final : public LogSink {
   public:
    void Log(absl::LogSeverity, absl::string_view) override {}
    void LogFailure(const ReconcileFailure&) override { throw 1; }
  };
  ThrowingLog log;
  ControllerOptions<std::string> options = Options(Fail);
  options.log_sink = &log;
  const auto controller = Started(std::move(options));
  AddAndAwait(*controller, "a");
  Step(*controller, 5 * kMs);
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}, {"a", 5, 1}}));
}

#endif  // ABSL_HAVE_EXCEPTIONS

WORKQUEUE_INSTANTIATE(ControllerMessagesTest);

}  // namespace
}  // namespace workqueue::controller_messages_test
