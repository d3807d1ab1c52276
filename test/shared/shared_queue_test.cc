// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests what a `SharedQueue` has beyond the interfaces: several clients, leases
// that expire, and keys of all kinds.

#include "workqueue/shared/shared_queue.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <future>  // NOLINT(build/c++11)
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/redis_server.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/shared/codec.h"
#include "workqueue/shared/retry_schedule.h"
#include "workqueue/snapshot.h"
#include "workqueue/testing/manual_executor.h"
#include "workqueue/testing/thread.h"

namespace workqueue::shared_queue_test {
namespace {

using Queue = SharedQueue<std::string>;
using Options = SharedQueueOptions<std::string>;

constexpr absl::Duration kLease = absl::Seconds(30);
constexpr absl::Duration kFirstRetry = absl::Milliseconds(5);

// Two clients of one queue, with finite leases.
class SharedQueueTest : public testing::Test {
 protected:
  Options MakeOptions() {
    Options options = NewSharedQueueOptions<std::string>(&clock_);
    options.name = name_;
    options.client_name = "me";
    options.lease = kLease;
    return options;
  }

  std::unique_ptr<Queue> NewClient() { return NewSharedQueue(MakeOptions()); }

  FakeClock clock_;
  const std::string name_ = NewQueueName();
  std::unique_ptr<Queue> a_ = NewClient();
  std::unique_ptr<Queue> b_ = NewClient();
};

TEST_F(SharedQueueTest, OneClientGetsWhatAnotherAdds) {
  EXPECT_TRUE(a_->Add("x"));
  EXPECT_EQ(b_->Len(), 1u);
  EXPECT_EQ(b_->Get(), "x");
  EXPECT_EQ(a_->Len(), 0u);
  EXPECT_TRUE(a_->Add("x")) << "while it is being processed elsewhere";
  EXPECT_EQ(a_->Len(), 0u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(a_->TryGet().status()));
  EXPECT_TRUE(b_->Done("x"));
  EXPECT_EQ(a_->Get(), "x") << "again, after that";
  EXPECT_FALSE(b_->Done("x")) << "it is not that client's";
  EXPECT_TRUE(a_->Done("x"));
}

TEST_F(SharedQueueTest, CountsTheItemsOfAllClients) {
  a_->Add("queued");
  ASSERT_EQ(a_->Get(), "queued");
  a_->AddRateLimited("failing");
  a_->AddAfter("waiting", absl::Seconds(5));
  a_->AddAll({"x", "y", "z"});
  const absl::StatusOr<SharedQueueCounts> counts = b_->Count();
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->queued, 3u);
  EXPECT_EQ(counts->processing, 1u);
  EXPECT_EQ(counts->waiting, 2u);
  EXPECT_EQ(counts->failing, 1u);
}

TEST_F(SharedQueueTest, ASnapshotTellsWhichProcessHoldsAnItem) {
  Options options = MakeOptions();
  options.client_name = "other\n";
  auto other = NewSharedQueue(options);
  a_->AddAll({"x", "y", "z"});
  auto x = a_->TryAcquire();
  auto y = other->TryAcquire();
  ASSERT_TRUE(x.ok() && y.ok());
  SnapshotOptions<std::string> what;
  what.details = true;
  {
    const auto snapshot = b_->TakeSnapshotWith(what);
    ASSERT_EQ(snapshot->processing.size(), 2u);
    EXPECT_EQ(snapshot->processing[0].holder, "me");
    EXPECT_EQ(snapshot->processing[1].holder, "other\\n");
    EXPECT_EQ(snapshot->processing[1].held_until, clock_.TimeNow() + kLease);
    EXPECT_EQ(snapshot->num_processing_here, 0u);
    ASSERT_EQ(snapshot->clients.size(), 2u) << "a and b are one process";
    for (const auto& client : snapshot->clients) {
      EXPECT_EQ(client.processing, 1u) << client.name;
      EXPECT_EQ(client.last_seen, clock_.TimeNow());
      EXPECT_NE(client.version, "");
    }
  }
  EXPECT_EQ(a_->TakeSnapshotWith(what)->num_processing_here, 1u);
  EXPECT_EQ(a_->TakeSnapshotUpTo(0)->num_processing_here, 1u);
  std::ostringstream os;
  os << *a_->TakeSnapshotOf("y");
  EXPECT_TRUE(absl::StrContains(os.str(), "y for 0, by other\\n")) << os.str();
  EXPECT_TRUE(b_->TakeSnapshot()->clients.empty()) << "nobody has asked";
}

TEST_F(SharedQueueTest, AWorkerThatWaitsIsServedByAnotherClient) {
  for (int i = 0; i < 100; ++i) {
    auto got = Async([this] { return b_->Get(); });
    EXPECT_TRUE(a_->Add("x"));
    EXPECT_EQ(got.get(), "x");
    EXPECT_TRUE(b_->Done("x"));
  }
}

TEST_F(SharedQueueTest, ADoneServesAWorkerOfAnotherClient) {
  a_->Add("x");
  ASSERT_EQ(a_->Get(), "x");
  auto got = Async([this] { return b_->Get(); });
  a_->Add("x");
  a_->Done("x");
  EXPECT_EQ(got.get(), "x");
}

TEST_F(SharedQueueTest, WhatWaitsComesToAnyClient) {
  EXPECT_TRUE(a_->AddAfter("x", absl::Seconds(5)));
  a_.reset();
  auto got = Async([this] { return b_->Get(); });
  clock_.AwaitWaiters(2);  // the worker and the client's loop
  clock_.Step(absl::Seconds(5));
  EXPECT_EQ(got.get(), "x");
}

TEST_F(SharedQueueTest, WhatWaitsCanBeChangedByAnotherClient) {
  EXPECT_TRUE(a_->AddAfter("x", absl::Seconds(5)));
  EXPECT_TRUE(b_->AddAfter("x", absl::Seconds(3)));
  EXPECT_TRUE(a_->AddAfter("y", absl::Seconds(3)));
  EXPECT_TRUE(b_->Reschedule("y", absl::Seconds(9)));
  EXPECT_TRUE(a_->AddAfter("z", absl::Seconds(3)));
  EXPECT_TRUE(b_->CancelDelayed("z"));
  EXPECT_FALSE(a_->CancelDelayed("z"));
  clock_.Step(absl::Seconds(3));
  EXPECT_EQ(a_->Get(), "x");
  EXPECT_EQ(a_->Len(), 0u);
  clock_.Step(absl::Seconds(6));
  EXPECT_EQ(b_->Get(), "y");
}

TEST_F(SharedQueueTest, FailuresAreCountedForAllClients) {
  EXPECT_TRUE(a_->AddRateLimited("x"));
  EXPECT_TRUE(b_->AddRateLimited("x"));
  EXPECT_EQ(a_->NumRequeues("x"), 2);
  b_->Forget("x");
  EXPECT_EQ(a_->NumRequeues("x"), 0);
}

TEST_F(SharedQueueTest, AnErrorMayChooseTheDelay) {
  EXPECT_TRUE(a_->AddRateLimitedAfter("x", absl::Seconds(30)));
  EXPECT_EQ(b_->NumRequeues("x"), 1);
  clock_.Step(absl::Seconds(30) - absl::Nanoseconds(1));
  EXPECT_EQ(b_->Len(), 0u);
  clock_.Step(absl::Nanoseconds(1));
  EXPECT_EQ(b_->Get(), "x");
  EXPECT_TRUE(b_->AddRateLimitedAfter("x", absl::ZeroDuration()));
  EXPECT_TRUE(b_->Done("x"));
  EXPECT_EQ(a_->Get(), "x");
  EXPECT_EQ(a_->NumRequeues("x"), 2);
}

TEST_F(SharedQueueTest, TheLongestDelayShortensADelayThatAnErrorChose) {
  Options options = MakeOptions();
  options.retry_schedule = {absl::Seconds(7), absl::Minutes(1),
                            absl::Seconds(3)};
  const auto queue = NewSharedQueue(std::move(options));
  for (const absl::Duration d :
       {absl::Minutes(1) + absl::Nanoseconds(1), absl::InfiniteDuration()}) {
    EXPECT_TRUE(queue->AddRateLimitedAfter("x", d));
    clock_.Step(absl::Minutes(1) - absl::Nanoseconds(1));
    EXPECT_EQ(queue->Len(), 0u);
    clock_.Step(absl::Nanoseconds(1));
    EXPECT_EQ(queue->Get(), "x");
    EXPECT_TRUE(queue->Done("x"));
  }
}

TEST_F(SharedQueueTest, ADelayThatAnErrorChoseKeepsThePriority) {
  AddOptions again;
  again.rate_limited = true;
  again.retry_after = absl::Seconds(2);
  again.priority = 7;
  EXPECT_TRUE(a_->AddWithOptions(again, {"x"}));
  again.after = absl::Seconds(1);
  EXPECT_TRUE(a_->AddWithOptions(again, {"y"}));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(b_->GetWithPriority()->item, "y") << "the shorter delay counts";
  EXPECT_EQ(b_->Len(), 0u);
  clock_.Step(absl::Seconds(1));
  const auto got = b_->GetWithPriority();
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->item, "x");
  EXPECT_EQ(got->priority, 7);
}

