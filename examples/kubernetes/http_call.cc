// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/http_call.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "curl/curl.h"
#include "examples/kubernetes/config.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"

namespace kubernetes {
namespace {

constexpr absl::Duration kConnectLimit = absl::Seconds(30);  // as client-go

// The keep-alive probes of TCP: the time before the first one, the interval,
// and the number of those without an answer after which the connection is lost.
constexpr int kKeepAliveIdleSeconds = 30;
constexpr int kKeepAliveIntervalSeconds = 5;
constexpr int kKeepAliveProbes = 3;

// libcurl wakes earlier if it has something to do.
constexpr int kPollMilliseconds = std::numeric_limits<int>::max();

absl::Status ErrorOf(CURLcode code, absl::string_view detail) {
  absl::StatusCode status = absl::StatusCode::kUnavailable;
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      status = absl::StatusCode::kDeadlineExceeded;
      break;
    // The configuration has a certificate or a key that cannot be used.
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
      status = absl::StatusCode::kFailedPrecondition;
      break;
    default:
      break;
  }
  return absl::Status(status,
                      detail.empty() ? curl_easy_strerror(code) : detail);
}

absl::Status CancelledError() {
  return absl::CancelledError("the request was stopped");
}

// libcurl takes 0 for no limit.
long ToMilliseconds(absl::Duration limit) {  // NOLINT(runtime/int)
  if (limit == absl::InfiniteDuration()) return 0;
  return static_cast<long>(  // NOLINT(runtime/int)
      std::clamp<int64_t>(absl::ToInt64Milliseconds(limit), 1,
                          std::numeric_limits<int32_t>::max()));
}

// libcurl calls this for each new socket.
int SetKeepAlive(void* /*data*/, curl_socket_t socket, curlsocktype) {
  const auto set = [socket](int level, int option, int value) {
    return setsockopt(socket, level, option, &value, sizeof(value)) == 0;
  };
  const bool all_set =
      set(SOL_SOCKET, SO_KEEPALIVE, 1) &&
      set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds) &&
      set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds) &&
      set(IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
  return all_set ? CURL_SOCKOPT_OK : CURL_SOCKOPT_ERROR;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpCall>> HttpCall::Create(
    const HttpEndpoint* endpoint, workqueue::Clock* clock) {
  // This is thread-safe since libcurl 7.84.
  static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);
  auto call = absl::WrapUnique(new HttpCall(endpoint, clock));
  if (global != CURLE_OK || call->easy_ == nullptr || call->multi_ == nullptr) {
    return absl::InternalError("libcurl cannot be initialized");
  }
  call->SetConstantOptions();
  if (call->option_error_ == CURLE_OK) return call;
  return absl::InternalError(
      absl::StrCat("libcurl: ", curl_easy_strerror(call->option_error_)));
}

HttpCall::HttpCall(const HttpEndpoint* endpoint, workqueue::Clock* clock)
    : endpoint_(*endpoint),
      clock_(clock),
      parker_(clock->NewParker(workqueue::Parker::Role::kCaller)),
      multi_(curl_multi_init()),
      easy_(curl_easy_init()) {}

HttpCall::~HttpCall() { End(); }

template <typename T>
void HttpCall::Set(CURLoption option, T value) {
  const CURLcode code = curl_easy_setopt(easy_.get(), option, value);
  if (option_error_ == CURLE_OK) option_error_ = code;
}

void HttpCall::SetBlob(CURLoption option, const std::string& contents) {
  if (contents.empty()) return;
  struct curl_blob blob = {};
  blob.data = const_cast<char*>(contents.data());
  blob.len = contents.size();
  blob.flags = CURL_BLOB_NOCOPY;  // endpoint_ outlives the handle.
  Set(option, &blob);
}

