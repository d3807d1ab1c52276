// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_LEADER_ELECTION_ELECTION_H_
#define WORKQUEUE_LEADER_ELECTION_ELECTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace workqueue::internal {

// Election
//
// Where an election lives: a lease in a store that several processes share. An
// `Election` is what one elector sees of it.
//
// The store keeps the promises below. `ElectionTest` in
// test/shared/leader_elector_test.cc shows them for each store, by the tests in
// brackets:
//
//   * One elector has the lease at a time, by the store's clock. Nobody else
//     takes it before it has been released, or its duration has passed since
//     the last renewal. [AnotherOneTakesTheLeaseWhenItEnds]
//   * The clock does not go back for the lease: if the store's does, the lease
//     lasts longer. [TheStoresClockMayGoBack]
//   * Each lease has a token, which is larger than those of all leases before,
//     and not less than the store's time in its own unit. So tokens grow even
//     if the store has lost its data.
//     [OnlyTheHolderOfTheTokenRenewsAndReleases, TokensGrowAfterALoss]
//   * A lease that has ended, and that nobody has taken, can still be renewed.
//     [AnExpiredLeaseThatNobodyTookCanBeRenewed]
//   * An elector knows its own lease, although the answer to `Take()` was lost,
//     and takes it again. Two electors of one identity are two.
//     [ALeaseWhoseTokenWasLostIsTakenAgain, EqualIdentitiesAreTwo]
//   * Who listens hears of a release before it returns, or soon after; or when
//     it listens again, if it could not meanwhile. [AReleaseIsHeard]
//
// All stores do the same at random calls. [DoesWhatTheOneInMemoryDoes]
//
// A call that fails may have taken effect, and can be repeated. One call at a
// time; `Interrupt()` and `StopListening()` from any thread.
class Election {
 public:
  struct State {
    bool done = false;         // whether the call has done what it says
    int64_t token = 0;         // of the latest holder
    std::string holder;        // identity; empty if nobody has the lease
    absl::Duration remaining;  // until the lease ends
  };

  enum class Call { kTake, kRenew, kLook, kRelease };

  // No call is in progress, also none of a listener's functions, when it
  // returns.
  virtual ~Election() = default;

  // Takes the lease if nobody else has it. The token is a new one.
  absl::StatusOr<State> Take() {
    return Do(Call::kTake, 0, absl::InfiniteDuration());
  }

  // Renews the lease if this elector has it, with this token.
  absl::StatusOr<State> Renew(int64_t token, absl::Duration timeout) {
    return Do(Call::kRenew, token, timeout);
  }

  // Changes nothing.
  absl::StatusOr<State> Look() {
    return Do(Call::kLook, 0, absl::InfiniteDuration());
  }

  // Ends the lease if this elector has it, with this token, and tells all that
  // listen.
  absl::StatusOr<State> Release(int64_t token, absl::Duration timeout) {
    return Do(Call::kRelease, token, timeout);
  }

  // Makes the call of one of the functions above. Takes `timeout` and
  // `ElectionOptions::timeout` at most, on the machine's clock.
  virtual absl::StatusOr<State> Do(Call call, int64_t token,
                                   absl::Duration timeout) = 0;

  // From now on a call that would block fails instead, also the one that is in
  // progress.
  virtual void Interrupt() = 0;

  // Calls `heard` from now on when the lease has been released, and perhaps at
  // other times. Calls `denied` when the user may not listen, once until it may
  // again. Both are called on any thread, perhaps with a lock of the store
  // held: they must not call the election. Must be called once at most. Returns
  // `absl::ResourceExhaustedError` if there is no thread for it.
  virtual absl::Status Listen(
      std::function<void()> heard,
      std::function<void(const absl::Status& why)> denied) = 0;

  // Neither is called any more, but for a call that has begun. Blocks no longer
  // than for a mutex. May be called without `Listen()`.
  virtual void StopListening() = 0;
};

// Describes one elector of an election.
struct ElectionOptions {
  std::string name;         // of the election
  std::string identity;     // of the elector; others may have the same
  absl::Duration duration;  // of a lease
  // How long a call may take, on the machine's clock.
  absl::Duration timeout;
};

// ElectionSource
//
// Makes elections in a store.
//
// Thread-safe.
class ElectionSource {
 public:
  virtual ~ElectionSource() = default;

  virtual std::unique_ptr<Election> NewElection(
      const ElectionOptions& options) = 0;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_LEADER_ELECTION_ELECTION_H_
