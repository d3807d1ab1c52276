// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/status_server.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "boost/asio/buffer.hpp"
#include "boost/asio/io_context.hpp"
#include "boost/asio/ip/address_v4.hpp"
#include "boost/asio/ip/tcp.hpp"
#include "boost/system/error_code.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/kubernetes/exchange.h"

namespace kubernetes::status_server_test {
namespace {

namespace asio = ::boost::asio;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kLoopback[] = "127.0.0.1:0";

std::unique_ptr<StatusServer> Start(StatusServer::Pages pages) {
  auto server = StatusServer::Start(kLoopback, std::move(pages));
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

StatusServer::Page Ok() { return {200, "fine\n"}; }

TEST(StatusServerTest, AnswersWithThePage) {
  const auto server =
      Start({{"/ok", Ok}, {"/other", [] {
                             return StatusServer::Page{200, "{}", "text/x"};
                           }}});
  EXPECT_THAT(
      Request(server->port(), "GET", "/ok"),
      AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
            HasSubstr("\r\nContent-Type: text/plain; charset=utf-8\r\n"),
            HasSubstr("\r\nContent-Length: 5\r\n"),
            EndsWith("\r\n\r\nfine\n")));
  EXPECT_THAT(
      Request(server->port(), "GET", "/other"),
      AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
            HasSubstr("\r\nContent-Type: text/x\r\n"), EndsWith("\r\n\r\n{}")));
}

TEST(StatusServerTest, CallsThePageForEachRequest) {
  int calls = 0;
  const auto server =
      Start({{"/", [&calls] {
                ++calls;
                return StatusServer::Page{calls == 1 ? 503 : 200,
                                          absl::StrCat("call ", calls)};
              }}});
  EXPECT_THAT(Request(server->port(), "GET", "/"),
              AllOf(StartsWith("HTTP/1.1 503 Service Unavailable\r\n"),
                    EndsWith("\r\n\r\ncall 1")));
  EXPECT_THAT(
      Request(server->port(), "GET", "/"),
      AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("\r\n\r\ncall 2")));
}

TEST(StatusServerTest, OtherPathsAreNotFound) {
  const auto server = Start({{"/ok", Ok}});
  for (const char* path : {"/", "/ok/", "/okay", "/OK", "ok"}) {
    EXPECT_THAT(Request(server->port(), "GET", path),
                AllOf(StartsWith("HTTP/1.1 404 Not Found\r\n"),
                      EndsWith("\r\n\r\nnot found\n")))
        << path;
  }
}

TEST(StatusServerTest, AQueryIsNotPartOfThePath) {
  const auto server = Start({{"/ok", Ok}});
  EXPECT_THAT(Request(server->port(), "GET", "/ok?verbose"),
              StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(Request(server->port(), "GET", "/?/ok"),
              StartsWith("HTTP/1.1 404 Not Found\r\n"));
}

TEST(StatusServerTest, OtherMethodsAreNotAllowed) {
  const auto server = Start({{"/ok", Ok}});
  for (const char* method : {"POST", "PUT", "DELETE"}) {
    EXPECT_THAT(Request(server->port(), method, "/ok"),
                AllOf(StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"),
                      EndsWith("\r\n\r\nonly GET\n")))
        << method;
  }
}

TEST(StatusServerTest, TheResponseToHeadHasNoBody) {
  const auto server = Start({{"/ok", Ok}});
  EXPECT_THAT(Request(server->port(), "HEAD", "/ok"),
              AllOf(StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"),
                    EndsWith("\r\n\r\n")));
}

TEST(StatusServerTest, AConnectionMayHaveManyRequests) {
  const auto server = Start({{"/ok", Ok}});
  const std::string answers = Exchange(server->port(),
                                       "GET /ok HTTP/1.1\r\n\r\n"
                                       "POST /ok HTTP/1.1\r\n"
                                       "Content-Length: 2\r\n\r\nab"
                                       "GET /ok HTTP/1.0\r\n\r\n");
  EXPECT_THAT(answers, AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                             HasSubstr("\r\n\r\nfine\nHTTP/1.1 405 "),
                             HasSubstr("\r\n\r\nonly GET\nHTTP/1.0 200 OK\r\n"),
                             EndsWith("\r\n\r\nfine\n")));
}

