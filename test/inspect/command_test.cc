// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests the parts of the command workqueue-inspect.

#include <cstdio>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/inspect/command/internal/address.h"
#include "workqueue/inspect/command/internal/arguments.h"
#include "workqueue/inspect/command/internal/document.h"
#include "workqueue/inspect/command/internal/run_command.h"
#include "workqueue/inspect/command/internal/source.h"
#include "workqueue/inspect/command/internal/tables.h"
#include "workqueue/inspect/command/internal/text_table.h"
#include "workqueue/inspect/inspectable.h"
#include "workqueue/testing/thread.h"

namespace workqueue {
namespace internal::command_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using Command = CommandArguments::Command;

absl::StatusOr<CommandArguments> ParseArgs(std::vector<std::string> args) {
  args.insert(args.begin(), "workqueue-inspect");
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(&arg[0]);
  argv.push_back(nullptr);
  return ParseArguments(static_cast<int>(args.size()), argv.data());
}

std::string ArgumentError(std::vector<std::string> args) {
  const auto arguments = ParseArgs(std::move(args));
  return arguments.ok() ? "" : std::string(arguments.status().message());
}

std::string AddressError(absl::string_view text) {
  const auto address = ParseAddress(text);
  EXPECT_TRUE(address.ok() || absl::IsInvalidArgument(address.status()));
  return address.ok() ? "" : std::string(address.status().message());
}

TEST(ArgumentsTest, HaveDefaults) {
  const auto arguments = ParseArgs({"http://h/", "list"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_FALSE(arguments->help);
  EXPECT_FALSE(arguments->json.has_value());
  EXPECT_EQ(arguments->interval, absl::Seconds(2));
  EXPECT_EQ(arguments->address, "http://h/");
  EXPECT_EQ(arguments->command, Command::kList);
  EXPECT_FALSE(arguments->name.has_value());
  EXPECT_FALSE(arguments->key.has_value());
}

TEST(ArgumentsTest, TakeFlagsBeforeTheAddressAndKeysAsTheyAre) {
  const auto arguments = ParseArgs({"--json", "--table", "--interval=500ms",
                                    "--header", "Authorization:  Bearer a:b ",
                                    "--header=X-Empty:", "http://h/", "show",
                                    "--pods", "--key\\001<b>"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->json, false);  // The last one counts.
  EXPECT_EQ(arguments->interval, absl::Milliseconds(500));
  EXPECT_THAT(
      arguments->headers,
      ElementsAre(Pair("Authorization", "Bearer a:b"), Pair("X-Empty", "")));
  EXPECT_EQ(arguments->command, Command::kShow);
  EXPECT_EQ(arguments->name, "--pods");
  EXPECT_EQ(arguments->key, "--key\\001<b>");
}

TEST(ArgumentsTest, AskForHelpBeforeAnyError) {
  const auto arguments = ParseArgs({"--help", "--wrong"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_TRUE(arguments->help);
}

TEST(ArgumentsTest, NameEachErrorAndItsValue) {
  const std::string commands =
      "it must be list, show, watch, requeue, forget or cancel";
  EXPECT_EQ(ArgumentError({}), "ADDRESS is missing: see --help");
  EXPECT_EQ(ArgumentError({"http://h/"}), "COMMAND is missing: " + commands);
  EXPECT_EQ(ArgumentError({"http://h/", "lst\n"}),
            "COMMAND is \"lst\\n\": " + commands);
  EXPECT_EQ(ArgumentError({"http://h/", "show"}),
            "NAME is missing: the command show needs one");
  EXPECT_EQ(ArgumentError({"http://h/", "cancel", "pods"}),
            "KEY is missing: the command cancel needs one");
  EXPECT_EQ(ArgumentError({"http://h/", "show", ""}),
            "NAME is \"\": it must not be empty");
  EXPECT_EQ(ArgumentError({"http://h/", "list", "--json"}),
            "an argument is \"--json\": the command list takes no more "
            "arguments, and flags come before ADDRESS");
  EXPECT_EQ(ArgumentError({"--jsn", "http://h/", "list"}),
            "FLAG is \"--jsn\": unknown, or has a value that it does not take; "
            "see --help");
  EXPECT_EQ(ArgumentError({"--json=1", "http://h/", "list"}),
            "FLAG is \"--json=1\": unknown, or has a value that it does not "
            "take; see --help");
  EXPECT_EQ(ArgumentError({"--interval"}),
            "FLAG is \"--interval\": requires a value");
  for (const char* interval : {"", "0s", "-1s", "inf", "soon"}) {
    EXPECT_EQ(ArgumentError({"--interval", interval, "http://h/", "list"}),
              "--interval is \"" + std::string(interval) +
                  "\": must be a positive time, for example 500ms or 2s");
  }
}

TEST(ArgumentsTest, DoNotPrintWhatMayBeASecret) {
  EXPECT_EQ(ArgumentError({"--header", "Bearer secret"}),
            "--header has no colon: it must be a name, a colon and a value");
  EXPECT_EQ(ArgumentError({"--header", "Bad name: secret"}),
            "the name in --header is \"Bad name\": it must be a name of RFC "
            "9110");
  EXPECT_EQ(ArgumentError({"--header", "A: secret\r\nB: c"}),
            "the name in --header is \"A\": the value must not contain control "
            "characters");
  for (const char* text : {"http://me:secret@h/", "redis://me:secret@h:1",
                           "redis://:secret@h:1"}) {
    EXPECT_THAT(AddressError(text), Not(HasSubstr("secret")));
  }
  EXPECT_EQ(AddressError("redis://me:secret@h:1"),
            "ADDRESS contains a password: it must be in the variable "
            "WORKQUEUE_REDIS_PASSWORD");
  EXPECT_EQ(AddressError("http://me:secret@h/"),
            "ADDRESS contains a user: use --header \"Authorization: ...\"");
}

TEST(AddressTest, IsAUrl) {
  const auto expect = [](absl::string_view text, absl::string_view host,
                         int port, absl::string_view path) {
    const auto address = ParseAddress(text);
    ASSERT_TRUE(address.ok()) << address.status();
    const auto* http = std::get_if<HttpAddress>(&*address);
    ASSERT_NE(http, nullptr);
    EXPECT_EQ(http->host, host);
    EXPECT_EQ(http->port, port);
    EXPECT_EQ(http->path, path);
  };
  expect("http://127.0.0.1:9090/workqueue", "127.0.0.1", 9090, "/workqueue");
  expect("http://[::1]:9090/a/b%20c", "::1", 9090, "/a/b%20c");
  expect("http://[::1]", "::1", 80, "/");
  expect("http://host", "host", 80, "/");
}

TEST(AddressTest, IsAServer) {
  const auto expect = [](absl::string_view text, absl::string_view address,
                         absl::string_view user, int database) {
    const auto parsed = ParseAddress(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    const auto* redis = std::get_if<RedisOptions>(&*parsed);
    ASSERT_NE(redis, nullptr);
    EXPECT_EQ(redis->address, address);
    EXPECT_EQ(redis->username, user);
    EXPECT_EQ(redis->database, database);
  };
  expect("redis://h:6379", "h:6379", "", 0);
  expect("redis://h:6379/", "h:6379", "", 0);
  expect("valkey://me@[::1]:6379/3", "[::1]:6379", "me", 3);
  expect("redis://a:1,b:2", "a:1,b:2", "", 0);
  expect("unix:///run/redis.sock", "/run/redis.sock", "", 0);
}

TEST(AddressTest, ErrorsNameIt) {
  EXPECT_EQ(AddressError("h:9090"),
            "ADDRESS is \"h:9090\": it must begin with http://, redis://, "
            "valkey:// or unix://");
  EXPECT_THAT(AddressError("https://h/"), HasSubstr("this command has no TLS"));
  EXPECT_THAT(AddressError("rediss://h/"),
              HasSubstr("this command has no TLS"));
  EXPECT_EQ(AddressError("http:///p"),
            "ADDRESS is \"http:///p\": the host is missing");
  for (const char* text : {"http://h:/p", "http://h:0/p", "http://h:65536/p",
                           "http://h:x/p", "http://[::1]:/p", "http://::1/p"}) {
    EXPECT_THAT(AddressError(text),
                HasSubstr("the port must be a number from 1 to 65535"));
  }
  for (const char* text : {"http://[h/p", "http://h]/p", "http://[::1]h/p"}) {
    EXPECT_THAT(AddressError(text), HasSubstr("only one of its brackets"));
  }
  EXPECT_THAT(AddressError("http://h/?a=b"), HasSubstr("'?' or '#'"));
  EXPECT_EQ(AddressError("http://h/a b\r\n"),
            "ADDRESS is \"http://h/a b\\r\\n\": spaces and characters beyond "
            "ASCII must be escaped");
  EXPECT_THAT(AddressError("redis://h:1/x"), HasSubstr("must be a number"));
  EXPECT_THAT(AddressError("unix://run/x"), HasSubstr("begin with a slash"));
}

TEST(DocumentTest, MayContainAnError) {
  const auto error = [](absl::string_view text) {
    const auto result = DocumentError(text);
    return result.ok() ? *result : std::string(result.status().message());
  };
  EXPECT_EQ(error(R"({"version":1})"), "");
  EXPECT_EQ(error(R"({"version":1,"error":"NOT_FOUND: x"})"), "NOT_FOUND: x");
  EXPECT_EQ(error("<html>"), "it is no JSON object");
  EXPECT_EQ(error(""), "it is no JSON object");
  EXPECT_EQ(error("[1]"), "it is no JSON object");
  EXPECT_EQ(error("{}"), "the JSON has no number \"version\"");
  EXPECT_EQ(error(R"({"version":"1"})"), "the JSON has no number \"version\"");
}

TEST(DocumentTest, CanBeAscii) {
  EXPECT_EQ(AsciiDocument("{\"version\":1,\"b\":\"\xC2\x9B\x7F\",\"a\":2}"),
            "{\"version\":1,\"b\":\"\\u009b\\u007f\",\"a\":2}\n");
}

TEST(TextTableTest, AlignsColumnsOfCharacters) {
  TextTable table({{"KEY"}, {"N", true}, {"NOTES"}});
  EXPECT_TRUE(table.empty());
  table.Add({"\xC3\xA9", "1,000", ""});
  table.Add({"abcd", "2", "x"});
  EXPECT_EQ(table.Text(" "),
            " KEY       N  NOTES\n"
            " \xC3\xA9     1,000\n"
            " abcd      2  x\n");
}

TEST(TextTableTest, EscapesWhatATerminalActsOn) {
  TextTable table({{""}, {""}});
  table.Add({"a\033[2J\xC2\x9B\xFF", "b\n\\001c"});
  EXPECT_EQ(table.Text(""), "a\\033[2J\\302\\233\\377  b\\n\\001c\n");
}

constexpr char kObject[] = R"({
  "version": 1, "name": "pods", "kind": "controller",
  "taken_at": "2026-01-02T03:04:05+00:00", "shutting_down": false,
  "health": "OK", "num_queued": 1200, "num_processing": 1, "num_waiting": 1,
  "num_failing": 2, "num_workers": 4,
  "findings": [{"key": "a\\001", "text": "is next."}],
  "queued": [{"key": "a\\001", "since": "2026-01-02T03:03:05+00:00",
              "priority": 7, "failures": 0, "last_error": ""}],
  "processing": [{"key": "", "since": "2026-01-02T03:04:04.5+00:00",
                  "priority": 0, "failures": 1, "last_error": "NOT_FOUND: x",
                  "added_again": true}],
  "waiting": [{"key": "w", "ready_at": "infinite-future", "priority": 0,
               "failures": 2, "last_error": ""}],
  "failing": [{"key": "w", "failures": 2, "last_error": "UNKNOWN: y",
               "first_failed_at": "2026-01-02T03:03:05+00:00",
               "last_failed_at": "2026-01-02T03:04:03+00:00",
               "next_try_at": "2026-01-02T03:05:05+00:00"}],
  "num_grouped": 1000, "groups": [{"name": "default", "items": 255}],
  "events": [{"time": "2026-01-02T03:04:03+00:00", "key": "w",
              "what": "failed: y"}],
  "rates": {"added": 1.25, "retried": 0, "handed_out": 2, "succeeded": 1200.5,
            "failed": "?"},
  "options": {"workers": "4"}, "samples": []})";

TEST(TablesTest, ShowAnObject) {
  const auto text = ObjectTables(kObject);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, R"(pods (controller)

  queued      1,200
  processing  1 of 4
  waiting     1
  failing     2
  added       1.2/s
  retried     0.0/s
  succeeded   1200.5/s
  failed      0.0/s
  health      OK
  workers     4

Needs attention:
  a\001  is next.

Processing (1):
  KEY        FOR  NOTES
  (empty)  500ms  added again, 1 failure, NOT_FOUND: x

Failing (1 of 2):
  KEY  FAILURES  FAILING FOR  NEXT TRY  LAST ERROR
  w           2           1m     in 1m  UNKNOWN: y

Groups of the next 1,000 queued items:
  GROUP    ITEMS  SHARE
  default    255   25 %

Queued (1 of 1,200):
  KEY    FOR  NOTES
  a\001   1m  priority 7

Waiting (1):
  KEY  DUE IN  NOTES
  w       inf  2 failures

History:
  AGO  KEY  EVENT
   2s  w    failed: y
)");
}

TEST(TablesTest, ShowAnItem) {
  const auto text = ItemTables(kObject, "w");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, R"(w in pods (controller)

  Being processed for 500ms: added again, 1 failure, NOT_FOUND: x
  Queued for 1m: priority 7
  Waiting for another inf: 2 failures
  Has failed 2 times in 1m, last 2s ago: UNKNOWN: y

History:
  AGO  EVENT
   2s  failed: y
)");
}

TEST(TablesTest, ShowParkedItems) {
  constexpr char kDocument[] = R"({
    "version": 1, "name": "n", "kind": "k",
    "taken_at": "2026-01-02T03:04:05+00:00", "num_parked": 3,
    "parked": [{"key": "p", "failures": 9, "last_error": "UNKNOWN: z",
                "first_failed_at": "2026-01-02T03:00:05+00:00",
                "parked_at": "2026-01-02T03:02:05+00:00"}]})";
  const auto text = ObjectTables(kDocument);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("\n  parked      3\n"));
  EXPECT_THAT(*text, HasSubstr(R"(
Parked (1 of 3):
  KEY  FAILURES  PARKED FOR  LAST ERROR
  p           9          2m  UNKNOWN: z
)"));
  const auto item = ItemTables(kDocument, "p");
  ASSERT_TRUE(item.ok()) << item.status();
  EXPECT_EQ(*item,
            "p in n (k)\n\n  Not in the queue\n"
            "  Parked for 2m, after 9 failures: UNKNOWN: z\n");
}

TEST(TablesTest, SayThatAnItemIsNotInTheQueue) {
  const auto text = ItemTables(R"({"version":1,"name":"n","kind":"k"})", "");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "(empty) in n (k)\n\n  Not in the queue\n");
}

