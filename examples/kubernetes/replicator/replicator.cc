// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/replicator/replicator.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "examples/kubernetes/client.h"
#include "examples/kubernetes/json.h"
#include "examples/kubernetes/label_selector.h"
#include "examples/kubernetes/objects.h"
#include "workqueue/controller/object_store.h"
#include "workqueue/controller/reconcile.h"

namespace replicator {
namespace {

using kubernetes::Client;
using kubernetes::ConfigMap;
using kubernetes::Find;
using kubernetes::Json;
using kubernetes::KeyOf;
using kubernetes::LabelSelector;
using kubernetes::Namespace;
using kubernetes::ResourceOf;

constexpr char kSelector[] = "replicator.example.com/namespace-selector";
constexpr char kSource[] = "replicator.example.com/source";
constexpr char kFinalizer[] = "replicator.example.com/cleanup";
constexpr char kManagedBy[] = "app.kubernetes.io/managed-by";
constexpr char kManager[] = "replicator";

// The indexes of ConfigMaps: copies by the keys of their sources, and sources
// by their names. Each source also has the name kAnyName, which is no valid
// one.
constexpr char kCopies[] = "copies";
constexpr char kSources[] = "sources";
constexpr char kAnyName[] = "*";

// Returns the key of the source, or null if the object is not a copy.
const std::string* SourceOf(const ConfigMap& object) {
  const std::string* const source = Find(object.meta.annotations, kSource);
  const std::string* const manager = Find(object.meta.labels, kManagedBy);
  const bool is_copy =
      source != nullptr && manager != nullptr && *manager == kManager &&
      absl::EndsWith(*source, absl::StrCat("/", object.meta.name));
  return is_copy ? source : nullptr;
}

bool HasFinalizer(const ConfigMap& object) {
  return absl::c_linear_search(object.meta.finalizers, kFinalizer);
}

// Returns whether the object is, or was, a source.
bool IsSource(const ConfigMap& object) {
  return SourceOf(object) == nullptr &&
         (Find(object.meta.annotations, kSelector) != nullptr ||
          HasFinalizer(object));
}

bool IsUpToDate(const ConfigMap& copy, const ConfigMap& source) {
  return copy.data == source.data && copy.binary_data == source.binary_data;
}

Json CopyOf(const ConfigMap& source, const std::string& ns) {
  return {{"metadata",
           {{"namespace", ns},
            {"name", source.meta.name},
            {"labels", {{kManagedBy, kManager}}},
            {"annotations", {{kSource, KeyOf(source.meta)}}}}},
          {"data", source.data},
          {"binaryData", source.binary_data}};
}

}  // namespace

std::vector<workqueue::Indexer<ConfigMap>> Replicator::Indexers() {
  using Values = std::vector<std::string>;
  return {{kCopies,
           [](const ConfigMap& object) {
             const std::string* const source = SourceOf(object);
             return source != nullptr ? Values{*source} : Values();
           }},
          {kSources, [](const ConfigMap& object) {
             return IsSource(object) ? Values{object.meta.name, kAnyName}
                                     : Values();
           }}};
}

Replicator::Replicator(Client* client,
                       const workqueue::ObjectStore<ConfigMap>* config_maps,
                       const workqueue::ObjectStore<Namespace>* namespaces,
                       std::function<void(absl::string_view)> on_foreign_object)
    : client_(client),
      config_maps_(config_maps),
      namespaces_(namespaces),
      on_foreign_object_(std::move(on_foreign_object)) {}

absl::Status Replicator::Reconcile(const std::string& key,
                                   const absl::Notification& stop) {
  const std::shared_ptr<const ConfigMap> source = config_maps_->Get(key);
  const bool exists = source != nullptr && IsSource(*source);
  const std::string* const selector =
      exists && !source->meta.being_deleted
          ? Find(source->meta.annotations, kSelector)
          : nullptr;

  std::set<std::string> missing;
  if (selector != nullptr) {
    absl::StatusOr<std::set<std::string>> targets = Targets(*source, *selector);
    if (!targets.ok()) return targets.status();
    missing = *std::move(targets);
    if (!HasFinalizer(*source)) {
      const absl::Status set = SetFinalizer(*source, true);
      if (!set.ok()) return set;
    }
  }

  const auto copies = config_maps_->ByIndex(kCopies, key);
  if (!copies.ok()) return copies.status();
  absl::Status status;
  for (const auto& copy : *copies) {
    if (stop.HasBeenNotified()) return absl::CancelledError("stopped");
    if (missing.erase(copy->meta.ns) == 0) {
      status.Update(DeleteCopy(*copy));
    } else if (!IsUpToDate(*copy, *source)) {
      status.Update(UpdateCopy(*copy, *source));
    }
  }
  for (const std::string& ns : missing) {
    if (stop.HasBeenNotified()) return absl::CancelledError("stopped");
    status.Update(CreateCopy(ns, *source));
  }
  if (status.ok() && exists && selector == nullptr && HasFinalizer(*source)) {
    status = SetFinalizer(*source, false);
  }
  return status;
}

absl::StatusOr<std::set<std::string>> Replicator::Targets(
    const ConfigMap& source, const std::string& selector) const {
  const absl::StatusOr<LabelSelector> parsed = LabelSelector::Parse(selector);
  if (!parsed.ok()) return workqueue::TerminalError(parsed.status());
  std::set<std::string> targets;
  for (const auto& ns : namespaces_->List()) {
    if (!ns->meta.being_deleted && ns->meta.name != source.meta.ns &&
        parsed->Matches(ns->meta.labels)) {
      targets.insert(ns->meta.name);
    }
  }
  return targets;
}

absl::Status Replicator::CreateCopy(const std::string& ns,
                                    const ConfigMap& source) {
  const std::string key = absl::StrCat(ns, "/", source.meta.name);
  const std::shared_ptr<const ConfigMap> there = config_maps_->Get(key);
  if (there == nullptr) {
    // AlreadyExists, too, needs a retry: the object may go before the store has
    // it, and then no event brings the source back.
    return client_->Create(ResourceOf<ConfigMap>(), CopyOf(source, ns))
        .status();
  }
  // A copy may have come into the store since Reconcile() looked.
  const std::string* const its_source = SourceOf(*there);
  const bool is_copy =
      its_source != nullptr && *its_source == KeyOf(source.meta);
  if (!is_copy) on_foreign_object_(key);
  return absl::OkStatus();  // A change of the object brings the source back.
}

// Replaces the copy. Server-side apply would leave the keys that the source has
// lost, because they belong to the request that created the copy, too.
absl::Status Replicator::UpdateCopy(const ConfigMap& copy,
                                    const ConfigMap& source) {
  // It can only be made again, when the event of its deletion comes.
  if (copy.immutable) return DeleteCopy(copy);
  Json updated = CopyOf(source, copy.meta.ns);
  updated["metadata"]["labels"] = copy.meta.labels;
  updated["metadata"]["annotations"] = copy.meta.annotations;
  updated["metadata"]["finalizers"] = copy.meta.finalizers;
  if (!copy.meta.owner_references.is_null()) {
    updated["metadata"]["ownerReferences"] = copy.meta.owner_references;
  }
  updated["metadata"]["uid"] = copy.meta.uid;
  updated["metadata"]["resourceVersion"] = copy.meta.resource_version;
  return client_->Update(ResourceOf<ConfigMap>(), updated).status();
}

absl::Status Replicator::DeleteCopy(const ConfigMap& copy) {
  if (copy.meta.being_deleted) return absl::OkStatus();
  const absl::Status deleted =
      client_->Delete(ResourceOf<ConfigMap>(), {copy.meta.ns, copy.meta.name},
                      {copy.meta.uid, copy.meta.resource_version});
  return absl::IsNotFound(deleted) ? absl::OkStatus() : deleted;
}

// Writes the whole list, on condition that it is still that of the store.
// Server-side apply would leave the finalizer if another manager has set it,
// too, for example one that has restored the source from a backup.
absl::Status Replicator::SetFinalizer(const ConfigMap& source, bool present) {
  std::vector<std::string> finalizers = source.meta.finalizers;
  finalizers.erase(
      std::remove(finalizers.begin(), finalizers.end(), kFinalizer),
      finalizers.end());
  if (present) finalizers.push_back(kFinalizer);
  return client_
      ->Patch(ResourceOf<ConfigMap>(),
              {{"metadata",
                {{"namespace", source.meta.ns},
                 {"name", source.meta.name},
                 {"uid", source.meta.uid},
                 {"resourceVersion", source.meta.resource_version},
                 {"finalizers", finalizers}}}})
      .status();
}

std::vector<std::string> Replicator::KeysOf(const ConfigMap& object) const {
  std::vector<std::string> keys;
  if (const std::string* const source = SourceOf(object); source != nullptr) {
    keys.push_back(*source);
  } else if (IsSource(object)) {
    keys.push_back(KeyOf(object.meta));
  }
  // The object stands, or stood, where these sources want their copies.
  const auto sources = config_maps_->ByIndex(kSources, object.meta.name);
  if (!sources.ok()) return keys;
  for (const auto& source : *sources) keys.push_back(KeyOf(source->meta));
  return keys;
}

std::vector<std::string> Replicator::KeysOf(const Namespace& object) const {
  std::vector<std::string> keys;
  const auto sources = config_maps_->ByIndex(kSources, kAnyName);
  if (!sources.ok()) return keys;
  for (const auto& source : *sources) {
    const std::string* const selector =
        Find(source->meta.annotations, kSelector);
    if (selector == nullptr) continue;
    const auto parsed = LabelSelector::Parse(*selector);
    if (parsed.ok() && parsed->Matches(object.meta.labels)) {
      keys.push_back(KeyOf(source->meta));
    }
  }
  return keys;
}

}  // namespace replicator
