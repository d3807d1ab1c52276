// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests what a test can let happen to the electors of a fleet on a
// `MemoryEngine`. That they behave there as in a server is tested where both
// are.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/advanced_clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/controller_options.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/leader_election/leader_election_source.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/shared/testing/memory_engine.h"

namespace workqueue::memory_election_test {
namespace {

using Faults = MemoryEngine::Faults;

constexpr absl::Duration kTick = absl::Nanoseconds(1);
constexpr absl::Duration kRetryPeriod = absl::Seconds(2);
constexpr absl::Duration kRenewDeadline = absl::Seconds(10);
constexpr absl::Duration kLeaseDuration = absl::Seconds(15);

class MemoryElectionTest : public testing::Test {
 protected:
  MemoryElectionTest() { cut_off_.away = true; }

  LeaderElectorOptions Options(const std::string& process) {
    LeaderElectorOptions options;
    options.name = "pods";
    options.identity = process;
    options.clock = &clock_;
    options.engine = engine_.get();
    options.retry_period = kRetryPeriod;
    options.renew_deadline = kRenewDeadline;
    options.lease_duration = kLeaseDuration;
    return options;
  }

  // Returns an elector that has made its first request.
  std::unique_ptr<LeaderElector> Start(LeaderElectorOptions options) {
    auto elector = *LeaderElector::Create(std::move(options));
    EXPECT_TRUE(elector->Start().ok());
    Deliver();
    return elector;
  }
  std::unique_ptr<LeaderElector> Start(const std::string& process) {
    return Start(Options(process));
  }

  void Deliver() { clock_.Step(absl::ZeroDuration()); }

  // Lets `d` pass, in steps in which each request comes in its time.
  void Pass(absl::Duration d) {
    for (; d > absl::ZeroDuration(); d -= absl::Milliseconds(500)) {
      clock_.Step(std::min(d, absl::Milliseconds(500)));
    }
  }

