// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/internal/open_shared_queue.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "ratelimit/token_bucket.h"
#include "workqueue/base/check_duration.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/printable.h"
#include "workqueue/base/process_id.h"
#include "workqueue/clock/clock.h"
#include "workqueue/redis/redis_address.h"
#include "workqueue/redis/source_of_address.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/redis/unique_text.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/partitioned_queue.h"
#include "workqueue/shared/internal/queue_keys.h"
#include "workqueue/shared/internal/redis_engine.h"
#include "workqueue/shared/internal/shared_queue_core.h"
#include "workqueue/shared/internal/shared_queue_metrics.h"
#include "workqueue/shared/shared_queue_options.h"

namespace workqueue::internal {
namespace {

// A request has room for the ends of so many items, and for more.
constexpr int kMaxPrefetch = 100;

absl::Status Check(const SharedQueueOptionsBase& options) {
  absl::Status status = CheckQueueName(options.name);
  if (!status.ok()) return status;
  if (options.partitions < 1 || options.partitions > kMaxPartitions) {
    return absl::InvalidArgumentError(
        absl::StrCat("partitions is ", options.partitions,
                     "; it must be from 1 to ", kMaxPartitions));
  }
  if (options.lease < absl::Milliseconds(10)) {
    return absl::InvalidArgumentError(
        absl::StrCat("lease is ", absl::FormatDuration(options.lease),
                     "; it must be at least 10ms"));
  }
  status = CheckFiniteAndPositive("call_timeout", options.call_timeout);
  if (!status.ok()) return status;
  if (options.prefetch < 0 || options.prefetch > kMaxPrefetch) {
    return absl::InvalidArgumentError(
        absl::StrCat("prefetch is ", options.prefetch,
                     "; it must be from 0 to ", kMaxPrefetch));
  }
  if (options.retry_schedule.empty()) {
    return absl::InvalidArgumentError(
        "retry_schedule is empty; it must have at least one delay");
  }
  for (size_t i = 0; i < options.retry_schedule.size(); ++i) {
    status.Update(CheckNotNegative(absl::StrCat("retry_schedule[", i, "]"),
                                   options.retry_schedule[i]));
  }
  if (!status.ok()) return status;
  if (!(options.retries_per_second >= 0)) {  // or not a number
    return absl::InvalidArgumentError(
        absl::StrCat("retries_per_second is ", options.retries_per_second,
                     "; it must not be negative"));
  }
  if (options.retry_burst < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "retry_burst is ", options.retry_burst, "; it must not be negative"));
  }
  if (options.clock.DrivenLoop() != nullptr) {
    return absl::InvalidArgumentError(
        "clock is a loop that the program drives; calls to the engine would "
        "block it; pass the loop's clock, and the queue has a thread");
  }
  return absl::OkStatus();
}

// The time of a database is its own.
absl::Status CheckClock(const SharedQueueOptionsBase& options) {
  if (!options.clock_is_the_servers) return absl::OkStatus();
  if (options.engine == nullptr) {
    return CheckServersClock(options.clock.clock());
  }
  if (options.engine->UsesClocksOfQueues()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("clock_is_the_servers is true, but the queue is in ",
                   options.engine->Name(),
                   ", whose time is its own; Create() of the engine takes a "
                   "clock"));
}

// Tells `found`, what is wrong with the settings of the engine that has a
// partition, unless it is in `*told`.
absl::Status TellProblem(const SharedQueueOptionsBase& options,
                         const std::string& found,
                         std::vector<std::string>* told) {
  if (found.empty() ||
      std::find(told->begin(), told->end(), found) != told->end()) {
    return absl::OkStatus();
  }
  told->push_back(found);
  const std::string message =
      absl::StrCat(options.engine != nullptr
                       ? options.engine->Name()
                       : absl::StrCat("the server at ", options.redis.address),
                   " does not keep all promises of a shared queue: ", found);
  if (options.require_durable_server) {
    return absl::FailedPreconditionError(message);
  }
  if (options.log_sink != nullptr) {
    TryCall([&] {
      options.log_sink->Log(absl::LogSeverity::kWarning,
                            Printable(message, kPrintedErrorBytes));
    });
  }
  return absl::OkStatus();
}

// The name that a partition has in metrics and logs.
std::string NameOf(const SharedQueueOptionsBase& options, size_t i) {
  return options.partitions > 1 ? absl::StrCat(options.name, "/", i)
                                : options.name;
}

// Counts an error of the engine that no partition counts.
void CountError(const SharedQueueOptionsBase& options) {
  for (size_t i = 0; i < static_cast<size_t>(options.partitions); ++i) {
    TryCall([&] {
      const auto metrics = SharedQueueMetrics::Create(NameOf(options, i),
                                                      options.metrics_provider);
      if (metrics != nullptr) Increment(metrics->errors);
    });
  }
}

