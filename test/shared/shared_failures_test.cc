// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests the failures of a shared queue, which are in its server: all clients
// see the same, and an item is parked, listed and put back by any of them.

#include <cstddef>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/test_engines.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/failure_ledger.h"
#include "workqueue/failures.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/retry_schedule.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/shared/shared_queue_options.h"
#include "workqueue/snapshot.h"

namespace workqueue::shared_failures_test {
namespace {

using Queue = SharedQueue<std::string>;
using Outcome = SharedFailures<std::string>::Outcome;

constexpr absl::Duration kLease = absl::Seconds(30);
constexpr absl::Duration kFirstRetry = absl::Milliseconds(5);

using Items = std::vector<FailedItem<std::string>>;

Items List(absl::StatusOr<Items> items) {
  EXPECT_TRUE(items.ok()) << items.status();
  return *std::move(items);
}

FailureLedgerOptions AtFailure(int n) {
  FailureLedgerOptions limits;
  limits.max_failures = n;
  return limits;
}

// Three clients of one queue.
class SharedFailuresTest : public testing::TestWithParam<TestEngine> {
 protected:
  SharedQueueOptions<std::string> NewOptions() {
    return NewSharedQueueOptions<std::string>(&clock_, engine_.get());
  }

  std::unique_ptr<Queue> NewClient() {
    auto options = NewOptions();
    options.name = name_;
    options.lease = kLease;
    return NewSharedQueue(std::move(options));
  }

  // `client` acquires an item, whose processing fails. Waits for the item.
  static Outcome FailNext(Queue& client,
                          const FailureLedgerOptions& limits = {},
                          const std::string& error = "broken") {
    auto lease = client.TryAcquire();
    EXPECT_TRUE(lease.ok()) << lease.status();
    const auto outcome =
        client.Fail(&*lease, absl::InternalError(error), limits, std::nullopt);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_FALSE(*lease) << "it has ended";
    return *outcome;
  }

  // Lets time pass until an item that waits for its retry is queued.
  void AwaitRetry() { clock_.Step(absl::Minutes(20)); }

  // The names of the parked items, as each client lists them.
  std::string Parked() {
    std::string names;
    for (const Queue* client : {a_.get(), b_.get(), c_.get()}) {
      std::string its;
      for (const auto& it : List(client->Parked(10))) {
        EXPECT_TRUE(it.parked);
        absl::StrAppend(&its, it.item, " ");
      }
      if (client == a_.get()) names = its;
      EXPECT_EQ(its, names);
    }
    return names;
  }

