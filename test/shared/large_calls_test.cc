// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that no call holds the server up, however many items it is for: what
// the server spends on each command is bounded. Also prints the worst call of
// another client meanwhile. The environment variable ITEMS is the number of
// items:
//
//     ITEMS=300000 tools/bazelw run //test/shared:large_calls_test

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "hiredis/hiredis.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/redis_fixture.h"
#include "test/shared/redis_server.h"
#include "test/stress/from_environment.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease_batch.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/shared/list_shared_queues.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::large_calls_test {
namespace {

using internal::RedisConnection;
using internal::RedisReply;
using internal::TextOf;
using Queue = SharedQueue<std::string>;

constexpr absl::Duration kLease = absl::Minutes(1);

// The operations that one request may have.
constexpr int64_t kMostOperations = 125;

// The arguments of a request before its operations: the command, the script,
// the keys and their number, and 15 more.
constexpr int64_t kFirstArguments = 3 + 12 + 15;

absl::Time Now() { return Clock::GetRealClock()->TimeNow(); }

// The worst call of another client, of another queue, while this lives.
class Other {
 public:
  explicit Other(Queue* queue) : thread_([this, queue] { Loop(queue); }) {}
  ~Other() { Stop(); }

  // Returns the longest call.
  absl::Duration Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return worst_;
  }

 private:
  void Loop(Queue* queue) {
    while (!stop_) {
      const absl::Time start = Now();
      EXPECT_TRUE(queue->Add("x"));
      worst_ = std::max(worst_, Now() - start);
      Clock::GetRealClock()->SleepUntil(Now() + absl::Milliseconds(1));
    }
  }

  std::atomic<bool> stop_{false};
  absl::Duration worst_;
  std::thread thread_;
};

class LargeCallsTest : public RedisFixture {
 protected:
  // The server keeps the time of each command that takes longer than 200 us.
  static RedisServer::Options ServerOptions() {
    RedisServer::Options options;
    options.config = {"slowlog-log-slower-than 200", "slowlog-max-len 1000000"};
    return options;
  }

  LargeCallsTest() : RedisFixture(ServerOptions()) {}

  void SetUp() override {
    RedisFixture::SetUp();
    if (server() == nullptr) return;
    redis_.address = server()->socket_path();
    auto connection = RedisConnection::Connect(redis_, absl::Seconds(10));
    ASSERT_TRUE(connection.ok()) << connection.status();
    connection_ = *std::move(connection);
    queue_ = NewQueue("large", &clock_);
    other_ = NewQueue("other", &clock_);
    for (int i = 0; i < FromEnvironment("ITEMS", 5000); ++i) {
      items_.push_back(absl::StrCat("namespace-", i % 97, "/object-", i));
    }
  }

  std::unique_ptr<Queue> NewQueue(absl::string_view name, FakeClock* clock) {
    SharedQueueOptions<std::string> options;
    options.name = std::string(name);
    options.redis = redis_;
    options.clock = clock;
    options.clock_is_the_servers = true;
    options.lease = kLease;
    options.call_timeout = absl::Seconds(60);
    return NewSharedQueue(std::move(options));
  }

  RedisReply Send(const std::vector<absl::string_view>& command) {
    auto reply = connection_->Call(command, absl::Seconds(60));
    EXPECT_TRUE(reply.ok()) << reply.status();
    return *std::move(reply);
  }

  // Calls `f`, and expects that the server has spent little time on each of the
  // commands.
  template <typename F>
  void Watch(absl::string_view what, F f) {
    Send({"SLOWLOG", "RESET"});
    Other other(other_.get());
    const absl::Time start = Now();
    f();
    const absl::Duration took = Now() - start;
    const absl::Duration worst_of_others = other.Stop();
    const RedisReply log = Send({"SLOWLOG", "GET", "1000000"});
    int64_t most = 0;
    size_t calls = 0, late = 0;
    absl::Duration longest;
    for (size_t i = 0; i < log->elements; ++i) {
      // Number, time, duration, arguments.
      const redisReply& entry = *log->element[i];
      if (TextOf(*entry.element[3]->element[0]) != "EVALSHA") continue;
      ++calls;
      const absl::Duration time = absl::Microseconds(entry.element[2]->integer);
      longest = std::max(longest, time);
      if (time > absl::Milliseconds(25)) ++late;
      most = std::max(most, ArgumentsOf(*entry.element[3]));
    }
    std::puts(absl::StrCat(what, " of ", items_.size(), ": ",
                           absl::FormatDuration(took), "; of ", calls,
                           " requests the longest took the server ",
                           absl::FormatDuration(longest),
                           "; the worst call of another client took ",
                           absl::FormatDuration(worst_of_others))
                  .c_str());
    std::fflush(stdout);
    EXPECT_LE(most, kFirstArguments + 6 * kMostOperations) << what;
    // The server measures by the wall clock, so now and then it measures that
    // its process did not run. The bound is half of what others may wait.
    EXPECT_LE(late, 1 + calls / 20) << what << ": " << longest;
  }

