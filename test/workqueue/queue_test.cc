// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/queue.h"

#include <atomic>
#include <cctype>
#include <cstddef>
#include <functional>
#include <future>  // NOLINT(build/c++11)
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/fragile_key.h"
#include "test/workqueue/recording_metrics.h"
#include "test/workqueue/watched_fifo.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/testing/thread.h"

namespace workqueue::queue_test {
namespace {

// -----------------------------------------------------------------------------
// The tests of client-go's queue_test.go, under their names
// -----------------------------------------------------------------------------

enum class Ending { kShutDown, kShutDownWithDrain };

class ClientGoQueueTest : public testing::TestWithParam<Ending> {
 protected:
  void End() {
    if (GetParam() == Ending::kShutDown) {
      queue_.ShutDown();
    } else {
      EXPECT_TRUE(queue_.ShutDownWithDrain());
    }
  }

  Queue<int> queue_;
};

INSTANTIATE_TEST_SUITE_P(Endings, ClientGoQueueTest,
                         testing::Values(Ending::kShutDown,
                                         Ending::kShutDownWithDrain),
                         [](const auto& info) {
                           return info.param == Ending::kShutDown
                                      ? "ShutDown"
                                      : "ShutDownWithDrain";
                         });

TEST_P(ClientGoQueueTest, Basic) {
  constexpr int kProducers = 50, kConsumers = 10, kAddsOfEach = 50;
  constexpr int kAddedAfterShutDown = -1;
  std::vector<Thread> producers, consumers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([this, p] {
      for (int i = 0; i < kAddsOfEach; ++i) EXPECT_TRUE(queue_.Add(p));
    });
  }
  std::vector<std::atomic<int>> processed(kProducers);
  for (int c = 0; c < kConsumers; ++c) {
    consumers.emplace_back([&, this] {
      while (std::optional<int> item = queue_.Get()) {
        ASSERT_NE(*item, kAddedAfterShutDown);
        ++processed[*item];
        EXPECT_TRUE(queue_.Done(*item));
      }
    });
  }
  for (Thread& producer : producers) producer.join();
  End();
  EXPECT_FALSE(queue_.Add(kAddedAfterShutDown));
  for (Thread& consumer : consumers) consumer.join();
  EXPECT_EQ(queue_.Len(), 0u);
  for (const std::atomic<int>& times : processed) {
    EXPECT_GE(times, 1);
    EXPECT_LE(times, kAddsOfEach);
  }
}

TEST_P(ClientGoQueueTest, AddWhileProcessing) {
  constexpr int kProducers = 50, kConsumers = 10;
  std::vector<Thread> producers, consumers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([this, p] { EXPECT_TRUE(queue_.Add(p)); });
  }
  std::vector<std::atomic<int>> added(kProducers), processed(kProducers);
  for (int c = 0; c < kConsumers; ++c) {
    consumers.emplace_back([&] {
      // Each consumer adds an item again the first time that it gets the item.
      std::map<int, int> seen;
      while (std::optional<int> item = queue_.Get()) {
        ++processed[*item];
        if (++seen[*item] < 2) added[*item] += queue_.Add(*item);
        EXPECT_TRUE(queue_.Done(*item));
      }
    });
  }
  for (Thread& producer : producers) producer.join();
  End();
  for (Thread& consumer : consumers) consumer.join();
  EXPECT_EQ(queue_.Len(), 0u);
  for (int i = 0; i < kProducers; ++i) {
    // No two additions were merged: each came while its item was processed, one
    // at a time.
    EXPECT_EQ(processed[i], 1 + added[i]);
  }
}

TEST(QueueTest, Len) {
  Queue<std::string> queue;
  queue.Add("foo");
  EXPECT_EQ(queue.Len(), 1u);
  queue.Add("bar");
  EXPECT_EQ(queue.Len(), 2u);
  queue.Add("foo");
  EXPECT_EQ(queue.Len(), 2u) << "it was there already";
}

TEST(QueueTest, Reinsert) {
  Queue<std::string> queue;
  queue.Add("foo");
  ASSERT_EQ(queue.Get(), "foo");
  queue.Add("foo");
  queue.Done("foo");
  EXPECT_EQ(queue.Get(), "foo");
  queue.Done("foo");
  EXPECT_EQ(queue.Len(), 0u);
}

