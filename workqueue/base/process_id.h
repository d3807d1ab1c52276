// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_PROCESS_ID_H_
#define WORKQUEUE_BASE_PROCESS_ID_H_

#ifdef _WIN32
#include <process.h>
#else
#include <unistd.h>
#endif

namespace workqueue::internal {

// Returns the number of this process. A child of `fork()` has its own.
inline int ProcessId() {
#ifdef _WIN32
  return _getpid();
#else
  return getpid();
#endif
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_PROCESS_ID_H_
