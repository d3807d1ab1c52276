// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/delaying_queue.h"

#include <string>

namespace workqueue {

template class DelayingQueue<std::string>;

}  // namespace workqueue
