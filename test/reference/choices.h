// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_REFERENCE_CHOICES_H_
#define WORKQUEUE_TEST_REFERENCE_CHOICES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "absl/types/span.h"

namespace reference {

// Choices
//
// This class reads the bytes that decide what a run does. The bytes are random,
// come from a fuzzer, or remain after shrinking.
//
// Each operation has the same number of bytes, whether it needs them or not. So
// removing one operation does not change the others. A byte of zero is the
// simplest choice.
class Choices {
 public:
  static constexpr size_t kBytesPerOperation = 4;

  // Does not copy `bytes`, which must outlive this object.
  explicit Choices(absl::Span<const uint8_t> bytes) : rest_(bytes) {}

  // Returns whether there is no further operation.
  bool empty() const { return rest_.empty(); }

  // Moves to the next operation. All choices until the next call use its bytes.
  // Missing bytes count as zero.
  void Next() {
    operation_ = rest_.subspan(0, kBytesPerOperation);
    rest_.remove_prefix(operation_.size());
  }

  // Returns a number from 0 to `n` - 1, made from one byte. `n` is at most 256.
  // A greater byte makes a greater or equal number.
  int Below(int n) { return Byte() * n / 256; }

  // Does the same with two bytes, for an `n` of up to 65536.
  int WideBelow(int n) {
    const int high = Byte();
    return static_cast<int>((int64_t{high} * 256 + Byte()) * n / 65536);
  }

  bool OneIn(int n) { return Below(n) == n - 1; }

  // Returns the number of items, made from two bytes. It is usually so small
  // that every item is affected often, and seldom so large that items due at
  // the same time are added in several steps.
  int Items() {
    constexpr int kMost[] = {4, 4, 4, 4, 60, 60, 60, 240};
    const int most = kMost[Below(8)];
    return 1 + Below(most);
  }

  // Returns one of a few delays, so that many times are equal. Some delays are
  // not positive, and some are infinite.
  absl::Duration Delay() {
    constexpr int kMany = 40;
    const int byte = Byte();
    if (byte < 5 * kMany) return absl::Milliseconds(500 * (1 + byte % kMany));
    if (byte < 230) return absl::Milliseconds(500 * (byte % 3 - 2));
    if (byte < 250) return absl::Nanoseconds(byte % 5 - 2);
    return byte % 3 == 0 ? -absl::InfiniteDuration() : absl::InfiniteDuration();
  }

  // Bounds the results of Step(), for a subject whose time has bounds.
  void LimitSteps(absl::Duration least, absl::Duration most) {
    least_step_ = least;
    most_step_ = most;
  }

  // Returns how far the time moves: usually up to 3 seconds, seldom much more,
  // and seldom back.
  absl::Duration Step() {
    return std::min(std::max(AnyStep(), least_step_), most_step_);
  }

 private:
  absl::Duration AnyStep() {
    const int byte = Byte();
    if (byte < 196) return absl::Milliseconds(500 * ((byte + 1) % 7));
    if (byte < 210) return absl::Milliseconds(500 * (byte % 7 - 7));
    if (byte < 253) return absl::Nanoseconds(byte % 3);
    constexpr absl::Duration kFar[] = {absl::Hours(1), -absl::Hours(1),
                                       absl::Hours(24 * 365 * 200)};
    return kFar[byte - 253];
  }

  int Byte() {
    if (operation_.empty()) return 0;
    const int byte = operation_.front();
    operation_.remove_prefix(1);
    return byte;
  }

  absl::Duration least_step_ = -absl::InfiniteDuration();
  absl::Duration most_step_ = absl::InfiniteDuration();
  absl::Span<const uint8_t> rest_;
  absl::Span<const uint8_t> operation_;
};

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_CHOICES_H_