  FakeClock clock_;
  const std::unique_ptr<internal::EngineSource> engine_ =
      GetParam().make(&clock_);
  const absl::Time start_ = clock_.TimeNow();
  const std::string name_ = NewQueueName();
  std::unique_ptr<Queue> a_ = NewClient();
  std::unique_ptr<Queue> b_ = NewClient();
  std::unique_ptr<Queue> c_ = NewClient();
};

TEST_P(SharedFailuresTest, TheFailuresOfAllClientsAreOneSeries) {
  a_->Add("x");
  for (int i = 1; i <= 4; ++i) {
    const Outcome outcome = FailNext(i % 2 == 0 ? *a_ : *b_, AtFailure(5));
    EXPECT_EQ(outcome.failures, i);
    EXPECT_FALSE(outcome.parked);
    EXPECT_FALSE(outcome.lost);
    EXPECT_EQ(c_->NumRequeues("x"), i);
    AwaitRetry();
  }
  const Outcome last = FailNext(*c_, AtFailure(5));
  EXPECT_EQ(last.failures, 5);
  EXPECT_TRUE(last.parked);
  EXPECT_EQ(Parked(), "x ");
  AwaitRetry();
  EXPECT_EQ(a_->Len(), 0u) << "it is not tried again";
  EXPECT_EQ(a_->NumRequeues("x"), 0);
}

TEST_P(SharedFailuresTest, ASuccessElsewhereEndsTheSeries) {
  for (int change = 0; change < 20; ++change) {
    a_->Add("x");
    EXPECT_FALSE(FailNext(*a_, AtFailure(2)).parked) << change;
    AwaitRetry();
    auto lease = b_->TryAcquire();
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_EQ(b_->FailuresBefore(*lease), 1);
    EXPECT_TRUE(lease->is_retry());
    b_->Forget("x");
    EXPECT_TRUE(lease->Done());
  }
  EXPECT_EQ(a_->Numbers()->failing, 0u);
}

TEST_P(SharedFailuresTest, OfAnItemEachClientTellsTheSame) {
  a_->AddWithOptions({.after = std::nullopt, .priority = 3}, {"x"});
  FailNext(*a_, {}, "one\nline");
  clock_.Step(kFirstRetry);
  FailNext(*b_, {}, "two");
  const auto found = c_->Find("x");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->failures, 2);
  EXPECT_FALSE(found->parked);
  EXPECT_EQ(found->last_error, "INTERNAL: two");
  EXPECT_EQ(found->first_failed_at, start_);
  EXPECT_EQ(found->last_failed_at, start_ + kFirstRetry);
  EXPECT_EQ(found->next_try_at, start_ + 3 * kFirstRetry);
  const auto snapshot = b_->TakeSnapshot();
  EXPECT_EQ(snapshot->num_failing, 1u);
  EXPECT_EQ(snapshot->num_parked, 0u);
  ASSERT_EQ(snapshot->waiting.size(), 1u);
  EXPECT_EQ(snapshot->waiting[0].last_error, "INTERNAL: two");
  EXPECT_EQ(snapshot->waiting[0].priority, 3);
  EXPECT_TRUE(snapshot->failing.empty()) << "nobody has asked for it";
  EXPECT_TRUE(absl::IsNotFound(c_->Find("y").status()));
  a_->Forget("x");
  EXPECT_TRUE(absl::IsNotFound(c_->Find("x").status()));
}

TEST_P(SharedFailuresTest, TheItemsThatFailMostComeFirst) {
  for (const char* item : {"once", "later", "most"}) {
    a_->Add(item);
    FailNext(*a_);
    clock_.Step(absl::Microseconds(1));
  }
  clock_.Step(kFirstRetry);
  for (int i = 0; i < 3; ++i) {
    auto lease = a_->TryAcquire();
    ASSERT_TRUE(lease.ok());
    if (**lease == "most") {
      ASSERT_TRUE(
          a_->Fail(&*lease, absl::AbortedError(""), {}, std::nullopt).ok());
    }
  }
  std::vector<std::string> names;
  for (const auto& it : List(b_->Failing(10))) names.push_back(it.item);
  EXPECT_EQ(names, (std::vector<std::string>{"most", "once", "later"}));
  EXPECT_EQ(b_->Failing(1)->size(), 1u);
  EXPECT_EQ(c_->Numbers()->failing, 3u);
}

TEST_P(SharedFailuresTest, ItemsAreParkedAfterSomeTime) {
  FailureLedgerOptions limits;
  limits.max_failing_time = absl::Hours(1);
  a_->Add("x");
  EXPECT_FALSE(FailNext(*a_, limits).parked);
  clock_.Step(absl::Hours(1) - absl::Milliseconds(1));
  EXPECT_FALSE(FailNext(*b_, limits).parked);
  AwaitRetry();
  EXPECT_TRUE(FailNext(*c_, limits).parked);
}

TEST_P(SharedFailuresTest, WhileTheMostAreParkedOthersAreRetried) {
  FailureLedgerOptions limits = AtFailure(1);
  limits.max_parked = 1;
  a_->AddAll({"x", "y"});
  EXPECT_TRUE(FailNext(*a_, limits).parked);
  EXPECT_FALSE(FailNext(*b_, limits).parked);
  EXPECT_EQ(Parked(), "x ");
  ASSERT_TRUE(*c_->Unpark("x"));
  AwaitRetry();
  EXPECT_TRUE(FailNext(*b_, limits).parked) << "at its next failure";
}

TEST_P(SharedFailuresTest, AnyClientPutsParkedItemsBack) {
  a_->AddAll({"x", "y", "z"});
  for (Queue* client : {a_.get(), b_.get(), c_.get()}) {
    FailNext(*client, AtFailure(1));
    clock_.Step(absl::Microseconds(1));
  }
  EXPECT_EQ(Parked(), "z y x ") << "the last one first";
  EXPECT_EQ(b_->Parked(2)->size(), 2u);
  EXPECT_TRUE(*a_->Unpark("y"));
  EXPECT_FALSE(*b_->Unpark("y")) << "it is parked no longer";
  EXPECT_FALSE(*b_->Unpark("w"));
  EXPECT_EQ(*b_->UnparkAll(), 2u);
  for (const char* item : {"y", "x", "z"}) {
    auto lease = c_->TryAcquire();
    ASSERT_TRUE(lease.ok());
    EXPECT_EQ(**lease, item);
    EXPECT_EQ(c_->FailuresBefore(*lease), 0) << "they start anew";
  }
  EXPECT_EQ(Parked(), "");
}

TEST_P(SharedFailuresTest, AnAddPutsAnItemBack) {
  for (const bool waits : {false, true}) {
    a_->Add("x");
    EXPECT_TRUE(FailNext(*a_, AtFailure(1)).parked);
    if (waits) {
      EXPECT_TRUE(b_->AddAfter("x", absl::Seconds(1)));
      EXPECT_EQ(Parked(), "x ") << "until then";
      clock_.Step(absl::Seconds(1));
    } else {
      EXPECT_TRUE(b_->Add("x"));
    }
    EXPECT_EQ(Parked(), "");
    EXPECT_EQ(c_->Get(), "x");
    EXPECT_EQ(c_->NumRequeues("x"), 0);
    EXPECT_TRUE(c_->Done("x"));
  }
}

TEST_P(SharedFailuresTest, SoDoesAnAddDuringTheProcessing) {
  a_->Add("x");
  auto lease = a_->TryAcquire();
  ASSERT_TRUE(lease.ok());
  b_->Add("x");
  EXPECT_TRUE(
      a_->Fail(&*lease, absl::AbortedError(""), AtFailure(1), std::nullopt)
          ->parked);
  EXPECT_EQ(Parked(), "");
  EXPECT_EQ(a_->Numbers()->failing, 0u);
  EXPECT_EQ(b_->Get(), "x");
}

TEST_P(SharedFailuresTest, AnAddDoesNotIfItMustNot) {
  FailureLedgerOptions limits = AtFailure(1);
  limits.unpark_on_add = false;
  a_->Add("x");
  auto lease = a_->TryAcquire();
  ASSERT_TRUE(lease.ok());
  b_->Add("x");
  EXPECT_TRUE(
      a_->Fail(&*lease, absl::AbortedError(""), limits, std::nullopt)->parked);
  EXPECT_TRUE(b_->Add("x"));
  EXPECT_TRUE(b_->AddRateLimited("x"));
  EXPECT_TRUE(b_->AddAfter("x", absl::Seconds(1)));
  AwaitRetry();
  EXPECT_EQ(c_->Len(), 0u);
  EXPECT_EQ(Parked(), "x ");
  a_->Forget("x");
  EXPECT_EQ(Parked(), "x ");
  EXPECT_TRUE(*a_->Unpark("x"));
  EXPECT_EQ(c_->Len(), 1u);
}

TEST_P(SharedFailuresTest, AChangeDuringAFailureIsTriedAtOnce) {
  a_->Add("x");
  auto lease = a_->TryAcquire();
  ASSERT_TRUE(lease.ok());
  b_->Add("x");
  ASSERT_TRUE(a_->Fail(&*lease, absl::AbortedError(""), {}, std::nullopt).ok());
  EXPECT_EQ(b_->Get(), "x");
}

// Otherwise that add would end the backoff of the whole series.
TEST_P(SharedFailuresTest, AChangeDuringAFailureIsTriedOnceOnly) {
  a_->Add("x");
  b_->Add("x");
  for (int failure = 1; failure <= 3; ++failure) {
    auto lease = a_->TryAcquire();
    ASSERT_TRUE(lease.ok()) << failure;
    if (failure == 1) b_->Add("x");
    clock_.Step(10 * kFirstRetry);  // longer than the delays
    ASSERT_TRUE(
        a_->Fail(&*lease, absl::AbortedError(""), {}, std::nullopt).ok());
    EXPECT_EQ(b_->Len(), failure == 1 ? 1u : 0u);
    if (failure > 1) AwaitRetry();
  }
}

TEST_P(SharedFailuresTest, AChangeBeforeARequeueIsProcessedOnceOnly) {
  a_->Add("x");
  auto lease = a_->TryAcquire();
  ASSERT_TRUE(lease.ok());
  b_->Add("x");
  AddOptions later;
  later.after = absl::Seconds(1);
  ASSERT_TRUE(a_->Requeue(&*lease, later).ok());
  EXPECT_EQ(b_->Len(), 1u);
  EXPECT_EQ(b_->TakeSnapshot()->num_waiting, 0u);
}

// A `Fail()` of it never comes.
TEST_P(SharedFailuresTest, AnItemThatEndsItsProcessIsParked) {
  for (const bool unpark_on_add : {true, false}) {
    FailureLedgerOptions limits = AtFailure(3);
    limits.unpark_on_add = unpark_on_add;
    ASSERT_TRUE(b_->SetLimits(limits).ok());
    clock_.Step(absl::ZeroDuration());
    a_->Add("x");
    for (int i = 1; i <= 3; ++i) {
      EXPECT_EQ(Parked(), "");
      auto lease = a_->TryAcquire();
      ASSERT_TRUE(lease.ok()) << i;
      clock_.Step(kLease);  // The client is suspended.
      a_->Len();            // Lets the engine look.
      AwaitRetry();
      EXPECT_FALSE(lease->Done());
    }
    EXPECT_EQ(Parked(), "x ");
    const auto failed = a_->Find("x");
    ASSERT_TRUE(failed.ok());
    EXPECT_EQ(failed->failures, 3);
    EXPECT_EQ(failed->last_error, "UNAVAILABLE: the lease expired");
    EXPECT_TRUE(b_->Add("x"));
    EXPECT_EQ(b_->Len(), unpark_on_add ? 1u : 0u);
    EXPECT_EQ(*b_->Unpark("x"), !unpark_on_add);
    EXPECT_EQ(b_->Get(), "x");
    EXPECT_TRUE(b_->Done("x"));
    b_->Forget("x");
  }
  FailureLedgerOptions wrong;
  wrong.max_failures = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(a_->SetLimits(wrong)));
}

