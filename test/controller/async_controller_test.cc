// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// These tests are of asynchronous reconcile functions only. All other tests of
// controllers run with both kinds of functions (see controller_fixture.h).

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/executor.h"
#include "workqueue/testing/thread.h"

namespace workqueue::async_controller_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kMs = absl::Milliseconds(1);

// A reconciliation that the test must complete.
struct Call {
  std::string item;
  AsyncReconcileContext context;
  std::optional<ReconcileCompletion> done;
};

class AsyncControllerTest : public testing::Test {
 protected:
  // Returns options whose reconcile function only notes its call.
  ControllerOptions<std::string> Options() {
    ControllerOptions<std::string> options;
    options.name = "test";
    options.clock = &clock_;
    options.log_sink = &log_;
    options.reconcile_async = [this](const std::string& item,
                                     const AsyncReconcileContext& context,
                                     ReconcileCompletion done) {
      internal::MutexLock lock(&mu_);
      calls_.push_back({item, context, std::move(done)});
    };
    return options;
  }

  static std::unique_ptr<Controller<std::string>> Started(
      ControllerOptions<std::string> options) {
    auto controller = Controller<std::string>::Create(std::move(options));
    EXPECT_TRUE(controller.ok()) << controller.status();
    EXPECT_EQ((*controller)->Start(), absl::OkStatus());
    return *std::move(controller);
  }

  // Waits until the controller's threads have called the reconcile function for
  // every item that is due, up to the limit. Returns the calls since the last
  // call of this function.
  std::vector<Call> Calls() {
    clock_.Step(absl::ZeroDuration());
    internal::MutexLock lock(&mu_);
    return std::exchange(calls_, {});
  }

  std::vector<std::string> Items() {
    std::vector<std::string> items;
    for (Call& call : Calls()) {
      items.push_back(call.item);
      (*call.done)(absl::OkStatus());
    }
    return items;
  }

  FakeClock clock_;
  RecordingLog log_;

 private:
  absl::Mutex mu_;
  std::vector<Call> calls_ ABSL_GUARDED_BY(mu_);
};

TEST_F(AsyncControllerTest, KeepsManyItemsInFlightOnOneThread) {
  ControllerOptions<std::string> options = Options();
  options.max_in_flight = 1000;
  const auto controller = Started(std::move(options));
  for (int i = 0; i < 1500; ++i) controller->queue().Add(absl::StrCat(i));
  std::vector<Call> calls = Calls();
  EXPECT_EQ(calls.size(), 1000u);
  EXPECT_EQ(controller->queue().Len(), 500u);
  EXPECT_EQ(controller->TakeSnapshot()->processing.size(), 1000u);
  // Each completion makes room for one item.
  for (int i = 0; i < 10; ++i) EXPECT_TRUE((*calls[i].done)(absl::OkStatus()));
  const std::vector<Call> more = Calls();
  EXPECT_EQ(more.size(), 10u);
  EXPECT_EQ(controller->queue().Len(), 490u);
}

TEST_F(AsyncControllerTest, AnItemIsInFlightOnceAtATime) {
  const auto controller = Started(Options());
  controller->queue().Add("a");
  std::vector<Call> calls = Calls();
  ASSERT_EQ(calls.size(), 1u);
  controller->queue().Add("a");
  EXPECT_THAT(Calls(), IsEmpty());
  (*calls[0].done)(absl::OkStatus());
  EXPECT_THAT(Items(), ElementsAre("a"));
  controller->AwaitIdle();
  EXPECT_THAT(Items(), IsEmpty());
}

TEST_F(AsyncControllerTest, AwaitIdleWaitsForACompletion) {
  const auto controller = Started(Options());
  controller->queue().Add("a");
  std::vector<Call> calls = Calls();
  Thread completer([&calls] { (*calls[0].done)(absl::OkStatus()); });
  controller->AwaitIdle();
  EXPECT_TRUE(controller->TakeSnapshot()->processing.empty());
  completer.join();
}

TEST_F(AsyncControllerTest, AFailureIsTriedAgainLater) {
  const auto controller = Started(Options());
  controller->queue().Add("a");
  std::vector<Call> calls = Calls();
  EXPECT_EQ(calls[0].context.failures(), 0);
  EXPECT_EQ(calls[0].context.controller_name(), "test");
  (*calls[0].done)(absl::UnavailableError("later"));
  controller->AwaitIdle();
  EXPECT_THAT(Calls(), IsEmpty());
  clock_.Step(5 * kMs);
  calls = Calls();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].context.failures(), 1);
  // A result that asks for another call.
  (*calls[0].done)(ReconcileResult{absl::Seconds(1)});
  clock_.Step(absl::Seconds(1));
  EXPECT_THAT(Items(), ElementsAre("a"));
}

