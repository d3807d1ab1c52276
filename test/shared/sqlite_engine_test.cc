// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is special about queues in a file: the processes that share it, their
// end, and the file's errors. Two `SqliteEngine`s are two processes, but for
// those tests that kill one. For as many kills as you like:
//
//     tools/bazelw test //test/shared:sqlite_tests
//         --test_filter='SqliteKillTest.*' --test_arg=--kills=1000
//         --test_timeout=900 --test_output=all

#include "workqueue/shared/sqlite/sqlite_engine.h"

#include <sched.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>  // NOLINT(build/c++17)
#include <fstream>
#include <future>  // NOLINT(build/c++11)
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <system_error>  // NOLINT(build/c++11)
#include <thread>        // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/kill_checks.h"
#include "test/shared/kill_run.h"
#include "test/shared/kill_worker.h"
#include "test/shared/measure_hand_over.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/temporary_folder.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/leader_election/election.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/shared/internal/table_engine.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/shared/shared_queue_options.h"
#include "workqueue/shared/sqlite/internal/sqlite_file.h"
#include "workqueue/shared/sqlite/internal/wake_file.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/testing/thread.h"

namespace workqueue::sqlite_engine_test {
namespace {

// The kind of file system that all files are on, if it is not 0.
int64_t file_system = 0;

using Queue = SharedQueue<std::string>;
using internal::SqliteFile;
using internal::WakeFile;

// Another connection to a database, as of a program that is none of ours.
class Connection {
 public:
  explicit Connection(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &connection_), SQLITE_OK);
    // An engine may write at the same time.
    sqlite3_busy_timeout(connection_, 60000);
  }
  ~Connection() { sqlite3_close(connection_); }

  void Do(const std::string& sql) {
    EXPECT_EQ(sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr),
              SQLITE_OK)
        << sqlite3_errmsg(connection_);
  }

 private:
  sqlite3* connection_ = nullptr;
};

class SqliteEngineTest : public testing::Test {
 protected:
  std::unique_ptr<SqliteEngine> NewEngine() {
    auto engine = SqliteEngine::Create(path_);
    EXPECT_TRUE(engine.ok()) << engine.status();
    return *std::move(engine);
  }

  static SharedQueueOptions<std::string> Options(SqliteEngine& engine) {
    SharedQueueOptions<std::string> options;
    options.name = "orders";
    options.engine = &engine;
    options.require_durable_server = true;
    return options;
  }

  static std::unique_ptr<Queue> NewQueue(SqliteEngine& engine) {
    return NewSharedQueue(Options(engine));
  }

  // The status of an engine for that file.
  static absl::Status ErrorOf(const std::string& path) {
    return SqliteEngine::Create(path).status();
  }

  static absl::Status Add(Queue& queue, const std::string& item) {
    return queue.AddItems({}, {item});
  }

  std::unique_ptr<SqliteFile> NewFile() {
    return *SqliteFile::Open(path_, absl::InfiniteFuture());
  }

  // Reads what `read` says, in a transaction.
  template <typename F>
  static void Read(SqliteFile& file, F read) {
    EXPECT_TRUE(file.Run({absl::InfiniteFuture(), /*writes=*/false},
                         [&](internal::EngineTables& tables, bool /*full*/) {
                           read(tables);
                           return absl::OkStatus();
                         })
                    .ok());
  }

