// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/snapshot.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "test/base/fragile_key.h"
#include "test/workqueue/every_queue.h"
#include "test/workqueue/lifo.h"
#include "test/workqueue/watched_fifo.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/lease.h"
#include "workqueue/ordering.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue::snapshot_test {
namespace {

using Strings = std::vector<std::string>;
using Ints = std::vector<int>;

// Returns the items of one part of a snapshot, in order.
template <typename Part>
auto ItemsOf(const std::vector<Part>& part) {
  std::vector<decltype(Part::item)> items;
  for (const Part& it : part) items.push_back(it.item);
  return items;
}

template <typename T>
std::vector<T> Sorted(std::vector<T> items) {
  std::sort(items.begin(), items.end());
  return items;
}

template <typename T>
std::string Printed(const Snapshot<T>& snapshot) {
  std::ostringstream os;
  os << snapshot;
  return os.str();
}

template <typename Options>
Options On(FakeClock* clock) {
  Options options;
  options.clock = clock;
  return options;
}

// -----------------------------------------------------------------------------
// Every queue
// -----------------------------------------------------------------------------

class SnapshotTest : public EveryQueueTest {
 protected:
  SnapshotTest() { clock_.Step(absl::Hours(1)); }
};

INSTANTIATE_TEST_SUITE_P(Kinds, SnapshotTest,
                         testing::ValuesIn(EveryQueueKind()), NameOfQueueKind);

TEST_P(SnapshotTest, OfAnEmptyQueue) {
  const Snapshot<std::string> snapshot = *queue_->TakeSnapshot();
  EXPECT_EQ(snapshot.taken_at, clock_.TimeNow());
  EXPECT_FALSE(snapshot.shutting_down);
  EXPECT_TRUE(snapshot.queued.empty());
  EXPECT_TRUE(snapshot.processing.empty());
  EXPECT_TRUE(snapshot.waiting.empty());
}

TEST_P(SnapshotTest, HasWhatIsQueued) {
  for (const char* item : {"c", "a", "b", "a"}) queue_->Add(item);
  const Snapshot<std::string> snapshot = *queue_->TakeSnapshot();
  // A `WatchedFifo` does not support `ForEach()`.
  EXPECT_EQ(Sorted(ItemsOf(snapshot.queued)), (Strings{"a", "b", "c"}));
  for (const auto& it : snapshot.queued) {
    EXPECT_EQ(it.priority, 0);
    EXPECT_EQ(it.failures, 0);
  }
  EXPECT_TRUE(snapshot.processing.empty());
  EXPECT_TRUE(snapshot.waiting.empty());
}

TEST_P(SnapshotTest, HasSinceWhenItemsAreQueued) {
  const absl::Time start = clock_.TimeNow();
  for (const char* item : {"a", "b", "a"}) {
    queue_->Add(item);
    clock_.Step(absl::Seconds(1));
  }
  const auto since = [this](const std::string& item) {
    const auto snapshot = queue_->TakeSnapshot();
    for (const auto& it : snapshot->queued) {
      if (it.item == item) return it.since;
    }
    return absl::InfinitePast();
  };
  EXPECT_EQ(since("a"), start);
  EXPECT_EQ(since("b"), start + absl::Seconds(1));
  // An item that is added while it is being processed is queued later. It has
  // waited since it was added.
  ASSERT_EQ(queue_->Get(), "a");
  queue_->Add("a");
  clock_.Step(absl::Seconds(1));
  queue_->Done("a");
  EXPECT_EQ(since("a"), start + absl::Seconds(3));
  // An item that is given back has waited all the time, except if a queue gives
  // back by an `Add()`, as `QueueBase` does.
  Lease<std::string> lease = *queue_->Acquire();
  ASSERT_EQ(*lease, "b");
  clock_.Step(absl::Seconds(1));
  lease.GiveBack();
  EXPECT_EQ(since("b"),
            GetParam().plain ? clock_.TimeNow() : start + absl::Seconds(1));
}

TEST_P(SnapshotTest, HasWhatIsBeingProcessedAndSinceWhen) {
  std::vector<absl::Time> since;
  for (const char* item : {"c", "a", "b"}) {
    queue_->Add(item);
    clock_.Step(absl::Seconds(1));
    ASSERT_EQ(queue_->Get(), item);
    since.push_back(clock_.TimeNow());
  }
  queue_->Add("a");
  clock_.Step(absl::Seconds(1));
  const Snapshot<std::string> snapshot = *queue_->TakeSnapshot();
  EXPECT_EQ(ItemsOf(snapshot.processing), (Strings{"c", "a", "b"}))
      << "the longest first";
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(snapshot.processing[i].since, since[i]) << i;
    EXPECT_EQ(snapshot.processing[i].added_again, i == 1) << i;
    EXPECT_EQ(snapshot.processing[i].failures, 0) << i;
  }
  EXPECT_EQ(snapshot.taken_at, since[2] + absl::Seconds(1));
  EXPECT_TRUE(snapshot.queued.empty()) << "what was added again is not queued";
}

