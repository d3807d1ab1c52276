// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/parking_lot.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_PARKING_LOT_H_
#define WORKQUEUE_PARKING_LOT_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/node_hash_set.h"
#include "workqueue/base/printable.h"
#include "workqueue/clock/clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/metrics.h"

namespace workqueue {

// ParkingLotOptions
//
// Options of a `ParkingLot`. At least one of `max_failures` and
// `max_failing_time` must be set. If both are set, the first limit that an item
// reaches counts.
struct ParkingLotOptions {
  // If set, an item is parked at this consecutive failure. At least 1.
  std::optional<int> max_failures;

  // An item is parked at a failure that comes at least this time after the
  // first of its consecutive failures. Positive. Infinite means no limit.
  absl::Duration max_failing_time = absl::InfiniteDuration();

  // The maximum number of parked items. At least 1. While so many items are
  // parked, no other item is parked: an item that reaches a limit goes on being
  // retried, and is parked at its first failure after a place has become free.
  // So no item is lost.
  size_t max_parked = 10000;

  // Whether the next addition of a parked item to the queue puts the item back.
  // An addition during the processing that parks the item counts, and so does
  // one that waits for its time. Set this to false if a source adds all items
  // from time to time.
  bool unpark_on_add = true;

  // The clock; null means the real clock. Not owned; must outlive the parking
  // lot.
  Clock* clock = nullptr;
};

// ParkingLotMetrics
//
// The metrics of a `ParkingLot`; null means that a metric is unwanted. They are
// called with no lock held. An exception from a metric is dropped.
struct ParkingLotMetrics {
  std::unique_ptr<GaugeMetric> parked;          // items that are parked now
  std::unique_ptr<CounterMetric> parked_total;  // times that an item was parked
};

// ParkedItem
//
// An item that is not retried. See `ParkingLot`.
template <typename T>
struct ParkedItem {
  T item;
  int failures;            // consecutive ones
  std::string last_error;  // printable, cut after 256 bytes
  // Times of the parking lot's clock. The item was parked at its last failure.
  absl::Time first_failed_at;
  absl::Time parked_at;
};

// ParkingLot
//
// Gives up on items that fail again and again. After a number of failures, or a
// time since the first one, an item is parked: it is not retried, and is listed
// with its last error. It is processed again after `Unpark()`, or after it is
// added to the queue again.
//
// A queue knows nothing of a parking lot: the worker calls it. A `Controller`
// does so by itself if `ControllerOptions::parking` is set.
//
// Example, a worker that gives up at the tenth failure of an item:
//
//     workqueue::ParkingLotOptions options;
//     options.max_failures = 10;
//     auto lot = workqueue::ParkingLot<std::string>::Create(options);
//     if (!lot.ok()) return lot.status();
//     ...
//     workqueue::Lease<std::string> lease;
//     while (queue.AcquireNext(&lease).ok()) {
//       if (!(*lot)->ShouldProcess(*lease)) continue;  // It is parked.
//       const absl::Status status = Reconcile(*lease);
//       if (status.ok()) {
//         (*lot)->Forget(*lease);
//         queue.Forget(*lease);
//       } else if ((*lot)->RecordFailure(*lease, status)) {
//         queue.Forget(*lease);  // It is parked: do not retry it.
//       } else {
//         queue.AddRateLimited(*lease);
//       }
//     }
//
// Parked items are in the memory of this process. They are lost when the
// parking lot is destroyed, as waiting items are when a queue in memory is.
//
// `T`, `Hash` and `Eq` are as in an `absl::flat_hash_set<T>`. `T` need only be
// copyable.
//
// Each function takes constant time on average, unless it says otherwise. While
// no item fails, `ShouldProcess()` and `Forget()` only read a number. Memory is
// proportional to the items that fail or are parked, and the memory of a spike
// is freed, unless moving a `T` may throw. If hashing, comparing, copying or
// allocating throws, nothing changes.
//
// Thread-safe. No function blocks, apart from the call of `Add()` in `Unpark()`
// and `UnparkAll()`.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class ParkingLot {
 public:
  // Returns an `absl::InvalidArgumentError`, which names the field and its
  // value, if an option is out of its range.
  static absl::StatusOr<std::unique_ptr<ParkingLot>> Create(
      const ParkingLotOptions& options, ParkingLotMetrics metrics = {});

  ParkingLot(const ParkingLot&) = delete;
  ParkingLot& operator=(const ParkingLot&) = delete;

