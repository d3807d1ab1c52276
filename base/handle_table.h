// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// base/handle_table.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BASE_HANDLE_TABLE_H_
#define WORKQUEUE_BASE_HANDLE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/recycler.h"

namespace workqueue_internal {

// Handle
//
// Names an object in a `HandleTable`. It can be kept for as long as you like:
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
    return a.id_ == b.id_ && a.place_ == b.place_;
  }
  friend bool operator!=(const Handle& a, const Handle& b) { return !(a == b); }

  template <typename H>
  friend H AbslHashValue(H state, const Handle& handle) {
    return H::combine(std::move(state), handle.id_);
  }

 private:
  template <typename, typename>
  friend class HandleTable;

  Handle(size_t place, uint64_t id) : place_(place), id_(id) {}

  size_t place_ = 0;
  uint64_t id_ = 0;  // unique in its table; zero for none
};

// What an object in a `HandleTable` derives from.
class HandleTableEntry {
 private:
  template <typename, typename>
  friend class HandleTable;

  size_t place_ = 0;
  uint64_t id_ = 0;
};

// HandleTable
//
// Owns objects, and finds them by handle. A handle is a place in the table and
// an id, which is never used again: what a place was used for before cannot be
// mistaken for what is there now.
//
// All of it takes constant time. In the steady state nothing is allocated;
// after a spike, the memory goes back once the table is empty.
//
// Not thread-safe.
template <typename Entry, typename Tag>
class HandleTable {
 public:
  HandleTable() = default;
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  ~HandleTable() {
    ForEach([this](Entry* entry) { Delete(entry); });
  }

  size_t size() const { return places_.size() - free_places_.size(); }

  // Returns a new object. If making it, or allocating, throws, nothing has
  // changed.
  template <typename... Args>
  Entry* New(Args&&... args) {
    // So that Delete() throws nothing.
    if (places_.size() == free_places_.capacity()) {
      free_places_.reserve(2 * places_.size() + 16);
    }
    if (free_places_.empty()) {
      places_.push_back(nullptr);
      free_places_.push_back(places_.size() - 1);
    }
    Entry* const entry = storage_.New(std::forward<Args>(args)...);
    entry->place_ = free_places_.back();
    entry->id_ = ++last_id_;
    places_[entry->place_] = entry;
    free_places_.pop_back();
    return entry;
  }

  // Returns the handle that names `entry`, which is in the table.
  Handle<Tag> HandleOf(const Entry* entry) const {
    return {entry->place_, entry->id_};
  }

  // Returns the object that `handle` names; null if it is gone.
  Entry* Find(Handle<Tag> handle) const {
    if (!handle || handle.place_ >= places_.size()) return nullptr;
    Entry* const entry = places_[handle.place_];
    return entry != nullptr && entry->id_ == handle.id_ ? entry : nullptr;
  }

  // Destroys `entry`, which is in the table.
  void Delete(Entry* entry) {
    constexpr size_t kKeep = 1024;
    places_[entry->place_] = nullptr;
    free_places_.push_back(entry->place_);
    storage_.Delete(entry);
    if (size() == 0 && places_.size() > kKeep) {
      std::vector<Entry*>().swap(places_);
      std::vector<size_t>().swap(free_places_);
    }
  }

  // Calls `visit(Entry*)` for each object, in no particular order. It may
  // delete that object.
  template <typename F>
  void ForEach(F visit) {
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_[i] != nullptr) visit(places_[i]);
    }
  }

 private:
  Recycler<Entry> storage_;
  std::vector<Entry*> places_;  // null where free
  std::vector<size_t> free_places_;
  uint64_t last_id_ = 0;
};

}  // namespace workqueue_internal

#endif  // WORKQUEUE_BASE_HANDLE_TABLE_H_
