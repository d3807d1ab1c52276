// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/fd.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_FD_H_
#define WORKQUEUE_EXAMPLES_MIRROR_FD_H_

#include <unistd.h>

#include <utility>

namespace mirror {

// Owns one file descriptor, or none, and closes it on destruction.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { Close(); }

  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  bool ok() const { return fd_ >= 0; }
  int get() const { return fd_; }

  // Returns the descriptor and gives up its ownership.
  int Release() { return std::exchange(fd_, -1); }

  // Closes the descriptor and returns the result of `close()`. Returns zero if
  // there is no descriptor.
  int Close() { return ok() ? close(Release()) : 0; }

 private:
  int fd_ = -1;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_FD_H_