TEST(StatusServerTest, NonsenseDoesNotEndTheServer) {
  const auto server = Start({{"/ok", Ok}});
  EXPECT_THAT(Exchange(server->port(), "nonsense\r\n\r\n"), IsEmpty());
  EXPECT_THAT(Request(server->port(), "GET", "/ok"),
              StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST(StatusServerTest, TheEndDoesNotWaitForClients) {
  auto server = Start({{"/ok", Ok}});
  asio::io_context io;
  asio::ip::tcp::socket socket(io);
  socket.connect({asio::ip::address_v4::loopback(),
                  static_cast<uint16_t>(server->port())});
  server = nullptr;
  char byte;
  boost::system::error_code error;
  EXPECT_EQ(socket.read_some(asio::buffer(&byte, 1), error), 0);
  EXPECT_TRUE(error);
}

TEST(StatusServerTest, PortZeroIsAFreePort) {
  const auto a = Start({});
  const auto b = Start({});
  EXPECT_GT(a->port(), 0);
  EXPECT_GT(b->port(), 0);
  EXPECT_NE(a->port(), b->port());
}

TEST(StatusServerTest, AWrongAddressIsAnError) {
  const auto error = [](absl::string_view address) {
    return StatusServer::Start(address, {}).status();
  };
  for (const char* address :
       {"", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:http",
        "127.0.0.1:65536", "127.0.0.1:-1"}) {
    EXPECT_EQ(error(address),
              absl::InvalidArgumentError(absl::StrCat(
                  "the address '", address, "': it must be HOST:PORT")));
  }
  for (const char* address : {"localhost:0", "[127.0.0.1:0", "[]x:0"}) {
    EXPECT_EQ(error(address),
              absl::InvalidArgumentError(absl::StrCat(
                  "the address '", address, "': HOST must be an IP address")));
  }
}

// An error of the system is fine: it has read the address.
TEST(StatusServerTest, AnAddressMayBeOfIpv6) {
  const auto server = StatusServer::Start("[::1]:0", {});
  if (server.ok()) return;
  EXPECT_THAT(std::string(server.status().message()),
              HasSubstr("cannot listen there"));
}

TEST(StatusServerTest, AnEmptyHostIsEachAddress) {
  const auto server = StatusServer::Start(":0", {{"/ok", Ok}});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT(Request((*server)->port(), "GET", "/ok"),
              StartsWith("HTTP/1.1 200 OK\r\n"));
}

// Makes the calls of this thread that create sockets of IPv6 fail, as they do
// if the kernel has no IPv6. Returns whether that worked.
bool DisableIpv6() {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
               offsetof(struct seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const struct sock_fprog filter = {std::size(code), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(StatusServerTest, AnEmptyHostNeedsNoIpv6) {
  std::thread thread([] {
    ASSERT_TRUE(DisableIpv6());
    const auto server = StatusServer::Start(":0", {{"/ok", Ok}});
    ASSERT_TRUE(server.ok()) << server.status();
    EXPECT_THAT(Request((*server)->port(), "GET", "/ok"),
                StartsWith("HTTP/1.1 200 OK\r\n"));
  });
  thread.join();
}

TEST(StatusServerTest, AnAddressInUseIsAnError) {
  const auto server = Start({});
  const std::string address = absl::StrCat("127.0.0.1:", server->port());
  const absl::Status error = StatusServer::Start(address, {}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(error)) << error;
  EXPECT_THAT(std::string(error.message()),
              StartsWith(absl::StrCat("the address '", address,
                                      "': cannot listen there: ")));
}

}  // namespace
}  // namespace kubernetes::status_server_test
