// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of the calls that a queue makes to its ordering.

#include "workqueue/ordering.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "gtest/gtest.h"
#include "test/base/fragile_key.h"
#include "test/workqueue/lifo.h"
#include "test/workqueue/recording_metrics.h"
#include "test/workqueue/watched_fifo.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue::ordering_test {
namespace {

template <typename T>
QueueOptions<T> Ordered(std::unique_ptr<Ordering<T>> ordering) {
  QueueOptions<T> options;
  options.ordering = std::move(ordering);
  return options;
}

AddOptions Retry() {
  AddOptions options;
  options.retry = true;
  return options;
}

// Returns the queued items, in the order in which they are handed out.
template <typename T>
std::vector<T> GetAll(Queue<T>& queue) {
  std::vector<T> items;
  while (queue.Len() > 0) items.push_back(*queue.Get());
  return items;
}

TEST(OrderingTest, LastInFirstOut) {
  Queue<int> queue(Ordered<int>(std::make_unique<Lifo<int>>()));
  for (int i = 1; i <= 3; ++i) queue.Add(i);
  queue.Add(1);  // Calls `Touch()`, which has no effect in a `Lifo`.
  EXPECT_EQ(queue.Len(), 3u);
  EXPECT_EQ(GetAll(queue), (std::vector<int>{3, 2, 1}));

  queue.Add(2);
  queue.Add(3);
  queue.Done(3);
  queue.Done(2);
  EXPECT_EQ(GetAll(queue), (std::vector<int>{2, 3}));
}

// Hands out the item that has been added most often; among equals, the first.
class MostWanted final : public Ordering<std::string> {
 public:
  void Push(QueuedItem<std::string>* item) override {
    items_.emplace_back(1, item);
  }
  void Touch(QueuedItem<std::string>* item) override {
    ++std::find_if(items_.begin(), items_.end(), [item](const auto& e) {
        return e.second == item;
      })->first;
  }
  size_t Len() const override { return items_.size(); }
  QueuedItem<std::string>* Pop() override {
    const auto most = std::max_element(
        items_.begin(), items_.end(),
        [](const auto& a, const auto& b) { return a.first < b.first; });
    QueuedItem<std::string>* const item = most->second;
    items_.erase(most);
    return item;
  }

 private:
  std::deque<std::pair<int, QueuedItem<std::string>*>> items_;
};

TEST(OrderingTest, CanActOnTouch) {
  Queue<std::string> queue(
      Ordered<std::string>(std::make_unique<MostWanted>()));
  for (const char* item : {"a", "b", "c", "d", "c", "c", "b"}) queue.Add(item);
  EXPECT_EQ(GetAll(queue), (std::vector<std::string>{"c", "b", "a", "d"}));
}

// Records its calls, and checks that they fulfil the contract of `Ordering`.
class Scribe final : public Ordering<int> {
 public:
  explicit Scribe(std::vector<std::string>* calls) : calls_(calls) {}

  // Of the items touched; may be null.
  std::vector<int>* priorities = nullptr;

  void Push(QueuedItem<int>* item) override {
    Note("push", item->item());
    EXPECT_EQ(Find(item), items_.end());
    items_.push_back(item);
  }
  void Touch(QueuedItem<int>* item) override {
    Note("touch", item->item());
    if (priorities != nullptr) priorities->push_back(item->priority());
    EXPECT_NE(Find(item), items_.end());
  }
  size_t Len() const override { return items_.size(); }
  QueuedItem<int>* Pop() override {
    EXPECT_FALSE(items_.empty());
    QueuedItem<int>* const item = items_.front();
    Note("pop", item->item());
    items_.pop_front();
    return item;
  }

 private:
  void Note(const char* call, int item) {
    calls_->push_back(call + (" " + std::to_string(item)));
  }
  std::deque<QueuedItem<int>*>::iterator Find(QueuedItem<int>* item) {
    return std::find(items_.begin(), items_.end(), item);
  }

  std::vector<std::string>* const calls_;
  std::deque<QueuedItem<int>*> items_;
};

class OrderingCallsTest : public testing::Test {
 protected:
  using Calls = std::vector<std::string>;

