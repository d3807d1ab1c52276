// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/metrics.h"

#include <atomic>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::metrics_test {
namespace {

using Values = std::vector<double>;

constexpr absl::Duration kUpdatePeriod = absl::Milliseconds(500);

class MetricsTest : public testing::Test {
 protected:
  // Options that report to `metrics_`.
  template <typename Options>
  Options Reporting() {
    Options options;
    options.name = "test";
    options.metrics_provider = &metrics_;
    options.clock = &clock_;
    return options;
  }

  FakeClock clock_;
  RecordingMetrics metrics_;
};

class QueueMetricsTest : public MetricsTest {
 protected:
  Queue<std::string> queue_{Reporting<QueueOptions<std::string>>()};
};

class DelayingQueueMetricsTest : public MetricsTest {
 protected:
  DelayingQueue<std::string> queue_{
      Reporting<DelayingQueueOptions<std::string>>()};
};

template <typename Queue, typename Options>
void ProcessOneItem(MetricsProvider* provider) {
  FakeClock clock;
  Options options;
  options.name = "test";
  options.metrics_provider = provider;
  options.clock = &clock;
  Queue queue(std::move(options));
  queue.AddAfter("a", kUpdatePeriod);
  clock.Step(kUpdatePeriod);
  EXPECT_EQ(queue.Get(), "a");
  EXPECT_TRUE(queue.Done("a"));
}

TEST(LeastProviderTest, AProviderMayOverrideOnlyWhatItMust) {
  MetricsProvider provider;
  ProcessOneItem<RateLimitingQueue<std::string>,
                 RateLimitingQueueOptions<std::string>>(&provider);
  ProcessOneItem<PriorityQueue<std::string>, PriorityQueueOptions<std::string>>(
      &provider);
}

// -----------------------------------------------------------------------------
// The tests of client-go's metrics_test.go, under their names
// -----------------------------------------------------------------------------

TEST_F(QueueMetricsTest, MetricShutdown) {
  clock_.Step(kUpdatePeriod);
  EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).size(), 1u);
  queue_.ShutDown();
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).size(), 1u);
}

TEST_F(QueueMetricsTest, Metrics) {
  queue_.Add("foo");
  EXPECT_EQ(metrics_.count(MetricKind::kAdds), 1);
  EXPECT_EQ(metrics_.count(MetricKind::kDepth), 1);

  clock_.Step(absl::Microseconds(50));
  ASSERT_EQ(queue_.Get(), "foo");
  EXPECT_EQ(metrics_.values(MetricKind::kLatency), Values{5e-05});

  // Several adds of an item while it is processed count once.
  for (int i = 0; i < 5; ++i) queue_.Add("foo");
  EXPECT_EQ(metrics_.count(MetricKind::kAdds), 2);
  EXPECT_EQ(metrics_.count(MetricKind::kDepth), 1);

  clock_.Step(absl::Microseconds(25));
  queue_.Done("foo");
  EXPECT_EQ(metrics_.values(MetricKind::kWorkDuration), Values{2.5e-05});
  EXPECT_EQ(metrics_.count(MetricKind::kDepth), 1);

  // The second latency begins at the `Add()`, not at the `Done()`.
  ASSERT_EQ(queue_.Get(), "foo");
  EXPECT_EQ(metrics_.values(MetricKind::kLatency), (Values{5e-05, 2.5e-05}));

  clock_.Step(kUpdatePeriod);
  EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).back(), 0.5);
  EXPECT_EQ(metrics_.values(MetricKind::kLongestRunning).back(), 0.5);

  queue_.Done("foo");
  EXPECT_EQ(metrics_.values(MetricKind::kWorkDuration), (Values{2.5e-05, 0.5}));
}

// -----------------------------------------------------------------------------
// Which metrics a queue reports to
// -----------------------------------------------------------------------------

enum class Layer { kQueue, kDelaying, kRateLimiting };

// Returns the lowest layer that has metrics of `kind`.
Layer LayerOf(MetricKind kind) {
  switch (kind) {
    case MetricKind::kRetries:
    case MetricKind::kWaitingItems:
      return Layer::kDelaying;
    case MetricKind::kFailingItems:
      return Layer::kRateLimiting;
    default:
      return Layer::kQueue;
  }
}

