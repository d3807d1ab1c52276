// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_PREFETCH_H_
#define WORKQUEUE_BASE_PREFETCH_H_

#include "absl/base/attributes.h"

namespace workqueue::internal {

// Begins to fetch the line at `address` into the cache, and does not wait for
// it. The address may be invalid. (Abseil's function has another header in
// each version.)
//
// A function that does nothing else must be inline always: gcc drops the calls
// of others, because they have no effect.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Prefetch(const void* address) {
#ifdef __GNUC__
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_PREFETCH_H_
