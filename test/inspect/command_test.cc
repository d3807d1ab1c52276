// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs the program workqueue-inspect on a Redis server, and shows the same
// server's queues on a page.

#include <stdlib.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/run_program.h"
#include "test/shared/redis_fixture.h"
#include "test/shared/redis_server.h"
#include "workqueue/failures.h"
#include "workqueue/inspect/inspect_handler.h"
#include "workqueue/inspect/inspect_queue.h"
#include "workqueue/inspect/inspectable.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/lease.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/shared/internal/queue_keys.h"
#include "workqueue/shared/shared_queue.h"

namespace workqueue {
namespace {

using ::examples::Outcome;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Queue = SharedQueue<std::string>;

// Returns the shell's words for the program and its arguments.
std::string Command(const std::vector<std::string>& args) {
  std::string command =
      absl::StrCat(getenv("TEST_SRCDIR"), "/", getenv("TEST_WORKSPACE"),
                   "/workqueue/inspect/command/workqueue-inspect");
  for (const std::string& arg : args) {
    absl::StrAppend(&command, " '", absl::StrReplaceAll(arg, {{"'", "'\\''"}}),
                    "'");
  }
  return command;
}

Outcome RunInspect(const std::vector<std::string>& args) {
  return examples::RunCommand(Command(args));
}

// Returns what the program writes to stderr, which must be one line, before it
// ends with `exit_code`.
std::string ErrorOf(int exit_code, const std::vector<std::string>& args) {
  const Outcome outcome =
      examples::RunCommand(Command(args) + " 2>&1 >/dev/null");
  EXPECT_EQ(outcome.exit_code, exit_code);
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1);
  return outcome.out;
}

TEST(CommandArgumentsTest, AskForHelp) {
  const Outcome outcome = RunInspect({"--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("Usage: workqueue-inspect "),
                                 HasSubstr("WORKQUEUE_REDIS_PASSWORD"),
                                 Not(HasSubstr("\t"))));
}

TEST(CommandArgumentsTest, NameEachErrorAndItsValue) {
  EXPECT_EQ(ErrorOf(2, {}),
            "workqueue-inspect: ADDRESS is missing: see "
            "--help\n");
  EXPECT_THAT(ErrorOf(2, {"nowhere\n"}),
              StartsWith("workqueue-inspect: address is \"nowhere\\n\"; it "
                         "must be \"host:port\", "));
  EXPECT_EQ(ErrorOf(2, {"redis://h:1/x"}),
            "workqueue-inspect: address is \"redis://h:1/x\"; only the number "
            "of a database may follow the slash\n");
  EXPECT_EQ(ErrorOf(2, {"redis://h:1", "a", "b", "c"}),
            "workqueue-inspect: an argument is \"c\": nothing may follow "
            "KEY\n");
}

TEST(CommandArgumentsTest, PointToCurl) {
  EXPECT_EQ(ErrorOf(2, {"http://me:secret@h/workqueue", "list"}),
            "workqueue-inspect: ADDRESS is an inspection page: use curl, which "
            "gets it as text\n");
}

TEST(CommandArgumentsTest, PointFromAFileToAPage) {
  for (const char* address :
       {"sqlite:/var/lib/orders.db", "postgres://shop:secret@db/shop"}) {
    EXPECT_EQ(
        ErrorOf(2, {address}),
        "workqueue-inspect: ADDRESS is a database: the inspection page of "
        "a process that uses it shows its queues\n");
  }
}

TEST(CommandArgumentsTest, AHostMayHaveTheNameOfADatabase) {
  for (const absl::string_view host : {"postgres-cache", "sqlite-cache"}) {
    EXPECT_THAT(ErrorOf(2, {std::string(host)}),
                HasSubstr("it must be \"host:port\""));
  }
}

TEST(CommandArgumentsTest, MayHaveNoPassword) {
  for (const char* url : {"redis://me:secret@h:1", "valkey://:secret@h:1"}) {
    EXPECT_EQ(ErrorOf(2, {url}),
              "workqueue-inspect: ADDRESS contains a password: it must be in "
              "the variable WORKQUEUE_REDIS_PASSWORD\n");
  }
}

RedisServer::Options WithTcp() {
  RedisServer::Options options;
  options.tcp = true;
  return options;
}

class CommandTest : public RedisFixture {
 protected:
  CommandTest() : RedisFixture(WithTcp()) {}

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

