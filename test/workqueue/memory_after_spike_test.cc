// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that the memory of a spike is freed although some of its items stay.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "ratelimit/bucket_rate_limiter.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "ratelimit/item_fast_slow_rate_limiter.h"
#include "ratelimit/rate_limiter.h"
#include "ratelimit/token_bucket.h"
#include "test/base/counted_heap.h"
#include "workqueue/base/fifo.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/informer.h"
#include "workqueue/controller/lister_watcher.h"
#include "workqueue/controller/object_store.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/executor.h"
#include "workqueue/failure_ledger.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/interfaces.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/thread_pool.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/scheduler.h"
#include "workqueue/timer/waiting_set_options.h"
#include "workqueue/timers.h"

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
class ParkedItemsSubject : public Subject {
 public:
  ParkedItemsSubject() {
    FailureLedgerOptions options;
    options.clock = &clock_;
    options.max_failures = 1;
    options.max_parked = 2 * kSpike;
    ledger_ = *FailureLedger<int>::Create(options);
  }

  void Add(int item) override {
    EXPECT_TRUE(ledger_->RecordFailure(item, absl::Status()));
    if (!Stays(item)) items_.push_back(item);
  }

  void Take(int n) override {
    EXPECT_EQ(items_.size(), static_cast<size_t>(n));
    for (int item : items_) EXPECT_TRUE(ledger_->ShouldProcess(item));
    std::vector<int>().swap(items_);
  }

 private:
  std::unique_ptr<FailureLedger<int>> ledger_;
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

// The items wait in a `Timers`.
class TimersSubject : public Subject {
 public:
  explicit TimersSubject(WaitingSetOptions waiting_set) {
    TimersOptions options;
    options.clock = &clock_;
    options.waiting_set = waiting_set;
    timers_.emplace(options);
  }

  void Add(int item) override {
    timers_->CallAfter(DelayOf(item), &executor_, [](absl::Status) {});
  }

  void Take(int) override { clock_.Step(kSoon); }

 private:
  InlineExecutor executor_;
  std::optional<Timers> timers_;
};

// The items are tasks of a pool whose only thread is busy until they are taken.
// A task that stays submits itself again.
class ThreadPoolSubject : public Subject {
 public:
  ThreadPoolSubject() {
    ThreadPoolOptions options;
    options.threads = 1;
    pool_ = *ThreadPool::Create(options);
    BlockThread();
  }
  ~ThreadPoolSubject() override {
    ending_ = true;
    go_on_->Notify();
  }

  void Add(int item) override {
    pool_->Execute([this, item] {
      if (Stays(item) && !ending_) Add(item);
    });
  }

  void Take(int) override {
    const std::unique_ptr<absl::Notification> go_on = std::move(go_on_);
    absl::Notification taken;
    pool_->Execute([&taken] { taken.Notify(); });
    BlockThread();
    go_on->Notify();
    taken.WaitForNotification();
  }

 private:
  void BlockThread() {
    go_on_ = std::make_unique<absl::Notification>();
    pool_->Execute([go_on = go_on_.get()] { go_on->WaitForNotification(); });
  }

  std::atomic<bool> ending_{false};
  std::unique_ptr<absl::Notification> go_on_;
  std::unique_ptr<ThreadPool> pool_;
};

// A map that is told when an item comes and goes.
template <typename Map>
class MapSubject : public Subject {
 public:
  void Add(int item) override {
    map_.Add(item);
    if (!Stays(item)) items_.push_back(item);
  }

  void Take(int n) override {
    EXPECT_EQ(items_.size(), static_cast<size_t>(n));
    for (int item : items_) map_.Erase(item);
    map_.Await();
    std::vector<int>().swap(items_);
  }

 private:
  Map map_;
  std::vector<int> items_;
};

// Each object has a value of its own in one index, and the same in the other.
std::vector<Indexer<int>> Indexers() {
  return {{"own",
           [](const int& object) {
             return std::vector<std::string>{absl::StrCat(object)};
           }},
          {"all", [](const int&) { return std::vector<std::string>{""}; }}};
}

class StoredObjects {
 public:
  void Add(int item) {
    store_.Put(absl::StrCat(item), std::make_shared<int>(item));
  }
  void Erase(int item) { EXPECT_NE(store_.Erase(absl::StrCat(item)), nullptr); }
  void Await() {}

 private:
  ObjectStore<int> store_{Indexers()};
};

// A server with a watch. Stores nothing itself.
class Feed : public ListerWatcher<int> {
 public:
  using Event = WatchEvent<int>;

