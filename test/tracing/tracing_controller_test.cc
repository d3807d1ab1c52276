// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of a TracingQueue with a controller.

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "test/tracing/recording_tracer.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/executor.h"
#include "workqueue/priority_queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/tracing/trace_scope.h"
#include "workqueue/tracing/tracing_queue.h"

namespace workqueue::tracing_controller_test {
namespace {

using Events = RecordingTracer::Events;

// How the reconcile function of a test is called, and on which queue.
struct Kind {
  const char* name;
  bool async;
  bool priorities;
};

class TracingControllerTest : public testing::TestWithParam<Kind> {
 protected:
  template <typename Below, typename Options>
  std::unique_ptr<RateLimitingInterface<std::string>> NewBelow() {
    Options options;
    options.clock = &clock_;
    options.rate_limiter =
        *ItemExponentialFailureRateLimiter<std::string>::Create(
            absl::Seconds(1), absl::Minutes(1));
    return std::make_unique<Below>(std::move(options));
  }

  // Makes a controller that calls `reconcile` in traced attempts.
  void Start(ReconcileFunction<std::string> reconcile) {
    TracingQueueOptions<std::string> tracing;
    tracing.name = "test";
    tracing.queue = GetParam().priorities
                        ? NewBelow<PriorityQueue<std::string>,
                                   PriorityQueueOptions<std::string>>()
                        : NewBelow<RateLimitingQueue<std::string>,
                                   RateLimitingQueueOptions<std::string>>();
    tracing.tracers = {tracer_};
    auto queue = *TracingQueue<std::string>::Create(std::move(tracing));

    ControllerOptions<std::string> options;
    options.name = "test";
    options.log_sink = &log_;
    if (GetParam().async) {
      options.executor = &executor_;
      options.reconcile_async = queue->TracedAsync(
          [this, reconcile](const std::string& item,
                            const AsyncReconcileContext& context,
                            const ReconcileCompletion& done) {
            const absl::Notification stop;
            done(reconcile(item, {context.controller_name(), &clock_, stop,
                                  absl::InfiniteFuture(), context.priority(),
                                  context.failures()}));
          });
    } else {
      options.reconcile = queue->Traced(std::move(reconcile));
    }
    options.queue = std::move(queue);
    controller_ = *Controller<std::string>::Create(std::move(options));
    ASSERT_TRUE(controller_->Start().ok());
  }

  void Add(const std::string& item) {
    controller_->queue().Add(item);
    controller_->AwaitIdle();
  }

  void Step(absl::Duration d) {
    clock_.Step(d);
    controller_->AwaitIdle();
  }

