// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TIMER_WAITING_LOOP_H_
#define WORKQUEUE_TIMER_WAITING_LOOP_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>  // NOLINT(build/c++11)

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/indexed_heap.h"
#include "workqueue/base/wake_time.h"
#include "workqueue/clock/alarm.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

// WaitingLoop
//
// Runs clients when their time comes. A delaying queue uses the loop to add
// items that are due to the queue below. A queue with metrics uses the loop to
// report the work in progress.
//
// A user of queues needs this class for one of two reasons. The first is to let
// several queues share a thread: make one loop and pass it in the options of
// each queue. The thread ends when the last queue is destroyed.
//
//     auto loop = std::make_shared<workqueue::WaitingLoop>(clock);
//     options.clock = loop;
//
// The second is to have no thread at all. Then the program drives the loop: it
// calls `RunDue()` on a thread of its own, whenever the time that the last call
// returned has come, and whenever the loop calls `wake`:
//
//     auto loop = std::make_shared<workqueue::WaitingLoop>(
//         clock, [&poll] { poll.Interrupt(); });
//     options.clock = loop;
//     while (!stopped) poll.SleepUntil(loop->RunDue());
//
// The loop's thread is the one that called `RunDue()` last, or, before the
// first call, the one that made the loop. It must not wait for what only itself
// can do. So calls of this library that would block on it fail, or abort the
// program with a message if they cannot return an error. "Your own event loop"
// in docs/guide.md lists them.
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
    // calls, one at a time. Must not throw, nor call `RunDue()`.
    virtual absl::Time Run(absl::Time now) = 0;

   protected:
    // A call of `Run()` should do no more pieces of work than this, so that the
    // other clients have their turns, too.
    static constexpr int kMostAtOnce = 100;

   private:
    friend class WaitingLoop;

    static constexpr uint32_t kNoTurn = (std::numeric_limits<uint32_t>::max)();

    // The index in the loop's turns_, or kNoTurn if the client is not on the
    // loop. Guarded by the loop's mu_.
    uint32_t index_ = kNoTurn;
  };

  // Starts the thread. `clock` is not owned and must outlive the loop; null
  // means the real clock. The thread's name begins with `name`, cut to fit into
  // 15 bytes, and ends with ":loop".
  explicit WaitingLoop(Clock* clock, absl::string_view name = "");

  // Makes a loop that the program drives. The first parameter is as above. May
  // throw `std::bad_alloc`.
  //
  // `wake` is called when the time of the next run becomes earlier than
  // `RunDue()` or `NextRun()`, whichever was called last, has told the program.
  // After that it is not called until the program has asked again. It may be
  // called on any thread, by several at once, and with locks of queues held. It
  // must not block, throw or call this library: it writes to an eventfd, say,
  // or posts a task to the program's event loop. Empty if no other thread uses
  // the clients, and the program calls `NextRun()` before it sleeps.
  WaitingLoop(Clock* clock, std::function<void()> wake);

  // Blocks until the thread has ended, if the loop has one. Aborts the program
  // if there are clients. A client may destroy the loop that calls its `Run()`,
  // once it has removed itself: what it calls may destroy the last queue.
  ~WaitingLoop();

  WaitingLoop(const WaitingLoop&) = delete;
  WaitingLoop& operator=(const WaitingLoop&) = delete;

  // Returns the clock of the loop; never null.
  Clock* clock() const { return clock_; }

  // Runs the clients that are due, each once at most, and returns the time of
  // the next run: the infinite future if there is no client. The time may have
  // come already. So the program has its own turn in between, even if clients
  // are always due.
  //
  // For a program that drives the loop. Aborts the program if another call is
  // in progress, or if the loop has a thread.
  absl::Time RunDue() ABSL_LOCKS_EXCLUDED(mu_);

  // Returns the time of the next run, as `RunDue()` does, without running any
  // client.
  absl::Time NextRun() ABSL_LOCKS_EXCLUDED(mu_);

  // Returns whether the program drives the loop.
  bool driven() const { return driven_; }

  // Returns whether the calling thread is that of the loop.
  bool IsRunHere() const ABSL_LOCKS_EXCLUDED(mu_);

  // Adds `client`, and runs it soon. Not owned; the client must be removed
  // before it is destroyed. If this throws `std::bad_alloc`, nothing has
  // changed.
  void Add(Client* client);

  // Removes `client`. Blocks until no call of `client->Run()` is in progress;
  // the loop makes no further call. If `client->Run()` calls this function, the
  // function does not wait for that call.
  void Remove(Client* client);

  // Runs `client` soon, before the time that it asked for. Does nothing if the
  // client has not been added yet, is being removed, or has been removed.
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

  // The function of the thread.
  void Loop(Parker* parker);

  // Runs the clients that are due, each once at most. Returns the time of the
  // next run. Sets `*destroyed` if a client has destroyed this object.
  absl::Time RunClients(bool* destroyed) ABSL_LOCKS_EXCLUDED(mu_);

  // Returns the time of the next run, until which the loop now sleeps.
  absl::Time Sleep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Wakes the loop if it sleeps beyond the time of the next run. Does nothing
  // if there is no client.
  void WakeIfAsleep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Gives `client` a turn at `time`, but not before now_ and not after
  // heartbeat_. A client that is due already keeps its turn, and a client that
  // is not on the loop gets none.
  void SetTurn(Client* client, absl::Time time)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string name_;
  Clock* const clock_;
  const bool driven_;  // whether the program drives the loop

  mutable sync::Mutex mu_;
  // Where the thread sleeps; null once it has ended.
  std::unique_ptr<Parker> parker_ ABSL_GUARDED_BY(mu_);
  // Wakes the thread, or the program.
  const std::function<void()> wake_;
  // For a clock that simulates time and a program that drives the loop.
  const std::unique_ptr<Alarm> alarm_;
  // Until when the loop sleeps.
  internal::WakeTime wake_time_ ABSL_GUARDED_BY(mu_);
  std::thread::id runner_ ABSL_GUARDED_BY(mu_);  // the loop's thread
  bool runs_ ABSL_GUARDED_BY(mu_) = false;       // in RunClients()
  // Of RunClients(), null outside of it.
  bool* destroyed_ ABSL_GUARDED_BY(mu_) = nullptr;
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
  sync::CondVar run_ended_;

  sync::Thread thread_;  // none if the program drives the loop
};

namespace internal {

// Returns the error of a call that would block the thread of a loop that the
// program drives.
absl::Status WouldBlockLoopError();

// Aborts the program if `error` is that of `WouldBlockLoopError()`. `call` is
// the call that cannot return the error.
void DieIfWouldBlockLoop(absl::string_view call, const absl::Status& error);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_WAITING_LOOP_H_
