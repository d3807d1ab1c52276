// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests the client and its event loop where the system refuses something.

#include "examples/event_loop/curl_client.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "examples/event_loop/epoll_loop.h"
#include "examples/event_loop/moody_server.h"
#include "gtest/gtest.h"
#include "workqueue/timer/scheduler.h"

namespace event_loop::curl_client_test {
namespace {

bool refuses = false;  // the next call of epoll_ctl()

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

}  // namespace event_loop::curl_client_test

// Takes the place of the C library's function.
extern "C" int epoll_ctl(int epoll, int op, int fd,
                         struct epoll_event* event) noexcept {
  if (event_loop::curl_client_test::Refuses()) {
    errno = ENOSPC;
    return -1;
  }
  return static_cast<int>(syscall(SYS_epoll_ctl, epoll, op, fd, event));
}
