// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_CONFORMANCE_QUEUE_SUBJECT_H_
#define WORKQUEUE_TEST_CONFORMANCE_QUEUE_SUBJECT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "test/conformance/subject.h"
#include "test/conformance/trace.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/metrics.h"

namespace conformance {

// QueueSubject
//
// The common base class of all queues' subjects. It has the clock, the metrics
// if the trace has them, and the operations of each layer's interface.
//
// A subclass owns the queue and creates it with the options from
// `NewOptions()`. It calls `OnBase()`, `OnDelaying()` and `OnRateLimiting()` as
// far as its queue supports them.
class QueueSubject : public Subject {
 protected:
  using Item = std::string;

  explicit QueueSubject(const Header& header);

  workqueue::FakeClock* clock() { return &clock_; }

  // Null if the trace has no metrics.
  workqueue::MetricsProvider* metrics_provider() {
    return metrics_ ? &recording_ : nullptr;
  }

  // Returns options with the clock and the metrics provider. A queue without
  // metrics has no name.
  template <typename Options>
  Options NewOptions() {
    Options options;
    options.clock = &clock_;
    if (metrics_) {
      options.name = "conformance";
      options.metrics_provider = &recording_;
    }
    return options;
  }

  void OnBase(workqueue::Interface<Item>* queue);
  void OnDelaying(workqueue::DelayingInterface<Item>* queue);
  void OnRateLimiting(workqueue::RateLimitingInterface<Item>* queue);

 private:
  void OnMetrics();
  void OnCount(absl::string_view operation, workqueue::MetricKind kind);
  void OnGauge(absl::string_view operation, workqueue::MetricKind kind);
  void OnHistogram(absl::string_view operation, workqueue::MetricKind kind);

  const bool metrics_;
  workqueue::FakeClock clock_;
  workqueue::RecordingMetrics recording_;
};

}  // namespace conformance

#endif  // WORKQUEUE_TEST_CONFORMANCE_QUEUE_SUBJECT_H_
