// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests the groups of a shared queue, on each engine. The judges are
// the reference model of a `FairOrdering`, and a `PriorityQueue` with one.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/reference/fair_ordering_model.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/redis_server.h"
#include "test/shared/test_engines.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/retry_schedule.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/snapshot.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::shared_groups_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Queue = SharedQueue<std::string>;
using Fair = FairOrderingOptions<std::string>;
using Model = reference::FairOrderingModel;

constexpr size_t kUnbounded = std::numeric_limits<size_t>::max();
constexpr absl::Duration kLease = absl::Seconds(30);

// "tenant/name" belongs to the group "tenant".
std::string TenantOf(const std::string& key) {
  return key.substr(0, key.find('/'));
}

Fair ByTenant(size_t max_in_process = kUnbounded) {
  Fair fair;
  fair.dimensions.resize(1);
  fair.dimensions[0].group_of = TenantOf;
  fair.dimensions[0].max_in_process = max_in_process;
  return fair;
}

AddOptions At(int priority, bool retry = false) {
  AddOptions options;
  options.priority = priority;
  options.retry = retry;
  return options;
}

class SharedGroupsTest : public testing::TestWithParam<TestEngine> {
 protected:
  SharedQueueOptions<std::string> Options(Fair fair) {
    auto options = NewSharedQueueOptions<std::string>(&clock_, engine_.get());
    options.name = name_;
    options.lease = kLease;
    options.log_sink = &log_;
    options.fair = std::move(fair);
    return options;
  }

  std::unique_ptr<Queue> NewClient(Fair fair) {
    return NewSharedQueue(Options(std::move(fair)));
  }

  // Acquires the next item. Returns its name, or nothing.
  static std::string Take(Queue& queue,
                          std::vector<Lease<std::string>>* leases) {
    auto lease = queue.TryAcquire();
    if (!lease.ok()) return "";
    leases->push_back(*std::move(lease));
    return *leases->back();
  }

  // Acquires and ends all items that can be handed out, one after the other.
  static std::string TakeAll(Queue& queue) {
    std::string names;
    std::vector<Lease<std::string>> leases;
    while (true) {
      const std::string name = Take(queue, &leases);
      if (name.empty()) return names;
      absl::StrAppend(&names, name, " ");
      leases.clear();
    }
  }

  std::string KeyOf(absl::string_view key) const {
    return absl::StrCat("{", name_, "}:workqueue:", key);
  }

  void Delete(absl::string_view key) {
    ASSERT_TRUE(SendTo(ServerOfThisProgram(), {"DEL", KeyOf(key)}).ok());
  }

  FakeClock clock_;
  const std::unique_ptr<internal::EngineSource> engine_ =
      GetParam().make(&clock_);
  RecordingLog log_;
  std::string name_ = NewQueueName();
};

INSTANTIATE_ENGINE_TESTS(SharedGroupsTest);

// These tests change the keys of a server, if this program has one.
std::vector<TestEngine> Servers() {
  std::vector<TestEngine> servers = TestEngines();
  servers.erase(
      std::remove_if(servers.begin(), servers.end(),
                     [](const auto& it) { return it.name != "Server"; }),
      servers.end());
  return servers;
}
class SharedGroupsKeysTest : public SharedGroupsTest {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SharedGroupsKeysTest);
INSTANTIATE_TEST_SUITE_P(Server, SharedGroupsKeysTest,
                         testing::ValuesIn(Servers()));

