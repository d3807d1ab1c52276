// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/async_probe/http_client.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_ASYNC_PROBE_HTTP_CLIENT_H_
#define WORKQUEUE_EXAMPLES_ASYNC_PROBE_HTTP_CLIENT_H_

#include <functional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"

namespace async_probe {

// Receives the status code of an answer, for example 200, or the error because
// of which there is no answer.
using HttpCallback = absl::AnyInvocable<void(absl::StatusOr<int>) &&>;

// HttpClient
//
// Sends HTTP requests without blocking. The prober uses this interface, so that
// its tests need no network.
class HttpClient {
 public:
  virtual ~HttpClient() = default;

  // Begins to get `target`, for example "/endpoints/17". Calls `done` once, on
  // any thread.
  //
  // Returns a function that cancels the request: if there is no answer yet,
  // `done` soon gets an error. The function may be called at any time, and from
  // any thread.
  virtual std::function<void()> Get(const std::string& target,
                                    HttpCallback done) = 0;
};

}  // namespace async_probe

#endif  // WORKQUEUE_EXAMPLES_ASYNC_PROBE_HTTP_CLIENT_H_
