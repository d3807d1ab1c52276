// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/in_cluster_config.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_IN_CLUSTER_CONFIG_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_IN_CLUSTER_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "examples/kubernetes/config.h"

namespace kubernetes {

// Where Kubernetes puts the files of a container's service account.
inline constexpr char kServiceAccountDirectory[] =
    "/var/run/secrets/kubernetes.io/serviceaccount";

// Returns the configuration of a program that runs in a container of the
// cluster. The address is in $KUBERNETES_SERVICE_HOST and
// $KUBERNETES_SERVICE_PORT. The files `token`, `ca.crt` and `namespace` are in
// `directory`. An error names the variable or the file that is missing.
absl::StatusOr<Config> LoadInClusterConfig(
    const std::string& directory = kServiceAccountDirectory);

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_IN_CLUSTER_CONFIG_H_