TEST_P(SharedGroupsTest, ASnapshotTellsWhatAGroupWaitsFor) {
  Fair fair = ByTenant(2);
  fair.max_retries_in_process = 1;
  const auto queue = NewClient(fair);
  ASSERT_TRUE(queue->AddAll({"a/1", "a/2", "a/3", "a/4", "b/1"}));
  ASSERT_TRUE(queue->AddItems(At(0, /*retry=*/true), {"c/1", "c/2"}).ok());
  std::vector<Lease<std::string>> leases;
  while (!Take(*queue, &leases).empty()) {
  }
  SnapshotOptions<std::string> options;
  options.details = true;
  const auto bounds = [&] {
    std::vector<std::string> texts;
    const auto snapshot = queue->TakeSnapshotWith(options);
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    if (!snapshot.ok()) return texts;
    for (const auto& it : snapshot->bounds) {
      texts.push_back(absl::StrCat(it.name, ": ", it.processing, " of ", it.max,
                                   it.holds_back ? " held: " : ": ",
                                   absl::StrJoin(it.items, " "), "; ",
                                   it.queued.value_or(99)));
    }
    std::sort(texts.begin(), texts.end());
    return texts;
  };
  EXPECT_THAT(
      bounds(),
      ElementsAre("group a: 2 of 2 held: a/1 a/2; 2", "group b: 1 of 2: b/1; 0",
                  "group c: 1 of 2: c/1; 1", "retries: 1 of 1 held: c/1; 1"));
  const std::string a = "a/4", c = "c/2", free = "b/1";
  options.only = &a;
  EXPECT_THAT(bounds(), ElementsAre("group a: 2 of 2 held: a/1 a/2; 2"));
  options.only = &c;
  EXPECT_THAT(bounds(), ElementsAre("retries: 1 of 1 held: c/1; 1"));
  options.only = &free;
  EXPECT_THAT(bounds(), IsEmpty()) << "it is being processed";
  leases.clear();
  options.only = &a;
  EXPECT_THAT(bounds(), IsEmpty());
}

TEST_P(SharedGroupsTest, AnotherBoundIsNoDamage) {
  const auto high = NewClient(ByTenant(5));
  ASSERT_TRUE(high->AddAll({"a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7"}));
  const auto low = NewClient(ByTenant(2));
  std::vector<Lease<std::string>> leases;
  EXPECT_NE(Take(*high, &leases), "");
  for (int i = 0; i < 5; ++i) {
    clock_.Step(WaitingLoop::Heartbeat());
    Take(*low, &leases);
    Take(*high, &leases);
  }
  EXPECT_THAT(log_.messages(), IsEmpty());
}

TEST_P(SharedGroupsTest, AFloodDelaysNobodyElse) {
  const auto a = NewClient(ByTenant());
  const auto b = NewClient(ByTenant());
  std::vector<std::string> flood;
  for (int i = 0; i < 2000; ++i) flood.push_back(absl::StrCat("flood/", i));
  ASSERT_TRUE(a->AddAll(flood));
  ASSERT_TRUE(b->AddAll({"small/0", "tiny/0", "small/1"}));
  std::vector<Lease<std::string>> leases;
  std::string order;
  for (int i = 0; i < 6; ++i) {
    absl::StrAppend(&order, Take(i % 2 == 0 ? *a : *b, &leases), " ");
  }
  EXPECT_EQ(order, "flood/0 small/0 tiny/0 flood/1 small/1 flood/2 ");
}

TEST_P(SharedGroupsTest, AWorkerThatWaitsGetsAnItemThatIsReleased) {
  const auto a = NewClient(ByTenant(1));
  const auto b = NewClient(ByTenant(1));
  a->AddAll({"x/0", "x/1", "y/0"});
  std::vector<Lease<std::string>> leases;
  EXPECT_EQ(Take(*a, &leases), "x/0");
  EXPECT_EQ(Take(*a, &leases), "y/0") << "it overtakes one that is held back";
  EXPECT_EQ(Take(*b, &leases), "") << "x is at its bound, of all processes";
  EXPECT_EQ(b->Len(), 1u);
  auto waiting = Async([&] { return b->Get(); });
  clock_.AwaitWaiters(3);
  leases.erase(leases.begin());  // Done()
  EXPECT_EQ(waiting.get(), "x/1");
}

TEST_P(SharedGroupsTest, AnItemGivenBackIsTheFirstOfItsGroup) {
  const auto queue = NewClient(ByTenant());
  queue->AddAll({"x/0", "x/1", "y/0", "y/1"});
  std::vector<Lease<std::string>> leases;
  EXPECT_EQ(Take(*queue, &leases), "x/0");
  EXPECT_TRUE(leases.back().GiveBack());
  EXPECT_EQ(TakeAll(*queue), "y/0 x/0 y/1 x/1 ");
}

