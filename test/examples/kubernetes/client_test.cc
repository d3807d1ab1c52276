// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/client.h"

#include <cstddef>
#include <filesystem>  // NOLINT(build/c++17)
#include <memory>
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "examples/kubernetes/config.h"
#include "examples/kubernetes/json.h"
#include "examples/kubernetes/resource.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/kubernetes/scripted_server.h"
#include "test/examples/scratch_directory.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/retry_after.h"

namespace kubernetes::client_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

const Resource kConfigMaps = {"", "v1", "configmaps"};
const Resource kLeases = {"coordination.k8s.io", "v1", "leases"};
const Resource kNamespaces = {"", "v1", "namespaces", /*namespaced=*/false};

std::unique_ptr<Client> NewClient(Config config, ClientOptions options = {}) {
  auto client = Client::Create(std::move(config), std::move(options));
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

std::unique_ptr<Client> NewClient(const ScriptedServer& server,
                                  ClientOptions options = {}) {
  Config config;
  config.server = server.url();
  return NewClient(std::move(config), std::move(options));
}

void RespondOk(const ReceivedRequest&, Responder& responder) {
  responder.Respond(200, R"({"kind":"Any"})");
}

std::string StatusBody(int code, absl::string_view reason,
                       absl::string_view message) {
  return Json{{"kind", "Status"},
              {"code", code},
              {"reason", std::string(reason)},
              {"message", std::string(message)}}
      .dump();
}

Json ConfigMap(const std::string& ns, const std::string& name) {
  return {{"metadata", {{"namespace", ns}, {"name", name}}}};
}

TEST(ClientTest, GetsAnObject) {
  ScriptedServer server([](const ReceivedRequest&, Responder& responder) {
    responder.Respond(200, R"({"metadata":{"name":"b"}})");
  });
  const auto client = NewClient(server, {"agent/1"});
  const auto object = client->Get(kLeases, {"a", "b"});
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ(StringAt(*object, {"metadata", "name"}), "b");

  const auto requests = server.requests();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].method, "GET");
  EXPECT_EQ(requests[0].target,
            "/apis/coordination.k8s.io/v1/namespaces/a/leases/b");
  EXPECT_EQ(requests[0].headers.at("user-agent"), "agent/1");
  EXPECT_EQ(requests[0].headers.at("accept"), "application/json");
  EXPECT_EQ(requests[0].headers.count("authorization"), 0);
}

TEST(ClientTest, KeepsThePrefixOfTheServer) {
  ScriptedServer server(RespondOk);
  Config config;
  config.server = server.url() + "/clusters/c/";
  const auto client = NewClient(std::move(config));
  ASSERT_TRUE(client->Get(kNamespaces, {"", "a"}).ok());
  EXPECT_EQ(server.requests()[0].target, "/clusters/c/api/v1/namespaces/a");
}

TEST(ClientTest, SendsEachVerb) {
  ScriptedServer server(RespondOk);
  const auto client = NewClient(server);
  Json object = ConfigMap("a", "b");

  ASSERT_TRUE(client->Create(kConfigMaps, object).ok());
  object["data"]["key"] = "value";
  ASSERT_TRUE(client->Update(kConfigMaps, object).ok());
  ASSERT_TRUE(client->Patch(kConfigMaps, object).ok());
  ASSERT_TRUE(client->Delete(kConfigMaps, {"a", "b"}).ok());
  DeleteOptions conditions;
  conditions.uid = "u";
  conditions.resource_version = "7";
  ASSERT_TRUE(client->Delete(kConfigMaps, {"a", "b"}, conditions).ok());
  // A request without a body, after those with one.
  ASSERT_TRUE(client->Get(kConfigMaps, {"a", "b"}).ok());

  const auto requests = server.requests();
  ASSERT_THAT(requests, SizeIs(6));
  const std::string all = "/api/v1/namespaces/a/configmaps";
  const std::string one = all + "/b";
  const auto check = [&](int i, absl::string_view method,
                         const std::string& target,
                         absl::string_view content_type, const Json& body) {
    SCOPED_TRACE(i);
    EXPECT_EQ(requests[i].method, method);
    EXPECT_EQ(requests[i].target, target);
    EXPECT_EQ(requests[i].headers.at("content-type"), content_type);
    EXPECT_EQ(Json::parse(requests[i].body), body);
  };
  check(0, "POST", all, "application/json", ConfigMap("a", "b"));
  check(1, "PUT", one, "application/json", object);
  check(2, "PATCH", one, "application/merge-patch+json", object);
  const Json options = {{"kind", "DeleteOptions"}, {"apiVersion", "v1"}};
  check(3, "DELETE", one, "application/json", options);
  Json with_conditions = options;
  with_conditions["preconditions"] = {{"uid", "u"}, {"resourceVersion", "7"}};
  check(4, "DELETE", one, "application/json", with_conditions);
  EXPECT_EQ(requests[5].method, "GET");
  EXPECT_THAT(requests[5].body, IsEmpty());
  EXPECT_EQ(requests[5].headers.count("content-type"), 0);
  EXPECT_EQ(requests[5].connection, 0) << "the connection was not used again";
}