// Nobody could renew a lease meanwhile.
TEST_P(SharedFailuresTest, ALongOutageIsNoFailure) {
  ASSERT_TRUE(b_->SetLimits(AtFailure(1)).ok());
  clock_.Step(absl::ZeroDuration());
  a_->Add("x");
  auto lease = a_->TryAcquire();
  ASSERT_TRUE(lease.ok());
  clock_.Step(2 * kLease);
  EXPECT_EQ(b_->NumRequeues("x"), 0);
  EXPECT_TRUE(lease->Done());
  EXPECT_EQ(Parked(), "");
}

TEST_P(SharedFailuresTest, ALostLeaseCountsOnce) {
  a_->Add("x");
  auto lease = a_->TryAcquire();
  ASSERT_TRUE(lease.ok());
  // The process is suspended: only the engine's time passes.
  auto other = NewClient();
  ASSERT_TRUE(lease->token() > 0);
  {
    auto options = NewOptions();
    options.name = name_;
    FakeClock ahead;
    ahead.Step(clock_.TimeNow() - ahead.TimeNow() + 2 * kLease);
    options.clock = &ahead;
    const auto witness = NewSharedQueue(std::move(options));
    EXPECT_EQ(witness->NumRequeues("x"), 1) << "the lease has expired";
    const auto outcome =
        a_->Fail(&*lease, absl::AbortedError(""), AtFailure(2), std::nullopt);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_TRUE(outcome->lost);
    EXPECT_FALSE(outcome->parked);
    EXPECT_EQ(witness->NumRequeues("x"), 1);
    EXPECT_EQ(witness->Find("x")->last_error, "UNAVAILABLE: the lease expired");
  }
}

