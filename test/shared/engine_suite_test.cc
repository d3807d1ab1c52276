// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What each engine must do, whoever uses it: docs/shared-queue.md, below
// `SharedQueue`. The same random requests go to the engine and to the one in
// memory: the replies, the messages and the snapshots are equal.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/test_engines.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/testing/memory_engine.h"

namespace workqueue {
namespace internal::engine_suite_test {
namespace {

constexpr int kClients = 3;
constexpr absl::Duration kPresence = absl::Seconds(100);

absl::Time Soon() { return absl::Now() + absl::Seconds(10); }

std::string Text(const HandedOut& it) {
  return absl::StrCat(it.item, " token ", it.token, " priority ", it.priority,
                      " queued ", it.ticks_queued, " failures ", it.failures);
}

std::string Text(const EngineReply& it) {
  std::string text =
      absl::StrCat("now ", it.now, " next ", it.next_event, " ready ",
                   it.num_queued, " waiting ", it.num_waiting, " processing ",
                   it.num_processing, " failing ", it.num_failing);
  absl::StrAppend(&text, " parked ", it.num_parked, " shut down ", it.shut_down,
                  " expired ", it.expired, " dirty ", it.dirty, " came due ",
                  it.came_due, " pushes ", it.pushes, " pushed ", it.pushed);
  for (int64_t result : it.results) absl::StrAppend(&text, " -> ", result);
  for (const HandedOut& item : it.items) {
    absl::StrAppend(&text, "\n  ", Text(item));
  }
  return text;
}

// But when each client was last seen: a server does not always write that.
std::string Text(const EngineSnapshot& it) {
  std::string text = absl::StrCat("now ", it.now, " shut down ", it.shut_down,
                                  " ", it.num_queued, " ", it.num_processing);
  absl::StrAppend(&text, " ", it.num_waiting, " ", it.num_failing, " ",
                  it.num_parked);
  for (const auto* list :
       {&it.queued, &it.processing, &it.waiting, &it.failing, &it.parked}) {
    absl::StrAppend(&text, "\n");
    for (const EngineSnapshot::Item& item : *list) {
      absl::StrAppend(&text, "\n  ", item.item, " ", item.failures, " ",
                      item.last_error, " ", item.number, " ", item.time);
      absl::StrAppend(&text, " ", item.added_again, " ", item.holder, " ",
                      item.expiry, " ", item.first_failed, " ",
                      item.last_failed);
    }
  }
  std::vector<std::string> clients;
  for (const EngineSnapshot::Client& client : it.clients) {
    clients.push_back(
        absl::StrCat(client.name, " ", client.version, " ", client.waiting));
  }
  std::sort(clients.begin(), clients.end());
  std::vector<std::string> bounds;
  for (const EngineSnapshot::Bound& bound : it.bounds) {
    bounds.push_back(
        absl::StrCat(bound.retries ? "retries" : "group " + bound.group, ": ",
                     bound.processing, " of ", bound.max, ", queued ",
                     bound.queued, ": ", absl::StrJoin(bound.items, " ")));
  }
  std::sort(bounds.begin(), bounds.end());
  absl::StrAppend(&text, "\n", absl::StrJoin(clients, "\n"), "\n",
                  absl::StrJoin(bounds, "\n"));
  return text;
}

// A process, which notes what it receives.
class Process final : public EngineListener {
 public:
  explicit Process(std::unique_ptr<Engine> engine)
      : engine_(std::move(engine)) {
    const absl::Status status = engine_->Listen(this, Soon());
    EXPECT_TRUE(status.ok()) << status;
  }

  ~Process() override { engine_->StopListening(); }

  Engine& engine() { return *engine_; }
  const std::string& id() const { return id_; }

  // Blocks until so many messages have come, if they come. Returns all.
  std::vector<std::string> Await(size_t messages) {
    MutexLock lock(&mu_);
    const auto come = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return messages_.size() >= messages;
    };
    mu_.AwaitWithTimeout(absl::Condition(&come), absl::Seconds(10));
    return messages_;
  }

  std::vector<HandedOut> pushes() {
    MutexLock lock(&mu_);
    return pushes_;
  }

 private:
  void OnListening(const std::string& client) override { id_ = client; }
  void OnDisconnected(const absl::Status& /*why*/) override {}
  void OnPush(HandedOut item, int64_t now) override {
    Note(absl::StrCat("push ", Text(item), " at ", now));
    MutexLock lock(&mu_);
    pushes_.push_back(std::move(item));
  }
  void OnDue(int64_t ticks) override { Note(absl::StrCat("due ", ticks)); }
  void OnShutDown(int64_t count) override {
    Note(absl::StrCat("shutdown ", count));
  }
  // A server tells that more often.
  void OnChanged() override {}

  void Note(std::string message) {
    MutexLock lock(&mu_);
    messages_.push_back(std::move(message));
  }

  const std::unique_ptr<Engine> engine_;
  std::string id_;
  absl::Mutex mu_;
  std::vector<std::string> messages_ ABSL_GUARDED_BY(mu_);
  std::vector<HandedOut> pushes_ ABSL_GUARDED_BY(mu_);
};

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kLease = 10 * kSecond;

// A queue without groups, and a client of it.
class EngineSuite : public testing::TestWithParam<TestEngine> {
 protected:
  using Operation = EngineOperation;

  std::unique_ptr<Engine> NewEngine(size_t partitions = 1) {
    return source_->NewEngine(name_, partitions, "");
  }

