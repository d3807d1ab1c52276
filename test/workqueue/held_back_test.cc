// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Queues whose ordering holds items back until the processing of others ends.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/workqueue/lifo.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/ordering.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/snapshot.h"
#include "workqueue/testing/manual_executor.h"
#include "workqueue/testing/thread.h"

namespace workqueue::held_back_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// First in, first out, with at most `bound` items in process.
class Bounded final : public Ordering<std::string> {
 public:
  using Item = QueuedItem<std::string>;

  explicit Bounded(int bound) : bound_(bound) {}

  // Whether `Push()` throws.
  bool refuse = false;

  int in_process() const { return in_process_; }

  // The calls, with the items' priorities at that time. A retry has an `r`.
  std::vector<std::string> log;

  void Push(Item* item) override {
    Log("push", item);
#ifdef ABSL_HAVE_EXCEPTIONS
    if (refuse) throw std::runtime_error("refused");
#endif
    items_.push_back(item);
  }

  size_t Len() const override { return items_.size(); }

  bool HasNext() const override {
    return !items_.empty() && in_process_ < bound_;
  }

  Item* Pop() override {
    Item* const item = items_.front();
    items_.erase(items_.begin());
    ++in_process_;
    return item;
  }

  void OnDone(Item* item) override {
    Log("done", item);
    --in_process_;
  }

  bool Remove(Item* item) override {
    Log("remove", item);
    items_.erase(std::find(items_.begin(), items_.end(), item));
    return true;
  }

 private:
  void Log(std::string call, const Item* item) {
    log.push_back(call + " " + item->item() + " " +
                  std::to_string(item->priority()) +
                  (item->is_retry() ? "r" : ""));
  }

  const int bound_;
  std::vector<Item*> items_;
  int in_process_ = 0;
};

// Tests with a `Queue` and with a `PriorityQueue`.
class HeldBackTest : public ::testing::TestWithParam<bool> {
 protected:
  // At most `bound` items of the queue are in process.
  void MakeQueue(int bound) {
    auto ordering = std::make_unique<Bounded>(bound);
    ordering_ = ordering.get();
    if (GetParam()) {
      PriorityQueueOptions<std::string> options;
      options.clock = &clock_;
      options.ordering = std::move(ordering);
      queue_ = std::make_unique<PriorityQueue<std::string>>(std::move(options));
    } else {
      QueueOptions<std::string> options;
      options.clock = &clock_;
      options.ordering = std::move(ordering);
      queue_ = std::make_unique<Queue<std::string>>(std::move(options));
    }
  }

  absl::StatusCode TryGet() { return queue_->TryGet().status().code(); }

  FakeClock clock_;
  Bounded* ordering_ = nullptr;
  std::unique_ptr<Interface<std::string>> queue_;
};

INSTANTIATE_TEST_SUITE_P(Queues, HeldBackTest, ::testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "PriorityQueue" : "Queue";
                         });

