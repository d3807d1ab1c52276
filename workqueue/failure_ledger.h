// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_FAILURE_LEDGER_H_
#define WORKQUEUE_FAILURE_LEDGER_H_

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
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ratelimit/rate_limiter.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/node_hash_set.h"
#include "workqueue/base/printable.h"
#include "workqueue/base/slab.h"
#include "workqueue/clock/clock.h"
#include "workqueue/failures.h"
#include "workqueue/interfaces.h"
#include "workqueue/metrics.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/snapshot.h"

namespace workqueue {

// FailureLedgerMetrics
//
// The metrics of a `FailureLedger`; null means that a metric is unwanted. They
// are called with no lock held. An exception from a metric is dropped.
struct FailureLedgerMetrics {
  std::unique_ptr<GaugeMetric> parked;          // items that are parked now
  std::unique_ptr<CounterMetric> parked_total;  // times that an item was parked
};

// FailureLedger
//
// The failures of the items of a queue: how often each has failed, since when,
// and with which error. A ledger with a limit also gives up on items that fail
// again and again: at the limit an item is parked. It is not retried then,
// until `Unpark()`, or until it is added to the queue again.
//
// A queue knows nothing of a ledger: the worker calls it. A `Controller` on a
// queue in memory has one and calls it by itself. An engine keeps the failures
// of a queue for all processes: see `SharedFailures`.
//
// Example, a worker that gives up at the tenth failure of an item:
//
//     workqueue::FailureLedgerOptions options;
//     options.max_failures = 10;
//     auto ledger = workqueue::FailureLedger<std::string>::Create(options);
//     if (!ledger.ok()) return ledger.status();
//     ...
//     workqueue::Lease<std::string> lease;
//     while (queue.AcquireNext(&lease).ok()) {
//       if (!(*ledger)->ShouldProcess(*lease)) continue;  // It is parked.
//       const absl::Status status = Reconcile(*lease);
//       if (status.ok()) {
//         (*ledger)->Forget(*lease);
//         queue.Forget(*lease);
//       } else if ((*ledger)->RecordFailure(*lease, status)) {
//         queue.Forget(*lease);  // It is parked: do not retry it.
//       } else {
//         queue.AddRateLimited(*lease);
//       }
//     }
//
// A ledger is in the memory of this process, and is lost when it is destroyed,
// as waiting items are when a queue in memory is.
//
// `T`, `Hash` and `Eq` are as in an `absl::flat_hash_set<T>`. `T` need only be
// copyable.
//
// Each function takes constant time on average, unless it says otherwise. While
// no item fails, `ShouldProcess()` and `Forget()` only read a number. Without a
// limit, the ledger knows the `kMaxFailing` items that failed last. With one,
// it knows all that fail or are parked, because it must count their failures.
// The memory of a spike is freed, unless moving a `T` may throw. If hashing,
// comparing, copying or allocating throws, nothing changes.
//
// Thread-safe. No function blocks, apart from the call of `Add()` in `Unpark()`
// and `UnparkAll()`.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class FailureLedger {
 public:
  static constexpr size_t kMaxFailing = 10000;

  // Returns an `absl::InvalidArgumentError`, which names the field and its
  // value, if an option is out of its range.
  static absl::StatusOr<std::unique_ptr<FailureLedger>> Create(
      const FailureLedgerOptions& options, FailureLedgerMetrics metrics = {});

  FailureLedger(const FailureLedger&) = delete;
  FailureLedger& operator=(const FailureLedger&) = delete;

  // Returns whether the worker that has got `item` from the queue should
  // process it. If not, `item` is parked, and the worker should call `Done()`
  // only.
  //
  // With `FailureLedgerOptions::unpark_on_add`, always returns true. If `item`
  // is parked, it has been added again: this call puts it back, and its
  // failures start anew.
  bool ShouldProcess(const T& item);

  // Records that the processing of `item` has failed with `error`. Returns
  // whether `item` is parked now. The worker must then not retry `item`, and
  // should make the rate limiter forget it.
  //
  // Changes nothing if `item` is parked already.
  bool RecordFailure(const T& item, const absl::Status& error);

