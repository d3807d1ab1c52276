// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that queues can be destroyed while threads block in them, a hundred
// queues at a time. The environment variable ROUNDS sets the number of rounds.

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/stress/from_environment.h"
#include "test/workqueue/observed_clock.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue::lifetime_stress_test {
namespace {

using internal::MutexLock;

// Caller
//
// This class makes blocking calls on a thread, and asks Linux whether that
// thread sleeps.
class Caller {
 public:
  Caller() : thread_([this] { Run(); }) {}
  ~Caller() {
    Begin(nullptr);
    thread_.join();
  }

  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // Makes the thread call `call`. Null ends the thread.
  void Begin(std::function<void()> call) {
    MutexLock lock(&mu_);
    call_ = std::move(call);
    calling_ = false;
    begun_ = true;
  }

  // Blocks until the thread sleeps in its call.
  void AwaitAsleep() {
    {
      MutexLock lock(&mu_);
      mu_.Await(absl::Condition(&calling_));
    }
    while (!IsAsleep()) std::this_thread::yield();
  }

  // Blocks until the call has returned.
  void AwaitReturn() {
    MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](bool* begun) { return !*begun; }, &begun_));
  }

 private:
  void Run() {
    {
      MutexLock lock(&mu_);
      tid_ = static_cast<int>(syscall(SYS_gettid));
    }
    while (true) {
      std::function<void()> call;
      {
        MutexLock lock(&mu_);
        mu_.Await(absl::Condition(&begun_));
        call = call_;
        calling_ = true;
      }
      if (call == nullptr) return;
      call();
      MutexLock lock(&mu_);
      begun_ = false;
    }
  }

  // Returns whether the thread sleeps in its call. Waiting for the next call or
  // for a lock does not count.
  bool IsAsleep() {
    std::string path;
    {
      MutexLock lock(&mu_);
      // The call has returned. The test will report that.
      if (!begun_) return true;
      path = absl::StrCat("/proc/self/task/", tid_, "/stat");
    }
    std::string stat;
    std::getline(std::ifstream(path), stat);
    const size_t name_end = stat.rfind(')');
    return name_end != std::string::npos && stat.substr(name_end, 3) == ") S";
  }

  absl::Mutex mu_;
  std::function<void()> call_ ABSL_GUARDED_BY(mu_);
  bool begun_ ABSL_GUARDED_BY(mu_) = false;  // begun and not yet returned
  // about to make the call, or in it
  bool calling_ ABSL_GUARDED_BY(mu_) = false;
  int tid_ ABSL_GUARDED_BY(mu_) = 0;
  Thread thread_;
};

// A queue and a call that blocks in it.
struct Life {
  std::shared_ptr<void> queue;
  std::function<void()> call;
  std::function<void()> look;  // locks the queue's mutex
};

template <typename Q, typename F>
Life MakeLife(std::shared_ptr<Q> queue, F call) {
  Q* const q = queue.get();
  return {std::move(queue), [q, call] { call(*q); }, [q] { q->Len(); }};
}

absl::Duration Later() { return absl::Hours(1); }

Life MakeDelayQueueLife(WaitingSetOptions waiting_set) {
  DelayQueueOptions options;
  options.waiting_set = waiting_set;
  auto queue = std::make_shared<DelayQueue<int>>(options);
  queue->Push(1, absl::Hours(2));
  return MakeLife(std::move(queue),
                  [](auto& q) { EXPECT_EQ(q.Take(), std::nullopt); });
}

// Returns one function for each kind of queue and call.
std::vector<std::function<Life()>> LifeMakers() {
  return {
      [] {
        return MakeLife(std::make_shared<Queue<int>>(),
                        [](auto& q) { EXPECT_EQ(q.Get(), std::nullopt); });
      },
      [] {
        return MakeLife(std::make_shared<Queue<int>>(), [](auto& q) {
          EXPECT_TRUE(absl::IsCancelled(q.GetWithTimeout(Later()).status()));
        });
      },
      [] {
        auto queue = std::make_shared<Queue<int>>();
        queue->Add(1);
        return MakeLife(std::move(queue),
                        [](auto& q) { EXPECT_FALSE(q.ShutDownWithDrain()); });
      },
      [] {
        return MakeLife(std::make_shared<DelayingQueue<int>>(),
                        [](auto& q) { EXPECT_FALSE(q.Acquire().ok()); });
      },
      [] {
        return MakeLife(
            std::make_shared<RateLimitingQueue<int>>(), [](auto& q) {
              EXPECT_TRUE(absl::IsCancelled(q.AcquireUpTo(3).status()));
            });
      },
      [] {
        return MakeLife(std::make_shared<PriorityQueue<int>>(), [](auto& q) {
          Lease<int> lease;
          EXPECT_FALSE(q.AcquireNext(&lease).ok());
        });
      },
      [] { return MakeDelayQueueLife(WaitingSetOptions()); },
      [] { return MakeDelayQueueLife(*WaitingSetOptions::TimingWheel()); },
  };
}

