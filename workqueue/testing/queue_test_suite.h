// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The tests that every implementation of `Interface` and `DelayingInterface`
// must pass, as parameterized test suites of GoogleTest. Include this header in
// one source file of a test program, and instantiate the suites for your queue:
//
//     INSTANTIATE_TEST_SUITE_P(
//         MyQueue, workqueue::QueueTestSuite,
//         testing::Values(workqueue::QueueTestCase{
//             "MyQueue", [](workqueue::FakeClock* clock) {
//               return std::make_unique<MyQueue>(clock);
//             }}));
//
// The program needs GoogleTest's main function. The queue must use the
// `FakeClock`, so that no test sleeps.
//
// Instantiate `AcquireAsyncTestSuite`, too, if the queue serves callbacks. A
// queue that leaves `AcquireAsync()` to `QueueBase` does not.

#ifndef WORKQUEUE_TESTING_QUEUE_TEST_SUITE_H_
#define WORKQUEUE_TESTING_QUEUE_TEST_SUITE_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <future>  // NOLINT(build/c++11)
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/snapshot.h"
#include "workqueue/testing/manual_executor.h"
#include "workqueue/testing/thread.h"
#include "workqueue/thread_pool.h"

namespace workqueue {

// QueueTestCase
//
// An implementation of `Interface` under test.
struct QueueTestCase {
  // The name of the implementation in messages.
  std::string name;

  // Returns an empty queue that uses the given clock.
  std::function<std::unique_ptr<Interface<std::string>>(FakeClock*)> make;

  // Whether items that were added while they were being processed are queued
  // again in the order of these additions, as in `PriorityQueue`, and not in
  // the order of their `Done()`.
  bool comes_back_in_order_of_add = false;

  // Whether an item keeps its place when its lease is given back. `QueueBase`
  // puts the item last.
  bool give_back_keeps_place = true;

  friend void PrintTo(const QueueTestCase& test_case, std::ostream* os) {
    *os << test_case.name;
  }
};

// DelayingQueueTestCase
//
// An implementation of `DelayingInterface` under test.
struct DelayingQueueTestCase {
  // The name of the implementation in messages.
  std::string name;

  // Returns an empty queue that uses the given clock.
  std::function<std::unique_ptr<DelayingInterface<std::string>>(FakeClock*)>
      make;

  friend void PrintTo(const DelayingQueueTestCase& test_case,
                      std::ostream* os) {
    *os << test_case.name;
  }
};

// QueueTestSuite
//
// Tests the promises of `Interface`.
class QueueTestSuite : public testing::TestWithParam<QueueTestCase> {
 protected:
  // Blocks until a shutdown has begun on another thread. The queue must be
  // empty.
  void AwaitShutDown() { EXPECT_EQ(queue_->Get(), std::nullopt); }

  // Starts `Get()` on another thread, which most probably blocks by now.
  std::future<std::optional<std::string>> StartGet() {
    absl::Notification begun;
    auto got = Async([this, &begun] {
      begun.Notify();
      return queue_->Get();
    });
    begun.WaitForNotification();
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
    return got;
  }

  // Starts `ShutDownWithDrain()` on another thread, and returns its result.
  std::future<bool> StartDrain() {
    return Async([this] { return queue_->ShutDownWithDrain(); });
  }

  FakeClock clock_;
  const std::unique_ptr<Interface<std::string>> queue_ =
      GetParam().make(&clock_);
};

// AcquireAsyncTestSuite
//
// Tests the promises of `Interface::AcquireAsync()` and of the functions that
// belong to it.
class AcquireAsyncTestSuite : public testing::TestWithParam<QueueTestCase> {
 protected:
  using Item = absl::StatusOr<Lease<std::string>>;
  using Results = std::vector<std::string>;

  ~AcquireAsyncTestSuite() override {
    // The destructor of the queue waits for all callbacks.
    queue_->ShutDown();
    executor_.RunAll();
  }

  // Returns a callback that appends its `name` and its item or error to
  // results_. It ends the processing of the item at once.
  AcquireCallback<std::string> Note(const std::string& name) {
    return [this, name](Item item) {
      results_.push_back(
          name + ":" +
          (item.ok() ? **item
                     : absl::StatusCodeToString(item.status().code())));
    };
  }

  // Makes that callback wait, on executor_.
  AcquireId Acquire(const std::string& name) {
    const AcquireId id = queue_->AcquireAsync(&executor_, Note(name));
    Settle();
    return id;
  }

  // Makes `n` callbacks wait in `*queue`, which count their calls and must get
  // `absl::CancelledError`.
  static void AcquireMany(Interface<std::string>* queue, Executor* executor,
                          int n, std::atomic<int>* cancelled) {
    for (int i = 0; i < n; ++i) {
      queue->AcquireAsync(executor, [i, cancelled](Item item) {
        EXPECT_TRUE(absl::IsCancelled(item.status())) << i;
        ++*cancelled;
      });
    }
  }

  // Lets a thread of the queue do what the calls so far require. A queue whose
  // items live elsewhere may need such a thread, because these calls do not
  // block.
  void Settle() { clock_.Step(absl::ZeroDuration()); }

