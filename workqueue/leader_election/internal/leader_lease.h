// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_LEADER_ELECTION_INTERNAL_LEADER_LEASE_H_
#define WORKQUEUE_LEADER_ELECTION_INTERNAL_LEADER_LEASE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_connector.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/redis/wake_fd.h"

namespace workqueue::internal {

// Returns the key of an election. Messages about it come on the channel of the
// same name.
std::string LeaderKey(absl::string_view election);

// Returns a text that names the rights that a user of the server needs.
std::string NeededRights(absl::string_view election);

// LeaderLease
//
// The lease of an election, as one elector sees it in the server. Each call is
// one request, on a connection that is made again when it breaks. A call that
// fails may have taken effect, and can be repeated. Its error is
// `absl::FailedPreconditionError` if the layout in the server is another one.
//
// Thread-compatible.
class LeaderLease {
 public:
  struct Options {
    std::string election;
    RedisOptions redis;
    std::string identity;
    absl::Duration duration;
    // How long a call may take, on the machine's clock.
    absl::Duration timeout;
    // Tells the time instead of the server; may be null.
    Clock* clock = nullptr;
    // While it is set, a call that would block fails. May be null; must outlive
    // the lease.
    const WakeFd* interrupt = nullptr;
  };

  struct State {
    bool done = false;         // whether the call has done what it says
    int64_t token = 0;         // of the latest holder
    std::string holder;        // empty if nobody has the lease
    absl::Duration remaining;  // until the lease ends
  };

  explicit LeaderLease(Options options);

  LeaderLease(const LeaderLease&) = delete;
  LeaderLease& operator=(const LeaderLease&) = delete;

  // Whether the server can count `duration`.
  static bool CanLast(absl::Duration duration);

  // Acquires the lease if nobody else has it. The token is a new one.
  absl::StatusOr<State> Take() { return Call("take", 0, timeout_); }

  // Renews the lease if this elector has it, with this token. Takes `timeout`
  // at most, on the machine's clock; so does `Release()`.
  absl::StatusOr<State> Renew(int64_t token, absl::Duration timeout) {
    return Call("renew", token, timeout);
  }

  // Changes nothing.
  absl::StatusOr<State> Look() { return Call("look", 0, timeout_); }

  // Ends the lease if this elector has it, with this token, and tells the
  // others.
  absl::StatusOr<State> Release(int64_t token, absl::Duration timeout) {
    return Call("release", token, timeout);
  }

  // How many connections have been made so far.
  int64_t connections() const { return connections_; }

 private:
  absl::StatusOr<State> Call(absl::string_view mode, int64_t token,
                             absl::Duration timeout);
  absl::StatusOr<RedisReply> Evaluate(absl::string_view mode, int64_t token,
                                      absl::Time deadline);
  absl::StatusOr<State> Parse(const redisReply& reply) const;

  const RedisOptions redis_;
  const std::string election_;
  const std::string key_;
  const std::string identity_;
  const std::string owner_;
  const absl::Duration timeout_;
  Clock* const clock_;
  const Ticks ticks_;
  const int64_t duration_;  // in ticks
  RedisConnector connector_;
  int64_t connections_ = 0;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_LEADER_ELECTION_INTERNAL_LEADER_LEASE_H_
