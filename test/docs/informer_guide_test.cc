// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The code of the guide's section about informers.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/informer.h"
#include "workqueue/controller/informer_source.h"
#include "workqueue/testing/fake_object_server.h"

namespace informer_guide_test {
namespace {

struct Pod {
  std::string name;
  std::string node;
  int64_t version = 0;
};

absl::Status Follow(workqueue::FakeObjectServer<Pod>& server) {
  workqueue::InformerOptions<Pod> pod_options;
  pod_options.name = "pods";
  pod_options.lister_watcher = server.NewListerWatcher();
  pod_options.key = [](const Pod& pod) { return pod.name; };
  pod_options.is_newer = [](const Pod& a, const Pod& b) {
    return a.version > b.version;
  };
  pod_options.indexers = {{"node", [](const Pod& pod) {
                             return std::vector<std::string>{pod.node};
                           }}};
  auto pods = workqueue::Informer<Pod>::Create(std::move(pod_options));
  if (!pods.ok()) return pods.status();

  std::map<std::string, bool> full;
  workqueue::ControllerOptions<std::string> options;
  options.sources.push_back(workqueue::MakeInformerSource<std::string>(
      **pods,
      [](const Pod& pod) { return std::vector<std::string>{pod.node}; }));
  options.reconcile = [&pods, &full](const std::string& node) -> absl::Status {
    const auto on_node = (*pods)->store().ByIndex("node", node);
    if (!on_node.ok()) return on_node.status();
    full[node] = on_node->size() >= 2;
    return absl::OkStatus();
  };
  auto created = workqueue::Controller<std::string>::Create(std::move(options));
  if (!created.ok()) return created.status();
  auto& controller = *created;
  const absl::Status started = controller->Start();
  if (!started.ok()) return started;

  server.Put({"a", "node-1"});
  server.Put({"b", "node-1"});
  server.AwaitWatched();
  controller->AwaitIdle();
  EXPECT_TRUE(full["node-1"]);
  return absl::OkStatus();
}

TEST(InformerGuideTest, AnInformerFeedsAController) {
  workqueue::FakeObjectServer<Pod> server(
      [](const Pod& pod) { return pod.name; },
      [](Pod& pod, int64_t version) { pod.version = version; });
  EXPECT_EQ(Follow(server), absl::OkStatus());
}

}  // namespace
}  // namespace informer_guide_test
