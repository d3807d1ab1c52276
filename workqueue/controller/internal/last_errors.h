// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/controller/internal/last_errors.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_LAST_ERRORS_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_LAST_ERRORS_H_

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "workqueue/internal/intrusive_list.h"
#include "workqueue/internal/mutex_lock.h"
#include "workqueue/internal/node_hash_set.h"
#include "workqueue/internal/printable.h"

namespace workqueue {
namespace internal {

// LastErrors
//
// The last error of each item that has failed and is tried again. Keeps at most
// `kMaxItems` errors: one more replaces the error of the item whose last
// failure is longest ago.
//
// Each operation takes constant time on average. If hashing, comparing, copying
// or allocating throws, nothing changes.
//
// Thread-safe.
template <typename T, typename Hash, typename Eq>
class LastErrors {
 public:
  static constexpr size_t kMaxItems = 10000;

  LastErrors() = default;
  LastErrors(const LastErrors&) = delete;
  LastErrors& operator=(const LastErrors&) = delete;

  // Keeps the printed `error` of `item`, cut after 256 bytes.
  void Record(const T& item, const absl::Status& error) {
    std::string text = Printable(error.ToString());
    const size_t hash = Hash()(item);
    MutexLock lock(&mu_);
    const auto [entry, is_new] = entries_.FindOrInsert(item, hash);
    // Nothing below throws.
    entry->error = std::move(text);
    if (!is_new) by_last_failure_.Remove(entry);
    by_last_failure_.PushBack(entry);
    if (entries_.size() > kMaxItems) {
      entries_.Erase(by_last_failure_.PopFront());
    }
    size_.store(entries_.size(), std::memory_order_relaxed);
  }

  // Returns the error of `item`; empty if there is none.
  std::string Get(const T& item) const {
    if (empty()) return "";
    const size_t hash = Hash()(item);
    MutexLock lock(&mu_);
    const Entry* const entry = entries_.Find(item, hash);
    return entry == nullptr ? "" : entry->error;
  }

  // Forgets the error of `item`. Costs almost nothing while no item fails.
  void Erase(const T& item) {
    if (empty()) return;
    const size_t hash = Hash()(item);
    MutexLock lock(&mu_);
    Entry* const entry = entries_.Find(item, hash);
    if (entry == nullptr) return;
    by_last_failure_.Remove(entry);
    entries_.Erase(entry);
    size_.store(entries_.size(), std::memory_order_relaxed);
  }

 private:
  struct Entry : ItemNode<T>, IntrusiveLink<Entry> {
    using ItemNode<T>::ItemNode;

    std::string error;
  };

  // Only the worker that processes an item records and erases its error. So a
  // worker sees the errors that it must erase.
  bool empty() const { return size_.load(std::memory_order_relaxed) == 0; }

  mutable absl::Mutex mu_;
  NodeHashSet<T, Entry, Hash, Eq> entries_ ABSL_GUARDED_BY(mu_);
  IntrusiveList<Entry> by_last_failure_ ABSL_GUARDED_BY(mu_);
  std::atomic<size_t> size_{0};  // of entries_; written under mu_
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_LAST_ERRORS_H_
