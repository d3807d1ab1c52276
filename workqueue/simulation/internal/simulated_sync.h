// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What `workqueue/simulation/sync.h` names, in a simulation. Each operation is
// a point at which the scheduler may let another thread go on. Outside of a
// simulation, before the first schedule and after the last one, one thread may
// use these classes, too.
//
// The differences to Abseil and the standard library:
//
// - Operations are sequentially consistent, whatever the memory order, unless
//   `Options::store_buffers` says otherwise.
// - A free lock goes to any thread that wants it. `TryLock()` may fail although
//   the lock is free: Abseil promises that only "with high probability".
// - `CondVar::Signal()` wakes any waiter, and a waiter may wake for no reason.
// - Time passes when nobody can go on, and now and then before. So a deadline
//   is exact, or passes while its thread can go on and does not.
// - The use of a destroyed mutex or condition variable, the destruction of a
//   held mutex, and a thread that locks twice are failures.

#ifndef WORKQUEUE_SIMULATION_INTERNAL_SIMULATED_SYNC_H_
#define WORKQUEUE_SIMULATION_INTERNAL_SIMULATED_SYNC_H_

#include <atomic>
#include <chrono>              // NOLINT(build/c++11)
#include <condition_variable>  // NOLINT(build/c++11)
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>   // NOLINT(build/c++11)
#include <thread>  // NOLINT(build/c++11)
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/base/const_init.h"
#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace workqueue::simulation::internal {

class SimThread;

// Returns the simulated time that comes `since_now` after the present one.
int64_t Deadline(absl::Duration since_now);

// A point, if the calling thread is simulated.
void PointBefore(const char* what, const void* object);

// The same, and then the stores that the thread has delayed happen.
void FenceBefore(const char* what, const void* object);

// Whether a compare-and-exchange that may fail for no reason does so.
bool FailsForNoReason();

// Delays a store that `store(object, value)` makes, or returns false: the
// caller makes it at once.
bool Delay(void* object, bool is_release, const void* value, size_t size,
           void (*store)(void* object, const void* value));

// Returns the value of the last store to `object`, if the calling thread has
// delayed it; otherwise null.
const void* DelayedValue(const void* object);

// `object` is destroyed.
void ForgetStores(const void* object);

}  // namespace workqueue::simulation::internal

namespace workqueue::sync {

// An object holds this number until it is destroyed. The simulation overwrites
// freed memory, so a destroyed object may hold any other number.
inline constexpr uint32_t kAlive = 0x616c6976;

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  explicit constexpr Mutex(absl::ConstInitType) {}
  ~Mutex();

  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION();
  bool TryLock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true);
  void Unlock() ABSL_UNLOCK_FUNCTION();
  void ReaderLock() ABSL_SHARED_LOCK_FUNCTION();
  void ReaderUnlock() ABSL_UNLOCK_FUNCTION();
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK();
  void AssertReaderHeld() const ABSL_ASSERT_SHARED_LOCK() {}

  // The condition is evaluated as Abseil does: when a thread releases the lock,
  // and when the waiting thread has taken it.
  void Await(const absl::Condition& condition);
  bool AwaitWithTimeout(const absl::Condition& condition,
                        absl::Duration timeout);

 private:
  friend class CondVar;

  enum Mode { kExclusive, kShared };

  void CheckAlive(const char* what) const;
  bool CanTake(Mode mode) const;
  void Take(Mode mode);
  // Blocks until the lock is taken. A deadline that has passed does not end it.
  void AwaitLock(Mode mode);
  // Releases what the thread holds, without a point, and returns what it was.
  Mode Release();
  bool AwaitUntil(const absl::Condition& condition, int64_t deadline);

  uint32_t alive_ = kAlive;
  bool held_ = false;  // exclusively
  int readers_ = 0;
  const void* owner_ = nullptr;  // if held
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mu) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu) : mu_(mu) {
    mu->Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mu_->Unlock(); }

  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mu_;
};

class CondVar {
 public:
  CondVar() = default;
  ~CondVar();

  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  void Wait(Mutex* mu) { WaitUntil(mu, absl::InfiniteFuture()); }
  void Signal();
  void SignalAll();

 private:
  friend class StdConditionVariable;

  // `deadline` is a time of the steady clock since 1970. Returns whether it has
  // passed.
  bool WaitUntil(Mutex* mu, absl::Time deadline);

  void CheckAlive(const char* what) const;

  uint32_t alive_ = kAlive;
};

class Notification {
 public:
  Notification() = default;
  ~Notification();

  bool HasBeenNotified() const;
  void Notify();
  void WaitForNotification() const;

 private:
  mutable Mutex mu_;
  bool notified_ = false;
};

class StdMutex {
 public:
  void lock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mu_.Lock(); }
  void unlock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mu_.Unlock(); }

 private:
  friend class StdConditionVariable;
  Mutex mu_;
};

