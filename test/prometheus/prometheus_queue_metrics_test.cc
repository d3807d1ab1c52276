// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The metrics of queues that a `PrometheusMetricsProvider` keeps.

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "prometheus/registry.h"
#include "test/prometheus/exposition.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/metrics.h"
#include "workqueue/priority_queue.h"
#include "workqueue/prometheus/prometheus_metrics_provider.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue::prometheus_queue_metrics_test {
namespace {

using Samples = std::map<std::string, double>;
using TestQueue = RateLimitingQueue<std::string>;

// Returns the time series of the metric `name` for the queue `queue`.
std::string Series(absl::string_view name, absl::string_view queue) {
  return absl::StrCat(name, "{controller=\"", queue, "\",name=\"", queue,
                      "\"}");
}

// Returns the time series of the depth of `queue` for `priority`.
std::string DepthSeries(absl::string_view queue, absl::string_view priority) {
  return absl::StrCat("workqueue_depth{controller=\"", queue, "\",name=\"",
                      queue, "\",priority=\"", priority, "\"}");
}

// Returns the samples of the histogram `name` for the queue `queue`. `below`
// are the counts of the buckets from 10 ns to 1000 s.
Samples Histogram(absl::string_view name, absl::string_view queue,
                  const std::vector<double>& below, double sum, double count) {
  // controller-runtime shows the same bounds.
  const std::vector<std::string> bounds = {"1e-08",
                                           "1e-07",
                                           "1e-06",
                                           "9.999999999999999e-06",
                                           "9.999999999999999e-05",
                                           "0.001",
                                           "0.01",
                                           "0.1",
                                           "1",
                                           "10",
                                           "100",
                                           "1000"};
  Samples samples;
  for (size_t i = 0; i < bounds.size(); ++i) {
    samples[absl::StrCat(name, "_bucket{controller=\"", queue, "\",le=\"",
                         bounds[i], "\",name=\"", queue, "\"}")] = below.at(i);
  }
  samples[absl::StrCat(name, "_bucket{controller=\"", queue,
                       "\",le=\"+Inf\",name=\"", queue, "\"}")] = count;
  samples[Series(absl::StrCat(name, "_sum"), queue)] = sum;
  samples[Series(absl::StrCat(name, "_count"), queue)] = count;
  return samples;
}

class PrometheusQueueMetricsTest : public testing::Test {
 protected:
  PrometheusQueueMetricsTest() : provider_(NewProvider()) {}

  std::unique_ptr<PrometheusMetricsProvider> NewProvider() const {
    return PrometheusMetricsProvider::Create(registry_).value();
  }

  template <typename Options>
  Options Reporting(std::string name) {
    Options options;
    options.name = std::move(name);
    options.metrics_provider = provider_.get();
    options.clock = &clock_;
    return options;
  }

  std::unique_ptr<TestQueue> NewQueue(std::string name) {
    return std::make_unique<TestQueue>(
        Reporting<RateLimitingQueueOptions<std::string>>(std::move(name)));
  }

  std::unique_ptr<PriorityQueue<std::string>> NewPriorityQueue(
      std::string name) {
    return std::make_unique<PriorityQueue<std::string>>(
        Reporting<PriorityQueueOptions<std::string>>(std::move(name)));
  }

  Samples Sampled() const { return Scrape(*registry_).samples; }

  // Returns the value of the metric `name` for the queue `queue`, if there is
  // one.
  std::optional<double> Value(absl::string_view name,
                              absl::string_view queue) const {
    const Samples samples = Sampled();
    const auto it = samples.find(Series(name, queue));
    if (it == samples.end()) return std::nullopt;
    return it->second;
  }

  // Returns all samples of the depth.
  Samples Depths() const {
    return Scrape(*registry_).SamplesOf("workqueue_depth{");
  }

