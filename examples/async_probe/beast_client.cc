// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/async_probe/beast_client.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "boost/asio/dispatch.hpp"
#include "boost/asio/io_context.hpp"
#include "boost/asio/ip/address_v4.hpp"
#include "boost/asio/ip/tcp.hpp"
#include "boost/asio/post.hpp"
#include "boost/asio/strand.hpp"
#include "boost/beast/core/error.hpp"
#include "boost/beast/core/flat_buffer.hpp"
#include "boost/beast/core/tcp_stream.hpp"
#include "boost/beast/http/empty_body.hpp"
#include "boost/beast/http/message.hpp"
#include "boost/beast/http/read.hpp"
#include "boost/beast/http/string_body.hpp"
#include "boost/beast/http/verb.hpp"
#include "boost/beast/http/write.hpp"
#include "examples/async_probe/http_client.h"

namespace async_probe {
namespace {

namespace asio = ::boost::asio;
namespace beast = ::boost::beast;
namespace http = ::boost::beast::http;

}  // namespace

// The strand of `stream` runs one function at a time, on any thread of the
// loop. Only these functions use the connection and its request.
struct BeastClient::Connection {
  explicit Connection(asio::io_context& loop)
      : stream(asio::make_strand(loop)) {}

  beast::tcp_stream stream;
  beast::flat_buffer buffer;
  bool is_open = false;
};

class BeastClient::IdleConnections {
 public:
  IdleConnections(asio::io_context* loop, uint16_t port)
      : loop_(*loop), server_(asio::ip::address_v4::loopback(), port) {}

  // Returns an idle connection, or a new one, which is not open yet.
  std::unique_ptr<Connection> Take() {
    {
      std::lock_guard<std::mutex> lock(mu_);
      if (!connections_.empty()) {
        std::unique_ptr<Connection> connection = std::move(connections_.back());
        connections_.pop_back();
        return connection;
      }
    }
    return std::make_unique<Connection>(loop_);
  }

  void GiveBack(std::unique_ptr<Connection> connection) {
    std::lock_guard<std::mutex> lock(mu_);
    connections_.push_back(std::move(connection));
  }

  const asio::ip::tcp::endpoint& server() const { return server_; }

 private:
  asio::io_context& loop_;
  const asio::ip::tcp::endpoint server_;
  std::mutex mu_;
  std::vector<std::unique_ptr<Connection>> connections_;  // guarded by mu_
};

class BeastClient::Request final
    : public std::enable_shared_from_this<Request> {
 public:
  Request(std::shared_ptr<IdleConnections> idle, const std::string& target,
          HttpCallback done)
      : idle_(std::move(idle)),
        connection_(idle_->Take()),
        strand_(connection_->stream.get_executor()),
        request_(http::verb::get, target, 11),
        done_(std::move(done)) {
    request_.set(http::field::host, "127.0.0.1");
  }

  void Start() {
    asio::dispatch(strand_, [self = shared_from_this()] { self->Connect(); });
  }

  void Cancel() {
    asio::post(strand_, [self = shared_from_this()] {
      // The operation in progress then fails, and so would the next one.
      self->cancelled_ = true;
      if (self->connection_ != nullptr) self->connection_->stream.close();
    });
  }

 private:
  void Connect() {
    was_idle_ = connection_->is_open;
    if (was_idle_) return Write();
    connection_->stream.async_connect(
        idle_->server(), [self = shared_from_this()](beast::error_code error) {
          if (error) return self->Fail("connecting", error);
          self->connection_->is_open = true;
          self->Write();
        });
  }

  void Write() {
    http::async_write(
        connection_->stream, request_,
        [self = shared_from_this()](beast::error_code error, size_t) {
          if (error) return self->Fail("sending", error);
          self->Read();
        });
  }

  void Read() {
    http::async_read(
        connection_->stream, connection_->buffer, response_,
        [self = shared_from_this()](beast::error_code error, size_t) {
          if (error) return self->Fail("receiving", error);
          self->End();
        });
  }

  void Fail(absl::string_view what, beast::error_code error) {
    // The server may close an idle connection at any time, which says nothing
    // about the server. To get twice does no harm, so try a new connection.
    if (was_idle_ && !cancelled_) return Reconnect();
    connection_ = nullptr;
    std::move(done_)(
        absl::UnavailableError(absl::StrCat(what, ": ", error.message())));
  }

  // The strand stays the same.
  void Reconnect() {
    connection_->stream.close();
    connection_->is_open = false;
    connection_->buffer.clear();
    response_ = {};
    Connect();
  }

  void End() {
    if (response_.keep_alive()) {
      idle_->GiveBack(std::move(connection_));
    } else {
      connection_ = nullptr;
    }
    std::move(done_)(response_.result_int());
  }

  const std::shared_ptr<IdleConnections> idle_;
  std::unique_ptr<Connection> connection_;  // null when the request has ended
  beast::tcp_stream::executor_type strand_;
  bool was_idle_ = false;  // whether this is not the connection's first request
  bool cancelled_ = false;
  http::request<http::empty_body> request_;
  http::response<http::string_body> response_;
  HttpCallback done_;
};

BeastClient::BeastClient(asio::io_context* loop, uint16_t port)
    : idle_(std::make_shared<IdleConnections>(loop, port)) {}

std::function<void()> BeastClient::Get(const std::string& target,
                                       HttpCallback done) {
  const auto request =
      std::make_shared<Request>(idle_, target, std::move(done));
  request->Start();
  return [request] { request->Cancel(); };
}

}  // namespace async_probe
