// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/objects.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_OBJECTS_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_OBJECTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "examples/kubernetes/json.h"
#include "examples/kubernetes/resource.h"

namespace kubernetes {

using StringMap = std::map<std::string, std::string>;

// ObjectMeta
//
// The metadata that controllers use most.
struct ObjectMeta {
  std::string ns;  // empty if the resource is not namespaced
  std::string name;
  std::string uid;
  std::string resource_version;
  bool being_deleted = false;  // has a deletionTimestamp
  StringMap labels;
  StringMap annotations;
  std::vector<std::string> finalizers;
  Json owner_references;  // as the server sends them; null if there are none
};

struct ConfigMap {
  ObjectMeta meta;
  StringMap data;
  StringMap binary_data;  // in base64, as the server sends it
  bool immutable = false;
};

struct Namespace {
  ObjectMeta meta;
};

// Returns the resource whose objects have this type.
template <typename Object>
const Resource& ResourceOf();
template <>
const Resource& ResourceOf<ConfigMap>();
template <>
const Resource& ResourceOf<Namespace>();

// Returns "namespace/name", or "name" if there is no namespace.
std::string KeyOf(const ObjectMeta& meta);

// Returns the value of `key`, or null if there is none.
const std::string* Find(const StringMap& map, const std::string& key);

// Returns whether the resourceVersion `a` is newer than `b`. They are decimal
// numbers; see "Resource versions" in the Kubernetes API concepts.
bool IsNewer(absl::string_view a, absl::string_view b);

// Read an object that the server has sent. Throw a Json::exception if a field
// has another type.
void from_json(const Json& json, ObjectMeta& meta);
void from_json(const Json& json, ConfigMap& object);
void from_json(const Json& json, Namespace& object);

// Returns the object that the server has sent.
template <typename Object>
absl::StatusOr<Object> ParseObject(const Json& json) {
  try {
    return json.get<Object>();
  } catch (const Json::exception& error) {
    return absl::InternalError(
        absl::StrCat("an object of the server: ", error.what()));
  }
}

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_OBJECTS_H_
