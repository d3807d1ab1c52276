// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/redis/redis_connector.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/redis/redis_address.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_options.h"

namespace workqueue::internal {

absl::Status RepeatUntil(absl::Time deadline,
                         absl::FunctionRef<absl::Status()> attempt) {
  Clock* const clock = Clock::GetRealClock();
  for (absl::Duration pause = kFirstRetryPause;;
       pause = std::min(2 * pause, kLastRetryPause)) {
    absl::Status status = attempt();
    if (!MayPass(status)) return status;
    clock->SleepUntil(std::min(clock->TimeNow() + pause, deadline));
    if (clock->TimeNow() >= deadline) return status;
  }
}

absl::Status RedisConnector::Connect(absl::Duration timeout) {
  Clock* const clock = Clock::GetRealClock();
  const absl::Time deadline = clock->TimeNow() + timeout;
  const bool moved = connection_ != nullptr && !connection_->moved_to().empty();
  // The last server has answered, but perhaps does not serve.
  if (connection_ != nullptr && !moved) ++attempts_;
  RedisOptions to = options_;
  const std::vector<std::string> addresses = AddressesOf(options_);
  to.address = addresses[attempts_ % addresses.size()];
  if (moved) to.address = connection_->moved_to();
  absl::Cleanup failed = [&] {
    connection_.reset();
    if (!moved) ++attempts_;
  };
  connection_.reset();
  auto connection = RedisConnection::Connect(to, timeout, interrupt_);
  absl::Status status = connection.status();
  if (status.ok()) {
    connection_ = *std::move(connection);
    if (!moved && addresses.size() > 1) {
      status = CheckCluster(deadline - clock->TimeNow());
    }
  }
  if (status.ok()) std::move(failed).Cancel();
  return status;
}

absl::Status RedisConnector::CheckCluster(absl::Duration timeout) const {
  const auto info = connection_->Call({"INFO", "cluster"}, timeout);
  if (!info.ok()) return info.status();
  if (absl::StrContains(TextOf(**info), "cluster_enabled:1")) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("address is \"", options_.address,
                   "\": several addresses must be those of a cluster, and a "
                   "server there is none"));
}

}  // namespace workqueue::internal
