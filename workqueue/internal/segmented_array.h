// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/segmented_array.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_SEGMENTED_ARRAY_H_
#define WORKQUEUE_INTERNAL_SEGMENTED_ARRAY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/numeric/bits.h"
#include "workqueue/internal/exceptions.h"

namespace workqueue {
namespace internal {

// SegmentedArray
//
// An array that grows without moving its elements: by segments, each twice as
// large as the one before. So to grow takes no longer with many elements than
// with few, and memory that is not written to yet need not be there.
//
// `E` is trivially copyable, and its elements have no values until they are
// written to. There can be as many as an index of 32 bits can tell apart.
//
// All of it takes constant time. Not thread-safe.
template <typename E>
class SegmentedArray {
 public:
  SegmentedArray() = default;
  SegmentedArray(const SegmentedArray&) = delete;
  SegmentedArray& operator=(const SegmentedArray&) = delete;

  // For how many elements there is memory.
  size_t capacity() const { return capacity_; }

  // Makes sure of memory for `size` elements. Throws `std::bad_alloc` if there
  // is none; then no element has changed.
  void Reserve(size_t size) {
    while (ABSL_PREDICT_FALSE(capacity_ < size)) AddSegment();
  }

  // The element at `index`, which is less than `capacity()`.
  E& operator[](uint32_t index) { return *At(index); }
  const E& operator[](uint32_t index) const { return *At(index); }

  // Gives back the memory.
  void Clear() {
    for (Segment& segment : segments_) segment = nullptr;
    capacity_ = 0;
  }

 private:
  static_assert(std::is_trivially_copyable<E>::value, "");
  static_assert(alignof(E) <= 64, "");

  // So that elements of which several fit into a cache line need not be in two.
  struct alignas(64) Line {
    char bytes[64];
  };
  using Segment = std::unique_ptr<Line[]>;

  // The size of the first segment is 2 to the power of this.
  static constexpr int kFirstBits = 4;
  static constexpr size_t kFirst = size_t{1} << kFirstBits;
  static constexpr size_t kMaxSegments = 33 - kFirstBits;

  // With as many in front of them as the first segment has, all elements whose
  // numbers have the same highest bit are in one segment.
  E* At(uint32_t index) const {
    const uint64_t number = uint64_t{index} + kFirst;
    const int highest = absl::bit_width(number) - 1;
    return reinterpret_cast<E*>(segments_[highest - kFirstBits].get()) +
           (number - (uint64_t{1} << highest));
  }

  ABSL_ATTRIBUTE_NOINLINE void AddSegment() {
    const size_t size = capacity_ + kFirst;
    const size_t number = absl::bit_width(size) - 1 - kFirstBits;
    if (number == kMaxSegments) ThrowBadAlloc();
    segments_[number].reset(new Line[(size * sizeof(E) + 63) / 64]);
    capacity_ += size;
  }

  std::array<Segment, kMaxSegments> segments_;
  size_t capacity_ = 0;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_SEGMENTED_ARRAY_H_
