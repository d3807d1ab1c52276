// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/base/fatal.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BASE_FATAL_H_
#define WORKQUEUE_BASE_FATAL_H_

#include <cstdio>
#include <cstdlib>

#include "absl/strings/string_view.h"

namespace workqueue {
namespace internal {

// Writes `message` to the standard error stream and aborts the program. For an
// error of the caller after which the library cannot continue safely.
[[noreturn]] inline void Fatal(absl::string_view message) {
  std::fprintf(stderr, "workqueue: %.*s\n", static_cast<int>(message.size()),
               message.data());
  std::abort();
}

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_BASE_FATAL_H_
