// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Functions that many threads of the stress tests run, on the real clock.
// `Debts` checks the results.

#ifndef WORKQUEUE_TEST_STRESS_THREADS_H_
#define WORKQUEUE_TEST_STRESS_THREADS_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <random>
#include <thread>  // NOLINT(build/c++11)
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/stress/debts.h"
#include "workqueue/clock/clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/testing/thread.h"

namespace workqueue {

inline Clock* RealClock() { return Clock::GetRealClock(); }

// Returns a delay of up to 3 ms. One in eight is zero, and one in eight is so
// short that it is over at once.
inline absl::Duration ShortDelay(std::mt19937& random) {
  switch (random() % 8) {
    case 0:
      return absl::ZeroDuration();
    case 1:
      return absl::Nanoseconds(1);
    default:
      return absl::Microseconds(random() % 3000);
  }
}

// A group of threads that are joined at the end.
class Threads {
 public:
  // Starts `n` threads, which run `f(0)` to `f(n - 1)`.
  template <typename F>
  void Start(int n, F f) {
    for (int i = 0; i < n; ++i) threads_.emplace_back([f, i] { f(i); });
  }

  void Join() {
    for (Thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  std::vector<Thread> threads_;
};

// Calls `add(queue, item, random)` `adds` times, with one of `items` items.
// Returns how many additions were accepted. Only a shutdown may refuse one.
template <typename Q, typename Add>
int Produce(Q& queue, Debts& debts, int items, int adds, int seed, Add add) {
  std::mt19937 random(seed);
  int accepted = 0;
  for (int i = 0; i < adds; ++i) {
    const int item = static_cast<int>(random() % items);
    const int64_t addition = debts.Adding(item);
    if (add(queue, item, random)) {
      debts.Added(item, addition);
      ++accepted;
    } else {
      EXPECT_TRUE(queue.ShuttingDown());
    }
    if (random() % 8 == 0) std::this_thread::yield();
  }
  return accepted;
}

// Processes items until the queue ends.
inline void Consume(Interface<int>& queue, Debts& debts, int /*consumer*/ = 0) {
  while (std::optional<int> item = queue.Get()) {
    debts.Begin(*item);
    std::this_thread::yield();
    debts.End(*item);
    EXPECT_TRUE(queue.Done(*item));
  }
}

// Passes items from thread to thread over two queues. Each thread calls
// `pass_on(from, to, random)`, which returns false once `from` has ended, over
// and over. There are fewer items than getters, so getters wait and are woken
// all the time. If no getter is woken for an item, the round stops.
template <typename Q, typename PassOn>
void ExpectNoWakeUpIsLost(Q& ping, Q& pong, PassOn pass_on) {
  constexpr int kTokens = 3, kGetters = 4, kHops = 10000;
  std::atomic<int> hops{0};
  absl::Notification enough;
  const auto pass_all = [&](Q& from, Q& to) {
    std::mt19937 random(1);
    while (pass_on(from, to, random)) {
      if (++hops == kHops) enough.Notify();
    }
  };
  Threads threads;
  threads.Start(kGetters, [&](int) { pass_all(ping, pong); });
  threads.Start(kGetters, [&](int) { pass_all(pong, ping); });
  for (int i = 0; i < kTokens; ++i) ping.Add(i);
  enough.WaitForNotification();
  ping.ShutDown();
  pong.ShutDown();
  threads.Join();
}

// Lets several threads shut a queue down while it is in use, in so many rounds.
// Waiting items are dropped, and queued items are processed. Two threads call
// `Produce()` with `add`, and two `consume(queue, debts, number of the
// thread)`. `check_end(queue, debts)` comes last.
template <typename NewQueue, typename Add, typename Consume, typename CheckEnd>
void ExpectShutDownAtAnyTime(int rounds, NewQueue new_queue, Add add,
                             Consume consume, CheckEnd check_end) {
  constexpr int kItems = 8, kAdds = 300;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    Debts debts(kItems);
    const auto queue = new_queue();
    Threads producers, consumers, enders;
    consumers.Start(2, [&](int c) { consume(*queue, debts, c); });
    producers.Start(2, [&](int p) {
      Produce(*queue, debts, kItems, kAdds, 2 * round + p, add);
    });
    Produce(*queue, debts, kItems, round * 3, -round, add);
    const bool drain_only = round % 2 == 0;
    enders.Start(2, [&](int) {
      if (queue->ShutDownWithDrain()) {
        debts.Close();
      } else {
        EXPECT_FALSE(drain_only) << "nothing else can end a drain";
      }
    });
    if (!drain_only) enders.Start(2, [&](int) { queue->ShutDown(); });
    enders.Join();
    producers.Join();
    consumers.Join();
    EXPECT_EQ(queue->Len(), 0u);
    check_end(*queue, debts);
  }
}

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_STRESS_THREADS_H_
