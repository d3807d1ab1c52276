// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ratelimit/internal/failure_counts.h"

#include <cstddef>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/container/flat_hash_set.h"
#include "gtest/gtest.h"
#include "ratelimit/rate_limiter.h"
#include "workqueue/testing/thread.h"

namespace workqueue {
namespace internal::failure_counts_test {
namespace {

template <typename T>
using Counts = FailureCounts<T, typename absl::flat_hash_set<T>::hasher,
                             typename absl::flat_hash_set<T>::key_equal>;

TEST(FailureCountsTest, CountsEachItemByItself) {
  Counts<std::string> counts;
  EXPECT_EQ(counts.Get("a"), 0);
  EXPECT_EQ(counts.Increment("a"), 0);
  EXPECT_EQ(counts.Increment("a"), 1);
  EXPECT_EQ(counts.Increment("b"), 0);
  EXPECT_EQ(counts.Increment("a"), 2);
  EXPECT_EQ(counts.Get("a"), 3);
  EXPECT_EQ(counts.Get("b"), 1);
  EXPECT_EQ(counts.Get("c"), 0);
}

TEST(FailureCountsTest, GetDoesNotTrackAnItem) {
  Counts<std::string> counts;
  EXPECT_EQ(counts.Get("a"), 0);
  counts.Erase("a");
  EXPECT_EQ(counts.Increment("a"), 0);
}

TEST(FailureCountsTest, ErasingStartsAnew) {
  Counts<std::string> counts;
  counts.Increment("a");
  counts.Increment("a");
  counts.Increment("b");
  counts.Erase("a");
  counts.Erase("a");
  EXPECT_EQ(counts.Get("a"), 0);
  EXPECT_EQ(counts.Get("b"), 1);
  EXPECT_EQ(counts.Increment("a"), 0);
}

TEST(FailureCountsTest, KeepsManyItems) {
  constexpr int kItems = 10000;
  Counts<int> counts;
  for (int i = 0; i < kItems; ++i) {
    for (int failure = 0; failure < i % 3; ++failure) counts.Increment(i);
  }
  for (int i = 0; i < kItems; i += 2) counts.Erase(i);
  for (int i = 0; i < kItems; ++i) {
    EXPECT_EQ(counts.Get(i), i % 2 == 0 ? 0 : i % 3) << i;
  }
}

constexpr int kMaxInt = std::numeric_limits<int>::max();
static_assert(OneMoreFailure(0) == 1, "");
static_assert(OneMoreFailure(kMaxInt - 1) == kMaxInt, "");
static_assert(OneMoreFailure(kMaxInt) == kMaxInt, "the count saturates");

struct CountingHash {
  size_t operator()(int i) const {
    ++calls;
    return std::hash<int>()(i);
  }
  static int calls;
};
int CountingHash::calls = 0;

TEST(FailureCountsTest, HashesOnceAnOperation) {
  FailureCounts<int, CountingHash, std::equal_to<int>> counts;
  CountingHash::calls = 0;
  for (int i = 0; i < 1000; ++i) counts.Increment(i);
  EXPECT_EQ(CountingHash::calls, 1000);
  for (int i = 0; i < 1000; ++i) counts.Increment(i);
  EXPECT_EQ(CountingHash::calls, 2000);
  for (int i = 0; i < 1000; ++i) counts.Get(i);
  EXPECT_EQ(CountingHash::calls, 3000);
  for (int i = 0; i < 1000; ++i) counts.Erase(i);
  EXPECT_EQ(CountingHash::calls, 4000);
}

// Puts every item into the same bucket.
struct SameHash {
  size_t operator()(int) const { return 42; }
};

// All even numbers are the same item, and so are all odd numbers.
struct SameParity {
  bool operator()(int a, int b) const { return a % 2 == b % 2; }
};

TEST(FailureCountsTest, UsesTheGivenHashAndEquality) {
  FailureCounts<int, SameHash, SameParity> counts;
  counts.Increment(2);
  counts.Increment(4);
  counts.Increment(3);
  EXPECT_EQ(counts.Get(6), 2);
  EXPECT_EQ(counts.Get(5), 1);
  counts.Erase(8);
  EXPECT_EQ(counts.Get(2), 0);
  EXPECT_EQ(counts.Get(3), 1);
}

// An item that can be copied, but not moved, assigned or default-constructed.
struct CopyOnly {
  explicit CopyOnly(int i) : id(i) {}
  CopyOnly(const CopyOnly&) = default;
  CopyOnly& operator=(const CopyOnly&) = delete;

  template <typename H>
  friend H AbslHashValue(H h, const CopyOnly& item) {
    return H::combine(std::move(h), item.id);
  }
  friend bool operator==(const CopyOnly& a, const CopyOnly& b) {
    return a.id == b.id;
  }

