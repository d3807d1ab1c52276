// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/internal/add_ring.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/internal/compact_time.h"

namespace workqueue {
namespace internal::add_ring_test {
namespace {

using Values = std::vector<int>;

// More additions than a ring has room for.
constexpr int kMany = 1000;

// An item that can do something while it is moved, which is while its push is
// in progress.
class Item {
 public:
  explicit Item(int value, std::function<void()> during_push = nullptr)
      : value_(value), during_push_(std::move(during_push)) {}
  Item(Item&& other) noexcept : value_(other.value_) {
    if (other.during_push_ != nullptr) other.during_push_();
  }

  int value() const { return value_; }

 private:
  const int value_;
  const std::function<void()> during_push_;
};

class AddRingTest : public testing::Test {
 protected:
  bool Push(int value, std::function<void()> during_push = nullptr) {
    AddRing<Item>::Addition addition{Item(value, std::move(during_push)),
                                     /*hash=*/0, CompactTime()};
    return ring_.TryPush(std::move(addition));
  }

  // Pushes until the ring refuses. Returns the number of pushes.
  int Fill() {
    int n = 0;
    while (n < kMany && Push(n)) ++n;
    return n;
  }

  // Applies the additions, and returns their values.
  Values Applied() {
    Values values;
    ring_.Apply([&values](AddRing<Item>::Addition&& addition) {
      values.push_back(addition.item.value());
    });
    return values;
  }