TEST_P(SharedGroupsTest, ALostLeaseCountsNoLonger) {
  auto dead = NewClient(ByTenant(1));
  const auto b = NewClient(ByTenant(1));
  dead->AddAll({"x/0", "x/1"});
  ASSERT_EQ(dead->Get(), "x/0");
  dead.reset();
  EXPECT_EQ(TakeAll(*b), "");
  clock_.Step(kLease);
  EXPECT_EQ(TakeAll(*b), "x/1 ");
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeAll(*b), "x/0 ") << "its failure made it wait";
}

TEST_P(SharedGroupsTest, AnItemThatIsGivenUpCountsNoLonger) {
  const auto queue = NewClient(ByTenant(1));
  queue->AddAll({"x/0", "x/1"});
  std::vector<Lease<std::string>> leases;
  ASSERT_EQ(Take(*queue, &leases), "x/0");
  FailureLedgerOptions limits;
  limits.max_failures = 1;
  EXPECT_TRUE(
      queue->Fail(&leases.back(), absl::AbortedError(""), limits, std::nullopt)
          ->parked);
  EXPECT_EQ(TakeAll(*queue), "x/1 ");
  EXPECT_TRUE(*queue->Unpark("x/0"));
  EXPECT_EQ(TakeAll(*queue), "x/0 ") << "it has kept its group";
}

TEST_P(SharedGroupsTest, ADrainEndsWhenAllAreHandedOut) {
  const auto queue = NewClient(ByTenant(1));
  queue->AddAll({"x/0", "x/1", "y/0"});
  std::vector<Lease<std::string>> leases;
  ASSERT_EQ(Take(*queue, &leases), "x/0");
  EXPECT_FALSE(queue->ShutDownWithDrainWithin(absl::ZeroDuration()));
  EXPECT_EQ(Take(*queue, &leases), "y/0");
  EXPECT_EQ(Take(*queue, &leases), "");
  leases.erase(leases.begin());
  EXPECT_EQ(Take(*queue, &leases), "x/1");
  leases.clear();
  EXPECT_TRUE(queue->ShutDownWithDrainWithin(absl::ZeroDuration()));
}

TEST_P(SharedGroupsTest, RetriesHaveAShare) {
  Fair fair;
  fair.max_retries_in_process = 1;
  const auto a = NewClient(fair);
  const auto b = NewClient(fair);
  a->AddWithOptions(At(0, true), {"r0", "r1", "r2"});
  a->AddAll({"a0", "a1"});
  std::vector<Lease<std::string>> leases;
  EXPECT_EQ(Take(*a, &leases), "a0");
  EXPECT_EQ(Take(*b, &leases), "r0");
  EXPECT_EQ(Take(*a, &leases), "a1");
  EXPECT_EQ(Take(*a, &leases), "") << "one retry is in process";
  EXPECT_TRUE(b->Add("r2")) << "a change makes it an ordinary item";
  EXPECT_EQ(Take(*b, &leases), "r2");
  leases.erase(leases.begin() + 1);
  EXPECT_EQ(Take(*b, &leases), "r1");
}

TEST_P(SharedGroupsTest, PartitionsHaveTurnsOfTheirOwn) {
  auto options = Options(ByTenant(1));
  options.partitions = 3;
  const auto queue = NewSharedQueue(std::move(options));
  std::vector<std::string> items;
  for (int i = 0; i < 30; ++i) items.push_back(absl::StrCat("x/", i));
  queue->AddAll(items);
  std::vector<Lease<std::string>> leases;
  for (int i = 0; i < 3; ++i) EXPECT_NE(Take(*queue, &leases), "");
  EXPECT_EQ(Take(*queue, &leases), "") << "one in each partition";
}

TEST_P(SharedGroupsTest, AClientWithoutGroupsSharesTheQueue) {
  const auto with = NewClient(ByTenant(1));
  const auto without = NewClient({});
  with->AddAll({"x/0", "x/1"});
  without->AddAll({"x/2", "y/0"});
  std::vector<Lease<std::string>> leases;
  EXPECT_EQ(Take(*without, &leases), "x/0");
  EXPECT_EQ(Take(*without, &leases), "x/2") << "of the group without a name";
  EXPECT_EQ(Take(*without, &leases), "");
  leases.clear();
  EXPECT_EQ(TakeAll(*with), "x/1 y/0 ");
}

