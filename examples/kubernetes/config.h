// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/config.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_CONFIG_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_CONFIG_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kubernetes {

// Config
//
// The address of an API server, and the credentials for it.
struct Config {
  std::string server;          // a URL: https://HOST:PORT, or with a path
  std::string ns = "default";  // the namespace that the source names
  std::string ca;              // PEM; if empty, the system's authorities
  std::string client_cert;     // PEM; empty if there is none
  std::string client_key;      // PEM; set if `client_cert` is
  std::string token;           // empty if there is none
  std::string token_file;      // if set, has the token instead of `token`
  bool insecure_skip_tls_verify = false;  // only without `ca`
};

// Returns an error that names the field if fields of `config` are missing or
// contradict each other.
absl::Status CheckConfig(const Config& config);

// Loads the configuration as a controller of client-go does, from the first of
// these that is set:
//
// 1. the file `kubeconfig`
// 2. the file that $KUBECONFIG names; a list of files is an error
// 3. the files and the environment that Kubernetes gives to each container
absl::StatusOr<Config> LoadConfig(const std::string& kubeconfig);

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_CONFIG_H_
