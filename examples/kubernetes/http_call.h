// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/http_call.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_HTTP_CALL_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_HTTP_CALL_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "curl/curl.h"
#include "examples/kubernetes/config.h"
#include "examples/kubernetes/url.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"

namespace kubernetes {

// The server that calls go to, and how they introduce themselves.
struct HttpEndpoint {
  ServerUrl url;
  Config config;  // certificates and keys
  std::string user_agent;
};

struct HttpRequest {
  std::string method;
  std::string target;        // the path and the query
  std::string content_type;  // of the body; empty if there is no body
  std::string body;
  // The connection counts as lost if no byte of the response has come for this
  // time, in whole seconds. Zero means no limit.
  absl::Duration silence_limit = absl::ZeroDuration();
};

// HttpCall
//
// This class makes HTTP requests, one after another, on one connection that
// stays open in between. It consists of an easy handle and a multi handle of
// libcurl. With the multi handle, `Cancel()` wakes a thread that waits for the
// network at once.
//
// libcurl speaks HTTP/1.1 here. A request on a connection that the server has
// closed in the meantime is sent again on a new one. The system probes a silent
// connection after 30 seconds, and closes it if there is no answer within 15
// more, the limits of client-go's HTTP/2 connections. A server on another
// machine may be reached by the proxy that the environment names (see curl(1));
// a server on this machine is not, as in Go.
//
// Thread safety: only `Cancel()` and `cancelled()` may be called at the same
// time as another method.
class HttpCall {
 public:
  // `endpoint` and `clock` are not owned. They must outlive the call.
  static absl::StatusOr<std::unique_ptr<HttpCall>> Create(
      const HttpEndpoint* endpoint, workqueue::Clock* clock);
  ~HttpCall();

  HttpCall(const HttpCall&) = delete;
  HttpCall& operator=(const HttpCall&) = delete;

  // Sends a request, and blocks until the header of the response is there.
  // Returns the HTTP status. `token` is empty if there is none. `limit` is the
  // time until the end of the response's body, and may be infinite. Ends the
  // request before, if there was one.
  absl::StatusOr<int> Send(const HttpRequest& request, const std::string& token,
                           absl::Duration limit);

  // Returns a field of the response's header, or an empty string. The name is
  // not case-sensitive.
  std::string ResponseHeader(const char* name) const;

  // Appends the next part of the response's body to `*body`. Blocks until there
  // is one. Returns false if the body has ended. An error is Cancelled after
  // `Cancel()`, DeadlineExceeded after a limit of the request, and Unavailable
  // if the connection was lost.
  absl::StatusOr<bool> Read(std::string* body);

  // Blocks until the clock reaches `wakeup_time`, and returns true, or until
  // `Cancel()`, and returns false.
  bool WaitUntil(absl::Time wakeup_time);

  // Ends the request. If the response is not complete, closes the connection.
  void End();

  // Wakes the thread that blocks in this call. That thread and later ones then
  // get the error Cancelled. Does not block.
  void Cancel();

  bool cancelled() const { return cancelled_; }

 private:
  template <auto kFree>
  struct FreeBy {
    template <typename T>
    void operator()(T* resource) const {
      kFree(resource);
    }
  };

  HttpCall(const HttpEndpoint* endpoint, workqueue::Clock* clock);

  static size_t OnHeader(char* data, size_t size, size_t n, void* call);
  static size_t OnBody(char* data, size_t size, size_t n, void* call);

  template <typename T>
  void Set(CURLoption option, T value);
  void SetBlob(CURLoption option, const std::string& contents);
  void SetConstantOptions();
  void SetHeaders(const HttpRequest& request, const std::string& token);

  // Blocks until a header or a part of the body has come, or the request has
  // ended.
  absl::Status Advance();

  const HttpEndpoint& endpoint_;
  workqueue::Clock* const clock_;
  const std::unique_ptr<workqueue::Parker> parker_;
  std::atomic<bool> cancelled_{false};

  std::unique_ptr<CURLM, FreeBy<curl_multi_cleanup>> multi_;
  std::unique_ptr<CURL, FreeBy<curl_easy_cleanup>> easy_;
  std::unique_ptr<curl_slist, FreeBy<curl_slist_free_all>> headers_;
  CURLcode option_error_ = CURLE_OK;  // the first error of Set()

  // The current request.
  bool in_progress_ = false;
  bool has_header_ = false;  // The whole header of the response is there.
  bool ended_ = false;
  CURLcode result_ = CURLE_OK;  // if it has ended
  std::string body_;            // the part that has not been read yet
  char error_[CURL_ERROR_SIZE] = {};
};

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_HTTP_CALL_H_
