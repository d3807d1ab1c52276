// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_HANDLE_H_
#define WORKQUEUE_BASE_HANDLE_H_

#include <cstdint>
#include <utility>

namespace workqueue::internal {

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

  // For whoever finds objects by their numbers, which come one after the other.
  static Handle Numbered(uint64_t id) { return {0, id}; }

  // Whether the handle identifies an object, which may have been destroyed.
  explicit operator bool() const { return id_ != 0; }

  friend bool operator==(const Handle& a, const Handle& b) {
    return a.id_ == b.id_;
  }
  // Whether `a` was made before `b`.
  friend bool operator<(const Handle& a, const Handle& b) {
    return a.id_ < b.id_;
  }
  friend bool operator!=(const Handle& a, const Handle& b) { return !(a == b); }

  template <typename H>
  friend H AbslHashValue(H state, const Handle& handle) {
    return H::combine(std::move(state), handle.id_);
  }

 private:
  template <typename, typename>
  friend class SlotMap;

  Handle(uint32_t slot, uint64_t id) : id_(id), slot_(slot) {}

  uint64_t id_ = 0;    // unique in its map; zero for none
  uint32_t slot_ = 0;  // where the object was at first
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_HANDLE_H_
