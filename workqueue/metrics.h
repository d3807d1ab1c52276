// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The metrics of a queue. A queue that has a name reports to the
// `MetricsProvider` in its options, or to the default provider
// (`SetProvider()`) if the options have none. A queue without a name or without
// a provider has no metrics, and they cost it nothing.
//
// The names and meanings are those of client-go's workqueue metrics. The depth
// by priority is a metric of controller-runtime. `NewWaitingItemsMetric()`,
// `NewFailingItemsMetric()` and `NewOldestQueuedSecondsMetric()` are additions:
// while all items fail, they wait for their next try, and the depth is zero.

#ifndef WORKQUEUE_METRICS_H_
#define WORKQUEUE_METRICS_H_

#include <memory>

#include "absl/strings/string_view.h"

namespace workqueue {

// The kinds of metrics. Queues call them from any thread, in part with a lock
// held. So a metric must be thread-safe and quick, and must not call the queue.

// A number that goes up and down.
class GaugeMetric {
 public:
  virtual ~GaugeMetric() = default;
  virtual void Inc() = 0;
  virtual void Dec() = 0;
};

// A number that goes up and down, one for each priority.
class PriorityGaugeMetric {
 public:
  virtual ~PriorityGaugeMetric() = default;
  virtual void Inc(int priority) = 0;
  virtual void Dec(int priority) = 0;
};

// A number that is set to a value.
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

// The distribution of observed values.
class HistogramMetric {
 public:
  virtual ~HistogramMetric() = default;
  virtual void Observe(double value) = 0;
};

// MetricsProvider
//
// Creates the metrics of queues. Each function is called once for each new
// queue, with the queue's name. A `SharedQueue` asks for its gauges when its
// engine answers first: nobody knows before how much is in the queue. A
// function may return null for an unwanted metric, and does so by default. A
// queue owns its metrics.
//
// Thread-safe. A provider must outlive the queues that use it.
class MetricsProvider {
 public:
  virtual ~MetricsProvider() = default;

  // The number of items that are queued, or that have been added while they are
  // being processed.
  virtual std::unique_ptr<GaugeMetric> NewDepthMetric(
      absl::string_view /*name*/) {
    return nullptr;
  }

  // The number of items that have been added. An `Add()` of an item that is
  // queued already, or that has already been added again while it is being
  // processed, does not count.
  virtual std::unique_ptr<CounterMetric> NewAddsMetric(
      absl::string_view /*name*/) {
    return nullptr;
  }

  // The seconds from the `Add()` of an item to its `Get()`.
  virtual std::unique_ptr<HistogramMetric> NewLatencyMetric(
      absl::string_view /*name*/) {
    return nullptr;
  }

  // The seconds that the processing of an item takes, from its `Get()` to its
  // `Done()`.
  virtual std::unique_ptr<HistogramMetric> NewWorkDurationMetric(
      absl::string_view /*name*/) {
    return nullptr;
  }

  // The sum, over all items being processed, of the seconds since their
  // processing began. Set every 500 ms, by a queue in memory until it is shut
  // down: the last value stays during a drain, as in client-go. A value that
  // grows without end indicates stuck workers. The rate of its growth is their
  // number.
  virtual std::unique_ptr<SettableGaugeMetric> NewUnfinishedWorkSecondsMetric(
      absl::string_view /*name*/) {
    return nullptr;
  }

  // The seconds since the processing began of the item that has been processed
  // longest. Set when the one before is.
  virtual std::unique_ptr<SettableGaugeMetric>
  NewLongestRunningProcessorSecondsMetric(absl::string_view /*name*/) {
    return nullptr;
  }

  // The depth metric, by the priorities of the items. A queue with priorities
  // calls this function first, and calls `NewDepthMetric()` only if the result
  // is null.
  virtual std::unique_ptr<PriorityGaugeMetric> NewDepthMetricWithPriority(
      absl::string_view /*name*/) {
    return nullptr;
  }

  // The seconds since the `Add()` of the item that was added first, of the
  // items that the depth counts; zero if there is none. Set every 500 ms, to a
  // precision of 100 ms. A `SharedQueue` sets it every 10 seconds, and counts
  // only queued items: in Valkey or Redis of the ten lowest priorities, and in
  // PostgreSQL or SQLite of the 25 highest ones.
  virtual std::unique_ptr<SettableGaugeMetric> NewOldestQueuedSecondsMetric(
      absl::string_view /*name*/) {
    return nullptr;
  }

  // The number of items that wait for their time, for example for their next
  // try. Set every 500 ms.
  virtual std::unique_ptr<SettableGaugeMetric> NewWaitingItemsMetric(
      absl::string_view /*name*/) {
    return nullptr;
  }

