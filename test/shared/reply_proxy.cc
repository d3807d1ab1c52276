// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/shared/reply_proxy.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/testing/thread.h"

namespace workqueue {
namespace {

using internal::MutexLock;

thread_local bool runs_this_thread = false;

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

std::string NewPath(const std::string& server) {
  static std::atomic<int> proxies{0};
  return absl::StrCat(server, ".", ++proxies);
}

}  // namespace

ReplyProxy::ReplyProxy(const std::string& server)
    : path_(NewPath(server)),
      listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      server_(server) {
  const sockaddr_un address = AddressOf(path_);
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&address),
           sizeof(address)) != 0 ||
      listen(listener_, 100) != 0) {
    perror("the socket of a proxy");
    abort();
  }
  acceptor_ = Thread([this] { Accept(); });
}

ReplyProxy::~ReplyProxy() {
  stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  {
    MutexLock lock(&mu_);
    for (int each : sockets_) shutdown(each, SHUT_RDWR);
  }
  acceptor_.join();
  for (Thread& relay : relays_) relay.join();
  for (int each : sockets_) close(each);
  close(listener_);
  unlink(path_.c_str());
}

bool ReplyProxy::RunsThisThread() { return runs_this_thread; }

void ReplyProxy::LeadTo(const std::string& server) {
  MutexLock lock(&mu_);
  server_ = server;
}

void ReplyProxy::SetHook(Hook hook) {
  MutexLock lock(&mu_);
  hook_ = std::move(hook);
}

void ReplyProxy::Accept() {
  runs_this_thread = true;
  while (true) {
    const int client = accept(listener_, nullptr, nullptr);
    if (client < 0) return;
    const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MutexLock lock(&mu_);
    sockets_.push_back(client);
    sockets_.push_back(server);
    const sockaddr_un address = AddressOf(server_);
    if (stopping_ ||
        connect(server, reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) != 0) {
      shutdown(client, SHUT_RDWR);
      continue;
    }
    const int i = accepted_++;
    relays_.emplace_back([=] { Relay(client, server, i, false); });
    relays_.emplace_back([=] { Relay(server, client, i, true); });
  }
}

void ReplyProxy::Relay(int from, int to, int connection, bool replies) {
  runs_this_thread = true;
  while (true) {
    pollfd ready = {from, POLLIN, 0};
    if (poll(&ready, 1, 10) == 0) continue;
    // What it holds back fills the network.
    if (!replies && connection < held_ && !stopping_) {
      Clock::GetRealClock()->Sleep(absl::Milliseconds(1));
      continue;
    }
    char buffer[65536];
    const ssize_t size = recv(from, buffer, sizeof(buffer), 0);
    if (size <= 0) break;
    std::string bytes(buffer, static_cast<size_t>(size));
    if (replies) {
      MutexLock lock(&mu_);
      if (hook_ != nullptr) hook_(&bytes);
    }
    Write(to, bytes, replies);
  }
  shutdown(from, SHUT_RDWR);
  // A server still replies to a client that is gone.
  shutdown(to, replies ? SHUT_RDWR : SHUT_WR);
}

void ReplyProxy::Write(int to, absl::string_view bytes, bool slowly) const {
  while (!bytes.empty()) {
    const bool drips = slowly && drips_ && !stopping_;
    const ssize_t sent =
        send(to, bytes.data(), drips ? 1 : bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(sent));
    if (drips) Clock::GetRealClock()->Sleep(absl::Milliseconds(20));
  }
}

}  // namespace workqueue
