// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/plain/indexed_heap.h
// -----------------------------------------------------------------------------
//
// bench/plain/run replaces the following header by this file:
// workqueue/base/indexed_heap.h.

#ifndef WORKQUEUE_BASE_INDEXED_HEAP_H_
#define WORKQUEUE_BASE_INDEXED_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace workqueue {
namespace internal {

// A `std::multiset`. An index stays with its slot, and a vector finds the slot.
// Index 0 is that of the front only if there is a single slot, as in a
// `WaitingLoop` of one queue.
template <typename Slot, typename SetIndex>
class IndexedHeap {
 public:
  using Index = uint32_t;

  explicit IndexedHeap(SetIndex set_index = SetIndex())
      : set_index_(std::move(set_index)) {}

  bool empty() const { return slots_.empty(); }
  size_t size() const { return slots_.size(); }
  const Slot& front() const { return slots_.begin()->slot; }
  const Slot& operator[](Index index) const { return by_index_[index]->slot; }
  void Reserve(size_t) {}
  void ReserveOne() {}

  void Push(const Slot& slot) {
    if (free_.empty()) {
      free_.push_back(static_cast<Index>(by_index_.size()));
      by_index_.emplace_back();
    }
    const Index index = free_.back();
    by_index_[index] = slots_.insert({slot, index});
    free_.pop_back();
    set_index_(slot, index);
  }

  // Allocates nothing.
  void Replace(Index index, const Slot& slot) {
    auto node = slots_.extract(by_index_[index]);
    node.value().slot = slot;
    by_index_[index] = slots_.insert(std::move(node));
    set_index_(slot, index);
  }

  void Remove(Index index) {
    slots_.erase(by_index_[index]);
    free_.push_back(index);
  }

  void Shrink(size_t) {}

  void Clear() {
    slots_.clear();
    std::vector<Position>().swap(by_index_);
    std::vector<Index>().swap(free_);
  }

  template <typename F>
  void ForEach(F visit) const {
    for (const Element& element : slots_) visit(element.slot);
  }

  template <typename F>
  void VisitInOrder(F visit) const {
    for (const Element& element : slots_) {
      if (!visit(element.slot)) return;
    }
  }

  template <typename F>
  void UpdateAll(F update) {
    for (const Element& element : slots_) {
      update(const_cast<Slot&>(element.slot));
    }
  }

 private:
  struct Element {
    bool operator<(const Element& other) const { return slot < other.slot; }
    Slot slot;
    Index index;
  };
  using Position = typename std::multiset<Element>::iterator;

  SetIndex set_index_;
  std::multiset<Element> slots_;
  std::vector<Position> by_index_;
  std::vector<Index> free_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_BASE_INDEXED_HEAP_H_
