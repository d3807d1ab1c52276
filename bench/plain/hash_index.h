// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/plain/hash_index.h
// -----------------------------------------------------------------------------
//
// bench/plain/run replaces the following header by this file:
// workqueue/base/hash_index.h.

#ifndef WORKQUEUE_BASE_HASH_INDEX_H_
#define WORKQUEUE_BASE_HASH_INDEX_H_

#include <cstddef>
#include <cstdint>

#include "absl/base/attributes.h"
#include "absl/container/flat_hash_set.h"
#include "workqueue/base/slab.h"

namespace workqueue {
namespace internal {

// As in the part.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Prefetch(const void* address) {
  __builtin_prefetch(address);
}

// An `absl::flat_hash_set` of the ids and their hashes.
class HashIndex {
 private:
  struct Slot {
    uint32_t hash;
    SlabId id;
  };
  template <typename F>
  struct Query {
    uint32_t hash;
    F& is_it;
  };
  struct Hash {
    using is_transparent = void;
    template <typename K>
    size_t operator()(const K& key) const {
      // Abseil uses 7 bits for its tags, and the other bits for the position.
      return key.hash;
    }
  };
  struct Eq {
    using is_transparent = void;
    bool operator()(const Slot& a, const Slot& b) const { return a.id == b.id; }
    template <typename F>
    bool operator()(const Slot& a, const Query<F>& b) const {
      return a.hash == b.hash && b.is_it(a.id);
    }
  };
  using Slots = absl::flat_hash_set<Slot, Hash, Eq>;

 public:
  size_t size() const { return slots_.size(); }

  struct Position {
    Slots::const_iterator slot;
    bool found;
  };

  template <typename F>
  Position Find(uint32_t hash, F is_it) const {
    const auto slot = slots_.find(Query<F>{hash, is_it});
    return {slot, slot != slots_.end()};
  }

  void Prefetch(uint32_t) const {}

  SlabId operator[](Position position) const { return position.slot->id; }

  struct InsertPosition {};

  InsertPosition PrepareInsert(uint32_t, Position) { return {}; }

  void Insert(InsertPosition, uint32_t hash, SlabId id) {
    slots_.insert({hash, id});
  }

  void Replace(Position position, SlabId id) {
    const uint32_t hash = position.slot->hash;
    slots_.erase(position.slot);
    slots_.insert({hash, id});
  }

  void Erase(Position position) { slots_.erase(position.slot); }

  void Clear() { slots_ = Slots(); }

 private:
  Slots slots_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_BASE_HASH_INDEX_H_
