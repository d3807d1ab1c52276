// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of the items that sources add while the queue does not take any.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/controller/controller_fixture.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/source.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/forwarding_queue.h"
#include "workqueue/ordering.h"
#include "workqueue/priority_queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue::kept_adds_test {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);

using QueueInterface = RateLimitingInterface<std::string>;

// A queue on an engine that can be away, or refuse some items. It adds nothing
// of what it refuses in part.
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
      for (const std::string& item : items) {
        const auto refused = refused_.find(item);
        if (refused != refused_.end()) return refused->second;
      }
    }
    absl::Status added = below().AddItems(options, items);
    const auto then = std::exchange(then_, nullptr);
    if (then == nullptr) return added;
    then();
    then_ = then;
    return added;
  }

  // Calls `f` at the end of each call that adds, but not in a call of `f`. One
  // thread at a time must add.
  void AfterEachAdd(std::function<void()> f) { then_ = std::move(f); }

  void Fail(const absl::Status& error) {
    internal::MutexLock lock(&mu_);
    error_ = error;
  }

  absl::Status Healthy() const override {
    internal::MutexLock lock(&mu_);
    return health_;
  }

  void SetHealth(const absl::Status& health) {
    internal::MutexLock lock(&mu_);
    health_ = health;
  }

  // The error for each of some items.
  void Refuse(std::map<std::string, absl::Status> refused) {
    internal::MutexLock lock(&mu_);
    refused_ = std::move(refused);
  }

  std::atomic<int> calls{0};

 private:
  std::function<void()> then_;
  mutable absl::Mutex mu_;
  absl::Status error_ ABSL_GUARDED_BY(mu_);
  absl::Status health_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, absl::Status> refused_ ABSL_GUARDED_BY(mu_);
};

