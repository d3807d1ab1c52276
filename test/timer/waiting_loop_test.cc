// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/waiting_loop.h"

#include <atomic>
#include <functional>
#include <memory>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/observed_clock.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/testing/thread.h"

namespace workqueue::waiting_loop_test {
namespace {

using internal::MutexLock;

const absl::Time kStart = absl::FromUnixSeconds(1000);

constexpr absl::Duration kNs = absl::Nanoseconds(1);
constexpr absl::Duration kHeartbeat = WaitingLoop::Heartbeat();

// Records the times of its runs, and calls a function in each run.
class TestClient final : public WaitingLoop::Client {
 public:
  using Function = std::function<absl::Time(absl::Time)>;

  explicit TestClient(Function function =
                          [](absl::Time) { return absl::InfiniteFuture(); })
      : function_(std::move(function)) {}

  absl::Time Run(absl::Time now) override {
    {
      MutexLock lock(&mu_);
      runs_.push_back(now);
    }
    return function_(now);
  }

  std::vector<absl::Time> runs() const {
    MutexLock lock(&mu_);
    return runs_;
  }

  int run_count() const { return static_cast<int>(runs().size()); }

 private:
  Function function_;
  mutable absl::Mutex mu_;
  std::vector<absl::Time> runs_ ABSL_GUARDED_BY(mu_);
};

// Returns a function of a client that runs every `period`.
TestClient::Function Each(absl::Duration period) {
  return [period](absl::Time now) { return now + period; };
}

class WaitingLoopTest : public testing::Test {
 protected:
  // Returns when the loop has done everything that it was asked to do.
  void Settle() { clock_.Step(absl::ZeroDuration()); }