TEST(LifetimeStressTest, QueuesCanBeDestroyedWithThreadsBlockedInThem) {
  constexpr int kQueues = 100;
  const int rounds = FromEnvironment("ROUNDS", 100);
  const std::vector<std::function<Life()>> makers = LifeMakers();
  std::vector<Caller> callers(kQueues);
  for (int round = 0; round < rounds; ++round) {
    std::vector<Life> lives;
    for (int i = 0; i < kQueues; ++i) {
      lives.push_back(makers[(round + i) % makers.size()]());
      callers[i].Begin(lives.back().call);
    }
    for (int i = 0; i < kQueues; ++i) {
      callers[i].AwaitAsleep();
      lives[i].look();  // The thread may have slept because of the lock.
      callers[i].AwaitAsleep();
      lives[i].queue.reset();
      callers[i].AwaitReturn();
    }
  }
}

// The thread that gets an item knows that the item was added. It does not know
// whether the adding call has returned.
TEST(LifetimeStressTest, AQueueMayBeDestroyedOnceItsItemWasHandedOut) {
  constexpr int kRounds = 10000;
  Caller adder;
  for (int round = 0; round < kRounds; ++round) {
    auto queue = std::make_unique<Queue<int>>();
    adder.Begin([q = queue.get()] { q->Add(1); });
    EXPECT_EQ(queue->Get(), 1);
    queue.reset();
    adder.AwaitReturn();
  }
}

// The thread that gets nothing more may destroy the queue, too. So a shutdown
// must have woken the queue's loop by then.
template <typename Q, typename Options, typename F>
void ExpectTheLoopIsWokenFirst(F shut_down) {
  ObservedClock clock(Clock::GetRealClock());
  std::atomic<bool> shutting_down{false}, got{false}, got_before_wake{false};
  clock.on_unpark = [&] {
    if (shutting_down) {
      absl::SleepFor(absl::Milliseconds(20));
      if (got) got_before_wake = true;
    }
    return true;
  };
  Options options;
  options.clock = &clock;
  Q queue(std::move(options));
  Caller getter;
  getter.Begin([&queue, &got] {
    EXPECT_EQ(queue.Get(), std::nullopt);
    got = true;
  });
  getter.AwaitAsleep();
  shutting_down = true;
  shut_down(queue);
  getter.AwaitReturn();
  shutting_down = false;
  EXPECT_FALSE(got_before_wake);
}

template <typename Q, typename Options>
void ExpectEachShutDownWakesTheLoopFirst() {
  ExpectTheLoopIsWokenFirst<Q, Options>([](Q& queue) { queue.ShutDown(); });
  ExpectTheLoopIsWokenFirst<Q, Options>([](Q& queue) { queue.Close(); });
  ExpectTheLoopIsWokenFirst<Q, Options>(
      [](Q& queue) { EXPECT_TRUE(queue.ShutDownWithDrain()); });
}

TEST(LifetimeStressTest, AGetEndsAfterTheShutDownHasWokenTheLoop) {
  ExpectEachShutDownWakesTheLoopFirst<DelayingQueue<int>,
                                      DelayingQueueOptions<int>>();
  ExpectEachShutDownWakesTheLoopFirst<PriorityQueue<int>,
                                      PriorityQueueOptions<int>>();
}

TEST(LifetimeStressTest, ADelayQueueMayBeDestroyedOnceItsValueWasTaken) {
  constexpr int kRounds = 10000;
  Caller adder;
  for (int round = 0; round < kRounds; ++round) {
    auto queue = std::make_unique<DelayQueue<int>>();
    adder.Begin([q = queue.get()] { q->Push(1, absl::ZeroDuration()); });
    EXPECT_EQ(queue->Take(), 1);
    queue.reset();
    adder.AwaitReturn();
  }
}

}  // namespace
}  // namespace workqueue::lifetime_stress_test
