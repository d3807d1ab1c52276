// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INSPECT_INSPECT_SCHEDULER_H_
#define WORKQUEUE_INSPECT_INSPECT_SCHEDULER_H_

#include <memory>

#include "workqueue/inspect/inspectable.h"
#include "workqueue/timer/scheduler.h"

namespace workqueue {

// InspectScheduler()
//
// Returns an object that inspects `scheduler`. Its runs in progress are shown
// as items being processed, and its tasks as waiting items. A task has no name:
// its key tells its period, for example "every 10s" or "once".
//
// `scheduler` is not owned. It must not be null, and must outlive the result.
std::unique_ptr<Inspectable> InspectScheduler(const Scheduler* scheduler);

}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_INSPECT_SCHEDULER_H_
