// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/rate_limiting_queue.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "ratelimit/rate_limiter.h"
#include "test/workqueue/lifo.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/queue.h"
#include "workqueue/snapshot.h"

namespace workqueue::rate_limiting_queue_test {
namespace {

using Strings = std::vector<std::string>;

constexpr absl::Duration kNs = absl::Nanoseconds(1);
constexpr absl::Duration kMs = absl::Milliseconds(1);

// Returns `delay` for each item, and records the calls.
class TestLimiter final : public RateLimiter<std::string> {
 public:
  struct Log {
    absl::Duration delay;
    absl::Duration max_delay = absl::InfiniteDuration();
    Strings calls;
    bool alive = true;
    bool throws = false;
  };

  explicit TestLimiter(std::shared_ptr<Log> log) : log_(std::move(log)) {}
  ~TestLimiter() override { log_->alive = false; }

  absl::Duration When(const std::string& item) override {
    Note("When", item);
    return log_->delay;
  }
  void Forget(const std::string& item) override { Note("Forget", item); }
  int NumRequeues(const std::string& item) override {
    Note("NumRequeues", item);
    return 42;
  }
  absl::Duration MaxDelay() const override { return log_->max_delay; }

 private:
  void Note(const std::string& call, const std::string& item) {
#ifdef ABSL_HAVE_EXCEPTIONS
    if (log_->throws) throw 1;
#endif
    log_->calls.push_back(call + " " + item);
  }

  const std::shared_ptr<Log> log_;
};

// Records the calls.
class TestDelayingQueue final : public DelayingInterface<std::string> {
 public:
  explicit TestDelayingQueue(Strings* calls) : calls_(calls) {}

  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const std::string> items) override {
    std::string call = "AddItems " + absl::StrJoin(items, " ");
    if (options.after.has_value()) {
      absl::StrAppend(&call, " ", absl::FormatDuration(*options.after));
    }
    if (options.reschedule) call += " anew";
    Note(std::move(call));
    return absl::OkStatus();
  }
  absl::Status GetItem(absl::Duration timeout,
                       ItemReceiver<std::string> receive) override {
    Note("GetItem " + absl::FormatDuration(timeout));
    receive("got", /*priority=*/0);
    return absl::OkStatus();
  }
  absl::StatusOr<bool> EndProcessing(const std::string& item) override {
    return Note("EndProcessing " + item);
  }
  absl::Status AcquireInto(Lease<std::string>*,
                           absl::Duration timeout) override {
    Note("AcquireInto " + absl::FormatDuration(timeout));
    return absl::OkStatus();
  }
  absl::StatusOr<LeaseBatch<std::string>> AcquireUpToWithTimeout(
      size_t, absl::Duration) override {
    Note("AcquireUpToWithTimeout");
    return LeaseBatch<std::string>();
  }
  AcquireId AcquireNextAsync(Lease<std::string>*, Executor*,
                             AcquireCallback<std::string>) override {
    Note("AcquireNextAsync");
    return AcquireId();
  }
  bool CancelAcquire(AcquireId) override { return Note("CancelAcquire"); }
  absl::StatusOr<Snapshot<std::string>> TakeSnapshotWith(
      const SnapshotOptions<std::string>& options) const override {
    Note(options.only != nullptr
             ? "TakeSnapshotWith " + *options.only
             : "TakeSnapshotWith " + std::to_string(options.max));
    Snapshot<std::string> snapshot;
    snapshot.num_queued = 42;
    return snapshot;
  }
  absl::StatusOr<bool> ShutDownAndDrain(
      std::optional<absl::Duration> drain) override {
    return Note("ShutDownAndDrain " +
                (drain.has_value() ? absl::FormatDuration(*drain) : "not"));
  }
  void Close() override { Note("Close"); }
  bool ShuttingDown() const override { return Note("ShuttingDown"); }
  Clock* clock() const override { return Clock::GetRealClock(); }
  absl::StatusOr<bool> CancelWait(const std::string& item) override {
    return Note("CancelWait " + item);
  }

