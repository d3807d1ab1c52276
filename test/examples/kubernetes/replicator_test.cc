// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/replicator/replicator.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/notification.h"
#include "examples/kubernetes/client.h"
#include "examples/kubernetes/config.h"
#include "examples/kubernetes/json.h"
#include "examples/kubernetes/objects.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/kubernetes/scripted_server.h"
#include "workqueue/controller/object_store.h"
#include "workqueue/controller/reconcile.h"

namespace replicator::replicator_test {
namespace {

using kubernetes::Client;
using kubernetes::ConfigMap;
using kubernetes::Json;
using kubernetes::Namespace;
using kubernetes::ReceivedRequest;
using kubernetes::Responder;
using kubernetes::ScriptedServer;
using kubernetes::StringMap;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kSelector[] = "replicator.example.com/namespace-selector";
constexpr char kSource[] = "replicator.example.com/source";
constexpr char kFinalizer[] = "replicator.example.com/cleanup";
constexpr char kManagedBy[] = "app.kubernetes.io/managed-by";

constexpr char kPatch[] = "PATCH src/it application/merge-patch+json";

ConfigMap Object(const std::string& ns, const std::string& name = "it") {
  ConfigMap object;
  object.meta.ns = ns;
  object.meta.name = name;
  object.meta.uid = "uid of " + ns;
  object.meta.resource_version = "1";
  object.data = {{"k", "v"}};
  object.binary_data = {{"b", "AA=="}};
  return object;
}

ConfigMap Source(const std::string& selector) {
  ConfigMap source = Object("src");
  source.meta.annotations = {{kSelector, selector}};
  source.meta.finalizers = {kFinalizer};
  return source;
}

ConfigMap Copy(const std::string& ns) {
  ConfigMap copy = Object(ns);
  copy.meta.labels = {{kManagedBy, "replicator"}};
  copy.meta.annotations = {{kSource, "src/it"}};
  return copy;
}

// A replicator, whose stores the test fills. The server answers each request
// with OK.
class ReplicatorTest : public testing::Test {
 protected:
  ReplicatorTest() {
    kubernetes::Config config;
    config.server = server_.url();
    client_ = *Client::Create(config);
    replicator_ = std::make_unique<Replicator>(
        client_.get(), &config_maps_, &namespaces_,
        [this](absl::string_view key) { foreign_.emplace_back(key); });
    Put("src", {{"team", "a"}});
    Put("a", {{"team", "a"}});
    Put("b", {{"team", "b"}});
  }

  void Put(ConfigMap object) {
    const std::string key = KeyOf(object.meta);
    config_maps_.Put(key, std::make_shared<ConfigMap>(std::move(object)));
  }

  void Put(const std::string& ns, StringMap labels,
           bool being_deleted = false) {
    auto object = std::make_shared<Namespace>();
    object->meta.name = ns;
    object->meta.labels = std::move(labels);
    object->meta.being_deleted = being_deleted;
    namespaces_.Put(ns, std::move(object));
  }

  absl::Status Reconcile() { return replicator_->Reconcile("src/it", stop_); }

  // Returns the requests since the last call: the method, the object or its
  // namespace, and the content type if it is not that of JSON.
  std::vector<std::string> TakeRequests() {
    std::vector<std::string> taken;
    bodies_.clear();
    const auto requests = server_.requests();
    for (; taken_ < requests.size(); ++taken_) {
      const ReceivedRequest& request = requests[taken_];
      absl::string_view target = request.target;
      EXPECT_TRUE(absl::ConsumePrefix(&target, "/api/v1/namespaces/"));
      const std::string object = absl::StrReplaceAll(
          target, {{"/configmaps/", "/"}, {"/configmaps", ""}});
      const std::string type = request.headers.at("content-type");
      taken.push_back(absl::StrCat(request.method, " ", object,
                                   type == "application/json" ? "" : " ",
                                   type == "application/json" ? "" : type));
      bodies_.push_back(Json::parse(request.body));
    }
    return taken;
  }

  template <typename T>
  std::set<std::string> KeysOf(const T& object) const {
    const auto keys = replicator_->KeysOf(object);
    return {keys.begin(), keys.end()};
  }

