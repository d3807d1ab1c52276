// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/async_probe/probe_stats.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_ASYNC_PROBE_PROBE_STATS_H_
#define WORKQUEUE_EXAMPLES_ASYNC_PROBE_PROBE_STATS_H_

#include <cstdint>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "examples/latency_histogram.h"
#include "workqueue/clock/clock.h"

namespace async_probe {

// The results of the probes so far.
struct ProbeCounts {
  int64_t in_flight = 0;
  int64_t healthy = 0;    // the answer was 200
  int64_t unhealthy = 0;  // the answer was another one, or there was an error
  int64_t cancelled = 0;  // there was no answer until the deadline
  int64_t endpoints = 0;  // endpoints with at least one answer
};

// ProbeStats
//
// Counts the results of probes.
//
// Thread-safe.
class ProbeStats {
 public:
  // The clock is not owned. It must outlive the object.
  explicit ProbeStats(workqueue::Clock* clock) : clock_(clock) {}

  ProbeStats(const ProbeStats&) = delete;
  ProbeStats& operator=(const ProbeStats&) = delete;

  // A probe begins. Returns the time, for `End()`.
  absl::Time Begin();

  // A probe of `endpoint` ends with `http_status`. `cancelled` says whether its
  // deadline has passed.
  void End(const std::string& endpoint, absl::Time begun_at, bool cancelled,
           const absl::StatusOr<int>& http_status);

  ProbeCounts counts() const;

  // The durations of the probes of healthy endpoints.
  const examples::LatencyHistogram& latency() const { return latency_; }

 private:
  workqueue::Clock* const clock_;
  examples::LatencyHistogram latency_;

  mutable std::mutex mu_;
  ProbeCounts counts_;                         // guarded by mu_
  absl::flat_hash_set<std::string> answered_;  // guarded by mu_
};

}  // namespace async_probe

#endif  // WORKQUEUE_EXAMPLES_ASYNC_PROBE_PROBE_STATS_H_
