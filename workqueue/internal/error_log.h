// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/error_log.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_ERROR_LOG_H_
#define WORKQUEUE_INTERNAL_ERROR_LOG_H_

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/internal/catch_as_status.h"
#include "workqueue/internal/log.h"
#include "workqueue/internal/print_item.h"
#include "workqueue/log_sink.h"

namespace workqueue {
namespace internal {

// ErrorLog
//
// Where a queue tells of the errors that no caller is told of.
//
// What fails for one item may fail for a million others at the same time. So
// there is one message in half a second, at most, and it says how many errors
// before it were left out. What is tried again a second later is told each
// time, if nothing else fails.
//
// Does not throw. Not thread-safe.
class ErrorLog {
 public:
  // For the queue `name`. `sink` may be null.
  ErrorLog(absl::string_view name, LogSink* sink, Clock* clock)
      : log_("queue", name, sink), clock_(clock) {}

  // What each message is preceded by.
  const std::string& who() const { return log_.who(); }

  // Calls `f`, which returns a status or nothing. Returns whether it returned,
  // and that is OK. If not, tells why after what `what()` returns: that which
  // could not be done.
  template <typename What, typename F>
  bool Try(What what, F f) {
    const absl::Status status = internal::CatchAsStatus(f);
    if (status.ok()) return true;
    Write(what, status);
    return false;
  }

 private:
  static constexpr absl::Duration Period() { return absl::Milliseconds(500); }

  void Write(absl::FunctionRef<std::string()> what, const absl::Status& why);

  const Log log_;
  Clock* const clock_;
  absl::Time written_at_ = absl::InfinitePast();
  size_t left_out_ = 0;  // since then
};

// Returns what a queue tells of `item`, whose time has come, and which could
// not be added. It is tried again.
template <typename T>
std::string DueButNotAdded(const T& item) {
  return absl::StrCat(DescribeItem(item), " is due and cannot be added yet");
}

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_ERROR_LOG_H_
