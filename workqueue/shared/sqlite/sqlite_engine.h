// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_SQLITE_SQLITE_ENGINE_H_
#define WORKQUEUE_SHARED_SQLITE_SQLITE_ENGINE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/shared/internal/table_engine.h"

namespace workqueue {

// RegisterSqlite()
//
// From now on the address "sqlite:PATH" names a file of SQLite in the place of
// a server, for each `SharedQueue` and `LeaderElector` of this program: what
// follows the scheme is the path, as it is. All that name the same path share
// a `SqliteEngine`. Idempotent and thread-safe.
//
// Example:
//
//     workqueue::RegisterSqlite();
//     workqueue::SharedQueueOptions<std::string> options;
//     options.name = "orders";
//     options.address = "sqlite:/var/lib/orders.db";
//     auto queue = workqueue::SharedQueue<std::string>::Create(options);
void RegisterSqlite();

// SqliteEngine
//
// Shared queues and elections in a file, by SQLite, without a server. The
// processes of one machine share them, and what waits survives a restart. The
// queues keep the promises of docs/shared-queue.md, with the file in the place
// of the server: what was acknowledged is on the disk.
//
// Give it to `SharedQueueOptions::engine` and `LeaderElectorOptions::engine`,
// or only its address; see `RegisterSqlite()`. Its time is that of the
// machine's wall clock, but does not go back. Calls block while the disk is
// synced, and while another process writes: `call_timeout` bounds only the
// latter. One connection and one thread serve all queues and electors of an
// engine.
//
// The file must be on a disk of this machine, in a folder that the processes
// share and can write to: beside it are PATH-wal and PATH-shm, which belong to
// it, and PATH-wake, by which the processes wake each other. Do not remove any
// of them while a process uses them, and copy the file by SQLite's own means.
// PATH may be a symbolic link; those files are then beside what it names. A
// process that has forked must not use an engine that it had before.
//
// Needs Linux. Thread-safe. May be destroyed before the queues and electors.
class SqliteEngine final : public internal::TableEngine {
 public:
  // Opens the file, and makes it if it is not there. `path` may begin with
  // "sqlite:". A `clock` that is not null, for tests, is the engine's time in
  // the place of the machine's. It is not owned, and must outlive the engine,
  // the queues and the electors.
  //
  // Blocks while another process makes the file, for `timeout` at most. Errors:
  //   * `kInvalidArgument`: the path is empty, or has a control character,
  //   * `kNotFound`: the path is that of a folder, or there is no such folder,
  //     or none that can be written to,
  //   * `kPermissionDenied`: the file cannot be written to,
  //   * `kDataLoss`: it is damaged, or no database,
  //   * `kFailedPrecondition`: it is the database of something else, of another
  //     version of this library, has several hard links, is mounted by itself
  //     and not with its folder (from Linux 5.8 on), or is not on a disk of
  //     this machine (but a file system of FUSE or 9p is not refused),
  //   * `kResourceExhausted`: the disk is full,
  //   * `kUnavailable`: another process did not let it go, or the disk fails.
  static absl::StatusOr<std::unique_ptr<SqliteEngine>> Create(
      absl::string_view path, Clock* clock = nullptr,
      absl::Duration timeout = absl::Seconds(5));

 private:
  using TableEngine::TableEngine;
};

}  // namespace workqueue

#endif  // WORKQUEUE_SHARED_SQLITE_SQLITE_ENGINE_H_