TEST_F(QueueMetricsTest, AreMadeOnceForAQueue) {
  for (MetricKind kind : kMetricKinds) {
    EXPECT_EQ(metrics_.record(kind).names,
              std::vector<std::string>(LayerOf(kind) == Layer::kQueue, "test"));
  }
}

TEST_F(DelayingQueueMetricsTest, AreMadeOnceForADelayingQueue) {
  for (MetricKind kind : kMetricKinds) {
    EXPECT_EQ(
        metrics_.record(kind).names,
        std::vector<std::string>(LayerOf(kind) <= Layer::kDelaying, "test"));
  }
}

TEST_F(MetricsTest, AreMadeOnceForARateLimitingQueue) {
  const RateLimitingQueue<std::string> queue(
      Reporting<RateLimitingQueueOptions<std::string>>());
  for (MetricKind kind : kMetricKinds) {
    EXPECT_EQ(metrics_.record(kind).names, std::vector<std::string>{"test"});
  }
}

TEST_F(MetricsTest, OfAQueueBelowAreItsOwn) {
  auto below_options = Reporting<QueueOptions<std::string>>();
  below_options.name = "below";
  auto options = Reporting<DelayingQueueOptions<std::string>>();
  options.name = "above";
  const auto queue = *DelayingQueue<std::string>::Create(
      std::make_unique<Queue<std::string>>(std::move(below_options)),
      std::move(options));
  for (MetricKind kind : kMetricKinds) {
    if (LayerOf(kind) == Layer::kRateLimiting) continue;
    const bool above = LayerOf(kind) == Layer::kDelaying;
    EXPECT_EQ(metrics_.record(kind).names,
              std::vector<std::string>{above ? "above" : "below"});
  }
}

TEST_F(MetricsTest, AQueueWithoutANameReportsNothing) {
  auto options = Reporting<DelayingQueueOptions<std::string>>();
  options.name.clear();
  DelayingQueue<std::string> queue(std::move(options));
  queue.AddAfter("a", absl::ZeroDuration());
  queue.Get();
  clock_.Step(kUpdatePeriod);
  queue.Done("a");
  for (MetricKind kind : kMetricKinds) {
    const RecordingMetrics::Record record = metrics_.record(kind);
    EXPECT_TRUE(record.names.empty());
    EXPECT_TRUE(record.values.empty());
    EXPECT_EQ(record.incs, 0);
  }
}

TEST_F(MetricsTest, ANameWithoutAProviderReportsNothing) {
  QueueOptions<std::string> options;
  options.name = "test";
  options.clock = &clock_;
  Queue<std::string> queue(std::move(options));
  queue.Add("a");
  queue.Get();
  queue.Done("a");
  EXPECT_FALSE(clock_.HasWaiters()) << "nor is there a reason for a thread";
}

TEST_F(MetricsTest, AreDestroyedWithTheirQueue) {
  {
    const RateLimitingQueue<std::string> queue(
        Reporting<RateLimitingQueueOptions<std::string>>());
    for (MetricKind kind : kMetricKinds) {
      EXPECT_EQ(metrics_.record(kind).live, 1);
    }
  }
  for (MetricKind kind : kMetricKinds) {
    EXPECT_EQ(metrics_.record(kind).live, 0);
  }
  EXPECT_FALSE(clock_.HasWaiters());
}

// Unwanted metrics do not affect the others.
TEST_F(MetricsTest, AnyMayBeUnwanted) {
  for (MetricKind unwanted : kMetricKinds) {
    RecordingMetrics metrics;
    metrics.unwanted = {unwanted};
    auto options = Reporting<RateLimitingQueueOptions<std::string>>();
    options.metrics_provider = &metrics;
    RateLimitingQueue<std::string> queue(std::move(options));
    queue.AddAfter("a", absl::ZeroDuration());
    queue.Get();
    clock_.Step(kUpdatePeriod);
    queue.Done("a");
    for (MetricKind kind : kMetricKinds) {
      const RecordingMetrics::Record record = metrics.record(kind);
      EXPECT_EQ(record.incs == 0 && record.values.empty(), kind == unwanted);
    }
  }
}

