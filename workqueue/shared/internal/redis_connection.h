// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/shared/internal/redis_connection.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_SHARED_INTERNAL_REDIS_CONNECTION_H_
#define WORKQUEUE_SHARED_INTERNAL_REDIS_CONNECTION_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

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
// return `absl::UnavailableError`. A node of a cluster that does not have the
// keys of a command names the node that has: that breaks the connection, too.
//
// Not thread-safe, except `ShutDown()`.
class RedisConnection {
 public:
  // Connects to the first one of the addresses, logs in, and selects the
  // database.
  static absl::StatusOr<std::unique_ptr<RedisConnection>> Connect(
      const RedisOptions& options, absl::Duration timeout);

  // Returns an `absl::InvalidArgumentError` that names the field if `options`
  // are wrong.
  static absl::Status Check(const RedisOptions& options);

  // The addresses that `options` name.
  static std::vector<std::string> AddressesOf(const RedisOptions& options);

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

  bool broken() const { return context_->err != 0 || !moved_to_.empty(); }

  // The address of the node that has the keys, if this one does not.
  const std::string& moved_to() const { return moved_to_; }

 private:
  struct FreeContext {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  using Context = std::unique_ptr<redisContext, FreeContext>;

  RedisConnection(Context context, std::string address)
      : context_(std::move(context)), address_(std::move(address)) {}

  // Returns the error of the connection.
  absl::Status Broken(absl::string_view what) const;

  // How long the kernel may wait in a call.
  absl::Status SetTimeout(absl::Duration timeout);

  // Notes the address in `text`, the server's words, if it sends the client to
  // another node.
  void NoteMove(absl::string_view text);

  const Context context_;
  const std::string address_;
  std::string moved_to_;
  absl::Duration timeout_;  // the one that is set
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_SHARED_INTERNAL_REDIS_CONNECTION_H_
