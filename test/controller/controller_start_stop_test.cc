// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/controller/controller_fixture.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::controller_start_stop_test {
namespace {

using Context = SourceContext<std::string>;

constexpr absl::Duration kSecond = absl::Seconds(1);

// -----------------------------------------------------------------------------
// Sources
// -----------------------------------------------------------------------------

class SourceTest : public ControllerFixture {
 protected:
  // A source that calls `run`. The controller does not wait for its sync.
  static Source<std::string> NewSource(
      std::function<absl::Status(Context&)> run) {
    Source<std::string> source;
    source.name = "pods";
    source.run = std::move(run);
    return source;
  }

  // A source that adds `item`, and then waits until it is stopped.
  static Source<std::string> Adding(const std::string& item) {
    return NewSource([item](Context& context) {
      context.queue.Add(item);
      context.stop.WaitForNotification();
      return absl::OkStatus();
    });
  }

  // A source that waits for `told`, not for `stop`. `on_stop` notifies `told`.
  static Source<std::string> Deaf(absl::Notification& told) {
    Source<std::string> source = NewSource([&told](Context& context) {
      told.WaitForNotification();
      EXPECT_TRUE(context.stop.HasBeenNotified());
      return absl::OkStatus();
    });
    source.on_stop = [&told] { told.Notify(); };  // aborts at a second call
    return source;
  }

  // A source that is never in sync. The controller waits for its sync.
  static Source<std::string> NeverInSync(const std::string& item) {
    Source<std::string> source = Adding(item);
    source.wait_for_sync = true;
    return source;
  }
};

TEST_P(SourceTest, SourcesRunUntilTheControllerIsStopped) {
  std::atomic<int> ended{0};
  ControllerOptions<std::string> options = Options(Succeed);
  for (const char* item : {"a", "b"}) {
    options.sources.push_back(NewSource([item, &ended](Context& context) {
      context.queue.Add(item);
      context.stop.WaitForNotification();
      ++ended;
      return absl::CancelledError("is not an error then");
    }));
  }
  const auto controller = Started(std::move(options));
  EXPECT_EQ(ended, 0);
  EXPECT_TRUE(controller->Stop());
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(Noted().size(), 2u);
  EXPECT_EQ(log_.messages(),
            (std::vector<std::string>{"I controller test: starting",
                                      "I controller test: starting workers: 1",
                                      "I controller test: stopping",
                                      "I controller test: stopped"}));
}

TEST_P(SourceTest, HasTheControllersClock) {
  ControllerOptions<std::string> options = Options(Succeed);
  options.sources.push_back(NewSource([this](Context& context) {
    EXPECT_EQ(context.clock, &clock_);
    return absl::OkStatus();
  }));
  EXPECT_TRUE(Started(std::move(options))->Stop());
}

TEST_P(SourceTest, NoWorkerStartsBeforeAllAreInSync) {
  absl::Notification go_on;
  ControllerOptions<std::string> options = Options(Succeed);
  // A source that returns counts as in sync.
  options.sources.push_back(NewSource([](Context& context) {
    context.queue.Add("a");
    return absl::OkStatus();
  }));
  options.sources[0].wait_for_sync = true;
  options.sources.push_back(NewSource([&go_on](Context& context) {
    go_on.WaitForNotification();
    context.queue.Add("b");
    context.mark_synced();
    context.mark_synced();
    context.stop.WaitForNotification();
    return absl::OkStatus();
  }));
  options.sources[1].wait_for_sync = true;
  const auto controller = New(std::move(options));
  Thread starter([&controller] { EXPECT_TRUE(controller->Start().ok()); });
  clock_.AwaitWaiters(2);  // Start(), and the queue's own thread
  EXPECT_EQ(Noted(), Notes());
  go_on.Notify();
  starter.join();
  controller->AwaitIdle();
  EXPECT_EQ(Noted().size(), 2u);
}

TEST_P(SourceTest, StartDoesNotWaitForASourceWithoutSync) {
  absl::Notification go_on;
  ControllerOptions<std::string> options = Options(Succeed);
  options.sources.push_back(NewSource([&go_on](Context& context) {
    go_on.WaitForNotification();
    context.mark_synced();
    return absl::OkStatus();
  }));
  const auto controller = Started(std::move(options));
  AddAndAwait(*controller, "a");
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}}));
  go_on.Notify();
}