  workqueue::ObjectStore<ConfigMap> config_maps_{Replicator::Indexers()};
  workqueue::ObjectStore<Namespace> namespaces_;
  std::vector<std::string> foreign_;  // the arguments of on_foreign_object
  std::vector<Json> bodies_;          // of the requests taken last
  // Answers a request. If null, or if it returns false, the answer is OK.
  std::function<bool(const ReceivedRequest&, Responder&)> answer_;
  size_t taken_ = 0;
  ScriptedServer server_{
      [this](const ReceivedRequest& request, Responder& responder) {
        if (answer_ == nullptr || !answer_(request, responder)) {
          responder.Respond(200, "{}");
        }
      }};
  std::unique_ptr<Client> client_;
  std::unique_ptr<Replicator> replicator_;
  absl::Notification stop_;
};

TEST_F(ReplicatorTest, CreatesMissingCopies) {
  ConfigMap source = Source("team");
  source.meta.labels = {{"not", "copied"}};
  Put(source);
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(), ElementsAre("POST a", "POST b"));
  EXPECT_EQ(bodies_[0], Json::parse(R"({
    "metadata": {
      "namespace": "a",
      "name": "it",
      "labels": {"app.kubernetes.io/managed-by": "replicator"},
      "annotations": {"replicator.example.com/source": "src/it"}
    },
    "data": {"k": "v"},
    "binaryData": {"b": "AA=="}
  })"));
  EXPECT_EQ(bodies_[1]["metadata"]["namespace"], "b");

  Put(Copy("a"));
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(), ElementsAre("POST b"));
  Put(Copy("b"));
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(), IsEmpty());
  EXPECT_THAT(foreign_, IsEmpty());
}

TEST_F(ReplicatorTest, CopiesNoData) {
  ConfigMap source = Source("team=a");
  source.data.clear();
  source.binary_data.clear();
  Put(source);
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(), ElementsAre("POST a"));
  EXPECT_EQ(bodies_[0]["data"], Json::object());
  EXPECT_EQ(bodies_[0]["binaryData"], Json::object());
}

TEST_F(ReplicatorTest, TheSelectorChoosesNamespaces) {
  Put("a2", {{"team", "a"}});
  Put(Source("team=a"));
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(), ElementsAre("POST a", "POST a2"));
}

TEST_F(ReplicatorTest, AnEmptySelectorChoosesAllNamespaces) {
  Put("c", {});
  Put(Source(""));
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(), ElementsAre("POST a", "POST b", "POST c"));
}

TEST_F(ReplicatorTest, SkipsNamespacesThatAreBeingDeleted) {
  Put("a", {{"team", "a"}}, /*being_deleted=*/true);
  Put(Source("team"));
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(), ElementsAre("POST b"));
}

TEST_F(ReplicatorTest, NeverTouchesForeignObjects) {
  Put("c", {{"team", "c"}});
  Put("d", {{"team", "d"}});
  Put("e", {{"team", "e"}});
  Put(Source("team"));
  ConfigMap foreign[] = {Object("a"), Copy("b"), Copy("c"), Copy("d")};
  foreign[1].meta.labels = {{kManagedBy, "another"}};
  foreign[2].meta.annotations = {};
  foreign[3].meta.annotations = {{kSource, "another/it"}};
  for (ConfigMap& object : foreign) {
    object.data = {{"not", "ours"}};
    Put(object);
  }
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(), ElementsAre("POST e"));
  EXPECT_THAT(foreign_, ElementsAre("a/it", "b/it", "c/it", "d/it"));

  // Also not when the source is deleted.
  foreign_.clear();
  config_maps_.Erase("src/it");
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(), IsEmpty());
  EXPECT_THAT(foreign_, IsEmpty());
}

// The copy may come into the store while the replicator works.
TEST_F(ReplicatorTest, ACopyThatAppearsIsNotForeign) {
  Put(Source("team"));
  answer_ = [this](const ReceivedRequest&, Responder&) {
    Put(Copy("b"));
    return false;
  };
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(), ElementsAre("POST a"));
  EXPECT_THAT(foreign_, IsEmpty());
}