TEST_F(SharedQueueTest, TheProcessLimitsItsRetries) {
  Options options = MakeOptions();
  options.retries_per_second = 1;
  options.retry_burst = 1;
  options.retry_schedule = {absl::ZeroDuration()};
  const auto limited = NewSharedQueue(std::move(options));
  limited->AddRateLimited("x");
  EXPECT_EQ(limited->Len(), 1u);
  limited->AddRateLimited("y");
  EXPECT_EQ(limited->Len(), 1u);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(limited->Len(), 2u);
}

TEST_F(SharedQueueTest, ALeaseIsRenewed) {
  a_->Add("x");
  const Lease<std::string> lease = *a_->Acquire();
  for (int i = 0; i < 20; ++i) {
    clock_.Step(kLease / 3);
    EXPECT_FALSE(lease.lost());
    EXPECT_EQ(b_->Len(), 0u);
  }
}

TEST_F(SharedQueueTest, WhatADeadClientHeldIsHandedOutAgain) {
  a_->AddAll({"x", "y", "later"});
  Lease<std::string> lost_x = *a_->Acquire();
  Lease<std::string> lost_y = *a_->Acquire();
  const int64_t token = lost_x.token();
  EXPECT_GT(lost_y.token(), token);
  // The step is too long for a renewal.
  clock_.Step(kLease);
  EXPECT_TRUE(lost_x.lost());
  ASSERT_EQ(b_->Len(), 1u);
  clock_.Step(kFirstRetry);
  ASSERT_EQ(b_->Len(), 3u);
  EXPECT_EQ(b_->Get(), "later") << "the others have failed";
  const Lease<std::string> x = *b_->Acquire();
  EXPECT_EQ(*x, "x") << "which was due first";
  EXPECT_GT(x.token(), token);
  EXPECT_FALSE(lost_x.Done()) << "too late";
  b_->Add("x");
  EXPECT_EQ(b_->Get(), "y");
  EXPECT_FALSE(lost_y.GiveBack()) << "too late";
  EXPECT_EQ(b_->Len(), 0u) << "x is still being processed";
}

