// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs a test in every schedule, or in as many as there is time for. A
// scheduler decides at each lock, atomic variable, wait and look at the clock
// which thread goes on. A seed tells all of its decisions, so a failure happens
// again.
//
// This header needs a build with `WORKQUEUE_SIMULATION`, on Linux; see
// `workqueue/simulation/sync.h`.
//
// Example:
//
//     TEST(CacheTest, LosesNothing) {
//       workqueue::simulation::Options options;
//       options.schedules = 10000;
//       const auto result = workqueue::simulation::Explore(options, [] {
//         Cache cache;
//         workqueue::sync::Thread writer([&] { cache.Put("a", 1); });
//         cache.Put("b", 2);
//         writer.join();
//         workqueue::simulation::Check(cache.size() == 2, "an entry is lost");
//       });
//       EXPECT_FALSE(result.failed) << result.report;
//     }

#ifndef WORKQUEUE_SIMULATION_SIMULATION_H_
#define WORKQUEUE_SIMULATION_SIMULATION_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace workqueue::simulation {

// How the next thread is chosen.
enum class Strategy {
  // The next three in turn, with parameters that the seed chooses.
  kMixed,
  // Each thread that can go on is as likely as the others.
  kUniform,
  // A thread goes on for a while, until another one is chosen by chance.
  kRandom,
  // Each thread has a priority, by chance, and the one with the highest goes
  // on. At `depth` - 1 steps, chosen by chance, the thread that runs gets the
  // lowest. A mistake that `depth` steps in a certain order reveal is found
  // with a probability of at least 1 / (n * k^(depth - 1)), for n threads and k
  // steps. (PCT, by S. Burckhardt, P. Kothari, M. Musuvathi and S. Nagarakatte,
  // "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs",
  // 2010.) It holds for the seeds whose k is large enough: the seed chooses it.
  kPct,
  // Each schedule with at most `preemptions` of threads that could go on (as
  // CHESS does, by M. Musuvathi and S. Qadeer, 2007), and each choice of the
  // scenario, of memory and of store buffers. Nothing wakes or fails for no
  // reason, and time passes only when no thread can go on.
  kExhaustive,
};

struct Options {
  Strategy strategy = Strategy::kMixed;
  // The first seed. Each schedule has the next one.
  uint64_t seed = 1;
  // Ends when so many schedules have been run, or after so long. At least 1,
  // and positive. One schedule is always run.
  uint64_t schedules = 1000;
  absl::Duration duration = absl::InfiniteDuration();
  int depth = 3;        // of `kPct`; at least 1
  int preemptions = 2;  // of `kExhaustive`; not negative
  // A schedule with more steps is a failure: perhaps its threads spin.
  uint64_t max_steps = 100000;
  // Whether condition variables wake threads for no reason, and a
  // `compare_exchange_weak()` or a `TryLock()` fails so.
  bool spurious_wake_ups = true;
  // Whether other threads may see a store late if its memory order is weaker
  // than `memory_order_seq_cst`. They see it at the latest when its thread
  // stores in that order, changes an atomic variable, takes or releases a lock,
  // waits, starts a thread or ends. They see a release store after those before
  // it. So loads overtake these stores, and relaxed stores overtake each other,
  // as in the store buffer of a processor. Without this option, all operations
  // are sequentially consistent, whatever the order.
  //
  // This is not all of the memory model. No load reads an old value once others
  // see a newer one, all threads see the stores in one order, operations that
  // read and write are fences, there is no `std::atomic_thread_fence()`, and a
  // race on a variable that is not atomic is not seen. ThreadSanitizer finds
  // such races. Relacy shows the rest: `test/memory_model` runs the code of
  // this library that has weaker orders.
  bool store_buffers = false;
  // Whether time may pass while threads can go on. Otherwise it passes only
  // when none can, so each deadline is exact.
  bool time_passes = true;
  // Whether to look for a simpler schedule that fails, for up to 20 s.
  bool shrink = true;
  // Whether `Result::report` has the steps of all schedules.
  bool report_steps = false;
  // Runs this schedule only, and reports its steps: a `Result::trace`. If it is
  // empty, the environment variable WORKQUEUE_SIMULATION_TRACE counts, and then
  // WORKQUEUE_SIMULATION_SEED.
  std::string trace;
};

struct Result {
  bool failed = false;
  uint64_t seed = 0;       // of the first schedule that fails
  std::string trace;       // the shortest one found that fails
  std::string report;      // what happens then, or the steps
  uint64_t schedules = 0;  // that have been run
  uint64_t steps = 0;
  uint64_t switches = 0;  // of threads
  uint64_t hash = 0;      // of the choices of the last schedule
  bool complete = false;  // `kExhaustive` has run each schedule
  absl::Duration time;
};

// Runs `scenario` once for each schedule, in other processes, which are forked
// from this one. So no other thread of this process may run. Each schedule ends
// when the scenario and all threads that it has started have ended.
//
// A schedule fails by `Fail()`, by a deadlock, by too many steps, by a wrong
// use of a lock, by any signal, such as an abort, or if `has_failed()` returns
// true after it; for GoogleTest that is `testing::Test::HasFailure`. The first
// failure ends the search. Then `Explore()` looks for a simpler schedule that
// fails, and returns the report of that one.
//
// If an option or a variable of the environment is wrong, nothing is run. Then
// `Result::failed` is true, and the report names the option and its value.
//
// The scenario must be a function of the schedule alone: it may use `Choose()`,
// and no other source of chance.
Result Explore(
    const Options& options, absl::FunctionRef<void()> scenario,
    absl::FunctionRef<bool()> has_failed = [] { return false; });

// The rest is called by the threads of a scenario.

// Returns a number from 0 to `count` - 1, which the seed chooses. `count` is at
// most 255. 0 should be what is simplest.
int Choose(int count);

// The schedule fails.
[[noreturn]] void Fail(absl::string_view reason);
inline void Check(bool holds, absl::string_view reason) {
  if (!holds) Fail(reason);
}

// While an object of this class exists, memory may run out for its thread, if
// the program has an `operator new` that asks `MemoryRunsOut()`:
//
//     void* operator new(size_t size) {
//       if (workqueue::simulation::MemoryRunsOut()) throw std::bad_alloc();
//       ...
//     }
//
// With the argument false, memory does not run out within another such object:
// for a part that must not fail.
class MemoryMayRunOut {
 public:
  explicit MemoryMayRunOut(bool may = true);
  ~MemoryMayRunOut();

  MemoryMayRunOut(const MemoryMayRunOut&) = delete;
  MemoryMayRunOut& operator=(const MemoryMayRunOut&) = delete;

 private:
  const bool before_;
};

// Returns whether there is no memory, which the seed chooses, and rarely so.
// May be called by any thread.
bool MemoryRunsOut();

// Blocks until no other thread can go on before time passes. So whoever waits
// for something that is there has lost a wake-up. Time does not pass meanwhile.
void AwaitIdle();

// Does the same, and calls `check`, during which no other thread runs.
void AtRest(absl::FunctionRef<void()> check);

// Lets `duration` pass.
void Sleep(absl::Duration duration);

// Returns the simulated time since the begin of the schedule.
absl::Duration Now();

// Prints `text` if the steps of the schedule are printed.
void Log(absl::string_view text);

// Returns how many visible steps have happened, for the order of events.
int64_t NextEvent();

}  // namespace workqueue::simulation

#endif  // WORKQUEUE_SIMULATION_SIMULATION_H_
