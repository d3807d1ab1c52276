// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TIMER_DELAY_QUEUE_H_
#define WORKQUEUE_TIMER_DELAY_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/finite_time.h"
#include "workqueue/base/handle.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/slab.h"
#include "workqueue/base/slot_map.h"
#include "workqueue/clock/clock.h"
#include "workqueue/timer/internal/delay_queue_base.h"
#include "workqueue/timer/internal/leader_followers.h"
#include "workqueue/timer/queue_clock.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {

// DelayQueueHandle
//
// Names a value in a `DelayQueue`, for `Cancel()` and `Reset()`. A handle can
// be kept for any time: once its value is gone, it names nothing, and never
// another value. Copyable, comparable and hashable. Converts to `bool`; a
// default-constructed handle is false.
using DelayQueueHandle = internal::Handle<struct DelayQueueHandleTag>;

// DelayQueueOptions
//
// Options for a `DelayQueue`. Every field has a usable default.
struct DelayQueueOptions {
  // The clock of the queue, or a loop that hands out its values.
  QueueClock clock;

  // The data structure that keeps the values until they are due.
  WaitingSetOptions waiting_set;
};

// DelayQueue
//
// A queue that hands out each value once its delay has passed, the earliest
// first. It does not deduplicate and has no notion of processing; see
// `DelayingQueue` for a queue that has both.
//
// Example:
//
//     workqueue::DelayQueue<std::unique_ptr<Session>> expiring;
//     workqueue::DelayQueueHandle handle =
//         expiring.Push(std::move(session), absl::Minutes(30));
//     ...
//     expiring.Reset(handle, absl::Minutes(30));  // the session was used
//     ...
//     for (std::unique_ptr<Session> session : expiring.Stream()) {
//       session->Close();
//     }
//
// The queue has no thread of its own. Of the threads that wait for a value, one
// sleeps until the first value is due, and the others sleep until they are
// woken. In the place of threads, a `WaitingLoop` can hand each value to a
// function when it is due:
//
//     workqueue::DelayQueueOptions options;
//     options.clock = loop;
//     workqueue::DelayQueue<Order> unpaid(
//         std::move(options), [](Order order) { order.Cancel(); });
//
// A value is never taken before its time on the clock of the queue. Values that
// are due at the same time come in the order in which they were given that
// time. With a timing wheel, a value comes up to one tick late, and values of
// the same tick come in any order. If the clock goes back, a value still waits
// until the clock reaches its time. A value that was due already may also be
// taken before the clock reaches that time again. One that was due at
// `ShutDown()` is still due. A delay of more than 146 years may never end.
//
// `T` must be movable. `Push()`, `Cancel()`, `Reset()` and taking a value take
// O(log n) for n values, or constant time with a timing wheel, and allocate
// nothing in the steady state.
//
// If moving a `T`, or allocating, throws, the call throws the exception and the
// queue is unchanged: the value stays in the queue, or with the caller of
// `Push()`. So no value is lost, if a move constructor of `T` that throws
// leaves its source unchanged.
//
// No `T` is destroyed with the lock held, so its destructor may call the queue,
// even while the destructor of the queue runs. If `T` has a non-trivial
// destructor, each call that removes values takes the lock a second time, to
// reuse their memory. A call that removes a value may move one other value, to
// free the memory of a peak, if moving a `T` does not throw. Moving a `T` must
// not call the queue.
//
// Thread-safe. The destructor shuts the queue down and waits for the calls that
// block in it, which return as after `ShutDown()`. All other calls must have
// returned before, and no call may follow.
template <typename T>
class DelayQueue : private internal::DelayQueueBase {
 public:
  using Handle = DelayQueueHandle;
  class Range;

  explicit DelayQueue(DelayQueueOptions options = {})
      : DelayQueueBase(options.clock, options.waiting_set) {}

  // A queue whose values are passed to `receive` when they are due, on the
  // thread of `options.clock`'s loop, or of a loop of its own if that is a
  // clock. Calls that take values still work, and race with this. `receive` may
  // call the queue, but must not destroy it. An exception of it is dropped,
  // also one of the move to its own by-value parameter. If another move of a
  // value throws, the value is handed out a second later. Aborts the program if
  // `receive` is null.
  DelayQueue(DelayQueueOptions options,
             absl::AnyInvocable<void(T value)> receive)
      : DelayQueueBase(options.clock, options.waiting_set),
        hand_out_(std::make_unique<HandOut>(
            this, options.clock.LoopOrNew("delay"), std::move(receive))) {}

  ~DelayQueue();

