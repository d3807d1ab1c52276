// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/queue/add_channel.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_QUEUE_ADD_CHANNEL_H_
#define WORKQUEUE_INTERNAL_QUEUE_ADD_CHANNEL_H_

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/internal/mutex_lock.h"
#include "workqueue/internal/wake_time.h"

namespace workqueue {
namespace internal {

// AddChannel
//
// The bounded buffer between those who add an item for later and the waiting
// loop that acts on it. Any number of threads push; one at a time receives.
//
// The loop says until when it sleeps, and a push wakes it only if its item is
// due before that or the buffer fills up: items due later stay until somebody
// receives them anyway.
//
// Thread-safe.
template <typename T>
class AddChannel {
 public:
  // How many items the channel holds; client-go's is of the same size.
  static constexpr size_t kCapacity = 1000;

  struct Addition {
    T item;
    size_t hash;
    absl::Time ready_at;
  };

  enum class TryPushResult { kPushed, kClosed, kWouldWake };

  // `wake` wakes the loop. It is called with the channel locked, so that
  // whoever pushes next and finds that the loop has been asked to wake can rely
  // on that.
  explicit AddChannel(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Closes the channel, and waits for the calls that block in it.
  ~AddChannel() {
    Close();
    internal::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](size_t* blocked) { return *blocked == 0; }, &blocked_));
  }

  AddChannel(const AddChannel&) = delete;
  AddChannel& operator=(const AddChannel&) = delete;

  // Puts `item`, which hashes to `hash`, in. Blocks while the channel is full,
  // until somebody receives or `Close()` is called. Returns false if the
  // channel is closed.
  bool Push(const T& item, size_t hash, absl::Time ready_at) {
    internal::MutexLock lock(&mu_);
    if (IsFull()) AwaitRoom();
    if (closed_) return false;
    PushLocked(item, hash, ready_at);
    return true;
  }

  // As `Push()`, but does not put `item` in if the loop sleeps and is to be
  // woken because that is due earlier, and this has not blocked.
  TryPushResult TryPush(const T& item, size_t hash, absl::Time ready_at) {
    internal::MutexLock lock(&mu_);
    const bool blocks = IsFull();
    if (blocks) AwaitRoom();
    if (closed_) return TryPushResult::kClosed;
    if (!blocks && loop_wake_time_.IsAfter(ready_at)) {
      return TryPushResult::kWouldWake;
    }
    PushLocked(item, hash, ready_at);
    return TryPushResult::kPushed;
  }

  // Moves all that is in to `*additions`, which must be empty, in the order in
  // which it came.
  void Receive(std::vector<Addition>* additions) {
    internal::MutexLock lock(&mu_);
    additions_.swap(*additions);
    not_full_.SignalAll();
  }

  // The loop is awake, and need not be woken.
  void Awake() {
    internal::MutexLock lock(&mu_);
    loop_wake_time_.Clear();
  }

  // The loop goes to sleep until `until`. Returns false, and it must not, if
  // there is something to receive.
  bool SleepUntil(absl::Time until) {
    internal::MutexLock lock(&mu_);
    if (!additions_.empty()) return false;
    loop_wake_time_.Set(until);
    return true;
  }

  // Wakes the loop if it sleeps longer than until `until`.
  void WakeBy(absl::Time until) {
    internal::MutexLock lock(&mu_);
    if (loop_wake_time_.WakeBy(until)) wake_();
  }

  // From now on nothing is taken, and nobody blocks. What is in is dropped.
  void Close() {
    internal::MutexLock lock(&mu_);
    closed_ = true;
    std::vector<Addition>().swap(additions_);
    not_full_.SignalAll();
  }

 private:
  bool IsFull() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return additions_.size() >= kCapacity;
  }

  // Blocks while the channel is full, and not closed.
  void AwaitRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    ++blocked_;
    while (IsFull() && !closed_) not_full_.Wait(&mu_);
    --blocked_;
  }

  void PushLocked(const T& item, size_t hash, absl::Time ready_at)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    additions_.push_back({item, hash, ready_at});
    const bool filling_up = additions_.size() >= kCapacity / 2;
    const absl::Time wake_by = filling_up ? absl::InfinitePast() : ready_at;
    if (loop_wake_time_.WakeBy(wake_by)) wake_();
  }

  const std::function<void()> wake_;

  absl::Mutex mu_;
  absl::CondVar not_full_;
  std::vector<Addition> additions_ ABSL_GUARDED_BY(mu_);
  internal::WakeTime loop_wake_time_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  size_t blocked_ ABSL_GUARDED_BY(mu_) = 0;  // threads in AwaitRoom()
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_QUEUE_ADD_CHANNEL_H_