// It may be the item that has ended its process.
// A worker goes on with an item although its lease is lost.
TEST_F(SharedQueueTest, AKeyHasOneHolderInAProcess) {
  a_->Add("x");
  Lease<std::string> first = *a_->Acquire();
  const int64_t token = first.token();
  clock_.Step(kLease);
  clock_.Step(kFirstRetry);
  ASSERT_EQ(b_->Len(), 1u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(a_->TryAcquire().status()));
  EXPECT_EQ(b_->TakeSnapshotOf("x")->processing.size(), 1u) << "held back";
  EXPECT_EQ(a_->TakeSnapshotOf("x")->processing.size(), 1u);
  a_->Add("y");
  EXPECT_EQ(**a_->TryAcquire(), "y");
  for (int i = 0; i < 10; ++i) clock_.Step(kLease / 3);
  EXPECT_EQ(b_->Len(), 0u) << "its lease is renewed";
  auto waits = Async([this] { return a_->Acquire(); });
  EXPECT_FALSE(first.Done()) << "too late";
  auto second = waits.get();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(**second, "x");
  EXPECT_GT(second->token(), token);
  EXPECT_TRUE(second->Done());
  EXPECT_EQ(a_->Count()->processing, 0u);
}

TEST_F(SharedQueueTest, AnotherProcessGetsWhatAClosedOneHoldsBack) {
  a_->Add("x");
  Lease<std::string> first = *a_->Acquire();
  clock_.Step(kLease);
  clock_.Step(kFirstRetry);
  EXPECT_TRUE(absl::IsDeadlineExceeded(a_->TryAcquire().status()));
  EXPECT_EQ(b_->Len(), 0u);
  a_->Close();
  Lease<std::string> second = *b_->Acquire();
  EXPECT_EQ(*second, "x");
  EXPECT_FALSE(first.Done());
  EXPECT_TRUE(a_->CloseWithDrainWithin(absl::InfiniteDuration()));
  EXPECT_TRUE(second.Done());
}

// The item that is held back is handed out before the drain ends.
TEST_F(SharedQueueTest, ADrainWaitsForWhatIsHeldBack) {
  a_->Add("x");
  Lease<std::string> first = *a_->Acquire();
  clock_.Step(kLease);
  clock_.Step(kFirstRetry);
  EXPECT_TRUE(absl::IsDeadlineExceeded(a_->TryAcquire().status()));
  auto drained = Async([this] { return b_->ShutDownWithDrain(); });
  auto waits = Async([this] { return a_->Acquire(); });
  while (!a_->ShuttingDown()) a_->Len();
  EXPECT_TRUE(absl::IsDeadlineExceeded(a_->TryAcquire().status()));
  EXPECT_FALSE(first.Done());
  auto second = waits.get();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(**second, "x");
  EXPECT_TRUE(second->Done());
  EXPECT_TRUE(drained.get());
}

TEST_F(SharedQueueTest, AnExpiredLeaseIsAFailure) {
  a_->AddWithOptions({absl::ZeroDuration(), false, 7}, {"x"});
  absl::Duration backoff = kFirstRetry;
  for (int failures = 1; failures < 10; ++failures) {
    ASSERT_EQ(b_->Get(), "x");
    clock_.Step(kLease);
    EXPECT_EQ(a_->NumRequeues("x"), failures);
    EXPECT_EQ(a_->Count()->failing, 1u);
    clock_.Step(backoff - absl::Nanoseconds(1));
    EXPECT_EQ(a_->Len(), 0u);
    EXPECT_EQ(a_->TakeSnapshot()->waiting.at(0).failures, failures);
    EXPECT_EQ(a_->TakeSnapshot()->waiting.at(0).priority, 7);
    clock_.Step(absl::Nanoseconds(1));
    EXPECT_EQ(a_->Len(), 1u);
    backoff *= 2;
  }
  a_->Forget("x");
  ASSERT_EQ(b_->Get(), "x");
  clock_.Step(kLease);
  EXPECT_EQ(a_->NumRequeues("x"), 1);
}

TEST_F(SharedQueueTest, WhatWasAddedDuringALeaseThatExpiresWaitsToo) {
  a_->Add("x");
  ASSERT_EQ(b_->Get(), "x");
  a_->Add("x");
  clock_.Step(kLease);
  EXPECT_EQ(a_->Len(), 0u);
  clock_.Step(kFirstRetry);
  EXPECT_EQ(a_->Get(), "x");
  EXPECT_TRUE(a_->Done("x"));
  EXPECT_EQ(a_->Len(), 0u) << "once for both";
}