  // Adds a listener, and returns `then`.
  static absl::Status AddListener(SqliteFile& file, int64_t* listener,
                                  absl::Status then = absl::OkStatus()) {
    return file.Run({absl::InfiniteFuture(), /*writes=*/true},
                    [&](internal::EngineTables& tables, bool /*full*/) {
                      *listener = tables.AddListener(1);
                      return then;
                    });
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/queues.db";
};

TEST_F(SqliteEngineTest, ProcessesShareAQueue) {
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

TEST_F(SqliteEngineTest, AShutdownIsHeardByAllProcesses) {
  const auto a = NewEngine(), b = NewEngine();
  const auto of_a = NewQueue(*a), of_b = NewQueue(*b);
  auto got = Async([&] { return of_b->AcquireWithTimeout(absl::Hours(1)); });
  of_a->ShutDown();
  EXPECT_TRUE(absl::IsCancelled(got.get().status()));
}

// They would take each other for dead.
TEST_F(SqliteEngineTest, ProcessesThatNameOneFileDifferentlySeeEachOther) {
  std::filesystem::create_directory(folder_.path() + "/links");
  const std::string link = folder_.path() + "/links/queues.db";
  std::filesystem::create_symlink(path_, link);
  const auto a = NewFile();
  const auto b = *SqliteFile::Open(link, absl::InfiniteFuture());
  int64_t listener = 0;
  ASSERT_TRUE(AddListener(*a, &listener).ok());
  Read(*b, [&](auto& tables) { EXPECT_TRUE(tables.Lives(listener)); });
}

TEST_F(SqliteEngineTest, AListenerThatHasBeenRemovedListensAgain) {
  const auto engine = NewEngine();
  const auto queue = NewQueue(*engine);
  const auto file = NewFile();
  std::vector<int64_t> listeners;
  const auto find = [&](auto& tables) { listeners = tables.ListenersOf(1); };
  Read(*file, find);
  ASSERT_EQ(listeners.size(), 1u);
  const int64_t before = listeners[0];
  Connection(path_).Do("DELETE FROM listener");
  const absl::Time start = absl::Now();
  do {
    file->Wake();
    Read(*file, find);
  } while (listeners.empty() && absl::Now() < start + absl::Seconds(10));
  ASSERT_EQ(listeners.size(), 1u);
  EXPECT_NE(listeners[0], before);
}

// A client whose add has failed may still have the listener's number.
TEST_F(SqliteEngineTest, NoTwoHaveOneListener) {
  const auto a = NewFile(), b = NewFile();
  int64_t of_a = 0, another_of_a = 0, of_b = 0;
  EXPECT_TRUE(
      absl::IsAborted(AddListener(*a, &of_a, absl::AbortedError("no"))));
  ASSERT_TRUE(AddListener(*b, &of_b).ok());
  EXPECT_NE(of_b, of_a);
  Connection(path_).Do("DELETE FROM listener; DELETE FROM sqlite_sequence");
  ASSERT_TRUE(AddListener(*a, &another_of_a).ok());
  EXPECT_NE(another_of_a, of_a);
  EXPECT_NE(another_of_a, of_b);
  a->Vacate(of_a);
  Read(*a, [&](auto& tables) {
    EXPECT_EQ(tables.ListenersOf(1), std::vector<int64_t>({another_of_a}));
    EXPECT_TRUE(tables.Lives(another_of_a));
    EXPECT_EQ(
        tables.MessagesOf({{of_a, 0}, {of_b, 0}, {another_of_a, 0}}).size(),
        1u);
  });
  Read(*b, [&](auto& tables) {
    EXPECT_TRUE(tables.MessagesOf({{of_b, 0}, {another_of_a, 0}}).empty());
  });
}

TEST_F(SqliteEngineTest, WhatWaitsSurvivesARestart) {
  {
    const auto engine = NewEngine();
    const auto queue = NewQueue(*engine);
    ASSERT_TRUE(Add(*queue, "x").ok());
    ASSERT_TRUE(
        queue->AddItems(AddOptions::After(absl::Hours(1)), {"later"}).ok());
  }
  const auto engine = NewEngine();
  const auto queue = NewQueue(*engine);
  EXPECT_EQ(queue->Count()->waiting, 1u);
  EXPECT_EQ(queue->Get(), "x");
}

TEST_F(SqliteEngineTest, QueuesOfOneFileAreSeparate) {
  const auto engine = NewEngine();
  const auto orders = NewQueue(*engine);
  auto options = Options(*engine);
  options.name = "bills";
  options.partitions = 3;
  const auto bills = *Queue::Create(options);
  ASSERT_TRUE(Add(*orders, "x").ok());
  EXPECT_EQ(bills->Count()->queued, 0u);
  options.partitions = 2;
  const absl::Status refused = Queue::Create(options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
}

// Calls that meet while another process writes share one transaction. The first
// call has one of its own: it has begun to wait for that process.
TEST_F(SqliteEngineTest, CallsThatMeetAreSyncedTogether) {
  constexpr int kQueues = 8;
  // On a busy machine a call may come too late to meet the others.
  constexpr int kRounds = 100;
  const auto engine = NewEngine();
  std::vector<std::unique_ptr<Queue>> queues;
  for (int i = 0; i < kQueues; ++i) {
    auto options = Options(*engine);
    options.name = absl::StrCat("queue ", i);
    queues.push_back(*Queue::Create(options));
  }
  const auto wake_file = *WakeFile::Open(path_);
  Connection other(path_);
  uint32_t least = kQueues;
  for (int round = 0; round < kRounds && least > 2; ++round) {
    other.Do("BEGIN IMMEDIATE");
    const uint32_t before = wake_file->Read(WakeFile::kCommits);
    std::vector<std::future<absl::Status>> added;
    for (const auto& queue : queues) {
      added.push_back(Async([&] { return Add(*queue, absl::StrCat(round)); }));
    }
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
    other.Do("COMMIT");
    for (auto& it : added) EXPECT_TRUE(it.get().ok());
    least = std::min(least, wake_file->Read(WakeFile::kCommits) - before);
  }
  EXPECT_LE(least, 2u);
}

TEST_F(SqliteEngineTest, ALockedFileLosesNothing) {
  const auto engine = NewEngine();
  auto options = Options(*engine);
  options.call_timeout = absl::Seconds(1);
  const auto queue = NewSharedQueue(options);
  Connection other(path_);
  other.Do("BEGIN IMMEDIATE");
  const absl::Status status = Add(*queue, "x");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "another process"));
  EXPECT_FALSE(queue->Healthy().ok());
  other.Do("COMMIT");
  EXPECT_EQ(queue->Count()->queued, 0u);
  EXPECT_TRUE(Add(*queue, "x").ok());
}

// So an alert finds a program that tries again and again to begin.
TEST_F(SqliteEngineTest, AFileThatCannotBeOpenedCountsAsAnError) {
  RegisterSqlite();
  NewEngine();
  RecordingMetrics metrics;
  SharedQueueOptions<std::string> options;
  options.name = "orders";
  options.address = "sqlite:" + path_;
  options.partitions = 2;
  options.call_timeout = absl::Milliseconds(50);
  options.metrics_provider = &metrics;
  Connection other(path_);
  other.Do("BEGIN EXCLUSIVE");
  const absl::Status busy = Queue::Create(options).status();
  EXPECT_TRUE(absl::IsUnavailable(busy)) << busy;
  EXPECT_EQ(metrics.record(MetricKind::kEngineErrors).names,
            std::vector<std::string>({"orders/0", "orders/1"}));
  EXPECT_EQ(metrics.count(MetricKind::kEngineErrors), 2);
  EXPECT_TRUE(metrics.record(MetricKind::kEngineDepth).names.empty());
  // The program is wrong, and no engine.
  options.address = "sqlite:";
  EXPECT_TRUE(absl::IsInvalidArgument(Queue::Create(options).status()));
  EXPECT_EQ(metrics.count(MetricKind::kEngineErrors), 2);
}

TEST_F(SqliteEngineTest, WrongFilesAreNamed) {
  EXPECT_EQ(ErrorOf(""), absl::InvalidArgumentError(
                             "path is \"\"; it must name a file, which "
                             "may not be there yet"));
  EXPECT_EQ(ErrorOf("sqlite:"),
            absl::InvalidArgumentError("address is \"sqlite:\"; it must name a "
                                       "file, which may not be there yet"));
  for (const char wrong : {'\0', '\n', '\x7f'}) {
    const absl::Status cut =
        ErrorOf(absl::StrCat(path_, std::string(1, wrong)));
    EXPECT_TRUE(absl::IsInvalidArgument(cut)) << cut;
    EXPECT_TRUE(absl::StrContains(cut.message(), path_ + "\\")) << cut;
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  const absl::Status missing = ErrorOf(folder_.path() + "/no/queues.db");
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_TRUE(absl::StrContains(missing.message(), "/no/queues.db"));
  const absl::Status folder = ErrorOf("sqlite:" + folder_.path());
  EXPECT_TRUE(absl::IsNotFound(folder)) << folder;
  EXPECT_TRUE(absl::StrContains(folder.message(), "it must be a file"));

  const std::string text = std::string(5000, 'x');
  std::ofstream(path_) << text;
  const absl::Status damaged = ErrorOf(path_);
  EXPECT_TRUE(absl::IsDataLoss(damaged)) << damaged;
  EXPECT_EQ(std::filesystem::file_size(path_), text.size());

  const std::string another = folder_.path() + "/another.db";
  Connection(another).Do("CREATE TABLE mine (x)");
  EXPECT_TRUE(absl::IsFailedPrecondition(ErrorOf(another)));
  EXPECT_FALSE(std::filesystem::exists(another + "-wake"));
}

// Each name would have a log of its own.
TEST_F(SqliteEngineTest, AFileWithTwoNamesIsRefused) {
  const std::string other = folder_.path() + "/other.db";
  ASSERT_TRUE(Add(*NewQueue(*NewEngine()), "x").ok());
  std::filesystem::create_hard_link(path_, other);
  for (const std::string& path : {path_, other}) {
    const absl::Status status = ErrorOf(path);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), path)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "2 names")) << status;
  }
  EXPECT_FALSE(std::filesystem::exists(other + "-wake"));
  std::filesystem::remove(other);
  EXPECT_EQ(NewQueue(*NewEngine())->Count()->queued, 1u);
}

