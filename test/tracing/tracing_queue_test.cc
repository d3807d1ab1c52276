// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/tracing/tracing_queue.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "test/tracing/recording_tracer.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/failures.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/priority_queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/shared/shared_queue_options.h"
#include "workqueue/shared/testing/memory_engine.h"
#include "workqueue/testing/manual_executor.h"
#include "workqueue/tracing/queue_tracer.h"
#include "workqueue/tracing/trace_context.h"
#include "workqueue/tracing/trace_scope.h"

namespace workqueue::tracing_queue_test {
namespace {

using Events = RecordingTracer::Events;

class TracingQueueTest : public testing::Test {
 protected:
  TracingQueueOptions<std::string> Options() {
    TracingQueueOptions<std::string> options;
    options.name = "test";
    PriorityQueueOptions<std::string> below;
    below.clock = &clock_;
    options.queue =
        std::make_unique<PriorityQueue<std::string>>(std::move(below));
    options.tracers = {tracer_};
    options.log_sink = &log_;
    return options;
  }

  TracingQueueOptions<std::string> OptionsWithoutPriorities() {
    TracingQueueOptions<std::string> options = Options();
    RateLimitingQueueOptions<std::string> below;
    below.clock = &clock_;
    options.queue =
        std::make_unique<RateLimitingQueue<std::string>>(std::move(below));
    return options;
  }

  static std::unique_ptr<TracingQueue<std::string>> New(
      TracingQueueOptions<std::string> options) {
    auto queue = TracingQueue<std::string>::Create(std::move(options));
    EXPECT_TRUE(queue.ok()) << queue.status();
    return *std::move(queue);
  }

  std::unique_ptr<TracingQueue<std::string>> New() { return New(Options()); }

