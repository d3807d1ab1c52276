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
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prometheus/registry.h"
#include "test/docs/read_file.h"
#include "test/prometheus/exposition.h"
#include "workqueue/controller/controller.h"
#include "workqueue/metrics.h"
#include "workqueue/prometheus/prometheus_metrics_provider.h"

namespace {

using ::testing::IsSupersetOf;

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

  // The metrics of parked items.
  options.failures.max_failures = 1;

  // The metrics of a shared queue's server.
  const std::unique_ptr<workqueue::CounterMetric> errors =
      (*metrics)->NewEngineErrorsMetric("deployments");
  const std::unique_ptr<workqueue::CounterMetric> data_losses =
      (*metrics)->NewEngineDataLossesMetric("deployments");
  const std::unique_ptr<workqueue::CounterMetric> expired =
      (*metrics)->NewExpiredLeasesMetric("deployments");
  const std::unique_ptr<workqueue::SettableGaugeMetric> unreachable =
      (*metrics)->NewEngineUnreachableSecondsMetric("deployments");
  const std::unique_ptr<workqueue::SettableGaugeMetric> wrong_settings =
      (*metrics)->NewEngineWrongSettingsMetric("deployments");
  const std::unique_ptr<workqueue::SettableGaugeMetric> parked =
      (*metrics)->NewEngineParkedItemsMetric("deployments");
  const std::unique_ptr<workqueue::HistogramMetric> round_trips =
      (*metrics)->NewEngineRoundTripMetric("deployments");

  // The metric of an elector.
  const std::unique_ptr<workqueue::SettableGaugeMetric> leads =
      (*metrics)->NewLeaderMetric("deployments");

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

// The files that name metrics.
constexpr char kGuide[] = "docs/guide.md";
constexpr char kAlerts[] = "workqueue/prometheus/alerts.yaml";
constexpr char kAlertsTest[] = "workqueue/prometheus/alerts_test.yaml";
constexpr char kDashboard[] = "workqueue/prometheus/grafana_dashboard.json";

// Returns what the first group of `pattern` matches in a file.
std::set<std::string> Matches(const std::string& file,
                              const std::string& pattern) {
  const std::string text = ReadFile(file);
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end;
       ++it) {
    found.insert(it->str(1));
  }
  return found;
}

// Returns the metrics that a file names. The samples of a histogram have a
// suffix, which is left out.
std::set<std::string> MetricsIn(const std::string& file) {
  std::set<std::string> names;
  for (const std::string& name :
       Matches(file,
               // Not a setting of a build.
               "((workqueue|controller_runtime|leader_election_master)_[a-z_]+)"
               "(?![a-z_]*=true)")) {
    const std::string base(absl::StripSuffix(name, "_bucket"));
    const auto type = scraped.types.find(base);
    const bool is_histogram =
        type != scraped.types.end() && type->second == "histogram";
    names.insert(is_histogram ? base : name);
  }
  return names;
}

std::set<std::string> ScrapedMetrics() {
  std::set<std::string> names;
  for (const auto& [name, type] : scraped.types) names.insert(name);
  return names;
}

// An alert on a metric that does not exist never fires.
TEST(MetricsGuideTest, TheMetricsInTheFilesExist) {
  ASSERT_EQ(RunWithMetrics(), absl::OkStatus());
  for (const char* file : {kGuide, kAlerts, kAlertsTest}) {
    const std::set<std::string> names = MetricsIn(file);
    EXPECT_GE(names.size(), 4u) << file;
    EXPECT_THAT(ScrapedMetrics(), IsSupersetOf(names)) << file;
  }
}

TEST(MetricsGuideTest, TheDashboardShowsAllMetrics) {
  ASSERT_EQ(RunWithMetrics(), absl::OkStatus());
  EXPECT_EQ(MetricsIn(kDashboard), ScrapedMetrics());
}

TEST(MetricsGuideTest, TheGuideExplainsEachAlertAndEachHasAnExample) {
  const std::set<std::string> alerts = Matches(kAlerts, "alert: (\\w+)");
  EXPECT_GE(alerts.size(), 10u);
  EXPECT_EQ(
      Matches(kGuide,
              "\\| `((Workqueue|Controller|Election|SharedQueue)\\w+)` \\|"),
      alerts);
  EXPECT_EQ(Matches(kAlertsTest, "alertname=\"(\\w+)\""), alerts);
}

}  // namespace