// As Kubernetes' subPath does: the log is beside it, where no other container
// sees it.
TEST_F(SqliteEngineTest, AFileThatIsMountedByItselfIsRefused) {
  ASSERT_TRUE(Add(*NewQueue(*NewEngine()), "x").ok());
  const std::string other = folder_.path() + "/other.db";
  std::ofstream{other};
  // Nobody but the thread has the mount.
  const auto status =
      Async([&]() -> std::optional<absl::Status> {
        if (unshare(CLONE_NEWNS) != 0 ||
            mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            mount(path_.c_str(), other.c_str(), nullptr, MS_BIND, nullptr) !=
                0) {
          return std::nullopt;
        }
        return ErrorOf(other);
      }).get();
  if (!status) GTEST_SKIP() << "needs a root's rights";
  EXPECT_TRUE(absl::IsFailedPrecondition(*status)) << *status;
  EXPECT_TRUE(absl::StrContains(status->message(), other)) << *status;
  EXPECT_TRUE(absl::StrContains(status->message(), "its folder")) << *status;
  EXPECT_FALSE(std::filesystem::exists(other + "-wake"));
  EXPECT_EQ(NewQueue(*NewEngine())->Count()->queued, 1u);
}

TEST_F(SqliteEngineTest, AFileOnANetworkIsRefused) {
  for (const uint32_t type :
       {0x6969u, 0x517bu, 0xff534d42u, 0xfe534d42u, 0x6b414653u, 0x0bd00bd0u,
        0x01161970u, 0x7461636fu, 0x786f4256u}) {
    file_system = type;
    const absl::Status status = ErrorOf(path_);
    file_system = 0;
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "network")) << status;
  }
  EXPECT_TRUE(ErrorOf(path_).ok());
}

