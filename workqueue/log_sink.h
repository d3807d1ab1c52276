// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/log_sink.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_LOG_SINK_H_
#define WORKQUEUE_LOG_SINK_H_

#include "absl/base/log_severity.h"
#include "absl/strings/string_view.h"

namespace workqueue {

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
};

}  // namespace workqueue

#endif  // WORKQUEUE_LOG_SINK_H_
