// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/watcher.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_WATCHER_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_WATCHER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/kubernetes/call_pool.h"
#include "examples/kubernetes/json.h"
#include "examples/kubernetes/line_buffer.h"

namespace kubernetes {

struct WatchEvent {
  // A bookmark has an object with a resourceVersion and nothing else.
  enum class Type { kAdded, kModified, kDeleted, kBookmark };

  Type type;
  Json object;
};

// Watcher
//
// A stream of changes, which `Client::Watch()` opens. It reads from the network
// only in `Next()`.
//
// One thread may call `Next()`. Any thread may call `Stop()`.
class Watcher {
 public:
  // `Client` calls this. The response to `call` is the stream. `request` tells
  // it in errors.
  Watcher(CallPool::Call call, std::string request);

  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Blocks until the next change arrives. Returns nothing if the server has
  // ended the stream, which it does after the time that it was asked for. Watch
  // again from the last resourceVersion then. These are the errors:
  //
  // - Cancelled: `Stop()` or `Client::Stop()` was called.
  // - OutOfRange: the server does not have the changes since that
  //   resourceVersion any more. List again.
  // - Unavailable: the connection was lost.
  // - DeadlineExceeded: the server has been silent for too long, or has not
  //   ended the stream in time; see `WatchOptions`.
  // - Internal: the stream has something that is no event.
  // - Any other error that the server reports; see api_error.h.
  //
  // After an error or the end of the stream, each call returns the same again.
  absl::StatusOr<std::optional<WatchEvent>> Next();

  // Ends the stream: `Next()` returns the error Cancelled, also if it blocks
  // now. Does not block.
  void Stop() { call_->Cancel(); }

 private:
  // Returns what `Next()` returns the first time.
  absl::StatusOr<std::optional<WatchEvent>> ReadEvent();
  absl::StatusOr<WatchEvent> ParseEvent(absl::string_view line) const;

  const std::string request_;
  const CallPool::Call call_;
  LineBuffer lines_;
  // Set at the end of the stream. It is OK if the server has ended it.
  std::optional<absl::Status> end_;
};

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_WATCHER_H_
