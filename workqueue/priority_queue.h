// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/priority_queue.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_PRIORITY_QUEUE_H_
#define WORKQUEUE_PRIORITY_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "ratelimit/rate_limiter.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/error_log.h"
#include "workqueue/internal/indexed_heap.h"
#include "workqueue/internal/queue/priority_order.h"
#include "workqueue/internal/queue/queue_core.h"
#include "workqueue/internal/queue/queue_metrics.h"
#include "workqueue/internal/queue/snapshot_order.h"
#include "workqueue/internal/retry_delay.h"
#include "workqueue/internal/wake_time.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/snapshot.h"
#include "workqueue/timer/queue_clock.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {

// PriorityQueueOptions
//
// Options of a `PriorityQueue`. Every field has a usable default.
template <typename T>
struct PriorityQueueOptions {
  // As in `QueueOptions`.
  std::string name;
  MetricsProvider* metrics_provider = nullptr;
  LogSink* log_sink = nullptr;
  QueueClock clock;

  // Chooses the delays of rate limited adds; null means an
  // `ItemExponentialFailureRateLimiter` from 5 ms to 1000 s, as in
  // controller-runtime.
  std::unique_ptr<RateLimiter<T>> rate_limiter;
};

// PriorityQueue
//
// A rate limiting queue whose items have priorities: it hands out the item of
// the highest priority, and among these the one added first. An item of a high
// priority keeps those of lower ones waiting for as long as there is any.
//
// Example: a controller that starts looks at every object once, and yet acts on
// what changes meanwhile without delay.
//
//     workqueue::PriorityQueue<std::string> queue;
//     workqueue::AddOptions initial;
//     initial.priority = -100;
//     queue.AddWithOptions(initial, all_keys);
//     queue.Add("default/web");  // changed: is handed out next
//
// It has the semantics of controller-runtime's priorityqueue, which differ from
// those of `RateLimitingQueue` in that an item is in the queue once, either
// waiting for its time or to be handed out:
//
//   * Of an item that is added while it is in the queue, the highest priority
//     and the earliest time count. An add without a delay ends its waiting; one
//     with a delay changes nothing for an item that waits for no time.
//   * Within a priority, items are handed out in the order in which they were
//     added. One whose priority rises goes to the end of its new priority; one
//     whose time has come counts as added then.
//   * An item that is added while it is being processed has the place of that
//     add when it has been done with.
//
// Unlike there, and as in all queues here, what is queued at `ShutDown()` is
// still handed out, and `ShutDownWithDrain()` drains. `Reschedule()` moves only
// an item that waits for a time.
//
// Each call takes O(log n) for each item, for n items in the queue, and
// allocates nothing in the steady state (copying a `T` may, and so may calls
// for many). If hashing, comparing or copying a `T`, the rate limiter or a
// metric throw, the exception comes out of the call and the queue is as it was,
// except that of many items the first ones may have been added. `Done()` and
// leases end the processing in any case. What throws on the queue's own thread
// is logged, and the item is tried again a second later.
//
// Thread-safe. Do not destroy the queue from a function that its own thread
// calls.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class PriorityQueue
    : public internal::QueueCore<T, PriorityInterface<T>,
                                 internal::PriorityOrder<T>, Hash, Eq>,
      private WaitingLoop::Client {
 public:
  explicit PriorityQueue(PriorityQueueOptions<T> options = {})
      : PriorityQueue(options, options.clock.LoopOrNew()) {}
  ~PriorityQueue() override;

  bool AddWithOptions(const AddOptions& options,
                      absl::Span<const T> items) override;
  std::optional<ItemWithPriority<T>> GetWithPriority() override;

  bool Add(const T& item) override;
  bool AddAll(absl::Span<const T> items) override;
  bool AddAfter(const T& item, absl::Duration delay) override;
  bool AddRateLimited(const T& item) override;
  bool CancelDelayed(const T& item) override;
  bool Reschedule(const T& item, absl::Duration delay) override;
  void Forget(const T& item) override;
  int NumRequeues(const T& item) const override;
  void ShutDown() override;
  bool ShutDownWithDrainUntil(absl::Time deadline) override;
  void Close() override;
  Snapshot<T> TakeSnapshot() override;

 private:
  using Core = internal::QueueCore<T, PriorityInterface<T>,
                                   internal::PriorityOrder<T>, Hash, Eq>;
  using typename Core::Entry;
  using typename Core::Lock;
  using typename Core::MutexLock;

  // An item that waits for its time, and its order.
  struct WaitingSlot {
    bool operator<(const WaitingSlot& other) const {
      if (ready_at != other.ready_at) return ready_at < other.ready_at;
      if (priority != other.priority) return priority > other.priority;
      return sequence < other.sequence;
    }

    absl::Time ready_at;
    int priority;
    int64_t sequence;
    Entry* entry;
  };

  struct SetWaitingIndex {
    void operator()(const WaitingSlot& slot, uint32_t index) const {
      slot.entry->heap_index = index;
    }
  };

  PriorityQueue(PriorityQueueOptions<T>& options,
                std::shared_ptr<WaitingLoop> loop);

  // Returns `given` or, if that is null, the default rate limiter.
  static std::unique_ptr<RateLimiter<T>> OrDefault(
      std::unique_ptr<RateLimiter<T>> given);

  // How long an item that is added with `options` is to wait.
  absl::Duration DelayOf(const T& item, const AddOptions& options);

  // Adds `item`, which hashes to `hash`.
  void AddLocked(const T& item, size_t hash, absl::Duration delay, int priority)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_);

  // Returns the entry of `item`, which hashes to `hash`. `DropIfUnused()` must
  // follow.
  Entry* FindOrInsert(const T& item, size_t hash)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    return this->entries_.FindOrInsert(item, hash).first;
  }
  void DropIfUnused(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    if (!entry->InUse()) this->entries_.Erase(entry);
  }

  // Has `entry` wait until `ready_at`, or ready at once. What they do before
  // they change anything may throw.
  void MakeWaiting(Entry* entry, absl::Time ready_at, int priority,
                   int64_t sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_);
  void MakeDirty(Entry* entry, int priority, int64_t sequence)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_);

  // Gives `entry`, which is dirty, a higher priority.
  void Raise(Entry* entry, int priority)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_);

  // `entry` waits no longer.
  void StopWaiting(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_);

  bool EndWait(Entry* entry) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    if (!entry->waiting) return false;
    StopWaiting(entry);
    return true;
  }

  // The waiting loop's part: hands over what is due.
  absl::Time Run(absl::Time now) override;

  // Hands over some of it, and returns when to be called next.
  absl::Time RunBatch(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_);

  // Has `entry`, which is due, ready: it counts as added now. Returns false,
  // and nothing has changed, if something throws.
  bool AddDue(Entry* entry, int priority)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_);

  const std::unique_ptr<CounterMetric> retries_;
  const std::unique_ptr<RateLimiter<T>> rate_limiter_;

  internal::IndexedHeap<WaitingSlot, SetWaitingIndex> waiting_
      ABSL_GUARDED_BY(this->mu_);
  // Grows with each add that gives an item a new place.
  int64_t next_sequence_ ABSL_GUARDED_BY(this->mu_) = 0;
  // The waiting loop's, as far as this queue is concerned.
  internal::WakeTime loop_wake_time_ ABSL_GUARDED_BY(this->mu_);

  const std::shared_ptr<WaitingLoop> loop_;
};