TEST_P(SourceTest, AnErrorEndsTheStart) {
  ControllerOptions<std::string> options = Options(Succeed);
  options.sources.push_back(NeverInSync("a"));
  options.sources.push_back(NewSource([](Context&) {
    absl::Status error = absl::NotFoundError("no such directory");
    error.SetPayload("url", absl::Cord("payload"));
    return error;
  }));
  const auto controller = New(std::move(options));
  const absl::Status status = controller->Start();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "source pods: no such directory");
  EXPECT_EQ(status.GetPayload("url"), absl::Cord("payload"));
  EXPECT_FALSE(controller->queue().Add("b"));
  EXPECT_EQ(Noted(), Notes());
  EXPECT_EQ(log_.Await(2),
            "E controller test: NOT_FOUND: source pods: no such directory "
            "[url='payload']");
  EXPECT_EQ(log_.Await(4),
            "E controller test: not started: NOT_FOUND: source pods: no such "
            "directory [url='payload']");
}

TEST_P(SourceTest, ItsErrorAfterTheStartIsLogged) {
  absl::Notification fail;
  ControllerOptions<std::string> options = Options(Succeed);
  options.sources.push_back(NewSource([&fail](Context&) {
    fail.WaitForNotification();
    return absl::DataLossError("torn");
  }));
  const auto controller = Started(std::move(options));
  fail.Notify();
  EXPECT_EQ(log_.Await(3), "E controller test: DATA_LOSS: source pods: torn");
  AddAndAwait(*controller, "a");
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}}));
  EXPECT_TRUE(controller->Stop());
}

TEST_P(SourceTest, ItsErrorIsOnOneLine) {
  ControllerOptions<std::string> options = Options(Succeed);
  options.sources.push_back(NewSource([](Context&) {
    absl::Status error = absl::DataLossError("two\nlines");
    error.SetPayload("type", absl::Cord("kept"));
    return error;
  }));
  options.sources[0].name = "a\nb";
  options.sources[0].wait_for_sync = true;
  const auto controller = New(std::move(options));
  const absl::Status started = controller->Start();
  EXPECT_EQ(started.message(), "source a\\nb: two\\nlines");
  EXPECT_EQ(started.GetPayload("type"), absl::Cord("kept"));
  EXPECT_EQ(controller->Healthy().message(),
            "controller test could not be started: source a\\nb: two\\nlines");
  EXPECT_EQ(log_.Await(2),
            "E controller test: DATA_LOSS: source a\\nb: two\\nlines "
            "[type='kept']");
  EXPECT_EQ(log_.Await(4),
            "E controller test: not started: DATA_LOSS: source a\\nb: "
            "two\\nlines [type='kept']");
}

