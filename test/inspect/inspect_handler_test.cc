// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests the pages, the JSON and the changes of an InspectHandler. The browser's
// view of the pages is tested by page_test.py.

#include "workqueue/inspect/inspect_handler.h"

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "test/inspect/fake_inspectable.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/inspect/inspect_queue.h"
#include "workqueue/inspect/inspection.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/queue.h"

namespace workqueue::inspect_handler_test {
namespace {

using ::nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

using Parameters = std::map<std::string, std::string>;

class InspectHandlerTest : public testing::Test {
 protected:
  InspectHandlerTest() {
    InspectionRegistryOptions options;
    options.clock = &clock_;
    registry_ = *InspectionRegistry::Create(options);
    state_.inspection = StuckInspection();
    registration_ =
        *registry_->Add("orders", std::make_unique<FakeInspectable>(&state_));
    handler_ = std::make_unique<InspectHandler>(registry_.get());
  }

  // Lets a handler permit changes whose header `user` is "admin".
  void Authorize() {
    InspectHandlerOptions options;
    options.authorizer = [](const InspectRequest& request) {
      const auto it = request.headers.find("user");
      if (it != request.headers.end() && it->second == "admin") {
        return absl::OkStatus();
      }
      return absl::PermissionDeniedError("only the admin may do this");
    };
    handler_ = std::make_unique<InspectHandler>(registry_.get(), options);
  }

  InspectResponse Get(Parameters parameters = {}) {
    return handler_->Handle({"GET", std::move(parameters), {}});
  }

  json GetJson(Parameters parameters, int status = 200) {
    parameters["format"] = "json";
    const InspectResponse response = Get(std::move(parameters));
    EXPECT_EQ(response.status, status);
    EXPECT_EQ(HeaderOf(response, "Content-Type"), "application/json");
    return json::parse(response.body);
  }

  InspectResponse Post(Parameters parameters, Parameters headers) {
    return handler_->Handle(
        {"POST", std::move(parameters), std::move(headers)});
  }

  static std::string HeaderOf(const InspectResponse& response,
                              absl::string_view name) {
    for (const auto& [header, value] : response.headers) {
      if (header == name) return value;
    }
    return "";
  }

