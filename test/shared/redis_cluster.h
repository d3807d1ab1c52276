// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SHARED_REDIS_CLUSTER_H_
#define WORKQUEUE_TEST_SHARED_REDIS_CLUSTER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "test/shared/redis_server.h"

namespace workqueue {

// RedisCluster
//
// Masters of a cluster, without replicas. Each one has an equal range of the
// slots, as `redis-cli --cluster create` gives out.
//
// Not thread-safe.
class RedisCluster {
 public:
  // Starts `nodes` masters, and waits until each knows all the others' slots.
  static absl::StatusOr<std::unique_ptr<RedisCluster>> Start(size_t nodes);

  RedisCluster(const RedisCluster&) = delete;
  RedisCluster& operator=(const RedisCluster&) = delete;

  RedisServer& node(size_t i) { return *nodes_[i]; }

  // "127.0.0.1:PORT" of a node.
  std::string AddressOf(size_t i) const;

  // Sends a command to a node. Returns its reply: a text or a number as it is,
  // the elements of an array with spaces between.
  absl::StatusOr<std::string> Command(
      size_t i, const std::vector<absl::string_view>& words);

  // Moves a slot with its keys from one node to another, as `redis-cli
  // --cluster reshard` does.
  absl::Status MoveSlot(int slot, size_t from, size_t to);

  // Waits until `node` says that it sees all nodes and all slots.
  absl::Status AwaitComplete(size_t i);

 private:
  explicit RedisCluster(std::vector<std::unique_ptr<RedisServer>> nodes)
      : nodes_(std::move(nodes)) {}

  absl::Status Join();
  absl::Status AwaitAgreement(int slot, const std::string& owner);

  const std::vector<std::unique_ptr<RedisServer>> nodes_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_REDIS_CLUSTER_H_
