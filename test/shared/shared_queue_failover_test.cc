// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests what a `SharedQueue` and a `LeaderElector` do when another server takes
// the place of theirs, behind the same address, while the old one goes on to
// answer; and when a server refuses its service for some time.

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/redis_fixture.h"
#include "test/shared/redis_server.h"
#include "test/shared/reply_proxy.h"
#include "workqueue/clock/clock.h"
#include "workqueue/leader_election/internal/leader_lease.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue::shared_queue_failover_test {
namespace {

using Queue = SharedQueue<std::string>;

std::unique_ptr<Queue> NewQueue(const std::string& address) {
  SharedQueueOptions<std::string> options;
  options.name = "q";
  options.redis.address = address;
  options.require_durable_server = true;
  return NewSharedQueue(options);
}

internal::LeaderLease::Options ElectionAt(const std::string& address) {
  internal::LeaderLease::Options options;
  options.name = "election";
  options.redis.address = address;
  options.identity = "old";
  options.duration = absl::Hours(1);
  options.timeout = absl::Seconds(10);
  return options;
}

void Sleep(absl::Duration d) { Clock::GetRealClock()->Sleep(d); }

// How a server ends its service. Each is a list of commands.
struct Demotion {
  const char* name;
  std::vector<std::vector<absl::string_view>> commands;
};

std::vector<Demotion> Demotions() {
  return {
      {"ToReplica", {{"REPLICAOF", "127.0.0.1", "1"}}},
      {"ToReplicaWithoutMaster",
       {{"CONFIG", "SET", "replica-serve-stale-data", "no"},
        {"REPLICAOF", "127.0.0.1", "1"}}},
      {"WithoutReplicas", {{"CONFIG", "SET", "min-replicas-to-write", "1"}}},
  };
}

class SharedQueueFailoverTest : public RedisFixture,
                                public testing::WithParamInterface<Demotion> {
 protected:
  void SetUp() override {
    RedisFixture::SetUp();
    if (server() == nullptr) return;
    auto other = RedisServer::Start();
    ASSERT_TRUE(other.ok()) << other.status();
    other_ = *std::move(other);
    proxy_ = std::make_unique<ReplyProxy>(server()->socket_path());
  }

  // Sends a command to the old server, and returns the size of its reply.
  size_t Command(const std::vector<absl::string_view>& words) {
    const auto reply = SendTo(server()->socket_path(), words);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? (*reply)->elements : 0;
  }

  void Demote() {
    for (const auto& command : GetParam().commands) Command(command);
  }

  // Nobody listens to the old server soon.
  void ExpectNoListener(const char* command) {
    while (Command({"PUBSUB", command}) > 0) Sleep(absl::Milliseconds(10));
  }

  std::unique_ptr<RedisServer> other_;
  std::unique_ptr<ReplyProxy> proxy_;
};

INSTANTIATE_TEST_SUITE_P(Any, SharedQueueFailoverTest,
                         testing::ValuesIn(Demotions()), [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST_P(SharedQueueFailoverTest, CallsFindTheNewServer) {
  const auto queue = NewQueue(proxy_->socket_path());
  ASSERT_TRUE(queue->Add("old"));
  Demote();
  auto failover = Async([this] {
    Sleep(absl::Milliseconds(200));
    proxy_->LeadTo(other_->socket_path());
  });
  const absl::Status status = queue->AddItems({}, {"new"});
  EXPECT_TRUE(status.ok()) << status;
  failover.get();
  EXPECT_EQ(NewQueue(other_->socket_path())->Get(), "new");
}

TEST_P(SharedQueueFailoverTest, ANewClientFindsTheNewServer) {
  Demote();
  auto failover = Async([this] {
    Sleep(absl::Milliseconds(200));
    proxy_->LeadTo(other_->socket_path());
  });
  const auto queue = NewQueue(proxy_->socket_path());
  failover.get();
  EXPECT_TRUE(queue->Add("x"));
}

TEST_P(SharedQueueFailoverTest, WorkersThatWaitAreServedByTheNewServer) {
  const auto queue = NewQueue(proxy_->socket_path());
  auto got = Async([&queue] { return queue->Get(); });
  Sleep(absl::Milliseconds(50));
  Demote();
  proxy_->LeadTo(other_->socket_path());
  ASSERT_TRUE(queue->Add("first"));
  EXPECT_EQ(got.get(), "first");
  ExpectNoListener("SHARDCHANNELS");
  // The engine pushes what other processes add to the new server.
  got = Async([&queue] { return queue->Get(); });
  ASSERT_TRUE(NewQueue(other_->socket_path())->Add("second"));
  EXPECT_EQ(got.get(), "second");
}

TEST_P(SharedQueueFailoverTest, ALeaderLeadsThere) {
  LeaderElectorOptions options;
  options.name = "election";
  options.redis.address = proxy_->socket_path();
  options.lease_duration = absl::Seconds(60);
  options.renew_deadline = absl::Seconds(30);
  options.retry_period = absl::Milliseconds(50);
  auto elector = LeaderElector::Create(options);
  ASSERT_TRUE(elector.ok()) << elector.status();
  ASSERT_TRUE((*elector)->Start().ok());
  int64_t token;
  while ((token = (*elector)->token()) == 0) Sleep(absl::Milliseconds(1));
  Demote();
  // On a loaded machine, an attempt may have no answer in its time before.
  while (!absl::IsUnavailable((*elector)->Healthy())) {
    Sleep(absl::Milliseconds(1));
  }
  proxy_->LeadTo(other_->socket_path());
  while ((*elector)->token() <= token) Sleep(absl::Milliseconds(1));
  while (!(*elector)->Healthy().ok()) Sleep(absl::Milliseconds(1));
  ExpectNoListener("CHANNELS");
}

// Two servers that change places.
class SharedQueueSwitchoverTest : public RedisFixture {
 protected:
  SharedQueueSwitchoverTest()
      : RedisFixture(RedisServer::Options::WithReplicas()) {}

  // Sends a command to a server, and returns the text of its reply, if any.
  static std::string Send(const RedisServer& to,
                          const std::vector<absl::string_view>& words) {
    const auto reply = SendTo(to.socket_path(), words);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? std::string(internal::TextOf(**reply)) : "";
  }

  // Makes `replica` one of `master`, and waits until it has all of its data and
  // messages so far.
  static void Follow(const RedisServer& replica, const RedisServer& master) {
    Send(replica, {"REPLICAOF", "127.0.0.1", absl::StrCat(master.port())});
    AwaitAll(replica, master);
  }

  static void AwaitAll(const RedisServer& replica, const RedisServer& master) {
    static int number = 0;
    const std::string marker = absl::StrCat(++number);
    Send(master, {"SET", "marker", marker});
    while (!absl::StrContains(Send(replica, {"INFO", "replication"}),
                              "master_link_status:up") ||
           Send(replica, {"GET", "marker"}) != marker) {
      Sleep(absl::Milliseconds(5));
    }
  }
};

// The old server goes on to pass on to its listeners what the new one
// publishes.
TEST_F(SharedQueueSwitchoverTest, AnItemGoesToOneProcess) {
  if (server() == nullptr) return;
  const auto other = RedisServer::Start(RedisServer::Options::WithReplicas());
  ASSERT_TRUE(other.ok()) << other.status();
  RedisServer &a = *server(), &b = **other;
  ReplyProxy proxy(a.socket_path());
  constexpr int kProcesses = 3;
  std::vector<std::unique_ptr<Queue>> queues;
  std::vector<std::future<std::optional<std::string>>> got;
  for (int i = 0; i < kProcesses; ++i) {
    queues.push_back(NewQueue(proxy.socket_path()));
    got.push_back(
        Async([queue = queues.back().get()] { return queue->Get(); }));
  }
  while (Send(a, {"EVAL", "return tostring(redis.call('ZCARD', KEYS[1]))", "1",
                  "{q}:workqueue:waiters"}) != absl::StrCat(kProcesses)) {
    Sleep(absl::Milliseconds(5));
  }
  Follow(b, a);
  Send(b, {"REPLICAOF", "NO", "ONE"});
  Follow(a, b);
  const auto producer = NewQueue(b.socket_path());
  ASSERT_TRUE(producer->Add("x"));
  AwaitAll(a, b);
  proxy.LeadTo(b.socket_path());
  for (const auto& queue : queues) EXPECT_TRUE(queue->ForgetFailures("x").ok());
  producer->ShutDown();
  int processes = 0;
  for (auto& each : got) processes += each.get() == "x" ? 1 : 0;
  EXPECT_EQ(processes, 1);
}

// A replica has old data.
TEST_F(SharedQueueSwitchoverTest, WhoLooksDoesNotAskAReplica) {
  if (server() == nullptr) return;
  const auto other = RedisServer::Start();
  ASSERT_TRUE(other.ok()) << other.status();
  ReplyProxy proxy(server()->socket_path());
  const auto queue = NewQueue(proxy.socket_path());
  ASSERT_TRUE(queue->Add("old"));
  internal::LeaderLease lease(ElectionAt(proxy.socket_path()));
  ASSERT_TRUE(lease.Take().ok());
  Send(*server(), {"REPLICAOF", "127.0.0.1", "1"});
  proxy.LeadTo((*other)->socket_path());
  const auto snapshot = queue->TakeSnapshot();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->queued.size(), 0u);
  const auto state = lease.Look();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->holder, "");
}

TEST_F(SharedQueueSwitchoverTest, WhoLooksNeedsNoWrites) {
  if (server() == nullptr) return;
  const auto queue = NewQueue(server()->socket_path());
  ASSERT_TRUE(queue->Add("x"));
  internal::LeaderLease lease(ElectionAt(server()->socket_path()));
  ASSERT_TRUE(lease.Take().ok());
  Send(*server(), {"CONFIG", "SET", "min-replicas-to-write", "1"});
  const auto snapshot = queue->TakeSnapshot();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->queued.size(), 1u);
  const auto state = lease.Look();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->holder, "old");
}