  const int id;
};

TEST(FailureCountsTest, RequiresOnlyThatItemsCanBeCopied) {
  Counts<CopyOnly> counts;
  for (int i = 0; i < 100; ++i) counts.Increment(CopyOnly(i));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(counts.Increment(CopyOnly(i)), 1);
}

TEST(FailureCountsTest, LosesNoFailureOfManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 1000;
  constexpr int kItems = 10;
  Counts<int> counts;
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&counts, t] {
      for (int round = 0; round < kRounds; ++round) {
        for (int i = 0; i < kItems; ++i) {
          EXPECT_LT(counts.Increment(i), kThreads * kRounds);
          EXPECT_GT(counts.Get(i), 0);
        }
        // Other items come and go at the same time.
        const int own = kItems + t;
        EXPECT_EQ(counts.Increment(own), 0);
        counts.Erase(own);
      }
    });
  }
  for (Thread& thread : threads) thread.join();
  for (int i = 0; i < kItems; ++i) {
    EXPECT_EQ(counts.Get(i), kThreads * kRounds);
  }
}

#ifdef ABSL_HAVE_EXCEPTIONS

// An item whose every operation throws on demand.
struct Throwing {
  enum What { kNothing, kHash, kEq, kCopy };

  explicit Throwing(int i) : Throwing(std::to_string(i)) {}
  explicit Throwing(std::string i) : id(std::move(i)) { ++alive; }
  Throwing(const Throwing& other) : id(other.id) {
    MayThrow(kCopy);
    ++alive;
  }
  ~Throwing() { --alive; }

  template <typename H>
  friend H AbslHashValue(H h, const Throwing& item) {
    MayThrow(kHash);
    return H::combine(std::move(h), item.id);
  }
  friend bool operator==(const Throwing& a, const Throwing& b) {
    MayThrow(kEq);
    return a.id == b.id;
  }

  static void MayThrow(What what) {
    if (what == throws) throw std::runtime_error("as told");
  }

  static What throws;
  static int alive;

  std::string id;
};
Throwing::What Throwing::throws = Throwing::kNothing;
int Throwing::alive = 0;

// The same, and moving it always throws.
struct ThrowingOnMove : Throwing {
  using Throwing::Throwing;
  ThrowingOnMove(const ThrowingOnMove&) = default;
  ThrowingOnMove(ThrowingOnMove&& other) : Throwing(other.id) {
    throw std::runtime_error("moved");
  }
};

// The same, and moving it never throws.
struct ThrowingOnCopy : Throwing {
  using Throwing::Throwing;
  ThrowingOnCopy(const ThrowingOnCopy&) = default;
  ThrowingOnCopy(ThrowingOnCopy&& other) noexcept
      : Throwing(std::move(other.id)) {}
};

template <typename T>
class FailureCountsThrowTest : public testing::Test {};

using ThrowingTypes = testing::Types<Throwing, ThrowingOnMove, ThrowingOnCopy>;
TYPED_TEST_SUITE(FailureCountsThrowTest, ThrowingTypes);

TYPED_TEST(FailureCountsThrowTest, ExceptionsChangeNothing) {
  constexpr int kItems = 200;
  {
    Counts<TypeParam> counts;
    // Every item is new once, and the table grows through every size.
    for (int i = 0; i < kItems; ++i) {
      const TypeParam item(i);
      for (const Throwing::What what : {Throwing::kHash, Throwing::kCopy}) {
        Throwing::throws = what;
        EXPECT_THROW(counts.Increment(item), std::runtime_error);
        Throwing::throws = Throwing::kNothing;
        EXPECT_EQ(Throwing::alive, i + 1);  // includes `item`
        EXPECT_EQ(counts.Get(item), 0);
      }
      EXPECT_EQ(counts.Increment(item), 0);
    }
    // Every item is known now, so it is compared and not copied.
    for (int i = 0; i < kItems; ++i) {
      const TypeParam item(i);
      for (const Throwing::What what : {Throwing::kHash, Throwing::kEq}) {
        Throwing::throws = what;
        EXPECT_THROW(counts.Increment(item), std::runtime_error);
        EXPECT_THROW(counts.Get(item), std::runtime_error);
        EXPECT_THROW(counts.Erase(item), std::runtime_error);
        Throwing::throws = Throwing::kNothing;
        EXPECT_EQ(counts.Get(item), 1);
      }
      Throwing::throws = Throwing::kCopy;
      EXPECT_EQ(counts.Increment(item), 1);
      Throwing::throws = Throwing::kNothing;
    }
    EXPECT_EQ(Throwing::alive, kItems);
  }
  EXPECT_EQ(Throwing::alive, 0);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace internal::failure_counts_test
}  // namespace workqueue
