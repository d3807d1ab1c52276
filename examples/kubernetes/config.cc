// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/config.h"

#include <stdlib.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "examples/kubernetes/in_cluster_config.h"
#include "examples/kubernetes/kubeconfig.h"

namespace kubernetes {

absl::Status CheckConfig(const Config& config) {
  const auto error = [](absl::string_view text) {
    return absl::InvalidArgumentError(text);
  };
  if (config.server.empty()) return error("server is empty");
  if (config.client_cert.empty() != config.client_key.empty()) {
    return error(config.client_key.empty()
                     ? "there is a client-certificate, but no client-key"
                     : "there is a client-key, but no client-certificate");
  }
  if (config.insecure_skip_tls_verify && !config.ca.empty()) {
    return error(
        "insecure-skip-tls-verify is true, so certificate-authority has no "
        "effect: remove one of them");
  }
  return absl::OkStatus();
}

absl::StatusOr<Config> LoadConfig(const std::string& kubeconfig) {
  if (!kubeconfig.empty()) return LoadKubeconfig(kubeconfig);
  const char* const variable = getenv("KUBECONFIG");
  const std::string path = variable != nullptr ? variable : "";
  if (absl::StrContains(path, ':')) {
    return absl::InvalidArgumentError(absl::StrCat(
        "$KUBECONFIG is '", path, "', a list of files: name a single one"));
  }
  if (!path.empty()) return LoadKubeconfig(path);
  return LoadInClusterConfig();
}

}  // namespace kubernetes
