// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/stress/crew.h"

#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>  // NOLINT(build/c++11)

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"

namespace workqueue {

using internal::MutexLock;

Crew::~Crew() {
  Join();
  {
    MutexLock lock(&mu_);
    gone_ = true;
  }
  if (watchdog_.joinable()) watchdog_.join();
}

Crew::Member& Crew::NewMember(const std::string& role, int number) {
  MutexLock lock(&mu_);
  return members_.emplace_back(role, number);
}

// Only this thread adds members, so it may read them without the lock.
void Crew::Join() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  captain_.Doing("joining");
  for (Member& member : members_) {
    if (member.thread_.joinable()) member.thread_.join();
  }
}

void Crew::AbortUnlessGoneBy(absl::Time deadline) {
  watchdog_ = std::thread([this, deadline] {
    MutexLock lock(&mu_);
    if (Clock::GetRealClock()->AwaitWithDeadline(&mu_, absl::Condition(&gone_),
                                                 deadline)) {
      return;
    }
    std::cerr << mission_ << " does not come to an end:\n";
    const auto tell = [](const Member& member) {
      std::cerr << "  " << member.role_ << " " << member.number_ << ": "
                << member.doing_ << "\n";
    };
    tell(captain_);
    for (const Member& member : members_) tell(member);
    std::abort();
  });
}

}  // namespace workqueue
