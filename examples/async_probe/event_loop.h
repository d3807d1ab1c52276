// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/async_probe/event_loop.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_ASYNC_PROBE_EVENT_LOOP_H_
#define WORKQUEUE_EXAMPLES_ASYNC_PROBE_EVENT_LOOP_H_

#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "boost/asio/executor_work_guard.hpp"
#include "boost/asio/io_context.hpp"
#include "boost/asio/post.hpp"
#include "workqueue/executor.h"

namespace async_probe {

// AsioExecutor
//
// An executor that runs tasks on an event loop.
//
// Thread-safe.
class AsioExecutor final : public workqueue::Executor {
 public:
  // Not owned; must outlive the executor.
  explicit AsioExecutor(boost::asio::io_context* loop) : loop_(*loop) {}

  void Execute(absl::AnyInvocable<void() &&> task) override {
    boost::asio::post(
        loop_, [task = std::move(task)]() mutable { std::move(task)(); });
  }

 private:
  boost::asio::io_context& loop_;
};

// EventLoop
//
// An event loop on threads of its own.
class EventLoop {
 public:
  explicit EventLoop(int threads)
      : loop_(threads), work_(boost::asio::make_work_guard(loop_)) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this] { loop_.run(); });
    }
  }

  ~EventLoop() { Stop(); }

  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  boost::asio::io_context* get() { return &loop_; }

  // Blocks until the functions that run on the loop have returned. Runs no
  // others after that: the destructor destroys them.
  void Stop() {
    loop_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  boost::asio::io_context loop_;
  // Keeps the threads running while the loop has nothing to do.
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type>
      work_;
  std::vector<std::thread> threads_;
};

}  // namespace async_probe

#endif  // WORKQUEUE_EXAMPLES_ASYNC_PROBE_EVENT_LOOP_H_
