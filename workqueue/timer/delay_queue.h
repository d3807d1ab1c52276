// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/timer/delay_queue.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TIMER_DELAY_QUEUE_H_
#define WORKQUEUE_TIMER_DELAY_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/internal/exceptions.h"
#include "workqueue/internal/mutex_lock.h"
#include "workqueue/internal/slab.h"
#include "workqueue/timer/internal/leader_followers.h"
#include "workqueue/timer/internal/slot_map.h"
#include "workqueue/timer/waiting_set.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {

// DelayQueueHandle
//
// Names a value that was pushed to a `DelayQueue`, to be cancelled or reset. It
// can be kept for as long as you like: once the value is gone it names nothing,
// never another value. Copyable, comparable and hashable; converts to `bool`: a
// default constructed one is false.
using DelayQueueHandle = internal::Handle<struct DelayQueueHandleTag>;

// DelayQueueOptions
//
// How a delay queue is made. All have a default that does.
struct DelayQueueOptions {
  // The clock that it goes by; null for the real one. Not owned, must outlive
  // the queue.
  Clock* clock = nullptr;

  // What keeps the values until they are due.
  WaitingSetOptions waiting_set;
};

// DelayQueue
//
// Values that come out when their delay is over, the earliest first, each of
// them once: it does not deduplicate, and knows of no processing. That is
// `DelayingQueue`.
//
// Example:
//
//     workqueue::DelayQueue<std::unique_ptr<Session>> expiring;
//     workqueue::DelayQueueHandle handle =
//         expiring.Push(std::move(session), absl::Minutes(30));
//     ...
//     expiring.Reset(handle, absl::Minutes(30));  // it has been used
//     ...
//     for (std::unique_ptr<Session> session : expiring.Stream()) {
//       session->Close();
//     }
//
// There is no thread: those who wait for a value wait for its time themselves.
// One of them, the leader, sleeps until the first value is due; the others
// until they are woken. A value that is earlier than all wakes one, and who
// leaves passes the lead on.
//
// A value is never taken before its time, on the clock in the options. Those
// due at the same time come in the order in which they were given that time.
// With a timing wheel, values are late by up to a tick, and those of one tick
// come in any order.
//
// `T` is movable. Pushing, taking, cancelling and resetting take O(log n) for n
// values, or constant time with a timing wheel, and allocate nothing in the
// steady state. If moving a `T`, or allocating, throws, the queue is as it was.
//
// Thread-safe. The destructor shuts the queue down and waits for the calls that
// block in it, which return as after `ShutDown()`. Other calls must have ended
// before, and none may come later. Values that are dropped are destroyed with
// the lock held: their destructor must not call the queue.
template <typename T>
class DelayQueue {
 public:
  using Handle = DelayQueueHandle;

  explicit DelayQueue(DelayQueueOptions options = {})
      : clock_(OrRealClock(options.clock)),
        waiting_(options.waiting_set, clock_->TimeNow()) {}
  ~DelayQueue();

  DelayQueue(const DelayQueue&) = delete;
  DelayQueue& operator=(const DelayQueue&) = delete;

  // Adds `value`, to come out once `delay` has passed; at once if it is zero or
  // negative. Wakes a thread that waits, if `value` is due before all others.
  //
  // Returns a handle that names the value; one that names none, and drops the
  // value, if the queue has been shut down.
  Handle Push(T value, absl::Duration delay);

  // Blocks until a value is due, and returns it; `std::nullopt` when the queue
  // has been shut down and nothing in it is due.
  std::optional<T> Take();

  // As `Take()`, but blocks no longer than until `deadline`. Returns
  // `absl::DeadlineExceededError` if nothing was due until then, and
  // `absl::CancelledError` if the queue has been shut down.
  absl::StatusOr<T> TakeWithDeadline(absl::Time deadline);

  // As `TakeWithDeadline()`, without blocking.
  absl::StatusOr<T> TryTake() { return TakeWithDeadline(absl::InfinitePast()); }

  // Blocks as `TakeWithDeadline()` does until a value is due, and then takes
  // all that are, but no more than `max`, with one lock for all. On success
  // there is at least one. Returns also `absl::InvalidArgumentError` if `max`
  // is zero.
  absl::StatusOr<std::vector<T>> TakeUpToWithDeadline(size_t max,
                                                      absl::Time deadline);
  absl::StatusOr<std::vector<T>> TakeUpTo(size_t max) {
    return TakeUpToWithDeadline(max, absl::InfiniteFuture());
  }

  // A range over the values as they come due, until the queue is shut down:
  // going on to the next one blocks as `Take()` does. Several threads can each
  // have a range; a value goes to one of them.
  class Range;
  Range Stream() { return Range(this); }

