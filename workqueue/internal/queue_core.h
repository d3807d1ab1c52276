// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_QUEUE_CORE_H_
#define WORKQUEUE_INTERNAL_QUEUE_CORE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/node_hash_set.h"
#include "workqueue/base/printable.h"
#include "workqueue/base/slab.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/add_ring.h"
#include "workqueue/internal/callback_getters.h"
#include "workqueue/internal/compact_time.h"
#include "workqueue/internal/queue_metrics.h"
#include "workqueue/internal/queue_state.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/ordering.h"
#include "workqueue/timer/queue_clock.h"

namespace workqueue::internal {

class RingOpener;  // in tests

// The data that a queue in memory stores for an item.
template <typename T>
struct QueueEntry : QueuedItem<T>, HashSetNode {
  explicit QueueEntry(const T& item) : QueuedItem<T>(item) {}
  explicit QueueEntry(T&& item) : QueuedItem<T>(std::move(item)) {}

  using QueuedItem<T>::set_priority;

  // For `Slab`. Copying a key mostly takes the time to allocate its bytes, so
  // the bytes of a short key stay for the next one.
  template <typename U = T,
            typename = std::enable_if_t<std::is_same_v<U, std::string>>>
  bool KeepForReuse() const {
    constexpr size_t kMaxKeptBytes = 64;
    return this->item().capacity() < kMaxKeptBytes;
  }
  // The other members are as in a new entry, or are set before they are read.
  template <typename U>
  void Reuse(U&& item) {
    this->set_item(std::forward<U>(item));
  }

  // Whether the queue must keep the entry.
  bool InUse() const { return dirty || processing; }

  // Whether the user's `Ordering` may use the address of the entry.
  bool KnownToOrdering() const { return in_ordering || from_ordering; }

  ItemTimes times;
  bool dirty = false;       // must be processed
  bool processing = false;  // has been handed out
  bool leased = false;      // has been handed out as a lease
  bool in_ordering = false;
  // The ordering has handed the item out, and does not know that it is done.
  bool from_ordering = false;
};

// Returns whether comparing two items cannot throw. The function objects of the
// standard library and of Abseil only call `==`, but are not declared
// `noexcept`.
template <typename T, typename Eq>
constexpr bool IsEqualityNoexcept() {
  if constexpr (std::is_scalar_v<T> || std::is_same_v<T, std::string>) {
    if (std::is_same_v<Eq, typename absl::flat_hash_set<T>::key_equal>) {
      return true;
    }
  }
  if constexpr (std::is_same_v<Eq, std::equal_to<T>>) {
    return noexcept(std::declval<const T&>() == std::declval<const T&>());
  } else {
    return std::is_nothrow_invocable_v<const Eq&, const T&, const T&>;
  }
}

// Returns whether another thread may add a `T`. Nothing that depends on `T` may
// throw then, because the exception would come out of a call of that thread.
// And a `T` must be small: the ring has 64 slots, and stays until the queue is
// destroyed.
template <typename T, typename Eq>
constexpr bool CanPush() {
  return sizeof(T) <= 256 && std::is_nothrow_move_constructible_v<T> &&
         IsEqualityNoexcept<T, Eq>();
}

// QueueCore
//
// An item's way through a queue in memory: the lock, under which it is added,
// handed out to one worker at a time, and ends its processing.
// `InMemoryQueue`, which derives from it, has the other calls of `Interface`.
//
// An item has an entry while it is dirty, being processed, or both. (An order
// can keep entries longer.) An item that is dirty and not being processed is
// queued: its entry is in `order_`. An item that is being processed is in
// `processing_`.
//
// `Order` contains the queued entries, and determines the order in which they
// are handed out. It must have these members. The functions in the second group
// must not throw.
//
//   * `Entry`, which is `QueueEntry<T>` or a class derived from it.
//   * `QueueInterface`: the interface that the queue implements.
//   * `kHasPriorities`: whether items have priorities.
//   * `bool may_throw() const`: whether adding an entry may throw anything but
//     `std::bad_alloc`.
//   * `size_t size() const`: returns the number of entries.
//   * `NextItem next() const`: returns whether there is an entry, and whether
//     it is ready.
//   * `Entry* Pop()`: removes the next entry and returns it. Called only if one
//     is ready.
//   * `bool ForFirst(size_t max, visit) const`: calls `visit` with the first
//     `max` entries, or with all if there are no more, and returns true. If it
//     cannot tell the order, it returns false, and may have visited some. It
//     may visit all of its entries in any order, if its queue sorts the copies.
//   * `std::vector<OrderingBound<T>> Bounds(const Entry*, size_t max) const`:
//     returns what `Ordering::Bounds()` does.
//   * Without priorities, also `void Push(Entry*)`, which inserts an entry, and
//     `void Touch(Entry*)`, which is called when the item of one that is there
//     is added again.
//
//   * `void PutBack(Entry*)`: undoes a `Pop()`.
//   * `void PushBack(Entry*, ErrorLog&)`: inserts an entry whose item was added
//     while it was being processed, which it no longer is.
//   * `void GiveBack(Entry*, bool added_again)`: inserts an entry whose item
//     was handed out but not processed. The entry comes before all others (of
//     its priority). `added_again` tells whether the item was added meanwhile.
//   * `void OnDone(Entry*)`: called when an entry is no longer dirty or being
//     processed.
//   * `void OnMoved(Entry*)`: called when the address of an entry has changed
//     that is in the order but not known to the user's `Ordering`.
//   * `void Shrink()`: frees memory that the entries do not need.
template <typename T, typename Order, typename Hash, typename Eq>
class QueueCore : public Order::QueueInterface, protected QueueState {
 public:
  absl::Status GetItem(absl::Duration timeout,
                       ItemReceiver<T> receive) override {
    Lock lock(this);
    absl::Status status = AwaitItem(timeout);
    if (status.ok()) {
      HandOut(CoarseNow(), [receive](const Entry& entry) {
        receive(entry.item(), entry.priority());
      });
    }
    return status;
  }

