// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests a `SharedQueue` on a cluster of three masters, on the real clock.

#include <atomic>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/redis_cluster.h"
#include "test/shared/redis_server.h"
#include "workqueue/leader_election/internal/leader_lease.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/lease.h"
#include "workqueue/shared/internal/queue_keys.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue::shared_queue_cluster_test {
namespace {

using Queue = SharedQueue<std::string>;
using Options = SharedQueueOptions<std::string>;

constexpr size_t kNodes = 3;
std::string Item(int i) { return absl::StrCat("default/web-", i); }

// Returns the node that has `slot`.
size_t NodeOf(int slot) {
  return static_cast<size_t>(slot) * kNodes / internal::kClusterSlots;
}

// All tests use one cluster. Each has a queue of its own, and leaves each slot
// where it was.
class SharedQueueClusterTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new absl::StatusOr<std::unique_ptr<RedisCluster>>(
        RedisCluster::Start(kNodes));
  }

  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }

  void SetUp() override {
    if (absl::IsNotFound(cluster_->status()) && !RedisServer::IsRequired()) {
      GTEST_SKIP() << cluster_->status().message();
    }
    ASSERT_TRUE(cluster_->ok()) << cluster_->status();
  }

  static RedisCluster& cluster() { return ***cluster_; }

  // Returns the slot of `item`.
  int SlotOf(const std::string& item) const {
    const size_t partition = internal::PartitionOf(item, kNodes);
    return internal::ClusterSlotOf(
        internal::PartitionName(name_, partition, kNodes));
  }

  Options MakeOptions() {
    Options options;
    options.name = name_;
    options.redis.address = cluster().AddressOf(0);
    options.partitions = kNodes;
    options.lease = absl::Seconds(60);
    options.require_durable_server = true;
    return options;
  }

  static absl::StatusOr<std::unique_ptr<RedisCluster>>* cluster_;

  const std::string name_ =
      testing::UnitTest::GetInstance()->current_test_info()->name();
};

absl::StatusOr<std::unique_ptr<RedisCluster>>*
    SharedQueueClusterTest::cluster_ = nullptr;

TEST_F(SharedQueueClusterTest, SpreadsOverTheMasters) {
  const auto a = NewSharedQueue(MakeOptions());
  const auto b = NewSharedQueue(MakeOptions());
  std::set<std::string> added;
  std::set<size_t> nodes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_TRUE(a->Add(Item(i)));
    added.insert(Item(i));
  }
  for (size_t i = 0; i < kNodes; ++i) {
    const int slot =
        internal::ClusterSlotOf(internal::PartitionName(name_, i, kNodes));
    nodes.insert(NodeOf(slot));
    const auto keys = cluster().Command(
        NodeOf(slot), {"CLUSTER", "COUNTKEYSINSLOT", absl::StrCat(slot)});
    ASSERT_TRUE(keys.ok()) << keys.status();
    EXPECT_NE(*keys, "0") << "partition " << i;
  }
  EXPECT_EQ(nodes.size(), kNodes) << "each has one partition";
  EXPECT_EQ(b->Len(), 300u);
  std::set<std::string> got;
  Lease<std::string> lease;
  b->ShutDown();
  while (b->AcquireNext(&lease).ok()) EXPECT_TRUE(got.insert(*lease).second);
  EXPECT_EQ(got, added);
}

TEST_F(SharedQueueClusterTest, AQueueWithoutPartitionsIsOnOneMaster) {
  Options options = MakeOptions();
  options.partitions = 1;
  for (size_t i = 0; i < kNodes; ++i) {
    options.redis.address = cluster().AddressOf(i);
    const auto queue = NewSharedQueue(options);
    auto got = Async([&] { return queue->Get(); });
    EXPECT_TRUE(queue->Add("x"));
    EXPECT_EQ(got.get(), "x");
    EXPECT_TRUE(queue->Done("x"));
  }
}

TEST_F(SharedQueueClusterTest, AnyAddressOfTheClusterWillDo) {
  Options options = MakeOptions();
  options.redis.address = absl::StrCat("127.0.0.1:1,", cluster().AddressOf(1));
  const auto queue = NewSharedQueue(options);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(queue->Add(Item(i)));
  EXPECT_EQ(queue->Len(), 10u);
}

