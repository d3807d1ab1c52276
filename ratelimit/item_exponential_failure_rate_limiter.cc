// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ratelimit/item_exponential_failure_rate_limiter.h"

#include <string>

namespace workqueue {

template class ItemExponentialFailureRateLimiter<std::string>;

}  // namespace workqueue