  // Drops the value that `handle` names. Returns false if it is gone.
  bool Cancel(Handle handle);

  // Has the value that `handle` names come out once `delay` from now has
  // passed, whatever its time was. Returns false if it is gone, or the queue
  // has been shut down.
  bool Reset(Handle handle, absl::Duration delay);

  // Returns how many values are in the queue, due or not. By the time that the
  // caller looks at the result it may have changed.
  size_t Len() const;

  // From now on nothing is taken in, and what is not due yet is dropped. What
  // is due can still be taken, and then all calls find nothing; those that wait
  // end. May be called from any thread and more than once.
  void ShutDown();

  // Returns whether the queue has been shut down.
  bool ShuttingDown() const;

 private:
  using MutexLock = internal::MutexLock;

  struct Node : internal::SlotMapEntry {
    explicit Node(T&& v) : value(std::move(v)) {}

    T value;
  };

  // Blocks until a value is due or `deadline` has passed, and returns why it
  // does not any more. On success it has called `take(due)`, with one that is
  // due.
  template <typename F>
  absl::Status TakeDue(absl::Time deadline, F take);

  // Removes a value that is due, having passed it to `add`.
  template <typename F>
  void MoveTo(F add, Node* due) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Returns the value at `place`; null if that is none.
  Node* At(internal::SlabId place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return place == internal::kNoSlabId ? nullptr : nodes_.At(place);
  }

  // Destroys `node`, which is waiting.
  void Remove(Node* node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::unique_ptr<Parker> TakeParker() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Clock* const clock_;
  // Written under mu_.
  std::atomic<bool> shutting_down_{false};

  mutable absl::Mutex mu_;
  internal::SlotMap<Node, DelayQueueHandleTag> nodes_ ABSL_GUARDED_BY(mu_);
  // The values' places in nodes_.
  internal::WaitingSet waiting_ ABSL_GUARDED_BY(mu_);
  internal::LeaderFollowers waiters_ ABSL_GUARDED_BY(mu_);
  // Some of those of threads that have ceased to wait, for the next ones.
  std::vector<std::unique_ptr<Parker>> parkers_ ABSL_GUARDED_BY(mu_);
};

// DelayQueue::Range
//
// What `Stream()` returns: an input range, for one `for` loop.
template <typename T>
class DelayQueue<T>::Range {
 public:
  struct End {};

  class Iterator {
   public:
    explicit Iterator(DelayQueue* queue)
        : queue_(queue), value_(queue->Take()) {}

    T&& operator*() { return *std::move(value_); }
    Iterator& operator++() {
      value_.reset();
      if (std::optional<T> next = queue_->Take()) {
        value_.emplace(*std::move(next));
      }
      return *this;
    }
    friend bool operator!=(const Iterator& it, End) {
      return it.value_.has_value();
    }

   private:
    DelayQueue* const queue_;
    std::optional<T> value_;
  };

  Iterator begin() { return Iterator(queue_); }
  End end() { return {}; }

 private:
  friend class DelayQueue;
  explicit Range(DelayQueue* queue) : queue_(queue) {}

  DelayQueue* const queue_;
};

// Implementation details follow.

template <typename T>
DelayQueue<T>::~DelayQueue() {
  ShutDown();
  MutexLock lock(&mu_);
  mu_.Await(absl::Condition(&waiters_, &internal::LeaderFollowers::empty));
}

template <typename T>
DelayQueueHandle DelayQueue<T>::Push(T value, absl::Duration delay) {
  const absl::Time now = clock_->TimeNow();
  MutexLock lock(&mu_);
  if (ShuttingDown()) return Handle();
  const absl::Time due_at = now + delay;
  waiting_.Reserve(nodes_.NextSlot(), due_at);
  Node* const node = nodes_.New(std::move(value));
  waiters_.WakeBy(waiting_.Insert(node->slot(), due_at, now));
  return nodes_.HandleOf(node);
}

template <typename T>
template <typename F>
void DelayQueue<T>::MoveTo(F add, Node* due) {
  add(std::move(due->value));
  Remove(due);
}

template <typename T>
std::optional<T> DelayQueue<T>::Take() {
  std::optional<T> value;
  const auto add = [&value](T&& due) { value.emplace(std::move(due)); };
  TakeDue(absl::InfiniteFuture(),
          [this, &add](Node* due)
              ABSL_NO_THREAD_SAFETY_ANALYSIS { MoveTo(add, due); })
      .IgnoreError();
  return value;
}

template <typename T>
absl::StatusOr<T> DelayQueue<T>::TakeWithDeadline(absl::Time deadline) {
  absl::StatusOr<T> value;
  const auto add = [&value](T&& due) { value.emplace(std::move(due)); };
  absl::Status status =
      TakeDue(deadline, [this, &add](Node* due) ABSL_NO_THREAD_SAFETY_ANALYSIS {
        MoveTo(add, due);
      });
  if (!status.ok()) value = std::move(status);
  return value;
}

template <typename T>
absl::StatusOr<std::vector<T>> DelayQueue<T>::TakeUpToWithDeadline(
    size_t max, absl::Time deadline) {
  if (max == 0) {
    return absl::InvalidArgumentError("max is 0; it must be at least 1");
  }
  std::vector<T> values;
  const auto add = [&values](T&& due) { values.push_back(std::move(due)); };
  const auto take_all = [&, this](Node* due) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    MoveTo(add, due);
    // What has been taken is returned, even if there is no room for more.
    internal::TryCall([&, this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      const absl::Time now = clock_->TimeNow();
      while (values.size() < max) {
        Node* const next = At(waiting_.Due(now));
        if (next == nullptr) break;
        MoveTo(add, next);
      }
    });
  };
  absl::Status status = TakeDue(deadline, take_all);
  if (!status.ok()) return status;
  return values;
}