  // Returns the calls since the last call of this function.
  Calls TakeCalls() { return std::exchange(calls_, {}); }

  Calls calls_;
  Queue<int> queue_{Ordered<int>(std::make_unique<Scribe>(&calls_))};
};

TEST_F(OrderingCallsTest, AddPushesANewItem) {
  queue_.Add(1);
  queue_.Add(2);
  EXPECT_EQ(TakeCalls(), (Calls{"push 1", "push 2"}));
}

TEST_F(OrderingCallsTest, AddTouchesAQueuedItem) {
  queue_.Add(1);
  TakeCalls();
  queue_.Add(1);
  queue_.Add(1);
  EXPECT_EQ(TakeCalls(), (Calls{"touch 1", "touch 1"}));
}

TEST_F(OrderingCallsTest, AddDoesNothingWithAnItemInProcess) {
  queue_.Add(1);
  queue_.Get();
  TakeCalls();
  queue_.Add(1);
  queue_.Add(1);
  EXPECT_EQ(TakeCalls(), Calls{});
}

TEST_F(OrderingCallsTest, GetPops) {
  queue_.Add(1);
  TakeCalls();
  queue_.Get();
  EXPECT_EQ(TakeCalls(), Calls{"pop 1"});
}

TEST_F(OrderingCallsTest, GetOfAnEmptyQueueDoesNotPop) {
  queue_.ShutDown();
  EXPECT_EQ(queue_.Get(), std::nullopt);
  EXPECT_EQ(TakeCalls(), Calls{});
}

TEST_F(OrderingCallsTest, DonePushesWhatWasAddedMeanwhile) {
  queue_.Add(1);
  queue_.Get();
  queue_.Add(1);
  queue_.Add(1);
  TakeCalls();
  queue_.Done(1);
  EXPECT_EQ(TakeCalls(), Calls{"push 1"});
  queue_.Add(1);
  EXPECT_EQ(TakeCalls(), Calls{"touch 1"});
}

TEST_F(OrderingCallsTest, DoneOtherwiseDoesNothing) {
  queue_.Add(1);
  queue_.Get();
  TakeCalls();
  queue_.Done(1);
  queue_.Done(1);
  EXPECT_EQ(TakeCalls(), Calls{});
}

TEST_F(OrderingCallsTest, NothingIsPushedOrTouchedAfterShutDown) {
  queue_.Add(1);
  queue_.ShutDown();
  TakeCalls();
  queue_.Add(1);
  queue_.Add(2);
  EXPECT_EQ(TakeCalls(), Calls{});
}

TEST(PriorityQueueOrderingTest, AddTouchesAQueuedItem) {
  std::vector<std::string> calls;
  std::vector<int> priorities;
  PriorityQueueOptions<int> options;
  auto scribe = std::make_unique<Scribe>(&calls);
  scribe->priorities = &priorities;
  options.ordering = std::move(scribe);
  PriorityQueue<int> queue(std::move(options));
  queue.AddWithOptions(Retry(), {1});
  calls.clear();
  queue.AddWithOptions(Retry(), {1});
  queue.Add(1);  // no longer a retry
  AddOptions high;
  high.priority = 5;
  queue.AddWithOptions(high, {1});
  queue.AddAll({1, 1});
  EXPECT_EQ(calls, std::vector<std::string>(5, "touch 1"));
  EXPECT_EQ(priorities, (std::vector<int>{0, 0, 5, 5, 5}));
  queue.Acquire()->GiveBack();
  calls.clear();
  queue.Add(1);  // It is not in the ordering.
  queue.Get();
  queue.Add(1);
  queue.Add(1);
  EXPECT_EQ(calls, std::vector<std::string>());
}

TEST(OrderingTest, LenIsTheOrderings) {
  auto owned = std::make_unique<WatchedFifo<int>>();
  const WatchedFifo<int>* const fifo = owned.get();
  Queue<int> queue(Ordered<int>(std::move(owned)));
  for (int i = 0; i < 10; ++i) {
    queue.Add(i);
    EXPECT_EQ(queue.Len(), fifo->Len());
  }
}

// Checks that only one call is in progress at a time.
class OneAtATime final : public Ordering<int> {
 public:
  void Push(QueuedItem<int>* item) override {
    const Call call(this);
    fifo_.Push(item);
  }
  void Touch(QueuedItem<int>*) override { const Call call(this); }
  size_t Len() const override {
    const Call call(this);
    return fifo_.Len();
  }
  QueuedItem<int>* Pop() override {
    const Call call(this);
    return fifo_.Pop();
  }

