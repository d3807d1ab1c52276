// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Does for metrics what guide_test.cc does for queues.

#include <memory>
#include <regex>  // NOLINT(build/c++11)
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "prometheus/registry.h"
#include "test/docs/read_file.h"
#include "test/prometheus/exposition.h"
#include "workqueue/controller/controller.h"
#include "workqueue/metrics.h"
#include "workqueue/prometheus/prometheus_metrics_provider.h"

namespace {

using Controller = workqueue::Controller<std::string>;

// The metrics that Prometheus reads from a controller that has reconciled
// items.
workqueue::Exposition scraped;

absl::Status RunWithMetrics() {
  workqueue::ControllerOptions<std::string> options;
  options.name = "deployments";
  options.reconcile = [](const std::string&) { return absl::OkStatus(); };

  auto registry = std::make_shared<prometheus::Registry>();
  auto metrics = workqueue::PrometheusMetricsProvider::Create(registry);
  if (!metrics.ok()) return metrics.status();

  options.metrics_provider = metrics->get();
  options.queue_metrics_provider = metrics->get();

  // The metrics of a shared queue's server.
  const std::unique_ptr<workqueue::CounterMetric> errors =
      (*metrics)->NewEngineErrorsMetric("deployments");
  const std::unique_ptr<workqueue::CounterMetric> expired =
      (*metrics)->NewExpiredLeasesMetric("deployments");
  const std::unique_ptr<workqueue::HistogramMetric> round_trips =
      (*metrics)->NewEngineRoundTripMetric("deployments");

  auto controller = Controller::Create(std::move(options));
  if (!controller.ok()) return controller.status();
  absl::Status started = (*controller)->Start();
  if (!started.ok()) return started;
  (*controller)->queue().Add("default/web");
  (*controller)->Stop();
  scraped = workqueue::Scrape(*registry);
  return absl::OkStatus();
}

TEST(MetricsGuideTest, AControllerIsMeasured) {
  ASSERT_EQ(RunWithMetrics(), absl::OkStatus());
  EXPECT_EQ(scraped.samples.at("controller_runtime_reconcile_total{"
                               "controller=\"deployments\","
                               "result=\"success\"}"),
            1);
}

// An alert on a metric that does not exist never fires.
TEST(MetricsGuideTest, TheMetricsInTheGuideExist) {
  ASSERT_EQ(RunWithMetrics(), absl::OkStatus());
  const std::string guide = ReadFile("docs/guide.md");
  const std::regex metric("(workqueue|controller_runtime)_[a-z_]+");
  std::set<std::string> names;
  for (std::sregex_iterator it(guide.begin(), guide.end(), metric), end;
       it != end; ++it) {
    names.insert(it->str());
  }
  // The samples of a histogram have a suffix.
  names.erase("workqueue_queue_duration_seconds_bucket");
  names.erase("workqueue_engine_round_trip_seconds_bucket");
  EXPECT_GE(names.size(), 9u);
  for (const std::string& name : names) {
    EXPECT_EQ(scraped.types.count(name), 1u) << name;
  }
  EXPECT_EQ(scraped.types.at("workqueue_queue_duration_seconds"), "histogram");
}

}  // namespace