  // The number of items that have failed, by an `AddRateLimited()`, and have
  // not been forgotten since: `RateLimiter::NumTracked()` of the queue's
  // limiter. Made when the limiter first knows the number, and set every 500 ms
  // while it does.
  virtual std::unique_ptr<SettableGaugeMetric> NewFailingItemsMetric(
      absl::string_view /*name*/) {
    return nullptr;
  }

  // The seconds that a request to the engine of a `SharedQueue` takes. Only
  // such a queue calls this and the next nine functions.
  virtual std::unique_ptr<HistogramMetric> NewEngineRoundTripMetric(
      absl::string_view /*name*/) {
    return nullptr;
  }

  // The number of requests to the engine that failed, or that it has refused in
  // part because its memory is full. A `Create()` that fails because of the
  // engine's settings or items counts, too.
  virtual std::unique_ptr<CounterMetric> NewEngineErrorsMetric(
      absl::string_view /*name*/) {
    return nullptr;
  }

  // The seconds for which the engine has not answered, on the machine's clock;
  // zero while it does, or if a request has waited for less than two seconds,
  // or half of the time of a call. Set every 500 ms, but not during a request
  // that no worker makes: the time is told at the end of the call, then.
  virtual std::unique_ptr<SettableGaugeMetric>
  NewEngineUnreachableSecondsMetric(absl::string_view /*name*/) {
    return nullptr;
  }

  // The number of the engine's settings that break a promise of the queue: they
  // may lose items. Those that cannot be seen count, and if nothing can be
  // seen, that is one. Looked for every 10 seconds.
  virtual std::unique_ptr<SettableGaugeMetric> NewEngineWrongSettingsMetric(
      absl::string_view /*name*/) {
    return nullptr;
  }

  // The number of items of the whole queue that are parked, as the engine said
  // last.
  virtual std::unique_ptr<SettableGaugeMetric> NewEngineParkedItemsMetric(
      absl::string_view /*name*/) {
    return nullptr;
  }

  // The depth of the whole queue, as the engine said last. Several queues of
  // one name in a process have the same items: their metric should show the
  // maximum, as over processes. By default, or if this returns null, the queue
  // uses `NewDepthMetric()`.
  virtual std::unique_ptr<SettableGaugeMetric> NewEngineDepthMetric(
      absl::string_view /*name*/) {
    return nullptr;
  }

  // The same for the items that wait, and for those that have failed. By
  // default these are the metrics of other queues.
  virtual std::unique_ptr<SettableGaugeMetric> NewEngineWaitingItemsMetric(
      absl::string_view name) {
    return NewWaitingItemsMetric(name);
  }
  virtual std::unique_ptr<SettableGaugeMetric> NewEngineFailingItemsMetric(
      absl::string_view name) {
    return NewFailingItemsMetric(name);
  }

  // How often this process has found that the engine has lost the whole queue.
  virtual std::unique_ptr<CounterMetric> NewEngineDataLossesMetric(
      absl::string_view /*name*/) {
    return nullptr;
  }

  // The number of leases that expired, and whose items were queued again, as
  // this process found.
  virtual std::unique_ptr<CounterMetric> NewExpiredLeasesMetric(
      absl::string_view /*name*/) {
    return nullptr;
  }

  // The number of calls of `AddAfter()`, with or without a delay. A
  // `PriorityQueue` counts only adds with a delay, including rate limited adds.
  virtual std::unique_ptr<CounterMetric> NewRetriesMetric(
      absl::string_view /*name*/) {
    return nullptr;
  }
};

// LeaderElectionMetricsProvider
//
// Creates the metric of electors: see
// `LeaderElectorOptions::metrics_provider`. It is client-go's. Its other one,
// `leader_election_slowpath_total`, counts renewals that need a second request,
// because they must read the lease first. A `LeaderElector` reads and renews in
// one request, always.
//
// Thread-safe. A provider must outlive the electors that use it.
class LeaderElectionMetricsProvider {
 public:
  virtual ~LeaderElectionMetricsProvider() = default;

  // Whether this process leads: 1, and 0 otherwise. Called once for each new
  // elector, with its name. May return null. An elector owns its metric, and
  // calls it with no lock held. (leader_election_master_status)
  virtual std::unique_ptr<SettableGaugeMetric> NewLeaderMetric(
      absl::string_view name) = 0;
};

// Makes `provider` the default provider of queues that are created later. Only
// the first call has an effect. Not owned; `provider` must outlive these
// queues.
void SetProvider(MetricsProvider* provider);

// Returns the default provider, or null if none has been set.
MetricsProvider* GetProvider();

}  // namespace workqueue

#endif  // WORKQUEUE_METRICS_H_
