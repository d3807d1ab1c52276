// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_NODE_HASH_SET_H_
#define WORKQUEUE_BASE_NODE_HASH_SET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/types/span.h"
#include "workqueue/base/hash_index.h"
#include "workqueue/base/slab.h"

namespace workqueue::internal {

// The base class of the entries of a `NodeHashSet`.
class HashSetNode {
 public:
  // Ids are small. No other entry has this id until this one is destroyed.
  SlabId id() const { return id_; }

 private:
  template <typename, typename, typename>
  friend class NodeHashSet;

  uint32_t hash_ = 0;
  SlabId id_ = 0;
};

// An entry that stores an item. Derived classes add members.
template <typename T>
class ItemNode : public HashSetNode {
 public:
  explicit ItemNode(const T& item) : item_(item) {}
  explicit ItemNode(T&& item) : item_(std::move(item)) {}

  const T& item() const { return item_; }

 private:
  T item_;
};

// NodeHashSet
//
// This class is a hash set of entries, one for each item. Each item is stored
// once, in its entry. An entry has the same address and the same id from its
// insertion to its erasure, unless the caller moves it.
//
// `Entry` must derive from `HashSetNode`. It must have constructors from a
// `const T&` and a `T&&`, and a method `const T& item() const`.
//
// The caller computes hashes, so that it can do so before it takes a lock. A
// hash function may be the identity, because this class mixes its result.
// Storage of erased entries is reused. So in the steady state nothing is
// allocated except by copying an item. After a spike the storage is freed, but
// an entry that remains keeps the storage of up to 63 others, 4 KB at most,
// unless the caller compacts the set, as `Slab` describes.
//
// If constructing an entry, comparing or allocating throws, the set is
// unchanged.
//
// Not thread-safe.
template <typename T, typename Entry, typename Eq = std::equal_to<T>>
class NodeHashSet {
 public:
  NodeHashSet() = default;
  NodeHashSet(const NodeHashSet&) = delete;
  NodeHashSet& operator=(const NodeHashSet&) = delete;

  size_t size() const { return ids_.size(); }

  // Returns the entry for `item`, which hashes to `hash`; null if there is
  // none. `Key` is `T`, or a type that `Eq` compares a `T` with.
  template <typename Key>
  Entry* Find(const Key& item, size_t hash) const {
    const HashIndex::Position position = FindPosition(item, hash);
    return position.found ? At(position) : nullptr;
  }

  // The two steps of `Find()`. The position is valid until the next change.
  template <typename Key>
  HashIndex::Position FindPosition(const Key& item, size_t hash) const {
    return ids_.Find(Mix(hash), IsFor(item));
  }
  Entry* At(HashIndex::Position position) const {
    return &entries_[ids_[position]];
  }

  // Calls `f(i, guess)` for each of `hashes`. `guess` is null, or an entry that
  // is probably the one of an item with that hash, and whose item is on its way
  // into the cache. So many items wait for memory a few times, and not each of
  // them. `f` must not erase entries.
  template <typename F>
  void ForEachGuess(absl::Span<const size_t> hashes, F f) {
    std::array<Entry*, kGuesses> guesses;
    bool guessed = false;
    for (size_t i = 0; i < hashes.size(); ++i) {
      if (i % kGuesses == 0) {
        guessed = Guess(hashes.subspan(i, kGuesses), &guesses);
      }
      f(i, guessed ? guesses[i % kGuesses] : nullptr);
    }
  }

  // Returns the id of the next new entry. Allocates the storage of that entry.
  SlabId NextId() { return entries_.NextId(); }

  // Returns the entry for `item`, and whether the entry is new. `item` is a
  // `T`, an lvalue or an rvalue; an rvalue is moved from only if the entry is
  // new.
  // `guess` is null, or an entry that the item may have.
  template <typename U>
  std::pair<Entry*, bool> FindOrInsert(U&& item, size_t hash,
                                       Entry* guess = nullptr) {
    if (guess != nullptr && Eq()(guess->item(), item)) return {guess, false};
    const uint32_t mixed = Mix(hash);
    const HashIndex::Position position = ids_.Find(mixed, IsFor(item));
    if (position.found) return {&entries_[ids_[position]], false};
    const HashIndex::InsertPosition insert_at =
        ids_.PrepareInsert(mixed, position);
    const SlabId id = entries_.NextId();
    Entry* const entry = entries_.New(std::forward<U>(item));
    // From here on nothing throws.
    entry->hash_ = mixed;
    entry->id_ = id;
    ids_.Insert(insert_at, mixed, id);
    return {entry, true};
  }

