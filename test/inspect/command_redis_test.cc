// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs the program workqueue-inspect on a Redis server.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/run_program.h"
#include "test/inspect/run_inspect.h"
#include "test/shared/redis_fixture.h"
#include "test/shared/redis_server.h"
#include "workqueue/lease.h"
#include "workqueue/shared/internal/redis_connection.h"
#include "workqueue/shared/redis_options.h"
#include "workqueue/shared/shared_queue.h"

namespace workqueue::command_redis_test {
namespace {

using ::examples::Outcome;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Queue = SharedQueue<std::string>;

RedisServer::Options WithTcp() {
  RedisServer::Options options;
  options.tcp = true;
  return options;
}

class CommandRedisTest : public RedisFixture {
 protected:
  CommandRedisTest() : RedisFixture(WithTcp()) {}

  void SetUp() override {
    RedisFixture::SetUp();
    if (server() == nullptr) return;
    redis_.address = server()->socket_path();
    url_ = absl::StrCat("unix://", server()->socket_path());
  }

  std::unique_ptr<Queue> Open(const std::string& name, int partitions = 1) {
    SharedQueueOptions<std::string> options;
    options.name = name;
    options.redis = redis_;
    options.partitions = partitions;
    auto queue = Queue::Create(options);
    EXPECT_TRUE(queue.ok()) << queue.status();
    return *std::move(queue);
  }

  // Sends a command, which must succeed. Returns the number in the reply.
  int64_t Command(const std::vector<absl::string_view>& words) {
    const auto connection =
        internal::RedisConnection::Connect(redis_, absl::Seconds(30));
    EXPECT_TRUE(connection.ok()) << connection.status();
    const auto reply = (*connection)->Call(words, absl::Seconds(30));
    EXPECT_TRUE(reply.ok()) << reply.status();
    return (*reply)->integer;
  }

  RedisOptions redis_;
  std::string url_;
};

TEST_F(CommandRedisTest, ShowsQueuesAndTakesNoItem) {
  const auto queue = Open("my pods");
  ASSERT_TRUE(queue->AddWithStatus("held").ok());
  absl::StatusOr<Lease<std::string>> lease =
      queue->AcquireWithTimeout(absl::Seconds(30));
  ASSERT_TRUE(lease.ok()) << lease.status();
  ASSERT_TRUE(queue->AddWithStatus("a\033b").ok());
  ASSERT_TRUE(queue->AddAfterWithStatus("later", absl::Hours(24)).ok());
  Open("other", 3);

  const Outcome list = RunInspect({"--table", url_, "list"});
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_EQ(
      list.out,
      R"(NAME     KIND          QUEUED  PROCESSING  WAITING  FAILING  HEALTH
my pods  shared queue       1           1        1        0  OK
other    shared queue       0           0        0        0  OK

Nothing needs attention.
)");

  const Outcome show = RunInspect({"--table", url_, "show", "my pods"});
  EXPECT_EQ(show.exit_code, 0);
  EXPECT_THAT(
      show.out,
      AllOf(StartsWith("my pods (shared queue)\n\n  queued      1\n"),
            HasSubstr("\n  partitions  1\n"), HasSubstr("Processing (1):\n"),
            HasSubstr("\n  held "), HasSubstr("\n  a\\033b "),
            ContainsRegex("later +23h59m\n")));
  EXPECT_THAT(RunInspect({url_, "show", "my pods"}).out,
              StartsWith("{\"version\":1,\"name\":\"my pods\",\"kind\":"
                         "\"shared queue\","));
  EXPECT_THAT(RunInspect({"--table", url_, "show", "other"}).out,
              HasSubstr("\n  partitions  3\n"));

  EXPECT_TRUE(lease->Done());
  absl::StatusOr<std::string> next = queue->GetWithTimeout(absl::Seconds(30));
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(*next, "a\033b");
  EXPECT_TRUE(queue->Done(*next));
}

TEST_F(CommandRedisTest, ShowsAndChangesAnItem) {
  const auto queue = Open("pods", 2);
  const std::string item("b\0<\\>\xFF", 6);
  ASSERT_TRUE(queue->AddAfterWithStatus(item, absl::Hours(24)).ok());
  const auto run = [this](const char* command) {
    return RunInspect({"--table", url_, command, "pods", R"(b\000<\\>\377)"});
  };
  const Outcome show = run("show");
  EXPECT_EQ(show.exit_code, 0);
  EXPECT_EQ(show.out, R"(b\000<\\>\377 in pods (shared queue)

  Waiting for another 23h59m
)");
  const Outcome requeue = run("requeue");
  EXPECT_EQ(requeue.exit_code, 0);
  EXPECT_THAT(requeue.out, HasSubstr("\n\n  Queued for "));
  const auto counts = queue->Count();
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->waiting, 0);

  ASSERT_TRUE(queue->AddAfterWithStatus(item, absl::Hours(24)).ok());
  const Outcome cancel = run("cancel");
  EXPECT_EQ(cancel.exit_code, 0);
  EXPECT_THAT(cancel.out, Not(HasSubstr("Waiting")));

