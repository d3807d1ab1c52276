// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/command/internal/address.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "workqueue/inspect/command/internal/arguments.h"
#include "workqueue/shared/redis_options.h"

namespace workqueue {
namespace internal {
namespace {

constexpr auto kNone = absl::string_view::npos;

// Removes the part of `*text` up to and including `separator`, and returns it
// without the separator. Returns an empty text if there is no separator.
absl::string_view TakeUntil(char separator, absl::string_view* text) {
  const size_t at = text->find(separator);
  if (at == kNone) return "";
  const absl::string_view part = text->substr(0, at);
  text->remove_prefix(at + 1);
  return part;
}

// Parses what follows "http://" in `text`.
absl::StatusOr<Address> ParseHttp(absl::string_view text,
                                  absl::string_view rest) {
  const auto bad = [text](absl::string_view why) {
    return BadArgument("ADDRESS", text, why);
  };
  if (!std::all_of(rest.begin(), rest.end(), absl::ascii_isgraph)) {
    return bad("spaces and characters beyond ASCII must be escaped");
  }
  if (rest.find_first_of("?#") != kNone) {
    return bad("it must not contain '?' or '#'");
  }
  const size_t slash = rest.find('/');
  absl::string_view host = rest.substr(0, slash);
  HttpAddress address;
  if (slash != kNone) address.path = std::string(rest.substr(slash));
  if (host.find('@') != kNone) {
    // Does not print it, because it may contain a password.
    return absl::InvalidArgumentError(
        "ADDRESS contains a user: use --header \"Authorization: ...\"");
  }
  const size_t bracket = host.find(']');
  const size_t colon = host.find(':', bracket == kNone ? 0 : bracket);
  if (colon != kNone &&
      (!absl::SimpleAtoi(host.substr(colon + 1), &address.port) ||
       address.port < 1 || address.port > 65535)) {
    return bad("the port must be a number from 1 to 65535");
  }
  host = host.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[") != absl::ConsumeSuffix(&host, "]")) {
    return bad("the host has only one of its brackets");
  }
  if (host.empty()) return bad("the host is missing");
  address.host = std::string(host);
  return Address(address);
}

// Parses what follows "redis://" in `text`.
absl::StatusOr<Address> ParseRedis(absl::string_view text,
                                   absl::string_view rest) {
  RedisOptions options;
  const absl::string_view user = TakeUntil('@', &rest);
  if (user.find(':') != kNone) {
    // Does not print it.
    return absl::InvalidArgumentError(
        "ADDRESS contains a password: it must be in the variable "
        "WORKQUEUE_REDIS_PASSWORD");
  }
  options.username = std::string(user);
  const size_t slash = rest.find('/');
  if (slash != kNone && slash + 1 < rest.size() &&
      (!absl::SimpleAtoi(rest.substr(slash + 1), &options.database) ||
       options.database < 0)) {
    return BadArgument("ADDRESS", text,
                       "the database, after the last slash, must be a number");
  }
  options.address = std::string(rest.substr(0, slash));
  return Address(options);
}

}  // namespace

absl::StatusOr<Address> ParseAddress(absl::string_view text) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "http://")) return ParseHttp(text, rest);
  if (absl::ConsumePrefix(&rest, "redis://") ||
      absl::ConsumePrefix(&rest, "valkey://")) {
    return ParseRedis(text, rest);
  }
  if (absl::ConsumePrefix(&rest, "unix://")) {
    if (rest.empty() || rest[0] != '/') {
      return BadArgument("ADDRESS", text, "the path must begin with a slash");
    }
    RedisOptions options;
    options.address = std::string(rest);
    return Address(options);
  }
  if (absl::ConsumePrefix(&rest, "https://") ||
      absl::ConsumePrefix(&rest, "rediss://") ||
      absl::ConsumePrefix(&rest, "valkeys://")) {
    return BadArgument("ADDRESS", text,
                       "this command has no TLS: use a tunnel, for example "
                       "of ssh or kubectl port-forward");
  }
  return BadArgument(
      "ADDRESS", text,
      "it must begin with http://, redis://, valkey:// or unix://");
}

}  // namespace internal
}  // namespace workqueue
