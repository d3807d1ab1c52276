// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/lease_elector.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/log_severity.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "examples/kubernetes/client.h"
#include "examples/kubernetes/json.h"
#include "examples/kubernetes/resource.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/log_sink.h"

namespace kubernetes {
namespace {

const Resource& Leases() {
  static const auto* const leases =
      new Resource{"coordination.k8s.io", "v1", "leases"};
  return *leases;
}

// Returns a time as a MicroTime of Kubernetes.
std::string MicroTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E6SZ", time, absl::UTCTimeZone());
}

absl::Status CheckOptions(const LeaseElectorOptions& options) {
  const auto error = [](absl::string_view field, absl::Duration value,
                        absl::string_view reason) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " is ", absl::FormatDuration(value), ", ", reason));
  };
  if (options.identity.empty()) {
    return absl::InvalidArgumentError("identity is empty");
  }
  if (options.lease_duration < absl::Seconds(1)) {
    return error("lease_duration", options.lease_duration, "less than 1s");
  }
  // The others see whole seconds.
  if (options.lease_duration % absl::Seconds(1) != absl::ZeroDuration()) {
    return error("lease_duration", options.lease_duration, "not whole seconds");
  }
  if (options.renew_deadline >= options.lease_duration) {
    return error("renew_deadline", options.renew_deadline,
                 "not less than lease_duration");
  }
  if (options.retry_period <= absl::ZeroDuration()) {
    return error("retry_period", options.retry_period, "not positive");
  }
  if (options.retry_period >= options.renew_deadline) {
    return error("retry_period", options.retry_period,
                 "not less than renew_deadline");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LeaseElector>> LeaseElector::Create(
    Client* client, LeaseElectorOptions options) {
  const absl::Status status = CheckOptions(options);
  if (!status.ok()) return status;
  return absl::WrapUnique(new LeaseElector(client, std::move(options)));
}

LeaseElector::LeaseElector(Client* client, LeaseElectorOptions options)
    : client_(client),
      options_(std::move(options)),
      clock_(workqueue::OrRealClock(options_.clock)),
      parker_(clock_->NewParker(workqueue::Parker::Role::kCaller)) {}

absl::Status LeaseElector::Run(
    const std::function<void()>& on_started_leading) {
  absl::Time begin = clock_->TimeNow();
  while (!Try().ok()) {
    if (absl::IsInvalidArgument(last_try_)) return last_try_;
    if (!Sleep()) return absl::OkStatus();
    begin = clock_->TimeNow();
  }
  deadline_ = begin + options_.renew_deadline;
  on_started_leading();
  absl::Status renewed;
  while (Sleep()) {
    begin = clock_->TimeNow();
    if (begin < deadline_) {
      renewed = Try();
      if (renewed.ok()) {
        deadline_ = begin + options_.renew_deadline;
        continue;
      }
      if (!Holder().empty() && !Leads()) {
        return absl::AbortedError(
            absl::StrCat("another process leads: ", renewed.message()));
      }
    }
    if (clock_->TimeNow() >= deadline_) {
      return absl::DeadlineExceededError(absl::StrCat(
          "the lease could not be renewed within ",
          absl::FormatDuration(options_.renew_deadline), ": ",
          renewed.ok() ? "no try began in time" : renewed.message()));
    }
  }
  Release();
  return absl::OkStatus();
}

void LeaseElector::Stop() {
  stopping_ = true;
  parker_->Unpark();
}

absl::Status LeaseElector::Try() {
  const absl::Status tried = TryAcquireOrRenew();
  if (!tried.ok() && tried != last_try_ && options_.log_sink != nullptr) {
    const bool is_normal =
        absl::IsAlreadyExists(tried) || absl::IsAborted(tried);
    options_.log_sink->Log(
        is_normal ? absl::LogSeverity::kInfo : absl::LogSeverity::kError,
        absl::StrCat("leader election: ", tried.message()));
  }
  last_try_ = tried;
  return tried;
}

absl::Status LeaseElector::TryAcquireOrRenew() {
  // A leader writes without reading first. If the server has another version,
  // the next try reads it.
  if (Leads()) {
    const absl::Status renewed =
        Write(options_.identity, options_.lease_duration, /*acquire=*/false);
    if (renewed.ok()) return renewed;
  }
  const absl::StatusOr<Json> lease =
      client_->Get(Leases(), {options_.ns, options_.name}, RequestTimeout());
  if (lease.ok()) {
    Observe(*lease);
  } else if (absl::IsNotFound(lease.status())) {
    observed_ = Json();
  } else {
    return lease.status();
  }
  const absl::string_view holder = Holder();
  if (!holder.empty() && !Leads()) {
    const Json* const seconds =
        ValueAt(observed_, {"spec", "leaseDurationSeconds"});
    const absl::Duration duration =
        absl::Seconds(seconds != nullptr && seconds->is_number_integer()
                          ? seconds->get<int64_t>()
                          : 0);
    if (clock_->TimeNow() < observed_at_ + duration) {
      return absl::AlreadyExistsError(absl::StrCat(holder, " has the lease"));
    }
  }
  return Write(options_.identity, options_.lease_duration,
               /*acquire=*/!Leads());
}

void LeaseElector::Release() {
  // As in client-go, so that the next leader need not wait.
  Write("", absl::Seconds(1), /*acquire=*/false).IgnoreError();
}

absl::Status LeaseElector::Write(const std::string& holder,
                                 absl::Duration duration, bool acquire) {
  const absl::Duration timeout = RequestTimeout();
  // The real clock of the library does not follow the machine's time of day.
  const std::string now =
      MicroTime(options_.clock == nullptr ? absl::Now() : clock_->TimeNow());
  const bool create = observed_.is_null();
  Json lease = observed_;
  lease["metadata"]["namespace"] = options_.ns;
  lease["metadata"]["name"] = options_.name;
  Json& spec = lease["spec"];
  spec["holderIdentity"] = holder;
  spec["leaseDurationSeconds"] = absl::ToInt64Seconds(duration);
  spec["renewTime"] = now;
  if (acquire) {
    spec["acquireTime"] = now;
    spec["leaseTransitions"] =
        create ? 0 : spec.value("leaseTransitions", int64_t{0}) + 1;
  }
  const absl::StatusOr<Json> written =
      create ? client_->Create(Leases(), lease, timeout)
             : client_->Update(Leases(), lease, timeout);
  if (written.ok()) Observe(*written);
  return written.status();
}

void LeaseElector::Observe(const Json& lease) {
  if (lease == observed_) return;
  observed_ = lease;
  observed_at_ = clock_->TimeNow();
}

absl::string_view LeaseElector::Holder() const {
  return StringAt(observed_, {"spec", "holderIdentity"});
}

bool LeaseElector::Leads() const { return Holder() == options_.identity; }

absl::Duration LeaseElector::RequestTimeout() const {
  return std::min(options_.renew_deadline / 2, deadline_ - clock_->TimeNow());
}

bool LeaseElector::Sleep() {
  parker_->ParkUntil(
      std::min(clock_->TimeNow() + options_.retry_period, deadline_));
  return !stopping_;
}

}  // namespace kubernetes
