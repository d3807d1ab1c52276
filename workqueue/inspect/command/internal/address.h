// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/inspect/command/internal/address.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INSPECT_COMMAND_INTERNAL_ADDRESS_H_
#define WORKQUEUE_INSPECT_COMMAND_INTERNAL_ADDRESS_H_

#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "workqueue/shared/redis_options.h"

namespace workqueue {
namespace internal {

// HttpAddress
//
// The URL of an inspection page.
struct HttpAddress {
  std::string host;  // a name or an address; of IPv6, without brackets
  int port = 80;
  std::string path = "/";
};

using Address = std::variant<HttpAddress, RedisOptions>;

// Parses ADDRESS; see `kUsage`. The message of an error is one line that names
// ADDRESS, its value and the reason. Does not check the part of a Redis
// server's address that `RedisOptions::address` has.
absl::StatusOr<Address> ParseAddress(absl::string_view text);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_COMMAND_INTERNAL_ADDRESS_H_
