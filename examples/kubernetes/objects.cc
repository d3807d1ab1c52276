// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/objects.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "examples/kubernetes/json.h"
#include "examples/kubernetes/resource.h"

namespace kubernetes {

template <>
const Resource& ResourceOf<ConfigMap>() {
  static const auto* const resource = new Resource{"", "v1", "configmaps"};
  return *resource;
}

template <>
const Resource& ResourceOf<Namespace>() {
  static const auto* const resource =
      new Resource{"", "v1", "namespaces", /*namespaced=*/false};
  return *resource;
}

std::string KeyOf(const ObjectMeta& meta) {
  return meta.ns.empty() ? meta.name : absl::StrCat(meta.ns, "/", meta.name);
}

const std::string* Find(const StringMap& map, const std::string& key) {
  const auto it = map.find(key);
  return it == map.end() ? nullptr : &it->second;
}

bool IsNewer(absl::string_view a, absl::string_view b) {
  return a.size() != b.size() ? a.size() > b.size() : a > b;
}

void from_json(const Json& json, ObjectMeta& meta) {
  meta.ns = json.value("namespace", "");
  json.at("name").get_to(meta.name);
  json.at("uid").get_to(meta.uid);
  json.at("resourceVersion").get_to(meta.resource_version);
  meta.being_deleted = json.contains("deletionTimestamp");
  meta.labels = json.value("labels", StringMap());
  meta.annotations = json.value("annotations", StringMap());
  meta.finalizers = json.value("finalizers", std::vector<std::string>());
  meta.owner_references = json.value("ownerReferences", Json());
}

void from_json(const Json& json, ConfigMap& object) {
  json.at("metadata").get_to(object.meta);
  object.data = json.value("data", StringMap());
  object.binary_data = json.value("binaryData", StringMap());
  object.immutable = json.value("immutable", false);
}

void from_json(const Json& json, Namespace& object) {
  json.at("metadata").get_to(object.meta);
}

}  // namespace kubernetes
