// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_INTERNAL_STORED_ELECTION_H_
#define WORKQUEUE_SHARED_INTERNAL_STORED_ELECTION_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "workqueue/leader_election/election.h"
#include "workqueue/shared/internal/ordered_store.h"

namespace workqueue::internal {

// StoredElection
//
// The lease of an election, in an entry of an `OrderedStore`: what the script
// in leader_lease.cc does in a server. Without the entry, nobody has taken
// part in the election.
//
// Thread-compatible.
class StoredElection {
 public:
  using Call = Election::Call;

  // Who calls. No two electors have the same number.
  struct Elector {
    int64_t number;
    std::string identity;
    int64_t duration;
  };

  // `store` is not owned.
  StoredElection(OrderedStore* store, std::string key)
      : store_(*store), key_(std::move(key)) {
    stored_ = store_.Get(key_);
    if (!stored_) return;
    Unpacker from(*stored_);
    for (int64_t* number :
         {&owner_, &token_, &expiry_, &last_, &offset_, &releases_}) {
      *number = from.Number();
    }
    holder_ = from.Rest();
  }

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
      if (ends) ++releases_;
    }
    if (call != Call::kLook) Save();
    if (expiry_ <= now) return {done, token_, "", absl::ZeroDuration()};
    return {done, token_, holder_, absl::Nanoseconds(expiry_ - now)};
  }

  // The number of releases so far.
  int64_t releases() const { return releases_; }

 private:
  void Save() {
    Packer to;
    for (int64_t number :
         {owner_, token_, expiry_, last_, offset_, releases_}) {
      to.Number(number);
    }
    to.Rest(holder_);
    // Those who try in vain write nothing.
    if (stored_ != to.bytes()) store_.Put(key_, to.bytes());
  }

  OrderedStore& store_;
  const std::string key_;
  std::optional<std::string> stored_;
  int64_t owner_ = 0;  // number of the elector; 0 if it was released
  int64_t token_ = 0;  // of the latest holder
  int64_t expiry_ = 0;
  int64_t last_ = 0;    // the largest time at a change
  int64_t offset_ = 0;  // added to the clock
  int64_t releases_ = 0;
  std::string holder_;  // its identity
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_INTERNAL_STORED_ELECTION_H_
