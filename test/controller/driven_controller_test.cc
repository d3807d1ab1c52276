// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// These tests are of controllers on a waiting loop that the program drives. The
// test drives it by hand, unless it says otherwise.

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/loop_executor.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::driven_controller_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kSecond = absl::Seconds(1);

// A source that the test moves by hand.
struct TestSource {
  Source<std::string> Make(std::string name) {
    Source<std::string> source;
    source.name = std::move(name);
    source.wait_for_sync = true;
    source.run_async = [this](auto the_context, SourceDone the_done) {
      ++runs;
      context = std::move(the_context);
      done = std::move(the_done);
    };
    source.on_stop = [this] {
      ++stops;
      if (ends_on_stop && done != nullptr) done(absl::OkStatus());
    };
    return source;
  }

  int runs = 0;
  int stops = 0;
  bool ends_on_stop = true;
  std::shared_ptr<SourceContext<std::string>> context;
  SourceDone done;
};

class DrivenControllerTest : public testing::Test {
 protected:
  using StringController = Controller<std::string>;

  // Moves the clock, and does what a program would do then.
  void Step(absl::Duration d = absl::ZeroDuration()) {
    clock_.Step(d);
    while (loop_->RunDue() <= clock_.TimeNow()) {
    }
  }

  // Returns options with a reconcile function that notes the item, and keeps
  // the completion if `keep_`.
  ControllerOptions<std::string> Options() {
    ControllerOptions<std::string> options;
    options.name = "test";
    options.clock = loop_;
    options.log_sink = &log_;
    options.reconcile_async = [this](const std::string& item,
                                     const AsyncReconcileContext& context,
                                     ReconcileCompletion done) {
      EXPECT_EQ(std::this_thread::get_id(), thread_);
      notes_.push_back(item);
      context.OnCancel([this, item] { notes_.push_back("cancel " + item); });
      if (keep_) {
        kept_.push_back(std::move(done));
      } else if (fail_) {
        done(absl::UnavailableError("no"));
      } else {
        done(ReconcileResult());
      }
    };
    return options;
  }

  // The same, with `source`.
  ControllerOptions<std::string> OptionsWith(TestSource& source) {
    ControllerOptions<std::string> options = Options();
    options.sources.push_back(source.Make("pods"));
    return options;
  }

  std::unique_ptr<StringController> New(
      ControllerOptions<std::string> options) {
    auto controller = StringController::Create(std::move(options));
    EXPECT_TRUE(controller.ok()) << controller.status();
    return *std::move(controller);
  }

  // Returns a controller that has started.
  std::unique_ptr<StringController> Started(
      ControllerOptions<std::string> options) {
    started_ = std::nullopt;
    auto controller = Starting(std::move(options));
    EXPECT_EQ(started_, std::nullopt);
    Step();
    EXPECT_EQ(started_, absl::OkStatus());
    return controller;
  }

  // Returns a controller whose start has begun; started_ is its result, once it
  // is over.
  std::unique_ptr<StringController> Starting(
      ControllerOptions<std::string> options) {
    auto controller = New(std::move(options));
    EXPECT_EQ(controller->StartAsync([this](absl::Status s) { started_ = s; }),
              absl::OkStatus());
    return controller;
  }

  std::vector<std::string> Notes() { return std::exchange(notes_, {}); }

  // The result of a stop, once it is over.
  std::function<void(bool)> NoteStop() {
    return [this](bool stopped) { stops_.push_back(stopped); };
  }

  const std::thread::id thread_ = std::this_thread::get_id();
  FakeClock clock_;
  std::shared_ptr<WaitingLoop> loop_ =
      std::make_shared<WaitingLoop>(&clock_, [] {});
  RecordingLog log_;
  bool keep_ = false;
  bool fail_ = false;
  std::vector<std::string> notes_;
  std::vector<ReconcileCompletion> kept_;
  std::optional<absl::Status> started_;
  std::vector<bool> stops_;
};

using DrivenControllerDeathTest = DrivenControllerTest;

TEST_F(DrivenControllerTest, ReconcilesOnTheLoop) {
  const auto controller = Started(Options());
  controller->queue().Add("one");
  controller->queue().Add("two");
  EXPECT_THAT(Notes(), IsEmpty());
  Step();
  EXPECT_THAT(Notes(), ElementsAre("one", "two"));
}