TEST(TablesTest, ShowAllObjects) {
  const auto text = OverviewTables(R"({"version": 1, "objects": [
    {"name": "a", "kind": "queue", "shutting_down": true, "health": "OK",
     "num_queued": 3, "num_processing": 0, "num_waiting": 0, "findings": []},
    {"name": "bb", "kind": "mine", "error": "INTERNAL: x"},
    {"name": "c", "kind": "controller", "health": "OK", "num_queued": 0,
     "num_processing": 2, "num_workers": 2, "num_waiting": 1, "num_failing": 1,
     "findings": [{"key": "", "text": "All are busy."},
                  {"key": "k", "text": "Fails."}]}]})");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text,
            R"(NAME  KIND        QUEUED  PROCESSING  WAITING  FAILING  HEALTH
a     queue            3           0        0        ?  shutting down
bb    mine                                              unknown
c     controller       0      2 of 2        1        1  OK

Needs attention:
  bb     INTERNAL: x
  c      All are busy.
  c   k  Fails.
)");
}

TEST(TablesTest, SayThatNothingNeedsAttention) {
  const auto text = OverviewTables(R"({"version":1,"objects":[{"name":"a"}]})");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("\nNothing needs attention.\n"));
  const auto none = OverviewTables(R"({"version":1,"objects":[]})");
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(*none, "There are no objects.\n");
}

