// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/api_lister_watcher.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "examples/kubernetes/client.h"
#include "examples/kubernetes/config.h"
#include "examples/kubernetes/json.h"
#include "examples/kubernetes/objects.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/kubernetes/scripted_server.h"
#include "workqueue/controller/informer.h"
#include "workqueue/controller/lister_watcher.h"

namespace kubernetes::api_lister_watcher_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

Json ObjectJson(const std::string& name, const std::string& version) {
  return {{"metadata",
           {{"namespace", "ns"},
            {"name", name},
            {"uid", "u"},
            {"resourceVersion", version}}}};
}

std::string ListBody(std::vector<Json> items, const std::string& version,
                     const std::string& next_page = "") {
  Json list = {{"metadata", {{"resourceVersion", version}}},
               {"items", std::move(items)}};
  if (!next_page.empty()) list["metadata"]["continue"] = next_page;
  return list.dump();
}

std::string EventLine(const std::string& type, const Json& object) {
  return Json{{"type", type}, {"object", object}}.dump() + "\n";
}

// Responds as the server does when it no longer has a version.
void RespondExpired(Responder& responder) {
  responder.Respond(410, R"({"kind":"Status","reason":"Expired"})");
}

class ApiListerWatcherTest : public testing::Test {
 protected:
  using Api = ApiListerWatcher<ConfigMap>;

  // Creates a server that answers each request with `answer`, and a client.
  void Serve(std::function<void(Responder&)> answer) {
    api_ = nullptr;
    server_ = std::make_unique<ScriptedServer>(
        [answer = std::move(answer)](const ReceivedRequest&,
                                     Responder& responder) {
          answer(responder);
        });
    api_ = std::make_unique<Api>(*Client::Create(ServerConfig()));
  }

  // Creates a server of one watch, which sends `events`, and watches.
  std::unique_ptr<workqueue::Watcher<ConfigMap>> Watch(std::string events) {
    Serve([events = std::move(events)](Responder& responder) {
      responder.BeginStream();
      responder.Chunk(events);
      responder.EndStream();
    });
    auto watcher = api_->Watch("5");
    EXPECT_TRUE(watcher.ok()) << watcher.status();
    return *std::move(watcher);
  }

  Config ServerConfig() const {
    Config config;
    config.server = server_->url();
    return config;
  }

  // Lists a page, and keeps the names in it.
  absl::StatusOr<workqueue::ListPage> List(
      const workqueue::ListOptions& options) {
    listed_.clear();
    return api_->List(options, [this](std::shared_ptr<const ConfigMap> object) {
      listed_.push_back(object->meta.name);
    });
  }

  std::string LastTarget() const { return server_->requests().back().target; }

  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<Api> api_;
  std::vector<std::string> listed_;
};

TEST_F(ApiListerWatcherTest, ListsPageByPage) {
  int requests = 0;
  Serve([&](Responder& responder) {
    responder.Respond(
        200, requests++ == 0
                 ? ListBody({ObjectJson("a", "1"), ObjectJson("b", "2")}, "7",
                            "next page")
                 : ListBody({ObjectJson("c", "3")}, "7"));
  });
  auto page = List({/*min_version=*/"", /*page=*/""});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(listed_, ElementsAre("a", "b"));
  EXPECT_EQ(page->version, "7");
  EXPECT_EQ(page->next_page, "next page");
  EXPECT_EQ(LastTarget(), "/api/v1/configmaps?limit=500&resourceVersion=0");

  page = List({/*min_version=*/"", page->next_page});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(listed_, ElementsAre("c"));
  EXPECT_EQ(page->version, "7");
  EXPECT_EQ(page->next_page, "");
  EXPECT_EQ(LastTarget(), "/api/v1/configmaps?limit=500&continue=next%20page");
}

// A page is of the version of its list, so only the first page has a condition.
TEST_F(ApiListerWatcherTest, AListIsNotOlderThanTheVersion) {
  Serve(
      [](Responder& responder) { responder.Respond(200, ListBody({}, "7")); });
  EXPECT_TRUE(List({/*min_version=*/"5", /*page=*/""}).ok());
  EXPECT_EQ(LastTarget(),
            "/api/v1/configmaps?resourceVersion=5"
            "&resourceVersionMatch=NotOlderThan");
  EXPECT_TRUE(List({/*min_version=*/"5", /*page=*/"p"}).ok());
  EXPECT_EQ(LastTarget(), "/api/v1/configmaps?limit=500&continue=p");
}

// The informer has seen a version, so the server's cache may be older than what
// the informer has.
TEST_F(ApiListerWatcherTest, AfterAnExpiredVersionTheListIsTheNewest) {
  Serve(
      [](Responder& responder) { responder.Respond(200, ListBody({}, "7")); });
  EXPECT_TRUE(List({}).ok());
  EXPECT_TRUE(List({}).ok());
  EXPECT_EQ(LastTarget(), "/api/v1/configmaps?limit=500");
}

