// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the scenarios of a simulation are made of; see README.md.

#ifndef WORKQUEUE_TEST_SIMULATION_SCENARIO_H_
#define WORKQUEUE_TEST_SIMULATION_SCENARIO_H_

#include <cstddef>
#include <cstdio>
#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "test/shared/queue_history.h"
#include "workqueue/simulation/simulation.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

// A function that a simulation runs in many schedules.
struct Scenario {
  const char* name;
  const char* what;  // it does
  void (*run)();
  // Whether time passes only when no thread can go on.
  bool exact_time;
  // Whether something may wake or fail for no reason.
  bool spurious_wake_ups;
};

// All scenarios of the program.
std::vector<Scenario>& Scenarios();

// Adds a scenario, if a variable has this type.
struct AddScenario {
  AddScenario(const char* name, const char* what, void (*run)(),
              bool exact_time = false, bool spurious_wake_ups = true) {
    Scenarios().push_back({name, what, run, exact_time, spurious_wake_ups});
  }
};

// Whether a schedule is repeated, or its steps are printed.
extern bool prints_notes;

// Prints what a scenario does, if so.
template <typename... Args>
void Note(const Args&... args) {
  if (!prints_notes) return;
  const simulation::MemoryMayRunOut spared(false);
  fputs(absl::StrCat("# ", args..., "\n").c_str(), stderr);
}

// Chooses true in one of `count` cases, of which false is the simplest.
inline bool OneIn(int count) { return simulation::Choose(count) == count - 1; }

// Calls `f`, for which memory may run out. Returns false if it has thrown for
// that reason.
template <typename F>
bool IfMemoryLasts(F f) {
  try {
    const simulation::MemoryMayRunOut may;
    f();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Threads that are joined at the end.
class Threads {
 public:
  ~Threads() { Join(); }
  template <typename F>
  void Start(F f) {
    // Another thread may start one meanwhile.
    sync::Thread thread(std::move(f));
    threads_.push_back(std::move(thread));
  }
  void Join() {
    while (!threads_.empty()) {
      // A thread may start others meanwhile.
      sync::Thread thread = std::move(threads_.back());
      threads_.pop_back();
      thread.join();
    }
  }

 private:
  std::vector<sync::Thread> threads_;
};

// History
//
// What the threads of a scenario did with the items of a queue. One thread runs
// at a time, so this has no lock.
class History {
 public:
  // An operation begins. It is dropped unless `End()` or `Perhaps()` follows.
  int64_t Begin() { return simulation::NextEvent(); }
  void End(const std::string& item, QueueOperation::Kind kind, int64_t begin,
           int64_t token = 0) {
    items_[item].push_back({kind, begin, simulation::NextEvent(), token});
  }

  // The operation may have happened, or may happen later.
  void Perhaps(const std::string& item, QueueOperation::Kind kind,
               int64_t begin) {
    items_[item].push_back({kind, begin, QueueOperation::kNever, 0});
  }

  // An item has been handed out by an operation that began at `begin`. Returns
  // its token. Fails if another worker has it.
  int64_t HandOut(const std::string& item, int64_t begin) {
    const int64_t token = simulation::NextEvent();
    items_[item].push_back({QueueOperation::kHandOut, begin, token, token});
    simulation::Check(++held_[item] == 1, "two workers have an item");
    return token;
  }
  // Its processing is about to end.
  int64_t BeginEnd(const std::string& item) {
    --held_[item];
    return Begin();
  }

  // Each item of `items` is idle at some moment since `begin`.
  void IsIdle(int64_t begin) {
    for (auto& [item, operations] : items_) {
      operations.push_back(
          {QueueOperation::kIsGone, begin, simulation::NextEvent(), 0});
    }
  }

  // Fails if a sequential queue could not have done the same.
  void Verify() const;

 private:
  std::map<std::string, std::vector<QueueOperation>> items_;
  std::map<std::string, int> held_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SIMULATION_SCENARIO_H_