TEST_P(SnapshotTest, AgesAreCorrectInAnyYear) {
  for (const absl::Time time :
       {absl::FromCivil(absl::CivilYear(3000), absl::UTCTimeZone()),
        absl::FromCivil(absl::CivilYear(1500), absl::UTCTimeZone()),
        absl::InfinitePast(), absl::InfiniteFuture()}) {
    clock_.SetTime(time);
    queue_->Add("a");
    ASSERT_EQ(queue_->Get(), "a");
    const absl::Time since = clock_.TimeNow();
    clock_.Step(absl::Seconds(3));
    EXPECT_EQ(queue_->TakeSnapshot()->processing[0].since, since);
    queue_->Done("a");
  }
}

TEST_P(SnapshotTest, HasWhatIsLeased) {
  queue_->Add("a");
  queue_->Add("b");
  Lease<std::string> a = *queue_->Acquire();
  const absl::Time since = clock_.TimeNow();
  clock_.Step(absl::Seconds(1));
  const Lease<std::string> b = *queue_->Acquire();
  queue_->Add("a");
  Snapshot<std::string> snapshot = *queue_->TakeSnapshot();
  ASSERT_EQ(ItemsOf(snapshot.processing), (Strings{"a", "b"}));
  EXPECT_EQ(snapshot.processing[0].since, since);
  EXPECT_TRUE(snapshot.processing[0].added_again);
  EXPECT_FALSE(snapshot.processing[1].added_again);
  a.Done();
  snapshot = *queue_->TakeSnapshot();
  EXPECT_EQ(ItemsOf(snapshot.processing), Strings{"b"});
  EXPECT_EQ(ItemsOf(snapshot.queued), Strings{"a"});
}

TEST_P(SnapshotTest, DoneInAnyOrderLeavesTheLongestFirst) {
  for (const char* item : {"a", "b", "c", "d"}) {
    queue_->Add(item);
    queue_->Get();
  }
  queue_->Done("b");
  queue_->Done("a");
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  EXPECT_EQ(ItemsOf(queue_->TakeSnapshot()->processing),
            (Strings{"c", "d", "a"}));
}

TEST_P(SnapshotTest, AfterAShutDown) {
  queue_->Add("processing");
  ASSERT_EQ(queue_->Get(), "processing");
  queue_->Add("queued");
  queue_->ShutDown();
  const Snapshot<std::string> snapshot = *queue_->TakeSnapshot();
  EXPECT_TRUE(snapshot.shutting_down);
  EXPECT_EQ(ItemsOf(snapshot.queued), Strings{"queued"});
  EXPECT_EQ(ItemsOf(snapshot.processing), Strings{"processing"});
}

