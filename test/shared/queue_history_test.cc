// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/shared/queue_history.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace workqueue::queue_history_test {
namespace {

using Operation = QueueOperation;
using History = std::vector<Operation>;
constexpr int64_t kNever = Operation::kNever;

// Returns the kind of what cannot have happened, or '-'.
char Broken(const History& history) {
  const auto violation = CheckHistory(history);
  return violation ? char{violation->operation.kind} : '-';
}

// The sequential queue, in the words of docs/shared-queue.md.
enum class State { kIdle, kQueued, kProcessing, kDirty };

// The same check without an idea: tries all orders.
class AllOrders {
 public:
  explicit AllOrders(const History& history)
      : all_(history), happened_(history.size()) {}

  bool FindOne(State state = State::kIdle, bool waits = false,
               int64_t token = 0) {
    if (waits && FindOne(Added(state), false, token)) return true;
    int64_t first_end = kNever;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (!happened_[i]) first_end = std::min(first_end, all_[i].end);
    }
    if (first_end == kNever) return true;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (happened_[i] || all_[i].begin > first_end) continue;
      if (all_[i].kind == Operation::kHandOut && all_[i].end == kNever) {
        if (state != State::kQueued || unknown_hand_outs_ == 3) continue;
        ++unknown_hand_outs_;
        const bool found = FindOne(State::kIdle, true, token);
        --unknown_hand_outs_;
        if (found) return true;
        continue;
      }
      happened_[i] = true;
      if (Do(all_[i], state, waits, token)) return true;
      happened_[i] = false;
    }
    return false;
  }

 private:
  static State Added(State state) {
    return state == State::kIdle         ? State::kQueued
           : state == State::kProcessing ? State::kDirty
                                         : state;
  }

  bool Do(const Operation& it, State state, bool waits, int64_t token) {
    const bool processed =
        state == State::kProcessing || state == State::kDirty;
    switch (it.kind) {
      case Operation::kAdd:
        return FindOne(Added(state), waits, token);
      case Operation::kAddLater:
        return FindOne(state, true, token);
      case Operation::kHandOut:
        return state == State::kQueued && it.token > token &&
               FindOne(State::kProcessing, waits, it.token);
      case Operation::kIsGone:
        return state == State::kIdle && !waits && FindOne(state, waits, token);
      case Operation::kDone:
        return processed && it.token == token &&
               FindOne(state == State::kDirty ? State::kQueued : State::kIdle,
                       waits, token);
      case Operation::kGiveBack:
        return processed && it.token == token &&
               FindOne(State::kQueued, waits, token);
      case Operation::kExpiry:
        return processed && it.token == token &&
               FindOne(State::kIdle, true, token);
    }
    return false;
  }

  const History& all_;
  std::vector<bool> happened_;
  int unknown_hand_outs_ = 0;  // More would change nothing.
};

Operation Add(int64_t begin, int64_t end = kNever) {
  return {Operation::kAdd, begin, end};
}
Operation AddLater(int64_t begin, int64_t end) {
  return {Operation::kAddLater, begin, end};
}
Operation HandOut(int64_t token, int64_t begin, int64_t end) {
  return {Operation::kHandOut, begin, end, token};
}
Operation Done(int64_t token, int64_t begin, int64_t end = kNever) {
  return {Operation::kDone, begin, end, token};
}
Operation GiveBack(int64_t token, int64_t begin, int64_t end) {
  return {Operation::kGiveBack, begin, end, token};
}
Operation Expiry(int64_t token, int64_t begin) {
  return {Operation::kExpiry, begin, kNever, token};
}
Operation IsGone(int64_t at) { return {Operation::kIsGone, at, at}; }

TEST(QueueHistoryTest, AcceptsWhatAQueueDoes) {
  EXPECT_EQ(Broken({}), '-');
  EXPECT_EQ(Broken({Add(1, 2), HandOut(1, 2, 5), Done(1, 6, 7), IsGone(9)}),
            '-');
  // Two adds are one.
  EXPECT_EQ(Broken({Add(1, 2), Add(1, 9), HandOut(1, 3, 5), Done(1, 6, 7),
                    IsGone(9)}),
            '-');
  // It is added while it is processed.
  EXPECT_EQ(Broken({Add(1, 2), HandOut(1, 3, 5), Add(6, 7), Done(1, 8, 9),
                    HandOut(2, 8, 11), Done(2, 12, 13), IsGone(14)}),
            '-');
  EXPECT_EQ(Broken({Add(1, 2), HandOut(1, 3, 5), GiveBack(1, 6, 7),
                    HandOut(2, 6, 9), Done(2, 9, 9), IsGone(10)}),
            '-');
  EXPECT_EQ(Broken({AddLater(1, 2), HandOut(1, 1, 50), Done(1, 51, 52)}), '-');
}