TEST_P(SharedFailuresTest, AnErrorChoosesTheDelay) {
  a_->Add("x");
  auto lease = a_->TryAcquire();
  ASSERT_TRUE(lease.ok());
  ASSERT_TRUE(
      a_->Fail(&*lease, absl::AbortedError(""), {}, absl::Seconds(7)).ok());
  EXPECT_EQ(b_->Find("x")->next_try_at, start_ + absl::Seconds(7));
}

TEST_P(SharedFailuresTest, AfterAShutdownNothingIsTriedAgain) {
  a_->AddAll({"x", "y"});
  auto lease = a_->TryAcquire();
  ASSERT_TRUE(FailNext(*b_, AtFailure(1)).parked);
  b_->ShutDown();
  ASSERT_TRUE(a_->Fail(&*lease, absl::AbortedError(""), {}, std::nullopt).ok());
  EXPECT_TRUE(a_->ShutDownWithDrainWithin(absl::ZeroDuration()));
  EXPECT_FALSE(*a_->Unpark("y")) << "the queue does not take it";
  EXPECT_EQ(Parked(), "y ");
  ASSERT_TRUE(a_->Reopen().ok());
  EXPECT_TRUE(*a_->Unpark("y"));
}

TEST_P(SharedFailuresTest, WrongArgumentsAreNamed) {
  a_->Add("x");
  auto lease = a_->TryAcquire();
  const auto fail = [&](Queue& queue, const FailureLedgerOptions& limits) {
    const auto failed =
        queue.Fail(&*lease, absl::AbortedError(""), limits, std::nullopt);
    return std::string(failed.status().message());
  };
  EXPECT_EQ(fail(*a_, AtFailure(0)),
            "max_failures is 0; it must be at least 1");
  EXPECT_EQ(fail(*b_, {}), "lease leases no item of this queue");
  EXPECT_TRUE(*lease) << "it has not ended";
}