// Nothing waits there, but nothing gets lost either.
TEST_F(SharedQueueTest, ALeaseThatExpiresInADrainIsAFailure) {
  a_->Add("x");
  ASSERT_EQ(b_->Get(), "x");
  EXPECT_FALSE(a_->ShutDownWithDrainWithin(absl::ZeroDuration()));
  clock_.Step(kLease);
  EXPECT_EQ(a_->NumRequeues("x"), 1);
  clock_.Step(kFirstRetry - absl::Nanoseconds(1));
  EXPECT_EQ(a_->Len(), 0u);
  EXPECT_FALSE(a_->ShutDownWithDrainWithin(absl::ZeroDuration()));
  clock_.Step(absl::Nanoseconds(1));
  EXPECT_EQ(a_->Get(), "x");
  EXPECT_TRUE(a_->Done("x"));
  EXPECT_TRUE(a_->ShutDownWithDrainWithin(absl::ZeroDuration()));
}

TEST_F(SharedQueueTest, TheScheduleOfTheRetriesCountsForExpiredLeases) {
  Options options = MakeOptions();
  options.name = NewQueueName();
  options.retry_schedule = {absl::Seconds(1), absl::Seconds(1),
                            absl::Seconds(3), absl::ZeroDuration(),
                            absl::Seconds(2)};
  const auto queue = NewSharedQueue(std::move(options));
  queue->Add("x");
  for (const int seconds : {1, 1, 3, 0, 2, 2}) {
    ASSERT_TRUE(queue->TryGet().ok());
    clock_.Step(kLease);
    EXPECT_EQ(queue->Len(), seconds == 0 ? 1u : 0u);
    clock_.Step(absl::Seconds(seconds) - absl::Nanoseconds(1));
    EXPECT_EQ(queue->Len(), seconds == 0 ? 1u : 0u);
    clock_.Step(absl::Nanoseconds(1));
  }
}

TEST_F(SharedQueueTest, ALateDoneAfterAGetReturnsFalse) {
  a_->Add("x");
  ASSERT_EQ(a_->Get(), "x");
  clock_.Step(kLease);
  EXPECT_EQ(b_->Len(), 0u);
  clock_.Step(kFirstRetry);
  ASSERT_EQ(b_->Get(), "x");
  EXPECT_FALSE(a_->Done("x"));
  EXPECT_TRUE(b_->Done("x"));
}

// The engine forgets a client that it has not heard of for long.
TEST_F(SharedQueueTest, AForgottenClientIsSentNoMoreThanItAsksFor) {
  for (int i = 0; i < 3; ++i) {
    auto got = Async([this] { return b_->Get(); });
    clock_.AwaitWaiters(3);
    EXPECT_TRUE(a_->Add("x"));
    EXPECT_EQ(got.get(), "x");
    EXPECT_TRUE(b_->Done("x"));
  }
  ASSERT_TRUE(SendTo(ServerOfThisProgram(), {"FLUSHALL"}).ok());

  auto got = Async([this] { return b_->Get(); });
  clock_.AwaitWaiters(3);
  EXPECT_TRUE(a_->AddAll({"1", "2", "3"}));
  EXPECT_EQ(got.get(), "1");
  absl::StatusOr<Lease<std::string>> lease = a_->Acquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(**lease, "2");
  EXPECT_EQ(lease->token(), 2) << "nobody else had it before";
}

// However short a lease is, the engine does not take a process that waits for
// dead.
TEST_F(SharedQueueTest, AWorkerIsServedAfterAWaitOfManyLeases) {
  auto got = Async([this] { return b_->Get(); });
  clock_.AwaitWaiters(3);
  for (int i = 0; i < 100; ++i) clock_.Step(kLease / 5);
  EXPECT_TRUE(a_->Add("x"));
  EXPECT_EQ(got.get(), "x");
}

TEST_F(SharedQueueTest, AnExpiredLeaseServesAWorkerThatWaits) {
  a_->Add("x");
  Lease<std::string> lease = *a_->Acquire();
  auto got = Async([this] { return b_->Get(); });
  clock_.AwaitWaiters(3);
  clock_.Step(kLease);
  EXPECT_EQ(a_->NumRequeues("x"), 1);
  clock_.Step(kFirstRetry);
  EXPECT_EQ(got.get(), "x");
  EXPECT_FALSE(lease.Done());
}

TEST_F(SharedQueueTest, ADestroyedClientGivesBackWhatNobodyTook) {
  bool called = false;
  a_->Add("x");
  ManualExecutor executor;
  const AcquireId id = a_->AcquireAsync(
      &executor,
      [&called](absl::StatusOr<Lease<std::string>>) { called = true; });
  clock_.Step(absl::ZeroDuration());
  EXPECT_EQ(executor.size(), 1u);
  EXPECT_EQ(b_->Len(), 0u) << "it has been handed out";
  EXPECT_TRUE(a_->CancelAcquire(id));
  executor.RunAll();
  a_.reset();
  EXPECT_FALSE(called);
  EXPECT_EQ(b_->Get(), "x");
}

TEST_F(SharedQueueTest, CloseLeavesTheItemsToOtherClients) {
  a_->Add("x");
  a_->AddAfter("y", absl::Seconds(1));
  a_->Close();
  EXPECT_TRUE(a_->ShuttingDown());
  EXPECT_FALSE(b_->ShuttingDown());
  EXPECT_FALSE(a_->Add("z"));
  EXPECT_EQ(a_->Get(), std::nullopt);
  EXPECT_EQ(b_->Get(), "x");
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(b_->Get(), "y");
}