  absl::StatusOr<bool> EndProcessing(const T& item) override {
    const size_t hash = Hash()(item);
    Lock lock(this);
    const auto position = entries_.FindPosition(item, hash);
    if (!position.found) return false;
    Entry* const entry = entries_.At(position);
    if (!entry->processing || entry->leased) return false;
    Finish(entry, position);
    return true;
  }

  // Final, so that no call is virtual while the constructor or the destructor
  // of a derived class runs on another thread.
  bool ShuttingDown() const final { return IsShuttingDown(); }

 protected:
  using Entry = typename Order::Entry;
  using MutexLock = internal::MutexLock;

  // `run_callback` and the next four parameters are those of `QueueState`.
  // `order` are the arguments of the constructor of `Order`.
  template <typename... Args>
  QueueCore(RunCallbackFunction run_callback, absl::string_view name,
            MetricsProvider* metrics_provider, LogSink* log_sink,
            const QueueClock& clock, Args&&... order)
      : QueueState(run_callback, name, metrics_provider, log_sink, clock,
                   Order::kHasPriorities),
        order_(std::forward<Args>(order)...) {
    static_assert(std::is_copy_constructible_v<T>, "an item must be copyable");
  }

  // Holds the queue's lock. At the beginning, applies the additions that other
  // threads have pushed; if there is no memory, leaves them to a later call. At
  // the end, wakes threads and callbacks that wait for an item, if there are
  // items for them. A thread that is woken with the lock held begins to run
  // once the lock is free. Wake-ups of callbacks are sent once the lock is
  // free.
  class ABSL_SCOPED_LOCKABLE Lock {
   public:
    ABSL_ATTRIBUTE_ALWAYS_INLINE explicit Lock(QueueCore* queue)
        ABSL_EXCLUSIVE_LOCK_FUNCTION(queue->mu_)
        : queue_(queue), lock_(&queue->mu_) {
      queue_->ApplyPushed();
    }
    // If another thread holds the lock, also lets further additions be pushed.
    enum IfContended { kOpenRing };
    ABSL_ATTRIBUTE_ALWAYS_INLINE Lock(QueueCore* queue, IfContended)
        ABSL_EXCLUSIVE_LOCK_FUNCTION(queue->mu_)
        : queue_(queue), lock_(&queue->mu_, &contended_) {
      if (contended_) queue->OpenRing();
      queue_->ApplyPushed();
    }
    // For the waiting loop. It takes the lock once in a while, so the next
    // thread that finds the lock taken does not open the ring. Otherwise the
    // metrics of a program with one thread might lag behind.
    enum Holder { kLoop };
    Lock(QueueCore* queue, Holder) ABSL_EXCLUSIVE_LOCK_FUNCTION(queue->mu_)
        : queue_(queue), lock_(&queue->mu_) {
      queue->loop_held_lock_ = true;
      queue_->ApplyPushed();
    }
    ABSL_ATTRIBUTE_ALWAYS_INLINE ~Lock() ABSL_UNLOCK_FUNCTION() {
      if (ABSL_PREDICT_FALSE(queue_->GettersWait())) {
        queue_->WakeGetters(queue_->order_.next(), queue_->order_.size(),
                            &callbacks_);
      }
    }