TEST_P(SharedGroupsTest, TheBoundsAreThoseToldLast) {
  const auto one = NewClient(ByTenant(1));
  std::unique_ptr<Queue> three, two;
  one->AddAll({"x/0", "x/1", "x/2", "x/3", "x/4"});
  std::vector<Lease<std::string>> leases;
  EXPECT_EQ(Take(*one, &leases), "x/0");
  EXPECT_EQ(Take(*one, &leases), "");
  three = NewClient(ByTenant(3));
  leases.clear();
  EXPECT_EQ(Take(*one, &leases), "x/1");
  EXPECT_EQ(Take(*three, &leases), "x/2");
  EXPECT_EQ(Take(*three, &leases), "x/3");
  EXPECT_EQ(Take(*three, &leases), "");
  two = NewClient(ByTenant(2));
  leases.pop_back();
  EXPECT_EQ(Take(*two, &leases), "") << "two are in process";
  leases.pop_back();
  EXPECT_EQ(Take(*two, &leases), "x/4");
}

TEST_P(SharedGroupsTest, AHigherBoundCountsWithinTenSeconds) {
  auto one = NewClient(ByTenant(1));
  one->AddAll({"x/0", "x/1"});
  EXPECT_EQ(one->Get(), "x/0");
  one.reset();  // It would tell its bound again.
  const auto two = NewClient(ByTenant(2));
  EXPECT_EQ(TakeAll(*two), "");
  clock_.Step(WaitingLoop::Heartbeat());
  EXPECT_EQ(TakeAll(*two), "x/1 ");
}

TEST_P(SharedGroupsTest, AHigherBoundCountsSoonInALongQueue) {
  auto one = NewClient(ByTenant(1));
  const std::vector<std::string> few = {"a", "b", "c", "d", "e", "f"};
  std::vector<std::string> items;
  for (const std::string& group : few) {
    for (int i = 0; i < 2; ++i) items.push_back(absl::StrCat(group, "/", i));
  }
  for (int i = 0; i < 3000; ++i) items.push_back(absl::StrCat("long/", i));
  ASSERT_TRUE(one->AddAll(items));
  for (size_t i = 0; i <= few.size(); ++i) EXPECT_TRUE(one->Get());
  one.reset();
  const auto two = NewClient(ByTenant(2));
  clock_.Step(WaitingLoop::Heartbeat());
  std::vector<Lease<std::string>> leases;
  std::vector<std::string> taken;
  do {
    taken.push_back(Take(*two, &leases));
  } while (!taken.back().empty());
  EXPECT_THAT(taken, testing::UnorderedElementsAre("a/1", "b/1", "c/1", "d/1",
                                                   "e/1", "f/1", "long/1", ""));
}

TEST_P(SharedGroupsTest, AQueueWithItemsGetsNoGroups) {
  const auto without = NewClient({});
  without->Add("x/0");
  const auto with = Queue::Create(Options(ByTenant()));
  EXPECT_TRUE(absl::IsFailedPrecondition(with.status()));
  EXPECT_TRUE(absl::StrContains(with.status().message(), "without groups"))
      << with.status();
  EXPECT_EQ(TakeAll(*without), "x/0 ");
  EXPECT_TRUE(Queue::Create(Options(ByTenant())).ok());
}

TEST_P(SharedGroupsTest, WrongOptionsAreNamed) {
  const auto error = [&](Fair fair) {
    return std::string(
        Queue::Create(Options(std::move(fair))).status().message());
  };
  EXPECT_EQ(error(ByTenant(0)),
            "fair.dimensions[0].max_in_process is 0; it must be at least 1");
  Fair fair;
  fair.max_retries_in_process = 0;
  EXPECT_EQ(error(fair),
            "fair.max_retries_in_process is 0; it must be at least 1");
  fair.dimensions.resize(1);
  EXPECT_EQ(error(fair), "fair.dimensions[0].group_of is null");
  fair.dimensions.resize(2);
  EXPECT_EQ(error(fair),
            "fair.dimensions has 2 elements; a shared queue has at most one "
            "dimension of groups: see the table of its groups in "
            "docs/shared-queue.md");
  fair = ByTenant();
  fair.dimensions[0].count_processing = true;
  EXPECT_EQ(error(fair),
            "fair.dimensions[0].count_processing is true; the groups of a "
            "shared queue take turns, whatever is being processed: see the "
            "table of its groups in docs/shared-queue.md");
}

