// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/leader_election/leader_elector.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/shared/election_fixture.h"
#include "test/workqueue/advanced_clock.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/leader_election/election.h"
#include "workqueue/leader_election/internal/leader_lease.h"
#include "workqueue/metrics.h"
#include "workqueue/shared/testing/memory_engine.h"
#include "workqueue/testing/thread.h"

namespace workqueue::leader_elector_test {
namespace {

using internal::Election;
using internal::LeaderLease;
using internal::MutexLock;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr absl::Duration kTick = absl::Nanoseconds(1);

// The calls of callbacks, in order.
class Events {
 public:
  void Add(std::string event) {
    MutexLock lock(&mu_);
    events_.push_back(std::move(event));
  }

  // Blocks until there are `n` events that are `event`.
  void Await(const std::string& event, int n = 1) const {
    MutexLock lock(&mu_);
    const auto there = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return std::count(events_.begin(), events_.end(), event) >= n;
    };
    mu_.Await(absl::Condition(&there));
  }

  std::vector<std::string> Get() const {
    MutexLock lock(&mu_);
    return events_;
  }

 private:
  mutable absl::Mutex mu_;
  std::vector<std::string> events_ ABSL_GUARDED_BY(mu_);
};

class LeaderElectorTest : public ElectionFixture {
 protected:
  // Options of an elector that leads until it is told to stop.
  LeaderElectorOptions Options(const std::string& identity) {
    LeaderElectorOptions options;
    options.name = "election";
    UseStore(&options);
    options.identity = identity;
    options.log_sink = &log_;
    options.on_started_leading = [this, identity](const Leadership& it) {
      events_.Add(identity + " leads");
      it.WaitUntilStopping();
    };
    options.on_stopped_leading = [this, identity] {
      events_.Add(identity + " stopped");
    };
    return options;
  }

  static std::unique_ptr<LeaderElector> Create(LeaderElectorOptions options) {
    auto elector = LeaderElector::Create(std::move(options));
    EXPECT_TRUE(elector.ok()) << elector.status();
    return *std::move(elector);
  }

  // Starts an elector, and waits for its first request.
  std::unique_ptr<LeaderElector> Start(LeaderElectorOptions options) {
    std::unique_ptr<LeaderElector> elector = Create(std::move(options));
    EXPECT_TRUE(elector->Start().ok());
    clock_.Step(absl::ZeroDuration());
    return elector;
  }
  std::unique_ptr<LeaderElector> Start(const std::string& identity) {
    return Start(Options(identity));
  }

  // Lets `d` pass, in steps in which each request comes in its time.
  void Pass(absl::Duration d, absl::Duration step = absl::Milliseconds(500)) {
    for (; d > absl::ZeroDuration(); d -= step) clock_.Step(std::min(d, step));
  }

  RecordingLog log_;
  Events events_;
};

INSTANTIATE_ELECTION_TESTS(LeaderElectorTest);

// These tests need a server, which not each program has.
using LeaderElectorServerTest = LeaderElectorTest;
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LeaderElectorServerTest);
INSTANTIATE_TEST_SUITE_P(Server, LeaderElectorServerTest,
                         testing::ValuesIn(TestElectionServers()));

TEST_P(LeaderElectorTest, OneOfTwoLeads) {
  const auto a = Start("a");
  const auto b = Start("b");
  events_.Await("a leads");
  EXPECT_TRUE(a->IsLeader());
  EXPECT_FALSE(b->IsLeader());
  EXPECT_GT(a->token(), 0);
  EXPECT_EQ(b->token(), 0);
  EXPECT_EQ(a->Leader(), "a");
  EXPECT_EQ(b->Leader(), "a");
  EXPECT_TRUE(a->Healthy().ok());
  EXPECT_TRUE(b->Healthy().ok());
}

TEST_P(LeaderElectorTest, RenewalsKeepTheLease) {
  const auto a = Start("a");
  const auto b = Start("b");
  const int64_t token = a->token();
  for (int i = 0; i < 200; ++i) {
    clock_.Step(absl::Milliseconds(500));
    ASSERT_TRUE(a->IsLeader());
    ASSERT_FALSE(b->IsLeader());
  }
  EXPECT_EQ(a->token(), token);
  events_.Await("a leads");
  EXPECT_EQ(events_.Get().size(), 1u);
}

TEST_P(LeaderElectorTest, StopHandsOverAtOnce) {
  const auto a = Start("a");
  const auto b = Start("b");
  events_.Await("a leads");
  const int64_t token = a->token();
  a->Stop();
  EXPECT_FALSE(a->IsLeader());
  EXPECT_EQ(a->Leader(), "");
  events_.Await("b leads");  // at the same time
  EXPECT_TRUE(b->IsLeader());
  EXPECT_EQ(b->token(), token + 1);
  EXPECT_THAT(events_.Get(), ElementsAre("a leads", "a stopped", "b leads"));
}

TEST_P(LeaderElectorTest, TheDestructorHandsOverAtOnce) {
  auto a = Start("a");
  const auto b = Start("b");
  a.reset();
  events_.Await("b leads");
}

