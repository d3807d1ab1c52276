// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SHARED_POSTGRES_SERVER_H_
#define WORKQUEUE_TEST_SHARED_POSTGRES_SERVER_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "test/shared/temporary_folder.h"

namespace workqueue {

// PostgresServer
//
// A PostgreSQL server with an empty database, in a temporary folder, which can
// only be reached through a socket in it. The server ends with the thread that
// has started it.
class PostgresServer {
 public:
  struct Options {
    // For example "fsync=off".
    std::vector<std::string> settings;

    // Further variables of the server's environment, as "NAME=value".
    std::vector<std::string> environment;

    // Puts what another server has left into a new folder of that name, in the
    // place of an empty database.
    std::function<void(const std::string& folder)> fill;
  };

  // Makes a database, and starts the server. The newest installed version; as a
  // user that is not root. Returns `absl::NotFoundError` if there is none, and
  // `absl::InternalError` with the end of its log if it does not start.
  static absl::StatusOr<std::unique_ptr<PostgresServer>> Start(Options options);
  static absl::StatusOr<std::unique_ptr<PostgresServer>> Start() {
    return Start(Options());
  }
  ~PostgresServer();

  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  std::string address() const;

  // The folder of the database.
  std::string database() const { return folder_.path() + "/db"; }

  // Starts pgbouncer, which gives each transaction a connection of its own, and
  // returns the address of that. Returns `absl::NotFoundError` if it is not
  // installed.
  absl::StatusOr<std::string> StartPooler();

  pid_t pid() const { return pid_; }

  // Ends all its processes, as it wants to be ended, or without a chance to
  // write anything; and starts it again.
  void Stop();
  void Crash();
  void StartAgain();

 private:
  PostgresServer(std::string programs, Options options)
      : programs_(std::move(programs)), options_(std::move(options)) {}

  void End(int signal);
  absl::Status Launch();

  const std::string programs_;
  const Options options_;
  const TemporaryFolder folder_;
  pid_t pid_ = -1;
  pid_t pooler_ = -1;
};

// Whether a server is not installed, as `started` tells, and need not be:
// REQUIRE_POSTGRES_SERVER is not set.
bool IsNotRequired(const absl::Status& started);

// Returns the server that all tests of this program share, with tables. If none
// is installed, ends the program: with success, and a message that says what to
// install, if `IsNotRequired()`.
PostgresServer& PostgresServerOfThisProgram();

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_POSTGRES_SERVER_H_
