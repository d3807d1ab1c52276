// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/base/exceptions.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BASE_EXCEPTIONS_H_
#define WORKQUEUE_BASE_EXCEPTIONS_H_

#include <cstdlib>
#include <new>

#include "absl/base/config.h"

namespace workqueue {
namespace internal {

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

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_BASE_EXCEPTIONS_H_
