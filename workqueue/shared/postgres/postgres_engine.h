// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_POSTGRES_POSTGRES_ENGINE_H_
#define WORKQUEUE_SHARED_POSTGRES_POSTGRES_ENGINE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/clock/clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/shared/internal/table_engine.h"

struct pg_conn;

namespace workqueue {

// RegisterPostgres()
//
// From now on an address "postgres://..." or "postgresql://..." names a
// PostgreSQL database, for each `SharedQueue` and `LeaderElector` of this
// program. All that name the same address share a `PostgresEngine`. Idempotent
// and thread-safe.
//
// Example:
//
//     workqueue::RegisterPostgres();
//     workqueue::SharedQueueOptions<std::string> options;
//     options.name = "orders";
//     options.address = "postgres://shop@db.example.com/shop";
//     auto queue = workqueue::SharedQueue<std::string>::Create(options);
void RegisterPostgres();

// PostgresEngine
//
// Shared queues and elections in a PostgreSQL database, version 14 or later.
// The queues keep the promises of docs/shared-queue.md: what was acknowledged
// is on the server's disk, and on its standbys as far as the server's
// `synchronous_commit` says; this library never uses "off".
//
// An address is a URI or a connection string of libpq. The parameter "schema"
// of a URI names the schema that has the tables, instead of "workqueue": by
// letters, digits and '_', 63 at most. `Migrate()` makes them. If they are
// dropped and made anew, a process that has used them must be started again:
// until then its calls return `kFailedPrecondition`.
//
// Of an address' hosts, the first one counts that answers and is no standby. Of
// those in a service file or in "hostaddr", libpq chooses: with
// "target_session_attrs=primary" it passes over standbys, too.
//
// Names of hosts are resolved within the time of a call. But if libpq takes the
// host from a service file, it waits for a name server as long as the system
// does.
//
// An item has 2,048 bytes at most, together with its group if the queue has
// groups; and so has a name of a queue or an election. The time is that of the
// server's clock, but does not go back. Each process has one connection that
// listens, and as many others as it has calls at a time: two for most queues. A
// call takes two round trips to the server. The locks of a queue and of a
// process are advisory locks; their keys begin with the numbers of the tables.
//
// Thread-safe. May be destroyed before the queues and electors. A process that
// has forked must not use an engine that it had before. Needs Linux.
class PostgresEngine final : public internal::TableEngine {
 public:
  // Connects. A `clock` that is not null, for tests, is the engine's time in
  // the place of the server's. It is not owned, and must outlive the engine,
  // the queues and the electors.
  //
  // Blocks for `timeout` at most. A server that does not answer is no error
  // yet: calls of queues and electors wait for it, as long as they may. Errors:
  //   * `kInvalidArgument`: libpq cannot use the address, or it asks for a
  //     standby, or the schema is no such name,
  //   * `kUnauthenticated`: the server refuses the user, or the password,
  //   * `kNotFound`: the server has no such database,
  //   * `kPermissionDenied`: the user may not use the database, or the tables,
  //   * `kFailedPrecondition`: there are no tables, they are of another version
  //     of this library, or the server is too old.
  static absl::StatusOr<std::unique_ptr<PostgresEngine>> Create(
      absl::string_view address, Clock* clock = nullptr,
      absl::Duration timeout = absl::Seconds(10));

  // Makes the tables that are not there, and brings older ones up to date.
  // Tables of a later version stay as they are, and are an error. Errors as of
  // `Create()`, and `kUnavailable` without a server. The user needs the right
  // to create in the database.
  static absl::Status Migrate(absl::string_view address);

  // Adds items, as the codec of the queue writes them, in a transaction of the
  // program's own: `connection` is libpq's `PGconn`, where the transaction has
  // begun. When it commits, they are added, and a worker that waits has them
  // after one more round trip; a second later at most if a pooler is between.
  // When it does not, nothing has happened. It holds no lock of the queue. A
  // snapshot has them from the next request of the queue on.
  //
  // Of `options`, only `after`, from now on, and `priority` are possible here.
  // The function `add(queue, item, after, priority)` in the schema does the
  // same for any language:
  //
  //     SELECT workqueue.add('orders', 'order 17', after => '30 s');
  //
  // It fails for a priority that is no `int`, and for a name that no queue can
  // have. `Migrate()` brings it up to date.
  //
  // Blocks for a round trip. After `kInvalidArgument` nothing was sent: an
  // option is not possible here, an item or the name is too long, no queue can
  // have the name, or the connection is null or has no transaction that can
  // commit. After any other error the transaction cannot commit: the user may
  // not insert into the table "inbox", the queue has several partitions, or the
  // connection is lost.
  static absl::Status AddInTransaction(pg_conn* connection,
                                       absl::string_view queue,
                                       const AddOptions& options,
                                       absl::Span<const std::string> items,
                                       absl::string_view schema = "workqueue");

  // The text by which `Migrate()` does that, for those who do it themselves. If
  // the schema is no such name, the text fails, and says so.
  static std::string MigrationSql(absl::string_view schema = "workqueue");

 private:
  using TableEngine::TableEngine;
};

}  // namespace workqueue

#endif  // WORKQUEUE_SHARED_POSTGRES_POSTGRES_ENGINE_H_