TEST_F(MetricsTest, AllMayBeUnwanted) {
  metrics_.unwanted.assign(std::begin(kMetricKinds), std::end(kMetricKinds));
  RateLimitingQueue<std::string> queue(
      Reporting<RateLimitingQueueOptions<std::string>>());
  queue.AddAfter("a", absl::Seconds(1));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(queue.Get(), "a");
  EXPECT_TRUE(queue.Done("a"));
}

// -----------------------------------------------------------------------------
// Depth, adds, latency, work duration
// -----------------------------------------------------------------------------

TEST_F(QueueMetricsTest, DepthIsWhatWaitsForAGet) {
  const auto depth = [this] { return metrics_.count(MetricKind::kDepth); };
  queue_.Add("a");
  queue_.Add("b");
  EXPECT_EQ(depth(), 2);
  queue_.Add("a");
  EXPECT_EQ(depth(), 2) << "it is there already";
  queue_.Get();
  EXPECT_EQ(depth(), 1);
  queue_.Add("a");
  queue_.Add("a");
  EXPECT_EQ(depth(), 2) << "added while it is processed";
  queue_.Done("a");
  EXPECT_EQ(depth(), 2) << "that has been counted";
  queue_.Get();
  queue_.Get();
  EXPECT_EQ(depth(), 0);
  queue_.Done("a");
  queue_.Done("b");
  EXPECT_EQ(depth(), 0);
}

TEST_F(QueueMetricsTest, AddsCountWhatMakesADifference) {
  const auto adds = [this] { return metrics_.count(MetricKind::kAdds); };
  queue_.Add("a");
  queue_.Add("a");
  EXPECT_EQ(adds(), 1);
  queue_.Get();
  queue_.Add("a");
  queue_.Add("a");
  EXPECT_EQ(adds(), 2);
  queue_.Done("a");
  EXPECT_EQ(adds(), 2);
  queue_.ShutDown();
  queue_.Add("b");
  EXPECT_EQ(adds(), 2);
}

TEST_F(QueueMetricsTest, LatencyIsFromTheFirstAddToGet) {
  queue_.Add("a");
  clock_.Step(absl::Seconds(2));
  queue_.Add("a");
  queue_.Add("b");
  clock_.Step(absl::Seconds(3));
  queue_.Get();
  clock_.Step(absl::Seconds(4));
  queue_.Get();
  EXPECT_EQ(metrics_.values(MetricKind::kLatency), (Values{5.0, 7.0}));
}

TEST_F(QueueMetricsTest, WorkDurationIsFromGetToDone) {
  queue_.Add("a");
  queue_.Add("b");
  clock_.Step(absl::Seconds(1));
  queue_.Get();
  clock_.Step(absl::Seconds(2));
  queue_.Get();
  clock_.Step(absl::Seconds(4));
  queue_.Done("b");
  clock_.Step(absl::Seconds(8));
  queue_.Done("a");
  EXPECT_EQ(metrics_.values(MetricKind::kWorkDuration), (Values{4.0, 14.0}));
}

TEST_F(QueueMetricsTest, GiveBackUndoesTheGetButForItsLatency) {
  queue_.Add("a");
  clock_.Step(absl::Seconds(1));
  Lease<std::string> lease = *queue_.Acquire();
  clock_.Step(absl::Seconds(2));
  EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).back(), 2.0);
  lease.GiveBack();
  EXPECT_EQ(metrics_.count(MetricKind::kDepth), 1);
  EXPECT_EQ(metrics_.count(MetricKind::kAdds), 1);
  EXPECT_TRUE(metrics_.values(MetricKind::kWorkDuration).empty());
  clock_.Step(absl::Seconds(4));
  EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).back(), 0.0);
  lease = *queue_.Acquire();
  EXPECT_EQ(metrics_.values(MetricKind::kLatency), (Values{1.0, 7.0}));
  queue_.Add("a");
  EXPECT_EQ(metrics_.count(MetricKind::kDepth), 1);
  lease.GiveBack();
  EXPECT_EQ(metrics_.count(MetricKind::kDepth), 1) << "it is queued once";
}