   private:
    QueueCore* const queue_;
    bool contended_ = false;
    CallbackWakeUps callbacks_;  // destroyed after lock_
    MutexLock lock_;
  };

  // Adds `item`, which hashes to `hash`, without the lock. Returns false,
  // without effect, if the caller must take the lock.
  bool TryPush(const T& item, size_t hash) {
    if constexpr (kCanPush) {
      return ABSL_PREDICT_FALSE(ring_.open_hint()) && Push(item, hash);
    }
    return false;
  }

  // Blocks until an item is ready, the queue is shut down and has no item, or
  // `timeout` has passed. Returns OK if an item may be handed out.
  absl::Status AwaitItem(absl::Duration timeout)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (ABSL_PREDICT_TRUE(ItemReady())) return absl::OkStatus();
    return AwaitFirstItem(timeout);
  }

  bool ItemReady() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return order_.next() == NextItem::kReady;
  }

  // Does what `AwaitItem()` does if no item is ready.
  ABSL_ATTRIBUTE_NOINLINE absl::Status AwaitFirstItem(absl::Duration timeout)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (ring_.active()) {
      if (timeout > absl::ZeroDuration()) ring_.Seal();  // A push wakes nobody.
      if (!ApplyPushed()) ThrowBadAlloc();
      if (ItemReady()) return absl::OkStatus();
    }
    return QueueState::AwaitItem(
        timeout,
        [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return order_.next(); });
  }

  // Removes the next item from the order, and marks it as being processed since
  // `now`, a coarse time. An item must be ready. Calls `copy(entry)` first. If
  // `copy` or a metric throws, the item stays queued.
  template <typename F>
  ABSL_ATTRIBUTE_ALWAYS_INLINE inline Entry* HandOut(CompactTime now, F copy)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Entry* const entry = order_.Pop();
    absl::Cleanup undo = [this, entry]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      order_.PutBack(entry);
    };
    copy(*entry);
    if (metrics_ != nullptr) {
      metrics_->OnGet(entry->times, entry->priority());
    } else {
      entry->times.started = now;
    }
    std::move(undo).Cancel();
    entry->dirty = false;
    entry->processing = true;
    processing_.PushBack(entry);
    return entry;
  }

  // The time of an addition. Metrics need it precisely.
  CompactTime TimeOfAdd() const {
    return metrics_ != nullptr ? CompactTime(clock_->TimeNow()) : CoarseNow();
  }

  // Adds `item`, a `const T&` or a `T&&`, to a queue without priorities.
  // `*time` is the time of the addition; null means now. `guess` is null, or an
  // entry that the item may have. If this throws, the queue is unchanged. An
  // addition that has been pushed throws only `std::bad_alloc`.
  template <typename U>
  void AddWithoutPriority(U&& item, size_t hash,
                          const CompactTime* time = nullptr,
                          bool pushed = false, Entry* guess = nullptr)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Entry* const entry =
        entries_.FindOrInsert(std::forward<U>(item), hash, guess).first;
    if (entry->dirty) {
      if (!entry->processing) order_.Touch(entry);
      return;
    }
    absl::Cleanup undo = [this, entry]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      if (!entry->processing) entries_.Erase(entry);
    };
    RecordAdd(entry, entry->priority(), time != nullptr ? *time : TimeOfAdd(),
              pushed);
    if (!entry->processing) {
      absl::Cleanup undo_record = [this,
                                   entry]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        RecordNotAdded(entry, entry->priority());
      };
      order_.Push(entry);
      std::move(undo_record).Cancel();
    }
    std::move(undo).Cancel();
    entry->dirty = true;
  }

  // Adds what another thread has pushed, in a queue with priorities. Throws
  // only `std::bad_alloc`; then nothing has changed. While the queue is being
  // destroyed, drops it.
  virtual void AddPushed(typename AddRing<T>::Addition&& /*pushed*/)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {}

  // Calls `record`, which updates metrics because of an addition of `entry`. If
  // the addition has been pushed, logs an exception.
  template <typename F>
  void RecordAddition(const Entry* entry, bool pushed, F record)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (pushed) {
      Report("the addition", entry, record);
    } else {
      record();
    }
  }

  // Call this before `entry` becomes dirty, at `time` and with its priority
  // from then on. If a metric throws, the entry must not become dirty, unless
  // the addition has been pushed.
  void RecordAdd(Entry* entry, int priority, CompactTime time,
                 bool pushed = false) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    entry->times.added = time;
    if (metrics_ == nullptr) return;
    RecordAddition(entry, pushed, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      metrics_->OnAdd(entry->times, priority, pushed);
    });
  }

  // Call this if an entry has not become dirty after `RecordAdd()`.
  void RecordNotAdded(Entry* entry, int priority)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (metrics_ == nullptr) return;
    Report("the failed addition", entry, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      metrics_->OnNotAdded(entry->times, priority);
    });
  }

  // Ends the processing of `entry`. `place` is `entry` or its position.
  void Finish(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Finish(entry, entry);
  }
  template <typename Place>
  void Finish(Entry* entry, Place place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (metrics_ != nullptr) {
      Report("the end", entry, [&] { metrics_->OnDone(entry->times); });
    }
    processing_.Remove(entry);
    entry->processing = false;
    if (entry->dirty) {
      order_.PushBack(entry, errors_);
      return;
    }
    order_.OnDone(entry);
    if (!entry->InUse()) Erase(place);
    if (IsShuttingDown() && Idle()) NotifyIdle();
  }

  // Calls `report`, which updates metrics because of an `event` of `entry`. If
  // `report` throws, logs the error.
  template <typename F>
  void Report(absl::string_view event, const Entry* entry, F report)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto what = [event, entry] {
      return absl::StrCat(event, " of ", DescribeItem(entry->item()),
                          " cannot be reported");
    };
    errors_.Try(what, report);
  }

  // Erases the entry at `place`, its address or its position. May move another
  // entry to another address.
  template <typename Place>
  void Erase(Place place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    entries_.Erase(place);
    Entry* moved = nullptr;
    const auto on_move = [&moved](Entry* it, SlabId) { moved = it; };
    const auto may_move = [](const Entry& it) {
      // A lease knows the address, too.
      return !it.processing && !it.KnownToOrdering();
    };
    if (entries_.CompactIfDue(on_move, may_move)) OnCompaction(moved);
  }

  // Frees memory that the entries do not need. The address of `moved`, which is
  // not being processed, has changed; `moved` may be null. Throws nothing.
  virtual void OnCompaction(Entry* moved) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    order_.Shrink();
    if (moved != nullptr) order_.OnMoved(moved);
  }

  // Returns whether no item is queued or being processed. The queue must be
  // shutting down.
  bool Idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return processing_.empty() && order_.size() == 0 && !ring_.active();
  }

  // Applies the additions that have been pushed. Returns false, and leaves the
  // rest to a later call, if there is no memory.
  bool ApplyPushed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return ABSL_PREDICT_TRUE(!ring_.active()) || ApplyRing();
  }

  NodeHashSet<T, Entry, Eq> entries_ ABSL_GUARDED_BY(mu_);
  // Destroyed before entries_, because its destructor may read items.
  Order order_ ABSL_GUARDED_BY(mu_);
  // The items that are being processed, in the order in which they were handed
  // out.
  QueuedItemList<T> processing_ ABSL_GUARDED_BY(mu_);
  // The additions that other threads have left to the thread with the lock.
  AddRing<T> ring_;

 private:
  friend RingOpener;

  // Whether an addition can be left to the thread that holds the lock.
  static constexpr bool kCanPush = CanPush<T, Eq>();

  ABSL_ATTRIBUTE_NOINLINE bool Push(const T& item, size_t hash) {
    return ring_.TryPush({item, hash, TimeOfAdd()});
  }

  // Lets additions be pushed, unless a thread blocks in the queue or its
  // ordering may throw.
  ABSL_ATTRIBUTE_NOINLINE void OpenRing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (std::exchange(loop_held_lock_, false)) return;
    if constexpr (kCanPush) {
      if (ring_.active() || ThreadsBlock() || IsShuttingDown() ||
          order_.may_throw()) {
        return;
      }
      ring_.Open();
    }
  }

  ABSL_ATTRIBUTE_NOINLINE bool ApplyRing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if constexpr (kCanPush) {
      const auto add = [this](typename AddRing<T>::Addition&& pushed)
                           ABSL_NO_THREAD_SAFETY_ANALYSIS {
                             if constexpr (Order::kHasPriorities) {
                               AddPushed(std::move(pushed));
                             } else {
                               AddWithoutPriority(std::move(pushed.item),
                                                  pushed.hash, &pushed.added,
                                                  /*pushed=*/true);
                             }
                           };
      return TryCall([this, &add] { ring_.Apply(add); });
    }
    return true;
  }

  // Whether the waiting loop has held the lock since `OpenRing()` was called.
  bool loop_held_lock_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_QUEUE_CORE_H_
