// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SIMULATION_ANY_EXECUTOR_H_
#define WORKQUEUE_TEST_SIMULATION_ANY_EXECUTOR_H_

#include <memory>

#include "workqueue/executor.h"
#include "workqueue/simulation/simulation.h"

namespace workqueue {

// Returns one that runs tasks on a thread for each, on a pool, or at once if
// that may be.
std::unique_ptr<Executor> AnyExecutor(bool may_be_inline = true);

// Whether that is chosen, as one of `count` cases and not the simplest.
inline bool OneIn(int count) { return simulation::Choose(count) == count - 1; }

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SIMULATION_ANY_EXECUTOR_H_
