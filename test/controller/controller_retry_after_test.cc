// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of errors that choose the delay of a controller's next attempt.

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "ratelimit/rate_limiter.h"
#include "test/controller/controller_fixture.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/forwarding_queue.h"
#include "workqueue/log_sink.h"
#include "workqueue/priority_queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/retry_after.h"

namespace workqueue::controller_retry_after_test {
namespace {

constexpr absl::Duration kNs = absl::Nanoseconds(1);
constexpr absl::Duration kSecond = absl::Seconds(1);

absl::Status Busy() { return absl::ResourceExhaustedError("busy"); }

// Keeps the delays of the failures.
class DelayLog final : public LogSink {
 public:
  void Log(absl::LogSeverity, absl::string_view) override {}
  void LogFailure(const ReconcileFailure& failure) override {
    internal::MutexLock lock(&mu_);
    delays_.push_back(failure.retry_after);
  }

  std::vector<std::optional<absl::Duration>> Delays() {
    internal::MutexLock lock(&mu_);
    return delays_;
  }

 private:
  absl::Mutex mu_;
  std::vector<std::optional<absl::Duration>> delays_ ABSL_GUARDED_BY(mu_);
};

class ControllerRetryAfterTest : public ControllerFixture {
 protected:
  // Returns options of a controller whose first attempts return `errors`, and
  // whose later ones succeed.
  ControllerOptions<std::string> FailWith(std::vector<absl::Status> errors) {
    auto next = std::make_shared<std::atomic<size_t>>(0);
    ControllerOptions<std::string> options = Options(
        [next, errors = std::move(errors)](
            const std::string&,
            const ReconcileContext&) -> absl::StatusOr<ReconcileResult> {
          const size_t i = (*next)++;
          if (i < errors.size()) return errors[i];
          return ReconcileResult();
        });
    options.log_sink = &delays_;
    return options;
  }

  // From 1 s, up to a minute.
  static std::unique_ptr<RateLimiter<std::string>> NewLimiter() {
    return *ItemExponentialFailureRateLimiter<std::string>::Create(
        kSecond, absl::Minutes(1));
  }

  DelayLog delays_;
};

TEST_P(ControllerRetryAfterTest, TheItemIsTriedAgainExactlyThen) {
  const auto controller =
      Started(FailWith({RetryAfterError(Busy(), 30 * kSecond)}));
  AddAndAwait(*controller, "a");
  EXPECT_EQ(controller->queue().NumRequeues("a"), 1);
  Step(*controller, 30 * kSecond - kNs);
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}}));
  Step(*controller, kNs);
  EXPECT_EQ(Noted(), (Notes{{"a", 30000, 1}}));
  EXPECT_EQ(controller->queue().NumRequeues("a"), 0);
  Step(*controller, absl::Hours(1));
  EXPECT_EQ(Noted(), Notes());
  EXPECT_EQ(delays_.Delays(),
            (std::vector<std::optional<absl::Duration>>{30 * kSecond}));
}

// The failures before and after count alike.
TEST_P(ControllerRetryAfterTest, TheLimiterGoesOnCounting) {
  ControllerOptions<std::string> options =
      FailWith({Busy(), RetryAfterError(Busy(), 5 * kSecond), Busy()});
  options.rate_limiter = NewLimiter();
  const auto controller = Started(std::move(options));
  AddAndAwait(*controller, "a");
  for (const int seconds : {1, 5, 4}) Step(*controller, seconds * kSecond);
  EXPECT_EQ(
      Noted(),
      (Notes{{"a", 0, 0}, {"a", 1000, 1}, {"a", 6000, 2}, {"a", 10000, 3}}));
}

TEST_P(ControllerRetryAfterTest, TheLimitersMaximumShortensTheDelay) {
  ControllerOptions<std::string> options =
      FailWith({RetryAfterError(Busy(), absl::Hours(1))});
  options.rate_limiter = NewLimiter();
  const auto controller = Started(std::move(options));
  AddAndAwait(*controller, "a");
  Step(*controller, absl::Minutes(1) - kNs);
  EXPECT_EQ(Noted().size(), 1u);
  Step(*controller, kNs);
  EXPECT_EQ(Noted(), (Notes{{"a", 60000, 1}}));
  EXPECT_EQ(delays_.Delays(),
            (std::vector<std::optional<absl::Duration>>{absl::Minutes(1)}));
}

TEST_P(ControllerRetryAfterTest, NoDelayIsNoHotLoop) {
  const auto controller =
      Started(FailWith({RetryAfterError(Busy(), absl::ZeroDuration()),
                        RetryAfterError(Busy(), -kSecond)}));
  AddAndAwait(*controller, "a");
  for (int i = 0; i < 2; ++i) Step(*controller, kSecond / 10);
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}, {"a", 100, 1}, {"a", 200, 2}}));
}

TEST_P(ControllerRetryAfterTest, AWrongMarkLeavesTheDelayToTheLimiter) {
  absl::Status wrong = Busy();
  wrong.SetPayload("workqueue/RetryAfter", absl::Cord("soon"));
  ControllerOptions<std::string> options =
      FailWith({wrong, RetryAfterError(Busy(), absl::InfiniteDuration())});
  options.rate_limiter = NewLimiter();
  const auto controller = Started(std::move(options));
  AddAndAwait(*controller, "a");
  for (const int seconds : {1, 2}) Step(*controller, seconds * kSecond);
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}, {"a", 1000, 1}, {"a", 3000, 2}}));
}

TEST_P(ControllerRetryAfterTest, ATerminalErrorIsNotTriedAgain) {
  for (const absl::Status& error :
       {TerminalError(RetryAfterError(Busy(), kSecond)),
        RetryAfterError(TerminalError(Busy()), kSecond)}) {
    const auto controller = Started(FailWith({error}));
    AddAndAwait(*controller, "a");
    Step(*controller, absl::Hours(1));
    EXPECT_EQ(Noted().size(), 1u);
    EXPECT_EQ(controller->queue().NumRequeues("a"), 0);
  }
}

