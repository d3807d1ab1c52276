// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/queue/compact_time.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_QUEUE_COMPACT_TIME_H_
#define WORKQUEUE_INTERNAL_QUEUE_COMPACT_TIME_H_

#include <cstdint>
#include <cstring>

#include "absl/time/time.h"

namespace workqueue {
namespace internal {

// CompactTime
//
// A time in 8 bytes, fewer than an `absl::Time` takes. The alignment of 4 bytes
// lets it fill gaps in a struct. Times are rounded down to nanoseconds. A time
// more than 292 years from 1970 becomes the closest time that can be stored.
class CompactTime {
 public:
  CompactTime() = default;  // 1970
  explicit CompactTime(absl::Time time) {
    const int64_t ns = absl::ToUnixNanos(time);
    std::memcpy(ns_, &ns, sizeof(ns));
  }

  absl::Time Get() const {
    int64_t ns;
    std::memcpy(&ns, ns_, sizeof(ns));
    return absl::FromUnixNanos(ns);
  }

 private:
  uint32_t ns_[2] = {0, 0};
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_QUEUE_COMPACT_TIME_H_
