// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is special about queues in PostgreSQL: adds in the program's own
// transactions, the tables, the server's end, and its errors. Two
// `PostgresEngine`s are two processes, but for those tests that kill one. For
// as many kills as you like:
//
//     tools/bazelw test //test/shared:postgres_tests
//         --test_filter='PostgresKillTest.*' --test_arg=--kills=1000
//         --test_timeout=900 --test_output=all

#include "workqueue/shared/postgres/postgres_engine.h"

#include <dlfcn.h>
#include <libpq-fe.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>  // NOLINT(build/c++11)
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>  // NOLINT(build/c++17)
#include <fstream>
#include <future>  // NOLINT(build/c++11)
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/kill_checks.h"
#include "test/shared/kill_run.h"
#include "test/shared/kill_worker.h"
#include "test/shared/measure_hand_over.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/postgres_server.h"
#include "test/shared/temporary_folder.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/shared/postgres/internal/postgres_connection.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/shared/shared_queue_options.h"
#include "workqueue/testing/thread.h"

namespace {

constexpr char kSilentHost[] = "silent.example";

// Holds up lookups of that host while it is not null.
std::atomic<absl::Notification*> name_server{nullptr};

}  // namespace

extern "C" int getaddrinfo(const char* host, const char* service,
                           const addrinfo* hints, addrinfo** result) {
  if ((hints->ai_flags & AI_NUMERICHOST) == 0 && host != nullptr &&
      strcmp(host, kSilentHost) == 0) {
    absl::Notification* const answers = name_server;
    if (answers != nullptr) {
      answers->WaitForNotificationWithTimeout(absl::Seconds(20));
    }
    host = "127.0.0.1";
  }
  static const auto next =
      reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return next(host, service, hints, result);
}

namespace workqueue::postgres_engine_test {
namespace {

using Queue = SharedQueue<std::string>;

// A connection as a program has its own.
class Connection {
 public:
  explicit Connection(const std::string& address)
      : connection_(PQconnectdb(address.c_str())) {
    PQsetNoticeReceiver(
        connection_, [](void*, const PGresult*) {}, nullptr);
  }
  ~Connection() { PQfinish(connection_); }

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  PGconn* get() const { return connection_; }

  // Returns the error.
  std::string Fail(const std::string& sql) {
    PGresult* const result = PQexec(connection_, sql.c_str());
    std::string error = PQresultErrorMessage(result);
    PQclear(result);
    return error;
  }

  // Returns the first value of the result.
  std::string Do(const std::string& sql) {
    PGresult* const result = PQexec(connection_, sql.c_str());
    const ExecStatusType status = PQresultStatus(result);
    EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        << PQresultErrorMessage(result);
    std::string value;
    if (PQntuples(result) > 0) value = PQgetvalue(result, 0, 0);
    PQclear(result);
    return value;
  }

 private:
  PGconn* const connection_;
};

class PostgresEngineTest : public testing::Test {
 protected:
  static std::unique_ptr<PostgresEngine> NewEngine(
      const PostgresServer& server = PostgresServerOfThisProgram()) {
    auto engine = PostgresEngine::Create(server.address());
    EXPECT_TRUE(engine.ok()) << engine.status();
    return *std::move(engine);
  }

  SharedQueueOptions<std::string> Options(PostgresEngine& engine) const {
    SharedQueueOptions<std::string> options;
    options.name = name_;
    options.engine = &engine;
    options.require_durable_server = true;
    return options;
  }

  std::unique_ptr<Queue> NewQueue(PostgresEngine& engine) const {
    return NewSharedQueue(Options(engine));
  }

  static absl::Status Add(Queue& queue, const std::string& item) {
    return queue.AddItems({}, {item});
  }

