// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/internal/stored_queue.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "workqueue/leader_election/election.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/ordered_store.h"
#include "workqueue/shared/internal/stored_election.h"
#include "workqueue/version.h"

namespace workqueue {
namespace internal::stored_queue_test {
namespace {

using Operation = EngineOperation;

// Returns all entries, one a line. Instead of the library's version is `V`.
std::string Dump(MemoryStore& store) {
  const std::string version =
      absl::StrCat(WORKQUEUE_VERSION_MAJOR, ".", WORKQUEUE_VERSION_MINOR, ".",
                   WORKQUEUE_VERSION_PATCH);
  std::string text = "\n";
  std::string after;
  while (const auto entry = store.First("", after)) {
    after = entry->key;
    absl::StrAppend(&text, absl::CEscape(entry->key));
    if (!entry->value.empty()) {
      absl::StrAppend(&text, " = '", absl::CEscape(entry->value), "'");
    }
    text += '\n';
  }
  return absl::StrReplaceAll(
      text, {{absl::CEscape(Packer().Text(version).bytes()), "V"}});
}

// Notes what another one is told to fetch, and to change, and counts how often
// it is looked at for a first entry.
class NotingStore final : public OrderedStore {
 public:
  explicit NotingStore(OrderedStore* store) : store_(*store) {}

  void Prefetch(const WantedEntries& wanted) override {
    for (const auto& it : wanted.ranges)
      absl::StrAppend(&notes, it.prefix, "?");
  }
  std::optional<std::string> Get(absl::string_view key) override {
    return store_.Get(key);
  }
  void Put(absl::string_view key, absl::string_view value) override {
    notes += key[0];
    store_.Put(key, value);
  }
  void Delete(absl::string_view key) override {
    notes += key[0];
    store_.Delete(key);
  }
  std::optional<Entry> First(absl::string_view prefix,
                             absl::string_view after) override {
    ++looks;
    return store_.First(prefix, after);
  }

  std::string notes;
  int looks = 0;

 private:
  OrderedStore& store_;
};

// A queue of one process, and another one that waits. A request does two things
// that are due.
class StoredQueueTest : public testing::Test {
 protected:
  StoredQueueTest()
      : queue_(
            &noting_,
            [](const std::string& /*client*/,
               const EngineMessage& /*message*/) { return true; },
            /*most_due=*/2) {}

  EngineReply Apply(const std::string& client, int64_t now, size_t take,
                    std::vector<Operation> operations,
                    size_t waiting_workers = 0) {
    EngineRequest request;
    request.client = client;
    request.number = ++number_;
    request.client_name = "name of " + client;
    request.lease = 30000;
    request.presence = 300000;
    request.retry_schedule = {1000, 2000};
    request.operations = std::move(operations);
    request.take = take;
    request.waiting_workers = waiting_workers;
    noting_.notes.clear();
    const std::optional<EngineReply> reply =
        queue_.Apply(request, now, /*run=*/1, /*full=*/false);
    EXPECT_TRUE(reply.has_value());
    return reply.value_or(EngineReply());
  }

