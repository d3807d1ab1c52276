// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs the program workqueue-inspect on a page of this process.

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "civetweb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/run_program.h"
#include "test/inspect/run_inspect.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/inspect/civetweb_inspect_page.h"
#include "workqueue/inspect/inspect_handler.h"
#include "workqueue/inspect/inspectable.h"
#include "workqueue/inspect/inspection.h"
#include "workqueue/inspect/inspection_registry.h"

namespace workqueue::command_program_test {
namespace {

using ::examples::Outcome;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// A key with markup, quotes, what a URL escapes, a control byte and a byte that
// is not UTF-8, as the page writes it.
constexpr char kKey[] = R"(<b>a&b=c+d%20'e'"f"/?#g h\n\033\377\\)";

// The actions that have been done.
class Actions {
 public:
  void Add(std::string action) {
    internal::MutexLock lock(&mu_);
    all_.push_back(std::move(action));
  }
  std::vector<std::string> All() {
    internal::MutexLock lock(&mu_);
    return all_;
  }

 private:
  absl::Mutex mu_;
  std::vector<std::string> all_ ABSL_GUARDED_BY(mu_);
};

// Has one queued item, `kKey`. Nothing waits in it.
class FakeObject : public Inspectable {
 public:
  explicit FakeObject(Actions* actions) : actions_(actions) {}

  std::string Kind() const override { return "fake"; }

  absl::StatusOr<Inspection> Inspect(size_t max_items) override {
    return Contents(max_items > 0);
  }

  absl::StatusOr<Inspection> InspectKey(absl::string_view key) override {
    if (key == "bad") return absl::InvalidArgumentError("key \"bad\": odd");
    return Contents(key == kKey);
  }

  absl::Status Act(InspectAction action, absl::string_view key) override {
    if (action == InspectAction::kCancel) {
      return absl::NotFoundError("the item does not wait");
    }
    actions_->Add(absl::StrCat(
        action == InspectAction::kRequeue ? "requeue " : "forget ", key));
    return absl::OkStatus();
  }

 private:
  static Inspection Contents(bool with_item) {
    Inspection inspection;
    inspection.taken_at = absl::UnixEpoch() + absl::Hours(1);
    inspection.num_queued = 1;
    if (with_item) {
      inspection.queued.push_back(
          {kKey, inspection.taken_at - absl::Minutes(2), /*priority=*/5,
           /*failures=*/0, /*last_error=*/"", /*added_again=*/false});
      inspection.events.push_back(
          {inspection.taken_at - absl::Seconds(1), kKey, "added"});
    }
    return inspection;
  }

  Actions* const actions_;
};

class BrokenObject : public Inspectable {
 public:
  std::string Kind() const override { return "broken"; }
  absl::StatusOr<Inspection> Inspect(size_t) override {
    return absl::InternalError("no\nway");
  }
};

int SendNoJson(struct mg_connection* connection, void*) {
  mg_printf(connection,
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n<html>hello");
  return 200;
}

int SendHalf(struct mg_connection* connection, void*) {
  mg_printf(connection,
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1000\r\n"
            "\r\n{\"version\":1}");
  return 200;
}

class CommandProgramTest : public testing::Test {
 protected:
  CommandProgramTest()
      : refusing_(registry_.get(), {}),
        permitting_(registry_.get(), {[](const InspectRequest& request) {
                      const auto it = request.headers.find("authorization");
                      return it != request.headers.end() &&
                                     it->second == "Bearer 'me' \"too\""
                                 ? absl::OkStatus()
                                 : absl::UnauthenticatedError("who\nare you?");
                    }}),
        refusing_page_(server_, "/refusing", &refusing_),
        permitting_page_(server_, "/permitting", &permitting_) {}

  // All tests share a server: stopping it takes two seconds.
  static void SetUpTestSuite() {
    const char* options[] = {"listening_ports", "127.0.0.1:0", "num_threads",
                             "2", nullptr};
    server_ = mg_start(nullptr, nullptr, options);
    ASSERT_NE(server_, nullptr);
    mg_set_request_handler(server_, "/html", SendNoJson, nullptr);
    mg_set_request_handler(server_, "/half", SendHalf, nullptr);
  }
  static void TearDownTestSuite() { mg_stop(server_); }

  std::string Url(absl::string_view path) const {
    struct mg_server_port port = {};
    EXPECT_EQ(mg_get_server_ports(server_, 1, &port), 1);
    return absl::StrCat("http://127.0.0.1:", port.port, path);
  }

  static struct mg_context* server_;

  Actions actions_;
  const std::unique_ptr<InspectionRegistry> registry_ =
      *InspectionRegistry::Create();
  const std::unique_ptr<InspectionRegistration> fake_ =
      *registry_->Add("my pods", std::make_unique<FakeObject>(&actions_));
  const std::unique_ptr<InspectionRegistration> broken_ =
      *registry_->Add("broken", std::make_unique<BrokenObject>());
  InspectHandler refusing_;
  InspectHandler permitting_;
  CivetwebInspectPage refusing_page_;
  CivetwebInspectPage permitting_page_;
};

struct mg_context* CommandProgramTest::server_ = nullptr;

TEST_F(CommandProgramTest, PrintsTables) {
  const Outcome list = RunInspect({"--table", Url("/refusing"), "list"});
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_EQ(
      list.out,
      absl::StrCat(
          R"(NAME     KIND    QUEUED  PROCESSING  WAITING  FAILING  HEALTH
broken   broken                                        unknown
my pods  fake         1           0        0        ?  OK

Needs attention:
  broken   )",
          std::string(sizeof(kKey) - 1, ' '), R"(  INTERNAL: no\nway
  my pods  )",
          kKey,
          "  is next, and has been queued for 2m, since 00:58:00 UTC.\n"));

