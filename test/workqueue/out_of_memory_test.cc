// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests in which the first, second, ... allocation of a scenario fails, on any
// thread. No item may be lost or processed twice because of the failure.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/log_severity.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"
#include "test/base/every_allocation.h"
#include "test/workqueue/contended_queue.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/executor.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/snapshot.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue::out_of_memory_test {
namespace {

#ifndef ABSL_HAVE_EXCEPTIONS

TEST(OutOfMemoryTest, NeedsExceptions) { GTEST_SKIP(); }

#else

using ::testing::IsEmpty;

// The key is so long that each copy allocates memory.
std::string Key(int i) {
  return absl::StrCat("a key that no string keeps within itself, ", i);
}

// The number of times that each item has been processed.
using Processed = std::map<std::string, int>;

void ProcessOne(Interface<std::string>& queue, Processed& processed) {
  const std::optional<std::string> item = Persist([&] { return queue.Get(); });
  ASSERT_TRUE(item.has_value());
  ++processed[*item];
  EXPECT_TRUE(Persist([&] { return queue.Done(*item); }));
}

void ProcessAll(Interface<std::string>& queue, Processed& processed) {
  while (queue.Len() > 0) ProcessOne(queue, processed);
}

void ExpectOnceEach(const Processed& processed, int items) {
  EXPECT_EQ(processed.size(), static_cast<size_t>(items));
  for (const auto& [item, times] : processed) EXPECT_EQ(times, 1) << item;
}

// The queue's thread retries a failed operation a second later.
void StepThroughRetries(SparedClock& clock, int seconds) {
  for (int i = 0; i < seconds; ++i) clock.Step(absl::Seconds(1));
}

// Calls all functions of `Interface`.
void UseAsQueue(Interface<std::string>& queue, SparedClock&) {
  Processed processed;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(Persist([&] { return queue.Add(Key(i)); }));
  }
  EXPECT_TRUE(Persist([&] {
    return queue.AddAll({Key(5), Key(6), Key(7), Key(8)});
  }));
  EXPECT_EQ(queue.Len(), 9u);
  const Snapshot<std::string> snapshot =
      Persist([&] { return *queue.TakeSnapshot(); });
  EXPECT_EQ(snapshot.queued.size(), 9u);

  ProcessOne(queue, processed);
  {
    const Lease<std::string> lease = Persist([&] { return *queue.Acquire(); });
    ASSERT_TRUE(lease);
    ++processed[*lease];
    EXPECT_EQ(Persist([&] { return *queue.TakeSnapshot(); }).processing.size(),
              1u);
  }
  {
    absl::StatusOr<LeaseBatch<std::string> > leases =
        Persist([&] { return queue.AcquireUpTo(3); });
    ASSERT_TRUE(leases.ok());
    // The batch may have fewer leases than requested, but at least one.
    for (Lease<std::string>& lease : *leases) ++processed[*lease];
  }
  // Added again while it is processed.
  const std::optional<std::string> item = Persist([&] { return queue.Get(); });
  ASSERT_TRUE(item.has_value());
  EXPECT_TRUE(Persist([&] { return queue.Add(*item); }));
  EXPECT_TRUE(Persist([&] { return queue.Done(*item); }));
  ProcessAll(queue, processed);
  ExpectOnceEach(processed, 9);
  EXPECT_TRUE(queue.TakeSnapshot()->processing.empty());
}

// Callbacks get the items. A callback that gets an error for want of memory
// tries again.
void UseWithCallbacks(Interface<std::string>& queue, SparedClock&) {
  constexpr int kItems = 8;
  struct Worker {
    void Next() {
      Persist([this] {
        queue->AcquireNextAsync(
            &lease, &executor,
            [this](absl::StatusOr<Lease<std::string> > next) {
              const Spared spared(true);
              if (next.ok()) {
                lease = *std::move(next);
                ++(*processed)[*lease];
              } else if (absl::IsCancelled(next.status())) {
                ++ended;
                return;
              }
              Next();
            });
      });
    }

    Interface<std::string>* queue;
    Processed* processed;
    InlineExecutor executor;
    Lease<std::string> lease;
    int ended = 0;
  };
  Processed processed;
  Worker workers[6];
  for (Worker& worker : workers) {
    worker.queue = &queue;
    worker.processed = &processed;
    worker.Next();
  }
  bool called = false;
  const AcquireId cancelled = Persist([&] {
    return queue.AcquireAsync(&workers[0].executor,
                              [&called](auto) { called = true; });
  });
  for (int i = 0; i < kItems; ++i) {
    if (i == kItems / 2) {
      EXPECT_TRUE(Persist([&] { return queue.CancelAcquire(cancelled); }));
    }
    EXPECT_TRUE(Persist([&] { return queue.Add(Key(i)); }));
  }
  ExpectOnceEach(processed, kItems);
  Persist([&] { queue.ShutDown(); });
  for (const Worker& worker : workers) EXPECT_EQ(worker.ended, 1);
  EXPECT_FALSE(called);
}

