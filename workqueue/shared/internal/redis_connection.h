// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/shared/internal/redis_connection.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_SHARED_INTERNAL_REDIS_CONNECTION_H_
#define WORKQUEUE_SHARED_INTERNAL_REDIS_CONNECTION_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "hiredis/hiredis.h"
#include "workqueue/shared/redis_options.h"

namespace workqueue {
namespace internal {

struct FreeRedisReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};

// A reply of the server; never null and never an error.
using RedisReply = std::unique_ptr<redisReply, FreeRedisReply>;

// The text of a reply, which may have any bytes.
inline absl::string_view TextOf(const redisReply& reply) {
  return absl::string_view(reply.str, reply.len);
}

// RedisConnection
//
// A connection to a server of Valkey or Redis. Errors of calls are
//
//   * `absl::UnavailableError` if the command has not been executed and a later
//     attempt may succeed: the server is not there, or is loading its data,
//   * `absl::UnknownError` if the connection broke or the reply did not come in
//     time: the command may have been executed,
//   * other errors if the server refused the command, with its words.
//
// After an `absl::UnknownError` the connection is broken, and further calls
// return `absl::UnavailableError`.
//
// Not thread-safe, except `ShutDown()`.
class RedisConnection {
 public:
  // Connects, logs in, and selects the database.
  static absl::StatusOr<std::unique_ptr<RedisConnection>> Connect(
      const RedisOptions& options, absl::Duration timeout);

  // Returns an `absl::InvalidArgumentError` that names the field if `options`
  // are wrong.
  static absl::Status Check(const RedisOptions& options);

  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  // Sends a command and waits for its reply, `timeout` at most.
  absl::StatusOr<RedisReply> Call(absl::Span<const absl::string_view> command,
                                  absl::Duration timeout);

  // Waits for a message to a connection that has subscribed. An infinite
  // timeout never passes. After the timeout returns `absl::DeadlineExceeded`,
  // and the connection is broken.
  absl::StatusOr<RedisReply> Read(absl::Duration timeout);

  // Ends the present and every further call with an error.
  void ShutDown();

  bool broken() const { return context_->err != 0; }

 private:
  struct FreeContext {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  using Context = std::unique_ptr<redisContext, FreeContext>;

  explicit RedisConnection(Context context) : context_(std::move(context)) {}

  // Returns the error of the connection.
  absl::Status Broken(absl::string_view what) const;

  // How long the kernel may wait in a call.
  absl::Status SetTimeout(absl::Duration timeout);

  const Context context_;
  absl::Duration timeout_;  // the one that is set
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_SHARED_INTERNAL_REDIS_CONNECTION_H_
