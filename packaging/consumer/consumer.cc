// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A program of a user who has the library from a package. It uses each part
// that CONSUMER_... names, and ends with 1 if one of them fails.

#include <iostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/version.h"
#ifdef CONSUMER_SHARED
#include "workqueue/shared/shared_queue.h"
#include "workqueue/shared/testing/memory_engine.h"
#endif
#ifdef CONSUMER_SQLITE
#include "workqueue/shared/sqlite/sqlite_engine.h"
#endif
#ifdef CONSUMER_POSTGRES
#include "workqueue/shared/postgres/postgres_engine.h"
#endif
#ifdef CONSUMER_PROMETHEUS
#include <memory>

#include "prometheus/registry.h"
#include "workqueue/prometheus/prometheus_metrics_provider.h"
#endif
#ifdef CONSUMER_INSPECT
#include "workqueue/inspect/inspect_handler.h"
#include "workqueue/inspect/inspection_registry.h"
#endif

// Reconciles an item that fails once.
bool Retries() {
  workqueue::FakeClock clock;
  int calls = 0;
  workqueue::ControllerOptions<std::string> options;
  options.clock = &clock;
  options.reconcile = [&calls](const std::string&) {
    return ++calls == 1 ? absl::UnavailableError("not yet") : absl::OkStatus();
  };
  auto controller =
      workqueue::Controller<std::string>::Create(std::move(options));
  if (!controller.ok() || !(*controller)->Start().ok()) return false;
  (*controller)->queue().Add("default/web");
  (*controller)->AwaitIdle();
  clock.Step(absl::Milliseconds(5));
  (*controller)->AwaitIdle();
  return calls == 2;
}

#ifdef CONSUMER_SHARED
// Adds an item to a shared queue in memory, and takes it.
bool Shares() {
  workqueue::FakeClock clock;
  workqueue::MemoryEngine engine(&clock);
  workqueue::SharedQueueOptions<std::string> options;
  options.name = "pods";
  options.clock = &clock;
  options.engine = &engine;
  auto queue = workqueue::SharedQueue<std::string>::Create(std::move(options));
  return queue.ok() && (*queue)->Add("a") && **(*queue)->Acquire() == "a";
}
#endif

#ifdef CONSUMER_PROMETHEUS
bool Measures() {
  return workqueue::PrometheusMetricsProvider::Create(
             std::make_shared<prometheus::Registry>())
      .ok();
}
#endif

#ifdef CONSUMER_INSPECT
bool Shows() {
  auto registry = workqueue::InspectionRegistry::Create();
  if (!registry.ok()) return false;
  workqueue::InspectHandler handler(registry->get());
  return handler.Handle({"GET", {}, {{"host", "localhost"}}}).status == 200;
}
#endif

int main() {
  bool good = Retries();
#ifdef CONSUMER_SHARED
  good = good && Shares();
#endif
  // These need a file and a server, so they are only linked.
#ifdef CONSUMER_SQLITE
  good = good && !workqueue::SqliteEngine::Create("").ok();
#endif
#ifdef CONSUMER_POSTGRES
  good = good && !workqueue::PostgresEngine::Create("").ok();
#endif
#ifdef CONSUMER_PROMETHEUS
  good = good && Measures();
#endif
#ifdef CONSUMER_INSPECT
  good = good && Shows();
#endif
  std::cout << "workqueue " << WORKQUEUE_VERSION_MAJOR << "."
            << WORKQUEUE_VERSION_MINOR << (good ? " works\n" : " fails\n");
  return good ? 0 : 1;
}
