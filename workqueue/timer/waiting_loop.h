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
// A thread that does things when their time comes. A delaying queue has one, to
// move what is due to the queue below; a queue with metrics, to report the work
// in progress.
//
// Users of queues need not know it, unless they want several queues to share a
// thread: then they make one, and give it to each in its options. The last of
// the queues ends it.
//
//     auto loop = std::make_shared<workqueue::WaitingLoop>(clock);
//     options.clock = loop;
//
// Thread-safe.
class WaitingLoop {
 public:
  // The longest that the loop sleeps. It looks after its clients at least so
  // often, as insurance against a wake-up that went missing.
  static constexpr absl::Duration Heartbeat() { return absl::Seconds(10); }

  // Something that acts when time comes.
  class Client {
   public:
    virtual ~Client() = default;

    // Does what is due at `now`, and returns when to be called next. It may be
    // called before that, too. Runs on the loop's thread, one call at a time,
    // and must not throw.
    virtual absl::Time Run(absl::Time now) = 0;

   private:
    friend class WaitingLoop;
    absl::Time next_run_;  // guarded by the loop's mu_
  };

  // Starts the thread. `clock` must outlive the loop.
  explicit WaitingLoop(Clock* clock);

  // Ends the thread. All clients must have been removed.
  ~WaitingLoop();

  WaitingLoop(const WaitingLoop&) = delete;
  WaitingLoop& operator=(const WaitingLoop&) = delete;

  // The clock that the loop goes by.
  Clock* clock() const { return clock_; }

  // Adds `client`, which is not owned, and has it called soon.
  void Add(Client* client);

  // Removes `client`. When this returns, no call of it is in progress nor will
  // any be made; but called by the client itself, from `Run()`, it does not
  // wait for that call to end.
  void Remove(Client* client);

  // Has `client` called soon, before the time that it asked for.
  void Wake(Client* client);

 private:
  void Loop();

  // Returns the client to run at `now`, which is then running_. If none is due,
  // returns null and stores when the first one will be.
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
  // The client whose Run() is in progress; signalled when that ends.
  Client* running_ ABSL_GUARDED_BY(mu_) = nullptr;
  absl::CondVar run_ended_;

  std::thread thread_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_WAITING_LOOP_H_