TEST_P(SnapshotTest, ChangesNothing) {
  for (const char* item : {"a", "b", "c"}) queue_->Add(item);
  ASSERT_EQ(queue_->Get(), "a");
  queue_->Add("a");
  const std::string first = Printed(*queue_->TakeSnapshot());
  EXPECT_EQ(Printed(*queue_->TakeSnapshot()), first);
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_TRUE(queue_->Done("a"));
  for (const char* item : {"b", "c", "a"}) EXPECT_EQ(queue_->Get(), item);
}

// Each item is in the snapshot once, whatever other threads do.
TEST_P(SnapshotTest, HasEachItemOnceWhileOthersProcessThem) {
  const Strings items = {"a", "b", "c", "d", "e", "f"};
  for (const std::string& item : items) queue_->Add(item);
  std::vector<Thread> workers;
  for (int w = 0; w < 2; ++w) {
    workers.emplace_back([this] {
      for (int i = 0; i < 200; ++i) {
        const std::string item = *queue_->Get();
        queue_->Add(item);
        queue_->Done(item);
      }
    });
  }
  for (int i = 0; i < 100; ++i) {
    const Snapshot<std::string> snapshot = *queue_->TakeSnapshot();
    Strings all = ItemsOf(snapshot.queued);
    for (const auto& it : snapshot.processing) all.push_back(it.item);
    EXPECT_EQ(Sorted(all), items);
  }
  for (Thread& worker : workers) worker.join();
}

// -----------------------------------------------------------------------------
// The order of what is queued
// -----------------------------------------------------------------------------

TEST(SnapshotOrderTest, FirstInFirstOut) {
  Queue<int> queue;
  for (int i : {3, 1, 2, 1}) queue.Add(i);
  EXPECT_EQ(ItemsOf(queue.TakeSnapshot()->queued), (Ints{3, 1, 2}));
  queue.Done(*queue.Get());
  queue.Add(3);
  EXPECT_EQ(ItemsOf(queue.TakeSnapshot()->queued), (Ints{1, 2, 3}));
}

TEST(SnapshotOrderTest, OfTheLayersAbove) {
  FakeClock clock;
  DelayingQueue<int> delaying(On<DelayingQueueOptions<int>>(&clock));
  RateLimitingQueue<int> rate_limiting(
      On<RateLimitingQueueOptions<int>>(&clock));
  for (int i : {3, 1, 2, 1}) {
    delaying.Add(i);
    rate_limiting.Add(i);
  }
  EXPECT_EQ(ItemsOf(delaying.TakeSnapshot()->queued), (Ints{3, 1, 2}));
  EXPECT_EQ(ItemsOf(rate_limiting.TakeSnapshot()->queued), (Ints{3, 1, 2}));
}

TEST(SnapshotOrderTest, OfAnOrderingThatTells) {
  QueueOptions<int> options;
  options.ordering = std::make_unique<ListingLifo<int>>();
  Queue<int> queue(std::move(options));
  for (int i : {3, 1, 2, 1}) queue.Add(i);
  EXPECT_EQ(ItemsOf(queue.TakeSnapshot()->queued), (Ints{2, 1, 3}));
  ASSERT_EQ(queue.Get(), 2);
  queue.Add(2);
  const Snapshot<int> snapshot = *queue.TakeSnapshot();
  EXPECT_EQ(ItemsOf(snapshot.queued), (Ints{1, 3}));
  EXPECT_EQ(ItemsOf(snapshot.processing), Ints{2});
}

TEST(SnapshotOrderTest, OfAnOrderingThatDoesNotTell) {
  QueueOptions<int> options;
  options.ordering = std::make_unique<WatchedFifo<int>>();
  Queue<int> queue(std::move(options));
  for (int i : {5, 3, 1, 2, 4}) queue.Add(i);
  ASSERT_EQ(queue.Get(), 5);
  ASSERT_EQ(queue.Get(), 3);
  queue.Add(3);
  const Snapshot<int> snapshot = *queue.TakeSnapshot();
  EXPECT_EQ(Sorted(ItemsOf(snapshot.queued)), (Ints{1, 2, 4}));
  EXPECT_EQ(ItemsOf(snapshot.processing), (Ints{5, 3}));
}

