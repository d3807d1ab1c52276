// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/intrusive_list.h"

#include <algorithm>
#include <cstddef>
#include <list>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace workqueue {
namespace internal::intrusive_list_test {
namespace {

struct Element : IntrusiveLink<Element> {
  explicit Element(int v) : value(v) {}

  int value;
};

// Returns the values in `list` from front to back.
std::vector<int> Values(const IntrusiveList<Element>& list) {
  std::vector<int> values;
  for (Element* e = list.front(); e != nullptr; e = e->next()) {
    values.push_back(e->value);
  }
  return values;
}

class IntrusiveListTest : public testing::Test {
 protected:
  Element one_{1}, two_{2}, three_{3};
  IntrusiveList<Element> list_;
};

TEST_F(IntrusiveListTest, IsEmptyAtFirst) {
  EXPECT_TRUE(list_.empty());
  EXPECT_EQ(list_.size(), 0u);
  EXPECT_EQ(list_.front(), nullptr);
}

TEST_F(IntrusiveListTest, PushBackAppends) {
  list_.PushBack(&one_);
  EXPECT_EQ(list_.front(), &one_);
  EXPECT_EQ(one_.next(), nullptr);
  list_.PushBack(&two_);
  list_.PushBack(&three_);
  EXPECT_FALSE(list_.empty());
  EXPECT_EQ(list_.size(), 3u);
  EXPECT_EQ(Values(list_), (std::vector<int>{1, 2, 3}));
}

TEST_F(IntrusiveListTest, PopFrontRemovesTheFirst) {
  list_.PushBack(&one_);
  list_.PushBack(&two_);
  EXPECT_EQ(list_.PopFront(), &one_);
  EXPECT_EQ(list_.size(), 1u);
  EXPECT_EQ(list_.PopFront(), &two_);
  EXPECT_TRUE(list_.empty());
  EXPECT_EQ(list_.front(), nullptr);
}

TEST_F(IntrusiveListTest, InsertBeforeInsertsAnywhere) {
  list_.InsertBefore(&three_, nullptr);
  list_.InsertBefore(&one_, &three_);
  list_.InsertBefore(&two_, &three_);
  EXPECT_EQ(list_.size(), 3u);
  EXPECT_EQ(Values(list_), (std::vector<int>{1, 2, 3}));
  list_.Remove(&two_);
  list_.InsertBefore(&two_, nullptr);
  EXPECT_EQ(Values(list_), (std::vector<int>{1, 3, 2}));
  EXPECT_EQ(list_.PopFront(), &one_);
}

TEST_F(IntrusiveListTest, RemovesFromAnywhere) {
  for (Element* removed : {&one_, &two_, &three_}) {
    SCOPED_TRACE(removed->value);
    IntrusiveList<Element> list;
    std::vector<int> left;
    for (Element* e : {&one_, &two_, &three_}) {
      list.PushBack(e);
      if (e != removed) left.push_back(e->value);
    }
    list.Remove(removed);
    EXPECT_EQ(Values(list), left);
    EXPECT_EQ(list.size(), 2u);
    list.PushBack(removed);
    left.push_back(removed->value);
    EXPECT_EQ(Values(list), left);
  }
}

TEST_F(IntrusiveListTest, AnElementCanMoveToAnotherList) {
  list_.PushBack(&one_);
  list_.PushBack(&two_);
  IntrusiveList<Element> other;
  other.PushBack(list_.PopFront());
  EXPECT_EQ(Values(list_), std::vector<int>{2});
  EXPECT_EQ(Values(other), std::vector<int>{1});
}

TEST_F(IntrusiveListTest, ACopyCanReplaceAnElement) {
  std::vector<Element> elements;
  for (int i = 0; i < 3; ++i) elements.emplace_back(i);
  for (Element& element : elements) list_.PushBack(&element);
  const std::vector<Element> copies = elements;
  for (size_t i = 0; i < copies.size(); ++i) {
    Element copy = elements[i];
    copy.value = 10 + static_cast<int>(i);
    list_.ReplaceByCopy(&copy);
    std::vector<int> expected = {0, 1, 2};
    expected[i] = copy.value;
    EXPECT_EQ(Values(list_), expected);
    list_.Remove(&copy);
    expected.erase(expected.begin() + static_cast<int>(i));
    EXPECT_EQ(Values(list_), expected);
    while (!list_.empty()) list_.PopFront();
    for (Element& element : elements) list_.PushBack(&element);
  }
}

TEST_F(IntrusiveListTest, BehavesLikeAStandardList) {
  std::mt19937 random(1);
  std::vector<Element> elements;
  for (int i = 0; i < 20; ++i) elements.emplace_back(i);
  std::list<int> model;
  for (int i = 0; i < 10000; ++i) {
    const int value = static_cast<int>(random() % elements.size());
    const auto it = std::find(model.begin(), model.end(), value);
    if (it == model.end()) {
      list_.PushBack(&elements[value]);
      model.push_back(value);
    } else if (random() % 2 == 0) {
      list_.Remove(&elements[value]);
      model.erase(it);
    } else {
      ASSERT_EQ(list_.PopFront()->value, model.front());
      model.pop_front();
    }
    ASSERT_EQ(list_.size(), model.size());
    ASSERT_EQ(list_.empty(), model.empty());
    ASSERT_EQ(Values(list_), std::vector<int>(model.begin(), model.end()));
  }
}

}  // namespace
}  // namespace internal::intrusive_list_test
}  // namespace workqueue
