// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_LOG_H_
#define WORKQUEUE_BASE_LOG_H_

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/base/log_severity.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "workqueue/log_sink.h"

namespace workqueue::internal {

// Log
//
// Writes the messages of one object to a `LogSink`. Without a sink, no message
// is made. If making a message throws, writes that the message cannot be made,
// which takes no memory. If writing throws, the exception is dropped.
//
// Each message must be a single line. So the caller must print items with
// `PrintItem()` or `DescribeItem()`, and all other text that users provide with
// `Printable()`.
//
// Thread-safe.
class Log {
 public:
  // Each message begins with `kind`, the kind of the object that logs, and with
  // its `name`, as `Printable()` returns it, unless the name is empty. `sink`
  // may be null.
  Log(absl::string_view kind, absl::string_view name, LogSink* sink);

  // Returns the text with which each message begins.
  const std::string& who() const { return who_; }

  // Returns whether there is a sink.
  bool wanted() const { return sink_ != nullptr; }

  // Writes the result of `message()`.
  void Info(absl::FunctionRef<std::string()> message) const;
  void Error(absl::FunctionRef<std::string()> message) const;

 private:
  void Write(absl::LogSeverity severity,
             absl::FunctionRef<std::string()> message) const;

  const std::string who_;
  LogSink* const sink_;
};

// Writes `message` to the standard error stream and aborts the program. For an
// error of the caller after which the library cannot continue safely.
[[noreturn]] inline void Fatal(absl::string_view message) {
  std::fprintf(stderr, "workqueue: %.*s\n", static_cast<int>(message.size()),
               message.data());
  std::abort();
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_LOG_H_
