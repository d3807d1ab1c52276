// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "test/workqueue/instances.h"

namespace workqueue {

template class DelayQueue<int>;

template class internal::FairTurns<int>;
template class internal::FairTurns<std::string>;
template class FairOrdering<int, int>;
template class FairOrdering<std::string, std::string>;

}  // namespace workqueue
