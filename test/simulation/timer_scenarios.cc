// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What waits for its time, and what runs functions.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "test/simulation/scenario.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/executor.h"
#include "workqueue/thread_pool.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/scheduler.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timers.h"

namespace workqueue {
namespace {

using simulation::AtRest;
using simulation::Check;
using simulation::Choose;
using simulation::Now;

absl::Duration AnyDelay() { return absl::Milliseconds(500 * Choose(4)); }

WaitingSetOptions AnySet() {
  return OneIn(3) ? *WaitingSetOptions::TimingWheel(absl::Milliseconds(1))
                  : WaitingSetOptions();
}

// Each task runs once, also one that is submitted when the pool has seen
// another one and is destroyed.
const AddScenario pool(
    "thread_pool", "a ThreadPool, and tasks that submit", [] {
      ThreadPoolOptions options;
      options.threads = 1 + Choose(3);
      std::unique_ptr<ThreadPool> owned = *ThreadPool::Create(options);
      ThreadPool* const pool = owned.get();
      int submitted = 0;
      int run = 0;
      int running = 0;
      // Submits a task, which may submit others.
      struct Submit {
        void operator()(int depth) const {
          ++*submitted;
          pool->Execute([self = *this, depth] {
            ++*self.running;
            if (depth > 0 && OneIn(2)) self(depth - 1);
            if (OneIn(3)) simulation::Sleep(absl::Milliseconds(1));
            --*self.running;
            ++*self.run;
          });
        }
        ThreadPool* pool;
        int *submitted, *run, *running;
      };
      const Submit submit = {pool, &submitted, &run, &running};
      const bool at_once = OneIn(2);
      Threads threads;
      int expected = 0;
      for (int i = 1 + Choose(3); i > 0; --i) {
        const int tasks = 1 + Choose(2);
        expected += tasks;
        threads.Start([=] {
          for (int n = 0; n < tasks; ++n) submit(at_once ? 0 : 1);
        });
      }
      if (at_once) {
        // The calls of `Execute()` have had their effect, and may not have
        // returned.
        while (run < expected) sync::Yield();
      } else {
        threads.Join();
        AtRest([&] {
          Check(run + running == submitted ||
                    running == static_cast<int>(options.threads),
                "a task waits while a thread is idle");
        });
      }
      owned.reset();
      Check(run == submitted, "a task is lost, or runs twice");
    });

// A parker of the real clock, which the thread that parks destroys.
const AddScenario parker("parker", "a parker of the real clock", [] {
  const Parker::Role role =
      Choose(2) == 0 ? Parker::Role::kCaller : Parker::Role::kLoop;
  std::unique_ptr<Parker> owned = Clock::GetRealClock()->NewParker(role);
  Parker* const parker = owned.get();
  const int unparks = Choose(3);
  int unparked = 0;
  bool work = false;
  int seen = 0;
  Threads threads;
  for (int i = unparks; i > 0; --i) {
    threads.Start([&, parker] {
      work = true;
      ++unparked;
      parker->Unpark();
    });
  }
  const int parks = unparks > 0 && OneIn(2) ? 1 : 1 + Choose(3);
  for (int i = 0; i < parks; ++i) {
    const absl::Duration delay = AnyDelay();
    const bool forever = seen == 0 && unparks > 0 && OneIn(2);
    const absl::Duration due = Now() + delay;
    const bool result =
        parker->ParkUntil(forever ? absl::InfiniteFuture()
                                  : Clock::GetRealClock()->TimeNow() + delay);
    if (result) {
      ++seen;
      Check(unparked >= seen, "a wake-up that nobody has sent");
      Check(work, "a wake-up before what it tells");
    } else {
      Check(!forever, "a wait without a deadline ends");
      Check(Now() >= due, "a wait ends early");
    }
  }
  // Nobody may call `Unpark()` later.
  if (unparked < unparks || seen < unparks) threads.Join();
  owned.reset();
});

const AddScenario delay_queue("delay_queue", "a DelayQueue", [] {
  struct Value {
    absl::Duration earliest, latest;  // when it is due
    bool unsure = false;  // A call that moves or drops it is in progress.
    bool gone = false;
    DelayQueueHandle handle;
  };
  std::vector<std::unique_ptr<Value>> values;
  DelayQueueOptions options;
  options.waiting_set = AnySet();
  const absl::Duration tick = absl::Milliseconds(1);
  auto owned = std::make_unique<DelayQueue<size_t>>(options);
  DelayQueue<size_t>* const queue = owned.get();
  int waiting = 0;
  bool closed = false;
  const auto note = [&](size_t i) {
    Value& value = *values[i];
    Check(!value.gone, "a value comes twice, or after its end");
    Check(value.unsure || value.earliest <= Now(), "a value comes early");
    value.gone = true;
  };
  const auto check_rest = [&] {
    AtRest([&] {
      if (waiting == 0 || closed) return;
      for (const auto& value : values) {
        Check(value->gone || value->unsure || value->latest + tick > Now(),
              "a thread waits while a value is due");
      }
    });
  };
  {
    Threads takers;
    {
      Threads others;
      for (int i = 1 + Choose(3); i > 0; --i) {
        const int kind = Choose(3);
        takers.Start([&, kind] {
          while (true) {
            ++waiting;
            if (kind == 0) {
              const std::optional<size_t> value = queue->Take();
              --waiting;
              if (!value.has_value()) return;
              note(*value);
            } else if (kind == 1) {
              const absl::StatusOr<size_t> value =
                  queue->TakeWithTimeout(absl::Milliseconds(700));
              --waiting;
              if (value.ok()) {
                note(*value);
              } else if (closed || !absl::IsDeadlineExceeded(value.status())) {
                return;
              }
            } else {
              const absl::StatusOr<std::vector<size_t>> some =
                  queue->TakeUpTo(2);
              --waiting;
              if (!some.ok()) return;
              for (const size_t value : *some) note(value);
            }
            if (OneIn(4)) simulation::Sleep(absl::Milliseconds(300));
          }
        });
      }
      for (int i = 1 + Choose(2); i > 0; --i) {
        others.Start([&] {
          for (int n = 1 + Choose(4); n > 0; --n) {
            const size_t place = values.size();
            if (place == 0 || Choose(3) != 2) {
              values.push_back(std::make_unique<Value>());
              Value& value = *values.back();
              const absl::Duration delay = AnyDelay();
              value.earliest = Now() + delay;
              value.unsure = true;
              value.handle = queue->Push(place, delay);
              value.unsure = false;
              value.latest = Now() + delay;
              continue;
            }
            Value& value = *values[Choose(static_cast<int>(place))];
            if (value.unsure) continue;
            value.unsure = true;
            if (OneIn(2)) {
              if (queue->Cancel(value.handle)) {
                Check(!value.gone, "a value comes and is cancelled");
                value.gone = true;
              }
            } else {
              const absl::Duration delay = AnyDelay();
              const absl::Duration earliest = Now() + delay;
              if (queue->Reset(value.handle, delay)) {
                value.earliest = earliest;
                value.latest = Now() + delay;
              }
            }
            value.unsure = false;
          }
        });
      }
    }
    for (int n = Choose(4); n > 0; --n) {
      check_rest();
      simulation::Sleep(absl::Milliseconds(501));
    }
    check_rest();
    AtRest([&] { closed = true; });
    if (OneIn(2)) {
      queue->ShutDown();
    } else {
      AtRest([] {});
      if (waiting == 0) queue->ShutDown();
    }
    queue->ShutDown();
  }
  owned.reset();
});

const AddScenario scheduler("scheduler", "a Scheduler", [] {
  struct Task {
    absl::Duration due;  // of the next run
    absl::Duration period;
    int runs = 0;
    bool running = false;
    bool cancelled = false;
    bool alive = true;  // its function
    TaskId id;
  };
  SchedulerOptions options;
  options.workers = 1 + Choose(3);
  options.waiting_set = AnySet();
  std::unique_ptr<Scheduler> owned = *Scheduler::Create(std::move(options));
  Scheduler* const scheduler = owned.get();
  std::vector<std::shared_ptr<Task>> tasks;
  bool ending = false;
  const auto add = [&] {
    auto task = std::make_shared<Task>();
    tasks.push_back(task);
    // Destroyed with the function.
    std::shared_ptr<void> life(nullptr, [task](void*) {
      Check(!task->running, "a function is destroyed while it runs");
      task->alive = false;
    });
    const absl::Duration delay = AnyDelay();
    task->due = Now() + delay;
    auto run = [task, life = std::move(life), scheduler] {
      Check(!task->running, "the runs of a task overlap");
      Check(task->alive, "a function runs that is destroyed");
      Check(task->due <= Now(), "a task runs early");
      Check(!task->cancelled, "a cancelled task runs");
      Check(task->period > absl::ZeroDuration() || task->runs == 0,
            "a task runs twice");
      task->running = true;
      ++task->runs;
      task->due += task->period;  // at least
      if (OneIn(3)) simulation::Sleep(absl::Milliseconds(200));
      if (OneIn(6)) scheduler->CancelAndWait(task->id);
      task->running = false;
    };
    absl::StatusOr<TaskId> id;
    if (OneIn(3)) {
      task->period = absl::Milliseconds(400);
      ScheduleEveryOptions every;
      every.initial_delay = delay;
      id = scheduler->ScheduleEvery(std::move(run), task->period, every);
    } else {
      id = scheduler->ScheduleOnce(std::move(run), delay);
    }
    Check(id.ok() || ending, "an open scheduler refuses a task");
    if (id.ok()) task->id = *id;
  };
  const auto check_rest = [&] {
    AtRest([&] {
      const SchedulerSnapshot snapshot = scheduler->TakeSnapshotUpTo(100);
      if (snapshot.running.size() < scheduler->num_workers()) {
        for (const SchedulerSnapshot::Waiting& it : snapshot.waiting) {
          Check(it.due_at + absl::Milliseconds(2) > snapshot.taken_at,
                "a task waits that is due");
        }
      }
    });
  };
  {
    Threads threads;
    for (int i = 1 + Choose(2); i > 0; --i) {
      threads.Start([&] {
        for (int n = 1 + Choose(3); n > 0; --n) {
          if (tasks.empty() || Choose(3) != 2) {
            add();
            continue;
          }
          const std::shared_ptr<Task> task =
              tasks[Choose(static_cast<int>(tasks.size()))];
          if (task->id == TaskId()) continue;
          if (OneIn(2)) {
            const int runs = task->runs;
            const bool cancelled = scheduler->Cancel(task->id);
            if (cancelled) {
              Check(task->period > absl::ZeroDuration() || runs == 0 ||
                        task->runs == 0,
                    "a task is cancelled that has run");
              // A run of a periodic task may have begun.
              if (task->period == absl::ZeroDuration()) task->cancelled = true;
            }
          } else {
            scheduler->CancelAndWait(task->id);
            Check(!task->running, "CancelAndWait() returns in a run");
            Check(!task->alive, "CancelAndWait() leaves the function");
            task->cancelled = true;
          }
        }
      });
    }
    if (OneIn(3)) {
      ending = true;
      scheduler->ShutDown();
    }
  }
  for (int n = Choose(4); n > 0; --n) {
    check_rest();
    simulation::Sleep(absl::Milliseconds(501));
  }
  check_rest();
  ending = true;
  Threads enders;
  for (int i = Choose(3); i > 0; --i) {
    enders.Start([&] {
      if (OneIn(3)) {
        scheduler->ShutDown();
        return;
      }
      scheduler->ShutDownWithDrain();
      for (const auto& task : tasks) {
        Check(!task->alive, "a drain leaves a function");
      }
    });
  }
  enders.Join();
  owned.reset();
  for (const auto& task : tasks) {
    Check(!task->running && !task->alive, "a task outlives its scheduler");
  }
});

const AddScenario timers("timers", "Timers", [] {
  struct Call {
    absl::Duration earliest, latest;  // when it is due
    bool called = false;
    bool cancelled = false;
    bool alive = true;
    TimerId id;
  };
  std::unique_ptr<Executor> executor;
  if (OneIn(2)) {
    ThreadPoolOptions options;
    options.threads = 1 + Choose(2);
    executor = *ThreadPool::Create(options);
  } else {
    executor = std::make_unique<InlineExecutor>();
  }
  TimersOptions options;
  options.waiting_set = AnySet();
  auto owned = std::make_unique<Timers>(std::move(options));
  Timers* const timers = owned.get();
  std::vector<std::shared_ptr<Call>> calls;
  bool ending = false;
  const auto check_rest = [&] {
    AtRest([&] {
      for (const auto& call : calls) {
        Check(call->called || call->cancelled || call->id == TimerId() ||
                  call->latest + absl::Milliseconds(2) > Now(),
              "a callback waits that is due");
        Check(!call->alive || !call->cancelled, "a cancelled callback is left");
      }
    });
  };
  {
    Threads threads;
    for (int i = 1 + Choose(3); i > 0; --i) {
      threads.Start([&] {
        for (int n = 1 + Choose(3); n > 0; --n) {
          if (calls.empty() || Choose(3) != 2) {
            auto call = std::make_shared<Call>();
            calls.push_back(call);
            std::shared_ptr<void> life(nullptr,
                                       [call](void*) { call->alive = false; });
            const absl::Duration delay = AnyDelay();
            call->earliest = Now() + delay;
            call->id = timers->CallAfter(
                delay, executor.get(), [call, life, &ending](absl::Status s) {
                  Check(!call->called, "a callback is called twice");
                  Check(!call->cancelled, "a cancelled callback is called");
                  Check(s.ok() ? call->earliest <= Now() : ending,
                        "a callback is called early");
                  call->called = true;
                });
            call->latest = Now() + delay;
            continue;
          }
          const auto call = calls[Choose(static_cast<int>(calls.size()))];
          if (call->id == TimerId()) continue;
          if (timers->Cancel(call->id)) {
            Check(!call->called, "a callback is called and cancelled");
            call->cancelled = true;
          }
        }
      });
    }
    if (OneIn(3)) {
      ending = true;
      timers->ShutDown();
    }
  }
  for (int n = Choose(4); n > 0; --n) {
    check_rest();
    simulation::Sleep(absl::Milliseconds(501));
  }
  check_rest();
  ending = true;
  if (OneIn(2)) timers->ShutDown();
  owned.reset();
  for (const auto& call : calls) {
    Check(call->called != call->cancelled, "a callback is lost");
    Check(!call->alive, "a callback is not destroyed");
  }
});

// Clients of one loop, which come and go.
const AddScenario loop("waiting_loop", "clients of a WaitingLoop", [] {
  class Client final : public WaitingLoop::Client {
   public:
    absl::Time Run(absl::Time now) override {
      Check(!removed, "a client runs that has been removed");
      Check(!running, "a client runs twice at a time");
      running = true;
      ++*all_running;
      due = false;
      if (OneIn(4)) simulation::Sleep(absl::Milliseconds(1));
      ++runs;
      running = false;
      --*all_running;
      return OneIn(3) ? now + absl::Milliseconds(300) : absl::InfiniteFuture();
    }
    explicit Client(int* clients_running) : all_running(clients_running) {}
    int* const all_running;
    bool removed = false;
    bool running = false;
    bool due = false;
    int runs = 0;
  };
  int running = 0;
  auto loop = std::make_shared<WaitingLoop>(Clock::GetRealClock(), "simulated");
  Threads threads;
  for (int i = 1 + Choose(3); i > 0; --i) {
    threads.Start([loop, &running] {
      auto client = std::make_unique<Client>(&running);
      loop->Add(client.get());
      for (int n = Choose(4); n > 0; --n) {
        client->due = true;
        loop->Wake(client.get());
        if (OneIn(2)) {
          AtRest([&] {
            Check(!client->due || running > 0, "a wake-up of a client is lost");
          });
        }
      }
      loop->Remove(client.get());
      Check(!client->running, "Remove() returns in a run");
      client->removed = true;
      client.reset();
    });
  }
  threads.Join();
  loop.reset();
});

// When `Step()` returns, all that is due has been done.
const AddScenario fake("fake_clock", "a DelayingQueue on a FakeClock", [] {
  FakeClock clock;
  DelayingQueueOptions<std::string> options;
  options.clock = &clock;
  options.waiting_set = AnySet();
  {
    DelayingQueue<std::string> queue(std::move(options));
    std::map<std::string, absl::Time> due;
    Threads threads;
    const bool with_sleeper = OneIn(2);
    bool awake = false;
    if (with_sleeper) {
      threads.Start([&] {
        clock.Sleep(absl::Seconds(2));
        awake = true;
      });
      clock.AwaitWaiters(OneIn(2) ? 2 : 1);
    }
    for (int i = 1 + Choose(3); i > 0; --i) {
      const std::string key(1, static_cast<char>('a' + i));
      const absl::Duration delay = absl::Milliseconds(500 * (1 + Choose(4)));
      if (OneIn(2)) {
        queue.AddAfter(key, delay);
        due[key] = clock.TimeNow() + delay;
      } else {
        threads.Start([&queue, key, delay] { queue.AddAfter(key, delay); });
      }
    }
    for (int n = Choose(3); n > 0; --n) {
      clock.Step(absl::Milliseconds(501 * (1 + Choose(3))));
      for (const auto& [key, time] : due) {
        if (time + absl::Milliseconds(2) > clock.TimeNow()) continue;
        const auto snapshot = queue.TakeSnapshotOf(key);
        Check(snapshot.ok() && snapshot->num_queued > 0,
              "Step() returns before what is due");
      }
    }
    if (with_sleeper) {
      while (!awake) {
        clock.Step(absl::Seconds(1));
        sync::Yield();
      }
    }
    threads.Join();
  }
});

}  // namespace
}  // namespace workqueue
