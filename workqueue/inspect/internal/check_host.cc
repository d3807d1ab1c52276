// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/internal/check_host.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "workqueue/base/printable.h"

namespace workqueue {
namespace internal {
namespace {

bool IsNumber(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

// Returns the name of the host in `host`, which may end with a port, in small
// letters. Returns an empty text if `host` is none.
std::string NameOf(absl::string_view host) {
  // The colons of an IPv6 address are in brackets.
  const size_t port = host.find(':', absl::StartsWith(host, "[")
                                         ? std::min(host.find(']'), host.size())
                                         : 0);
  if (port != host.npos && !IsNumber(host.substr(port + 1))) return "";
  return absl::AsciiStrToLower(absl::StripSuffix(host.substr(0, port), "."));
}

// Returns whether `name`, which `NameOf()` has returned, is an IP address. No
// other name can end with a number or with a bracket.
bool IsIpAddress(absl::string_view name) {
  if (absl::ConsumePrefix(&name, "[")) {
    return absl::ConsumeSuffix(&name, "]") && absl::StrContains(name, ':') &&
           name.find_first_not_of("0123456789abcdef:.") == name.npos;
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '.');
  return parts.size() == 4 &&
         std::all_of(parts.begin(), parts.end(), [](absl::string_view part) {
           int number = 0;
           return IsNumber(part) && absl::SimpleAtoi(part, &number) &&
                  number <= 255;
         });
}

bool IsOneOf(const std::vector<std::string>& hosts, absl::string_view name) {
  return !name.empty() && std::any_of(hosts.begin(), hosts.end(),
                                      [name](absl::string_view host) {
                                        return NameOf(host) == name;
                                      });
}

}  // namespace

absl::Status CheckHost(const std::map<std::string, std::string>& headers,
                       const std::vector<std::string>& hosts) {
  const auto host = headers.find("host");
  if (host != headers.end()) {
    const std::string name = NameOf(host->second);
    if (name != "localhost" && !IsIpAddress(name) && !IsOneOf(hosts, name)) {
      return absl::PermissionDeniedError(
          absl::StrCat("host is \"", Printable(host->second),
                       "\"; it must be localhost, an IP address, or a name in "
                       "InspectHandlerOptions::hosts"));
    }
  }

  const auto origin = headers.find("origin");
  if (origin != headers.end()) {
    absl::string_view site = origin->second;
    site.remove_prefix(std::min(site.find("://"), site.size()));
    absl::ConsumePrefix(&site, "://");
    const bool same =
        host != headers.end() && absl::EqualsIgnoreCase(site, host->second);
    if (!same && !IsOneOf(hosts, NameOf(site))) {
      return absl::PermissionDeniedError(
          absl::StrCat("origin is \"", Printable(origin->second),
                       "\"; it must be the host of the request, or a name in "
                       "InspectHandlerOptions::hosts"));
    }
  }
  return absl::OkStatus();
}

}  // namespace internal
}  // namespace workqueue