  // Adds `value`, to be taken once `delay` has passed; immediately if `delay`
  // is zero or negative. Wakes a waiting thread if `value` is due before all
  // others.
  //
  // Returns a handle that names the value. If the queue has been shut down,
  // does not move from `value` and returns a handle that is false.
  Handle Push(T&& value, absl::Duration delay);
  Handle Push(const T& value, absl::Duration delay) {
    return Push(T(value), delay);  // copies without the lock
  }

  // Blocks until a value is due, and returns it. Returns `std::nullopt` once
  // the queue has been shut down and no value is due. Aborts the program if it
  // would block the thread of a loop that the program drives. The other calls
  // then return `absl::FailedPreconditionError`.
  std::optional<T> Take();

  // Like `Take()`, but blocks no longer than `timeout`, measured on the queue's
  // clock; not at all if that is zero or negative. Returns
  // `absl::DeadlineExceededError`, without a message, if no value was due until
  // then, and `absl::CancelledError` if the queue has been shut down.
  absl::StatusOr<T> TakeWithTimeout(absl::Duration timeout);

  // Like `TakeWithTimeout()`, without blocking.
  absl::StatusOr<T> TryTake() { return TakeWithTimeout(absl::ZeroDuration()); }

  // Blocks until a value is due, like `TakeWithTimeout()`, and then takes all
  // values that are due, but at most `max`. Takes the lock once for the first
  // 16 values, and once more each time that the number of values doubles. On
  // success, the result has at least one value. Returns
  // `absl::InvalidArgumentError` if `max` is zero.
  //
  // If moving a value, or allocating, throws after some values have been taken,
  // returns these values. The others stay in the queue.
  //
  // If moving a `T` may throw and a `T` cannot be copied, a vector of them
  // cannot grow safely. The call then takes the lock once, and allocates memory
  // for as many values as are in the queue, due or not, but at most `max`.
  absl::StatusOr<std::vector<T>> TakeUpToWithTimeout(size_t max,
                                                     absl::Duration timeout);
  absl::StatusOr<std::vector<T>> TakeUpTo(size_t max) {
    return TakeUpToWithTimeout(max, absl::InfiniteDuration());
  }

  // Returns a range over the values as they come due, which ends once the queue
  // has been shut down. Each step blocks like `Take()`, and destroys the value
  // of the step before. Several threads can have a range each; each value goes
  // to one of them.
  Range Stream() { return Range(this); }

  // Drops the value that `handle` names. Returns false if it is gone.
  bool Cancel(Handle handle);

  // Makes the value that `handle` names due once `delay` from now has passed,
  // whatever its time was. Returns false if the value is gone or the queue has
  // been shut down.
  bool Reset(Handle handle, absl::Duration delay);

  // Returns the number of values in the queue, due or not. The number may have
  // changed when the call returns.
  using DelayQueueBase::Len;

  // Drops all values that are not due yet, and makes `Push()` and `Reset()`
  // refuse values. With a timing wheel, that includes values whose delay has
  // passed, but whose tick has not come. Values that are due can still be
  // taken; after that, all calls that take values return immediately, including
  // blocked calls. May be called from any thread and more than once.
  void ShutDown();

  // Returns whether the queue has been shut down.
  using DelayQueueBase::ShuttingDown;

 private:
  using MutexLock = internal::MutexLock;

  struct Node : internal::SlotMapEntry {
    explicit Node(T&& v) : value(std::move(v)) {}
    Node(Node&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
        : SlotMapEntry(other), value(std::move(other.value)) {}
    ~Node() {}  // `value` has been destroyed

    union {
      T value;
    };
    // The next removed node, this node itself if it is the last one; null if
    // the value is in the queue.
    Node* next_removed = nullptr;
  };

  // A list of removed nodes, whose values are destroyed when this object is:
  // declare it before the lock.
  struct Removed {
    explicit Removed(DelayQueue* q) : queue(q) {}
    ~Removed() {
      if (first != nullptr) queue->Destroy(first);
    }
    Removed(const Removed&) = delete;
    Removed& operator=(const Removed&) = delete;

    DelayQueue* const queue;
    Node* first = nullptr;
  };

  // Returns the node that `handle` names; null if its value is gone.
  Node* Find(Handle handle) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Node* const node = nodes_.Find(handle);
    return node == nullptr || node->next_removed != nullptr ? nullptr : node;
  }

  // Removes `node`, whose value is in the queue. Throws nothing.
  void Remove(Node* node, Removed* removed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    waiting_.Remove(node->slot());
    Drop(node, removed);
    if (ABSL_PREDICT_FALSE(nodes_.CompactionDue())) Compact(removed);
  }