TEST(ClientTest, SendsALargeBodyAtOnce) {
  ScriptedServer server(RespondOk);
  const auto client = NewClient(server);
  Json object = ConfigMap("a", "b");
  object["data"]["key"] = std::string(2 << 20, 'x');
  ASSERT_TRUE(client->Create(kConfigMaps, object).ok());
  const auto requests = server.requests();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].headers.count("expect"), 0);
  EXPECT_TRUE(Json::parse(requests[0].body) == object);
}

TEST(ClientTest, ListsPages) {
  ScriptedServer server([](const ReceivedRequest& request,
                           Responder& responder) {
    const bool first = !absl::StrContains(request.target, "continue=");
    responder.Respond(
        200, first ? R"({"metadata":{"resourceVersion":"9","continue":"t/+="},)"
                     R"("items":[{"metadata":{"name":"a"}},{}]})"
                   : R"({"metadata":{"resourceVersion":"9"},"items":null})");
  });
  const auto client = NewClient(server);
  ListOptions options;
  options.label_selector = "team=a,tier in (x,y)";
  options.field_selector = "metadata.name!=b";
  options.limit = 2;
  options.resource_version = "0";
  options.resource_version_match = "NotOlderThan";
  std::vector<Json> items;
  const auto add = [&items](const Json& item) { items.push_back(item); };
  auto page = client->List(kConfigMaps, options, add);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->resource_version, "9");
  EXPECT_EQ(page->continue_token, "t/+=");
  EXPECT_THAT(items,
              ElementsAre(Json{{"metadata", {{"name", "a"}}}}, Json::object()));

  ListOptions next;
  next.ns = "ns";
  next.continue_token = page->continue_token;
  items.clear();
  page = client->List(kConfigMaps, next, add);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->continue_token, "");
  EXPECT_THAT(items, IsEmpty());

  const auto requests = server.requests();
  EXPECT_EQ(requests[0].target,
            "/api/v1/configmaps?labelSelector=team%3Da%2Ctier%20in%20%28x%2Cy"
            "%29&fieldSelector=metadata.name%21%3Db&limit=2&resourceVersion=0"
            "&resourceVersionMatch=NotOlderThan");
  EXPECT_EQ(requests[1].target,
            "/api/v1/namespaces/ns/configmaps?continue=t%2F%2B%3D");
}

