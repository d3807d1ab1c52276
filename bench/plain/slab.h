// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/plain/slab.h
// -----------------------------------------------------------------------------
//
// bench/plain/run replaces the following header by this file:
// workqueue/base/slab.h.

#ifndef WORKQUEUE_BASE_SLAB_H_
#define WORKQUEUE_BASE_SLAB_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "workqueue/base/exceptions.h"

namespace workqueue {
namespace internal {

using SlabId = uint32_t;
inline constexpr SlabId kNoSlabId = std::numeric_limits<SlabId>::max();

// Allocates each object by itself; a vector finds it by its id.
template <typename E, SlabId kMaxObjects = kNoSlabId>
class Slab {
 public:
  size_t size() const { return objects_.size() - free_.size(); }

  SlabId NextId() {
    if (free_.empty()) {
      if (free_.capacity() <= objects_.size()) {
        free_.reserve(2 * objects_.size() + 1);
      }
      objects_.emplace_back();
      free_.push_back(static_cast<SlabId>(objects_.size() - 1));
    }
    return free_.back();
  }

  template <typename... Args>
  E* New(Args&&... args) {
    const SlabId id = NextId();
    objects_[id] = std::make_unique<E>(std::forward<Args>(args)...);
    free_.pop_back();
    return objects_[id].get();
  }

  E& operator[](SlabId id) const { return *objects_[id]; }

  E* Find(SlabId id) const {
    return id < objects_.size() ? objects_[id].get() : nullptr;
  }

  void Delete(SlabId id) {
    objects_[id] = nullptr;
    free_.push_back(id);
  }

  E* Move(SlabId from) {
    E* const object = New(std::move(*objects_[from]));
    Delete(from);
    return object;
  }

  size_t id_limit() const { return objects_.size(); }
  bool CompactionDue() const { return false; }
  template <typename F>
  bool CompactIfDue(F) {
    return false;
  }

  void Clear() {
    std::vector<std::unique_ptr<E>>().swap(objects_);
    std::vector<SlabId>().swap(free_);
  }

  template <typename F>
  void ForEach(F visit) const {
    for (size_t id = 0; id < objects_.size(); ++id) {
      if (objects_[id] != nullptr) visit(objects_[id].get());
    }
  }

 private:
  std::vector<std::unique_ptr<E>> objects_;  // by id
  std::vector<SlabId> free_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_BASE_SLAB_H_
