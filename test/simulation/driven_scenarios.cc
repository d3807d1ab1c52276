// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A `WaitingLoop` that the program drives, and what shares it.

#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "test/simulation/any_executor.h"
#include "test/simulation/scenario.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/executor.h"
#include "workqueue/lease.h"
#include "workqueue/loop_executor.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/timer/scheduler.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timers.h"

namespace workqueue {
namespace {

using simulation::AtRest;
using simulation::Check;
using simulation::Choose;
using simulation::Now;
using Key = std::string;

class DrivenLife {
 public:
  void Live() {
    // The program sleeps in a parker, as it would in a poll.
    const std::unique_ptr<Parker> poll =
        Clock::GetRealClock()->NewParker(Parker::Role::kCaller);
    const auto loop = std::make_shared<WaitingLoop>(
        Clock::GetRealClock(), [&poll] { poll->Unpark(); });
    bool stopping = false;
    Threads program;
    program.Start([&] {
      while (!stopping) {
        absl::Time next = loop->RunDue();
        if (OneIn(2)) next = loop->NextRun();
        if (next <= Clock::GetRealClock()->TimeNow()) continue;
        poll->ParkUntil(next);
      }
    });
    executor_ = std::make_unique<LoopExecutor>(loop);
    if (OneIn(2)) {
      PriorityQueueOptions<Key> options;
      options.clock = loop;
      queue_ = std::make_unique<PriorityQueue<Key>>(std::move(options));
    } else {
      DelayingQueueOptions<Key> options;
      options.clock = loop;
      queue_ = std::make_unique<DelayingQueue<Key>>(std::move(options));
    }
    TimersOptions timers;
    timers.clock = loop;
    timers_ = std::make_unique<Timers>(std::move(timers));
    SchedulerOptions scheduler;
    scheduler.clock = loop;
    scheduler_ = *Scheduler::Create(std::move(scheduler));
    Await();
    {
      Threads others;
      for (int i = 1 + Choose(3); i > 0; --i) {
        others.Start([this] {
          for (int n = 1 + Choose(3); n > 0; --n) AddOne();
        });
      }
    }
    for (int n = Choose(4); n > 0; --n) {
      CheckRest();
      simulation::Sleep(absl::Milliseconds(501));
    }
    CheckRest();
    ending_ = true;
    queue_->ShutDownWithDrain();  // The leases end.
    if (OneIn(2)) scheduler_->ShutDownWithDrain();
    scheduler_.reset();
    timers_.reset();
    queue_.reset();
    executor_.reset();
    stopping = true;
    poll->Unpark();
    program.Join();
    for (const Work& it : works_) {
      Check(it.done || it.may_be_dropped, "something is lost");
    }
  }

 private:
  // Work that is to be done between two times.
  struct Work {
    absl::Duration earliest;
    absl::Duration latest = absl::InfiniteDuration();
    bool done = false;
    bool may_be_dropped = false;  // at the end
  };

  void Do(Work& work) {
    Check(!work.done, "something is done twice");
    Check(work.earliest <= Now() || ending_, "something is done early");
    work.done = true;
    if (!ending_ && OneIn(4)) AddOne();
  }

  // From any thread, also that of the loop.
  void AddOne() {
    Work& work = works_.emplace_back();
    const absl::Duration delay = absl::Milliseconds(500 * Choose(3));
    work.earliest = Now() + delay;
    switch (Choose(5)) {
      case 0: {
        work.may_be_dropped = true;
        const Key key = absl::StrCat(works_.size());
        Check(keys_.emplace(key, &work).second, "a key comes twice");
        queue_->AddAfter(key, delay);
        break;
      }
      case 1:
        work.earliest = Now();
        executor_->Execute([this, &work] { Do(work); });
        break;
      case 2:
        timers_->CallAfter(delay, executor_.get(),
                           [this, &work](const absl::Status&) { Do(work); });
        break;
      case 3:
        timers_->CallAfter(delay, &inline_,
                           [this, &work](const absl::Status&) { Do(work); });
        break;
      default:
        work.may_be_dropped = true;
        scheduler_->ScheduleOnce([this, &work] { Do(work); }, delay)
            .IgnoreError();
        break;
    }
    work.latest = Now() + delay;
  }

  // A callback waits for each item.
  void Await() {
    queue_->AcquireAsync(executor_.get(),
                         [this](absl::StatusOr<Lease<Key>> it) {
                           if (!it.ok()) return;
                           Do(*keys_.at(**it));
                           Await();  // Until the queue has ended.
                           it->Done();
                         });
  }

  void CheckRest() {
    AtRest([this] {
      for (const Work& it : works_) {
        Check(it.done || it.latest + absl::Milliseconds(2) > Now(),
              "something waits that is due");
      }
    });
  }

  InlineExecutor inline_;
  std::unique_ptr<LoopExecutor> executor_;
  std::unique_ptr<DelayingInterface<Key>> queue_;
  std::unique_ptr<Timers> timers_;
  std::unique_ptr<Scheduler> scheduler_;
  std::list<Work> works_;
  std::map<Key, Work*> keys_;
  bool ending_ = false;
};

const AddScenario driven("driven_loop",
                         "queues, timers and tasks on a loop of the program",
                         [] { DrivenLife().Live(); });

// The thread that drives the loop destroys a queue and timers when all
// callbacks have been called. Their calls need not have returned.
const AddScenario end(
    "driven_end", "what is destroyed on its loop while calls return", [] {
      const auto loop =
          std::make_shared<WaitingLoop>(Clock::GetRealClock(), [] {});
      const std::unique_ptr<Executor> executor = AnyExecutor();
      QueueOptions<Key> queue_options;
      queue_options.clock = loop;
      auto queue = std::make_unique<Queue<Key>>(std::move(queue_options));
      TimersOptions timers_options;
      timers_options.clock = loop;
      auto timers = std::make_unique<Timers>(std::move(timers_options));
      int left = 1 + Choose(3);
      for (int i = left; i > 0; --i) {
        if (OneIn(2)) {
          timers->CallAfter(absl::ZeroDuration(), executor.get(),
                            [&left](const absl::Status&) { --left; });
          continue;
        }
        queue->AcquireAsync(executor.get(),
                            [&left](absl::StatusOr<Lease<Key>> lease) {
                              lease->Done();
                              --left;
                            });
        queue->Add(absl::StrCat(i));
      }
      while (left > 0) {
        loop->RunDue();
        sync::Yield();
      }
      timers.reset();
      queue.reset();
    });

}  // namespace
}  // namespace workqueue
