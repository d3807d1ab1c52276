// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/base/message_limit.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BASE_MESSAGE_LIMIT_H_
#define WORKQUEUE_BASE_MESSAGE_LIMIT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace workqueue {
namespace internal {

// MessageLimit
//
// Limits the number of messages of one kind: after a pause, `kBurst` messages
// may be written at once, and then one per `Period()`. Counts the messages that
// are left out. An operation that is retried every `RetryDelay()` can be logged
// each time.
//
// Thread-safe. Does not throw.
class MessageLimit {
 public:
  static constexpr int kBurst = 10;
  static constexpr absl::Duration Period() { return absl::Milliseconds(500); }

  // Returns the number of messages that have been left out since the last one,
  // if a message may be written at the time `now`. Returns nothing if the
  // message must be left out. The clock may go back.
  std::optional<int64_t> Admit(absl::Time now);

  // Counts a message that the caller leaves out.
  void LeaveOut();

 private:
  absl::Mutex mu_;
  // If no further message is written, this is the time from which on `kBurst`
  // messages may be written at once.
  absl::Time rested_at_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  int64_t left_out_ ABSL_GUARDED_BY(mu_) = 0;
};

// Returns the end of a message before which `left_out` others were left out.
std::string LeftOut(int64_t left_out);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_BASE_MESSAGE_LIMIT_H_
