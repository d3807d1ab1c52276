// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Does for the inspection page what test/docs/guide_test.cc does for queues.

#include <memory>
#include <string>
#include <utility>

#include "CivetServer.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prometheus/exposer.h"
#include "workqueue/controller/controller.h"
#include "workqueue/inspect/civetweb_inspect_page.h"
#include "workqueue/inspect/history_tracer.h"
#include "workqueue/inspect/inspect_controller.h"
#include "workqueue/inspect/inspect_handler.h"
#include "workqueue/inspect/inspect_queue.h"
#include "workqueue/inspect/inspection.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/inspect/item_history.h"
#include "workqueue/priority_queue.h"
#include "workqueue/tracing/tracing_queue.h"

using Controller = workqueue::Controller<std::string>;

// Waits while the service runs.
void Serve(workqueue::InspectHandler& handler);

absl::Status RunWithPage(Controller& controller) {
  auto registry = workqueue::InspectionRegistry::Create();
  if (!registry.ok()) return registry.status();
  auto registration = (*registry)->Add(
      "deployments", workqueue::InspectController(&controller));
  if (!registration.ok()) return registration.status();
  workqueue::InspectHandler handler(registry->get());

  static struct mg_context* server = nullptr;
  CivetCallbacks callbacks;
  callbacks.init_context = [](const struct mg_context* context) {
    server = const_cast<struct mg_context*>(context);
  };
  prometheus::Exposer exposer("127.0.0.1:0", /*num_threads=*/2, &callbacks);
  workqueue::CivetwebInspectPage page(server, "/workqueue", &handler);
  Serve(handler);
  return absl::OkStatus();
}

absl::Status Deploy(const std::string&) {
  return absl::NotFoundError("no such pod");
}

absl::StatusOr<std::unique_ptr<Controller>> NewController(
    std::shared_ptr<workqueue::ItemHistory> history) {
  workqueue::ControllerOptions<std::string> options;
  options.name = "deployments";

  workqueue::TracingQueueOptions<std::string> tracing;
  tracing.queue = std::make_unique<workqueue::PriorityQueue<std::string>>();
  tracing.tracers = {
      std::make_shared<workqueue::HistoryTracer<std::string>>(history)};
  auto queue = workqueue::TracingQueue<std::string>::Create(std::move(tracing));
  if (!queue.ok()) return queue.status();
  options.reconcile = (*queue)->Traced(Deploy);
  options.queue = *std::move(queue);

  return Controller::Create(std::move(options));
}

workqueue::InspectHandlerOptions OptionsWithAuthorizer() {
  workqueue::InspectHandlerOptions options;
  options.authorizer = [](const workqueue::InspectRequest& request) {
    const auto user = request.headers.find("x-forwarded-user");
    if (user != request.headers.end() && user->second == "operator") {
      return absl::OkStatus();
    }
    return absl::PermissionDeniedError("only operators may change items");
  };
  return options;
}

void Serve(workqueue::InspectHandler& handler) {
  EXPECT_THAT(handler.Handle({}).body, testing::HasSubstr("deployments"));
}

TEST(InspectGuideTest, AControllerIsShown) {
  auto controller = NewController(std::make_shared<workqueue::ItemHistory>());
  ASSERT_TRUE(controller.ok());
  EXPECT_EQ(RunWithPage(**controller), absl::OkStatus());
}

TEST(InspectGuideTest, AHistoryIsShown) {
  auto history = std::make_shared<workqueue::ItemHistory>();
  auto controller = NewController(history);
  ASSERT_TRUE(controller.ok());
  ASSERT_EQ((*controller)->Start(), absl::OkStatus());
  (*controller)->queue().Add("web");
  (*controller)->AwaitIdle();
  workqueue::InspectOptions<std::string> options;
  options.history = history;
  const auto inspectable =
      workqueue::InspectController(controller->get(), options);
  // The retries go on meanwhile, on the real clock.
  const workqueue::Inspection web = *inspectable->InspectKey("web");
  ASSERT_GE(web.events.size(), 4u);
  EXPECT_EQ(web.events.back().what, "add");
}

TEST(InspectGuideTest, AnAuthorizerDecides) {
  const auto options = OptionsWithAuthorizer();
  EXPECT_FALSE(options.authorizer({}).ok());
  EXPECT_TRUE(
      options.authorizer({"POST", {}, {{"x-forwarded-user", "operator"}}})
          .ok());
}
