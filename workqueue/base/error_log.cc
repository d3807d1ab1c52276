// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/error_log.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/log_severity.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
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

std::optional<int64_t> MessageLimit::Admit(absl::Time now) {
  MutexLock lock(&mu_);
  // The clock has gone back.
  if (rested_at_ > now + kBurst * Period()) rested_at_ = now;
  const absl::Time rested_at = std::max(rested_at_, now) + Period();
  if (rested_at > now + kBurst * Period()) {
    ++left_out_;
    return std::nullopt;
  }
  rested_at_ = rested_at;
  return std::exchange(left_out_, 0);
}

void MessageLimit::LeaveOut() {
  MutexLock lock(&mu_);
  ++left_out_;
}

std::string LeftOut(int64_t left_out) {
  if (left_out == 0) return "";
  return absl::StrCat(" (errors left out before: ", left_out, ")");
}

void ErrorLog::Write(absl::FunctionRef<std::string()> what,
                     const absl::Status& why) {
  Write([&] {
    return absl::StrCat(what(), ": ",
                        Printable(StatusText(why), kPrintedErrorBytes));
  });
}

void ErrorLog::Write(absl::FunctionRef<std::string()> message) {
  if (!log_.wanted()) return;
  const std::optional<int64_t> left_out = limit_.Admit(clock_->TimeNow());
  if (!left_out.has_value()) return;
  log_.Error([&] { return absl::StrCat(message(), LeftOut(*left_out)); });
}

std::string InSeconds(absl::Duration d) {
  return absl::FormatDuration(absl::Ceil(d, absl::Seconds(1)));
}

void LastingError::Lasts(const absl::Status& why, absl::Time since) {
  const absl::Time now = clock_->TimeNow();
  absl::Duration lasted;
  {
    MutexLock lock(&mu_);
    if (!lasts_) since_ = std::min(since, now);
    if (lasts_ && now < logged_at_ + Period() && now >= since_) return;
    logged_at_ = now;
    lasts_ = true;
    lasted = now - since_;
  }
  log_.Error([&] {
    const std::string for_so_long =
        lasted > absl::ZeroDuration()
            ? absl::StrCat(", for ", InSeconds(lasted))
            : "";
    return absl::StrCat(what_, for_so_long, ": ",
                        Printable(StatusText(why), kPrintedErrorBytes));
  });
}

void LastingError::LogEnd() {
  absl::Duration lasted;
  {
    MutexLock lock(&mu_);
    if (!lasts_) return;
    lasts_ = false;
    lasted = clock_->TimeNow() - since_;
  }
  log_.Info([&] { return absl::StrCat(over_, ", after ", InSeconds(lasted)); });
}

}  // namespace workqueue::internal
