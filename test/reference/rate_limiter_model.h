// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_REFERENCE_RATE_LIMITER_MODEL_H_
#define WORKQUEUE_TEST_REFERENCE_RATE_LIMITER_MODEL_H_

#include <algorithm>
#include <map>

#include "absl/time/time.h"

namespace reference {

// RateLimiterModel
//
// A model of `ItemExponentialFailureRateLimiter`.
class RateLimiterModel {
 public:
  RateLimiterModel(absl::Duration base_delay, absl::Duration max_delay)
      : base_delay_(base_delay), max_delay_(max_delay) {}

  absl::Duration When(int item) {
    absl::Duration delay = base_delay_;
    for (int i = failures_[item]++; i > 0; --i) {
      delay = std::min(2 * delay, max_delay_);
    }
    return std::min(delay, max_delay_);
  }

  // Counts a failure, whose delay the caller knows.
  absl::Duration WhenAfter(int item, absl::Duration delay) {
    ++failures_[item];
    if (delay > max_delay_) return max_delay_;
    return std::max(delay, absl::ZeroDuration());
  }

  void Forget(int item) { failures_.erase(item); }

  int NumRequeues(int item) const {
    const auto it = failures_.find(item);
    return it == failures_.end() ? 0 : it->second;
  }

 private:
  const absl::Duration base_delay_;
  const absl::Duration max_delay_;
  std::map<int, int> failures_;
};

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_RATE_LIMITER_MODEL_H_
