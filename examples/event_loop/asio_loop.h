// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/event_loop/asio_loop.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_EVENT_LOOP_ASIO_LOOP_H_
#define WORKQUEUE_EXAMPLES_EVENT_LOOP_ASIO_LOOP_H_

#include <algorithm>
#include <memory>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "boost/asio/io_context.hpp"
#include "boost/asio/post.hpp"
#include "boost/asio/steady_timer.hpp"
#include "boost/system/error_code.hpp"
#include "workqueue/clock/clock.h"
#include "workqueue/timer/waiting_loop.h"

namespace event_loop {

// AsioLoop
//
// Runs a `WaitingLoop` on an `io_context` of Boost.Asio, which one thread runs.
// That thread destroys this object, or nobody runs the context meanwhile. The
// context need not outlive the objects on `waiting_loop()`.
//
// As long as a queue is on the loop, the context has work. The context itself
// must have other work while other threads may add the first one.
class AsioLoop {
 public:
  // `clock` is as in `WaitingLoop`. `context` is not owned, and must outlive
  // this object.
  explicit AsioLoop(boost::asio::io_context* context,
                    workqueue::Clock* clock = nullptr)
      : link_(std::make_shared<Link>(this, context)),
        timer_(*context),
        loop_(std::make_shared<workqueue::WaitingLoop>(
            clock, [link = link_]() noexcept { Post(link); })) {
    Post(link_);
  }

  ~AsioLoop() {
    absl::MutexLock lock(&link_->mu);
    link_->loop = nullptr;
  }

  AsioLoop(const AsioLoop&) = delete;
  AsioLoop& operator=(const AsioLoop&) = delete;

  const std::shared_ptr<workqueue::WaitingLoop>& waiting_loop() const {
    return loop_;
  }

 private:
  // What outlives this object: a wake-up, and a handler that has been posted.
  struct Link {
    Link(AsioLoop* the_loop, boost::asio::io_context* the_context)
        : loop(the_loop), context(the_context) {}

    absl::Mutex mu;
    AsioLoop* loop;  // null once that is destroyed; written with the lock
    boost::asio::io_context* const context;
  };

  // On the thread that runs the context, Asio makes no system call for this.
  static void Post(const std::shared_ptr<Link>& link) {
    absl::MutexLock lock(&link->mu);
    if (link->loop == nullptr) return;
    boost::asio::post(*link->context, [link] {
      if (link->loop != nullptr) link->loop->Run();
    });
  }

  void Run() {
    const absl::Time next_run = loop_->RunDue();
    const absl::Duration delay = next_run - loop_->clock()->TimeNow();
    if (delay <= absl::ZeroDuration()) return Post(link_);
    // A timer may expire too early, but not too late. So one that is set
    // already costs nothing, and a far time needs no far timer.
    if (next_run >= timer_at_) return;
    timer_at_ = next_run;
    timer_.expires_after(
        absl::ToChronoNanoseconds(std::min(delay, absl::Hours(1))));
    timer_.async_wait([link = link_](boost::system::error_code error) {
      if (error || link->loop == nullptr) return;  // set anew, or destroyed
      link->loop->timer_at_ = absl::InfiniteFuture();
      link->loop->Run();
    });
  }

  const std::shared_ptr<Link> link_;
  boost::asio::steady_timer timer_;
  absl::Time timer_at_ = absl::InfiniteFuture();  // what the timer is set for
  const std::shared_ptr<workqueue::WaitingLoop> loop_;
};

}  // namespace event_loop

#endif  // WORKQUEUE_EXAMPLES_EVENT_LOOP_ASIO_LOOP_H_
