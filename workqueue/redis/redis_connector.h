// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_REDIS_REDIS_CONNECTOR_H_
#define WORKQUEUE_REDIS_REDIS_CONNECTOR_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/redis/wake_fd.h"

namespace workqueue::internal {

// The pauses between attempts: doubled from the first to the last.
inline constexpr absl::Duration kFirstRetryPause = absl::Milliseconds(5);
inline constexpr absl::Duration kLastRetryPause = absl::Milliseconds(250);

// Calls `attempt` until it succeeds, or fails for a reason that will not pass,
// or until `deadline`, with these pauses. Returns its last status.
absl::Status RepeatUntil(absl::Time deadline,
                         absl::FunctionRef<absl::Status()> attempt);

// RedisConnector
//
// Keeps a connection to the server that has some keys, and makes it again when
// it breaks. In a cluster it goes to the node that the last answer named, and
// after a failure to the addresses of the options in turn.
//
// Not thread-safe.
class RedisConnector {
 public:
  // `options` must be plain. `interrupt` is that of the connections.
  explicit RedisConnector(RedisOptions options,
                          const WakeFd* interrupt = nullptr)
      : options_(std::move(options)), interrupt_(interrupt) {}

  RedisConnector(const RedisConnector&) = delete;
  RedisConnector& operator=(const RedisConnector&) = delete;

  // Whether there is a connection that is not known to be broken.
  bool connected() const {
    return connection_ != nullptr && !connection_->broken();
  }

  // The connection; null before the first `Connect()`, and after one that
  // failed.
  RedisConnection* connection() const { return connection_.get(); }

  // Makes a new connection in one attempt, which takes `timeout` at most.
  absl::Status Connect(absl::Duration timeout);

 private:
  // Returns an error unless the server is a cluster, if it must be one.
  absl::Status CheckCluster(absl::Duration timeout) const;

  const RedisOptions options_;
  const WakeFd* const interrupt_;
  // Failed ones, and connections that broke. They choose the address.
  size_t attempts_ = 0;
  std::unique_ptr<RedisConnection> connection_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_REDIS_REDIS_CONNECTOR_H_