#ifdef ABSL_HAVE_EXCEPTIONS
class ThrowingLifo final : public ListingLifo<int> {
 public:
  void Push(QueuedItem<int>* item) override {
    if (throws) throw Fuse::Blown();
    ListingLifo<int>::Push(item);
  }

  bool throws = false;
};

// If the ordering throws, the item is queued outside of the ordering.
TEST(SnapshotOrderTest, WhatTheOrderingWouldNotTakeIsThere) {
  auto owned = std::make_unique<ThrowingLifo>();
  ThrowingLifo* const ordering = owned.get();
  QueueOptions<int> options;
  options.ordering = std::move(owned);
  Queue<int> queue(std::move(options));
  for (int i : {1, 2, 3}) queue.Add(i);
  ASSERT_EQ(queue.Get(), 3);
  queue.Add(3);
  ordering->throws = true;
  EXPECT_TRUE(queue.Done(3));
  EXPECT_EQ(Sorted(ItemsOf(queue.TakeSnapshot()->queued)), (Ints{1, 2, 3}));
}
#endif  // ABSL_HAVE_EXCEPTIONS

// -----------------------------------------------------------------------------
// Waiting items and failures
// -----------------------------------------------------------------------------

class WaitingSnapshotTest : public testing::Test {
 protected:
  // Returns a time in the future.
  static absl::Time At(int seconds) {
    return absl::UnixEpoch() + absl::Seconds(seconds);
  }

  FakeClock clock_;
  DelayingQueue<std::string> queue_{
      On<DelayingQueueOptions<std::string>>(&clock_)};
};

TEST_F(WaitingSnapshotTest, IsSortedByTime) {
  for (int seconds : {7, 3, 9, 1, 8, 2, 6, 4, 5}) {
    queue_.AddAfter(std::to_string(seconds), absl::Seconds(seconds));
  }
  clock_.Step(absl::Seconds(1));
  const Snapshot<std::string> snapshot = *queue_.TakeSnapshot();
  EXPECT_EQ(snapshot.taken_at, At(1));
  EXPECT_EQ(ItemsOf(snapshot.queued), Strings{"1"});
  ASSERT_EQ(snapshot.waiting.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    const int seconds = static_cast<int>(i) + 2;
    EXPECT_EQ(snapshot.waiting[i].item, std::to_string(seconds));
    EXPECT_EQ(snapshot.waiting[i].ready_at, At(seconds));
    EXPECT_EQ(snapshot.waiting[i].priority, 0);
    EXPECT_EQ(snapshot.waiting[i].failures, 0);
  }
}

// The queue's thread sleeps until the first item, and has not seen the others.
TEST_F(WaitingSnapshotTest, HasWhatTheThreadHasNotTakenIn) {
  queue_.AddAfter("b", absl::Seconds(2));
  clock_.Step(absl::ZeroDuration());
  queue_.AddAfter("d", absl::Seconds(4));
  queue_.AddAfter("c", absl::Seconds(3));
  queue_.AddAfter("d", absl::Seconds(5));  // Has no effect.
  Snapshot<std::string> snapshot = *queue_.TakeSnapshot();
  ASSERT_EQ(ItemsOf(snapshot.waiting), (Strings{"b", "c", "d"}));
  EXPECT_EQ(snapshot.waiting[1].ready_at, At(3));
  EXPECT_EQ(snapshot.waiting[2].ready_at, At(4));

  // The items are added at their times nevertheless.
  clock_.Step(absl::Seconds(2));
  clock_.Step(absl::Seconds(1));
  snapshot = *queue_.TakeSnapshot();
  EXPECT_EQ(ItemsOf(snapshot.queued), (Strings{"b", "c"}));
  EXPECT_EQ(ItemsOf(snapshot.waiting), Strings{"d"});
  clock_.Step(absl::Seconds(1));
  for (const char* item : {"b", "c", "d"}) EXPECT_EQ(queue_.Get(), item);
}