  // Sends a command to the server, which must succeed. Returns the number in
  // the reply.
  int64_t Call(const std::vector<absl::string_view>& words) {
    const auto reply = SendTo(redis_.address, words);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return (*reply)->integer;
  }

  RedisOptions redis_;
  std::string url_;
};

TEST_F(CommandTest, ShowsQueuesAndTakesNoItem) {
  const auto queue = Open("my pods");
  ASSERT_TRUE(queue->AddItems({}, {"held"}).ok());
  absl::StatusOr<Lease<std::string>> lease =
      queue->AcquireWithTimeout(absl::Seconds(30));
  ASSERT_TRUE(lease.ok()) << lease.status();
  ASSERT_TRUE(queue->AddItems({}, {"a\033b"}).ok());
  ASSERT_TRUE(
      queue->AddItems(AddOptions::After(absl::Hours(24)), {"later"}).ok());
  Open("other", 3);

  const Outcome all = RunInspect({url_});
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_THAT(
      all.out,
      AllOf(StartsWith("Nothing needs attention.\n\n  NAME "),
            ContainsRegex("\n  my pods  shared queue +1  next: [^ ]+ +1  "
                          "longest: [^ ]+ +1 +0  OK\n"
                          "  other    shared queue +0 +0 +0 +0  OK\n$")));

  const Outcome one = RunInspect({url_, "my pods"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(
      one.out,
      AllOf(StartsWith("my pods (shared queue)\n\nNothing needs attention.\n\n"
                       "  queued      1\n"),
            HasSubstr("\n  partitions  1\n"), HasSubstr("\nProcessing (1):\n"),
            HasSubstr("\n  held "), HasSubstr("\n  a\\033b "),
            ContainsRegex("\n  later +23h59m  ")));
  EXPECT_THAT(RunInspect({url_, "other"}).out,
              HasSubstr("\n  partitions  3\n"));

  EXPECT_TRUE(lease->Done());
  absl::StatusOr<std::string> next = queue->GetWithTimeout(absl::Seconds(30));
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(*next, "a\033b");
  EXPECT_TRUE(queue->Done(*next));
}

// It does not know the retry schedule.
TEST_F(CommandTest, LeavesWhatIsDue) {
  const auto queue = Open("pods");
  ASSERT_TRUE(queue->AddItems({}, {"held"}).ok());
  const auto lease = queue->AcquireWithTimeout(absl::Seconds(30));
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(Call({"ZADD", "{pods}:workqueue:leases", "XX", "CH", "1", "held"}),
            1);
  EXPECT_THAT(RunInspect({url_, "pods"}).out, HasSubstr("Processing (1):"));
  EXPECT_EQ(Call({"ZCARD", "{pods}:workqueue:leases"}), 1);
  EXPECT_EQ(Call({"ZCARD", "{pods}:workqueue:failing"}), 0);
}

TEST_F(CommandTest, ShowsAnItem) {
  const auto queue = Open("-pods", 2);
  const std::string item("b\0<\\>\xFF", 6);
  ASSERT_TRUE(queue->AddItems(AddOptions::After(absl::Hours(24)), {item}).ok());
  const Outcome found = RunInspect({url_, "-pods", R"(b\000<\\>\377)"});
  EXPECT_EQ(found.exit_code, 0);
  EXPECT_THAT(found.out, StartsWith(R"(-pods (shared queue)

b\000<\\>\377:
  Waiting for another 23h59m, until )"));
  EXPECT_THAT(ErrorOf(2, {url_, "-pods", "a\\q"}),
              StartsWith("workqueue-inspect: KEY is \"a\\\\q\": key "));
}

TEST_F(CommandTest, MakesNoQueue) {
  EXPECT_EQ(ErrorOf(2, {url_, "po{}ds"}),
            absl::StrCat("workqueue-inspect: QUEUE is \"po{}ds\": ", url_,
                         ": there is no shared queue \"po{}ds\"\n"));
  ErrorOf(2, {url_, "po{}ds", "key"});
  EXPECT_EQ(Call({"DBSIZE"}), 0);
  Open("pods", 3);
  const int64_t keys = Call({"DBSIZE"});
  EXPECT_THAT(ErrorOf(2, {url_, internal::PartitionName("pods", 1, 3)}),
              HasSubstr("is a partition of the shared queue \"pods\"\n"));
  EXPECT_EQ(Call({"DBSIZE"}), keys);
}

// It may be another server or database than the queues', or have been emptied.
TEST_F(CommandTest, DoesNotCallAServerWithoutQueuesWell) {
  EXPECT_EQ(ErrorOf(2, {url_}),
            absl::StrCat("workqueue-inspect: ADDRESS is \"", url_,
                         "\": it has no shared queue\n"));
  EXPECT_EQ(RunInspect({url_}).out, "");
}

TEST_F(CommandTest, LogsInAndSelectsADatabase) {
  redis_.database = 3;
  Open("pods");
  Call({"ACL", "SETUSER", "me", "on", ">pass word", "~*", "&*", "+@all"});
  const std::string url =
      absl::StrCat("redis://me@127.0.0.1:", server()->port(), "/3");
  const Outcome all = examples::RunCommand(
      "WORKQUEUE_REDIS_PASSWORD='pass word' " + Command({url}));
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_THAT(all.out, HasSubstr("\n  pods  shared queue "));
  const Outcome wrong =
      examples::RunCommand("WORKQUEUE_REDIS_PASSWORD='password' " +
                           Command({url}) + " 2>&1 >/dev/null");
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.out, StartsWith(absl::StrCat("workqueue-inspect: ", url,
                                                 ": the server says: ")));
}

TEST_F(CommandTest, ShowsAQueueOfAnotherVersionAsUnknown) {
  Open("a");
  Call({"HSET", "{old}:workqueue", "version", "0"});
  const Outcome all = RunInspect({url_});
  EXPECT_EQ(all.exit_code, 1);
  EXPECT_THAT(all.out, AllOf(HasSubstr("\n  a     shared queue "),
                             HasSubstr("\n  old   shared queue  Unknown: "),
                             HasSubstr("they have layout 0")));
  EXPECT_THAT(ErrorOf(1, {url_}),
              AllOf(StartsWith(absl::StrCat("workqueue-inspect: ", url_,
                                            ": \"old\" cannot be read: ")),
                    HasSubstr("they have layout 0")));
  EXPECT_THAT(ErrorOf(1, {url_, "old"}), HasSubstr("they have layout 0"));
}

TEST_F(CommandTest, ReturnsTheServersErrors) {
  Open("pods");
  server()->Kill();
  const std::string error =
      absl::StrCat("workqueue-inspect: ", url_, ": cannot connect to ");
  EXPECT_THAT(ErrorOf(1, {url_}), StartsWith(error));
  EXPECT_THAT(ErrorOf(1, {url_, "pods"}), StartsWith(error));
}

TEST_F(CommandTest, ReturnsAnErrorOfTheOutput) {
  Open("pods");
  const Outcome outcome =
      examples::RunCommand(Command({url_}) + " 2>&1 >/dev/full");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.out, "workqueue-inspect: the output cannot be written\n");
}

TEST_F(CommandTest, SaysHowToDoWithoutTheSearchThatFails) {
  Open("pods");
  Call({"ACL", "SETUSER", "default", "-scan"});
  EXPECT_THAT(ErrorOf(1, {url_}),
              AllOf(StartsWith(absl::StrCat("workqueue-inspect: ", url_, ": ")),
                    HasSubstr("scan"),
                    HasSubstr("; not all keys were looked at for queues: give "
                              "QUEUE to see one\n")));
  EXPECT_EQ(RunInspect({url_, "pods"}).exit_code, 0);
}

class SharedQueuePageTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (server() == nullptr) return;
    SharedQueueOptions<std::string> options;
    options.name = "pods";
    options.redis = redis_;
    options.call_timeout = absl::Seconds(2);
    auto queue = Queue::Create(options);
    ASSERT_TRUE(queue.ok()) << queue.status();
    queue_ = *std::move(queue);
    InspectionRegistryOptions registry_options;
    // Otherwise a call of this test may wait for that of a sample.
    registry_options.sample_period = absl::Hours(1);
    registry_ = *InspectionRegistry::Create(registry_options);
    registration_ = *registry_->Add("pods", InspectQueue(queue_.get()));
    handler_ = std::make_unique<InspectHandler>(registry_.get());
  }