  FakeClock clock_;
  ManualExecutor executor_;
  InlineExecutor inline_;
  Results results_;
  const std::unique_ptr<Interface<std::string>> queue_ =
      GetParam().make(&clock_);
};

// DelayingQueueTestSuite
//
// Tests the promises of `DelayingInterface`.
class DelayingQueueTestSuite
    : public testing::TestWithParam<DelayingQueueTestCase> {
 protected:
  static constexpr absl::Duration kNs = absl::Nanoseconds(1);

  // Gets all queued items and ends their processing. Returns the items in the
  // order of the gets.
  std::vector<std::string> TakeAll() {
    std::vector<std::string> items;
    while (queue_->Len() > 0) {
      items.push_back(*queue_->Get());
      queue_->Done(items.back());
    }
    return items;
  }

  FakeClock clock_;
  const std::unique_ptr<DelayingInterface<std::string>> queue_ =
      GetParam().make(&clock_);
};

// A program may instantiate only one of the suites.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QueueTestSuite);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AcquireAsyncTestSuite);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DelayingQueueTestSuite);

// Implementation details follow.

TEST_P(QueueTestSuite, IsEmptyAtFirst) {
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_FALSE(queue_->ShuttingDown());
}

TEST_P(QueueTestSuite, HandsItemsOutInTheOrderOfAddition) {
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(queue_->Add(std::to_string(i)));
  EXPECT_EQ(queue_->Len(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(queue_->Get(), std::to_string(i));
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_P(QueueTestSuite, AnItemAddedSeveralTimesIsProcessedOnce) {
  EXPECT_TRUE(queue_->Add("a"));
  EXPECT_TRUE(queue_->Add("b"));
  EXPECT_TRUE(queue_->Add("a"));
  EXPECT_TRUE(queue_->Add("a"));
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_EQ(queue_->Get(), "a") << "it keeps its place";
  EXPECT_EQ(queue_->Get(), "b");
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_TRUE(queue_->Done("b"));
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_P(QueueTestSuite, AnItemAddedWhileItIsProcessedIsProcessedAgain) {
  queue_->Add("a");
  queue_->Add("b");
  ASSERT_EQ(queue_->Get(), "a");
  EXPECT_TRUE(queue_->Add("a"));
  EXPECT_TRUE(queue_->Add("a"));
  EXPECT_EQ(queue_->Len(), 1u) << "not before Done()";
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_EQ(queue_->Get(), "b") << "it goes to the end";
  EXPECT_EQ(queue_->Get(), "a");
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_EQ(queue_->Len(), 0u) << "once, however often it was added";
}

TEST_P(QueueTestSuite, ItemsAddedWhileProcessedComeBackInOrder) {
  for (const char* item : {"a", "b", "c"}) queue_->Add(item);
  for (const char* item : {"a", "b", "c"}) ASSERT_EQ(queue_->Get(), item);
  for (const char* item : {"a", "b", "c"}) queue_->Add(item);
  for (const char* item : {"b", "c", "a"}) EXPECT_TRUE(queue_->Done(item));
  const std::vector<std::string> expected =
      GetParam().comes_back_in_order_of_add
          ? std::vector<std::string>{"a", "b", "c"}
          : std::vector<std::string>{"b", "c", "a"};
  for (const std::string& item : expected) EXPECT_EQ(queue_->Get(), item);
}

TEST_P(QueueTestSuite, AnItemCanBeAddedAgainOnceItIsDone) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(queue_->Add("a"));
    EXPECT_EQ(queue_->Len(), 1u);
    EXPECT_EQ(queue_->Get(), "a");
    EXPECT_EQ(queue_->Len(), 0u);
    EXPECT_TRUE(queue_->Done("a"));
  }
}

TEST_P(QueueTestSuite, DoneIgnoresWhatIsNotBeingProcessed) {
  EXPECT_FALSE(queue_->Done("a")) << "never added";
  queue_->Add("a");
  EXPECT_FALSE(queue_->Done("a")) << "queued";
  EXPECT_EQ(queue_->Len(), 1u);
  ASSERT_EQ(queue_->Get(), "a");
  EXPECT_FALSE(queue_->Done("b")) << "another one";
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_FALSE(queue_->Done("a")) << "done already";
  queue_->Add("a");
  EXPECT_FALSE(queue_->Done("a")) << "queued again";
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(queue_->Get(), "a");
}

// A worker that calls Done() twice does not harm an item that is queued again.
TEST_P(QueueTestSuite, DoneTwiceLeavesAnItemThatCameBackQueued) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  queue_->Add("a");
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_FALSE(queue_->Done("a"));
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(queue_->Get(), "a");
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_P(QueueTestSuite, GetBlocksUntilThereIsAnItem) {
  auto got = StartGet();
  EXPECT_TRUE(queue_->Add("a"));
  EXPECT_EQ(got.get(), "a");
}

TEST_P(QueueTestSuite, EachAddServesOneGet) {
  constexpr int kGetters = 8;
  std::vector<std::future<std::optional<std::string>>> getters;
  for (int i = 0; i < kGetters; ++i) {
    getters.push_back(StartGet());
  }
  for (int i = 0; i < kGetters; ++i) queue_->Add(std::to_string(i));
  std::vector<bool> seen(kGetters);
  for (auto& getter : getters) seen[std::stoul(*getter.get())] = true;
  EXPECT_EQ(seen, std::vector<bool>(kGetters, true));
}

TEST_P(QueueTestSuite, DoneServesAGetIfTheItemComesBack) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  auto got = StartGet();
  queue_->Add("a");
  queue_->Done("a");
  EXPECT_EQ(got.get(), "a");
}

TEST_P(QueueTestSuite, NothingIsAddedAfterShutDown) {
  queue_->Add("queued");
  queue_->Add("processing");
  ASSERT_EQ(queue_->Get(), "queued");
  ASSERT_EQ(queue_->Get(), "processing");
  queue_->Done("queued");
  queue_->Add("queued");
  queue_->ShutDown();
  EXPECT_TRUE(queue_->ShuttingDown());
  for (const char* item : {"new", "queued", "processing"}) {
    EXPECT_FALSE(queue_->Add(item)) << item;
  }
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(queue_->Get(), "queued");
  EXPECT_TRUE(queue_->Done("processing"));
  EXPECT_EQ(queue_->Get(), std::nullopt);
}

TEST_P(QueueTestSuite, WhatIsQueuedIsHandedOutAfterShutDown) {
  queue_->Add("a");
  queue_->Add("b");
  queue_->ShutDown();
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_EQ(queue_->Get(), "a");
  EXPECT_EQ(queue_->Get(), "b");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue_->Get(), std::nullopt);
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_TRUE(queue_->Done("b"));
  EXPECT_FALSE(queue_->Done("b"));
}

TEST_P(QueueTestSuite, AnItemAddedAgainBeforeShutDownIsProcessedAfterIt) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  queue_->Add("a");
  queue_->ShutDown();
  EXPECT_EQ(queue_->Get(), std::nullopt) << "not before Done()";
  queue_->Done("a");
  EXPECT_EQ(queue_->Get(), "a");
  queue_->Done("a");
  EXPECT_EQ(queue_->Get(), std::nullopt);
}

TEST_P(QueueTestSuite, ShutDownEndsEveryGet) {
  std::vector<std::future<std::optional<std::string>>> getters;
  for (int i = 0; i < 8; ++i) {
    getters.push_back(StartGet());
  }
  queue_->ShutDown();
  for (auto& getter : getters) EXPECT_EQ(getter.get(), std::nullopt);
}

