// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/replicator/replicator.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_REPLICATOR_REPLICATOR_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_REPLICATOR_REPLICATOR_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "examples/kubernetes/client.h"
#include "examples/kubernetes/objects.h"
#include "workqueue/controller/object_store.h"

namespace replicator {

// Replicator
//
// Keeps copies of annotated ConfigMaps in the namespaces that match their
// selectors. A copy has the name of its source, a label, and an annotation that
// names the source. Other objects are never touched.
//
// A key is "namespace/name" of a source.
//
// Thread-safe.
class Replicator {
 public:
  // The indexes that the store of ConfigMaps must have.
  static std::vector<workqueue::Indexer<kubernetes::ConfigMap>> Indexers();

  // The stores are filled by informers. `on_foreign_object` is called when
  // there is no copy because another object has its name. The client and the
  // stores must outlive the replicator.
  Replicator(kubernetes::Client* client,
             const workqueue::ObjectStore<kubernetes::ConfigMap>* config_maps,
             const workqueue::ObjectStore<kubernetes::Namespace>* namespaces,
             std::function<void(absl::string_view key)> on_foreign_object);

  // Makes the copies of one source what they should be. Returns an
  // `absl::CancelledError` between two of them when `stop` has been notified.
  absl::Status Reconcile(const std::string& key,
                         const absl::Notification& stop);

  // Return the keys that a change of an object concerns.
  std::vector<std::string> KeysOf(const kubernetes::ConfigMap& object) const;
  std::vector<std::string> KeysOf(const kubernetes::Namespace& object) const;

 private:
  // Returns the namespaces that should have a copy.
  absl::StatusOr<std::set<std::string>> Targets(
      const kubernetes::ConfigMap& source, const std::string& selector) const;

  absl::Status CreateCopy(const std::string& ns,
                          const kubernetes::ConfigMap& source);
  absl::Status UpdateCopy(const kubernetes::ConfigMap& copy,
                          const kubernetes::ConfigMap& source);
  absl::Status DeleteCopy(const kubernetes::ConfigMap& copy);

  // Adds or removes the finalizer.
  absl::Status SetFinalizer(const kubernetes::ConfigMap& source, bool present);

  kubernetes::Client* const client_;
  const workqueue::ObjectStore<kubernetes::ConfigMap>* const config_maps_;
  const workqueue::ObjectStore<kubernetes::Namespace>* const namespaces_;
  const std::function<void(absl::string_view)> on_foreign_object_;
};

}  // namespace replicator

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_REPLICATOR_REPLICATOR_H_
