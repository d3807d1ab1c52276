// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that no wait of a `SharedQueue` or a `LeaderElector` depends on the
// wall clock.

#include <string>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/clock/counted_waits.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/redis_fixture.h"
#include "workqueue/clock/clock.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/lease.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue {
namespace {

class SharedMonotonicWaitTest : public RedisFixture {
 protected:
  void SetUp() override {
#if defined(ABSL_HAVE_THREAD_SANITIZER) || defined(ABSL_HAVE_ADDRESS_SANITIZER)
    GTEST_SKIP() << "the sanitizer has replaced what counts the waits";
#endif
    RedisFixture::SetUp();
    wall_clock_waits = 0;
    monotonic_waits = 0;
  }

  void TearDown() override {
    if (server() == nullptr) return;
    EXPECT_EQ(wall_clock_waits, 0);
    EXPECT_GT(monotonic_waits, 0);
  }

  RedisOptions Redis() const {
    RedisOptions redis;
    redis.address = server()->socket_path();
    return redis;
  }

  // Ends the connections that listen, so that they are made again.
  void CutListeners() {
    auto connection =
        internal::RedisConnection::Connect(Redis(), absl::Seconds(10));
    ASSERT_TRUE(connection.ok()) << connection.status();
    const auto killed =
        (*connection)
            ->Call({"CLIENT", "KILL", "TYPE", "pubsub"}, absl::Seconds(10));
    ASSERT_TRUE(killed.ok()) << killed.status();
    EXPECT_GT((*killed)->integer, 0);
  }
};

TEST_F(SharedMonotonicWaitTest, SharedQueue) {
  SharedQueueOptions<std::string> options;
  options.name = "q";
  options.redis = Redis();
  options.lease = absl::Seconds(6);
  const auto queue = NewSharedQueue(options);
  std::vector<Thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&queue, t] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(queue->Add(absl::StrCat(t)));
        queue->TakeSnapshotUpTo(1).IgnoreError();
      }
    });
  }
  for (Thread& thread : threads) thread.join();
  EXPECT_TRUE(queue->Add("alone"));  // in vain for company
  CutListeners();
  Lease<std::string> lease = *queue->Acquire();
  std::vector<Lease<std::string>> others;
  while (queue->Len() > 0) others.push_back(*queue->Acquire());
  // The leases are renewed after a third of their time.
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      queue->AcquireWithTimeout(options.lease / 2).status()));
  EXPECT_TRUE(lease.Done());
  EXPECT_FALSE(queue->ShutDownWithDrainWithin(absl::Milliseconds(10)));
}

TEST_F(SharedMonotonicWaitTest, LeaderElector) {
  LeaderElectorOptions options;
  options.name = "election";
  options.redis = Redis();
  options.lease_duration = absl::Seconds(8);
  options.renew_deadline = absl::Seconds(6);
  options.retry_period = absl::Milliseconds(50);
  absl::Notification led;
  options.on_started_leading = [&](const Leadership& leadership) {
    EXPECT_TRUE(leadership.Sleep(absl::Milliseconds(50)));
    if (!led.HasBeenNotified()) led.Notify();
    leadership.WaitUntilStopping();
  };
  auto elector = LeaderElector::Create(options);
  ASSERT_TRUE(elector.ok()) << elector.status();
  ASSERT_TRUE((*elector)->Start().ok());
  led.WaitForNotification();
  CutListeners();
  Clock::GetRealClock()->Sleep(absl::Milliseconds(100));
  (*elector)->Stop();
}

}  // namespace
}  // namespace workqueue
