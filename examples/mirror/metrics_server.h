// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/metrics_server.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_METRICS_SERVER_H_
#define WORKQUEUE_EXAMPLES_MIRROR_METRICS_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "prometheus/exposer.h"
#include "prometheus/registry.h"
#include "workqueue/inspect/civetweb_inspect_page.h"
#include "workqueue/inspect/inspect_handler.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/prometheus/prometheus_metrics_provider.h"

namespace mirror {

// MetricsServer
//
// This class serves the metrics of a controller and its queue to Prometheus,
// and a page that shows the queue to people, over HTTP.
//
// Thread-safe. Must outlive the controller.
class MetricsServer {
 public:
  // Starts to serve `/metrics` and `/workqueue` at `port` of 127.0.0.1, to this
  // machine only. Sends a request for `/` to the page. If `port` is 0, uses any
  // free port. An error names the flag
  // --metrics-port.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(int port);

  // Return the URLs of the metrics and of the page.
  std::string MetricsUrl() const { return Url("/metrics"); }
  std::string PageUrl() const;

  // Returns the provider; never null. Owned by the server.
  workqueue::PrometheusMetricsProvider* provider() { return provider_.get(); }

  // Returns the registry that the page shows; never null. Owned by the server.
  workqueue::InspectionRegistry* inspection() { return inspection_.get(); }

 private:
  MetricsServer() = default;

  std::string Url(absl::string_view path) const;

  const std::shared_ptr<prometheus::Registry> registry_ =
      std::make_shared<prometheus::Registry>();
  std::unique_ptr<workqueue::PrometheusMetricsProvider> provider_;
  std::unique_ptr<workqueue::InspectionRegistry> inspection_;
  std::unique_ptr<workqueue::InspectHandler> handler_;
  std::unique_ptr<prometheus::Exposer> exposer_;
  std::unique_ptr<workqueue::CivetwebInspectPage> page_;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_METRICS_SERVER_H_