 private:
  bool Note(std::string call) const {
    calls_->push_back(std::move(call));
    return true;
  }

  Strings* const calls_;
};

// A rate limiting queue with a TestLimiter, on a FakeClock.
class RateLimitingQueueTest : public testing::Test {
 protected:
  RateLimitingQueueOptions<std::string> Options() {
    RateLimitingQueueOptions<std::string> options;
    options.clock = &clock_;
    options.rate_limiter = std::make_unique<TestLimiter>(log_);
    return options;
  }

  FakeClock clock_;
  const std::shared_ptr<TestLimiter::Log> log_ =
      std::make_shared<TestLimiter::Log>();
  RateLimitingQueue<std::string> queue_{Options()};
};

// -----------------------------------------------------------------------------
// The test of client-go's rate_limiting_queue_test.go, under its name
// -----------------------------------------------------------------------------

TEST(ClientGoRateLimitingQueueTest, RateLimitingQueue) {
  FakeClock clock;
  RateLimitingQueueOptions<std::string> options;
  options.clock = &clock;
  options.rate_limiter =
      *ItemExponentialFailureRateLimiter<std::string>::Create(kMs,
                                                              absl::Seconds(1));
  RateLimitingQueue<std::string> queue(std::move(options));

  // Adds the item, and checks that it is queued exactly after `delay`.
  const auto expect_delay = [&](const std::string& item, absl::Duration delay) {
    EXPECT_TRUE(queue.AddRateLimited(item));
    clock.Step(delay - kNs);
    EXPECT_EQ(queue.Len(), 0u);
    clock.Step(kNs);
    ASSERT_EQ(queue.Len(), 1u);
    EXPECT_EQ(queue.Get(), item);
    queue.Done(item);
  };
  expect_delay("one", 1 * kMs);
  expect_delay("one", 2 * kMs);
  EXPECT_EQ(queue.NumRequeues("one"), 2);
  expect_delay("two", 1 * kMs);
  expect_delay("two", 2 * kMs);
  queue.Forget("one");
  EXPECT_EQ(queue.NumRequeues("one"), 0);
  EXPECT_EQ(queue.NumRequeues("two"), 2);
  expect_delay("one", 1 * kMs);
}

// -----------------------------------------------------------------------------
// The rate limiter
// -----------------------------------------------------------------------------

TEST_F(RateLimitingQueueTest, AsksTheLimiterOnceForEachAddRateLimited) {
  queue_.Add("a");
  queue_.AddAfter("a", absl::Seconds(1));
  queue_.Get();
  queue_.Done("a");
  EXPECT_EQ(log_->calls, Strings{});
  queue_.AddRateLimited("a");
  queue_.AddRateLimited("b");
  queue_.AddRateLimited("a");
  EXPECT_EQ(log_->calls, (Strings{"When a", "When b", "When a"}));
}

TEST_F(RateLimitingQueueTest, AddsWhenTheLimiterSays) {
  log_->delay = absl::Seconds(7);
  EXPECT_TRUE(queue_.AddRateLimited("a"));
  clock_.Step(absl::Seconds(7) - kNs);
  EXPECT_EQ(queue_.Len(), 0u);
  clock_.Step(kNs);
  EXPECT_EQ(queue_.Len(), 1u);
}

TEST_F(RateLimitingQueueTest, AddsAtOnceIfTheLimiterSaysSo) {
  log_->delay = absl::ZeroDuration();
  EXPECT_TRUE(queue_.AddRateLimited("a"));
  EXPECT_EQ(queue_.Len(), 1u);
}

TEST_F(RateLimitingQueueTest, NeverAddsIfTheLimiterSaysSo) {
  log_->delay = absl::InfiniteDuration();
  EXPECT_TRUE(queue_.AddRateLimited("a"));
  clock_.Step(absl::Hours(24 * 365 * 1000));
  EXPECT_EQ(queue_.Len(), 0u);
}

TEST_F(RateLimitingQueueTest, AnErrorMayChooseTheDelay) {
  log_->delay = absl::Hours(1);
  EXPECT_TRUE(queue_.AddRateLimitedAfter("a", absl::Seconds(30)));
  EXPECT_EQ(log_->calls, Strings{"When a"});
  clock_.Step(absl::Seconds(30) - kNs);
  EXPECT_EQ(queue_.Len(), 0u);
  clock_.Step(kNs);
  EXPECT_EQ(queue_.Len(), 1u);
}

TEST_F(RateLimitingQueueTest, TheMaximumShortensADelayThatAnErrorChose) {
  log_->max_delay = absl::Minutes(1);
  for (const absl::Duration d :
       {absl::Minutes(1) + kNs, absl::InfiniteDuration()}) {
    EXPECT_TRUE(queue_.AddRateLimitedAfter("a", d));
    clock_.Step(absl::Minutes(1) - kNs);
    EXPECT_EQ(queue_.Len(), 0u);
    clock_.Step(kNs);
    EXPECT_EQ(queue_.Get(), "a");
    queue_.Done("a");
  }
}

TEST_F(RateLimitingQueueTest, AnErrorMayChooseNoDelay) {
  log_->delay = absl::Hours(1);
  EXPECT_TRUE(queue_.AddRateLimitedAfter("a", absl::ZeroDuration()));
  EXPECT_TRUE(queue_.AddRateLimitedAfter("b", -absl::Seconds(1)));
  EXPECT_EQ(queue_.Len(), 2u);
  queue_.ShutDown();
  EXPECT_FALSE(queue_.AddRateLimitedAfter("c", absl::ZeroDuration()));
}

TEST_F(RateLimitingQueueTest, TheEarlierTimeCounts) {
  log_->delay = absl::Seconds(5);
  queue_.AddRateLimited("a");
  log_->delay = absl::Seconds(10);
  queue_.AddRateLimited("a");
  clock_.Step(absl::Seconds(5));
  EXPECT_EQ(queue_.Len(), 1u);
  queue_.AddRateLimited("b");
  queue_.AddAfter("b", absl::Seconds(1));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(queue_.Len(), 2u);
}

TEST_F(RateLimitingQueueTest, ForgetAndNumRequeuesAreTheLimiters) {
  queue_.Forget("a");
  EXPECT_EQ(queue_.NumRequeues("b"), 42);
  EXPECT_EQ(log_->calls, (Strings{"Forget a", "NumRequeues b"}));
}

TEST_F(RateLimitingQueueTest, ForgetDoesNotStandInForDone) {
  queue_.Add("a");
  queue_.Get();
  queue_.Forget("a");
  queue_.Add("a");
  EXPECT_EQ(queue_.Len(), 0u) << "it is still being processed";
  EXPECT_TRUE(queue_.Done("a"));
  EXPECT_EQ(queue_.Len(), 1u);
}

TEST_F(RateLimitingQueueTest, ForgetDoesNotEndTheWaiting) {
  log_->delay = absl::Seconds(1);
  queue_.AddRateLimited("a");
  queue_.Forget("a");
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(queue_.Len(), 1u);
}

TEST_F(RateLimitingQueueTest, TakesNothingAfterShutDown) {
  queue_.ShutDown();
  EXPECT_FALSE(queue_.AddRateLimited("a"));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_.Get(), std::nullopt);
}