  FakeClock clock_{kStart};
  WaitingLoop loop_{&clock_};
};

TEST_F(WaitingLoopTest, TellsItsClock) {
  EXPECT_EQ(loop_.clock(), &clock_);
  EXPECT_EQ(WaitingLoop(nullptr).clock(), Clock::GetRealClock());
}

TEST_F(WaitingLoopTest, StartsAndEndsWithNothingToDo) {
  Settle();
  clock_.Step(absl::Hours(1));
}

TEST(WaitingLoopLifeTest, EndsRightAfterItStarted) {
  for (int i = 0; i < 100; ++i) {
    FakeClock clock(kStart);
    WaitingLoop loop(&clock);
  }
  for (int i = 0; i < 100; ++i) WaitingLoop loop(Clock::GetRealClock());
}

TEST(WaitingLoopLifeTest, NobodyWaitsOnTheClockAfterwards) {
  FakeClock clock(kStart);
  { WaitingLoop loop(&clock); }
  EXPECT_FALSE(clock.HasWaiters());
  clock.Step(absl::Hours(1));  // It waits for no loop.
}

TEST_F(WaitingLoopTest, RunsAClientThatIsAdded) {
  TestClient client;
  loop_.Add(&client);
  Settle();
  EXPECT_EQ(client.runs(), std::vector<absl::Time>{kStart});
  loop_.Remove(&client);
}

TEST_F(WaitingLoopTest, WakingAClientThatWasNeverAddedDoesNothing) {
  TestClient client;
  Settle();  // The loop sleeps, and has never had a client.
  loop_.Wake(&client);
  Settle();
  EXPECT_EQ(client.run_count(), 0);
}

TEST_F(WaitingLoopTest, RunsAClientWhenItAskedFor) {
  TestClient client(Each(absl::Seconds(3)));
  loop_.Add(&client);
  Settle();
  ASSERT_EQ(client.run_count(), 1);
  clock_.Step(absl::Seconds(3) - kNs);
  EXPECT_EQ(client.run_count(), 1);
  clock_.Step(kNs);
  EXPECT_EQ(client.run_count(), 2);
  clock_.Step(absl::Seconds(3));
  EXPECT_EQ(client.runs(),
            (std::vector<absl::Time>{kStart, kStart + absl::Seconds(3),
                                     kStart + absl::Seconds(6)}));
  loop_.Remove(&client);
}

TEST_F(WaitingLoopTest, AStepOverSeveralTimesRunsAClientOnce) {
  TestClient client(Each(absl::Seconds(3)));
  loop_.Add(&client);
  Settle();
  clock_.Step(absl::Seconds(9));
  EXPECT_EQ(client.run_count(), 2);
  loop_.Remove(&client);
}

TEST_F(WaitingLoopTest, RunsEachClientAtItsTime) {
  // A client that counts its periods, but not the runs in between.
  const auto count = [](absl::Duration period, int* times) {
    return [period, times, next = kStart + period](absl::Time now) mutable {
      if (now >= next) {
        ++*times;
        next += period;
      }
      return next;
    };
  };
  int twos = 0, threes = 0, fives = 0;
  TestClient two(count(absl::Seconds(2), &twos));
  TestClient three(count(absl::Seconds(3), &threes));
  TestClient five(count(absl::Seconds(5), &fives));
  for (TestClient* client : {&two, &three, &five}) loop_.Add(client);
  for (int second = 1; second <= 60; ++second) {
    clock_.Step(absl::Seconds(1));
    ASSERT_EQ(twos, second / 2);
    ASSERT_EQ(threes, second / 3);
    ASSERT_EQ(fives, second / 5);
  }
  for (TestClient* client : {&two, &three, &five}) loop_.Remove(client);
}

TEST_F(WaitingLoopTest, AClientThatIsDueAgainAtOnceRunsAgain) {
  int left = 5;
  TestClient client([&left](absl::Time) {
    return --left > 0 ? absl::InfinitePast() : absl::InfiniteFuture();
  });
  loop_.Add(&client);
  Settle();
  EXPECT_EQ(client.run_count(), 5);
  loop_.Remove(&client);
}

TEST_F(WaitingLoopTest, WakeRunsAClientBeforeItsTime) {
  TestClient client(Each(absl::Seconds(3)));
  TestClient other;
  loop_.Add(&client);
  loop_.Add(&other);
  Settle();
  clock_.Step(absl::Seconds(1));
  loop_.Wake(&client);
  Settle();
  EXPECT_EQ(client.run_count(), 2);
  EXPECT_EQ(other.run_count(), 1) << "only the woken client runs";
  clock_.Step(absl::Seconds(2));
  EXPECT_EQ(client.run_count(), 2)
      << "the first time that it asked for is forgotten";
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(client.run_count(), 3);
  loop_.Remove(&client);
  loop_.Remove(&other);
}

TEST_F(WaitingLoopTest, WakeDuringARunIsNotLost) {
  int runs = 0;
  TestClient* self = nullptr;
  TestClient client([&](absl::Time) {
    if (++runs == 1) loop_.Wake(self);
    return absl::InfiniteFuture();
  });
  self = &client;
  loop_.Add(&client);
  Settle();
  EXPECT_EQ(client.run_count(), 2);
  loop_.Remove(&client);
}

TEST_F(WaitingLoopTest, RunsAreOneAtATimeHoweverManyWake) {
  std::atomic<int> running{0};
  std::atomic<bool> overlapped{false};
  const auto run = [&](absl::Time) {
    if (running++ > 0) overlapped = true;
    std::this_thread::yield();
    --running;
    return absl::InfiniteFuture();
  };
  TestClient a(run), b(run);
  loop_.Add(&a);
  loop_.Add(&b);
  std::vector<Thread> wakers;
  for (int i = 0; i < 4; ++i) {
    wakers.emplace_back([&] {
      for (int j = 0; j < 200; ++j) {
        loop_.Wake(&a);
        loop_.Wake(&b);
      }
    });
  }
  for (Thread& waker : wakers) waker.join();
  Settle();
  const int a_runs = a.run_count();
  loop_.Wake(&a);
  Settle();
  EXPECT_EQ(a.run_count(), a_runs + 1);
  EXPECT_FALSE(overlapped);
  loop_.Remove(&a);
  loop_.Remove(&b);
}

TEST_F(WaitingLoopTest, ARemovedClientIsNotRun) {
  TestClient removed(Each(absl::Seconds(1)));
  TestClient other(Each(absl::Seconds(1)));
  loop_.Add(&removed);
  loop_.Add(&other);
  Settle();
  loop_.Remove(&removed);
  clock_.Step(absl::Seconds(1));
  clock_.Step(kHeartbeat);
  EXPECT_EQ(removed.run_count(), 1);
  EXPECT_EQ(other.run_count(), 3);
  loop_.Remove(&other);
}

TEST_F(WaitingLoopTest, AClientCanBeAddedAgain) {
  TestClient client;
  for (int i = 1; i <= 3; ++i) {
    loop_.Add(&client);
    Settle();
    EXPECT_EQ(client.run_count(), i);
    loop_.Remove(&client);
  }
}

TEST_F(WaitingLoopTest, RemoveWaitsForARunInProgress) {
  absl::Notification running, removing, go_on;
  std::atomic<bool> ended{false};
  TestClient client([&](absl::Time) {
    running.Notify();
    go_on.WaitForNotification();
    ended = true;
    return absl::InfiniteFuture();
  });
  loop_.Add(&client);
  running.WaitForNotification();
  bool ended_before_remove = false;
  Thread remover([&] {
    removing.Notify();
    loop_.Remove(&client);
    ended_before_remove = ended;
  });
  removing.WaitForNotification();
  go_on.Notify();
  remover.join();
  EXPECT_TRUE(ended_before_remove);
}

TEST_F(WaitingLoopTest, RemoveDoesNotWaitForOtherClients) {
  absl::Notification running, go_on;
  TestClient busy([&](absl::Time) {
    running.Notify();
    go_on.WaitForNotification();
    return absl::InfiniteFuture();
  });
  TestClient idle;
  loop_.Add(&idle);
  Settle();
  loop_.Add(&busy);
  running.WaitForNotification();
  loop_.Remove(&idle);  // It would not return if it waited.
  go_on.Notify();
  loop_.Remove(&busy);
}

TEST_F(WaitingLoopTest, AClientCanRemoveItself) {
  TestClient other;
  loop_.Add(&other);
  TestClient* self = nullptr;
  TestClient client([&](absl::Time now) {
    loop_.Remove(self);
    return now;  // The client has been removed.
  });
  self = &client;
  loop_.Add(&client);
  Settle();
  clock_.Step(kHeartbeat);
  EXPECT_EQ(client.run_count(), 1);
  EXPECT_EQ(other.run_count(), 2);
  loop_.Remove(&other);
}

// A client that was woken during its run may be removed, and destroyed, before
// the run has ended.
TEST_F(WaitingLoopTest, AClientThatHasBeenWokenCanRemoveItself) {
  std::unique_ptr<TestClient> client;
  int runs = 0;
  client = std::make_unique<TestClient>([&](absl::Time now) {
    ++runs;
    loop_.Wake(client.get());
    loop_.Remove(client.get());
    return now;
  });
  loop_.Add(client.get());
  Settle();
  client.reset();
  clock_.Step(kHeartbeat);
  EXPECT_EQ(runs, 1);
}

// A run that is in progress during a removal may still wake its client.
TEST_F(WaitingLoopTest, AClientThatHasRemovedItselfIsNotWoken) {
  TestClient other(Each(absl::Seconds(1)));
  loop_.Add(&other);
  TestClient* self = nullptr;
  TestClient client([&](absl::Time now) {
    loop_.Remove(self);
    loop_.Wake(self);
    return now;
  });
  self = &client;
  loop_.Add(&client);
  Settle();
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(client.run_count(), 1);
  EXPECT_EQ(other.run_count(), 2);
  loop_.Remove(&client);
  loop_.Remove(&other);
}

TEST_F(WaitingLoopTest, AClientCanRemoveItselfAndBeAddedAgainInOneRun) {
  TestClient* self = nullptr;
  bool first = true;
  TestClient client([&](absl::Time now) {
    if (std::exchange(first, false)) {
      loop_.Remove(self);
      loop_.Add(self);
    }
    return now + absl::Seconds(1);
  });
  self = &client;
  loop_.Add(&client);
  Settle();
  EXPECT_EQ(client.run_count(), 2);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(client.run_count(), 3);
  loop_.Remove(&client);
}

// Removing a client leaves the times of the others as they are.
TEST_F(WaitingLoopTest, OfManyClientsThoseThatAreLeftRunAtTheirTimes) {
  constexpr int kClients = 200;
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < kClients; ++i) {
    // Shorter than a heartbeat, and no two are equal.
    const auto period = absl::Milliseconds(1000 + (i * 37) % kClients);
    clients.push_back(std::make_unique<TestClient>(Each(period)));
    loop_.Add(clients.back().get());
  }
  Settle();
  for (int i = 0; i < kClients; i += 2) loop_.Remove(clients[i].get());
  for (int i = 1; i < kClients; i += 4) loop_.Wake(clients[i].get());
  for (int ms = 0; ms < 1000 + kClients; ++ms) {
    clock_.Step(absl::Milliseconds(1));
  }
  for (int i = 0; i < kClients; ++i) {
    const auto period = absl::Milliseconds(1000 + (i * 37) % kClients);
    std::vector<absl::Time> expected = {kStart};
    if (i % 4 == 1) expected.push_back(kStart);
    if (i % 2 == 1) expected.push_back(kStart + period);
    EXPECT_EQ(clients[i]->runs(), expected);
    if (i % 2 == 1) loop_.Remove(clients[i].get());
  }
}

TEST_F(WaitingLoopTest, AClientCanAddAndRemoveOthers) {
  TestClient one, two;
  TestClient client([&, ran = false](absl::Time) mutable {
    if (!std::exchange(ran, true)) {
      loop_.Add(&two);
      loop_.Remove(&one);
    }
    return absl::InfiniteFuture();
  });
  loop_.Add(&one);
  Settle();
  loop_.Add(&client);
  Settle();
  EXPECT_EQ(one.run_count(), 1);
  EXPECT_EQ(two.run_count(), 1);
  clock_.Step(kHeartbeat);
  EXPECT_EQ(one.run_count(), 1);
  EXPECT_EQ(two.run_count(), 2);
  loop_.Remove(&two);
  loop_.Remove(&client);
}

TEST_F(WaitingLoopTest, AClientIsNotTouchedAfterItsRemoval) {
  TestClient other(Each(absl::Seconds(1)));
  loop_.Add(&other);
  for (int i = 0; i < 100; ++i) {
    auto client = std::make_unique<TestClient>(Each(absl::Seconds(1)));
    loop_.Add(client.get());
    if (i % 2 == 0) clock_.Step(absl::Seconds(1));
    loop_.Remove(client.get());
    client.reset();
    clock_.Step(absl::Seconds(1));
  }
  loop_.Remove(&other);
}

// -----------------------------------------------------------------------------
// The heartbeat
// -----------------------------------------------------------------------------

TEST(WaitingLoopHeartbeatTest, IsTenSeconds) {
  EXPECT_EQ(WaitingLoop::Heartbeat(), absl::Seconds(10));
}

TEST_F(WaitingLoopTest, SleepsForAHeartbeatAtMost) {
  TestClient client;
  loop_.Add(&client);
  Settle();
  for (int i = 1; i <= 5; ++i) {
    ASSERT_EQ(clock_.GetEarliestWakeupTime(), clock_.TimeNow() + kHeartbeat);
    clock_.Step(kHeartbeat - kNs);
    ASSERT_EQ(client.run_count(), i);
    clock_.Step(kNs);
    ASSERT_EQ(client.run_count(), i + 1);
  }
  loop_.Remove(&client);
}

// An idle loop wakes only for its heartbeat.
TEST(WaitingLoopHeartbeatTest, NothingElseWakesAnIdleLoop) {
  FakeClock fake(kStart);
  ObservedClock clock(&fake);
  WaitingLoop loop(&clock);
  TestClient client;
  loop.Add(&client);
  fake.Step(absl::ZeroDuration());
  const int parks_before = clock.parks();
  for (int second = 0; second < 3600; ++second) fake.Step(absl::Seconds(1));
  EXPECT_EQ(clock.parks() - parks_before, 360);
  EXPECT_EQ(client.run_count(), 1 + 360);
  loop.Remove(&client);
}

TEST(WaitingLoopHeartbeatTest, MakesUpForAWakeUpThatWentMissing) {
  FakeClock fake(kStart);
  ObservedClock clock(&fake);
  WaitingLoop loop(&clock);
  TestClient client;
  loop.Add(&client);
  fake.Step(absl::ZeroDuration());

  clock.on_unpark = [] { return false; };
  loop.Wake(&client);
  clock.on_unpark = [] { return true; };
  fake.Step(kHeartbeat - kNs);
  EXPECT_EQ(client.run_count(), 1);
  fake.Step(kNs);
  EXPECT_EQ(client.run_count(), 2);
  loop.Remove(&client);
}

// The heartbeat runs every client: also an idle one, while another client keeps
// the loop from sleeping so long.
TEST_F(WaitingLoopTest, BeatsForAnIdleClientBesideABusyOne) {
  TestClient busy(Each(absl::Milliseconds(500)));
  TestClient idle;
  loop_.Add(&busy);
  loop_.Add(&idle);
  Settle();
  for (int i = 0; i < 40; ++i) clock_.Step(absl::Milliseconds(500));
  EXPECT_EQ(busy.run_count(), 1 + 40);
  EXPECT_GE(idle.run_count(), 1 + 2);
  loop_.Remove(&busy);
  loop_.Remove(&idle);
}

TEST_F(WaitingLoopTest, BeatsWhenTheClockHasGoneBack) {
  TestClient client([](absl::Time now) { return now + absl::Minutes(1); });
  clock_.Step(absl::Hours(1));
  loop_.Add(&client);
  Settle();
  clock_.Step(-absl::Minutes(30));
  const absl::Time back = clock_.TimeNow();
  EXPECT_EQ(client.runs().back(), back);
  clock_.Step(kHeartbeat - kNs);
  EXPECT_EQ(client.runs().back(), back);
  clock_.Step(kNs);
  EXPECT_EQ(client.runs().back(), back + kHeartbeat);
  loop_.Remove(&client);
}

// After the clock has gone back, each client runs at once and then when it asks
// for, whatever the times were before.
TEST_F(WaitingLoopTest, ManyClientsRunWhenTheClockHasGoneBack) {
  constexpr int kClients = 200;
  std::vector<std::unique_ptr<TestClient>> clients;
  const auto period = [](int i) {
    // Shorter than a heartbeat, and no two are equal.
    return absl::Milliseconds(1000 + (i * 37) % kClients);
  };
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<TestClient>(Each(period(i))));
    loop_.Add(clients.back().get());
  }
  clock_.Step(absl::Milliseconds(1000 + kClients / 2));
  clock_.Step(-absl::Minutes(30));
  const absl::Time back = clock_.TimeNow();
  std::vector<size_t> runs_before;
  for (const auto& client : clients) {
    EXPECT_EQ(client->runs().back(), back);
    runs_before.push_back(client->runs().size());
  }
  for (int ms = 0; ms < 1000 + kClients; ++ms) {
    clock_.Step(absl::Milliseconds(1));
  }
  for (int i = 0; i < kClients; ++i) {
    const std::vector<absl::Time> runs = clients[i]->runs();
    EXPECT_EQ(runs.size(), runs_before[i] + 1);
    EXPECT_EQ(runs.back(), back + period(i));
    loop_.Remove(clients[i].get());
  }
}

