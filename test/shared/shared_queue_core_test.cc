// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests `SharedQueueCore` with an engine that replies and pushes when the test
// says so: orders of events that test/model/shared_queue.pml has found.

#include "workqueue/shared/internal/shared_queue_core.h"

#include <algorithm>
#include <chrono>  // NOLINT(build/c++11)
#include <cstddef>
#include <cstdint>
#include <future>  // NOLINT(build/c++11)
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/shared/internal/byte_queue.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/snapshot.h"
#include "workqueue/testing/manual_executor.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {
namespace internal::shared_queue_core_test {
namespace {

constexpr absl::Duration kLong = absl::Seconds(10);

// Has no items but those that the test pushes, or lets it hand out.
class FakeEngine final : public Engine {
 public:
  absl::StatusOr<EngineReply> Apply(const EngineRequest& request,
                                    absl::Time deadline) override {
    if (deadline <= absl::Now()) {
      return absl::UnavailableError("no time is left");
    }
    MutexLock lock(&mu_);
    waiting_ = request.waiting_workers;
    told_.push_back(waiting_);
    const auto replies = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return replies_ || replies_once_;
    };
    if (!mu_.AwaitWithDeadline(absl::Condition(&replies), deadline)) {
      return absl::UnknownError("no answer");
    }
    replies_once_ = false;
    if (!refuses_.ok()) return refuses_;
    EngineReply reply;
    reply.shut_down = shut_down_;
    reply.pushed = pushed_;
    const uint64_t coming = pushed_ - request.received;
    reply.pushes = pushed_ + (waiting_ > coming ? waiting_ - coming : 0);
    reply.results.assign(request.operations.size(), kTrue);
    size_t size = request.operations.size() + request.take;
    size_t bytes = 0;
    for (size_t i = 0; i < request.operations.size(); ++i) {
      const EngineOperation& operation = request.operations[i];
      operations_.push_back(operation);
      bytes += operation.item.size();
      if (operation.code == EngineOperation::kRenew &&
          operation.x <= lost_token_) {
        reply.results[i] = kFalse;
      }
    }
    largest_ = std::max(largest_, size);
    most_bytes_ = std::max(most_bytes_, bytes);
    for (size_t n = request.take; n > 0 && items_ > 0; --n, --items_) {
      ++token_;
      reply.items.push_back(
          {name_.empty() ? absl::StrCat(token_) : name_, token_, 0, 0});
    }
    reply.num_queued = items_;
    return reply;
  }

  // From now on there are so many items to take. Their names are their tokens,
  // or all are `name`.
  void SetItems(size_t n, const std::string& name = "") {
    MutexLock lock(&mu_);
    items_ = n;
    name_ = name;
  }

  // From now on the leases of tokens up to `token` are lost.
  void LoseLeases(int64_t token) {
    MutexLock lock(&mu_);
    lost_token_ = token;
  }

  // The size of the largest request, in operations and items to take, and in
  // bytes, and all operations since the last call.
  size_t largest() {
    MutexLock lock(&mu_);
    return largest_;
  }
  size_t most_bytes() {
    MutexLock lock(&mu_);
    return most_bytes_;
  }
  std::vector<EngineOperation> TakeOperations() {
    MutexLock lock(&mu_);
    return std::exchange(operations_, {});
  }

  absl::StatusOr<EngineSnapshot> TakeSnapshot(
      const EngineSnapshotRequest& request, absl::Time /*deadline*/) override {
    snapshot_request = request;
    return snapshot;
  }

  // The next snapshot, and the request for the last one.
  EngineSnapshot snapshot;
  EngineSnapshotRequest snapshot_request;

  absl::Status Listen(EngineListener* listener,
                      absl::Time /*deadline*/) override {
    listener_ = listener;
    listener->OnListening("client");
    return absl::OkStatus();
  }

  void StopListening() override {}

  // From now on requests get no reply, or get one.
  void SetReplies(bool replies) {
    MutexLock lock(&mu_);
    replies_ = replies;
  }

  // The request that is on its way gets a reply.
  void ReplyOnce() {
    MutexLock lock(&mu_);
    replies_once_ = true;
  }

  // From now on each request fails at once, or does not.
  void SetRefuses(bool refuses) {
    SetRefuses(refuses ? absl::PermissionDeniedError("refused")
                       : absl::OkStatus());
  }
  void SetRefuses(absl::Status error) {
    MutexLock lock(&mu_);
    refuses_ = std::move(error);
  }

  void ShutDown() {
    MutexLock lock(&mu_);
    shut_down_ = true;
  }

  // Hands out an item that `Deliver()` will bring.
  void Push() {
    MutexLock lock(&mu_);
    ++pushed_;
  }

  void Deliver(const std::string& item, int64_t token = 1,
               absl::Duration age = absl::ZeroDuration()) {
    listener_->OnPush({item, token, 0, 0}, absl::ToInt64Nanoseconds(-age));
  }

  // Does both.
  void PushNow(const std::string& item, int64_t token,
               absl::Duration age = absl::ZeroDuration()) {
    Push();
    Deliver(item, token, age);
  }

  EngineListener* listener() const { return listener_; }

  size_t requests() {
    MutexLock lock(&mu_);
    return told_.size();
  }
  // Returns the number of waiters that a request tells. Requests count from 0.
  size_t WaitingIn(size_t request) {
    MutexLock lock(&mu_);
    return told_.at(request);
  }

