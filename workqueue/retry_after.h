// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Errors that choose their delay. If a server refuses a request and says when
// to try again (HTTP's `Retry-After`), the code that calls the server returns a
// `RetryAfterError()`. The item then waits for that time, and not for the delay
// that the rate limiter would choose.

#ifndef WORKQUEUE_RETRY_AFTER_H_
#define WORKQUEUE_RETRY_AFTER_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace workqueue {

// RetryAfterError()
//
// Returns `error`, marked with the delay after which the item should be tried
// again. A `Controller` observes the mark. A worker without a controller passes
// the delay on:
//
//     absl::Status status = Deploy(*key);
//     if (status.ok()) {
//       queue.Forget(*key);
//     } else if (auto delay = workqueue::RetryAfterOf(status)) {
//       queue.AddRateLimitedAfter(*key, *delay);
//     } else {
//       queue.AddRateLimited(*key);
//     }
//
// The rate limiter counts a failure, as after any other error. Its maximum
// (`RateLimiter::MaxDelay()`) shortens a delay that is longer. A `delay` that
// is shorter than 100 ms, or negative, counts as 100 ms: a server that says 0
// each time must not be asked in a hot loop. An infinite `delay` leaves `error`
// as it is, so that the rate limiter chooses the delay: an error that must not
// be tried again is a `TerminalError()`. An error that is terminal, too, is not
// tried again.
//
// An OK status becomes an `absl::InternalError`.
//
// The mark is a payload of the status, of the type "workqueue/RetryAfter".
// Copies of the status keep it. It is a text, the `absl::FormatDuration()` of
// the delay, for example "1m30s". So it may be sent with the status, and set by
// other code, which need not use this library. The last mark counts.
absl::Status RetryAfterError(absl::Status error, absl::Duration delay);

// RetryAfterOf()
//
// Returns the delay that `error` chooses, finite and at least 100 ms. Returns
// nothing if `error` chooses none, is OK, or has a mark that is no finite
// delay, or is negative.
std::optional<absl::Duration> RetryAfterOf(const absl::Status& error);

}  // namespace workqueue

#endif  // WORKQUEUE_RETRY_AFTER_H_
