// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/metrics.h
// -----------------------------------------------------------------------------
//
// What a queue reports about itself, and to whom. A queue that has a name
// reports to the `MetricsProvider` in its options or, without one there, to the
// default one (`SetProvider()`). One without a name, or without a provider,
// reports nothing and spends nothing on it.
//
// Names and meaning are those of client-go's workqueue metrics, and of
// controller-runtime's for priorities.

#ifndef WORKQUEUE_METRICS_H_
#define WORKQUEUE_METRICS_H_

#include <memory>

#include "absl/strings/string_view.h"

namespace workqueue {

// The kinds of metrics. Queues call them from any thread, some of them with a
// lock held: they must be thread-safe and quick, and not call the queue.

// A number that goes up and down.
class GaugeMetric {
 public:
  virtual ~GaugeMetric() = default;
  virtual void Inc() = 0;
  virtual void Dec() = 0;
};

// A number that goes up and down, for each priority.
class PriorityGaugeMetric {
 public:
  virtual ~PriorityGaugeMetric() = default;
  virtual void Inc(int priority) = 0;
  virtual void Dec(int priority) = 0;
};

// A number that is set.
class SettableGaugeMetric {
 public:
  virtual ~SettableGaugeMetric() = default;
  virtual void Set(double value) = 0;
};

// A number that only goes up.
class CounterMetric {
 public:
  virtual ~CounterMetric() = default;
  virtual void Inc() = 0;
};

// Counts single observations by their size.
class HistogramMetric {
 public:
  virtual ~HistogramMetric() = default;
  virtual void Observe(double value) = 0;
};

// MetricsProvider
//
// Makes the metrics of queues. Each function is called once for each new queue,
// with the queue's name, and may return null for a metric that is not wanted.
//
// Thread-safe. A provider must outlive the queues that were given it, and they
// own the metrics that it makes.
class MetricsProvider {
 public:
  virtual ~MetricsProvider() = default;

  // How many items wait for a `Get()`, or have been added while they are being
  // processed.
  virtual std::unique_ptr<GaugeMetric> NewDepthMetric(
      absl::string_view name) = 0;

  // How many items have been added. An `Add()` that finds its item added
  // already does not count.
  virtual std::unique_ptr<CounterMetric> NewAddsMetric(
      absl::string_view name) = 0;

  // Seconds that an item waits from its `Add()` to its `Get()`.
  virtual std::unique_ptr<HistogramMetric> NewLatencyMetric(
      absl::string_view name) = 0;

  // Seconds that processing an item takes, from its `Get()` to its `Done()`.
  virtual std::unique_ptr<HistogramMetric> NewWorkDurationMetric(
      absl::string_view name) = 0;

  // Seconds that the items now being processed have been so, added up. Set
  // every 500 ms. A value that grows without end shows stuck workers, and how
  // fast it grows, their number.
  virtual std::unique_ptr<SettableGaugeMetric> NewUnfinishedWorkSecondsMetric(
      absl::string_view name) = 0;

  // Seconds that the item longest in processing has been so. Set every 500 ms.
  virtual std::unique_ptr<SettableGaugeMetric>
  NewLongestRunningProcessorSecondsMetric(absl::string_view name) = 0;

  // The same as the depth metric, by the priorities of the items. A queue that
  // has priorities asks for this one first, and for the other only if this is
  // null, which is the default.
  virtual std::unique_ptr<PriorityGaugeMetric> NewDepthMetricWithPriority(
      absl::string_view /*name*/) {
    return nullptr;
  }

  // How often `AddAfter()` has been called, for a delay or for none. A
  // `PriorityQueue` counts only those for a delay, and the rate limited ones.
  virtual std::unique_ptr<CounterMetric> NewRetriesMetric(
      absl::string_view name) = 0;
};

// Makes `provider` the default for queues created from now on. Only the first
// call has an effect. `provider` must outlive those queues.
void SetProvider(MetricsProvider* provider);

// Returns the default provider; null if none has been set.
MetricsProvider* GetProvider();

}  // namespace workqueue

#endif  // WORKQUEUE_METRICS_H_
