// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/lease_elector.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_LEASE_ELECTOR_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_LEASE_ELECTOR_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "examples/kubernetes/client.h"
#include "examples/kubernetes/json.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/log_sink.h"

namespace kubernetes {

// The defaults are those of client-go's users.
struct LeaseElectorOptions {
  std::string ns = "default";  // of the Lease
  std::string name;            // of the Lease
  std::string identity;        // of this process; no other one has it
  // How long a lease lasts that is not renewed. At least a second, in whole
  // seconds.
  absl::Duration lease_duration = absl::Seconds(15);
  // How long a leader goes on that cannot renew its lease. Less than
  // `lease_duration`.
  absl::Duration renew_deadline = absl::Seconds(10);
  // The time between two tries. Positive, and less than `renew_deadline`.
  absl::Duration retry_period = absl::Seconds(2);
  workqueue::Clock* clock = nullptr;  // null means the real clock
  // Receives the error of each try that fails otherwise than the one before.
  // Must outlive the elector. Null means no messages.
  workqueue::LogSink* log_sink = nullptr;
};

// LeaseElector
//
// Chooses one of several processes, by a Lease of coordination.k8s.io. It does
// what client-go's leaderelection does: a process takes a lease that nobody has
// renewed for `lease_duration`, measured on its own clock since it has last
// seen the lease change. So the machines' clocks need not agree.
//
// Thread-safe.
class LeaseElector {
 public:
  // Returns an `absl::InvalidArgumentError` that names the option if an option
  // is not as described there. `client` must outlive the elector.
  static absl::StatusOr<std::unique_ptr<LeaseElector>> Create(
      Client* client, LeaseElectorOptions options);

  LeaseElector(const LeaseElector&) = delete;
  LeaseElector& operator=(const LeaseElector&) = delete;

  // Waits until this process is the leader, and calls `on_started_leading`,
  // which must not block, because the lease is not renewed meanwhile. Renews
  // the lease until `Stop()`, and then gives it back and returns OK. If
  // the lease is lost, returns `absl::DeadlineExceededError`, which has the
  // last error, or `absl::AbortedError` if another process has it. The process
  // must end at once then. Returns an `absl::InvalidArgumentError` if there can
  // be no such lease, for example because the name is no valid one. Called
  // once.
  absl::Status Run(const std::function<void()>& on_started_leading);

  // Makes `Run()` return, when a request in progress has ended. Does not block.
  void Stop();

 private:
  LeaseElector(Client* client, LeaseElectorOptions options);

  // Takes or renews the lease. Returns an error if that is not possible now,
  // and logs it if it is a new one.
  absl::Status Try();

  // Does the same without a message. The error is AlreadyExists or Aborted if
  // another process has the lease, or was faster.
  absl::Status TryAcquireOrRenew();

  // Gives the lease back. An error does not matter: the lease will expire.
  void Release();

  // Writes the lease with this holder.
  absl::Status Write(const std::string& holder, absl::Duration duration,
                     bool acquire);

  // Remembers the lease, as the server has it.
  void Observe(const Json& lease);

  // Returns the holder of the observed lease. Empty if there is none.
  absl::string_view Holder() const;
  bool Leads() const;

  absl::Duration RequestTimeout() const;

  // Blocks until it is time for the next try, or to give up. Returns false if
  // `Stop()` was called.
  bool Sleep();

  Client* const client_;
  const LeaseElectorOptions options_;
  workqueue::Clock* const clock_;

  // The lease as it was last seen, null before, and the time when it changed.
  Json observed_;
  absl::Time observed_at_ = absl::InfinitePast();

  // The time when a leader gives up, unless it renews its lease before.
  absl::Time deadline_ = absl::InfiniteFuture();

  absl::Status last_try_;

  std::atomic<bool> stopping_{false};
  const std::unique_ptr<workqueue::Parker> parker_;
};

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_LEASE_ELECTOR_H_
