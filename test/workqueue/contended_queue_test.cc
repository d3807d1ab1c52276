// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of additions that a thread leaves to the thread that holds the lock.

#include "test/workqueue/contended_queue.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"
#include "test/workqueue/recording_log.h"
#include "test/workqueue/recording_metrics.h"
#include "test/workqueue/watched_fifo.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/lease.h"
#include "workqueue/log_sink.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/snapshot.h"

namespace workqueue::contended_queue_test {
namespace {

using Items = std::vector<int>;

// An item that a queue can push.
struct Shared {
  bool operator==(const Shared& other) const noexcept {
    return owned == other.owned;
  }
  template <typename H>
  friend H AbslHashValue(H hash, const Shared& it) {
    return H::combine(std::move(hash), it.owned.get());
  }
  std::shared_ptr<int> owned;
};

class ContendedQueueTest : public testing::Test {
 protected:
  static QueueOptions<int> On(FakeClock* clock) {
    QueueOptions<int> options;
    options.clock = clock;
    return options;
  }

  // Takes and finishes all items that are queued.
  Items TakeAll() {
    Items items;
    while (queue_.Len() > 0) {
      items.push_back(*queue_.Get());
      queue_.Done(items.back());
    }
    return items;
  }

  FakeClock clock_;
  ContendedQueue<int> queue_{On(&clock_)};
};

TEST_F(ContendedQueueTest, TheNextCallSeesThePushedItem) {
  EXPECT_TRUE(queue_.Add(1));
  EXPECT_EQ(queue_.Len(), 1u);
  EXPECT_TRUE(queue_.Add(2));
  EXPECT_EQ(queue_.TakeSnapshot()->queued.size(), 2u);
  EXPECT_TRUE(queue_.Add(3));
  EXPECT_EQ(queue_.Get(), 1);
  EXPECT_EQ(queue_.GetWithTimeout(absl::ZeroDuration()).value(), 2);
  EXPECT_TRUE(queue_.Add(4));
  EXPECT_EQ(queue_.AcquireUpTo(9)->size(), 2u);
  EXPECT_TRUE(queue_.Add(5));
  EXPECT_EQ(queue_.GetWithTimeout(absl::ZeroDuration()).value(), 5);
  EXPECT_TRUE(queue_.Add(6));
  EXPECT_EQ(queue_.Get(), 6);
}

TEST_F(ContendedQueueTest, ItemsComeInTheOrderOfTheirAdds) {
  queue_.Add(1);
  queue_.Add(2);
  queue_.AddAll(Items{3, 4});
  queue_.Add(5);
  EXPECT_EQ(TakeAll(), (Items{1, 2, 3, 4, 5}));
}

TEST_F(ContendedQueueTest, AnItemIsQueuedOnce) {
  queue_.Add(1);
  queue_.Add(1);
  queue_.Add(2);
  queue_.Add(1);
  EXPECT_EQ(TakeAll(), (Items{1, 2}));
}

TEST_F(ContendedQueueTest, AnItemThatIsAddedWhileItIsProcessedComesAgain) {
  queue_.Add(1);
  EXPECT_EQ(queue_.Get(), 1);
  queue_.Add(1);
  queue_.Add(2);
  EXPECT_EQ(queue_.Len(), 1u);
  queue_.Add(3);
  EXPECT_TRUE(queue_.Done(1));
  queue_.Add(4);
  EXPECT_EQ(TakeAll(), (Items{2, 3, 1, 4}));
}

TEST_F(ContendedQueueTest, MoreItemsThanTheRingHasRoomForAreTaken) {
  Items items;
  for (int i = 0; i < 1000; ++i) {
    items.push_back(i);
    EXPECT_TRUE(queue_.Add(i));
  }
  EXPECT_EQ(TakeAll(), items);
}

TEST_F(ContendedQueueTest, AnItemIsOldFromItsAdd) {
  const absl::Time added = clock_.TimeNow();
  queue_.Add(1);
  clock_.Step(absl::Seconds(5));
  const Snapshot<int> snapshot = *queue_.TakeSnapshot();
  ASSERT_EQ(snapshot.queued.size(), 1u);
  EXPECT_EQ(snapshot.queued[0].since, added);
}

TEST_F(ContendedQueueTest, AShutdownRefusesLaterItemsAndKeepsEarlierOnes) {
  queue_.Add(1);
  queue_.ShutDown();
  EXPECT_FALSE(queue_.Add(2));
  EXPECT_FALSE(queue_.OpenRing());
  EXPECT_EQ(queue_.Get(), 1);
  EXPECT_EQ(queue_.Get(), std::nullopt);
}

TEST_F(ContendedQueueTest, ADrainWaitsForPushedItems) {
  queue_.Add(1);
  EXPECT_FALSE(queue_.ShutDownWithDrainWithin(absl::ZeroDuration()));
  EXPECT_EQ(TakeAll(), Items{1});
  EXPECT_TRUE(queue_.ShutDownWithDrainWithin(absl::ZeroDuration()));
}

// If a push were left alone while the worker blocks, the drain would not end.
TEST_F(ContendedQueueTest, AWorkerThatBlocksGetsEveryItem) {
  std::thread worker([this] {
    while (const std::optional<int> item = queue_.Get()) queue_.Done(*item);
  });
  for (int i = 0; i < 1000; ++i) queue_.Add(i);
  queue_.ShutDownWithDrain();
  worker.join();
  EXPECT_EQ(queue_.Len(), 0u);
}

TEST_F(ContendedQueueTest, TheDestructorDropsPushedItems) {
  const auto owned = std::make_shared<int>(1);
  {
    ContendedQueue<Shared> queue;
    ASSERT_TRUE(queue.OpenRing());
    queue.Add({owned});
    EXPECT_EQ(owned.use_count(), 2);
  }
  EXPECT_EQ(owned.use_count(), 1);
}

// -----------------------------------------------------------------------------
// A queue with priorities
// -----------------------------------------------------------------------------

class ContendedPriorityQueueTest : public testing::Test {
 protected:
  // The queue's thread applies pushed items when it begins, so it has to wait.
  ContendedPriorityQueueTest() { clock_.Step(absl::ZeroDuration()); }

