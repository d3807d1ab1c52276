// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/prometheus/prometheus_metrics_provider.h"

#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/registry.h"
#include "test/prometheus/exposition.h"

namespace workqueue::prometheus_metrics_provider_test {
namespace {

using Samples = std::map<std::string, double>;

absl::Status NameIsTaken(const char* name) {
  return absl::InvalidArgumentError(
      absl::StrCat("registry must not have other metrics of the name ", name));
}

TEST(PrometheusMetricsProviderTest, RefusesNull) {
  EXPECT_EQ(PrometheusMetricsProvider::Create(nullptr).status(),
            absl::InvalidArgumentError("registry is null; it must be given"));
}

TEST(PrometheusMetricsProviderTest, RefusesOtherMetricsOfTheNames) {
  for (const char* gauge :
       {"workqueue_depth", "controller_runtime_active_workers"}) {
    const auto registry = std::make_shared<prometheus::Registry>();
    prometheus::BuildCounter().Name(gauge).Register(*registry);
    EXPECT_EQ(PrometheusMetricsProvider::Create(registry).status(),
              NameIsTaken(gauge));
  }
  for (const char* counter :
       {"workqueue_retries_total", "workqueue_expired_leases_total",
        "controller_runtime_reconcile_total"}) {
    const auto registry = std::make_shared<prometheus::Registry>();
    prometheus::BuildGauge().Name(counter).Register(*registry);
    EXPECT_EQ(PrometheusMetricsProvider::Create(registry).status(),
              NameIsTaken(counter));
  }
}

TEST(PrometheusMetricsProviderTest, LeavesOtherMetricsAlone) {
  const auto registry = std::make_shared<prometheus::Registry>();
  prometheus::BuildGauge().Name("mine").Register(*registry).Add({}).Set(7);
  EXPECT_TRUE(PrometheusMetricsProvider::Create(registry).ok());
  EXPECT_EQ(Scrape(*registry).samples, (Samples{{"mine", 7}}));
}

// A program without controllers has no empty metrics of controllers.
TEST(PrometheusMetricsProviderTest, ShowsNothingBeforeTheFirstMetric) {
  const auto registry = std::make_shared<prometheus::Registry>();
  const auto provider = PrometheusMetricsProvider::Create(registry).value();
  EXPECT_TRUE(Scrape(*registry).types.empty());
  const auto adds = provider->NewAddsMetric("pods");
  EXPECT_EQ(Scrape(*registry).types, (std::map<std::string, std::string>{
                                         {"workqueue_adds_total", "counter"}}));
}

TEST(PrometheusMetricsProviderTest, ShowsWhetherAnElectorLeads) {
  const auto registry = std::make_shared<prometheus::Registry>();
  const auto provider = PrometheusMetricsProvider::Create(registry).value();
  const std::string series = "leader_election_master_status{name=\"pods\"}";
  const auto metric = provider->NewLeaderMetric("pods");
  auto other = provider->NewLeaderMetric("pods");
  metric->Set(0);
  EXPECT_EQ(Scrape(*registry).samples, (Samples{{series, 0}}));
  other->Set(1);
  EXPECT_EQ(Scrape(*registry).samples, (Samples{{series, 1}}));
  metric->Set(1);
  other->Set(0);
  EXPECT_EQ(Scrape(*registry).samples, (Samples{{series, 1}}));
  metric->Set(0);
  other.reset();
  const Exposition exposition = Scrape(*registry);
  EXPECT_EQ(exposition.samples, (Samples{{series, 0}}));
  EXPECT_EQ(exposition.types.at("leader_election_master_status"), "gauge");
}

// A page that is not UTF-8, or has a NUL, is refused as a whole.
TEST(PrometheusMetricsProviderTest, AllLabelsAreUtf8WithoutNul) {
  const auto registry = std::make_shared<prometheus::Registry>();
  const auto provider = PrometheusMetricsProvider::Create(registry).value();
  const std::string name("p\xffrs \xc3\xa9\xed\xa0\x80\0\n", 12);
  provider->NewAddsMetric(name)->Inc();
  const auto depth = provider->NewDepthMetricWithPriority(name);
  depth->Inc(1);
  provider->NewReconcileTotalMetric(name, name)->Inc();
  provider->NewReconcilePanicsMetric(name)->Inc();
  provider->NewLeaderMetric(name)->Set(1);
  size_t labels = 0;
  for (const prometheus::MetricFamily& family : registry->Collect()) {
    for (const prometheus::ClientMetric& metric : family.metric) {
      for (const prometheus::ClientMetric::Label& label : metric.label) {
        if (label.name == "priority") continue;
        EXPECT_EQ(label.value, "p\uFFFDrs \u00e9\uFFFD\uFFFD\uFFFD\uFFFD\n");
        ++labels;
      }
    }
  }
  EXPECT_EQ(labels, 8u);
}

}  // namespace
}  // namespace workqueue::prometheus_metrics_provider_test
