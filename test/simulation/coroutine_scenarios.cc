// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Coroutines that wait for items and for times. Nobody requests a stop: the
// token of the standard library blocks where the simulation does not see it.

#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "test/simulation/any_executor.h"
#include "test/simulation/scenario.h"
#include "workqueue/coroutine/async_queue.h"
#include "workqueue/coroutine/async_timers.h"
#include "workqueue/coroutine/spawn.h"
#include "workqueue/coroutine/sync_wait.h"
#include "workqueue/coroutine/task.h"
#include "workqueue/executor.h"
#include "workqueue/lease.h"
#include "workqueue/queue.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/snapshot.h"
#include "workqueue/timers.h"

namespace workqueue {
namespace {

using simulation::AtRest;
using simulation::Check;
using simulation::Choose;
using simulation::Now;

class CoroutineLife {
 public:
  void Live() {
    executor_ = AnyExecutor();
    queue_ = std::make_unique<Queue<int>>();
    timers_ = std::make_unique<Timers>();
    Threads threads;
    for (int i = 1 + Choose(3); i > 0; --i) {
      threads.Start([this] {
        if (OneIn(3)) {
          SyncWait(Work(this));
          ++ended_;
        } else {
          Spawn(executor_.get(), Work(this),
                [this](const absl::Status& status) {
                  Check(status.ok(), "a coroutine throws");
                  ++ended_;
                });
        }
      });
      ++spawned_;
    }
    {
      Threads others;
      for (int i = 1 + Choose(2); i > 0; --i) {
        others.Start([this] {
          for (int n = 1 + Choose(3); n > 0; --n) queue_->Add(++added_);
        });
      }
    }
    for (int n = Choose(3); n > 0; --n) {
      CheckRest();
      simulation::Sleep(absl::Milliseconds(501));
    }
    CheckRest();
    if (OneIn(2)) {
      timers_are_shut_ = true;
      timers_->ShutDown();
    }
    bool all_wait = false;
    AtRest([&] { all_wait = waiting_ == spawned_; });
    if (!all_wait || OneIn(2)) {
      Check(queue_->ShutDownWithDrain(), "a drain fails");
      // They may still use the queue.
      while (ended_ < spawned_) simulation::Sleep(absl::Milliseconds(1));
    }
    queue_.reset();
    timers_.reset();
    threads.Join();
    executor_.reset();
    Check(begun_ == added_, "an item is lost");
    Check(ended_ == spawned_, "a coroutine does not end");
    Check(frames_ == 0, "a coroutine is left");
  }

 private:
  // Counts the coroutines that exist.
  struct Frame {
    explicit Frame(CoroutineLife* l) : life(l) { ++life->frames_; }
    ~Frame() { --life->frames_; }
    CoroutineLife* const life;
  };

  static Task<void> Work(CoroutineLife* life) {
    const Frame frame(life);
    while (true) {
      AsyncQueue<int> queue(life->queue_.get(), life->executor_.get());
      ++life->waiting_;
      absl::StatusOr<Lease<int>> lease = co_await queue.Next();
      --life->waiting_;
      if (!lease.ok()) co_return;
      ++life->begun_;
      if (OneIn(2)) co_await Sleep(life, 1 + Choose(3));
      lease->Done();
    }
  }

  static Task<void> Sleep(CoroutineLife* life, int times) {
    const Frame frame(life);
    AsyncTimers timers(life->timers_.get(), life->executor_.get());
    const absl::Duration due = Now() + absl::Milliseconds(300);
    const absl::Status status = co_await timers.After(absl::Milliseconds(300));
    Check(life->timers_are_shut_ || (status.ok() && due <= Now()),
          "a coroutine continues early");
    if (status.ok() && times > 1) co_await Sleep(life, times - 1);
  }

  void CheckRest() {
    AtRest([this] {
      Check(queue_->Len() == 0 || waiting_ == 0,
            "a coroutine waits while an item is queued");
    });
  }

  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Queue<int>> queue_;
  std::unique_ptr<Timers> timers_;
  int spawned_ = 0;
  int ended_ = 0;
  int frames_ = 0;
  int waiting_ = 0;  // for an item
  int added_ = 0;
  int begun_ = 0;
  bool timers_are_shut_ = false;
};

const AddScenario coroutines("coroutines",
                             "coroutines of a queue and of timers",
                             [] { CoroutineLife().Live(); });

Task<void> TakeOne(AsyncQueue<int> queue, int* continued) {
  absl::StatusOr<Lease<int>> lease = co_await queue.Next();
  Check(lease.ok(), "a coroutine gets no item");
  ++*continued;
  lease->Done();
}

// A queue is destroyed as soon as its coroutines have taken its items, while
// their waits still begin.
const AddScenario coroutine_end(
    "coroutine_end", "the destructor of a queue, and coroutines", [] {
      const std::unique_ptr<Executor> executor = AnyExecutor();
      const std::stop_source stop;
      auto queue = std::make_unique<Queue<int>>();
      const AsyncQueue<int> items(queue.get(), executor.get(),
                                  stop.get_token());
      const int coroutines = 1 + Choose(3);
      int continued = 0;
      Threads threads;
      for (int i = 0; i < coroutines; ++i) {
        threads.Start(
            [&] { Spawn(executor.get(), TakeOne(items, &continued)); });
        queue->Add(i);
      }
      while (queue->Len() > 0) sync::Yield();
      queue.reset();
      Check(continued == coroutines, "a coroutine continues too late");
      threads.Join();
    });

}  // namespace
}  // namespace workqueue
