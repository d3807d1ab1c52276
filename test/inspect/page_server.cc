// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Serves the page of a stuck controller to a browser: one item hangs, one
// fails, one tenant floods the queue, one is at its bound, and some keys
// contain markup and control characters. Prints the URL, and ends when the
// standard input ends.

#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "civetweb.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/inspect/civetweb_inspect_page.h"
#include "workqueue/inspect/history_tracer.h"
#include "workqueue/inspect/inspect_controller.h"
#include "workqueue/inspect/inspect_handler.h"
#include "workqueue/inspect/inspect_queue.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/inspect/item_history.h"
#include "workqueue/interfaces.h"
#include "workqueue/priority_queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/tracing/tracing_queue.h"

namespace workqueue {
namespace {

using Key = std::string;

constexpr int kFlood = 2000;

// The bound of a tenant.
constexpr size_t kMaxInProcess = 2;

// Markup, quotes, a new line, a control character, and a byte that is no UTF-8.
constexpr char kEvil[] =
    "\"'><script>window.pwned = 1</script><img src=x onerror='pwned = 1'>\n"
    "\x01\xff&amp;";

// Returns the value of `made`, or ends the program.
template <typename T>
T OrDie(absl::StatusOr<T> made) {
  if (made.ok()) return *std::move(made);
  std::cerr << made.status() << "\n";
  std::exit(1);
}

absl::Status Reconcile(const Key& key, const ReconcileContext& context) {
  if (absl::StrContains(key, "/hangs")) context.stop.WaitForNotification();
  if (key == "shop/fails") return absl::NotFoundError("no pod <shop/fails>");
  if (key == kEvil) return absl::InternalError(kEvil);
  // The flood stays for as long as the test takes.
  if (absl::StartsWith(key, "flood/")) {
    context.stop.WaitForNotificationWithTimeout(absl::Seconds(1));
  }
  return absl::OkStatus();
}

std::unique_ptr<TracingQueue<Key>> MakeQueue(
    std::shared_ptr<ItemHistory> history) {
  PriorityQueueOptions<Key> options;
  options.rate_limiter = OrDie(ItemExponentialFailureRateLimiter<Key>::Create(
      absl::Milliseconds(50), absl::Hours(1)));
  FairOrderingOptions<Key> fair;
  fair.dimensions.emplace_back();
  fair.dimensions[0].group_of = [](const Key& key) {
    return key.substr(0, key.find('/'));
  };
  fair.dimensions[0].max_in_process = kMaxInProcess;
  options.ordering = OrDie(FairOrdering<Key>::Create(std::move(fair)));
  TracingQueueOptions<Key> tracing;
  tracing.queue = std::make_unique<PriorityQueue<Key>>(std::move(options));
  tracing.tracers = {std::make_shared<HistoryTracer<Key>>(std::move(history))};
  return OrDie(TracingQueue<Key>::Create(std::move(tracing)));
}

std::unique_ptr<Controller<Key>> MakeController(
    std::shared_ptr<ItemHistory> history) {
  auto queue = MakeQueue(std::move(history));
  ControllerOptions<Key> options;
  options.name = "orders";
  options.workers = 4;
  options.failures.max_failures = 1000;
  options.reconcile = queue->Traced(Reconcile);
  options.queue = std::move(queue);
  return OrDie(Controller<Key>::Create(std::move(options)));
}

void AddItems(RateLimitingInterface<Key>& queue) {
  queue.Add("shop/hangs");
  for (const char* key : {"bank/hangs-1", "bank/hangs-2", "bank/next"}) {
    queue.Add(key);
  }
  // The flood does not delay the retries of these.
  AddOptions first;
  first.priority = 10;
  queue.AddWithOptions(first, {"shop/fails", kEvil});
  for (int i = 0; i < kFlood; ++i) queue.Add(absl::StrCat("flood/", i));
  for (int i = 0; i < 40; ++i) queue.Add(absl::StrCat("shop/", i));
  queue.AddAfter("shop/later", absl::Hours(1));
  queue.AddAfter("shop/much-later", absl::Hours(2));
}

int Main() {
  auto registry = OrDie(InspectionRegistry::Create());
  const auto history = std::make_shared<ItemHistory>();
  const auto controller = MakeController(history);
  const absl::Status started = controller->Start();
  if (!started.ok()) return 1;
  AddItems(controller->queue());
  InspectOptions<Key> inspect_options;
  inspect_options.history = history;
  const auto orders = OrDie(registry->Add(
      "orders", InspectController(controller.get(), inspect_options)));

  RateLimitingQueue<Key> idle;
  const auto other = OrDie(registry->Add("<b>idle</b>", InspectQueue(&idle)));

  InspectHandlerOptions handler_options;
  handler_options.authorizer = [](const InspectRequest&) {
    return absl::OkStatus();
  };
  InspectHandler handler(registry.get(), std::move(handler_options));

  const char* server_options[] = {"listening_ports", "127.0.0.1:0",
                                  "num_threads", "4", nullptr};
  mg_init_library(0);
  mg_context* const server = mg_start(nullptr, nullptr, server_options);
  if (server == nullptr) return 1;
  mg_server_port port = {};
  mg_get_server_ports(server, 1, &port);
  {
    const CivetwebInspectPage page(server, "/workqueue", &handler);
    std::cout << "http://127.0.0.1:" << port.port << "/workqueue" << std::endl;
    std::string line;
    while (std::getline(std::cin, line)) controller->queue().Add(line);
  }
  mg_stop(server);
  mg_exit_library();
  controller->Stop(absl::ZeroDuration());
  return 0;
}

}  // namespace
}  // namespace workqueue

int main() { return workqueue::Main(); }
