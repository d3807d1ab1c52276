// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of FailureCounts with a bound: which item is evicted, and when.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/base/config.h"
#include "absl/container/flat_hash_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ratelimit/internal/failure_counts.h"
#include "ratelimit/rate_limiter.h"
#include "test/base/fragile_key.h"
#include "workqueue/testing/thread.h"

namespace workqueue {
namespace internal::failure_counts_bound_test {
namespace {

using ::testing::ElementsAre;
using ::workqueue::FragileEq;
using ::workqueue::FragileHash;
using ::workqueue::FragileKey;

using Counts =
    FailureCounts<std::string, absl::flat_hash_set<std::string>::hasher,
                  absl::flat_hash_set<std::string>::key_equal>;
using IntCounts = FailureCounts<int, std::hash<int>, std::equal_to<int>>;
using FragileCounts = FailureCounts<FragileKey, FragileHash, FragileEq>;

static_assert(kUnboundedItems == std::numeric_limits<size_t>::max(), "");

// Returns the counts of "a", "b" and so on up to `last`.
std::vector<int> Get(const Counts& counts, char last) {
  std::vector<int> result;
  for (char c = 'a'; c <= last; ++c) {
    result.push_back(counts.Get(std::string(1, c)));
  }
  return result;
}

// Counts a failure for each character in `items`. Each character is an item.
void Increment(Counts* counts, const std::string& items) {
  for (const char c : items) counts->Increment(std::string(1, c));
}

TEST(FailureCountsBoundTest, EvictsTheItemThatFailedLongestAgo) {
  Counts counts(3);
  Increment(&counts, "abc");
  EXPECT_THAT(Get(counts, 'c'), ElementsAre(1, 1, 1));
  Increment(&counts, "d");
  EXPECT_THAT(Get(counts, 'd'), ElementsAre(0, 1, 1, 1));
  Increment(&counts, "e");
  EXPECT_THAT(Get(counts, 'e'), ElementsAre(0, 0, 1, 1, 1));
}

TEST(FailureCountsBoundTest, TheNumberOfFailuresMakesNoDifference) {
  Counts counts(3);
  Increment(&counts, "aaaaabcd");
  EXPECT_THAT(Get(counts, 'd'), ElementsAre(0, 1, 1, 1));
}

TEST(FailureCountsBoundTest, AKnownItemEvictsNothing) {
  Counts counts(3);
  Increment(&counts, "abcabcccc");
  EXPECT_THAT(Get(counts, 'c'), ElementsAre(2, 2, 5));
}

TEST(FailureCountsBoundTest, AFailureMakesAnItemTheLatest) {
  Counts counts(3);
  Increment(&counts, "abcad");  // evicts from the front,
  EXPECT_THAT(Get(counts, 'd'), ElementsAre(2, 0, 1, 1));
  Increment(&counts, "ae");  // the middle
  EXPECT_THAT(Get(counts, 'e'), ElementsAre(3, 0, 0, 1, 1));
  Increment(&counts, "ef");  // and the back
  EXPECT_THAT(Get(counts, 'f'), ElementsAre(3, 0, 0, 0, 2, 1));
}

TEST(FailureCountsBoundTest, GetDoesNotMakeAnItemTheLatest) {
  Counts counts(3);
  Increment(&counts, "abc");
  EXPECT_EQ(counts.Get("a"), 1);
  EXPECT_EQ(counts.Get("never seen"), 0);
  Increment(&counts, "d");
  EXPECT_THAT(Get(counts, 'd'), ElementsAre(0, 1, 1, 1));
}

TEST(FailureCountsBoundTest, AnEvictedItemStartsAnew) {
  Counts counts(2);
  Increment(&counts, "aaabc");
  EXPECT_EQ(counts.Increment("a"), 0);
  EXPECT_THAT(Get(counts, 'c'), ElementsAre(1, 0, 1));
}

TEST(FailureCountsBoundTest, ErasingFreesAPlace) {
  for (const std::string erased : {"a", "b", "c"}) {
    Counts counts(3);
    Increment(&counts, "abc");
    counts.Erase(erased);
    Increment(&counts, "d");
    for (const std::string item : {"a", "b", "c", "d"}) {
      EXPECT_EQ(counts.Get(item), item == erased ? 0 : 1) << item;
    }
    Increment(&counts, "e");
    EXPECT_EQ(counts.Get(erased == "a" ? "b" : "a"), 0);
    EXPECT_EQ(counts.Get(erased == "c" ? "b" : "c"), 1);
    EXPECT_EQ(counts.Get("d"), 1);
  }
}

TEST(FailureCountsBoundTest, ErasingAnEvictedItemFreesNoPlace) {
  Counts counts(2);
  Increment(&counts, "abc");
  counts.Erase("a");
  Increment(&counts, "d");
  EXPECT_THAT(Get(counts, 'd'), ElementsAre(0, 0, 1, 1));
}

TEST(FailureCountsBoundTest, BoundOfOne) {
  Counts counts(1);
  EXPECT_EQ(counts.Increment("a"), 0);
  EXPECT_EQ(counts.Increment("a"), 1);
  EXPECT_EQ(counts.Increment("b"), 0);
  EXPECT_THAT(Get(counts, 'b'), ElementsAre(0, 1));
  EXPECT_EQ(counts.Increment("b"), 1);
  counts.Erase("b");
  EXPECT_EQ(counts.Increment("a"), 0);
  EXPECT_EQ(counts.Increment("a"), 1);
  EXPECT_THAT(Get(counts, 'b'), ElementsAre(2, 0));
}

TEST(FailureCountsBoundTest, AHugeBoundEvictsNothing) {
  for (const size_t bound : {kUnboundedItems, kUnboundedItems - 1}) {
    IntCounts counts(bound);
    for (int i = 0; i < 5000; ++i) counts.Increment(i);
    for (int i = 0; i < 5000; ++i) ASSERT_EQ(counts.Increment(i), 1);
  }
}

TEST(FailureCountsBoundTest, NeverExceedsTheBound) {
  constexpr int kBound = 20;
  {
    FragileCounts counts(kBound);
    for (int i = 0; i < 2000; ++i) {
      counts.Increment(FragileKey(i));
      ASSERT_EQ(FragileKey::live(), std::min(i + 1, kBound));
    }
    for (int i = 1999; i >= 1980; --i) {
      counts.Erase(FragileKey(i));
      ASSERT_EQ(FragileKey::live(), i - 1980);
    }
    counts.Increment(FragileKey(1));
  }
  EXPECT_EQ(FragileKey::live(), 0);
}

// A simple and obviously correct model of FailureCounts.
class Model {
 public:
  explicit Model(size_t bound) : bound_(bound) {}

