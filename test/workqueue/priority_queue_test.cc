// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/priority_queue.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "ratelimit/rate_limiter.h"
#include "test/internal/fragile_key.h"
#include "test/workqueue/observed_clock.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/lease.h"
#include "workqueue/snapshot.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {
namespace {

using Strings = std::vector<std::string>;
using Depth = std::map<int, int>;
using Taken = std::pair<std::string, int>;

constexpr absl::Duration kNs = absl::Nanoseconds(1);
constexpr absl::Duration kMs = absl::Milliseconds(1);
constexpr absl::Duration kSecond = absl::Seconds(1);
constexpr int kMin = std::numeric_limits<int>::min();
constexpr int kMax = std::numeric_limits<int>::max();

AddOptions At(int priority, absl::Duration after = absl::ZeroDuration()) {
  AddOptions options;
  options.after = after;
  options.priority = priority;
  return options;
}

AddOptions After(absl::Duration after) { return At(0, after); }

AddOptions RateLimited(absl::Duration after = absl::ZeroDuration()) {
  AddOptions options = After(after);
  options.rate_limited = true;
  return options;
}

template <typename T>
PriorityQueueOptions<T> On(Clock* clock) {
  PriorityQueueOptions<T> options;
  options.clock = clock;
  return options;
}

// What the limiter below is asked, and answers.
struct LimiterScript {
  std::map<std::string, absl::Duration> delays;  // of others: a second
  Strings calls;
  std::function<void(const std::string&)> on_when = [](const std::string&) {};
};

class ScriptedLimiter final : public RateLimiter<std::string> {
 public:
  explicit ScriptedLimiter(LimiterScript* script) : script_(script) {}

  absl::Duration When(const std::string& item) override {
    script_->on_when(item);
    script_->calls.push_back("When " + item);
    const auto it = script_->delays.find(item);
    return it == script_->delays.end() ? kSecond : it->second;
  }
  void Forget(const std::string& item) override {
    script_->calls.push_back("Forget " + item);
  }
  int NumRequeues(const std::string& item) override {
    return static_cast<int>(std::count(script_->calls.begin(),
                                       script_->calls.end(), "When " + item));
  }

 private:
  LimiterScript* const script_;
};

class PriorityQueueTest : public testing::Test {
 protected:
  PriorityQueueTest() { Make(nullptr); }

  // Makes the queue anew, with a limiter.
  void Make(std::unique_ptr<RateLimiter<std::string>> limiter) {
    metrics_.with_priorities = true;
    auto options = On<std::string>(&clock_);
    options.name = "test";
    options.metrics_provider = &metrics_;
    options.rate_limiter = std::move(limiter);
    queue_ = std::make_unique<PriorityQueue<std::string>>(std::move(options));
  }

  bool Add(const AddOptions& options, const Strings& items) {
    return queue_->AddWithOptions(options, items);
  }

  // Takes what comes next, and its priority.
  Taken Take() {
    if (queue_->Len() == 0 && !queue_->ShuttingDown()) return {"<none>", 0};
    const std::optional<ItemWithPriority<std::string>> got =
        queue_->GetWithPriority();
    if (!got.has_value()) return {"<shutdown>", 0};
    return {got->item, got->priority};
  }

  // Takes all that is queued, and is done with it.
  std::vector<Taken> TakeAll() {
    std::vector<Taken> all;
    while (queue_->Len() > 0) {
      all.push_back(Take());
      EXPECT_TRUE(queue_->Done(all.back().first));
    }
    return all;
  }

  int adds() const { return metrics_.count(MetricKind::kAdds); }
  int retries() const { return metrics_.count(MetricKind::kRetries); }
  Depth depth() const { return metrics_.depth_by_priority(); }

  FakeClock clock_;
  RecordingMetrics metrics_;
  std::unique_ptr<PriorityQueue<std::string>> queue_;
};

// A getter on a thread of its own.
class Getter {
 public:
  explicit Getter(PriorityInterface<std::string>& queue)
      : thread_([this, &queue] {
          got_ = queue.GetWithPriority();
          returned_.Notify();
        }) {}
  ~Getter() { thread_.join(); }

  bool HasReturned() const { return returned_.HasBeenNotified(); }
  std::optional<std::string> AwaitItem() {
    returned_.WaitForNotification();
    if (!got_.has_value()) return std::nullopt;
    return got_->item;
  }

 private:
  absl::Notification returned_;
  std::optional<ItemWithPriority<std::string>> got_;
  std::thread thread_;
};

// -----------------------------------------------------------------------------
// The tests of controller-runtime's priorityqueue_test.go, by their names
// -----------------------------------------------------------------------------

TEST_F(PriorityQueueTest, ReturnsAnItem) {
  Add({}, {"foo"});
  EXPECT_EQ(Take(), Taken("foo", 0));
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  EXPECT_EQ(adds(), 1);
  EXPECT_EQ(retries(), 0);
}

TEST_F(PriorityQueueTest, ReturnsItemsInOrder) {
  Add({}, {"foo"});
  Add({}, {"bar"});
  EXPECT_EQ(Take(), Taken("foo", 0));
  EXPECT_EQ(Take(), Taken("bar", 0));
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  EXPECT_EQ(adds(), 2);
}

TEST_F(PriorityQueueTest, DoesNotReturnAnItemThatIsCurrentlyLocked) {
  Add({}, {"foo"});
  EXPECT_EQ(Take(), Taken("foo", 0));
  Add({}, {"foo"});
  Add({}, {"bar"});
  EXPECT_EQ(Take(), Taken("bar", 0));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth(), (Depth{{0, 1}}));
  EXPECT_EQ(adds(), 3);
}

TEST_F(PriorityQueueTest, ReturnsAnItemAsSoonAsItIsUnlocked) {
  Add({}, {"foo"});
  EXPECT_EQ(Take(), Taken("foo", 0));
  Add({}, {"foo"});
  Add({}, {"bar"});
  EXPECT_EQ(Take(), Taken("bar", 0));
  Add({}, {"baz"});
  queue_->Done("foo");
  EXPECT_EQ(Take(), Taken("foo", 0));
  EXPECT_EQ(depth(), (Depth{{0, 1}}));
  EXPECT_EQ(adds(), 4);
}

TEST_F(PriorityQueueTest, DeDuplicatesItems) {
  Add({}, {"foo"});
  Add({}, {"foo"});
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_TRUE(queue_->TakeSnapshot().processing.empty());
  EXPECT_EQ(depth(), (Depth{{0, 1}}));
  EXPECT_EQ(adds(), 1);
}

TEST_F(PriorityQueueTest, EnqueuesALockedItem) {
  Add({}, {"foo"});
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(Take(), Taken("foo", 0));
  Add({}, {"foo"});
  EXPECT_EQ(queue_->Len(), 0u) << "there: 1, but no get would have it";
  queue_->Done("foo");
  EXPECT_EQ(Take(), Taken("foo", 0));
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  EXPECT_EQ(adds(), 2);
}

TEST_F(PriorityQueueTest, RetainsTheHighestPriority) {
  Add(At(1), {"foo"});
  Add(At(2), {"foo"});
  EXPECT_EQ(Take(), Taken("foo", 2));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth(), (Depth{{1, 0}, {2, 0}}));
  EXPECT_EQ(adds(), 1);
}

TEST_F(PriorityQueueTest, WillNotDecreaseThePriority) {
  Add(At(2), {"foo"});
  Add(At(1), {"foo"});
  EXPECT_EQ(Take(), Taken("foo", 2));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth(), (Depth{{2, 0}}));
  EXPECT_EQ(adds(), 1);
}

TEST_F(PriorityQueueTest, GetsPushedToTheFrontIfThePriorityIncreases) {
  Add({}, {"foo"});
  Add({}, {"bar"});
  Add({}, {"baz"});
  Add(At(1), {"baz"});
  EXPECT_EQ(Take(), Taken("baz", 1));
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_EQ(depth(), (Depth{{0, 2}, {1, 0}}));
  EXPECT_EQ(adds(), 3);
}

