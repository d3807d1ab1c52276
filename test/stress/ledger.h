// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_STRESS_LEDGER_H_
#define WORKQUEUE_TEST_STRESS_LEDGER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>  // NOLINT(build/c++11)
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/testing/thread.h"

namespace workqueue {

// Ledger
//
// This class records what producers add and consumers process. It reports two
// kinds of errors: an item processed by two threads at the same time, and an
// addition that no processing of its item follows. Items are numbers from zero.
//
// Thread-safe.
//
// Example:
//
//     // A producer:
//     const int64_t addition = ledger.Adding(item);
//     if (queue.Add(item)) ledger.Added(item, addition);
//     // A consumer:
//     ledger.Begin(item);
//     std::this_thread::yield();
//     ledger.End(item);
//     queue.Done(item);
//     // In the end:
//     ledger.ExpectAllProcessed();
class Ledger {
 public:
  explicit Ledger(int items) : accounts_(items) {}

  // Records that an addition begins. Returns its number.
  int64_t Adding(int item) { return ++accounts_[item].adding; }

  // Records that the addition was accepted.
  void Added(int item, int64_t addition) {
    internal::MutexLock lock(&mu_);
    Account& account = accounts_[item];
    if (addition <= account.added) return;
    const bool was_settled = account.Settled();
    account.added = addition;
    if (was_settled && !account.Settled()) ++unsettled_;
  }

  // Records that processing begins. It answers all additions that began before.
  void Begin(int item) {
    Account& account = accounts_[item];
    EXPECT_EQ(++account.workers, 1) << item << " is being processed already";
    const int64_t adding = account.adding;
    internal::MutexLock lock(&mu_);
    EXPECT_FALSE(closed_) << item << " is processed after the end";
    const bool was_settled = account.Settled();
    if (adding > account.processed) account.processed = adding;
    if (!was_settled && account.Settled()) --unsettled_;
    ++processings_;
  }

  void End(int item) { --accounts_[item].workers; }

  // Forbids any processing from now on.
  void Close() {
    internal::MutexLock lock(&mu_);
    closed_ = true;
  }

  // Blocks until a processing has followed each accepted addition.
  void AwaitAllProcessed() {
    internal::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](int64_t* unsettled) { return *unsettled == 0; }, &unsettled_));
  }

  void ExpectAllProcessed() {
    internal::MutexLock lock(&mu_);
    for (size_t i = 0; i < accounts_.size(); ++i) {
      EXPECT_TRUE(accounts_[i].Settled())
          << "addition " << accounts_[i].added << " of " << i << " was lost";
      EXPECT_EQ(accounts_[i].workers, 0);
    }
  }

  int64_t processings() {
    internal::MutexLock lock(&mu_);
    return processings_;
  }

 private:
  struct Account {
    std::atomic<int64_t> adding{0};
    std::atomic<int> workers{0};
    // mu_ guards these members.
    int64_t added = 0;      // the latest accepted addition
    int64_t processed = 0;  // the latest answered addition

    bool Settled() const { return processed >= added; }
  };

  std::vector<Account> accounts_;
  absl::Mutex mu_;
  // the number of accounts that are not settled
  int64_t unsettled_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t processings_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

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

// Lets several threads shut a queue down while it is in use, in so many rounds.
// Waiting items are dropped, and queued items are processed. Two threads each
// call `produce(queue, ledger, items, adds, seed)` and
// `consume(queue, ledger, number of the thread)`. `check_end(queue, ledger)`
// comes last.
template <typename NewQueue, typename Produce, typename Consume,
          typename CheckEnd>
void ExpectShutDownAtAnyTime(int rounds, NewQueue new_queue, Produce produce,
                             Consume consume, CheckEnd check_end) {
  constexpr int kItems = 8, kAdds = 300;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    Ledger ledger(kItems);
    const auto queue = new_queue();
    Threads producers, consumers, enders;
    consumers.Start(2, [&](int c) { consume(*queue, ledger, c); });
    producers.Start(2, [&](int p) {
      produce(*queue, ledger, kItems, kAdds, 2 * round + p);
    });
    produce(*queue, ledger, kItems, round * 3, -round);
    const bool drain_only = round % 2 == 0;
    enders.Start(2, [&](int) {
      if (queue->ShutDownWithDrain()) {
        ledger.Close();
      } else {
        EXPECT_FALSE(drain_only) << "nothing else can end a drain";
      }
    });
    if (!drain_only) enders.Start(2, [&](int) { queue->ShutDown(); });
    enders.Join();
    producers.Join();
    consumers.Join();
    EXPECT_EQ(queue->Len(), 0u);
    check_end(*queue, ledger);
  }
}

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_STRESS_LEDGER_H_