  const std::string a_ = "a";
  FakeClock clock_;
  RecordingLog log_;
  const std::shared_ptr<RecordingTracer> tracer_ =
      std::make_shared<RecordingTracer>();
};

// The hooks of adds.

TEST_F(TracingQueueTest, EveryWayToAddIsTold) {
  auto queue = New();
  EXPECT_TRUE(queue->Add("a"));
  EXPECT_TRUE(queue->AddAll({"b", "c"}));
  EXPECT_TRUE(queue->AddAfter("d", absl::Seconds(1)));
  EXPECT_TRUE(queue->AddAfter("e", -absl::Seconds(1)));
  EXPECT_TRUE(queue->Reschedule("f", absl::Seconds(2)));
  EXPECT_TRUE(queue->AddRateLimited("g"));
  EXPECT_TRUE(queue->AddRateLimitedAfter("h", absl::Seconds(3)));
  EXPECT_TRUE(queue->AddRateLimitedAfter("i", -absl::Seconds(3)));
  EXPECT_EQ(tracer_->Take(),
            (Events{"a: add 1 in 0", "b: add 2 in 0", "c: add 3 in 0",
                    "d: add after 4 in 1s", "e: add after 5 in 0",
                    "f: reschedule 6 in 2s", "g: retry 7 in ?",
                    "h: retry 8 in 3s", "i: retry 9 in 0"}));
  EXPECT_EQ(queue->Len(), 5u);
  EXPECT_EQ(queue->NumRequeues("g"), 1);
  queue->Forget("g");
  EXPECT_EQ(queue->NumRequeues("g"), 0);
}

TEST_F(TracingQueueTest, AddWithOptionsIsTold) {
  auto queue = New();
  ASSERT_EQ(queue->AsPriorityQueue(), queue.get());
  AddOptions options;
  options.priority = 7;
  EXPECT_TRUE(queue->AddWithOptions(options, {"a", "b"}));
  options.after = absl::Seconds(1);
  EXPECT_TRUE(queue->AddWithOptions(options, {"c"}));
  options.rate_limited = true;
  EXPECT_TRUE(queue->AddWithOptions(options, {"d"}));
  options.after = absl::ZeroDuration();
  EXPECT_TRUE(queue->AddWithOptions(options, {"e"}));
  EXPECT_EQ(tracer_->Take(), (Events{"a: add 1 in 0 at priority 7",
                                     "b: add 2 in 0 at priority 7",
                                     "c: add after 3 in 1s at priority 7",
                                     "d: retry 4 in 1s at priority 7",
                                     "e: retry 5 in ? at priority 7"}));
  EXPECT_EQ(queue->GetWithPriority()->priority, 7);
}

TEST_F(TracingQueueTest, ADelayThatAnErrorChoseReachesTheQueueBelow) {
  for (const bool with_priorities : {true, false}) {
    auto queue = New(with_priorities ? Options() : OptionsWithoutPriorities());
    EXPECT_TRUE(queue->AddRateLimitedAfter("a", absl::Seconds(30)));
    EXPECT_EQ(queue->NumRequeues("a"), 1);
    clock_.Step(absl::Seconds(30) - absl::Nanoseconds(1));
    EXPECT_EQ(queue->Len(), 0u);
    clock_.Step(absl::Nanoseconds(1));
    EXPECT_EQ(queue->Len(), 1u);
  }
}

TEST_F(TracingQueueTest, AQueueWithoutPrioritiesStaysOne) {
  auto queue = New(OptionsWithoutPriorities());
  EXPECT_EQ(queue->AsPriorityQueue(), nullptr);
  AddOptions options;
  options.priority = 7;
  EXPECT_TRUE(queue->AddWithOptions(options, {"a"}));
  options.after = absl::Seconds(1);
  EXPECT_TRUE(queue->AddWithOptions(options, {"b"}));
  const std::optional<ItemWithPriority<std::string>> item =
      queue->GetWithPriority();
  ASSERT_TRUE(item.has_value());
  EXPECT_EQ(item->item, "a");
  EXPECT_EQ(item->priority, 0);
  EXPECT_EQ(tracer_->Take(), (Events{"a: add 1 in 0 at priority 7",
                                     "b: add after 2 in 1s at priority 7",
                                     "a: got [1] after 0"}));
  queue->ShutDown();
  queue->Done("a");
  EXPECT_EQ(queue->GetWithPriority(), std::nullopt);
}

// Every way to get.

TEST_F(TracingQueueTest, EveryWayToGetIsTold) {
  auto queue = New();
  const auto add = [&](const std::string& item) {
    queue->Add(item);
    clock_.Step(absl::Seconds(1));
    tracer_->Take();
  };
  const auto got = [&](const std::string& item, int context) {
    return Events{absl::StrCat(item, ": got [", context, "] after 1s")};
  };

  add("a");
  EXPECT_EQ(queue->Get(), "a");
  EXPECT_EQ(tracer_->Take(), got("a", 1));
  add("b");
  EXPECT_EQ(*queue->GetWithTimeout(absl::ZeroDuration()), "b");
  EXPECT_EQ(tracer_->Take(), got("b", 2));
  add("c");
  EXPECT_EQ(queue->GetWithPriority()->item, "c");
  EXPECT_EQ(tracer_->Take(), got("c", 3));

  add("d");
  Lease<std::string> lease = *queue->Acquire();
  EXPECT_EQ(*lease, "d");
  EXPECT_EQ(tracer_->Take(), got("d", 4));
  add("e");
  EXPECT_TRUE(queue->AcquireNext(&lease).ok());
  EXPECT_EQ(*lease, "e");
  EXPECT_EQ(tracer_->Take(), got("e", 5));

  queue->AddAll({"f", "g"});
  tracer_->Take();
  LeaseBatch<std::string> batch = *queue->AcquireUpTo(10);
  EXPECT_EQ(batch.size(), 2u);
  EXPECT_EQ(tracer_->Take(),
            (Events{"f: got [6] after 0", "g: got [7] after 0"}));

  ManualExecutor executor;
  const auto callback = [&lease](absl::StatusOr<Lease<std::string>> acquired) {
    ASSERT_TRUE(acquired.ok());
    lease = *std::move(acquired);
  };
  add("h");
  queue->AcquireAsync(&executor, callback);
  executor.RunAll();
  EXPECT_EQ(*lease, "h");
  EXPECT_EQ(tracer_->Take(), got("h", 8));
  add("i");
  queue->AcquireNextAsync(&lease, &executor, callback);
  executor.RunAll();
  EXPECT_EQ(*lease, "i");
  EXPECT_EQ(tracer_->Take(), got("i", 9));
}

using TracingQueueDeathTest = TracingQueueTest;

TEST_F(TracingQueueDeathTest, ACallbackMustBeCallable) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto queue = New();
  ManualExecutor executor;
  Lease<std::string> lease;
  EXPECT_DEATH(queue->AcquireNextAsync(&lease, &executor, nullptr),
               "the callback of AcquireAsync.. is null");
}

TEST_F(TracingQueueTest, AGetWithoutAnItemIsNotTold) {
  auto queue = New();
  Lease<std::string> lease;
  ManualExecutor executor;
  EXPECT_FALSE(queue->TryGet().ok());
  EXPECT_FALSE(queue->TryAcquire().ok());
  EXPECT_FALSE(queue->AcquireUpTo(0).ok());
  queue->AcquireAsync(&executor, [](absl::StatusOr<Lease<std::string>> l) {
    EXPECT_TRUE(absl::IsCancelled(l.status()));
  });
  queue->ShutDown();
  executor.RunAll();
  EXPECT_EQ(queue->Get(), std::nullopt);
  EXPECT_EQ(queue->GetWithPriority(), std::nullopt);
  EXPECT_FALSE(queue->AcquireNext(&lease).ok());
  EXPECT_EQ(tracer_->Take(), Events());
}

// How contexts travel.

TEST_F(TracingQueueTest, TheContextsOfSeveralAddsTravelTogether) {
  auto queue = New();
  queue->AddAfter("a", absl::Seconds(5));
  clock_.Step(absl::Seconds(1));
  queue->Add("a");
  clock_.Step(absl::Seconds(1));
  queue->Add("a");
  EXPECT_EQ(queue->Get(), "a");
  EXPECT_EQ(tracer_->Take().back(), "a: got [1 2 3] after 2s");
}

TEST_F(TracingQueueTest, FurtherContextsAreCounted) {
  TracingQueueOptions<std::string> options = Options();
  options.max_contexts = 2;
  auto queue = New(std::move(options));
  for (int i = 0; i < 5; ++i) queue->Add("a");
  queue->Get();
  EXPECT_EQ(tracer_->Take().back(), "a: got [1 2] and 3 after 0");
  {
    auto attempt = queue->BeginAttempt(a_);
    EXPECT_EQ(tracer_->Take().back(),
              "a: begin 6 of [1 2] and 3 by '' priority 0 failures 0");
  }
  queue->Done("a");

  queue->Add("a");
  queue->Get();
  EXPECT_EQ(tracer_->Take().back(), "a: got [7] after 0");
}

TEST_F(TracingQueueTest, ByDefaultEightContextsTravel) {
  auto queue = New();
  for (int i = 0; i < 9; ++i) queue->Add("a");
  queue->Get();
  EXPECT_EQ(tracer_->Take().back(), "a: got [1 2 3 4 5 6 7 8] and 1 after 0");
}

TEST_F(TracingQueueTest, TheContextOfAnAddWhileProcessingWaits) {
  auto queue = New();
  queue->Add("a");
  queue->Get();
  queue->Add("a");
  {
    auto attempt = queue->BeginAttempt(a_);
    EXPECT_EQ(tracer_->Take().back(),
              "a: begin 3 of [1] by '' priority 0 failures 0");
  }
  queue->Done("a");
  queue->Get();
  EXPECT_EQ(tracer_->Take().back(), "a: got [2] after 0");
}

TEST_F(TracingQueueTest, AnAttemptTakesTheContextsOnce) {
  auto queue = New();
  queue->Add("a");
  queue->Get();
  queue->BeginAttempt(a_).End(absl::OkStatus());
  tracer_->Take();
  queue->BeginAttempt(a_, 3).End(absl::OkStatus());
  EXPECT_EQ(tracer_->Take(),
            (Events{"a: begin 3 of [] by '' priority 3 failures 0",
                    "a: end 3 after 0 OK"}));
}

TEST_F(TracingQueueTest, WithoutAnAttemptContextsEndWithDone) {
  auto queue = New();
  queue->Add("a");
  queue->Get();
  queue->Done("a");
  tracer_->Take();
  queue->BeginAttempt(a_).End(absl::OkStatus());
  EXPECT_EQ(tracer_->Take().front(),
            "a: begin 2 of [] by '' priority 0 failures 0");
}

TEST_F(TracingQueueTest, WithoutAnAttemptContextsEndWithTheNextHandOut) {
  auto queue = New();
  queue->Add("a");
  queue->Acquire()->GiveBack();
  Lease<std::string> lease = *queue->Acquire();
  EXPECT_EQ(tracer_->Take().back(), "a: got [] after ?");
  auto attempt = queue->BeginAttempt(*lease);
  EXPECT_EQ(tracer_->Take().back(),
            "a: begin 2 of [] by '' priority 0 failures 0");
}

TEST_F(TracingQueueTest, CancelDelayedForgetsTheDelayedAdds) {
  auto queue = New(OptionsWithoutPriorities());
  queue->AddAfter("a", absl::Seconds(1));
  queue->AddRateLimited("a");
  EXPECT_TRUE(queue->CancelDelayed("a"));
  EXPECT_FALSE(queue->CancelDelayed("a"));
  clock_.Step(absl::Seconds(2));
  queue->Add("a");
  queue->AddAfter("a", absl::Seconds(1));
  EXPECT_TRUE(queue->CancelDelayed("a"));
  queue->Get();
  EXPECT_EQ(tracer_->Take().back(), "a: got [3] after 0");
}

TEST_F(TracingQueueTest, ACancelThatCancelsNothingForgetsNothing) {
  auto queue = New();
  queue->AddAfter("a", absl::Seconds(1));
  clock_.Step(absl::Seconds(1));
  EXPECT_FALSE(queue->CancelDelayed("a"));
  queue->Get();
  EXPECT_EQ(tracer_->Take().back(), "a: got [1] after 1s");
}

TEST_F(TracingQueueTest, TheItemsHaveABound) {
  TracingQueueOptions<std::string> options = Options();
  options.max_items = 2;
  auto queue = New(std::move(options));
  queue->AddAll({"a", "b", "c"});
  tracer_->Take();
  for (int i = 0; i < 3; ++i) queue->Get();
  EXPECT_EQ(tracer_->Take(), (Events{"a: got [] after ?", "b: got [2] after 0",
                                     "c: got [3] after 0"}));
}

// A tracer that makes no contexts.
class Watch final : public QueueTracer<std::string> {
 public:
  void OnHandOut(const std::string&, absl::Span<const TraceContext> contexts,
                 const HandOutInfo&) override {
    got = NumbersOf(contexts);
  }
  std::string got;
};

TEST_F(TracingQueueTest, WithoutAContextOfATracerTheCurrentOneTravels) {
  TracingQueueOptions<std::string> options = Options();
  auto watch = std::make_shared<Watch>();
  options.tracers = {watch};
  auto queue = New(std::move(options));
  {
    const TraceScope scope(TestContext(9));
    queue->Add("a");
    queue->Add("a");
  }
  queue->Add("a");
  queue->Get();
  EXPECT_EQ(watch->got, "[9]");
}

TEST_F(TracingQueueTest, TheContextOfTheFirstTracerTravels) {
  TracingQueueOptions<std::string> options = Options();
  auto second = std::make_shared<RecordingTracer>();
  options.tracers = {std::make_shared<QueueTracer<std::string>>(), tracer_,
                     second};
  auto queue = New(std::move(options));
  second->OnAdd("", {});
  second->Take();
  queue->Add("a");
  queue->Get();
  queue->BeginAttempt(a_).End(absl::OkStatus());
  EXPECT_EQ(tracer_->Take(),
            (Events{"a: add 1 in 0", "a: got [1] after 0",
                    "a: begin 2 of [1] by '' priority 0 failures 0",
                    "a: end 2 after 0 OK"}));
  EXPECT_EQ(second->Take(),
            (Events{"a: add 2 in 0", "a: got [1] after 0",
                    "a: begin 3 of [1] by '' priority 0 failures 0",
                    "a: end 3 after 0 OK"}));
}

// Attempts without a controller.

TEST_F(TracingQueueTest, ARetryLinksToTheAttemptThatFailed) {
  auto queue = New();
  queue->Add("a");
  Lease<std::string> lease = *queue->Acquire();
  auto attempt = queue->BeginAttempt(*lease, lease.priority());
  EXPECT_EQ(attempt.context(), TestContext(2));
  EXPECT_EQ(TraceScope::Current(), TestContext(2));
  queue->Add("b");
  clock_.Step(absl::Seconds(3));
  attempt.End(absl::UnavailableError("down"));
  attempt.End(absl::OkStatus());  // does nothing
  EXPECT_FALSE(TraceScope::Current().IsValid());
  queue->AddRateLimited(*lease);
  queue->AddRateLimited(*lease);  // is no consequence of the attempt
  EXPECT_EQ(
      tracer_->Take(),
      (Events{"a: add 1 in 0", "a: got [1] after 0",
              "a: begin 2 of [1] by '' priority 0 failures 0",
              "b: add 3 in 0 inside 2", "a: end 2 after 3s UNAVAILABLE 'down'",
              "a: retry 4 in ? after 2", "a: retry 5 in ?"}));
  EXPECT_TRUE(queue->AcquireNext(&lease).ok());
  clock_.Step(absl::Seconds(1));
  EXPECT_TRUE(queue->AcquireNext(&lease).ok());
  EXPECT_EQ(tracer_->Take().back(), "a: got [4 5] after 1s");
}

TEST_F(TracingQueueTest, ARetryDuringTheAttemptLinksToIt) {
  auto queue = New();
  queue->Add("a");
  Lease<std::string> lease = *queue->Acquire();
  auto attempt = queue->BeginAttempt(*lease);
  queue->AddRateLimited(*lease);
  EXPECT_EQ(tracer_->Take().back(), "a: retry 3 in ? inside 2 after 2");
}

TEST_F(TracingQueueTest, ARequeueLinksToTheAttemptThatAskedForIt) {
  auto queue = New();
  queue->Add("a");
  Lease<std::string> lease = *queue->Acquire();
  auto attempt = queue->BeginAttempt(*lease);
  attempt.End(ReconcileResult{/*requeue_after=*/absl::Minutes(1)});
  queue->AddAfter(*lease, absl::Minutes(2));  // is not what it asked for
  queue->AddRateLimited(*lease);
  queue->AddAfter(*lease, absl::Minutes(1));
  const Events events = tracer_->Take();
  EXPECT_EQ(Events(events.begin() + 3, events.end()),
            (Events{"a: end 2 after 0 OK again in 1m", "a: add after 3 in 2m",
                    "a: retry 4 in ?", "a: add after 5 in 1m after 2"}));
}

TEST_F(TracingQueueTest, NothingLinksToAnAttemptThatSucceeded) {
  auto queue = New();
  queue->Add("a");
  Lease<std::string> lease = *queue->Acquire();
  queue->BeginAttempt(*lease).End(absl::OkStatus());
  queue->AddRateLimited(*lease);
  EXPECT_EQ(tracer_->Take().back(), "a: retry 3 in ?");
}

TEST_F(TracingQueueTest, NothingLinksToATerminalError) {
  auto queue = New();
  queue->Add("a");
  Lease<std::string> lease = *queue->Acquire();
  queue->BeginAttempt(*lease).End(TerminalError(absl::InternalError("no")));
  EXPECT_EQ(tracer_->Take().back(), "a: end 2 after 0 INTERNAL 'no' terminal");
  queue->AddRateLimited(*lease);
  EXPECT_EQ(tracer_->Take().back(), "a: retry 3 in ?");
}

TEST_F(TracingQueueTest, AnAttemptThatIsDroppedIsAborted) {
  auto queue = New();
  tracer_->RecordScopes();
  { auto attempt = queue->BeginAttempt(a_); }
  EXPECT_EQ(tracer_->Take(),
            (Events{"a: begin 1 of [] by '' priority 0 failures 0", "a: enter",
                    "a: leave", "a: end 1 after 0 ABORTED ''"}));
}

// Adds that fail.

TEST_F(TracingQueueTest, ARefusedAddLeavesNoContext) {
  auto queue = New();
  queue->Add("a");
  queue->ShutDown();
  EXPECT_FALSE(queue->Add("a"));
  EXPECT_FALSE(queue->AddAll({"a", "b"}));
  EXPECT_FALSE(queue->AddAfter("a", absl::Seconds(1)));
  EXPECT_FALSE(queue->AddRateLimited("a"));
  EXPECT_FALSE(queue->Reschedule("a", absl::Seconds(1)));
  EXPECT_FALSE(queue->AddWithOptions({}, {"a"}));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(queue->Get(), "a");
  EXPECT_EQ(
      tracer_->Take(),
      (Events{"a: add 1 in 0", "a: add 2 in 0", "a: refused 2", "a: add 3 in 0",
              "b: add 4 in 0", "a: refused 3", "b: refused 4",
              "a: add after 5 in 1s", "a: refused 5", "a: retry 6 in ?",
              "a: refused 6", "a: reschedule 7 in 1s", "a: refused 7",
              "a: add 8 in 0", "a: refused 8", "a: got [1] after 1s"}));
}

TEST_F(TracingQueueTest, ARefusedAddIsNotCounted) {
  TracingQueueOptions<std::string> options = Options();
  options.max_contexts = 1;
  auto queue = New(std::move(options));
  queue->Add("a");
  queue->ShutDown();
  queue->Add("a");
  queue->Get();
  EXPECT_EQ(tracer_->Take().back(), "a: got [1] after 0");
}

// Bad options.

TEST_F(TracingQueueTest, BadOptionsAreRefused) {
  const auto error = [](TracingQueueOptions<std::string> options) {
    const absl::Status status =
        TracingQueue<std::string>::Create(std::move(options)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  TracingQueueOptions<std::string> options = Options();
  options.queue = nullptr;
  EXPECT_EQ(error(std::move(options)),
            "queue is null; a tracing queue needs one");
  options = Options();
  options.tracers = {tracer_, nullptr};
  EXPECT_EQ(error(std::move(options)), "tracers[1] is null");
  options = Options();
  options.max_contexts = 0;
  EXPECT_EQ(error(std::move(options)),
            "max_contexts is 0; it must be at least 1");
  options = Options();
  options.max_items = 0;
  EXPECT_EQ(error(std::move(options)), "max_items is 0; it must be at least 1");
}

// Exceptions.

class ThrowingTracer final : public QueueTracer<std::string> {
 public:
  TraceContext OnAdd(const std::string&, const AddInfo&) override {
    throw std::runtime_error("OnAdd");
  }
  void OnAddRefused(const std::string&, const TraceContext&) override {
    throw std::runtime_error("OnAddRefused");
  }
  void OnHandOut(const std::string&, absl::Span<const TraceContext>,
                 const HandOutInfo&) override {
    throw std::runtime_error("OnHandOut");
  }
  std::unique_ptr<ReconcileSpan> OnReconcileBegin(
      const std::string&, absl::Span<const TraceContext>,
      const ReconcileInfo&) override {
    if (with_span) return std::make_unique<Span>();
    throw std::runtime_error("OnReconcileBegin");
  }

  class Span final : public ReconcileSpan {
   public:
    void Enter() override { throw std::runtime_error("Enter"); }
    void Leave() override { throw std::runtime_error("Leave"); }
    void End(const ReconcileOutcome&) override {
      throw std::runtime_error("End");
    }
  };

  bool with_span = false;
};

TEST_F(TracingQueueTest, ATracerThatThrowsLosesNothing) {
  TracingQueueOptions<std::string> options = Options();
  auto throwing = std::make_shared<ThrowingTracer>();
  options.tracers = {throwing, tracer_};
  auto queue = New(std::move(options));
  EXPECT_TRUE(queue->Add("a"));
  EXPECT_EQ(queue->Get(), "a");
  queue->BeginAttempt(a_).End(absl::OkStatus());
  throwing->with_span = true;
  queue->BeginAttempt(a_).End(absl::OkStatus());
  queue->ShutDown();
  EXPECT_FALSE(queue->Add("a"));
  EXPECT_EQ(tracer_->Take(),
            (Events{"a: add 1 in 0", "a: got [1] after 0",
                    "a: begin 2 of [1] by '' priority 0 failures 0",
                    "a: end 2 after 0 OK",
                    "a: begin 3 of [] by '' priority 0 failures 0",
                    "a: end 3 after 0 OK", "a: add 4 in 0", "a: refused 4"}));
  const std::string who = "E queue test: tracing: ";
  EXPECT_EQ(log_.messages(),
            (Events{who + "adding a: INTERNAL: OnAdd",
                    who + "handing out a: INTERNAL: OnHandOut",
                    who + "beginning a: INTERNAL: OnReconcileBegin",
                    who + "entering a: INTERNAL: Enter",
                    who + "leaving a: INTERNAL: Leave",
                    who + "ending a: INTERNAL: End",
                    who + "adding a: INTERNAL: OnAdd",
                    who + "refusing a: INTERNAL: OnAddRefused"}));
}

// An item whose copies and hashes throw on demand.
struct FragileItem {
  static bool& broken() {
    static bool is_broken = false;
    return is_broken;
  }
  static void Check() {
    if (broken()) throw std::runtime_error("broken");
  }

  explicit FragileItem(int the_id) : id(the_id) {}
  FragileItem(const FragileItem& other) : id(other.id) { Check(); }
  FragileItem& operator=(const FragileItem&) = default;

  friend bool operator==(const FragileItem& a, const FragileItem& b) {
    return a.id == b.id;
  }
  template <typename H>
  friend H AbslHashValue(H h, const FragileItem& item) {
    Check();
    return H::combine(std::move(h), item.id);
  }

  int id;
};

// A tracer that breaks all items.
class BreakingTracer final : public QueueTracer<FragileItem> {
 public:
  TraceContext OnAdd(const FragileItem&, const AddInfo&) override {
    FragileItem::broken() = true;
    return TestContext(1);
  }
  void OnAddRefused(const FragileItem&, const TraceContext& context) override {
    refused.push_back(NumberOf(context));
  }
  void OnHandOut(const FragileItem&, absl::Span<const TraceContext> contexts,
                 const HandOutInfo&) override {
    handed_out += NumbersOf(contexts);
  }

  std::vector<int> refused;
  std::string handed_out;
};

TEST_F(TracingQueueTest, AnItemThatThrowsIsRefused) {
  PriorityQueueOptions<FragileItem> below;
  below.clock = &clock_;
  TracingQueueOptions<FragileItem> options;
  options.queue =
      std::make_unique<PriorityQueue<FragileItem>>(std::move(below));
  auto tracer = std::make_shared<BreakingTracer>();
  options.tracers = {tracer};
  options.log_sink = &log_;
  auto queue = *TracingQueue<FragileItem>::Create(std::move(options));
  EXPECT_THROW(queue->Add(FragileItem(1)), std::runtime_error);
  EXPECT_EQ(tracer->refused, std::vector<int>{1});
  EXPECT_EQ(queue->Len(), 0u);
  EXPECT_THROW(queue->AddAll({FragileItem(1), FragileItem(2)}),
               std::runtime_error);
  FragileItem::broken() = false;
  EXPECT_EQ(queue->Len(), 0u);
  EXPECT_EQ(log_.messages().front(),
            "E queue: tracing: adding an item (of a type without operator<< or "
            "AbslStringify()): INTERNAL: broken");
}

// The failures of a shared queue, which the engine counts for all processes.

class TracedFailuresTest : public TracingQueueTest {
 protected:
  using Shared = SharedQueue<std::string>;

  std::unique_ptr<Shared> NewBelow(const std::string& process) {
    SharedQueueOptions<std::string> options;
    options.name = "pods";
    options.client_name = process;
    options.clock = &clock_;
    options.engine = &engine_;
    return *Shared::Create(std::move(options));
  }

  std::unique_ptr<TracingQueue<std::string>> NewOnShared() {
    TracingQueueOptions<std::string> options = Options();
    options.queue = NewBelow("a");
    return New(std::move(options));
  }

  MemoryEngine engine_{&clock_};
  const absl::Status error_ = absl::InternalError("it broke");
};

TEST_F(TracedFailuresTest, ARetryThatIsRefusedLeavesItsLinkToTheNextOne) {
  auto queue = NewOnShared();
  ASSERT_TRUE(queue->Add("a"));
  auto lease = queue->TryAcquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  queue->BeginAttempt(**lease).End(error_);
  MemoryEngine::Faults away;
  away.away = true;
  engine_.SetFaults(away);
  const auto fail = [&] {
    tracer_->Take();
    return queue->AsSharedFailures()->Fail(&*lease, error_, {}, std::nullopt);
  };
  EXPECT_FALSE(fail().ok());
  EXPECT_EQ(tracer_->Take(),
            (Events{"a: retry 3 in ? after 2", "a: refused 3"}));
  engine_.SetFaults({});
  EXPECT_TRUE(fail().ok());
  EXPECT_EQ(tracer_->Take(), (Events{"a: retry 4 in ? after 2"}));
}

TEST_F(TracedFailuresTest, AFailureAndARequeueAreToldAsAdds) {
  auto queue = NewOnShared();
  SharedFailures<std::string>* const failures = queue->AsSharedFailures();
  ASSERT_NE(failures, nullptr);
  EXPECT_TRUE(queue->Add("a"));
  auto lease = queue->TryAcquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  const auto failed = failures->Fail(&*lease, error_, {}, std::nullopt);
  ASSERT_TRUE(failed.ok()) << failed.status();
  EXPECT_EQ(failed->failures, 1);
  clock_.Step(absl::Minutes(1));
  lease = queue->TryAcquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(failures->FailuresBefore(*lease), 1);
  EXPECT_TRUE(
      failures->Requeue(&*lease, AddOptions::After(absl::Seconds(2))).ok());
  clock_.Step(absl::Seconds(2));
  lease = queue->TryAcquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_TRUE(failures->Fail(&*lease, error_, {}, absl::Seconds(3)).ok());
  EXPECT_EQ(tracer_->Take(),
            (Events{"a: add 1 in 0", "a: got [1] after 0", "a: retry 2 in ?",
                    "a: got [2] after 1m", "a: add after 3 in 2s",
                    "a: got [3] after 2s", "a: retry 4 in 3s"}));
}

TEST_F(TracedFailuresTest, AnItemThatIsNotAddedAgainIsRefused) {
  auto queue = NewOnShared();
  SharedFailures<std::string>* const failures = queue->AsSharedFailures();
  ASSERT_NE(failures, nullptr);
  FailureLedgerOptions limits;
  limits.max_failures = 1;
  EXPECT_TRUE(queue->Add("a"));
  auto lease = queue->TryAcquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  MemoryEngine::Faults away;
  away.away = true;
  engine_.SetFaults(away);
  EXPECT_FALSE(failures->Fail(&*lease, error_, limits, std::nullopt).ok());
  EXPECT_FALSE(failures->Requeue(&*lease, {}).ok());
  engine_.SetFaults({});
  EXPECT_EQ(**lease, "a");
  EXPECT_TRUE(failures->Fail(&*lease, error_, limits, std::nullopt)->parked);
  EXPECT_FALSE(*failures->Unpark("b"));
  EXPECT_TRUE(*failures->Unpark("a"));
  lease = queue->TryAcquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(tracer_->Take(),
            (Events{"a: add 1 in 0", "a: got [1] after 0", "a: retry 2 in ?",
                    "a: refused 2", "a: add after 3 in 0", "a: refused 3",
                    "a: retry 4 in ?", "a: refused 4", "b: add 5 in 0",
                    "b: refused 5", "a: add 6 in 0", "a: got [6] after 0"}));
  Lease<std::string> none;
  EXPECT_FALSE(failures->Fail(&none, error_, limits, std::nullopt).ok());
  EXPECT_FALSE(failures->Requeue(&none, {}).ok());
  EXPECT_EQ(tracer_->Take(), Events{});
}

TEST_F(TracedFailuresTest, AnAttemptInAnOutageDoesNotTellTheFailures) {
  auto queue = NewOnShared();
  EXPECT_TRUE(queue->Add("a"));
  auto lease = queue->TryAcquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  MemoryEngine::Faults away;
  away.away = true;
  engine_.SetFaults(away);
  {
    auto attempt = queue->BeginAttempt(**lease);
    EXPECT_EQ(tracer_->Take().back(),
              "a: begin 2 of [1] by '' priority 0 failures ?");
  }
  engine_.SetFaults({});
}

TEST_F(TracedFailuresTest, OtherProcessesSeeTheFailures) {
  auto queue = NewOnShared();
  auto other = NewBelow("b");
  SharedFailures<std::string>* const failures = queue->AsSharedFailures();
  ASSERT_NE(failures, nullptr);
  FailureLedgerOptions limits;
  limits.max_failures = 1;
  for (const char* item : {"a", "b"}) {
    EXPECT_TRUE(queue->Add(item));
    auto lease = queue->TryAcquire();
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_TRUE(failures->Fail(&*lease, error_, limits, std::nullopt).ok());
  }
  EXPECT_EQ(other->Numbers()->parked, 2u);
  EXPECT_EQ(failures->Numbers()->parked, 2u);
  EXPECT_EQ(failures->Parked(9)->size(), 2u);
  EXPECT_TRUE(failures->Find("a").ok());
  EXPECT_EQ(*failures->UnparkAll(), 2u);
  EXPECT_TRUE(failures->Failing(9)->empty());
  // An item that ends its process is parked, too.
  EXPECT_TRUE(failures->SetLimits(limits).ok());
  clock_.Step(absl::ZeroDuration());
  auto lease = queue->TryAcquire();
  MemoryEngine::Faults away;
  away.away = true;
  engine_.SetFaults(away, "a");
  clock_.Step(absl::Seconds(30));
  EXPECT_EQ(other->Numbers()->parked, 1u);
}

TEST_F(TracedFailuresTest, AControllerUsesThem) {
  auto other = NewBelow("b");
  ControllerOptions<std::string> options;
  options.name = "test";
  auto queue = NewOnShared();
  options.reconcile =
      queue->Traced([this](const std::string&, const ReconcileContext&)
                        -> absl::StatusOr<ReconcileResult> { return error_; });
  options.queue = std::move(queue);
  options.failures.max_failures = 1;
  auto controller = *Controller<std::string>::Create(std::move(options));
  ASSERT_TRUE(controller->Start().ok());
  EXPECT_TRUE(other->Add("a"));
  clock_.Step(absl::ZeroDuration());
  controller->AwaitIdle();
  EXPECT_EQ(other->Numbers()->parked, 1u);
}

}  // namespace
}  // namespace workqueue::tracing_queue_test
