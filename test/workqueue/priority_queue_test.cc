// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/priority_queue.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/priority_queue_fixture.h"
#include "test/workqueue/recording_metrics.h"
#include "test/workqueue/scripted_limiter.h"
#include "workqueue/lease.h"
#include "workqueue/snapshot.h"

namespace workqueue::priority_queue_test {
namespace {

constexpr int kMin = std::numeric_limits<int>::min();
constexpr int kMax = std::numeric_limits<int>::max();

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

TEST_F(PriorityQueueTest, PrioritiesInAnyOrder) {
  constexpr int kPriorities = 7;
  std::vector<Strings> items(kPriorities);
  for (int i = 0; i < 1000; ++i) {
    const int priority = i * i % kPriorities;
    items[priority].push_back(std::to_string(i));
    Add(At(priority), {items[priority].back()});
    if (i % 3 != 0) continue;
    int highest = kPriorities - 1;
    while (items[highest].empty()) --highest;
    EXPECT_EQ(Take(), Taken(items[highest].front(), highest));
    items[highest].erase(items[highest].begin());
  }
  for (int priority = kPriorities - 1; priority >= 0; --priority) {
    for (const std::string& item : items[priority]) {
      EXPECT_EQ(Take(), Taken(item, priority));
    }
  }
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
  Add(At(1), {"a"});  // Has no effect.
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

TEST_F(PriorityQueueTest, AnItemThatIsGivenBackKeepsItsPriorityAndPlace) {
  Add(At(5), {"a", "b"});
  Add(At(9), {"c"});
  auto leases = queue_->AcquireUpTo(2);
  ASSERT_TRUE(leases.ok());
  EXPECT_EQ(depth(), (Depth{{5, 1}, {9, 0}}));
  leases->GiveBack();
  EXPECT_EQ(depth(), (Depth{{5, 2}, {9, 1}}));
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"c", 9}, {"a", 5}, {"b", 5}}));
  EXPECT_EQ(depth(), (Depth{{5, 0}, {9, 0}}));
  EXPECT_EQ(adds(), 3);
}

TEST_F(PriorityQueueTest, AnItemThatWaitsIsQueuedAtOnceWhenGivenBack) {
  Add(At(5), {"a"});
  Add(At(4), {"b"});
  Lease<std::string> lease = *queue_->Acquire();
  Add(At(7, kSecond), {"a"});
  lease.GiveBack();
  EXPECT_EQ(queue_->TakeSnapshot()->waiting.size(), 0u);
  EXPECT_EQ(depth()[7], 1);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 7}, {"b", 4}}));
  clock_.Step(kSecond);
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(adds(), 2);
}

TEST_F(PriorityQueueTest, ACancelledAddDoesNotRaiseAnItemThatIsGivenBack) {
  Add(At(5), {"a"});
  Lease<std::string> lease = *queue_->Acquire();
  Add(At(7, kSecond), {"a"});
  EXPECT_TRUE(queue_->CancelDelayed("a"));
  lease.GiveBack();
  EXPECT_EQ(depth()[5], 1);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 5}}));
}

// The waiting loop may not have come to the waiting item yet.
TEST_F(PriorityQueueTest, AnAddDroppedByTheShutdownRaisesNoItemGivenBack) {
  Add(At(5), {"a"});
  Lease<std::string> lease = *queue_->Acquire();
  Add(At(7, kSecond), {"a"});
  queue_->ShutDown();
  lease.GiveBack();
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 5}}));
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

  const Snapshot<std::string> snapshot = *queue_->TakeSnapshot();
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
  const Snapshot<std::string> snapshot = *queue_->TakeSnapshot();
  EXPECT_TRUE(snapshot.shutting_down);
  EXPECT_EQ(snapshot.queued.size(), 1u);
  EXPECT_TRUE(snapshot.waiting.empty());
}

}  // namespace
}  // namespace workqueue::priority_queue_test
