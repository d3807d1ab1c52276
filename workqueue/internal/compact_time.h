// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_COMPACT_TIME_H_
#define WORKQUEUE_INTERNAL_COMPACT_TIME_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/time/time.h"
#include "workqueue/base/finite_time.h"

namespace workqueue::internal {

// CompactTime
//
// A time in 8 bytes, fewer than an `absl::Time` takes. The alignment of 4 bytes
// lets it fill gaps in a struct. Times from 1824 to 2116 are rounded down to
// nanoseconds, and all others to microseconds. A time more than 146,000 years
// from 1970 becomes the first or the last finite time.
class CompactTime {
 public:
  CompactTime() = default;  // 1970
  explicit CompactTime(absl::Time time) : CompactTime(Encode(time)) {}

  // Returns the time `ns` nanoseconds after 1970, between 1824 and 2116.
  static CompactTime FromUnixNanos(int64_t ns) { return CompactTime(ns); }

  absl::Time Get() const {
    int64_t code;
    std::memcpy(&code, code_, sizeof(code));
    return Decode(code);
  }

 private:
  // A code of less than this stands for nanoseconds since 1970, and a greater
  // one, less this, for microseconds. The same holds for negative codes.
  static constexpr int64_t kFar = int64_t{1} << 62;

  explicit CompactTime(int64_t code) {
    std::memcpy(code_, &code, sizeof(code));
  }

  static int64_t Encode(absl::Time time) {
    const int64_t ns = absl::ToUnixNanos(time);
    if (-kFar < ns && ns < kFar) return ns;
    const int64_t us = absl::ToUnixMicros(time);
    return us < 0 ? (std::max)(us, -kFar) - kFar
                  : (std::min)(us, kFar - 1) + kFar;
  }

  static absl::Time Decode(int64_t code) {
    if (-kFar < code && code < kFar) return absl::FromUnixNanos(code);
    const int64_t us = code < 0 ? code + kFar : code - kFar;
    if (us == -kFar) return FiniteTime(absl::InfinitePast());
    if (us == kFar - 1) return FiniteTime(absl::InfiniteFuture());
    return absl::FromUnixMicros(us);
  }

  uint32_t code_[2] = {0, 0};
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_COMPACT_TIME_H_
