// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/in_cluster_config.h"

#include <stdlib.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "examples/kubernetes/config.h"
#include "examples/kubernetes/file_contents.h"

namespace kubernetes {
namespace {

absl::StatusOr<std::string> Variable(const char* name) {
  const char* const value = getenv(name);
  if (value == nullptr || *value == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("this program does not run in a cluster, where $", name,
                     " is set: name a kubeconfig file"));
  }
  return value;
}

}  // namespace

absl::StatusOr<Config> LoadInClusterConfig(const std::string& directory) {
  const absl::StatusOr<std::string> host = Variable("KUBERNETES_SERVICE_HOST");
  if (!host.ok()) return host.status();
  const absl::StatusOr<std::string> port = Variable("KUBERNETES_SERVICE_PORT");
  if (!port.ok()) return port.status();

  Config config;
  const bool is_v6 = absl::StrContains(*host, ':');
  config.server = absl::StrCat("https://", is_v6 ? "[" : "", *host,
                               is_v6 ? "]" : "", ":", *port);
  config.token_file = absl::StrCat(directory, "/token");
  const absl::StatusOr<std::string> token = ReadFile(config.token_file);
  if (!token.ok()) return token.status();
  absl::StatusOr<std::string> ca = ReadFile(absl::StrCat(directory, "/ca.crt"));
  if (!ca.ok()) return ca.status();
  config.ca = *std::move(ca);
  const absl::StatusOr<std::string> ns =
      ReadFile(absl::StrCat(directory, "/namespace"));
  if (!ns.ok()) return ns.status();
  config.ns = std::string(absl::StripAsciiWhitespace(*ns));
  const absl::Status status = CheckConfig(config);
  if (!status.ok()) return status;
  return config;
}

}  // namespace kubernetes
