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
// SIGINT and SIGTERM, waited for by one thread instead of interrupting any.
// Create it before there is another thread: those that come later inherit what
// it does.
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

  // Waits for one of the signals, at most for `timeout`. Returns whether one
  // has come.
  bool Wait(absl::Duration timeout) {
    const struct timespec time = absl::ToTimespec(timeout);
    return sigtimedwait(&signals_, nullptr, &time) > 0;
  }

  // From now on these signals end the process again.
  void Restore() { pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr); }

 private:
  sigset_t signals_;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_STOP_SIGNALS_H_