TEST_P(SourceTest, ASourceThatIsNotInSyncInTimeEndsTheStart) {
  ControllerOptions<std::string> options = Options(Succeed);
  options.sync_timeout = 7 * kSecond;
  options.sources.push_back(NeverInSync("a"));
  absl::Notification in_sync;
  options.sources.push_back(NewSource([&in_sync](Context& context) {
    context.mark_synced();
    in_sync.Notify();
    context.stop.WaitForNotification();
    return absl::OkStatus();
  }));
  options.sources[1].wait_for_sync = true;
  options.sources.push_back(NeverInSync("b"));
  options.sources[2].name = "";
  absl::Notification ended;
  const auto controller = New(std::move(options));
  Thread starter([&controller, &ended] {
    EXPECT_EQ(
        controller->Start(),
        absl::DeadlineExceededError("not in sync within 7s: pods, a source"));
    ended.Notify();
  });
  clock_.AwaitWaiters(2);  // Start(), and the queue's own thread
  in_sync.WaitForNotification();
  clock_.Step(7 * kSecond - absl::Nanoseconds(1));
  EXPECT_FALSE(ended.HasBeenNotified());
  clock_.Step(absl::Nanoseconds(1));
  starter.join();
  EXPECT_FALSE(controller->queue().Add("c"));
  EXPECT_EQ(Noted(), Notes());
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_P(SourceTest, AnExceptionEndsTheStart) {
  ControllerOptions<std::string> options = Options(Succeed);
  options.sources.push_back(NewSource(
      [](Context&) -> absl::Status { throw std::runtime_error("thrown"); }));
  options.sources[0].wait_for_sync = true;
  EXPECT_EQ(New(std::move(options))->Start(),
            absl::InternalError("source pods: thrown"));
}

TEST_P(SourceTest, AnExceptionFromOnStopIsLogged) {
  ControllerOptions<std::string> options = Options(Succeed);
  options.sources.push_back(Adding("a"));
  options.sources[0].on_stop = [] { throw std::runtime_error("thrown"); };
  const auto controller = Started(std::move(options));
  EXPECT_TRUE(controller->Stop());
  EXPECT_EQ(log_.Await(4), "E controller test: INTERNAL: source pods: thrown");
}

#endif  // ABSL_HAVE_EXCEPTIONS

TEST_P(SourceTest, OnStopIsCalledWhenTheControllerStops) {
  absl::Notification told;
  ControllerOptions<std::string> options = Options(Succeed);
  options.sources.push_back(Deaf(told));
  const auto controller = Started(std::move(options));
  EXPECT_TRUE(controller->Stop());
  EXPECT_TRUE(controller->Stop());
}

TEST_P(SourceTest, OnStopIsCalledWhenAnotherSourceFails) {
  absl::Notification told;
  ControllerOptions<std::string> options = Options(Succeed);
  options.sources.push_back(Deaf(told));
  options.sources[0].wait_for_sync = true;
  options.sources.push_back(NewSource(
      [](Context&) { return absl::NotFoundError("no such directory"); }));
  EXPECT_EQ(New(std::move(options))->Start(),
            absl::NotFoundError("source pods: no such directory"));
}

TEST_P(SourceTest, ASourceMayBeginTheStop) {
  ControllerOptions<std::string> options = Options(Succeed);
  Controller<std::string>* self = nullptr;
  absl::Notification go_on, stopped;
  options.sources.push_back(NewSource([&](Context& context) {
    go_on.WaitForNotification();
    context.queue.Add("a");
    EXPECT_FALSE(self->Stop());
    EXPECT_TRUE(context.stop.HasBeenNotified());
    EXPECT_FALSE(context.queue.Add("b"));
    stopped.Notify();
    return absl::OkStatus();
  }));
  const auto controller = New(std::move(options));
  self = controller.get();
  ASSERT_TRUE(controller->Start().ok());
  go_on.Notify();
  stopped.WaitForNotification();
  EXPECT_TRUE(controller->Stop());
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}}));
}

// -----------------------------------------------------------------------------
// Start
// -----------------------------------------------------------------------------

class StartTest : public SourceTest {
 protected:
  // Returns a controller whose source is never in sync, and returns when
  // `go_on_` is notified.
  std::unique_ptr<Controller<std::string>> WithSlowSource(
      ControllerOptions<std::string> options) {
    options.sync_timeout = 7 * kSecond;
    options.sources.push_back(NewSource([this](Context&) {
      go_on_.WaitForNotification();
      returned_ = true;
      return absl::OkStatus();
    }));
    options.sources[0].wait_for_sync = true;
    return New(std::move(options));
  }

  // Starts a controller, whose source is not in sync in time.
  void FailToStart(Controller<std::string>& controller) {
    Thread starter([&controller] {
      EXPECT_EQ(controller.Start().code(), absl::StatusCode::kDeadlineExceeded);
    });
    clock_.AwaitWaiters(2);  // Start(), and the queue's own thread
    clock_.Step(7 * kSecond);
    starter.join();
  }

  // Stops a controller, and lets its source return meanwhile.
  void StopAndGoOn(Controller<std::string>& controller,
                   absl::FunctionRef<void()> before) {
    std::atomic<bool> over{false};
    Thread stopper([&] {
      EXPECT_TRUE(controller.Stop(absl::Hours(1)));
      EXPECT_TRUE(returned_);
      over = true;
    });
    before();
    // Stop(), and the queue's own thread
    while (clock_.NumWaiters() < 2 && !over) std::this_thread::yield();
    go_on_.Notify();
    stopper.join();
  }

  absl::Notification go_on_;
  std::atomic<bool> returned_{false};
};

