// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/prometheus/prometheus_controller_metrics_provider.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/labels.h"
#include "prometheus/registry.h"
#include "workqueue/metrics.h"
#include "workqueue/prometheus/internal/combined_gauge.h"
#include "workqueue/prometheus/internal/gauge_share.h"
#include "workqueue/prometheus/internal/registration.h"
#include "workqueue/prometheus/internal/wrap.h"

namespace workqueue {
namespace {

prometheus::Labels LabelsOf(absl::string_view controller) {
  return {{"controller", std::string(controller)}};
}

std::unique_ptr<CounterMetric> NewCounter(
    prometheus::Family<prometheus::Counter>* family,
    absl::string_view controller) {
  return internal::Wrap(family->Add(LabelsOf(controller)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PrometheusControllerMetricsProvider>>
PrometheusControllerMetricsProvider::Create(
    std::shared_ptr<prometheus::Registry> registry) {
  internal::Registration registration(registry.get());
  Families families;
  families.total =
      registration.AddCounter("controller_runtime_reconcile_total",
                              "Reconciliations, by what came of them.");
  families.errors = registration.AddCounter(
      "controller_runtime_reconcile_errors_total",
      "Reconciliations that failed, for whatever reason.");
  families.terminal_errors = registration.AddCounter(
      "controller_runtime_terminal_reconcile_errors_total",
      "Reconciliations that failed and are not tried again.");
  families.panics =
      registration.AddCounter("controller_runtime_reconcile_panics_total",
                              "Reconciliations that threw an exception.");
  families.timeouts = registration.AddCounter(
      "controller_runtime_reconcile_timeouts_total",
      "Reconciliations that were not over at their deadline.");
  families.time =
      registration.AddHistogram("controller_runtime_reconcile_time_seconds",
                                "Seconds that reconciling an item took.");
  families.max_concurrent =
      registration.AddGauge("controller_runtime_max_concurrent_reconciles",
                            "Workers that there are.");
  families.active_workers =
      registration.AddGauge("controller_runtime_active_workers",
                            "Workers that are reconciling an item.");
  if (!registration.status().ok()) return registration.status();
  return absl::WrapUnique(
      new PrometheusControllerMetricsProvider(std::move(registry), families));
}

PrometheusControllerMetricsProvider::PrometheusControllerMetricsProvider(
    std::shared_ptr<prometheus::Registry> registry, const Families& families)
    : registry_(std::move(registry)), families_(families) {}

std::unique_ptr<CounterMetric>
PrometheusControllerMetricsProvider::NewReconcileTotalMetric(
    absl::string_view controller, absl::string_view result) {
  prometheus::Labels labels = LabelsOf(controller);
  labels.emplace("result", std::string(result));
  return internal::Wrap(families_.total->Add(labels));
}

std::unique_ptr<CounterMetric>
PrometheusControllerMetricsProvider::NewReconcileErrorsMetric(
    absl::string_view controller) {
  return NewCounter(families_.errors, controller);
}

std::unique_ptr<CounterMetric>
PrometheusControllerMetricsProvider::NewTerminalReconcileErrorsMetric(
    absl::string_view controller) {
  return NewCounter(families_.terminal_errors, controller);
}

std::unique_ptr<CounterMetric>
PrometheusControllerMetricsProvider::NewReconcilePanicsMetric(
    absl::string_view controller) {
  return NewCounter(families_.panics, controller);
}

std::unique_ptr<CounterMetric>
PrometheusControllerMetricsProvider::NewReconcileTimeoutsMetric(
    absl::string_view controller) {
  return NewCounter(families_.timeouts, controller);
}

std::unique_ptr<HistogramMetric>
PrometheusControllerMetricsProvider::NewReconcileTimeMetric(
    absl::string_view controller) {
  const prometheus::Histogram::BucketBoundaries bounds = {
      0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3,  0.35,
      0.4,   0.45, 0.5,   0.6,  0.7, 0.8,  0.9, 1,    1.25, 1.5,
      1.75,  2,    2.5,   3,    3.5, 4,    4.5, 5,    6,    7,
      8,     9,    10,    15,   20,  25,   30,  40,   50,   60};
  return internal::Wrap(families_.time->Add(LabelsOf(controller), bounds));
}

std::unique_ptr<SettableGaugeMetric>
PrometheusControllerMetricsProvider::NewMaxConcurrentReconcilesMetric(
    absl::string_view controller) {
  return combined_gauges_.NewPart(
      &families_.max_concurrent->Add(LabelsOf(controller)),
      internal::CombinedGauge::Sum);
}

std::unique_ptr<GaugeMetric>
PrometheusControllerMetricsProvider::NewActiveWorkersMetric(
    absl::string_view controller) {
  return std::make_unique<internal::GaugeShare>(
      &families_.active_workers->Add(LabelsOf(controller)));
}

}  // namespace workqueue
