// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/plain/sorted_ring.h
// -----------------------------------------------------------------------------
//
// bench/plain/run replaces the following header by this file:
// workqueue/timer/internal/sorted_ring.h.

#ifndef WORKQUEUE_TIMER_INTERNAL_SORTED_RING_H_
#define WORKQUEUE_TIMER_INTERNAL_SORTED_RING_H_

#include <cstddef>
#include <cstdint>

namespace workqueue {
namespace internal {

// A ring without room, so that every element goes to the heap.
template <typename Slot, typename SetIndex, uint32_t kIndices>
class SortedRing {
 public:
  explicit SortedRing(SetIndex) {}

  bool empty() const { return true; }
  size_t size() const { return 0; }
  const Slot& front() const { return none_; }
  const Slot& back() const { return none_; }
  const Slot& operator[](uint32_t) const { return none_; }
  void ReserveOne() {}
  bool HasRoom() const { return false; }
  void Append(const Slot&) {}
  bool BelongsNearBack(const Slot&, uint32_t) const { return false; }
  void Replace(uint32_t, const Slot&) {}
  void PopFront() {}
  void PopBack() {}
  void Remove(uint32_t) {}
  uint32_t FirstIndex() const { return 0; }
  uint32_t NextIndex(uint32_t index) const { return index; }
  bool IsSparse() const { return false; }
  template <typename F>
  void UpdateAll(F) {}
  void Clear() {}

 private:
  Slot none_{};
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_INTERNAL_SORTED_RING_H_
