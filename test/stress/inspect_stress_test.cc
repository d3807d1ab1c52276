// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Reads and changes a busy controller through its page, from several threads,
// while other objects come and go.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/controller/controller.h"
#include "workqueue/inspect/history_tracer.h"
#include "workqueue/inspect/inspect_controller.h"
#include "workqueue/inspect/inspect_handler.h"
#include "workqueue/inspect/inspect_queue.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/inspect/item_history.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/testing/thread.h"
#include "workqueue/tracing/tracing_queue.h"

namespace workqueue::inspect_stress_test {
namespace {

using Key = std::string;

constexpr int kKeys = 50;
constexpr int kAddsPerThread = 2000;
constexpr int kRequestsPerThread = 200;

std::string KeyOf(int i) { return absl::StrCat("tenant/", i % kKeys); }

std::unique_ptr<Controller<Key>> MakeController(
    std::shared_ptr<ItemHistory> history) {
  TracingQueueOptions<Key> tracing;
  tracing.queue = std::make_unique<PriorityQueue<Key>>();
  tracing.tracers = {std::make_shared<HistoryTracer<Key>>(std::move(history))};
  auto queue = *TracingQueue<Key>::Create(std::move(tracing));
  ControllerOptions<Key> options;
  options.workers = 3;
  options.reconcile = queue->Traced([](const Key &key) -> absl::Status {
    if (key == KeyOf(7)) return absl::NotFoundError(key);
    return absl::OkStatus();
  });
  options.queue = std::move(queue);
  return *Controller<Key>::Create(std::move(options));
}

TEST(InspectStressTest, APageOfABusyControllerIsReadAndUsed) {
  InspectionRegistryOptions registry_options;
  registry_options.sample_period = absl::Milliseconds(1);
  registry_options.max_samples = 10;
  const auto registry = *InspectionRegistry::Create(registry_options);
  const auto history = std::make_shared<ItemHistory>(/*max_events=*/1000);
  const auto controller = MakeController(history);
  ASSERT_EQ(controller->Start(), absl::OkStatus());
  InspectOptions<Key> options;
  options.history = history;
  const auto registration =
      *registry->Add("busy", InspectController(controller.get(), options));
  InspectHandlerOptions handler_options;
  handler_options.authorizer = [](const InspectRequest &) {
    return absl::OkStatus();
  };
  InspectHandler handler(registry.get(), handler_options);

  std::vector<Thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&controller, t] {
      for (int i = 0; i < kAddsPerThread; ++i) {
        controller->queue().Add(KeyOf(i + t));
      }
    });
    threads.emplace_back([&handler, t] {
      for (int i = 0; i < kRequestsPerThread; ++i) {
        EXPECT_EQ(handler.Handle({}).status, 200);
        EXPECT_EQ(handler.Handle({"GET", {{"name", "busy"}}, {}}).status, 200);
        const InspectResponse item =
            handler.Handle({"GET", {{"name", "busy"}, {"key", KeyOf(i)}}, {}});
        EXPECT_EQ(item.status, 200);
        const InspectResponse done =
            handler.Handle({"POST",
                            {{"name", "busy"},
                             {"key", KeyOf(i + t)},
                             {"action", i % 2 == 0 ? "requeue" : "forget"}},
                            {{"workqueue-inspect", "1"}}});
        EXPECT_EQ(done.status, 303);
      }
    });
  }
  // The end of a registration waits for the requests that look at the queue.
  threads.emplace_back([&registry] {
    for (int i = 0; i < kRequestsPerThread; ++i) {
      Queue<Key> brief;
      const auto added = registry->Add("brief", InspectQueue(&brief));
      EXPECT_TRUE(added.ok());
    }
  });
  for (Thread &thread : threads) thread.join();
  EXPECT_TRUE(controller->Stop());
  const auto after = registry->Inspect("busy", 10);
  ASSERT_TRUE(after.ok() && after->inspection.ok());
  EXPECT_EQ(after->inspection->num_queued, 0u);
  EXPECT_GT(after->inspection->totals->handed_out, 0u);
}

}  // namespace
}  // namespace workqueue::inspect_stress_test