TEST_P(LeaderElectorTest, WithoutReleaseTheOthersWaitForTheExpiry) {
  LeaderElectorOptions options = Options("a");
  options.release_on_stop = false;
  const auto a = Start(options);
  const auto b = Start("b");
  a->Stop();
  Pass(absl::Seconds(15) - kTick);
  EXPECT_FALSE(b->IsLeader());
  clock_.Step(kTick);  // when the lease ends, and not a retry_period later
  EXPECT_TRUE(b->IsLeader());
}

TEST_P(LeaderElectorTest, ALeaderWithoutAServerGivesUpAndAnotherTakesOver) {
  LeaderElectorOptions options = Options("a");
  options.run_again = false;
  std::atomic<bool> lost_in_callback{false};
  options.on_started_leading = [&](const Leadership& it) {
    events_.Add("a leads");
    it.WaitUntilStopping();
    lost_in_callback = it.Lost();
  };
  const auto a = Start(options);
  const auto b = Start("b");
  const int64_t token = a->token();
  Leave();
  Pass(absl::Seconds(10) - kTick);
  EXPECT_TRUE(a->IsLeader());
  EXPECT_FALSE(a->Healthy().ok());
  clock_.Step(kTick);
  EXPECT_FALSE(a->IsLeader());
  EXPECT_EQ(a->token(), 0);
  events_.Await("a stopped");
  EXPECT_TRUE(lost_in_callback);
  while (!absl::IsCancelled(a->Healthy())) {  // it has tried to release
  }

  Return();
  Pass(absl::Seconds(5) - kTick);
  EXPECT_FALSE(b->IsLeader());
  Pass(absl::Seconds(3));
  EXPECT_TRUE(b->IsLeader());
  EXPECT_GT(b->token(), token);
  EXPECT_FALSE(a->IsLeader());
  EXPECT_TRUE(b->Healthy().ok());
}

TEST_P(LeaderElectorServerTest, ALeaderGivesUpWhileTheServerDoesNotAnswer) {
  constexpr absl::Duration kPeriod = absl::Milliseconds(500);
  const auto start = [&](const char* name) {
    LeaderElectorOptions options = Options(name);
    // An attempt takes as long in real time. A server that is not paused must
    // answer in it, however busy the machine is.
    options.retry_period = kPeriod;
    options.renew_deadline = 5 * kPeriod;
    options.lease_duration = 7.5 * kPeriod;
    return Start(std::move(options));
  };
  const auto a = start("a");
  while (!a->IsLeader()) Pass(kPeriod / 2, kPeriod / 2);
  const auto b = start("b");
  EXPECT_TRUE(a->IsLeader());
  server()->Pause();
  Pass(5 * kPeriod - kTick, kPeriod / 2);
  EXPECT_TRUE(a->IsLeader());
  clock_.Step(kTick);
  EXPECT_FALSE(a->IsLeader());
  events_.Await("a stopped");
  server()->Resume();
  // Either leads now: what the server had received while it paused may have
  // renewed the lease.
  while (!a->IsLeader() && !b->IsLeader()) Pass(kPeriod / 2, kPeriod / 2);
  EXPECT_NE(a->IsLeader(), b->IsLeader());
}

TEST_P(LeaderElectorTest, ALeaderRenewsAgainWhenTheServerIsBack) {
  const auto a = Start("a");
  const int64_t token = a->token();
  Leave();
  Pass(absl::Seconds(7));
  Return();
  Pass(absl::Seconds(20));
  EXPECT_TRUE(a->IsLeader());
  EXPECT_EQ(a->token(), token);
}

TEST_P(LeaderElectorTest, TakesPartAgainAfterALoss) {
  const auto a = Start("a");
  const int64_t token = a->token();
  Leave();
  Pass(absl::Seconds(11));
  events_.Await("a stopped");
  Return();
  Pass(absl::Seconds(3));
  events_.Await("a leads", 2);
  EXPECT_TRUE(a->IsLeader());
  EXPECT_GT(a->token(), token);
}

TEST_P(LeaderElectorTest, EndsAfterALossIfItIsTold) {
  LeaderElectorOptions options = Options("a");
  options.run_again = false;
  const auto a = Start(options);
  Leave();
  Pass(absl::Seconds(11));
  events_.Await("a stopped");
  Return();
  Pass(absl::Minutes(1));
  EXPECT_FALSE(a->IsLeader());
  a->Stop();
  EXPECT_THAT(events_.Get(), ElementsAre("a leads", "a stopped"));
}

TEST_P(LeaderElectorTest, LooksOnWhileTheCallbackOfALostTermRuns) {
  absl::Notification end;
  LeaderElectorOptions options = Options("a");
  options.run_again = false;
  options.on_started_leading = [&](const Leadership& it) {
    events_.Add("a leads");
    end.WaitForNotification();
    EXPECT_TRUE(it.Lost());
  };
  const auto a = Start(options);
  events_.Await("a leads");
  Leave();
  Pass(absl::Seconds(11));
  EXPECT_FALSE(a->IsLeader());
  Return();
  Pass(absl::Seconds(10));
  EXPECT_EQ(a->Leader(), "");
  EXPECT_FALSE(a->IsLeader());  // it could, but for the callback
  const auto b = Start("b");
  Pass(absl::Seconds(3));
  EXPECT_EQ(a->Leader(), "b");
  end.Notify();
  events_.Await("a stopped");
}