// Implementation details follow.

template <typename T, typename Hash, typename Eq>
PriorityQueue<T, Hash, Eq>::PriorityQueue(PriorityQueueOptions<T>& options,
                                          std::shared_ptr<WaitingLoop> loop)
    : Core(options.name, options.metrics_provider, options.log_sink, loop),
      retries_(
          internal::NewRetriesMetric(options.name, options.metrics_provider)),
      rate_limiter_(OrDefault(std::move(options.rate_limiter))),
      loop_(std::move(loop)) {
  loop_->Add(this);
}

template <typename T, typename Hash, typename Eq>
std::unique_ptr<RateLimiter<T>> PriorityQueue<T, Hash, Eq>::OrDefault(
    std::unique_ptr<RateLimiter<T>> given) {
  if (given != nullptr) return given;
  // With these numbers, this does not fail.
  return *ItemExponentialFailureRateLimiter<T, Hash, Eq>::Create(
      absl::Milliseconds(5), absl::Seconds(1000));
}

template <typename T, typename Hash, typename Eq>
PriorityQueue<T, Hash, Eq>::~PriorityQueue() {
  loop_->Remove(this);
}

template <typename T, typename Hash, typename Eq>
bool PriorityQueue<T, Hash, Eq>::AddWithOptions(const AddOptions& options,
                                                absl::Span<const T> items) {
  struct Addition {
    size_t hash;
    absl::Duration delay;
  };
  absl::InlinedVector<Addition, 16> additions;
  additions.reserve(items.size());
  // The limiter is not asked in vain, nor with the lock held.
  if (this->ShuttingDown()) return items.empty();
  for (const T& item : items) {
    additions.push_back({Hash()(item), DelayOf(item, options)});
  }
  Lock lock(this);
  if (this->ShuttingDown()) return items.empty();
  for (size_t i = 0; i < items.size(); ++i) {
    AddLocked(items[i], additions[i].hash, additions[i].delay,
              options.priority);
  }
  return true;
}

