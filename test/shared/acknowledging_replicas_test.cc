// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that what has been acknowledged is on the disks of the replicas.

#include <memory>
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
#include "test/shared/redis_fixture.h"
#include "test/shared/redis_server.h"
#include "test/shared/reply_proxy.h"
#include "workqueue/leader_election/internal/leader_lease.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/shared/shared_queue.h"

namespace workqueue::acknowledging_replicas_test {
namespace {

using Queue = SharedQueue<std::string>;

class AcknowledgingReplicasTest : public RedisFixture {
 protected:
  AcknowledgingReplicasTest()
      : RedisFixture(RedisServer::Options::WithReplicas()) {}

  bool CanWait() {
    return SendTo(server()->socket_path(), {"WAITAOF", "0", "0", "1"}).ok();
  }

  static absl::StatusOr<std::unique_ptr<Queue>> Open(
      const std::string& address, int replicas,
      absl::Duration call_timeout = absl::Seconds(30)) {
    SharedQueueOptions<std::string> options;
    options.name = "q";
    options.redis.address = address;
    options.redis.acknowledging_replicas = replicas;
    options.call_timeout = call_timeout;
    return Queue::Create(options);
  }
};

TEST_F(AcknowledgingReplicasTest, ANegativeNumberIsRefused) {
  EXPECT_EQ(Open("h:1", -1).status(),
            absl::InvalidArgumentError(
                "acknowledging_replicas is -1; it must not be negative"));
}

TEST_F(AcknowledgingReplicasTest, AServerThatCannotWaitIsRefused) {
  if (server() == nullptr) return;
  ReplyProxy proxy(server()->socket_path());
  EXPECT_TRUE(Open(proxy.socket_path(), 0).ok());
  // What Redis 7.0 says.
  proxy.SetHook([](std::string* reply) {
    *reply = "-ERR unknown command 'WAITAOF', with args beginning with: \r\n";
  });
  const absl::Status status = Open(proxy.socket_path(), 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(
      status.message(),
      "acknowledging_replicas is 1, which needs Redis 7.2 or Valkey 8, with "
      "appendonly yes: the server says: ERR unknown command"))
      << status;
}

// Lets a server that does not know WAITAOF say that `replicas` have the data on
// their disks.
void LetAcknowledge(int replicas, std::string* reply) {
  const size_t error = reply->find("-ERR unknown command 'WAITAOF'");
  if (error == std::string::npos) return;
  const size_t end = reply->find("\r\n", error) + 2;
  reply->replace(error, end - error,
                 absl::StrCat("*2\r\n:1\r\n:", replicas, "\r\n"));
}

TEST_F(AcknowledgingReplicasTest, WhatTooFewAcknowledgeIsNoSuccess) {
  if (server() == nullptr) return;
  if (CanWait()) GTEST_SKIP() << "the next test has a server that can wait";
  ReplyProxy proxy(server()->socket_path());
  proxy.SetHook([](std::string* reply) { LetAcknowledge(2, reply); });
  const auto queue = Open(proxy.socket_path(), 2, absl::Seconds(2));
  ASSERT_TRUE(queue.ok()) << queue.status();
  EXPECT_TRUE((*queue)->AddItems({}, {"a"}).ok());
  proxy.SetHook([](std::string* reply) { LetAcknowledge(1, reply); });
  const absl::Status status = (*queue)->AddItems({}, {"b"});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_TRUE(absl::StrContains(status.message(),
                                "acknowledging_replicas is 2, but only 1 had "
                                "it on the disk in time"))
      << status;
  proxy.SetHook([](std::string* reply) { LetAcknowledge(3, reply); });
  EXPECT_TRUE((*queue)->AddItems({}, {"b"}).ok());
  EXPECT_EQ((*queue)->Len(), 2u);
  proxy.SetHook(nullptr);
  EXPECT_EQ((*queue)->AddItems({}, {"c"}).code(), absl::StatusCode::kUnknown);
}

TEST_F(AcknowledgingReplicasTest, WhoOnlyLooksNeedsNone) {
  if (server() == nullptr) return;
  if (CanWait()) GTEST_SKIP() << "the last test has a server that can wait";
  ReplyProxy proxy(server()->socket_path());
  proxy.SetHook([](std::string* reply) { LetAcknowledge(1, reply); });
  const auto queue = Open(proxy.socket_path(), 1, absl::Seconds(1));
  ASSERT_TRUE(queue.ok()) << queue.status();
  EXPECT_TRUE((*queue)->AddItems({}, {"a"}).ok());
  proxy.SetHook([](std::string* reply) { LetAcknowledge(0, reply); });
  const auto snapshot = (*queue)->TakeSnapshot();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->queued.size(), 1u);
  internal::LeaderLease::Options election;
  election.name = "e";
  election.redis.address = proxy.socket_path();
  election.redis.acknowledging_replicas = 1;
  election.duration = absl::Hours(1);
  election.timeout = absl::Seconds(1);
  internal::LeaderLease lease(election);
  EXPECT_TRUE(lease.Look().ok());
  EXPECT_EQ(lease.Take().status().code(), absl::StatusCode::kUnknown);
}

TEST_F(AcknowledgingReplicasTest, AnErrorNeedsNoAcknowledgement) {
  if (server() == nullptr) return;
  ReplyProxy proxy(server()->socket_path());
  proxy.SetHook([](std::string* reply) { LetAcknowledge(0, reply); });
  RedisOptions redis;
  redis.address = proxy.socket_path();
  const auto call = [](internal::RedisConnection& connection,
                       const std::vector<absl::string_view>& words,
                       bool changes) {
    return connection.Call(words, absl::Seconds(1), changes).status();
  };
  redis.acknowledging_replicas = 1;
  const auto connection =
      internal::RedisConnection::Connect(redis, absl::Seconds(10));
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_TRUE(absl::IsNotFound(
      call(**connection, {"EVALSHA", "no such one", "0"}, true)));
  EXPECT_TRUE(call(**connection, {"PING"}, false).ok());
  EXPECT_EQ(call(**connection,
                 {"EVAL", "redis.call('SET', KEYS[1], '')", "1", "x"}, true)
                .code(),
            absl::StatusCode::kUnknown);
  EXPECT_TRUE((*connection)->broken());
}

TEST_F(AcknowledgingReplicasTest, AReplicaHasWhatWasAcknowledged) {
  if (server() == nullptr) return;
  if (!CanWait()) GTEST_SKIP() << "the server has no WAITAOF";
  RedisServer::Options options = RedisServer::Options::WithReplicas();
  options.config = {absl::StrCat("replicaof 127.0.0.1 ", server()->port())};
  const auto replica = RedisServer::Start(options);
  ASSERT_TRUE(replica.ok()) << replica.status();
  // It connects some time later.
  absl::StatusOr<std::unique_ptr<Queue>> queue;
  do {
    queue = Open(server()->socket_path(), 1, absl::Seconds(2));
  } while (absl::IsUnknown(queue.status()));
  ASSERT_TRUE(queue.ok()) << queue.status();
  ASSERT_TRUE((*queue)->AddItems({}, {"a"}).ok());

  (*replica)->Pause();
  // The second time it changes nothing, and yet promises that the item is
  // there.
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = (*queue)->AddItems({}, {"b"});
    EXPECT_EQ(status.code(), absl::StatusCode::kUnknown) << status;
  }
  internal::LeaderLease::Options election;
  election.name = "e";
  election.redis.address = server()->socket_path();
  election.redis.acknowledging_replicas = 1;
  election.duration = absl::Hours(1);
  election.timeout = absl::Seconds(1);
  internal::LeaderLease lease(election);
  EXPECT_EQ(lease.Take().status().code(), absl::StatusCode::kUnknown);
  (*replica)->Resume();
  const auto taken = lease.Take();
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_TRUE(taken->done);
  ASSERT_TRUE((*queue)->AddItems({}, {"b"}).ok());
  queue->reset();

  server()->Kill();
  ASSERT_TRUE((*replica)->Restart().ok());
  ASSERT_TRUE(
      SendTo((*replica)->socket_path(), {"REPLICAOF", "NO", "ONE"}).ok());
  const auto found = Open((*replica)->socket_path(), 0);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)->TryGet().value_or(""), "a");
}

}  // namespace
}  // namespace workqueue::acknowledging_replicas_test
