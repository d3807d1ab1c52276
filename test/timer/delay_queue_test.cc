// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/delay_queue.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/observed_clock.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue::delay_queue_test {
namespace {

using internal::MutexLock;
using Strings = std::vector<std::string>;

DelayQueueOptions OnClock(FakeClock* clock) {
  DelayQueueOptions options;
  options.clock = clock;
  return options;
}

class DelayQueueTest : public testing::Test {
 protected:
  // Takes all values that are due.
  Strings TakeDue() {
    Strings values;
    while (true) {
      absl::StatusOr<std::string> value = queue_.TryTake();
      if (!value.ok()) return values;
      values.push_back(*std::move(value));
    }
  }

  FakeClock clock_;
  DelayQueue<std::string> queue_{OnClock(&clock_)};
};

TEST_F(DelayQueueTest, AValueComesOutWhenItsDelayIsOver) {
  EXPECT_TRUE(queue_.Push("a", absl::Seconds(5)));
  EXPECT_EQ(queue_.Len(), 1u);
  clock_.Step(absl::Seconds(5) - absl::Nanoseconds(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(queue_.TryTake().status()));
  clock_.Step(absl::Nanoseconds(1));
  EXPECT_EQ(queue_.Take(), "a");
  EXPECT_EQ(queue_.Len(), 0u);
}

TEST_F(DelayQueueTest, TheEarliestComesFirst) {
  queue_.Push("c", absl::Seconds(3));
  queue_.Push("a", absl::Seconds(1));
  queue_.Push("b", absl::Seconds(2));
  clock_.Step(absl::Seconds(3));
  EXPECT_EQ(TakeDue(), (Strings{"a", "b", "c"}));
}

TEST_F(DelayQueueTest, ValuesOfEqualTimesComeInTheOrderOfPushing) {
  for (const char* value : {"d", "a", "c"})
    queue_.Push(value, absl::Seconds(1));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeDue(), (Strings{"d", "a", "c"}));
}

TEST_F(DelayQueueTest, DoesNotDeduplicate) {
  queue_.Push("a", absl::Seconds(1));
  queue_.Push("a", absl::Seconds(1));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeDue(), (Strings{"a", "a"}));
}

TEST_F(DelayQueueTest, ZeroAndNegativeDelaysAreDueAtOnce) {
  queue_.Push("a", absl::ZeroDuration());
  queue_.Push("b", -absl::Seconds(1));
  EXPECT_EQ(TakeDue(), (Strings{"b", "a"}));
}

TEST_F(DelayQueueTest, AnInfiniteDelayIsNeverOver) {
  const auto handle = queue_.Push("a", absl::InfiniteDuration());
  clock_.Step(absl::Hours(24 * 365 * 290));
  EXPECT_EQ(TakeDue(), Strings());
  EXPECT_TRUE(queue_.Reset(handle, absl::ZeroDuration()));
  EXPECT_EQ(TakeDue(), Strings{"a"});
}

TEST_F(DelayQueueTest, MoveOnlyValues) {
  DelayQueue<std::unique_ptr<int>> queue(OnClock(&clock_));
  queue.Push(std::make_unique<int>(1), absl::ZeroDuration());
  queue.Push(std::make_unique<int>(2), absl::ZeroDuration());
  queue.Push(std::make_unique<int>(3), absl::ZeroDuration());
  EXPECT_EQ(**queue.Take(), 1);
  EXPECT_EQ(**queue.TryTake(), 2);
  EXPECT_EQ(*queue.TakeUpTo(5)->front(), 3);
}

TEST_F(DelayQueueTest, PushCopiesAnLvalue) {
  const std::string value = "a";
  queue_.Push(value, absl::ZeroDuration());
  EXPECT_EQ(TakeDue(), Strings{value});
}

TEST_F(DelayQueueTest, AValueThatIsRefusedStaysWithTheCaller) {
  DelayQueue<std::unique_ptr<int>> queue(OnClock(&clock_));
  queue.ShutDown();
  auto value = std::make_unique<int>(1);
  EXPECT_FALSE(queue.Push(std::move(value), absl::ZeroDuration()));
  EXPECT_NE(value, nullptr);
}

