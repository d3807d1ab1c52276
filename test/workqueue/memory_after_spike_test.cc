// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that the memory of a spike is freed although some of its items stay.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "ratelimit/rate_limiter.h"
#include "test/internal/counted_heap.h"
#include "workqueue/acquire_async.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/executor.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/interfaces.h"
#include "workqueue/parking_lot.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/scheduler.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {
namespace {

constexpr int kSpike = 20000;
// The memory that may be left in addition to twice that of the items. Most of
// it are up to three hash tables of 64 KB.
constexpr int64_t kConstant = 320 * 1024;
constexpr absl::Duration kSoon = absl::Seconds(1);
constexpr absl::Duration kLater = absl::Hours(10000);

// A container of items. An item whose number is less than zero stays when
// the others are taken.
class Subject {
 public:
  virtual ~Subject() = default;

  virtual void Add(int item) = 0;

  // Takes `n` items, which do not stay.
  virtual void Take(int n) = 0;

 protected:
  static bool Stays(int item) { return item < 0; }
  static absl::Duration DelayOf(int item) {
    return Stays(item) ? kLater : kSoon;
  }

  FakeClock clock_;
};

// A queue with items that are added by `kAdd(queue, item)`.
template <typename Q, void (*kAdd)(Q&, int)>
class QueueSubject : public Subject {
 public:
  template <typename Options>
  explicit QueueSubject(Options options) {
    options.clock = &clock_;
    queue_.emplace(std::move(options));
  }

  void Add(int item) override { kAdd(*queue_, item); }

  void Take(int n) override {
    clock_.Step(kSoon);
    while (n > 0) {
      const int item = *queue_->Get();
      // An item that stays and does not wait is queued again.
      Stays(item) ? kAdd(*queue_, item) : Forget(item);
      n -= Stays(item) ? 0 : 1;
      queue_->Done(item);
    }
  }

 private:
  void Forget(int item) {
    if constexpr (std::is_base_of_v<RateLimitingInterface<int>, Q>) {
      queue_->Forget(item);
    }
  }

  std::optional<Q> queue_;
};

// The items are callbacks that wait.
class CallbackSubject : public Subject {
 public:
  void Add(int item) override {
    const AcquireId id = queue_.AcquireAsync(&executor_, [](auto) {});
    if (!Stays(item)) ids_.push_back(id);
  }

  void Take(int n) override {
    EXPECT_EQ(ids_.size(), static_cast<size_t>(n));
    for (AcquireId id : ids_) EXPECT_TRUE(queue_.CancelAcquire(id));
    std::vector<AcquireId>().swap(ids_);
  }

 private:
  InlineExecutor executor_;
  Queue<int> queue_;
  std::vector<AcquireId> ids_;
};

// The items are parked.
class ParkingLotSubject : public Subject {
 public:
  ParkingLotSubject() {
    ParkingLotOptions options;
    options.clock = &clock_;
    options.max_failures = 1;
    options.max_parked = 2 * kSpike;
    lot_ = *ParkingLot<int>::Create(options);
  }

  void Add(int item) override {
    EXPECT_TRUE(lot_->RecordFailure(item, absl::Status()));
    if (!Stays(item)) items_.push_back(item);
  }

  void Take(int n) override {
    EXPECT_EQ(items_.size(), static_cast<size_t>(n));
    for (int item : items_) EXPECT_TRUE(lot_->ShouldProcess(item));
    std::vector<int>().swap(items_);
  }

 private:
  std::unique_ptr<ParkingLot<int>> lot_;
  std::vector<int> items_;
};

template <typename T>
class DelayQueueSubject : public Subject {
 public:
  explicit DelayQueueSubject(WaitingSetOptions waiting_set) {
    DelayQueueOptions options;
    options.clock = &clock_;
    options.waiting_set = waiting_set;
    queue_.emplace(options);
  }

  void Add(int item) override { queue_->Push(T(), DelayOf(item)); }

