// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_TICKER_H_
#define WORKQUEUE_INTERNAL_TICKER_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::internal {

// Ticker
//
// Calls a function each time that a period has passed, counted from the
// creation of the ticker. The call is on the thread of a waiting loop. If
// several periods pass before the call, the function is called once for them.
// If the clock goes back, the periods count from then on. The function must not
// throw. The destructor blocks until no call is in progress.
class Ticker final : private WaitingLoop::Client {
 public:
  Ticker(std::shared_ptr<WaitingLoop> loop, std::function<void()> function)
      : loop_(std::move(loop)),
        function_(std::move(function)),
        next_(loop_->clock()->TimeNow() + kPeriod) {
    loop_->Add(this);
  }

  ~Ticker() override { loop_->Remove(this); }

 private:
  static constexpr absl::Duration kPeriod = absl::Milliseconds(500);

  absl::Time Run(absl::Time now) override {
    if (now >= next_) {
      function_();
      next_ += absl::Floor(now - next_, kPeriod) + kPeriod;
    }
    next_ = (std::min)(next_, now + kPeriod);  // The clock may have gone back.
    return next_;
  }

  const std::shared_ptr<WaitingLoop> loop_;
  const std::function<void()> function_;
  absl::Time next_;
};

// The function of a `MetricsProvider` that makes a gauge.
using MakeGauge = std::unique_ptr<SettableGaugeMetric> (MetricsProvider::*)(
    absl::string_view name);

// Sets a gauge of the queue `name` to the result of `sample()`, now and at each
// tick, until the result is destroyed. If `sample()` returns nothing, the gauge
// is not set. If it throws, or the gauge, the error is logged.
//
// Makes the gauge with the provider's function `make` when there is a value
// first: a gauge that is not set says 0. Chooses the provider as
// `QueueMetrics::Create()` does. Returns null if there is none. `log_sink` may
// be null.
std::unique_ptr<Ticker> SampleGauge(
    absl::string_view name, MetricsProvider* provider, MakeGauge make,
    LogSink* log_sink, std::shared_ptr<WaitingLoop> loop,
    std::function<std::optional<size_t>()> sample);

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_TICKER_H_
