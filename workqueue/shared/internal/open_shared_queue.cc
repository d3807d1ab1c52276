// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/internal/open_shared_queue.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/log_severity.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "ratelimit/token_bucket.h"
#include "workqueue/clock/clock.h"
#include "workqueue/internal/error_log.h"
#include "workqueue/shared/internal/redis_engine.h"
#include "workqueue/shared/internal/shared_queue_core.h"

namespace workqueue {
namespace internal {
namespace {

absl::Status Check(const SharedQueueParts::Options& options) {
  if (options.name.empty()) {
    return absl::InvalidArgumentError(
        "name is empty; a shared queue needs one");
  }
  if (options.name.find_first_of("{}") != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        "name is \"", options.name, "\"; it must not contain '{' or '}'"));
  }
  if (options.lease < absl::Milliseconds(10)) {
    return absl::InvalidArgumentError(
        absl::StrCat("lease is ", absl::FormatDuration(options.lease),
                     "; it must be at least 10ms"));
  }
  if (options.call_timeout <= absl::ZeroDuration() ||
      options.call_timeout == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "call_timeout is ", absl::FormatDuration(options.call_timeout),
        "; it must be positive and finite"));
  }
  if (options.retry_schedule.empty()) {
    return absl::InvalidArgumentError(
        "retry_schedule is empty; it must have at least one delay");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SharedQueueParts>> OpenSharedQueue(
    SharedQueueParts::Options options) {
  absl::Status status = Check(options);
  if (!status.ok()) return status;
  auto parts = std::make_unique<SharedQueueParts>();
  if (!std::isinf(options.retries_per_second)) {
    auto bucket = TokenBucket::Create(
        options.retries_per_second, options.retry_burst, options.clock.clock());
    if (!bucket.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "retries_per_second, retry_burst: ", bucket.status().message()));
    }
    parts->bucket = *std::move(bucket);
  }
  auto engine = RedisEngine::Create(options.name, options.redis);
  if (!engine.ok()) return engine.status();
  const absl::StatusOr<std::string> problems = (*engine)->CheckSettings(
      Clock::GetRealClock()->TimeNow() + options.call_timeout);
  if (!problems.ok()) return problems.status();
  if (!problems->empty()) {
    const std::string message = absl::StrCat(
        "the server at ", options.redis.address,
        " does not keep all promises of a shared queue: ", *problems);
    if (options.require_durable_server) {
      return absl::FailedPreconditionError(message);
    }
    if (options.log_sink != nullptr) {
      options.log_sink->Log(absl::LogSeverity::kWarning, message);
    }
  }
  SharedQueueCore::Options core;
  core.name = options.name;
  core.loop = options.clock.LoopOrNew(options.name);
  core.engine_uses_clock = options.clock_is_the_servers;
  core.lease = options.lease;
  core.call_timeout = options.call_timeout;
  core.retry_schedule = std::move(options.retry_schedule);
  core.log_sink = options.log_sink;
  core.metrics_provider = options.metrics_provider;
  parts->core =
      std::make_unique<SharedQueueCore>(std::move(core), *std::move(engine));
  status = parts->core->Start();
  if (!status.ok()) return status;
  return parts;
}

}  // namespace internal
}  // namespace workqueue
