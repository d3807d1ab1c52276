// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests in which the system cannot start more threads. This program replaces a
// function of the C library and limits the number of threads.

#include "absl/base/config.h"
#include "gtest/gtest.h"

#if !defined(ABSL_HAVE_EXCEPTIONS)

TEST(ThreadExhaustionTest, NeedsExceptions) {
  GTEST_SKIP() << "without them Thread ends the program";
}

#elif defined(__clang__) && (defined(ABSL_HAVE_THREAD_SANITIZER) || \
                             defined(ABSL_HAVE_ADDRESS_SANITIZER))

TEST(ThreadExhaustionTest, NeedsThisFunction) {
  GTEST_SKIP() << "the sanitizer has replaced it itself";
}

#else

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <thread>  // NOLINT(build/c++11)
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "test/controller/informer_fixture.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/informer.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/forwarding_queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/testing/thread.h"
#include "workqueue/thread_pool.h"
#include "workqueue/timer/scheduler.h"

namespace {

// The number of threads that can still be started.
std::atomic<int> threads_left{std::numeric_limits<int>::max()};

// The number of threads that have been started and have not ended.
std::atomic<int> live_threads{0};

struct ThreadStart {
  void* (*routine)(void*);
  void* arg;
};

void* RunCounted(void* arg) {
  const ThreadStart start =
      *std::unique_ptr<ThreadStart>(static_cast<ThreadStart*>(arg));
  void* const result = start.routine(start.arg);
  --live_threads;
  return result;
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attr,
                              void* (*routine)(void*), void* arg) noexcept {
  if (threads_left-- <= 0) return EAGAIN;
  static auto* const next = reinterpret_cast<decltype(pthread_create)*>(
      dlsym(RTLD_NEXT, "pthread_create"));
  ++live_threads;
  return next(thread, attr, RunCounted, new ThreadStart{routine, arg});
}

namespace workqueue {
namespace {

class ThreadExhaustionTest : public testing::Test {
 protected:
  ~ThreadExhaustionTest() override {
    threads_left = std::numeric_limits<int>::max();
  }
};

TEST_F(ThreadExhaustionTest, AWorkerPoolReportsTheNumberOfStartedThreads) {
  std::atomic<int> at_work{0};
  internal::WorkerPool pool;
  threads_left = 2;
  const absl::Status status = pool.Start(5, [&](size_t number) {
    EXPECT_LT(number, 2u);
    ++at_work;
  });
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_EQ(status.message(), "only 2 of 5 threads could be started");
  pool.Join();
  EXPECT_EQ(at_work, 2);
}

TEST_F(ThreadExhaustionTest, ASchedulerWithTooFewThreadsIsNotCreated) {
  FakeClock clock;
  SchedulerOptions options;
  options.clock = &clock;
  options.workers = 3;
  for (int threads = 0; threads < 3; ++threads) {
    SCOPED_TRACE(threads);
    threads_left = threads;
    EXPECT_TRUE(absl::IsResourceExhausted(Scheduler::Create(options).status()));
    EXPECT_EQ(live_threads, 0);
    clock.Step(absl::Hours(1));  // No thread waits for the clock.
  }
  threads_left = 3;
  const absl::StatusOr<std::unique_ptr<Scheduler> > scheduler =
      Scheduler::Create(options);
  ASSERT_TRUE(scheduler.ok());
  EXPECT_EQ(live_threads, 3);
}

// For example a negative number that was converted to `size_t`.
TEST_F(ThreadExhaustionTest, TooManyWorkersAreAnError) {
  SchedulerOptions options;
  options.workers = std::numeric_limits<size_t>::max();
  EXPECT_TRUE(absl::IsResourceExhausted(Scheduler::Create(options).status()));

  ControllerOptions<int> async;
  async.workers = std::numeric_limits<size_t>::max();
  async.reconcile_async = [](int, const AsyncReconcileContext&,
                             ReconcileCompletion) {};
  EXPECT_EQ(
      Controller<int>::Create(std::move(async)).status(),
      absl::ResourceExhaustedError(absl::StrCat(
          "workers: there is no memory for ", options.workers, " threads")));
}

TEST_F(ThreadExhaustionTest, APoolWithTooFewThreadsIsNotCreated) {
  FakeClock clock;
  ThreadPoolOptions options;
  options.clock = &clock;
  options.threads = 3;
  for (int threads = 0; threads < 3; ++threads) {
    SCOPED_TRACE(threads);
    threads_left = threads;
    EXPECT_TRUE(
        absl::IsResourceExhausted(ThreadPool::Create(options).status()));
    EXPECT_EQ(live_threads, 0);
    clock.Step(absl::Hours(1));  // No thread waits for the clock.
  }
  threads_left = 3;
  const absl::StatusOr<std::unique_ptr<ThreadPool> > pool =
      ThreadPool::Create(options);
  ASSERT_TRUE(pool.ok());
  EXPECT_EQ(live_threads, 3);
}

// Returns the options of a controller with two sources and two workers.
ControllerOptions<int> OptionsOn(FakeClock& clock) {
  ControllerOptions<int> options;
  options.clock = &clock;
  options.workers = 2;
  options.reconcile = [](int, const ReconcileContext&) {
    return ReconcileResult();
  };
  options.sources.resize(2);
  for (Source<int>& source : options.sources) {
    source.run = [](SourceContext<int>& context) {
      context.stop.WaitForNotification();
      return absl::OkStatus();
    };
  }
  return options;
}

// The queue, each source and each worker need a thread each.
TEST_F(ThreadExhaustionTest, AControllerWithTooFewThreadsIsStopped) {
  FakeClock clock;
  for (int threads = 0; threads < 5; ++threads) {
    SCOPED_TRACE(threads);
    threads_left = threads;
    auto controller = Controller<int>::Create(OptionsOn(clock));
    if (threads == 0) {
      EXPECT_TRUE(absl::IsInternal(controller.status()));
      continue;
    }
    ASSERT_TRUE(controller.ok());
    (*controller)->queue().Add(1);
    const absl::Status started = (*controller)->Start();
    EXPECT_TRUE(absl::IsResourceExhausted(started));
    EXPECT_EQ(
        started.message(),
        absl::StrCat(threads < 3 ? "sources" : "workers", ": only ",
                     (threads - 1) % 2, " of 2 threads could be started"));
    EXPECT_FALSE((*controller)->queue().Add(2));
    controller->reset();
    EXPECT_EQ(live_threads, 0);
  }
}

TEST_F(ThreadExhaustionTest, ASourceWithoutAThreadIsNotWaitedFor) {
  FakeClock clock;
  threads_left = 1;  // the queue's
  const auto controller = Controller<int>::Create(OptionsOn(clock));
  ASSERT_TRUE(controller.ok());
  EXPECT_TRUE(absl::IsResourceExhausted((*controller)->Start()));
  EXPECT_TRUE((*controller)->Stop());
}

// A queue whose engine may refuse all items.
class DistantQueue final : public internal::ForwardingRateLimitingQueue<int> {
 public:
  explicit DistantQueue(std::unique_ptr<RateLimitingInterface<int> > queue)
      : ForwardingRateLimitingQueue(std::move(queue)) {}

  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const int> items) override {
    const absl::StatusCode code = error;
    if (code != absl::StatusCode::kOk) return absl::Status(code, "refused");
    return below().AddItems(options, items);
  }

