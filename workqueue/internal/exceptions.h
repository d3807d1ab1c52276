// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/exceptions.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_EXCEPTIONS_H_
#define WORKQUEUE_INTERNAL_EXCEPTIONS_H_

#include <cstdlib>
#include <new>

#include "absl/base/config.h"

namespace workqueue {
namespace internal {

// Calls `f()` and returns true; if it throws, swallows that and returns false.
// For threads of the library, which call code that users supply and must
// survive it. Compiles without exceptions too.
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

// Throws `std::bad_alloc`; without exceptions, ends the program.
[[noreturn]] inline void ThrowBadAlloc() {
#ifdef ABSL_HAVE_EXCEPTIONS
  throw std::bad_alloc();
#else
  std::abort();
#endif
}

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_EXCEPTIONS_H_
