// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Cuts the power of the disk that has a queue's file, while two processes use
// it, and proves by the history of each item that what was acknowledged is
// there afterwards.
//
// The disk is a VFS of SQLite. It keeps what has been synced of each file, and
// all later writes. When the power is cut, at a write or a sync that is chosen
// at random, any of those are on the disk: see `UnsyncedFile`. A file's name is
// on the disk at once: SQLite syncs the folder. What the queue does after the
// cut nobody sees. It goes on with the files that are left.

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"
#include "test/shared/engine_history.h"
#include "test/shared/temporary_folder.h"
#include "test/shared/unsynced_file.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/sqlite/sqlite_engine.h"
#include "workqueue/testing/thread.h"

namespace workqueue::sqlite_power_cut_test {
namespace {

using internal::MutexLock;

// Disk
//
// What all files of SQLite are on while it exists. Its power can be cut once.
class Disk {
 public:
  // Calls `cut` when the power is cut: after so many writes and syncs, or in
  // the end.
  Disk(uint32_t seed, int cut_after, std::function<void()> cut)
      : random_(seed), left_(cut_after), cut_(std::move(cut)) {
    vfs_ = *real_;
    vfs_.zName = "disk";
    vfs_.pAppData = this;
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.xOpen = &Open;
    vfs_.xDelete = &Delete;
    EXPECT_EQ(sqlite3_vfs_register(&vfs_, /*makeDflt=*/1), SQLITE_OK);
  }

  // No file may be open.
  ~Disk() { sqlite3_vfs_unregister(&vfs_); }

  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  // Puts what is on the disk after the cut into a folder.
  void Restore(const std::string& folder) {
    MutexLock lock(&mu_);
    if (left_ > 0) Cut();
    for (const auto& [path, bytes] : after_) {
      std::ofstream(folder + path.substr(path.rfind('/')), std::ios::binary)
          << bytes;
    }
  }

 private:
  struct File {
    sqlite3_file base;
    Disk* disk;
    UnsyncedFile* contents;
    sqlite3_file* real;  // behind this
  };

  void Cut() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    left_ = 0;
    cut_();
    for (const auto& [path, contents] : files_) {
      after_[path] = contents.AfterCut(&random_);
    }
  }

  void Count() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (left_ > 0 && --left_ == 0) Cut();
  }

  static int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* given,
                  int flags, int* out_flags) {
    Disk& disk = *static_cast<Disk*>(vfs->pAppData);
    auto* const file = reinterpret_cast<File*>(given);
    file->base.pMethods = nullptr;
    file->real = reinterpret_cast<sqlite3_file*>(file + 1);
    const int code =
        disk.real_->xOpen(disk.real_, name, file->real, flags, out_flags);
    if (code != SQLITE_OK) return code;
    file->base.pMethods = Methods();
    file->disk = &disk;
    MutexLock lock(&disk.mu_);
    const auto [it, is_new] =
        disk.files_.try_emplace(name == nullptr ? "" : name);
    file->contents = &it->second;
    if (is_new && name != nullptr) {
      std::ifstream in(name, std::ios::binary);
      it->second = UnsyncedFile({std::istreambuf_iterator<char>(in), {}});
    }
    return SQLITE_OK;
  }

  static int Delete(sqlite3_vfs* vfs, const char* name, int syncs) {
    Disk& disk = *static_cast<Disk*>(vfs->pAppData);
    MutexLock lock(&disk.mu_);
    disk.files_.erase(name);
    return disk.real_->xDelete(disk.real_, name, syncs);
  }

  // Passes a call on to the real file.
  template <auto member, typename... Args>
  static int Pass(sqlite3_file* given, Args... args) {
    sqlite3_file* const real = reinterpret_cast<File*>(given)->real;
    return (real->pMethods->*member)(real, args...);
  }

  // The same, and notes a change, or a sync.
  template <auto member, typename... Args>
  static int Change(sqlite3_file* given,
                    std::function<void(UnsyncedFile&)> change, Args... args) {
    File& file = *reinterpret_cast<File*>(given);
    MutexLock lock(&file.disk->mu_);
    file.disk->Count();
    change(*file.contents);
    return Pass<member>(given, args...);
  }

  static const sqlite3_io_methods* Methods() {
    static const sqlite3_io_methods methods = [] {
      using M = sqlite3_io_methods;
      M m = {};
      m.iVersion = 2;  // Files are not mapped.
      m.xClose = Pass<&M::xClose>;
      m.xRead = Pass<&M::xRead, void*, int, sqlite3_int64>;
      m.xWrite = [](sqlite3_file* file, const void* data, int size,
                    sqlite3_int64 at) {
        return Change<&M::xWrite>(
            file,
            [&](UnsyncedFile& to) {
              to.Write(static_cast<size_t>(at), {static_cast<const char*>(data),
                                                 static_cast<size_t>(size)});
            },
            data, size, at);
      };
      m.xTruncate = [](sqlite3_file* file, sqlite3_int64 size) {
        return Change<&M::xTruncate>(
            file,
            [&](UnsyncedFile& to) { to.Truncate(static_cast<size_t>(size)); },
            size);
      };
      // The real file need not be synced.
      m.xSync = [](sqlite3_file* file, int) {
        sqlite3_int64 size = 0;
        return Change<&M::xFileSize>(
            file, [](UnsyncedFile& to) { to.Sync(); }, &size);
      };
      m.xFileSize = Pass<&M::xFileSize, sqlite3_int64*>;
      m.xLock = Pass<&M::xLock, int>;
      m.xUnlock = Pass<&M::xUnlock, int>;
      m.xCheckReservedLock = Pass<&M::xCheckReservedLock, int*>;
      m.xFileControl = Pass<&M::xFileControl, int, void*>;
      m.xSectorSize = Pass<&M::xSectorSize>;
      m.xDeviceCharacteristics = Pass<&M::xDeviceCharacteristics>;
      m.xShmMap = Pass<&M::xShmMap, int, int, int, void volatile**>;
      m.xShmLock = Pass<&M::xShmLock, int, int, int>;
      m.xShmBarrier = [](sqlite3_file* file) {
        sqlite3_file* const real = reinterpret_cast<File*>(file)->real;
        real->pMethods->xShmBarrier(real);
      };
      m.xShmUnmap = Pass<&M::xShmUnmap, int>;
      return m;
    }();
    return &methods;
  }

  sqlite3_vfs* const real_ = sqlite3_vfs_find(nullptr);
  sqlite3_vfs vfs_ = {};
  absl::Mutex mu_;
  std::mt19937 random_ ABSL_GUARDED_BY(mu_);
  int left_ ABSL_GUARDED_BY(mu_);
  const std::function<void()> cut_;
  // By path.
  std::map<std::string, UnsyncedFile> files_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::string> after_ ABSL_GUARDED_BY(mu_);
};

