// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/prometheus/prometheus_metrics_provider.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/labels.h"
#include "prometheus/registry.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/printable.h"
#include "workqueue/metrics.h"
#include "workqueue/prometheus/internal/gauges.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {
namespace {

using Counters = prometheus::Family<prometheus::Counter>;
using Gauges = prometheus::Family<prometheus::Gauge>;
using Histograms = prometheus::Family<prometheus::Histogram>;
using internal::MutexLock;

// Returns the value of a label. Prometheus refuses a page with a NUL.
std::string ToLabel(absl::string_view text) {
  return absl::StrReplaceAll(internal::ToUtf8(text),
                             {{absl::string_view("\0", 1), "\uFFFD"}});
}

prometheus::Labels QueueLabels(absl::string_view name) {
  const std::string label = ToLabel(name);
  return {{"name", label}, {"controller", label}};
}

prometheus::Labels ControllerLabels(absl::string_view controller) {
  return {{"controller", ToLabel(controller)}};
}

// Returns the bounds of the buckets of queues. Each bound is the one before,
// multiplied by 10, as in Go. The rounding errors are the same as in Go, too: a
// query may name a bound by the label `le`, which shows them.
prometheus::Histogram::BucketBoundaries QueueBuckets() {
  prometheus::Histogram::BucketBoundaries bounds(12);
  double bound = 1e-8;
  for (double& b : bounds) {
    b = bound;
    bound *= 10;
  }
  return bounds;
}

// Returns the bounds of the buckets of controllers.
prometheus::Histogram::BucketBoundaries ReconcileTimeBuckets() {
  return {0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3,  0.35,
          0.4,   0.45, 0.5,   0.6,  0.7, 0.8,  0.9, 1,    1.25, 1.5,
          1.75,  2,    2.5,   3,    3.5, 4,    4.5, 5,    6,    7,
          8,     9,    10,    15,   20,  25,   30,  40,   50,   60};
}

// These forward their calls to a metric of prometheus-cpp, which must outlive
// them.
class PrometheusCounter final : public CounterMetric {
 public:
  explicit PrometheusCounter(prometheus::Counter* counter)
      : counter_(counter) {}
  void Inc() override { counter_->Increment(); }

 private:
  prometheus::Counter* const counter_;
};

class PrometheusHistogram final : public HistogramMetric {
 public:
  explicit PrometheusHistogram(prometheus::Histogram* histogram)
      : histogram_(histogram) {}
  void Observe(double value) override { histogram_->Observe(value); }

 private:
  prometheus::Histogram* const histogram_;
};

// The provider of a registry.
class Provider final : public PrometheusMetricsProvider {
 public:
  // Finds the metric families in `registry`, and creates the missing ones.
  explicit Provider(std::shared_ptr<prometheus::Registry> registry)
      : registry_(std::move(registry)) {}

  // The first error of the constructor. After it, the families are null.
  const absl::Status& status() const { return status_; }

