// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of a controller whose items come from an informer.

#include "workqueue/controller/informer_source.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <set>
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
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/controller/informer_fixture.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/informer.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue::informer_source_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using Strings = std::vector<std::string>;

Strings NameOf(const Pod& pod) { return {pod.name}; }
Strings NodeOf(const Pod& pod) { return {pod.node}; }

class InformerSourceTest : public InformerFixture {
 protected:
  // The threads that wait on the clock when nothing is to do: the queue's and
  // the source's.
  static constexpr size_t kWaiters = 2;

  // Returns the options of a controller that records its reconciliations.
  ControllerOptions<std::string> ControllerWith(Source<std::string> source) {
    ControllerOptions<std::string> options;
    options.name = "test";
    options.clock = &clock_;
    options.log_sink = &log_;
    options.sources = {std::move(source)};
    options.reconcile = [this](const std::string& item,
                               const ReconcileContext& context) {
      internal::MutexLock lock(&mu_);
      reconciled_.push_back(context.priority == 0
                                ? item
                                : absl::StrCat(item, " at ", context.priority));
      return absl::OkStatus();
    };
    return options;
  }

  std::unique_ptr<Controller<std::string>> StartedController(
      ControllerOptions<std::string> options) {
    auto controller = Controller<std::string>::Create(std::move(options));
    EXPECT_TRUE(controller.ok()) << controller.status();
    EXPECT_EQ((*controller)->Start(), absl::OkStatus());
    server_.AwaitWatched();
    (*controller)->AwaitIdle();
    return *std::move(controller);
  }

  // Returns the reconciliations since the last call, when all changes of the
  // server have been reconciled.
  Strings Reconciled(Controller<std::string>& controller) {
    server_.AwaitWatched();
    controller.AwaitIdle();
    internal::MutexLock lock(&mu_);
    return std::exchange(reconciled_, {});
  }

  absl::Mutex mu_;
  Strings reconciled_ ABSL_GUARDED_BY(mu_);
};

TEST_F(InformerSourceTest, FeedsAController) {
  server_.Put({"a", "n1"});
  server_.Put({"b", "n1"});
  auto informer = New(Options());
  auto controller = StartedController(
      ControllerWith(MakeInformerSource<std::string>(*informer, NameOf)));
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
  EXPECT_THAT(Reconciled(*controller),
              UnorderedElementsAre("a at -100", "b at -100"));
  server_.Put({"a", "n2"});
  EXPECT_THAT(Reconciled(*controller), ElementsAre("a"));
  server_.Erase("b");
  EXPECT_THAT(Reconciled(*controller), ElementsAre("b"));
}

TEST_F(InformerSourceTest, AddsTheItemsOfTheOldAndTheNewState) {
  auto informer = New(Options());
  auto controller = StartedController(
      ControllerWith(MakeInformerSource<std::string>(*informer, NodeOf)));
  server_.Put({"a", "n1"});
  EXPECT_THAT(Reconciled(*controller), ElementsAre("n1"));
  server_.Put({"a", "n2"});
  EXPECT_THAT(Reconciled(*controller), UnorderedElementsAre("n1", "n2"));
  server_.Erase("a");
  EXPECT_THAT(Reconciled(*controller), ElementsAre("n2"));
}

TEST_F(InformerSourceTest, AsksThePredicate) {
  InformerSourceOptions<Pod> options;
  options.predicate =
      ObjectChanged<Pod>([](const Pod& pod) { return pod.node; });
  auto informer = New(Options());
  auto controller = StartedController(ControllerWith(
      MakeInformerSource<std::string>(*informer, NameOf, options)));
  server_.Put({"a", "n1"});
  EXPECT_THAT(Reconciled(*controller), ElementsAre("a"));
  server_.Put({"a", "n1"});
  EXPECT_THAT(Reconciled(*controller), IsEmpty());
  server_.Put({"a", "n2"});
  EXPECT_THAT(Reconciled(*controller), ElementsAre("a"));
  server_.Erase("a");
  EXPECT_THAT(Reconciled(*controller), ElementsAre("a"));
}

