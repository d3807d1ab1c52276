// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/url.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_URL_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_URL_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kubernetes {

// Returns `text` with each byte escaped that is not allowed in a part of a path
// or in a value of a query.
std::string PercentEscape(absl::string_view text);

// ServerUrl
//
// The address of an API server.
struct ServerUrl {
  // The scheme, the host, the port and the prefix of all paths. Does not end
  // with a slash.
  std::string base;

  // Whether the server is on this machine: the host is `localhost`, or an
  // address of the loopback interface.
  bool is_loopback = false;
};

// Parses the address of a server, such as "https://10.0.0.1:6443".
absl::StatusOr<ServerUrl> ParseServerUrl(const std::string& text);

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_URL_H_