// Calls the other functions of `DelayingInterface`.
void UseAsDelayingQueue(DelayingInterface<std::string>& queue,
                        SparedClock& clock) {
  Processed processed;
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(Persist(
        [&] { return queue.AddAfter(Key(i), absl::Milliseconds(10 * i)); }));
    clock.Step(absl::ZeroDuration());
  }
  EXPECT_TRUE(Persist(
      [&] { return queue.Reschedule(Key(1), absl::Milliseconds(35)); }));
  EXPECT_TRUE(Persist(
      [&] { return queue.Reschedule(Key(6), absl::Milliseconds(25)); }));
  EXPECT_TRUE(Persist([&] { return queue.CancelDelayed(Key(4)); }));
  EXPECT_TRUE(Persist([&] { return queue.Add(Key(4)); }));
  EXPECT_EQ(Persist([&] { return *queue.TakeSnapshot(); }).waiting.size(), 5u);
  clock.Step(absl::Milliseconds(100));
  StepThroughRetries(clock, 12);
  ProcessAll(queue, processed);
  ExpectOnceEach(processed, 7);
  EXPECT_THAT(queue.TakeSnapshot()->waiting, IsEmpty());
}

// `Reschedule()` is called first and so allocates the memory that the other
// functions use.
void RescheduleFirst(DelayingInterface<std::string>& queue,
                     SparedClock& clock) {
  Processed processed;
  EXPECT_TRUE(Persist(
      [&] { return queue.Reschedule(Key(0), absl::Milliseconds(10)); }));
  EXPECT_EQ(Persist([&] { return *queue.TakeSnapshot(); }).waiting.size(), 1u);
  StepThroughRetries(clock, 12);
  ProcessAll(queue, processed);
  ExpectOnceEach(processed, 1);
}

// Calls the other functions of `RateLimitingInterface`.
void UseAsRateLimitingQueue(RateLimitingInterface<std::string>& queue,
                            SparedClock& clock) {
  Processed processed;
  for (int i = 0; i < 4; ++i) {
    // The limiter may count a failure although the queue does not add the item.
    EXPECT_TRUE(Persist([&] { return queue.AddRateLimited(Key(i)); }));
    EXPECT_GE(queue.NumRequeues(Key(i)), 1);
    clock.Step(absl::ZeroDuration());
  }
  StepThroughRetries(clock, 20);
  ProcessAll(queue, processed);
  ExpectOnceEach(processed, 4);
  for (int i = 0; i < 4; ++i) {
    Persist([&] { queue.Forget(Key(i)); });
    EXPECT_EQ(queue.NumRequeues(Key(i)), 0);
  }
}

template <typename Q, typename Options>
std::unique_ptr<Q> MakeOn(SparedClock& clock) {
  return Persist([&clock] {
    Options options;
    options.name = "a name that no string keeps within itself";
    options.clock = &clock;
    return std::make_unique<Q>(std::move(options));
  });
}

constexpr auto* kMakeQueue =
    &MakeOn<Queue<std::string>, QueueOptions<std::string> >;
constexpr auto* kMakeContendedQueue =
    &MakeOn<ContendedQueue<std::string>, QueueOptions<std::string> >;
constexpr auto* kMakeDelayingQueue =
    &MakeOn<DelayingQueue<std::string>, DelayingQueueOptions<std::string> >;
constexpr auto* kMakeContendedDelayingQueue =
    &MakeOn<ContendedDelayingQueue<std::string>,
            DelayingQueueOptions<std::string> >;
constexpr auto* kMakeRateLimitingQueue =
    &MakeOn<RateLimitingQueue<std::string>,
            RateLimitingQueueOptions<std::string> >;