TEST(ClientTest, MapsErrorsOfTheServer) {
  struct Case {
    int http_status;
    const char* reason;
    absl::StatusCode code;
  };
  const std::vector<Case> cases = {
      {400, "BadRequest", absl::StatusCode::kInvalidArgument},
      {422, "Invalid", absl::StatusCode::kInvalidArgument},
      {401, "Unauthorized", absl::StatusCode::kUnauthenticated},
      {403, "Forbidden", absl::StatusCode::kPermissionDenied},
      {404, "NotFound", absl::StatusCode::kNotFound},
      {409, "AlreadyExists", absl::StatusCode::kAlreadyExists},
      {409, "Conflict", absl::StatusCode::kAborted},
      {410, "Gone", absl::StatusCode::kOutOfRange},
      {410, "", absl::StatusCode::kOutOfRange},
      {400, "Expired", absl::StatusCode::kOutOfRange},
      {429, "TooManyRequests", absl::StatusCode::kResourceExhausted},
      {500, "InternalError", absl::StatusCode::kInternal},
      {502, "", absl::StatusCode::kUnavailable},
      {503, "ServiceUnavailable", absl::StatusCode::kUnavailable},
      {504, "Timeout", absl::StatusCode::kUnavailable},
      {302, "", absl::StatusCode::kUnknown},
      {418, "", absl::StatusCode::kUnknown},
  };
  size_t next = 0;
  ScriptedServer server([&](const ReceivedRequest&, Responder& responder) {
    const Case& c = cases[next++];
    responder.Respond(c.http_status,
                      StatusBody(c.http_status, c.reason, "it's wrong"));
  });
  const auto client = NewClient(server);
  for (const Case& c : cases) {
    const absl::Status status = client->Get(kNamespaces, {"", "a"}).status();
    EXPECT_EQ(status.code(), c.code) << status;
    EXPECT_EQ(
        status.message(),
        absl::StrCat("GET /api/v1/namespaces/a: it's wrong (", c.http_status,
                     *c.reason == 0 ? "" : " ", c.reason, ")"));
  }
}

TEST(ClientTest, QuotesABodyThatIsNoStatus) {
  ScriptedServer server([](const ReceivedRequest&, Responder& responder) {
    responder.Respond(502, "bad gateway" + std::string(1000, '.'));
  });
  const absl::Status status =
      NewClient(server)->Get(kNamespaces, {"", "a"}).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(": bad gateway..."));
  EXPECT_LT(status.message().size(), 300);
}

// The API server has been restored from a backup.
TEST(ClientTest, AVersionThatTheServerDoesNotReachIsOutOfRange) {
  ScriptedServer server([](const ReceivedRequest&, Responder& responder) {
    responder.Respond(504, R"({"kind":"Status","reason":"Timeout",
        "message":"Too large resource version: 9, current: 5",
        "details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}})");
  });
  EXPECT_EQ(
      NewClient(server)->List(kNamespaces, {}, [](const Json&) {}).status(),
      absl::OutOfRangeError(
          "GET /api/v1/namespaces: Too large resource version: 9, "
          "current: 5 (504 ResourceVersionTooLarge)"));
}

TEST(ClientTest, AnAnswerMustBeJson) {
  ScriptedServer server([](const ReceivedRequest&, Responder& responder) {
    responder.Respond(200, R"({"kind":})");
  });
  const auto client = NewClient(server);
  const absl::Status status = client->Get(kNamespaces, {"", "a"}).status();
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("invalid JSON"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("column 9"));
}

TEST(ClientTest, TellsAnItemBeforeTheNextOneArrives) {
  absl::Notification told;
  ScriptedServer server([&](const ReceivedRequest&, Responder& responder) {
    responder.BeginStream();
    responder.Chunk(R"({"metadata":{"resourceVersion":"9"},"items":[)"
                    R"({"metadata":{"name":"a","managedFields":[{"f":{}}]}},)");
    told.WaitForNotification();
    responder.Chunk(R"({"metadata":{"name":"b"}}]})");
    responder.EndStream();
  });
  std::vector<Json> items;
  const auto page =
      NewClient(server)->List(kNamespaces, {}, [&](const Json& item) {
        items.push_back(item);
        if (items.size() == 1) told.Notify();
      });
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->resource_version, "9");
  EXPECT_THAT(items, ElementsAre(Json{{"metadata", {{"name", "a"}}}},
                                 Json{{"metadata", {{"name", "b"}}}}));
}

