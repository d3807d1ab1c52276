// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/stop_signals.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_STOP_SIGNALS_H_
#define WORKQUEUE_EXAMPLES_MIRROR_STOP_SIGNALS_H_

#include <signal.h>

#include "absl/time/time.h"

namespace mirror {

// StopSignals
//
// This class lets one thread wait for SIGINT and SIGTERM. It blocks these
// signals in the calling thread and in the threads that this thread creates
// later. So create the object before any other thread.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }

  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Blocks until one of the signals comes, but at most for `timeout`. Returns
  // whether one came.
  bool Wait(absl::Duration timeout) {
    const struct timespec time = absl::ToTimespec(timeout);
    return sigtimedwait(&signals_, nullptr, &time) > 0;
  }

  // Unblocks the signals in the calling thread: from this call on, they end the
  // process.
  void Restore() { pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr); }

 private:
  sigset_t signals_;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_STOP_SIGNALS_H_
