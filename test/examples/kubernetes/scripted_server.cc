// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/examples/kubernetes/scripted_server.h"

#include <sys/socket.h>

#include <memory>
#include <mutex>  // NOLINT(build/c++11)
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "boost/asio/buffer.hpp"
#include "boost/asio/io_context.hpp"
#include "boost/asio/ip/address_v4.hpp"
#include "boost/asio/ip/tcp.hpp"
#include "boost/asio/write.hpp"
#include "boost/beast/core/error.hpp"
#include "boost/beast/core/flat_buffer.hpp"
#include "boost/beast/http/message.hpp"
#include "boost/beast/http/parser.hpp"
#include "boost/beast/http/read.hpp"
#include "boost/beast/http/string_body.hpp"

namespace kubernetes {
namespace {

namespace asio = ::boost::asio;
namespace http = ::boost::beast::http;
using boost::beast::error_code;

class SocketResponder final : public Responder {
 public:
  explicit SocketResponder(asio::ip::tcp::socket* socket) : socket_(*socket) {}

  void Respond(int http_status, absl::string_view body,
               absl::string_view headers) override {
    Raw(absl::StrCat("HTTP/1.1 ", http_status, " \r\n", headers,
                     "Content-Length: ", body.size(), "\r\n\r\n", body));
  }

  void BeginStream() override {
    Raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  }
  void Chunk(absl::string_view data) override {
    Raw(absl::StrCat(absl::Hex(data.size()), "\r\n", data, "\r\n"));
  }
  void EndStream() override { Raw("0\r\n\r\n"); }

  // The client may have closed the connection, which is no error.
  void Raw(absl::string_view bytes) override {
    error_code ignored;
    asio::write(socket_, asio::buffer(bytes.data(), bytes.size()), ignored);
  }

  void Cut() override { shutdown(socket_.native_handle(), SHUT_RDWR); }

  void AwaitHangUp() override {
    char byte;
    error_code error;
    while (!error) socket_.read_some(asio::buffer(&byte, 1), error);
  }

 private:
  asio::ip::tcp::socket& socket_;
};

}  // namespace

struct ScriptedServer::State {
  explicit State(Handler h) : handler(std::move(h)) {}

  void Accept() {
    for (;;) {
      auto socket = std::make_unique<asio::ip::tcp::socket>(io);
      error_code error;
      acceptor.accept(*socket, error);
      const std::lock_guard<std::mutex> lock(mu);
      if (error || stopping) return;
      socket->set_option(asio::ip::tcp::no_delay(true));
      const int number = static_cast<int>(sockets.size());
      sockets.push_back(std::move(socket));
      threads.emplace_back(
          [this, number, s = sockets.back().get()] { Serve(number, *s); });
    }
  }

  void Serve(int number, asio::ip::tcp::socket& socket) {
    SocketResponder responder(&socket);
    boost::beast::flat_buffer buffer;
    for (;;) {
      http::request_parser<http::string_body> parser;
      parser.body_limit(16 << 20);
      error_code error;
      http::read(socket, buffer, parser, error);
      if (error) return;
      const auto& message = parser.get();
      ReceivedRequest request;
      request.method = std::string(message.method_string());
      request.target = std::string(message.target());
      request.body = message.body();
      request.connection = number;
      for (const auto& field : message) {
        request
            .headers[absl::AsciiStrToLower(std::string(field.name_string()))] =
            std::string(field.value());
      }
      {
        const std::lock_guard<std::mutex> lock(mu);
        requests.push_back(request);
      }
      handler(request, responder);
    }
  }

  const Handler handler;
  asio::io_context io;
  asio::ip::tcp::acceptor acceptor{
      io, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::mutex mu;
  bool stopping = false;                  // guarded by mu
  std::vector<ReceivedRequest> requests;  // guarded by mu
  // Both are guarded by mu. A socket stays open until the server ends.
  std::vector<std::unique_ptr<asio::ip::tcp::socket>> sockets;
  std::vector<std::thread> threads;
  std::thread accepting;
};

ScriptedServer::ScriptedServer(Handler handler)
    : state_(std::make_unique<State>(std::move(handler))) {
  state_->accepting = std::thread([this] { state_->Accept(); });
}

ScriptedServer::~ScriptedServer() {
  {
    const std::lock_guard<std::mutex> lock(state_->mu);
    state_->stopping = true;
  }
  shutdown(state_->acceptor.native_handle(), SHUT_RDWR);
  state_->accepting.join();
  for (const auto& socket : state_->sockets) {
    shutdown(socket->native_handle(), SHUT_RDWR);
  }
  for (std::thread& thread : state_->threads) thread.join();
}

std::string ScriptedServer::url() const {
  return absl::StrCat("http://127.0.0.1:",
                      state_->acceptor.local_endpoint().port());
}

std::vector<ReceivedRequest> ScriptedServer::requests() const {
  const std::lock_guard<std::mutex> lock(state_->mu);
  return state_->requests;
}

}  // namespace kubernetes
