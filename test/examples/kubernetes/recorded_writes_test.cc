// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Lets the replicator send the requests that a real API server has answered, as
// examples/kubernetes/e2e/record_writes has recorded them. Each request must be
// the recorded one. So the requests are known to be right, and the answers have
// their real form.

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "examples/kubernetes/client.h"
#include "examples/kubernetes/config.h"
#include "examples/kubernetes/file_contents.h"
#include "examples/kubernetes/json.h"
#include "examples/kubernetes/objects.h"
#include "examples/kubernetes/replicator/replicator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/kubernetes/scripted_server.h"
#include "workqueue/controller/object_store.h"

namespace replicator::recorded_writes_test {
namespace {

using kubernetes::Client;
using kubernetes::ConfigMap;
using kubernetes::Json;
using kubernetes::Namespace;
using kubernetes::ReceivedRequest;
using kubernetes::ResourceOf;
using kubernetes::Responder;
using kubernetes::ScriptedServer;
using ::testing::HasSubstr;

Json ReadExchanges() {
  return Json::parse(*kubernetes::ReadFile(
                         "test/examples/kubernetes/recorded/writes.json"))
      .at("exchanges");
}

// A replicator, whose stores have objects of recorded answers.
class RecordedWritesTest : public testing::Test {
 protected:
  RecordedWritesTest() {
    kubernetes::Config config;
    config.server = server_.url();
    client_ = *Client::Create(config);
    replicator_ = std::make_unique<Replicator>(
        client_.get(), &config_maps_, &namespaces_,
        [](absl::string_view key) { ADD_FAILURE() << key << " is foreign"; });
    namespaces_.Put("infra", Object<Namespace>("home made"));
    namespaces_.Put("team-a", Object<Namespace>("target made"));
  }

  ~RecordedWritesTest() override {
    EXPECT_EQ(next_, expected_.size()) << "there were too few requests";
  }

  const Json& Exchange(const std::string& name) const {
    return exchanges_.at(name);
  }

  Json Answer(const std::string& name) const {
    return Json::parse(Exchange(name).at("answer").get<std::string>());
  }

  template <typename T>
  std::shared_ptr<const T> Object(const std::string& name) const {
    return std::make_shared<T>(Answer(name).get<T>());
  }

  // Puts the object of an answer into the store.
  void Put(const std::string& name) {
    auto object = Object<ConfigMap>(name);
    const std::string key = KeyOf(object->meta);
    config_maps_.Put(key, std::move(object));
  }

  // The next requests must be these, in this order.
  void Expect(std::vector<std::string> names) {
    EXPECT_EQ(next_, expected_.size()) << "there were too few requests";
    expected_ = std::move(names);
    next_ = 0;
  }

  // Reconciles the source, which must send these requests.
  absl::Status Reconcile(std::vector<std::string> names) {
    Expect(std::move(names));
    return replicator_->Reconcile("infra/proxy", absl::Notification());
  }

  void Respond(const ReceivedRequest& request, Responder& responder) {
    if (next_ == expected_.size()) {
      ADD_FAILURE() << "unexpected: " << request.method << " "
                    << request.target;
      responder.Respond(500, "");
      return;
    }
    const std::string& name = expected_[next_++];
    const Json& exchange = Exchange(name);
    EXPECT_EQ(exchange.at("method"), request.method) << name;
    EXPECT_EQ(exchange.at("path"), request.target) << name;
    EXPECT_EQ(exchange.at("content_type"), request.headers.at("content-type"))
        << name;
    EXPECT_EQ(exchange.at("request"), Json::parse(request.body, /*cb=*/nullptr,
                                                  /*allow_exceptions=*/false))
        << name;
    responder.Respond(exchange.at("status"),
                      exchange.at("answer").get<std::string>());
  }

