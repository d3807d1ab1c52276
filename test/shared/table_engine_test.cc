// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests `TableEngine` with a database that does what the test says.

#include "workqueue/shared/internal/table_engine.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/thread_annotations.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/ignoring_listener.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/ordered_store.h"
#include "workqueue/shared/internal/stored_queue.h"

namespace workqueue::internal::table_engine_test {
namespace {

// Has one queue, and forgets its first listener. A message comes to that when
// the engine has looked.
class FakeDatabase final : public EngineDatabase {
 public:
  absl::Status Run(const Call& call, const Body& body) override {
    if (!call.writes) ++reads_;
    if (call.writes && ++writes_ > most_writes) {
      return absl::UnavailableError("refused");
    }
    Tables tables(this, call.writes);
    return body(tables, is_full);
  }
  void Interrupted() override {}
  void Vacate(int64_t /*listener*/) override {}
  void AwaitMessages(absl::Duration /*timeout*/) override {
    MutexLock lock(&mu_);
    looked_at_ = heard_;
    const auto is_woken = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return wakes_ != heard_;
    };
    mu_.Await(absl::Condition(&is_woken));
    heard_ = wakes_;
  }
  void Wake() override {
    MutexLock lock(&mu_);
    ++wakes_;
  }
  size_t MaxItemBytes() const override { return 100; }

  // Lets the engine look for messages. Blocks until it has done so.
  void LetLook() {
    MutexLock lock(&mu_);
    ++wakes_;
    const auto has_looked = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return looked_at_ == wakes_;
    };
    mu_.Await(absl::Condition(&has_looked));
  }

  int reads() const { return reads_; }
  int writes() const { return writes_; }

  // The size of the longest key that it has been told to fetch.
  size_t longest_key() const { return store_.longest_key; }

  int most_writes = 1000;  // refuses others
  bool is_full = false;

  // Leaves an item in the inbox.
  void Leave(const std::string& item) {
    inbox_.push_back({EngineOperation::kAddAfter, item});
  }

 private:
  class Tables final : public EngineTables {
   public:
    Tables(FakeDatabase* database, bool writes)
        : database_(*database), writes_(writes) {}

    absl::StatusOr<int64_t> FindQueue(absl::string_view /*name*/,
                                      const std::string& /*layout*/) override {
      return 1;
    }
    OrderedStore* Open(int64_t /*queue*/) override { return &database_.store_; }
    std::vector<EngineOperation> TakeInbox() override {
      return std::exchange(database_.inbox_, {});
    }
    absl::Time Now() override { return absl::UnixEpoch(); }
    int64_t AddListener(int64_t /*queue*/) override {
      return ++database_.last_listener_;
    }
    void RemoveListener(int64_t /*listener*/) override {}
    std::vector<int64_t> ListenersOf(int64_t /*queue*/) override { return {}; }
    bool Lives(int64_t /*listener*/) override { return true; }
    void AddMessage(int64_t /*listener*/, absl::string_view /*body*/) override {
    }
    Messages MessagesOf(
        const std::vector<std::pair<int64_t, int64_t>>& listeners) override {
      Messages messages;
      for (const auto& it : listeners) {
        if (it.first > 1) {
          messages[it.first].has_inbox = !database_.inbox_.empty();
        }
        if (it.first > 1 || !writes_) continue;
        messages[it.first].messages = {
            {17, EngineMessage{EngineMessage::kDue, 1}.Pack()}};
      }
      return messages;
    }
    void RemoveMessages(int64_t /*listener*/, int64_t /*after*/,
                        int64_t /*until*/) override {}
    void Notify() override {}

   private:
    FakeDatabase& database_;
    const bool writes_;
  };

  struct Store final : MemoryStore {
    void Prefetch(const WantedEntries& wanted) override {
      for (const std::string& key : wanted.keys) {
        longest_key = std::max(longest_key, key.size());
      }
    }
    size_t longest_key = 0;
  };

