// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/controller/source.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_SOURCE_H_
#define WORKQUEUE_CONTROLLER_SOURCE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "workqueue/clock/clock.h"
#include "workqueue/interfaces.h"

namespace workqueue {

// SourceContext
//
// What a source works with. To be used only until it returns.
template <typename T>
struct SourceContext {
  // Where to add items.
  RateLimitingInterface<T>& queue;

  // Notified when the controller is being stopped.
  const absl::Notification& stop;

  // The controller's.
  Clock* clock;

  // To be called when all that is there at first has been added; see
  // `Source::wait_for_sync`. May be called from any thread and more than once.
  std::function<void()> mark_synced;
};

// Source
//
// Where a controller's items come from: something that watches the world, and
// adds an item whenever that may have to be reconciled.
//
// Example:
//
//     workqueue::Source<std::string> source;
//     source.name = "pods";
//     source.wait_for_sync = true;
//     source.run = [&pods](workqueue::SourceContext<std::string>& context) {
//       context.queue.AddAll(pods.List());
//       context.mark_synced();
//       while (std::optional<std::string> key = pods.NextChange(context.stop))
//       {
//         context.queue.Add(*key);
//       }
//       return absl::OkStatus();
//     };
template <typename T>
struct Source {
  // For messages.
  std::string name;

  // Adds items to the queue. Has a thread of its own for that, and must return
  // when `stop` is notified; it may return before. An error or an exception
  // ends the controller's start, if that is in progress; later it is only
  // logged.
  std::function<absl::Status(SourceContext<T>& context)> run;

  // If set, called once when `stop` has been notified, for a `run` that waits
  // where that does not wake it: in poll(2), or for a server's next message.
  // Called by the thread that stops the controller, which may be another
  // source's; maybe before `run`, after it, or if that is never called. It must
  // not block, nor stop the controller itself. What it throws is logged.
  std::function<void()> on_stop;

  // Whether the workers start only when `run` has called `mark_synced()`, or
  // has returned.
  bool wait_for_sync = false;
};

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_SOURCE_H_