// All but the entries of the items comes back by itself.
TEST_P(SharedGroupsKeysTest, DeletedKeysAreRepaired) {
  size_t messages = 0;
  for (const char* key : {"groups", "turns", "ready"}) {
    SCOPED_TRACE(key);
    name_ = NewQueueName();
    const auto a = NewClient(ByTenant(2));
    a->AddAll({"x/0", "x/1", "x/2", "x/3", "y/0", "y/1"});
    a->AddWithOptions(At(1), {"z/high"});
    std::vector<Lease<std::string>> leases;
    EXPECT_EQ(Take(*a, &leases), "z/high");
    EXPECT_EQ(Take(*a, &leases), "x/0");
    EXPECT_EQ(Take(*a, &leases), "y/0");
    EXPECT_EQ(Take(*a, &leases), "x/1");
    Delete(key);
    EXPECT_TRUE(a->Add("x/4"));
    clock_.Step(WaitingLoop::Heartbeat());
    EXPECT_TRUE(absl::StrContains(log_.Await(++messages), "items back"));
    EXPECT_EQ(Take(*a, &leases), "y/1");
    EXPECT_EQ(Take(*a, &leases), "") << "two of each are in process";
    leases.erase(leases.begin() + 1);
    EXPECT_EQ(Take(*a, &leases), "x/2");
    leases.clear();
    EXPECT_EQ(TakeAll(*a), "x/3 x/4 ");
    EXPECT_EQ(a->Len(), 0u);
  }
}

TEST_P(SharedGroupsKeysTest, AQueueThatHasLostAllKeysHasGroupsAgain) {
  const auto a = NewClient(ByTenant(1));
  a->Add("x/0");
  for (const char* key : {"items", "ready", "groups", "turns"}) Delete(key);
  const std::string meta = absl::StrCat("{", name_, "}:workqueue");
  ASSERT_TRUE(SendTo(ServerOfThisProgram(), {"DEL", meta}).ok());
  EXPECT_EQ(TakeAll(*a), "");
  a->AddAll({"x/0", "x/1", "y/0"});
  EXPECT_EQ(TakeAll(*a), "x/0 y/0 x/1 ");
  clock_.Step(WaitingLoop::Heartbeat());
  clock_.AwaitWaiters(1);
  a->AddAll({"x/0", "x/1", "y/0"});
  std::vector<Lease<std::string>> leases;
  EXPECT_EQ(Take(*a, &leases), "x/0");
  EXPECT_EQ(Take(*a, &leases), "y/0");
  EXPECT_EQ(Take(*a, &leases), "") << "the bounds are known again";
}

TEST_P(SharedGroupsTest, GroupsMayHaveAnyBytes) {
  const std::vector<std::string> groups = {"",
                                           std::string(1, '\0'),
                                           std::string(2, '\0'),
                                           "a",
                                           "\xff",
                                           "\xff\xff",
                                           "a\n",
                                           std::string("a\0b", 3)};
  Fair fair = ByTenant(1);
  fair.dimensions[0].group_of = [groups](const std::string& key) {
    return groups[key[0] - '0'];
  };
  const auto queue = NewClient(fair);
  for (const char* name : {"x", "y"}) {
    for (size_t i = 0; i < groups.size(); ++i) {
      queue->Add(absl::StrCat(i, name));
    }
  }
  std::vector<Lease<std::string>> leases;
  for (size_t i = 0; i < groups.size(); ++i) {
    EXPECT_EQ(Take(*queue, &leases), absl::StrCat(i, "x"));
  }
  EXPECT_EQ(Take(*queue, &leases), "") << "one item of each is in process";
  leases.erase(leases.begin() + 4);
  EXPECT_EQ(Take(*queue, &leases), "4y");
  EXPECT_EQ(Take(*queue, &leases), "");
}

