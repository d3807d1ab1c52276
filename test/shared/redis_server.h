// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// This header defines a Redis or Valkey server that a test starts, kills and
// starts again, and a function that sends it commands.

#ifndef WORKQUEUE_TEST_SHARED_REDIS_SERVER_H_
#define WORKQUEUE_TEST_SHARED_REDIS_SERVER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/redis/redis_connection.h"

namespace workqueue {

// RedisServer
//
// A server process with an empty database. It writes each command to the disk
// before it answers, so a command that was answered survives `Kill()`. It ends
// with this object, or with the test's process if that crashes.
//
// `socket_path()`, `port()` and `cluster_port()` may be called from any thread.
// Only one thread at a time may call the other functions.
class RedisServer {
 public:
  struct Options {
    // Lines of redis.conf, after those of this class, and so stronger.
    std::vector<std::string> config;

    // Whether the server also listens at a free TCP port of 127.0.0.1.
    bool tcp = false;

    // Whether that port takes TLS only, which `config` must configure.
    bool tls = false;

    // Whether the server is a node of a cluster, yet without slots. Requires
    // `tcp`.
    bool cluster = false;

    // Further variables of the server's environment, as "NAME=value".
    std::vector<std::string> environment;

    // How long `Start()` and `Restart()` wait for an answer, in real time.
    absl::Duration timeout = absl::Seconds(30);

    // Those of a server that has or is a replica. It listens at a port, and a
    // replica that synchronizes waits for no other one.
    static Options WithReplicas() {
      Options options;
      options.config = {"repl-diskless-sync-delay 0"};
      options.tcp = true;
      return options;
    }
  };

  // A program, and the name that it is given as its `argv[0]`.
  struct Program {
    std::string path;
    std::string name;
  };

  // Returns the server's program: the one that the environment variable
  // WORKQUEUE_REDIS_SERVER names, or the first of `valkey-server`,
  // `redis-server` and `redis-check-rdb` in the PATH. Returns
  // `absl::NotFoundError` that says what to install if there is none.
  static absl::StatusOr<Program> Find();

  // Returns whether a test must fail if there is no server, instead of being
  // skipped: the environment variable REQUIRE_REDIS_SERVER is set.
  static bool IsRequired();

  // Starts a server, and waits until it answers PING.
  static absl::StatusOr<std::unique_ptr<RedisServer>> Start(Options options);
  static absl::StatusOr<std::unique_ptr<RedisServer>> Start() {
    return Start(Options());
  }

  // Kills the server, and removes its files.
  ~RedisServer();

  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  // The path of the server's Unix socket, which no restart changes.
  const std::string& socket_path() const { return socket_path_; }

  // The TCP port, which no restart changes, or 0 without `Options::tcp`.
  int port() const { return port_; }

  // The port at which the nodes of a cluster talk, or 0 without
  // `Options::cluster`.
  int cluster_port() const { return cluster_port_; }

  // The process, or -1 after `Kill()` and `Stop()`.
  pid_t pid() const { return pid_; }

  // Kills the server by SIGKILL, as a crash does, and waits for its end. Does
  // nothing if it does not run.
  void Kill();

  // Ends the server by SIGTERM, and waits for its end. Kills it if it has not
  // ended after `Options::timeout`.
  void Stop();

  // Kills the server if it runs. Starts it again with the same database, socket
  // and port, and waits until it has loaded the database and answers PING.
  absl::Status Restart();

  // Stops the process by SIGSTOP, and continues it. A paused server accepts
  // connections and answers nothing. The server must run. `Pause()` returns
  // when the process has stopped.
  void Pause();
  void Resume();

 private:
  RedisServer(Options options, Program program, std::string directory);

  // Starts the process, and waits until it answers PING.
  absl::Status Launch();
  absl::Status AwaitPong();

  // Returns `status` with the end of the server's log.
  absl::Status WithLog(const absl::Status& status) const;

  const Options options_;
  const Program program_;
  const std::string directory_;
  const std::string socket_path_;
  int port_ = 0;
  int cluster_port_ = 0;
  pid_t pid_ = -1;
};

// Sends a command to the server at `address`, on a connection of its own. To
// connect takes 30 seconds at most, and so does the reply.
absl::StatusOr<internal::RedisReply> SendTo(
    const std::string& address, const std::vector<absl::string_view>& words);

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_REDIS_SERVER_H_
