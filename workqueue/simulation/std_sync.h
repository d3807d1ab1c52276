// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SIMULATION_STD_SYNC_H_
#define WORKQUEUE_SIMULATION_STD_SYNC_H_

#ifndef WORKQUEUE_SIMULATION
#include <condition_variable>  // NOLINT(build/c++11)
#include <mutex>               // NOLINT(build/c++11)
#endif

#include "workqueue/simulation/sync.h"

#ifndef WORKQUEUE_SIMULATION

namespace workqueue::sync {

// As the names in sync.h, where the standard library can wait on the monotonic
// clock, and Abseil cannot.
using StdConditionVariable = std::condition_variable;
using StdMutex = std::mutex;

}  // namespace workqueue::sync

#endif

#endif  // WORKQUEUE_SIMULATION_STD_SYNC_H_