 private:
  class Call {
   public:
    explicit Call(const OneAtATime* ordering) : calls_(ordering->calls_) {
      EXPECT_EQ(++calls_, 1);
      std::this_thread::yield();
    }
    ~Call() { --calls_; }

   private:
    std::atomic<int>& calls_;
  };

  mutable std::atomic<int> calls_{0};
  WatchedFifo<int> fifo_;
};

TEST(OrderingTest, CallsComeOneAtATime) {
  Queue<int> queue(Ordered<int>(std::make_unique<OneAtATime>()));
  std::vector<Thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&queue] {
      for (int i = 0; i < 100; ++i) {
        queue.Add(i % 10);
        queue.Len();
      }
    });
  }
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&queue] {
      while (std::optional<int> item = queue.Get()) queue.Done(*item);
    });
  }
  for (int t = 0; t < 4; ++t) threads[t].join();
  EXPECT_TRUE(queue.ShutDownWithDrain());
  for (int t = 4; t < 8; ++t) threads[t].join();
}

// An ordering may read its items until it is destroyed, also in its destructor.
TEST(OrderingTest, ItemsOutliveTheOrdering) {
  using Item = std::shared_ptr<int>;

  // Its destructor records which of its items still exist.
  class LooksBack final : public Ordering<Item> {
   public:
    explicit LooksBack(std::vector<bool>* alive) : alive_(alive) {}
    ~LooksBack() override {
      for (const auto& item : watched_) alive_->push_back(!item.expired());
    }
    void Push(QueuedItem<Item>* item) override {
      watched_.push_back(item->item());
      items_.push_back(item);
    }
    size_t Len() const override { return items_.size(); }
    QueuedItem<Item>* Pop() override { return items_.back(); }

   private:
    std::vector<bool>* const alive_;
    std::vector<std::weak_ptr<int>> watched_;
    std::vector<QueuedItem<Item>*> items_;
  };

  std::vector<bool> alive;
  {
    Queue<Item> queue(Ordered<Item>(std::make_unique<LooksBack>(&alive)));
    queue.Add(std::make_shared<int>(1));
    queue.Add(std::make_shared<int>(2));
  }
  EXPECT_EQ(alive, std::vector<bool>(2, true));
}

// -----------------------------------------------------------------------------
// Exceptions
// -----------------------------------------------------------------------------

#ifdef ABSL_HAVE_EXCEPTIONS

class OrderingThrowsTest : public testing::Test {
 protected:
  // Returns a hook that throws at its first call.
  static std::function<void()> ThrowOnce() {
    auto thrown = std::make_shared<std::atomic<bool>>(false);
    return [thrown] {
      if (!thrown->exchange(true)) throw Fuse::Blown();
    };
  }

  // A queue with `fifo_`, and with metrics.
  std::unique_ptr<Queue<int>> MakeQueue() {
    auto owned = std::make_unique<WatchedFifo<int>>();
    fifo_ = owned.get();
    QueueOptions<int> options = Ordered<int>(std::move(owned));
    options.name = "test";
    options.metrics_provider = &metrics_;
    options.clock = &clock_;
    return std::make_unique<Queue<int>>(std::move(options));
  }

  FakeClock clock_;
  RecordingMetrics metrics_;
  WatchedFifo<int>* fifo_ = nullptr;
  const std::unique_ptr<Queue<int>> queue_ = MakeQueue();
};

TEST_F(OrderingThrowsTest, FromPushInAdd) {
  queue_->Add(1);
  fifo_->on_push = ThrowOnce();
  EXPECT_TRUE(Blows([&] { queue_->Add(2); }));
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_FALSE(queue_->Done(2));
  EXPECT_TRUE(queue_->Add(2));
  EXPECT_EQ(GetAll(*queue_), (std::vector<int>{1, 2}));
}