// -----------------------------------------------------------------------------
// Completions
// -----------------------------------------------------------------------------

TEST_F(AsyncControllerTest, ADroppedCompletionIsAnError) {
  const auto controller = Started(Options());
  controller->queue().Add("a");
  std::vector<Call> calls = Calls();
  std::optional<ReconcileCompletion> copy = calls[0].done;
  calls[0].done.reset();
  EXPECT_EQ(controller->TakeSnapshot()->processing.size(), 1u);
  copy.reset();
  EXPECT_EQ(log_.Await(3),
            "E controller test: reconciling a (failures: 1): ABORTED: the "
            "completion was dropped without a call");
  clock_.Step(5 * kMs);
  EXPECT_THAT(Items(), ElementsAre("a"));
}

TEST_F(AsyncControllerTest, TheSecondCallOfACompletionChangesNothing) {
  const auto controller = Started(Options());
  controller->queue().Add("a");
  std::vector<Call> calls = Calls();
  const ReconcileCompletion copy = *calls[0].done;
  EXPECT_TRUE((*calls[0].done)(absl::OkStatus()));
  controller->queue().Add("a");
  std::vector<Call> next = Calls();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_FALSE(copy(absl::UnavailableError("late")));
  EXPECT_EQ(log_.Await(3),
            "E controller test: completing a reconciliation: "
            "FAILED_PRECONDITION: it has been completed before");
  // The second reconciliation is still in flight.
  EXPECT_EQ(controller->TakeSnapshot()->processing.size(), 1u);
  EXPECT_TRUE((*next[0].done)(absl::OkStatus()));
  controller->AwaitIdle();
  EXPECT_EQ(controller->queue().NumRequeues("a"), 0);
}

TEST_F(AsyncControllerTest, ACompletionMayBeCalledAfterTheControllersEnd) {
  std::vector<Call> calls;
  {
    const auto controller = Started(Options());
    controller->queue().Add("a");
    controller->queue().Add("b");
    calls = Calls();
    ASSERT_EQ(calls.size(), 2u);
    EXPECT_FALSE(calls[0].context.Cancelled());
  }
  EXPECT_TRUE(calls[0].context.Cancelled());
  EXPECT_EQ(calls[0].context.Remaining(), absl::ZeroDuration());
  EXPECT_EQ(calls[0].context.controller_name(), "test");
  EXPECT_EQ(calls[0].item, "a");
  EXPECT_FALSE((*calls[0].done)(absl::OkStatus()));
  EXPECT_FALSE((*calls[0].done)(absl::OkStatus()));
  calls.clear();  // The second one is never called.
}

TEST_F(AsyncControllerTest, ACompletionMayBeCalledAtTheControllersEnd) {
  for (int round = 0; round < 100; ++round) {
    auto controller = Started(Options());
    for (int i = 0; i < 10; ++i) controller->queue().Add(absl::StrCat(i));
    std::vector<Call> calls = Calls();
    ASSERT_EQ(calls.size(), 10u);
    Thread completer([&calls] {
      for (Call& call : calls) (*call.done)(absl::OkStatus());
    });
    controller.reset();
    completer.join();
  }
}

#ifdef ABSL_HAVE_EXCEPTIONS
TEST_F(AsyncControllerTest, AnExceptionEndsTheReconciliation) {
  ControllerOptions<std::string> options = Options();
  std::optional<ReconcileCompletion> kept;
  options.reconcile_async = [&kept](const std::string&,
                                    const AsyncReconcileContext&,
                                    ReconcileCompletion done) {
    kept = done;
    throw std::runtime_error("thrown");
  };
  const auto controller = Started(std::move(options));
  controller->queue().Add("a");
  EXPECT_EQ(log_.Await(3),
            "E controller test: reconciling a (failures: 1): INTERNAL: thrown");
  EXPECT_FALSE((*kept)(absl::OkStatus()));
}

TEST_F(AsyncControllerTest, AnExceptionAfterTheCompletionIsLogged) {
  ControllerOptions<std::string> options = Options();
  options.reconcile_async = [](const std::string&, const AsyncReconcileContext&,
                               ReconcileCompletion done) {
    Thread([done] { EXPECT_TRUE(done(absl::OkStatus())); }).join();
    throw std::runtime_error("thrown");
  };
  const auto controller = Started(std::move(options));
  controller->queue().Add("a");
  EXPECT_EQ(log_.Await(3),
            "E controller test: a reconcile function after its completion: "
            "INTERNAL: thrown");
  EXPECT_EQ(controller->queue().NumRequeues("a"), 0);
}
#endif

// -----------------------------------------------------------------------------
// Deadlines and cancellation
// -----------------------------------------------------------------------------

