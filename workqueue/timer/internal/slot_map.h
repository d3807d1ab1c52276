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
// This class identifies an object in a `SlotMap`. A handle may outlive its
// object: it identifies nothing then, and never another object. A default
// constructed handle identifies nothing. Copyable. `Tag` makes the handles of
// different kinds of maps different types.
template <typename Tag>
class Handle {
 public:
  Handle() = default;

  // Whether the handle identifies an object, which may have been destroyed.
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

  uint64_t id_ = 0;  // unique in its map; zero for none
  SlabId slot_ = 0;
};

// The base class of the objects in a `SlotMap`.
class SlotMapEntry {
 public:
  // Slots are small. No other object has this slot until this one is destroyed.
  SlabId slot() const { return slot_; }

 private:
  template <typename, typename>
  friend class SlotMap;

  uint64_t id_ = 0;
  SlabId slot_ = 0;
};

// SlotMap
//
// This class owns objects, and finds them by handle. A handle has a slot in the
// map and an id. An id is never reused, so that a handle of an earlier object
// in a slot does not find the present one.
//
// Every operation takes constant time. In the steady state nothing is
// allocated. After a spike the memory is freed.
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
    entry->slot_ = slot;
    entry->id_ = ++last_id_;
    return entry;
  }

  // Returns the handle of `entry`, which is in a map.
  static Handle<Tag> HandleOf(const Entry* entry) {
    return {entry->slot_, entry->id_};
  }

  // Returns the object of `handle`, or null if it has been destroyed.
  Entry* Find(Handle<Tag> handle) const {
    Entry* const entry = entries_.Find(handle.slot_);
    return entry != nullptr && entry->id_ == handle.id_ ? entry : nullptr;
  }

  // Returns the object at `slot`, which must exist.
  Entry* At(SlabId slot) const { return &entries_[slot]; }

  // Destroys `entry`, which is in the map.
  void Delete(Entry* entry) { entries_.Delete(entry->slot_); }

  // Calls `visit(Entry*)` for each object, in no particular order. `visit` may
  // delete the object that it is called for.
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