  // Returns whether the worker that has got `item` from the queue should
  // process it. If not, `item` is parked, and the worker should call `Done()`
  // only.
  //
  // With `ParkingLotOptions::unpark_on_add`, always returns true. If `item` is
  // parked, it has been added again: this call puts it back, and its failures
  // start anew.
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

  // Returns at most `max` parked items, the last parked one first. Takes
  // O(`max`).
  std::vector<ParkedItem<T>> ParkedItems(size_t max) const;

  // Returns `item` if it is parked, and nothing otherwise.
  std::optional<ParkedItem<T>> Find(const T& item) const;

  // Returns the number of parked items. Takes no lock.
  size_t size() const { return num_parked_.load(); }

  // Returns the options.
  const ParkingLotOptions& options() const { return options_; }

  // Returns how often an item had reached a limit and was not parked, because
  // `max_parked` items were. Such an item counts again at each failure.
  int64_t num_refused() const {
    internal::MutexLock lock(&mu_);
    return num_refused_;
  }

 private:
  struct Entry;

  // A call of Unpark() that is in progress.
  struct Unparking {
    Entry* entry = nullptr;  // null when the entry has been erased
  };

  // An item that fails or is parked.
  struct Entry : internal::ItemNode<T>, internal::IntrusiveLink<Entry> {
    using internal::ItemNode<T>::ItemNode;

    bool parked = false;  // is in parked_
    int failures = 0;
    absl::Time first_failed_at;
    absl::Time parked_at;
    std::string last_error;          // empty unless parked
    Unparking* unparking = nullptr;  // the call that puts the item back
  };

  ParkingLot(const ParkingLotOptions& options, ParkingLotMetrics metrics)
      : options_(options),
        clock_(OrRealClock(options.clock)),
        metrics_(std::move(metrics)) {}

  // The part of RecordFailure() that needs the lock. Returns whether the item
  // is parked now, and was not before this call.
  bool Park(const T& item, size_t hash, std::string& error, absl::Time now,
            bool* is_parked) ABSL_LOCKS_EXCLUDED(mu_);

  // Whether the failures of `entry`, the last one of which is at `now`, reach a
  // limit.
  bool ReachesLimit(const Entry& entry, absl::Time now) const {
    return (options_.max_failures.has_value() &&
            entry.failures >= *options_.max_failures) ||
           now - entry.first_failed_at >= options_.max_failing_time;
  }

  // Ends a call of Unpark(). `taken` is whether the queue has taken the item.
  // Returns whether the item has been put back. Throws nothing.
  bool EndUnparking(Unparking* unparking, bool taken) ABSL_LOCKS_EXCLUDED(mu_);

  // Erases `entry`. Throws nothing.
  void Erase(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Updates the numbers that are read without the lock.
  void UpdateNumbers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    num_entries_.store(entries_.size());
    num_parked_.store(parked_.size());
  }

  void RecordUnparked() const {
    if (metrics_.parked == nullptr) return;
    internal::TryCall([this] { metrics_.parked->Dec(); });
  }

  static ParkedItem<T> ToParkedItem(const Entry& entry) {
    return {entry.item(), entry.failures, entry.last_error,
            entry.first_failed_at, entry.parked_at};
  }

  const ParkingLotOptions options_;
  Clock* const clock_;
  const ParkingLotMetrics metrics_;

  mutable absl::Mutex mu_;
  internal::NodeHashSet<T, Entry, Hash, Eq> entries_ ABSL_GUARDED_BY(mu_);
  // The entries that are parked, the last one first.
  internal::IntrusiveList<Entry> parked_ ABSL_GUARDED_BY(mu_);
  int64_t num_refused_ ABSL_GUARDED_BY(mu_) = 0;
  // Of entries_ and parked_; written under mu_. An item is processed by one
  // worker at a time, and the queue orders the workers that process it. So a
  // worker that reads zero here has no entry of its item to find.
  std::atomic<size_t> num_entries_{0};
  std::atomic<size_t> num_parked_{0};
};

// Implementation details follow.

namespace internal {

// Returns an `absl::InvalidArgumentError` that names the field, at the
// beginning of its message, if an option is out of its range.
absl::Status CheckParkingLotOptions(const ParkingLotOptions& options);

}  // namespace internal

template <typename T, typename Hash, typename Eq>
absl::StatusOr<std::unique_ptr<ParkingLot<T, Hash, Eq>>>
ParkingLot<T, Hash, Eq>::Create(const ParkingLotOptions& options,
                                ParkingLotMetrics metrics) {
  absl::Status status = internal::CheckParkingLotOptions(options);
  if (!status.ok()) return status;
  return absl::WrapUnique(new ParkingLot(options, std::move(metrics)));
}

