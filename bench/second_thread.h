// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/second_thread.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BENCH_SECOND_THREAD_H_
#define WORKQUEUE_BENCH_SECOND_THREAD_H_

#include <thread>  // NOLINT(build/c++11)

#include "absl/synchronization/notification.h"

namespace workqueue {

// SecondThread
//
// A thread that sleeps for as long as this object lives. Every benchmark has
// one: as long as a process has one thread only, glibc leaves out the atomic
// operations of its locks and of `malloc()`, and figures come out that no
// program that has use for a queue will see.
class SecondThread {
 public:
  SecondThread() = default;
  ~SecondThread() {
    end_.Notify();
    thread_.join();
  }

  SecondThread(const SecondThread&) = delete;
  SecondThread& operator=(const SecondThread&) = delete;

 private:
  absl::Notification end_;
  std::thread thread_{[this] { end_.WaitForNotification(); }};
};

}  // namespace workqueue

#endif  // WORKQUEUE_BENCH_SECOND_THREAD_H_
