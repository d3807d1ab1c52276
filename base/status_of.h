// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// base/status_of.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BASE_STATUS_OF_H_
#define WORKQUEUE_BASE_STATUS_OF_H_

#include <exception>

#include "absl/base/config.h"
#include "absl/status/status.h"

namespace workqueue_internal {

// Returns what `f()` does, an `absl::Status` or an `absl::StatusOr`; if it
// throws, an `absl::InternalError` that tells what. Compiles without exceptions
// too.
template <typename F>
auto StatusOf(F&& f) -> decltype(f()) {
#ifdef ABSL_HAVE_EXCEPTIONS
  try {
    return f();
  } catch (const std::exception& e) {
    return absl::InternalError(e.what());
  } catch (...) {
    return absl::InternalError("an exception that is no std::exception");
  }
#else
  return f();
#endif
}

}  // namespace workqueue_internal

#endif  // WORKQUEUE_BASE_STATUS_OF_H_
