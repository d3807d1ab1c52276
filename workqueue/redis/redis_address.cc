// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/redis/redis_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "workqueue/base/check_duration.h"
#include "workqueue/base/printable.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/redis/source_of_address.h"
#include "workqueue/redis/tls_session.h"

namespace workqueue::internal {
namespace {

constexpr absl::string_view kDigits = "0123456789";

// The longest path of a socket.
constexpr size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;

// What precedes the last '@' may be a user and a password. So may what follows
// a colon, unless it is a port, and what follows '?', '#' or '='. A connection
// string of libpq may have a password anywhere.
std::string WithoutPassword(absl::string_view address) {
  if (absl::StartsWith(address, "/")) return std::string(address);
  const size_t scheme = address.find("://");
  if (address.find('=') < scheme) return "***";
  std::string shown;
  if (scheme != absl::string_view::npos) {
    shown = std::string(address.substr(0, scheme + 3));
    address.remove_prefix(scheme + 3);
  }
  const size_t at = address.rfind('@');
  if (at != absl::string_view::npos && !absl::StartsWith(address, "/")) {
    absl::StrAppend(&shown, "***@");
    address.remove_prefix(at + 1);
  }
  bool in_brackets = false;
  for (size_t i = 0; i < address.size(); ++i) {
    const char c = address[i];
    if (c == '[' || c == ']') in_brackets = c == '[';
    const size_t next = address.find_first_not_of(kDigits, i + 1);
    const bool is_port = next == absl::string_view::npos ||
                         absl::StrContains(":,/?#", address[next]);
    if (absl::StrContains("?#=", c) || (c == ':' && !in_brackets && !is_port)) {
      return absl::StrCat(shown, address.substr(0, i + 1), "***");
    }
  }
  return absl::StrCat(shown, address);
}

absl::Status BadAddress(absl::string_view address, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("address is \"", WithoutPassword(address), "\"; ", why));
}

// Replaces each "%XX" by the byte. Returns false if another '%' is there.
bool Decode(absl::string_view text, std::string* result) {
  while (!text.empty()) {
    if (text[0] != '%') {
      result->push_back(text[0]);
      text.remove_prefix(1);
      continue;
    }
    if (text.size() < 3 || !absl::ascii_isxdigit(text[1]) ||
        !absl::ascii_isxdigit(text[2])) {
      return false;
    }
    uint32_t byte = 0;
    if (!absl::SimpleHexAtoi(text.substr(1, 2), &byte)) return false;
    result->push_back(static_cast<char>(byte));
    text.remove_prefix(3);
  }
  return true;
}

// Moves what a URL says into `*options`. `rest` is what follows its scheme.
absl::Status ParseUrl(absl::string_view url, absl::string_view rest,
                      bool is_path, RedisOptions* options) {
  // The path of a socket may contain an '@'.
  const size_t at =
      absl::StartsWith(rest, "/") ? absl::string_view::npos : rest.rfind('@');
  if (at != absl::string_view::npos) {
    const absl::string_view login = rest.substr(0, at);
    rest.remove_prefix(at + 1);
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(login, absl::MaxSplits(':', 1));
    std::string username, password;
    if (login.find_first_of("/?#@") != absl::string_view::npos ||
        !Decode(parts.first, &username) || !Decode(parts.second, &password)) {
      return BadAddress(url,
                        "in the user and the password, '/', '?', '#', '@' and "
                        "'%' must be written as %2F, %3F, %23, %40 and %25");
    }
    if (!username.empty() && !options->username.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "username is \"", options->username, "\", but address \"",
          WithoutPassword(url), "\" has a user, too"));
    }
    if (!password.empty() && !options->password.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("password is set, but address \"", WithoutPassword(url),
                       "\" has one, too"));
    }
    if (!username.empty()) options->username = std::move(username);
    if (!password.empty()) options->password = std::move(password);
  }
  if (rest.find_first_of("?#") != absl::string_view::npos) {
    return BadAddress(url, "it must have neither '?' nor '#'");
  }
  options->address.clear();
  if (is_path) {
    if (!absl::StartsWith(rest, "/")) {
      return BadAddress(
          url, "after the scheme there must be the absolute path of a socket");
    }
    if (!Decode(rest, &options->address)) {
      return BadAddress(url, "the path has a '%' without a code");
    }
    return absl::OkStatus();
  }
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(rest, absl::MaxSplits('/', 1));
  std::vector<std::string> hosts = absl::StrSplit(parts.first, ',');
  for (std::string& host : hosts) {
    // The port of Redis, unless there is another.
    if (host.find(':') == std::string::npos || absl::EndsWith(host, "]")) {
      host += ":6379";
    }
    // An IPv6 address without brackets may end with a port or not.
    if (!ParseHostAndPort(host) ||
        (host[0] != '[' && host.find(':') != host.rfind(':'))) {
      return BadAddress(url,
                        "after the scheme there must be a host, a host and a "
                        "port from 1 to 65535, or several of these with commas "
                        "between");
    }
  }
  options->address = absl::StrJoin(hosts, ",");
  if (parts.second.empty()) return absl::OkStatus();
  int database = 0;
  if (parts.second.find_first_not_of(kDigits) != absl::string_view::npos ||
      !absl::SimpleAtoi(parts.second, &database)) {
    return BadAddress(url,
                      "only the number of a database may follow the slash");
  }
  if (options->database != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("database is ", options->database, ", but address \"",
                     WithoutPassword(url), "\" has one, too"));
  }
  options->database = database;
  return absl::OkStatus();
}

