// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/async_probe/http_server.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_ASYNC_PROBE_HTTP_SERVER_H_
#define WORKQUEUE_EXAMPLES_ASYNC_PROBE_HTTP_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "examples/async_probe/event_loop.h"

namespace async_probe {

struct HttpServerOptions {
  // The time from the end of a request to its answer.
  absl::Duration latency;

  // Returns the status code of the answer to a request for `target`, or nothing
  // if the server never answers. Called on the thread of the server.
  std::function<std::optional<int>(const std::string& target)> answer;
};

// HttpServer
//
// An HTTP server on the loopback interface, made of Boost.Asio and Boost.Beast.
// One thread serves all connections.
class HttpServer {
 public:
  // Starts a server on a free port.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      HttpServerOptions options);

  // Closes all connections.
  ~HttpServer();

  uint16_t port() const { return port_; }

 private:
  class Session;
  struct Listener;

  explicit HttpServer(HttpServerOptions options);

  const HttpServerOptions options_;
  uint16_t port_ = 0;
  EventLoop loop_{1};
};

}  // namespace async_probe

#endif  // WORKQUEUE_EXAMPLES_ASYNC_PROBE_HTTP_SERVER_H_
