// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_LRU_MAP_H_
#define WORKQUEUE_BASE_LRU_MAP_H_

#include <cstddef>
#include <limits>
#include <utility>

#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/node_hash_set.h"
#include "workqueue/base/slab.h"

namespace workqueue::internal {

// LruMap
//
// This class is a hash map with an optional bound. A new item that would exceed
// the bound replaces the item whose last update is longest ago. A lookup does
// not affect which item is replaced.
//
// Requires that `T` can be copied, and that `Hash` and `Eq` are those of an
// `absl::flat_hash_set<T>` and can be default-constructed. The parameter `hash`
// is the result of `Hash()(item)`. The caller computes it, so that the caller
// can do so before it takes a lock.
//
// Each operation except `ForEach()` takes constant time on average, and looks
// the item up once. Growing the table hashes nothing. In the steady state
// nothing is allocated except by copying an item. The memory of a spike is
// freed even if some of its items stay, unless moving a `T` or a `Value` may
// throw.
//
// If comparing, copying or allocating throws, nothing changes.
//
// Not thread-safe.
template <typename T, typename Value, typename Hash, typename Eq>
class LruMap {
 public:
  // Keeps at most `max_items` items, which must be at least one; any number if
  // it is the largest `size_t`. While a new item replaces an old one, both
  // exist for a moment.
  explicit LruMap(size_t max_items = (std::numeric_limits<size_t>::max)())
      : max_items_(max_items) {}
  LruMap(const LruMap&) = delete;
  LruMap& operator=(const LruMap&) = delete;

  size_t size() const { return entries_.size(); }

  // Returns the value of `item`; null if there is none. Valid until the next
  // change of the map. `Key` is `T`, or a type that `Eq` compares a `T` with;
  // and so are the parameters of this name below.
  template <typename Key>
  const Value* Find(const Key& item, size_t hash) const {
    const Entry* const entry = entries_.Find(item, hash);
    return entry == nullptr ? nullptr : &entry->value;
  }
  template <typename Key>
  Value* Find(const Key& item, size_t hash) {
    Entry* const entry = entries_.Find(item, hash);
    return entry == nullptr ? nullptr : &entry->value;
  }

  // Calls `visit(const T&, const Value&)` for each item, in no particular
  // order.
  template <typename F>
  void ForEach(F visit) const {
    entries_.ForEach(
        [&visit](const Entry& entry) { visit(entry.item(), entry.value); });
  }

  // Calls `update(Value&)` for the value of `item`, which is `Value()` if there
  // was none. `update` must not throw. `item` is a `T`, an lvalue or an rvalue.
  template <typename U, typename F>
  void Update(U&& item, size_t hash, F update) {
    const auto [entry, is_new] =
        entries_.FindOrInsert(std::forward<U>(item), hash);
    // Nothing below throws. So no item is replaced for a call that fails.
    update(entry->value);
    if (!IsBounded()) return;
    if (!is_new) by_last_update_.Remove(entry);
    by_last_update_.PushBack(entry);
    if (entries_.size() > max_items_) EraseEntry(by_last_update_.PopFront());
  }

  // Returns the value of the item whose last update is longest ago. There must
  // be an item and a bound.
  const Value& Oldest() const { return by_last_update_.front()->value; }

  // Erases that item.
  void EraseOldest() { EraseEntry(by_last_update_.PopFront()); }

  // Erases `item` and its value, if the map has them.
  template <typename Key>
  void Erase(const Key& item, size_t hash) {
    Entry* const entry = entries_.Find(item, hash);
    if (entry == nullptr) return;
    if (IsBounded()) by_last_update_.Remove(entry);
    EraseEntry(entry);
  }

 private:
  struct Entry : ItemNode<T>, IntrusiveLink<Entry> {
    using ItemNode<T>::ItemNode;

    Value value{};
  };

  // Erases `entry`, which is not in `by_last_update_`. May move another entry.
  void EraseEntry(Entry* entry) {
    entries_.Erase(entry);
    entries_.CompactIfDue([this](Entry* moved, SlabId) {
      if (IsBounded()) by_last_update_.ReplaceByCopy(moved);
    });
  }

  bool IsBounded() const {
    return max_items_ != (std::numeric_limits<size_t>::max)();
  }

  const size_t max_items_;
  NodeHashSet<T, Entry, Eq> entries_;
  // All entries, ordered by their last update, the oldest first. Empty if there
  // is no bound, because in a large table each access to the list is a cache
  // miss.
  IntrusiveList<Entry> by_last_update_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_LRU_MAP_H_
