// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/stress/debts.h
// -----------------------------------------------------------------------------

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
// What a queue owes, item by item, where additions can be delayed and be taken
// back; and an eye on that no item is processed by two at a time. Items are
// numbers from zero.
//
// The rule. Each addition has a number, taken before the call; a hand-out pays
// all that have begun before it. Of those that were accepted, a queue owes
//
//   * the latest that was to come at once. No cancel takes that back, and no
//     shutdown.
//   * the latest that was to come after a delay, unless a cancel said, later,
//     that it took something out: that may have been any that had begun before
//     the cancel returned. A shutdown drops those that have not come yet.
//
// If an item is added and cancelled by one thread at a time, the second part is
// exact. If adds and cancels race, an addition that either got in after the
// cancel or was taken out by it is not owed, because nobody outside can tell.
//
// Thread-safe.
class Debts {
 public:
  explicit Debts(int items) : accounts_(items) {}

  // An addition begins; returns its number.
  int64_t Adding(int item);

  // It has been accepted, to come at once or after a delay.
  void Added(int item, int64_t addition);
  void AddedLater(int item, int64_t addition);

  // A cancel that has just returned took something out.
  void Cancelled(int item);

  // Between these, `item` is processed.
  void Begin(int item);
  void End(int item);

  // From now on there must be no processing.
  void Close() { closed_ = true; }

  // Whether all that is owed has come, and nothing is being processed.
  bool Settled();

  // All that was to come at once has come, and nothing is being processed.
  // Returns how many items are owed what was to come after a delay.
  int ExpectPaidButDelayed();

 private:
  struct Account {
    int64_t Owed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
      return added_later > cancelled && added_later > added ? added_later
                                                            : added;
    }

    absl::Mutex mu;
    // The latest addition of each kind; zero for none.
    int64_t adding ABSL_GUARDED_BY(mu) = 0;
    int64_t added ABSL_GUARDED_BY(mu) = 0;
    int64_t added_later ABSL_GUARDED_BY(mu) = 0;
    int64_t cancelled ABSL_GUARDED_BY(mu) = 0;
    int64_t paid ABSL_GUARDED_BY(mu) = 0;
    bool in_work ABSL_GUARDED_BY(mu) = false;
  };

  std::vector<Account> accounts_;
  std::atomic<bool> closed_{false};
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_STRESS_DEBTS_H_