TEST_F(ReplicatorTest, UpdatesAStaleCopy) {
  Put(Source("team"));
  ConfigMap copy = Copy("a");
  copy.meta.resource_version = "17";
  copy.meta.labels["added"] = "label";
  copy.meta.annotations["added"] = "annotation";
  copy.meta.finalizers = {"added/finalizer"};
  copy.meta.owner_references = Json::parse(R"([{"uid": "of the owner"}])");
  copy.data = {{"old", "v"}};
  Put(copy);
  copy = Copy("b");
  copy.binary_data = {};
  Put(copy);
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(), UnorderedElementsAre("PUT a/it", "PUT b/it"));
  const Json body = bodies_[bodies_[0]["metadata"]["namespace"] == "a" ? 0 : 1];
  EXPECT_EQ(body, Json::parse(R"({
    "metadata": {
      "namespace": "a",
      "name": "it",
      "uid": "uid of a",
      "resourceVersion": "17",
      "labels": {
        "app.kubernetes.io/managed-by": "replicator",
        "added": "label"
      },
      "annotations": {
        "replicator.example.com/source": "src/it",
        "added": "annotation"
      },
      "finalizers": ["added/finalizer"],
      "ownerReferences": [{"uid": "of the owner"}]
    },
    "data": {"k": "v"},
    "binaryData": {"b": "AA=="}
  })"));
}

// The server refuses each update of one. Its deletion brings the source back.
TEST_F(ReplicatorTest, DeletesAStaleCopyThatIsImmutable) {
  Put(Source("team"));
  ConfigMap copy = Copy("a");
  copy.immutable = true;
  Put(copy);
  copy = Copy("b");
  copy.immutable = true;
  copy.meta.resource_version = "17";
  copy.data = {};
  Put(copy);
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(), ElementsAre("DELETE b/it"));
  EXPECT_EQ(bodies_[0]["preconditions"],
            Json({{"uid", "uid of b"}, {"resourceVersion", "17"}}));
}

TEST_F(ReplicatorTest, DeletesCopiesThatNobodyWants) {
  Put(Source("team=b"));
  ConfigMap copy = Copy("a");
  copy.meta.resource_version = "17";
  Put(copy);
  Put(Copy("b"));
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(), ElementsAre("DELETE a/it"));
  EXPECT_EQ(bodies_[0]["preconditions"],
            Json({{"uid", "uid of a"}, {"resourceVersion", "17"}}));
}

TEST_F(ReplicatorTest, DeletesTheCopiesOfASourceThatIsGone) {
  Put(Copy("a"));
  Put(Copy("b"));
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(),
              UnorderedElementsAre("DELETE a/it", "DELETE b/it"));
  // Also if it is there, but is no source any more.
  Put(Object("src"));
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(),
              UnorderedElementsAre("DELETE a/it", "DELETE b/it"));
}

TEST_F(ReplicatorTest, ACopyIsNoSource) {
  ConfigMap copy = Copy("src");
  copy.meta.annotations = {{kSource, "a/it"}, {kSelector, ""}};
  Put(copy);
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(), IsEmpty());
}

TEST_F(ReplicatorTest, DoesNotDeleteACopyTwice) {
  ConfigMap copy = Copy("a");
  copy.meta.being_deleted = true;
  Put(copy);
  Put(Copy("b"));
  answer_ = [](const ReceivedRequest&, Responder& responder) {
    responder.Respond(404, R"({"kind":"Status","reason":"NotFound"})");
    return true;
  };
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(), ElementsAre("DELETE b/it"));
}

TEST_F(ReplicatorTest, AddsTheFinalizerBeforeTheFirstCopy) {
  ConfigMap source = Source("team=a");
  source.meta.finalizers = {"another/finalizer"};
  source.meta.resource_version = "17";
  Put(source);
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(), ElementsAre(kPatch, "POST a"));
  EXPECT_EQ(bodies_[0], Json::parse(R"({
    "metadata": {
      "namespace": "src",
      "name": "it",
      "uid": "uid of src",
      "resourceVersion": "17",
      "finalizers": ["another/finalizer", "replicator.example.com/cleanup"]
    }
  })"));
}

