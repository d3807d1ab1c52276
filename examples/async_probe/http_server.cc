// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/async_probe/http_server.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "boost/asio/ip/address_v4.hpp"
#include "boost/asio/ip/tcp.hpp"
#include "boost/asio/post.hpp"
#include "boost/asio/socket_base.hpp"
#include "boost/asio/steady_timer.hpp"
#include "boost/beast/core/error.hpp"
#include "boost/beast/core/flat_buffer.hpp"
#include "boost/beast/core/tcp_stream.hpp"
#include "boost/beast/http/empty_body.hpp"
#include "boost/beast/http/message.hpp"
#include "boost/beast/http/read.hpp"
#include "boost/beast/http/string_body.hpp"
#include "boost/beast/http/write.hpp"

namespace async_probe {
namespace {

namespace asio = ::boost::asio;
namespace beast = ::boost::beast;
namespace http = ::boost::beast::http;

using ::boost::asio::ip::tcp;

constexpr absl::Duration kAcceptRetry = absl::Milliseconds(100);

}  // namespace

// A connection. It lives until the client closes it.
class HttpServer::Session final : public std::enable_shared_from_this<Session> {
 public:
  Session(const HttpServerOptions& options, tcp::socket socket)
      : options_(options),
        stream_(std::move(socket)),
        timer_(stream_.get_executor()) {}

  void Read() {
    request_ = {};
    http::async_read(
        stream_, buffer_, request_,
        [self = shared_from_this()](beast::error_code error, size_t) {
          if (!error) self->Answer();
        });
  }

 private:
  void Answer() {
    const std::optional<int> status =
        options_.answer(std::string(request_.target()));
    if (!status.has_value()) return Read();
    response_ = http::response<http::string_body>(
        static_cast<http::status>(*status), request_.version());
    response_.keep_alive(request_.keep_alive());
    response_.prepare_payload();
    timer_.expires_after(absl::ToChronoNanoseconds(options_.latency));
    timer_.async_wait([self = shared_from_this()](beast::error_code error) {
      if (!error) self->Write();
    });
  }

  void Write() {
    http::async_write(
        stream_, response_,
        [self = shared_from_this()](beast::error_code error, size_t) {
          if (!error && self->response_.keep_alive()) self->Read();
        });
  }

  const HttpServerOptions& options_;
  beast::tcp_stream stream_;
  asio::steady_timer timer_;
  beast::flat_buffer buffer_;
  http::request<http::empty_body> request_;
  http::response<http::string_body> response_;
};

struct HttpServer::Listener final : std::enable_shared_from_this<Listener> {
  Listener(const HttpServerOptions& the_options, EventLoop& loop)
      : options(the_options), acceptor(*loop.get()), retry(*loop.get()) {}

  void Accept() {
    acceptor.async_accept([self = shared_from_this()](beast::error_code error,
                                                      tcp::socket socket) {
      if (error) {  // for example, there are too many open files
        self->retry.expires_after(absl::ToChronoNanoseconds(kAcceptRetry));
        return self->retry.async_wait(
            [self](beast::error_code) { self->Accept(); });
      }
      std::make_shared<Session>(self->options, std::move(socket))->Read();
      self->Accept();
    });
  }

  const HttpServerOptions& options;
  tcp::acceptor acceptor;
  asio::steady_timer retry;
};

HttpServer::HttpServer(HttpServerOptions options)
    : options_(std::move(options)) {}

HttpServer::~HttpServer() = default;

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    HttpServerOptions options) {
  auto server = absl::WrapUnique(new HttpServer(std::move(options)));
  const auto listener =
      std::make_shared<Listener>(server->options_, server->loop_);
  tcp::acceptor& acceptor = listener->acceptor;
  const tcp::endpoint any_port(asio::ip::address_v4::loopback(), 0);
  beast::error_code error;
  acceptor.open(any_port.protocol(), error);
  if (!error) acceptor.bind(any_port, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("starting an HTTP server: ", error.message()));
  }
  server->port_ = acceptor.local_endpoint().port();
  asio::post(*server->loop_.get(), [listener] { listener->Accept(); });
  return server;
}

}  // namespace async_probe