// A node without slots answers, and serves nothing.
TEST_F(SharedQueueClusterTest, ANodeThatDoesNotServeIsLeft) {
  RedisServer::Options alone;
  alone.tcp = true;
  alone.cluster = true;
  const auto node = RedisServer::Start(alone);
  ASSERT_TRUE(node.ok()) << node.status();
  Options options = MakeOptions();
  options.redis.address =
      absl::StrCat("127.0.0.1:", (*node)->port(), ",", cluster().AddressOf(1));
  const auto queue = NewSharedQueue(options);
  EXPECT_TRUE(queue->Add("x"));
}

TEST_F(SharedQueueClusterTest, SeveralAddressesMustBeThoseOfACluster) {
  RedisServer::Options server_options;
  server_options.tcp = true;
  const auto server = RedisServer::Start(server_options);
  ASSERT_TRUE(server.ok()) << server.status();
  Options options = MakeOptions();
  options.redis.address =
      absl::StrCat("127.0.0.1:", (*server)->port(), ",127.0.0.1:1");
  const absl::Status status = Queue::Create(options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), options.redis.address))
      << status;
}

TEST_F(SharedQueueClusterTest, ASlotThatMovesTakesItsItemsAlong) {
  const auto a = NewSharedQueue(MakeOptions());
  const auto b = NewSharedQueue(MakeOptions());
  const std::string x = Item(0);
  const int slot = SlotOf(x);
  const size_t home = NodeOf(slot);
  size_t node = home;
  for (int i = 0; i < 6; ++i) {
    // A worker waits while the slot moves, and an item is there.
    EXPECT_TRUE(a->Add(x));
    EXPECT_EQ(b->Get(), x);
    auto got = Async([&] { return b->Get(); });
    EXPECT_TRUE(a->Add(x));
    const size_t next = (node + 1) % kNodes;
    const absl::Status moved = cluster().MoveSlot(slot, node, next);
    ASSERT_TRUE(moved.ok()) << moved;
    node = next;
    EXPECT_TRUE(b->Done(x));
    EXPECT_EQ(got.get(), x) << "it was added again meanwhile";
    EXPECT_TRUE(b->Done(x));
  }
  EXPECT_EQ(node, home);
}

// All keys of the queue are there, so that none keeps the server from beginning
// a request, and the request removes the last member of one.
TEST_F(SharedQueueClusterTest, ARequestDuringAMoveIsNotHalfDone) {
  Options options = MakeOptions();
  options.partitions = 1;
  options.fair.max_retries_in_process = 1;
  options.call_timeout = absl::Seconds(1);
  const auto queue = NewSharedQueue(options);
  ASSERT_TRUE(queue->AddAll({"x", "y"}));
  EXPECT_EQ(queue->Get(), "x");
  ASSERT_TRUE(queue->AddAfter("waits", absl::Hours(1)));
  const size_t home = NodeOf(internal::ClusterSlotOf(name_));
  const std::string slot = absl::StrCat(internal::ClusterSlotOf(name_));
  const std::string prefix = internal::MetaKeyOf(name_);
  for (const char* key : {":waiters", ":failing", ":parked"}) {
    const auto added = cluster().Command(
        home,
        {"ZADD", absl::StrCat(prefix, key), "9e15", "a sequence, an item"});
    ASSERT_TRUE(added.ok()) << added.status();
  }
  const auto to = cluster().Command((home + 1) % kNodes, {"CLUSTER", "MYID"});
  ASSERT_TRUE(to.ok()) << to.status();
  const auto set_slot = [&](std::vector<absl::string_view> how) {
    how.insert(how.begin(), {"CLUSTER", "SETSLOT", slot});
    const auto done = cluster().Command(home, how);
    EXPECT_TRUE(done.ok()) << done.status();
  };
  set_slot({"MIGRATING", *to});
  const absl::Status status = queue->CancelWait("waits").status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  set_slot({"STABLE"});
  const auto canceled = queue->CancelWait("waits");
  ASSERT_TRUE(canceled.ok()) << canceled.status();
  EXPECT_TRUE(*canceled);
}

