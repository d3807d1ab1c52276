// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Inspects real queues, controllers and schedulers.

#include "workqueue/inspect/inspect_queue.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/failure_ledger.h"
#include "workqueue/failures.h"
#include "workqueue/inspect/history_tracer.h"
#include "workqueue/inspect/inspect_controller.h"
#include "workqueue/inspect/inspect_scheduler.h"
#include "workqueue/inspect/inspectable.h"
#include "workqueue/inspect/inspection.h"
#include "workqueue/inspect/item_history.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/shared/shared_queue_options.h"
#include "workqueue/shared/testing/memory_engine.h"
#include "workqueue/timer/scheduler.h"
#include "workqueue/tracing/queue_tracer.h"
#include "workqueue/tracing/tracing_queue.h"

namespace workqueue::inspect_queue_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

template <typename Items>
std::vector<std::string> Keys(const Items& items) {
  std::vector<std::string> keys;
  for (const auto& it : items) keys.push_back(it.key);
  return keys;
}

std::vector<std::string> Texts(const std::vector<InspectedEvent>& events) {
  std::vector<std::string> texts;
  for (const InspectedEvent& it : events) texts.push_back(it.what);
  return texts;
}

class InspectTest : public testing::Test {
 protected:
  template <typename Options>
  Options With(Options options) {
    options.clock = &clock_;
    return options;
  }

  FakeClock clock_;
};

using InspectQueueTest = InspectTest;

TEST_F(InspectQueueTest, ShowsAPriorityQueue) {
  PriorityQueue<std::string> queue(With(PriorityQueueOptions<std::string>()));
  const auto inspectable = InspectQueue(&queue);
  EXPECT_EQ(inspectable->Kind(), "priority queue");
  queue.AddWithOptions({absl::ZeroDuration(), false, 7}, {"a/1"});
  queue.AddAll({"a/2", "a/3", "b/1"});
  queue.AddAfter("later", absl::Seconds(30));
  queue.AddRateLimited("failed");
  const Lease<std::string> lease = *queue.TryAcquire();
  queue.Add("a/1");
  clock_.Step(absl::Milliseconds(1));

  const Inspection it = *inspectable->Inspect(2);
  EXPECT_EQ(it.taken_at, clock_.TimeNow());
  EXPECT_EQ(it.num_queued, 3u);
  EXPECT_EQ(it.num_processing, 1u);
  EXPECT_EQ(it.num_waiting, 2u);
  EXPECT_FALSE(it.num_failing.has_value());
  EXPECT_THAT(Keys(it.queued), ElementsAre("a/2", "a/3"));
  ASSERT_THAT(Keys(it.processing), ElementsAre("a/1"));
  EXPECT_TRUE(it.processing[0].added_again);
  ASSERT_THAT(Keys(it.waiting), ElementsAre("failed", "later"));
  EXPECT_EQ(it.waiting[0].failures, 1);
  EXPECT_EQ(it.num_grouped, 3u) << "more than the items that are shown";
  ASSERT_EQ(it.groups.size(), 1u);
  EXPECT_EQ(it.groups[0].items, 2u);
}

TEST_F(InspectQueueTest, ASampleHasOnlyTheNumbers) {
  Queue<std::string> queue(With(QueueOptions<std::string>()));
  queue.AddAll({"a/1", "a/2"});
  const Inspection it = *InspectQueue(&queue)->Inspect(0);
  EXPECT_EQ(it.num_queued, 2u);
  EXPECT_THAT(it.queued, IsEmpty());
  EXPECT_THAT(it.groups, IsEmpty());
}

TEST_F(InspectQueueTest, NamesTheKinds) {
  Queue<std::string> queue(With(QueueOptions<std::string>()));
  EXPECT_EQ(InspectQueue(&queue)->Kind(), "queue");
  DelayingQueue<std::string> delaying(
      With(DelayingQueueOptions<std::string>()));
  EXPECT_EQ(InspectQueue(&delaying)->Kind(), "delaying queue");
  RateLimitingQueue<std::string> limiting(
      With(RateLimitingQueueOptions<std::string>()));
  EXPECT_EQ(InspectQueue(&limiting)->Kind(), "rate limiting queue");
}

