// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_ONE_MORE_FAILURE_H_
#define WORKQUEUE_BASE_ONE_MORE_FAILURE_H_

#include <limits>

namespace workqueue::internal {

// Returns `failures` + 1, or `failures` if it is the largest `int`.
constexpr int OneMoreFailure(int failures) {
  return failures == (std::numeric_limits<int>::max)() ? failures
                                                       : failures + 1;
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_ONE_MORE_FAILURE_H_