TEST_P(QueueTestSuite, ShutDownMayBeCalledAgain) {
  queue_->Add("a");
  for (int i = 0; i < 3; ++i) queue_->ShutDown();
  EXPECT_TRUE(queue_->ShuttingDown());
  EXPECT_EQ(queue_->Get(), "a");
  queue_->ShutDown();
  EXPECT_TRUE(queue_->Done("a"));
  queue_->ShutDown();
  EXPECT_EQ(queue_->Get(), std::nullopt);
  EXPECT_TRUE(queue_->ShutDownWithDrain());
  queue_->ShutDown();
}

TEST_P(QueueTestSuite, ShutDownMayBeCalledByManyAtOnce) {
  queue_->Add("a");
  std::vector<Thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this] {
      queue_->ShutDown();
      EXPECT_TRUE(queue_->ShuttingDown());
      EXPECT_FALSE(queue_->Add("b"));
    });
  }
  for (Thread& thread : threads) thread.join();
  EXPECT_EQ(queue_->Get(), "a");
  EXPECT_EQ(queue_->Get(), std::nullopt);
}

TEST_P(QueueTestSuite, AWorkerMayShutDown) {
  for (int i = 0; i < 10; ++i) queue_->Add(std::to_string(i));
  std::atomic<int> processed{0};
  std::vector<Thread> workers;
  for (int w = 0; w < 4; ++w) {
    workers.emplace_back([&] {
      while (std::optional<std::string> item = queue_->Get()) {
        if (*item == "5") queue_->ShutDown();
        ++processed;
        EXPECT_TRUE(queue_->Done(*item));
      }
    });
  }
  for (Thread& worker : workers) worker.join();
  EXPECT_EQ(processed, 10);
}

TEST_P(QueueTestSuite, DrainOfAnIdleQueueDoesNotBlock) {
  EXPECT_TRUE(queue_->ShutDownWithDrain());
  EXPECT_TRUE(queue_->ShuttingDown());
  EXPECT_FALSE(queue_->Add("a"));
  EXPECT_EQ(queue_->Get(), std::nullopt);
  EXPECT_TRUE(queue_->ShutDownWithDrain());
}

TEST_P(QueueTestSuite, DrainWaitsForWhatIsInFlight) {
  queue_->Add("a");
  queue_->Add("b");
  ASSERT_EQ(queue_->Get(), "a");
  ASSERT_EQ(queue_->Get(), "b");
  std::atomic<bool> all_done{false};
  auto drained = Async([&] {
    const bool result = queue_->ShutDownWithDrain();
    EXPECT_TRUE(all_done);
    return result;
  });
  AwaitShutDown();
  EXPECT_TRUE(queue_->Done("b"));
  EXPECT_FALSE(queue_->Done("b"));
  all_done = true;
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_TRUE(drained.get());
}

TEST_P(QueueTestSuite, DrainWaitsForWhatIsQueued) {
  constexpr int kItems = 50;
  for (int i = 0; i < kItems; ++i) queue_->Add(std::to_string(i));
  std::atomic<int> done{0};
  auto drained = Async([&] {
    const bool result = queue_->ShutDownWithDrain();
    EXPECT_EQ(done, kItems);
    EXPECT_EQ(queue_->Len(), 0u);
    return result;
  });
  while (std::optional<std::string> item = queue_->Get()) {
    ++done;
    queue_->Done(*item);
  }
  EXPECT_TRUE(drained.get());
}

TEST_P(QueueTestSuite, DrainWaitsForWhatComesBack) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  queue_->Add("a");
  auto drained = StartDrain();
  AwaitShutDown();
  // No item is being processed after this call, but the drain must still wait:
  // the item is queued again.
  EXPECT_TRUE(queue_->Done("a"));
  queue_->ShutDown();
  EXPECT_FALSE(drained.get());
  EXPECT_EQ(queue_->Get(), "a");
}

TEST_P(QueueTestSuite, ASpuriousDoneDoesNotEndADrain) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  auto drained = StartDrain();
  AwaitShutDown();
  EXPECT_FALSE(queue_->Done("b"));
  queue_->ShutDown();
  EXPECT_FALSE(drained.get());
}

TEST_P(QueueTestSuite, ShutDownEndsADrain) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  auto drained = StartDrain();
  AwaitShutDown();
  queue_->ShutDown();
  EXPECT_FALSE(drained.get());
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_TRUE(queue_->ShutDownWithDrain()) << "there is nothing left";
}

TEST_P(QueueTestSuite, DrainAfterShutDownWaitsToo) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  queue_->ShutDown();
  std::atomic<bool> done{false};
  absl::Notification begun;
  auto drained = Async([&] {
    begun.Notify();
    const bool result = queue_->ShutDownWithDrain();
    EXPECT_TRUE(done);
    return result;
  });
  begun.WaitForNotification();
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  done = true;
  queue_->Done("a");
  EXPECT_TRUE(drained.get());
}

TEST_P(QueueTestSuite, SeveralMayDrainAtOnce) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  std::vector<std::future<bool>> drained;
  for (int i = 0; i < 4; ++i) drained.push_back(StartDrain());
  AwaitShutDown();
  queue_->Done("a");
  for (auto& one : drained) EXPECT_TRUE(one.get());
}

TEST_P(QueueTestSuite, ManyProducersAndConsumers) {
  constexpr size_t kProducers = 4, kConsumers = 4, kItems = 10, kAdds = 500;
  std::vector<std::atomic<int>> added(kItems), seen(kItems), workers_on(kItems);
  std::atomic<bool> shared{false};
  std::vector<Thread> producers, consumers;
  for (size_t p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      for (size_t i = 0; i < kAdds; ++i) {
        const size_t item = (i * (p + 1)) % kItems;
        ++added[item];
        EXPECT_TRUE(queue_->Add(std::to_string(item)));
      }
    });
  }
  for (size_t c = 0; c < kConsumers; ++c) {
    consumers.emplace_back([&, c] {
      const auto process = [&](const std::string& got) {
        const size_t item = std::stoul(got);
        if (++workers_on[item] > 1) shared = true;
        seen[item] = added[item].load();
        --workers_on[item];
      };
      if (c % 2 == 0) {
        while (std::optional<std::string> got = queue_->Get()) {
          process(*got);
          EXPECT_TRUE(queue_->Done(*got));
        }
      } else {
        Lease<std::string> lease;
        while (queue_->AcquireNext(&lease).ok()) process(*lease);
      }
    });
  }
  for (Thread& producer : producers) producer.join();
  EXPECT_TRUE(queue_->ShutDownWithDrain());
  for (Thread& consumer : consumers) consumer.join();
  EXPECT_FALSE(shared) << "two workers had an item at the same time";
  for (size_t i = 0; i < kItems; ++i) {
    EXPECT_EQ(seen[i], added[i]) << "an addition of " << i << " went unseen";
  }
}

