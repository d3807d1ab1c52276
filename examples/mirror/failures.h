// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/failures.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_FAILURES_H_
#define WORKQUEUE_EXAMPLES_MIRROR_FAILURES_H_

#include <cstddef>
#include <mutex>  // NOLINT(build/c++11)
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "examples/mirror/path_map.h"
#include "workqueue/controller/reconcile.h"

namespace mirror {

// Failures
//
// This class holds the paths whose last reconciliation failed, with their
// errors. A path with a terminal error has been given up. All other paths will
// be tried again.
//
// Thread-safe.
class Failures {
 public:
  // Records that the last try of `path` failed with `error`.
  void Insert(const std::string& path, const absl::Status& error) {
    const std::lock_guard<std::mutex> lock(mu_);
    EraseLocked(path);
    (workqueue::IsTerminalError(error) ? given_up_ : retried_)[path] = error;
  }

  // Records that the last try of `path` succeeded.
  void Erase(const std::string& path) {
    const std::lock_guard<std::mutex> lock(mu_);
    EraseLocked(path);
  }

  // Returns all failed paths with their errors.
  PathMap<absl::Status> all() const {
    const std::lock_guard<std::mutex> lock(mu_);
    PathMap<absl::Status> all = retried_;
    all.insert(given_up_.begin(), given_up_.end());
    return all;
  }
  size_t size() const {
    const std::lock_guard<std::mutex> lock(mu_);
    return retried_.size() + given_up_.size();
  }

  // Returns the failed paths that will be tried again.
  std::vector<std::string> retried() const {
    const std::lock_guard<std::mutex> lock(mu_);
    std::vector<std::string> paths;
    paths.reserve(retried_.size());
    for (const auto& [path, error] : retried_) paths.push_back(path);
    return paths;
  }
  bool any_retried() const {
    const std::lock_guard<std::mutex> lock(mu_);
    return !retried_.empty();
  }

 private:
  void EraseLocked(const std::string& path) {
    retried_.erase(path);
    given_up_.erase(path);
  }

  mutable std::mutex mu_;
  PathMap<absl::Status> retried_;
  PathMap<absl::Status> given_up_;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_FAILURES_H_
