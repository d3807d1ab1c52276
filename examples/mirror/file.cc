// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
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

constexpr size_t kLargestBlock = 128 << 10;

// Returns the number of bytes from `offset` to before `end` to handle at once.
size_t BlockSize(off_t offset, off_t end) {
  return std::clamp<off_t>(end - offset, 0, kLargestBlock);
}

// Returns the first range at or after `offset` that is not a hole of both
// files. If there is none, returns an empty range. The sizes must be equal.
absl::StatusOr<File::Range> NextDataOfEither(const File& a, const File& b,
                                             off_t offset) {
  const absl::StatusOr<File::Range> of_a = a.NextData(offset);
  if (!of_a.ok()) return of_a;
  const absl::StatusOr<File::Range> of_b = b.NextData(offset);
  if (!of_b.ok()) return of_b;
  return of_a->begin <= of_b->begin ? of_a : of_b;
}

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

absl::StatusOr<size_t> File::Read(char* data, size_t size, off_t offset) const {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = pread(fd_.get(), data + done, size - done, offset + done);
    if (n == 0) break;
    if (n > 0) {
      done += n;
    } else if (errno != EINTR) {
      return ErrnoStatus("read", description_);
    }
  }
  return done;
}

absl::Status File::Write(absl::string_view data, off_t offset) {
  while (!data.empty()) {
    const ssize_t n = pwrite(fd_.get(), data.data(), data.size(), offset);
    if (n >= 0) {
      data.remove_prefix(n);
      offset += n;
    } else if (errno != EINTR) {
      return ErrnoStatus("write", description_);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<File::Range> File::NextData(off_t offset) const {
  const absl::StatusOr<struct stat> stat = Stat();
  if (!stat.ok()) return stat.status();
  const off_t size = stat->st_size;
  if (offset >= size) return Range{size, size};
  const off_t begin = lseek(fd_.get(), offset, SEEK_DATA);
  if (begin < 0 && errno == ENXIO) return Range{size, size};
  if (begin < 0 && errno == EINVAL) return Range{offset, size};
  if (begin < 0) return ErrnoStatus("look for holes in", description_);
  const off_t end = lseek(fd_.get(), begin, SEEK_HOLE);
  return Range{begin, end > begin ? end : size};
}

absl::Status File::SetSize(off_t size) {
  while (ftruncate(fd_.get(), size) != 0) {
    if (errno != EINTR) return ErrnoStatus("write", description_);
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

absl::Status CopyContents(const File& from, File& to,
                          const absl::Notification& stop) {
  const std::unique_ptr<char[]> block(new char[kLargestBlock]);
  File::Range data = {0, 0};
  for (off_t offset = 0; !stop.HasBeenNotified();) {
    if (offset == data.end) {
      const absl::StatusOr<File::Range> next = from.NextData(offset);
      if (!next.ok()) return next.status();
      data = *next;
      offset = data.begin;
    }
    const absl::StatusOr<size_t> n =
        from.Read(block.get(), BlockSize(offset, data.end), offset);
    if (!n.ok()) return n.status();
    if (*n == 0) return to.SetSize(offset);
    absl::Status status = to.Write(absl::string_view(block.get(), *n), offset);
    if (!status.ok()) return status;
    offset += *n;
  }
  return absl::CancelledError("stopped");
}

absl::StatusOr<bool> SameContents(const File& a, const File& b,
                                  const absl::Notification& stop) {
  const absl::StatusOr<struct stat> stat_a = a.Stat();
  if (!stat_a.ok()) return stat_a.status();
  const absl::StatusOr<struct stat> stat_b = b.Stat();
  if (!stat_b.ok()) return stat_b.status();
  if (stat_a->st_size != stat_b->st_size) return false;

  const std::unique_ptr<char[]> blocks(new char[2 * kLargestBlock]);
  char* const block_a = blocks.get();
  char* const block_b = blocks.get() + kLargestBlock;
  File::Range data = {0, 0};  // where at least one of the files has no hole
  for (off_t offset = 0; !stop.HasBeenNotified();) {
    if (offset == data.end) {
      const absl::StatusOr<File::Range> next = NextDataOfEither(a, b, offset);
      if (!next.ok()) return next.status();
      data = *next;
      offset = data.begin;
    }
    const size_t size = BlockSize(offset, data.end);
    const absl::StatusOr<size_t> n = a.Read(block_a, size, offset);
    if (!n.ok()) return n.status();
    const absl::StatusOr<size_t> m = b.Read(block_b, size, offset);
    if (!m.ok()) return m.status();
    if (*n != *m || std::memcmp(block_a, block_b, *n) != 0) return false;
    if (*n == 0) return true;
    offset += *n;
  }
  return absl::CancelledError("stopped");
}

}  // namespace mirror
