// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/hash_index.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_HASH_INDEX_H_
#define WORKQUEUE_INTERNAL_HASH_INDEX_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "workqueue/internal/exceptions.h"
#include "workqueue/internal/shrink.h"
#include "workqueue/internal/slab.h"

namespace workqueue {
namespace internal {

// HashIndex
//
// This class is a hash table of the ids of a slab's objects. It requires hashes
// of 32 bits that are spread evenly. Several ids may have the same hash: the
// predicate of `Find()` distinguishes them.
//
// Example:
//
//     const HashIndex::Position position = ids.Find(hash, is_it);
//     if (!position.found) {
//       ids.Insert(ids.PrepareInsert(hash, position), hash, id);
//     }
//
// The ids are sorted by hash. Each hash has a home position. An id is at that
// position or as close behind it as the order of the ids permits (ordered
// linear probing, as in O. Amble and D. E. Knuth, "Ordered hash tables", 1974).
// So a search ends within a cache line or two, whether or not it finds an id.
// Growing is one pass over memory. Erasing leaves no tombstone.
//
// The table takes 10 to 15 bytes for each id, up to 27 bytes if ids have been
// erased, and more if there are few ids. It shrinks as `MinSize()` says, but
// not below 64 KB. Shrinking is one pass over memory, like growing. If
// allocating throws, the table is unchanged. (An Abseil hash table is left
// corrupted.)
//
// Not thread-safe.
class HashIndex {
 public:
  HashIndex() = default;
  HashIndex(const HashIndex&) = delete;
  HashIndex& operator=(const HashIndex&) = delete;

  size_t size() const { return size_; }

  // The position of an id, or the one where it would be inserted. Valid until
  // the next change.
  struct Position {
    size_t index;
    bool found;
  };

  // Finds the id of hash `hash` for which `is_it(id)` is true.
  template <typename F>
  Position Find(uint32_t hash, F is_it) const {
    if (slots_.empty()) return {0, false};
    size_t i = HomeOf(hash);
    while (slots_[i].hash < hash) ++i;
    for (; slots_[i].hash == hash && !slots_[i].empty(); ++i) {
      if (is_it(slots_[i].id)) return {i, true};
    }
    return {i, false};
  }

  // Returns the id at `position`, where `Find()` has found one.
  SlabId operator[](Position position) const {
    return slots_[position.index].id;
  }

  // The position for a new id. Valid until the next change.
  struct InsertPosition {
    size_t index;
    size_t empty;  // the first empty slot at or after `index`
  };

  // Makes room for an id of hash `hash`. `Find()` has returned `position` for
  // it. Throws `std::bad_alloc` if there is no memory.
  InsertPosition PrepareInsert(uint32_t hash, Position position) {
    if (size_ >= max_size_) {
      Rebuild(std::max(kMinCapacity, capacity_ / 2 * 3), overflow_);
      position = EndOf(hash);
    }
    while (true) {
      size_t empty = position.index;
      while (!slots_[empty].empty()) ++empty;
      if (empty + 1 < slots_.size()) return {position.index, empty};
      Rebuild(capacity_, 2 * overflow_);
      position = EndOf(hash);
    }
  }

  // Adds `id`. Throws nothing.
  void Insert(InsertPosition room, uint32_t hash, SlabId id) {
    const auto slots = slots_.begin();
    std::move_backward(slots + room.index, slots + room.empty,
                       slots + room.empty + 1);
    slots_[room.index] = {hash, id};
    ++size_;
  }

  // Replaces the id at `position`, where `Find()` has found it, by `id`, which
  // has the same hash. Throws nothing.
  void Replace(Position position, SlabId id) { slots_[position.index].id = id; }

  // Removes the id at `position`, where `Find()` has found it. Throws nothing.
  void Erase(Position position) {
    const auto slots = slots_.begin();
    size_t end = position.index + 1;
    while (!slots_[end].empty() && HomeOf(slots_[end].hash) < end) ++end;
    std::move(slots + position.index + 1, slots + end, slots + position.index);
    slots_[end - 1] = Slot();
    --size_;
    if (size_ < min_size_) Shrink();
  }

  // Removes all ids, and frees the memory.
  void Clear() {
    std::vector<Slot>().swap(slots_);
    capacity_ = size_ = min_size_ = max_size_ = 0;
    overflow_ = kMinCapacity;
  }

 private:
  static constexpr size_t kMinCapacity = 16;
  // 32 KB. A table up to this size stays half empty, which makes searches
  // shorter.
  static constexpr size_t kSmallCapacity = 4096;

  struct Slot {
    bool empty() const { return id == kNoSlabId; }

    // An empty slot has the greatest hash.
    uint32_t hash = std::numeric_limits<uint32_t>::max();
    SlabId id = kNoSlabId;
  };

  // Returns the home position of `hash` in a table of `capacity`. A greater
  // hash has the same or a greater position.
  static size_t HomeOf(uint32_t hash, size_t capacity) {
    return static_cast<size_t>((uint64_t{hash} * capacity) >> 32);
  }
  size_t HomeOf(uint32_t hash) const { return HomeOf(hash, capacity_); }

  // Returns the position after all ids of hash `hash`.
  Position EndOf(uint32_t hash) const {
    return Find(hash, [](SlabId) { return false; });
  }

  // Moves all ids to a table of `capacity` slots. At least `overflow` slots
  // follow it, for ids that the last slots displace.
  void Rebuild(size_t capacity, size_t overflow) {
    std::vector<Slot> slots(capacity + overflow);
    size_t next = 0;
    for (const Slot& slot : slots_) {
      if (slot.empty()) continue;
      next = std::max(next, HomeOf(slot.hash, capacity));
      // The last slot stays empty, so that each search ends.
      if (next + 1 == slots.size()) return Rebuild(capacity, 2 * overflow);
      slots[next++] = slot;
    }
    slots_.swap(slots);
    capacity_ = capacity;
    overflow_ = overflow;
    max_size_ = capacity <= kSmallCapacity ? capacity / 2 : capacity / 5 * 4;
    min_size_ = capacity <= 2 * kSmallCapacity ? 0 : MinSize<Slot>(max_size_);
  }

  void Shrink() {
    TryCall(
        [this] { Rebuild(std::max(2 * size_, kSmallCapacity), kMinCapacity); });
  }

  std::vector<Slot> slots_;  // capacity_ + overflow_ of them
  size_t capacity_ = 0;
  size_t overflow_ = kMinCapacity;
  size_t size_ = 0;
  size_t min_size_ = 0;  // the table shrinks below it
  size_t max_size_ = 0;  // the table grows beyond it
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_HASH_INDEX_H_