  EngineRequest Request(std::vector<EngineOperation> operations,
                        size_t take = 0) {
    EngineRequest request;
    request.client = client_.id();
    request.number = ++number_;
    request.client_name = "process";
    request.now = now_;
    request.lease = kLease;
    request.presence = 100 * kSecond;
    request.retry_schedule = {5 * kSecond};
    request.operations = std::move(operations);
    request.take = take;
    return request;
  }

  EngineReply Send(const EngineRequest& request) {
    auto reply = client_.engine().Apply(request, Soon());
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? *std::move(reply) : EngineReply();
  }
  EngineReply Apply(std::vector<EngineOperation> operations, size_t take = 0) {
    return Send(Request(std::move(operations), take));
  }
  int64_t Do(EngineOperation operation) {
    return Apply({std::move(operation)}).results.at(0);
  }
  HandedOut Take() {
    const EngineReply reply = Apply({}, 1);
    EXPECT_EQ(reply.items.size(), 1u);
    return reply.items.empty() ? HandedOut() : reply.items.front();
  }

  // Takes a snapshot with details.
  EngineSnapshot TakeSnapshot(EngineSnapshotRequest request) {
    request.now = now_;
    request.details = true;
    auto snapshot = client_.engine().TakeSnapshot(request, Soon());
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    return snapshot.ok() ? *std::move(snapshot) : EngineSnapshot();
  }

  // What the engine says of `item`.
  std::string StateOf(const std::string& item) {
    EngineSnapshotRequest request;
    request.item = item;
    const EngineSnapshot snapshot = TakeSnapshot(request);
    std::string state;
    int64_t failures = 0;
    const auto append = [&](const auto& list, auto text_of) {
      for (const EngineSnapshot::Item& it : list) {
        if (!state.empty()) absl::StrAppend(&state, ", ");
        absl::StrAppend(&state, text_of(it));
        failures = it.failures;
      }
    };
    using Item = EngineSnapshot::Item;
    append(snapshot.queued,
           [](const Item& it) { return absl::StrCat("queued ", it.number); });
    append(snapshot.processing, [](const Item& it) {
      return it.added_again ? "dirty" : "processing";
    });
    append(snapshot.waiting, [this](const Item& it) {
      return absl::StrCat("waits ", it.number, " for ",
                          (it.time - now_) / kSecond, " s");
    });
    append(snapshot.parked, [](const Item&) { return "parked"; });
    if (failures > 0) absl::StrAppend(&state, ", failures ", failures);
    return state.empty() ? "idle" : state;
  }

