// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_CONFORMANCE_LIMITER_SPEC_H_
#define WORKQUEUE_TEST_CONFORMANCE_LIMITER_SPEC_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ratelimit/rate_limiter.h"

namespace conformance {

// Returns the rate limiter that `spec` describes. `spec` is one of
//
//     exponential(BASE,MAX)
//     fastslow(FAST,SLOW,ATTEMPTS)
//     maxof(LIMITER,LIMITER)
//     maxwait(LIMITER,MAX)
//
// Returns an `absl::InvalidArgumentError` if `spec` has another form, or if the
// library rejects the arguments.
absl::StatusOr<std::unique_ptr<workqueue::RateLimiter<std::string>>>
ParseLimiter(absl::string_view spec);

}  // namespace conformance

#endif  // WORKQUEUE_TEST_CONFORMANCE_LIMITER_SPEC_H_