class WatchedQueueTest : public testing::Test {
 protected:
  WatchedFifo<std::string>* fifo_ = nullptr;
  Queue<std::string> queue_{[this] {
    QueueOptions<std::string> options;
    auto owned = std::make_unique<WatchedFifo<std::string>>();
    fifo_ = owned.get();
    options.ordering = std::move(owned);
    return options;
  }()};
};

TEST_F(WatchedQueueTest, Collapse) {
  queue_.Add("bar");
  queue_.Add("bar");
  ASSERT_EQ(queue_.Get(), "bar");
  queue_.Done("bar");
  EXPECT_EQ(queue_.Len(), 0u);
  EXPECT_EQ(fifo_->touched(), std::vector<std::string>{"bar"});
}

TEST_F(WatchedQueueTest, CollapseWhileProcessing) {
  queue_.Add("foo");
  ASSERT_EQ(queue_.Get(), "foo");
  queue_.Add("foo");
  queue_.Add("foo");
  absl::Notification got;
  Thread other_worker([&] {
    EXPECT_EQ(queue_.Get(), "foo");
    got.Notify();
    queue_.Done("foo");
  });
  fifo_->AwaitBlocked(queue_, 1);
  EXPECT_FALSE(got.HasBeenNotified()) << "we are not done";
  queue_.Done("foo");
  other_worker.join();
  EXPECT_EQ(queue_.Len(), 0u);
  EXPECT_EQ(fifo_->touched(), std::vector<std::string>{});
}

// Two items are being processed, and nothing is queued.
class BusyQueueTest : public testing::Test {
 protected:
  BusyQueueTest() {
    for (const char* item : {"foo", "bar"}) {
      queue_.Add(item);
      queue_.Get();
    }
  }

  // Blocks until a shutdown has begun.
  void AwaitShutDown() { EXPECT_EQ(queue_.Get(), std::nullopt); }

  std::future<bool> StartDrain() {
    return Async([this] { return queue_.ShutDownWithDrain(); });
  }

  Queue<std::string> queue_;
};

TEST_F(BusyQueueTest, QueueDrainageUsingShutDownWithDrain) {
  auto drained = StartDrain();
  AwaitShutDown();
  queue_.Done("foo");
  queue_.Done("bar");
  EXPECT_TRUE(drained.get());
}

TEST_F(BusyQueueTest, NoQueueDrainageUsingShutDown) {
  Thread([this] { queue_.ShutDown(); }).join();
}

TEST_F(BusyQueueTest, ForceQueueShutdownUsingShutDown) {
  auto drained = StartDrain();
  AwaitShutDown();
  queue_.ShutDown();
  EXPECT_FALSE(drained.get());
}

TEST(QueueTest, QueueDrainageUsingShutDownWithDrainWithDirtyItem) {
  Queue<std::string> queue;
  queue.Add("foo");
  ASSERT_EQ(queue.Get(), "foo");
  queue.Add("foo");
  std::atomic<int> dones{0};
  auto drained = Async([&] {
    const bool result = queue.ShutDownWithDrain();
    EXPECT_EQ(dones, 2);
    return result;
  });
  EXPECT_EQ(queue.Get(), std::nullopt);  // The drain has begun.
  ++dones;
  queue.Done("foo");
  EXPECT_EQ(queue.Get(), "foo");
  ++dones;
  queue.Done("foo");
  EXPECT_EQ(queue.Get(), std::nullopt);
  EXPECT_TRUE(drained.get());
}

TEST(QueueTest, GarbageCollection) {
  Queue<std::shared_ptr<std::string>> queue;
  auto item = std::make_shared<std::string>("hello");
  const std::weak_ptr<std::string> watched = item;
  queue.Add(item);
  queue.Get();
  queue.Done(std::move(item));
  item.reset();
  EXPECT_TRUE(watched.expired());
}

// -----------------------------------------------------------------------------
// Draining
// -----------------------------------------------------------------------------

TEST_F(WatchedQueueTest, ShutDownEndsEveryDrain) {
  queue_.Add("queued");
  std::vector<std::future<bool>> drained;
  for (int i = 0; i < 4; ++i) {
    drained.push_back(Async([this] { return queue_.ShutDownWithDrain(); }));
  }
  fifo_->AwaitBlocked(queue_, 4);
  queue_.ShutDown();
  for (auto& one : drained) EXPECT_FALSE(one.get());
}