TEST(QueueHistoryTest, AcceptsWhatPerhapsHappened) {
  // An add of which nobody knows can come late, or never.
  EXPECT_EQ(Broken({Add(1), HandOut(1, 1, 50), Done(1, 51, 52), IsGone(53)}),
            '-');
  EXPECT_EQ(Broken({Add(1), IsGone(2)}), '-');
  // A Done() may have been in time.
  EXPECT_EQ(Broken({Add(1, 2), HandOut(1, 3, 4), Done(1, 5), IsGone(6)}), '-');
  EXPECT_EQ(Broken({Add(1, 2), HandOut(1, 3, 4), Done(1, 5), Expiry(1, 9),
                    HandOut(2, 3, 12), Done(2, 13, 14), IsGone(15)}),
            '-');
  // The item waits after its lease, and an add does not end that.
  const History again = {Add(1, 2), Add(5, 6), HandOut(1, 7, 8), Done(1, 9, 10),
                         HandOut(2, 11, 12)};
  EXPECT_EQ(Broken(again), 'H');
  History expired = again;
  expired.push_back(HandOut(0, 3, kNever));
  EXPECT_EQ(Broken(expired), '-');
}

TEST(QueueHistoryTest, FindsALostAdd) {
  EXPECT_EQ(Broken({Add(1, 2), IsGone(3)}), 'I');
  EXPECT_EQ(Broken({AddLater(1, 2), IsGone(3)}), 'I');
  EXPECT_EQ(Broken({Add(1, 2), HandOut(1, 3, 4), Expiry(1, 9), IsGone(10)}),
            'I');
}

TEST(QueueHistoryTest, FindsTwoLiveLeases) {
  const History history = {Add(1, 2), HandOut(1, 3, 4), Add(5, 6),
                           HandOut(2, 5, 8), Expiry(1, 9)};
  EXPECT_EQ(Broken(history), 'H');
  const auto violation = CheckHistory(history);
  EXPECT_TRUE(violation->is_held);
  EXPECT_EQ(violation->text,
            " H2 [5, 8] cannot have happened after: A0 [1, 2] H1 [3, 4] "
            "A0 [5, 6] H2 [5, 8]; the item was held queued after 1 hand-outs,");
}

TEST(QueueHistoryTest, FindsAHandOutWithoutAnAdd) {
  EXPECT_EQ(Broken({HandOut(1, 1, 2), Add(3, 4)}), 'H');
  EXPECT_EQ(Broken({Add(1, 2), Add(3), HandOut(1, 3, 4), Done(1, 5, 6),
                    HandOut(2, 5, 7), Done(2, 8, 9), HandOut(3, 8, 10)}),
            'H');
}

TEST(QueueHistoryTest, FindsALostAddWhileItIsProcessed) {
  EXPECT_EQ(Broken({Add(1, 2), HandOut(1, 3, 4), Add(5, 6), Done(1, 7, 8),
                    IsGone(9)}),
            'I');
}

TEST(QueueHistoryTest, FindsADoneOfAnOldToken) {
  EXPECT_EQ(Broken({Add(1, 2), HandOut(1, 3, 4), Expiry(1, 5), HandOut(2, 3, 7),
                    Done(1, 8, 9)}),
            'D');
}

TEST(QueueHistoryTest, FindsTokensThatDoNotGrow) {
  EXPECT_EQ(Broken({Add(1, 2), HandOut(2, 3, 4), Done(2, 5, 6), Add(7, 8),
                    HandOut(1, 7, 9)}),
            'H');
  EXPECT_EQ(Broken({Add(1, 2), HandOut(1, 3, 4), Done(1, 5, 6), Add(7, 8),
                    HandOut(1, 7, 9)}),
            'H');
}

// All that can be in a small history, at random.
TEST(QueueHistoryTest, FindsWhatAllOrdersFind) {
  std::mt19937 random(1);
  int good = 0;
  constexpr int kHistories = 20000;
  for (int n = 0; n < kHistories; ++n) {
    History history;
    int64_t token = 0;
    for (uint32_t left = 2 + random() % 6; left > 0; --left) {
      const int64_t begin = random() % 12;
      const bool is_known = random() % 4 != 0;
      const int64_t end = begin + static_cast<int64_t>(random() % 6);
      const auto kind =
          static_cast<Operation::Kind>("AAWHHHDDGXI"[random() % 11]);
      if (kind == Operation::kHandOut) ++token;
      const bool is_sure = kind == Operation::kIsGone;
      history.push_back({kind, begin, is_known || is_sure ? end : kNever,
                         kind == Operation::kHandOut
                             ? token
                             : 1 + static_cast<int64_t>(random() % 3)});
    }
    const bool expected = AllOrders(history).FindOne();
    good += expected ? 1 : 0;
    ASSERT_EQ(!CheckHistory(history), expected)
        << "history " << n << ":" << CheckHistory(history)->text;
  }
  EXPECT_GT(good, kHistories / 20);
  EXPECT_LT(good, kHistories * 19 / 20);
}

// A long one takes a time that grows with its length only, though more and more
// adds perhaps still come.
TEST(QueueHistoryTest, ALongHistory) {
  History history;
  constexpr int64_t kRounds = 2000;
  for (int64_t i = 0; i < kRounds; ++i) {
    const int64_t at = 100 * i;
    history.push_back(Add(at, at + 150));
    if (i % 10 == 0) history.push_back(Add(at));
    history.push_back(HandOut(i, 0, at + 210));
    history.push_back(Done(i, at + 220, at + 230));
  }
  EXPECT_EQ(Broken(history), '-');
}

}  // namespace
}  // namespace workqueue::queue_history_test
