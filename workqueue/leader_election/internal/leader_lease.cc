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
#include "workqueue/base/exceptions.h"
#include "workqueue/clock/clock.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_listener.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/redis/unique_text.h"

namespace workqueue::internal {
namespace {

absl::Time Now() { return Clock::GetRealClock()->TimeNow(); }

// The pauses between attempts to listen: doubled from the first to the last.
constexpr absl::Duration kFirstPause = absl::Milliseconds(20);
constexpr absl::Duration kLastPause = absl::Seconds(2);

// The version of the layout of an election in the server. An election of
// another version is refused.
constexpr int kLeaderLayoutVersion = 1;

// Acquires, renews, shows or releases the lease of an election.
constexpr char kLeaderScript[] = R"lua(
-- Key: a hash with the fields
--   version  of the layout
--   holder   identity of the lease's holder; empty if it was released
--   owner    the elector that is the holder; no two have the same
--   token    of the latest holder; grows each time that the lease is acquired
--   expiry   when the lease ends
--   time     the largest time seen at a change
--   offset   added to the server's clock; see below
local KEY = KEYS[1]

-- Arguments. All times are ticks: microseconds of the server's clock, or
-- nanoseconds of the clock of a test.
--   1  version of the layout
--   2  take: acquires the lease if it has ended or the elector has it already
--      renew: renews the lease if the elector still has it with the token
--      look: changes nothing
--      release: ends the lease if the elector still has it with the token
--   3  the elector
--   4  its identity
--   5  token
--   6  duration of the lease
--   7  time, or empty: the server's
--
-- Reply: { 1 if the call has acquired, renewed or released the lease, token of
-- the latest holder, identity of the holder or empty, ticks until the lease
-- ends or 0 }.
local mode, elector = ARGV[2], ARGV[3]
local EXACT = 2 ^ 53  -- whole numbers are exact up to this one

-- Returns the number in `text`, or `default` if there is none.
local function number(text, default)
  local n = text and tonumber(text)
  if not n or n ~= n then return default end
  return math.floor(math.max(0, math.min(EXACT, n)))
end

local duration = number(ARGV[6])
if not duration then return redis.error_reply('ERR wrong arguments') end

local m = redis.call('HMGET', KEY, 'version', 'holder', 'owner', 'token',
                     'expiry', 'time', 'offset')
if m[1] and m[1] ~= ARGV[1] then
  return redis.error_reply('WQLAYOUT ' .. m[1])
end

-- The time does not go back: if the clock has, the difference is added to it
-- from now on.
local now = number(ARGV[7])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local last, offset = number(m[6], 0), number(m[7], 0)
now = now + offset
local moved = now < last
if moved then
  offset = offset + last - now
  now = last
end

local holder, token, expiry = m[2] or '', number(m[4], 0), number(m[5], 0)
local mine = m[3] == elector

local done = false
if mode == 'take' then
  done = mine or expiry <= now
  -- A token is not less than the time: so tokens grow even if the server has
  -- lost its data, or the latest part.
  if done then token = math.max(token + 1, now) end
elseif mode == 'renew' or mode == 'release' then
  done = mine and token == tonumber(ARGV[5])
end

-- An election works even if the server's memory is full: the server looks at
-- that before the first write only, and not if it is one that frees memory. This
-- one does nothing. A replica, whose data is old, refuses it. If anything else
-- keeps the server from writing, a look still tells who leads.
local tried = redis.pcall('HDEL', KEY, '')
if type(tried) == 'table' and
   (mode ~= 'look' or string.find(tried.err, 'READONLY', 1, true)) then
  return tried
end
if moved and mode ~= 'look' then redis.call('HSET', KEY, 'offset', offset) end
if done and mode == 'release' then
  holder, expiry = '', 0
  redis.call('HSET', KEY, 'holder', '', 'owner', '', 'expiry', 0, 'time', now)
  redis.pcall('PUBLISH', KEY, 'released')  -- the user may not be allowed to
elseif done then
  holder, expiry = ARGV[4], now + duration
  redis.call('HSET', KEY, 'version', ARGV[1], 'holder', holder, 'owner',
             elector, 'token', token, 'expiry', expiry, 'time', now, 'offset',
             offset)
end
if expiry <= now then holder, expiry = '', now end
return { done and 1 or 0, token, holder, expiry - now }
)lua";

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
      listeners_connector_(redis_, listener_.interrupt()) {}

LeaderLease::~LeaderLease() {
  listener_.Stop();
  listener_.Join();
}

absl::Status LeaderLease::Listen(
    std::function<void()> heard,
    std::function<void(const absl::Status&)> denied) {
  return listener_.Start(
      kFirstPause, kLastPause,
      [this, heard = std::move(heard), denied = std::move(denied),
       was_denied = false](absl::Time* since) mutable {
        // The election goes on without the listener, so an error is no error.
        // But a right that is missing does not come back by itself.
        const absl::Status status =
            CatchAsStatus([&] { return ListenOnce(heard, since); });
        if (*since != absl::InfiniteFuture()) was_denied = false;
        if (absl::IsPermissionDenied(status) &&
            !std::exchange(was_denied, true)) {
          denied(CatchAsStatus([&] {
            return WithAdvice(status, key_, election_, redis_.address);
          }));
        }
      });
}

absl::Status LeaderLease::ListenOnce(const std::function<void()>& heard,
                                     absl::Time* since) {
  const absl::Time deadline = Now() + redis_.connect_timeout;
  absl::Status status = listeners_connector_.Connect(deadline - Now());
  if (!status.ok()) return status;
  RedisConnection* const connection = listeners_connector_.connection();
  auto reply = connection->Call({"SUBSCRIBE", key_}, deadline - Now());
  if (reply.ok()) *since = Now();
  while (reply.ok()) {
    heard();
    reply = connection->Read(absl::InfiniteDuration());
  }
  return reply.status();
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
  constexpr int kMostAttempts = 5;  // nodes may contradict each other
  for (int attempt = 1;; ++attempt) {
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
                         deadline - Now(), /*changes=*/mode != "look");
    // The server may have closed an old connection long ago, or have become a
    // replica, and a new one may be to a node that has not got the key.
    const bool may_pass = !is_new || !connection->moved_to().empty();
    if (reply.ok() || !may_pass || !connection->broken() ||
        attempt == kMostAttempts || Now() >= deadline) {
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