std::unique_ptr<SharedQueueCore> NewPartition(
    const SharedQueueOptionsBase& options, size_t i,
    const std::optional<EngineOperation>& set_groups) {
  const size_t n = static_cast<size_t>(options.partitions);
  const std::string name = PartitionName(options.name, i, n);
  std::unique_ptr<Engine> engine =
      options.engine != nullptr
          ? options.engine->NewEngine(name, n, options.client_name)
          : std::make_unique<RedisEngine>(name, n, options.redis);
  SharedQueueCore::Options core = {
      options, options.clock.LoopOrNew(options.name),
      options.clock_is_the_servers ||
          (options.engine != nullptr && options.engine->UsesClocksOfQueues()),
      set_groups};
  core.name = NameOf(options, i);
  // Bounds of groups count what is in hand. Each partition serves its workers
  // by pushes. A test with a clock of its own decides what happens when.
  if (n > 1 || set_groups || options.clock.clock() != Clock::GetRealClock()) {
    core.prefetch = 0;
  }
  return std::make_unique<SharedQueueCore>(std::move(core), std::move(engine));
}

// Opens all partitions at the same time.
absl::Status OpenPartitions(const SharedQueueOptionsBase& options,
                            const std::optional<EngineOperation>& set_groups,
                            absl::Time deadline,
                            PartitionedQueue::Partitions* partitions) {
  const size_t n = static_cast<size_t>(options.partitions);
  for (size_t i = 0; i < n; ++i) {
    partitions->push_back(NewPartition(options, i, set_groups));
  }
  std::vector<absl::StatusOr<std::string>> problems(n);
  PartitionedQueue::ForEach(n, [&](size_t i) {
    problems[i] = (*partitions)[i]->CheckSettings(deadline);
    return problems[i].status();
  }).IgnoreError();
  std::vector<std::string> told;
  for (const auto& found : problems) {
    if (!found.ok()) return found.status();
    absl::Status status = TellProblem(options, *found, &told);
    if (!status.ok()) {
      CountError(options);
      return status;
    }
  }
  absl::Status status = PartitionedQueue::ForEach(
      n, [&](size_t i) { return (*partitions)[i]->Start(deadline); });
  if (!status.ok()) PartitionedQueue::Destroy(partitions);
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SharedQueueParts>> OpenSharedQueue(
    const SharedQueueOptionsBase& given,
    const std::optional<EngineOperation>& set_groups) {
  SharedQueueOptionsBase options = given;
  if (options.client_name.empty()) {
    options.client_name = absl::StrCat(HostName(), "/", ProcessId());
  }
  absl::Status status = Check(options);
  if (!status.ok()) return status;
  // The engines do not need it any more when they are there.
  const absl::Time deadline =
      Clock::GetRealClock()->TimeNow() + options.call_timeout;
  auto source = TakeSource(options.engine, options.address, &options.redis,
                           options.call_timeout);
  if (!source.ok()) {
    if (!absl::IsInvalidArgument(source.status())) CountError(options);
    return source.status();
  }
  if (*source != nullptr) options.engine = source->get();
  status = CheckOneStore(options.engine != nullptr, options.redis);
  if (!status.ok()) return status;
  auto redis = PlainRedisOptions(std::move(options.redis));
  if (!redis.ok()) return redis.status();
  options.redis = *std::move(redis);
  status = CheckClock(options);
  if (!status.ok()) return status;
  auto parts = std::make_unique<SharedQueueParts>();
  parts->max_retry = *std::max_element(options.retry_schedule.begin(),
                                       options.retry_schedule.end());
  auto bucket = TokenBucket::Create(options.retries_per_second,
                                    options.retry_burst, options.clock.clock());
  if (!bucket.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "retries_per_second, retry_burst: ", bucket.status().message()));
  }
  parts->bucket = *std::move(bucket);
  PartitionedQueue::Partitions partitions;
  status = OpenPartitions(options, set_groups, deadline, &partitions);
  if (!status.ok()) return status;
  if (partitions.size() == 1) {
    parts->queue = std::move(partitions.front());
  } else {
    parts->queue = std::make_unique<PartitionedQueue>(
        std::move(partitions), options.clock.LoopOrNew(options.name));
  }
  return parts;
}

absl::Status CheckOnlyTimeAndPriority(absl::string_view call,
                                      const AddOptions& options) {
  for (const auto& [name, is_given] :
       {std::pair("rate_limited", options.rate_limited),
        {"reschedule", options.reschedule},
        {"retry", options.retry},
        {"retry_after", options.retry_after.has_value()}}) {
    if (!is_given) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        name, " is given; ", call, " has only a time and a priority"));
  }
  return absl::OkStatus();
}

}  // namespace workqueue::internal
