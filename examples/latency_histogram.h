// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/latency_histogram.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_LATENCY_HISTOGRAM_H_
#define WORKQUEUE_EXAMPLES_LATENCY_HISTOGRAM_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>

#include "absl/time/time.h"

namespace examples {

// LatencyHistogram
//
// This class counts durations in buckets. Each bucket is 1.1% longer than the
// one before, so percentiles have about this precision.
//
// Thread-safe.
class LatencyHistogram {
 public:
  void Observe(double seconds) {
    const double bucket = kBucketsPerDoubling * std::log2(seconds / kShortest);
    buckets_[seconds > kShortest ? std::min<int>(bucket, kBuckets - 1) : 0]++;
  }

  // Returns a duration that at least `fraction` of the observed durations do
  // not exceed. Returns zero if nothing was observed.
  absl::Duration Percentile(double fraction) const {
    int64_t total = 0;
    for (const auto& count : buckets_) total += count;
    int64_t left = static_cast<int64_t>(std::ceil(fraction * total));
    if (left == 0) return absl::ZeroDuration();
    for (int i = 0; i < kBuckets; ++i) {
      left -= buckets_[i];
      if (left <= 0) return UpperBound(i);
    }
    return UpperBound(kBuckets - 1);
  }

 private:
  static constexpr double kShortest = 1e-7;
  static constexpr int kBucketsPerDoubling = 64;
  static constexpr int kBuckets = 40 * kBucketsPerDoubling;

  static absl::Duration UpperBound(int bucket) {
    return absl::Seconds(kShortest *
                         std::exp2((bucket + 1.0) / kBucketsPerDoubling));
  }

  std::array<std::atomic<int64_t>, kBuckets> buckets_ = {};
};

}  // namespace examples

#endif  // WORKQUEUE_EXAMPLES_LATENCY_HISTOGRAM_H_