  // Blocks until there have been more than `before` requests, and the last one
  // says that so many workers wait.
  bool AwaitRequest(size_t before, size_t waiting) {
    MutexLock lock(&mu_);
    const auto arrived = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return told_.size() > before && waiting_ == waiting;
    };
    return mu_.AwaitWithTimeout(absl::Condition(&arrived), kLong);
  }

  // Blocks until there is such an operation of a lease. Returns the token of
  // the last one, or 0.
  int64_t Await(EngineOperation::Code code) {
    MutexLock lock(&mu_);
    int64_t token = 0;
    const auto there = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      for (const EngineOperation& operation : operations_) {
        if (operation.code == code) token = operation.x;
      }
      return token != 0;
    };
    mu_.AwaitWithTimeout(absl::Condition(&there), kLong);
    return token;
  }
  int64_t AwaitGivenBack() { return Await(EngineOperation::kGiveBack); }

 private:
  EngineListener* listener_ = nullptr;
  absl::Mutex mu_;
  bool replies_ ABSL_GUARDED_BY(mu_) = true;
  bool replies_once_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status refuses_ ABSL_GUARDED_BY(mu_);
  bool shut_down_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t pushed_ ABSL_GUARDED_BY(mu_) = 0;
  // By the requests, of the workers that wait.
  std::vector<size_t> told_ ABSL_GUARDED_BY(mu_);
  size_t waiting_ ABSL_GUARDED_BY(mu_) = 0;
  size_t items_ ABSL_GUARDED_BY(mu_) = 0;
  std::string name_ ABSL_GUARDED_BY(mu_);
  int64_t token_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t lost_token_ ABSL_GUARDED_BY(mu_) = 0;
  size_t largest_ ABSL_GUARDED_BY(mu_) = 0;
  size_t most_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<EngineOperation> operations_ ABSL_GUARDED_BY(mu_);
};

// The result of a callback.
class Result {
 public:
  ByteQueue::Callback Callback() {
    return [this](absl::StatusOr<HeldItem*> item) {
      item_ = std::move(item);
      called_.Notify();
    };
  }

  bool called() const { return called_.HasBeenNotified(); }

  // Blocks until the callback has been called. Returns its item, or null.
  HeldItem* Await() {
    if (!called_.WaitForNotificationWithTimeout(kLong)) {
      ADD_FAILURE() << "the callback has not been called";
      return nullptr;
    }
    return item_.ok() ? *item_ : nullptr;
  }

 private:
  absl::StatusOr<HeldItem*> item_ = nullptr;
  absl::Notification called_;
};

class SharedQueueCoreTest : public testing::Test {
 protected:
  explicit SharedQueueCoreTest(absl::Duration lease = absl::InfiniteDuration(),
                               absl::Duration call_timeout = kLong) {
    SharedQueueCore::Options options;
    options.name = "queue";
    options.loop = std::make_shared<WaitingLoop>(&clock_);
    options.engine_uses_clock = true;
    options.lease = lease;
    options.call_timeout = call_timeout;
    options.prefetch = 0;
    options.retry_schedule.clear();
    auto engine = std::make_unique<FakeEngine>();
    engine_ = engine.get();
    core_ = std::make_unique<SharedQueueCore>(std::move(options),
                                              std::move(engine));
    EXPECT_TRUE(core_->Start().ok());
  }

  absl::StatusOr<EngineSnapshot> Count(
      absl::Duration timeout = absl::InfiniteDuration()) {
    ByteSnapshotOptions options;
    options.max = 0;
    options.timeout = timeout;
    return core_->TakeSnapshotWith(options);
  }

  absl::Status Add() {
    return core_->Apply({{EngineOperation::kAdd, "x"}}).status();
  }

  // Calls `f` on a thread of its own, and waits until the engine has a request.
  template <typename F>
  auto InEngine(F f) {
    const size_t before = engine_->requests();
    auto result = Async(std::move(f));
    while (engine_->requests() == before) {
    }
    return result;
  }

  // Blocks until the engine knows that so many workers wait, and the replies
  // have come.
  void AwaitWaiting(size_t waiting) {
    EXPECT_TRUE(engine_->AwaitRequest(0, waiting));
    EXPECT_TRUE(Count().ok());
  }

  FakeClock clock_;
  FakeEngine* engine_;
  InlineExecutor executor_;
  ManualExecutor slow_executor_;
  Result first_, second_;
  std::unique_ptr<SharedQueueCore> core_;
};

TEST_F(SharedQueueCoreTest, TheEngineHearsOfAWorkerWhoseItemAnotherTakes) {
  core_->AcquireAsync(&slow_executor_, first_.Callback());
  AwaitWaiting(1);
  engine_->Push();
  engine_->Deliver("x");
  const size_t before = engine_->requests();
  const auto taken = core_->Acquire(1, absl::ZeroDuration(), {});
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->front()->item, "x");
  EXPECT_TRUE(engine_->AwaitRequest(before, 1));
  core_->Close();
  slow_executor_.RunAll();
  EXPECT_EQ(first_.Await(), nullptr);
}