TEST_F(InformerSourceTest, StartWaitsForTheFirstList) {
  server_.FailLists(100, absl::UnavailableError("no route"));
  auto informer = New(Options());
  ControllerOptions<std::string> options =
      ControllerWith(MakeInformerSource<std::string>(*informer, NameOf));
  options.sync_timeout = kRetry / 2;
  auto controller = *Controller<std::string>::Create(std::move(options));
  absl::Status started;
  Thread start([&] { started = controller->Start(); });
  // The queue, the start, the source, and the informer wait.
  clock_.AwaitWaiters(4);
  clock_.Step(kRetry / 2);
  start.join();
  EXPECT_EQ(started, absl::DeadlineExceededError(
                         "not in sync within 500ms: pods (source pods: no "
                         "route)"));
}

TEST_F(InformerSourceTest, IsUnhealthyWhileItDoesNotWatch) {
  auto informer = New(Options());
  auto controller = StartedController(
      ControllerWith(MakeInformerSource<std::string>(*informer, NameOf)));
  clock_.AwaitWaiters(kWaiters);
  server_.EndWatches(absl::UnavailableError("broken"));
  clock_.AwaitWaiters(kWaiters + 1);
  EXPECT_EQ(controller->Healthy(),
            absl::UnavailableError(
                "controller test: source pods: broken (it goes on)"));
  server_.Put({"a", "n1"});
  clock_.Step(kRetry);
  EXPECT_THAT(Reconciled(*controller), ElementsAre("a"));
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
}

TEST_F(InformerSourceTest, ResyncsAtLowPriority) {
  InformerSourceOptions<Pod> options;
  options.resync_period = absl::Minutes(10);
  auto informer = New(Options());
  auto controller = StartedController(ControllerWith(
      MakeInformerSource<std::string>(*informer, NameOf, options)));
  server_.Put({"a", "n1"});
  EXPECT_THAT(Reconciled(*controller), ElementsAre("a"));
  for (int i = 0; i < 3; ++i) {
    clock_.AwaitWaiters(kWaiters);
    clock_.Step(absl::Minutes(10));
    clock_.AwaitWaiters(kWaiters);  // The source has resynced.
    EXPECT_THAT(Reconciled(*controller), ElementsAre("a at -100"));
  }
}

TEST_F(InformerSourceTest, AStopEndsAResync) {
  for (int i = 0; i < 100; ++i) server_.Put({absl::StrCat(i), "n1"});
  Controller<std::string>* resynced = nullptr;
  std::atomic<int> calls{0};
  InformerSourceOptions<Pod> options;
  options.resync_period = absl::Minutes(10);
  auto informer = New(Options());
  auto controller =
      StartedController(ControllerWith(MakeInformerSource<std::string>(
          *informer,
          [&](const Pod& pod) {
            ++calls;
            while (resynced != nullptr &&
                   !absl::IsCancelled(resynced->Healthy())) {
              std::this_thread::yield();
            }
            return NameOf(pod);
          },
          options)));
  clock_.AwaitWaiters(kWaiters);
  resynced = controller.get();
  calls = 0;
  clock_.Step(absl::Minutes(10));
  while (calls == 0) std::this_thread::yield();
  EXPECT_TRUE(controller->Stop());
  EXPECT_EQ(calls, 1);
}

TEST_F(InformerSourceTest, SeveralControllersShareAnInformer) {
  server_.Put({"a", "n1"});
  auto informer = New(Options());
  auto names = StartedController(
      ControllerWith(MakeInformerSource<std::string>(*informer, NameOf)));
  EXPECT_THAT(Reconciled(*names), ElementsAre("a at -100"));
  auto nodes = StartedController(
      ControllerWith(MakeInformerSource<std::string>(*informer, NodeOf)));
  EXPECT_THAT(Reconciled(*nodes), ElementsAre("n1 at -100"));
  names = nullptr;
  server_.Put({"b", "n2"});
  EXPECT_THAT(Reconciled(*nodes), ElementsAre("n2"));
  EXPECT_EQ(server_.lists(), 1);
}

