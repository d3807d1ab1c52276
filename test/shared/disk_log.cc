// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A library to preload into a server, which logs what its processes do to
// files. The environment variable DISK_LOG names the log, which must be there.
// A record is one write() at the end of it, so that all processes have one
// order. A change is logged before it is made, and a sync before it returns: so
// what a process knows of another one's work has been logged.
//
// Nothing is logged of what the C library writes for itself, as for a `FILE`.
// Nor is a sync_file_range(), which promises nothing.
//
// The functions replace those of the C library, and may be called by a signal
// handler. So they allocate nothing.

#include "test/shared/disk_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

using Record = workqueue::DiskLogRecord;

constexpr int kMostParts = 64;

int LogFile() {
  static std::atomic<int> file{-1};
  if (file == -1) {
    const char* const path = getenv("DISK_LOG");
    if (path == nullptr) abort();
    file = static_cast<int>(
        syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC));
    if (file < 0) abort();
  }
  return file;
}

void Log(Record::Kind kind, uint64_t file, uint64_t at, const iovec* parts,
         int n) {
  const int error = errno;
  if (n > kMostParts) abort();
  Record record = {kind, 0, file, at};
  iovec all[kMostParts + 1] = {{&record, sizeof(record)}};
  for (int i = 0; i < n; ++i) {
    all[i + 1] = parts[i];
    record.size += parts[i].iov_len;
  }
  const auto written = syscall(SYS_writev, LogFile(), all, n + 1);
  if (written != static_cast<ssize_t>(sizeof(record) + record.size)) abort();
  errno = error;
}

void LogNames(Record::Kind kind, const char* path, const char* other = nullptr,
              uint64_t file = 0) {
  const iovec parts[] = {
      {const_cast<char*>(path), strlen(path) + (other != nullptr ? 1 : 0)},
      {const_cast<char*>(other), other != nullptr ? strlen(other) : 0}};
  Log(kind, file, 0, parts, 2);
}

// Whether it is a file, not a socket or a pipe.
bool IsFile(int file, struct stat* found) {
  const int error = errno;
  const bool is_file = fstat(file, found) == 0 && S_ISREG(found->st_mode);
  errno = error;
  return is_file;
}

void LogWrite(int file, const iovec* parts, int n, off_t at) {
  struct stat found;
  if (!IsFile(file, &found)) return;
  Log(Record::kWrite, found.st_ino, static_cast<uint64_t>(at), parts, n);
}

int Sync(int file) {
  struct stat found;
  if (fstat(file, &found) != 0) return -1;
  // The test reads the log and not the disk.
  Log(Record::kSync, found.st_ino, 0, nullptr, 0);
  return 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  const auto open_now = [&](int how) {
    return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, how, mode));
  };
  int file = -1;
  struct stat found;
  while (true) {
    // With O_EXCL, the process that makes the file knows that it did.
    const bool is_there = (flags & O_CREAT) == 0 ||
                          syscall(SYS_faccessat, AT_FDCWD, path, 0) == 0;
    file = open_now(is_there ? flags : flags | O_EXCL);
    if (file < 0 && errno == EEXIST && (flags & O_EXCL) == 0) continue;
    if (file < 0 || (flags & (O_CREAT | O_TRUNC)) == 0) return file;
    if (!IsFile(file, &found)) return file;
    if (!is_there) {
      LogNames(Record::kCreate, path, nullptr, found.st_ino);
    } else if ((flags & O_TRUNC) != 0) {
      Log(Record::kTruncate, found.st_ino, 0, nullptr, 0);
    }
    return file;
  }
}

ssize_t write(int file, const void* data, size_t size) {
  struct stat found;
  if (IsFile(file, &found)) {
    const iovec part = {const_cast<void*>(data), size};
    const bool appends = (fcntl(file, F_GETFL) & O_APPEND) != 0;
    LogWrite(file, &part, 1,
             appends ? found.st_size : lseek(file, 0, SEEK_CUR));
  }
  return syscall(SYS_write, file, data, size);
}

ssize_t pwrite(int file, const void* data, size_t size, off_t at) {
  const iovec part = {const_cast<void*>(data), size};
  LogWrite(file, &part, 1, at);
  return syscall(SYS_pwrite64, file, data, size, at);
}

ssize_t pwritev(int file, const iovec* parts, int n, off_t at) {
  LogWrite(file, parts, n, at);
  return syscall(SYS_pwritev, file, parts, n, at, 0);
}

int posix_fallocate(int file, off_t at, off_t size) {
  LogWrite(file, nullptr, 0, at + size);
  return syscall(SYS_fallocate, file, 0, at, size) == 0 ? 0 : errno;
}

int ftruncate(int file, off_t size) noexcept {
  struct stat found;
  if (IsFile(file, &found)) {
    Log(Record::kTruncate, found.st_ino, static_cast<uint64_t>(size), nullptr,
        0);
  }
  return static_cast<int>(syscall(SYS_ftruncate, file, size));
}

int truncate(const char* path, off_t size) noexcept {
  struct stat found;
  if (stat(path, &found) == 0) {
    Log(Record::kTruncate, found.st_ino, static_cast<uint64_t>(size), nullptr,
        0);
  }
  return static_cast<int>(syscall(SYS_truncate, path, size));
}

int fsync(int file) { return Sync(file); }
int fdatasync(int file) { return Sync(file); }

int rename(const char* from, const char* to) noexcept {
  LogNames(Record::kRename, from, to);
  return static_cast<int>(
      syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int link(const char* from, const char* to) noexcept {
  LogNames(Record::kLink, from, to);
  return static_cast<int>(syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int unlink(const char* path) noexcept {
  LogNames(Record::kRemove, path);
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int mkdir(const char* path, mode_t mode) noexcept {
  LogNames(Record::kMakeFolder, path);
  return static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

int rmdir(const char* path) noexcept {
  LogNames(Record::kRemove, path);
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR));
}

}  // extern "C"
