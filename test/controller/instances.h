// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The controllers that many tests use, compiled once, as in
// test/workqueue/instances.h.

#ifndef WORKQUEUE_TEST_CONTROLLER_INSTANCES_H_
#define WORKQUEUE_TEST_CONTROLLER_INSTANCES_H_

#include "test/base/fragile_key.h"
#include "test/workqueue/instances.h"
#include "workqueue/controller/controller.h"

namespace workqueue {

extern template class Controller<int>;
extern template class Controller<FragileKey, FragileHash, FragileEq>;

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_CONTROLLER_INSTANCES_H_
