// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What waits for its time, and what runs functions.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "test/simulation/any_executor.h"
#include "test/simulation/memory.h"
#include "test/simulation/scenario.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/controller/parallelize_until.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/executor.h"
#include "workqueue/lease.h"
#include "workqueue/loop_executor.h"
#include "workqueue/thread_pool.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/scheduler.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timers.h"

namespace workqueue {
namespace {

using internal::MutexLock;
using simulation::AtRest;
using simulation::Check;
using simulation::Choose;
using simulation::Now;

absl::Duration AnyDelay() { return absl::Milliseconds(500 * Choose(4)); }

WaitingSetOptions AnySet() {
  return OneIn(3) ? *WaitingSetOptions::TimingWheel(absl::Milliseconds(1))
                  : WaitingSetOptions();
}

// Each task runs once, in the order of their submission if there is one thread,
// also one that is submitted when the pool has seen another one and is
// destroyed. Nothing is locked while a task is destroyed.
const AddScenario pool(
    "thread_pool", "a ThreadPool, and tasks that submit", [] {
      ThreadPoolOptions options;
      options.threads = 1 + Choose(3);
      std::unique_ptr<ThreadPool> owned = *ThreadPool::Create(options);
      ThreadPool* const pool = owned.get();
      const bool at_once = OneIn(2);
      int submitted = 0;
      int run = 0;
      int running = 0;
      bool one_waits = false;
      struct Task {
        bool submitted = false;  // Its submission has returned.
        bool begun = false;
        sync::Notification ended;
        std::vector<Task*> earlier;  // Their submission had returned before.
      };
      std::list<Task> tasks;
      // Submits a task, which may submit others, also when it is destroyed. One
      // at a time may wait for one that it submits.
      std::function<Task*(int)> submit = [&](int depth) {
        ++submitted;
        Task* const mine = &tasks.emplace_back();
        for (Task& it : tasks) {
          if (it.submitted && !it.begun) mine->earlier.push_back(&it);
        }
        const std::shared_ptr<void> life(nullptr, [&, depth](void*) {
          if (depth > 0 && OneIn(4)) submit(0);
        });
        pool->Execute([&, mine, depth, life] {
          mine->begun = true;
          for (const Task* it : mine->earlier) {
            Check(it->begun || options.threads > 1,
                  "tasks begin in another order");
          }
          ++running;
          if (depth > 0 && OneIn(2)) {
            const Task* const other = submit(depth - 1);
            if (options.threads > 1 && !one_waits && OneIn(2)) {
              one_waits = true;
              other->ended.WaitForNotification();
              one_waits = false;
            }
          }
          if (OneIn(3)) simulation::Sleep(absl::Milliseconds(1));
          --running;
          ++run;
          mine->ended.Notify();
        });
        mine->submitted = true;
        return mine;
      };
      Threads threads;
      int expected = 0;
      for (int i = 1 + Choose(3); i > 0; --i) {
        const int mine = 1 + Choose(2);
        expected += mine;
        threads.Start([&submit, mine, at_once] {
          for (int n = 0; n < mine; ++n) submit(at_once ? 0 : 1);
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
      threads.Join();
      CheckFreedMemory();
    });

// A clock without parkers of its own.
class BareClock final : public Clock {
 public:
  absl::Time TimeNow() override { return real().TimeNow(); }
  void Sleep(absl::Duration d) override { real().Sleep(d); }
  void SleepUntil(absl::Time time) override { real().SleepUntil(time); }
  bool AwaitWithDeadline(sync::Mutex* mu, const absl::Condition& cond,
                         absl::Time deadline) override {
    return real().AwaitWithDeadline(mu, cond, deadline);
  }

 private:
  static Clock& real() { return *Clock::GetRealClock(); }
};

// A parker of the real clock, or of another one, which the thread that parks
// destroys.
const AddScenario parker("parker", "a parker", [] {
  const Parker::Role role =
      Choose(2) == 0 ? Parker::Role::kCaller : Parker::Role::kLoop;
  BareClock bare_clock;
  const bool is_bare = OneIn(3);
  std::unique_ptr<Parker> owned = is_bare
                                      ? bare_clock.NewParker(role)
                                      : Clock::GetRealClock()->NewParker(role);
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
  if (unparked < unparks || seen < unparks || is_bare) threads.Join();
  owned.reset();
  threads.Join();
  CheckFreedMemory();
});

// A value of a `DelayQueue`, and what has happened to it.
struct DelayValue {
  absl::Duration earliest, latest;  // when it is due
  bool unsure = false;  // A call that moves or drops it is in progress.
  bool taken = false;
  bool cancelled = false;
  bool destroyed = false;  // by the queue
  DelayQueueHandle handle;
};

// What is in the queue.
class DelayToken {
 public:
  explicit DelayToken(DelayValue* value) : value_(value) {}
  DelayToken(DelayToken&& other) noexcept
      : value_(std::exchange(other.value_, nullptr)) {}
  DelayToken& operator=(DelayToken&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~DelayToken() {
    if (value_ == nullptr) return;
    Check(!value_->destroyed, "a value is destroyed twice");
    value_->destroyed = true;
  }

  // Somebody has got it.
  void Take() {
    Check(value_ != nullptr, "a value comes that has been moved from");
    Check(!value_->destroyed, "a value comes that is destroyed");
    Check(!value_->taken && !value_->cancelled,
          "a value comes twice, or after its end");
    Check(value_->unsure || value_->earliest <= Now(), "a value comes early");
    value_->taken = true;
    value_ = nullptr;
  }

 private:
  DelayValue* value_;
};

// `exact`: time passes only when no thread can go on.
void DelayQueueLife(bool exact) {
  std::list<DelayValue> values;
  DelayQueueOptions options;
  options.waiting_set = AnySet();
  const absl::Duration tick = options.waiting_set.tick();
  int waiting = 0;  // takers
  int receiving = 0;
  bool receives = false;
  std::unique_ptr<DelayQueue<DelayToken>> owned;
  if (OneIn(3)) {
    receives = true;
    if (OneIn(2)) {
      options.clock = std::make_shared<WaitingLoop>(Clock::GetRealClock());
    }
    owned = std::make_unique<DelayQueue<DelayToken>>(
        std::move(options), [&receiving](DelayToken value) {
          Check(++receiving == 1, "two values are received at a time");
          value.Take();
          if (OneIn(4)) simulation::Sleep(absl::Milliseconds(300));
          --receiving;
        });
  } else {
    owned = std::make_unique<DelayQueue<DelayToken>>(std::move(options));
  }
  DelayQueue<DelayToken>* const queue = owned.get();
  std::multiset<absl::Duration> ends;                 // of waits with a timeout
  absl::Duration shut_at = absl::InfiniteDuration();  // when that began
  const auto shut_down = [&] {
    shut_at = (std::min)(shut_at, Now());
    queue->ShutDown();
    Check(queue->ShuttingDown(), "a shut queue is open");
  };
  const auto check_rest = [&] {
    AtRest([&] {
      Check(!exact || ends.empty() || *ends.begin() > Now(),
            "a wait does not end");
      if (receiving > 0) return;
      size_t left = 0;
      bool all_sure = true;
      for (const DelayValue& it : values) {
        Check(it.destroyed || it.taken || !it.cancelled,
              "a cancelled value is left");
        all_sure &= !it.unsure;
        if (it.taken || it.destroyed || it.cancelled || it.unsure) continue;
        ++left;
        if (waiting == 0 && !receives) continue;
        Check(it.latest + tick > Now(), "a thread waits while a value is due");
      }
      Check(queue->Len() == left || !all_sure, "a value is lost");
    });
  };
  bool has_taker = false;
  bool destroying = false;  // Nobody may call it.
  int num_takers = 0;
  Threads takers;
  for (int i = receives ? Choose(2) : 1 + Choose(3); i > 0; --i) {
    const int kind = Choose(3);
    has_taker = true;
    ++num_takers;
    takers.Start([&, kind] {
      absl::Cleanup ended = [&num_takers] { --num_takers; };
      while (!destroying) {
        const absl::Duration begin = Now();
        absl::Status status;
        ++waiting;
        if (kind == 0) {
          std::optional<DelayToken> value = queue->Take();
          --waiting;
          if (value.has_value()) {
            value->Take();
          } else {
            status = absl::CancelledError("");
          }
        } else if (kind == 1) {
          constexpr absl::Duration kTimeout = absl::Milliseconds(700);
          const auto end = ends.insert(begin + kTimeout);
          absl::StatusOr<DelayToken> value = queue->TakeWithTimeout(kTimeout);
          ends.erase(end);
          --waiting;
          status = value.status();
          if (value.ok()) {
            value->Take();
          } else if (absl::IsDeadlineExceeded(status)) {
            Check(Now() >= begin + kTimeout, "a wait ends early");
            continue;
          }
        } else {
          absl::StatusOr<std::vector<DelayToken>> some = queue->TakeUpTo(2);
          --waiting;
          status = some.status();
          if (some.ok()) {
            for (DelayToken& it : *some) it.Take();
          }
        }
        if (!status.ok()) {
          Check(absl::IsCancelled(status) && shut_at <= Now(),
                "a taker ends though the queue is open");
          return;
        }
        if (OneIn(4)) simulation::Sleep(absl::Milliseconds(300));
      }
    });
  }
  {
    Threads others;
    for (int i = 1 + Choose(2); i > 0; --i) {
      others.Start([&] {
        for (int n = 1 + Choose(4); n > 0; --n) {
          if (values.empty() || Choose(3) != 2) {
            DelayValue& value = values.emplace_back();
            const absl::Duration delay = AnyDelay();
            value.earliest = Now() + delay;
            value.unsure = true;
            value.handle = queue->Push(DelayToken(&value), delay);
            value.unsure = false;
            value.latest = Now() + delay;
            Check(value.handle || shut_at <= Now(),
                  "an open queue refuses a value");
            Check(value.handle || value.destroyed, "a refused value is kept");
            continue;
          }
          DelayValue& value = *std::next(
              values.begin(), Choose(static_cast<int>(values.size())));
          if (value.unsure) continue;
          value.unsure = true;
          if (OneIn(2)) {
            if (queue->Cancel(value.handle)) {
              Check(!value.taken, "a value comes and is cancelled");
              Check(value.destroyed, "a cancelled value is left");
              value.cancelled = true;
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
    if (OneIn(5)) others.Start(shut_down);
  }
  for (int n = Choose(4); n > 0; --n) {
    check_rest();
    // Not always at the time itself, and not always after it.
    simulation::Sleep(absl::Milliseconds(500 + Choose(2)));
  }
  if (OneIn(2)) check_rest();
  AtRest([&] { destroying = waiting == num_takers && OneIn(2); });
  if (!destroying) {
    shut_down();
    AtRest([&] { Check(waiting == 0, "a shutdown leaves a taker asleep"); });
    DelayValue late;
    Check(!queue->Push(DelayToken(&late), absl::ZeroDuration()),
          "a shut queue takes a value");
    for (const DelayValue& it : values) {
      Check(!queue->Reset(it.handle, absl::ZeroDuration()),
            "a value of a shut queue is reset");
    }
    // Who waits for a value gets nothing, and what is due is taken before.
    takers.Join();
    for (const DelayValue& it : values) {
      Check(!has_taker || receives || it.taken || it.cancelled || !it.handle ||
                it.latest + tick > shut_at,
            "a value is lost that was due");
    }
  }
  shut_at = (std::min)(shut_at, Now());
  if (destroying && OneIn(2)) {
    // A taker may get it while the destructor runs.
    DelayValue& last = values.emplace_back();
    last.earliest = last.latest = Now();
    queue->Push(DelayToken(&last), absl::ZeroDuration());
  }
  owned.reset();
  takers.Join();
  for (const DelayValue& it : values) {
    Check(it.taken || it.destroyed, "a value outlives its queue");
  }
}
const AddScenario delay_queue("delay_queue", "a DelayQueue",
                              [] { DelayQueueLife(false); });
const AddScenario exact_delay_queue(
    "exact_delay_queue", "the same, while time passes exactly",
    [] { DelayQueueLife(true); }, /*exact_time=*/true);

const AddScenario scheduler("scheduler", "a Scheduler", [] {
  struct Task {
    absl::Duration due;                                // of the next run
    absl::Duration latest = absl::InfiniteDuration();  // of the first run
    absl::Duration period;
    bool cancels = false;  // Somebody has tried to cancel it.
    bool over = false;     // It has cancelled itself.
    int runs = 0;
    bool running = false;
    bool cancelled = false;
    bool alive = true;  // its function
    TaskId id;
  };
  SchedulerOptions options;
  if (OneIn(3)) {
    options.clock = std::make_shared<WaitingLoop>(Clock::GetRealClock());
  } else {
    options.workers = 1 + Choose(3);
  }
  options.waiting_set = AnySet();
  std::unique_ptr<Scheduler> owned = *Scheduler::Create(std::move(options));
  Scheduler* const scheduler = owned.get();
  absl::Duration end = absl::InfiniteDuration();  // when that begins
  std::vector<std::shared_ptr<Task>> tasks;
  const auto add = [&] {
    auto task = std::make_shared<Task>();
    tasks.push_back(task);
    // Destroyed with the function.
    std::shared_ptr<void> life(nullptr, [task, scheduler](void*) {
      Check(!task->running, "a function is destroyed while it runs");
      scheduler->Len();  // No lock is held.
      task->alive = false;
    });
    // Between two ticks of a wheel at times.
    const absl::Duration delay =
        AnyDelay() + absl::Microseconds(300 * Choose(2));
    task->due = Now() + delay;
    auto run = [task, life = std::move(life), scheduler, &end] {
      Check(!task->running, "the runs of a task overlap");
      Check(task->alive, "a function runs that is destroyed");
      Check(task->due <= Now(), "a task runs early");
      Check(!task->cancelled && !task->over, "a cancelled task runs");
      Check(task->period > absl::ZeroDuration() || task->runs == 0,
            "a task runs twice");
      task->running = true;
      ++task->runs;
      task->due += task->period;  // at least
      if (OneIn(3)) simulation::Sleep(absl::Milliseconds(200));
      if (OneIn(6) && task->id != TaskId()) {
        task->cancels = true;
        scheduler->CancelAndWait(task->id);
        task->over = true;
      }
      if (OneIn(16)) {
        end = (std::min)(end, Now());
        Check(!scheduler->ShutDownWithDrain(), "a task waits for itself");
      }
      task->running = false;
    };
    absl::StatusOr<TaskId> id;
    if (OneIn(3)) {
      task->period = absl::Milliseconds(400);
      ScheduleEveryOptions every;
      every.initial_delay = delay;
      every.fixed_rate = OneIn(2);
      id = scheduler->ScheduleEvery(std::move(run), task->period, every);
    } else {
      id = scheduler->ScheduleOnce(std::move(run), delay);
    }
    Check(id.ok() || end <= Now(), "an open scheduler refuses a task");
    if (id.ok()) task->id = *id;
    if (id.ok()) task->latest = Now() + delay;
  };
  const auto shut_down = [&](bool drains) {
    end = (std::min)(end, Now());
    if (!drains) return scheduler->ShutDown();
    const bool drained = scheduler->ShutDownWithDrain();
    for (const auto& task : tasks) {
      // Others may be adding a task, which is refused.
      Check(!task->alive || task->id == TaskId(), "a drain leaves a function");
    }
    if (!drained) return;
    for (const auto& task : tasks) {
      Check(!task->running, "a drain returns in a run");
      // Between two ticks of a wheel it is due, too.
      Check(task->runs > 0 || task->cancels || task->latest > end,
            "a drain drops what was due");
    }
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
          task->cancels = true;
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
    if (OneIn(3)) shut_down(OneIn(2));
  }
  for (int n = Choose(4); n > 0; --n) {
    check_rest();
    simulation::Sleep(absl::Microseconds(500000 + 500 * Choose(3)));
  }
  if (OneIn(2)) check_rest();
  Threads enders;
  for (int i = Choose(3); i > 0; --i) {
    enders.Start([&] { shut_down(!OneIn(3)); });
  }
  enders.Join();
  end = (std::min)(end, Now());
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
  bool shut = false;  // ShutDown() has returned.
  const auto check_rest = [&] {
    AtRest([&] {
      for (const auto& call : calls) {
        Check(call->called || call->cancelled || call->id == TimerId() ||
                  (!shut && call->latest + absl::Milliseconds(2) > Now()),
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
      shut = true;
    }
  }
  for (int n = Choose(4); n > 0; --n) {
    check_rest();
    simulation::Sleep(absl::Milliseconds(500 + Choose(2)));
  }
  if (OneIn(2)) check_rest();
  ending = true;
  if (OneIn(2)) {
    timers->ShutDown();
    shut = true;
    check_rest();
  }
  InlineExecutor here;
  if (OneIn(2)) {
    owned.reset();
  } else {
    here.Execute([&owned] { owned.reset(); });
  }
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
      // It may be removed meanwhile.
      if (OneIn(4)) loop->Wake(this);
      ++runs;
      running = false;
      --*all_running;
      if (leaves) {
        // Another client may take its place at once.
        loop->Remove(this);
        *left = true;
        delete this;
        return now;
      }
      return OneIn(3) ? now + absl::Milliseconds(300) : absl::InfiniteFuture();
    }
    Client(WaitingLoop* its_loop, int* clients_running)
        : loop(its_loop), all_running(clients_running) {}
    WaitingLoop* const loop;
    int* const all_running;
    bool leaves = false;   // It removes and destroys itself in its run.
    bool* left = nullptr;  // and has done so
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
      auto client = std::make_unique<Client>(loop.get(), &running);
      if (OneIn(4)) {
        bool left = false;
        client->leaves = true;
        client->left = &left;
        loop->Add(client.release());
        while (!left) simulation::Sleep(absl::Milliseconds(1));
        return;
      }
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
      if (OneIn(4)) clock.Step(-absl::Seconds(1));
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

// Threads that wait on a FakeClock, each in one of the ways. When `Step()`
// returns, loops and pools have done what is due and what was asked for, and
// then each thread whose time has come has returned.
// A loop does at the old time what it was asked for before a step.
const AddScenario fake_step("fake_clock_step", "a step of a FakeClock", [] {
  struct Client final : WaitingLoop::Client {
    absl::Time Run(absl::Time now) override {
      if (asked) runs.push_back(now);
      return absl::InfiniteFuture();
    }
    bool asked = false;
    std::vector<absl::Time> runs;
  };
  FakeClock clock;
  WaitingLoop loop(&clock);
  Client client;
  loop.Add(&client);
  const absl::Time before = clock.TimeNow();
  client.asked = true;
  loop.Wake(&client);
  clock.Step(absl::Seconds(1));
  Check(!client.runs.empty() && client.runs.front() == before,
        "a step comes before what was asked for");
  loop.Remove(&client);
});

const AddScenario fake_waits("fake_clock_waits", "waits on a FakeClock", [] {
  FakeClock clock;
  struct Sleeper {
    absl::Time until;
    bool waits = false;
  };
  std::list<Sleeper> sleepers;
  sync::Mutex mu;
  bool ends_waits = false;  // Guarded by mu.
  const int num_threads = Choose(3);
  std::unique_ptr<ThreadPool> pool;
  if (num_threads > 0) {
    ThreadPoolOptions options;
    options.threads = num_threads;
    options.clock = &clock;
    pool = *ThreadPool::Create(options);
  }
  int submitted = 0;
  int run = 0;
  std::unique_ptr<Parker> parker =
      OneIn(2) ? clock.NewParker(Parker::Role::kLoop) : nullptr;
  const bool has_loop = parker != nullptr;
  bool is_told = false;  // of `stops`
  int asked = 0;
  int done = 0;
  absl::Time next = clock.TimeNow() + absl::Seconds(1);
  bool stops = false;
  Threads threads;
  if (has_loop) {
    threads.Start([&] {
      parker->ParkUntil(absl::InfinitePast());
      while (!stops) {
        done = asked;
        const absl::Time now = clock.TimeNow();
        while (next <= now) next += absl::Milliseconds(500 * (1 + Choose(2)));
        parker->ParkUntil(next);
      }
      while (!is_told) sync::Yield();
      parker.reset();
    });
  }
  bool went_back = false;
  for (int i = Choose(3); i > 0; --i) {
    threads.Start([&] {
      Sleeper& mine = sleepers.emplace_back();
      for (int n = 1 + Choose(3); n > 0; --n) {
        mine.until = clock.TimeNow() + AnyDelay();
        mine.waits = true;
        switch (Choose(3)) {
          case 0:
            clock.SleepUntil(mine.until);
            break;
          case 1: {
            MutexLock lock(&mu);
            const bool ended = clock.AwaitWithDeadline(
                &mu, absl::Condition(&ends_waits), mine.until);
            Check(ended == ends_waits, "a wait returns the wrong result");
            if (ended) mine.until = absl::InfinitePast();
            break;
          }
          default:
            clock.NewParker(Parker::Role::kCaller)->ParkUntil(mine.until);
        }
        mine.waits = false;
        const absl::Time now = clock.TimeNow();
        Check(now >= mine.until || went_back, "a wait ends early");
      }
    });
  }
  const auto step = [&](absl::Duration d) {
    if (has_loop && OneIn(2)) {
      ++asked;
      parker->Unpark();
    }
    for (int n = pool != nullptr ? Choose(3) : 0; n > 0; --n) {
      ++submitted;
      pool->Execute([&run] { ++run; });
    }
    clock.Step(d);
    Check(run == submitted, "Step() does not wait for a task");
    Check(!has_loop || done == asked, "Step() does not wait for a request");
    Check(!has_loop || next > clock.TimeNow(), "Step() leaves what is due");
    AtRest([&] {
      size_t waiting = static_cast<size_t>(num_threads) + (has_loop ? 1 : 0);
      absl::Time first = has_loop ? next : absl::InfiniteFuture();
      for (const Sleeper& it : sleepers) {
        if (!it.waits) continue;
        Check(it.until > clock.TimeNow(), "a thread sleeps for too long");
        ++waiting;
        first = (std::min)(first, it.until);
      }
      Check(clock.NumWaiters() == waiting, "the clock counts others");
      Check(clock.GetEarliestWakeupTime() == first,
            "the clock knows another time");
    });
  };
  for (int n = Choose(4); n > 0; --n) {
    if (OneIn(4)) {
      // What waits for an earlier time waits longer.
      went_back = true;
      clock.Step(-absl::Milliseconds(300));
      continue;
    }
    if (OneIn(4)) {
      MutexLock lock(&mu);
      ends_waits = true;
    }
    step(AnyDelay());
  }
  simulation::AwaitIdle();  // All have begun.
  while (std::any_of(sleepers.begin(), sleepers.end(),
                     [](const Sleeper& it) { return it.waits; })) {
    step(absl::Seconds(2));
  }
  stops = true;
  if (has_loop) parker->Unpark();
  is_told = true;
  // The loop is over, or ends meanwhile.
  clock.Step(absl::Seconds(10));
  threads.Join();
});

// A loop that the program drives, and what is on it.
const AddScenario driven(
    "driven_queue", "a queue on a loop that is driven", [] {
      const std::unique_ptr<FakeClock> fake =
          OneIn(2) ? std::make_unique<FakeClock>() : nullptr;
      Clock* const clock = fake != nullptr ? fake.get() : Clock::GetRealClock();
      // Where the program sleeps.
      const std::unique_ptr<Parker> parker =
          Clock::GetRealClock()->NewParker(Parker::Role::kLoop);
      auto loop =
          std::make_shared<WaitingLoop>(clock, [&parker] { parker->Unpark(); });
      bool stops = false;
      sync::Thread runner([&] {
        while (!stops) {
          const absl::Time next = loop->RunDue();
          if (next > clock->TimeNow()) {
            parker->ParkUntil(fake != nullptr ? absl::InfiniteFuture() : next);
          }
        }
      });
      if (fake != nullptr) {
        // The clock knows the thread that has run the loop.
        simulation::AwaitIdle();
      }
      {
        DelayingQueueOptions<std::string> options;
        options.clock = loop;
        LoopExecutor executor(loop);
        DelayingQueue<std::string> queue(std::move(options));
        int submitted = 0;
        int run = 0;
        int calls = 0;
        int called = 0;
        const auto check_rest = [&] {
          AtRest([&] {
            Check(run == submitted, "a task waits for the loop");
            const auto snapshot = queue.TakeSnapshot();
            Check(snapshot.ok(), "a snapshot fails");
            for (const auto& it : snapshot->waiting) {
              Check(it.ready_at > snapshot->taken_at,
                    "an item waits that is due");
            }
            Check(snapshot->num_queued == 0 || called == calls,
                  "a callback waits while an item is queued");
          });
        };
        {
          Threads threads;
          for (int i = 1 + Choose(2); i > 0; --i) {
            threads.Start([&] {
              for (int n = 1 + Choose(3); n > 0; --n) {
                switch (Choose(3)) {
                  case 0: {
                    ++submitted;
                    const bool again = OneIn(3);
                    executor.Execute([&, again] {
                      ++run;
                      if (!again) return;
                      ++submitted;
                      executor.Execute([&run] { ++run; });
                    });
                    break;
                  }
                  case 1:
                    queue.AddAfter("a", AnyDelay());
                    break;
                  default:
                    ++calls;
                    queue.AcquireAsync(
                        &executor,
                        [&](absl::StatusOr<Lease<std::string>>) { ++called; });
                }
              }
            });
          }
        }
        for (int n = Choose(4); n > 0; --n) {
          check_rest();
          const absl::Duration d = absl::Milliseconds(500 + Choose(2));
          if (fake != nullptr) {
            fake->Step(d);
            Check(run == submitted, "Step() does not wait for a task");
            const auto snapshot = queue.TakeSnapshot();
            Check(snapshot.ok(), "a snapshot fails");
            for (const auto& it : snapshot->waiting) {
              Check(it.ready_at > clock->TimeNow(),
                    "Step() leaves what is due");
            }
          } else {
            simulation::Sleep(d);
          }
        }
        check_rest();
        queue.ShutDown();
      }
      stops = true;
      parker->Unpark();
      runner.join();
    });

// So many wait that the memory of those that are cancelled is given to others,
// while some of them end.
const AddScenario peak(
    "timer_peak", "a peak of what waits for its time",
    [] {
      constexpr int kAll = 400;
      const int kind = Choose(3);
      const std::unique_ptr<Executor> executor = AnyExecutor();
      std::unique_ptr<Timers> timers;
      std::unique_ptr<Scheduler> scheduler;
      std::unique_ptr<DelayQueue<int>> queue;
      std::vector<int> ended(kAll);
      std::vector<bool> cancelled(kAll);
      std::vector<TimerId> timer_ids;
      std::vector<TaskId> task_ids;
      std::vector<DelayQueueHandle> handles;
      const auto end = [&](int i) {
        Check(++ended[i] == 1, "one ends twice");
        if (OneIn(8)) simulation::Sleep(absl::Milliseconds(1));
      };
      if (kind == 0) {
        timers = std::make_unique<Timers>();
      } else if (kind == 1) {
        scheduler = *Scheduler::Create();
      } else {
        DelayQueueOptions options;
        options.clock = std::make_shared<WaitingLoop>(Clock::GetRealClock());
        queue = std::make_unique<DelayQueue<int>>(std::move(options), end);
      }
      const int kept = 2 + Choose(40);  // one of so many
      for (int i = 0; i < kAll; ++i) {
        const absl::Duration delay =
            absl::Milliseconds(i % kept == 0 ? 1 + i / kept : 1000000);
        if (kind == 0) {
          timer_ids.push_back(
              timers->CallAfter(delay, executor.get(),
                                [&end, i](const absl::Status&) { end(i); }));
        } else if (kind == 1) {
          task_ids.push_back(
              *scheduler->ScheduleOnce([&end, i] { end(i); }, delay));
        } else {
          handles.push_back(queue->Push(i, delay));
        }
      }
      for (int i = 0; i < kAll; ++i) {
        if (i % kept == 0) continue;
        cancelled[i] = kind == 0   ? timers->Cancel(timer_ids[i])
                       : kind == 1 ? scheduler->Cancel(task_ids[i])
                                   : queue->Cancel(handles[i]);
        Check(cancelled[i], "one is not cancelled that waits");
        if (OneIn(100)) simulation::Sleep(absl::Milliseconds(1));
      }
      simulation::Sleep(absl::Seconds(1));
      simulation::AwaitIdle();
      for (int i = 0; i < kAll; ++i) {
        Check(ended[i] == (cancelled[i] ? 0 : 1),
              "one is lost, or not cancelled");
      }
    },
    /*exact_time=*/true);

// Each piece is done once.
const AddScenario pieces("parallelize", "ParallelizeUntil()", [] {
  const size_t all = Choose(6);
  const size_t workers = 1 + Choose(3);
  ParallelizeOptions options;
  options.chunk_size = 1 + Choose(2);
  const bool stops = OneIn(3);
  const bool throws = OneIn(4);
  std::vector<int> done(all);
  int running = 0;
  sync::Notification stop;
  Threads threads;
  if (stops) threads.Start([&stop] { stop.Notify(); });
  absl::Status status;
  bool has_thrown = false;
  try {
    status = ParallelizeUntil(
        stops ? &stop : nullptr, workers, all,
        [&](size_t i) {
          Check(++done[i] == 1, "a piece is done twice");
          if (throws && i == 1) throw std::runtime_error("thrown");
          ++running;
          if (OneIn(3)) simulation::Sleep(absl::Milliseconds(1));
          --running;
        },
        options);
  } catch (const std::runtime_error&) {
    has_thrown = true;
  }
  Check(running == 0, "a piece is done after the return");
  Check(has_thrown == (throws && all > 1 && done[1] > 0),
        "what a piece throws is lost");
  if (has_thrown) return;
  Check(status.ok() || stops, status.message());
  for (const int it : done) {
    Check(it == 1 || !status.ok(), "a piece is not done");
  }
});

}  // namespace
}  // namespace workqueue
