// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/internal/queue_metrics.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/container/btree_map.h"
#include "absl/memory/memory.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/clock/clock.h"
#include "workqueue/internal/compact_time.h"
#include "workqueue/internal/ticker.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::internal {

// AddTimes
//
// The times at which the items of a queue were added, to find the earliest one.
// Counts the items of each tenth of a second. So it is small if the items of a
// queue were added within a short time, and has at most one count for each
// item.
//
// `Insert()` and `Erase()` take O(log n) for n counts. `Earliest()` takes
// constant time. Only `Insert()` throws (`std::bad_alloc`). Not thread-safe.
class QueueMetrics::AddTimes {
 public:
  void Insert(absl::Time added) {
    const auto it = counts_.try_emplace(ToTenths(added), 0).first;
    ++it->second;
    // The count before may be the one that Erase() has kept.
    if (it != counts_.begin() && std::prev(it)->second == 0) {
      counts_.erase(std::prev(it));
    }
  }

  // Undoes one `Insert(added)`. Does nothing if there was none.
  void Erase(absl::Time added) {
    const auto it = counts_.find(ToTenths(added));
    if (it == counts_.end() || it->second == 0) return;
    // The latest count is likely to be used again, so it is kept.
    if (--it->second == 0 && std::next(it) != counts_.end()) counts_.erase(it);
  }

  // Returns the earliest time, rounded to a tenth of a second; nothing if there
  // is no item.
  std::optional<absl::Time> Earliest() const {
    if (counts_.empty() || counts_.begin()->second == 0) return std::nullopt;
    return absl::UnixEpoch() + absl::Milliseconds(100) * counts_.begin()->first;
  }

 private:
  static int64_t ToTenths(absl::Time time) {
    return absl::ToUnixMillis(time) / 100;
  }

  // Only the last count may be zero.
  absl::btree_map<int64_t, size_t> counts_;
};

MetricsProvider* ProviderFor(absl::string_view name,
                             MetricsProvider* provider) {
  if (name.empty()) return nullptr;
  return provider != nullptr ? provider : GetProvider();
}

std::unique_ptr<QueueMetrics> QueueMetrics::Create(absl::string_view name,
                                                   MetricsProvider* provider,
                                                   Clock* clock,
                                                   bool has_priorities) {
  provider = ProviderFor(name, provider);
  if (provider == nullptr) return nullptr;
  return absl::WrapUnique(
      new QueueMetrics(name, provider, clock, has_priorities));
}

QueueMetrics::QueueMetrics(absl::string_view name, MetricsProvider* provider,
                           Clock* clock, bool has_priorities)
    : clock_(clock),
      depth_by_priority_(has_priorities
                             ? provider->NewDepthMetricWithPriority(name)
                             : nullptr),
      depth_(depth_by_priority_ == nullptr ? provider->NewDepthMetric(name)
                                           : nullptr),
      adds_(provider->NewAddsMetric(name)),
      latency_(provider->NewLatencyMetric(name)),
      work_duration_(provider->NewWorkDurationMetric(name)),
      unfinished_work_seconds_(provider->NewUnfinishedWorkSecondsMetric(name)),
      longest_running_processor_seconds_(
          provider->NewLongestRunningProcessorSecondsMetric(name)),
      oldest_queued_seconds_(provider->NewOldestQueuedSecondsMetric(name)),
      queued_(oldest_queued_seconds_ == nullptr
                  ? nullptr
                  : std::make_unique<AddTimes>()) {}

QueueMetrics::~QueueMetrics() = default;

void QueueMetrics::InsertTime(const ItemTimes& times) {
  if (queued_ != nullptr) queued_->Insert(times.added.Get());
}

void QueueMetrics::EraseTime(const ItemTimes& times) {
  if (queued_ != nullptr) queued_->Erase(times.added.Get());
}

void QueueMetrics::IncDepth(int priority) {
  if (depth_by_priority_ != nullptr) depth_by_priority_->Inc(priority);
  if (depth_ != nullptr) depth_->Inc();
}

void QueueMetrics::DecDepth(int priority) {
  if (depth_by_priority_ != nullptr) depth_by_priority_->Dec(priority);
  if (depth_ != nullptr) depth_->Dec();
}