  FakeClock clock_;
  RecordingLog log_;
  const std::shared_ptr<RecordingTracer> tracer_ =
      std::make_shared<RecordingTracer>();
  InlineExecutor executor_;
  std::unique_ptr<Controller<std::string>> controller_;
};

TEST_P(TracingControllerTest, AttemptsAreTold) {
  std::string current;
  Start([&](const std::string&) {
    current = NumbersOf({TraceScope::Current()});
    return absl::OkStatus();
  });
  Add("a");
  EXPECT_EQ(tracer_->Take(),
            (Events{"a: add 1 in 0", "a: got [1] after 0",
                    "a: begin 2 of [1] by 'test' priority 0 failures 0",
                    "a: end 2 after 0 OK"}));
  EXPECT_EQ(current, "[2]");
}

TEST_P(TracingControllerTest, ARetryLinksToTheAttemptThatFailed) {
  int calls = 0;
  Start([&](const std::string&) {
    return ++calls < 3 ? absl::UnavailableError("down") : absl::OkStatus();
  });
  Add("a");
  Step(absl::Seconds(1));
  EXPECT_EQ(tracer_->Take(),
            (Events{"a: add 1 in 0", "a: got [1] after 0",
                    "a: begin 2 of [1] by 'test' priority 0 failures 0",
                    "a: end 2 after 0 UNAVAILABLE 'down'",
                    "a: retry 3 in ? after 2", "a: got [3] after 1s",
                    "a: begin 4 of [3] by 'test' priority 0 failures 1",
                    "a: end 4 after 0 UNAVAILABLE 'down'",
                    "a: retry 5 in ? after 4"}));
  Step(absl::Seconds(2));
  EXPECT_EQ(tracer_->Take(),
            (Events{"a: got [5] after 2s",
                    "a: begin 6 of [5] by 'test' priority 0 failures 2",
                    "a: end 6 after 0 OK"}));
}

TEST_P(TracingControllerTest, ARequeueLinksToTheAttemptThatAskedForIt) {
  int calls = 0;
  Start([&](const std::string&) {
    return ReconcileResult{++calls == 1 ? absl::Minutes(5)
                                        : absl::ZeroDuration()};
  });
  Add("a");
  Step(absl::Minutes(5));
  EXPECT_EQ(tracer_->Take(),
            (Events{"a: add 1 in 0", "a: got [1] after 0",
                    "a: begin 2 of [1] by 'test' priority 0 failures 0",
                    "a: end 2 after 0 OK again in 5m",
                    "a: add after 3 in 5m after 2", "a: got [3] after 5m",
                    "a: begin 4 of [3] by 'test' priority 0 failures 0",
                    "a: end 4 after 0 OK"}));
}

TEST_P(TracingControllerTest, ATerminalErrorIsTold) {
  Start([](const std::string&) {
    return TerminalError(absl::InvalidArgumentError("never"));
  });
  Add("a");
  EXPECT_EQ(tracer_->Take().back(),
            "a: end 2 after 0 INVALID_ARGUMENT 'never' terminal");
}

TEST_P(TracingControllerTest, AnExceptionIsToldAndLetThrough) {
  int calls = 0;
  Start([&](const std::string&) -> absl::Status {
    if (++calls == 1) throw std::runtime_error("oops");
    return absl::OkStatus();
  });
  Add("a");
  EXPECT_EQ(tracer_->Take(),
            (Events{"a: add 1 in 0", "a: got [1] after 0",
                    "a: begin 2 of [1] by 'test' priority 0 failures 0",
                    "a: end 2 after 0 INTERNAL 'oops' threw",
                    "a: retry 3 in ? after 2"}));
  EXPECT_FALSE(TraceScope::Current().IsValid());
  bool logged = false;
  for (const std::string& message : log_.messages()) {
    logged |= message.find("INTERNAL: oops") != std::string::npos;
  }
  EXPECT_TRUE(logged);
  Step(absl::Seconds(1));
  EXPECT_EQ(calls, 2);
}

TEST_P(TracingControllerTest, AddsInsideOfAnAttemptCarryIt) {
  Start([&](const std::string& item) {
    if (item == "a") controller_->queue().Add("b");
    return absl::OkStatus();
  });
  tracer_->RecordScopes();
  Add("a");
  const Events events = tracer_->Take();
  ASSERT_EQ(events.size(), 12u);
  EXPECT_EQ(Events(events.begin(), events.begin() + 5),
            (Events{"a: add 1 in 0", "a: got [1] after 0",
                    "a: begin 2 of [1] by 'test' priority 0 failures 0",
                    "a: enter", "b: add 3 in 0 inside 2"}));
}

TEST_P(TracingControllerTest, AnItemThatIsAddedMeanwhileIsProcessedAgain) {
  int calls = 0;
  Start([&](const std::string& item) {
    if (++calls == 1) controller_->queue().Add(item);
    return absl::OkStatus();
  });
  Add("a");
  const Events events = tracer_->Take();
  ASSERT_EQ(events.size(), 8u);
  EXPECT_EQ(events[3], "a: add 3 in 0 inside 2");
  EXPECT_EQ(events[5], "a: got [3] after 0");
}

INSTANTIATE_TEST_SUITE_P(
    , TracingControllerTest,
    testing::Values(Kind{"Threads", false, true},
                    Kind{"ThreadsWithoutPriorities", false, false},
                    Kind{"Async", true, true},
                    Kind{"AsyncWithoutPriorities", true, false}),
    [](const testing::TestParamInfo<Kind>& info) { return info.param.name; });

TEST(TracedTest, AnEmptyFunctionStaysEmpty) {
  TracingQueueOptions<std::string> options;
  options.queue = std::make_unique<PriorityQueue<std::string>>();
  auto queue = *TracingQueue<std::string>::Create(std::move(options));
  EXPECT_FALSE(static_cast<bool>(queue->Traced(nullptr)));
  EXPECT_EQ(queue->TracedAsync(nullptr), nullptr);
}

// Tests of what only an asynchronous function can do.
class TracedAsyncTest : public testing::Test {
 protected:
  void Start() {
    PriorityQueueOptions<std::string> below;
    below.clock = &clock_;
    TracingQueueOptions<std::string> tracing;
    tracing.queue =
        std::make_unique<PriorityQueue<std::string>>(std::move(below));
    tracing.tracers = {tracer_};
    auto queue = *TracingQueue<std::string>::Create(std::move(tracing));
    ControllerOptions<std::string> options;
    options.name = "test";
    options.log_sink = &log_;
    options.executor = &executor_;
    options.reconcile_async = queue->TracedAsync(
        [this](const std::string& item, const AsyncReconcileContext& context,
               const ReconcileCompletion& done) {
          item_ = &item;
          context_ = context;
          done_ = done;
          if (throws_) throw std::runtime_error("oops");
        });
    options.queue = std::move(queue);
    controller_ = *Controller<std::string>::Create(std::move(options));
    ASSERT_TRUE(controller_->Start().ok());
    controller_->queue().Add("a");
    ASSERT_NE(item_, nullptr);
    tracer_->Take();
  }