  std::atomic<absl::StatusCode> error{absl::StatusCode::kOk};
};

// A later add starts the thread, also if the queue takes that item at once.
TEST_F(ThreadExhaustionTest, WhatASourceAddsIsKeptWithoutAThread) {
  for (const absl::StatusCode error :
       {absl::StatusCode::kUnavailable, absl::StatusCode::kResourceExhausted}) {
    FakeClock clock;
    RecordingLog log;
    RateLimitingQueueOptions<int> queue_options;
    queue_options.clock = &clock;
    auto distant = std::make_unique<DistantQueue>(
        std::make_unique<RateLimitingQueue<int> >(std::move(queue_options)));
    DistantQueue& queue = *distant;
    std::atomic<int> reconciled{0};
    absl::Notification began;
    SourceContext<int>* source = nullptr;
    ControllerOptions<int> options = OptionsOn(clock);
    options.log_sink = &log;
    options.queue = std::move(distant);
    options.reconcile = [&reconciled](int, const ReconcileContext&) {
      ++reconciled;
      return ReconcileResult();
    };
    options.sources.resize(1);
    options.sources[0].run = [&](SourceContext<int>& context) {
      source = &context;
      began.Notify();
      context.stop.WaitForNotification();
      return absl::OkStatus();
    };
    const auto controller = *Controller<int>::Create(std::move(options));
    ASSERT_EQ(controller->Start(), absl::OkStatus());
    began.WaitForNotification();
    queue.error = error;
    threads_left = 0;
    EXPECT_EQ(source->queue.AddItems({}, {1}), absl::OkStatus());
    EXPECT_EQ(source->queue.AddItems({}, {2}), absl::OkStatus());
    EXPECT_THAT(controller->Healthy().message(),
                testing::HasSubstr("has not taken 2 added items"));
    EXPECT_THAT(log.messages(),
                testing::Contains("E controller: starting the thread that adds "
                                  "what is kept: RESOURCE_EXHAUSTED: only 0 of "
                                  "1 threads could be started")
                    .Times(2));
    threads_left = std::numeric_limits<int>::max();
    queue.error = absl::StatusCode::kOk;
    EXPECT_EQ(source->queue.AddItems({}, {3}), absl::OkStatus());
    clock.AwaitWaiters(2);  // the queue's thread and that one
    clock.Step(absl::Seconds(1));
    while (!controller->Healthy().ok()) std::this_thread::yield();
    controller->AwaitIdle();
    EXPECT_EQ(reconciled, 3);
    EXPECT_TRUE(controller->Stop());
  }
}

class InformerThreadExhaustionTest : public InformerFixture {
 protected:
  ~InformerThreadExhaustionTest() override {
    threads_left = std::numeric_limits<int>::max();
  }
};

// The next event starts the thread that tells the handler again.
TEST_F(InformerThreadExhaustionTest, AHandlerIsToldAgainLater) {
  auto informer = Started(Options());
  std::atomic<bool> throws{true};
  std::atomic<int> told{0};
  InformerHandler<Pod> handler;
  handler.on_event = [&](const ObjectEvent<Pod>&) {
    if (throws) throw std::bad_alloc();
    ++told;
  };
  informer->AddHandler(std::move(handler));
  threads_left = 0;
  server_.Put({"a", "n1"});
  server_.AwaitWatched();
  EXPECT_EQ(log_.messages().back(),
            "E informer pods: starting the thread that calls handlers again: "
            "RESOURCE_EXHAUSTED: only 0 of 1 threads could be started");
  threads_left = std::numeric_limits<int>::max();
  throws = false;
  server_.Put({"b", "n1"});
  server_.AwaitWatched();
  EXPECT_EQ(told, 1);
  clock_.AwaitWaiters(1);
  clock_.Step(absl::Seconds(1));
  while (told < 2) std::this_thread::yield();
}

}  // namespace
}  // namespace workqueue

#endif  // exceptions, and no sanitizer of clang's