TEST_P(StartTest, IsPossibleOnce) {
  const auto controller = Started(Options(Succeed));
  EXPECT_EQ(controller->Start(),
            absl::FailedPreconditionError(
                "controller test has been started already"));
  AddAndAwait(*controller, "a");
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}}));
}

TEST_P(StartTest, NeedsNoName) {
  ControllerOptions<std::string> options = Options(Succeed);
  options.name = "";
  const auto controller = Started(std::move(options));
  EXPECT_EQ(controller->Start(), absl::FailedPreconditionError(
                                     "controller has been started already"));
}

TEST_P(StartTest, IsNotPossibleAfterStop) {
  const auto controller = Started(Options(Succeed));
  EXPECT_TRUE(controller->Stop());
  EXPECT_EQ(controller->Start(),
            absl::FailedPreconditionError("controller test has been stopped, "
                                          "and cannot be started again"));
}

TEST_P(StartTest, IsCancelledByStop) {
  ControllerOptions<std::string> options = Options(Succeed);
  options.sources.push_back(NewSource([](Context& context) {
    context.stop.WaitForNotification();
    return absl::UnknownError("whatever");
  }));
  options.sources[0].wait_for_sync = true;
  const auto controller = New(std::move(options));
  Thread starter([&controller] {
    EXPECT_EQ(controller->Start(),
              absl::CancelledError("stopped before it was started"));
  });
  clock_.AwaitWaiters(2);  // Start(), and the queue's own thread
  controller->Stop();
  starter.join();
  EXPECT_EQ(Noted(), Notes());
}

TEST_P(StartTest, AStopThatCancelsItWaitsForItsSources) {
  const auto controller = WithSlowSource(Options(Succeed));
  Thread starter([&controller] {
    EXPECT_EQ(controller->Start().code(), absl::StatusCode::kCancelled);
  });
  clock_.AwaitWaiters(2);  // Start(), and the queue's own thread
  StopAndGoOn(*controller, [&starter] { starter.join(); });
}

TEST_P(StartTest, AStopAfterItHasFailedWaitsForItsSources) {
  const auto controller = WithSlowSource(Options(Succeed));
  FailToStart(*controller);
  EXPECT_FALSE(controller->Stop(absl::ZeroDuration()));
  StopAndGoOn(*controller, [] {});
}

TEST_P(StartTest, AStopWithACallbackWaitsForItsSources) {
  ControllerOptions<std::string> options = Options(Succeed);
  options.clock = std::make_shared<WaitingLoop>(&clock_);
  const auto controller = WithSlowSource(std::move(options));
  FailToStart(*controller);
  absl::Notification over;
  ASSERT_TRUE(controller
                  ->StopAsync(absl::Hours(1),
                              [this, &over](bool stopped) {
                                EXPECT_TRUE(stopped);
                                EXPECT_TRUE(returned_);
                                over.Notify();
                              })
                  .ok());
  clock_.Step(absl::ZeroDuration());  // until the loop waits
  EXPECT_FALSE(over.HasBeenNotified());
  go_on_.Notify();
  over.WaitForNotification();
}

TEST_P(StartTest, IsCancelledByASourceThatStops) {
  ControllerOptions<std::string> options = Options(Succeed);
  Controller<std::string>* self = nullptr;
  options.sources.push_back(NewSource([&self](Context&) {
    EXPECT_FALSE(self->Stop());
    return absl::OkStatus();
  }));
  options.sources[0].wait_for_sync = true;
  const auto controller = New(std::move(options));
  self = controller.get();
  EXPECT_EQ(controller->Start(),
            absl::CancelledError("stopped before it was started"));
}

// -----------------------------------------------------------------------------
// Stop
// -----------------------------------------------------------------------------

// A fixture whose first reconciliation notifies that it has begun, and waits.
class StopTest : public ControllerFixture {
 protected:
  // Returns options whose function waits for `go_on_` if the item is "slow".
  ControllerOptions<std::string> SlowOptions() {
    return Options(
        [this](const std::string& item, const ReconcileContext& context) {
          if (item == "slow") {
            begun_.Notify();
            go_on_.WaitForNotification();
          }
          stop_seen_ = context.stop.HasBeenNotified();
          return absl::OkStatus();
        });
  }