  FakeClock clock_;
  const std::unique_ptr<EngineSource> source_ = GetParam().make(&clock_);
  const std::string name_ = NewQueueName();
  Process client_{NewEngine()};
  int64_t now_ = 1000 * kSecond;
  uint64_t number_ = 0;
};

INSTANTIATE_ENGINE_TESTS(EngineSuite);

// An operation on an item, and what it returns and leaves, if the item is idle,
// queued, processing or dirty. The token is that of the item, if it has one.
struct Transition {
  const char* name;
  std::function<EngineOperation(int64_t token)> operation;
  const char* expected[4];
};

TEST_P(EngineSuite, TheTransitionsAreThoseOfTheTable) {
  const std::string limits = "1 inf inf 10 0 it broke";
  const Transition kTransitions[] = {
      {"Add",
       [](int64_t) -> EngineOperation {
         return {Operation::kAdd, "x", 2};
       },
       {"2: queued 2", "1: queued 2", "2: dirty", "1: dirty"}},
      {"Done",
       [](int64_t token) -> EngineOperation {
         return {Operation::kDone, "x", token};
       },
       {"0: idle", "0: queued 1", "1: idle", "1: queued 1"}},
      {"Give back",
       [](int64_t token) -> EngineOperation {
         return {Operation::kGiveBack, "x", token, 1};
       },
       {"0: idle", "0: queued 1", "1: queued 1", "1: queued 1"}},
      {"Fail",
       [&](int64_t token) -> EngineOperation {
         return {Operation::kFail, "x", token, 0, -1, limits};
       },
       {"0: idle", "0: queued 1", "2: waits 1 for 5 s, failures 1",
        "2: queued 1, failures 1"}},
      {"Fail at a limit",
       [](int64_t token) -> EngineOperation {
         return {Operation::kFail, "x", token, 0, -1, "1 1 inf 10 1 broke"};
       },
       {"0: idle", "0: queued 1", "3: parked, failures 1",
        "3: parked, failures 1"}},
      {"Fail at a limit until an add",
       [](int64_t token) -> EngineOperation {
         return {Operation::kFail, "x", token, 0, -1, "1 1 inf 10 0 broke"};
       },
       {"0: idle", "0: queued 1", "3: parked, failures 1", "3: queued 1"}},
      {"Requeue",
       [](int64_t token) -> EngineOperation {
         return {Operation::kRequeue, "x", token, 3 * kSecond, 2};
       },
       {"0: idle", "0: queued 1", "1: waits 2 for 3 s", "1: queued 1"}},
      {"Requeue after no time",
       [](int64_t token) -> EngineOperation {
         return {Operation::kRequeue, "x", token, 0, 2};
       },
       {"0: idle", "0: queued 1", "2: queued 2", "1: queued 1"}},
      {"Abandon",
       [](int64_t token) -> EngineOperation {
         return {Operation::kAbandon, "x", token};
       },
       {"0: idle", "0: queued 1", "1: waits 1 for 5 s, failures 1",
        "1: waits 1 for 5 s, failures 1"}},
      {"Abandon without a failure",
       [](int64_t token) -> EngineOperation {
         return {Operation::kAbandon, "x", token, kSecond, 1};
       },
       {"0: idle", "0: queued 1", "1: waits 1 for 1 s", "1: waits 1 for 1 s"}},
      {"Renew",
       [](int64_t token) -> EngineOperation {
         return {Operation::kRenew, "x", token};
       },
       {"0: idle", "0: queued 1", "1: processing", "1: dirty"}},
      {"Add after",
       [](int64_t) -> EngineOperation {
         return {Operation::kAddAfter, "x", 3 * kSecond, 2};
       },
       {"1: waits 2 for 3 s", "1: queued 1, waits 2 for 3 s",
        "1: processing, waits 2 for 3 s", "1: dirty, waits 2 for 3 s"}},
      {"Add after no time",
       [](int64_t) -> EngineOperation {
         return {Operation::kAddAfter, "x", 0, 2};
       },
       {"2: queued 2", "1: queued 2", "2: dirty", "1: dirty"}},
      {"Reschedule",
       [](int64_t) -> EngineOperation {
         return {Operation::kReschedule, "x", 3 * kSecond};
       },
       {"1: waits 0 for 3 s", "1: queued 1, waits 0 for 3 s",
        "1: processing, waits 0 for 3 s", "1: dirty, waits 0 for 3 s"}},
      {"Add rate limited",
       [](int64_t) -> EngineOperation {
         return {Operation::kAddRateLimited, "x", 0, 2, -1};
       },
       {"1: waits 2 for 5 s, failures 1",
        "1: queued 1, waits 2 for 5 s, failures 1",
        "1: processing, waits 2 for 5 s, failures 1",
        "1: dirty, waits 2 for 5 s, failures 1"}},
      {"Cancel",
       [](int64_t) -> EngineOperation {
         return {Operation::kCancelDelayed, "x"};
       },
       {"0: idle", "0: queued 1", "0: processing", "0: dirty"}},
      {"Unpark",
       [](int64_t) -> EngineOperation {
         return {Operation::kUnpark, "x"};
       },
       {"0: idle", "0: queued 1", "0: processing", "0: dirty"}},
  };
  for (const Transition& it : kTransitions) {
    for (int state = 0; state < 4; ++state) {
      SCOPED_TRACE(absl::StrCat(it.name, " in state ", state));
      int64_t token = 1;
      if (state >= 1) Do({Operation::kAdd, "x", 1});
      if (state >= 2) token = Take().token;
      if (state >= 3) Do({Operation::kAdd, "x", 1});
      const std::string before = StateOf("x");
      // A stale token changes nothing.
      const EngineOperation stale = it.operation(token + 1);
      if (stale.x != it.operation(token).x) {
        EXPECT_EQ(Do(stale), kFalse);
      }
      EXPECT_EQ(StateOf("x"), before);
      const int64_t result = Do(it.operation(token));
      EXPECT_EQ(absl::StrCat(result, ": ", StateOf("x")), it.expected[state]);
      // Empties the queue.
      now_ += 100 * kSecond;
      Do({Operation::kUnpark, "x"});
      Apply({{Operation::kCancelDelayed, "x"}, {Operation::kForget, "x"}});
      while (StateOf("x") != "idle") {
        now_ += 100 * kSecond;
        const EngineReply reply = Apply({}, 1);
        for (const HandedOut& item : reply.items) {
          Apply(
              {{Operation::kDone, "x", item.token}, {Operation::kForget, "x"}});
        }
      }
    }
  }
}

// The server may read an old connection after the client has sent the request
// again on a new one, and others after it.
TEST_P(EngineSuite, ARequestThatComesAgainIsAppliedOnce) {
  // Some engines answer it as the other one, so it has as many operations.
  const EngineRequest early =
      Request({{Operation::kAdd, "early"}, {Operation::kAdd, "early"}});
  const EngineRequest request = Request(
      {{Operation::kAdd, "x"}, {Operation::kAddRateLimited, "y", 0, 0, -1}}, 1);
  const EngineReply reply = Send(request);
  ASSERT_EQ(reply.items.size(), 1u);
  EXPECT_EQ(Text(Send(request)), Text(reply));
  // It comes late, and nobody reads the reply.
  client_.engine().Apply(early, Soon()).IgnoreError();
  EXPECT_EQ(StateOf("early"), "idle");
  EXPECT_EQ(Text(Send(request)), Text(reply));
  EXPECT_EQ(StateOf("y"), "waits 0 for 5 s, failures 1");
  EXPECT_EQ(Do({Operation::kDone, "x", reply.items[0].token}), kTrue);
}

TEST_P(EngineSuite, TheTimeDoesNotGoBack) {
  const int64_t start = now_;
  Do({Operation::kAddAfter, "x", 10 * kSecond});
  now_ = start - 50 * kSecond;
  EXPECT_EQ(Apply({}).now, start);
  now_ += 10 * kSecond - 1;
  EXPECT_EQ(Apply({}, 1).items.size(), 0u);
  now_ += 1;
  EXPECT_EQ(Take().item, "x");
}

TEST_P(EngineSuite, WhatIsDueComesInTheOrderOfItsTimes) {
  Apply({{Operation::kAddAfter, "third", 3 * kSecond},
         {Operation::kAddAfter, "first", kSecond},
         {Operation::kAddAfter, "second", 2 * kSecond, -1},
         {Operation::kAddAfter, "urgent", 3 * kSecond, 1}});
  now_ += kSecond - 1;
  const EngineReply early = Apply({}, 9);
  EXPECT_EQ(early.items.size(), 0u);
  EXPECT_EQ(early.next_event, 1);
  now_ += 2 * kSecond + 1;
  const EngineReply reply = Apply({}, 9);
  std::vector<std::string> items;
  for (const HandedOut& it : reply.items) items.push_back(it.item);
  EXPECT_EQ(absl::StrJoin(items, " "), "urgent first third second");
  EXPECT_EQ(reply.came_due, 4);
}

TEST_P(EngineSuite, ALeaseLastsUntilItsEnd) {
  Do({Operation::kAdd, "x"});
  const HandedOut first = Take();
  now_ += kLease - 1;
  EXPECT_EQ(Do({Operation::kRenew, "x", first.token}), kTrue);
  now_ += kLease - 1;
  EXPECT_EQ(Apply({}).expired, 0);
  now_ += 1;
  EXPECT_EQ(Apply({}).expired, 1);
  EXPECT_EQ(StateOf("x"), "waits 0 for 5 s, failures 1");
  EXPECT_EQ(Do({Operation::kDone, "x", first.token}), kFalse);
  now_ += 5 * kSecond;
  const HandedOut second = Take();
  EXPECT_GT(second.token, first.token);
  EXPECT_GE(second.token, now_);
  EXPECT_EQ(second.failures, 1);
}

TEST_P(EngineSuite, AnItemWhoseLeaseExpiresIsParkedAtTheLimit) {
  Apply({{Operation::kSetLimits, "", 0, 0, 0, "0 1 inf 10 1 "},
         {Operation::kAdd, "x"}});
  Take();
  now_ += kLease;
  EXPECT_EQ(Apply({}).expired, 1);
  EXPECT_EQ(StateOf("x"), "parked, failures 1");
  EXPECT_EQ(Do({Operation::kAdd, "x"}), kTrue);
  EXPECT_EQ(StateOf("x"), "parked, failures 1");
  EXPECT_EQ(Do({Operation::kUnpark, "x"}), kNewItem);
  EXPECT_EQ(StateOf("x"), "queued 0");
}

// Nobody is there to see that the lease expires in time.
TEST_P(EngineSuite, AnItemThatEndsItsOnlyProcessIsParked) {
  Apply({{Operation::kSetLimits, "", 0, 0, 0, "0 2 inf 10 1 "},
         {Operation::kAdd, "x"}});
  // A process, which is a new client.
  const auto run = [this](size_t take) {
    Process process(NewEngine());
    EngineRequest request = Request({}, take);
    request.client = process.id();
    const auto reply = process.engine().Apply(request, Soon());
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply->items.size();
  };
  EXPECT_EQ(run(1), 1u);
  now_ += 4 * kLease;
  EXPECT_EQ(run(1), 0u) << "perhaps its holder lives";
  EXPECT_EQ(StateOf("x"), "processing");
  EXPECT_EQ(Apply({}).next_event, kLease);
  now_ += kLease;
  EXPECT_EQ(run(1), 0u);
  EXPECT_EQ(StateOf("x"), "waits 0 for 5 s, failures 1");
  now_ += 5 * kSecond;
  EXPECT_EQ(run(1), 1u);
  // Each process ends soon.
  now_ += 4 * kLease;
  EXPECT_EQ(run(1), 0u);
  now_ += 4 * kLease;
  EXPECT_EQ(run(1), 0u);
  EXPECT_EQ(StateOf("x"), "parked, failures 2");
}

TEST_P(EngineSuite, AnOutageIsNoFailure) {
  Apply({{Operation::kSetLimits, "", 0, 0, 0, "0 1 inf 10 1 "},
         {Operation::kAdd, "x"},
         {Operation::kAdd, "y"}});
  const std::vector<HandedOut> items = Apply({}, 2).items;
  ASSERT_EQ(items.size(), 2u);
  for (int outage = 0; outage < 3; ++outage) {
    now_ += 4 * kLease;
    EXPECT_EQ(Apply({}).expired, 0) << "by the request of another one";
    now_ += kLease - 1;
    EXPECT_EQ(Do({Operation::kRenew, "x", items[0].token}), kTrue);
    EXPECT_EQ(Do({Operation::kRenew, "y", items[1].token}), kTrue);
  }
  // One of the holders does not come back.
  now_ += 4 * kLease;
  EXPECT_EQ(Do({Operation::kRenew, "x", items[0].token}), kTrue);
  now_ += kLease - 1;
  EXPECT_EQ(Do({Operation::kDone, "x", items[0].token}), kTrue);
  now_ += 1;
  EXPECT_EQ(Apply({}).expired, 1);
  EXPECT_EQ(StateOf("x"), "idle");
  EXPECT_EQ(StateOf("y"), "parked, failures 1");
}

TEST_P(EngineSuite, WhoWaitsIsPushedTo) {
  EngineRequest request = Request({});
  request.waiting_workers = 2;
  EXPECT_EQ(Send(request).pushes, 2u);
  // Another client adds.
  Process other(NewEngine());
  EngineRequest adds = Request(
      {{Operation::kAdd, "x"}, {Operation::kAdd, "y"}, {Operation::kAdd, "z"}});
  adds.client = other.id();
  ASSERT_TRUE(other.engine().Apply(adds, Soon()).ok());
  clock_.Step(absl::ZeroDuration());
  EXPECT_EQ(client_.Await(2).size(), 2u);
  EXPECT_EQ(client_.pushes().at(0).item, "x");
  EXPECT_EQ(StateOf("y"), "processing");
  EXPECT_EQ(StateOf("z"), "queued 0") << "nobody waits";
  // What is on its way serves a worker that waits.
  request = Request({});
  request.waiting_workers = 3;
  request.received = 1;
  EXPECT_EQ(Send(request).items.size(), 1u) << "z";
}

// Another client may make the request that pushes the item. The holder renews
// by its own lease.
TEST_P(EngineSuite, APushedItemHasTheLeaseOfItsClient) {
  EngineRequest request = Request({});
  request.waiting_workers = 2;
  request.lease = 60 * kSecond;
  Send(request);
  Process other(NewEngine());
  const auto apply = [&](std::vector<EngineOperation> operations) {
    EngineRequest adds = Request(std::move(operations));
    adds.client = other.id();
    const auto reply = other.engine().Apply(adds, Soon());
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply->expired;
  };
  apply({{Operation::kAdd, "x"}});
  now_ += kLease;
  apply({{Operation::kAdd, "y"}});
  now_ += 50 * kSecond - 1;
  EXPECT_EQ(apply({}), 0);
  now_ += 1;
  EXPECT_EQ(apply({}), 1) << "x";
  now_ += kLease;
  EXPECT_EQ(apply({}), 1) << "y";
}

// Only the clients of the queue know the retry schedule.
TEST_P(EngineSuite, WhoLooksLeavesWhatIsDue) {
  Apply({{Operation::kAdd, "x"}, {Operation::kAddAfter, "y", kLease}}, 1);
  now_ += kLease;
  EngineRequest looks = Request({});
  looks.looks_only = true;
  looks.retry_schedule.clear();
  const EngineReply looked = Send(looks);
  EXPECT_EQ(looked.expired + looked.came_due, 0);
  EXPECT_EQ(looked.next_event, -1);
  EXPECT_EQ(StateOf("x"), "processing");
  EXPECT_EQ(StateOf("y"), "waits 0 for 0 s");
  const EngineReply reply = Apply({});
  EXPECT_EQ(reply.expired, 1);
  EXPECT_EQ(reply.came_due, 1);
}

// However many programs have ended.
TEST_P(EngineSuite, SilentClientsAreForgotten) {
  const auto clients = [this] { return TakeSnapshot({}).clients.size(); };
  for (int i = 0; i < 800; ++i) {
    EngineRequest request = Request({{Operation::kForget, "x"}});
    request.client = absl::StrCat("ended ", i);
    Send(request);
  }
  EXPECT_GE(clients(), 800u);
  now_ += 2000 * kSecond;
  for (int i = 0; i < 200; ++i) Apply({});
  EXPECT_EQ(clients(), 1u);
}

// A process that has connected again is another client. A request of the first
// one may be on its way still.
TEST_P(EngineSuite, ALateRequestOfAnEndedClientChangesNothing) {
  for (const bool is_first : {true, false}) {
    const std::string ended = is_first ? "first" : "second";
    if (!is_first) {
      EngineRequest request = Request({{Operation::kAdd, "known"}});
      request.client = ended;
      request.waiting_workers = 1;
      Send(request);
    }
    EngineRequest late = Request({{Operation::kAdd, "late"}});
    late.client = ended;
    Do({Operation::kEndClient, ended});
    client_.engine().Apply(late, Soon()).IgnoreError();  // Nobody reads it.
    EXPECT_EQ(StateOf("late"), "idle");
  }
  // Nothing is pushed to it either.
  Do({Operation::kAdd, "y"});
  EXPECT_EQ(StateOf("y"), "queued 0");
  // One that the engine has never heard of is no client.
  const EngineSnapshot snapshot = TakeSnapshot({});
  for (const EngineSnapshot::Client& client : snapshot.clients) {
    EXPECT_FALSE(client.version.empty());
  }
}

TEST_P(EngineSuite, ASnapshotMayHaveTheFailuresOnly) {
  Apply({{Operation::kAdd, "parked", 3},
         {Operation::kAdd, "failing", 2},
         {Operation::kAdd, "processing", 1}});
  EngineReply reply = Apply({}, 3);
  ASSERT_EQ(reply.items.size(), 3u);
  Apply({{Operation::kFail, "parked", reply.items[0].token, 0, -1,
          "0 1 inf 10 1 broke"},
         {Operation::kFail, "failing", reply.items[1].token, kSecond, -1,
          "0 9 inf 10 1 broke"},
         {Operation::kAdd, "queued"}});
  EngineSnapshotRequest request;
  request.max = 9;
  request.failures_only = true;
  const EngineSnapshot snapshot = TakeSnapshot(request);
  EXPECT_TRUE(snapshot.go_on.empty());
  EXPECT_EQ(snapshot.queued.size() + snapshot.processing.size() +
                snapshot.waiting.size(),
            0u);
  ASSERT_EQ(snapshot.failing.size(), 1u);
  EXPECT_EQ(snapshot.failing[0].item, "failing");
  ASSERT_EQ(snapshot.parked.size(), 1u);
  EXPECT_EQ(snapshot.parked[0].item, "parked");
  EXPECT_EQ(snapshot.num_queued, 1u);
}

TEST_P(EngineSuite, ALargeSnapshotHasParts) {
  constexpr int kItems = 300;
  using Names = std::vector<std::string>;
  Names processing, queued, waiting;
  for (int i = 0; i < kItems; ++i) {
    processing.push_back(absl::StrCat("processing ", 1000 + i));
    queued.push_back(absl::StrCat("queued ", i));
    waiting.push_back(absl::StrCat("waiting ", i));
    Do({Operation::kAdd, processing.back(), 1});
    Take();
    Apply({{Operation::kAdd, queued.back()},
           {Operation::kAddAfter, waiting.back(), kSecond + i}});
  }
  EngineSnapshotRequest request;
  request.max = 290;
  queued.resize(request.max);
  waiting.resize(request.max);
  Names found_processing, found_queued, found_waiting;
  const auto append = [](const auto& items, Names* names) {
    for (const auto& it : items) names->push_back(it.item);
    return items.size();
  };
  int parts = 0;
  do {
    const EngineSnapshot part = TakeSnapshot(request);
    EXPECT_EQ(part.num_waiting, size_t{kItems});
    EXPECT_LE(append(part.processing, &found_processing) +
                  append(part.queued, &found_queued) +
                  append(part.waiting, &found_waiting),
              250u);
    EXPECT_EQ(part.clients.empty(), ++parts > 1);
    request.from = part.go_on;
  } while (!request.from.empty());
  EXPECT_EQ(parts, 4);
  EXPECT_EQ(found_processing, processing);
  EXPECT_EQ(found_queued, queued);
  EXPECT_EQ(found_waiting, waiting);
}

// Long items would make one of many megabytes.
TEST_P(EngineSuite, APartOfASnapshotHasABoundedNumberOfBytes) {
  constexpr size_t kBytes = 2000;
  std::vector<std::string> items, found;
  for (int i = 0; i < 200; ++i) {
    items.push_back(absl::StrCat(1000 + i, std::string(kBytes - 4, 'x')));
    Do({Operation::kAdd, items.back()});
  }
  EngineSnapshotRequest request;
  request.max = items.size();
  do {
    const EngineSnapshot part = TakeSnapshot(request);
    EXPECT_LE(part.queued.size(), (size_t{1} << 18) / kBytes + 1);
    for (const auto& it : part.queued) found.push_back(it.item);
    request.from = part.go_on;
  } while (!request.from.empty());
  EXPECT_EQ(found, items);
}

TEST_P(EngineSuite, AShutdownDropsWhatWaits) {
  Apply(
      {{Operation::kAdd, "queued"}, {Operation::kAddAfter, "waits", kSecond}});
  Do({Operation::kShutDown, "", Operation::kDrain});
  EXPECT_EQ(StateOf("waits"), "idle");
  for (Operation::Code code :
       {Operation::kAdd, Operation::kAddAfter, Operation::kReschedule,
        Operation::kAddRateLimited}) {
    EXPECT_EQ(Do({code, "new", kSecond, 0, -1}), kFalse);
  }
  const HandedOut item = Take();
  EXPECT_EQ(item.item, "queued");
  const EngineReply reply = Apply({{Operation::kDone, "queued", item.token}});
  EXPECT_TRUE(reply.shut_down);
  EXPECT_EQ(reply.num_queued + reply.num_processing, 0u);
  while (Do({Operation::kReopen, ""}) == kNotYet) {
  }
  EXPECT_FALSE(Apply({}).shut_down);
  EXPECT_EQ(Do({Operation::kAdd, "new"}), kNewItem);
}

TEST_P(EngineSuite, WhatWouldWaitForEverEndsAfterAShutdown) {
  const EngineReply taken =
      Apply({{Operation::kAdd, "x"}, {Operation::kAdd, "y"}}, 2);
  ASSERT_EQ(taken.items.size(), 2u);
  Apply({{Operation::kAdd, "y"},
         {Operation::kShutDown, "", Operation::kDrain},
         {Operation::kAbandon, "x", taken.items[0].token, kForever, 1},
         {Operation::kAbandon, "y", taken.items[1].token, kForever, 1}});
  EXPECT_EQ(StateOf("x"), "idle");
  EXPECT_EQ(StateOf("y"), "queued 0");
  const EngineReply reply = Apply({{Operation::kDone, "y", Take().token}});
  EXPECT_EQ(reply.num_queued + reply.num_processing, 0);
}

TEST_P(EngineSuite, WhatIsAbandonedAfterAShutdownKeepsItsKind) {
  const std::string ordinary = "0 1 g";
  Apply({{Operation::kSetGroups, "", kForever, kForever},
         {Operation::kAdd, "x", 0, 0, 0, ordinary},
         {Operation::kAdd, "y", 0, 0, 0, ordinary}});
  const EngineReply taken = Apply({}, 2);
  ASSERT_EQ(taken.items.size(), 2u);
  Apply({{Operation::kAdd, "y", 0, 0, 0, ordinary},
         {Operation::kShutDown, "", Operation::kDrain},
         {Operation::kAbandon, "x", taken.items[0].token},
         {Operation::kAbandon, "y", taken.items[1].token}});
  now_ += 5 * kSecond;
  // One retry may be in process, and an ordinary item beside it.
  EXPECT_EQ(Apply({{Operation::kSetGroups, "", kForever, 1}}, 2).items.size(),
            2u);
}

TEST_P(EngineSuite, ARescheduleKeepsAPriorityAboveZero) {
  for (const int64_t priority : {7, -7}) {
    const int64_t kept = std::max<int64_t>(priority, 0);
    Do({Operation::kAddAfter, "x", 10 * kSecond, priority});
    Do({Operation::kReschedule, "x", 5 * kSecond});
    EXPECT_EQ(StateOf("x"), absl::StrCat("waits ", kept, " for 5 s"));
    Do({Operation::kCancelDelayed, "x"});
    Do({Operation::kAddAfter, "x", 10 * kSecond, priority});
    EXPECT_EQ(Do({Operation::kReschedule, "x"}), kNewItem);
    EXPECT_EQ(StateOf("x"), absl::StrCat("queued ", kept));
    Do({Operation::kDone, "x", Take().token});
  }
}

TEST_P(EngineSuite, AnotherNumberOfPartitionsIsRefused) {
  Do({Operation::kAdd, "x"});
  const auto other = NewEngine(/*partitions=*/2);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      other->Apply(Request({{Operation::kAdd, "y"}}), Soon()).status()));
  EXPECT_EQ(StateOf("y"), "idle");
}