TEST_P(SharedGroupsKeysTest, AnItemWithoutAnEntryHoldsNobodyBack) {
  const auto a = NewClient(ByTenant(1));
  a->AddAll({"x/0", "x/1", "x/2"});
  std::vector<Lease<std::string>> leases;
  EXPECT_EQ(Take(*a, &leases), "x/0");
  ASSERT_TRUE(
      SendTo(ServerOfThisProgram(), {"HDEL", KeyOf("items"), "x/0", "x/1"})
          .ok());
  EXPECT_EQ(Take(*a, &leases), "");
  for (int i = 0; i < 100; ++i) {
    clock_.Step(WaitingLoop::Heartbeat());
    clock_.AwaitWaiters(1);
    if (Take(*a, &leases) == "x/2") break;
  }
  EXPECT_EQ(*leases.back(), "x/2");
  EXPECT_EQ(a->Len(), 0u);
}

TEST_P(SharedGroupsKeysTest, AnEmptyQueueLeavesNothing) {
  const auto a = NewClient(ByTenant(1));
  for (int priority : {0, 1, -7}) {
    a->AddWithOptions(At(priority), {"x/0", "x/1", "y/0"});
    a->AddWithOptions(At(priority, true), {"x/2", "z/0"});
    a->AddWithOptions(At(priority + 1), {"x/1"});
  }
  EXPECT_EQ(a->Len(), 5u);
  while (!TakeAll(*a).empty()) {
  }
  for (const char* key : {"groups", "turns", "items", "ready"}) {
    const auto exists = SendTo(ServerOfThisProgram(), {"EXISTS", KeyOf(key)});
    ASSERT_TRUE(exists.ok());
    EXPECT_EQ((*exists)->integer, 0) << key;
  }
}

// Options of groups: of an item i, the group i % 3 with the weight 2, 3 or 1.
Model::Options ChooseOptions(std::mt19937& random) {
  constexpr size_t kBounds[] = {kUnbounded, kUnbounded, 1, 2, 3};
  Model::Options options;
  options.max_retries_in_process = kBounds[random() % 5];
  if (options.max_retries_in_process != kUnbounded && random() % 4 == 0) {
    return options;
  }
  options.dimensions.resize(1);
  options.dimensions[0].group_of = [](int item) { return item % 3; };
  options.dimensions[0].weight_of = [](int group) { return 2 * group; };
  options.dimensions[0].max_in_process = kBounds[random() % 5];
  return options;
}

Fair ToFair(const Model::Options& options) {
  Fair fair;
  fair.max_retries_in_process = options.max_retries_in_process;
  if (options.dimensions.empty()) return fair;
  fair.dimensions.resize(1);
  fair.dimensions[0].max_in_process = options.dimensions[0].max_in_process;
  fair.dimensions[0].group_of = [](const std::string& item) {
    int number = 0;
    EXPECT_TRUE(absl::SimpleAtoi(item, &number));
    return std::string(number % 3 + 1, 'g');
  };
  fair.dimensions[0].weight_of = [](const std::string& group) {
    return 2 * (static_cast<int>(group.size()) - 1);
  };
  return fair;
}