  int Increment(int item) {
    if (failures_.count(item) == 0 && failures_.size() == bound_) {
      failures_.erase(by_last_failure_.front());
      by_last_failure_.pop_front();
    }
    by_last_failure_.remove(item);
    by_last_failure_.push_back(item);
    return failures_[item]++;
  }

  int Get(int item) const {
    const auto it = failures_.find(item);
    return it == failures_.end() ? 0 : it->second;
  }

  void Erase(int item) {
    by_last_failure_.remove(item);
    failures_.erase(item);
  }

  size_t size() const { return failures_.size(); }

 private:
  const size_t bound_;
  std::list<int> by_last_failure_;
  std::map<int, int> failures_;
};

TEST(FailureCountsBoundTest, BehavesLikeTheModel) {
  std::mt19937 random(7);
  for (const size_t bound : {1, 2, 3, 5, 8, 30}) {
    SCOPED_TRACE(bound);
    const size_t items = 2 * bound + 1;
    Model model(bound);
    FragileCounts counts(bound);
    for (int i = 0; i < 4000; ++i) {
      int item = static_cast<int>(random() % items);
      // Some items fail more often than others.
      if (random() % 2 == 0) item /= 2;
      switch (random() % 8) {
        case 0:
          model.Erase(item);
          counts.Erase(FragileKey(item));
          break;
        case 1:
          ASSERT_EQ(counts.Get(FragileKey(item)), model.Get(item));
          break;
        default:
          ASSERT_EQ(counts.Increment(FragileKey(item)), model.Increment(item));
      }
      ASSERT_EQ(FragileKey::live(), static_cast<int>(model.size()));
      ASSERT_LE(model.size(), bound);
    }
    for (int item = 0; item < static_cast<int>(items); ++item) {
      EXPECT_EQ(counts.Get(FragileKey(item)), model.Get(item)) << item;
    }
  }
}

TEST(FailureCountsBoundTest, ManyThreadsEvictIdleItems) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 1000;
  const int busy = -1;
  // Between two failures of the busy item, each thread makes at most one other
  // item fail. So the busy item is never evicted, and all others are.
  constexpr int kBound = kThreads + 1;
  IntCounts counts(kBound);
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&counts, busy, t] {
      for (int round = 0; round < kRounds; ++round) {
        counts.Increment(busy);
        const int own = t * kRounds + round;
        EXPECT_EQ(counts.Increment(own), 0);
        EXPECT_LE(counts.Get(own), 1);
        if (round % 8 == 0) counts.Erase(own);
      }
    });
  }
  for (Thread& thread : threads) thread.join();
  EXPECT_EQ(counts.Get(busy), kThreads * kRounds);
  int others = 0;
  for (int i = 0; i < kThreads * kRounds; ++i) others += counts.Get(i);
  EXPECT_LE(others, kBound - 1);
}

