// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_MUTEX_LOCK_H_
#define WORKQUEUE_BASE_MUTEX_LOCK_H_

#include <type_traits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// HasLowerCaseLock
//
// True if `M` has `lock()`. Abseil renamed `Mutex::Lock()` to `lock()` and
// deprecated the old name. The oldest release that this library supports has
// only `Lock()`.
template <typename M, typename = void>
struct HasLowerCaseLock : std::false_type {};
template <typename M>
struct HasLowerCaseLock<M, std::void_t<decltype(std::declval<M&>().lock())>>
    : std::true_type {};

template <typename M>
void LockMutex(M* mu) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if constexpr (HasLowerCaseLock<M>::value) {
    mu->lock();
  } else {
    mu->Lock();
  }
}

template <typename M>
void UnlockMutex(M* mu) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if constexpr (HasLowerCaseLock<M>::value) {
    mu->unlock();
  } else {
    mu->Unlock();
  }
}

// Returns true if it has locked `mu`, which was free. May fail although `mu` is
// free, but rarely.
template <typename M>
bool TryLockMutex(M* mu) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if constexpr (HasLowerCaseLock<M>::value) {
    return mu->try_lock();
  } else {
    return mu->TryLock();
  }
}

template <typename M>
void LockMutexShared(M* mu) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if constexpr (HasLowerCaseLock<M>::value) {
    mu->lock_shared();
  } else {
    mu->ReaderLock();
  }
}

template <typename M>
void UnlockMutexShared(M* mu) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if constexpr (HasLowerCaseLock<M>::value) {
    mu->unlock_shared();
  } else {
    mu->ReaderUnlock();
  }
}

// MutexLock
//
// Holds `mu` from construction to destruction, as `absl::MutexLock` does. Is
// used in the same way with every supported release of Abseil. The library
// locks a mutex only through the classes of this header, so no other code
// depends on the release.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(sync::Mutex* mu) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu)
      : mu_(mu) {
    LockMutex(mu);
  }
  // Also sets `*contended` to whether another thread held `mu`, as far as
  // `TryLockMutex()` tells.
  MutexLock(sync::Mutex* mu, bool* contended) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu)
      : mu_(mu) {
    *contended = !TryLockMutex(mu);
    if (*contended) LockMutex(mu);
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { UnlockMutex(mu_); }

  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  sync::Mutex* const mu_;
};

// MutexTryLock
//
// Holds `mu` from construction to destruction, unless a thread, maybe this one,
// held it, or `TryLockMutex()` has failed. Does not wait.
class MutexTryLock {
 public:
  explicit MutexTryLock(sync::Mutex* mu)
      : mu_(TryLockMutex(mu) ? mu : nullptr) {}
  ~MutexTryLock() {
    if (mu_ != nullptr) UnlockMutex(mu_);
  }

  MutexTryLock(const MutexTryLock&) = delete;
  MutexTryLock& operator=(const MutexTryLock&) = delete;

  // Whether it holds `mu`.
  bool held() const { return mu_ != nullptr; }

 private:
  sync::Mutex* const mu_;
};

// ReaderMutexLock
//
// Holds `mu` shared with other readers from construction to destruction, as
// `absl::ReaderMutexLock` does.
class ABSL_SCOPED_LOCKABLE ReaderMutexLock {
 public:
  explicit ReaderMutexLock(sync::Mutex* mu) ABSL_SHARED_LOCK_FUNCTION(mu)
      : mu_(mu) {
    LockMutexShared(mu);
  }
  ~ReaderMutexLock() ABSL_UNLOCK_FUNCTION() { UnlockMutexShared(mu_); }

  ReaderMutexLock(const ReaderMutexLock&) = delete;
  ReaderMutexLock& operator=(const ReaderMutexLock&) = delete;

 private:
  sync::Mutex* const mu_;
};

// MutexUnlock
//
// Releases `mu`, which the thread holds by a `MutexLock`, from construction to
// destruction. The analysis of thread safety takes `mu` for held meanwhile.
class MutexUnlock {
 public:
  explicit MutexUnlock(sync::Mutex* mu) : mu_(mu) { UnlockMutex(mu); }
  ~MutexUnlock() { LockMutex(mu_); }

  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  sync::Mutex* const mu_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_MUTEX_LOCK_H_
