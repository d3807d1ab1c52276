// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/fair_ordering.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "workqueue/queue.h"
#include "workqueue/snapshot.h"

namespace workqueue::fair_ordering_test {
namespace {

using Fair = FairOrdering<std::string>;
using Strings = std::vector<std::string>;

// Returns the part of `key` before the slash.
std::string NamespaceOf(const std::string& key) {
  return key.substr(0, key.find('/'));
}

std::unique_ptr<Queue<std::string>> MakeQueue(
    Fair::GroupOf group_of, Fair::WeightOf weight_of = nullptr) {
  QueueOptions<std::string> options;
  options.ordering = *Fair::Create(std::move(group_of), std::move(weight_of));
  return std::make_unique<Queue<std::string>>(std::move(options));
}

// Gets all queued items, and calls `Done()` for each.
Strings Drain(Queue<std::string>& queue) {
  Strings got;
  while (queue.Len() > 0) {
    got.push_back(*queue.Get());
    queue.Done(got.back());
  }
  return got;
}

Strings Queued(Queue<std::string>& queue) {
  Strings queued;
  const auto snapshot = queue.TakeSnapshot();
  for (const auto& it : snapshot->queued) queued.push_back(it.item);
  return queued;
}

TEST(FairOrderingTest, WithoutGroupOfIsAnError) {
  const absl::Status status = Fair::Create(nullptr).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "group_of is null");
}

TEST(FairOrderingTest, GroupsTakeTurns) {
  const auto owned = MakeQueue(NamespaceOf);
  Queue<std::string>& queue = *owned;
  queue.AddAll({"a/1", "a/2", "a/3", "b/1", "b/2", "c/1"});
  EXPECT_EQ(Drain(queue), (Strings{"a/1", "b/1", "c/1", "a/2", "b/2", "a/3"}));
}

TEST(FairOrderingTest, OneGroupIsFirstInFirstOut) {
  const auto owned =
      MakeQueue([](const std::string&) { return std::string(); });
  Queue<std::string>& queue = *owned;
  const Strings all = {"d", "a", "c", "b"};
  queue.AddAll(all);
  EXPECT_EQ(Drain(queue), all);
}

TEST(FairOrderingTest, ANoisyTenantDoesNotDelayAnothersFirst) {
  const auto owned = MakeQueue(NamespaceOf);
  Queue<std::string>& queue = *owned;
  for (int i = 0; i < 100000; ++i) queue.Add(absl::StrCat("noisy/", i));
  EXPECT_EQ(queue.Get(), "noisy/0");
  queue.Add("quiet/1");
  EXPECT_EQ(queue.Get(), "noisy/1");
  EXPECT_EQ(queue.Get(), "quiet/1");
  EXPECT_EQ(queue.Get(), "noisy/2");
}

TEST(FairOrderingTest, AGroupHasAsManyInATurnAsItsWeightSays) {
  const auto owned = MakeQueue(NamespaceOf, [](const std::string& group) {
    return group == "a" ? 3 : group == "b" ? 2 : -7;  // -7 counts as 1
  });
  Queue<std::string>& queue = *owned;
  queue.AddAll(
      {"a/1", "b/1", "c/1", "a/2", "b/2", "c/2", "a/3", "b/3", "a/4", "a/5"});
  EXPECT_EQ(Drain(queue), (Strings{"a/1", "a/2", "a/3", "b/1", "b/2", "c/1",
                                   "a/4", "a/5", "b/3", "c/2"}));
}

TEST(FairOrderingTest, ANewGroupComesLast) {
  const auto owned = MakeQueue(NamespaceOf);
  Queue<std::string>& queue = *owned;
  queue.AddAll({"a/1", "b/1", "b/2", "c/1"});
  EXPECT_EQ(queue.Get(), "a/1");  // a has none left.
  queue.Add("a/2");
  EXPECT_EQ(Drain(queue), (Strings{"b/1", "c/1", "a/2", "b/2"}));
}

TEST(FairOrderingTest, AddingAgainChangesNothing) {
  const auto owned = MakeQueue(NamespaceOf);
  Queue<std::string>& queue = *owned;
  queue.AddAll({"a/1", "a/2", "b/1", "a/2", "b/1", "a/1"});
  EXPECT_EQ(Drain(queue), (Strings{"a/1", "b/1", "a/2"}));
}

TEST(FairOrderingTest, ASnapshotHasThemInTheirOrder) {
  const auto owned = MakeQueue(NamespaceOf, [](const std::string& group) {
    return group == "b" ? 2 : 1;
  });
  Queue<std::string>& queue = *owned;
  queue.AddAll({"a/1", "a/2", "b/1", "b/2", "b/3", "c/1", "a/3"});
  queue.Get();
  queue.Get();  // in the middle of b's turn
  const Strings queued = Queued(queue);
  EXPECT_EQ(queued, Drain(queue));
  EXPECT_EQ(queued, (Strings{"b/2", "c/1", "a/2", "b/3", "a/3"}));
}

TEST(FairOrderingTest, GroupsMayBeOfAnyType) {
  QueueOptions<int> options;
  options.ordering =
      *FairOrdering<int, bool>::Create([](int i) { return i % 2 == 0; });
  Queue<int> queue(std::move(options));
  queue.AddAll({1, 3, 5, 2, 4});
  for (int want : {1, 2, 3, 4, 5}) EXPECT_EQ(queue.Get(), want);
}

// A simple and slow model of a fair ordering.
class Model {
 public:
  explicit Model(Fair::WeightOf weight_of) : weight_of_(std::move(weight_of)) {}

