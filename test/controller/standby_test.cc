// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that a controller with a `Source::term` reconciles only while this
// process leads.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/controller/controller_fixture.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/testing/manual_executor.h"
#include "workqueue/testing/thread.h"

namespace workqueue::standby_test {
namespace {

using internal::MutexLock;

// An election that a test decides.
class Election {
 public:
  // Begins the term with this number, or ends one with zero.
  void Set(int64_t term) {
    term_ = term;
    MutexLock lock(&mu_);
    changed_ = true;
  }

  Source<std::string> NewSource() {
    Source<std::string> source;
    source.name = "election";
    source.term = [this] { return term_.load(); };
    source.run = [this](SourceContext<std::string>& context) {
      while (true) {
        {
          MutexLock lock(&mu_);
          const auto due = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
            return changed_ || stopping_;
          };
          mu_.Await(absl::Condition(&due));
          if (stopping_) return absl::OkStatus();
          changed_ = false;
        }
        context.wake_workers();
      }
    };
    source.on_stop = [this] {
      MutexLock lock(&mu_);
      stopping_ = true;
    };
    return source;
  }

 private:
  std::atomic<int64_t> term_{0};
  absl::Mutex mu_;
  bool changed_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
};

class StandbyTest : public ControllerFixture {
 protected:
  std::unique_ptr<Controller<std::string>> WithElection(
      ReconcileFunction<std::string> reconcile, int workers = 1) {
    ControllerOptions<std::string> options = Options(std::move(reconcile));
    options.workers = workers;
    options.sources.push_back(election_.NewSource());
    return Started(std::move(options));
  }

  Election election_;
};

TEST_P(StandbyTest, ReconcilesWhenItsTermBegins) {
  std::atomic<int64_t> token{0};
  const auto controller = WithElection(
      [&token](const std::string&, const ReconcileContext& context) {
        EXPECT_FALSE(context.Lost());
        token = context.token;
        return absl::OkStatus();
      },
      /*workers=*/3);
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(controller->queue().Add(absl::StrCat(i)));
  }
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
  EXPECT_TRUE(Noted().empty());
  election_.Set(7);
  controller->AwaitIdle();
  EXPECT_EQ(Noted().size(), 100u);
  EXPECT_EQ(token, 7);
}

TEST_P(StandbyTest, StopsToReconcileWhenItsTermEnds) {
  absl::Notification begun;
  std::atomic<int> calls{0};
  const auto controller = WithElection(
      [&](const std::string&, const ReconcileContext& context) -> absl::Status {
        if (++calls > 1) return absl::OkStatus();
        EXPECT_FALSE(context.Cancelled());
        begun.Notify();
        while (!context.Lost()) {
        }
        EXPECT_TRUE(context.Cancelled());
        return absl::AbortedError("lost");
      });
  election_.Set(1);
  controller->queue().Add("a");
  controller->queue().Add("b");
  begun.WaitForNotification();
  election_.Set(0);
  while (controller->queue().Len() < 2) {  // until a has been given back
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}}));
  election_.Set(2);
  controller->AwaitIdle();
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}, {"b", 0, 0}})) << "it did not fail";
}

// Another process may have led in between.
TEST_P(StandbyTest, AnotherTermIsNotTheSame) {
  absl::Notification begun;
  const auto controller =
      WithElection([&](const std::string&, const ReconcileContext& context) {
        begun.Notify();
        while (!context.Lost()) {
        }
        return absl::OkStatus();
      });
  election_.Set(1);
  controller->queue().Add("a");
  begun.WaitForNotification();
  election_.Set(2);
  controller->AwaitIdle();
  EXPECT_EQ(Noted().size(), 1u);
}

TEST_P(StandbyTest, AStandbyStopsWithoutReconciling) {
  const auto controller = WithElection(Succeed);
  controller->queue().Add("a");
  EXPECT_TRUE(controller->Stop());
  EXPECT_TRUE(Noted().empty());
}

TEST_P(StandbyTest, AStandbyIsDestroyed) {
  auto controller = WithElection(Succeed);
  controller->queue().Add("a");
  controller.reset();
  EXPECT_TRUE(Noted().empty());
}

TEST_P(StandbyTest, ALeaderReconcilesWhatIsQueuedWhileItStops) {
  absl::Notification begun;
  absl::Notification go_on;
  const auto controller = WithElection([&](const std::string& key) {
    if (key == "a") {
      begun.Notify();
      go_on.WaitForNotification();
    }
    return absl::OkStatus();
  });
  election_.Set(1);
  controller->queue().Add("a");
  begun.WaitForNotification();
  controller->queue().Add("b");
  Thread stop([&] { EXPECT_TRUE(controller->Stop()); });
  while (!controller->queue().ShuttingDown()) {
  }
  go_on.Notify();
  stop.join();
  EXPECT_EQ(Noted().size(), 2u);
}

