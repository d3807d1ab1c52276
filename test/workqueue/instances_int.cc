// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/workqueue/instances.h"

namespace workqueue {

WORKQUEUE_TEST_INSTANCES_OF_INT();

}  // namespace workqueue
