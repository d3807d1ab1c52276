// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The gauges that show an outage: the items that wait, those that fail, and the
// age of the oldest queued item.

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/base/config.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "ratelimit/rate_limiter.h"
#include "test/workqueue/recording_metrics.h"
#include "test/workqueue/scripted_limiter.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/metrics.h"
#include "workqueue/ordering.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"

namespace workqueue::queue_gauges_test {
namespace {

using T = std::string;

constexpr absl::Duration kPeriod = absl::Milliseconds(500);

template <typename Made, typename Options>
std::unique_ptr<RateLimitingInterface<T>> Make(
    Clock* clock, MetricsProvider* metrics,
    std::unique_ptr<RateLimiter<T>> limiter) {
  Options options;
  options.name = "test";
  options.clock = clock;
  options.metrics_provider = metrics;
  options.rate_limiter = std::move(limiter);
  return std::make_unique<Made>(std::move(options));
}

// Every queue with a rate limiter.
class QueueGaugesTest
    : public testing::TestWithParam<
          decltype(&Make<PriorityQueue<T>, PriorityQueueOptions<T>>)> {
 protected:
  void Start(std::unique_ptr<RateLimiter<T>> limiter = nullptr) {
    queue_ = GetParam()(&clock_, &metrics_, std::move(limiter));
  }

  // Returns what the gauge shows at its next update.
  double Next(MetricKind kind) {
    clock_.Step(kPeriod);
    return metrics_.values(kind).back();
  }

  FakeClock clock_;
  RecordingMetrics metrics_;
  std::unique_ptr<RateLimitingInterface<T>> queue_;
};

INSTANTIATE_TEST_SUITE_P(
    Queues, QueueGaugesTest,
    testing::Values(&Make<RateLimitingQueue<T>, RateLimitingQueueOptions<T>>,
                    &Make<PriorityQueue<T>, PriorityQueueOptions<T>>));

TEST_P(QueueGaugesTest, WaitingItems) {
  Start();
  EXPECT_EQ(Next(MetricKind::kWaitingItems), 0);
  queue_->Add("queued");
  queue_->AddAfter("a", absl::Hours(1));
  queue_->AddAfter("a", absl::Hours(2));
  queue_->AddAfter("b", absl::Seconds(1));
  EXPECT_EQ(Next(MetricKind::kWaitingItems), 2);
  EXPECT_EQ(Next(MetricKind::kWaitingItems), 1) << "b is due";
  queue_->CancelDelayed("a");
  EXPECT_EQ(Next(MetricKind::kWaitingItems), 0);
}

TEST_P(QueueGaugesTest, FailingItems) {
  Start();
  EXPECT_EQ(Next(MetricKind::kFailingItems), 0);
  for (const char* item : {"a", "b", "a"}) queue_->AddRateLimited(item);
  EXPECT_EQ(Next(MetricKind::kFailingItems), 2);
  queue_->AddAfter("c", absl::Hours(1));
  EXPECT_EQ(Next(MetricKind::kFailingItems), 2) << "c has not failed";
  queue_->Forget("a");
  EXPECT_EQ(Next(MetricKind::kFailingItems), 1);
}

TEST_P(QueueGaugesTest, FailingItemsAreNotReportedIfTheLimiterDoesNotKnow) {
  LimiterScript script;
  Start(std::make_unique<ScriptedLimiter>(&script));
  queue_->AddRateLimited("a");
  clock_.Step(kPeriod);
  EXPECT_TRUE(metrics_.record(MetricKind::kFailingItems).names.empty())
      << "a gauge that is not set says 0";
  EXPECT_EQ(metrics_.values(MetricKind::kWaitingItems).back(), 1);
  script.num_tracked = 1;
  EXPECT_EQ(Next(MetricKind::kFailingItems), 1);
}

TEST_P(QueueGaugesTest, OldestQueued) {
  Start();
  EXPECT_EQ(Next(MetricKind::kOldestQueued), 0);
  queue_->Add("a");
  EXPECT_EQ(Next(MetricKind::kOldestQueued), 0.5);
  queue_->Add("b");
  queue_->Add("a");
  EXPECT_EQ(Next(MetricKind::kOldestQueued), 1);
  ASSERT_EQ(queue_->Get(), "a");
  EXPECT_EQ(Next(MetricKind::kOldestQueued), 1) << "since b was added";
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "b");
  EXPECT_EQ(Next(MetricKind::kOldestQueued), 0.5)
      << "a was added again, and is in the depth";
  queue_->Done("a");
  EXPECT_EQ(Next(MetricKind::kOldestQueued), 1);
  ASSERT_EQ(queue_->Get(), "a");
  EXPECT_EQ(Next(MetricKind::kOldestQueued), 0);
}

TEST_P(QueueGaugesTest, OldestQueuedKnowsWhatWasGivenBack) {
  Start();
  queue_->Add("a");
  clock_.Step(absl::Seconds(1));
  Lease<T> lease = *queue_->Acquire();
  EXPECT_EQ(Next(MetricKind::kOldestQueued), 0);
  lease.GiveBack();
  EXPECT_EQ(Next(MetricKind::kOldestQueued), 2);
}

TEST_P(QueueGaugesTest, AnItemThatWaitsIsNotQueued) {
  Start();
  queue_->AddAfter("a", absl::Seconds(10));
  clock_.Step(absl::Seconds(9));
  EXPECT_EQ(Next(MetricKind::kOldestQueued), 0);
  clock_.Step(absl::Milliseconds(500));
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(Next(MetricKind::kOldestQueued), 0.5);
}

TEST_P(QueueGaugesTest, AfterAShutDown) {
  Start();
  queue_->Add("queued");
  queue_->AddAfter("waits", absl::Hours(1));
  EXPECT_EQ(Next(MetricKind::kWaitingItems), 1);
  queue_->ShutDown();
  EXPECT_EQ(Next(MetricKind::kWaitingItems), 0);
  EXPECT_EQ(Next(MetricKind::kOldestQueued), 1.5) << "it is still queued";
}

TEST_P(QueueGaugesTest, AgesAreNeitherNegativeNorLostIfTheClockGoesBack) {
  Start();
  clock_.Step(absl::Hours(1));
  queue_->Add("a");
  clock_.Step(-absl::Minutes(30));
  EXPECT_EQ(Next(MetricKind::kOldestQueued), 0);
  queue_->Add("b");
  EXPECT_EQ(Next(MetricKind::kOldestQueued), 0.5);
  ASSERT_EQ(queue_->Get(), "a");
  ASSERT_EQ(queue_->Get(), "b");
  EXPECT_EQ(Next(MetricKind::kOldestQueued), 0);
}

TEST_P(QueueGaugesTest, ItemsOfManyTimes) {
  constexpr int kItems = 1000;
  Start();
  for (int i = 0; i < kItems; ++i) {
    queue_->Add(std::to_string(i));
    clock_.Step(absl::Milliseconds(100));
  }
  for (int left = kItems; left > 0; --left) {
    EXPECT_NEAR(Next(MetricKind::kOldestQueued),
                0.1 * left + 0.5 * (kItems - left + 1), 1e-6);
    queue_->Get();
  }
  EXPECT_EQ(Next(MetricKind::kOldestQueued), 0);
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_P(QueueGaugesTest, AGaugeThatThrowsDoesNoHarm) {
  Start();
  metrics_.on_call = [](MetricKind kind) {
    if (kind == MetricKind::kOldestQueued ||
        kind == MetricKind::kWaitingItems ||
        kind == MetricKind::kFailingItems) {
      throw std::runtime_error("thrown");
    }
  };
  queue_->Add("a");
  queue_->AddRateLimited("b");
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(queue_->Len(), 2u);
  metrics_.on_call = [](MetricKind) {};
  EXPECT_EQ(Next(MetricKind::kOldestQueued), 1.5);
}

TEST_P(QueueGaugesTest, WhatIsNotAddedBecauseAMetricThrowsIsNotQueued) {
  for (const bool with_priorities : {false, true}) {
    metrics_.with_priorities = with_priorities;
    Start();
    for (MetricKind kind : {MetricKind::kAdds, MetricKind::kDepth}) {
      metrics_.on_call = [kind](MetricKind called) {
        if (called == kind) throw std::runtime_error("thrown");
      };
      EXPECT_THROW(queue_->Add("a"), std::runtime_error);
      metrics_.on_call = [](MetricKind) {};
      EXPECT_EQ(Next(MetricKind::kOldestQueued), 0);
    }
    // Nor is another one that was added at the same time forgotten.
    queue_->Add("b");
    metrics_.on_call = [](MetricKind called) {
      if (called == MetricKind::kDepth) throw std::runtime_error("thrown");
    };
    EXPECT_THROW(queue_->Add("a"), std::runtime_error);
    metrics_.on_call = [](MetricKind) {};
    EXPECT_EQ(Next(MetricKind::kOldestQueued), 0.5);
  }
}

TEST_P(QueueGaugesTest, WhatIsGivenBackIsQueuedEvenIfAMetricThrows) {
  Start();
  queue_->Add("a");
  Lease<T> lease = *queue_->Acquire();
  metrics_.on_call = [](MetricKind called) {
    if (called == MetricKind::kDepth) throw std::runtime_error("thrown");
  };
  lease.GiveBack();
  metrics_.on_call = [](MetricKind) {};
  EXPECT_EQ(Next(MetricKind::kOldestQueued), 0.5);
}

// Takes nothing.
class Refusing final : public Ordering<T> {
 public:
  void Push(QueuedItem<T>*) override { throw std::runtime_error("refused"); }
  size_t Len() const override { return 0; }
  QueuedItem<T>* Pop() override { return nullptr; }
};

// The metric throws when it is told that the ordering has thrown.
TEST(RefusingOrderingTest, WhatItRefusesIsNotQueuedEvenIfAMetricThrows) {
  for (const bool has_priorities : {false, true}) {
    FakeClock clock;
    RecordingMetrics metrics;
    std::unique_ptr<Interface<T>> queue;
    const auto make = [&](auto options) {
      options.name = "test";
      options.clock = &clock;
      options.metrics_provider = &metrics;
      options.ordering = std::make_unique<Refusing>();
      return options;
    };
    if (has_priorities) {
      queue =
          std::make_unique<PriorityQueue<T>>(make(PriorityQueueOptions<T>()));
    } else {
      queue = std::make_unique<Queue<T>>(make(QueueOptions<T>()));
    }
    int calls = 0;
    metrics.on_call = [&calls](MetricKind called) {
      if (called == MetricKind::kDepth && ++calls == 2) {
        throw std::runtime_error("thrown");
      }
    };
    EXPECT_THROW(queue->Add("a"), std::runtime_error);
    EXPECT_EQ(calls, 2);
    clock.Step(kPeriod);
    EXPECT_EQ(metrics.values(MetricKind::kOldestQueued).back(), 0);
  }
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::queue_gauges_test
