// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/lease.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/fragile_key.h"
#include "test/workqueue/every_queue.h"
#include "test/workqueue/plain_queue.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease_batch.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue::lease_test {
namespace {

using StringLease = Lease<std::string>;

static_assert(std::is_nothrow_default_constructible<StringLease>::value, "");
static_assert(std::is_nothrow_move_constructible<StringLease>::value, "");
static_assert(std::is_nothrow_move_assignable<StringLease>::value, "");
static_assert(!std::is_copy_constructible<StringLease>::value, "");
static_assert(!std::is_copy_assignable<StringLease>::value, "");
static_assert(!std::is_convertible<StringLease, bool>::value, "");

// -----------------------------------------------------------------------------
// Every queue
// -----------------------------------------------------------------------------

class LeaseTest : public EveryQueueTest {
 protected:
  // Adds `item` and acquires it.
  StringLease AddAndAcquire(const std::string& item) {
    EXPECT_TRUE(queue_->Add(item));
    StringLease lease = *queue_->Acquire();
    EXPECT_EQ(lease ? *lease : "nothing", item);
    return lease;
  }

  // Returns whether `item` is being processed: adding it then does not queue
  // it. No other item may be queued. Leaves `item` queued or added again.
  bool IsProcessing(const std::string& item) {
    EXPECT_EQ(queue_->Len(), 0u);
    EXPECT_TRUE(queue_->Add(item));
    return queue_->Len() == 0;
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, LeaseTest, testing::ValuesIn(EveryQueueKind()),
                         NameOfQueueKind);

TEST_P(LeaseTest, RefersToTheItem) {
  queue_->Add("a");
  queue_->Add("bc");
  const StringLease a = *queue_->Acquire();
  const StringLease bc = *queue_->Acquire();
  ASSERT_TRUE(a);
  ASSERT_TRUE(bc);
  EXPECT_EQ(*a, "a");
  EXPECT_EQ(bc->size(), 2u);
  EXPECT_EQ(a.priority(), 0);
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_P(LeaseTest, EndsTheProcessingWhenItGoes) {
  { const StringLease lease = AddAndAcquire("a"); }
  EXPECT_FALSE(IsProcessing("a"));
}

TEST_P(LeaseTest, AcquireNextAcquiresAsAcquireDoes) {
  queue_->Add("a");
  StringLease lease;
  EXPECT_TRUE(queue_->AcquireNext(&lease).ok());
  ASSERT_TRUE(lease);
  EXPECT_EQ(*lease, "a");
  EXPECT_TRUE(IsProcessing("a"));
}

TEST_P(LeaseTest, AcquireNextCanGetTheSameItemAgain) {
  StringLease lease = AddAndAcquire("a");
  queue_->Add("a");
  ASSERT_TRUE(queue_->AcquireNext(&lease).ok());
  EXPECT_EQ(*lease, "a");
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_P(LeaseTest, AcquireNextEndsTheLeaseBeforeItWaits) {
  StringLease lease = AddAndAcquire("a");
  Thread worker(
      [this, &lease] { EXPECT_TRUE(queue_->AcquireNext(&lease).ok()); });
  AwaitBlocked(1);
  queue_->Add("a");  // The item is not processed any more: the worker gets it.
  worker.join();
  ASSERT_TRUE(lease);
  EXPECT_EQ(*lease, "a");
}

TEST_P(LeaseTest, AcquireNextFindsNothingAfterAShutdown) {
  StringLease lease = AddAndAcquire("a");
  queue_->Add("a");
  queue_->ShutDown();
  EXPECT_TRUE(queue_->AcquireNext(&lease).ok());
  EXPECT_FALSE(queue_->AcquireNext(&lease).ok());
  EXPECT_FALSE(lease);
  EXPECT_TRUE(queue_->ShutDownWithDrain());
}

TEST_P(LeaseTest, AcquireNextEndsALeaseOfAnotherQueue) {
  Queue<std::string> other;
  other.Add("other");
  StringLease lease = *other.Acquire();
  queue_->Add("a");
  ASSERT_TRUE(queue_->AcquireNext(&lease).ok());
  EXPECT_EQ(*lease, "a");
  EXPECT_TRUE(other.ShutDownWithDrainWithin(absl::ZeroDuration()));
}

TEST_P(LeaseTest, OfNothing) {
  StringLease nothing;
  EXPECT_FALSE(nothing);
  nothing.Done();
  StringLease other = std::move(nothing);
  EXPECT_FALSE(other);
  nothing = std::move(other);
  nothing.swap(other);
  EXPECT_FALSE(nothing);
  EXPECT_FALSE(other);
}

TEST_P(LeaseTest, DoneEndsItOnce) {
  {
    StringLease lease = AddAndAcquire("a");
    lease.Done();
    EXPECT_FALSE(lease);
    queue_->Add("a");
    ASSERT_EQ(queue_->Get(), "a") << "it is free for another";
    lease.Done();
  }
  EXPECT_TRUE(queue_->Done("a")) << "the other's processing goes on";
}

TEST_P(LeaseTest, MoveConstructionTakesItOver) {
  std::optional<StringLease> from = AddAndAcquire("a");
  const StringLease to = *std::move(from);
  EXPECT_FALSE(*from);
  from.reset();
  ASSERT_TRUE(to);
  EXPECT_EQ(*to, "a");
  EXPECT_TRUE(IsProcessing("a"));
}

TEST_P(LeaseTest, MoveAssignmentTakesItOver) {
  std::optional<StringLease> from = AddAndAcquire("a");
  StringLease to;
  to = *std::move(from);
  EXPECT_FALSE(*from);
  from.reset();
  ASSERT_TRUE(to);
  EXPECT_EQ(*to, "a");
  EXPECT_TRUE(IsProcessing("a"));
}

TEST_P(LeaseTest, AssignmentEndsTheFormerLease) {
  StringLease a = AddAndAcquire("a");
  StringLease b = AddAndAcquire("b");
  a = std::move(b);
  EXPECT_FALSE(b);
  ASSERT_TRUE(a);
  EXPECT_EQ(*a, "b");
  EXPECT_TRUE(IsProcessing("b"));
  EXPECT_FALSE(IsProcessing("a"));
}

TEST_P(LeaseTest, AssignmentOfNothingEndsTheLease) {
  StringLease lease = AddAndAcquire("a");
  lease = StringLease();
  EXPECT_FALSE(lease);
  EXPECT_FALSE(IsProcessing("a"));
}

TEST_P(LeaseTest, SelfMoveIsHarmless) {
  StringLease lease = AddAndAcquire("a");
  StringLease& itself = lease;
  lease = std::move(itself);
  ASSERT_TRUE(lease);
  EXPECT_EQ(*lease, "a");
  EXPECT_TRUE(IsProcessing("a"));
  lease.Done();
  EXPECT_EQ(queue_->Len(), 1u);
}

TEST_P(LeaseTest, Swap) {
  StringLease a = AddAndAcquire("a");
  StringLease b = AddAndAcquire("b");
  StringLease nothing;
  a.swap(b);
  EXPECT_EQ(*a, "b");
  EXPECT_EQ(*b, "a");
  swap(a, nothing);
  EXPECT_FALSE(a);
  EXPECT_EQ(*nothing, "b");
  nothing.swap(nothing);
  EXPECT_EQ(*nothing, "b");
  EXPECT_TRUE(IsProcessing("a"));
  EXPECT_TRUE(IsProcessing("b"));
}

TEST_P(LeaseTest, DoneByValueDoesNotEndIt) {
  if (kind_.plain) GTEST_SKIP() << "it cannot tell a lease";
  StringLease lease = AddAndAcquire("a");
  EXPECT_FALSE(queue_->Done("a"));
  EXPECT_EQ(*lease, "a");
  EXPECT_TRUE(IsProcessing("a"));
  EXPECT_FALSE(queue_->Done("a")) << "nor if it has been added again";
  EXPECT_EQ(queue_->Len(), 0u);
  lease.Done();
  EXPECT_EQ(queue_->Get(), "a");
  EXPECT_TRUE(queue_->Done("a")) << "this time it was got by value";
}

TEST_P(LeaseTest, AnItemAddedWhileLeasedComesBackOnce) {
  StringLease lease = AddAndAcquire("a");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue_->Add("a"));
  queue_->Add("b");
  EXPECT_EQ(queue_->Len(), 1u);
  lease.Done();
  EXPECT_EQ(queue_->Len(), 2u);
  StringLease first = *queue_->Acquire();
  StringLease second = *queue_->Acquire();
  if (kind_.keeps_place) std::swap(first, second);
  EXPECT_EQ(*first, "b") << "the other goes to the end";
  EXPECT_EQ(*second, "a");
  second.Done();
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_P(LeaseTest, GoesInAnyOrder) {
  std::vector<StringLease> leases;
  for (const char* item : {"a", "b", "c"}) {
    leases.push_back(AddAndAcquire(item));
  }
  for (const char* item : {"a", "b", "c"}) queue_->Add(item);
  leases[1].Done();
  leases[2].Done();
  leases[0].Done();
  const auto order =
      kind_.keeps_place ? std::array{"a", "b", "c"} : std::array{"b", "c", "a"};
  for (const char* item : order) EXPECT_EQ(queue_->Get(), item);
}

TEST_P(LeaseTest, AnEndedLeaseServesAGetIfTheItemComesBack) {
  StringLease lease = AddAndAcquire("a");
  queue_->Add("a");
  auto getter = Async([this] {
    StringLease got = *queue_->Acquire();
    return *got;
  });
  AwaitBlocked(1);
  lease.Done();
  EXPECT_EQ(getter.get(), "a");
}

TEST_P(LeaseTest, OutlivesAShutDown) {
  StringLease lease = AddAndAcquire("a");
  queue_->Add("a");
  queue_->ShutDown();
  EXPECT_FALSE(queue_->Acquire().ok()) << "not before the lease ends";
  EXPECT_EQ(*lease, "a");
  lease.Done();
  lease = *queue_->Acquire();
  ASSERT_TRUE(lease);
  EXPECT_EQ(*lease, "a");
  EXPECT_FALSE(queue_->ShutDownWithDrainWithin(absl::ZeroDuration()));
  lease.Done();
  EXPECT_TRUE(queue_->ShutDownWithDrainWithin(absl::ZeroDuration()));
  EXPECT_FALSE(queue_->Acquire().ok());
}

TEST_P(LeaseTest, ADrainWaitsForIt) {
  StringLease lease = AddAndAcquire("a");
  std::atomic<bool> ended{false};
  auto drained = Async([&] {
    const bool result = queue_->ShutDownWithDrain();
    EXPECT_TRUE(ended);
    return result;
  });
  EXPECT_FALSE(queue_->Acquire().ok()) << "the drain has begun";
  ended = true;
  lease.Done();
  EXPECT_TRUE(drained.get());
}

TEST_P(LeaseTest, MayGoOnAnotherThread) {
  StringLease lease = AddAndAcquire("a");
  queue_->Add("a");
  Thread([moved = std::move(lease)]() mutable {
    StringLease here = std::move(moved);
    EXPECT_EQ(*here, "a");
  }).join();
  EXPECT_FALSE(lease);
  EXPECT_EQ(queue_->Len(), 1u);
}

// -----------------------------------------------------------------------------
// Costs of a lease
// -----------------------------------------------------------------------------

// Returns the number of copies, hashes and comparisons so far.
int Operations() {
  int operations = 0;
  for (const FragileOp op : kFragileOps) operations += Fuse::count(op);
  return operations;
}

// Acquires the items of `queue` in several ways, and ends the leases.
void ExpectLeasesCostNothing(Interface<FragileKey>& queue) {
  for (int i = 0; i < 5; ++i) queue.Add(FragileKey(i));
  const int before = Operations();
  {
    Lease<FragileKey> lease = *queue.Acquire();
    EXPECT_EQ(lease->value(), 0);
    const FragileKey* const item = &*lease;
    Lease<FragileKey> moved = std::move(lease);
    EXPECT_EQ(&*moved, item);
    moved.swap(lease);
    EXPECT_EQ(&*lease, item);
    lease = *queue.TryAcquire();
    EXPECT_EQ(lease->value(), 1);
    lease = *queue.AcquireWithTimeout(absl::InfiniteDuration());
    EXPECT_EQ(lease->value(), 2);
    const auto leases = queue.AcquireUpTo(3);
    ASSERT_EQ(leases->size(), 2u);
  }
  EXPECT_EQ(Operations(), before);
}

template <typename Options>
Options On(FakeClock* clock) {
  Options options;
  options.clock = clock;
  return options;
}

TEST(LeaseCostTest, NoCopyHashOrComparisonInAQueue) {
  Queue<FragileKey, FragileHash, FragileEq> queue;
  const int copies = Fuse::count(FragileOp::kCopy);
  queue.Add(FragileKey(0));
  EXPECT_EQ(Fuse::count(FragileOp::kCopy), copies + 1) << "it does count";
  ExpectLeasesCostNothing(queue);
}

TEST(LeaseCostTest, NoCopyHashOrComparisonInADelayingQueue) {
  FakeClock clock;
  DelayingQueue<FragileKey, FragileHash, FragileEq> queue(
      On<DelayingQueueOptions<FragileKey>>(&clock));
  ExpectLeasesCostNothing(queue);
}

TEST(LeaseCostTest, NoCopyHashOrComparisonInARateLimitingQueue) {
  FakeClock clock;
  RateLimitingQueue<FragileKey, FragileHash, FragileEq> queue(
      On<RateLimitingQueueOptions<FragileKey>>(&clock));
  ExpectLeasesCostNothing(queue);
}

// Queueing an item that was added again while leased does not copy, hash or
// compare it.
TEST(LeaseCostTest, NoCopyHashOrComparisonWhenTheItemComesBack) {
  Queue<FragileKey, FragileHash, FragileEq> queue;
  queue.Add(FragileKey(1));
  Lease<FragileKey> lease = *queue.Acquire();
  const FragileKey* const item = &*lease;
  queue.Add(*lease);
  const int before = Operations();
  lease.Done();
  lease = *queue.Acquire();
  EXPECT_EQ(&*lease, item) << "it is stored once";
  EXPECT_EQ(Operations(), before);
}

// -----------------------------------------------------------------------------
// The upper layers
// -----------------------------------------------------------------------------

TEST(LeaseInLayersTest, OfAnItemThatWaited) {
  FakeClock clock;
  DelayingQueue<std::string> queue(
      On<DelayingQueueOptions<std::string>>(&clock));
  queue.AddAfter("a", absl::Seconds(5));
  EXPECT_EQ(queue.TryAcquire().status().code(),
            absl::StatusCode::kDeadlineExceeded);
  clock.Step(absl::Seconds(5));
  StringLease lease = *queue.Acquire();
  ASSERT_TRUE(lease);
  EXPECT_EQ(*lease, "a");
  EXPECT_FALSE(queue.Done("a"));

  // Its time comes again while it is leased.
  queue.AddAfter(*lease, absl::Seconds(1));
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(queue.Len(), 0u);
  lease.Done();
  EXPECT_EQ(queue.Len(), 1u);
}

TEST(LeaseInLayersTest, OfAnItemThatIsTriedAgain) {
  FakeClock clock;
  RateLimitingQueue<std::string> queue(
      On<RateLimitingQueueOptions<std::string>>(&clock));
  queue.Add("a");
  for (int failures = 1; failures <= 3; ++failures) {
    {
      const StringLease lease = *queue.Acquire();
      EXPECT_TRUE(queue.AddRateLimited(*lease));
      EXPECT_EQ(queue.NumRequeues(*lease), failures);
    }
    EXPECT_EQ(queue.Len(), 0u);
    clock.Step(absl::Seconds(1));
    EXPECT_EQ(queue.Len(), 1u);
  }
}

// -----------------------------------------------------------------------------
// The defaults of Interface
// -----------------------------------------------------------------------------

TEST(LeaseOfQueueBaseTest, AQueueMayBeDestroyedWhenTheProcessingHasEnded) {
  auto queue = std::make_unique<PlainQueue<std::string>>();
  queue->after_done = [&] { queue = nullptr; };
  queue->Add("a");
  EXPECT_TRUE(queue->Acquire()->Done());
  EXPECT_EQ(queue, nullptr);
}

#ifdef ABSL_HAVE_EXCEPTIONS

using PlainFragileQueue = PlainQueue<FragileKey, FragileHash, FragileEq>;

class LeaseByDefaultTest : public testing::Test {
 protected:
  LeaseByDefaultTest() {
    for (int item : {1, 2, 3}) queue_.Add(FragileKey(item));
  }
  ~LeaseByDefaultTest() override { Fuse::Disarm(); }

  // Calls `take()`, which must take an item out of the queue, once for each
  // copy that it makes, and makes that copy throw. Checks that the item is in
  // the queue each time. Returns the number of copies.
  template <typename F>
  int BlowEachCopy(F take) {
    for (int n = 1;; ++n) {
      Fuse::Arm(FragileOp::kCopy, n);
      const bool blows = Blows(take);
      EXPECT_EQ(Fuse::Disarm(), blows);
      if (!blows) return n - 1;
      EXPECT_EQ(queue_.Len(), 3u) << n;
      EXPECT_TRUE(queue_.TakeSnapshot()->processing.empty()) << n;
    }
  }

  PlainFragileQueue queue_;
};

TEST_F(LeaseByDefaultTest, GetLeavesTheItemIfTheCopyThrows) {
  int got = 0;
  EXPECT_EQ(BlowEachCopy([&] { got = queue_.Get()->value(); }), 1);
  EXPECT_TRUE(queue_.Done(FragileKey(got)));
}

TEST_F(LeaseByDefaultTest, AcquireLeavesTheItemIfTheCopyThrows) {
  Lease<FragileKey> lease;
  EXPECT_EQ(BlowEachCopy([&] { lease = *queue_.Acquire(); }), 1);
  ASSERT_TRUE(lease);
  lease = *queue_.TryAcquire();
  EXPECT_EQ(queue_.Len(), 1u);
  EXPECT_EQ(queue_.TakeSnapshot()->processing.size(), 1u);
}

TEST_F(LeaseByDefaultTest, AcquireUpToLeavesTheFirstItemIfTheCopyThrows) {
  Fuse::Arm(FragileOp::kCopy, 1);
  EXPECT_TRUE(Blows([&] { queue_.AcquireUpTo(3).IgnoreError(); }));
  EXPECT_EQ(queue_.Len(), 3u);
  EXPECT_TRUE(queue_.TakeSnapshot()->processing.empty());
}

TEST_F(LeaseByDefaultTest, AcquireUpToReturnsThoseBeforeTheCopyThatThrows) {
  Fuse::Arm(FragileOp::kCopy, 2);
  absl::StatusOr<LeaseBatch<FragileKey>> leases = queue_.AcquireUpTo(3);
  EXPECT_TRUE(Fuse::Disarm());
  ASSERT_TRUE(leases.ok());
  ASSERT_EQ(leases->size(), 1u);
  EXPECT_TRUE(leases->front());
  EXPECT_EQ(queue_.Len(), 2u);
  EXPECT_EQ(queue_.TakeSnapshot()->processing.size(), 1u);
}

// An item that cannot be given back does not count as processed.
TEST_F(LeaseByDefaultTest, AnItemThatCannotBeGivenBackIsNotDone) {
  Lease<FragileKey> lease = *queue_.Acquire();
  queue_.on_add = [] { throw std::string("no"); };
  lease.GiveBack();
  EXPECT_EQ(queue_.Len(), 2u);
  EXPECT_TRUE(queue_.Done(FragileKey(1)));
}

// The destructor of a lease cannot report an error.
TEST_F(LeaseByDefaultTest, WhatDoneThrowsIsDropped) {
  const int before = FragileKey::live();
  {
    const Lease<FragileKey> lease = *queue_.Acquire();
    EXPECT_EQ(FragileKey::live(), before + 1);
    queue_.on_done = [] { throw Fuse::Blown(); };
  }
  EXPECT_EQ(FragileKey::live(), before) << "its copy is gone";
  queue_.on_done = [] {};
  EXPECT_TRUE(queue_.Done(FragileKey(1))) << "and it can be done otherwise";
}

#endif  // ABSL_HAVE_EXCEPTIONS

TEST(LeaseByDefaultMemoryTest, TheCopyGoesWithTheLease) {
  PlainQueue<FragileKey, FragileHash, FragileEq> queue;
  queue.Add(FragileKey(1));
  const int before = FragileKey::live();
  Lease<FragileKey> lease = *queue.Acquire();
  EXPECT_EQ(FragileKey::live(), before + 1);
  EXPECT_EQ(lease->value(), 1);
  EXPECT_EQ(lease.priority(), 0);
  lease.Done();
  EXPECT_EQ(FragileKey::live(), before - 1) << "the queue's is gone, too";
}

}  // namespace
}  // namespace workqueue::lease_test