  void Take(int n) override {
    clock_.Step(kSoon);
    for (; n > 0; --n) EXPECT_TRUE(queue_->TryTake().ok());
  }

 private:
  std::optional<DelayQueue<T>> queue_;
};

class SchedulerSubject : public Subject {
 public:
  explicit SchedulerSubject(WaitingSetOptions waiting_set) {
    SchedulerOptions options;
    options.clock = &clock_;
    options.waiting_set = waiting_set;
    options.workers = 1;
    scheduler_ = *Scheduler::Create(std::move(options));
  }

  void Add(int item) override {
    EXPECT_TRUE(scheduler_->ScheduleOnce([] {}, DelayOf(item)).ok());
  }

  void Take(int) override { clock_.Step(kSoon); }

 private:
  std::unique_ptr<Scheduler> scheduler_;
};

template <typename Q>
void AddNow(Q& queue, int item) {
  queue.Add(item);
}

template <typename Q>
void AddForLater(Q& queue, int item) {
  queue.AddAfter(item, item < 0 ? kLater : kSoon);
}

// The limiter counts a failure of the item.
void AddFailed(RateLimitingQueue<int>& queue, int item) {
  queue.AddRateLimited(item);
  if (item < 0) queue.Reschedule(item, kLater);
}

void AddByPriority(PriorityQueue<int>& queue, int item) {
  AddOptions options;
  options.priority = item < 0 ? -1 : 1;
  queue.AddWithOptions(options, absl::MakeConstSpan(&item, 1));
}

WaitingSetOptions Heap() { return WaitingSetOptions(); }
WaitingSetOptions Wheel() { return *WaitingSetOptions::TimingWheel(); }

std::unique_ptr<Subject> NewQueue() {
  return std::make_unique<QueueSubject<Queue<int>, AddNow>>(
      QueueOptions<int>());
}

std::unique_ptr<Subject> NewFairQueue() {
  QueueOptions<int> options;
  options.ordering =
      *FairOrdering<int, int>::Create([](const int& item) { return item; });
  return std::make_unique<QueueSubject<Queue<int>, AddNow>>(std::move(options));
}

// With everything that a `FairOrdering` counts.
std::unique_ptr<Subject> NewCountingFairQueue() {
  FairOrderingOptions<int, int> fair;
  fair.dimensions.resize(2);
  for (auto& dimension : fair.dimensions) {
    dimension.group_of = [](const int& item) { return item; };
    dimension.count_processing = true;
    dimension.max_in_process = 1;
  }
  fair.max_retries_in_process = 1;
  QueueOptions<int> options;
  options.ordering = *FairOrdering<int, int>::Create(std::move(fair));
  return std::make_unique<QueueSubject<Queue<int>, AddNow>>(std::move(options));
}

std::unique_ptr<Subject> NewCallbacks() {
  return std::make_unique<CallbackSubject>();
}

std::unique_ptr<Subject> NewParkingLot() {
  return std::make_unique<ParkingLotSubject>();
}

template <WaitingSetOptions (*kWaitingSet)()>
std::unique_ptr<Subject> NewDelayingQueue() {
  DelayingQueueOptions<int> options;
  options.waiting_set = kWaitingSet();
  return std::make_unique<QueueSubject<DelayingQueue<int>, AddForLater>>(
      std::move(options));
}

template <WaitingSetOptions (*kWaitingSet)()>
std::unique_ptr<Subject> NewRateLimitingQueue() {
  RateLimitingQueueOptions<int> options;
  options.waiting_set = kWaitingSet();
  options.rate_limiter = *ItemExponentialFailureRateLimiter<int>::Create(
      kSoon, kSoon, /*max_tracked_items=*/10 * kSpike);
  return std::make_unique<QueueSubject<RateLimitingQueue<int>, AddFailed>>(
      std::move(options));
}

template <void (*kAdd)(PriorityQueue<int>&, int)>
std::unique_ptr<Subject> NewPriorityQueue() {
  return std::make_unique<QueueSubject<PriorityQueue<int>, kAdd>>(
      PriorityQueueOptions<int>());
}

template <typename T, WaitingSetOptions (*kWaitingSet)()>
std::unique_ptr<Subject> NewDelayQueue() {
  return std::make_unique<DelayQueueSubject<T>>(kWaitingSet());
}

template <WaitingSetOptions (*kWaitingSet)()>
std::unique_ptr<Subject> NewScheduler() {
  return std::make_unique<SchedulerSubject>(kWaitingSet());
}

struct Kind {
  const char* name;
  std::unique_ptr<Subject> (*make)();
  // Whether items move. If not, each keeps a chunk of memory, and only one
  // stays in the test.
  bool compacts = true;
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class MemoryAfterSpikeTest : public testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(
    Kinds, MemoryAfterSpikeTest,
    testing::Values(
        Kind{"Queue", NewQueue},
        Kind{"FairOrdering", NewFairQueue, /*compacts=*/false},
        Kind{"CountingFairOrdering", NewCountingFairQueue, /*compacts=*/false},
        Kind{"Callbacks", NewCallbacks}, Kind{"ParkingLot", NewParkingLot},
        Kind{"DelayingQueueHeap", NewDelayingQueue<Heap>},
        Kind{"DelayingQueueWheel", NewDelayingQueue<Wheel>},
        Kind{"RateLimitingQueueHeap", NewRateLimitingQueue<Heap>},
        Kind{"RateLimitingQueueWheel", NewRateLimitingQueue<Wheel>},
        Kind{"PriorityQueueWaiting", NewPriorityQueue<AddForLater>},
        Kind{"PriorityQueueQueued", NewPriorityQueue<AddByPriority>},
        Kind{"DelayQueueHeap", NewDelayQueue<int, Heap>},
        Kind{"DelayQueueWheel", NewDelayQueue<int, Wheel>},
        Kind{"DelayQueueOfStringsHeap", NewDelayQueue<std::string, Heap>},
        Kind{"DelayQueueOfStringsWheel", NewDelayQueue<std::string, Wheel>},
        Kind{"SchedulerHeap", NewScheduler<Heap>},
        Kind{"SchedulerWheel", NewScheduler<Wheel>}),
    [](const auto& info) { return std::string(info.param.name); });

enum class Place { kFirst, kLast, kScattered };

// Adds a spike of which `n` items stay, and takes the others.
void Spike(Subject& subject, int n, Place place) {
  for (int i = 0; i < kSpike; ++i) {
    const bool stays = place == Place::kFirst  ? i < n
                       : place == Place::kLast ? i >= kSpike - n
                                               : int64_t{i} * n % kSpike < n;
    subject.Add(stays ? -1 - i : i);
  }
  subject.Take(kSpike - n);
}

// The documented bound on the operations after which the memory is freed.
void AddAndTake(Subject& subject, int n) {
  constexpr int kBatch = 500;
  for (int i = 0; i < 32 * n + 2 * kBatch; i += kBatch) {
    for (int j = 0; j < kBatch; ++j) subject.Add(j);
    subject.Take(kBatch);
  }
}

void ExpectTwiceWhatTheItemsThatStayNeed(const Kind& kind, int n, Place place) {
  auto subject = kind.make();
  const int64_t before_fresh = CountedHeap::bytes_in_use;
  for (int i = 0; i < n; ++i) subject->Add(-1 - i);
  subject->Add(0);
  subject->Take(1);
  const int64_t fresh = CountedHeap::bytes_in_use - before_fresh;

  subject = kind.make();
  const int64_t before = CountedHeap::bytes_in_use;
  Spike(*subject, n, place);
  AddAndTake(*subject, n);
  EXPECT_LE(CountedHeap::bytes_in_use - before, 2 * fresh + kConstant);
}

TEST_P(MemoryAfterSpikeTest, TheFirstItemStays) {
  ExpectTwiceWhatTheItemsThatStayNeed(GetParam(), 1, Place::kFirst);
}

TEST_P(MemoryAfterSpikeTest, TheLastItemStays) {
  ExpectTwiceWhatTheItemsThatStayNeed(GetParam(), 1, Place::kLast);
}

TEST_P(MemoryAfterSpikeTest, ScatteredItemsStay) {
  ExpectTwiceWhatTheItemsThatStayNeed(GetParam(), GetParam().compacts ? 300 : 1,
                                      Place::kScattered);
}

// An item that counts how often items are copied or moved.
class CountedItem {
 public:
  inline static std::atomic<int> copies{0};

