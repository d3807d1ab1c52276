// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/leader_election/internal/leader_lease.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hiredis/hiredis.h"
#include "workqueue/clock/clock.h"
#include "workqueue/leader_election/internal/leader_listener.h"
#include "workqueue/leader_election/internal/leader_script.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/redis/unique_text.h"

namespace workqueue::internal {
namespace {

absl::Time Now() { return Clock::GetRealClock()->TimeNow(); }

// The script's name of a call.
absl::string_view ModeOf(Election::Call call) {
  switch (call) {
    case Election::Call::kTake:
      return "take";
    case Election::Call::kRenew:
      return "renew";
    case Election::Call::kLook:
      return "look";
    case Election::Call::kRelease:
      return "release";
  }
  return "";
}

}  // namespace

std::string LeaderKey(absl::string_view election) {
  // The braces make a hash tag, as in the keys of a queue.
  return absl::StrCat("{", election, "}:workqueue:leader");
}

LeaderLease::LeaderLease(Options options)
    : redis_(std::move(options.redis)),
      election_(std::move(options.name)),
      key_(LeaderKey(election_)),
      identity_(std::move(options.identity)),
      owner_(NewUniqueText()),
      timeout_(options.timeout),
      clock_(options.clock),
      ticks_(clock_ != nullptr ? absl::Nanoseconds(1) : absl::Microseconds(1)),
      duration_(ticks_.From(options.duration)),
      connector_(redis_, &interrupt_),
      listener_(redis_, key_) {}

LeaderLease::~LeaderLease() {
  listener_.Stop();
  listening_.Join();
}

absl::Status LeaderLease::Listen(
    std::function<void()> heard,
    std::function<void(const absl::Status&)> denied) {
  return listening_.Start(
      1, [this, heard = std::move(heard), denied = std::move(denied)](size_t) {
        listener_.Run(heard, [&](const absl::Status& status) {
          denied(WithAdvice(status, key_, election_, redis_.address));
        });
      });
}

bool LeaderLease::CanLast(absl::Duration duration) {
  return Ticks(absl::Microseconds(1)).From(duration) != kForever;
}

absl::StatusOr<LeaderLease::State> LeaderLease::Do(Call call, int64_t token,
                                                   absl::Duration timeout) {
  const absl::Time deadline = Now() + std::min(timeout, timeout_);
  absl::StatusOr<RedisReply> reply = Evaluate(ModeOf(call), token, deadline);
  if (!reply.ok()) {
    return WithAdvice(reply.status(), key_, election_, redis_.address);
  }
  absl::StatusOr<State> state = Parse(**reply);
  if (!state.ok()) {
    // The next replies may be those of earlier requests.
    connector_.connection()->Break(state.status().message());
  } else if (followed_ != connections_) {
    // What broke the old connection need not have broken the listener's.
    if (followed_ != 0) listener_.ConnectAgain();
    followed_ = connections_;
  }
  return state;
}

absl::StatusOr<RedisReply> LeaderLease::Evaluate(absl::string_view mode,
                                                 int64_t token,
                                                 absl::Time deadline) {
  const std::string version = absl::StrCat(kLeaderLayoutVersion);
  const std::string token_text = absl::StrCat(token);
  const std::string duration = absl::StrCat(duration_);
  while (true) {
    const bool is_new = !connector_.connected();
    if (is_new) {
      const absl::Status status = connector_.Connect(deadline - Now());
      if (!status.ok()) return status;
      ++connections_;
    }
    const std::string now =
        clock_ != nullptr ? absl::StrCat(absl::ToUnixNanos(clock_->TimeNow()))
                          : "";
    RedisConnection* const connection = connector_.connection();
    auto reply =
        connection->Call({"EVAL", kLeaderScript, "1", key_, version, mode,
                          owner_, identity_, token_text, duration, now},
                         deadline - Now());
    // The server may have closed an old connection long ago, or have become a
    // replica, and a new one may be to a node that has not got the key.
    const bool may_pass = !is_new || !connection->moved_to().empty();
    if (reply.ok() || !may_pass || !connection->broken() || Now() >= deadline) {
      return reply;
    }
  }
}

absl::StatusOr<LeaderLease::State> LeaderLease::Parse(
    const redisReply& reply) const {
  if (reply.type != REDIS_REPLY_ARRAY || reply.elements != 4 ||
      reply.element[0]->type != REDIS_REPLY_INTEGER ||
      reply.element[1]->type != REDIS_REPLY_INTEGER ||
      reply.element[2]->type != REDIS_REPLY_STRING ||
      reply.element[3]->type != REDIS_REPLY_INTEGER ||
      reply.element[1]->integer < 0 || reply.element[3]->integer < 0) {
    return absl::UnknownError("the script's reply has an unexpected form");
  }
  State state;
  state.done = reply.element[0]->integer != 0;
  state.token = reply.element[1]->integer;
  state.holder = std::string(TextOf(*reply.element[2]));
  state.remaining = ticks_.ToDuration(reply.element[3]->integer);
  return state;
}

}  // namespace workqueue::internal
