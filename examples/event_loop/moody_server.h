// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/event_loop/moody_server.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_EVENT_LOOP_MOODY_SERVER_H_
#define WORKQUEUE_EXAMPLES_EVENT_LOOP_MOODY_SERVER_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "examples/event_loop/epoll_loop.h"

namespace event_loop {

// MoodyServer
//
// An HTTP server on the loopback interface, for this example. It answers every
// third request with an error. It knows as much of HTTP as the example needs.
//
// Not thread-safe: the loop's thread makes all calls.
class MoodyServer {
 public:
  // `loop` is not owned, and must outlive the server.
  explicit MoodyServer(EpollLoop* loop) : loop_(*loop) {
    socket_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<struct sockaddr*>(&address);
    ok_ = socket_ >= 0 && bind(socket_, generic, size) == 0 &&
          listen(socket_, SOMAXCONN) == 0 &&
          getsockname(socket_, generic, &size) == 0;
    if (!ok_) return;
    port_ = ntohs(address.sin_port);
    loop_.Watch(socket_, EPOLLIN, [this](uint32_t) { Accept(); });
  }

  ~MoodyServer() {
    while (!requests_.empty()) Close(requests_.begin()->first);
    if (socket_ < 0) return;
    loop_.Unwatch(socket_);
    close(socket_);
  }

  MoodyServer(const MoodyServer&) = delete;
  MoodyServer& operator=(const MoodyServer&) = delete;

  // Returns whether the server could be started.
  bool ok() const { return ok_; }

  std::string url() const { return absl::StrCat("http://127.0.0.1:", port_); }

  // Returns the number of requests that have been answered.
  int num_requests() const { return num_requests_; }

 private:
  void Accept() {
    const int fd =
        accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    requests_[fd];
    loop_.Watch(fd, EPOLLIN, [this, fd](uint32_t) { Read(fd); });
  }

  void Read(int fd) {
    char bytes[1024];
    const ssize_t n = read(fd, bytes, sizeof(bytes));
    if (n <= 0) return Close(fd);
    std::string& request = requests_[fd];
    request.append(bytes, static_cast<size_t>(n));
    if (!absl::EndsWith(request, "\r\n\r\n")) return;
    const absl::string_view answer =
        ++num_requests_ % 3 == 0
            ? "HTTP/1.1 503 Not Now\r\nContent-Length: 0\r\n\r\n"
            : "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    request.clear();
    // So few bytes fit into the buffer of a socket that is empty.
    if (send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) Close(fd);
  }

  void Close(int fd) {
    loop_.Unwatch(fd);
    close(fd);
    requests_.erase(fd);
  }

  EpollLoop& loop_;
  bool ok_ = false;
  int socket_ = -1;
  int port_ = 0;
  int num_requests_ = 0;
  std::map<int, std::string> requests_;  // what has been read, by descriptor
};

}  // namespace event_loop

#endif  // WORKQUEUE_EXAMPLES_EVENT_LOOP_MOODY_SERVER_H_
