// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/inspection.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_INSPECTION_H_
#define WORKQUEUE_EXAMPLES_MIRROR_INSPECTION_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "workqueue/controller/controller.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/inspect/item_history.h"

namespace mirror {

// Inspection
//
// Shows a controller on the page of a registry, with the history of its paths.
class Inspection {
 public:
  // `registry` must outlive this object.
  explicit Inspection(workqueue::InspectionRegistry* registry)
      : registry_(registry) {}

  // Makes the controller of `*options` record the history: gives it a queue
  // that does so, on the queue in `*options` or on the queue that the
  // controller would make.
  absl::Status RecordHistory(
      workqueue::ControllerOptions<std::string>* options);

  // Shows `controller` until this object is destroyed.
  absl::Status Show(workqueue::Controller<std::string>* controller);

 private:
  workqueue::InspectionRegistry* const registry_;
  const std::shared_ptr<workqueue::ItemHistory> history_ =
      std::make_shared<workqueue::ItemHistory>();
  std::unique_ptr<workqueue::InspectionRegistration> registration_;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_INSPECTION_H_
