// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_LEADER_ELECTION_INTERNAL_LEADER_LISTENER_H_
#define WORKQUEUE_LEADER_ELECTION_INTERNAL_LEADER_LISTENER_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "workqueue/redis/redis_connector.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/redis/wake_fd.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// LeaderListener
//
// Hears that the lease of an election has been released.
//
// Thread-safe.
class LeaderListener {
 public:
  LeaderListener(RedisOptions redis, std::string channel);

  LeaderListener(const LeaderListener&) = delete;
  LeaderListener& operator=(const LeaderListener&) = delete;

  // Calls `heard` for each message of the channel, and when it begins to
  // listen, as it may have missed one before. Makes the connection again when
  // it breaks. Calls `denied` with the server's words when the user may not
  // listen, once until it may again. Returns after `Stop()`.
  void Run(absl::FunctionRef<void()> heard,
           absl::FunctionRef<void(const absl::Status&)> denied);

  // Makes the connection again: perhaps another server has the lease now. Does
  // not block.
  void ConnectAgain() { interrupt_.Set(); }

  // Ends `Run()`, now or later. Blocks no longer than for a mutex.
  void Stop();

 private:
  absl::Status ListenOnce(absl::FunctionRef<void()> heard);

  const RedisOptions redis_;
  const std::string channel_;
  WakeFd interrupt_;          // of the connection
  RedisConnector connector_;  // of the thread in `Run()`

  sync::Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_LEADER_ELECTION_INTERNAL_LEADER_LISTENER_H_
