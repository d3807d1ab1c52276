// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_SQLITE_INTERNAL_SQLITE_FILE_H_
#define WORKQUEUE_SHARED_SQLITE_INTERNAL_SQLITE_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "workqueue/shared/internal/table_engine.h"
#include "workqueue/shared/sqlite/internal/wake_file.h"
#include "workqueue/simulation/sync.h"

struct sqlite3;
struct sqlite3_stmt;

namespace workqueue::internal {

// SqliteFile
//
// A database of SQLite with queues and elections, and this process' connection
// to it. "SQLite" in docs/shared-queue.md has the tables.
//
// A thread that has something to do while nobody else does begins a
// transaction, and takes into it what the other threads have brought meanwhile,
// if it writes as they do: so the disk is synced once for all of them. Of
// several processes one has a transaction that writes. The others wait for the
// end of it, and take turns.
//
// Thread-safe.
class SqliteFile final : public EngineDatabase {
 public:
  // Opens the database, and makes it if there is no file. Waits for other
  // processes until `deadline`.
  static absl::StatusOr<std::unique_ptr<SqliteFile>> Open(
      const std::string& path, absl::Time deadline);
  ~SqliteFile() override;

  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  // EngineDatabase
  absl::Status Run(const Call& call, const Body& body) override;
  void Interrupted() override;
  void Vacate(int64_t listener) override;
  void AwaitMessages(absl::Duration timeout) override {
    wake_file_->Await(WakeFile::kMessages, heard_, timeout);
    heard_ = wake_file_->Read(WakeFile::kMessages);
  }
  // Wakes the threads of other processes, too, for which this is no harm.
  void Wake() override;
  size_t MaxItemBytes() const override { return size_t{1} << 29; }

 private:
  class Row;
  class Tables;

  struct Job : Call {
    const Body& body;
    bool taken = false;  // by the thread that has the transaction
    bool done = false;
    bool alone = false;  // Has a transaction of its own,
    bool full = false;   // in a database that is full.
    absl::Status status = {};

    bool IsInterrupted() const;
    bool IsOver() const;
  };

  explicit SqliteFile(const std::string& path) : path_(path) {}

  absl::Status Connect(absl::Time deadline);
  absl::Status MakeTables();
  // The statement of a literal. Null after an error.
  sqlite3_stmt* StatementOf(const char* query);
  // Executes statements without results.
  absl::Status Execute(const std::string& sql);

  // Has the next transaction, with `own` and the jobs that can share it.
  void Lead(Job* own) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns an error if nothing has been written, or if that is not known.
  // Tries again while other processes prevent it, until one of the jobs is
  // over. If a job fails by itself, nothing is written, and the result is OK if
  // it is the only job, and `absl::AbortedError` otherwise.
  absl::Status TryTogether(const std::list<Job*>& jobs);
  absl::Status TryOnce(const std::list<Job*>& jobs, bool writes, bool full);
  absl::Status Commit();
  void RollBack();
  // Whether it is a file that several processes can share. Changes nothing.
  absl::Status CheckPlace();
  // Whether it is still the file that it was.
  absl::Status CheckFile();

  // The status of an error code of SQLite.
  absl::Status StatusOf(int code) const;
  // Notes an error, an internal one if there is no memory for it. Until the end
  // of the transaction nothing is done any more.
  void Fail(int code);

  const std::string path_;
  std::unique_ptr<WakeFile> wake_file_;
  uint32_t heard_ =
      0;  // the word of messages, as `AwaitMessages()` has seen it

  // Whether a thread has a transaction. It uses all members below the queue.
  sync::Mutex mu_;
  bool busy_ ABSL_GUARDED_BY(mu_) = false;
  std::list<Job*> jobs_ ABSL_GUARDED_BY(mu_);         // that nobody has taken
  std::set<int64_t> listeners_ ABSL_GUARDED_BY(mu_);  // of this process

  sqlite3* connection_ = nullptr;
  std::string name_;  // the path, from the root
  dev_t device_ = 0;  // where the file is, and which one
  ino_t inode_ = 0;
  std::map<const char*, sqlite3_stmt*> statements_;  // by their literals
  absl::Status error_;                               // of this transaction
  bool is_busy_ = false;       // It is that of other processes.
  bool has_messages_ = false;  // that it has written
  // The word of commits after this process' last one, if another process waited
  // for that.
  std::optional<uint32_t> gives_way_since_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_SQLITE_INTERNAL_SQLITE_FILE_H_
