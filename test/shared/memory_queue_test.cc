// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Makes the same random requests to an engine in a server and to one in memory:
// the replies, the messages and the snapshots are equal.

#include "workqueue/shared/internal/stored_queue.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
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
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/redis_engine.h"
#include "workqueue/shared/testing/memory_engine.h"

namespace workqueue {
namespace internal::memory_queue_test {
namespace {

constexpr int kClients = 3;
constexpr absl::Duration kPresence = absl::Seconds(100);

absl::Time Soon() { return absl::Now() + absl::Seconds(10); }

std::string Text(const HandedOut& it) {
  return absl::StrCat(it.item, " token ", it.token, " priority ", it.priority,
                      " queued ", it.ticks_queued, " failures ", it.failures);
}

std::string Text(const EngineReply& it) {
  std::string text = absl::StrCat(
      "now ", it.now, " next ", it.next_event, " ready ", it.ready, " waiting ",
      it.waiting, " processing ", it.processing, " failing ", it.failing);
  absl::StrAppend(&text, " parked ", it.parked, " shut down ", it.shut_down,
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

class MemoryQueueTest : public testing::TestWithParam<int> {
 protected:
  MemoryQueueTest() : random_(GetParam()) {
    const std::string name = NewQueueName();
    RedisOptions redis;
    redis.address = ServerOfThisProgram();
    EngineSource& source = memory_;
    for (int i = 0; i < kClients; ++i) {
      in_server_.push_back(
          std::make_unique<Process>(*RedisEngine::Create(name, 1, redis)));
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
  bool has_groups() const { return GetParam() % 3 != 0; }
  bool has_new_bounds() const { return GetParam() % 3 == 1; }

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
    request.lease = lease_;
    request.presence = ToInt64Nanoseconds(kPresence);
    request.retry_schedule = &schedule_;
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
      EXPECT_EQ(in_server_[i]->Await(expected.size()), expected) << i;
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
    auto server = in_server_[0]->engine().TakeSnapshot(request, Soon());
    ASSERT_TRUE(memory.ok() && server.ok()) << server.status();
    EXPECT_EQ(Text(*server), Text(*memory));
  }

  std::mt19937 random_;
  FakeClock clock_;
  MemoryEngine memory_{&clock_};
  std::vector<std::unique_ptr<Process>> in_server_, in_memory_;
  std::vector<int64_t> schedule_;
  int64_t lease_ = kForever;
  EngineOperation bounds_ = {};
  // Of each client. The last one does not listen.
  uint64_t numbers_[kClients + 1] = {};
  uint64_t received_[kClients + 1] = {};
  size_t seen_[kClients] = {};
  std::vector<HandedOut> held_;
};

TEST_P(MemoryQueueTest, DoesWhatAServerDoes) {
  for (int step = 0; step < 400 && !HasFailure(); ++step) {
    SCOPED_TRACE(absl::StrCat("step ", step));
    PassTime();
    const int client = static_cast<int>(Below(kClients + 1));
    const int through = client % kClients;
    EngineRequest request = Request(client);
    for (int64_t times = Below(10) == 0 ? 2 : 1; times > 0; --times) {
      request.client = client < kClients ? in_memory_[client]->id() : "deaf";
      const auto memory = in_memory_[through]->engine().Apply(request, Soon());
      if (client < kClients) request.client = in_server_[client]->id();
      const auto server = in_server_[through]->engine().Apply(request, Soon());
      ASSERT_TRUE(memory.ok()) << memory.status();
      ASSERT_TRUE(server.ok()) << server.status();
      EXPECT_EQ(Text(*server), Text(*memory));
      held_.insert(held_.end(), memory->items.begin(), memory->items.end());
      ExpectSameMessages();
    }
    if (Below(4) == 0) ExpectSameSnapshots();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, MemoryQueueTest, testing::Range(0, 30));

}  // namespace
}  // namespace internal::memory_queue_test
}  // namespace workqueue
