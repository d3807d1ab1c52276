// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_SEGMENTED_ARRAY_H_
#define WORKQUEUE_BASE_SEGMENTED_ARRAY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "workqueue/base/exceptions.h"

namespace workqueue::internal {

// Memory up to this size is not worth freeing while its owner lives.
inline constexpr size_t kKeptBytes = 16 * 1024;

// Returns the smallest size that justifies the memory of a container that has
// room for `capacity` elements of type `E`. A container that has become smaller
// than this should shrink, to room for at least a third more elements than it
// has. If there is no memory for shrinking, it should go on as it is. The size
// then has to change by a third before the container shrinks or grows again. So
// moving all elements costs a constant time per operation.
template <typename E>
constexpr size_t MinSize(size_t capacity) {
  return capacity * sizeof(E) <= kKeptBytes ? 0 : capacity / 8 * 3;
}

// SegmentedArray
//
// This class is an array that grows and shrinks without a pause. Its elements
// are in segments of up to 64 KB. There is one segment, which is replaced by a
// larger one, until it has 64 KB. After that, only segments are added and
// freed. Memory that has not been written to need not be resident.
//
// `E` must be trivially copyable. An element has no value until it is written
// to. The array can have as many elements as an index of 32 bits can address.
//
// Every operation takes amortized constant time. No call but `Clear()` moves
// more than 64 KB, or frees more than 2 MB. Not thread-safe.
template <typename E>
class SegmentedArray {
 public:
  SegmentedArray() = default;
  SegmentedArray(const SegmentedArray&) = delete;
  SegmentedArray& operator=(const SegmentedArray&) = delete;

  // The number of elements that there is memory for.
  size_t capacity() const { return capacity_; }

  // Allocates memory for at least `size` elements in total. Throws
  // `std::bad_alloc` if there is none; no element has changed then. May move
  // elements.
  void Reserve(size_t size) {
    while (ABSL_PREDICT_FALSE(capacity_ < size)) Grow();
  }

  // Frees a part of the memory if there is much more than `size` elements need,
  // as `MinSize()` says. The elements from `size` on have no values any more.
  // May move elements. Throws nothing.
  void Shrink(size_t size) {
    if (ABSL_PREDICT_FALSE(size < MinSize<E>(capacity_))) FreeSome(size);
  }

  // Returns the element at `index`, which must be less than `capacity()`.
  E& operator[](size_t index) { return *At(index); }
  const E& operator[](size_t index) const { return *At(index); }

  // Frees the memory.
  void Clear() {
    std::vector<Segment>().swap(segments_);
    capacity_ = 0;
  }

 private:
  static_assert(std::is_trivially_copyable<E>::value, "");
  static_assert(alignof(E) <= 64, "");

  // Aligned to a cache line, so that a small element is not in two of them.
  struct alignas(64) Line {
    char bytes[64];
  };
  using Segment = std::unique_ptr<Line[]>;

  static constexpr size_t kMinCapacity = 16;
  // The number of elements in a segment, a power of two.
  static constexpr size_t SegmentSize() {
    size_t size = kMinCapacity;
    while (2 * size * sizeof(E) <= 64 * 1024) size *= 2;
    return size;
  }
  static constexpr size_t kSegmentSize = SegmentSize();

  E* At(size_t index) const {
    return reinterpret_cast<E*>(segments_[index / kSegmentSize].get()) +
           index % kSegmentSize;
  }

  static Segment NewSegment(size_t size) {
    return Segment(new Line[(size * sizeof(E) + 63) / 64]);
  }

  ABSL_ATTRIBUTE_NOINLINE void Grow() {
    if (capacity_ < kSegmentSize) {
      SetCapacity((std::max)(kMinCapacity, 2 * capacity_));
      return;
    }
    if (capacity_ > (std::numeric_limits<uint32_t>::max)()) ThrowBadAlloc();
    segments_.push_back(NewSegment(kSegmentSize));
    capacity_ += kSegmentSize;
  }

  ABSL_ATTRIBUTE_NOINLINE void FreeSome(size_t size) {
    constexpr int kMostSegments = 32;
    for (int i = 0; i < kMostSegments && size < MinSize<E>(capacity_); ++i) {
      if (capacity_ > kSegmentSize) {
        segments_.pop_back();
        capacity_ -= kSegmentSize;
      } else if (!TryCall([this] { SetCapacity(capacity_ / 2); })) {
        return;
      }
    }
  }

  // Replaces the only segment by one of `capacity`.
  void SetCapacity(size_t capacity) {
    if (segments_.empty()) segments_.emplace_back();
    Segment segment = NewSegment(capacity);
    if (capacity_ > 0) {
      std::memcpy(segment.get(), segments_[0].get(),
                  (std::min)(capacity, capacity_) * sizeof(E));
    }
    segments_[0] = std::move(segment);
    capacity_ = capacity;
  }

  std::vector<Segment> segments_;
  size_t capacity_ = 0;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_SEGMENTED_ARRAY_H_
