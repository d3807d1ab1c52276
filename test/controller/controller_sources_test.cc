// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of what becomes of a source after the start: its end, its restarts, and
// `Controller::Healthy()`. Also tests `SourceContext::Sleep()`.

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/controller/controller_fixture.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/testing/thread.h"

namespace workqueue::controller_sources_test {
namespace {

using Context = SourceContext<std::string>;

constexpr absl::Duration kSecond = absl::Seconds(1);
constexpr absl::Duration kNanosecond = absl::Nanoseconds(1);

class ControllerSourcesTest : public ControllerFixture {
 protected:
  // Returns the options of a controller with one source, which calls `run`.
  ControllerOptions<std::string> OptionsWith(
      std::function<absl::Status(Context&)> run) {
    ControllerOptions<std::string> options = Options(Succeed);
    Source<std::string> source;
    source.name = "pods";
    source.run = std::move(run);
    options.sources.push_back(std::move(source));
    return options;
  }

  // The same, and the source is restarted.
  ControllerOptions<std::string> OptionsWithRestarts(
      std::function<absl::Status(Context&)> run) {
    ControllerOptions<std::string> options = OptionsWith(std::move(run));
    options.sources[0].restart_backoff = {kSecond, 5 * kSecond};
    return options;
  }

  // Blocks until the source sleeps on the clock, as the queue's thread does.
  void AwaitSleep() { clock_.AwaitWaiters(2); }

