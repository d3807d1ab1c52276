// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What combines with a shared queue, as the table in the chapter "Running a
// fleet" of docs/guide.md says: controllers of two processes, on a
// `MemoryEngine`. Other tests of the table: shared_queue_test.cc has
// priorities, shared_queue_controller_test.cc the common series of failures,
// and shared_groups_test.cc groups and the options of them that are refused.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ratelimit/bucket_rate_limiter.h"
#include "ratelimit/token_bucket.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/controller_options.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/leader_election/leader_election_source.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/retry_after.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/shared/shared_queue_options.h"
#include "workqueue/shared/testing/memory_engine.h"
#include "workqueue/snapshot.h"
#include "workqueue/testing/thread.h"

namespace workqueue::combinations_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Options = ControllerOptions<std::string>;
using Process = std::unique_ptr<Controller<std::string>>;

class CombinationsTest : public testing::Test {
 protected:
  // Returns the options of a process that notes what it reconciles, as
  // "ITEM by PROCESS", and then does what `Then()` says.
  Options OptionsOf(const std::string& process) {
    SharedQueueOptions<std::string> shared;
    shared.name = "pods";
    shared.client_name = process;
    shared.clock = &clock_;
    shared.engine = &engine_;
    // Longer than a step: the first request of a worker may be on its way
    // meanwhile, and a lease counts from before it.
    shared.lease = absl::Minutes(2);
    shared.retry_schedule = {absl::Seconds(1), absl::Minutes(1)};
    Options options;
    options.name = process;
    options.queue = *SharedQueue<std::string>::Create(std::move(shared));
    options.reconcile = [this, process](const std::string& item,
                                        const ReconcileContext&) {
      return Reconcile(item, process);
    };
    return options;
  }

  absl::Status Reconcile(const std::string& item, const std::string& process) {
    std::function<absl::Status()> then;
    {
      internal::MutexLock lock(&mu_);
      reconciled_.push_back(item + " by " + process);
      then = then_;
    }
    return then == nullptr ? absl::OkStatus() : then();
  }

  void Then(std::function<absl::Status()> then) {
    internal::MutexLock lock(&mu_);
    then_ = std::move(then);
  }

  static Process Start(Options options) {
    auto controller = Controller<std::string>::Create(std::move(options));
    EXPECT_TRUE(controller.ok()) << controller.status();
    EXPECT_EQ((*controller)->Start(), absl::OkStatus());
    return *std::move(controller);
  }

  // Blocks until so many reconciliations have begun since the last call, and no
  // item is queued or processed any more. Returns them.
  std::vector<std::string> Await(const Process& process, size_t n) {
    while (true) {
      clock_.Step(absl::ZeroDuration());
      const auto snapshot = process->TakeSnapshotUpTo(0);
      internal::MutexLock lock(&mu_);
      if (reconciled_.size() >= n && snapshot.ok() &&
          snapshot->num_queued + snapshot->num_processing == 0) {
        return std::exchange(reconciled_, {});
      }
    }
  }

  FakeClock clock_;
  MemoryEngine engine_{&clock_};

 private:
  absl::Mutex mu_;
  std::vector<std::string> reconciled_ ABSL_GUARDED_BY(mu_);
  std::function<absl::Status()> then_ ABSL_GUARDED_BY(mu_);
};

TEST_F(CombinationsTest, AnErrorChoosesTheDelayOfARetry) {
  const Process a = Start(OptionsOf("a"));
  Then([] {
    return RetryAfterError(absl::UnavailableError("busy"), absl::Seconds(10));
  });
  a->queue().Add("x");
  EXPECT_THAT(Await(a, 1), ElementsAre("x by a"));
  Then(nullptr);
  clock_.Step(absl::Seconds(9));
  EXPECT_THAT(Await(a, 0), IsEmpty());
  clock_.Step(absl::Seconds(1));
  EXPECT_THAT(Await(a, 1), ElementsAre("x by a"));
}

