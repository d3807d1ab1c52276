// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/client.h"

#include <istream>
#include <memory>
#include <optional>
#include <streambuf>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/memory/memory.h"
#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "examples/kubernetes/api_error.h"
#include "examples/kubernetes/call_pool.h"
#include "examples/kubernetes/config.h"
#include "examples/kubernetes/http_call.h"
#include "examples/kubernetes/json.h"
#include "examples/kubernetes/resource.h"
#include "examples/kubernetes/url.h"
#include "examples/kubernetes/watcher.h"
#include "workqueue/clock/clock.h"
#include "workqueue/retry_after.h"

namespace kubernetes {
namespace {

constexpr int kMaxRetries = 10;                                // as client-go
constexpr absl::Duration kMinWatchTimeout = absl::Minutes(5);  // as client-go
constexpr absl::Duration kWatchGrace = absl::Seconds(30);

// Builds a path with a query.
class Target {
 public:
  explicit Target(std::string path) : target_(std::move(path)) {}

  // Adds a parameter, unless its value is empty.
  void Add(absl::string_view name, absl::string_view value) {
    if (value.empty()) return;
    absl::StrAppend(&target_, separator_, name, "=", PercentEscape(value));
    separator_ = "&";
  }

  std::string Build() && { return std::move(target_); }

 private:
  std::string target_;
  absl::string_view separator_ = "?";
};

// Tells a request in errors.
std::string Describe(const HttpRequest& request) {
  return absl::StrCat(request.method, " ",
                      request.target.substr(0, request.target.find('?')));
}

absl::Status WithRequest(const HttpRequest& request,
                         const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(Describe(request), ": ", status.message()));
}

// Reads the rest of the response's body.
absl::StatusOr<std::string> ReadBody(HttpCall& call) {
  std::string body;
  for (;;) {
    const absl::StatusOr<bool> read = call.Read(&body);
    if (!read.ok()) return read.status();
    if (!*read) return body;
  }
}

// BodyBuffer
//
// Reads the rest of a response's body for a stream. If that fails, the stream
// ends, and `status()` has the error.
class BodyBuffer final : public std::streambuf {
 public:
  explicit BodyBuffer(HttpCall* call) : call_(*call) {}

  const absl::Status& status() const { return status_; }

 protected:
  int_type underflow() override {
    part_.clear();
    const absl::StatusOr<bool> read = call_.Read(&part_);
    status_ = read.status();
    if (!read.ok() || !*read) return traits_type::eof();
    setg(part_.data(), part_.data(), part_.data() + part_.size());
    return traits_type::to_int_type(part_[0]);
  }

