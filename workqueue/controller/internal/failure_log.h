// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_FAILURE_LOG_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_FAILURE_LOG_H_

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/clock/clock.h"
#include "workqueue/log_sink.h"

namespace workqueue::internal {

// FailureLog
//
// Logs the failed reconciliations of a controller. An item may fail many times,
// and many items may fail at the same time. So this class leaves these failures
// out, and counts them:
//
//   * the failures of an item, except failure 1, 2, 4, 8 and so on, and except
//     terminal errors and the failures that park the item,
//   * the failures above a `MessageLimit`.
//
// Thread-safe. Does not throw.
class FailureLog {
 public:
  // `controller` is the controller's name. `sink` may be null.
  FailureLog(absl::string_view controller, LogSink* sink, Clock* clock);

  // Logs a failure. The arguments are parts of a `ReconcileFailure`. `item` is
  // called only if the failure is not left out.
  void Write(absl::FunctionRef<std::string()> item, int failures,
             const absl::Status& error, bool terminal, bool parked,
             std::optional<absl::Duration> retry_after);

 private:
  const std::string controller_;
  const std::string who_;  // the beginning of each message
  LogSink* const sink_;
  Clock* const clock_;
  MessageLimit limit_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_FAILURE_LOG_H_
