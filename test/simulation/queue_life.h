// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SIMULATION_QUEUE_LIFE_H_
#define WORKQUEUE_TEST_SIMULATION_QUEUE_LIFE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "test/simulation/scenario.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/snapshot.h"
#include "workqueue/thread_pool.h"

namespace workqueue {

// QueueLife
//
// What threads do with a queue, from its making to its destruction: some add
// items, some are workers of one kind or another, some look at the queue, and
// then it ends. The numbers of all, and what each does, are chosen.
//
// At each rest, when no thread can go on before time passes, no worker may wait
// while an item is queued, nothing may wait that is due, and nothing may be
// gone that was added. At the end, the history of each item must be that of a
// sequential queue that is empty.
//
// Memory may run out in each call. A call that throws then has done nothing,
// unless it was for several items. A call that must not throw does not.
class QueueLife {
 public:
  using Key = std::string;

  struct Options {
    // Each makes a queue, or returns null if the queue is not of this kind. The
    // queue is the same.
    std::function<std::unique_ptr<Interface<Key>>()> make;
    bool delays = false;
    bool rate_limits = false;
    bool priorities = false;
    bool holds_back = false;     // The ordering may hold items back.
    const int* depth = nullptr;  // the metric of the queue, if it has one
  };

  explicit QueueLife(Options options) : options_(std::move(options)) {}

  void Live();

 private:
  // A wait for a callback.
  struct Call {
    bool called = false;
    bool cancelled = false;
    AcquireId id;
  };
  // An item that must come.
  struct Owed {
    int64_t event;
    absl::Duration due;
  };

  const Key& AnyKey();
  void AddSome();
  void AddOne(const Key& key);
  void AddLater(const Key& key);
  void NoteAdd(const Key& key, bool added, absl::Duration due);
  void Work(int kind);
  // Ends `*lease`, unless it is null.
  void WorkAsync(Lease<Key>* lease = nullptr);
  void OnLease(absl::StatusOr<Lease<Key>> lease, int64_t begin);
  void Process(const Key& key);
  void NoteHandOut(const Key& key, int64_t begin);
  void Done(const Key& key);
  void EndLease(Lease<Key>* lease);
  void Look();
  // Whether `key` is there, or will be by when it is owed.
  bool Has(const Snapshot<Key>& snapshot, const Key& key,
           const Owed& owed) const;
  void Watch();
  void CancelSome();
  void CheckRest();
  void End();
  void EndOnce(int way);
  void ShutDown();
  void EndDrain();

  DelayingInterface<Key>* delaying() const;
  RateLimitingInterface<Key>* limiting() const;

  const Options options_;
  std::vector<Key> keys_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Interface<Key>> queue_;
  History history_;
  std::vector<std::shared_ptr<Call>> calls_;
  std::map<Key, absl::Duration> earliest_;  // at which it may be handed out
  std::map<Key, Owed> owed_;
  std::map<Key, int> cancels_;  // begins and ends of what moves or drops it
  std::map<Key, int64_t> last_hand_out_;
  std::map<Key, int64_t> tokens_;  // of those that are held
  int waiting_ = 0;                // workers, for an item
  int callbacks_ = 0;              // that run
  int drains_ = 0;                 // in progress
  int shut_downs_ = 0;             // that may end a drain
  bool loops_only_ = false;        // Whoever gets an item gets the next one.
  bool has_worker_ = false;        // that goes on to the end
  bool ending_ = false;            // An end has begun.
  bool destroying_ = false;        // The queue must not be called.
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SIMULATION_QUEUE_LIFE_H_
