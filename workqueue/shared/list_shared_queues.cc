// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/list_shared_queues.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hiredis/hiredis.h"
#include "workqueue/clock/clock.h"
#include "workqueue/redis/redis_address.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_connector.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/shared/internal/queue_keys.h"

namespace workqueue {
namespace {

using internal::RedisConnection;
using internal::RedisConnector;

// The number of partitions of each queue, by the name. Each partition counts as
// a queue.
using Found = std::map<std::string, int>;

absl::Status BadReply() {
  return absl::InternalError("the server's reply has an unexpected form");
}

absl::Duration Left(absl::Time deadline) {
  return deadline - Clock::GetRealClock()->TimeNow();
}

absl::Status Connect(RedisConnector* connector, absl::Time deadline) {
  return connector->connected() ? absl::OkStatus()
                                : connector->Connect(Left(deadline));
}

// Returns the addresses of the masters of the cluster that the server belongs
// to, or none if it belongs to no cluster.
absl::StatusOr<std::set<std::string>> MastersOf(RedisConnection* connection,
                                                absl::Time deadline) {
  std::set<std::string> masters;
  const auto info = connection->Call({"INFO", "cluster"}, Left(deadline));
  if (!info.ok()) return info.status();
  if (!absl::StrContains(internal::TextOf(**info), "cluster_enabled:1")) {
    return masters;
  }
  const auto reply = connection->Call({"CLUSTER", "SLOTS"}, Left(deadline));
  if (!reply.ok()) return reply.status();
  int64_t slots = 0;
  for (size_t i = 0; i < (*reply)->elements; ++i) {
    // The first slot, the last slot, the master, and its replicas.
    const redisReply& range = *(*reply)->element[i];
    if (range.elements < 3 || range.element[2]->elements < 2) return BadReply();
    slots += range.element[1]->integer - range.element[0]->integer + 1;
    std::string host(internal::TextOf(*range.element[2]->element[0]));
    const redisReply& port = *range.element[2]->element[1];
    // A node that leaves its host out has this connection's.
    const auto here = internal::ParseHostAndPort(connection->address());
    if (host.empty() && here) host = here->host;
    if (host.empty()) {
      return absl::UnavailableError(
          "a node of the cluster does not know its address");
    }
    masters.insert(absl::StrCat(host, ":", port.integer));
  }
  // Nobody knows what the other slots have.
  if (slots != internal::kClusterSlots) {
    return absl::UnavailableError(
        absl::StrCat("the cluster's nodes have ", slots, " of its ",
                     internal::kClusterSlots, " slots"));
  }
  return masters;
}

// Adds the queue that has `key`, if the key belongs to one.
absl::Status AddQueue(RedisConnection* connection, absl::string_view key,
                      absl::Time deadline, Found* found) {
  std::string name;
  if (!internal::ParseMetaKey(key, &name)) return absl::OkStatus();
  const auto layout =
      connection->Call({"HGET", key, "version"}, Left(deadline));
  if (!layout.ok()) return layout.status();
  if ((*layout)->type != REDIS_REPLY_STRING) return absl::OkStatus();
  (*found)[name] = internal::PartitionsOf(internal::TextOf(**layout));
  return absl::OkStatus();
}

// Adds the queues of one server.
absl::Status Scan(RedisConnection* connection, absl::Time deadline,
                  Found* found) {
  const absl::Status status =
      internal::RefuseReplica(connection, Left(deadline));
  if (!status.ok()) return status;
  const std::string pattern = internal::MetaKeyOf("*");
  std::string cursor = "0";
  do {
    const auto reply = connection->Call(
        {"SCAN", cursor, "MATCH", pattern, "COUNT", "1000", "TYPE", "hash"},
        Left(deadline));
    if (!reply.ok()) return reply.status();
    if ((*reply)->elements != 2) return BadReply();
    cursor = std::string(internal::TextOf(*(*reply)->element[0]));
    const redisReply& keys = *(*reply)->element[1];
    for (size_t i = 0; i < keys.elements; ++i) {
      const absl::Status status = AddQueue(
          connection, internal::TextOf(*keys.element[i]), deadline, found);
      if (!status.ok()) return status;
    }
  } while (cursor != "0");
  return absl::OkStatus();
}

// Returns the queue of `partitions` that `name` is a partition of, other than
// its first; empty if it is none.
std::string QueueOf(const std::string& name, int partitions) {
  const size_t slash = name.rfind('/');
  if (partitions == 1 || slash == std::string::npos) return "";
  std::string queue = name.substr(0, slash);
  for (int i = 1; i < partitions; ++i) {
    // The name of a partition takes some time, so most are not made.
    if (absl::StartsWith(name.substr(slash), absl::StrCat("/", i, ".")) &&
        internal::PartitionName(queue, i, partitions) == name) {
      return queue;
    }
  }
  return "";
}

// Adds all queues. A cursor of one server says nothing to another, so each
// attempt begins anew.
absl::Status FindAll(const RedisOptions& redis, RedisConnector* connector,
                     absl::Time deadline, Found* found) {
  absl::Status status = Connect(connector, deadline);
  if (!status.ok()) return status;
  const auto masters = MastersOf(connector->connection(), deadline);
  if (!masters.ok()) return masters.status();
  if (masters->empty()) return Scan(connector->connection(), deadline, found);
  for (const std::string& master : *masters) {
    RedisOptions to = redis;
    to.address = master;
    const auto connection = RedisConnection::Connect(to, Left(deadline));
    if (!connection.ok()) return connection.status();
    status = Scan(connection->get(), deadline, found);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<SharedQueueName>> ListSharedQueues(
    const RedisOptions& redis, absl::Duration timeout) {
  const absl::Time deadline = Clock::GetRealClock()->TimeNow() + timeout;
  const auto plain = internal::PlainRedisOptions(redis);
  if (!plain.ok()) return plain.status();
  RedisConnector connector(*plain);
  Found found;
  const absl::Status status = internal::RepeatUntil(deadline, [&] {
    found.clear();
    return FindAll(*plain, &connector, deadline, &found);
  });
  if (!status.ok()) return status;
  std::vector<SharedQueueName> queues;
  for (const auto& [name, partitions] : found) {
    const auto whole = found.find(QueueOf(name, partitions));
    if (whole == found.end() || whole->second != partitions) {
      queues.push_back({name, partitions});
    }
  }
  return queues;
}

absl::StatusOr<SharedQueueName> FindSharedQueue(const RedisOptions& redis,
                                                absl::string_view name,
                                                absl::Duration timeout) {
  const absl::Time deadline = Clock::GetRealClock()->TimeNow() + timeout;
  const auto plain = internal::PlainRedisOptions(redis);
  if (!plain.ok()) return plain.status();
  RedisConnector connector(*plain);
  Found found;
  const std::string key = internal::MetaKeyOf(name);
  const absl::Status status = internal::RepeatUntil(deadline, [&] {
    absl::Status attempt = Connect(&connector, deadline);
    if (!attempt.ok()) return attempt;
    attempt = AddQueue(connector.connection(), key, deadline, &found);
    if (!attempt.ok() || !found.empty()) return attempt;
    // The user need not have the right to ask.
    attempt = internal::RefuseReplica(connector.connection(), Left(deadline));
    return internal::MayPass(attempt) ? attempt : absl::OkStatus();
  });
  if (!status.ok()) return status;
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat("there is no shared queue \"", name, "\""));
  }
  const std::string whole =
      QueueOf(found.begin()->first, found.begin()->second);
  if (!whole.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "\"", name, "\" is a partition of the shared queue \"", whole, "\""));
  }
  return SharedQueueName{found.begin()->first, found.begin()->second};
}

}  // namespace workqueue
