// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/async_probe/probe_stats.h"

#include <cstdint>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace async_probe {

absl::Time ProbeStats::Begin() {
  std::lock_guard<std::mutex> lock(mu_);
  ++counts_.in_flight;
  return clock_->TimeNow();
}

void ProbeStats::End(const std::string& endpoint, absl::Time begun_at,
                     bool cancelled, const absl::StatusOr<int>& http_status) {
  const bool healthy = http_status.ok() && *http_status == 200;
  if (healthy) {
    latency_.Observe(absl::ToDoubleSeconds(clock_->TimeNow() - begun_at));
  }
  std::lock_guard<std::mutex> lock(mu_);
  --counts_.in_flight;
  if (http_status.ok()) {
    ++(healthy ? counts_.healthy : counts_.unhealthy);
    answered_.insert(endpoint);
  } else {
    ++(cancelled ? counts_.cancelled : counts_.unhealthy);
  }
}

ProbeCounts ProbeStats::counts() const {
  std::lock_guard<std::mutex> lock(mu_);
  ProbeCounts counts = counts_;
  counts.endpoints = static_cast<int64_t>(answered_.size());
  return counts;
}

}  // namespace async_probe
