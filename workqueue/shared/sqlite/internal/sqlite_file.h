// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_SQLITE_INTERNAL_SQLITE_FILE_H_
#define WORKQUEUE_SHARED_SQLITE_INTERNAL_SQLITE_FILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/shared/internal/ordered_store.h"
#include "workqueue/shared/sqlite/internal/wake_file.h"

struct sqlite3;
struct sqlite3_stmt;

namespace workqueue::internal {

// SqliteFile
//
// A database of SQLite with queues and elections, and this process' connection
// to it. "SQLite" in docs/shared-queue.md has the tables.
//
// A thread that has something to do while nobody else does begins a
// transaction, and takes into it what the other threads have brought meanwhile:
// so the disk is synced once for all of them. Of several processes one has a
// transaction that writes. The others wait for the end of it, and take turns.
//
// Thread-safe.
class SqliteFile {
 public:
  class Tables;

  // What is done in a transaction. It is done again if the database is `full`,
  // in a transaction of its own. So its only effects are in the tables, and
  // results that the next call replaces. The error is that of the caller only:
  // nothing may have been written then.
  using Body = std::function<absl::Status(Tables& tables, bool full)>;

  // Opens the database, and makes it if there is no file. Waits for other
  // processes until `deadline`.
  static absl::StatusOr<std::unique_ptr<SqliteFile>> Open(
      const std::string& path, absl::Time deadline);
  ~SqliteFile();

  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  // Does `body` in a transaction, and returns when it is on the disk. Waits for
  // other processes and threads until `deadline`, on the machine's clock, or
  // until `*interrupted`; see `Interrupted()`. The result of the transaction is
  // not known after `absl::UnknownError`. After any other error nothing has
  // changed.
  absl::Status Write(absl::Time deadline, const Body& body,
                     const std::atomic<bool>* interrupted = nullptr) {
    return Run(deadline, body, /*writes=*/true, interrupted);
  }

  // The same, for a `body` that only reads.
  absl::Status Read(absl::Time deadline, const Body& body,
                    const std::atomic<bool>* interrupted = nullptr) {
    return Run(deadline, body, /*writes=*/false, interrupted);
  }

  // Must be called when a flag of a call has been set.
  void Interrupted();

  WakeFile& wake_file() { return *wake_file_; }
  const std::string& path() const { return path_; }

 private:
  enum Query : int;
  class Row;

  struct Job {
    const Body& body;
    const bool writes;
    const absl::Time deadline;
    const std::atomic<bool>* const interrupted;
    bool taken = false;
    bool done = false;
    absl::Status status = {};

    bool IsOver() const;
  };

  explicit SqliteFile(const std::string& path) : path_(path) {}

  absl::Status Connect(absl::Time deadline);
  absl::Status MakeTables();
  absl::Status Prepare();
  // Executes statements without results.
  absl::Status Execute(const std::string& sql);

  absl::Status Run(absl::Time deadline, const Body& body, bool writes,
                   const std::atomic<bool>* interrupted);
  void RunTogether(const std::vector<Job*>& jobs);
  // Returns an error if nothing has been written, or if that is not known.
  // Tries again while other processes prevent it, until one of the jobs is
  // over.
  absl::Status TryTogether(const std::vector<Job*>& jobs, bool writes,
                           bool full);
  absl::Status TryOnce(const std::vector<Job*>& jobs, bool writes, bool full);
  absl::Status Commit();
  void RollBack();
  // Whether it is still the file that it was.
  absl::Status CheckFile();

  // The status of an error code of SQLite.
  absl::Status StatusOf(int code) const;
  // Notes an error. Until the end of the transaction nothing is done any more.
  void Fail(int code);

  const std::string path_;
  std::unique_ptr<WakeFile> wake_file_;

  // Whether a thread has a transaction. It uses all members below the queue.
  absl::Mutex mu_;
  bool busy_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<Job*> jobs_ ABSL_GUARDED_BY(mu_);

  sqlite3* connection_ = nullptr;
  std::vector<sqlite3_stmt*> statements_;  // by Query
  absl::Status error_;                     // of this transaction
  bool is_busy_ = false;                   // It is that of other processes.
  bool has_messages_ = false;              // that it has written
  // Whether another process waited when this one had committed.
  std::optional<uint32_t> gives_way_since_;
};

// The tables, in a transaction. After an error of the database they are empty.
class SqliteFile::Tables {
 public:
  struct Message {
    int64_t id;
    std::string body;
  };

  explicit Tables(SqliteFile* file) : file_(*file) {}

  // Returns the number of the queue, or of one of its `partitions`, of that
  // name. Adds the queue if it is not there.
  absl::StatusOr<int64_t> FindQueue(absl::string_view name,
                                    const std::string& layout);

  // The entries of a queue, or the elections, which have the number zero.
  std::unique_ptr<OrderedStore> StoreOf(int64_t queue);

  // Those who listen to a queue's messages, by number.
  int64_t AddListener(int64_t queue);
  void RemoveListener(int64_t listener);
  std::vector<int64_t> ListenersOf(int64_t queue);

  void AddMessage(int64_t listener, absl::string_view body);
  std::vector<Message> MessagesOf(int64_t listener, int64_t after);
  void RemoveMessages(int64_t listener, int64_t until);

  // Something has changed that other processes look at when they are woken.
  void Notify() { file_.has_messages_ = true; }

 private:
  class Store;

  SqliteFile& file_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_SQLITE_INTERNAL_SQLITE_FILE_H_
