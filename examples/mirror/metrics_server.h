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
#include "prometheus/exposer.h"
#include "prometheus/registry.h"
#include "workqueue/prometheus/prometheus_metrics_provider.h"

namespace mirror {

// MetricsServer
//
// Serves the metrics of a controller and of its queue to Prometheus, over HTTP.
//
// Thread-safe. Must outlive the controller.
class MetricsServer {
 public:
  // Starts to serve `/metrics` at `port` of all of the machine's addresses, as
  // exporters do, or at any port that is free if that is 0. An error names the
  // option --metrics-port.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(int port);

  // Where that is, on this machine.
  std::string Url() const;

  // Not null.
  workqueue::PrometheusMetricsProvider* provider() { return provider_.get(); }

 private:
  MetricsServer() = default;

  const std::shared_ptr<prometheus::Registry> registry_ =
      std::make_shared<prometheus::Registry>();
  std::unique_ptr<workqueue::PrometheusMetricsProvider> provider_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_METRICS_SERVER_H_
