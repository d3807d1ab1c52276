// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/timer/internal/slot_map.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TIMER_INTERNAL_SLOT_MAP_H_
#define WORKQUEUE_TIMER_INTERNAL_SLOT_MAP_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "workqueue/internal/slab.h"

namespace workqueue {
namespace internal {

// Handle
//
// Names an object in a `SlotMap`. It can be kept for as long as you like:
// once the object is gone it names nothing, never another one. Copyable; a
// default constructed one names nothing. `Tag` tells the handles of different
// kinds of tables apart.
template <typename Tag>
class Handle {
 public:
  Handle() = default;

  // Whether it names an object, which may be gone by now.
  explicit operator bool() const { return id_ != 0; }

  friend bool operator==(const Handle& a, const Handle& b) {
    return a.id_ == b.id_ && a.slot_ == b.slot_;
  }
  friend bool operator!=(const Handle& a, const Handle& b) { return !(a == b); }

  template <typename H>
  friend H AbslHashValue(H state, const Handle& handle) {
    return H::combine(std::move(state), handle.id_);
  }

 private:
  template <typename, typename>
  friend class SlotMap;

  Handle(SlabId slot, uint64_t id) : id_(id), slot_(slot) {}

  uint64_t id_ = 0;  // unique in its table; zero for none
  SlabId slot_ = 0;
};

// What an object in a `SlotMap` derives from.
class SlotMapEntry {
 public:
  // Small, and the object's alone until it is gone.
  SlabId slot() const { return slot_; }

 private:
  template <typename, typename>
  friend class SlotMap;

  uint64_t id_ = 0;
  SlabId slot_ = 0;
};

// SlotMap
//
// Owns objects, and finds them by handle. A handle is a slot in the table and
// an id, which is never used again: what a slot was used for before cannot be
// mistaken for what is there now.
//
// All of it takes constant time. In the steady state nothing is allocated;
// after a spike, the memory goes back.
//
// Not thread-safe.
template <typename Entry, typename Tag>
class SlotMap {
 public:
  size_t size() const { return entries_.size(); }

  // Returns the slot of the next new object. What making that allocates is
  // allocated here.
  SlabId NextSlot() { return entries_.NextId(); }

  // Returns a new object. If making it, or allocating, throws, nothing has
  // changed.
  template <typename... Args>
  Entry* New(Args&&... args) {
    const SlabId slot = entries_.NextId();
    Entry* const entry = entries_.New(std::forward<Args>(args)...);
    entry->slot_ = slot;
    entry->id_ = ++last_id_;
    return entry;
  }

  // Returns the handle that names `entry`, which is in a table.
  static Handle<Tag> HandleOf(const Entry* entry) {
    return {entry->slot_, entry->id_};
  }

  // Returns the object that `handle` names; null if it is gone.
  Entry* Find(Handle<Tag> handle) const {
    Entry* const entry = entries_.Find(handle.slot_);
    return entry != nullptr && entry->id_ == handle.id_ ? entry : nullptr;
  }

  // Returns the object at `slot`, where there must be one.
  Entry* At(SlabId slot) const { return &entries_[slot]; }

  // Destroys `entry`, which is in the table.
  void Delete(Entry* entry) { entries_.Delete(entry->slot_); }

  // Calls `visit(Entry*)` for each object, in no particular order. It may
  // delete that object.
  template <typename F>
  void ForEach(F visit) const {
    entries_.ForEach(visit);
  }

 private:
  Slab<Entry> entries_;
  uint64_t last_id_ = 0;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_INTERNAL_SLOT_MAP_H_