  const std::string address_ = PostgresServerOfThisProgram().address();
  const std::string name_ = NewQueueName();
};

TEST_F(PostgresEngineTest, ProcessesShareAQueue) {
  const auto a = NewEngine(), b = NewEngine();
  const auto of_a = NewQueue(*a), of_b = NewQueue(*b);
  for (int i = 0; i < 20; ++i) {
    auto got = Async([&] { return of_b->Get(); });
    ASSERT_TRUE(Add(*of_a, absl::StrCat(i)).ok());
    EXPECT_EQ(got.get(), absl::StrCat(i));
    EXPECT_EQ(of_a->TakeSnapshot()->processing.at(0).item, absl::StrCat(i));
    EXPECT_TRUE(of_b->Done(absl::StrCat(i)));
  }
}

TEST_F(PostgresEngineTest, CommittedIsQueuedAndRolledBackNeverWas) {
  const auto engine = NewEngine();
  const auto queue = NewQueue(*engine);
  Connection own(address_);
  own.Do("BEGIN");
  own.Do(absl::StrCat("SELECT workqueue.add('", name_, "', 'rolled back')"));
  own.Do("ROLLBACK");
  own.Do("BEGIN");
  own.Do(absl::StrCat("SELECT workqueue.add('", name_, "', 'committed')"));
  // The transaction that is open holds nothing that the queue needs.
  ASSERT_TRUE(Add(*queue, "x").ok());
  EXPECT_EQ(queue->Get(), "x");
  auto got = Async([&] { return queue->Get(); });
  own.Do("COMMIT");
  EXPECT_EQ(got.get(), "committed");
  EXPECT_EQ(queue->Count()->queued, 0u);
}

TEST_F(PostgresEngineTest, WhatAProgramCommitsCountsAsAdded) {
  RecordingMetrics metrics;
  const auto engine = NewEngine();
  auto options = Options(*engine);
  options.metrics_provider = &metrics;
  const auto queue = *Queue::Create(options);
  Connection own(address_);
  own.Do(absl::StrCat("SELECT workqueue.add('", name_, "', 'x')"));
  own.Do(absl::StrCat("SELECT workqueue.add('", name_, "', 'x')"));
  EXPECT_EQ(queue->Get(), "x");
  EXPECT_EQ(metrics.count(MetricKind::kAdds), 1);
}

TEST_F(PostgresEngineTest, AShutdownEndsTheWaitOfManyItems) {
  const auto engine = NewEngine();
  auto options = Options(*engine);
  options.call_timeout = absl::Seconds(5);
  const auto queue = *Queue::Create(options);
  for (int i = 0; i < 20; ++i) {
    std::vector<std::string> items;
    for (int j = 0; j < 1000; ++j) items.push_back(absl::StrCat(i, " ", j));
    ASSERT_EQ(queue->AddItems(AddOptions::After(absl::Hours(1)), items),
              absl::OkStatus());
  }
  const auto shut_down = queue->ShutDownAndDrain(std::nullopt);
  EXPECT_TRUE(shut_down.ok()) << shut_down.status();
  EXPECT_EQ(queue->Count()->waiting, 0u);
  EXPECT_EQ(queue->CancelWait("19 999").value_or(true), false);
  EXPECT_EQ(queue->Reopen(), absl::OkStatus());
  EXPECT_EQ(queue->Count()->waiting, 0u);
}

// Each request comes after what has been committed before it.
TEST_F(PostgresEngineTest, ARequestComesAfterWhatIsCommitted) {
  const auto engine = NewEngine();
  const auto queue = NewQueue(*engine);
  Connection own(address_);
  own.Do(absl::StrCat("SELECT workqueue.add('", name_,
                      "', 'x', after => '15 min')"));
  EXPECT_EQ(queue->CancelWait("x").value_or(false), true);
  EXPECT_EQ(queue->Count()->waiting, 0u);
  own.Do(absl::StrCat("SELECT workqueue.add('", name_, "', 'y')"));
  ASSERT_TRUE(queue->ShutDownAndDrain(std::nullopt).ok());
  EXPECT_EQ(queue->Get(), "y");
  EXPECT_TRUE(queue->Done("y"));
  ASSERT_EQ(queue->Reopen(), absl::OkStatus());
  // The results of a request are those of its own operations.
  own.Do(absl::StrCat("SELECT workqueue.add('", name_, "', 'z')"));
  EXPECT_TRUE(absl::IsInvalidArgument(
      queue->AddItems({}, {"a", std::string(2049, 'x')})));
  EXPECT_EQ(queue->Get(), "z");
  EXPECT_EQ(queue->Get(), "a");
}

// The program has committed other changes together with the item.
TEST_F(PostgresEngineTest, WhatIsCommittedAfterAShutdownIsThereAfterAReopen) {
  const auto first = NewEngine(), second = NewEngine();
  ASSERT_TRUE(
      NewQueue(*first)->ShutDownAndDrain(absl::InfiniteDuration()).ok());
  Connection own(address_);
  own.Do(absl::StrCat("SELECT workqueue.add('", name_, "', 'x')"));
  own.Do(absl::StrCat("SELECT workqueue.add('", name_,
                      "', 'y', after => '15 min')"));
  const auto queue = NewQueue(*second);
  // Neither another request nor another shutdown drops it.
  EXPECT_EQ(queue->CancelWait("y").value_or(true), false);
  ASSERT_TRUE(queue->ShutDownAndDrain(absl::InfiniteDuration()).ok());
  EXPECT_EQ(queue->Count()->queued, 0u);
  ASSERT_EQ(queue->Reopen(), absl::OkStatus());
  const auto lease = queue->TryAcquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(**lease, "x");
  EXPECT_EQ(queue->Count()->waiting, 1u);
}

TEST_F(PostgresEngineTest, WhatIsCommittedBeforeAQueueHasGroupsGetsThem) {
  const auto engine = NewEngine();
  auto options = Options(*engine);
  options.fair.dimensions.resize(1);
  options.fair.dimensions[0].group_of = [](const std::string& item) {
    return item;
  };
  Connection own(address_);
  own.Do(absl::StrCat("SELECT workqueue.add('", name_, "', 'x')"));
  auto queue = Queue::Create(options);
  ASSERT_TRUE(queue.ok()) << queue.status();
  EXPECT_EQ((*queue)->Get(), "x");
}

TEST_F(PostgresEngineTest, AnAddInATransactionHasATimeAndAPriority) {
  const auto engine = NewEngine();
  const auto queue = NewQueue(*engine);
  Connection own(address_);
  own.Do("BEGIN");
  AddOptions options;
  options.priority = 5;
  EXPECT_EQ(PostgresEngine::AddInTransaction(
                own.get(), name_, options, {"high", std::string("\0\xff", 2)}),
            absl::OkStatus());
  EXPECT_EQ(PostgresEngine::AddInTransaction(own.get(), name_, {}, {"low"}),
            absl::OkStatus());
  EXPECT_EQ(PostgresEngine::AddInTransaction(
                own.get(), name_, AddOptions::After(absl::Hours(1)), {"later"}),
            absl::OkStatus());
  own.Do("COMMIT");
  EXPECT_EQ(queue->Get(), "high");
  EXPECT_EQ(queue->Get(), std::string("\0\xff", 2));
  EXPECT_EQ(queue->Get(), "low");
  const auto snapshot = queue->TakeSnapshot();
  ASSERT_EQ(snapshot->waiting.size(), 1u);
  EXPECT_EQ(snapshot->waiting[0].item, "later");
  // An item that is added while it is processed is processed again.
  own.Do(absl::StrCat("SELECT workqueue.add('", name_, "', 'low')"));
  ASSERT_TRUE(queue->TryAcquire().status().code() != absl::StatusCode::kOk);
  EXPECT_TRUE(queue->Done("low"));
  EXPECT_EQ(queue->Get(), "low");
}

TEST_F(PostgresEngineTest, AnAddInATransactionFindsItsNameInAnyEncoding) {
  const auto engine = NewEngine();
  auto options = Options(*engine);
  options.name += "é";
  const auto queue = *Queue::Create(options);
  Connection own(address_);
  own.Do("SET client_encoding TO 'LATIN1'");
  own.Do("BEGIN");
  ASSERT_EQ(
      PostgresEngine::AddInTransaction(own.get(), options.name, {}, {"é"}),
      absl::OkStatus());
  own.Do("COMMIT");
  const absl::StatusOr<Lease<std::string>> lease = queue->TryAcquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(**lease, "é");
}

TEST_F(PostgresEngineTest, AddsInATransactionHaveAnyTimeAndPriority) {
  const auto engine = NewEngine();
  const auto queue = NewQueue(*engine);
  Connection own(address_);
  const auto add = [&](const std::string& item, absl::Duration after,
                       int priority) {
    AddOptions options = AddOptions::After(after);
    options.priority = priority;
    own.Do("BEGIN");
    EXPECT_EQ(
        PostgresEngine::AddInTransaction(own.get(), name_, options, {item}),
        absl::OkStatus());
    own.Do("COMMIT");
  };
  add("never", absl::InfiniteDuration(), 0);
  add("late", absl::Hours(24 * 365 * 142), 0);
  add("low", -absl::InfiniteDuration(), std::numeric_limits<int>::min());
  add("high", absl::ZeroDuration(), std::numeric_limits<int>::max());
  const auto sql = [&](const std::string& item, const std::string& arguments) {
    return absl::StrCat("SELECT workqueue.add('", name_, "', '", item, "', ",
                        arguments, ")");
  };
  own.Do(sql("never, too", "after => '290000 years'"));
  for (const char* const wrong :
       {"2147483648", "-2147483649", "-9223372036854775808"}) {
    const std::string error =
        own.Fail(sql("x", absl::StrCat("priority => '", wrong, "'")));
    EXPECT_TRUE(absl::StrContains(error, absl::StrCat("priority is ", wrong)))
        << error;
  }
  // An earlier version took them.
  own.Do(
      absl::StrCat("INSERT INTO workqueue.inbox (queue, item, priority, due)"
                   " VALUES ('",
                   name_, "', 'lowest', -9223372036854775808, 0)"));
  EXPECT_EQ(queue->Get(), "high");
  EXPECT_EQ(queue->Get(), "low");
  EXPECT_EQ(queue->Get(), "lowest");
  const auto snapshot = queue->TakeSnapshot();
  ASSERT_EQ(snapshot->waiting.size(), 3u);
  EXPECT_EQ(snapshot->waiting[0].item, "late");
  EXPECT_NE(snapshot->waiting[0].ready_at, absl::InfiniteFuture());
  for (size_t i : {1, 2}) {
    EXPECT_EQ(snapshot->waiting[i].ready_at, absl::InfiniteFuture());
  }
}

// A process may wait between its round trips when it takes the item in.
TEST_F(PostgresEngineTest, AnAddInATransactionIsDueAtItsTime) {
  const auto engine = NewEngine();
  const auto queue = NewQueue(*engine);
  Connection own(address_), other(address_);
  other.Do("BEGIN");
  other.Do(
      absl::StrCat("SELECT pg_advisory_xact_lock('workqueue.entry'::regclass"
                   "::oid::int, (SELECT id FROM workqueue.queue WHERE name = '",
                   name_, "')::int)"));
  own.Do(absl::StrCat("SELECT workqueue.add('", name_,
                      "', 'x', after => '1 hour')"));
  const int64_t due = std::stoll(own.Do(absl::StrCat(
      "SELECT due FROM workqueue.inbox WHERE queue = '", name_, "'")));
  own.Do("BEGIN");
  own.Do("LOCK TABLE workqueue.inbox IN SHARE MODE");
  auto added = Async([&] { return Add(*queue, "y"); });
  other.Do("COMMIT");
  while (other.Do("SELECT count(*) FROM pg_locks WHERE NOT granted AND"
                  " relation = 'workqueue.inbox'::regclass") == "0") {
  }
  absl::SleepFor(absl::Milliseconds(300));
  own.Do("COMMIT");
  EXPECT_EQ(added.get(), absl::OkStatus());
  const auto waiting = queue->TakeSnapshot()->waiting;
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_GE(waiting[0].ready_at,
            absl::FromUnixMicros(due) - absl::Milliseconds(100));
}

TEST_F(PostgresEngineTest, WrongAddsInATransactionAreRefused) {
  const auto engine = NewEngine();
  auto options = Options(*engine);
  options.partitions = 2;
  const auto queue = *Queue::Create(options);
  Connection own(address_);
  own.Do("BEGIN");
  AddOptions retry, retry_after;
  retry.retry = true;
  retry_after.retry_after = absl::Seconds(1);
  for (const AddOptions& wrong :
       {AddOptions::RateLimited(), AddOptions::Reschedule(absl::Seconds(1)),
        retry, retry_after}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        PostgresEngine::AddInTransaction(own.get(), name_, wrong, {"x"})));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(PostgresEngine::AddInTransaction(
      own.get(), name_, {}, {std::string(2049, 'x')})));
  const absl::Status refused =
      PostgresEngine::AddInTransaction(own.get(), name_, {}, {"x"});
  EXPECT_TRUE(absl::StrContains(refused.message(), "has 2 partitions"))
      << refused;
}

// Each item has a partition, of which a program knows nothing.
TEST_F(PostgresEngineTest, WhatIsAddedBeforeAQueueHasPartitionsRefusesThem) {
  const auto engine = NewEngine();
  auto options = Options(*engine);
  options.partitions = 4;
  Connection own(address_), late(address_);
  own.Do(absl::StrCat("SELECT workqueue.add('", name_, "', 'x')"));
  const absl::Status refused = Queue::Create(options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "partitions is 4"))
      << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "\"workqueue\".inbox"))
      << refused;
  options.partitions = 1;
  auto queue = Queue::Create(options);
  ASSERT_TRUE(queue.ok()) << queue.status();
  EXPECT_EQ((*queue)->Get(), "x");

  // A transaction that has begun before the queue is made.
  options.name = NewQueueName();
  options.partitions = 4;
  late.Do("BEGIN");
  late.Do(absl::StrCat("SELECT workqueue.add('", options.name, "', 'y')"));
  queue = Queue::Create(options);
  ASSERT_TRUE(queue.ok()) << queue.status();
  late.Do("COMMIT");
  std::vector<std::string> items;
  for (int i = 0; i < 50; ++i) items.push_back(absl::StrCat(i));
  const absl::Status status = (*queue)->AddItems({}, items);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  late.Do(absl::StrCat("DELETE FROM workqueue.inbox WHERE queue = '",
                       options.name, "'"));
  EXPECT_EQ((*queue)->AddItems({}, items), absl::OkStatus());
}

// No process would ever take it out of the inbox.
TEST_F(PostgresEngineTest, AnAddInATransactionToAWrongNameIsRefused) {
  Connection own(address_);
  own.Do("BEGIN");
  for (const char* const wrong : {"", "{a}", "a}"}) {
    const absl::Status refused =
        PostgresEngine::AddInTransaction(own.get(), wrong, {}, {"x"});
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    Connection other(address_);
    const std::string error =
        other.Fail(absl::StrCat("SELECT workqueue.add('", wrong, "', 'x')"));
    EXPECT_TRUE(
        absl::StrContains(error, absl::StrCat("queue is \"", wrong, "\"; ")))
        << error;
  }
  const std::string error =
      own.Fail("SELECT workqueue.add(repeat('a', 2049), 'x')");
  EXPECT_TRUE(absl::StrContains(error, "queue has 2049 bytes")) << error;
}