 private:
  HttpCall& call_;
  std::string part_;
  absl::Status status_;
};

// Returns the time after which the server asks to try again, or a negative time
// if it does not ask.
absl::Duration RetryAfter(int http_status, const HttpCall& call) {
  int seconds = 0;
  if ((http_status == 429 || http_status / 100 == 5) &&
      absl::SimpleAtoi(call.ResponseHeader("Retry-After"), &seconds) &&
      seconds >= 0) {
    return absl::Seconds(seconds);
  }
  return absl::Seconds(-1);
}

ObjectKey KeyOf(const Json& object) {
  return {std::string(StringAt(object, {"metadata", "namespace"})),
          std::string(StringAt(object, {"metadata", "name"}))};
}

// Returns a request of the method `method` with the body `json`.
absl::StatusOr<HttpRequest> RequestWithBody(std::string method,
                                            std::string target,
                                            const Json& json) {
  HttpRequest request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.content_type = "application/json";
  absl::StatusOr<std::string> body = SerializeJson(json);
  if (!body.ok()) return WithRequest(request, body.status());
  request.body = *std::move(body);
  return request;
}

HttpRequest GetRequest(std::string target) {
  HttpRequest request;
  request.method = "GET";
  request.target = std::move(target);
  return request;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Create(Config config,
                                                       ClientOptions options) {
  const absl::Status status = CheckConfig(config);
  if (!status.ok()) return status;
  absl::StatusOr<ServerUrl> url = ParseServerUrl(config.server);
  if (!url.ok()) return url.status();
  HttpEndpoint endpoint;
  endpoint.url = *std::move(url);
  endpoint.config = std::move(config);
  endpoint.user_agent = std::move(options.user_agent);
  return absl::WrapUnique(
      new Client(std::move(endpoint), workqueue::OrRealClock(options.clock)));
}

Client::Client(HttpEndpoint endpoint, workqueue::Clock* clock)
    : clock_(*clock),
      token_(endpoint.config.token, endpoint.config.token_file),
      calls_(std::move(endpoint), clock) {}

absl::StatusOr<CallPool::Call> Client::Send(
    const HttpRequest& request, absl::Time deadline,
    std::optional<absl::Duration> try_limit) {
  absl::StatusOr<CallPool::Call> call = calls_.Take();
  if (!call.ok()) return WithRequest(request, call.status());
  for (int retries = 0;; ++retries) {
    const absl::StatusOr<std::string> token = token_.Token();
    if (!token.ok()) return WithRequest(request, token.status());
    const absl::StatusOr<int> http_status = (*call)->Send(
        request, *token, try_limit.value_or(deadline - clock_.TimeNow()));
    if (!http_status.ok()) return WithRequest(request, http_status.status());
    if (*http_status / 100 == 2) return call;

    const absl::StatusOr<std::string> body = ReadBody(**call);
    if (!body.ok()) return WithRequest(request, body.status());
    const absl::Duration wait = RetryAfter(*http_status, **call);
    const absl::Time next = clock_.TimeNow() + wait;
    if (wait < absl::ZeroDuration() || retries == kMaxRetries ||
        next >= deadline) {
      absl::Status error =
          ResponseError(Describe(request), *http_status, *body);
      // Without a delay, the tries of a controller would be a hot loop.
      if (wait <= absl::ZeroDuration()) return error;
      return workqueue::RetryAfterError(std::move(error), wait);
    }
    if (!(*call)->WaitUntil(next)) {
      return WithRequest(request, absl::CancelledError("stopped"));
    }
  }
}

absl::StatusOr<Json> Client::Exchange(const HttpRequest& request,
                                      absl::Duration timeout) {
  absl::StatusOr<CallPool::Call> call =
      Send(request, clock_.TimeNow() + timeout);
  if (!call.ok()) return call.status();
  const absl::StatusOr<std::string> body = ReadBody(**call);
  if (!body.ok()) return WithRequest(request, body.status());
  call->reset();  // Another request may have the connection now.
  absl::StatusOr<Json> json = ParseJson(*body);
  if (!json.ok()) return WithRequest(request, json.status());
  return json;
}

absl::StatusOr<Json> Client::Get(const Resource& resource, const ObjectKey& key,
                                 absl::Duration timeout) {
  absl::StatusOr<std::string> path = ObjectPath(resource, key);
  if (!path.ok()) return path.status();
  return Exchange(GetRequest(*std::move(path)), timeout);
}

absl::StatusOr<ListPage> Client::List(
    const Resource& resource, const ListOptions& options,
    absl::FunctionRef<void(const Json& object)> on_item) {
  absl::StatusOr<std::string> path = CollectionPath(resource, options.ns);
  if (!path.ok()) return path.status();
  Target target(*std::move(path));
  target.Add("labelSelector", options.label_selector);
  target.Add("fieldSelector", options.field_selector);
  if (options.limit != 0) target.Add("limit", absl::StrCat(options.limit));
  target.Add("continue", options.continue_token);
  target.Add("resourceVersion", options.resource_version);
  target.Add("resourceVersionMatch", options.resource_version_match);
  const HttpRequest request = GetRequest(std::move(target).Build());
  const absl::StatusOr<CallPool::Call> call =
      Send(request, clock_.TimeNow() + options.timeout);
  if (!call.ok()) return call.status();

  BodyBuffer body(call->get());
  std::istream stream(&body);
  const absl::StatusOr<Json> list = ParseJsonList(stream, on_item);
  if (!body.status().ok()) return WithRequest(request, body.status());
  if (!list.ok()) return WithRequest(request, list.status());
  const Json* const items = ValueAt(*list, {"items"});
  // The array is empty if each item was an object.
  if (items == nullptr || !(items->is_array() || items->is_null()) ||
      !items->empty()) {
    return WithRequest(request, absl::InternalError("this is no list"));
  }
  return ListPage{std::string(StringAt(*list, {"metadata", "resourceVersion"})),
                  std::string(StringAt(*list, {"metadata", "continue"}))};
}

absl::StatusOr<Json> Client::Create(const Resource& resource,
                                    const Json& object,
                                    absl::Duration timeout) {
  const ObjectKey key = KeyOf(object);
  if (resource.namespaced && key.ns.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "metadata.namespace '': ", resource.plural, " are in namespaces"));
  }
  absl::StatusOr<std::string> path = CollectionPath(resource, key.ns);
  if (!path.ok()) return path.status();
  const absl::StatusOr<HttpRequest> request =
      RequestWithBody("POST", *std::move(path), object);
  if (!request.ok()) return request.status();
  return Exchange(*request, timeout);
}

