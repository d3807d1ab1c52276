// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/stress/queue_life.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_STRESS_QUEUE_LIFE_H_
#define WORKQUEUE_TEST_STRESS_QUEUE_LIFE_H_

#include <memory>

#include "test/stress/soak_life.h"
#include "workqueue/interfaces.h"
#include "workqueue/priority_queue.h"

namespace workqueue {

// A queue, by as many of the interfaces as it offers.
struct SoakQueue {
  std::unique_ptr<Interface<int>> queue;
  DelayingInterface<int>* delaying = nullptr;
  RateLimitingInterface<int>* rate_limiting = nullptr;
  PriorityInterface<int>* priorities = nullptr;
  // Whether `Add()` ends the waiting of its item.
  bool add_ends_waiting = false;
};

// Has `queue` live through all that its users may do, all at once, and checks
// what they get of it.
void LiveAsQueue(SoakQueue queue, const SoakLife& life);

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_STRESS_QUEUE_LIFE_H_