// The snapshot, not the thread, has taken in the item. The item is due first,
// so the thread must wake up for it.
TEST_F(WaitingSnapshotTest, DoesNotMakeTheThreadMissAnItem) {
  for (int i = 0; i < 50; ++i) {
    queue_.AddAfter("a", absl::Seconds(1));
    EXPECT_EQ(ItemsOf(queue_.TakeSnapshot()->waiting), Strings{"a"});
    clock_.Step(absl::Seconds(1));
    ASSERT_EQ(queue_.Len(), 1u);
    queue_.Done(*queue_.Get());
  }
}

TEST_F(WaitingSnapshotTest, AnItemCanBeInSeveralStates) {
  queue_.Add("a");
  queue_.AddAfter("a", absl::Seconds(1));
  Snapshot<std::string> snapshot = *queue_.TakeSnapshot();
  EXPECT_EQ(ItemsOf(snapshot.queued), Strings{"a"});
  EXPECT_EQ(ItemsOf(snapshot.waiting), Strings{"a"});
  ASSERT_EQ(queue_.Get(), "a");
  snapshot = *queue_.TakeSnapshot();
  EXPECT_EQ(ItemsOf(snapshot.processing), Strings{"a"});
  EXPECT_EQ(ItemsOf(snapshot.waiting), Strings{"a"});
}

TEST_F(WaitingSnapshotTest, NothingWaitsAfterAShutDown) {
  queue_.AddAfter("a", absl::Seconds(1));
  queue_.Add("b");
  queue_.ShutDown();
  const Snapshot<std::string> snapshot = *queue_.TakeSnapshot();
  EXPECT_TRUE(snapshot.shutting_down);
  EXPECT_EQ(ItemsOf(snapshot.queued), Strings{"b"});
  EXPECT_TRUE(snapshot.waiting.empty());
}

// An item that moves from waiting to queued is in exactly one of the two parts.
TEST_F(WaitingSnapshotTest, HasEachItemOnceWhileTheirTimesCome) {
  Strings items;
  for (int i = 0; i < 500; ++i) items.push_back(std::to_string(i));
  for (int i = 0; i < 500; ++i) {
    queue_.AddAfter(items[i], absl::Seconds(1 + i / 10));
  }
  Thread time([this] {
    for (int i = 0; i < 50; ++i) clock_.Step(absl::Seconds(1));
  });
  items = Sorted(items);
  for (int i = 0; i < 30; ++i) {
    const Snapshot<std::string> snapshot = *queue_.TakeSnapshot();
    Strings all = ItemsOf(snapshot.queued);
    for (const auto& it : snapshot.waiting) all.push_back(it.item);
    EXPECT_EQ(Sorted(all), items);
  }
  time.join();
  EXPECT_EQ(queue_.Len(), 500u);
}

TEST(FailuresSnapshotTest, HasTheFailuresOfEach) {
  FakeClock clock;
  auto options = On<RateLimitingQueueOptions<std::string>>(&clock);
  options.rate_limiter =
      *ItemExponentialFailureRateLimiter<std::string>::Create(absl::Seconds(1),
                                                              absl::Hours(1));
  RateLimitingQueue<std::string> queue(std::move(options));

  // Makes `item` fail `times` times, each time after its previous delay.
  const auto fail = [&](const std::string& item, int times) {
    for (int i = 0; i < times; ++i) {
      EXPECT_TRUE(queue.AddRateLimited(item));
      clock.Step(absl::Seconds(1 << i));
    }
  };
  fail("processing", 2);
  ASSERT_EQ(queue.Get(), "processing");
  fail("queued", 1);
  queue.Add("new");
  fail("waiting", 3);
  queue.AddRateLimited("waiting");
  // Two items are in the queue; one of them also waits.
  const Snapshot<std::string> snapshot = *queue.TakeSnapshot();
  ASSERT_EQ(ItemsOf(snapshot.queued), (Strings{"queued", "new", "waiting"}));
  EXPECT_EQ(snapshot.queued[0].failures, 1);
  EXPECT_EQ(snapshot.queued[1].failures, 0);
  EXPECT_EQ(snapshot.queued[2].failures, 4);
  ASSERT_EQ(ItemsOf(snapshot.processing), Strings{"processing"});
  EXPECT_EQ(snapshot.processing[0].failures, 2);
  ASSERT_EQ(ItemsOf(snapshot.waiting), Strings{"waiting"});
  EXPECT_EQ(snapshot.waiting[0].failures, 4);
  EXPECT_EQ(snapshot.waiting[0].ready_at, clock.TimeNow() + absl::Seconds(8));

  queue.Forget("processing");
  EXPECT_EQ(queue.TakeSnapshot()->processing[0].failures, 0);
}

