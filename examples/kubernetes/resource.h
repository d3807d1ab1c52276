// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/resource.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_RESOURCE_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_RESOURCE_H_

#include <string>

#include "absl/status/statusor.h"

namespace kubernetes {

// Resource
//
// A kind of objects that the API server keeps, for example
// {"apps", "v1", "deployments"}.
struct Resource {
  std::string group;  // empty for the core group
  std::string version;
  std::string plural;
  bool namespaced = true;
};

// ObjectKey
//
// Tells the objects of a resource apart.
struct ObjectKey {
  std::string ns;  // empty if the resource is not namespaced
  std::string name;
};

// Returns the path of all objects of `resource` in the namespace `ns`, or in
// all namespaces if `ns` is empty.
//
// An error names the part of the path that is wrong. A part must not be empty,
// "." or "..", and must not contain '/' or '%', as in client-go. Other
// characters are escaped.
absl::StatusOr<std::string> CollectionPath(const Resource& resource,
                                           const std::string& ns);

// Returns the path of an object. The errors are those of `CollectionPath()`.
absl::StatusOr<std::string> ObjectPath(const Resource& resource,
                                       const ObjectKey& key);

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_RESOURCE_H_