TEST_F(SharedQueueTest, AClosedClientCanAddWhatItHolds) {
  a_->Add("x");
  Lease<std::string> lease = *a_->Acquire();
  a_->Close();
  EXPECT_FALSE(a_->AddRateLimited("y"));
  EXPECT_FALSE(a_->AddAll({"x", "y"}));
  EXPECT_TRUE(a_->AddRateLimited("x")) << "its processing has failed";
  EXPECT_TRUE(lease.Done());
  EXPECT_FALSE(a_->AddRateLimited("x")) << "it is not held any more";
  clock_.Step(absl::Milliseconds(5));
  EXPECT_EQ(b_->Get(), "x");
}

TEST_F(SharedQueueTest, CloseWithDrainWaitsForTheLeasesOfThisClient) {
  a_->AddAll({"x", "y"});
  Lease<std::string> x = *a_->Acquire();
  const Lease<std::string> y = *b_->Acquire();
  EXPECT_FALSE(a_->CloseWithDrainWithin(absl::ZeroDuration()));
  auto drained = Async(
      [this] { return a_->CloseWithDrainWithin(absl::InfiniteDuration()); });
  EXPECT_TRUE(x.Done());
  EXPECT_TRUE(drained.get());
}

TEST_F(SharedQueueTest, ShutDownIsForAllClients) {
  auto got = Async([this] { return b_->Get(); });
  a_->ShutDown();
  EXPECT_EQ(got.get(), std::nullopt);
  EXPECT_TRUE(b_->ShuttingDown());
  EXPECT_FALSE(b_->Add("x"));
  EXPECT_TRUE(NewClient()->ShuttingDown()) << "it is remembered";
  EXPECT_TRUE(a_->Reopen().ok());
  EXPECT_TRUE(b_->Add("x"));
  EXPECT_EQ(b_->Get(), "x");
}

// Another client may have opened it before.
TEST_F(SharedQueueTest, ReopenOfAnOpenQueueKeepsWhatWaits) {
  EXPECT_TRUE(a_->AddAfter("x", absl::Seconds(1)));
  EXPECT_TRUE(b_->Reopen().ok());
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(a_->Get(), "x");
}

// The news of a shutdown may overtake the reply of a request that was before
// it.
TEST_F(SharedQueueTest, AShutDownReachesAWorkerThatBeginsToWait) {
  for (int i = 0; i < 300; ++i) {
    auto got = Async([this] { return b_->Get(); });
    a_->ShutDown();
    EXPECT_EQ(got.get(), std::nullopt);
    EXPECT_TRUE(a_->Reopen().ok());
  }
}

// When the client hears of the shutdown, it makes a request, which may be under
// way when a callback begins to wait in the place of one that was cancelled. To
// the engine nothing has changed.
TEST_F(SharedQueueTest, AShutDownReachesACallbackThatBeginsToWait) {
  InlineExecutor executor;
  for (int i = 0; i < 300; ++i) {
    const AcquireId first = b_->AcquireAsync(
        &executor, [](const absl::StatusOr<Lease<std::string>>&) {});
    b_->Len();  // tells the engine of the first callback
    auto shut_down = Async([this] { a_->ShutDown(); });
    while (!b_->ShuttingDown()) std::this_thread::yield();
    b_->CancelAcquire(first);
    std::promise<absl::Status> ended;
    b_->AcquireAsync(&executor,
                     [&](const absl::StatusOr<Lease<std::string>>& lease) {
                       ended.set_value(lease.status());
                     });
    EXPECT_TRUE(absl::IsCancelled(ended.get_future().get()));
    shut_down.get();
    EXPECT_TRUE(a_->Reopen().ok());
    while (b_->ShuttingDown()) std::this_thread::yield();
  }
}

TEST_F(SharedQueueTest, DrainWaitsForAllClients) {
  a_->Add("x");
  Lease<std::string> lease = *b_->Acquire();
  EXPECT_FALSE(a_->ShutDownWithDrainWithin(absl::ZeroDuration()));
  auto drained = Async([this] { return a_->ShutDownWithDrain(); });
  EXPECT_TRUE(lease.Done());
  EXPECT_TRUE(drained.get());
}

TEST_F(SharedQueueTest, ShutDownOfOneClientEndsTheDrainOfAnother) {
  a_->Add("x");
  Lease<std::string> lease = *b_->Acquire();
  auto drained = Async([this] { return a_->ShutDownWithDrain(); });
  EXPECT_EQ(a_->Get(), std::nullopt) << "the drain has begun";
  b_->ShutDown();
  EXPECT_FALSE(drained.get());
}

TEST_F(SharedQueueTest, HandsOutByPriority) {
  a_->AddWithOptions({absl::ZeroDuration(), false, 1}, {"low", "raised"});
  a_->AddWithOptions({absl::ZeroDuration(), false, 5}, {"high"});
  b_->AddWithOptions({absl::ZeroDuration(), false, 9}, {"raised"});
  b_->AddWithOptions({absl::Seconds(1), false, 7}, {"waits"});
  clock_.Step(absl::Seconds(1));
  for (const auto& [item, priority] : {std::pair<std::string, int>{"raised", 9},
                                       {"waits", 7},
                                       {"high", 5},
                                       {"low", 1}}) {
    const std::optional<ItemWithPriority<std::string>> got =
        b_->GetWithPriority();
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->item, item);
    EXPECT_EQ(got->priority, priority);
  }
}