TEST_P(HeldBackTest, ItemIsHandedOutOnceAnotherIsDone) {
  MakeQueue(1);
  queue_->AddAll({"a", "b"});
  EXPECT_EQ(queue_->Get(), "a");
  EXPECT_EQ(TryGet(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(queue_->TakeSnapshot()->num_queued, 1u);
  queue_->Done("a");
  EXPECT_EQ(queue_->Get(), "b");
  queue_->Done("b");
  EXPECT_EQ(ordering_->in_process(), 0);
}

TEST_P(HeldBackTest, DoneWakesThreadsThatWait) {
  MakeQueue(2);
  std::vector<Thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([this] {
      Lease<std::string> lease;
      while (queue_->AcquireNext(&lease).ok()) {
        EXPECT_LE(queue_->TakeSnapshot()->num_processing, 2u);
      }
    });
  }
  for (int i = 0; i < 200; ++i) queue_->Add(std::to_string(i));
  EXPECT_TRUE(queue_->ShutDownWithDrain());
  for (Thread& worker : workers) worker.join();
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_P(HeldBackTest, DoneWakesCallbacks) {
  MakeQueue(1);
  queue_->AddAll({"a", "b"});
  EXPECT_EQ(queue_->Get(), "a");
  ManualExecutor executor;
  std::vector<std::string> got;
  queue_->AcquireAsync(&executor,
                       [&got](auto lease) { got.push_back(**lease); });
  executor.RunAll();
  EXPECT_THAT(got, IsEmpty());
  queue_->Done("a");
  executor.RunAll();
  EXPECT_THAT(got, ElementsAre("b"));
}

TEST_P(HeldBackTest, BatchHasOnlyItemsThatAreReady) {
  MakeQueue(2);
  queue_->AddAll({"a", "b", "c"});
  absl::StatusOr<LeaseBatch<std::string>> batch = queue_->AcquireUpTo(3);
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch->size(), 2u);
  EXPECT_EQ(queue_->TryAcquire().status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_P(HeldBackTest, TimeoutPasses) {
  MakeQueue(1);
  queue_->AddAll({"a", "b"});
  EXPECT_EQ(queue_->Get(), "a");
  const size_t others = GetParam() ? 1 : 0;  // the thread of the queue
  clock_.AwaitWaiters(others);
  absl::StatusCode code = absl::StatusCode::kOk;
  Thread getter([this, &code] {
    code = queue_->GetWithTimeout(absl::Seconds(5)).status().code();
  });
  clock_.AwaitWaiters(others + 1);
  clock_.Step(absl::Seconds(5));
  getter.join();
  EXPECT_EQ(code, absl::StatusCode::kDeadlineExceeded);
}

TEST_P(HeldBackTest, AfterShutDownGetsWaitForItemsThatAreHeldBack) {
  MakeQueue(1);
  queue_->AddAll({"a", "b"});
  EXPECT_EQ(queue_->Get(), "a");
  ManualExecutor executor;
  std::vector<std::string> got;
  const auto callback = [&got](absl::StatusOr<Lease<std::string>> lease) {
    got.push_back(lease.ok() ? **lease : "end");
  };
  queue_->AcquireAsync(&executor, callback);
  queue_->AcquireAsync(&executor, callback);
  queue_->ShutDown();
  executor.RunAll();
  EXPECT_THAT(got, IsEmpty());
  EXPECT_EQ(TryGet(), absl::StatusCode::kDeadlineExceeded);
  queue_->Done("a");
  executor.RunAll();
  EXPECT_THAT(got, ElementsAre("b", "end"));
  EXPECT_EQ(TryGet(), absl::StatusCode::kCancelled);
}

TEST_P(HeldBackTest, ThreadsThatWaitAfterShutDownEndWithTheLastItem) {
  MakeQueue(1);
  queue_->AddAll({"a", "b"});
  EXPECT_EQ(queue_->Get(), "a");
  queue_->ShutDown();
  std::vector<Thread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([this] {
      while (queue_->Acquire().ok()) {
      }
    });
  }
  queue_->Done("a");
  for (Thread& worker : workers) worker.join();
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_P(HeldBackTest, DrainIncludesItemsThatAreHeldBack) {
  MakeQueue(1);
  queue_->AddAll({"a", "b"});
  EXPECT_EQ(queue_->Get(), "a");
  EXPECT_FALSE(queue_->ShutDownWithDrainWithin(absl::ZeroDuration()));
  queue_->Done("a");
  EXPECT_FALSE(queue_->ShutDownWithDrainWithin(absl::ZeroDuration()));
  EXPECT_EQ(queue_->Get(), "b");
  queue_->Done("b");
  EXPECT_TRUE(queue_->ShutDownWithDrainWithin(absl::ZeroDuration()));
}

TEST_P(HeldBackTest, DestructorEndsCallbacksThatWait) {
  MakeQueue(1);
  queue_->AddAll({"a", "b"});
  EXPECT_EQ(queue_->Get(), "a");
  class AtOnce final : public Executor {
    void Execute(absl::AnyInvocable<void() &&> task) override {
      std::move(task)();
    }
  } executor;
  bool ended = false;
  queue_->AcquireAsync(&executor, [&ended](auto lease) {
    ended = absl::IsCancelled(lease.status());
  });
  queue_ = nullptr;
  EXPECT_TRUE(ended);
}

TEST_P(HeldBackTest, ItemThatIsGivenBackIsStillInProcessToTheOrdering) {
  MakeQueue(1);
  queue_->AddAll({"a", "b"});
  queue_->Acquire()->GiveBack();
  EXPECT_EQ(ordering_->in_process(), 1);
  EXPECT_EQ(queue_->Get(), "a");
  EXPECT_EQ(TryGet(), absl::StatusCode::kDeadlineExceeded);
  queue_->Done("a");
  EXPECT_EQ(queue_->Get(), "b");
  queue_->Done("b");
  EXPECT_EQ(ordering_->in_process(), 0);
}

TEST_P(HeldBackTest, ItemThatIsAddedAgainIsDoneFirst) {
  MakeQueue(1);
  queue_->Add("a");
  EXPECT_EQ(queue_->Get(), "a");
  queue_->Add("a");
  queue_->Done("a");
  EXPECT_THAT(ordering_->log, ElementsAre("push a 0", "done a 0", "push a 0"));
  EXPECT_EQ(queue_->Get(), "a");
}

#ifdef ABSL_HAVE_EXCEPTIONS
TEST_P(HeldBackTest, AddThatTheOrderingRefusesChangesNothing) {
  MakeQueue(1);
  ordering_->refuse = true;
  EXPECT_THROW(queue_->Add("a"), std::runtime_error);
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(queue_->TakeSnapshotOf("a")->num_queued, 0u);
  ordering_->refuse = false;
  queue_->Add("a");
  EXPECT_EQ(queue_->Get(), "a");
}

TEST_P(HeldBackTest, ItemThatTheOrderingRefusesAfterItIsDoneComesFirst) {
  MakeQueue(1);
  queue_->AddAll({"a", "b"});
  EXPECT_EQ(queue_->Get(), "a");
  queue_->Add("a");
  ordering_->refuse = true;
  queue_->Done("a");
  EXPECT_EQ(ordering_->in_process(), 0);
  EXPECT_EQ(queue_->Get(), "a");
  queue_->Done("a");  // The ordering has not handed it out.
  EXPECT_EQ(ordering_->in_process(), 0);
  EXPECT_EQ(queue_->Get(), "b");
}
#endif

// -----------------------------------------------------------------------------
// The ordering of a `PriorityQueue`
// -----------------------------------------------------------------------------

class PriorityOrderingTest : public ::testing::Test {
 protected:
  PriorityOrderingTest() {
    auto ordering = std::make_unique<Bounded>(100);
    ordering_ = ordering.get();
    PriorityQueueOptions<std::string> options;
    options.clock = &clock_;
    options.ordering = std::move(ordering);
    queue_ = std::make_unique<PriorityQueue<std::string>>(std::move(options));
  }

  void Add(const std::string& item, int priority, bool retry = false,
           absl::Duration after = absl::ZeroDuration()) {
    AddOptions options;
    options.priority = priority;
    options.retry = retry;
    options.after = after;
    queue_->AddWithOptions(options, {item});
  }

  FakeClock clock_;
  Bounded* ordering_;
  std::unique_ptr<PriorityQueue<std::string>> queue_;
};

TEST_F(PriorityOrderingTest, ItemWhosePriorityRisesIsPushedAgain) {
  Add("a", 1);
  Add("a", 1);
  Add("a", 0);
  Add("a", 2);
  EXPECT_THAT(ordering_->log,
              ElementsAre("push a 1", "remove a 1", "push a 2"));
  EXPECT_EQ(queue_->GetWithPriority()->priority, 2);
}

TEST_F(PriorityOrderingTest, RetryThatIsAddedForAnotherReasonIsPushedAgain) {
  Add("a", 1, /*retry=*/true);
  Add("a", 0, /*retry=*/true);
  Add("a", 0);
  Add("a", 0, /*retry=*/true);
  EXPECT_THAT(ordering_->log,
              ElementsAre("push a 1r", "remove a 1r", "push a 1"));
  EXPECT_FALSE(queue_->Acquire()->is_retry());
}

TEST_F(PriorityOrderingTest, RetryThatWaitsIsOneWhenItIsDue) {
  Add("a", 3, /*retry=*/true, absl::Seconds(1));
  Add("b", 3, /*retry=*/true, absl::Seconds(1));
  Add("b", 3, /*retry=*/false, absl::Seconds(2));
  queue_->AddRateLimited("c");
  EXPECT_THAT(ordering_->log, IsEmpty());
  clock_.Step(absl::Seconds(1));
  EXPECT_THAT(ordering_->log,
              ElementsAre("push c 0r", "push a 3r", "push b 3"));
  EXPECT_TRUE(queue_->Acquire()->is_retry());
}

TEST_F(PriorityOrderingTest, ItemThatIsProcessedIsPushedOnceItIsDone) {
  Add("a", 1, /*retry=*/true);
  Lease<std::string> lease = *queue_->Acquire();
  Add("a", 5);
  EXPECT_TRUE(lease.is_retry());
  EXPECT_EQ(lease.priority(), 1);
  lease.Done();
  EXPECT_THAT(ordering_->log, ElementsAre("push a 1r", "done a 5", "push a 5"));
}

TEST_F(PriorityOrderingTest, ItemThatIsGivenBackIsStillARetry) {
  Add("a", 1, /*retry=*/true);
  Add("b", 9);
  queue_->Acquire()->GiveBack();
  Lease<std::string> lease = *queue_->Acquire();
  EXPECT_EQ(*lease, "a");
  EXPECT_TRUE(lease.is_retry());
  EXPECT_EQ(lease.priority(), 1);
}

TEST_F(PriorityOrderingTest, SnapshotDoesNotSortAgain) {
  PriorityQueueOptions<std::string> options;
  options.ordering = std::make_unique<ListingLifo<std::string>>();
  PriorityQueue<std::string> queue(std::move(options));
  queue.AddAll({"a", "b", "c"});
  std::vector<std::string> items;
  const auto snapshot = queue.TakeSnapshot();
  for (const auto& queued : snapshot->queued) {
    items.push_back(queued.item);
  }
  EXPECT_THAT(items, ElementsAre("c", "b", "a"));
}

}  // namespace
}  // namespace workqueue::held_back_test
