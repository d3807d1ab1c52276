// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Callbacks that wait for an item. The tests that every queue must pass are in
// workqueue/testing/queue_test_suite.h.

#include <atomic>
#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/workqueue/observed_clock.h"
#include "test/workqueue/plain_queue.h"
#include "test/workqueue/recording_log.h"
#include "test/workqueue/recording_metrics.h"
#include "test/workqueue/watched_fifo.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/testing/manual_executor.h"
#include "workqueue/testing/thread.h"
#include "workqueue/thread_pool.h"

namespace workqueue::acquire_async_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Item = absl::StatusOr<Lease<std::string>>;

// -----------------------------------------------------------------------------
// Taking turns
// -----------------------------------------------------------------------------

// A queue in which four threads and four callbacks wait.
class TakeTurnsTest : public ::testing::Test {
 protected:
  static constexpr int kEach = 4;

  TakeTurnsTest() {
    auto owned = std::make_unique<WatchedFifo<std::string>>();
    WatchedFifo<std::string>* const fifo = owned.get();
    QueueOptions<std::string> options;
    options.ordering = std::move(owned);
    queue_ = std::make_unique<Queue<std::string>>(std::move(options));
    for (int i = 0; i < kEach; ++i) {
      threads_.emplace_back([this] { got_ += queue_->Acquire().ok() ? 1 : 0; });
    }
    fifo->AwaitBlocked(*queue_, kEach);
    for (int i = 0; i < kEach; ++i) {
      queue_->AcquireAsync(&executor_,
                           [this](Item item) { called_ += item.ok() ? 1 : 0; });
    }
  }

  // Ends the waits. From then on, `got_` and `called_` do not change.
  void End() {
    queue_->ShutDown();
    for (Thread& thread : threads_) thread.join();
    executor_.RunAll();  // Threads have submitted callbacks.
  }

  ManualExecutor executor_;
  std::unique_ptr<Queue<std::string>> queue_;
  std::vector<Thread> threads_;
  std::atomic<int> got_{0};
  int called_ = 0;
};

// The executor runs nothing here before all threads have an item.
TEST_F(TakeTurnsTest, ABusyExecutorKeepsNoItemFromThreads) {
  for (const char* item : {"1", "2", "3", "4"}) queue_->Add(item);
  for (Thread& thread : threads_) thread.join();
  threads_.clear();
  EXPECT_EQ(got_, 4);
  EXPECT_GE(executor_.size(), 1u) << "a callback has had its turn";
  End();
  EXPECT_EQ(called_, 0);
}

// At most four are on their way at a time.
TEST_F(TakeTurnsTest, EachSecondOfABurstIsForACallback) {
  queue_->AddAll({"1", "2", "3", "4", "5", "6", "7", "8"});
  EXPECT_GE(executor_.size(), 2u);
  End();
  EXPECT_EQ(got_, 4);
  EXPECT_EQ(called_, 4);
}

// Its executor may not run the task for long.
TEST(AcquireAsyncTest, AnotherCallbackGetsTheItemOfACancelledOne) {
  Queue<std::string> queue;
  ManualExecutor busy, idle;
  const AcquireId cancelled = queue.AcquireAsync(&busy, [](Item) {});
  int called = 0;
  queue.AcquireAsync(&idle, [&](Item item) { called += item.ok() ? 1 : 0; });
  queue.Add("1");
  EXPECT_EQ(busy.size(), 1u);
  EXPECT_EQ(idle.size(), 0u);
  EXPECT_TRUE(queue.CancelAcquire(cancelled));
  EXPECT_EQ(idle.size(), 1u);
  idle.RunAll();
  EXPECT_EQ(called, 1);
  busy.RunAll();
  queue.Add("2");
  EXPECT_EQ(*queue.TryGet(), "2");
}

// -----------------------------------------------------------------------------
// Without a lock
// -----------------------------------------------------------------------------

struct Kind {
  const char* name;
  std::unique_ptr<DelayingInterface<std::string>> (*make)(Clock*);
};

