// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/leader_election/internal/leader_script.h"

namespace workqueue::internal {

const char kLeaderScript[] = R"lua(
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
elseif mode == 'renew' then
  done = mine and token == tonumber(ARGV[5])
elseif mode == 'release' then
  done = mine and token == tonumber(ARGV[5])
end

-- An election works even if the server's memory is full: the server looks at
-- that before the first write only, and not if it is one that frees memory. This
-- one does nothing.
if mode ~= 'look' then redis.call('HDEL', KEY, '') end
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

}  // namespace workqueue::internal
