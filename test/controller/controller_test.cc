// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/controller.h"

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/log_severity.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/barrier.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "ratelimit/bucket_rate_limiter.h"
#include "ratelimit/item_fast_slow_rate_limiter.h"
#include "ratelimit/token_bucket.h"
#include "test/base/fragile_key.h"
#include "test/controller/controller_fixture.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/executor.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/log_sink.h"
#include "workqueue/ordering.h"
#include "workqueue/priority_queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/snapshot.h"
#include "workqueue/testing/thread.h"

namespace workqueue::controller_test {
namespace {

constexpr absl::Duration kMs = absl::Milliseconds(1);
constexpr absl::Duration kNs = absl::Nanoseconds(1);

absl::Status Fail() { return absl::UnavailableError("later"); }

// Returns an ordering in which items of the same first letter are a group.
std::unique_ptr<Ordering<std::string>> TakeTurns() {
  return *FairOrdering<std::string>::Create(
      [](const std::string& item) { return item.substr(0, 1); });
}

class ControllerTest : public ControllerFixture {};

// -----------------------------------------------------------------------------
// Results of a reconciliation
// -----------------------------------------------------------------------------

TEST_P(ControllerTest, WhatIsAddedBeforeAndAfterTheStartIsReconciledOnce) {
  const auto controller = New(Options(Succeed));
  controller->queue().Add("before");
  EXPECT_EQ(Noted(), Notes());
  ASSERT_TRUE(controller->Start().ok());
  controller->AwaitIdle();
  EXPECT_EQ(Noted(), (Notes{{"before", 0, 0}}));
  clock_.Step(10 * kMs);
  AddAndAwait(*controller, "after");
  EXPECT_EQ(Noted(), (Notes{{"after", 10, 0}}));
  Step(*controller, absl::Hours(1));
  EXPECT_EQ(Noted(), Notes());
}

TEST_P(ControllerTest, TheFunctionIsToldWhereItIs) {
  const auto controller = Started(
      Options([this](const std::string&, const ReconcileContext& context) {
        EXPECT_EQ(context.controller_name, "test");
        EXPECT_EQ(context.clock, &clock_);
        EXPECT_FALSE(context.stop.HasBeenNotified());
        EXPECT_EQ(context.Remaining(), absl::InfiniteDuration());
        EXPECT_FALSE(context.Cancelled());
        return absl::OkStatus();
      }));
  AddAndAwait(*controller, "a");
  EXPECT_EQ(Noted().size(), 1u);
}

TEST_P(ControllerTest, AfterAnErrorItIsTriedAgainLaterEachTime) {
  const auto controller = Started(Options(FailTimes(3)));
  AddAndAwait(*controller, "a");
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}}));
  Step(*controller, 5 * kMs - kNs);
  EXPECT_EQ(Noted(), Notes());
  Step(*controller, kNs);
  EXPECT_EQ(Noted(), (Notes{{"a", 5, 1}}));
  Step(*controller, 10 * kMs - kNs);
  EXPECT_EQ(Noted(), Notes());
  Step(*controller, kNs);
  EXPECT_EQ(Noted(), (Notes{{"a", 15, 2}}));
  Step(*controller, 20 * kMs);
  EXPECT_EQ(Noted(), (Notes{{"a", 35, 3}}));
  EXPECT_EQ(controller->queue().NumRequeues("a"), 0);
  Step(*controller, absl::Hours(1));
  EXPECT_EQ(Noted(), Notes());
}

TEST_P(ControllerTest, ASuccessMakesTheNextFailureTheFirst) {
  std::atomic<bool> fail{true};
  const auto controller = Started(Options([&fail](const std::string&) {
    if (fail) return Fail();
    return absl::OkStatus();
  }));
  AddAndAwait(*controller, "a");
  Step(*controller, 5 * kMs);
  EXPECT_EQ(controller->queue().NumRequeues("a"), 2);
  fail = false;
  Step(*controller, 10 * kMs);
  EXPECT_EQ(controller->queue().NumRequeues("a"), 0);
  fail = true;
  AddAndAwait(*controller, "a");
  Noted();
  Step(*controller, 5 * kMs);
  EXPECT_EQ(Noted(), (Notes{{"a", 20, 1}}));
}

