// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_EXCEPTIONS_H_
#define WORKQUEUE_BASE_EXCEPTIONS_H_

#include <cstdlib>
#include <exception>
#include <new>
#include <type_traits>

#include "absl/base/config.h"
#include "absl/status/status.h"

namespace workqueue::internal {

// Calls `f()` and returns true. If `f` throws, drops the exception and returns
// false. The library uses this function where it calls the user's code and must
// not let an exception through, for example on its own threads. Also compiles
// without exceptions.
template <typename F>
bool TryCall(F&& f) {
#ifdef ABSL_HAVE_EXCEPTIONS
  try {
    f();
    return true;
  } catch (...) {
    return false;
  }
#else
  f();
  return true;
#endif
}

// Throws `std::bad_alloc`. If exceptions are disabled, aborts the program.
[[noreturn]] inline void ThrowBadAlloc() {
#ifdef ABSL_HAVE_EXCEPTIONS
  throw std::bad_alloc();
#else
  std::abort();
#endif
}

// Returns an error with `message`. If there is no memory for the message, the
// error has none. Does not throw.
inline absl::Status MakeError(absl::StatusCode code, const char* message) {
  absl::Status status(code, "");
  TryCall([&] { status = absl::Status(code, message); });
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
      return MakeError(absl::StatusCode::kInternal, e.what());
    } catch (...) {
      return MakeError(absl::StatusCode::kInternal,
                       "an exception that is no std::exception");
    }
#else
    return f();
#endif
  }
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_EXCEPTIONS_H_
