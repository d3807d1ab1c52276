// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_TESTING_INTERNAL_MEMORY_ELECTION_H_
#define WORKQUEUE_SHARED_TESTING_INTERNAL_MEMORY_ELECTION_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "workqueue/leader_election/election.h"

namespace workqueue::internal {

// MemoryElection
//
// The lease of an election, in memory: what the script in leader_script.cc does
// in a server. A default one is an election that nobody has taken part in.
//
// Thread-compatible.
class MemoryElection {
 public:
  enum class Call { kTake, kRenew, kLook, kRelease };

  // Who calls. No two electors have the same number.
  struct Elector {
    int64_t number;
    std::string identity;
    int64_t duration;
  };

  // Does a call of `elector`, with `token` unless it is to take or look, when
  // the engine's clock reads `clock`.
  Election::State Do(Call call, const Elector& elector, int64_t token,
                     int64_t clock) {
    // The time does not go back.
    const int64_t now = std::max(clock + offset_, last_);
    if (call != Call::kLook) offset_ = now - clock;
    const bool is_mine = owner_ == elector.number;
    bool done = false;
    if (call == Call::kTake) {
      done = is_mine || expiry_ <= now;
      // Tokens grow although the data has been lost.
      if (done) token_ = std::max(token_ + 1, now);
    } else if (call != Call::kLook) {
      done = is_mine && token == token_;
    }
    if (done) {
      const bool ends = call == Call::kRelease;
      owner_ = ends ? 0 : elector.number;
      holder_ = ends ? "" : elector.identity;
      expiry_ = ends ? 0 : now + elector.duration;
      last_ = now;
    }
    if (expiry_ <= now) return {done, token_, "", absl::ZeroDuration()};
    return {done, token_, holder_, absl::Nanoseconds(expiry_ - now)};
  }

 private:
  int64_t owner_ = 0;   // number of the elector; 0 if it was released
  std::string holder_;  // its identity
  int64_t token_ = 0;   // of the latest holder
  int64_t expiry_ = 0;
  int64_t last_ = 0;    // the largest time at a change
  int64_t offset_ = 0;  // added to the clock
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_TESTING_INTERNAL_MEMORY_ELECTION_H_