class StdConditionVariable {
 public:
  void wait(std::unique_lock<StdMutex>& lock) { cv_.Wait(&lock.mutex()->mu_); }
  template <typename Duration>
  std::cv_status wait_until(
      std::unique_lock<StdMutex>& lock,
      std::chrono::time_point<std::chrono::steady_clock, Duration> deadline) {
    const absl::Time time =
        absl::UnixEpoch() + absl::FromChrono(deadline.time_since_epoch());
    return cv_.WaitUntil(&lock.mutex()->mu_, time) ? std::cv_status::timeout
                                                   : std::cv_status::no_timeout;
  }
  void notify_one() { cv_.Signal(); }
  void notify_all() { cv_.SignalAll(); }

 private:
  CondVar cv_;
};

template <typename T>
class Atomic {
 public:
  using value_type = T;

  constexpr Atomic() noexcept : value_() {}
  constexpr Atomic(T value) noexcept : value_(value) {}  // NOLINT
  ~Atomic() { simulation::internal::ForgetStores(this); }

  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order = std::memory_order_seq_cst) const {
    simulation::internal::PointBefore("loads", this);
    if (const void* const own = simulation::internal::DelayedValue(this)) {
      return *static_cast<const T*>(own);
    }
    return value_;
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) {
    if (order == std::memory_order_seq_cst) {
      simulation::internal::FenceBefore("stores", this);
    } else {
      simulation::internal::PointBefore("stores", this);
      const auto store = [](void* self, const void* stored) {
        static_cast<Atomic*>(self)->value_ = *static_cast<const T*>(stored);
      };
      if (simulation::internal::Delay(this, order != std::memory_order_relaxed,
                                      &value, sizeof(value), store)) {
        return;
      }
    }
    value_ = value;
  }
  T exchange(T value, std::memory_order = {}) {
    simulation::internal::FenceBefore("exchanges", this);
    return std::exchange(value_, value);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order = {},
                               std::memory_order = {}) {
    simulation::internal::FenceBefore("compares and exchanges", this);
    if (value_ == expected) {
      value_ = desired;
      return true;
    }
    expected = value_;
    return false;
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order = {},
                             std::memory_order = {}) {
    if (simulation::internal::FailsForNoReason()) {
      expected = load();
      return false;
    }
    return compare_exchange_strong(expected, desired);
  }
  template <typename D>
  T fetch_add(D d, std::memory_order = {}) {
    return Change([d](T value) { return static_cast<T>(value + d); });
  }
  template <typename D>
  T fetch_sub(D d, std::memory_order = {}) {
    return Change([d](T value) { return static_cast<T>(value - d); });
  }
  T fetch_or(T bits, std::memory_order = {}) {
    return Change([bits](T value) { return static_cast<T>(value | bits); });
  }
  T fetch_and(T bits, std::memory_order = {}) {
    return Change([bits](T value) { return static_cast<T>(value & bits); });
  }

  operator T() const { return load(); }  // NOLINT(runtime/explicit)
  T operator=(T value) {                 // NOLINT(misc-unconventional-assign)
    store(value);
    return value;
  }
  T operator++() { return fetch_add(1) + 1; }
  T operator++(int) { return fetch_add(1); }
  T operator--() { return fetch_sub(1) - 1; }
  T operator--(int) { return fetch_sub(1); }
  template <typename D>
  T operator+=(D d) {
    return fetch_add(d) + d;
  }
  template <typename D>
  T operator-=(D d) {
    return fetch_sub(d) - d;
  }

 private:
  template <typename F>
  T Change(F change) {
    simulation::internal::FenceBefore("changes", this);
    return std::exchange(value_, change(value_));
  }

  T value_;
};

class Thread {
 public:
  Thread() = default;
  template <
      typename F, typename... Args,
      typename = std::enable_if_t<!std::is_same_v<std::decay_t<F>, Thread>>>
  explicit Thread(F&& f, Args&&... args) {
    Start([f = std::decay_t<F>(std::forward<F>(f)),
           args = std::tuple<std::decay_t<Args>...>(
               std::forward<Args>(args)...)]() mutable {
      std::apply(std::move(f), std::move(args));
    });
  }
  Thread(Thread&& other) noexcept
      : thread_(std::exchange(other.thread_, nullptr)) {}
  Thread& operator=(Thread&& other) noexcept {
    if (joinable()) std::terminate();
    thread_ = std::exchange(other.thread_, nullptr);
    return *this;
  }
  ~Thread() {
    if (joinable()) std::terminate();
  }

  bool joinable() const { return thread_ != nullptr; }
  void join();
  void detach() { thread_ = nullptr; }
  static unsigned hardware_concurrency() { return 2; }

 private:
  void Start(absl::AnyInvocable<void() &&> function);

  simulation::internal::SimThread* thread_ = nullptr;
};

void Yield();
uint32_t RandomSeed();
int64_t SteadyNanos();
int64_t CoarseSteadyNanos();
int64_t WallNanos();

}  // namespace workqueue::sync

#endif  // WORKQUEUE_SIMULATION_INTERNAL_SIMULATED_SYNC_H_
