// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/event_loop/epoll_loop.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_EVENT_LOOP_EPOLL_LOOP_H_
#define WORKQUEUE_EXAMPLES_EVENT_LOOP_EPOLL_LOOP_H_

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/timer/waiting_loop.h"

namespace event_loop {

// EpollLoop
//
// An event loop for one thread, made of epoll, eventfd and timerfd. It runs a
// `WaitingLoop`, and calls back when a file descriptor is ready.
//
// Not thread-safe: the thread that runs the loop makes all calls, or nobody
// runs the loop. The objects on `waiting_loop()` may outlive this one.
class EpollLoop {
 public:
  using Callback = std::function<void(uint32_t events)>;

  // `clock` is as in `WaitingLoop`. Throws `std::system_error` if there are no
  // file descriptors left.
  explicit EpollLoop(workqueue::Clock* clock = nullptr)
      : loop_(std::make_shared<workqueue::WaitingLoop>(
            clock, [wakeup = wakeup_] { wakeup->Wake(); })) {
    Watch(wakeup_->fd.get(), EPOLLIN,
          [this](uint32_t) { Consume(wakeup_->fd); });
    Watch(timer_.get(), EPOLLIN, [this](uint32_t) {
      Consume(timer_);
      timer_at_ = absl::InfiniteFuture();
    });
  }

  EpollLoop(const EpollLoop&) = delete;
  EpollLoop& operator=(const EpollLoop&) = delete;

  const std::shared_ptr<workqueue::WaitingLoop>& waiting_loop() const {
    return loop_;
  }

  // Calls `callback` when `fd` has one of `events`, as epoll_ctl(2) names them.
  // Takes the place of an earlier call for `fd`. Throws `std::system_error` if
  // the system refuses, and then changes nothing.
  void Watch(int fd, uint32_t events, Callback callback) {
    struct epoll_event event = {};
    event.events = events;
    event.data.fd = fd;
    const int add = callbacks_.count(fd) == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    Checked(epoll_ctl(epoll_.get(), add, fd, &event));
    callbacks_[fd] = std::make_shared<Callback>(std::move(callback));
  }

  // Ends that. `fd` must still be open. A callback may call this.
  void Unwatch(int fd) {
    if (callbacks_.erase(fd) > 0) {
      epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    }
  }

  // Calls `RunOnce()` until a callback, or something on the waiting loop, calls
  // `Stop()`.
  void Run() {
    while (!stopped_) RunOnce();
    stopped_ = false;
  }

  // Runs what is due, waits for one event, and calls back. One, because the
  // callback of an event may end the watch of another.
  void RunOnce() {
    // From here on a wake-up needs the eventfd. One that comes before does not:
    // what it was for is due now.
    wakeup_->asleep = true;
    const absl::Time next_run = loop_->RunDue();
    const absl::Duration delay = next_run - loop_->clock()->TimeNow();
    const bool waits = delay > absl::ZeroDuration() && !stopped_;
    if (waits) SetTimer(next_run, delay);
    struct epoll_event event;
    const int events = epoll_wait(epoll_.get(), &event, 1, waits ? -1 : 0);
    wakeup_->asleep = false;
    if (events <= 0) return;  // nothing yet, or a signal
    const auto callback = callbacks_.at(event.data.fd);
    (*callback)(event.events);
  }

  void Stop() { stopped_ = true; }

 private:
  struct Fd {
    explicit Fd(int fd) : fd_(Checked(fd)) {}
    ~Fd() { close(fd_); }
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;
    int get() const { return fd_; }

   private:
    const int fd_;
  };

  // What another thread uses to wake the loop. It lives as long as somebody
  // may use it.
  struct Wakeup {
    void Wake() {
      if (asleep.exchange(false)) eventfd_write(fd.get(), 1);
    }

    const Fd fd{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    std::atomic<bool> asleep{false};
  };

  static int Checked(int result) {
    if (result >= 0) return result;
    throw std::system_error(errno, std::generic_category());
  }

  static void Consume(const Fd& fd) {
    eventfd_t count;
    eventfd_read(fd.get(), &count);
  }

  // A timer may expire too early, but not too late. So one that is set already
  // costs no system call, and a far time needs no far timer.
  void SetTimer(absl::Time time, absl::Duration delay) {
    if (time >= timer_at_) return;
    struct itimerspec spec = {};
    spec.it_value = absl::ToTimespec(
        absl::Ceil(std::min(delay, absl::Hours(1)), absl::Nanoseconds(1)));
    Checked(timerfd_settime(timer_.get(), 0, &spec, nullptr));
    timer_at_ = time;
  }

  const Fd epoll_{epoll_create1(EPOLL_CLOEXEC)};
  const Fd timer_{timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)};
  absl::Time timer_at_ = absl::InfiniteFuture();  // what the timer is set for
  const std::shared_ptr<Wakeup> wakeup_ = std::make_shared<Wakeup>();
  const std::shared_ptr<workqueue::WaitingLoop> loop_;
  std::map<int, std::shared_ptr<Callback>> callbacks_;  // by descriptor
  bool stopped_ = false;
};

}  // namespace event_loop

#endif  // WORKQUEUE_EXAMPLES_EVENT_LOOP_EPOLL_LOOP_H_
