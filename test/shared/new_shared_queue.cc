// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/shared/new_shared_queue.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "test/shared/redis_server.h"

namespace workqueue {
namespace {

std::unique_ptr<RedisServer> StartServer() {
  absl::StatusOr<std::unique_ptr<RedisServer>> server = RedisServer::Start();
  if (server.ok()) return *std::move(server);
  if (!absl::IsNotFound(server.status()) || RedisServer::IsRequired()) {
    DieOf(server.status());
  }
  printf("skipped: %s\n", std::string(server.status().message()).c_str());
  exit(0);
}

}  // namespace

std::string ServerOfThisProgram() {
  static const std::unique_ptr<RedisServer> server = StartServer();
  return server->socket_path();
}

std::string NewQueueName() {
  static std::atomic<int> queues{0};
  return absl::StrCat("queue ", ++queues);
}

void DieOf(const absl::Status& status) {
  fprintf(stderr, "%s\n", status.ToString().c_str());
  exit(1);
}

}  // namespace workqueue