TEST_F(ReplicatorTest, MakesNoCopyWithoutTheFinalizer) {
  ConfigMap source = Source("team=a");
  source.meta.finalizers = {};
  Put(source);
  answer_ = [](const ReceivedRequest&, Responder& responder) {
    responder.Respond(409, R"({"kind":"Status","reason":"Conflict"})");
    return true;
  };
  const absl::Status status = Reconcile();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_FALSE(workqueue::IsTerminalError(status));
  EXPECT_THAT(TakeRequests(), ElementsAre(kPatch));
}

TEST_F(ReplicatorTest, RemovesTheFinalizerAfterTheCopies) {
  ConfigMap deleted = Source("team");
  deleted.meta.being_deleted = true;
  ConfigMap without_annotation = Source("team");
  without_annotation.meta.annotations = {};
  Put(Copy("a"));
  for (const ConfigMap& source : {deleted, without_annotation}) {
    Put(source);
    EXPECT_EQ(Reconcile(), absl::OkStatus());
    EXPECT_THAT(TakeRequests(), ElementsAre("DELETE a/it", kPatch));
    EXPECT_EQ(bodies_[1], Json::parse(R"({
      "metadata": {
        "namespace": "src",
        "name": "it",
        "uid": "uid of src",
        "resourceVersion": "1",
        "finalizers": []
      }
    })"));
  }
}

TEST_F(ReplicatorTest, RemovesTheFinalizerWhoeverHasSetIt) {
  ConfigMap source = Source("team");
  source.meta.being_deleted = true;
  source.meta.finalizers = {"another/1", kFinalizer, "another/2"};
  Put(source);
  // Server-side apply removes only what the same manager has set.
  Json finalizers = source.meta.finalizers;
  answer_ = [&](const ReceivedRequest& request, Responder&) {
    if (request.headers.at("content-type") == "application/merge-patch+json") {
      finalizers = Json::parse(request.body)["metadata"]["finalizers"];
    }
    return false;
  };
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_EQ(finalizers, Json({"another/1", "another/2"}));
}

TEST_F(ReplicatorTest, KeepsTheFinalizerUntilTheCopiesAreDeleted) {
  ConfigMap source = Source("team");
  source.meta.being_deleted = true;
  Put(source);
  Put(Copy("a"));
  Put(Copy("b"));
  answer_ = [](const ReceivedRequest& request, Responder& responder) {
    if (!absl::StrContains(request.target, "/a/")) return false;
    responder.Respond(409, R"({"kind":"Status","reason":"Conflict"})");
    return true;
  };
  const absl::Status status = Reconcile();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(TakeRequests(),
              UnorderedElementsAre("DELETE a/it", "DELETE b/it"));
}

TEST_F(ReplicatorTest, ADeletedSourceWithoutTheFinalizerStaysAsItIs) {
  ConfigMap source = Source("team");
  source.meta.being_deleted = true;
  source.meta.finalizers = {"another/finalizer"};
  Put(source);
  EXPECT_EQ(Reconcile(), absl::OkStatus());
  EXPECT_THAT(TakeRequests(), IsEmpty());
}

TEST_F(ReplicatorTest, AWrongSelectorIsATerminalError) {
  ConfigMap source = Source("team in");
  source.meta.finalizers = {};
  Put(source);
  Put(Copy("a"));
  const absl::Status status = Reconcile();
  EXPECT_TRUE(workqueue::IsTerminalError(status)) << status;
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("'team in'"));
  EXPECT_THAT(TakeRequests(), IsEmpty());
}

TEST_F(ReplicatorTest, AnErrorDoesNotEndTheWorkOnOtherNamespaces) {
  Put("c", {{"team", "c"}});
  Put("d", {{"team", "d"}});
  Put(Source("team!=a"));
  ConfigMap stale = Copy("c");
  stale.data = {};
  Put(stale);
  Put(Copy("a"));
  answer_ = [](const ReceivedRequest& request, Responder& responder) {
    if (absl::StrContains(request.target, "/d/")) return false;
    responder.Respond(403, R"({"kind":"Status","reason":"Forbidden"})");
    return true;
  };
  const absl::Status status = Reconcile();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_FALSE(workqueue::IsTerminalError(status));
  EXPECT_THAT(TakeRequests(), UnorderedElementsAre("DELETE a/it", "PUT c/it",
                                                   "POST b", "POST d"));
}

