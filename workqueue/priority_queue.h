// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_PRIORITY_QUEUE_H_
#define WORKQUEUE_PRIORITY_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "ratelimit/rate_limiter.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/indexed_heap.h"
#include "workqueue/base/node_hash_set.h"
#include "workqueue/base/slab.h"
#include "workqueue/base/wake_time.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/add_ring.h"
#include "workqueue/internal/compact_time.h"
#include "workqueue/internal/priority_order.h"
#include "workqueue/internal/queue_core.h"
#include "workqueue/internal/queue_metrics.h"
#include "workqueue/internal/snapshot_order.h"
#include "workqueue/internal/ticker.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/ordering.h"
#include "workqueue/snapshot.h"
#include "workqueue/timer/queue_clock.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {

// PriorityQueueOptions
//
// Options of a `PriorityQueue`. Every field has a usable default.
template <typename T>
struct PriorityQueueOptions {
  // See `QueueOptions`.
  std::string name;
  MetricsProvider* metrics_provider = nullptr;
  LogSink* log_sink = nullptr;
  QueueClock clock;

  // Chooses the delays of rate-limited additions; null means an
  // `ItemExponentialFailureRateLimiter` from 5 ms to 1000 s, as in
  // controller-runtime.
  std::unique_ptr<RateLimiter<T>> rate_limiter;

  // The order in which items are handed out; null means by priority, and within
  // a priority first in, first out.
  std::unique_ptr<Ordering<T>> ordering;
};

