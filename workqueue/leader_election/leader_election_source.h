// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_LEADER_ELECTION_LEADER_ELECTION_SOURCE_H_
#define WORKQUEUE_LEADER_ELECTION_LEADER_ELECTION_SOURCE_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/controller/source.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

// MakeLeaderElectionSource()
//
// Returns a source that lets a controller reconcile only while this process is
// the leader of `elector`. It is what `NeedLeaderElection` and `EnableWarmup`
// are in controller-runtime:
//
//   * A controller that does not lead stands by. Its sources run and fill the
//     queue. It is healthy, and its `Start()` does not wait for the leadership.
//   * When the process becomes the leader, the controller reconciles what is
//     queued. `ReconcileContext::token` is the fencing token of the term, if
//     the queue's leases have none.
//   * When the leadership is lost, the controller begins no reconciliation any
//     more, and `ReconcileContext::Lost()` is true for those in progress: they
//     must not write. The elector logs the loss. controller-runtime ends the
//     process then. Here the controller stands by again, and reconciles in the
//     next term. If the elector does not take part again, because
//     `LeaderElectorOptions::run_again` is false, the controller is not
//     healthy.
//   * While the elector is not healthy, the controller is not either: it does
//     not know whether another process leads.
//
// `Source::term` has the details.
//
// Does not start the elector: several controllers may share one. The elector
// must outlive the controller. Stop the controller first: then no other process
// leads before the last reconciliation has ended.
//
// Example:
//
//     auto elector = workqueue::LeaderElector::Create(std::move(election));
//     if (!elector.ok()) return elector.status();
//     options.sources.push_back(
//         workqueue::MakeLeaderElectionSource<std::string>(**elector));
template <typename T>
Source<T> MakeLeaderElectionSource(LeaderElector& elector);

// -----------------------------------------------------------------------------
// Implementation details follow.
// -----------------------------------------------------------------------------

namespace internal {

// Counts the changes that runs of a source wait for. Thread-safe.
class SourceSignal {
 public:
  void Notify() {
    MutexLock lock(&mu_);
    ++count_;
  }

  // Blocks until the count is not `seen`, and returns it. It is never zero.
  uint64_t AwaitOther(uint64_t seen) {
    MutexLock lock(&mu_);
    const auto changed = [this, seen]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return count_ != seen;
    };
    mu_.Await(absl::Condition(&changed));
    return count_;
  }

 private:
  sync::Mutex mu_;
  uint64_t count_ ABSL_GUARDED_BY(mu_) = 1;
};

}  // namespace internal

template <typename T>
Source<T> MakeLeaderElectionSource(LeaderElector& elector) {
  Source<T> source;
  source.name = "leader election " + elector.name();
  source.term = [&elector] { return elector.token(); };
  auto signal = std::make_shared<internal::SourceSignal>();
  source.on_stop = [signal] { signal->Notify(); };
  source.restart_backoff.emplace();  // A run may lack memory.
  source.run = [&elector, signal](SourceContext<T>& context) {
    const int64_t id = elector.AddListener([signal] { signal->Notify(); });
    absl::Cleanup remove = [&elector, id] { elector.RemoveListener(id); };
    // On this thread, as the one of the elector has to renew the lease.
    uint64_t seen = 0;
    while (true) {
      seen = signal->AwaitOther(seen);
      // The signal is that of all copies of the source.
      if (context.stop.HasBeenNotified()) return absl::OkStatus();
      const absl::Status health = elector.Healthy();
      health.ok() ? context.mark_synced() : context.mark_unhealthy(health);
      context.wake_workers();
    }
  };
  return source;
}

}  // namespace workqueue

#endif  // WORKQUEUE_LEADER_ELECTION_LEADER_ELECTION_SOURCE_H_