// A queue that takes nothing while `refuses` is set, and has no memory while
// `throws` is set. It calls the item "wrong" wrong.
class RefusingQueue final : public RateLimitingQueue<std::string> {
 public:
  using RateLimitingQueue::RateLimitingQueue;

  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const std::string> items) override {
    ++calls;
#ifdef ABSL_HAVE_EXCEPTIONS
    if (throws) throw std::bad_alloc();
#endif
    if (refuses) return absl::UnavailableError("refuses");
    if (std::count(items.begin(), items.end(), "wrong") > 0) {
      return absl::InvalidArgumentError("too long");
    }
    return RateLimitingQueue::AddItems(options, items);
  }

  std::atomic<int> calls{0};
  std::atomic<bool> refuses{false};
  std::atomic<bool> throws{false};
};

TEST_F(InformerSourceTest, LosesNothingThatTheQueueRefuses) {
  RateLimitingQueueOptions<std::string> queue_options;
  queue_options.clock = &clock_;
  auto queue = std::make_unique<RefusingQueue>(std::move(queue_options));
  RefusingQueue* const refusing = queue.get();
  auto informer = New(Options());
  ControllerOptions<std::string> options =
      ControllerWith(MakeInformerSource<std::string>(*informer, NameOf));
  options.queue = std::move(queue);
  auto controller = StartedController(std::move(options));
  refusing->refuses = true;
  refusing->throws = true;
  server_.Put({"a", "n1"});
  server_.Put({"b", "n1"});
  server_.Erase("a");
  EXPECT_THAT(Reconciled(*controller), IsEmpty());
  // The source may still be on its way to its sleep, so one step may be too
  // early.
  const int calls = refusing->calls;
  refusing->throws = false;
  while (refusing->calls < calls + 4) clock_.Step(absl::Seconds(1));
  EXPECT_THAT(Reconciled(*controller), IsEmpty());
  refusing->refuses = false;
  std::set<std::string> reconciled;
  while (reconciled.size() < 2) {
    clock_.Step(absl::Seconds(1));
    for (const std::string& item : Reconciled(*controller)) {
      reconciled.insert(item);
    }
  }
  EXPECT_THAT(reconciled, ElementsAre("a", "b"));
}

// The source is in sync a moment later, so the log tells alone.
TEST_F(InformerSourceTest, AStartTellsOfAWrongItemOfTheFirstList) {
  server_.Put({"a", "n1"});
  server_.Put({"wrong", "n1"});
  server_.Put({"z", "n1"});
  RateLimitingQueueOptions<std::string> queue_options;
  queue_options.clock = &clock_;
  auto informer = New(Options());
  ControllerOptions<std::string> options =
      ControllerWith(MakeInformerSource<std::string>(*informer, NameOf));
  options.queue = std::make_unique<RefusingQueue>(std::move(queue_options));
  auto controller = StartedController(std::move(options));
  EXPECT_THAT(log_.messages(),
              ElementsAre("I controller test: starting",
                          "E controller test: adding an item of a source: "
                          "INVALID_ARGUMENT: too long",
                          "I controller test: starting workers: 1"));
  EXPECT_THAT(Reconciled(*controller), UnorderedElementsAre("a", "z"));
  EXPECT_EQ(controller->Healthy(), absl::OkStatus());
  EXPECT_TRUE(controller->Stop());
}

#ifdef ABSL_HAVE_EXCEPTIONS
// A function that throws when it is called the first `n` times.
class Flaky {
 public:
  void Call() {
    if (left_-- > 0) throw std::bad_alloc();
  }
  void Throw(int n) { left_ = n; }

 private:
  std::atomic<int> left_{0};
};

