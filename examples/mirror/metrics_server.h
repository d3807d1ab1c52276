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
// This class serves the metrics of a controller and its queue to Prometheus,
// over HTTP.
//
// Thread-safe. Must outlive the controller.
class MetricsServer {
 public:
  // Starts to serve `/metrics` at `port` of 127.0.0.1, to this machine only. If
  // `port` is 0, uses any free port. An error names the flag --metrics-port.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(int port);

  // Returns the URL of the metrics.
  std::string Url() const;

  // Returns the provider; never null. Owned by the server.
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