int Do(sqlite3* connection, const char* sql) {
  return sqlite3_exec(connection, sql, nullptr, nullptr, nullptr);
}

// The log is short, so that it is often copied into the database.
int ShortenLog(sqlite3* connection, const char** /*error*/,
               const sqlite3_api_routines* /*unused*/) {
  return Do(connection, "PRAGMA wal_autocheckpoint = 8");
}

// And nothing is synced, whatever the engine sets.
int SyncNothing(sqlite3* connection, const char** error,
                const sqlite3_api_routines* routines) {
  Do(connection, "PRAGMA synchronous = OFF");
  sqlite3_set_authorizer(
      connection,
      [](void*, int action, const char* pragma, const char*, const char*,
         const char*) {
        return action == SQLITE_PRAGMA &&
                       absl::string_view(pragma) == "synchronous"
                   ? SQLITE_IGNORE
                   : SQLITE_OK;
      },
      nullptr);
  return ShortenLog(connection, error, routines);
}

using Extension = decltype(&ShortenLog);

// Returns what is wrong after three power cuts, or an empty string.
std::string CutPower(uint32_t seed, Extension extension) {
  const auto function = reinterpret_cast<void (*)()>(extension);
  sqlite3_auto_extension(function);
  std::mt19937 random(seed);
  EngineHistory history;
  auto folder = std::make_unique<TemporaryFolder>();
  std::string problem;
  for (int cut = 0; cut < 3 && problem.empty(); ++cut) {
    auto next = std::make_unique<TemporaryFolder>();
    Disk disk(random(), 1 + static_cast<int>(random() % 400),
              [&history] { history.Cut(); });
    {
      std::vector<std::unique_ptr<SqliteEngine>> processes;
      for (int i = 0; i < 2 && problem.empty(); ++i) {
        auto process = SqliteEngine::Create(folder->path() + "/queues.db");
        if (!process.ok()) problem = process.status().ToString();
        if (process.ok()) processes.push_back(*std::move(process));
      }
      std::vector<Thread> threads;
      for (size_t i = 0; i < 2 * processes.size(); ++i) {
        threads.emplace_back([&, i, its_seed = random()] {
          internal::EngineSource& process = *processes[i / 2];
          history.Use(*process.NewEngine("orders", 1, ""),
                      absl::StrCat("client ", cut, " ", i), 50, its_seed);
        });
      }
      for (Thread& thread : threads) thread.join();
    }
    disk.Restore(next->path());
    history.Resume();
    folder = std::move(next);
  }
  if (problem.empty()) {
    auto process = SqliteEngine::Create(folder->path() + "/queues.db");
    if (process.ok()) {
      internal::EngineSource& source = **process;
      problem = history.Drain(*source.NewEngine("orders", 1, ""));
    } else {
      problem = process.status().ToString();
    }
  }
  sqlite3_cancel_auto_extension(function);
  return problem;
}

TEST(SqlitePowerCutTest, WhatWasAcknowledgedIsThere) {
  for (uint32_t seed = 0; seed < 70; ++seed) {
    ASSERT_EQ(CutPower(seed, &ShortenLog), "") << "seed " << seed;
  }
}

TEST(SqlitePowerCutTest, WithoutSyncsALossIsFound) {
  std::string found;
  for (uint32_t seed = 0; seed < 20 && found.empty(); ++seed) {
    found = CutPower(seed, &SyncNothing);
  }
  EXPECT_NE(found, "");
  std::cout << found << "\n";
}

}  // namespace
}  // namespace workqueue::sqlite_power_cut_test