// Then its owner can use it, too.
TEST_F(SqliteEngineTest, TheFilesBesideItAreThoseOfItsOwner) {
  NewEngine();
  std::filesystem::remove(path_ + "-wake");
  if (chown(path_.c_str(), 1, 2) != 0) GTEST_SKIP() << "needs a root's rights";
  const auto engine = NewEngine();
  struct stat about = {};
  ASSERT_EQ(stat((path_ + "-wake").c_str(), &about), 0);
  EXPECT_EQ(about.st_uid, 1u);
  EXPECT_EQ(about.st_gid, 2u);
}

// So a word cannot fail to be written when the disk is full.
TEST_F(SqliteEngineTest, AWakeFileHasItsPlaceOnTheDisk) {
  std::ofstream{path_};
  const auto wake_file = *WakeFile::Open(path_);
  struct stat about = {};
  ASSERT_EQ(stat((path_ + "-wake").c_str(), &about), 0);
  EXPECT_GE(about.st_blocks * 512, 4096);
}

// Somebody may have put it there who must not change what it names.
TEST_F(SqliteEngineTest, AWakeFileIsNoLink) {
  const std::string mine = folder_.path() + "/mine";
  const std::string wake = path_ + "-wake";
  std::ofstream{mine};
  std::filesystem::create_symlink(mine, wake);
  EXPECT_FALSE(ErrorOf(path_).ok());
  EXPECT_EQ(std::filesystem::file_size(mine), 0u);

  std::filesystem::remove(wake);
  std::filesystem::permissions(mine, std::filesystem::perms::owner_read |
                                         std::filesystem::perms::owner_write);
  std::filesystem::create_hard_link(mine, wake);
  const absl::Status status = ErrorOf(path_);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), wake)) << status;
  EXPECT_EQ(std::filesystem::file_size(mine), 0u);
  EXPECT_EQ(
      std::filesystem::status(mine).permissions(),
      std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  // A file that has been a link is one no longer.
  std::filesystem::remove(mine);
  EXPECT_TRUE(ErrorOf(path_).ok());
}

// So a leader that finds the file busy tries again before its time is over.
TEST_F(SqliteEngineTest, ACallOfAnElectionTakesItsTimeAtMost) {
  const auto engine = NewEngine();
  internal::ElectionOptions options;
  options.name = "orders";
  options.identity = "a";
  options.duration = absl::Hours(2);
  options.timeout = absl::Milliseconds(10);
  const auto election = engine->NewElection(options);
  const auto taken = election->Take();
  ASSERT_TRUE(taken.ok()) << taken.status();
  Connection other(path_);
  other.Do("BEGIN IMMEDIATE");
  const absl::Time start = absl::Now();
  for (const absl::Status& status :
       {election->Renew(taken->token, absl::Seconds(5)).status(),
        election->Release(taken->token, absl::Seconds(5)).status()}) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  }
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  other.Do("COMMIT");
}

// Calls that wait in one transaction.
TEST_F(SqliteEngineTest, ACallDoesNotWaitForTheEndOfOthers) {
  constexpr absl::Duration kLong = absl::Seconds(20);
  const auto file = NewFile();
  Connection other(path_);
  other.Do("BEGIN IMMEDIATE");
  const auto write = [&](absl::Time deadline,
                         const sync::Atomic<bool>* interrupted) {
    return Async([&file, deadline, interrupted] {
      return file->Run({deadline, /*writes=*/true, interrupted},
                       [](internal::EngineTables& tables, bool /*full*/) {
                         tables.Open(1)->Put("x", "");
                         return absl::OkStatus();
                       });
    });
  };
  const absl::Time start = absl::Now();
  sync::Atomic<bool> interrupted{false};
  std::vector<std::future<absl::Status>> waits;
  // They meet while this reads.
  Read(*file, [&](auto&) {
    waits.push_back(write(start + kLong, nullptr));
    waits.push_back(write(start + absl::Milliseconds(100), nullptr));
    waits.push_back(write(start + kLong, &interrupted));
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  });
  EXPECT_TRUE(absl::IsUnavailable(waits[1].get()));
  interrupted = true;
  file->Interrupted();
  EXPECT_TRUE(absl::IsUnavailable(waits[2].get()));
  EXPECT_LT(absl::Now() - start, kLong / 2);
  other.Do("COMMIT");
  EXPECT_TRUE(waits[0].get().ok());
}