TEST(TablesTest, ShowBounds) {
  constexpr char kDocument[] = R"({
    "version": 1, "name": "n", "kind": "k", "bounds": [
      {"name": "group a", "max": 3, "processing": 3, "holds_back": true,
       "keys": ["a/1", "a/2"]},
      {"name": "retries", "max": 2, "processing": 1, "holds_back": false,
       "keys": ["a/1"]}]})";
  const auto text = ObjectTables(kDocument);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr(R"(
Bounds:
  BOUND    PROCESSING                         KEYS
  group a  3 of 3      queued items wait for  a/1 a/2 and 1 more
  retries  1 of 2                             a/1
)"));
  const auto item = ItemTables(kDocument, "a/3");
  ASSERT_TRUE(item.ok()) << item.status();
  EXPECT_THAT(*item, HasSubstr("  Held back: group a is at its bound of 3. It "
                               "waits for a/1 a/2 and 1 more\n"));
}

TEST(TablesTest, RefuseAnotherVersion) {
  const auto text = ObjectTables(R"({"version":2})");
  EXPECT_TRUE(absl::IsDataLoss(text.status())) << text.status();
  EXPECT_THAT(text.status().message(),
              HasSubstr("has version 2, and this command reads version 1"));
}

TEST(TablesTest, ReadMembersOfAnyType) {
  for (const char* value : {"null", "-1", "1e99", "\"\\u001b[2J\"", "[[]]",
                            "{\"a\":1}", "[{\"key\":[]}]"}) {
    std::string document = R"({"version":1)";
    for (const char* name :
         {"name",       "kind",    "taken_at",   "num_queued",    "num_workers",
          "findings",   "queued",  "processing", "waiting",       "failing",
          "num_parked", "parked",  "bounds",     "num_grouped",   "groups",
          "events",     "options", "objects",    "shutting_down", "health"}) {
      document += std::string(",\"") + name + "\":" + value;
    }
    document += "}";
    for (const auto& text : {OverviewTables(document), ObjectTables(document),
                             ItemTables(document, "\033[2J")}) {
      ASSERT_TRUE(text.ok()) << text.status();
      EXPECT_THAT(*text, Not(HasSubstr("\033"))) << document;
    }
  }
}

