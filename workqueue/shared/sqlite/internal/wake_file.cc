// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/sqlite/internal/wake_file.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {
namespace {

constexpr size_t kSize = 4096;

static_assert(sizeof(sync::Atomic<uint32_t>) == sizeof(uint32_t),
              "the words are those of other processes, too");

// A lock of the byte of a number, which no other part of the program releases
// by closing the file.
struct flock LockOf(int64_t number, bool locks) {
  struct flock lock = {};
  lock.l_type = static_cast<int16_t>(locks ? F_WRLCK : F_UNLCK);
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(number);
  lock.l_len = 1;
  return lock;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WakeFile>> WakeFile::Open(
    const std::string& database) {
  const std::string path = database + "-wake";
  const auto error = [&path](const char* call) {
    return absl::ErrnoToStatus(errno, absl::StrCat(call, " ", path));
  };
  struct stat about = {};
  if (stat(database.c_str(), &about) != 0) return error("stat the database of");
  const mode_t mode = about.st_mode & 0777;
  // Not what a link of either kind names: this changes whose it is.
  const int file =
      open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode);
  if (file < 0) return error("open");
  // A link may have been removed since `open()`. The file then has one name,
  // but not this one.
  struct stat opened = {}, named = {};
  if (fstat(file, &opened) != 0 || lstat(path.c_str(), &named) != 0 ||
      named.st_dev != opened.st_dev || named.st_ino != opened.st_ino ||
      !S_ISREG(named.st_mode) || named.st_nlink != 1) {
    close(file);
    return absl::FailedPreconditionError(absl::StrCat(
        "the file \"", path,
        "\" has other names, or is no file; remove it, and start again"));
  }
  // The users of the database may use this file, too. It does not matter which
  // user makes it, or what the umask is.
  if ((fchown(file, about.st_uid, about.st_gid) | fchmod(file, mode)) != 0) {
    // It is another user's, who has done so.
  }
  void* mapped = MAP_FAILED;
  // A hole in the file would end the process if the disk is full by the time
  // that a word is written.
  do {
    errno = posix_fallocate(file, 0, kSize);
  } while (errno == EINTR);
  if (errno == 0) {
    mapped = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (mapped == MAP_FAILED) {
    const absl::Status status = error("map");
    close(file);
    return status;
  }
  return absl::WrapUnique(
      new WakeFile(file, static_cast<sync::Atomic<uint32_t>*>(mapped)));
}

WakeFile::~WakeFile() {
  munmap(words_, kSize);
  close(file_);
}

int64_t WakeFile::Change(Word word, int threads) {
  ++words_[word];
  return syscall(SYS_futex, &words_[word], FUTEX_WAKE, threads, nullptr,
                 nullptr, 0);
}

void WakeFile::Await(Word word, uint32_t seen, absl::Duration timeout) const {
  const timespec time =
      absl::ToTimespec(std::max(timeout, absl::ZeroDuration()));
  syscall(SYS_futex, &words_[word], FUTEX_WAIT, seen, &time, nullptr, 0);
}

bool WakeFile::Lock(int64_t number, bool locks) const {
  struct flock lock = LockOf(number, locks);
  return fcntl(file_, F_OFD_SETLK, &lock) == 0;
}

bool WakeFile::Occupy(int64_t number) const {
  return Lock(number, true) || (errno != EAGAIN && errno != EACCES);
}

void WakeFile::Vacate(int64_t number) const { Lock(number, false); }

bool WakeFile::IsOccupied(int64_t number) const {
  struct flock lock = LockOf(number, true);
  // If it cannot be known, a process that waits must get its items.
  return fcntl(file_, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

}  // namespace workqueue::internal
