// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/list_shared_queues.h"

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/shared/redis_cluster.h"
#include "test/shared/redis_fixture.h"
#include "test/shared/redis_server.h"
#include "test/shared/reply_proxy.h"
#include "workqueue/clock/clock.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/shared/internal/queue_keys.h"
#include "workqueue/shared/shared_queue.h"

namespace workqueue::list_shared_queues_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kTimeout = absl::Seconds(30);
constexpr absl::Duration kShort = absl::Milliseconds(300);

// Each queue as "NAME PARTITIONS", or the error.
std::vector<std::string> List(const RedisOptions& redis) {
  const auto queues = ListSharedQueues(redis, kTimeout);
  if (!queues.ok()) return {queues.status().ToString()};
  std::vector<std::string> texts;
  for (const SharedQueueName& queue : *queues) {
    texts.push_back(absl::StrCat(queue.name, " ", queue.partitions));
  }
  return texts;
}

// Opens and closes a queue, which remains in the server.
void Make(const RedisOptions& redis, const std::string& name, int partitions) {
  SharedQueueOptions<std::string> options;
  options.name = name;
  options.redis = redis;
  options.partitions = partitions;
  const auto queue = SharedQueue<std::string>::Create(options);
  ASSERT_TRUE(queue.ok()) << queue.status();
}

class ListSharedQueuesTest : public RedisFixture {
 protected:
  void SetUp() override {
    RedisFixture::SetUp();
    if (server() != nullptr) redis_.address = server()->socket_path();
  }

  // Sends a command, which must succeed. Returns the number in the reply.
  int64_t Command(const std::vector<absl::string_view>& words) {
    const auto reply = SendTo(redis_.address, words);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return (*reply)->integer;
  }

  RedisOptions redis_;
};

TEST_F(ListSharedQueuesTest, FindsNothingInAnEmptyServerAndChangesNothing) {
  EXPECT_THAT(List(redis_), IsEmpty());
  EXPECT_TRUE(
      absl::IsNotFound(FindSharedQueue(redis_, "pods", kTimeout).status()));
  EXPECT_EQ(Command({"DBSIZE"}), 0);
}

TEST_F(ListSharedQueuesTest, FindsQueuesOfAnyNameOnce) {
  const std::string odd("*[a]\n\0?", 7);
  Make(redis_, odd, 1);
  Make(redis_, "pods", 3);
  // It looks like a partition of the one before, but has none.
  Make(redis_, "pods/1.0", 1);
  // It has as many partitions, but another name than theirs.
  Make(redis_, "pods/1.x", 3);
  Make(redis_, "pods/4.1", 3);
  EXPECT_THAT(List(redis_), ElementsAre(odd + " 1", "pods 3", "pods/1.0 1",
                                        "pods/1.x 3", "pods/4.1 3"));
  const auto pods = FindSharedQueue(redis_, "pods", kTimeout);
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_EQ(pods->partitions, 3);
  const auto found = FindSharedQueue(redis_, odd, kTimeout);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->name, odd);
}

// A program that opened a partition would divide it into partitions again.
TEST_F(ListSharedQueuesTest, APartitionIsNoQueue) {
  Make(redis_, "pods", 3);
  const std::string name = internal::PartitionName("pods", 1, 3);
  EXPECT_EQ(FindSharedQueue(redis_, name, kTimeout).status(),
            absl::NotFoundError(absl::StrCat(
                "\"", name, "\" is a partition of the shared queue \"pods\"")));
}

TEST_F(ListSharedQueuesTest, PassesOverOtherKeys) {
  Command({"SET", "{pods}:workqueue", "text"});
  Command({"HSET", "{other}:workqueue", "a", "b"});
  Command({"HSET", "{}:workqueue", "version", "1"});
  Command({"HSET", "{a}b}:workqueue", "version", "1"});
  Command({"HSET", "{a}:workqueue:items", "version", "1"});
  EXPECT_THAT(List(redis_), IsEmpty());
  EXPECT_TRUE(
      absl::IsNotFound(FindSharedQueue(redis_, "other", kTimeout).status()));
}

// Looking for two billion partitions would take minutes.
TEST_F(ListSharedQueuesTest, ALayoutOfTooManyPartitionsHasOne) {
  for (const char* version : {"5/2147483647", "5/257", "5/0", "5/-3", "5/x"}) {
    for (const char* name : {"a", "a/1.x"}) {
      Command(
          {"HSET", absl::StrCat("{", name, "}:workqueue"), "version", version});
    }
    EXPECT_THAT(List(redis_), ElementsAre("a 1", "a/1.x 1")) << version;
  }
}

TEST_F(ListSharedQueuesTest, LooksAtMoreKeysThanOneStepReturns) {
  for (int i = 0; i < 30; ++i) Make(redis_, absl::StrCat("q", i), 1);
  for (int i = 0; i < 5000; i += 10) {
    std::vector<std::string> words = {"MSET"};
    for (int j = i; j < i + 10; ++j) {
      words.push_back(absl::StrCat("key", j));
      words.push_back("");
    }
    Command({words.begin(), words.end()});
  }
  EXPECT_EQ(List(redis_).size(), 30);
}

TEST_F(ListSharedQueuesTest, ReturnsErrors) {
  RedisOptions wrong;
  wrong.address = "nowhere";
  EXPECT_TRUE(
      absl::IsInvalidArgument(ListSharedQueues(wrong, kTimeout).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      FindSharedQueue(wrong, "pods", kTimeout).status()));
  server()->Kill();
  constexpr absl::Duration kSoon = absl::Milliseconds(20);
  EXPECT_TRUE(absl::IsUnavailable(ListSharedQueues(redis_, kSoon).status()));
  EXPECT_TRUE(
      absl::IsUnavailable(FindSharedQueue(redis_, "pods", kSoon).status()));
}