// Makes the address plain.
absl::Status ParseAddress(RedisOptions* options) {
  const std::string address = options->address;
  if (absl::StartsWith(address, "/")) return absl::OkStatus();
  const absl::string_view other = DatabasePrefix(address);
  if (!other.empty()) {
    // Without the rest, which may have a password.
    return absl::InvalidArgumentError(absl::StrCat(
        "address begins with \"", other,
        "\"; only a SharedQueue and a LeaderElector can be in a database"));
  }
  const size_t end = address.find("://");
  if (end != std::string::npos) {
    const std::string scheme = absl::AsciiStrToLower(address.substr(0, end));
    const bool is_path = scheme == "unix";
    const bool is_plain = scheme == "redis" || scheme == "valkey";
    const bool is_tls = scheme == "rediss" || scheme == "valkeys";
    if (is_plain && options->tls) {
      return absl::InvalidArgumentError(
          absl::StrCat("tls is set, but address \"", WithoutPassword(address),
                       "\" has none: ", scheme, "s:// has"));
    }
    if (is_tls && !options->tls) options->tls.emplace();
    if (is_path || is_plain || is_tls) {
      return ParseUrl(address, absl::string_view(address).substr(end + 3),
                      is_path, options);
    }
  }
  for (const std::string& each : AddressesOf(*options)) {
    if (ParseHostAndPort(each)) continue;
    return BadAddress(
        address,
        "it must be \"host:port\", several of these with commas between, the "
        "absolute path of a socket, or a URL: "
        "redis://user:password@host:port/database, rediss://... or "
        "unix:///path");
  }
  return absl::OkStatus();
}

constexpr absl::string_view kNoControls =
    "it must not contain control characters";