TEST_F(PriorityQueueTest, RetainsTheLowestAfterDuration) {
  Add(After(absl::ZeroDuration()), {"foo"});
  Add(After(absl::Hours(1)), {"foo"});
  EXPECT_EQ(Take(), Taken("foo", 0));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  EXPECT_EQ(adds(), 1);
  EXPECT_TRUE(queue_->TakeSnapshot().waiting.empty());
}

TEST_F(PriorityQueueTest, DoesNotIncludeNonReadyItemsInLen) {
  Add(After(absl::Minutes(1)), {"foo"});
  Add({}, {"baz"});
  Add(After(absl::Minutes(1)), {"bar"});
  Add({}, {"bal"});
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_EQ(depth(), (Depth{{0, 2}}));
}

// controller-runtime#3239. Unlike there, what is queued is handed out first.
TEST_F(PriorityQueueTest, GetDoesNotGetStuckWhenTheQueueIsShutDown) {
  queue_->Add("baz");
  queue_->ShutDown();
  EXPECT_FALSE(Add(After(kSecond), {"foo"}));
  EXPECT_EQ(Take(), Taken("baz", 0));
  EXPECT_EQ(Take(), Taken("<shutdown>", 0));
  EXPECT_EQ(Take(), Taken("<shutdown>", 0));
  EXPECT_EQ(queue_->Get(), std::nullopt);
  EXPECT_FALSE(queue_->Acquire().ok());
  EXPECT_TRUE(queue_->Done("baz"));
  EXPECT_EQ(Take(), Taken("<shutdown>", 0));
}

TEST_F(PriorityQueueTest, ReturnsManyItems) {
  constexpr int kItems = 1000, kWorkers = 20;
  std::mt19937 random(1);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kItems; ++i) {
      const int number = static_cast<int>(random() % 100);
      Add(number < 10 ? After(number * kMs) : At(number),
          {"foo" + std::to_string(i)});
    }
    std::vector<std::thread> workers;
    for (int w = 0; w < kWorkers; ++w) {
      workers.emplace_back([this] {
        for (int i = 0; i < kItems / kWorkers; ++i) {
          EXPECT_TRUE(queue_->Done(queue_->GetWithPriority()->item));
        }
      });
    }
    for (int i = 0; i < 10; ++i) clock_.Step(kMs);
    for (std::thread& worker : workers) worker.join();
    EXPECT_EQ(queue_->Len(), 0u);
  }
}

TEST_F(PriorityQueueTest,
       UpdatesMetricsForAnItemAddedInitiallyWithAfterAndThenWithout) {
  Add(After(absl::Hours(1)), {"foo"});
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth(), Depth());
  Add({}, {"foo"});
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(depth(), (Depth{{0, 1}}));
  EXPECT_EQ(queue_->Get(), "foo");
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(adds(), 1);
}

TEST_F(PriorityQueueTest,
       UpdatesMetricsWhenAnItemWithAfterIsReAddedWithHigherPriorityAndNoAfter) {
  Add(At(0, absl::Hours(1)), {"foo"});
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth(), Depth());
  Add(At(1), {"foo"});
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(depth(), (Depth{{1, 1}}));
  EXPECT_EQ(Take(), Taken("foo", 1));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth(), (Depth{{1, 0}}));
}

TEST_F(PriorityQueueTest, FollowsFifoOrderInTheNewPriorityWhenItChanges) {
  Add(At(0), {"foo"});
  Add(At(1), {"bar"});
  Add(At(1), {"foo"});
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_EQ(Take(), Taken("bar", 1));
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(Take(), Taken("foo", 1));
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_F(PriorityQueueTest,
       HighPriorityItemsAreReturnedBeforeLowPriorityItemMultipleTimes) {
  constexpr int kItemsOfEach = 1000;
  for (absl::Duration after : {-kSecond, absl::ZeroDuration(), kSecond}) {
    const int adds_before = adds();
    for (int i = 0; i < kItemsOfEach; ++i) {
      for (int priority : {10, 5, 0, -5, -10}) {
        Add(At(priority, after),
            {std::to_string(priority) + "-" + std::to_string(i)});
      }
    }
    clock_.Step(kSecond);
    for (int priority : {10, 5, 0, -5, -10}) {
      for (int i = 0; i < kItemsOfEach; ++i) {
        const Taken taken = Take();
        ASSERT_EQ(taken,
                  Taken(std::to_string(priority) + "-" + std::to_string(i),
                        priority));
        queue_->Done(taken.first);
      }
    }
    EXPECT_EQ(depth(), (Depth{{-10, 0}, {-5, 0}, {0, 0}, {5, 0}, {10, 0}}));
    EXPECT_EQ(adds() - adds_before, 5 * kItemsOfEach);
    EXPECT_EQ(retries(), after > absl::ZeroDuration() ? 5 * kItemsOfEach : 0);
  }
}

TEST_F(PriorityQueueTest, ItemIsOnlyReturnedAfterAfterHasPassed) {
  Getter getter(*queue_);
  Add(After(kSecond), {"foo"});
  clock_.Step(kSecond - kNs);
  EXPECT_FALSE(getter.HasReturned());
  EXPECT_EQ(adds(), 0);
  clock_.Step(kNs);
  EXPECT_EQ(getter.AwaitItem(), "foo");
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  EXPECT_EQ(adds(), 1);
  EXPECT_EQ(retries(), 1);
}

TEST_F(PriorityQueueTest,
       HighPriorityItemThatBecameReadyIsReturnedBeforeLowPriorityItem) {
  Add(At(-100), {"foo"});
  Add(At(0, kSecond), {"prio"});
  clock_.Step(kSecond);
  EXPECT_EQ(Take(), Taken("prio", 0));
  EXPECT_EQ(depth(), (Depth{{-100, 1}, {0, 0}}));
  EXPECT_EQ(adds(), 2);
  EXPECT_EQ(retries(), 1);
}

TEST_F(PriorityQueueTest, ItemIsReturnedAsSoonAsPossible) {
  Getter getter(*queue_);
  Add({}, {"foo"});
  EXPECT_EQ(getter.AwaitItem(), "foo");
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  EXPECT_EQ(adds(), 1);
}

// The same, with a getter that is known to be blocked: it waits on the clock.
TEST_F(PriorityQueueTest, ABlockedGetterWithADeadlineIsWoken) {
  absl::StatusOr<std::string> got;
  std::thread getter([&] {
    got = queue_->GetWithDeadline(clock_.TimeNow() + absl::Hours(1));
  });
  clock_.AwaitWaiters(2);  // And the queue's own thread.
  Add(At(7), {"foo"});
  getter.join();
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(*got, "foo");
}

TEST_F(PriorityQueueTest, WaitingItemIsReturnedRightAfterReAddWithoutAfter) {
  Getter getter(*queue_);
  Add(After(absl::Minutes(1)), {"foo"});
  clock_.Step(absl::ZeroDuration());
  EXPECT_FALSE(getter.HasReturned());
  Add({}, {"foo"});
  EXPECT_EQ(getter.AwaitItem(), "foo");
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  EXPECT_EQ(adds(), 1);
  clock_.Step(absl::Minutes(1));
  EXPECT_EQ(adds(), 1);
}

TEST_F(PriorityQueueTest, MultipleItemsWithAfterAreReturnedInCorrectOrder) {
  Add(After(kSecond), {"foo"});
  Add(After(200 * kMs), {"bar"});
  clock_.Step(kSecond);
  EXPECT_EQ(Take(), Taken("bar", 0));
  EXPECT_EQ(Take(), Taken("foo", 0));
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  EXPECT_EQ(adds(), 2);
}

TEST_F(PriorityQueueTest, GetIsUnblockedOnShutDown) {
  Getter getter(*queue_);
  EXPECT_FALSE(getter.HasReturned());
  queue_->ShutDown();
  EXPECT_EQ(getter.AwaitItem(), std::nullopt);
}

TEST_F(PriorityQueueTest, ItemsAreIncludedInLenAndMetricsOnceTheyAreReady) {
  for (int i = 0; i < 2; ++i) {
    Add(After(500 * kMs), {"foo"});
    Add({}, {"baz"});
    Add(After(500 * kMs), {"bar"});
    Add({}, {"bal"});
    EXPECT_EQ(queue_->Len(), 2u);
    EXPECT_EQ(depth(), (Depth{{0, 2}}));
    clock_.Step(kSecond);
    EXPECT_EQ(queue_->Len(), 4u);
    EXPECT_EQ(depth(), (Depth{{0, 4}}));
    EXPECT_EQ(TakeAll().size(), 4u);
    EXPECT_EQ(queue_->Len(), 0u);
    EXPECT_EQ(depth(), (Depth{{0, 0}}));
  }
}

TEST_F(PriorityQueueTest,
       MetricsAreUpdatedForItemWhoseAfterExpiredThatGetsAddedAgainWithout) {
  Add(After(50 * kMs), {"foo"});
  clock_.Step(50 * kMs);
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(depth(), (Depth{{0, 1}}));
  Add({}, {"foo"});
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(depth(), (Depth{{0, 1}}));
  EXPECT_EQ(queue_->Get(), "foo");
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
}

TEST_F(PriorityQueueTest,
       WhenAddingMultipleItemsRateLimitedTheyDoNotAffectEachOther) {
  LimiterScript script;
  script.delays = {{"foo", 5 * kMs}, {"bar", 640 * kMs}};
  Make(std::make_unique<ScriptedLimiter>(&script));
  Add(RateLimited(), {"foo", "bar"});
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(5 * kMs);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"foo", 0}}));
  clock_.Step(635 * kMs - kNs);
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"bar", 0}}));
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  EXPECT_EQ(adds(), 2);
  EXPECT_EQ(retries(), 2);
}