// A clock that always shows `now`.
class StoppedClock final : public Clock {
 public:
  StoppedClock(FakeClock* fake, absl::Time now) : fake_(fake), now_(now) {}

  absl::Time TimeNow() override { return now_; }
  void Sleep(absl::Duration d) override { fake_->Sleep(d); }
  void SleepUntil(absl::Time t) override { fake_->SleepUntil(t); }
  bool AwaitWithDeadline(absl::Mutex* mu, const absl::Condition& cond,
                         absl::Time deadline) override {
    return fake_->AwaitWithDeadline(mu, cond, deadline);
  }
  std::unique_ptr<Parker> NewParker(Parker::Role role) override {
    return fake_->NewParker(role);
  }

 private:
  FakeClock* const fake_;
  const absl::Time now_;
};

// No clock should show an infinite time, but a foreign one may.
TEST(WaitingLoopLifeTest, SleepsAtAnInfiniteTime) {
  for (const absl::Time now : {absl::InfinitePast(), absl::InfiniteFuture()}) {
    FakeClock fake(now);
    StoppedClock clock(&fake, now);
    WaitingLoop loop(&clock);
    TestClient client;
    loop.Add(&client);
    fake.Step(absl::ZeroDuration());  // returns when the loop sleeps
    EXPECT_EQ(client.run_count(), 1);
    loop.Remove(&client);
  }
}