TEST_P(ControllerTest, ARetryKeepsThePriority) {
  const auto controller = Started(Options(FailTimes(1)));
  AddOptions options;
  options.priority = 7;
  controller->queue().AsPriorityQueue()->AddWithOptions(options, {"a"});
  controller->AwaitIdle();
  Step(*controller, 5 * kMs);
  EXPECT_EQ(NotedPriorities(), (std::vector<int>{7, 7}));
}

TEST_P(ControllerTest, RequeueAfterForgetsAndComesBackThen) {
  std::atomic<int> calls{0};
  const auto controller = Started(Options(
      [&calls](const std::string&,
               const ReconcileContext&) -> absl::StatusOr<ReconcileResult> {
        ReconcileResult result;
        switch (++calls) {
          case 1:
            return Fail();
          case 2:
            result.requeue_after = 100 * kMs;
            break;
          case 3:
            result.requeue_after = -kMs;  // at once
            break;
          case 4:
            result.requeue_after = -absl::InfiniteDuration();
            break;
          case 5:
            result.requeue_after = absl::InfiniteDuration();  // never
            break;
        }
        return result;
      }));
  AddAndAwait(*controller, "a");
  Step(*controller, 5 * kMs);
  EXPECT_EQ(controller->queue().NumRequeues("a"), 0);
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}, {"a", 5, 1}}));
  Step(*controller, 100 * kMs - kNs);
  EXPECT_EQ(Noted(), Notes());
  Step(*controller, kNs);
  EXPECT_EQ(Noted(), (Notes{{"a", 105, 0}, {"a", 105, 0}, {"a", 105, 0}}));
  Step(*controller, absl::Hours(1));
  EXPECT_EQ(Noted(), Notes());
}

TEST_P(ControllerTest, RequeueAfterHasTheItemsPriorityOrItsOwn) {
  std::atomic<int> calls{0};
  const auto controller = Started(Options(
      [&calls](const std::string&,
               const ReconcileContext&) -> absl::StatusOr<ReconcileResult> {
        ReconcileResult result;
        if (++calls < 3) result.requeue_after = kMs;
        if (calls == 2) result.priority = -1;
        return result;
      }));
  AddOptions options;
  options.priority = 7;
  controller->queue().AsPriorityQueue()->AddWithOptions(options, {"a"});
  controller->AwaitIdle();
  Step(*controller, kMs);
  Step(*controller, kMs);
  EXPECT_EQ(NotedPriorities(), (std::vector<int>{7, 7, -1}));
}

TEST_P(ControllerTest, ATerminalErrorIsNotTriedAgainAndForgotten) {
  const auto controller = Started(Options(
      FailTimes(1, TerminalError(absl::InvalidArgumentError("never")))));
  AddAndAwait(*controller, "a");
  Step(*controller, 5 * kMs);
  EXPECT_EQ(Noted().size(), 2u);
  EXPECT_EQ(controller->queue().NumRequeues("a"), 0);
  Step(*controller, absl::Hours(1));
  EXPECT_EQ(Noted(), Notes());
}

TEST_P(ControllerTest, TheTimeoutIsCountedFromTheBeginOfEach) {
  ControllerOptions<std::string> options =
      Options([this](const std::string&, const ReconcileContext& context) {
        EXPECT_EQ(context.Remaining(), 30 * kMs);
        EXPECT_FALSE(context.Cancelled());
        clock_.Step(30 * kMs);
        EXPECT_TRUE(context.Cancelled());
        return absl::OkStatus();
      });
  options.reconcile_timeout = 30 * kMs;
  const auto controller = Started(std::move(options));
  clock_.Step(kMs);
  controller->queue().Add("a");
  AddAndAwait(*controller, "b");
  EXPECT_EQ(Noted(), (Notes{{"a", 1, 0}, {"b", 31, 0}}));
}

// -----------------------------------------------------------------------------
// Workers
// -----------------------------------------------------------------------------