TEST_F(SharedQueueTest, LargeBatchesKeepTheirOrder) {
  std::vector<std::string> items;
  for (int i = 0; i < 3000; ++i) items.push_back(absl::StrCat(i));
  EXPECT_TRUE(a_->AddAll(items));
  LeaseBatch<std::string> batch =
      *b_->AcquireUpTo(std::numeric_limits<size_t>::max());
  ASSERT_EQ(batch.size(), 3000u);
  for (int i = 0; i < 3000; ++i) EXPECT_EQ(*batch[i], items[i]);
  batch.Done();
  EXPECT_TRUE(a_->ShutDownWithDrain());
}

std::string Printed(const Snapshot<std::string>& snapshot) {
  std::ostringstream printed;
  printed << snapshot;
  return printed.str();
}

TEST_F(SharedQueueTest, TheSnapshotIsTheQueues) {
  a_->AddAll({"p", "q"});
  ASSERT_EQ(b_->Get(), "p");
  a_->Add("p");
  a_->AddRateLimited("w");
  clock_.Step(absl::Milliseconds(1));
  const Snapshot<std::string> snapshot = *a_->TakeSnapshot();
  EXPECT_EQ(
      Printed(snapshot),
      "1 queued:\n  q for 1ms\n1 processing:\n  p for 1ms, added again, by me\n"
      "1 waiting:\n  w for another 4ms (failures: 1)\n");
}

TEST_F(SharedQueueTest, ABoundedSnapshotHasTheFirstItems) {
  a_->AddAll({"p", "q", "r", "s", "t"});
  ASSERT_EQ(b_->Get(), "p");
  clock_.Step(absl::Seconds(1));
  ASSERT_EQ(b_->Get(), "q");
  a_->Add("p");
  a_->AddAfter("w", absl::Seconds(3));
  a_->AddAfter("v", absl::Seconds(2));
  a_->AddAfter("u", absl::Seconds(1));
  EXPECT_EQ(Printed(*a_->TakeSnapshotUpTo(0)),
            "0 of 3 queued\n0 of 2 processing\n0 of 3 waiting\n");
  EXPECT_EQ(Printed(*a_->TakeSnapshotUpTo(1)),
            "1 of 3 queued:\n  r for 1s\n"
            "1 of 2 processing:\n  p for 1s, added again, by me\n"
            "1 of 3 waiting:\n  u for another 1s\n");
  EXPECT_EQ(Printed(*a_->TakeSnapshotUpTo(2)),
            "2 of 3 queued:\n  r for 1s\n  s for 1s\n"
            "2 processing:\n  p for 1s, added again, by me\n  q for 0, by me\n"
            "2 of 3 waiting:\n  u for another 1s\n  v for another 2s\n");
  const std::string all = Printed(*a_->TakeSnapshot());
  EXPECT_EQ(Printed(*a_->TakeSnapshotUpTo(3)), all);
  EXPECT_EQ(Printed(*a_->TakeSnapshotUpTo(4)), all);
  EXPECT_EQ(Printed(*a_->TakeSnapshotUpTo(size_t{1} << 40)), all);
}

// The server sends a snapshot in parts.
TEST_F(SharedQueueTest, ALargeSnapshotHasEachItemOnce) {
  constexpr int kItems = 2500;
  std::vector<std::string> queued, waiting;
  for (int i = 0; i < kItems; ++i) {
    queued.push_back(absl::StrCat("queued ", i));
    waiting.push_back(absl::StrCat("waiting ", i));
  }
  EXPECT_TRUE(a_->AddAll(queued));
  const LeaseBatch<std::string> batch = *b_->AcquireUpTo(kItems);
  EXPECT_TRUE(a_->AddWithOptions({absl::Seconds(9)}, waiting));
  EXPECT_TRUE(a_->AddWithOptions({absl::ZeroDuration(), false, 1}, waiting));
  const Snapshot<std::string> all = *a_->TakeSnapshot();
  ASSERT_EQ(all.queued.size(), size_t{kItems});
  ASSERT_EQ(all.processing.size(), size_t{kItems});
  ASSERT_EQ(all.waiting.size(), size_t{kItems});
  for (int i = 0; i < kItems; ++i) {
    EXPECT_EQ(all.queued[i].item, waiting[i]);
    EXPECT_EQ(all.processing[i].item, queued[i]);
    EXPECT_EQ(all.waiting[i].item, waiting[i]);
  }
  const Snapshot<std::string> some = *a_->TakeSnapshotUpTo(1200);
  ASSERT_EQ(some.queued.size(), 1200u);
  ASSERT_EQ(some.processing.size(), 1200u);
  ASSERT_EQ(some.waiting.size(), 1200u);
  EXPECT_EQ(some.num_processing, size_t{kItems});
  EXPECT_EQ(some.waiting.back().item, waiting[1199]);
}

