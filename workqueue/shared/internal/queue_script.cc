// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/internal/queue_script.h"

namespace workqueue::internal {

const char kQueueScript[] = R"lua(
-- Keys. All have the hash tag of the queue.
--   meta     hash: the queue's counters, clock and state
--   items    hash: item -> its entry, the truth about the item
--   ready    sorted set: -priority, sequence + item
--   waiting  sorted set: due time, sequence + item
--   leases   sorted set: expiry, item
--   clients  hash: client -> its entry
--   waiters  sorted set: turn, client; the clients with workers that wait
--   failing  sorted set: -failures, time of the first failure + item
--   parked   sorted set: -time of the parking, item
--   groups   sorted set, all scores are 0: see `Groups` below
--   turns    hash: see there
--   none     never exists. While the slot of a queue moves to another node, the
--            server refuses a script of which a key is missing: otherwise a
--            request that removes the last member of one would fail later
local META, ITEMS, READY, WAITING, LEASES, CLIENTS, WAITERS, FAILING, PARKED,
      GROUPS, TURNS = unpack(KEYS)

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
--   11  the retry schedule: "delay times " of each run of equal delays, where
--       the last delay counts for all further failures. Or "-": the client only
--       looks, and leaves items that are due to others
--   12  name of the client, for those who look
--   13  version of the client's library
--   14  1 if a copy of this request, or an earlier request, may come late
--   15  end of the name of the channel that has what concerns all clients, after
--       that of META: the databases of a server share its channels
--   From 16 on, six for each operation: code, item, x, y, z, text.
--
-- Reply: { { time, ticks until something is due or -1, ready, waiting,
-- processing, failing, parked, state, number of leases that expired in this
-- request, items added again while they are processed, adds because items came
-- due, number of pushes to the client so far and still to come, number of those
-- so far, 1 if the memory is full, time of the queue's first request plus 1 },
-- results of the operations, each item handed out: item, token,
-- priority, ticks in the queue, failures }.
--
-- Nothing fails after the first write, or half of the request would stay: what
-- is read is made valid where it is read, and each command and key is tried
-- before. The server looks at the first write only whether its memory is full.
-- So the script itself refuses then the operations that add, and does all else.
local client = ARGV[2]

-- States of an item.
local IDLE, QUEUED, PROCESSING, DIRTY = 0, 1, 2, 3
-- Fields of an item's entry. HOLDER is there if the item is being processed, and
-- all of them if it has failures.
local STATE, FAILURES, PRIORITY, SEQUENCE, SINCE, TOKEN, DUE_SEQUENCE,
      DUE_PRIORITY, BEGAN = 1, 2, 3, 4, 5, 6, 7, 8, 9
local HOLDER, FIRST, LAST, PARKING, ERROR = 10, 11, 12, 13, 14
-- Values of PARKING. Only an idle item is parked.
local NOT_PARKED, UNTIL_ADD, UNTIL_UNPARK = 0, 1, 2
-- Fields of a client's entry.
local WANTED, PUSHED, VALID, LAST_REQUEST, LAST_REPLY, NAME, VERSION, SEEN,
      LEASE = 1, 2, 3, 4, 5, 6, 7, 8, 9
-- The server serves nobody else meanwhile, some 30 microseconds for each item.
-- So a request concerns about so many items, and of each kind at least so many:
-- those that come due, whose leases expire, that are handed out, that are
-- pushed, that a shutdown lets wait no longer. The rest is for the next request,
-- which is due at once.
local MOST, LEAST = 250, 25
-- Nor does a reply hand out a further item after so many bytes.
local MOST_BYTES = 2 ^ 18
-- How many entries a repair looks at, and turns, and how many members of a set.
local REPAIRED_AT_ONCE, CHECKED_AT_ONCE = 250, 50
-- How many turns a request looks at that hand out nothing.
local LOOKED_AT = 100
-- How many clients a request looks at, to remove those that are silent.
local CLIENTS_AT_ONCE = 10
-- Whole numbers are exact up to this one.
local EXACT = 2 ^ 53

-- Returns the number in `text`, or the nearest whole one from `least` (0) to
-- `most` (EXACT). Returns `default` if there is none.
local function number(text, default, least, most)
  local n = text and tonumber(text)
  if not n or n ~= n then return default end
  least, most = least or 0, most or EXACT
  if n <= least then return least end
  if n >= most then return most end
  return n - n % 1
end

-- Returns the table packed in `bytes`. Returns nil or fails if its first `n`
-- elements are not exact whole numbers: only numbers compare with numbers.
local function try_unpack_numbers(bytes, n)
  local t = cmsgpack.unpack(bytes)
  for i = 1, n do
    local e = t[i]
    if e > EXACT or e < -EXACT or e % 1 ~= 0 then return nil end
  end
  return t
end

-- The same, but never fails.
local function unpack_numbers(bytes, n)
  if not bytes then return nil end
  local ok, t = pcall(try_unpack_numbers, bytes, n)
  return ok and t or nil
end

-- Returns the next part of a hash: where the one after it begins, and the part.
local function scan(hash, cursor, count)
  if not cursor or not string.find(cursor, '^%d+$') or #cursor > 19 then
    cursor = '0'
  end
  return unpack(redis.call('HSCAN', hash, cursor, 'COUNT', count))
end

local function unpack_client(bytes)
  local entry = unpack_numbers(bytes, 4)
  return entry and type(entry[LAST_REPLY]) == 'string' and entry or nil
end

-- Fields of META. Each request writes those before `groups` that have changed.
local FIELDS = { 'version', 'time', 'offset', 'sequence', 'token', 'turn', 'state',
                 'run', 'grace', 'checked', 'due', 'dirty', 'front', 'shutdowns',
                 'swept', 'cursor', 'repaired', 'born', 'looked', 'groups', 'most',
                 'retries', 'limits' }

-- All that follows is one function. For each request the server makes its functions
-- anew, and searches for the variables that they share. What is outside of this one
-- it finds at once.
local function apply()

local m = redis.call('HMGET', META, unpack(FIELDS))
if m[1] and m[1] ~= ARGV[1] then
  return redis.error_reply('WQLAYOUT ' .. m[1])
end

local request = number(ARGV[3])
local lease = number(ARGV[6], nil, 0, math.huge)
local presence = number(ARGV[7])
local looks_only = ARGV[11] == '-'
local wants, received, take = number(ARGV[8]), number(ARGV[9]), number(ARGV[10])
if not (request and lease and presence and wants and received and take and
        #ARGV >= 15 and (#ARGV - 15) % 6 == 0) then
  return redis.error_reply('ERR wrong arguments')
end
local CHANNEL = META .. ARGV[15]

local mine = unpack_client(redis.call('HGET', CLIENTS, client))
if mine and mine[LAST_REQUEST] == EXACT then
  return redis.error_reply('ERR the client has ended')
end
if mine and mine[LAST_REQUEST] >= request then
  return cmsgpack.unpack(mine[LAST_REPLY])
end

-- The queue's time does not go back: if the clock has, the difference is added
-- to it from now on.
local now = number(ARGV[4])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local changed, told = false, false
local last, offset = number(m[2], 0), number(m[3], 0)
now = math.min(now + offset, EXACT)
if now < last then
  offset = offset + last - now
  now = last
  changed = true
end
-- The items that are queued have the numbers between these two.
local front, sequence = number(m[13], 2 ^ 40), number(m[4], 2 ^ 40)
-- The next token is not less than the time: so tokens grow even if the server
-- has lost its data, or the latest part, unless its clock is behind by more.
local token = math.max(number(m[5], 0), now - 1)
local shutdowns = number(m[14], now)
local turn, state = number(m[6], 0), number(m[7], 0)
local checked, dirty = number(m[10], 0), number(m[12], 0)
local due_before = number(m[11], math.huge, 0, math.huge)
local expired, came_due = 0, 0
-- Not known of a queue that an older library has made.
local born = m[1] and number(m[18], 0) or now + 1
local limits = m[23] or ''

-- After a start of the server no lease expires for as long as a lease lasts:
-- nobody could renew it.
local run, grace = m[8] or '', number(m[9], 0)
if ARGV[5] ~= '' and run ~= ARGV[5] and not looks_only then
  if run ~= '' and lease < math.huge then grace = now + lease end
  run = ARGV[5]
  changed = true
end

-- Clients that have been silent for long: all are looked at, one part after the
-- other. The next request goes on where a part had any: programs that end may
-- leave them faster than a part comes now and then.
local silent, swept, cursor = {}, number(m[15], 0, 0, now), m[16] or '0'
local repaired, entries = m[17] or '0', {}
local looked, turns = m[19] or '0', {}
if now > swept + presence / 3 then
  local part
  cursor, part = scan(CLIENTS, cursor, CLIENTS_AT_ONCE)
  told = true
  for i = 1, #part, 2 do
    local entry = unpack_client(part[i + 1])
    if part[i] ~= client and
        not (entry and entry[VALID] + 10 * presence >= now) then
      silent[#silent + 1] = part[i]
    end
  end
  if #silent == 0 then swept = now end
end

local function write(...)
  changed = true
  return redis.call(...)
end

local function member(number, item) return struct.pack('>I8', number) .. item end

-- Groups. A queue with groups hands out its items in turn; see "Groups" in
-- docs/shared-queue.md. Kind is 1 for a retry, and otherwise 0. A lane has the
-- queued items of one kind, group and priority. Rank is the priority as 8 bytes,
-- of which the smallest is the highest priority. GROUPS has these members:
--   g, group, item               an item in process
--   i, kind, group, rank, number, item     a queued item
--   r, item                      an item in process that is a retry
--   t, kind, rank, turn, group   the turn of a group, for the lane of its
--                                highest priority, if the group is ready
-- And TURNS these fields:
--   l, kind, group, rank         of a lane: its turn, and how many items are left
--                                in that turn, 0 for all
--   g, group                     'held' if the group is at its bound; otherwise
--                                the number from which on its turns count
--   p, rank                      of a priority: the kind of the next item
-- An item's entry has named fields, too: its group and weight, g and w, its kind,
-- k, that of its wait, d, and that with which it is in process, h.
local grouped = m[20] == '1'
local most, most_retries = number(m[21], math.huge, 1, math.huge),
                           number(m[22], math.huge, 1, math.huge)
-- The kind of what is being added.
local kind = 0

local function check_group(e)
  if type(e.g) ~= 'string' then e.g = '' end
  e.w = number(e.w, 1, 1, 2 ^ 31)
  e.k, e.d = e.k == 1 and 1 or 0, e.d == 1 and 1 or 0
  if e[STATE] < PROCESSING or e.h ~= 1 then
    e.h = e[STATE] >= PROCESSING and e.h == 0 and 0 or nil
  end
end

-- Nothing waits in a queue that has been shut down.
local function load(item)
  local e = unpack_numbers(redis.call('HGET', ITEMS, item), 9) or
            { IDLE, 0, 0, 0, 0, 0, 0, 0, 0 }
  if state ~= 0 then e[DUE_SEQUENCE], e[DUE_PRIORITY] = 0, 0 end
  if type(e[HOLDER]) ~= 'string' then e[HOLDER] = '' end
  if grouped then check_group(e) end
  if e[FAILURES] > 0 then
    e[FIRST], e[LAST] = number(e[FIRST], now), number(e[LAST], now)
    e[PARKING] = e[STATE] == IDLE and number(e[PARKING], 0, 0, 2) or NOT_PARKED
    if type(e[ERROR]) ~= 'string' then e[ERROR] = '' end
  end
  return e
end

local function save(item, e)
  if e[STATE] == IDLE and e[FAILURES] == 0 and e[DUE_SEQUENCE] == 0 then
    write('HDEL', ITEMS, item)
    return
  end
  if e[STATE] < PROCESSING then e[HOLDER] = '' end
  if e[HOLDER] == '' and e[FAILURES] == 0 then e[HOLDER] = nil end
  write('HSET', ITEMS, item, cmsgpack.pack(e))
  e[HOLDER] = e[HOLDER] or ''
end

local function key_of(group) return struct.pack('>I4', #group) .. group end

local function rank_of(priority)
  return struct.pack('>I8', 2 ^ 52 - math.max(-2 ^ 52, math.min(2 ^ 52, priority)))
end

local function lane_of(k, group, rank) return k .. key_of(group) .. rank end

local function turn_member(k, rank, turn, group)
  return 't' .. k .. rank .. struct.pack('>I8', turn) .. group
end

-- Returns the members of an item in process. They are one unless it is a retry.
local function running_members(item, e)
  local it = 'g' .. key_of(e.g) .. '\0' .. item
  return it, e.h == 1 and 'r' .. item or it
end

-- The language compares texts as the locale says.
local function is_higher(rank, other)
  return struct.unpack('>I8', rank) < struct.unpack('>I8', other)
end

-- Returns the first `n` members that begin with `prefix`. No byte 255 follows it.
local function first_members(prefix, n)
  return redis.call('ZRANGE', GROUPS, '[' .. prefix, '(' .. prefix .. '\255',
                    'BYLEX', 'LIMIT', 0, n)
end

-- Returns the first queued item of the group: the rank of its lane, and the
-- member. Nothing if there is none.
local function first_queued(k, group)
  local prefix = 'i' .. k .. key_of(group)
  local it = first_members(prefix, 1)[1]
  if not it then return end
  return string.sub(it .. string.rep('\0', 8), #prefix + 1, #prefix + 8), it
end

-- Returns the turn of a lane, how many items are left in it or 0 for all, and
-- what is known of the group. No turn if the lane is empty.
local function turn_of(k, group, rank)
  local found = redis.call('HMGET', TURNS, 'l' .. lane_of(k, group, rank),
                           'g' .. group)
  local at, rest = string.match(found[1] or '', '^(%d+) (%d+)$')
  at, rest = number(at), number(rest, 0)
  local from = number(found[2] ~= 'held' and found[2], 0)
  if at and from > at then at, rest = from, 0 end
  -- Somebody may have deleted the counter.
  turn = math.max(turn, at or 0, from)
  return at, rest, found[2]
end

local function set_turn(k, group, rank, at, rest)
  write('HSET', TURNS, 'l' .. lane_of(k, group, rank),
        string.format('%.0f %.0f', at, rest))
end

-- Returns the next turn of a kind: its rank, its number, the group, the member,
-- the kind. False if there is none.
local first_turns = {}  -- by kind, as far as they are known
local function first_turn(k)
  if first_turns[k] == nil then
    local it = first_members('t' .. k, 1)[1]
    local padded = it and it .. string.rep('\0', 18)
    first_turns[k] = it and { string.sub(padded, 3, 10),
                              struct.unpack('>I8', padded, 11),
                              string.sub(it, 19), it, k } or false
  end
  return first_turns[k]
end

-- Gives the group its turn for the items of kind `k`, if there are any and it is
-- not held back. Returns whether there are any, and whether it had no turn.
local function offer(k, group)
  local rank = first_queued(k, group)
  if not rank then return false, false end
  local at, _, held = turn_of(k, group, rank)
  if held == 'held' then return true, false end
  if not at then
    turn = turn + 1
    at = turn
    set_turn(k, group, rank, at, 0)
  end
  local it = turn_member(k, rank, at, group)
  if redis.call('ZSCORE', GROUPS, it) then return true, false end
  first_turns[k] = nil
  write('ZADD', GROUPS, 0, it)
  return true, true
end

-- Takes the group's turn.
local function withdraw(k, group)
  local rank = first_queued(k, group)
  local at = rank and turn_of(k, group, rank)
  first_turns[k] = nil
  if at then write('ZREM', GROUPS, turn_member(k, rank, at, group)) end
end

local function processing_of(group)
  local prefix = 'g' .. key_of(group)
  return redis.call('ZLEXCOUNT', GROUPS, '[' .. prefix .. '\0',
                    '(' .. prefix .. '\1')
end

-- The group has reached its bound. Kind `taken`, if it is given, has no turn.
local function hold(group, taken)
  if taken ~= 0 then withdraw(0, group) end
  if taken ~= 1 then withdraw(1, group) end
  write('HSET', TURNS, 'g' .. group, 'held')
end

-- Lets the group take the last turns if it is no longer at its bound.
local function release(group)
  if redis.call('HGET', TURNS, 'g' .. group) ~= 'held' or
      processing_of(group) >= most then
    return
  end
  turn = turn + 1
  write('HSET', TURNS, 'g' .. group, string.format('%.0f', turn))
  local additions, retries = offer(0, group), offer(1, group)
  if not additions and not retries then write('HDEL', TURNS, 'g' .. group) end
end

-- The lane has lost its last item. `known` is what is known of the group.
local function forget_lane(k, group, rank, known)
  write('HDEL', TURNS, 'l' .. lane_of(k, group, rank))
  if known and known ~= 'held' and not first_queued(0, group) and
      not first_queued(1, group) then
    write('HDEL', TURNS, 'g' .. group)
  end
end

-- The lane has lost an item.
local function leave_lane(k, group, rank)
  if not first_members('i' .. lane_of(k, group, rank), 1)[1] then
    forget_lane(k, group, rank, redis.call('HGET', TURNS, 'g' .. group))
  end
end

-- Forgets which kind is the next one at a priority that has no more items.
local function leave_priority(priority)
  if not redis.call('ZRANGEBYSCORE', READY, -priority, -priority, 'LIMIT', 0,
                    1)[1] then
    write('HDEL', TURNS, 'p' .. rank_of(priority))
  end
end

-- A queued item enters the lane that its entry tells. A lane that is new takes
-- the last turn.
local function join(item, e)
  local rank, k, group = rank_of(e[PRIORITY]), e.k, e.g
  local it = 'i' .. lane_of(k, group, rank) .. member(e[SEQUENCE], item)
  local at, _, held = turn_of(k, group, rank)
  if at then
    write('ZADD', GROUPS, 0, it)
    return
  end
  local first = first_queued(k, group)
  turn = turn + 1
  set_turn(k, group, rank, turn, 0)
  if held == 'held' or (first and is_higher(first, rank)) then
    write('ZADD', GROUPS, 0, it)
    return
  end
  if first then withdraw(k, group) end
  first_turns[k] = nil
  write('ZADD', GROUPS, 0, it, 0, turn_member(k, rank, turn, group))
end

-- A queued item leaves all places, to come back to others.
local function part(item, e)
  local rank, it = rank_of(e[PRIORITY]), member(e[SEQUENCE], item)
  withdraw(e.k, e.g)
  write('ZREM', READY, it)
  write('ZREM', GROUPS, 'i' .. lane_of(e.k, e.g, rank) .. it)
  leave_lane(e.k, e.g, rank)
  leave_priority(e[PRIORITY])
  offer(e.k, e.g)
end

-- The item is in process no longer, if it was.
local function leave_process(item, e)
  if not grouped or not e.h then return end
  write('ZREM', GROUPS, running_members(item, e))
  e.h = nil
  release(e.g)
end

-- Reads from an add which kind it is of, and the item's group and weight. What a
-- client without groups adds is in the group without a name.
local function classify(e, text)
  local k, weight, group = string.match(text, '^([01]) (%d+) (.*)$')
  kind = k == '1' and 1 or 0
  if group and e[STATE] ~= QUEUED and not e.h then
    e.g, e.w = group, number(weight, 1, 1, 2 ^ 31)
  end
end

local function enqueue(item, e)
  e[STATE] = QUEUED
  write('ZADD', READY, -e[PRIORITY], member(e[SEQUENCE], item))
  if grouped then join(item, e) end
end

local function enqueue_last(item, e)
  sequence = sequence + 1
  e[SEQUENCE] = sequence
  enqueue(item, e)
end

local function is_parked(e) return e[FAILURES] > 0 and e[PARKING] > 0 end

-- Puts the item into the set that lists it because of its failures.
local function list_failures(item, e)
  if is_parked(e) then
    write('ZADD', PARKED, -e[LAST], item)
  else
    write('ZADD', FAILING, -e[FAILURES], member(e[FIRST], item))
  end
end

-- The item has no failures, and is not parked, from now on.
local function forget(item, e)
  if e[FAILURES] == 0 then return end
  if is_parked(e) then
    write('ZREM', PARKED, item)
  else
    write('ZREM', FAILING, member(e[FIRST], item))
  end
  e[FAILURES] = 0
  e[FIRST], e[LAST], e[PARKING], e[ERROR] = nil, nil, nil, nil
end

-- An add of the item, or a wait that ends: an item that is parked until then is
-- parked no longer. Returns whether the item takes part in the queue.
local function unpark_by_add(item, e)
  if not is_parked(e) then return true end
  if e[PARKING] == UNTIL_UNPARK then return false end
  forget(item, e)
  return true
end

-- An item that is there already is added again. In a queue with groups, one that
-- comes into another lane is the last one there, as in a `PriorityQueue`.
local function add_to_groups(item, e, priority)
  local k = math.min(e.k, kind)
  if priority <= e[PRIORITY] and k == e.k then return end
  if e[STATE] == QUEUED then part(item, e) end
  e[PRIORITY], e.k = math.max(priority, e[PRIORITY]), k
  if e[STATE] == QUEUED then enqueue_last(item, e) end
end

-- Adds the item now. Returns 2 if it was not there, and otherwise 1.
local function add(item, e, priority)
  if not unpark_by_add(item, e) then return 1 end
  if grouped and (e[STATE] == IDLE or e[STATE] == PROCESSING) then
    e.k = kind
  elseif grouped then
    add_to_groups(item, e, priority)
    return 1
  end
  if e[STATE] == IDLE then
    e[PRIORITY], e[SINCE] = priority, now
    enqueue_last(item, e)
    return 2
  elseif e[STATE] == PROCESSING then
    e[STATE], e[PRIORITY], e[SINCE] = DIRTY, priority, now
    dirty = dirty + 1
    return 2
  elseif priority > e[PRIORITY] then
    e[PRIORITY] = priority
    if e[STATE] == QUEUED then
      write('ZADD', READY, -priority, member(e[SEQUENCE], item))
    end
  end
  return 1
end

local function stop_waiting(item, e)
  write('ZREM', WAITING, member(e[DUE_SEQUENCE], item))
  e[DUE_SEQUENCE], e[DUE_PRIORITY] = 0, 0
end

-- Lets the item wait until `due`. If it waits already, the earlier time counts
-- unless `moves`.
local function wait(item, e, due, priority, moves)
  if grouped and not (moves and e[DUE_SEQUENCE] ~= 0) then
    e.d = e[DUE_SEQUENCE] ~= 0 and math.min(e.d, kind) or kind
  end
  if e[DUE_SEQUENCE] ~= 0 then
    priority = math.max(priority, e[DUE_PRIORITY])
    local before = member(e[DUE_SEQUENCE], item)
    if not moves and
        number(redis.call('ZSCORE', WAITING, before), math.huge, 0, math.huge)
        <= due then
      e[DUE_PRIORITY] = priority
      return
    end
    write('ZREM', WAITING, before)
  end
  sequence = sequence + 1
  e[DUE_SEQUENCE], e[DUE_PRIORITY] = sequence, priority
  write('ZADD', WAITING, due, member(sequence, item))
end

-- Adds the item now, or after the delay. Returns what `add` does.
local function add_after(item, e, delay, priority)
  if delay <= 0 then return add(item, e, priority) end
  wait(item, e, now + delay, priority, false)
  return 1
end

-- The delay that the retry schedule has after so many failures as the item has,
-- but at least `least`, and at most `other` unless that is -1.
local function retry_delay(e, least, other)
  local failures, delay = e[FAILURES], 0
  for ticks, times in string.gmatch(ARGV[11], '(%S+) (%S+) ') do
    delay = number(ticks, 0, 0, math.huge)
    failures = failures - number(times, 1)
    if failures < 0 then break end
  end
  delay = math.max(least, delay)
  return other >= 0 and math.min(delay, other) or delay
end

-- Without an `error`, the item keeps the last one.
local function count_failure(item, e, error)
  if e[FAILURES] == 0 then
    e[FIRST], e[PARKING], e[ERROR] = now, NOT_PARKED, ''
  end
  e[FAILURES] = math.min(e[FAILURES] + 1, 2 ^ 31 - 1)
  e[LAST] = now
  if error ~= '' then e[ERROR] = error end
  list_failures(item, e)
end

-- Ends the processing of the item. Returns whether it was added again meanwhile.
local function stop_processing(item, e)
  local added_again = e[STATE] == DIRTY
  write('ZREM', LEASES, item)
  leave_process(item, e)
  if added_again then dirty = math.max(0, dirty - 1) end
  e[STATE], e[TOKEN] = IDLE, 0
  return added_again
end

-- Returns what the text of a failure, or of limits, says; see K and P. Nothing if
-- it is wrong.
local function parse_limits(text)
  local priority, most, longest, room, stays, error =
      string.match(text, '^(%S+) (%S+) (%S+) (%S+) ([01]) (.*)$')
  priority = number(priority, nil, -EXACT)
  most, longest = number(most, nil, 1, math.huge), number(longest, nil, 0, math.huge)
  room = number(room)
  if priority and most and longest and room then
    return priority, most, longest, room, stays == '1', error
  end
end

-- Whether an item that has just failed is at a limit; see K.
local function is_at_limit(e, most, longest, room)
  return (e[FAILURES] >= most or now - e[FIRST] >= longest) and
         redis.call('ZCARD', PARKED) < room
end

-- Parks the item, which nobody processes any more. An add during the processing
-- puts it back, unless it stays.
local function park(item, e, stays, added_again)
  if added_again and not stays then
    forget(item, e)
    enqueue_last(item, e)
  else
    write('ZREM', FAILING, member(e[FIRST], item))
    e[PARKING] = stays and UNTIL_UNPARK or UNTIL_ADD
    list_failures(item, e)
  end
end

-- Ends the processing of an item that nobody processes any more: the item is
-- added again after the delay of its failures, but at least `least`; if this is no
-- failure, after `least`. At a limit of the queue it is parked. In a queue that has
-- been shut down nothing waits. There the item counts as being processed meanwhile,
-- with a negative token, so that a drain does not forget it, unless the delay never
-- ends.
local function abandon(item, e, least, error, fails)
  local delay = fails and retry_delay(e, least, -1) or least
  kind = e[STATE] == DIRTY and e.k or (fails and 1 or e.h or 0)
  if fails then
    count_failure(item, e, error)
    local _, most_failures, longest, room, stays = parse_limits(limits)
    if room and is_at_limit(e, most_failures, longest, room) then
      park(item, e, stays, stop_processing(item, e))
      return
    end
  end
  if delay > 0 and delay < EXACT and state ~= 0 then
    leave_process(item, e)
    token = token + 1
    e[TOKEN] = -token
    if grouped then e.k = kind end
    write('ZADD', LEASES, now + delay, item)
    return
  end
  local added_again = stop_processing(item, e)
  if delay <= 0 or (state ~= 0 and added_again) then
    add(item, e, e[PRIORITY])
  elseif state == 0 then
    wait(item, e, now + delay, e[PRIORITY], false)
  end
end

-- Adds an item again whose processing has ended; `added_again` tells whether it
-- was dirty. Then it is queued now, and does not wait besides: that wait would
-- end during the next processing, and make it dirty again. In a queue that has
-- been shut down nothing else is added. Returns what `add` does.
local function add_again(item, e, delay, priority, added_again)
  if state == 0 and not added_again then
    return add_after(item, e, delay, priority)
  end
  if added_again then enqueue_last(item, e) end
  return 1
end

-- The same for the places that groups add.
local function repair_groups(item, e)
  if e[STATE] == QUEUED then
    local missing = not redis.call(
        'ZSCORE', GROUPS, 'i' .. lane_of(e.k, e.g, rank_of(e[PRIORITY])) ..
                          member(e[SEQUENCE], item))
    if missing then join(item, e) end
    local _, had_no_turn = offer(e.k, e.g)
    return missing or had_no_turn
  elseif e[STATE] >= PROCESSING and e.h then
    local it, retry = running_members(item, e)
    if redis.call('ZSCORE', GROUPS, it) and redis.call('ZSCORE', GROUPS, retry) then
      return false
    end
    write('ZADD', GROUPS, 0, it, 0, retry)
    return true
  end
  return false
end

-- Puts the item back into the sets that it is missing from, because an operator
-- has deleted one. Its times are lost with the set: a lease begins anew, and
-- what waits is due now. Returns whether something was missing.
local function repair(item, e)
  local missing = false
  local function put_back(set, score, it)
    if not redis.call('ZSCORE', set, it) then
      write('ZADD', set, score, it)
      missing = true
    end
  end
  if grouped then missing = repair_groups(item, e) end
  if e[STATE] == QUEUED then
    put_back(READY, -e[PRIORITY], member(e[SEQUENCE], item))
  elseif e[STATE] >= PROCESSING then
    put_back(LEASES, now + lease, item)
  end
  if e[DUE_SEQUENCE] ~= 0 then
    put_back(WAITING, now, member(e[DUE_SEQUENCE], item))
  end
  if is_parked(e) then
    put_back(PARKED, -e[LAST], item)
  elseif e[FAILURES] > 0 then
    put_back(FAILING, -e[FAILURES], member(e[FIRST], item))
  end
  return missing
end

-- The same as below in a queue with groups. An item that is handed out in turn is
-- found by its turn, and not in READY. Returns whether it was the last part.
local function check_groups()
  local ready = redis.call('ZRANGE', READY, checked, checked + CHECKED_AT_ONCE - 1)
  for _, it in ipairs(ready) do
    local item = string.sub(it, 9)
    local e = load(item)
    if e[STATE] ~= QUEUED or member(e[SEQUENCE], item) ~= it then
      write('ZREM', READY, it)
    end
  end
  -- Those in process are the first ones.
  local running = redis.call('ZRANGE', GROUPS, checked,
                             checked + CHECKED_AT_ONCE - 1)
  for i, it in ipairs(running) do
    local size = #it >= 5 and struct.unpack('>I4', it, 2) or 0
    if string.byte(it) ~= string.byte('g') then
      running[CHECKED_AT_ONCE] = nil
      break
    end
    local group, item = string.sub(it, 6, 5 + size), string.sub(it, 7 + size)
    local e = load(item)
    if not e.h or e.g ~= group then
      write('ZREM', GROUPS, it, not e.h and 'r' .. item or it)
      release(group)
    end
  end
  return #ready < CHECKED_AT_ONCE and running[CHECKED_AT_ONCE] == nil
end

-- Removes some of the members of the sets of failures whose entries an operator
-- has deleted. The others are looked at later.
local function check_failures()
  local last = true
  for _, set in ipairs({ FAILING, PARKED }) do
    local members = redis.call('ZRANGE', set, checked,
                               checked + CHECKED_AT_ONCE - 1)
    if #members == CHECKED_AT_ONCE then last = false end
    for _, it in ipairs(members) do
      local item = set == PARKED and it or string.sub(it, 9)
      local e = load(item)
      if e[FAILURES] == 0 or is_parked(e) ~= (set == PARKED) or
          (set == FAILING and member(e[FIRST], item) ~= it) then
        write('ZREM', set, it)
      end
    end
  end
  if grouped and not check_groups() then last = false end
  local from = checked
  checked = last and 0 or checked + CHECKED_AT_ONCE
  told = told or checked ~= from
end

-- The operations. They return 0 or 1 for false or true, and what adds 2 if the item
-- was not there. What follows the item's entry is x, y, z and text:
local transitions = {
  -- Add: priority.
  A = add,
  -- Add after: delay, priority.
  W = add_after,
  -- Reschedule: delay.
  M = function(item, e, delay)
    if grouped and e[DUE_SEQUENCE] ~= 0 then kind = e.d end
    if delay > 0 then
      wait(item, e, now + delay, 0, true)
      return 1
    end
    local priority = 0
    if e[DUE_SEQUENCE] ~= 0 then
      priority = math.max(priority, e[DUE_PRIORITY])
      stop_waiting(item, e)
    end
    return add(item, e, priority)
  end,
  -- Cancel the wait.
  C = function(item, e)
    if e[DUE_SEQUENCE] == 0 then return 0 end
    stop_waiting(item, e)
    return 1
  end,
  -- Add rate limited: least delay, priority, other delay or -1. The shorter of
  -- the delay of the item's failures and the other delay counts.
  L = function(item, e, least, priority, other)
    kind = 1
    if not unpark_by_add(item, e) then return 1 end
    local delay = retry_delay(e, least, other)
    count_failure(item, e, '')
    return state == 0 and add_after(item, e, delay, priority) or 0
  end,
  -- Forget the failures.
  F = function(item, e)
    if e[FAILURES] == 0 or is_parked(e) then return 0 end
    forget(item, e)
    return 1
  end,
  -- Done: token.
  D = function(item, e)
    if stop_processing(item, e) then enqueue_last(item, e) end
    return 1
  end,
  -- Give back: token, priority at which it was handed out. Ends the processing
  -- without a result: the item is queued again, before all others of its
  -- priority.
  G = function(item, e, _, priority)
    local k = e.h or 0
    local added_again = stop_processing(item, e)
    if grouped then e.k = added_again and math.min(e.k, k) or k end
    e[PRIORITY] = added_again and math.max(e[PRIORITY], priority) or priority
    front = front - 1
    e[SEQUENCE] = front
    enqueue(item, e)
    return 1
  end,
  -- Nobody processes the item: token, least delay, 1 if it has not failed; why.
  E = function(item, e, _, least, unfailed, error)
    abandon(item, e, least, error, unfailed ~= 1)
    return 1
  end,
  -- The processing has failed: token, least delay, other delay or -1, as in L;
  -- priority, limits of failures, of the time since the first one, and of the
  -- number of parked items, whether it stays parked at an add, and the error.
  -- Returns twice the number of failures, and one more if that parks the item.
  K = function(item, e, _, least, other, text)
    local priority, most, longest, room, stays, error = parse_limits(text)
    local delay = retry_delay(e, least, other)
    local added_again = stop_processing(item, e)
    kind = 1
    count_failure(item, e, error)
    local failures = e[FAILURES]
    local parks = is_at_limit(e, most, longest, room)
    if parks then
      park(item, e, stays, added_again)
    else
      add_again(item, e, delay, priority, added_again)
    end
    return 2 * failures + (parks and 1 or 0)
  end,
  -- Done and Add after: token, delay, priority. A server whose memory is full does
  -- that, too.
  Q = function(item, e, _, delay, priority)
    return add_again(item, e, delay, priority, stop_processing(item, e))
  end,
  -- Put a parked item back.
  U = function(item, e)
    if not is_parked(e) then return 0 end
    forget(item, e)
    return add(item, e, e[PRIORITY])
  end,
  -- Renew the lease: token.
  X = function(item)
    write('ZADD', LEASES, now + lease, item)
    return 1
  end,
  -- Repair a part of the items, and what is known of the client. Returns how
  -- many items were not in line.
  R = function()
    local n = 0
    for i = 1, #turns, 2 do  -- the bound may be a new one
      if turns[i + 1] == 'held' then release(string.sub(turns[i], 2)) end
    end
    for i = 1, #entries, 2 do
      if repair(entries[i], load(entries[i])) then n = n + 1 end
    end
    check_failures()
    if mine and mine[WANTED] > 0 and not redis.call('ZSCORE', WAITERS, client) then
      mine[WANTED] = 0
    end
    return n
  end,
  -- For how long the item has been queued that was added first: of the first ones
  -- of the ten lowest priorities, which wait longest.
  T = function()
    local since, above = now, '+inf'
    for _ = 1, 10 do
      local score = redis.call('ZRANGE', READY, above, '-inf', 'BYSCORE', 'REV',
                               'LIMIT', 0, 1, 'WITHSCORES')[2]
      if not score then break end
      local first = redis.call('ZRANGE', READY, score, score, 'BYSCORE', 'LIMIT',
                               0, 1)[1]
      local e = load(string.sub(first, 9))
      if e[STATE] == QUEUED then since = math.min(since, e[SINCE]) end
      above = '(' .. score
    end
    return now - since
  end,
  -- The queue has groups from now on: the bound of a group, that of retries.
  -- Returns false if items are queued that have none.
  B = function(_, _, bound, retries)
    if not grouped and redis.call('ZCARD', READY) > 0 and
        redis.call('ZCARD', GROUPS) == 0 then
      return 0
    end
    bound, retries = math.max(bound, 1), math.max(retries, 1)
    if not grouped or bound ~= most or retries ~= most_retries then
      grouped, most, most_retries = true, bound, retries
      write('HSET', META, 'groups', '1', 'most', most, 'retries', most_retries)
    end
    return 1
  end,
  -- The limits at which an item is parked whose lease expires: as those of K, with
  -- any priority and no error.
  P = function(_, _, _, _, _, text)
    if text ~= limits then
      limits = text
      write('HSET', META, 'limits', limits)
    end
    return 1
  end,
  -- The client has ended: what it has sent and comes late changes nothing.
  Z = function(id)
    local ended = unpack_client(redis.call('HGET', CLIENTS, id)) or
                  { 0, 0, 0, 0, '' }
    ended[WANTED], ended[VALID], ended[LAST_REQUEST] = 0, now, EXACT
    write('HSET', CLIENTS, id, cmsgpack.pack(ended))
    write('ZREM', WAITERS, id)
    return 1
  end,
  -- The number of failures.
  N = function(item, e) return is_parked(e) and 0 or e[FAILURES] end,
  -- Shut down; x: 1 to drain, 2 at once. Returns the number of those at once.
  S = function(item, e, how)
    state = 1
    changed = true
    if how == 2 then shutdowns = shutdowns + 1 end
    redis.call('SPUBLISH', CHANNEL, string.format('shutdown %.0f', shutdowns))
    return shutdowns
  end,
  -- Open again. Returns -2 if that must wait, because not all waits have ended.
  O = function()
    if state == 0 then return 1 end
    if redis.call('ZCARD', WAITING) > 0 then return -2 end
    state = 0
    changed = true
    redis.call('SPUBLISH', CHANNEL, 'open')
    return 1
  end,
}
local unchanged = { X = true, N = true, R = true, S = true, O = true, B = true,
                    P = true, T = true, Z = true }
-- Of these, all but L do nothing, and return 0, in a queue that has been shut
-- down.
local adds = { A = true, W = true, M = true, L = true, U = true }
-- These do nothing, and return 0, unless x is the token of the item's lease.
local ends = { D = true, G = true, E = true, K = true, Q = true, X = true }

local sets_groups, gives_groups, operations = false, false, {}
for i = 16, #ARGV, 6 do
  local x, y, z = number(ARGV[i + 2], nil, -EXACT, math.huge),
                  number(ARGV[i + 3], nil, -EXACT, math.huge),
                  number(ARGV[i + 4], nil, -EXACT, math.huge)
  local text = ARGV[i + 5]
  if not (transitions[ARGV[i]] and x and y and z and
          (ARGV[i] ~= 'K' and ARGV[i] ~= 'P' or parse_limits(text))) then
    return redis.error_reply('ERR wrong arguments')
  end
  sets_groups = sets_groups or ARGV[i] == 'B'
  gives_groups = gives_groups or
                 (adds[ARGV[i]] and string.find(text, '^[01] %d+ ') ~= nil)
  if ARGV[i] == 'R' then
    local from = repaired
    local looked_from = looked
    repaired, entries = scan(ITEMS, from, REPAIRED_AT_ONCE)
    if grouped then looked, turns = scan(TURNS, looked, REPAIRED_AT_ONCE) end
    told = told or repaired ~= from or looked ~= looked_from
  end
  operations[#operations + 1] = { ARGV[i], ARGV[i + 1], x, y, z, text }
end

-- Items that are due, and leases that have expired.
local left = MOST - #operations
local function share() return math.max(LEAST, left) end
local function until_now(set)
  return redis.call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, share())
end
local due_items = state == 0 and not looks_only and until_now(WAITING) or {}
left = left - #due_items
local dead = now >= grace and not looks_only and until_now(LEASES) or {}
left = left - #dead

-- Each type of key, and each command: those that read, those that cannot be
-- tried, and then those that write, here nothing. The first one of these fails
-- if the memory is full.
redis.call('HGET', ITEMS, '')
redis.call('ZCARD', READY)
redis.call('ZRANGE', READY, 0, 0)
redis.call('ZSCORE', WAITING, '')
redis.call('ZSCORE', LEASES, '')
redis.call('ZCARD', FAILING)
redis.call('ZCARD', PARKED)
if grouped or sets_groups or gives_groups then
  redis.call('ZLEXCOUNT', GROUPS, '-', '(')
  redis.call('HGET', TURNS, '')
end
for _, words in ipairs({ { 'HSET', META, 'version', ARGV[1] },
                         { 'SPUBLISH', CHANNEL, '' },
                         { 'SPUBLISH', META .. ':' .. client, '' } }) do
  if not redis.acl_check_cmd(unpack(words)) then
    return redis.error_reply('NOPERM no right to ' .. words[1])
  end
end
local tried = redis.pcall('ZADD', WAITERS, 'XX', 0, '')
local full = type(tried) == 'table' and tried.err or false
if full and not string.find(full, 'OOM', 1, true) then return tried end
redis.call('ZREM', WAITERS, '')
redis.call('HDEL', META, '')

-- Somebody may have deleted all keys of a queue with groups.
if gives_groups and not grouped and redis.call('ZCARD', READY) == 0 then
  grouped = true
  write('HSET', META, 'groups', '1')
end

for _, id in ipairs(silent) do
  redis.call('HDEL', CLIENTS, id)
  redis.call('ZREM', WAITERS, id)
end

for _, it in ipairs(due_items) do
  local item = string.sub(it, 9)
  local e = load(item)
  local priority = e[DUE_PRIORITY]
  write('ZREM', WAITING, it)
  if member(e[DUE_SEQUENCE], item) == it then  -- else the entry is the truth
    e[DUE_SEQUENCE], e[DUE_PRIORITY] = 0, 0
    kind = e.d
    if add(item, e, priority) == 2 then came_due = came_due + 1 end
    save(item, e)
  end
end
for _, item in ipairs(dead) do
  local e = load(item)
  if e[STATE] < PROCESSING then
    write('ZREM', LEASES, item)
  elseif e[TOKEN] < 0 then
    kind = e.k or 1
    stop_processing(item, e)
    add(item, e, e[PRIORITY])
    save(item, e)
  else
    local expiry = number(redis.call('ZSCORE', LEASES, item), now)
    if now - expiry > lease / 2 and grace <= expiry then
      -- Nobody has asked for long, perhaps because nobody could. A holder that
      -- lives renews or ends its lease within a grace. Each gets one only.
      grace = now + lease
      changed = true
      break
    end
    abandon(item, e, 0, 'UNAVAILABLE: the lease expired', true)
    save(item, e)
    expired = expired + 1
  end
end

local results = {}
for i, operation in ipairs(operations) do
  local code, item, x, y, z, text = unpack(operation)
  if full and adds[code] then
    results[i] = -1
  else
    local e = load(item)
    local before = changed
    changed = false
    kind = 0
    if grouped and adds[code] and code ~= 'U' then classify(e, text) end
    local refused = adds[code] and code ~= 'L' and state ~= 0 or
                    ends[code] and (x <= 0 or e[TOKEN] ~= x)
    results[i] = refused and 0 or transitions[code](item, e, x, y, z, text)
    -- An add of an item that is there already is written, too, so that its
    -- reply is not sent before all that it relies on is on the disk.
    if not unchanged[code] and (changed or results[i] ~= 0) then
      save(item, e)
    end
    changed = changed or before
  end
end

local next_kinds, priorities = {}, {}  -- of a rank, as far as they are known
local num_retries                      -- in process, if it is known
local looks = LOOKED_AT

-- Returns the turn that hands out the next item, or nothing.
local function next_turn()
  local addition, retry = first_turn(0), first_turn(1)
  if retry and most_retries < math.huge then
    num_retries = num_retries or redis.call('ZLEXCOUNT', GROUPS, '[r', '(s')
    if num_retries >= most_retries then retry = false end
  end
  if not addition or not retry then return addition or retry end
  local rank = addition[1]
  if rank ~= retry[1] then
    return is_higher(rank, retry[1]) and addition or retry
  end
  if not next_kinds[rank] then
    next_kinds[rank] = redis.call('HGET', TURNS, 'p' .. rank) or '0'
  end
  return next_kinds[rank] == '1' and retry or addition
end

-- The same as claim(), in a queue with groups.
local function claim_in_turn(n, name, duration, receive)
  while n > 0 and looks > 0 do
    local at = next_turn()
    if not at then return end
    local rank, number_of_turn, group, it, k = unpack(at)
    local prefix = 'i' .. lane_of(k, group, '')
    local queued = first_members(prefix, 2)
    local found, left_in_turn, known = turn_of(k, group, rank)
    local running = most < math.huge and processing_of(group) or 0
    local item = queued[1] and string.sub(queued[1], #prefix + 17)
    local e = item and load(item)
    local place = item and member(e[SEQUENCE], item)
    if not item or string.sub(queued[1], #prefix + 1, #prefix + 8) ~= rank or
        found ~= number_of_turn or known == 'held' then
      -- Somebody has deleted a key. The members below it are the truth.
      looks = looks - 1
      first_turns[k] = nil
      write('ZREM', GROUPS, it)
      offer(k, group)
    elseif running >= most then
      looks = looks - 1
      hold(group)  -- The bound is a new one.
    elseif e[STATE] ~= QUEUED or
        queued[1] ~= 'i' .. lane_of(e.k, e.g, rank_of(e[PRIORITY])) .. place then
      looks = looks - 1
      first_turns[k] = nil
      write('ZREM', GROUPS, queued[1], it)
      write('ZREM', READY, string.sub(queued[1], #prefix + 9))
      leave_lane(k, group, rank)
      offer(k, group)
    else
      token = token + 1
      if not receive(item, token, e[PRIORITY], now - e[SINCE], e[FAILURES]) then
        return
      end
      n = n - 1
      write('ZREM', READY, place)
      write('ZREM', GROUPS, queued[1], it)
      e[STATE], e[TOKEN], e[BEGAN], e[HOLDER] = PROCESSING, token, now, name
      e.h = k
      local process, retry = running_members(item, e)
      local more = queued[2] and string.sub(queued[2], #prefix + 1, #prefix + 8)
      local next_it = process
      first_turns[k] = nil
      if k == 1 and num_retries then num_retries = num_retries + 1 end
      if more == rank and running + 1 < most then
        left_in_turn = (left_in_turn > 0 and left_in_turn or e.w) - 1
        if left_in_turn == 0 then
          turn = turn + 1
          number_of_turn = turn
        end
        set_turn(k, group, rank, number_of_turn, left_in_turn)
        next_it = turn_member(k, rank, number_of_turn, group)
      end
      write('ZADD', GROUPS, 0, process, 0, retry, 0, next_it)
      if more ~= rank then forget_lane(k, group, rank, known) end
      if running + 1 >= most then
        hold(group, k)
      elseif more and more ~= rank then
        offer(k, group)
      end
      if not priorities[rank] then
        priorities[rank] = e[PRIORITY]
        next_kinds[rank] = next_kinds[rank] or
                           redis.call('HGET', TURNS, 'p' .. rank) or '0'
      end
      local next_kind = k == 0 and '1' or '0'
      if next_kinds[rank] ~= next_kind then
        next_kinds[rank] = next_kind
        write('HSET', TURNS, 'p' .. rank, next_kind)
      end
      write('ZADD', LEASES, now + duration, item)
      save(item, e)
      left = left - 1
    end
  end
end

-- Whether an item can be handed out.
local function has_next()
  if grouped then return next_turn() and true or false end
  return redis.call('ZCARD', READY) > 0
end

-- Hands out up to `n` items to the client of that name, whose leases have that
-- duration: passes each to `receive`, which returns false to leave it.
local function claim(n, name, duration, receive)
  if n <= 0 then return end
  if grouped then return claim_in_turn(n, name, duration, receive) end
  local popped = redis.call('ZRANGE', READY, 0, n - 1)
  for _, it in ipairs(popped) do
    local item = string.sub(it, 9)
    local e = load(item)
    if e[STATE] ~= QUEUED or member(e[SEQUENCE], item) ~= it then
      write('ZREM', READY, it)
    else
      token = token + 1
      if not receive(item, token, e[PRIORITY], now - e[SINCE], e[FAILURES]) then
        return
      end
      write('ZREM', READY, it)
      e[STATE], e[TOKEN], e[BEGAN], e[HOLDER] = PROCESSING, token, now, name
      write('ZADD', LEASES, now + duration, item)
      save(item, e)
      left = left - 1
    end
  end
end

-- First to this client. Pushes that it has not received yet serve workers, too.
-- A client that is not known (any more) has received all that it was sent.
local had = mine or { 0, received, 0, 0, '' }
mine = { wants, had[PUSHED], 0, request, '', ARGV[12], ARGV[13], now, lease }
if wants > 0 then wants = math.max(0, wants - (mine[PUSHED] - received)) end
local handed_out, bytes = {}, 0
claim(math.min(take + wants, share()), ARGV[12], lease, function(item, ...)
  if bytes > MOST_BYTES then return false end
  bytes = bytes + #item
  local n = #handed_out
  handed_out[n + 1] = item
  handed_out[n + 2], handed_out[n + 3], handed_out[n + 4], handed_out[n + 5] = ...
  return true
end)
wants = math.max(0, wants - #handed_out / 5)
mine[WANTED] = wants
if wants > 0 and had[WANTED] == 0 then
  turn = turn + 1
  write('ZADD', WAITERS, turn, client)
elseif wants == 0 and had[WANTED] > 0 then
  write('ZREM', WAITERS, client)
end

-- Then to the clients that wait, in turn. A push to a client that no longer
-- listens reaches nobody.
local others, last_turns, waiters = {}, {}, nil
local pushes = math.min(share(), math.max(LEAST, redis.call('ZCARD', READY)))
for i = 1, pushes do
  if looks <= 0 or not has_next() then break end
  waiters = waiters or redis.call('ZRANGE', WAITERS, 0, pushes - 1)
  local other = waiters[i]
  if not other or other == client then break end
  local entry = others[other] or
                unpack_client(redis.call('HGET', CLIENTS, other))
  others[other] = entry
  local listens, heard = entry and now < entry[VALID], false
  if listens then
    local name = type(entry[NAME]) == 'string' and entry[NAME] or ''
    local duration = number(entry[LEASE], lease, 0, math.huge)
    claim(1, name, duration, function(item, token, priority, waited, failures)
      -- A listener of a replica gets a message, too, but does not count. So this
      -- asks first, by one that says nothing.
      local channel = META .. ':' .. other
      local n = redis.pcall('SPUBLISH', channel, '')
      heard = type(n) == 'number' and n > 0
      if heard then
        redis.call('SPUBLISH', channel, string.format(
            '%.0f %.0f %.0f %.0f %.0f ', token, priority, waited, failures, now) ..
            item)
      end
      listens = heard
      return heard
    end)
  end
  if heard then
    entry[WANTED], entry[PUSHED] = entry[WANTED] - 1, entry[PUSHED] + 1
  elseif entry and not listens then
    entry[WANTED] = 0
  end
  if entry and entry[WANTED] > 0 then
    turn = turn + 1
    last_turns[other] = turn
    waiters[#waiters + 1] = other
  else
    last_turns[other] = nil
    write('ZREM', WAITERS, other)
  end
end
for other, at in pairs(last_turns) do write('ZADD', WAITERS, at, other) end
for _, priority in pairs(priorities) do leave_priority(priority) end
for other, entry in pairs(others) do
  write('HSET', CLIENTS, other, cmsgpack.pack(entry))
end

-- What a shutdown lets wait no longer leaves no trace, some of it at a time.
-- Nothing changes by that for those who look.
if state ~= 0 then
  local before = changed
  for _, it in ipairs(redis.call('ZRANGE', WAITING, 0, share() - 1)) do
    local item = string.sub(it, 9)
    write('ZREM', WAITING, it)
    save(item, load(item))
  end
  changed = before
end

-- When the first item comes due, and when the first lease expires. At once if
-- this request has left something.
local function first_of(set, from)
  local first = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
  return first[1] and math.max(tonumber(first[2]), from) or math.huge
end
local ready, waiting = redis.call('ZCARD', READY), redis.call('ZCARD', WAITING)
local processing = redis.call('ZCARD', LEASES)
local due = state == 0 and first_of(WAITING, now) or math.huge
local next_event = math.min(due, first_of(LEASES, math.max(now, grace)))
if (ready > 0 and redis.call('ZCARD', WAITERS) > 0 and
     (not grouped or has_next())) or
    (state ~= 0 and waiting > 0) then
  next_event = now
end
next_event = next_event < math.huge and not looks_only and next_event - now or -1

if changed and state ~= 0 and ready == 0 and processing == 0 then
  redis.call('SPUBLISH', CHANNEL, 'drained')
elseif due < due_before then  -- tell those who would look too late
  redis.call('SPUBLISH', CHANNEL, string.format('due %.0f', due - now))
end

local reply = { { now, next_event, ready, state == 0 and waiting or 0,
                  processing, redis.call('ZCARD', FAILING),
                  redis.call('ZCARD', PARKED), state, expired, dirty,
                  came_due, wants + mine[PUSHED], mine[PUSHED], full and 1 or 0,
                  born }, results,
                handed_out }
if changed or told or wants ~= had[WANTED] or ARGV[14] == '1' or
    now > had[VALID] - presence / 2 then
  local changes = {}
  for i, value in ipairs({ ARGV[1], now, offset, sequence, token, turn, state, run,
                           grace, checked, due, dirty, front, shutdowns, swept,
                           cursor, repaired, born, looked }) do
    if value ~= m[i] and value ~= tonumber(m[i]) then
      changes[#changes + 1], changes[#changes + 2] = FIELDS[i], value
    end
  end
  if changes[1] then redis.call('HSET', META, unpack(changes)) end
  mine[VALID] = math.min(now + presence, EXACT)
  mine[LAST_REPLY] = cmsgpack.pack(reply)
  redis.call('HSET', CLIENTS, client, cmsgpack.pack(mine))
end
return reply
end
return apply()
)lua";

const char kSnapshotScript[] = R"lua(
-- Keys: those of the other script. Arguments:
--    1  version of the layout
--    2  time, or empty: the server's
--    3  largest number of items that are queued, and that wait
--    4  one, for a snapshot of argument 6 only; otherwise all
--    5  1 to list the items with failures, the clients and the bounds, too; 2 to
--       list the items with failures only
--   From 6 on, if all: where to go on, as the last reply said; nothing at first.
--
-- Reply: { { time, state, numbers of all items that are queued, being processed,
-- waiting, failing and parked }, items that are queued, being processed, waiting,
-- failing, parked, where to go on or nothing, clients, bounds }. Of each item: item,
-- failures, last error, priority or token, time or -1 for never, and for those
-- being processed 1 if it has been added again, who holds it, and until when or
-- -1. Of a failing or parked one, after the error: times of the first and last
-- failure, and the time at which it is due or -1. Of each client: name, version,
-- number of workers that wait, time of its last request. Of each bound: 1 for that
-- of the retries, group, largest number, items in process, queued items, some of
-- those in process. The groups are those of the items being processed that are
-- listed in this part, or those that hold the one item back.
--
-- The server serves nobody else meanwhile. So one reply has a part of the items.
-- An item that does not change between two parts is in one of them. Leases are
-- in the order of their ends, so all are listed, unless the largest number is 0.
local META, ITEMS, READY, WAITING, LEASES, CLIENTS, _, FAILING, PARKED, GROUPS =
    unpack(KEYS)
local version = redis.call('HGET', META, 'version')
if version and version ~= ARGV[1] then
  return redis.error_reply('WQLAYOUT ' .. version)
end
-- A replica, whose data is old, refuses what would write. If anything else keeps
-- the server from writing, a snapshot shows what there is.
local tried = redis.pcall('HDEL', META, '')
if type(tried) == 'table' and string.find(tried.err or '', 'READONLY', 1, true) then
  return tried
end
local STATE, FAILURES, PRIORITY, SEQUENCE, SINCE, TOKEN, DUE_SEQUENCE,
      DUE_PRIORITY, BEGAN = 1, 2, 3, 4, 5, 6, 7, 8, 9
local HOLDER, FIRST, LAST, PARKING, ERROR = 10, 11, 12, 13, 14
local WANTED, NAME, VERSION, SEEN = 1, 6, 7, 8
local IDLE, QUEUED, PROCESSING, DIRTY = 0, 1, 2, 3
-- A reply has no further item after so many items or bytes.
local MOST, MOST_BYTES, AT_ONCE = 250, 2 ^ 18, 50
local MOST_OF_BOUND = 10
local max = tonumber(ARGV[3])
local m = redis.call('HMGET', META, 'time', 'offset', 'state', 'groups', 'most',
                     'retries')
local shut_down = tonumber(m[3]) == 1

local function load(item)
  local bytes = redis.call('HGET', ITEMS, item)
  local ok, e = pcall(cmsgpack.unpack, bytes or '')
  if not ok or type(e) ~= 'table' then return nil end
  for i = 1, BEGAN do
    if type(e[i]) ~= 'number' or e[i] % 1 ~= 0 then return nil end
  end
  if type(e[ERROR]) ~= 'string' then e[ERROR] = '' end
  if type(e[HOLDER]) ~= 'string' then e[HOLDER] = '' end
  return e
end

-- What is in process, of a group or of the retries.
local bounds, in_bounds = {}, {}
local function add_bound(is_retries, group, most, running, queued, must_hold_back)
  most = tonumber(most) or math.huge
  local prefix = running[1]
  if most == math.huge or in_bounds[prefix] then return end
  in_bounds[prefix] = true
  local n = redis.call('ZLEXCOUNT', GROUPS, '[' .. prefix, '(' .. running[2])
  if n == 0 or (must_hold_back and n < most) then return end
  local left = 0
  for _, it in ipairs(queued) do
    left = left + redis.call('ZLEXCOUNT', GROUPS, '[' .. it, '(' .. it .. '\255')
  end
  local items = redis.call('ZRANGE', GROUPS, '[' .. prefix, '(' .. running[2],
                           'BYLEX', 'LIMIT', 0, MOST_OF_BOUND)
  for i, it in ipairs(items) do items[i] = string.sub(it, #prefix + 1) end
  bounds[#bounds + 1] = { is_retries, group, most, n, left, items }
end
local function add_bounds(e, must_hold_back)
  if m[4] ~= '1' or ARGV[5] ~= '1' or type(e.g) ~= 'string' then return end
  local key = struct.pack('>I4', #e.g) .. e.g
  add_bound(0, e.g, m[5], { 'g' .. key .. '\0', 'g' .. key .. '\1' },
            { 'i0' .. key, 'i1' .. key }, must_hold_back)
  if e.h == 1 or (must_hold_back and e.k == 1) then
    add_bound(1, '', m[6], { 'r', 's' }, { 'i1' }, must_hold_back)
  end
end

local queued, processing, waiting, failing, parked = {}, {}, {}, {}, {}
local function list_queued(item, e)
  queued[#queued + 1] = { item, e[FAILURES], e[ERROR], e[PRIORITY], e[SINCE] }
end
local function list_processing(item, e, expiry)
  if ARGV[4] ~= 'one' then add_bounds(e, false) end
  processing[#processing + 1] = { item, e[FAILURES], e[ERROR], e[TOKEN],
                                  e[BEGAN], e[STATE] == DIRTY and 1 or 0,
                                  e[HOLDER],
                                  expiry and expiry < math.huge and expiry or -1 }
end
local function list_waiting(item, e, due)
  waiting[#waiting + 1] = { item, e[FAILURES], e[ERROR], e[DUE_PRIORITY],
                            due < math.huge and due or -1 }
end
local function due_of(item, e)
  if e[DUE_SEQUENCE] == 0 or shut_down then return nil end
  return tonumber(redis.call('ZSCORE', WAITING, struct.pack(
             '>I8', e[DUE_SEQUENCE]) .. item) or nil) or math.huge
end
local function list_failures(item, e)
  local first, last, parking =
      tonumber(e[FIRST]), tonumber(e[LAST]), tonumber(e[PARKING])
  if e[FAILURES] == 0 or not (first and last and parking) then return end
  local list, due = parking == 0 and failing or parked, due_of(item, e)
  list[#list + 1] = { item, e[FAILURES], e[ERROR], first, last,
                      due and due < math.huge and due or -1 }
end

-- The server compares bytes. The language compares as the locale says.
local function is_before(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- Returns the rank of the first member that is behind `last`, of that score.
local function rank_after(set, score, last)
  score = tonumber(score)
  local low, high = 0, redis.call('ZCARD', set)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local found = redis.call('ZRANGE', set, middle, middle, 'WITHSCORES')
    local at = tonumber(found[2])
    if at > score or (at == score and is_before(last, found[1])) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

-- Key, what lists an item, largest number.
local lists = { { READY, list_queued, max },
                { LEASES, list_processing, math.huge },
                { WAITING, list_waiting, shut_down and 0 or max } }
local with_details = ARGV[5] == '1'
if ARGV[5] == '2' then lists = {} end
if ARGV[5] ~= '0' then
  lists[#lists + 1] = { FAILING, list_failures, max }
  lists[#lists + 1] = { PARKED, list_failures, max }
end
local go_on = {}
if ARGV[4] == 'one' then
  local item = ARGV[6]
  local e = load(item)
  if e and e[STATE] == QUEUED then
    list_queued(item, e)
    add_bounds(e, true)
  elseif e and e[STATE] ~= IDLE then
    list_processing(item, e, tonumber(redis.call('ZSCORE', LEASES, item) or nil))
  end
  local due = e and due_of(item, e)
  if due then list_waiting(item, e, due) end
  if e and with_details then list_failures(item, e) end
else
  local from = { unpack(ARGV, 6) }  -- list, number of its items so far, the
                                    -- last one: score, member
  local list, listed = tonumber(from[1] or 1), tonumber(from[2] or 0)
  local rank = from[4] and rank_after(lists[list][1], from[3], from[4]) or 0
  local left, bytes = max > 0 and MOST or 0, 0
  while left > 0 and bytes < MOST_BYTES and list <= #lists do
    local set, add, most = unpack(lists[list])
    local n = math.min(left, AT_ONCE, most - listed)
    local found = n > 0 and redis.call('ZRANGE', set, rank, rank + n - 1,
                                       'WITHSCORES') or {}
    local i = 0
    while i < #found and bytes < MOST_BYTES do
      local item = string.sub(found[i + 1],
                              (set == LEASES or set == PARKED) and 1 or 9)
      local e = load(item)
      if e then add(item, e, tonumber(found[i + 2])) end
      bytes = bytes + #item + (e and #e[ERROR] or 0)
      i = i + 2
    end
    left, listed, rank = left - i / 2, listed + i / 2, rank + i / 2
    go_on = { tostring(list), tostring(listed), found[i], found[i - 1] }
    if (i == #found and i / 2 < n) or listed >= most then
      list, listed, rank = list + 1, 0, 0
      go_on = { tostring(list), '0' }
    end
  end
  if max == 0 or list > #lists then go_on = {} end
end

local clients = {}
if with_details and not ARGV[7] then
  -- All of them: a list that ends somewhere would look like the whole fleet.
  local cursor = '0'
  repeat
    local page = redis.call('HSCAN', CLIENTS, cursor, 'COUNT', 250)
    local found = page[2]
    for i = 2, #found, 2 do
      local ok, c = pcall(cmsgpack.unpack, found[i])
      if ok and type(c) == 'table' and type(c[NAME]) == 'string' and
          type(c[VERSION]) == 'string' and type(c[SEEN]) == 'number' then
        clients[#clients + 1] = { c[NAME], c[VERSION], c[WANTED], c[SEEN] }
      end
    end
    cursor = page[1]
  until cursor == '0'
end

local now = tonumber(ARGV[2])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end
now = math.max(now + (tonumber(m[2]) or 0), tonumber(m[1]) or 0)
return { { now, shut_down and 1 or 0, redis.call('ZCARD', READY),
           redis.call('ZCARD', LEASES),
           shut_down and 0 or redis.call('ZCARD', WAITING),
           redis.call('ZCARD', FAILING), redis.call('ZCARD', PARKED) },
         queued, processing, waiting, failing, parked, go_on, clients, bounds }
)lua";

}  // namespace workqueue::internal
