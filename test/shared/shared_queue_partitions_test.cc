// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests a `SharedQueue` of several partitions, all in one server.

#include <algorithm>
#include <chrono>  // NOLINT(build/c++11)
#include <cstddef>
#include <cstdint>
#include <future>  // NOLINT(build/c++11)
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/redis_server.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/shared/internal/queue_keys.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/snapshot.h"
#include "workqueue/testing/thread.h"

namespace workqueue::shared_queue_partitions_test {
namespace {

using ::testing::UnorderedElementsAre;

using Queue = SharedQueue<std::string>;
using Options = SharedQueueOptions<std::string>;

constexpr size_t kPartitions = 4;
constexpr absl::Duration kLease = absl::Seconds(30);

// Returns number `i` of the items in `partition`.
std::string ItemIn(size_t partition, int i = 0) {
  for (int n = 0;; ++n) {
    std::string item = absl::StrCat("item ", n);
    if (internal::PartitionOf(item, kPartitions) == partition && i-- == 0) {
      return item;
    }
  }
}

class SharedQueuePartitionsTest : public testing::Test {
 protected:
  Options MakeOptions() {
    Options options = NewSharedQueueOptions<std::string>(&clock_);
    options.name = name_;
    options.partitions = kPartitions;
    options.lease = kLease;
    return options;
  }

  std::unique_ptr<Queue> NewClient() { return NewSharedQueue(MakeOptions()); }

  // Writes a field of the counters of a partition.
  void Write(absl::string_view field, absl::string_view value,
             size_t partition = 0) {
    const auto reply =
        SendTo(ServerOfThisProgram(),
               {"HSET",
                absl::StrCat(
                    "{", internal::PartitionName(name_, partition, kPartitions),
                    "}:workqueue"),
                field, value});
    ASSERT_TRUE(reply.ok()) << reply.status();
  }