  // Returns options whose function waits for the stop if the item is "slow".
  ControllerOptions<std::string> ObedientOptions() {
    return Options(
        [this](const std::string& item, const ReconcileContext& context) {
          if (item == "slow") {
            begun_.Notify();
            context.stop.WaitForNotification();
            EXPECT_TRUE(context.Cancelled());
            ended_ = true;
            return absl::CancelledError("gave up");
          }
          return absl::OkStatus();
        });
  }

  absl::Notification begun_;
  absl::Notification go_on_;
  std::atomic<bool> stop_seen_{false};
  std::atomic<bool> ended_{false};
};

TEST_P(StopTest, BeforeTheStartLeavesWhatIsQueued) {
  const auto controller = New(Options(Succeed));
  controller->queue().Add("a");
  EXPECT_FALSE(controller->Stop());
  EXPECT_EQ(controller->queue().Len(), 1u);
  controller->AwaitIdle();
  EXPECT_EQ(controller->Start().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Noted(), Notes());
}

TEST_P(StopTest, BeforeTheStartIsTrueIfNothingIsQueued) {
  const auto controller = New(Options(Succeed));
  controller->queue().AddAfter("a", kSecond);
  EXPECT_TRUE(controller->Stop());
  EXPECT_FALSE(controller->queue().Add("b"));
}

TEST_P(StopTest, ReconcilesWhatIsQueuedAndDropsWhatWaits) {
  const auto controller = Started(SlowOptions());
  controller->queue().Add("slow");
  begun_.WaitForNotification();
  controller->queue().Add("a");
  controller->queue().AddAfter("b", kSecond);
  Thread stopper([&] { EXPECT_TRUE(controller->Stop(absl::Hours(1))); });
  clock_.AwaitWaiters(2);  // the queue's own thread is one
  EXPECT_FALSE(controller->queue().Add("c"));
  go_on_.Notify();
  stopper.join();
  EXPECT_EQ(Noted(), (Notes{{"slow", 0, 0}, {"a", 0, 0}}));
  EXPECT_FALSE(stop_seen_);
  Step(*controller, kSecond);
  EXPECT_EQ(Noted(), Notes());
  EXPECT_TRUE(controller->Stop());
}

TEST_P(StopTest, WhatFailsThenIsNotTriedAgain) {
  absl::Notification begun, go_on;
  const auto controller =
      Started(Options([&](const std::string&, const ReconcileContext&) {
        begun.Notify();
        go_on.WaitForNotification();
        return absl::UnavailableError("later");
      }));
  controller->queue().Add("a");
  begun.WaitForNotification();
  Thread stopper([&] { EXPECT_TRUE(controller->Stop(absl::Hours(1))); });
  clock_.AwaitWaiters(2);  // the queue's own thread is one
  go_on.Notify();
  stopper.join();
  Step(*controller, absl::Minutes(30));
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}}));
}

TEST_P(StopTest, LeavesInTheQueueWhatIsLeftAtTheDeadline) {
  const auto controller = Started(ObedientOptions());
  controller->queue().Add("slow");
  begun_.WaitForNotification();
  controller->queue().Add("a");
  Thread stopper([&] { EXPECT_FALSE(controller->Stop(10 * kSecond)); });
  clock_.AwaitWaiters(2);  // the queue's own thread is one
  EXPECT_FALSE(ended_);
  clock_.Step(10 * kSecond);
  stopper.join();
  controller->AwaitIdle();
  EXPECT_TRUE(ended_);
  EXPECT_EQ(Noted(), (Notes{{"slow", 0, 0}}));
  EXPECT_EQ(controller->queue().Get(), "slow") << "it was given back";
  EXPECT_EQ(controller->queue().Get(), "a");
  const std::vector<std::string> messages = log_.messages();
  EXPECT_EQ(std::count(messages.begin(), messages.end(),
                       "I controller test: stopped before all was reconciled"),
            1);
}

TEST_P(StopTest, WithAPastDeadlineDoesNotWait) {
  const auto controller = Started(SlowOptions());
  controller->queue().Add("slow");
  begun_.WaitForNotification();
  controller->queue().Add("a");
  EXPECT_FALSE(controller->Stop(absl::ZeroDuration()));
  EXPECT_EQ(controller->queue().Len(), 1u);
  go_on_.Notify();
  // A second call does not process the remaining items.
  EXPECT_FALSE(controller->Stop());
  EXPECT_EQ(Noted(), (Notes{{"slow", 0, 0}}));
  EXPECT_TRUE(stop_seen_);
}