TEST_F(DrivenControllerTest, TriesAgainWithBackoff) {
  fail_ = true;
  const auto controller = Started(Options());
  controller->queue().Add("one");
  Step();
  EXPECT_THAT(Notes(), ElementsAre("one"));
  EXPECT_GT(loop_->NextRun(), clock_.TimeNow());
  clock_.SetTime(loop_->NextRun());
  Step();
  EXPECT_THAT(Notes(), ElementsAre("one"));
  fail_ = false;
  for (int i = 0; i < 10; ++i) Step(kSecond);
  EXPECT_THAT(Notes(), ElementsAre("one"));
}

TEST_F(DrivenControllerTest, ACompletionMayComeLater) {
  keep_ = true;
  auto options = Options();
  options.max_in_flight = 2;
  const auto controller = Started(std::move(options));
  for (const char* item : {"one", "two", "three"})
    controller->queue().Add(item);
  Step();
  EXPECT_THAT(Notes(), ElementsAre("one", "two"));
  kept_[0](ReconcileResult());
  Step();
  EXPECT_THAT(Notes(), ElementsAre("three"));
}

TEST_F(DrivenControllerTest, ATimeoutCancels) {
  keep_ = true;
  auto options = Options();
  options.reconcile_timeout = 5 * kSecond;
  const auto controller = Started(std::move(options));
  controller->queue().Add("one");
  Step();
  Step(5 * kSecond);
  EXPECT_THAT(Notes(), ElementsAre("one", "cancel one"));
}