  // MetricsProvider:
  std::unique_ptr<GaugeMetric> NewDepthMetric(absl::string_view name) override {
    return std::make_unique<internal::GaugeShare>(
        combined_gauges_.Keep(depth_, QueueLabels(name)));
  }
  std::unique_ptr<CounterMetric> NewAddsMetric(
      absl::string_view name) override {
    return NewCounter(adds_, QueueLabels(name));
  }
  std::unique_ptr<HistogramMetric> NewLatencyMetric(
      absl::string_view name) override {
    return NewHistogram(latency_, QueueLabels(name), QueueBuckets());
  }
  std::unique_ptr<HistogramMetric> NewWorkDurationMetric(
      absl::string_view name) override {
    return NewHistogram(work_duration_, QueueLabels(name), QueueBuckets());
  }
  std::unique_ptr<SettableGaugeMetric> NewUnfinishedWorkSecondsMetric(
      absl::string_view name) override {
    return NewSum(unfinished_work_, QueueLabels(name));
  }
  std::unique_ptr<SettableGaugeMetric> NewLongestRunningProcessorSecondsMetric(
      absl::string_view name) override {
    return NewMax(longest_running_processor_, QueueLabels(name));
  }
  std::unique_ptr<SettableGaugeMetric> NewOldestQueuedSecondsMetric(
      absl::string_view name) override {
    return NewPassingMax(oldest_queued_, QueueLabels(name));
  }
  std::unique_ptr<SettableGaugeMetric> NewWaitingItemsMetric(
      absl::string_view name) override {
    return NewSum(waiting_items_, QueueLabels(name));
  }
  std::unique_ptr<SettableGaugeMetric> NewFailingItemsMetric(
      absl::string_view name) override {
    return NewSum(failing_items_, QueueLabels(name));
  }
  std::unique_ptr<PriorityGaugeMetric> NewDepthMetricWithPriority(
      absl::string_view name) override {
    MutexLock lock(&mu_);
    return priority_depth_gauges_
        .try_emplace(ToLabel(name), depth_, QueueLabels(name))
        .first->second.NewMetric();
  }
  std::unique_ptr<CounterMetric> NewRetriesMetric(
      absl::string_view name) override {
    return NewCounter(retries_, QueueLabels(name));
  }
  std::unique_ptr<HistogramMetric> NewEngineRoundTripMetric(
      absl::string_view name) override {
    return NewHistogram(engine_round_trip_, QueueLabels(name), QueueBuckets());
  }
  std::unique_ptr<CounterMetric> NewEngineErrorsMetric(
      absl::string_view name) override {
    return NewCounter(engine_errors_, QueueLabels(name));
  }
  std::unique_ptr<SettableGaugeMetric> NewEngineUnreachableSecondsMetric(
      absl::string_view name) override {
    return NewPassingMax(engine_unreachable_, QueueLabels(name));
  }
  std::unique_ptr<SettableGaugeMetric> NewEngineWrongSettingsMetric(
      absl::string_view name) override {
    return NewPassingMax(engine_wrong_settings_, QueueLabels(name));
  }
  std::unique_ptr<SettableGaugeMetric> NewEngineParkedItemsMetric(
      absl::string_view name) override {
    return NewPassingMax(engine_parked_, QueueLabels(name));
  }
  std::unique_ptr<SettableGaugeMetric> NewEngineDepthMetric(
      absl::string_view name) override {
    return NewPassingMax(depth_, QueueLabels(name));
  }
  std::unique_ptr<SettableGaugeMetric> NewEngineWaitingItemsMetric(
      absl::string_view name) override {
    return NewPassingMax(waiting_items_, QueueLabels(name));
  }
  std::unique_ptr<SettableGaugeMetric> NewEngineFailingItemsMetric(
      absl::string_view name) override {
    return NewPassingMax(failing_items_, QueueLabels(name));
  }
  std::unique_ptr<CounterMetric> NewEngineDataLossesMetric(
      absl::string_view name) override {
    return NewCounter(engine_data_losses_, QueueLabels(name));
  }
  std::unique_ptr<CounterMetric> NewExpiredLeasesMetric(
      absl::string_view name) override {
    return NewCounter(expired_leases_, QueueLabels(name));
  }

  // ControllerMetricsProvider:
  std::unique_ptr<CounterMetric> NewReconcileTotalMetric(
      absl::string_view controller, absl::string_view result) override {
    prometheus::Labels labels = ControllerLabels(controller);
    labels.emplace("result", ToLabel(result));
    return NewCounter(reconcile_total_, labels);
  }
  std::unique_ptr<CounterMetric> NewReconcileErrorsMetric(
      absl::string_view controller) override {
    return NewCounter(reconcile_errors_, ControllerLabels(controller));
  }
  std::unique_ptr<CounterMetric> NewTerminalReconcileErrorsMetric(
      absl::string_view controller) override {
    return NewCounter(terminal_reconcile_errors_, ControllerLabels(controller));
  }
  std::unique_ptr<CounterMetric> NewReconcilePanicsMetric(
      absl::string_view controller) override {
    return NewCounter(reconcile_panics_, ControllerLabels(controller));
  }
  std::unique_ptr<CounterMetric> NewReconcileTimeoutsMetric(
      absl::string_view controller) override {
    return NewCounter(reconcile_timeouts_, ControllerLabels(controller));
  }
  std::unique_ptr<HistogramMetric> NewReconcileTimeMetric(
      absl::string_view controller) override {
    return NewHistogram(reconcile_time_, ControllerLabels(controller),
                        ReconcileTimeBuckets());
  }
  std::unique_ptr<SettableGaugeMetric> NewMaxConcurrentReconcilesMetric(
      absl::string_view controller) override {
    return NewSum(max_concurrent_reconciles_, ControllerLabels(controller));
  }
  std::unique_ptr<GaugeMetric> NewActiveWorkersMetric(
      absl::string_view controller) override {
    return NewShare(active_workers_, ControllerLabels(controller));
  }
  std::unique_ptr<CounterMetric> NewReconcileRetriesMetric(
      absl::string_view controller) override {
    return NewCounter(reconcile_retries_, ControllerLabels(controller));
  }
  std::unique_ptr<GaugeMetric> NewActiveRetriesMetric(
      absl::string_view controller) override {
    return NewShare(active_retries_, ControllerLabels(controller));
  }
  std::unique_ptr<GaugeMetric> NewRunningSourcesMetric(
      absl::string_view controller) override {
    return NewShare(running_sources_, ControllerLabels(controller));
  }
  std::unique_ptr<GaugeMetric> NewUnhealthySourcesMetric(
      absl::string_view controller) override {
    return NewShare(unhealthy_sources_, ControllerLabels(controller));
  }
  std::unique_ptr<GaugeMetric> NewParkedItemsMetric(
      absl::string_view controller) override {
    return NewShare(parked_items_, ControllerLabels(controller));
  }
  std::unique_ptr<CounterMetric> NewParkedTotalMetric(
      absl::string_view controller) override {
    return NewCounter(parked_total_, ControllerLabels(controller));
  }

