// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/internal/queue_script.h"

namespace workqueue {
namespace internal {

const char kQueueScript[] = R"lua(
-- Keys. All have the hash tag of the queue.
--   meta     hash: the queue's counters, clock and state
--   items    hash: item -> its entry, the truth about the item
--   ready    sorted set: -priority, sequence + item
--   waiting  sorted set: due time, sequence + item
--   leases   sorted set: expiry, item
--   clients  hash: client -> its entry
--   waiters  sorted set: turn, client; the clients with workers that wait
local META, ITEMS, READY, WAITING, LEASES, CLIENTS, WAITERS = unpack(KEYS)

-- Arguments. All times are ticks: microseconds of the server's clock, or
-- nanoseconds of the clock of a test.
--    1  version of the layout
--    2  client
--    3  number of the request; a request with the number of the client's last
--       one is that one again, and gets the same reply. One with a lower number
--       is a copy that comes late, on a connection that the client has given up
--    4  time, or empty: the server's
--    5  identity of this run of the server, or empty if not known
--    6  duration of a lease; inf: it never expires
--    7  how long the client counts as alive without another request
--    8  number of the client's workers that wait for an item
--    9  number of pushes that the client has received
--   10  number of items that the client takes if there are any, beside 8
--   11  number n of delays in the retry schedule; 12 to 11 + n: the delays
--   From 12 + n on, five for each operation: code, item, x, y, z.
--
-- Reply: { { time, ticks until something is due or -1, ready, waiting,
-- processing, failing, state, number of leases that expired in this request,
-- items added again while they are processed, adds because items came due,
-- number of pushes to the client so far and still to come, number of those so
-- far }, results of the operations, each item handed out: item, token, priority,
-- ticks in the queue }.
local client, request = ARGV[2], tonumber(ARGV[3])
local lease, presence = tonumber(ARGV[6]), tonumber(ARGV[7])
local delays = tonumber(ARGV[11])

-- States of an item.
local IDLE, QUEUED, PROCESSING, DIRTY = 0, 1, 2, 3
-- Fields of an item's entry.
local STATE, FAILURES, PRIORITY, SEQUENCE, SINCE, TOKEN, DUE_SEQUENCE,
      DUE_PRIORITY, BEGAN = 1, 2, 3, 4, 5, 6, 7, 8, 9
-- Fields of a client's entry.
local WANTED, PUSHED, VALID, LAST_REQUEST, LAST_REPLY = 1, 2, 3, 4, 5
-- How many items come due, or lose their leases, in one request.
local AT_ONCE = 1000

local changed = false
local function write(...)
  changed = true
  return redis.call(...)
end

local m = redis.call('HMGET', META, 'version', 'time', 'offset', 'sequence',
                     'token', 'turn', 'state', 'run', 'grace', 'failing',
                     'due', 'dirty', 'front')
if not m[1] then
  write('HSET', META, 'version', ARGV[1])
elseif m[1] ~= ARGV[1] then
  return redis.error_reply('WQLAYOUT ' .. m[1])
end

local mine = redis.call('HGET', CLIENTS, client)
if mine then
  mine = cmsgpack.unpack(mine)
  if mine[LAST_REQUEST] >= request then
    return cmsgpack.unpack(mine[LAST_REPLY])
  end
end

-- The queue's time does not go back: if the clock has, the difference is added
-- to it from now on.
local now = tonumber(ARGV[4])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local last, offset = tonumber(m[2]) or 0, tonumber(m[3]) or 0
now = now + offset
if now < last then
  offset = offset + last - now
  now = last
  changed = true
end
-- The items that are queued have the numbers between these two.
local front, sequence = tonumber(m[13]) or 2 ^ 40, tonumber(m[4]) or 2 ^ 40
local token, turn = tonumber(m[5]) or 0, tonumber(m[6]) or 0
local state = tonumber(m[7]) or 0
local failing, due_before = tonumber(m[10]) or 0, tonumber(m[11]) or math.huge
local dirty = tonumber(m[12]) or 0
local expired, came_due = 0, 0

-- After a start of the server no lease expires for as long as a lease lasts:
-- nobody could renew it.
local run, grace = m[8], tonumber(m[9]) or 0
if ARGV[5] ~= '' and run ~= ARGV[5] then
  if run and lease < math.huge then grace = now + lease end
  write('HSET', META, 'run', ARGV[5], 'grace', grace)
end

local function member(number, item) return struct.pack('>I8', number) .. item end

local function load(item)
  local entry = redis.call('HGET', ITEMS, item)
  if entry then return cmsgpack.unpack(entry) end
  return { IDLE, 0, 0, 0, 0, 0, 0, 0, 0 }
end

local function save(item, e)
  if e[STATE] == IDLE and e[FAILURES] == 0 and e[DUE_SEQUENCE] == 0 then
    write('HDEL', ITEMS, item)
  else
    write('HSET', ITEMS, item, cmsgpack.pack(e))
  end
end

local function enqueue(item, e)
  e[STATE] = QUEUED
  write('ZADD', READY, -e[PRIORITY], member(e[SEQUENCE], item))
end

local function enqueue_last(item, e)
  sequence = sequence + 1
  e[SEQUENCE] = sequence
  enqueue(item, e)
end

-- Adds the item now. Returns whether that is news.
local function add(item, e, priority)
  if e[STATE] == IDLE then
    e[PRIORITY], e[SINCE] = priority, now
    enqueue_last(item, e)
    return true
  elseif e[STATE] == PROCESSING then
    e[STATE], e[PRIORITY], e[SINCE] = DIRTY, priority, now
    dirty = dirty + 1
    return true
  elseif priority > e[PRIORITY] then
    e[PRIORITY] = priority
    if e[STATE] == QUEUED then
      write('ZADD', READY, -priority, member(e[SEQUENCE], item))
    end
  end
  return false
end

local function stop_waiting(item, e)
  write('ZREM', WAITING, member(e[DUE_SEQUENCE], item))
  e[DUE_SEQUENCE], e[DUE_PRIORITY] = 0, 0
end

-- Lets the item wait until `due`. If it waits already, the earlier time counts
-- unless `moves`.
local function wait(item, e, due, priority, moves)
  if e[DUE_SEQUENCE] ~= 0 then
    priority = math.max(priority, e[DUE_PRIORITY])
    local before = member(e[DUE_SEQUENCE], item)
    if not moves and tonumber(redis.call('ZSCORE', WAITING, before)) <= due then
      e[DUE_PRIORITY] = priority
      return
    end
    write('ZREM', WAITING, before)
  end
  sequence = sequence + 1
  e[DUE_SEQUENCE], e[DUE_PRIORITY] = sequence, priority
  write('ZADD', WAITING, due, member(sequence, item))
end

local function is_leased(e, token)
  return token > 0 and e[TOKEN] == token
end

-- Ends the processing of the item without a result: the item is queued again,
-- before all others of its priority.
local function give_back(item, e, priority)
  write('ZREM', LEASES, item)
  e[TOKEN] = 0
  if e[STATE] == PROCESSING then
    e[PRIORITY] = priority
  else
    e[PRIORITY] = math.max(e[PRIORITY], priority)
    dirty = dirty - 1
  end
  front = front - 1
  e[SEQUENCE] = front
  enqueue(item, e)
end

-- Items that are due, and leases that have expired.
if state == 0 then
  for _, it in ipairs(redis.call('ZRANGEBYSCORE', WAITING, '-inf', now, 'LIMIT',
                                 0, AT_ONCE)) do
    local item = string.sub(it, 9)
    local e = load(item)
    local priority = e[DUE_PRIORITY]
    stop_waiting(item, e)
    if add(item, e, priority) then came_due = came_due + 1 end
    save(item, e)
  end
end
if now >= grace then
  local dead = redis.call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', 0,
                          AT_ONCE)
  for i = #dead, 1, -1 do  -- so that they keep their order
    local item = dead[i]
    local e = load(item)
    give_back(item, e, e[PRIORITY])
    save(item, e)
    expired = expired + 1
  end
end

-- The operations. They return 0 or 1 for false or true, and `add` 2 for news.
-- x, y and z are:
local operations = {
  -- Add: priority. Nothing in a queue that has been shut down.
  A = function(item, e, priority)
    if state ~= 0 then return 0 end
    if add(item, e, priority) then return 2 end
    return 1
  end,
  -- Add after: delay, priority.
  W = function(item, e, delay, priority)
    if state ~= 0 then return 0 end
    if delay > 0 then
      wait(item, e, now + delay, priority, false)
      return 1
    end
    if add(item, e, priority) then return 2 end
    return 1
  end,
  -- Reschedule: delay.
  M = function(item, e, delay)
    if state ~= 0 then return 0 end
    if delay > 0 then
      wait(item, e, now + delay, 0, true)
      return 1
    end
    if e[DUE_SEQUENCE] ~= 0 then stop_waiting(item, e) end
    if add(item, e, 0) then return 2 end
    return 1
  end,
  -- Cancel the wait.
  C = function(item, e)
    if e[DUE_SEQUENCE] == 0 then return 0 end
    stop_waiting(item, e)
    return 1
  end,
  -- Add rate limited: least delay, priority, other delay or -1. The retry
  -- schedule has the delay after so many failures, and its last delay counts
  -- from then on. The shorter of that and the other delay counts.
  L = function(item, e, least, priority, other)
    local delay = least
    if delays > 0 then
      local i = math.min(e[FAILURES], delays - 1)
      delay = math.max(delay, tonumber(ARGV[12 + i]))
    end
    if other >= 0 and other < delay then delay = other end
    if e[FAILURES] == 0 then failing = failing + 1 end
    e[FAILURES] = e[FAILURES] + 1
    changed = true
    if state ~= 0 then return 0 end
    if delay > 0 then
      wait(item, e, now + delay, priority, false)
      return 1
    end
    if add(item, e, priority) then return 2 end
    return 1
  end,
  -- Forget the failures.
  F = function(item, e)
    if e[FAILURES] == 0 then return 0 end
    failing = failing - 1
    e[FAILURES] = 0
    return 1
  end,
  -- Done: token.
  D = function(item, e, token)
    if not is_leased(e, token) then return 0 end
    write('ZREM', LEASES, item)
    e[TOKEN] = 0
    if e[STATE] == DIRTY then
      dirty = dirty - 1
      enqueue_last(item, e)
    else
      e[STATE] = IDLE
    end
    return 1
  end,
  -- Give back: token, priority at which it was handed out.
  G = function(item, e, token, priority)
    if not is_leased(e, token) then return 0 end
    give_back(item, e, priority)
    return 1
  end,
  -- Renew the lease: token.
  X = function(item, e, token)
    if not is_leased(e, token) then return 0 end
    write('ZADD', LEASES, now + lease, item)
    return 1
  end,
}
local unchanged = { X = true }

local results = {}
for i = 12 + delays, #ARGV, 5 do
  local code, item = ARGV[i], ARGV[i + 1]
  local result
  if code == 'N' then  -- number of failures
    result = load(item)[FAILURES]
  elseif code == 'S' then  -- shut down; x: 1 to drain, 2 at once
    local how = tonumber(ARGV[i + 2])
    if state == 0 then
      for _, it in ipairs(redis.call('ZRANGE', WAITING, 0, -1)) do
        local waits = string.sub(it, 9)
        local e = load(waits)
        e[DUE_SEQUENCE], e[DUE_PRIORITY] = 0, 0
        save(waits, e)
      end
      write('DEL', WAITING)
    end
    state = 1
    write('HSET', META, 'state', state)
    result = redis.call('HINCRBY', META, 'shutdowns', how == 2 and 1 or 0)
    redis.call('SPUBLISH', META, 'shutdown ' .. result)
  elseif code == 'O' then  -- open again
    result = state
    state = 0
    write('HSET', META, 'state', state)
    redis.call('SPUBLISH', META, 'open')
  else
    local e = load(item)
    local before = changed
    changed = false
    result = operations[code](item, e, tonumber(ARGV[i + 2]),
                              tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4]))
    -- An add of an item that is there already is written, too, so that its
    -- reply is not sent before all that it relies on is on the disk.
    if not unchanged[code] and (changed or result ~= 0) then save(item, e) end
    changed = changed or before
  end
  results[#results + 1] = result
end

-- Hands out up to `n` items: passes each to `receive`, which returns false to
-- leave it.
local function claim(n, receive)
  if n <= 0 then return end
  local popped = redis.call('ZRANGE', READY, 0, n - 1)
  for _, it in ipairs(popped) do
    local item = string.sub(it, 9)
    local e = load(item)
    token = token + 1
    if not receive(item, token, e[PRIORITY], now - e[SINCE]) then return end
    write('ZREM', READY, it)
    e[STATE], e[TOKEN], e[BEGAN] = PROCESSING, token, now
    write('ZADD', LEASES, now + lease, item)
    save(item, e)
  end
end

-- First to this client. Pushes that it has not received yet serve workers, too.
local wants = tonumber(ARGV[8])
-- A client that is not known (any more) has received all that it was sent.
local had = mine or { 0, tonumber(ARGV[9]), 0, 0, '' }
mine = { wants, had[PUSHED], 0, request, '' }
if wants > 0 then
  wants = math.max(0, wants - (mine[PUSHED] - tonumber(ARGV[9])))
end
local handed_out = {}
claim(tonumber(ARGV[10]) + wants, function(item, token, priority, waited)
  for _, value in ipairs({ item, token, priority, waited }) do
    handed_out[#handed_out + 1] = value
  end
  return true
end)
wants = math.max(0, wants - #handed_out / 4)
mine[WANTED] = wants
if wants > 0 and had[WANTED] == 0 then
  turn = turn + 1
  write('ZADD', WAITERS, turn, client)
elseif wants == 0 and had[WANTED] > 0 then
  write('ZREM', WAITERS, client)
end

-- Then to the clients that wait, in turn. A push to a client that no longer
-- listens reaches nobody.
while redis.call('ZCARD', READY) > 0 do
  local other = redis.call('ZRANGE', WAITERS, 0, 0)[1]
  if not other or other == client then break end
  local entry = cmsgpack.unpack(redis.call('HGET', CLIENTS, other))
  local received = false
  if now < entry[VALID] then
    claim(1, function(item, token, priority, waited)
      received = redis.call('SPUBLISH', META .. ':' .. other, string.format(
          '%.0f %.0f %.0f %.0f ', token, priority, waited, now) .. item) > 0
      return received
    end)
  end
  if received then
    entry[WANTED], entry[PUSHED] = entry[WANTED] - 1, entry[PUSHED] + 1
  else
    entry[WANTED] = 0
  end
  if entry[WANTED] > 0 then
    turn = turn + 1
    write('ZADD', WAITERS, turn, other)
  else
    write('ZREM', WAITERS, other)
  end
  write('HSET', CLIENTS, other, cmsgpack.pack(entry))
end

-- When the first item comes due, and when the first lease expires.
local function first_of(set, from)
  local first = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
  return first[1] and math.max(tonumber(first[2]), from) or math.huge
end
local due = state == 0 and first_of(WAITING, now) or math.huge
local next_event = math.min(due, first_of(LEASES, math.max(now, grace)))
next_event = next_event < math.huge and next_event - now or -1

local ready, processing = redis.call('ZCARD', READY), redis.call('ZCARD', LEASES)
if changed and state ~= 0 and ready == 0 and processing == 0 then
  redis.call('SPUBLISH', META, 'drained')
elseif due < due_before then  -- tell those who would look too late
  redis.call('SPUBLISH', META, string.format('due %.0f', due - now))
end

local reply = { { now, next_event, ready, redis.call('ZCARD', WAITING),
                  processing, failing, state, expired,
                  dirty, came_due, wants + mine[PUSHED], mine[PUSHED] }, results,
                handed_out }
if changed or wants ~= had[WANTED] or now > had[VALID] - presence / 2 then
  redis.call('HSET', META, 'time', now, 'offset', offset, 'sequence', sequence,
             'token', token, 'turn', turn, 'failing', failing, 'due', due,
             'dirty', dirty, 'front', front)
  mine[VALID] = now + presence
  mine[LAST_REPLY] = cmsgpack.pack(reply)
  redis.call('HSET', CLIENTS, client, cmsgpack.pack(mine))
  -- A new client removes those that have been silent for long.
  if had[LAST_REQUEST] == 0 then
    local all = redis.call('HGETALL', CLIENTS)
    for i = 1, #all, 2 do
      if cmsgpack.unpack(all[i + 1])[VALID] + 10 * presence < now then
        redis.call('HDEL', CLIENTS, all[i])
        redis.call('ZREM', WAITERS, all[i])
      end
    end
  end
end
return reply
)lua";

const char kSnapshotScript[] = R"lua(
-- Keys: those of the other script. Arguments:
--    1  version of the layout
--    2  time, or empty: the server's
--    3  largest number of items of each kind; inf: all
--    4  one, for a snapshot of argument 5 only; otherwise all
--   From 5 on, if all: items that are listed if they are being processed,
--   besides those of argument 3.
--
-- Reply: { { time, state, numbers of all items that are queued, being processed,
-- waiting }, items that are queued, being processed, waiting }. Of each item:
-- item, failures, priority or token, time or -1 for never, and for those being
-- processed 1 if it has been added again.
local META, ITEMS, READY, WAITING, LEASES = unpack(KEYS)
local version = redis.call('HGET', META, 'version')
if version and version ~= ARGV[1] then
  return redis.error_reply('WQLAYOUT ' .. version)
end
local STATE, FAILURES, PRIORITY, SEQUENCE, SINCE, TOKEN, DUE_SEQUENCE,
      DUE_PRIORITY, BEGAN = 1, 2, 3, 4, 5, 6, 7, 8, 9
local IDLE, QUEUED, PROCESSING, DIRTY = 0, 1, 2, 3
local max = tonumber(ARGV[3])

local function load(item)
  local entry = redis.call('HGET', ITEMS, item)
  return entry and cmsgpack.unpack(entry)
end

local function first_of(set, ...)
  if max == 0 then return {} end
  return redis.call('ZRANGE', set, 0, max < math.huge and max - 1 or -1, ...)
end

local queued, processing, waiting = {}, {}, {}
local function list_queued(item, e)
  queued[#queued + 1] = { item, e[FAILURES], e[PRIORITY], e[SINCE] }
end
local function list_processing(item, e)
  processing[#processing + 1] = { item, e[FAILURES], e[TOKEN], e[BEGAN],
                                  e[STATE] == DIRTY and 1 or 0 }
end
local function list_waiting(item, e, due)
  waiting[#waiting + 1] = { item, e[FAILURES], e[DUE_PRIORITY],
                            due < math.huge and due or -1 }
end

if ARGV[4] == 'one' then
  local item = ARGV[5]
  local e = load(item)
  if e and e[STATE] == QUEUED then
    list_queued(item, e)
  elseif e and e[STATE] ~= IDLE then
    list_processing(item, e)
  end
  if e and e[DUE_SEQUENCE] ~= 0 then
    list_waiting(item, e, tonumber(redis.call(
        'ZSCORE', WAITING, struct.pack('>I8', e[DUE_SEQUENCE]) .. item)))
  end
else
  for _, it in ipairs(first_of(READY)) do
    local item = string.sub(it, 9)
    list_queued(item, load(item))
  end
  local listed = {}
  for i = 5, #ARGV do
    local e = load(ARGV[i])
    if e and e[STATE] >= PROCESSING then
      listed[ARGV[i]] = true
      list_processing(ARGV[i], e)
    end
  end
  -- Leases are in the order of their ends, so the tokens of all are needed.
  local others = {}
  for _, item in ipairs(max > 0 and redis.call('ZRANGE', LEASES, 0, -1) or {}) do
    if not listed[item] then others[#others + 1] = { item, load(item) } end
  end
  table.sort(others, function(a, b) return a[2][TOKEN] < b[2][TOKEN] end)
  for i = 1, math.min(max, #others) do
    list_processing(others[i][1], others[i][2])
  end
  local due = first_of(WAITING, 'WITHSCORES')
  for i = 1, #due, 2 do
    local item = string.sub(due[i], 9)
    list_waiting(item, load(item), tonumber(due[i + 1]))
  end
end

local m = redis.call('HMGET', META, 'time', 'offset', 'state')
local now = tonumber(ARGV[2])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end
now = math.max(now + (tonumber(m[2]) or 0), tonumber(m[1]) or 0)
return { { now, tonumber(m[3]) or 0, redis.call('ZCARD', READY),
           redis.call('ZCARD', LEASES), redis.call('ZCARD', WAITING) },
         queued, processing, waiting }
)lua";

}  // namespace internal
}  // namespace workqueue