// -----------------------------------------------------------------------------
// Printing
// -----------------------------------------------------------------------------

// A sink with the functions that `AbslStringify()` needs.
struct Sink {
  void Append(absl::string_view s) { text.append(s.data(), s.size()); }
  std::string text;
};

template <typename T>
std::string Stringified(const Snapshot<T>& snapshot) {
  Sink sink;
  AbslStringify(sink, snapshot);
  return sink.text;
}

TEST(SnapshotPrintTest, Nothing) {
  const Snapshot<std::string> snapshot;
  EXPECT_EQ(Printed(snapshot), "0 queued\n0 processing\n0 waiting\n");
  EXPECT_EQ(Stringified(snapshot), Printed(snapshot));
}

TEST(SnapshotPrintTest, All) {
  Snapshot<std::string> snapshot;
  const absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  snapshot.taken_at = now;
  snapshot.shutting_down = true;
  snapshot.queued.push_back({"default/web", now - absl::Hours(1),
                             /*priority=*/10, /*failures=*/0,
                             /*last_error=*/""});
  snapshot.queued.push_back({"default/db", now - absl::Milliseconds(250),
                             /*priority=*/0, /*failures=*/3,
                             /*last_error=*/"NOT_FOUND: web"});
  snapshot.queued.push_back({"default/ca", now, /*priority=*/-1,
                             /*failures=*/2, /*last_error=*/""});
  snapshot.processing.push_back({"default/cache", now - absl::Seconds(1.5),
                                 /*added_again=*/true, /*failures=*/0,
                                 /*last_error=*/""});
  snapshot.processing.push_back({"default/job", now, /*added_again=*/false,
                                 /*failures=*/1, /*last_error=*/"ABORTED: "});
  snapshot.waiting.push_back({"default/mail", now + absl::Seconds(30),
                              /*priority=*/0, /*failures=*/1,
                              /*last_error=*/""});
  snapshot.waiting.push_back({"default/cron", now + absl::Hours(2),
                              /*priority=*/5, /*failures=*/0,
                              /*last_error=*/"UNKNOWN: a"});
  snapshot.waiting.push_back({"default/never", absl::InfiniteFuture(),
                              /*priority=*/0, /*failures=*/0,
                              /*last_error=*/""});
  snapshot.num_parked = 2;
  snapshot.parked.push_back({"default/bad", /*parked=*/true, /*failures=*/4,
                             /*last_error=*/"UNKNOWN: b", now - absl::Hours(1),
                             now - absl::Minutes(5)});
  EXPECT_EQ(Printed(snapshot),
            "shutting down\n"
            "3 queued:\n"
            "  default/web for 1h (priority 10)\n"
            "  default/db for 250ms (failures: 3, last error: NOT_FOUND: web)\n"
            "  default/ca for 0 (priority -1) (failures: 2)\n"
            "2 processing:\n"
            "  default/cache for 1.5s, added again\n"
            "  default/job for 0 (failures: 1, last error: ABORTED: )\n"
            "3 waiting:\n"
            "  default/mail for another 30s (failures: 1)\n"
            "  default/cron for another 2h (priority 5) (failures: 0, last "
            "error: UNKNOWN: a)\n"
            "  default/never for another inf\n"
            "1 of 2 parked:\n"
            "  default/bad for 5m (failures: 4, last error: UNKNOWN: b)\n");
  EXPECT_EQ(Stringified(snapshot), Printed(snapshot));
}