TEST_P(ControllerTest, AsManyAreReconciledAtTheSameTimeAsThereAreWorkers) {
  auto* const all = new absl::Barrier(3);
  ControllerOptions<std::string> options = Options([all](const std::string&) {
    if (all->Block()) delete all;
    return absl::OkStatus();
  });
  options.workers = 3;
  const auto controller = Started(std::move(options));
  controller->queue().AddAll({"a", "b", "c"});
  controller->AwaitIdle();
  EXPECT_EQ(Noted().size(), 3u);
}

TEST_P(ControllerTest, WhatIsAddedWhileItIsReconciledIsReconciledAgain) {
  absl::Notification begun, other_done, go_on;
  std::atomic<int> calls{0};
  ControllerOptions<std::string> options =
      Options([&](const std::string& item) {
        if (item == "other") {
          other_done.Notify();
        } else if (++calls == 1) {
          begun.Notify();
          go_on.WaitForNotification();
        }
        return absl::OkStatus();
      });
  options.workers = 2;
  const auto controller = Started(std::move(options));
  controller->queue().Add("a");
  begun.WaitForNotification();
  controller->queue().Add("a");
  controller->queue().Add("a");
  controller->queue().Add("other");
  // The other worker is free, but does not get the item.
  other_done.WaitForNotification();
  EXPECT_EQ(calls, 1);
  go_on.Notify();
  controller->AwaitIdle();
  EXPECT_EQ(calls, 2);
}

TEST_P(ControllerTest, AnItemIsNeverReconciledTwiceAtOnce) {
  constexpr int kTimes = 200;
  struct Progress {
    std::atomic<bool> in_progress{false};
    std::atomic<int> times{0};
  };
  std::map<std::string, Progress> items;
  items["a"];
  items["b"];
  items["c"];
  Controller<std::string>* self = nullptr;
  ControllerOptions<std::string> options =
      Options([&](const std::string& item) {
        Progress& progress = items.at(item);
        EXPECT_FALSE(progress.in_progress.exchange(true));
        if (++progress.times < kTimes) {
          for (const auto& other : items) self->queue().Add(other.first);
        }
        std::this_thread::yield();
        progress.in_progress = false;
        return absl::OkStatus();
      });
  options.workers = 8;
  const auto controller = New(std::move(options));
  self = controller.get();
  controller->queue().Add("a");
  ASSERT_TRUE(controller->Start().ok());
  controller->AwaitIdle();
  for (const auto& item : items) EXPECT_GE(item.second.times, kTimes);
}

// -----------------------------------------------------------------------------
// Options
// -----------------------------------------------------------------------------