TEST_P(StandbyTest, ALeaderThatLosesWhileItStopsReconcilesNoMore) {
  absl::Notification begun;
  absl::Notification go_on;
  const auto controller = WithElection([&](const std::string&) {
    begun.Notify();
    go_on.WaitForNotification();
    return absl::OkStatus();
  });
  election_.Set(1);
  controller->queue().Add("a");
  begun.WaitForNotification();
  controller->queue().Add("b");
  Thread stop([&] { controller->Stop(); });
  while (!controller->queue().ShuttingDown()) {
  }
  election_.Set(0);  // the source has returned
  go_on.Notify();
  stop.join();
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}}));
}

TEST_P(StandbyTest, OneSourceHasATerm) {
  ControllerOptions<std::string> options = Options(Succeed);
  Election other;
  options.sources = {election_.NewSource(), other.NewSource()};
  const auto controller = Controller<std::string>::Create(std::move(options));
  EXPECT_EQ(controller.status(),
            absl::InvalidArgumentError(
                "sources: 2 have a term; at most one may have one"));
}

WORKQUEUE_INSTANTIATE(StandbyTest);

TEST(AsyncStandbyTest, ATermMayEndBeforeTheReconciliationBegins) {
  ManualExecutor executor;
  bool counts = false;
  int looks = 0;
  ControllerOptions<std::string> options;
  options.executor = &executor;
  Source<std::string>& source = options.sources.emplace_back();
  source.run = [](SourceContext<std::string>&) { return absl::OkStatus(); };
  // The first one is for the item.
  source.term = [&] { return counts && ++looks > 1 ? 0 : 1; };
  options.reconcile_async = [](const std::string&, const AsyncReconcileContext&,
                               ReconcileCompletion) { ADD_FAILURE(); };
  auto controller = *Controller<std::string>::Create(std::move(options));
  ASSERT_EQ(controller->Start(), absl::OkStatus());
  executor.RunAll();
  controller->queue().Add("a");
  counts = true;
  executor.RunAll();
  EXPECT_GT(looks, 1);
  EXPECT_EQ(controller->queue().Len(), 1u);
  controller->Stop(absl::ZeroDuration());
  executor.RunAll();
}

TEST(AsyncStandbyTest, TheEndOfATermCancelsAReconciliation) {
  Election election;
  absl::Notification begun;
  absl::Notification cancelled;
  ReconcileCompletion done;
  ControllerOptions<std::string> options;
  options.reconcile_async = [&](const std::string&,
                                const AsyncReconcileContext& context,
                                ReconcileCompletion completion) {
    context.OnCancel([&cancelled] { cancelled.Notify(); });
    done = std::move(completion);
    begun.Notify();
  };
  options.sources.push_back(election.NewSource());
  const auto controller = *Controller<std::string>::Create(std::move(options));
  ASSERT_EQ(controller->Start(), absl::OkStatus());
  election.Set(1);
  controller->queue().Add("a");
  begun.WaitForNotification();
  EXPECT_FALSE(cancelled.HasBeenNotified());
  election.Set(2);
  cancelled.WaitForNotification();
  EXPECT_TRUE(done(absl::OkStatus()));
}

// The source has ended then, and wakes nobody.
TEST(AsyncStandbyTest, TheEndOfATermDuringAStopCancelsAReconciliation) {
  FakeClock clock;
  std::atomic<int64_t> term{1};
  std::atomic<int> looks{0};
  absl::Notification begun;
  absl::Notification cancelled;
  ReconcileCompletion done;
  ControllerOptions<std::string> options;
  options.clock = &clock;
  options.reconcile_async = [&](const std::string&,
                                const AsyncReconcileContext& context,
                                ReconcileCompletion completion) {
    context.OnCancel([&cancelled] { cancelled.Notify(); });
    done = std::move(completion);
    begun.Notify();
  };
  Source<std::string>& source = options.sources.emplace_back();
  source.run = [](SourceContext<std::string>&) { return absl::OkStatus(); };
  source.term = [&] {
    const int64_t now = term;
    ++looks;
    return now;
  };
  const auto controller = *Controller<std::string>::Create(std::move(options));
  ASSERT_EQ(controller->Start(), absl::OkStatus());
  controller->queue().Add("a");
  begun.WaitForNotification();
  const int before = looks;
  Thread stop([&] { controller->Stop(); });
  while (looks == before) {  // until the stop has closed the queue
  }
  term = 0;
  clock.Step(absl::Seconds(1));
  EXPECT_TRUE(cancelled.HasBeenNotified());
  EXPECT_TRUE(done(absl::OkStatus()));
  stop.join();
}

}  // namespace
}  // namespace workqueue::standby_test
