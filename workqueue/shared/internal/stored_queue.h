// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_INTERNAL_STORED_QUEUE_H_
#define WORKQUEUE_SHARED_INTERNAL_STORED_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/ordered_store.h"
#include "workqueue/shared/internal/stored_groups.h"

namespace workqueue::internal {

// What a client is told that has not asked.
struct EngineMessage {
  enum Kind : char { kPush = 'p', kDue = 'd', kShutDown = 's', kChanged = 'c' };

  void Deliver(EngineListener* listener) &&;
  std::string Pack() const;
  static EngineMessage Unpack(absl::string_view bytes);

  Kind kind = kChanged;
  int64_t number = 0;  // the time of a push, ticks, or count
  HandedOut item = {};
};

// StoredQueue
//
// A shared queue, or a partition of one, in an `OrderedStore`: the transitions
// of docs/shared-queue.md, as the script in queue_script.cc has them.
//
// For n items, each operation takes some calls of the store, which take
// O(log n). `kOldest` takes one for each priority.
//
// Thread-compatible.
class StoredQueue {
 public:
  // Sends a message to `client`, or to all clients if that is empty. Returns
  // whether anybody listens.
  using Send = std::function<bool(const std::string& client,
                                  const EngineMessage& message)>;

  // Is called for a client that has been silent for so long that it is not
  // known any more.
  using OnForgotten = std::function<void(const std::string& client)>;

  // The store is not owned. A request does so much of what is due at most, and
  // removes so much of what no longer waits after a shutdown. An operation on
  // an item that is too long, with its group, does nothing.
  StoredQueue(OrderedStore* store, Send send, int64_t most_due = kForever,
              size_t max_item_bytes = (std::numeric_limits<size_t>::max)(),
              OnForgotten on_forgotten = nullptr)
      : store_(*store),
        send_(std::move(send)),
        most_due_(most_due),
        max_item_bytes_(max_item_bytes),
        on_forgotten_(std::move(on_forgotten)) {}

  // What `Apply()` and `TakeSnapshot()` will probably read.
  static WantedEntries WantedBy(const EngineRequest& request);
  static WantedEntries WantedBy(const EngineSnapshotRequest& request);

  bool IsShutDown() {
    LoadMeta();
    return meta_.shut_down != 0;
  }

  // Whether an operation adds its item.
  static bool Adds(EngineOperation::Code code);

  // The key of what is known of an item.
  static std::string KeyOf(absl::string_view item);

  // Applies `request` when the engine's clock reads `clock`, or at the time in
  // the request if that is later. `run` counts the starts of the engine, from
  // 1. First queues what is due, and applies the `inbox`. If the memory is
  // `full`, the request adds nothing. Returns nothing, and changes nothing, if
  // it has applied this request of the client, or a later one, before.
  std::optional<EngineReply> Apply(
      const EngineRequest& request, int64_t clock, int64_t run, bool full,
      const std::vector<EngineOperation>& inbox = {});

  EngineSnapshot TakeSnapshot(const EngineSnapshotRequest& request,
                              int64_t clock);

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

  // The sets of items. Each is a part of the keys, which begins with its
  // letter, and is in the order of two numbers and of the items.
  enum Set : char {
    kReady = 'r',    // minus the priority, sequence
    kWaiting = 'w',  // due, sequence
    kLeases = 'l',   // expiry
    kFailing = 'f',  // minus the failures, time of the first one
    kParked = 'p',   // minus the time of the last failure
    kDirty = 'd',    // only counted
  };
  static constexpr Set kSets[] = {kReady,   kWaiting, kLeases,
                                  kFailing, kParked,  kDirty};

  struct Client {
    int64_t wanted = 0;
    int64_t pushed = 0;
    int64_t valid = 0;  // counts as alive until then
    int64_t seen = 0;
    int64_t last_request = 0;
    int64_t turn = 0;  // among the clients with workers that wait, or 0
    std::string name;
    std::string version;  // of its library
    int64_t lease = 0;    // of what it gets; 0 if not known
  };

  // The numbers of the queue, and other things that it has once.
  struct Meta {
    int64_t now = 0;
    int64_t offset = 0;  // added to the clock
    int64_t run = 0;
    int64_t grace = 0;  // no lease expires before
    int64_t swept = 0;  // when silent clients were looked for
    int64_t sequence = 0, front = 0;
    int64_t token = 0;
    int64_t turn = 0;  // the last one of a client that waits
    int64_t shut_down = 0;
    int64_t shutdowns = -1;  // -1: there was no request yet
    int64_t born = 0;        // after the first request
    int64_t due = kForever;  // what the clients know
    int64_t drained = 0;
    int64_t has_groups = 0;
    StoredGroups::Numbers groups;
    int64_t sizes[std::size(kSets)] = {};  // of the sets
    std::string limits;  // the text of those of items whose leases expire
  };

