// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/redis/redis_listener.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"

namespace workqueue::internal {

absl::Status RedisListener::Start(absl::Duration first_pause,
                                  absl::Duration last_pause, Listen listen) {
  return thread_.Start(
      1, [this, first_pause, last_pause, listen = std::move(listen)](size_t) {
        Clock* const clock = Clock::GetRealClock();
        absl::Duration pause = first_pause;
        MutexLock lock(&mu_);
        while (!stopping_) {
          interrupt_.Clear();
          absl::Time since = absl::InfiniteFuture();
          {
            const MutexUnlock unlock(&mu_);
            listen(&since);
          }
          // The time that an attempt takes to fail does not count.
          if (clock->TimeNow() - since > absl::Seconds(1)) pause = first_pause;
          clock->AwaitWithDeadline(&mu_, absl::Condition(&stopping_),
                                   clock->TimeNow() + pause);
          pause = std::min(2 * pause, last_pause);
        }
      });
}

void RedisListener::Stop() {
  MutexLock lock(&mu_);
  stopping_ = true;
  interrupt_.Set();
}

}  // namespace workqueue::internal
