// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_REDIS_REDIS_OPTIONS_H_
#define WORKQUEUE_REDIS_REDIS_OPTIONS_H_

#include <optional>
#include <string>

#include "absl/time/time.h"

namespace workqueue {

// RedisTlsOptions
//
// How a client and a server of Valkey or Redis show each other who they are.
// The server's certificate is always checked. Files are in PEM format, and are
// read for each connection.
struct RedisTlsOptions {
  // The certificates of the authorities that are trusted: a file, a directory
  // as `openssl rehash` makes it, or both. By default the system's.
  std::string ca_file;
  std::string ca_directory;

  // The certificate of this client, with those between it and the authority's,
  // and its key, without a passphrase. Both, or none for a server that asks for
  // none.
  std::string certificate_file;
  std::string key_file;

  // The name that the server's certificate must have, which the server is told
  // (SNI). By default the host of the address.
  std::string server_name;
};

// RedisOptions
//
// Names a server of Valkey or Redis, version 7.0 or later.
struct RedisOptions {
  // Where the server is. One of
  //
  //   host:port                                  or [::1]:6379
  //   /run/redis.sock                            a Unix socket's absolute path
  //   redis://user:password@host:port/database
  //   rediss://user:password@host:port/database  with TLS
  //   unix://user:password@/run/redis.sock
  //
  // In place of one host and its port there may be several, with commas
  // between: any nodes of a cluster, of which one must answer. It tells where
  // the others are. With several, a server that is no cluster is refused.
  //
  // "valkey" and "valkeys" are as good. A URL needs only the host, or the path.
  // The port is 6379 then. In its user, password and path, '%' and two
  // hexadecimal digits are a byte. What is in the URL must not be in another
  // field, too. Messages show the address without user and password.
  std::string address = "127.0.0.1:6379";

  // The user and the password of the server's ACL. An empty username is the
  // server's default user, which logs in only with a password. Another user
  // with an empty password must be one that needs none (`nopass`).
  std::string username;
  std::string password;

  // The number of the server's database. A cluster has only 0. Not negative.
  int database = 0;

  // Connects with TLS, which must be built in: docs/building.md says how. By
  // default the address says whether there is TLS. Not for a Unix socket.
  std::optional<RedisTlsOptions> tls;

  // How many replicas must have a change on their disks before a call succeeds,
  // by WAITAOF of Redis 7.2 or Valkey 8. Then a failover to one of them loses
  // nothing that was acknowledged. If there are fewer in time, the call returns
  // `absl::UnknownError`: it has taken effect, unless a failover undoes that.
  // The server and the replicas need `appendonly yes`, and the user the right
  // to call WAITAOF. 0 waits for none. Not negative.
  int acknowledging_replicas = 0;

  // How long one attempt to connect may take: to resolve the name, to connect,
  // and to log in. Positive and finite.
  absl::Duration connect_timeout = absl::Seconds(1);
};

}  // namespace workqueue

#endif  // WORKQUEUE_REDIS_REDIS_OPTIONS_H_