// A stop asks with the time that it has, whatever the others wait for.
TEST_F(SharedQueueCoreTest, ACallWithATimeoutDoesNotWaitForAnEarlierRequest) {
  engine_->SetReplies(false);
  auto earlier = InEngine([this] { return Add().ok(); });
  auto counted =
      Async([this] { return Count(absl::Milliseconds(10)).status(); });
  ASSERT_EQ(counted.wait_for(std::chrono::seconds(10)),
            std::future_status::ready);
  EXPECT_TRUE(absl::IsUnavailable(counted.get()));
  engine_->SetReplies(true);
  EXPECT_TRUE(earlier.get());
  EXPECT_TRUE(Count().ok());
}

TEST_F(SharedQueueCoreTest, ACallWithATimeoutShortensNoOther) {
  engine_->SetReplies(false);
  const auto add = [this] { return Add(); };
  auto first = InEngine(add);
  auto second = Async(add);
  auto counted = Async([this] { return Count(absl::Seconds(1)).status(); });
  absl::SleepFor(absl::Milliseconds(50));  // Both wait for the first request.
  engine_->ReplyOnce();
  EXPECT_EQ(first.get(), absl::OkStatus());
  EXPECT_FALSE(counted.get().ok());
  engine_->SetReplies(true);
  EXPECT_EQ(second.get(), absl::OkStatus());
  EXPECT_EQ(core_->Healthy(), absl::OkStatus());
}

TEST_F(SharedQueueCoreTest, ACallWithoutTimeIsNoOutage) {
  EXPECT_TRUE(absl::IsUnavailable(Count(absl::ZeroDuration()).status()));
  EXPECT_EQ(core_->Healthy(), absl::OkStatus());
  // The next request need not wait.
  core_->AcquireAsync(&executor_, first_.Callback());
  EXPECT_TRUE(engine_->AwaitRequest(0, 1));
}

TEST_F(SharedQueueCoreTest, ACallWithATimeoutTakesNothingForOthers) {
  engine_->listener()->OnDisconnected(absl::UnavailableError("away"));
  core_->AcquireAsync(&executor_, first_.Callback());
  EXPECT_TRUE(Count().ok());
  engine_->SetItems(1);
  EXPECT_TRUE(Count(absl::Seconds(1)).ok());
  EXPECT_FALSE(first_.called());
  EXPECT_TRUE(Count().ok());
  EXPECT_NE(first_.Await(), nullptr);
}

TEST_F(SharedQueueCoreTest, ACallThatHasNoTimeForAnAnswerIsNotSent) {
  engine_->SetReplies(false);
  auto slow = Async([this] { return Count().status(); });
  absl::SleepFor(absl::Milliseconds(100));
  engine_->SetReplies(true);
  EXPECT_EQ(slow.get(), absl::OkStatus());
  const size_t before = engine_->requests();
  EXPECT_TRUE(absl::IsUnavailable(Count(absl::Milliseconds(50)).status()));
  EXPECT_EQ(engine_->requests(), before);
  EXPECT_EQ(Count(absl::Seconds(1)).status(), absl::OkStatus());
}

// Nobody else tells the engine of a worker.
TEST_F(SharedQueueCoreTest, WhatCameDuringACallWithATimeoutIsTold) {
  engine_->SetReplies(false);
  const size_t before = engine_->requests();
  auto counted =
      InEngine([this] { return Count(absl::Milliseconds(100)).status(); });
  core_->AcquireAsync(&executor_, first_.Callback());
  EXPECT_FALSE(counted.get().ok());
  engine_->SetReplies(true);
  EXPECT_TRUE(engine_->AwaitRequest(before + 1, 1));
}

// An item that came with its reply would be lost if that came too late.
TEST_F(SharedQueueCoreTest, ACallWithATimeoutAsksForNoWorker) {
  engine_->SetRefuses(true);
  EXPECT_FALSE(Count().ok());  // So the loop asks nothing for a while.
  core_->AcquireAsync(&executor_, first_.Callback());
  engine_->SetRefuses(false);
  const size_t before = engine_->requests();
  EXPECT_TRUE(Count(absl::Seconds(1)).ok());
  EXPECT_EQ(engine_->WaitingIn(before), 0u);
  EXPECT_TRUE(engine_->AwaitRequest(before + 1, 1)) << "the loop tells it";
  // Nor does it take back what the engine knows.
  AwaitWaiting(1);
  const size_t last = engine_->requests();
  EXPECT_TRUE(Count(absl::Seconds(1)).ok());
  EXPECT_EQ(engine_->WaitingIn(last), 1u);
}

// An item that has come for a worker which has not taken it yet is queued.
TEST_F(SharedQueueCoreTest, ASnapshotHasWhatIsInHandAsQueued) {
  core_->AcquireAsync(&slow_executor_, first_.Callback());
  AwaitWaiting(1);
  engine_->Push();
  engine_->Deliver("x");  // Its token is 1.
  const EngineSnapshot::Item x = {"x", /*failures=*/2, "", /*number=*/1};
  engine_->snapshot.num_queued = 4;
  engine_->snapshot.num_processing = 7;
  engine_->snapshot.queued = {{"q"}};
  engine_->snapshot.processing = {x, {"p", /*failures=*/0, "", /*number=*/5}};
  ByteSnapshotOptions options;
  options.max = 1;
  auto taken = core_->TakeSnapshotWith(options);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(engine_->snapshot_request.item, std::nullopt);
  EXPECT_EQ(engine_->snapshot_request.max, 1u);
  EXPECT_EQ(taken->num_queued, 5u);
  EXPECT_EQ(taken->num_processing, 6u);
  ASSERT_EQ(taken->queued.size(), 1u);
  EXPECT_EQ(taken->queued[0].item, "x");
  EXPECT_EQ(taken->queued[0].failures, 2);
  ASSERT_EQ(taken->processing.size(), 1u);
  EXPECT_EQ(taken->processing[0].item, "p");

  engine_->snapshot.queued.clear();
  engine_->snapshot.processing = {x};
  const std::string item = "x";
  options.only = &item;
  taken = core_->TakeSnapshotWith(options);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(engine_->snapshot_request.item, "x");
  EXPECT_EQ(taken->num_queued, 5u);
  EXPECT_EQ(taken->num_processing, 6u);
  ASSERT_EQ(taken->queued.size(), 1u);
  EXPECT_EQ(taken->queued[0].item, "x");
  EXPECT_TRUE(taken->processing.empty());
  core_->Close();
  slow_executor_.RunAll();
}

