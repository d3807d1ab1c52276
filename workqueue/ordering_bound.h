// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/ordering_bound.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_ORDERING_BOUND_H_
#define WORKQUEUE_ORDERING_BOUND_H_

#include <cstddef>
#include <string>
#include <vector>

namespace workqueue {

// OrderingBound
//
// A bound of an `Ordering` on the items that are processed at the same time,
// and the items that count.
template <typename T>
struct OrderingBound {
  std::string name;       // for people, and printable: for example "group shop"
  size_t max = 0;         // at least 1
  size_t processing = 0;  // at most `max`

  // Whether the bound is reached and holds queued items back. They wait for the
  // items that are being processed.
  bool holds_back = false;

  // Of the items that are being processed. There may be more of them.
  std::vector<T> items;
};

}  // namespace workqueue

#endif  // WORKQUEUE_ORDERING_BOUND_H_