TEST_P(StopTest, AStopThatDoesNotWaitEndsAStopThatWaits) {
  const auto controller = Started(SlowOptions());
  controller->queue().Add("slow");
  begun_.WaitForNotification();
  controller->queue().Add("a");
  Thread stopper([&] { EXPECT_FALSE(controller->Stop(absl::Hours(1))); });
  clock_.AwaitWaiters(2);  // the queue's own thread is one
  EXPECT_FALSE(controller->Stop(absl::ZeroDuration()));
  stopper.join();
  go_on_.Notify();
  controller->AwaitIdle();
  EXPECT_TRUE(stop_seen_);
  EXPECT_EQ(Noted(), (Notes{{"slow", 0, 0}}));
}

// A queue whose items outlive the client, as in an engine that several
// processes share.
class OutlivingQueue final : public RateLimitingQueue<std::string> {
 public:
  using Base = RateLimitingQueue<std::string>;
  using Base::Base;

  absl::Status AcquireInto(Lease<std::string>* lease,
                           absl::Duration timeout) override {
    absl::Status status = Base::AcquireInto(lease, timeout);
    if (!closed_) return status;
    if (status.ok()) lease->GiveBack();
    return absl::CancelledError("closed");
  }
  AcquireId AcquireNextAsync(Lease<std::string>* lease, Executor* executor,
                             AcquireCallback<std::string> callback) override {
    return Base::AcquireNextAsync(
        lease, executor,
        [this, callback = std::move(callback)](
            absl::StatusOr<Lease<std::string>> acquired) mutable {
          if (closed_) {
            if (acquired.ok()) acquired->GiveBack();
            acquired = absl::CancelledError("closed");
          }
          std::move(callback)(std::move(acquired));
        });
  }
  absl::StatusOr<bool> ShutDownAndDrain(
      std::optional<absl::Duration>) override {
    ADD_FAILURE() << "other clients still use it";
    return false;
  }
  void Close() override {
    closed_ = true;
    Base::Close();
  }

 private:
  std::atomic<bool> closed_{false};
};

TEST_P(StopTest, ClosesAQueueWhoseItemsLiveElsewhereAndLeavesThemThere) {
  ControllerOptions<std::string> options = SlowOptions();
  RateLimitingQueueOptions<std::string> queue_options;
  queue_options.clock = &clock_;
  auto owned = std::make_unique<OutlivingQueue>(std::move(queue_options));
  OutlivingQueue* const queue = owned.get();
  options.queue = std::move(owned);
  const auto controller = Started(std::move(options));
  queue->Add("slow");
  begun_.WaitForNotification();
  queue->Add("a");
  Thread stopper([&] { EXPECT_TRUE(controller->Stop()); });
  while (!queue->ShuttingDown()) std::this_thread::yield();
  go_on_.Notify();
  stopper.join();
  EXPECT_EQ(Noted(), (Notes{{"slow", 0, 0}}));
  EXPECT_EQ(queue->Len(), 1u);
}

// A source that has not returned does not delay `Stop()` beyond its timeout.
TEST_P(StopTest, DoesNotWaitForASourceBeyondItsDeadline) {
  absl::Notification go_on;
  ControllerOptions<std::string> options = ObedientOptions();
  Source<std::string> source;
  source.run = [&go_on](SourceContext<std::string>& context) {
    go_on.WaitForNotification();
    EXPECT_FALSE(context.queue.Add("late"));
    return absl::OkStatus();
  };
  options.sources.push_back(std::move(source));
  const auto controller = Started(std::move(options));
  controller->queue().Add("slow");
  begun_.WaitForNotification();
  Thread stopper([&] { EXPECT_FALSE(controller->Stop(10 * kSecond)); });
  clock_.AwaitWaiters(2);  // the queue's own thread is one
  EXPECT_TRUE(controller->queue().Add("a"));
  EXPECT_FALSE(ended_);
  clock_.Step(10 * kSecond);
  stopper.join();
  controller->AwaitIdle();
  EXPECT_TRUE(ended_);
  EXPECT_EQ(Noted(), (Notes{{"slow", 0, 0}}));
  go_on.Notify();
}

