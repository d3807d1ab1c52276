// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_LEADER_ELECTION_INTERNAL_LEADER_LEASE_H_
#define WORKQUEUE_LEADER_ELECTION_INTERNAL_LEADER_LEASE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/leader_election/election.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_connector.h"
#include "workqueue/redis/redis_listener.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/redis/wake_fd.h"

namespace workqueue::internal {

// Returns the key of an election. Messages about it come on the channel of the
// same name.
std::string LeaderKey(absl::string_view election);

// LeaderLease
//
// An election in a server of Valkey or Redis. Each call is one request, on a
// connection that is made again when it breaks. Its error is
// `absl::FailedPreconditionError` if the layout in the server is another one.
class LeaderLease final : public Election {
 public:
  struct Options : ElectionOptions {
    RedisOptions redis;
    // Tells the time instead of the server; may be null.
    Clock* clock = nullptr;
  };

  explicit LeaderLease(Options options);
  ~LeaderLease() override;

  LeaderLease(const LeaderLease&) = delete;
  LeaderLease& operator=(const LeaderLease&) = delete;

  // Whether the server can count `duration`.
  static bool CanLast(absl::Duration duration);

  absl::StatusOr<State> Do(Call call, int64_t token,
                           absl::Duration timeout) override;

  void Interrupt() override { interrupt_.Set(); }

  absl::Status Listen(std::function<void()> heard,
                      std::function<void(const absl::Status&)> denied) override;
  void StopListening() override { listener_.Stop(); }

 private:
  absl::StatusOr<RedisReply> Evaluate(absl::string_view mode, int64_t token,
                                      absl::Time deadline);
  absl::StatusOr<State> Parse(const redisReply& reply) const;
  // Calls `heard` for each message of the channel, and when it begins to
  // listen, as it may have missed one before.
  absl::Status ListenOnce(const std::function<void()>& heard,
                          absl::Time* since);

  const RedisOptions redis_;
  const std::string election_;
  const std::string key_;
  const std::string identity_;
  const std::string owner_;
  const absl::Duration timeout_;
  Clock* const clock_;
  const Ticks ticks_;
  const int64_t duration_;  // in ticks
  WakeFd interrupt_;
  RedisConnector connector_;
  int64_t connections_ = 0;  // so far
  int64_t followed_ = 0;     // of these, by the listener
  RedisListener listener_;
  RedisConnector listeners_connector_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_LEADER_ELECTION_INTERNAL_LEADER_LEASE_H_
