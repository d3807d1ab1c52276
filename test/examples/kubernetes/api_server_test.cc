// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests the client with the API server that the kubeconfig file
// $WORKQUEUE_KUBECONFIG names. The tests are skipped if the variable is not
// set. They create and delete ConfigMaps and a Lease in the namespace
// `default`.
//
//     examples/kubernetes/e2e/control_plane.py    # prints the path of a file
//     export WORKQUEUE_KUBECONFIG=<path>
//     tools/bazelw test --config=kubernetes $TARGET
//
// $TARGET is //test/examples/kubernetes:kubernetes_server_tests.

#include <stdlib.h>

#include <memory>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "examples/kubernetes/client.h"
#include "examples/kubernetes/config.h"
#include "examples/kubernetes/json.h"
#include "examples/kubernetes/kubeconfig.h"
#include "examples/kubernetes/resource.h"
#include "examples/kubernetes/watcher.h"
#include "gtest/gtest.h"

namespace kubernetes::api_server_test {
namespace {

const Resource kConfigMaps = {"", "v1", "configmaps"};
const Resource kLeases = {"coordination.k8s.io", "v1", "leases"};

Json ConfigMap(const std::string& name, const std::string& value) {
  return {{"kind", "ConfigMap"},
          {"apiVersion", "v1"},
          {"metadata",
           {{"namespace", "default"},
            {"name", name},
            {"labels", {{"test", "client"}}}}},
          {"data", {{"key", value}}}};
}

void ExpectCode(const absl::Status& status, absl::StatusCode code) {
  EXPECT_EQ(status.code(), code) << status;
}

std::string VersionOf(const Json& object) {
  return std::string(StringAt(object, {"metadata", "resourceVersion"}));
}

class ApiServerTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* const path = getenv("WORKQUEUE_KUBECONFIG");
    if (path == nullptr) GTEST_SKIP() << "no $WORKQUEUE_KUBECONFIG";
    const auto config = LoadKubeconfig(path);
    ASSERT_TRUE(config.ok()) << config.status();
    config_ = *config;
    client_ = *Client::Create(config_);
    RemoveAll();
  }

  void TearDown() override {
    if (client_ != nullptr) RemoveAll();
  }

  // Removes what these tests create.
  void RemoveAll() {
    ListOptions options;
    options.ns = "default";
    options.label_selector = "test=client";
    for (const Resource& resource : {kConfigMaps, kLeases}) {
      std::vector<std::string> names;
      const auto page = List(resource, options, &names);
      ASSERT_TRUE(page.ok()) << page.status();
      for (const std::string& name : names) {
        const absl::Status status =
            client_->Delete(resource, {"default", name});
        EXPECT_TRUE(status.ok()) << status;
      }
    }
  }

  // Lists a page, and appends the names in it.
  absl::StatusOr<ListPage> List(const Resource& resource,
                                const ListOptions& options,
                                std::vector<std::string>* names) {
    return client_->List(resource, options, [names](const Json& object) {
      names->emplace_back(StringAt(object, {"metadata", "name"}));
    });
  }

  absl::StatusOr<ListPage> List(const ListOptions& options) {
    std::vector<std::string> names;
    return List(kConfigMaps, options, &names);
  }

  Config config_;
  std::unique_ptr<Client> client_;
};

TEST_F(ApiServerTest, WritesObjects) {
  const ObjectKey key = {"default", "a"};
  ExpectCode(client_->Get(kConfigMaps, key).status(),
             absl::StatusCode::kNotFound);
  const auto created = client_->Create(kConfigMaps, ConfigMap("a", "1"));
  ASSERT_TRUE(created.ok()) << created.status();
  ExpectCode(client_->Create(kConfigMaps, ConfigMap("a", "1")).status(),
             absl::StatusCode::kAlreadyExists);
  ExpectCode(client_->Create(kConfigMaps, ConfigMap("A", "1")).status(),
             absl::StatusCode::kInvalidArgument);

  Json object = *created;
  object["data"]["key"] = "2";
  ASSERT_TRUE(client_->Update(kConfigMaps, object).ok());
  ExpectCode(client_->Update(kConfigMaps, object).status(),
             absl::StatusCode::kAborted);

  Json patch = ConfigMap("a", "3");
  patch["metadata"]["resourceVersion"] = VersionOf(*created);
  ExpectCode(client_->Patch(kConfigMaps, patch).status(),
             absl::StatusCode::kAborted);  // That is an old version.
  patch["metadata"].erase("resourceVersion");
  ASSERT_TRUE(client_->Patch(kConfigMaps, patch).ok());

  const auto now = client_->Get(kConfigMaps, key);
  ASSERT_TRUE(now.ok()) << now.status();
  EXPECT_EQ(StringAt(*now, {"data", "key"}), "3");

  DeleteOptions conditions;
  conditions.uid = "00000000-0000-0000-0000-000000000000";
  ExpectCode(client_->Delete(kConfigMaps, key, conditions),
             absl::StatusCode::kAborted);
  conditions.uid = std::string(StringAt(*now, {"metadata", "uid"}));
  conditions.resource_version = VersionOf(*created);
  ExpectCode(client_->Delete(kConfigMaps, key, conditions),
             absl::StatusCode::kAborted);
  conditions.resource_version = VersionOf(*now);
  ExpectCode(client_->Delete(kConfigMaps, key, conditions),
             absl::StatusCode::kOk);
  ExpectCode(client_->Delete(kConfigMaps, key), absl::StatusCode::kNotFound);
}

