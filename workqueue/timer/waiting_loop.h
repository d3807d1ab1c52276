// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/timer/waiting_loop.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TIMER_WAITING_LOOP_H_
#define WORKQUEUE_TIMER_WAITING_LOOP_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <thread>  // NOLINT(build/c++11)

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/internal/indexed_heap.h"
#include "workqueue/internal/intrusive_list.h"

namespace workqueue {

// WaitingLoop
//
// A thread that runs clients when their time comes. A delaying queue uses the
// loop to add items that are due to the queue below. A queue with metrics uses
// the loop to report the work in progress.
//
// A user of queues needs this class only to let several queues share a thread:
// make one loop and pass it in the options of each queue. The thread ends when
// the last queue is destroyed.
//
// Example:
//
//     auto loop = std::make_shared<workqueue::WaitingLoop>(clock);
//     options.clock = loop;
//
// The loop and all of its clients must use the same clock: the loop passes the
// times of its clock to the clients, and the clients return times of the same
// clock. So the options of queues take either a clock or a loop (`QueueClock`).
//
// Clients that are due take turns. With n clients, adding, removing or waking a
// client takes O(log n), and so does what the loop does for each run.
//
// Thread-safe.
class WaitingLoop {
 public:
  // The longest time that the loop sleeps. The loop runs its clients at least
  // this often, as insurance against a lost wake-up.
  static constexpr absl::Duration Heartbeat() { return absl::Seconds(10); }

  // An object that the loop runs at the times that it asks for.
  class Client : public internal::IntrusiveLink<Client> {
   public:
    virtual ~Client() = default;

    // Does the work that is due at `now`, and returns the time of the next
    // call. The loop may call `Run()` earlier, too. The loop's thread makes all
    // calls, one at a time. Must not throw.
    virtual absl::Time Run(absl::Time now) = 0;

   private:
    friend class WaitingLoop;

    static constexpr uint32_t kNowhere = std::numeric_limits<uint32_t>::max();
    static constexpr uint32_t kReady = kNowhere - 1;

    // An index in the loop's waiting_; kReady if the client is in ready_, and
    // kNowhere if it is in neither. Guarded by the loop's mu_.
    uint32_t place_ = kNowhere;
  };

  // Starts the thread. `clock` is not owned and must outlive the loop; null
  // means the real clock.
  explicit WaitingLoop(Clock* clock);

  // Blocks until the thread has ended. The caller must ensure that all clients
  // have been removed.
  ~WaitingLoop();

  WaitingLoop(const WaitingLoop&) = delete;
  WaitingLoop& operator=(const WaitingLoop&) = delete;

  // Returns the clock of the loop; never null.
  Clock* clock() const { return clock_; }

  // Adds `client`, and runs it soon. Not owned; the client must be removed
  // before it is destroyed. If this throws `std::bad_alloc`, nothing has
  // changed.
  void Add(Client* client);

  // Removes `client`, which has been added. Blocks until no call of
  // `client->Run()` is in progress; the loop makes no further call. If
  // `client->Run()` calls this function, the function does not wait for that
  // call.
  void Remove(Client* client);

  // Runs `client`, which has been added, soon: before the time that it asked
  // for.
  void Wake(Client* client);

 private:
  // A client that waits for the time that it asked for. Sorts by that time.
  struct WaitingClient {
    bool operator<(const WaitingClient& other) const {
      return next_run < other.next_run;
    }

    absl::Time next_run;
    Client* client;
  };

  struct SetPlace {
    void operator()(const WaitingClient& waiting, uint32_t index) const {
      waiting.client->place_ = index;
    }
  };

  void Loop();

  // Returns the client to run at `now`, and stores it as running_. If no client
  // is due, returns null and stores in `*wake_at` until when the loop sleeps.
  Client* BeginRun(absl::Time now, absl::Time* wake_at);
  void EndRun(Client* client, absl::Time next_run);

  // Puts `client`, which is not in ready_, at the end of ready_.
  void MakeReady(Client* client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Removes `client` from waiting_ or ready_, if it is in one of them.
  void TakeOut(Client* client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Clock* const clock_;

  absl::Mutex mu_;
  // Null once the thread has ended.
  std::unique_ptr<Parker> parker_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  // When all clients run next, whatever times they asked for.
  absl::Time heartbeat_ ABSL_GUARDED_BY(mu_);

  // Each client is in one of these two, except while it runs. ready_ has the
  // clients that are due or woken, in the order of their turns. A client that
  // is woken while it runs is in ready_. waiting_ has memory for all clients.
  size_t clients_ ABSL_GUARDED_BY(mu_) = 0;
  internal::IndexedHeap<WaitingClient, SetPlace> waiting_ ABSL_GUARDED_BY(mu_);
  internal::IntrusiveList<Client> ready_ ABSL_GUARDED_BY(mu_);

  // The client whose Run() is in progress, or null. run_ended_ is signalled
  // when the call ends. If the client is removed meanwhile, it may have been
  // destroyed when the call ends.
  Client* running_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool running_removed_ ABSL_GUARDED_BY(mu_) = false;
  absl::CondVar run_ended_;

  std::thread thread_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_WAITING_LOOP_H_