TEST_F(DrivenControllerTest, AStartWaitsForItsSources) {
  TestSource source;
  const auto controller = New(OptionsWith(source));
  std::vector<absl::Status> started;
  const auto note = [&](absl::Status s) { started.push_back(s); };
  EXPECT_EQ(controller->Start().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_EQ(controller->StartAsync(note), absl::OkStatus());
  EXPECT_EQ(controller->StartAsync(note).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(source.runs, 0);
  Step();
  EXPECT_EQ(source.runs, 1);
  source.context->queue.Add("one");
  Step(kSecond);
  EXPECT_THAT(started, IsEmpty());
  EXPECT_THAT(controller->Healthy().message(), HasSubstr("not in sync: pods"));
  source.context->mark_synced();
  Step();
  EXPECT_THAT(started, ElementsAre(absl::OkStatus()));
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
  EXPECT_THAT(Notes(), ElementsAre("one"));
}

TEST_F(DrivenControllerTest, AStartEndsAfterItsTimeout) {
  TestSource source;
  auto options = OptionsWith(source);
  options.sync_timeout = 5 * kSecond;
  const auto controller = Starting(std::move(options));
  Step(4 * kSecond);
  EXPECT_EQ(started_, std::nullopt);
  EXPECT_EQ(loop_->NextRun(), absl::UnixEpoch() + 5 * kSecond);
  Step(kSecond);
  ASSERT_TRUE(started_.has_value());
  EXPECT_EQ(*started_,
            absl::DeadlineExceededError("not in sync within 5s: pods"));
  EXPECT_EQ(source.stops, 1);
}

TEST_F(DrivenControllerTest, AStartFailsWithItsSource) {
  TestSource source;
  const auto controller = Starting(OptionsWith(source));
  Step();
  source.done(absl::PermissionDeniedError("no"));
  Step();
  EXPECT_EQ(started_, absl::PermissionDeniedError("source pods: no"));
}

TEST_F(DrivenControllerTest, ASourceIsRestarted) {
  TestSource source;
  auto options = OptionsWith(source);
  options.sources[0].restart_backoff.emplace();
  const auto controller = Starting(std::move(options));
  Step();
  source.done(absl::UnavailableError("no"));
  source.done(absl::UnavailableError("twice"));
  Step();
  EXPECT_EQ(loop_->NextRun(), absl::UnixEpoch() + kSecond);
  Step(kSecond);
  EXPECT_EQ(source.runs, 2);
  source.context->mark_synced();
  Step();
  EXPECT_EQ(started_, absl::OkStatus());
}

TEST_F(DrivenControllerTest, AnExceptionOfASourceIsItsError) {
  auto options = Options();
  Source<std::string> source;
  source.name = "pods";
  source.run_async = [](auto, auto) { throw 1; };
  options.sources.push_back(std::move(source));
  const auto controller = New(std::move(options));
  ASSERT_EQ(controller->StartAsync([](absl::Status) {}), absl::OkStatus());
  Step();
  EXPECT_THAT(controller->Healthy().message(), HasSubstr("source pods: "));
}

TEST_F(DrivenControllerTest, ACallbackThatIsNullIsRefused) {
  const auto controller = New(Options());
  EXPECT_EQ(controller->StartAsync(nullptr),
            absl::InvalidArgumentError("started is null"));
  EXPECT_EQ(controller->StopAsync(kSecond, nullptr),
            absl::InvalidArgumentError("stopped is null"));
}

TEST_F(DrivenControllerTest, AStopDoesNotBlock) {
  TestSource source;
  source.ends_on_stop = false;
  keep_ = true;
  const auto controller = Starting(OptionsWith(source));
  Step();
  source.context->mark_synced();
  controller->queue().Add("one");
  Step();
  EXPECT_FALSE(controller->Stop());  // It would block, and only begins.
  ASSERT_EQ(controller->StopAsync(absl::InfiniteDuration(), NoteStop()),
            absl::OkStatus());
  Step();
  EXPECT_EQ(source.stops, 1);
  source.done(absl::OkStatus());
  Step();
  EXPECT_THAT(stops_, IsEmpty());
  kept_[0](ReconcileResult());
  Step();
  EXPECT_THAT(stops_, ElementsAre(true));
  EXPECT_TRUE(controller->Stop());  // There is nothing to wait for.
}

TEST_F(DrivenControllerTest, AStopEndsAfterItsTimeout) {
  keep_ = true;
  const auto controller = Started(Options());
  controller->queue().Add("one");
  Step();
  ASSERT_EQ(controller->StopAsync(5 * kSecond, NoteStop()), absl::OkStatus());
  Step(4 * kSecond);
  EXPECT_THAT(stops_, IsEmpty());
  EXPECT_EQ(loop_->NextRun(), absl::UnixEpoch() + 5 * kSecond);
  Step(kSecond);
  EXPECT_THAT(stops_, ElementsAre(false));
  EXPECT_THAT(Notes(), ElementsAre("one", "cancel one"));
}

#ifdef ABSL_HAVE_EXCEPTIONS
TEST_F(DrivenControllerTest, AStopEndsThoughACancellationThrows) {
  ControllerOptions<std::string> options = Options();
  options.reconcile_async = [this](const std::string&,
                                   const AsyncReconcileContext& context,
                                   ReconcileCompletion done) {
    context.OnCancel([] { throw 1; });
    kept_.push_back(std::move(done));
  };
  const auto controller = Started(std::move(options));
  controller->queue().Add("one");
  Step();
  ASSERT_EQ(controller->StopAsync(kSecond, NoteStop()), absl::OkStatus());
  Step(kSecond);
  EXPECT_THAT(stops_, ElementsAre(false));
}
#endif  // ABSL_HAVE_EXCEPTIONS

TEST_F(DrivenControllerTest, AStopEndsAStart) {
  TestSource source;
  const auto controller = Starting(OptionsWith(source));
  Step();
  EXPECT_FALSE(controller->Stop());
  ASSERT_EQ(controller->StopAsync(absl::InfiniteDuration(), NoteStop()),
            absl::OkStatus());
  Step();
  ASSERT_TRUE(started_.has_value());
  EXPECT_TRUE(absl::IsCancelled(*started_));
  EXPECT_THAT(stops_, ElementsAre(true));
}

TEST_F(DrivenControllerTest, AStopBeforeTheStartIsOverAtOnce) {
  const auto controller = New(Options());
  ASSERT_EQ(controller->StopAsync(absl::InfiniteDuration(), NoteStop()),
            absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(
      controller->StartAsync([](const absl::Status&) { ADD_FAILURE(); })));
  EXPECT_TRUE(absl::IsFailedPrecondition(controller->Start()));
  Step();
  EXPECT_THAT(stops_, ElementsAre(true));
}

TEST_F(DrivenControllerTest, TheCallbackOfAStopMayDestroyTheController) {
  auto controller = Started(Options());
  controller->queue().Add("one");
  ASSERT_EQ(controller->StopAsync(absl::InfiniteDuration(),
                                  [&](bool stopped) {
                                    stops_.push_back(stopped);
                                    controller = nullptr;
                                  }),
            absl::OkStatus());
  Step();
  EXPECT_THAT(stops_, ElementsAre(true));
  EXPECT_EQ(controller, nullptr);
  EXPECT_EQ(loop_->NextRun(), absl::InfiniteFuture());  // No client is left.
}

TEST_F(DrivenControllerTest, TheCallbackOfAStartMayDestroyTheController) {
  TestSource source;
  auto controller = New(OptionsWith(source));
  ASSERT_EQ(controller->StartAsync([&](absl::Status status) {
    EXPECT_TRUE(absl::IsCancelled(status));
    controller = nullptr;
  }),
            absl::OkStatus());
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(controller->StopAsync(absl::InfiniteDuration(), NoteStop()),
              absl::OkStatus());
  }
  Step();
  EXPECT_EQ(controller, nullptr);
  EXPECT_THAT(stops_, ElementsAre(true, true));
}

TEST_F(DrivenControllerTest, ItsDestructorDoesNotBlockTheLoop) {
  TestSource source;
  source.ends_on_stop = false;
  keep_ = true;
  auto controller = Starting(OptionsWith(source));
  Step();
  source.context->mark_synced();
  controller->queue().Add("one");
  Step();
  controller->queue().Add("two");  // Its callback is on the way.
  ASSERT_EQ(controller->StopAsync(kSecond, NoteStop()), absl::OkStatus());
  controller = nullptr;
  EXPECT_THAT(stops_, ElementsAre(false));
  source.done(absl::OkStatus());  // does nothing
  kept_[0](ReconcileResult());    // does nothing
  Step(kSecond);
}

TEST_F(DrivenControllerTest, ItsDestructorEndsAStart) {
  TestSource source;
  auto controller = Starting(OptionsWith(source));
  controller = nullptr;
  ASSERT_TRUE(started_.has_value());
  EXPECT_TRUE(absl::IsCancelled(*started_));
  EXPECT_EQ(source.runs, 0);
}

// A queue that does not answer the next calls.
class AwayQueue final : public RateLimitingQueue<std::string> {
 public:
  using RateLimitingQueue::RateLimitingQueue;

  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const std::string> items) override {
    if (failing_adds-- > 0) return absl::UnavailableError("away");
    return RateLimitingQueue::AddItems(options, items);
  }
  AcquireId AcquireNextAsync(Lease<std::string>* lease, Executor* executor,
                             AcquireCallback<std::string> callback) override {
    lease->Done();
    if (failing_acquires-- > 0) throw std::bad_alloc();
    return RateLimitingQueue::AcquireNextAsync(lease, executor,
                                               std::move(callback));
  }

  int failing_adds = 0;
  int failing_acquires = 0;
};