void PrintTo(const Kind& kind, std::ostream* os) { *os << kind.name; }

template <typename Made, typename Options>
std::unique_ptr<DelayingInterface<std::string>> Make(Clock* clock) {
  Options options;
  options.clock = clock;
  return std::make_unique<Made>(std::move(options));
}

std::unique_ptr<DelayingInterface<std::string>> MakeSuperseding(Clock* clock) {
  DelayingQueueOptions<std::string> options;
  options.clock = clock;
  options.add_supersedes_waiting = true;
  return std::make_unique<DelayingQueue<std::string>>(std::move(options));
}

std::unique_ptr<DelayingInterface<std::string>> MakeOnAnother(Clock* clock) {
  QueueOptions<std::string> below;
  below.clock = clock;
  DelayingQueueOptions<std::string> options;
  options.clock = clock;
  return *DelayingQueue<std::string>::Create(
      std::make_unique<Queue<std::string>>(std::move(below)),
      std::move(options));
}

// Calls every function of `DelayingInterface` from a callback that the
// `InlineExecutor` runs. If the caller held a lock of the queue, the callback
// could not make these calls.
class CallbackWithoutLockTest : public ::testing::TestWithParam<Kind> {
 protected:
  CallbackWithoutLockTest() { fake_clock_.Step(absl::ZeroDuration()); }

  // Makes a callback wait that calls all functions.
  void Acquire() {
    id_ = queue_->AcquireAsync(&inline_, [this](Item item) {
      ASSERT_TRUE(item.ok());
      UseQueue(*std::move(item));
    });
  }

  // Expects that `f` calls the callback.
  template <typename F>
  void ExpectCalls(F f) {
    Acquire();
    const int before = calls_;
    f();
    EXPECT_EQ(calls_, before + 1);
  }

  void UseQueue(Lease<std::string> lease) {
    EXPECT_FALSE(queue_->CancelAcquire(id_));
    EXPECT_TRUE(queue_->AddAfter("x", absl::Hours(1)));
    EXPECT_TRUE(queue_->Reschedule("y", absl::Hours(1)));
    EXPECT_EQ(queue_->TakeSnapshot()->waiting.size(), 2u);
    EXPECT_TRUE(queue_->CancelDelayed("x"));
    EXPECT_TRUE(queue_->CancelDelayed("y"));
    const AcquireId other = queue_->AcquireAsync(&inline_, [](Item) {});
    EXPECT_TRUE(queue_->CancelAcquire(other));
    EXPECT_TRUE(queue_->Add("z"));
    EXPECT_TRUE(queue_->AddAll({"z"}));
    EXPECT_TRUE(queue_->AddAfter("z", absl::ZeroDuration()));
    EXPECT_TRUE(queue_->Reschedule("z", absl::ZeroDuration()));
    EXPECT_EQ(queue_->Len(), 1u);
    EXPECT_EQ(*queue_->TryGet(), "z");
    EXPECT_TRUE(queue_->Done("z"));
    lease.Done();
    ran_on_ = std::this_thread::get_id();
    ++calls_;
  }

  FakeClock fake_clock_;
  ObservedClock clock_{&fake_clock_};
  InlineExecutor inline_;
  AcquireId id_;
  int calls_ = 0;
  std::thread::id ran_on_;
  const std::unique_ptr<DelayingInterface<std::string>> queue_ =
      GetParam().make(&clock_);
};

