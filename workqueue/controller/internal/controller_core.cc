// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/internal/controller_core.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "ratelimit/rate_limiter.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/printable.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/controller_options.h"
#include "workqueue/controller/internal/async_workers.h"
#include "workqueue/controller/internal/leased_item.h"
#include "workqueue/controller/metrics.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/failure_ledger.h"
#include "workqueue/failures.h"
#include "workqueue/interfaces.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/retry_after.h"

namespace workqueue::internal {
namespace {

bool IsPowerOfTwo(unsigned int n) { return (n & (n - 1)) == 0; }

// Call a function of `metric`, if it is not null. Drop an exception.
template <typename Metric, typename F>
void With(const Metric& metric, F act) {
  if (metric != nullptr) TryCall([&] { act(*metric); });
}
void Inc(const std::unique_ptr<CounterMetric>& metric) {
  With(metric, [](auto& m) { m.Inc(); });
}
void Inc(const std::unique_ptr<GaugeMetric>& metric) {
  With(metric, [](auto& m) { m.Inc(); });
}
void Dec(const std::unique_ptr<GaugeMetric>& metric) {
  With(metric, [](auto& m) { m.Dec(); });
}

}  // namespace

struct ControllerCore::Metrics {
  // Creates no metrics if `provider` is null.
  Metrics(const std::string& controller, size_t workers,
          ControllerMetricsProvider* provider) {
    if (provider == nullptr) return;
    success = provider->NewReconcileTotalMetric(controller, "success");
    requeue_after =
        provider->NewReconcileTotalMetric(controller, "requeue_after");
    error = provider->NewReconcileTotalMetric(controller, "error");
    errors = provider->NewReconcileErrorsMetric(controller);
    terminal_errors = provider->NewTerminalReconcileErrorsMetric(controller);
    panics = provider->NewReconcilePanicsMetric(controller);
    timeouts = provider->NewReconcileTimeoutsMetric(controller);
    time = provider->NewReconcileTimeMetric(controller);
    max_concurrent = provider->NewMaxConcurrentReconcilesMetric(controller);
    active_workers = provider->NewActiveWorkersMetric(controller);
    retries = provider->NewReconcileRetriesMetric(controller);
    active_retries = provider->NewActiveRetriesMetric(controller);
    running_sources = provider->NewRunningSourcesMetric(controller);
    unhealthy_sources = provider->NewUnhealthySourcesMetric(controller);
    With(max_concurrent,
         [workers](auto& m) { m.Set(static_cast<double>(workers)); });
  }

