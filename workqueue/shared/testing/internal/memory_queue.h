// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_TESTING_INTERNAL_MEMORY_QUEUE_H_
#define WORKQUEUE_SHARED_TESTING_INTERNAL_MEMORY_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "workqueue/redis/ticks.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/testing/internal/memory_groups.h"

namespace workqueue::internal {

// MemoryQueue
//
// A shared queue, or a partition of one, in memory: the transitions of
// docs/shared-queue.md, as the script in queue_script.cc has them. But a
// request does all that is due, however much that is.
//
// For n items, each operation takes O(log n), and with groups as long as
// `MemoryGroups` says. `kOldest` takes O(log n) for each priority.
//
// Thread-compatible.
class MemoryQueue {
 public:
  // What a client is told that has not asked.
  using Message = std::function<void(EngineListener*)>;

  // Sends a message to `client`, or to all clients if that is empty. Returns
  // whether anybody listens.
  using Send = std::function<bool(const std::string& client, Message message)>;

  explicit MemoryQueue(Send send) : send_(std::move(send)) {}

  // Applies `request` when the engine's clock reads `clock`, or at the time in
  // the request if that is later. `run` counts the starts of the engine, from
  // 1. If the memory is `full`, nothing is added.
  EngineReply Apply(const EngineRequest& request, int64_t clock, int64_t run,
                    bool full);

  // In one part.
  EngineSnapshot TakeSnapshot(const EngineSnapshotRequest& request,
                              int64_t clock) const;

 private:
  enum class State { kIdle, kQueued, kProcessing, kDirty };
  enum class Parking { kNot, kUntilAdd, kUntilUnpark };

  // The truth about an item. A new one is nothing.
  struct Entry {
    bool IsProcessed() const { return state >= State::kProcessing; }
    bool IsParked() const { return parking != Parking::kNot; }
    bool Waits() const { return due_sequence != 0; }

    State state = State::kIdle;
    int64_t priority = 0;
    int64_t sequence = 0;
    int64_t since = 0;
    int64_t token = 0;  // negative: abandoned after a shutdown
    int64_t began = 0;
    int64_t expiry = 0;
    std::string holder;
    int64_t due = 0;
    int64_t due_sequence = 0;  // 0: does not wait
    int64_t due_priority = 0;
    int64_t failures = 0;
    int64_t first_failed = 0;
    int64_t last_failed = 0;
    std::string error;
    Parking parking = Parking::kNot;
    // Only in a queue with groups. The kinds: whether it is a retry, will be
    // one when it is due, and was one when it came into process, if it counts
    // as in process.
    std::string group;
    int64_t weight = 1;
    bool retry = false;
    bool due_retry = false;
    std::optional<bool> in_process;
  };

  // When an item that fails is parked, and what else a failure says.
  struct Limits {
    int64_t priority, failures, time, parked;
    bool stays;
    std::string error;
  };

  // Items in the order of two numbers.
  using Place = std::tuple<int64_t, int64_t, std::string>;
  using Places = std::set<Place>;

  struct Client {
    int64_t wanted = 0;
    uint64_t pushed = 0;
    int64_t valid = 0;  // counts as alive until then
    int64_t seen = 0;
    std::string name;
    uint64_t last_request = 0;
    EngineReply last_reply;
  };

  // A change of an item. Takes it out of the sets meanwhile, and then tells the
  // groups from where it has come to where.
  class Change;

  MemoryGroups::Where WhereIs(const Entry& e) const;

  // Calls `f` with each set that an item is in, and its place there.
  template <typename F>
  void ForEachPlace(const std::string& item, const Entry& e, F f);

  // The time after `ticks`.
  int64_t After(int64_t ticks) const {
    return ticks == kForever ? kForever : now_ + ticks;
  }

  static void Enqueue(Entry& e, int64_t sequence);
  // Adds the item now. Returns whether it was not there.
  bool Add(Entry& e, int64_t priority, bool retry);
  // The same, as the result of an operation.
  int64_t AddNow(Entry& e, int64_t priority, bool retry);
  void StopWaiting(Entry& e);
  void Wait(Entry& e, int64_t due, int64_t priority, bool retry, bool moves);
  static void Forget(Entry& e);
  // Whether the item takes part in the queue, after an add.
  static bool UnparkByAdd(Entry& e);
  int64_t RetryDelay(const Entry& e, int64_t least) const;
  void CountFailure(Entry& e, const std::string& error);
  void StopProcessing(Entry& e);
  void Abandon(Entry& e, int64_t least, const std::string& error, bool fails);
  // `added_again` tells whether the entry was dirty.
  void AddAgain(Entry& e, int64_t delay, int64_t priority, bool retry,
                bool added_again);
  static std::optional<Limits> ParseLimits(const std::string& text);
  bool IsAtLimit(const Entry& e, const Limits& limits) const;
  void Park(Entry& e, bool stays, bool added_again);
  int64_t Fail(Entry& e, const EngineOperation& operation);
  int64_t ShutDown(bool at_once);
  int64_t Oldest() const;
  int64_t SetGroups(int64_t of_group, int64_t of_retries);
  // Returns the kind that an operation tells which adds, and notes the group.
  bool Classify(Entry& e, const std::string& text) const;
  int64_t Do(const EngineOperation& operation);

  void ForgetSilentClients();
  void DoWhatIsDue(EngineReply* reply);
  // The item to hand out next, and whether there may be one.
  std::optional<std::string> Next();
  bool MayHaveNext() const;
  // Hands out up to `n` items to the client of that name, while `receive`
  // returns true.
  template <typename F>
  void HandOut(int64_t n, const std::string& holder, F receive);
  void Push();
  // Tells the clients what they would notice too late.
  void Tell(int64_t due);

  const Send send_;

  std::map<std::string, Entry> items_;
  std::optional<MemoryGroups> groups_;
  Places ready_;    // minus the priority, sequence
  Places waiting_;  // due, sequence
  Places leases_;   // expiry
  Places dirty_;
  Places failing_;  // minus the failures, time of the first one
  Places parked_;   // minus the time of the last failure

  std::map<std::string, Client> clients_;
  std::deque<std::string> waiters_;  // clients with workers that wait, in turn

  int64_t now_ = 0;
  int64_t offset_ = 0;  // added to the clock
  int64_t run_ = 0;
  int64_t grace_ = 0;  // no lease expires before
  int64_t swept_ = 0;  // when silent clients were looked for
  int64_t sequence_ = 0, front_ = 0;
  int64_t token_ = 0;
  bool shut_down_ = false;
  std::optional<int64_t> shutdowns_;
  std::optional<int64_t> born_;  // after the first request
  int64_t due_ = kForever;       // what the clients know
  bool drained_ = false;
  std::optional<Limits> limits_;            // of items whose leases expire
  const EngineRequest* request_ = nullptr;  // the one that is being applied
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_TESTING_INTERNAL_MEMORY_QUEUE_H_