// The push comes after the reply with the numbers.
TEST_F(SharedQueueCoreTest, NoMoreIsInHandThanIsProcessed) {
  core_->AcquireAsync(&slow_executor_, first_.Callback());
  AwaitWaiting(1);
  engine_->PushNow("x", 1);
  const auto counts = Count();
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->num_processing, 0u);
  EXPECT_EQ(counts->num_queued, 0u);
  core_->Close();
  slow_executor_.RunAll();
}

// A request of the first connection may reach the engine last.
TEST_F(SharedQueueCoreTest, AProcessThatConnectsAgainEndsWhatItHasGivenUp) {
  const auto ended = [this] {
    EXPECT_TRUE(core_->Apply({{EngineOperation::kForget, "x"}}).ok());
    std::string clients;
    for (const EngineOperation& it : engine_->TakeOperations()) {
      if (it.code == EngineOperation::kEndClient) clients += it.item + ";";
    }
    return clients;
  };
  engine_->listener()->OnListening("second");
  EXPECT_EQ(ended(), "") << "nothing was given up";
  engine_->SetRefuses(absl::UnknownError("no answer"));
  EXPECT_FALSE(core_->Apply({{EngineOperation::kAdd, "x"}}).ok());
  engine_->listener()->OnListening("third");
  EXPECT_FALSE(core_->Apply({{EngineOperation::kAdd, "x"}}).ok());
  engine_->listener()->OnListening("fourth");
  engine_->SetRefuses(absl::OkStatus());
  EXPECT_EQ(ended(), "second;third;");
  EXPECT_EQ(ended(), "");
  engine_->SetRefuses(absl::UnknownError("no answer"));
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(core_->Apply({{EngineOperation::kAdd, "x"}}).ok());
    engine_->listener()->OnListening(absl::StrCat("later ", i));
  }
  engine_->SetRefuses(absl::OkStatus());
  const std::string last = ended();
  // The loop's request may have been given up, too, by the client that is left.
  const auto n = std::count(last.begin(), last.end(), ';');
  EXPECT_TRUE(n == 24 || n == 25) << last;
}

// A later request of the same client does so by its number.
TEST_F(SharedQueueCoreTest, AProcessEndsNoClientThatItStillIs) {
  engine_->SetRefuses(absl::UnknownError("no answer"));
  EXPECT_FALSE(core_->Apply({{EngineOperation::kAdd, "x"}}).ok());
  engine_->SetRefuses(absl::OkStatus());
  EXPECT_TRUE(core_->Apply({{EngineOperation::kAdd, "x"}}).ok());
  engine_->listener()->OnListening("second");
  EXPECT_TRUE(core_->Apply({{EngineOperation::kAdd, "x"}}).ok());
  for (const EngineOperation& it : engine_->TakeOperations()) {
    EXPECT_EQ(it.code, EngineOperation::kAdd);
  }
}

TEST_F(SharedQueueCoreTest, AWorkerWhoseTimeIsOverTakesAPushThatComes) {
  auto got = Async([this] { return core_->Acquire(1, absl::Seconds(1), {}); });
  AwaitWaiting(1);
  clock_.AwaitWaiters(2);  // the worker and the loop
  engine_->Push();
  engine_->SetReplies(false);
  const size_t before = engine_->requests();
  clock_.Step(absl::Seconds(1));
  EXPECT_TRUE(engine_->AwaitRequest(before, 0));
  engine_->Deliver("x");
  absl::SleepFor(absl::Milliseconds(50));  // The loop may give it back.
  engine_->SetReplies(true);
  const auto items = got.get();
  ASSERT_TRUE(items.ok()) << items.status();
  EXPECT_EQ(items->front()->item, "x");
}

TEST_F(SharedQueueCoreTest, ItsEndAwaitsTheRequestOfAWorkerWhoseTimeIsOver) {
  auto got = Async(
      [this] { return core_->Acquire(1, absl::Seconds(1), {}).status(); });
  AwaitWaiting(1);
  clock_.AwaitWaiters(2);  // the worker and the loop
  engine_->SetReplies(false);
  const size_t before = engine_->requests();
  clock_.Step(absl::Seconds(1));
  EXPECT_TRUE(engine_->AwaitRequest(before, 0));
  // Otherwise the end awaits that the engine takes the worker's push back.
  engine_->listener()->OnDisconnected(absl::UnavailableError("away"));
  auto ended = Async([this] { core_.reset(); });
  ASSERT_EQ(ended.wait_for(std::chrono::milliseconds(50)),
            std::future_status::timeout);
  engine_->SetReplies(true);
  ended.get();
  EXPECT_TRUE(absl::IsCancelled(got.get()));
}

