// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/event_loop/curl_client.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_EVENT_LOOP_CURL_CLIENT_H_
#define WORKQUEUE_EXAMPLES_EVENT_LOOP_CURL_CLIENT_H_

#include <curl/curl.h>
#include <sys/epoll.h>

#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "examples/event_loop/epoll_loop.h"
#include "workqueue/timer/scheduler.h"

namespace event_loop {

// CurlClient
//
// Sends HTTP requests on an event loop, with libcurl's multi interface. The
// event loop tells libcurl when its sockets are ready, and a scheduler on the
// same loop when its time has come.
//
// libcurl looks up the names of hosts on a thread of its own. So a program
// without threads uses numeric addresses.
//
// Not thread-safe: the loop's thread makes all calls.
class CurlClient {
 public:
  using Callback = absl::AnyInvocable<void(absl::Status) &&>;

  // Neither is owned; both must outlive the client. `scheduler` must be on the
  // waiting loop of `loop`.
  CurlClient(EpollLoop* loop, workqueue::Scheduler* scheduler)
      : loop_(*loop), scheduler_(*scheduler) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi_ = curl_multi_init();
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, OnSocket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, OnTimeout);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  }

  ~CurlClient() {
    while (!requests_.empty()) Cancel(requests_.begin()->first);
    curl_multi_cleanup(multi_);
    scheduler_.Cancel(timeout_);
    curl_global_cleanup();
  }

  CurlClient(const CurlClient&) = delete;
  CurlClient& operator=(const CurlClient&) = delete;

  // Sends a GET. Calls `callback` once: with OK if the answer has the code 200,
  // and before it returns if the request cannot begin. Returns the number of
  // the request.
  uint64_t Get(const std::string& url, Callback callback) {
    const uint64_t number = next_number_++;
    CURL* const curl = curl_easy_init();
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    // Otherwise its end waits until the name has been looked up.
    curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, DropBody);
    requests_[number] = {curl, std::move(callback)};
    if (curl_multi_add_handle(multi_, curl) != CURLM_OK) {
      End(number, absl::UnavailableError("the request cannot begin"));
    }
    return number;
  }

  // Ends a request, and calls its callback with an error. Does nothing if the
  // request has ended.
  void Cancel(uint64_t number) {
    End(number, absl::CancelledError("the request has been cancelled"));
  }

 private:
  struct Request {
    CURL* curl;
    Callback callback;
  };

  static size_t DropBody(char*, size_t size, size_t count, void*) {
    return size * count;
  }

  static int OnSocket(CURL*, curl_socket_t fd, int what, void* self, void*) {
    auto* const client = static_cast<CurlClient*>(self);
    if (what == CURL_POLL_REMOVE) {
      client->loop_.Unwatch(fd);
      return 0;
    }
    const uint32_t events = (what == CURL_POLL_OUT ? 0u : EPOLLIN) |
                            (what == CURL_POLL_IN ? 0u : EPOLLOUT);
    try {
      client->loop_.Watch(fd, events, [client, fd](uint32_t ready) {
        const int curl_ready = ((ready & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                               ((ready & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0);
        client->Act(fd, (ready & ~(EPOLLIN | EPOLLOUT)) != 0
                            ? curl_ready | CURL_CSELECT_ERR
                            : curl_ready);
      });
    } catch (const std::exception&) {
      return -1;  // libcurl is in C.
    }
    return 0;
  }

  static int OnTimeout(CURLM*, long ms, void* self) {  // NOLINT(runtime/int)
    auto* const client = static_cast<CurlClient*>(self);
    client->scheduler_.Cancel(client->timeout_);
    if (ms < 0) return 0;
    const auto timeout = client->scheduler_.ScheduleOnce(
        [client] { client->Act(CURL_SOCKET_TIMEOUT, 0); },
        absl::Milliseconds(ms));
    client->timeout_ = timeout.value_or(workqueue::TaskId());
    return timeout.ok() ? 0 : -1;
  }

  // Lets libcurl work, and ends the requests that have their answer.
  void Act(curl_socket_t fd, int ready) {
    int running;
    if (curl_multi_socket_action(multi_, fd, ready, &running) != CURLM_OK) {
      // A callback has failed. This lets each request end with an error.
      curl_multi_perform(multi_, &running);
    }
    int left;
    while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode result = message->data.result;
      CURL* const curl = message->easy_handle;
      long code = 0;  // NOLINT(runtime/int)
      curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
      absl::Status status;
      if (result != CURLE_OK) {
        status = absl::UnavailableError(curl_easy_strerror(result));
      } else if (code != 200) {
        status = absl::UnavailableError(
            absl::StrCat("the server has answered ", code));
      }
      for (const auto& [number, request] : requests_) {
        if (request.curl != curl) continue;
        End(number, std::move(status));
        break;
      }
    }
  }

  void End(uint64_t number, absl::Status status) {
    auto request = requests_.extract(number);
    if (request.empty()) return;
    curl_multi_remove_handle(multi_, request.mapped().curl);
    curl_easy_cleanup(request.mapped().curl);
    std::move(request.mapped().callback)(std::move(status));
  }

  EpollLoop& loop_;
  workqueue::Scheduler& scheduler_;
  CURLM* multi_;
  workqueue::TaskId timeout_;  // when libcurl wants to be called
  std::map<uint64_t, Request> requests_;
  uint64_t next_number_ = 0;
};

}  // namespace event_loop

#endif  // WORKQUEUE_EXAMPLES_EVENT_LOOP_CURL_CLIENT_H_