  // Forgets the failures of `item`: it has succeeded, or will not be retried.
  // An item that is parked stays parked.
  void Forget(const T& item);

  // Puts `item` back: adds it to `*queue`, with no lock held, and its failures
  // start anew. Returns true if it was parked and has been put back. If the
  // queue does not take it or throws, `item` stays parked.
  bool Unpark(const T& item, Interface<T>* queue);

  // Does so with all items that are parked when the call begins, in the order
  // in which they were parked. Returns the number of items that have been put
  // back. If something throws, the first items may have been put back. Takes
  // O(n) for n parked items.
  size_t UnparkAll(Interface<T>* queue);

  // Returns at most `max` items that fail and are not parked, those with the
  // most failures first. Of equal numbers, the item whose failures began first
  // comes first. Takes O(n) for n such items.
  std::vector<FailedItem<T>> Failing(size_t max) const;

  // Returns at most `max` parked items, the last parked one first. Takes
  // O(`max`).
  std::vector<FailedItem<T>> Parked(size_t max) const;

  // Returns the failures of `item`; nothing if it has none.
  std::optional<FailedItem<T>> Find(const T& item) const;

  // Return the numbers of items that `Failing()` and `Parked()` can return.
  // Take no lock.
  size_t num_failing() const { return num_failing_.load(); }
  size_t num_parked() const { return num_parked_.load(); }

  // Returns how often an item had reached a limit and was not parked, because
  // `max_parked` items were. Such an item counts again at each failure.
  int64_t num_refused() const {
    internal::MutexLock lock(&mu_);
    return num_refused_;
  }

  // Returns the options.
  const FailureLedgerOptions& options() const { return options_; }

 private:
  struct Entry;

  // A call of Unpark() that is in progress.
  struct Unparking {
    Entry* entry = nullptr;  // null when the entry has been erased
  };

  // An item that fails or is parked.
  struct Entry : internal::ItemNode<T>, internal::IntrusiveLink<Entry> {
    using internal::ItemNode<T>::ItemNode;

    bool parked = false;  // is in parked_, and otherwise in failing_
    int failures = 0;
    absl::Time first_failed_at;
    absl::Time last_failed_at;
    std::string last_error;
    Unparking* unparking = nullptr;  // the call that puts the item back
  };

  FailureLedger(const FailureLedgerOptions& options,
                FailureLedgerMetrics metrics)
      : options_(options),
        clock_(OrRealClock(options.clock)),
        metrics_(std::move(metrics)) {}

  // The part of RecordFailure() that needs the lock. Returns whether the item
  // is parked now, and was not before this call.
  bool Record(const T& item, size_t hash, std::string& error, absl::Time now,
              bool* is_parked) ABSL_LOCKS_EXCLUDED(mu_) {
    internal::MutexLock lock(&mu_);
    const auto [entry, is_new] = entries_.FindOrInsert(item, hash);
    // From here on nothing throws.
    *is_parked = entry->parked;
    if (entry->parked) return false;
    if (is_new) {
      entry->first_failed_at = now;
    } else {
      failing_.Remove(entry);
    }
    entry->failures = internal::OneMoreFailure(entry->failures);
    entry->last_failed_at = now;
    entry->last_error = std::move(error);
    const bool at_limit = ReachesLimit(*entry);
    if (at_limit && parked_.size() < options_.max_parked) {
      entry->parked = *is_parked = true;
      parked_.PushFront(entry);
    } else {
      if (at_limit) ++num_refused_;
      failing_.PushBack(entry);
      if (!options_.parks() && failing_.size() > kMaxFailing) {
        Erase(failing_.front());
      }
    }
    UpdateNumbers();
    return *is_parked;
  }

  // Whether the failures of `entry` reach a limit.
  bool ReachesLimit(const Entry& entry) const {
    return (options_.max_failures.has_value() &&
            entry.failures >= *options_.max_failures) ||
           entry.last_failed_at - entry.first_failed_at >=
               options_.max_failing_time;
  }

