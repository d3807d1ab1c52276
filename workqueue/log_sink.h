// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_LOG_SINK_H_
#define WORKQUEUE_LOG_SINK_H_

#include <cstdint>
#include <optional>

#include "absl/base/log_severity.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace workqueue {

// ReconcileFailure
//
// A reconciliation of a controller that failed. See `LogSink::LogFailure()`.
struct ReconcileFailure {
  // The controller's name, as in its options.
  absl::string_view controller;

  // The item, as in a message. If the item's type has no printer, a text that
  // says so.
  absl::string_view item;

  // The number of the item's failures up to this one, as the rate limiter
  // counts them. At least 1.
  int failures = 1;

  // The error of the reconcile function, or an `absl::InternalError` with the
  // text of the exception that it threw.
  absl::Status error;

  // Whether the item is not tried again, because `error` is a
  // `TerminalError()`.
  bool terminal = false;

  // Whether the item is not tried again, because this failure has parked it:
  // see `ControllerOptions::failures`.
  bool parked = false;

  // The time after which the item is tried again, as the rate limiter or a
  // `RetryAfterError()` chose it.
  // Nothing if the item is not tried again, or if the controller does not know
  // the rate limiter, because it was given a queue. But if that is a shared
  // queue, this is the delay that a `RetryAfterError()` asked for.
  std::optional<absl::Duration> retry_after;

  // The number of failures before this one that the sink was not told.
  int64_t left_out = 0;

  // All of this as a message for `Log()`.
  absl::string_view message;
};

// LogSink
//
// Receives the messages of this library. Without a sink in the options, the
// library writes no messages.
//
// Example:
//
//     class AbslLogSink final : public workqueue::LogSink {
//       void Log(absl::LogSeverity severity,
//                absl::string_view message) override {
//         LOG(LEVEL(severity)) << message;
//       }
//     };
//
// A sink must be thread-safe. The library may call it with a lock held. So a
// sink must be quick, and must not call the object that logs. An exception from
// a sink is dropped.
class LogSink {
 public:
  virtual ~LogSink() = default;

  // Writes `message`, which is a single line without a newline. It is valid
  // UTF-8 without control characters: names, items and errors are escaped as
  // `absl::CEscape()` does, except characters that are readable. A name or an
  // item is cut after 256 bytes, and an error after 1024 bytes.
  virtual void Log(absl::LogSeverity severity, absl::string_view message) = 0;

  // Writes a failed reconciliation. Override this function to log its parts as
  // structured data. The default calls `Log()` with an error. A controller
  // limits the calls: see `ControllerOptions::log_sink`. The `string_view`s are
  // valid during the call.
  virtual void LogFailure(const ReconcileFailure& failure) {
    Log(absl::LogSeverity::kError, failure.message);
  }
};

}  // namespace workqueue

#endif  // WORKQUEUE_LOG_SINK_H_