template <typename T, typename Hash, typename Eq>
bool ParkingLot<T, Hash, Eq>::ShouldProcess(const T& item) {
  if (size() == 0) return true;
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
bool ParkingLot<T, Hash, Eq>::RecordFailure(const T& item,
                                            const absl::Status& error) {
  const absl::Time now = clock_->TimeNow();
  std::string text = internal::Printable(internal::StatusText(error));
  const size_t hash = Hash()(item);
  bool is_parked = false;
  if (!Park(item, hash, text, now, &is_parked)) return is_parked;
  if (metrics_.parked != nullptr) {
    internal::TryCall([this] { metrics_.parked->Inc(); });
  }
  if (metrics_.parked_total != nullptr) {
    internal::TryCall([this] { metrics_.parked_total->Inc(); });
  }
  return true;
}

template <typename T, typename Hash, typename Eq>
bool ParkingLot<T, Hash, Eq>::Park(const T& item, size_t hash,
                                   std::string& error, absl::Time now,
                                   bool* is_parked) {
  internal::MutexLock lock(&mu_);
  const auto [entry, is_new] = entries_.FindOrInsert(item, hash);
  // From here on nothing throws.
  *is_parked = entry->parked;
  if (entry->parked) return false;
  if (is_new) entry->first_failed_at = now;
  if (entry->failures < std::numeric_limits<int>::max()) ++entry->failures;
  if (ReachesLimit(*entry, now)) {
    if (parked_.size() < options_.max_parked) {
      entry->parked = *is_parked = true;
      entry->parked_at = now;
      entry->last_error = std::move(error);
      parked_.PushFront(entry);
    } else {
      ++num_refused_;
    }
  }
  UpdateNumbers();
  return *is_parked;
}

template <typename T, typename Hash, typename Eq>
void ParkingLot<T, Hash, Eq>::Forget(const T& item) {
  if (num_entries_.load() == 0) return;
  const size_t hash = Hash()(item);
  internal::MutexLock lock(&mu_);
  Entry* const entry = entries_.Find(item, hash);
  if (entry != nullptr && !entry->parked) Erase(entry);
}

template <typename T, typename Hash, typename Eq>
bool ParkingLot<T, Hash, Eq>::Unpark(const T& item, Interface<T>* queue) {
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
bool ParkingLot<T, Hash, Eq>::EndUnparking(Unparking* unparking, bool taken) {
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

template <typename T, typename Hash, typename Eq>
size_t ParkingLot<T, Hash, Eq>::UnparkAll(Interface<T>* queue) {
  std::vector<T> items;
  {
    internal::MutexLock lock(&mu_);
    items.reserve(parked_.size());
    for (const Entry* it = parked_.front(); it != nullptr; it = it->next()) {
      items.push_back(it->item());
    }
  }
  return std::count_if(
      items.rbegin(), items.rend(),
      [this, queue](const T& item) { return Unpark(item, queue); });
}

template <typename T, typename Hash, typename Eq>
std::vector<ParkedItem<T>> ParkingLot<T, Hash, Eq>::ParkedItems(
    size_t max) const {
  std::vector<ParkedItem<T>> items;
  internal::MutexLock lock(&mu_);
  items.reserve(std::min(max, parked_.size()));
  const Entry* it = parked_.front();
  for (; it != nullptr && items.size() < max; it = it->next()) {
    items.push_back(ToParkedItem(*it));
  }
  return items;
}

template <typename T, typename Hash, typename Eq>
std::optional<ParkedItem<T>> ParkingLot<T, Hash, Eq>::Find(
    const T& item) const {
  if (size() == 0) return std::nullopt;
  const size_t hash = Hash()(item);
  internal::MutexLock lock(&mu_);
  const Entry* const entry = entries_.Find(item, hash);
  if (entry == nullptr || !entry->parked) return std::nullopt;
  return ToParkedItem(*entry);
}

template <typename T, typename Hash, typename Eq>
void ParkingLot<T, Hash, Eq>::Erase(Entry* entry) {
  if (entry->parked) parked_.Remove(entry);
  if (entry->unparking != nullptr) entry->unparking->entry = nullptr;
  entries_.Erase(entry);
  if (ABSL_PREDICT_FALSE(entries_.CompactionDue())) {
    if (Entry* const from = entries_.NextToMove()) {
      Entry* const moved = entries_.Move(from);
      if (moved->parked) parked_.ReplaceByCopy(moved);
      if (moved->unparking != nullptr) moved->unparking->entry = moved;
    }
  }
  UpdateNumbers();
}

}  // namespace workqueue

#endif  // WORKQUEUE_PARKING_LOT_H_
