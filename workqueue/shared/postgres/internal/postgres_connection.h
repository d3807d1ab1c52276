// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_POSTGRES_INTERNAL_POSTGRES_CONNECTION_H_
#define WORKQUEUE_SHARED_POSTGRES_INTERNAL_POSTGRES_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/simulation/sync.h"

struct pg_conn;
struct pg_result;

namespace workqueue::internal {

// A value that a statement takes, in PostgreSQL's binary format.
struct PostgresValue {
  static PostgresValue Number(int64_t number);
  static PostgresValue Bytes(absl::string_view bytes);
  static PostgresValue Text(absl::string_view text);
  static PostgresValue Numbers(const std::vector<int64_t>& numbers);
  static PostgresValue BytesArray(const std::vector<std::string>& bytes);
  // Of rows: `ctid`s.
  static PostgresValue Places(const std::vector<std::string>& places);
  static PostgresValue Texts(const std::vector<std::string>& texts);

  unsigned type;
  std::string bytes;
};

struct PostgresStatement {
  std::string sql;
  std::vector<PostgresValue> values = {};
  // Begins another transaction, whose errors do not matter.
  bool apart = false;
  // Is not kept by the server for the next time.
  bool once = false;
};

// The rows that a statement returns, in the binary format.
class PostgresRows {
 public:
  explicit PostgresRows(pg_result* result);

  int size() const;
  int64_t Number(int row, int column) const;
  std::string Bytes(int row, int column) const;
  bool IsNull(int row, int column) const;
  const pg_result* get() const { return result_.get(); }

 private:
  std::shared_ptr<pg_result> result_;
};

// PostgresConnection
//
// A connection to a server, which never blocks for longer than it is told to.
//
// Thread-compatible.
class PostgresConnection {
 public:
  // Returns an `absl::InvalidArgumentError` if libpq would never connect by
  // `address`, whatever a server does. It shows nothing of the address, which
  // may have a password, and which libpq's own messages repeat. Does not block.
  static absl::Status CheckAddress(const std::string& address);

  // Connects by `address`, a URI or a connection string of libpq, to the first
  // host that is there and no standby. A server that refuses the login for
  // good, or has no such database, is no `absl::UnavailableError`. Waits as
  // `Execute()` does.
  static absl::StatusOr<std::unique_ptr<PostgresConnection>> Connect(
      const std::string& address, absl::Time deadline,
      const sync::Atomic<bool>* interrupted = nullptr);
  ~PostgresConnection();

  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;

  // Executes the statements in one round trip, and returns the rows of each.
  // After an error the rest is not executed. Waits until `deadline`, on the
  // machine's clock, or until `*interrupted`. What was sent may have been
  // executed after `absl::UnknownError`, and not after any other error.
  absl::StatusOr<std::vector<PostgresRows>> Execute(
      const std::vector<PostgresStatement>& statements, absl::Time deadline,
      const sync::Atomic<bool>* interrupted = nullptr);

  // Executes a text with several statements, in one transaction.
  absl::Status ExecuteScript(const std::string& sql, absl::Time deadline);

  // Executes a statement on a connection of somebody else, and blocks.
  static absl::Status ExecuteOn(pg_conn* connection,
                                const PostgresStatement& statement);

  // Whether it can still be used.
  bool healthy() const { return healthy_; }
  bool InTransaction() const;

  // Takes in what has come. Returns whether there was a notification.
  bool TakeNotifications();

  int socket() const;

  // Returns whether a pooler is between this process and the server, whose
  // process has that number: a pooler tells another one. From now on nothing is
  // left at the server, which the next transaction may not find.
  bool FindPooler(int64_t server_process);
  bool has_pooler() const { return has_pooler_; }

 private:
  PostgresConnection() = default;

  // Connects to one host of the address; empty are those that libpq knows.
  static absl::StatusOr<std::unique_ptr<PostgresConnection>> ConnectTo(
      const std::string& address, const std::string& host,
      const std::string& number, const std::string& port, absl::Time deadline,
      const sync::Atomic<bool>* interrupted);
  // Waits for the socket. Returns an error at the deadline.
  absl::Status Await(bool writes, absl::Time deadline,
                     const sync::Atomic<bool>* interrupted);
  absl::Status Send(const std::vector<PostgresStatement>& statements);
  // The next result; null at the end of a statement's.
  absl::StatusOr<pg_result*> Next(absl::Time deadline,
                                  const sync::Atomic<bool>* interrupted);
  absl::Status ConnectionError();

  pg_conn* connection_ = nullptr;
  bool healthy_ = true;
  bool has_pooler_ = false;
  bool on_no_standby_ = false;  // perhaps, of what was executed last
  std::map<std::string, std::string> prepared_;  // name by text
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_POSTGRES_INTERNAL_POSTGRES_CONNECTION_H_
