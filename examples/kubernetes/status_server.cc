// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/status_server.h"

#include <algorithm>
#include <chrono>  // NOLINT(build/c++11)
#include <cstdint>
#include <memory>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "boost/asio/io_context.hpp"
#include "boost/asio/ip/address.hpp"
#include "boost/asio/ip/tcp.hpp"
#include "boost/asio/steady_timer.hpp"
#include "boost/beast/core.hpp"
#include "boost/beast/http.hpp"
#include "boost/system/error_code.hpp"

namespace kubernetes {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

// The time that a client may take for a request.
constexpr std::chrono::seconds kClientTimeout(10);
constexpr std::chrono::milliseconds kAcceptRetry(100);

// A connection. It lives as long as one of its callbacks may be called.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, const StatusServer::Pages& pages)
      : stream_(std::move(socket)), pages_(pages) {}

  void Read() {
    request_ = {};
    stream_.expires_after(kClientTimeout);
    http::async_read(stream_, buffer_, request_,
                     [self = shared_from_this()](error_code error, size_t) {
                       if (!error) self->Write();
                     });
  }

 private:
  void Write() {
    StatusServer::Page page = {404, "not found\n"};
    const auto target = request_.target();
    const auto path_end = std::find(target.begin(), target.end(), '?');
    const auto it = pages_.find(std::string(target.begin(), path_end));
    if (request_.method() == http::verb::head) {
      page = {405, ""};  // The response to this one has no body.
    } else if (request_.method() != http::verb::get) {
      page = {405, "only GET\n"};
    } else if (it != pages_.end()) {
      page = it->second();
    }
    response_ = {};
    response_.version(request_.version());
    response_.keep_alive(request_.keep_alive());
    response_.result(static_cast<unsigned>(page.http_status));
    response_.set(http::field::content_type, page.content_type);
    response_.body() = std::move(page.body);
    response_.prepare_payload();
    http::async_write(stream_, response_,
                      [self = shared_from_this()](error_code error, size_t) {
                        if (!error && self->response_.keep_alive()) {
                          self->Read();
                        }
                      });
  }

  beast::tcp_stream stream_;
  const StatusServer::Pages& pages_;
  beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
  http::response<http::string_body> response_;
};

class BeastServer final : public StatusServer {
 public:
  BeastServer(const tcp::endpoint& endpoint, Pages pages)
      : pages_(std::move(pages)), acceptor_(context_, endpoint) {
    Accept();
    thread_ = std::thread([this] { context_.run(); });
  }

  ~BeastServer() override {
    context_.stop();
    thread_.join();
  }

  int port() const override { return acceptor_.local_endpoint().port(); }

 private:
  void Accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error) {  // for example, there are too many open files
        retry_.expires_after(kAcceptRetry);
        return retry_.async_wait([this](error_code) { Accept(); });
      }
      std::make_shared<Connection>(std::move(socket), pages_)->Read();
      Accept();
    });
  }

  const Pages pages_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer retry_{context_};
  std::thread thread_;
};

// Returns the address that stands for all addresses of the machine. That of
// IPv6 includes those of IPv4, but the system may have no IPv6.
asio::ip::address AnyAddress() {
  asio::io_context context;
  tcp::socket probe(context);
  error_code no_ipv6;
  probe.open(tcp::v6(), no_ipv6);
  if (!no_ipv6) probe.bind({tcp::v6(), 0}, no_ipv6);
  if (no_ipv6) return asio::ip::address_v4::any();
  return asio::ip::address_v6::any();
}

}  // namespace

absl::StatusOr<std::unique_ptr<StatusServer>> StatusServer::Start(
    absl::string_view address, Pages pages) {
  const auto error = [address](absl::string_view reason) {
    return absl::InvalidArgumentError(
        absl::StrCat("the address '", address, "': ", reason));
  };
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  if (colon == address.npos ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port) || port > 65535) {
    return error("it must be HOST:PORT");
  }
  std::string host(address.substr(0, colon));
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
    host = host.substr(1, host.size() - 2);
  }
  error_code bad_host;
  const auto ip =
      host.empty() ? AnyAddress() : asio::ip::make_address(host, bad_host);
  if (bad_host) return error("HOST must be an IP address");
  try {
    return std::make_unique<BeastServer>(
        tcp::endpoint(ip, static_cast<uint16_t>(port)), std::move(pages));
  } catch (const std::exception& e) {
    return error(absl::StrCat("cannot listen there: ", e.what()));
  }
}

}  // namespace kubernetes
