// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_REDIS_REDIS_CONNECTION_H_
#define WORKQUEUE_REDIS_REDIS_CONNECTION_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "hiredis/hiredis.h"
#include "workqueue/redis/host_lookup.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/redis/tls_session.h"
#include "workqueue/redis/wake_fd.h"

namespace workqueue::internal {

struct FreeRedisReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};

// A reply of the server; never null and never an error.
using RedisReply = std::unique_ptr<redisReply, FreeRedisReply>;

// The text of a reply, which may have any bytes.
inline absl::string_view TextOf(const redisReply& reply) {
  return absl::string_view(reply.str, reply.len);
}

// Whether another attempt may succeed where a call returned `status`.
inline bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsUnknown(status);
}

// Whether the server refused a command because nobody has logged in.
bool NeedsPassword(const absl::Status& status);

// Returns `status`, the error of a call for `what` to the server at `address`.
// Its message names these two, and says what to do if the server refused the
// call. All keys and channels of `what` have the hash tag `tag`.
absl::Status WithAdvice(const absl::Status& status, absl::string_view what,
                        absl::string_view tag, absl::string_view address);

// RedisConnection
//
// A connection to a server of Valkey or Redis. Errors of calls are
//
//   * `absl::UnavailableError` if the command has not been executed and a later
//     attempt may succeed: the server is not there, is loading its data, or has
//     become a replica,
//   * `absl::UnknownError` if the connection broke or the reply did not come in
//     time: the command may have been executed,
//   * other errors if the server refused the command, with its words.
//
// Each call keeps its timeout, whatever the server does: all that blocks is one
// `poll()` for a socket that does not block, until one time for all parts of
// the call. The time is that of the real `Clock`. If nothing comes or goes for
// half of the time that is left, and for a second, the connection counts as
// broken, so that another one can be made within the time.
//
// After an `absl::UnknownError` the connection is broken, and further calls
// return `absl::UnavailableError`. The state of a server that another one may
// replace breaks the connection, too: the next one may lead to that one. So
// does a node of a cluster that does not have the keys of a command, and names
// the node that has.
//
// Not thread-safe.
class RedisConnection {
 public:
  // Connects to the first one of the addresses, logs in, and selects the
  // database. No error shows the password. Takes `timeout` at most, and
  // `options.connect_timeout`. While `*interrupt` is set, this call and those
  // of the connection that would block return an error instead, and the
  // connection is broken. It may be null, and must outlive the connection.
  static absl::StatusOr<std::unique_ptr<RedisConnection>> Connect(
      const RedisOptions& options, absl::Duration timeout,
      const WakeFd* interrupt = nullptr);

  ~RedisConnection();

  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  // Sends a command and waits for its reply, `timeout` at most. If the command
  // `changes` data, waits then until `acknowledging_replicas` have on their
  // disks what this connection has changed, and otherwise returns
  // `absl::UnknownError`.
  absl::StatusOr<RedisReply> Call(absl::Span<const absl::string_view> command,
                                  absl::Duration timeout, bool changes = false);

  // Waits for a message to a connection that has subscribed. An infinite
  // timeout never passes. After the timeout returns `absl::UnknownError`, and
  // the connection is broken.
  absl::StatusOr<RedisReply> Read(absl::Duration timeout);

  // Breaks the connection: its replies may be out of step.
  void Break(absl::string_view why);

  bool broken() const { return broken_; }

  // The address of the server, as the options or another node wrote it.
  const std::string& address() const { return address_; }

  // The address of the node that has the keys, if this one does not.
  const std::string& moved_to() const { return moved_to_; }

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };

  RedisConnection(const RedisOptions& plain, const WakeFd* interrupt);

  // The addresses of the server's socket.
  absl::StatusOr<HostLookup::Addresses> Resolve(absl::Time deadline) const;
  absl::Status ConnectTo(const SocketAddress& address, absl::Time deadline,
                         const std::optional<RedisTlsOptions>& tls);
  absl::Status BeginTls(const RedisTlsOptions& options, absl::Time deadline);

  // Sends all, and encrypts it if there is TLS.
  absl::Status Send(absl::string_view bytes, absl::Time deadline);
  absl::Status SendBytes(absl::string_view bytes, absl::Time deadline);

  // Passes on to the reader, or to TLS, what comes first, if anything does.
  absl::Status ReceiveBytes(absl::Time deadline);
  // Passes on to the reader what TLS has got.
  absl::Status Decrypt(absl::Time deadline);
  absl::StatusOr<RedisReply> Receive(absl::Time deadline);

  // Waits until enough replicas have on their disks what this connection has
  // changed. Returns `absl::UnknownError` otherwise.
  absl::Status AwaitReplicas(absl::Time deadline);

  // Blocks until `fd` is ready, which is all that this class does to wait.
  absl::Status Await(int fd, short events,  // NOLINT(runtime/int)
                     absl::Time deadline) const;

  // Notes the address in `text`, the server's words, if it sends the client to
  // another node.
  void NoteMove(absl::string_view text);

  const std::string address_;
  const int acknowledging_replicas_;
  const WakeFd* const interrupt_;
  const std::unique_ptr<redisReader, FreeReader> reader_;
  std::unique_ptr<TlsSession> tls_;  // null if there is no TLS
  int fd_ = -1;
  // Whether the connection is broken, or a call is not over: it may end without
  // memory to say so.
  bool broken_ = false;
  std::string why_broken_;
  std::string moved_to_;
};

// Returns an `absl::UnavailableError` if the server is a replica, and breaks
// the connection: perhaps the name leads to another server by now. Other errors
// are those of the call.
absl::Status RefuseReplica(RedisConnection* connection, absl::Duration timeout);

}  // namespace workqueue::internal

#endif  // WORKQUEUE_REDIS_REDIS_CONNECTION_H_
