// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/redis/host_lookup.h"

#include <netdb.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/const_init.h"
#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/process_id.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/redis/wake_fd.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {
namespace {

// The lookups in progress. A child of `fork()` does not have its parent's
// threads, and so none of these.
using InProgress =
    std::map<std::pair<int, std::string>, std::shared_ptr<HostLookup>>;

sync::Mutex mu(absl::kConstInit);

InProgress& AllInProgress() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
  static auto* const lookups = new InProgress;
  return *lookups;
}

absl::StatusOr<HostLookup::Addresses> GetAddresses(const std::string& host,
                                                   int flags) {
  addrinfo hints = {};
  hints.ai_flags = flags;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &first);
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat(
        "cannot resolve ", host, ": ",
        error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(first,
                                                               &freeaddrinfo);
  HostLookup::Addresses addresses;
  for (const addrinfo* it = first; it != nullptr; it = it->ai_next) {
    if (it->ai_family != AF_INET && it->ai_family != AF_INET6) continue;
    SocketAddress address;
    memcpy(&address.storage, it->ai_addr, it->ai_addrlen);
    address.size = it->ai_addrlen;
    addresses.push_back(address);
  }
  return addresses;
}

void SetPort(int port, HostLookup::Addresses* addresses) {
  const in_port_t number = htons(static_cast<in_port_t>(port));
  for (SocketAddress& it : *addresses) {
    if (it.storage.ss_family == AF_INET) {
      reinterpret_cast<sockaddr_in*>(&it.storage)->sin_port = number;
    } else {
      reinterpret_cast<sockaddr_in6*>(&it.storage)->sin6_port = number;
    }
  }
}

}  // namespace

absl::StatusOr<HostLookup::Addresses> HostLookup::Find(
    const std::string& host, int port,
    absl::FunctionRef<absl::Status(int fd)> await) {
  absl::StatusOr<Addresses> found = GetAddresses(host, AI_NUMERICHOST);
  if (!found.ok() || found->empty()) {
    const auto begun = Begin(host);
    if (!begun.ok()) return begun.status();
    HostLookup& lookup = **begun;
    absl::Status status = await(lookup.done_.fd());
    if (!status.ok()) return status;
    MutexLock lock(&lookup.mu_);
    found = lookup.found_;
  }
  if (found.ok()) SetPort(port, &*found);
  return found;
}

absl::StatusOr<std::shared_ptr<HostLookup>> HostLookup::Begin(
    const std::string& host) {
  MutexLock lock(&mu);
  const auto it = AllInProgress().try_emplace({ProcessId(), host}).first;
  if (it->second != nullptr) return it->second;
  const auto lookup = std::make_shared<HostLookup>();
  // Without memory, too, the lookup ends, so that there can be another one.
  const auto start = [&lookup, it] {
    sync::Thread([lookup, it] {
      lookup->Run(it->first.second);
      MutexLock lock(&mu);
      AllInProgress().erase(it);
      lookup->done_.Set();
    }).detach();
  };
  if (lookup->done_.ok() && TryCall(start)) return it->second = lookup;
  AllInProgress().erase(it);
  // It does not mean that a server is full.
  return absl::UnavailableError(absl::StrCat(
      "no thread or no file descriptor is left to resolve ", host));
}

void HostLookup::Run(const std::string& host) {
  NameThisThread("", "resolve");
  absl::StatusOr<Addresses> found =
      CatchAsStatus([&host] { return GetAddresses(host, 0); });
  MutexLock lock(&mu_);
  found_ = std::move(found);
}

}  // namespace workqueue::internal