TEST_F(ApiListerWatcherTest, AfterAListThatBrokeOffTheListIsTheNewest) {
  Serve([](Responder& responder) {
    std::string body = ListBody({ObjectJson("a", "1")}, "7");
    body.pop_back();
    responder.Respond(200, body);
  });
  for (const char* version : {"&resourceVersion=0", ""}) {
    EXPECT_FALSE(List({}).ok());
    EXPECT_THAT(listed_, ElementsAre("a"));
    EXPECT_EQ(LastTarget(),
              absl::StrCat("/api/v1/configmaps?limit=500", version));
  }
}

TEST_F(ApiListerWatcherTest, AfterAnExpiredPageTheNextListIsInOnePiece) {
  int requests = 0;
  Serve([&](Responder& responder) {
    if (++requests == 2) return RespondExpired(responder);
    responder.Respond(200, ListBody({}, "7", requests == 1 ? "p" : ""));
  });
  EXPECT_TRUE(List({}).ok());
  const absl::Status expired = List({/*min_version=*/"", "p"}).status();
  EXPECT_TRUE(absl::IsOutOfRange(expired)) << expired;
  EXPECT_TRUE(List({}).ok());
  EXPECT_EQ(LastTarget(), "/api/v1/configmaps");
  // The lists after that have pages again.
  EXPECT_TRUE(List({}).ok());
  EXPECT_EQ(LastTarget(), "/api/v1/configmaps?limit=500");
}

TEST_F(ApiListerWatcherTest, AListFailsAsTheServerDoes) {
  Serve([](Responder& responder) {
    responder.Respond(403, R"({"kind":"Status","reason":"Forbidden"})");
  });
  const absl::Status error = List({}).status();
  EXPECT_TRUE(absl::IsPermissionDenied(error)) << error;
  EXPECT_TRUE(absl::IsPermissionDenied(api_->Watch("5").status()));
  EXPECT_TRUE(List({}).status() == error);
  EXPECT_EQ(LastTarget(), "/api/v1/configmaps?limit=500&resourceVersion=0");
}

TEST_F(ApiListerWatcherTest, ABadObjectInAListIsAnError) {
  Json bad = ObjectJson("b", "2");
  bad["metadata"]["uid"] = 5;
  Serve([&](Responder& responder) {
    responder.Respond(200, ListBody({ObjectJson("a", "1"), bad}, "7"));
  });
  const absl::Status error = List({}).status();
  EXPECT_TRUE(absl::IsInternal(error)) << error;
  EXPECT_THAT(std::string(error.message()),
              StartsWith("an object of the server: "));
}

// A watch from no version would begin anywhere.
TEST_F(ApiListerWatcherTest, AListMustHaveAVersion) {
  Serve([](Responder& responder) { responder.Respond(200, ListBody({}, "")); });
  EXPECT_EQ(List({}).status(),
            absl::InternalError("a list of configmaps has no resourceVersion"));
}

TEST_F(ApiListerWatcherTest, AnEventMustHaveAVersion) {
  for (const std::string& event :
       {EventLine("BOOKMARK", {{"kind", "ConfigMap"}}),
        EventLine("ADDED", ObjectJson("a", ""))}) {
    EXPECT_EQ(Watch(event)->Next().status(),
              absl::DataLossError(
                  "an event of a watch of configmaps has no resourceVersion"));
  }
}

TEST_F(ApiListerWatcherTest, TellsEventsAndTheirVersions) {
  using Type = workqueue::WatchEvent<ConfigMap>::Type;
  const auto watcher =
      Watch(EventLine("ADDED", ObjectJson("a", "6")) +
            EventLine("MODIFIED", ObjectJson("b", "7")) +
            EventLine("DELETED", ObjectJson("c", "8")) +
            EventLine("BOOKMARK", {{"kind", "ConfigMap"},
                                   {"metadata", {{"resourceVersion", "9"}}}}));
  EXPECT_THAT(LastTarget(),
              StartsWith("/api/v1/configmaps?watch=true&resourceVersion=5"
                         "&allowWatchBookmarks=true&"));
  const auto expect = [&](Type type, const std::string& name,
                          const std::string& version) {
    const auto event = watcher->Next();
    ASSERT_TRUE(event.ok()) << event.status();
    ASSERT_TRUE(event->has_value());
    EXPECT_TRUE((*event)->type == type) << version;
    EXPECT_EQ((*event)->version, version);
    if (name.empty()) {
      EXPECT_EQ((*event)->object, nullptr);
    } else {
      ASSERT_NE((*event)->object, nullptr);
      EXPECT_EQ((*event)->object->meta.name, name);
      EXPECT_EQ((*event)->object->meta.resource_version, version);
    }
  };
  expect(Type::kAdded, "a", "6");
  expect(Type::kModified, "b", "7");
  expect(Type::kDeleted, "c", "8");
  expect(Type::kBookmark, "", "9");
  const auto end = watcher->Next();
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_FALSE(end->has_value());
}

