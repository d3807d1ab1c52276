// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/controller/internal/check_options.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_CHECK_OPTIONS_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_CHECK_OPTIONS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "workqueue/controller/source.h"

namespace workqueue {
namespace internal {

// The properties of a `ControllerOptions` that `CheckOptions()` checks. They do
// not depend on the type of the items.
struct CheckedOptions {
  bool has_reconcile = false;
  bool has_reconcile_async = false;
  size_t workers = 0;
  size_t max_in_flight = 0;
  bool has_max_in_flight = false;  // whether it is not the default
  bool has_executor = false;
  bool has_queue = false;
  bool has_ordering = false;
  bool has_rate_limiter = false;
  bool has_queue_metrics_provider = false;
  bool clocks_differ = false;          // that of the queue, and the given one
  bool parking_clock_differs = false;  // from the controller's
  struct Source {
    bool has_run = false;
    std::optional<RestartBackoff> restart_backoff;
  };
  std::vector<Source> sources;
  absl::Duration sync_timeout;
  absl::Duration reconcile_timeout;
};

// Returns an `absl::InvalidArgumentError` that names the field if an option is
// out of its range or contradicts another one.
absl::Status CheckOptions(const CheckedOptions& options);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_CHECK_OPTIONS_H_
