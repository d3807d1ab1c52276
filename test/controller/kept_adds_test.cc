// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of the items that sources add while the queue does not take any.

#include <atomic>
#include <memory>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "test/controller/controller_fixture.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/source.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/forwarding_queue.h"
#include "workqueue/priority_queue.h"

namespace workqueue::kept_adds_test {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);

using QueueInterface = RateLimitingInterface<std::string>;

// A queue on an engine that can be away.
class DistantQueue final
    : public internal::ForwardingRateLimitingQueue<std::string> {
 public:
  explicit DistantQueue(std::unique_ptr<QueueInterface> queue)
      : ForwardingRateLimitingQueue(std::move(queue)) {}

  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const std::string> items) override {
    ++calls;
    {
      internal::MutexLock lock(&mu_);
      if (!error_.ok()) return error_;
    }
    return below().AddItems(options, items);
  }

  void Fail(const absl::Status& error) {
    internal::MutexLock lock(&mu_);
    error_ = error;
  }

  std::atomic<int> calls{0};

 private:
  absl::Mutex mu_;
  absl::Status error_ ABSL_GUARDED_BY(mu_);
};

class KeptAddsTest : public ControllerFixture {
 protected:
  // Starts a controller with one source, whose queue is away.
  void Start() {
    PriorityQueueOptions<std::string> queue_options;
    queue_options.clock = &clock_;
    auto queue = std::make_unique<DistantQueue>(
        std::make_unique<PriorityQueue<std::string>>(std::move(queue_options)));
    queue_ = queue.get();
    auto options = Options(Succeed);
    options.queue = std::move(queue);
    Source<std::string> source;
    source.name = "files";
    source.run = [this](SourceContext<std::string>& context) {
      context_ = &context;
      began_.Notify();
      context.stop.WaitForNotification();
      return absl::OkStatus();
    };
    options.sources = {std::move(source)};
    controller_ = Started(std::move(options));
    began_.WaitForNotification();
    queue_->Fail(Away());
  }

  static absl::Status Away() { return absl::UnavailableError("no server"); }

  // Blocks until the thread that retries sleeps, beside the queue's own. It has
  // seen all that the queue returned until now.
  void AwaitSleep() { clock_.AwaitWaiters(2); }

  // Moves the clock to the next retry, which fails.
  void FailRetry() {
    AwaitSleep();
    const int calls = queue_->calls;
    clock_.Step(kSecond);
    AwaitSleep();
    EXPECT_GT(queue_->calls, calls);
  }

  // Moves the clock to the next retry, which succeeds. The time stands still
  // while the thread adds: a delay is the rest of a time.
  void AwaitNoneKept() {
    AwaitSleep();
    clock_.Step(kSecond);
    while (!controller_->Healthy().ok()) std::this_thread::yield();
    controller_->AwaitIdle();
  }

  std::vector<std::string> Reconciled() {
    std::vector<std::string> items;
    for (auto& note : Noted()) items.push_back(std::move(std::get<0>(note)));
    return items;
  }

  absl::Notification began_;
  SourceContext<std::string>* context_ = nullptr;
  DistantQueue* queue_ = nullptr;
  std::unique_ptr<Controller<std::string>> controller_;
};

TEST_P(KeptAddsTest, AreAddedWhenTheQueueIsBack) {
  Start();
  EXPECT_TRUE(context_->queue.Add("a"));
  EXPECT_EQ(context_->queue.AddItems({}, {"b", "a", "c"}), absl::OkStatus());
  EXPECT_EQ(queue_->calls, 1) << "the others did not wait for the server";
  EXPECT_EQ(controller_->Healthy(),
            absl::UnavailableError(
                "controller test: the queue has not taken 3 added items, the "
                "first of them for 0: UNAVAILABLE: no server"));
  FailRetry();
  EXPECT_EQ(Reconciled(), std::vector<std::string>());
  EXPECT_FALSE(controller_->Healthy().ok());
  queue_->Fail(absl::OkStatus());
  AwaitNoneKept();
  EXPECT_EQ(Reconciled(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(context_->queue.Add("a"));
  controller_->AwaitIdle();
  EXPECT_EQ(Reconciled(), std::vector<std::string>{"a"});
  EXPECT_TRUE(controller_->Stop());
}

// As after a password has changed. Somebody mends that.
TEST_P(KeptAddsTest, SoIsWhatTheServerRefuses) {
  Start();
  for (const absl::StatusCode code :
       {absl::StatusCode::kPermissionDenied, absl::StatusCode::kUnauthenticated,
        absl::StatusCode::kFailedPrecondition}) {
    queue_->Fail(absl::Status(code, "refused"));
    EXPECT_TRUE(context_->queue.Add("a"));
    EXPECT_FALSE(controller_->Healthy().ok());
    FailRetry();
    queue_->Fail(absl::OkStatus());
    AwaitNoneKept();
    EXPECT_EQ(Reconciled(), std::vector<std::string>{"a"});
  }
}

TEST_P(KeptAddsTest, TheQueueOfASourceIsWhatTheControllersIs) {
  Start();
  EXPECT_NE(context_->queue.AsPriorityQueue(), nullptr);
}

TEST_P(KeptAddsTest, KeepTheirPrioritiesAndTimes) {
  Start();
  AddOptions options;
  options.priority = 5;
  ASSERT_EQ(context_->queue.AddItems(options, {"b"}), absl::OkStatus());
  options.after = absl::Hours(1);
  ASSERT_EQ(context_->queue.AddItems(options, {"c"}), absl::OkStatus());
  ASSERT_TRUE(context_->queue.Add("a"));
  const absl::Time added = clock_.TimeNow();
  queue_->Fail(absl::OkStatus());
  AwaitNoneKept();
  EXPECT_EQ(NotedPriorities(), (std::vector<int>{5, 0}));
  clock_.SetTime(added + absl::Hours(1) - absl::Nanoseconds(1));
  controller_->AwaitIdle();
  EXPECT_EQ(Reconciled(), std::vector<std::string>());
  Step(*controller_, absl::Nanoseconds(1));
  EXPECT_EQ(NotedPriorities(), std::vector<int>{5});
}

TEST_P(KeptAddsTest, AnErrorThatDoesNotPassIsReturned) {
  Start();
  queue_->Fail(absl::InvalidArgumentError("bad key"));
  EXPECT_EQ(context_->queue.AddItems({}, {"a"}),
            absl::InvalidArgumentError("bad key"));
  EXPECT_EQ(controller_->Healthy(), absl::OkStatus());
}

TEST_P(KeptAddsTest, WhatALimiterDelaysIsNotKept) {
  Start();
  EXPECT_EQ(context_->queue.AddItems(AddOptions::RateLimited(), {"a"}), Away());
  EXPECT_EQ(context_->queue.AddItems(AddOptions::Reschedule(kSecond), {"a"}),
            Away());
  EXPECT_EQ(controller_->Healthy(), absl::OkStatus());
}

TEST_P(KeptAddsTest, AStopSaysThatTheyAreLost) {
  Start();
  EXPECT_TRUE(context_->queue.Add("a"));
  EXPECT_FALSE(controller_->Stop(absl::ZeroDuration()));
  controller_.reset();
  EXPECT_EQ(log_.messages().back(),
            "E controller test: 1 added items are lost: the queue took none: "
            "UNAVAILABLE: no server");
}

WORKQUEUE_INSTANTIATE(KeptAddsTest);

}  // namespace
}  // namespace workqueue::kept_adds_test