TEST_P(ControllerTest, EachBadOptionIsNamed) {
  const auto error = [this](void (*spoil)(ControllerOptions<std::string>&)) {
    ControllerOptions<std::string> options = Options(Succeed);
    spoil(options);
    const auto controller = Controller<std::string>::Create(std::move(options));
    EXPECT_EQ(controller.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(controller.status().message());
  };
  EXPECT_EQ(error([](auto& options) { options.reconcile = nullptr; }),
            "reconcile is empty; it must be callable, unless reconcile_async "
            "is");
  EXPECT_EQ(error([](auto& options) {
              options.reconcile_async = [](const auto&, const auto&, auto) {};
            }),
            "reconcile is given, and reconcile_async, too; give one of them");
  EXPECT_EQ(error([](auto& options) { options.max_in_flight = 7; }),
            "max_in_flight is 7, and reconcile is given, too; max_in_flight "
            "limits only reconcile_async, and workers limits reconcile");
  EXPECT_EQ(error([](auto& options) {
              options.reconcile = nullptr;
              options.reconcile_async = [](const auto&, const auto&, auto) {};
              options.max_in_flight = 0;
            }),
            "max_in_flight is 0; it must be at least 1");
  static InlineExecutor inline_executor;
  EXPECT_EQ(error([](auto& options) {
              options.reconcile = nullptr;
              options.reconcile_async = [](const auto&, const auto&, auto) {};
              options.executor = &inline_executor;
              options.workers = 4;
            }),
            "workers is 4, and executor is given, too; the executor has its "
            "own threads");
  EXPECT_EQ(error([](auto& options) { options.executor = &inline_executor; }),
            "executor is given, and reconcile, too; an executor runs only "
            "reconcile_async");
  EXPECT_EQ(error([](auto& options) { options.workers = 0; }),
            "workers is 0; it must be at least 1");
  EXPECT_EQ(error([](auto& options) { options.sync_timeout = -kNs; }),
            "sync_timeout is -1ns; it must not be negative");
  EXPECT_EQ(error([](auto& options) {
              options.reconcile_timeout = absl::ZeroDuration();
            }),
            "reconcile_timeout is 0; it must be positive");
  EXPECT_EQ(
      error([](auto& options) {
        options.sources.resize(2);
        options.sources[0].run = [](SourceContext<std::string>&) {
          return absl::OkStatus();
        };
      }),
      "sources[1].run is empty; it must be callable, unless run_async is");
  EXPECT_EQ(error([](auto& options) {
              options.queue =
                  std::make_unique<RateLimitingQueue<std::string>>();
            }),
            "clock is given, and queue has another clock; leave clock null, or "
            "create queue with the same clock");
  EXPECT_EQ(
      error([](auto& options) {
        options.queue = std::make_unique<PriorityQueue<std::string>>();
        options.rate_limiter =
            *ItemFastSlowRateLimiter<std::string>::Create(kMs, kMs, 1);
      }),
      "rate_limiter is given, and queue, too; a queue has its own limiter; "
      "that of a SharedQueue is SharedQueueOptions::retry_schedule");
  EXPECT_EQ(error([](auto& options) {
              options.queue = std::make_unique<PriorityQueue<std::string>>();
              options.ordering = TakeTurns();
            }),
            "ordering is given, and queue, too; a queue has its own ordering; "
            "that of a SharedQueue has one dimension of groups, "
            "SharedQueueOptions::fair: see the table of its groups in "
            "docs/shared-queue.md");
  static RecordingMetrics provider;
  EXPECT_EQ(error([](auto& options) {
              options.queue = std::make_unique<PriorityQueue<std::string>>();
              options.queue_metrics_provider = &provider;
            }),
            "queue_metrics_provider is given, and queue, too; a queue has its "
            "own metrics");
}

TEST_P(ControllerTest, TheLimitsOfOptionsAreTaken) {
  ControllerOptions<std::string> options = Options(Succeed);
  options.sync_timeout = absl::ZeroDuration();
  options.reconcile_timeout = kNs;
  EXPECT_TRUE(Controller<std::string>::Create(std::move(options)).ok());
}

TEST_P(ControllerTest, TheOrderingIsTheOneGiven) {
  ControllerOptions<std::string> options = Options(Succeed);
  options.ordering = TakeTurns();
  const auto controller = New(std::move(options));
  controller->queue().AddAll({"a1", "a2", "b1"});
  ASSERT_TRUE(controller->Start().ok());
  controller->AwaitIdle();
  EXPECT_EQ(Noted(), (Notes{{"a1", 0, 0}, {"b1", 0, 0}, {"a2", 0, 0}}));
}

TEST_P(ControllerTest, TheRateLimiterIsTheOneGiven) {
  ControllerOptions<std::string> options = Options(FailTimes(2));
  options.rate_limiter =
      *ItemFastSlowRateLimiter<std::string>::Create(3 * kMs, 40 * kMs, 1);
  const auto controller = Started(std::move(options));
  AddAndAwait(*controller, "a");
  Step(*controller, 3 * kMs);
  Step(*controller, 40 * kMs);
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}, {"a", 3, 1}, {"a", 43, 2}}));
}

TEST_P(ControllerTest, FailuresAreWhatTheRateLimiterCounts) {
  ControllerOptions<std::string> options =
      Options([](const std::string&) { return Fail(); });
  options.rate_limiter = *BucketRateLimiter<std::string>::Create(
      *TokenBucket::Create(/*rate=*/1, /*burst=*/1, &clock_));
  const auto controller = Started(std::move(options));
  AddAndAwait(*controller, "a");
  Step(*controller, absl::Seconds(1));
  EXPECT_EQ(std::get<2>(Noted().back()), 0);
}

