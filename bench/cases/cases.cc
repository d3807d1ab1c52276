// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The cases that compare this library with its peers, run on this library.
//
//     tools/bazelw run -c opt //bench/cases -- queue cycle_string
//
// The cases of a queue:
//   cycle_string     -- one thread goes over 65,536 strings with Add, Get, Done
//   cycle_int        -- the same with integers
//   cycle_lease      -- the same with AcquireNext instead of Get and Done
//   cycle_batch      -- the same with AddAll and AcquireUpTo of 64
//   add_duplicate    -- Add of each of 65,536 strings that are queued, in other
//                       objects
//   add_duplicate_batch
//                    -- the same with AddAll of 64
//   fill_drain       -- Add of 65,536 strings, then Get and Done of all
//   mpmc_P_C         -- P threads add a million integers, C Get and Done them:
//                       1 and 1, 4 and 4, 8 and 32
//   mpmc_work_P_C    -- the same with a microsecond of work before each Add and
//                       after each Get: 1 and 1, 4 and 4
//   handover_W       -- Add an item while W workers, 1, 8 or 64, are blocked in
//                       Get, 2,000 times: until a worker has it, p50 and p99
//   blocked_workers  -- 20,000 Adds with a million queued, while 1,000 workers
//                       take 1 ms for each; also in CPU time
//   add_after_through
//                    -- AddAfter(1 ms) of half a million integers in one
//                       thread, Get and Done in another
//   rate_limited     -- AddRateLimited, Get, Forget, Done over 65,536 strings,
//                       with a delay of 1 ns
//   pause            -- Add ten million integers, then Get and Done each, then
//                       AddAfter ten million with far delays: the longest of
//                       these calls; needs 2 GB of memory
// The cases of a queue whose workers are callbacks:
//   blocked_workers  -- as above; the 1 ms of a worker is a wait for `Timers`
//   blocked_workers_100k
//                    -- Add a million items, while 100,000 workers take 100 ms
//                       for each, until all are processed; also the resident
//                       bytes of a worker
//   async_cycle      -- one thread goes over 65,536 strings with Add, and runs
//                       the callback, which calls AcquireNextAsync
//   async_wake       -- Add an item while the thread of the callback is idle,
//                       2,000 times: until the callback has it, p50 and p99
// The cases of a controller:
//   controller_W     -- events of 100,000 objects, from a server in memory,
//                       through an informer to W workers, 1, 8 or 64, until all
//                       are reconciled: also in CPU time, the resident bytes of
//                       an object, and the time from an event to its
//                       reconciliation, p99, if ten events come each
//                       millisecond
// The cases of every class with delays:
//   add_after_far    -- add a million integers due in 1 h to 1,300 h; also
//                       until all are in the waiting set
//   pending_memory   -- resident bytes for each of a million strings that wait
//   lateness         -- add an item due in 2 ms to an empty queue and take it,
//                       1,000 times: the lateness of the take, p50 and p99
//   idle             -- wake-ups and CPU time in a minute, with one item that
//                       waits for its time and a thread that waits for it
//   growth           -- add an item with 1K, 100K, 1M and 10M waiting; needs 5
//                       GB of memory
// The cases of a delay queue:
//   push_take        -- push a million values that are due, then take them all
//   pause            -- push ten million values due in 1 h to 1,300 h; push ten
//                       million that are due, and take them: the longest of
//                       these calls; needs 2 GB of memory
// The cases of a delay queue and of a scheduler:
//   schedule_cancel  -- add 100,000 due in an hour, then cancel them, in order
//                       and in random order
//
// The cases of the machine itself:
//   lock             -- take and release an uncontended lock
//   two_atomics      -- the two atomic writes that a lock needs at least
//   read_clock       -- read the clock
//   copy_key         -- copy a string and free it
//   other_core       -- read a word that another core has written to
//   callback         -- pass a callback on, without a queue, and call it
//   pause            -- write to a gigabyte of new memory, a page at a time:
//                       the longest of these writes
//
// The subjects:
//   queue            -- a `RateLimitingQueue`
//   queue-async      -- the same with callbacks as its workers
//   queue-threads    -- the same with threads: cycle_lease for async_cycle, and
//                       handover_1 for async_wake
//   priority-queue   -- a `PriorityQueue`, whose items have the same priority
//   priority-queue-fair
//                    -- the same with a `FairOrdering` of a thousand groups,
//                       for cases without delays
//   controller       -- a `Controller` with threads as its workers
//   controller-async -- the same with `reconcile_async`
//   delay-queue      -- a `DelayQueue`
//   scheduler        -- a `workqueue::Scheduler`
//   machine          -- only the clock of this library
//   ...-wheel        -- the same with a timing wheel, for cases with delays
//   ...-floor        -- only the locks and the data structures that the work
//                       needs: floor_queue.h and floor_delay_queue.h
//   queue-plain      -- the same with plain data structures, for cases without
//                       delays: plain_queue.h
//
// The programs in bench/peers have the same arguments and output. Their README
// describes the cases in detail. `bench/compare` compares the figures.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "bench/cases/async_queue_cases.h"
#include "bench/cases/controller_cases.h"
#include "bench/cases/delay_cases.h"
#include "bench/cases/delayers.h"
#include "bench/cases/floor_delay_queue.h"
#include "bench/cases/floor_queue.h"
#include "bench/cases/machine_cases.h"
#include "bench/cases/plain_queue.h"
#include "bench/cases/queue_cases.h"
#include "bench/cases/subjects.h"
#include "bench/second_thread.h"