  AddRing<Item> ring_;
};

TEST_F(AddRingTest, IsSealedAtFirst) {
  EXPECT_FALSE(ring_.open_hint());
  EXPECT_FALSE(ring_.active());
  EXPECT_FALSE(Push(1));
}

TEST_F(AddRingTest, AdditionsAreAppliedInTheOrderOfTheirPushes) {
  ring_.Open();
  EXPECT_TRUE(ring_.open_hint());
  EXPECT_TRUE(ring_.active());
  EXPECT_TRUE(Push(1));
  EXPECT_TRUE(Push(2));
  EXPECT_EQ(Applied(), (Values{1, 2}));
  EXPECT_TRUE(Push(3));
  EXPECT_EQ(Applied(), (Values{3}));
  EXPECT_EQ(Applied(), Values());
}

TEST_F(AddRingTest, ASealedRingRefusesAndKeepsWhatItHas) {
  ring_.Open();
  EXPECT_TRUE(Push(1));
  ring_.Seal();
  EXPECT_FALSE(Push(2));
  EXPECT_TRUE(ring_.active());
  EXPECT_EQ(Applied(), Values{1});
  EXPECT_FALSE(ring_.active());
  ring_.Open();
  EXPECT_TRUE(Push(3));
  EXPECT_EQ(Applied(), Values{3});
}

TEST_F(AddRingTest, AFullRingRefusesUntilItsAdditionsAreApplied) {
  ring_.Open();
  const int capacity = Fill();
  EXPECT_GT(capacity, 1);
  EXPECT_LT(capacity, kMany);
  EXPECT_EQ(Applied().size(), static_cast<size_t>(capacity));
  EXPECT_EQ(Fill(), capacity);
  EXPECT_EQ(Applied().size(), static_cast<size_t>(capacity));
}

TEST_F(AddRingTest, AFullRingThatIsSealedRefusesAfterItsAdditionsAreApplied) {
  ring_.Open();
  const int capacity = Fill();
  ring_.Seal();
  EXPECT_EQ(Applied().size(), static_cast<size_t>(capacity));
  EXPECT_FALSE(ring_.active());
  EXPECT_FALSE(Push(1));
  ring_.Open();
  EXPECT_EQ(Fill(), capacity);
}

TEST_F(AddRingTest, IsSealedOnceManyCallsHaveFoundItEmpty) {
  ring_.Open();
  EXPECT_TRUE(Push(1));
  Applied();
  int calls = 0;
  for (; calls < kMany && ring_.active(); ++calls) Applied();
  EXPECT_GT(calls, 10);
  EXPECT_LT(calls, kMany);
  EXPECT_FALSE(Push(2));
  ring_.Open();
  EXPECT_TRUE(Push(3));
}

TEST_F(AddRingTest, ALastPushInProgressIsLeftAlone) {
  ring_.Open();
  EXPECT_TRUE(Push(1, [this] { EXPECT_EQ(Applied(), Values()); }));
  EXPECT_EQ(Applied(), Values{1});
}

// A thread with the lock must see the later push, and must not wait.
TEST_F(AddRingTest, APushInProgressIsCancelledIfALaterOneHasReturned) {
  ring_.Open();
  EXPECT_FALSE(Push(1, [this] {
    EXPECT_TRUE(Push(2));
    EXPECT_EQ(Applied(), Values{2});
  }));
  EXPECT_EQ(Applied(), Values());
  EXPECT_TRUE(Push(3));
  EXPECT_EQ(Applied(), Values{3});
}

TEST_F(AddRingTest, SealCancelsPushesInProgress) {
  ring_.Open();
  EXPECT_FALSE(Push(1, [this] {
    EXPECT_TRUE(Push(2));
    EXPECT_FALSE(Push(3, [this] { ring_.Seal(); }));
    EXPECT_FALSE(Push(4));
  }));
  EXPECT_EQ(Applied(), Values{2});
  EXPECT_FALSE(ring_.active());
  ring_.Open();
  EXPECT_TRUE(Push(5));
  EXPECT_EQ(Applied(), Values{5});
}

TEST_F(AddRingTest, TheSlotOfACancelledPushIsNotUsedBeforeThePushReturns) {
  ring_.Open();
  const int capacity = Fill();
  Applied();
  EXPECT_FALSE(Push(1, [this, capacity] {
    EXPECT_TRUE(Push(2));
    EXPECT_EQ(Applied(), Values{2});
    EXPECT_EQ(Fill(), capacity - 2);
    EXPECT_EQ(Applied().size(), static_cast<size_t>(capacity) - 2);
    EXPECT_FALSE(Push(3));
    EXPECT_EQ(Applied(), Values());
    ring_.Seal();
    EXPECT_FALSE(ring_.active());
    ring_.Open();
    EXPECT_FALSE(ring_.active());
    EXPECT_FALSE(Push(4));
  }));
  EXPECT_FALSE(Push(5));
  ring_.Open();
  EXPECT_EQ(Fill(), capacity);
  EXPECT_EQ(Applied().size(), static_cast<size_t>(capacity));
}

TEST_F(AddRingTest, ASlotIsUsedAgainOnceItsCancelledPushHasReturned) {
  ring_.Open();
  const int capacity = Fill();
  Applied();
  EXPECT_FALSE(Push(1, [this, capacity] {
    EXPECT_TRUE(Push(2));
    EXPECT_EQ(Applied(), Values{2});
    EXPECT_EQ(Fill(), capacity - 2);
  }));
  Applied();
  Applied();  // finds the slot
  EXPECT_EQ(Fill(), capacity);
  EXPECT_EQ(Applied().size(), static_cast<size_t>(capacity));
}

TEST_F(AddRingTest, DestroysWhatIsLeft) {
  const auto value = std::make_shared<int>(1);
  {
    AddRing<std::shared_ptr<int>> ring;
    ring.Open();
    ring.TryPush({value, 0, CompactTime()});
    ring.TryPush({value, 0, CompactTime()});
    EXPECT_EQ(value.use_count(), 3);
    ring.Apply([](AddRing<std::shared_ptr<int>>::Addition&&) {});
    EXPECT_EQ(value.use_count(), 1);
    ring.TryPush({value, 0, CompactTime()});
  }
  EXPECT_EQ(value.use_count(), 1);
}

TEST(AddRingDestructorTest, DestroysWhatIsBehindACancelledPush) {
  struct Item {
    Item(std::shared_ptr<int> the_value, std::function<void()> the_hook)
        : value(std::move(the_value)), hook(std::move(the_hook)) {}
    Item(Item&& other) noexcept : value(std::move(other.value)) {
      if (other.hook != nullptr) other.hook();
    }

    std::shared_ptr<int> value;
    std::function<void()> hook;  // called while the item is moved
  };
  const auto value = std::make_shared<int>(1);
  {
    AddRing<Item> ring;
    const auto push = [&ring, value](std::function<void()> hook) {
      AddRing<Item>::Addition addition{Item(value, nullptr), 0, CompactTime()};
      addition.item.hook = std::move(hook);
      return ring.TryPush(std::move(addition));
    };
    ring.Open();
    EXPECT_TRUE(push(nullptr));
    EXPECT_FALSE(push([&] {
      EXPECT_TRUE(push(nullptr));
      ring.Seal();
    }));
    EXPECT_GT(value.use_count(), 3);
  }
  EXPECT_EQ(value.use_count(), 1);
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_F(AddRingTest, WhatCannotBeAppliedStays) {
  ring_.Open();
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(Push(i));
  Values applied;
  const auto apply_all = [this, &applied](int fails) {
    ring_.Apply([&applied, fails](AddRing<Item>::Addition&& addition) {
      if (addition.item.value() == fails) throw std::runtime_error("fails");
      applied.push_back(addition.item.value());
    });
  };
  EXPECT_THROW(apply_all(2), std::runtime_error);
  ring_.Seal();
  EXPECT_TRUE(ring_.active());
  EXPECT_THROW(apply_all(3), std::runtime_error);
  EXPECT_TRUE(ring_.active());
  apply_all(0);
  EXPECT_FALSE(ring_.active());
  EXPECT_EQ(applied, (Values{1, 2, 3}));
}

#endif  // ABSL_HAVE_EXCEPTIONS

// Threads push and, if they cannot, add with the lock. One of three times, a
// thread takes the lock anyway, and must find all that it has added.
TEST(AddRingThreadsTest, NothingIsLostAndEachThreadsOrderIsKept) {
  constexpr int kThreads = 4;
  constexpr int kAdds = 30000;
  struct Value {
    int thread;
    int number;
  };
  absl::Mutex mu;
  AddRing<Value> ring;
  std::vector<int> last(kThreads, 0);  // the last number of each thread
  const auto add = [&last](const Value& value) {
    ASSERT_EQ(value.number, last[value.thread] + 1);
    last[value.thread] = value.number;
  };
  const auto apply = [&ring, &add] {
    if (!ring.active()) return;
    ring.Apply(
        [&add](AddRing<Value>::Addition&& addition) { add(addition.item); });
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int number = 1; number <= kAdds; ++number) {
        const Value value = {thread, number};
        if (!ring.TryPush({value, 0, CompactTime()})) {
          MutexLock lock(&mu);
          apply();
          add(value);
          if (!ring.active()) ring.Open();
        }
        if (number % 3 != 0) continue;
        MutexLock lock(&mu);
        if (number % 100 == 0) ring.Seal();
        apply();
        ASSERT_EQ(last[thread], number);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(last, std::vector<int>(kThreads, kAdds));
}

}  // namespace
}  // namespace internal::add_ring_test
}  // namespace workqueue