// Else a long snapshot would keep all other processes from the file.
TEST_F(SqliteEngineTest, ACallThatReadsIsInNobodysWay) {
  const auto file = NewFile();
  absl::Notification reads, ends;
  std::vector<std::future<absl::Status>> calls;
  const auto run = [&](bool writes, absl::Notification* begun) {
    calls.push_back(Async([&file, &ends, writes, begun] {
      return file->Run({absl::InfiniteFuture(), writes},
                       [&](internal::EngineTables&, bool /*full*/) {
                         if (begun == nullptr) return absl::OkStatus();
                         begun->Notify();
                         ends.WaitForNotification();
                         return absl::OkStatus();
                       });
    }));
  };
  // They meet while this reads.
  Read(*file, [&](auto&) {
    run(/*writes=*/true, nullptr);
    run(/*writes=*/false, &reads);
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  });
  reads.WaitForNotification();
  Connection(path_).Do("BEGIN IMMEDIATE");
  ends.Notify();
  for (auto& it : calls) EXPECT_TRUE(it.get().ok());
}

// A call that writes would let the other process go first.
TEST_F(SqliteEngineTest, ACallThatReadsGivesNoWay) {
  const auto file = NewFile();
  const auto wake_file = *WakeFile::Open(path_);
  absl::Notification ends;
  const auto waits = Async([&] {
    while (!ends.HasBeenNotified()) {
      wake_file->Await(WakeFile::kCommits, wake_file->Read(WakeFile::kCommits),
                       absl::Milliseconds(100));
    }
  });
  absl::Duration least = absl::InfiniteDuration();
  for (int round = 0; round < 100; ++round) {
    int64_t listener = 0;
    ASSERT_TRUE(AddListener(*file, &listener).ok());
    const absl::Time start = absl::Now();
    Read(*file, [](auto&) {});
    // Until then it may not have begun to wait.
    if (round >= 50) least = std::min(least, absl::Now() - start);
  }
  ends.Notify();
  waits.wait();
  EXPECT_LT(least, absl::Milliseconds(2));
}

TEST_F(SqliteEngineTest, AnotherVersionIsRefused) {
  const auto engine = NewEngine();
  const auto queue = NewQueue(*engine);
  Connection(path_).Do("PRAGMA user_version = 2");
  const absl::Status created = ErrorOf(path_);
  EXPECT_TRUE(absl::IsFailedPrecondition(created)) << created;
  // A process that had opened it before notices it, too.
  const absl::Status added = Add(*queue, "x");
  EXPECT_TRUE(absl::IsFailedPrecondition(added)) << added;
  EXPECT_FALSE(queue->TakeSnapshot().ok());
  Connection(path_).Do("PRAGMA user_version = 1");
  EXPECT_EQ(queue->Count()->queued, 0u);
}

TEST_F(SqliteEngineTest, AnEmptyFileMayHaveTextsInUtf16) {
  Connection(path_).Do(
      "PRAGMA encoding = 'UTF-16'; CREATE TABLE t (x); DROP TABLE t");
  ASSERT_EQ(ErrorOf(path_), absl::OkStatus());
  ASSERT_TRUE(Add(*NewQueue(*NewEngine()), "é").ok());
  EXPECT_EQ(NewQueue(*NewEngine())->Get(), "é");
}

// It would keep all other processes from the file.
TEST_F(SqliteEngineTest, ATransactionEndsWithoutMemory) {
  const auto file = NewFile();
  const absl::Status status =
      file->Run({absl::InfiniteFuture(), /*writes=*/true},
                [](internal::EngineTables& /*tables*/, bool /*full*/) {
                  sqlite3_hard_heap_limit64(1);
                  return absl::FailedPreconditionError("no");
                });
  sqlite3_hard_heap_limit64(0);
  EXPECT_EQ(status, absl::FailedPreconditionError("no"));
  Connection(path_).Do("BEGIN IMMEDIATE");
}

TEST_F(SqliteEngineTest, ADamagedFileIsNotEmpty) {
  {
    const auto engine = NewEngine();
    const auto queue = NewQueue(*engine);
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(Add(*queue, absl::StrCat("item ", i)).ok());
    }
  }
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    const auto size = std::filesystem::file_size(path_);
    ASSERT_GT(size, 20u * 4096);
    file.seekp(4096);
    const std::string noise(size - 4096, '\x5a');
    file.write(noise.data(), static_cast<std::streamsize>(noise.size()));
  }
  auto engine = SqliteEngine::Create(path_);
  const absl::Status status =
      engine.ok() ? Queue::Create(Options(**engine)).status() : engine.status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

