// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// base/entry_table.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BASE_ENTRY_TABLE_H_
#define WORKQUEUE_BASE_ENTRY_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/numeric/int128.h"
#include "base/exceptions.h"
#include "base/slab.h"

namespace workqueue_internal {

// What an entry of an `EntryTable` derives from.
class EntryTableEntry {
 public:
  // Small, and the entry's alone until it is gone.
  SlabId id() const { return id_; }

 private:
  template <typename, typename, typename, typename>
  friend class EntryTable;

  uint32_t hash_ = 0;
  SlabId id_ = 0;
};

// EntryTable
//
// Finds a queue's entry for an item. Each item is stored once, in its entry; an
// entry stays where it is from its insertion to its erasure.
//
// `Entry` is constructed from an item, and has `const T& item() const`.
//
// Hashing is left to the caller, who can do it before taking a lock. A hash may
// be as plain as the number that it is of: it is mixed here. Erased entries'
// storage is used again for later ones, so that a queue in its steady state
// allocates nothing; after a spike it goes back. (The hash table proper, about
// 10 bytes for each entry, does not shrink.)
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

  size_t size() const { return ids_.size(); }

  // Returns the entry for `item`, which hashes to `hash`; null if there is
  // none.
  Entry* Find(const T& item, size_t hash) const {
    const auto it = ids_.find(Key{&item, Mix(hash)});
    return it == ids_.end() ? nullptr : &entries_[*it];
  }

  // Returns the id of the next new entry. What making that allocates is
  // allocated here.
  SlabId NextId() { return entries_.NextId(); }

  // Returns the entry for `item` and whether it is new. `U` is `T`, const and
  // by reference or not; it is moved from only if the entry is new.
  template <typename U>
  std::pair<Entry*, bool> FindOrInsert(U&& item, size_t hash) {
    const Key key = {&item, Mix(hash)};
    const SlabId id = entries_.NextId();
    bool is_new = false;
    const auto it = ids_.lazy_emplace(key, [&is_new, id](const auto& emplace) {
      is_new = true;
      emplace(id);
    });
    if (!is_new) return {&entries_[*it], false};
    Entry* const entry =
        CallOrUndo([&] { return entries_.New(std::forward<U>(item)); },
                   [&] { ids_.erase(it); });
    entry->hash_ = key.hash;
    entry->id_ = id;
    return {entry, true};
  }

  // Returns the entry of `id`, which must exist.
  Entry* At(SlabId id) const { return &entries_[id]; }

  // Calls `visit(const Entry&)` for each entry, in no particular order. It must
  // not change the table.
  template <typename F>
  void ForEach(F visit) const {
    entries_.ForEach([&visit](const Entry* entry) { visit(*entry); });
  }

  // Destroys `entry`, which is in the table.
  void Erase(Entry* entry) {
    const SlabId id = entry->id_;
    ids_.erase(ids_.find(KnownKey{id, entry->hash_}));
    entries_.Delete(id);
  }

  // Destroys all entries, and gives back the memory.
  void Clear() {
    decltype(ids_)(0, ids_.hash_function(), ids_.key_eq()).swap(ids_);
    entries_.Clear();
  }

 private:
  struct Key {
    const T* item;
    uint32_t hash;
  };

  // What is known to be in the table is found without looking at entries.
  struct KnownKey {
    SlabId id;
    uint32_t hash;
  };

  // Each bit of the result depends on all of `hash`.
  static uint32_t Mix(uint64_t hash) {
    const absl::uint128 product = absl::uint128(hash) * 0x9e3779b97f4a7c15;
    return static_cast<uint32_t>(
        (absl::Uint128High64(product) ^ absl::Uint128Low64(product)) >> 32);
  }

  struct IdHash {
    using is_transparent = void;
    // Spread over 64 bits: in a large table, 32 would not reach its end.
    static size_t Spread(uint32_t hash) {
      return static_cast<size_t>(uint64_t{hash} << 32 | hash);
    }
    size_t operator()(const Key& key) const { return Spread(key.hash); }
    size_t operator()(const KnownKey& key) const { return Spread(key.hash); }
    size_t operator()(SlabId id) const { return Spread((*entries)[id].hash_); }

    const Slab<Entry>* entries;
  };

  struct IdEq {
    using is_transparent = void;
    bool operator()(SlabId id, const Key& key) const {
      const Entry& entry = (*entries)[id];
      return entry.hash_ == key.hash && Eq()(entry.item(), *key.item);
    }
    bool operator()(SlabId id, const KnownKey& key) const {
      return id == key.id;
    }
    bool operator()(SlabId a, SlabId b) const { return a == b; }

    const Slab<Entry>* entries;
  };

  Slab<Entry> entries_;
  absl::flat_hash_set<SlabId, IdHash, IdEq> ids_{0, IdHash{&entries_},
                                                 IdEq{&entries_}};
};

}  // namespace workqueue_internal

#endif  // WORKQUEUE_BASE_ENTRY_TABLE_H_