TEST_P(ControllerTest, AQueueNeedHaveNoPriorities) {
  std::atomic<int> calls{0};
  ControllerOptions<std::string> options = Options(
      [&calls](const std::string&,
               const ReconcileContext&) -> absl::StatusOr<ReconcileResult> {
        ReconcileResult result;
        switch (++calls) {
          case 1:
          case 2:
            return Fail();
          case 3:
            result.requeue_after = 100 * kMs;
            result.priority = 9;
            break;
        }
        return result;
      });
  RateLimitingQueueOptions<std::string> queue_options;
  queue_options.clock = &clock_;
  options.queue = std::make_unique<RateLimitingQueue<std::string>>(
      std::move(queue_options));
  const auto controller = Started(std::move(options));
  EXPECT_EQ(controller->queue().AsPriorityQueue(), nullptr);
  AddAndAwait(*controller, "a");
  Step(*controller, 5 * kMs);
  Step(*controller, 10 * kMs);
  EXPECT_EQ(controller->queue().NumRequeues("a"), 0);
  Step(*controller, 100 * kMs - kNs);
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}, {"a", 5, 1}, {"a", 15, 2}}));
  Step(*controller, kNs);
  EXPECT_EQ(Noted(), (Notes{{"a", 115, 0}}));
}

// -----------------------------------------------------------------------------
// Messages
// -----------------------------------------------------------------------------

TEST_P(ControllerTest, ItTellsWhatItDoesAndWhatFails) {
  const auto controller = New(Options(
      FailTimes(1, TerminalError(absl::InvalidArgumentError("never")))));
  ASSERT_TRUE(controller->Start().ok());
  AddAndAwait(*controller, "a");
  Step(*controller, 5 * kMs);
  controller->Stop();
  controller->Stop();
  EXPECT_EQ(
      log_.messages(),
      (std::vector<std::string>{
          "I controller test: starting",
          "I controller test: starting workers: 1",
          "E controller test: reconciling a (failures: 1): UNAVAILABLE: later",
          "E controller test: reconciling a, for the last time (failures: 2): "
          "INVALID_ARGUMENT: never",
          "I controller test: stopping",
          "I controller test: stopped",
      }));
}

// Nothing in a message can end the line or act on a terminal.
TEST_P(ControllerTest, EachMessageIsALine) {
  ControllerOptions<std::string> options =
      Options([](const std::string&, const ReconcileContext&) {
        return absl::UnavailableError("two\nlines" + std::string(2000, '.'));
      });
  options.name = "a\nb";
  const auto controller = Started(std::move(options));
  AddAndAwait(*controller, "\033[2J" + std::string(1 << 20, 'x'));
  EXPECT_EQ(log_.Await(1), "I controller a\\nb: starting");
  EXPECT_EQ(log_.Await(3), "E controller a\\nb: reconciling \\033[2J" +
                               std::string(252, 'x') +
                               "... (1048580 bytes) (failures: 1): "
                               "UNAVAILABLE: two\\nlines" +
                               std::string(1002, '.') + "... (2022 bytes)");
}

TEST_P(ControllerTest, ItemsNeedNotBePrintable) {
  ControllerOptions<FragileKey> options;
  options.name = "test";
  options.clock = &clock_;
  options.log_sink = &log_;
  options.reconcile = [](const FragileKey&, const ReconcileContext&) {
    return Fail();
  };
  const auto controller =
      *Controller<FragileKey, FragileHash, FragileEq>::Create(
          std::move(options));
  ASSERT_TRUE(controller->Start().ok());
  controller->queue().Add(FragileKey(1));
  controller->AwaitIdle();
  EXPECT_EQ(log_.Await(3),
            "E controller test: reconciling an item (of a type without "
            "operator<< or AbslStringify()) (failures: 1): "
            "UNAVAILABLE: later");
}

TEST_P(ControllerTest, WithoutALogItSaysNothing) {
  ControllerOptions<std::string> options =
      Options([](const std::string&) { return Fail(); });
  options.log_sink = nullptr;
  const auto controller = Started(std::move(options));
  AddAndAwait(*controller, "a");
  EXPECT_EQ(Noted().size(), 1u);
}

// -----------------------------------------------------------------------------
// Items of other types
// -----------------------------------------------------------------------------

