// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/leader_election/internal/leader_listener.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_options.h"

namespace workqueue::internal {
namespace {

// The pauses between attempts to connect: doubled from the first to the last.
constexpr absl::Duration kFirstPause = absl::Milliseconds(20);
constexpr absl::Duration kLastPause = absl::Seconds(2);

}  // namespace

LeaderListener::LeaderListener(RedisOptions redis, std::string channel)
    : redis_(std::move(redis)),
      channel_(std::move(channel)),
      connector_(redis_, &interrupt_) {}

void LeaderListener::Run(absl::FunctionRef<void()> heard,
                         absl::FunctionRef<void(const absl::Status&)> denied) {
  Clock* const clock = Clock::GetRealClock();
  absl::Duration pause = kFirstPause;
  bool was_denied = false;
  while (true) {
    absl::Time listening_since = absl::InfiniteFuture();
    // The election goes on without the listener, so an error is no error. But
    // a right that is missing does not come back by itself.
    const absl::Status status = CatchAsStatus([&] {
      return ListenOnce([&] {
        was_denied = false;
        listening_since = std::min(listening_since, clock->TimeNow());
        heard();
      });
    });
    if (absl::IsPermissionDenied(status) && !std::exchange(was_denied, true)) {
      denied(status);
    }
    if (clock->TimeNow() - listening_since > absl::Seconds(1)) {
      pause = kFirstPause;
    }
    MutexLock lock(&mu_);
    if (clock->AwaitWithDeadline(&mu_, absl::Condition(&stopping_),
                                 clock->TimeNow() + pause)) {
      return;
    }
    pause = std::min(2 * pause, kLastPause);
  }
}

absl::Status LeaderListener::ListenOnce(absl::FunctionRef<void()> heard) {
  {
    MutexLock lock(&mu_);
    if (stopping_) return absl::CancelledError("stopped");
    interrupt_.Clear();
  }
  Clock* const clock = Clock::GetRealClock();
  const absl::Time deadline = clock->TimeNow() + redis_.connect_timeout;
  absl::Status status = connector_.Connect(deadline - clock->TimeNow());
  if (!status.ok()) return status;
  RedisConnection* const connection = connector_.connection();
  auto reply =
      connection->Call({"SUBSCRIBE", channel_}, deadline - clock->TimeNow());
  while (reply.ok()) {
    heard();
    reply = connection->Read(absl::InfiniteDuration());
  }
  return reply.status();
}

void LeaderListener::Stop() {
  MutexLock lock(&mu_);
  stopping_ = true;
  interrupt_.Set();
}

}  // namespace workqueue::internal
