// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/shared_queue.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_SHARED_QUEUE_H_
#define WORKQUEUE_EXAMPLES_MIRROR_SHARED_QUEUE_H_

#include <string>

#include "absl/status/statusor.h"
#include "examples/mirror/console.h"
#include "examples/mirror/mirror.h"
#include "workqueue/metrics.h"

namespace mirror {

// Opens the queue `name` at `address`, which options.cc describes. SQLite and
// PostgreSQL are possible if the program was built where they are. Reports
// failures of the server or the file to `console`, which must outlive the
// queue, as must `metrics`.
absl::StatusOr<Mirror::SharedQueue> OpenSharedQueue(
    const std::string& address, const std::string& name, Console* console,
    workqueue::MetricsProvider* metrics);

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_SHARED_QUEUE_H_
