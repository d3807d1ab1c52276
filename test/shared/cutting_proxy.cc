// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/shared/cutting_proxy.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "workqueue/testing/thread.h"

namespace workqueue {
namespace {

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  return address;
}

int NewSocket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

// Reads what there is. Returns an empty string at the end.
std::string Read(int fd) {
  char buffer[65536];
  const ssize_t size = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
  return size > 0 ? std::string(buffer, size) : "";
}

// Writes all of `text`, unless that would block: nobody may hold up the others.
bool Write(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t size =
        send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size <= 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

}  // namespace

CuttingProxy::CuttingProxy(Options options)
    : options_(std::move(options)), random_(options_.seed) {
  listener_ = NewSocket();
  const sockaddr_un address = AddressOf(options_.socket);
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&address),
           sizeof(address)) != 0 ||
      listen(listener_, 100) != 0) {
    perror(options_.socket.c_str());
    exit(1);
  }
  thread_ = Thread([this] { Run(); });
}

CuttingProxy::~CuttingProxy() {
  stopping_ = true;
  thread_.join();
  for (const auto& pair : pairs_) {
    close(pair->client);
    close(pair->server);
  }
  close(listener_);
}

void CuttingProxy::Run() {
  while (!stopping_) {
    const absl::Time now = absl::Now();
    absl::Time next = now + absl::Milliseconds(20);
    std::vector<pollfd> polled = {{listener_, POLLIN, 0}};
    for (const auto& pair : pairs_) {
      const bool stalled = now < pair->stalled_until;
      if (stalled) next = std::min(next, pair->stalled_until);
      polled.push_back({stalled ? -1 : pair->client, POLLIN, 0});
      polled.push_back({stalled ? -1 : pair->server, POLLIN, 0});
    }
    poll(polled.data(), polled.size(),
         static_cast<int>(absl::ToInt64Milliseconds(next - now)) + 1);
    const bool cut_all = cut_all_.exchange(false);
    std::vector<std::unique_ptr<Pair>> kept;
    for (size_t i = 0; i < pairs_.size(); ++i) {
      Pair* const pair = pairs_[i].get();
      bool keep = !cut_all;
      if (cut_all) ++cuts_;
      if (keep && polled[1 + 2 * i].revents != 0) keep = FromClient(pair);
      if (keep && polled[2 + 2 * i].revents != 0) keep = FromServer(pair);
      if (keep) {
        kept.push_back(std::move(pairs_[i]));
      } else {
        close(pair->client);
        close(pair->server);
      }
    }
    pairs_ = std::move(kept);
    if (polled[0].revents != 0) Accept();
  }
}

void CuttingProxy::Accept() {
  auto pair = std::make_unique<Pair>();
  pair->client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (pair->client < 0) return;
  pair->server = NewSocket();
  const sockaddr_un address = AddressOf(options_.server);
  if (connect(pair->server, reinterpret_cast<const sockaddr*>(&address),
              sizeof(address)) != 0) {
    close(pair->client);
    close(pair->server);
    return;
  }
  pairs_.push_back(std::move(pair));
}

bool CuttingProxy::FromClient(Pair* pair) {
  std::string text = Read(pair->client);
  if (text.empty()) return false;
  if (OneOf()) {
    ++cuts_;
    return false;
  }
  if (OneOf()) pair->drops_reply = true;
  if (OneOf()) Stall(pair);
  if (!options_.from.empty()) text = Replace(pair, std::move(text));
  return Write(pair->server, text);
}

bool CuttingProxy::FromServer(Pair* pair) {
  const std::string text = Read(pair->server);
  if (text.empty()) return false;
  if (pair->drops_reply || OneOf()) {
    ++dropped_;
    return false;
  }
  if (OneOf()) Stall(pair);
  return Write(pair->client, text);
}

void CuttingProxy::Stall(Pair* pair) {
  ++stalls_;
  pair->stalled_until =
      absl::Now() + options_.longest_stall * (random_() % 1000) / 1000;
}

std::string CuttingProxy::Replace(Pair* pair, std::string text) {
  text = pair->kept + text;
  const std::string& from = options_.from;
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;) {
    text.replace(at, from.size(), options_.to);
    at += from.size();
    ++replacements_;
  }
  size_t keep = std::min(text.size(), from.size() - 1);
  while (keep > 0 && !absl::EndsWith(text, from.substr(0, keep))) --keep;
  pair->kept = text.substr(text.size() - keep);
  text.resize(text.size() - keep);
  return text;
}

}  // namespace workqueue