TEST_P(ControllerRetryAfterTest, TheItemKeepsItsPriority) {
  const auto controller = Started(FailWith({RetryAfterError(Busy(), kSecond)}));
  AddOptions options;
  options.priority = 7;
  controller->queue().AsPriorityQueue()->AddWithOptions(options, {"a"});
  controller->AwaitIdle();
  Step(*controller, kSecond);
  EXPECT_EQ(NotedPriorities(), (std::vector<int>{7, 7}));
}

// The mark, a payload of the error, is in no text.
TEST_P(ControllerRetryAfterTest, TheTextIsThatOfTheError) {
  const absl::Status error = RetryAfterError(Busy(), kSecond);
  ControllerOptions<std::string> options = FailWith({error, error});
  options.log_sink = &log_;
  options.failures.max_failures = 2;
  const auto controller = Started(std::move(options));
  AddAndAwait(*controller, "a");
  const auto failed = controller->failures().Find("a");
  ASSERT_TRUE(failed.ok());
  EXPECT_EQ(failed->last_error, "RESOURCE_EXHAUSTED: busy");
  Step(*controller, kSecond);
  const auto parked = controller->failures().Find("a");
  ASSERT_TRUE(parked.ok());
  EXPECT_EQ(parked->last_error, "RESOURCE_EXHAUSTED: busy");
  for (const std::string& message : log_.messages()) {
    EXPECT_EQ(message.find("workqueue/"), std::string::npos) << message;
  }
}

// A given queue, with or without priorities, asks its own rate limiter.
TEST_P(ControllerRetryAfterTest, AGivenQueueTakesTheDelay) {
  for (const bool with_priorities : {true, false}) {
    ControllerOptions<std::string> options =
        FailWith({RetryAfterError(Busy(), 30 * kSecond),
                  RetryAfterError(Busy(), absl::Hours(1))});
    if (with_priorities) {
      PriorityQueueOptions<std::string> queue_options;
      queue_options.clock = &clock_;
      queue_options.rate_limiter = NewLimiter();
      options.queue = std::make_unique<PriorityQueue<std::string>>(
          std::move(queue_options));
    } else {
      RateLimitingQueueOptions<std::string> queue_options;
      queue_options.clock = &clock_;
      queue_options.rate_limiter = NewLimiter();
      options.queue = std::make_unique<RateLimitingQueue<std::string>>(
          std::move(queue_options));
    }
    const auto controller = Started(std::move(options));
    AddAndAwait(*controller, "a");
    Step(*controller, 30 * kSecond - kNs);
    EXPECT_EQ(Noted().size(), 1u);
    Step(*controller, kNs);
    EXPECT_EQ(Noted().size(), 1u);
    EXPECT_EQ(controller->queue().NumRequeues("a"), 2);
    Step(*controller, absl::Minutes(1) - kNs);
    EXPECT_EQ(Noted(), Notes());
    Step(*controller, kNs);
    EXPECT_EQ(Noted().size(), 1u);
    EXPECT_EQ(controller->queue().NumRequeues("a"), 0);
  }
}

// Keeps the options of its additions.
class OptionsQueue final
    : public internal::ForwardingRateLimitingQueue<std::string> {
 public:
  explicit OptionsQueue(Clock* clock)
      : ForwardingRateLimitingQueue(Below(clock)) {}

  std::vector<AddOptions> Added() {
    internal::MutexLock lock(&mu_);
    return added_;
  }

  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const std::string> items) override {
    {
      internal::MutexLock lock(&mu_);
      added_.push_back(options);
    }
    return below().AddItems(options, items);
  }

 private:
  static std::unique_ptr<PriorityInterface<std::string>> Below(Clock* clock) {
    PriorityQueueOptions<std::string> options;
    options.clock = clock;
    return std::make_unique<PriorityQueue<std::string>>(std::move(options));
  }

  absl::Mutex mu_;
  std::vector<AddOptions> added_ ABSL_GUARDED_BY(mu_);
};

TEST_P(ControllerRetryAfterTest, OnlyAnErrorIsARetry) {
  ControllerOptions<std::string> options = Options(
      [](const std::string&,
         const ReconcileContext& context) -> absl::StatusOr<ReconcileResult> {
        if (context.failures == 0) return Busy();
        if (context.failures == 1) return RetryAfterError(Busy(), kSecond);
        return ReconcileResult{/*requeue_after=*/absl::Hours(1)};
      });
  auto queue = std::make_unique<OptionsQueue>(&clock_);
  OptionsQueue& recorded = *queue;
  options.queue = std::move(queue);
  const auto controller = Started(std::move(options));
  AddAndAwait(*controller, "a");
  for (int i = 0; i < 2; ++i) Step(*controller, kSecond);
  const std::vector<AddOptions> added = recorded.Added();
  ASSERT_EQ(added.size(), 4u);
  EXPECT_FALSE(added[0].retry) << "the first addition";
  for (const int i : {1, 2}) {
    EXPECT_TRUE(added[i].rate_limited);
    EXPECT_TRUE(added[i].retry);
  }
  EXPECT_EQ(added[1].retry_after, std::nullopt);
  EXPECT_EQ(added[2].retry_after, kSecond);
  EXPECT_FALSE(added[3].rate_limited);
  EXPECT_FALSE(added[3].retry);
  EXPECT_EQ(added[3].retry_after, std::nullopt);
}

WORKQUEUE_INSTANTIATE(ControllerRetryAfterTest);

}  // namespace
}  // namespace workqueue::controller_retry_after_test
