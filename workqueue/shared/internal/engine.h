// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_INTERNAL_ENGINE_H_
#define WORKQUEUE_SHARED_INTERNAL_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "workqueue/redis/ticks.h"

namespace workqueue::internal {

// EngineOperation
//
// One transition of one item; see the table in docs/shared-queue.md. The
// comments tell what `x`, `y`, `z` and `text` are. In a queue with groups, the
// text of an operation that adds is "K W G": 1 for a retry and 0 otherwise, the
// weight of the item's group, and the group.
struct EngineOperation {
  enum Code : char {
    kAdd = 'A',             // priority
    kAddAfter = 'W',        // delay, priority
    kReschedule = 'M',      // delay
    kCancelDelayed = 'C',   //
    kAddRateLimited = 'L',  // least delay, priority, other delay or -1
    kForget = 'F',          //
    kNumRequeues = 'N',     //
    kDone = 'D',            // token
    kGiveBack = 'G',        // token, priority
    kFail = 'K',            // token, least delay, other delay or -1; priority,
                            // limits and error. Returns twice the failures,
                            // and one more if the item is parked
    kAbandon = 'E',         // token, least delay, 1 if that is no failure;
                            // error. As if the lease expired
    kRequeue = 'Q',         // token, delay, priority. Done and Add after
    kUnpark = 'U',          //
    kRenew = 'X',           // token
    kRepair = 'R',          // no item. Returns the number of items repaired
    kOldest = 'T',          // no item. Returns for how long the item has been
                            // queued that was added first, of the first ones
                            // of some priorities; 0 if there is none
    kShutDown = 'S',        // kDrain or kAtOnce; no item. Returns the number
                            // of shutdowns at once so far
    kReopen = 'O',          // no item. Or `kNotYet`
    kSetLimits = 'P',       // no item; the text of a kFail. The limits at which
                            // an item is parked whose lease expires
    kEndClient = 'Z',       // the client, in the place of an item: its requests
                       // that come late change nothing, and it gets nothing
    kSetGroups = 'B',  // bound of a group, bound of retries; no item. False
                       // if items are queued that have no groups
  };

  static constexpr int64_t kDrain = 1;
  static constexpr int64_t kAtOnce = 2;

  Code code;
  std::string item = {};
  int64_t x = 0;
  int64_t y = 0;
  int64_t z = 0;
  std::string text = {};
};

// The result of an operation that adds an item: `kNewItem` if the item was not
// there before, and otherwise `kTrue`.
constexpr int64_t kFalse = 0;
constexpr int64_t kTrue = 1;
constexpr int64_t kNewItem = 2;

// The engine's memory is full, and the operation would have added something.
constexpr int64_t kMemoryFull = -1;

// The operation must be tried again.
constexpr int64_t kNotYet = -2;

// The item, with its group, has more than `Engine::MaxItemBytes()`. Nothing is
// done.
constexpr int64_t kItemTooLong = -3;

// EngineRequest
//
// The operations that a process sends at one time. The engine applies a request
// as a whole, or not at all.
struct EngineRequest {
  // The process, and the number of its request. The engine applies the last
  // request of a client once, however often it arrives.
  std::string client;
  uint64_t number = 0;

  // The name of the process, for those who look.
  std::string client_name;

  // The time, if the engine is not to use its own clock.
  std::optional<int64_t> now;

  // How long a lease of this process lasts, also of an item that another
  // process' request pushes to it.
  int64_t lease = kForever;

  // How long the client counts as alive without another request.
  int64_t presence = kForever;

  // The delays after the failures of an item: the last one counts for all
  // further failures. If it is empty, none has a delay.
  std::vector<int64_t> retry_schedule;

  // Whether to leave what is due, and leases that have expired, to others.
  bool looks_only = false;

  std::vector<EngineOperation> operations;

  // The number of workers that wait for an item, and the number of items that
  // the client has received as pushes so far. The engine hands out items for
  // these workers now, or pushes them later.
  size_t waiting_workers = 0;
  uint64_t received = 0;

  // The number of items that the client takes besides, if there are any now.
  size_t take = 0;
};

// An item that the engine has handed out to this client.
struct HandedOut {
  std::string item;
  int64_t token = 0;
  int64_t priority = 0;
  int64_t ticks_queued = 0;
  int64_t failures = 0;  // before this processing
};

// The numbers of all items in a queue, of all clients together.
struct EngineCounts {
  size_t num_queued = 0, num_processing = 0, num_waiting = 0, num_failing = 0,
         num_parked = 0;
};

// EngineReply
struct EngineReply : EngineCounts {
  int64_t now = 0;
  int64_t next_event = -1;  // ticks until something is due; -1 for nothing
  bool shut_down = false;
  bool full = false;    // The memory is full: nothing is added.
  int64_t born = 0;     // after the queue's first request; 0 if not known
  int64_t expired = 0;  // leases that expired in this request
  int64_t dirty = 0;    // items added again while they are being processed
  // Items added in this request because they were due, or because the program
  // that has left them to the engine has committed.
  int64_t came_due = 0;
  // The number of pushes to the client so far, and of those still to come for
  // the workers that wait.
  uint64_t pushes = 0;
  uint64_t pushed = 0;           // the former only
  std::vector<int64_t> results;  // of the operations
  std::vector<HandedOut> items;
};

// EngineSnapshotRequest
//
// Which items a snapshot has.
struct EngineSnapshotRequest {
  // The time, if the engine is not to use its own clock.
  std::optional<int64_t> now;

  // Only this item, if it is given: at most one element in each list.
  std::optional<std::string> item;

