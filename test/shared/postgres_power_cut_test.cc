// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Cuts the power of the disk that has a PostgreSQL server's files, while two
// processes use a queue in it, and proves by the history of each item that what
// was acknowledged is there when another server has started on what is left.
//
// The server preloads disk_log.cc, and `PowerCutDisk` says what a disk has
// after a cut, and what is simplified. A log has many places to cut at. A
// server that has started after a cut is used and cut again, also while it
// recovers. For as many cuts as you like:
//
//     tools/bazelw test //test/shared:postgres_power_cut_test
//         --test_arg=--cuts=1000 --test_timeout=3600 --test_output=all
//
// Sanitizers cannot be preloaded, so there is no test with them.

#include <libpq-fe.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>  // NOLINT(build/c++17)
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "test/shared/engine_history.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/postgres_server.h"
#include "test/shared/power_cut_disk.h"
#include "test/shared/temporary_folder.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/postgres/postgres_engine.h"
#include "workqueue/testing/thread.h"

namespace workqueue {
namespace {

namespace fs = std::filesystem;

struct Flags {
  int cuts = 60;
  uint32_t seed = std::random_device()();
};
Flags& TheFlags() {
  static Flags flags;
  return flags;
}

void Do(const std::string& address, const std::string& sql) {
  PGconn* const connection = PQconnectdb(address.c_str());
  PGresult* const result = PQexec(connection, sql.c_str());
  EXPECT_EQ(PQresultStatus(result), PGRES_COMMAND_OK)
      << PQresultErrorMessage(result);
  PQclear(result);
  PQfinish(connection);
}

// The log of a server's disk.
class Log {
 public:
  Log() {
    fs::permissions(folder_.path(),
                    fs::perms::owner_all | fs::perms::others_exec,
                    fs::perm_options::add);
    fs::copy(LibraryFile(), Library());
    fs::permissions(Library(), fs::perms::others_read, fs::perm_options::add);
    std::ofstream(Path()).flush();
    fs::permissions(Path(), fs::perms::others_read | fs::perms::others_write,
                    fs::perm_options::add);
  }

  std::vector<std::string> Environment() const {
    return {"LD_PRELOAD=" + Library(), "DISK_LOG=" + Path()};
  }
  int64_t Size() const { return static_cast<int64_t>(fs::file_size(Path())); }
  // The log so far.
  std::string Read(int64_t size) const {
    std::string log(static_cast<size_t>(size), '\0');
    std::ifstream(Path(), std::ios::binary).read(log.data(), size);
    return log;
  }

  static std::string LibraryFile() {
    return absl::StrCat(getenv("TEST_SRCDIR"), "/", getenv("TEST_WORKSPACE"),
                        "/test/shared/libdisk_log.so");
  }

 private:
  std::string Library() const { return folder_.path() + "/libdisk_log.so"; }
  std::string Path() const { return folder_.path() + "/log"; }

  const TemporaryFolder folder_;
};

// PowerCuts
//
// Uses a queue, cuts the power, and looks at what is left.
class PowerCuts {
 public:
  // The numbers of the cuts so far.
  struct Counts {
    int cuts = 0;
    int before_use = 0;  // of them: the server was starting or recovering
    size_t unsynced = 0;
  };

  // Pages are written all the time. `user` is added
  // to the address of those who use the queue.
  PowerCuts(uint32_t seed, std::vector<std::string> settings, std::string user)
      : random_(seed), settings_(std::move(settings)), user_(std::move(user)) {
    for (const char* it :
         {"shared_buffers=256kB", "max_wal_size=2MB", "bgwriter_delay=10ms"}) {
      settings_.push_back(it);
    }
    fs::copy(Template(), first_.path() + "/db", fs::copy_options::recursive);
  }

  // Returns what is wrong after so many cuts of one log. The next call goes on
  // from the last one.
  std::string Cut(int cuts) {
    Log log;
    std::unique_ptr<PowerCutDisk> disk;
    auto server = Start(first_.path() + "/db", log.Environment(), &disk);
    if (!server.ok()) return server.status().ToString();
    history_ = history_->Until(end_, [&log] { return log.Size(); });
    const int64_t use = log.Size();
    Use(**server);
    const int64_t size = log.Size();
    (*server)->Crash();
    const std::vector<size_t> ends = disk->TakeLog(log.Read(size));
    EXPECT_GT(ends.size(), 100u) << "the server does not preload the library";
    std::vector<size_t> cut_at;
    for (int i = 0; i < cuts; ++i)
      cut_at.push_back(ends[random_() % ends.size()]);
    std::sort(cut_at.begin(), cut_at.end());
    std::string problem;
    for (size_t end : cut_at) {
      disk->RunUntil(end);
      end_ = static_cast<int64_t>(end);
      ++counts_.cuts;
      counts_.before_use += end_ <= use ? 1 : 0;
      counts_.unsynced += disk->NumUnsynced();
      const uint32_t seed = random_();
      const TemporaryFolder left;
      disk->Restore(seed, left.path() + "/db");
      problem = Drain(left.path() + "/db");
      if (!problem.empty()) {
        return absl::StrCat("cut ", counts_.cuts, " at ", end, " of ", size,
                            ": ", problem);
      }
      fs::remove_all(first_.path() + "/db");
      disk->Restore(seed, first_.path() + "/db");
    }
    return "";
  }

  const Counts& counts() const { return counts_; }

