// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SHARED_POSTGRES_SERVER_H_
#define WORKQUEUE_TEST_SHARED_POSTGRES_SERVER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

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
  // Makes a database, and starts the server with `settings`, for example
  // "fsync=off". The newest installed version; as a user that is not root.
  // Returns `absl::NotFoundError` if there is none.
  static absl::StatusOr<std::unique_ptr<PostgresServer>> Start(
      std::vector<std::string> settings = {});
  ~PostgresServer();

  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  std::string address() const;
  pid_t pid() const { return pid_; }

  // Ends all its processes without a chance to write anything, and starts it
  // again.
  void Crash();
  void StartAgain();

 private:
  PostgresServer(std::string programs, std::vector<std::string> settings)
      : programs_(std::move(programs)), settings_(std::move(settings)) {}

  const std::string programs_;
  const std::vector<std::string> settings_;
  const TemporaryFolder folder_;
  pid_t pid_ = -1;
};

// Returns the server that all tests of this program share, with tables. If none
// is installed, ends the program: with success, and a message that says what to
// install, unless REQUIRE_POSTGRES_SERVER is set.
PostgresServer& PostgresServerOfThisProgram();

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_POSTGRES_SERVER_H_
