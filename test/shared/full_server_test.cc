// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests queues and elections on a server whose memory is full, and that evicts
// nothing.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/redis_fixture.h"
#include "test/shared/redis_server.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/leader_election/internal/leader_lease.h"
#include "workqueue/lease.h"
#include "workqueue/shared/shared_queue.h"

namespace workqueue::full_server_test {
namespace {

constexpr absl::Duration kLease = absl::Seconds(30);

class FullServerTest : public RedisFixture {
 protected:
  std::unique_ptr<SharedQueue<std::string>> NewClient() {
    SharedQueueOptions<std::string> options;
    options.name = "queue";
    options.redis.address = server()->socket_path();
    options.clock = &clock_;
    options.clock_is_the_servers = true;
    options.lease = kLease;
    return NewSharedQueue(std::move(options));
  }

  void SetMaxMemory(absl::string_view bytes) {
    ASSERT_TRUE(
        SendTo(server()->socket_path(), {"CONFIG", "SET", "maxmemory", bytes})
            .ok());
  }

  void Fill() { SetMaxMemory("1"); }
  void Empty() { SetMaxMemory("0"); }

  FakeClock clock_;
};

TEST_F(FullServerTest, LeasesAreRenewedAndEnd) {
  const auto a = NewClient();
  const auto b = NewClient();
  EXPECT_TRUE(a->AddAll({"x", "y", "z"}));
  Lease<std::string> x = *a->Acquire();
  Lease<std::string> y = *a->Acquire();
  Fill();
  for (int i = 0; i < 10; ++i) {
    clock_.Step(kLease / 3);
    EXPECT_FALSE(x.lost());
    EXPECT_EQ(b->Len(), 1u);
  }
  EXPECT_TRUE(x.Done());
  EXPECT_TRUE(y.GiveBack());
  Lease<std::string> again = *b->Acquire();
  EXPECT_EQ(*again, "y") << "items are handed out, too";
  EXPECT_TRUE(again.Done());
  EXPECT_EQ(NewClient()->Get(), "z") << "a new client has all of that";
}

TEST_F(FullServerTest, OnlyAddsAreRefused) {
  const auto queue = NewClient();
  EXPECT_TRUE(queue->AddRateLimited("fails"));
  EXPECT_TRUE(queue->AddAfter("waits", absl::Hours(1)));
  Fill();
  for (const absl::Status& status :
       {queue->AddItems({}, {"x"}),
        queue->AddItems(AddOptions::After(kLease), {"x"}),
        queue->AddItems(AddOptions::RateLimited(), {"x"}),
        queue->AddItems(AddOptions::Reschedule(kLease), {"x"}),
        queue->AddItems({}, std::vector<std::string>(2000, "x"))}) {
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  }
  EXPECT_EQ(queue->NumRequeues("x"), 0);
  EXPECT_TRUE(queue->ForgetFailures("fails").ok());
  EXPECT_EQ(queue->NumRequeues("fails"), 0);
  EXPECT_TRUE(queue->CancelDelayed("waits"));
  EXPECT_TRUE(queue->ShutDownAndDrain(std::nullopt).status().ok());
  EXPECT_TRUE(queue->Reopen().ok());
  Empty();
  EXPECT_TRUE(queue->Add("x"));
}

TEST_F(FullServerTest, ALeaderLeads) {
  internal::LeaderLease::Options options;
  options.name = "election";
  options.redis.address = server()->socket_path();
  options.identity = "a";
  options.duration = kLease;
  options.timeout = absl::Seconds(10);
  options.clock = &clock_;
  internal::LeaderLease lease(options);
  Fill();
  const auto taken = lease.Take();
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_TRUE(taken->done);
  clock_.Step(kLease / 2);
  const auto renewed = lease.Renew(taken->token, options.timeout);
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_EQ(renewed->remaining, kLease);
  clock_.Step(-kLease);
  const auto released = lease.Release(taken->token, options.timeout);
  ASSERT_TRUE(released.ok()) << released.status();
  EXPECT_TRUE(released->done);
}

}  // namespace
}  // namespace workqueue::full_server_test
