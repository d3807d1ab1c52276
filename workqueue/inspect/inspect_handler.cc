// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/inspect_handler.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/printable.h"
#include "workqueue/inspect/inspectable.h"
#include "workqueue/inspect/inspection_json.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/inspect/internal/html.h"
#include "workqueue/inspect/internal/page.h"

namespace workqueue {
namespace {

// Returns 128 random bits, which another site cannot guess.
std::string NewSecret() {
  std::random_device random;
  std::string secret;
  for (int i = 0; i < 4; ++i) {
    absl::StrAppendFormat(&secret, "%08x", static_cast<uint32_t>(random()));
  }
  return secret;
}

// Returns whether `a` is `b`, a secret. Takes the same time for all texts of
// the length of `b`, so that nobody can guess one character after the other.
bool SameSecret(absl::string_view a, absl::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  }
  return difference == 0;
}

bool IsNumber(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

// Returns the host and the port of `url`, which may have no scheme.
absl::string_view HostOf(absl::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme != url.npos) url.remove_prefix(scheme + 3);
  return url.substr(0, url.find('/'));
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
                                        return NameOf(HostOf(host)) == name;
                                      });
}

// Checks the host that the `headers` of a request name: it must be localhost,
// an IP address, or one of `hosts`. Checks the origin, too: it must be the same
// host and port, or one of `hosts`. A header that is missing is right. Returns
// `absl::PermissionDeniedError` with the header and its value if one is wrong.
absl::Status CheckHost(const std::map<std::string, std::string>& headers,
                       const std::vector<std::string>& hosts) {
  const auto host = headers.find("host");
  if (host != headers.end()) {
    const std::string name = NameOf(host->second);
    if (name != "localhost" && !IsIpAddress(name) && !IsOneOf(hosts, name)) {
      return absl::PermissionDeniedError(
          absl::StrCat("host is \"", internal::Printable(host->second),
                       "\"; it must be localhost, an IP address, or a name in "
                       "InspectHandlerOptions::hosts"));
    }
  }

  const auto origin = headers.find("origin");
  if (origin != headers.end()) {
    const absl::string_view site = HostOf(origin->second);
    const bool same =
        host != headers.end() && absl::EqualsIgnoreCase(site, host->second);
    if (!same && !IsOneOf(hosts, NameOf(site))) {
      return absl::PermissionDeniedError(
          absl::StrCat("origin is \"", internal::Printable(origin->second),
                       "\"; it must be the host of the request, or a name in "
                       "InspectHandlerOptions::hosts"));
    }
  }
  return absl::OkStatus();
}

// Returns the parameter `name`; empty if there is none.
const std::string& Parameter(const InspectRequest& request, const char* name) {
  static const std::string* const empty = new std::string();
  const auto it = request.parameters.find(name);
  return it == request.parameters.end() ? *empty : it->second;
}

enum class Format { kHtml, kText, kJson };

absl::Status CheckFormat(const InspectRequest& request) {
  const std::string& format = Parameter(request, "format");
  if (request.parameters.count("format") == 0 || format == "html" ||
      format == "text" || format == "json") {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("format is \"", internal::Printable(format),
                   "\"; it must be html, text or json"));
}

Format FormatOf(const InspectRequest& request) {
  const std::string& format = Parameter(request, "format");
  if (format == "html") return Format::kHtml;
  if (format == "text") return Format::kText;
  if (format == "json") return Format::kJson;
  // A browser says that it accepts HTML, unlike programs of a terminal. Servers
  // may leave out the headers.
  const auto accept = request.headers.find("accept");
  return accept == request.headers.end() ||
                 absl::StrContains(absl::AsciiStrToLower(accept->second),
                                   "text/html")
             ? Format::kHtml
             : Format::kText;
}

std::optional<InspectAction> ParseAction(absl::string_view text) {
  if (text == "requeue") return InspectAction::kRequeue;
  if (text == "forget") return InspectAction::kForget;
  if (text == "cancel") return InspectAction::kCancel;
  return std::nullopt;
}

int HttpStatus(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kCancelled:  // The queue is shutting down.
    case absl::StatusCode::kFailedPrecondition:
      return 409;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kUnavailable:
      return 503;
    default:
      return 500;
  }
}

InspectResponse DataResponse(int status, const char* type, std::string body) {
  return {status,
          {{"Content-Type", type},
           {"X-Content-Type-Options", "nosniff"},
           {"Cache-Control", "no-store"}},
          std::move(body)};
}

InspectResponse JsonResponse(int status, std::string body) {
  return DataResponse(status, "application/json", std::move(body));
}

// Returns the options of a page. Only HTML has a nonce.
internal::PageOptions NewPage(Format format, std::string token = "") {
  if (format != Format::kHtml) return {/*text=*/true};
  return {/*text=*/false, NewSecret(), std::move(token)};
}

// Returns the response with the page `body`, which has been made with `page`.
InspectResponse PageResponse(int status, std::string body,
                             const internal::PageOptions& page) {
  if (page.text) {
    return DataResponse(status, "text/plain; charset=utf-8", std::move(body));
  }
  InspectResponse response =
      DataResponse(status, "text/html; charset=utf-8", std::move(body));
  response.headers.emplace_back(
      "Content-Security-Policy",
      absl::StrCat("default-src 'none'; script-src 'nonce-", page.nonce,
                   "'; style-src 'nonce-", page.nonce,
                   "'; connect-src 'self'; img-src data:; form-action 'self'; "
                   "base-uri 'none'; frame-ancestors 'none'"));
  response.headers.emplace_back("Referrer-Policy", "same-origin");
  return response;
}