 private:
  // A database that has been synced, with tables and a user whose commits wait
  // for nobody. The library forbids them, but for a user whose `set_config()`
  // is another.
  static const std::string& Template() {
    static const std::string path = [] {
      static const auto server = PostgresServer::Start();
      if (!server.ok()) DieOf(server.status());
      const std::string address = (*server)->address();
      const absl::Status made = PostgresEngine::Migrate(address);
      if (!made.ok()) DieOf(made);
      Do(address,
         "CREATE ROLE hasty LOGIN SUPERUSER;"
         "ALTER ROLE hasty SET search_path = deaf, pg_catalog;"
         "ALTER ROLE hasty SET synchronous_commit = off;"
         "CREATE SCHEMA deaf; CREATE FUNCTION deaf.set_config(text, text,"
         " boolean) RETURNS text LANGUAGE sql AS $$ SELECT CASE WHEN $1 ="
         " 'synchronous_commit' THEN '' ELSE pg_catalog.set_config($1, $2, $3)"
         " END $$");
      (*server)->Stop();
      return (*server)->database();
    }();
    return path;
  }

  // Starts a server on a copy of `database`, whose disk is `*disk`.
  absl::StatusOr<std::unique_ptr<PostgresServer>> Start(
      const std::string& database, std::vector<std::string> environment = {},
      std::unique_ptr<PowerCutDisk>* disk = nullptr) const {
    PostgresServer::Options options;
    options.settings = settings_;
    options.environment = std::move(environment);
    options.fill = [&](const std::string& folder) {
      fs::copy(database, folder, fs::copy_options::recursive);
      // After a cut there is no such process.
      fs::remove(folder + "/postmaster.pid");
      if (disk != nullptr) *disk = std::make_unique<PowerCutDisk>(folder);
    };
    return PostgresServer::Start(std::move(options));
  }

  void Use(const PostgresServer& server) {
    std::vector<std::unique_ptr<PostgresEngine>> processes;
    for (int i = 0; i < 2; ++i) {
      auto process = PostgresEngine::Create(server.address() + user_);
      ASSERT_TRUE(process.ok()) << process.status();
      processes.push_back(*std::move(process));
    }
    std::vector<Thread> threads;
    for (size_t i = 0; i < 2 * processes.size(); ++i) {
      threads.emplace_back([&, i, its_seed = random_()] {
        internal::EngineSource& process = *processes[i / 2];
        history_->Use(*process.NewEngine("orders", 1, ""),
                      absl::StrCat("client ", counts_.cuts, " ", i), 100,
                      its_seed);
      });
    }
    std::atomic<bool> ends{false};
    Thread checkpoints([&] {
      while (!ends) Do(server.address(), "CHECKPOINT");
    });
    for (Thread& thread : threads) thread.join();
    ends = true;
    checkpoints.join();
  }

  // Returns what is wrong with what a cut has left.
  std::string Drain(const std::string& database) const {
    const auto server = Start(database);
    if (!server.ok()) return server.status().ToString();
    const auto process = PostgresEngine::Create((*server)->address());
    if (!process.ok()) return process.status().ToString();
    internal::EngineSource& source = **process;
    return history_->Until(end_)->Drain(*source.NewEngine("orders", 1, ""));
  }

  std::mt19937 random_;
  std::vector<std::string> settings_;
  const std::string user_;
  const TemporaryFolder first_;  // has the database before the next log
  std::unique_ptr<EngineHistory> history_ = std::make_unique<EngineHistory>();
  int64_t end_ = 0;  // of the last log
  Counts counts_;
};

// Returns what is wrong after so many cuts at most.
std::string CutPower(int cuts, const std::vector<std::string>& settings = {},
                     const std::string& user = "") {
  constexpr int kLogs = 2, kCutsOfALog = 10;
  PowerCuts::Counts all;
  std::string problem;
  for (uint32_t seed = TheFlags().seed; all.cuts < cuts && problem.empty();
       ++seed) {
    PowerCuts power(seed, settings, user);
    for (int log = 0; log < kLogs && problem.empty(); ++log) {
      problem = power.Cut(kCutsOfALog);
    }
    all.cuts += power.counts().cuts;
    all.before_use += power.counts().before_use;
    all.unsynced += power.counts().unsynced;
  }
  std::cout << all.cuts << " cuts, " << all.before_use
            << " of them while a server started; " << all.unsynced
            << " writes had not been synced then\n"
            << problem << "\n";
  return problem;
}

TEST(PostgresPowerCutTest, WhatWasAcknowledgedIsThere) {
  EXPECT_EQ(CutPower(TheFlags().cuts), "");
}

// Those below check the checks.

TEST(PostgresPowerCutTest, ALossByAsynchronousCommitsIsFound) {
  // So that the WAL writer leaves more unsynced.
  const std::vector<std::string> settings = {"wal_writer_delay=10s",
                                             "wal_writer_flush_after=1GB"};
  EXPECT_NE(CutPower(1000, settings, "&user=hasty"), "");
}

// The engine refuses these two if it may.
TEST(PostgresPowerCutTest, ALossWithoutSyncsIsFound) {
  EXPECT_NE(CutPower(100, {"fsync=off"}), "");
}

TEST(PostgresPowerCutTest, ALossByTornPagesIsFound) {
  EXPECT_NE(CutPower(100, {"full_page_writes=off"}), "");
}

}  // namespace
}  // namespace workqueue

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    auto& flags = workqueue::TheFlags();
    if (absl::ConsumePrefix(&argument, "--cuts=")
            ? !absl::SimpleAtoi(argument, &flags.cuts)
            : !absl::ConsumePrefix(&argument, "--seed=") ||
                  !absl::SimpleAtoi(argument, &flags.seed)) {
      std::cerr << argv[i] << ": none of --cuts=9, --seed=1\n";
      return 2;
    }
  }
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
  std::cout << "Skipped: a server cannot preload a sanitizer\n";
  return 0;
#endif
  std::cout << "--seed=" << workqueue::TheFlags().seed << "\n";
  // Ends the program if there is no server.
  workqueue::PostgresServerOfThisProgram();
  return RUN_ALL_TESTS();
}
