// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/inspect/inspect_controller.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INSPECT_INSPECT_CONTROLLER_H_
#define WORKQUEUE_INSPECT_INSPECT_CONTROLLER_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/failure_ledger.h"
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
class ControllerInspectable final
    : public QueueInspectable<T, RateLimitingInterface<T>> {
 public:
  // `controller` is not owned.
  ControllerInspectable(Controller<T, Hash, Eq>* controller,
                        InspectOptions<T> options)
      : Base(&controller->queue(), std::move(options)),
        controller_(controller) {}

  std::string Kind() const override {
    return absl::StrCat("controller on a ", Base::Kind());
  }

 protected:
  absl::StatusOr<Snapshot<T>> TakeSnapshot(
      const SnapshotOptions<T>& what) override {
    return controller_->TakeSnapshotWith(what);
  }

  void AddMore(size_t max_items, const T* only, absl::Time until,
               Inspection* inspection) override {
    inspection->health = controller_->Healthy();
    inspection->num_failing = controller_->failures().num_failing();
    inspection->num_workers = controller_->max_concurrent_reconciles();
    std::vector<std::pair<std::string, std::string>> options = {
        {"workers", absl::StrCat(*inspection->num_workers)},
        {"reconcile timeout",
         absl::FormatDuration(controller_->reconcile_timeout())}};
    const FailureLedgerOptions& failures = controller_->failures().options();
    if (failures.parks()) {
      inspection->num_parked = controller_->failures().num_parked();
      options.emplace_back("max failures",
                           failures.max_failures.has_value()
                               ? absl::StrCat(*failures.max_failures)
                               : "inf");
      options.emplace_back("max failing time",
                           absl::FormatDuration(failures.max_failing_time));
      options.emplace_back("max parked", absl::StrCat(failures.max_parked));
    }
    inspection->options.insert(inspection->options.begin(), options.begin(),
                               options.end());

    if (only != nullptr) {
      const std::optional<FailedItem<T>> failed =
          controller_->failures().Find(*only);
      if (failed.has_value()) AddFailure(*failed, &until, inspection);
    } else if (max_items > 0) {
      for (const auto& failed : controller_->failures().Failing(max_items)) {
        AddFailure(failed, &until, inspection);
      }
      for (const auto& parked : controller_->failures().Parked(max_items)) {
        AddFailure(parked, &until, inspection);
      }
    }
  }

  // Also puts a parked item back.
  absl::Status Requeue(const T& item) override {
    if (controller_->failures().Unpark(item, &controller_->queue())) {
      return absl::OkStatus();
    }
    return Base::Requeue(item);
  }

  absl::Status Forget(const T& item) override {
    controller_->Forget(item);
    return absl::OkStatus();
  }

 private:
  using Base = QueueInspectable<T, RateLimitingInterface<T>>;

  // Asks the queue's engine when the item is tried again, until `*until`. Asks
  // no more after an error.
  void AddFailure(const FailedItem<T>& failed, absl::Time* until,
                  Inspection* inspection) {
    if (failed.parked) {
      inspection->parked.push_back(
          {this->keys().Of(failed.item), failed.failures, failed.last_error,
           failed.first_failed_at, failed.last_failed_at});
      return;
    }
    std::optional<absl::Time> next_try_at;
    SnapshotOptions<T> what;
    what.only = std::addressof(failed.item);
    what.timeout = *until - Clock::GetRealClock()->TimeNow();
    if (what.timeout > absl::ZeroDuration()) {
      // Finds the item wherever it waits, unlike the bounded list.
      const absl::StatusOr<Snapshot<T>> snapshot =
          controller_->queue().TakeSnapshotWith(what);
      if (!snapshot.ok()) {
        *until = absl::InfinitePast();
      } else if (!snapshot->waiting.empty()) {
        next_try_at = snapshot->waiting[0].ready_at;
      }
    }
    inspection->failing.push_back(
        {this->keys().Of(failed.item), failed.failures, failed.last_error,
         failed.first_failed_at, failed.last_failed_at, next_try_at});
  }

  Controller<T, Hash, Eq>* const controller_;
};

}  // namespace internal

// InspectController()
//
// Returns an object that inspects `controller` and its queue, as
// `InspectQueue()` does, with the failing and the parked items and their
// errors. `InspectAction::kRequeue` puts a parked item back.
//
// `controller` is not owned. It must outlive the result, which must not be
// null.
template <typename T, typename Hash, typename Eq>
std::unique_ptr<Inspectable> InspectController(
    Controller<T, Hash, Eq>* controller, InspectOptions<T> options = {}) {
  return std::make_unique<internal::ControllerInspectable<T, Hash, Eq>>(
      controller, std::move(options));
}

}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_INSPECT_CONTROLLER_H_