TEST_F(SharedQueueCoreTest, ItsEndEndsDrains) {
  engine_->SetItems(1);
  HeldItem* const held = core_->Acquire(1, absl::ZeroDuration(), {})->front();
  core_->Remember(held->item, held);  // Nobody need end it.
  auto drained = Async([this] {
    return core_->ShutDownWithDrain(absl::InfiniteDuration()).value_or(true);
  });
  auto nothing_held = Async(
      [this] { return core_->AwaitNothingHeld(absl::InfiniteDuration()); });
  clock_.AwaitWaiters(3);  // both, and the loop
  core_.reset();
  EXPECT_FALSE(drained.get());
  EXPECT_FALSE(nothing_held.get());
}

TEST_F(SharedQueueCoreTest, WhatIsGivenBackIsHeldUntilTheEngineHasHeardOfIt) {
  core_->AcquireAsync(&slow_executor_, first_.Callback());
  AwaitWaiting(1);
  engine_->PushNow("x", 1);
  engine_->SetRefuses(true);
  core_->Close();
  auto nothing_held = Async(
      [this] { return core_->AwaitNothingHeld(absl::InfiniteDuration()); });
  EXPECT_EQ(nothing_held.wait_for(std::chrono::milliseconds(50)),
            std::future_status::timeout);
  EXPECT_FALSE(core_->AwaitNothingHeld(absl::ZeroDuration()));
  engine_->SetRefuses(false);
  while (nothing_held.wait_for(std::chrono::milliseconds(1)) !=
         std::future_status::ready) {
    clock_.Step(SharedQueueCore::RetryAfter());
  }
  EXPECT_TRUE(nothing_held.get());
  EXPECT_EQ(engine_->AwaitGivenBack(), 1);
  slow_executor_.RunAll();
}

// The listener is busy, with a callback perhaps.
TEST_F(SharedQueueCoreTest, TheEngineHearsOnceThatNobodyWaitsForAPush) {
  const AcquireId id = core_->AcquireAsync(&slow_executor_, first_.Callback());
  AwaitWaiting(1);
  engine_->Push();
  const size_t before = engine_->requests();
  EXPECT_TRUE(core_->CancelAcquire(id));
  EXPECT_TRUE(engine_->AwaitRequest(before, 0));
  clock_.AwaitWaiters(1);  // the loop
  EXPECT_EQ(engine_->requests(), before + 1);
  engine_->Deliver("x");
  EXPECT_EQ(engine_->AwaitGivenBack(), 1);
}

// Its caller would ask again at once.
TEST_F(SharedQueueCoreTest, AWorkerWhoseRequestIsRefusedPauses) {
  engine_->SetRefuses(true);
  const size_t before = engine_->requests();
  auto got = Async([this] {
    return core_->Acquire(1, absl::InfiniteDuration(), {}).status();
  });
  clock_.AwaitWaiters(2);  // the worker and the loop
  clock_.Step(SharedQueueCore::RetryAfter() - absl::Nanoseconds(1));
  clock_.AwaitWaiters(2);
  EXPECT_EQ(engine_->requests(), before + 1);
  clock_.Step(absl::Nanoseconds(1));
  EXPECT_TRUE(absl::IsPermissionDenied(got.get()));
}

TEST_F(SharedQueueCoreTest, TheLoopAsksNothingWhileARequestIsOnItsWay) {
  engine_->SetReplies(false);
  const size_t before = engine_->requests();
  auto got = Async(
      [this] { return core_->Acquire(1, absl::Milliseconds(1), {}).status(); });
  EXPECT_TRUE(engine_->AwaitRequest(before, 1));
  engine_->listener()->OnChanged();
  clock_.AwaitWaiters(1);  // the loop
  engine_->SetRefuses(true);
  engine_->SetReplies(true);
  clock_.AwaitWaiters(2);
  EXPECT_EQ(engine_->requests(), before + 1);
  clock_.Step(absl::Milliseconds(1));
  EXPECT_TRUE(absl::IsPermissionDenied(got.get()));
}

TEST_F(SharedQueueCoreTest, APauseIsNotLongerThanTheCall) {
  engine_->SetRefuses(true);
  auto got = Async(
      [this] { return core_->Acquire(1, absl::Milliseconds(1), {}).status(); });
  clock_.AwaitWaiters(2);
  clock_.Step(absl::Milliseconds(1));
  EXPECT_TRUE(absl::IsPermissionDenied(got.get()));
}

TEST_F(SharedQueueCoreTest, AWorkerThatPausesIsServed) {
  engine_->SetRefuses(true);
  auto got =
      Async([this] { return core_->Acquire(1, absl::InfiniteDuration(), {}); });
  clock_.AwaitWaiters(2);
  engine_->SetRefuses(false);
  engine_->Push();
  engine_->Deliver("x");
  const auto items = got.get();
  ASSERT_TRUE(items.ok()) << items.status();
  EXPECT_EQ(items->front()->item, "x");
}

