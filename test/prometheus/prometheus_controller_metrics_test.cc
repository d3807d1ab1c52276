// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The metrics of controllers that a `PrometheusMetricsProvider` keeps.

#include <cstddef>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "prometheus/registry.h"
#include "test/controller/controller_fixture.h"
#include "test/prometheus/exposition.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/interfaces.h"
#include "workqueue/prometheus/prometheus_metrics_provider.h"
#include "workqueue/testing/thread.h"

namespace workqueue::prometheus_controller_metrics_test {
namespace {

using Samples = std::map<std::string, double>;

// Returns the time series of `controller` for the metric `name`, which is given
// without its prefix.
std::string Series(absl::string_view name,
                   absl::string_view controller = "test") {
  return absl::StrCat("controller_runtime_", name, "{controller=\"", controller,
                      "\"}");
}

// Returns the time series of the reconciliations with the result `result`.
std::string TotalSeries(absl::string_view result) {
  return absl::StrCat(
      "controller_runtime_reconcile_total{controller=\"test\",result=\"",
      result, "\"}");
}

// Returns the time series of the queue's metric `name`.
std::string QueueSeries(absl::string_view name) {
  return absl::StrCat("workqueue_", name,
                      "{controller=\"test\",name=\"test\"}");
}

constexpr char kRetries[] =
    "workqueue_controller_reconcile_retries_total{controller=\"test\"}";
constexpr char kActiveRetries[] =
    "workqueue_controller_active_retries{controller=\"test\"}";
constexpr char kRunningSources[] =
    "workqueue_controller_running_sources{controller=\"test\"}";
constexpr char kUnhealthySources[] =
    "workqueue_controller_unhealthy_sources{controller=\"test\"}";
constexpr char kParkedItems[] =
    "workqueue_controller_parked_items{controller=\"test\"}";
constexpr char kParkedTotal[] =
    "workqueue_controller_parked_total{controller=\"test\"}";

// Returns the samples of the histogram after observing the durations
// `observed`.
Samples Durations(const std::vector<double>& observed) {
  // controller-runtime shows the same bounds.
  const std::vector<std::pair<std::string, double>> bounds = {
      {"0.005", 0.005}, {"0.01", 0.01}, {"0.025", 0.025}, {"0.05", 0.05},
      {"0.1", 0.1},     {"0.15", 0.15}, {"0.2", 0.2},     {"0.25", 0.25},
      {"0.3", 0.3},     {"0.35", 0.35}, {"0.4", 0.4},     {"0.45", 0.45},
      {"0.5", 0.5},     {"0.6", 0.6},   {"0.7", 0.7},     {"0.8", 0.8},
      {"0.9", 0.9},     {"1", 1},       {"1.25", 1.25},   {"1.5", 1.5},
      {"1.75", 1.75},   {"2", 2},       {"2.5", 2.5},     {"3", 3},
      {"3.5", 3.5},     {"4", 4},       {"4.5", 4.5},     {"5", 5},
      {"6", 6},         {"7", 7},       {"8", 8},         {"9", 9},
      {"10", 10},       {"15", 15},     {"20", 20},       {"25", 25},
      {"30", 30},       {"40", 40},     {"50", 50},       {"60", 60}};
  const std::string name = "controller_runtime_reconcile_time_seconds";
  Samples samples;
  double sum = 0;
  for (double duration : observed) sum += duration;
  for (const auto& [le, bound] : bounds) {
    double& count = samples[absl::StrCat(
        name, "_bucket{controller=\"test\",le=\"", le, "\"}")];
    for (double duration : observed) count += duration <= bound ? 1 : 0;
  }
  samples[absl::StrCat(name, "_bucket{controller=\"test\",le=\"+Inf\"}")] =
      static_cast<double>(observed.size());
  samples[Series("reconcile_time_seconds_sum")] = sum;
  samples[Series("reconcile_time_seconds_count")] =
      static_cast<double>(observed.size());
  return samples;
}

class PrometheusControllerMetricsTest : public ControllerFixture {
 protected:
  // Returns a started controller. It and its queue report to the registry.
  std::unique_ptr<Controller<std::string>> Reporting(
      ReconcileFunction<std::string> reconcile, size_t workers = 1) {
    ControllerOptions<std::string> options = Options(std::move(reconcile));
    options.workers = workers;
    options.reconcile_timeout = absl::Seconds(10);
    options.metrics_provider = provider_.get();
    options.queue_metrics_provider = provider_.get();
    return Started(std::move(options));
  }

