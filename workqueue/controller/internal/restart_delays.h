// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/controller/internal/restart_delays.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_RESTART_DELAYS_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_RESTART_DELAYS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/controller/source.h"

namespace workqueue {
namespace internal {

// Returns an `absl::InvalidArgumentError` that names the field if a delay is
// out of its range. `name` is the name of the option that `backoff` is.
absl::Status CheckRestartBackoff(absl::string_view name,
                                 const RestartBackoff& backoff);

// RestartDelays
//
// The delays that a `RestartBackoff` describes.
//
// Not thread-safe.
class RestartDelays {
 public:
  explicit RestartDelays(const RestartBackoff& backoff) : backoff_(backoff) {}

  // Returns the delay before the restart that follows a run of length `lasted`.
  absl::Duration Next(absl::Duration lasted);

 private:
  const RestartBackoff backoff_;
  absl::Duration delay_ = absl::ZeroDuration();
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_RESTART_DELAYS_H_