TEST_F(SharedQueueCoreTest, CallbacksDoNotAskAServerThatRefuses) {
  engine_->SetRefuses(true);
  core_->AcquireAsync(&executor_, first_.Callback());
  clock_.AwaitWaiters(1);
  EXPECT_FALSE(Count().ok());
  const size_t before = engine_->requests();
  for (int i = 0; i < 100; ++i) {
    Result cancelled;
    core_->CancelAcquire(core_->AcquireAsync(&executor_, cancelled.Callback()));
    clock_.AwaitWaiters(1);
  }
  EXPECT_EQ(engine_->requests(), before);
  engine_->SetRefuses(false);
  clock_.Step(SharedQueueCore::RetryAfter());
  EXPECT_TRUE(engine_->AwaitRequest(before, 1)) << "asks again by itself";
}

TEST_F(SharedQueueCoreTest, AWorkerThatReplacesAnotherHearsOfAShutDown) {
  const AcquireId id = core_->AcquireAsync(&executor_, first_.Callback());
  AwaitWaiting(1);
  engine_->SetReplies(false);
  engine_->ShutDown();
  const size_t before = engine_->requests();
  engine_->listener()->OnShutDown(1);
  EXPECT_TRUE(engine_->AwaitRequest(before, 1));
  EXPECT_TRUE(core_->CancelAcquire(id));
  core_->AcquireAsync(&executor_, second_.Callback());
  engine_->SetReplies(true);
  EXPECT_EQ(second_.Await(), nullptr);
}

TEST_F(SharedQueueCoreTest, AShutDownDoesNotOvertakeAPush) {
  core_->AcquireAsync(&executor_, first_.Callback());
  core_->AcquireAsync(&executor_, second_.Callback());
  AwaitWaiting(2);
  engine_->Push();
  engine_->ShutDown();
  EXPECT_TRUE(Count().ok());
  EXPECT_FALSE(first_.called());
  EXPECT_FALSE(second_.called());
  engine_->Deliver("x");
  // Either may be the quicker one: the loop hears of the end, too.
  const HeldItem* const first = first_.Await();
  const HeldItem* const second = second_.Await();
  ASSERT_NE(first == nullptr, second == nullptr);
  EXPECT_EQ((first == nullptr ? second : first)->item, "x");
}

// It is lost with the connection, and is queued again when its lease expires.
TEST_F(SharedQueueCoreTest, AShutDownAwaitsNoPushOfALostConnection) {
  core_->AcquireAsync(&executor_, first_.Callback());
  AwaitWaiting(1);
  engine_->Push();
  EXPECT_TRUE(Count().ok());
  engine_->listener()->OnDisconnected(absl::UnavailableError("away"));
  engine_->ShutDown();
  EXPECT_TRUE(Count().ok());
  EXPECT_EQ(first_.Await(), nullptr);
}

// The engine serves nobody else during a request.
TEST_F(SharedQueueCoreTest, ManyOperationsGoInPieces) {
  std::vector<EngineOperation> operations;
  for (int i = 0; i < 1700; ++i) {
    operations.push_back({EngineOperation::kAdd, absl::StrCat(i)});
  }
  const auto results = core_->Apply(operations);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->size(), operations.size());
  const auto sent = engine_->TakeOperations();
  ASSERT_EQ(sent.size(), operations.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(sent[i].item, operations[i].item);
  }
  EXPECT_LE(engine_->largest(), 500u);
}

TEST_F(SharedQueueCoreTest, ManyBytesGoInPieces) {
  constexpr size_t kBytes = 400000;
  const std::string item(kBytes, 'x');
  const std::string large(10 * kBytes, 'x');
  const auto results = core_->Apply({{EngineOperation::kAdd, item},
                                     {EngineOperation::kAdd, item},
                                     {EngineOperation::kAdd, item},
                                     {EngineOperation::kAdd, large}});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->size(), 4u);
  EXPECT_EQ(engine_->most_bytes(), large.size()) << "one item at least";
}

TEST_F(SharedQueueCoreTest, CallsThatMeetAreNotTogetherLargerThanAPiece) {
  engine_->SetReplies(false);
  engine_->SetItems(2000);
  std::vector<std::future<size_t>> taken;
  for (int i = 0; i < 5; ++i) {
    taken.push_back(Async([this] {
      const auto items = core_->Acquire(400, absl::ZeroDuration(), {});
      return items.ok() ? items->size() : 0;
    }));
  }
  engine_->SetReplies(true);
  for (auto& each : taken) EXPECT_LE(each.get(), 400u);
  EXPECT_LE(engine_->largest(), 500u);
}

class SharedQueueCoreTimeoutTest : public SharedQueueCoreTest {
 protected:
  SharedQueueCoreTimeoutTest()
      : SharedQueueCoreTest(absl::InfiniteDuration(), absl::Seconds(1)) {}
};

TEST_F(SharedQueueCoreTimeoutTest, AFreshCallHasItsOwnTimeAfterAnOutage) {
  engine_->SetReplies(false);
  const auto add = [this] { return Add(); };
  auto first = InEngine(add);
  auto old = Async(add);
  absl::SleepFor(absl::Milliseconds(500));
  auto fresh = Async(add);
  EXPECT_TRUE(absl::IsUnknown(first.get()));
  EXPECT_FALSE(old.get().ok());
  engine_->SetReplies(true);
  EXPECT_EQ(fresh.get(), absl::OkStatus());
}

class SharedQueueCoreLeaseTest : public SharedQueueCoreTest {
 protected:
  SharedQueueCoreLeaseTest() : SharedQueueCoreTest(absl::Seconds(30)) {}
};

