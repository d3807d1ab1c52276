// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_PROMETHEUS_PROMETHEUS_METRICS_PROVIDER_H_
#define WORKQUEUE_PROMETHEUS_PROMETHEUS_METRICS_PROVIDER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "prometheus/registry.h"
#include "workqueue/controller/metrics.h"
#include "workqueue/metrics.h"

namespace workqueue {

// PrometheusMetricsProvider
//
// This class keeps the metrics of queues, controllers and electors in a
// registry of prometheus-cpp. The names, labels and buckets of queues are
// Kubernetes', and the names, labels and buckets of controllers are
// controller-runtime's. So dashboards and alerts made for controllers in Go
// work unchanged. The metrics marked with (*) have no counterpart there.
//
// A queue has these metrics:
//
//     workqueue_depth                              gauge
//     workqueue_adds_total                         counter
//     workqueue_queue_duration_seconds             histogram
//     workqueue_work_duration_seconds              histogram
//     workqueue_unfinished_work_seconds            gauge
//     workqueue_longest_running_processor_seconds  gauge
//     workqueue_oldest_queued_seconds              gauge (*)
//     workqueue_waiting_items                      gauge (*)
//     workqueue_failing_items                      gauge (*), if known
//     workqueue_retries_total                      counter
//
// A `SharedQueue` also has these metrics:
//
//     workqueue_engine_round_trip_seconds  histogram (*)
//     workqueue_engine_errors_total        counter (*)
//     workqueue_engine_unreachable_seconds gauge (*)
//     workqueue_engine_wrong_settings      gauge (*)
//     workqueue_engine_data_losses_total   counter (*)
//     workqueue_parked_items               gauge (*)
//     workqueue_expired_leases_total       counter (*)
//
// A controller has these metrics:
//
//     controller_runtime_reconcile_total                  counter
//     controller_runtime_reconcile_errors_total           counter
//     controller_runtime_terminal_reconcile_errors_total  counter
//     controller_runtime_reconcile_panics_total           counter
//     controller_runtime_reconcile_timeouts_total         counter
//     controller_runtime_reconcile_time_seconds           histogram
//     controller_runtime_max_concurrent_reconciles        gauge
//     controller_runtime_active_workers                   gauge
//     workqueue_controller_reconcile_retries_total        counter (*)
//     workqueue_controller_active_retries                 gauge (*)
//     workqueue_controller_running_sources                gauge (*)
//     workqueue_controller_unhealthy_sources              gauge (*)
//
// A controller that gives up on items (`ControllerOptions::failures`) also has
// these metrics:
//
//     workqueue_controller_parked_items  gauge (*), not with a `SharedQueue`
//     workqueue_controller_parked_total  counter (*)
//
// A `LeaderElector` has this metric, which is Kubernetes':
//
//     leader_election_master_status  gauge
//
// Example, for a controller and its queue:
//
//     auto registry = std::make_shared<prometheus::Registry>();
//     auto metrics = workqueue::PrometheusMetricsProvider::Create(registry);
//     if (!metrics.ok()) return metrics.status();
//     options.metrics_provider = metrics->get();
//     options.queue_metrics_provider = metrics->get();
//
// A queue's metrics have the labels `name` and `controller`, both with the
// queue's name. They are controller-runtime's labels, which include Kubernetes'
// own. The depth of a queue that has priorities also has the label `priority`.
// The first 25 priorities of a name have a time series each. All other
// priorities of the name share one time series, whose `priority` is
// "exceeded_cardinality_limit". The buckets of the histograms end at 10 ns and
// at each power of ten times 10 ns, up to 1000 s.
//
// A controller's metrics have the label `controller` with the controller's
// name. `controller_runtime_reconcile_total` also has the label `result`, which
// is "success", "error" or "requeue_after". All time series of a controller
// exist from its creation on and start at zero. There is no `result="requeue"`:
// `ReconcileResult::NotNow()` counts as "requeue_after". The histogram has 40
// buckets, from 5 ms to 60 s. prometheus-cpp has no native histograms.
//
// The metric of an elector has the label `name` with the elector's name. It is
// 1 while this process leads, and else 0.
//
// Queues of the same name share their metrics, and so do controllers and
// electors of the same name. Each gauge shows the sum of its queues or
// controllers, but `workqueue_longest_running_processor_seconds`,
// `workqueue_oldest_queued_seconds`, `workqueue_engine_unreachable_seconds`,
// `workqueue_engine_wrong_settings`, `workqueue_parked_items` and
// `leader_election_master_status` show the maximum. Those of a `SharedQueue`
// that count the items of the whole queue do so, too; no queue in memory should
// have its name. A queue or controller leaves the gauges when it is destroyed.
// The gauges of the engine of a `SharedQueue` and of its items are removed with
// the last queue of the name, because these are still there, and so is
// `workqueue_oldest_queued_seconds`. Other time series are never removed: the
// next queue or controller of the name continues its counters and histograms.
//
// Thread-safe. A registry can have one provider at a time. Any thread may
// scrape the registry. Requires prometheus-cpp, which requires exceptions.
class PrometheusMetricsProvider : public MetricsProvider,
                                  public ControllerMetricsProvider,
                                  public LeaderElectionMetricsProvider {
 public:
  // Returns a new provider that keeps its metrics in `registry`. The metrics
  // stay there when the provider is destroyed, and the next provider for
  // `registry` continues them.
  //
  // Returns an `absl::InvalidArgumentError` if `registry` is null, or has other
  // metrics under one of the names above.
  static absl::StatusOr<std::unique_ptr<PrometheusMetricsProvider>> Create(
      std::shared_ptr<prometheus::Registry> registry);

 protected:
  PrometheusMetricsProvider() = default;
};

}  // namespace workqueue

#endif  // WORKQUEUE_PROMETHEUS_PROMETHEUS_METRICS_PROVIDER_H_
