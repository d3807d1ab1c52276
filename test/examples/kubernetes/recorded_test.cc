// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Lets an informer read what a real API server has answered, as
// examples/kubernetes/e2e/record has recorded it: a list in pages, a watch, an
// answer that the history is gone, and a list again.

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "examples/kubernetes/api_lister_watcher.h"
#include "examples/kubernetes/config.h"
#include "examples/kubernetes/file_contents.h"
#include "examples/kubernetes/json.h"
#include "examples/kubernetes/objects.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/kubernetes/scripted_server.h"
#include "workqueue/controller/informer.h"

namespace kubernetes::recorded_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Key;

Json ReadAnswers() {
  return Json::parse(
             *ReadFile("test/examples/kubernetes/recorded/informer.json"))
      .at("answers");
}

bool IsWatch(absl::string_view query) {
  return absl::StrContains(query, "watch=true");
}

// Returns what the test compares of an object.
std::string Print(const ConfigMap& object) {
  std::string text =
      absl::StrCat(object.meta.resource_version, object.meta.uid,
                   object.meta.being_deleted ? " being deleted" : "");
  for (const StringMap* const map :
       {&object.meta.labels, &object.meta.annotations, &object.data,
        &object.binary_data}) {
    for (const auto& [key, value] : *map) {
      absl::StrAppend(&text, " ", key, "=", value);
    }
  }
  return text;
}

TEST(RecordedTest, AnInformerFollowsARealServer) {
  const Json answers = ReadAnswers();
  ASSERT_GT(answers.size(), 0);

  size_t next = 0;  // One request comes at a time.
  absl::Notification all_read;
  ScriptedServer server([&](const ReceivedRequest& request,
                            Responder& responder) {
    if (next == answers.size()) {
      EXPECT_TRUE(IsWatch(request.target)) << request.target;
      responder.BeginStream();
      all_read.Notify();
      responder.AwaitHangUp();
      return;
    }
    const Json& answer = answers[next++];
    const std::string body = answer.at("body");
    EXPECT_EQ(IsWatch(request.target), IsWatch(std::string(answer["query"])))
        << request.target;
    if (!IsWatch(request.target)) {
      responder.Respond(answer.at("status"), body);
      return;
    }
    responder.BeginStream();
    responder.Chunk(body);
    responder.EndStream();
  });

  Config config;
  config.server = server.url();
  auto options = ApiInformerOptions<ConfigMap>(config);
  ASSERT_TRUE(options.ok()) << options.status();
  options->backoff = {absl::Milliseconds(1), absl::Milliseconds(1)};
  const auto informer =
      workqueue::Informer<ConfigMap>::Create(*std::move(options));
  ASSERT_TRUE(informer.ok()) << informer.status();
  std::map<std::string, std::string> seen;
  std::map<std::string, int> deletions;
  workqueue::InformerHandler<ConfigMap> handler;
  handler.on_event = [&](const workqueue::ObjectEvent<ConfigMap>& event) {
    if (event.new_object != nullptr) {
      seen[KeyOf(event.new_object->meta)] = Print(*event.new_object);
    } else {
      ++deletions[KeyOf(event.old_object->meta)];
      seen.erase(KeyOf(event.old_object->meta));
    }
  };
  (*informer)->AddHandler(std::move(handler));
  ASSERT_TRUE((*informer)->Start().ok());
  all_read.WaitForNotification();
  (*informer)->Stop();

  // The last list is the state at the end.
  std::map<std::string, std::string> expected;
  for (size_t i = answers.size(); i-- > 0;) {
    if (IsWatch(std::string(answers[i].at("query")))) break;
    const auto page = ParseJson(std::string(answers[i].at("body")));
    ASSERT_TRUE(page.ok()) << page.status();
    for (const Json& item : page->at("items")) {
      const auto object = ParseObject<ConfigMap>(item);
      ASSERT_TRUE(object.ok()) << object.status();
      expected[KeyOf(object->meta)] = Print(*object);
    }
  }
  EXPECT_THAT(expected, ElementsAre(Key("default/b"), Key("default/binary"),
                                    Key("default/c"), Key("default/d"),
                                    Key("default/held"), Key("default/large"),
                                    Key("default/late"), Key("default/new")));
  std::map<std::string, std::string> stored;
  for (const auto& object : (*informer)->store().List()) {
    stored[KeyOf(object->meta)] = Print(*object);
  }
  EXPECT_EQ(stored, expected);
  EXPECT_EQ(seen, expected);
  // The watch told that "d" was deleted, and the second list that "a" was.
  EXPECT_EQ(deletions,
            (std::map<std::string, int>{{"default/a", 1}, {"default/d", 1}}));
  EXPECT_TRUE((*informer)->store().Get("default/held")->meta.being_deleted);
}

}  // namespace
}  // namespace kubernetes::recorded_test
