// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/internal/error_log.h"

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "workqueue/internal/exceptions.h"

namespace workqueue {
namespace internal {

void ErrorLog::Write(absl::FunctionRef<std::string()> what,
                     const absl::Status& why) {
  // The clock is the user's and may throw.
  internal::TryCall([&] {
    const absl::Time now = clock_->TimeNow();
    // The clock may have gone back.
    if (absl::AbsDuration(now - written_at_) < Period()) {
      ++left_out_;
      return;
    }
    log_.Error([&] {
      std::string message = absl::StrCat(what(), ": ", why.ToString());
      if (left_out_ > 0) {
        absl::StrAppend(&message, " (errors left out before: ", left_out_, ")");
      }
      return message;
    });
    written_at_ = now;
    left_out_ = 0;
  });
}

}  // namespace internal
}  // namespace workqueue