TEST_P(LeaderElectorTest, ALeaderWhoseLeaseIsGoneHasLost) {
  LeaderElectorOptions options = Options("a");
  options.clock_is_the_servers = false;
  const auto a = Start(options);
  const int64_t token = a->token();
  events_.Await("a leads");
  LoseData();
  clock_.Step(absl::Seconds(2));
  events_.Await("a stopped");
  events_.Await("a leads", 2);
  // Although the server does not know the last one any more.
  EXPECT_GT(a->token(), token);
}

TEST_P(LeaderElectorTest, TokensGrowWithEachTerm) {
  int64_t last = 0;
  for (int i = 0; i < 5; ++i) {
    const auto a = Start(absl::StrCat("a", i));
    ASSERT_GT(a->token(), last);
    last = a->token();
  }
}

TEST_P(LeaderElectorTest, TheCallbackGetsTheToken) {
  LeaderElectorOptions options = Options("a");
  absl::Notification called;
  int64_t token = 0;
  options.on_started_leading = [&](const Leadership& it) {
    EXPECT_FALSE(it.Lost());
    EXPECT_FALSE(it.Stopping());
    token = it.token();
    called.Notify();
  };
  const auto a = Start(options);
  called.WaitForNotification();
  EXPECT_EQ(a->token(), token);
  // It returned early, and still leads.
  Pass(absl::Minutes(1));
  EXPECT_EQ(a->token(), token);
  EXPECT_THAT(events_.Get(), ElementsAre());
  a->Stop();
  EXPECT_THAT(events_.Get(), ElementsAre("a stopped"));
}

TEST_P(LeaderElectorTest, LeadsWithoutCallbacks) {
  LeaderElectorOptions options;
  options.name = "election";
  UseStore(&options);
  const auto a = Start(options);
  EXPECT_TRUE(a->IsLeader());
  EXPECT_EQ(a->Leader(), a->identity());
  const auto b = Start(options);
  EXPECT_NE(a->identity(), b->identity());
  EXPECT_FALSE(b->IsLeader());
}

TEST_P(LeaderElectorTest, SleepEndsWithItsTimeOrWithTheTerm) {
  LeaderElectorOptions options = Options("a");
  options.on_started_leading = [&](const Leadership& it) {
    EXPECT_TRUE(it.Sleep(absl::ZeroDuration()));
    EXPECT_TRUE(it.Sleep(-absl::Seconds(1)));
    events_.Add("sleeps");
    // Longer than renew_deadline.
    events_.Add(it.Sleep(absl::Seconds(30)) ? "slept" : "woken");
    events_.Add(it.Sleep(absl::Seconds(30)) ? "slept" : "woken");
  };
  const auto a = Start(options);
  events_.Await("sleeps");
  clock_.AwaitWaiters(2);  // the elector's thread and the callback
  Pass(absl::Seconds(30) - kTick);
  EXPECT_THAT(events_.Get(), ElementsAre("sleeps"));
  clock_.Step(kTick);
  events_.Await("slept");
  a->Stop();
  EXPECT_THAT(events_.Get(),
              ElementsAre("sleeps", "slept", "woken", "a stopped"));
}

TEST_P(LeaderElectorTest, KeepsTheLeaseUntilTheCallbacksHaveReturned) {
  absl::Notification go_on;
  LeaderElectorOptions options = Options("a");
  options.on_started_leading = [&](const Leadership& it) {
    it.WaitUntilStopping();
    events_.Add("winds up");
    go_on.WaitForNotification();
    EXPECT_TRUE(it.Stopping());
    EXPECT_FALSE(it.Lost());
  };
  const auto a = Start(options);
  const auto b = Start("b");
  Thread stop([&] { a->Stop(); });
  events_.Await("winds up");
  Pass(absl::Minutes(1));
  EXPECT_TRUE(a->IsLeader());
  EXPECT_FALSE(b->IsLeader());
  go_on.Notify();
  stop.join();
  events_.Await("b leads");
  EXPECT_THAT(events_.Get(), ElementsAre("winds up", "a stopped", "b leads"));
}

TEST_P(LeaderElectorTest, CallbacksComeInOrder) {
  const auto with_new_leader = [this](const std::string& identity) {
    LeaderElectorOptions options = Options(identity);
    options.on_new_leader = [this, identity](const std::string& leader) {
      events_.Add(absl::StrCat(identity, " sees ", leader));
    };
    return options;
  };
  const auto a = Start(with_new_leader("a"));
  events_.Await("a leads");
  const auto b = Start(with_new_leader("b"));
  Pass(absl::Seconds(10));
  a->Stop();
  events_.Await("b leads");
  Pass(absl::Seconds(10));
  b->Stop();
  EXPECT_THAT(events_.Get(),
              ElementsAre("a sees a", "a leads", "b sees a", "a stopped",
                          "b sees b", "b leads", "b stopped"));
}