constexpr auto* kMakePriorityQueue =
    &MakeOn<PriorityQueue<std::string>, PriorityQueueOptions<std::string> >;

std::string GroupOf(const std::string& key) {
  return key.substr(key.size() / 2);
}

std::unique_ptr<Queue<std::string> > MakeFairQueue(SparedClock&) {
  return Persist([] {
    QueueOptions<std::string> options;
    options.ordering = *FairOrdering<std::string>::Create(GroupOf);
    return std::make_unique<Queue<std::string> >(std::move(options));
  });
}

std::unique_ptr<Queue<std::string> > MakeFairQueueThatCounts(SparedClock&) {
  return Persist([] {
    FairOrderingOptions<std::string> fair;
    fair.dimensions.resize(2);
    for (auto& dimension : fair.dimensions) {
      dimension.group_of = GroupOf;
      dimension.weight_of = [](const std::string&) { return 2; };
      dimension.count_processing = true;
      dimension.max_in_process = 2;
    }
    fair.max_retries_in_process = 1;
    QueueOptions<std::string> options;
    options.ordering = *FairOrdering<std::string>::Create(std::move(fair));
    return std::make_unique<Queue<std::string> >(std::move(options));
  });
}

std::unique_ptr<DelayingQueue<std::string> > MakeSupersedingQueue(
    SparedClock& clock) {
  return Persist([&clock] {
    DelayingQueueOptions<std::string> options;
    options.clock = &clock;
    options.add_supersedes_waiting = true;
    return std::make_unique<DelayingQueue<std::string> >(std::move(options));
  });
}

std::unique_ptr<DelayingQueue<std::string> > MakeWithAWheel(
    SparedClock& clock) {
  return Persist([&clock] {
    DelayingQueueOptions<std::string> options;
    options.clock = &clock;
    options.waiting_set = *WaitingSetOptions::TimingWheel();
    return std::make_unique<DelayingQueue<std::string> >(std::move(options));
  });
}

// Makes a queue and uses it, over and over. Each time another allocation fails.
template <typename Make, typename... Uses>
void ForEveryAllocationOf(Make make, Uses... uses) {
  ForEveryAllocation([&] {
    SparedClock clock;
    const auto queue = make(clock);
    (uses(*queue, clock), ...);
  });
}

TEST(OutOfMemoryTest, AQueue) { ForEveryAllocationOf(kMakeQueue, UseAsQueue); }

TEST(OutOfMemoryTest, CallbacksOfAQueue) {
  ForEveryAllocationOf(kMakeQueue, UseWithCallbacks);
}

TEST(OutOfMemoryTest, CallbacksOfAQueueWithAnOrdering) {
  ForEveryAllocationOf(MakeFairQueue, UseWithCallbacks);
}

TEST(OutOfMemoryTest, CallbacksOfADelayingQueue) {
  ForEveryAllocationOf(MakeSupersedingQueue, UseWithCallbacks);
}

TEST(OutOfMemoryTest, CallbacksOfAPriorityQueue) {
  ForEveryAllocationOf(kMakePriorityQueue, UseWithCallbacks);
}

TEST(OutOfMemoryTest, AQueueWithAnOrdering) {
  ForEveryAllocationOf(MakeFairQueue, UseAsQueue);
}

TEST(OutOfMemoryTest, AQueueWithAnOrderingThatCounts) {
  ForEveryAllocationOf(MakeFairQueueThatCounts, UseAsQueue);
}

TEST(OutOfMemoryTest, ADelayingQueue) {
  ForEveryAllocationOf(kMakeDelayingQueue, UseAsQueue, UseAsDelayingQueue);
}

TEST(OutOfMemoryTest, AContendedQueue) {
  ForEveryAllocationOf(kMakeContendedQueue, UseAsQueue);
}

TEST(OutOfMemoryTest, AContendedPriorityQueue) {
  ForEveryAllocationOf(kMakePriorityQueue,
                       [](PriorityQueue<std::string>& queue, SparedClock&) {
                         for (int i = 0; i < 5; ++i) {
                           EXPECT_TRUE(Persist([&] {
                             internal::RingOpener::Open(&queue);
                             return queue.Add(Key(i));
                           }));
                         }
                         Processed processed;
                         for (int i = 0; i < 5; ++i)
                           ProcessOne(queue, processed);
                         ExpectOnceEach(processed, 5);
                       });
}

