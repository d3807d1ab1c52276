// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/inspection.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "workqueue/controller/controller.h"
#include "workqueue/inspect/history_tracer.h"
#include "workqueue/inspect/inspect_controller.h"
#include "workqueue/inspect/inspect_queue.h"
#include "workqueue/priority_queue.h"
#include "workqueue/tracing/tracing_queue.h"

namespace mirror {

absl::Status Inspection::RecordHistory(
    workqueue::ControllerOptions<std::string>* options) {
  workqueue::TracingQueueOptions<std::string> tracing;
  tracing.name = options->name;
  tracing.queue = std::move(options->queue);
  if (tracing.queue == nullptr) {
    workqueue::PriorityQueueOptions<std::string> queue;
    queue.name = options->name;
    queue.rate_limiter = std::move(options->rate_limiter);
    queue.metrics_provider =
        std::exchange(options->queue_metrics_provider, nullptr);
    tracing.queue = std::make_unique<workqueue::PriorityQueue<std::string>>(
        std::move(queue));
  }
  tracing.tracers = {
      std::make_shared<workqueue::HistoryTracer<std::string>>(history_)};
  auto queue = workqueue::TracingQueue<std::string>::Create(std::move(tracing));
  if (!queue.ok()) return queue.status();
  options->reconcile = (*queue)->Traced(std::move(options->reconcile));
  options->queue = *std::move(queue);
  return absl::OkStatus();
}

absl::Status Inspection::Show(workqueue::Controller<std::string>* controller) {
  workqueue::InspectOptions<std::string> options;
  options.history = history_;
  auto added = registry_->Add(
      controller->name(),
      workqueue::InspectController(controller, std::move(options)));
  if (!added.ok()) return added.status();
  registration_ = *std::move(added);
  return absl::OkStatus();
}

}  // namespace mirror