template <typename T, typename Hash, typename Eq>
absl::Duration PriorityQueue<T, Hash, Eq>::DelayOf(const T& item,
                                                   const AddOptions& options) {
  absl::Duration delay = options.after;
  if (options.rate_limited) {
    const absl::Duration limited = rate_limiter_->When(item);
    if (delay == absl::ZeroDuration() || limited < delay) delay = limited;
  }
  return delay;
}

template <typename T, typename Hash, typename Eq>
void PriorityQueue<T, Hash, Eq>::AddLocked(const T& item, size_t hash,
                                           absl::Duration delay, int priority) {
  const bool at_once = delay <= absl::ZeroDuration();
  if (!at_once && retries_ != nullptr) retries_->Inc();
  Entry* const entry = FindOrInsert(item, hash);
  absl::Cleanup drop_if_unused =
      [this, entry]() ABSL_NO_THREAD_SAFETY_ANALYSIS { DropIfUnused(entry); };
  if (entry->dirty) {
    if (priority > entry->priority()) Raise(entry, priority);
    return;
  }
  // What waits keeps its place, unless its priority rises.
  int64_t sequence = entry->sequence;
  if (!entry->waiting || priority > entry->priority()) {
    sequence = next_sequence_++;
  } else {
    priority = entry->priority();
  }
  if (at_once) {
    MakeDirty(entry, priority, sequence);
    return;
  }
  absl::Time ready_at = this->clock_->TimeNow() + delay;
  if (entry->waiting) {
    ready_at = std::min(ready_at, waiting_[entry->heap_index].ready_at);
  }
  // For one that is due by now, two changes of threads would be a waste.
  if (loop_wake_time_.IsAfter(ready_at) &&
      ready_at <= this->clock_->TimeNow()) {
    MakeDirty(entry, priority, next_sequence_++);
    return;
  }
  MakeWaiting(entry, ready_at, priority, sequence);
}

template <typename T, typename Hash, typename Eq>
void PriorityQueue<T, Hash, Eq>::MakeWaiting(Entry* entry, absl::Time ready_at,
                                             int priority, int64_t sequence) {
  waiting_.ReserveOne();
  entry->set_priority(priority);
  entry->sequence = sequence;
  const WaitingSlot slot = {ready_at, priority, sequence, entry};
  if (entry->waiting) {
    waiting_.Replace(entry->heap_index, slot);
  } else {
    waiting_.Push(slot);
    entry->waiting = true;
  }
  if (loop_wake_time_.WakeBy(ready_at)) loop_->Wake(this);
}