  std::string Get(std::string format) {
    return handler_->Handle({"GET", {{"format", std::move(format)}}, {}}).body;
  }

  std::unique_ptr<Queue> queue_;
  std::unique_ptr<InspectionRegistry> registry_;
  std::unique_ptr<InspectionRegistration> registration_;
  std::unique_ptr<InspectHandler> handler_;
};

TEST_F(SharedQueuePageTest, PutsAParkedItemBack) {
  ASSERT_TRUE(queue_->Add("default/web"));
  auto lease = queue_->Acquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  FailureLedgerOptions limits;
  limits.max_failures = 1;
  limits.unpark_on_add = false;
  const auto failed =
      queue_->Fail(&*lease, absl::InternalError("broken"), limits, {});
  ASSERT_TRUE(failed.ok() && failed->parked);
  const auto inspectable = InspectQueue(queue_.get());
  EXPECT_EQ(inspectable->Act(InspectAction::kForget, "default/web"),
            absl::FailedPreconditionError(
                "the item is parked; requeue it, and its failures start anew"));
  EXPECT_EQ(inspectable->Act(InspectAction::kRequeue, "default/web"),
            absl::OkStatus());
  EXPECT_EQ(queue_->Numbers()->parked, 0u);
  EXPECT_EQ(queue_->Len(), 1u);
}