  FakeClock clock_;
  FakeState state_;
  std::unique_ptr<InspectionRegistry> registry_;
  std::unique_ptr<InspectionRegistration> registration_;
  std::unique_ptr<InspectHandler> handler_;
};

TEST_F(InspectHandlerTest, TheOverviewTellsWhatIsWrong) {
  const InspectResponse response = Get();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(HeaderOf(response, "Content-Type"), "text/html; charset=utf-8");
  for (const char* text :
       {"orders", "fake queue", "1,000,000", "Needs attention",
        "The only worker is busy", "shop/hangs", "for 12m", "shop/fails",
        "37 times", "no such pod",
        "&quot;flood&quot; has 940 of the next 1000"}) {
    EXPECT_THAT(response.body, HasSubstr(text));
  }
}

TEST_F(InspectHandlerTest, TheOverviewOfNothingSaysSo) {
  registration_.reset();
  EXPECT_THAT(Get().body, AllOf(HasSubstr("Nothing has been registered"),
                                Not(HasSubstr("Nothing needs attention"))));
}

TEST_F(InspectHandlerTest, ThePageOfAnObjectHasItsListsAndOptions) {
  const std::string body = Get({{"name", "orders"}}).body;
  for (const char* text :
       {"Processing", "shop/hangs", "12m <span class=\"kind\">00:48:00 UTC<",
        "Failing", "20m", "in 30s <span class=\"kind\">01:00:30 UTC<", "Groups",
        "940", "94", "Queued", "1 of 1,000,000", "flood/1", "priority 7",
        "Waiting", "History", "failed after 1s", "workers", "Find a key"}) {
    EXPECT_THAT(body, HasSubstr(text));
  }
}

TEST_F(InspectHandlerTest, AListThatIsCutSaysHowManyMoreThereAre) {
  EXPECT_THAT(
      Get({{"name", "orders"}}).body,
      AllOf(HasSubstr("and 999,999 more"), Not(HasSubstr("and 0 more"))));
  Inspection& it = *state_.inspection;
  it.num_queued = 1;
  it.num_failing = 9;
  EXPECT_THAT(Get({{"name", "orders"}}).body,
              AllOf(HasSubstr("and 8 more"), Not(HasSubstr("999,999"))));
  it.num_failing = 1;
  it.num_groups = 16;
  EXPECT_THAT(Get({{"name", "orders"}}).body, HasSubstr("and 14 more"));
  EXPECT_EQ(GetJson({{"name", "orders"}})["num_groups"], 16);
}

TEST_F(InspectHandlerTest, TellsWhatAGroupAtItsBoundWaitsFor) {
  state_.inspection->bounds = {
      {"group shop", 3, 3, /*holds_back=*/true, {"shop/hangs", "shop/1"}},
      {"retries", 5, 1, /*holds_back=*/false, {"shop/1"}}};
  const json object = GetJson({{"name", "orders"}});
  EXPECT_EQ(object["bounds"][0], json({{"name", "group shop"},
                                       {"max", 3},
                                       {"processing", 3},
                                       {"holds_back", true},
                                       {"keys", {"shop/hangs", "shop/1"}}}));
  state_.inspection->bounds[0].queued = 7;
  state_.inspection->bounds[0].full_since = absl::UnixEpoch();
  const json known = GetJson({{"name", "orders"}})["bounds"][0];
  EXPECT_EQ(known["queued"], 7);
  EXPECT_EQ(known["full_since"], "1970-01-01T00:00:00+00:00");
  EXPECT_EQ(object["bounds"][1]["holds_back"], false);
  const std::string body = Get({{"name", "orders"}}).body;
  for (const char* text : {"group shop", "3 of at most 3", "wait for these:",
                           "shop/hangs", "and 1 more", "1 of at most 5"}) {
    EXPECT_THAT(body, HasSubstr(text));
  }
  EXPECT_THAT(Get({{"name", "orders"}, {"key", "shop/fails"}}).body,
              HasSubstr("Held back: group shop is at its bound of 3. It waits "
                        "for <a"));
}

TEST_F(InspectHandlerTest, SaysWhenAGroupNeedsAttention) {
  EXPECT_THAT(Get({{"name", "orders"}}).body,
              HasSubstr("if they are at least 100"));
}

TEST_F(InspectHandlerTest, ThePageOfAKeyTellsWhereItIs) {
  const std::string body =
      Get({{"name", "orders"}, {"key", "shop/fails"}}).body;
  EXPECT_THAT(body, HasSubstr("Waiting for another 30s, until 01:00:30 UTC."));
  EXPECT_THAT(body,
              HasSubstr("Has failed 37 times in 20m, since 00:40:00 UTC, last "
                        "30s ago, at 00:59:30 UTC: NOT_FOUND"));
  EXPECT_THAT(body, HasSubstr("failed after 1s"));
  EXPECT_THAT(body, Not(HasSubstr("shop/hangs")));
  EXPECT_THAT(Get({{"name", "orders"}, {"key", "other"}}).body,
              HasSubstr("Not in the queue"));
}

TEST_F(InspectHandlerTest, JsonHasTheSame) {
  const json all = GetJson({});
  EXPECT_EQ(all["version"], 1);
  ASSERT_EQ(all["objects"].size(), 1u);
  const json object = GetJson({{"name", "orders"}});
  EXPECT_EQ(object["version"], 1);
  for (const json& it : {all["objects"][0], object}) {
    EXPECT_EQ(it["name"], "orders");
    EXPECT_EQ(it["kind"], "fake queue");
    EXPECT_EQ(it["taken_at"], "1970-01-01T01:00:00+00:00");
    EXPECT_EQ(it["health"], "OK");
    EXPECT_EQ(it["num_queued"], 1000000);
    EXPECT_EQ(it["num_failing"], 1);
    EXPECT_EQ(it["num_workers"], 1);
    EXPECT_EQ(it["queued"][0]["seconds"], 90);
    EXPECT_EQ(it["queued"][0]["priority"], 7);
    EXPECT_EQ(it["processing"][0]["since"], "1970-01-01T00:48:00+00:00");
    EXPECT_EQ(it["processing"][0]["added_again"], false);
    EXPECT_EQ(it["waiting"][0]["seconds_left"], 30);
    EXPECT_EQ(it["failing"][0]["next_try_at"], "1970-01-01T01:00:30+00:00");
    EXPECT_EQ(it["groups"][0]["items"], 940);
    EXPECT_EQ(it["events"][0]["key"], "shop/fails");
    EXPECT_EQ(it["options"]["workers"], "1");
    EXPECT_EQ(it["samples"][0]["queued"], 1000000);
    EXPECT_EQ(it["findings"].size(), 5u);
  }
  const json key = GetJson({{"name", "orders"}, {"key", "shop/hangs"}});
  EXPECT_EQ(key["processing"].size(), 1u);
  EXPECT_EQ(key["failing"].size(), 0u);
}

TEST_F(InspectHandlerTest, JsonLeavesOutWhatIsUnknown) {
  state_.inspection->num_failing.reset();
  state_.inspection->num_workers.reset();
  state_.inspection->failing[0].next_try_at.reset();
  state_.inspection->queued[0].time = absl::InfinitePast();
  const json object = GetJson({{"name", "orders"}});
  EXPECT_FALSE(object.contains("num_failing"));
  EXPECT_FALSE(object.contains("num_workers"));
  EXPECT_FALSE(object["failing"][0].contains("next_try_at"));
  EXPECT_TRUE(object["queued"][0]["seconds"].is_null());
  EXPECT_TRUE(object["samples"][0].contains("failing"));
  clock_.Step(absl::Seconds(5));
  EXPECT_FALSE(GetJson({{"name", "orders"}})["samples"][1].contains("failing"));
}

// The other numbers and lists are not those of the queue.
TEST_F(InspectHandlerTest, JsonOfAnOutageHasOnlyWhatIsKnownHere) {
  Inspection here = StuckInspection();
  here.num_processing_here = 1;
  state_.here = std::move(here);
  state_.inspection = absl::InternalError("broken");
  const json object = GetJson({{"name", "orders"}});
  EXPECT_EQ(object["error"], "INTERNAL: broken");
  std::vector<std::string> names;
  for (const auto& it : object["here"].items()) names.push_back(it.key());
  EXPECT_THAT(names, UnorderedElementsAre("taken_at", "shutting_down", "health",
                                          "num_workers", "num_processing_here",
                                          "lost_here", "processing", "findings",
                                          "options"));
  EXPECT_EQ(object["here"]["processing"][0]["key"], "shop/hangs");
}

TEST_F(InspectHandlerTest, ShowsParkedItemsOfAControllerThatGivesUp) {
  EXPECT_FALSE(GetJson({{"name", "orders"}}).contains("num_parked"));
  EXPECT_FALSE(GetJson({{"name", "orders"}}).contains("parked"));
  EXPECT_THAT(Get({{"name", "orders"}}).body, Not(HasSubstr("parked")));
  Inspection& inspection = *state_.inspection;
  inspection.num_parked = 7;
  inspection.parked.push_back({"shop/parked", 10, "NOT_FOUND: no such shop",
                               inspection.taken_at - absl::Hours(2),
                               inspection.taken_at - absl::Minutes(25)});
  const json object = GetJson({{"name", "orders"}});
  EXPECT_EQ(object["num_parked"], 7);
  ASSERT_EQ(object["parked"].size(), 1u);
  const json& item = object["parked"][0];
  EXPECT_EQ(item["key"], "shop/parked");
  EXPECT_EQ(item["failures"], 10);
  EXPECT_EQ(item["last_error"], "NOT_FOUND: no such shop");
  EXPECT_EQ(item["first_failed_at"], "1969-12-31T23:00:00+00:00");
  EXPECT_EQ(item["parked_at"], "1970-01-01T00:35:00+00:00");
  const std::string body = Get({{"name", "orders"}}).body;
  for (const char* text :
       {"Parked", "1 of 7", "shop/parked", "25m", "no such shop",
        "7 items are parked, and not tried again."}) {
    EXPECT_THAT(body, HasSubstr(text));
  }
  EXPECT_THAT(Get({{"name", "orders"}, {"key", "shop/parked"}}).body,
              HasSubstr("Parked for 25m, since 00:35:00 UTC, after 10 "
                        "failures. It is not tried "
                        "again. Last error: NOT_FOUND: no such shop"));
  EXPECT_THAT(GetJson({{"name", "orders"}, {"key", "other"}})["parked"],
              IsEmpty());
}

TEST_F(InspectHandlerTest, AProgramThatDoesNotAcceptHtmlGetsText) {
  const auto type_of = [this](Parameters parameters, Parameters headers) {
    const InspectResponse response =
        handler_->Handle({"GET", std::move(parameters), std::move(headers)});
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(HeaderOf(response, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(HeaderOf(response, "Cache-Control"), "no-store");
    EXPECT_EQ(absl::StrContains(response.body, "<html"),
              !HeaderOf(response, "Content-Security-Policy").empty());
    return HeaderOf(response, "Content-Type");
  };
  const std::string html = "text/html; charset=utf-8";
  const std::string text = "text/plain; charset=utf-8";
  EXPECT_EQ(type_of({}, {{"accept", "*/*"}}), text);
  EXPECT_EQ(type_of({}, {{"accept", ""}}), text);
  EXPECT_EQ(type_of({}, {{"accept", "application/xml,Text/HTML;q=0.9,*/*"}}),
            html);
  EXPECT_EQ(type_of({}, {}), html);
  // The parameter counts more than the header.
  EXPECT_EQ(type_of({{"format", "text"}}, {{"accept", "text/html"}}), text);
  EXPECT_EQ(type_of({{"format", "html"}}, {{"accept", "*/*"}}), html);
  EXPECT_EQ(type_of({{"format", "json"}}, {{"accept", "*/*"}}),
            "application/json");
  EXPECT_EQ(type_of({{"name", "orders"}}, {{"accept", "*/*"}}), text);
}

TEST_F(InspectHandlerTest, TextHasTheSame) {
  const auto get = [this](Parameters parameters) {
    parameters["format"] = "text";
    return Get(std::move(parameters));
  };
  EXPECT_THAT(get({}).body, HasSubstr("\n  orders  fake queue  1,000,000 "));
  EXPECT_THAT(get({{"name", "orders"}}).body,
              AllOf(StartsWith("orders (fake queue)\n"),
                    HasSubstr("\nQueued (1 of 1,000,000):\n")));
  EXPECT_THAT(get({{"name", "orders"}, {"key", "shop/fails"}}).body,
              HasSubstr("\nshop/fails:\n  Waiting for another 30s"));
  const InspectResponse missing = get({{"name", "x\n"}});
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body, "there is no \"x\\n\"\n");
}

TEST_F(InspectHandlerTest, AnErrorOfAnObjectLeavesTheOthersVisible) {
  FakeState broken;
  broken.inspection = absl::UnavailableError("no <server>");
  const auto registration =
      registry_->Add("broken", std::make_unique<FakeInspectable>(&broken));
  ASSERT_TRUE(registration.ok());
  EXPECT_THAT(Get().body, HasSubstr("UNAVAILABLE: no &lt;server&gt;"));
  EXPECT_THAT(Get().body, HasSubstr("shop/hangs"));
  EXPECT_EQ(Get({{"name", "broken"}}).status, 200);
  EXPECT_EQ(GetJson({})["objects"][0]["error"], "UNAVAILABLE: no <server>");
  EXPECT_EQ(GetJson({})["objects"][0]["health"], "UNAVAILABLE: no <server>");
}

TEST_F(InspectHandlerTest, BadRequestsGetOneClearError) {
  EXPECT_EQ(Get({{"name", "<x>"}}).status, 404);
  EXPECT_THAT(Get({{"name", "<x>"}}).body,
              HasSubstr("there is no &quot;&lt;x&gt;&quot;"));
  EXPECT_EQ(GetJson({{"name", "x"}}, 404)["error"],
            "NOT_FOUND: there is no \"x\"");
  EXPECT_EQ(Get({{"name", "orders"}, {"key", "not a key"}}).status, 400);
  const InspectResponse response = handler_->Handle({"PUT", {}, {}});
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(HeaderOf(response, "Allow"), "GET, HEAD, POST");
}

TEST_F(InspectHandlerTest, AFormatThatIsNoneIsRefused) {
  Authorize();
  const InspectResponse get =
      handler_->Handle({"GET", {{"format", "x\n"}}, {{"accept", "*/*"}}});
  EXPECT_EQ(get.status, 400);
  EXPECT_EQ(get.body, "format is \"x\\n\"; it must be html, text or json\n");
  EXPECT_THAT(Get({{"format", ""}}).body,
              HasSubstr("<p><span class=\"bad\">format is &quot;&quot;; "));
  EXPECT_EQ(Post({{"name", "orders"},
                  {"key", "a"},
                  {"action", "requeue"},
                  {"format", "yaml"}},
                 {{"user", "admin"}, {"workqueue-inspect", "1"}})
                .status,
            400);
  EXPECT_THAT(state_.actions, IsEmpty());
}

TEST_F(InspectHandlerTest, AKeyNeedsTheNameOfItsObject) {
  Authorize();
  EXPECT_EQ(GetJson({{"key", "shop/hangs"}}, 400)["error"],
            "INVALID_ARGUMENT: name is missing, and key is \"shop/hangs\"");
  EXPECT_EQ(Post({{"key", "a"}, {"action", "requeue"}},
                 {{"user", "admin"}, {"workqueue-inspect", "1"}})
                .status,
            400);
}

#ifdef ABSL_HAVE_EXCEPTIONS
TEST_F(InspectHandlerTest, AnExceptionOfTheAuthorizerIsAnError) {
  InspectHandlerOptions options;
  options.authorizer = [](const InspectRequest&) -> absl::Status {
    throw std::runtime_error("no tokens");
  };
  handler_ = std::make_unique<InspectHandler>(registry_.get(), options);
  const InspectResponse response =
      Post({{"name", "orders"}, {"key", "a"}, {"action", "cancel"}},
           {{"workqueue-inspect", "1"}, {"accept", "*/*"}});
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.body, "no tokens\n");
  EXPECT_THAT(state_.actions, IsEmpty());
}
#endif

// Returns how many lines of the class `name` the plot of `body` has.
int LinesOf(absl::string_view body, absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(
      body, absl::StrCat("<polyline class=\"", name, "\" points=\""));
  return static_cast<int>(parts.size()) - 1;
}

TEST_F(InspectHandlerTest, ThePlotLeavesAGapWhereNothingIsKnown) {
  const auto sample = [this](int n) {
    for (int i = 0; i < n; ++i) {
      clock_.Step(absl::Seconds(5));
      if (state_.inspection.ok()) {
        state_.inspection->taken_at += absl::Seconds(5);
      }
    }
  };
  sample(3);
  EXPECT_EQ(LinesOf(Get().body, "queued"), 1);
  const auto known = state_.inspection;
  state_.inspection = absl::InternalError("broken");
  sample(1);
  state_.inspection = known;
  state_.inspection->taken_at += absl::Seconds(5);
  sample(2);
  EXPECT_EQ(LinesOf(Get().body, "queued"), 1) << "a short gap";
  state_.inspection = absl::InternalError("broken");
  sample(3);
  state_.inspection = known;
  state_.inspection->taken_at += absl::Seconds(40);
  sample(2);
  for (const char* name : {"queued", "waiting", "failing"}) {
    EXPECT_EQ(LinesOf(Get().body, name), 2);
  }
}

TEST_F(InspectHandlerTest, HeadIsGetWithoutTheBody) {
  for (const Parameters& parameters :
       {Parameters{{"format", "json"}}, Parameters{{"name", "orders"}},
        Parameters{{"name", "x"}}}) {
    const InspectResponse get = Get(parameters);
    const InspectResponse head = handler_->Handle({"HEAD", parameters, {}});
    EXPECT_EQ(head.status, get.status);
    EXPECT_THAT(head.body, IsEmpty());
    EXPECT_EQ(HeaderOf(head, "Content-Type"), HeaderOf(get, "Content-Type"));
    EXPECT_EQ(HeaderOf(head, "Content-Length"),
              std::to_string(get.body.size()));
  }
}

TEST_F(InspectHandlerTest, ThePageHasTheHostsThatItIsServedAs) {
  InspectHandlerOptions options;
  options.hosts = {"https://queues.example.com/", "Short:8080"};
  InspectHandler handler(registry_.get(), options);
  for (const char* host :
       {"localhost", "localhost:9090", "LocalHost.", "127.0.0.1:9090",
        "10.0.0.255", "[::1]", "[fe80::1]:9090", "[::ffff:10.0.0.1]:9090",
        "queues.example.com", "Queues.Example.Com.:443", "short"}) {
    EXPECT_EQ(handler.Handle({"GET", {}, {{"host", host}}}).status, 200)
        << host;
  }
  EXPECT_EQ(handler.Handle({"GET", {}, {}}).status, 200);
}

TEST_F(InspectHandlerTest, AnotherSiteCannotGiveThePageItsName) {
  Authorize();
  for (const char* host :
       {"evil.example", "evil.example:9090", "", "localhost.evil.example",
        "localhost:evil", "127.0.0.1.evil.example", "1.2.3", "1.2.3.256",
        "1.2.3.4.5", "1.2.3.-4", "1..3.4", "[::1", "[::1]x", "[evil]", "::1",
        "queues.example.com"}) {
    for (const char* method : {"GET", "HEAD", "POST", "PUT"}) {
      const InspectResponse response = handler_->Handle(
          {method,
           {{"name", "orders"}, {"key", "x"}, {"action", "cancel"}},
           {{"host", host}, {"workqueue-inspect", "1"}, {"user", "admin"}}});
      EXPECT_EQ(response.status, 403) << method << " " << host;
      EXPECT_THAT(response.body, Not(HasSubstr("name=\"token\"")));
    }
  }
  EXPECT_THAT(state_.actions, IsEmpty());
  const InspectResponse response =
      handler_->Handle({"GET", {}, {{"host", "evil.example"}}});
  EXPECT_THAT(response.body,
              HasSubstr("host is &quot;evil.example&quot;; it must be "
                        "localhost, an IP address, or a name in "
                        "InspectHandlerOptions::hosts"));
}

TEST_F(InspectHandlerTest, TheOriginIsThePageItself) {
  InspectHandlerOptions options;
  options.hosts = {"queues.example.com"};
  InspectHandler handler(registry_.get(), options);
  const auto status_of = [&handler](Parameters headers) {
    return handler.Handle({"GET", {}, std::move(headers)}).status;
  };
  const std::string host = "127.0.0.1:9090";
  for (const char* origin : {"http://127.0.0.1:9090", "https://127.0.0.1:9090",
                             "https://queues.example.com"}) {
    EXPECT_EQ(status_of({{"host", host}, {"origin", origin}}), 200) << origin;
  }
  for (const char* origin :
       {"http://127.0.0.1:3000", "http://localhost:9090", "null", "",
        "https://evil.example", "127.0.0.1:9090x"}) {
    EXPECT_EQ(status_of({{"host", host}, {"origin", origin}}), 403) << origin;
  }
  EXPECT_EQ(status_of({{"origin", "http://127.0.0.1:9090"}}), 403);
}

TEST_F(InspectHandlerTest, KeysAreHarmless) {
  const std::string evil = "\"><script>alert('x')</script>&<img src=x>";
  state_.inspection->queued[0].key = evil;
  state_.inspection->failing[0].key = evil;
  state_.inspection->failing[0].last_error = evil;
  state_.inspection->groups[0].name = evil;
  state_.inspection->options.emplace_back(evil, evil);
  state_.inspection->health = absl::InternalError(evil);
  const auto registration =
      registry_->Add(evil, std::make_unique<FakeInspectable>(&state_));
  ASSERT_TRUE(registration.ok());
  for (const InspectResponse& response :
       {Get(), Get({{"name", evil}}), Get({{"name", evil}, {"key", evil}}),
        Get({{"name", evil + "x"}})}) {
    EXPECT_THAT(response.body, Not(HasSubstr("<script>")));
    EXPECT_THAT(response.body, Not(HasSubstr("<img")));
    EXPECT_THAT(response.body, HasSubstr("&lt;script&gt;"));
    EXPECT_THAT(HeaderOf(response, "Content-Security-Policy"),
                HasSubstr("default-src 'none'"));
  }
}

TEST_F(InspectHandlerTest, EachResponseHasANonceOfItsOwn) {
  const auto nonce_of = [](const std::string& body) {
    const size_t begin = body.find("<script nonce=\"") + 15;
    return body.substr(begin, body.find('"', begin) - begin);
  };
  const InspectResponse first = Get();
  const std::string nonce = nonce_of(first.body);
  EXPECT_EQ(nonce.size(), 32u);
  EXPECT_THAT(HeaderOf(first, "Content-Security-Policy"), HasSubstr(nonce));
  EXPECT_NE(nonce_of(Get().body), nonce);
}

TEST_F(InspectHandlerTest, WithoutAnAuthorizerThePageOnlyReads) {
  EXPECT_THAT(Get({{"name", "orders"}, {"key", "x"}}).body,
              Not(HasSubstr("method=\"post\"")));
  const InspectResponse response =
      Post({{"name", "orders"}, {"key", "x"}, {"action", "cancel"}},
           {{"workqueue-inspect", "1"}});
  EXPECT_EQ(response.status, 403);
  EXPECT_THAT(response.body, HasSubstr("no authorizer"));
  EXPECT_THAT(state_.actions, IsEmpty());
}

TEST_F(InspectHandlerTest, AnAuthorizedRequestChangesAnItem) {
  Authorize();
  const Parameters headers = {{"workqueue-inspect", "1"}, {"user", "admin"}};
  InspectResponse response = Post(
      {{"name", "orders"}, {"key", "a b"}, {"action", "requeue"}}, headers);
  EXPECT_EQ(response.status, 303);
  EXPECT_EQ(HeaderOf(response, "Location"), "?name=orders&key=a%20b");
  Post({{"name", "orders"}, {"key", "x"}, {"action", "forget"}}, headers);
  response = Post({{"name", "orders"},
                   {"key", "shop/hangs"},
                   {"action", "cancel"},
                   {"format", "json"}},
                  headers);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(json::parse(response.body)["processing"].size(), 1u);
  // curl does not follow a redirection by itself.
  response =
      Post({{"name", "orders"}, {"key", "shop/hangs"}, {"action", "forget"}},
           {{"workqueue-inspect", "1"}, {"user", "admin"}, {"accept", "*/*"}});
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.body,
              HasSubstr("\nshop/hangs:\n  Being processed for 12m"));
  EXPECT_THAT(state_.actions,
              ElementsAre("requeue a b", "forget x", "cancel shop/hangs",
                          "forget shop/hangs"));
}

TEST_F(InspectHandlerTest, AChangeThatWasMadeIsNoErrorIfTheItemIsUnknown) {
  Authorize();
  state_.inspection = absl::UnavailableError("the server is away");
  for (const char* const format : {"json", "text"}) {
    const InspectResponse response =
        Post({{"name", "orders"},
              {"key", "x"},
              {"action", "requeue"},
              {"format", format}},
             {{"workqueue-inspect", "1"}, {"user", "admin"}});
    EXPECT_EQ(response.status, 200);
    EXPECT_THAT(response.body, HasSubstr("the change was made (requeue), but "
                                         "the item cannot be shown now"));
  }
  EXPECT_THAT(state_.actions, ElementsAre("requeue x", "requeue x"));
}

TEST_F(InspectHandlerTest, AFormOfThePageChangesAnItem) {
  Authorize();
  const std::string body = Get({{"name", "orders"}, {"key", "x"}}).body;
  const std::string before = "name=\"token\" value=\"";
  const size_t begin = body.find(before) + before.size();
  const std::string token = body.substr(begin, 32);
  EXPECT_EQ(body[begin + 32], '"');
  const Parameters form = {
      {"name", "orders"}, {"key", "x"}, {"action", "cancel"}, {"token", token}};
  EXPECT_EQ(Post(form, {{"user", "admin"}}).status, 303);
  EXPECT_THAT(state_.actions, ElementsAre("cancel x"));
}

// A browser changes what is no text in a form, and so the item.
TEST_F(InspectHandlerTest, AFormOfAKeyThatIsNoTextChangesThisItem) {
  Authorize();
  Queue<std::string> queue;
  const std::string item = "a\tb\xff";
  queue.Add(item);
  const auto registration = *registry_->Add("q", InspectQueue(&queue));
  const std::string body = Get({{"name", "q"}, {"key", item}}).body;
  const std::string key = "a\\tb\\377";
  const std::vector<std::string> forms =
      absl::StrSplit(body, absl::StrCat("name=\"key\" value=\"", key, "\""));
  EXPECT_EQ(forms.size(), 5u) << "a search and three actions: " << body;
  EXPECT_THAT(body, Not(HasSubstr("\uFFFD")));
  EXPECT_EQ(Post({{"name", "q"}, {"key", key}, {"action", "requeue"}},
                 {{"user", "admin"}, {"workqueue-inspect", "1"}})
                .status,
            303);
  EXPECT_EQ(queue.Len(), 1u);
}

TEST_F(InspectHandlerTest, AnotherSiteCannotChangeAnItem) {
  Authorize();
  for (const char* token : {"", "guess"}) {
    const InspectResponse response = Post({{"name", "orders"},
                                           {"key", "x"},
                                           {"action", "cancel"},
                                           {"token", token}},
                                          {{"user", "admin"}});
    EXPECT_EQ(response.status, 403);
    EXPECT_THAT(response.body, HasSubstr("reload the page"));
  }
  EXPECT_THAT(state_.actions, IsEmpty());
}

TEST_F(InspectHandlerTest, TheAuthorizerRefusesAChange) {
  Authorize();
  const InspectResponse response =
      Post({{"name", "orders"}, {"key", "x"}, {"action", "cancel"}},
           {{"workqueue-inspect", "1"}});
  EXPECT_EQ(response.status, 403);
  EXPECT_THAT(response.body, HasSubstr("only the admin may do this"));
  EXPECT_THAT(state_.actions, IsEmpty());
}

TEST_F(InspectHandlerTest, BadChangesGetOneClearError) {
  Authorize();
  const auto post = [this](Parameters parameters) {
    parameters["format"] = "json";
    const InspectResponse response = Post(
        std::move(parameters), {{"workqueue-inspect", "1"}, {"user", "admin"}});
    return std::make_pair(
        response.status,
        json::parse(response.body)["error"].get<std::string>());
  };
  EXPECT_EQ(post({{"name", "orders"}, {"key", "x"}, {"action", "drop"}}),
            std::make_pair(
                400, std::string("INVALID_ARGUMENT: action is \"drop\"; it "
                                 "must be requeue, forget or cancel")));
  EXPECT_EQ(
      post({{"name", "orders"}, {"action", "cancel"}}),
      std::make_pair(400, std::string("INVALID_ARGUMENT: key is missing")));
  EXPECT_EQ(post({{"name", "x"}, {"key", "x"}, {"action", "cancel"}}).first,
            404);
  state_.act_result = absl::FailedPreconditionError("it is shutting down");
  EXPECT_EQ(
      post({{"name", "orders"}, {"key", "x"}, {"action", "cancel"}}).first,
      409);
}

TEST_F(InspectHandlerTest, AnEmptyKeyIsAKey) {
  state_.inspection->queued[0].key = "";
  EXPECT_THAT(Get({{"name", "orders"}}).body, HasSubstr("(empty)"));
  EXPECT_THAT(Get({{"name", "orders"}, {"key", ""}}).body,
              HasSubstr("Queued for"));
}

}  // namespace
}  // namespace workqueue::inspect_handler_test
