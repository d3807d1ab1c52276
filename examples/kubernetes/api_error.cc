// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/api_error.h"

#include <cstddef>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "examples/kubernetes/json.h"

namespace kubernetes {
namespace {

// How much of a body that is no Status a message has.
constexpr size_t kExcerpt = 200;

constexpr char kTooLarge[] = "ResourceVersionTooLarge";

absl::StatusCode CodeOf(int http_status, absl::string_view reason) {
  if (reason == "Expired" || reason == "Gone" || reason == kTooLarge) {
    return absl::StatusCode::kOutOfRange;
  }
  switch (http_status) {
    case 400:
    case 422:
      return absl::StatusCode::kInvalidArgument;
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kNotFound;
    case 409:
      return reason == "AlreadyExists" ? absl::StatusCode::kAlreadyExists
                                       : absl::StatusCode::kAborted;
    case 410:
      return absl::StatusCode::kOutOfRange;
    case 429:
      return absl::StatusCode::kResourceExhausted;
    case 502:
    case 503:
    case 504:
      return absl::StatusCode::kUnavailable;
    default:
      return http_status >= 500 && http_status < 600
                 ? absl::StatusCode::kInternal
                 : absl::StatusCode::kUnknown;
  }
}

absl::Status Error(absl::string_view request, int http_status,
                   absl::string_view reason, absl::string_view message) {
  return absl::Status(CodeOf(http_status, reason),
                      absl::StrCat(request, ": ", message, " (", http_status,
                                   reason.empty() ? "" : " ", reason, ")"));
}

// Returns the reason of an object of kind Status.
absl::string_view ReasonOf(const Json& status) {
  const Json* const causes = ValueAt(status, {"details", "causes"});
  const bool too_large =
      causes != nullptr && absl::c_any_of(*causes, [](const Json& cause) {
        return StringAt(cause, {"reason"}) == kTooLarge;
      });
  return too_large ? kTooLarge : StringAt(status, {"reason"});
}

}  // namespace

absl::Status ResponseError(absl::string_view request, int http_status,
                           absl::string_view body) {
  const absl::StatusOr<Json> status = ParseJson(body);
  if (status.ok() && StringAt(*status, {"kind"}) == "Status") {
    return Error(request, http_status, ReasonOf(*status),
                 StringAt(*status, {"message"}));
  }
  return Error(request, http_status, "", body.substr(0, kExcerpt));
}

absl::Status StatusObjectError(absl::string_view request, const Json& status) {
  const Json* const code = ValueAt(status, {"code"});
  return Error(
      request,
      code != nullptr && code->is_number_integer() ? code->get<int>() : 0,
      ReasonOf(status), StringAt(status, {"message"}));
}

}  // namespace kubernetes
