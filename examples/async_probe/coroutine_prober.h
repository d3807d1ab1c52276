// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/async_probe/coroutine_prober.h
// -----------------------------------------------------------------------------
//
// Needs C++20.

#ifndef WORKQUEUE_EXAMPLES_ASYNC_PROBE_COROUTINE_PROBER_H_
#define WORKQUEUE_EXAMPLES_ASYNC_PROBE_COROUTINE_PROBER_H_

#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "examples/async_probe/http_client.h"
#include "examples/async_probe/probe_stats.h"
#include "examples/async_probe/prober.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/coroutine_reconcile.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/coroutine/await_callback.h"
#include "workqueue/coroutine/task.h"

namespace async_probe {

inline workqueue::Task<absl::StatusOr<workqueue::ReconcileResult>> Probe(
    HttpClient* client, absl::Duration period, ProbeStats* stats,
    const std::string& endpoint, std::stop_token stop) {
  const absl::Time begun_at = stats->Begin();
  const absl::StatusOr<int> http_status =
      co_await workqueue::AwaitCallback<absl::StatusOr<int>>(
          /*executor=*/nullptr,
          [&](auto done) { return client->Get(endpoint, std::move(done)); },
          stop);
  stats->End(endpoint, begun_at, stop.stop_requested(), http_status);
  co_return ResultOf(http_status, period);
}

// Does what `MakeProber()` does, with a coroutine for each probe.
inline workqueue::AsyncReconcileFunction<std::string> MakeCoroutineProber(
    HttpClient* client, absl::Duration period, ProbeStats* stats) {
  return workqueue::CoroutineReconcile<std::string>(
      [=](const std::string& endpoint, std::stop_token stop) {
        return Probe(client, period, stats, endpoint, std::move(stop));
      });
}

}  // namespace async_probe

#endif  // WORKQUEUE_EXAMPLES_ASYNC_PROBE_COROUTINE_PROBER_H_
