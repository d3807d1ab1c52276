// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ratelimit/jitter.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

uint64_t JitterOptions::RandomSeed() {
  return (uint64_t{sync::RandomSeed()} << 32) | sync::RandomSeed();
}

absl::StatusOr<std::unique_ptr<Jitter>> Jitter::Create(
    const JitterOptions& options) {
  // These come from `PlusMinus()`, whose caller knows only the fraction.
  const double fraction = (options.max_factor - options.min_factor) / 2;
  const double middle = options.min_factor + fraction;
  if (std::abs(middle - 1) < 1e-9 && (fraction < 0 || fraction > 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "min_factor is ", options.min_factor, " and max_factor is ",
        options.max_factor, "; the fraction of PlusMinus() is ", fraction,
        ", and it must be from 0 to 1"));
  }
  if (!(options.min_factor >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "min_factor is ", options.min_factor, "; it must not be negative"));
  }
  // A larger one would turn a short delay into one that never ends.
  constexpr double kMostFactor = 1000;
  if (!(options.max_factor >= options.min_factor &&
        options.max_factor <= kMostFactor)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "max_factor is ", options.max_factor, "; it must be at most ",
        kMostFactor, " and at least min_factor, which is ",
        options.min_factor));
  }
  return absl::WrapUnique(new Jitter(options));
}

Jitter::Jitter(const JitterOptions& options)
    : min_factor_(options.min_factor),
      width_(options.max_factor - options.min_factor),
      random_(options.seed) {}

absl::Duration Jitter::Vary(absl::Duration d) {
  if (absl::AbsDuration(d) == absl::InfiniteDuration()) return d;
  uint64_t bits;
  {
    internal::MutexLock lock(&mu_);
    bits = random_();
  }
  // The standard does not define the results of its distributions, so they
  // differ between libraries. A double has 53 bits.
  const double fraction = std::ldexp(static_cast<double>(bits >> 11), -53);
  return d * (min_factor_ + width_ * fraction);
}

absl::Duration Jitter::Longest(absl::Duration d) const {
  if (absl::AbsDuration(d) == absl::InfiniteDuration()) return d;
  // Rounded as in Vary(), so that no result of it is longer.
  return d * (min_factor_ + width_);
}

}  // namespace workqueue
