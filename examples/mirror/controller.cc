// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/controller.h"

#include <cstddef>
#include <cstdint>
#include <mutex>  // NOLINT(build/c++11)
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "clock/clock.h"
#include "examples/mirror/path_map.h"
#include "examples/mirror/queue_metrics.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "workqueue/rate_limiting_queue.h"

namespace mirror {
namespace {

// How often a path may find that somebody else is changing it before that is
// worth a message.
constexpr int kPatience = 8;

workqueue::RateLimitingQueueOptions<std::string> QueueOptions(
    QueueMetrics* metrics, clocks::Clock* clock) {
  workqueue::RateLimitingQueueOptions<std::string> options;
  options.name = "mirror";  // Without a name there are no metrics.
  options.metrics_provider = metrics;
  options.clock = clock;
  // Not the default, which lets only ten retries a second pass: a full disk
  // that has been freed should be put to use at once.
  options.rate_limiter =
      *ratelimit::ItemExponentialFailureRateLimiter<std::string>::Create(
          absl::Milliseconds(5), absl::Seconds(10));
  return options;
}

}  // namespace

Controller::Controller(Options options)
    : options_(std::move(options)),
      queue_(QueueOptions(&metrics_, options_.clock)) {
  for (int i = 0; i < options_.workers; ++i) {
    workers_.emplace_back([this] { Work(); });
  }
}

Controller::~Controller() { Drain(); }

void Controller::Work() {
  // The queue hands a path to one worker at a time. If it is enqueued again
  // meanwhile, it comes back after Done().
  while (std::optional<std::string> path = queue_.Get()) {
    const absl::Status status = options_.reconcile(*path);
    if (status.ok()) {
      Succeeded(*path);
      queue_.Forget(*path);  // The next failure is its first.
    } else if (queue_.NumRequeues(*path) + 1 >= options_.max_tries) {
      Failed(*path, status, /*given_up=*/true);
      queue_.Forget(*path);
    } else {
      Failed(*path, status, /*given_up=*/false);
      queue_.AddRateLimited(*path);
    }
    queue_.Done(*path);
  }
}

void Controller::Enqueue(const std::string& path) {
  if (queue_.Add(path)) ++enqueued_;
}

void Controller::RetryNow() {
  PathMap<absl::Status> failed;
  {
    const std::lock_guard<std::mutex> lock(mu_);
    failed = failed_;
  }
  for (const auto& [path, status] : failed) Enqueue(path);
}

bool Controller::Quiet() const {
  const int64_t adds = metrics_.adds();  // Before the other, which follows it.
  return metrics_.done() == adds;
}

bool Controller::Finished() const {
  const int64_t adds = metrics_.adds();
  if (metrics_.done() != adds) return false;
  {
    const std::lock_guard<std::mutex> lock(mu_);
    if (!failed_.empty()) return false;
  }
  return metrics_.adds() == adds;  // So all of this held at the same time.
}

void Controller::Drain() {
  queue_.ShutDownWithDrain();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

PathMap<absl::Status> Controller::failures() const {
  const std::lock_guard<std::mutex> lock(mu_);
  PathMap<absl::Status> all = failed_;
  all.insert(given_up_.begin(), given_up_.end());
  return all;
}

size_t Controller::num_failures() const {
  const std::lock_guard<std::mutex> lock(mu_);
  return failed_.size() + given_up_.size();
}

int64_t Controller::folded() const {
  return enqueued_ + metrics_.retries() - metrics_.adds();
}

void Controller::Succeeded(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mu_);
  failed_.erase(path);
  given_up_.erase(path);
}

void Controller::Failed(const std::string& path, const absl::Status& status,
                        bool given_up) {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    failed_.erase(path);
    given_up_.erase(path);
    (given_up ? given_up_ : failed_)[path] = status;
  }
  if (options_.on_failure == nullptr || absl::IsCancelled(status)) return;
  if (absl::IsAborted(status) && queue_.NumRequeues(path) < kPatience) return;
  options_.on_failure(status);
}

}  // namespace mirror
