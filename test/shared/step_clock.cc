// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A library to preload into a server, so that a test can step the server's
// clock. The environment variable STEP_CLOCK_FILE names a file with a number of
// microseconds, an int64_t, which is added to the time of day. The file may be
// written at any time. The monotonic clock is left alone.
//
// The functions replace those of the C library, and may be called before
// `main()` and by a memory allocator. So they allocate nothing.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

using Offset = std::atomic<int64_t>;

constexpr int64_t kMicrosInSecond = 1000000;

const Offset* MapOffset() {
  static const Offset none(0);
  const char* const path = getenv("STEP_CLOCK_FILE");
  if (path == nullptr) return &none;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return &none;
  void* const mapped =
      mmap(nullptr, sizeof(Offset), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? &none : static_cast<const Offset*>(mapped);
}

int64_t OffsetNow() {
  static std::atomic<const Offset*> offset{nullptr};
  const Offset* mapped = offset.load();
  if (mapped == nullptr) {
    mapped = MapOffset();
    offset = mapped;
  }
  return mapped->load();
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, struct timespec* result) noexcept {
  const long error = syscall(SYS_clock_gettime, clock, result);  // NOLINT
  if (error != 0 || clock != CLOCK_REALTIME) return static_cast<int>(error);
  const int64_t offset = OffsetNow();
  const int64_t nanos =
      result->tv_nsec + offset % kMicrosInSecond * 1000 + 1000000000;
  result->tv_sec += offset / kMicrosInSecond + nanos / 1000000000 - 1;
  result->tv_nsec = nanos % 1000000000;
  return 0;
}

int gettimeofday(struct timeval* result, void* /*zone*/) noexcept {
  struct timespec now;
  const int error = clock_gettime(CLOCK_REALTIME, &now);
  result->tv_sec = now.tv_sec;
  result->tv_usec = now.tv_nsec / 1000;
  return error;
}

time_t time(time_t* result) noexcept {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