TEST_P(ControllerTest, ItemsMayHaveAHashAndAnEqualityOfTheirOwn) {
  std::vector<int> reconciled;
  ControllerOptions<FragileKey> options;
  options.clock = &clock_;
  options.reconcile = [&reconciled](const FragileKey& item) {
    reconciled.push_back(item.value());
    return absl::OkStatus();
  };
  const auto controller =
      *Controller<FragileKey, FragileHash, FragileEq>::Create(
          std::move(options));
  controller->queue().AddAll({2, 3, 2, 3});
  ASSERT_TRUE(controller->Start().ok());
  controller->AwaitIdle();
  EXPECT_EQ(reconciled, (std::vector<int>{2, 3}));
}

// -----------------------------------------------------------------------------
// Errors of the queue, the log and the functions
// -----------------------------------------------------------------------------

// The function of a `BalkingQueue` that fails.
enum class Asked { kAcquire, kAddAgain, kForget, kNumRequeues, kSnapshot };

// A queue in which a chosen function fails a given number of times.
class BalkingQueue final : public RateLimitingQueue<std::string> {
 public:
  using Base = RateLimitingQueue<std::string>;

  // `balk` throws, or returns the result of a function that returns a bool.
  BalkingQueue(RateLimitingQueueOptions<std::string> options, Asked asked,
               int times, std::function<bool()> balk)
      : Base(std::move(options)),
        asked_(asked),
        left_(times),
        balk_(std::move(balk)) {}

  absl::Status AcquireInto(Lease<std::string>* lease,
                           absl::Duration timeout) override {
    if (Balks(Asked::kAcquire) && !balk_()) {
      lease->Done();
      return absl::UnavailableError("out of reach");
    }
    return Base::AcquireInto(lease, timeout);
  }
  AcquireId AcquireNextAsync(Lease<std::string>* lease, Executor* executor,
                             AcquireCallback<std::string> callback) override {
    if (Balks(Asked::kAcquire) && !balk_()) {
      lease->Done();
      executor->Execute([callback = std::move(callback)]() mutable {
        std::move(callback)(absl::UnavailableError("out of reach"));
      });
      return AcquireId();
    }
    return Base::AcquireNextAsync(lease, executor, std::move(callback));
  }
  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const std::string> items) override {
    const bool again = options.rate_limited || options.after.has_value();
    if (again && Balks(Asked::kAddAgain)) {
      return balk_() ? absl::OkStatus()
                     : absl::UnavailableError("out of reach");
    }
    return Base::AddItems(options, items);
  }
  absl::Status ForgetFailures(const std::string& item) override {
    if (Balks(Asked::kForget)) balk_();
    return Base::ForgetFailures(item);
  }
  absl::StatusOr<int> CountFailures(const std::string& item) const override {
    if (Balks(Asked::kNumRequeues)) balk_();
    return Base::CountFailures(item);
  }
  absl::StatusOr<Snapshot<std::string>> TakeSnapshotWith(
      const SnapshotOptions<std::string>& options) const override {
    if (Balks(Asked::kSnapshot) && !balk_()) {
      return absl::UnavailableError("out of reach");
    }
    return Base::TakeSnapshotWith(options);
  }

 private:
  bool Balks(Asked asked) const { return asked == asked_ && left_-- > 0; }

  const Asked asked_;
  mutable std::atomic<int> left_;
  const std::function<bool()> balk_;
};

class BalkingQueueTest : public ControllerFixture {
 protected:
  ControllerOptions<std::string> OptionsWithQueue(
      ReconcileFunction<std::string> reconcile, Asked asked, int times,
      std::function<bool()> balk) {
    ControllerOptions<std::string> options = Options(std::move(reconcile));
    RateLimitingQueueOptions<std::string> queue_options;
    queue_options.clock = &clock_;
    options.queue = std::make_unique<BalkingQueue>(
        std::move(queue_options), asked, times, std::move(balk));
    return options;
  }

  // Waits until a worker waits to try again (the queue's own thread waits,
  // too). Then moves the clock to that time.
  void StepToRetry() {
    clock_.AwaitWaiters(2);
    clock_.Step(absl::Seconds(1));
  }
};

