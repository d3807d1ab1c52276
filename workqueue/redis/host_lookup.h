// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_REDIS_HOST_LOOKUP_H_
#define WORKQUEUE_REDIS_HOST_LOOKUP_H_

#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "workqueue/redis/wake_fd.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// The address of a socket.
struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

// HostLookup
//
// Finds the addresses of a host by its name, on a thread of its own: nothing
// bounds how long the system takes for that. All that look for the same host at
// the same time share one lookup. So a name server that does not answer holds
// up one thread for each name.
//
// Thread-safe.
class HostLookup {
 public:
  using Addresses = std::vector<SocketAddress>;

  // Returns the addresses of a host. Unless it is written as a number, calls
  // `await`, which blocks until `fd` is readable, or returns an error.
  static absl::StatusOr<Addresses> Find(
      const std::string& host, int port,
      absl::FunctionRef<absl::Status(int fd)> await);

  HostLookup() = default;

  HostLookup(const HostLookup&) = delete;
  HostLookup& operator=(const HostLookup&) = delete;

 private:
  // Begins a lookup, or joins the one that is in progress.
  static absl::StatusOr<std::shared_ptr<HostLookup>> Begin(
      const std::string& host);
  void Run(const std::string& host);

  sync::Mutex mu_;
  absl::StatusOr<Addresses> found_ ABSL_GUARDED_BY(mu_);
  WakeFd done_;  // is set when the lookup has ended
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_REDIS_HOST_LOOKUP_H_
