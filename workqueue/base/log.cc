// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/log.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>

#include "absl/base/log_severity.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/printable.h"
#include "workqueue/log_sink.h"

namespace workqueue::internal {

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
  std::string text;
  const bool made =
      internal::TryCall([&] { text = absl::StrCat(who_, ": ", message()); });
  if (made) {
    internal::TryCall([&] { sink_->Log(severity, text); });
    return;
  }
  // A long name is cut off, between two characters.
  size_t size = std::min(who_.size(), size_t{60});
  while (size < who_.size() && (who_[size] & 0xC0) == 0x80) --size;
  char short_text[128];
  std::snprintf(short_text, sizeof(short_text), "%.*s: %s",
                static_cast<int>(size), who_.c_str(),
                "a message cannot be made; there may be no memory");
  internal::TryCall([&] { sink_->Log(severity, short_text); });
}

}  // namespace workqueue::internal
