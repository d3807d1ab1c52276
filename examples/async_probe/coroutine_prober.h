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

#include <atomic>
#include <coroutine>
#include <functional>
#include <optional>
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
#include "workqueue/coroutine/task.h"

namespace async_probe {

// HttpAnswer
//
// `co_await HttpAnswer(client, target, stop)` sends a request, and waits for
// the status code of the answer without a thread. A stop cancels the request.
// This is how a coroutine awaits a function that calls back.
class HttpAnswer {
 public:
  HttpAnswer(HttpClient* client, const std::string& target,
             std::stop_token stop)
      : client_(client), target_(target), stop_(std::move(stop)) {}

  HttpAnswer(const HttpAnswer&) = delete;
  HttpAnswer& operator=(const HttpAnswer&) = delete;

  bool await_ready() const { return false; }

  bool await_suspend(std::coroutine_handle<> waiter) {
    std::function<void()> cancel =
        client_->Get(target_, [this, waiter](absl::StatusOr<int> http_status) {
          http_status_ = std::move(http_status);
          if (IsLastEvent()) waiter.resume();
        });
    on_stop_.emplace(stop_, std::move(cancel));
    return !IsLastEvent();  // If true, the coroutine may be gone.
  }

  absl::StatusOr<int> await_resume() {
    on_stop_.reset();
    return std::move(http_status_);
  }

 private:
  // The coroutine continues after two events: the answer, and the end of
  // `await_suspend()`, which uses this object until then.
  bool IsLastEvent() { return events_.fetch_sub(1) == 1; }

  HttpClient* const client_;
  const std::string& target_;
  const std::stop_token stop_;
  absl::StatusOr<int> http_status_;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
  std::atomic<int> events_{2};
};

inline workqueue::Task<absl::StatusOr<workqueue::ReconcileResult>> Probe(
    HttpClient* client, absl::Duration period, ProbeStats* stats,
    const std::string& endpoint, std::stop_token stop) {
  const absl::Time begun_at = stats->Begin();
  const absl::StatusOr<int> http_status =
      co_await HttpAnswer(client, endpoint, stop);
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