TEST_P(QueueTestSuite, CanBeDestroyedInAnyState) {
  for (int adds = 0; adds < 3; ++adds) {
    for (int gets = 0; gets <= adds; ++gets) {
      for (bool again : {false, true}) {
        for (bool shut_down : {false, true}) {
          auto queue = GetParam().make(&clock_);
          for (int i = 0; i < adds; ++i) queue->Add(std::to_string(i));
          for (int i = 0; i < gets; ++i) {
            const std::optional<std::string> item = queue->Get();
            if (again) queue->Add(*item);
          }
          if (shut_down) queue->ShutDown();
        }
      }
    }
  }
}

TEST_P(QueueTestSuite, AGetWithoutAnItemEndsAtItsDeadline) {
  EXPECT_TRUE(absl::IsDeadlineExceeded(queue_->TryGet().status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(queue_->TryAcquire().status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      queue_->AcquireUpToWithTimeout(2, absl::ZeroDuration()).status()));
  queue_->Add("a");
  const absl::StatusOr<std::string> got = queue_->TryGet();
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(*got, "a");
}

TEST_P(QueueTestSuite, AnEmptyQueueThatIsShutDownCancelsEveryGet) {
  queue_->ShutDown();
  Lease<std::string> lease;
  EXPECT_TRUE(absl::IsCancelled(queue_->TryGet().status()));
  EXPECT_TRUE(absl::IsCancelled(queue_->TryAcquire().status()));
  EXPECT_TRUE(absl::IsCancelled(queue_->Acquire().status()));
  EXPECT_TRUE(absl::IsCancelled(queue_->AcquireNext(&lease)));
  EXPECT_FALSE(lease);
  EXPECT_TRUE(absl::IsCancelled(queue_->AcquireUpTo(2).status()));
}

TEST_P(QueueTestSuite, ALeaseEndsTheProcessing) {
  queue_->Add("a");
  {
    const absl::StatusOr<Lease<std::string>> lease = queue_->Acquire();
    ASSERT_TRUE(lease.ok());
    EXPECT_EQ(**lease, "a");
    queue_->Add("a");
    EXPECT_EQ(queue_->Len(), 0u) << "it is still being processed";
  }
  EXPECT_EQ(queue_->Len(), 1u);
}

TEST_P(QueueTestSuite, AcquireNextEndsThePreviousLease) {
  queue_->AddAll({"a", "b"});
  Lease<std::string> lease;
  ASSERT_TRUE(queue_->AcquireNext(&lease).ok());
  EXPECT_EQ(*lease, "a");
  queue_->Add("a");
  ASSERT_TRUE(queue_->AcquireNext(&lease).ok());
  EXPECT_EQ(*lease, "b");
  EXPECT_EQ(queue_->Get(), "a") << "its lease has ended";
}

TEST_P(QueueTestSuite, ABatchHasAtMostMaxLeases) {
  queue_->AddAll({"a", "b", "c"});
  const absl::StatusOr<LeaseBatch<std::string>> batch = queue_->AcquireUpTo(2);
  ASSERT_TRUE(batch.ok());
  ASSERT_EQ(batch->size(), 2u);
  EXPECT_EQ(*(*batch)[0], "a");
  EXPECT_EQ(*(*batch)[1], "b");
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(queue_->AcquireUpTo(0).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(QueueTestSuite, AnItemThatIsGivenBackIsQueuedAgain) {
  queue_->AddAll({"a", "b"});
  absl::StatusOr<Lease<std::string>> lease = queue_->Acquire();
  ASSERT_TRUE(lease.ok());
  lease->GiveBack();
  EXPECT_FALSE(*lease);
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_EQ(queue_->Get(), GetParam().give_back_keeps_place ? "a" : "b");
  EXPECT_EQ(queue_->Get(), GetParam().give_back_keeps_place ? "b" : "a");
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_TRUE(queue_->Done("b"));
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_P(QueueTestSuite, AnItemThatWasAddedAgainIsQueuedOnceWhenGivenBack) {
  queue_->Add("a");
  absl::StatusOr<Lease<std::string>> lease = queue_->Acquire();
  ASSERT_TRUE(lease.ok());
  queue_->Add("a");
  lease->GiveBack();
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(queue_->Get(), "a");
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_P(QueueTestSuite, AnItemThatIsGivenBackServesAGet) {
  queue_->Add("a");
  absl::StatusOr<Lease<std::string>> lease = queue_->Acquire();
  ASSERT_TRUE(lease.ok());
  auto got = StartGet();
  lease->GiveBack();
  EXPECT_EQ(got.get(), "a");
}

TEST_P(QueueTestSuite, AClosedQueueTakesNothing) {
  queue_->Close();
  queue_->Close();
  EXPECT_TRUE(queue_->ShuttingDown());
  EXPECT_FALSE(queue_->Add("a"));
  EXPECT_FALSE(queue_->AddAll({"a"}));
  EXPECT_TRUE(absl::IsCancelled(queue_->TryGet().status()));
}

TEST_P(QueueTestSuite, CloseEndsEveryGet) {
  std::vector<std::future<std::optional<std::string>>> getters;
  for (int i = 0; i < 4; ++i) {
    getters.push_back(StartGet());
  }
  queue_->Close();
  for (auto& getter : getters) EXPECT_EQ(getter.get(), std::nullopt);
}

TEST_P(QueueTestSuite, ASnapshotHasAllItems) {
  queue_->AddAll({"a", "b", "c", "d", "e"});
  EXPECT_EQ(queue_->Get(), "a");
  EXPECT_EQ(queue_->Get(), "b");
  queue_->Add("b");
  const Snapshot<std::string> snapshot = *queue_->TakeSnapshot();
  EXPECT_EQ(snapshot.taken_at, clock_.TimeNow());
  EXPECT_FALSE(snapshot.shutting_down);
  EXPECT_EQ(snapshot.queued.size(), 3u);
  EXPECT_EQ(snapshot.num_queued, 3u);
  ASSERT_EQ(snapshot.processing.size(), 2u);
  EXPECT_EQ(snapshot.num_processing, 2u);
  EXPECT_EQ(snapshot.processing[0].item, "a");
  EXPECT_FALSE(snapshot.processing[0].added_again);
  EXPECT_EQ(snapshot.processing[1].item, "b");
  EXPECT_TRUE(snapshot.processing[1].added_again);
  EXPECT_TRUE(snapshot.waiting.empty());
  EXPECT_EQ(snapshot.num_waiting, 0u);
}

TEST_P(QueueTestSuite, ABoundedSnapshotHasTheFirstItemsAndAllNumbers) {
  queue_->AddAll({"a", "b", "c", "d", "e"});
  EXPECT_EQ(queue_->Get(), "a");
  EXPECT_EQ(queue_->Get(), "b");
  const Snapshot<std::string> all = *queue_->TakeSnapshot();
  ASSERT_EQ(all.queued.size(), 3u);
  ASSERT_EQ(all.processing.size(), 2u);
  for (size_t max = 0; max < 5; ++max) {
    const Snapshot<std::string> snapshot = *queue_->TakeSnapshotUpTo(max);
    EXPECT_EQ(snapshot.num_queued, 3u);
    EXPECT_EQ(snapshot.num_processing, 2u);
    EXPECT_EQ(snapshot.num_waiting, 0u);
    ASSERT_EQ(snapshot.queued.size(), max < 3 ? max : 3);
    for (size_t i = 0; i < snapshot.queued.size(); ++i) {
      EXPECT_EQ(snapshot.queued[i].item, all.queued[i].item) << max;
    }
    ASSERT_EQ(snapshot.processing.size(), max < 2 ? max : 2);
    for (size_t i = 0; i < snapshot.processing.size(); ++i) {
      EXPECT_EQ(snapshot.processing[i].item, all.processing[i].item) << max;
    }
  }
}

TEST_P(QueueTestSuite, ASnapshotOfOneItemHasThatItemAndAllNumbers) {
  queue_->AddAll({"a", "b", "c", "d"});
  EXPECT_EQ(queue_->Get(), "a");
  const auto check = [this](const std::string& item, size_t queued,
                            size_t processing, bool added_again) {
    const Snapshot<std::string> snapshot = *queue_->TakeSnapshotOf(item);
    EXPECT_EQ(snapshot.num_queued, 3u);
    EXPECT_EQ(snapshot.num_processing, 1u);
    EXPECT_EQ(snapshot.num_waiting, 0u);
    EXPECT_TRUE(snapshot.waiting.empty());
    ASSERT_EQ(snapshot.queued.size(), queued) << item;
    ASSERT_EQ(snapshot.processing.size(), processing) << item;
    for (const auto& it : snapshot.queued) EXPECT_EQ(it.item, item);
    for (const auto& it : snapshot.processing) {
      EXPECT_EQ(it.item, item);
      EXPECT_EQ(it.added_again, added_again);
    }
  };
  check("none", 0, 0, false);
  check("c", 1, 0, false);
  check("a", 0, 1, false);
  queue_->Add("a");
  check("a", 0, 1, true);
}

TEST_P(AcquireAsyncTestSuite, ServesCallbacksInTheirOrder) {
  Acquire("a");
  Acquire("b");
  Acquire("c");
  queue_->AddAll({"1", "2"});
  executor_.RunAll();
  EXPECT_EQ(results_, (Results{"a:1", "b:2"}));
  EXPECT_EQ(queue_->Len(), 0u);
  queue_->Add("3");
  executor_.RunAll();
  EXPECT_EQ(results_, (Results{"a:1", "b:2", "c:3"}));
}

TEST_P(AcquireAsyncTestSuite, OnlyTheExecutorCalls) {
  queue_->Add("1");
  Acquire("a");
  EXPECT_EQ(results_, Results());
  EXPECT_EQ(executor_.size(), 1u);
  executor_.RunAll();
  EXPECT_EQ(results_, Results{"a:1"});
}

TEST_P(AcquireAsyncTestSuite, CallsEachCallbackOnce) {
  for (int i = 0; i < 100; ++i) Acquire("a");
  for (int i = 0; i < 200; ++i) queue_->Add(std::to_string(i));
  executor_.RunAll();
  EXPECT_EQ(results_.size(), 100u);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(results_[i], "a:" + std::to_string(i));
  }
  EXPECT_EQ(queue_->Len(), 100u);
  queue_->ShutDown();
  executor_.RunAll();
  EXPECT_EQ(results_.size(), 100u);
}

TEST_P(AcquireAsyncTestSuite, AnItemIsProcessedUntilItsLeaseEnds) {
  Lease<std::string> lease;
  queue_->AcquireAsync(&inline_,
                       [&lease](Item item) { lease = *std::move(item); });
  Settle();
  queue_->Add("1");
  ASSERT_TRUE(lease);
  EXPECT_EQ(*lease, "1");
  Acquire("a");
  queue_->Add("1");
  EXPECT_EQ(executor_.size(), 0u) << "it is still being processed";
  EXPECT_FALSE(queue_->Done("1")) << "only the lease ends that";
  lease.Done();
  executor_.RunAll();
  EXPECT_EQ(results_, Results{"a:1"});
}

TEST_P(AcquireAsyncTestSuite, AnItemThatIsGivenBackServesACallback) {
  Lease<std::string> lease;
  queue_->AcquireAsync(&inline_,
                       [&lease](Item item) { lease = *std::move(item); });
  Settle();
  queue_->Add("1");
  Acquire("a");
  lease.GiveBack();
  executor_.RunAll();
  EXPECT_EQ(results_, Results{"a:1"});
}

TEST_P(AcquireAsyncTestSuite, ACallbackWithoutAnItemWaitsAgainAsTheFirst) {
  Acquire("a");
  Acquire("b");
  queue_->Add("1");
  EXPECT_EQ(executor_.size(), 1u);
  EXPECT_EQ(queue_->Get(), "1") << "a thread is faster";
  executor_.RunAll();
  EXPECT_EQ(results_, Results());
  queue_->Add("2");
  queue_->Add("3");
  executor_.RunAll();
  EXPECT_EQ(results_, (Results{"a:2", "b:3"}));
}

TEST_P(AcquireAsyncTestSuite, CallbacksThatWaitAgainKeepTheirOrder) {
  for (const char* name : {"a", "b", "c", "d", "e"}) Acquire(name);
  queue_->AddAll({"1", "2", "3"});
  EXPECT_EQ(queue_->AcquireUpTo(3)->size(), 3u) << "a thread is faster";
  executor_.RunAll();
  EXPECT_EQ(results_, Results());
  for (const char* item : {"4", "5", "6", "7", "8"}) {
    queue_->Add(item);
    executor_.RunAll();
  }
  EXPECT_EQ(results_, (Results{"a:4", "b:5", "c:6", "d:7", "e:8"}));
}

TEST_P(AcquireAsyncTestSuite, ACancelledCallbackIsNeverCalled) {
  const AcquireId a = Acquire("a");
  const AcquireId b = Acquire("b");
  Acquire("c");
  EXPECT_TRUE(queue_->CancelAcquire(b)) << "in the middle";
  EXPECT_TRUE(queue_->CancelAcquire(a)) << "the first";
  EXPECT_FALSE(queue_->CancelAcquire(a)) << "again";
  queue_->Add("1");
  executor_.RunAll();
  EXPECT_EQ(results_, Results{"c:1"});
  EXPECT_FALSE(queue_->CancelAcquire(b));
}

TEST_P(AcquireAsyncTestSuite, ACallbackCanBeCancelledOnItsWay) {
  const AcquireId a = Acquire("a");
  Acquire("b");
  queue_->Add("1");
  EXPECT_EQ(executor_.size(), 1u);
  EXPECT_TRUE(queue_->CancelAcquire(a));
  EXPECT_FALSE(queue_->CancelAcquire(a));
  EXPECT_EQ(queue_->Len(), 1u) << "it has taken no item";
  executor_.RunAll();
  EXPECT_EQ(results_, Results{"b:1"}) << "the next one gets the item";
}

TEST_P(AcquireAsyncTestSuite, AThreadGetsTheItemOfACancelledCallback) {
  const AcquireId a = Acquire("a");
  queue_->Add("1");
  auto got = Async([this] { return queue_->Get(); });
  EXPECT_TRUE(queue_->CancelAcquire(a));
  executor_.RunAll();
  EXPECT_EQ(got.get(), "1");
}

TEST_P(AcquireAsyncTestSuite, ACallbackCanBeCancelledAfterTheShutDown) {
  std::vector<AcquireId> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(Acquire(std::to_string(i)));
  queue_->ShutDown();
  for (size_t i = 0; i < 20; i += 2) EXPECT_TRUE(queue_->CancelAcquire(ids[i]));
  executor_.RunAll();
  EXPECT_EQ(results_.size(), 10u);
  for (AcquireId id : ids) EXPECT_FALSE(queue_->CancelAcquire(id));
}

TEST_P(AcquireAsyncTestSuite, ACalledCallbackCannotBeCancelled) {
  const AcquireId a = Acquire("a");
  queue_->Add("1");
  executor_.RunAll();
  EXPECT_FALSE(queue_->CancelAcquire(a));
  const AcquireId b = Acquire("b");
  EXPECT_NE(a, b);
  EXPECT_FALSE(queue_->CancelAcquire(a)) << "an id is not used again";
  EXPECT_FALSE(queue_->CancelAcquire(AcquireId()));
  EXPECT_TRUE(queue_->CancelAcquire(b));
}

TEST_P(AcquireAsyncTestSuite, ACallbackMayCancel) {
  AcquireId self, other;
  self = queue_->AcquireAsync(&executor_, [&](Item) {
    EXPECT_FALSE(queue_->CancelAcquire(self)) << "it has been called";
    EXPECT_TRUE(queue_->CancelAcquire(other));
  });
  other = Acquire("a");
  Acquire("b");
  queue_->Add("1");
  queue_->Add("2");
  executor_.RunAll();
  EXPECT_EQ(results_, Results{"b:2"});
}

TEST_P(AcquireAsyncTestSuite, ACallbackIsDestroyedWhenItIsOver) {
  const auto owned = std::make_shared<int>();
  const auto acquire = [&] {
    const AcquireId id = queue_->AcquireAsync(&executor_, [owned](Item) {});
    Settle();
    return id;
  };
  const AcquireId cancelled = acquire();
  EXPECT_EQ(owned.use_count(), 2);
  queue_->CancelAcquire(cancelled);
  EXPECT_EQ(owned.use_count(), 1);

  const AcquireId cancelled_on_its_way = acquire();
  queue_->Add("1");
  queue_->CancelAcquire(cancelled_on_its_way);
  EXPECT_EQ(owned.use_count(), 1);

  acquire();
  executor_.RunAll();
  EXPECT_EQ(owned.use_count(), 1);
}

// A callback that is destroyed may use the queue, too.
TEST_P(AcquireAsyncTestSuite, ACallbackIsDestroyedWithoutALock) {
  const auto note_end = [this] {
    return std::shared_ptr<int>(new int(), [this](int* p) {
      delete p;
      results_.push_back("end of " + std::to_string(queue_->Len()));
    });
  };
  const AcquireId id = queue_->AcquireAsync(
      &executor_, [owned = note_end()](Item) { (void)owned; });
  queue_->CancelAcquire(id);
  queue_->AcquireAsync(&executor_, [owned = note_end()](Item) { (void)owned; });
  Settle();
  queue_->AddAll({"1", "2"});
  executor_.RunAll();
  EXPECT_EQ(results_, (Results{"end of 0", "end of 1"}));
}

TEST_P(AcquireAsyncTestSuite, AcquireNextAsyncEndsTheLease) {
  queue_->Add("1");
  Lease<std::string> lease = *queue_->Acquire();
  queue_->Add("1");
  queue_->AcquireNextAsync(&lease, &executor_, Note("a"));
  Settle();
  EXPECT_FALSE(lease);
  executor_.RunAll();
  EXPECT_EQ(results_, Results{"a:1"});
}

TEST_P(AcquireAsyncTestSuite, AcquireNextAsyncTakesAnEmptyLease) {
  Lease<std::string> lease;
  const AcquireId a = queue_->AcquireNextAsync(&lease, &executor_, Note("a"));
  queue_->AcquireNextAsync(&lease, &executor_, Note("b"));
  Settle();
  EXPECT_FALSE(lease);
  EXPECT_TRUE(queue_->CancelAcquire(a));
  queue_->Add("1");
  executor_.RunAll();
  EXPECT_EQ(results_, Results{"b:1"});
}

TEST_P(AcquireAsyncTestSuite, AcquireNextAsyncEndsALeaseOfAnotherQueue) {
  const auto other = GetParam().make(&clock_);
  other->Add("1");
  Lease<std::string> lease = *other->Acquire();
  queue_->AcquireNextAsync(&lease, &executor_, Note("a"));
  Settle();
  EXPECT_FALSE(lease);
  EXPECT_TRUE(other->ShutDownWithDrain()) << "nothing is left to process";
  queue_->Add("2");
  executor_.RunAll();
  EXPECT_EQ(results_, Results{"a:2"});
}

TEST_P(AcquireAsyncTestSuite, WhatIsQueuedIsHandedOutAfterShutDown) {
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) Acquire(name);
  queue_->AddAll({"1", "2", "3"});
  queue_->ShutDown();
  EXPECT_EQ(results_, Results());
  executor_.RunAll();
  EXPECT_EQ(results_, (Results{"a:1", "b:2", "c:3", "d:CANCELLED",
                               "e:CANCELLED", "f:CANCELLED"}));
}

TEST_P(AcquireAsyncTestSuite, ACallbackMayComeAfterTheShutDown) {
  queue_->Add("1");
  queue_->ShutDown();
  Acquire("a");
  Acquire("b");
  executor_.RunAll();
  EXPECT_EQ(results_, (Results{"a:1", "b:CANCELLED"}));
}

TEST_P(AcquireAsyncTestSuite, ShutDownEndsTheWaitOfMany) {
  constexpr int kMany = 10000;
  std::atomic<int> cancelled{0};
  AcquireMany(queue_.get(), &executor_, kMany, &cancelled);
  queue_->ShutDown();
  Settle();
  EXPECT_EQ(cancelled, 0);
  executor_.RunAll();
  EXPECT_EQ(cancelled, kMany);
}

TEST_P(AcquireAsyncTestSuite, EveryEndEndsTheWaitOfMany) {
  constexpr int kMany = 10000;
  const std::vector<std::function<void(Interface<std::string>*)>> ends = {
      [](auto* queue) { queue->ShutDown(); },
      [](auto* queue) { queue->Close(); },
      [](auto* queue) { EXPECT_TRUE(queue->ShutDownWithDrain()); },
      [](auto* queue) {
        EXPECT_TRUE(queue->ShutDownWithDrainWithin(absl::ZeroDuration()));
      }};
  for (const auto& end : ends) {
    const auto queue = GetParam().make(&clock_);
    std::atomic<int> cancelled{0};
    AcquireMany(queue.get(), &inline_, kMany, &cancelled);
    end(queue.get());
    Settle();
    EXPECT_EQ(cancelled, kMany);
  }
}

TEST_P(AcquireAsyncTestSuite, TheDestructorEndsTheWaitOfMany) {
  constexpr int kMany = 10000;
  std::atomic<int> cancelled{0};
  auto queue = GetParam().make(&clock_);
  AcquireMany(queue.get(), &inline_, kMany, &cancelled);
  queue.reset();
  EXPECT_EQ(cancelled, kMany);
}

TEST_P(AcquireAsyncTestSuite, TheDestructorWaitsForAPool) {
  std::atomic<int> cancelled{0};
  ThreadPoolOptions options;
  options.threads = 3;
  options.clock = &clock_;
  const auto pool = *ThreadPool::Create(options);
  auto queue = GetParam().make(&clock_);
  for (int i = 0; i < 1000; ++i) {
    queue->AcquireAsync(pool.get(), [&cancelled](Item item) {
      cancelled += absl::IsCancelled(item.status()) ? 1 : 0;
    });
  }
  queue.reset();
  // A callback has been submitted by then, and may still run.
  clock_.Step(absl::ZeroDuration());
  EXPECT_EQ(cancelled, 1000);
}

TEST_P(AcquireAsyncTestSuite, DrainWaitsForTheLeasesOfCallbacks) {
  std::vector<Lease<std::string>> leases;
  for (int i = 0; i < 6; ++i) {
    queue_->AcquireAsync(&inline_, [&leases](Item item) {
      if (item.ok()) leases.push_back(*std::move(item));
    });
  }
  Settle();
  queue_->AddAll({"1", "2", "3"});
  ASSERT_EQ(leases.size(), 3u);
  EXPECT_FALSE(queue_->ShutDownWithDrainWithin(absl::ZeroDuration()));
  auto drained = Async([this] { return queue_->ShutDownWithDrain(); });
  leases.clear();
  EXPECT_TRUE(drained.get());
}

// Each callback processes an item and then waits for the next one.
TEST_P(AcquireAsyncTestSuite, CallbacksProcessAllItems) {
  struct Worker {
    void Next() {
      queue->AcquireNextAsync(&lease, executor, [this](Item item) {
        if (!item.ok()) return;
        lease = *std::move(item);
        ++*processed;
        Next();
      });
    }

    Interface<std::string>* queue;
    Executor* executor;
    std::atomic<int>* processed;
    Lease<std::string> lease;
  };
  constexpr int kItems = 1000;
  ThreadPoolOptions options;
  options.threads = 2;
  options.clock = &clock_;
  const auto pool = *ThreadPool::Create(options);
  std::atomic<int> processed{0};
  std::vector<std::unique_ptr<Worker>> workers;
  for (Executor* executor :
       {static_cast<Executor*>(&inline_), static_cast<Executor*>(pool.get())}) {
    for (int i = 0; i < 5; ++i) {
      workers.emplace_back(new Worker{queue_.get(), executor, &processed, {}});
      workers.back()->Next();
    }
  }
  for (int i = 0; i < kItems; ++i) queue_->Add(std::to_string(i));
  EXPECT_TRUE(queue_->ShutDownWithDrain());
  EXPECT_EQ(processed, kItems);
  clock_.Step(absl::ZeroDuration());  // The pool's callbacks have ended, too.
}

TEST_P(AcquireAsyncTestSuite, ThreadsAndCallbacksProcessEachItemOnce) {
  constexpr int kItems = 1000;
  std::vector<std::atomic<int>> processed(kItems);
  std::vector<Thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (std::optional<std::string> item = queue_->Get()) {
        ++processed[std::stoul(*item)];
        queue_->Done(*item);
      }
    });
  }
  std::function<void(Item)> process = [&](Item item) {
    if (!item.ok()) return;
    ++processed[std::stoul(**item)];
    queue_->AcquireNextAsync(&*item, &inline_, process);
  };
  for (int i = 0; i < 3; ++i) queue_->AcquireAsync(&inline_, process);
  for (int i = 0; i < kItems; ++i) queue_->Add(std::to_string(i));
  EXPECT_TRUE(queue_->ShutDownWithDrain());
  for (Thread& thread : threads) thread.join();
  for (size_t i = 0; i < kItems; ++i) EXPECT_EQ(processed[i], 1) << i;
}

