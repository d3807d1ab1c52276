// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of the functions that hand out an item and block no longer than a
// timeout.

#include <chrono>  // NOLINT(build/c++11)
#include <cstddef>
#include <future>  // NOLINT(build/c++11)
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/every_queue.h"
#include "test/workqueue/watched_fifo.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue::get_with_timeout_test {
namespace {

using Strings = std::vector<std::string>;

constexpr absl::Duration kNs = absl::Nanoseconds(1);
constexpr absl::Duration kFiveSeconds = absl::Seconds(5);

// -----------------------------------------------------------------------------
// Every such call of every queue
// -----------------------------------------------------------------------------

// A call of one of these functions. It ends the processing of the item, too.
struct Call {
  const char* name;
  absl::StatusOr<std::string> (*get)(Interface<std::string>&, absl::Duration);
};

void PrintTo(const Call& call, std::ostream* os) { *os << call.name; }

absl::StatusOr<std::string> Get(Interface<std::string>& queue,
                                absl::Duration timeout) {
  absl::StatusOr<std::string> item = queue.GetWithTimeout(timeout);
  EXPECT_EQ(item.ok(), item.ok() && queue.Done(*item));
  return item;
}

absl::StatusOr<std::string> Acquire(Interface<std::string>& queue,
                                    absl::Duration timeout) {
  const absl::StatusOr<Lease<std::string>> lease =
      queue.AcquireWithTimeout(timeout);
  if (!lease.ok()) return lease.status();
  return **lease;
}

absl::StatusOr<std::string> AcquireUpTo(Interface<std::string>& queue,
                                        absl::Duration timeout) {
  const absl::StatusOr<LeaseBatch<std::string>> leases =
      queue.AcquireUpToWithTimeout(1, timeout);
  if (!leases.ok()) return leases.status();
  EXPECT_EQ(leases->size(), 1u);
  return *leases->front();
}

constexpr Call kCalls[] = {{"GetWithTimeout", Get},
                           {"AcquireWithTimeout", Acquire},
                           {"AcquireUpToWithTimeout", AcquireUpTo}};

class TimeoutTest : public testing::TestWithParam<std::tuple<QueueKind, Call>>,
                    public QueueOfAKind {
 protected:
  using Result = absl::StatusOr<std::string>;

  TimeoutTest() : QueueOfAKind(std::get<QueueKind>(GetParam())) {
    clock_.Step(absl::Hours(1));  // The clock is not at its start.
  }

  Result GetWithin(absl::Duration timeout) {
    return std::get<Call>(GetParam()).get(*queue_, timeout);
  }

  // Returns the error code of a get with `timeout`.
  absl::StatusCode CodeOfGet(absl::Duration timeout) {
    return GetWithin(timeout).status().code();
  }

  // Starts a get on another thread.
  std::future<Result> StartGet(absl::Duration timeout) {
    return Async([this, timeout] { return GetWithin(timeout); });
  }

  static std::vector<absl::Duration> NoTime() {
    return {-absl::InfiniteDuration(), -absl::Hours(2), -kNs,
            absl::ZeroDuration()};
  }
  static std::vector<absl::Duration> AllTimeouts() {
    std::vector<absl::Duration> all = NoTime();
    all.push_back(kFiveSeconds);
    all.push_back(absl::InfiniteDuration());
    return all;
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, TimeoutTest,
                         testing::Combine(testing::ValuesIn(EveryQueueKind()),
                                          testing::ValuesIn(kCalls)),
                         [](const auto& info) {
                           return std::string(
                                      std::get<QueueKind>(info.param).name) +
                                  "_" + std::get<Call>(info.param).name;
                         });

TEST_P(TimeoutTest, HandsOutWhatIsThereWhateverTheDeadline) {
  for (absl::Duration timeout : AllTimeouts()) {
    queue_->Add("a");
    queue_->Add("b");
    for (const char* item : {"a", "b"}) {
      const Result got = GetWithin(timeout);
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ(*got, item);
    }
  }
}

TEST_P(TimeoutTest, APastDeadlineDoesNotBlock) {
  for (absl::Duration timeout : NoTime()) {
    EXPECT_EQ(CodeOfGet(timeout), absl::StatusCode::kDeadlineExceeded)
        << timeout;
  }
}

TEST_P(TimeoutTest, WhatIsBeingProcessedIsNotThere) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  queue_->Add("a");
  EXPECT_EQ(CodeOfGet(absl::ZeroDuration()),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_P(TimeoutTest, IsCancelledIfShutDownAndEmpty) {
  queue_->ShutDown();
  for (absl::Duration timeout : AllTimeouts()) {
    EXPECT_EQ(CodeOfGet(timeout), absl::StatusCode::kCancelled) << timeout;
  }
}

TEST_P(TimeoutTest, IsCancelledIfShutDownThoughAnItemIsBeingProcessed) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  queue_->Add("a");
  queue_->ShutDown();
  for (absl::Duration timeout : AllTimeouts()) {
    EXPECT_EQ(CodeOfGet(timeout), absl::StatusCode::kCancelled) << timeout;
  }
  queue_->Done("a");
  EXPECT_EQ(*GetWithin(absl::ZeroDuration()), "a");
}

TEST_P(TimeoutTest, HandsOutWhatIsQueuedAfterShutDown) {
  const std::vector<absl::Duration> timeouts = AllTimeouts();
  for (size_t i = 0; i < timeouts.size(); ++i) queue_->Add(std::to_string(i));
  queue_->ShutDown();
  for (size_t i = 0; i < timeouts.size(); ++i) {
    const Result got = GetWithin(timeouts[i]);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(*got, std::to_string(i));
  }
  EXPECT_EQ(CodeOfGet(absl::ZeroDuration()), absl::StatusCode::kCancelled);
}

TEST_P(TimeoutTest, AddWakesIt) {
  auto got = StartGet(kFiveSeconds);
  AwaitWaiters(1);
  queue_->Add("a");
  EXPECT_EQ(*got.get(), "a");
  EXPECT_EQ(NumWaiters(), 0u);
}

TEST_P(TimeoutTest, DoneWakesItIfTheItemComesBack) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  queue_->Add("a");
  auto got = StartGet(kFiveSeconds);
  AwaitWaiters(1);
  queue_->Done("a");
  EXPECT_EQ(*got.get(), "a");
}

TEST_P(TimeoutTest, AnEndedLeaseWakesItIfTheItemComesBack) {
  queue_->Add("a");
  Lease<std::string> lease = *queue_->Acquire();
  queue_->Add("a");
  auto got = StartGet(kFiveSeconds);
  AwaitWaiters(1);
  lease.Done();
  EXPECT_EQ(*got.get(), "a");
}

TEST_P(TimeoutTest, ShutDownWakesIt) {
  std::vector<std::future<Result>> got;
  for (int i = 0; i < 3; ++i) got.push_back(StartGet(kFiveSeconds));
  AwaitWaiters(3);
  queue_->ShutDown();
  for (auto& one : got) {
    EXPECT_EQ(one.get().status().code(), absl::StatusCode::kCancelled);
  }
}

TEST_P(TimeoutTest, ShutDownWithDrainWakesIt) {
  auto got = StartGet(kFiveSeconds);
  AwaitWaiters(1);
  EXPECT_TRUE(queue_->ShutDownWithDrain());
  EXPECT_EQ(got.get().status().code(), absl::StatusCode::kCancelled);
}

TEST_P(TimeoutTest, TheDeadlineWakesItAndNotANanosecondBefore) {
  auto got = StartGet(kFiveSeconds);
  AwaitWaiters(1);
  clock_.Step(absl::Seconds(5) - kNs);
  EXPECT_EQ(NumWaiters(), 1u);
  clock_.Step(kNs);
  EXPECT_EQ(NumWaiters(), 0u);
  EXPECT_EQ(got.get().status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_P(TimeoutTest, EachWaitsForItsOwn) {
  std::vector<std::future<Result>> got;
  for (int i = 1; i <= 3; ++i) {
    got.push_back(StartGet(absl::Seconds(i)));
  }
  AwaitWaiters(3);
  for (size_t i = 0; i < 3; ++i) {
    clock_.Step(absl::Seconds(1));
    EXPECT_EQ(NumWaiters(), 2 - i);
    EXPECT_EQ(got[i].get().status().code(),
              absl::StatusCode::kDeadlineExceeded);
  }
}

TEST_P(TimeoutTest, AnItemIsGotThoughTheTimeoutPassesRightAfter) {
  auto got = StartGet(kFiveSeconds);
  AwaitWaiters(1);
  queue_->Add("a");
  clock_.Step(absl::Seconds(5));
  EXPECT_EQ(*got.get(), "a");
}

TEST_P(TimeoutTest, AnInfiniteTimeoutBlocks) {
  auto got = StartGet(absl::InfiniteDuration());
  AwaitBlocked(1);
  clock_.Step(absl::Hours(1000000));
  EXPECT_EQ(got.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  queue_->Add("a");
  EXPECT_EQ(*got.get(), "a");
}

TEST_P(TimeoutTest, ShutDownEndsAGetWithAnInfiniteTimeout) {
  auto got = StartGet(absl::InfiniteDuration());
  AwaitBlocked(1);
  queue_->ShutDown();
  EXPECT_EQ(got.get().status().code(), absl::StatusCode::kCancelled);
}

// Some threads wait in Get(), others have a timeout.
class MixedWaitersTest : public TimeoutTest {
 protected:
  static constexpr int kOfEach = 3;

  // Starts the threads, and returns when they wait.
  void Start() {
    for (int i = 0; i < kOfEach; ++i) {
      patient_.push_back(Async([this] { return queue_->Get(); }));
    }
    AwaitBlocked(kOfEach);
    for (int i = 0; i < kOfEach; ++i) {
      hurried_.push_back(StartGet(kFiveSeconds));
    }
    AwaitWaiters(kOfEach);
  }

  // Waits for the threads, and shuts the queue down. Returns how often each
  // item has been got. A get with a timeout that got no item must have the
  // error `code`.
  std::vector<int> TimesGot(size_t items, absl::StatusCode code) {
    std::vector<int> times(items);
    for (auto& one : hurried_) {
      const Result got = one.get();
      if (got.ok()) {
        ++times[std::stoi(*got)];
      } else {
        EXPECT_EQ(got.status().code(), code);
      }
    }
    queue_->ShutDown();
    for (auto& one : patient_) {
      if (std::optional<std::string> got = one.get()) ++times[std::stoi(*got)];
    }
    EXPECT_EQ(queue_->Len(), 0u);
    return times;
  }

  std::vector<std::future<std::optional<std::string>>> patient_;
  std::vector<std::future<Result>> hurried_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, MixedWaitersTest,
                         testing::Combine(testing::ValuesIn(EveryQueueKind()),
                                          testing::ValuesIn(kCalls)),
                         [](const auto& info) {
                           return std::string(
                                      std::get<QueueKind>(info.param).name) +
                                  "_" + std::get<Call>(info.param).name;
                         });

TEST_P(MixedWaitersTest, EachGetsAnItem) {
  Start();
  for (int i = 0; i < 2 * kOfEach; ++i) queue_->Add(std::to_string(i));
  // No thread waits for the clock or for a shutdown any more.
  for (auto& one : patient_) one.wait();
  for (auto& one : hurried_) one.wait();
  EXPECT_EQ(TimesGot(2 * kOfEach, absl::StatusCode::kOk),
            std::vector<int>(2 * kOfEach, 1));
}

TEST_P(MixedWaitersTest, EachGetsAnItemOfABatch) {
  Start();
  Strings items;
  for (int i = 0; i < 2 * kOfEach; ++i) items.push_back(std::to_string(i));
  EXPECT_TRUE(queue_->AddAll(items));
  for (auto& one : patient_) one.wait();
  for (auto& one : hurried_) one.wait();
  EXPECT_EQ(TimesGot(2 * kOfEach, absl::StatusCode::kOk),
            std::vector<int>(2 * kOfEach, 1));
}

TEST_P(MixedWaitersTest, NoItemIsLostOnThoseWhoseDeadlinePasses) {
  Start();
  for (int i = 0; i < kOfEach; ++i) queue_->Add(std::to_string(i));
  clock_.Step(absl::Seconds(5));
  EXPECT_EQ(TimesGot(kOfEach, absl::StatusCode::kDeadlineExceeded),
            std::vector<int>(kOfEach, 1));
}

TEST_P(MixedWaitersTest, WhenTheDeadlinesHavePassedTheOthersGetTheItems) {
  Start();
  clock_.Step(absl::Seconds(5));
  for (int i = 0; i < kOfEach; ++i) queue_->Add(std::to_string(i));
  for (auto& one : patient_) one.wait();
  EXPECT_EQ(TimesGot(kOfEach, absl::StatusCode::kDeadlineExceeded),
            std::vector<int>(kOfEach, 1));
}

TEST_P(MixedWaitersTest, ShutDownWakesAll) {
  Start();
  queue_->ShutDown();
  EXPECT_EQ(TimesGot(0, absl::StatusCode::kCancelled), std::vector<int>());
}

// -----------------------------------------------------------------------------
// A delaying queue
// -----------------------------------------------------------------------------

TEST(DeadlineInADelayingQueueTest, AnItemWhoseTimeComesWakesIt) {
  FakeClock clock;
  DelayingQueueOptions<std::string> options;
  options.clock = &clock;
  DelayingQueue<std::string> queue(std::move(options));
  queue.AddAfter("a", absl::Seconds(3));
  clock.Step(absl::ZeroDuration());
  auto got = Async([&] { return queue.GetWithTimeout(absl::Seconds(5)); });
  clock.AwaitWaiters(2);  // The queue's own thread is the other.
  clock.Step(absl::Seconds(3));
  EXPECT_EQ(*got.get(), "a");
}

TEST(DeadlineInADelayingQueueTest, ALaterItemDoesNot) {
  FakeClock clock;
  DelayingQueueOptions<std::string> options;
  options.clock = &clock;
  DelayingQueue<std::string> queue(std::move(options));
  queue.AddAfter("a", absl::Seconds(5) + kNs);
  clock.Step(absl::ZeroDuration());
  auto got = Async([&] { return queue.GetWithTimeout(absl::Seconds(5)); });
  clock.AwaitWaiters(2);
  clock.Step(absl::Seconds(5));
  EXPECT_EQ(got.get().status().code(), absl::StatusCode::kDeadlineExceeded);
  clock.Step(kNs);
  EXPECT_EQ(*queue.TryGet(), "a");
}

// -----------------------------------------------------------------------------
// The real clock
// -----------------------------------------------------------------------------

TEST(DeadlineOnTheRealClockTest, APastOneDoesNotBlock) {
  Queue<int> queue;
  EXPECT_EQ(queue.GetWithTimeout(absl::ZeroDuration()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  queue.Add(1);
  EXPECT_EQ(*queue.GetWithTimeout(absl::ZeroDuration()), 1);
}

TEST(DeadlineOnTheRealClockTest, AddWakesIt) {
  Queue<int> queue;
  auto got = Async([&queue] { return queue.GetWithTimeout(absl::Hours(1)); });
  queue.Add(1);
  EXPECT_EQ(*got.get(), 1);
}

}  // namespace
}  // namespace workqueue::get_with_timeout_test
