// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/watcher.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "examples/kubernetes/client.h"
#include "examples/kubernetes/config.h"
#include "examples/kubernetes/json.h"
#include "examples/kubernetes/resource.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/kubernetes/scripted_server.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/retry_after.h"

namespace kubernetes::watcher_test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

const Resource kConfigMaps = {"", "v1", "configmaps"};

std::string Event(absl::string_view type, const std::string& name) {
  return absl::StrCat(R"({"type":")", type,
                      R"(","object":{"metadata":{"name":")", name, "\"}}}\n");
}

// A server and a client of it. The server answers each request with `script`.
class WatcherTest : public testing::Test {
 protected:
  void Serve(std::function<void(Responder&)> script,
             workqueue::Clock* clock = nullptr) {
    server_ = std::make_unique<ScriptedServer>(
        [script = std::move(script)](const ReceivedRequest&,
                                     Responder& responder) {
          script(responder);
        });
    Config config;
    config.server = server_->url();
    ClientOptions options;
    options.clock = clock;
    client_ = *Client::Create(config, options);
  }

  // Serves a stream, and opens a watch of it.
  std::unique_ptr<Watcher> Watch(std::function<void(Responder&)> script) {
    Serve([script = std::move(script)](Responder& responder) {
      responder.BeginStream();
      script(responder);
    });
    auto watcher = client_->Watch(kConfigMaps, {});
    EXPECT_TRUE(watcher.ok()) << watcher.status();
    return *std::move(watcher);
  }

  // Returns the next event as "type name", or how the stream ended.
  static std::string Next(Watcher& watcher) {
    const auto event = watcher.Next();
    if (!event.ok()) return event.status().ToString();
    if (!event->has_value()) return "end";
    return absl::StrCat(static_cast<int>((*event)->type), " ",
                        StringAt((*event)->object, {"metadata", "name"}));
  }

  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(WatcherTest, AsksForWhatTheOptionsSay) {
  Serve([](Responder& responder) { responder.Respond(200, ""); });
  WatchOptions options;
  options.ns = "a";
  options.resource_version = "12";
  options.label_selector = "x=y";
  options.field_selector = "metadata.name=z";
  options.timeout = absl::Seconds(77);
  options.allow_bookmarks = false;
  EXPECT_TRUE(client_->Watch(kConfigMaps, options).ok());
  EXPECT_EQ(server_->requests()[0].target,
            "/api/v1/namespaces/a/configmaps?watch=true&resourceVersion=12"
            "&labelSelector=x%3Dy&fieldSelector=metadata.name%3Dz"
            "&timeoutSeconds=77");

  EXPECT_TRUE(client_->Watch(kConfigMaps, {}).ok());
  const std::string target = server_->requests()[1].target;
  const std::string start =
      "/api/v1/configmaps?watch=true&allowWatchBookmarks=true&timeoutSeconds=";
  ASSERT_EQ(target.substr(0, start.size()), start);
  int seconds = 0;
  ASSERT_TRUE(absl::SimpleAtoi(target.substr(start.size()), &seconds));
  EXPECT_GE(seconds, 300);
  EXPECT_LE(seconds, 600);

  options.timeout = absl::Milliseconds(1);
  EXPECT_EQ(client_->Watch(kConfigMaps, options).status(),
            absl::InvalidArgumentError("timeout is 1ms, less than 1s"));
}

TEST_F(WatcherTest, ReturnsEventsUntilTheServerEndsTheStream) {
  const auto watcher = Watch([](Responder& responder) {
    responder.Chunk(Event("ADDED", "a") + Event("MODIFIED", "b"));
    responder.Chunk(Event("DELETED", "c"));
    responder.Chunk(Event("BOOKMARK", ""));
    responder.EndStream();
  });
  const auto name = [](WatchEvent::Type type, const char* object) {
    return absl::StrCat(static_cast<int>(type), " ", object);
  };
  EXPECT_EQ(Next(*watcher), name(WatchEvent::Type::kAdded, "a"));
  EXPECT_EQ(Next(*watcher), name(WatchEvent::Type::kModified, "b"));
  EXPECT_EQ(Next(*watcher), name(WatchEvent::Type::kDeleted, "c"));
  EXPECT_EQ(Next(*watcher), name(WatchEvent::Type::kBookmark, ""));
  EXPECT_EQ(Next(*watcher), "end");
  EXPECT_EQ(Next(*watcher), "end");
}

TEST_F(WatcherTest, LeavesOutOnlyTheManagedFieldsOfTheMetadata) {
  const auto watcher = Watch([](Responder& responder) {
    responder.Chunk(
        R"({"type":"ADDED","object":{"metadata":{"managedFields":[{}]},)"
        R"("data":{"managedFields":"a"}}})"
        "\n");
    responder.EndStream();
  });
  const auto event = watcher->Next();
  ASSERT_TRUE(event.ok() && event->has_value()) << event.status();
  EXPECT_EQ((*event)->object,
            Json::parse(R"({"metadata":{},"data":{"managedFields":"a"}})"));
}

TEST_F(WatcherTest, ALineMayBeSplitAnywhere) {
  const auto watcher = Watch([](Responder& responder) {
    for (const char c : Event("ADDED", "a") + Event("ADDED", "\u00e9")) {
      responder.Chunk(absl::string_view(&c, 1));
    }
    responder.EndStream();
  });
  EXPECT_EQ(Next(*watcher), "0 a");
  EXPECT_EQ(Next(*watcher), "0 \u00e9");
  EXPECT_EQ(Next(*watcher), "end");
}

TEST_F(WatcherTest, ReturnsAnEventBeforeTheNextOneExists) {
  absl::Notification received;
  const auto watcher = Watch([&](Responder& responder) {
    const std::string next = Event("ADDED", "b");
    responder.Chunk(Event("ADDED", "a") + next.substr(0, 10));
    received.WaitForNotification();
    responder.Chunk(next.substr(10));
    responder.EndStream();
  });
  EXPECT_EQ(Next(*watcher), "0 a");
  received.Notify();
  EXPECT_EQ(Next(*watcher), "0 b");
  EXPECT_EQ(Next(*watcher), "end");
}

TEST_F(WatcherTest, ALineMayBeLong) {
  const std::string name(1 << 20, 'x');
  const auto watcher = Watch([&](Responder& responder) {
    for (int i = 0; i < 3; ++i) responder.Chunk(Event("ADDED", name));
    responder.EndStream();
  });
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Next(*watcher) == "0 " + name);
  EXPECT_EQ(Next(*watcher), "end");
}

TEST_F(WatcherTest, AnErrorEventIsAStatus) {
  const auto watcher = Watch([](Responder& responder) {
    responder.Chunk(
        R"({"type":"ERROR","object":{"kind":"Status","code":410,)"
        R"("reason":"Expired","message":"too old resource version"}})"
        "\n");
    responder.EndStream();
  });
  const std::string error =
      "OUT_OF_RANGE: WATCH /api/v1/configmaps: too old resource version (410 "
      "Expired)";
  EXPECT_EQ(Next(*watcher), error);
  EXPECT_EQ(Next(*watcher), error);
}

TEST_F(WatcherTest, SomethingElseThanAnEventIsAnError) {
  const std::pair<const char*, const char*> cases[] = {
      {"{\"type\":\n", "invalid JSON.*column 9"},
      {"\n", "invalid JSON"},
      {"[]\n", "there is no object"},
      {R"({"type":"ADDED"})"
       "\n",
       "there is no object"},
      {R"({"type":"MOVED","object":{}})"
       "\n",
       "the type 'MOVED' is unknown"},
  };
  for (const auto& [line, error] : cases) {
    const auto watcher = Watch([line = line](Responder& responder) {
      responder.Chunk(line);
      responder.EndStream();
    });
    EXPECT_THAT(Next(*watcher),
                MatchesRegex(absl::StrCat("INTERNAL: WATCH /api/v1/configmaps: "
                                          ".*",
                                          error, ".*")));
  }
}

TEST_F(WatcherTest, AStreamThatIsCutIsUnavailable) {
  auto watcher = Watch([](Responder& responder) {
    responder.Chunk(Event("ADDED", "a"));
    responder.Cut();
  });
  EXPECT_EQ(Next(*watcher), "0 a");
  EXPECT_THAT(Next(*watcher),
              HasSubstr("UNAVAILABLE: WATCH /api/v1/configmaps: "));

  watcher = nullptr;
  watcher = Watch([](Responder& responder) {
    responder.Chunk(R"({"type":"ADDED")");
    responder.EndStream();
  });
  EXPECT_THAT(Next(*watcher), HasSubstr("ended within an event"));
}

TEST_F(WatcherTest, ASilentStreamIsAnError) {
  Serve([](Responder& responder) {
    responder.BeginStream();
    responder.AwaitHangUp();
  });
  WatchOptions options;
  options.silence_limit = absl::Seconds(1);
  const auto watcher = client_->Watch(kConfigMaps, options);
  ASSERT_TRUE(watcher.ok()) << watcher.status();
  EXPECT_THAT(Next(**watcher),
              StartsWith("DEADLINE_EXCEEDED: WATCH /api/v1/configmaps: "));
}

TEST_F(WatcherTest, ARefusalIsAnError) {
  Serve([](Responder& responder) {
    responder.Respond(410, R"({"kind":"Status","code":410,"reason":"Expired",)"
                           R"("message":"too old"})");
  });
  EXPECT_EQ(
      client_->Watch(kConfigMaps, {}).status(),
      absl::OutOfRangeError("GET /api/v1/configmaps: too old (410 Expired)"));
}

TEST_F(WatcherTest, WaitsAndTriesAgain) {
  workqueue::FakeClock clock;
  int requests = 0;
  Serve(
      [&](Responder& responder) {
        if (requests++ == 0) {
          return responder.Respond(429, "", "Retry-After: 59\r\n");
        }
        responder.BeginStream();
        responder.Chunk(Event("ADDED", "a"));
        responder.EndStream();
      },
      &clock);
  std::thread stepper([&clock] {
    clock.AwaitWaiters(1);
    clock.Step(absl::Seconds(60));  // The stream may last longer than that.
  });
  const auto watcher = client_->Watch(kConfigMaps, {});
  stepper.join();
  ASSERT_TRUE(watcher.ok()) << watcher.status();
  EXPECT_EQ(Next(**watcher), "0 a");
}

TEST_F(WatcherTest, DoesNotWaitBeyondTheTimeLimitOfARequest) {
  workqueue::FakeClock clock;
  Serve(
      [](Responder& responder) {
        responder.Respond(429, "", "Retry-After: 3600\r\n");
      },
      &clock);
  const absl::Status status = client_->Watch(kConfigMaps, {}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(workqueue::RetryAfterOf(status), absl::Hours(1));
}

TEST_F(WatcherTest, StopWakesNext) {
  const auto watcher = Watch([](Responder& responder) {
    responder.Chunk(Event("ADDED", "a"));
    responder.AwaitHangUp();
  });
  EXPECT_EQ(Next(*watcher), "0 a");
  std::thread stopper([&watcher] { watcher->Stop(); });
  EXPECT_THAT(Next(*watcher), HasSubstr("CANCELLED"));
  stopper.join();
  EXPECT_THAT(Next(*watcher), HasSubstr("CANCELLED"));
}

TEST_F(WatcherTest, StopDropsEventsThatHaveArrived) {
  const auto watcher = Watch([](Responder& responder) {
    responder.Chunk(Event("ADDED", "a") + Event("ADDED", "b"));
    responder.AwaitHangUp();
  });
  EXPECT_EQ(Next(*watcher), "0 a");
  watcher->Stop();
  EXPECT_THAT(Next(*watcher), HasSubstr("CANCELLED"));
}

TEST_F(WatcherTest, StopOfTheClientEndsWatches) {
  const auto watcher =
      Watch([](Responder& responder) { responder.AwaitHangUp(); });
  std::thread stopper([this] { client_->Stop(); });
  EXPECT_THAT(Next(*watcher), HasSubstr("CANCELLED"));
  stopper.join();
  EXPECT_TRUE(absl::IsCancelled(client_->Watch(kConfigMaps, {}).status()));
}

TEST_F(WatcherTest, TheEndOfAWatcherClosesItsConnection) {
  absl::Notification hung_up;
  auto watcher = Watch([&](Responder& responder) {
    responder.AwaitHangUp();
    hung_up.Notify();
  });
  watcher = nullptr;
  hung_up.WaitForNotification();
}

TEST_F(WatcherTest, TheConnectionOfACompleteStreamIsUsedAgain) {
  Serve([](Responder& responder) {
    responder.BeginStream();
    responder.EndStream();
  });
  for (int i = 0; i < 2; ++i) {
    const auto watcher = client_->Watch(kConfigMaps, {});
    ASSERT_TRUE(watcher.ok()) << watcher.status();
    EXPECT_EQ(Next(**watcher), "end");
    EXPECT_EQ(server_->requests().back().connection, 0);
  }
}

}  // namespace
}  // namespace kubernetes::watcher_test
