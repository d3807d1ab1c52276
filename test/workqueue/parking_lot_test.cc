// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/parking_lot.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/base/fragile_key.h"
#include "test/ratelimit/invalid_argument.h"
#include "test/workqueue/hooked_queue.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/lease.h"
#include "workqueue/metrics.h"
#include "workqueue/queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue::parking_lot_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Strings = std::vector<std::string>;
using Lot = ParkingLot<std::string>;

const absl::Status& Error() {
  static const auto* error = new absl::Status(absl::UnavailableError("down"));
  return *error;
}

class ParkingLotTest : public testing::Test {
 protected:
  // Returns options that park an item at its `n`th failure.
  ParkingLotOptions AtFailure(int n) {
    ParkingLotOptions options;
    options.clock = &clock_;
    options.max_failures = n;
    return options;
  }

  static std::unique_ptr<Lot> New(const ParkingLotOptions& options) {
    auto lot = Lot::Create(options);
    EXPECT_TRUE(lot.ok()) << lot.status();
    return *std::move(lot);
  }

  // Returns the parked items, the last parked one first.
  static Strings Parked(const Lot& lot) {
    Strings items;
    for (const auto& parked : lot.ParkedItems(1000)) {
      items.push_back(parked.item);
    }
    return items;
  }

  FakeClock clock_;
  const absl::Time start_ = clock_.TimeNow();
};

// -----------------------------------------------------------------------------
// When an item is parked
// -----------------------------------------------------------------------------

TEST_F(ParkingLotTest, ParksAnItemAtItsNthFailure) {
  const auto lot = New(AtFailure(3));
  for (int i = 1; i <= 2; ++i) {
    EXPECT_TRUE(lot->ShouldProcess("a"));
    EXPECT_FALSE(lot->RecordFailure("a", Error()));
  }
  EXPECT_FALSE(lot->RecordFailure("b", Error()));
  EXPECT_EQ(lot->size(), 0u);
  EXPECT_TRUE(lot->ShouldProcess("a"));
  EXPECT_TRUE(lot->RecordFailure("a", Error()));
  EXPECT_THAT(Parked(*lot), ElementsAre("a"));
  EXPECT_EQ(lot->size(), 1u);
}

TEST_F(ParkingLotTest, ParksAnItemAtAFailureSomeTimeAfterTheFirst) {
  ParkingLotOptions options;
  options.clock = &clock_;
  options.max_failing_time = absl::Minutes(1);
  const auto lot = New(options);
  EXPECT_FALSE(lot->RecordFailure("a", Error()));
  clock_.Step(absl::Minutes(1) - absl::Nanoseconds(1));
  EXPECT_FALSE(lot->RecordFailure("a", Error()));
  EXPECT_FALSE(lot->RecordFailure("b", Error()));
  clock_.Step(absl::Nanoseconds(1));
  EXPECT_EQ(lot->size(), 0u) << "the time alone parks nothing";
  EXPECT_FALSE(lot->RecordFailure("b", Error()));
  EXPECT_TRUE(lot->RecordFailure("a", Error()));
}

TEST_F(ParkingLotTest, ToleratesAClockThatGoesBack) {
  ParkingLotOptions options;
  options.clock = &clock_;
  options.max_failing_time = absl::Minutes(1);
  const auto lot = New(options);
  EXPECT_FALSE(lot->RecordFailure("a", Error()));
  clock_.Step(-absl::Hours(1));
  EXPECT_FALSE(lot->RecordFailure("a", Error()));
  clock_.Step(absl::Hours(1) + absl::Minutes(1));
  EXPECT_TRUE(lot->RecordFailure("a", Error()));
}

TEST_F(ParkingLotTest, OfTwoLimitsTheFirstCounts) {
  ParkingLotOptions options = AtFailure(2);
  options.max_failing_time = absl::Minutes(1);
  const auto by_count = New(options);
  EXPECT_FALSE(by_count->RecordFailure("a", Error()));
  EXPECT_TRUE(by_count->RecordFailure("a", Error()));
  options.max_failures = 3;
  const auto by_time = New(options);
  EXPECT_FALSE(by_time->RecordFailure("a", Error()));
  clock_.Step(absl::Minutes(1));
  EXPECT_TRUE(by_time->RecordFailure("a", Error()));
}

