// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/error_log.h"

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/printable.h"

namespace workqueue {
namespace internal {

void ErrorLog::Write(absl::FunctionRef<std::string()> what,
                     const absl::Status& why) {
  Write([&] {
    return absl::StrCat(what(), ": ",
                        Printable(StatusText(why), kPrintedErrorBytes));
  });
}

void ErrorLog::Write(absl::FunctionRef<std::string()> message) {
  if (!log_.wanted()) return;
  // The clock is the user's and may throw.
  internal::TryCall([&] {
    const std::optional<int64_t> left_out = limit_.Admit(clock_->TimeNow());
    if (!left_out.has_value()) return;
    log_.Error([&] { return absl::StrCat(message(), LeftOut(*left_out)); });
  });
}

}  // namespace internal
}  // namespace workqueue