  // Ends a call of Unpark(). `taken` is whether the queue has taken the item.
  // Returns whether the item has been put back. Throws nothing.
  bool EndUnparking(Unparking* unparking, bool taken) ABSL_LOCKS_EXCLUDED(mu_) {
    {
      internal::MutexLock lock(&mu_);
      if (unparking->entry == nullptr) return true;  // A worker has the item.
      unparking->entry->unparking = nullptr;
      if (!taken) return false;
      Erase(unparking->entry);
    }
    RecordUnparked();
    return true;
  }

  // Returns the list of which `entry` is an element.
  internal::IntrusiveList<Entry>& ListOf(const Entry* entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return entry->parked ? parked_ : failing_;
  }

  // Erases `entry`. Throws nothing.
  void Erase(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    ListOf(entry).Remove(entry);
    if (entry->unparking != nullptr) entry->unparking->entry = nullptr;
    entries_.Erase(entry);
    Entry* moved = nullptr;
    entries_.CompactIfDue([&](Entry* it, internal::SlabId) { moved = it; });
    if (moved != nullptr) {
      ListOf(moved).ReplaceByCopy(moved);
      if (moved->unparking != nullptr) moved->unparking->entry = moved;
    }
    UpdateNumbers();
  }

  // Updates the numbers that are read without the lock, first the one that
  // `Find()` reads last: at no moment has an item left both that is parked now.
  void UpdateNumbers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    num_parked_.store(parked_.size());
    num_failing_.store(failing_.size());
  }

  void RecordUnparked() const {
    if (metrics_.parked == nullptr) return;
    internal::TryCall([this] { metrics_.parked->Dec(); });
  }

  static FailedItem<T> ToFailedItem(const Entry& entry) {
    return {entry.item(),      entry.parked,          entry.failures,
            entry.last_error,  entry.first_failed_at, entry.last_failed_at,
            /*next_try_at=*/{}};
  }

  const FailureLedgerOptions options_;
  Clock* const clock_;
  const FailureLedgerMetrics metrics_;

  mutable sync::Mutex mu_;
  internal::NodeHashSet<T, Entry, Eq> entries_ ABSL_GUARDED_BY(mu_);
  // The entries that are not parked, the one that failed last at the end.
  internal::IntrusiveList<Entry> failing_ ABSL_GUARDED_BY(mu_);
  // The entries that are parked, the last one first.
  internal::IntrusiveList<Entry> parked_ ABSL_GUARDED_BY(mu_);
  int64_t num_refused_ ABSL_GUARDED_BY(mu_) = 0;
  // Of the lists; written under mu_. An item is processed by one worker at a
  // time, and the queue orders the workers that process it. So a worker that
  // reads zero here has no entry of its item to find.
  sync::Atomic<size_t> num_failing_{0};
  sync::Atomic<size_t> num_parked_{0};
};

template <typename T, typename Hash, typename Eq>
absl::StatusOr<std::unique_ptr<FailureLedger<T, Hash, Eq>>>
FailureLedger<T, Hash, Eq>::Create(const FailureLedgerOptions& options,
                                   FailureLedgerMetrics metrics) {
  absl::Status status = internal::CheckFailureLedgerOptions(options);
  if (!status.ok()) return status;
  return absl::WrapUnique(new FailureLedger(options, std::move(metrics)));
}

template <typename T, typename Hash, typename Eq>
bool FailureLedger<T, Hash, Eq>::ShouldProcess(const T& item) {
  if (num_parked() == 0) return true;
  const size_t hash = Hash()(item);
  {
    internal::MutexLock lock(&mu_);
    Entry* const entry = entries_.Find(item, hash);
    if (entry == nullptr || !entry->parked) return true;
    if (!options_.unpark_on_add && entry->unparking == nullptr) return false;
    Erase(entry);
  }
  RecordUnparked();
  return true;
}

