// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_ADD_CHANNEL_H_
#define WORKQUEUE_INTERNAL_ADD_CHANNEL_H_

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/wake_time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// AddChannel
//
// A buffer of items that are to be added later. Callers of a queue push items.
// The queue receives them, mostly on the thread of its waiting loop (the loop).
// If the channel is full, a caller waits for room for a short time only,
// because it may itself be the thread that makes room. Then it should receive
// the items itself.
//
// The loop tells the channel until when it sleeps. A push wakes the loop only
// if the item is due before that time or if the channel is at least half full.
// Other items stay in the channel until the next `Receive()`.
//
// Thread-safe.
template <typename T>
class AddChannel {
 public:
  // The number of items with which the channel is full, the same as in
  // client-go.
  static constexpr size_t kCapacity = 1000;

  struct Addition {
    T item;
    size_t hash;
    absl::Time ready_at;
    bool taken_in = false;  // for the receiver
  };

  // The result of `TryPush()`. All but the first mean that it has added
  // nothing.
  enum class TryPushResult { kPushed, kClosed, kFull, kWouldWake };

  // `wake` wakes the loop. It is called with the channel's mutex locked. So a
  // push that finds that the loop need not be woken can rely on an earlier call
  // of `wake` to have returned.
  explicit AddChannel(std::function<void()> wake) : wake_(std::move(wake)) {}

  AddChannel(const AddChannel&) = delete;
  AddChannel& operator=(const AddChannel&) = delete;

  // Gives the loop a millisecond to make room, and returns whether there is
  // any.
  bool AwaitRoom() {
    Clock* const clock = Clock::GetRealClock();
    const auto has_room = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return !IsFull();
    };
    internal::MutexLock lock(&mu_);
    return clock->AwaitWithDeadline(&mu_, absl::Condition(&has_room),
                                    clock->TimeNow() + absl::Milliseconds(1));
  }

  // Adds `item`, which hashes to `hash`, to the channel, even if the channel is
  // full. Returns false if the channel is closed.
  bool Push(const T& item, size_t hash, absl::Time ready_at) {
    internal::MutexLock lock(&mu_);
    if (closed_) return false;
    PushLocked(item, hash, ready_at);
    return true;
  }

  // Does what `Push()` does, except if `item` is due before the loop's wake
  // time, or if the number of items is a multiple of `kCapacity`: callers wait
  // for room only then.
  TryPushResult TryPush(const T& item, size_t hash, absl::Time ready_at) {
    internal::MutexLock lock(&mu_);
    if (closed_) return TryPushResult::kClosed;
    if (IsFull() && additions_.size() % kCapacity == 0) {
      return TryPushResult::kFull;
    }
    if (loop_wake_time_.IsAfter(ready_at)) return TryPushResult::kWouldWake;
    PushLocked(item, hash, ready_at);
    return TryPushResult::kPushed;
  }

  // Moves all items to `*additions`, which must be empty, in the order in which
  // they were pushed.
  void Receive(std::vector<Addition>* additions) {
    internal::MutexLock lock(&mu_);
    additions_.swap(*additions);
  }

  // Call this when the loop is awake and need not be woken.
  void Awake() {
    internal::MutexLock lock(&mu_);
    loop_wake_time_.Clear();
  }

  // Call this before the loop sleeps until `until`. Returns true if the channel
  // is empty. Otherwise returns false: the loop must receive the items first.
  bool SleepUntil(absl::Time until) {
    internal::MutexLock lock(&mu_);
    if (!additions_.empty()) return false;
    loop_wake_time_.Set(until);
    return true;
  }

  // Wakes the loop if it sleeps beyond `until`.
  void WakeBy(absl::Time until) {
    internal::MutexLock lock(&mu_);
    if (loop_wake_time_.WakeBy(until)) wake_();
  }

  // Drops all items. From now on no item is taken.
  void Close() {
    internal::MutexLock lock(&mu_);
    closed_ = true;
    std::vector<Addition>().swap(additions_);
  }

 private:
  bool IsFull() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return additions_.size() >= kCapacity;
  }

  void PushLocked(const T& item, size_t hash, absl::Time ready_at)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    additions_.push_back({item, hash, ready_at});
    const bool filling_up = additions_.size() >= kCapacity / 2;
    const absl::Time wake_by = filling_up ? absl::InfinitePast() : ready_at;
    if (loop_wake_time_.WakeBy(wake_by)) wake_();
  }

  const std::function<void()> wake_;

  sync::Mutex mu_;
  std::vector<Addition> additions_ ABSL_GUARDED_BY(mu_);
  internal::WakeTime loop_wake_time_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_ADD_CHANNEL_H_