  FakeClock clock_;
  std::unique_ptr<MemoryEngine> engine_ =
      std::make_unique<MemoryEngine>(&clock_);
  Faults cut_off_;
};

TEST_F(MemoryElectionTest, AListenerThatIsNullEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto elector = *LeaderElector::Create(Options("a"));
  EXPECT_DEATH(elector->AddListener(nullptr),
               "the function of AddListener.. is null");
}

TEST_F(MemoryElectionTest, AStopAfterALostTermGivesTheLeaseUp) {
  for (int changes_before : {1, 2, 3}) {
    const auto a = Start("a");
    const auto b = Start("b");
    engine_->SetFaults(cut_off_, "a");
    Pass(kRenewDeadline - kTick);
    ASSERT_TRUE(a->IsLeader());
    const int64_t listener = a->AddListener([&, n = 0]() mutable {
      if (a->IsLeader() || ++n != changes_before) return;
      engine_->SetFaults({}, "a");
      a->Stop();
    });
    clock_.Step(kTick);
    // The listener hears of two changes, and perhaps more often.
    if (changes_before < 3) {
      EXPECT_TRUE(absl::IsCancelled(a->Healthy())) << "The listener stops it.";
    }
    a->Stop();
    a->RemoveListener(listener);
    Deliver();
    EXPECT_TRUE(b->IsLeader()) << changes_before;
  }
}

TEST_F(MemoryElectionTest, ATermThatEndsWhileListenersAreToldIsToldAgain) {
  AdvancedClock clock;
  absl::Notification over;
  LeaderElectorOptions options = Options("a");
  options.clock = &clock;
  options.retry_period = absl::Hours(1);
  options.renew_deadline = absl::Hours(2);
  options.lease_duration = absl::Hours(3);
  // The end of the term would wake the elector.
  options.on_started_leading = [&](const Leadership&) {
    over.WaitForNotification();
  };
  const auto a = *LeaderElector::Create(std::move(options));
  bool led = false;
  absl::Notification told;
  a->AddListener([&] {
    if (led && !a->IsLeader() && !told.HasBeenNotified()) told.Notify();
    led = a->IsLeader();
  });
  int calls = 0;
  a->AddListener([&] {
    if (!a->IsLeader()) return;
    engine_->SetFaults(cut_off_, "a");
    // The first call is before a renewal, which fails, and the second one
    // after it.
    clock.Advance(absl::Minutes(++calls == 1 ? 90 : 30));
  });
  ASSERT_TRUE(a->Start().ok());
  told.WaitForNotification();
  EXPECT_EQ(calls, 2);
  over.Notify();
  a->Stop();  // Nobody is told any more.
}

TEST_F(MemoryElectionTest, ALeaderThatIsCutOffIsReplaced) {
  const auto a = Start("a");
  const auto b = Start("b");
  engine_->SetFaults(cut_off_, "a");
  Pass(kRenewDeadline - kTick);
  EXPECT_TRUE(a->IsLeader());
  EXPECT_TRUE(absl::IsUnavailable(a->Healthy()));
  clock_.Step(kTick);
  EXPECT_FALSE(a->IsLeader());
  Pass(kLeaseDuration - kRenewDeadline - kTick);
  EXPECT_FALSE(b->IsLeader());
  clock_.Step(kTick);
  EXPECT_TRUE(b->IsLeader());
  engine_->SetFaults({}, "a");
  Pass(1.2 * kRetryPeriod);
  EXPECT_EQ(a->Leader(), "b");
}

TEST_F(MemoryElectionTest, AStandbyThatIsCutOffHearsOfNoRelease) {
  const auto a = Start("a");
  const auto b = Start("b");
  engine_->SetFaults(cut_off_, "b");
  a->Stop();
  Pass(absl::Minutes(1));
  EXPECT_FALSE(b->IsLeader());
  engine_->SetFaults({}, "b");
  Deliver();
  EXPECT_TRUE(b->IsLeader()) << "it tries when it is back";
}

TEST_F(MemoryElectionTest, ARequestIsLost) {
  Faults loses;
  loses.loses_requests = true;
  engine_->SetFaults(loses, "a");
  const auto a = Start("a");
  const auto b = Start("b");
  EXPECT_TRUE(absl::IsUnknown(a->Healthy()));
  EXPECT_TRUE(b->IsLeader());
}

TEST_F(MemoryElectionTest, AnAnswerIsLost) {
  Faults loses;
  loses.loses_answers = true;
  engine_->SetFaults(loses, "a");
  const auto a = Start("a");
  const auto b = Start("b");
  EXPECT_TRUE(absl::IsUnknown(a->Healthy()));
  EXPECT_FALSE(a->IsLeader());
  EXPECT_FALSE(b->IsLeader());
  EXPECT_EQ(b->Leader(), "a") << "and it does not know";
  engine_->SetFaults({});
  Pass(1.2 * kRetryPeriod);
  EXPECT_TRUE(a->IsLeader());
}

TEST_F(MemoryElectionTest, ALeaderWhoseRequestsAreSlowGoesOnInTime) {
  const auto a = Start("a");
  const auto b = Start("b");
  Faults slow;
  slow.request_delay = absl::Seconds(3);
  engine_->SetFaults(slow, "a");
  Pass(absl::Minutes(1));
  EXPECT_TRUE(a->IsLeader());
  slow.request_delay = absl::ZeroDuration();
  slow.answer_delay = absl::InfiniteDuration();
  engine_->SetFaults(slow, "a");
  Pass(absl::Minutes(1));
  EXPECT_FALSE(a->IsLeader());
  EXPECT_TRUE(b->IsLeader());
  engine_->SetFaults({});
}

// It takes 100 ms of the machine, as no request has been answered.
TEST_F(MemoryElectionTest, AStopEndsARequestThatIsSlow) {
  Faults slow;
  slow.request_delay = absl::InfiniteDuration();
  engine_->SetFaults(slow);
  const auto a = Start("a");
  a->Stop();
  engine_->SetFaults({});
  EXPECT_TRUE(Start("b")->IsLeader()) << "the request has not arrived";
}

TEST_F(MemoryElectionTest, AnElectionGoesOnIfTheMemoryIsFull) {
  Faults full;
  full.full = true;
  engine_->SetFaults(full);
  EXPECT_TRUE(Start("a")->IsLeader());
}

TEST_F(MemoryElectionTest, ALeaderSurvivesARestart) {
  const auto a = Start("a");
  const auto b = Start("b");
  const int64_t token = a->token();
  engine_->Restart();
  Pass(absl::Minutes(1));
  EXPECT_EQ(a->token(), token);
}

TEST_F(MemoryElectionTest, AfterALossOfTheDataALeaderIsToldByItsRenewal) {
  const auto a = Start("a");
  const auto b = Start("b");
  clock_.Step(absl::Seconds(1));
  const int64_t token = a->token();
  engine_->LoseData();
  Deliver();
  EXPECT_TRUE(a->IsLeader());
  EXPECT_TRUE(b->IsLeader());
  EXPECT_GT(b->token(), token) << "which a store can tell";
  Pass(kRetryPeriod);
  EXPECT_FALSE(a->IsLeader());
  EXPECT_TRUE(b->IsLeader());
}

TEST_F(MemoryElectionTest, TheEngineMayBeDestroyedFirst) {
  const auto a = Start("a");
  engine_.reset();
  Pass(absl::Minutes(1));
  EXPECT_TRUE(a->IsLeader());
}

TEST_F(MemoryElectionTest, AnElectionIsInOneStore) {
  LeaderElectorOptions options = Options("a");
  options.redis.address = "redis://user:secret@localhost:1";
  EXPECT_EQ(LeaderElector::Create(options).status(),
            absl::InvalidArgumentError(
                "engine is given, and address is \"redis://***@localhost:1\"; "
                "only one of them can be"));
}

// Two processes, of which the leader reconciles.
TEST_F(MemoryElectionTest, AControllerThatIsCutOffIsToldAndAnotherGoesOn) {
  struct Process {
    std::unique_ptr<LeaderElector> elector;
    std::unique_ptr<Controller<std::string>> controller;
    absl::Notification begun, go_on;
    bool lost = false;
    int64_t token = 0;
  };
  const auto start = [this](const std::string& name, Process* process) {
    process->elector = *LeaderElector::Create(Options(name));
    ControllerOptions<std::string> options;
    options.name = name;
    options.clock = &clock_;
    options.reconcile = [process](const std::string&,
                                  const ReconcileContext& context) {
      process->token = context.token;
      process->begun.Notify();
      process->go_on.WaitForNotification();
      process->lost = context.Lost();
      return absl::OkStatus();
    };
    options.sources.push_back(
        MakeLeaderElectionSource<std::string>(*process->elector));
    process->controller = *Controller<std::string>::Create(std::move(options));
    EXPECT_TRUE(process->controller->Start().ok());
    EXPECT_TRUE(process->elector->Start().ok());
    Deliver();
    process->controller->queue().Add("x");
  };
  Process a, b;
  start("a", &a);
  start("b", &b);
  a.begun.WaitForNotification();
  engine_->SetFaults(cut_off_, "a");
  Pass(kRenewDeadline);
  a.go_on.Notify();
  a.controller->AwaitIdle();
  EXPECT_TRUE(a.lost);
  EXPECT_FALSE(b.begun.HasBeenNotified());
  Pass(kLeaseDuration - kRenewDeadline);
  b.begun.WaitForNotification();
  EXPECT_GT(b.token, a.token);
  b.go_on.Notify();
  b.controller->AwaitIdle();
  EXPECT_FALSE(b.lost);
}

// A source may be copied into two controllers.
TEST_F(MemoryElectionTest, AControllerThatStopsLeavesTheElectionToTheOther) {
  const auto elector = Start("a");
  const auto source = MakeLeaderElectionSource<std::string>(*elector);
  const auto start = [&, this](std::atomic<int>* reconciled) {
    ControllerOptions<std::string> options;
    options.clock = &clock_;
    options.reconcile = [reconciled](const std::string&) {
      ++*reconciled;
      return absl::OkStatus();
    };
    options.sources.push_back(source);
    auto controller = *Controller<std::string>::Create(std::move(options));
    EXPECT_TRUE(controller->Start().ok());
    return controller;
  };
  std::atomic<int> by_first{0}, by_second{0};
  const auto first = start(&by_first);
  const auto second = start(&by_second);
  EXPECT_TRUE(first->Stop());
  for (int term = 1; term < 3; ++term) {
    engine_->SetFaults(cut_off_);
    Pass(kRenewDeadline);
    ASSERT_FALSE(elector->IsLeader());
    while (second->Healthy().ok()) {
    }
    second->queue().Add("x");
    while (second->queue().Len() < 1) {  // a worker gives it back
    }
    engine_->SetFaults({});
    Pass(1.2 * kRetryPeriod);
    ASSERT_TRUE(elector->IsLeader());
    second->AwaitIdle();
    EXPECT_EQ(by_second, term);
    while (!second->Healthy().ok()) {
    }
  }
  // Another one may begin when the elector has nothing new to tell.
  const auto third = start(&by_first);
  third->queue().Add("x");
  third->AwaitIdle();
  EXPECT_EQ(by_first, 1);
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_F(MemoryElectionTest, ASourceThatRunsOutOfMemoryIsRestarted) {
  engine_->SetFaults(cut_off_);
  const auto elector = Start("a");
  std::atomic<bool> throws{true}, reconciled{false};
  ControllerOptions<std::string> options;
  options.clock = &clock_;
  options.reconcile = [&](const std::string&) {
    reconciled = true;
    return absl::OkStatus();
  };
  auto source = MakeLeaderElectionSource<std::string>(*elector);
  source.run = [&throws,
                run = source.run](SourceContext<std::string>& context) {
    context.mark_unhealthy =
        [&throws, mark = context.mark_unhealthy](const absl::Status& error) {
          if (throws.exchange(false)) throw std::bad_alloc();
          mark(error);
        };
    return run(context);
  };
  options.sources.push_back(std::move(source));
  const auto controller = *Controller<std::string>::Create(std::move(options));
  EXPECT_TRUE(controller->Start().ok());
  controller->queue().Add("x");
  while (throws) {
  }
  engine_->SetFaults({});
  while (!reconciled) Pass(absl::Seconds(1));
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::memory_election_test
