// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests what a `SharedQueue` does when its server fails, on the real clock.

#include <atomic>
#include <chrono>  // NOLINT(build/c++11)
#include <future>  // NOLINT(build/c++11)
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/log_severity.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/redis_fixture.h"
#include "test/shared/redis_server.h"
#include "test/shared/reply_proxy.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/log_sink.h"
#include "workqueue/shared/internal/queue_keys.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue::shared_queue_outage_test {
namespace {

using Queue = SharedQueue<std::string>;
using Options = SharedQueueOptions<std::string>;

absl::Time Now() { return Clock::GetRealClock()->TimeNow(); }

class SharedQueueOutageTest : public RedisFixture {
 protected:
  using RedisFixture::RedisFixture;

  Options MakeOptions() {
    Options options;
    options.name = "q";
    options.redis.address = server()->socket_path();
    options.lease = absl::Seconds(60);
    options.call_timeout = absl::Seconds(1);
    options.log_sink = &log_;
    return options;
  }

  std::unique_ptr<Queue> NewQueue() { return NewSharedQueue(MakeOptions()); }

  // Sends a command to the server, which must succeed.
  void Command(const std::vector<absl::string_view>& words) {
    const auto reply = SendTo(server()->socket_path(), words);
    EXPECT_TRUE(reply.ok()) << reply.status();
  }

  // The messages so far.
  std::string Messages() const { return absl::StrJoin(log_.messages(), "\n"); }

  RecordingLog log_;
};

TEST_F(SharedQueueOutageTest, ACallFailsInTimeIfThereIsNoServer) {
  const auto queue = NewQueue();
  server()->Kill();
  const absl::Time start = Now();
  // The server could have received the first call on the old connection.
  queue->AddItems({}, {"x"}).IgnoreError();
  const absl::Status status = queue->AddItems({}, {"x"});
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "queue \"q\" at ")) << status;
  EXPECT_FALSE(queue->Add("x"));
  EXPECT_FALSE(queue->ShuttingDown()) << "that is not the reason";
  EXPECT_TRUE(absl::IsUnavailable(queue->TryAcquire().status()));
  EXPECT_EQ(queue->Len(), 0u);
  EXPECT_LT(Now() - start, absl::Seconds(10));
  EXPECT_TRUE(absl::StrContains(Messages(), "an addition of x failed"))
      << Messages();
  EXPECT_TRUE(absl::IsUnavailable(Queue::Create(MakeOptions()).status()));
}

TEST_F(SharedQueueOutageTest, AServerThatDoesNotAnswerMayHaveExecutedTheCall) {
  const auto queue = NewQueue();
  server()->Pause();
  const absl::Status status = queue->AddItems({}, {"x"});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown) << status;
  server()->Resume();
  EXPECT_TRUE(queue->AddItems({}, {"x"}).ok());
  EXPECT_EQ(queue->Get(), "x");
  EXPECT_TRUE(queue->Done("x"));
  EXPECT_EQ(queue->Len(), 0u) << "however often it was added";
}

TEST_F(SharedQueueOutageTest, AFailureDuringAnOutageIsCountedOnce) {
  const auto queue = NewQueue();
  queue->Add("x");
  auto lease = queue->TryAcquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  const auto fail = [&] {
    return queue->Fail(&*lease, absl::AbortedError("bad"), {}, std::nullopt)
        .status();
  };
  server()->Pause();
  EXPECT_EQ(fail().code(), absl::StatusCode::kUnknown);
  EXPECT_TRUE(*lease) << "to try again";
  server()->Resume();
  EXPECT_TRUE(fail().ok());
  EXPECT_FALSE(*lease);
  EXPECT_EQ(queue->NumRequeues("x"), 1);
  EXPECT_EQ(queue->Find("x")->last_error, "ABORTED: bad");
}

TEST_F(SharedQueueOutageTest, WhatWasAcknowledgedIsThereAfterACrash) {
  const auto queue = NewQueue();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(queue->Add(absl::StrCat(i)));
  auto lease = queue->Acquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  server()->Kill();
  ASSERT_TRUE(server()->Restart().ok());
  EXPECT_EQ(queue->Len(), 99u);
  EXPECT_TRUE(lease->Done()) << "its lease has lasted";
  for (int i = 1; i < 100; ++i) EXPECT_EQ(queue->Get(), absl::StrCat(i));
}

