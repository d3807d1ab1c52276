// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/rate_limiting_queue.h"

#include <string>

namespace workqueue {

template class RateLimitingQueue<std::string>;

}  // namespace workqueue
