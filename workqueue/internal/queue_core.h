// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_QUEUE_CORE_H_
#define WORKQUEUE_INTERNAL_QUEUE_CORE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
#include "absl/types/span.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/node_hash_set.h"
#include "workqueue/base/printable.h"
#include "workqueue/base/slab.h"
#include "workqueue/base/slot_map.h"
#include "workqueue/clock/clock.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/add_ring.h"
#include "workqueue/internal/callback_getters.h"
#include "workqueue/internal/compact_time.h"
#include "workqueue/internal/lease_access.h"
#include "workqueue/internal/queue_metrics.h"
#include "workqueue/internal/queue_state.h"
#include "workqueue/internal/ticker.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/ordering.h"
#include "workqueue/snapshot.h"
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
// A queue in memory, without the addition of items: `Queue` and `PriorityQueue`
// derive from this class, and implement that. It hands an item out to one
// worker at a time, and ends its processing.
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
class QueueCore : public Order::QueueInterface,
                  private LeaseOwner<T>,
                  protected QueueState {
 public:
  // The calls of `Interface`, apart from those that add.

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

  absl::Status AcquireInto(Lease<T>* lease, absl::Duration timeout) override {
    QueuedItem<T>* const item = LeaseAccess::Release<T>(lease, this);
    lease->Done();  // Ends the lease if it is of another queue.
    Lock lock(this);
    if (item != nullptr) EndLease(item, LeaseEnd::kDone);
    absl::Status status = AwaitItem(timeout);
    if (status.ok())
      LeaseAccess::Assign<T>(lease, this, LeaseNext(CoarseNow()));
    return status;
  }

  absl::StatusOr<LeaseBatch<T>> AcquireUpToWithTimeout(
      size_t max, absl::Duration timeout) override {
    if (max == 0) return ZeroMaxError();
    LeaseBatch<T> leases;
    Lock lock(this);
    if (absl::Status status = AwaitItem(timeout); !status.ok()) return status;
    max = (std::min)(max, order_.size());
    LeaseAccess::Reserve(&leases, max);
    const CompactTime now = CoarseNow();
    LeaseAccess::PushBack(&leases, LeaseAccess::Make<T>(this, LeaseNext(now)));
    // If an exception is thrown now, the batch has the leases acquired so far.
    TryCall([&, this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      while (leases.size() < max && ItemReady()) {
        LeaseAccess::PushBack(&leases,
                              LeaseAccess::Make<T>(this, LeaseNext(now)));
      }
    });
    return leases;
  }

  AcquireId AcquireNextAsync(Lease<T>* lease, Executor* executor,
                             AcquireCallback<T> callback) override {
    DieIfNoCallback(executor, callback != nullptr);
    QueuedItem<T>* const item = LeaseAccess::Release<T>(lease, this);
    lease->Done();  // Ends the lease if it is of another queue.
    Lock lock(this);
    if (item != nullptr) EndLease(item, LeaseEnd::kDone);
    // The callback waits, even if an item is queued. A push wakes nobody.
    ring_.Seal();
    if (!ApplyPushed()) ThrowBadAlloc();
    if (getters_by_slot_ == nullptr) {
      getters_by_slot_ = std::make_unique<Getters>();
    }
    Getter* const getter = getters_by_slot_->New(executor, std::move(callback));
    callbacks_.PushBack(getter);
    return Getters::HandleOf(getter);
  }

  bool CancelAcquire(AcquireId id) override {
    AcquireCallback<T> cancelled;  // destroyed without the lock
    Lock lock(this);
    if (getters_by_slot_ == nullptr) return false;
    Getter* const getter = getters_by_slot_->Find(id);
    if (getter == nullptr || getter->callback == nullptr) return false;
    cancelled = std::exchange(getter->callback, nullptr);
    if (getter->woken) {
      // Its executor still calls RunCallback(), and may be busy until then.
      --woken_getters_;
      ++cancelled_;
    } else {
      callbacks_.Remove(getter);
      Delete(getter);
    }
    return true;
  }

  absl::StatusOr<Snapshot<T>> TakeSnapshotWith(
      const SnapshotOptions<T>& options) const override {
    // Taking the lock changes the queue: it applies what has been pushed. No
    // caller can tell.
    auto* const self = const_cast<QueueCore*>(this);
    Snapshot<T> snapshot;
    if (options.only != nullptr) {
      const size_t hash = Hash()(*options.only);
      Lock lock(self);
      self->CopyOf(self->entries_.Find(*options.only, hash), &snapshot);
    } else {
      ReserveQueued(options.max, &snapshot);
      Lock lock(self);
      self->CopyUpTo(options.max, &snapshot);
    }
    return snapshot;
  }

  absl::StatusOr<bool> ShutDownAndDrain(
      std::optional<absl::Duration> drain) override {
    int64_t begun = 0;
    {
      Lock lock(this);  // Its end wakes callbacks.
      BeginShutDown();
      if (!drain.has_value()) {
        EndDrains();
        return false;
      }
      begun = BeginDrain();
    }
    MutexLock lock(&mu_);
    return AwaitDrained(begun, *drain, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return Idle();
    });
  }
  void Close() override {
    Lock lock(this);
    BeginShutDown();
  }
  Clock* clock() const override { return clock_; }

  // Final, so that no call is virtual while the constructor or the destructor
  // of a derived class runs on another thread.
  bool ShuttingDown() const final { return IsShuttingDown(); }

 protected:
  using Entry = typename Order::Entry;
  using MutexLock = internal::MutexLock;

  // The first four parameters are the fields of `QueueOptions` of these names.
  // `order` are the arguments of the constructor of `Order`.
  template <typename... Args>
  QueueCore(absl::string_view name, MetricsProvider* metrics_provider,
            LogSink* log_sink, const QueueClock& clock, Args&&... order)
      : QueueState(
            [](QueueState* self, SlabId getter) {
              static_cast<QueueCore*>(self)->RunCallback(getter);
            },
            name, metrics_provider, log_sink, clock, Order::kHasPriorities),
        order_(std::forward<Args>(order)...),
        ticker_(metrics_ == nullptr
                    ? nullptr
                    : std::make_unique<Ticker>(clock.LoopOrNew(name),
                                               [this] { ReportProgress(); })) {
    static_assert(std::is_copy_constructible_v<T>, "an item must be copyable");
  }

  // Shuts the queue down, and blocks until no call blocks in it. The blocked
  // calls return no item. The destructor of the derived class must call this
  // first: a callback may end a lease, which calls virtual functions.
  void AwaitEnd() {
    {
      Lock lock(this);
      BeginDestruction();
    }
    AwaitNobodyBlocks([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      bool runs_here = false;
      if (getters_by_slot_ == nullptr) return runs_here;
      getters_by_slot_->ForEach([&runs_here](const Getter* it) {
        runs_here = runs_here || it->executor->RunsHere();
      });
      return runs_here;
    });
    CheckNoLeases();
  }

  // Refuses items from now on. `OnShutDown()` is called with the lock held: a
  // thread that sees the shutdown may destroy the queue.
  void BeginShutDown() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    ring_.Seal();
    ApplyPushed();
    QueueState::BeginShutDown();
    OnShutDown();
  }
  virtual void OnShutDown() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {}

  // Ends the wait of `entry` if it waits for its time, and returns whether its
  // item has thereby been added. Throws nothing.
  virtual bool EndWait(Entry* /*entry*/) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return false;
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

  // The way of an item: it is added, is handed out, and ends its processing.

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

  // The parts of a snapshot.

  // Fills in `*snapshot` apart from what waits. Copies at most `max` items of
  // each kind; the queued items are in no particular order if
  // `Order::ForFirst()` returns false.
  void CopyUpTo(size_t max, Snapshot<T>* snapshot) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    CopyNumbers(snapshot);
    const bool in_order =
        order_.ForFirst(max, [snapshot](const QueuedItem<T>& item) {
          CopyQueued(snapshot, static_cast<const Entry&>(item));
        });
    if (!in_order) {
      snapshot->queued.clear();
      entries_.ForEach([snapshot, max](const Entry& entry) {
        if (entry.dirty && !entry.processing && snapshot->queued.size() < max) {
          CopyQueued(snapshot, entry);
        }
      });
    }
    for (const QueuedItem<T>* item = processing_.front();
         item != nullptr && snapshot->processing.size() < max;
         item = item->next()) {
      CopyProcessing(snapshot, static_cast<const Entry&>(*item));
    }
    if (max > 0) snapshot->bounds = order_.Bounds(nullptr, max);
  }

  // Does the same, but copies only the item of `entry`, which may be null.
  void CopyOf(const Entry* entry, Snapshot<T>* snapshot) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    CopyNumbers(snapshot);
    if (entry == nullptr) return;
    if (entry->processing) {
      CopyProcessing(snapshot, *entry);
    } else if (entry->dirty) {
      CopyQueued(snapshot, *entry);
      constexpr size_t kMaxItems = 100;
      snapshot->bounds = order_.Bounds(entry, kMaxItems);
    }
  }

  // Allocates memory for at most `max` queued items, without the lock.
  void ReserveQueued(size_t max, Snapshot<T>* snapshot) const {
    if (max == 0) return;
    size_t queued = 0;
    {
      Lock lock(const_cast<QueueCore*>(this));
      queued = order_.size();
    }
    snapshot->queued.reserve((std::min)(max, queued));
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

  // A callback that waits for an item.
  struct Getter : CallbackGetter {
    Getter(Executor* the_executor, AcquireCallback<T>&& the_callback)
        : CallbackGetter(the_executor), callback(std::move(the_callback)) {}

    AcquireCallback<T> callback;  // empty if cancelled
  };
  using Getters = SlotMap<Getter, AcquireTag>;

  // Runs the callback of `slot`, which has been woken.
  void RunCallback(SlabId slot) {
    AcquireCallback<T> callback;
    absl::StatusOr<Lease<T>> lease;
    {
      Lock lock(this);
      Getter* const getter = getters_by_slot_->At(slot);
      if (getter->callback == nullptr) {
        --cancelled_;
      } else {
        --woken_getters_;
        if (MustWait(order_.next())) {
          WaitAgain(getter);  // Another thread has taken the item.
          return;
        }
        lease = CatchAsStatus(
            [this]()
                ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::StatusOr<Lease<T>> {
                  absl::Status status = AfterWait(order_.next());
                  if (!status.ok()) return status;
                  return LeaseAccess::Make<T>(this, LeaseNext(CoarseNow()));
                });
        callback = std::move(getter->callback);
        BeginCall();  // The destructor waits for its end.
      }
      Delete(getter);
    }
    if (callback == nullptr) return;
    const absl::Cleanup called = [this, &callback] {
      callback = nullptr;
      EndCall();
    };
    std::move(callback)(std::move(lease));
  }

  // Makes `getter`, which has been woken, wait again, in its old place. Only
  // those that are older come before it. They were on their way together with
  // it, so there are few.
  void WaitAgain(Getter* getter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    getter->woken = false;
    CallbackGetter* next = callbacks_.front();
    while (next != nullptr && Getters::IsOlder(next, getter)) {
      next = next->next();
    }
    callbacks_.InsertBefore(getter, next);
  }

  // Destroys `getter`, which does not wait. May move another one that waits, so
  // that the memory of a peak can be freed.
  void Delete(Getter* getter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    getters_by_slot_->Delete(getter);
    getters_by_slot_->CompactIfDue(
        [this](Getter* from, Getter* to) ABSL_NO_THREAD_SAFETY_ANALYSIS {
          callbacks_.ReplaceByCopy(to);
          getters_by_slot_->Delete(from);
        },
        // One that has been woken keeps its slot, which the executor knows.
        [](const Getter& it) { return !it.woken; });
  }

  bool EndLeases(absl::Span<QueuedItem<T>* const> items,
                 LeaseEnd end) override {
    Lock lock(this);
    for (QueuedItem<T>* item : items) EndLease(item, end);
    return true;
  }

  // Queues `entry` as if it had not been handed out.
  void GiveBack(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const bool added_again = EndWait(entry) || entry->dirty;
    std::optional<int> added_priority;
    if (entry->dirty) added_priority = entry->priority();
    processing_.Remove(entry);
    entry->processing = false;
    entry->dirty = true;
    order_.GiveBack(entry, added_again);
    if (metrics_ == nullptr) return;
    Report("the return", entry, [&] {
      metrics_->OnGiveBack(entry->times, entry->priority(), added_priority);
    });
  }

  void EndLease(QueuedItem<T>* item, LeaseEnd end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Entry* const entry = static_cast<Entry*>(item);
    entry->leased = false;
    if (end == LeaseEnd::kGivenBack) {
      GiveBack(entry);
    } else {
      Finish(entry);
    }
  }

  // The parts of `CopyUpTo()` and `CopyOf()`.
  void CopyNumbers(Snapshot<T>* snapshot) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    snapshot->taken_at = clock_->TimeNow();
    snapshot->shutting_down = IsShuttingDown();
    snapshot->num_queued = order_.size();
    snapshot->num_processing = processing_.size();
  }
  static void CopyQueued(Snapshot<T>* snapshot, const Entry& entry) {
    snapshot->queued.push_back({entry.item(), entry.times.added.Get(),
                                entry.priority(), /*failures=*/0,
                                /*last_error=*/""});
  }
  static void CopyProcessing(Snapshot<T>* snapshot, const Entry& entry) {
    snapshot->processing.push_back({entry.item(), entry.times.started.Get(),
                                    /*added_again=*/entry.dirty,
                                    /*failures=*/0, /*last_error=*/""});
  }

  // Hands out the next item for a lease that begins at `now`. Inline, because
  // gcc otherwise makes calls of it, which take a `PriorityQueue` 30
  // instructions.
  ABSL_ATTRIBUTE_ALWAYS_INLINE Entry* LeaseNext(CompactTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Entry* const entry = HandOut(now, [](const Entry&) {});
    entry->leased = true;
    return entry;
  }

  // Ends the program if an item is leased.
  void CheckNoLeases() const ABSL_LOCKS_EXCLUDED(mu_) {
    const Entry* leased = nullptr;
    size_t leases = 0;
    MutexLock lock(&mu_);
    for (const QueuedItem<T>* item = processing_.front(); item != nullptr;
         item = item->next()) {
      const Entry* const entry = static_cast<const Entry*>(item);
      if (!entry->leased) continue;
      if (leases++ == 0) leased = entry;
    }
    if (leases == 0) return;
    Fatal(absl::StrCat(errors_.who(),
                       " is destroyed before its leases; left: ", leases,
                       ", one of them of ", DescribeItem(leased->item())));
  }

  // Reports the work in progress.
  void ReportProgress() {
    Lock lock(this, Lock::kLoop);  // Also counts what has been pushed.
    errors_.Try([] { return "the oldest queued item cannot be reported"; },
                [&] { metrics_->UpdateOldestQueued(); });
    if (IsShuttingDown()) return;
    const ItemTimes* const oldest =
        processing_.empty() ? nullptr
                            : &static_cast<Entry*>(processing_.front())->times;
    errors_.Try([] { return "the work in progress cannot be reported"; },
                [&] { metrics_->UpdateUnfinishedWork(oldest); });
  }

  // Whether the waiting loop has held the lock since `OpenRing()` was called.
  bool loop_held_lock_ ABSL_GUARDED_BY(mu_) = false;

  // Null until a callback waits. `callbacks_` has those that wait.
  std::unique_ptr<Getters> getters_by_slot_ ABSL_GUARDED_BY(mu_);

  // Reports the work in progress; null without metrics. Destroyed first,
  // because it uses the rest.
  const std::unique_ptr<Ticker> ticker_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_QUEUE_CORE_H_