  // LeaderElectionMetricsProvider:
  std::unique_ptr<SettableGaugeMetric> NewLeaderMetric(
      absl::string_view name) override {
    return NewMax(master_status_, {{"name", ToLabel(name)}});
  }

 private:
  // Each returns the family named `name`, or null after an error.
  Counters* AddCounter(const char* name, const char* help) {
    return Add<prometheus::Counter>(prometheus::BuildCounter(), name, help);
  }
  Gauges* AddGauge(const char* name, const char* help) {
    return Add<prometheus::Gauge>(prometheus::BuildGauge(), name, help);
  }
  Histograms* AddHistogram(const char* name, const char* help) {
    return Add<prometheus::Histogram>(prometheus::BuildHistogram(), name, help);
  }
  template <typename Metric, typename Builder>
  prometheus::Family<Metric>* Add(Builder builder, const char* name,
                                  const char* help) {
    if (!status_.ok()) return nullptr;
    prometheus::Family<Metric>* family = nullptr;
    if (!internal::TryCall([&] {
          family = &builder.Name(name).Help(help).Register(*registry_);
        })) {
      status_ = absl::InvalidArgumentError(absl::StrCat(
          "registry must not have other metrics of the name ", name));
    }
    return family;
  }

  static std::unique_ptr<CounterMetric> NewCounter(
      Counters* family, const prometheus::Labels& labels) {
    return std::make_unique<PrometheusCounter>(&family->Add(labels));
  }
  static std::unique_ptr<HistogramMetric> NewHistogram(
      Histograms* family, const prometheus::Labels& labels,
      const prometheus::Histogram::BucketBoundaries& buckets) {
    return std::make_unique<PrometheusHistogram>(&family->Add(labels, buckets));
  }
  static std::unique_ptr<GaugeMetric> NewShare(
      Gauges* family, const prometheus::Labels& labels) {
    return std::make_unique<internal::GaugeShare>(&family->Add(labels));
  }
  std::unique_ptr<SettableGaugeMetric> NewSum(
      Gauges* family, const prometheus::Labels& labels) {
    combined_gauges_.Keep(family, labels);
    return combined_gauges_.NewPart(family, labels,
                                    internal::CombinedGauges::Sum);
  }
  std::unique_ptr<SettableGaugeMetric> NewMax(
      Gauges* family, const prometheus::Labels& labels) {
    combined_gauges_.Keep(family, labels);
    return NewPassingMax(family, labels);
  }
  // Without a queue nobody knows the value.
  std::unique_ptr<SettableGaugeMetric> NewPassingMax(
      Gauges* family, const prometheus::Labels& labels) {
    return combined_gauges_.NewPart(family, labels,
                                    internal::CombinedGauges::Max);
  }

  const std::shared_ptr<prometheus::Registry> registry_;
  absl::Status status_;

  // Queues.
  Gauges* const depth_ =
      AddGauge("workqueue_depth", "Items that wait to be processed.");
  Counters* const adds_ =
      AddCounter("workqueue_adds_total", "Items that have been added.");
  Histograms* const latency_ =
      AddHistogram("workqueue_queue_duration_seconds",
                   "Seconds that an item waited to be processed.");
  Histograms* const work_duration_ =
      AddHistogram("workqueue_work_duration_seconds",
                   "Seconds that processing an item took.");
  Gauges* const unfinished_work_ = AddGauge(
      "workqueue_unfinished_work_seconds",
      "Sum of the seconds for which the items in processing have been "
      "processed. Its growth per second is the number of stuck workers.");
  Gauges* const longest_running_processor_ = AddGauge(
      "workqueue_longest_running_processor_seconds",
      "Seconds for which the item longest in processing has been processed.");
  Gauges* const oldest_queued_ = AddGauge(
      "workqueue_oldest_queued_seconds",
      "Seconds since the add of the item that was added first, of the items "
      "that wait to be processed.");
  Gauges* const waiting_items_ =
      AddGauge("workqueue_waiting_items", "Items that wait for their time.");
  Gauges* const failing_items_ =
      AddGauge("workqueue_failing_items",
               "Items that have failed and have not been forgotten since.");
  Counters* const retries_ = AddCounter(
      "workqueue_retries_total", "Adds with a delay, for example retries.");