  const Outcome show =
      RunInspect({"--table", Url("/refusing"), "show", "my pods"});
  EXPECT_EQ(show.exit_code, 0);
  EXPECT_THAT(show.out,
              AllOf(StartsWith("my pods (fake)\n\n  queued      1\n"),
                    HasSubstr(absl::StrCat("  ", kKey, "   2m  priority 5\n")),
                    HasSubstr(absl::StrCat("   1s  ", kKey, "  added\n"))));

  const Outcome item =
      RunInspect({"--table", Url("/refusing"), "show", "my pods", kKey});
  EXPECT_EQ(item.exit_code, 0);
  EXPECT_EQ(item.out, absl::StrCat(kKey, R"( in my pods (fake)

  Queued for 2m: priority 5

History:
  AGO  EVENT
   1s  added
)"));
}

TEST_F(CommandProgramTest, PrintsTheDocumentsOfThePage) {
  const auto document = [this](InspectRequest request) {
    request.parameters["format"] = "json";
    return refusing_.Handle(request).body;
  };
  InspectRequest request;
  const Outcome list = RunInspect({Url("/refusing"), "list"});
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_EQ(list.out, document(request));

  request.parameters["name"] = "my pods";
  const Outcome show = RunInspect({Url("/refusing"), "show", "my pods"});
  EXPECT_EQ(show.exit_code, 0);
  EXPECT_EQ(show.out, document(request));

  request.parameters["key"] = kKey;
  const Outcome item = RunInspect({Url("/refusing"), "show", "my pods", kKey});
  EXPECT_EQ(item.exit_code, 0);
  EXPECT_EQ(item.out, document(request));
}

TEST_F(CommandProgramTest, ChangesItemsIfTheAuthorizerPermits) {
  const std::string header = "Authorization: Bearer 'me' \"too\"";
  for (const char* action : {"requeue", "forget"}) {
    const Outcome outcome =
        RunInspect({"--table", "--header", header, Url("/permitting"), action,
                    "my pods", kKey});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out,
                StartsWith(absl::StrCat(kKey, " in my pods (fake)\n\n",
                                        "  Queued for 2m: priority 5\n")));
  }
  EXPECT_THAT(actions_.All(), ElementsAre(absl::StrCat("requeue ", kKey),
                                          absl::StrCat("forget ", kKey)));

  // An action that fails is an error of the server, not of an argument.
  const Outcome cancel = RunInspectForErrors(
      {"--header", header, Url("/permitting"), "cancel", "my pods", kKey});
  EXPECT_EQ(cancel.exit_code, 1);
  EXPECT_EQ(cancel.out,
            absl::StrCat("workqueue-inspect: ", Url("/permitting"),
                         ": the server has answered with HTTP status 404: "
                         "NOT_FOUND: the item does not wait\n"));
  const Outcome missing = RunInspectForErrors(
      {"--header", header, Url("/permitting"), "cancel", "pods", kKey});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.out, HasSubstr("NAME is \"pods\""));
}