TEST_F(ApiListerWatcherTest, ABadObjectInAWatchIsAnError) {
  Json bad = ObjectJson("a", "6");
  bad["data"] = "text";
  const auto watcher = Watch(EventLine("ADDED", bad));
  const absl::Status error = watcher->Next().status();
  EXPECT_TRUE(absl::IsInternal(error)) << error;
  EXPECT_THAT(std::string(error.message()),
              StartsWith("an object of the server: "));
}

TEST_F(ApiListerWatcherTest, AWatchOfAnExpiredVersionIsAnError) {
  Serve(RespondExpired);
  const absl::Status refused = api_->Watch("5").status();
  EXPECT_TRUE(absl::IsOutOfRange(refused)) << refused;

  const auto watcher = Watch(EventLine(
      "ERROR", {{"kind", "Status"}, {"code", 410}, {"reason", "Expired"}}));
  const absl::Status ended = watcher->Next().status();
  EXPECT_TRUE(absl::IsOutOfRange(ended)) << ended;
}

// As when the watch of an informer expires: its next list has pages.
TEST_F(ApiListerWatcherTest, AnExpiredWatchDoesNotChangeTheList) {
  int requests = 0;
  Serve([&](Responder& responder) {
    if (++requests == 1) return RespondExpired(responder);
    responder.Respond(200, ListBody({}, "7"));
  });
  EXPECT_FALSE(api_->Watch("5").ok());
  EXPECT_TRUE(List({}).ok());
  EXPECT_EQ(LastTarget(), "/api/v1/configmaps?limit=500&resourceVersion=0");
}

// Then the informer watches again, and finds out whether there is a server.
TEST_F(ApiListerWatcherTest, ASilentWatchEnds) {
  ScriptedServer server([](const ReceivedRequest&, Responder& responder) {
    responder.BeginStream();
    responder.AwaitHangUp();
  });
  Config config;
  config.server = server.url();
  const auto client = *Client::Create(config);
  WatchOptions options;
  options.silence_limit = absl::Seconds(1);
  ApiWatcher<ConfigMap> watcher(
      *client->Watch(ResourceOf<ConfigMap>(), options));
  const auto end = watcher.Next();
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_FALSE(end->has_value());
}

TEST_F(ApiListerWatcherTest, StopEndsAWatch) {
  Serve([](Responder& responder) {
    responder.BeginStream();
    responder.AwaitHangUp();
  });
  auto watcher = api_->Watch("5");
  ASSERT_TRUE(watcher.ok()) << watcher.status();
  api_->Stop();
  EXPECT_TRUE(absl::IsCancelled((*watcher)->Next().status()));
  EXPECT_TRUE(absl::IsCancelled(List({}).status()));
  *watcher = nullptr;
}

TEST(NewInformerTest, KeepsAStoreOfTheObjects) {
  ScriptedServer server([](const ReceivedRequest& request,
                           Responder& responder) {
    if (!absl::StrContains(request.target, "watch=true")) {
      return responder.Respond(
          200, ListBody({ObjectJson("a", "10"), ObjectJson("b", "2")}, "10"));
    }
    responder.BeginStream();
    // An event that is older than the list: "9" is not newer than "10".
    Json old = ObjectJson("a", "9");
    old["data"] = {{"old", ""}};
    responder.Chunk(EventLine("MODIFIED", old));
    responder.Chunk(EventLine("DELETED", ObjectJson("b", "11")));
    responder.Chunk(EventLine("ADDED", ObjectJson("c", "12")));
    responder.AwaitHangUp();
  });
  Config config;
  config.server = server.url();
  auto informer = NewInformer<ConfigMap>(
      config, {{"version", [](const ConfigMap& object) {
                  return std::vector<std::string>{object.meta.resource_version};
                }}});
  ASSERT_TRUE(informer.ok()) << informer.status();
  EXPECT_EQ((*informer)->name(), "configmaps");
  absl::Notification added;
  workqueue::InformerHandler<ConfigMap> handler;
  handler.on_event = [&](const workqueue::ObjectEvent<ConfigMap>& event) {
    if (event.new_object != nullptr && event.new_object->meta.name == "c") {
      added.Notify();
    }
  };
  (*informer)->AddHandler(std::move(handler));
  ASSERT_TRUE((*informer)->Start().ok());
  EXPECT_TRUE((*informer)->AwaitSync());
  added.WaitForNotification();
  const auto& store = (*informer)->store();
  EXPECT_THAT(store.Keys(), UnorderedElementsAre("ns/a", "ns/c"));
  EXPECT_TRUE(store.Get("ns/a")->data.empty());
  const auto indexed = store.ByIndex("version", "12");
  ASSERT_TRUE(indexed.ok()) << indexed.status();
  EXPECT_THAT(*indexed, ElementsAre(store.Get("ns/c")));
  (*informer)->Stop();
}

TEST(NewInformerTest, AWrongConfigurationIsAnError) {
  Config config;
  config.server = "nonsense";
  const absl::Status error = NewInformer<ConfigMap>(config).status();
  EXPECT_TRUE(absl::IsInvalidArgument(error)) << error;
  EXPECT_THAT(std::string(error.message()), HasSubstr("nonsense"));
}

}  // namespace
}  // namespace kubernetes::api_lister_watcher_test