class EngineComparisonTest
    : public testing::TestWithParam<std::tuple<TestEngine, int>> {
 protected:
  EngineComparisonTest() : random_(seed()) {
    const std::string name = NewQueueName();
    EngineSource& source = memory_;
    for (int i = 0; i < kClients; ++i) {
      in_engine_.push_back(
          std::make_unique<Process>(engine_->NewEngine(name, 1, "")));
      in_memory_.push_back(
          std::make_unique<Process>(source.NewEngine(name, 1, "")));
    }
    for (int i = Below(4); i >= 0; --i) {
      schedule_.push_back(ToInt64Nanoseconds(absl::Seconds(Below(5))));
    }
    if (Below(3) != 0) lease_ = ToInt64Nanoseconds(absl::Seconds(8));
    bounds_ = Bounds();
  }

  // A queue has groups in two of three tests. A repair lets groups take their
  // turns that are below a new bound, in no order. So one of the tests has
  // repairs, and the other one new bounds.
  static int seed() { return std::get<int>(GetParam()); }
  static bool has_groups() { return seed() % 3 != 0; }
  static bool has_new_bounds() { return seed() % 3 == 1; }

  int64_t Below(int n) { return static_cast<int64_t>(random_() % n); }

  std::string Item() { return absl::StrCat(Below(has_groups() ? 20 : 7)); }

  // A delay in ticks.
  int64_t Delay() {
    return Below(20) == 0
               ? kForever
               : ToInt64Nanoseconds(absl::Milliseconds(Below(8) * 500));
  }

  // An operation that sets bounds.
  EngineOperation Bounds() {
    const auto bound = [this] {
      return Below(3) == 0 ? kForever : 1 + Below(3);
    };
    return {EngineOperation::kSetGroups, "", bound(), bound()};
  }

  // Returns the text by which an add tells its group.
  std::string GroupOf() {
    constexpr const char* kGroups[] = {"", "a", "a b", "\n"};
    if (!has_groups() || Below(10) == 0) return "";
    return absl::StrCat(Below(3) == 0 ? 1 : 0, " ", 1 + Below(3), " ",
                        kGroups[Below(4)]);
  }

  // The token of something that was handed out.
  HandedOut Held() {
    if (held_.empty()) return {"none", 1, 0};
    const size_t i =
        Below(8) == 0
            ? Below(static_cast<int>(held_.size()))
            : held_.size() - 1 -
                  Below(static_cast<int>(std::min<size_t>(held_.size(), 4)));
    return held_[i];
  }

  std::string Limits() {
    return absl::StrCat(" ", Below(2) == 0 ? "inf" : absl::StrCat(1 + Below(3)),
                        " ", Below(2) == 0 ? "inf" : absl::StrCat(Delay()), " ",
                        Below(4), " ", Below(2), " ");
  }

  EngineOperation Operation() {
    using Operation = EngineOperation;
    // The empty item is one, too.
    const std::string item = Below(12) == 0 ? "" : Item();
    const int64_t priority = Below(3);
    const HandedOut held = Held();
    switch (Below(25)) {
      case 0:
      case 1:
        return {Operation::kAddAfter, item, Delay(), priority, 0, GroupOf()};
      case 2:
        return {Operation::kReschedule, item, Delay(), 0, 0, GroupOf()};
      case 3:
        return {Operation::kCancelDelayed, item};
      case 4:
      case 5:
        return {Operation::kAddRateLimited,   item,
                Below(2) == 0 ? 0 : Delay(),  priority,
                Below(2) == 0 ? -1 : Delay(), GroupOf()};
      case 6:
        return {Operation::kForget, item};
      case 7:
        return {Operation::kNumRequeues, item};
      case 8:
      case 9:
        return {Operation::kDone, held.item, held.token};
      case 10:
        return {Operation::kGiveBack, held.item, held.token, held.priority};
      case 11:
      case 12:
      case 13:
        return {Operation::kFail,
                held.item,
                held.token,
                Below(2) == 0 ? 0 : Delay(),
                Below(2) == 0 ? -1 : Delay(),
                absl::StrCat(priority, Limits(), "it broke ", Below(9))};
      case 14:
        return {Operation::kAbandon,
                held.item,
                held.token,
                Delay(),
                Below(2),
                Below(2) == 0 ? "" : "abandoned"};
      case 15:
        if (Below(3) == 0) {
          return {Operation::kSetLimits,    "", 0, 0, 0,
                  absl::StrCat(0, Limits())};
        }
        return {Operation::kUnpark, item};
      case 24:
        return {Operation::kRequeue, held.item, held.token,
                Below(2) == 0 ? 0 : Delay(), priority};
      case 16:
        return {Operation::kRenew, held.item, held.token};
      case 17:
        if (has_new_bounds()) bounds_ = Bounds();
        if (has_groups() && Below(2) == 0) return bounds_;
        return {Below(2) == 0 && !has_new_bounds() ? Operation::kRepair
                                                   : Operation::kOldest,
                ""};
      case 18:
        if (Below(6) != 0) break;
        return {Operation::kShutDown, "", 1 + Below(2)};
      default:
        break;
    }
    return {Operation::kAdd, item, priority, 0, 0, GroupOf()};
  }

  EngineRequest Request(int client) {
    EngineRequest request;
    request.number = ++numbers_[client];
    request.client_name = absl::StrCat("process ", client % 2);
    request.now = absl::ToUnixNanos(clock_.TimeNow());
    // Each client has its own.
    request.lease = lease_ == kForever ? lease_ : lease_ * (client + 1);
    request.presence = ToInt64Nanoseconds(kPresence);
    request.retry_schedule = schedule_;
    // A server ends a shutdown's waits after the request.
    if (Below(25) == 0) {
      request.operations.push_back({EngineOperation::kReopen, ""});
    } else {
      for (int64_t n = Below(4); n > 0; --n) {
        request.operations.push_back(Operation());
      }
    }
    request.waiting_workers = Below(3) == 0 ? Below(4) : 0;
    request.take = Below(3) == 0 ? Below(3) : 0;
    // Sometimes pushes are on their way.
    if (client < kClients && Below(3) != 0) {
      received_[client] = in_memory_[client]->pushes().size();
    }
    request.received = received_[client];
    return request;
  }

  // Time passes: little, or more than a client lives, or is known. In between,
  // a server may not have written when it has heard of a client.
  void PassTime() {
    switch (Below(100)) {
      case 0:
        clock_.Step(1.7 * kPresence);
        break;
      case 1:
        clock_.Step(20 * kPresence);
        break;
      default:
        clock_.Step(absl::Milliseconds(Below(3) * 100));
        break;
    }
  }

  // Expects that both processes have received the same.
  void ExpectSameMessages() {
    clock_.Step(absl::ZeroDuration());
    for (int i = 0; i < kClients; ++i) {
      const std::vector<std::string> expected = in_memory_[i]->Await(0);
      EXPECT_EQ(in_engine_[i]->Await(expected.size()), expected) << i;
      const std::vector<HandedOut> pushes = in_memory_[i]->pushes();
      held_.insert(held_.end(), pushes.begin() + seen_[i], pushes.end());
      seen_[i] = pushes.size();
    }
  }

  void ExpectSameSnapshots() {
    EngineSnapshotRequest request;
    request.now = absl::ToUnixNanos(clock_.TimeNow());
    request.max = Below(4) == 0 ? Below(4) : 100;
    request.details = Below(2) == 0;
    if (Below(3) == 0) request.item = Item();
    const auto memory = in_memory_[0]->engine().TakeSnapshot(request, Soon());
    auto engine = in_engine_[0]->engine().TakeSnapshot(request, Soon());
    ASSERT_TRUE(memory.ok() && engine.ok()) << engine.status();
    EXPECT_EQ(Text(*engine), Text(*memory));
  }

  std::mt19937 random_;
  FakeClock clock_;
  MemoryEngine memory_{&clock_};
  const std::unique_ptr<EngineSource> engine_ =
      std::get<TestEngine>(GetParam()).make(&clock_);
  std::vector<std::unique_ptr<Process>> in_engine_, in_memory_;
  std::vector<int64_t> schedule_;
  int64_t lease_ = kForever;
  EngineOperation bounds_ = {};
  // Of each client. The last one does not listen.
  uint64_t numbers_[kClients + 1] = {};
  uint64_t received_[kClients + 1] = {};
  size_t seen_[kClients] = {};
  std::vector<HandedOut> held_;
};