TEST_F(RateLimitingQueueTest, WhatTheLimiterHoldsBackIsDroppedOnShutDown) {
  log_->delay = absl::Seconds(1);
  queue_.AddRateLimited("a");
  queue_.ShutDown();
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_.Get(), std::nullopt);
}

TEST_F(RateLimitingQueueTest, TheWorkersLoop) {
  log_->delay = absl::Seconds(1);
  std::map<std::string, int> failures = {{"a", 2}, {"b", 0}, {"c", 1}};
  Strings processed;
  for (const auto& [item, left] : failures) queue_.Add(item);
  for (int second = 0; second < 3; ++second) {
    while (queue_.Len() > 0) {
      const std::string item = *queue_.Get();
      processed.push_back(item);
      if (failures[item]-- > 0) {
        queue_.AddRateLimited(item);
      } else {
        queue_.Forget(item);
      }
      queue_.Done(item);
    }
    clock_.Step(absl::Seconds(1));
  }
  EXPECT_EQ(processed, (Strings{"a", "b", "c", "a", "c", "a"}));
}

TEST(RateLimitingQueueOptionsTest, TheLimiterIsDestroyedWithTheQueue) {
  const auto log = std::make_shared<TestLimiter::Log>();
  {
    RateLimitingQueueOptions<std::string> options;
    options.rate_limiter = std::make_unique<TestLimiter>(log);
    const RateLimitingQueue<std::string> queue(std::move(options));
    EXPECT_TRUE(log->alive);
  }
  EXPECT_FALSE(log->alive);
}