  // Changes an item: calls `change(entry)` and returns its result, after it has
  // changed the sets, told the groups from where the item has come to where,
  // and written the entry.
  template <typename F>
  auto Change(const std::string& item, F change);

  void LoadMeta();
  void SaveMeta();
  // A queue that has been shut down may still store that an item waits. Then
  // `LoadStored()` returns that wait, and `Load()` does not.
  Entry LoadStored(absl::string_view item);
  Entry ThatCounts(Entry e) const;
  Entry Load(absl::string_view item) { return ThatCounts(LoadStored(item)); }
  void Save(absl::string_view item, const Entry& e);
  std::optional<Client> LoadClient(absl::string_view id);
  void SaveClient(absl::string_view id, const Client& client);

  StoredGroups::Where WhereIs(const Entry& e) const;

  // Returns the key of the item's place in a set, or nothing if it is not
  // there.
  static std::string PlaceIn(Set set, absl::string_view item, const Entry& e);

  // The first place in a set: a number, and an item.
  struct Place {
    std::string key;
    int64_t number;
    std::string item;
  };
  std::optional<Place> FirstOf(Set set, absl::string_view after = "");
  int64_t& SizeOf(Set set);
  EngineCounts Counts();

  StoredGroups groups() { return {&store_, &meta_.groups}; }

  // The time after `ticks`.
  int64_t After(int64_t ticks) const {
    return ticks == kForever ? kForever : meta_.now + ticks;
  }

  static void Enqueue(Entry& e, int64_t sequence);
  // Adds the item now. Returns the result of an operation.
  int64_t Add(Entry& e, int64_t priority, bool retry);
  static void StopWaiting(Entry& e);
  void Wait(Entry& e, int64_t due, int64_t priority, bool retry, bool moves);
  // Adds the item now, or after the delay. Returns what `Add()` does.
  int64_t AddAfter(Entry& e, int64_t delay, int64_t priority, bool retry);
  static void Forget(Entry& e);
  // Whether the item takes part in the queue, after an add.
  static bool UnparkByAdd(Entry& e);
  int64_t RetryDelay(const Entry& e, int64_t least) const;
  void CountFailure(Entry& e, const std::string& error);
  // Returns whether the entry was dirty.
  static bool StopProcessing(Entry& e);
  void Abandon(Entry& e, int64_t least, const std::string& error, bool fails);
  // `added_again` tells whether the entry was dirty.
  int64_t AddAgain(Entry& e, int64_t delay, int64_t priority, bool retry,
                   bool added_again);
  static std::optional<Limits> ParseLimits(const std::string& text);
  bool IsAtLimit(const Entry& e, const Limits& limits);
  void Park(Entry& e, bool stays, bool added_again);
  int64_t Fail(Entry& e, const EngineOperation& operation);
  int64_t ShutDown(bool at_once);
  int64_t Oldest();
  int64_t SetGroups(int64_t of_group, int64_t of_retries);
  // Returns the kind that an operation tells which adds, and notes the group.
  bool Classify(Entry& e, const std::string& text) const;
  int64_t Do(const EngineOperation& operation);
  // The part that concerns an item.
  int64_t DoWith(Entry& e, const EngineOperation& operation);
  // Returns whether the lease has expired.
  bool EndLease(Entry& e);

  void ForgetSilentClients();
  void DoWhatIsDue(EngineReply* reply);
  // Removes some of what a shutdown lets wait no longer.
  void RemoveWaits();
  // The item to hand out next, and whether there may be one.
  std::optional<std::string> Next();
  bool MayHaveNext();
  // Hands out up to `n` items to the client, while `receive` returns true.
  template <typename F>
  void HandOut(int64_t n, const Client& holder, F receive);
  void Push();
  void StopWaiting(Client* client);
  void WaitInTurn(const std::string& id, Client* client);
  // Tells the clients what they would notice too late.
  void Tell(int64_t due);

  OrderedStore& store_;
  const Send send_;
  const int64_t most_due_;
  const size_t max_item_bytes_;
  const OnForgotten on_forgotten_;
  Meta meta_;                               // during a call
  const EngineRequest* request_ = nullptr;  // the one that is being applied
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_INTERNAL_STORED_QUEUE_H_
