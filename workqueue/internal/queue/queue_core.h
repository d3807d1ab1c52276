// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/queue/queue_core.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_QUEUE_QUEUE_CORE_H_
#define WORKQUEUE_INTERNAL_QUEUE_QUEUE_CORE_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/clock/clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/error_log.h"
#include "workqueue/internal/exceptions.h"
#include "workqueue/internal/fatal.h"
#include "workqueue/internal/mutex_lock.h"
#include "workqueue/internal/node_hash_set.h"
#include "workqueue/internal/print_item.h"
#include "workqueue/internal/queue/compact_time.h"
#include "workqueue/internal/queue/queue_metrics.h"
#include "workqueue/internal/queue/ticker.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/ordering.h"
#include "workqueue/snapshot.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {
namespace internal {

// What a queue in memory keeps for an item.
template <typename T>
struct QueueEntry : QueuedItem<T>, internal::HashSetNode {
  explicit QueueEntry(const T& item) : QueuedItem<T>(item) {}
  explicit QueueEntry(T&& item) : QueuedItem<T>(std::move(item)) {}

  using QueuedItem<T>::set_priority;

  // Whether there is a reason to keep the entry.
  bool InUse() const { return dirty || processing; }

  ItemTimes times;
  bool dirty = false;       // in need of processing
  bool processing = false;  // handed out
  bool leased = false;      // handed out as a lease
};

// QueueCore
//
// What the queues in memory have in common: handing out what is queued, each
// item to one worker at a time, and taking it back. `Queue` and `PriorityQueue`
// derive from it, and say how items come in.
//
// An item has an entry while it is dirty, being processed, or both (or as long
// as the kind of entry says that it is in use). What is dirty and not being
// processed is queued: it is in `order_`. What is being processed is in
// `processing_`.
//
// `Order` knows what is queued, and in which order it is to be handed out. It
// has
//
//   * `Entry`, a `QueueEntry<T>`,
//   * `kHasPriorities`, whether items have priorities,
//   * `size_t size() const`,
//   * `Entry* Pop()`, which removes the next entry, of at least one,
//   * `void PutBack(Entry*)`, which undoes a `Pop()`, and `void PushBack(
//     Entry*, ErrorLog&)`, which takes an entry in; neither throws,
//   * `bool ForEach(visit) const`, as `Ordering`.
//
// `InterfaceType` is the interface that the queue implements.
template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
class QueueCore : public InterfaceType, private LeaseOwner<T> {
 public:
  QueueCore(const QueueCore&) = delete;
  QueueCore& operator=(const QueueCore&) = delete;

  std::optional<T> Get() override;
  absl::StatusOr<T> GetWithDeadline(absl::Time deadline) override;
  bool Done(const T& item) override;
  absl::StatusOr<Lease<T>> AcquireWithDeadline(absl::Time deadline) override;
  bool AcquireNext(Lease<T>* lease) override;
  absl::StatusOr<LeaseBatch<T>> AcquireUpToWithDeadline(
      size_t max, absl::Time deadline) override;
  size_t Len() const override;
  void ShutDown() override;
  bool ShutDownWithDrainUntil(absl::Time deadline) override;
  // Final, and so no virtual call in here: on other threads it is called while
  // the constructor or destructor of a derived class may be running.
  bool ShuttingDown() const final;
  Snapshot<T> TakeSnapshot() override;

 protected:
  using Entry = typename Order::Entry;
  using MutexLock = internal::MutexLock;

  // As `QueueOptions`; `order` is what the order is made of.
  template <typename... Args>
  QueueCore(const std::string& name, MetricsProvider* metrics_provider,
            LogSink* log_sink, Clock* clock, std::shared_ptr<WaitingLoop> loop,
            Args&&... order);
  // Shuts the queue down, and waits for the calls that block in it, which
  // return with nothing.
  ~QueueCore() override;