  explicit CountedItem(int n) : n_(n) {}
  CountedItem(const CountedItem& other) noexcept : n_(other.n_) { ++copies; }

  int n() const { return n_; }

  friend bool operator==(const CountedItem& a, const CountedItem& b) {
    return a.n_ == b.n_;
  }

  template <typename H>
  friend H AbslHashValue(H state, const CountedItem& item) {
    return H::combine(std::move(state), item.n_);
  }

 private:
  const int n_;
};

// Each hundredth item of a spike stays.
absl::Duration DelayOf(int i) { return i % 100 == 0 ? kLater : kSoon; }

// Calls `take`, which takes an item of a spike, until all are taken that do not
// stay. No call may copy more than `most` items.
template <typename F>
void TakeSpike(FakeClock& clock, int most, F take) {
  clock.Step(kSoon);
  int max = 0;
  int total = 0;
  for (int i = 0; i < kSpike - kSpike / 100; ++i) {
    CountedItem::copies = 0;
    take();
    max = std::max<int>(max, CountedItem::copies);
    total += CountedItem::copies;
  }
  EXPECT_EQ(max, most);
  // Most of the calls copy fewer.
  EXPECT_LE(total, (most - 1) * kSpike + kSpike / 32);
}

TEST(MoveAfterSpikeTest, OneRemovalMovesAtMostOneItemOfAQueue) {
  FakeClock clock;
  QueueOptions<CountedItem> options;
  options.clock = &clock;
  Queue<CountedItem> queue(std::move(options));
  for (int i = 0; i < kSpike; ++i) queue.Add(CountedItem(i));
  TakeSpike(clock, 1, [&] {
    std::optional<CountedItem> item;
    while (true) {
      item.emplace(*queue.Get());
      if (item->n() % 100 != 0) break;
      queue.Add(*item);
      queue.Done(*item);
    }
    CountedItem::copies = 0;
    queue.Done(*item);
  });
}

TEST(MoveAfterSpikeTest, OneRemovalMovesAtMostOneItemOfAPriorityQueue) {
  FakeClock clock;
  PriorityQueueOptions<CountedItem> options;
  options.clock = &clock;
  PriorityQueue<CountedItem> queue(std::move(options));
  for (int i = 0; i < kSpike; ++i) queue.AddAfter(CountedItem(i), DelayOf(i));
  TakeSpike(clock, 1, [&] {
    const CountedItem item = *queue.Get();
    CountedItem::copies = 0;
    queue.Done(item);
  });
}

TEST(MoveAfterSpikeTest, OneRemovalMovesAtMostOneValueOfADelayQueue) {
  FakeClock clock;
  DelayQueueOptions options;
  options.clock = &clock;
  DelayQueue<CountedItem> queue(options);
  std::vector<DelayQueueHandle> handles;
  for (int i = 0; i < kSpike; ++i) {
    handles.push_back(queue.Push(CountedItem(i), DelayOf(i)));
  }
  TakeSpike(clock, 2, [&] { EXPECT_TRUE(queue.TryTake().ok()); });
  // The handles of values that have moved are valid.
  for (int i = 0; i < kSpike; ++i) {
    EXPECT_EQ(queue.Cancel(handles[i]), i % 100 == 0) << i;
  }
}

}  // namespace
}  // namespace workqueue
