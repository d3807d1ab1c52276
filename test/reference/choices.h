// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/reference/choices.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_REFERENCE_CHOICES_H_
#define WORKQUEUE_TEST_REFERENCE_CHOICES_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "absl/types/span.h"

namespace reference {

// Choices
//
// The bytes that decide what a run does. They are random, a fuzzer's, or what
// shrinking has left of either.
//
// Each operation has the same number of them, whether it needs them or not: so
// one can be taken out and the others are what they were. A byte of zero is the
// plainest choice.
class Choices {
 public:
  static constexpr size_t kBytesPerOperation = 4;

  // The bytes are not copied.
  explicit Choices(absl::Span<const uint8_t> bytes) : rest_(bytes) {}

  // Whether there is no further operation.
  bool empty() const { return rest_.empty(); }

  // Goes on to the next operation, from whose bytes all choices are made until
  // the next call. What is missing is zero.
  void Next() {
    operation_ = rest_.subspan(0, kBytesPerOperation);
    rest_.remove_prefix(operation_.size());
  }

  // Returns a number from 0 up to `n`, which is at most 256, of one byte; the
  // greater the byte, the greater the number.
  int Below(int n) { return Byte() * n / 256; }

  // The same of two bytes, for an `n` of up to 65536.
  int WideBelow(int n) {
    const int high = Byte();
    return static_cast<int>((int64_t{high} * 256 + Byte()) * n / 65536);
  }

  bool OneIn(int n) { return Below(n) == n - 1; }

  // Returns how many items there are, of two bytes: few, so that all happens to
  // each, or more; seldom so many that those due at once are not added at once.
  int Items() {
    constexpr int kMost[] = {4, 4, 4, 4, 60, 60, 60, 240};
    const int most = kMost[Below(8)];
    return 1 + Below(most);
  }

  // Returns one of few delays, so that many times are equal. Some are not
  // positive, some infinite.
  absl::Duration Delay() {
    constexpr int kMany = 40;
    const int byte = Byte();
    if (byte < 5 * kMany) return absl::Milliseconds(500 * (1 + byte % kMany));
    if (byte < 230) return absl::Milliseconds(500 * (byte % 3 - 2));
    if (byte < 250) return absl::Nanoseconds(byte % 5 - 2);
    return byte % 3 == 0 ? -absl::InfiniteDuration() : absl::InfiniteDuration();
  }

  // Returns by how much time is to move on: up to 3 seconds, seldom much more.
  absl::Duration Step() {
    const int byte = Byte();
    if (byte < 210) return absl::Milliseconds(500 * ((byte + 1) % 7));
    if (byte < 254) return absl::Nanoseconds(byte % 3);
    return absl::Hours(1);
  }

 private:
  int Byte() {
    if (operation_.empty()) return 0;
    const int byte = operation_.front();
    operation_.remove_prefix(1);
    return byte;
  }

  absl::Span<const uint8_t> rest_;
  absl::Span<const uint8_t> operation_;
};

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_CHOICES_H_
