// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <utility>

#include "absl/time/time.h"
#include "examples/mirror/queue_metrics.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/priority_queue.h"

namespace mirror::mirror_queue_metrics_test {
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

}  // namespace
}  // namespace mirror::mirror_queue_metrics_test