TEST_F(WaitingLoopTest, ClientsThatAreDueRunInTheOrderOfTheirTimes) {
  std::vector<int> order;
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i : {3, 1, 4, 2, 5}) {
    clients.push_back(std::make_unique<TestClient>(
        [&order, i, due = kStart + absl::Seconds(i)](absl::Time now) {
          if (now < due) return due;
          order.push_back(i);
          return absl::InfiniteFuture();
        }));
    loop_.Add(clients.back().get());
  }
  Settle();
  clock_.Step(absl::Seconds(5));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4, 5}));
  for (const auto& client : clients) loop_.Remove(client.get());
}

// A client that is woken over and over does not keep the others from running.
TEST_F(WaitingLoopTest, AClientThatIsWokenAgainAndAgainDoesNotStarveOthers) {
  constexpr int kFarTooMany = 1000;
  const absl::Time due = kStart + absl::Seconds(1);
  bool other_ran = false;
  int woken_runs = 0;
  TestClient* self = nullptr;
  TestClient woken([&](absl::Time now) {
    if (now < due) return due;
    if (!other_ran && ++woken_runs < kFarTooMany) loop_.Wake(self);
    return absl::InfiniteFuture();
  });
  self = &woken;
  TestClient other([&](absl::Time now) {
    if (now < due) return due;
    other_ran = true;
    return absl::InfiniteFuture();
  });
  loop_.Add(&woken);
  loop_.Add(&other);
  Settle();
  clock_.Step(absl::Seconds(1));
  EXPECT_LE(woken_runs, 1);
  loop_.Remove(&woken);
  loop_.Remove(&other);
}

