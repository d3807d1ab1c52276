// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A header of the project with the same name as one of the library's headers.

#ifndef INTERNAL_MUTEX_LOCK_H_
#define INTERNAL_MUTEX_LOCK_H_

#include <mutex>

namespace internal {

using MutexLock = std::lock_guard<std::mutex>;

}  // namespace internal

#endif  // INTERNAL_MUTEX_LOCK_H_