// controller-runtime#3538. Nobody is done with an item, so that in the end all
// wait; there is no end to this without the shutdown.
TEST(PriorityQueueShutDownTest, DoesNotDeadlockWhileHandingOutItems) {
  constexpr int kThreads = 20;
  for (int round = 0; round < 50; ++round) {
    PriorityQueue<int> queue;
    std::atomic<int> next{0}, gets{0};
    absl::Notification enough;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        while (true) {
          const int item = next++;
          const int added = item % 1000;
          queue.AddWithOptions(At(item * 37 % 100),
                               absl::MakeConstSpan(&added, 1));
          if (!queue.GetWithPriority().has_value()) return;
          if (++gets == 5 * round + 1) enough.Notify();
        }
      });
    }
    enough.WaitForNotification();
    queue.ShutDown();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(queue.Len(), 0u);
  }
}

// -----------------------------------------------------------------------------
// Priorities and places
// -----------------------------------------------------------------------------

TEST_F(PriorityQueueTest, ExtremePriorities) {
  for (int priority : {0, kMin, kMax, -1, 1, kMin + 1, kMax - 1}) {
    Add(At(priority), {std::to_string(priority)});
    Add(At(priority, kSecond), {"later " + std::to_string(priority)});
  }
  for (const char* prefix : {"", "later "}) {
    for (int priority : {kMax, kMax - 1, 1, 0, -1, kMin + 1, kMin}) {
      EXPECT_EQ(Take(), Taken(prefix + std::to_string(priority), priority));
    }
    clock_.Step(kSecond);
  }
  Add(At(kMin), {"a"});
  Add(At(kMax), {"a"});
  EXPECT_EQ(Take(), Taken("a", kMax));
}

TEST_F(PriorityQueueTest, OneAddAddsItemsInTheirOrder) {
  EXPECT_TRUE(Add(At(1), {"c", "a", "c", "b"}));
  EXPECT_EQ(queue_->Len(), 3u);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"c", 1}, {"a", 1}, {"b", 1}}));
  EXPECT_EQ(adds(), 3);
}

TEST_F(PriorityQueueTest, OneAddOfManyItems) {
  Strings many;
  for (int i = 0; i < 1000; ++i) many.push_back(std::to_string(i));
  EXPECT_TRUE(Add(At(3), many));
  EXPECT_TRUE(queue_->AddAll(many));
  for (const std::string& item : many) EXPECT_EQ(Take(), Taken(item, 3));
}

TEST_F(PriorityQueueTest, TheFunctionsWithoutAPriorityAddAtZero) {
  LimiterScript script;
  Make(std::make_unique<ScriptedLimiter>(&script));
  queue_->Add("add");
  queue_->AddAll({"add all"});
  queue_->AddAfter("after nothing", absl::ZeroDuration());
  queue_->AddAfter("after", kSecond);
  queue_->AddRateLimited("rate limited");
  queue_->Reschedule("rescheduled", kSecond);
  Add(At(-1), {"low"});
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"add", 0},
                                           {"add all", 0},
                                           {"after nothing", 0},
                                           {"after", 0},
                                           {"rate limited", 0},
                                           {"rescheduled", 0},
                                           {"low", -1}}));
}

TEST_F(PriorityQueueTest, AnItemThatRisesGoesToTheEndOfItsPriority) {
  Add(At(1), {"a", "b"});
  Add(At(0), {"c", "d"});
  Add(At(1), {"d"});
  Add(At(1), {"a"});  // Changes nothing.
  Add(At(0), {"a"});
  Add(At(1), {"e"});
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{
                           {"a", 1}, {"b", 1}, {"d", 1}, {"e", 1}, {"c", 0}}));
}

TEST_F(PriorityQueueTest, AnItemAddedWhileItIsProcessedHasThePlaceOfThatAdd) {
  Add({}, {"a"});
  Take();
  Add({}, {"b"});
  Add({}, {"a"});
  Add({}, {"c"});
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"b", 0}, {"a", 0}, {"c", 0}}));
}

TEST_F(PriorityQueueTest, AnItemRisesWhileItIsProcessed) {
  Add(At(5), {"a"});
  Take();
  Add(At(1), {"a"});  // At its own priority: it is a new addition.
  Add(At(2), {"b"});
  EXPECT_EQ(depth(), (Depth{{5, 0}, {1, 1}, {2, 1}}));
  Add(At(2), {"a"});
  Add(At(2), {"c"});
  EXPECT_EQ(depth(), (Depth{{5, 0}, {1, 0}, {2, 3}}));
  EXPECT_EQ(queue_->Len(), 2u);
  queue_->Done("a");
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"b", 2}, {"a", 2}, {"c", 2}}));
  EXPECT_EQ(adds(), 4);
}

TEST_F(PriorityQueueTest, AnItemMayWaitWhileItIsProcessed) {
  Add(At(5), {"a"});
  Take();
  Add(At(1, kSecond), {"a"});
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(kSecond);
  EXPECT_EQ(Take(), Taken("a", 1));
  Add(At(2, kSecond), {"a"});
  clock_.Step(kSecond);
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth()[2], 1);
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_EQ(Take(), Taken("a", 2));
}

TEST_F(PriorityQueueTest, ALeaseKnowsThePriority) {
  Add(At(5), {"a"});
  Lease<std::string> lease = *queue_->Acquire();
  ASSERT_TRUE(lease);
  EXPECT_EQ(*lease, "a");
  EXPECT_EQ(lease.priority(), 5);
  Add(At(9), {"a"});
  EXPECT_EQ(lease.priority(), 5) << "at which it was handed out";
  EXPECT_FALSE(queue_->Done("a"));
  Add(At(9), {"b"});
  EXPECT_EQ(queue_->Len(), 1u);
  lease.Done();
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 9}, {"b", 9}}));
}

