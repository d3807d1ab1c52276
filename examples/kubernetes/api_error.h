// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/api_error.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_API_ERROR_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_API_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "examples/kubernetes/json.h"

namespace kubernetes {

// Returns the error that the API server reports with `http_status` and `body`.
// `request` tells the request that failed, for example
// "GET /api/v1/namespaces/a".
//
// | HTTP | reason | error |
// | 400, 422 | | InvalidArgument |
// | 401 | | Unauthenticated |
// | 403 | | PermissionDenied |
// | 404 | | NotFound |
// | 409 | AlreadyExists | AlreadyExists |
// | 409 | any other, such as Conflict | Aborted |
// | 410 | | OutOfRange |
// | any | Expired or Gone, or the cause ResourceVersionTooLarge | OutOfRange |
// | 429 | | ResourceExhausted |
// | 502, 503, 504 | | Unavailable |
// | any other 5xx | | Internal |
// | any other | | Unknown |
//
// The reason and the message are those of the object of kind Status in the
// body. If the body is something else, the message has its start.
absl::Status ResponseError(absl::string_view request, int http_status,
                           absl::string_view body);

// Returns the error that the object `status`, of kind Status, describes, by the
// same table.
absl::Status StatusObjectError(absl::string_view request, const Json& status);

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_API_ERROR_H_