  FakeClock clock_;
  const std::shared_ptr<prometheus::Registry> registry_ =
      std::make_shared<prometheus::Registry>();
  std::unique_ptr<PrometheusMetricsProvider> provider_;
};

// -----------------------------------------------------------------------------
// What a scrape reads
// -----------------------------------------------------------------------------

TEST_F(PrometheusQueueMetricsTest, ShowsEveryMetricOfAQueue) {
  const auto queue = NewQueue("pods");
  queue->Add("a");
  queue->Add("b");
  queue->Add("b");  // does not count
  clock_.Step(absl::Milliseconds(250));
  ASSERT_EQ(queue->Get(), "a");
  clock_.Step(absl::Milliseconds(250));
  ASSERT_EQ(queue->Get(), "b");
  clock_.Step(absl::Milliseconds(500));
  queue->Done("a");
  queue->AddAfter("c", absl::Hours(1));
  queue->AddRateLimited("c");
  queue->AddAfter("d", absl::ZeroDuration());
  ASSERT_EQ(queue->Get(), "d");
  queue->Done("d");
  queue->Add("e");
  ASSERT_EQ(queue->Len(), 1);  // The addition may be in a buffer.

  Samples expected = {
      {Series("workqueue_depth", "pods"), 1},
      {Series("workqueue_adds_total", "pods"), 4},
      {Series("workqueue_unfinished_work_seconds", "pods"), 0.75 + 0.5},
      {Series("workqueue_longest_running_processor_seconds", "pods"), 0.75},
      {Series("workqueue_oldest_queued_seconds", "pods"), 0},
      {Series("workqueue_waiting_items", "pods"), 0},
      {Series("workqueue_failing_items", "pods"), 0},
      {Series("workqueue_retries_total", "pods"), 3},
  };
  expected.merge(Histogram("workqueue_queue_duration_seconds", "pods",
                           {1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3}, 0.25 + 0.5,
                           3));
  expected.merge(Histogram("workqueue_work_duration_seconds", "pods",
                           {1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2}, 0.75, 2));
  EXPECT_EQ(Sampled(), expected);
}

TEST_F(PrometheusQueueMetricsTest, ShowsTypesAndHelp) {
  const auto queue = NewQueue("pods");
  const Exposition exposition = Scrape(*registry_);
  EXPECT_EQ(exposition.types,
            (std::map<std::string, std::string>{
                {"workqueue_depth", "gauge"},
                {"workqueue_adds_total", "counter"},
                {"workqueue_queue_duration_seconds", "histogram"},
                {"workqueue_work_duration_seconds", "histogram"},
                {"workqueue_unfinished_work_seconds", "gauge"},
                {"workqueue_longest_running_processor_seconds", "gauge"},
                {"workqueue_oldest_queued_seconds", "gauge"},
                {"workqueue_waiting_items", "gauge"},
                {"workqueue_failing_items", "gauge"},
                {"workqueue_retries_total", "counter"},
            }));
  EXPECT_EQ(exposition.helps.size(), exposition.types.size());
  for (const auto& [name, help] : exposition.helps) {
    EXPECT_EQ(exposition.types.count(name), 1u) << name;
    EXPECT_FALSE(help.empty()) << name;
  }
}

// Only a `SharedQueue` calls these functions: the tests above show that other
// queues have none of these metrics.
TEST_F(PrometheusQueueMetricsTest, ShowsTheEngineOfASharedQueue) {
  const auto round_trip = provider_->NewEngineRoundTripMetric("pods");
  const auto errors = provider_->NewEngineErrorsMetric("pods");
  const auto expired = provider_->NewExpiredLeasesMetric("pods");
  const auto unreachable = provider_->NewEngineUnreachableSecondsMetric("pods");
  const auto wrong = provider_->NewEngineWrongSettingsMetric("pods");
  const auto parked = provider_->NewEngineParkedItemsMetric("pods");
  wrong->Set(2);
  provider_->NewEngineDataLossesMetric("pods")->Inc();
  unreachable->Set(1.5);
  parked->Set(7);
  round_trip->Observe(0.25);
  round_trip->Observe(0.5);
  errors->Inc();
  for (int i = 0; i < 3; ++i) expired->Inc();

  Samples expected = {
      {Series("workqueue_engine_data_losses_total", "pods"), 1},
      {Series("workqueue_engine_errors_total", "pods"), 1},
      {Series("workqueue_engine_unreachable_seconds", "pods"), 1.5},
      {Series("workqueue_engine_wrong_settings", "pods"), 2},
      {Series("workqueue_expired_leases_total", "pods"), 3},
      {Series("workqueue_parked_items", "pods"), 7},
  };
  expected.merge(Histogram("workqueue_engine_round_trip_seconds", "pods",
                           {0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2}, 0.25 + 0.5,
                           2));
  const Exposition exposition = Scrape(*registry_);
  EXPECT_EQ(exposition.samples, expected);
  EXPECT_EQ(exposition.types,
            (std::map<std::string, std::string>{
                {"workqueue_engine_round_trip_seconds", "histogram"},
                {"workqueue_engine_data_losses_total", "counter"},
                {"workqueue_engine_errors_total", "counter"},
                {"workqueue_engine_unreachable_seconds", "gauge"},
                {"workqueue_engine_wrong_settings", "gauge"},
                {"workqueue_expired_leases_total", "counter"},
                {"workqueue_parked_items", "gauge"},
            }));
  for (const auto& [name, help] : exposition.helps) {
    EXPECT_FALSE(help.empty()) << name;
  }
}

// Each of them tells of the items of all.
TEST_F(PrometheusQueueMetricsTest, SharedQueuesOfOneNameAreOneQueue) {
  std::vector<std::unique_ptr<SettableGaugeMetric>> metrics;
  for (int queue = 0; queue < 2; ++queue) {
    metrics.push_back(provider_->NewEngineDepthMetric("pods"));
    metrics.back()->Set(3);
    metrics.push_back(provider_->NewEngineWaitingItemsMetric("pods"));
    metrics.back()->Set(2);
    metrics.push_back(provider_->NewEngineFailingItemsMetric("pods"));
    metrics.back()->Set(1);
  }
  EXPECT_EQ(Sampled(), (Samples{
                           {Series("workqueue_depth", "pods"), 3},
                           {Series("workqueue_failing_items", "pods"), 1},
                           {Series("workqueue_waiting_items", "pods"), 2},
                       }));
}

TEST_F(PrometheusQueueMetricsTest, ABucketHoldsWhatIsAsLargeAsItsBound) {
  const auto latency = provider_->NewLatencyMetric("pods");
  for (double value : {1e-8, 2e-8, 0.001, 0.0011, 1000.0, 1000.1}) {
    latency->Observe(value);
  }
  EXPECT_EQ(Sampled(),
            Histogram("workqueue_queue_duration_seconds", "pods",
                      {1, 2, 2, 2, 2, 3, 4, 4, 4, 4, 4, 5},
                      1e-8 + 2e-8 + 0.001 + 0.0011 + 1000.0 + 1000.1, 6));
}

TEST_F(PrometheusQueueMetricsTest, TellsQueuesApart) {
  const auto pods = NewQueue("pods");
  const auto nodes = NewQueue("nodes");
  pods->Add("a");
  pods->Add("b");
  nodes->Add("c");
  EXPECT_EQ(Depths(), (Samples{{Series("workqueue_depth", "pods"), 2},
                               {Series("workqueue_depth", "nodes"), 1}}));
  nodes->Get();
  clock_.Step(absl::Milliseconds(500));
  EXPECT_EQ(Value("workqueue_unfinished_work_seconds", "pods"), 0);
  EXPECT_EQ(Value("workqueue_unfinished_work_seconds", "nodes"), 0.5);
  EXPECT_EQ(Value("workqueue_queue_duration_seconds_count", "pods"), 0);
  EXPECT_EQ(Value("workqueue_queue_duration_seconds_count", "nodes"), 1);
}

// -----------------------------------------------------------------------------
// Queues of one name, and destroyed queues
// -----------------------------------------------------------------------------

TEST_F(PrometheusQueueMetricsTest, AddsUpQueuesOfOneName) {
  const auto one = NewQueue("pods");
  auto other = NewQueue("pods");
  one->Add("a");
  one->Add("b");
  one->Get();
  clock_.Step(absl::Milliseconds(250));
  other->Add("a");
  other->Add("b");
  other->Add("c");
  other->Get();
  clock_.Step(absl::Milliseconds(250));
  EXPECT_EQ(Value("workqueue_depth", "pods"), 1 + 2);
  EXPECT_EQ(Value("workqueue_adds_total", "pods"), 2 + 3);
  EXPECT_EQ(Value("workqueue_queue_duration_seconds_count", "pods"), 1 + 1);
  EXPECT_EQ(Value("workqueue_unfinished_work_seconds", "pods"), 0.5 + 0.25);
  EXPECT_EQ(Value("workqueue_longest_running_processor_seconds", "pods"), 0.5);

  other.reset();
  EXPECT_EQ(Value("workqueue_depth", "pods"), 1);
  EXPECT_EQ(Value("workqueue_adds_total", "pods"), 2 + 3);
  EXPECT_EQ(Value("workqueue_queue_duration_seconds_count", "pods"), 1 + 1);
  EXPECT_EQ(Value("workqueue_unfinished_work_seconds", "pods"), 0.5);
  EXPECT_EQ(Value("workqueue_longest_running_processor_seconds", "pods"), 0.5);
}

TEST_F(PrometheusQueueMetricsTest, ShowsTheLongestRunningOfAll) {
  const auto one = provider_->NewLongestRunningProcessorSecondsMetric("pods");
  auto other = provider_->NewLongestRunningProcessorSecondsMetric("pods");
  const auto longest = [this] {
    return Value("workqueue_longest_running_processor_seconds", "pods");
  };
  EXPECT_EQ(longest(), 0);
  one->Set(2);
  EXPECT_EQ(longest(), 2);
  other->Set(1);
  EXPECT_EQ(longest(), 2);
  other->Set(3);
  EXPECT_EQ(longest(), 3);
  other.reset();
  EXPECT_EQ(longest(), 2);
}

TEST_F(PrometheusQueueMetricsTest, AnOutageIsVisible) {
  const auto one = NewQueue("pods");
  const auto other = NewPriorityQueue("pods");
  for (RateLimitingInterface<std::string>* queue :
       std::vector<RateLimitingInterface<std::string>*>{one.get(),
                                                        other.get()}) {
    queue->AddRateLimited("fails");
    queue->AddAfter("waits", absl::Hours(1));
    clock_.Step(absl::Milliseconds(500));
  }
  clock_.Step(absl::Milliseconds(500));
  EXPECT_EQ(Value("workqueue_failing_items", "pods"), 2);
  EXPECT_EQ(Value("workqueue_waiting_items", "pods"), 2);
  EXPECT_EQ(Value("workqueue_oldest_queued_seconds", "pods"), 1)
      << "the oldest of both";
}

TEST_F(PrometheusQueueMetricsTest, ASumDoesNotDrift) {
  const auto one = provider_->NewUnfinishedWorkSecondsMetric("pods");
  const auto other = provider_->NewUnfinishedWorkSecondsMetric("pods");
  one->Set(0.1);
  other->Set(0.2);
  one->Set(0);
  other->Set(0);
  EXPECT_EQ(Value("workqueue_unfinished_work_seconds", "pods"), 0);
}

TEST_F(PrometheusQueueMetricsTest, ADestroyedQueueShowsNoWork) {
  auto queue = NewQueue("pods");
  queue->Add("a");
  queue->Add("b");
  queue->Get();
  clock_.Step(absl::Milliseconds(500));
  EXPECT_EQ(Value("workqueue_depth", "pods"), 1);
  EXPECT_EQ(Value("workqueue_unfinished_work_seconds", "pods"), 0.5);
  EXPECT_EQ(Value("workqueue_longest_running_processor_seconds", "pods"), 0.5);

  queue.reset();
  EXPECT_EQ(Value("workqueue_depth", "pods"), 0);
  EXPECT_EQ(Value("workqueue_unfinished_work_seconds", "pods"), 0);
  EXPECT_EQ(Value("workqueue_longest_running_processor_seconds", "pods"), 0);
}

// The items of a shared queue are still there, and nobody knows how many. Its
// engine may be away.
TEST_F(PrometheusQueueMetricsTest, ADestroyedSharedQueueSaysNothingOfItsItems) {
  const auto new_gauges = [this] {
    std::vector<std::unique_ptr<SettableGaugeMetric>> gauges;
    gauges.push_back(provider_->NewEngineDepthMetric("pods"));
    gauges.push_back(provider_->NewEngineWaitingItemsMetric("pods"));
    gauges.push_back(provider_->NewEngineFailingItemsMetric("pods"));
    gauges.push_back(provider_->NewEngineParkedItemsMetric("pods"));
    gauges.push_back(provider_->NewEngineUnreachableSecondsMetric("pods"));
    gauges.push_back(provider_->NewEngineWrongSettingsMetric("pods"));
    gauges.push_back(provider_->NewOldestQueuedSecondsMetric("pods"));
    for (const auto& gauge : gauges) gauge->Set(3);
    return gauges;
  };
  for (int i = 0; i < 2; ++i) {
    auto one = new_gauges();
    auto other = new_gauges();
    one.clear();
    EXPECT_EQ(Sampled().size(), other.size());
    EXPECT_EQ(Value("workqueue_depth", "pods"), 3);
    other.clear();
    EXPECT_EQ(Sampled(), Samples());
  }
}

// Though no queue in memory should have the name of a shared one.
TEST_F(PrometheusQueueMetricsTest, AQueueInMemoryKeepsItsGauges) {
  const auto queue = NewQueue("pods");
  provider_->NewEngineDepthMetric("pods");
  provider_->NewEngineFailingItemsMetric("pods");
  queue->Add("a");
  EXPECT_EQ(Value("workqueue_depth", "pods"), 1);
  EXPECT_EQ(Value("workqueue_failing_items", "pods"), 0);
}

TEST_F(PrometheusQueueMetricsTest, TheNextQueueOfANameCountsOn) {
  for (int queues = 1; queues <= 3; ++queues) {
    const auto queue = NewQueue("pods");
    queue->AddAfter("a", absl::ZeroDuration());
    queue->Get();
    clock_.Step(absl::Seconds(2));
    queue->Done("a");
    EXPECT_EQ(Value("workqueue_adds_total", "pods"), queues);
    EXPECT_EQ(Value("workqueue_retries_total", "pods"), queues);
    EXPECT_EQ(Value("workqueue_queue_duration_seconds_count", "pods"), queues);
    EXPECT_EQ(Value("workqueue_work_duration_seconds_count", "pods"), queues);
    EXPECT_EQ(Value("workqueue_work_duration_seconds_sum", "pods"), 2 * queues);
  }
}

TEST_F(PrometheusQueueMetricsTest, TheNextProviderCountsOn) {
  NewQueue("pods")->Add("a");
  provider_.reset();
  EXPECT_EQ(Value("workqueue_adds_total", "pods"), 1);
  provider_ = NewProvider();
  NewQueue("pods")->Add("a");
  EXPECT_EQ(Value("workqueue_adds_total", "pods"), 2);
}

// -----------------------------------------------------------------------------
// Priorities
// -----------------------------------------------------------------------------

TEST_F(PrometheusQueueMetricsTest, ShowsTheDepthByPriority) {
  auto queue = NewPriorityQueue("pods");
  AddOptions low;
  low.priority = -100;
  queue->AddWithOptions(low, {"a", "b", "c"});
  queue->Add("d");
  EXPECT_EQ(Depths(), (Samples{{DepthSeries("pods", "-100"), 3},
                               {DepthSeries("pods", "0"), 1}}));

  queue->Add("a");  // its priority rises
  EXPECT_EQ(Depths(), (Samples{{DepthSeries("pods", "-100"), 2},
                               {DepthSeries("pods", "0"), 2}}));

  ASSERT_EQ(queue->Get(), "d");
  EXPECT_EQ(Depths(), (Samples{{DepthSeries("pods", "-100"), 2},
                               {DepthSeries("pods", "0"), 1}}));

  queue.reset();
  EXPECT_EQ(Depths(), (Samples{{DepthSeries("pods", "-100"), 0},
                               {DepthSeries("pods", "0"), 0}}));
}

TEST_F(PrometheusQueueMetricsTest, AddsUpPrioritiesOfOneName) {
  const auto one = NewPriorityQueue("pods");
  auto other = NewPriorityQueue("pods");
  one->Add("a");
  other->Add("a");
  other->Add("b");
  EXPECT_EQ(Depths(), (Samples{{DepthSeries("pods", "0"), 3}}));
  other.reset();
  EXPECT_EQ(Depths(), (Samples{{DepthSeries("pods", "0"), 1}}));
}

TEST_F(PrometheusQueueMetricsTest, HasNoMoreThan25PrioritiesOfAName) {
  constexpr int kPriorities = 30;
  {
    const auto depth = provider_->NewDepthMetricWithPriority("pods");
    for (int priority = 0; priority < kPriorities; ++priority) {
      depth->Inc(priority);
    }
    Samples expected;
    for (int priority = 0; priority < 25; ++priority) {
      expected[DepthSeries("pods", absl::StrCat(priority))] = 1;
    }
    expected[DepthSeries("pods", "exceeded_cardinality_limit")] = 5;
    EXPECT_EQ(Depths(), expected);

    // An item leaves the series that counted it.
    depth->Dec(3);
    expected[DepthSeries("pods", "3")] = 0;
    depth->Dec(27);
    expected[DepthSeries("pods", "exceeded_cardinality_limit")] = 4;
    EXPECT_EQ(Depths(), expected);
  }
  for (const auto& [series, value] : Depths()) EXPECT_EQ(value, 0) << series;

  // Queues of one name share the limit.
  provider_->NewDepthMetricWithPriority("pods")->Inc(kPriorities);
  EXPECT_EQ(Depths().size(), 26u);
  provider_->NewDepthMetricWithPriority("nodes")->Inc(kPriorities);
  EXPECT_EQ(Depths().size(), 27u);
}

TEST_F(PrometheusQueueMetricsTest, CountsPrioritiesInSeveralThreads) {
  constexpr int kThreads = 4;
  constexpr int kPriorities = 30;
  const auto depth = provider_->NewDepthMetricWithPriority("pods");
  std::vector<Thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&depth] {
      for (int priority = 0; priority < kPriorities; ++priority) {
        depth->Inc(priority);
      }
    });
  }
  for (Thread& thread : threads) thread.join();
  Samples expected;
  for (int priority = 0; priority < 25; ++priority) {
    expected[DepthSeries("pods", absl::StrCat(priority))] = kThreads;
  }
  expected[DepthSeries("pods", "exceeded_cardinality_limit")] =
      (kPriorities - 25) * kThreads;
  EXPECT_EQ(Depths(), expected);
}

