// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/plain/add_ring.h
// -----------------------------------------------------------------------------
//
// bench/plain/run replaces the following header by this file:
// workqueue/internal/add_ring.h.

#ifndef WORKQUEUE_INTERNAL_ADD_RING_H_
#define WORKQUEUE_INTERNAL_ADD_RING_H_

#include <cstddef>

#include "workqueue/internal/compact_time.h"

namespace workqueue {
namespace internal {

// A ring that is never open, so that every addition takes the lock.
template <typename T>
class AddRing {
 public:
  struct Addition {
    T item;
    size_t hash;
    CompactTime added;
  };

  bool open_hint() const { return false; }
  bool TryPush(Addition&&) { return false; }
  bool active() const { return false; }
  void Open() {}
  template <typename F>
  void Apply(F) {}
  void Seal() {}
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_ADD_RING_H_
