// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/lease_batch.h"

#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workqueue/internal/lease_access.h"
#include "workqueue/lease.h"
#include "workqueue/ordering.h"

namespace workqueue::lease_batch_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Batch = LeaseBatch<int>;

static_assert(std::is_nothrow_default_constructible<Batch>::value, "");
static_assert(std::is_nothrow_move_constructible<Batch>::value, "");
static_assert(std::is_nothrow_move_assignable<Batch>::value, "");
static_assert(!std::is_copy_constructible<Batch>::value, "");
static_assert(!std::is_copy_assignable<Batch>::value, "");

class Item : public QueuedItem<int> {
 public:
  explicit Item(int item) : QueuedItem<int>(item) {}
};

// Records, for each call, the items whose leases ended.
class Owner final : public internal::LeaseOwner<int> {
 public:
  using Ended = std::vector<std::vector<int>>;

  bool EndLeases(absl::Span<QueuedItem<int>* const> items,
                 internal::LeaseEnd end) override {
    ended_.emplace_back();
    if (end == internal::LeaseEnd::kGivenBack) ++given_back_;
    for (const QueuedItem<int>* item : items) {
      ended_.back().push_back(item->item());
    }
    return true;
  }

  const Ended& ended() const { return ended_; }
  int given_back() const { return given_back_; }  // calls

 private:
  Ended ended_;
  int given_back_ = 0;
};

class LeaseBatchTest : public testing::Test {
 protected:
  LeaseBatchTest() {
    for (int i = 0; i < 1000; ++i) items_.push_back(std::make_unique<Item>(i));
  }

  Lease<int> LeaseOf(int i) {
    return internal::LeaseAccess::Make<int>(&owner_, items_[i].get());
  }

  // A batch of the items from `begin` up to `end`.
  Batch BatchOf(int begin, int end) {
    Batch batch;
    for (int i = begin; i < end; ++i)
      internal::LeaseAccess::PushBack(&batch, LeaseOf(i));
    return batch;
  }

  Owner owner_;
  std::vector<std::unique_ptr<Item>> items_;
};

TEST_F(LeaseBatchTest, EndsAllInOneCall) {
  {
    const Batch batch = BatchOf(0, 3);
    EXPECT_EQ(batch.size(), 3u);
    EXPECT_EQ(*batch[1], 1);
    EXPECT_THAT(owner_.ended(), IsEmpty());
  }
  EXPECT_THAT(owner_.ended(), ElementsAre(ElementsAre(0, 1, 2)));
}

TEST_F(LeaseBatchTest, EndsNothingIfItIsEmpty) {
  { Batch batch; }
  Batch batch;
  EXPECT_TRUE(batch.empty());
  batch.Done();
  EXPECT_THAT(owner_.ended(), IsEmpty());
}

TEST_F(LeaseBatchTest, DoneEndsAllOnceAndEmptiesIt) {
  Batch batch = BatchOf(0, 2);
  batch.Done();
  EXPECT_TRUE(batch.empty());
  batch.Done();
  EXPECT_THAT(owner_.ended(), ElementsAre(ElementsAre(0, 1)));
}

TEST_F(LeaseBatchTest, DoesNotEndThoseThatHaveEndedOrBeenMovedOut) {
  Lease<int> kept;
  {
    Batch batch = BatchOf(0, 4);
    batch[1].Done();
    kept = std::move(batch[2]);
    EXPECT_EQ(batch.size(), 4u);
  }
  EXPECT_THAT(owner_.ended(), ElementsAre(ElementsAre(1), ElementsAre(0, 3)));
  EXPECT_EQ(*kept, 2);
}

TEST_F(LeaseBatchTest, MovesItsLeases) {
  Batch batch = BatchOf(0, 2);
  Batch moved = std::move(batch);
  batch.Done();  // NOLINT(bugprone-use-after-move): it is empty
  EXPECT_THAT(owner_.ended(), IsEmpty());
  moved = BatchOf(2, 4);
  EXPECT_THAT(owner_.ended(), ElementsAre(ElementsAre(0, 1)));
  EXPECT_EQ(*moved[0], 2);
}

TEST_F(LeaseBatchTest, EndsManyInSeveralCalls) {
  { const Batch batch = BatchOf(0, 1000); }
  std::vector<int> ended;
  for (const std::vector<int>& items : owner_.ended()) {
    ended.insert(ended.end(), items.begin(), items.end());
  }
  std::vector<int> all(1000);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(ended, all);
  EXPECT_THAT(owner_.ended(), SizeIs(1000 / 64 + 1));
}

TEST_F(LeaseBatchTest, TellsEachOwnerOfItsOwn) {
  Owner other;
  {
    Batch batch = BatchOf(0, 2);
    internal::LeaseAccess::PushBack(
        &batch, internal::LeaseAccess::Make<int>(&other, items_[2].get()));
    internal::LeaseAccess::PushBack(&batch, Lease<int>());
    internal::LeaseAccess::PushBack(&batch, LeaseOf(3));
  }
  EXPECT_THAT(owner_.ended(), ElementsAre(ElementsAre(0, 1), ElementsAre(3)));
  EXPECT_THAT(other.ended(), ElementsAre(ElementsAre(2)));
}

}  // namespace
}  // namespace workqueue::lease_batch_test