// It would be committed at once, or not at all.
TEST_F(PostgresEngineTest, AnAddNeedsATransaction) {
  const auto engine = NewEngine();
  const auto queue = NewQueue(*engine);
  const auto add = [this](PGconn* connection) {
    return PostgresEngine::AddInTransaction(connection, name_, {}, {"x"});
  };
  EXPECT_EQ(add(nullptr), absl::InvalidArgumentError("connection is null"));
  Connection own(address_);
  EXPECT_EQ(add(own.get()),
            absl::InvalidArgumentError(
                "connection has begun no transaction; BEGIN does"));
  own.Do("BEGIN");
  own.Fail("wrong");
  EXPECT_EQ(add(own.get()),
            absl::InvalidArgumentError(
                "connection has a transaction that has failed; ROLLBACK ends "
                "it"));
  own.Do("ROLLBACK");
  own.Do("BEGIN");
  own.Fail("SELECT pg_terminate_backend(pg_backend_pid())");
  const absl::Status lost = add(own.get());
  EXPECT_TRUE(absl::IsUnavailable(lost)) << lost;
  EXPECT_TRUE(absl::StrContains(lost.message(), "connection")) << lost;
  EXPECT_EQ(queue->Count()->queued, 0u);
}

// Bytes that the server cannot compress.
std::string RandomBytes(size_t size) {
  std::string random;
  std::mt19937 bytes(1);
  while (random.size() < size) random += static_cast<char>(bytes());
  return random;
}

TEST_F(PostgresEngineTest, AnItemThatIsTooLongFailsAlone) {
  const auto engine = NewEngine();
  const auto queue = NewQueue(*engine);
  const std::string random = RandomBytes(2048);
  EXPECT_EQ(Add(*queue, random), absl::OkStatus());
  EXPECT_EQ(queue->Get(), random);
  EXPECT_EQ(queue->AddItems({}, {"x", random + "x"}),
            absl::InvalidArgumentError(
                "an item, with its group, has more than 2048 bytes, the most "
                "that this engine can keep"));
}

// A key has both. An item that waits would be added with its group when it is
// due, in a request of any process.
TEST_F(PostgresEngineTest, AnItemWithAGroupThatIsTooLongFailsAlone) {
  const auto engine = NewEngine();
  auto options = Options(*engine);
  options.fair.dimensions.resize(1);
  options.fair.dimensions[0].group_of = [](const std::string& item) {
    return RandomBytes(item[0] == '3' ? 3000 : item[0] == '1' ? 1025 : 1024);
  };
  options.retry_schedule = {absl::ZeroDuration()};
  const auto queue = *Queue::Create(options);
  const auto item = [](const std::string& begin) {
    return begin + RandomBytes(1024 - begin.size());
  };
  AddOptions retry;
  retry.retry = true;
  const AddOptions ways[] = {{},
                             retry,
                             AddOptions::After(absl::Milliseconds(1)),
                             AddOptions::Reschedule(absl::Milliseconds(1)),
                             AddOptions::RateLimited()};
  for (const AddOptions& way : ways) {
    for (const char* const long_group : {"3", "1"}) {
      const absl::Status status = queue->AddItems(way, {item(long_group)});
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    }
    ASSERT_EQ(queue->AddItems(way, {item("s")}), absl::OkStatus());
    auto lease = queue->Acquire();
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_EQ(**lease, item("s"));
    EXPECT_TRUE(lease->Done());
  }
}

// A name is a key, too.
TEST_F(PostgresEngineTest, ANameThatIsTooLongIsRefused) {
  const auto engine = NewEngine();
  Connection own(address_);
  own.Do("BEGIN");
  for (const size_t size : {2048, 2049}) {
    std::string name = RandomBytes(size);
    for (char& c : name) c = static_cast<char>('a' + (c & 15));
    auto options = Options(*engine);
    options.name = name;
    LeaderElectorOptions election;
    election.name = name;
    election.engine = engine.get();
    const absl::StatusCode expected = size > 2048
                                          ? absl::StatusCode::kInvalidArgument
                                          : absl::StatusCode::kOk;
    EXPECT_EQ(Queue::Create(options).status().code(), expected);
    EXPECT_EQ(
        PostgresEngine::AddInTransaction(own.get(), name, {}, {"x"}).code(),
        expected);
    const auto elector = LeaderElector::Create(std::move(election));
    ASSERT_TRUE(elector.ok()) << elector.status();
    EXPECT_EQ((*elector)->Start().code(), expected);
  }
}

TEST_F(PostgresEngineTest, TablesAreMadeAndChecked) {
  const std::string address = address_ + "&schema=Other_1";
  const auto missing = PostgresEngine::Create(address).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(missing)) << missing;
  EXPECT_TRUE(absl::StrContains(missing.message(), "Migrate()")) << missing;
  // Two processes at the same time, and again.
  auto made = Async([&] { return PostgresEngine::Migrate(address); });
  EXPECT_EQ(PostgresEngine::Migrate(address), absl::OkStatus());
  EXPECT_EQ(made.get(), absl::OkStatus());
  EXPECT_EQ(PostgresEngine::Migrate(address), absl::OkStatus());
  const auto engine = PostgresEngine::Create(address);
  ASSERT_TRUE(engine.ok()) << engine.status();
  const auto queue = NewQueue(**engine);
  ASSERT_TRUE(Add(*queue, "x").ok());

  Connection own(address_);
  own.Do("UPDATE \"Other_1\".version SET version = 2");
  for (const absl::Status& status :
       {PostgresEngine::Create(address).status(), Add(*queue, "y"),
        PostgresEngine::Migrate(address)}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "version 2")) << status;
    EXPECT_FALSE(absl::StrContains(status.message(), "missing")) << status;
  }
  own.Do("UPDATE \"Other_1\".version SET version = 1");
  EXPECT_EQ(queue->Count()->queued, 1u);
}

// The numbers of queues begin again in new tables, so a process that knows the
// old ones must not use them.
TEST_F(PostgresEngineTest, TablesThatAreMadeAnewAreOthers) {
  const std::string address = address_ + "&schema=anew";
  const auto new_queue = [&](PostgresEngine& engine, const std::string& name) {
    auto options = Options(engine);
    options.name = name;
    return NewSharedQueue(options);
  };
  ASSERT_EQ(PostgresEngine::Migrate(address), absl::OkStatus());
  auto old = *PostgresEngine::Create(address);
  auto a = new_queue(*old, "a");
  ASSERT_TRUE(Add(*a, "x").ok());

  Connection own(address_);
  own.Do("DROP SCHEMA anew CASCADE");
  ASSERT_EQ(PostgresEngine::Migrate(address), absl::OkStatus());
  const auto engine = *PostgresEngine::Create(address);
  const auto adds = *PostgresEngine::Create(address);
  const auto b = new_queue(*engine, "b");
  for (const absl::Status& status : {Add(*a, "y"), a->TakeSnapshot().status(),
                                     Queue::Create(Options(*old)).status()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "made anew")) << status;
  }
  EXPECT_EQ(b->Count()->queued, 0u);
  // Nor does it take the messages of others, or remove their listeners.
  const std::string listeners =
      "SELECT string_agg(id::text, ' ' ORDER BY id) FROM anew.listener";
  const std::string of_b = own.Do(listeners);
  absl::SleepFor(absl::Milliseconds(1500));
  a.reset();
  old.reset();
  EXPECT_EQ(own.Do(listeners), of_b);
  const auto again = new_queue(*adds, "a");
  EXPECT_EQ(again->Count()->queued, 0u);
  EXPECT_EQ(Add(*again, "z"), absl::OkStatus());
}

TEST_F(PostgresEngineTest, AQueueThatIsRemovedIsMadeAgain) {
  const std::string address = address_ + "&schema=removed";
  ASSERT_EQ(PostgresEngine::Migrate(address), absl::OkStatus());
  const auto engine = *PostgresEngine::Create(address);
  const auto a = NewQueue(*engine);
  ASSERT_TRUE(Add(*a, "x").ok());
  Connection own(address_);
  own.Do(
      "TRUNCATE removed.queue, removed.entry RESTART IDENTITY;"
      "INSERT INTO removed.queue (name, layout) VALUES ('b', '1')");
  EXPECT_EQ(Add(*a, "y"), absl::OkStatus());
  EXPECT_EQ(own.Do("SELECT count(*) FROM removed.entry WHERE queue = 1"), "0");
  EXPECT_EQ(a->Count()->queued, 1u);
  own.Do("UPDATE removed.queue SET id = DEFAULT, layout = '2' WHERE id <> 1");
  const absl::Status other = Add(*a, "z");
  EXPECT_TRUE(absl::IsFailedPrecondition(other)) << other;
  EXPECT_TRUE(absl::StrContains(other.message(), "layout")) << other;
}

TEST_F(PostgresEngineTest, WrongAddressesAreNamed) {
  const auto error_of = [](const std::string& address) {
    return PostgresEngine::Create(address).status();
  };
  EXPECT_TRUE(absl::IsInvalidArgument(error_of("")));
  EXPECT_TRUE(
      absl::IsInvalidArgument(error_of(absl::StrCat(address_, "&schema=a'b"))));
  const std::string nowhere = "postgres:///x?host=/nowhere";
  EXPECT_TRUE(absl::IsUnavailable(PostgresEngine::Migrate(nowhere)));
  const auto engine = PostgresEngine::Create(nowhere);
  ASSERT_TRUE(engine.ok()) << engine.status();
  auto options = Options(**engine);
  options.call_timeout = absl::Milliseconds(10);
  const absl::Status nobody = Queue::Create(options).status();
  EXPECT_TRUE(absl::IsUnavailable(nobody)) << nobody;
}

