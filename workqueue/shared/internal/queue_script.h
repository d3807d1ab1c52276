// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_INTERNAL_QUEUE_SCRIPT_H_
#define WORKQUEUE_SHARED_INTERNAL_QUEUE_SCRIPT_H_

namespace workqueue::internal {

// The script, in Lua, that applies one request to a queue: the transitions of
// docs/shared-queue.md. The head of the script documents its keys, arguments
// and reply.
extern const char kQueueScript[];

// The script that returns items of a queue, and their numbers, and changes
// nothing. Its head documents its arguments and reply.
extern const char kSnapshotScript[];

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_INTERNAL_QUEUE_SCRIPT_H_