  // Holds the queue's lock and, when it has released that, wakes threads that
  // wait for an item if there are items for them.
  class ABSL_SCOPED_LOCKABLE Lock {
   public:
    explicit Lock(QueueCore* queue) ABSL_EXCLUSIVE_LOCK_FUNCTION(queue->mu_)
        : wakes_{queue}, lock_(&queue->mu_) {}
    ~Lock() ABSL_UNLOCK_FUNCTION() {
      wakes_.count = wakes_.queue->BeginWakes();
    }

   private:
    struct Wakes {
      ~Wakes() {
        if (count > 0) queue->Wake(count);
      }
      QueueCore* const queue;
      size_t count = 0;
    };

    Wakes wakes_;  // before lock_, so that nobody wakes up to wait for the lock
    MutexLock lock_;
  };

  // Blocks until an item is queued, and returns OK when there is one.
  absl::Status AwaitItem(absl::Time deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return order_.size() > 0 ? absl::OkStatus() : WaitForItem(deadline);
  }

  // Takes the next item, of at least one, out of the order, and marks it as
  // being processed since `now`, which is coarse. Calls `copy` with its entry
  // before. If that throws, nothing has changed.
  template <typename F>
  Entry* HandOut(absl::Time now, F copy) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Copies what is in the queue to `*snapshot`, the queued in their order if
  // the order can tell.
  void CopyTo(Snapshot<T>* snapshot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  bool ItemQueuedOrShutDown() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return order_.size() > 0 || ShuttingDown();
  }

  bool Idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return processing_.empty() && order_.size() == 0;
  }

  Clock* const clock_;
  const std::unique_ptr<QueueMetrics> metrics_;

  mutable absl::Mutex mu_;
  internal::NodeHashSet<T, Entry, Hash, Eq> entries_ ABSL_GUARDED_BY(mu_);
  // After entries_, since it may look at its items until it is destroyed.
  Order order_ ABSL_GUARDED_BY(mu_);
  ErrorLog errors_ ABSL_GUARDED_BY(mu_);

 private:
  void EndLeases(absl::Span<QueuedItem<T>* const> items) override;