  // Frees memory that the values in the queue do not need. May move a node. Not
  // inline, so that the compiler has room for the other code of `Remove()`.
  ABSL_ATTRIBUTE_NOINLINE void Compact(Removed* removed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (ShuttingDown()) return;  // The caller may be visiting all nodes.
    Node* moved = nullptr;
    nodes_.CompactIfDue(
        [this, &moved](Node* from, Node* to) ABSL_NO_THREAD_SAFETY_ANALYSIS {
          waiting_.Renumber(from->slot(), to->slot());
          moved = from;
        },
        [](const Node& it) { return it.next_removed == nullptr; });
    if (moved != nullptr) Drop(moved, removed);
    waiting_.Shrink(nodes_.slot_limit());
  }

  // Destroys `node`, or adds it to `*removed` if its value must be destroyed
  // without the lock.
  void Drop(Node* node, Removed* removed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if constexpr (std::is_trivially_destructible_v<T>) {
      nodes_.Delete(node);
    } else {
      if (removed->first == nullptr) ++calls_;
      node->next_removed = removed->first == nullptr ? node : removed->first;
      removed->first = node;
    }
  }

  // Destroys the list of removed nodes that begins with `first`.
  void Destroy(Node* first) ABSL_LOCKS_EXCLUDED(mu_) {
    Node* node = first;
    Node* last;
    do {
      last = node;
      node->value.~T();
      node = node->next_removed;
    } while (node != last);
    MutexLock lock(&mu_);
    --calls_;
    node = first;
    do {
      last = node;
      node = node->next_removed;
      nodes_.Delete(last);
    } while (node != last);
    if (nodes_.CompactionDue()) waiting_.Shrink(nodes_.slot_limit());
  }

  // Calls `take(T&&)` with a value when one is due, and removes it. If `take`
  // throws, the value stays in the queue. If none is due, `waiter`, which may
  // be null, waits until `*wake_at`.
  template <typename F>
  absl::Status TakeDue(absl::Duration timeout, F take,
                       internal::LeaderFollowers::Waiter* waiter = nullptr,
                       absl::Time* wake_at = nullptr) ABSL_LOCKS_EXCLUDED(mu_) {
    Removed removed(this);
    DueLock lock(this);
    if (waiter != nullptr) waiters_.EndWait(waiter);
    absl::Status status = lock.AwaitDue(timeout);
    if (status.ok()) {
      Node* const due = nodes_.At(lock.due());
      take(std::move(due->value));
      Remove(due, &removed);
    } else if (waiter != nullptr) {
      *wake_at = waiters_.BeginWait(waiter, waiting_.NextWake(),
                                    absl::InfiniteFuture());
    }
    return status;
  }

  // Does what `Take()` does, but stores the result in `*value`, which is empty.
  void TakeTo(std::optional<T>* value) ABSL_LOCKS_EXCLUDED(mu_) {
    const absl::Status status =
        TakeDue(absl::InfiniteDuration(),
                [value](T&& due) { value->emplace(std::move(due)); });
    internal::DieIfWouldBlockLoop("Take()", status);
  }

  // Hands the values to a function, as a client of a loop.
  class HandOut final : private WaitingLoop::Client {
   public:
    HandOut(DelayQueue* queue, std::shared_ptr<WaitingLoop> loop,
            absl::AnyInvocable<void(T value)> receive)
        : queue_(*queue),
          loop_(std::move(loop)),
          parker_(loop_.get(), this),
          receive_(std::move(receive)) {
      internal::DieIfNull(receive_, "function of a DelayQueue");
      waiter_.parker = &parker_;
      loop_->Add(this);
    }
    ~HandOut() override {
      loop_->Remove(this);
      MutexLock lock(&queue_.mu_);
      queue_.waiters_.EndWait(&waiter_);
    }

   private:
    absl::Time Run(absl::Time now) override {
      for (int i = 0; i < kMostAtOnce; ++i) {
        absl::Time wake_at;
        const absl::Status taken = internal::CatchAsStatus([&, this] {
          if (value_.has_value()) return absl::OkStatus();
          return queue_.TakeDue(
              absl::ZeroDuration(),
              [this](T&& due) { value_.emplace(std::move(due)); }, &waiter_,
              &wake_at);
        });
        if (absl::IsDeadlineExceeded(taken) || absl::IsCancelled(taken)) {
          return wake_at;
        }
        if (taken.ok()) internal::TryCall([this] { receive_(PassValue()); });
        if (!taken.ok() || value_.has_value()) {
          return now + internal::RetryDelay();
        }
      }
      return now;
    }

    // Makes the parameter of receive_ of value_, which stays if that throws.
    T PassValue() {
      const absl::Cleanup passed = [this, before = std::uncaught_exceptions()] {
        if (std::uncaught_exceptions() == before) value_.reset();
      };
      return *std::move(value_);
    }