  // Returns the number of arguments of a command in the log, which has 32 of
  // them at most: "... (N more arguments)" follows 31.
  static int64_t ArgumentsOf(const redisReply& command) {
    absl::string_view last = TextOf(*command.element[command.elements - 1]);
    int64_t more = 0;
    if (command.elements == 32 && absl::ConsumePrefix(&last, "... (") &&
        absl::ConsumeSuffix(&last, " more arguments)")) {
      EXPECT_TRUE(absl::SimpleAtoi(last, &more)) << last;
      return 31 + more;
    }
    return static_cast<int64_t>(command.elements);
  }

  // Lets time pass, and blocks until the clients have done what is due.
  void Pass(absl::Duration time) {
    clock_.AwaitWaiters(2);
    clock_.Step(time);
    clock_.AwaitWaiters(2);
  }

  LeaseBatch<std::string> Acquire(Queue* queue) {
    auto leases = queue->AcquireUpTo(items_.size());
    EXPECT_TRUE(leases.ok()) << leases.status();
    EXPECT_EQ(leases->size(), items_.size());
    return *std::move(leases);
  }

  void AddAll() { EXPECT_TRUE(queue_->AddAll(items_)); }
  void AddAllAfter(absl::Duration delay) {
    EXPECT_TRUE(queue_->AddWithOptions({delay}, items_));
  }

  FakeClock clock_;
  RedisOptions redis_;
  std::unique_ptr<RedisConnection> connection_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Queue> other_;
  std::vector<std::string> items_;
};

TEST_F(LargeCallsTest, AddsAndLeases) {
  Watch("AddAll", [this] { AddAll(); });
  Watch("AddAll, again", [this] { AddAll(); });
  LeaseBatch<std::string> leases;
  Watch("AcquireUpTo", [&] { leases = Acquire(queue_.get()); });
  Watch("renewal", [this] { Pass(kLease / 3); });
  AddAll();  // while they are processed
  Watch("snapshot of what is processed", [this] {
    EXPECT_EQ(queue_->TakeSnapshot()->processing.size(), items_.size());
  });
  Watch("Done", [&] { leases.Done(); });
  leases = Acquire(queue_.get());
  Watch("GiveBack", [&] { leases.GiveBack(); });
  EXPECT_EQ(queue_->Len(), items_.size());
}

TEST_F(LargeCallsTest, WhatIsDue) {
  Watch("AddAfter", [this] { AddAllAfter(absl::Seconds(5)); });
  Watch("items come due", [this] {
    Pass(absl::Seconds(5));
    while (queue_->Len() < items_.size()) {
    }
  });
  Watch("snapshot of what is queued", [this] {
    EXPECT_EQ(queue_->TakeSnapshot()->queued.size(), items_.size());
  });
  // Its clock stands still, so that it renews nothing.
  FakeClock clock;
  const auto holder = NewQueue("large", &clock);
  const LeaseBatch<std::string> leases = Acquire(holder.get());
  Watch("expired leases", [this] {
    clock_.Step(kLease);
    while (queue_->Count()->failing < items_.size()) {
    }
  });
}

TEST_F(LargeCallsTest, AShutDown) {
  AddAllAfter(absl::Hours(1));
  Watch("snapshot of what waits", [this] {
    EXPECT_EQ(queue_->TakeSnapshot()->waiting.size(), items_.size());
  });
  Watch("ShutDown and Reopen", [this] {
    queue_->ShutDown();
    EXPECT_EQ(queue_->Count()->waiting, 0u);
    EXPECT_TRUE(queue_->Reopen().ok());
  });
  Watch("AddRateLimited", [this] {
    EXPECT_TRUE(queue_->AddWithOptions({absl::ZeroDuration(), true}, items_));
  });
}

TEST_F(LargeCallsTest, Repairs) {
  AddAllAfter(absl::Hours(1));
  Send({"UNLINK", "{large}:workqueue:waiting"});
  Watch("repair", [this] {
    for (size_t i = 0; i < 20; ++i) Pass(WaitingLoop::Heartbeat());
  });
  Watch("list of the queues", [this] {
    const auto queues = ListSharedQueues(redis_, absl::Seconds(10));
    EXPECT_TRUE(queues.ok()) << queues.status();
  });
}

}  // namespace
}  // namespace workqueue::large_calls_test