// It may know nothing of the server's queues yet.
TEST_F(ListSharedQueuesTest, AReplicaIsNotEmpty) {
  Command({"REPLICAOF", "127.0.0.1", "1"});
  for (const absl::Status& status :
       {ListSharedQueues(redis_, kShort).status(),
        FindSharedQueue(redis_, "pods", kShort).status()}) {
    EXPECT_EQ(status, absl::UnavailableError("the server is a replica"));
  }
}

// States of a server that pass, and a connection that breaks.
constexpr const char* kPassing[] = {"-MASTERDOWN Link with MASTER is down\r\n",
                                    "-BUSY Redis is busy running a script.\r\n",
                                    "-ERR max number of clients reached\r\n",
                                    "-LOADING Redis is loading the dataset\r\n",
                                    "?\r\n"};

TEST_F(ListSharedQueuesTest, WaitsForAServerThatIsNotReady) {
  Make(redis_, "pods", 2);
  ReplyProxy proxy(redis_.address);
  redis_.address = proxy.socket_path();
  for (const char* passing : kPassing) {
    std::atomic<int> left{0};
    proxy.SetHook([&left, passing](std::string* reply) {
      if (left-- > 0) *reply = passing;
    });
    left = 3;
    EXPECT_THAT(List(redis_), ElementsAre("pods 2")) << passing;
    EXPECT_LE(left, 0);
    left = 3;
    const auto found = FindSharedQueue(redis_, "pods", kTimeout);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->partitions, 2);
    EXPECT_LE(left, 0);
    proxy.SetHook(nullptr);
  }
}

// The time is that of the call, not of each of its requests.
TEST_F(ListSharedQueuesTest, ReturnsInTimeIfTheServerIsNeverReady) {
  for (int i = 0; i < 40; ++i) Make(redis_, absl::StrCat("q", i), 1);
  ReplyProxy proxy(redis_.address);
  redis_.address = proxy.socket_path();
  for (const char* passing : kPassing) {
    proxy.SetHook([passing](std::string* reply) { *reply = passing; });
    EXPECT_FALSE(ListSharedQueues(redis_, kShort).ok()) << passing;
    EXPECT_FALSE(FindSharedQueue(redis_, "q1", kShort).ok()) << passing;
    proxy.SetHook(nullptr);
  }
  proxy.Drip(true);
  Clock* const clock = Clock::GetRealClock();
  const absl::Time start = clock->TimeNow();
  const absl::Status status =
      ListSharedQueues(redis_, absl::Seconds(1)).status();
  EXPECT_TRUE(absl::IsUnknown(status)) << status;
  // The names of the queues have more than 800 bytes: 16 seconds.
  EXPECT_LT(clock->TimeNow() - start, absl::Seconds(5));
}

TEST(ListSharedQueuesClusterTest, AsksAllNodes) {
  const auto cluster = RedisCluster::Start(3);
  if (absl::IsNotFound(cluster.status()) && !RedisServer::IsRequired()) {
    GTEST_SKIP() << cluster.status().message();
  }
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  RedisOptions redis;
  redis.address = (*cluster)->AddressOf(0);
  std::vector<std::string> expected;
  std::set<int> nodes;
  for (int i = 0; i < 9; ++i) {
    const std::string name = absl::StrCat("q", i);
    nodes.insert(internal::ClusterSlotOf(name) * 3 / internal::kClusterSlots);
    Make(redis, name, 2);
    expected.push_back(name + " 2");
  }
  ASSERT_EQ(nodes.size(), 3);
  EXPECT_EQ(List(redis), expected);
  // The first address does not answer.
  redis.address = absl::StrCat("127.0.0.1:1,", (*cluster)->AddressOf(1));
  EXPECT_EQ(List(redis), expected);
  for (int i = 0; i < 9; ++i) {
    const auto found = FindSharedQueue(redis, absl::StrCat("q", i), kTimeout);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->partitions, 2);
  }
  // Nodes that leave their hosts out are where the answer comes from.
  for (int node = 0; node < 3; ++node) {
    redis.address = (*cluster)->AddressOf(node);
    const auto reply = SendTo(
        redis.address, {"CONFIG", "SET", "cluster-preferred-endpoint-type",
                        "unknown-endpoint"});
    ASSERT_TRUE(reply.ok()) << reply.status();
  }
  EXPECT_EQ(List(redis), expected);
  // Nobody knows what is in a slot without a node.
  redis.address = (*cluster)->AddressOf(0);
  ASSERT_TRUE(SendTo(redis.address, {"CLUSTER", "DELSLOTS", "0"}).ok());
  EXPECT_EQ(ListSharedQueues(redis, kShort).status(),
            absl::UnavailableError(
                "the cluster's nodes have 16383 of its 16384 slots"));
}

TEST(ListSharedQueuesClusterTest, ANodeOutsideAClusterIsNotEmpty) {
  RedisServer::Options options;
  options.tcp = options.cluster = true;
  const auto node = RedisServer::Start(options);
  if (absl::IsNotFound(node.status()) && !RedisServer::IsRequired()) {
    GTEST_SKIP() << node.status().message();
  }
  ASSERT_TRUE(node.ok()) << node.status();
  RedisOptions redis;
  redis.address = (*node)->socket_path();
  EXPECT_EQ(
      ListSharedQueues(redis, kShort).status(),
      absl::UnavailableError("the cluster's nodes have 0 of its 16384 slots"));
}

}  // namespace
}  // namespace workqueue::list_shared_queues_test