TEST_F(ApiServerTest, ListsPages) {
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(client_->Create(kConfigMaps, ConfigMap(name, "1")).ok());
  }
  ListOptions options;
  options.label_selector = "test in (client)";
  options.limit = 2;
  std::vector<std::string> names;
  const auto first = List(kConfigMaps, options, &names);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
  options.continue_token = first->continue_token;
  names.clear();
  const auto second = List(kConfigMaps, options, &names);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(names, std::vector<std::string>{"c"});
  EXPECT_EQ(second->continue_token, "");
  EXPECT_EQ(second->resource_version, first->resource_version);
  options.continue_token = "";
  options.resource_version = "1000000000000";
  options.resource_version_match = "NotOlderThan";
  options.limit = 0;
  options.timeout = absl::Seconds(4);  // The server itself waits for three.
  ExpectCode(List(options).status(), absl::StatusCode::kOutOfRange);
  options.resource_version = options.resource_version_match = "";
  options.continue_token = "nonsense";
  ExpectCode(List(options).status(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ApiServerTest, WatchesChanges) {
  ListOptions list;
  list.label_selector = "test=client";
  const auto page = List(list);
  ASSERT_TRUE(page.ok()) << page.status();
  WatchOptions options;
  options.resource_version = page->resource_version;
  options.label_selector = "test=client";
  options.timeout = absl::Seconds(2);
  const auto opened = client_->Watch(kConfigMaps, options);
  ASSERT_TRUE(opened.ok()) << opened.status();

  const std::string large(1000000, 'x');  // A ConfigMap has at most 1 MiB.
  ASSERT_TRUE(client_->Create(kConfigMaps, ConfigMap("a", "1")).ok());
  ASSERT_TRUE(client_->Update(kConfigMaps, ConfigMap("a", large)).ok());
  ASSERT_TRUE(client_->Delete(kConfigMaps, {"default", "a"}).ok());
  const std::pair<WatchEvent::Type, std::string> expected[] = {
      {WatchEvent::Type::kAdded, "1"},
      {WatchEvent::Type::kModified, large},
      {WatchEvent::Type::kDeleted, large}};
  for (const auto& [type, value] : expected) {
    const auto event = (*opened)->Next();
    ASSERT_TRUE(event.ok()) << event.status();
    ASSERT_TRUE(event->has_value());
    EXPECT_EQ((*event)->type, type);
    EXPECT_TRUE(StringAt((*event)->object, {"data", "key"}) == value);
  }
  for (;;) {  // until the server ends the stream
    const auto event = (*opened)->Next();
    ASSERT_TRUE(event.ok()) << event.status();
    if (!event->has_value()) break;
    EXPECT_EQ((*event)->type, WatchEvent::Type::kBookmark);
  }

  options.label_selector = "?";
  ExpectCode(client_->Watch(kConfigMaps, options).status(),
             absl::StatusCode::kInvalidArgument);
}

TEST_F(ApiServerTest, StopEndsAWatch) {
  const auto page = List({});
  ASSERT_TRUE(page.ok()) << page.status();
  WatchOptions options;
  options.resource_version = page->resource_version;
  const auto opened = client_->Watch(kConfigMaps, options);
  ASSERT_TRUE(opened.ok()) << opened.status();
  std::thread stopper([&opened] { (*opened)->Stop(); });
  absl::Status status;
  while (status.ok()) status = (*opened)->Next().status();
  stopper.join();
  ExpectCode(status, absl::StatusCode::kCancelled);
}

TEST_F(ApiServerTest, UpdatesALease) {
  Json lease = {{"metadata",
                 {{"namespace", "default"},
                  {"name", "a"},
                  {"labels", {{"test", "client"}}}}},
                {"spec", {{"holderIdentity", "x"}}}};
  const auto created = client_->Create(kLeases, lease);
  ASSERT_TRUE(created.ok()) << created.status();
  lease = *created;
  lease["spec"]["holderIdentity"] = "y";
  const auto updated = client_->Update(kLeases, lease);
  ASSERT_TRUE(updated.ok()) << updated.status();
  EXPECT_EQ(StringAt(*updated, {"spec", "holderIdentity"}), "y");
  ExpectCode(client_->Update(kLeases, lease).status(),
             absl::StatusCode::kAborted);
}

TEST_F(ApiServerTest, AWrongTokenIsUnauthenticated) {
  config_.client_cert = config_.client_key = "";
  config_.token = "wrong";
  client_ = *Client::Create(config_);
  ExpectCode(List({}).status(), absl::StatusCode::kUnauthenticated);
  client_ = nullptr;
}

}  // namespace
}  // namespace kubernetes::api_server_test
