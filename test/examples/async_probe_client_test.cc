// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests the client and the server of the example, with each other.

#include <dlfcn.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "boost/asio/buffer.hpp"
#include "boost/asio/io_context.hpp"
#include "boost/asio/ip/address_v4.hpp"
#include "boost/asio/ip/tcp.hpp"
#include "boost/asio/read_until.hpp"
#include "boost/asio/write.hpp"
#include "examples/async_probe/beast_client.h"
#include "examples/async_probe/event_loop.h"
#include "examples/async_probe/http_client.h"
#include "examples/async_probe/http_server.h"
#include "gtest/gtest.h"

namespace {

// The next so many connections cannot be accepted.
std::atomic<int> failing_accepts{0};
// When that happened. Only the server's thread uses it until there are no more.
std::vector<absl::Time> failed_at;

}  // namespace

extern "C" int accept(int fd, sockaddr* address, socklen_t* size) {
  if (failing_accepts > 0) {
    failed_at.push_back(absl::Now());
    --failing_accepts;
    errno = EMFILE;
    return -1;
  }
  static const auto next =
      reinterpret_cast<decltype(&accept)>(dlsym(RTLD_NEXT, "accept"));
  return next(fd, address, size);
}

namespace async_probe::async_probe_client_test {
namespace {

namespace asio = ::boost::asio;
using ::boost::asio::ip::tcp;

// The answer to a request, which the test awaits.
class Answer {
 public:
  HttpCallback Callback() {
    return [this](absl::StatusOr<int> http_status) {
      http_status_ = std::move(http_status);
      received_.Notify();
    };
  }

  const absl::StatusOr<int>& Await() const {
    received_.WaitForNotification();
    return http_status_;
  }

 private:
  absl::StatusOr<int> http_status_;
  absl::Notification received_;
};

class ClientTest : public testing::Test {
 protected:
  ~ClientTest() override { loop_.Stop(); }

  static std::unique_ptr<HttpServer> StartServer() {
    HttpServerOptions options;
    options.latency = absl::Milliseconds(1);
    options.answer = [](const std::string& target) -> std::optional<int> {
      if (target == "/never") return std::nullopt;
      return target == "/bad" ? 503 : 200;
    };
    auto server = HttpServer::Start(std::move(options));
    EXPECT_TRUE(server.ok()) << server.status();
    return *std::move(server);
  }

  absl::StatusOr<int> Get(const std::string& target) {
    Answer answer;
    client_.Get(target, answer.Callback());
    return answer.Await();
  }

  std::unique_ptr<HttpServer> server_ = StartServer();
  EventLoop loop_{2};
  BeastClient client_{loop_.get(), server_->port()};
};

TEST_F(ClientTest, ReceivesTheStatusCode) {
  // All requests but the first one take the same connection.
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(*Get("/good"), 200);
    EXPECT_EQ(*Get("/bad"), 503);
  }
}

TEST_F(ClientTest, ManyRequestsAtTheSameTime) {
  constexpr int kRequests = 200;
  absl::BlockingCounter unanswered(kRequests);
  for (int i = 0; i < kRequests; ++i) {
    client_.Get("/good", [&unanswered](absl::StatusOr<int> http_status) {
      EXPECT_EQ(*http_status, 200);
      unanswered.DecrementCount();
    });
  }
  unanswered.Wait();
}

TEST_F(ClientTest, ACancelledRequestFails) {
  Answer answer;
  const std::function<void()> cancel = client_.Get("/never", answer.Callback());
  EXPECT_EQ(*Get("/good"), 200);
  cancel();
  EXPECT_TRUE(absl::IsUnavailable(answer.Await().status()))
      << answer.Await().status();
  cancel();
  EXPECT_EQ(*Get("/good"), 200);
}

TEST_F(ClientTest, ACancelledRequestOnAnOldConnectionIsNotSentAgain) {
  EXPECT_EQ(*Get("/good"), 200);
  Answer answer;
  const std::function<void()> cancel = client_.Get("/never", answer.Callback());
  EXPECT_EQ(*Get("/good"), 200);
  cancel();
  EXPECT_TRUE(absl::IsUnavailable(answer.Await().status()))
      << answer.Await().status();
}

TEST_F(ClientTest, CancellingAnAnsweredRequestDoesNotCancelTheNextOne) {
  Answer first;
  const std::function<void()> cancel = client_.Get("/good", first.Callback());
  EXPECT_EQ(*first.Await(), 200);
  Answer second;
  client_.Get("/good", second.Callback());
  cancel();
  EXPECT_EQ(*second.Await(), 200);
}

TEST_F(ClientTest, WithoutAServerARequestFails) {
  EXPECT_EQ(*Get("/good"), 200);
  server_.reset();
  EXPECT_TRUE(absl::IsUnavailable(Get("/good").status()));
  EXPECT_TRUE(absl::IsUnavailable(Get("/good").status()));
}

TEST_F(ClientTest, ARequestMayBeInFlightAtTheEnd) {
  // The callback is destroyed without a call.
  client_.Get("/never", [](absl::StatusOr<int>) {});
}

// A server that closes each connection after the first answer, and does not say
// so before.
class ClosingServer {
 public:
  ~ClosingServer() {
    stop_ = true;
    tcp::socket(context_).connect(acceptor_.local_endpoint());
    thread_.join();
  }

  uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  void Run() {
    while (true) {
      tcp::socket socket = acceptor_.accept();
      if (stop_) return;
      std::string request;
      asio::read_until(socket, asio::dynamic_buffer(request), "\r\n\r\n");
      asio::write(socket, asio::buffer(std::string(
                              "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")));
    }
  }

  asio::io_context context_;
  tcp::acceptor acceptor_{context_, {asio::ip::address_v4::loopback(), 0}};
  std::atomic<bool> stop_{false};
  std::thread thread_{[this] { Run(); }};
};

TEST(ClosingServerTest, ARequestDoesNotFailBecauseItsConnectionIsOld) {
  ClosingServer server;
  EventLoop loop(1);
  BeastClient client(loop.get(), server.port());
  for (int i = 0; i < 3; ++i) {
    Answer answer;
    client.Get("/good", answer.Callback());
    EXPECT_EQ(answer.Await().value_or(0), 200) << answer.Await().status();
  }
  loop.Stop();
}

TEST_F(ClientTest, TheServerWaitsAfterItCouldNotAccept) {
  failing_accepts = 3;
  EXPECT_EQ(*Get("/good"), 200);
  ASSERT_EQ(failed_at.size(), 3u);
  EXPECT_GE(failed_at[1] - failed_at[0], absl::Milliseconds(50));
  EXPECT_GE(failed_at[2] - failed_at[1], absl::Milliseconds(50));
}

TEST(AsioExecutorTest, RunsATaskOnTheLoop) {
  EventLoop loop(1);
  AsioExecutor executor(loop.get());
  absl::Notification ran;
  executor.Execute([&ran] { ran.Notify(); });
  ran.WaitForNotification();
}

}  // namespace
}  // namespace async_probe::async_probe_client_test