  // Moves the clock by `d`, after which the source runs and sleeps again.
  void StepAndAwaitSleep(absl::Duration d) {
    clock_.Step(d);
    AwaitSleep();
  }
};

// -----------------------------------------------------------------------------
// Healthy
// -----------------------------------------------------------------------------

TEST_P(ControllerSourcesTest, IsHealthyFromTheStartToTheStop) {
  const auto controller = New(Options(Succeed));
  EXPECT_EQ(controller->Healthy(), absl::FailedPreconditionError(
                                       "controller test has not been started"));
  ASSERT_TRUE(controller->Start().ok());
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
  controller->Stop();
  EXPECT_EQ(controller->Healthy(),
            absl::CancelledError("controller test has been stopped"));
}

TEST_P(ControllerSourcesTest, AControllerThatWasNeverStartedCanBeStopped) {
  const auto controller = New(Options(Succeed));
  controller->Stop();
  EXPECT_EQ(controller->Healthy(),
            absl::CancelledError("controller test has been stopped"));
}

TEST_P(ControllerSourcesTest, IsNotHealthyWhileItStops) {
  absl::Notification begun, go_on;
  ControllerOptions<std::string> options =
      Options([&](const std::string&, const ReconcileContext&) {
        begun.Notify();
        go_on.WaitForNotification();
        return absl::OkStatus();
      });
  const auto controller = Started(std::move(options));
  controller->queue().Add("a");
  begun.WaitForNotification();
  EXPECT_FALSE(controller->Stop(absl::ZeroDuration()));
  EXPECT_TRUE(absl::IsCancelled(controller->Healthy()));
  go_on.Notify();
}

TEST_P(ControllerSourcesTest, IsNotHealthyWhileItStarts) {
  absl::Notification go_on;
  ControllerOptions<std::string> options = OptionsWith([&](Context& context) {
    go_on.WaitForNotification();
    context.mark_synced();
    context.stop.WaitForNotification();
    return absl::OkStatus();
  });
  options.sources[0].wait_for_sync = true;
  const auto controller = New(std::move(options));
  Thread starter([&] { EXPECT_TRUE(controller->Start().ok()); });
  clock_.AwaitWaiters(2);  // Start(), and the queue's own thread
  EXPECT_EQ(
      controller->Healthy(),
      absl::UnavailableError("controller test is starting; not in sync: pods"));
  go_on.Notify();
  starter.join();
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
}

TEST_P(ControllerSourcesTest, AStartThatFailedIsTheReason) {
  ControllerOptions<std::string> options =
      OptionsWith([](Context&) { return absl::DataLossError("torn"); });
  options.sources[0].wait_for_sync = true;
  const auto controller = New(std::move(options));
  ASSERT_FALSE(controller->Start().ok());
  EXPECT_EQ(controller->Healthy(),
            absl::DataLossError(
                "controller test could not be started: source pods: torn"));
}

TEST_P(ControllerSourcesTest, TheReasonIsOnOneLineAndCut) {
  absl::Notification fail;
  ControllerOptions<std::string> options = OptionsWith([&](Context&) {
    fail.WaitForNotification();
    return absl::DataLossError(absl::StrCat("a\nb", std::string(100000, 'x')));
  });
  options.sources[0].name = "pods\n";
  options.sources[0].wait_for_sync = true;
  options.sources[0].restart_backoff = {kSecond, kSecond};
  const auto controller = New(std::move(options));
  Thread starter([&] { EXPECT_FALSE(controller->Start().ok()); });
  clock_.AwaitWaiters(2);  // Start(), and the queue's own thread
  EXPECT_EQ(controller->Healthy().message(),
            "controller test is starting; not in sync: pods\\n");
  fail.Notify();
  clock_.AwaitWaiters(3);
  const std::string reason(controller->Healthy().message());
  EXPECT_TRUE(absl::StartsWith(reason,
                               "controller test is starting; not in sync: "
                               "pods\\n (source pods\\n: a\\nbxxx"))
      << reason;
  EXPECT_LT(reason.size(), 1200u);
  controller->Stop();
  starter.join();
}

TEST_P(ControllerSourcesTest, TheReasonsOfTwoSourcesAreOnOneLineAndCut) {
  absl::Notification fail;
  ControllerOptions<std::string> options = OptionsWith([&](Context&) {
    fail.WaitForNotification();
    return absl::DataLossError(absl::StrCat("a\nb", std::string(100000, 'x')));
  });
  options.sources[0].name = "pods\n";
  options.sources.push_back(options.sources[0]);
  const auto controller = Started(std::move(options));
  fail.Notify();
  log_.Await(4);
  const std::string reason(controller->Healthy().message());
  EXPECT_TRUE(
      absl::StartsWith(reason, "controller test: source pods\\n: a\\nbxxx"))
      << reason;
  EXPECT_TRUE(absl::EndsWith(reason, " bytes) (it has ended)")) << reason;
  EXPECT_LT(reason.size(), 2400u);
}

TEST_P(ControllerSourcesTest, AQueueThatHasEndedIsTheReason) {
  const auto controller = Started(Options(Succeed));
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
  controller->queue().ShutDown();
  while (controller->Healthy().ok()) std::this_thread::yield();
  EXPECT_EQ(controller->Healthy(),
            absl::UnavailableError(
                "controller test has lost workers: its queue has ended"));
}

TEST_P(ControllerSourcesTest, ASourceThatHasEndedIsTheReason) {
  absl::Notification fail;
  ControllerOptions<std::string> options = OptionsWith([&](Context&) {
    fail.WaitForNotification();
    return absl::DataLossError("torn");
  });
  options.sources.push_back(options.sources[0]);
  options.sources[1].name = "nodes";
  const auto controller = Started(std::move(options));
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
  fail.Notify();
  log_.Await(4);
  EXPECT_EQ(controller->Healthy(),
            absl::DataLossError(
                "controller test: source pods: torn (it has ended); source "
                "nodes: torn (it has ended)"));
}

TEST_P(ControllerSourcesTest, ASourceNeedsNoName) {
  auto options = OptionsWith(
      [](Context&) -> absl::Status { return absl::DataLossError("torn"); });
  options.sources[0].name = "";
  options.sources[0].wait_for_sync = true;
  const auto controller = New(std::move(options));
  EXPECT_EQ(controller->Start(), absl::DataLossError("a source: torn"));
}

TEST_P(ControllerSourcesTest, ASourceThatReturnsOkIsToldAndHealthy) {
  absl::Notification end;
  const auto controller = Started(OptionsWith([&end](Context&) {
    end.WaitForNotification();
    return absl::OkStatus();
  }));
  end.Notify();
  EXPECT_EQ(log_.Await(3),
            "I controller test: source pods has returned OK: it adds no more "
            "items");
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
}

TEST_P(ControllerSourcesTest, ASourceThatReturnsAfterTheStopIsNotTold) {
  for (const absl::Status& result :
       {absl::OkStatus(), absl::DataLossError("torn")}) {
    const auto controller = Started(OptionsWithRestarts([&](Context& context) {
      context.stop.WaitForNotification();
      return result;
    }));
    const size_t before = log_.messages().size();
    EXPECT_TRUE(controller->Stop());
    EXPECT_EQ(log_.messages().size(), before + 2);  // "stopping" and "stopped"
  }
}

// -----------------------------------------------------------------------------
// Restarts
// -----------------------------------------------------------------------------

TEST_P(ControllerSourcesTest, ASourceIsRestartedLaterEachTime) {
  std::atomic<int> runs{0};
  const auto controller = Started(OptionsWithRestarts([&runs](Context&) {
    return absl::DataLossError(absl::StrCat("torn ", ++runs));
  }));
  int expected = 1;
  for (int seconds : {1, 2, 4, 5, 5}) {
    AwaitSleep();
    clock_.Step(seconds * kSecond - kNanosecond);
    EXPECT_EQ(runs, expected);
    EXPECT_EQ(controller->Healthy(),
              absl::DataLossError(
                  absl::StrCat("controller test: source pods: torn ", expected,
                               " (it is being restarted)")));
    StepAndAwaitSleep(kNanosecond);
    EXPECT_EQ(runs, ++expected);
  }
  std::vector<std::string> errors;
  for (const std::string& message : log_.messages()) {
    if (message[0] == 'E') errors.push_back(message);
  }
  EXPECT_EQ(
      errors,
      (std::vector<std::string>{
          "E controller test: DATA_LOSS: source pods: torn 1 (restarted in 1s)",
          "E controller test: DATA_LOSS: source pods: torn 2 (restarted in 2s)",
          "E controller test: DATA_LOSS: source pods: torn 3 (restarted in 4s)",
          "E controller test: DATA_LOSS: source pods: torn 4 (restarted in 5s)",
          "E controller test: DATA_LOSS: source pods: torn 5 (restarted in 5s)",
          "E controller test: DATA_LOSS: source pods: torn 6 (restarted in "
          "5s)"}));
  EXPECT_TRUE(controller->Stop());
  EXPECT_EQ(runs, 6);
}

TEST_P(ControllerSourcesTest, AGoodRunMakesTheNextDelayTheFirst) {
  std::atomic<int> runs{0};
  // The third run is healthy for two minutes.
  const auto controller = Started(OptionsWithRestarts([&](Context& context) {
    if (++runs == 3) context.Sleep(absl::Minutes(2));
    return absl::DataLossError("torn");
  }));
  AwaitSleep();
  StepAndAwaitSleep(kSecond);
  StepAndAwaitSleep(2 * kSecond);
  EXPECT_EQ(runs, 3);
  StepAndAwaitSleep(absl::Minutes(2));
  EXPECT_EQ(runs, 3);
  StepAndAwaitSleep(kSecond);
  EXPECT_EQ(runs, 4);
}

// A run that takes long to fail is no good run.
TEST_P(ControllerSourcesTest, OnlyTimeInHealthMakesTheNextDelayTheFirst) {
  std::atomic<int> runs{0};
  // Each run is healthy for at most a minute, and then fails for an hour.
  ControllerOptions<std::string> options =
      OptionsWithRestarts([&](Context& context) {
        if (++runs > 2) context.mark_synced();
        context.Sleep(absl::Minutes(1));
        context.mark_unhealthy(absl::UnavailableError("no answer"));
        context.Sleep(absl::Hours(1));
        if (runs == 1) context.mark_synced();
        return absl::DataLossError("torn");
      });
  const auto controller = Started(std::move(options));
  for (const int seconds : {1, 2, 4, 5}) {
    AwaitSleep();
    StepAndAwaitSleep(absl::Minutes(1));
    StepAndAwaitSleep(absl::Hours(1));
    const int before = runs;
    clock_.Step(seconds * kSecond - kNanosecond);
    EXPECT_EQ(runs, before);
    StepAndAwaitSleep(kNanosecond);
    EXPECT_EQ(runs, before + 1);
  }
}

TEST_P(ControllerSourcesTest, ARestartedSourceIsHealthyWhenItIsInSyncAgain) {
  absl::Notification synced, fail, restarted, list, listed;
  std::atomic<int> runs{0};
  const auto controller = Started(OptionsWithRestarts([&](Context& context) {
    if (++runs == 1) {
      context.mark_synced();
      synced.Notify();
      fail.WaitForNotification();
      return absl::DataLossError("torn");
    }
    restarted.Notify();
    list.WaitForNotification();
    context.mark_synced();
    listed.Notify();
    context.stop.WaitForNotification();
    return absl::OkStatus();
  }));
  synced.WaitForNotification();
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
  fail.Notify();
  AwaitSleep();
  EXPECT_FALSE(controller->Healthy().ok());
  clock_.Step(kSecond);
  restarted.WaitForNotification();
  EXPECT_EQ(controller->Healthy(),
            absl::DataLossError("controller test: source pods: torn (it has "
                                "been restarted, and is not in sync yet)"));
  list.Notify();
  listed.WaitForNotification();
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
}

TEST_P(ControllerSourcesTest, ASourceThatMarksNoSyncIsHealthyWhileItRuns) {
  absl::Notification fail, restarted;
  std::atomic<int> runs{0};
  const auto controller = Started(OptionsWithRestarts([&](Context& context) {
    if (++runs == 1) {
      fail.WaitForNotification();
      return absl::DataLossError("torn");
    }
    restarted.Notify();
    context.stop.WaitForNotification();
    return absl::OkStatus();
  }));
  fail.Notify();
  AwaitSleep();
  EXPECT_FALSE(controller->Healthy().ok());
  clock_.Step(kSecond);
  restarted.WaitForNotification();
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
}

TEST_P(ControllerSourcesTest, ASourceThatGoesOnReportsItsHealth) {
  absl::Notification failed, mended, broke_again, go_on, end;
  ControllerOptions<std::string> options =
      OptionsWithRestarts([&](Context& context) -> absl::Status {
        context.mark_unhealthy(absl::UnavailableError("broken"));
        failed.Notify();
        go_on.WaitForNotification();
        context.mark_synced();
        mended.Notify();
        end.WaitForNotification();
        context.mark_unhealthy(absl::DataLossError("torn"));
        broke_again.Notify();
        context.stop.WaitForNotification();
        return absl::OkStatus();
      });
  const auto controller = Started(std::move(options));
  failed.WaitForNotification();
  EXPECT_EQ(controller->Healthy(),
            absl::UnavailableError(
                "controller test: source pods: broken (it goes on)"));
  go_on.Notify();
  mended.WaitForNotification();
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
  end.Notify();
  broke_again.WaitForNotification();
  EXPECT_EQ(
      controller->Healthy(),
      absl::DataLossError("controller test: source pods: torn (it goes on)"));
}

TEST_P(ControllerSourcesTest, ASourceThatReturnsOkIsNotRestarted) {
  std::atomic<int> runs{0};
  const auto controller = Started(OptionsWithRestarts([&](Context&) {
    return ++runs == 1 ? absl::DataLossError("torn") : absl::OkStatus();
  }));
  AwaitSleep();
  clock_.Step(kSecond);
  log_.Await(4);
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
  EXPECT_TRUE(controller->Stop());
}

TEST_P(ControllerSourcesTest, AnErrorDuringTheStartIsNotTheEnd) {
  std::atomic<int> runs{0};
  ControllerOptions<std::string> options =
      OptionsWithRestarts([&](Context& context) {
        if (++runs < 3) return absl::UnavailableError("not yet");
        context.mark_synced();
        context.stop.WaitForNotification();
        return absl::OkStatus();
      });
  options.sources[0].wait_for_sync = true;
  const auto controller = New(std::move(options));
  Thread starter([&] { EXPECT_TRUE(controller->Start().ok()); });
  clock_.AwaitWaiters(3);  // the source, Start(), and the queue's own thread
  EXPECT_EQ(controller->Healthy(),
            absl::UnavailableError("controller test is starting; not in sync: "
                                   "pods (source pods: not yet)"));
  clock_.Step(kSecond);
  clock_.AwaitWaiters(3);
  clock_.Step(2 * kSecond);
  starter.join();
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
}

TEST_P(ControllerSourcesTest, TheTimeoutOfTheStartNamesTheLastError) {
  ControllerOptions<std::string> options = OptionsWithRestarts(
      [](Context&) { return absl::UnavailableError("not yet"); });
  options.sources[0].wait_for_sync = true;
  options.sync_timeout = kSecond / 2;
  const auto controller = New(std::move(options));
  Thread starter([&] {
    EXPECT_EQ(controller->Start(),
              absl::DeadlineExceededError(
                  "not in sync within 500ms: pods (source pods: not yet)"));
  });
  clock_.AwaitWaiters(3);  // the source, Start(), and the queue's own thread
  clock_.Step(kSecond / 2);
  starter.join();
}

TEST_P(ControllerSourcesTest, AStopEndsTheWaitForARestart) {
  std::atomic<int> runs{0};
  const auto controller = Started(OptionsWithRestarts([&runs](Context&) {
    ++runs;
    return absl::DataLossError("torn");
  }));
  AwaitSleep();
  EXPECT_TRUE(controller->Stop());
  EXPECT_EQ(runs, 1);
}

#ifdef ABSL_HAVE_EXCEPTIONS
TEST_P(ControllerSourcesTest, ASourceThatThrowsIsRestarted) {
  std::atomic<int> runs{0};
  const auto controller =
      Started(OptionsWithRestarts([&runs](Context&) -> absl::Status {
        ++runs;
        throw std::runtime_error("thrown");
      }));
  AwaitSleep();
  EXPECT_EQ(controller->Healthy(),
            absl::InternalError("controller test: source pods: thrown (it is "
                                "being restarted)"));
  StepAndAwaitSleep(kSecond);
  EXPECT_EQ(runs, 2);
}
#endif  // ABSL_HAVE_EXCEPTIONS

TEST_P(ControllerSourcesTest, EachBadDelayIsNamed) {
  const struct {
    RestartBackoff backoff;
    std::string message;
  } cases[] = {
      {{absl::ZeroDuration(), kSecond},
       "sources[0].restart_backoff.base_delay is 0; it must be finite and "
       "positive"},
      {{kSecond, absl::InfiniteDuration()},
       "sources[0].restart_backoff.max_delay is inf; it must be finite and "
       "positive"},
      {{2 * kSecond, kSecond},
       "sources[0].restart_backoff.max_delay is 1s; it must be at least "
       "base_delay, which is 2s"},
  };
  for (const auto& c : cases) {
    ControllerOptions<std::string> options =
        OptionsWith([](Context&) { return absl::OkStatus(); });
    options.sources[0].restart_backoff = c.backoff;
    EXPECT_EQ(Controller<std::string>::Create(std::move(options)).status(),
              absl::InvalidArgumentError(c.message));
  }
  ControllerOptions<std::string> options =
      OptionsWith([](Context&) { return absl::OkStatus(); });
  options.sources[0].restart_backoff.emplace();
  EXPECT_TRUE(Controller<std::string>::Create(std::move(options)).ok());
}

// -----------------------------------------------------------------------------
// Sleep
// -----------------------------------------------------------------------------

TEST_P(ControllerSourcesTest, ASourceCanPoll) {
  std::atomic<int> polls{0};
  const auto controller = Started(OptionsWith([&polls](Context& context) {
    do {
      context.queue.Add(absl::StrCat(++polls));
    } while (context.Sleep(kSecond));
    EXPECT_TRUE(context.stop.HasBeenNotified());
    return absl::OkStatus();
  }));
  AwaitSleep();
  controller->AwaitIdle();
  clock_.Step(kSecond - kNanosecond);
  EXPECT_EQ(polls, 1);
  StepAndAwaitSleep(kNanosecond);
  EXPECT_EQ(polls, 2);
  controller->AwaitIdle();
  EXPECT_EQ(Noted(), (Notes{{"1", 0, 0}, {"2", 1000, 0}}));
  EXPECT_TRUE(controller->Stop());  // ends the sleep
  EXPECT_EQ(polls, 2);
}

TEST_P(ControllerSourcesTest, ASleepOfNoTimeDoesNotBlock) {
  absl::Notification slept;
  const auto controller = Started(OptionsWith([&](Context& context) {
    EXPECT_TRUE(context.Sleep(absl::ZeroDuration()));
    EXPECT_TRUE(context.Sleep(-kSecond));
    EXPECT_TRUE(context.Sleep(-absl::InfiniteDuration()));
    slept.Notify();
    EXPECT_FALSE(context.Sleep(absl::InfiniteDuration()));
    EXPECT_FALSE(context.Sleep(absl::ZeroDuration()));
    EXPECT_FALSE(context.Sleep(kSecond));
    return absl::OkStatus();
  }));
  slept.WaitForNotification();
  AwaitSleep();
  clock_.Step(absl::Hours(1000000));
  EXPECT_TRUE(controller->Stop());
}

WORKQUEUE_INSTANTIATE(ControllerSourcesTest);

}  // namespace
}  // namespace workqueue::controller_sources_test
