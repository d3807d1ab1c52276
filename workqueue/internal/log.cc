// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/internal/log.h"

#include <string>

#include "absl/base/log_severity.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "workqueue/internal/exceptions.h"
#include "workqueue/internal/printable.h"
#include "workqueue/log_sink.h"

namespace workqueue {
namespace internal {

Log::Log(absl::string_view kind, absl::string_view name, LogSink* sink)
    : who_(absl::StrCat(kind, name.empty() ? "" : " ", Printable(name))),
      sink_(sink) {}

void Log::Info(absl::FunctionRef<std::string()> message) const {
  Write(absl::LogSeverity::kInfo, message);
}

void Log::Error(absl::FunctionRef<std::string()> message) const {
  Write(absl::LogSeverity::kError, message);
}

void Log::Write(absl::LogSeverity severity,
                absl::FunctionRef<std::string()> message) const {
  if (!wanted()) return;
  internal::TryCall(
      [&] { sink_->Log(severity, absl::StrCat(who_, ": ", message())); });
}

}  // namespace internal
}  // namespace workqueue