// Answers each request with the next of some results.
class FakeSource : public Source {
 public:
  explicit FakeSource(std::vector<absl::StatusOr<std::string>> results)
      : results_(std::move(results)) {}

  absl::StatusOr<std::string> List() override { return Next("list"); }
  absl::StatusOr<std::string> Show(const std::string& name) override {
    return Next("show " + name);
  }
  absl::StatusOr<std::string> ShowKey(const std::string& name,
                                      const std::string& key) override {
    return Next("show " + name + " " + key);
  }
  absl::StatusOr<std::string> Act(InspectAction action, const std::string& name,
                                  const std::string& key) override {
    return Next(std::string(action == InspectAction::kRequeue  ? "requeue"
                            : action == InspectAction::kForget ? "forget"
                                                               : "cancel") +
                " " + name + " " + key);
  }

  std::vector<std::string> requests;

 private:
  absl::StatusOr<std::string> Next(std::string request) {
    requests.push_back(std::move(request));
    return results_.at(requests.size() - 1);
  }

  const std::vector<absl::StatusOr<std::string>> results_;
};

class RunCommandTest : public testing::Test {
 protected:
  ~RunCommandTest() override { std::fclose(file_); }

  // Runs the command with a source that gives `results`.
  absl::Status Run(std::vector<std::string> args,
                   std::vector<absl::StatusOr<std::string>> results,
                   bool is_terminal) {
    args.insert(args.begin(), "http://h/");
    const auto arguments = ParseArgs(std::move(args));
    EXPECT_TRUE(arguments.ok()) << arguments.status();
    FakeSource source(std::move(results));
    const absl::Status status =
        RunCommand(*arguments, &source, &clock_, {file_, is_terminal});
    requests_ = source.requests;
    return status;
  }

