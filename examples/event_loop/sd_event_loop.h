// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/event_loop/sd_event_loop.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_EVENT_LOOP_SD_EVENT_LOOP_H_
#define WORKQUEUE_EXAMPLES_EVENT_LOOP_SD_EVENT_LOOP_H_

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <system_error>
#include <thread>  // NOLINT(build/c++11)

#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/timer/waiting_loop.h"

namespace event_loop {

// SdEventLoop
//
// Runs a `WaitingLoop` on an event loop of sd-event. The thread that runs the
// event loop destroys this object, or nobody runs the event loop meanwhile. The
// objects on `waiting_loop()` may outlive this one.
class SdEventLoop {
 public:
  // `clock` is as in `WaitingLoop`. Throws `std::system_error` if a source
  // cannot be made.
  explicit SdEventLoop(sd_event* event, workqueue::Clock* clock = nullptr)
      : loop_(std::make_shared<workqueue::WaitingLoop>(
            clock, [wakeup = wakeup_] { wakeup->Wake(); })) {
    constexpr uint64_t kAccuracyUs = 1;
    Check(wakeup_->fd < 0 ? -errno : 0);
    sd_event_source* source;
    Check(sd_event_add_io(event, &source, wakeup_->fd, EPOLLIN, OnWake, this));
    io_.reset(source);
    Check(sd_event_add_time(event, &source, CLOCK_MONOTONIC, 0, kAccuracyUs,
                            OnTime, this));
    timer_.reset(source);
    Check(sd_event_source_set_enabled(source, SD_EVENT_OFF));
    Check(sd_event_add_defer(event, &source, OnNow, this));
    now_.reset(source);
    wakeup_->now = source;
  }

  ~SdEventLoop() { wakeup_->thread = std::thread::id(); }

  SdEventLoop(const SdEventLoop&) = delete;
  SdEventLoop& operator=(const SdEventLoop&) = delete;

  const std::shared_ptr<workqueue::WaitingLoop>& waiting_loop() const {
    return loop_;
  }

 private:
  // What wakes the loop. It lives as long as somebody may use it.
  struct Wakeup {
    ~Wakeup() { close(fd); }

    void Wake() {
      if (thread == std::this_thread::get_id()) {
        sd_event_source_set_enabled(now, SD_EVENT_ONESHOT);  // no system call
      } else {
        eventfd_write(fd, 1);
      }
    }

    const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    std::atomic<std::thread::id> thread{};  // the one that runs the loop
    sd_event_source* now = nullptr;         // for that thread
  };

  struct Remove {
    void operator()(sd_event_source* source) const {
      sd_event_source_disable_unref(source);
    }
  };

  using Source = std::unique_ptr<sd_event_source, Remove>;

  static void Check(int result) {
    if (result >= 0) return;
    throw std::system_error(-result, std::generic_category());
  }

  static int OnWake(sd_event_source*, int fd, uint32_t, void* self) {
    eventfd_t count;
    eventfd_read(fd, &count);
    return static_cast<SdEventLoop*>(self)->Run();
  }

  static int OnTime(sd_event_source*, uint64_t, void* self) {
    static_cast<SdEventLoop*>(self)->timer_at_ = absl::InfiniteFuture();
    return static_cast<SdEventLoop*>(self)->Run();
  }

  static int OnNow(sd_event_source*, void* self) {
    return static_cast<SdEventLoop*>(self)->Run();
  }

  // Returns zero, or a negative error.
  int Run() {
    wakeup_->thread = std::this_thread::get_id();
    const absl::Time next_run = loop_->RunDue();
    const absl::Duration delay = next_run - loop_->clock()->TimeNow();
    if (delay <= absl::ZeroDuration()) {
      return sd_event_source_set_enabled(now_.get(), SD_EVENT_ONESHOT);
    }
    // A timer may expire too early, but not too late. So one that is set
    // already costs nothing, and a far time needs no far timer.
    if (next_run >= timer_at_) return 0;
    timer_at_ = next_run;
    const int error = sd_event_source_set_time_relative(
        timer_.get(),
        static_cast<uint64_t>(absl::ToInt64Microseconds(absl::Ceil(
            std::min(delay, absl::Hours(1)), absl::Microseconds(1)))));
    if (error < 0) return error;
    return sd_event_source_set_enabled(timer_.get(), SD_EVENT_ONESHOT);
  }

  const std::shared_ptr<Wakeup> wakeup_ = std::make_shared<Wakeup>();
  const std::shared_ptr<workqueue::WaitingLoop> loop_;
  Source io_;
  Source timer_;
  Source now_;
  absl::Time timer_at_ = absl::InfiniteFuture();  // what the timer is set for
};

}  // namespace event_loop

#endif  // WORKQUEUE_EXAMPLES_EVENT_LOOP_SD_EVENT_LOOP_H_
