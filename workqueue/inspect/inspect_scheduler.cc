// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/inspect_scheduler.h"

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "workqueue/inspect/inspectable.h"
#include "workqueue/inspect/inspection.h"
#include "workqueue/timer/scheduler.h"

namespace workqueue {
namespace {

class SchedulerInspectable final : public Inspectable {
 public:
  explicit SchedulerInspectable(const Scheduler* scheduler)
      : scheduler_(scheduler) {}

  std::string Kind() const override { return "scheduler"; }

  absl::StatusOr<Inspection> Inspect(size_t max_items) override {
    const SchedulerSnapshot snapshot = scheduler_->TakeSnapshotUpTo(max_items);
    Inspection inspection;
    inspection.taken_at = snapshot.taken_at;
    inspection.shutting_down = snapshot.shutting_down;
    inspection.num_workers = scheduler_->num_workers();
    inspection.num_processing = snapshot.running.size();
    inspection.num_waiting = snapshot.num_waiting;
    for (const SchedulerSnapshot::Running& it : snapshot.running) {
      if (inspection.processing.size() == max_items) break;
      inspection.processing.push_back(Item(it.period, it.since));
    }
    for (const SchedulerSnapshot::Waiting& it : snapshot.waiting) {
      inspection.waiting.push_back(Item(it.period, it.due_at));
    }
    inspection.options = {{"workers", absl::StrCat(scheduler_->num_workers())},
                          {"failed runs", absl::StrCat(snapshot.failed_runs)}};
    return inspection;
  }

 private:
  static InspectedItem Item(absl::Duration period, absl::Time time) {
    InspectedItem item;
    item.key = period == absl::ZeroDuration()
                   ? "once"
                   : absl::StrCat("every ", absl::FormatDuration(period));
    item.time = time;
    return item;
  }

  const Scheduler* const scheduler_;
};

}  // namespace

std::unique_ptr<Inspectable> InspectScheduler(const Scheduler* scheduler) {
  return std::make_unique<SchedulerInspectable>(scheduler);
}

}  // namespace workqueue
