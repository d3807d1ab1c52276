// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The smallest controller: it reconciles three keys, retries one of them after
// a failure, and ends when all three are reconciled.

#include <cstdio>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/time/time.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "workqueue/controller/controller.h"

int main() {
  absl::BlockingCounter unreconciled(3);

  workqueue::ControllerOptions<std::string> options;
  options.workers = 2;
  options.rate_limiter =
      *workqueue::ItemExponentialFailureRateLimiter<std::string>::Create(
          /*base_delay=*/absl::Milliseconds(100),
          /*max_delay=*/absl::Minutes(1));
  options.reconcile = [&unreconciled](
                          const std::string& key,
                          const workqueue::ReconcileContext& context) {
    if (key == "default/web" && context.failures == 0) {
      std::printf("%s failed; the controller retries it\n", key.c_str());
      return absl::UnavailableError("not ready");
    }
    std::printf("%s reconciled after %d failures\n", key.c_str(),
                context.failures);
    unreconciled.DecrementCount();
    return absl::OkStatus();
  };

  auto controller =
      workqueue::Controller<std::string>::Create(std::move(options));
  if (!controller.ok() || !(*controller)->Start().ok()) return 1;
  for (const char* key : {"default/db", "default/web", "default/cache"}) {
    (*controller)->queue().Add(key);
  }
  unreconciled.Wait();
  (*controller)->Stop();
  std::printf("all reconciled\n");
}