TEST_F(PriorityQueueTest, ABatchIsInTheOrderOfPriority) {
  for (int i = 0; i < 10; ++i) Add(At(i % 3), {std::to_string(i)});
  auto leases = queue_->AcquireUpTo(5);
  ASSERT_TRUE(leases.ok());
  std::vector<Taken> taken;
  for (const Lease<std::string>& lease : *leases) {
    taken.emplace_back(*lease, lease.priority());
  }
  EXPECT_EQ(taken, (std::vector<Taken>{
                       {"2", 2}, {"5", 2}, {"8", 2}, {"1", 1}, {"4", 1}}));
  EXPECT_EQ(queue_->Len(), 5u);
  leases->Done();
  EXPECT_EQ(queue_->Len(), 5u);
}

TEST_F(PriorityQueueTest, DoneOfWhatIsNotProcessedDoesNothing) {
  EXPECT_FALSE(queue_->Done("a"));
  Add({}, {"a"});
  EXPECT_FALSE(queue_->Done("a"));
  Add(After(kSecond), {"b"});
  EXPECT_FALSE(queue_->Done("b"));
  EXPECT_EQ(Take(), Taken("a", 0));
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_FALSE(queue_->Done("a"));
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"b", 0}}));
}

TEST_F(PriorityQueueTest, WithoutDepthByPriorityReportsTheDepth) {
  auto options = On<std::string>(&clock_);
  options.name = "plain";
  RecordingMetrics metrics;
  options.metrics_provider = &metrics;
  PriorityQueue<std::string> queue(std::move(options));
  const Strings items = {"a", "b"};
  queue.AddWithOptions(At(1), items);
  queue.AddWithOptions(At(2), items);
  EXPECT_EQ(metrics.count(MetricKind::kDepth), 2);
  queue.Get();
  EXPECT_EQ(metrics.count(MetricKind::kDepth), 1);
  EXPECT_EQ(metrics.depth_by_priority(), Depth());
}

TEST_F(PriorityQueueTest, LatencyIsFromWhenItIsReadyWhateverItsPriority) {
  Add(At(0, kSecond), {"a"});
  clock_.Step(kSecond);
  clock_.Step(2 * kSecond);
  Add(At(1), {"a"});
  clock_.Step(3 * kSecond);
  Take();
  EXPECT_EQ(metrics_.values(MetricKind::kLatency), std::vector<double>{5.0});
}

// -----------------------------------------------------------------------------
// Waiting
// -----------------------------------------------------------------------------

TEST_F(PriorityQueueTest, NeverEarly) {
  for (absl::Duration delay :
       {kNs, kMs, kSecond, absl::Seconds(10), absl::Hours(24 * 365 * 100)}) {
    EXPECT_TRUE(queue_->AddAfter("a", delay));
    clock_.Step(delay - kNs);
    EXPECT_EQ(queue_->Len(), 0u) << delay;
    clock_.Step(kNs);
    EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 0}})) << delay;
  }
}

TEST_F(PriorityQueueTest, AtOnceForZeroAndNegativeDelays) {
  for (absl::Duration delay :
       {absl::ZeroDuration(), -kNs, -absl::InfiniteDuration()}) {
    EXPECT_TRUE(queue_->AddAfter("a", delay));
    EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 0}})) << delay;
  }
  EXPECT_EQ(retries(), 0);
}

TEST_F(PriorityQueueTest, NeverForAnInfiniteDelay) {
  EXPECT_TRUE(queue_->AddAfter("never", absl::InfiniteDuration()));
  EXPECT_TRUE(queue_->AddAfter("sometime", absl::Hours(1)));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"sometime", 0}}));
  clock_.Step(absl::Hours(24 * 365 * 1000));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_TRUE(queue_->AddAfter("never", kSecond));
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"never", 0}}));
}

TEST_F(PriorityQueueTest, TheEarliestTimeCountsInWhicheverOrder) {
  std::vector<int> seconds = {1, 2, 3, 4};
  do {
    for (int s : seconds) Add(After(absl::Seconds(s)), {"a"});
    clock_.Step(kSecond - kNs);
    ASSERT_EQ(queue_->Len(), 0u);
    clock_.Step(kNs);
    ASSERT_EQ(TakeAll(), (std::vector<Taken>{{"a", 0}}));
    clock_.Step(absl::Seconds(9));
    ASSERT_EQ(queue_->Len(), 0u);
  } while (std::next_permutation(seconds.begin(), seconds.end()));
}

TEST_F(PriorityQueueTest, AWaitingItemTakesTheHighestPriorityAndEarliestTime) {
  Add(At(1, 5 * kSecond), {"a"});
  Add(At(9, 7 * kSecond), {"a"});
  Add(At(3, 4 * kSecond), {"a"});
  clock_.Step(4 * kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 9}}));
  EXPECT_EQ(depth(), (Depth{{9, 0}})) << "it was never counted as another";
}

TEST_F(PriorityQueueTest, TiesOfTheReadyTimeAreByPriorityAndThenInOrder) {
  Add(At(-1, kSecond), {"low"});
  Add(At(0, kSecond), {"first", "second"});
  Add(At(1, kSecond), {"high"});
  Add(At(0, kSecond / 2), {"earlier"});
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"high", 1},
                                           {"earlier", 0},
                                           {"first", 0},
                                           {"second", 0},
                                           {"low", -1}}));
  // While they wait, the one that rises comes after those that were there.
  Add(At(1, kSecond), {"a", "b"});
  Add(At(0, kSecond), {"c"});
  Add(At(1, kSecond), {"c"});
  Add(At(0, 2 * kSecond), {"a"});
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 1}, {"b", 1}, {"c", 1}}));
}

TEST_F(PriorityQueueTest, AnItemThatIsDueCountsAsAddedThen) {
  Add(After(kSecond), {"due"});
  Add({}, {"before"});
  clock_.Step(kSecond);
  Add({}, {"after"});
  EXPECT_EQ(TakeAll(),
            (std::vector<Taken>{{"before", 0}, {"due", 0}, {"after", 0}}));
}

// As controller-runtime has it: the place is that of the add with the delay.
TEST_F(PriorityQueueTest, AnItemThatWaitsNoLongerHasThePlaceOfItsFirstAdd) {
  Add(After(kSecond), {"waited"});
  Add({}, {"a"});
  Add({}, {"waited"});
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"waited", 0}, {"a", 0}}));
  Add(After(kSecond), {"waited"});
  Add(At(1), {"a"});
  Add(At(1), {"waited"});
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 1}, {"waited", 1}}));
}

TEST_F(PriorityQueueTest, MoreThanAHandfulAreDueAtOnce) {
  Strings items;
  for (int i = 0; i < 1234; ++i) items.push_back(std::to_string(i));
  Add(After(kSecond), items);
  clock_.Step(kSecond);
  ASSERT_EQ(queue_->Len(), items.size());
  for (const std::string& item : items) EXPECT_EQ(queue_->Get(), item);
}

TEST(PriorityQueueThreadTest, SleepsUntilTheFirstItemIsReady) {
  FakeClock fake;
  ObservedClock clock(&fake);
  PriorityQueue<std::string> queue(On<std::string>(&clock));
  queue.AddAfter("second", 5 * kSecond);
  queue.AddAfter("first", 3 * kSecond);
  fake.Step(absl::ZeroDuration());
  EXPECT_EQ(fake.GetEarliestWakeupTime(), fake.TimeNow() + 3 * kSecond);
  const int parks_before = clock.parks();
  for (int i = 0; i < 10; ++i) {
    queue.AddAfter(std::to_string(i), absl::Seconds(3 + i));
    queue.Add("now");
    fake.Step(absl::ZeroDuration());
  }
  EXPECT_EQ(clock.parks(), parks_before) << "none of these is earlier";
  fake.Step(3 * kSecond);
  EXPECT_EQ(fake.GetEarliestWakeupTime(), fake.TimeNow() + kSecond);
  queue.AddAfter("b", kMs);
  fake.Step(absl::ZeroDuration());
  EXPECT_EQ(fake.GetEarliestWakeupTime(), fake.TimeNow() + kMs);
}

