// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_CONFORMANCE_QUEUE_SUBJECT_H_
#define WORKQUEUE_TEST_CONFORMANCE_QUEUE_SUBJECT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "test/conformance/recorder.h"
#include "test/conformance/subject.h"
#include "test/conformance/trace.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/interfaces.h"

namespace conformance {

// What the subjects of all queues share: the clock, the metrics if the trace
// has them, and the operations of each layer's interface.
//
// A subclass owns the queue, makes it with `NewOptions()`, and calls those of
// `OnBase()`, `OnDelaying()` and `OnRateLimiting()` that it can.
class QueueSubject : public Subject {
 protected:
  using Item = std::string;

  explicit QueueSubject(const Header& header);

  // Returns the options that say which clock to go by and what to report to:
  // a queue without metrics has no name.
  template <typename Options>
  Options NewOptions() {
    Options options;
    options.clock = &clock_;
    if (metrics_) {
      options.name = "conformance";
      options.metrics_provider = &recorder_;
    }
    return options;
  }

  void OnBase(workqueue::Interface<Item>* queue);
  void OnDelaying(workqueue::DelayingInterface<Item>* queue);
  void OnRateLimiting(workqueue::RateLimitingInterface<Item>* queue);

 private:
  void OnMetrics();
  void OnHistogram(absl::string_view operation,
                   const Recorder::Observations& observations);

  const bool metrics_;
  workqueue::FakeClock clock_;
  Recorder recorder_;
};

}  // namespace conformance

#endif  // WORKQUEUE_TEST_CONFORMANCE_QUEUE_SUBJECT_H_
