// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_STRESS_QUEUE_LIFE_H_
#define WORKQUEUE_TEST_STRESS_QUEUE_LIFE_H_

#include <memory>

#include "test/stress/soak_life.h"
#include "workqueue/interfaces.h"
#include "workqueue/priority_queue.h"

namespace workqueue {

// A queue, with a pointer to each interface that it implements.
struct SoakQueue {
  std::unique_ptr<Interface<int>> queue;
  DelayingInterface<int>* delaying = nullptr;
  RateLimitingInterface<int>* rate_limiting = nullptr;
  PriorityInterface<int>* priorities = nullptr;
  // Whether `Add()` ends the waiting of its item.
  bool add_ends_waiting = false;
};

// Performs all operations on `queue` from many threads at once, and checks the
// results.
void LiveAsQueue(SoakQueue queue, const SoakLife& life);

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_STRESS_QUEUE_LIFE_H_