// A key of data may have any name.
TEST(ClientTest, LeavesOutOnlyTheManagedFieldsOfTheMetadata) {
  const std::string data = R"("data":{"managedFields":"a","metadata":"b"})";
  const std::string object = absl::StrCat(
      R"({"metadata":{"name":"a","managedFields":[{"f":{}}]},)", data, "}");
  std::string body = object;
  ScriptedServer server([&](const ReceivedRequest&, Responder& responder) {
    responder.Respond(200, body);
  });
  const auto client = NewClient(server);
  const Json expected =
      Json::parse(R"({"metadata":{"name":"a"},)" + data + "}");
  EXPECT_EQ(*client->Get(kConfigMaps, {"a", "b"}), expected);

  body = absl::StrCat(R"({"metadata":{"resourceVersion":"9"},"items":[)",
                      object, "]}");
  std::vector<Json> items;
  EXPECT_TRUE(client
                  ->List(kConfigMaps, {},
                         [&](const Json& item) { items.push_back(item); })
                  .ok());
  EXPECT_THAT(items, ElementsAre(expected));
}

TEST(ClientTest, AListThatBreaksOffIsAnError) {
  ScriptedServer server([](const ReceivedRequest&, Responder& responder) {
    responder.BeginStream();
    responder.Chunk(R"({"items":[{"metadata":{"name":"a"}},)");
    responder.Cut();
  });
  int items = 0;
  const absl::Status status =
      NewClient(server)
          ->List(kNamespaces, {}, [&items](const Json&) { ++items; })
          .status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), StartsWith("GET /api/v1/"));
  EXPECT_EQ(items, 1);
}

TEST(ClientTest, AListMustBeOne) {
  std::string body;
  ScriptedServer server([&](const ReceivedRequest&, Responder& responder) {
    responder.Respond(200, body);
  });
  const auto client = NewClient(server);
  for (const char* text :
       {"{}", R"({"items":{}})", R"({"items":[1]})", R"({"items":[{}])"}) {
    body = text;
    const absl::Status status =
        client->List(kNamespaces, {}, [](const Json&) {}).status();
    EXPECT_TRUE(absl::IsInternal(status)) << text << ": " << status;
  }
}

TEST(ClientTest, ChecksArguments) {
  ScriptedServer server(RespondOk);
  const auto client = NewClient(server);
  const auto expect = [](const absl::Status& status, const char* text) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  };
  expect(client->Create(kConfigMaps, Json::object()).status(),
         "metadata.namespace ''");
  expect(client->Update(kConfigMaps, ConfigMap("a", "")).status(), "name ''");
  expect(client->Patch(kConfigMaps, ConfigMap("a", "")).status(), "name ''");
  Json object = ConfigMap("a", "b");
  object["data"] = "\xff";
  expect(client->Update(kConfigMaps, object).status(), "PUT /api/v1");
  EXPECT_THAT(server.requests(), IsEmpty());
}