TEST_P(EngineComparisonTest, DoesWhatTheEngineInMemoryDoes) {
  for (int step = 0; step < 400 && !HasFailure(); ++step) {
    SCOPED_TRACE(absl::StrCat("step ", step));
    PassTime();
    const int client = static_cast<int>(Below(kClients + 1));
    const int through = client % kClients;
    EngineRequest request = Request(client);
    for (int64_t times = Below(10) == 0 ? 2 : 1; times > 0; --times) {
      request.client = client < kClients ? in_memory_[client]->id() : "deaf";
      const auto memory = in_memory_[through]->engine().Apply(request, Soon());
      if (client < kClients) request.client = in_engine_[client]->id();
      const auto engine = in_engine_[through]->engine().Apply(request, Soon());
      ASSERT_TRUE(memory.ok()) << memory.status();
      ASSERT_TRUE(engine.ok()) << engine.status();
      EXPECT_EQ(Text(*engine), Text(*memory));
      held_.insert(held_.end(), memory->items.begin(), memory->items.end());
      ExpectSameMessages();
    }
    if (Below(4) == 0) ExpectSameSnapshots();
  }
}

// All but the one in memory.
std::vector<TestEngine> OtherEngines() {
  std::vector<TestEngine> engines = TestEngines();
  engines.erase(
      std::remove_if(engines.begin(), engines.end(),
                     [](const auto& it) { return it.name == "Memory"; }),
      engines.end());
  return engines;
}

INSTANTIATE_TEST_SUITE_P(Seeds, EngineComparisonTest,
                         testing::Combine(testing::ValuesIn(OtherEngines()),
                                          testing::Range(0, 30)));

}  // namespace
}  // namespace internal::engine_suite_test
}  // namespace workqueue
