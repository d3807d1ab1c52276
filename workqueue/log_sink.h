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
// Where this library's messages go: nowhere, unless one is given in the
// options.
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
// Thread-safe. A lock may be held when it is called: it must be quick, and not
// call what logs. What it throws is dropped.
class LogSink {
 public:
  virtual ~LogSink() = default;

  // `message` has no end of line; it has several lines if the error that it
  // tells of has.
  virtual void Log(absl::LogSeverity severity, absl::string_view message) = 0;
};

}  // namespace workqueue

#endif  // WORKQUEUE_LOG_SINK_H_