TEST_F(ParkingLotTest, ASuccessStartsTheFailuresAnew) {
  ParkingLotOptions options = AtFailure(2);
  options.max_failing_time = absl::Minutes(1);
  const auto lot = New(options);
  EXPECT_FALSE(lot->RecordFailure("a", Error()));
  clock_.Step(absl::Hours(1));
  lot->Forget("a");
  EXPECT_FALSE(lot->RecordFailure("a", Error()));
  lot->Forget("b");
  EXPECT_TRUE(lot->RecordFailure("a", Error()));
}

// -----------------------------------------------------------------------------
// The list of parked items
// -----------------------------------------------------------------------------

TEST_F(ParkingLotTest, TellsParkedItems) {
  const auto lot = New(AtFailure(2));
  lot->RecordFailure("a", absl::InternalError("one"));
  clock_.Step(absl::Seconds(1));
  lot->RecordFailure("b", absl::InternalError("one"));
  lot->RecordFailure("b", absl::AbortedError("two"));
  EXPECT_FALSE(lot->Find("a").has_value()) << "it is not parked";
  clock_.Step(absl::Seconds(1));
  lot->RecordFailure("a", absl::NotFoundError("two"));
  EXPECT_FALSE(lot->Find("c").has_value());

  const auto items = lot->ParkedItems(10);
  ASSERT_THAT(items, SizeIs(2));
  EXPECT_EQ(items[0].item, "a");
  EXPECT_EQ(items[0].failures, 2);
  EXPECT_EQ(items[0].last_error, "NOT_FOUND: two");
  EXPECT_EQ(items[0].first_failed_at, start_);
  EXPECT_EQ(items[0].parked_at, start_ + absl::Seconds(2));
  EXPECT_EQ(items[1].item, "b");
  EXPECT_EQ(lot->Find("b")->last_error, "ABORTED: two");
  EXPECT_EQ(lot->Find("b")->first_failed_at, start_ + absl::Seconds(1));

  ASSERT_THAT(lot->ParkedItems(1), SizeIs(1));
  EXPECT_EQ(lot->ParkedItems(1)[0].item, "a");
  EXPECT_THAT(lot->ParkedItems(0), IsEmpty());
}

TEST_F(ParkingLotTest, AnErrorIsOneShortPrintableLine) {
  const auto lot = New(AtFailure(1));
  lot->RecordFailure("a",
                     absl::DataLossError("\n\033" + std::string(9999, 'x')));
  const std::string error = lot->Find("a")->last_error;
  EXPECT_EQ(error.substr(0, 20), "DATA_LOSS: \\n\\033xxx");
  EXPECT_LT(error.size(), 300u);
}

TEST_F(ParkingLotTest, AFailureOfAParkedItemChangesNothing) {
  const auto lot = New(AtFailure(1));
  EXPECT_TRUE(lot->RecordFailure("a", Error()));
  EXPECT_TRUE(lot->RecordFailure("a", absl::InternalError("other")));
  EXPECT_EQ(lot->Find("a")->failures, 1);
  EXPECT_EQ(lot->Find("a")->last_error, "UNAVAILABLE: down");
  EXPECT_EQ(lot->size(), 1u);
}

// -----------------------------------------------------------------------------
// How an item is put back
// -----------------------------------------------------------------------------

TEST_F(ParkingLotTest, AnAdditionPutsAnItemBack) {
  const auto lot = New(AtFailure(2));
  lot->RecordFailure("a", Error());
  ASSERT_TRUE(lot->RecordFailure("a", Error()));
  EXPECT_TRUE(lot->ShouldProcess("a"));
  EXPECT_EQ(lot->size(), 0u);
  EXPECT_FALSE(lot->RecordFailure("a", Error())) << "it has failed once";
  EXPECT_TRUE(lot->RecordFailure("a", Error()));
}