absl::StatusOr<Json> Client::Update(const Resource& resource,
                                    const Json& object,
                                    absl::Duration timeout) {
  absl::StatusOr<std::string> path = ObjectPath(resource, KeyOf(object));
  if (!path.ok()) return path.status();
  const absl::StatusOr<HttpRequest> request =
      RequestWithBody("PUT", *std::move(path), object);
  if (!request.ok()) return request.status();
  return Exchange(*request, timeout);
}

absl::StatusOr<Json> Client::Patch(const Resource& resource, const Json& object,
                                   absl::Duration timeout) {
  absl::StatusOr<std::string> path = ObjectPath(resource, KeyOf(object));
  if (!path.ok()) return path.status();
  absl::StatusOr<HttpRequest> request =
      RequestWithBody("PATCH", *std::move(path), object);
  if (!request.ok()) return request.status();
  request->content_type = "application/merge-patch+json";
  return Exchange(*request, timeout);
}

absl::Status Client::Delete(const Resource& resource, const ObjectKey& key,
                            const DeleteOptions& options) {
  absl::StatusOr<std::string> path = ObjectPath(resource, key);
  if (!path.ok()) return path.status();
  Json body = {{"kind", "DeleteOptions"}, {"apiVersion", "v1"}};
  if (!options.uid.empty()) body["preconditions"]["uid"] = options.uid;
  if (!options.resource_version.empty()) {
    body["preconditions"]["resourceVersion"] = options.resource_version;
  }
  const absl::StatusOr<HttpRequest> request =
      RequestWithBody("DELETE", *std::move(path), body);
  if (!request.ok()) return request.status();
  return Exchange(*request, options.timeout).status();
}

absl::StatusOr<std::unique_ptr<Watcher>> Client::Watch(
    const Resource& resource, const WatchOptions& options) {
  absl::StatusOr<std::string> path = CollectionPath(resource, options.ns);
  if (!path.ok()) return path.status();
  absl::Duration timeout = options.timeout;
  if (timeout == absl::ZeroDuration()) {
    // Watches that began together do not end together.
    timeout = kMinWatchTimeout * absl::Uniform(absl::BitGen(), 1.0, 2.0);
  }
  if (timeout < absl::Seconds(1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "timeout is ", absl::FormatDuration(timeout), ", less than 1s"));
  }
  Target target(*path);
  target.Add("watch", "true");
  target.Add("resourceVersion", options.resource_version);
  target.Add("labelSelector", options.label_selector);
  target.Add("fieldSelector", options.field_selector);
  if (options.allow_bookmarks) target.Add("allowWatchBookmarks", "true");
  target.Add("timeoutSeconds", absl::StrCat(absl::ToInt64Seconds(timeout)));
  HttpRequest request = GetRequest(std::move(target).Build());
  request.silence_limit = options.silence_limit;
  absl::StatusOr<CallPool::Call> call =
      Send(request, clock_.TimeNow() + kRequestTimeout, timeout + kWatchGrace);
  if (!call.ok()) return call.status();
  return std::make_unique<Watcher>(*std::move(call),
                                   absl::StrCat("WATCH ", *path));
}

}  // namespace kubernetes