// Any client gets items in the order of a `PriorityQueue` with a
// `FairOrdering`, if they are added at once.
TEST_P(SharedGroupsTest, AgreesWithAPriorityQueueInMemory) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](int n) {
      return static_cast<int>(random() % n);
    };
    const Fair fair = ToFair(ChooseOptions(random));
    PriorityQueueOptions<std::string> memory_options;
    memory_options.clock = &clock_;
    memory_options.ordering = *FairOrdering<std::string>::Create(fair);
    const auto memory =
        std::make_unique<PriorityQueue<std::string>>(std::move(memory_options));
    name_ = NewQueueName();
    std::vector<std::unique_ptr<Queue>> clients;
    for (int i = 0; i < 3; ++i) clients.push_back(NewClient(fair));
    std::vector<Lease<std::string>> in_memory, shared;
    constexpr int kPriorities[] = {0, 0, 0, 1, -100};
    for (int step = 0; step < 300; ++step) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", step ", step));
      Queue& client = *clients[below(3)];
      const int choice = below(10);
      if (choice < 4) {
        const AddOptions options = At(kPriorities[below(5)], below(4) == 0);
        const std::string item = absl::StrCat(below(15));
        EXPECT_EQ(memory->AddWithOptions(options, {item}),
                  client.AddWithOptions(options, {item}));
      } else if (choice < 7 || in_memory.empty()) {
        auto expected = memory->TryAcquire();
        auto got = client.TryAcquire();
        ASSERT_EQ(expected.ok(), got.ok()) << (got.ok() ? **got : "");
        if (!expected.ok()) continue;
        ASSERT_EQ(**expected, **got);
        EXPECT_EQ(expected->priority(), got->priority());
        in_memory.push_back(*std::move(expected));
        shared.push_back(*std::move(got));
      } else {
        const int i = below(static_cast<int>(in_memory.size()));
        EXPECT_EQ(in_memory[i].Done(), shared[i].Done());
        in_memory.erase(in_memory.begin() + i);
        shared.erase(shared.begin() + i);
      }
    }
  }
}

// The transitions of docs/shared-queue.md, with the model of a `FairOrdering`
// for the order.
class ModelQueue {
 public:
  explicit ModelQueue(Model::Options options) : order_(std::move(options)) {}

  void Add(int item, int priority, bool retry) {
    Entry& e = entries_[item];
    switch (e.state) {
      case kIdle:
        e.priority = priority;
        e.retry = retry;
        Push(item);
        break;
      case kQueued:
        if (priority <= e.priority && (retry || !e.retry)) return;
        order_.Remove(item);
        e.priority = std::max(priority, e.priority);
        e.retry = e.retry && retry;
        Push(item);
        break;
      case kProcessing:
        e.state = kDirty;
        e.priority = priority;
        e.retry = retry;
        break;
      case kDirty:
        e.priority = std::max(priority, e.priority);
        e.retry = e.retry && retry;
    }
  }

  void AddAfter(int item, absl::Time due, int priority, bool retry) {
    Entry& e = entries_[item];
    if (e.waits) {
      e.due_priority = std::max(priority, e.due_priority);
      e.due_retry = e.due_retry && retry;
      if (e.due <= due) return;
    } else {
      e.due_priority = priority;
      e.due_retry = retry;
    }
    e.waits = true;
    e.due = due;
    e.due_sequence = ++sequence_;
  }

  void AddAfterFailure(int item, absl::Time now, int priority) {
    int& failures = entries_[item].failures;
    AddAfter(item, now + absl::Seconds(1 << std::min(failures++, 3)), priority,
             /*retry=*/true);
  }

  void MoveTo(absl::Time now) {
    while (true) {
      std::optional<int> first;
      for (const auto& [item, e] : entries_) {
        if (!e.waits || e.due > now) continue;
        if (!first || IsBefore(e, entries_[*first])) first = item;
      }
      if (!first) return;
      Entry& e = entries_[*first];
      e.waits = false;
      Add(*first, e.due_priority, e.due_retry);
    }
  }

  std::optional<int> Take() {
    if (!order_.HasNext()) return std::nullopt;
    const Model::Item item = order_.Pop();
    Entry& e = entries_[item.item];
    e.state = kProcessing;
    e.taken_priority = item.priority;
    e.taken_retry = item.retry;
    return item.item;
  }

  void Done(int item) {
    entries_[item].failures = 0;
    End(item);
  }

  void GiveBack(int item) {
    Entry& e = entries_[item];
    order_.Done(item);
    const bool added_again = e.state == kDirty;
    e.priority =
        added_again ? std::max(e.priority, e.taken_priority) : e.taken_priority;
    e.retry = e.taken_retry && (!added_again || e.retry);
    e.state = kQueued;
    order_.PushFirst({item, e.priority, e.retry});
  }