// An item's delay is 5 ms and doubles each time. The bucket uses the same
// clock, holds a hundred tokens, and gains ten per second.
TEST(RateLimitingQueueOptionsTest, TheDefaultLimiterIsTheOneForControllers) {
  FakeClock clock;
  RateLimitingQueueOptions<int> options;
  options.clock = &clock;
  RateLimitingQueue<int> queue(std::move(options));
  queue.AddRateLimited(0);
  clock.Step(5 * kMs - kNs);
  EXPECT_EQ(queue.Len(), 0u);
  clock.Step(kNs);
  EXPECT_EQ(queue.Len(), 1u);
  queue.AddRateLimited(1);
  queue.AddRateLimited(0);
  clock.Step(5 * kMs);
  EXPECT_EQ(queue.Len(), 2u);  // Item 0 is already in the queue.
  EXPECT_EQ(queue.NumRequeues(0), 2);

  clock.Step(absl::Hours(1));  // The bucket is full again.
  while (queue.Len() > 0) queue.Done(*queue.Get());
  for (int i = 1000; i < 1110; ++i) queue.AddRateLimited(i);
  clock.Step(5 * kMs);
  EXPECT_EQ(queue.Len(), 100u);
  for (size_t i = 1; i <= 10; ++i) {
    clock.Step(95 * kMs);
    EXPECT_EQ(queue.Len(), 100u + i);
    clock.Step(5 * kMs);
  }
}

TEST(RateLimitingQueueOptionsTest, TheDefaultLimiterUsesHashAndEq) {
  struct IgnoringCaseHash {
    size_t operator()(const std::string& s) const {
      return std::hash<std::string>()(absl::AsciiStrToLower(s));
    }
  };
  struct IgnoringCaseEq {
    bool operator()(const std::string& a, const std::string& b) const {
      return absl::EqualsIgnoreCase(a, b);
    }
  };

  FakeClock clock;
  RateLimitingQueueOptions<std::string> options;
  options.clock = &clock;
  RateLimitingQueue<std::string, IgnoringCaseHash, IgnoringCaseEq> queue(
      std::move(options));
  queue.AddRateLimited("Web");
  queue.AddRateLimited("WEB");
  EXPECT_EQ(queue.NumRequeues("web"), 2);
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(queue.Len(), 1u);
  EXPECT_EQ(queue.Get(), "Web");
}

TEST(RateLimitingQueueOptionsTest, AllHaveADefault) {
  RateLimitingQueue<std::string> queue;
  EXPECT_TRUE(queue.AddRateLimited("a"));
  EXPECT_EQ(queue.Get(), "a");  // In 5 ms.
}

// -----------------------------------------------------------------------------
// The queue below
// -----------------------------------------------------------------------------

TEST(RateLimitingQueueBelowTest, CreateNeedsAQueueAndALimiter) {
  const auto log = std::make_shared<TestLimiter::Log>();
  absl::Status status = RateLimitingQueue<std::string>::Create(
                            nullptr, std::make_unique<TestLimiter>(log))
                            .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "delaying_queue is null; the layer above needs a queue");

  status = RateLimitingQueue<std::string>::Create(
               std::make_unique<DelayingQueue<std::string>>(), nullptr)
               .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "rate_limiter is null; a rate limiting queue needs one");
}