    DelayQueue& queue_;
    const std::shared_ptr<WaitingLoop> loop_;
    internal::LoopParker parker_;
    internal::LeaderFollowers::Waiter waiter_;
    absl::AnyInvocable<void(T value)> receive_;
    std::optional<T> value_;  // that receive_ has yet to be passed
  };

  // Whether growing a vector of values that throws leaves them unchanged.
  static constexpr bool kCanGrow = std::is_nothrow_move_constructible_v<T> ||
                                   std::is_copy_constructible_v<T>;

  // Moves values that are due to `*values`, for which there is room. Returns
  // whether there may be more.
  bool MoveDueTo(std::vector<T>* values, size_t max, Removed* removed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const absl::Time now = clock_->TimeNow();
    while (values->size() < (std::min)(max, values->capacity())) {
      const internal::SlabId due = Due(now);
      if (due == internal::kNoSlabId) return false;
      values->push_back(std::move(nodes_.At(due)->value));
      Remove(nodes_.At(due), removed);
    }
    return values->size() < max;
  }

  internal::SlotMap<Node, DelayQueueHandleTag> nodes_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<HandOut> hand_out_;  // may be null
};

// DelayQueue::Range
//
// The result of `Stream()`: an input range, for one `for` loop.
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
      queue_->TakeTo(&value_);
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
  hand_out_ = nullptr;
  Removed removed(this);
  MutexLock lock(&mu_);
  AwaitCalls();
  nodes_.ForEach([&, this](Node* node) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    Remove(node, &removed);
  });
}

template <typename T>
DelayQueueHandle DelayQueue<T>::Push(T&& value, absl::Duration delay) {
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
std::optional<T> DelayQueue<T>::Take() {
  std::optional<T> value;  // the only object returned: no move after the last
  TakeTo(&value);
  return value;
}

template <typename T>
absl::StatusOr<T> DelayQueue<T>::TakeWithTimeout(absl::Duration timeout) {
  absl::StatusOr<T> value;  // as in Take()
  absl::Status status =
      TakeDue(timeout, [&value](T&& due) { value.emplace(std::move(due)); });
  if (!status.ok()) value = std::move(status);
  return value;
}

template <typename T>
absl::StatusOr<std::vector<T>> DelayQueue<T>::TakeUpToWithTimeout(
    size_t max, absl::Duration timeout) {
  if (max == 0) {
    return absl::InvalidArgumentError("max is 0; it must be at least 1");
  }
  constexpr size_t kFirstCapacity = 16;
  std::vector<T> values;
  Removed removed(this);
  bool more = true;
  {
    DueLock lock(this);
    absl::Status status = lock.AwaitDue(timeout);
    if (!status.ok()) return status;
    values.reserve(
        (std::min)(max, kCanGrow ? kFirstCapacity : waiting_.size()));
    values.push_back(std::move(nodes_.At(lock.due())->value));
    Remove(nodes_.At(lock.due()), &removed);
    // From here on, what has been taken is returned, whatever throws.
    internal::TryCall([&, this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      more = MoveDueTo(&values, max, &removed) && kCanGrow;
    });
    if (!more) return values;
    ++calls_;
  }
  // Without the lock, since growing destroys the values that it moves.
  while (more) {
    more = false;
    internal::TryCall([&, this] {
      values.reserve((std::min)(max, 2 * values.capacity()));
      MutexLock lock(&mu_);
      more = MoveDueTo(&values, max, &removed);
    });
  }
  MutexLock lock(&mu_);
  --calls_;
  return values;
}

template <typename T>
bool DelayQueue<T>::Cancel(Handle handle) {
  Removed removed(this);
  MutexLock lock(&mu_);
  Node* const node = Find(handle);
  if (node == nullptr) return false;
  Remove(node, &removed);
  return true;
}

template <typename T>
bool DelayQueue<T>::Reset(Handle handle, absl::Duration delay) {
  const absl::Time now = clock_->TimeNow();
  MutexLock lock(&mu_);
  Node* const node = ShuttingDown() ? nullptr : Find(handle);
  if (node == nullptr) return false;
  const absl::Time due_at = now + delay;
  waiting_.Reserve(node->slot(), due_at);
  waiters_.WakeBy(waiting_.Move(node->slot(), due_at, now));
  return true;
}

template <typename T>
void DelayQueue<T>::ShutDown() {
  Removed removed(this);
  MutexLock lock(&mu_);
  if (shutting_down_.exchange(true)) return;
  // With the lock held: what has been pushed with no delay is due.
  const absl::Time now = clock_->TimeNow();
  shut_down_at_ = internal::FiniteTime(now);
  waiters_.WakeAll();
  nodes_.ForEach([&, this](Node* node) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (node->next_removed != nullptr) return;
    if (waiting_.DueAt(node->slot()) > now) Remove(node, &removed);
  });
}

}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_DELAY_QUEUE_H_
