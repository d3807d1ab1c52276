// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/async_probe/beast_client.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_ASYNC_PROBE_BEAST_CLIENT_H_
#define WORKQUEUE_EXAMPLES_ASYNC_PROBE_BEAST_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "boost/asio/io_context.hpp"
#include "examples/async_probe/http_client.h"

namespace async_probe {

// BeastClient
//
// A client of one server on this machine, made of Boost.Asio and Boost.Beast.
// It runs on an event loop. A request takes a connection that is idle, or opens
// a new one. So there are as many connections as there were requests at once.
// If an idle connection fails, the client sends the request again on a new one.
//
// Thread-safe. Requests may outlive the client.
class BeastClient final : public HttpClient {
 public:
  // `loop` is not owned. It must outlive the client and its requests.
  BeastClient(boost::asio::io_context* loop, uint16_t port);

  std::function<void()> Get(const std::string& target,
                            HttpCallback done) override;

 private:
  struct Connection;
  class IdleConnections;
  class Request;

  const std::shared_ptr<IdleConnections> idle_;
};

}  // namespace async_probe

#endif  // WORKQUEUE_EXAMPLES_ASYNC_PROBE_BEAST_CLIENT_H_
