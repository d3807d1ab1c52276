// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// controller/source.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_SOURCE_H_
#define WORKQUEUE_CONTROLLER_SOURCE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "workqueue/interfaces.h"

namespace controller {

// Source
//
// Where a controller's items come from: something that watches the world, and
// adds an item whenever that may have to be reconciled.
template <typename T>
struct Source {
  // For messages.
  std::string name;

  // Adds items to `queue`. Has a thread of its own for that, and must return
  // when `stop` is notified; it may return before. An error or an exception
  // ends the controller's start, if that is in progress; later it is only
  // logged.
  std::function<absl::Status(workqueue::RateLimitingInterface<T>& queue,
                             const absl::Notification& stop)>
      run;

  // Blocks until the source has added all that is there at first, or `stop` is
  // notified, or until `deadline` on the controller's clock, and returns an
  // error if it has not. No worker starts before. Null if there is nothing to
  // wait for. It must not stop the controller.
  std::function<absl::Status(const absl::Notification& stop,
                             absl::Time deadline)>
      wait_for_sync;
};

}  // namespace controller

#endif  // WORKQUEUE_CONTROLLER_SOURCE_H_