// Time goes by while items are added: a nanosecond before each look at the
// clock.
TEST(PriorityQueueThreadTest, IsNotWokenForWhatIsDueMeanwhile) {
  FakeClock fake;
  ObservedClock clock(&fake);
  std::atomic<bool> time_goes_by{false};
  const std::thread::id this_thread = std::this_thread::get_id();
  clock.on_time_now = [&] {
    if (time_goes_by && std::this_thread::get_id() == this_thread) {
      fake.Step(kNs);
    }
  };
  PriorityQueue<std::string> queue(On<std::string>(&clock));
  queue.AddWithOptions(At(5, absl::Minutes(1)), {"raised"});
  queue.AddAfter("waits", absl::Minutes(1));
  fake.Step(absl::ZeroDuration());
  const int parks_before = clock.parks();

  queue.Add("queued");
  time_goes_by = true;
  queue.AddWithOptions(After(kNs), {"a", "raised", "b"});
  time_goes_by = false;
  for (const char* item : {"raised", "queued", "a", "b"}) {
    EXPECT_EQ(queue.Get(), item);
    EXPECT_TRUE(queue.Done(item));
  }
  fake.Step(absl::ZeroDuration());
  EXPECT_EQ(clock.parks(), parks_before);

  time_goes_by = true;
  queue.AddAfter("a", 2 * kNs);
  time_goes_by = false;
  fake.Step(absl::ZeroDuration());
  EXPECT_EQ(queue.Len(), 0u) << "it would be early";
  fake.Step(kNs);
  EXPECT_EQ(queue.Get(), "a");

  fake.Step(absl::Minutes(1));
  EXPECT_EQ(queue.Get(), "waits");
  EXPECT_EQ(queue.Len(), 0u) << "what was raised comes once";
}

TEST(PriorityQueueThreadTest, MakesUpForAWakeUpThatWentMissing) {
  FakeClock fake;
  ObservedClock clock(&fake);
  PriorityQueue<std::string> queue(On<std::string>(&clock));
  fake.Step(absl::ZeroDuration());
  clock.on_unpark = [] { return false; };
  queue.AddAfter("a", kSecond);
  clock.on_unpark = [] { return true; };
  fake.Step(WaitingLoop::Heartbeat());
  EXPECT_EQ(queue.Get(), "a");
}

TEST(PriorityQueueThreadTest, ServesSeveralQueues) {
  constexpr int kQueues = 5;
  FakeClock clock;
  std::vector<std::unique_ptr<PriorityQueue<int>>> queues;
  const auto make = [&](const std::shared_ptr<WaitingLoop>& loop) {
    auto options = On<int>(&clock);
    options.clock = loop;
    queues.push_back(std::make_unique<PriorityQueue<int>>(std::move(options)));
  };
  {
    const auto loop = std::make_shared<WaitingLoop>(&clock);
    for (int i = 0; i < kQueues; ++i) make(loop);
  }
  clock.Step(absl::ZeroDuration());
  EXPECT_EQ(clock.NumWaiters(), 1u) << "one thread for all";
  for (int item = 0; item < 50; ++item) {
    for (int i = 0; i < kQueues; ++i) {
      const int added = item;
      queues[i]->AddWithOptions(At(-item, (1 + (item * 7 + i) % 50) * kMs),
                                absl::MakeConstSpan(&added, 1));
    }
  }
  queues[3]->ShutDown();
  queues.erase(queues.begin() + 4);
  for (int ms = 1; ms <= 50; ++ms) {
    clock.Step(kMs);
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(queues[i]->Len(), 1u);
      const int item = *queues[i]->Get();
      ASSERT_EQ(1 + (item * 7 + i) % 50, ms);
    }
    ASSERT_EQ(queues[3]->Len(), 0u);
  }
}

TEST(PriorityQueueThreadTest, LeavesNobodyOnTheClock) {
  FakeClock clock;
  {
    PriorityQueue<int> queue(On<int>(&clock));
    queue.AddAfter(1, absl::Hours(1));
    clock.Step(absl::ZeroDuration());
    EXPECT_TRUE(clock.HasWaiters());
  }
  EXPECT_FALSE(clock.HasWaiters());
}

// -----------------------------------------------------------------------------
// Rate limits
// -----------------------------------------------------------------------------

class PriorityQueueLimiterTest : public PriorityQueueTest {
 protected:
  PriorityQueueLimiterTest() {
    Make(std::make_unique<ScriptedLimiter>(&script_));
  }

  LimiterScript script_;
};

TEST_F(PriorityQueueLimiterTest, TheShorterOfAfterAndTheLimiterCounts) {
  struct {
    absl::Duration after, limited, expected;
  } cases[] = {
      {absl::ZeroDuration(), 2 * kSecond, 2 * kSecond},
      {3 * kSecond, 2 * kSecond, 2 * kSecond},
      {kSecond, 2 * kSecond, kSecond},
      {absl::InfiniteDuration(), 2 * kSecond, 2 * kSecond},
      {kSecond, absl::ZeroDuration(), absl::ZeroDuration()},
      {absl::ZeroDuration(), absl::ZeroDuration(), absl::ZeroDuration()},
      {kSecond, -kSecond, absl::ZeroDuration()},
      {-kSecond, 2 * kSecond, absl::ZeroDuration()},
      {absl::ZeroDuration(), absl::InfiniteDuration(),
       absl::InfiniteDuration()},
  };
  int expected_retries = 0;
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::Message() << c.after << " " << c.limited);
    script_.delays["a"] = c.limited;
    script_.calls.clear();
    EXPECT_TRUE(Add(RateLimited(c.after), {"a"}));
    EXPECT_EQ(script_.calls, Strings{"When a"});
    if (c.expected > absl::ZeroDuration()) {
      ++expected_retries;
      EXPECT_EQ(queue_->Len(), 0u);
      const auto snapshot = queue_->TakeSnapshot();
      ASSERT_EQ(snapshot.waiting.size(), 1u);
      EXPECT_EQ(snapshot.waiting[0].ready_at, clock_.TimeNow() + c.expected);
      EXPECT_TRUE(queue_->CancelDelayed("a"));
    } else {
      EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 0}}));
    }
    EXPECT_EQ(retries(), expected_retries);
  }
}

TEST_F(PriorityQueueLimiterTest, IsAskedOnceForEachItemAndOnlyIfRateLimited) {
  Add(After(kSecond), {"a"});
  Add({}, {"b"});
  EXPECT_EQ(script_.calls, Strings{});
  Add(RateLimited(), {"a", "b", "a"});
  queue_->AddRateLimited("c");
  EXPECT_EQ(script_.calls, (Strings{"When a", "When b", "When a", "When c"}));
  EXPECT_EQ(queue_->NumRequeues("a"), 2);
  queue_->Forget("a");
  EXPECT_EQ(script_.calls.back(), "Forget a");
}

TEST_F(PriorityQueueLimiterTest, AfterShutDownNothingIsTakenOrAsked) {
  queue_->ShutDown();
  EXPECT_FALSE(Add(RateLimited(), {"a", "b"}));
  EXPECT_FALSE(queue_->AddRateLimited("a"));
  EXPECT_FALSE(queue_->Add("a"));
  EXPECT_FALSE(queue_->AddAll({"a"}));
  EXPECT_FALSE(queue_->AddAfter("a", kSecond));
  EXPECT_FALSE(queue_->AddAfter("a", absl::ZeroDuration()));
  EXPECT_FALSE(queue_->Reschedule("a", kSecond));
  EXPECT_FALSE(queue_->CancelDelayed("a"));
  EXPECT_EQ(script_.calls, Strings{});
  EXPECT_EQ(adds(), 0);
  EXPECT_EQ(retries(), 0);
}

