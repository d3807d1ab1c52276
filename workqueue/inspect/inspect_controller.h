// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INSPECT_INSPECT_CONTROLLER_H_
#define WORKQUEUE_INSPECT_INSPECT_CONTROLLER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "workqueue/controller/controller.h"
#include "workqueue/failures.h"
#include "workqueue/inspect/inspect_queue.h"
#include "workqueue/inspect/inspectable.h"
#include "workqueue/inspect/inspection.h"
#include "workqueue/interfaces.h"
#include "workqueue/snapshot.h"

namespace workqueue {
namespace internal {

// ControllerInspectable
//
// Inspects a controller and its queue.
template <typename T, typename Hash, typename Eq>
class ControllerInspectable final : public QueueInspectable<T> {
 public:
  // `controller` is not owned.
  ControllerInspectable(Controller<T, Hash, Eq>* controller,
                        InspectOptions<T> options)
      : Base(&controller->queue(), &controller->queue(), &controller->queue(),
             std::move(options)),
        controller_(controller) {}

  std::string Kind() const override {
    return absl::StrCat("controller on a ", Base::Kind());
  }

 protected:
  absl::StatusOr<Snapshot<T>> TakeSnapshot(
      const SnapshotOptions<T>& what) override {
    return controller_->TakeSnapshotWith(what);
  }

  void AddMore(Inspection* inspection) override {
    inspection->health = controller_->Healthy();
    inspection->num_workers = controller_->max_concurrent_reconciles();
    std::vector<std::pair<std::string, std::string>> options = {
        {"workers", absl::StrCat(*inspection->num_workers)},
        {"reconcile timeout",
         absl::FormatDuration(controller_->reconcile_timeout())}};
    const FailureLedgerOptions& limits = controller_->failure_limits();
    if (limits.parks()) {
      options.emplace_back("max failures",
                           limits.max_failures.has_value()
                               ? absl::StrCat(*limits.max_failures)
                               : "inf");
      options.emplace_back("max failing time",
                           absl::FormatDuration(limits.max_failing_time));
      options.emplace_back("max parked", absl::StrCat(limits.max_parked));
    }
    inspection->options.insert(inspection->options.begin(), options.begin(),
                               options.end());
  }

  Failures<T>* GetFailures() override { return &controller_->failures(); }

  absl::Status ForgetFailures(const T& item) override {
    return controller_->ForgetFailures(item);
  }

 private:
  using Base = QueueInspectable<T>;

  Controller<T, Hash, Eq>* const controller_;
};

}  // namespace internal

// InspectController()
//
// Returns an object that inspects `controller` and its queue, as
// `InspectQueue()` does, with the failing and the parked items and their
// errors. `InspectAction::kRequeue` puts a parked item back.
//
// `controller` is not owned. It must not be null, and must outlive the result.
template <typename T, typename Hash, typename Eq>
std::unique_ptr<Inspectable> InspectController(
    Controller<T, Hash, Eq>* controller, InspectOptions<T> options = {}) {
  return std::make_unique<internal::ControllerInspectable<T, Hash, Eq>>(
      controller, std::move(options));
}

}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_INSPECT_CONTROLLER_H_
