// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that a user with the rights in the guide can make all calls of a
// `SharedQueue` and a `LeaderElector`. The rights are read from the guide.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/docs/read_file.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/redis_cluster.h"
#include "test/shared/redis_fixture.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/shared/list_shared_queues.h"
#include "workqueue/shared/shared_queue.h"

namespace workqueue::access_test {
namespace {

using Queue = SharedQueue<std::string>;

// Returns the words of the command in the guide that makes the user.
std::vector<std::string> CommandInGuide() {
  const std::string guide = ReadFile("docs/guide.md");
  const std::vector<std::string> parts =
      absl::StrSplit(guide, "\n    ACL SETUSER ");
  EXPECT_EQ(parts.size(), 2u) << "one such line";
  // A line that ends with a backslash goes on in the next one.
  std::string text = "ACL SETUSER ";
  for (absl::string_view line : absl::StrSplit(parts.back(), '\n')) {
    const bool goes_on = absl::EndsWith(line, "\\");
    absl::StrAppend(&text, line.substr(0, line.size() - (goes_on ? 1 : 0)));
    if (!goes_on) break;
  }
  return absl::StrSplit(text, ' ', absl::SkipEmpty());
}

class AccessTest : public RedisFixture {
 protected:
  void SetUp() override {
    RedisFixture::SetUp();
    if (server() == nullptr) return;
    RedisOptions options;
    options.address = server()->socket_path();
    admin_ = *internal::RedisConnection::Connect(options, absl::Seconds(10));
    const std::vector<std::string> command = CommandInGuide();
    Send(command);
  }

  // Sends a command of the administrator.
  internal::RedisReply Send(const std::vector<std::string>& command) {
    const std::vector<absl::string_view> words(command.begin(), command.end());
    auto reply = admin_->Call(words, absl::Seconds(10));
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? *std::move(reply) : nullptr;
  }

  // The refusals that the server has logged.
  std::string Refused() {
    const internal::RedisReply log = Send({"ACL", "LOG"});
    std::string text;
    for (size_t i = 0; i < log->elements; ++i) {
      const redisReply& entry = *log->element[i];
      for (size_t j = 0; j < entry.elements; ++j) {
        if (entry.element[j]->type != REDIS_REPLY_STRING) continue;
        absl::StrAppend(&text, internal::TextOf(*entry.element[j]), " ");
      }
      absl::StrAppend(&text, "\n");
    }
    return text;
  }

  RedisOptions Redis() const {
    RedisOptions redis;
    redis.address = server()->socket_path();
    redis.username = "pods";
    redis.password = "PASSWORD";
    return redis;
  }

  std::unique_ptr<Queue> NewQueue(int partitions) {
    SharedQueueOptions<std::string> options;
    options.name = "pods";
    options.redis = Redis();
    options.partitions = partitions;
    options.clock = &clock_;
    options.clock_is_the_servers = true;
    options.log_sink = &log_;
    options.require_durable_server = true;
    if (partitions == 1) options.fair.max_retries_in_process = 1;  // groups
    return NewSharedQueue(std::move(options));
  }

  FakeClock clock_;
  RecordingLog log_;

