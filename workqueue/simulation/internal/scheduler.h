// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SIMULATION_INTERNAL_SCHEDULER_H_
#define WORKQUEUE_SIMULATION_INTERNAL_SCHEDULER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "workqueue/simulation/simulation.h"

namespace workqueue::simulation::internal {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// Why a choice is made. 0 is always what needs the least: the thread that runs
// goes on, and nothing unusual happens.
enum class ChoiceKind : uint8_t {
  kThread,   // which thread goes on
  kYield,    // which other thread goes on
  kWaiter,   // whom a signal wakes
  kWakeUp,   // whether a condition variable wakes a thread for no reason
  kData,     // what the scenario does
  kTryLock,  // whether it fails for no reason
  kMemory,   // whether it runs out
  kBuffer,   // whether a store is delayed
  kDrain,    // which delayed store happens
};

struct Choice {
  ChoiceKind kind;
  uint8_t count;   // of the alternatives; at least 2
  uint8_t chosen;  // less than `count`
};

// What a scheduler has done, in memory that a parent process shares, so that it
// is there after a crash.
struct Record {
  static constexpr size_t kMaxChoices = 1 << 20;

  std::atomic<uint64_t> seed{0};       // of the schedule that runs
  std::atomic<uint64_t> schedules{0};  // that have ended without a failure
  std::atomic<uint64_t> steps{0};      // of all schedules
  std::atomic<uint64_t> switches{0};   // likewise
  std::atomic<bool> complete{false};   // Each schedule has been run.
  std::atomic<bool> returned{false};   // All schedules to be run have been.
  std::atomic<uint32_t> num_choices{0};
  Choice choices[kMaxChoices];
};

// Strategy
//
// Makes the choices of a schedule.
class Strategy {
 public:
  virtual ~Strategy() = default;
  // A new thread exists.
  virtual void OnThread(int /*thread*/) {}
  // Chooses one of `count`. For `kThread` and `kYield`, `threads` are their
  // ids; -1 is the passing of time. The first is the thread that runs, if
  // `self_first`.
  virtual int Choose(ChoiceKind kind, int count, const int* threads,
                     bool self_first) = 0;
};

// A store that its thread has made, and others do not see yet.
struct DelayedStore {
  void* object;
  void (*store)(void* object, const void* value);
  bool is_release;  // It happens after those before it.
  alignas(16) unsigned char value[16];
};

// Whether memory may run out for the calling thread.
inline thread_local bool memory_may_run_out = false;

class SimThread;

// Scheduler
//
// Runs one schedule at a time. Each simulated thread is a thread of the
// machine, but only one of them runs: at each point it may hand over to
// another. The threads are kept between schedules.
//
// All functions but `Run()` are called by the thread that runs. Nothing is
// simulated on other threads: there `Self()` is null.
class Scheduler {
 public:
  explicit Scheduler(Record* record);

  // Returns the scheduler of the calling thread, or null.
  static Scheduler* Current();
  static SimThread* Self();

  // Runs `body` and the threads that it starts, until all have ended. Prints
  // each step if `verbose`. A failure ends the process.
  void Run(const Options& options, bool verbose, Strategy* strategy,
           absl::FunctionRef<void()> body);

  // What a thread waits for.
  enum class Wait : uint8_t {
    kNothing,
    kLock,
    kSharedLock,
    kCondition,  // of a mutex
    kSignal,
    kJoin,
    kTime,
    kIdle,
  };

  // The thread is about to do `what` with `object`. Others may run before.
  void Point(const char* what, const void* object);
  // The same, but another thread must run, if one can.
  void YieldPoint();

  // Blocks until `ready()`, which is called by other threads and must change
  // nothing, or until the time is `deadline`.
  void Block(Wait wait, const void* object, int64_t deadline,
             absl::FunctionRef<bool()> ready);

  // Blocks until no other thread can go on before time passes.
  void AwaitIdle();

  int Choose(ChoiceKind kind, int count);
  int ChooseThread(ChoiceKind kind, const std::vector<int>& threads,
                   bool self_first);

