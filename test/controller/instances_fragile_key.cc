// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/controller/instances.h"

namespace workqueue {

template class Controller<FragileKey, FragileHash, FragileEq>;

}  // namespace workqueue