TEST_P(LeaderElectorTest, ACallbackMayStop) {
  LeaderElectorOptions options = Options("a");
  LeaderElector* self = nullptr;
  options.on_started_leading = [&](const Leadership& it) {
    self->Stop();
    EXPECT_TRUE(it.Stopping());
    EXPECT_TRUE(self->IsLeader());
  };
  const auto a = Create(options);
  self = a.get();
  ASSERT_TRUE(a->Start().ok());
  events_.Await("a stopped");
  const auto b = Start("b");
  events_.Await("b leads");
  EXPECT_FALSE(a->IsLeader());
}

TEST_P(LeaderElectorTest, OnNewLeaderMayStop) {
  LeaderElectorOptions options = Options("a");
  LeaderElector* self = nullptr;
  options.on_new_leader = [&](const std::string&) { self->Stop(); };
  const auto a = Create(options);
  self = a.get();
  ASSERT_TRUE(a->Start().ok());
  const auto b = Start("b");  // what a had got was released
  events_.Await("b leads");
  a->Stop();
  EXPECT_THAT(events_.Get(), ElementsAre("b leads"));
}

#ifdef ABSL_HAVE_EXCEPTIONS
TEST_P(LeaderElectorTest, CallbacksMayThrow) {
  LeaderElectorOptions options = Options("a");
  options.on_started_leading = [](const Leadership&) {
    throw std::runtime_error("no start");
  };
  options.on_stopped_leading = [] { throw std::runtime_error("no stop"); };
  options.on_new_leader = [](const std::string&) {
    throw std::runtime_error("no news");
  };
  const auto a = Start(options);
  a->Stop();
  EXPECT_THAT(log_.messages(),
              testing::IsSupersetOf(
                  {HasSubstr("on_new_leader: INTERNAL: no news"),
                   HasSubstr("on_started_leading: INTERNAL: no sta"),
                   HasSubstr("on_stopped_leading: INTERNAL: no st")}));
}

TEST_P(LeaderElectorTest, ALeaderThatFailsToStartLeadsNoMore) {
  LeaderElectorOptions options = Options("a");
  std::atomic<int> starts{0};
  options.on_started_leading = [&](const Leadership& it) {
    if (++starts < 3) throw std::runtime_error("no start");
    events_.Add("a leads");
    it.WaitUntilStopping();
  };
  const auto a = Start(options);
  events_.Await("a stopped");
  EXPECT_FALSE(a->IsLeader());
  EXPECT_EQ(a->token(), 0);
  EXPECT_EQ(a->Healthy().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(a->Healthy().message()),
              HasSubstr("on_started_leading: no start"));
  // Others lead at once. Without one, it is tried again in time.
  auto b = Start("b");
  events_.Await("b leads");
  Pass(absl::Seconds(10));
  EXPECT_EQ(starts, 1);
  EXPECT_FALSE(a->Healthy().ok()) << "whatever its requests return";
  b.reset();
  events_.Await("a stopped", 2);
  EXPECT_EQ(starts, 2);
  while (!a->Leader().empty()) {  // it gives the lease up
  }
  Pass(absl::Seconds(3));
  events_.Await("a leads");
  EXPECT_TRUE(a->IsLeader());
  EXPECT_TRUE(a->Healthy().ok());
}

TEST_P(LeaderElectorTest, ALeaderThatFailsToStartEndsIfItIsTold) {
  LeaderElectorOptions options = Options("a");
  options.run_again = false;
  options.on_started_leading = [](const Leadership&) {
    throw std::runtime_error("no start");
  };
  const auto a = Start(options);
  events_.Await("a stopped");
  Pass(absl::Seconds(30));
  EXPECT_FALSE(a->IsLeader());
  EXPECT_FALSE(a->Healthy().ok());
  EXPECT_THAT(events_.Get(), ElementsAre("a stopped"));
  const auto b = Start("b");
  events_.Await("b leads");
}
#endif