class AwayQueueTest : public DrivenControllerTest {
 protected:
  // Returns a controller with the queue and a source, which has started_.
  std::unique_ptr<StringController> StartedWith(int failing_adds,
                                                int failing_acquires) {
    RateLimitingQueueOptions<std::string> queue_options;
    queue_options.clock = loop_;
    auto queue = std::make_unique<AwayQueue>(std::move(queue_options));
    queue_ = queue.get();
    queue->failing_adds = failing_adds;
    queue->failing_acquires = failing_acquires;
    auto options = Options();
    options.queue = std::move(queue);
    options.sources.push_back(source_.Make("pods"));
    options.sources[0].wait_for_sync = false;
    return Started(std::move(options));
  }

  TestSource source_;
  AwayQueue* queue_ = nullptr;
};

TEST_F(AwayQueueTest, WhatASourceAddsIsKept) {
  const auto controller = StartedWith(2, 0);
  EXPECT_TRUE(source_.context->queue.Add("one"));
  EXPECT_THAT(controller->Healthy().message(),
              HasSubstr("has not taken 1 added items"));
  Step();
  EXPECT_THAT(Notes(), IsEmpty());
  EXPECT_EQ(loop_->NextRun(), absl::UnixEpoch() + kSecond);
  Step(kSecond);
  EXPECT_THAT(Notes(), IsEmpty());
  Step(kSecond);
  EXPECT_THAT(Notes(), ElementsAre("one"));
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
}