 private:
  std::unique_ptr<internal::RedisConnection> admin_;
};

TEST_F(AccessTest, OfASharedQueue) {
  for (const int partitions : {1, 3}) {
    Send({"FLUSHALL"});
    const auto queue = NewQueue(partitions);
    EXPECT_TRUE(queue->AddItems({}, {"a", "b", "c"}).ok());
    AddOptions later;
    later.after = absl::Seconds(1);
    EXPECT_TRUE(queue->AddItems(later, {"d", "e"}).ok());
    EXPECT_TRUE(*queue->CancelWait("e"));
    for (int i = 0; i < 3; ++i) {
      auto lease = queue->Acquire();
      ASSERT_TRUE(lease.ok()) << lease.status();
      AddOptions again;
      again.rate_limited = true;
      EXPECT_TRUE(queue->AddItems(again, {**lease}).ok());
      EXPECT_EQ(*queue->CountFailures(**lease), 1);
      EXPECT_TRUE(queue->ForgetFailures(**lease).ok());
      EXPECT_TRUE(lease->Done());
    }
    const auto snapshot = queue->TakeSnapshot();
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    EXPECT_EQ(snapshot->waiting.size(), 4u);
    EXPECT_TRUE(queue->TakeSnapshotUpTo(1).ok());
    EXPECT_TRUE(queue->TakeSnapshotOf("d").ok());
    clock_.Step(absl::Minutes(1));  // renewals, and what is due
    auto lease = queue->Acquire();
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_TRUE(lease->GiveBack());
    EXPECT_TRUE(queue->ShutDownAndDrain(std::nullopt).ok());
    EXPECT_TRUE(queue->Reopen().ok());
    EXPECT_EQ(queue->Healthy(), absl::OkStatus());

    const auto queues = ListSharedQueues(Redis(), absl::Seconds(10));
    ASSERT_TRUE(queues.ok()) << queues.status();
    ASSERT_EQ(queues->size(), 1u);
    EXPECT_EQ(queues->front().partitions, partitions);
    EXPECT_EQ(FindSharedQueue(Redis(), "pods", absl::Seconds(10))->partitions,
              partitions);
    EXPECT_EQ(Refused(), "");
  }
  EXPECT_THAT(log_.messages(), testing::IsEmpty());
}

// `workqueue-inspect` lists all queues, also those that the user may not open.
TEST_F(AccessTest, OfAnInspector) {
  Send({"HSET", "{others}:workqueue", "version", "1"});
  NewQueue(1);
  const auto queues = ListSharedQueues(Redis(), absl::Seconds(10));
  ASSERT_TRUE(queues.ok()) << queues.status();
  EXPECT_EQ(queues->size(), 2u);
  EXPECT_EQ(Refused(), "");
}

TEST_F(AccessTest, OfAnElector) {
  std::vector<std::unique_ptr<LeaderElector>> electors;
  absl::Notification leads[2];
  for (absl::Notification& one_leads : leads) {
    LeaderElectorOptions options;
    options.name = "pods";
    options.redis = Redis();
    options.redis.database = 1;
    options.clock = &clock_;
    options.clock_is_the_servers = true;
    options.log_sink = &log_;
    options.on_started_leading = [&](const Leadership&) { one_leads.Notify(); };
    electors.push_back(*LeaderElector::Create(std::move(options)));
    ASSERT_TRUE(electors.back()->Start().ok());
    clock_.Step(absl::ZeroDuration());
    EXPECT_EQ(electors.back()->Healthy(), absl::OkStatus());
  }
  leads[0].WaitForNotification();
  for (int i = 0; i < 20; ++i) clock_.Step(absl::Seconds(1));
  EXPECT_TRUE(electors[0]->IsLeader());
  electors[0]->Stop();
  leads[1].WaitForNotification();  // it has heard of the release
  EXPECT_EQ(Refused(), "");
}

// Each node of a cluster has users of its own. The times are the servers'.
TEST_F(AccessTest, OfACluster) {
  constexpr int kNodes = 3;
  const auto cluster = RedisCluster::Start(kNodes);
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const std::vector<std::string> command = CommandInGuide();
  std::vector<std::string> addresses;
  for (int i = 0; i < kNodes; ++i) {
    const auto made = (*cluster)->Command(i, {command.begin(), command.end()});
    ASSERT_TRUE(made.ok()) << made.status();
    addresses.push_back((*cluster)->AddressOf(i));
  }
  RedisOptions redis = Redis();
  redis.address = absl::StrJoin(addresses, ",");

  SharedQueueOptions<std::string> options;
  options.name = "pods";
  options.redis = redis;
  options.partitions = kNodes;
  const auto queue = *Queue::Create(std::move(options));
  EXPECT_TRUE(queue->AddItems({}, {"a", "b", "c", "d"}).ok());
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(queue->Acquire()->Done());
  const auto queues = ListSharedQueues(redis, absl::Seconds(10));
  ASSERT_TRUE(queues.ok()) << queues.status();
  EXPECT_EQ(queues->size(), 1u);

  LeaderElectorOptions election;
  election.name = "pods";
  election.redis = redis;
  absl::Notification leads;
  election.on_started_leading = [&leads](const Leadership&) { leads.Notify(); };
  const auto elector = *LeaderElector::Create(std::move(election));
  ASSERT_TRUE(elector->Start().ok());
  leads.WaitForNotification();
  elector->Stop();
  for (int i = 0; i < kNodes; ++i) {
    const auto refused = (*cluster)->Command(i, {"ACL", "LOG"});
    ASSERT_TRUE(refused.ok()) << refused.status();
    EXPECT_EQ(*refused, "");
  }
}

TEST_F(AccessTest, AUserWithoutAPasswordIsThatUser) {
  RedisOptions redis = Redis();
  redis.password = "";
  const absl::Status refused =
      internal::RedisConnection::Connect(redis, absl::Seconds(10)).status();
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  Send({"ACL", "SETUSER", "pods", "nopass", "+acl|whoami"});
  const auto connection =
      internal::RedisConnection::Connect(redis, absl::Seconds(10));
  ASSERT_TRUE(connection.ok()) << connection.status();
  const auto user = (*connection)->Call({"ACL", "WHOAMI"}, absl::Seconds(10));
  ASSERT_TRUE(user.ok()) << user.status();
  EXPECT_EQ(internal::TextOf(**user), "pods");
}

TEST_F(AccessTest, APasswordThatIsMissingOrWrongIsTold) {
  Send({"CONFIG", "SET", "requirepass", "secret"});
  for (const char* password : {"", "wrong"}) {
    RedisOptions redis;
    redis.address = server()->socket_path();
    redis.password = password;
    LeaderElectorOptions election;
    election.name = "pods";
    election.redis = redis;
    election.clock = &clock_;
    const auto elector = *LeaderElector::Create(election);
    ASSERT_TRUE(elector->Start().ok());
    clock_.Step(absl::ZeroDuration());
    SharedQueueOptions<std::string> queue;
    queue.name = "pods";
    queue.redis = redis;
    for (const absl::Status& status :
         {elector->Healthy(), Queue::Create(queue).status()}) {
      EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
      const std::string message(status.message());
      EXPECT_EQ(absl::StrContains(message, "give redis.password"),
                redis.password.empty())
          << status;
      EXPECT_FALSE(absl::StrContains(message, "the user needs")) << status;
    }
  }
}

TEST_F(AccessTest, ALackOfRightsIsTold) {
  Send({"ACL", "SETUSER", "pods", "resetchannels", "-eval"});
  LeaderElectorOptions options;
  options.name = "pods";
  options.redis = Redis();
  options.clock = &clock_;
  options.log_sink = &log_;
  const auto elector = *LeaderElector::Create(options);
  ASSERT_TRUE(elector->Start().ok());
  clock_.Step(absl::ZeroDuration());
  EXPECT_EQ(elector->Healthy().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(elector->Healthy().message()),
              testing::HasSubstr("the user needs the keys ~{pods}:*, the "
                                 "channels &{pods}:*, and the commands that "
                                 "docs/guide.md names"));
  // The election works without, but slowly.
  Send({"ACL", "SETUSER", "pods", "+eval"});
  while (!testing::Matches(testing::Contains(
      testing::HasSubstr("cannot hear of releases")))(log_.messages())) {
  }
}

}  // namespace
}  // namespace workqueue::access_test
