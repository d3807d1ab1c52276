// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// `AddAll()`, `AcquireUpTo()` and `AcquireUpToWithTimeout()`.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <future>  // NOLINT(build/c++11)
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "test/base/fragile_key.h"
#include "test/workqueue/every_queue.h"
#include "test/workqueue/lifo.h"
#include "test/workqueue/plain_queue.h"
#include "test/workqueue/recording_metrics.h"
#include "test/workqueue/watched_fifo.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue::batch_test {
namespace {

using Strings = std::vector<std::string>;
using Ints = std::vector<int>;
template <typename T>
using Leases = absl::StatusOr<LeaseBatch<T>>;

constexpr absl::Duration kNs = absl::Nanoseconds(1);
constexpr absl::Duration kFiveSeconds = absl::Seconds(5);

// Returns the items of `leases`, in order. Empty if `leases` is an error.
template <typename T>
std::vector<T> ItemsOf(const Leases<T>& leases) {
  std::vector<T> items;
  EXPECT_TRUE(leases.ok()) << leases.status();
  if (!leases.ok()) return items;
  for (const Lease<T>& lease : *leases) {
    EXPECT_TRUE(lease);
    if (lease) items.push_back(*lease);
  }
  return items;
}

// Returns the queued items, in the order in which they are handed out.
template <typename T>
std::vector<T> GetAll(Interface<T>& queue) {
  std::vector<T> items;
  while (queue.Len() > 0) items.push_back(*queue.Get());
  return items;
}

// -----------------------------------------------------------------------------
// AddAll, of every queue
// -----------------------------------------------------------------------------

class AddAllTest : public EveryQueueTest {
 protected:
  using Got = std::optional<std::string>;

  std::vector<std::future<Got>> StartGetters(int n) {
    std::vector<std::future<Got>> getters;
    for (int i = 0; i < n; ++i) {
      getters.push_back(Async([this] { return queue_->Get(); }));
    }
    AwaitBlocked(n);
    return getters;
  }

