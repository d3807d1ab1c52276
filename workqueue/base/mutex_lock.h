// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/base/mutex_lock.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BASE_MUTEX_LOCK_H_
#define WORKQUEUE_BASE_MUTEX_LOCK_H_

#include <type_traits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace workqueue {
namespace internal {

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

// Returns true if it has locked `mu`, which was free.
template <typename M>
bool TryLockMutex(M* mu) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if constexpr (HasLowerCaseLock<M>::value) {
    return mu->try_lock();
  } else {
    return mu->TryLock();
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

// MutexLock
//
// Holds `mu` from construction to destruction, as `absl::MutexLock` does. Is
// used in the same way with every supported release of Abseil. The library
// locks a mutex only through this class, so no other code depends on the
// release.
template <typename M>
class ABSL_SCOPED_LOCKABLE BasicMutexLock {
 public:
  explicit BasicMutexLock(M* mu) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu) : mu_(mu) {
    Acquire();
  }
  // Also sets `*contended` to whether another thread held `mu`.
  BasicMutexLock(M* mu, bool* contended) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu)
      : mu_(mu) {
    *contended = !TryLockMutex(mu);
    if (*contended) Acquire();
  }
  ~BasicMutexLock() ABSL_UNLOCK_FUNCTION() { UnlockMutex(mu_); }

  BasicMutexLock(const BasicMutexLock&) = delete;
  BasicMutexLock& operator=(const BasicMutexLock&) = delete;

 private:
  void Acquire() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if constexpr (HasLowerCaseLock<M>::value) {
      mu_->lock();
    } else {
      mu_->Lock();
    }
  }

  M* const mu_;
};

using MutexLock = BasicMutexLock<absl::Mutex>;

// MutexTryLock
//
// Holds `mu` from construction to destruction, unless a thread, maybe this one,
// held it. Does not wait.
template <typename M>
class BasicMutexTryLock {
 public:
  explicit BasicMutexTryLock(M* mu) : mu_(TryLockMutex(mu) ? mu : nullptr) {}
  ~BasicMutexTryLock() {
    if (mu_ != nullptr) UnlockMutex(mu_);
  }

  BasicMutexTryLock(const BasicMutexTryLock&) = delete;
  BasicMutexTryLock& operator=(const BasicMutexTryLock&) = delete;

  // Whether it holds `mu`.
  bool held() const { return mu_ != nullptr; }

 private:
  M* const mu_;
};

using MutexTryLock = BasicMutexTryLock<absl::Mutex>;

// ReaderMutexLock
//
// Holds `mu` shared with other readers from construction to destruction, as
// `absl::ReaderMutexLock` does.
template <typename M>
class ABSL_SCOPED_LOCKABLE BasicReaderMutexLock {
 public:
  explicit BasicReaderMutexLock(M* mu) ABSL_SHARED_LOCK_FUNCTION(mu) : mu_(mu) {
    Acquire();
  }
  ~BasicReaderMutexLock() ABSL_UNLOCK_FUNCTION() { Release(); }

  BasicReaderMutexLock(const BasicReaderMutexLock&) = delete;
  BasicReaderMutexLock& operator=(const BasicReaderMutexLock&) = delete;

 private:
  void Acquire() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if constexpr (HasLowerCaseLock<M>::value) {
      mu_->lock_shared();
    } else {
      mu_->ReaderLock();
    }
  }
  void Release() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if constexpr (HasLowerCaseLock<M>::value) {
      mu_->unlock_shared();
    } else {
      mu_->ReaderUnlock();
    }
  }

  M* const mu_;
};

using ReaderMutexLock = BasicReaderMutexLock<absl::Mutex>;

// MutexUnlock
//
// Releases `mu`, which the thread holds by a `MutexLock`, from construction to
// destruction. The analysis of thread safety takes `mu` for held meanwhile.
template <typename M>
class BasicMutexUnlock {
 public:
  explicit BasicMutexUnlock(M* mu) ABSL_NO_THREAD_SAFETY_ANALYSIS : mu_(mu) {
    if constexpr (HasLowerCaseLock<M>::value) {
      mu_->unlock();
    } else {
      mu_->Unlock();
    }
  }
  ~BasicMutexUnlock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if constexpr (HasLowerCaseLock<M>::value) {
      mu_->lock();
    } else {
      mu_->Lock();
    }
  }

  BasicMutexUnlock(const BasicMutexUnlock&) = delete;
  BasicMutexUnlock& operator=(const BasicMutexUnlock&) = delete;

 private:
  M* const mu_;
};

using MutexUnlock = BasicMutexUnlock<absl::Mutex>;

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_BASE_MUTEX_LOCK_H_
