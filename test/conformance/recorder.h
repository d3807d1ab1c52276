// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_CONFORMANCE_RECORDER_H_
#define WORKQUEUE_TEST_CONFORMANCE_RECORDER_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "workqueue/metrics.h"

namespace conformance {

// Recorder
//
// This class records the metrics of one queue. All values are zero at first.
//
// Thread-safe. While another thread observes, a histogram's count and sum may
// not match.
class Recorder final : public workqueue::MetricsProvider {
 public:
  using Number = std::atomic<int64_t>;
  using Seconds = std::atomic<double>;

  struct Observations {
    Number count{0};
    Seconds sum{0};
  };

  int64_t depth() const { return depth_; }
  int64_t adds() const { return adds_; }
  int64_t retries() const { return retries_; }
  const Observations& latency() const { return latency_; }
  const Observations& work() const { return work_; }
  double unfinished() const { return unfinished_; }
  double longest() const { return longest_; }

  std::unique_ptr<workqueue::GaugeMetric> NewDepthMetric(
      absl::string_view name) override;
  std::unique_ptr<workqueue::CounterMetric> NewAddsMetric(
      absl::string_view name) override;
  std::unique_ptr<workqueue::HistogramMetric> NewLatencyMetric(
      absl::string_view name) override;
  std::unique_ptr<workqueue::HistogramMetric> NewWorkDurationMetric(
      absl::string_view name) override;
  std::unique_ptr<workqueue::SettableGaugeMetric>
  NewUnfinishedWorkSecondsMetric(absl::string_view name) override;
  std::unique_ptr<workqueue::SettableGaugeMetric>
  NewLongestRunningProcessorSecondsMetric(absl::string_view name) override;
  std::unique_ptr<workqueue::CounterMetric> NewRetriesMetric(
      absl::string_view name) override;

 private:
  Number depth_{0};
  Number adds_{0};
  Number retries_{0};
  Observations latency_;
  Observations work_;
  Seconds unfinished_{0};
  Seconds longest_{0};
};

}  // namespace conformance

#endif  // WORKQUEUE_TEST_CONFORMANCE_RECORDER_H_