  // Shared queues.
  Histograms* const engine_round_trip_ = AddHistogram(
      "workqueue_engine_round_trip_seconds",
      "Seconds that a request to the engine of a shared queue took.");
  Counters* const engine_errors_ = AddCounter(
      "workqueue_engine_errors_total", "Requests to the engine that failed.");
  Gauges* const engine_unreachable_ = AddGauge(
      "workqueue_engine_unreachable_seconds",
      "Seconds for which the engine has not answered; zero while it does.");
  Gauges* const engine_wrong_settings_ =
      AddGauge("workqueue_engine_wrong_settings",
               "Settings of the engine with which it may lose items.");
  Gauges* const engine_parked_ =
      AddGauge("workqueue_parked_items",
               "Items of the whole queue that are parked after failures.");
  Counters* const engine_data_losses_ =
      AddCounter("workqueue_engine_data_losses_total",
                 "How often this process found that the queue was lost.");
  Counters* const expired_leases_ =
      AddCounter("workqueue_expired_leases_total",
                 "Leases that expired, so that their items were queued again.");

  // Controllers.
  Counters* const reconcile_total_ = AddCounter(
      "controller_runtime_reconcile_total", "Reconciliations by result.");
  Counters* const reconcile_errors_ =
      AddCounter("controller_runtime_reconcile_errors_total",
                 "Reconciliations that failed for any reason.");
  Counters* const terminal_reconcile_errors_ =
      AddCounter("controller_runtime_terminal_reconcile_errors_total",
                 "Reconciliations that failed and are not retried.");
  Counters* const reconcile_panics_ =
      AddCounter("controller_runtime_reconcile_panics_total",
                 "Reconciliations that threw an exception.");
  Counters* const reconcile_timeouts_ =
      AddCounter("controller_runtime_reconcile_timeouts_total",
                 "Reconciliations that exceeded their deadline.");
  Histograms* const reconcile_time_ =
      AddHistogram("controller_runtime_reconcile_time_seconds",
                   "Seconds that reconciling an item took.");
  Gauges* const max_concurrent_reconciles_ = AddGauge(
      "controller_runtime_max_concurrent_reconciles", "Number of workers.");
  Gauges* const active_workers_ =
      AddGauge("controller_runtime_active_workers",
               "Number of workers that are reconciling an item.");
  Counters* const reconcile_retries_ = AddCounter(
      "workqueue_controller_reconcile_retries_total",
      "Reconciliations of items that were added because they had failed.");
  Gauges* const active_retries_ = AddGauge(
      "workqueue_controller_active_retries",
      "Number of workers that are reconciling an item that had failed.");
  Gauges* const running_sources_ =
      AddGauge("workqueue_controller_running_sources",
               "Number of sources of items that run.");
  Gauges* const unhealthy_sources_ =
      AddGauge("workqueue_controller_unhealthy_sources",
               "Number of sources of items that have an error.");
  Gauges* const parked_items_ =
      AddGauge("workqueue_controller_parked_items",
               "Number of items that are parked after failures.");
  Counters* const parked_total_ =
      AddCounter("workqueue_controller_parked_total",
                 "Items that were parked after failures.");

  // Electors.
  Gauges* const master_status_ = AddGauge(
      "leader_election_master_status",
      "Whether this process leads: 1 if it does, and 0 if it stands by.");

  internal::CombinedGauges combined_gauges_;

  sync::Mutex mu_;
  // The keys are the names of queues, as in the labels.
  std::map<std::string, internal::PriorityDepthGauges> priority_depth_gauges_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<PrometheusMetricsProvider>>
PrometheusMetricsProvider::Create(
    std::shared_ptr<prometheus::Registry> registry) {
  if (registry == nullptr) {
    return absl::InvalidArgumentError("registry is null; it must be given");
  }
  auto provider = std::make_unique<Provider>(std::move(registry));
  if (!provider->status().ok()) return provider->status();
  return provider;
}

}  // namespace workqueue