namespace workqueue {
namespace {

template <typename T>
using HeapQueue = RateLimitingQueueOn<T, Heap>;
template <typename T>
using WheelQueue = RateLimitingQueueOn<T, Wheel>;
template <typename T>
using EqualPriorityQueue = PriorityQueueOn<T, /*fair=*/false>;
template <typename T>
using FairPriorityQueue = PriorityQueueOn<T, /*fair=*/true>;
template <typename T>
using HeapDelayQueue = DelayQueueOn<T, Heap>;
template <typename T>
using WheelDelayQueue = DelayQueueOn<T, Wheel>;

struct Case {
  std::string subject;
  std::string name;
  std::function<void()> run;
};

class Cases {
 public:
  explicit Cases(absl::Duration idle_time) : idle_time_(idle_time) {
    AddQueue<HeapQueue>("queue");
    AddDelayer<HeapQueueDelayer>("queue");
    AddDelayer<WheelQueueDelayer>("queue-wheel");
    AddQueue<FloorQueue>("queue-floor");
    AddQueueWithoutDelays<PlainQueue>("queue-plain");
    AddDelayer<FloorQueueDelayer>("queue-floor");
    AddAsyncQueue<HeapQueue>();

    AddQueue<EqualPriorityQueue>("priority-queue");
    AddDelayer<EqualPriorityQueueDelayer>("priority-queue");
    AddQueueWithoutDelays<FairPriorityQueue>("priority-queue-fair");

    AddController("controller", /*asynchronous=*/false);
    AddController("controller-async", /*asynchronous=*/true);

    AddDelayQueue<HeapDelayQueue, HeapDelayQueueDelayer>("delay-queue");
    AddDelayQueue<WheelDelayQueue, WheelDelayQueueDelayer>("delay-queue-wheel");
    AddDelayQueue<FloorDelayQueue, FloorDelayQueueDelayer>("delay-queue-floor");

    AddScheduler<HeapScheduler>("scheduler");
    AddScheduler<WheelScheduler>("scheduler-wheel");
    // The floor of a scheduler is the floor of a delay queue.
    AddScheduler<FloorDelayQueueDelayer>("scheduler-floor");

    cases_.insert(cases_.end(), {
                                    {"machine", "lock", Lock},
                                    {"machine", "two_atomics", TwoAtomics},
                                    {"machine", "read_clock", ReadClock},
                                    {"machine", "copy_key", CopyKey},
                                    {"machine", "other_core", OtherCore},
                                    {"machine", "callback", Callback},
                                    {"machine", "pause", NewPages},
                                });
  }

  const std::vector<Case>& all() const { return cases_; }

  // Returns null if `subject` does not run a case of that name.
  const Case* Find(absl::string_view subject, absl::string_view name) const {
    for (const Case& c : cases_) {
      if (c.subject == subject && c.name == name) return &c;
    }
    return nullptr;
  }

 private:
  template <typename T>
  using HeapQueueDelayer = QueueDelayer<T, HeapQueue>;
  template <typename T>
  using WheelQueueDelayer = QueueDelayer<T, WheelQueue>;
  template <typename T>
  using EqualPriorityQueueDelayer = QueueDelayer<T, EqualPriorityQueue>;
  template <typename T>
  using FloorQueueDelayer = QueueDelayer<T, FloorQueue>;
  template <typename T>
  using HeapDelayQueueDelayer = DelayQueueDelayer<T, HeapDelayQueue>;
  template <typename T>
  using WheelDelayQueueDelayer = DelayQueueDelayer<T, WheelDelayQueue>;
  template <typename T>
  using FloorDelayQueueDelayer = DelayQueueDelayer<T, FloorDelayQueue>;
  template <typename T>
  using HeapScheduler = SchedulerDelayer<T, Heap>;
  template <typename T>
  using WheelScheduler = SchedulerDelayer<T, Wheel>;

