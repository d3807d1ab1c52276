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
#include "workqueue/internal/shrink.h"

namespace workqueue {
namespace internal {

// SegmentedArray
//
// This class is an array that grows without moving its elements. It grows by
// segments, each twice as large as the one before. So growing takes no longer
// with many elements than with few. It shrinks in the same way. Memory that has
// not been written to need not be resident.
//
// `E` must be trivially copyable. An element has no value until it is written
// to. The array can have as many elements as an index of 32 bits can address.
//
// Every operation takes constant time. Not thread-safe.
template <typename E>
class SegmentedArray {
 public:
  SegmentedArray() = default;
  SegmentedArray(const SegmentedArray&) = delete;
  SegmentedArray& operator=(const SegmentedArray&) = delete;

  // The number of elements that there is memory for.
  size_t capacity() const { return capacity_; }

  // Allocates memory for at least `size` elements in total. Throws
  // `std::bad_alloc` if there is none; no element has changed then.
  void Reserve(size_t size) {
    while (ABSL_PREDICT_FALSE(capacity_ < size)) AddSegment();
  }

  // Frees segments if there is much more memory than `size` elements need, as
  // `MinSize()` says. The elements from `size` on have no values any more.
  // Throws nothing.
  void Shrink(size_t size) {
    while (ABSL_PREDICT_FALSE(size < MinSize<E>(capacity_))) RemoveSegment();
  }

  // Returns the element at `index`, which must be less than `capacity()`.
  E& operator[](uint32_t index) { return *At(index); }
  const E& operator[](uint32_t index) const { return *At(index); }

  // Frees the memory.
  void Clear() {
    for (Segment& segment : segments_) segment = nullptr;
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

  // The size of the first segment is 2 to the power of this.
  static constexpr int kFirstBits = 4;
  static constexpr size_t kFirst = size_t{1} << kFirstBits;
  static constexpr size_t kMaxSegments = 33 - kFirstBits;

  // An element's number is its index plus the size of the first segment. All
  // elements whose numbers have the same highest bit are in one segment.
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

  // Frees the last segment, which is larger than all others together.
  ABSL_ATTRIBUTE_NOINLINE void RemoveSegment() {
    capacity_ = (capacity_ - kFirst) / 2;
    segments_[absl::bit_width(capacity_ + kFirst) - 1 - kFirstBits] = nullptr;
  }

  std::array<Segment, kMaxSegments> segments_;
  size_t capacity_ = 0;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_SEGMENTED_ARRAY_H_
