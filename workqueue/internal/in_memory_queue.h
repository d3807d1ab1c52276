// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_IN_MEMORY_QUEUE_H_
#define WORKQUEUE_INTERNAL_IN_MEMORY_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/printable.h"
#include "workqueue/base/slab.h"
#include "workqueue/base/slot_map.h"
#include "workqueue/clock/clock.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/callback_getters.h"
#include "workqueue/internal/compact_time.h"
#include "workqueue/internal/lease_access.h"
#include "workqueue/internal/queue_core.h"
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

// InMemoryQueue
//
// The calls that queues in memory share: those of `QueueCore`, leases,
// callbacks, snapshots, and the end of the queue. `Queue` and `PriorityQueue`
// derive from it, and implement adding items.
template <typename T, typename Order, typename Hash, typename Eq>
class InMemoryQueue : public QueueCore<T, Order, Hash, Eq>,
                      private LeaseOwner<T> {
 protected:
  using Core = QueueCore<T, Order, Hash, Eq>;
  using typename Core::Entry;
  using typename Core::Lock;
  using typename Core::MutexLock;
  // Names of a base that depends on `T` must be declared.
  using Core::ApplyPushed;
  using Core::AwaitItem;
  using Core::callbacks_;
  using Core::clock_;
  using Core::CoarseNow;
  using Core::errors_;
  using Core::IsShuttingDown;
  using Core::metrics_;
  using Core::mu_;
  using Core::order_;
  using Core::processing_;
  using Core::ring_;
  using Core::woken_getters_;

 public:
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
      while (leases.size() < max && this->ItemReady()) {
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
      ++this->cancelled_;
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
    auto* const self = const_cast<InMemoryQueue*>(this);
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
        this->EndDrains();
        return false;
      }
      begun = this->BeginDrain();
    }
    MutexLock lock(&mu_);
    return this->AwaitDrained(
        begun, *drain,
        [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return this->Idle(); });
  }
  void Close() override {
    Lock lock(this);
    BeginShutDown();
  }
  Clock* clock() const override { return clock_; }

 protected:
  // The first four parameters are the fields of `QueueOptions` of these names.
  // `order` are the arguments of the constructor of `Order`.
  template <typename... Args>
  InMemoryQueue(absl::string_view name, MetricsProvider* metrics_provider,
                LogSink* log_sink, const QueueClock& clock, Args&&... order)
      : Core(
            [](QueueState* self, SlabId getter) {
              static_cast<InMemoryQueue*>(self)->RunCallback(getter);
            },
            name, metrics_provider, log_sink, clock,
            std::forward<Args>(order)...),
        ticker_(metrics_ == nullptr
                    ? nullptr
                    : std::make_unique<Ticker>(clock.LoopOrNew(name),
                                               [this] { ReportProgress(); })) {}

  // Shuts the queue down, and blocks until no call blocks in it. The blocked
  // calls return no item. The destructor of the derived class must call this
  // first: a callback may end a lease, which calls virtual functions.
  void AwaitEnd() {
    {
      Lock lock(this);
      this->BeginDestruction();
    }
    this->AwaitNobodyBlocks([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
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
    Core::BeginShutDown();
    OnShutDown();
  }
  virtual void OnShutDown() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {}

  // Ends the wait of `entry` if it waits for its time, and returns whether its
  // item has thereby been added. Throws nothing.
  virtual bool EndWait(Entry* /*entry*/) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return false;
  }

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
      this->entries_.ForEach([snapshot, max](const Entry& entry) {
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
      Lock lock(const_cast<InMemoryQueue*>(this));
      queued = order_.size();
    }
    snapshot->queued.reserve((std::min)(max, queued));
  }

 private:
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
        --this->cancelled_;
      } else {
        --woken_getters_;
        if (this->MustWait(order_.next())) {
          WaitAgain(getter);  // Another thread has taken the item.
          return;
        }
        lease = CatchAsStatus(
            [this]()
                ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::StatusOr<Lease<T>> {
                  absl::Status status = this->AfterWait(order_.next());
                  if (!status.ok()) return status;
                  return LeaseAccess::Make<T>(this, LeaseNext(CoarseNow()));
                });
        callback = std::move(getter->callback);
        this->BeginCall();  // The destructor waits for its end.
      }
      Delete(getter);
    }
    if (callback == nullptr) return;
    const absl::Cleanup called = [this, &callback] {
      callback = nullptr;
      this->EndCall();
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
    this->Report("the return", entry, [&] {
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
      this->Finish(entry);
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
    Entry* const entry = this->HandOut(now, [](const Entry&) {});
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

  // Null until a callback waits. `callbacks_` has those that wait.
  std::unique_ptr<Getters> getters_by_slot_ ABSL_GUARDED_BY(mu_);

  // Reports the work in progress; null without metrics. Destroyed first,
  // because it uses the rest.
  const std::unique_ptr<Ticker> ticker_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_IN_MEMORY_QUEUE_H_
