// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/controller/failed_item.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_FAILED_ITEM_H_
#define WORKQUEUE_CONTROLLER_FAILED_ITEM_H_

#include <string>

#include "absl/time/time.h"

namespace workqueue {

// FailedItem
//
// An item of a controller that has failed and is tried again. See
// `Controller::FailedItems()`.
template <typename T>
struct FailedItem {
  T item;
  int failures;            // since the last success, without a `Forget()`
  std::string last_error;  // printable, cut after 256 bytes
  // Times of the controller's clock.
  absl::Time first_failed_at;
  absl::Time last_failed_at;
};

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_FAILED_ITEM_H_
