// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SIMULATION_ANY_EXECUTOR_H_
#define WORKQUEUE_TEST_SIMULATION_ANY_EXECUTOR_H_

#include <memory>

#include "workqueue/executor.h"

namespace workqueue {

// Returns one that runs tasks on a thread for each, on a pool, or at once if
// that may be.
std::unique_ptr<Executor> AnyExecutor(bool may_be_inline = true);

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SIMULATION_ANY_EXECUTOR_H_