  FakeClock clock_;
  const std::string name_ = NewQueueName();
  std::unique_ptr<Queue> a_ = NewClient();
  std::unique_ptr<Queue> b_ = NewClient();
};

TEST_F(SharedQueuePartitionsTest, AnItemIsTheSameForAllClients) {
  for (size_t p = 0; p < kPartitions; ++p) {
    const std::string x = ItemIn(p);
    EXPECT_TRUE(a_->Add(x));
    EXPECT_TRUE(b_->Add(x));
    EXPECT_EQ(a_->Len(), 1u);
    EXPECT_EQ(b_->Get(), x);
    EXPECT_TRUE(a_->Add(x)) << "while it is being processed elsewhere";
    EXPECT_TRUE(absl::IsDeadlineExceeded(a_->TryGet().status()));
    EXPECT_TRUE(b_->Done(x));
    EXPECT_EQ(a_->Get(), x) << "again, after that";
    EXPECT_FALSE(b_->Done(x));
    EXPECT_TRUE(a_->Done(x));
    EXPECT_EQ(a_->Len(), 0u);
  }
}

TEST_F(SharedQueuePartitionsTest, AKeyHasOneHolderInAProcess) {
  const std::string x = ItemIn(0), y = ItemIn(1);
  ASSERT_TRUE(a_->Add(x));
  Lease<std::string> first = *a_->Acquire();
  InlineExecutor executor;
  std::promise<Lease<std::string>> others[2];
  for (auto& other : others) {
    a_->AcquireAsync(&executor, [&](absl::StatusOr<Lease<std::string>> lease) {
      other.set_value(lease.ok() ? *std::move(lease) : Lease<std::string>());
    });
  }
  clock_.Step(kLease);
  EXPECT_TRUE(first.lost());
  EXPECT_EQ(b_->Len(), 0u);  // The engine sees that it is lost.
  while (b_->TakeSnapshotOf(x)->processing.empty()) clock_.Step(kLease / 30);
  ASSERT_TRUE(a_->Add(y));
  Lease<std::string> second = others[0].get_future().get();
  ASSERT_TRUE(second);
  EXPECT_EQ(*second, y) << "x is held back";
  EXPECT_FALSE(first.Done()) << "too late";
  Lease<std::string> third = others[1].get_future().get();
  ASSERT_TRUE(third);
  EXPECT_EQ(*third, x);
  EXPECT_TRUE(third.Done());
}

// Its caller would ask again at once.
TEST_F(SharedQueuePartitionsTest, AWorkerPausesIfAllPartitionsRefuse) {
  for (size_t p = 0; p < kPartitions; ++p) Write("version", "99", p);
  for (int i = 0; i < 2; ++i) {
    auto got = Async([this] { return a_->Acquire().status(); });
    EXPECT_EQ(got.wait_for(std::chrono::milliseconds(20)),
              std::future_status::timeout);
    while (got.wait_for(std::chrono::milliseconds(1)) !=
           std::future_status::ready) {
      clock_.Step(absl::Milliseconds(100));
    }
    EXPECT_EQ(got.get().code(), absl::StatusCode::kFailedPrecondition);
  }
}

TEST_F(SharedQueuePartitionsTest, FindAsksThePartitionOfTheItem) {
  Write("version", "99", /*partition=*/1);
  EXPECT_EQ(a_->Find(ItemIn(0)).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(a_->Find(ItemIn(1)).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(SharedQueuePartitionsTest, WorkersTakeFromThePartitionsInTurn) {
  for (int i = 0; i < 100; ++i) a_->Add(ItemIn(0, i));
  for (int i = 0; i < 3; ++i) a_->Add(ItemIn(2, i));
  // One of the four partitions has its turn with each item, and the empty ones
  // leave theirs to the next.
  std::vector<std::string> of_2;
  for (int i = 0; i < 12; ++i) {
    const std::string item = *a_->Get();
    if (internal::PartitionOf(item, kPartitions) == 2) of_2.push_back(item);
    a_->Done(item);
  }
  EXPECT_EQ(of_2, (std::vector<std::string>{ItemIn(2, 0), ItemIn(2, 1),
                                            ItemIn(2, 2)}));
}

TEST_F(SharedQueuePartitionsTest, AnyPartitionServesAWorkerThatWaits) {
  for (size_t i = 0; i < 100; ++i) {
    auto got = Async([this] { return b_->Get(); });
    const std::string x = ItemIn(i % kPartitions);
    EXPECT_TRUE(a_->Add(x));
    EXPECT_EQ(got.get(), x);
    EXPECT_TRUE(b_->Done(x));
  }
}

// Two partitions may both send an item to the only worker that waits.
TEST_F(SharedQueuePartitionsTest, AnItemTooManyGoesToAnotherClient) {
  for (int i = 0; i < 100; ++i) {
    auto got = Async([this] { return b_->Get(); });
    EXPECT_TRUE(a_->AddAll({ItemIn(0), ItemIn(1), ItemIn(2), ItemIn(3)}));
    std::set<std::string> all = {*got.get()};
    for (int n = 0; n < 3; ++n) all.insert(*a_->Get());
    EXPECT_EQ(all.size(), 4u);
    for (const std::string& item : all) {
      EXPECT_NE(a_->Done(item), b_->Done(item)) << "one of them has it";
    }
  }
}

TEST_F(SharedQueuePartitionsTest, SeveralWorkersOfAClientGetAnItemEach) {
  for (int i = 0; i < 100; ++i) {
    std::vector<std::future<std::string>> got;
    for (int n = 0; n < 3; ++n) {
      got.push_back(Async([this] { return *b_->Get(); }));
    }
    EXPECT_TRUE(a_->AddAll({ItemIn(0), ItemIn(1), ItemIn(1, 1)}));
    std::set<std::string> all;
    for (auto& item : got) all.insert(item.get());
    EXPECT_EQ(all.size(), 3u);
    for (const std::string& item : all) EXPECT_TRUE(b_->Done(item));
  }
}

TEST_F(SharedQueuePartitionsTest, AWorkerThatWaitsInVainLeavesNothingBehind) {
  auto got = Async([this] { return b_->GetWithTimeout(absl::Seconds(5)); });
  clock_.AwaitWaiters(2 * (kPartitions + 1) + 1);  // loops and the worker
  clock_.Step(absl::Seconds(5));
  EXPECT_TRUE(absl::IsDeadlineExceeded(got.get().status()));
  for (size_t p = 0; p < kPartitions; ++p) {
    EXPECT_TRUE(a_->Add(ItemIn(p)));
    EXPECT_EQ(a_->Get(), ItemIn(p)) << "nobody waits for it in b";
  }
}

TEST_F(SharedQueuePartitionsTest, AShutDownReachesAllWorkers) {
  auto thread = Async([this] { return b_->Get(); });
  InlineExecutor executor;
  std::promise<absl::Status> callback;
  b_->AcquireAsync(&executor, [&](absl::StatusOr<Lease<std::string>> lease) {
    callback.set_value(lease.status());
  });
  a_->ShutDown();
  EXPECT_EQ(thread.get(), std::nullopt);
  EXPECT_TRUE(absl::IsCancelled(callback.get_future().get()));
  EXPECT_FALSE(b_->Add("x"));
  EXPECT_TRUE(b_->ShuttingDown());

  EXPECT_TRUE(a_->Reopen().ok());
  EXPECT_TRUE(b_->Add(ItemIn(1)));
  EXPECT_EQ(a_->Get(), ItemIn(1));
}

TEST_F(SharedQueuePartitionsTest, ADrainWaitsForAllPartitions) {
  for (size_t p = 0; p < kPartitions; ++p) a_->Add(ItemIn(p));
  auto drained =
      Async([this] { return a_->ShutDownWithDrainWithin(absl::Seconds(100)); });
  Lease<std::string> lease;
  size_t items = 0;
  while (b_->AcquireNext(&lease).ok()) ++items;
  EXPECT_EQ(items, kPartitions);
  EXPECT_TRUE(drained.get());
}

TEST_F(SharedQueuePartitionsTest, AShutDownEndsADrain) {
  for (size_t p = 0; p < kPartitions; ++p) a_->Add(ItemIn(p));
  auto drained = Async(
      [this] { return a_->ShutDownWithDrainWithin(absl::InfiniteDuration()); });
  while (!b_->ShuttingDown()) b_->Len();
  clock_.AwaitWaiters(2 * (kPartitions + 1) + 1);  // loops and the drain
  b_->ShutDown();
  EXPECT_FALSE(drained.get());
}

// A shutdown may have failed for some partitions.
TEST_F(SharedQueuePartitionsTest, AWorkerAsksAPartitionAgainThatWasShutDown) {
  Write("state", "1");
  auto got = Async([this] { return b_->Get(); });
  EXPECT_TRUE(a_->Add(ItemIn(1)));
  EXPECT_EQ(got.get(), ItemIn(1)) << "that partition is open";
  got = Async([this] { return b_->Get(); });
  clock_.AwaitWaiters(2 * (kPartitions + 1) + 1);  // loops and the worker
  Write("state", "0");
  std::future_status waits;
  EXPECT_TRUE(a_->Add(ItemIn(0)));
  do {
    clock_.Step(absl::Milliseconds(500));
    waits = got.wait_for(std::chrono::milliseconds(1));
  } while (waits != std::future_status::ready);
  EXPECT_EQ(got.get(), ItemIn(0));
}

TEST_F(SharedQueuePartitionsTest, ServesCallbacks) {
  InlineExecutor executor;
  for (size_t i = 0; i < 40; ++i) {
    std::promise<absl::StatusOr<Lease<std::string>>> got;
    b_->AcquireAsync(&executor, [&](absl::StatusOr<Lease<std::string>> lease) {
      got.set_value(std::move(lease));
    });
    const std::string x = ItemIn(i % kPartitions);
    a_->Add(x);
    absl::StatusOr<Lease<std::string>> lease = got.get_future().get();
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_EQ(**lease, x);
    EXPECT_TRUE(lease->Done());
  }
}

TEST_F(SharedQueuePartitionsTest, ACancelledCallbackTakesNothing) {
  InlineExecutor executor;
  for (size_t i = 0; i < 40; ++i) {
    const AcquireId id = b_->AcquireAsync(
        &executor, [](const absl::StatusOr<Lease<std::string>>&) { FAIL(); });
    EXPECT_TRUE(b_->CancelAcquire(id));
    EXPECT_FALSE(b_->CancelAcquire(id));
    const std::string x = ItemIn(i % kPartitions);
    a_->Add(x);
    EXPECT_EQ(a_->Get(), x);
    a_->Done(x);
  }
}

TEST_F(SharedQueuePartitionsTest, TheEndOfAClientEndsItsCallbacks) {
  InlineExecutor executor;
  absl::Status status;
  b_->AcquireAsync(&executor,
                   [&](const absl::StatusOr<Lease<std::string>>& lease) {
                     status = lease.status();
                   });
  b_.reset();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
}

TEST_F(SharedQueuePartitionsTest, ALeaseExpiresInItsPartition) {
  a_->Add(ItemIn(3));
  absl::StatusOr<Lease<std::string>> lease = a_->TryAcquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  const int64_t token = lease->token();
  EXPECT_TRUE(lease->GiveBack());
  lease = b_->TryAcquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(**lease, ItemIn(3));
  EXPECT_GT(lease->token(), token);
  EXPECT_FALSE(lease->lost());
  clock_.Step(kLease);
  EXPECT_TRUE(lease->lost());
}

// The parts are merged by time.
TEST_F(SharedQueuePartitionsTest, ABoundedSnapshotHasTheFirstItems) {
  for (int i = 0; i < 12; ++i) {
    EXPECT_TRUE(a_->Add(absl::StrCat("queued ", i)));
    clock_.Step(absl::Seconds(1));
  }
  for (int i = 0; i < 12; ++i) {
    EXPECT_TRUE(a_->AddAfter(absl::StrCat("waiting ", i),
                             absl::Hours(1) - absl::Seconds(i)));
  }
  std::vector<std::string> processing;
  for (int i = 0; i < 4; ++i) {
    processing.push_back(*b_->Get());
    clock_.Step(absl::Seconds(1));
  }
  const Snapshot<std::string> all = *a_->TakeSnapshot();
  ASSERT_EQ(all.queued.size(), 8u);
  ASSERT_EQ(all.processing.size(), 4u);
  ASSERT_EQ(all.waiting.size(), 12u);
  for (size_t max = 0; max < 14; ++max) {
    const Snapshot<std::string> some = *a_->TakeSnapshotUpTo(max);
    EXPECT_EQ(some.num_queued, 8u);
    EXPECT_EQ(some.num_processing, 4u);
    EXPECT_EQ(some.num_waiting, 12u);
    ASSERT_EQ(some.queued.size(), std::min<size_t>(max, 8));
    ASSERT_EQ(some.processing.size(), std::min<size_t>(max, 4));
    ASSERT_EQ(some.waiting.size(), std::min<size_t>(max, 12));
    for (size_t i = 0; i < some.queued.size(); ++i) {
      EXPECT_EQ(some.queued[i].item, all.queued[i].item);
      if (i > 0) {
        EXPECT_LT(some.queued[i - 1].since, some.queued[i].since);
      }
    }
    for (size_t i = 0; i < some.processing.size(); ++i) {
      EXPECT_EQ(some.processing[i].item, processing[i]);
    }
    for (size_t i = 0; i < some.waiting.size(); ++i) {
      EXPECT_EQ(some.waiting[i].item, absl::StrCat("waiting ", 11 - i));
    }
  }
  for (const std::string& item : processing) EXPECT_TRUE(b_->Done(item));
}

TEST_F(SharedQueuePartitionsTest, HasAllCallsForItems) {
  const std::string x = ItemIn(1);
  const std::string y = ItemIn(2);
  const std::string z = ItemIn(3);
  EXPECT_TRUE(a_->AddAfter(x, absl::Seconds(5)));
  EXPECT_TRUE(b_->Reschedule(x, absl::Seconds(9)));
  EXPECT_TRUE(b_->CancelDelayed(x));
  EXPECT_TRUE(a_->AddRateLimited(y));
  EXPECT_EQ(b_->NumRequeues(y), 1);
  b_->Forget(y);
  EXPECT_EQ(a_->NumRequeues(y), 0);
  EXPECT_TRUE(a_->Add(x));
  EXPECT_TRUE(a_->Add(z));
  absl::StatusOr<Lease<std::string>> lease = b_->TryAcquire();
  ASSERT_TRUE(lease.ok()) << lease.status();

  const Snapshot<std::string> snapshot = *a_->TakeSnapshot();
  ASSERT_EQ(snapshot.queued.size(), 1u);
  ASSERT_EQ(snapshot.processing.size(), 1u);
  EXPECT_EQ(snapshot.processing[0].item, **lease);
  ASSERT_EQ(snapshot.waiting.size(), 1u);
  const absl::StatusOr<SharedQueueCounts> counts = b_->Count();
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->queued, 1u);
  EXPECT_EQ(counts->processing, 1u);
  EXPECT_EQ(counts->waiting, 1u);
  EXPECT_EQ(counts->failing, 0u);
  EXPECT_EQ(snapshot.waiting[0].item, y);
  EXPECT_EQ(snapshot.waiting[0].ready_at,
            clock_.TimeNow() + absl::Milliseconds(5));
  const Snapshot<std::string> one = *a_->TakeSnapshotOf(y);
  EXPECT_EQ(one.num_queued, 1u);
  EXPECT_EQ(one.num_processing, 1u);
  EXPECT_EQ(one.num_waiting, 1u);
  EXPECT_TRUE(one.queued.empty());
  EXPECT_TRUE(one.processing.empty());
  ASSERT_EQ(one.waiting.size(), 1u);
  EXPECT_EQ(one.waiting[0].item, y);

  absl::StatusOr<LeaseBatch<std::string>> batch =
      a_->AcquireUpToWithTimeout(10, absl::ZeroDuration());
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->size(), 1u) << "the items of one partition";
  batch->Done();
  b_->Close();
  EXPECT_FALSE(b_->Add(z == **lease ? x : z)) << "closed";
  EXPECT_TRUE(b_->Add(**lease)) << "but this client has the item";
  EXPECT_TRUE(lease->Done());
  EXPECT_TRUE(b_->CloseWithDrainWithin(absl::Seconds(1)));
}

TEST_F(SharedQueuePartitionsTest, AnotherNumberOfPartitionsIsRefused) {
  for (const int partitions : {1, 2, 5}) {
    Options options = MakeOptions();
    options.partitions = partitions;
    const absl::Status status = Queue::Create(options).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(absl::StrContains(
        status.message(),
        "another number of partitions, wrote the keys: they have layout 2/4"))
        << status;
  }
  Options options = MakeOptions();
  options.name = NewQueueName();
  options.partitions = 1;
  const auto one = NewSharedQueue(options);
  options.partitions = 4;
  EXPECT_TRUE(absl::IsFailedPrecondition(Queue::Create(options).status()));
}

TEST_F(SharedQueuePartitionsTest, EachPartitionHasMetrics) {
  RecordingMetrics metrics;
  Options options = MakeOptions();
  options.metrics_provider = &metrics;
  const auto queue = NewSharedQueue(options);
  EXPECT_THAT(metrics.record(MetricKind::kAdds).names,
              UnorderedElementsAre(name_ + "/0", name_ + "/1", name_ + "/2",
                                   name_ + "/3"));
}

}  // namespace
}  // namespace workqueue::shared_queue_partitions_test