// A queue of several partitions is one to those who look.
TEST_P(SharedFailuresTest, PartitionsHaveOneList) {
  auto options = NewOptions();
  options.partitions = 4;
  const auto queue = NewSharedQueue(std::move(options));
  std::string expected;
  for (int i = 0; i < 10; ++i) {
    queue->Add(absl::StrCat(i));
    FailNext(*queue, i % 2 == 0 ? AtFailure(1) : FailureLedgerOptions());
    clock_.Step(absl::Microseconds(1));
    if (i % 2 == 0) expected = absl::StrCat(i, " ", expected);
  }
  std::string parked, failing;
  for (const auto& it : List(queue->Parked(5))) {
    absl::StrAppend(&parked, it.item, " ");
  }
  for (const auto& it : List(queue->Failing(5))) {
    absl::StrAppend(&failing, it.item, " ");
  }
  EXPECT_EQ(parked, expected);
  EXPECT_EQ(failing, "1 3 5 7 9 ");
  EXPECT_EQ(queue->Numbers()->parked, 5u);
  EXPECT_EQ(*queue->UnparkAll(), 5u);
  EXPECT_EQ(queue->Numbers()->parked, 0u);
}

// A shared queue does what a `FailureLedger` does beside a queue in memory.
TEST_P(SharedFailuresTest, AgreesWithALedgerInMemory) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](int n) {
      return static_cast<int>(random() % n);
    };
    FailureLedgerOptions limits = AtFailure(1 + below(4));
    if (below(2) == 0) limits.max_failing_time = absl::Minutes(1 + below(30));
    limits.unpark_on_add = below(2) == 0;
    limits.clock = &clock_;
    const absl::Duration delay = absl::Seconds(1);

    RateLimitingQueueOptions<std::string> options;
    options.clock = &clock_;
    options.rate_limiter =
        *ItemExponentialFailureRateLimiter<std::string>::Create(delay,
                                                                8 * delay);
    RateLimiter<std::string>* const limiter = options.rate_limiter.get();
    const auto memory =
        std::make_unique<RateLimitingQueue<std::string>>(std::move(options));
    const auto ledger = *FailureLedger<std::string>::Create(limits);

    auto shared_options = NewOptions();
    shared_options.retry_schedule = *ExponentialRetrySchedule(delay, 8 * delay);
    const auto shared = NewSharedQueue(std::move(shared_options));

    for (int step = 0; step < 300; ++step) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", step ", step));
      const std::string item = absl::StrCat(below(4));
      switch (below(8)) {
        case 0:
        case 1:
          memory->Add(item);
          shared->Add(item);
          break;
        case 2: {
          const absl::Duration after = absl::Seconds(1 + below(60));
          memory->AddAfter(item, after);
          shared->AddAfter(item, after);
          break;
        }
        case 3:
          // An add of a parked item counts at once in the engine, and in a
          // ledger when a worker has it.
          if (!memory->TakeSnapshotOf(item)->queued.empty()) break;
          EXPECT_EQ(ledger->Unpark(item, memory.get()), *shared->Unpark(item));
          break;
        case 4:
          clock_.Step(absl::Seconds(1 + below(100)));
          break;
        default: {
          auto lease = memory->TryAcquire();
          // An item that must not be processed is only in the queue in memory.
          while (lease.ok() && !ledger->ShouldProcess(**lease)) {
            lease = memory->TryAcquire();
          }
          auto other = shared->TryAcquire();
          ASSERT_EQ(lease.ok(), other.ok());
          if (!lease.ok()) break;
          ASSERT_EQ(**lease, **other);
          const std::string taken = **lease;
          const bool added_again = below(3) == 0;
          if (added_again) {
            memory->Add(taken);
            shared->Add(taken);
          }
          if (below(3) == 0) {
            ledger->Forget(taken);
            memory->Forget(taken);
            shared->Forget(taken);
            break;
          }
          const absl::Status error = absl::InternalError(absl::StrCat(step));
          const bool parked = ledger->RecordFailure(taken, error);
          if (parked) {
            memory->Forget(taken);
          } else if (added_again) {
            limiter->When(taken);  // It does not wait besides.
          } else {
            memory->AddRateLimited(taken);
          }
          lease->Done();
          const auto outcome =
              shared->Fail(&*other, error, limits, std::nullopt);
          ASSERT_TRUE(outcome.ok()) << outcome.status();
          EXPECT_EQ(outcome->parked, parked);
          clock_.Step(
              absl::Milliseconds(1));  // Lists are in the order of times.
          break;
        }
      }
    }
    std::string in_memory, in_engine;
    const auto append = [](const FailedItem<std::string>& it, std::string* to) {
      absl::StrAppend(to, it.item, " ", it.failures, " ", it.last_error, " ",
                      absl::FormatTime(it.first_failed_at), " ",
                      absl::FormatTime(it.last_failed_at), "\n");
    };
    for (const auto& it : ledger->Failing(9)) append(it, &in_memory);
    for (const auto& it : List(shared->Failing(9))) append(it, &in_engine);
    EXPECT_EQ(in_memory, in_engine);
  }
}

