// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/event_loop/uv_loop.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_EVENT_LOOP_UV_LOOP_H_
#define WORKQUEUE_EXAMPLES_EVENT_LOOP_UV_LOOP_H_

#include <uv.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <system_error>
#include <thread>  // NOLINT(build/c++11)

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/timer/waiting_loop.h"

namespace event_loop {

// UvLoop
//
// Runs a `WaitingLoop` on a loop of libuv. The thread that runs that loop
// destroys this object, or nobody runs the loop meanwhile. The objects on
// `waiting_loop()` may outlive this one.
//
// As long as this object exists, `uv_run()` has work. As every handle of
// libuv, those of this object are closed when the loop has run once more.
class UvLoop {
 public:
  // `clock` is as in `WaitingLoop`. `uv_loop` is not owned, and must outlive
  // this object. Throws `std::system_error` if there is no file descriptor
  // left.
  explicit UvLoop(uv_loop_t* uv_loop, workqueue::Clock* clock = nullptr)
      : loop_(std::make_shared<workqueue::WaitingLoop>(
            clock, [handles = handles_] { handles->Wake(); })) {
    const int error = uv_async_init(
        uv_loop, &handles_->async, [](uv_async_t* async) { Run(async->data); });
    if (error < 0) throw std::system_error(-error, std::generic_category());
    uv_timer_init(uv_loop, &handles_->timer);
    handles_->async.data = handles_->timer.data = this;
    handles_->StartTimer(0);
  }

  ~UvLoop() {
    absl::MutexLock lock(&handles_->mu);
    handles_->open = false;
    Close(&handles_->async);
    Close(&handles_->timer);
  }

  UvLoop(const UvLoop&) = delete;
  UvLoop& operator=(const UvLoop&) = delete;

  const std::shared_ptr<workqueue::WaitingLoop>& waiting_loop() const {
    return loop_;
  }

 private:
  // libuv uses these until they are closed, and a wake-up may be later still.
  struct Handles {
    void Wake() {
      absl::MutexLock lock(&mu);
      if (!open) return;
      if (thread == std::this_thread::get_id()) {
        StartTimer(0);  // no system call
      } else {
        uv_async_send(&async);
      }
    }

    void StartTimer(uint64_t ms) {
      uv_timer_start(
          &timer, [](uv_timer_t* timer) { Run(timer->data); }, ms, 0);
    }

    absl::Mutex mu;
    bool open = true;
    std::thread::id thread;  // the one that runs the loop
    uv_async_t async;
    uv_timer_t timer;
  };

  template <typename Handle>
  void Close(Handle* handle) {
    handle->data = new std::shared_ptr<Handles>(handles_);
    uv_close(reinterpret_cast<uv_handle_t*>(handle), [](uv_handle_t* closed) {
      delete static_cast<std::shared_ptr<Handles>*>(closed->data);
    });
  }

  static void Run(void* self) { static_cast<UvLoop*>(self)->Run(); }

  void Run() {
    {
      absl::MutexLock lock(&handles_->mu);
      handles_->thread = std::this_thread::get_id();
    }
    const absl::Time next_run = loop_->RunDue();
    if (next_run == absl::InfiniteFuture()) return;
    // A timer may expire too early, so a far time needs no far timer.
    const absl::Duration delay =
        std::clamp(next_run - loop_->clock()->TimeNow(), absl::ZeroDuration(),
                   absl::Hours(1));
    uv_update_time(handles_->timer.loop);  // Timers start from the loop's time.
    handles_->StartTimer(static_cast<uint64_t>(
        absl::ToInt64Milliseconds(absl::Ceil(delay, absl::Milliseconds(1)))));
  }

  const std::shared_ptr<Handles> handles_ = std::make_shared<Handles>();
  const std::shared_ptr<workqueue::WaitingLoop> loop_;
};

}  // namespace event_loop

#endif  // WORKQUEUE_EXAMPLES_EVENT_LOOP_UV_LOOP_H_
