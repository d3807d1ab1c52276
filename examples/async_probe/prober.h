// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/async_probe/prober.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_ASYNC_PROBE_PROBER_H_
#define WORKQUEUE_EXAMPLES_ASYNC_PROBE_PROBER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "examples/async_probe/http_client.h"
#include "examples/async_probe/probe_stats.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/reconcile.h"

namespace async_probe {

// Returns the reconcile function of a controller that probes endpoints. The
// function sends a request, and returns. While the probe waits for its answer,
// it takes no thread. `period` is the time from an answer to the next probe.
//
// Nothing is owned. All must outlive the requests.
workqueue::AsyncReconcileFunction<std::string> MakeProber(HttpClient* client,
                                                          absl::Duration period,
                                                          ProbeStats* stats);

// Returns what the controller must do after a probe with `http_status`.
absl::StatusOr<workqueue::ReconcileResult> ResultOf(
    const absl::StatusOr<int>& http_status, absl::Duration period);

}  // namespace async_probe

#endif  // WORKQUEUE_EXAMPLES_ASYNC_PROBE_PROBER_H_