TEST_F(SqliteEngineTest, AFileThatIsMovedAwayTakesNothing) {
  const auto engine = NewEngine();
  const auto queue = NewQueue(*engine);
  ASSERT_TRUE(Add(*queue, "x").ok());
  std::filesystem::rename(path_, path_ + ".moved");
  const absl::Status status = Add(*queue, "y");
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  std::filesystem::rename(path_ + ".moved", path_);
  EXPECT_TRUE(Add(*queue, "z").ok());
  EXPECT_EQ(queue->Count()->queued, 2u);
}

TEST_F(SqliteEngineTest, AFileThatItsNameNoLongerMeansTakesNothing) {
  const std::string link = folder_.path() + "/link.db";
  std::filesystem::create_symlink(path_, link);
  const auto engine = *SqliteEngine::Create(link);
  const auto queue = NewQueue(*engine);
  ASSERT_TRUE(Add(*queue, "x").ok());
  std::filesystem::remove(link);
  for (const bool is_other : {false, true}) {
    if (is_other) {
      ASSERT_TRUE(ErrorOf(link).ok());
    }
    const absl::Status status = Add(*queue, "y");
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  }
  std::filesystem::remove(link);
  std::filesystem::create_symlink(path_, link);
  EXPECT_TRUE(Add(*queue, "z").ok());
}

TEST_F(SqliteEngineTest, ANameMeansTheFolderInWhichItWasOpened) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  const auto engine = *SqliteEngine::Create("queues.db");
  std::filesystem::current_path(before);
  EXPECT_TRUE(Add(*NewQueue(*engine), "x").ok());
}

// Lets each new connection have files of so many pages at most.
int LimitPages(sqlite3* connection, const char** /*error*/,
               const sqlite3_api_routines* /*unused*/) {
  return sqlite3_exec(connection, "PRAGMA max_page_count = 40", nullptr,
                      nullptr, nullptr);
}

TEST_F(SqliteEngineTest, AFileHasItsOwnTime) {
  const auto engine = NewEngine();
  auto options = Options(*engine);
  options.clock_is_the_servers = true;
  EXPECT_EQ(
      Queue::Create(options).status(),
      absl::InvalidArgumentError(absl::StrCat(
          "clock_is_the_servers is true, but the queue is in the file ", path_,
          ", whose time is its own; Create() of the engine takes a "
          "clock")));
}