TEST_F(WaitingLoopTest, ClientsThatAlwaysHaveMoreToDoTakeTurns) {
  constexpr int kClients = 5;
  const absl::Time due = kStart + absl::Seconds(1);
  std::vector<int> order;
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(
        std::make_unique<TestClient>([&order, i, due](absl::Time now) {
          if (now < due) return due;
          order.push_back(i);
          return order.size() <= 2 * kClients ? absl::InfinitePast()
                                              : absl::InfiniteFuture();
        }));
    loop_.Add(clients.back().get());
  }
  Settle();
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(order,
            (std::vector<int>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4}));
  for (const auto& client : clients) loop_.Remove(client.get());
}

// A client that always has more to do does not keep the others from running.
TEST_F(WaitingLoopTest, AGreedyClientDoesNotStarveOthers) {
  constexpr int kFarTooMany = 1000;
  const absl::Time due = kStart + absl::Seconds(1);
  bool other_ran = false;
  int greedy_runs = 0;
  TestClient greedy([&](absl::Time now) {
    if (now < due) return due;
    if (other_ran || ++greedy_runs == kFarTooMany) {
      return absl::InfiniteFuture();
    }
    return absl::InfinitePast();
  });
  TestClient other([&](absl::Time now) {
    if (now < due) return due;
    other_ran = true;
    return absl::InfiniteFuture();
  });
  loop_.Add(&greedy);
  loop_.Add(&other);
  Settle();
  clock_.Step(absl::Seconds(1));
  EXPECT_LT(greedy_runs, kFarTooMany);
  loop_.Remove(&greedy);
  loop_.Remove(&other);
}

TEST(WaitingLoopEndTest, AClientMayDestroyTheLoop) {
  FakeClock clock(kStart);
  absl::Notification destroyed;
  auto loop = std::make_shared<WaitingLoop>(&clock);
  TestClient* this_client = nullptr;
  TestClient client([&](absl::Time) {
    loop->Remove(this_client);
    loop.reset();
    destroyed.Notify();
    return absl::InfiniteFuture();
  });
  this_client = &client;
  loop->Add(&client);
  destroyed.WaitForNotification();
  EXPECT_EQ(clock.NumWaiters(), 0u);
}

}  // namespace
}  // namespace workqueue::waiting_loop_test