template <typename T>
template <typename F>
absl::Status DelayQueue<T>::TakeDue(absl::Time deadline, F take) {
  internal::LeaderFollowers::Waiter waiter;
  std::unique_ptr<Parker> parker;
  while (true) {
    absl::Time wake_at;
    {
      MutexLock lock(&mu_);
      waiters_.EndWait(&waiter);
      absl::Cleanup leave = [this, &parker]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        if (parker != nullptr && parkers_.size() < parkers_.capacity()) {
          parkers_.push_back(std::move(parker));
        }
        parker.reset();  // rather than when the queue, and its clock, are gone
        waiters_.PassOnLead(waiting_.size() > 0);
      };
      // What was due at the last look still is; the clock takes longer to read
      // than all the rest.
      Node* due = At(waiting_.KnownDue());
      absl::Time now;
      if (due == nullptr) {
        now = clock_->TimeNow();
        due = At(waiting_.Due(now));
      }
      if (due != nullptr) {
        take(due);
        return absl::OkStatus();
      }
      if (ShuttingDown()) {
        return absl::CancelledError("the queue has been shut down");
      }
      // Without a message, which would be an allocation for who polls.
      if (deadline <= now) return absl::DeadlineExceededError("");
      if (parker == nullptr) parker = TakeParker();
      waiter.parker = parker.get();
      wake_at = waiters_.BeginWait(&waiter, waiting_.NextWake(), deadline);
      std::move(leave).Cancel();
    }
    parker->ParkUntil(wake_at);
  }
}

template <typename T>
std::unique_ptr<Parker> DelayQueue<T>::TakeParker() {
  constexpr size_t kKeep = 16;
  parkers_.reserve(kKeep);
  if (parkers_.empty()) {
    return clock_->NewParker(Parker::Role::kCaller);
  }
  std::unique_ptr<Parker> parker = std::move(parkers_.back());
  parkers_.pop_back();
  return parker;
}

template <typename T>
void DelayQueue<T>::Remove(Node* node) {
  waiting_.Remove(node->slot());
  nodes_.Delete(node);
}

template <typename T>
bool DelayQueue<T>::Cancel(Handle handle) {
  MutexLock lock(&mu_);
  Node* const node = nodes_.Find(handle);
  if (node == nullptr) return false;
  Remove(node);
  return true;
}

template <typename T>
bool DelayQueue<T>::Reset(Handle handle, absl::Duration delay) {
  const absl::Time now = clock_->TimeNow();
  MutexLock lock(&mu_);
  if (ShuttingDown()) return false;
  Node* const node = nodes_.Find(handle);
  if (node == nullptr) return false;
  const absl::Time due_at = now + delay;
  waiting_.Reserve(node->slot(), due_at);
  waiters_.WakeBy(waiting_.Move(node->slot(), due_at, now));
  return true;
}

template <typename T>
size_t DelayQueue<T>::Len() const {
  MutexLock lock(&mu_);
  return waiting_.size();
}

template <typename T>
void DelayQueue<T>::ShutDown() {
  const absl::Time now = clock_->TimeNow();
  MutexLock lock(&mu_);
  if (ShuttingDown()) return;
  shutting_down_.store(true, std::memory_order_release);
  nodes_.ForEach([this, now](Node* node) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (waiting_.DueAt(node->slot()) > now) Remove(node);
  });
  waiters_.WakeAll();
}

template <typename T>
bool DelayQueue<T>::ShuttingDown() const {
  return shutting_down_.load(std::memory_order_acquire);
}

}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_DELAY_QUEUE_H_
