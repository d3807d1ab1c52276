// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/call_pool.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_CALL_POOL_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_CALL_POOL_H_

#include <memory>
#include <mutex>  // NOLINT(build/c++11)
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "examples/kubernetes/http_call.h"
#include "workqueue/clock/clock.h"

namespace kubernetes {

// CallPool
//
// This class keeps idle `HttpCall`s, whose connections later requests use
// again. There are as many connections as there are calls at the same time. It
// keeps at most 25 of them when they are idle, as client-go does. libcurl
// closes a connection that was idle for two minutes, instead of using it.
//
// Thread-safe. Must outlive its calls.
class CallPool {
 public:
  // A call that returns to the pool at its end.
  struct Return {
    void operator()(HttpCall* call) const { pool->GiveBack(call); }
    CallPool* pool;
  };
  using Call = std::unique_ptr<HttpCall, Return>;

  // `clock` is not owned. It must outlive the pool.
  CallPool(HttpEndpoint endpoint, workqueue::Clock* clock);

  // Returns a call that nothing else uses. After `Stop()` this is the error
  // Cancelled.
  absl::StatusOr<Call> Take();

  // Cancels all calls. Does not block.
  void Stop();

 private:
  void GiveBack(HttpCall* call);

  const HttpEndpoint endpoint_;
  workqueue::Clock* const clock_;
  std::mutex mu_;
  bool stopped_ = false;                         // guarded by mu_
  std::vector<std::unique_ptr<HttpCall>> idle_;  // guarded by mu_
  absl::flat_hash_set<HttpCall*> in_use_;        // guarded by mu_
};

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_CALL_POOL_H_