// The server removes what waited in parts, which nobody sees.
TEST_F(SharedQueueTest, AfterAShutDownNothingWaitsHoweverManyDid) {
  std::vector<std::string> items;
  for (int i = 0; i < 5000; ++i) items.push_back(absl::StrCat(i));
  EXPECT_TRUE(a_->AddWithOptions({absl::Seconds(1)}, items));
  a_->ShutDown();
  EXPECT_EQ(b_->Count()->waiting, 0u);
  EXPECT_FALSE(b_->CancelDelayed("4999"));
  EXPECT_EQ(Printed(*b_->TakeSnapshotUpTo(1)),
            "shutting down\n0 queued\n0 processing\n0 waiting\n");
  EXPECT_TRUE(a_->Reopen().ok());
  EXPECT_TRUE(b_->AddAfter("4999", absl::Seconds(2)));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(b_->Len(), 0u);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(b_->Get(), "4999");
}

TEST_F(SharedQueueTest, ASnapshotOfOneItemHasItsStates) {
  a_->AddRateLimited("x");
  EXPECT_EQ(Printed(*b_->TakeSnapshotOf("x")),
            "0 queued\n0 processing\n"
            "1 waiting:\n  x for another 5ms (failures: 1)\n");
  a_->AddAll({"x", "y"});
  EXPECT_EQ(Printed(*b_->TakeSnapshotOf("x")),
            "1 of 2 queued:\n  x for 0 (failures: 1)\n0 processing\n"
            "1 waiting:\n  x for another 5ms (failures: 1)\n");
  ASSERT_EQ(b_->Get(), "x");
  a_->Add("x");
  b_->CancelDelayed("x");
  EXPECT_EQ(Printed(*a_->TakeSnapshotOf("x")),
            "0 of 1 queued\n"
            "1 processing:\n  x for 0, added again, by me (failures: 1)\n"
            "0 waiting\n");
  EXPECT_EQ(Printed(*a_->TakeSnapshotOf("y")),
            "1 queued:\n  y for 0\n0 of 1 processing\n0 waiting\n");
  EXPECT_EQ(Printed(*a_->TakeSnapshotOf("z")),
            "0 of 1 queued\n0 of 1 processing\n0 waiting\n");
  a_->AddAfter("never", absl::InfiniteDuration());
  EXPECT_EQ(a_->TakeSnapshotOf("never")->waiting.at(0).ready_at,
            absl::InfiniteFuture());
}

TEST_F(SharedQueueTest, TimeThatGoesBackDelaysNothing) {
  a_->AddAfter("x", absl::Seconds(10));
  clock_.Step(absl::Seconds(5));
  EXPECT_EQ(a_->Len(), 0u);
  a_->Add("now");  // a change, with which the time is remembered
  clock_.Step(-absl::Seconds(3));
  EXPECT_EQ(a_->Len(), 1u);
  clock_.Step(absl::Seconds(5) - absl::Nanoseconds(1));
  EXPECT_EQ(a_->Len(), 1u) << "never early";
  clock_.Step(absl::Nanoseconds(1));
  EXPECT_EQ(a_->Len(), 2u);
}

TEST_F(SharedQueueTest, ItemsHaveAnyBytes) {
  std::vector<std::string> items = {"",
                                    " ",
                                    std::string("\0", 1),
                                    "\xff\xfe",
                                    "a\r\nb",
                                    "{tag}",
                                    "*?[a]\\",
                                    "]]..redis.call('FLUSHALL')..[[",
                                    "%s%n%d",
                                    "nil",
                                    "-1",
                                    std::string(1 << 20, 'x')};
  std::string all;
  for (int c = 0; c < 256; ++c) all.push_back(static_cast<char>(c));
  items.push_back(all);
  EXPECT_TRUE(a_->AddAll(items));
  for (const std::string& item : items) {
    EXPECT_TRUE(a_->Add(item)) << "it is there already";
    EXPECT_EQ(b_->Get(), item);
    EXPECT_TRUE(b_->Done(item));
    EXPECT_TRUE(b_->AddAfter(item, absl::Seconds(1)));
  }
  // Pushed, instead of replied.
  for (const std::string& item : items) EXPECT_TRUE(b_->CancelDelayed(item));
  for (const std::string& item : items) {
    auto got = Async([this] { return b_->Get(); });
    EXPECT_TRUE(a_->Add(item));
    EXPECT_EQ(got.get(), item);
    EXPECT_TRUE(b_->Done(item));
  }
}

TEST_F(SharedQueueTest, AMillionItemsWait) {
#ifdef NDEBUG
  constexpr int kItems = 1000000;
#else
  constexpr int kItems = 100000;
#endif
  std::vector<std::string> batch;
  for (int i = 0; i < kItems; ++i) {
    batch.push_back(absl::StrCat("item ", i));
    if (batch.size() < 100) continue;
    EXPECT_TRUE(a_->AddWithOptions({absl::Milliseconds(1 + i)}, batch));
    batch.clear();
  }
  EXPECT_EQ(a_->Len(), 0u);
  EXPECT_EQ(a_->TakeSnapshot()->waiting.size(), size_t{kItems});
  clock_.Step(absl::Milliseconds(100));
  EXPECT_EQ(b_->Len(), 100u) << "the first hundred has one time";
  EXPECT_EQ(b_->Get(), "item 0");
}

struct Point {
  int x, y;
  friend bool operator==(const Point& a, const Point& b) {
    return a.x == b.x && a.y == b.y;
  }
};

