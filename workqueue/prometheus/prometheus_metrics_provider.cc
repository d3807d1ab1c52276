// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/prometheus/prometheus_metrics_provider.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
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

namespace workqueue {
namespace {

using internal::CombinedGauges;
using internal::GaugeShare;
using internal::MutexLock;
using internal::ToUtf8;

prometheus::Labels QueueLabels(absl::string_view name) {
  const std::string label = ToUtf8(name);
  return {{"name", label}, {"controller", label}};
}

prometheus::Labels ControllerLabels(absl::string_view controller) {
  return {{"controller", ToUtf8(controller)}};
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

// Registration
//
// This class finds the metric families of a provider in a registry, and creates
// the missing ones.
class Registration {
 public:
  // If `registry` is null, `status()` is an error.
  explicit Registration(prometheus::Registry* registry) : registry_(registry) {
    if (registry == nullptr) {
      status_ = absl::InvalidArgumentError("registry must not be null");
    }
  }

  // Each returns the family named `name`, or null after an error.
  prometheus::Family<prometheus::Counter>* AddCounter(const char* name,
                                                      const char* help) {
    return Add<prometheus::Counter>(prometheus::BuildCounter(), name, help);
  }
  prometheus::Family<prometheus::Gauge>* AddGauge(const char* name,
                                                  const char* help) {
    return Add<prometheus::Gauge>(prometheus::BuildGauge(), name, help);
  }
  prometheus::Family<prometheus::Histogram>* AddHistogram(const char* name,
                                                          const char* help) {
    return Add<prometheus::Histogram>(prometheus::BuildHistogram(), name, help);
  }

  // The first error. After it, the functions above add nothing.
  const absl::Status& status() const { return status_; }

 private:
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

  prometheus::Registry* const registry_;
  absl::Status status_;
};

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

std::unique_ptr<CounterMetric> Wrap(prometheus::Counter& counter) {
  return std::make_unique<PrometheusCounter>(&counter);
}

std::unique_ptr<HistogramMetric> Wrap(prometheus::Histogram& histogram) {
  return std::make_unique<PrometheusHistogram>(&histogram);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PrometheusMetricsProvider>>
PrometheusMetricsProvider::Create(
    std::shared_ptr<prometheus::Registry> registry) {
  Registration registration(registry.get());
  Families families;

  families.depth = registration.AddGauge("workqueue_depth",
                                         "Items that wait to be processed.");
  families.adds = registration.AddCounter("workqueue_adds_total",
                                          "Items that have been added.");
  families.latency =
      registration.AddHistogram("workqueue_queue_duration_seconds",
                                "Seconds that an item waited to be processed.");
  families.work_duration =
      registration.AddHistogram("workqueue_work_duration_seconds",
                                "Seconds that processing an item took.");
  families.unfinished_work = registration.AddGauge(
      "workqueue_unfinished_work_seconds",
      "Sum of the seconds for which the items in processing have been "
      "processed. Its growth per second is the number of stuck workers.");
  families.longest_running_processor = registration.AddGauge(
      "workqueue_longest_running_processor_seconds",
      "Seconds for which the item longest in processing has been processed.");
  families.oldest_queued = registration.AddGauge(
      "workqueue_oldest_queued_seconds",
      "Seconds since the add of the item that was added first, of the items "
      "that wait to be processed.");
  families.waiting_items = registration.AddGauge(
      "workqueue_waiting_items", "Items that wait for their time.");
  families.failing_items = registration.AddGauge(
      "workqueue_failing_items",
      "Items that have failed and have not been forgotten since.");
  families.retries = registration.AddCounter(
      "workqueue_retries_total", "Adds with a delay, for example retries.");

  families.engine_round_trip = registration.AddHistogram(
      "workqueue_engine_round_trip_seconds",
      "Seconds that a request to the engine of a shared queue took.");
  families.engine_errors = registration.AddCounter(
      "workqueue_engine_errors_total", "Requests to the engine that failed.");
  families.engine_unreachable = registration.AddGauge(
      "workqueue_engine_unreachable_seconds",
      "Seconds for which the engine has not answered; zero while it does.");
  families.engine_parked = registration.AddGauge(
      "workqueue_parked_items",
      "Items of the whole queue that are parked after failures.");
  families.expired_leases = registration.AddCounter(
      "workqueue_expired_leases_total",
      "Leases that expired, so that their items were queued again.");

  families.reconcile_total = registration.AddCounter(
      "controller_runtime_reconcile_total", "Reconciliations by result.");
  families.reconcile_errors =
      registration.AddCounter("controller_runtime_reconcile_errors_total",
                              "Reconciliations that failed for any reason.");
  families.terminal_reconcile_errors = registration.AddCounter(
      "controller_runtime_terminal_reconcile_errors_total",
      "Reconciliations that failed and are not retried.");
  families.reconcile_panics =
      registration.AddCounter("controller_runtime_reconcile_panics_total",
                              "Reconciliations that threw an exception.");
  families.reconcile_timeouts =
      registration.AddCounter("controller_runtime_reconcile_timeouts_total",
                              "Reconciliations that exceeded their deadline.");
  families.reconcile_time =
      registration.AddHistogram("controller_runtime_reconcile_time_seconds",
                                "Seconds that reconciling an item took.");
  families.max_concurrent_reconciles = registration.AddGauge(
      "controller_runtime_max_concurrent_reconciles", "Number of workers.");
  families.active_workers =
      registration.AddGauge("controller_runtime_active_workers",
                            "Number of workers that are reconciling an item.");
  families.reconcile_retries = registration.AddCounter(
      "workqueue_controller_reconcile_retries_total",
      "Reconciliations of items that were added because they had failed.");
  families.active_retries = registration.AddGauge(
      "workqueue_controller_active_retries",
      "Number of workers that are reconciling an item that had failed.");
  families.running_sources =
      registration.AddGauge("workqueue_controller_running_sources",
                            "Number of sources of items that run.");
  families.parked_items =
      registration.AddGauge("workqueue_controller_parked_items",
                            "Number of items that are parked after failures.");
  families.parked_total =
      registration.AddCounter("workqueue_controller_parked_total",
                              "Items that were parked after failures.");

  families.master_status = registration.AddGauge(
      "leader_election_master_status",
      "Whether this process leads: 1 if it does, and 0 if it stands by.");

  if (!registration.status().ok()) return registration.status();
  return absl::WrapUnique(
      new PrometheusMetricsProvider(std::move(registry), families));
}

PrometheusMetricsProvider::PrometheusMetricsProvider(
    std::shared_ptr<prometheus::Registry> registry, const Families& families)
    : registry_(std::move(registry)), families_(families) {}

// -----------------------------------------------------------------------------
// Queues
// -----------------------------------------------------------------------------

std::unique_ptr<GaugeMetric> PrometheusMetricsProvider::NewDepthMetric(
    absl::string_view name) {
  return std::make_unique<GaugeShare>(&families_.depth->Add(QueueLabels(name)));
}

std::unique_ptr<CounterMetric> PrometheusMetricsProvider::NewAddsMetric(
    absl::string_view name) {
  return Wrap(families_.adds->Add(QueueLabels(name)));
}

std::unique_ptr<HistogramMetric> PrometheusMetricsProvider::NewLatencyMetric(
    absl::string_view name) {
  return Wrap(families_.latency->Add(QueueLabels(name), QueueBuckets()));
}

std::unique_ptr<HistogramMetric>
PrometheusMetricsProvider::NewWorkDurationMetric(absl::string_view name) {
  return Wrap(families_.work_duration->Add(QueueLabels(name), QueueBuckets()));
}

std::unique_ptr<SettableGaugeMetric>
PrometheusMetricsProvider::NewUnfinishedWorkSecondsMetric(
    absl::string_view name) {
  return combined_gauges_.NewPart(
      &families_.unfinished_work->Add(QueueLabels(name)), CombinedGauges::Sum);
}

std::unique_ptr<SettableGaugeMetric>
PrometheusMetricsProvider::NewLongestRunningProcessorSecondsMetric(
    absl::string_view name) {
  return combined_gauges_.NewPart(
      &families_.longest_running_processor->Add(QueueLabels(name)),
      CombinedGauges::Max);
}

std::unique_ptr<SettableGaugeMetric>
PrometheusMetricsProvider::NewOldestQueuedSecondsMetric(
    absl::string_view name) {
  return combined_gauges_.NewPart(
      &families_.oldest_queued->Add(QueueLabels(name)), CombinedGauges::Max);
}

std::unique_ptr<SettableGaugeMetric>
PrometheusMetricsProvider::NewWaitingItemsMetric(absl::string_view name) {
  return combined_gauges_.NewPart(
      &families_.waiting_items->Add(QueueLabels(name)), CombinedGauges::Sum);
}

std::unique_ptr<SettableGaugeMetric>
PrometheusMetricsProvider::NewFailingItemsMetric(absl::string_view name) {
  return combined_gauges_.NewPart(
      &families_.failing_items->Add(QueueLabels(name)), CombinedGauges::Sum);
}

std::unique_ptr<SettableGaugeMetric>
PrometheusMetricsProvider::NewEngineUnreachableSecondsMetric(
    absl::string_view name) {
  return combined_gauges_.NewPart(
      &families_.engine_unreachable->Add(QueueLabels(name)),
      CombinedGauges::Max);
}

std::unique_ptr<SettableGaugeMetric>
PrometheusMetricsProvider::NewEngineParkedItemsMetric(absl::string_view name) {
  return combined_gauges_.NewPart(
      &families_.engine_parked->Add(QueueLabels(name)), CombinedGauges::Max);
}

std::unique_ptr<PriorityGaugeMetric>
PrometheusMetricsProvider::NewDepthMetricWithPriority(absl::string_view name) {
  MutexLock lock(&mu_);
  return priority_depth_gauges_
      .try_emplace(ToUtf8(name), families_.depth, QueueLabels(name))
      .first->second.NewMetric();
}

std::unique_ptr<CounterMetric> PrometheusMetricsProvider::NewRetriesMetric(
    absl::string_view name) {
  return Wrap(families_.retries->Add(QueueLabels(name)));
}

std::unique_ptr<HistogramMetric>
PrometheusMetricsProvider::NewEngineRoundTripMetric(absl::string_view name) {
  return Wrap(
      families_.engine_round_trip->Add(QueueLabels(name), QueueBuckets()));
}

std::unique_ptr<CounterMetric> PrometheusMetricsProvider::NewEngineErrorsMetric(
    absl::string_view name) {
  return Wrap(families_.engine_errors->Add(QueueLabels(name)));
}

std::unique_ptr<CounterMetric>
PrometheusMetricsProvider::NewExpiredLeasesMetric(absl::string_view name) {
  return Wrap(families_.expired_leases->Add(QueueLabels(name)));
}

// -----------------------------------------------------------------------------
// Controllers
// -----------------------------------------------------------------------------

std::unique_ptr<CounterMetric>
PrometheusMetricsProvider::NewReconcileTotalMetric(absl::string_view controller,
                                                   absl::string_view result) {
  prometheus::Labels labels = ControllerLabels(controller);
  labels.emplace("result", ToUtf8(result));
  return Wrap(families_.reconcile_total->Add(labels));
}

std::unique_ptr<CounterMetric>
PrometheusMetricsProvider::NewReconcileErrorsMetric(
    absl::string_view controller) {
  return Wrap(families_.reconcile_errors->Add(ControllerLabels(controller)));
}

std::unique_ptr<CounterMetric>
PrometheusMetricsProvider::NewTerminalReconcileErrorsMetric(
    absl::string_view controller) {
  return Wrap(
      families_.terminal_reconcile_errors->Add(ControllerLabels(controller)));
}

std::unique_ptr<CounterMetric>
PrometheusMetricsProvider::NewReconcilePanicsMetric(
    absl::string_view controller) {
  return Wrap(families_.reconcile_panics->Add(ControllerLabels(controller)));
}

std::unique_ptr<CounterMetric>
PrometheusMetricsProvider::NewReconcileTimeoutsMetric(
    absl::string_view controller) {
  return Wrap(families_.reconcile_timeouts->Add(ControllerLabels(controller)));
}

std::unique_ptr<HistogramMetric>
PrometheusMetricsProvider::NewReconcileTimeMetric(
    absl::string_view controller) {
  return Wrap(families_.reconcile_time->Add(ControllerLabels(controller),
                                            ReconcileTimeBuckets()));
}

std::unique_ptr<SettableGaugeMetric>
PrometheusMetricsProvider::NewMaxConcurrentReconcilesMetric(
    absl::string_view controller) {
  return combined_gauges_.NewPart(
      &families_.max_concurrent_reconciles->Add(ControllerLabels(controller)),
      CombinedGauges::Sum);
}

std::unique_ptr<GaugeMetric> PrometheusMetricsProvider::NewActiveWorkersMetric(
    absl::string_view controller) {
  return std::make_unique<GaugeShare>(
      &families_.active_workers->Add(ControllerLabels(controller)));
}

std::unique_ptr<CounterMetric>
PrometheusMetricsProvider::NewReconcileRetriesMetric(
    absl::string_view controller) {
  return Wrap(families_.reconcile_retries->Add(ControllerLabels(controller)));
}

std::unique_ptr<GaugeMetric> PrometheusMetricsProvider::NewActiveRetriesMetric(
    absl::string_view controller) {
  return std::make_unique<GaugeShare>(
      &families_.active_retries->Add(ControllerLabels(controller)));
}

std::unique_ptr<GaugeMetric> PrometheusMetricsProvider::NewRunningSourcesMetric(
    absl::string_view controller) {
  return std::make_unique<GaugeShare>(
      &families_.running_sources->Add(ControllerLabels(controller)));
}

std::unique_ptr<GaugeMetric> PrometheusMetricsProvider::NewParkedItemsMetric(
    absl::string_view controller) {
  return std::make_unique<GaugeShare>(
      &families_.parked_items->Add(ControllerLabels(controller)));
}

std::unique_ptr<CounterMetric> PrometheusMetricsProvider::NewParkedTotalMetric(
    absl::string_view controller) {
  return Wrap(families_.parked_total->Add(ControllerLabels(controller)));
}

// -----------------------------------------------------------------------------
// Electors
// -----------------------------------------------------------------------------

std::unique_ptr<SettableGaugeMetric> PrometheusMetricsProvider::NewLeaderMetric(
    absl::string_view name) {
  return combined_gauges_.NewPart(
      &families_.master_status->Add({{"name", ToUtf8(name)}}),
      CombinedGauges::Max);
}

}  // namespace workqueue