  MemoryStore store_;
  NotingStore noting_{&store_};
  StoredQueue queue_;
  uint64_t number_ = 0;
};

// A change of these is a new version of the tables, and of what processes of
// other versions understand.
TEST_F(StoredQueueTest, TheStoredBytesStayTheSame) {
  Apply("one", 100, 0,
        {{Operation::kSetGroups, "", 2, 3},
         {Operation::kSetLimits, "", 0, 0, 0, "0 9 80000 70 1 "},
         {Operation::kAdd, "a", 3, 0, 0, "0 5 group"},
         {Operation::kAdd, "b", 2, 0, 0, "0 6 other"}});
  const auto first = Apply("one", 110, 2, {}).items;
  ASSERT_EQ(first.size(), 2u);
  Apply("one", 120, 0,
        {{Operation::kFail, "a", first[0].token, 0, -1, "3 9 80000 70 1 bad"},
         {Operation::kFail, "b", first[1].token, 0, -1, "2 1 inf 70 1 worse"}});
  // Due, and handed out as a retry.
  ASSERT_EQ(Apply("one", 1130, 1, {}).items.size(), 1u);
  Apply("one", 1140, 0,
        {{Operation::kAdd, "a", 4, 0, 0, "0 7 group"},
         {Operation::kAddAfter, "a", 5000, 6, 0, "1 7 group"},
         {Operation::kAdd, "c", 8, 0, 0, "1 9 third"},
         {Operation::kAdd, "d", -1, 0, 0, "0 9 third"}});
  Apply("two", 1150, 1, {}, /*waiting_workers=*/3);
  Apply("one", 1160, 0, {{Operation::kAdd, "e", 1, 0, 0, "0 1 group"}});
  Apply("three", 1150, 0, {}, /*waiting_workers=*/4);  // The clock went back.
  EXPECT_EQ(Dump(store_), R"(
Ggroup = '\002\000\004'
Gthird = '\002\000\004'
I\ngroupa
I\ngroupe
I\nthirdc
I\nthirdd
Ra
Rc
cone = '\000\000\320\341$\220\022\016\000\026name of oneV\340\324\003'
cthree = '\010\000\320\341$\220\022\020\004\032name of threeV\340\324\003'
ctwo = '\000\002\274\341$\374\021\014\000\026name of twoV\340\324\003'
f\177\377\377\377\377\377\377\377\200\000\000\000\000\000\000xa
ia = '\006\010\010\350\021\324\021\324\021\264\346\003\370_\n\014\002\360\001\360\001\000\026name of one\006bad\ngroup\n\000\002\004'
ib = '\000\004\004\310\001\000\334\001\274\326\003\000\000\000\002\360\001\360\001\004\026name of one\nworse\nother\014\000\000\000'
ic = '\004\020\014\350\021\374\021\374\021\334\346\003\000\000\000\000\000\000\000\026name of two\000\nthird\022\002\000\004'
id = '\004\001\016\350\021\376\021\374\021\334\346\003\000\000\000\000\000\000\000\026name of two\000\nthird\022\000\000\002'
ie = '\004\002\020\220\022\220\022\220\022\360\346\003\000\000\000\000\000\000\000\026name of two\000\ngroup\002\000\000\002'
l\200\000\000\000\000\000y\232\200\000\000\000\000\000\000\000a
l\200\000\000\000\000\000y\256\200\000\000\000\000\000\000\000c
l\200\000\000\000\000\000y\256\200\000\000\000\000\000\000\000d
l\200\000\000\000\000\000y\270\200\000\000\000\000\000\000\000e
m = '\220\022\024\002\000\000\020\000\220\022\004\000\310\001\312\001\370_\000\002\004\006\014\000\004\000\002\010\002\002\0020 9 80000 70 1 '
p\177\377\377\377\377\377\377\210\200\000\000\000\000\000\000\000b
t\200\000\000\000\000\000\000\002 = 'three'
w\200\000\000\000\000\000\027\374\200\000\000\000\000\000\000\005a
)");
}

// A request goes on although somebody has removed a client that waits.
TEST_F(StoredQueueTest, AWaiterThatIsNotThereIsPassed) {
  Apply("one", 100, 0, {}, /*waiting_workers=*/1);
  Apply("two", 100, 0, {}, /*waiting_workers=*/1);
  store_.Delete("cone");
  EXPECT_EQ(Apply("three", 100, 0, {{Operation::kAdd, "x"}}).num_processing,
            1u);
  EXPECT_NE(Dump(store_).find("name of two"), std::string::npos);
}

// Each client repairs from time to time, while the others wait.
TEST_F(StoredQueueTest, ARepairLeavesTheGroupsAtTheirBounds) {
  Apply("one", 100, 2,
        {{Operation::kSetGroups, "", 1, 9},
         {Operation::kAdd, "a", 0, 0, 0, "0 1 a"},
         {Operation::kAdd, "a2", 0, 0, 0, "0 1 a"},
         {Operation::kAdd, "b", 0, 0, 0, "0 1 b"},
         {Operation::kAdd, "b2", 0, 0, 0, "0 1 b"}});
  Apply("one", 110, 0, {{Operation::kRepair, ""}});
  EXPECT_EQ(noting_.notes, "H?cm");
  // With a new bound they go on.
  Apply("one", 120, 0, {{Operation::kSetGroups, "", 2, 9}});
  EXPECT_EQ(Apply("one", 130, 9, {{Operation::kRepair, ""}}).items.size(), 2u);
}

// A request that removed all at once could last longer than any may.
TEST_F(StoredQueueTest, ASnapshotDoesNotLookAtGroupsThatOnlyWait) {
  Apply("one", 0, 0, {{Operation::kSetGroups, "", 2, kForever}});
  EngineSnapshotRequest request;
  request.max = 3;
  request.details = true;
  int looks = 0, groups = 0;
  for (const int more : {10, 1000}) {
    std::vector<Operation> adds;
    for (int i = 0; i < more; ++i) {
      const std::string name = absl::StrCat(++groups);
      adds.push_back({Operation::kAdd, name, 0, 0, 0, "0 1 " + name});
    }
    Apply("one", 1, more == 10 ? 3 : 0, std::move(adds));
    noting_.looks = 0;
    EXPECT_EQ(queue_.TakeSnapshot(request, 1).bounds.size(), 3u);
    if (more == 10) looks = noting_.looks;
  }
  EXPECT_EQ(noting_.looks, looks);
}

TEST_F(StoredQueueTest, APartOfASnapshotWantsWhatComesAfterTheLastOne) {
  EngineSnapshotRequest request;
  request.max = 1000;
  std::vector<Operation> adds;
  for (int i = 0; i < 300; ++i) {
    adds.push_back({Operation::kAdd, absl::StrCat(i)});
  }
  Apply("one", 1, 0, std::move(adds));
  const EngineSnapshot first = queue_.TakeSnapshot(request, 1);
  ASSERT_EQ(first.queued.size(), 250u);
  request.from = first.go_on;
  const WantedEntries wanted = StoredQueue::WantedBy(request);
  ASSERT_FALSE(wanted.ranges.empty());
  for (const auto& it : wanted.ranges) {
    const bool goes_on = it.prefix == "r";
    EXPECT_EQ(it.most, goes_on ? 251u : 0u);
    EXPECT_EQ(it.after, goes_on ? first.go_on[2] : "");
  }
}

TEST_F(StoredQueueTest, AShutdownRemovesInPartsWhatNobodySees) {
  const int64_t token =
      Apply("one", 100, 1, {{Operation::kAdd, "f"}}).items.at(0).token;
  std::vector<Operation> operations = {
      {Operation::kFail, "f", token, 0, -1, "0 9 inf 9 0 broke"}};
  for (const char* const item : {"a", "b", "c", "d", "e"}) {
    operations.push_back({Operation::kAddAfter, item, 10});
  }
  EXPECT_EQ(Apply("one", 100, 0, operations).num_waiting, 6);
  const EngineReply shut_down =
      Apply("one", 100, 0, {{Operation::kShutDown, "", Operation::kDrain}});
  EXPECT_EQ(shut_down.num_waiting, 0);
  EXPECT_EQ(shut_down.next_event, 0);
  EXPECT_FALSE(store_.Get("ib").has_value());
  EXPECT_TRUE(store_.Get("ic").has_value());

  EngineSnapshotRequest request;
  request.max = 9;
  request.details = true;
  const EngineSnapshot all = queue_.TakeSnapshot(request, 100);
  EXPECT_EQ(all.num_waiting + all.waiting.size(), 0u);
  ASSERT_EQ(all.failing.size(), 1u);
  EXPECT_EQ(all.failing[0].time, kForever);
  request.item = "e";
  EXPECT_TRUE(queue_.TakeSnapshot(request, 100).waiting.empty());

  // Nor does anything come due.
  const EngineReply later =
      Apply("one", 5000, 0,
            {{Operation::kCancelDelayed, "f"}, {Operation::kReopen, ""}});
  EXPECT_EQ(later.results, (std::vector<int64_t>{kFalse, kNotYet}));
  EXPECT_EQ(later.came_due + later.num_queued, 0);
  EXPECT_FALSE(store_.Get("id").has_value());
  EXPECT_TRUE(store_.Get("ie").has_value());
  EXPECT_EQ(Apply("one", 5000, 0, {}).next_event, -1);
  EXPECT_EQ(store_.First("w").has_value(), false);
  const EngineReply open = Apply("one", 5000, 0, {{Operation::kReopen, ""}});
  EXPECT_EQ(open.results, std::vector<int64_t>{kTrue});
  EXPECT_EQ(open.num_waiting + open.num_queued, 0);
  EXPECT_EQ(open.num_failing, 1);
}

TEST(EngineMessageTest, TheStoredBytesStayTheSame) {
  EngineMessage message;
  message.kind = EngineMessage::kPush;
  message.number = 1;
  message.item = {"item", 2, -3, 400, 5};
  const std::string bytes = message.Pack();
  EXPECT_EQ(absl::CEscape(bytes), R"(\340\001\002\004\005\240\006\nitem)");
  const EngineMessage read = EngineMessage::Unpack(bytes);
  EXPECT_EQ(read.Pack(), bytes);
}

TEST(StoredElectionTest, TheStoredBytesStayTheSame) {
  MemoryStore store;
  const StoredElection::Elector elector = {7, "identity", 1000};
  const auto make = [&](Election::Call call, int64_t token, int64_t clock) {
    return StoredElection(&store, "election").Do(call, elector, token, clock);
  };
  const int64_t token = make(Election::Call::kTake, 0, 500).token;
  make(Election::Call::kRelease, token, 600);
  make(Election::Call::kTake, 0, 550);  // The clock has gone back.
  EXPECT_EQ(Dump(store), R"(
election = '\016\260\t\200\031\260\td\002identity'
)");
}

}  // namespace
}  // namespace internal::stored_queue_test
}  // namespace workqueue