TEST_F(AsyncControllerTest, IsCancelledAtItsDeadline) {
  ControllerOptions<std::string> options = Options();
  options.reconcile_timeout = absl::Seconds(10);
  const auto controller = Started(std::move(options));
  controller->queue().Add("a");
  std::vector<Call> calls = Calls();
  int cancelled = 0;
  calls[0].context.OnCancel([&cancelled] { ++cancelled; });
  EXPECT_EQ(calls[0].context.Remaining(), absl::Seconds(10));
  clock_.Step(absl::Seconds(10) - absl::Nanoseconds(1));
  EXPECT_EQ(cancelled, 0);
  EXPECT_FALSE(calls[0].context.Cancelled());
  clock_.Step(absl::Nanoseconds(1));
  EXPECT_EQ(cancelled, 1);
  EXPECT_TRUE(calls[0].context.Cancelled());
  EXPECT_EQ(calls[0].context.Remaining(), absl::ZeroDuration());
  // A callback that comes too late is called at once.
  calls[0].context.OnCancel([&cancelled] { ++cancelled; });
  EXPECT_EQ(cancelled, 2);
  calls[0].context.OnCancel(nullptr);
  // The item stays in flight until the completion.
  EXPECT_EQ(controller->TakeSnapshot()->processing.size(), 1u);
  EXPECT_TRUE((*calls[0].done)(absl::DeadlineExceededError("too late")));
  controller->AwaitIdle();
  EXPECT_EQ(controller->queue().NumRequeues("a"), 1);
}

TEST_F(AsyncControllerTest, ACompletionEndsTheWaitForTheDeadline) {
  ControllerOptions<std::string> options = Options();
  options.reconcile_timeout = absl::Seconds(10);
  const auto controller = Started(std::move(options));
  controller->queue().Add("a");
  std::vector<Call> calls = Calls();
  const auto captured = std::make_shared<int>(0);
  calls[0].context.OnCancel([captured] { ++*captured; });
  EXPECT_EQ(captured.use_count(), 2);
  (*calls[0].done)(absl::OkStatus());
  EXPECT_EQ(captured.use_count(), 1);
  calls[0].context.OnCancel([captured] { ++*captured; });
  EXPECT_EQ(captured.use_count(), 1);
  clock_.Step(absl::Seconds(10));
  EXPECT_EQ(*captured, 0);
}

TEST_F(AsyncControllerTest, StopWaitsForWhatIsInFlight) {
  const auto controller = Started(Options());
  controller->queue().Add("a");
  std::vector<Call> calls = Calls();
  Thread stopper([&] { EXPECT_TRUE(controller->Stop()); });
  while (!controller->queue().ShuttingDown()) std::this_thread::yield();
  EXPECT_FALSE(calls[0].context.Cancelled());
  (*calls[0].done)(absl::OkStatus());
  stopper.join();
}

TEST_F(AsyncControllerTest, StopWaitsForWhatWasAddedDuringItsProcessing) {
  const auto controller = Started(Options());
  controller->queue().Add("a");
  std::vector<Call> calls = Calls();
  ASSERT_EQ(calls.size(), 1u);
  controller->queue().Add("a");
  Thread stopper([&controller] { EXPECT_TRUE(controller->Stop()); });
  while (!controller->queue().ShuttingDown()) std::this_thread::yield();
  EXPECT_THAT(Calls(), IsEmpty());
  (*calls[0].done)(absl::OkStatus());
  // The stopper may be about to wake the callback that waits.
  std::vector<std::string> items;
  while ((items = Items()).empty()) std::this_thread::yield();
  EXPECT_THAT(items, ElementsAre("a"));
  stopper.join();
  EXPECT_EQ(controller->queue().Len(), 0u);
}

TEST_F(AsyncControllerTest, StopAtItsTimeoutCancelsWhatIsInFlight) {
  ControllerOptions<std::string> options = Options();
  options.max_in_flight = 2;
  const auto controller = Started(std::move(options));
  for (const char* item : {"a", "b", "c"}) controller->queue().Add(item);
  std::vector<Call> calls = Calls();
  ASSERT_EQ(calls.size(), 2u);
  int cancelled = 0;
  for (Call& call : calls) call.context.OnCancel([&cancelled] { ++cancelled; });
  EXPECT_FALSE(controller->Stop(absl::ZeroDuration()));
  EXPECT_EQ(cancelled, 2);
  for (Call& call : calls) (*call.done)(absl::CancelledError("stopped"));
  controller->AwaitIdle();
  EXPECT_THAT(Calls(), IsEmpty());
  EXPECT_EQ(controller->queue().Len(), 3u) << "two were given back";
}