INSTANTIATE_TEST_SUITE_P(
    Kinds, CallbackWithoutLockTest,
    ::testing::Values(
        Kind{"DelayingQueue", Make<DelayingQueue<std::string>,
                                   DelayingQueueOptions<std::string>>},
        Kind{"SupersedingQueue", MakeSuperseding},
        Kind{"QueueOnAnother", MakeOnAnother},
        Kind{"RateLimitingQueue", Make<RateLimitingQueue<std::string>,
                                       RateLimitingQueueOptions<std::string>>},
        Kind{"PriorityQueue", Make<PriorityQueue<std::string>,
                                   PriorityQueueOptions<std::string>>}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(CallbackWithoutLockTest, OnTheCallersThread) {
  ExpectCalls([this] { queue_->Add("1"); });
  ExpectCalls([this] { queue_->AddAll({"1"}); });
  ExpectCalls([this] { queue_->AddAfter("1", absl::ZeroDuration()); });
  ExpectCalls([this] { queue_->Reschedule("1", absl::ZeroDuration()); });
  EXPECT_EQ(ran_on_, std::this_thread::get_id());
}

TEST_P(CallbackWithoutLockTest, OnTheThreadOfTheQueue) {
  ExpectCalls([this] {
    queue_->AddAfter("1", absl::Seconds(1));
    fake_clock_.Step(absl::Seconds(1));
  });
  EXPECT_NE(ran_on_, std::this_thread::get_id());
  ExpectCalls([this] {
    queue_->Reschedule("1", absl::Seconds(1));
    fake_clock_.Step(absl::Seconds(1));
  });
}

// More items are due than the queue's thread moves at a time.
TEST_P(CallbackWithoutLockTest, OnTheThreadOfTheQueueForMany) {
  constexpr int kMany = 1000;
  int processed = 0;
  std::function<void(Item)> process = [&](Item item) {
    if (!item.ok()) return;
    ++processed;
    EXPECT_TRUE(queue_->AddAfter(**item, absl::Hours(1)));
    queue_->AcquireNextAsync(&*item, &inline_, process);
  };
  queue_->AcquireAsync(&inline_, process);
  for (int i = 0; i < kMany; ++i) {
    queue_->Reschedule(std::to_string(i), absl::Seconds(1));
  }
  fake_clock_.Step(absl::Seconds(1));
  EXPECT_EQ(processed, kMany);
  fake_clock_.Step(absl::Hours(1));
  EXPECT_EQ(processed, 2 * kMany);
  queue_->ShutDown();
}

// The delay has passed before `AddAfter()` would wake the queue's thread.
TEST_P(CallbackWithoutLockTest, OnTheThreadOfALateAddAfter) {
  const std::thread::id self = std::this_thread::get_id();
  int looks = 0;
  clock_.on_time_now = [this, self, &looks] {
    if (std::this_thread::get_id() == self && ++looks == 2) {
      fake_clock_.SetTime(fake_clock_.TimeNow() + absl::Seconds(1));
    }
  };
  ExpectCalls([this] {
    queue_->AddAfter("1", absl::Seconds(1));
    fake_clock_.Step(absl::Seconds(1));
  });
  clock_.on_time_now = [] {};
}

TEST_P(CallbackWithoutLockTest, InAShutDown) {
  const std::vector<std::function<void(DelayingInterface<std::string>*)>> ends =
      {[](auto* queue) { queue->ShutDown(); },
       [](auto* queue) { queue->Close(); },
       [](auto* queue) { EXPECT_TRUE(queue->ShutDownWithDrain()); }};
  for (const auto& end : ends) {
    const auto queue = GetParam().make(&clock_);
    int called = 0;
    queue->AcquireAsync(&inline_, [&, q = queue.get()](Item item) {
      EXPECT_TRUE(absl::IsCancelled(item.status()));
      EXPECT_TRUE(q->ShuttingDown());
      EXPECT_FALSE(q->Add("1"));
      EXPECT_FALSE(q->AddAfter("1", absl::Seconds(1)));
      EXPECT_FALSE(q->Reschedule("1", absl::Seconds(1)));
      EXPECT_FALSE(q->CancelDelayed("1"));
      EXPECT_TRUE(q->TakeSnapshot()->queued.empty());
      end(q);
      q->AcquireAsync(&inline_, [&called](Item) { ++called; });
      ++called;
    });
    end(queue.get());
    EXPECT_EQ(called, 2);
  }
}

TEST_P(CallbackWithoutLockTest, AShutDownOnTheThreadOfTheQueue) {
  queue_->AddAfter("1", absl::Seconds(1));
  queue_->AddAfter("2", absl::Seconds(2));
  int cancelled = 0;
  queue_->AcquireAsync(&inline_, [&](Item item) {
    EXPECT_TRUE(item.ok());
    queue_->ShutDown();
  });
  for (int i = 0; i < 10; ++i) {
    queue_->AcquireAsync(&inline_, [&cancelled](Item item) {
      if (absl::IsCancelled(item.status())) ++cancelled;
    });
  }
  fake_clock_.Step(absl::Seconds(1));
  EXPECT_EQ(cancelled, 10);
  fake_clock_.Step(absl::Seconds(1));
  EXPECT_EQ(queue_->Len(), 0u);
}

// -----------------------------------------------------------------------------
// Errors
// -----------------------------------------------------------------------------

TEST(AcquireAsyncErrorTest, QueueBaseIsUnimplemented) {
  PlainQueue<std::string> queue;
  ManualExecutor executor;
  std::vector<absl::StatusCode> codes;
  const auto note = [&codes](Item item) {
    codes.push_back(item.status().code());
  };
  queue.Add("1");
  Lease<std::string> lease = *queue.Acquire();
  queue.AcquireAsync(&executor, note);
  const AcquireId id = queue.AcquireNextAsync(&lease, &executor, note);
  EXPECT_FALSE(lease);
  EXPECT_FALSE(queue.CancelAcquire(id));
  EXPECT_THAT(codes, IsEmpty());
  executor.RunAll();
  EXPECT_THAT(codes, ElementsAre(absl::StatusCode::kUnimplemented,
                                 absl::StatusCode::kUnimplemented));
  EXPECT_TRUE(queue.ShutDownWithDrain()) << "the lease has ended";
}

#ifdef ABSL_HAVE_EXCEPTIONS

// The callback throws after it has got a lease, which ends then.
TEST(AcquireAsyncErrorTest, AnInlineExecutorLogsTheExceptionOfACallback) {
  RecordingLog log;
  InlineExecutor executor(&log);
  Queue<std::string> queue;
  std::vector<std::string> got;
  for (int i = 0; i < 3; ++i) {
    queue.AcquireAsync(&executor, [&got](Item item) {
      got.push_back(**item);
      throw std::runtime_error("boom");
    });
  }
  EXPECT_TRUE(queue.AddAll({"1", "2"}));
  EXPECT_TRUE(queue.Add("3"));
  EXPECT_THAT(got, ElementsAre("1", "2", "3"));
  EXPECT_EQ(log.messages().size(), 3u);
  EXPECT_TRUE(queue.ShutDownWithDrain()) << "all leases have ended";
}

TEST(AcquireAsyncErrorTest, APoolLogsTheExceptionOfACallback) {
  FakeClock clock;
  RecordingLog log;
  ThreadPoolOptions options;
  options.clock = &clock;
  options.log_sink = &log;
  const auto pool = *ThreadPool::Create(options);
  Queue<std::string> queue;
  for (int i = 0; i < 3; ++i) {
    queue.AcquireAsync(pool.get(),
                       [](Item) { throw std::runtime_error("boom"); });
  }
  queue.AddAll({"1", "2", "3"});
  clock.Step(absl::ZeroDuration());
  EXPECT_EQ(log.messages().size(), 3u);
  EXPECT_TRUE(queue.ShutDownWithDrain());
}

// Takes no task.
class FailingExecutor final : public Executor {
 public:
  void Execute(absl::AnyInvocable<void() &&>) override {
    ++submitted;
    throw std::runtime_error("the executor has ended");
  }

  int submitted = 0;
};

TEST(AcquireAsyncErrorTest, ACallbackRunsEvenIfTheExecutorThrows) {
  FailingExecutor executor;
  Queue<std::string> queue;
  std::vector<std::string> got;
  for (int i = 0; i < 3; ++i) {
    queue.AcquireAsync(&executor, [&got](Item item) {
      got.push_back(item.ok() ? **item : "");
    });
  }
  queue.Add("1");
  EXPECT_THAT(got, ElementsAre("1"));
  queue.Add("2");
  queue.ShutDown();
  EXPECT_THAT(got, ElementsAre("1", "2", ""));
  EXPECT_EQ(executor.submitted, 3);
}

TEST(AcquireAsyncErrorTest, ACallbackMayThrowEvenIfTheExecutorThrows) {
  FailingExecutor executor;
  Queue<std::string> queue;
  int called = 0;
  queue.AcquireAsync(&executor, [&called](Item) {
    ++called;
    throw std::runtime_error("boom");
  });
  queue.Add("1");
  EXPECT_EQ(called, 1);
  EXPECT_TRUE(queue.ShutDownWithDrain());
}

// Not even then does the callback run with a lock.
TEST_P(CallbackWithoutLockTest, IfTheExecutorThrows) {
  FailingExecutor executor;
  const auto acquire = [&] {
    queue_->AcquireAsync(&executor,
                         [this](Item item) { UseQueue(*std::move(item)); });
  };
  acquire();
  queue_->Reschedule("1", absl::ZeroDuration());
  acquire();
  queue_->Reschedule("1", absl::Seconds(1));
  fake_clock_.Step(absl::Seconds(1));
  EXPECT_EQ(calls_, 2);
  EXPECT_EQ(executor.submitted, 2);
}

// A queue with an ordering and metrics that throw when an item is taken.
class TakingThrowsTest : public ::testing::Test {
 protected:
  TakingThrowsTest() {
    auto owned = std::make_unique<WatchedFifo<std::string>>();
    fifo_ = owned.get();
    QueueOptions<std::string> options;
    options.name = "test";
    options.metrics_provider = &metrics_;
    options.clock = &clock_;
    options.ordering = std::move(owned);
    queue_ = std::make_unique<Queue<std::string>>(std::move(options));
  }

  // The first of two callbacks must get the error, and the other one the item.
  void ExpectTheNextGetsTheItem() {
    std::vector<absl::Status> errors;
    std::vector<std::string> got;
    for (int i = 0; i < 2; ++i) {
      queue_->AcquireAsync(&executor_, [&errors, &got](Item item) {
        if (item.ok()) {
          got.push_back(**item);
        } else {
          errors.push_back(item.status());
        }
      });
    }
    queue_->Add("1");
    ASSERT_TRUE(executor_.RunOne());
    EXPECT_THAT(errors, ElementsAre(absl::InternalError("boom")));
    EXPECT_EQ(queue_->Len(), 1u) << "the item is still queued";
    throws_ = false;
    executor_.RunAll();
    EXPECT_THAT(got, ElementsAre("1"));
    EXPECT_TRUE(queue_->ShutDownWithDrain());
  }

  void MaybeThrow() const {
    if (throws_) throw std::runtime_error("boom");
  }

  FakeClock clock_;
  RecordingMetrics metrics_;
  ManualExecutor executor_;
  bool throws_ = true;
  WatchedFifo<std::string>* fifo_ = nullptr;
  std::unique_ptr<Queue<std::string>> queue_;
};

TEST_F(TakingThrowsTest, FromTheOrdering) {
  fifo_->on_pop = [this] { MaybeThrow(); };
  ExpectTheNextGetsTheItem();
}

TEST_F(TakingThrowsTest, FromAMetric) {
  metrics_.on_call = [this](MetricKind kind) {
    if (kind == MetricKind::kLatency) MaybeThrow();
  };
  ExpectTheNextGetsTheItem();
  EXPECT_EQ(metrics_.count(MetricKind::kDepth), 0);
}

// No callback is there for the item. A later get takes it.
TEST_F(TakingThrowsTest, TheItemWaitsForALaterGet) {
  fifo_->on_pop = [this] { MaybeThrow(); };
  absl::Status error;
  queue_->AcquireAsync(&executor_,
                       [&error](Item item) { error = item.status(); });
  queue_->Add("1");
  executor_.RunAll();
  EXPECT_EQ(error, absl::InternalError("boom"));
  throws_ = false;
  EXPECT_EQ(queue_->Get(), "1");
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::acquire_async_test