InspectResponse Error(const InspectRequest& request,
                      const absl::Status& error) {
  const int status = HttpStatus(error);
  const Format format = FormatOf(request);
  if (format == Format::kJson) {
    return JsonResponse(status, InspectionErrorJson(error));
  }
  const internal::PageOptions page = NewPage(format);
  return PageResponse(status, internal::ErrorPage(error.message(), page), page);
}

}  // namespace

InspectHandler::InspectHandler(InspectionRegistry* registry,
                               InspectHandlerOptions options)
    : registry_(registry), options_(std::move(options)), token_(NewSecret()) {}

InspectResponse InspectHandler::Handle(const InspectRequest& request) {
  InspectResponse response;
  const absl::Status status =
      internal::CatchAsStatus([&] { response = Answer(request); });
  if (!status.ok()) response = Error(request, status);
  if (request.method == "HEAD") {
    response.headers.emplace_back("Content-Length",
                                  absl::StrCat(response.body.size()));
    response.body.clear();
  }
  return response;
}

InspectResponse InspectHandler::Answer(const InspectRequest& request) {
  absl::Status status = CheckHost(request.headers, options_.hosts);
  status.Update(CheckFormat(request));
  if (!status.ok()) return Error(request, status);
  if (request.method == "GET" || request.method == "HEAD") return Get(request);
  if (request.method == "POST") return Post(request);
  InspectResponse response =
      Error(request, absl::InvalidArgumentError(absl::StrCat(
                         "method is ", internal::Printable(request.method),
                         "; it must be GET, HEAD or POST")));
  response.status = 405;
  response.headers.emplace_back("Allow", "GET, HEAD, POST");
  return response;
}

InspectResponse InspectHandler::Get(const InspectRequest& request) {
  const std::string& name = Parameter(request, "name");
  const std::string& key = Parameter(request, "key");
  const Format format = FormatOf(request);
  const internal::PageOptions page =
      NewPage(format, options_.authorizer != nullptr ? token_ : "");

  if (request.parameters.count("name") == 0) {
    if (request.parameters.count("key") != 0) {
      return Error(request, absl::InvalidArgumentError(
                                absl::StrCat("name is missing, and key is \"",
                                             internal::Printable(key), "\"")));
    }
    const auto objects = registry_->InspectAll(internal::kMaxItemsOfOverview);
    return format == Format::kJson
               ? JsonResponse(200, InspectionJson(objects))
               : PageResponse(200, internal::OverviewPage(objects, page), page);
  }

  // An empty key is a key, if the request has one.
  const bool has_key = request.parameters.count("key") != 0;
  const absl::StatusOr<NamedInspection> object =
      has_key ? registry_->InspectKey(name, key)
              : registry_->Inspect(name, internal::kMaxItems);
  if (!object.ok()) return Error(request, object.status());
  if (has_key && !object->inspection.ok()) {
    return Error(request, object->inspection.status());
  }
  if (format == Format::kJson) {
    return JsonResponse(200, InspectionJson(*object));
  }
  return PageResponse(200,
                      has_key ? internal::KeyPage(*object, key, page)
                              : internal::ObjectPage(*object, page),
                      page);
}

InspectResponse InspectHandler::Post(const InspectRequest& request) {
  if (request.headers.count("workqueue-inspect") == 0 &&
      !SameSecret(Parameter(request, "token"), token_)) {
    return Error(request,
                 absl::PermissionDeniedError(
                     "the request has neither the header workqueue-inspect "
                     "nor the token of this page: reload the page"));
  }
  if (options_.authorizer == nullptr) {
    return Error(request, absl::PermissionDeniedError(
                              "this program permits no changes: it has no "
                              "authorizer"));
  }
  const absl::Status authorized = options_.authorizer(request);
  if (!authorized.ok()) return Error(request, authorized);

  const std::string& name = Parameter(request, "name");
  const std::string& key = Parameter(request, "key");
  const std::string& action_text = Parameter(request, "action");
  const std::optional<InspectAction> action = ParseAction(action_text);
  if (!action.has_value()) {
    return Error(request, absl::InvalidArgumentError(absl::StrCat(
                              "action is \"", internal::Printable(action_text),
                              "\"; it must be requeue, forget or cancel")));
  }
  for (const char* parameter : {"name", "key"}) {
    if (request.parameters.count(parameter) != 0) continue;
    return Error(request, absl::InvalidArgumentError(
                              absl::StrCat(parameter, " is missing")));
  }
  const absl::Status done = registry_->Act(name, *action, key);
  if (!done.ok()) return Error(request, done);
  if (FormatOf(request) != Format::kHtml) {
    InspectResponse response = Get(request);
    if (response.status == 200) return response;
    // Nobody shall repeat what has been done.
    response = Error(request, absl::UnknownError(absl::StrCat(
                                  "the change was made (", action_text,
                                  "), but the item cannot be shown now")));
    response.status = 200;
    return response;
  }
  // The browser loads the page of the item, so that a reload does not repeat
  // the action.
  internal::Html location;
  location.Markup("?name=").Parameter(name).Markup("&key=").Parameter(key);
  return {303, {{"Location", std::move(location).Take()}}, ""};
}

}  // namespace workqueue