TEST(OutOfMemoryTest, AContendedDelayingQueue) {
  ForEveryAllocationOf(kMakeContendedDelayingQueue, UseAsQueue,
                       UseAsDelayingQueue);
}

TEST(OutOfMemoryTest, ADelayingQueueWithAWheelThatBeginsWithReschedule) {
  ForEveryAllocationOf(MakeWithAWheel, RescheduleFirst);
}

TEST(OutOfMemoryTest, APriorityQueueThatBeginsWithReschedule) {
  ForEveryAllocationOf(kMakePriorityQueue, RescheduleFirst);
}

TEST(OutOfMemoryTest, ADelayingQueueWithAWheel) {
  ForEveryAllocationOf(MakeWithAWheel, UseAsDelayingQueue);
}

TEST(OutOfMemoryTest, ARateLimitingQueue) {
  ForEveryAllocationOf(kMakeRateLimitingQueue, UseAsRateLimitingQueue);
}

TEST(OutOfMemoryTest, APriorityQueue) {
  ForEveryAllocationOf(kMakePriorityQueue, UseAsQueue, UseAsDelayingQueue,
                       UseAsRateLimitingQueue);
}

// Counts what is queued, and lets the queue keep the times of the adds.
class DepthMetrics final : public MetricsProvider {
 public:
  std::unique_ptr<GaugeMetric> NewDepthMetric(absl::string_view) override {
    return std::make_unique<Depth>(&depth);
  }
  std::unique_ptr<SettableGaugeMetric> NewOldestQueuedSecondsMetric(
      absl::string_view) override {
    return std::make_unique<Oldest>();
  }

  int depth = 0;

 private:
  class Depth final : public GaugeMetric {
   public:
    explicit Depth(int* depth) : depth_(*depth) {}
    void Inc() override { ++depth_; }
    void Dec() override { --depth_; }

   private:
    int& depth_;
  };
  class Oldest final : public SettableGaugeMetric {
   public:
    void Set(double) override {}
  };
};

TEST(OutOfMemoryTest, TheDepthIsRightAfterAddsAndReturns) {
  ForEveryAllocation([] {
    SparedClock clock;
    DepthMetrics metrics;
    const auto queue = Persist([&] {
      QueueOptions<std::string> options;
      options.name = "pods";
      options.clock = &clock;
      options.metrics_provider = &metrics;
      return std::make_unique<ContendedQueue<std::string> >(std::move(options));
    });
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(Persist([&] { return queue->Add(Key(i)); }));
      clock.Step(absl::Milliseconds(100));
    }
    EXPECT_EQ(queue->Len(), 5u);
    EXPECT_EQ(metrics.depth, 5);
    std::vector<Lease<std::string> > leases;
    for (int i = 0; i < 5; ++i) {
      leases.push_back(Persist([&] { return *queue->Acquire(); }));
    }
    for (auto& lease : leases) Persist([&lease] { lease.GiveBack(); });
    EXPECT_EQ(metrics.depth, 5);
    Processed processed;
    ProcessAll(*queue, processed);
    EXPECT_EQ(metrics.depth, 0);
  });
}

// Takes the memory from all threads but this one, as long as it exists.
class NoMemoryForOthers {
 public:
  NoMemoryForOthers() {
    CountedHeap::Fail(1, std::numeric_limits<int64_t>::max());
  }
  ~NoMemoryForOthers() { CountedHeap::StopFailing(); }

 private:
  const Spared spared_{true};
};

// A sink that needs no memory to count messages.
class CountingLog final : public LogSink {
 public:
  void Log(absl::LogSeverity severity, absl::string_view message) override {
    if (severity == absl::LogSeverity::kError &&
        absl::StartsWith(message, "queue test: ")) {
      ++errors_;
    }
  }
  int errors() const { return errors_; }

 private:
  std::atomic<int> errors_{0};
};

class NoMemoryForTheThreadTest : public testing::Test {
 protected:
  static constexpr int kCapacity = 1000;  // of the add-channel

  NoMemoryForTheThreadTest() {
    const Spared spared(true);
    RateLimitingQueueOptions<std::string> options;
    options.name = "test";
    options.clock = &clock_;
    options.log_sink = &log_;
    queue_ =
        std::make_unique<RateLimitingQueue<std::string> >(std::move(options));
    clock_.Step(absl::ZeroDuration());
  }