TEST_F(InspectQueueTest, FindsAnItemByItsKey) {
  RateLimitingQueue<std::string> queue(
      With(RateLimitingQueueOptions<std::string>()));
  const auto inspectable = InspectQueue(&queue);
  queue.AddAll({"a", "b\n\xff\\"});
  const Inspection b = *inspectable->InspectKey("b\\n\\377\\\\");
  EXPECT_THAT(Keys(b.queued), ElementsAre("b\\n\\377\\\\"));
  EXPECT_EQ(b.num_queued, 2u);
  EXPECT_THAT(inspectable->InspectKey("c")->queued, IsEmpty());
  EXPECT_EQ(inspectable->InspectKey("c\\").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(InspectQueueTest, TheKeyOfALongItemIsNotCut) {
  Queue<std::string> queue(With(QueueOptions<std::string>()));
  const std::string longest(10000, 'x');
  queue.Add(longest);
  EXPECT_EQ(InspectQueue(&queue)->Inspect(1)->queued[0].key, longest);
}

TEST_F(InspectQueueTest, ChangesAnItem) {
  RateLimitingQueue<std::string> queue(
      With(RateLimitingQueueOptions<std::string>()));
  const auto inspectable = InspectQueue(&queue);
  queue.AddRateLimited("a");
  ASSERT_EQ(queue.NumRequeues("a"), 1);
  EXPECT_EQ(inspectable->Act(InspectAction::kForget, "a"), absl::OkStatus());
  EXPECT_EQ(queue.NumRequeues("a"), 0);
  EXPECT_EQ(inspectable->Act(InspectAction::kCancel, "a"), absl::OkStatus());
  EXPECT_EQ(inspectable->Act(InspectAction::kCancel, "a"),
            absl::NotFoundError("the item does not wait"));
  queue.AddAfter("a", absl::Hours(1));
  EXPECT_EQ(inspectable->Act(InspectAction::kRequeue, "a"), absl::OkStatus());
  const Inspection it = *inspectable->Inspect(10);
  EXPECT_EQ(it.num_queued, 1u);
  EXPECT_EQ(it.num_waiting, 0u) << "it must not come twice";
  queue.ShutDown();
  EXPECT_EQ(inspectable->Act(InspectAction::kRequeue, "b").code(),
            absl::StatusCode::kCancelled);
}

TEST_F(InspectQueueTest, APlainQueueHasNoDelaysAndCountsNoFailures) {
  Queue<std::string> queue(With(QueueOptions<std::string>()));
  const auto inspectable = InspectQueue(&queue);
  EXPECT_EQ(inspectable->Act(InspectAction::kRequeue, "a"), absl::OkStatus());
  EXPECT_EQ(queue.Len(), 1u);
  for (const InspectAction action :
       {InspectAction::kForget, InspectAction::kCancel}) {
    EXPECT_EQ(inspectable->Act(action, "a").code(),
              absl::StatusCode::kUnimplemented);
  }
}

// An item that can be printed, and not read.
struct Point {
  int x, y;

  friend bool operator==(const Point& a, const Point& b) {
    return a.x == b.x && a.y == b.y;
  }
  template <typename H>
  friend H AbslHashValue(H state, const Point& p) {
    return H::combine(std::move(state), p.x, p.y);
  }
  friend std::ostream& operator<<(std::ostream& os, const Point& p) {
    return os << p.x << "|" << p.y;
  }
};

TEST_F(InspectQueueTest, ItemsOfOtherTypesArePrinted) {
  Queue<Point> queue(With(QueueOptions<Point>()));
  queue.Add({1, 2});
  const auto inspectable = InspectQueue(&queue);
  EXPECT_THAT(Keys(inspectable->Inspect(1)->queued), ElementsAre("1|2"));
  EXPECT_EQ(inspectable->InspectKey("1|2").status().code(),
            absl::StatusCode::kUnimplemented);
  EXPECT_EQ(inspectable->Act(InspectAction::kRequeue, "1|2").code(),
            absl::StatusCode::kUnimplemented);
}

TEST_F(InspectQueueTest, ACodecReadsItemsOfOtherTypes) {
  Queue<Point> queue(With(QueueOptions<Point>()));
  InspectOptions<Point> options;
  options.codec.encode = [](const Point& p) {
    return absl::StrCat(p.x, ",", p.y);
  };
  options.codec.decode = [](absl::string_view text) -> absl::StatusOr<Point> {
    if (text == "1,2") return Point{1, 2};
    return absl::InvalidArgumentError("this is no point");
  };
  options.options = {{"limiter", "none"}};
  const auto inspectable = InspectQueue(&queue, options);
  EXPECT_EQ(inspectable->Act(InspectAction::kRequeue, "1,2"), absl::OkStatus());
  EXPECT_THAT(Keys(inspectable->InspectKey("1,2")->queued), ElementsAre("1,2"));
  EXPECT_EQ(inspectable->InspectKey("1").status(),
            absl::InvalidArgumentError("key \"1\": this is no point"));
  EXPECT_EQ(inspectable->Inspect(1)->options[0].second, "none");
}

// Shared queues, as the programs have them: behind other interfaces and layers.
class InspectSharedQueueTest : public InspectTest {
 protected:
  std::unique_ptr<SharedQueue<std::string>> NewQueue() {
    SharedQueueOptions<std::string> options;
    options.name = "pods";
    options.engine = &engine_;
    return *SharedQueue<std::string>::Create(With(std::move(options)));
  }

  static std::unique_ptr<TracingQueue<std::string>> Traced(
      std::unique_ptr<RateLimitingInterface<std::string>> queue,
      std::vector<std::shared_ptr<QueueTracer<std::string>>> tracers = {}) {
    TracingQueueOptions<std::string> options;
    options.queue = std::move(queue);
    options.tracers = std::move(tracers);
    return *TracingQueue<std::string>::Create(std::move(options));
  }

  // Adds "a", whose processing fails. An addition does not put it back.
  static void Park(RateLimitingInterface<std::string>* queue) {
    FailureLedgerOptions limits;
    limits.max_failures = 1;
    limits.unpark_on_add = false;
    ASSERT_TRUE(queue->Add("a"));
    Lease<std::string> lease = *queue->TryAcquire();
    const auto failed = queue->AsSharedFailures()->Fail(
        &lease, absl::InternalError("broken"), limits, std::nullopt);
    ASSERT_TRUE(failed.ok() && failed->parked);
  }

  void BreakEngine() {
    MemoryEngine::Faults away;
    away.away = true;
    engine_.SetFaults(away);
  }

  MemoryEngine engine_{&clock_};
};

TEST_F(InspectSharedQueueTest, PutsAParkedItemBackBehindOtherInterfaces) {
  const auto queue = Traced(NewQueue());
  RateLimitingInterface<std::string>* const interface = queue.get();
  for (const auto& inspectable :
       {InspectQueue(queue.get()), InspectQueue(interface)}) {
    Park(interface);
    EXPECT_EQ(inspectable->Kind(), "shared queue");
    EXPECT_EQ(
        inspectable->Act(InspectAction::kForget, "a"),
        absl::FailedPreconditionError(
            "the item is parked; requeue it, and its failures start anew"));
    EXPECT_EQ(inspectable->Act(InspectAction::kRequeue, "a"), absl::OkStatus());
    EXPECT_EQ(inspectable->Inspect(0)->num_parked, 0u);
    EXPECT_TRUE(queue->TryAcquire().ok()) << "it is queued";
  }
}

TEST_F(InspectSharedQueueTest, ReturnsTheErrorsOfTheEngine) {
  const auto queue = Traced(NewQueue());
  const auto inspectable = InspectQueue(queue.get());
  EXPECT_EQ(inspectable->Inspect(1)->health, absl::OkStatus());
  BreakEngine();
  for (const InspectAction action :
       {InspectAction::kRequeue, InspectAction::kForget}) {
    EXPECT_EQ(inspectable->Act(action, "a").code(),
              absl::StatusCode::kUnavailable);
  }
  EXPECT_FALSE(queue->Healthy().ok());
  EXPECT_EQ(inspectable->InspectHere(1)->health, queue->Healthy());
}

TEST_F(InspectSharedQueueTest, ReturnsTheErrorsOfAController) {
  ControllerOptions<std::string> options;
  options.name = "orders";
  options.queue = NewQueue();
  options.reconcile = [](const std::string&) { return absl::OkStatus(); };
  const auto controller = *Controller<std::string>::Create(std::move(options));
  const auto inspectable = InspectController(controller.get());
  EXPECT_EQ(inspectable->Act(InspectAction::kForget, "a"), absl::OkStatus());
  BreakEngine();
  for (const InspectAction action :
       {InspectAction::kRequeue, InspectAction::kForget}) {
    EXPECT_EQ(inspectable->Act(action, "a").code(),
              absl::StatusCode::kUnavailable);
  }
  EXPECT_EQ(controller->ForgetFailures("a").code(),
            absl::StatusCode::kUnavailable);
}

// However often a worker tries to end an item in an outage.
TEST_F(InspectSharedQueueTest, TheHistoryDoesNotCountWhatWasNotTaken) {
  const auto history = std::make_shared<ItemHistory>();
  const auto queue = Traced(
      NewQueue(), {std::make_shared<HistoryTracer<std::string>>(history)});
  ASSERT_TRUE(queue->Add("a"));
  Lease<std::string> lease = *queue->TryAcquire();
  FailureLedgerOptions limits;
  limits.max_failures = 1;
  const auto fail = [&] {
    clock_.Step(absl::Milliseconds(1));
    return queue->AsSharedFailures()->Fail(
        &lease, absl::InternalError("broken"), limits, std::nullopt);
  };
  BreakEngine();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(fail().ok());
  EXPECT_EQ(Texts(history->Last(1)).front(), "retry, not taken");
  MemoryEngine::Faults lost;
  lost.loses_requests = true;
  engine_.SetFaults(lost);
  EXPECT_TRUE(absl::IsUnknown(fail().status()));
  engine_.SetFaults({});
  const auto failed = fail();
  ASSERT_TRUE(failed.ok() && failed->parked);
  queue->ShutDown();
  EXPECT_FALSE(queue->AddAll({"a", "b"}));
  EXPECT_THAT(Texts(history->Of("a", 10)),
              ElementsAre("add, not taken", "retry, parked instead",
                          "retry, perhaps not taken", "retry, not taken",
                          "handed out, 0s after the add", "add"));
  EXPECT_THAT(Texts(history->Of("b", 10)), ElementsAre("add, not taken"));
  EXPECT_EQ(history->totals().added, 1u);
  EXPECT_EQ(history->totals().retried, 0u);
}

class InspectControllerTest : public InspectTest {
 protected:
  // Makes a controller whose items "hang" hangs and "fail" fails. It cannot do
  // the work of "locked" now.
  std::unique_ptr<Controller<std::string>> New(
      FailureLedgerOptions failures = {}) {
    ControllerOptions<std::string> options;
    options.failures = failures;
    options.name = "orders";
    options.clock = &clock_;
    options.workers = 2;
    options.reconcile =
        [this](const std::string& key) -> absl::StatusOr<ReconcileResult> {
      if (key == "hang") {
        hangs_.Notify();
        go_on_.WaitForNotification();
      }
      if (key == "fail") return absl::NotFoundError("no such pod");
      if (key == "locked") return ReconcileResult::NotNow(absl::Hours(1));
      return ReconcileResult();
    };
    auto queue = MakeQueue();
    options.reconcile = queue->Traced(std::move(options.reconcile));
    options.queue = std::move(queue);
    auto controller = *Controller<std::string>::Create(std::move(options));
    EXPECT_EQ(controller->Start(), absl::OkStatus());
    return controller;
  }

  std::unique_ptr<TracingQueue<std::string>> MakeQueue() {
    TracingQueueOptions<std::string> tracing;
    tracing.queue = std::make_unique<PriorityQueue<std::string>>(
        With(PriorityQueueOptions<std::string>()));
    tracing.tracers = {std::make_shared<HistoryTracer<std::string>>(history_)};
    return *TracingQueue<std::string>::Create(std::move(tracing));
  }

  std::unique_ptr<Inspectable> Inspect(Controller<std::string>* controller) {
    InspectOptions<std::string> options;
    options.history = history_;
    return InspectController(controller, options);
  }

  const std::shared_ptr<ItemHistory> history_ = std::make_shared<ItemHistory>();
  absl::Notification hangs_, go_on_;
};

TEST_F(InspectControllerTest, TellsWhichItemsHangAndFailAndWhy) {
  const auto controller = New();
  const auto inspectable = Inspect(controller.get());
  EXPECT_EQ(inspectable->Kind(), "controller on a priority queue");
  controller->queue().Add("fail");
  controller->AwaitIdle();
  clock_.Step(absl::Milliseconds(5));
  controller->AwaitIdle();
  controller->queue().Add("hang");
  hangs_.WaitForNotification();

  const Inspection it = *inspectable->Inspect(10);
  EXPECT_EQ(it.health, absl::OkStatus());
  EXPECT_EQ(it.num_workers, 2u);
  EXPECT_EQ(it.num_failing, 1u);
  EXPECT_FALSE(it.num_parked.has_value());
  EXPECT_THAT(Keys(it.processing), ElementsAre("hang"));
  ASSERT_THAT(Keys(it.failing), ElementsAre("fail"));
  EXPECT_EQ(it.failing[0].failures, 2);
  EXPECT_EQ(it.failing[0].last_error, "NOT_FOUND: no such pod");
  EXPECT_EQ(it.failing[0].last_failed_at - it.failing[0].first_failed_at,
            absl::Milliseconds(5));
  EXPECT_EQ(it.failing[0].next_try_at,
            clock_.TimeNow() + absl::Milliseconds(10));
  EXPECT_EQ(it.options[0],
            (std::pair<std::string, std::string>("workers", "2")));
  EXPECT_EQ(inspectable->Inspect(0)->num_failing, 1u);
  EXPECT_THAT(inspectable->Inspect(0)->failing, IsEmpty());

  const Inspection key = *inspectable->InspectKey("fail");
  EXPECT_THAT(Keys(key.waiting), ElementsAre("fail"));
  EXPECT_EQ(key.waiting[0].last_error, "NOT_FOUND: no such pod");
  EXPECT_THAT(Keys(key.failing), ElementsAre("fail"));
  EXPECT_THAT(inspectable->InspectKey("hang")->failing, IsEmpty());
  go_on_.Notify();
}

TEST_F(InspectControllerTest, TellsTheHistoryOfAnItem) {
  const auto controller = New();
  const auto inspectable = Inspect(controller.get());
  controller->queue().Add("fail");
  controller->AwaitIdle();
  controller->queue().Add("good");
  controller->AwaitIdle();
  const Inspection fail = *inspectable->InspectKey("fail");
  EXPECT_THAT(Texts(fail.events),
              ElementsAre("retry", "failed after 0s: NOT_FOUND: no such pod",
                          "handed out, 0s after the add", "add"));
  const Inspection all = *inspectable->Inspect(3);
  EXPECT_EQ(all.events.size(), 3u);
  EXPECT_EQ(all.events[0].key, "good");
  ASSERT_TRUE(all.totals.has_value());
  EXPECT_EQ(all.totals->added, 2u);
  EXPECT_EQ(all.totals->retried, 1u);
  EXPECT_EQ(all.totals->handed_out, 2u);
  EXPECT_EQ(all.totals->succeeded, 1u);
  EXPECT_EQ(all.totals->failed, 1u);
}

TEST_F(InspectControllerTest, NotNowIsNeitherASuccessNorAFailure) {
  const auto controller = New();
  const auto inspectable = Inspect(controller.get());
  controller->queue().Add("locked");
  controller->AwaitIdle();
  const Inspection it = *inspectable->InspectKey("locked");
  EXPECT_THAT(Texts(it.events),
              ElementsAre("add after, in 1h", "not now, after 0s",
                          "handed out, 0s after the add", "add"));
  EXPECT_EQ(history_->totals().succeeded, 0u);
  EXPECT_EQ(history_->totals().failed, 0u);
}

TEST_F(InspectControllerTest, ForgetsTheFailuresOfAnItem) {
  const auto controller = New();
  const auto inspectable = Inspect(controller.get());
  controller->queue().Add("fail");
  controller->AwaitIdle();
  EXPECT_EQ(inspectable->Act(InspectAction::kForget, "fail"), absl::OkStatus());
  EXPECT_EQ(controller->failures().Numbers()->failing, 0u);
}

TEST_F(InspectControllerTest, ShowsParkedItemsAndPutsThemBack) {
  FailureLedgerOptions parking;
  parking.max_failures = 1;
  parking.unpark_on_add = false;
  const auto controller = New(parking);
  const auto inspectable = Inspect(controller.get());
  EXPECT_EQ(inspectable->Inspect(10)->num_parked, 0u);
  EXPECT_THAT(inspectable->Inspect(10)->options,
              IsSupersetOf({std::make_pair("max failures", "1"),
                            std::make_pair("max failing time", "inf"),
                            std::make_pair("max parked", "10000")}));
  controller->queue().Add("fail");
  controller->AwaitIdle();
  const Inspection it = *inspectable->Inspect(10);
  EXPECT_EQ(it.num_parked, 1u);
  ASSERT_THAT(Keys(it.parked), ElementsAre("fail"));
  EXPECT_EQ(it.parked[0].failures, 1);
  EXPECT_EQ(it.parked[0].last_error, "NOT_FOUND: no such pod");
  EXPECT_EQ(it.parked[0].parked_at, clock_.TimeNow());
  EXPECT_THAT(it.failing, IsEmpty());
  EXPECT_EQ(inspectable->Inspect(0)->num_parked, 1u);
  EXPECT_THAT(inspectable->Inspect(0)->parked, IsEmpty());
  EXPECT_THAT(Keys(inspectable->InspectKey("fail")->parked),
              ElementsAre("fail"));
  EXPECT_THAT(inspectable->InspectKey("good")->parked, IsEmpty());

  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(inspectable->Act(InspectAction::kForget, "fail"),
            absl::FailedPreconditionError(
                "the item is parked; requeue it, and its failures start anew"));
  EXPECT_EQ(controller->failures().Numbers()->parked, 1u);
  EXPECT_EQ(inspectable->Act(InspectAction::kRequeue, "fail"),
            absl::OkStatus());
  controller->AwaitIdle();
  EXPECT_EQ(controller->failures().Find("fail")->last_failed_at,
            clock_.TimeNow())
      << "it has failed once more";
}

TEST_F(InspectControllerTest, TellsThatItIsStopped) {
  const auto controller = New();
  const auto inspectable = Inspect(controller.get());
  controller->Stop();
  const Inspection it = *inspectable->Inspect(1);
  EXPECT_TRUE(it.shutting_down);
  EXPECT_EQ(it.health.code(), absl::StatusCode::kCancelled);
}

using InspectSchedulerTest = InspectTest;

TEST_F(InspectSchedulerTest, ShowsTheTasks) {
  const auto scheduler = *Scheduler::Create(With(SchedulerOptions()));
  const auto inspectable = InspectScheduler(scheduler.get());
  EXPECT_EQ(inspectable->Kind(), "scheduler");
  Inspection during;
  ASSERT_TRUE(scheduler
                  ->ScheduleEvery([&] { during = *inspectable->Inspect(10); },
                                  absl::Seconds(10))
                  .ok());
  ASSERT_TRUE(scheduler->ScheduleOnce([] {}, absl::Seconds(15)).ok());
  const Inspection before = *inspectable->Inspect(10);
  EXPECT_EQ(before.num_workers, 4u);
  EXPECT_THAT(Keys(before.waiting), ElementsAre("every 10s", "once"));
  EXPECT_EQ(before.waiting[1].time, clock_.TimeNow() + absl::Seconds(15));
  EXPECT_THAT(inspectable->Inspect(0)->waiting, IsEmpty());
  EXPECT_EQ(inspectable->Inspect(0)->num_waiting, 2u);
  clock_.Step(absl::Seconds(10));
  EXPECT_THAT(Keys(during.processing), ElementsAre("every 10s"));
  EXPECT_THAT(Keys(during.waiting), ElementsAre("once"));
  EXPECT_EQ(inspectable->InspectKey("once").status().code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace workqueue::inspect_queue_test