// A wait would never end. The messages of libpq may show a password.
TEST_F(PostgresEngineTest, AddressesThatLibpqRefusesAreWrong) {
  for (const std::string& wrong :
       {absl::StrCat(address_, "&sslmod=SECRET"),
        absl::StrCat(address_, "&sslmode=SECRET"),
        absl::StrCat(address_, "&port=SECRET"),
        absl::StrCat(address_, "&port=1,2,3"),
        std::string("postgres://me:SECRET%ZZ@h/x"),
        std::string("postgres://me:SECRET/x@h/x"),
        std::string("postgres://me:x@SECRET@h/x"),
        std::string("postgres://me:1/SECRET@h/x"),
        std::string("postgres://me:SEC?RET=1/@h/x"),
        std::string("postgres://me@h:SECRET/x"),
        std::string("postgres://me@h:99999/x"),
        std::string("host=/nowhere password='SECRET"),
        std::string("host=/nowhere schema=SECRET"),
        absl::StrCat(address_, std::string(1, '\0'), "&sslmode=require")}) {
    for (const absl::Status& status : {PostgresEngine::Create(wrong).status(),
                                       PostgresEngine::Migrate(wrong)}) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << wrong << ": " << status;
      EXPECT_TRUE(absl::StrContains(status.message(), "address")) << status;
      EXPECT_FALSE(absl::StrContains(status.message(), "SEC")) << status;
    }
  }
  EXPECT_EQ(PostgresEngine::Create(absl::StrCat(address_, "&sslmod=require"))
                .status(),
            absl::InvalidArgumentError(
                "address has the parameter \"sslmod\", which libpq does not "
                "know"));
}

TEST_F(PostgresEngineTest, AddressesReachLibpqAsTheyAre) {
  for (const char* const address :
       {"host=/nowhere dbname=a?b password=SECRET?",
        "postgres://me:SEC?RET@/a%3Fb?schema=other&host=/nowhere",
        "postgres:///a%3Fb?host=/nowhere&schema=other&port=1"}) {
    const auto engine = PostgresEngine::Create(address);
    ASSERT_TRUE(engine.ok()) << engine.status();
    const std::string name = (*engine)->Name();
    EXPECT_TRUE(absl::StrContains(name, "database a?b at /nowhere")) << name;
  }
}

TEST_F(PostgresEngineTest, ALoginThatIsRefusedIsNotAwaited) {
  const absl::Status user =
      PostgresEngine::Create(absl::StrCat(address_, "&user=nobody_here"))
          .status();
  EXPECT_TRUE(absl::IsUnauthenticated(user)) << user;
  EXPECT_TRUE(absl::StrContains(user.message(), "nobody_here")) << user;
  EXPECT_FALSE(absl::StrContains(user.message(), "LOCATION")) << user;
  const absl::Status database =
      PostgresEngine::Create(absl::StrCat(address_, "&dbname=nothing_here"))
          .status();
  EXPECT_TRUE(absl::IsNotFound(database)) << database;
  EXPECT_TRUE(absl::StrContains(database.message(), "nothing_here"))
      << database;
}

TEST_F(PostgresEngineTest, AWishForAStandbyIsRefused) {
  const auto open = [this](const std::string& target) {
    return PostgresEngine::Create(
               absl::StrCat(address_, "&target_session_attrs=", target))
        .status();
  };
  for (const char* const good :
       {"any", "primary", "read-write", "prefer-standby"}) {
    EXPECT_EQ(open(good), absl::OkStatus());
  }
  for (const char* const wrong : {"standby", "read-only"}) {
    const absl::Status status = open(wrong);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_TRUE(absl::StrContains(
        status.message(), absl::StrCat("target_session_attrs=", wrong, ",")))
        << status;
  }
}

// A schema comes into texts between several kinds of quotes.
TEST_F(PostgresEngineTest, WrongSchemasAreRefused) {
  Connection own(address_);
  for (const char* const wrong : {"", "a'b", "a\"b", "a$$b", "a%b", "a\nb"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        PostgresEngine::Migrate(absl::StrCat(address_, "&schema=", wrong))));
    EXPECT_TRUE(absl::IsInvalidArgument(
        PostgresEngine::AddInTransaction(own.get(), name_, {}, {"x"}, wrong)));
    const std::string error = own.Fail(PostgresEngine::MigrationSql(wrong));
    EXPECT_TRUE(absl::StrContains(error, "must have letters")) << error;
  }
}

// The server would cut it, and two schemas might be one.
TEST_F(PostgresEngineTest, ASchemaThatIsTooLongIsRefused) {
  const std::string longest(63, 'a');
  EXPECT_EQ(
      PostgresEngine::Migrate(absl::StrCat(address_, "&schema=", longest)),
      absl::OkStatus());
  EXPECT_EQ(
      PostgresEngine::Migrate(absl::StrCat(address_, "&schema=", longest, "b")),
      absl::InvalidArgumentError(
          absl::StrCat("schema is \"", longest,
                       "b\"; it must have letters, digits and _ only, and 63 "
                       "bytes at most")));
  Connection own(address_);
  EXPECT_TRUE(absl::StrContains(
      own.Fail(PostgresEngine::MigrationSql(longest + "b")), "63 bytes"));
  EXPECT_EQ(PostgresEngine::Create(absl::StrCat(address_, "&schema=a&schema=b"))
                .status(),
            absl::InvalidArgumentError(
                "address has schema=a and schema=b; only one of them can be"));
}

TEST_F(PostgresEngineTest, AUserWithoutRightsIsToldSo) {
  Connection own(address_);
  own.Do("DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN");
  const std::string address = absl::StrCat(address_, "&user=stranger");
  const absl::Status status = PostgresEngine::Create(address).status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
}

TEST_F(PostgresEngineTest, AnAddressNamesADatabase) {
  RegisterPostgres();
  SharedQueueOptions<std::string> options;
  options.name = name_;
  options.address = address_;
  const auto a = *Queue::Create(options);
  const auto b = *Queue::Create(options);
  ASSERT_TRUE(Add(*a, "x").ok());
  EXPECT_EQ(b->Get(), "x");

  LeaderElectorOptions election;
  election.name = name_;
  election.address = address_;
  const auto elector = LeaderElector::Create(std::move(election));
  ASSERT_TRUE(elector.ok()) << elector.status();
  EXPECT_TRUE((*elector)->Start().ok());
  while (!(*elector)->IsLeader()) {
  }
}

TEST_F(PostgresEngineTest, ANameServerThatDoesNotAnswerHoldsNothingUp) {
  const auto connect = [](const std::string& address) {
    return internal::PostgresConnection::Connect(
               address, absl::Now() + absl::Milliseconds(500))
        .status();
  };
  const std::string address =
      absl::StrCat("postgres://", kSilentHost, ":1/postgres");
  // After a host that does not answer, the next one has its turn.
  std::string two = address_;
  two.insert(two.find("host=") + 5, absl::StrCat(kSilentHost, ","));
  two += "&port=1,5432";
  absl::Notification answers;
  name_server = &answers;
  const absl::Time begin = absl::Now();
  const absl::Status silent = connect(address);
  EXPECT_TRUE(absl::IsUnavailable(silent)) << silent;
  EXPECT_TRUE(absl::StrContains(silent.message(), "silent.example in time"))
      << silent;
  EXPECT_EQ(connect(two), absl::OkStatus());
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  answers.Notify();
  name_server = nullptr;
  absl::Status refused;
  do {
    refused = connect(address);
  } while (absl::StrContains(refused.message(), "in time"));
  EXPECT_TRUE(absl::StrContains(refused.message(), "\"127.0.0.1\", port 1"))
      << refused;
  EXPECT_EQ(connect(two), absl::OkStatus());
}

// Such as a notification. The result before it is known.
TEST_F(PostgresEngineTest, WhatIsApartCanBeLate) {
  for (const char* const late :
       {"SELECT pg_sleep(60)",
        "SELECT pg_terminate_backend(pg_backend_pid())"}) {
    auto connection = internal::PostgresConnection::Connect(
        address_, absl::Now() + absl::Seconds(10));
    ASSERT_TRUE(connection.ok()) << connection.status();
    const auto rows =
        (*connection)
            ->Execute({{"SELECT 17::bigint"}, {late, {}, /*apart=*/true}},
                      absl::Now() + absl::Seconds(1));
    ASSERT_TRUE(rows.ok()) << rows.status();
    ASSERT_EQ(rows->size(), 1u);
    EXPECT_EQ(rows->front().Number(0, 0), 17);
    EXPECT_FALSE((*connection)->healthy());
  }
}

// A server that says nothing, and takes connections if the test does.
class SilentServer {
 public:
  SilentServer() {
    sockaddr_un path = {};
    path.sun_family = AF_UNIX;
    absl::SNPrintF(path.sun_path, sizeof(path.sun_path), "%s/.s.PGSQL.5432",
                   folder());
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&path), sizeof(path)),
              0);
    EXPECT_EQ(listen(socket_, 100), 0);
  }
  ~SilentServer() { close(socket_); }

  const std::string& folder() const { return folder_.path(); }
  std::string address() const { return "postgres:///x?host=" + folder(); }
  // -1 after `Shutdown()`.
  int Accept() const { return accept(socket_, nullptr, nullptr); }
  void Shutdown() const { shutdown(socket_, SHUT_RDWR); }

 private:
  const TemporaryFolder folder_;
  const int socket_ = socket(AF_UNIX, SOCK_STREAM, 0);
};

TEST_F(PostgresEngineTest, AnElectorEndsWhileItConnects) {
  const SilentServer silent;
  auto engine =
      PostgresEngine::Create(silent.address(), nullptr, absl::Milliseconds(10));
  ASSERT_TRUE(engine.ok()) << engine.status();
  close(silent.Accept());
  LeaderElectorOptions options;
  options.name = name_;
  options.engine = engine->get();
  options.lease_duration = absl::Seconds(90);
  options.renew_deadline = absl::Seconds(60);
  options.retry_period = absl::Seconds(30);
  auto elector = *LeaderElector::Create(std::move(options));
  ASSERT_EQ(elector->Start(), absl::OkStatus());
  // One of them is the elector's, and the others look for messages.
  const int connections[] = {silent.Accept(), silent.Accept(), silent.Accept()};
  const absl::Time begin = absl::Now();
  elector->Stop();
  elector = nullptr;
  *engine = nullptr;
  EXPECT_LT(absl::Now() - begin, absl::Seconds(4));
  for (int it : connections) close(it);
}