  // Returns the text that has been written so far.
  std::string Written() {
    std::rewind(file_);
    std::string text;
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) {
      text.push_back(static_cast<char>(c));
    }
    return text;
  }

  FakeClock clock_;
  std::FILE* file_ = std::tmpfile();
  std::vector<std::string> requests_;
};

constexpr char kEmpty[] = "{\"version\":1,\"objects\":[]}\n";
constexpr char kNamed[] = "{\"version\":1,\"name\":\"\xC3\xA9\"}\n";

TEST_F(RunCommandTest, WritesTheDocumentToAFile) {
  EXPECT_TRUE(Run({"show", "pods"}, {kNamed}, false).ok());
  EXPECT_EQ(Written(), kNamed);
  EXPECT_THAT(requests_, ElementsAre("show pods"));
}

TEST_F(RunCommandTest, WritesTablesToATerminal) {
  EXPECT_TRUE(Run({"list"}, {kEmpty}, true).ok());
  EXPECT_EQ(Written(), "There are no objects.\n");
  EXPECT_THAT(requests_, ElementsAre("list"));
}

TEST_F(RunCommandTest, AsksForEachCommand) {
  EXPECT_TRUE(Run({"show", "pods", ""}, {kNamed}, false).ok());
  EXPECT_THAT(requests_, ElementsAre("show pods "));
  for (const std::string command : {"requeue", "forget", "cancel"}) {
    EXPECT_TRUE(Run({command, "pods", "a b"}, {kNamed}, false).ok());
    EXPECT_THAT(requests_, ElementsAre(command + " pods a b"));
  }
}

