// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/inspect/internal/check_host.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INSPECT_INTERNAL_CHECK_HOST_H_
#define WORKQUEUE_INSPECT_INTERNAL_CHECK_HOST_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace workqueue {
namespace internal {

// Checks the host that the `headers` of a request name: it must be localhost,
// an IP address, or one of `hosts`. Checks the origin, too: it must be the same
// host and port, or one of `hosts`. A header that is missing is right. Returns
// `absl::PermissionDeniedError` with the header and its value if one is wrong.
absl::Status CheckHost(const std::map<std::string, std::string>& headers,
                       const std::vector<std::string>& hosts);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_INTERNAL_CHECK_HOST_H_
