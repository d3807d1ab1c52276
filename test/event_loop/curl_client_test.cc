// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests the client and its event loop where the system refuses something.

#include "examples/event_loop/curl_client.h"

#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "examples/event_loop/epoll_loop.h"
#include "examples/event_loop/moody_server.h"
#include "gtest/gtest.h"
#include "workqueue/timer/scheduler.h"

namespace event_loop::curl_client_test {
namespace {

bool refuses = false;  // the next call of epoll_ctl()

constexpr char kSlowHost[] = "slow.test";

// Its lookup ends when the test has, but does not wait for ever.
absl::Notification lookup_began, lookup_may_end, lookup_ended;

class CurlClientTest : public testing::Test {
 protected:
  // Sends a request. Sets `status_` when it ends.
  void Get() {
    status_.reset();
    client_.Get(server_.url(), [this](absl::Status status) {
      EXPECT_FALSE(status_.has_value());
      status_ = std::move(status);
    });
  }

  absl::Status Await() {
    while (!status_.has_value()) loop_.RunOnce();
    return *status_;
  }

  std::unique_ptr<workqueue::Scheduler> NewScheduler() {
    workqueue::SchedulerOptions options;
    options.clock = loop_.waiting_loop();
    return *workqueue::Scheduler::Create(std::move(options));
  }

  EpollLoop loop_;
  const std::unique_ptr<workqueue::Scheduler> scheduler_ = NewScheduler();
  MoodyServer server_{&loop_};
  CurlClient client_{&loop_, scheduler_.get()};
  std::optional<absl::Status> status_;
};

TEST_F(CurlClientTest, ARequestThatCannotBeginEndsAtOnce) {
  scheduler_->ShutDown();
  Get();
  EXPECT_EQ(status_, absl::UnavailableError("the request cannot begin"));
}

TEST_F(CurlClientTest, ASocketThatCannotBeWatchedEndsTheRequest) {
  Get();
  refuses = true;
  EXPECT_TRUE(absl::IsUnavailable(Await())) << *status_;
  Get();
  EXPECT_EQ(Await(), absl::OkStatus());
}

TEST_F(CurlClientTest, CancelDoesNotWaitForTheLookupOfAName) {
  const uint64_t number =
      client_.Get(absl::StrCat("http://", kSlowHost),
                  [this](absl::Status status) { status_ = std::move(status); });
  while (!lookup_began.HasBeenNotified()) loop_.RunOnce();
  client_.Cancel(number);
  EXPECT_FALSE(lookup_ended.HasBeenNotified());
  EXPECT_TRUE(absl::IsCancelled(*status_)) << *status_;
  lookup_may_end.Notify();
  lookup_ended.WaitForNotification();
}

TEST(EpollLoopTest, AWatchThatIsRefusedLeavesNothing) {
  EpollLoop loop;
  const int fd = eventfd(1, EFD_CLOEXEC);
  refuses = true;
  EXPECT_THROW(loop.Watch(fd, EPOLLIN, nullptr), std::system_error);
  int events = 0;
  loop.Watch(fd, EPOLLIN, [&](uint32_t) { ++events; });
  loop.RunOnce();
  EXPECT_EQ(events, 1);
  loop.Unwatch(fd);
  close(fd);
}

}  // namespace

bool Refuses() { return std::exchange(refuses, false); }

int LookUp(const char* host) {
  if (host == nullptr || strcmp(host, kSlowHost) != 0) return 0;
  lookup_began.Notify();
  lookup_may_end.WaitForNotificationWithTimeout(absl::Seconds(10));
  lookup_ended.Notify();
  return EAI_FAIL;
}

}  // namespace event_loop::curl_client_test

// Take the place of the C library's functions.

extern "C" int epoll_ctl(int epoll, int op, int fd,
                         struct epoll_event* event) noexcept {
  if (event_loop::curl_client_test::Refuses()) {
    errno = ENOSPC;
    return -1;
  }
  return static_cast<int>(syscall(SYS_epoll_ctl, epoll, op, fd, event));
}

extern "C" int getaddrinfo(const char* host, const char* service,
                           const addrinfo* hints, addrinfo** result) {
  const int error = event_loop::curl_client_test::LookUp(host);
  if (error != 0) return error;
  static const auto next =
      reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return next(host, service, hints, result);
}