// Or the next start of the server would take the time of leases.
TEST_F(SharedQueueOutageTest, KnowsTheRunOfAServerThatWasBusyAtFirst) {
  ReplyProxy proxy(server()->socket_path());
  std::atomic<int> left{1};
  proxy.SetHook([&left](std::string* reply) {
    if (absl::StrContains(*reply, "run_id:") && left-- > 0) {
      *reply = "-BUSY Redis is busy running a script.\r\n";
    }
  });
  Options options = MakeOptions();
  options.redis.address = proxy.socket_path();
  const auto queue = Queue::Create(options);
  ASSERT_TRUE(queue.ok()) << queue.status();
  EXPECT_LE(left, 0);
  const auto run = SendTo(server()->socket_path(),
                          {"HGET", internal::MetaKeyOf("q"), "run"});
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ((*run)->len, 40u);
}

// Such a server closes the connection after its first words.
TEST_F(SharedQueueOutageTest, AServerInProtectedModeIsTold) {
  ReplyProxy proxy(server()->socket_path());
  std::atomic<int> left{1};
  proxy.SetHook([&left](std::string* reply) {
    if (left-- > 0) *reply = "-DENIED Redis is running in protected mode\r\n";
  });
  Options options = MakeOptions();
  options.redis.address = proxy.socket_path();
  const absl::Status status = Queue::Create(options).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "DENIED")) << status;
}

TEST_F(SharedQueueOutageTest, WorkersComeBackByThemselves) {
  const auto queue = NewQueue();
  const auto other = NewQueue();
  std::vector<std::future<std::string>> got;
  for (int i = 0; i < 3; ++i) {
    got.push_back(Async([&queue] { return *queue->Get(); }));
  }
  server()->Kill();
  // A call that begins during the outage.
  got.push_back(Async([&queue] { return *queue->Get(); }));
  EXPECT_FALSE(other->Add("lost"));
  ASSERT_TRUE(server()->Restart().ok());
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(other->Add(absl::StrCat(i)));
  for (auto& one : got) EXPECT_FALSE(one.get().empty());
}

TEST_F(SharedQueueOutageTest, AServerThatStartsAgainSoonIsNotNoticed) {
  const auto queue = NewQueue();
  for (int i = 0; i < 5; ++i) {
    server()->Kill();
    auto restarted = Async([this] { return server()->Restart(); });
    while (!queue->AddItems({}, {absl::StrCat(i)}).ok()) {
    }
    EXPECT_TRUE(restarted.get().ok());
  }
  EXPECT_EQ(queue->Len(), 5u);
}