class KeptAddsTest : public ControllerFixture {
 protected:
  // Starts a controller with one source, whose queue is away.
  void Start(std::unique_ptr<Ordering<std::string>> ordering = nullptr) {
    PriorityQueueOptions<std::string> queue_options;
    queue_options.clock = &clock_;
    queue_options.ordering = std::move(ordering);
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

  // Moves the clock to the next retry, which leaves some items, and blocks
  // until it is over.
  void Retry() {
    AwaitSleep();
    clock_.Step(kSecond);
    AwaitSleep();
    controller_->AwaitIdle();
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

TEST_P(KeptAddsTest, TheHealthOfTheQueueNamesTheController) {
  Start();
  queue_->SetHealth(
      absl::UnavailableError("no server\n" + std::string(2000, 'x')));
  EXPECT_EQ(
      controller_->Healthy(),
      absl::UnavailableError("controller test: no server\\n" +
                             std::string(1014, 'x') + "... (2010 bytes)"));
  queue_->SetHealth(absl::OkStatus());
  EXPECT_EQ(controller_->Healthy(), absl::OkStatus());
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

// An item with an infinite delay is in no batch with other items.
TEST_P(KeptAddsTest, AnInfiniteDelayIsThatOfItsItemAlone) {
  Start();
  for (const bool never_is_first : {true, false}) {
    queue_->Fail(Away());
    const auto add_never = [this] {
      EXPECT_TRUE(context_->queue.AddAfter("never", absl::InfiniteDuration()));
    };
    if (never_is_first) add_never();
    EXPECT_TRUE(context_->queue.AddAll({"a", "b"}));
    if (!never_is_first) add_never();
    queue_->Fail(absl::OkStatus());
    AwaitNoneKept();
    EXPECT_THAT(Reconciled(), testing::UnorderedElementsAre("a", "b"));
  }
}

TEST_P(KeptAddsTest, AnErrorThatDoesNotPassIsReturned) {
  Start();
  queue_->Fail(absl::InvalidArgumentError("bad key"));
  EXPECT_EQ(context_->queue.AddItems({}, {"a"}),
            absl::InvalidArgumentError("bad key"));
  EXPECT_EQ(controller_->Healthy(), absl::OkStatus());
}

// One call adds all items. The bad ones keep no other from being added, at any
// place and in any number.
TEST_P(KeptAddsTest, ABadItemIsAloneInThat) {
  Start();
  const std::vector<std::string> all = {"a", "b", "c", "d", "e", "f", "g"};
  for (const absl::Status& error :
       {absl::InvalidArgumentError("too long"), absl::InternalError("thrown"),
        absl::ResourceExhaustedError("no memory for so large an item")}) {
    for (const std::set<std::string>& bad :
         std::vector<std::set<std::string>>{{"a"}, {"d"}, {"g"}, {"b", "c"}}) {
      std::map<std::string, absl::Status> refused;
      for (const std::string& item : bad) refused[item] = error;
      std::set<std::string> good(all.begin(), all.end());
      for (const std::string& item : bad) good.erase(item);
      queue_->Refuse(refused);
      queue_->Fail(Away());
      EXPECT_TRUE(context_->queue.AddAll(all));
      queue_->Fail(absl::OkStatus());
      const bool dropped = absl::IsInvalidArgument(error);
      dropped ? AwaitNoneKept() : Retry();
      EXPECT_THAT(Reconciled(), testing::UnorderedElementsAreArray(good));
      EXPECT_EQ(controller_->Healthy().ok(), dropped) << error;
      queue_->Refuse({});
      if (!dropped) AwaitNoneKept();
      EXPECT_THAT(Reconciled(), testing::UnorderedElementsAreArray(
                                    dropped ? std::set<std::string>() : bad));
    }
  }
  EXPECT_FALSE(controller_->Stop()) << "items have been dropped";
}

TEST_P(KeptAddsTest, ABadItemIsAloneInThatAtOnce) {
  Start();
  queue_->Fail(absl::OkStatus());
  const absl::Status error = absl::InvalidArgumentError("too long");
  queue_->Refuse({{"b", error}, {"e", error}});
  EXPECT_EQ(context_->queue.AddItems({}, {"a", "b", "c", "d", "e"}), error);
  controller_->AwaitIdle();
  EXPECT_THAT(Reconciled(), testing::UnorderedElementsAre("a", "c", "d"));
  EXPECT_THAT(
      log_.messages(),
      testing::Contains("E controller test: adding an item of a source: "
                        "INVALID_ARGUMENT: too long")
          .Times(2));
  EXPECT_EQ(controller_->Healthy(), absl::OkStatus());
}

// More than one retry tries. A retry asks no more often than it must.
TEST_P(KeptAddsTest, ManyBadItemsLetTheOthersHaveTheirTurn) {
  Start();
  std::map<std::string, absl::Status> refused;
  std::vector<std::string> items;
  for (int i = 0; i < 2500; ++i) {
    items.push_back(absl::StrCat("bad", i));
    refused[items.back()] = absl::InternalError("thrown");
  }
  items.push_back("good");
  EXPECT_TRUE(context_->queue.AddAll(items));
  queue_->Refuse(refused);
  queue_->Fail(absl::OkStatus());
  for (int i = 0; i < 3; ++i) {
    const int calls = queue_->calls;
    Retry();
    EXPECT_LE(queue_->calls, calls + 1001);
  }
  EXPECT_EQ(Reconciled(), std::vector<std::string>{"good"});
  const int calls = queue_->calls;
  queue_->Refuse({});
  AwaitNoneKept();
  EXPECT_EQ(Reconciled().size(), 2500);
  EXPECT_EQ(queue_->calls, calls + 3) << "all that is well goes together";
}

// Each call is a round trip.
TEST_P(KeptAddsTest, AFullServerIsNotAskedForEachItem) {
  Start();
  std::vector<std::string> items;
  for (int i = 0; i < 3000; ++i) items.push_back(absl::StrCat(i));
  EXPECT_TRUE(context_->queue.AddAll(items));
  queue_->Fail(absl::ResourceExhaustedError("full"));
  for (int i = 0; i < 3; ++i) {
    const int calls = queue_->calls;
    Retry();
    EXPECT_LE(queue_->calls, calls + 20);
  }
  queue_->Fail(absl::OkStatus());
  AwaitNoneKept();
  EXPECT_EQ(Reconciled().size(), 3000);
}

// Otherwise each retry leaves what was kept meanwhile.
TEST_P(KeptAddsTest, ASourceThatAddsDuringEachRetryIsHealthyAgain) {
  Start();
  EXPECT_TRUE(context_->queue.Add("a"));
  queue_->Fail(absl::OkStatus());
  queue_->AfterEachAdd([this, n = 0]() mutable {
    EXPECT_TRUE(context_->queue.Add(absl::StrCat("b", n++)));
  });
  Retry();
  EXPECT_FALSE(controller_->Healthy().ok()) << "b0 has been kept";
  Reconciled();
  EXPECT_TRUE(context_->queue.Add("c"));
  controller_->AwaitIdle();
  ASSERT_THAT(Reconciled(), testing::UnorderedElementsAre("c", "b1"));
  AwaitNoneKept();
  EXPECT_THAT(Reconciled(), testing::UnorderedElementsAre("b0", "b2"));
  EXPECT_TRUE(controller_->Stop());
}

TEST_P(KeptAddsTest, AnAddMayOvertakeWhatIsKeptOfItsItem) {
  Start();
  EXPECT_TRUE(context_->queue.Add("a"));
  queue_->Fail(absl::OkStatus());
  queue_->AfterEachAdd([this] {
    AddOptions options;
    options.priority = 5;
    options.after = absl::Hours(1);
    EXPECT_EQ(context_->queue.AddItems(options, {"b"}), absl::OkStatus());
  });
  Retry();
  queue_->AfterEachAdd(nullptr);
  EXPECT_EQ(Reconciled(), std::vector<std::string>{"a"});
  const absl::Time kept = clock_.TimeNow();
  EXPECT_TRUE(context_->queue.Add("b"));
  controller_->AwaitIdle();
  EXPECT_EQ(NotedPriorities(), std::vector<int>{0});
  AwaitNoneKept();
  clock_.SetTime(kept + absl::Hours(1) - absl::Nanoseconds(1));
  controller_->AwaitIdle();
  EXPECT_EQ(Reconciled(), std::vector<std::string>());
  Step(*controller_, absl::Nanoseconds(1));
  EXPECT_EQ(NotedPriorities(), std::vector<int>{5});
}

// After one bad item, too, what needs the server does not wait for it.
TEST_P(KeptAddsTest, ARetryEndsWhenTheServerIsAway) {
  Start();
  for (const int priority : {1, 2, 3}) {
    AddOptions options;
    options.priority = priority;
    ASSERT_EQ(context_->queue.AddItems(options, {absl::StrCat(priority)}),
              absl::OkStatus());
  }
  queue_->Refuse(
      {{"1", absl::InternalError("bad")}, {"2", Away()}, {"3", Away()}});
  queue_->Fail(absl::OkStatus());
  const int calls = queue_->calls;
  Retry();
  EXPECT_EQ(queue_->calls, calls + 2);
  EXPECT_TRUE(context_->queue.Add("4"));
  EXPECT_EQ(queue_->calls, calls + 2);
}

#ifdef ABSL_HAVE_EXCEPTIONS
// A queue in memory adds what comes before the item at which it throws.
TEST_P(KeptAddsTest, AnItemAtWhichAnOrderingThrowsIsAloneInThat) {
  Start(*FairOrdering<std::string>::Create([](const std::string& item) {
    if (item == "bad") throw std::runtime_error("no group");
    return item;
  }));
  queue_->Fail(absl::OkStatus());
  EXPECT_TRUE(context_->queue.AddAll({"a", "bad", "c"}));
  controller_->AwaitIdle();
  EXPECT_EQ(Reconciled(), std::vector<std::string>{"a"});
  Retry();
  EXPECT_THAT(Reconciled(), testing::Contains("c"));
  Retry();
  EXPECT_EQ(Reconciled(), std::vector<std::string>());
  EXPECT_FALSE(controller_->Healthy().ok()) << "one is kept";
}
#endif  // ABSL_HAVE_EXCEPTIONS

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

TEST_P(KeptAddsTest, AStopEndsAnAddThatBlocks) {
  Start();
  std::vector<std::string> items;
  for (int i = 0; i < 1000001; ++i) items.push_back(std::to_string(i));
  absl::Status added;
  Thread adder([&] { added = context_->queue.AddItems({}, items); });
  while (!absl::StrContains(controller_->Healthy().message(), " 1000000 ")) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(controller_->Stop(absl::ZeroDuration()));
  adder.join();
  EXPECT_TRUE(absl::IsCancelled(added)) << added;
}

WORKQUEUE_INSTANTIATE(KeptAddsTest);

}  // namespace
}  // namespace workqueue::kept_adds_test
