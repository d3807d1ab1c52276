// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_NUMBER_SET_H_
#define WORKQUEUE_BASE_NUMBER_SET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/numeric/bits.h"
#include "workqueue/base/segmented_array.h"

namespace workqueue::internal {

// NumberSet
//
// This class is a set of small numbers that finds the smallest one. It takes
// one bit for each number below a limit.
//
// `First()` looks at 64 numbers at a time, and begins where the last call has
// ended, unless a smaller number has been inserted since. Every other operation
// takes amortized constant time. Not thread-safe.
class NumberSet {
 public:
  // Returned by `First()` if the set is empty.
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();

  // Allocates memory for all numbers below `limit`. Throws `std::bad_alloc` if
  // there is none; then nothing has changed.
  void Reserve(size_t limit) {
    words_.Reserve(NumWords(limit));
    while (num_words_ < NumWords(limit)) words_[num_words_++] = 0;
  }

  // Inserts `number`. There must be memory for it.
  void Insert(size_t number) {
    words_[number / 64] |= Bit(number);
    first_ = std::min(first_, number / 64);
  }

  void Erase(size_t number) { words_[number / 64] &= ~Bit(number); }

  // Returns the smallest number.
  size_t First() {
    for (; first_ < num_words_; ++first_) {
      const uint64_t word = words_[first_];
      if (word != 0) return first_ * 64 + absl::countr_zero(word);
    }
    return kNone;
  }

  // Removes all numbers from `limit` on, and frees memory that the others do
  // not need.
  void Truncate(size_t limit) {
    num_words_ = std::min(num_words_, NumWords(limit));
    if (limit % 64 != 0 && num_words_ > limit / 64) {
      words_[num_words_ - 1] &= Bit(limit) - 1;
    }
    first_ = std::min(first_, num_words_);
    words_.Shrink(num_words_);
  }

  // Removes all numbers, and frees the memory.
  void Clear() {
    words_.Clear();
    num_words_ = first_ = 0;
  }

 private:
  static size_t NumWords(size_t limit) { return (limit + 63) / 64; }
  static uint64_t Bit(size_t number) { return uint64_t{1} << (number % 64); }

  SegmentedArray<uint64_t> words_;
  size_t num_words_ = 0;
  size_t first_ = 0;  // All words before this one are zero.
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_NUMBER_SET_H_