TEST_F(PriorityQueueLimiterTest, NoItemsAreAlwaysTaken) {
  EXPECT_TRUE(Add(RateLimited(), {}));
  EXPECT_TRUE(queue_->AddAll({}));
  EXPECT_EQ(queue_->Len(), 0u);
  queue_->ShutDown();
  EXPECT_TRUE(Add(RateLimited(), {}));
  EXPECT_EQ(script_.calls, Strings{});
}

TEST(PriorityQueueDefaultsTest, TheLimiterIsExponentialFrom5msTo1000s) {
  FakeClock clock;
  PriorityQueue<std::string> queue(On<std::string>(&clock));
  absl::Duration delay = 5 * kMs;
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(queue.NumRequeues("a"), i);
    EXPECT_TRUE(queue.AddRateLimited("a"));
    clock.Step(delay - kNs);
    ASSERT_EQ(queue.Len(), 0u);
    clock.Step(kNs);
    ASSERT_EQ(queue.Get(), "a");
    queue.Done("a");
    delay = std::min(2 * delay, absl::Seconds(1000));
  }
  queue.Forget("a");
  EXPECT_EQ(queue.NumRequeues("a"), 0);
}

TEST(PriorityQueueDefaultsTest, TheClockIsTheRealOne) {
  PriorityQueue<int> queue;
  Clock* const clock = Clock::GetRealClock();
  const absl::Time start = clock->TimeNow();
  for (int i : {3, 1, 2}) queue.AddAfter(i, i * kMs);
  for (int i : {1, 2, 3}) {
    EXPECT_EQ(queue.Get(), i);
    EXPECT_GE(clock->TimeNow() - start, i * kMs);
  }
}

// -----------------------------------------------------------------------------
// Cancelling and rescheduling
// -----------------------------------------------------------------------------

TEST_F(PriorityQueueTest, CancelDelayedEndsTheWaiting) {
  Add(At(3, kSecond), {"a", "b"});
  EXPECT_TRUE(queue_->CancelDelayed("a"));
  EXPECT_FALSE(queue_->CancelDelayed("a"));
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"b", 3}}));
  // Nothing of it is left.
  Add(At(-1), {"a"});
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", -1}}));
}

TEST_F(PriorityQueueTest, CancelDelayedLeavesTheRestAsItIs) {
  EXPECT_FALSE(queue_->CancelDelayed("absent"));
  Add({}, {"processing", "both", "queued"});
  Take();
  Take();
  Add(After(kSecond), {"both"});
  EXPECT_FALSE(queue_->CancelDelayed("queued"));
  EXPECT_FALSE(queue_->CancelDelayed("processing"));
  EXPECT_TRUE(queue_->CancelDelayed("both"));
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"queued", 0}}));
  EXPECT_TRUE(queue_->Done("processing"));
  EXPECT_TRUE(queue_->Done("both"));
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_F(PriorityQueueTest, RescheduleMovesWhatWaitsAndKeepsItsPriority) {
  for (int priority : {-5, 0, 5}) {
    Add(At(priority, 5 * kSecond), {"later", "sooner", "now"});
    EXPECT_TRUE(queue_->Reschedule("later", 9 * kSecond));
    EXPECT_TRUE(queue_->Reschedule("sooner", kSecond));
    EXPECT_TRUE(queue_->Reschedule("now", absl::ZeroDuration()));
    EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"now", priority}}));
    clock_.Step(kSecond);
    EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"sooner", priority}}));
    clock_.Step(8 * kSecond - kNs);
    EXPECT_EQ(queue_->Len(), 0u);
    clock_.Step(kNs);
    EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"later", priority}}));
  }
}

TEST_F(PriorityQueueTest, RescheduleOfWhatDoesNotWaitIsAnAdd) {
  EXPECT_TRUE(queue_->Reschedule("absent", kSecond));
  Add(At(1), {"queued", "processing"});
  EXPECT_TRUE(queue_->Reschedule("queued", absl::Hours(1)));
  EXPECT_EQ(Take(), Taken("queued", 1));
  EXPECT_EQ(Take(), Taken("processing", 1));
  EXPECT_TRUE(queue_->Reschedule("processing", 2 * kSecond));
  EXPECT_TRUE(queue_->Reschedule("processing", 3 * kSecond));
  EXPECT_TRUE(queue_->Reschedule("queued", -kSecond));
  EXPECT_EQ(queue_->Len(), 0u);
  queue_->Done("queued");
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"queued", 0}}));
  queue_->Done("processing");
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"absent", 0}}));
  clock_.Step(kSecond);
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"processing", 0}}));
}

TEST_F(PriorityQueueTest, RescheduleToNever) {
  Add(After(kSecond), {"a"});
  EXPECT_TRUE(queue_->Reschedule("a", absl::InfiniteDuration()));
  clock_.Step(absl::Hours(24 * 365));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_TRUE(queue_->Reschedule("a", kSecond));
  clock_.Step(kSecond);
  EXPECT_EQ(queue_->Len(), 1u);
}

// -----------------------------------------------------------------------------
// Snapshots
// -----------------------------------------------------------------------------

TEST_F(PriorityQueueTest, ASnapshotShowsTheOrderAndThePriorities) {
  Add(At(7), {"p1", "p2"});
  Take();
  clock_.Step(kSecond);
  Take();
  Add(At(1), {"p2"});
  for (int i = 0; i < 20; ++i) Add(At(i % 3), {std::to_string(i)});
  Add(At(4, 3 * kSecond), {"w3"});
  Add(At(5, kSecond), {"w1"});
  Add(At(6, 2 * kSecond), {"w2"});
  queue_->AddRateLimited("w1");
  queue_->AddRateLimited("0");

  const Snapshot<std::string> snapshot = queue_->TakeSnapshot();
  EXPECT_EQ(snapshot.taken_at, clock_.TimeNow());
  EXPECT_FALSE(snapshot.shutting_down);
  ASSERT_EQ(snapshot.processing.size(), 2u);
  EXPECT_EQ(snapshot.processing[0].item, "p1");
  EXPECT_FALSE(snapshot.processing[0].added_again);
  EXPECT_EQ(snapshot.processing[1].item, "p2");
  EXPECT_TRUE(snapshot.processing[1].added_again);
  ASSERT_EQ(snapshot.waiting.size(), 3u);
  EXPECT_EQ(snapshot.waiting[0].item, "w1");
  EXPECT_EQ(snapshot.waiting[0].priority, 5);
  EXPECT_EQ(snapshot.waiting[0].ready_at, clock_.TimeNow() + 5 * kMs);
  EXPECT_EQ(snapshot.waiting[0].failures, 1);
  EXPECT_EQ(snapshot.waiting[1].item, "w2");
  EXPECT_EQ(snapshot.waiting[1].priority, 6);
  EXPECT_EQ(snapshot.waiting[2].item, "w3");
  EXPECT_EQ(snapshot.waiting[2].priority, 4);
  std::vector<Taken> queued;
  for (const auto& it : snapshot.queued) {
    queued.emplace_back(it.item, it.priority);
    EXPECT_EQ(it.failures, it.item == "0" ? 1 : 0);
  }
  EXPECT_EQ(queued, TakeAll());
}

TEST_F(PriorityQueueTest, ASnapshotWhileShuttingDownHasNothingThatWaits) {
  Add({}, {"a"});
  Add(After(kSecond), {"b"});
  queue_->ShutDown();
  const Snapshot<std::string> snapshot = queue_->TakeSnapshot();
  EXPECT_TRUE(snapshot.shutting_down);
  EXPECT_EQ(snapshot.queued.size(), 1u);
  EXPECT_TRUE(snapshot.waiting.empty());
}

// -----------------------------------------------------------------------------
// The end
// -----------------------------------------------------------------------------

