// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/plain/node_hash_set.h
// -----------------------------------------------------------------------------
//
// bench/plain/run replaces the following header by this file:
// workqueue/base/node_hash_set.h.

#ifndef WORKQUEUE_BASE_NODE_HASH_SET_H_
#define WORKQUEUE_BASE_NODE_HASH_SET_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/types/span.h"
#include "workqueue/base/slab.h"

namespace workqueue {
namespace internal {

class HashSetNode {
 public:
  SlabId id() const { return id_; }

 private:
  template <typename, typename, typename>
  friend class NodeHashSet;

  size_t hash_ = 0;
  SlabId id_ = 0;
};

template <typename T>
class ItemNode : public HashSetNode {
 public:
  explicit ItemNode(const T& item) : item_(item) {}
  explicit ItemNode(T&& item) : item_(std::move(item)) {}

  const T& item() const { return item_; }

 private:
  T item_;
};

// An `absl::flat_hash_set` of pointers to the entries, which keep their hashes.
// Each entry is allocated by itself. A vector finds an entry by its id.
template <typename T, typename Entry, typename Eq = std::equal_to<T>>
class NodeHashSet {
 public:
  size_t size() const { return entries_.size(); }

  template <typename Key>
  Entry* Find(const Key& item, size_t hash) const {
    const auto it = entries_.find(Query<Key>{item, hash});
    return it == entries_.end() ? nullptr : it->get();
  }

  struct Position {
    Entry* entry;
    bool found;
  };
  template <typename Key>
  Position FindPosition(const Key& item, size_t hash) const {
    Entry* const entry = Find(item, hash);
    return {entry, entry != nullptr};
  }
  Entry* At(Position position) const { return position.entry; }

  template <typename F>
  void ForEachGuess(absl::Span<const size_t> hashes, F f) {
    for (size_t i = 0; i < hashes.size(); ++i) f(i, nullptr);
  }

  SlabId NextId() {
    if (free_ids_.empty()) {
      if (free_ids_.capacity() <= by_id_.size()) {
        free_ids_.reserve(2 * by_id_.size() + 1);
      }
      by_id_.push_back(nullptr);
      free_ids_.push_back(static_cast<SlabId>(by_id_.size() - 1));
    }
    return free_ids_.back();
  }

  template <typename U>
  std::pair<Entry*, bool> FindOrInsert(U&& item, size_t hash,
                                       Entry* = nullptr) {
    if (Entry* const entry = Find(item, hash)) return {entry, false};
    const SlabId id = NextId();
    auto owned = std::make_unique<Entry>(std::forward<U>(item));
    Entry* const entry = owned.get();
    entry->hash_ = hash;
    entry->id_ = id;
    entries_.insert(std::move(owned));
    by_id_[id] = entry;
    free_ids_.pop_back();
    return {entry, true};
  }

  Entry* At(SlabId id) const { return by_id_[id]; }

  template <typename F>
  void ForEach(F visit) const {
    for (const auto& entry : entries_) visit(*entry);
  }

  void Erase(Entry* entry) {
    by_id_[entry->id_] = nullptr;
    free_ids_.push_back(entry->id_);
    entries_.erase(entries_.find(Same{entry}));
  }
  void Erase(Position position) { Erase(position.entry); }

  template <typename... F>
  bool CompactIfDue(F...) {
    return false;
  }
  size_t id_limit() const { return by_id_.size(); }

  void Clear() {
    entries_ = Entries();
    std::vector<Entry*>().swap(by_id_);
    std::vector<SlabId>().swap(free_ids_);
  }

 private:
  template <typename Key>
  struct Query {
    const Key& item;
    size_t hash;
  };
  struct Same {
    const Entry* entry;
  };
  struct HashOf {
    using is_transparent = void;
    size_t operator()(const std::unique_ptr<Entry>& e) const {
      return Mix(e->hash_);
    }
    template <typename Key>
    size_t operator()(const Query<Key>& q) const {
      return Mix(q.hash);
    }
    size_t operator()(const Same& s) const { return Mix(s.entry->hash_); }
  };
  struct EqOf {
    using is_transparent = void;
    bool operator()(const std::unique_ptr<Entry>& a,
                    const std::unique_ptr<Entry>& b) const {
      return a == b;
    }
    template <typename Key>
    bool operator()(const std::unique_ptr<Entry>& e,
                    const Query<Key>& q) const {
      return Eq()(e->item(), q.item);
    }
    bool operator()(const std::unique_ptr<Entry>& e, const Same& s) const {
      return e.get() == s.entry;
    }
  };
  using Entries = absl::flat_hash_set<std::unique_ptr<Entry>, HashOf, EqOf>;

  // Each bit of the result depends on all of `hash`.
  static size_t Mix(size_t hash) { return absl::HashOf(hash); }

  Entries entries_;
  std::vector<Entry*> by_id_;
  std::vector<SlabId> free_ids_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_BASE_NODE_HASH_SET_H_