template <typename T, typename Hash, typename Eq>
void PriorityQueue<T, Hash, Eq>::MakeDirty(Entry* entry, int priority,
                                           int64_t sequence) {
  this->order_.ReserveOneMore();
  if (this->metrics_ != nullptr) this->metrics_->OnAdd(entry->times, priority);
  // From here on nothing throws.
  if (entry->waiting) StopWaiting(entry);
  entry->set_priority(priority);
  entry->sequence = sequence;
  entry->dirty = true;
  this->order_.OnDirty(entry);
}

template <typename T, typename Hash, typename Eq>
void PriorityQueue<T, Hash, Eq>::Raise(Entry* entry, int priority) {
  if (this->metrics_ != nullptr) {
    this->metrics_->OnPriorityChange(entry->priority(), priority);
  }
  entry->set_priority(priority);
  entry->sequence = next_sequence_++;
  if (!entry->processing) this->order_.OnMoved(entry);
}

template <typename T, typename Hash, typename Eq>
void PriorityQueue<T, Hash, Eq>::StopWaiting(Entry* entry) {
  waiting_.Remove(entry->heap_index);
  entry->waiting = false;
}

template <typename T, typename Hash, typename Eq>
std::optional<ItemWithPriority<T>>
PriorityQueue<T, Hash, Eq>::GetWithPriority() {
  std::optional<ItemWithPriority<T>> item;  // as in Get()
  Lock lock(this);
  if (!this->AwaitItem(absl::InfiniteFuture()).ok()) return item;
  this->HandOut(this->clock_->CoarseTimeNow(), [&item](const Entry& entry) {
    item.emplace(ItemWithPriority<T>{entry.item(), entry.priority()});
  });
  return item;
}

template <typename T, typename Hash, typename Eq>
bool PriorityQueue<T, Hash, Eq>::Add(const T& item) {
  return AddWithOptions(AddOptions(), absl::MakeConstSpan(&item, 1));
}

template <typename T, typename Hash, typename Eq>
bool PriorityQueue<T, Hash, Eq>::AddAll(absl::Span<const T> items) {
  return AddWithOptions(AddOptions(), items);
}

template <typename T, typename Hash, typename Eq>
bool PriorityQueue<T, Hash, Eq>::AddAfter(const T& item, absl::Duration delay) {
  AddOptions options;
  options.after = delay;
  return AddWithOptions(options, absl::MakeConstSpan(&item, 1));
}

template <typename T, typename Hash, typename Eq>
bool PriorityQueue<T, Hash, Eq>::AddRateLimited(const T& item) {
  AddOptions options;
  options.rate_limited = true;
  return AddWithOptions(options, absl::MakeConstSpan(&item, 1));
}

template <typename T, typename Hash, typename Eq>
bool PriorityQueue<T, Hash, Eq>::CancelDelayed(const T& item) {
  const size_t hash = Hash()(item);
  MutexLock lock(&this->mu_);
  if (this->ShuttingDown()) return false;
  Entry* const entry = this->entries_.Find(item, hash);
  if (entry == nullptr || !entry->waiting) return false;
  StopWaiting(entry);
  DropIfUnused(entry);
  return true;
}

template <typename T, typename Hash, typename Eq>
bool PriorityQueue<T, Hash, Eq>::Reschedule(const T& item,
                                            absl::Duration delay) {
  const size_t hash = Hash()(item);
  Lock lock(this);
  if (this->ShuttingDown()) return false;
  Entry* const entry = this->entries_.Find(item, hash);
  if (entry == nullptr || !entry->waiting) {
    AddLocked(item, hash, delay, /*priority=*/0);
  } else if (delay > absl::ZeroDuration()) {
    MakeWaiting(entry, this->clock_->TimeNow() + delay, entry->priority(),
                entry->sequence);
  } else {
    MakeDirty(entry, entry->priority(), entry->sequence);
  }
  return true;
}

template <typename T, typename Hash, typename Eq>
void PriorityQueue<T, Hash, Eq>::Forget(const T& item) {
  rate_limiter_->Forget(item);
}