void QueueMetrics::OnAdd(const ItemTimes& times, int priority, bool certain) {
  if (certain) {  // The depth counts it without memory, too.
    TryCall([&] { InsertTime(times); });
  } else {
    InsertTime(times);
  }
  bool in_depth = false;
  absl::Cleanup undo = [&] {
    if (certain) return;
    EraseTime(times);
    if (in_depth) TryCall([&] { DecDepth(priority); });
  };
  IncDepth(priority);
  in_depth = true;
  if (adds_ != nullptr) adds_->Inc();
  std::move(undo).Cancel();
}

void QueueMetrics::OnNotAdded(const ItemTimes& times, int priority) {
  EraseTime(times);
  DecDepth(priority);
}

void QueueMetrics::OnGet(ItemTimes& times, int priority) {
  times.started = CompactTime(clock_->TimeNow());
  // If a metric throws, the item stays queued, so its depth must not change.
  Observe(latency_, times.started.Get() - times.added.Get());
  DecDepth(priority);
  EraseTime(times);
  if (in_progress_++ == 0) {
    epoch_ = times.started.Get();
    starts_ = absl::ZeroDuration();
  }
  starts_ += times.started.Get() - epoch_;
}

void QueueMetrics::OnPriorityChange(int from, int to, bool certain) {
  if (depth_by_priority_ == nullptr || from == to) return;
  depth_by_priority_->Inc(to);
  absl::Cleanup undo = [&] {
    if (!certain) TryCall([&] { depth_by_priority_->Dec(to); });
  };
  depth_by_priority_->Dec(from);
  std::move(undo).Cancel();
}

void QueueMetrics::EndProgress(const ItemTimes& times) {
  --in_progress_;
  starts_ -= times.started.Get() - epoch_;
}

void QueueMetrics::OnGiveBack(const ItemTimes& times, int priority,
                              std::optional<int> added_priority) {
  EndProgress(times);
  if (added_priority.has_value()) {
    OnPriorityChange(*added_priority, priority, /*certain=*/true);
    return;
  }
  TryCall([&] { InsertTime(times); });
  IncDepth(priority);
}

void QueueMetrics::OnDone(const ItemTimes& times) {
  EndProgress(times);
  Observe(work_duration_, clock_->TimeNow() - times.started.Get());
}

void QueueMetrics::UpdateOldestQueued() {
  if (queued_ == nullptr) return;
  const std::optional<absl::Time> oldest = queued_->Earliest();
  Set(oldest_queued_seconds_,
      oldest.has_value() ? clock_->TimeNow() - *oldest : absl::ZeroDuration());
}

void QueueMetrics::UpdateUnfinishedWork(const ItemTimes* oldest) {
  const absl::Time now = clock_->TimeNow();
  Set(unfinished_work_seconds_,
      static_cast<int64_t>(in_progress_) * (now - epoch_) - starts_);
  Set(longest_running_processor_seconds_,
      oldest == nullptr ? absl::ZeroDuration() : now - oldest->started.Get());
}

std::unique_ptr<CounterMetric> NewRetriesMetric(absl::string_view name,
                                                MetricsProvider* provider) {
  provider = ProviderFor(name, provider);
  return provider == nullptr ? nullptr : provider->NewRetriesMetric(name);
}

std::unique_ptr<Ticker> SampleGauge(
    absl::string_view name, MetricsProvider* provider, MakeGauge make,
    LogSink* log_sink, std::shared_ptr<WaitingLoop> loop,
    std::function<std::optional<size_t>()> sample) {
  provider = ProviderFor(name, provider);
  if (provider == nullptr) return nullptr;
  const auto errors =
      std::make_shared<ErrorLog>("queue", name, log_sink, loop->clock());
  auto tick = [errors, provider, make, name = std::string(name),
               gauge = std::shared_ptr<SettableGaugeMetric>(),
               sample = std::move(sample)]() mutable {
    errors->Try([] { return "a gauge cannot be set"; },
                [&] {
                  const std::optional<size_t> value = sample();
                  if (!value.has_value()) return;
                  if (make != nullptr) gauge = (provider->*make)(name);
                  make = nullptr;
                  if (gauge != nullptr) gauge->Set(static_cast<double>(*value));
                });
  };
  tick();
  return std::make_unique<Ticker>(std::move(loop), std::move(tick));
}

}  // namespace workqueue::internal
