// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that each call of a `SharedQueue` or a `LeaderElector` returns in time,
// on the real clock, whatever the server and the network do.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/redis_fixture.h"
#include "test/shared/redis_server.h"
#include "test/shared/reply_proxy.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/leader_election/internal/leader_lease.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/redis_engine.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/snapshot.h"
#include "workqueue/testing/thread.h"
#include "workqueue/thread_pool.h"

namespace workqueue::shared_queue_deadline_test {
namespace {

using Queue = SharedQueue<std::string>;
using Options = SharedQueueOptions<std::string>;

// Far more than a call takes whose server answers, however busy the machine is.
constexpr absl::Duration kTimeout = absl::Seconds(1);
// Far less than two timeouts one after the other would take for each of eight
// partitions or threads.
constexpr absl::Duration kPatience = absl::Seconds(5);
constexpr int kMany = 8;

absl::Time Now() { return Clock::GetRealClock()->TimeNow(); }

class SharedQueueDeadlineTest : public RedisFixture {
 protected:
  void SetUp() override {
    RedisFixture::SetUp();
    if (server() == nullptr) return;
    proxy_ = std::make_unique<ReplyProxy>(server()->socket_path());
  }

  Options MakeOptions() const {
    Options options;
    options.name = "q";
    options.redis.address = proxy_->socket_path();
    options.lease = absl::Seconds(60);
    options.call_timeout = kTimeout;
    return options;
  }

  // Calls `f`, which must return an error in time.
  static void FailsInTime(const char* what,
                          const std::function<absl::Status()>& f) {
    const absl::Time start = Now();
    const absl::Status status = f();
    EXPECT_FALSE(status.ok()) << what;
    EXPECT_LT(Now() - start, kPatience) << what;
  }

  // All calls of a queue fail in time.
  static void AllFailInTime(Queue* queue) {
    std::vector<std::string> many;
    for (int i = 0; i < 100; ++i) many.push_back(absl::StrCat(i));
    const absl::Duration soon = absl::Milliseconds(100);
    FailsInTime("Add", [&] { return queue->AddItems({}, {"x"}); });
    FailsInTime("AddAll", [&] { return queue->AddItems({}, many); });
    FailsInTime("Count", [&] { return queue->Count().status(); });
    FailsInTime("TryAcquire", [&] { return queue->TryAcquire().status(); });
    FailsInTime("AcquireWithTimeout",
                [&] { return queue->AcquireWithTimeout(soon).status(); });
    FailsInTime("AcquireUpToWithTimeout", [&] {
      return queue->AcquireUpToWithTimeout(9, soon).status();
    });
    FailsInTime("TakeSnapshot", [&] { return queue->TakeSnapshot().status(); });
    FailsInTime("TakeSnapshotOf",
                [&] { return queue->TakeSnapshotOf("x").status(); });
    FailsInTime("ShutDownWithDrain",
                [&] { return queue->ShutDownAndDrain(soon).status(); });
    FailsInTime("ShutDown",
                [&] { return queue->ShutDownAndDrain(std::nullopt).status(); });
  }