  SparedClock clock_;
  CountingLog log_;
  std::unique_ptr<RateLimitingQueue<std::string> > queue_;
};

// A thread that finds the channel full takes in the items itself.
TEST_F(NoMemoryForTheThreadTest, AddAfterDoesNotBlock) {
  constexpr size_t kItems = 3 * kCapacity;
  {
    const NoMemoryForOthers no_memory;
    EXPECT_TRUE(queue_->AddAfter("a", absl::Seconds(1)));
    clock_.Step(absl::ZeroDuration());
    EXPECT_EQ(log_.errors(), 1);
    for (size_t i = 1; i < kItems; ++i) {
      EXPECT_TRUE(queue_->AddAfter(Key(i), absl::Seconds(1)));
    }
  }
  clock_.Step(absl::Seconds(2));
  EXPECT_EQ(queue_->Len(), kItems);
}

// The queue's thread tries again a second later, although another thread has
// taken in the items.
TEST_F(NoMemoryForTheThreadTest, ItemsThatACallTakesInAreASecondLateAtMost) {
  {
    const NoMemoryForOthers no_memory;
    EXPECT_TRUE(queue_->AddAfter(Key(1), absl::Milliseconds(100)));
    clock_.Step(absl::ZeroDuration());
    EXPECT_EQ(log_.errors(), 1);
    EXPECT_TRUE(queue_->AddAfter(Key(2), absl::Milliseconds(200)));
    clock_.Step(absl::ZeroDuration());
    EXPECT_EQ(log_.errors(), 2);
  }
  EXPECT_TRUE(queue_->CancelDelayed(Key(2)));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(queue_->Len(), 1u);
}

// To add what other threads have pushed, the queue's thread needs memory.
TEST(NoMemoryForPushedItemsTest, TheThreadTriesAgain) {
  const Spared spared(true);
  SparedClock clock;
  CountingLog log;
  DelayingQueueOptions<std::string> options;
  options.name = "test";
  options.clock = &clock;
  options.log_sink = &log;
  ContendedDelayingQueue<std::string> queue(std::move(options));
  EXPECT_TRUE(queue.AddAfter(Key(2), absl::Seconds(1)));
  clock.Step(absl::ZeroDuration());
  EXPECT_TRUE(queue.Add(Key(1)));
  {
    const NoMemoryForOthers no_memory;
    clock.Step(absl::Seconds(1));
    EXPECT_EQ(log.errors(), 1);
  }
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(queue.Get(), Key(1));
  EXPECT_EQ(queue.Get(), Key(2));
}

class DelayQueueOutOfMemoryTest
    : public testing::TestWithParam<WaitingSetOptions> {};

INSTANTIATE_TEST_SUITE_P(WaitingSets, DelayQueueOutOfMemoryTest,
                         testing::Values(WaitingSetOptions(),
                                         *WaitingSetOptions::TimingWheel()));

TEST_P(DelayQueueOutOfMemoryTest, ADelayQueue) {
  ForEveryAllocation([] {
    SparedClock clock;
    auto queue = Persist([&clock] {
      DelayQueueOptions options;
      options.clock = &clock;
      options.waiting_set = GetParam();
      return std::make_unique<DelayQueue<std::string> >(std::move(options));
    });
    std::vector<DelayQueueHandle> handles;
    handles.reserve(10);
    for (int i = 0; i < 10; ++i) {
      handles.push_back(Persist([&] {
        return queue->Push(Key(i), absl::Milliseconds(10 * (i + 1)));
      }));
    }
    EXPECT_TRUE(queue->Cancel(handles[3]));
    EXPECT_TRUE(Persist(
        [&] { return queue->Reset(handles[9], absl::Milliseconds(5)); }));
    Processed processed;
    clock.Step(absl::Milliseconds(50));
    processed[*Persist([&] { return queue->Take(); })] += 1;
    while (processed.size() < 9) {
      clock.Step(absl::Milliseconds(50));
      auto values = Persist(
          [&] { return queue->TakeUpToWithTimeout(3, absl::ZeroDuration()); });
      if (!values.ok()) continue;
      for (const std::string& value : *values) ++processed[value];
    }
    ExpectOnceEach(processed, 9);
    EXPECT_EQ(queue->Len(), 0u);
  });
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::out_of_memory_test