TEST_F(AwayQueueTest, AnAcquireIsTriedAgain) {
  const auto controller = StartedWith(0, 2);
  controller->queue().Add("one");
  Step();
  Step(kSecond - absl::Nanoseconds(1));
  EXPECT_THAT(Notes(), IsEmpty());
  Step(absl::Nanoseconds(1));
  Step(kSecond);
  EXPECT_THAT(Notes(), ElementsAre("one"));
}

TEST_F(AwayQueueTest, AFailureIsAddedAgain) {
  fail_ = true;
  const auto controller = StartedWith(0, 0);
  controller->queue().Add("one");
  queue_->failing_adds = 2;
  Step();
  EXPECT_THAT(Notes(), ElementsAre("one"));
  fail_ = false;
  Step(kSecond);
  EXPECT_THAT(Notes(), IsEmpty());
  Step(kSecond);
  Step(kSecond);  // The delay of the failure begins then.
  EXPECT_THAT(Notes(), ElementsAre("one"));
}

TEST_F(AwayQueueTest, IsDestroyedWhileItTriesAgain) {
  fail_ = true;
  auto controller = StartedWith(0, 0);
  controller->queue().Add("one");
  queue_->failing_adds = 100;
  Step();
  queue_->failing_acquires = 100;
  EXPECT_TRUE(source_.context->queue.Add("two"));
  controller = nullptr;
  EXPECT_EQ(loop_->NextRun(), absl::InfiniteFuture());
  controller = StartedWith(0, 100);
  controller = nullptr;
  EXPECT_EQ(loop_->NextRun(), absl::InfiniteFuture());
}

TEST_F(DrivenControllerTest, ASourceWithAThreadWorks) {
  auto options = Options();
  Source<std::string> source;
  source.name = "pods";
  source.wait_for_sync = true;
  source.run = [](SourceContext<std::string>& context) {
    context.queue.Add("one");
    context.mark_synced();
    context.stop.WaitForNotification();
    return absl::OkStatus();
  };
  options.sources.push_back(std::move(source));
  const auto controller = Starting(std::move(options));
  while (!started_.has_value()) Step();
  EXPECT_EQ(*started_, absl::OkStatus());
  Step();
  EXPECT_THAT(Notes(), ElementsAre("one"));
  ASSERT_EQ(controller->StopAsync(absl::InfiniteDuration(), NoteStop()),
            absl::OkStatus());
  while (stops_.empty()) Step();
  EXPECT_THAT(stops_, ElementsAre(true));
}

TEST_F(DrivenControllerTest, ALoopWithAThreadWorks) {
  auto options = Options();
  options.clock = std::make_shared<WaitingLoop>(&clock_);
  std::atomic<bool> started{false}, stopped{false};
  options.reconcile_async = [](const std::string&, const AsyncReconcileContext&,
                               ReconcileCompletion done) {
    done(ReconcileResult());
  };
  const auto controller = New(std::move(options));
  ASSERT_EQ(controller->StartAsync([&](absl::Status s) { started = s.ok(); }),
            absl::OkStatus());
  clock_.Step(absl::ZeroDuration());
  EXPECT_TRUE(started);
  controller->queue().Add("one");
  controller->AwaitIdle();
  ASSERT_EQ(controller->StopAsync(absl::InfiniteDuration(),
                                  [&](bool done) { stopped = done; }),
            absl::OkStatus());
  clock_.Step(absl::ZeroDuration());
  clock_.Step(absl::ZeroDuration());
  EXPECT_TRUE(stopped);
}