TEST_F(PostgresEngineTest, AnOutageIsNotMadeWorse) {
  const SilentServer server;
  std::atomic<int> connections{0};
  auto refuses = Async([&] {
    for (int it; (it = server.Accept()) >= 0; close(it)) ++connections;
  });
  const auto engine = PostgresEngine::Create(server.address());
  ASSERT_TRUE(engine.ok()) << engine.status();
  auto options = Options(**engine);
  options.call_timeout = absl::Seconds(3);
  const absl::Time begin = absl::Now();
  const absl::Status status = Queue::Create(options).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(2500));
  server.Shutdown();
  refuses.get();
  EXPECT_GT(connections, 5);
  EXPECT_LT(connections, 40);
}

// Only a full disk is a full engine, which takes no adds.
TEST_F(PostgresEngineTest, OnlyAFullDiskIsAFullEngine) {
  Connection own(address_);
  const auto engine = NewEngine();
  auto options = Options(*engine);
  options.call_timeout = absl::Seconds(1);
  const auto queue = *Queue::Create(options);
  const auto fail_adds = [&](const std::string& name) {
    own.Do(absl::StrCat(
        "CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE ",
        name,
        "; END $$;"
        "CREATE OR REPLACE TRIGGER fail BEFORE INSERT ON workqueue.entry"
        " FOR EACH ROW WHEN (NEW.key >= 'i' AND NEW.key < 'j')"
        " EXECUTE FUNCTION fail()"));
    const absl::Status status = Add(*queue, "x");
    own.Do("DROP TRIGGER fail ON workqueue.entry");
    return status;
  };
  const absl::Status full = fail_adds("disk_full");
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_EQ(queue->NumRequeues("x"), 0);
  EXPECT_TRUE(absl::IsResourceExhausted(queue->Healthy()));
  EXPECT_EQ(Add(*queue, "y"), absl::OkStatus());
  EXPECT_EQ(queue->Healthy(), absl::OkStatus());
  for (const char* const name : {"out_of_memory", "insufficient_resources"}) {
    const absl::Status status = fail_adds(name);
    EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsUnknown(status))
        << status;
  }
}

TEST_F(PostgresEngineTest, AProcessWithoutFileDescriptorsFindsNoFullEngine) {
  const auto engine = PostgresEngine::Create(
      absl::StrCat("postgres://", kSilentHost, ":1/postgres"), nullptr,
      absl::Milliseconds(10));
  ASSERT_TRUE(engine.ok()) << engine.status();
  auto options = Options(**engine);
  options.call_timeout = absl::Milliseconds(100);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {3, before.rlim_max};  // 0 to 2 are in use
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const absl::Status status = Queue::Create(options).status();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

// Of the time of a call, all that it does is a part.
TEST_F(PostgresEngineTest, AServerThatSaysNothingHoldsUpOnlyWhoCallsIt) {
  RegisterPostgres();
  const SilentServer silent;
  const std::string address = silent.address();
  const auto open = [&](const std::string& at, absl::Duration timeout) {
    SharedQueueOptions<std::string> options;
    options.name = name_;
    options.address = at;
    options.call_timeout = timeout;
    return Queue::Create(options).status();
  };
  auto other = Async([&] { return open(address, absl::Seconds(9)); });
  const absl::Time begin = absl::Now();
  const absl::Status status = open(address, absl::Seconds(1));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(open(address_, absl::Seconds(5)), absl::OkStatus());
  // The next host has its turn.
  std::string two = address_;
  two.insert(two.find("host=") + 5, silent.folder() + ",");
  EXPECT_EQ(open(two, absl::Seconds(2)), absl::OkStatus());
  LeaderElectorOptions election;
  election.name = name_;
  election.address = address;
  election.retry_period = absl::Seconds(1);
  EXPECT_TRUE(LeaderElector::Create(std::move(election)).ok());
  EXPECT_LT(absl::Now() - begin, absl::Seconds(8));
  EXPECT_TRUE(absl::IsUnavailable(other.get()));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(14));
}

// A chapter of the guide.
TEST_F(PostgresEngineTest, TheGuide) {
  const std::string address = address_ + "&schema=guide";
  const auto open = [&]() -> absl::Status {
    workqueue::RegisterPostgres();
    const absl::Status made = workqueue::PostgresEngine::Migrate(address);
    if (!made.ok()) return made;
    workqueue::SharedQueueOptions<std::string> shared;
    shared.name = "orders";
    shared.address = address;  // postgres://shop@db.example.com/shop
    auto queue = workqueue::SharedQueue<std::string>::Create(std::move(shared));
    if (!queue.ok()) return queue.status();
    return Add(**queue, "x");
  };
  EXPECT_EQ(open(), absl::OkStatus());
}

// A commit that waits for nobody would be lost with the server. And who is
// suspended between its two round trips must not keep the others away.
TEST_F(PostgresEngineTest, ItsTransactionsHaveTheSettingsThatTheyNeed) {
  Connection own(address_);
  own.Do(
      "DROP ROLE IF EXISTS hasty; CREATE ROLE hasty LOGIN SUPERUSER;"
      "ALTER ROLE hasty SET synchronous_commit = off");
  const auto engine =
      *PostgresEngine::Create(absl::StrCat(address_, "&user=hasty"));
  const auto queue = NewQueue(*engine);
  // What a transaction has set cannot be seen from outside. A trigger notes it.
  own.Do(
      "CREATE TABLE IF NOT EXISTS seen (setting text);"
      "CREATE OR REPLACE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS"
      " $$ BEGIN INSERT INTO seen SELECT current_setting('synchronous_commit')"
      " || ' ' || current_setting('idle_in_transaction_session_timeout');"
      " RETURN NULL; END $$;"
      "CREATE OR REPLACE TRIGGER note AFTER INSERT ON workqueue.entry"
      " EXECUTE FUNCTION note()");
  ASSERT_TRUE(Add(*queue, "x").ok());
  own.Do("DROP TRIGGER note ON workqueue.entry");
  EXPECT_EQ(own.Do("SELECT DISTINCT setting FROM seen"), "on 2s");
}

class PostgresServerTest : public PostgresEngineTest {
 protected:
  PostgresServerTest() {
    auto server = PostgresServer::Start();
    if (!server.ok()) DieOf(server.status());
    server_ = *std::move(server);
    EXPECT_EQ(PostgresEngine::Migrate(server_->address()), absl::OkStatus());
  }

  std::unique_ptr<PostgresServer> server_;
};

TEST_F(PostgresServerTest, ACrashOfTheServerLosesNothing) {
  const auto engine = NewEngine(*server_);
  auto options = Options(*engine);
  options.call_timeout = absl::Seconds(2);
  const auto queue = NewSharedQueue(options);
  ASSERT_TRUE(Add(*queue, "x").ok());
  const auto lease = queue->Acquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  ASSERT_TRUE(
      queue->AddItems(AddOptions::After(absl::Hours(1)), {"later"}).ok());
  server_->Crash();
  const absl::Status away = Add(*queue, "y");
  EXPECT_TRUE(absl::IsUnavailable(away) || absl::IsUnknown(away)) << away;
  EXPECT_FALSE(queue->Healthy().ok());
  EXPECT_FALSE(queue->TakeSnapshot().ok());
  server_->StartAgain();
  while (!Add(*queue, "z").ok()) {
  }
  // Pushes come again, too.
  EXPECT_EQ(queue->Get(), "z");
  auto got = Async([&] { return queue->Get(); });
  while (!Add(*queue, "pushed").ok()) {
  }
  EXPECT_EQ(got.get(), "pushed");
  const auto count = queue->Count();
  EXPECT_EQ(count->waiting, 1u);
  EXPECT_EQ(count->processing, 3u);
}

TEST_F(PostgresServerTest, SettingsThatLoseItemsAreNamed) {
  const PostgresServer& server = *server_;
  Connection own(server.address());
  own.Do("ALTER SYSTEM SET fsync = off");
  own.Do("SELECT pg_reload_conf()");
  while (own.Do("SHOW fsync") != "off") {
  }
  const auto engine =
      *PostgresEngine::Create(server.address() + "&password=secret");
  const absl::Status status = Queue::Create(Options(*engine)).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StartsWith(
      status.message(),
      absl::StrCat("the PostgreSQL database postgres at ",
                   absl::StripSuffix(server.database(), "/db"),
                   " does not keep all promises of a shared queue: fsync is "
                   "off")))
      << status;
}

// Starts a server that follows that one, but hears nothing of it.
std::unique_ptr<PostgresServer> StandbyOf(PostgresServer& server) {
  server.Stop();
  PostgresServer::Options options;
  options.fill = [&](const std::string& folder) {
    std::filesystem::copy(server.database(), folder,
                          std::filesystem::copy_options::recursive);
    std::ofstream(folder + "/standby.signal");
  };
  auto standby = PostgresServer::Start(std::move(options));
  if (!standby.ok()) DieOf(standby.status());
  server.StartAgain();
  return *std::move(standby);
}

