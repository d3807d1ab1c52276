// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// base/entry_table.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BASE_ENTRY_TABLE_H_
#define WORKQUEUE_BASE_ENTRY_TABLE_H_

#include <cstddef>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "base/recycler.h"

namespace workqueue_internal {

// EntryTable
//
// Finds a queue's entry for an item. Each item is stored once, in its entry; an
// entry stays where it is from its insertion to its erasure.
//
// `Entry` is constructed from an item, and has `const T& item() const` and a
// member `size_t hash` for the table's use.
//
// Hashing is left to the caller, who can do it before taking a lock. Erased
// entries' storage is used again for later ones, so that a queue in its steady
// state allocates nothing; the table keeps no more than twice what is in use,
// and a little. (The hash table proper does not shrink.)
//
// If constructing an entry, comparing or allocating throws, nothing has
// changed.
//
// Not thread-safe.
template <typename T, typename Entry, typename Hash, typename Eq>
class EntryTable {
 public:
  EntryTable() = default;
  EntryTable(const EntryTable&) = delete;
  EntryTable& operator=(const EntryTable&) = delete;

  ~EntryTable() { Clear(); }

  size_t size() const { return entries_.size(); }

  // Returns the entry for `item`, which hashes to `hash`; null if there is
  // none.
  Entry* Find(const T& item, size_t hash) const {
    auto it = entries_.find(Key{&item, hash});
    return it == entries_.end() ? nullptr : *it;
  }

  // Returns the entry for `item` and whether it is new. `U` is `T`, const and
  // by reference or not; it is moved from only if the entry is new.
  template <typename U>
  std::pair<Entry*, bool> FindOrInsert(U&& item, size_t hash) {
    if (Entry* entry = Find(item, hash)) return {entry, false};
    Entry* const entry = storage_.New(std::forward<U>(item));
    entry->hash = hash;
    absl::Cleanup undo = [this, entry] { storage_.Delete(entry); };
    entries_.insert(entry);
    std::move(undo).Cancel();
    return {entry, true};
  }

  // Calls `visit(const Entry&)` for each entry, in no particular order. It must
  // not change the table.
  template <typename F>
  void ForEach(F visit) const {
    for (const Entry* entry : entries_) visit(*entry);
  }

  // Destroys `entry`, which is in the table.
  void Erase(Entry* entry) {
    entries_.erase(entry);
    storage_.Delete(entry);
  }

  // Destroys all entries.
  void Clear() {
    decltype(entries_) all;
    all.swap(entries_);
    for (Entry* entry : all) storage_.Delete(entry);
  }

 private:
  struct Key {
    const T* item;
    size_t hash;
  };

  struct KeyHash {
    using is_transparent = void;
    size_t operator()(const Key& key) const { return key.hash; }
    size_t operator()(const Entry* entry) const { return entry->hash; }
  };

  struct KeyEq {
    using is_transparent = void;
    bool operator()(const Entry* a, const Key& b) const {
      return a->hash == b.hash && Eq()(a->item(), *b.item);
    }
    bool operator()(const Entry* a, const Entry* b) const { return a == b; }
  };

  Recycler<Entry> storage_;
  absl::flat_hash_set<Entry*, KeyHash, KeyEq> entries_;
};

}  // namespace workqueue_internal

#endif  // WORKQUEUE_BASE_ENTRY_TABLE_H_
