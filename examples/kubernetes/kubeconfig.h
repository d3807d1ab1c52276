// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/kubeconfig.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_KUBECONFIG_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_KUBECONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "examples/kubernetes/config.h"

namespace kubernetes {

// Returns the configuration that the current context of a kubeconfig file
// names. Paths in the file are relative to its folder. Certificates and keys
// are read now, a `tokenFile` before each request.
//
// These fields are supported: `current-context`; of a context `cluster`, `user`
// and `namespace`; of a cluster `server`, `certificate-authority`,
// `certificate-authority-data` and `insecure-skip-tls-verify`; of a user
// `client-certificate`, `client-certificate-data`, `client-key`,
// `client-key-data`, `token` and `tokenFile`. As in client-go, the data take
// precedence over a file, and `tokenFile` takes precedence over `token`.
//
// Other fields that would change how the client connects or who it is are an
// error: plugins for credentials (`exec`, `auth-provider`), passwords,
// impersonation, `proxy-url` and `tls-server-name`. All others are ignored.
//
// The message of an error has the path of the file and the name of the field.
// It never has a credential.
absl::StatusOr<Config> LoadKubeconfig(const std::string& path);

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_KUBECONFIG_H_
