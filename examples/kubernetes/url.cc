// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/url.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "curl/curl.h"

namespace kubernetes {
namespace {

struct Free {
  void operator()(char* text) const { curl_free(text); }
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

// Returns a part of `url`, which is empty if `url` does not have it.
std::string Part(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return "";
  return std::unique_ptr<char, Free>(text).get();
}

bool IsLoopback(std::string host) {
  if (absl::EqualsIgnoreCase(host, "localhost")) return true;
  struct in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return ntohl(v4.s_addr) >> 24 == 127;
  }
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
    host = host.substr(1, host.size() - 2);
  }
  struct in6_addr v6;
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 &&
         IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace

std::string PercentEscape(absl::string_view text) {
  if (text.empty()) return "";  // curl takes 0 for an unknown length.
  const std::unique_ptr<char, Free> escaped(
      curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())));
  return escaped.get();
}

absl::StatusOr<ServerUrl> ParseServerUrl(const std::string& text) {
  const auto error = [&text](absl::string_view reason) {
    return absl::InvalidArgumentError(
        absl::StrCat("server '", text, "': ", reason));
  };
  const std::unique_ptr<CURLU, Free> url(curl_url());
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, text.c_str(),
                                      CURLU_NON_SUPPORT_SCHEME);
  if (code != CURLUE_OK) return error(curl_url_strerror(code));
  const std::string scheme = Part(url.get(), CURLUPART_SCHEME);
  if (scheme != "https" && scheme != "http") {
    return error("the scheme must be https or http");
  }
  for (const CURLUPart part : {CURLUPART_QUERY, CURLUPART_FRAGMENT,
                               CURLUPART_USER, CURLUPART_PASSWORD}) {
    if (!Part(url.get(), part).empty()) {
      return error("only a scheme, a host, a port and a path are allowed");
    }
  }
  ServerUrl result;
  result.base =
      std::string(absl::StripSuffix(Part(url.get(), CURLUPART_URL), "/"));
  result.is_loopback = IsLoopback(Part(url.get(), CURLUPART_HOST));
  return result;
}

}  // namespace kubernetes