  // Returns the entry of `id`, which must exist.
  Entry* At(SlabId id) const { return &entries_[id]; }

  // Calls `visit(const Entry&)` for each entry, in no particular order. `visit`
  // must not change the set.
  template <typename F>
  void ForEach(F visit) const {
    entries_.ForEach([&visit](const Entry* entry) { visit(*entry); });
  }

  // Destroys `entry`, which is in the set. Throws nothing.
  void Erase(Entry* entry) {
    const SlabId id = entry->id_;
    Erase(ids_.Find(entry->hash_, [id](SlabId other) { return other == id; }));
  }

  // Does the same with the entry at `position`.
  void Erase(HashIndex::Position position) {
    const SlabId id = ids_[position];
    ids_.Erase(position);
    entries_.Delete(id);
  }

  // Call this after `Erase()`, to free the memory of a peak; see
  // `Slab::CompactIfDue()`. Now and then moves an entry `e` to another address
  // and a smaller id, if `may_move(e)` is true and moving an entry cannot
  // throw, and calls `on_move(moved_entry, old_id)`. Throws nothing.
  template <typename OnMove, typename MayMove>
  bool CompactIfDue(OnMove on_move, MayMove may_move) {
    return entries_.CompactIfDue([this, on_move, may_move](SlabId from) {
      const bool can_move = std::is_nothrow_move_constructible_v<Entry>;
      if (can_move && may_move(entries_[from])) on_move(Move(from), from);
    });
  }
  template <typename OnMove>
  bool CompactIfDue(OnMove on_move) {
    return CompactIfDue(on_move, [](const Entry&) { return true; });
  }

  // All ids are less than this.
  size_t id_limit() const { return entries_.id_limit(); }

  // Destroys all entries, and frees the memory.
  void Clear() {
    ids_.Clear();
    entries_.Clear();
  }

 private:
  // More fetches than a core has in progress at once.
  static constexpr size_t kGuesses = 32;

  // Sets `(*guesses)[i]` to the first entry whose hash is `hashes[i]`, or to
  // null, and begins to fetch the items. Does nothing and returns false if the
  // set is so small that it is in a cache anyway.
  bool Guess(absl::Span<const size_t> hashes,
             std::array<Entry*, kGuesses>* guesses) const {
    constexpr size_t kSmall = 1024;
    if (size() < kSmall) return false;
    for (const size_t hash : hashes) ids_.Prefetch(Mix(hash));
    for (size_t i = 0; i < hashes.size(); ++i) {
      const HashIndex::Position position =
          ids_.Find(Mix(hashes[i]), [](SlabId) { return true; });
      (*guesses)[i] = position.found ? At(position) : nullptr;
      internal::Prefetch((*guesses)[i]);
    }
    if constexpr (std::is_same_v<T, std::string>) {
      for (size_t i = 0; i < hashes.size(); ++i) {
        const Entry* const entry = (*guesses)[i];
        if (entry != nullptr) internal::Prefetch(entry->item().data());
      }
    }
    return true;
  }

  // Returns a predicate on ids: whether the entry of the id is for `item`.
  template <typename Key>
  auto IsFor(const Key& item) const {
    return [this, &item](SlabId id) { return Eq()(entries_[id].item(), item); };
  }

  // Each bit of the result depends on all of `hash`.
  static uint32_t Mix(uint64_t hash) {
    const absl::uint128 product = absl::uint128(hash) * 0x9e3779b97f4a7c15;
    return static_cast<uint32_t>(
        (absl::Uint128High64(product) ^ absl::Uint128Low64(product)) >> 32);
  }

  // Moves the entry of `from` to a smaller id.
  Entry* Move(SlabId from) {
    const SlabId to = entries_.NextId();
    Entry* const moved = entries_.Move(from);
    moved->id_ = to;
    ids_.Replace(
        ids_.Find(moved->hash_, [from](SlabId id) { return id == from; }), to);
    return moved;
  }

  Slab<Entry> entries_;
  HashIndex ids_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_NODE_HASH_SET_H_
