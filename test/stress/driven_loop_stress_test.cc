// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Eight threads add to a queue, to timers and to an executor on one loop, which
// a program drives on the real clock. Each addition is counted when the loop
// has it, so that one that is lost or comes twice shows.

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/thread_driven_loop.h"
#include "workqueue/clock/clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/lease.h"
#include "workqueue/loop_executor.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timers.h"

namespace workqueue::driven_loop_stress_test {
namespace {

constexpr int kThreads = 8;
#if defined(ABSL_HAVE_THREAD_SANITIZER)
constexpr int kRounds = 1000;
#else
constexpr int kRounds = 10000;
#endif
constexpr int kItems = kThreads * kRounds;

// Counts what happens on the loop's thread, and tells when all has happened.
class Countdown {
 public:
  explicit Countdown(int left) : left_(left) {}

  void Count() {
    absl::MutexLock lock(&mu_);
    --left_;
  }

  // Blocks until nothing is left.
  void Await() {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](int* left) { return *left <= 0; }, &left_));
  }

  int left() {
    absl::MutexLock lock(&mu_);
    return left_;
  }

 private:
  absl::Mutex mu_;
  int left_ ABSL_GUARDED_BY(mu_);
};

TEST(DrivenLoopStressTest, NothingIsLost) {
  const std::shared_ptr<WaitingLoop> loop =
      NewThreadDrivenLoop(Clock::GetRealClock());
  LoopExecutor executor(loop);
  DelayingQueueOptions<int> queue_options;
  queue_options.clock = loop;
  DelayingQueue<int> queue(std::move(queue_options));
  TimersOptions timers_options;
  timers_options.clock = loop;
  Timers timers(std::move(timers_options));
  // Each timer calls back, and each task submits another.
  Countdown items_left(kItems), timers_left(kItems), tasks_left(2 * kItems);
  std::vector<int> times(kItems);  // how often the loop has had each item
  std::function<void()> acquire = [&] {
    queue.AcquireAsync(&executor, [&](absl::StatusOr<Lease<int>> lease) {
      if (!lease.ok()) return;  // The queue has been shut down.
      ++times[**lease];
      lease->Done();
      acquire();
      items_left.Count();  // last, because the test then ends
    });
  };
  acquire();
  std::atomic<int> cancelled{0}, expired{0};
  {
    std::vector<Thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < kRounds; ++i) {
          const absl::Duration delay = absl::Microseconds(i * 37 % 300);
          queue.AddAfter(thread * kRounds + i, delay);
          const TimerId timer =
              timers.CallAfter(delay, &executor, [&](absl::Status status) {
                EXPECT_EQ(status, absl::OkStatus());
                ++expired;
                timers_left.Count();
              });
          if (i % 3 == 0 && timers.Cancel(timer)) {
            ++cancelled;
            timers_left.Count();
          }
          executor.Execute([&] {
            tasks_left.Count();
            executor.Execute([&] { tasks_left.Count(); });
          });
        }
      });
    }
    for (Thread& thread : threads) thread.join();
  }
  items_left.Await();
  timers_left.Await();
  tasks_left.Await();
  EXPECT_EQ(times, std::vector<int>(kItems, 1));
  EXPECT_EQ(expired + cancelled, kItems);
  EXPECT_EQ(timers_left.left(), 0);
  EXPECT_EQ(tasks_left.left(), 0);
  queue.ShutDown();
}

}  // namespace
}  // namespace workqueue::driven_loop_stress_test
