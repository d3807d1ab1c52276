// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of a `DelayingQueue` with items that meet only its requirements, and
// with exceptions from items and from the queue below.

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/fragile_key.h"
#include "test/workqueue/delaying_queue_fixture.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"

namespace workqueue::delaying_queue_exceptions_test {
namespace {

using FragileDelayingQueue = DelayingQueue<FragileKey, FragileHash, FragileEq>;

TEST(DelayingQueueItemsTest, NeedOnlyBeCopyable) {
  FakeClock clock;
  FragileDelayingQueue queue(On<FragileKey>(&clock));
  for (int i : {2, 1, 2, 3, 1}) {
    queue.AddAfter(FragileKey(i), absl::Seconds(i));
  }
  clock.Step(absl::Seconds(3));
  for (int i : {1, 2, 3}) {
    EXPECT_EQ(queue.Get()->value(), i);
    EXPECT_TRUE(queue.Done(FragileKey(i)));
  }
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST(DelayingQueueThrowsTest, FromAddAfter) {
  for (FragileOp op : {FragileOp::kCopy, FragileOp::kHash}) {
    FakeClock clock;
    FragileDelayingQueue queue(On<FragileKey>(&clock));
    queue.AddAfter(FragileKey(1), absl::Seconds(1));
    clock.Step(absl::ZeroDuration());
    int blown = 0;
    while (true) {
      // Due after the first item, so that the queue's thread is not woken.
      Fuse::Arm(op, blown + 1);
      const bool threw =
          Blows([&] { queue.AddAfter(FragileKey(2), absl::Seconds(2)); });
      Fuse::Disarm();
      if (!threw) break;
      ++blown;
      ASSERT_LT(blown, 100);
    }
    EXPECT_GE(blown, 1);
    clock.Step(absl::Seconds(2));
    EXPECT_EQ(queue.Len(), 2u);
  }
}

TEST(DelayingQueueThrowsTest, AnItemWhoseAddThrewIsNotInTheQueue) {
  FakeClock clock;
  FragileDelayingQueue queue(On<FragileKey>(&clock));
  for (FragileOp op : {FragileOp::kCopy, FragileOp::kHash}) {
    Fuse::Arm(op, 1);
    EXPECT_TRUE(
        Blows([&] { queue.AddAfter(FragileKey(2), absl::Seconds(1)); }));
    Fuse::Disarm();
  }
  clock.Step(absl::Hours(1));
  EXPECT_EQ(queue.Len(), 0u);
}

TEST(DelayingQueueThrowsTest, WhatHasBeenMovedBeforeComesInTime) {
  FakeClock clock;
  FragileDelayingQueue queue(On<FragileKey>(&clock));
  clock.Step(absl::ZeroDuration());
  AddOptions options;
  options.after = absl::Seconds(1);
  options.reschedule = true;
  const std::vector<FragileKey> keys = {FragileKey(1), FragileKey(2)};
  Fuse::Arm(FragileOp::kHash, 2);
  EXPECT_TRUE(Blows([&] { queue.AddWithOptions(options, keys); }));
  Fuse::Disarm();
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(queue.Len(), 1u);
}

// Any operation on the queue's own thread may throw, at any time. Every item is
// added nevertheless, and none early. A failed operation is retried a second
// later.
TEST(DelayingQueueThrowsTest, OnItsOwnThreadLosesNothing) {
  int blown = 0;
  for (FragileOp op : kFragileOps) {
    for (int n = 1;; ++n) {
      SCOPED_TRACE(n);
      ASSERT_LT(n, 200);
      FakeClock clock;
      FragileDelayingQueue queue(On<FragileKey>(&clock));
      queue.AddAfter(FragileKey(1), absl::Seconds(3));
      clock.Step(absl::ZeroDuration());

      Fuse::ArmForOthers(op, n);
      for (int i : {3, 5, 4, 1}) {
        queue.AddAfter(FragileKey(i), absl::Seconds(i));
      }
      std::vector<int> came;
      for (int second = 1; second <= 10; ++second) {
        clock.Step(absl::Seconds(1));
        while (queue.Len() > 0) {
          const std::optional<FragileKey> item = queue.Get();
          EXPECT_GE(second, item->value());
          EXPECT_LE(second, item->value() + 1);
          came.push_back(item->value());
          queue.Done(*item);
        }
      }
      const bool threw = Fuse::Disarm();
      std::sort(came.begin(), came.end());
      EXPECT_EQ(came, (std::vector<int>{1, 3, 4, 5}));
      if (!threw) break;
      ++blown;
    }
  }
  EXPECT_GE(blown, 10);
}

// A key whose move constructor throws, and then has changed its source. So only
// a copy of the key is safe.
class BadMover {
 public:
  explicit BadMover(int value) : value_(value) {}
  BadMover(const BadMover& other) = default;
  BadMover(BadMover&& other)  // NOLINT: it throws
      : value_(std::exchange(other.value_, -1)) {
    Fuse::Count(FragileOp::kMove);
  }

  int value() const { return value_; }

  friend bool operator==(const BadMover& a, const BadMover& b) {
    return a.value_ == b.value_;
  }
  template <typename H>
  friend H AbslHashValue(H state, const BadMover& key) {
    return H::combine(std::move(state), key.value_);
  }

 private:
  int value_;
};

TEST(DelayingQueueThrowsTest, AMoveThatThrowsLosesNothing) {
  constexpr int kItems = 5;
  int blown = 0;
  for (bool threw = true; threw; ++blown) {
    SCOPED_TRACE(blown);
    ASSERT_LT(blown, 100);
    FakeClock clock;
    DelayingQueue<BadMover> queue(On<BadMover>(&clock));
    Fuse::Arm(FragileOp::kMove, blown + 1);
    for (int i = 0; i < kItems; ++i) {
      const BadMover item(i);
      if (Blows([&] { queue.AddAfter(item, absl::Seconds(1)); })) {
        queue.AddAfter(item, absl::Seconds(1));
      }
    }
    for (int second = 1; second <= 3; ++second) clock.Step(absl::Seconds(1));
    std::vector<int> came;
    while (queue.Len() > 0) {
      const std::optional<BadMover> item = queue.Get();
      came.push_back(item->value());
      queue.Done(*item);
    }
    threw = Fuse::Disarm();
    std::sort(came.begin(), came.end());
    EXPECT_EQ(came, (std::vector<int>{0, 1, 2, 3, 4}));
  }
  EXPECT_GT(blown, 1);
}

TEST(DelayingQueueThrowsTest, WhatWaitsIsInTimeWhileAnotherCannotBeTakenIn) {
  FakeClock clock;
  FragileDelayingQueue queue(On<FragileKey>(&clock));
  // The earlier one comes last, and so wakes the thread for both.
  queue.AddAfter(FragileKey(2), 600 * kMs);
  queue.AddAfter(FragileKey(1), 500 * kMs);
  clock.Step(absl::ZeroDuration());
  queue.AddAfter(FragileKey(3), 700 * kMs);
  Fuse::ArmForOthers(FragileOp::kCopy, 1);
  clock.Step(500 * kMs);
  EXPECT_TRUE(Fuse::Disarm());
  EXPECT_EQ(queue.Len(), 1u);
  clock.Step(100 * kMs);
  EXPECT_EQ(queue.Len(), 2u);
  clock.Step(100 * kMs);
  EXPECT_EQ(queue.Len(), 3u);
}

// A key that may have copies no longer.
class Unique {
 public:
  explicit Unique(int value) : value_(value) {}
  Unique(const Unique& other) : value_(other.value_) {
    if (value_ == bad) throw Fuse::Blown();
  }

  inline static std::atomic<int> bad{0};

  friend bool operator==(const Unique& a, const Unique& b) {
    return a.value_ == b.value_;
  }
  template <typename H>
  friend H AbslHashValue(H state, const Unique& key) {
    return H::combine(std::move(state), key.value_);
  }

 private:
  int value_;
};

TEST(DelayingQueueThrowsTest, ABadItemKeepsNoOtherWaiting) {
  FakeClock clock;
  DelayingQueue<Unique> queue(On<Unique>(&clock));
  for (const int i : {1, 2, 3}) queue.AddAfter(Unique(i), absl::Seconds(1));
  Unique::bad = 2;
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(queue.Len(), 2u);
  queue.AddAfter(Unique(4), absl::Seconds(2));
  EXPECT_TRUE(queue.CancelDelayed(Unique(4)));
  queue.Reschedule(Unique(5), absl::Seconds(2));
  // But nobody is told that the item does not wait.
  EXPECT_TRUE(Blows([&] { queue.CancelDelayed(Unique(2)); }));
  EXPECT_TRUE(Blows([&] { (void)queue.TakeSnapshot(); }));
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(queue.Len(), 2u);
  Unique::bad = 0;
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(queue.Len(), 4u);
  EXPECT_EQ(queue.TakeSnapshot()->num_waiting, 0u);
}

TEST_F(DelayingQueueBelowTest, IsAskedAgainASecondLaterIfItThrows) {
  int asked = 0;
  on_add_ = [&asked](const std::string&) {
    if (++asked <= 2) throw 1;
    return true;
  };
  queue_->AddAfter("a", absl::Seconds(5));
  clock_.Step(absl::Seconds(5));
  EXPECT_EQ(asked, 1);
  clock_.Step(absl::Seconds(1) - kNs);
  EXPECT_EQ(asked, 1);
  clock_.Step(kNs);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
}

TEST_F(DelayingQueueBelowTest, ThrowsOutOfAdd) {
  on_add_ = [](const std::string&) -> bool { throw 1; };
  EXPECT_THROW(queue_->Add("a"), int);
  EXPECT_THROW(queue_->AddAfter("a", absl::ZeroDuration()), int);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::delaying_queue_exceptions_test