// Errors of a server that refuses its service for a while. The client must try
// again.
class PassingStateTest : public SharedQueueFailoverTest {};

INSTANTIATE_TEST_SUITE_P(
    Any, PassingStateTest,
    testing::Values(
        Demotion{"Loading", {{"LOADING Redis is loading the dataset"}}},
        Demotion{"ReadOnly",
                 {{"READONLY You can't write against a read only replica."}}},
        Demotion{"MasterDown", {{"MASTERDOWN Link with MASTER is down"}}},
        Demotion{"NoReplicas", {{"NOREPLICAS Not enough good replicas"}}},
        Demotion{"ClusterDown", {{"CLUSTERDOWN The cluster is down"}}},
        Demotion{"TryAgain", {{"TRYAGAIN Multiple keys request"}}},
        Demotion{"Ask", {{"ASK 1 127.0.0.1:1"}}},
        Demotion{"Busy", {{"BUSY Redis is busy running a script."}}},
        Demotion{"MaxClients", {{"ERR max number of clients reached"}}},
        Demotion{
            "MaxClientsOfACluster",
            {{"ERR max number of clients + cluster connections reached"}}}),
    [](const auto& info) { return std::string(info.param.name); });

// Each call of a queue that has "x" in process, once, and "ready" and
// "waiting".
struct Call {
  const char* name;
  absl::Status (*call)(Queue& queue);
};