// The changes are reconciled although the functions of the source throw.
TEST_F(InformerSourceTest, LosesNothingWhenItsFunctionsThrow) {
  Flaky items, predicate;
  InformerSourceOptions<Pod> source;
  source.predicate = [&](const ObjectEvent<Pod>&) {
    predicate.Call();
    return true;
  };
  auto informer = New(Options());
  auto controller =
      StartedController(ControllerWith(MakeInformerSource<std::string>(
          *informer,
          [&](const Pod& pod) {
            items.Call();
            return NodeOf(pod);
          },
          source)));
  int node = 0;
  for (Flaky* const flaky : {&items, &predicate}) {
    for (const int times : {1, 2}) {
      flaky->Throw(times);
      const std::string name = absl::StrCat("n", ++node);
      server_.Put({absl::StrCat("a", node), name});
      EXPECT_THAT(Reconciled(*controller), IsEmpty());
      EXPECT_EQ(controller->Healthy(),
                absl::InternalError("controller test: source pods: "
                                    "std::bad_alloc (it goes on)"));
      Strings reconciled;
      while (reconciled.empty()) {
        clock_.Step(absl::Seconds(1));
        reconciled = Reconciled(*controller);
      }
      EXPECT_THAT(reconciled, ElementsAre(name));
      while (!controller->Healthy().ok()) std::this_thread::yield();
    }
  }
}

// The start waits until the items of all objects of the first list have been
// added.
TEST_F(InformerSourceTest, IsNotInSyncWhileAFunctionThrows) {
  server_.Put({"a", "n1"});
  server_.Put({"b", "n1"});
  for (const int times : {2, 3}) {
    Flaky items;
    items.Throw(times);
    auto informer = New(Options());
    ControllerOptions<std::string> options = ControllerWith(
        MakeInformerSource<std::string>(*informer, [&](const Pod& pod) {
          items.Call();
          return NameOf(pod);
        }));
    options.sync_timeout = absl::Milliseconds(1500);
    auto controller = *Controller<std::string>::Create(std::move(options));
    absl::Status started;
    Thread start([&] { started = controller->Start(); });
    server_.AwaitWatched();
    // The queue, the start, the source, and the informer's second thread wait.
    clock_.AwaitWaiters(4);
    EXPECT_EQ(controller->Healthy(),
              absl::UnavailableError(
                  "controller test is starting; not in sync: pods (source "
                  "pods: std::bad_alloc)"));
    clock_.Step(absl::Seconds(1));
    if (times == 3) {
      clock_.AwaitWaiters(4);
      clock_.Step(absl::Milliseconds(500));
    }
    start.join();
    if (times == 2) {
      EXPECT_EQ(started, absl::OkStatus());
      EXPECT_THAT(Reconciled(*controller),
                  UnorderedElementsAre("a at -100", "b at -100"));
      EXPECT_EQ(controller->Healthy(), absl::OkStatus());
    } else {
      EXPECT_EQ(started, absl::DeadlineExceededError(
                             "not in sync within 1.5s: pods (source pods: "
                             "std::bad_alloc)"));
    }
  }
}

TEST_F(InformerSourceTest, AResyncWhoseFunctionThrowsGoesOn) {
  Flaky items;
  InformerSourceOptions<Pod> source;
  source.resync_period = absl::Minutes(10);
  auto informer = New(Options());
  auto controller =
      StartedController(ControllerWith(MakeInformerSource<std::string>(
          *informer,
          [&](const Pod& pod) {
            items.Call();
            return NameOf(pod);
          },
          source)));
  server_.Put({"a", "n1"});
  server_.Put({"b", "n1"});
  EXPECT_THAT(Reconciled(*controller), UnorderedElementsAre("a", "b"));
  items.Throw(1);
  clock_.AwaitWaiters(kWaiters);
  clock_.Step(absl::Minutes(10));
  std::set<std::string> reconciled;
  while (reconciled.size() < 2) {
    clock_.Step(absl::Seconds(1));
    for (const std::string& item : Reconciled(*controller)) {
      reconciled.insert(item);
    }
  }
  EXPECT_THAT(reconciled, ElementsAre("a at -100", "b at -100"));
}
#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::informer_source_test
