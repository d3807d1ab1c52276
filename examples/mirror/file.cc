// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "examples/mirror/fd.h"
#include "examples/mirror/tree.h"

namespace mirror {
namespace {

constexpr size_t kBlockSize = 128 << 10;

}  // namespace

absl::StatusOr<File> File::Open(int directory, const std::string& name,
                                std::string description) {
  Fd fd(openat(directory, name.c_str(),
               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.ok()) return ErrnoStatus("open", description);
  return File(std::move(fd), std::move(description));
}

absl::StatusOr<File> File::Create(int directory, const std::string& name,
                                  std::string description) {
  Fd fd(openat(directory, name.c_str(),
               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.ok()) return ErrnoStatus("create", description);
  return File(std::move(fd), std::move(description));
}

absl::StatusOr<size_t> File::Read(char* data, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = read(fd_.get(), data + done, size - done);
    if (n == 0) break;
    if (n > 0) {
      done += n;
    } else if (errno != EINTR) {
      return ErrnoStatus("read", description_);
    }
  }
  return done;
}

absl::Status File::Write(absl::string_view data) {
  while (!data.empty()) {
    const ssize_t n = write(fd_.get(), data.data(), data.size());
    if (n >= 0) {
      data.remove_prefix(n);
    } else if (errno != EINTR) {
      return ErrnoStatus("write", description_);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<struct stat> File::Stat() const {
  struct stat result;
  if (fstat(fd_.get(), &result) == 0) return result;
  return ErrnoStatus("look at", description_);
}

absl::Status File::SetPermissions(mode_t permissions) {
  if (fchmod(fd_.get(), permissions) == 0) return absl::OkStatus();
  return ErrnoStatus("set permissions of", description_);
}

absl::Status File::SetModified(const struct timespec& time) {
  const struct timespec times[2] = {{0, UTIME_OMIT}, time};
  if (futimens(fd_.get(), times) == 0) return absl::OkStatus();
  return ErrnoStatus("set time of", description_);
}

absl::Status File::Close() {
  if (fd_.Close() == 0) return absl::OkStatus();
  return ErrnoStatus("write", description_);
}

absl::Status CopyContents(File& from, File& to,
                          const absl::Notification& stop) {
  const std::unique_ptr<char[]> block(new char[kBlockSize]);
  while (!stop.HasBeenNotified()) {
    const absl::StatusOr<size_t> n = from.Read(block.get(), kBlockSize);
    if (!n.ok()) return n.status();
    if (*n == 0) return absl::OkStatus();
    absl::Status status = to.Write(absl::string_view(block.get(), *n));
    if (!status.ok()) return status;
  }
  return absl::CancelledError("stopped");
}

absl::StatusOr<bool> SameContents(File& a, File& b,
                                  const absl::Notification& stop) {
  const std::unique_ptr<char[]> blocks(new char[2 * kBlockSize]);
  char* const block_a = blocks.get();
  char* const block_b = blocks.get() + kBlockSize;
  while (!stop.HasBeenNotified()) {
    const absl::StatusOr<size_t> n = a.Read(block_a, kBlockSize);
    if (!n.ok()) return n.status();
    const absl::StatusOr<size_t> m = b.Read(block_b, kBlockSize);
    if (!m.ok()) return m.status();
    if (*n != *m || std::memcmp(block_a, block_b, *n) != 0) return false;
    if (*n < kBlockSize) return true;
  }
  return absl::CancelledError("stopped");
}

}  // namespace mirror