TEST_F(ParkingLotTest, AnAdditionDoesNotIfTheOptionSaysSo) {
  ParkingLotOptions options = AtFailure(1);
  options.unpark_on_add = false;
  const auto lot = New(options);
  ASSERT_TRUE(lot->RecordFailure("a", Error()));
  EXPECT_FALSE(lot->ShouldProcess("a"));
  EXPECT_FALSE(lot->ShouldProcess("a"));
  EXPECT_TRUE(lot->ShouldProcess("b"));
  EXPECT_THAT(Parked(*lot), ElementsAre("a"));
}

TEST_F(ParkingLotTest, ForgetLeavesAnItemParked) {
  const auto lot = New(AtFailure(1));
  lot->RecordFailure("a", Error());
  lot->Forget("a");
  EXPECT_THAT(Parked(*lot), ElementsAre("a"));
}

TEST_F(ParkingLotTest, ACallPutsAnItemBack) {
  ParkingLotOptions options = AtFailure(2);
  options.unpark_on_add = false;
  const auto lot = New(options);
  Queue<std::string> queue;
  lot->RecordFailure("a", Error());
  EXPECT_FALSE(lot->Unpark("a", &queue)) << "it is not parked";
  lot->RecordFailure("a", Error());
  EXPECT_TRUE(lot->Unpark("a", &queue));
  EXPECT_FALSE(lot->Unpark("a", &queue));
  EXPECT_EQ(queue.Len(), 1u);
  EXPECT_EQ(queue.Get(), "a");
  EXPECT_TRUE(lot->ShouldProcess("a"));
  EXPECT_FALSE(lot->RecordFailure("a", Error())) << "it has failed once";
}

TEST_F(ParkingLotTest, ACallPutsAllItemsBackInTheirOrder) {
  const auto lot = New(AtFailure(1));
  for (const char* item : {"a", "b", "c"}) lot->RecordFailure(item, Error());
  Queue<std::string> queue;
  EXPECT_EQ(lot->UnparkAll(&queue), 3u);
  EXPECT_EQ(lot->size(), 0u);
  EXPECT_EQ(lot->UnparkAll(&queue), 0u);
  for (const char* item : {"a", "b", "c"}) EXPECT_EQ(queue.Get(), item);
}

TEST_F(ParkingLotTest, AnItemThatTheQueueRefusesStaysParked) {
  ParkingLotOptions options = AtFailure(1);
  options.unpark_on_add = false;
  const auto lot = New(options);
  for (const char* item : {"a", "b"}) lot->RecordFailure(item, Error());
  Queue<std::string> queue;
  queue.ShutDown();
  EXPECT_FALSE(lot->Unpark("a", &queue));
  EXPECT_EQ(lot->UnparkAll(&queue), 0u);
  EXPECT_THAT(Parked(*lot), ElementsAre("b", "a"));
  EXPECT_FALSE(lot->ShouldProcess("a"));
}

// A worker gets the item before Unpark() returns.
TEST_F(ParkingLotTest, AWorkerMayGetTheItemWhileItIsPutBack) {
  for (const bool taken : {true, false}) {
    for (const bool fails : {true, false}) {
      SCOPED_TRACE(absl::StrCat(taken, " ", fails));
      ParkingLotOptions options = AtFailure(1);
      options.unpark_on_add = false;
      const auto lot = New(options);
      lot->RecordFailure("a", Error());
      HookedQueue<std::string> queue([&](const std::string& item) {
        EXPECT_FALSE(lot->Unpark(item, &queue)) << "another call does so";
        EXPECT_TRUE(lot->ShouldProcess(item));
        if (fails) {
          EXPECT_TRUE(lot->RecordFailure(item, Error()));
        }
        return taken;
      });
      EXPECT_TRUE(lot->Unpark("a", &queue));
      EXPECT_EQ(lot->size(), fails ? 1u : 0u);
      EXPECT_EQ(lot->ShouldProcess("a"), !fails);
    }
  }
}

