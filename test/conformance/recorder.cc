// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/conformance/recorder.h"

#include <memory>

#include "absl/strings/string_view.h"
#include "workqueue/metrics.h"

namespace conformance {
namespace {

class Gauge final : public workqueue::GaugeMetric {
 public:
  explicit Gauge(Recorder::Number* number) : number_(number) {}
  void Inc() override { ++*number_; }
  void Dec() override { --*number_; }

 private:
  Recorder::Number* const number_;
};

class Counter final : public workqueue::CounterMetric {
 public:
  explicit Counter(Recorder::Number* number) : number_(number) {}
  void Inc() override { ++*number_; }

 private:
  Recorder::Number* const number_;
};

class Histogram final : public workqueue::HistogramMetric {
 public:
  explicit Histogram(Recorder::Observations* observations)
      : observations_(observations) {}
  void Observe(double value) override {
    ++observations_->count;
    double sum = observations_->sum;
    while (!observations_->sum.compare_exchange_weak(sum, sum + value)) {
    }
  }

 private:
  Recorder::Observations* const observations_;
};

class SettableGauge final : public workqueue::SettableGaugeMetric {
 public:
  explicit SettableGauge(Recorder::Seconds* seconds) : seconds_(seconds) {}
  void Set(double value) override { *seconds_ = value; }

 private:
  Recorder::Seconds* const seconds_;
};

}  // namespace

std::unique_ptr<workqueue::GaugeMetric> Recorder::NewDepthMetric(
    absl::string_view) {
  return std::make_unique<Gauge>(&depth_);
}

std::unique_ptr<workqueue::CounterMetric> Recorder::NewAddsMetric(
    absl::string_view) {
  return std::make_unique<Counter>(&adds_);
}

std::unique_ptr<workqueue::HistogramMetric> Recorder::NewLatencyMetric(
    absl::string_view) {
  return std::make_unique<Histogram>(&latency_);
}

std::unique_ptr<workqueue::HistogramMetric> Recorder::NewWorkDurationMetric(
    absl::string_view) {
  return std::make_unique<Histogram>(&work_);
}

std::unique_ptr<workqueue::SettableGaugeMetric>
Recorder::NewUnfinishedWorkSecondsMetric(absl::string_view) {
  return std::make_unique<SettableGauge>(&unfinished_);
}

std::unique_ptr<workqueue::SettableGaugeMetric>
Recorder::NewLongestRunningProcessorSecondsMetric(absl::string_view) {
  return std::make_unique<SettableGauge>(&longest_);
}

std::unique_ptr<workqueue::CounterMetric> Recorder::NewRetriesMetric(
    absl::string_view) {
  return std::make_unique<Counter>(&retries_);
}

}  // namespace conformance