TEST_F(SharedQueueClusterTest, NothingIsLostIfSlotsMoveUnderLoad) {
  const auto a = NewSharedQueue(MakeOptions());
  const auto b = NewSharedQueue(MakeOptions());
  std::set<std::string> got;
  auto worker = Async([&] {
    Lease<std::string> lease;
    while (true) {
      const absl::Status status = b->AcquireNext(&lease);
      if (absl::IsCancelled(status)) return;
      EXPECT_TRUE(status.ok()) << status;
      if (status.ok()) got.insert(*lease);
    }
  });
  std::atomic<bool> end{false};
  std::set<std::string> added;
  auto adder = Async([&] {
    for (int i = 0; !end; ++i) {
      const absl::Status status = a->AddItems({}, {Item(i)});
      EXPECT_TRUE(status.ok()) << status;
      added.insert(Item(i));
    }
  });
  const int slot = SlotOf(Item(0));
  size_t node = NodeOf(slot);
  for (int i = 0; i < 9; ++i) {
    const size_t next = (node + 1) % kNodes;
    const absl::Status moved = cluster().MoveSlot(slot, node, next);
    EXPECT_TRUE(moved.ok()) << moved;
    if (!moved.ok()) break;
    node = next;
  }
  end = true;
  adder.get();
  EXPECT_TRUE(a->ShutDownWithDrainWithin(absl::Minutes(1)));
  worker.get();
  EXPECT_EQ(got, added);
}

TEST_F(SharedQueueClusterTest, OtherMastersServeWhileOneIsDead) {
  Options options = MakeOptions();
  options.call_timeout = absl::Seconds(2);
  const size_t dead = NodeOf(SlotOf(Item(0)));
  options.redis.address = absl::StrCat(
      cluster().AddressOf(dead), ",", cluster().AddressOf((dead + 1) % kNodes));
  const auto queue = NewSharedQueue(options);
  std::set<std::string> there;
  for (int i = 0; i < 30; ++i) {
    EXPECT_TRUE(queue->Add(Item(i)));
    there.insert(Item(i));
  }
  cluster().node(dead).Kill();
  size_t of_dead = 0;
  for (const std::string& item : there) {
    const bool is_of_dead = NodeOf(SlotOf(item)) == dead;
    of_dead += is_of_dead ? 1 : 0;
  }
  EXPECT_FALSE(queue->AddItems({}, {Item(0)}).ok());
  for (size_t i = 0; i < there.size() - of_dead; ++i) {
    auto lease = queue->AcquireWithTimeout(absl::Seconds(30));
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_NE(NodeOf(SlotOf(**lease)), dead);
    EXPECT_TRUE(lease->Done());
  }
  // Its items are there when it is. A worker that waits gets them.
  auto next = Async([&] { return queue->Acquire(); });
  ASSERT_TRUE(cluster().node(dead).Restart().ok());
  for (size_t i = 0; i < kNodes; ++i) {
    ASSERT_TRUE(cluster().AwaitComplete(i).ok());
  }
  auto lease = next.get();
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(NodeOf(SlotOf(**lease)), dead);
  EXPECT_TRUE(lease->Done());
  EXPECT_EQ(queue->Len(), of_dead - 1);
}

// Two nodes, of which each says that the other one has the slot.
TEST_F(SharedQueueClusterTest, NodesThatContradictEachOtherAreNotAskedForever) {
  const std::string slot = absl::StrCat(internal::ClusterSlotOf(name_));
  const size_t home = NodeOf(internal::ClusterSlotOf(name_));
  const size_t other = (home + 1) % kNodes;
  const auto home_id = cluster().Command(home, {"CLUSTER", "MYID"});
  const auto other_id = cluster().Command(other, {"CLUSTER", "MYID"});
  ASSERT_TRUE(home_id.ok() && other_id.ok());
  const auto set_slot = [&](size_t node, const std::string& owner) {
    const auto set =
        cluster().Command(node, {"CLUSTER", "SETSLOT", slot, "NODE", owner});
    EXPECT_TRUE(set.ok()) << set.status();
  };
  set_slot(home, *other_id);
  internal::LeaderLease::Options options;
  options.name = name_;
  options.redis.address = cluster().AddressOf(home);
  options.duration = absl::Hours(1);
  options.timeout = absl::Seconds(1);
  internal::LeaderLease lease(options);
  const absl::Time begin = absl::Now();
  const absl::Status status = lease.Take().status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_LT(absl::Now() - begin, options.timeout);
  set_slot(home, *home_id);
}

TEST_F(SharedQueueClusterTest, ElectsALeader) {
  for (size_t i = 0; i < kNodes; ++i) {
    LeaderElectorOptions options;
    options.name = "leader";
    options.redis.address = cluster().AddressOf(i);
    absl::Notification leads;
    options.on_started_leading = [&](const Leadership& leadership) {
      leads.Notify();
      leadership.WaitUntilStopping();
    };
    auto elector = LeaderElector::Create(std::move(options));
    ASSERT_TRUE(elector.ok()) << elector.status();
    ASSERT_TRUE((*elector)->Start().ok());
    leads.WaitForNotification();
  }
}

}  // namespace
}  // namespace workqueue::shared_queue_cluster_test