TEST_P(LeaderElectorTest, StartsOnce) {
  const auto a = Start("a");
  EXPECT_EQ(a->Start().code(), absl::StatusCode::kFailedPrecondition);
  a->Stop();
  a->Stop();
  EXPECT_EQ(a->Start().code(), absl::StatusCode::kFailedPrecondition);
  const auto b = Create(Options("b"));
  b->Stop();
  EXPECT_EQ(b->Start().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(b->IsLeader());
}

TEST_P(LeaderElectorTest, LeadsWhenTheServerComes) {
  Leave();
  const auto a = Start("a");
  Pass(absl::Seconds(10));
  EXPECT_FALSE(a->IsLeader());
  EXPECT_EQ(a->Healthy().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(log_.messages(), Contains(HasSubstr("a request failed")));
  Return();
  Pass(absl::Seconds(3));
  EXPECT_TRUE(a->IsLeader());
}

class LeaderMetrics final : public LeaderElectionMetricsProvider {
 public:
  std::unique_ptr<SettableGaugeMetric> NewLeaderMetric(
      absl::string_view name) override {
    class Gauge final : public SettableGaugeMetric {
     public:
      explicit Gauge(std::atomic<double>* value) : value_(*value) {}
      void Set(double value) override { value_ = value; }

     private:
      std::atomic<double>& value_;
    };
    EXPECT_EQ(name, "election");
    return std::make_unique<Gauge>(&value_);
  }

  double value() const { return value_; }

 private:
  std::atomic<double> value_{-1};
};

TEST_P(LeaderElectorTest, TheMetricSaysWhetherItLeads) {
  LeaderMetrics metrics_of_a;
  LeaderMetrics metrics_of_b;
  LeaderElectorOptions options = Options("a");
  options.metrics_provider = &metrics_of_a;
  const auto a = Create(options);
  EXPECT_EQ(metrics_of_a.value(), 0);
  ASSERT_TRUE(a->Start().ok());
  clock_.Step(absl::ZeroDuration());
  EXPECT_EQ(metrics_of_a.value(), 1);
  options = Options("b");
  options.metrics_provider = &metrics_of_b;
  const auto b = Start(options);
  EXPECT_EQ(metrics_of_b.value(), 0);
  a->Stop();
  EXPECT_EQ(metrics_of_a.value(), 0);
  events_.Await("b leads");
  clock_.Step(absl::ZeroDuration());
  EXPECT_EQ(metrics_of_b.value(), 1);
  Leave();
  Pass(absl::Seconds(11));
  EXPECT_EQ(metrics_of_b.value(), 0) << "the lease is lost";
}

TEST_P(LeaderElectorTest, ListenersHearOfTermsAndOutages) {
  const auto a = Create(Options("a"));
  std::vector<std::string> heard;
  const int64_t id = a->AddListener([&] {
    std::string now =
        absl::StrCat(a->token() > 0 ? "leads" : "stands by",
                     a->Healthy().ok() ? "" : ", without an answer");
    if (heard.empty() || heard.back() != now) heard.push_back(std::move(now));
  });
  const int64_t deaf = a->AddListener([] { ADD_FAILURE() << "is removed"; });
  a->RemoveListener(deaf);
  ASSERT_TRUE(a->Start().ok());
  clock_.Step(absl::ZeroDuration());
  events_.Await("a leads");
  Leave();
  Pass(absl::Seconds(11));
  events_.Await("a stopped");
  clock_.Step(absl::ZeroDuration());
  a->RemoveListener(id);
  EXPECT_THAT(heard, ElementsAre("stands by, without an answer", "leads",
                                 "leads, without an answer",
                                 "stands by, without an answer"));
}

TEST_P(LeaderElectorTest, SaysSinceWhenTheServerIsAway) {
  Leave();
  const auto a = Start("a");
  Pass(absl::Seconds(3));
  EXPECT_THAT(std::string(a->Healthy().message()),
              testing::StartsWith("leader elector election: no request has "
                                  "succeeded for 3s, since the start: "));
  Return();
  Pass(absl::Seconds(3));
  EXPECT_TRUE(a->Healthy().ok());
  Leave();
  clock_.Step(absl::Minutes(1));
  EXPECT_EQ(a->Healthy().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(a->Healthy().message()),
              testing::StartsWith("leader elector election: no request has "
                                  "succeeded for 1m"));
}

TEST_P(LeaderElectorTest, IsNotHealthyUnlessItTakesPart) {
  LeaderElectorOptions options = Options("a");
  options.run_again = false;
  const auto a = Create(options);
  EXPECT_EQ(a->Healthy().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(a->Start().ok());
  clock_.Step(absl::ZeroDuration());
  EXPECT_TRUE(a->Healthy().ok());
  events_.Await("a leads");
  LoseData();
  Pass(absl::Seconds(3));
  events_.Await("a stopped");
  while (a->Healthy().ok()) {  // until the elector has seen it
  }
  EXPECT_EQ(a->Healthy().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(a->Healthy().message()),
              HasSubstr("has ended after its term"));
  const auto b = Start("b");
  events_.Await("b leads");
  b->Stop();
  EXPECT_EQ(b->Healthy().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(b->Healthy().message()),
              HasSubstr("has been stopped"));
}

TEST_P(LeaderElectorServerTest, RefusesAnotherLayout) {
  Send({"HSET", internal::LeaderKey("election"), "version", "77"});
  const auto a = Start("a");
  EXPECT_FALSE(a->IsLeader());
  EXPECT_EQ(a->Healthy().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(a->Healthy().message()),
              HasSubstr("they have layout 77"));
  EXPECT_THAT(log_.messages(), Contains(HasSubstr("they have layout 77")));
}

// Two with one identity, as after an error in a configuration.
TEST_P(LeaderElectorTest, EqualIdentitiesDoNotLeadAtTheSameTime) {
  const auto a = Start("a");
  const auto also_a = Start("a");
  Pass(absl::Minutes(1));
  EXPECT_TRUE(a->IsLeader());
  EXPECT_FALSE(also_a->IsLeader());
}

TEST_P(LeaderElectorTest, ElectionsHaveTheirNames) {
  const auto a = Start("a");
  LeaderElectorOptions options = Options("b");
  options.name = "another";
  const auto b = Start(options);
  EXPECT_TRUE(a->IsLeader());
  EXPECT_TRUE(b->IsLeader());
}

TEST_P(LeaderElectorTest, TimeCountsFromBeforeTheRequest) {
  AdvancedClock clock;
  LeaderElectorOptions options = Options("a");
  options.clock = &clock;
  options.clock_is_the_servers = false;
  absl::Notification seen;
  options.on_new_leader = [&](const std::string& identity) {
    EXPECT_EQ(identity, "a");
    clock.Advance(absl::Seconds(10));  // as if the reply had taken as long
    Leave();                           // It is the last one.
    seen.Notify();
  };
  options.release_on_stop = false;
  const auto a = Create(options);
  ASSERT_TRUE(a->Start().ok());
  seen.WaitForNotification();
  EXPECT_FALSE(a->IsLeader());
  a->Stop();
  EXPECT_THAT(events_.Get(), ElementsAre());
}

TEST_P(LeaderElectorTest, RefusesWrongOptions) {
  const auto error = [&](const std::function<void(LeaderElectorOptions*)>& f) {
    LeaderElectorOptions options;
    options.name = "election";
    f(&options);
    const auto elector = LeaderElector::Create(options);
    EXPECT_EQ(elector.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(elector.status().message());
  };
  using O = LeaderElectorOptions;
  EXPECT_EQ(error([](O* o) { o->name = ""; }),
            "name is empty; an election needs one");
  EXPECT_EQ(error([](O* o) { o->name = "a{b"; }),
            "name is \"a{b\"; it must not contain '{' or '}'");
  EXPECT_THAT(error([](O* o) { o->redis.address = "nowhere"; }),
              HasSubstr("address is \"nowhere\""));
  EXPECT_EQ(error([](O* o) { o->lease_duration = absl::Seconds(10); }),
            "lease_duration is 10s; it must be more than renew_deadline, which "
            "is 10s");
  EXPECT_EQ(error([](O* o) { o->renew_deadline = absl::Milliseconds(2400); }),
            "renew_deadline is 2.4s; it must be more than 1.2 times "
            "retry_period, which is 2s");
  EXPECT_EQ(error([](O* o) { o->retry_period = absl::ZeroDuration(); }),
            "retry_period is 0; it must be finite and positive");
  EXPECT_EQ(error([](O* o) { o->renew_deadline = -absl::Seconds(1); }),
            "renew_deadline is -1s; it must be finite and positive");
  EXPECT_EQ(error([](O* o) { o->lease_duration = absl::InfiniteDuration(); }),
            "lease_duration is inf; it must be finite and positive");
  EXPECT_THAT(
      error([](O* o) { o->lease_duration = absl::Hours(24) * 365 * 1000; }),
      HasSubstr("it must be less than 100 years"));
}

// The promises of an `Election`, with the store's clock in the test's hand.
class ElectionTest : public LeaderElectorTest {
 protected:
  std::unique_ptr<Election> Lease(const std::string& identity,
                                  internal::ElectionSource* source) {
    LeaderLease::Options options;
    options.name = "election";
    options.identity = identity;
    options.duration = absl::Seconds(15);
    options.timeout = absl::Seconds(20);
    if (source != nullptr) return source->NewElection(options);
    options.redis = Server();
    options.clock = &clock_;
    return std::make_unique<LeaderLease>(options);
  }
  std::unique_ptr<Election> Lease(const std::string& identity) {
    return Lease(identity, in_server() ? nullptr : source());
  }

  void SetTime(int seconds) { clock_.SetTime(absl::FromUnixSeconds(seconds)); }
};

INSTANTIATE_ELECTION_TESTS(ElectionTest);

using ElectionServerTest = ElectionTest;
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ElectionServerTest);
INSTANTIATE_TEST_SUITE_P(Server, ElectionServerTest,
                         testing::ValuesIn(TestElectionServers()));

TEST_P(ElectionTest, AnotherOneTakesTheLeaseWhenItEnds) {
  const auto a = Lease("a");
  const auto b = Lease("b");
  ASSERT_TRUE(a->Take()->done);
  clock_.Step(absl::Seconds(15) - kTick);
  const auto refused = b->Take();
  EXPECT_FALSE(refused->done);
  EXPECT_EQ(refused->holder, "a");
  EXPECT_EQ(refused->remaining, kTick);
  clock_.Step(kTick);
  EXPECT_TRUE(b->Take()->done);
  EXPECT_FALSE(a->Take()->done);
}

TEST_P(ElectionTest, ALeaseWhoseTokenWasLostIsTakenAgain) {
  const auto a = Lease("a");
  const int64_t lost = a->Take()->token;
  clock_.Step(absl::Seconds(1));
  const auto taken = a->Take();
  EXPECT_TRUE(taken->done);
  EXPECT_GT(taken->token, lost);
  EXPECT_EQ(taken->remaining, absl::Seconds(15));
}

TEST_P(ElectionTest, EqualIdentitiesAreTwo) {
  const auto a = Lease("a");
  const auto also_a = Lease("a");
  const int64_t token = a->Take()->token;
  EXPECT_FALSE(also_a->Take()->done);
  EXPECT_FALSE(also_a->Renew(token, absl::Seconds(20))->done);
  EXPECT_FALSE(also_a->Release(token, absl::Seconds(20))->done);
}

TEST_P(ElectionTest, TokensGrowAfterALoss) {
  const auto a = Lease("a");
  const auto b = Lease("b");
  SetTime(100);
  const int64_t token = a->Take()->token;
  EXPECT_GE(token, absl::ToUnixNanos(clock_.TimeNow()));
  LoseData();
  clock_.Step(absl::Seconds(1));
  EXPECT_FALSE(a->Renew(token, absl::Seconds(20))->done);
  EXPECT_GT(b->Take()->token, token);
}

TEST_P(ElectionTest, AReleaseIsHeard) {
  const auto a = Lease("a");
  const auto b = Lease("b");
  const auto denied = [](const absl::Status& why) { ADD_FAILURE() << why; };
  ASSERT_TRUE(b->Listen([this] { events_.Add("heard"); }, denied).ok());
  int heard = in_server() ? 1 : 0;
  events_.Await("heard", heard);  // A server tells when it begins to listen.
  ASSERT_TRUE(a->Release(a->Take()->token, absl::Seconds(20))->done);
  events_.Await("heard", ++heard);
  Leave();
  Return();
  events_.Await("heard", ++heard);
  b->StopListening();
}

// All stores do the same.
TEST_P(ElectionTest, DoesWhatTheOneInMemoryDoes) {
  MemoryEngine memory_engine(&clock_);
  std::mt19937 random(1);
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  std::vector<std::unique_ptr<Election>> in_store, in_memory;
  for (const char* identity : {"a", "b", "b"}) {
    in_store.push_back(Lease(identity));
    in_memory.push_back(Lease(identity, &memory_engine));
  }
  int64_t token = 0;
  SetTime(100000);
  for (int step = 0; step < 2000; ++step) {
    SCOPED_TRACE(step);
    clock_.Step(absl::Seconds(below(20) == 0 ? below(40) - 20 : below(6)));
    const int call = below(4);
    const int64_t given = below(8) == 0 ? token - 1 : token;
    const auto make = [&](Election& election) {
      switch (call) {
        case 0:
          return election.Take();
        case 1:
          return election.Look();
        case 2:
          return election.Release(given, absl::Seconds(20));
        default:
          return election.Renew(given, absl::Seconds(20));
      }
    };
    const int elector = below(3);
    const auto store = make(*in_store[elector]);
    const auto memory = make(*in_memory[elector]);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE(memory.ok()) << memory.status();
    ASSERT_EQ(store->done, memory->done);
    ASSERT_EQ(store->token, memory->token);
    ASSERT_EQ(store->holder, memory->holder);
    ASSERT_EQ(store->remaining, memory->remaining);
    token = store->token;
  }
}

TEST_P(ElectionTest, TheStoresClockMayGoBack) {
  const auto a = Lease("a");
  const auto b = Lease("b");
  SetTime(1000);
  ASSERT_TRUE(a->Take()->done);
  SetTime(1010);
  EXPECT_EQ(b->Take()->remaining, absl::Seconds(5));
  SetTime(500);
  // As it was at the last renewal, and goes on from there.
  EXPECT_EQ(b->Look()->remaining, absl::Seconds(15));
  EXPECT_EQ(b->Take()->remaining, absl::Seconds(15));
  SetTime(510);
  EXPECT_EQ(b->Take()->remaining, absl::Seconds(5));
  EXPECT_FALSE(b->Take()->done);
  SetTime(515);
  EXPECT_TRUE(b->Take()->done);
  SetTime(400);
  EXPECT_EQ(a->Take()->remaining, absl::Seconds(15));
  EXPECT_EQ(a->Take()->holder, "b");
}

TEST_P(ElectionTest, OnlyTheHolderOfTheTokenRenewsAndReleases) {
  const auto a = Lease("a");
  const auto b = Lease("b");
  const int64_t first = a->Take()->token;
  const int64_t token = a->Take()->token;  // as if the first reply was lost
  EXPECT_EQ(token, first + 1);
  EXPECT_FALSE(a->Renew(first, absl::Seconds(20))->done);
  EXPECT_FALSE(b->Renew(token, absl::Seconds(20))->done);
  EXPECT_FALSE(a->Release(first, absl::Seconds(20))->done);
  EXPECT_FALSE(b->Release(token, absl::Seconds(20))->done);
  EXPECT_TRUE(a->Renew(token, absl::Seconds(20))->done);
  EXPECT_TRUE(a->Release(token, absl::Seconds(20))->done);
  EXPECT_FALSE(a->Renew(token, absl::Seconds(20))->done);
  EXPECT_FALSE(a->Release(token, absl::Seconds(20))->done);
  const auto taken = b->Take();
  EXPECT_TRUE(taken->done);
  EXPECT_EQ(taken->token, token + 1);
  EXPECT_EQ(taken->holder, "b");
  EXPECT_EQ(taken->remaining, absl::Seconds(15));
}

TEST_P(ElectionTest, AnExpiredLeaseThatNobodyTookCanBeRenewed) {
  const auto a = Lease("a");
  const auto b = Lease("b");
  const int64_t token = a->Take()->token;
  SetTime(15);
  EXPECT_EQ(b->Look()->holder, "");
  EXPECT_TRUE(a->Renew(token, absl::Seconds(20))->done);
  EXPECT_FALSE(b->Take()->done);
  SetTime(30);
  EXPECT_TRUE(b->Take()->done);
  EXPECT_FALSE(a->Renew(token, absl::Seconds(20))->done);
}

TEST_P(ElectionServerTest, TokensGrowAfterALossOfAPartOfTheData) {
  const std::string key = internal::LeaderKey("election");
  int now = 100;
  SetTime(now);
  const auto a = Lease("a");
  int64_t last = a->Take()->token;
  for (const char* field : {"token", "time", "expiry", "owner", "offset"}) {
    Send({"HDEL", key, field});
    SetTime(now += 20);
    const auto taken = a->Take();
    ASSERT_TRUE(taken.ok()) << taken.status();
    EXPECT_GT(taken->token, last) << field;
    last = taken->token;
  }
}

TEST_P(ElectionServerTest, TokensGrowAfterALossOfTheLatestPart) {
  const std::string key = internal::LeaderKey("election");
  const std::string copy = absl::StrCat(key, " copy");
  const auto a = Lease("a");
  const auto b = Lease("b");
  SetTime(100);
  ASSERT_TRUE(a->Take()->done);
  Send({"COPY", key, copy});
  SetTime(120);
  const auto lost = b->Take();
  ASSERT_TRUE(lost->done);
  Send({"RENAME", copy, key});
  SetTime(121);
  const auto taken = a->Take();
  EXPECT_TRUE(taken->done);
  EXPECT_GT(taken->token, lost->token);
  EXPECT_FALSE(b->Renew(lost->token, absl::Seconds(20))->done);
}

TEST_P(ElectionTest, SurvivesARestart) {
  const auto a = Lease("a");
  const int64_t token = a->Take()->token;
  Leave();
  Return();
  const auto renewed = a->Renew(token, absl::Seconds(20));
  ASSERT_TRUE(renewed.ok()) << renewed.status();  // on a new connection
  EXPECT_TRUE(renewed->done);
}

TEST_P(ElectionServerTest, ReleasesWithoutTheRightToPublish) {
  Send({"ACL", "SETUSER", "mute", "on", ">secret", "~*", "+@all",
        "resetchannels"});
  LeaderLease::Options options;
  options.name = "election";
  options.redis = Server();
  options.redis.username = "mute";
  options.redis.password = "secret";
  options.identity = "a";
  options.duration = absl::Seconds(15);
  options.timeout = absl::Seconds(20);
  LeaderLease lease(options);
  const auto taken = lease.Take();
  ASSERT_TRUE(taken.ok()) << taken.status();
  const auto released = lease.Release(taken->token, absl::Seconds(20));
  ASSERT_TRUE(released.ok()) << released.status();
  EXPECT_TRUE(released->done);
}

// A store that several leaders write to.
class Store {
 public:
  // Writes as the leader `it`. If a later leader has written before, `it` must
  // have lost.
  void Write(const Leadership& it) {
    MutexLock lock(&mu_);
    if (largest_ > it.token()) {
      EXPECT_TRUE(it.Lost())
          << it.token() << " led at the same time as " << largest_;
      return;
    }
    largest_ = it.token();
    ++writes_;
  }

  int writes() const {
    MutexLock lock(&mu_);
    return writes_;
  }
  int64_t largest() const {
    MutexLock lock(&mu_);
    return largest_;
  }

 private:
  mutable absl::Mutex mu_;
  int64_t largest_ ABSL_GUARDED_BY(mu_) = 0;
  int writes_ ABSL_GUARDED_BY(mu_) = 0;
};

// In real time. Electors start, stop, and lose their server.
TEST_P(LeaderElectorServerTest, NoTwoLeadAtTheSameTime) {
  Store store;
  std::atomic<bool> over{false};
  std::vector<Thread> processes;
  for (int i = 0; i < 4; ++i) {
    processes.emplace_back([&, i] {
      for (int life = 0; !over; ++life) {
        std::atomic<int> writes{0};
        LeaderElectorOptions options = Options(absl::StrCat(i, " ", life));
        options.clock = nullptr;
        options.clock_is_the_servers = false;
        options.lease_duration = absl::Milliseconds(600);
        options.renew_deadline = absl::Milliseconds(400);
        // A request that takes longer on a slow disk has failed.
        options.retry_period = absl::Milliseconds(80);
        options.release_on_stop = i != 0;
        options.on_started_leading = [&](const Leadership& it) {
          do {
            store.Write(it);
            ++writes;
          } while (it.Sleep(absl::Milliseconds(1)));
        };
        const auto elector = Create(options);
        EXPECT_TRUE(elector->Start().ok());
        while (!over && writes < 30) {
          Clock::GetRealClock()->Sleep(absl::Milliseconds(5));
        }
      }
    });
  }
  for (int i = 0; i < 6; ++i) {
    Clock::GetRealClock()->Sleep(absl::Milliseconds(1200));
    if (i % 2 == 0) {
      EXPECT_TRUE(server()->Restart().ok());
    } else {
      server()->Pause();
      Clock::GetRealClock()->Sleep(absl::Milliseconds(600));
      server()->Resume();
    }
  }
  const int64_t largest = store.largest();
  while (store.largest() == largest) {  // they lead again
    Clock::GetRealClock()->Sleep(absl::Milliseconds(5));
  }
  over = true;
  for (Thread& process : processes) process.join();
  EXPECT_GT(store.writes(), 30);
}

}  // namespace
}  // namespace workqueue::leader_elector_test