template <typename T, typename Hash, typename Eq>
int PriorityQueue<T, Hash, Eq>::NumRequeues(const T& item) const {
  return rate_limiter_->NumRequeues(item);
}

template <typename T, typename Hash, typename Eq>
void PriorityQueue<T, Hash, Eq>::ShutDown() {
  Core::ShutDown();
  loop_->Wake(this);  // to drop the items that wait
}

template <typename T, typename Hash, typename Eq>
bool PriorityQueue<T, Hash, Eq>::ShutDownWithDrainUntil(absl::Time deadline) {
  MutexLock lock(&this->mu_);
  this->BeginShutDown();
  loop_->Wake(this);  // to drop the items that wait
  return this->AwaitDrained(deadline, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return this->Idle();
  });
}

template <typename T, typename Hash, typename Eq>
void PriorityQueue<T, Hash, Eq>::Close() {
  Core::Close();
  loop_->Wake(this);  // to drop the items that wait
}

template <typename T, typename Hash, typename Eq>
Snapshot<T> PriorityQueue<T, Hash, Eq>::TakeSnapshot() {
  Snapshot<T> snapshot;
  snapshot.queued.reserve(this->Len());
  std::vector<int64_t> sequences;
  {
    MutexLock lock(&this->mu_);
    this->CopyTo(&snapshot);
    sequences.reserve(snapshot.queued.size());
    this->order_.ForEach([&sequences](const Entry& entry) {
      sequences.push_back(entry.sequence);
    });
    if (!this->ShuttingDown()) {
      snapshot.waiting.reserve(waiting_.size());
      waiting_.ForEach([&snapshot](const WaitingSlot& slot) {
        snapshot.waiting.push_back(
            {slot.entry->item(), slot.ready_at, slot.priority, /*failures=*/0});
      });
    }
  }
  internal::SortQueued(&snapshot, sequences);
  internal::SortWaiting(&snapshot);
  internal::CountFailures(&snapshot, *rate_limiter_);
  return snapshot;
}

template <typename T, typename Hash, typename Eq>
absl::Time PriorityQueue<T, Hash, Eq>::Run(absl::Time now) {
  Lock lock(this);
  const absl::Time next = RunBatch(now);
  loop_wake_time_.Set(next);
  return next;
}

template <typename T, typename Hash, typename Eq>
absl::Time PriorityQueue<T, Hash, Eq>::RunBatch(absl::Time now) {
  // The lock is released, and others have a turn, after as many.
  constexpr int kBatchSize = 100;
  for (int i = 0; i < kBatchSize; ++i) {
    if (waiting_.empty()) {
      waiting_.ReleaseIfEmpty();
      this->order_.ReleaseIfUnused();
      return absl::InfiniteFuture();
    }
    WaitingSlot first = waiting_.front();
    if (this->ShuttingDown()) {
      StopWaiting(first.entry);
      DropIfUnused(first.entry);
      continue;
    }
    if (first.ready_at > now) return first.ready_at;
    if (!AddDue(first.entry, first.priority)) {
      first.ready_at = now + internal::RetryDelay();
      waiting_.Replace(first.entry->heap_index, first);
    }
  }
  return absl::InfinitePast();
}

template <typename T, typename Hash, typename Eq>
bool PriorityQueue<T, Hash, Eq>::AddDue(Entry* entry, int priority) {
  return this->errors_.Try(
      [entry] { return internal::DueButNotAdded(entry->item()); },
      [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        MakeDirty(entry, priority, next_sequence_++);
      });
}

// Instantiated in priority_queue.cc.
extern template class internal::QueueCore<
    std::string, PriorityInterface<std::string>,
    internal::PriorityOrder<std::string>,
    absl::flat_hash_set<std::string>::hasher,
    absl::flat_hash_set<std::string>::key_equal>;
extern template class PriorityQueue<std::string>;

}  // namespace workqueue

#endif  // WORKQUEUE_PRIORITY_QUEUE_H_