TEST_F(PrometheusQueueMetricsTest, IsThreadSafe) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 500;
  std::vector<Thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, i] {
      for (int round = 0; round < kRounds; ++round) {
        const auto depth = provider_->NewDepthMetric("pods");
        const auto depths = provider_->NewDepthMetricWithPriority("pods");
        const auto adds = provider_->NewAddsMetric("pods");
        const auto latency = provider_->NewLatencyMetric("pods");
        const auto unfinished =
            provider_->NewUnfinishedWorkSecondsMetric("pods");
        const auto parked = provider_->NewEngineParkedItemsMetric("pods");
        depth->Inc();
        depths->Inc(round % 40);
        adds->Inc();
        latency->Observe(i);
        unfinished->Set(round);
        parked->Set(round);
        if (round % 100 == 0) Scrape(*registry_);
      }
    });
  }
  for (Thread& thread : threads) thread.join();
  for (const auto& [series, value] : Depths()) EXPECT_EQ(value, 0) << series;
  EXPECT_EQ(Value("workqueue_adds_total", "pods"), kThreads * kRounds);
  EXPECT_EQ(Value("workqueue_queue_duration_seconds_count", "pods"),
            kThreads * kRounds);
  EXPECT_EQ(Value("workqueue_unfinished_work_seconds", "pods"), 0);
  EXPECT_EQ(Value("workqueue_parked_items", "pods"), std::nullopt);
}

}  // namespace
}  // namespace workqueue::prometheus_queue_metrics_test