  void Fail(int item, absl::Time now) {
    Entry& e = entries_[item];
    if (e.state == kDirty) {
      ++e.failures;  // It does not wait besides.
    } else {
      AddAfterFailure(item, now, e.taken_priority);
    }
    End(item);
  }

 private:
  enum State { kIdle, kQueued, kProcessing, kDirty };
  struct Entry {
    State state = kIdle;
    int priority = 0;
    bool retry = false;
    int taken_priority = 0;
    bool taken_retry = false;
    int failures = 0;
    bool waits = false;
    absl::Time due;
    int due_sequence = 0;
    int due_priority = 0;
    bool due_retry = false;
  };

  static bool IsBefore(const Entry& a, const Entry& b) {
    return a.due != b.due ? a.due < b.due : a.due_sequence < b.due_sequence;
  }

  void Push(int item) {
    Entry& e = entries_[item];
    e.state = kQueued;
    order_.Push({item, e.priority, e.retry});
  }

  void End(int item) {
    Entry& e = entries_[item];
    order_.Done(item);
    const bool added_again = e.state == kDirty;
    e.state = kIdle;
    if (added_again) Push(item);
  }

  Model order_;
  std::map<int, Entry> entries_;
  int sequence_ = 0;
};

TEST_P(SharedGroupsTest, AgreesWithTheReferenceModel) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](int n) {
      return static_cast<int>(random() % n);
    };
    const Model::Options model_options = ChooseOptions(random);
    ModelQueue model(model_options);
    name_ = NewQueueName();
    std::vector<std::unique_ptr<Queue>> clients;
    for (int i = 0; i < 3; ++i) {
      auto options = Options(ToFair(model_options));
      options.lease = absl::InfiniteDuration();
      options.retry_schedule =
          *ExponentialRetrySchedule(absl::Seconds(1), absl::Seconds(8));
      clients.push_back(NewSharedQueue(std::move(options)));
    }
    struct Held {
      int item;
      Queue* client;
      Lease<std::string> lease;
    };
    std::vector<Held> held;
    constexpr int kPriorities[] = {0, 0, 0, 1, -100};
    for (int step = 0; step < 300; ++step) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", step ", step));
      Queue& client = *clients[below(3)];
      const int item = below(15);
      const std::string name = absl::StrCat(item);
      const int priority = kPriorities[below(5)];
      const bool retry = below(4) == 0;
      const int choice = below(20);
      if (choice < 5) {
        client.AddWithOptions(At(priority, retry), {name});
        model.Add(item, priority, retry);
      } else if (choice < 7) {
        AddOptions options = At(priority, retry);
        options.after = absl::Seconds(1 + below(5));
        client.AddWithOptions(options, {name});
        model.AddAfter(item, clock_.TimeNow() + *options.after, priority,
                       retry);
      } else if (choice < 8) {
        client.AddRateLimited(name);
        model.AddAfterFailure(item, clock_.TimeNow(), 0);
      } else if (choice < 9) {
        clock_.Step(absl::Seconds(1 + below(4)));
        model.MoveTo(clock_.TimeNow());
      } else if (choice < 15 || held.empty()) {
        const std::optional<int> expected = model.Take();
        auto got = client.TryAcquire();
        ASSERT_EQ(expected.has_value(), got.ok()) << (got.ok() ? **got : "");
        if (!got.ok()) continue;
        ASSERT_EQ(absl::StrCat(*expected), **got);
        held.push_back({*expected, &client, *std::move(got)});
      } else {
        const auto it = held.begin() + below(static_cast<int>(held.size()));
        switch (below(4)) {
          case 0:
            EXPECT_TRUE(it->lease.GiveBack());
            model.GiveBack(it->item);
            break;
          case 1: {
            const auto outcome = it->client->Fail(
                &it->lease, absl::AbortedError(""), {}, std::nullopt);
            ASSERT_TRUE(outcome.ok()) << outcome.status();
            model.Fail(it->item, clock_.TimeNow());
            break;
          }
          default:
            it->client->Forget(absl::StrCat(it->item));
            EXPECT_TRUE(it->lease.Done());
            model.Done(it->item);
        }
        held.erase(it);
      }
    }
  }
}

}  // namespace
}  // namespace workqueue::shared_groups_test