TEST_F(WatchedQueueTest, ADrainThatBeginsAfterAShutDownIsNotEndedByIt) {
  queue_.Add("queued");
  queue_.ShutDown();
  auto drained = Async([this] { return queue_.ShutDownWithDrain(); });
  fifo_->AwaitBlocked(queue_, 1);
  EXPECT_EQ(queue_.Get(), "queued");
  queue_.Done("queued");
  EXPECT_TRUE(drained.get());
}

// -----------------------------------------------------------------------------
// Waking getters
// -----------------------------------------------------------------------------

TEST_F(WatchedQueueTest, ShutDownWithDrainWakesEveryGetter) {
  std::vector<std::future<std::optional<std::string>>> getters;
  for (int i = 0; i < 4; ++i) {
    getters.push_back(Async([this] { return queue_.Get(); }));
  }
  fifo_->AwaitBlocked(queue_, 4);
  EXPECT_TRUE(queue_.ShutDownWithDrain());
  for (auto& getter : getters) EXPECT_EQ(getter.get(), std::nullopt);
}

TEST_F(WatchedQueueTest, GettersAreWokenAgainAndAgain) {
  for (int round = 1; round <= 100; ++round) {
    auto getter = Async([this] { return queue_.Get(); });
    queue_.Add("a");
    ASSERT_EQ(getter.get(), "a");
    ASSERT_TRUE(queue_.Done("a"));
  }
}

// -----------------------------------------------------------------------------
// Items
// -----------------------------------------------------------------------------

struct IgnoringCaseHash {
  size_t operator()(const std::string& s) const {
    return std::hash<std::string>()(absl::AsciiStrToLower(s));
  }
};
struct IgnoringCaseEq {
  bool operator()(const std::string& a, const std::string& b) const {
    return absl::EqualsIgnoreCase(a, b);
  }
};

TEST(QueueItemsTest, EqualItemsAreTheSame) {
  Queue<std::string, IgnoringCaseHash, IgnoringCaseEq> queue;
  EXPECT_TRUE(queue.Add("Web"));
  EXPECT_TRUE(queue.Add("WEB"));
  EXPECT_EQ(queue.Len(), 1u);
  EXPECT_EQ(queue.Get(), "Web");
  EXPECT_TRUE(queue.Done("web"));
  EXPECT_FALSE(queue.Done("Web"));
}

TEST(QueueItemsTest, NeedOnlyBeCopyable) {
  Queue<FragileKey, FragileHash, FragileEq> queue;
  queue.Add(FragileKey(1));
  queue.Add(FragileKey(2));
  queue.Add(FragileKey(3));
  queue.Add(FragileKey(1));
  EXPECT_EQ(queue.Len(), 3u);
  EXPECT_EQ(queue.Get()->value(), 1);
  EXPECT_TRUE(queue.Done(FragileKey(1)));
}