  double Value(const std::string& series) const {
    return Scrape(*registry_).samples.at(series);
  }

  const std::shared_ptr<prometheus::Registry> registry_ =
      std::make_shared<prometheus::Registry>();
  std::unique_ptr<PrometheusMetricsProvider> provider_ =
      PrometheusMetricsProvider::Create(registry_).value();
};

// -----------------------------------------------------------------------------
// What a scrape reads
// -----------------------------------------------------------------------------

TEST_P(PrometheusControllerMetricsTest, ShowsEveryMetricOfAControllerAtZero) {
  const auto controller = Reporting(Succeed, /*workers=*/3);
  Samples expected = {
      {TotalSeries("success"), 0},
      {TotalSeries("error"), 0},
      {TotalSeries("requeue_after"), 0},
      {Series("reconcile_errors_total"), 0},
      {Series("terminal_reconcile_errors_total"), 0},
      {Series("reconcile_panics_total"), 0},
      {Series("reconcile_timeouts_total"), 0},
      {Series("max_concurrent_reconciles"), 3},
      {Series("active_workers"), 0},
  };
  expected.merge(Durations({}));
  EXPECT_EQ(Scrape(*registry_).SamplesOf("controller_runtime_"), expected);
  EXPECT_EQ(Scrape(*registry_).SamplesOf("workqueue_controller_"),
            (Samples{{kRetries, 0},
                     {kActiveRetries, 0},
                     {kRunningSources, 0},
                     {kUnhealthySources, 0}}));
}

TEST_P(PrometheusControllerMetricsTest, ShowsWhatAControllerAndItsQueueDo) {
  const auto controller =
      Reporting([this](const std::string& item, const ReconcileContext& context)
                    -> absl::StatusOr<ReconcileResult> {
        if (item == "quick") clock_.Step(absl::Milliseconds(250));
        if (item == "slow") clock_.Step(absl::Seconds(10));
        if (item == "never") return TerminalError(absl::AbortedError("never"));
        if (context.failures == 0) {
          if (item == "fails") return absl::UnavailableError("later");
          if (item == "throws") throw std::runtime_error("later");
        }
        ReconcileResult result;
        if (item == "again") result.requeue_after = absl::Hours(1);
        return result;
      });
  controller->queue().AddAll({"quick", "slow"});
  controller->AwaitIdle();
  controller->queue().AddAll({"never", "fails", "throws", "again"});
  controller->AwaitIdle();
  Step(*controller, absl::Milliseconds(500));

  const Exposition exposition = Scrape(*registry_);
  Samples expected = {
      {TotalSeries("success"), 4},
      {TotalSeries("error"), 3},
      {TotalSeries("requeue_after"), 1},
      {Series("reconcile_errors_total"), 3},
      {Series("terminal_reconcile_errors_total"), 1},
      {Series("reconcile_panics_total"), 1},
      {Series("reconcile_timeouts_total"), 1},
      {Series("max_concurrent_reconciles"), 1},
      {Series("active_workers"), 0},
  };
  expected.merge(Durations({0.25, 10, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(exposition.SamplesOf("controller_runtime_"), expected);

  const Samples& samples = exposition.samples;
  EXPECT_EQ(samples.at(kRetries), 2);
  EXPECT_EQ(samples.at(kActiveRetries), 0);
  EXPECT_EQ(samples.at("workqueue_depth{controller=\"test\",name=\"test\","
                       "priority=\"0\"}"),
            0);
  EXPECT_EQ(samples.at(QueueSeries("adds_total")), 8);
  EXPECT_EQ(samples.at(QueueSeries("retries_total")), 3);
  EXPECT_EQ(samples.at(QueueSeries("queue_duration_seconds_sum")), 0.25);
  EXPECT_EQ(samples.at(QueueSeries("queue_duration_seconds_count")), 8);
  EXPECT_EQ(samples.at(QueueSeries("work_duration_seconds_sum")), 10.25);
  EXPECT_EQ(samples.at(QueueSeries("work_duration_seconds_count")), 8);
  EXPECT_EQ(samples.at(QueueSeries("unfinished_work_seconds")), 0);
  EXPECT_EQ(samples.at(QueueSeries("longest_running_processor_seconds")), 0);
}

TEST_P(PrometheusControllerMetricsTest, ShowsActiveWorkers) {
  const auto controller = Reporting(
      [this](const std::string&,
             const ReconcileContext&) -> absl::StatusOr<ReconcileResult> {
        EXPECT_EQ(Value(Series("active_workers")), 1);
        return ReconcileResult();
      });
  controller->queue().Add("a");
  controller->AwaitIdle();
  EXPECT_EQ(Noted().size(), 1u);
  EXPECT_EQ(Value(Series("active_workers")), 0);
}

TEST_P(PrometheusControllerMetricsTest, ShowsParkedItems) {
  ControllerOptions<std::string> options =
      Options([](const std::string&,
                 const ReconcileContext&) -> absl::StatusOr<ReconcileResult> {
        return absl::UnavailableError("down");
      });
  options.metrics_provider = provider_.get();
  options.failures.max_failures = 1;
  auto controller = Started(std::move(options));
  EXPECT_EQ(Value(kParkedItems), 0);
  EXPECT_EQ(Value(kParkedTotal), 0);
  for (const char* item : {"a", "b", "a"}) {
    controller->queue().Add(item);
    controller->AwaitIdle();
  }
  EXPECT_EQ(Value(kParkedItems), 2);
  EXPECT_EQ(Value(kParkedTotal), 3);
  controller.reset();
  EXPECT_EQ(Value(kParkedItems), 0);
  EXPECT_EQ(Value(kParkedTotal), 3);
}

TEST_P(PrometheusControllerMetricsTest, ShowsTypesAndHelp) {
  ControllerOptions<std::string> options = Options(Succeed);
  options.metrics_provider = provider_.get();
  options.failures.max_failures = 1;
  const auto controller = Started(std::move(options));
  const Exposition exposition = Scrape(*registry_);
  const std::map<std::string, std::pair<std::string, std::string>> expected = {
      {"controller_runtime_reconcile_total",
       {"counter", "Reconciliations by result."}},
      {"controller_runtime_reconcile_errors_total",
       {"counter", "Reconciliations that failed for any reason."}},
      {"controller_runtime_terminal_reconcile_errors_total",
       {"counter", "Reconciliations that failed and are not retried."}},
      {"controller_runtime_reconcile_panics_total",
       {"counter", "Reconciliations that threw an exception."}},
      {"controller_runtime_reconcile_timeouts_total",
       {"counter", "Reconciliations that exceeded their deadline."}},
      {"controller_runtime_reconcile_time_seconds",
       {"histogram", "Seconds that reconciling an item took."}},
      {"controller_runtime_max_concurrent_reconciles",
       {"gauge", "Number of workers."}},
      {"controller_runtime_active_workers",
       {"gauge", "Number of workers that are reconciling an item."}},
      {"workqueue_controller_reconcile_retries_total",
       {"counter",
        "Reconciliations of items that were added because they had failed."}},
      {"workqueue_controller_active_retries",
       {"gauge",
        "Number of workers that are reconciling an item that had failed."}},
      {"workqueue_controller_running_sources",
       {"gauge", "Number of sources of items that run."}},
      {"workqueue_controller_unhealthy_sources",
       {"gauge", "Number of sources of items that have an error."}},
      {"workqueue_controller_parked_items",
       {"gauge", "Number of items that are parked after failures."}},
      {"workqueue_controller_parked_total",
       {"counter", "Items that were parked after failures."}},
  };
  for (const auto& [name, type_and_help] : expected) {
    EXPECT_EQ(exposition.types.at(name), type_and_help.first) << name;
    EXPECT_EQ(exposition.helps.at(name), type_and_help.second) << name;
  }
}

// -----------------------------------------------------------------------------
// Controllers of one name, and destroyed controllers
// -----------------------------------------------------------------------------

TEST_P(PrometheusControllerMetricsTest, TellsControllersApart) {
  const auto pods = provider_->NewReconcileErrorsMetric("pods");
  const auto nodes = provider_->NewReconcileErrorsMetric("nodes");
  pods->Inc();
  nodes->Inc();
  nodes->Inc();
  EXPECT_EQ(Scrape(*registry_).samples,
            (Samples{{Series("reconcile_errors_total", "pods"), 1},
                     {Series("reconcile_errors_total", "nodes"), 2}}));
}

TEST_P(PrometheusControllerMetricsTest, AddsUpControllersOfOneName) {
  const auto one = Reporting(Succeed, /*workers=*/2);
  auto other = Reporting(Succeed, /*workers=*/3);
  one->queue().Add("a");
  one->AwaitIdle();
  other->queue().Add("a");
  other->AwaitIdle();
  EXPECT_EQ(Value(TotalSeries("success")), 2);
  EXPECT_EQ(Value(Series("reconcile_time_seconds_count")), 2);
  EXPECT_EQ(Value(Series("max_concurrent_reconciles")), 5);

  other.reset();
  EXPECT_EQ(Value(TotalSeries("success")), 2);
  EXPECT_EQ(Value(Series("reconcile_time_seconds_count")), 2);
  EXPECT_EQ(Value(Series("max_concurrent_reconciles")), 2);
}

TEST_P(PrometheusControllerMetricsTest, AddsUpActiveWorkers) {
  const auto one = provider_->NewActiveWorkersMetric("test");
  auto other = provider_->NewActiveWorkersMetric("test");
  one->Inc();
  other->Inc();
  EXPECT_EQ(Value(Series("active_workers")), 2);
  other.reset();
  EXPECT_EQ(Value(Series("active_workers")), 1);
}

TEST_P(PrometheusControllerMetricsTest, AddsUpSources) {
  const auto one = provider_->NewRunningSourcesMetric("test");
  auto other = provider_->NewRunningSourcesMetric("test");
  one->Inc();
  other->Inc();
  EXPECT_EQ(Value(kRunningSources), 2);
  auto unhealthy = provider_->NewUnhealthySourcesMetric("test");
  unhealthy->Inc();
  EXPECT_EQ(Value(kUnhealthySources), 1);
  other.reset();
  unhealthy.reset();
  EXPECT_EQ(Value(kRunningSources), 1);
  EXPECT_EQ(Value(kUnhealthySources), 0);
}

TEST_P(PrometheusControllerMetricsTest, TheNextControllerOfANameCountsOn) {
  for (int controllers = 1; controllers <= 3; ++controllers) {
    {
      const auto controller = Reporting(Succeed);
      controller->queue().Add("a");
      controller->AwaitIdle();
      EXPECT_EQ(Value(Series("max_concurrent_reconciles")), 1);
    }
    EXPECT_EQ(Value(TotalSeries("success")), controllers);
    EXPECT_EQ(Value(Series("max_concurrent_reconciles")), 0);
  }
}

TEST_P(PrometheusControllerMetricsTest, TheNextProviderCountsOn) {
  provider_->NewReconcileErrorsMetric("test")->Inc();
  provider_.reset();
  EXPECT_EQ(Value(Series("reconcile_errors_total")), 1);
  provider_ = PrometheusMetricsProvider::Create(registry_).value();
  provider_->NewReconcileErrorsMetric("test")->Inc();
  EXPECT_EQ(Value(Series("reconcile_errors_total")), 2);
}

TEST_P(PrometheusControllerMetricsTest, IsThreadSafe) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 500;
  std::vector<Thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      for (int round = 0; round < kRounds; ++round) {
        const auto success =
            provider_->NewReconcileTotalMetric("test", "success");
        const auto time = provider_->NewReconcileTimeMetric("test");
        const auto workers =
            provider_->NewMaxConcurrentReconcilesMetric("test");
        const auto active = provider_->NewActiveWorkersMetric("test");
        success->Inc();
        time->Observe(round);
        workers->Set(round);
        active->Inc();
        if (round % 100 == 0) Scrape(*registry_);
      }
    });
  }
  for (Thread& thread : threads) thread.join();
  EXPECT_EQ(Value(TotalSeries("success")), kThreads * kRounds);
  EXPECT_EQ(Value(Series("reconcile_time_seconds_count")), kThreads * kRounds);
  EXPECT_EQ(Value(Series("max_concurrent_reconciles")), 0);
  EXPECT_EQ(Value(Series("active_workers")), 0);
}

WORKQUEUE_INSTANTIATE(PrometheusControllerMetricsTest);

}  // namespace
}  // namespace workqueue::prometheus_controller_metrics_test