  template <template <typename> class Queue>
  void AddQueueWithoutDelays(const std::string& subject) {
    cases_.insert(
        cases_.end(),
        {
            {subject, "cycle_string", CycleString<Queue>},
            {subject, "cycle_int", CycleInt<Queue>},
            {subject, "cycle_lease", [] { CycleLease<Queue>("cycle_lease"); }},
            {subject, "cycle_batch", CycleBatch<Queue>},
            {subject, "add_duplicate", AddDuplicate<Queue>},
            {subject, "add_duplicate_batch", AddDuplicateBatch<Queue>},
            {subject, "fill_drain", FillDrain<Queue>},
            {subject, "mpmc_1_1", Mpmc<Queue, 1, 1>},
            {subject, "mpmc_4_4", Mpmc<Queue, 4, 4>},
            {subject, "mpmc_8_32", Mpmc<Queue, 8, 32>},
            {subject, "mpmc_work_1_1", MpmcWork<Queue, 1, 1>},
            {subject, "mpmc_work_4_4", MpmcWork<Queue, 4, 4>},
            {subject, "handover_1", [] { Handover<Queue, 1>("handover_1"); }},
            {subject, "handover_8", [] { Handover<Queue, 8>("handover_8"); }},
            {subject, "handover_64",
             [] { Handover<Queue, 64>("handover_64"); }},
            {subject, "blocked_workers", BlockedWorkers<Queue>},
        });
  }

  template <template <typename> class Queue>
  void AddQueue(const std::string& subject) {
    AddQueueWithoutDelays<Queue>(subject);
    cases_.insert(cases_.end(),
                  {
                      {subject, "add_after_through", AddAfterThrough<Queue>},
                      {subject, "rate_limited", RateLimited<Queue>},
                      {subject, "pause", Pause<Queue>},
                  });
  }

  // The subject queue-threads does the same work with threads that block.
  template <template <typename> class Queue>
  void AddAsyncQueue() {
    cases_.insert(
        cases_.end(),
        {
            {"queue-async", "blocked_workers", AsyncBlockedWorkers<Queue>},
            {"queue-async", "blocked_workers_100k",
             AsyncBlockedWorkers100K<Queue>},
            {"queue-async", "async_cycle", AsyncCycle<Queue>},
            {"queue-async", "async_wake", AsyncWake<Queue>},
            {"queue-threads", "blocked_workers", BlockedWorkers<Queue>},
            {"queue-threads", "async_cycle",
             [] { CycleLease<Queue>("async_cycle"); }},
            {"queue-threads", "async_wake",
             [] { Handover<Queue, 1>("async_wake"); }},
        });
  }

  void AddController(const std::string& subject, bool asynchronous) {
    for (const size_t workers : {1, 8, 64}) {
      const std::string name = absl::StrCat("controller_", workers);
      cases_.push_back({subject, name, [name, workers, asynchronous] {
                          ControllerCase(name, workers, asynchronous);
                        }});
    }
  }

  template <template <typename> class Delayer>
  void AddDelayer(const std::string& subject) {
    cases_.insert(cases_.end(),
                  {
                      {subject, "add_after_far", AddAfterFar<Delayer>},
                      {subject, "pending_memory", PendingMemory<Delayer>},
                      {subject, "lateness", Lateness<Delayer>},
                      {subject, "idle", [this] { Idle<Delayer>(idle_time_); }},
                      {subject, "growth", Growth<Delayer>},
                  });
  }

  template <template <typename> class Delayer>
  void AddScheduler(const std::string& subject) {
    AddDelayer<Delayer>(subject);
    cases_.push_back({subject, "schedule_cancel", ScheduleCancel<Delayer>});
  }

  template <template <typename> class Queue, template <typename> class Delayer>
  void AddDelayQueue(const std::string& subject) {
    AddScheduler<Delayer>(subject);
    cases_.push_back({subject, "push_take", PushTake<Queue>});
    cases_.push_back({subject, "pause", DelayQueuePause<Queue>});
  }

  const absl::Duration idle_time_;
  std::vector<Case> cases_;
};

int Main(const std::vector<absl::string_view>& args) {
  int64_t reps = 1;
  int64_t seconds = 60;
  bool valid = args.size() >= 2 && args.size() % 2 == 0;
  for (size_t i = 2; valid && i < args.size(); i += 2) {
    valid = (args[i] == "--reps" && absl::SimpleAtoi(args[i + 1], &reps)) ||
            (args[i] == "--seconds" && absl::SimpleAtoi(args[i + 1], &seconds));
  }
  valid = valid && reps >= 1 && seconds >= 1;
  const Cases cases(absl::Seconds(seconds));
  if (args.size() == 1 && args[0] == "--list") {
    for (const Case& c : cases.all()) {
      absl::PrintF("%s\t%s\n", c.subject, c.name);
    }
    return 0;
  }
  if (!valid) {
    absl::FPrintF(stderr,
                  "usage: cases SUBJECT CASE [--reps N] [--seconds N] | "
                  "--list\nN is at least 1.\n");
    return 2;
  }
  const Case* const c = cases.Find(args[0], args[1]);
  if (c == nullptr) {
    absl::FPrintF(stderr, "%s does not run %s; --list tells what there is\n",
                  args[0], args[1]);
    return 2;
  }
  for (; reps > 0; --reps) c->run();
  return 0;
}

}  // namespace
}  // namespace workqueue

int main(int argc, char** argv) {
  workqueue::SecondThread second_thread;
  return workqueue::Main({argv + 1, argv + argc});
}
