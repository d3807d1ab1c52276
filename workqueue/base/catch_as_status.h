// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/base/catch_as_status.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BASE_CATCH_AS_STATUS_H_
#define WORKQUEUE_BASE_CATCH_AS_STATUS_H_

#include <exception>
#include <type_traits>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "workqueue/base/exceptions.h"

namespace workqueue {
namespace internal {

// Returns an `absl::InternalError` with `message`. If there is no memory for
// the message, the error has none. Does not throw.
inline absl::Status InternalErrorIfMemory(const char* message) {
  absl::Status status(absl::StatusCode::kInternal, "");
  TryCall([&] { status = absl::InternalError(message); });
  return status;
}

// Calls `f()` and returns its result, an `absl::Status` or an `absl::StatusOr`.
// Returns OK if `f` returns nothing. If `f` throws, returns an
// `absl::InternalError` with the message of the exception. Does not throw. Also
// compiles without exceptions.
template <typename F>
auto CatchAsStatus(F&& f) -> std::conditional_t<std::is_void_v<decltype(f())>,
                                                absl::Status, decltype(f())> {
  if constexpr (std::is_void_v<decltype(f())>) {
    return CatchAsStatus([&f] {
      f();
      return absl::OkStatus();
    });
  } else {
#ifdef ABSL_HAVE_EXCEPTIONS
    try {
      return f();
    } catch (const std::exception& e) {
      return InternalErrorIfMemory(e.what());
    } catch (...) {
      return InternalErrorIfMemory("an exception that is no std::exception");
    }
#else
    return f();
#endif
  }
}

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_BASE_CATCH_AS_STATUS_H_
