// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/base/retry_delay.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BASE_RETRY_DELAY_H_
#define WORKQUEUE_BASE_RETRY_DELAY_H_

#include "absl/time/time.h"

namespace workqueue {
namespace internal {

// Returns the time after which the library's threads retry a failed operation.
constexpr absl::Duration RetryDelay() { return absl::Seconds(1); }

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_BASE_RETRY_DELAY_H_