TEST_F(SharedQueueOutageTest, FlushedScriptsAreLoadedAgain) {
  const auto queue = NewQueue();
  queue->Add("x");
  Command({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(queue->Add("y"));
  Command({"SCRIPT", "FLUSH"});
  EXPECT_EQ(queue->TakeSnapshot()->queued.size(), 2u);
}

// The server knows no token any more. The next one is greater all the same.
TEST_F(SharedQueueOutageTest, ATokenIsNewEvenIfTheServerHasLostItsData) {
  const auto queue = NewQueue();
  ASSERT_TRUE(queue->Add("x"));
  auto lost = queue->Acquire();
  ASSERT_TRUE(lost.ok()) << lost.status();
  Command({"FLUSHALL"});
  ASSERT_TRUE(queue->Add("x"));
  const auto other = NewQueue();  // A key has one holder in each process.
  auto x = other->Acquire();
  ASSERT_TRUE(x.ok()) << x.status();
  EXPECT_GT(x->token(), lost->token());
  EXPECT_FALSE(lost->Done()) << "it is not this one's processing";
  EXPECT_FALSE(other->CloseWithDrainWithin(absl::ZeroDuration()));
  EXPECT_TRUE(x->Done());
  EXPECT_TRUE(other->CloseWithDrainWithin(absl::ZeroDuration()));
}

TEST_F(SharedQueueOutageTest, AnotherUseOfTheKeysIsRefused) {
  Command({"SET", "{q}:workqueue", "text"});
  EXPECT_EQ(Queue::Create(MakeOptions()).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(SharedQueueOutageTest, AUserWithoutRightsIsTold) {
  Command({"ACL", "SETUSER", "worker", "on", ">se/cret", "~{q}:*", "&{q}:*",
           "+@all", "-@admin", "-@dangerous"});
  Options options = MakeOptions();
  options.redis.address =
      absl::StrCat("unix://worker:se%2Fcret@", server()->socket_path());
  const auto queue = Queue::Create(options);
  ASSERT_TRUE(queue.ok()) << queue.status();
  EXPECT_TRUE((*queue)->Add("x"));
  EXPECT_TRUE(absl::StrContains(
      Messages(),
      absl::StrCat("at ", server()->socket_path(), " does not keep")))
      << Messages();
  for (const char* setting : {"cannot see appendonly",
                              "cannot see whether the server is a replica"}) {
    EXPECT_TRUE(absl::StrContains(Messages(), setting)) << Messages();
  }
  options.name = "other";
  const absl::Status denied = Queue::Create(options).status();
  EXPECT_TRUE(absl::IsPermissionDenied(denied)) << denied;
  EXPECT_TRUE(absl::StrContains(
      denied.message(), absl::StrCat("at ", server()->socket_path(), ": ")))
      << denied;
  options.redis.address =
      absl::StrCat("unix://worker:wrong@", server()->socket_path());
  EXPECT_TRUE(absl::IsPermissionDenied(Queue::Create(options).status()));
}

TEST_F(SharedQueueOutageTest, AUserWithoutChannelsIsTold) {
  Command({"ACL", "SETUSER", "worker", "on", ">secret", "~*", "+@all"});
  Options options = MakeOptions();
  options.redis.username = "worker";
  options.redis.password = "secret";
  options.call_timeout = absl::Seconds(60);  // does not pass
  const auto expect_told = [](const absl::Status& status) {
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "the channels &{q}:*"))
        << status;
  };
  expect_told(Queue::Create(options).status());
  // The right can be taken away later, too.
  Command({"ACL", "SETUSER", "worker", "&*"});
  const auto queue = Queue::Create(options);
  ASSERT_TRUE(queue.ok()) << queue.status();
  Command({"ACL", "SETUSER", "worker", "resetchannels"});
  expect_told((*queue)->Reopen());
  Command({"ACL", "SETUSER", "worker", "&*", "-spublish"});
  expect_told((*queue)->Reopen());
  Command({"ACL", "SETUSER", "worker", "+@all", "-evalsha"});
  expect_told((*queue)->AddItems({}, {"x"}));
  Command({"ACL", "SETUSER", "worker", "+@all"});
  EXPECT_TRUE((*queue)->AddItems({}, {"x"}).ok());
}

class SharedQueueSettingsTest : public SharedQueueOutageTest {
 protected:
  SharedQueueSettingsTest()
      : SharedQueueOutageTest([] {
          RedisServer::Options options;
          options.config = {"appendfsync everysec",
                            "no-appendfsync-on-rewrite yes",
                            "maxmemory-policy allkeys-lru"};
          return options;
        }()) {}
};

TEST_F(SharedQueueSettingsTest, SettingsThatLoseItemsAreTold) {
  const auto queue = NewQueue();
  const std::string problem =
      "appendfsync is everysec, not always: a crash of the server loses what "
      "was acknowledged; no-appendfsync-on-rewrite is yes, not no: a crash of "
      "the server loses what was acknowledged while it rewrites its log; "
      "maxmemory-policy is allkeys-lru, not noeviction: the "
      "server may remove items";
  EXPECT_EQ(
      Messages(),
      absl::StrCat("I the server at ", server()->socket_path(),
                   " does not keep all promises of a shared queue: ", problem));
  EXPECT_EQ(queue->TakeSnapshot()->settings_problem, problem);
  EXPECT_TRUE(queue->Healthy().ok());  // This process does not require it.
  Options options = MakeOptions();
  options.require_durable_server = true;
  EXPECT_EQ(Queue::Create(options).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// The server passes on the messages of all its databases.
TEST_F(SharedQueueOutageTest, AQueueOfTheSameNameInAnotherDatabaseIsAnother) {
  for (const int database : {0, 1}) {
    Options options = MakeOptions();
    options.redis.database = database;
    const auto queue = Queue::Create(options);
    ASSERT_TRUE(queue.ok()) << queue.status();
    ASSERT_TRUE((*queue)->Add("x"));
    EXPECT_EQ((*queue)->Get(), "x");
    auto drain = Async([&queue] { return (*queue)->ShutDownWithDrain(); });
    while (!(*queue)->ShuttingDown()) {
      Clock::GetRealClock()->Sleep(absl::Milliseconds(1));
    }
    options.redis.database = 1 - database;
    const auto other = Queue::Create(options);
    ASSERT_TRUE(other.ok()) << other.status();
    (*other)->ShutDown();
    EXPECT_EQ(drain.wait_for(std::chrono::milliseconds(100)),
              std::future_status::timeout);
    EXPECT_TRUE((*queue)->Done("x"));
    EXPECT_TRUE(drain.get());
    Command({"FLUSHALL"});
  }
}

// They concern keys that have a time to live.
TEST_F(SharedQueueOutageTest, ServersMayRemoveWhatIsNoItem) {
  Options options = MakeOptions();
  options.require_durable_server = true;
  for (const char* policy : {"volatile-lru", "volatile-ttl"}) {
    Command({"CONFIG", "SET", "maxmemory-policy", policy});
    const auto queue = Queue::Create(options);
    EXPECT_TRUE(queue.ok()) << queue.status();
  }
}

#ifdef ABSL_HAVE_EXCEPTIONS
TEST_F(SharedQueueSettingsTest, ALogSinkThatThrowsBreaksNothing) {
  class Sink final : public LogSink {
   public:
    void Log(absl::LogSeverity, absl::string_view) override {
      throw std::runtime_error("the disk is full");
    }
  };
  Sink sink;
  Options options = MakeOptions();
  options.log_sink = &sink;
  const auto queue = Queue::Create(options);
  ASSERT_TRUE(queue.ok()) << queue.status();
  EXPECT_TRUE((*queue)->AddItems({}, {"x"}).ok());
}
#endif

TEST_F(SharedQueueOutageTest, SettingsThatBecomeWrongAreTold) {
  FakeClock clock;
  Options options = MakeOptions();
  options.clock = &clock;
  options.require_durable_server = true;
  const auto queue = NewSharedQueue(options);
  EXPECT_TRUE(queue->Healthy().ok());
  EXPECT_EQ(queue->TakeSnapshot()->settings_problem, "");

  Command({"CONFIG", "SET", "appendfsync", "no"});
  clock.Step(absl::Seconds(10));
  const std::string problem =
      "appendfsync is no, not always: a crash of the server loses what was "
      "acknowledged";
  EXPECT_EQ(queue->TakeSnapshot()->settings_problem, problem);
  EXPECT_EQ(queue->Healthy(),
            absl::FailedPreconditionError(absl::StrCat(
                "shared queue q: the engine may lose items: ", problem)));
  EXPECT_TRUE(absl::StrContains(Messages(), problem)) << Messages();
  EXPECT_TRUE(queue->Add("x"));

  Command({"CONFIG", "SET", "appendfsync", "always"});
  clock.Step(absl::Seconds(10));
  EXPECT_EQ(queue->TakeSnapshot()->settings_problem, "");
  EXPECT_TRUE(queue->Healthy().ok());
}

TEST_F(SharedQueueOutageTest, AnEmptiedServerIsTold) {
  const auto queue = NewQueue();
  ASSERT_TRUE(queue->Add("x"));
  EXPECT_FALSE(queue->TakeSnapshot()->data_lost_at.has_value());
  Command({"FLUSHALL"});
  EXPECT_TRUE(queue->Add("y"));
  EXPECT_TRUE(queue->TakeSnapshot()->data_lost_at.has_value());
  EXPECT_TRUE(absl::StrContains(Messages(), "has lost all items"))
      << Messages();
}

}  // namespace
}  // namespace workqueue::shared_queue_outage_test