// -----------------------------------------------------------------------------
// Cancel and Reset
// -----------------------------------------------------------------------------

TEST_F(DelayQueueTest, CancelDropsAValue) {
  const auto a = queue_.Push("a", absl::Seconds(1));
  const auto b = queue_.Push("b", absl::Seconds(1));
  EXPECT_NE(a, b);
  EXPECT_TRUE(queue_.Cancel(a));
  EXPECT_FALSE(queue_.Cancel(a));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeDue(), Strings{"b"});
  EXPECT_FALSE(queue_.Cancel(b)) << "it has been taken";
}

TEST_F(DelayQueueTest, AHandleNeverNamesAnotherValue) {
  const auto a = queue_.Push("a", absl::Seconds(1));
  EXPECT_TRUE(queue_.Cancel(a));
  const auto b = queue_.Push("b", absl::Seconds(1));  // in a's place
  EXPECT_FALSE(queue_.Cancel(a));
  EXPECT_FALSE(queue_.Reset(a, absl::ZeroDuration()));
  EXPECT_TRUE(queue_.Cancel(b));
  EXPECT_FALSE(queue_.Cancel(DelayQueueHandle()));
  EXPECT_FALSE(DelayQueueHandle());
}

TEST_F(DelayQueueTest, OldHandlesAreSafeWhenTheMemoryHasGoneBack) {
  std::vector<DelayQueueHandle> handles;
  for (int i = 0; i < 10000; ++i) {
    handles.push_back(queue_.Push("a", absl::Seconds(1)));
  }
  for (const auto& handle : handles) EXPECT_TRUE(queue_.Cancel(handle));
  for (const auto& handle : handles) EXPECT_FALSE(queue_.Cancel(handle));
  queue_.Push("b", absl::Seconds(1));
  for (const auto& handle : handles) {
    EXPECT_FALSE(queue_.Reset(handle, absl::ZeroDuration()));
  }
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeDue(), Strings{"b"});
}

TEST_F(DelayQueueTest, ResetMovesLaterAndSooner) {
  const auto a = queue_.Push("a", absl::Seconds(1));
  const auto b = queue_.Push("b", absl::Seconds(10));
  EXPECT_TRUE(queue_.Reset(a, absl::Seconds(5)));
  EXPECT_TRUE(queue_.Reset(b, absl::Seconds(2)));
  clock_.Step(absl::Seconds(2));
  EXPECT_EQ(TakeDue(), Strings{"b"});
  EXPECT_FALSE(queue_.Reset(b, absl::Seconds(2)));
  clock_.Step(absl::Seconds(3));
  EXPECT_EQ(TakeDue(), Strings{"a"});
}

// -----------------------------------------------------------------------------
// Threads that wait
// -----------------------------------------------------------------------------

// Takes a value on each of several threads.
class Takers {
 public:
  Takers(DelayQueue<std::string>* queue, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      threads_.emplace_back([this, queue] {
        std::string value = queue->Take().value_or("-");
        MutexLock lock(&mu_);
        values_.push_back(std::move(value));
        taken_.SignalAll();
      });
    }
  }

  // Blocks until `n` threads have taken one.
  void AwaitTaken(size_t n) {
    MutexLock lock(&mu_);
    while (values_.size() < n) taken_.Wait(&mu_);
  }

  // Returns what the threads took, when all have ended; "-" for nothing.
  Strings Join() {
    for (Thread& thread : threads_) thread.join();
    MutexLock lock(&mu_);
    std::sort(values_.begin(), values_.end());
    return values_;
  }

 private:
  absl::Mutex mu_;
  absl::CondVar taken_;
  Strings values_ ABSL_GUARDED_BY(mu_);
  std::vector<Thread> threads_;
};

TEST_F(DelayQueueTest, TakeBlocksUntilAValueIsDue) {
  queue_.Push("a", absl::Seconds(5));
  Takers takers(&queue_, 1);
  clock_.AwaitWaiters(1);
  EXPECT_EQ(clock_.GetEarliestWakeupTime(),
            clock_.TimeNow() + absl::Seconds(5));
  clock_.Step(absl::Seconds(5));
  EXPECT_EQ(takers.Join(), Strings{"a"});
}

