// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/tracing/internal/rethrow_after.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TRACING_INTERNAL_RETHROW_AFTER_H_
#define WORKQUEUE_TRACING_INTERNAL_RETHROW_AFTER_H_

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "workqueue/base/exceptions.h"

namespace workqueue {
namespace internal {

// Calls `f()` and returns its result. If it throws, calls
// `on_throw(absl::Status)` with the exception as `CatchAsStatus()` returns it,
// and lets the exception through. `on_throw` must not throw. Also compiles
// without exceptions.
template <typename F, typename G>
auto RethrowAfter(F f, [[maybe_unused]] G on_throw) -> decltype(f()) {
#ifdef ABSL_HAVE_EXCEPTIONS
  try {
    return f();
  } catch (...) {
    on_throw(CatchAsStatus([] { throw; }));
    throw;
  }
#else
  return f();
#endif
}

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_TRACING_INTERNAL_RETHROW_AFTER_H_