TEST_F(CommandProgramTest, PrintsWhyAChangeIsRefused) {
  const Outcome no_authorizer =
      RunInspectForErrors({Url("/refusing"), "requeue", "my pods", kKey});
  EXPECT_EQ(no_authorizer.exit_code, 1);
  EXPECT_EQ(no_authorizer.out,
            absl::StrCat("workqueue-inspect: ", Url("/refusing"),
                         ": the server has answered with HTTP status 403: "
                         "PERMISSION_DENIED: this program permits no changes: "
                         "it has no authorizer\n"));
  const Outcome no_header =
      RunInspectForErrors({Url("/permitting"), "requeue", "my pods", kKey});
  EXPECT_EQ(no_header.exit_code, 1);
  EXPECT_EQ(no_header.out,
            absl::StrCat("workqueue-inspect: ", Url("/permitting"),
                         ": the server has answered with HTTP status 401: "
                         "UNAUTHENTICATED: who\\nare you?\n"));
  EXPECT_THAT(actions_.All(), IsEmpty());
}

TEST_F(CommandProgramTest, WatchesUntilNobodyReads) {
  // The program ends when `head` has closed the pipe.
  const Outcome outcome = examples::RunCommand(
      InspectCommand({"--interval=1ms", Url("/refusing"), "watch", "my pods"}) +
      " 2>/dev/null | head -n 3 | sort -u");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, StartsWith("{\"version\":1,\"name\":\"my pods\""));
}

TEST_F(CommandProgramTest, NamesTheWrongArgument) {
  const Outcome name =
      RunInspectForErrors({Url("/refusing"), "show", "pods\033"});
  EXPECT_EQ(name.exit_code, 2);
  EXPECT_EQ(name.out,
            absl::StrCat(
                "workqueue-inspect: NAME is \"pods\\033\": ", Url("/refusing"),
                " has no such object; the command list shows all\n"));
  const Outcome key =
      RunInspectForErrors({Url("/refusing"), "show", "my pods", "bad"});
  EXPECT_EQ(key.exit_code, 2);
  EXPECT_EQ(key.out,
            "workqueue-inspect: KEY is \"bad\": the server has answered with "
            "HTTP status 400: INVALID_ARGUMENT: key \"bad\": odd\n");
  const Outcome address = RunInspectForErrors({"ftp://h", "list"});
  EXPECT_EQ(address.exit_code, 2);
  EXPECT_EQ(address.out,
            "workqueue-inspect: ADDRESS is \"ftp://h\": it must begin with "
            "http://, redis://, valkey:// or unix://\n");
  const Outcome none = RunInspectForErrors({});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(none.out, "workqueue-inspect: ADDRESS is missing: see --help\n");
}

TEST_F(CommandProgramTest, PrintsErrorsOfTheServer) {
  const auto error = [](const std::string& url,
                        const std::vector<std::string>& command) {
    std::vector<std::string> args = {url};
    args.insert(args.end(), command.begin(), command.end());
    const Outcome outcome = RunInspectForErrors(args);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.out,
                StartsWith(absl::StrCat("workqueue-inspect: ", url, ": ")));
    // One line.
    EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1);
    return outcome.out;
  };
  EXPECT_THAT(error(Url("/refusing"), {"show", "broken"}),
              HasSubstr("the object cannot be inspected: INTERNAL: no\\nway"));
  EXPECT_THAT(error(Url("/none"), {"list"}),
              HasSubstr("the answer, with HTTP status 404, does not come from "
                        "an inspection page: it is no JSON object"));
  EXPECT_THAT(error(Url("/html"), {"list"}),
              HasSubstr("the answer, with HTTP status 200, does not come from "
                        "an inspection page: it is no JSON object"));
  EXPECT_THAT(error(Url("/half"), {"list"}),
              HasSubstr("the connection broke in the answer"));
  // Nobody listens at this port, which needs a privilege.
  EXPECT_THAT(error("http://127.0.0.1:1/workqueue", {"list"}),
              HasSubstr("the server cannot be reached"));
  EXPECT_THAT(
      error(Url("/refusing"), {"requeue", "my pods", std::string(70000, 'k')}),
      HasSubstr("HTTP status 413"));
}

TEST_F(CommandProgramTest, PrintsHelp) {
  const Outcome outcome = RunInspect({"--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("Usage: workqueue-inspect "),
                                 HasSubstr("WORKQUEUE_REDIS_PASSWORD"),
                                 Not(HasSubstr("\t"))));
}

}  // namespace
}  // namespace workqueue::command_program_test