TEST_F(SharedQueuePageTest, SaysSinceWhenItIsUnknown) {
  EXPECT_THAT(Get("text"), AllOf(StartsWith("Nothing needs attention.\n"),
                                 ContainsRegex("pods  shared queue +0 +0 +0 "
                                               "+0  OK\n")));
  server()->Kill();
  for (const char* format : {"text", "html"}) {
    EXPECT_THAT(
        Get(format),
        AllOf(ContainsRegex(
                  "Unknown since [-0-9]+ [:0-9]+ UTC, when 0 items were "
                  "queued, 0 in process and 0 waiting: "
                  "[A-Z]+: .*(cannot connect to |earlier calls "
                  "wait for the server)"),
              Not(HasSubstr("Nothing needs attention")), Not(HasSubstr("OK"))));
  }
}

// Its own workers do not need the server.
TEST_F(SharedQueuePageTest, ShowsInAnOutageWhatIsProcessedHere) {
  queue_->Add("a");
  auto lease = queue_->TryAcquire();
  ASSERT_TRUE(lease.ok());
  server()->Kill();
  EXPECT_THAT(Get("text"), HasSubstr("Unknown since "));
  const NamedInspection object = *registry_->Inspect("pods", 10);
  ASSERT_FALSE(object.inspection.ok());
  ASSERT_TRUE(object.here.has_value());
  EXPECT_EQ(object.here->num_processing_here, 1u);
  ASSERT_EQ(object.here->processing.size(), 1u);
  EXPECT_EQ(object.here->processing[0].key, "a");
}

TEST_F(SharedQueuePageTest, ChangesItems) {
  const auto act = [this](InspectAction action) {
    return registry_->Act("pods", action, "a");
  };
  ASSERT_TRUE(queue_->AddItems(AddOptions::After(absl::Hours(24)), {"a"}).ok());
  EXPECT_TRUE(act(InspectAction::kCancel).ok());
  EXPECT_EQ(act(InspectAction::kCancel),
            absl::NotFoundError("the item does not wait"));
  ASSERT_TRUE(queue_->AddItems(AddOptions::RateLimited(), {"a"}).ok());
  EXPECT_TRUE(act(InspectAction::kForget).ok());
  EXPECT_EQ(*queue_->CountFailures("a"), 0);
  ASSERT_TRUE(queue_->AddItems(AddOptions::After(absl::Hours(24)), {"a"}).ok());
  EXPECT_TRUE(act(InspectAction::kRequeue).ok());
  EXPECT_EQ(queue_->TakeSnapshotUpTo(0)->num_queued, 1u);
  ASSERT_TRUE(queue_->ShutDownAndDrain(std::nullopt).status().ok());
  EXPECT_THAT(act(InspectAction::kRequeue).message(),
              HasSubstr("the queue has been shut down"));
}

}  // namespace
}  // namespace workqueue