TEST(SnapshotPrintTest, OfAQueue) {
  FakeClock clock;
  RateLimitingQueue<std::string> queue(
      On<RateLimitingQueueOptions<std::string>>(&clock));
  queue.Add("cache");
  queue.Get();
  clock.Step(absl::Milliseconds(1500));
  queue.Add("cache");
  queue.Add("web");
  clock.Step(absl::Seconds(2));
  queue.AddRateLimited("db");
  queue.AddAfter("mail", absl::Seconds(30));
  EXPECT_EQ(Printed(*queue.TakeSnapshot()),
            "1 queued:\n"
            "  web for 2s\n"
            "1 processing:\n"
            "  cache for 3.5s, added again\n"
            "2 waiting:\n"
            "  db for another 5ms (failures: 1)\n"
            "  mail for another 30s\n");
}

struct ObjectName {
  std::string space, name;

  friend std::ostream& operator<<(std::ostream& os, const ObjectName& object) {
    return os << object.space << "/" << object.name;
  }
};

TEST(SnapshotPrintTest, ItemsThatPrintThemselves) {
  Snapshot<ObjectName> snapshot;
  snapshot.queued.resize(1);
  snapshot.queued[0].item = {"default", "web"};
  snapshot.queued[0].since = snapshot.taken_at;
  snapshot.num_queued = 1;
  EXPECT_EQ(Printed(snapshot),
            "1 queued:\n  default/web for 0\n0 processing\n0 waiting\n");
  EXPECT_EQ(Stringified(snapshot), Printed(snapshot));
}

TEST(SnapshotPrintTest, EachItemIsOnOneLineThatATerminalDisplays) {
  FakeClock clock;
  Queue<std::string> queue(On<QueueOptions<std::string>>(&clock));
  queue.Add("web\n1 processing:\n  \033[2Jfake");
  queue.Add(std::string(1 << 20, 'x'));
  EXPECT_EQ(Printed(*queue.TakeSnapshot()),
            "2 queued:\n"
            "  web\\n1 processing:\\n  \\033[2Jfake for 0\n"
            "  " +
                std::string(256, 'x') +
                "... (1048576 bytes) for 0\n"
                "0 processing\n"
                "0 waiting\n");
  EXPECT_EQ(Stringified(*queue.TakeSnapshot()), Printed(*queue.TakeSnapshot()));
}

TEST(SnapshotPrintTest, Numbers) {
  FakeClock clock;
  Queue<int> queue(On<QueueOptions<int>>(&clock));
  queue.Add(7);
  EXPECT_EQ(Printed(*queue.TakeSnapshot()),
            "1 queued:\n  7 for 0\n0 processing\n0 waiting\n");
}

// -----------------------------------------------------------------------------
// Many items, and items of all sorts
// -----------------------------------------------------------------------------

