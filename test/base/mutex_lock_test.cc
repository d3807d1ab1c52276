// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/mutex_lock.h"

#include <string>

#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"

namespace workqueue {
namespace internal::mutex_lock_test {
namespace {

TEST(MutexLockTest, HoldsTheMutexFromConstructionToDestruction) {
  absl::Mutex mu;
  {
    MutexLock lock(&mu);
    mu.AssertHeld();
  }
  MutexLock again(&mu);  // would block if the first one still held it
}

// Stand-ins for Abseil's mutexes before and after the renaming.
struct OldMutex {
  void Lock() { calls += "Lock "; }
  void Unlock() { calls += "Unlock "; }
  std::string calls;
};

struct NewMutex : OldMutex {
  void lock() { calls += "lock "; }
  void unlock() { calls += "unlock "; }
};

TEST(MutexLockTest, SupportsOldAndNewNamesOfTheMutex) {
  OldMutex old_mutex;
  LockMutex(&old_mutex);
  UnlockMutex(&old_mutex);
  EXPECT_EQ(old_mutex.calls, "Lock Unlock ");

  NewMutex new_mutex;
  LockMutex(&new_mutex);
  UnlockMutex(&new_mutex);
  EXPECT_EQ(new_mutex.calls, "lock unlock ");
}

}  // namespace
}  // namespace internal::mutex_lock_test
}  // namespace workqueue
