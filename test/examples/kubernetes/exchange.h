// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_EXAMPLES_KUBERNETES_EXCHANGE_H_
#define WORKQUEUE_TEST_EXAMPLES_KUBERNETES_EXCHANGE_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "boost/asio/buffer.hpp"
#include "boost/asio/io_context.hpp"
#include "boost/asio/ip/address_v4.hpp"
#include "boost/asio/ip/tcp.hpp"
#include "boost/asio/read.hpp"
#include "boost/asio/write.hpp"
#include "boost/system/error_code.hpp"
#include "gtest/gtest.h"

namespace kubernetes {

// Sends `text` to a server on the loopback interface. Returns the bytes that
// come until the server closes the connection.
inline std::string Exchange(int port, absl::string_view text) {
  namespace asio = ::boost::asio;
  asio::io_context io;
  asio::ip::tcp::socket socket(io);
  socket.connect(
      {asio::ip::address_v4::loopback(), static_cast<uint16_t>(port)});
  asio::write(socket, asio::buffer(text.data(), text.size()));
  std::string answer;
  boost::system::error_code end;
  asio::read(socket, asio::dynamic_buffer(answer), end);
  EXPECT_EQ(end, asio::error::eof);
  return answer;
}

// Returns the response to a request without a body, as bytes.
inline std::string Request(int port, absl::string_view method,
                           absl::string_view target) {
  return Exchange(port, absl::StrCat(method, " ", target,
                                     " HTTP/1.1\r\nConnection: close\r\n\r\n"));
}

}  // namespace kubernetes

#endif  // WORKQUEUE_TEST_EXAMPLES_KUBERNETES_EXCHANGE_H_