#ifdef ABSL_HAVE_EXCEPTIONS

using ::workqueue::Blows;
using ::workqueue::FragileOp;
using ::workqueue::Fuse;
using ::workqueue::kFragileOps;

// Runs `f` on three items, with a bound of three, once for each operation in it
// that can throw. After each exception everything must be as before: the order,
// and the counts, which are 1, 2 and 3 from the oldest item on.
template <typename F>
void ExpectNoChange(F&& f) {
  for (const FragileOp op : kFragileOps) {
    for (int n = 1;; ++n) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(op) << ", " << n);
      FragileCounts counts(3);
      for (int item = 1; item <= 3; ++item) {
        for (int i = 0; i < item; ++i) counts.Increment(FragileKey(item));
      }
      Fuse::Arm(op, n);
      const bool blown = Blows([&] { f(&counts); });
      EXPECT_EQ(Fuse::Disarm(), blown);
      if (!blown) {
        if (op == FragileOp::kHash) {
          EXPECT_EQ(n, 2);  // There was one call.
        }
        break;
      }
      EXPECT_EQ(FragileKey::live(), 3);
      for (int oldest = 1; oldest <= 3; ++oldest) {
        for (int item = 1; item <= 3; ++item) {
          EXPECT_EQ(counts.Get(FragileKey(item)), item < oldest ? 0 : item);
        }
        counts.Increment(FragileKey(10 + oldest));
      }
      EXPECT_EQ(counts.Get(FragileKey(3)), 0);
      EXPECT_EQ(FragileKey::live(), 3);
    }
  }
}

TEST(FailureCountsBoundThrowTest, ANewItem) {
  ExpectNoChange([](FragileCounts* counts) {
    counts->Increment(FragileKey(5));  // 5 has the same hash as 1 and 3.
  });
}

TEST(FailureCountsBoundThrowTest, AKnownItem) {
  for (int item = 1; item <= 3; ++item) {
    ExpectNoChange(
        [item](FragileCounts* counts) { counts->Increment(FragileKey(item)); });
  }
}

TEST(FailureCountsBoundThrowTest, GetAndErase) {
  ExpectNoChange([](FragileCounts* counts) { counts->Get(FragileKey(2)); });
  ExpectNoChange([](FragileCounts* counts) { counts->Erase(FragileKey(2)); });
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace internal::failure_counts_bound_test
}  // namespace workqueue
