// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Sends several requests on one connection, as browsers and proxies do.

#include "workqueue/inspect/civetweb_inspect_page.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "civetweb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workqueue/inspect/inspect_handler.h"
#include "workqueue/inspect/inspection_registry.h"

namespace workqueue {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class CivetwebInspectPageTest : public testing::Test {
 protected:
  CivetwebInspectPageTest() : handler_(registry_.get()) {
    mg_init_library(0);
    const char* options[] = {
        "listening_ports",   "127.0.0.1:0", "num_threads", "2",
        "enable_keep_alive", "yes",         nullptr};
    server_ = mg_start(nullptr, nullptr, options);
    page_ =
        std::make_unique<CivetwebInspectPage>(server_, "/workqueue", &handler_);
  }

  ~CivetwebInspectPageTest() override {
    page_ = nullptr;
    mg_stop(server_);
    mg_exit_library();
  }

  // Returns a request for the page. `rest` is more headers, an empty line, and
  // the body.
  static std::string Request(absl::string_view method,
                             absl::string_view rest = "\r\n") {
    return absl::StrCat(method,
                        " /workqueue?format=json HTTP/1.1\r\n"
                        "Host: localhost\r\n",
                        rest);
  }

  // Sends `all` on one connection, and then nothing more. Returns what the
  // server sends.
  std::string Send(absl::string_view all) {
    mg_server_port port = {};
    EXPECT_EQ(mg_get_server_ports(server_, 1, &port), 1);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port.port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<const struct sockaddr*>(&address),
                      sizeof(address)),
              0);
    size_t sent = 0;
    while (sent < all.size()) {
      const ssize_t n = send(fd, &all[sent], all.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) break;
      sent += static_cast<size_t>(n);
    }
    EXPECT_EQ(sent, all.size());
    EXPECT_EQ(shutdown(fd, SHUT_WR), 0);
    std::string received;
    char buffer[4096];
    ssize_t n;
    while ((n = read(fd, buffer, sizeof(buffer))) > 0) {
      received.append(buffer, static_cast<size_t>(n));
    }
    close(fd);
    return received;
  }

  // Sends `requests`, and after them a GET that ends the connection.
  std::string Exchange(absl::string_view requests) {
    return Send(
        absl::StrCat(requests, Request("GET", "Connection: close\r\n\r\n")));
  }

  // Removes the first response from `*received`, and returns its status. Puts
  // its body into `*body`. A response to a HEAD has none.
  static int TakeResponse(std::string* received, std::string* body,
                          bool is_head = false) {
    const size_t end = received->find("\r\n\r\n");
    EXPECT_TRUE(absl::StartsWith(*received, "HTTP/1.1 ")) << *received;
    if (end == std::string::npos) return 0;
    const std::string head = received->substr(0, end);
    constexpr absl::string_view kLength = "Content-Length: ";
    const size_t begin = head.find(std::string(kLength));
    size_t length = 0;
    EXPECT_TRUE(absl::SimpleAtoi(
        head.substr(begin + kLength.size(),
                    head.find("\r\n", begin) - begin - kLength.size()),
        &length));
    EXPECT_GT(length, 0u);
    if (is_head) length = 0;
    *body = received->substr(end + 4, length);
    received->erase(0, end + 4 + length);
    int status = 0;
    EXPECT_TRUE(absl::SimpleAtoi(head.substr(9, 3), &status));
    return status;
  }

  // Expects that `*received` is the response to the last GET of `Exchange()`.
  static void ExpectLast(std::string* received) {
    std::string body;
    EXPECT_EQ(TakeResponse(received, &body), 200);
    EXPECT_THAT(body, HasSubstr("\"objects\":[]"));
    EXPECT_THAT(*received, IsEmpty());
  }

  const std::unique_ptr<InspectionRegistry> registry_ =
      *InspectionRegistry::Create();
  InspectHandler handler_;
  mg_context* server_ = nullptr;
  std::unique_ptr<CivetwebInspectPage> page_;
};

TEST_F(CivetwebInspectPageTest, AHeadLeavesTheConnectionInStep) {
  std::string received =
      Exchange(absl::StrCat(Request("GET"), Request("HEAD"), Request("HEAD")));
  std::string body;
  EXPECT_EQ(TakeResponse(&received, &body), 200);
  EXPECT_EQ(TakeResponse(&received, &body, /*is_head=*/true), 200);
  EXPECT_EQ(TakeResponse(&received, &body, /*is_head=*/true), 200);
  ExpectLast(&received);
}

TEST_F(CivetwebInspectPageTest, ARefusedHostLeavesTheConnectionInStep) {
  constexpr char kRequest[] =
      " /workqueue HTTP/1.1\r\nHost: evil.example\r\n\r\n";
  std::string received =
      Exchange(absl::StrCat("GET", kRequest, "HEAD", kRequest));
  std::string body;
  EXPECT_EQ(TakeResponse(&received, &body), 403);
  EXPECT_EQ(TakeResponse(&received, &body, /*is_head=*/true), 403);
  ExpectLast(&received);
}

// The body looks like a request, so that a server that does not skip it answers
// it.
TEST_F(CivetwebInspectPageTest, ABodyOfAnyMethodLeavesTheConnectionInStep) {
  for (const absl::string_view method :
       {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
    const int status = method == "GET" || method == "HEAD" ? 200
                       : method == "POST"                  ? 403
                                                           : 405;
    for (const size_t repeats : {size_t{1}, size_t{2000}}) {
      std::string body;
      for (size_t i = 0; i < repeats; ++i) body += Request("GET");
      const std::string sized =
          absl::StrCat("Content-Length: ", body.size(), "\r\n\r\n", body);
      const std::string chunked =
          absl::StrCat("Transfer-Encoding: chunked\r\n\r\n",
                       absl::Hex(body.size()), "\r\n", body, "\r\n0\r\n\r\n");
      for (const std::string& rest : {sized, chunked}) {
        std::string received = Exchange(Request(method, rest));
        std::string answer;
        if (method == "POST" && repeats > 1) {
          EXPECT_THAT(received, HasSubstr("HTTP/1.1 413 "));
          received.erase(0, received.find("\r\n\r\n") + 4);
        } else {
          EXPECT_EQ(TakeResponse(&received, &answer, method == "HEAD"), status)
              << method;
        }
        ExpectLast(&received);
      }
    }
  }
}

// A part of a key is another key. A handler that got it would answer 403.
TEST_F(CivetwebInspectPageTest, ABodyThatBreaksOffIsRefused) {
  for (const absl::string_view rest :
       {"Content-Length: 100\r\n\r\naction=forget&item=ke",
        "Content-Length: 100\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n20\r\naction=forget&item=ke",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nite\r\n"}) {
    EXPECT_THAT(Send(Request("POST", rest)), StartsWith("HTTP/1.1 400 "))
        << rest;
  }
}

}  // namespace
}  // namespace workqueue
