// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TIMER_WAITING_LOOP_H_
#define WORKQUEUE_TIMER_WAITING_LOOP_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <thread>  // NOLINT(build/c++11)

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/indexed_heap.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"

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
// Clients that are due take turns, in the order in which they became due. For n
// clients, adding, removing or waking a client takes O(log n), and so does what
// the loop itself does for each run. If the clock goes back, the loop takes
// O(n) once.
//
// Thread-safe.
class WaitingLoop {
 public:
  // The longest time that the loop sleeps. The loop runs each client at least
  // this often, as insurance against a lost wake-up. It also runs each client
  // when it sees that the clock has gone back.
  static constexpr absl::Duration Heartbeat() { return absl::Seconds(10); }

  // An object that the loop runs at the times that it asks for.
  class Client {
   public:
    virtual ~Client() = default;

    // Does the work that is due at `now`, and returns the time of the next
    // call. The loop may call `Run()` earlier, too. The loop's thread makes all
    // calls, one at a time. Must not throw.
    virtual absl::Time Run(absl::Time now) = 0;

   private:
    friend class WaitingLoop;

    static constexpr uint32_t kNoTurn = (std::numeric_limits<uint32_t>::max)();

    // The index in the loop's turns_, or kNoTurn. Guarded by the loop's mu_.
    uint32_t index_ = kNoTurn;
  };

  // Starts the thread. `clock` is not owned and must outlive the loop; null
  // means the real clock. The thread's name begins with `name`, cut to fit into
  // 15 bytes, and ends with ":loop".
  explicit WaitingLoop(Clock* clock, absl::string_view name = "");

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

  // Removes `client`. Blocks until no call of `client->Run()` is in progress;
  // the loop makes no further call. If `client->Run()` calls this function, the
  // function does not wait for that call.
  void Remove(Client* client);

  // Runs `client` soon, before the time that it asked for. Does nothing if the
  // client is being removed, or has been removed.
  void Wake(Client* client);

 private:
  // The next run of a client. Sorts by time, and then by number.
  struct Turn {
    bool operator<(const Turn& other) const {
      return time == other.time ? number < other.number : time < other.time;
    }

    absl::Time time;
    uint64_t number;  // counts the turns
    Client* client;
  };

  struct SetIndex {
    void operator()(const Turn& turn, uint32_t index) const {
      turn.client->index_ = index;
    }
  };

  void Loop();

  // Returns the client to run at `now`, and stores it as running_. If no client
  // is due, returns null and stores in `*next_run` when the first one will be.
  Client* BeginRun(absl::Time now, absl::Time* next_run);
  void EndRun(Client* client, absl::Time next_run);

  // Gives `client` a turn at `time`, but not before now_ and not after
  // heartbeat_. A client that is due already keeps its turn, and a client that
  // has been removed gets none.
  void SetTurn(Client* client, absl::Time time)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string name_;
  Clock* const clock_;

  absl::Mutex mu_;
  // Null once the thread has ended.
  std::unique_ptr<Parker> parker_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;

  // The time at which the loop last looked for a client that is due, and the
  // time by which it runs each client.
  absl::Time now_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  absl::Time heartbeat_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();

  // The turn of each client. A new turn is at now_ or later, and so comes after
  // all turns that are due. While a client runs, its turn is in the infinite
  // future, unless the client is woken.
  internal::IndexedHeap<Turn, SetIndex> turns_ ABSL_GUARDED_BY(mu_);
  uint64_t next_number_ ABSL_GUARDED_BY(mu_) = 0;

  // The client whose Run() is in progress, or null. run_ended_ is signalled
  // when the call ends. If the client has been removed meanwhile, it may have
  // been destroyed.
  Client* running_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool running_removed_ ABSL_GUARDED_BY(mu_) = false;
  absl::CondVar run_ended_;

  std::thread thread_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_WAITING_LOOP_H_