TEST_F(OrderingThrowsTest, FromPushInAddAndMetricsStayRight) {
  fifo_->on_push = ThrowOnce();
  EXPECT_TRUE(Blows([&] { queue_->Add(1); }));
  EXPECT_EQ(metrics_.count(MetricKind::kDepth), 0);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(metrics_.values(MetricKind::kOldestQueued).back(), 0.0);
}

TEST_F(OrderingThrowsTest, FromTouch) {
  queue_->Add(1);
  fifo_->on_touch = ThrowOnce();
  EXPECT_TRUE(Blows([&] { queue_->Add(1); }));
  EXPECT_TRUE(queue_->Add(1));
  EXPECT_EQ(GetAll(*queue_), std::vector<int>{1});
}

TEST_F(OrderingThrowsTest, FromTouchInAPriorityQueue) {
  auto owned = std::make_unique<WatchedFifo<int>>();
  fifo_ = owned.get();
  PriorityQueueOptions<int> options;
  options.ordering = std::move(owned);
  PriorityQueue<int> queue(std::move(options));
  queue.AddWithOptions(Retry(), {1});
  fifo_->on_touch = ThrowOnce();
  EXPECT_TRUE(Blows([&] { queue.AddWithOptions(Retry(), {1}); }));
  fifo_->on_touch = ThrowOnce();
  queue.Add(1);  // It is no longer a retry, so the exception is logged.
  EXPECT_TRUE(queue.Add(1));
  EXPECT_EQ(fifo_->touched(), std::vector<int>{1});
  EXPECT_EQ(queue.Get(), 1);
  EXPECT_EQ(queue.Len(), 0u);
}

TEST_F(OrderingThrowsTest, FromPopInGet) {
  queue_->Add(1);
  queue_->Add(2);
  fifo_->on_pop = ThrowOnce();
  EXPECT_TRUE(Blows([&] { queue_->Get(); }));
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_FALSE(queue_->Done(1));
  EXPECT_EQ(GetAll(*queue_), (std::vector<int>{1, 2}));
}

// The getter that was woken throws. Another getter gets the item.
TEST_F(OrderingThrowsTest, FromPopInOneOfTwoGets) {
  fifo_->on_pop = ThrowOnce();
  std::atomic<int> blown{0}, got{0};
  std::vector<Thread> getters;
  for (int i = 0; i < 2; ++i) {
    getters.emplace_back(
        [&] { blown += Blows([&] { got += queue_->Get().has_value(); }); });
  }
  fifo_->AwaitBlocked(*queue_, 2);
  queue_->Add(1);
  for (Thread& getter : getters) getter.join();
  EXPECT_EQ(blown, 1);
  EXPECT_EQ(got, 1);
}

// The end of the processing cannot return an error. The item is not lost: it is
// handed out before the items in the ordering.
TEST_F(OrderingThrowsTest, FromPushInDone) {
  queue_->Add(1);
  queue_->Get();
  queue_->Add(1);
  queue_->Add(2);
  fifo_->on_push = ThrowOnce();
  EXPECT_TRUE(queue_->Done(1));
  EXPECT_EQ(queue_->Len(), 2u);
  queue_->Add(1);  // 1 is not in the ordering, so `Touch()` must not be called.
  EXPECT_TRUE(fifo_->touched().empty());
  EXPECT_EQ(GetAll(*queue_), (std::vector<int>{1, 2}));
}

TEST_F(OrderingThrowsTest, FromPushWhenALeaseGoes) {
  queue_->Add(1);
  {
    Lease<int> lease = *queue_->Acquire();
    queue_->Add(1);
    fifo_->on_push = ThrowOnce();
  }
  EXPECT_EQ(GetAll(*queue_), std::vector<int>{1});
}

TEST_F(OrderingThrowsTest, FromPushInDoneAndMetricsStayRight) {
  queue_->Add(1);
  queue_->Get();
  queue_->Add(1);
  fifo_->on_push = ThrowOnce();
  EXPECT_TRUE(queue_->Done(1));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(metrics_.values(MetricKind::kUnfinishedWork).back(), 0.0);
  EXPECT_EQ(metrics_.values(MetricKind::kLongestRunning).back(), 0.0);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::ordering_test
