// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/tracing/tracing_queue.h"

#include <string>

namespace workqueue {

template class TracingQueue<std::string>;

}  // namespace workqueue