constexpr Call kCalls[] = {
    {"Add", [](Queue& q) { return q.AddItems({}, {"y"}); }},
    {"AddAll",
     [](Queue& q) {
       return q.AddItems({}, {"y", "z"});
     }},
    {"AddAfter",
     [](Queue& q) {
       return q.AddItems(AddOptions::After(absl::Hours(1)), {"y"});
     }},
    {"Reschedule",
     [](Queue& q) {
       return q.AddItems(AddOptions::Reschedule(absl::Hours(1)), {"y"});
     }},
    {"CancelDelayed",
     [](Queue& q) { return q.CancelWait("waiting").status(); }},
    {"AddRateLimited",
     [](Queue& q) { return q.AddItems(AddOptions::RateLimited(), {"x"}); }},
    {"Forget", [](Queue& q) { return q.ForgetFailures("x"); }},
    {"NumRequeues", [](Queue& q) { return q.CountFailures("x").status(); }},
    {"Done", [](Queue& q) { return q.EndProcessing("x").status(); }},
    {"Len", [](Queue& q) { return q.TakeSnapshotUpTo(0).status(); }},
    {"Count", [](Queue& q) { return q.Count().status(); }},
    {"TakeSnapshot", [](Queue& q) { return q.TakeSnapshot().status(); }},
    {"TakeSnapshotOf", [](Queue& q) { return q.TakeSnapshotOf("x").status(); }},
    {"TryGet", [](Queue& q) { return q.TryGet().status(); }},
    {"TryAcquire", [](Queue& q) { return q.TryAcquire().status(); }},
    {"AcquireUpTo",
     [](Queue& q) { return q.AcquireUpToWithTimeout(2, {}).status(); }},
    {"ShutDown",
     [](Queue& q) { return q.ShutDownAndDrain(std::nullopt).status(); }},
    {"Reopen", [](Queue& q) { return q.Reopen(); }},
};

TEST_P(PassingStateTest, IsNotSeenIfItPasses) {
  const auto queue = NewQueue(proxy_->socket_path());
  for (const Call& call : kCalls) {
    ASSERT_TRUE(queue->Reopen().ok());
    ASSERT_TRUE(queue->AddAll({"x", "ready"}));
    ASSERT_TRUE(queue->AddAfter("waiting", absl::Hours(1)));
    while (queue->TryGet().ok()) {
    }
    ASSERT_TRUE(queue->Done("ready"));
    ASSERT_TRUE(queue->Add("ready"));
    std::atomic<int> left{2};
    proxy_->SetHook([&left](std::string* reply) {
      if (left-- > 0) {
        *reply = absl::StrCat("-", GetParam().commands[0][0], "\r\n");
      }
    });
    const absl::Status status = call.call(*queue);
    EXPECT_TRUE(status.ok()) << call.name << ": " << status;
    EXPECT_LE(left, 0) << call.name;
    proxy_->SetHook(nullptr);
    const auto snapshot = queue->TakeSnapshot();
    for (const auto& item : snapshot->processing) {
      queue->Done(item.item);
    }
  }
}

TEST_P(PassingStateTest, IsAnErrorOfACallIfItLasts) {
  SharedQueueOptions<std::string> options;
  options.name = "q";
  options.redis.address = proxy_->socket_path();
  options.call_timeout = absl::Seconds(1);
  auto queue = Queue::Create(options);
  ASSERT_TRUE(queue.ok()) << queue.status();
  proxy_->SetHook([](std::string* reply) {
    *reply = absl::StrCat("-", GetParam().commands[0][0], "\r\n");
  });
  const absl::Status status = (*queue)->AddItems({}, {"x"});
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::IsUnavailable(Queue::Create(options).status()));
  proxy_->SetHook(nullptr);
}

}  // namespace
}  // namespace workqueue::shared_queue_failover_test
