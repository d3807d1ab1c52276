// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/shared/redis_cluster.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hiredis/hiredis.h"
#include "test/shared/redis_server.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/shared/internal/queue_keys.h"

namespace workqueue {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(30);
constexpr absl::Duration kClusterPollInterval = absl::Milliseconds(10);

std::string ToText(const redisReply& reply) {
  if (reply.type == REDIS_REPLY_INTEGER) return absl::StrCat(reply.integer);
  if (reply.type != REDIS_REPLY_ARRAY)
    return std::string(internal::TextOf(reply));
  std::string text;
  for (size_t i = 0; i < reply.elements; ++i) {
    absl::StrAppend(&text, i > 0 ? " " : "", ToText(*reply.element[i]));
  }
  return text;
}

// Returns what `nodes`, the reply of CLUSTER NODES, says of each node: its id,
// its epoch and its slots. A newer epoch that a node does not know yet could
// take a slot away from it.
std::vector<std::string> ViewOf(absl::string_view nodes) {
  std::vector<std::string> view;
  for (absl::string_view line :
       absl::StrSplit(nodes, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    std::string node = words[0];
    for (size_t i = 6; i < words.size(); ++i) {
      if (i != 7) absl::StrAppend(&node, " ", words[i]);
    }
    view.push_back(std::move(node));
  }
  std::sort(view.begin(), view.end());
  return view;
}

// Returns whether `nodes`, the reply of CLUSTER NODES, says that the node `id`
// has `slot`. A line has the node's id, seven other words, and ranges of slots.
bool HasSlot(absl::string_view nodes, absl::string_view id, int slot) {
  for (absl::string_view line : absl::StrSplit(nodes, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words[0] != id) continue;
    for (size_t i = 8; i < words.size(); ++i) {
      const std::vector<std::string> range = absl::StrSplit(words[i], '-');
      int first, last;
      if (absl::SimpleAtoi(range.front(), &first) &&
          absl::SimpleAtoi(range.back(), &last) && first <= slot &&
          slot <= last) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RedisCluster>> RedisCluster::Start(
    size_t nodes) {
  RedisServer::Options options;
  options.tcp = true;
  options.cluster = true;
  std::vector<std::unique_ptr<RedisServer>> servers;
  for (size_t i = 0; i < nodes; ++i) {
    auto server = RedisServer::Start(options);
    if (!server.ok()) return server.status();
    servers.push_back(*std::move(server));
  }
  auto cluster = absl::WrapUnique(new RedisCluster(std::move(servers)));
  absl::Status status = cluster->Join();
  if (!status.ok()) return status;
  return cluster;
}

absl::Status RedisCluster::Join() {
  const int n = static_cast<int>(nodes_.size());
  absl::Status status;
  for (int i = 0; i < n; ++i) {
    const auto node = static_cast<size_t>(i);
    const std::string first = absl::StrCat(i * internal::kClusterSlots / n);
    const std::string last =
        absl::StrCat((i + 1) * internal::kClusterSlots / n - 1);
    const std::string epoch = absl::StrCat(i + 1);
    status.Update(
        Command(node, {"CLUSTER", "SET-CONFIG-EPOCH", epoch}).status());
    status.Update(
        Command(node, {"CLUSTER", "ADDSLOTSRANGE", first, last}).status());
    if (i == 0) continue;
    const std::string port = absl::StrCat(nodes_[node]->port());
    const std::string cluster_port = absl::StrCat(nodes_[node]->cluster_port());
    status.Update(
        Command(0, {"CLUSTER", "MEET", "127.0.0.1", port, cluster_port})
            .status());
  }
  for (size_t i = 0; i < nodes_.size() && status.ok(); ++i) {
    status = AwaitComplete(i);
  }
  return status;
}

absl::Status RedisCluster::AwaitComplete(size_t i) {
  const absl::Time deadline = absl::Now() + kTimeout;
  while (absl::Now() < deadline) {
    const auto info = Command(i, {"CLUSTER", "INFO"});
    if (info.ok() && absl::StrContains(*info, "cluster_state:ok") &&
        absl::StrContains(*info, absl::StrCat("cluster_slots_ok:",
                                              internal::kClusterSlots)) &&
        absl::StrContains(
            *info, absl::StrCat("cluster_known_nodes:", nodes_.size()))) {
      return absl::OkStatus();
    }
    absl::SleepFor(kClusterPollInterval);
  }
  return absl::DeadlineExceededError("the cluster is not complete");
}

std::string RedisCluster::AddressOf(size_t i) const {
  return absl::StrCat("127.0.0.1:", nodes_[i]->port());
}

absl::StatusOr<std::string> RedisCluster::Command(
    size_t i, const std::vector<absl::string_view>& words) {
  const auto reply = SendTo(nodes_[i]->socket_path(), words);
  if (!reply.ok()) return reply.status();
  return ToText(**reply);
}

absl::Status RedisCluster::MoveSlot(int slot, size_t from, size_t to) {
  const std::string number = absl::StrCat(slot);
  const auto from_id = Command(from, {"CLUSTER", "MYID"});
  const auto to_id = Command(to, {"CLUSTER", "MYID"});
  absl::Status status = from_id.status();
  status.Update(to_id.status());
  if (!status.ok()) return status;
  status.Update(
      Command(to, {"CLUSTER", "SETSLOT", number, "IMPORTING", *from_id})
          .status());
  status.Update(
      Command(from, {"CLUSTER", "SETSLOT", number, "MIGRATING", *to_id})
          .status());
  const auto keys = Command(from, {"CLUSTER", "GETKEYSINSLOT", number, "1000"});
  status.Update(keys.status());
  if (!status.ok()) return status;
  const std::string port = absl::StrCat(nodes_[to]->port());
  for (absl::string_view key : absl::StrSplit(*keys, ' ', absl::SkipEmpty())) {
    status.Update(
        Command(from, {"MIGRATE", "127.0.0.1", port, key, "0", "10000"})
            .status());
  }
  // The new node first, so that no time is without one.
  std::vector<size_t> order = {to, from};
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (i != to && i != from) order.push_back(i);
  }
  for (size_t i : order) {
    status.Update(
        Command(i, {"CLUSTER", "SETSLOT", number, "NODE", *to_id}).status());
  }
  if (!status.ok()) return status;
  return AwaitAgreement(slot, *to_id);
}

absl::Status RedisCluster::AwaitAgreement(int slot, const std::string& owner) {
  const absl::Time deadline = absl::Now() + kTimeout;
  while (absl::Now() < deadline) {
    std::set<std::vector<std::string>> views;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const auto nodes = Command(i, {"CLUSTER", "NODES"});
      if (!nodes.ok()) return nodes.status();
      views.insert(ViewOf(*nodes));
      if (!HasSlot(*nodes, owner, slot)) views.insert({});
    }
    if (views.size() == 1) return absl::OkStatus();
    absl::SleepFor(kClusterPollInterval);
  }
  return absl::DeadlineExceededError("the nodes do not agree about a slot");
}

}  // namespace workqueue