TEST_P(BalkingQueueTest, AnUnknownQueueIsNotIdle) {
  absl::Notification begun, go_on;
  const auto controller = Started(OptionsWithQueue(
      [&](const std::string&) {
        begun.Notify();
        go_on.WaitForNotification();
        return absl::OkStatus();
      },
      Asked::kSnapshot, 3, [] { return false; }));
  controller->queue().Add("a");
  begun.WaitForNotification();
  EXPECT_TRUE(absl::IsUnavailable(controller->TakeSnapshot().status()));
  EXPECT_FALSE(controller->Stop(absl::ZeroDuration()));
  go_on.Notify();
}

TEST_P(BalkingQueueTest, AwaitIdleAsksAgainUntilItKnows) {
  const auto controller = Started(
      OptionsWithQueue(Succeed, Asked::kSnapshot, 3, [] { return false; }));
  controller->queue().Add("a");
  std::atomic<bool> idle{false};
  Thread waits([&] {
    controller->AwaitIdle();
    idle = true;
  });
  while (!idle) clock_.Step(absl::Milliseconds(10));
  waits.join();
  EXPECT_EQ(Noted().size(), 1u);
}

TEST_P(BalkingQueueTest, WhatIsNotTakenIsAddedASecondLater) {
  const auto controller = Started(OptionsWithQueue(
      FailTimes(1), Asked::kAddAgain, 2, [] { return false; }));
  controller->queue().Add("a");
  EXPECT_EQ(log_.Await(4),
            "E controller test: adding again a: UNAVAILABLE: out of reach");
  StepToRetry();
  log_.Await(5);
  StepToRetry();
  controller->AwaitIdle();
  Step(*controller, 5 * kMs);
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}, {"a", 2005, 1}}));
}

TEST_P(BalkingQueueTest, AWorkerTriesAgainASecondAfterAnErrorOfAcquire) {
  std::atomic<int> errors{0};
  const auto controller =
      Started(OptionsWithQueue(Succeed, Asked::kAcquire, 2, [&errors] {
        ++errors;
        return false;
      }));
  EXPECT_EQ(log_.Await(3),
            "E controller test: acquiring an item: UNAVAILABLE: out of reach");
  controller->queue().Add("a");
  StepToRetry();
  while (errors < 2) {
  }
  StepToRetry();
  controller->AwaitIdle();
  EXPECT_EQ(Noted(), (Notes{{"a", 2000, 0}}));
  EXPECT_EQ(log_.Await(4), "I controller test: acquires items again, after 2s");
  EXPECT_TRUE(controller->Stop());
}

TEST_P(BalkingQueueTest, StopAtItsDeadlineEndsWorkersThatCannotAcquire) {
  const auto controller = Started(OptionsWithQueue(
      Succeed, Asked::kAcquire, 1000000, [] { return false; }));
  controller->queue().Add("a");
  clock_.AwaitWaiters(2);
  EXPECT_FALSE(controller->Stop(absl::ZeroDuration()));
  controller->AwaitIdle();
  EXPECT_EQ(Noted(), Notes());
  EXPECT_EQ(controller->queue().Len(), 1u);
}

TEST_P(BalkingQueueTest, StopDoesNotWaitForWhatIsNotTaken) {
  const auto controller = Started(OptionsWithQueue(
      FailTimes(1), Asked::kAddAgain, 1000000, [] { return false; }));
  controller->queue().Add("a");
  clock_.AwaitWaiters(2);
  EXPECT_TRUE(controller->Stop());
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}}));
}

#ifdef ABSL_HAVE_EXCEPTIONS

bool Throw() { throw std::runtime_error("out of order"); }

TEST_P(ControllerTest, AnExceptionCountsAsAnError) {
  const auto controller =
      Started(Options([](const std::string&, const ReconcileContext& context) {
        if (context.failures == 0) throw std::runtime_error("thrown");
        if (context.failures == 1) throw 1;
        return absl::OkStatus();
      }));
  AddAndAwait(*controller, "a");
  Step(*controller, 5 * kMs);
  Step(*controller, 10 * kMs);
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}, {"a", 5, 1}, {"a", 15, 2}}));
  EXPECT_EQ(log_.Await(3),
            "E controller test: reconciling a (failures: 1): INTERNAL: thrown");
  EXPECT_EQ(log_.Await(4),
            "E controller test: reconciling a (failures: 2): INTERNAL: an "
            "exception that is "
            "no std::exception");
}