  // Returns the results of the getters, sorted. No item is an empty string.
  static Strings SortedResults(std::vector<std::future<Got>>& getters) {
    Strings results;
    for (auto& getter : getters) results.push_back(getter.get().value_or(""));
    std::sort(results.begin(), results.end());
    return results;
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, AddAllTest, testing::ValuesIn(EveryQueueKind()),
                         NameOfQueueKind);

TEST_P(AddAllTest, AddsInOrder) {
  Strings items;
  for (int i = 0; i < 100; ++i) items.push_back(std::to_string(i));
  EXPECT_TRUE(queue_->AddAll(items));
  EXPECT_EQ(queue_->Len(), 100u);
  EXPECT_EQ(GetAll(*queue_), items);
}

TEST_P(AddAllTest, AddsEachItemOnce) {
  queue_->Add("b");
  EXPECT_TRUE(queue_->AddAll({"a", "b", "a", "c", "c"}));
  EXPECT_EQ(queue_->Len(), 3u);
  EXPECT_EQ(GetAll(*queue_), (Strings{"b", "a", "c"})) << "b keeps its place";
}

TEST_P(AddAllTest, AddsManyToALongQueue) {
  Strings items;
  for (int i = 0; i < 3000; ++i) items.push_back(std::to_string(i));
  const auto all = absl::MakeConstSpan(items);
  EXPECT_TRUE(queue_->AddAll(all.subspan(0, 2000)));
  EXPECT_TRUE(queue_->AddAll(all.subspan(1000)));
  EXPECT_EQ(queue_->Len(), 3000u);
  EXPECT_EQ(GetAll(*queue_), items);
}

TEST_P(AddAllTest, AnItemBeingProcessedComesBack) {
  queue_->Add("a");
  queue_->Add("b");
  ASSERT_EQ(queue_->Get(), "a");
  ASSERT_EQ(queue_->Get(), "b");
  EXPECT_TRUE(queue_->AddAll({"a", "c", "a"}));
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_TRUE(queue_->Done("b"));
  EXPECT_EQ(GetAll(*queue_),
            kind_.keeps_place ? (Strings{"a", "c"}) : (Strings{"c", "a"}));
}

TEST_P(AddAllTest, AddsNothingIfThereIsNothing) {
  EXPECT_TRUE(queue_->AddAll({}));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_FALSE(queue_->TryGet().ok());
  queue_->ShutDown();
  EXPECT_TRUE(queue_->AddAll({})) << "none was not taken";
}

TEST_P(AddAllTest, AddsNothingAfterShutDown) {
  queue_->Add("queued");
  queue_->Add("processing");
  ASSERT_EQ(queue_->Get(), "queued");
  ASSERT_EQ(queue_->Get(), "processing");
  queue_->Done("queued");
  queue_->Add("queued");
  queue_->ShutDown();
  EXPECT_FALSE(queue_->AddAll({"queued", "processing", "new"}));
  EXPECT_TRUE(queue_->Done("processing"));
  EXPECT_EQ(GetAll(*queue_), Strings{"queued"});
}

TEST_P(AddAllTest, WakesAsManyGettersAsItAdds) {
  auto getters = StartGetters(4);
  EXPECT_TRUE(queue_->AddAll({"a", "b", "c", "d"}));
  EXPECT_EQ(SortedResults(getters), (Strings{"a", "b", "c", "d"}));
}

TEST_P(AddAllTest, WakesTheGettersThatThereAre) {
  auto getters = StartGetters(2);
  EXPECT_TRUE(queue_->AddAll({"a", "b", "c"}));
  EXPECT_EQ(SortedResults(getters).size(), 2u);
  EXPECT_EQ(queue_->Len(), 1u);
}

TEST_P(AddAllTest, GettersForWhomThereIsNothingGoOnWaiting) {
  auto getters = StartGetters(4);
  EXPECT_TRUE(queue_->AddAll({"a", "b", "a", "b"}));
  EXPECT_TRUE(queue_->AddAll({"c", "d"}));
  EXPECT_EQ(SortedResults(getters), (Strings{"a", "b", "c", "d"}));
}

TEST_P(AddAllTest, WakesGettersAgainAndAgain) {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::future<Got>> getters;
    for (int i = 0; i < 3; ++i) {
      getters.push_back(Async([this] { return queue_->Get(); }));
    }
    const Strings items = {"a", "b", "c"};
    EXPECT_TRUE(queue_->AddAll(items));
    EXPECT_EQ(SortedResults(getters), items);
    for (const std::string& item : items) EXPECT_TRUE(queue_->Done(item));
  }
}

// -----------------------------------------------------------------------------
// AcquireUpTo, of every queue
// -----------------------------------------------------------------------------

class AcquireUpToTest : public EveryQueueTest {
 protected:
  using StringLeases = Leases<std::string>;
};

INSTANTIATE_TEST_SUITE_P(Kinds, AcquireUpToTest,
                         testing::ValuesIn(EveryQueueKind()), NameOfQueueKind);

TEST_P(AcquireUpToTest, AcquiresUpToThatMany) {
  queue_->AddAll({"a", "b", "c", "d", "e"});
  EXPECT_EQ(ItemsOf(queue_->AcquireUpTo(1)), Strings{"a"});
  EXPECT_EQ(ItemsOf(queue_->AcquireUpTo(2)), (Strings{"b", "c"}));
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_EQ(ItemsOf(queue_->AcquireUpTo(2)), (Strings{"d", "e"}));
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_P(AcquireUpToTest, AcquiresFewerIfThereAreFewer) {
  queue_->AddAll({"a", "b"});
  EXPECT_EQ(ItemsOf(queue_->AcquireUpTo(3)), (Strings{"a", "b"}));
  queue_->Add("c");
  EXPECT_EQ(ItemsOf(queue_->AcquireUpTo(std::numeric_limits<size_t>::max())),
            Strings{"c"});
}

TEST_P(AcquireUpToTest, EachItemHasItsOwnLease) {
  queue_->AddAll({"a", "b", "c"});
  StringLeases leases = queue_->AcquireUpTo(3);
  ASSERT_EQ(ItemsOf(leases), (Strings{"a", "b", "c"}));
  for (const auto& lease : *leases) EXPECT_EQ(lease.priority(), 0);
  queue_->AddAll({"a", "b", "c"});
  EXPECT_EQ(queue_->Len(), 0u);
  (*leases)[1].Done();
  EXPECT_EQ(GetAll(*queue_), Strings{"b"});
  leases->Done();
  EXPECT_EQ(queue_->Len(), 2u);
}

TEST_P(AcquireUpToTest, EndsAsManyAsThereAre) {
  Strings items;
  for (int i = 0; i < 1000; ++i) items.push_back(absl::StrCat(i));
  queue_->AddAll(items);
  {
    const StringLeases leases = queue_->AcquireUpTo(items.size());
    ASSERT_EQ(ItemsOf(leases), items);
    EXPECT_EQ(queue_->TakeSnapshot()->processing.size(), items.size());
  }
  EXPECT_EQ(queue_->TakeSnapshot()->processing.size(), 0u);
}

TEST_P(AcquireUpToTest, OfZeroIsAnErrorWhateverTheQueueHas) {
  const auto expect_error = [this](absl::Duration timeout) {
    const absl::Status status =
        queue_->AcquireUpToWithTimeout(0, timeout).status();
    EXPECT_EQ(status,
              absl::InvalidArgumentError("max is 0; it must be at least 1"));
  };
  expect_error(absl::InfiniteDuration());
  expect_error(absl::ZeroDuration());
  queue_->Add("a");
  expect_error(absl::InfiniteDuration());
  queue_->ShutDown();
  expect_error(absl::InfiniteDuration());
  EXPECT_EQ(queue_->AcquireUpTo(0).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(GetAll(*queue_), Strings{"a"});
  expect_error(absl::InfiniteDuration());
}

TEST_P(AcquireUpToTest, BlocksUntilThereIsOne) {
  auto acquired = Async([this] { return ItemsOf(queue_->AcquireUpTo(3)); });
  AwaitBlocked(1);
  queue_->Add("a");
  EXPECT_EQ(acquired.get(), Strings{"a"}) << "it does not wait for three";
}

TEST_P(AcquireUpToTest, GetsAllThatAddAllAdds) {
  if (kind_.plain) GTEST_SKIP() << "its AddAll() adds one at a time";
  auto acquired = Async([this] { return ItemsOf(queue_->AcquireUpTo(3)); });
  AwaitBlocked(1);
  queue_->AddAll({"a", "b", "c", "d"});
  EXPECT_EQ(acquired.get(), (Strings{"a", "b", "c"}));
}

TEST_P(AcquireUpToTest, AZeroTimeoutDoesNotBlock) {
  for (absl::Duration timeout :
       {-absl::InfiniteDuration(), -kNs, absl::ZeroDuration()}) {
    EXPECT_EQ(queue_->AcquireUpToWithTimeout(2, timeout).status().code(),
              absl::StatusCode::kDeadlineExceeded);
    queue_->AddAll({"a", "b", "c"});
    EXPECT_EQ(ItemsOf(queue_->AcquireUpToWithTimeout(2, timeout)),
              (Strings{"a", "b"}));
    EXPECT_EQ(ItemsOf(queue_->AcquireUpToWithTimeout(2, timeout)),
              Strings{"c"});
  }
}

// The call waits only for the first item.
TEST_P(AcquireUpToTest, DoesNotWaitForMoreUntilTheDeadline) {
  auto acquired = Async([this] {
    return ItemsOf(queue_->AcquireUpToWithTimeout(3, kFiveSeconds));
  });
  AwaitWaiters(1);
  queue_->Add("a");
  EXPECT_EQ(acquired.get(), Strings{"a"});
  EXPECT_EQ(NumWaiters(), 0u);
}

TEST_P(AcquireUpToTest, HandsOutWhatIsQueuedAfterShutDown) {
  queue_->AddAll({"a", "b", "c"});
  queue_->ShutDown();
  EXPECT_EQ(ItemsOf(queue_->AcquireUpTo(2)), (Strings{"a", "b"}));
  EXPECT_EQ(ItemsOf(queue_->AcquireUpTo(2)), Strings{"c"});
  EXPECT_EQ(queue_->AcquireUpTo(2).status().code(),
            absl::StatusCode::kCancelled);
}

TEST_P(AcquireUpToTest, ManyShareTheItems) {
  constexpr int kItems = 60, kWorkers = 3;
  Strings items;
  for (int i = 0; i < kItems; ++i) items.push_back(std::to_string(i));
  std::vector<std::future<Ints>> workers;
  for (int w = 0; w < kWorkers; ++w) {
    workers.push_back(Async([this] {
      Ints got;
      while (true) {
        const StringLeases leases = queue_->AcquireUpTo(4);
        if (!leases.ok()) return got;
        EXPECT_LE(leases->size(), 4u);
        for (const auto& lease : *leases) got.push_back(std::stoi(*lease));
      }
    }));
  }
  for (int i = 0; i < kItems; i += 10) {
    queue_->AddAll(absl::MakeSpan(items).subspan(i, 10));
  }
  EXPECT_TRUE(queue_->ShutDownWithDrain());
  Ints times(kItems);
  for (auto& worker : workers) {
    for (int item : worker.get()) ++times[item];
  }
  EXPECT_EQ(times, Ints(kItems, 1));
}

// -----------------------------------------------------------------------------
// With an ordering
// -----------------------------------------------------------------------------

TEST(OrderedBatchTest, GoesByTheOrdering) {
  QueueOptions<int> options;
  options.ordering = std::make_unique<Lifo<int>>();
  Queue<int> queue(std::move(options));
  EXPECT_TRUE(queue.AddAll({1, 2, 3, 2, 4}));
  const Leases<int> leases = queue.AcquireUpTo(3);
  EXPECT_EQ(ItemsOf(leases), (Ints{4, 3, 2}));
  EXPECT_TRUE(queue.AddAll({4, 5}));
  EXPECT_EQ(GetAll(queue), (Ints{5, 1}));
}

TEST(OrderedBatchTest, TouchesWhatIsQueued) {
  auto owned = std::make_unique<WatchedFifo<int>>();
  const WatchedFifo<int>* const fifo = owned.get();
  QueueOptions<int> options;
  options.ordering = std::move(owned);
  Queue<int> queue(std::move(options));
  queue.AddAll({1, 2, 1, 1});
  EXPECT_EQ(fifo->touched(), (Ints{1, 1}));
}

// -----------------------------------------------------------------------------
// Exceptions
// -----------------------------------------------------------------------------

#ifdef ABSL_HAVE_EXCEPTIONS

using FragileQueue = Queue<FragileKey, FragileHash, FragileEq>;
using PlainFragileQueue = PlainQueue<FragileKey, FragileHash, FragileEq>;

std::vector<FragileKey> Keys(const Ints& values) {
  std::vector<FragileKey> keys;
  keys.reserve(values.size());
  for (int value : values) keys.emplace_back(value);
  return keys;
}

Ints GetAllValues(Interface<FragileKey>& queue) {
  Ints values;
  while (queue.Len() > 0) values.push_back(queue.Get()->value());
  return values;
}

template <typename MadeQueue>
class AddAllThrowsTest : public testing::Test {
 protected:
  ~AddAllThrowsTest() override { Fuse::Disarm(); }
};

using FragileQueues = testing::Types<FragileQueue, PlainFragileQueue>;
TYPED_TEST_SUITE(AddAllThrowsTest, FragileQueues);

// Adding hashes each item once, and copies it once.
TYPED_TEST(AddAllThrowsTest, ThoseBeforeHaveBeenAdded) {
  const Ints items = {1, 2, 3, 4, 5};
  const std::vector<FragileKey> keys = Keys(items);
  for (FragileOp op : {FragileOp::kCopy}) {
    for (int n = 1; n <= 5; ++n) {
      TypeParam queue;
      Fuse::Arm(op, n);
      EXPECT_TRUE(Blows([&] { queue.AddAll(keys); }));
      EXPECT_TRUE(Fuse::Disarm());
      EXPECT_EQ(GetAllValues(queue), Ints(items.begin(), items.begin() + n - 1))
          << static_cast<int>(op);
    }
  }
}

TYPED_TEST(AddAllThrowsTest, ThoseBeforeAComparisonHaveBeenAdded) {
  const std::vector<FragileKey> keys = Keys({1, 2, 3, 4, 5});
  size_t most_added = 0;
  for (int n = 1;; ++n) {
    TypeParam queue;
    Fuse::Arm(FragileOp::kCompare, n);
    const bool blows = Blows([&] { queue.AddAll(keys); });
    EXPECT_EQ(Fuse::Disarm(), blows);
    if (!blows) break;
    const size_t added = queue.Len();
    EXPECT_LT(added, keys.size());
    EXPECT_GE(added, most_added);
    most_added = added;
    for (int value : GetAllValues(queue)) {
      EXPECT_LE(value, static_cast<int>(added));
      EXPECT_TRUE(queue.Done(FragileKey(value)));
    }
    EXPECT_TRUE(queue.AddAll(keys)) << "nothing is left behind";
    EXPECT_EQ(queue.Len(), keys.size());
  }
  EXPECT_GE(most_added, 2u) << "some have been compared to others";
}

TEST(AddAllThrowsInThreadsTest, ThoseBeforeWakeTheirGetters) {
  for (FragileOp op : {FragileOp::kCopy}) {
    auto owned = std::make_unique<WatchedFifo<FragileKey>>();
    WatchedFifo<FragileKey>* const fifo = owned.get();
    QueueOptions<FragileKey> options;
    options.ordering = std::move(owned);
    FragileQueue queue(std::move(options));
    std::vector<std::future<int>> getters;
    for (int i = 0; i < 2; ++i) {
      getters.push_back(Async([&] { return queue.Get()->value(); }));
    }
    fifo->AwaitBlocked(queue, 2);
    const std::vector<FragileKey> keys = Keys({1, 2, 3});
    Fuse::Arm(op, 3);
    EXPECT_TRUE(Blows([&] { queue.AddAll(keys); }));
    EXPECT_EQ(getters[0].get() + getters[1].get(), 1 + 2);
    EXPECT_TRUE(Fuse::Disarm());
    EXPECT_EQ(queue.Len(), 0u);
  }
}

// A queue whose metrics and whose ordering can throw.
class BatchThrowsTest : public testing::Test {
 protected:
  BatchThrowsTest() {
    auto owned = std::make_unique<WatchedFifo<int>>();
    fifo_ = owned.get();
    QueueOptions<int> options;
    options.ordering = std::move(owned);
    options.name = "test";
    options.metrics_provider = &metrics_;
    options.clock = &clock_;
    queue_ = std::make_unique<Queue<int>>(std::move(options));
  }

  // Returns a function that throws at its `n`th call.
  static std::function<void()> ThrowsAt(int n) {
    return [n]() mutable {
      if (--n == 0) throw Fuse::Blown();
    };
  }

  // Makes metrics of `kind` throw at their `n`th call.
  void ThrowFromMetric(MetricKind kind, int n) {
    metrics_.on_call = [kind, call = ThrowsAt(n)](MetricKind called) mutable {
      if (called == kind) call();
    };
  }

  // Checks that an `AcquireUpTo()` that throws at its second item returns the
  // first item, and leaves the other items queued.
  void ExpectOnlyTheFirst() {
    Leases<int> leases = queue_->AcquireUpTo(3);
    EXPECT_EQ(ItemsOf(leases), Ints{1});
    EXPECT_EQ(queue_->Len(), 2u);
    for (int item : {2, 3}) EXPECT_FALSE(queue_->Done(item));
    leases = queue_->AcquireUpTo(3);
    EXPECT_EQ(ItemsOf(leases), (Ints{2, 3}));
  }

  // Checks that an `AcquireUpTo()` that throws at its first item throws to the
  // caller, and leaves all items queued.
  void ExpectThrowsAndLeavesAll() {
    EXPECT_TRUE(Blows([&] { queue_->AcquireUpTo(3).IgnoreError(); }));
    EXPECT_EQ(queue_->Len(), 3u);
    EXPECT_TRUE(queue_->TakeSnapshot()->processing.empty());
    EXPECT_EQ(ItemsOf(queue_->AcquireUpTo(3)), (Ints{1, 2, 3}));
  }

  FakeClock clock_;
  RecordingMetrics metrics_;
  WatchedFifo<int>* fifo_ = nullptr;
  std::unique_ptr<Queue<int>> queue_;
};

TEST_F(BatchThrowsTest, AddAllFromAMetric) {
  ThrowFromMetric(MetricKind::kAdds, 3);
  EXPECT_TRUE(Blows([&] { queue_->AddAll({1, 2, 3, 4}); }));
  EXPECT_EQ(GetAll(*queue_), (Ints{1, 2}));
}

TEST_F(BatchThrowsTest, AddAllFromPush) {
  fifo_->on_push = ThrowsAt(3);
  EXPECT_TRUE(Blows([&] { queue_->AddAll({1, 2, 3, 4}); }));
  EXPECT_EQ(GetAll(*queue_), (Ints{1, 2}));
  EXPECT_TRUE(queue_->AddAll({3, 4}));
  EXPECT_EQ(GetAll(*queue_), (Ints{3, 4}));
}

TEST_F(BatchThrowsTest, AddAllFromTouch) {
  fifo_->on_touch = ThrowsAt(1);
  EXPECT_TRUE(Blows([&] { queue_->AddAll({1, 2, 1, 3}); }));
  EXPECT_EQ(GetAll(*queue_), (Ints{1, 2}));
}

TEST_F(BatchThrowsTest, AcquireUpToFromAMetricAtTheFirst) {
  queue_->AddAll({1, 2, 3});
  ThrowFromMetric(MetricKind::kLatency, 1);
  ExpectThrowsAndLeavesAll();
}

TEST_F(BatchThrowsTest, AcquireUpToFromAMetricAtTheSecond) {
  queue_->AddAll({1, 2, 3});
  ThrowFromMetric(MetricKind::kLatency, 2);
  ExpectOnlyTheFirst();
}

TEST_F(BatchThrowsTest, AcquireUpToFromPopAtTheFirst) {
  queue_->AddAll({1, 2, 3});
  fifo_->on_pop = ThrowsAt(1);
  ExpectThrowsAndLeavesAll();
}

TEST_F(BatchThrowsTest, AcquireUpToFromPopAtTheSecond) {
  queue_->AddAll({1, 2, 3});
  fifo_->on_pop = ThrowsAt(2);
  ExpectOnlyTheFirst();
}

// Another getter gets the item that `AcquireUpTo()` could not take.
TEST_F(BatchThrowsTest, AcquireUpToLeavesTheSecondToAnotherGetter) {
  fifo_->on_pop = ThrowsAt(2);
  auto batch = Async([this] { return ItemsOf(queue_->AcquireUpTo(3)); });
  fifo_->AwaitBlocked(*queue_, 1);
  queue_->AddAll({1, 2});
  EXPECT_EQ(batch.get(), Ints{1});
  EXPECT_EQ(queue_->Get(), 2);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::batch_test
