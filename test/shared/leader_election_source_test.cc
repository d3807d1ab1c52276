// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/leader_election/leader_election_source.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/shared/election_fixture.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/leader_election/leader_elector.h"

namespace workqueue::leader_election_source_test {
namespace {

using internal::MutexLock;
using testing::HasSubstr;

class LeaderElectionSourceTest : public ElectionFixture {
 protected:
  // An elector and a controller, as of one process.
  struct Process {
    std::unique_ptr<LeaderElector> elector;
    std::unique_ptr<Controller<std::string>> controller;
  };

  Process Start(const std::string& name, bool run_again = true) {
    Process process;
    LeaderElectorOptions election;
    election.name = "election";
    UseStore(&election);
    election.identity = name;
    election.run_again = run_again;
    process.elector = *LeaderElector::Create(std::move(election));
    ControllerOptions<std::string> options;
    options.name = name;
    options.clock = &clock_;
    options.reconcile = [this, name](const std::string& key,
                                     const ReconcileContext& context) {
      EXPECT_FALSE(context.Lost());
      EXPECT_GT(context.token, 0);
      MutexLock lock(&mu_);
      reconciled_.push_back(absl::StrCat(key, " by ", name));
      return absl::OkStatus();
    };
    options.sources.push_back(
        MakeLeaderElectionSource<std::string>(*process.elector));
    process.controller = *Controller<std::string>::Create(std::move(options));
    EXPECT_EQ(process.controller->Start(), absl::OkStatus());
    EXPECT_EQ(process.elector->Start(), absl::OkStatus());
    clock_.Step(absl::ZeroDuration());
    return process;
  }

  static void AwaitHealth(const Process& process, bool healthy) {
    while (process.controller->Healthy().ok() != healthy) {
    }
  }

  void Pass(absl::Duration d) {
    for (int i = 0; i < d / absl::Milliseconds(500); ++i) {
      clock_.Step(absl::Milliseconds(500));
    }
  }

  std::vector<std::string> Reconciled() {
    MutexLock lock(&mu_);
    return std::exchange(reconciled_, {});
  }

 private:
  absl::Mutex mu_;
  std::vector<std::string> reconciled_ ABSL_GUARDED_BY(mu_);
};

INSTANTIATE_ELECTION_TESTS(LeaderElectionSourceTest);

TEST_P(LeaderElectionSourceTest, TheLeaderReconcilesAndTheOtherStandsBy) {
  Process a = Start("a");
  const Process b = Start("b");
  AwaitHealth(a, true);
  AwaitHealth(b, true);
  a.controller->queue().Add("x");
  b.controller->queue().Add("x");
  a.controller->AwaitIdle();
  while (b.controller->queue().Len() < 1) {  // a worker gives it back
  }
  EXPECT_THAT(Reconciled(), testing::ElementsAre("x by a"));
  EXPECT_TRUE(a.controller->Stop());
  a.elector->Stop();
  b.controller->AwaitIdle();
  EXPECT_THAT(Reconciled(), testing::ElementsAre("x by b"));
}

TEST_P(LeaderElectionSourceTest, StandsByAfterALossUntilTheNextTerm) {
  const Process a = Start("a");
  AwaitHealth(a, true);
  Leave();
  Pass(absl::Seconds(5));
  AwaitHealth(a, false);
  EXPECT_THAT(std::string(a.controller->Healthy().message()),
              HasSubstr("leader election election: leader elector election: no "
                        "request has succeeded for "));
  a.controller->queue().Add("x");
  a.controller->AwaitIdle();
  EXPECT_EQ(Reconciled().size(), 1u) << "the lease lasts";
  Pass(absl::Seconds(6));
  EXPECT_FALSE(a.elector->IsLeader());
  a.controller->queue().Add("y");
  while (a.controller->queue().Len() < 1) {  // a worker gives it back
  }
  Return();
  Pass(absl::Seconds(5));
  a.controller->AwaitIdle();
  EXPECT_THAT(Reconciled(), testing::ElementsAre("y by a"));
  AwaitHealth(a, true);
}

TEST_P(LeaderElectionSourceTest, IsNotHealthyWithoutAnAnswer) {
  Leave();
  const Process a = Start("a");
  // Before, it was not since the elector had not been started.
  while (!absl::IsUnavailable(a.controller->Healthy())) {
  }
  EXPECT_EQ(a.elector->Healthy().code(), absl::StatusCode::kUnavailable);
}

TEST_P(LeaderElectionSourceTest, IsNotHealthyIfTheElectorHasEnded) {
  const Process a = Start("a", /*run_again=*/false);
  AwaitHealth(a, true);
  Leave();
  Pass(absl::Seconds(11));
  Return();
  Pass(absl::Seconds(11));
  while (!absl::IsCancelled(a.controller->Healthy())) {
  }
  EXPECT_THAT(std::string(a.controller->Healthy().message()),
              HasSubstr("has ended after its term"));
}

}  // namespace
}  // namespace workqueue::leader_election_source_test
