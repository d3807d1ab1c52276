// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of a `PriorityQueue` with items that meet only its requirements, and
// with exceptions from items and metrics.

#include <atomic>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "test/base/fragile_key.h"
#include "test/workqueue/priority_queue_fixture.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/snapshot.h"

namespace workqueue::priority_queue_exceptions_test {
namespace {

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
  EXPECT_EQ(queue.TakeSnapshot()->waiting.size(), 1u);
}

#ifdef ABSL_HAVE_EXCEPTIONS

// The visible state of a queue: items, priorities, times.
using Picture = std::vector<std::tuple<char, int, int, absl::Time>>;

Picture PictureOf(FragileQueue& queue) {
  Picture picture;
  const Snapshot<FragileKey> snapshot = *queue.TakeSnapshot();
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

// Any operation in any call may throw, at any time. Nothing has changed then,
// and the next call succeeds.
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
      [&](FragileQueue& q) { q.TakeSnapshot().IgnoreError(); },
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

// The queue's own thread calls no function of an item that could throw.
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
  // Makes metrics of `kind` throw from now on.
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
  for (int nth : {1, 2}) {
    std::atomic<int> calls{0};
    metrics_.on_call = [&calls, nth](MetricKind kind) {
      if (kind == MetricKind::kDepth && ++calls == nth) throw 1;
    };
    EXPECT_THROW(Add(At(2), {"b"}), int);
    Mend();
    EXPECT_EQ(depth()[1], 2);
    EXPECT_EQ(depth()[2], 0);
  }
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"a", 1}, {"b", 1}}));
}

TEST_F(PriorityQueueMetricThrowsTest, FromAGet) {
  for (MetricKind kind : {MetricKind::kDepth, MetricKind::kLatency}) {
    Add(At(1), {"a", "b"});
    Break(kind);
    EXPECT_THROW(queue_->GetWithPriority(), int);
    EXPECT_THROW(queue_->Get(), int);
    EXPECT_THROW((void)queue_->Acquire(), int);
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
  EXPECT_TRUE(queue_->TakeSnapshot()->processing.empty());
}

TEST_F(PriorityQueueMetricThrowsTest, WhatIsDueIsTriedAgainASecondLater) {
  Add(At(1, kSecond), {"a", "b"});
  Add(At(2, 2 * kSecond), {"c"});
  Break(MetricKind::kAdds);
  clock_.Step(kSecond);
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(queue_->TakeSnapshot()->waiting.size(), 3u);
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

// The item's entry is destroyed, too.
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

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::priority_queue_exceptions_test