  ASSERT_TRUE(queue->AddRateLimitedWithStatus(item).ok());
  const Outcome forget = run("forget");
  EXPECT_EQ(forget.exit_code, 0);
  const auto failures = queue->NumRequeuesWithStatus(item);
  ASSERT_TRUE(failures.ok()) << failures.status();
  EXPECT_EQ(*failures, 0);
}

TEST_F(CommandRedisTest, PrintsWhyAChangeFails) {
  const auto queue = Open("pods");
  const Outcome cancel =
      RunInspectForErrors({url_, "cancel", "pods", "default/web"});
  EXPECT_EQ(cancel.exit_code, 1);
  EXPECT_EQ(cancel.out, absl::StrCat("workqueue-inspect: ", url_,
                                     ": the item does not wait\n"));
  const Outcome key = RunInspectForErrors({url_, "requeue", "pods", "a\\q"});
  EXPECT_EQ(key.exit_code, 2);
  EXPECT_THAT(key.out,
              StartsWith("workqueue-inspect: KEY is \"a\\\\q\": key "));
  ASSERT_TRUE(queue->ShutDownWithStatus().ok());
  const Outcome requeue = RunInspectForErrors({url_, "requeue", "pods", "a"});
  EXPECT_EQ(requeue.exit_code, 1);
  EXPECT_THAT(requeue.out, HasSubstr("the queue has been shut down"));
}

TEST_F(CommandRedisTest, MakesNoQueue) {
  for (const char* command : {"show", "requeue", "forget", "cancel"}) {
    std::vector<std::string> args = {url_, command, "po{}ds"};
    if (command != absl::string_view("show")) args.emplace_back("key");
    const Outcome outcome = RunInspectForErrors(args);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out,
              absl::StrCat("workqueue-inspect: NAME is \"po{}ds\": ", url_,
                           " has no such object; the command list shows "
                           "all\n"));
  }
  const Outcome list = RunInspect({"--table", url_, "list"});
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_EQ(list.out, "There are no objects.\n");
  EXPECT_EQ(Command({"DBSIZE"}), 0);
}

TEST_F(CommandRedisTest, LogsInAndSelectsADatabase) {
  redis_.database = 3;
  Open("pods");
  Command({"ACL", "SETUSER", "me", "on", ">pass word", "~*", "&*", "+@all"});
  const std::string url =
      absl::StrCat("redis://me@127.0.0.1:", server()->port(), "/3");
  const Outcome list =
      examples::RunCommand("WORKQUEUE_REDIS_PASSWORD='pass word' " +
                           InspectCommand({"--table", url, "list"}));
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_THAT(list.out, HasSubstr("\npods  shared queue "));
  const Outcome wrong =
      examples::RunCommand("WORKQUEUE_REDIS_PASSWORD='password' " +
                           InspectCommand({url, "list"}) + " 2>&1 >/dev/null");
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.out, StartsWith(absl::StrCat("workqueue-inspect: ", url,
                                                 ": the server says: ")));
}

TEST_F(CommandRedisTest, ShowsAQueueOfAnotherVersionAsAnError) {
  Command({"HSET", "{old}:workqueue", "version", "0"});
  const Outcome list = RunInspect({"--table", url_, "list"});
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_THAT(list.out,
              AllOf(HasSubstr("\nold   shared queue "), HasSubstr("unknown"),
                    HasSubstr("they have layout 0")));
  const Outcome show = RunInspectForErrors({url_, "show", "old"});
  EXPECT_EQ(show.exit_code, 1);
  EXPECT_THAT(show.out, HasSubstr("they have layout 0"));
}

TEST_F(CommandRedisTest, PrintsErrorsOfTheAddressAndTheServer) {
  const Outcome address = RunInspectForErrors({"redis://nowhere", "list"});
  EXPECT_EQ(address.exit_code, 2);
  EXPECT_THAT(address.out,
              StartsWith("workqueue-inspect: ADDRESS is \"redis://nowhere\": "
                         "address is \"nowhere\"; it must be \"host:port\""));
  const Outcome header =
      RunInspectForErrors({"--header", "Authorization: secret", url_, "list"});
  EXPECT_EQ(header.exit_code, 2);
  EXPECT_EQ(header.out,
            "workqueue-inspect: --header is \"Authorization\": only an ADDRESS "
            "with http:// has headers\n");
  Open("pods");
  server()->Kill();
  for (const auto& command : {std::vector<std::string>{"list"},
                              {"show", "pods"},
                              {"requeue", "pods", "key"}}) {
    std::vector<std::string> args = {url_};
    args.insert(args.end(), command.begin(), command.end());
    const Outcome dead = RunInspectForErrors(args);
    EXPECT_EQ(dead.exit_code, 1);
    EXPECT_THAT(dead.out, StartsWith(absl::StrCat("workqueue-inspect: ", url_,
                                                  ": cannot connect to ")));
  }
}

}  // namespace
}  // namespace workqueue::command_redis_test
