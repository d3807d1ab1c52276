// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Does for tracing what guide_test.cc does for queues. The code for
// OpenTelemetry is in test/opentelemetry.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/tracing/queue_tracer.h"
#include "workqueue/tracing/trace_context.h"
#include "workqueue/tracing/trace_scope.h"
#include "workqueue/tracing/tracing_queue.h"

namespace tracing_guide_test {
namespace {

std::vector<std::string>& Reports() {
  static auto* const reports = new std::vector<std::string>();
  return *reports;
}

void Report(absl::string_view key, absl::Duration waited) {
  Reports().push_back(absl::StrCat(key, " ", absl::FormatDuration(waited)));
}

class SlowItems final : public workqueue::QueueTracer<std::string> {
 public:
  void OnHandOut(const std::string& key,
                 absl::Span<const workqueue::TraceContext> /*contexts*/,
                 const workqueue::HandOutInfo& info) override {
    if (info.since_first_add > absl::Minutes(1)) {
      Report(key, *info.since_first_add);
    }
  }
};

// Keeps what the last attempt was linked to.
class LastLinks final : public workqueue::QueueTracer<std::string> {
 public:
  std::unique_ptr<workqueue::ReconcileSpan> OnReconcileBegin(
      const std::string& /*key*/,
      absl::Span<const workqueue::TraceContext> contexts,
      const workqueue::ReconcileInfo& /*info*/) override {
    links.assign(contexts.begin(), contexts.end());
    return nullptr;
  }

  std::vector<workqueue::TraceContext> links;
};

absl::Status Deploy(const std::string& /*key*/) { return absl::OkStatus(); }

absl::Status TraceAController(
    const std::shared_ptr<workqueue::QueueTracer<std::string>>& tracer,
    workqueue::ControllerOptions<std::string>& options) {
  workqueue::TracingQueueOptions<std::string> tracing;
  tracing.name = "deployments";
  tracing.queue = std::make_unique<workqueue::PriorityQueue<std::string>>();
  tracing.tracers = {tracer};
  auto queue = workqueue::TracingQueue<std::string>::Create(std::move(tracing));
  if (!queue.ok()) return queue.status();

  options.reconcile = (*queue)->Traced(Deploy);
  options.queue = *std::move(queue);
  return absl::OkStatus();
}

void AddForACaller(const std::string& traceparent, const std::string& key,
                   workqueue::RateLimitingInterface<std::string>& queue) {
  auto caller = workqueue::ParseTraceParent(traceparent);
  workqueue::TraceScope scope(caller.value_or(workqueue::TraceContext()));
  queue.Add(key);
}

void WorkWithoutAController(workqueue::TracingQueue<std::string>& queue) {
  workqueue::Lease<std::string> lease;
  while (queue.AcquireNext(&lease).ok()) {
    auto attempt = queue.BeginAttempt(*lease, lease.priority());
    absl::Status status = Deploy(*lease);
    attempt.End(status);
    if (status.ok()) {
      queue.Forget(*lease);
    } else {
      queue.AddRateLimited(*lease);
    }
  }
}

constexpr char kTraceParent[] =
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TracingGuideTest, TracesAController) {
  auto tracer = std::make_shared<LastLinks>();
  workqueue::ControllerOptions<std::string> options;
  ASSERT_EQ(TraceAController(tracer, options), absl::OkStatus());
  auto controller =
      *workqueue::Controller<std::string>::Create(std::move(options));
  ASSERT_EQ(controller->Start(), absl::OkStatus());
  AddForACaller(kTraceParent, "web", controller->queue());
  controller->Stop();
  ASSERT_EQ(tracer->links.size(), 1u);
  EXPECT_EQ(workqueue::ToTraceParent(tracer->links[0]), kTraceParent);
}

TEST(TracingGuideTest, WorksWithoutAController) {
  workqueue::FakeClock clock;
  workqueue::PriorityQueueOptions<std::string> below;
  below.clock = &clock;
  workqueue::TracingQueueOptions<std::string> tracing;
  tracing.queue =
      std::make_unique<workqueue::PriorityQueue<std::string>>(std::move(below));
  auto tracer = std::make_shared<LastLinks>();
  tracing.tracers = {std::make_shared<SlowItems>(), tracer};
  auto queue =
      *workqueue::TracingQueue<std::string>::Create(std::move(tracing));
  AddForACaller(kTraceParent, "slow", *queue);
  clock.Step(absl::Minutes(2));
  AddForACaller("no traceparent", "quick", *queue);
  queue->ShutDown();
  WorkWithoutAController(*queue);
  EXPECT_EQ(Reports(), std::vector<std::string>{"slow 2m"});
  EXPECT_TRUE(tracer->links.empty());
}

}  // namespace
}  // namespace tracing_guide_test
