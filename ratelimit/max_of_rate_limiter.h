// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_RATELIMIT_MAX_OF_RATE_LIMITER_H_
#define WORKQUEUE_RATELIMIT_MAX_OF_RATE_LIMITER_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "ratelimit/rate_limiter.h"

namespace workqueue {

// MaxOfRateLimiter
//
// This class combines several limiters and returns the longest of their delays.
// So an item waits until every limiter lets it pass.
//
// Each call asks every limiter, including those whose delay turns out shorter.
// For example, a token bucket spends a token on an item that another limiter
// delays for longer. Items delayed in this way may later come together, more at
// once than the bucket's burst.
//
// Thread-safe. If a limiter throws, the limiters before it have already counted
// the call, and those after it have not been asked.
//
// Example:
//
//     auto limiter = workqueue::MaxOfRateLimiter<std::string>::Create(
//         std::move(exponential), std::move(bucket));
//     if (!limiter.ok()) return limiter.status();
//     (*limiter)->When("pod");
template <typename T>
class MaxOfRateLimiter final : public RateLimiter<T> {
 public:
  // Returns a new limiter that owns `limiters` and asks them in the given
  // order.
  //
  // Returns an `absl::InvalidArgumentError` if `limiters` is empty or contains
  // null.
  static absl::StatusOr<std::unique_ptr<MaxOfRateLimiter>> Create(
      std::vector<std::unique_ptr<RateLimiter<T>>> limiters) {
    if (limiters.empty()) {
      return absl::InvalidArgumentError(
          "limiters is empty; it must have at least one limiter");
    }
    for (size_t i = 0; i < limiters.size(); ++i) {
      if (limiters[i] == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat("limiters[", i, "] is null; it must be given"));
      }
    }
    return absl::WrapUnique(new MaxOfRateLimiter(std::move(limiters)));
  }

  // Does the same, with one parameter for each limiter.
  template <typename... Limiters>
  static absl::StatusOr<std::unique_ptr<MaxOfRateLimiter>> Create(
      std::unique_ptr<Limiters>... limiters) {
    std::vector<std::unique_ptr<RateLimiter<T>>> all;
    all.reserve(sizeof...(limiters));
    (all.push_back(std::move(limiters)), ...);
    return Create(std::move(all));
  }

  // Counts a failure of `item` in every limiter and returns the longest of
  // their delays.
  absl::Duration When(const T& item) override {
    return WhenUpTo(item, absl::InfiniteDuration());
  }
  absl::Duration WhenUpTo(const T& item, absl::Duration max) override {
    absl::Duration longest = absl::ZeroDuration();
    for (const auto& limiter : limiters_) {
      longest = (std::max)(longest, limiter->WhenUpTo(item, max));
    }
    return longest;
  }

  // Makes every limiter forget `item`.
  void Forget(const T& item) override {
    for (const auto& limiter : limiters_) limiter->Forget(item);
  }

  // Returns the largest of the limiters' counts for `item`.
  int NumRequeues(const T& item) override {
    int largest = 0;
    for (const auto& limiter : limiters_) {
      largest = (std::max)(largest, limiter->NumRequeues(item));
    }
    return largest;
  }

  // Returns the largest of the limiters' numbers.
  std::optional<size_t> NumTracked() override {
    std::optional<size_t> largest;
    for (const auto& limiter : limiters_) {
      largest = (std::max)(largest, limiter->NumTracked());
    }
    return largest;
  }

  // Returns the longest of the limiters' maxima.
  absl::Duration MaxDelay() const override {
    absl::Duration longest = absl::ZeroDuration();
    for (const auto& limiter : limiters_) {
      longest = (std::max)(longest, limiter->MaxDelay());
    }
    return longest;
  }

 private:
  explicit MaxOfRateLimiter(
      std::vector<std::unique_ptr<RateLimiter<T>>> limiters)
      : limiters_(std::move(limiters)) {}

  const std::vector<std::unique_ptr<RateLimiter<T>>> limiters_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_MAX_OF_RATE_LIMITER_H_