TEST(ClientTest, ChecksTheConfiguration) {
  const auto expect = [](Config config, const char* text) {
    const absl::Status status = Client::Create(std::move(config)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  };
  Config config;
  expect(config, "server is empty");
  for (const char* server : {"example.com", "ftp://example.com", "https://",
                             "https://a?b", "https://me:x@a", "https://a:b"}) {
    config.server = server;
    expect(config, server);
  }
  config.server = "https://example.com";
  config.client_cert = "x";
  expect(config, "no client-key");
  config.client_cert = "";
  config.client_key = "x";
  expect(config, "no client-certificate");
  config.client_key = "";
  config.ca = "x";
  config.insecure_skip_tls_verify = true;
  expect(config, "insecure-skip-tls-verify");
}

TEST(ClientTest, WaitsAndTriesAgain) {
  workqueue::FakeClock clock;
  int requests = 0;
  ScriptedServer server([&](const ReceivedRequest&, Responder& responder) {
    switch (requests++) {
      case 0:
        return responder.Respond(429, "slow down", "Retry-After: 3\r\n");
      case 1:
        return responder.Respond(503, "not yet", "retry-after: 4\r\n");
      default:
        return responder.Respond(200, "{}");
    }
  });
  ClientOptions options;
  options.clock = &clock;
  const auto client = NewClient(server, options);
  std::thread stepper([&clock] {
    for (const int seconds : {3, 4}) {
      clock.AwaitWaiters(1);
      EXPECT_EQ(clock.GetEarliestWakeupTime(),
                clock.TimeNow() + absl::Seconds(seconds));
      clock.Step(absl::Seconds(seconds));
    }
  });
  const auto object = client->Get(kNamespaces, {"", "a"});
  stepper.join();
  EXPECT_TRUE(object.ok()) << object.status();
  ASSERT_THAT(server.requests(), SizeIs(3));
  EXPECT_EQ(server.requests()[2].connection, 0);
}

TEST(ClientTest, TriesAtMostElevenTimes) {
  ScriptedServer server([](const ReceivedRequest&, Responder& responder) {
    responder.Respond(500, StatusBody(500, "", "again"), "Retry-After: 0\r\n");
  });
  const absl::Status status =
      NewClient(server)->Get(kNamespaces, {"", "a"}).status();
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_EQ(workqueue::RetryAfterOf(status), std::nullopt);
  EXPECT_THAT(server.requests(), SizeIs(11));
}

TEST(ClientTest, DoesNotTryAgainUnlessTheServerSays) {
  const std::vector<std::pair<int, std::string>> answers = {
      {429, ""},
      {503, "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n"},
      {404, "Retry-After: 1\r\n"}};
  size_t next = 0;
  ScriptedServer server([&](const ReceivedRequest&, Responder& responder) {
    const auto& [http_status, headers] = answers[next++];
    responder.Respond(http_status, "", headers);
  });
  const auto client = NewClient(server);
  for (size_t i = 1; i <= answers.size(); ++i) {
    const absl::Status status = client->Get(kNamespaces, {"", "a"}).status();
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(workqueue::RetryAfterOf(status), std::nullopt);
    EXPECT_THAT(server.requests(), SizeIs(i));
  }
}

TEST(ClientTest, DoesNotWaitBeyondTheTimeLimit) {
  workqueue::FakeClock clock;
  ScriptedServer server([](const ReceivedRequest&, Responder& responder) {
    responder.Respond(429, "slow down", "Retry-After: 60\r\n");
  });
  ClientOptions options;
  options.clock = &clock;
  const absl::Status status =
      NewClient(server, options)
          ->Get(kNamespaces, {"", "a"}, absl::Seconds(60))
          .status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(workqueue::RetryAfterOf(status), absl::Seconds(60));
}

TEST(ClientTest, StopEndsAWait) {
  workqueue::FakeClock clock;
  ScriptedServer server([](const ReceivedRequest&, Responder& responder) {
    responder.Respond(429, "slow down", "Retry-After: 1\r\n");
  });
  ClientOptions options;
  options.clock = &clock;
  const auto client = NewClient(server, options);
  std::thread stopper([&] {
    clock.AwaitWaiters(1);
    client->Stop();
  });
  const absl::Status status = client->Get(kNamespaces, {"", "a"}).status();
  stopper.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_THAT(server.requests(), SizeIs(1));
}

TEST(ClientTest, StopEndsARequest) {
  absl::Notification arrived;
  ScriptedServer server([&](const ReceivedRequest&, Responder& responder) {
    arrived.Notify();
    responder.AwaitHangUp();
  });
  const auto client = NewClient(server);
  std::thread stopper([&] {
    arrived.WaitForNotification();
    client->Stop();
  });
  absl::Status status = client->Get(kNamespaces, {"", "a"}).status();
  stopper.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  status = client->Get(kNamespaces, {"", "a"}).status();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_THAT(server.requests(), SizeIs(1));
}

TEST(ClientTest, ARequestHasATimeLimit) {
  ScriptedServer server([](const ReceivedRequest&, Responder& responder) {
    responder.AwaitHangUp();
  });
  const auto client = NewClient(server);
  for (const absl::Duration limit :
       {absl::Milliseconds(1), absl::ZeroDuration()}) {
    const absl::Status status =
        client->Get(kNamespaces, {"", "a"}, limit).status();
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("GET /api/v1/namespaces/a: "));
  }
}

TEST(ClientTest, ALostConnectionIsUnavailable) {
  ScriptedServer server(
      [](const ReceivedRequest& request, Responder& responder) {
        if (request.target == "/api/v1/namespaces/half") {
          responder.Raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
        }
        responder.Cut();
      });
  const auto client = NewClient(server);
  for (const char* name : {"none", "half"}) {
    const absl::Status status = client->Get(kNamespaces, {"", name}).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  }
}

