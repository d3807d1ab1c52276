// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/internal/unrolled_lists.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "workqueue/internal/slab.h"

namespace workqueue {
namespace internal {
namespace {

// Where each id is, and how often it has been told.
struct Place {
  uint32_t place = 0;
  int told = 0;
};

struct SetPlace {
  void operator()(SlabId id, uint32_t place) const {
    (*places)[id].place = place;
    ++(*places)[id].told;
  }
  std::vector<Place>* places;
};

class UnrolledListsTest : public testing::Test {
 protected:
  static constexpr SlabId kIds = 1000;

  void Remove(UnrolledList& queue, SlabId id) {
    queues_.Remove(queue, places_[id].place);
  }

  std::vector<SlabId> TakeAll(UnrolledList& queue) {
    std::vector<SlabId> ids;
    while (!queue.empty()) {
      const SlabId front = queues_.Front(queue);
      EXPECT_EQ(queues_.PopFront(queue), front);
      ids.push_back(front);
    }
    return ids;
  }

  std::vector<Place> places_ = std::vector<Place>(kIds);
  UnrolledLists<SetPlace> queues_{SetPlace{&places_}};
};

TEST_F(UnrolledListsTest, FirstInFirstOut) {
  UnrolledList odd, even;
  EXPECT_TRUE(odd.empty());
  queues_.Reserve(200, 2);
  std::vector<SlabId> odds, evens;
  for (SlabId id = 0; id < 200; ++id) {
    queues_.PushBack(id % 2 == 0 ? even : odd, id);
    (id % 2 == 0 ? evens : odds).push_back(id);
  }
  EXPECT_EQ(TakeAll(odd), odds);
  EXPECT_EQ(TakeAll(even), evens);
}

// The first ones still come first, which have waited longest.
TEST_F(UnrolledListsTest, TheLastTakesThePlaceOfOneRemoved) {
  UnrolledList queue;
  queues_.Reserve(40, 1);
  for (SlabId id = 0; id < 40; ++id) queues_.PushBack(queue, id);
  Remove(queue, 0);
  Remove(queue, 20);
  Remove(queue, 38);
  std::vector<SlabId> expected;
  for (SlabId id = 1; id < 38; ++id) expected.push_back(id == 20 ? 39 : id);
  EXPECT_EQ(TakeAll(queue), expected);
}

TEST_F(UnrolledListsTest, APushTellsOfNoOther) {
  UnrolledList queue;
  queues_.Reserve(kIds, 1);
  for (SlabId id = 0; id < kIds; ++id) queues_.PushBack(queue, id);
  for (const Place& place : places_) EXPECT_EQ(place.told, 1);
}

// Random sequences, against vectors.
TEST_F(UnrolledListsTest, DoesAsVectorsDoAndAllocatesNothingMore) {
  for (const size_t count : {size_t{1}, size_t{3}, size_t{200}}) {
    std::mt19937 random(static_cast<unsigned>(count));
    queues_.Clear();
    queues_.Reserve(kIds, count);
    std::vector<UnrolledList> queues(count);
    std::vector<std::vector<SlabId>> model(count);
    std::vector<SlabId> out;
    for (SlabId id = 0; id < kIds; ++id) out.push_back(id);
    const size_t capacity = queues_.capacity();
    for (int i = 0; i < 100000; ++i) {
      const size_t q = random() % count;
      UnrolledList& queue = queues[q];
      std::vector<SlabId>& ids = model[q];
      const unsigned remove = i / 5000 % 2 == 0 ? 4 : 6;
      if (random() % 10 >= remove) {
        if (out.empty()) continue;
        queues_.PushBack(queue, out.back());
        ids.push_back(out.back());
        out.pop_back();
      } else if (!ids.empty() && random() % 2 == 0) {
        ASSERT_EQ(queues_.PopFront(queue), ids.front());
        out.push_back(ids.front());
        ids.erase(ids.begin());
      } else if (!ids.empty()) {
        const size_t index = random() % ids.size();
        out.push_back(ids[index]);
        Remove(queue, ids[index]);
        if (index == 0) {
          ids.erase(ids.begin());
        } else {
          ids[index] = ids.back();
          ids.pop_back();
        }
      }
      ASSERT_EQ(queue.empty(), ids.empty());
      if (!ids.empty()) {
        ASSERT_EQ(queues_.Front(queue), ids.front());
      }
    }
    EXPECT_EQ(queues_.capacity(), capacity);
    for (size_t q = 0; q < count; ++q) {
      ASSERT_EQ(TakeAll(queues[q]), model[q]);
    }
  }
}

}  // namespace
}  // namespace internal
}  // namespace workqueue
