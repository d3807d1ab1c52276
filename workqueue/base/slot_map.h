// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_SLOT_MAP_H_
#define WORKQUEUE_BASE_SLOT_MAP_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/handle.h"
#include "workqueue/base/hash_index.h"
#include "workqueue/base/slab.h"

namespace workqueue::internal {

// The base class of the objects in a `SlotMap`.
class SlotMapEntry {
 public:
  SlotMapEntry() : slot_(0), moved_(0) {}

  // Slots are small. No other object has this slot until this one is destroyed.
  SlabId slot() const { return slot_; }

 private:
  template <typename, typename>
  friend class SlotMap;

  static constexpr SlabId kMaxSlots = SlabId{1} << 31;

  uint64_t id_ = 0;
  SlabId slot_ : 31;
  SlabId moved_ : 1;  // whether the handles have another slot
};

// SlotMap
//
// This class owns objects, and finds them by handle. A handle has a slot in the
// map and an id. An id is never reused, so that a handle of an earlier object
// in a slot does not find the present one.
//
// Every operation takes amortized constant time. In the steady state nothing is
// allocated. After a spike the memory is freed, but an object that remains
// keeps the memory of up to 63 others, 4 KB at most, unless the caller compacts
// the map, as `Slab` describes. The map has a hash table of the objects that
// have moved, because their handles have other slots.
//
// Not thread-safe.
template <typename Entry, typename Tag>
class SlotMap {
 public:
  size_t size() const { return entries_.size(); }

  // Returns the slot of the next new object. Allocates the storage of that
  // object.
  SlabId NextSlot() { return entries_.NextId(); }

  // Returns a new object. If constructing it, or allocating, throws, the map is
  // unchanged.
  template <typename... Args>
  Entry* New(Args&&... args) {
    const SlabId slot = entries_.NextId();
    Entry* const entry = entries_.New(std::forward<Args>(args)...);
    entry->slot_ = slot % Entry::kMaxSlots;
    entry->id_ = ++last_id_;
    return entry;
  }

  // Returns the handle of `entry`, which is in a map.
  static Handle<Tag> HandleOf(const Entry* entry) {
    return {entry->slot_, entry->id_};
  }

  // Returns whether `a` was made before `b`.
  static bool IsOlder(const SlotMapEntry* a, const SlotMapEntry* b) {
    return a->id_ < b->id_;
  }

  // Returns the object of `handle`, or null if it has been destroyed.
  Entry* Find(Handle<Tag> handle) const {
    Entry* const entry = entries_.Find(handle.slot_);
    if (entry != nullptr && entry->id_ == handle.id_) return entry;
    return moved_.size() == 0 ? nullptr : FindMoved(handle.id_);
  }

  // Returns the object at `slot`, which must exist.
  Entry* At(SlabId slot) const { return &entries_[slot]; }

  // Destroys `entry`, which is in the map. Throws nothing.
  void Delete(Entry* entry) {
    if (ABSL_PREDICT_FALSE(entry->moved_)) ForgetMoved(entry);
    entries_.Delete(entry->slot_);
  }

  // See `Slab::CompactionDue()`.
  bool CompactionDue() const { return entries_.CompactionDue(); }

  // Call this after `Delete()`, to free the memory of a peak; see
  // `Slab::CompactIfDue()`. Now and then replaces an object `e` by a new one,
  // which is moved from it and has a smaller slot, if `may_move(e)` is true and
  // moving an object cannot throw. The handles of `e` become handles of the new
  // object. Then calls `on_move(&e, new_object)`, which must see to it that `e`
  // is deleted. Throws nothing.
  template <typename OnMove, typename MayMove>
  bool CompactIfDue(OnMove on_move, MayMove may_move) {
    return entries_.CompactIfDue([this, on_move, may_move](SlabId slot) {
      const bool can_move = std::is_nothrow_move_constructible_v<Entry>;
      Entry* const from = &entries_[slot];
      Entry* const to = can_move && may_move(*from) ? Move(from) : nullptr;
      if (to != nullptr) on_move(from, to);
    });
  }

  // All slots are less than this.
  size_t slot_limit() const { return entries_.id_limit(); }

  // Calls `visit(Entry*)` for each object, in no particular order. `visit` may
  // delete the object that it is called for.
  template <typename F>
  void ForEach(F visit) const {
    entries_.ForEach(visit);
  }

 private:
  // Replaces `entry` by a new object. Returns null if there is no memory; then
  // nothing has changed.
  Entry* Move(Entry* entry) {
    const uint32_t hash = HashOf(entry->id_);
    const HashIndex::Position position = PositionOf(entry->id_);
    HashIndex::InsertPosition insert_at{};
    if (!position.found &&
        !TryCall([&] { insert_at = moved_.PrepareInsert(hash, position); })) {
      return nullptr;
    }
    const SlabId slot = entries_.NextId();
    Entry* const moved = entries_.New(std::move(*entry));
    moved->slot_ = slot % Entry::kMaxSlots;
    moved->moved_ = true;
    if (position.found) {
      moved_.Replace(position, slot);
    } else {
      moved_.Insert(insert_at, hash, slot);
    }
    entry->id_ = 0;
    entry->moved_ = false;
    return moved;
  }

  // The ids are consecutive. So multiplying spreads their hashes evenly.
  static uint32_t HashOf(uint64_t id) {
    return static_cast<uint32_t>((id * 0x9e3779b97f4a7c15) >> 32);
  }

  // Returns the position in moved_ of the object of `id`.
  HashIndex::Position PositionOf(uint64_t id) const {
    return moved_.Find(HashOf(id), [this, id](SlabId slot) {
      return entries_[slot].id_ == id;
    });
  }

  ABSL_ATTRIBUTE_NOINLINE void ForgetMoved(Entry* entry) {
    moved_.Erase(PositionOf(entry->id_));
  }

  ABSL_ATTRIBUTE_NOINLINE Entry* FindMoved(uint64_t id) const {
    const HashIndex::Position position = PositionOf(id);
    return position.found ? &entries_[moved_[position]] : nullptr;
  }

  Slab<Entry, SlotMapEntry::kMaxSlots> entries_;
  HashIndex moved_;  // the slots of the objects that have moved
  uint64_t last_id_ = 0;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_SLOT_MAP_H_
