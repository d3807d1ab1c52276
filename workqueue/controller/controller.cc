// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/controller.h"

#include <string>

namespace workqueue {

template class Controller<std::string>;

}  // namespace workqueue
