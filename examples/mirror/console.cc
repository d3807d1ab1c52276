// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/console.h"

#include <unistd.h>

#include <cstdio>
#include <mutex>  // NOLINT(build/c++11)
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"

namespace mirror {
namespace {

constexpr absl::Duration FailurePeriod() { return absl::Seconds(10); }

void Write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

Console::Console() : is_terminal_(isatty(STDERR_FILENO) == 1) {}

void Console::Line(absl::string_view text) {
  const std::lock_guard<std::mutex> lock(mu_);
  const absl::string_view clear = progress_shown_ ? "\r\033[K" : "";
  progress_shown_ = false;
  Write(absl::StrCat(clear, "mirror: ", text, "\n"));
}

void Console::Failure(const absl::Status& failure) {
  std::string more;
  {
    const std::lock_guard<std::mutex> lock(mu_);
    Printed& printed = printed_[failure.code()];
    const absl::Time now = workqueue::Clock::GetRealClock()->TimeNow();
    if (now < printed.last + FailurePeriod()) {
      ++printed.not_printed;
      return;
    }
    if (printed.not_printed > 0) {
      more = absl::StrCat(" (and ", printed.not_printed,
                          " similar failures before)");
    }
    printed = {now, 0};
  }
  Line(absl::StrCat(failure.message(), more));
}

void Console::Progress(absl::string_view text) {
  if (!is_terminal_) return;
  const std::lock_guard<std::mutex> lock(mu_);
  progress_shown_ = true;
  Write(absl::StrCat("\r", text, "\033[K"));
}

void Console::ClearProgress() {
  const std::lock_guard<std::mutex> lock(mu_);
  if (progress_shown_) Write("\r\033[K");
  progress_shown_ = false;
}

}  // namespace mirror