  std::unique_ptr<ReplyProxy> proxy_;
};

TEST_F(SharedQueueDeadlineTest, PartitionsWaitAtTheSameTime) {
  Options options = MakeOptions();
  options.partitions = kMany;
  auto queue = NewSharedQueue(options);
  ASSERT_TRUE(queue->Add("a"));
  auto lease = queue->Acquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  server()->Pause();
  AllFailInTime(queue.get());
  FailsInTime("Done", [&] {
    return lease->Done() ? absl::OkStatus() : absl::UnknownError("not done");
  });
  options.name = "other";
  FailsInTime("Create", [&] { return Queue::Create(options).status(); });
  const absl::Time start = Now();
  queue.reset();
  EXPECT_LT(Now() - start, kPatience);
  server()->Resume();
}

TEST_F(SharedQueueDeadlineTest, RepliesThatDripAreNotInTime) {
  auto queue = NewSharedQueue(MakeOptions());
  ASSERT_TRUE(queue->Add("a"));
  proxy_->Drip(true);
  AllFailInTime(queue.get());
  FailsInTime("Create", [&] { return Queue::Create(MakeOptions()).status(); });
  const absl::Time start = Now();
  queue.reset();
  EXPECT_LT(Now() - start, kPatience);
}

TEST_F(SharedQueueDeadlineTest, ARequestThatIsNotReadIsNotInTime) {
  const auto queue = NewSharedQueue(MakeOptions());
  proxy_->Hold(true);
  const std::string large(16 << 20, 'x');
  FailsInTime("Add", [&] { return queue->AddItems({}, {large}); });
  proxy_->Hold(false);
  EXPECT_TRUE(queue->Add("small"));
}

// The machine of the server is gone, which nobody tells the client. The name of
// the server leads to another machine.
TEST_F(SharedQueueDeadlineTest, ASilentConnectionIsLeftInTime) {
  Options options = MakeOptions();
  options.call_timeout = 6 * kTimeout;
  const auto queue = NewSharedQueue(options);
  proxy_->HoldThese();
  EXPECT_EQ(queue->AddItems({}, {"a"}), absl::OkStatus());
  proxy_->HoldThese();
  const std::string large(1 << 20, 'x');  // more than the network takes
  EXPECT_EQ(queue->AddItems({}, {large}), absl::OkStatus());
  EXPECT_EQ(queue->Len(), 2u);

  internal::LeaderLease::Options election;
  election.name = "election";
  election.redis = options.redis;
  election.duration = absl::Hours(1);
  election.timeout = options.call_timeout;
  internal::LeaderLease lease(election);
  ASSERT_TRUE(lease.Take().ok());
  proxy_->HoldThese();
  EXPECT_EQ(lease.Look().status(), absl::OkStatus());
}

// A request that is sent again gets the reply to the first one.
TEST_F(SharedQueueDeadlineTest, AServerThatIsOnlySlowIsInTime) {
  Options options = MakeOptions();
  options.call_timeout = 5 * kTimeout;
  const auto queue = NewSharedQueue(options);
  server()->Pause();
  Thread resumer([this] {
    Clock::GetRealClock()->Sleep(3 * kTimeout);
    server()->Resume();
  });
  EXPECT_EQ(queue->AddItems({}, {"a"}), absl::OkStatus());
  resumer.join();
  EXPECT_EQ(queue->Len(), 1u);
}

// The network keeps a request of which the client does not know whether it was
// executed, and brings it after another one, which has changed nothing.
TEST_F(SharedQueueDeadlineTest, ARequestThatComesLateChangesNothing) {
  const auto engine = [](const std::string& address) {
    RedisOptions to;
    to.address = address;
    return std::make_unique<internal::RedisEngine>("q", 1, to);
  };
  const auto slow = engine(proxy_->socket_path());
  const auto other = engine(server()->socket_path());
  internal::EngineRequest request;
  request.client = "other";
  request.number = 1;
  ASSERT_TRUE(other->Apply(request, Now() + absl::Seconds(9)).ok());
  request.client = "slow";
  ASSERT_TRUE(slow->Apply(request, Now() + absl::Seconds(9)).ok());

  proxy_->HoldThese();
  ++request.number;
  request.operations = {{internal::EngineOperation::kCancelDelayed, "x"}};
  const absl::Status late = slow->Apply(request, Now() + kTimeout).status();
  EXPECT_TRUE(absl::IsUnknown(late)) << late;
  ++request.number;
  ASSERT_EQ(slow->Apply(request, Now() + absl::Seconds(9))->results,
            std::vector<int64_t>{internal::kFalse});
  request.client = "other";
  request.operations = {{internal::EngineOperation::kAddAfter, "x", 1 << 30}};
  ASSERT_TRUE(other->Apply(request, Now() + absl::Seconds(9)).ok());

  absl::Notification came;
  proxy_->SetHook([&came](std::string*) { came.Notify(); });
  proxy_->Hold(false);
  came.WaitForNotification();
  EXPECT_EQ(other->TakeSnapshot({}, Now() + absl::Seconds(9))->num_waiting, 1u);
  proxy_->SetHook(nullptr);
}

// A call that waits for those of other threads waits no longer for that.
TEST_F(SharedQueueDeadlineTest, CallsBesideEachOtherKeepTheirTimes) {
  const auto queue = NewSharedQueue(MakeOptions());
  server()->Pause();
  const absl::Time end = Now() + 3 * kTimeout;
  std::vector<Thread> threads;
  for (int i = 0; i < kMany; ++i) {
    threads.emplace_back([&queue, end, i] {
      while (Now() < end) {
        FailsInTime("a call", [&] {
          return i % 4 == 0 ? queue->AddItems({}, {"x"})
                            : queue->TakeSnapshot().status();
        });
      }
    });
  }
  for (Thread& thread : threads) thread.join();
  server()->Resume();
}

TEST_F(SharedQueueDeadlineTest, ASnapshotHasATimeoutOfItsOwn) {
  for (const int partitions : {1, kMany}) {
    Options options = MakeOptions();
    options.name = absl::StrCat("q", partitions);
    options.call_timeout = absl::Minutes(1);
    options.partitions = partitions;
    auto queue = NewSharedQueue(options);
    server()->Pause();
    SnapshotOptions<std::string> snapshot;
    snapshot.timeout = kTimeout;
    for (const size_t max : {0, 10}) {
      snapshot.max = max;
      FailsInTime("a snapshot",
                  [&] { return queue->TakeSnapshotWith(snapshot).status(); });
    }
    const std::string item = "x";
    snapshot.only = &item;
    FailsInTime("a snapshot of one item",
                [&] { return queue->TakeSnapshotWith(snapshot).status(); });
    server()->Resume();
  }
}

TEST_F(SharedQueueDeadlineTest, AnOutageIsNotHealthy) {
  for (const int partitions : {1, kMany}) {
    Options options = MakeOptions();
    options.name = absl::StrCat("q", partitions);
    options.partitions = partitions;
    auto queue = NewSharedQueue(options);
    EXPECT_EQ(queue->Healthy(), absl::OkStatus());
    server()->Pause();
    EXPECT_FALSE(queue->Add("x"));
    const std::string message(queue->Healthy().message());
    EXPECT_THAT(message, testing::HasSubstr("has not reached its engine for "));
    EXPECT_THAT(message, testing::Not(testing::HasSubstr("for 0")));
    server()->Resume();
    while (!queue->Healthy().ok()) queue->Count().IgnoreError();
  }
}

// As those of a source that adds one item after the other.
TEST_F(SharedQueueDeadlineTest, ManyCallsOfAClosedQueueTakeNoTime) {
  auto queue = NewSharedQueue(MakeOptions());
  server()->Pause();
  EXPECT_FALSE(queue->Add("x"));
  queue->Close();
  const absl::Time begin = absl::Now();
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(queue->Unpark("x").ok());
  EXPECT_LT(absl::Now() - begin, absl::Seconds(4)) << "20 s with 100 ms each";
  server()->Resume();
}

// A stop does not outlast its timeout, although nobody knows what is left, and
// the destructor waits for no more than the calls that were in flight.
TEST_F(SharedQueueDeadlineTest, AControllerStopsInTime) {
  // Longer than the stop may take.
  constexpr absl::Duration kCallTimeout = absl::Seconds(8);
  Options options = MakeOptions();
  options.call_timeout = kCallTimeout;
  absl::Notification began;
  ControllerOptions<std::string> controller_options;
  controller_options.name = "test";
  controller_options.workers = 2;
  controller_options.queue = NewSharedQueue(options);
  controller_options.reconcile = [&began](const std::string&,
                                          const ReconcileContext& context) {
    began.Notify();
    context.stop.WaitForNotification();
    return absl::CancelledError("told to stop");
  };
  auto controller =
      *Controller<std::string>::Create(std::move(controller_options));
  ASSERT_EQ(controller->Start(), absl::OkStatus());
  controller->queue().Add("a");
  began.WaitForNotification();
  server()->Pause();
  absl::Time start = Now();
  EXPECT_FALSE(controller->Stop(kTimeout));
  EXPECT_LT(Now() - start, kPatience);
  start = Now();
  controller.reset();
  EXPECT_LT(Now() - start, kCallTimeout + kPatience);
  server()->Resume();
}

// Returns whether `f` returns true within a minute.
bool Await(const std::function<bool()>& f) {
  const absl::Time end = Now() + absl::Minutes(1);
  while (Now() < end) {
    if (f()) return true;
  }
  return f();
}

// The engine hands an item out again, because its lease is lost. A process does
// not work on it twice at the same time.
TEST_F(SharedQueueDeadlineTest, AKeyHasOneWorkerInAProcess) {
  Options options = MakeOptions();
  options.lease = absl::Seconds(1);
  options.call_timeout = absl::Minutes(1);
  std::atomic<int> calls{0}, workers{0};
  std::atomic<bool> twice{false}, other{false}, lost{false};
  absl::Notification go_on;
  ControllerOptions<std::string> controller_options;
  controller_options.workers = 4;
  controller_options.queue = NewSharedQueue(options);
  const auto& queue = static_cast<Queue&>(*controller_options.queue);
  controller_options.reconcile = [&](const std::string& item,
                                     const ReconcileContext& context) {
    if (item == "b") {
      other = true;
      return absl::OkStatus();
    }
    if (++workers > 1) twice = true;
    if (++calls == 1) {
      lost = Await([&context] { return context.Lost(); });
      go_on.WaitForNotificationWithTimeout(absl::Minutes(1));
    }
    --workers;
    return absl::OkStatus();
  };
  auto controller =
      *Controller<std::string>::Create(std::move(controller_options));
  ASSERT_EQ(controller->Start(), absl::OkStatus());
  EXPECT_TRUE(controller->queue().Add("a"));
  EXPECT_TRUE(Await([&calls] { return calls > 0; }));
  options.redis.address = server()->socket_path();
  const std::unique_ptr<Queue> other_process = NewSharedQueue(options);
  proxy_->Hold(true);
  EXPECT_TRUE(Await([&lost] { return lost.load(); }));
  // The loss counts as a failure. Then the engine hands a out again.
  EXPECT_TRUE(
      Await([&other_process] { return other_process->Count()->failing == 1; }));
  proxy_->Hold(false);
  EXPECT_TRUE(Await(
      [&queue] { return !queue.TakeSnapshotOf("a")->processing.empty(); }));
  // The engine pushes b after a.
  EXPECT_TRUE(controller->queue().Add("b"));
  EXPECT_TRUE(Await([&other] { return other.load(); }));
  EXPECT_FALSE(twice);
  EXPECT_EQ(calls, 1);
  go_on.Notify();
  EXPECT_TRUE(Await([&calls] { return calls > 1; }));
  EXPECT_TRUE(controller->Stop());
  EXPECT_FALSE(twice);
}

// Returns whether `context` tells, in time, that the lease is lost.
template <typename Context>
bool IsTold(const Context& context) {
  const absl::Time end = Now() + absl::Seconds(10);
  while (!context.Lost() && Now() < end) {
  }
  return context.Lost() && context.Cancelled();
}

TEST_F(SharedQueueDeadlineTest, AReconciliationIsToldThatItsLeaseIsLost) {
  for (const bool async : {false, true}) {
    Options options = MakeOptions();
    options.lease = absl::Seconds(3);
    absl::Notification began, ended;
    bool lost_at_first = true, told = false;
    int64_t token = 0;
    const auto reconcile = [&](const auto& context) {
      if (ended.HasBeenNotified()) return;
      lost_at_first = context.Lost();
      token = context.token;
      began.Notify();
      told = IsTold(context);
      ended.Notify();
    };
    ControllerOptions<std::string> controller_options;
    controller_options.queue = NewSharedQueue(options);
    if (async) {
      controller_options.reconcile_async =
          [&](const std::string&, const AsyncReconcileContext& context,
              ReconcileCompletion done) {
            struct {
              bool Lost() const { return context.Lost(); }
              bool Cancelled() const { return context.Cancelled(); }
              const AsyncReconcileContext& context;
              int64_t token;
            } const view = {context, context.token()};
            reconcile(view);
            done(absl::OkStatus());
          };
    } else {
      controller_options.reconcile = [&](const std::string&,
                                         const ReconcileContext& context) {
        reconcile(context);
        return absl::OkStatus();
      };
    }
    auto controller =
        *Controller<std::string>::Create(std::move(controller_options));
    ASSERT_EQ(controller->Start(), absl::OkStatus());
    controller->queue().Add(async ? "a" : "b");
    began.WaitForNotification();
    server()->Pause();
    ended.WaitForNotification();
    server()->Resume();
    EXPECT_FALSE(lost_at_first);
    EXPECT_TRUE(told) << async;
    EXPECT_GT(token, 0);
    // The end of the lost lease may not be known yet.
    controller->AwaitIdle();
    EXPECT_TRUE(controller->Stop());
  }
}

// Completes each item when the test says so, on an event loop.
class AsyncOnALoopTest : public SharedQueueDeadlineTest {
 protected:
  void Start(const Options& options) {
    ThreadPoolOptions loop_options;
    loop_options.threads = 1;
    loop_ = *ThreadPool::Create(loop_options);
    ControllerOptions<std::string> controller_options;
    controller_options.queue = NewSharedQueue(options);
    queue_ = static_cast<Queue*>(controller_options.queue.get());
    controller_options.executor = loop_.get();
    controller_options.reconcile_async = [this](const std::string& item,
                                                const AsyncReconcileContext&,
                                                ReconcileCompletion done) {
      internal::MutexLock lock(&mu_);
      if (++calls_[item] > 1) done(absl::OkStatus());
      done_[item] = std::move(done);
    };
    controller_ =
        *Controller<std::string>::Create(std::move(controller_options));
    ASSERT_EQ(controller_->Start(), absl::OkStatus());
  }