// If a call held a lock while it calls back, the callback could not make its
// calls.
TEST_P(AcquireAsyncTestSuite, ACallbackMayCallEverything) {
  const auto use_all = [this](const std::string& expected) {
    queue_->AcquireAsync(&inline_, [this, expected](Item item) {
      ASSERT_TRUE(item.ok());
      EXPECT_EQ(**item, expected);
      queue_->Add("x");
      queue_->AddAll({"y", "z"});
      EXPECT_EQ(queue_->Len(), 3u);
      EXPECT_EQ(queue_->TakeSnapshot()->queued.size(), 3u);
      EXPECT_EQ(queue_->Get(), "x");
      EXPECT_TRUE(queue_->Done("x"));
      EXPECT_EQ(**queue_->Acquire(), "y");
      EXPECT_EQ(queue_->AcquireUpTo(5)->size(), 1u);
      EXPECT_TRUE(queue_->CancelAcquire(
          queue_->AcquireAsync(&executor_, Note("never"))));
      EXPECT_FALSE(queue_->ShuttingDown());
      results_.push_back(**item);
    });
    Settle();
  };
  use_all("1");
  queue_->Add("1");
  use_all("2");
  queue_->AddAll({"2"});
  queue_->Add("3");
  use_all("3");
  Lease<std::string> lease;
  queue_->Add("4");
  ASSERT_TRUE(queue_->AcquireNext(&lease).ok());
  use_all("4");
  lease.GiveBack();
  queue_->Add("5");
  ASSERT_EQ(queue_->Get(), "5");
  queue_->Add("5");
  use_all("5");
  queue_->Done("5");
  EXPECT_EQ(results_, (Results{"1", "2", "3", "4", "5"}));
}

