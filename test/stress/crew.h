// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

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
// This class runs threads with different roles. Each thread says what it does
// next, and a watchdog reports which threads are stuck, and where.
//
// Not thread-safe, except for the members.
class Crew {
 public:
  // One of the threads.
  class Member {
   public:
    Member(std::string role, int number)
        : role_(std::move(role)), number_(number) {}

    // Records what this thread does next. `what` must be a string literal.
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

  // `mission` is the name that the watchdog's message gives to the whole crew.
  explicit Crew(std::string mission) : mission_(std::move(mission)) {}

  // Joins all threads and ends the watchdog.
  ~Crew();

  // Starts `n` threads, which run `f(member, 0)` to `f(member, n - 1)`.
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

  // Returns the member of the thread that created this object.
  Member& captain() { return captain_; }

  // Joins the threads started so far.
  void Join();

  // Aborts the program, with a message that says what each member does, unless
  // this object is destroyed by `deadline` on the real clock. Call it once.
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