// A worker's last item, and what it would have given back, are not ended
// because nobody could be told for so long.
TEST_F(SharedQueueCoreLeaseTest, AnEndIsUnheardUntilTheEngineAnswers) {
  core_->AcquireAsync(&slow_executor_, first_.Callback());
  AwaitWaiting(1);
  engine_->PushNow("x", 1);
  engine_->SetRefuses(true);
  core_->Close();
  clock_.Step(absl::Minutes(1));
  clock_.Step(absl::Minutes(1));
  EXPECT_FALSE(core_->AwaitNothingHeld(absl::ZeroDuration()));
  EXPECT_FALSE(core_->EndsAreKnown());
  engine_->SetRefuses(false);
  while (!core_->AwaitNothingHeld(absl::ZeroDuration())) {
    clock_.Step(SharedQueueCore::RetryAfter());
  }
  EXPECT_TRUE(core_->EndsAreKnown());
  EXPECT_EQ(engine_->AwaitGivenBack(), 1);
  slow_executor_.RunAll();
}

TEST_F(SharedQueueCoreLeaseTest, ManyItemsAreTakenAndRenewedInPieces) {
  engine_->SetItems(1700);
  const auto items = core_->Acquire(std::numeric_limits<size_t>::max(),
                                    absl::ZeroDuration(), {});
  ASSERT_TRUE(items.ok()) << items.status();
  ASSERT_EQ(items->size(), 1700u);
  for (int i = 0; i < 1700; ++i) EXPECT_EQ((*items)[i]->token, i + 1);
  engine_->TakeOperations();
  for (int i = 0; i < 10; ++i) {
    clock_.Step(absl::Seconds(10));
    EXPECT_TRUE(Count().ok());
  }
  for (HeldItem* held : *items) EXPECT_FALSE(core_->IsLost(*held));
  EXPECT_LE(engine_->largest(), 500u);
  EXPECT_GE(engine_->TakeOperations().size(), 1700u);
}

// This process was suspended meanwhile.
TEST_F(SharedQueueCoreLeaseTest, APushThatComesLateIsRenewedInTime) {
  engine_->SetItems(1);
  ASSERT_TRUE(core_->Acquire(1, absl::ZeroDuration(), {}).ok());  // token 1
  core_->AcquireAsync(&executor_, first_.Callback());
  AwaitWaiting(1);
  clock_.Step(absl::Seconds(25));
  EXPECT_EQ(engine_->Await(EngineOperation::kRenew), 1);
  clock_.AwaitWaiters(1);  // the loop
  engine_->TakeOperations();
  engine_->PushNow("x", 2, /*age=*/absl::Seconds(25));
  EXPECT_EQ(engine_->Await(EngineOperation::kRenew), 2);
}

// The engine hands an item out again whose lease is lost. A key has one holder
// in a process.
class SharedQueueCoreHolderTest : public SharedQueueCoreLeaseTest {
 protected:
  // A worker has x, whose token is 1.
  void SetUp() override {
    core_->AcquireAsync(&executor_, first_.Callback());
    AwaitWaiting(1);
    engine_->PushNow("x", 1);
    x_ = first_.Await();
    ASSERT_NE(x_, nullptr);
    ASSERT_EQ(x_->item, "x");
  }

  void TearDown() override { core_.reset(); }

  // The worker ends.
  void EndX() {
    EXPECT_TRUE(
        core_->ApplyEnds({core_->End(x_, EngineOperation::kDone)}).ok());
  }

  void ExpectIs(HeldItem* held, const std::string& item, int64_t token) {
    ASSERT_NE(held, nullptr);
    EXPECT_EQ(held->item, item);
    EXPECT_EQ(held->token, token);
  }

  HeldItem* x_ = nullptr;
  Result third_;
};

TEST_F(SharedQueueCoreHolderTest, APushIsHeldBackUntilTheFirstHolderEnds) {
  core_->AcquireAsync(&executor_, second_.Callback());
  AwaitWaiting(1);
  EXPECT_FALSE(core_->IsLost(*x_));
  const size_t before = engine_->requests();
  engine_->PushNow("x", 2);
  EXPECT_TRUE(core_->IsLost(*x_));
  EXPECT_FALSE(second_.called());
  // The worker waits on, for another item.
  EXPECT_TRUE(engine_->AwaitRequest(before, 1));
  AwaitWaiting(1);
  engine_->PushNow("y", 3);
  ExpectIs(second_.Await(), "y", 3);
  core_->AcquireAsync(&executor_, third_.Callback());
  EXPECT_FALSE(third_.called());
  EndX();
  ExpectIs(third_.Await(), "x", 2);
}

TEST_F(SharedQueueCoreHolderTest, AReplyIsHeldBackFromABatch) {
  engine_->SetItems(1, "z");
  ASSERT_TRUE(core_->Acquire(9, absl::ZeroDuration(), {}).ok());  // token 1
  engine_->SetItems(1, "x");
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      core_->Acquire(9, absl::ZeroDuration(), {}).status()));
  EXPECT_TRUE(core_->IsLost(*x_));
  engine_->SetItems(2);
  const auto others = core_->Acquire(9, absl::ZeroDuration(), {});
  ASSERT_TRUE(others.ok()) << others.status();
  EXPECT_EQ(others->size(), 2u);
  auto got =
      Async([this] { return core_->Acquire(9, absl::InfiniteDuration(), {}); });
  AwaitWaiting(1);
  EndX();
  const auto items = got.get();
  ASSERT_TRUE(items.ok()) << items.status();
  ASSERT_EQ(items->size(), 1u);
  ExpectIs(items->front(), "x", 2);
}