// Each host of a failover is in the address. The one before has become a
// standby, which answers, and allows to read what it knows.
TEST_F(PostgresServerTest, AStandbyIsLeft) {
  const auto standby = StandbyOf(*server_);
  const auto folder_of = [](const PostgresServer& server) {
    return std::string(absl::StripSuffix(server.database(), "/db"));
  };
  const TemporaryFolder nobody;
  const std::string both =
      absl::StrCat("postgres:///postgres?user=test&host=", nobody.path(), ",",
                   folder_of(*standby), ",", folder_of(*server_));
  EXPECT_EQ(PostgresEngine::Migrate(both), absl::OkStatus());
  const auto engine = PostgresEngine::Create(both);
  ASSERT_TRUE(engine.ok()) << engine.status();
  const auto queue = NewQueue(**engine);
  EXPECT_EQ(Add(*queue, "x"), absl::OkStatus());
  EXPECT_EQ(queue->TakeSnapshot()->queued.size(), 1u);
  const auto other = NewEngine(*server_);
  EXPECT_EQ(NewQueue(*other)->Count()->queued, 1u);

  // A program that begins before there is a primary waits for it.
  const auto lone = PostgresEngine::Create(standby->address());
  ASSERT_TRUE(lone.ok()) << lone.status();
  auto options = Options(**lone);
  options.call_timeout = absl::Seconds(1);
  for (const absl::Status& status :
       {Queue::Create(options).status(),
        PostgresEngine::Migrate(standby->address())}) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_TRUE(absl::StrContains(
        status.message(),
        absl::StrCat("the server at ", folder_of(*standby), " is a standby")))
        << status;
  }

  // The failover.
  server_->Stop();
  Connection(standby->address()).Do("SELECT pg_promote()");
  std::ofstream(server_->database() + "/standby.signal");
  server_->StartAgain();
  EXPECT_EQ(Add(*queue, "y"), absl::OkStatus());
  EXPECT_EQ(NewQueue(**lone)->TakeSnapshot()->queued.at(0).item, "y");
}

// The connections to the pooler outlive the failover.
TEST_F(PostgresServerTest, AStandbyBehindAPoolerIsAwaited) {
  const auto pooler = server_->StartPooler();
  if (IsNotRequired(pooler.status())) GTEST_SKIP() << pooler.status();
  ASSERT_TRUE(pooler.ok()) << pooler.status();
  const auto engine = *PostgresEngine::Create(*pooler);
  auto options = Options(*engine);
  options.require_durable_server = false;
  options.call_timeout = absl::Seconds(1);
  const auto queue = NewSharedQueue(options);
  ASSERT_EQ(Add(*queue, "x"), absl::OkStatus());
  server_->Stop();
  std::ofstream(server_->database() + "/standby.signal");
  server_->StartAgain();
  absl::Status away;
  do {
    away = Add(*queue, "y");
    ASSERT_TRUE(absl::IsUnavailable(away) || absl::IsUnknown(away)) << away;
  } while (!absl::StrContains(away.message(), "standby"));
  Connection(server_->address()).Do("SELECT pg_promote()");
  while (!Add(*queue, "z").ok()) {
  }
  EXPECT_EQ(queue->Get(), "x");
}

