// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/internal/failure_log.h"

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/printable.h"
#include "workqueue/clock/clock.h"
#include "workqueue/log_sink.h"

namespace workqueue {
namespace internal {
namespace {

bool IsPowerOfTwo(unsigned int n) { return (n & (n - 1)) == 0; }

}  // namespace

FailureLog::FailureLog(absl::string_view controller, LogSink* sink,
                       Clock* clock)
    : controller_(controller),
      who_(Log("controller", controller, sink).who()),
      sink_(sink),
      clock_(clock) {}

void FailureLog::Write(absl::FunctionRef<std::string()> item, int failures,
                       const absl::Status& error, bool terminal, bool parked,
                       std::optional<absl::Duration> retry_after) {
  if (sink_ == nullptr) return;
  if (!terminal && !parked &&
      !IsPowerOfTwo(static_cast<unsigned int>(failures))) {
    limit_.LeaveOut();
    return;
  }
  // The clock, the item and the sink are the user's and may throw.
  TryCall([&] {
    const std::optional<int64_t> left_out = limit_.Admit(clock_->TimeNow());
    if (!left_out.has_value()) return;
    const std::string printed_item = item();
    const std::string message =
        absl::StrCat(who_, ": reconciling ", printed_item,
                     terminal ? ", for the last time"
                     : parked ? ", and parking it"
                              : "",
                     " (failures: ", failures,
                     "): ", Printable(StatusText(error), kPrintedErrorBytes),
                     LeftOut(*left_out));
    ReconcileFailure failure;
    failure.controller = controller_;
    failure.item = printed_item;
    failure.failures = failures;
    failure.error = error;
    failure.terminal = terminal;
    failure.parked = parked;
    failure.retry_after = retry_after;
    failure.left_out = *left_out;
    failure.message = message;
    sink_->LogFailure(failure);
  });
}

}  // namespace internal
}  // namespace workqueue