TEST_F(DelayQueueTest, TakeBlocksUntilAValueIsPushed) {
  Takers takers(&queue_, 1);
  clock_.AwaitWaiters(1);
  EXPECT_EQ(clock_.GetEarliestWakeupTime(), absl::InfiniteFuture());
  queue_.Push("a", absl::ZeroDuration());
  EXPECT_EQ(takers.Join(), Strings{"a"});
}

// Making a parker allocates.
TEST_F(DelayQueueTest, AtTheLastTimeTakeBlocks) {
  clock_.SetTime(absl::InfiniteFuture());
  Takers takers(&queue_, 1);
  clock_.AwaitWaiters(1);
  EXPECT_EQ(clock_.GetEarliestWakeupTime(), absl::InfiniteFuture());
  queue_.Push("a", absl::ZeroDuration());
  EXPECT_EQ(takers.Join(), Strings{"a"});
}

TEST(DelayQueueParkersTest, ParkersAreReused) {
  FakeClock clock;
  ObservedClock observed(&clock);
  DelayQueueOptions options;
  options.clock = &observed;
  DelayQueue<std::string> queue(std::move(options));
  for (const char* value : {"a", "b", "c"}) {
    queue.Push(value, absl::Seconds(1));
    Takers takers(&queue, 1);
    clock.AwaitWaiters(1);
    clock.Step(absl::Seconds(1));
    EXPECT_EQ(takers.Join(), Strings{value});
  }
  EXPECT_EQ(observed.parkers(), 1);
}

// One of the waiting threads sleeps until the first value is due.
TEST_F(DelayQueueTest, OneWaitingThreadLeads) {
  queue_.Push("a", absl::Seconds(5));
  queue_.Push("b", absl::Seconds(6));
  queue_.Push("c", absl::Seconds(7));
  Takers takers(&queue_, 3);
  clock_.AwaitWaiters(3);
  clock_.Step(absl::Seconds(5));
  // The leader has left, and another thread leads.
  takers.AwaitTaken(1);
  clock_.AwaitWaiters(2);
  clock_.Step(absl::Seconds(1));
  takers.AwaitTaken(2);
  clock_.AwaitWaiters(1);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(takers.Join(), (Strings{"a", "b", "c"}));
}

TEST_F(DelayQueueTest, AllThatAreDueAtATimeAreTaken) {
  for (const char* value : {"a", "b", "c"})
    queue_.Push(value, absl::Seconds(1));
  Takers takers(&queue_, 3);
  clock_.AwaitWaiters(3);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(takers.Join(), (Strings{"a", "b", "c"}));
}

TEST_F(DelayQueueTest, AThreadThatWaitsTakesNothingEarlyAfterItWentBack) {
  clock_.Step(absl::Hours(1));
  EXPECT_FALSE(queue_.TryTake().ok());
  queue_.Push("a", absl::Hours(1));
  Takers takers(&queue_, 1);
  clock_.AwaitWaiters(1);
  clock_.Step(-absl::Hours(1));
  queue_.Push("b", absl::Minutes(10));
  clock_.AwaitWaiters(1);
  clock_.Step(absl::Minutes(10) - absl::Nanoseconds(1));
  EXPECT_EQ(queue_.Len(), 2u);
  clock_.Step(absl::Nanoseconds(1));
  EXPECT_EQ(takers.Join(), Strings{"b"});
}

TEST_F(DelayQueueTest, AnEarlierValueIsWaitedFor) {
  queue_.Push("late", absl::Hours(1));
  Takers takers(&queue_, 1);
  clock_.AwaitWaiters(1);
  queue_.Push("early", absl::Seconds(1));
  clock_.AwaitWaiters(1);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(takers.Join(), Strings{"early"});
}

TEST_F(DelayQueueTest, AValueThatIsResetSoonerIsWaitedFor) {
  const auto handle = queue_.Push("a", absl::Hours(1));
  Takers takers(&queue_, 1);
  clock_.AwaitWaiters(1);
  EXPECT_TRUE(queue_.Reset(handle, absl::Seconds(1)));
  clock_.AwaitWaiters(1);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(takers.Join(), Strings{"a"});
}

