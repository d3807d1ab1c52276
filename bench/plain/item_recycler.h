// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/plain/item_recycler.h
// -----------------------------------------------------------------------------
//
// For bench/plain/run, which puts this file in the place of
// workqueue/internal/item_recycler.h.

#ifndef WORKQUEUE_INTERNAL_ITEM_RECYCLER_H_
#define WORKQUEUE_INTERNAL_ITEM_RECYCLER_H_

namespace workqueue {
namespace internal {

// Keeps nothing: each item is a copy that allocates what it needs.
template <typename T>
class ItemRecycler {
 public:
  template <typename F>
  auto WithCopy(const T& item, F make) {
    return make(item);
  }
  void Keep(T&& /*item*/) {}
  void Clear() {}
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_ITEM_RECYCLER_H_