TEST_F(CombinationsTest, WhatIsInTheMemoryOfOneProcessIsRefused) {
  const auto error = [](Options options) {
    const auto controller = Controller<std::string>::Create(std::move(options));
    EXPECT_EQ(controller.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(controller.status().message());
  };
  Options options = OptionsOf("a");
  options.rate_limiter = *BucketRateLimiter<std::string>::Create(
      *TokenBucket::Create(1, 1, &clock_));
  EXPECT_EQ(error(std::move(options)),
            "rate_limiter is given, and queue, too; a queue has its own "
            "limiter; that of a SharedQueue is "
            "SharedQueueOptions::retry_schedule");
  options = OptionsOf("a");
  options.ordering =
      *FairOrdering<std::string>::Create(FairOrderingOptions<std::string>());
  EXPECT_THAT(error(std::move(options)),
              AllOf(HasSubstr("ordering is given, and queue, too; "),
                    HasSubstr("SharedQueueOptions::fair: see the table of its "
                              "groups in docs/shared-queue.md")));
}

TEST_F(CombinationsTest, TheLimitsAreThoseOfTheProcessThatFails) {
  Then([] { return absl::UnavailableError("bad disk"); });
  Process patient = Start(OptionsOf("patient"));
  patient->queue().Add("x");
  EXPECT_THAT(Await(patient, 1), ElementsAre("x by patient"));
  clock_.Step(absl::Seconds(1));
  EXPECT_THAT(Await(patient, 1), ElementsAre("x by patient"));
  EXPECT_EQ(patient->failures().Numbers()->parked, 0u);
  patient->Stop();
  patient.reset();

  Options options = OptionsOf("strict");
  options.failures.max_failures = 3;
  const Process strict = Start(std::move(options));
  clock_.Step(absl::Minutes(1));
  EXPECT_THAT(Await(strict, 1), ElementsAre("x by strict"));
  EXPECT_EQ(strict->failures().Numbers()->parked, 1u);
}

TEST_F(CombinationsTest, AnAddUnparksUnlessItMustNot) {
  for (const bool unpark_on_add : {true, false}) {
    Options options = OptionsOf("a");
    options.failures.max_failures = 1;
    options.failures.unpark_on_add = unpark_on_add;
    const Process a = Start(std::move(options));
    Then([] { return absl::UnavailableError("bad disk"); });
    a->queue().Add("x");
    EXPECT_THAT(Await(a, 1), ElementsAre("x by a"));
    Then(nullptr);
    const auto source = OptionsOf("b").queue;
    EXPECT_TRUE(source->Add("x"));
    EXPECT_EQ(Await(a, unpark_on_add ? 1 : 0).size(), unpark_on_add ? 1u : 0u);
    EXPECT_EQ(a->failures().Numbers()->parked, unpark_on_add ? 0u : 1u);
  }
}

TEST_F(CombinationsTest, WhatTheSourcesOfAllProcessesAddIsQueuedOnce) {
  absl::Notification go_on;
  Then([&go_on] {
    go_on.WaitForNotification();
    return absl::OkStatus();
  });
  const auto start = [this](const std::string& process) {
    Options options = OptionsOf(process);
    options.workers = 1;
    options.sources.resize(1);
    options.sources[0].wait_for_sync = true;
    options.sources[0].run = [](SourceContext<std::string>& context) {
      context.queue.AddAll({"x", "y", "z"});
      return absl::OkStatus();
    };
    Process started = Start(std::move(options));
    while (started->TakeSnapshotUpTo(0)->num_processing <
           (process == "a" ? 1u : 2u)) {
      clock_.Step(absl::ZeroDuration());
    }
    return started;
  };
  const Process a = start("a");
  const Process b = start("b");
  EXPECT_EQ(a->queue().Len(), 1u);
  EXPECT_EQ(b->queue().Len(), 1u);
  go_on.Notify();
  std::vector<std::string> items = Await(a, 4);
  for (std::string& it : items) it.resize(1);
  EXPECT_THAT(items, UnorderedElementsAre("x", "x", "y", "z"))
      << "x was added again while it was processed";
}

TEST_F(CombinationsTest, AnItemThatWaitsAgainNeedsNoMemory) {
  Options options = OptionsOf("a");
  options.workers = 1;
  options.reconcile = [this](const std::string& item, const ReconcileContext&) {
    Reconcile(item, "a").IgnoreError();
    ReconcileResult result;
    result.requeue_after = absl::Seconds(1);
    return absl::StatusOr<ReconcileResult>(result);
  };
  const Process a = Start(std::move(options));
  a->queue().Add("x");
  EXPECT_THAT(Await(a, 1), ElementsAre("x by a"));
  MemoryEngine::Faults faults;
  faults.full = true;
  engine_.SetFaults(faults);
  for (int i = 0; i < 3; ++i) {
    clock_.Step(absl::Seconds(1));
    EXPECT_THAT(Await(a, 1), ElementsAre("x by a"));
  }
  EXPECT_TRUE(absl::IsResourceExhausted(a->Healthy())) << a->Healthy();
  engine_.SetFaults({});
  clock_.Step(absl::Seconds(1));
  EXPECT_THAT(Await(a, 1), ElementsAre("x by a"));
  EXPECT_TRUE(a->Healthy().ok()) << a->Healthy();
}

TEST_F(CombinationsTest, AStopIsNoSuccessIfTheServerHasNotHeardOfTheEnd) {
  for (const bool async : {false, true}) {
    for (const absl::string_view fault : {"", "away", "refuses"}) {
      absl::Notification begun, go_on;
      std::optional<ReconcileCompletion> completion;
      Options options = OptionsOf("a");
      if (async) {
        options.reconcile = nullptr;
        options.reconcile_async = [&](const std::string&,
                                      const AsyncReconcileContext&,
                                      ReconcileCompletion done) {
          completion = std::move(done);
          begun.Notify();
        };
      } else {
        Then([&] {
          begun.Notify();
          go_on.WaitForNotification();
          return absl::OkStatus();
        });
      }
      const Process a = Start(std::move(options));
      a->queue().Add("x");
      begun.WaitForNotification();
      MemoryEngine::Faults faults;
      faults.away = !fault.empty();
      engine_.SetFaults(faults);
      std::unique_ptr<SharedQueue<std::string>> other;
      if (fault == "refuses") {
        engine_.LoseData();
        engine_.SetFaults({}, "b");
        SharedQueueOptions<std::string> shared;
        shared.name = "pods";
        shared.client_name = "b";
        shared.clock = &clock_;
        shared.engine = &engine_;
        shared.partitions = 2;
        other = *SharedQueue<std::string>::Create(std::move(shared));
        engine_.SetFaults({});
      }
      go_on.Notify();
      if (async) (*std::move(completion))(absl::OkStatus());
      SnapshotOptions<std::string> here;
      here.here_only = true;
      // The end travels with the next request, and not with the stop.
      while (fault == "refuses" &&
             a->TakeSnapshotWith(here)->num_processing > 0) {
      }
      EXPECT_EQ(a->Stop(absl::Hours(1)), fault.empty()) << async << fault;
      other.reset();
      engine_.LoseData();
      engine_.SetFaults({});
      clock_.Step(absl::Minutes(5));  // The lease has expired.
    }
  }
}

TEST_F(CombinationsTest, AStopBeforeTheStartDoesNotWaitForOtherProcesses) {
  absl::Notification begun, go_on;
  Then([&] {
    if (!begun.HasBeenNotified()) begun.Notify();
    go_on.WaitForNotification();
    return absl::OkStatus();
  });
  Options options = OptionsOf("a");
  options.workers = 1;
  const Process a = Start(std::move(options));
  a->queue().AddAll({"x", "y"});
  begun.WaitForNotification();
  const Process b = *Controller<std::string>::Create(OptionsOf("b"));
  EXPECT_TRUE(b->Stop(absl::Hours(1)));
  // The stop cancels this start.
  absl::Notification starting;
  options = OptionsOf("c");
  options.sources.resize(1);
  options.sources[0].wait_for_sync = true;
  options.sources[0].run = [&starting](SourceContext<std::string>& context) {
    starting.Notify();
    context.stop.WaitForNotification();
    return absl::OkStatus();
  };
  const Process c = *Controller<std::string>::Create(std::move(options));
  Thread start([&c] { EXPECT_TRUE(absl::IsCancelled(c->Start())); });
  starting.WaitForNotification();
  EXPECT_TRUE(c->Stop(absl::Hours(1)));
  start.join();
  EXPECT_EQ(a->queue().Len(), 1u);
  go_on.Notify();
}

// A coroutine is such a function, too; see coroutine_reconcile.h.
TEST_F(CombinationsTest, AsynchronousFunctionsReconcile) {
  const auto start = [this](const std::string& process) {
    Options options = OptionsOf(process);
    options.reconcile = nullptr;
    options.reconcile_async = [this, process](const std::string& item,
                                              const AsyncReconcileContext&,
                                              ReconcileCompletion done) {
      std::move(done)(Reconcile(item, process));
    };
    return Start(std::move(options));
  };
  const Process a = start("a");
  const Process b = start("b");
  a->queue().AddAll({"x", "y"});
  std::vector<std::string> items = Await(b, 2);
  for (std::string& it : items) it.resize(1);
  EXPECT_THAT(items, UnorderedElementsAre("x", "y"));
}

TEST_F(CombinationsTest, OnlyTheLeaderReconcilesWhatAllAdd) {
  std::vector<std::unique_ptr<LeaderElector>> electors;
  const auto start = [&](const std::string& process) {
    LeaderElectorOptions election;
    election.name = "pods";
    election.identity = process;
    election.clock = &clock_;
    election.engine = &engine_;
    LeaderElector& elector =
        *electors.emplace_back(*LeaderElector::Create(std::move(election)));
    Options options = OptionsOf(process);
    options.sources.push_back(MakeLeaderElectionSource<std::string>(elector));
    Process controller = Start(std::move(options));
    EXPECT_TRUE(elector.Start().ok());
    clock_.Step(absl::ZeroDuration());
    return controller;
  };
  const Process a = start("a");
  const Process b = start("b");
  b->queue().Add("x");
  a->queue().Add("y");
  EXPECT_THAT(Await(a, 2), UnorderedElementsAre("x by a", "y by a"));
  MemoryEngine::Faults cut_off;
  cut_off.away = true;
  engine_.SetFaults(cut_off, "a");
  clock_.Step(absl::Seconds(10));
  clock_.Step(absl::Seconds(5));
  b->queue().Add("z");
  EXPECT_THAT(Await(b, 1), ElementsAre("z by b"));
}

}  // namespace
}  // namespace workqueue::combinations_test