TEST(SnapshotItemsTest, OfManyItemsIsComplete) {
  constexpr int kItems = 100000, kProcessing = 30000;
  FakeClock clock;
  DelayingQueue<int> queue(On<DelayingQueueOptions<int>>(&clock));
  for (int i = 0; i < kItems; ++i) queue.Add(i);
  for (int i = 0; i < kProcessing; ++i) ASSERT_EQ(queue.Get(), i);
  for (int i = 0; i < kItems; ++i) {
    // The order is neither that of the items nor that of their times.
    const int item = static_cast<int>(i * 7919LL % kItems);
    queue.AddAfter(item, absl::Milliseconds(1 + item));
  }
  const Snapshot<int> snapshot = *queue.TakeSnapshot();
  ASSERT_EQ(snapshot.processing.size(), static_cast<size_t>(kProcessing));
  ASSERT_EQ(snapshot.queued.size(), static_cast<size_t>(kItems - kProcessing));
  ASSERT_EQ(snapshot.waiting.size(), static_cast<size_t>(kItems));
  for (int i = 0; i < kItems; ++i) {
    ASSERT_EQ(i < kProcessing ? snapshot.processing[i].item
                              : snapshot.queued[i - kProcessing].item,
              i);
    ASSERT_EQ(snapshot.waiting[i].item, i);
    ASSERT_EQ(snapshot.waiting[i].ready_at,
              absl::UnixEpoch() + absl::Milliseconds(1 + i));
  }
}

Ints ValuesOf(const std::vector<FragileKey>& keys) {
  Ints values;
  for (const FragileKey& key : keys) values.push_back(key.value());
  return values;
}

using FragileQueue = DelayingQueue<FragileKey, FragileHash, FragileEq>;

// Fills `queue`: 1 is being processed, 2 and 3 are queued, and 4, 5 and 6 wait.
void Fill(FragileQueue& queue) {
  for (int i : {1, 2, 3}) queue.Add(FragileKey(i));
  queue.Get();
  for (int i : {6, 4, 5}) queue.AddAfter(FragileKey(i), absl::Seconds(i));
}

void ExpectFilled(const Snapshot<FragileKey>& snapshot) {
  EXPECT_EQ(ValuesOf(ItemsOf(snapshot.processing)), Ints{1});
  EXPECT_EQ(ValuesOf(ItemsOf(snapshot.queued)), (Ints{2, 3}));
  EXPECT_EQ(ValuesOf(ItemsOf(snapshot.waiting)), (Ints{4, 5, 6}));
}

TEST(SnapshotItemsTest, ItemsNeedNotBeAssignable) {
  FakeClock clock;
  FragileQueue queue(On<DelayingQueueOptions<FragileKey>>(&clock));
  Fill(queue);
  Snapshot<FragileKey> snapshot = *queue.TakeSnapshot();
  ExpectFilled(snapshot);
  const Snapshot<FragileKey> copy = snapshot;
  ExpectFilled(copy);
  snapshot = *queue.TakeSnapshot();
  ExpectFilled(snapshot);
}

TEST(SnapshotItemsTest, OutlivesTheQueue) {
  Snapshot<FragileKey> snapshot;
  {
    FakeClock clock;
    FragileQueue queue(On<DelayingQueueOptions<FragileKey>>(&clock));
    Fill(queue);
    snapshot = *queue.TakeSnapshot();
  }
  ExpectFilled(snapshot);
}

#ifdef ABSL_HAVE_EXCEPTIONS
TEST(SnapshotItemsTest, TheQueueIsAsItWasIfACopyThrows) {
  FakeClock clock;
  FragileQueue queue(On<DelayingQueueOptions<FragileKey>>(&clock));
  Fill(queue);
  clock.Step(absl::ZeroDuration());    // Ends the copies on the queue's thread.
  queue.TakeSnapshot().IgnoreError();  // Takes in what the thread has left.
  const FragileKey four(4);
  int throws = 0;
  for (bool done = false; !done;) {
    Fuse::Arm(FragileOp::kCopy, ++throws);
    done = !Blows([&] {
      queue.TakeSnapshot().IgnoreError();
      queue.TakeSnapshotUpTo(1).IgnoreError();
      queue.TakeSnapshotOf(four).IgnoreError();
    });
    Fuse::Disarm();
    ExpectFilled(*queue.TakeSnapshot());
  }
  EXPECT_GT(throws, 6 + 3 + 1) << "these are the items to copy";
  clock.Step(absl::Seconds(6));
  for (int i : {2, 3, 4, 5, 6}) EXPECT_EQ(queue.Get()->value(), i);
}
#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::snapshot_test
