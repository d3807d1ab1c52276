// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/async_probe/prober.h"

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "examples/async_probe/http_client.h"
#include "examples/async_probe/probe_stats.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/reconcile.h"

namespace async_probe {

workqueue::AsyncReconcileFunction<std::string> MakeProber(HttpClient* client,
                                                          absl::Duration period,
                                                          ProbeStats* stats) {
  return [=](const std::string& endpoint,
             const workqueue::AsyncReconcileContext& context,
             workqueue::ReconcileCompletion done) {
    const absl::Time begun_at = stats->Begin();
    // `endpoint` is valid as long as the callback has `done`.
    std::function<void()> cancel =
        client->Get(endpoint, [=, &endpoint](absl::StatusOr<int> http_status) {
          stats->End(endpoint, begun_at, context.Cancelled(), http_status);
          done(ResultOf(http_status, period));
        });
    // If the deadline has passed already, this calls the function. If there is
    // an answer already, this drops the function.
    context.OnCancel(std::move(cancel));
  };
}

absl::StatusOr<workqueue::ReconcileResult> ResultOf(
    const absl::StatusOr<int>& http_status, absl::Duration period) {
  if (!http_status.ok()) return http_status.status();
  if (*http_status != 200) {
    return absl::UnavailableError(absl::StrCat("HTTP ", *http_status));
  }
  return workqueue::ReconcileResult{/*requeue_after=*/period};
}

}  // namespace async_probe
