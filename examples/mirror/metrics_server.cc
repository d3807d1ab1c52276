// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/metrics_server.h"

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "examples/command_line.h"
#include "prometheus/exposer.h"
#include "workqueue/prometheus/prometheus_metrics_provider.h"

namespace mirror {

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(int port) {
  auto server = absl::WrapUnique(new MetricsServer);

  auto provider =
      workqueue::PrometheusMetricsProvider::Create(server->registry_);
  if (!provider.ok()) return provider.status();
  server->provider_ = *std::move(provider);

  try {
    server->exposer_ =
        std::make_unique<prometheus::Exposer>(absl::StrCat("127.0.0.1:", port));
    server->exposer_->RegisterCollectable(server->registry_);
  } catch (const std::exception&) {  // Its message does not name the reason.
    return examples::BadOption("--metrics-port", absl::StrCat(port),
                               "cannot listen there; is the port taken?");
  }
  return server;
}

std::string MetricsServer::Url() const {
  return absl::StrCat(
      "http://127.0.0.1:", exposer_->GetListeningPorts().front(), "/metrics");
}

}  // namespace mirror