#ifdef ABSL_HAVE_EXCEPTIONS
// The controller goes on, and cancels the other reconciliations, too.
TEST_F(AsyncControllerTest, AnExceptionOfACancellationIsLogged) {
  using Way = std::function<void(std::unique_ptr<Controller<std::string>>&)>;
  std::atomic<int64_t> term{1};
  SourceContext<std::string>* context = nullptr;
  const std::vector<Way> ways = {
      [&](auto&) { clock_.Step(absl::Seconds(10)); },
      [&](auto&) {
        term = 2;
        context->wake_workers();
      },
      [](auto& it) { EXPECT_FALSE(it->Stop(absl::ZeroDuration())); },
      [](auto& it) { it = nullptr; },
  };
  for (const Way& way : ways) {
    ControllerOptions<std::string> options = Options();
    options.max_in_flight = 2;
    options.reconcile_timeout = absl::Seconds(10);
    Source<std::string> source;
    source.wait_for_sync = true;
    source.term = [&term] { return term.load(); };
    source.run = [&context](SourceContext<std::string>& it) {
      context = &it;
      it.mark_synced();
      it.stop.WaitForNotification();
      return absl::OkStatus();
    };
    options.sources.push_back(std::move(source));
    auto controller = Started(std::move(options));
    for (const char* item : {"a", "b"}) controller->queue().Add(item);
    const std::vector<Call> calls = Calls();
    ASSERT_EQ(calls.size(), 2u);
    int cancelled = 0;
    for (const Call& call : calls) {
      call.context.OnCancel([&cancelled] {
        ++cancelled;
        throw std::runtime_error("no connection");
      });
    }
    const size_t logged = log_.messages().size();
    way(controller);
    EXPECT_EQ(cancelled, 2);
    std::vector<std::string> messages = log_.messages();
    messages.erase(messages.begin(), messages.begin() + logged);
    EXPECT_EQ(
        std::count(messages.begin(), messages.end(),
                   "E controller test: cancelling a reconciliation: INTERNAL: "
                   "no connection"),
        2);
    for (const Call& call : calls) (*call.done)(absl::OkStatus());
  }
}
#endif  // ABSL_HAVE_EXCEPTIONS

TEST_F(AsyncControllerTest, StopInTheReconcileFunctionDoesNotWait) {
  ControllerOptions<std::string> options = Options();
  Controller<std::string>* controller = nullptr;
  options.reconcile_async = [&controller](const std::string&,
                                          const AsyncReconcileContext&,
                                          ReconcileCompletion done) {
    EXPECT_FALSE(controller->Stop());
    done(absl::OkStatus());
  };
  const auto owner = Started(std::move(options));
  controller = owner.get();
  controller->queue().Add("a");
  EXPECT_TRUE(controller->Stop());
}

// -----------------------------------------------------------------------------
// Executors
// -----------------------------------------------------------------------------

TEST_F(AsyncControllerTest, RunsOnTheGivenExecutor) {
  InlineExecutor executor;
  ControllerOptions<std::string> options = Options();
  options.executor = &executor;
  std::set<std::thread::id> threads;
  options.reconcile_async = [&threads](const std::string&,
                                       const AsyncReconcileContext&,
                                       ReconcileCompletion done) {
    threads.insert(std::this_thread::get_id());
    done(absl::OkStatus());
  };
  const auto controller = Started(std::move(options));
  controller->queue().Add("a");
  controller->queue().Add("b");
  EXPECT_THAT(threads, ElementsAre(std::this_thread::get_id()));
  EXPECT_EQ(controller->queue().Len(), 0u);
}

// The callbacks that wait for items are deferred there, and run at the end.
TEST_F(AsyncControllerTest, IsStoppedAndDestroyedByATaskOfAnInlineExecutor) {
  for (const bool stops : {true, false}) {
    InlineExecutor executor;
    ControllerOptions<std::string> options = Options();
    options.executor = &executor;
    auto controller = Started(std::move(options));
    InlineExecutor().Execute([&] {
      if (stops) {
        EXPECT_TRUE(controller->Stop());
      }
      controller = nullptr;
    });
    EXPECT_EQ(controller, nullptr);
  }
}

// Tasks that complete at once neither nest nor wait for each other.
TEST_F(AsyncControllerTest, ManyCompleteAtOnceInline) {
  InlineExecutor executor;
  ControllerOptions<std::string> options = Options();
  options.executor = &executor;
  options.max_in_flight = 1;
  int reconciled = 0;
  options.reconcile_async = [&reconciled](const std::string&,
                                          const AsyncReconcileContext&,
                                          ReconcileCompletion done) {
    ++reconciled;
    done(absl::OkStatus());
  };
  auto controller = *Controller<std::string>::Create(std::move(options));
  for (int i = 0; i < 20000; ++i) controller->queue().Add(absl::StrCat(i));
  ASSERT_EQ(controller->Start(), absl::OkStatus());
  EXPECT_EQ(reconciled, 20000);
}

}  // namespace
}  // namespace workqueue::async_controller_test