TEST(QueueItemsTest, MayHashAlike) {
  struct SameHash {
    size_t operator()(int) const { return 0; }
  };
  Queue<int, SameHash> queue;
  for (int i = 0; i < 100; ++i) queue.Add(i);
  for (int i = 0; i < 100; ++i) queue.Add(i);
  EXPECT_EQ(queue.Len(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(queue.Get(), i);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(queue.Done(i));
}

TEST(QueueItemsTest, AreReleasedWithTheQueue) {
  auto queued = std::make_shared<int>(1);
  auto processing = std::make_shared<int>(2);
  auto both = std::make_shared<int>(3);
  {
    Queue<std::shared_ptr<int>> queue;
    queue.Add(processing);
    queue.Get();
    queue.Add(both);
    queue.Get();
    queue.Add(both);
    queue.Add(queued);
    for (const auto& item : {queued, processing, both}) {
      EXPECT_EQ(item.use_count(), 3)
          << *item;  // The pointers of the test, the list and the queue.
    }
  }
  for (const auto& item : {queued, processing, both}) {
    EXPECT_EQ(item.use_count(), 2) << *item;
  }
}

TEST(QueueItemsTest, AreStoredOnce) {
  Queue<std::shared_ptr<int>> queue;
  const auto item = std::make_shared<int>(1);
  for (int i = 0; i < 3; ++i) queue.Add(item);
  EXPECT_EQ(item.use_count(), 2);
  queue.Get();
  EXPECT_EQ(item.use_count(), 2);
  queue.Add(item);
  EXPECT_EQ(item.use_count(), 2);
  queue.Done(item);
  queue.Get();
  queue.Done(item);
  EXPECT_EQ(item.use_count(), 1);
}

TEST(QueueOptionsTest, AllHaveADefault) {
  Queue<int> queue;
  queue.Add(1);
  EXPECT_EQ(queue.Get(), 1);
}

TEST(QueueOptionsTest, AQueueWithoutMetricsStartsNoThread) {
  FakeClock clock;
  QueueOptions<int> options;
  options.clock = &clock;
  Queue<int> queue(std::move(options));
  clock.Step(absl::ZeroDuration());
  EXPECT_FALSE(clock.HasWaiters());
}

// -----------------------------------------------------------------------------
// Exceptions
// -----------------------------------------------------------------------------

#ifdef ABSL_HAVE_EXCEPTIONS

using FragileQueue = Queue<FragileKey, FragileHash, FragileEq>;

// All odd numbers have the same hash, and all even numbers, so that items are
// compared.
constexpr int kQueued = 1, kQueuedToo = 2, kProcessing = 3, kBoth = 4, kNew = 5;

// Makes `queue` contain items in all states.
void Fill(FragileQueue& queue) {
  for (int item : {kProcessing, kBoth}) {
    queue.Add(FragileKey(item));
    queue.Get();
  }
  for (int item : {kBoth, kQueued, kQueuedToo}) queue.Add(FragileKey(item));
}

// Checks that `queue` is as Fill() left it.
void ExpectAsFilled(FragileQueue& queue) {
  ASSERT_EQ(queue.Len(), 2u);
  EXPECT_FALSE(queue.Done(FragileKey(kNew)));
  EXPECT_FALSE(queue.Done(FragileKey(kQueued)));
  EXPECT_TRUE(queue.Done(FragileKey(kProcessing)));
  ASSERT_EQ(queue.Len(), 2u);
  EXPECT_TRUE(queue.Done(FragileKey(kBoth)));
  ASSERT_EQ(queue.Len(), 3u);
  for (int item : {kQueued, kQueuedToo, kBoth}) {
    EXPECT_EQ(queue.Get()->value(), item);
    EXPECT_TRUE(queue.Done(FragileKey(item)));
  }
  EXPECT_TRUE(queue.ShutDownWithDrain());
}

struct FragileCall {
  std::string name;
  std::function<void(FragileQueue&)> call;
};

void PrintTo(const FragileCall& call, std::ostream* os) { *os << call.name; }

class QueueThrowsTest : public testing::TestWithParam<FragileCall> {};

INSTANTIATE_TEST_SUITE_P(
    Calls, QueueThrowsTest,
    testing::Values(
        FragileCall{"AddNew", [](FragileQueue& q) { q.Add(FragileKey(kNew)); }},
        FragileCall{"AddQueued",
                    [](FragileQueue& q) { q.Add(FragileKey(kQueued)); }},
        FragileCall{"AddProcessing",
                    [](FragileQueue& q) { q.Add(FragileKey(kProcessing)); }},
        FragileCall{"AddBoth",
                    [](FragileQueue& q) { q.Add(FragileKey(kBoth)); }},
        FragileCall{"Get", [](FragileQueue& q) { q.Get(); }},
        FragileCall{"DoneProcessing",
                    [](FragileQueue& q) { q.Done(FragileKey(kProcessing)); }},
        FragileCall{"DoneBoth",
                    [](FragileQueue& q) { q.Done(FragileKey(kBoth)); }},
        FragileCall{"DoneQueued",
                    [](FragileQueue& q) { q.Done(FragileKey(kQueued)); }}),
    [](const auto& info) { return info.param.name; });

// If any operation throws, at any time, the queue is unchanged.
TEST_P(QueueThrowsTest, TheQueueIsAsItWas) {
  const int live_before = FragileKey::live();
  int blown = 0;
  for (FragileOp op : kFragileOps) {
    for (int n = 1;; ++n) {
      SCOPED_TRACE(n);
      ASSERT_LT(n, 100);
      FragileQueue queue;
      Fill(queue);
      Fuse::Arm(op, n);
      const bool threw = Blows([&] { GetParam().call(queue); });
      Fuse::Disarm();
      if (!threw) break;
      ++blown;
      ExpectAsFilled(queue);
    }
  }
  EXPECT_GE(blown, 1);
  EXPECT_EQ(FragileKey::live(), live_before);
}

// The getter that was woken throws. Another getter gets the item.
TEST(QueueThrowsInThreadsTest, AnotherGetterGetsTheItem) {
  auto owned = std::make_unique<WatchedFifo<FragileKey>>();
  WatchedFifo<FragileKey>* const fifo = owned.get();
  QueueOptions<FragileKey> options;
  options.ordering = std::move(owned);
  FragileQueue queue(std::move(options));

  std::atomic<int> blown{0}, got{0};
  std::vector<Thread> getters;
  for (int i = 0; i < 2; ++i) {
    getters.emplace_back(
        [&] { blown += Blows([&] { got += queue.Get()->value(); }); });
  }
  fifo->AwaitBlocked(queue, 2);
  Fuse::Arm(FragileOp::kCopy, 2);  // The first copy is into the queue.
  queue.Add(FragileKey(7));
  for (Thread& getter : getters) getter.join();
  EXPECT_TRUE(Fuse::Disarm());
  EXPECT_EQ(blown, 1);
  EXPECT_EQ(got, 7);
}

TEST(QueueThrowsInThreadsTest, AnOrderingGetsTheItemBack) {
  QueueOptions<FragileKey> options;
  options.ordering = std::make_unique<WatchedFifo<FragileKey>>();
  FragileQueue queue(std::move(options));
  Fill(queue);
  Fuse::Arm(FragileOp::kCopy, 1);
  EXPECT_TRUE(Blows([&] { queue.Get(); }));
  Fuse::Disarm();
  EXPECT_EQ(queue.Len(), 2u);
  EXPECT_FALSE(queue.Done(FragileKey(kQueued)));
  // The ordering decides its place.
  EXPECT_EQ(queue.Get()->value() + queue.Get()->value(), kQueued + kQueuedToo);
}

// Any metric may throw. Every call except `Done()` then throws.
TEST(QueueThrowsInMetricsTest, TheQueueIsAsItWas) {
  constexpr MetricKind kInAdd[] = {MetricKind::kAdds, MetricKind::kDepth};
  constexpr MetricKind kInGet[] = {MetricKind::kDepth, MetricKind::kLatency};

  FakeClock clock;
  RecordingMetrics metrics;
  QueueOptions<FragileKey> options;
  options.name = "test";
  options.metrics_provider = &metrics;
  options.clock = &clock;
  FragileQueue queue(std::move(options));
  Fill(queue);

  const auto throw_in = [&metrics](MetricKind kind) {
    metrics.on_call = [kind](MetricKind called) {
      if (called == kind) throw Fuse::Blown();
    };
  };
  for (MetricKind kind : kInAdd) {
    throw_in(kind);
    EXPECT_TRUE(Blows([&] { queue.Add(FragileKey(kNew)); }));
    EXPECT_TRUE(Blows([&] { queue.Add(FragileKey(kProcessing)); }));
  }
  for (MetricKind kind : kInGet) {
    throw_in(kind);
    EXPECT_TRUE(Blows([&] { queue.Get(); }));
  }
  metrics.on_call = [](MetricKind) {};
  ExpectAsFilled(queue);
}

// `Done()` ends the processing even if a metric throws.
TEST(QueueThrowsInMetricsTest, DoneIsDone) {
  FakeClock clock;
  RecordingMetrics metrics;
  QueueOptions<int> options;
  options.name = "test";
  options.metrics_provider = &metrics;
  options.clock = &clock;
  Queue<int> queue(std::move(options));
  metrics.on_call = [](MetricKind called) {
    if (called == MetricKind::kWorkDuration) throw Fuse::Blown();
  };
  queue.Add(1);
  queue.Get();
  EXPECT_TRUE(queue.Done(1));
  EXPECT_FALSE(queue.Done(1));
  queue.Add(2);
  { Lease<int> lease = *queue.Acquire(); }
  EXPECT_TRUE(queue.ShutDownWithDrain());
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::queue_test
