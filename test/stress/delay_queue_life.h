// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/stress/delay_queue_life.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_STRESS_DELAY_QUEUE_LIFE_H_
#define WORKQUEUE_TEST_STRESS_DELAY_QUEUE_LIFE_H_

#include "test/stress/soak_life.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {

// Has a `DelayQueue` live through all that its users may do, all at once, and
// checks what they get of it.
void LiveAsDelayQueue(const WaitingSetOptions& waiting_set,
                      const SoakLife& life);

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_STRESS_DELAY_QUEUE_LIFE_H_