TEST_F(RunCommandTest, WatchesUntilAnErrorAndClearsTheTerminal) {
  Thread watch([this] {
    const absl::Status status =
        Run({"watch"}, {kEmpty, kEmpty, absl::UnavailableError("gone")}, true);
    EXPECT_EQ(status, absl::UnavailableError("http://h/: gone"));
  });
  clock_.AwaitWaiters(1);
  clock_.Step(absl::Seconds(2));
  clock_.AwaitWaiters(1);
  clock_.Step(absl::Seconds(2));
  watch.join();
  EXPECT_EQ(Written(),
            "\033[H\033[2JThere are no objects.\n"
            "\033[H\033[2JThere are no objects.\n");
}

TEST_F(RunCommandTest, NamesTheArgumentThatIsWrong) {
  const absl::Status missing =
      Run({"show", "po\nds"}, {absl::NotFoundError("x")}, false);
  EXPECT_EQ(missing.message(),
            "NAME is \"po\\nds\": http://h/ has no such object; the command "
            "list shows all");
  EXPECT_EQ(ExitCodeOf(missing), 2);
  const absl::Status wrong =
      Run({"show", "pods", "k"}, {absl::InvalidArgumentError("KEY is"), kNamed},
          false);
  EXPECT_EQ(wrong, absl::InvalidArgumentError("KEY is"));
}

TEST_F(RunCommandTest, ReturnsTheServersErrors) {
  const absl::Status status = Run(
      {"show", "pods"}, {"{\"version\":1,\"error\":\"INTERNAL: \\n\"}"}, false);
  EXPECT_EQ(status.message(),
            "http://h/: the object cannot be inspected: INTERNAL: \\n");
  EXPECT_EQ(ExitCodeOf(status), 1);
  EXPECT_EQ(Run({"list"}, {"<html>"}, false).message(),
            "http://h/: it is no JSON object");
  EXPECT_EQ(Written(), "");
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
}

TEST_F(RunCommandTest, ReturnsAnErrorOfTheOutput) {
  std::FILE* const full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  FakeSource source({kEmpty});
  const auto arguments = ParseArgs({"http://h/", "list"});
  EXPECT_EQ(RunCommand(*arguments, &source, &clock_, {full, false}),
            absl::UnavailableError("the output cannot be written"));
  std::fclose(full);
}

}  // namespace
}  // namespace internal::command_test
}  // namespace workqueue
