// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_POSTGRES_INTERNAL_POSTGRES_DATABASE_H_
#define WORKQUEUE_SHARED_POSTGRES_INTERNAL_POSTGRES_DATABASE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/redis/wake_fd.h"
#include "workqueue/shared/internal/table_engine.h"
#include "workqueue/shared/postgres/internal/postgres_connection.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// PostgresDatabase
//
// A schema of a PostgreSQL database with queues and elections. "PostgreSQL" in
// docs/shared-queue.md has the tables.
//
// A transaction takes two round trips. The first one takes the lock of the
// queue, and fetches what the request will probably read. The second one writes
// all that has changed, and commits. Between them, the rules of `StoredQueue`
// are applied here. What was not foreseen is fetched by further round trips.
//
// One more connection listens. It holds a lock for each listener of this
// process, by which others see that the process lives.
//
// Thread-safe.
class PostgresDatabase final : public EngineDatabase {
 public:
  static absl::StatusOr<std::unique_ptr<PostgresDatabase>> Open(
      const std::string& address, const std::string& schema,
      absl::Time deadline);
  ~PostgresDatabase() override;

  PostgresDatabase(const PostgresDatabase&) = delete;
  PostgresDatabase& operator=(const PostgresDatabase&) = delete;

  // The text that makes the tables in `schema`, or brings them up to date.
  static std::string MigrationSql(const std::string& schema);

  // Returns an error if the name of a queue is too long.
  static absl::Status CheckName(absl::string_view name);

  // Of an item with its group, and of a name. An entry of an index has 2,704
  // bytes at most, and is longer by some numbers.
  static constexpr size_t kMaxItemBytes = 2048;

  // EngineDatabase
  absl::Status Run(const Call& call, const Body& body) override;
  void Interrupted() override {}  // A call looks at its flag often.
  void Vacate(int64_t listener) override;
  void AwaitMessages(absl::Duration timeout) override;
  void Wake() override;
  absl::StatusOr<EngineSettings> CheckSettings(absl::Time deadline) override;
  size_t MaxItemBytes() const override { return kMaxItemBytes; }

 private:
  class Tables;
  struct Sql;

  PostgresDatabase(std::string address, const std::string& schema);

  // Connects, and sees that the tables are there.
  absl::StatusOr<std::unique_ptr<PostgresConnection>> Connect(
      absl::Time deadline, const sync::Atomic<bool>* interrupted = nullptr);
  // Returns an error if those are not the tables that this process knows: the
  // numbers of queues have begun again.
  absl::Status CheckTables(int64_t entry_table);
  // `again` if the end of an earlier attempt is not known.
  absl::Status RunOnce(const Call& call, const Body& body, bool full,
                       bool again);

  // The listener is in this process from now on. `server` is when the server
  // has been started.
  absl::Status Occupy(int64_t listener, int64_t server, absl::Time deadline);
  absl::Status ConnectListening(absl::Time deadline,
                                const sync::Atomic<bool>* interrupted)
      ABSL_LOCKS_EXCLUDED(listening_mu_);
  absl::Status ListenFor(const std::set<int64_t>& listeners,
                         absl::Time deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(listening_mu_);

  const std::string address_;
  const std::unique_ptr<const Sql> sql_;
  // Identify the tables among all that take locks and listen.
  sync::Atomic<int64_t> entry_table_{0}, listener_table_{0};

  sync::Mutex mu_;
  std::vector<std::unique_ptr<PostgresConnection>> idle_ ABSL_GUARDED_BY(mu_);
  // The number and the layout of each queue by name. A transaction looks
  // whether it is still that.
  std::map<std::string, std::pair<int64_t, std::string>> queues_
      ABSL_GUARDED_BY(mu_);

  sync::Mutex listening_mu_;
  std::unique_ptr<PostgresConnection> listening_ ABSL_GUARDED_BY(listening_mu_);
  bool polls_ ABSL_GUARDED_BY(listening_mu_) = false;
  // And which server knows them, by its start.
  std::map<int64_t, int64_t> listeners_ ABSL_GUARDED_BY(listening_mu_);
  // Those whose locks other sessions have: one that looks whether the process
  // lives, or that of a connection of this process whose end the server has not
  // noticed. Each look of this process tries again.
  std::set<int64_t> unlocked_ ABSL_GUARDED_BY(listening_mu_);
  // Something may have been heard while the connection was used.
  bool look_ ABSL_GUARDED_BY(listening_mu_) = false;
  WakeFd wake_;
  sync::Atomic<bool> woken_{false};  // as `wake_`, while it connects
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_POSTGRES_INTERNAL_POSTGRES_DATABASE_H_
