// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/plain/lru_map.h
// -----------------------------------------------------------------------------
//
// bench/plain/run replaces the following header by this file:
// workqueue/base/lru_map.h.

#ifndef WORKQUEUE_BASE_LRU_MAP_H_
#define WORKQUEUE_BASE_LRU_MAP_H_

#include <cstddef>
#include <limits>
#include <list>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace workqueue {
namespace internal {

// An `absl::flat_hash_map`, and a `std::list` of its items. The map computes
// the hash once more.
template <typename T, typename Value, typename Hash, typename Eq>
class LruMap {
 public:
  explicit LruMap(size_t max_items = std::numeric_limits<size_t>::max())
      : max_items_(max_items) {}
  LruMap(const LruMap&) = delete;
  LruMap& operator=(const LruMap&) = delete;

  size_t size() const { return entries_.size(); }

  template <typename Key>
  const Value* Find(const Key& item, size_t) const {
    const auto it = entries_.find(item);
    return it == entries_.end() ? nullptr : &it->second.value;
  }
  template <typename Key>
  Value* Find(const Key& item, size_t) {
    const auto it = entries_.find(item);
    return it == entries_.end() ? nullptr : &it->second.value;
  }

  template <typename F>
  void ForEach(F visit) const {
    for (const auto& [item, entry] : entries_) visit(item, entry.value);
  }

  template <typename U, typename F>
  void Update(U&& item, size_t, F update) {
    const auto [it, is_new] = entries_.try_emplace(std::forward<U>(item));
    update(it->second.value);
    if (!IsBounded()) return;
    if (is_new) {
      it->second.place =
          by_last_update_.insert(by_last_update_.end(), it->first);
    } else {
      by_last_update_.splice(by_last_update_.end(), by_last_update_,
                             it->second.place);
    }
    if (entries_.size() > max_items_) EraseOldest();
  }

  const Value& Oldest() const {
    return entries_.find(by_last_update_.front())->second.value;
  }

  void EraseOldest() {
    entries_.erase(by_last_update_.front());
    by_last_update_.pop_front();
  }

  template <typename Key>
  void Erase(const Key& item, size_t) {
    const auto it = entries_.find(item);
    if (it == entries_.end()) return;
    if (IsBounded()) by_last_update_.erase(it->second.place);
    entries_.erase(it);
  }

 private:
  struct Entry {
    Value value{};
    typename std::list<T>::iterator place;
  };

  bool IsBounded() const {
    return max_items_ != std::numeric_limits<size_t>::max();
  }

  const size_t max_items_;
  absl::flat_hash_map<T, Entry, Hash, Eq> entries_;
  std::list<T> by_last_update_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_BASE_LRU_MAP_H_
