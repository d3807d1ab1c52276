// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/plain/segmented_array.h
// -----------------------------------------------------------------------------
//
// bench/plain/run replaces the following header by this file:
// workqueue/base/segmented_array.h.

#ifndef WORKQUEUE_BASE_SEGMENTED_ARRAY_H_
#define WORKQUEUE_BASE_SEGMENTED_ARRAY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace workqueue {
namespace internal {

// As in the other header.
template <typename E>
constexpr size_t MinSize(size_t capacity) {
  return capacity * sizeof(E) <= 16 * 1024 ? 0 : capacity / 8 * 3;
}

// A vector.
template <typename E>
class SegmentedArray {
 public:
  size_t capacity() const { return elements_.size(); }

  void Reserve(size_t size) {
    if (elements_.size() < size) {
      elements_.resize(std::max(size, 2 * elements_.size()));
    }
  }

  void Shrink(size_t) {}

  E& operator[](uint32_t index) { return elements_[index]; }
  const E& operator[](uint32_t index) const { return elements_[index]; }

  void Clear() { std::vector<E>().swap(elements_); }

 private:
  std::vector<E> elements_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_BASE_SEGMENTED_ARRAY_H_
