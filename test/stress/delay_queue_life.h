// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_STRESS_DELAY_QUEUE_LIFE_H_
#define WORKQUEUE_TEST_STRESS_DELAY_QUEUE_LIFE_H_

#include "test/stress/soak_life.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {

// Creates a `DelayQueue`, performs all operations on it from many threads at
// once, and checks the results.
void LiveAsDelayQueue(const WaitingSetOptions& waiting_set,
                      const SoakLife& life);

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_STRESS_DELAY_QUEUE_LIFE_H_
