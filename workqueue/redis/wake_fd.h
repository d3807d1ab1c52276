// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_REDIS_WAKE_FD_H_
#define WORKQUEUE_REDIS_WAKE_FD_H_

#include <fcntl.h>
#include <unistd.h>

namespace workqueue::internal {

// WakeFd
//
// A flag that a thread can wait for in `poll()`, beside a socket.
//
// Thread-safe.
class WakeFd {
 public:
  WakeFd() {
#ifdef __linux__
    // At once: another thread may fork.
    if (pipe2(ends_, O_NONBLOCK | O_CLOEXEC) != 0) return;
#else
    if (pipe(ends_) != 0) return;
    for (int fd : ends_) {
      fcntl(fd, F_SETFL, O_NONBLOCK);
      fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
#endif
  }
  ~WakeFd() {
    if (!ok()) return;
    for (int fd : ends_) close(fd);
  }

  WakeFd(const WakeFd&) = delete;
  WakeFd& operator=(const WakeFd&) = delete;

  // Whether there were file descriptors left. Otherwise nothing can wait.
  bool ok() const { return ends_[0] >= 0; }

  // Is readable while the flag is set. Nobody else may read from it.
  int fd() const { return ends_[0]; }

  void Set() {
    // A pipe that is full is readable as well.
    [[maybe_unused]] const auto written = write(ends_[1], "", 1);
  }
  void Clear() {
    char ignored[64];
    while (read(ends_[0], ignored, sizeof(ignored)) > 0) {
    }
  }

 private:
  int ends_[2] = {-1, -1};
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_REDIS_WAKE_FD_H_
