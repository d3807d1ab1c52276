// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_WORKQUEUE_RECORDING_LOG_H_
#define WORKQUEUE_TEST_WORKQUEUE_RECORDING_LOG_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/log_sink.h"

namespace workqueue {

// RecordingLog
//
// A sink that records all messages. Errors are marked with "E ".
class RecordingLog final : public LogSink {
 public:
  void Log(absl::LogSeverity severity, absl::string_view message) override {
    internal::MutexLock lock(&mu_);
    messages_.push_back((severity == absl::LogSeverity::kError ? "E " : "I ") +
                        std::string(message));
  }

  std::vector<std::string> messages() const {
    internal::MutexLock lock(&mu_);
    return messages_;
  }

  // Blocks until there are `n` messages, and returns the `n`th.
  std::string Await(size_t n) const {
    internal::MutexLock lock(&mu_);
    const auto there = [this, n]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return messages_.size() >= n;
    };
    mu_.Await(absl::Condition(&there));
    return messages_[n - 1];
  }

 private:
  mutable absl::Mutex mu_;
  std::vector<std::string> messages_ ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_RECORDING_LOG_H_