TEST(SharedQueueCodecTest, ATypeOfTheUsersHasACodec) {
  FakeClock clock;
  auto options = NewSharedQueueOptions<Point>(&clock);
  EXPECT_EQ(SharedQueue<Point>::Create(options).status().message(),
            "codec is empty; an item of this type needs its two functions");
  options.codec.encode = [](const Point& p) {
    return absl::StrCat(p.x, ",", p.y);
  };
  options.codec.decode = [](absl::string_view bytes) -> absl::StatusOr<Point> {
    int x, y;
    if (sscanf(std::string(bytes).c_str(), "%d,%d", &x, &y) == 2) {
      return Point{x, y};
    }
    return absl::InvalidArgumentError("no point");
  };
  const auto queue = NewSharedQueue(std::move(options));
  queue->Add({1, 2});
  queue->Add({1, 2});
  queue->Add({3, 4});
  EXPECT_EQ(queue->Len(), 2u);
  EXPECT_EQ(queue->Get(), (Point{1, 2}));
  EXPECT_EQ(queue->Get(), (Point{3, 4}));
  EXPECT_TRUE(queue->Done({1, 2}));
}

TEST(SharedQueueCodecTest, IntegersHaveOne) {
  FakeClock clock;
  const auto queue = NewSharedQueue(NewSharedQueueOptions<int64_t>(&clock));
  queue->Add(INT64_MIN);
  EXPECT_EQ(queue->Get(), INT64_MIN);
}

TEST(RetryScheduleTest, NoDelayIsNegative) {
  const absl::Duration second = absl::Seconds(1);
  EXPECT_EQ(FastSlowRetrySchedule(-second, second, 1).status().message(),
            "fast is -1s; it must not be negative");
  EXPECT_EQ(FastSlowRetrySchedule(second, -second, 1).status().message(),
            "slow is -1s; it must not be negative");
  EXPECT_EQ(*FastSlowRetrySchedule(absl::ZeroDuration(), second, 1),
            (RetrySchedule{absl::ZeroDuration(), second}));
}

// As in an `ItemExponentialFailureRateLimiter`.
TEST(RetryScheduleTest, TheFirstDelayIsNoLongerThanTheLast) {
  const absl::Duration second = absl::Seconds(1);
  EXPECT_EQ(ExponentialRetrySchedule(2 * second, second).status(),
            absl::InvalidArgumentError(
                "base is 2s; it must not exceed max, which is 1s"));
  EXPECT_EQ(ExponentialRetrySchedule(absl::InfiniteDuration(), second).status(),
            absl::InvalidArgumentError(
                "base is inf; it must be finite and positive"));
  EXPECT_EQ(*ExponentialRetrySchedule(second, second), RetrySchedule{second});
}

TEST(SharedQueueOptionsTest, WrongOptionsAreRefused) {
  FakeClock clock;
  const auto error = [&](void (*change)(Options*)) {
    Options options = NewSharedQueueOptions<std::string>(&clock);
    change(&options);
    const absl::Status status = Queue::Create(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(error([](Options* o) { o->name = ""; }),
            "name is empty; a shared queue needs one");
  EXPECT_EQ(error([](Options* o) { o->name = "a{b}"; }),
            "name is \"a{b}\"; it must not contain '{' or '}'");
  EXPECT_EQ(error([](Options* o) { o->lease = absl::Milliseconds(9); }),
            "lease is 9ms; it must be at least 10ms");
  EXPECT_EQ(error([](Options* o) { o->call_timeout = absl::ZeroDuration(); }),
            "call_timeout is 0; it must be finite and positive");
  EXPECT_EQ(error([](Options* o) { o->retry_schedule.clear(); }),
            "retry_schedule is empty; it must have at least one delay");
  EXPECT_EQ(error([](Options* o) {
              o->retry_schedule = {absl::ZeroDuration(), -absl::Seconds(1)};
            }),
            "retry_schedule[1] is -1s; it must not be negative");
  EXPECT_EQ(error([](Options* o) { o->retries_per_second = -1; }),
            "retries_per_second is -1; it must not be negative");
  EXPECT_EQ(error([](Options* o) { o->retries_per_second = -HUGE_VAL; }),
            "retries_per_second is -inf; it must not be negative");
  EXPECT_TRUE(
      absl::StartsWith(error([](Options* o) { o->retries_per_second = NAN; }),
                       "retries_per_second is nan"));
  EXPECT_EQ(error([](Options* o) { o->retry_burst = -5; }),
            "retry_burst is -5; it must not be negative");
  EXPECT_TRUE(
      absl::StartsWith(error([](Options* o) { o->redis.address = "nowhere"; }),
                       "address is \"nowhere\"; it must be \"host:port\", "));
  EXPECT_EQ(error([](Options* o) { o->partitions = 0; }),
            "partitions is 0; it must be from 1 to 256");
  for (const int prefetch : {-1, 101}) {
    Options options = NewSharedQueueOptions<std::string>(&clock);
    options.prefetch = prefetch;
    EXPECT_EQ(
        Queue::Create(options).status().message(),
        absl::StrCat("prefetch is ", prefetch, "; it must be from 0 to 100"));
  }
  EXPECT_EQ(error([](Options* o) { o->redis.database = -1; }),
            "database is -1; it must not be negative");
}

}  // namespace
}  // namespace workqueue::shared_queue_test
