// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/log.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_LOG_H_
#define WORKQUEUE_INTERNAL_LOG_H_

#include <string>

#include "absl/base/log_severity.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "workqueue/log_sink.h"

namespace workqueue {
namespace internal {

// Log
//
// What something writes its messages to. Without a sink they are not even
// made. What making or writing one throws is dropped.
//
// Thread-safe.
class Log {
 public:
  // Each message is preceded by `kind`, what it is that writes, and its `name`
  // unless that is empty. `sink` may be null.
  Log(absl::string_view kind, absl::string_view name, LogSink* sink);

  // What each message is preceded by.
  const std::string& who() const { return who_; }

  // Writes what `message` returns.
  void Info(absl::FunctionRef<std::string()> message) const;
  void Error(absl::FunctionRef<std::string()> message) const;

 private:
  void Write(absl::LogSeverity severity,
             absl::FunctionRef<std::string()> message) const;

  const std::string who_;
  LogSink* const sink_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_LOG_H_