  // Adds the items, and blocks until they are in flight.
  void Begin(const std::vector<std::string>& items) {
    for (const auto& item : items) EXPECT_TRUE(queue_->Add(item));
    EXPECT_TRUE(Await([&] {
      internal::MutexLock lock(&mu_);
      return done_.size() == items.size();
    }));
  }

  // Completes the items on the loop, which must not block. An item begins with
  // its result.
  void CompleteAll() {
    std::map<std::string, ReconcileCompletion> done;
    {
      internal::MutexLock lock(&mu_);
      done = done_;
    }
    for (const auto& [item, completion] : done) {
      const absl::StatusOr<ReconcileResult> result = ResultOf(item);
      loop_->Execute([completion = completion, result] {
        EXPECT_TRUE(completion(result));
      });
    }
    ExpectLoopRuns();
  }

  // The loop runs a task soon. A call with a timeout of a minute takes longer,
  // and so do those for all items, one after the other.
  void ExpectLoopRuns() {
    auto ran = std::make_shared<absl::Notification>();
    loop_->Execute([ran] { ran->Notify(); });
    EXPECT_TRUE(ran->WaitForNotificationWithTimeout(absl::Seconds(10)));
  }

  static absl::StatusOr<ReconcileResult> ResultOf(const std::string& item) {
    ReconcileResult result;
    if (item[0] == 'f') return absl::InternalError("fails");
    if (item[0] == 'n') return ReconcileResult::NotNow(absl::ZeroDuration());
    if (item[0] == 'l') result.requeue_after = absl::Hours(1);
    return result;
  }

