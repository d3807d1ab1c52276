// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INSPECT_INSPECTABLE_H_
#define WORKQUEUE_INSPECT_INSPECTABLE_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "workqueue/inspect/inspection.h"

namespace workqueue {

// InspectAction
//
// A change that a person on call can make to one item.
enum class InspectAction {
  kRequeue,  // add the item now, even if it waits, is parked, or is nowhere
  kForget,   // forget the item's failures, so that its next delay is short
  kCancel,   // stop the waiting of the item
};

// Inspectable
//
// An object that can be inspected: a queue, a controller, a scheduler, or an
// object of the user. `InspectQueue()`, `InspectController()` and
// `InspectScheduler()` make the first three.
//
// An `InspectionRegistry` makes one call of each at a time, but an `Act()` may
// run beside another one of the calls. Any may block, for example for a server.
// It should not block for long, because a call delays the destruction of its
// registration.
class Inspectable {
 public:
  virtual ~Inspectable() = default;

  // Returns a short description of the kind, for example "priority queue".
  virtual std::string Kind() const = 0;

  // Returns the contents, with at most `max_items` items in each list. `0`
  // requests only the numbers, and should cost little: the registry makes this
  // call every few seconds. An error is shown in the place of the contents.
  virtual absl::StatusOr<Inspection> Inspect(size_t max_items) = 0;

  // Called after an error of `Inspect()`. Returns what is known nevertheless,
  // without asking anybody; nothing, also by default, if that is nothing.
  virtual std::optional<Inspection> InspectHere(size_t /*max_items*/) {
    return std::nullopt;
  }

  // Returns the contents, with only the item `key` in the lists. `key` is the
  // text of an item, escaped as `InspectedItem::key`.
  //
  // Returns `absl::InvalidArgumentError` if `key` is not the text of an item,
  // and `absl::UnimplementedError`, also by default, if items cannot be found
  // by their texts.
  virtual absl::StatusOr<Inspection> InspectKey(absl::string_view /*key*/) {
    return absl::UnimplementedError("items cannot be found by their keys");
  }

  // Does `action` to the item `key`. Returns the errors of `InspectKey()`,
  // `absl::NotFoundError` if an item to cancel does not wait, and
  // `absl::FailedPreconditionError` if an item to forget is parked.
  virtual absl::Status Act(InspectAction /*action*/,
                           absl::string_view /*key*/) {
    return absl::UnimplementedError("items cannot be changed");
  }
};

}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_INSPECTABLE_H_