// The server ends a commit as if it had succeeded if somebody cancels the wait
// for the standby, or ends the session. A request that is made again finds that
// it has been applied. Only a warning tells it, which a role may not want.
TEST_F(PostgresServerTest, ACommitThatIsOnNoStandbyIsNotAcknowledged) {
  Connection own(server_->address());
  own.Do("ALTER ROLE test SET client_min_messages = error");
  const auto engine = NewEngine(*server_);
  auto options = Options(*engine);
  options.call_timeout = absl::Seconds(1);
  const auto queue = NewSharedQueue(options);
  own.Do("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  own.Do("SELECT pg_reload_conf()");
  while (Add(*queue, "until it is so").ok()) {
  }
  for (const char* const end : {"pg_cancel_backend", "pg_terminate_backend"}) {
    absl::Status status;
    do {
      auto added = Async([&] { return Add(*queue, end); });
      while (added.wait_for(std::chrono::milliseconds(1)) !=
             std::future_status::ready) {
        own.Do(absl::StrCat("SELECT ", end,
                            "(pid) FROM pg_stat_activity WHERE wait_event ="
                            " 'SyncRep'"));
      }
      status = added.get();
    } while (absl::IsUnavailable(status));  // because of the one before
    EXPECT_TRUE(absl::IsUnknown(status)) << end << ": " << status;
  }
  own.Do("ALTER SYSTEM RESET synchronous_standby_names");
  own.Do("SELECT pg_reload_conf()");
  while (!Add(*queue, "x").ok()) {
  }
  EXPECT_EQ(queue->Count()->queued, 4u);
}

// A wait for a standby goes on at the server when the call has ended.
TEST_F(PostgresServerTest, ListenersWaitForNoStandby) {
  const auto engine = NewEngine(*server_);
  auto queue = NewQueue(*engine);
  const std::string id = "SELECT id FROM workqueue.listener";
  std::string before;
  {
    Connection own(server_->address());
    before = own.Do(id);
    own.Do("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  }
  server_->Stop();
  server_->StartAgain();
  Connection own(server_->address());
  const absl::Time begin = absl::Now();
  while (own.Do(id) == before && absl::Now() < begin + absl::Seconds(20)) {
  }
  EXPECT_NE(own.Do(id), before);
  queue.reset();
  EXPECT_EQ(own.Do(id), "");
}

// The attempt before may have done it, whatever this one is told.
TEST_F(PostgresServerTest, ACommitIsUnknownAlthoughTheNextAttemptIsRefused) {
  Connection own(server_->address());
  own.Do("CREATE ROLE leaves LOGIN SUPERUSER");
  const auto engine =
      *PostgresEngine::Create(server_->address() + "&user=leaves");
  const auto queue = NewQueue(*engine);
  own.Do("SET synchronous_commit = local");
  own.Do("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  own.Do("SELECT pg_reload_conf()");
  while (own.Do("SHOW synchronous_standby_names") != "nobody") {
  }
  auto added = Async([&] { return Add(*queue, "x"); });
  while (own.Do("SELECT count(*) FROM pg_stat_activity WHERE wait_event ="
                " 'SyncRep'") == "0") {
  }
  own.Do("ALTER ROLE leaves NOLOGIN");
  while (added.wait_for(std::chrono::milliseconds(1)) !=
         std::future_status::ready) {
    own.Do(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename ="
        " 'leaves'");
  }
  const absl::Status status = added.get();
  EXPECT_TRUE(absl::IsUnknown(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "leaves")) << status;
}

// What has been processed cannot be removed while somebody's transaction stays
// open. No request looks at it again and again.
TEST_F(PostgresServerTest, ARequestPassesNoRemains) {
  Connection open(server_->address()), looks(server_->address());
  // It would read the tables, too.
  looks.Do("ALTER SYSTEM SET autovacuum = off");
  looks.Do("SELECT pg_reload_conf()");
  open.Do("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
  const auto blocks_of = [&](int cycles) {
    const auto blocks = [&] {
      return std::stoll(looks.Do(
          "SELECT coalesce(sum(heap_blks_hit + heap_blks_read), 0)"
          " FROM pg_statio_user_tables WHERE relid IN"
          " ('workqueue.entry'::regclass, 'workqueue.front'::regclass)"));
    };
    const int64_t before = blocks();
    {
      const auto engine = NewEngine(*server_);
      const auto queue = NewQueue(*engine);
      for (int i = 0; i < cycles; ++i) {
        EXPECT_TRUE(Add(*queue, absl::StrCat(i)).ok());
        auto lease = queue->Acquire();
        EXPECT_TRUE(lease.ok() && lease->Done());
      }
    }
    // The server counts what a session has read no later than at its end.
    while (looks.Do("SELECT count(*) FROM pg_stat_activity WHERE backend_type ="
                    " 'client backend'") != "2") {
    }
    return blocks() - before;
  };
  const int64_t few = blocks_of(50);
  blocks_of(1000);
  const int64_t many = blocks_of(50);
  EXPECT_GT(few, 0);
  EXPECT_LT(many, 2 * few);
}

// Those of workers that have waited.
TEST_F(PostgresServerTest, AnAddInATransactionPassesNoRemains) {
  const auto engine = NewEngine(*server_);
  const auto queue = NewQueue(*engine);
  Connection open(server_->address()), own(server_->address());
  open.Do("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
  own.Do(
      "INSERT INTO workqueue.entry SELECT id, 't'::bytea || int8send(n), 1, ''"
      " FROM workqueue.queue, generate_series(1, 10000) n ORDER BY random()");
  own.Do("DELETE FROM workqueue.entry WHERE key >= 't' AND key < 'u'");
  ASSERT_TRUE(Add(*queue, "x").ok());
  Connection adds(server_->address());
  adds.Do("BEGIN");
  adds.Do(absl::StrCat("SELECT workqueue.add('", name_, "', 'y')"));
  EXPECT_LT(std::stoi(adds.Do("SELECT pg_stat_get_xact_blocks_fetched("
                              "'workqueue.entry'::regclass)")),
            1000);
}

TEST_F(PostgresServerTest, CallsWaitForALockOnlyUntilTheirDeadline) {
  const auto engine = NewEngine(*server_);
  auto options = Options(*engine);
  options.call_timeout = absl::Seconds(2);
  const auto queue = NewSharedQueue(options);
  Connection other(server_->address());
  other.Do("BEGIN");
  other.Do(
      "SELECT pg_advisory_xact_lock('workqueue.entry'::regclass::oid::int,"
      " (SELECT id FROM workqueue.queue)::int)");
  const absl::Status status = Add(*queue, "x");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  other.Do("COMMIT");
  while (!Add(*queue, "y").ok()) {
  }
  EXPECT_EQ(queue->Get(), "y");
}

// A server's process that waits for a lock does not notice that its client has
// left. So nothing waits there for long, or the server's connections run out.

int Waiting(Connection& looks) {
  return std::stoi(
      looks.Do("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type ="
               " 'Lock'"));
}

TEST_F(PostgresServerTest, AListenerGoesOnBesideItsLostConnection) {
  const auto engine = NewEngine(*server_), b = NewEngine(*server_);
  const auto queue = NewQueue(*engine);
  Connection lost(server_->address()), looks(server_->address());
  // It gets the listener's lock, as if it were the session of a connection that
  // is cut off, when that of the connection has ended.
  ASSERT_TRUE(PQsendQuery(lost.get(),
                          "SELECT pg_advisory_lock(id + ("
                          " 'workqueue.listener'::regclass::oid::bigint << 32))"
                          " FROM workqueue.listener"));
  while (Waiting(looks) == 0) {
  }
  const std::string ours =
      " FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted";
  looks.Do("SELECT pg_terminate_backend(pid)" + ours);
  PQclear(PQgetResult(lost.get()));
  PQclear(PQgetResult(lost.get()));
  absl::SleepFor(absl::Seconds(4));
  EXPECT_LE(Waiting(looks), 1);
  // It hears of items, and need not look for them each second.
  const auto adds = NewQueue(*b);
  const absl::Time begin = absl::Now();
  for (int i = 0; i < 20; ++i) {
    auto got = Async([&] { return queue->Get(); });
    while (WaitingWorkers(*adds) == 0) {
    }
    ASSERT_TRUE(Add(*adds, absl::StrCat(i)).ok());
    EXPECT_EQ(got.get(), absl::StrCat(i));
    EXPECT_TRUE(queue->Done(absl::StrCat(i)));
  }
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  // In the end it has its lock again.
  lost.Do("SELECT pg_advisory_unlock_all()");
  while (looks.Do("SELECT count(*)" + ours) != "2") {
  }
}

// A server far away, or one of several hosts, needs more than a second.
TEST_F(PostgresServerTest, AListenerComesBackToASlowServer) {
  const auto engine = NewEngine(*server_);
  const auto queue = NewQueue(*engine);
  Connection own(server_->address());
  own.Do("ALTER SYSTEM SET pre_auth_delay = 2");
  own.Do("SELECT pg_reload_conf()");
  while (own.Do("SHOW pre_auth_delay") != "2s") {
  }
  const std::string locks =
      " FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND"
      " mode = 'ExclusiveLock'";
  const std::string count = "SELECT count(*)" + locks;
  EXPECT_EQ(own.Do(count), "1");
  own.Do("SELECT pg_terminate_backend(pid)" + locks);
  while (own.Do(count) != "0") {
  }
  const absl::Time begin = absl::Now();
  while (own.Do(count) != "1" && absl::Now() < begin + absl::Seconds(20)) {
  }
  EXPECT_EQ(own.Do(count), "1");
}

TEST_F(PostgresServerTest, AConnectionThatMayNotListenIsTriedEachSecond) {
  Connection own(server_->address());
  own.Do(
      "CREATE ROLE plain LOGIN; GRANT USAGE ON SCHEMA workqueue TO plain;"
      "GRANT ALL ON ALL TABLES IN SCHEMA workqueue TO plain");
  const auto engine =
      *PostgresEngine::Create(server_->address() + "&user=plain");
  const auto queue = NewQueue(*engine);
  own.Do(
      "REVOKE EXECUTE ON FUNCTION pg_try_advisory_lock(bigint) FROM PUBLIC;"
      "SELECT pg_terminate_backend(pid) FROM pg_locks"
      " WHERE locktype = 'advisory' AND objsubid = 1");
  absl::SleepFor(absl::Seconds(4));
  const std::string sessions =
      own.Do("SELECT sum(sessions) FROM pg_stat_database");
  EXPECT_LT(std::stoi(sessions), 50);
}

// A server that is put back to an older state, or the standby that takes its
// place, counts messages anew, and does not know the last listeners.
TEST_F(PostgresServerTest, ProcessesGoOnWithoutTheLatestPart) {
  const auto copy = [](const std::string& from, const std::string& to) {
    std::filesystem::remove_all(to);
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
  };
  const auto a = NewEngine(*server_), b = NewEngine(*server_);
  const auto adds = NewQueue(*NewEngine(*server_));
  const auto early = NewQueue(*a);
  const auto hand_over = [&](Queue& to, const std::string& item) {
    const absl::Time begin = absl::Now();
    auto got = Async([&] { return to.Get(); });
    while (WaitingWorkers(*adds) == 0) {
    }
    while (!Add(*adds, item).ok()) {
    }
    EXPECT_EQ(got.get(), item);
    EXPECT_LT(absl::Now() - begin, absl::Seconds(15));
    to.Done(item);
  };
  hand_over(*early, "first");
  const TemporaryFolder older;
  server_->Stop();
  copy(server_->database(), older.path() + "/db");
  server_->StartAgain();
  while (!Add(*adds, "x").ok()) {
  }
  const auto late = NewQueue(*b);
  EXPECT_EQ(late->Get(), "x");
  late->Done("x");
  for (int i = 0; i < 10; ++i) hand_over(*early, absl::StrCat("early ", i));
  for (int i = 0; i < 10; ++i) hand_over(*late, absl::StrCat("late ", i));
  server_->Stop();
  copy(older.path() + "/db", server_->database());
  server_->StartAgain();
  const auto fresh = NewQueue(*NewEngine(*server_));
  for (Queue* queue : {early.get(), late.get(), fresh.get()}) {
    hand_over(*queue, "again");
    hand_over(*queue, "and again");
  }
}

// Calls a queue, and makes another one, while somebody holds the tables.
void CallWithout(const std::string& tables, const std::string& server,
                 SharedQueueOptions<std::string> options) {
  options.call_timeout = absl::Seconds(1);
  options.require_durable_server = false;
  const auto queue = NewSharedQueue(options);
  options.name += " 2";
  Connection other(server), looks(server);
  other.Do("BEGIN");
  other.Do("LOCK TABLE " + tables);
  const absl::Time begin = absl::Now();
  while (absl::Now() < begin + absl::Seconds(5)) {
    EXPECT_FALSE(queue->TakeSnapshot().ok());
    EXPECT_FALSE(queue->AddItems({}, {"x"}).ok());
    Queue::Create(options).IgnoreError();
  }
  // Those of the last second, and none that waits for longer.
  EXPECT_LT(Waiting(looks), 20);
  EXPECT_EQ(looks.Do("SELECT count(*) FROM pg_stat_activity WHERE"
                     " wait_event_type = 'Lock' AND"
                     " query_start < now() - interval '3 s'"),
            "0");
  other.Do("COMMIT");
  while (!queue->AddItems({}, {"y"}).ok()) {
  }
}

TEST_F(PostgresServerTest, NothingWaitsForLongForATable) {
  const auto engine = NewEngine(*server_);
  CallWithout(
      "workqueue.version, workqueue.queue, workqueue.entry, workqueue.front,"
      " workqueue.listener, workqueue.message",
      server_->address(), Options(*engine));
}

TEST_F(PostgresServerTest, NothingBehindAPoolerWaitsForLongForATable) {
  const auto pooler = server_->StartPooler();
  if (IsNotRequired(pooler.status())) GTEST_SKIP() << pooler.status();
  ASSERT_TRUE(pooler.ok()) << pooler.status();
  const auto engine = *PostgresEngine::Create(*pooler);
  // The first statement of a look for messages does not need them.
  CallWithout("workqueue.queue, workqueue.inbox", server_->address(),
              Options(*engine));
}

// Behind a pooler that gives each transaction another connection.
TEST_F(PostgresServerTest, APoolerIsToldOf) {
  const auto pooler = server_->StartPooler();
  if (IsNotRequired(pooler.status())) GTEST_SKIP() << pooler.status();
  ASSERT_TRUE(pooler.ok()) << pooler.status();
  const std::string address = *pooler;
  const auto a = *PostgresEngine::Create(address);
  const auto b = *PostgresEngine::Create(address);
  const absl::Status told = Queue::Create(Options(*a)).status();
  EXPECT_TRUE(absl::StrContains(told.message(), "a pooler is between")) << told;
  auto options = Options(*a);
  options.require_durable_server = false;
  const auto of_a = *Queue::Create(options);
  options.engine = b.get();
  const auto of_b = *Queue::Create(options);
  for (int i = 0; i < 3; ++i) {
    auto got = Async([&] { return of_b->Get(); });
    ASSERT_TRUE(Add(*of_a, absl::StrCat(i)).ok());
    EXPECT_EQ(got.get(), absl::StrCat(i));
    EXPECT_TRUE(of_b->Done(absl::StrCat(i)));
  }
  // It has changed nothing for others who get the same connections.
  Connection other(address);
  EXPECT_EQ(other.Do("SHOW enable_seqscan"), "on");
  EXPECT_EQ(other.Do("SELECT count(*) FROM pg_locks WHERE locktype ="
                     " 'advisory'"),
            "0");
}

// The processes that are killed.

class PostgresKillTest : public PostgresServerTest {
 protected:
  PostgresKillTest() { RegisterPostgres(); }

  KillWorker NewWorker(const std::string& address) const {
    KillWorker worker;
    worker.socket = address;
    worker.queue = name_;
    worker.lease = absl::Milliseconds(300);
    worker.seed = KillRun::TheFlags().seed;
    return worker;
  }

  // Kills processes that use the queue, and does other harm, so many times.
  KillReport Disturb(const std::string& address, int kills) {
    KillRun run(NewWorker(address));
    const auto crash = [&] {
      run.Count("server crashed");
      server_->Crash();
      absl::SleepFor(absl::Milliseconds(run.Below(300)));
      server_->StartAgain();
    };
    const auto goes_on = [&] { return run.kills() < kills; };
    run.Disturb(goes_on, [&] {
      switch (run.Below(16)) {
        case 0:
          return crash();
        case 1:
        case 2:
          run.Count("connections cut");
          Connection(server_->address())
              .Do("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE"
                  " usename IS NOT NULL AND random() < 0.3 AND pid <>"
                  " pg_backend_pid()");
          return;
        default:
          run.HarmOne();
      }
    });
    absl::SleepFor(absl::Seconds(1));
    crash();
    return run.Finish();
  }
};

TEST_F(PostgresKillTest, KeepsItsPromises) {
  const KillReport report =
      Disturb(server_->address(), KillRun::TheFlags().kills);
  EXPECT_TRUE(report.violations.empty()) << report.Violations();
  EXPECT_GT(report.done, 0);
}

// This checks the checks: the same with commits that wait for nobody. The
// library forbids them, but for a user whose `set_config()` is another.
TEST_F(PostgresKillTest, AsynchronousCommitsAreFound) {
  Connection own(server_->address());
  own.Do("ALTER SYSTEM SET wal_writer_delay = '10s'");
  own.Do(
      "CREATE ROLE hasty LOGIN SUPERUSER;"
      "ALTER ROLE hasty SET search_path = deaf, pg_catalog;"
      "ALTER ROLE hasty SET synchronous_commit = off;"
      "CREATE SCHEMA deaf; CREATE FUNCTION deaf.set_config(text, text, boolean)"
      " RETURNS text LANGUAGE sql AS $$ SELECT CASE WHEN $1 ="
      " 'synchronous_commit' THEN '' ELSE pg_catalog.set_config($1, $2, $3) END"
      " $$");
  server_->Crash();
  server_->StartAgain();
  const KillReport report =
      Disturb(absl::StrCat(server_->address(), "&user=hasty"), 60);
  EXPECT_TRUE(report.Has(KillViolation::kLost)) << report.Violations();
}

// Nobody waits for the lease of a process that is not there.
TEST_F(PostgresKillTest, ADeadProcessIsPushedNothing) {
  const auto engine = NewEngine(*server_);
  auto options = Options(*engine);
  options.lease = absl::Hours(1);
  const auto queue = *Queue::Create(options);
  KillRun run(NewWorker(server_->address()));
  const pid_t waits = run.Start(/*adds=*/false);
  while (WaitingWorkers(*queue) == 0) {
  }
  KillRun::Kill(waits);
  EXPECT_GT(WaitingWorkers(*queue), 0u) << "nobody has told the engine";
  // The server notices soon that the process has gone.
  Connection own(server_->address());
  while (own.Do("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND"
                " objsubid = 1") != "1") {
  }
  ASSERT_TRUE(Add(*queue, "x").ok());
  EXPECT_EQ(**queue->TryAcquire(), "x");
}

// Nobody else sees that it has ended, and its messages would stay.
TEST_F(PostgresKillTest, ADeadProcessBehindAPoolerIsForgotten) {
  const auto pooler = server_->StartPooler();
  if (IsNotRequired(pooler.status())) GTEST_SKIP() << pooler.status();
  ASSERT_TRUE(pooler.ok()) << pooler.status();
  FakeClock clock(absl::Now());
  const auto engine = *PostgresEngine::Create(*pooler, &clock);
  auto options = Options(*engine);
  options.require_durable_server = false;
  const auto queue = *Queue::Create(options);
  KillRun run(NewWorker(*pooler));
  const pid_t waits = run.Start(/*adds=*/false);
  while (WaitingWorkers(*queue) == 0) {
  }
  KillRun::Kill(waits);
  Connection own(server_->address());
  const auto count = [&](const std::string& rows) {
    return own.Do("SELECT count(*) FROM workqueue." + rows);
  };
  const std::string of_the_dead =
      "message WHERE listener NOT IN (SELECT id FROM workqueue.listener)";
  EXPECT_EQ(count("listener"), "2");
  clock.Step(absl::Minutes(6));
  for (int hours = 5; hours > 0; --hours) {
    const auto later = AddOptions::After(absl::Hours(hours));
    ASSERT_TRUE(queue->AddItems(later, {absl::StrCat(hours)}).ok());
  }
  EXPECT_EQ(count("listener"), "1");
  EXPECT_EQ(count(of_the_dead), "0");
}

// What --measure prints, as docs/shared-queue.md says.

// Adds, acquires and ends items with so many workers until it is destroyed.
class Load {
 public:
  Load(const std::string& address, int workers)
      : engine_(*PostgresEngine::Create(address)) {
    SharedQueueOptions<std::string> options;
    options.name = "load";
    options.engine = engine_.get();
    queue_ = *Queue::Create(options);
    for (int i = 0; i < workers; ++i) {
      threads_.emplace_back([this, i] {
        for (int k = 0; !stops_; ++k) {
          EXPECT_TRUE(queue_->Add(absl::StrCat(i, " ", k)));
          auto lease = queue_->Acquire();
          EXPECT_TRUE(lease->Done());
          ++items_;
        }
      });
    }
  }
  ~Load() {
    stops_ = true;
    for (Thread& thread : threads_) thread.join();
  }

  // Returns the items a second for so long from now on.
  int64_t Measure(absl::Duration d) {
    const int64_t before = items_;
    absl::SleepFor(d);
    return static_cast<int64_t>((items_ - before) / absl::ToDoubleSeconds(d));
  }

 private:
  const std::unique_ptr<PostgresEngine> engine_;
  std::unique_ptr<Queue> queue_;
  std::atomic<bool> stops_{false};
  std::atomic<int64_t> items_{0};
  std::vector<Thread> threads_;
};

// Adds items at a rate, which workers process as they can, until it is
// destroyed.
class Stream {
 public:
  Stream(const std::string& address, const std::string& name, int64_t rate)
      : engine_(*PostgresEngine::Create(address)) {
    constexpr int kThreads = 8;
    SharedQueueOptions<std::string> options;
    options.name = name;
    options.engine = engine_.get();
    queue_ = *Queue::Create(options);
    const absl::Time begin = absl::Now();
    for (int i = 0; i < kThreads; ++i) {
      adders_.emplace_back([this, i, begin, rate] {
        for (int k = i; !stops_; k += kThreads) {
          absl::SleepFor(begin + k * absl::Seconds(1) / rate - absl::Now());
          EXPECT_TRUE(queue_->Add(absl::StrCat(k)));
        }
      });
      workers_.emplace_back([this] {
        for (auto lease = queue_->Acquire(); lease.ok();
             lease = queue_->Acquire()) {
          EXPECT_TRUE(lease->Done());
          ++items_;
        }
      });
    }
  }
  ~Stream() {
    stops_ = true;
    for (Thread& thread : adders_) thread.join();
    queue_->ShutDown();
    for (Thread& thread : workers_) thread.join();
  }

  int64_t items() const { return items_; }
  size_t Backlog() const { return queue_->Count()->queued; }

 private:
  const std::unique_ptr<PostgresEngine> engine_;
  std::unique_ptr<Queue> queue_;
  std::atomic<bool> stops_{false};
  std::atomic<int64_t> items_{0};
  std::vector<Thread> adders_, workers_;
};

// Prints how a queue does that gets half of the items that it can process. For
// two thirds of the time, a transaction stays open.
void MeasureBesideATransaction(const std::string& address,
                               absl::Duration duration) {
  constexpr int kPeriods = 60;
  const absl::Duration period = duration / kPeriods;
  const int64_t most = Load(address, 8).Measure(absl::Seconds(10));
  std::cout << "# " << most << " items/s at most\n"
            << "seconds items/s backlog dead_rows megabytes open\n";
  Connection other(address), looks(address);
  Stream stream(address, "beside", most / 2);
  bool is_open = false;
  int64_t before = 0;
  const absl::Time begin = absl::Now();
  for (int i = 1; i <= kPeriods; ++i) {
    absl::SleepFor(begin + i * period - absl::Now());
    const int64_t items = stream.items();
    std::cout << absl::ToInt64Seconds(i * period) << " "
              << static_cast<int64_t>(static_cast<double>(items - before) /
                                      absl::ToDoubleSeconds(period))
              << " " << stream.Backlog() << " "
              << looks.Do(
                     "SELECT n_dead_tup FROM pg_stat_user_tables WHERE"
                     " relid = 'workqueue.entry'::regclass")
              << " "
              << looks.Do(
                     "SELECT pg_total_relation_size('workqueue.entry') / "
                     "1048576")
              << " " << is_open << std::endl;
    before = items;
    if (i == kPeriods / 6) {
      other.Do("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
      is_open = true;
    }
    if (i == kPeriods * 5 / 6) {
      other.Do("COMMIT");
      is_open = false;
    }
  }
}

void Measure() {
  const std::string address = PostgresServerOfThisProgram().address();
  std::cout << "PostgreSQL, on a disk in memory\n";
  const auto a = *PostgresEngine::Create(address);
  const auto b = *PostgresEngine::Create(address);
  Connection own(address);
  MeasureHandOver(a.get(), b.get(), [&own](const std::string& item) {
    own.Do(absl::StrCat("SELECT workqueue.add('hand-over', '", item, "')"));
  });
}

}  // namespace
}  // namespace workqueue::postgres_engine_test

int main(int argc, char** argv) {
  if (const auto worker = workqueue::KillWorker::FromArguments(argc, argv)) {
    workqueue::RegisterPostgres();
    return worker->Run();
  }
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const absl::string_view argument = argv[i];
    if (argument == "--measure") {
      workqueue::postgres_engine_test::Measure();
      return 0;
    }
    absl::string_view text = argument;
    if (absl::ConsumePrefix(&text, "--beside_a_transaction=")) {
      absl::Duration duration;
      if (!absl::ParseDuration(text, &duration) ||
          duration < absl::Seconds(1)) {
        std::cerr << argument << ": not a duration of a second at least\n";
        return 2;
      }
      workqueue::postgres_engine_test::MeasureBesideATransaction(
          workqueue::PostgresServerOfThisProgram().address(), duration);
      return 0;
    }
    if (workqueue::KillRun::TakeFlag(argument)) continue;
    std::cerr << argv[i]
              << ": none of --kills=9, --seed=1, --measure,"
                 " --beside_a_transaction=10m\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}