TEST(RateLimitingQueueBelowTest, MayBeAnyDelayingQueue) {
  Strings calls;
  const auto log = std::make_shared<TestLimiter::Log>();
  log->delay = absl::Seconds(7);
  const auto owned = *RateLimitingQueue<std::string>::Create(
      std::make_unique<TestDelayingQueue>(&calls),
      std::make_unique<TestLimiter>(log));
  auto& queue = *owned;

  EXPECT_TRUE(queue.Add("a"));
  EXPECT_TRUE(queue.AddAfter("b", absl::Seconds(1)));
  EXPECT_TRUE(queue.AddRateLimited("c"));
  EXPECT_EQ(queue.Get(), "got");
  EXPECT_TRUE(queue.Done("d"));
  EXPECT_EQ(queue.Len(), 42u);
  queue.ShutDown();
  EXPECT_TRUE(queue.ShutDownWithDrain());
  queue.Close();
  EXPECT_TRUE(queue.ShuttingDown());
  EXPECT_TRUE(queue.AddAll({"e"}));
  EXPECT_EQ(*queue.TryGet(), "got");
  EXPECT_FALSE(*queue.TryAcquire());
  Lease<std::string> lease;
  EXPECT_TRUE(queue.AcquireNext(&lease).ok());
  EXPECT_TRUE(queue.AcquireUpTo(5)->empty());
  InlineExecutor executor;
  const AcquireId id = queue.AcquireAsync(&executor, [](auto) {});
  queue.AcquireNextAsync(&lease, &executor, [](auto) {});
  EXPECT_TRUE(queue.CancelAcquire(id));
  EXPECT_TRUE(queue.CancelDelayed("f"));
  EXPECT_TRUE(queue.Reschedule("g", absl::Seconds(2)));
  EXPECT_TRUE(queue.TakeSnapshot()->queued.empty());
  EXPECT_TRUE(queue.TakeSnapshotUpTo(7)->queued.empty());
  EXPECT_TRUE(queue.TakeSnapshotOf("h")->queued.empty());
  EXPECT_EQ(calls, (Strings{"AddItems a",
                            "AddItems b 1s",
                            "AddItems c 7s",
                            "GetItem inf",
                            "EndProcessing d",
                            "TakeSnapshotWith 0",
                            "ShutDownAndDrain not",
                            "ShutDownAndDrain inf",
                            "Close",
                            "ShuttingDown",
                            "AddItems e",
                            "GetItem 0",
                            "AcquireInto 0",
                            "AcquireInto inf",
                            "AcquireUpToWithTimeout",
                            "AcquireNextAsync",
                            "AcquireNextAsync",
                            "CancelAcquire",
                            "CancelWait f",
                            "AddItems g 2s anew",
                            absl::StrCat("TakeSnapshotWith ", SIZE_MAX),
                            "TakeSnapshotWith 7",
                            "TakeSnapshotWith h"}));
}

TEST_F(RateLimitingQueueTest, TheOptionsAreTheDelayingQueuesToo) {
  auto options = Options();
  options.ordering = std::make_unique<Lifo<std::string>>();
  RateLimitingQueue<std::string> lifo(std::move(options));
  for (const char* item : {"a", "b", "c"}) lifo.Add(item);
  for (const char* item : {"c", "b", "a"}) EXPECT_EQ(lifo.Get(), item);
}

// -----------------------------------------------------------------------------
// Exceptions
// -----------------------------------------------------------------------------

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_F(RateLimitingQueueTest, ALimiterThatThrowsLeavesTheQueueAsItWas) {
  log_->throws = true;
  EXPECT_THROW(queue_.AddRateLimited("a"), int);
  EXPECT_THROW(queue_.AddRateLimitedAfter("a", absl::Seconds(1)), int);
  EXPECT_THROW(queue_.Forget("a"), int);
  EXPECT_THROW(queue_.NumRequeues("a"), int);
  log_->throws = false;
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_.Len(), 0u);
  EXPECT_TRUE(queue_.AddRateLimited("a"));
  EXPECT_EQ(queue_.Len(), 1u);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::rate_limiting_queue_test
