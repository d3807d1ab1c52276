// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <utility>

#include "absl/time/time.h"
#include "examples/mirror/latency_histogram.h"
#include "examples/mirror/queue_metrics.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/priority_queue.h"

namespace mirror {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(QueueMetricsTest, CountTheEventsOfAQueue) {
  workqueue::FakeClock clock;
  QueueMetrics metrics;
  workqueue::PriorityQueueOptions<std::string> options;
  options.name = "test";
  options.metrics_provider = &metrics;
  options.clock = &clock;
  workqueue::PriorityQueue<std::string> queue(std::move(options));

  for (int i = 0; i < 3; ++i) queue.Add("a");
  queue.Add("b");
  EXPECT_EQ(metrics.adds(), 2);
  clock.Step(absl::Seconds(2));
  EXPECT_EQ(queue.Get(), "a");
  EXPECT_GE(metrics.latency().Percentile(1), absl::Seconds(2));
  queue.AddRateLimited("a");
  EXPECT_EQ(metrics.retries(), 1);
  EXPECT_EQ(metrics.done(), 0);
  queue.Done("a");
  EXPECT_EQ(metrics.done(), 1);
  EXPECT_EQ(metrics.adds(), 2);
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(metrics.adds(), 3);
}

TEST(QueueMetricsTest, PassOnAll) {
  workqueue::FakeClock clock;
  workqueue::RecordingMetrics next;
  next.with_priorities = true;
  QueueMetrics metrics(&next);
  workqueue::PriorityQueueOptions<std::string> options;
  options.name = "test";
  options.metrics_provider = &metrics;
  options.clock = &clock;
  workqueue::PriorityQueue<std::string> queue(std::move(options));
  for (const workqueue::MetricKind kind : workqueue::kMetricKinds) {
    EXPECT_THAT(next.record(kind).names, ElementsAre("test"));
  }

  queue.Add("a");
  EXPECT_THAT(next.depth_by_priority(), ElementsAre(Pair(0, 1)));
  clock.Step(absl::Seconds(2));
  EXPECT_EQ(queue.Get(), "a");
  clock.Step(absl::Seconds(3));
  queue.AddRateLimited("a");
  queue.Done("a");
  EXPECT_EQ(next.count(workqueue::MetricKind::kAdds), 1);
  EXPECT_EQ(next.count(workqueue::MetricKind::kRetries), 1);
  EXPECT_THAT(next.values(workqueue::MetricKind::kLatency), ElementsAre(2));
  EXPECT_THAT(next.values(workqueue::MetricKind::kWorkDuration),
              ElementsAre(3));
  EXPECT_EQ(metrics.adds(), 1);
  EXPECT_EQ(metrics.retries(), 1);
  EXPECT_EQ(metrics.done(), 1);
}

TEST(LatencyHistogramTest, Percentile) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.Percentile(0.5), absl::ZeroDuration());
  for (int i = 1; i <= 1000; ++i) histogram.Observe(i * 1e-3);
  for (const double fraction : {0.01, 0.5, 0.99, 1.0}) {
    const double seconds =
        absl::ToDoubleSeconds(histogram.Percentile(fraction));
    EXPECT_GE(seconds, fraction);
    EXPECT_LE(seconds, fraction * 1.1);
  }
  EXPECT_GT(histogram.Percentile(0), absl::ZeroDuration() - absl::Seconds(1));
  for (const double extreme : {0.0, -1.0, 1e-300, 1e300}) {
    histogram.Observe(extreme);
  }
  EXPECT_GT(histogram.Percentile(1), absl::Hours(1));
}

}  // namespace
}  // namespace mirror