TEST_P(AcquireAsyncTestSuite, ACallbackMayShutDown) {
  std::atomic<int> cancelled{0};
  queue_->AcquireAsync(&inline_, [this](Item item) {
    EXPECT_TRUE(item.ok());
    queue_->ShutDown();
    queue_->Close();
    EXPECT_FALSE(queue_->ShutDownWithDrainWithin(absl::ZeroDuration()))
        << "its item is not done";
    EXPECT_FALSE(queue_->Add("2"));
  });
  AcquireMany(queue_.get(), &inline_, 100, &cancelled);
  Settle();
  EXPECT_TRUE(queue_->Add("1"));
  Settle();
  EXPECT_EQ(cancelled, 100);
  EXPECT_TRUE(queue_->ShutDownWithDrain());
}

TEST_P(DelayingQueueTestSuite, AddsWhenTheDelayHasPassed) {
  EXPECT_TRUE(queue_->AddAfter("a", absl::Seconds(5)));
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(absl::Seconds(5) - kNs);
  EXPECT_EQ(queue_->Len(), 0u) << "never early";
  clock_.Step(kNs);
  EXPECT_EQ(queue_->Get(), "a");
}

TEST_P(DelayingQueueTestSuite, ASnapshotHasWhatWaits) {
  const absl::Time start = clock_.TimeNow();
  for (int i : {4, 1, 3, 2}) {
    queue_->AddAfter(std::string(1, static_cast<char>('0' + i)),
                     i * absl::Seconds(10));
  }
  for (size_t max = 0; max < 6; ++max) {
    const Snapshot<std::string> snapshot = *queue_->TakeSnapshotUpTo(max);
    EXPECT_EQ(snapshot.num_waiting, 4u);
    ASSERT_EQ(snapshot.waiting.size(), max < 4 ? max : 4);
    for (size_t i = 0; i < snapshot.waiting.size(); ++i) {
      EXPECT_EQ(snapshot.waiting[i].item,
                std::string(1, static_cast<char>('1' + i)));
    }
  }
  Snapshot<std::string> snapshot = *queue_->TakeSnapshotOf("3");
  EXPECT_EQ(snapshot.num_waiting, 4u);
  ASSERT_EQ(snapshot.waiting.size(), 1u);
  EXPECT_EQ(snapshot.waiting[0].item, "3");
  EXPECT_GE(snapshot.waiting[0].ready_at, start + absl::Seconds(30));
  EXPECT_TRUE(snapshot.queued.empty());
  queue_->CancelDelayed("3");
  snapshot = *queue_->TakeSnapshotOf("3");
  EXPECT_EQ(snapshot.num_waiting, 3u);
  EXPECT_TRUE(snapshot.waiting.empty());
}

