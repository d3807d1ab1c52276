// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/manager.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_MANAGER_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_MANAGER_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "examples/kubernetes/client.h"
#include "examples/kubernetes/lease_elector.h"
#include "examples/kubernetes/status_server.h"
#include "prometheus/registry.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/informer.h"
#include "workqueue/log_sink.h"

namespace kubernetes {

struct ManagerOptions {
  // Whether the controllers run only while this process is the leader.
  bool leader_elect = false;
  // An empty identity means a random one, and no log_sink that of the manager.
  LeaseElectorOptions lease;
  // Where /metrics is, and /healthz and /readyz: "HOST:PORT".
  std::string metrics_address = "127.0.0.1:8080";
  std::string probe_address = "127.0.0.1:8081";
};

// Manager
//
// Runs the informers and controllers of a program, with what a program in a
// cluster needs besides: the election of a leader, probes, metrics and signals.
//
// Create it before any other thread, because it blocks SIGINT and SIGTERM in
// this thread and in those that this thread creates later.
//
// Not thread-safe.
class Manager {
 public:
  // `log` must outlive the manager.
  Manager(ManagerOptions options, workqueue::LogSink* log);

  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // The metrics that the program exports.
  const std::shared_ptr<prometheus::Registry>& registry() { return registry_; }

  // Add an informer, or a controller, which must live until `Run()` returns.
  template <typename Object>
  void Add(workqueue::Informer<Object>* informer) {
    informers_.push_back({[informer] { return informer->Start(); },
                          [informer] {
                            return informer->HasSynced() ? absl::OkStatus()
                                                         : informer->Healthy();
                          }});
  }
  template <typename T>
  void Add(workqueue::Controller<T>* controller) {
    controllers_.push_back(
        {[controller] { return controller->Start(); },
         [controller](absl::Duration timeout) { controller->Stop(timeout); }});
  }

  // Starts the informers, also if this process does not lead, so that it is
  // ready to. Then starts the controllers, and blocks until SIGINT or SIGTERM.
  // Then stops the controllers, which get ten seconds to finish. After that,
  // `ReconcileContext::stop` tells the reconciliations in progress to return,
  // and `client`, which is theirs, is stopped. When they have returned, gives
  // the leadership back. `lease_client` is for the lease. A second signal ends
  // the process at once.
  //
  // Returns the error of an option, or of what cannot be started. If the
  // leadership is lost, ends the process at once, because another one may lead
  // already.
  absl::Status Run(Client* client, Client* lease_client);

 private:
  struct Informer {
    std::function<absl::Status()> start;
    std::function<absl::Status()> synced;
  };
  struct Controller {
    std::function<absl::Status()> start;
    std::function<void(absl::Duration timeout)> stop;
  };

  // The page of /readyz: whether each informer has had its first list. A later
  // outage of the API server does not count, because a restart would not help.
  StatusServer::Page Ready() const;

  // Ends the process with an error.
  [[noreturn]] void Die(const absl::Status& error);

  const ManagerOptions options_;
  workqueue::LogSink* const log_;
  const std::shared_ptr<prometheus::Registry> registry_;
  std::vector<Informer> informers_;
  std::vector<Controller> controllers_;
};

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_MANAGER_H_