  void Push(const std::string& item) {
    const std::string group = NamespaceOf(item);
    if (groups_[group].empty()) ring_.push_back({group, weight_of_(group)});
    groups_[group].push_back(item);
  }

  std::string Pop() {
    auto [group, left] = ring_.front();
    ring_.pop_front();
    std::deque<std::string>& items = groups_[group];
    const std::string item = items.front();
    items.pop_front();
    if (--left > 0 && !items.empty()) {
      ring_.push_front({group, left});
    } else if (!items.empty()) {
      ring_.push_back({group, weight_of_(group)});
    }
    return item;
  }

 private:
  const Fair::WeightOf weight_of_;
  std::map<std::string, std::deque<std::string>> groups_;
  std::deque<std::pair<std::string, int>> ring_;
};

TEST(FairOrderingTest, BehavesLikeTheModel) {
  const auto weight_of = [](const std::string& group) {
    return 1 + static_cast<int>(group[0] - 'a') % 3;
  };
  const auto owned = MakeQueue(NamespaceOf, weight_of);
  Queue<std::string>& queue = *owned;
  Model model(weight_of);
  std::mt19937 random(1);
  size_t size = 0;
  for (int i = 0; i < 100000; ++i) {
    if (random() % 2 == 0 || size == 0) {
      const std::string item =
          absl::StrCat(std::string(1, 'a' + random() % 6), "/", i);
      queue.Add(item);
      model.Push(item);
      ++size;
    } else {
      const std::optional<std::string> item = queue.Get();
      ASSERT_EQ(item, model.Pop());
      queue.Done(*item);
      --size;
    }
    ASSERT_EQ(queue.Len(), size);
    if (i % 1000 == 0) {
      Model rest = model;
      for (const std::string& item : Queued(queue)) ASSERT_EQ(item, rest.Pop());
    }
  }
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST(FairOrderingTest, AnExceptionLeavesItAsItWas) {
  bool group_throws = false;
  bool weight_throws = false;
  const auto owned = MakeQueue(
      [&](const std::string& key) {
        if (group_throws) throw 1;
        return NamespaceOf(key);
      },
      [&](const std::string&) {
        if (weight_throws) throw 1;
        return 1;
      });
  Queue<std::string>& queue = *owned;
  queue.AddAll({"a/1", "a/2"});
  group_throws = true;
  EXPECT_THROW(queue.Add("b/1"), int);
  group_throws = false;
  weight_throws = true;
  EXPECT_THROW(queue.Add("b/1"), int);
  EXPECT_TRUE(queue.Add("a/3")) << "whose weight is known";
  weight_throws = false;
  EXPECT_EQ(queue.Len(), 3u);
  queue.Add("b/1");
  EXPECT_EQ(Drain(queue), (Strings{"a/1", "b/1", "a/2", "a/3"}));
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::fair_ordering_test
