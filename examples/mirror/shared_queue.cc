// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/shared_queue.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/base/log_severity.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "examples/mirror/console.h"
#include "examples/mirror/mirror.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/shared/retry_schedule.h"
#include "workqueue/shared/shared_queue.h"
#ifdef MIRROR_POSTGRES
#include "workqueue/shared/postgres/postgres_engine.h"
#endif
#ifdef MIRROR_SQLITE
#include "workqueue/shared/sqlite/sqlite_engine.h"
#endif

namespace mirror {
namespace {

// A process that has died is found out after this time, and another one copies
// what it had.
constexpr absl::Duration kLease = absl::Seconds(5);

class ConsoleLog final : public workqueue::LogSink {
 public:
  explicit ConsoleLog(Console* console) : console_(console) {}

  void Log(absl::LogSeverity, absl::string_view message) override {
    console_->Line(message);
  }

 private:
  Console* const console_;
};

// A text that is no URL and has no port is the path of a file.
std::string WithScheme(const std::string& address) {
  const bool is_path =
      !absl::StrContains(address, "://") &&
      !absl::StartsWith(address, "sqlite:") &&
      (absl::StrContains(address, '/') || !absl::StrContains(address, ':'));
  return is_path ? absl::StrCat("sqlite:", address) : address;
}

}  // namespace

absl::StatusOr<Mirror::SharedQueue> OpenSharedQueue(
    const std::string& address, const std::string& name, Console* console,
    workqueue::MetricsProvider* metrics) {
#ifdef MIRROR_SQLITE
  workqueue::RegisterSqlite();
#endif
#ifdef MIRROR_POSTGRES
  workqueue::RegisterPostgres();
#endif
  const auto log = std::make_shared<ConsoleLog>(console);
  workqueue::SharedQueueOptions<std::string> options;
  options.name = name;
  options.address = WithScheme(address);
  options.lease = kLease;
  options.retry_schedule = *workqueue::ExponentialRetrySchedule(
      Mirror::kFirstRetry, Mirror::kLongestRetry);
  options.metrics_provider = metrics;
  options.log_sink = log.get();
  auto opened = workqueue::SharedQueue<std::string>::Create(std::move(options));
  if (!opened.ok()) return opened.status();
  Mirror::SharedQueue result;
  result.idle = [queue = opened->get(), log] {
    const auto counts = queue->Count();
    return counts.ok() && counts->queued + counts->processing +
                                  counts->waiting + counts->failing ==
                              0;
  };
  result.queue = *std::move(opened);
  return result;
}

}  // namespace mirror
