// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that a `LeaderElector` stops in time, on the real clock, whatever the
// server does.

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/redis_fixture.h"
#include "workqueue/clock/clock.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/testing/thread.h"

namespace workqueue::leader_elector_outage_test {
namespace {

// The bounds that `Stop()` promises, and what a busy machine may add: less than
// a `retry_period`, which is how long a request may take otherwise.
constexpr absl::Duration kIfItAnswered = absl::Milliseconds(1000 + 3000);
constexpr absl::Duration kIfItDidNot = absl::Milliseconds(100 + 3000);

absl::Time Now() { return Clock::GetRealClock()->TimeNow(); }

class LeaderElectorOutageTest : public RedisFixture {
 protected:
  LeaderElectorOptions Options() const {
    LeaderElectorOptions options;
    options.name = "election";
    options.redis.address = server()->socket_path();
    options.redis.connect_timeout = absl::Seconds(30);
    options.retry_period = absl::Seconds(5);
    options.on_started_leading = [](const Leadership& it) {
      it.WaitUntilStopping();
    };
    return options;
  }

  static std::unique_ptr<LeaderElector> Start(LeaderElectorOptions options) {
    auto elector = LeaderElector::Create(std::move(options));
    EXPECT_TRUE(elector.ok()) << elector.status();
    EXPECT_TRUE((*elector)->Start().ok());
    return *std::move(elector);
  }

  static std::unique_ptr<LeaderElector> Lead(LeaderElectorOptions options) {
    std::unique_ptr<LeaderElector> elector = Start(std::move(options));
    while (!elector->IsLeader()) {
    }
    return elector;
  }

  static void EndsWithin(absl::Duration bound, const std::function<void()>& f) {
    const absl::Time start = Now();
    f();
    EXPECT_LT(Now() - start, bound);
  }
};

TEST_F(LeaderElectorOutageTest, ALeaderOfAServerThatAnsweredStops) {
  const auto elector = Lead(Options());
  server()->Pause();
  EndsWithin(kIfItAnswered, [&] { elector->Stop(); });
  server()->Resume();
}

TEST_F(LeaderElectorOutageTest, ALeaderIsDestroyed) {
  auto elector = Lead(Options());
  server()->Pause();
  EndsWithin(kIfItAnswered, [&] { elector.reset(); });
  server()->Resume();
}

TEST_F(LeaderElectorOutageTest, AStandbyOfAServerThatNeverAnsweredStops) {
  server()->Pause();
  const auto elector = Start(Options());
  // The first request has begun.
  Clock::GetRealClock()->Sleep(absl::Milliseconds(200));
  EndsWithin(kIfItDidNot, [&] { elector->Stop(); });
  server()->Resume();
}

TEST_F(LeaderElectorOutageTest, ALeaderOfAServerThatDidNotAnswerStops) {
  LeaderElectorOptions options = Options();
  options.retry_period = absl::Seconds(4);
  const auto elector = Lead(options);
  server()->Pause();
  while (elector->Healthy().ok()) {
  }
  EndsWithin(kIfItDidNot, [&] { elector->Stop(); });
  server()->Resume();
}

TEST_F(LeaderElectorOutageTest, ALeaderOfAServerThatIsGoneStops) {
  const auto elector = Lead(Options());
  server()->Kill();
  EndsWithin(kIfItAnswered, [&] { elector->Stop(); });
}

// The time counts from the return of the callbacks.
TEST_F(LeaderElectorOutageTest, ACallbackMayTakeItsTime) {
  absl::Notification stopping;
  absl::Notification end;
  LeaderElectorOptions options = Options();
  options.on_started_leading = [&](const Leadership& it) {
    it.WaitUntilStopping();
    stopping.Notify();
    end.WaitForNotification();
  };
  const auto elector = Lead(options);
  Thread stop([&] { elector->Stop(); });
  stopping.WaitForNotification();
  EXPECT_TRUE(elector->IsLeader());
  server()->Pause();
  EndsWithin(kIfItAnswered, [&] {
    end.Notify();
    stop.join();
  });
  server()->Resume();
}

}  // namespace
}  // namespace workqueue::leader_elector_outage_test