// The same, with a timeout of zero.
TEST_P(StopTest, DoesNotWaitForASourceWithAPastDeadline) {
  absl::Notification go_on;
  ControllerOptions<std::string> options = Options(Succeed);
  Source<std::string> source;
  source.run = [&go_on](SourceContext<std::string>&) {
    go_on.WaitForNotification();
    return absl::OkStatus();
  };
  options.sources.push_back(std::move(source));
  const auto controller = Started(std::move(options));
  EXPECT_FALSE(controller->Stop(absl::ZeroDuration()));
  EXPECT_FALSE(controller->queue().Add("a"));
  go_on.Notify();
  EXPECT_TRUE(controller->Stop());
}

TEST_P(StopTest, IsPossibleFromManyThreads) {
  ControllerOptions<std::string> options = Options(Succeed);
  options.workers = 2;
  Source<std::string> source;
  source.run = [](Context& context) {
    for (int i = 0; i < 10; ++i) context.queue.Add(std::to_string(i));
    context.stop.WaitForNotification();
    return absl::OkStatus();
  };
  options.sources.push_back(std::move(source));
  const auto controller = Started(std::move(options));
  std::vector<Thread> stoppers;
  for (int i = 0; i < 4; ++i) {
    stoppers.emplace_back([&controller] { EXPECT_TRUE(controller->Stop()); });
  }
  for (Thread& stopper : stoppers) stopper.join();
  EXPECT_EQ(Noted().size(), 10u);
}

TEST_P(StopTest, TheReconcileFunctionMayBeginIt) {
  Controller<std::string>* self = nullptr;
  absl::Notification stopped;
  const auto controller = New(
      Options([&](const std::string& item, const ReconcileContext& context) {
        if (item == "a") {
          self->queue().Add("b");
          EXPECT_FALSE(self->Stop());
          EXPECT_FALSE(self->queue().Add("c"));
          stopped.Notify();
        }
        EXPECT_FALSE(context.stop.HasBeenNotified());
        return absl::OkStatus();
      }));
  self = controller.get();
  ASSERT_TRUE(controller->Start().ok());
  controller->queue().Add("a");
  stopped.WaitForNotification();
  EXPECT_TRUE(controller->Stop());
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}, {"b", 0, 0}}));
  const std::vector<std::string> messages = log_.messages();
  EXPECT_EQ(std::count(messages.begin(), messages.end(),
                       "I controller test: stopping"),
            1);
  EXPECT_EQ(messages.back(), "I controller test: stopped");
}

TEST_P(StopTest, AReconcileFunctionMayStopAnotherController) {
  const auto other = Started(Options(Succeed));
  const auto controller = Started(Options([&other](const std::string&) {
    other->queue().Add("of the other");
    EXPECT_TRUE(other->Stop());
    return absl::OkStatus();
  }));
  AddAndAwait(*controller, "a");
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}, {"of the other", 0, 0}}));
}

TEST_P(StopTest, TheDestructorTellsAndAwaitsWhatIsInProgress) {
  auto controller = Started(ObedientOptions());
  controller->queue().Add("slow");
  begun_.WaitForNotification();
  controller->queue().Add("a");
  controller.reset();
  EXPECT_TRUE(ended_);
  EXPECT_EQ(Noted(), (Notes{{"slow", 0, 0}}));
}

TEST_P(StopTest, TheDestructorNeedsNoStart) {
  auto controller = New(Options(Succeed));
  controller->queue().Add("a");
  controller.reset();
  EXPECT_EQ(Noted(), Notes());
}

TEST_P(StopTest, AQueueThatIsShutDownIsReconciledToItsEnd) {
  const auto controller = Started(SlowOptions());
  controller->queue().Add("slow");
  begun_.WaitForNotification();
  controller->queue().Add("a");
  controller->queue().ShutDown();
  go_on_.Notify();
  EXPECT_TRUE(controller->Stop());
  EXPECT_EQ(Noted(), (Notes{{"slow", 0, 0}, {"a", 0, 0}}));
}

WORKQUEUE_INSTANTIATE(SourceTest);
WORKQUEUE_INSTANTIATE(StartTest);
WORKQUEUE_INSTANTIATE(StopTest);

}  // namespace
}  // namespace workqueue::controller_start_stop_test