TEST_F(QueueMetricsTest, ASpuriousDoneDoesNotCount) {
  queue_.Add("a");
  queue_.Done("a");
  queue_.Get();
  queue_.Done("b");
  EXPECT_TRUE(metrics_.values(MetricKind::kWorkDuration).empty());
  queue_.Done("a");
  queue_.Done("a");
  EXPECT_EQ(metrics_.values(MetricKind::kWorkDuration), Values{0.0});
}

TEST_F(QueueMetricsTest, ShutDownDoesNotEndTheseMetrics) {
  queue_.Add("a");
  queue_.ShutDown();
  clock_.Step(absl::Seconds(1));
  queue_.Get();
  clock_.Step(absl::Seconds(2));
  queue_.Done("a");
  EXPECT_EQ(metrics_.values(MetricKind::kLatency), Values{1.0});
  EXPECT_EQ(metrics_.values(MetricKind::kWorkDuration), Values{2.0});
  EXPECT_EQ(metrics_.count(MetricKind::kDepth), 0);
}

TEST_F(DelayingQueueMetricsTest, LatencyBeginsWhenTheDelayEnds) {
  queue_.AddAfter("a", absl::Seconds(5));
  EXPECT_EQ(metrics_.count(MetricKind::kAdds), 0);
  EXPECT_EQ(metrics_.count(MetricKind::kDepth), 0);
  clock_.Step(absl::Seconds(5));
  EXPECT_EQ(metrics_.count(MetricKind::kAdds), 1);
  EXPECT_EQ(metrics_.count(MetricKind::kDepth), 1);
  clock_.Step(absl::Seconds(2));
  queue_.Get();
  EXPECT_EQ(metrics_.values(MetricKind::kLatency), Values{2.0});
}

// -----------------------------------------------------------------------------
// Unfinished work and longest running processor
// -----------------------------------------------------------------------------

TEST_F(QueueMetricsTest, WorkInProgressIsSetEveryHalfSecond) {
  for (int i = 1; i <= 20; ++i) {
    clock_.Step(kUpdatePeriod - absl::Nanoseconds(1));
    EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).size(), i - 1u);
    clock_.Step(absl::Nanoseconds(1));
    EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).size(), i + 0u);
    EXPECT_EQ(metrics_.values(MetricKind::kLongestRunning).size(), i + 0u);
  }
}

TEST_F(QueueMetricsTest, WorkInProgressIsSetOnceForAStepOverSeveral) {
  clock_.Step(absl::Milliseconds(1700));
  EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).size(), 1u);
  clock_.Step(absl::Milliseconds(299));
  EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).size(), 1u);
  clock_.Step(absl::Milliseconds(1));  // 2000, a multiple of the period.
  EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).size(), 2u);
}

TEST_F(QueueMetricsTest, UnfinishedWorkAddsUpAndLongestIsTheLongest) {
  const auto expect = [this](double unfinished, double longest) {
    EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).back(), unfinished);
    EXPECT_EQ(metrics_.values(MetricKind::kLongestRunning).back(), longest);
  };
  clock_.Step(absl::Seconds(1));
  expect(0, 0);
  for (const char* item : {"a", "b", "c", "waits"}) queue_.Add(item);
  clock_.Step(absl::Seconds(1));
  expect(0, 0);
  queue_.Get();  // "a"
  clock_.Step(absl::Seconds(1));
  expect(1, 1);
  queue_.Get();  // "b"
  queue_.Get();  // "c"
  clock_.Step(absl::Seconds(2));
  expect(3 + 2 + 2, 3);
  queue_.Add("a");  // Has no effect.
  queue_.Done("a");
  clock_.Step(absl::Seconds(1));
  expect(3 + 3, 3);
  queue_.Done("c");
  clock_.Step(absl::Seconds(1));
  expect(4, 4);
  queue_.Done("b");
  clock_.Step(absl::Seconds(1));
  expect(0, 0);
}

// The time of an item that is queued again starts at zero.
TEST_F(QueueMetricsTest, LongestRunningForgetsWhatIsDone) {
  queue_.Add("a");
  queue_.Add("b");
  queue_.Get();
  clock_.Step(absl::Seconds(1));
  queue_.Get();
  queue_.Add("a");
  queue_.Done("a");
  clock_.Step(absl::Seconds(1));
  ASSERT_EQ(queue_.Get(), "a");
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(metrics_.values(MetricKind::kLongestRunning).back(), 2.0);
  EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).back(), 2.0 + 1.0);
}