  void Log(const char* text) { Trace(text, nullptr); }

  // A number that grows.
  int64_t NextEvent() { return ++events_; }

  // The simulated time.
  int64_t now() const { return now_; }

  SimThread* Start(absl::AnyInvocable<void() &&> function);
  bool Ended(const SimThread* thread) const;
  // Calls `f` for each thread that waits so for `object`.
  void ForEachWaiter(Wait wait, const void* object,
                     absl::FunctionRef<void(SimThread*)> f);

  // Reports a failure, and ends the process.
  [[noreturn]] void Fail(const std::string& reason);

  // The process ends where the thread is that runs: reports that.
  void ReportEnd(const char* reason);

  // There are no points until as many calls of `EndNoPoints()`.
  void BeginNoPoints() { ++no_points_; }
  void EndNoPoints() { --no_points_; }

  bool spurious_wake_ups() const { return options_.spurious_wake_ups; }

  // Whether there is no memory for what the thread that runs allocates.
  bool MemoryRunsOut();

  // Delays the store, or returns false: the caller makes it at once.
  bool Delay(const DelayedStore& store);
  // Returns the value that the thread that runs has stored to `object` last, if
  // that store is delayed; otherwise null.
  const void* DelayedValue(const void* object) const;
  // Makes all stores that the thread that runs has delayed.
  void Drain() { Drain(running_); }
  // `object` is destroyed: drops what the thread that runs has delayed for it.
  void Forget(const void* object);

 private:
  friend class SimThread;

  void Drain(SimThread* thread);
  // Makes some of the delayed stores of all threads.
  void DrainSome();

  void ThreadMain(SimThread* self);
  void OnThreadEnd(SimThread* self);
  bool IsEnabled(const SimThread& thread) const;
  // Chooses the next thread. Null: all have ended.
  SimThread* Next(ChoiceKind kind, bool self_ready);
  void HandOver(SimThread* next);
  void PassTime();
  int64_t NextDeadline() const;
  void Trace(const char* what, const void* object);
  std::string Describe(const SimThread& thread) const;
  void Report(const std::string& reason);
  int NumberOf(const void* object);

  Record* const record_;
  Options options_;
  bool verbose_ = false;
  Strategy* strategy_ = nullptr;
  std::vector<std::unique_ptr<SimThread>> pool_;
  std::vector<SimThread*> threads_;  // of this schedule, by id
  std::vector<const void*> objects_;
  std::vector<int> candidates_;
  SimThread* running_ = nullptr;
  int64_t now_ = 0;
  int64_t events_ = 0;
  uint64_t steps_ = 0;
  uint64_t switches_ = 0;
  int no_points_ = 0;
  size_t delayed_ = 0;  // stores of all threads
  std::atomic<uint32_t> over_{0};
};

// Blocks the calling thread of the machine until `*word` is not zero, and sets
// it to zero. `Release()` ends that.
void Acquire(std::atomic<uint32_t>* word);
void Release(std::atomic<uint32_t>* word);

class SimThread {
 public:
  int id() const { return id_; }

  // Whether a condition that it waits for has held when it was looked at, or a
  // signal has come.
  bool woken = false;
  // The condition that it waits for.
  const absl::Condition* condition = nullptr;

 private:
  friend class Scheduler;

  int id_ = 0;
  bool ended_ = false;
  std::atomic<uint32_t> go_{0};
  absl::AnyInvocable<void() &&> function_;
  Scheduler::Wait wait_ = Scheduler::Wait::kNothing;
  const void* object_ = nullptr;
  int64_t deadline_ = kNever;
  absl::FunctionRef<bool()>* ready_ = nullptr;
  std::vector<DelayedStore> delayed_;  // the oldest first
  int os_id_ = 0;
  std::vector<void*> stack_;
};

}  // namespace workqueue::simulation::internal

#endif  // WORKQUEUE_SIMULATION_INTERNAL_SCHEDULER_H_