TEST(ClientTest, WithoutAServerARequestIsUnavailable) {
  Config config;
  config.server = ScriptedServer(RespondOk).url();  // closed again
  const absl::Status status =
      NewClient(std::move(config))->Get(kNamespaces, {"", "a"}).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST(ClientTest, AnIdleConnectionThatTheServerClosedIsReplaced) {
  ScriptedServer server([](const ReceivedRequest&, Responder& responder) {
    responder.Respond(200, "{}");
    responder.Cut();
  });
  const auto client = NewClient(server);
  for (int i = 0; i < 3; ++i) {
    const auto object = client->Get(kNamespaces, {"", "a"});
    EXPECT_TRUE(object.ok()) << object.status();
  }
}

TEST(ClientTest, InterimResponsesAreSkipped) {
  // Another request gives the client the time to see the first response alone.
  ScriptedServer other(RespondOk);
  ScriptedServer server([&](const ReceivedRequest&, Responder& responder) {
    responder.Raw("HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n");
    EXPECT_TRUE(NewClient(other)->Get(kNamespaces, {"", "a"}).ok());
    responder.Respond(404, StatusBody(404, "NotFound", "none"));
  });
  const absl::Status status =
      NewClient(server)->Get(kNamespaces, {"", "a"}).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
}

TEST(ClientTest, RequestsAtTheSameTimeHaveConnectionsOfTheirOwn) {
  absl::Notification first_arrived;
  absl::Notification second_arrived;
  ScriptedServer server(
      [&](const ReceivedRequest& request, Responder& responder) {
        if (request.target == "/api/v1/namespaces/second") {
          second_arrived.Notify();
        } else {
          first_arrived.Notify();
          second_arrived.WaitForNotification();
        }
        responder.Respond(200, "{}");
      });
  const auto client = NewClient(server);
  std::thread first([&] {
    EXPECT_TRUE(client->Get(kNamespaces, {"", "first"}).ok());
  });
  first_arrived.WaitForNotification();
  EXPECT_TRUE(client->Get(kNamespaces, {"", "second"}).ok());
  first.join();
  const auto requests = server.requests();
  EXPECT_NE(requests[0].connection, requests[1].connection);
}

TEST(ClientTest, SendsTheTokenOfTheConfiguration) {
  ScriptedServer server(RespondOk);
  Config config;
  config.server = server.url();
  config.token = " secret\n";
  ASSERT_TRUE(NewClient(config)->Get(kNamespaces, {"", "a"}).ok());
  EXPECT_EQ(server.requests()[0].headers.at("authorization"), "Bearer secret");

  config.token = "sec\nret";
  const absl::Status status =
      NewClient(config)->Get(kNamespaces, {"", "a"}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

TEST(ClientTest, SendsTheTokenThatTheFileHasNow) {
  ScriptedServer server(RespondOk);
  mirror::ScratchDirectory scratch;
  Config config;
  config.server = server.url();
  config.token_file = (scratch.path() / "token").string();
  config.token = "unused";
  const auto client = NewClient(config);
  const auto get = [&] {
    const absl::Status status = client->Get(kNamespaces, {"", "a"}).status();
    if (!status.ok()) return std::string(status.message());
    return server.requests().back().headers.at("authorization");
  };

  EXPECT_THAT(get(), HasSubstr(config.token_file));
  mirror::WriteFile(config.token_file, "\n");
  EXPECT_THAT(get(), HasSubstr("is empty"));
  mirror::WriteFile(config.token_file, "one\n");
  EXPECT_EQ(get(), "Bearer one");
  EXPECT_EQ(get(), "Bearer one");
  // As Kubernetes does: a rename, which changes the inode.
  const auto renamed = scratch.path() / "renamed";
  mirror::WriteFile(renamed, "two\n");
  std::filesystem::rename(renamed, config.token_file);
  EXPECT_EQ(get(), "Bearer two");
  // The last token stays in use.
  std::filesystem::remove(config.token_file);
  EXPECT_EQ(get(), "Bearer two");
  mirror::WriteFile(config.token_file, "three\n");
  EXPECT_EQ(get(), "Bearer three");
}

}  // namespace
}  // namespace kubernetes::client_test
