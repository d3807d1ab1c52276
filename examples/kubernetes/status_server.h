// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/status_server.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_STATUS_SERVER_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_STATUS_SERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kubernetes {

// StatusServer
//
// An HTTP server for the probes and the metrics of a program. It has one
// thread, which answers `GET` requests.
class StatusServer {
 public:
  struct Page {
    int http_status = 200;
    std::string body;
    std::string content_type = "text/plain; charset=utf-8";
  };

  // By path, for example "/healthz". A function must not block, because all
  // requests wait for it.
  using Pages = std::map<std::string, std::function<Page()>>;

  // Starts a server on `address`, "HOST:PORT", where HOST is an IP address or
  // empty for all addresses of the machine. An IPv6 address is in brackets.
  // Port 0 is a free port.
  static absl::StatusOr<std::unique_ptr<StatusServer>> Start(
      absl::string_view address, Pages pages);

  virtual ~StatusServer() = default;

  // The port on which the server listens.
  virtual int port() const = 0;
};

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_STATUS_SERVER_H_