  absl::Mutex mu_;
  uint32_t wakes_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t heard_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t looked_at_ ABSL_GUARDED_BY(mu_) = 0;
  std::atomic<int64_t> last_listener_{0};
  std::atomic<int> reads_{0}, writes_{0};
  std::vector<EngineOperation> inbox_;
  Store store_;
};

// Is slow to hear that it listens again.
class SlowListener final : public IgnoringListener {
 public:
  void OnListening(const std::string& client) override {
    if (client == "1") return;
    listens_again.Notify();
    // It stops to listen meanwhile.
    for (int i = 0; i < 10000; ++i) std::this_thread::yield();
  }
  void OnDisconnected(const absl::Status& /*why*/) override {
    disconnected = true;
  }
  void OnDue(int64_t /*ticks*/) override {
    if (!disconnected) ++due_before;
  }

  std::atomic<bool> disconnected{false};
  absl::Notification listens_again;
  std::atomic<int> due_before{0};
};

class TableEngineTest : public testing::Test {
 protected:
  void Listen(EngineListener* listener) {
    EXPECT_EQ(engine_->Listen(listener, absl::InfiniteFuture()),
              absl::OkStatus());
  }

  FakeDatabase& database_ = *new FakeDatabase;
  TableEngine source_{"the database", absl::WrapUnique(&database_),
                      /*clock=*/nullptr};
  const std::unique_ptr<Engine> engine_ =
      source_.NewEngine("queue", 1, "client");
};

// It would be called after its end.
TEST_F(TableEngineTest, WhoeverStopsToListenWhileItListensAgainIsForgotten) {
  SlowListener listener;
  Listen(&listener);
  listener.listens_again.WaitForNotification();
  engine_->StopListening();
  database_.LetLook();
  const int reads = database_.reads();
  database_.LetLook();
  EXPECT_EQ(database_.reads(), reads) << "somebody listens";
}

// It would be removed with the number that it was sent to.
TEST_F(TableEngineTest, WhatComesToTheNumberBeforeIsHeard) {
  SlowListener listener;
  Listen(&listener);
  listener.listens_again.WaitForNotification();
  engine_->StopListening();
  EXPECT_EQ(listener.due_before, 1);
}

TEST_F(TableEngineTest, WhoCannotListenAgainTriesItOnceASecond) {
  database_.most_writes = 1;
  SlowListener listener;
  Listen(&listener);
  for (int i = 0; i < 100; ++i) database_.LetLook();
  EXPECT_GT(database_.writes(), 1);
  EXPECT_LT(database_.writes(), 50);
  engine_->StopListening();
}

TEST_F(TableEngineTest, ARequestGetsNoReplyOfAnother) {
  EngineRequest request;
  request.client = "1";
  const auto apply = [&](uint64_t number) {
    request.number = number;
    return engine_->Apply(request, absl::InfiniteFuture()).status();
  };
  EXPECT_EQ(apply(1), absl::OkStatus());
  EXPECT_EQ(apply(2), absl::OkStatus());
  EXPECT_EQ(apply(2), absl::OkStatus());
  EXPECT_TRUE(absl::IsUnknown(apply(1)));
}

// The others of the queue would wait for its way to the server.
TEST_F(TableEngineTest, AnItemThatIsTooLongIsNotLookedFor) {
  EngineRequest request;
  request.client = "1";
  request.number = 1;
  request.operations = {{EngineOperation::kAdd, std::string(100, 'x')},
                        {EngineOperation::kAdd, std::string(101, 'x')}};
  const auto reply = engine_->Apply(request, absl::InfiniteFuture());
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->results, std::vector<int64_t>({kNewItem, kItemTooLong}));
  EXPECT_EQ(database_.longest_key(), 101u) << "with the letter of the items";
}

