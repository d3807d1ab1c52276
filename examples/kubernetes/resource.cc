// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/resource.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "examples/kubernetes/url.h"

namespace kubernetes {
namespace {

// A part of a path, and the name of the field that it comes from.
struct Segment {
  absl::string_view field;
  absl::string_view value;
};

absl::StatusOr<std::string> Join(std::vector<Segment> segments) {
  std::string path;
  for (const auto& [field, value] : segments) {
    if (value.empty() || value == "." || value == ".." ||
        value.find_first_of("/%") != absl::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, " '", value, "' cannot be a part of a path"));
    }
    absl::StrAppend(&path, "/", PercentEscape(value));
  }
  return path;
}

std::vector<Segment> CollectionSegments(const Resource& resource,
                                        absl::string_view ns) {
  std::vector<Segment> segments;
  if (resource.group.empty()) {
    segments.push_back({"root", "api"});
  } else {
    segments.push_back({"root", "apis"});
    segments.push_back({"group", resource.group});
  }
  segments.push_back({"version", resource.version});
  if (!ns.empty()) {
    segments.push_back({"root", "namespaces"});
    segments.push_back({"namespace", ns});
  }
  segments.push_back({"resource", resource.plural});
  return segments;
}

absl::Status CheckCluster(const Resource& resource, absl::string_view ns) {
  if (resource.namespaced || ns.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "namespace '", ns, "': ", resource.plural, " are not in namespaces"));
}

}  // namespace

absl::StatusOr<std::string> CollectionPath(const Resource& resource,
                                           const std::string& ns) {
  const absl::Status status = CheckCluster(resource, ns);
  if (!status.ok()) return status;
  return Join(CollectionSegments(resource, ns));
}

absl::StatusOr<std::string> ObjectPath(const Resource& resource,
                                       const ObjectKey& key) {
  const absl::Status status = CheckCluster(resource, key.ns);
  if (!status.ok()) return status;
  if (resource.namespaced && key.ns.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("namespace '': ", resource.plural, " are in namespaces"));
  }
  std::vector<Segment> segments = CollectionSegments(resource, key.ns);
  segments.push_back({"name", key.name});
  return Join(std::move(segments));
}

}  // namespace kubernetes
