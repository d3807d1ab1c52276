// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/metrics_server.h"

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "CivetServer.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "civetweb.h"
#include "examples/command_line.h"
#include "prometheus/exposer.h"
#include "workqueue/inspect/civetweb_inspect_page.h"
#include "workqueue/inspect/inspect_handler.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/prometheus/prometheus_metrics_provider.h"

namespace mirror {
namespace {

constexpr char kPagePath[] = "/workqueue";

// Sends somebody who names the port alone to the page. Called by CivetWeb.
int SendToPage(struct mg_connection* connection, void*) {
  constexpr int kFound = 302;
  mg_send_http_redirect(connection, kPagePath, kFound);
  return kFound;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(int port) {
  auto server = absl::WrapUnique(new MetricsServer);

  auto provider =
      workqueue::PrometheusMetricsProvider::Create(server->registry_);
  if (!provider.ok()) return provider.status();
  server->provider_ = *std::move(provider);

  auto inspection = workqueue::InspectionRegistry::Create();
  if (!inspection.ok()) return inspection.status();
  server->inspection_ = *std::move(inspection);
  server->handler_ =
      std::make_unique<workqueue::InspectHandler>(server->inspection_.get());

  // The exposer does not tell its server. The server tells it while it starts,
  // on this thread.
  static thread_local struct mg_context* context;
  CivetCallbacks callbacks;
  callbacks.init_context = [](const struct mg_context* started) {
    context = const_cast<struct mg_context*>(started);
  };
  try {
    server->exposer_ = std::make_unique<prometheus::Exposer>(
        absl::StrCat("127.0.0.1:", port), /*num_threads=*/2, &callbacks);
    server->exposer_->RegisterCollectable(server->registry_);
  } catch (const std::exception&) {  // Its message does not name the reason.
    return examples::BadOption("--metrics-port", absl::StrCat(port),
                               "cannot listen there; is the port taken?");
  }
  server->page_ = std::make_unique<workqueue::CivetwebInspectPage>(
      context, kPagePath, server->handler_.get());
  mg_set_request_handler(context, "/$", SendToPage, nullptr);  // "/" alone
  return server;
}

std::string MetricsServer::PageUrl() const { return Url(kPagePath); }

std::string MetricsServer::Url(absl::string_view path) const {
  return absl::StrCat(
      "http://127.0.0.1:", exposer_->GetListeningPorts().front(), path);
}

}  // namespace mirror
