// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_WORKQUEUE_RECORDING_METRICS_H_
#define WORKQUEUE_TEST_WORKQUEUE_RECORDING_METRICS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/metrics.h"

namespace workqueue {

enum class MetricKind {
  kDepth,
  kAdds,
  kLatency,
  kWorkDuration,
  kUnfinishedWork,
  kLongestRunning,
  kOldestQueued,
  kRetries,       // of a delaying layer
  kWaitingItems,  // of a delaying layer
  kFailingItems,  // of a rate limiting layer
  // Of a shared queue alone. They are not in `kMetricKinds`.
  kEngineDepth,
  kEngineErrors,
  kEngineUnreachable,
  kWrongSettings,
};

inline constexpr MetricKind kMetricKinds[] = {
    MetricKind::kDepth,          MetricKind::kAdds,
    MetricKind::kLatency,        MetricKind::kWorkDuration,
    MetricKind::kUnfinishedWork, MetricKind::kLongestRunning,
    MetricKind::kOldestQueued,   MetricKind::kRetries,
    MetricKind::kWaitingItems,   MetricKind::kFailingItems,
};

// RecordingMetrics
//
// A provider that records all reports of queues, by kind of metric.
class RecordingMetrics final : public MetricsProvider {
 public:
  struct Record {
    std::vector<std::string> names;  // of the queues that asked for one
    int live = 0;                    // made, and not yet destroyed
    int incs = 0;
    int decs = 0;
    std::map<int, int> by_priority;  // incs - decs, of those that have one
    std::vector<double> values;      // set or observed
  };

  // Called at the beginning of each function of each metric. If it throws, the
  // function throws the same, and the call is not recorded.
  std::function<void(MetricKind)> on_call = [](MetricKind) {};

  // The provider returns null for these kinds.
  std::vector<MetricKind> unwanted;

  // Whether the provider has a depth metric by priority.
  bool with_priorities = false;

  Record record(MetricKind kind) const {
    internal::MutexLock lock(&mu_);
    const auto it = records_.find(kind);
    return it == records_.end() ? Record() : it->second;
  }

  // Returns the value of a gauge or a counter.
  int count(MetricKind kind) const {
    const Record r = record(kind);
    return r.incs - r.decs;
  }

  // Returns the depth by priority.
  std::map<int, int> depth_by_priority() const {
    return record(MetricKind::kDepth).by_priority;
  }

  // Returns the values that have been set or observed.
  std::vector<double> values(MetricKind kind) const {
    return record(kind).values;
  }

  std::unique_ptr<GaugeMetric> NewDepthMetric(absl::string_view name) override {
    return New(MetricKind::kDepth, name);
  }
  std::unique_ptr<CounterMetric> NewAddsMetric(
      absl::string_view name) override {
    return New(MetricKind::kAdds, name);
  }
  std::unique_ptr<HistogramMetric> NewLatencyMetric(
      absl::string_view name) override {
    return New(MetricKind::kLatency, name);
  }
  std::unique_ptr<HistogramMetric> NewWorkDurationMetric(
      absl::string_view name) override {
    return New(MetricKind::kWorkDuration, name);
  }
  std::unique_ptr<SettableGaugeMetric> NewUnfinishedWorkSecondsMetric(
      absl::string_view name) override {
    return New(MetricKind::kUnfinishedWork, name);
  }
  std::unique_ptr<SettableGaugeMetric> NewLongestRunningProcessorSecondsMetric(
      absl::string_view name) override {
    return New(MetricKind::kLongestRunning, name);
  }
  std::unique_ptr<PriorityGaugeMetric> NewDepthMetricWithPriority(
      absl::string_view name) override {
    if (!with_priorities) {
      return MetricsProvider::NewDepthMetricWithPriority(name);
    }
    return New(MetricKind::kDepth, name);
  }
  std::unique_ptr<SettableGaugeMetric> NewOldestQueuedSecondsMetric(
      absl::string_view name) override {
    return New(MetricKind::kOldestQueued, name);
  }
  std::unique_ptr<SettableGaugeMetric> NewWaitingItemsMetric(
      absl::string_view name) override {
    return New(MetricKind::kWaitingItems, name);
  }
  std::unique_ptr<SettableGaugeMetric> NewFailingItemsMetric(
      absl::string_view name) override {
    return New(MetricKind::kFailingItems, name);
  }
  std::unique_ptr<SettableGaugeMetric> NewEngineDepthMetric(
      absl::string_view name) override {
    return New(MetricKind::kEngineDepth, name);
  }
  std::unique_ptr<CounterMetric> NewEngineErrorsMetric(
      absl::string_view name) override {
    return New(MetricKind::kEngineErrors, name);
  }
  std::unique_ptr<SettableGaugeMetric> NewEngineUnreachableSecondsMetric(
      absl::string_view name) override {
    return New(MetricKind::kEngineUnreachable, name);
  }
  std::unique_ptr<SettableGaugeMetric> NewEngineWrongSettingsMetric(
      absl::string_view name) override {
    return New(MetricKind::kWrongSettings, name);
  }
  std::unique_ptr<CounterMetric> NewRetriesMetric(
      absl::string_view name) override {
    return New(MetricKind::kRetries, name);
  }

 private:
  // A metric of any type, which writes to the record of its kind.
  class Metric final : public GaugeMetric,
                       public PriorityGaugeMetric,
                       public CounterMetric,
                       public HistogramMetric,
                       public SettableGaugeMetric {
   public:
    Metric(RecordingMetrics* metrics, MetricKind kind)
        : metrics_(metrics), kind_(kind) {
      Write([](Record& r) { ++r.live; });
    }
    ~Metric() override {
      Write([](Record& r) { --r.live; });
    }

    Metric(const Metric&) = delete;
    Metric& operator=(const Metric&) = delete;

    void Inc() override {
      Called([](Record& r) { ++r.incs; });
    }
    void Dec() override {
      Called([](Record& r) { ++r.decs; });
    }
    void Inc(int priority) override {
      Called([priority](Record& r) {
        ++r.incs;
        ++r.by_priority[priority];
      });
    }
    void Dec(int priority) override {
      Called([priority](Record& r) {
        ++r.decs;
        --r.by_priority[priority];
      });
    }
    void Observe(double value) override { Set(value); }
    void Set(double value) override {
      Called([value](Record& r) { r.values.push_back(value); });
    }

   private:
    template <typename F>
    void Called(F&& write) {
      metrics_->on_call(kind_);
      Write(write);
    }

    template <typename F>
    void Write(F&& write) {
      internal::MutexLock lock(&metrics_->mu_);
      write(metrics_->records_[kind_]);
    }

    RecordingMetrics* const metrics_;
    const MetricKind kind_;
  };

  std::unique_ptr<Metric> New(MetricKind kind, absl::string_view name) {
    {
      internal::MutexLock lock(&mu_);
      records_[kind].names.emplace_back(name);
    }
    for (MetricKind other : unwanted) {
      if (other == kind) return nullptr;
    }
    return std::make_unique<Metric>(this, kind);
  }

  mutable absl::Mutex mu_;
  std::map<MetricKind, Record> records_ ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_RECORDING_METRICS_H_