TEST_F(SharedQueueCoreHolderTest, WithoutAWorkerItIsGivenBack) {
  engine_->PushNow("x", 2);
  EXPECT_EQ(engine_->TakeOperations().size(), 0u);
  EndX();
  EXPECT_EQ(engine_->AwaitGivenBack(), 2);
}

TEST_F(SharedQueueCoreHolderTest, AClosedQueueGivesItBackAtOnce) {
  engine_->PushNow("x", 2);
  core_->Close();
  EXPECT_EQ(engine_->AwaitGivenBack(), 2);
  engine_->TakeOperations();
  engine_->PushNow("x", 3);  // It was on its way.
  EXPECT_EQ(engine_->AwaitGivenBack(), 3);
  EXPECT_FALSE(core_->AwaitNothingHeld(absl::ZeroDuration()));
  EndX();
  EXPECT_TRUE(core_->AwaitNothingHeld(absl::InfiniteDuration()));
}

TEST_F(SharedQueueCoreHolderTest, AWorkerWaitsForItAfterAShutDown) {
  core_->AcquireAsync(&executor_, second_.Callback());
  AwaitWaiting(1);
  engine_->PushNow("x", 2);
  engine_->ShutDown();
  AwaitWaiting(1);
  AwaitWaiting(1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      core_->Acquire(1, absl::ZeroDuration(), {}).status()));
  EXPECT_FALSE(second_.called());
  EndX();
  ExpectIs(second_.Await(), "x", 2);
  EXPECT_TRUE(
      absl::IsCancelled(core_->Acquire(1, absl::ZeroDuration(), {}).status()));
}

TEST_F(SharedQueueCoreHolderTest, ItsLeaseIsRenewedAndCanBeLost) {
  core_->AcquireAsync(&executor_, second_.Callback());
  AwaitWaiting(1);
  engine_->PushNow("x", 2);
  for (int i = 0; i < 10; ++i) {
    clock_.Step(absl::Seconds(10));
    EXPECT_TRUE(Count().ok());
  }
  engine_->ShutDown();
  AwaitWaiting(1);
  EXPECT_FALSE(second_.called());
  engine_->LoseLeases(2);
  clock_.Step(absl::Seconds(10));
  EXPECT_EQ(second_.Await(), nullptr) << "nothing is held back any more";
  EndX();
  EXPECT_TRUE(core_->AwaitNothingHeld(absl::ZeroDuration()));
}

TEST_F(SharedQueueCoreHolderTest, ItsLeaseMayHaveExpired) {
  engine_->PushNow("x", 2);
  engine_->SetRefuses(true);
  clock_.Step(absl::Seconds(30));
  core_->AcquireAsync(&executor_, second_.Callback());
  engine_->SetRefuses(false);
  EndX();
  EXPECT_FALSE(second_.called());
  EXPECT_TRUE(core_->AwaitNothingHeld(absl::InfiniteDuration()));
}

TEST_F(SharedQueueCoreHolderTest, TheLatestTokenCounts) {
  core_->AcquireAsync(&executor_, second_.Callback());
  AwaitWaiting(1);
  engine_->PushNow("x", 3);
  engine_->PushNow("x", 4);
  engine_->PushNow("x", 2);  // It was late.
  EndX();
  ExpectIs(second_.Await(), "x", 4);
}

TEST_F(SharedQueueCoreHolderTest, ALatePushLosesNoLease) {
  core_->AcquireAsync(&executor_, second_.Callback());
  AwaitWaiting(1);
  engine_->PushNow("y", 5);
  HeldItem* const y = second_.Await();
  ExpectIs(y, "y", 5);
  engine_->PushNow("y", 4);
  EXPECT_FALSE(core_->IsLost(*y));
}

TEST_F(SharedQueueCoreHolderTest, InHandTheLatestTokenReplacesAnother) {
  core_->AcquireAsync(&slow_executor_, second_.Callback());
  core_->AcquireAsync(&executor_, third_.Callback());
  AwaitWaiting(2);
  engine_->PushNow("y", 2);
  engine_->PushNow("y", 3);
  // Perhaps the loop submits the task.
  const absl::Time end = absl::Now() + kLong;
  while (!second_.called() && absl::Now() < end) slow_executor_.RunAll();
  ExpectIs(second_.Await(), "y", 3);
  EXPECT_FALSE(third_.called());
}

// Nobody knows whether the Done() of a Get() will come.
TEST_F(SharedQueueCoreHolderTest, AGetHoldsNothingBack) {
  core_->AcquireAsync(&executor_, second_.Callback());
  AwaitWaiting(1);
  engine_->PushNow("x", 2);
  EXPECT_FALSE(second_.called());
  core_->Remember("x", x_);
  ExpectIs(second_.Await(), "x", 2);
  EXPECT_EQ(core_->Recall("x"), x_);
  core_->AcquireAsync(&executor_, third_.Callback());
  engine_->PushNow("x", 3);
  EndX();
  EXPECT_FALSE(third_.called()) << "the second holder has it";
  core_->End(second_.Await(), EngineOperation::kDone);
  ExpectIs(third_.Await(), "x", 3);
}

}  // namespace
}  // namespace internal::shared_queue_core_test
}  // namespace workqueue