TEST_F(ReplicatorTest, StopsBetweenTwoCopies) {
  Put(Source("team"));
  answer_ = [this](const ReceivedRequest&, Responder&) {
    if (!stop_.HasBeenNotified()) stop_.Notify();
    return false;
  };
  EXPECT_EQ(Reconcile(), absl::CancelledError("stopped"));
  EXPECT_THAT(TakeRequests(), ElementsAre("POST a"));

  Put(Copy("a"));
  config_maps_.Erase("src/it");
  EXPECT_EQ(Reconcile(), absl::CancelledError("stopped"));
  EXPECT_THAT(TakeRequests(), IsEmpty());
}

// The object may be gone before the store has it, and then no event comes.
TEST_F(ReplicatorTest, AnObjectThatExistsAlreadyIsAnError) {
  Put(Source("team=a"));
  answer_ = [](const ReceivedRequest&, Responder& responder) {
    responder.Respond(409, R"({"kind":"Status","reason":"AlreadyExists"})");
    return true;
  };
  const absl::Status status = Reconcile();
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_FALSE(workqueue::IsTerminalError(status));
  EXPECT_THAT(TakeRequests(), ElementsAre("POST a"));
}

// For example a conflict about the quota of the namespace.
TEST_F(ReplicatorTest, AConflictOfACreationIsAnError) {
  Put(Source("team=a"));
  answer_ = [](const ReceivedRequest&, Responder& responder) {
    responder.Respond(409, R"({"kind":"Status","reason":"Conflict"})");
    return true;
  };
  const absl::Status status = Reconcile();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_FALSE(workqueue::IsTerminalError(status));
}

TEST_F(ReplicatorTest, KeysOfConfigMaps) {
  EXPECT_THAT(KeysOf(Object("a")), IsEmpty());
  // A source that is not, or no longer, in the store.
  EXPECT_THAT(KeysOf(Source("")), ElementsAre("src/it"));
  ConfigMap without_annotation = Source("");
  without_annotation.meta.annotations = {};
  EXPECT_THAT(KeysOf(without_annotation), ElementsAre("src/it"));
  EXPECT_THAT(KeysOf(Copy("a")), ElementsAre("src/it"));

  Put(Source(""));
  EXPECT_THAT(KeysOf(Source("")), ElementsAre("src/it"));
  EXPECT_THAT(KeysOf(Copy("a")), ElementsAre("src/it"));
  // A foreign object may be where a copy should be.
  EXPECT_THAT(KeysOf(Object("a")), ElementsAre("src/it"));
  EXPECT_THAT(KeysOf(Object("a", "another")), IsEmpty());

  // So may the copy of another source, and another source.
  ConfigMap copy = Copy("a");
  copy.meta.annotations = {{kSource, "b/it"}};
  EXPECT_THAT(KeysOf(copy), ElementsAre("b/it", "src/it"));
  ConfigMap another = Source("");
  another.meta.ns = "a";
  Put(another);
  EXPECT_THAT(KeysOf(another), ElementsAre("a/it", "src/it"));
  EXPECT_THAT(KeysOf(Object("b")), ElementsAre("a/it", "src/it"));

  // A source with another name than the object cannot be its source.
  copy.meta.annotations = {{kSource, "b/another"}};
  EXPECT_THAT(KeysOf(copy), ElementsAre("a/it", "src/it"));
}

TEST_F(ReplicatorTest, KeysOfNamespaces) {
  Namespace ns;
  ns.meta.name = "a";
  ns.meta.labels = {{"team", "a"}};
  EXPECT_THAT(KeysOf(ns), IsEmpty());
  for (const char* selector : {"", "team=a", "team=b", "team in"}) {
    ConfigMap source = Source(selector);
    source.meta.name = absl::StrCat("'", selector, "'");
    Put(source);
  }
  ConfigMap source = Source("");
  source.meta.name = "without an annotation";
  source.meta.annotations = {};
  Put(source);
  Put(Copy("b"));
  EXPECT_THAT(KeysOf(ns), ElementsAre("src/''", "src/'team=a'"));
  ns.meta.labels = {};
  EXPECT_THAT(KeysOf(ns), ElementsAre("src/''"));
}

}  // namespace
}  // namespace replicator::replicator_test
