// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/clock/counted_waits.h"

#include "absl/base/config.h"

namespace workqueue {

std::atomic<int> wall_clock_waits{0};
std::atomic<int> monotonic_waits{0};

}  // namespace workqueue

#if !defined(ABSL_HAVE_THREAD_SANITIZER) && \
    !defined(ABSL_HAVE_ADDRESS_SANITIZER)

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

#include <cstdarg>

namespace {

void Count(clockid_t clock) {
  ++(clock == CLOCK_REALTIME ? workqueue::wall_clock_waits
                             : workqueue::monotonic_waits);
}

template <typename F>
F* Next(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int pthread_cond_clockwait(pthread_cond_t* cond, pthread_mutex_t* mutex,
                           clockid_t clock, const timespec* deadline) {
  Count(clock);
  return Next<decltype(pthread_cond_clockwait)>("pthread_cond_clockwait")(
      cond, mutex, clock, deadline);
}

// Waits on the wall clock unless the condition variable has another clock. The
// standard library's condition variables always have another clock.
int pthread_cond_timedwait(pthread_cond_t* cond, pthread_mutex_t* mutex,
                           const timespec* deadline) {
  Count(CLOCK_REALTIME);
  return Next<decltype(pthread_cond_timedwait)>("pthread_cond_timedwait")(
      cond, mutex, deadline);
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* request,
                    timespec* remaining) {
  Count(clock);
  return Next<decltype(clock_nanosleep)>("clock_nanosleep")(clock, flags,
                                                            request, remaining);
}

// Abseil calls futex() through this function.
long syscall(long number, ...) noexcept {  // NOLINT(runtime/int)
  va_list args;
  va_start(args, number);
  long a[6];                                     // NOLINT(runtime/int)
  for (long& arg : a) arg = va_arg(args, long);  // NOLINT(runtime/int)
  va_end(args);
  if (number == SYS_futex && a[3] != 0) {
    const int command = static_cast<int>(a[1]) & FUTEX_CMD_MASK;
    if (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) {
      Count((a[1] & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME
                                               : CLOCK_MONOTONIC);
    }
  }
  return Next<long(long, ...)>("syscall")(  // NOLINT(runtime/int)
      number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

}  // extern "C"

#endif  // no sanitizer