template <typename T, typename Hash, typename Eq>
bool FailureLedger<T, Hash, Eq>::RecordFailure(const T& item,
                                               const absl::Status& error) {
  const absl::Time now = clock_->TimeNow();
  std::string text = internal::Printable(internal::StatusText(error));
  const size_t hash = Hash()(item);
  bool is_parked = false;
  if (!Record(item, hash, text, now, &is_parked)) return is_parked;
  if (metrics_.parked != nullptr) {
    internal::TryCall([this] { metrics_.parked->Inc(); });
  }
  if (metrics_.parked_total != nullptr) {
    internal::TryCall([this] { metrics_.parked_total->Inc(); });
  }
  return true;
}

template <typename T, typename Hash, typename Eq>
void FailureLedger<T, Hash, Eq>::Forget(const T& item) {
  if (num_failing() == 0) return;
  const size_t hash = Hash()(item);
  internal::MutexLock lock(&mu_);
  Entry* const entry = entries_.Find(item, hash);
  if (entry != nullptr && !entry->parked) Erase(entry);
}

template <typename T, typename Hash, typename Eq>
bool FailureLedger<T, Hash, Eq>::Unpark(const T& item, Interface<T>* queue) {
  const size_t hash = Hash()(item);
  Unparking unparking;
  {
    internal::MutexLock lock(&mu_);
    Entry* const entry = entries_.Find(item, hash);
    if (entry == nullptr || !entry->parked || entry->unparking != nullptr) {
      return false;
    }
    // From now on, a worker that gets the item processes it.
    entry->unparking = &unparking;
    unparking.entry = entry;
  }
  absl::Cleanup stay = [&] { EndUnparking(&unparking, /*taken=*/false); };
  const bool taken = queue->Add(item);
  std::move(stay).Cancel();
  return EndUnparking(&unparking, taken);
}

template <typename T, typename Hash, typename Eq>
size_t FailureLedger<T, Hash, Eq>::UnparkAll(Interface<T>* queue) {
  std::vector<T> items;
  {
    internal::MutexLock lock(&mu_);
    items.reserve(parked_.size());
    for (const Entry* it = parked_.front(); it != nullptr; it = it->next()) {
      items.push_back(it->item());
    }
  }
  return static_cast<size_t>(std::count_if(
      items.rbegin(), items.rend(),
      [this, queue](const T& item) { return Unpark(item, queue); }));
}

template <typename T, typename Hash, typename Eq>
std::vector<FailedItem<T>> FailureLedger<T, Hash, Eq>::Failing(
    size_t max) const {
  std::vector<FailedItem<T>> items;
  internal::MutexLock lock(&mu_);
  std::vector<const Entry*> all;
  all.reserve(failing_.size());
  for (const Entry* it = failing_.front(); it != nullptr; it = it->next()) {
    all.push_back(it);
  }
  const size_t num = (std::min)(max, all.size());
  const auto end = all.begin() + static_cast<ptrdiff_t>(num);
  std::partial_sort(all.begin(), end, all.end(),
                    [](const Entry* a, const Entry* b) {
                      return a->failures != b->failures
                                 ? a->failures > b->failures
                                 : a->first_failed_at < b->first_failed_at;
                    });
  items.reserve(num);
  for (auto it = all.begin(); it != end; ++it) {
    items.push_back(ToFailedItem(**it));
  }
  return items;
}

template <typename T, typename Hash, typename Eq>
std::vector<FailedItem<T>> FailureLedger<T, Hash, Eq>::Parked(
    size_t max) const {
  std::vector<FailedItem<T>> items;
  internal::MutexLock lock(&mu_);
  items.reserve((std::min)(max, parked_.size()));
  const Entry* it = parked_.front();
  for (; it != nullptr && items.size() < max; it = it->next()) {
    items.push_back(ToFailedItem(*it));
  }
  return items;
}

template <typename T, typename Hash, typename Eq>
std::optional<FailedItem<T>> FailureLedger<T, Hash, Eq>::Find(
    const T& item) const {
  if (num_failing() == 0 && num_parked() == 0) return std::nullopt;
  const size_t hash = Hash()(item);
  internal::MutexLock lock(&mu_);
  const Entry* const entry = entries_.Find(item, hash);
  if (entry == nullptr) return std::nullopt;
  return ToFailedItem(*entry);
}

}  // namespace workqueue

#endif  // WORKQUEUE_FAILURE_LEDGER_H_