  // The processing of `entry` has ended.
  void Finish(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FinishLeased(QueuedItem<T>* item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Returns how many threads to wake, since there are items for them, and
  // counts them as woken. Only a few are on their way at a time: each of them
  // sees to the next ones when it has taken its own item, so that a burst of
  // items costs a few wake-ups, and not one for each. If it is any, `Wake()`
  // must follow.
  size_t BeginWakes() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Wakes so many threads. Afterwards the queue may be gone: one that has been
  // woken may have destroyed it.
  void Wake(size_t count) ABSL_LOCKS_EXCLUDED(mu_);

  // Hands the next item out as a lease, since `now`.
  Lease<T> LeaseNext(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Entry* const entry = HandOut(now, [](const Entry&) {});
    entry->leased = true;
    return Lease<T>(this, entry);
  }

  // As `AwaitItem()`, when there is none yet.
  absl::Status WaitForItem(absl::Time deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void BeginShutDown() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Ends the drains that are in progress.
  void EndDrains() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  bool NobodyBlocks() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return blocked_ == 0;
  }

  // Ends the program if an item is leased.
  void CheckNoLeases() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The ticker's part: reports the work in progress.
  void ReportProgress();

  // Signalled when an item is queued, and when the queue shuts down.
  absl::CondVar queued_;
  // Signalled when, while shutting down, there is nothing left to do, and by
  // ShutDown().
  absl::CondVar drained_;

  // Written under mu_.
  std::atomic<bool> shutting_down_{false};
  // Calls of ShutDown(); one of them ends the drains that are in progress.
  int64_t shut_downs_ ABSL_GUARDED_BY(mu_) = 0;
  // Threads that wait for queued_, and how many of them have been woken and
  // have not got here yet. If an item is queued and a thread waits, one is
  // woken.
  size_t waiting_getters_ ABSL_GUARDED_BY(mu_) = 0;
  size_t woken_getters_ ABSL_GUARDED_BY(mu_) = 0;
  // Threads that block in a get or a drain. The destructor waits for them.
  size_t blocked_ ABSL_GUARDED_BY(mu_) = 0;
  // Calls of Wake() that are in progress or must follow.
  std::atomic<int> waking_{0};
  // The destructor has begun, and nothing is handed out any more.
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  // What is being processed, in the order in which it was handed out.
  QueuedItemList<T> processing_ ABSL_GUARDED_BY(mu_);

  // Reports the work in progress; null without metrics_. The last member, since
  // it runs until it is destroyed.
  std::unique_ptr<Ticker> ticker_;
};

// Implementation details follow.

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
template <typename... Args>
QueueCore<T, InterfaceType, Order, Hash, Eq>::QueueCore(
    const std::string& name, MetricsProvider* metrics_provider,
    LogSink* log_sink, Clock* clock, std::shared_ptr<WaitingLoop> loop,
    Args&&... order)
    : clock_(OrRealClock(clock)),
      metrics_(QueueMetrics::Create(name, metrics_provider, clock_,
                                    Order::kHasPriorities)),
      order_(std::forward<Args>(order)...),
      errors_(name, log_sink, clock_) {
  if (metrics_ == nullptr) return;
  if (loop == nullptr) loop = std::make_shared<WaitingLoop>(clock_);
  ticker_ = std::make_unique<Ticker>(std::move(loop), clock_,
                                     QueueMetrics::UpdatePeriod(),
                                     [this] { ReportProgress(); });
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
QueueCore<T, InterfaceType, Order, Hash, Eq>::~QueueCore() {
  {
    MutexLock lock(&mu_);
    closing_ = true;
    BeginShutDown();
    EndDrains();
    mu_.Await(absl::Condition(this, &QueueCore::NobodyBlocks));
    CheckNoLeases();
  }
  // For no longer than a system call takes.
  while (waking_.load(std::memory_order_acquire) > 0) {
    std::this_thread::yield();
  }
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
void QueueCore<T, InterfaceType, Order, Hash, Eq>::CheckNoLeases() const {
  const Entry* leased = nullptr;
  size_t leases = 0;
  for (const QueuedItem<T>* item = processing_.front(); item != nullptr;
       item = item->next()) {
    const Entry* const entry = static_cast<const Entry*>(item);
    if (!entry->leased) continue;
    if (leases++ == 0) leased = entry;
  }
  if (leases == 0) return;
  internal::Fatal(absl::StrCat(
      errors_.who(), " is destroyed before its leases; left: ", leases,
      ", one of them of ", DescribeItem(leased->item())));
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
void QueueCore<T, InterfaceType, Order, Hash, Eq>::ReportProgress() {
  MutexLock lock(&mu_);
  if (ShuttingDown()) return;
  const ItemTimes* const oldest =
      processing_.empty() ? nullptr
                          : &static_cast<Entry*>(processing_.front())->times;
  errors_.Try([] { return "the work in progress cannot be reported"; },
              [&] { metrics_->UpdateUnfinishedWork(oldest); });
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
absl::Status QueueCore<T, InterfaceType, Order, Hash, Eq>::WaitForItem(
    absl::Time deadline) {
  ++blocked_;
  if (deadline == absl::InfiniteFuture()) {
    while (!ItemQueuedOrShutDown()) {
      ++waiting_getters_;
      queued_.Wait(&mu_);
      --waiting_getters_;
      if (woken_getters_ > 0) --woken_getters_;
    }
  } else if (deadline != absl::InfinitePast() && !ShuttingDown()) {
    clock_->AwaitWithDeadline(
        &mu_, absl::Condition(this, &QueueCore::ItemQueuedOrShutDown),
        deadline);
  }
  --blocked_;
  if (order_.size() > 0 && !closing_) return absl::OkStatus();
  // Without a message, which would be an allocation for who polls.
  if (!ShuttingDown()) return absl::DeadlineExceededError("");
  return absl::CancelledError("the queue has been shut down and is empty");
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
template <typename F>
auto QueueCore<T, InterfaceType, Order, Hash, Eq>::HandOut(absl::Time now,
                                                           F copy) -> Entry* {
  Entry* entry = nullptr;
  absl::Cleanup undo = [this, &entry]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (entry != nullptr) order_.PutBack(entry);
  };
  entry = order_.Pop();
  copy(*entry);
  if (metrics_ != nullptr) {
    metrics_->OnGet(entry->times, entry->priority());
  } else {
    entry->times.started = CompactTime(now);
  }
  std::move(undo).Cancel();
  entry->dirty = false;
  entry->processing = true;
  processing_.PushBack(entry);
  return entry;
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
std::optional<T> QueueCore<T, InterfaceType, Order, Hash, Eq>::Get() {
  // The only object returned, so that returning it copies nothing: a copy could
  // throw when all has been done.
  std::optional<T> item;
  Lock lock(this);
  if (!AwaitItem(absl::InfiniteFuture()).ok()) return item;
  HandOut(clock_->CoarseTimeNow(),
          [&item](const Entry& entry) { item.emplace(entry.item()); });
  return item;
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
absl::StatusOr<T> QueueCore<T, InterfaceType, Order, Hash, Eq>::GetWithDeadline(
    absl::Time deadline) {
  absl::StatusOr<T> item;  // as in Get()
  Lock lock(this);
  if (absl::Status status = AwaitItem(deadline); !status.ok()) {
    item = std::move(status);
    return item;
  }
  HandOut(clock_->CoarseTimeNow(),
          [&item](const Entry& entry) { item.emplace(entry.item()); });
  return item;
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
absl::StatusOr<Lease<T>>
QueueCore<T, InterfaceType, Order, Hash, Eq>::AcquireWithDeadline(
    absl::Time deadline) {
  Lock lock(this);
  if (absl::Status status = AwaitItem(deadline); !status.ok()) return status;
  return LeaseNext(clock_->CoarseTimeNow());
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
bool QueueCore<T, InterfaceType, Order, Hash, Eq>::AcquireNext(
    Lease<T>* lease) {
  QueuedItem<T>* const item = lease->ReleaseTo(this);
  lease->Done();  // of another queue
  Lock lock(this);
  if (item != nullptr) FinishLeased(item);
  if (!AwaitItem(absl::InfiniteFuture()).ok()) return false;
  *lease = LeaseNext(clock_->CoarseTimeNow());
  return true;
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
absl::StatusOr<LeaseBatch<T>>
QueueCore<T, InterfaceType, Order, Hash, Eq>::AcquireUpToWithDeadline(
    size_t max, absl::Time deadline) {
  if (max == 0) return ZeroMaxError();
  LeaseBatch<T> leases;
  Lock lock(this);
  if (absl::Status status = AwaitItem(deadline); !status.ok()) return status;
  max = std::min(max, order_.size());
  leases.reserve(max);
  const absl::Time now = clock_->CoarseTimeNow();
  leases.push_back(LeaseNext(now));
  // What has been acquired is returned, even if there is no more to be had.
  const auto acquire_more = [&, this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    while (leases.size() < max) leases.push_back(LeaseNext(now));
  };
  internal::TryCall(acquire_more);
  return leases;
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
bool QueueCore<T, InterfaceType, Order, Hash, Eq>::Done(const T& item) {
  const size_t hash = Hash()(item);
  Lock lock(this);
  Entry* const entry = entries_.Find(item, hash);
  if (entry == nullptr || !entry->processing || entry->leased) return false;
  Finish(entry);
  return true;
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
void QueueCore<T, InterfaceType, Order, Hash, Eq>::EndLeases(
    absl::Span<QueuedItem<T>* const> items) {
  Lock lock(this);
  for (QueuedItem<T>* item : items) FinishLeased(item);
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
void QueueCore<T, InterfaceType, Order, Hash, Eq>::FinishLeased(
    QueuedItem<T>* item) {
  Entry* const entry = static_cast<Entry*>(item);
  entry->leased = false;
  Finish(entry);
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
size_t QueueCore<T, InterfaceType, Order, Hash, Eq>::BeginWakes() {
  constexpr size_t kAtATime = 4;
  if (waiting_getters_ == 0) return 0;
  const size_t wanted = std::min({order_.size(), waiting_getters_, kAtATime});
  const size_t wakes = wanted - std::min(wanted, woken_getters_);
  if (wakes == 0) return 0;
  woken_getters_ += wakes;
  waking_.fetch_add(1, std::memory_order_relaxed);
  return wakes;
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
void QueueCore<T, InterfaceType, Order, Hash, Eq>::Wake(size_t count) {
  for (; count > 0; --count) queued_.Signal();
  waking_.fetch_sub(1, std::memory_order_release);
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
void QueueCore<T, InterfaceType, Order, Hash, Eq>::Finish(Entry* entry) {
  if (metrics_ != nullptr) {
    const auto what = [entry] {
      return absl::StrCat("the work duration of ", DescribeItem(entry->item()),
                          " cannot be reported");
    };
    errors_.Try(what, [&] { metrics_->OnDone(entry->times); });
  }
  processing_.Remove(entry);
  entry->processing = false;
  if (entry->dirty) {
    order_.PushBack(entry, errors_);
    return;
  }
  if (!entry->InUse()) entries_.Erase(entry);
  if (ShuttingDown() && Idle()) drained_.SignalAll();
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
size_t QueueCore<T, InterfaceType, Order, Hash, Eq>::Len() const {
  MutexLock lock(&mu_);
  return order_.size();
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
void QueueCore<T, InterfaceType, Order, Hash, Eq>::ShutDown() {
  MutexLock lock(&mu_);
  BeginShutDown();
  EndDrains();
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
void QueueCore<T, InterfaceType, Order, Hash, Eq>::EndDrains() {
  ++shut_downs_;
  drained_.SignalAll();
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
bool QueueCore<T, InterfaceType, Order, Hash, Eq>::ShutDownWithDrainUntil(
    absl::Time deadline) {
  MutexLock lock(&mu_);
  BeginShutDown();
  const int64_t shut_downs_before = shut_downs_;
  const auto is_over = [this, shut_downs_before]()
                           ABSL_NO_THREAD_SAFETY_ANALYSIS {
                             return Idle() || shut_downs_ != shut_downs_before;
                           };
  ++blocked_;
  if (deadline == absl::InfiniteFuture()) {
    while (!is_over()) drained_.Wait(&mu_);
  } else if (deadline != absl::InfinitePast()) {
    clock_->AwaitWithDeadline(&mu_, absl::Condition(&is_over), deadline);
  }
  --blocked_;
  return Idle();
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
void QueueCore<T, InterfaceType, Order, Hash, Eq>::BeginShutDown() {
  shutting_down_.store(true, std::memory_order_release);
  queued_.SignalAll();
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
bool QueueCore<T, InterfaceType, Order, Hash, Eq>::ShuttingDown() const {
  return shutting_down_.load(std::memory_order_acquire);
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
Snapshot<T> QueueCore<T, InterfaceType, Order, Hash, Eq>::TakeSnapshot() {
  Snapshot<T> snapshot;
  snapshot.queued.reserve(Len());  // rather than with the lock held
  MutexLock lock(&mu_);
  CopyTo(&snapshot);
  return snapshot;
}

template <typename T, typename InterfaceType, typename Order, typename Hash,
          typename Eq>
void QueueCore<T, InterfaceType, Order, Hash, Eq>::CopyTo(
    Snapshot<T>* snapshot) {
  snapshot->taken_at = clock_->TimeNow();
  snapshot->shutting_down = ShuttingDown();
  const auto copy = [snapshot](const QueuedItem<T>& item) {
    snapshot->queued.push_back({item.item(), item.priority(), /*failures=*/0});
  };
  if (!order_.ForEach(copy)) {
    entries_.ForEach([&copy](const Entry& entry) {
      if (entry.dirty && !entry.processing) copy(entry);
    });
  }
  for (const QueuedItem<T>* item = processing_.front(); item != nullptr;
       item = item->next()) {
    const Entry& entry = static_cast<const Entry&>(*item);
    snapshot->processing.push_back({entry.item(), entry.times.started.Get(),
                                    /*added_again=*/entry.dirty,
                                    /*failures=*/0});
  }
}

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_QUEUE_QUEUE_CORE_H_