void HttpCall::SetConstantOptions() {
  Set(CURLOPT_ERRORBUFFER, error_);
  Set(CURLOPT_WRITEFUNCTION, &HttpCall::OnBody);
  Set(CURLOPT_WRITEDATA, this);
  Set(CURLOPT_HEADERFUNCTION, &HttpCall::OnHeader);
  Set(CURLOPT_HEADERDATA, this);
  Set(CURLOPT_USERAGENT, endpoint_.user_agent.c_str());
  Set(CURLOPT_NOSIGNAL, 1L);
  // Otherwise the end of a request waits until its name has been looked up.
  Set(CURLOPT_QUICK_EXIT, 1L);
  Set(CURLOPT_PATH_AS_IS, 1L);
  Set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  // The header of a proxy's response is none of the server's.
  Set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  if (endpoint_.url.is_loopback) Set(CURLOPT_PROXY, "");

  Set(CURLOPT_CONNECTTIMEOUT_MS, ToMilliseconds(kConnectLimit));
  Set(CURLOPT_SOCKOPTFUNCTION, &SetKeepAlive);
  Set(CURLOPT_LOW_SPEED_LIMIT, 1L);  // of bytes a second; less is silence

  const Config& config = endpoint_.config;
  Set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
  if (config.insecure_skip_tls_verify) {
    Set(CURLOPT_SSL_VERIFYPEER, 0L);
    Set(CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (!config.ca.empty()) {
    SetBlob(CURLOPT_CAINFO_BLOB, config.ca);
    // Otherwise the system's authorities are trusted, too.
    Set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  SetBlob(CURLOPT_SSLCERT_BLOB, config.client_cert);
  SetBlob(CURLOPT_SSLKEY_BLOB, config.client_key);
}

void HttpCall::SetHeaders(const HttpRequest& request,
                          const std::string& token) {
  headers_.reset();
  const auto add = [this](const std::string& header) {
    curl_slist* const longer =
        curl_slist_append(headers_.get(), header.c_str());
    if (longer == nullptr) {
      option_error_ = CURLE_OUT_OF_MEMORY;
      return;
    }
    (void)headers_.release();
    headers_.reset(longer);
  };
  add("Accept: application/json");
  if (!token.empty()) add(absl::StrCat("Authorization: Bearer ", token));
  if (!request.content_type.empty()) {
    add(absl::StrCat("Content-Type: ", request.content_type));
    add("Expect:");  // Send a large body without waiting for permission.
  }
  Set(CURLOPT_HTTPHEADER, headers_.get());
}

absl::StatusOr<int> HttpCall::Send(const HttpRequest& request,
                                   const std::string& token,
                                   absl::Duration limit) {
  End();
  if (limit <= absl::ZeroDuration()) {
    return absl::DeadlineExceededError("no time is left for the request");
  }
  option_error_ = CURLE_OK;
  Set(CURLOPT_URL, absl::StrCat(endpoint_.url.base, request.target).c_str());
  Set(CURLOPT_TIMEOUT_MS, ToMilliseconds(limit));
  Set(CURLOPT_LOW_SPEED_TIME, ToMilliseconds(request.silence_limit) / 1000);
  SetHeaders(request, token);
  Set(CURLOPT_HTTPGET, 1L);
  if (!request.content_type.empty()) {
    Set(CURLOPT_POSTFIELDSIZE_LARGE,
        static_cast<curl_off_t>(request.body.size()));
    Set(CURLOPT_COPYPOSTFIELDS, request.body.c_str());
  }
  Set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (option_error_ != CURLE_OK) return ErrorOf(option_error_, "");

  has_header_ = false;
  ended_ = false;
  result_ = CURLE_OK;
  body_.clear();
  error_[0] = 0;
  if (curl_multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK) {
    return absl::InternalError("libcurl cannot begin a request");
  }
  in_progress_ = true;
  while (!has_header_ && !ended_) {
    const absl::Status status = Advance();
    if (!status.ok()) return status;
  }
  if (!has_header_) return ErrorOf(result_, error_);
  long http_status = 0;  // NOLINT(runtime/int)
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &http_status);
  return static_cast<int>(http_status);
}

std::string HttpCall::ResponseHeader(const char* name) const {
  curl_header* header = nullptr;
  if (curl_easy_header(easy_.get(), name, 0, CURLH_HEADER, -1, &header) !=
      CURLHE_OK) {
    return "";
  }
  return header->value;
}

absl::StatusOr<bool> HttpCall::Read(std::string* body) {
  while (body_.empty() && !ended_) {
    const absl::Status status = Advance();
    if (!status.ok()) return status;
  }
  if (cancelled_) return CancelledError();
  if (!body_.empty()) {
    body->append(body_);
    body_.clear();
    return true;
  }
  if (result_ != CURLE_OK) return ErrorOf(result_, error_);
  return false;
}

absl::Status HttpCall::Advance() {
  const bool had_header = has_header_;
  for (;;) {
    if (cancelled_) return CancelledError();
    int running = 0;
    CURLMcode code = curl_multi_perform(multi_.get(), &running);
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      ended_ = true;
      result_ = message->data.result;
    }
    if (ended_ || has_header_ != had_header || !body_.empty()) {
      return absl::OkStatus();
    }
    if (code == CURLM_OK) {
      code =
          curl_multi_poll(multi_.get(), nullptr, 0, kPollMilliseconds, nullptr);
    }
    if (code != CURLM_OK) {
      return absl::InternalError(
          absl::StrCat("libcurl: ", curl_multi_strerror(code)));
    }
  }
}

bool HttpCall::WaitUntil(absl::Time wakeup_time) {
  while (!cancelled_ && clock_->TimeNow() < wakeup_time) {
    parker_->ParkUntil(wakeup_time);
  }
  return !cancelled_;
}

void HttpCall::End() {
  if (!in_progress_) return;
  curl_multi_remove_handle(multi_.get(), easy_.get());
  in_progress_ = false;
}

void HttpCall::Cancel() {
  cancelled_ = true;
  curl_multi_wakeup(multi_.get());
  parker_->Unpark();
}

size_t HttpCall::OnHeader(char* data, size_t size, size_t n, void* call) {
  auto* const self = static_cast<HttpCall*>(call);
  long http_status = 0;  // NOLINT(runtime/int)
  curl_easy_getinfo(self->easy_.get(), CURLINFO_RESPONSE_CODE, &http_status);
  // An empty line ends the header. Those below 200 announce another response.
  if (absl::string_view(data, size * n) == "\r\n" && http_status >= 200) {
    self->has_header_ = true;
  }
  return size * n;
}

size_t HttpCall::OnBody(char* data, size_t size, size_t n, void* call) {
  static_cast<HttpCall*>(call)->body_.append(data, size * n);
  return size * n;
}

}  // namespace kubernetes
