// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/shared/new_shared_queue.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "test/shared/redis_server.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/shared/shared_queue.h"

namespace workqueue {
namespace {

template <typename T>
T OrDie(absl::StatusOr<T> result) {
  if (!result.ok()) {
    fprintf(stderr, "%s\n", result.status().ToString().c_str());
    exit(1);
  }
  return *std::move(result);
}

}  // namespace

SharedQueueOptions<std::string> NewSharedQueueOptions(FakeClock* clock) {
  static const std::unique_ptr<RedisServer> server =
      OrDie(RedisServer::Start());
  static std::atomic<int> queues{0};
  SharedQueueOptions<std::string> options;
  options.name = absl::StrCat("queue ", ++queues);
  options.redis.address = server->socket_path();
  options.clock = clock;
  options.clock_is_the_servers = true;
  options.lease = absl::InfiniteDuration();
  options.retries_per_second = std::numeric_limits<double>::infinity();
  options.require_durable_server = true;
  return options;
}

std::unique_ptr<SharedQueue<std::string>> NewSharedQueue(FakeClock* clock) {
  return OrDie(SharedQueue<std::string>::Create(NewSharedQueueOptions(clock)));
}

}  // namespace workqueue
