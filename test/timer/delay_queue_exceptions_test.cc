// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of a `DelayQueue` of values whose moves throw. Each test makes the
// first, second, ... move throw, and checks that every value is somewhere, and
// nowhere twice.

#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/fragile_key.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::delay_queue_exceptions_test {
namespace {

#ifndef ABSL_HAVE_EXCEPTIONS

TEST(DelayQueueThrowsTest, NeedsExceptions) { GTEST_SKIP(); }

#else

// A number that can be moved. A move that throws changes nothing.
class MoveOnly {
 public:
  explicit MoveOnly(int value) : value_(value) {}
  MoveOnly(MoveOnly&& other) : value_(std::nullopt) {  // NOLINT
    Fuse::Count(FragileOp::kMove);
    value_ = std::exchange(other.value_, std::nullopt);
  }
  MoveOnly& operator=(MoveOnly&&) = delete;

  // Null if the number has been moved to another object.
  std::optional<int> value() const { return value_; }

 private:
  std::optional<int> value_;
};

// A number that can also be copied. Copies throw, too.
class Copyable {
 public:
  explicit Copyable(int value) : value_(value) {}
  Copyable(const Copyable& other) : value_(other.value_) {
    Fuse::Count(FragileOp::kMove);
  }
  Copyable(Copyable&& other) : value_(std::nullopt) {  // NOLINT
    Fuse::Count(FragileOp::kMove);
    value_ = std::exchange(other.value_, std::nullopt);
  }
  Copyable& operator=(const Copyable&) = delete;

  std::optional<int> value() const { return value_; }

 private:
  std::optional<int> value_;
};

template <typename T>
class DelayQueueThrowsTest : public testing::Test {
 protected:
  using TestQueue = DelayQueue<T>;

  // A queue of the values 0 to `kValues` - 1, which are due.
  static constexpr int kValues = 40;

  struct Full {
    Full() {
      DelayQueueOptions options;
      options.clock = &clock;
      queue = std::make_unique<TestQueue>(options);
      for (int i = 0; i < kValues; ++i) queue->Push(T(i), absl::ZeroDuration());
    }

    FakeClock clock;
    std::unique_ptr<TestQueue> queue;
  };

  // Appends the number of `value` to `*numbers`.
  static void Append(const T& value, std::vector<int>* numbers) {
    ASSERT_TRUE(value.value().has_value()) << "it has been moved from";
    numbers->push_back(*value.value());
  }

  static std::vector<int> AllNumbers() {
    std::vector<int> numbers(kValues);
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }

  // Calls `take(queue, numbers)` with a full queue until it returns false.
  // `take` takes values and appends their numbers. In the next run the next
  // move throws. Checks that all values have come, in their order.
  static void TakeWithEveryMove(
      std::function<bool(TestQueue&, std::vector<int>*)> take) {
    int blown = 0;
    for (bool threw = true; threw; ++blown) {
      SCOPED_TRACE(testing::Message() << "move " << blown + 1 << " throws");
      ASSERT_LT(blown, 1000);
      Full full;
      std::vector<int> numbers;
      Fuse::Arm(FragileOp::kMove, blown + 1);
      bool more = true;
      while (more) {
        // An exception may come out of a call, but only one.
        Blows([&] { more = take(*full.queue, &numbers); });
        if (testing::Test::HasFatalFailure()) return;
      }
      threw = Fuse::Disarm();
      EXPECT_EQ(numbers, AllNumbers());
      EXPECT_EQ(full.queue->Len(), 0u);
    }
    EXPECT_GT(blown, kValues);
  }
};

using Values = testing::Types<MoveOnly, Copyable>;
TYPED_TEST_SUITE(DelayQueueThrowsTest, Values);

TYPED_TEST(DelayQueueThrowsTest, PushLeavesTheValueWithTheCaller) {
  using T = TypeParam;
  for (int n = 1;; ++n) {
    DelayQueue<T> queue;
    T value(7);
    Fuse::Arm(FragileOp::kMove, n);
    const bool threw =
        Blows([&] { queue.Push(std::move(value), absl::ZeroDuration()); });
    Fuse::Disarm();
    if (!threw) {
      EXPECT_GT(n, 1);
      EXPECT_EQ(queue.Len(), 1u);
      EXPECT_EQ(queue.Take()->value(), 7);
      break;
    }
    EXPECT_EQ(queue.Len(), 0u);
    EXPECT_EQ(value.value(), 7);
    EXPECT_TRUE(queue.Push(std::move(value), absl::ZeroDuration()));
    EXPECT_EQ(queue.Take()->value(), 7);
  }
}

TYPED_TEST(DelayQueueThrowsTest, Take) {
  this->TakeWithEveryMove([](auto& queue, std::vector<int>* numbers) {
    TestFixture::Append(*queue.Take(), numbers);
    return queue.Len() > 0;
  });
}

TYPED_TEST(DelayQueueThrowsTest, TryTake) {
  this->TakeWithEveryMove([](auto& queue, std::vector<int>* numbers) {
    TestFixture::Append(*queue.TryTake(), numbers);
    return queue.Len() > 0;
  });
}

TYPED_TEST(DelayQueueThrowsTest, TakeUpTo) {
  for (size_t max : {1, 3, 16, 17, 40, 100}) {
    SCOPED_TRACE(max);
    this->TakeWithEveryMove([max](auto& queue, std::vector<int>* numbers) {
      const auto values = queue.TakeUpTo(max);
      EXPECT_FALSE(values->empty());
      for (const auto& value : *values) TestFixture::Append(value, numbers);
      return queue.Len() > 0;
    });
  }
}

TYPED_TEST(DelayQueueThrowsTest, TakeUpToTakesAllThatAreDueIfNoMoveThrows) {
  typename TestFixture::Full full;
  full.queue->Push(TypeParam(-1), absl::Seconds(1));
  EXPECT_EQ(full.queue->TakeUpTo(1000)->size(), 40u);
  EXPECT_EQ(full.queue->Len(), 1u);
}

TYPED_TEST(DelayQueueThrowsTest, Stream) {
  this->TakeWithEveryMove([](auto& queue, std::vector<int>* numbers) {
    queue.ShutDown();
    for (auto&& value : queue.Stream()) TestFixture::Append(value, numbers);
    return false;
  });
}

TYPED_TEST(DelayQueueThrowsTest, ALoopHandsTheValueOutASecondLater) {
  int blown = 0;
  for (bool threw = true; threw; ++blown) {
    SCOPED_TRACE(testing::Message() << "move " << blown + 1 << " throws");
    FakeClock clock;
    const auto loop = std::make_shared<WaitingLoop>(&clock, [] {});
    DelayQueueOptions options;
    options.clock = loop;
    std::vector<int> numbers;
    typename TestFixture::TestQueue queue(options, [&](TypeParam&& value) {
      TestFixture::Append(value, &numbers);
    });
    for (int i = 0; i < TestFixture::kValues; ++i) {
      queue.Push(TypeParam(i), absl::ZeroDuration());
    }
    Fuse::Arm(FragileOp::kMove, blown + 1);
    loop->RunDue();
    threw = Fuse::Disarm();
    EXPECT_EQ(numbers != this->AllNumbers(), threw);
    clock.Step(absl::Seconds(1));
    loop->RunDue();
    EXPECT_EQ(numbers, this->AllNumbers());
    EXPECT_EQ(queue.Len(), 0u);
  }
  EXPECT_GT(blown, TestFixture::kValues);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::delay_queue_exceptions_test