TEST_F(ParkingLotTest, OtherItemsMayBePutBackMeanwhile) {
  constexpr int kItems = 10000;
  auto lot = *ParkingLot<int>::Create(AtFailure(1));
  for (int i = 0; i < kItems; ++i) lot->RecordFailure(i, Error());
  // Entries move in memory, which must not confuse the call in progress.
  bool done = false;
  HookedQueue<int> queue([&](int item) {
    if (item != kItems - 1 || std::exchange(done, true)) return true;
    for (int i = 0; i < kItems - 2; ++i) EXPECT_TRUE(lot->ShouldProcess(i));
    return false;
  });
  EXPECT_FALSE(lot->Unpark(kItems - 1, &queue));
  const auto parked = lot->ParkedItems(10);
  ASSERT_THAT(parked, SizeIs(2));
  EXPECT_EQ(parked[0].item, kItems - 1);
  EXPECT_EQ(parked[1].item, kItems - 2);
  EXPECT_TRUE(lot->Unpark(kItems - 1, &queue));
  EXPECT_TRUE(lot->Unpark(kItems - 2, &queue));
  EXPECT_EQ(lot->size(), 0u);
}

// -----------------------------------------------------------------------------
// The bound
// -----------------------------------------------------------------------------

TEST_F(ParkingLotTest, AFullLotLeavesItemsToBeRetried) {
  ParkingLotOptions options = AtFailure(1);
  options.max_parked = 2;
  const auto lot = New(options);
  EXPECT_TRUE(lot->RecordFailure("a", Error()));
  EXPECT_TRUE(lot->RecordFailure("b", Error()));
  EXPECT_EQ(lot->num_refused(), 0);
  EXPECT_FALSE(lot->RecordFailure("c", Error()));
  EXPECT_FALSE(lot->RecordFailure("c", Error()));
  EXPECT_EQ(lot->num_refused(), 2);
  EXPECT_TRUE(lot->RecordFailure("a", Error())) << "it is parked already";
  EXPECT_EQ(lot->size(), 2u);
  EXPECT_TRUE(lot->ShouldProcess("a"));
  EXPECT_TRUE(lot->RecordFailure("c", Error())) << "there is a place now";
  EXPECT_EQ(lot->Find("c")->failures, 3);
  EXPECT_EQ(lot->num_refused(), 2);
}

// -----------------------------------------------------------------------------
// Metrics
// -----------------------------------------------------------------------------

// A gauge and a counter that write to an integer, and may throw afterwards.
class Number final : public GaugeMetric, public CounterMetric {
 public:
  Number(std::atomic<int>* value, bool throws)
      : value_(value), throws_(throws) {}

  void Inc() override { Change(1); }
  void Dec() override { Change(-1); }

 private:
  void Change(int by) {
    *value_ += by;
#ifdef ABSL_HAVE_EXCEPTIONS
    if (throws_) throw std::runtime_error("metric");
#endif
  }

  std::atomic<int>* const value_;
  const bool throws_;
};

TEST_F(ParkingLotTest, ReportsToMetrics) {
  for (const bool throws : {false, true}) {
    std::atomic<int> parked{0};
    std::atomic<int> total{0};
    ParkingLotMetrics metrics;
    metrics.parked = std::make_unique<Number>(&parked, throws);
    metrics.parked_total = std::make_unique<Number>(&total, throws);
    ParkingLotOptions options = AtFailure(1);
    options.max_parked = 2;
    const auto lot = *Lot::Create(options, std::move(metrics));
    for (const char* item : {"a", "b", "c", "a"}) {
      lot->RecordFailure(item, Error());
    }
    EXPECT_EQ(parked, 2);
    EXPECT_EQ(total, 2);
    EXPECT_TRUE(lot->ShouldProcess("a"));
    EXPECT_EQ(parked, 1);
    Queue<std::string> queue;
    EXPECT_TRUE(lot->Unpark("b", &queue));
    EXPECT_EQ(parked, 0);
    lot->RecordFailure("a", Error());
    HookedQueue<std::string> refuses([](const std::string&) { return false; });
    EXPECT_FALSE(lot->Unpark("a", &refuses));
    EXPECT_EQ(parked, 1);
    HookedQueue<std::string> hands_out(
        [&lot](const std::string& item) { return lot->ShouldProcess(item); });
    EXPECT_TRUE(lot->Unpark("a", &hands_out));
    EXPECT_EQ(parked, 0);
    EXPECT_EQ(total, 3);
  }
}

