// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/conformance/queue_subject.h"

#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "test/conformance/trace.h"
#include "test/conformance/value.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/interfaces.h"

namespace conformance {
namespace {

using ::workqueue::MetricKind;

const std::string& ItemIn(const std::vector<Value>& args) {
  return std::get<std::string>(args[0]);
}

}  // namespace

QueueSubject::QueueSubject(const Header& header) : metrics_(header.metrics) {
  if (metrics_) OnMetrics();
  On("step", [this](const Args& args) {
    clock_.Step(std::get<absl::Duration>(args[0]));
    return Result();
  });
}

void QueueSubject::OnBase(workqueue::Interface<Item>* queue) {
  On("add", [queue](const Args& args) {
    queue->Add(ItemIn(args));
    return Result();
  });
  On("done", [queue](const Args& args) {
    queue->Done(ItemIn(args));
    return Result();
  });
  On("get", [queue](const Args&) {
    // Get() would block forever.
    if (queue->Len() == 0 && !queue->ShuttingDown()) {
      return Result{std::string("<would block>")};
    }
    return Result{queue->Get().value_or("<shutdown>")};
  });
  On("len", [queue](const Args&) {
    return Result{static_cast<int64_t>(queue->Len())};
  });
  On("shutdown", [queue](const Args&) {
    queue->ShutDown();
    return Result();
  });
  On("shuttingdown",
     [queue](const Args&) { return Result{queue->ShuttingDown()}; });
}

void QueueSubject::OnDelaying(workqueue::DelayingInterface<Item>* queue) {
  On("addafter", [this, queue](const Args& args) {
    queue->AddAfter(ItemIn(args), std::get<absl::Duration>(args[1]));
    // Waits until the queue's loop has handled it.
    clock_.Step(absl::ZeroDuration());
    return Result();
  });
}

void QueueSubject::OnRateLimiting(
    workqueue::RateLimitingInterface<Item>* queue) {
  On("addratelimited", [this, queue](const Args& args) {
    queue->AddRateLimited(ItemIn(args));
    // Waits until the queue's loop has handled it.
    clock_.Step(absl::ZeroDuration());
    return Result();
  });
  On("forget", [queue](const Args& args) {
    queue->Forget(ItemIn(args));
    return Result();
  });
  On("numrequeues", [queue](const Args& args) {
    return Result{int64_t{queue->NumRequeues(ItemIn(args))}};
  });
}

void QueueSubject::OnMetrics() {
  // client-go has no such metrics.
  recording_.unwanted = {
      MetricKind::kOldestQueued, MetricKind::kWaitingItems,
      MetricKind::kFailingItems, MetricKind::kEngineDepth,
      MetricKind::kEngineErrors, MetricKind::kEngineUnreachable,
      MetricKind::kWrongSettings};
  OnCount("metrics depth", MetricKind::kDepth);
  OnCount("metrics adds", MetricKind::kAdds);
  OnCount("metrics retries", MetricKind::kRetries);
  OnHistogram("metrics latency", MetricKind::kLatency);
  OnHistogram("metrics work", MetricKind::kWorkDuration);
  OnGauge("metrics unfinished", MetricKind::kUnfinishedWork);
  OnGauge("metrics longest", MetricKind::kLongestRunning);
}

void QueueSubject::OnCount(absl::string_view operation, MetricKind kind) {
  On(operation, [this, kind](const Args&) {
    return Result{int64_t{recording_.count(kind)}};
  });
}

void QueueSubject::OnGauge(absl::string_view operation, MetricKind kind) {
  On(operation, [this, kind](const Args&) {
    const std::vector<double> values = recording_.values(kind);
    return Result{values.empty() ? 0 : values.back()};
  });
}

void QueueSubject::OnHistogram(absl::string_view operation, MetricKind kind) {
  On(operation, [this, kind](const Args&) {
    const std::vector<double> values = recording_.values(kind);
    return Result{static_cast<int64_t>(values.size()),
                  std::accumulate(values.begin(), values.end(), 0.0)};
  });
}

}  // namespace conformance