TEST_P(ControllerTest, ItsQueueWritesToTheSameLog) {
  RecordingMetrics metrics;
  ControllerOptions<std::string> options = Options(Succeed);
  options.queue_metrics_provider = &metrics;
  const auto controller = New(std::move(options));
  controller->queue().AddAfter("a", kMs);
  metrics.on_call = [](MetricKind kind) {
    if (kind == MetricKind::kAdds) {
      throw std::runtime_error("thrown");
    }
  };
  clock_.Step(kMs);
  EXPECT_EQ(log_.messages(),
            std::vector<std::string>{"E queue test: a is due and cannot be "
                                     "added yet: INTERNAL: thrown"});
}

TEST_P(ControllerTest, WhatTheLogThrowsIsDropped) {
  class ThrowingLog final : public LogSink {
   public:
    void Log(absl::LogSeverity, absl::string_view) override { throw 1; }
  };
  ThrowingLog log;
  ControllerOptions<std::string> options =
      Options([](const std::string&) { return Fail(); });
  options.log_sink = &log;
  const auto controller = Started(std::move(options));
  AddAndAwait(*controller, "a");
  Step(*controller, 5 * kMs);
  EXPECT_EQ(Noted().size(), 2u);
  EXPECT_TRUE(controller->Stop());
}

TEST_P(BalkingQueueTest, WhatAddingThrowsIsTriedAgainASecondLater) {
  const auto controller =
      Started(OptionsWithQueue(FailTimes(1), Asked::kAddAgain, 1, Throw));
  controller->queue().Add("a");
  EXPECT_EQ(log_.Await(4),
            "E controller test: adding again a: INTERNAL: out of order");
  StepToRetry();
  controller->AwaitIdle();
  Step(*controller, 5 * kMs);
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}, {"a", 1005, 1}}));
}

TEST_P(BalkingQueueTest, WhatAcquiringThrowsIsTriedAgainASecondLater) {
  const auto controller =
      Started(OptionsWithQueue(Succeed, Asked::kAcquire, 1, Throw));
  EXPECT_EQ(log_.Await(3),
            "E controller test: acquiring an item: INTERNAL: out of order");
  controller->queue().Add("a");
  StepToRetry();
  controller->AwaitIdle();
  EXPECT_EQ(Noted(), (Notes{{"a", 1000, 0}}));
}

TEST_P(BalkingQueueTest, StopDoesNotWaitForAQueueThatGivesNothing) {
  const auto controller =
      Started(OptionsWithQueue(Succeed, Asked::kAcquire, 1000000, Throw));
  controller->queue().Add("a");
  clock_.AwaitWaiters(2);
  EXPECT_FALSE(controller->Stop(absl::ZeroDuration()));
  EXPECT_EQ(Noted(), Notes());
}

TEST_P(BalkingQueueTest, WhatForgettingThrowsIsLogged) {
  const auto controller =
      Started(OptionsWithQueue(Succeed, Asked::kForget, 1, Throw));
  AddAndAwait(*controller, "a");
  AddAndAwait(*controller, "b");
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}, {"b", 0, 0}}));
  EXPECT_EQ(log_.Await(3),
            "E controller test: forgetting the failures of a: INTERNAL: out of "
            "order");
}

TEST_P(BalkingQueueTest, WhatCountingFailuresThrowsIsLogged) {
  const auto controller =
      Started(OptionsWithQueue(Succeed, Asked::kNumRequeues, 1, Throw));
  AddAndAwait(*controller, "a");
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}}));
  EXPECT_EQ(log_.Await(3),
            "E controller test: counting the failures of a: INTERNAL: out of "
            "order");
}

#endif  // ABSL_HAVE_EXCEPTIONS

WORKQUEUE_INSTANTIATE(ControllerTest);
WORKQUEUE_INSTANTIATE(BalkingQueueTest);

}  // namespace
}  // namespace workqueue::controller_test
