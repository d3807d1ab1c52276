// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/shared/new_shared_queue.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_SHARED_NEW_SHARED_QUEUE_H_
#define WORKQUEUE_TEST_SHARED_NEW_SHARED_QUEUE_H_

#include <memory>
#include <string>

#include "workqueue/clock/fake_clock.h"
#include "workqueue/shared/shared_queue.h"

namespace workqueue {

// Returns options of a new queue on a server that all queues of this program
// share. The server's time is that of `clock`, and leases last for ever. Ends
// the program if there is no server; see `HaveRedisServer()`.
SharedQueueOptions<std::string> NewSharedQueueOptions(FakeClock* clock);

// Returns a queue with these options.
std::unique_ptr<SharedQueue<std::string>> NewSharedQueue(FakeClock* clock);

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_NEW_SHARED_QUEUE_H_
