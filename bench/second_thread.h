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
// This class runs a thread that sleeps until the destructor, for a benchmark
// that may else have a single thread. In a process with one thread, glibc
// leaves out the atomic operations of its locks and of `malloc()`. A program
// that needs a queue has several threads, and pays for these operations.
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
