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
#include "workqueue/internal/lru_map.h"
#include "workqueue/internal/mutex_lock.h"
#include "workqueue/internal/printable.h"

namespace workqueue {
namespace internal {

// LastErrors
//
// The last error of each item that has failed and is tried again. Keeps at most
// `kMaxItems` errors: one more replaces the error of the item whose last
// failure is longest ago.
//
// Each operation takes constant time on average. The memory of a spike of
// errors is freed, as `LruMap` says. If hashing, comparing, copying or
// allocating throws, nothing changes.
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
    errors_.Update(item, hash,
                   [&text](std::string& error) { error = std::move(text); });
    size_.store(errors_.size(), std::memory_order_relaxed);
  }

  // Returns the error of `item`; empty if there is none.
  std::string Get(const T& item) const {
    if (empty()) return "";
    const size_t hash = Hash()(item);
    MutexLock lock(&mu_);
    const std::string* const error = errors_.Find(item, hash);
    return error == nullptr ? "" : *error;
  }

  // Forgets the error of `item`. Costs almost nothing while no item fails.
  void Erase(const T& item) {
    if (empty()) return;
    const size_t hash = Hash()(item);
    MutexLock lock(&mu_);
    errors_.Erase(item, hash);
    size_.store(errors_.size(), std::memory_order_relaxed);
  }

 private:
  // Only the worker that processes an item records and erases its error. So a
  // worker sees the errors that it must erase.
  bool empty() const { return size_.load(std::memory_order_relaxed) == 0; }

  mutable absl::Mutex mu_;
  LruMap<T, std::string, Hash, Eq> errors_ ABSL_GUARDED_BY(mu_){kMaxItems};
  std::atomic<size_t> size_{0};  // of errors_; written under mu_
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_LAST_ERRORS_H_