  absl::StatusOr<ListPage> List(
      const ListOptions&,
      absl::FunctionRef<void(std::shared_ptr<const int>)>) override {
    return ListPage();
  }
  absl::StatusOr<std::unique_ptr<Watcher<int>>> Watch(
      const std::string&) override {
    return std::make_unique<Follower>(this);
  }
  absl::StatusOr<std::optional<Event>> Next() {
    internal::MutexLock lock(&mu_);
    idle_ = events_.empty();
    mu_.Await(absl::Condition(
        +[](Feed* self) ABSL_NO_THREAD_SAFETY_ANALYSIS {
          return self->stopped_ || !self->events_.empty();
        },
        this));
    if (stopped_) return absl::CancelledError("stopped");
    idle_ = false;
    return events_.Pop();
  }
  void Stop() override {
    internal::MutexLock lock(&mu_);
    stopped_ = true;
  }

  void Send(Event::Type type, int item) {
    internal::MutexLock lock(&mu_);
    events_.Push({type, std::make_shared<int>(item), ""});
  }
  // Blocks until the informer has handled all events.
  void Await() {
    internal::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](Feed* self) ABSL_NO_THREAD_SAFETY_ANALYSIS {
          return self->idle_ && self->events_.empty();
        },
        this));
  }

 private:
  struct Follower : Watcher<int> {
    explicit Follower(Feed* the_feed) : feed(the_feed) {}
    absl::StatusOr<std::optional<Event>> Next() override {
      return feed->Next();
    }
    Feed* feed;
  };

  absl::Mutex mu_;
  internal::Fifo<Event> events_ ABSL_GUARDED_BY(mu_);
  bool idle_ ABSL_GUARDED_BY(mu_) = false;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

class WatchedObjects {
 public:
  WatchedObjects() {
    InformerOptions<int> options;
    auto feed = std::make_unique<Feed>();
    feed_ = feed.get();
    options.lister_watcher = std::move(feed);
    options.key = [](const int& object) { return absl::StrCat(object); };
    options.indexers = Indexers();
    informer_ = *Informer<int>::Create(std::move(options));
    EXPECT_TRUE(informer_->Start().ok());
  }

  void Add(int item) { feed_->Send(Feed::Event::Type::kAdded, item); }
  void Erase(int item) { feed_->Send(Feed::Event::Type::kDeleted, item); }
  void Await() { feed_->Await(); }

 private:
  Feed* feed_;
  std::unique_ptr<Informer<int>> informer_;
};

class CountedFailures {
 public:
  void Add(int item) { limiter_->When(item); }
  void Erase(int item) { limiter_->Forget(item); }
  void Await() {}

 private:
  std::unique_ptr<ItemFastSlowRateLimiter<int>> limiter_ =
      *ItemFastSlowRateLimiter<int>::Create(kSoon, kSoon, 1);
};

// Items that wait for the tokens of a bucket. None stays: tokens come in turn.
class AwaitedTokens {
 public:
  void Add(int item) {
    if (item >= 0) limiter_->When(item);
  }
  void Erase(int item) {
    if (clock_.TimeNow() < end_) clock_.SetTime(end_);
    limiter_->Forget(item);
  }
  void Await() { end_ = clock_.TimeNow() + kSoon; }

 private:
  FakeClock clock_;
  absl::Time end_ = clock_.TimeNow() + kSoon;
  std::unique_ptr<BucketRateLimiter<int>> limiter_ =
      *BucketRateLimiter<int>::Create(
          *TokenBucket::Create(/*rate=*/2 * kSpike, /*burst=*/1, &clock_));
};

class KeptFailures {
 public:
  void Add(int item) {
    ledger_->RecordFailure(item, absl::InternalError("it has failed"));
  }
  void Erase(int item) { ledger_->Forget(item); }
  void Await() {}

 private:
  std::unique_ptr<FailureLedger<int>> ledger_ = *FailureLedger<int>::Create({});
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

template <typename S>
std::unique_ptr<Subject> New() {
  return std::make_unique<S>();
}

template <WaitingSetOptions (*kWaitingSet)()>
std::unique_ptr<Subject> NewTimers() {
  return std::make_unique<TimersSubject>(kWaitingSet());
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
        Kind{"Callbacks", New<CallbackSubject>},
        Kind{"ParkedItems", New<ParkedItemsSubject>},
        Kind{"ObjectStore", New<MapSubject<StoredObjects>>},
        Kind{"Informer", New<MapSubject<WatchedObjects>>},
        Kind{"FastSlowLimiter", New<MapSubject<CountedFailures>>},
        Kind{"BucketLimiter", New<MapSubject<AwaitedTokens>>},
        Kind{"FailingItems", New<MapSubject<KeptFailures>>},
        Kind{"ThreadPool", New<ThreadPoolSubject>, /*compacts=*/false},
        Kind{"TimersHeap", NewTimers<Heap>},
        Kind{"TimersWheel", NewTimers<Wheel>},
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
