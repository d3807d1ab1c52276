// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/call_pool.h"

#include <cstddef>
#include <memory>
#include <mutex>  // NOLINT(build/c++11)
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/kubernetes/http_call.h"
#include "workqueue/clock/clock.h"

namespace kubernetes {
namespace {

constexpr size_t kMaxIdle = 25;

}  // namespace

CallPool::CallPool(HttpEndpoint endpoint, workqueue::Clock* clock)
    : endpoint_(std::move(endpoint)), clock_(clock) {}

absl::StatusOr<CallPool::Call> CallPool::Take() {
  const std::lock_guard<std::mutex> lock(mu_);
  if (stopped_) return absl::CancelledError("the client was stopped");
  std::unique_ptr<HttpCall> call;
  if (idle_.empty()) {
    auto created = HttpCall::Create(&endpoint_, clock_);
    if (!created.ok()) return created.status();
    call = *std::move(created);
  } else {
    // The connection that was used last is the least likely one to be closed.
    call = std::move(idle_.back());
    idle_.pop_back();
  }
  in_use_.insert(call.get());
  return Call(call.release(), Return{this});
}

void CallPool::Stop() {
  const std::lock_guard<std::mutex> lock(mu_);
  stopped_ = true;
  for (HttpCall* call : in_use_) call->Cancel();
}

void CallPool::GiveBack(HttpCall* call) {
  std::unique_ptr<HttpCall> owned(call);
  owned->End();
  const std::lock_guard<std::mutex> lock(mu_);
  in_use_.erase(call);
  if (!owned->cancelled() && idle_.size() < kMaxIdle) {
    idle_.push_back(std::move(owned));
  }
}

}  // namespace kubernetes
