// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/internal/log.h"

#include <string>
#include <utility>

#include "absl/base/log_severity.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/exceptions.h"
#include "workqueue/log_sink.h"

namespace workqueue {
namespace internal {

Log::Log(std::string who, LogSink* sink) : who_(std::move(who)), sink_(sink) {}

void Log::Info(absl::FunctionRef<std::string()> message) const {
  Write(absl::LogSeverity::kInfo, message);
}

void Log::Error(absl::FunctionRef<std::string()> message) const {
  Write(absl::LogSeverity::kError, message);
}

void Log::Write(absl::LogSeverity severity,
                absl::FunctionRef<std::string()> message) const {
  if (sink_ == nullptr) return;
  workqueue_internal::ReturnsNormally(
      [&] { sink_->Log(severity, absl::StrCat(who_, ": ", message())); });
}

}  // namespace internal
}  // namespace workqueue
