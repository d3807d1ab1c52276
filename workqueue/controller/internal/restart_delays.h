// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_RESTART_DELAYS_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_RESTART_DELAYS_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/controller/source.h"

namespace workqueue::internal {

// Returns an `absl::InvalidArgumentError` that names the field if a delay is
// out of its range. `name` is the name of the option that `backoff` is.
absl::Status CheckRestartBackoff(absl::string_view name,
                                 const RestartBackoff& backoff);

// RestartDelays
//
// The delays that a `RestartBackoff` describes. Knows how long each run is
// healthy: a run that takes long to fail does not count as a good one.
//
// Not thread-safe.
class RestartDelays {
 public:
  // The run becomes healthy, or ceases to be healthy, at `now`. Does nothing if
  // that is so already. A run begins unhealthy.
  void SetHealthy(bool healthy, absl::Time now);

  // Ends the run at `now`. Returns the delay before the next run.
  absl::Duration Next(const RestartBackoff& backoff, absl::Time now);

 private:
  absl::Duration delay_ = absl::ZeroDuration();  // the last one
  // How long the run has been healthy, and since when it is healthy again.
  absl::Duration healthy_ = absl::ZeroDuration();
  std::optional<absl::Time> healthy_since_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_RESTART_DELAYS_H_