  FakeClock clock_;
  RecordingLog log_;
  const std::shared_ptr<RecordingTracer> tracer_ =
      std::make_shared<RecordingTracer>();
  InlineExecutor executor_;
  bool throws_ = false;
  const std::string* item_ = nullptr;
  std::optional<AsyncReconcileContext> context_;
  std::optional<ReconcileCompletion> done_;
  std::unique_ptr<Controller<std::string>> controller_;
};

TEST_F(TracedAsyncTest, TheAttemptLastsUntilTheCompletion) {
  Start();
  EXPECT_FALSE(TraceScope::Current().IsValid());
  clock_.Step(absl::Seconds(3));
  EXPECT_EQ(tracer_->Take(), Events());
  EXPECT_TRUE((*done_)(absl::UnavailableError("down")));
  EXPECT_EQ(tracer_->Take(), (Events{"a: end 2 after 3s UNAVAILABLE 'down'",
                                     "a: retry 3 in ? after 2"}));
  EXPECT_EQ(*item_, "a");
}

TEST_F(TracedAsyncTest, ADroppedCompletionIsAborted) {
  Start();
  done_.reset();
  const Events events = tracer_->Take();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0],
            "a: end 2 after 0 ABORTED 'the completion was dropped without a "
            "call'");
  EXPECT_EQ(events[1], "a: retry 3 in ? after 2");
}

TEST_F(TracedAsyncTest, ASecondCompletionIsReportedToTheController) {
  Start();
  EXPECT_TRUE((*done_)(absl::OkStatus()));
  EXPECT_FALSE((*done_)(absl::UnavailableError("down")));
  EXPECT_EQ(tracer_->Take(), Events{"a: end 2 after 0 OK"});
  EXPECT_NE(log_.messages().back().find("it has been completed before"),
            std::string::npos);
}

TEST_F(TracedAsyncTest, ACompletionAfterAnExceptionDoesNothing) {
  throws_ = true;
  Start();
  EXPECT_FALSE((*done_)(absl::OkStatus()));
  EXPECT_EQ(tracer_->Take(), Events());
}

TEST_F(TracedAsyncTest, ACompletionAfterTheEndOfTheControllerIsNotTold) {
  Start();
  controller_->Stop(absl::ZeroDuration());
  EXPECT_TRUE(context_->Cancelled());
  controller_.reset();
  EXPECT_FALSE((*done_)(absl::OkStatus()));
  EXPECT_EQ(tracer_->Take(), Events());
  EXPECT_EQ(*item_, "a");
}

}  // namespace
}  // namespace workqueue::tracing_controller_test
