// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_STRESS_DEBTS_H_
#define WORKQUEUE_TEST_STRESS_DEBTS_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace workqueue {

// Debts
//
// This class computes what a queue owes for each item, if additions can be
// delayed and cancelled. It also checks that no two threads process an item at
// the same time. Items are numbers from zero.
//
// The rule: each addition has a number, taken before the call. A hand-out pays
// all additions that began before it. Of the accepted additions, a queue owes
//
//   * the latest immediate one. No cancel and no shutdown removes it.
//   * the latest delayed one, unless a later cancel reported that it removed
//     something. That cancel may have removed any addition that began before
//     the cancel returned. A shutdown drops additions whose time has not come.
//
// If only one thread at a time adds and cancels an item, the second part is
// exact. If adds and cancels race, an addition may have been added after the
// cancel or removed by it. No observer outside of the queue can tell, so this
// class does not count it as owed.
//
// Thread-safe.
class Debts {
 public:
  explicit Debts(int items) : accounts_(items) {}

  // Records that an addition begins. Returns its number.
  int64_t Adding(int item);

  // Records that the addition was accepted, as an immediate or a delayed one.
  // If nothing cancels or drops it, a delayed one may count as an immediate
  // one.
  void Added(int item, int64_t addition);
  void AddedLater(int item, int64_t addition);

  // Records that a cancel has just returned and has removed something.
  void Cancelled(int item);

  // Call these before and after processing `item`.
  void Begin(int item);
  void End(int item);

  // Forbids any processing from now on.
  void Close() { closed_ = true; }

  // Blocks until everything owed has come and nothing is being processed.
  void AwaitSettled();

  // Expects that all immediate additions have been paid and that nothing is
  // being processed. Returns the number of items whose delayed addition is
  // owed.
  int ExpectPaidButDelayed();

  // Returns how often an item has been processed.
  int64_t processings() const { return processings_; }

 private:
  struct Account {
    int64_t Owed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
      return added_later > cancelled && added_later > added ? added_later
                                                            : added;
    }

    absl::Mutex mu;
    // The latest addition of each kind. Zero if there is none.
    int64_t adding ABSL_GUARDED_BY(mu) = 0;
    int64_t added ABSL_GUARDED_BY(mu) = 0;
    int64_t added_later ABSL_GUARDED_BY(mu) = 0;
    int64_t cancelled ABSL_GUARDED_BY(mu) = 0;
    int64_t paid ABSL_GUARDED_BY(mu) = 0;
    bool in_work ABSL_GUARDED_BY(mu) = false;
  };

  bool Settled();

  std::vector<Account> accounts_;
  std::atomic<bool> closed_{false};
  std::atomic<int64_t> processings_{0};
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_STRESS_DEBTS_H_