TEST_F(DelayQueueTest, TheFirstIsCancelledWhileOneWaitsForIt) {
  const auto handle = queue_.Push("a", absl::Seconds(1));
  queue_.Push("b", absl::Seconds(2));
  Takers takers(&queue_, 1);
  clock_.AwaitWaiters(1);
  EXPECT_TRUE(queue_.Cancel(handle));
  clock_.Step(absl::Seconds(1));
  clock_.AwaitWaiters(1);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(takers.Join(), Strings{"b"});
}

TEST_F(DelayQueueTest, TheLeaderLeavesAtItsDeadlineAndAnotherLeads) {
  queue_.Push("a", absl::Seconds(2));
  absl::Status status;
  Thread leader(
      [&] { status = queue_.TakeWithTimeout(absl::Seconds(1)).status(); });
  clock_.AwaitWaiters(1);
  Takers takers(&queue_, 1);
  clock_.AwaitWaiters(2);
  clock_.Step(absl::Seconds(1));
  leader.join();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  clock_.AwaitWaiters(1);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(takers.Join(), Strings{"a"});
}

// -----------------------------------------------------------------------------
// Deadlines, many at once, streams
// -----------------------------------------------------------------------------

TEST_F(DelayQueueTest, TakeUpToTakesAllThatAreDue) {
  for (const char* value : {"a", "b", "c"})
    queue_.Push(value, absl::Seconds(1));
  queue_.Push("d", absl::Seconds(2));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(*queue_.TakeUpTo(2), (Strings{"a", "b"}));
  EXPECT_EQ(*queue_.TakeUpTo(2), Strings{"c"});
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      queue_.TakeUpToWithTimeout(2, absl::ZeroDuration()).status()));
}

TEST_F(DelayQueueTest, TakeUpToTakesWhatHasComeDueSinceTheLastCall) {
  queue_.Push("a", absl::ZeroDuration());
  queue_.Push("b", absl::ZeroDuration());
  queue_.Push("c", absl::Seconds(1));
  EXPECT_EQ(queue_.Take(), "a");
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(*queue_.TakeUpTo(3), (Strings{"b", "c"}));
}

TEST_F(DelayQueueTest, TakeUpToZeroIsAnError) {
  const absl::Status status = queue_.TakeUpTo(0).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(status.message(), "max is 0; it must be at least 1");
}

TEST_F(DelayQueueTest, AStreamEndsAtShutDown) {
  queue_.Push("a", absl::ZeroDuration());
  queue_.Push("b", absl::ZeroDuration());
  queue_.Push("c", absl::Seconds(1));
  queue_.ShutDown();
  Strings values;
  for (std::string value : queue_.Stream()) values.push_back(std::move(value));
  EXPECT_EQ(values, (Strings{"a", "b"}));
}

TEST_F(DelayQueueTest, AStreamOfMoveOnlyValues) {
  DelayQueue<std::unique_ptr<int>> queue(OnClock(&clock_));
  for (int i = 0; i < 3; ++i) {
    queue.Push(std::make_unique<int>(i), absl::ZeroDuration());
  }
  queue.ShutDown();
  int next = 0;
  for (std::unique_ptr<int> value : queue.Stream()) EXPECT_EQ(*value, next++);
  EXPECT_EQ(next, 3);
}

// -----------------------------------------------------------------------------
// Shutting down
// -----------------------------------------------------------------------------

TEST_F(DelayQueueTest, ShutDownDropsWhatIsNotDueAndTakesNothingIn) {
  const auto a = queue_.Push("a", absl::Seconds(1));
  queue_.Push("b", absl::ZeroDuration());
  queue_.ShutDown();
  queue_.ShutDown();
  EXPECT_TRUE(queue_.ShuttingDown());
  EXPECT_EQ(queue_.Len(), 1u);
  EXPECT_FALSE(queue_.Cancel(a));
  EXPECT_FALSE(queue_.Push("c", absl::ZeroDuration()));
  EXPECT_EQ(queue_.Take(), "b");
  EXPECT_EQ(queue_.Take(), std::nullopt);
  EXPECT_TRUE(absl::IsCancelled(queue_.TryTake().status()));
  EXPECT_TRUE(absl::IsCancelled(queue_.TakeUpTo(1).status()));
}

