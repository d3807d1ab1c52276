// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/controller/internal/last_errors.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_LAST_ERRORS_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_LAST_ERRORS_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/lru_map.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/printable.h"
#include "workqueue/controller/failed_item.h"

namespace workqueue {
namespace internal {

// LastErrors
//
// The last error of each item that has failed and is tried again. Keeps at most
// `kMaxItems` errors: one more replaces the error of the item whose last
// failure is longest ago.
//
// Each operation except `MostFailed()` takes constant time on average. The
// memory of a spike of errors is freed, as `LruMap` says. If hashing,
// comparing, copying or allocating throws, nothing changes.
//
// Thread-safe.
template <typename T, typename Hash, typename Eq>
class LastErrors {
 public:
  static constexpr size_t kMaxItems = 10000;

  LastErrors() = default;
  LastErrors(const LastErrors&) = delete;
  LastErrors& operator=(const LastErrors&) = delete;

  // Keeps the printed `error` of `item`, cut after 256 bytes, as that of one
  // more failure `now`.
  void Record(const T& item, const absl::Status& error, absl::Time now) {
    std::string text = Printable(StatusText(error));
    const size_t hash = Hash()(item);
    MutexLock lock(&mu_);
    errors_.Update(item, hash, [&text, now](Failures& failures) {
      if (failures.count++ == 0) failures.first_at = now;
      failures.last_at = now;
      failures.last_error = std::move(text);
    });
    size_.store(errors_.size());
  }

  // Returns the error of `item`; empty if there is none.
  std::string Get(const T& item) const {
    if (empty()) return "";
    const size_t hash = Hash()(item);
    MutexLock lock(&mu_);
    const Failures* const failures = errors_.Find(item, hash);
    return failures == nullptr ? "" : failures->last_error;
  }

  // Returns the failures of `item`; nothing if there are none.
  std::optional<FailedItem<T>> Find(const T& item) const {
    const size_t hash = Hash()(item);
    MutexLock lock(&mu_);
    const Failures* const failures = errors_.Find(item, hash);
    if (failures == nullptr) return std::nullopt;
    return ToFailedItem(item, *failures);
  }

  // Returns at most `max` items, those with the most failures first. Of equal
  // numbers, the item whose failures began first comes first. Takes O(n) for n
  // items, and copies no others.
  std::vector<FailedItem<T>> MostFailed(size_t max) const {
    std::vector<FailedItem<T>> result;
    MutexLock lock(&mu_);
    std::vector<std::pair<const T*, const Failures*>> all;
    all.reserve(errors_.size());
    errors_.ForEach([&all](const T& item, const Failures& failures) {
      all.emplace_back(&item, &failures);
    });
    const auto end = all.begin() + std::min(max, all.size());
    std::partial_sort(all.begin(), end, all.end(),
                      [](const auto& a, const auto& b) {
                        return a.second->count != b.second->count
                                   ? a.second->count > b.second->count
                                   : a.second->first_at < b.second->first_at;
                      });
    result.reserve(end - all.begin());
    for (auto it = all.begin(); it != end; ++it) {
      result.push_back(ToFailedItem(*it->first, *it->second));
    }
    return result;
  }

  // Returns the number of items. Takes no lock.
  size_t size() const { return size_.load(); }

  // Forgets the error of `item`. Costs almost nothing while no item fails.
  void Erase(const T& item) {
    if (empty()) return;
    const size_t hash = Hash()(item);
    MutexLock lock(&mu_);
    errors_.Erase(item, hash);
    size_.store(errors_.size());
  }

 private:
  struct Failures {
    int count = 0;
    std::string last_error;
    absl::Time first_at;
    absl::Time last_at;
  };

  static FailedItem<T> ToFailedItem(const T& item, const Failures& failures) {
    return {item, failures.count, failures.last_error, failures.first_at,
            failures.last_at};
  }

  // Only the worker that processes an item records and erases its error. So a
  // worker sees the errors that it must erase.
  bool empty() const { return size() == 0; }

  mutable absl::Mutex mu_;
  LruMap<T, Failures, Hash, Eq> errors_ ABSL_GUARDED_BY(mu_){kMaxItems};
  std::atomic<size_t> size_{0};  // of errors_; written under mu_
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_LAST_ERRORS_H_