// -----------------------------------------------------------------------------
// Options
// -----------------------------------------------------------------------------

TEST_F(ParkingLotTest, RefusesBadOptions) {
  const auto error = [this](std::function<void(ParkingLotOptions&)> change) {
    ParkingLotOptions options = AtFailure(1);
    change(options);
    return Lot::Create(options).status();
  };
  EXPECT_THAT(error([](auto& options) { options.max_failures = 0; }),
              IsInvalidArgument("max_failures", "0"));
  EXPECT_THAT(error([](auto& options) { options.max_failures = -3; }),
              IsInvalidArgument("max_failures", "-3"));
  EXPECT_THAT(
      error([](auto& options) { options.max_failures.reset(); }),
      IsInvalidArgument("max_failures is not set", "max_failing_time is inf"));
  EXPECT_THAT(error([](auto& options) {
                options.max_failing_time = absl::ZeroDuration();
              }),
              IsInvalidArgument("max_failing_time", "0"));
  EXPECT_THAT(error([](auto& options) {
                options.max_failing_time = absl::Seconds(-2);
              }),
              IsInvalidArgument("max_failing_time", "-2s"));
  EXPECT_THAT(error([](auto& options) { options.max_parked = 0; }),
              IsInvalidArgument("max_parked", "0"));
}

TEST_F(ParkingLotTest, AcceptsExtremeOptions) {
  ParkingLotOptions options = AtFailure(std::numeric_limits<int>::max());
  options.max_parked = std::numeric_limits<size_t>::max();
  options.max_failing_time = absl::Nanoseconds(1);
  const auto lot = New(options);
  EXPECT_FALSE(lot->RecordFailure("a", Error()));
  clock_.Step(absl::Nanoseconds(1));
  EXPECT_TRUE(lot->RecordFailure("a", Error()));
  EXPECT_THAT(lot->ParkedItems(std::numeric_limits<size_t>::max()), SizeIs(1));
}

// -----------------------------------------------------------------------------
// Items
// -----------------------------------------------------------------------------

using FragileLot = ParkingLot<FragileKey, FragileHash, FragileEq>;
using FragileQueue = Queue<FragileKey, FragileHash, FragileEq>;