// The sum stays exact over many items and years.
TEST_F(QueueMetricsTest, UnfinishedWorkDoesNotDrift) {
  queue_.Add("stays");
  queue_.Get();
  for (int i = 0; i < 1000; ++i) {
    clock_.Step(absl::Hours(24) + absl::Nanoseconds(i));
    queue_.Add("comes and goes");
    queue_.Get();
    clock_.Step(absl::Nanoseconds(1));
    queue_.Done("comes and goes");
  }
  queue_.Done("stays");
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).back(), 0.0);
}

TEST_F(QueueMetricsTest, WorkInProgressIsSetWhenTheClockHasGoneBack) {
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).size(), 1u);
  clock_.Step(-absl::Minutes(30));
  EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).size(), 1u);
  for (size_t i = 2; i < 10; ++i) {
    clock_.Step(kUpdatePeriod);
    EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).size(), i);
  }
}

TEST_F(QueueMetricsTest, NoAgeIsNegativeIfTheClockGoesBack) {
  queue_.Add("a");
  queue_.Add("b");
  ASSERT_EQ(queue_.Get(), "a");
  clock_.Step(-absl::Hours(1));
  ASSERT_EQ(queue_.Get(), "b");
  EXPECT_EQ(metrics_.values(MetricKind::kLatency), (Values{0, 0}));
  queue_.Done("b");
  EXPECT_EQ(metrics_.values(MetricKind::kWorkDuration), Values{0});
  clock_.Step(kUpdatePeriod);
  EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).back(), 0);
  EXPECT_EQ(metrics_.values(MetricKind::kLongestRunning).back(), 0);
  queue_.Done("a");
  EXPECT_EQ(metrics_.values(MetricKind::kWorkDuration), (Values{0, 0}));
}

// The sum of ages is correct after the clock was at the ends of time.
TEST_F(QueueMetricsTest, UnfinishedWorkIsFiniteAfterAnyTime) {
  for (const absl::Time time :
       {absl::InfiniteFuture(), absl::InfinitePast(), absl::UnixEpoch()}) {
    clock_.SetTime(time);
    for (const char* item : {"a", "b"}) queue_.Add(item);
    for (const char* item : {"a", "b"}) ASSERT_EQ(queue_.Get(), item);
    clock_.Step(kUpdatePeriod);
    const double passed = time == absl::InfiniteFuture() ? 0 : 0.5;
    EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).back(), 2 * passed);
    EXPECT_EQ(metrics_.values(MetricKind::kLongestRunning).back(), passed);
    for (const char* item : {"a", "b"}) queue_.Done(item);
  }
}

TEST_F(QueueMetricsTest, WorkInProgressIsNotSetAfterDrain) {
  queue_.ShutDownWithDrain();
  clock_.Step(absl::Hours(1));
  EXPECT_TRUE(metrics_.values(MetricKind::kUnfinishedWork).empty());
  EXPECT_TRUE(metrics_.values(MetricKind::kLongestRunning).empty());
}

TEST_F(MetricsTest, QueuesOnOneLoopReportEachTheirOwn) {
  const auto loop = std::make_shared<WaitingLoop>(&clock_);
  RecordingMetrics metrics[2];
  std::vector<std::unique_ptr<Queue<std::string>>> queues;
  for (RecordingMetrics& m : metrics) {
    auto options = Reporting<QueueOptions<std::string>>();
    options.metrics_provider = &m;
    options.clock = loop;
    queues.push_back(std::make_unique<Queue<std::string>>(std::move(options)));
    clock_.Step(absl::Milliseconds(200));
  }
  queues[0]->Add("a");
  queues[0]->Get();
  clock_.Step(absl::Milliseconds(100));  // 500 ms after the first was made.
  EXPECT_EQ(metrics[0].values(MetricKind::kUnfinishedWork), Values{0.1});
  EXPECT_EQ(metrics[1].values(MetricKind::kUnfinishedWork), Values{});
  clock_.Step(absl::Milliseconds(200));  // 500 ms after the second was made.
  EXPECT_EQ(metrics[0].values(MetricKind::kUnfinishedWork), Values{0.1});
  EXPECT_EQ(metrics[1].values(MetricKind::kUnfinishedWork), Values{0.0});
  EXPECT_EQ(clock_.NumWaiters(), 1u) << "one thread for both";

  queues[0].reset();
  clock_.Step(kUpdatePeriod);
  EXPECT_EQ(metrics[0].values(MetricKind::kUnfinishedWork).size(), 1u);
  EXPECT_EQ(metrics[1].values(MetricKind::kUnfinishedWork).size(), 2u);
}

