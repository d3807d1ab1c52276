// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "examples/mirror/queue_metrics.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prometheus/registry.h"
#include "test/prometheus/exposition.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/metrics.h"
#include "workqueue/priority_queue.h"
#include "workqueue/prometheus/prometheus_metrics_provider.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/shared/testing/memory_engine.h"

namespace mirror::mirror_queue_metrics_test {
namespace {

using ::testing::_;
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

// Returns the metrics of a process that has a shared queue twice, with an item
// that waits.
workqueue::Exposition MetricsOfSharedQueue(bool through_queue_metrics) {
  workqueue::FakeClock clock;
  workqueue::MemoryEngine engine(&clock);
  const auto registry = std::make_shared<prometheus::Registry>();
  const auto provider =
      workqueue::PrometheusMetricsProvider::Create(registry).value();
  QueueMetrics metrics(provider.get());
  std::vector<std::unique_ptr<workqueue::SharedQueue<std::string>>> queues;
  for (const char* const client : {"a", "b"}) {
    workqueue::SharedQueueOptions<std::string> options;
    options.name = "test";
    options.clock = &clock;
    options.engine = &engine;
    options.client_name = client;
    options.metrics_provider = provider.get();
    if (through_queue_metrics) options.metrics_provider = &metrics;
    queues.push_back(
        workqueue::SharedQueue<std::string>::Create(options).value());
  }
  queues[0]->AddAfter("a", absl::Hours(1));
  clock.Step(absl::Seconds(10));  // Both hear of it.
  return workqueue::Scrape(*registry);
}

TEST(QueueMetricsTest, PassOnAllOfASharedQueue) {
  const workqueue::Exposition all = MetricsOfSharedQueue(false);
  const workqueue::Exposition passed_on = MetricsOfSharedQueue(true);
  EXPECT_EQ(passed_on.types, all.types);
  // The largest number, and not the sum.
  for (const char* const gauge : {"workqueue_depth", "workqueue_failing_items",
                                  "workqueue_waiting_items"}) {
    EXPECT_EQ(passed_on.SamplesOf(gauge), all.SamplesOf(gauge));
  }
  EXPECT_THAT(all.SamplesOf("workqueue_waiting_items"),
              ElementsAre(Pair(_, 1)));
}

}  // namespace
}  // namespace mirror::mirror_queue_metrics_test
