// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/worker_pool.h"

#include <atomic>
#include <cstddef>
#include <optional>
#include <set>
#include <thread>  // NOLINT(build/c++11)

#include "absl/status/status.h"
#include "absl/synchronization/barrier.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "workqueue/base/mutex_lock.h"

namespace workqueue {
namespace internal::worker_pool_test {
namespace {

using internal::MutexLock;

TEST(WorkerPoolTest, EachThreadHasItsOwnNumber) {
  absl::Mutex mu;
  std::set<size_t> numbers;
  std::set<std::thread::id> threads;
  auto* const all = new absl::Barrier(5);
  WorkerPool pool;
  EXPECT_TRUE(pool.Start(5,
                         [&, all](size_t number) {
                           {
                             MutexLock lock(&mu);
                             numbers.insert(number);
                             threads.insert(std::this_thread::get_id());
                           }
                           // All threads work at the same time.
                           if (all->Block()) delete all;
                         })
                  .ok());
  pool.Join();
  EXPECT_EQ(numbers, (std::set<size_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(threads.size(), 5u);
  EXPECT_EQ(threads.count(std::this_thread::get_id()), 0u);
}

// The pool keeps a copy of the function that it was given.
TEST(WorkerPoolTest, TheThreadsHaveTheirOwnCopyOfTheWork) {
  absl::Notification go;
  std::atomic<int> sum{0};
  WorkerPool pool;
  {
    std::optional<int> summand = 7;
    const auto work = [&go, &sum, summand](size_t) {
      go.WaitForNotification();
      sum += *summand;
    };
    EXPECT_TRUE(pool.Start(3, work).ok());
  }
  go.Notify();
  pool.Join();
  EXPECT_EQ(sum, 21);
}

TEST(WorkerPoolTest, JoinAndTheDestructorWaitForTheWork) {
  std::atomic<int> ended{0};
  const auto work = [&](size_t) {
    std::this_thread::yield();
    ++ended;
  };
  {
    WorkerPool pool;
    EXPECT_TRUE(pool.Start(4, work).ok());
    pool.Join();
    EXPECT_EQ(ended, 4);
    pool.Join();  // There is nothing to wait for.
    EXPECT_TRUE(pool.Start(4, work).ok());
  }
  EXPECT_EQ(ended, 8);
}

TEST(WorkerPoolTest, APoolCanHaveNoThreads) {
  WorkerPool pool;
  pool.Join();
  EXPECT_TRUE(pool.Start(0, [](size_t) { ADD_FAILURE(); }).ok());
}

}  // namespace
}  // namespace internal::worker_pool_test
}  // namespace workqueue