// The controller and its queue are the last ones on the loop, and own it.
TEST_F(DrivenControllerTest, TheCallbackOfAStopMayDestroyALoopWithAThread) {
  auto options = Options();
  options.clock = std::make_shared<WaitingLoop>(&clock_);
  auto controller = New(std::move(options));
  ASSERT_EQ(controller->StartAsync([](absl::Status) {}), absl::OkStatus());
  clock_.Step(absl::ZeroDuration());
  absl::Notification destroyed;
  ASSERT_EQ(controller->StopAsync(absl::InfiniteDuration(),
                                  [&](bool) {
                                    controller.reset();
                                    destroyed.Notify();
                                  }),
            absl::OkStatus());
  destroyed.WaitForNotification();
  EXPECT_EQ(clock_.NumWaiters(), 0u);
}

TEST_F(DrivenControllerTest, ASourceOnALoopWithAThreadMayStop) {
  auto options = Options();
  options.clock = std::make_shared<WaitingLoop>(&clock_);
  StringController* to_stop = nullptr;
  Source<std::string> source;
  absl::Notification started, stopped;
  source.run_async = [&](auto, SourceDone done) {
    started.WaitForNotification();
    EXPECT_FALSE(to_stop->Stop());
    done(absl::OkStatus());
    stopped.Notify();
  };
  options.sources.push_back(std::move(source));
  const auto controller = New(std::move(options));
  to_stop = controller.get();
  EXPECT_EQ(controller->Start(), absl::OkStatus());
  started.Notify();
  stopped.WaitForNotification();
}

TEST_F(DrivenControllerTest, ACallbackNeedsALoop) {
  auto options = Options();
  options.clock = &clock_;
  const auto controller = New(std::move(options));
  const absl::Status error = absl::FailedPreconditionError(
      "clock is not a WaitingLoop, whose thread would call the callback");
  EXPECT_EQ(controller->StartAsync([](absl::Status) {}), error);
  EXPECT_EQ(controller->StopAsync(kSecond, NoteStop()), error);
}

TEST_F(DrivenControllerTest, ChecksItsSources) {
  TestSource source;
  auto options = OptionsWith(source);
  options.clock = &clock_;
  EXPECT_EQ(StringController::Create(std::move(options)).status(),
            absl::InvalidArgumentError(
                "sources[0].run_async is given, and clock is not a "
                "WaitingLoop; its thread calls run_async"));
  options = Options();
  options.sources.push_back(source.Make("pods"));
  options.sources[0].run = [](auto&) { return absl::OkStatus(); };
  EXPECT_EQ(StringController::Create(std::move(options)).status(),
            absl::InvalidArgumentError(
                "sources[0].run is given, and sources[0].run_async, too; give "
                "one of them"));
}

TEST_F(DrivenControllerDeathTest, ItsExecutorMustHaveNoTaskAtItsEnd) {
  LoopExecutor executor(loop_);
  auto options = Options();
  options.executor = &executor;
  auto controller = Started(std::move(options));
  EXPECT_DEATH(controller = nullptr,
               "controller test is destroyed on the thread that runs its "
               "waiting loop or its executor, which has tasks");
  ASSERT_EQ(controller->StopAsync(kSecond, NoteStop()), absl::OkStatus());
  Step();
  EXPECT_THAT(stops_, ElementsAre(true));
  controller = nullptr;
}

// The controller has no loop of its own.
TEST_F(DrivenControllerDeathTest, NorIfOnlyItsExecutorIsOnTheLoop) {
  LoopExecutor executor(loop_);
  EXPECT_DEATH(
      {
        auto options = Options();
        options.clock = &clock_;
        options.executor = &executor;
        EXPECT_EQ(New(std::move(options))->Start(), absl::OkStatus());
      },
      "controller test is destroyed on the thread that runs its waiting loop "
      "or its executor, which has tasks");
}

TEST_F(DrivenControllerDeathTest, WhatWouldBlockTheLoopAborts) {
  TestSource source;
  const auto controller = Starting(OptionsWith(source));
  Step();
  EXPECT_DEATH(controller->AwaitIdle(), "AwaitIdle.*: the call would block");
  EXPECT_DEATH(source.context->Sleep(kSecond),
               "SourceContext::Sleep.*: the call would block");
}

}  // namespace
}  // namespace workqueue::driven_controller_test
