// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/stress/crew.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_STRESS_CREW_H_
#define WORKQUEUE_TEST_STRESS_CREW_H_

#include <atomic>
#include <deque>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace workqueue {

// Crew
//
// Threads that have a role each and say what they are about to do, and a
// watchdog that tells who is stuck where.
//
// Used by one thread, its members apart.
class Crew {
 public:
  // One of the threads.
  class Member {
   public:
    Member(std::string role, int number)
        : role_(std::move(role)), number_(number) {}

    // Says what comes next: a string literal.
    void Doing(const char* what) {
      doing_.store(what, std::memory_order_relaxed);
    }

   private:
    friend class Crew;

    const std::string role_;
    const int number_;
    std::atomic<const char*> doing_{"beginning"};
    std::thread thread_;
  };

  // `mission` is what the watchdog calls all this.
  explicit Crew(std::string mission) : mission_(std::move(mission)) {}

  // Joins all, and ends the watchdog.
  ~Crew();

  // Runs `f(member, 0)` to `f(member, n - 1)`, each on a thread.
  template <typename F>
  void Start(const std::string& role, int n, F f) {
    for (int i = 0; i < n; ++i) {
      Member& member = NewMember(role, i);
      member.thread_ = std::thread([f, i, &member] {
        f(member, i);
        member.Doing("at its end");
      });
    }
  }

  // The thread that made this.
  Member& captain() { return captain_; }

  // Joins those that have been started so far.
  void Join();

  // Has the program abort, with a message of what each member does, if this is
  // not destroyed by `deadline`, on the real clock. To be called once.
  void AbortUnlessGoneBy(absl::Time deadline);

 private:
  Member& NewMember(const std::string& role, int number);

  const std::string mission_;
  Member captain_{"captain", 0};
  std::thread watchdog_;
  absl::Mutex mu_;
  std::deque<Member> members_ ABSL_GUARDED_BY(mu_);
  bool gone_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_STRESS_CREW_H_
