// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_ERROR_LOG_H_
#define WORKQUEUE_BASE_ERROR_LOG_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "absl/base/log_severity.h"
#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/printable.h"
#include "workqueue/clock/clock.h"
#include "workqueue/log_sink.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// Returns the time after which the library's threads retry a failed operation.
constexpr absl::Duration RetryDelay() { return absl::Seconds(1); }

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

// Aborts the program if `argument`, a pointer or a function, is null. `name`
// says which one it is.
template <typename Argument>
void DieIfNull(const Argument& argument, absl::string_view name) {
  if (ABSL_PREDICT_TRUE(argument != nullptr)) return;
  Fatal(absl::StrCat("the ", name, " is null"));
}

// MessageLimit
//
// Limits the number of messages of one kind: after a pause, `kBurst` messages
// may be written at once, and then one per `Period()`. Counts the messages that
// are left out. An operation that is retried every `RetryDelay()` can be logged
// each time.
//
// Thread-safe. Does not throw.
class MessageLimit {
 public:
  static constexpr int kBurst = 10;
  static constexpr absl::Duration Period() { return absl::Milliseconds(500); }

  // Returns the number of messages that have been left out since the last one,
  // if a message may be written at the time `now`. Returns nothing if the
  // message must be left out. The clock may go back.
  std::optional<int64_t> Admit(absl::Time now);

  // Counts a message that the caller leaves out.
  void LeaveOut();

 private:
  sync::Mutex mu_;
  // If no further message is written, this is the time from which on `kBurst`
  // messages may be written at once.
  absl::Time rested_at_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  int64_t left_out_ ABSL_GUARDED_BY(mu_) = 0;
};

// Returns the end of a message before which `left_out` others were left out.
std::string LeftOut(int64_t left_out);

// ErrorLog
//
// Logs those errors of one object that cannot be returned to a caller.
//
// An operation that fails for one item may fail for many items at the same
// time. So a `MessageLimit` limits the messages of each `ErrorLog`. A message
// contains the number of errors that have been left out before it.
//
// Thread-safe. Does not throw.
class ErrorLog {
 public:
  // See `Log`. `sink` may be null.
  ErrorLog(absl::string_view kind, absl::string_view name, LogSink* sink,
           Clock* clock)
      : log_(kind, name, sink), clock_(clock) {}

  // Returns the text with which each message begins.
  const std::string& who() const { return log_.who(); }

  // Calls `f`, which returns an `absl::Status` or nothing. Returns false if `f`
  // throws or returns an error, and true otherwise. If the result is false,
  // logs the result of `what()`, which describes the failed operation, and then
  // the error.
  template <typename What, typename F>
  bool Try(What what, F f) {
    const absl::Status status = internal::CatchAsStatus(f);
    if (status.ok()) return true;
    Write(what, status);
    return false;
  }

  // Logs the result of `what()` and then the error `why`.
  void Write(absl::FunctionRef<std::string()> what, const absl::Status& why);

  // Logs the result of `message()`.
  void Write(absl::FunctionRef<std::string()> message);

 private:
  const Log log_;
  Clock* const clock_;
  MessageLimit limit_;
};

// Returns `d` as text, rounded up to whole seconds: what has begun does not
// last for zero.
std::string InSeconds(absl::Duration d);

// LastingError
//
// Logs an error that may last for hours, such as that of a server that does not
// answer: when it begins, then each `Period()`, and when it is over.
//
// Thread-safe. Does not throw.
class LastingError {
 public:
  static constexpr absl::Duration Period() { return absl::Seconds(10); }

  // `what` is logged with each error, and `over` at the end. Both must outlive
  // this object. See `Log` for the rest.
  LastingError(absl::string_view kind, absl::string_view name, LogSink* sink,
               Clock* clock, absl::string_view what, absl::string_view over)
      : log_(kind, name, sink), clock_(clock), what_(what), over_(over) {}

  // The error is, or still is, `why`. If it is new, it began at `since`, and
  // not later than now.
  void Lasts(const absl::Status& why, absl::Time since = absl::InfiniteFuture())
      ABSL_LOCKS_EXCLUDED(mu_);

  // There is no error, or none any more.
  void Over() ABSL_LOCKS_EXCLUDED(mu_) {
    if (lasts_) LogEnd();
  }

 private:
  void LogEnd() ABSL_LOCKS_EXCLUDED(mu_);

  const Log log_;
  Clock* const clock_;
  const absl::string_view what_;
  const absl::string_view over_;
  sync::Mutex mu_;
  sync::Atomic<bool> lasts_{false};  // is written under mu_
  absl::Time since_ ABSL_GUARDED_BY(mu_);
  absl::Time logged_at_ ABSL_GUARDED_BY(mu_);
};

// Returns the message that `item` is due but could not be added. The queue
// tries again to add the item.
template <typename T>
std::string DueButNotAdded(const T& item) {
  return absl::StrCat(DescribeItem(item), " is due and cannot be added yet");
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_ERROR_LOG_H_