  const Json exchanges_ = ReadExchanges();
  workqueue::ObjectStore<ConfigMap> config_maps_{Replicator::Indexers()};
  workqueue::ObjectStore<Namespace> namespaces_;
  std::vector<std::string> expected_;  // names of exchanges
  size_t next_ = 0;                    // of these
  ScriptedServer server_{
      [this](const ReceivedRequest& request, Responder& responder) {
        Respond(request, responder);
      }};
  std::unique_ptr<Client> client_;
  std::unique_ptr<Replicator> replicator_;
};

TEST_F(RecordedWritesTest, MakesACopyAndFollowsTheSource) {
  Put("source made");
  EXPECT_EQ(Reconcile({"finalizer added", "copy created"}), absl::OkStatus());
  Put("finalizer added");
  Put("copy created");
  EXPECT_EQ(Reconcile({}), absl::OkStatus());
  Put("source changed");
  EXPECT_EQ(Reconcile({"copy updated"}), absl::OkStatus());
  Put("copy updated");
  EXPECT_EQ(Reconcile({}), absl::OkStatus());
  Put("source selects nothing");
  Put("copy made again");
  EXPECT_EQ(Reconcile({"copy deleted"}), absl::OkStatus());
}

TEST_F(RecordedWritesTest, LetsADeletedSourceGo) {
  // The answer to the deletion is the object, with a time of deletion.
  Expect({"source deleted"});
  EXPECT_EQ(client_->Delete(ResourceOf<ConfigMap>(), {"infra", "proxy"}),
            absl::OkStatus());
  Put("source deleted");
  // Server-side apply would leave it: another manager has set it, too.
  EXPECT_EQ(Reconcile({"finalizer removed"}), absl::OkStatus());
  Put("finalizer removed");
  EXPECT_EQ(Reconcile({}), absl::OkStatus());
}

// Each of these tests has a store that is behind the server.

TEST_F(RecordedWritesTest, TheSourceHasChanged) {
  Put("source made");
  const absl::Status status = Reconcile({"finalizer refused"});
  EXPECT_TRUE(absl::IsAborted(status)) << status;
}

TEST_F(RecordedWritesTest, TheSourceIsGone) {
  Put("source deleted");
  const absl::Status status = Reconcile({"finalizer removal too late"});
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
}

TEST_F(RecordedWritesTest, TheCopyExists) {
  Put("finalizer added");
  const absl::Status status = Reconcile({"copy exists"});
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
}

TEST_F(RecordedWritesTest, TheCopyHasChanged) {
  Put("source changed");
  Put("copy created");
  const absl::Status status = Reconcile({"copy update refused"});
  EXPECT_TRUE(absl::IsAborted(status)) << status;
}

TEST_F(RecordedWritesTest, TheCopyIsAnother) {
  Put("source selects nothing");
  Put("copy updated");
  const absl::Status status = Reconcile({"copy deletion refused"});
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("UID"));
}

TEST_F(RecordedWritesTest, TheCopyIsGone) {
  Put("finalizer added");
  Put("copy updated");
  const absl::Status status = Reconcile({"copy update too late"});
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  Put("source selects nothing");
  Put("copy made again");
  EXPECT_EQ(Reconcile({"copy deletion too late"}), absl::OkStatus());
}

TEST_F(RecordedWritesTest, TheNamespaceEnds) {
  Put("finalizer added");
  absl::Status status = Reconcile({"target ends"});
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  status = Reconcile({"target gone"});
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
}

TEST_F(RecordedWritesTest, ThePermissionIsMissing) {
  Put("finalizer added");
  const absl::Status status = Reconcile({"copy forbidden"});
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot create"));
}

TEST_F(RecordedWritesTest, AnObjectIsNotValid) {
  Expect({"name invalid"});
  const auto created = client_->Create(ResourceOf<ConfigMap>(),
                                       Exchange("name invalid").at("request"));
  EXPECT_TRUE(absl::IsInvalidArgument(created.status())) << created.status();
  EXPECT_THAT(std::string(created.status().message()),
              HasSubstr("metadata.name: Invalid value: \"Not_Valid\""));
}

}  // namespace
}  // namespace replicator::recorded_writes_test