TEST_F(DelayQueueTest, WhatIsDueAtShutDownCannotBePutOff) {
  const DelayQueueHandle handle = queue_.Push("a", absl::Seconds(1));
  clock_.Step(absl::Seconds(1));
  queue_.ShutDown();
  EXPECT_FALSE(queue_.Reset(handle, absl::Hours(1)));
  EXPECT_EQ(queue_.Take(), "a");
}

TEST_F(DelayQueueTest, WhatIsDueAtShutDownIsDueWhateverTheClockShowsLater) {
  queue_.Push("a", absl::Seconds(1));
  queue_.Push("b", absl::Seconds(2));
  queue_.Push("c", absl::Seconds(3));
  clock_.Step(absl::Seconds(3));
  queue_.ShutDown();
  clock_.Step(-absl::Seconds(3));
  EXPECT_EQ(queue_.Take(), "a");
  EXPECT_EQ(*queue_.TakeUpTo(3), (Strings{"b", "c"}));
  EXPECT_EQ(queue_.Take(), std::nullopt);
}

TEST_F(DelayQueueTest, APushBeforeShutDownIsNotLost) {
  ObservedClock clock(&clock_);
  DelayQueueOptions options;
  options.clock = &clock;
  DelayQueue<int> queue(std::move(options));
  bool read = false;
  bool pushed = false;
  clock.on_time_read = [&] {
    if (std::exchange(read, true) || queue.ShuttingDown()) return;
    clock_.Step(absl::Seconds(1));
    pushed = static_cast<bool>(queue.Push(7, absl::ZeroDuration()));
  };
  queue.ShutDown();
  if (pushed) {
    EXPECT_EQ(queue.Take(), 7);
  }
  EXPECT_EQ(queue.Take(), std::nullopt);
}

TEST_F(DelayQueueTest, ShutDownEndsAllThatWait) {
  queue_.Push("a", absl::Seconds(1));
  Takers takers(&queue_, 3);
  clock_.AwaitWaiters(3);
  queue_.ShutDown();
  EXPECT_EQ(takers.Join(), (Strings{"-", "-", "-"}));
}

TEST_F(DelayQueueTest, DestroysWhatIsLeft) {
  auto value = std::make_shared<int>(1);
  {
    DelayQueue<std::shared_ptr<int>> queue(OnClock(&clock_));
    queue.Push(value, absl::Seconds(1));
    const auto handle = queue.Push(value, absl::Seconds(1));
    EXPECT_EQ(value.use_count(), 3);
    queue.Cancel(handle);
    EXPECT_EQ(value.use_count(), 2);
  }
  EXPECT_EQ(value.use_count(), 1);
}

// -----------------------------------------------------------------------------
// Values whose destructor calls the queue
// -----------------------------------------------------------------------------

// A value that calls its queue when it is destroyed. A move copies it, so the
// value that was moved from calls the queue, too.
class Caller {
 public:
  using Queue = DelayQueue<Caller>;

  explicit Caller(Queue* queue) : queue_(queue) {}
  Caller(const Caller&) = default;
  Caller& operator=(const Caller&) = default;
  ~Caller() {
    queue_->Len();
    queue_->Cancel(DelayQueueHandle());
    ++calls;
  }

  static int calls;

 private:
  Queue* queue_;
};
int Caller::calls = 0;

class DelayQueueOfCallersTest : public testing::Test {
 protected:
  DelayQueueHandle Push(absl::Duration delay) {
    return queue_->Push(Caller(queue_.get()), delay);
  }

  // Returns how many values are destroyed by `f()`.
  template <typename F>
  int CallsBy(F f) {
    const int before = Caller::calls;
    f();
    return Caller::calls - before;
  }