// PriorityQueue
//
// A rate-limiting queue whose items have priorities. The queue hands out the
// item of the highest priority. Items of the same priority are handed out first
// in, first out. An item is handed out only if no item of a higher priority is
// queued.
//
// Example: a controller reconciles every object once when it starts, and still
// reacts to changes at once.
//
//     workqueue::PriorityQueue<std::string> queue;
//     workqueue::AddOptions initial;
//     initial.priority = -100;
//     queue.AddWithOptions(initial, all_keys);
//     queue.Add("default/web");  // changed: is handed out next
//
// The semantics are those of controller-runtime's priorityqueue. They differ
// from the semantics of `RateLimitingQueue`: an item is in the queue once. It
// is either a waiting item or a queued item.
//
//   * If an item is added several times, its highest priority and its earliest
//     time count. An addition without a delay ends the item's waiting. An
//     addition with a delay does not delay an item that is queued already.
//   * Items of the same priority are handed out in the order of their
//     additions. A further addition of an item does not change its place. But
//     if the priority of an item rises, the item goes to the end of its new
//     priority. If the time of a waiting item comes, the item counts as added
//     at that time. Items of the same time are added in the order in which they
//     were given it.
//   * An item may be added while it is being processed. When the processing
//     ends, the item is queued at the place of that addition.
//   * An item that is given back (`Lease::GiveBack()`) is queued at once, in
//     front of the other items of its priority. If it was added meanwhile, the
//     higher priority counts, and its waiting ends.
//
// With an `Ordering`, such as a `FairOrdering`, the ordering has the items that
// are queued. It gets an item that was added while it was being processed when
// the processing ends. An item that is given back comes before all others, of
// any priority. If the ordering throws in a call that adds nothing, the queue
// logs the exception, and the item comes before all others, too.
//
// Two rules differ from controller-runtime and are the same for all queues of
// this library: items that are queued at `ShutDown()` are still handed out, and
// `ShutDownWithDrain()` waits until they have been processed.
//
// `Reschedule()` adds a waiting item at another time, even if that is later.
// For any other item it does what `AddAfter()` does.
//
// Each call takes O(log n) for each item, for n items in the queue. If all
// items have the same priority, a call for one that does not wait takes
// constant time. A call allocates nothing in the steady state; copying a `T`
// may allocate, and calls for many items may.
//
// If threads contend for the lock of the queue, an `Add()` may leave its item
// to the thread that holds the lock, as in a `Queue`.
//
// If hashing, comparing or copying a `T`, the rate limiter or a metric throws,
// the call throws the exception and the queue is unchanged. But if the call was
// for several items, the first ones may have been added. `Done()` and the end
// of a lease always end the processing. An exception on the queue's own thread
// is logged, and the thread tries the item again a second later.
//
// Thread-safe. Do not destroy the queue from a function that its own thread
// calls. Final, so that the queue's own thread makes no virtual call while the
// constructor or the destructor of a derived class runs.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class PriorityQueue final
    : public internal::QueueCore<T, internal::PriorityOrder<T>, Hash, Eq>,
      private WaitingLoop::Client {
 public:
  explicit PriorityQueue(PriorityQueueOptions<T> options = {})
      : PriorityQueue(options, options.clock.LoopOrNew(options.name)) {}
  ~PriorityQueue() override {
    this->AwaitEnd();
    loop_->Remove(this);
  }

  // Returns a new rate limiter, as the queue has if its options have none.
  static std::unique_ptr<RateLimiter<T>> NewDefaultRateLimiter() {
    // Create() does not fail with these delays.
    return *ItemExponentialFailureRateLimiter<T, Hash, Eq>::Create(
        absl::Milliseconds(5), absl::Seconds(1000));
  }

  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const T> items) override {
    const bool at_once = &options == &internal::kAddAtOnce;
    if (ABSL_PREDICT_TRUE(at_once && items.size() == 1)) {
      const T& item = items.front();
      const size_t hash = Hash()(item);
      if (this->TryPush(item, hash)) return absl::OkStatus();
      Lock lock(this, Lock::kOpenRing);
      if (this->ShuttingDown()) return internal::ShuttingDownError();
      AddLocked(item, hash, options);
      return absl::OkStatus();
    }
    if (options.rate_limited) {
      absl::Status status = CheckAddOptions(options, AddSupport::kRateLimited);
      if (!status.ok()) return status;
    }
    return items.empty() ? absl::OkStatus() : AddMany(options, items);
  }

  absl::StatusOr<bool> CancelWait(const T& item) override {
    const size_t hash = Hash()(item);
    Lock lock(this);
    if (this->ShuttingDown()) return false;
    Entry* const entry = this->entries_.Find(item, hash);
    if (entry == nullptr || !entry->waiting) return false;
    StopWaiting(entry);
    DropIfUnused(entry);
    return true;
  }

  absl::Status ForgetFailures(const T& item) override {
    rate_limiter_->Forget(item);
    return absl::OkStatus();
  }
  absl::StatusOr<int> CountFailures(const T& item) const override {
    return rate_limiter_->NumRequeues(item);
  }
  absl::StatusOr<Snapshot<T>> TakeSnapshotWith(
      const SnapshotOptions<T>& options) const override {
    // Taking the lock changes the queue: it applies what has been pushed. No
    // caller can tell.
    auto* const self = const_cast<PriorityQueue*>(this);
    Snapshot<T> snapshot;
    // Of the queued and of the waiting items; empty if these are in order.
    std::vector<int64_t> queued_sequences;
    std::vector<int64_t> waiting_sequences;
    if (options.only != nullptr) {
      const size_t hash = Hash()(*options.only);
      Lock lock(self);
      const Entry* const entry = self->entries_.Find(*options.only, hash);
      self->CopyOf(entry, &snapshot);
      if (!self->ShuttingDown()) {
        snapshot.num_waiting = self->waiting_.size();
        if (entry != nullptr && entry->waiting) {
          self->CopySlot(self->waiting_[entry->heap_index], &snapshot);
        }
      }
    } else {
      const size_t max = options.max;
      this->ReserveQueued(max, &snapshot);
      Lock lock(self);
      self->CopyUpTo(max, &snapshot);
      if (max >= snapshot.num_queued && !self->order_.has_ordering()) {
        queued_sequences.reserve(snapshot.num_queued);
        self->order_.ForFirst(max, [&queued_sequences](const Entry& entry) {
          queued_sequences.push_back(entry.sequence);
        });
      }
      self->CopyWaiting(max, &snapshot, &waiting_sequences);
    }
    if (!queued_sequences.empty()) {
      internal::SortBy(&snapshot.queued, queued_sequences,
                       [](const auto& it) { return -int64_t{it.priority}; });
    }
    if (!waiting_sequences.empty()) {
      internal::SortBy(&snapshot.waiting, waiting_sequences,
                       [](const auto& it) { return it.ready_at; });
    }
    internal::CountFailures(&snapshot, *rate_limiter_);
    return snapshot;
  }

 private:
  using Core = internal::QueueCore<T, internal::PriorityOrder<T>, Hash, Eq>;
  using typename Core::Entry;
  using typename Core::Lock;
  using Place = typename internal::PriorityOrder<T>::Place;

  // A waiting item. Sorts by the order in which the items become due.
  struct WaitingSlot {
    bool operator<(const WaitingSlot& other) const {
      // The sequence numbers wrap around.
      return ready_at != other.ready_at
                 ? ready_at < other.ready_at
                 : static_cast<int32_t>(sequence - other.sequence) < 0;
    }

    absl::Time ready_at;
    uint32_t sequence;
    internal::SlabId id;  // of the entry
  };

  struct SetWaitingIndex {
    void operator()(const WaitingSlot& slot, uint32_t index) const {
      entries->At(slot.id)->heap_index = index;
    }
    internal::NodeHashSet<T, Entry, Eq>* entries;
  };

  PriorityQueue(PriorityQueueOptions<T>& options,
                std::shared_ptr<WaitingLoop> loop)
      : Core(options.name, options.metrics_provider, options.log_sink, loop,
             std::move(options.ordering)),
        retries_(
            internal::NewRetriesMetric(options.name, options.metrics_provider)),
        rate_limiter_(options.rate_limiter != nullptr
                          ? std::move(options.rate_limiter)
                          : NewDefaultRateLimiter()),
        waiting_(SetWaitingIndex{&this->entries_}),
        loop_(std::move(loop)),
        waiting_gauge_(internal::SampleGauge(
            options.name, options.metrics_provider,
            &MetricsProvider::NewWaitingItemsMetric, options.log_sink, loop_,
            [this] { return NumWaiting(); })),
        failing_gauge_(internal::SampleGauge(
            options.name, options.metrics_provider,
            &MetricsProvider::NewFailingItemsMetric, options.log_sink, loop_,
            [this] { return rate_limiter_->NumTracked(); })) {
    loop_->Add(this);
  }

  // Adds `items`. There is at least one.
  absl::Status AddMany(const AddOptions& options, absl::Span<const T> items) {
    // Do not ask the limiter if the queue takes no items, and do not ask it
    // with the lock held.
    if (this->ShuttingDown()) return internal::ShuttingDownError();
    absl::InlinedVector<size_t, 32> hashes;
    hashes.reserve(items.size());
    for (const T& item : items) hashes.push_back(Hash()(item));
    absl::InlinedVector<absl::Duration, 4> delays;  // of each item
    if (ABSL_PREDICT_FALSE(options.rate_limited)) {
      delays.reserve(items.size());
      for (const T& item : items) {
        delays.push_back(internal::LimitedDelay(*rate_limiter_, item, options));
      }
    }
    const absl::Duration after = options.after.value_or(absl::ZeroDuration());
    Lock lock(this);
    if (this->ShuttingDown()) return internal::ShuttingDownError();
    const internal::CompactTime now = this->TimeOfAdd();
    if (delays.empty() && after <= absl::ZeroDuration() &&
        !options.reschedule) {
      this->entries_.ForEachGuess(
          hashes, [&](size_t i, Entry* guess) ABSL_NO_THREAD_SAFETY_ANALYSIS {
            AddLocked(items[i], hashes[i], options, &now, /*pushed=*/false,
                      guess);
          });
      return absl::OkStatus();
    }
    for (size_t i = 0; i < items.size(); ++i) {
      const absl::Duration delay = delays.empty() ? after : delays[i];
      if (options.reschedule && Move(items[i], hashes[i], delay, options)) {
        continue;
      }
      if (delay > absl::ZeroDuration()) {
        AddLater(items[i], hashes[i], delay, options);
      } else {
        AddLocked(items[i], hashes[i], options, &now);
      }
    }
    return absl::OkStatus();
  }

  void AddPushed(typename internal::AddRing<T>::Addition&& pushed) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    // Nothing may throw once the item has moved into its entry.
    this->order_.ReserveForAdd();
    AddLocked(std::move(pushed.item), pushed.hash, internal::kAddAtOnce,
              &pushed.added, /*pushed=*/true);
  }

  // Adds `item`, a `const T&` or a `T&&`, whose hash is `hash`, at once. The
  // other parameters are those of `AddWithoutPriority()`.
  template <typename U>
  void AddLocked(U&& item, size_t hash, const AddOptions& options,
                 const internal::CompactTime* time = nullptr,
                 bool pushed = false, Entry* guess = nullptr)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    Entry* const entry =
        this->entries_.FindOrInsert(std::forward<U>(item), hash, guess).first;
    if (entry->dirty) {
      AddAgain(entry, options, pushed);
      return;
    }
    absl::Cleanup drop_if_unused =
        [this, entry]() ABSL_NO_THREAD_SAFETY_ANALYSIS { DropIfUnused(entry); };
    MakeDirty(entry, PlaceOfAdded(*entry, options), time, pushed);
  }

  // Adds `item`, whose hash is `hash`, after `delay`, which is positive.
  void AddLater(const T& item, size_t hash, absl::Duration delay,
                const AddOptions& options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    if (retries_ != nullptr) retries_->Inc();
    Entry* const entry = this->entries_.FindOrInsert(item, hash).first;
    if (entry->dirty) {
      AddAgain(entry, options, /*pushed=*/false);
      return;
    }
    absl::Cleanup drop_if_unused =
        [this, entry]() ABSL_NO_THREAD_SAFETY_ANALYSIS { DropIfUnused(entry); };
    Place place = PlaceOfAdded(*entry, options);
    const absl::Time ready_at = this->clock_->TimeNow() + delay;
    if (entry->waiting && waiting_[entry->heap_index].ready_at <= ready_at) {
      this->order_.Set(entry, place);
      return;
    }
    // If the item is due already, a wake-up of the loop would only cost two
    // changes of threads.
    if (loop_wake_time_.IsAfter(ready_at) &&
        ready_at <= this->clock_->TimeNow()) {
      place.sequence = next_sequence_++;
      MakeDirty(entry, place);
      return;
    }
    MakeWaiting(entry, ready_at, place);
  }

  // Adds `item` at another time if it waits. Returns whether it does.
  bool Move(const T& item, size_t hash, absl::Duration delay,
            const AddOptions& options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    Entry* const entry = this->entries_.Find(item, hash);
    if (entry == nullptr || !entry->waiting) return false;
    const Place place = PlaceOfAdded(*entry, options);
    if (delay > absl::ZeroDuration()) {
      if (retries_ != nullptr) retries_->Inc();
      MakeWaiting(entry, this->clock_->TimeNow() + delay, place);
    } else {
      MakeDirty(entry, place);
    }
    return true;
  }

  static bool IsRetry(const AddOptions& options) {
    return options.retry || options.rate_limited;
  }

  // Returns the place of `entry`, which is not dirty, after its addition. A
  // waiting item keeps its place, unless its priority rises.
  Place PlaceOfAdded(const Entry& entry, const AddOptions& options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    Place place = {options.priority, IsRetry(options), entry.sequence};
    if (!entry.waiting || place.priority > entry.priority()) {
      place.sequence = next_sequence_++;
    }
    if (entry.waiting) {
      place.priority = (std::max)(place.priority, entry.priority());
      place.is_retry = place.is_retry && entry.is_retry();
    }
    return place;
  }

  void DropIfUnused(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    if (!entry->InUse()) this->Erase(entry);
  }

  // Makes `entry` a waiting item. If this throws, nothing has changed.
  void MakeWaiting(Entry* entry, absl::Time ready_at, const Place& place)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    waiting_.ReserveOne();
    this->order_.Set(entry, place);
    const WaitingSlot slot = {ready_at, next_waiting_sequence_++, entry->id()};
    if (entry->waiting) {
      waiting_.Replace(entry->heap_index, slot);
    } else {
      waiting_.Push(slot);
      entry->waiting = true;
    }
    if (loop_wake_time_.WakeBy(ready_at)) loop_->Wake(this);
  }

  // Makes `entry` an item that is ready at once. If this throws, nothing has
  // changed.
  void MakeDirty(Entry* entry, const Place& place,
                 const internal::CompactTime* time = nullptr,
                 bool pushed = false) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    if (this->order_.has_ordering()) {
      PushToOrdering(entry, place);
    } else {
      this->order_.ReserveForAdd();
      this->RecordAdd(entry, place.priority,
                      time != nullptr ? *time : this->TimeOfAdd(), pushed);
    }
    // Nothing below throws.
    if (entry->waiting) StopWaiting(entry);
    entry->dirty = true;
    this->order_.Add(entry, place);
  }

  // The part of `MakeDirty()` for a queue with an ordering. Not inline, so that
  // other queues do not pay for its clean-up.
  ABSL_ATTRIBUTE_NOINLINE void PushToOrdering(Entry* entry, const Place& place)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    this->RecordAdd(entry, place.priority, this->TimeOfAdd());
    absl::Cleanup undo_record = [this, entry,
                                 &place]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      this->RecordNotAdded(entry, place.priority);
    };
    this->order_.PushToOrdering(entry, place);
    std::move(undo_record).Cancel();
  }

  // Adds `entry`, which is dirty, once more.
  void AddAgain(Entry* entry, const AddOptions& options, bool pushed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    if (options.priority > entry->priority() ||
        (entry->is_retry() && !IsRetry(options))) {
      MoveUp(entry, options, pushed);
    } else {
      this->order_.Touch(entry);
    }
  }

  // The part of `AddAgain()` for an entry that gets a higher priority, or is no
  // longer a retry. Not inline, so that other calls do not pay for it.
  ABSL_ATTRIBUTE_NOINLINE void MoveUp(Entry* entry, const AddOptions& options,
                                      bool pushed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    const int priority = options.priority;
    Place place = {entry->priority(), entry->is_retry() && IsRetry(options),
                   entry->sequence};
    if (priority > place.priority) {
      if (this->metrics_ != nullptr) {
        this->RecordAddition(entry, pushed,
                             [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
                               this->metrics_->OnPriorityChange(
                                   place.priority, priority, pushed);
                             });
      }
      place.priority = priority;
      place.sequence = next_sequence_++;
    }
    this->order_.Move(entry, place, this->errors_);
  }

  // Removes `entry` from the waiting items.
  void StopWaiting(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    waiting_.Remove(entry->heap_index);
    entry->waiting = false;
  }

  // Returns the number of waiting items.
  size_t NumWaiting() {
    Lock lock(this, Lock::kLoop);
    return this->ShuttingDown() ? 0 : waiting_.size();
  }

  // Copies at most `max` waiting items to `*snapshot`, those that are due
  // first. If there are no more, copies them in no particular order and appends
  // their sequences to `*sequences`.
  void CopyWaiting(size_t max, Snapshot<T>* snapshot,
                   std::vector<int64_t>* sequences) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    if (this->ShuttingDown()) return;
    snapshot->num_waiting = waiting_.size();
    if (max == 0) return;
    snapshot->waiting.reserve((std::min)(max, waiting_.size()));
    if (max < waiting_.size()) {
      waiting_.VisitInOrder([this, max, snapshot](const WaitingSlot& slot)
                                ABSL_NO_THREAD_SAFETY_ANALYSIS {
                                  CopySlot(slot, snapshot);
                                  return snapshot->waiting.size() < max;
                                });
      return;
    }
    sequences->reserve(waiting_.size());
    waiting_.ForEach(
        [this, snapshot, sequences, next = next_waiting_sequence_](
            const WaitingSlot& slot) ABSL_NO_THREAD_SAFETY_ANALYSIS {
          CopySlot(slot, snapshot);
          sequences->push_back(static_cast<int32_t>(slot.sequence - next));
        });
  }

  void CopySlot(const WaitingSlot& slot, Snapshot<T>* snapshot) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    const Entry& entry = *this->entries_.At(slot.id);
    snapshot->waiting.push_back({entry.item(), slot.ready_at, entry.priority(),
                                 /*failures=*/0, /*last_error=*/""});
  }

  // Has the loop drop the waiting items.
  void OnShutDown() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    loop_->Wake(this);
  }

  bool EndWait(Entry* entry) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    if (!entry->waiting) return false;
    StopWaiting(entry);
    // The shutdown drops what waits, even if the loop has not come to it yet.
    return !this->ShuttingDown();
  }

  void OnCompaction(Entry* moved) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    const bool waits = moved != nullptr && moved->waiting;
    Core::OnCompaction(waits ? nullptr : moved);
    waiting_.Shrink(waiting_.size());
    if (!waits) return;
    WaitingSlot slot = waiting_[moved->heap_index];
    slot.id = moved->id();
    waiting_.Replace(moved->heap_index, slot);
  }

  // Called by the waiting loop. Makes a batch of the items that are due ready.
  absl::Time Run(absl::Time now) override {
    Lock lock(this, Lock::kLoop);
    const absl::Time next = RunBatch(now);
    loop_wake_time_.Set(next);
    return next;
  }

  // Does the work of `Run()`, and returns the time of the next call.
  absl::Time RunBatch(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    // A batch only: between two, other threads can take the lock.
    for (int i = 0; i < kMostAtOnce; ++i) {
      if (waiting_.empty()) {
        if (this->ShuttingDown()) waiting_.Clear();
        return absl::InfiniteFuture();
      }
      WaitingSlot first = waiting_.front();
      Entry* const entry = this->entries_.At(first.id);
      if (this->ShuttingDown()) {
        StopWaiting(entry);
        DropIfUnused(entry);
        continue;
      }
      if (first.ready_at > now) return first.ready_at;
      // The item counts as added now.
      const bool added = this->errors_.Try(
          [entry] { return internal::DueButNotAdded(entry->item()); },
          [this, entry]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
            MakeDirty(entry,
                      {entry->priority(), entry->is_retry(), next_sequence_++});
          });
      if (!added) {
        first.ready_at = now + internal::RetryDelay();
        waiting_.Replace(entry->heap_index, first);
      }
    }
    return absl::InfinitePast();
  }

  const std::unique_ptr<CounterMetric> retries_;
  const std::unique_ptr<RateLimiter<T>> rate_limiter_;

  internal::IndexedHeap<WaitingSlot, SetWaitingIndex> waiting_
      ABSL_GUARDED_BY(this->mu_);
  // Keeps waiting items of the same time in order.
  uint32_t next_waiting_sequence_ ABSL_GUARDED_BY(this->mu_) = 0;
  // Grows with each addition that gives an item a new place.
  int64_t next_sequence_ ABSL_GUARDED_BY(this->mu_) = 0;
  // The time at which the waiting loop calls Run() next, unless it is woken.
  internal::WakeTime loop_wake_time_ ABSL_GUARDED_BY(this->mu_);

  const std::shared_ptr<WaitingLoop> loop_;
  // Null without this metric.
  const std::unique_ptr<internal::Ticker> waiting_gauge_;
  const std::unique_ptr<internal::Ticker> failing_gauge_;
};

// Instantiated in string_queues.cc.
extern template class internal::QueueCore<
    std::string, internal::PriorityOrder<std::string>,
    absl::flat_hash_set<std::string>::hasher,
    absl::flat_hash_set<std::string>::key_equal>;
extern template class PriorityQueue<std::string>;

}  // namespace workqueue

#endif  // WORKQUEUE_PRIORITY_QUEUE_H_