  std::unique_ptr<CounterMetric> success;
  std::unique_ptr<CounterMetric> requeue_after;
  std::unique_ptr<CounterMetric> error;
  std::unique_ptr<CounterMetric> errors;
  std::unique_ptr<CounterMetric> terminal_errors;
  std::unique_ptr<CounterMetric> panics;
  std::unique_ptr<CounterMetric> timeouts;
  std::unique_ptr<HistogramMetric> time;
  std::unique_ptr<SettableGaugeMetric> max_concurrent;
  std::unique_ptr<GaugeMetric> active_workers;
  std::unique_ptr<CounterMetric> retries;
  std::unique_ptr<GaugeMetric> active_retries;
  std::unique_ptr<GaugeMetric> running_sources;
  std::unique_ptr<GaugeMetric> unhealthy_sources;
  std::unique_ptr<CounterMetric> parked_total;  // without a ledger
};

ControllerCore::ControllerCore(const ControllerOptionsBase& options,
                               const GivenOptions& given,
                               std::shared_ptr<AsyncWorkers> async_workers,
                               std::function<int64_t()> term)
    : name_(options.name),
      clock_(ClockOf(options, given.queue_clock)),
      loop_(options.clock.loop()),
      driven_loop_(options.clock.DrivenLoop()),
      term_(std::move(term)),
      log_("controller", name_, options.log_sink),
      source_errors_("controller", name_, options.log_sink, clock_),
      queue_errors_("controller", name_, options.log_sink, clock_),
      cannot_acquire_("controller", name_, options.log_sink, clock_,
                      "acquiring an item", "acquires items again"),
      log_sink_(options.log_sink),
      num_workers_(options.workers),
      max_concurrent_reconciles_(given.reconcile_async ? options.max_in_flight
                                                       : options.workers),
      sync_timeout_(options.sync_timeout),
      reconcile_timeout_(options.reconcile_timeout),
      limits_(options.failures),
      shared_(given.shared),
      metrics_provider_(name_.empty() ? nullptr : options.metrics_provider),
      metrics_(std::make_unique<Metrics>(name_, max_concurrent_reconciles_,
                                         metrics_provider_)),
      timed_(reconcile_timeout_ < absl::InfiniteDuration() ||
             metrics_provider_ != nullptr),
      async_workers_(std::move(async_workers)) {
  if (async_workers_ != nullptr) {
    async_workers_->SetCore(this);
    shared_name_ = std::make_shared<const std::string>(name());
  }
  if (shared_ && limits_.parks() && metrics_provider_ != nullptr) {
    metrics_->parked_total = metrics_provider_->NewParkedTotalMetric(name());
  }
}

ControllerCore::~ControllerCore() = default;

FailureLedgerMetrics ControllerCore::NewLedgerMetrics() const {
  FailureLedgerMetrics metrics;
  if (!limits_.parks() || metrics_provider_ == nullptr) return metrics;
  metrics.parked = metrics_provider_->NewParkedItemsMetric(name());
  metrics.parked_total = metrics_provider_->NewParkedTotalMetric(name());
  return metrics;
}

void ControllerCore::RecordSourceRuns(bool runs) const {
  runs ? Inc(metrics_->running_sources) : Dec(metrics_->running_sources);
}

void ControllerCore::RecordSourceHealth(bool healthy) const {
  healthy ? Dec(metrics_->unhealthy_sources) : Inc(metrics_->unhealthy_sources);
}

Reconciliation::Info ControllerCore::InfoOf(LeasedItem& item, int64_t term) {
  const absl::Time begun_at = NowIfTimed();
  int failures = 0;
  Try("counting the failures of", item, [&] { failures = item.Failures(); });
  const int64_t token = item.token();
  return {shared_name_,
          clock(),
          begun_at,
          begun_at + reconcile_timeout_,
          item.priority(),
          failures,
          token != 0 ? token : term,
          term};
}

bool ControllerCore::IsOfOneItem(const absl::Status& error) const {
  return shared_ && !absl::IsCancelled(error) && QueueAnswers();
}

void ControllerCore::WorkWith(LeasedItem& item) {
  const auto stands_by = [&] {
    if (!StandsBy()) return false;
    EndLease(item);  // Nobody else gets the item before.
    return true;
  };
  while (AwaitTerm(stands_by)) {
    const absl::Status acquired =
        CatchAsStatus([&item] { return item.Acquire(); });
    if (absl::IsCancelled(acquired)) return;
    if (!acquired.ok()) {
      NoteEnd(false);  // of the item before, which the call has ended, too
      if (abandoning().HasBeenNotified()) return;
      if (IsOfOneItem(acquired)) continue;
      cannot_acquire_.Lasts(acquired);
      AwaitRetry(abandoning());
      continue;
    }
    cannot_acquire_.Over();
    if (abandoning().HasBeenNotified()) {
      GiveBack(item);
      return;
    }
    const int64_t term = Term();
    if (StandsBy(term)) {
      GiveBack(item);
      continue;
    }
    if (ShouldProcess(item)) Reconcile(item, term);
    if (!EndsWithNext()) EndLease(item);
    OnItemDone();
  }
}

void ControllerCore::Reconcile(LeasedItem& item, int64_t term) {
  const Reconciliation::Info info = InfoOf(item, term);
  const auto lost = [&] { return item.lost() || HasLostTerm(info.term); };
  const ReconcileContext context = {
      name(),        clock(),       abandoning(), info.clock_deadline,
      info.priority, info.failures, info.token,   lost};
  OnBegin(item);
  bool threw = true;
  const absl::StatusOr<ReconcileResult> result = CatchAsStatus([&] {
    absl::StatusOr<ReconcileResult> returned = item.Reconcile(context);
    threw = false;
    return returned;
  });
  const AfterReconcile after = OnEnd(item, info, threw, result);
  if (!TryEnd(item, after)) RetryEnd(item, after);
}

void ControllerCore::OnBegin(LeasedItem& item) const {
  Inc(metrics_->active_workers);
  if (!item.is_retry()) return;
  Inc(metrics_->retries);
  Inc(metrics_->active_retries);
}

AfterReconcile ControllerCore::OnEnd(
    LeasedItem& item, const Reconciliation::Info& info, bool threw,
    const absl::StatusOr<ReconcileResult>& result) {
  const absl::Time end = NowIfTimed();
  Dec(metrics_->active_workers);
  if (item.is_retry()) Dec(metrics_->active_retries);
  With(metrics_->time, [&](auto& m) {
    // The clock may have gone back.
    m.Observe(absl::ToDoubleSeconds(
        std::max(end - info.begun_at, absl::ZeroDuration())));
  });
  if (threw) Inc(metrics_->panics);
  if (end >= info.clock_deadline) Inc(metrics_->timeouts);
  return result.ok() ? HandleSuccess(item, *result)
                     : HandleError(item, info.term, result.status(),
                                   OneMoreFailure(info.failures));
}

AfterReconcile ControllerCore::HandleError(LeasedItem& item, int64_t term,
                                           const absl::Status& error,
                                           int failures) {
  const bool terminal = IsTerminalError(error);
  if (!terminal && (abandoning().HasBeenNotified() || HasLostTerm(term))) {
    return {std::nullopt, /*give_back=*/true};
  }
  Inc(metrics_->error);
  Inc(metrics_->errors);
  if (terminal) Inc(metrics_->terminal_errors);
  if (!terminal && shared_) {
    AfterReconcile after;
    after.failed = error;
    return after;
  }
  bool parked = false;
  const std::optional<absl::Duration> asked = RetryAfterOf(error);
  std::optional<absl::Duration> delay;
  if (!terminal) {
    Try("recording the failure of", item,
        [&] { parked = item.RecordFailure(error); });
  }
  if (!terminal && !parked) {
    Try("choosing the delay of", item,
        [&] { delay = item.ChooseDelay(asked); });
  }
  LogFailure([&item] { return item.Describe(); }, failures, error, terminal,
             parked, delay);
  if (terminal || parked) return ForgetAfter(item);
  AddOptions again;
  again.after = delay.value_or(absl::ZeroDuration());
  again.rate_limited = !delay.has_value();
  again.retry_after = asked;
  again.priority = item.priority();
  again.retry = true;
  return {again};
}

AfterReconcile ControllerCore::HandleSuccess(LeasedItem& item,
                                             const ReconcileResult& result) {
  AfterReconcile after;
  if (!result.not_now) {
    after = ForgetAfter(item);
    if (result.requeue_after == absl::ZeroDuration()) {
      Inc(metrics_->success);
      return after;
    }
  }
  Inc(metrics_->requeue_after);
  if (result.requeue_after == absl::ZeroDuration()) {
    return {std::nullopt, /*give_back=*/true};
  }
  AddOptions again;
  again.after = result.requeue_after;
  again.priority = result.priority.value_or(item.priority());
  after.add_again = again;
  return after;
}

AfterReconcile ControllerCore::ForgetAfter(LeasedItem& item) {
  AfterReconcile after;
  if (shared_) {
    // After a lost lease they are those of another processing.
    after.forget = item.Failures() > 0 && !item.lost();
  } else {
    Try("forgetting the failures of", item, [&item] { return item.Forget(); });
  }
  return after;
}

bool ControllerCore::ShouldProcess(LeasedItem& item) {
  bool should = true;
  Try("looking up the failures of", item,
      [&] { should = item.ShouldProcess(); });
  return should;
}

bool ControllerCore::TryFail(LeasedItem& item, const absl::Status& error) {
  // While the lease lasts. The text of an item is the user's and may throw.
  std::string described;
  const bool printed = TryCall([&] { described = item.Describe(); });
  const int before = item.Failures();
  const std::optional<absl::Duration> asked = RetryAfterOf(error);
  FailureOutcome outcome;
  const bool counted = Try("counting the failure of", item, [&] {
    const auto failed = item.Fail(error, asked);
    if (failed.ok()) outcome = *failed;
    return failed.status();
  });
  if (!counted) return false;
  if (outcome.parked) Inc(metrics_->parked_total);
  if (!printed) return true;  // as LogFailure() would do
  LogFailure([&described] { return described; },
             outcome.lost ? OneMoreFailure(before) : outcome.failures, error,
             /*terminal=*/false, outcome.parked,
             outcome.parked ? std::nullopt : asked);
  return true;
}

bool ControllerCore::TryEnd(LeasedItem& item, const AfterReconcile& after) {
  if (after.give_back) {
    GiveBack(item);
    return true;
  }
  const bool over =
      (!after.forget || Try("forgetting the failures of", item,
                            [&item] { return item.Forget(); })) &&
      (after.failed.ok() || TryFail(item, after.failed)) &&
      (!after.add_again.has_value() ||
       Try("adding again", item, [&] { return item.Add(*after.add_again); }));
  if (over || !stopping().HasBeenNotified()) return over;
  // A queue in memory will be closed, and drops the item anyway. Elsewhere
  // another process tries again, or the lease expires.
  if (shared_) GiveBack(item);
  return true;
}

void ControllerCore::RetryEnd(LeasedItem& item, const AfterReconcile& after) {
  do {
    AwaitRetry(stopping());
  } while (!TryEnd(item, after));
}

void ControllerCore::LogFailure(absl::FunctionRef<std::string()> item,
                                int failures, const absl::Status& error,
                                bool terminal, bool parked,
                                std::optional<absl::Duration> retry_after) {
  if (log_sink_ == nullptr) return;
  if (!terminal && !parked &&
      !IsPowerOfTwo(static_cast<unsigned int>(failures))) {
    failure_limit_.LeaveOut();
    return;
  }
  // The item and the sink are the user's and may throw.
  TryCall([&] {
    const std::optional<int64_t> left_out =
        failure_limit_.Admit(clock()->TimeNow());
    if (!left_out.has_value()) return;
    const std::string printed_item = item();
    const std::string message =
        absl::StrCat(queue_errors_.who(), ": reconciling ", printed_item,
                     terminal ? ", for the last time"
                     : parked ? ", and parking it"
                              : "",
                     " (failures: ", failures,
                     "): ", Printable(StatusText(error), kPrintedErrorBytes),
                     LeftOut(*left_out));
    ReconcileFailure failure;
    failure.controller = name();
    failure.item = printed_item;
    failure.failures = failures;
    failure.error = error;
    failure.terminal = terminal;
    failure.parked = parked;
    failure.retry_after = retry_after;
    failure.left_out = *left_out;
    failure.message = message;
    log_sink_->LogFailure(failure);
  });
}

}  // namespace workqueue::internal