TEST_F(ParkingLotTest, ItemsNeedOnlyBeCopyable) {
  const auto lot = *FragileLot::Create(AtFailure(1));
  for (int i = 0; i < 5; ++i) lot->RecordFailure(FragileKey(i), Error());
  EXPECT_TRUE(lot->ShouldProcess(FragileKey(2)));
  EXPECT_EQ(lot->ParkedItems(10)[0].item.value(), 4);
  EXPECT_EQ(lot->Find(FragileKey(3))->item.value(), 3);
  FragileQueue queue;
  EXPECT_EQ(lot->UnparkAll(&queue), 4u);
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_F(ParkingLotTest, NothingChangesIfAnItemThrows) {
  ParkingLotOptions options = AtFailure(2);
  options.unpark_on_add = false;
  // Keys of equal hashes are compared: 1 and 3 are parked, and 5 has failed.
  const std::function<void(FragileLot&)> calls[] = {
      [](FragileLot& lot) { lot.RecordFailure(FragileKey(5), Error()); },
      [](FragileLot& lot) { lot.RecordFailure(FragileKey(7), Error()); },
      [](FragileLot& lot) { lot.Forget(FragileKey(5)); },
      [](FragileLot& lot) { lot.ShouldProcess(FragileKey(3)); },
      [](FragileLot& lot) { lot.Find(FragileKey(1)); },
      [](FragileLot& lot) { lot.ParkedItems(10); },
  };
  for (const auto& call : calls) {
    int blown = 0;
    for (const FragileOp op : kFragileOps) {
      for (int n = 1;; ++n) {
        ASSERT_LT(n, 100);
        const auto lot = *FragileLot::Create(options);
        for (int i : {1, 1, 3, 3, 5})
          lot->RecordFailure(FragileKey(i), Error());
        Fuse::Arm(op, n);
        const bool threw = Blows([&] { call(*lot); });
        Fuse::Disarm();
        if (!threw) break;
        ++blown;
        EXPECT_EQ(lot->size(), 2u);
        EXPECT_FALSE(lot->ShouldProcess(FragileKey(3)));
        EXPECT_FALSE(lot->RecordFailure(FragileKey(7), Error()));
        EXPECT_TRUE(lot->RecordFailure(FragileKey(5), Error()));
      }
    }
    EXPECT_GE(blown, 1);
  }
}

TEST_F(ParkingLotTest, AnItemWhoseUnparkThrowsStaysParked) {
  ParkingLotOptions options = AtFailure(1);
  options.unpark_on_add = false;
  for (const FragileOp op : kFragileOps) {
    for (int n = 1;; ++n) {
      SCOPED_TRACE(n);
      ASSERT_LT(n, 100);
      const auto lot = *FragileLot::Create(options);
      for (int i : {1, 3, 5}) lot->RecordFailure(FragileKey(i), Error());
      FragileQueue queue;
      queue.Add(FragileKey(7));
      Fuse::Arm(op, n);
      const bool threw =
          Blows([&] { EXPECT_TRUE(lot->Unpark(FragileKey(3), &queue)); });
      Fuse::Disarm();
      EXPECT_EQ(lot->size(), threw ? 3u : 2u);
      EXPECT_EQ(queue.Len(), threw ? 1u : 2u);
      EXPECT_EQ(lot->ShouldProcess(FragileKey(3)), !threw);
      if (!threw) break;
    }
  }
}

TEST_F(ParkingLotTest, AnItemStaysParkedIfTheQueueThrows) {
  const auto lot = New(AtFailure(1));
  for (const char* item : {"a", "b", "c"}) lot->RecordFailure(item, Error());
  HookedQueue<std::string> queue([](const std::string& item) {
    if (item == "b") throw std::runtime_error("queue");
    return true;
  });
  EXPECT_THROW(lot->Unpark("b", &queue), std::runtime_error);
  EXPECT_EQ(lot->size(), 3u);
  EXPECT_THROW(lot->UnparkAll(&queue), std::runtime_error);
  EXPECT_THAT(Parked(*lot), ElementsAre("c", "b"));
}

#endif  // ABSL_HAVE_EXCEPTIONS

// -----------------------------------------------------------------------------
// Threads
// -----------------------------------------------------------------------------

// Workers that always fail, and a thread that puts items back. No item is lost:
// in the end, all are parked.
TEST_F(ParkingLotTest, WorkersAndCallsShareALot) {
  constexpr int kItems = 20;
  constexpr int kCalls = 2000;
  ParkingLotOptions options = AtFailure(2);
  options.unpark_on_add = false;
  const auto lot = *ParkingLot<int>::Create(options);
  Queue<int> queue;
  for (int i = 0; i < kItems; ++i) queue.Add(i);
  std::atomic<bool> ends{false};
  absl::Notification all_parked;
  std::vector<Thread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&] {
      Lease<int> lease;
      while (queue.AcquireNext(&lease).ok()) {
        if (lot->ShouldProcess(*lease) &&
            !lot->RecordFailure(*lease, Error())) {
          queue.Add(*lease);
        }
        if (lot->size() == kItems && ends.exchange(false)) all_parked.Notify();
      }
    });
  }
  for (int i = 0; i < kCalls; ++i) {
    lot->Unpark(i % kItems, &queue);
    if (i % 10 == 0) lot->UnparkAll(&queue);
    EXPECT_LE(lot->ParkedItems(1000).size(), size_t{kItems});
  }
  ends = true;
  queue.Add(0);  // so that a worker looks once more
  all_parked.WaitForNotification();
  queue.ShutDown();
  for (Thread& worker : workers) worker.join();
  EXPECT_EQ(lot->ParkedItems(1000).size(), size_t{kItems});
}

}  // namespace
}  // namespace workqueue::parking_lot_test
