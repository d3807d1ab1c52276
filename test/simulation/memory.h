// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SIMULATION_MEMORY_H_
#define WORKQUEUE_TEST_SIMULATION_MEMORY_H_

namespace workqueue {

// Fails if somebody has written to memory after it was freed, of what was freed
// last. Memory that is freed is kept for a while, and filled.
void CheckFreedMemory();

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SIMULATION_MEMORY_H_
