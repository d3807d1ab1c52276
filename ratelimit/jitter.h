// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_RATELIMIT_JITTER_H_
#define WORKQUEUE_RATELIMIT_JITTER_H_

#include <cstdint>
#include <memory>
#include <random>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

// JitterOptions
//
// A `Jitter` multiplies each duration by a random factor from `min_factor` to
// `max_factor`. All factors are equally likely.
struct JitterOptions {
  double min_factor = 0.5;  // not negative
  double max_factor = 1.5;  // at least `min_factor`, at most 1000

  // Jitters with the same seed and the same factors return the same results, on
  // every machine. A test can give a seed.
  uint64_t seed = RandomSeed();

  // Any duration up to the given one, or up to it and at least its half. These
  // are the "full jitter" and the "equal jitter" of M. Brooker, "Exponential
  // Backoff And Jitter", AWS Architecture Blog, 2015.
  static JitterOptions Full() { return {0, 1}; }
  static JitterOptions Equal() { return {0.5, 1}; }

  // The given duration plus or minus a `fraction` of it, which must be at least
  // 0 and at most 1.
  static JitterOptions PlusMinus(double fraction) {
    return {1 - fraction, 1 + fraction};
  }

  // Returns another number at each call.
  static uint64_t RandomSeed();
};

// Jitter
//
// This class varies durations at random. So what would happen at the same
// moment is spread over time: retries of many items that have failed together,
// periodic work on many items, the first listing of a source.
//
// Example, a reconcile function that looks again after 10 minutes, plus or
// minus a tenth:
//
//     auto jitter =
//         workqueue::Jitter::Create(workqueue::JitterOptions::PlusMinus(0.1));
//     if (!jitter.ok()) return jitter.status();
//     ...
//     result.requeue_after = (*jitter)->Vary(absl::Minutes(10));
//
// `WithJitterRateLimiter` varies the delays of a rate limiter.
//
// Thread-safe.
class Jitter {
 public:
  // Returns an `absl::InvalidArgumentError`, which names the field and its
  // value, if a factor is out of its range.
  static absl::StatusOr<std::unique_ptr<Jitter>> Create(
      const JitterOptions& options = {});

  Jitter(const Jitter&) = delete;
  Jitter& operator=(const Jitter&) = delete;

  // Returns `d`, multiplied by the next factor. An infinite `d` stays infinite.
  absl::Duration Vary(absl::Duration d) ABSL_LOCKS_EXCLUDED(mu_);

  // Returns `d`, multiplied by the largest factor: no result of `Vary(d)` is
  // longer if `d` is not negative. An infinite `d` stays infinite.
  absl::Duration Longest(absl::Duration d) const;

 private:
  explicit Jitter(const JitterOptions& options);

  const double min_factor_;
  const double width_;
  sync::Mutex mu_;
  std::mt19937_64 random_ ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_JITTER_H_
