// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests a process that forks. The parent's queues continue to work, and the
// child can create new ones.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <optional>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/stress/debts.h"
#include "test/stress/threads.h"
#include "workqueue/clock/clock.h"
#include "workqueue/rate_limiting_queue.h"

namespace workqueue {
namespace {

constexpr absl::Duration kSoon = absl::Milliseconds(5);

// Makes one item wait on a queue's own thread, makes another item fail, and
// waits in vain for a third. Returns whether all results were right.
bool UseAQueue() {
  RateLimitingQueue<int> queue;
  queue.AddAfter(1, absl::Milliseconds(1));
  const std::optional<int> first = queue.Get();
  if (first != 1) return false;
  queue.AddRateLimited(1);
  queue.Done(1);
  const std::optional<int> again = queue.Get();
  if (again != 1) return false;
  queue.Done(1);
  if (!absl::IsDeadlineExceeded(queue.GetWithTimeout(kSoon).status())) {
    return false;
  }
  return queue.ShutDownWithDrainWithin(kSoon);
}

// Runs `f()` in a child process and returns its result.
template <typename F>
int InAChild(F f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // so that the child cannot block forever
    _exit(f());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(ForkStressTest, TheParentsQueueGoesOn) {
  constexpr int kItems = 16, kForks = 100;
  Debts debts(kItems);
  RateLimitingQueue<int> queue;
  std::atomic<bool> enough{false};
  Threads producers, consumers;
  producers.Start(2, [&](int p) {
    for (int i = p; !enough; i = (i + 1) % kItems) {
      const int64_t addition = debts.Adding(i);
      const bool added =
          i % 2 == 0 ? queue.Add(i) : queue.AddAfter(i, absl::Microseconds(50));
      EXPECT_TRUE(added);
      debts.Added(i, addition);
      std::this_thread::yield();
    }
  });
  consumers.Start(2, [&](int) { Consume(queue, debts); });
  for (int i = 0; i < kForks; ++i) EXPECT_EQ(InAChild([] { return 7; }), 7);
  enough = true;
  producers.Join();
  debts.AwaitSettled();
  EXPECT_TRUE(queue.ShutDownWithDrain());
  consumers.Join();
  EXPECT_EQ(debts.ExpectPaidButDelayed(), 0);
}

TEST(ForkStressTest, AChildCanMakeQueuesOfItsOwn) {
#ifdef ABSL_HAVE_THREAD_SANITIZER
  GTEST_SKIP() << "it allows no thread after a fork of several";
#endif
  ASSERT_TRUE(UseAQueue());
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(InAChild([] { return UseAQueue() ? 0 : 1; }), 0);
  }
}

}  // namespace
}  // namespace workqueue