TEST_P(DelayingQueueTestSuite, AddsAtOnceForNoDelay) {
  const absl::Duration no_delays[] = {
      absl::ZeroDuration(), -kNs, -absl::Hours(1), -absl::InfiniteDuration()};
  for (absl::Duration no_delay : no_delays) {
    EXPECT_TRUE(queue_->AddAfter("a", no_delay));
    EXPECT_EQ(queue_->Len(), 1u) << no_delay;
    EXPECT_EQ(queue_->Get(), "a");
    queue_->Done("a");
  }
}

TEST_P(DelayingQueueTestSuite, TheEarlierTimeCounts) {
  queue_->AddAfter("later first", absl::Seconds(9));
  queue_->AddAfter("later first", absl::Seconds(5));
  queue_->AddAfter("earlier first", absl::Seconds(5));
  queue_->AddAfter("earlier first", absl::Seconds(9));
  clock_.Step(absl::Seconds(5) - kNs);
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(),
            (std::vector<std::string>{"later first", "earlier first"}));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Len(), 0u) << "the later time no longer counts";
}

TEST_P(DelayingQueueTestSuite, WhatWaitsIsDroppedOnShutDown) {
  queue_->AddAfter("a", absl::Seconds(5));
  queue_->ShutDown();
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(queue_->Get(), std::nullopt);
}

TEST_P(DelayingQueueTestSuite, DrainDoesNotWaitForWhatWaits) {
  queue_->AddAfter("a", absl::Seconds(5));
  EXPECT_TRUE(queue_->ShutDownWithDrain());
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Get(), std::nullopt);
}

TEST_P(DelayingQueueTestSuite, TakesNothingAfterShutDown) {
  queue_->ShutDown();
  EXPECT_FALSE(queue_->AddAfter("a", absl::Seconds(5)));
  EXPECT_FALSE(queue_->AddAfter("a", absl::ZeroDuration()));
  EXPECT_FALSE(queue_->AddAfter("a", -absl::Seconds(1)));
  EXPECT_FALSE(queue_->AddAfter("a", absl::InfiniteDuration()));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Len(), 0u);
}

}  // namespace workqueue

#endif  // WORKQUEUE_TESTING_QUEUE_TEST_SUITE_H_