  // Otherwise so many items of each kind: those that are handed out next, and
  // that are due first. And all that are being processed, unless this is zero.
  size_t max = 0;

  // Whether to list the items with failures, too: those that have failed most,
  // and those that were parked last. And the clients and the bounds.
  bool details = false;

  // Whether to list these items only. Not for one item.
  bool failures_only = false;

  // The `go_on` of the last part.
  std::vector<std::string> from;
};

// EngineSnapshot
//
// A snapshot, or a part of one. Queued items are in the order of their handing
// out, and waiting items in the order of their times.
//
// An item that does not change between two parts is in one of them.
struct EngineSnapshot : EngineCounts {
  struct Item {
    std::string item;
    int64_t failures = 0;
    std::string last_error = {};
    int64_t number = 0;  // the priority; of an item being processed, the token
    int64_t time = 0;    // when it is due; `kForever` if it is not
    bool added_again = false;
    // Of an item being processed: the name of the client, and when the lease
    // expires.
    std::string holder = {};
    int64_t expiry = 0;
    // Of items that fail or are parked.
    int64_t first_failed = 0, last_failed = 0;
  };

  struct Client {
    std::string name;
    std::string version;    // of its library
    size_t waiting = 0;     // workers that wait for an item
    size_t processing = 0;  // items that it holds
    int64_t seen = -1;      // the time of its last request; -1 if not known
  };

  // The items in process of a group, or the retries in process, if these have a
  // bound.
  struct Bound {
    bool retries = false;
    std::string group;
    size_t max = 0;
    size_t processing = 0;
    size_t queued = 0;
    std::vector<std::string> items;  // some of those in process
  };

  int64_t now = 0;
  bool shut_down = false;
  std::vector<Item> queued, processing, waiting, failing, parked;
  std::vector<Client> clients;   // each name once
  std::string settings_problem;  // see `EngineSettings`
  // When this process has seen that the queue was emptied, or null.
  std::optional<absl::Time> data_lost_at;
  // Each group once. In the snapshot of one item, those that hold it back.
  std::vector<Bound> bounds;
  // The items that workers of this process have, and those of them whose leases
  // are lost, in the order in which the workers took them.
  struct Lost {
    std::string item;
    absl::Time since;
    bool held_back;  // The item has been handed out to this process again.
  };
  size_t num_processing_here = 0;
  std::vector<Lost> lost_here;

  // Where the next part begins; empty if there is none.
  std::vector<std::string> go_on;
};

// EngineSettings
//
// The settings of an engine that do not keep the promises of a shared queue, or
// cannot be seen. Each is a line for people: what the setting is and what it
// breaks, or why it cannot be seen.
using EngineSettings = std::vector<std::string>;

// EngineListener
//
// Receives what an engine tells a client without having been asked. All calls
// come from one thread. Only `OnListening()` may throw.
class EngineListener {
 public:
  virtual ~EngineListener() = default;

  // From now on this process listens as `client`, and has received nothing.
  virtual void OnListening(const std::string& client) = 0;

  // From now on this process receives nothing, because of `why`.
  virtual void OnDisconnected(const absl::Status& why) = 0;

  // The engine has handed out an item, when its time was `now`.
  virtual void OnPush(HandedOut item, int64_t now) = 0;

  // Something is due in so many ticks, earlier than known before.
  virtual void OnDue(int64_t ticks) = 0;

  // The queue has been shut down. `count` is the number of shutdowns at once so
  // far: each ends the drains that began before.
  virtual void OnShutDown(int64_t count) = 0;

  // The queue has been drained, or opened again: the next reply tells.
  virtual void OnChanged() = 0;
};

// Engine
//
// A queue in a store that several processes share. An engine keeps the promises
// of docs/shared-queue.md.
//
// Thread-safe.
class Engine {
 public:
  // `Listen()` must have ended.
  virtual ~Engine() = default;

  // Applies `request`. Blocks until `deadline`, on the machine's clock, at
  // most, also for other calls that are in progress. After an error that is not
  // `absl::StatusCode::kUnknown` the request has not been applied. One call at
  // a time.
  virtual absl::StatusOr<EngineReply> Apply(const EngineRequest& request,
                                            absl::Time deadline) = 0;

  virtual absl::StatusOr<EngineSnapshot> TakeSnapshot(
      const EngineSnapshotRequest& request, absl::Time deadline) = 0;

  // Calls `listener` from a thread of the engine until `StopListening()`, which
  // blocks until no call is in progress. Blocks until the first call or until
  // `deadline`.
  virtual absl::Status Listen(EngineListener* listener,
                              absl::Time deadline) = 0;
  virtual void StopListening() = 0;

  virtual absl::StatusOr<EngineSettings> CheckSettings(
      absl::Time /*deadline*/) {
    return EngineSettings();
  }

  virtual size_t MaxItemBytes() const {
    return (std::numeric_limits<size_t>::max)();
  }
};

// EngineSource
//
// Makes the engines of queues.
//
// Thread-safe.
class EngineSource {
 public:
  virtual ~EngineSource() = default;

  // Whether the time of its queues is that of each queue's own clock, to the
  // nanosecond.
  virtual bool UsesClocksOfQueues() const { return false; }

  // What has the queues, as messages name it. Has no password.
  virtual std::string Name() const { return "the engine"; }

  // Returns the engine of the queue, or of one of its `partitions`, of that
  // name, for a process that is called `client_name`.
  virtual std::unique_ptr<Engine> NewEngine(const std::string& name,
                                            size_t partitions,
                                            const std::string& client_name) = 0;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_INTERNAL_ENGINE_H_
