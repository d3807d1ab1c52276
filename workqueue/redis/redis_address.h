// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_REDIS_REDIS_ADDRESS_H_
#define WORKQUEUE_REDIS_REDIS_ADDRESS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "workqueue/redis/redis_options.h"

namespace workqueue::internal {

// Returns options that mean the same as `options`, and whose address is no URL:
// what it says is in the other fields. So the address has no password, and any
// message may show it. Returns an `absl::InvalidArgumentError` that names the
// field and its value if `options` are wrong, and
// `absl::FailedPreconditionError` if they need TLS, which is not built in. No
// error shows a password.
absl::StatusOr<RedisOptions> PlainRedisOptions(RedisOptions options);

// Returns an `absl::InvalidArgumentError` if `options` say anything about a
// server, although an engine takes its place.
absl::Status CheckOneStore(bool has_engine, const RedisOptions& options);

// The addresses that plain `options` name: "host:port", or the path of a
// socket.
std::vector<std::string> AddressesOf(const RedisOptions& options);

struct HostAndPort {
  std::string host;
  int port = 0;
};

// Splits "host:port". Returns nothing if `address` is no such text.
std::optional<HostAndPort> ParseHostAndPort(absl::string_view address);

}  // namespace workqueue::internal

#endif  // WORKQUEUE_REDIS_REDIS_ADDRESS_H_