// As the in-memory queue counts: each item when it comes to be queued or dirty.
TEST_P(SharedFailuresTest, EachAddIsCountedOnce) {
  RecordingMetrics metrics;
  auto options = NewOptions();
  options.name = name_;
  options.metrics_provider = &metrics;
  const auto queue = NewSharedQueue(std::move(options));
  const auto adds = [&metrics] { return metrics.count(MetricKind::kAdds); };
  const auto retries = [&metrics] {
    return metrics.count(MetricKind::kRetries);
  };
  queue->Add("x");
  EXPECT_EQ(adds(), 1);
  FailNext(*queue);
  EXPECT_EQ(adds(), 1) << "it waits";
  EXPECT_EQ(retries(), 1);
  // Another client may find that it is due.
  queue->Forget("x");
  queue->CancelDelayed("x");
  queue->Add("x");
  EXPECT_EQ(adds(), 2);
  FailNext(*queue, AtFailure(1));
  EXPECT_EQ(adds(), 2) << "it is parked";
  EXPECT_EQ(retries(), 1);
  EXPECT_TRUE(*queue->Unpark("x"));
  EXPECT_EQ(adds(), 3);
  auto lease = queue->TryAcquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_TRUE(queue->Requeue(&*lease, AddOptions()).ok());
  EXPECT_EQ(adds(), 4);
  lease = queue->TryAcquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_TRUE(queue->Requeue(&*lease, AddOptions::After(absl::Hours(1))).ok());
  EXPECT_EQ(adds(), 4) << "it waits";
  EXPECT_TRUE(queue->CancelDelayed("x"));
  queue->Add("x");
  EXPECT_EQ(adds(), 5);
  lease = queue->TryAcquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  queue->Add("x");
  EXPECT_EQ(adds(), 6);
  EXPECT_TRUE(queue->Requeue(&*lease, AddOptions()).ok());
  EXPECT_EQ(adds(), 6) << "it was added already";
}

INSTANTIATE_ENGINE_TESTS(SharedFailuresTest);

}  // namespace
}  // namespace workqueue::shared_failures_test
