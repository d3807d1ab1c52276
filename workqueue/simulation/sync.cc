// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/simulation/sync.h"

#ifndef WORKQUEUE_SIMULATION

#include <cstdint>
#include <random>

namespace workqueue::sync {

uint32_t RandomSeed() { return std::random_device()(); }

}  // namespace workqueue::sync

#endif  // WORKQUEUE_SIMULATION
