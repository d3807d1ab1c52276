// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_SHARED_QUEUE_OPTIONS_H_
#define WORKQUEUE_SHARED_SHARED_QUEUE_OPTIONS_H_

#include <cstdint>
#include <limits>
#include <string>

#include "absl/time/time.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/shared/codec.h"
#include "workqueue/shared/retry_schedule.h"
#include "workqueue/timer/queue_clock.h"

namespace workqueue {
namespace internal {

class EngineSource;

}  // namespace internal

// SharedQueueOptionsBase
//
// The options of a `SharedQueue` that do not depend on the type of its items.
// Every field but the name has a usable default. All processes that use a queue
// should have the same ones.
struct SharedQueueOptionsBase {
  // The name of the queue in the server, which all its processes use. Must not
  // be empty, nor contain '{' or '}'.
  std::string name;

  // Where the queue is: a file of SQLite, "sqlite:PATH" (see
  // `RegisterSqlite()`), a database, "postgres://..." (see
  // `RegisterPostgres()`), or a server or a cluster of Valkey or Redis, as
  // `RedisOptions::address` says. If it is empty, `redis.address` has the same
  // meaning, and is 127.0.0.1:6379 by default.
  std::string address;

  // The other options of a server of Valkey or Redis. Nothing else has them.
  RedisOptions redis;

  // The name of this process for those who look: snapshots and the page say
  // which process holds an item. Empty means "HOST/PID".
  std::string client_name;

  // The number of partitions, 1 to 256. Each item belongs to one of them, by a
  // hash of its bytes. A cluster's nodes serve the partitions, which are spread
  // evenly over them. Items are handed out in the order of their adds, and by
  // priority, within a partition. A process' workers take from the partitions
  // in turn.
  //
  // Each partition costs this process two connections and two threads, and has
  // metrics of its own, named "NAME/0", "NAME/1" and so on. All processes must
  // have the same number: others are refused. docs/guide.md says how to change
  // it.
  int partitions = 1;

  // How long a worker may have an item without a renewal. This process renews
  // its leases each third of that time. The items that a dead process held
  // fail when so much time has passed, and are handed out again after their
  // delay of the retry schedule; a process that only waits finds them within
  // ten seconds. If nobody asks until half a lease later, they fail a lease
  // after somebody does: the process may live, and have been cut off. A short
  // lease finds dead processes sooner, and takes a process for dead whose
  // threads do not run for that long: while its machine swaps, or is suspended.
  //
  // A process has its own lease on the items that it gets. If the retry
  // schedules differ, an item whose lease expires has the delay of the process
  // that makes the next request.
  //
  // At least 10 ms. With an infinite lease, what a process holds that has died
  // is never handed out again, nor what was on its way to a process when a
  // connection broke.
  absl::Duration lease = absl::Seconds(30);

  // How long a call waits for the server: connections that break are made
  // again, and requests repeated, until that time has passed. It is one time
  // for all that the call does, and for all partitions; but a call that is made
  // in pieces, because it is large, has it for each piece. A call that also
  // waits for an item, or for the end of a drain, may take its own timeout
  // besides. A call of a queue that has been closed waits for a second at most,
  // and for 100 ms if the server did not answer the call before. On the
  // machine's clock. Positive and finite.
  absl::Duration call_timeout = absl::Seconds(5);

  // The most items that this process takes before a worker is free, 0 to 100.
  // It takes as many ahead as its workers take in 5 ms, or during two requests
  // if these last longer: none if the workers are slow. A worker that calls
  // `AcquireNext()` then need not wait for the engine: the next request tells
  // it of the end, 5 ms later at most. The process gives back what is in hand
  // when no worker has taken an item for 5 ms.
  //
  // Until then no other process works on these items, and no item of a higher
  // priority overtakes them. One that is added again meanwhile is processed
  // twice. If the process dies, they fail, as those that its workers have.
  // Zero forbids all that. So do several `partitions`, `fair`, and a clock
  // other than the real one.
  int prefetch = 16;

  // The delays of `AddRateLimited()`, and of an item whose lease has expired.
  // Must not be empty, and none is negative. The longest of them is the maximum
  // of `AddRateLimitedAfter()`.
  RetrySchedule retry_schedule = DefaultRetrySchedule();

  // The retries of this process together are limited to so many a second, after
  // so many at once. Neither may be negative. By default there is no limit, as
  // in a `PriorityQueue`; client-go's default limiter has 10 and 100. A failure
  // is one retry, however often `Fail()` is tried. An add of one item that has
  // changed nothing gives its retry back, if that would have had to wait.
  double retries_per_second = std::numeric_limits<double>::infinity();
  int64_t retry_burst = 100;

  // If the server's settings do not keep the promises of `SharedQueue`, or
  // cannot be seen, `Create()` fails if this is true, and logs a warning
  // otherwise.
  bool require_durable_server = false;

  // For a tool that only looks at the queue: it leaves what is due, and leases
  // that have expired, to the processes that know their delays.
  bool looks_only = false;

  // The clock of this process' timeouts, and the thread that renews leases, or
  // a loop to share. A call to the server can hold a shared loop up. So it must
  // not be a loop that the program drives.
  QueueClock clock;

  // Makes the metrics of this process' part in the queue; null means the
  // default provider. The depth, and the numbers of items that wait and have
  // failed, are those of the whole queue: take the maximum over all processes,
  // and the sum of all other metrics.
  MetricsProvider* metrics_provider = nullptr;

  // Receives a message for each call that fails whose error nobody is told.
  LogSink* log_sink = nullptr;

  // For tests: the queue's times are those of `clock`, instead of the server's,
  // to the nanosecond. The clock must read less than 100 days after the Unix
  // epoch, as a `FakeClock` does. Not for a database, whose engine may have a
  // clock.
  bool clock_is_the_servers = false;

  // Has the queue: a `SqliteEngine`, a `PostgresEngine`, or for tests a
  // `MemoryEngine`, for which `clock_is_the_servers` means nothing. Then no
  // address may be given. Only `Create()` uses it. Null means that the server
  // or the file at the address has the queue.
  internal::EngineSource* engine = nullptr;
};

// SharedQueueOptions
//
// Options of a `SharedQueue`.
template <typename T>
struct SharedQueueOptions : SharedQueueOptionsBase {
  // How items are written as bytes. Types other than strings and integers need
  // one.
  Codec<T> codec = DefaultCodec<T>();

  // Groups of items that take turns, for all processes together, as in a
  // `PriorityQueue` with a `FairOrdering` of these options; see there, and the
  // table of groups in docs/shared-queue.md. At most one dimension, without
  // `count_processing`. With neither a dimension nor `max_retries_in_process`,
  // this process has no groups.
  //
  // The turns and bounds are those of a partition: with N of them, N times
  // `max_in_process` items of a group may be in process.
  //
  // A queue has groups from the time that the first process with groups opens
  // it, until its keys are deleted. There must be no queued items then. What a
  // process without groups adds to it is in the group "". If processes have
  // different bounds, those count that one has told last: each tells them when
  // it opens the queue, and each 10 seconds. A group that is held back by a
  // lower bound than that is so until the processing of one of its items ends,
  // or for 10 seconds, and longer in a server that has more than 100 groups.
  //
  // The functions are called by the threads that add items, several at a time,
  // and not with a lock. What they throw leaves the queue unchanged.
  FairOrderingOptions<T> fair;
};

}  // namespace workqueue

#endif  // WORKQUEUE_SHARED_SHARED_QUEUE_OPTIONS_H_
