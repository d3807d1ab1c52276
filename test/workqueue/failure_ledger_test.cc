// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/failure_ledger.h"

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

namespace workqueue::failure_ledger_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Strings = std::vector<std::string>;
using Ledger = FailureLedger<std::string>;

const absl::Status& Error() {
  static const auto* error = new absl::Status(absl::UnavailableError("down"));
  return *error;
}

class FailureLedgerTest : public testing::Test {
 protected:
  // Returns options that park an item at its `n`th failure.
  FailureLedgerOptions AtFailure(int n) {
    FailureLedgerOptions options;
    options.clock = &clock_;
    options.max_failures = n;
    return options;
  }

  static std::unique_ptr<Ledger> New(const FailureLedgerOptions& options) {
    auto ledger = Ledger::Create(options);
    EXPECT_TRUE(ledger.ok()) << ledger.status();
    return *std::move(ledger);
  }

  // Returns the parked items, the last parked one first.
  static Strings Parked(const Ledger& ledger) {
    Strings items;
    for (const auto& parked : ledger.Parked(1000)) {
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

TEST_F(FailureLedgerTest, ParksAnItemAtItsNthFailure) {
  const auto ledger = New(AtFailure(3));
  for (int i = 1; i <= 2; ++i) {
    EXPECT_TRUE(ledger->ShouldProcess("a"));
    EXPECT_FALSE(ledger->RecordFailure("a", Error()));
  }
  EXPECT_FALSE(ledger->RecordFailure("b", Error()));
  EXPECT_EQ(ledger->num_parked(), 0u);
  EXPECT_TRUE(ledger->ShouldProcess("a"));
  EXPECT_TRUE(ledger->RecordFailure("a", Error()));
  EXPECT_THAT(Parked(*ledger), ElementsAre("a"));
  EXPECT_EQ(ledger->num_parked(), 1u);
}

TEST_F(FailureLedgerTest, ParksAnItemAtAFailureSomeTimeAfterTheFirst) {
  FailureLedgerOptions options;
  options.clock = &clock_;
  options.max_failing_time = absl::Minutes(1);
  const auto ledger = New(options);
  EXPECT_FALSE(ledger->RecordFailure("a", Error()));
  clock_.Step(absl::Minutes(1) - absl::Nanoseconds(1));
  EXPECT_FALSE(ledger->RecordFailure("a", Error()));
  EXPECT_FALSE(ledger->RecordFailure("b", Error()));
  clock_.Step(absl::Nanoseconds(1));
  EXPECT_EQ(ledger->num_parked(), 0u) << "the time alone parks nothing";
  EXPECT_FALSE(ledger->RecordFailure("b", Error()));
  EXPECT_TRUE(ledger->RecordFailure("a", Error()));
}

TEST_F(FailureLedgerTest, ToleratesAClockThatGoesBack) {
  FailureLedgerOptions options;
  options.clock = &clock_;
  options.max_failing_time = absl::Minutes(1);
  const auto ledger = New(options);
  EXPECT_FALSE(ledger->RecordFailure("a", Error()));
  clock_.Step(-absl::Hours(1));
  EXPECT_FALSE(ledger->RecordFailure("a", Error()));
  clock_.Step(absl::Hours(1) + absl::Minutes(1));
  EXPECT_TRUE(ledger->RecordFailure("a", Error()));
}

TEST_F(FailureLedgerTest, OfTwoLimitsTheFirstCounts) {
  FailureLedgerOptions options = AtFailure(2);
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

TEST_F(FailureLedgerTest, ASuccessStartsTheFailuresAnew) {
  FailureLedgerOptions options = AtFailure(2);
  options.max_failing_time = absl::Minutes(1);
  const auto ledger = New(options);
  EXPECT_FALSE(ledger->RecordFailure("a", Error()));
  clock_.Step(absl::Hours(1));
  ledger->Forget("a");
  EXPECT_FALSE(ledger->RecordFailure("a", Error()));
  ledger->Forget("b");
  EXPECT_TRUE(ledger->RecordFailure("a", Error()));
}

// -----------------------------------------------------------------------------
// The list of parked items
// -----------------------------------------------------------------------------

TEST_F(FailureLedgerTest, TellsParkedItems) {
  const auto ledger = New(AtFailure(2));
  ledger->RecordFailure("a", absl::InternalError("one"));
  clock_.Step(absl::Seconds(1));
  ledger->RecordFailure("b", absl::InternalError("one"));
  ledger->RecordFailure("b", absl::AbortedError("two"));
  EXPECT_FALSE(ledger->Find("a")->parked);
  EXPECT_EQ(ledger->Find("a")->last_error, "INTERNAL: one");
  clock_.Step(absl::Seconds(1));
  ledger->RecordFailure("a", absl::NotFoundError("two"));
  EXPECT_FALSE(ledger->Find("c").has_value());

  const auto items = ledger->Parked(10);
  ASSERT_THAT(items, SizeIs(2));
  EXPECT_EQ(items[0].item, "a");
  EXPECT_EQ(items[0].failures, 2);
  EXPECT_EQ(items[0].last_error, "NOT_FOUND: two");
  EXPECT_EQ(items[0].first_failed_at, start_);
  EXPECT_EQ(items[0].last_failed_at, start_ + absl::Seconds(2));
  EXPECT_EQ(items[1].item, "b");
  EXPECT_EQ(ledger->Find("b")->last_error, "ABORTED: two");
  EXPECT_EQ(ledger->Find("b")->first_failed_at, start_ + absl::Seconds(1));

  ASSERT_THAT(ledger->Parked(1), SizeIs(1));
  EXPECT_EQ(ledger->Parked(1)[0].item, "a");
  EXPECT_THAT(ledger->Parked(0), IsEmpty());
}

TEST_F(FailureLedgerTest, AnErrorIsOneShortPrintableLine) {
  const auto ledger = New(AtFailure(1));
  ledger->RecordFailure("a",
                        absl::DataLossError("\n\033" + std::string(9999, 'x')));
  const std::string error = ledger->Find("a")->last_error;
  EXPECT_EQ(error.substr(0, 20), "DATA_LOSS: \\n\\033xxx");
  EXPECT_LT(error.size(), 300u);
}

TEST_F(FailureLedgerTest, AFailureOfAParkedItemChangesNothing) {
  const auto ledger = New(AtFailure(1));
  EXPECT_TRUE(ledger->RecordFailure("a", Error()));
  EXPECT_TRUE(ledger->RecordFailure("a", absl::InternalError("other")));
  EXPECT_EQ(ledger->Find("a")->failures, 1);
  EXPECT_EQ(ledger->Find("a")->last_error, "UNAVAILABLE: down");
  EXPECT_EQ(ledger->num_parked(), 1u);
}

// -----------------------------------------------------------------------------
// How an item is put back
// -----------------------------------------------------------------------------

TEST_F(FailureLedgerTest, AnAdditionPutsAnItemBack) {
  const auto ledger = New(AtFailure(2));
  ledger->RecordFailure("a", Error());
  ASSERT_TRUE(ledger->RecordFailure("a", Error()));
  EXPECT_TRUE(ledger->ShouldProcess("a"));
  EXPECT_EQ(ledger->num_parked(), 0u);
  EXPECT_FALSE(ledger->RecordFailure("a", Error())) << "it has failed once";
  EXPECT_TRUE(ledger->RecordFailure("a", Error()));
}

TEST_F(FailureLedgerTest, AnAdditionDoesNotIfTheOptionSaysSo) {
  FailureLedgerOptions options = AtFailure(1);
  options.unpark_on_add = false;
  const auto ledger = New(options);
  ASSERT_TRUE(ledger->RecordFailure("a", Error()));
  EXPECT_FALSE(ledger->ShouldProcess("a"));
  EXPECT_FALSE(ledger->ShouldProcess("a"));
  EXPECT_TRUE(ledger->ShouldProcess("b"));
  EXPECT_THAT(Parked(*ledger), ElementsAre("a"));
}

TEST_F(FailureLedgerTest, ForgetLeavesAnItemParked) {
  const auto ledger = New(AtFailure(1));
  ledger->RecordFailure("a", Error());
  ledger->Forget("a");
  EXPECT_THAT(Parked(*ledger), ElementsAre("a"));
}

TEST_F(FailureLedgerTest, ACallPutsAnItemBack) {
  FailureLedgerOptions options = AtFailure(2);
  options.unpark_on_add = false;
  const auto ledger = New(options);
  Queue<std::string> queue;
  ledger->RecordFailure("a", Error());
  EXPECT_FALSE(ledger->Unpark("a", &queue)) << "it is not parked";
  ledger->RecordFailure("a", Error());
  EXPECT_TRUE(ledger->Unpark("a", &queue));
  EXPECT_FALSE(ledger->Unpark("a", &queue));
  EXPECT_EQ(queue.Len(), 1u);
  EXPECT_EQ(queue.Get(), "a");
  EXPECT_TRUE(ledger->ShouldProcess("a"));
  EXPECT_FALSE(ledger->RecordFailure("a", Error())) << "it has failed once";
}

TEST_F(FailureLedgerTest, ACallPutsAllItemsBackInTheirOrder) {
  const auto ledger = New(AtFailure(1));
  for (const char* item : {"a", "b", "c"}) ledger->RecordFailure(item, Error());
  Queue<std::string> queue;
  EXPECT_EQ(ledger->UnparkAll(&queue), 3u);
  EXPECT_EQ(ledger->num_parked(), 0u);
  EXPECT_EQ(ledger->UnparkAll(&queue), 0u);
  for (const char* item : {"a", "b", "c"}) EXPECT_EQ(queue.Get(), item);
}

TEST_F(FailureLedgerTest, AnItemThatTheQueueRefusesStaysParked) {
  FailureLedgerOptions options = AtFailure(1);
  options.unpark_on_add = false;
  const auto ledger = New(options);
  for (const char* item : {"a", "b"}) ledger->RecordFailure(item, Error());
  Queue<std::string> queue;
  queue.ShutDown();
  EXPECT_FALSE(ledger->Unpark("a", &queue));
  EXPECT_EQ(ledger->UnparkAll(&queue), 0u);
  EXPECT_THAT(Parked(*ledger), ElementsAre("b", "a"));
  EXPECT_FALSE(ledger->ShouldProcess("a"));
}

// A worker gets the item before Unpark() returns.
TEST_F(FailureLedgerTest, AWorkerMayGetTheItemWhileItIsPutBack) {
  for (const bool taken : {true, false}) {
    for (const bool fails : {true, false}) {
      SCOPED_TRACE(absl::StrCat(taken, " ", fails));
      FailureLedgerOptions options = AtFailure(1);
      options.unpark_on_add = false;
      const auto ledger = New(options);
      ledger->RecordFailure("a", Error());
      HookedQueue<std::string> queue([&](const std::string& item) {
        EXPECT_FALSE(ledger->Unpark(item, &queue)) << "another call does so";
        EXPECT_TRUE(ledger->ShouldProcess(item));
        if (fails) {
          EXPECT_TRUE(ledger->RecordFailure(item, Error()));
        }
        return taken;
      });
      EXPECT_TRUE(ledger->Unpark("a", &queue));
      EXPECT_EQ(ledger->num_parked(), fails ? 1u : 0u);
      EXPECT_EQ(ledger->ShouldProcess("a"), !fails);
    }
  }
}

TEST_F(FailureLedgerTest, OtherItemsMayBePutBackMeanwhile) {
  constexpr int kItems = 10000;
  auto ledger = *FailureLedger<int>::Create(AtFailure(1));
  for (int i = 0; i < kItems; ++i) ledger->RecordFailure(i, Error());
  // Entries move in memory, which must not confuse the call in progress.
  bool done = false;
  HookedQueue<int> queue([&](int item) {
    if (item != kItems - 1 || std::exchange(done, true)) return true;
    for (int i = 0; i < kItems - 2; ++i) EXPECT_TRUE(ledger->ShouldProcess(i));
    return false;
  });
  EXPECT_FALSE(ledger->Unpark(kItems - 1, &queue));
  const auto parked = ledger->Parked(10);
  ASSERT_THAT(parked, SizeIs(2));
  EXPECT_EQ(parked[0].item, kItems - 1);
  EXPECT_EQ(parked[1].item, kItems - 2);
  EXPECT_TRUE(ledger->Unpark(kItems - 1, &queue));
  EXPECT_TRUE(ledger->Unpark(kItems - 2, &queue));
  EXPECT_EQ(ledger->num_parked(), 0u);
}

// -----------------------------------------------------------------------------
// The bound
// -----------------------------------------------------------------------------

TEST_F(FailureLedgerTest, AFullLedgerLeavesItemsToBeRetried) {
  FailureLedgerOptions options = AtFailure(1);
  options.max_parked = 2;
  const auto ledger = New(options);
  EXPECT_TRUE(ledger->RecordFailure("a", Error()));
  EXPECT_TRUE(ledger->RecordFailure("b", Error()));
  EXPECT_EQ(ledger->num_refused(), 0);
  EXPECT_FALSE(ledger->RecordFailure("c", Error()));
  EXPECT_FALSE(ledger->RecordFailure("c", Error()));
  EXPECT_EQ(ledger->num_refused(), 2);
  EXPECT_TRUE(ledger->RecordFailure("a", Error())) << "it is parked already";
  EXPECT_EQ(ledger->num_parked(), 2u);
  EXPECT_TRUE(ledger->ShouldProcess("a"));
  EXPECT_TRUE(ledger->RecordFailure("c", Error())) << "there is a place now";
  EXPECT_EQ(ledger->Find("c")->failures, 3);
  EXPECT_EQ(ledger->num_refused(), 2);
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

TEST_F(FailureLedgerTest, ReportsToMetrics) {
  for (const bool throws : {false, true}) {
    std::atomic<int> parked{0};
    std::atomic<int> total{0};
    FailureLedgerMetrics metrics;
    metrics.parked = std::make_unique<Number>(&parked, throws);
    metrics.parked_total = std::make_unique<Number>(&total, throws);
    FailureLedgerOptions options = AtFailure(1);
    options.max_parked = 2;
    const auto ledger = *Ledger::Create(options, std::move(metrics));
    for (const char* item : {"a", "b", "c", "a"}) {
      ledger->RecordFailure(item, Error());
    }
    EXPECT_EQ(parked, 2);
    EXPECT_EQ(total, 2);
    EXPECT_TRUE(ledger->ShouldProcess("a"));
    EXPECT_EQ(parked, 1);
    Queue<std::string> queue;
    EXPECT_TRUE(ledger->Unpark("b", &queue));
    EXPECT_EQ(parked, 0);
    ledger->RecordFailure("a", Error());
    HookedQueue<std::string> refuses([](const std::string&) { return false; });
    EXPECT_FALSE(ledger->Unpark("a", &refuses));
    EXPECT_EQ(parked, 1);
    HookedQueue<std::string> hands_out([&ledger](const std::string& item) {
      return ledger->ShouldProcess(item);
    });
    EXPECT_TRUE(ledger->Unpark("a", &hands_out));
    EXPECT_EQ(parked, 0);
    EXPECT_EQ(total, 3);
  }
}

// -----------------------------------------------------------------------------
// Options
// -----------------------------------------------------------------------------

TEST_F(FailureLedgerTest, RefusesBadOptions) {
  const auto error = [this](std::function<void(FailureLedgerOptions&)> change) {
    FailureLedgerOptions options = AtFailure(1);
    change(options);
    return Ledger::Create(options).status();
  };
  EXPECT_THAT(error([](auto& options) { options.max_failures = 0; }),
              IsInvalidArgument("max_failures", "0"));
  EXPECT_THAT(error([](auto& options) { options.max_failures = -3; }),
              IsInvalidArgument("max_failures", "-3"));
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

TEST_F(FailureLedgerTest, AcceptsExtremeOptions) {
  FailureLedgerOptions options = AtFailure(std::numeric_limits<int>::max());
  options.max_parked = std::numeric_limits<size_t>::max();
  options.max_failing_time = absl::Nanoseconds(1);
  const auto ledger = New(options);
  EXPECT_FALSE(ledger->RecordFailure("a", Error()));
  clock_.Step(absl::Nanoseconds(1));
  EXPECT_TRUE(ledger->RecordFailure("a", Error()));
  EXPECT_THAT(ledger->Parked(std::numeric_limits<size_t>::max()), SizeIs(1));
}

// -----------------------------------------------------------------------------
// Items
// -----------------------------------------------------------------------------

using FragileLedger = FailureLedger<FragileKey, FragileHash, FragileEq>;
using FragileQueue = Queue<FragileKey, FragileHash, FragileEq>;

TEST_F(FailureLedgerTest, ItemsNeedOnlyBeCopyable) {
  const auto ledger = *FragileLedger::Create(AtFailure(1));
  for (int i = 0; i < 5; ++i) ledger->RecordFailure(FragileKey(i), Error());
  EXPECT_TRUE(ledger->ShouldProcess(FragileKey(2)));
  EXPECT_EQ(ledger->Parked(10)[0].item.value(), 4);
  EXPECT_EQ(ledger->Find(FragileKey(3))->item.value(), 3);
  FragileQueue queue;
  EXPECT_EQ(ledger->UnparkAll(&queue), 4u);
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_F(FailureLedgerTest, NothingChangesIfAnItemThrows) {
  FailureLedgerOptions options = AtFailure(2);
  options.unpark_on_add = false;
  // Keys of equal hashes are compared: 1 and 3 are parked, and 5 has failed.
  const std::function<void(FragileLedger&)> calls[] = {
      [](FragileLedger& ledger) {
        ledger.RecordFailure(FragileKey(5), Error());
      },
      [](FragileLedger& ledger) {
        ledger.RecordFailure(FragileKey(7), Error());
      },
      [](FragileLedger& ledger) { ledger.Forget(FragileKey(5)); },
      [](FragileLedger& ledger) { ledger.ShouldProcess(FragileKey(3)); },
      [](FragileLedger& ledger) { ledger.Find(FragileKey(1)); },
      [](FragileLedger& ledger) { ledger.Parked(10); },
  };
  for (const auto& call : calls) {
    int blown = 0;
    for (const FragileOp op : kFragileOps) {
      for (int n = 1;; ++n) {
        ASSERT_LT(n, 100);
        const auto ledger = *FragileLedger::Create(options);
        for (int i : {1, 1, 3, 3, 5})
          ledger->RecordFailure(FragileKey(i), Error());
        Fuse::Arm(op, n);
        const bool threw = Blows([&] { call(*ledger); });
        Fuse::Disarm();
        if (!threw) break;
        ++blown;
        EXPECT_EQ(ledger->num_parked(), 2u);
        EXPECT_FALSE(ledger->ShouldProcess(FragileKey(3)));
        EXPECT_FALSE(ledger->RecordFailure(FragileKey(7), Error()));
        EXPECT_TRUE(ledger->RecordFailure(FragileKey(5), Error()));
      }
    }
    EXPECT_GE(blown, 1);
  }
}

TEST_F(FailureLedgerTest, AnItemWhoseUnparkThrowsStaysParked) {
  FailureLedgerOptions options = AtFailure(1);
  options.unpark_on_add = false;
  for (const FragileOp op : kFragileOps) {
    for (int n = 1;; ++n) {
      SCOPED_TRACE(n);
      ASSERT_LT(n, 100);
      const auto ledger = *FragileLedger::Create(options);
      for (int i : {1, 3, 5}) ledger->RecordFailure(FragileKey(i), Error());
      FragileQueue queue;
      queue.Add(FragileKey(7));
      Fuse::Arm(op, n);
      const bool threw =
          Blows([&] { EXPECT_TRUE(ledger->Unpark(FragileKey(3), &queue)); });
      Fuse::Disarm();
      EXPECT_EQ(ledger->num_parked(), threw ? 3u : 2u);
      EXPECT_EQ(queue.Len(), threw ? 1u : 2u);
      EXPECT_EQ(ledger->ShouldProcess(FragileKey(3)), !threw);
      if (!threw) break;
    }
  }
}

TEST_F(FailureLedgerTest, AnItemStaysParkedIfTheQueueThrows) {
  const auto ledger = New(AtFailure(1));
  for (const char* item : {"a", "b", "c"}) ledger->RecordFailure(item, Error());
  HookedQueue<std::string> queue([](const std::string& item) {
    if (item == "b") throw std::runtime_error("queue");
    return true;
  });
  EXPECT_THROW(ledger->Unpark("b", &queue), std::runtime_error);
  EXPECT_EQ(ledger->num_parked(), 3u);
  EXPECT_THROW(ledger->UnparkAll(&queue), std::runtime_error);
  EXPECT_THAT(Parked(*ledger), ElementsAre("c", "b"));
}

#endif  // ABSL_HAVE_EXCEPTIONS

// -----------------------------------------------------------------------------
// Threads
// -----------------------------------------------------------------------------

// Workers that always fail, and a thread that puts items back. No item is lost:
// in the end, all are parked.
TEST_F(FailureLedgerTest, WorkersAndCallsShareALedger) {
  constexpr int kItems = 20;
  constexpr int kCalls = 2000;
  FailureLedgerOptions options = AtFailure(2);
  options.unpark_on_add = false;
  const auto ledger = *FailureLedger<int>::Create(options);
  Queue<int> queue;
  for (int i = 0; i < kItems; ++i) queue.Add(i);
  std::atomic<bool> ends{false};
  absl::Notification all_parked;
  std::vector<Thread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&] {
      Lease<int> lease;
      while (queue.AcquireNext(&lease).ok()) {
        if (ledger->ShouldProcess(*lease) &&
            !ledger->RecordFailure(*lease, Error())) {
          queue.Add(*lease);
        }
        if (ledger->num_parked() == kItems && ends.exchange(false))
          all_parked.Notify();
      }
    });
  }
  for (int i = 0; i < kCalls; ++i) {
    ledger->Unpark(i % kItems, &queue);
    if (i % 10 == 0) ledger->UnparkAll(&queue);
    EXPECT_LE(ledger->Parked(1000).size(), size_t{kItems});
  }
  ends = true;
  queue.Add(0);  // so that a worker looks once more
  all_parked.WaitForNotification();
  queue.ShutDown();
  for (Thread& worker : workers) worker.join();
  EXPECT_EQ(ledger->Parked(1000).size(), size_t{kItems});
}

TEST_F(FailureLedgerTest, WithoutALimitNothingIsParked) {
  const auto ledger = New({});
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(ledger->RecordFailure("a", Error()));
    EXPECT_TRUE(ledger->ShouldProcess("a"));
  }
  EXPECT_EQ(ledger->num_failing(), 1u);
  EXPECT_EQ(ledger->num_parked(), 0u);
}

TEST_F(FailureLedgerTest, TheMostFailuresComeFirstAndThenTheOldestOnes) {
  FailureLedgerOptions options;
  options.clock = &clock_;
  const auto ledger = New(options);
  for (const char* item : {"a", "b", "c", "b", "a", "d"}) {
    ledger->RecordFailure(item, absl::NotFoundError(item));
    clock_.Step(absl::Seconds(1));
  }
  const auto first = ledger->Failing(3);
  ASSERT_THAT(first, SizeIs(3));
  EXPECT_EQ(first[0].item, "a");
  EXPECT_EQ(first[0].failures, 2);
  EXPECT_EQ(first[0].last_error, "NOT_FOUND: a");
  EXPECT_EQ(first[0].first_failed_at, start_);
  EXPECT_EQ(first[0].last_failed_at, start_ + absl::Seconds(4));
  EXPECT_EQ(first[1].item, "b");
  EXPECT_EQ(first[2].item, "c");
  EXPECT_THAT(ledger->Failing(0), IsEmpty());
  EXPECT_THAT(ledger->Failing(100), SizeIs(4));
}

TEST_F(FailureLedgerTest, WithoutALimitKnowsTheItemsThatFailedLast) {
  const auto ledger = *FailureLedger<int>::Create({});
  constexpr int kMax = FailureLedger<int>::kMaxFailing;
  for (int i = 0; i < kMax; ++i) ledger->RecordFailure(i, Error());
  ledger->RecordFailure(0, Error());
  ledger->RecordFailure(kMax, Error());
  EXPECT_EQ(ledger->num_failing(), size_t{kMax});
  EXPECT_EQ(ledger->Find(0)->failures, 2);
  EXPECT_FALSE(ledger->Find(1).has_value());
  EXPECT_TRUE(ledger->Find(2).has_value());
}

TEST_F(FailureLedgerTest, WithALimitKnowsAllItemsThatFail) {
  FailureLedgerOptions options;
  options.max_failures = 2;
  const auto ledger = *FailureLedger<int>::Create(options);
  constexpr int kItems = 2 * FailureLedger<int>::kMaxFailing;
  for (int i = 0; i < kItems; ++i) ledger->RecordFailure(i, Error());
  EXPECT_EQ(ledger->num_failing(), size_t{kItems});
  EXPECT_TRUE(ledger->RecordFailure(0, Error()));
}

}  // namespace
}  // namespace workqueue::failure_ledger_test
