// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/client.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_CLIENT_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_CLIENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "examples/kubernetes/call_pool.h"
#include "examples/kubernetes/config.h"
#include "examples/kubernetes/http_call.h"
#include "examples/kubernetes/json.h"
#include "examples/kubernetes/resource.h"
#include "examples/kubernetes/token_source.h"
#include "examples/kubernetes/watcher.h"
#include "workqueue/clock/clock.h"

namespace kubernetes {

// The time limit of a request, including all its tries. An API server itself
// works at a request for so long by default.
inline constexpr absl::Duration kRequestTimeout = absl::Minutes(1);

struct ClientOptions {
  std::string user_agent = "workqueue-example";
  // Measures the time limits, and the waits between the tries of a request.
  // Within a try, libcurl measures the time. Null means the real clock.
  workqueue::Clock* clock = nullptr;
};

struct ListOptions {
  std::string ns;  // empty for all namespaces
  std::string label_selector;
  std::string field_selector;
  int64_t limit = 0;           // of objects in the page; 0 means no limit
  std::string continue_token;  // that of the previous page
  std::string resource_version;
  std::string resource_version_match;  // Exact or NotOlderThan
  absl::Duration timeout = kRequestTimeout;
};

struct ListPage {
  std::string resource_version;
  std::string continue_token;  // empty if this is the last page
};

// The object is deleted only if it has this uid and this resourceVersion. An
// empty one does not matter. Otherwise the error is Aborted.
struct DeleteOptions {
  std::string uid;
  std::string resource_version;
  absl::Duration timeout = kRequestTimeout;
};

struct WatchOptions {
  std::string ns;  // empty for all namespaces
  std::string resource_version;
  std::string label_selector;
  std::string field_selector;
  bool allow_bookmarks = true;
  // The time without a byte from the server after which the connection counts
  // as lost, in whole seconds. A server sends a bookmark each minute, but not
  // if its state has not changed since it started. Zero means no limit.
  absl::Duration silence_limit = absl::Minutes(2);
  // The time after which the server ends the stream, in whole seconds. Zero
  // means a random time of 5 to 10 minutes, as in client-go's reflector. The
  // client ends the stream itself 30 seconds after that time.
  absl::Duration timeout = absl::ZeroDuration();
};

// Client
//
// A client of the API server of Kubernetes. Objects are JSON, as the server
// sends and receives them, but without metadata.managedFields. An update
// without these leaves them to the server.
//
// Each method blocks until the server has answered. These are the errors:
//
// - An error that the server reports; see api_error.h. The message has the
//   method, the path and the server's message.
// - InvalidArgument: an argument is wrong, or an object has no valid name. The
//   message names the field.
// - DeadlineExceeded: the time limit has passed.
// - Unavailable: the server could not be reached, or the connection was lost.
//   The server may have handled the request.
// - FailedPrecondition: the certificates, the key or the token of the
//   configuration cannot be used.
// - Internal: the server's answer cannot be understood.
// - Cancelled: `Stop()` was called.
//
// If the server answers 429 or 5xx with a `Retry-After` in seconds, the method
// waits for that time and tries again, up to 10 times, as client-go does. If
// the wait would pass the time limit, the method returns the server's error at
// once. This error, and that of the last try, is a `RetryAfterError()`
// (workqueue/retry_after.h) with the server's time, unless that is zero. So a
// reconcile function that returns the error is called again then.
//
// Thread-safe. Connections stay open and are used again; see call_pool.h. There
// is no limit on the rate of requests.
class Client {
 public:
  // Checks `config`. Does not connect. The clock must outlive the client.
  static absl::StatusOr<std::unique_ptr<Client>> Create(
      Config config, ClientOptions options = {});

  // Returns an object.
  absl::StatusOr<Json> Get(const Resource& resource, const ObjectKey& key,
                           absl::Duration timeout = kRequestTimeout);

  // Lists one page of the objects of `resource`. Calls `on_item` with each
  // object as soon as it has arrived. If the answer breaks off, this is an
  // error after some calls. The server leaves out `kind` and `apiVersion` of
  // most objects in a list.
  absl::StatusOr<ListPage> List(
      const Resource& resource, const ListOptions& options,
      absl::FunctionRef<void(const Json& object)> on_item);

  // The next three methods take the namespace and the name from the metadata of
  // `object`, and return the object as the server has it then.

  // Creates an object.
  absl::StatusOr<Json> Create(const Resource& resource, const Json& object,
                              absl::Duration timeout = kRequestTimeout);

  // Replaces an object. If `object` has a resourceVersion and the server has
  // another one, this is the error Aborted.
  absl::StatusOr<Json> Update(const Resource& resource, const Json& object,
                              absl::Duration timeout = kRequestTimeout);

  // Replaces only the fields that `object` has, by a JSON merge patch: a list
  // as a whole. A resourceVersion is the condition that `Update()` has.
  absl::StatusOr<Json> Patch(const Resource& resource, const Json& object,
                             absl::Duration timeout = kRequestTimeout);

  // Deletes an object, or begins to, if the object has finalizers.
  absl::Status Delete(const Resource& resource, const ObjectKey& key,
                      const DeleteOptions& options = {});

  // Opens a stream of the changes of `resource` since
  // `options.resource_version`. Returns when the server has accepted or
  // refused. No try begins later than `kRequestTimeout` after the call. The
  // client must outlive the watcher.
  absl::StatusOr<std::unique_ptr<Watcher>> Watch(const Resource& resource,
                                                 const WatchOptions& options);

  // Ends all requests and watches with the error Cancelled, and all later ones.
  // Does not block. To end only some, for example the watches before the last
  // update of a lease, make them with a client of their own.
  void Stop() { calls_.Stop(); }

 private:
  Client(HttpEndpoint endpoint, workqueue::Clock* clock);

  // Sends a request, and again as the server says. Returns when the header of a
  // response of success has come. No try begins after `deadline`. `try_limit`
  // is the time limit of a single try, including the response's body. If there
  // is none, each try ends at `deadline`.
  absl::StatusOr<CallPool::Call> Send(
      const HttpRequest& request, absl::Time deadline,
      std::optional<absl::Duration> try_limit = std::nullopt);

  // Sends a request, and returns the body of the response.
  absl::StatusOr<Json> Exchange(const HttpRequest& request,
                                absl::Duration timeout);

  workqueue::Clock& clock_;
  TokenSource token_;
  CallPool calls_;
};

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_CLIENT_H_
