// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/object_store.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace workqueue::object_store_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// An object, which is found by its labels.
struct Thing {
  std::vector<std::string> labels;
};

std::shared_ptr<const Thing> New(std::vector<std::string> labels) {
  return std::make_shared<const Thing>(Thing{std::move(labels)});
}

class ObjectStoreTest : public testing::Test {
 protected:
  std::vector<std::shared_ptr<const Thing>> Labelled(absl::string_view label) {
    auto found = store_.ByIndex("label", label);
    EXPECT_TRUE(found.ok()) << found.status();
    return *found;
  }

  ObjectStore<Thing> store_{
      {{"label", [](const Thing& thing) { return thing.labels; }},
       {"count", [](const Thing& thing) {
          return std::vector<std::string>{std::to_string(thing.labels.size())};
        }}}};
};

TEST_F(ObjectStoreTest, KeepsTheLastObjectOfAKey) {
  const auto first = New({});
  const auto second = New({});
  EXPECT_EQ(store_.Get("a"), nullptr);
  EXPECT_EQ(store_.Put("a", first), nullptr);
  EXPECT_EQ(store_.Put("a", second), first);
  EXPECT_EQ(store_.Get("a"), second);
  EXPECT_EQ(store_.size(), 1);
}

TEST_F(ObjectStoreTest, ErasesAnObject) {
  const auto thing = New({"x"});
  store_.Put("a", thing);
  EXPECT_EQ(store_.Erase("a"), thing);
  EXPECT_EQ(store_.Erase("a"), nullptr);
  EXPECT_EQ(store_.Get("a"), nullptr);
  EXPECT_EQ(store_.size(), 0);
  EXPECT_THAT(Labelled("x"), IsEmpty());
}

TEST_F(ObjectStoreTest, ListsObjectsAndKeys) {
  const auto a = New({});
  const auto b = New({});
  store_.Put("a", a);
  store_.Put("b", b);
  EXPECT_THAT(store_.List(), UnorderedElementsAre(a, b));
  EXPECT_THAT(store_.Keys(), UnorderedElementsAre("a", "b"));
}

TEST_F(ObjectStoreTest, FindsObjectsByIndex) {
  const auto a = New({"x", "y"});
  const auto b = New({"y"});
  store_.Put("a", a);
  store_.Put("b", b);
  EXPECT_THAT(Labelled("x"), ElementsAre(a));
  EXPECT_THAT(Labelled("y"), UnorderedElementsAre(a, b));
  EXPECT_THAT(Labelled("z"), IsEmpty());
  EXPECT_THAT(*store_.ByIndex("count", "1"), ElementsAre(b));
}

TEST_F(ObjectStoreTest, AnUpdateMovesAnObjectInTheIndexes) {
  store_.Put("a", New({"x", "y"}));
  const auto after = New({"y", "z"});
  store_.Put("a", after);
  EXPECT_THAT(Labelled("x"), IsEmpty());
  EXPECT_THAT(Labelled("y"), ElementsAre(after));
  EXPECT_THAT(Labelled("z"), ElementsAre(after));
}

TEST_F(ObjectStoreTest, AValueThatComesTwiceCountsOnce) {
  const auto a = New({"x", "x"});
  store_.Put("a", a);
  EXPECT_THAT(Labelled("x"), ElementsAre(a));
  store_.Erase("a");
  EXPECT_THAT(Labelled("x"), IsEmpty());
}

TEST_F(ObjectStoreTest, TheSameObjectCanBePutAgain) {
  const auto a = New({"x"});
  store_.Put("a", a);
  EXPECT_EQ(store_.Put("a", a), a);
  EXPECT_THAT(Labelled("x"), ElementsAre(a));
}

TEST_F(ObjectStoreTest, NamesAnIndexThatDoesNotExist) {
  EXPECT_EQ(store_.ByIndex("lable", "x").status(),
            absl::NotFoundError("there is no index 'lable'"));
}

TEST_F(ObjectStoreTest, AReaderKeepsWhatItHasRead) {
  store_.Put("a", New({"x"}));
  const auto read = store_.Get("a");
  store_.Put("a", New({}));
  EXPECT_THAT(read->labels, ElementsAre("x"));
}

}  // namespace
}  // namespace workqueue::object_store_test