// Checks the fields of TLS. The address is plain.
absl::Status CheckTls(const RedisOptions& options) {
  if (!options.tls) return absl::OkStatus();
  if (absl::StartsWith(options.address, "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat("tls is set, but address \"", options.address,
                     "\" is a Unix socket, which has none"));
  }
  if (options.tls->certificate_file.empty() != options.tls->key_file.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tls.certificate_file is \"",
                     options.tls->certificate_file, "\" and tls.key_file is \"",
                     options.tls->key_file, "\"; both or none must be set"));
  }
  for (const auto& [name, value] :
       {std::pair{"ca_file", &options.tls->ca_file},
        {"ca_directory", &options.tls->ca_directory},
        {"certificate_file", &options.tls->certificate_file},
        {"key_file", &options.tls->key_file},
        {"server_name", &options.tls->server_name}}) {
    if (!HasControls(*value)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "tls.", name, " is \"", absl::CEscape(*value), "\"; ", kNoControls));
  }
  if (!TlsSession::IsBuiltIn()) {
    return absl::FailedPreconditionError(
        absl::StrCat("address \"", options.address,
                     "\" is to be reached with TLS, but this library was "
                     "built without: docs/building.md says how to add it"));
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<HostAndPort> ParseHostAndPort(absl::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) return std::nullopt;
  absl::string_view host = address.substr(0, colon);
  const bool in_brackets = absl::ConsumePrefix(&host, "[");
  if (in_brackets && !absl::ConsumeSuffix(&host, "]")) return std::nullopt;
  // Only an IPv6 address has a colon. Nodes of a cluster write it like this.
  in6_addr ignored;
  if (!in_brackets && absl::StrContains(host, ":") &&
      inet_pton(AF_INET6, std::string(host).c_str(), &ignored) != 1) {
    return std::nullopt;
  }
  HostAndPort result;
  if (host.empty() || host.find_first_of("/?#@=") != absl::string_view::npos ||
      !absl::SimpleAtoi(address.substr(colon + 1), &result.port) ||
      result.port <= 0 || result.port >= 65536) {
    return std::nullopt;
  }
  result.host = std::string(host);
  return result;
}

std::vector<std::string> AddressesOf(const RedisOptions& options) {
  if (absl::StartsWith(options.address, "/")) return {options.address};
  return absl::StrSplit(options.address, ',');
}

absl::Status CheckOneStore(bool has_engine, const RedisOptions& options) {
  if (!has_engine) return absl::OkStatus();
  const RedisOptions unset;
  if (options.address != unset.address) {
    return absl::InvalidArgumentError(absl::StrCat(
        "engine is given, and address is \"", WithoutPassword(options.address),
        "\"; only one of them can be"));
  }
  const auto refuse = [](const auto&... what) {
    return absl::InvalidArgumentError(absl::StrCat(
        "redis.", what...,
        "; only a server of Valkey or Redis has it, and engine or address "
        "names something else"));
  };
  if (options.username != unset.username) {
    return refuse("username is \"", options.username, "\"");
  }
  if (options.password != unset.password) return refuse("password is set");
  if (options.database != unset.database) {
    return refuse("database is ", options.database);
  }
  if (options.tls) return refuse("tls is set");
  if (options.acknowledging_replicas != unset.acknowledging_replicas) {
    return refuse("acknowledging_replicas is ", options.acknowledging_replicas);
  }
  if (options.connect_timeout != unset.connect_timeout) {
    return refuse("connect_timeout is ",
                  absl::FormatDuration(options.connect_timeout));
  }
  return absl::OkStatus();
}

absl::StatusOr<RedisOptions> PlainRedisOptions(RedisOptions options) {
  absl::Status status = ParseAddress(&options);
  if (!status.ok()) return status;
  if (HasControls(options.address)) {
    return BadAddress(absl::CEscape(options.address), kNoControls);
  }
  if (absl::StartsWith(options.address, "/") &&
      options.address.size() > kMaxPath) {
    return BadAddress(
        options.address,
        absl::StrCat("the path of a socket has ", kMaxPath, " bytes at most"));
  }
  status = CheckTls(options);
  if (!status.ok()) return status;
  if (options.database < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "database is ", options.database, "; it must not be negative"));
  }
  if (options.database != 0 && AddressesOf(options).size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("database is ", options.database,
                     "; it must be 0 if address has several hosts, which are "
                     "those of a cluster"));
  }
  if (options.acknowledging_replicas < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "acknowledging_replicas is ", options.acknowledging_replicas,
        "; it must not be negative"));
  }
  status = CheckFiniteAndPositive("connect_timeout", options.connect_timeout);
  if (!status.ok()) return status;
  return options;
}

}  // namespace workqueue::internal