TEST_F(SqliteEngineTest, AFullDiskRefusesOnlyAdds) {
  const auto extension = reinterpret_cast<void (*)()>(&LimitPages);
  ASSERT_EQ(sqlite3_auto_extension(extension), SQLITE_OK);
  const auto engine = NewEngine();
  sqlite3_cancel_auto_extension(extension);
  auto options = Options(*engine);
  // To give back what was taken ahead may need a page, too, until others are
  // free: it is tried again.
  options.prefetch = 0;
  const auto queue = *Queue::Create(options);
  std::set<std::string> added;
  absl::Status status;
  for (int i = 0; i < 10000 && status.ok(); ++i) {
    const std::string item = absl::StrCat(i, std::string(500, 'x'));
    status = Add(*queue, item);
    if (status.ok()) added.insert(item);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_FALSE(absl::StrContains(status.message(), "server")) << status;
  EXPECT_FALSE(added.empty());
  // What it has taken can be processed, and then it takes more.
  for (size_t n = added.size(); n > 0; --n) {
    auto lease = queue->TryAcquire();
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_EQ(added.erase(**lease), 1u);
    EXPECT_TRUE(lease->Done());
  }
  EXPECT_TRUE(Add(*queue, "x").ok());
}

// The file is full at first, so that the call is made again.
TEST_F(SqliteEngineTest, ACallThatFailsByItselfHasItsErrorAndWritesNothing) {
  const auto extension = reinterpret_cast<void (*)()>(&LimitPages);
  ASSERT_EQ(sqlite3_auto_extension(extension), SQLITE_OK);
  const auto file = *SqliteFile::Open(path_, absl::InfiniteFuture());
  sqlite3_cancel_auto_extension(extension);
  const absl::Status status = file->Run(
      {absl::InfiniteFuture(), /*writes=*/true},
      [](internal::EngineTables& tables, bool full) {
        tables.Open(1)->Put("x", std::string(full ? 1 : 1 << 20, 'x'));
        return absl::FailedPreconditionError("no");
      });
  EXPECT_EQ(status, absl::FailedPreconditionError("no"));
  std::optional<std::string> found;
  EXPECT_TRUE(file->Run({absl::InfiniteFuture(), /*writes=*/false},
                        [&](internal::EngineTables& tables, bool /*full*/) {
                          found = tables.Open(1)->Get("x");
                          return absl::OkStatus();
                        })
                  .ok());
  EXPECT_EQ(found, std::nullopt);
}

#ifdef ABSL_HAVE_EXCEPTIONS

// It would keep all threads and processes from the file.
TEST_F(SqliteEngineTest, ACallThatThrowsEndsItsTransaction) {
  const auto file = NewFile();
  for (const bool writes : {true, false}) {
    EXPECT_EQ(file->Run({absl::InfiniteFuture(), writes},
                        [](internal::EngineTables&, bool) -> absl::Status {
                          throw std::bad_alloc();
                        }),
              absl::InternalError("std::bad_alloc"));
    Connection(path_).Do("BEGIN IMMEDIATE");
    int64_t listener = 0;
    EXPECT_TRUE(AddListener(*file, &listener).ok());
  }
}

#endif  // ABSL_HAVE_EXCEPTIONS

// While another process writes, calls meet in one transaction. One of them is
// made again in a file that is full.
TEST_F(SqliteEngineTest, ACallThatFailsByItselfFailsNoOther) {
  const auto extension = reinterpret_cast<void (*)()>(&LimitPages);
  ASSERT_EQ(sqlite3_auto_extension(extension), SQLITE_OK);
  const auto file = NewFile();
  sqlite3_cancel_auto_extension(extension);
  for (const int full_one : {-1, 2, 3}) {
    Connection other(path_);
    other.Do("BEGIN IMMEDIATE; DELETE FROM entry");
    std::vector<std::future<absl::Status>> written;
    for (int i = 0; i < 8; ++i) {
      written.push_back(Async([&file, full_one, i] {
        return file->Run(
            {absl::InfiniteFuture(), /*writes=*/true},
            [=](internal::EngineTables& tables, bool full) {
              const size_t size = i == full_one && !full ? 1 << 20 : 1;
              tables.Open(1)->Put(absl::StrCat(i), std::string(size, 'x'));
              return i % 2 == 0 ? absl::OkStatus()
                                : absl::FailedPreconditionError("no");
            });
      }));
    }
    other.Do("COMMIT");
    for (int i = 0; i < 8; ++i) EXPECT_EQ(written[i].get().ok(), i % 2 == 0);
    std::string found;
    Read(*file, [&](auto& tables) {
      const auto store = tables.Open(1);
      found.clear();
      for (auto it = store->First(""); it; it = store->First("", it->key)) {
        found += it->key;
      }
    });
    EXPECT_EQ(found, "0246");
  }
}

TEST_F(SqliteEngineTest, AnAddressNamesAFile) {
  RegisterSqlite();
  const auto engine = NewEngine();
  const internal::EngineSource& source = *engine;
  EXPECT_EQ(source.Name(), absl::StrCat("the file ", path_));
  SharedQueueOptions<std::string> options;
  options.name = "orders";
  options.address = absl::StrCat("sqlite:", path_);
  const auto a = *Queue::Create(options);
  const auto b = *Queue::Create(options);
  ASSERT_TRUE(Add(*a, "x").ok());
  EXPECT_EQ(b->Get(), "x");
  options.address = "sqlite:/nowhere/x.db";
  EXPECT_TRUE(absl::IsNotFound(Queue::Create(options).status()));

  LeaderElectorOptions election;
  election.name = "orders";
  election.address = absl::StrCat("sqlite:", path_);
  const auto elector = LeaderElector::Create(std::move(election));
  ASSERT_TRUE(elector.ok()) << elector.status();
  EXPECT_TRUE((*elector)->Start().ok());
  while (!(*elector)->IsLeader()) {
  }
}

// A chapter of the guide.
TEST_F(SqliteEngineTest, TheGuide) {
  const std::string path = path_;
  absl::Notification reconciled;
  workqueue::ControllerOptions<std::string> options;
  options.reconcile = [&](const std::string& key,
                          const workqueue::ReconcileContext&) {
    EXPECT_EQ(key, "x");
    reconciled.Notify();
    return absl::OkStatus();
  };
  const auto open = [&]() -> absl::Status {
    workqueue::RegisterSqlite();
    workqueue::SharedQueueOptions<std::string> shared;
    shared.name = "orders";
    shared.address = "sqlite:" + path;  // sqlite:/var/lib/orders.db
    auto queue = workqueue::SharedQueue<std::string>::Create(std::move(shared));
    if (!queue.ok()) return queue.status();
    options.queue = *std::move(queue);
    return absl::OkStatus();
  };
  ASSERT_TRUE(open().ok());
  const auto controller =
      *workqueue::Controller<std::string>::Create(std::move(options));
  ASSERT_TRUE(controller->Start().ok());
  EXPECT_TRUE(NewQueue(*NewEngine())->Add("x"));
  reconciled.WaitForNotification();
  EXPECT_TRUE(controller->Stop());
}

TEST_F(SqliteEngineTest, ACallOfAnElectorThatWaitsIsInterrupted) {
  const auto engine = NewEngine();
  internal::ElectionSource& source = *engine;
  internal::ElectionOptions options;
  options.name = "election";
  options.timeout = absl::Seconds(10);
  const auto elector = source.NewElection(options);
  Connection other(path_);
  other.Do("BEGIN IMMEDIATE");
  auto taken = Async([&] { return elector->Take().status(); });
  elector->Interrupt();
  EXPECT_TRUE(absl::IsUnavailable(taken.get()));
  other.Do("COMMIT");
}

// The processes that are killed.

class SqliteKillTest : public SqliteEngineTest {
 protected:
  SqliteKillTest() { RegisterSqlite(); }

  KillWorker NewWorker() const {
    KillWorker worker;
    worker.socket = absl::StrCat("sqlite:", path_);
    worker.queue = "killed";
    worker.lease = absl::Milliseconds(300);
    worker.seed = KillRun::TheFlags().seed;
    return worker;
  }

  KillRun run_{NewWorker()};
};

TEST_F(SqliteKillTest, KeepsItsPromises) {
  run_.Disturb([this] { return run_.kills() < KillRun::TheFlags().kills; },
               [this] { run_.HarmOne(); });
  const KillReport report = run_.Finish();
  EXPECT_TRUE(report.violations.empty()) << report.Violations();
  EXPECT_GT(report.done, 0);
}

// Nobody waits for the lease of a process that is not there.
TEST_F(SqliteKillTest, ADeadProcessIsPushedNothing) {
  const auto engine = NewEngine();
  auto options = Options(*engine);
  options.name = NewWorker().queue;
  options.lease = absl::Hours(1);
  const auto queue = *Queue::Create(options);
  const pid_t waits = run_.Start(/*adds=*/false);
  while (WaitingWorkers(*queue) == 0) {
  }
  KillRun::Kill(waits);
  EXPECT_GT(WaitingWorkers(*queue), 0u) << "nobody has told the engine";
  ASSERT_TRUE(Add(*queue, "x").ok());
  EXPECT_EQ(**queue->TryAcquire(), "x");
}

// What --measure prints, as docs/shared-queue.md says.

// What a process does whose worker waits.
void MeasureRest(const std::string& path) {
  const auto engine = *SqliteEngine::Create(path);
  SharedQueueOptions<std::string> options;
  options.name = "rest";
  options.engine = engine.get();
  const auto queue = *Queue::Create(options);
  auto got = Async([&] { return queue->Get(); });
  absl::SleepFor(absl::Seconds(1));
  rusage before = {}, after = {};
  getrusage(RUSAGE_SELF, &before);
  constexpr int kSeconds = 8;
  absl::SleepFor(absl::Seconds(kSeconds));
  getrusage(RUSAGE_SELF, &after);
  const auto cpu = [](const rusage& it) {
    return absl::DurationFromTimeval(it.ru_utime) +
           absl::DurationFromTimeval(it.ru_stime);
  };
  std::cout << "  at rest: " << (after.ru_nvcsw - before.ru_nvcsw) / kSeconds
            << " times a second, "
            << absl::ToDoubleMicroseconds(cpu(after) - cpu(before)) / kSeconds
            << " us of a processor a second\n";
  queue->Add("x");
  got.get();
}

void Measure() {
  for (const char* place : {"/tmp", "/dev/shm"}) {
    std::string folder = absl::StrCat(place, "/workqueue-XXXXXX");
    if (mkdtemp(folder.data()) == nullptr) continue;
    const std::string path = folder + "/queues.db";
    std::cout << "SQLite in " << place << "\n";
    MeasureHandOver(SqliteEngine::Create(path)->get(),
                    SqliteEngine::Create(path)->get());
    MeasureRest(path);
    std::error_code error;
    std::filesystem::remove_all(folder, error);
  }
}

}  // namespace
}  // namespace workqueue::sqlite_engine_test

// Takes the place of the C library's.
extern "C" int statfs(const char* path, struct statfs* result) noexcept {
  const auto status = syscall(SYS_statfs, path, result);
  if (const int64_t type = workqueue::sqlite_engine_test::file_system) {
    result->f_type = type;
  }
  return static_cast<int>(status);
}

int main(int argc, char** argv) {
  if (const auto worker = workqueue::KillWorker::FromArguments(argc, argv)) {
    workqueue::RegisterSqlite();
    return worker->Run();
  }
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const absl::string_view argument = argv[i];
    if (argument == "--measure") {
      workqueue::sqlite_engine_test::Measure();
      return 0;
    }
    if (workqueue::KillRun::TakeFlag(argument)) continue;
    std::cerr << argv[i] << ": none of --kills=9, --seed=1, --measure\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}
