// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SHARED_NEW_SHARED_QUEUE_H_
#define WORKQUEUE_TEST_SHARED_NEW_SHARED_QUEUE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/shared_queue.h"

namespace workqueue {

// Returns the address of a server that all queues of this program share. Starts
// it when first called. If there is no server, ends the program: with success,
// and a message that says what to install, unless REQUIRE_REDIS_SERVER is set.
std::string ServerOfThisProgram();

// Returns a name that no queue of this program has had.
std::string NewQueueName();

// Ends the program with a message.
[[noreturn]] void DieOf(const absl::Status& status);

// Returns options of a new queue on that server, or in `engine` if it is not
// null. Its time is that of `clock`, and its leases last for ever.
template <typename T>
SharedQueueOptions<T> NewSharedQueueOptions(
    FakeClock* clock, internal::EngineSource* engine = nullptr) {
  SharedQueueOptions<T> options;
  options.name = NewQueueName();
  options.engine = engine;
  if (engine == nullptr) options.redis.address = ServerOfThisProgram();
  options.clock = clock;
  options.clock_is_the_servers = true;
  options.lease = absl::InfiniteDuration();
  options.require_durable_server = true;
  return options;
}

// Returns a queue with `options`. Ends the program if there is an error.
template <typename T>
std::unique_ptr<SharedQueue<T>> NewSharedQueue(SharedQueueOptions<T> options) {
  auto queue = SharedQueue<T>::Create(std::move(options));
  if (!queue.ok()) DieOf(queue.status());
  return *std::move(queue);
}

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_NEW_SHARED_QUEUE_H_