  static PriorityQueueOptions<int> Options(FakeClock* clock, LogSink* log,
                                           RecordingMetrics* metrics) {
    PriorityQueueOptions<int> options;
    options.name = "test";
    options.metrics_provider = metrics;
    options.clock = clock;
    options.log_sink = log;
    return options;
  }

  // Pushes the addition of `item`.
  void Push(int item) {
    ASSERT_TRUE(internal::RingOpener::Open(&queue_));
    const int adds = metrics_.count(MetricKind::kAdds);
    EXPECT_TRUE(queue_.Add(item));
    EXPECT_EQ(metrics_.count(MetricKind::kAdds), adds);
  }

  void AddAt(int priority, int item) {
    AddOptions options;
    options.priority = priority;
    EXPECT_TRUE(queue_.AddWithOptions(options, {item}));
  }

  Items GetAll() {
    Items items;
    while (queue_.Len() > 0) items.push_back(*queue_.Get());
    return items;
  }

  FakeClock clock_;
  RecordingLog log_;
  RecordingMetrics metrics_;
  PriorityQueue<int> queue_{Options(&clock_, &log_, &metrics_)};
};

TEST_F(ContendedPriorityQueueTest, PushedItemsHavePriorityZeroAndTheirOrder) {
  AddAt(-1, 1);
  AddAt(-1, 2);
  Push(3);
  AddAt(1, 4);
  Push(5);
  Push(2);
  EXPECT_EQ(GetAll(), (Items{4, 3, 5, 2, 1}));
}

TEST_F(ContendedPriorityQueueTest, EachCallSeesThePushedItems) {
  Push(1);
  EXPECT_EQ(queue_.TakeSnapshot()->num_queued, 1u);
  queue_.AddAfter(2, absl::Seconds(1));
  Push(2);
  EXPECT_FALSE(queue_.CancelDelayed(2)) << "it does not wait any more";
  queue_.AddAfter(3, absl::Seconds(1));
  Push(3);
  EXPECT_EQ(queue_.TakeSnapshotOf(3)->num_waiting, 0u);
  EXPECT_EQ(GetAll(), (Items{1, 2, 3}));
}

TEST_F(ContendedPriorityQueueTest, TheDestructorDropsPushedItems) {
  const auto owned = std::make_shared<int>(1);
  {
    PriorityQueueOptions<Shared> options;
    options.clock = &clock_;
    PriorityQueue<Shared> queue(std::move(options));
    clock_.Step(absl::ZeroDuration());
    ASSERT_TRUE(internal::RingOpener::Open(&queue));
    queue.Add({owned});
    EXPECT_EQ(owned.use_count(), 2);
  }
  EXPECT_EQ(owned.use_count(), 1);
}

TEST_F(ContendedPriorityQueueTest, WithAnOrderingNothingIsPushed) {
  PriorityQueueOptions<int> options;
  options.ordering = std::make_unique<WatchedFifo<int>>();
  PriorityQueue<int> queue(std::move(options));
  EXPECT_FALSE(internal::RingOpener::Open(&queue));
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_F(ContendedPriorityQueueTest, AMetricThatThrowsLosesNoItem) {
  Push(1);
  metrics_.on_call = [](MetricKind kind) {
    if (kind == MetricKind::kAdds) throw std::runtime_error("thrown");
  };
  EXPECT_EQ(queue_.Len(), 1u);
  metrics_.on_call = [](MetricKind) {};
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(metrics_.values(MetricKind::kOldestQueued).back(), 1);
  EXPECT_EQ(queue_.Get(), 1);
  EXPECT_EQ(log_.messages(),
            std::vector<std::string>{"E queue test: the addition of 1 cannot "
                                     "be reported: INTERNAL: thrown"});
}

#endif  // ABSL_HAVE_EXCEPTIONS

// -----------------------------------------------------------------------------
// Queues whose additions may throw
// -----------------------------------------------------------------------------

TEST(NoRingTest, WithAnOrdering) {
  QueueOptions<int> options;
  options.ordering = std::make_unique<WatchedFifo<int>>();
  ContendedQueue<int> queue(std::move(options));
  EXPECT_FALSE(queue.OpenRing());
}

using internal::CanPush;

struct MayThrowWhenCompared {
  bool operator()(int a, int b) const { return a == b; }
};

struct ThrowsNothing {
  bool operator()(int a, int b) const noexcept { return a == b; }
};

TEST(NoRingTest, WithAnEqualityThatMayThrow) {
  EXPECT_FALSE((CanPush<int, MayThrowWhenCompared>()));
  EXPECT_TRUE((CanPush<int, ThrowsNothing>()));
}

struct MayThrowWhenMoved {
  MayThrowWhenMoved() = default;
  MayThrowWhenMoved(const MayThrowWhenMoved&) {}  // also moves
  bool operator==(const MayThrowWhenMoved&) const noexcept { return true; }
};

TEST(NoRingTest, WithItemsWhoseMoveMayThrow) {
  EXPECT_FALSE(
      (CanPush<MayThrowWhenMoved, std::equal_to<MayThrowWhenMoved>>()));
}

template <size_t kBytes>
struct OfSize {
  bool operator==(const OfSize&) const noexcept { return true; }
  char bytes[kBytes];
};

struct SameHash {
  size_t operator()(const OfSize<257>&) const { return 1; }
};

TEST(NoRingTest, WithLargeItemsWhichWouldKeepMemory) {
  EXPECT_TRUE((CanPush<OfSize<256>, std::equal_to<OfSize<256>>>()));
  ContendedQueue<OfSize<257>, SameHash, std::equal_to<OfSize<257>>> queue;
  EXPECT_FALSE(queue.OpenRing());
  EXPECT_TRUE(queue.Add({}));
  EXPECT_EQ(queue.Len(), 1u);
}

// -----------------------------------------------------------------------------
// With metrics
// -----------------------------------------------------------------------------

class ContendedQueueMetricsTest : public testing::Test {
 protected:
  QueueOptions<int> Options() {
    QueueOptions<int> options;
    options.name = "test";
    options.metrics_provider = &metrics_;
    options.clock = &clock_;
    options.log_sink = &log_;
    return options;
  }

  FakeClock clock_;
  RecordingLog log_;
  RecordingMetrics metrics_;
  ContendedQueue<int> queue_{Options()};
};

TEST_F(ContendedQueueMetricsTest, CountFromThePush) {
  EXPECT_TRUE(queue_.Add(1));
  EXPECT_EQ(metrics_.count(MetricKind::kAdds), 0);  // It has been pushed.
  clock_.Step(absl::Seconds(3));
  EXPECT_EQ(metrics_.count(MetricKind::kAdds), 1);
  EXPECT_EQ(metrics_.count(MetricKind::kDepth), 1);
  EXPECT_EQ(queue_.Get(), 1);
  EXPECT_EQ(metrics_.values(MetricKind::kLatency), std::vector<double>{3});
  EXPECT_EQ(metrics_.count(MetricKind::kDepth), 0);
}

TEST_F(ContendedQueueMetricsTest, CountAnItemOnce) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue_.Add(1));
  EXPECT_EQ(queue_.Len(), 1u);
  EXPECT_EQ(metrics_.count(MetricKind::kAdds), 1);
  EXPECT_EQ(metrics_.count(MetricKind::kDepth), 1);
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_F(ContendedQueueMetricsTest, ThatThrowLoseNoItem) {
  EXPECT_TRUE(queue_.Add(1));
  metrics_.on_call = [](MetricKind kind) {
    if (kind == MetricKind::kAdds) throw std::runtime_error("thrown");
  };
  EXPECT_EQ(queue_.Len(), 1u);
  metrics_.on_call = [](MetricKind) {};
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(metrics_.values(MetricKind::kOldestQueued).back(), 1);
  EXPECT_EQ(queue_.Get(), 1);
  EXPECT_EQ(metrics_.count(MetricKind::kDepth), 0);
  EXPECT_EQ(log_.messages(),
            std::vector<std::string>{"E queue test: the addition of 1 cannot "
                                     "be reported: INTERNAL: thrown"});
}

#endif  // ABSL_HAVE_EXCEPTIONS

// -----------------------------------------------------------------------------
// Without memory
// -----------------------------------------------------------------------------

#ifdef ABSL_HAVE_EXCEPTIONS

// Fills the ring with items, for most of which the queue has no memory.
class NoMemoryTest : public ContendedQueueTest {
 protected:
  void SetUp() override {
    queue_.Add(0);
    EXPECT_EQ(queue_.Get(), 0);
    for (int i = 1; i <= kItems; ++i) queue_.Add(i);
    CountedHeap::exhausted = true;
  }
  void TearDown() override {
    CountedHeap::exhausted = false;
    EXPECT_EQ(got_ + TakeAll().size(), size_t{kItems});
  }

  // Gets the items for which there is memory.
  void GetUntilOneThrows() {
    const auto get = [this] {
      while (queue_.Get().has_value()) ++got_;
    };
    EXPECT_THROW(get(), std::bad_alloc);
    EXPECT_LT(got_, size_t{kItems});
  }

  static constexpr int kItems = 30;
  size_t got_ = 0;
};

TEST_F(NoMemoryTest, AGetThatFindsNothingThrows) {
  GetUntilOneThrows();
  EXPECT_THROW(queue_.TryGet().IgnoreError(), std::bad_alloc);
}

TEST_F(NoMemoryTest, DoneEndsTheProcessing) {
  EXPECT_TRUE(queue_.Done(0));
  EXPECT_FALSE(queue_.Done(0));
}

TEST_F(NoMemoryTest, AShutdownKeepsTheItems) {
  queue_.ShutDown();
  EXPECT_TRUE(queue_.ShuttingDown());
  GetUntilOneThrows();
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::contended_queue_test