  FakeClock clock_;
  std::unique_ptr<Caller::Queue> queue_ =
      std::make_unique<Caller::Queue>(OnClock(&clock_));
};

TEST_F(DelayQueueOfCallersTest, Cancel) {
  const DelayQueueHandle handle = Push(absl::Seconds(1));
  EXPECT_EQ(CallsBy([&] { EXPECT_TRUE(queue_->Cancel(handle)); }), 1);
  EXPECT_FALSE(queue_->Cancel(handle));
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_F(DelayQueueOfCallersTest, PushAndReset) {
  const DelayQueueHandle handle = Push(absl::Seconds(1));
  EXPECT_EQ(
      CallsBy([&] { EXPECT_TRUE(queue_->Reset(handle, absl::Seconds(2))); }),
      0);
  EXPECT_EQ(queue_->Len(), 1u);
}

TEST_F(DelayQueueOfCallersTest, PushAfterShutDown) {
  queue_->ShutDown();
  EXPECT_GE(CallsBy([&] { EXPECT_FALSE(Push(absl::Seconds(1))); }), 1);
}

TEST_F(DelayQueueOfCallersTest, ShutDown) {
  for (int i = 0; i < 100; ++i) Push(absl::Seconds(1 + i % 3));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(CallsBy([&] { queue_->ShutDown(); }), 66);
  EXPECT_EQ(queue_->Len(), 34u);
}

TEST_F(DelayQueueOfCallersTest, Destructor) {
  for (int i = 0; i < 100; ++i) Push(absl::Seconds(i % 3));
  EXPECT_EQ(CallsBy([&] { queue_.reset(); }), 100);
}

TEST_F(DelayQueueOfCallersTest, Take) {
  Push(absl::ZeroDuration());
  Push(absl::ZeroDuration());
  EXPECT_GE(CallsBy([&] { EXPECT_TRUE(queue_->Take().has_value()); }), 2);
  EXPECT_GE(CallsBy([&] { EXPECT_TRUE(queue_->TryTake().ok()); }), 2);
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_F(DelayQueueOfCallersTest, TakeUpTo) {
  for (int i = 0; i < 100; ++i) Push(absl::ZeroDuration());
  EXPECT_GE(CallsBy([&] { EXPECT_EQ(queue_->TakeUpTo(3)->size(), 3u); }), 6);
  EXPECT_EQ(queue_->TakeUpTo(200)->size(), 97u);
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_F(DelayQueueOfCallersTest, Stream) {
  for (int i = 0; i < 10; ++i) Push(absl::ZeroDuration());
  queue_->ShutDown();
  int values = 0;
  for (Caller value : queue_->Stream()) ++values;
  EXPECT_EQ(values, 10);
}

// A value that pushes another when it is dropped.
class Successor {
 public:
  using Queue = DelayQueue<Successor>;

  Successor(Queue* queue, int left) : queue_(queue), left_(left) {}
  Successor(Successor&& other) noexcept
      : queue_(std::exchange(other.queue_, nullptr)), left_(other.left_) {}
  ~Successor() {
    if (queue_ == nullptr || left_ == 0) return;
    queue_->Push(Successor(queue_, left_ - 1), absl::Seconds(1));
  }

  int left() const { return left_; }

 private:
  Queue* queue_;
  const int left_;
};

TEST_F(DelayQueueTest, ADroppedValueMayPushAnother) {
  DelayQueue<Successor> queue(OnClock(&clock_));
  const auto handle = queue.Push(Successor(&queue, 2), absl::Seconds(1));
  EXPECT_TRUE(queue.Cancel(handle));
  EXPECT_EQ(queue.Len(), 1u);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(queue.Take()->left(), 1);
  EXPECT_EQ(queue.Len(), 1u);
  queue.ShutDown();
  EXPECT_EQ(queue.Len(), 0u);
}

// A value whose destructor waits for another thread that calls the queue.
class Waits {
 public:
  explicit Waits(std::function<void()> wait) : wait_(std::move(wait)) {}
  Waits(Waits&& other) noexcept : wait_(std::exchange(other.wait_, nullptr)) {}
  ~Waits() {
    if (wait_ != nullptr) wait_();
  }

 private:
  std::function<void()> wait_;
};

TEST_F(DelayQueueTest, ADroppedValueMayWaitForAThreadThatCallsTheQueue) {
  DelayQueue<Waits> queue(OnClock(&clock_));
  absl::Notification dropping;
  absl::Notification called;
  queue.Push(Waits([&] {
               dropping.Notify();
               called.WaitForNotification();
             }),
             absl::Seconds(1));
  Thread caller([&] {
    dropping.WaitForNotification();
    EXPECT_EQ(queue.Len(), 0u);
    EXPECT_TRUE(queue.ShuttingDown());
    called.Notify();
  });
  queue.ShutDown();
  caller.join();
}

// A value that is copied when it is moved. The first copy that is destroyed on
// another thread than the one that made the value calls a function.
class LeavesACopy {
 public:
  explicit LeavesACopy(std::function<void()>* on_copy_destroyed)
      : on_destroyed_(on_copy_destroyed),
        made_by_(std::this_thread::get_id()) {}
  LeavesACopy(const LeavesACopy& other) = default;
  ~LeavesACopy() {
    if (made_by_ == std::this_thread::get_id()) return;
    if (*on_destroyed_ != nullptr) std::exchange(*on_destroyed_, nullptr)();
  }

 private:
  std::function<void()>* on_destroyed_;
  std::thread::id made_by_;
};

TEST_F(DelayQueueTest, TheDestructorWaitsForATakeThatDestroysACopy) {
  auto queue = std::make_unique<DelayQueue<LeavesACopy>>(OnClock(&clock_));
  absl::Notification destroying_copy;
  absl::Notification destroying_queue;
  std::atomic<bool> destroyed_copy{false};
  std::function<void()> on_copy_destroyed = [&] {
    destroying_copy.Notify();
    destroying_queue.WaitForNotification();
    destroyed_copy = true;
  };
  Thread taker([q = queue.get()] { q->Take(); });
  clock_.AwaitWaiters(1);
  queue->Push(LeavesACopy(&on_copy_destroyed), absl::ZeroDuration());
  destroying_copy.WaitForNotification();
  destroying_queue.Notify();
  queue.reset();
  EXPECT_TRUE(destroyed_copy);
  taker.join();
}

// A value that calls a function when it is moved. Nothing of it is destroyed.
struct CallsWhenMoved {
  explicit CallsWhenMoved(std::function<void()>* f) : on_move(f) {}
  CallsWhenMoved(CallsWhenMoved&& other) noexcept : on_move(other.on_move) {
    (*on_move)();
  }

  std::function<void()>* on_move;
};

TEST_F(DelayQueueTest, TheDestructorWaitsForATakeThatMakesRoom) {
  auto queue = std::make_unique<DelayQueue<CallsWhenMoved>>(OnClock(&clock_));
  absl::Notification making_room, destroyed;
  int moves = 0;
  std::function<void()> on_move = [&, main = std::this_thread::get_id()] {
    // The vector has room for 16 values at first.
    if (std::this_thread::get_id() == main || ++moves != 17) return;
    making_room.Notify();
    EXPECT_FALSE(
        destroyed.WaitForNotificationWithTimeout(absl::Milliseconds(50)));
  };
  for (int i = 0; i < 20; ++i) {
    queue->Push(CallsWhenMoved(&on_move), absl::Seconds(1));
  }
  Thread taker([q = queue.get()] { EXPECT_EQ(q->TakeUpTo(100)->size(), 20u); });
  clock_.AwaitWaiters(1);
  clock_.Step(absl::Seconds(1));
  making_room.WaitForNotification();
  queue.reset();
  destroyed.Notify();
  taker.join();
}

// -----------------------------------------------------------------------------
// On a timing wheel
// -----------------------------------------------------------------------------

class WheelDelayQueueTest : public testing::Test {
 protected:
  static constexpr absl::Duration Tick() { return absl::Milliseconds(10); }

  DelayQueueOptions Options() {
    DelayQueueOptions options = OnClock(&clock_);
    options.waiting_set = *WaitingSetOptions::TimingWheel(Tick(), /*slots=*/16);
    return options;
  }

  FakeClock clock_;
  DelayQueue<int> queue_{Options()};
};

TEST_F(WheelDelayQueueTest, AnEmptyOneWakesNobody) {
  Thread taker([&] { EXPECT_EQ(queue_.Take(), std::nullopt); });
  clock_.AwaitWaiters(1);
  EXPECT_EQ(clock_.GetEarliestWakeupTime(), absl::InfiniteFuture());
  queue_.ShutDown();
  taker.join();
}

TEST_F(WheelDelayQueueTest, AThreadSleepsUntilTheTick) {
  std::optional<int> value;
  Thread taker([&] { value = queue_.Take(); });
  clock_.AwaitWaiters(1);
  queue_.Push(1, Tick() / 2);
  clock_.AwaitWaiters(1);
  EXPECT_EQ(clock_.GetEarliestWakeupTime(), clock_.TimeNow() + Tick());
  clock_.Step(Tick());
  taker.join();
  EXPECT_EQ(value, 1);
}

TEST_F(WheelDelayQueueTest, ZeroAndNegativeDelaysAreDueAtOnce) {
  queue_.Push(0, absl::Hours(1));
  clock_.Step(Tick() / 3);
  queue_.Push(1, absl::ZeroDuration());
  EXPECT_EQ(*queue_.TryTake(), 1);
  queue_.Push(2, -absl::Seconds(1));
  EXPECT_EQ(*queue_.TryTake(), 2);
  const DelayQueueHandle handle = queue_.Push(3, absl::Hours(1));
  EXPECT_TRUE(queue_.Reset(handle, absl::ZeroDuration()));
  EXPECT_EQ(*queue_.TryTake(), 3);
}

TEST_F(WheelDelayQueueTest, AfterAStepBackWhatIsDueWakesWhoHasATimeout) {
  queue_.Push(0, absl::Hours(1));
  clock_.Step(100 * Tick());
  EXPECT_FALSE(queue_.TryTake().ok());  // The wheel turns.
  clock_.Step(-50 * Tick());
  for (const bool moved : {false, true}) {
    const DelayQueueHandle handle = queue_.Push(1, absl::Hours(1));
    Thread taker([&] { EXPECT_EQ(*queue_.TakeWithTimeout(20 * Tick()), 1); });
    clock_.AwaitWaiters(1);
    if (moved) {
      EXPECT_TRUE(queue_.Reset(handle, absl::ZeroDuration()));
    } else {
      queue_.Push(1, absl::ZeroDuration());
    }
    taker.join();
  }
}

// A turn of the ring is 16 ticks.
TEST_F(WheelDelayQueueTest, AThreadWaitsForAValueManyTurnsAway) {
  std::optional<int> value;
  queue_.Push(1, 1000 * Tick());
  Thread taker([&] { value = queue_.Take(); });
  for (int i = 0; i < 1000; ++i) {
    clock_.AwaitWaiters(1);
    clock_.Step(Tick());
  }
  taker.join();
  EXPECT_EQ(value, 1);
}

TEST_F(WheelDelayQueueTest, ShutDownDropsWhatHasNotComeOutYet) {
  queue_.Push(1, Tick());
  queue_.Push(2, Tick() + absl::Nanoseconds(1));
  clock_.Step(Tick() + absl::Nanoseconds(1));
  queue_.ShutDown();
  EXPECT_EQ(queue_.Take(), 1);
  EXPECT_EQ(queue_.Take(), std::nullopt);
  EXPECT_EQ(queue_.Len(), 0u);
}

TEST_F(WheelDelayQueueTest, WhatIsDueAtShutDownIsDueWhateverTheClockShows) {
  queue_.Push(1, Tick());
  queue_.Push(2, 2 * Tick());
  clock_.Step(2 * Tick());
  queue_.ShutDown();
  clock_.Step(-2 * Tick());
  EXPECT_EQ(queue_.Take(), 1);
  EXPECT_EQ(queue_.Take(), 2);
  EXPECT_EQ(queue_.Take(), std::nullopt);
}

}  // namespace
}  // namespace workqueue::delay_queue_test
