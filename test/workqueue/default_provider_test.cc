// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests the default metrics provider. It can be set only once in a process. So
// this is a separate program with one test.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/metrics.h"
#include "workqueue/rate_limiting_queue.h"

namespace workqueue {
namespace {

using Names = std::vector<std::string>;

TEST(DefaultProviderTest, IsForQueuesMadeLaterThatHaveANameAndNoProvider) {
  FakeClock clock;
  const auto make = [&clock](const std::string& name,
                             MetricsProvider* provider) {
    RateLimitingQueueOptions<int> options;
    options.name = name;
    options.metrics_provider = provider;
    options.clock = &clock;
    return std::make_unique<RateLimitingQueue<int>>(std::move(options));
  };
  RecordingMetrics first, second, own;

  EXPECT_EQ(GetProvider(), nullptr);
  const auto early = make("early", nullptr);
  SetProvider(&first);
  EXPECT_EQ(GetProvider(), &first);
  SetProvider(&second);
  EXPECT_EQ(GetProvider(), &first) << "only the first call has an effect";

  const auto nameless = make("", nullptr);
  const auto with_own = make("with_own", &own);
  const auto late = make("late", nullptr);
  for (MetricKind kind : kMetricKinds) {
    EXPECT_EQ(first.record(kind).names, Names{"late"});
    EXPECT_EQ(own.record(kind).names, Names{"with_own"});
    EXPECT_EQ(second.record(kind).names, Names{});
  }

  for (const auto* queue : {&early, &nameless, &with_own, &late}) {
    (*queue)->AddAfter(1, absl::ZeroDuration());
  }
  EXPECT_EQ(first.count(MetricKind::kAdds), 1);
  EXPECT_EQ(first.count(MetricKind::kRetries), 1);
  EXPECT_EQ(own.count(MetricKind::kAdds), 1);
}

}  // namespace
}  // namespace workqueue
