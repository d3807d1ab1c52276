// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A fixture and helpers for the tests of `PriorityQueue`.

#ifndef WORKQUEUE_TEST_WORKQUEUE_PRIORITY_QUEUE_FIXTURE_H_
#define WORKQUEUE_TEST_WORKQUEUE_PRIORITY_QUEUE_FIXTURE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "ratelimit/rate_limiter.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/priority_queue.h"

namespace workqueue {

using Strings = std::vector<std::string>;
using Depth = std::map<int, int>;
using Taken = std::pair<std::string, int>;

inline constexpr absl::Duration kNs = absl::Nanoseconds(1);
inline constexpr absl::Duration kMs = absl::Milliseconds(1);
inline constexpr absl::Duration kSecond = absl::Seconds(1);

inline AddOptions At(int priority,
                     absl::Duration after = absl::ZeroDuration()) {
  AddOptions options;
  options.after = after;
  options.priority = priority;
  return options;
}

inline AddOptions After(absl::Duration after) { return At(0, after); }

inline AddOptions RateLimited(absl::Duration after = absl::ZeroDuration()) {
  AddOptions options = After(after);
  options.rate_limited = true;
  return options;
}

template <typename T>
PriorityQueueOptions<T> On(Clock* clock) {
  PriorityQueueOptions<T> options;
  options.clock = clock;
  return options;
}

class PriorityQueueTest : public testing::Test {
 protected:
  PriorityQueueTest() { Make(nullptr); }

  // Replaces the queue by a new one with `limiter`.
  void Make(std::unique_ptr<RateLimiter<std::string>> limiter) {
    metrics_.with_priorities = true;
    auto options = On<std::string>(&clock_);
    options.name = "test";
    options.metrics_provider = &metrics_;
    options.rate_limiter = std::move(limiter);
    queue_ = std::make_unique<PriorityQueue<std::string>>(std::move(options));
  }

  bool Add(const AddOptions& options, const Strings& items) {
    return queue_->AddWithOptions(options, items);
  }

  // Gets the next item, and returns it with its priority.
  Taken Take() {
    if (queue_->Len() == 0 && !queue_->ShuttingDown()) return {"<none>", 0};
    const std::optional<ItemWithPriority<std::string>> got =
        queue_->GetWithPriority();
    if (!got.has_value()) return {"<shutdown>", 0};
    return {got->item, got->priority};
  }

  // Gets all queued items, and calls `Done()` for each.
  std::vector<Taken> TakeAll() {
    std::vector<Taken> all;
    while (queue_->Len() > 0) {
      all.push_back(Take());
      EXPECT_TRUE(queue_->Done(all.back().first));
    }
    return all;
  }

  int adds() const { return metrics_.count(MetricKind::kAdds); }
  int retries() const { return metrics_.count(MetricKind::kRetries); }
  Depth depth() const { return metrics_.depth_by_priority(); }

  FakeClock clock_;
  RecordingMetrics metrics_;
  std::unique_ptr<PriorityQueue<std::string>> queue_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_PRIORITY_QUEUE_FIXTURE_H_