TEST_F(PriorityQueueTest, WhatIsQueuedAtShutDownIsHandedOutByPriority) {
  Add(At(1), {"a", "b"});
  Add(At(2), {"c"});
  Take();
  Add(At(5), {"c"});
  Add(At(9, kSecond), {"waits"});
  queue_->ShutDown();
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_TRUE(queue_->Done("c"));
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"c", 5}, {"a", 1}, {"b", 1}}));
  EXPECT_EQ(Take(), Taken("<shutdown>", 0));
  EXPECT_EQ(queue_->TryGet().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(PriorityQueueTest, DrainWaitsForWhatIsQueuedAndProcessed) {
  Add({}, {"a", "b"});
  Add(After(kSecond), {"waits"});
  Take();
  std::atomic<bool> done{false};
  std::thread worker([&] {
    EXPECT_EQ(queue_->Get(), "b");
    EXPECT_TRUE(queue_->Done("b"));
    EXPECT_EQ(queue_->Get(), std::nullopt);  // Shut down.
    done = true;
    EXPECT_TRUE(queue_->Done("a"));
  });
  EXPECT_TRUE(queue_->ShutDownWithDrain());
  EXPECT_TRUE(done);
  worker.join();
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_F(PriorityQueueTest, DrainIsOverAtItsDeadline) {
  Add({}, {"a"});
  EXPECT_FALSE(queue_->ShutDownWithDrainUntil(absl::InfinitePast()));
  EXPECT_TRUE(queue_->ShuttingDown());
  std::thread drain([this] {
    EXPECT_FALSE(queue_->ShutDownWithDrainUntil(clock_.TimeNow() + kSecond));
  });
  clock_.AwaitWaiters(2);
  clock_.Step(kSecond);
  drain.join();
  queue_->Done(Take().first);
  EXPECT_TRUE(queue_->ShutDownWithDrain());
}

class PriorityQueueEndTest : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Endings, PriorityQueueEndTest, testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "ShutDownWithDrain" : "ShutDown";
                         });

TEST_P(PriorityQueueEndTest, ReleasesWhatWaits) {
  FakeClock clock;
  PriorityQueue<std::shared_ptr<int>> queue(On<std::shared_ptr<int>>(&clock));
  std::vector<std::shared_ptr<int>> items;
  for (int i = 0; i < 300; ++i) items.push_back(std::make_shared<int>(i));
  queue.AddWithOptions(After(kSecond), items);
  queue.AddAfter(items[0], absl::InfiniteDuration());
  queue.Add(items[1]);
  queue.Add(items[2]);
  queue.Get();
  queue.AddAfter(items[1], kSecond);  // While it is being processed.
  queue.Done(*queue.Get());
  clock.Step(absl::ZeroDuration());
  EXPECT_EQ(items[0].use_count(), 2);
  EXPECT_EQ(items[2].use_count(), 1);
  if (GetParam()) {
    EXPECT_FALSE(queue.ShutDownWithDrainUntil(absl::InfinitePast()));
  } else {
    queue.ShutDown();
  }
  clock.Step(absl::ZeroDuration());
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(items[i].use_count(), i == 1 ? 2 : 1) << i;
  }
  EXPECT_TRUE(queue.Done(items[1]));
  EXPECT_EQ(items[1].use_count(), 1);
}

TEST(PriorityQueueMemoryTest, AnItemIsReleasedWhenItLeaves) {
  FakeClock clock;
  PriorityQueue<std::shared_ptr<int>> queue(On<std::shared_ptr<int>>(&clock));
  auto item = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = item;
  queue.AddAfter(item, 2 * kSecond);
  queue.AddAfter(item, kSecond);
  item.reset();
  EXPECT_EQ(watched.use_count(), 1) << "it is stored once";
  clock.Step(kSecond);
  EXPECT_EQ(watched.use_count(), 1);
  queue.Done(*queue.Get());
  EXPECT_TRUE(watched.expired());
  item = std::make_shared<int>(2);
  queue.AddAfter(item, kSecond);
  EXPECT_TRUE(queue.CancelDelayed(item));
  EXPECT_EQ(item.use_count(), 1);
}

TEST(PriorityQueueDestructionTest, InAnyState) {
  const int live_before = FragileKey::live();
  for (int state = 0; state < 32; ++state) {
    FakeClock clock;
    PriorityQueue<FragileKey, FragileHash, FragileEq> queue(
        On<FragileKey>(&clock));
    if (state & 1) queue.AddAfter(FragileKey(1), kSecond);
    if (state & 2) clock.Step(kSecond);
    if (state & 4) queue.AddAfter(FragileKey(2), 2 * kSecond);
    if (state & 8) {
      queue.Add(FragileKey(3));
      queue.Get();
    }
    if (state & 16) queue.AddAfter(FragileKey(3), 3 * kSecond);
    if (state % 3 == 0) queue.ShutDown();
  }
  EXPECT_EQ(FragileKey::live(), live_before);
}

// -----------------------------------------------------------------------------
// Items and exceptions
// -----------------------------------------------------------------------------

using FragileQueue = PriorityQueue<FragileKey, FragileHash, FragileEq>;

TEST(PriorityQueueItemsTest, NeedOnlyBeCopyable) {
  FakeClock clock;
  FragileQueue queue(On<FragileKey>(&clock));
  const FragileKey items[] = {FragileKey(1), FragileKey(2), FragileKey(3)};
  queue.AddWithOptions(At(1), items);
  queue.AddWithOptions(At(2), absl::MakeConstSpan(&items[2], 1));
  for (int i : {3, 1, 2}) {
    EXPECT_EQ(queue.GetWithPriority()->item.value(), i);
    EXPECT_TRUE(queue.Done(FragileKey(i)));
  }
  queue.AddAfter(items[0], kSecond);
  EXPECT_EQ(queue.TakeSnapshot().waiting.size(), 1u);
}

#ifdef ABSL_HAVE_EXCEPTIONS

// All that can be seen of a queue: items, priorities, times.
using Picture = std::vector<std::tuple<char, int, int, absl::Time>>;

Picture PictureOf(FragileQueue& queue) {
  Picture picture;
  const Snapshot<FragileKey> snapshot = queue.TakeSnapshot();
  for (const auto& it : snapshot.queued) {
    picture.emplace_back('q', it.item.value(), it.priority, absl::Time());
  }
  for (const auto& it : snapshot.processing) {
    picture.emplace_back('p', it.item.value(), it.added_again, absl::Time());
  }
  for (const auto& it : snapshot.waiting) {
    picture.emplace_back('w', it.item.value(), it.priority, it.ready_at);
  }
  return picture;
}

