// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A header of the project with the same name as one of the library's headers.

#ifndef METRICS_METRICS_H_
#define METRICS_METRICS_H_

#include <map>
#include <mutex>
#include <string>

#include "internal/mutex_lock.h"

namespace metrics {

// Counts by a label.
class CounterMetric {
 public:
  void Increment(const std::string& label) {
    internal::MutexLock lock(mu_);
    ++counts_[label];
  }
  int Count(const std::string& label) {
    internal::MutexLock lock(mu_);
    return counts_[label];
  }

 private:
  std::mutex mu_;
  std::map<std::string, int> counts_;
};

}  // namespace metrics

#endif  // METRICS_METRICS_H_
