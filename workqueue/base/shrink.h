// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_SHRINK_H_
#define WORKQUEUE_BASE_SHRINK_H_

#include <cstddef>

namespace workqueue::internal {

// Memory up to this size is not worth freeing while its owner lives.
inline constexpr size_t kKeptBytes = 16 * 1024;

// Returns the smallest size that justifies the memory of a container that has
// room for `capacity` elements of type `E`. A container that has become smaller
// than this should shrink, to room for at least a third more elements than it
// has. If there is no memory for shrinking, it should go on as it is. The size
// then has to change by a third before the container shrinks or grows again. So
// moving all elements costs a constant time per operation.
template <typename E>
constexpr size_t MinSize(size_t capacity) {
  return capacity * sizeof(E) <= kKeptBytes ? 0 : capacity / 8 * 3;
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_SHRINK_H_
