// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/timer/waiting_loop.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TIMER_WAITING_LOOP_H_
#define WORKQUEUE_TIMER_WAITING_LOOP_H_

#include <memory>
#include <thread>  // NOLINT(build/c++11)
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
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
// Thread-safe.
class WaitingLoop {
 public:
  // The longest time that the loop sleeps. The loop runs its clients at least
  // this often, as insurance against a lost wake-up, and when it sees that the
  // clock has gone back.
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
    absl::Time next_run_;  // guarded by the loop's mu_
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
  // before it is destroyed.
  void Add(Client* client);

  // Removes `client`. Blocks until no call of `client->Run()` is in progress;
  // the loop makes no further call. If `client->Run()` calls this function, the
  // function does not wait for that call.
  void Remove(Client* client);

  // Runs `client` soon, before the time that it asked for.
  void Wake(Client* client);

 private:
  void Loop();

  // Returns the client to run at `now`, and stores it as running_. If no client
  // is due, returns null and stores in `*next_run` when the first one will be.
  Client* BeginRun(absl::Time now, absl::Time* next_run);
  void EndRun(Client* client, absl::Time next_run);

  // Makes all clients due.
  void WakeAll();

  Clock* const clock_;

  absl::Mutex mu_;
  // Null once the thread has ended.
  std::unique_ptr<Parker> parker_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Client*> clients_ ABSL_GUARDED_BY(mu_);
  // The client whose Run() is in progress, or null. run_ended_ is signalled
  // when the call ends.
  Client* running_ ABSL_GUARDED_BY(mu_) = nullptr;
  absl::CondVar run_ended_;

  std::thread thread_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_WAITING_LOOP_H_