  int CallsOf(const std::string& item) {
    internal::MutexLock lock(&mu_);
    return calls_[item];
  }

  absl::Mutex mu_;
  std::map<std::string, int> calls_;
  std::map<std::string, ReconcileCompletion> done_;
  std::unique_ptr<ThreadPool> loop_;
  std::unique_ptr<Controller<std::string>> controller_;
  Queue* queue_ = nullptr;
};

TEST_F(AsyncOnALoopTest, ACompletionDoesNotWaitForTheServer) {
  for (const int partitions : {1, kMany}) {
    Options options = MakeOptions();
    options.name = absl::StrCat("q", partitions);
    options.partitions = partitions;
    options.call_timeout = absl::Minutes(1);
    calls_.clear();
    done_.clear();
    ASSERT_NO_FATAL_FAILURE(Start(options));
    Begin({"success", "failure", "later", "not now"});
    server()->Pause();
    CompleteAll();
    server()->Resume();
    EXPECT_TRUE(Await([this] {
      const SharedQueueCounts counts = *queue_->Count();
      return counts.queued + counts.processing + counts.failing == 0 &&
             counts.waiting == 1;
    }));
    EXPECT_EQ(CallsOf("success"), 1);
    EXPECT_EQ(CallsOf("failure"), 2);
    EXPECT_EQ(CallsOf("later"), 1);
    EXPECT_EQ(CallsOf("not now"), 2);
    EXPECT_TRUE(controller_->Stop());
    controller_.reset();
    loop_.reset();
  }
}

// More items than threads that call the server.
TEST_F(AsyncOnALoopTest, WhatTheServerDoesNotTakeIsTriedAgainElsewhere) {
  ASSERT_NO_FATAL_FAILURE(Start(MakeOptions()));
  std::vector<std::string> items = {"failure"};
  for (int i = 0; i < 12; ++i) items.push_back(absl::StrCat("later ", i));
  Begin(items);
  server()->Pause();
  CompleteAll();
  EXPECT_TRUE(Await([this] { return !controller_->Healthy().ok(); }));
  ExpectLoopRuns();
  server()->Resume();
  EXPECT_TRUE(Await([this] {
    const auto counts = queue_->Count();
    return counts.ok() && counts->processing == 0 && counts->waiting == 12;
  }));
  for (int i = 0; i < 12; ++i) EXPECT_EQ(CallsOf(absl::StrCat("later ", i)), 1);
  EXPECT_TRUE(controller_->Stop());
}

// What is not ended yet ends at a stop.
TEST_F(AsyncOnALoopTest, TheDestructorWaitsForTheEnds) {
  Options options = MakeOptions();
  options.call_timeout = absl::Minutes(1);
  ASSERT_NO_FATAL_FAILURE(Start(options));
  const auto other = NewSharedQueue(options);
  std::vector<std::string> items;
  for (int i = 0; i < 12; ++i) items.push_back(absl::StrCat("success ", i));
  Begin(items);
  server()->Pause();
  CompleteAll();
  Thread resumer([this] {
    EXPECT_TRUE(
        Await([this] { return absl::IsCancelled(controller_->Healthy()); }));
    server()->Resume();
  });
  controller_->Stop(absl::ZeroDuration());
  resumer.join();
  controller_.reset();
  EXPECT_EQ(other->Count()->queued + other->Count()->processing, 0u);
}

TEST_F(SharedQueueDeadlineTest, AnElectorStopsInTime) {
  for (bool drips : {true, false}) {
    LeaderElectorOptions options;
    options.name = "election";
    options.redis.address = proxy_->socket_path();
    options.redis.connect_timeout = absl::Seconds(30);
    options.lease_duration = absl::Seconds(4);
    options.renew_deadline = absl::Seconds(2);
    options.retry_period = kTimeout;
    auto elector = LeaderElector::Create(options);
    ASSERT_TRUE(elector.ok()) << elector.status();
    ASSERT_TRUE((*elector)->Start().ok());
    while (!(*elector)->IsLeader()) {
    }
    if (drips) {
      proxy_->Drip(true);
    } else {
      server()->Pause();
    }
    // A renewal is in progress, and a listener that begins anew waits, too.
    while ((*elector)->Healthy().ok()) {
    }
    const absl::Time start = Now();
    (*elector)->Stop();
    EXPECT_LT(Now() - start, kPatience) << drips;
    proxy_->Drip(false);
    if (!drips) server()->Resume();
  }
}

}  // namespace
}  // namespace workqueue::shared_queue_deadline_test
