// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_REDIS_REDIS_LISTENER_H_
#define WORKQUEUE_REDIS_REDIS_LISTENER_H_

#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/redis/wake_fd.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// RedisListener
//
// A thread that listens to a server, and connects again when it no longer can.
//
// Thread-safe, except for `Start()` and `Join()`.
class RedisListener {
 public:
  // Connects, with the interrupt below, and listens until that fails. Sets
  // `*since`, which is infinite, to the time when it began to listen.
  using Listen = std::function<void(absl::Time* since)>;

  RedisListener() = default;

  RedisListener(const RedisListener&) = delete;
  RedisListener& operator=(const RedisListener&) = delete;

  const WakeFd* interrupt() const { return &interrupt_; }

  // Calls `listen` again and again, on the thread. The pauses between the calls
  // are doubled from the first to the last. After a call that has listened for
  // a second, they begin with the first.
  absl::Status Start(absl::Duration first_pause, absl::Duration last_pause,
                     Listen listen);

  // Makes the connection again. Does not block.
  void ConnectAgain() { interrupt_.Set(); }

  // Ends the thread, now or later. Blocks no longer than for a mutex.
  void Stop();

  // Blocks until the thread has ended.
  void Join() { thread_.Join(); }

 private:
  WakeFd interrupt_;
  sync::Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  WorkerPool thread_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_REDIS_REDIS_LISTENER_H_