// Its operations may be those of other calls, too.
TEST_F(TableEngineTest, ARequestThatSetsGroupsComesAfterTheInbox) {
  const EngineOperation oldest = {EngineOperation::kOldest};
  const EngineOperation sets = {EngineOperation::kSetGroups, "", kForever,
                                kForever};
  const EngineOperation adds = {EngineOperation::kAdd, "y", 0, 0, 0, "0 1 g"};
  EngineRequest request;
  request.client = "1";
  request.number = 1;
  request.take = 1;
  for (const auto& [operations, place] :
       {std::make_pair(std::vector({sets, adds}), 0),
        std::make_pair(std::vector({oldest, sets}), 1)}) {
    auto owned = std::make_unique<FakeDatabase>();
    owned->Leave("x");
    TableEngine source("the database", std::move(owned), /*clock=*/nullptr);
    const auto engine = source.NewEngine("queue", 1, "client");
    request.operations = operations;
    const auto reply = engine->Apply(request, absl::InfiniteFuture());
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->results[place], kTrue);
    ASSERT_EQ(reply->items.size(), 1u);
    EXPECT_EQ(reply->items[0].item, "x");
  }
}

// Other writes need no space if they replace what is there.
TEST_F(TableEngineTest, OnlyAnAddTellsThatADatabaseIsFullNoMore) {
  EngineRequest request;
  request.client = "1";
  const auto is_full = [&](std::vector<EngineOperation> operations) {
    ++request.number;
    request.operations = std::move(operations);
    const auto reply = engine_->Apply(request, absl::InfiniteFuture());
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply->full;
  };
  const EngineOperation add = {EngineOperation::kAdd, "x"};
  const EngineOperation too_long = {EngineOperation::kAdd,
                                    std::string(101, 'x')};
  const EngineOperation repair = {EngineOperation::kRepair};
  EXPECT_FALSE(is_full({add}));
  for (const bool adds_again : {true, false}) {
    database_.is_full = true;
    EXPECT_TRUE(is_full({{EngineOperation::kForget, "x"}, add}));
    database_.is_full = false;
    EXPECT_TRUE(is_full({{EngineOperation::kForget, "x"}, too_long}));
    // Each client makes one each ten seconds. After a minute without an add it
    // is not known.
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(is_full({repair}));
    EXPECT_FALSE(is_full({adds_again ? add : repair}));
    EXPECT_FALSE(is_full({}));
  }
  // A request may have to be made again because of another one's adds.
  database_.is_full = true;
  EXPECT_TRUE(is_full({}));
  database_.is_full = false;
  EXPECT_FALSE(is_full({}));
}

class DueListener final : public IgnoringListener {
 public:
  void OnDue(int64_t /*ticks*/) override { ++due; }

  std::atomic<int> due{0};
};

// Each process would ask at each look.
TEST_F(TableEngineTest, WhatWaitsForAQueueThatIsShutDownMakesNobodyAsk) {
  DueListener listener;
  Listen(&listener);
  EngineRequest request;
  request.client = "1";
  const auto asks_after = [&](const EngineOperation& operation) {
    ++request.number;
    request.operations = {operation};
    EXPECT_TRUE(engine_->Apply(request, absl::InfiniteFuture()).ok());
    database_.LetLook();
    const int before = listener.due;
    database_.LetLook();
    return listener.due > before;
  };
  EXPECT_FALSE(asks_after({EngineOperation::kShutDown}));
  database_.Leave("x");
  EXPECT_FALSE(asks_after({EngineOperation::kOldest}));
  EXPECT_TRUE(asks_after({EngineOperation::kReopen}));
  EXPECT_FALSE(asks_after({EngineOperation::kOldest})) << "it is taken";
  engine_->StopListening();
}

#ifdef ABSL_HAVE_EXCEPTIONS

// Has no memory for what it hears.
class ThrowingListener final : public IgnoringListener {
 public:
  void OnDisconnected(const absl::Status& /*why*/) override {
    ++heard;
    throw std::bad_alloc();
  }

  std::atomic<int> heard{0};
};

// It would end the program, or the listener could never be destroyed.
TEST_F(TableEngineTest, WhatAListenerThrowsEndsNothing) {
  ThrowingListener listener;
  Listen(&listener);
  while (listener.heard == 0) database_.LetLook();
  const int reads = database_.reads();
  database_.LetLook();
  EXPECT_GT(database_.reads(), reads);
  engine_->StopListening();
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::internal::table_engine_test