// -----------------------------------------------------------------------------
// Retries
// -----------------------------------------------------------------------------

TEST_F(DelayingQueueMetricsTest, RetriesCountEachAddAfter) {
  const auto retries = [this] { return metrics_.count(MetricKind::kRetries); };
  queue_.Add("a");
  EXPECT_EQ(retries(), 0);
  queue_.AddAfter("a", absl::Seconds(1));
  EXPECT_EQ(retries(), 1);
  queue_.AddAfter("a", absl::Seconds(1));
  EXPECT_EQ(retries(), 2) << "it waits already";
  queue_.AddAfter("a", absl::ZeroDuration());
  EXPECT_EQ(retries(), 3) << "for no delay, too";
  queue_.AddAfter("a", -absl::Seconds(1));
  EXPECT_EQ(retries(), 4);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(retries(), 4) << "not when the delay ends";
  queue_.ShutDown();
  queue_.AddAfter("a", absl::ZeroDuration());
  queue_.AddAfter("a", absl::Seconds(1));
  EXPECT_EQ(retries(), 4) << "not after shutdown";
}

TEST_F(MetricsTest, RetriesCountAddRateLimited) {
  RateLimitingQueue<std::string> queue(
      Reporting<RateLimitingQueueOptions<std::string>>());
  for (int i = 1; i <= 3; ++i) {
    queue.AddRateLimited("a");
    EXPECT_EQ(metrics_.count(MetricKind::kRetries), i);
  }
}

// -----------------------------------------------------------------------------
// Threads and exceptions
// -----------------------------------------------------------------------------

TEST_F(QueueMetricsTest, AreCorrectWithManyThreads) {
  constexpr int kThreads = 4, kItems = 500;
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < kItems; ++i) {
        queue_.Add(std::to_string(t * kItems + i));
      }
    });
    threads.emplace_back([this] {
      while (std::optional<std::string> item = queue_.Get()) {
        queue_.Done(*item);
      }
    });
  }
  for (int i = 0; i < 50; ++i) clock_.Step(kUpdatePeriod);
  for (int t = 0; t < kThreads; ++t) threads[2 * t].join();
  queue_.ShutDownWithDrain();
  for (int t = 0; t < kThreads; ++t) threads[2 * t + 1].join();
  EXPECT_EQ(metrics_.count(MetricKind::kAdds), kThreads * kItems);
  EXPECT_EQ(metrics_.count(MetricKind::kDepth), 0);
  EXPECT_EQ(metrics_.values(MetricKind::kLatency).size(),
            static_cast<size_t>(kThreads * kItems));
  EXPECT_EQ(metrics_.values(MetricKind::kWorkDuration).size(),
            static_cast<size_t>(kThreads * kItems));
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_F(QueueMetricsTest, WhatOneThrowsOnTheQueuesThreadDoesNoHarm) {
  std::atomic<bool> throws{true};
  metrics_.on_call = [&throws](MetricKind kind) {
    if (throws && kind == MetricKind::kUnfinishedWork) throw 1;
  };
  clock_.Step(kUpdatePeriod);
  EXPECT_TRUE(metrics_.values(MetricKind::kUnfinishedWork).empty());
  throws = false;
  clock_.Step(kUpdatePeriod);
  EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork), Values{0.0});
}

TEST_F(DelayingQueueMetricsTest, RetriesThatThrowLeaveTheQueueAsItWas) {
  metrics_.on_call = [](MetricKind kind) {
    if (kind == MetricKind::kRetries) throw 1;
  };
  EXPECT_THROW(queue_.AddAfter("a", absl::Seconds(1)), int);
  EXPECT_THROW(queue_.AddAfter("a", absl::ZeroDuration()), int);
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_.Len(), 0u);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::metrics_test