// Whatever throws out of whichever call, and whichever time: nothing has
// happened. The next call succeeds.
TEST(PriorityQueueThrowsTest, LeavesTheQueueAsItWas) {
  const FragileKey queued(1), processing(2), waiting(3), fresh(4);
  const auto add = [](FragileQueue& queue, const AddOptions& options,
                      const FragileKey& item) {
    queue.AddWithOptions(options, absl::MakeConstSpan(&item, 1));
  };
  const std::function<void(FragileQueue&)> calls[] = {
      [&](FragileQueue& q) { add(q, At(1), fresh); },
      [&](FragileQueue& q) { add(q, At(1, kSecond), fresh); },
      [&](FragileQueue& q) { add(q, At(5), queued); },
      [&](FragileQueue& q) { add(q, At(5), processing); },
      [&](FragileQueue& q) { add(q, At(5, kSecond), processing); },
      [&](FragileQueue& q) { add(q, At(5), waiting); },
      [&](FragileQueue& q) { add(q, At(5, kSecond), waiting); },
      [&](FragileQueue& q) { q.CancelDelayed(waiting); },
      [&](FragileQueue& q) { q.Reschedule(waiting, kSecond); },
      [&](FragileQueue& q) { q.Reschedule(fresh, kSecond); },
      [&](FragileQueue& q) { q.Get(); },
      [&](FragileQueue& q) { q.GetWithPriority(); },
      [&](FragileQueue& q) { q.TryGet().IgnoreError(); },
      [&](FragileQueue& q) { q.Done(processing); },
      [&](FragileQueue& q) { q.TakeSnapshot(); },
  };
  int blown = 0;
  for (size_t call = 0; call < std::size(calls); ++call) {
    for (FragileOp op : kFragileOps) {
      for (int n = 1;; ++n) {
        SCOPED_TRACE(testing::Message()
                     << call << " " << static_cast<int>(op) << " " << n);
        ASSERT_LT(n, 100);
        const int live_before = FragileKey::live();
        {
          FakeClock clock;
          FragileQueue queue(On<FragileKey>(&clock));
          queue.Add(processing);
          queue.Add(queued);
          queue.Get();
          queue.AddAfter(waiting, 2 * kSecond);
          const Picture before = PictureOf(queue);
          Fuse::Arm(op, n);
          const bool threw = Blows([&] { calls[call](queue); });
          Fuse::Disarm();
          if (!threw) break;
          ++blown;
          EXPECT_EQ(PictureOf(queue), before);
          calls[call](queue);
          EXPECT_TRUE(call + 1 == std::size(calls) ||
                      PictureOf(queue) != before);
        }
        EXPECT_EQ(FragileKey::live(), live_before);
      }
    }
  }
  EXPECT_GE(blown, 30);
}

TEST(PriorityQueueThrowsTest, OfManyItemsThoseBeforeHaveBeenAdded) {
  FakeClock clock;
  FragileQueue queue(On<FragileKey>(&clock));
  const FragileKey items[] = {FragileKey(1), FragileKey(2), FragileKey(3)};
  Fuse::Arm(FragileOp::kCopy, 3);
  EXPECT_TRUE(Blows([&] { queue.AddWithOptions(At(1), items); }));
  Fuse::Disarm();
  EXPECT_EQ(queue.Len(), 2u);
}

// The queue's own thread does nothing with an item that could throw.
TEST(PriorityQueueThrowsTest, NothingOnItsOwnThread) {
  for (FragileOp op : kFragileOps) {
    FakeClock clock;
    FragileQueue queue(On<FragileKey>(&clock));
    for (int i = 1; i <= 4; ++i) queue.AddAfter(FragileKey(i), i * kSecond);
    Fuse::ArmForOthers(op, 1);
    clock.Step(2 * kSecond);
    EXPECT_EQ(queue.Len(), 2u);
    queue.ShutDown();
    clock.Step(kSecond);
    EXPECT_FALSE(Fuse::Disarm());
  }
}

class PriorityQueueMetricThrowsTest : public PriorityQueueTest {
 protected:
  // Has metrics of this kind throw from now on.
  void Break(MetricKind kind) {
    metrics_.on_call = [kind](MetricKind called) {
      if (called == kind) throw 1;
    };
  }
  void Mend() {
    metrics_.on_call = [](MetricKind) {};
  }
};

TEST_F(PriorityQueueMetricThrowsTest, FromAnAdd) {
  for (MetricKind kind : {MetricKind::kAdds, MetricKind::kDepth}) {
    Break(kind);
    EXPECT_THROW(queue_->Add("a"), int);
    Mend();
    EXPECT_EQ(queue_->Len(), 0u);
    EXPECT_FALSE(queue_->CancelDelayed("a"));
    EXPECT_TRUE(queue_->Add("a"));
    EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 0}}));
  }
}

TEST_F(PriorityQueueMetricThrowsTest, FromAnAddThatWaits) {
  Break(MetricKind::kRetries);
  EXPECT_THROW(Add(At(1, kSecond), {"a"}), int);
  Mend();
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_F(PriorityQueueMetricThrowsTest, FromAnAddThatEndsTheWaiting) {
  Add(At(-1, kSecond), {"a"});
  Break(MetricKind::kAdds);
  EXPECT_THROW(Add(At(5), {"a"}), int);
  EXPECT_THROW(queue_->Reschedule("a", absl::ZeroDuration()), int);
  Mend();
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", -1}}));
}

TEST_F(PriorityQueueMetricThrowsTest, FromAnAddThatRaises) {
  Add(At(1), {"a", "b"});
  Break(MetricKind::kDepth);
  EXPECT_THROW(Add(At(2), {"b"}), int);
  Mend();
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 1}, {"b", 1}}));
}

TEST_F(PriorityQueueMetricThrowsTest, FromAGet) {
  for (MetricKind kind : {MetricKind::kDepth, MetricKind::kLatency}) {
    Add(At(1), {"a", "b"});
    Break(kind);
    EXPECT_THROW(queue_->GetWithPriority(), int);
    EXPECT_THROW(queue_->Get(), int);
    EXPECT_THROW(queue_->Acquire(), int);
    Mend();
    EXPECT_FALSE(queue_->Done("a"));
    EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 1}, {"b", 1}}));
  }
}

TEST_F(PriorityQueueMetricThrowsTest, DoneIsDoneAllTheSame) {
  Add(At(1), {"a"});
  Take();
  Add(At(2), {"a"});
  Break(MetricKind::kWorkDuration);
  EXPECT_TRUE(queue_->Done("a"));
  Lease<std::string> lease = *queue_->Acquire();
  lease.Done();
  Mend();
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_TRUE(queue_->TakeSnapshot().processing.empty());
}

TEST_F(PriorityQueueMetricThrowsTest, WhatIsDueIsTriedAgainASecondLater) {
  Add(At(1, kSecond), {"a", "b"});
  Add(At(2, 2 * kSecond), {"c"});
  Break(MetricKind::kAdds);
  clock_.Step(kSecond);
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(queue_->TakeSnapshot().waiting.size(), 3u);
  Mend();
  clock_.Step(kSecond - kNs);
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"c", 2}, {"a", 1}, {"b", 1}}));
}

TEST_F(PriorityQueueMetricThrowsTest, OneThatIsTriedAgainDoesNotDelayOthers) {
  Add(After(kSecond), {"a", "b"});
  std::atomic<int> calls{0};
  metrics_.on_call = [&calls](MetricKind kind) {
    if (kind == MetricKind::kAdds && ++calls == 1) throw 1;
  };
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"b", 0}}));
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 0}}));
  Mend();
}

// There is no entry left of it, either.
TEST_F(PriorityQueueMetricThrowsTest, ReleasesTheItem) {
  auto options = On<std::shared_ptr<int>>(&clock_);
  options.name = "test";
  options.metrics_provider = &metrics_;
  PriorityQueue<std::shared_ptr<int>> queue(std::move(options));
  const auto item = std::make_shared<int>(1);
  Break(MetricKind::kAdds);
  EXPECT_THROW(queue.Add(item), int);
  Mend();
  EXPECT_EQ(item.use_count(), 1);
}

TEST_F(PriorityQueueMetricThrowsTest, WhatIsTriedAgainCanBeAddedOrCancelled) {
  Add(At(1, kSecond), {"added", "cancelled", "raised"});
  Break(MetricKind::kAdds);
  clock_.Step(kSecond);
  Mend();
  Add({}, {"added"});
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"added", 1}}));
  EXPECT_TRUE(queue_->CancelDelayed("cancelled"));
  Add(At(3, absl::Hours(1)), {"raised"});
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"raised", 3}}));
}

TEST_F(PriorityQueueLimiterTest, WhatThrewIsNotIn) {
  script_.on_when = [](const std::string& item) {
    if (item == "bad") throw 1;
  };
  EXPECT_THROW(queue_->AddRateLimited("bad"), int);
  EXPECT_THROW(Add(RateLimited(kSecond), {"bad"}), int);
  EXPECT_TRUE(Add(After(kSecond), {"bad"}));
  EXPECT_THROW(Add(RateLimited(kNs), {"bad"}), int);
  clock_.Step(kSecond - kNs);
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"bad", 0}}));
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue
