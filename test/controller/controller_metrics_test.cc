// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/fragile_key.h"
#include "test/controller/controller_fixture.h"
#include "test/workqueue/recording_log.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/metrics.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/interfaces.h"
#include "workqueue/metrics.h"
#include "workqueue/testing/manual_executor.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::controller_metrics_test {
namespace {

constexpr absl::Duration kMs = absl::Milliseconds(1);

// The values reported to the metrics of a `RecordingProvider`: a sum for each
// metric, and the single observations.
class Record {
 public:
  void Add(const std::string& metric, double value) {
    internal::MutexLock lock(&mu_);
    sums_[metric] += value;
  }
  void Observe(double value) {
    internal::MutexLock lock(&mu_);
    observed_.push_back(value);
  }

  // Returns the sums that are not zero.
  std::map<std::string, double> sums() const {
    internal::MutexLock lock(&mu_);
    std::map<std::string, double> sums;
    for (const auto& sum : sums_) {
      if (sum.second != 0) sums.insert(sum);
    }
    return sums;
  }
  std::vector<double> observed() const {
    internal::MutexLock lock(&mu_);
    return observed_;
  }

 private:
  mutable absl::Mutex mu_;
  std::map<std::string, double> sums_ ABSL_GUARDED_BY(mu_);
  std::vector<double> observed_ ABSL_GUARDED_BY(mu_);
};

// A metric of any kind.
class RecordingMetric final : public CounterMetric,
                              public GaugeMetric,
                              public SettableGaugeMetric,
                              public HistogramMetric {
 public:
  RecordingMetric(std::string name, Record* record, bool throws,
                  const std::function<void()>* on_call)
      : name_(std::move(name)),
        record_(record),
        throws_(throws),
        on_call_(*on_call) {}

  void Inc() override { Add(1); }
  void Dec() override { Add(-1); }
  void Set(double value) override { Add(value); }
  void Observe(double value) override {
    Begin();
    record_->Observe(value);
  }

 private:
  void Add(double value) {
    Begin();
    record_->Add(name_, value);
  }
  void Begin() const {
    if (on_call_ != nullptr) on_call_();
#ifdef ABSL_HAVE_EXCEPTIONS
    if (throws_) throw std::runtime_error("thrown");
#endif
  }

  const std::string name_;
  Record* const record_;
  const bool throws_;
  const std::function<void()>& on_call_;
};

// Records the values of its metrics, with the name of the controller.
class RecordingProvider final : public ControllerMetricsProvider {
 public:
  bool throws = false;
  bool wants_none = false;
  std::string refused;            // the metric whose making throws
  std::function<void()> on_call;  // by any metric; may be null

  const Record& record() const { return record_; }

  std::unique_ptr<CounterMetric> NewReconcileTotalMetric(
      absl::string_view controller, absl::string_view result) override {
    return New(controller, result);
  }
  std::unique_ptr<CounterMetric> NewReconcileErrorsMetric(
      absl::string_view controller) override {
    return New(controller, "errors");
  }
  std::unique_ptr<CounterMetric> NewTerminalReconcileErrorsMetric(
      absl::string_view controller) override {
    return New(controller, "terminal");
  }
  std::unique_ptr<CounterMetric> NewReconcilePanicsMetric(
      absl::string_view controller) override {
    return New(controller, "panics");
  }
  std::unique_ptr<CounterMetric> NewReconcileTimeoutsMetric(
      absl::string_view controller) override {
    return New(controller, "timeouts");
  }
  std::unique_ptr<HistogramMetric> NewReconcileTimeMetric(
      absl::string_view controller) override {
    return New(controller, "time");
  }
  std::unique_ptr<SettableGaugeMetric> NewMaxConcurrentReconcilesMetric(
      absl::string_view controller) override {
    return New(controller, "max");
  }
  std::unique_ptr<GaugeMetric> NewActiveWorkersMetric(
      absl::string_view controller) override {
    return New(controller, "active");
  }
  std::unique_ptr<CounterMetric> NewReconcileRetriesMetric(
      absl::string_view controller) override {
    return New(controller, "retries");
  }
  std::unique_ptr<GaugeMetric> NewActiveRetriesMetric(
      absl::string_view controller) override {
    return New(controller, "active_retries");
  }
  std::unique_ptr<GaugeMetric> NewRunningSourcesMetric(
      absl::string_view controller) override {
    return New(controller, "sources");
  }
  std::unique_ptr<GaugeMetric> NewUnhealthySourcesMetric(
      absl::string_view controller) override {
    return New(controller, "unhealthy");
  }
  std::unique_ptr<GaugeMetric> NewParkedItemsMetric(
      absl::string_view controller) override {
    return New(controller, "parked");
  }
  std::unique_ptr<CounterMetric> NewParkedTotalMetric(
      absl::string_view controller) override {
    return New(controller, "parked total");
  }

 private:
  std::unique_ptr<RecordingMetric> New(absl::string_view controller,
                                       absl::string_view metric) {
    if (wants_none) return nullptr;
#ifdef ABSL_HAVE_EXCEPTIONS
    if (metric == refused) throw std::runtime_error("refused");
#endif
    return std::make_unique<RecordingMetric>(
        absl::StrCat(controller, " ", metric), &record_, throws, &on_call);
  }

  Record record_;
};

class ControllerMetricsTest : public ControllerFixture {
 protected:
  using Sums = std::map<std::string, double>;

  // Returns a started controller that reports to `provider_` and calls
  // `reconcile`.
  std::unique_ptr<Controller<std::string>> Reporting(
      ReconcileFunction<std::string> reconcile) {
    ControllerOptions<std::string> options = Options(std::move(reconcile));
    options.metrics_provider = &provider_;
    return Started(std::move(options));
  }

  RecordingProvider provider_;
};

TEST_P(ControllerMetricsTest, WorkersAreCountedFromTheStart) {
  ControllerOptions<std::string> options = Options(Succeed);
  options.workers = 3;
  options.metrics_provider = &provider_;
  const auto controller = New(std::move(options));
  EXPECT_EQ(provider_.record().sums(), (Sums{{"test max", 3}}));
}

TEST_P(ControllerMetricsTest, EachResultIsCounted) {
  const auto controller = Reporting(
      [](const std::string& item,
         const ReconcileContext& context) -> absl::StatusOr<ReconcileResult> {
        if (context.failures == 0) return absl::UnavailableError("later");
        ReconcileResult result;
        if (item == "twice") result.requeue_after = absl::Hours(1);
        if (item == "never") return TerminalError(absl::AbortedError("never"));
        return result;
      });
  controller->queue().AddAll({"once", "twice", "never", "once more"});
  controller->AwaitIdle();
  EXPECT_EQ(provider_.record().sums(),
            (Sums{{"test max", 1}, {"test error", 4}, {"test errors", 4}}));
  Step(*controller, 5 * kMs);
  EXPECT_EQ(provider_.record().sums(), (Sums{{"test max", 1},
                                             {"test success", 2},
                                             {"test requeue_after", 1},
                                             {"test error", 5},
                                             {"test errors", 5},
                                             {"test terminal", 1},
                                             {"test retries", 4}}));
}

TEST_P(ControllerMetricsTest, ARetryThatIsReconciledIsActive) {
  const auto controller =
      Reporting([this](const std::string&, const ReconcileContext& context) {
        EXPECT_EQ(provider_.record().sums().count("test active_retries"),
                  context.failures);
        if (context.failures == 0) return absl::UnavailableError("later");
        return absl::OkStatus();
      });
  AddAndAwait(*controller, "a");
  Step(*controller, 5 * kMs);
  EXPECT_EQ(Noted().size(), 2u);
  EXPECT_EQ(provider_.record().sums().count("test active_retries"), 0u);
}

TEST_P(ControllerMetricsTest, AnEventOfAnItemThatHasFailedIsNoRetry) {
  const auto controller = Reporting(
      [](const std::string&) { return absl::UnavailableError("later"); });
  AddAndAwait(*controller, "a");
  AddAndAwait(*controller, "a");
  EXPECT_EQ(Noted().size(), 2u);
  EXPECT_EQ(provider_.record().sums().count("test retries"), 0u);
}

TEST_P(ControllerMetricsTest, AnActiveWorkerIsOneThatReconciles) {
  const auto controller = Reporting([this](const std::string&) {
    EXPECT_EQ(provider_.record().sums().at("test active"), 1);
    return absl::OkStatus();
  });
  AddAndAwait(*controller, "a");
  EXPECT_EQ(Noted().size(), 1u);
  EXPECT_EQ(provider_.record().sums().count("test active"), 0u);
}

TEST_P(ControllerMetricsTest, AReconciliationThatDoesNotBeginIsNotMeasured) {
  ManualExecutor executor;
  std::atomic<bool> counts{false};
  std::atomic<int> looks{0};
  ControllerOptions<std::string> options = Options(Succeed);
  options.metrics_provider = &provider_;
  options.executor = &executor;
  options.reconcile = nullptr;
  options.reconcile_async = [](const std::string&, const AsyncReconcileContext&,
                               ReconcileCompletion) { ADD_FAILURE(); };
  Source<std::string>& source = options.sources.emplace_back();
  source.run = [](SourceContext<std::string>&) { return absl::OkStatus(); };
  // The first term is that in which the item is acquired.
  source.term = [&] { return counts && ++looks > 1 ? 0 : 1; };
  const auto controller = Started(std::move(options));
  executor.RunAll();
  AddOptions retry;
  retry.retry = true;
  controller->queue().AddWithOptions(retry, {"a"});
  counts = true;
  executor.RunAll();
  EXPECT_GT(looks, 1);
  controller->Stop(absl::ZeroDuration());
  executor.RunAll();
  EXPECT_EQ(provider_.record().sums(), (Sums{{"test max", 100}}));
  EXPECT_TRUE(provider_.record().observed().empty());
}

TEST_P(ControllerMetricsTest, ARunningSourceIsCounted) {
  absl::Notification running, fail, restarted;
  std::atomic<int> runs{0};
  ControllerOptions<std::string> options = Options(Succeed);
  options.metrics_provider = &provider_;
  Source<std::string> restarting;
  restarting.restart_backoff.emplace();
  restarting.run = [&](SourceContext<std::string>& context) {
    if (++runs == 1) {
      running.Notify();
      fail.WaitForNotification();
      return absl::DataLossError("torn");
    }
    restarted.Notify();
    context.stop.WaitForNotification();
    return absl::OkStatus();
  };
  options.sources.push_back(std::move(restarting));
  const auto controller = Started(std::move(options));
  running.WaitForNotification();
  EXPECT_EQ(provider_.record().sums(),
            (Sums{{"test max", 1}, {"test sources", 1}}));
  fail.Notify();
  clock_.AwaitWaiters(2);  // the source, and the queue's own thread
  EXPECT_EQ(provider_.record().sums(),
            (Sums{{"test max", 1}, {"test unhealthy", 1}}));
  clock_.Step(absl::Seconds(1));
  restarted.WaitForNotification();
  EXPECT_EQ(provider_.record().sums(),
            (Sums{{"test max", 1}, {"test sources", 1}}));
  EXPECT_TRUE(controller->Stop());
  EXPECT_EQ(provider_.record().sums(), (Sums{{"test max", 1}}));
}

TEST_P(ControllerMetricsTest, ASourceIsUnhealthyFromItsErrorUntilItIsInSync) {
  absl::Notification begun, fail, begun_again;
  std::atomic<SourceContext<std::string>*> source{nullptr};
  Source<std::string> restarting;
  restarting.restart_backoff.emplace();
  restarting.run = [&](SourceContext<std::string>& context) {
    const bool again = source.exchange(&context) != nullptr;
    (again ? begun_again : begun).Notify();
    if (again) {
      context.stop.WaitForNotification();
      return absl::OkStatus();
    }
    fail.WaitForNotification();
    return absl::DataLossError("torn");
  };
  ControllerOptions<std::string> options = Options(Succeed);
  options.metrics_provider = &provider_;
  options.sources.push_back(std::move(restarting));
  const auto controller = Started(std::move(options));
  begun.WaitForNotification();
  // No lock is held.
  provider_.on_call = [&] { controller->Healthy().IgnoreError(); };
  const auto unhealthy = [this] {
    return provider_.record().sums()["test unhealthy"];
  };
  EXPECT_EQ(unhealthy(), 0);
  for (int i = 0; i < 2; ++i) {
    source.load()->mark_unhealthy(absl::PermissionDeniedError("refused"));
    EXPECT_EQ(unhealthy(), 1);
  }
  for (int i = 0; i < 2; ++i) {
    source.load()->mark_synced();
    EXPECT_EQ(unhealthy(), 0);
  }
  fail.Notify();
  clock_.AwaitWaiters(2);  // the source, and the queue's own thread
  EXPECT_EQ(unhealthy(), 1);
  clock_.Step(absl::Seconds(1));
  begun_again.WaitForNotification();
  EXPECT_EQ(unhealthy(), 1);  // not in sync yet
  source.load()->mark_synced();
  EXPECT_EQ(unhealthy(), 0);
  source.load()->mark_unhealthy(absl::PermissionDeniedError("refused"));
  EXPECT_EQ(unhealthy(), 1);
  EXPECT_TRUE(controller->Stop());
  EXPECT_EQ(provider_.record().sums(), (Sums{{"test max", 1}}));
}

// No lock is held.
TEST_P(ControllerMetricsTest, AMetricMayAskTheController) {
  std::atomic<const Controller<std::string>*> asked{nullptr};
  provider_.on_call = [&asked] {
    const auto* const it = asked.load();
    if (it != nullptr) it->Healthy().IgnoreError();
  };
  ControllerOptions<std::string> options = Options(
      [](const std::string&) { return absl::UnavailableError("down"); });
  options.clock = std::make_shared<WaitingLoop>(&clock_);
  options.metrics_provider = &provider_;
  options.failures.max_failures = 2;
  SourceDone done;
  options.sources.resize(2);
  options.sources[0].run_async = [&done](auto, SourceDone the_done) {
    done = std::move(the_done);
  };
  options.sources[1].run = [](SourceContext<std::string>&) {
    return absl::OkStatus();
  };
  auto controller = New(std::move(options));
  asked = controller.get();
  ASSERT_EQ(controller->Start(), absl::OkStatus());
  AddAndAwait(*controller, "a");
  Step(*controller, absl::Seconds(1));
  EXPECT_EQ(provider_.record().sums().at("test parked"), 1);
  EXPECT_TRUE(*controller->failures().Unpark("a"));
  controller->AwaitIdle();
  controller.reset();  // while the source without a thread runs
  EXPECT_EQ(provider_.record().sums().count("test sources"), 0u);
}

TEST_P(ControllerMetricsTest, AParkedItemIsCounted) {
  ControllerOptions<std::string> options = Options(
      [](const std::string&) { return absl::UnavailableError("down"); });
  options.metrics_provider = &provider_;
  options.failures.max_failures = 1;
  const auto controller = Started(std::move(options));
  for (const char* item : {"a", "b", "a"}) {
    AddAndAwait(*controller, item);
  }
  EXPECT_EQ(provider_.record().sums(), (Sums{{"test max", 1},
                                             {"test error", 3},
                                             {"test errors", 3},
                                             {"test parked", 2},
                                             {"test parked total", 3}}));
}

TEST_P(ControllerMetricsTest, ReconcilingIsTimed) {
  const auto controller = Reporting([this](const std::string& item) {
    clock_.Step(item == "slow" ? 2000 * kMs : 250 * kMs);
    return absl::UnavailableError("fails, and counts");
  });
  controller->queue().AddAll({"quick", "slow"});
  controller->AwaitIdle();
  controller->Stop(absl::ZeroDuration());
  EXPECT_EQ(provider_.record().observed()[0], 0.25);
  EXPECT_EQ(provider_.record().observed()[1], 2);
}

TEST_P(ControllerMetricsTest, NoTimeIsNegativeIfTheClockGoesBack) {
  const auto controller = Reporting([this](const std::string&) {
    clock_.Step(-250 * kMs);
    return absl::OkStatus();
  });
  AddAndAwait(*controller, "a");
  EXPECT_EQ(provider_.record().observed()[0], 0);
}

TEST_P(ControllerMetricsTest,
       ReconciliationsThatExceedTheirDeadlineAreCounted) {
  ControllerOptions<std::string> options =
      Options([this](const std::string& item) {
        clock_.Step(item == "slow" ? 10 * kMs : 9 * kMs);
        return absl::OkStatus();
      });
  options.reconcile_timeout = 10 * kMs;
  options.metrics_provider = &provider_;
  const auto controller = Started(std::move(options));
  controller->queue().AddAll({"quick", "slow"});
  controller->AwaitIdle();
  EXPECT_EQ(provider_.record().sums(),
            (Sums{{"test max", 1}, {"test success", 2}, {"test timeouts", 1}}));
}

TEST_P(ControllerMetricsTest, AControllerWithoutANameHasNoMetrics) {
  ControllerOptions<std::string> options = Options(Succeed);
  options.name = "";
  options.metrics_provider = &provider_;
  const auto controller = Started(std::move(options));
  AddAndAwait(*controller, "a");
  EXPECT_EQ(provider_.record().sums(), Sums());
}

TEST_P(ControllerMetricsTest, AProviderMayReturnNoMetrics) {
  provider_.wants_none = true;
  const auto controller = Reporting(Succeed);
  AddAndAwait(*controller, "a");
  EXPECT_EQ(Noted().size(), 1u);
}

TEST_P(ControllerMetricsTest, AProviderMayOverrideOnlyWhatItMust) {
  ControllerMetricsProvider provider;
  ControllerOptions<std::string> options = Options(Succeed);
  options.metrics_provider = &provider;
  const auto controller = Started(std::move(options));
  AddAndAwait(*controller, "a");
  EXPECT_EQ(Noted().size(), 1u);
}

TEST_P(ControllerMetricsTest, TheQueueReportsUnderTheControllersName) {
  RecordingMetrics queue_metrics;
  ControllerOptions<std::string> options = Options(Succeed);
  options.queue_metrics_provider = &queue_metrics;
  {
    const auto controller = Started(std::move(options));
    AddAndAwait(*controller, "a");
  }
  const auto adds = queue_metrics.record(MetricKind::kAdds);
  EXPECT_EQ(adds.names, (std::vector<std::string>{"test"}));
  EXPECT_EQ(adds.incs, 1);
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_P(ControllerMetricsTest, ExceptionsAreErrorsAndCountedBesides) {
  const auto controller =
      Reporting([](const std::string&,
                   const ReconcileContext&) -> absl::StatusOr<ReconcileResult> {
        throw std::runtime_error("thrown");
      });
  AddAndAwait(*controller, "a");
  EXPECT_EQ(provider_.record().sums(), (Sums{{"test max", 1},
                                             {"test error", 1},
                                             {"test errors", 1},
                                             {"test panics", 1}}));
}

TEST(AsyncControllerMetricsTest, AnExceptionAfterTheCompletionIsNotCounted) {
  FakeClock clock;
  RecordingProvider provider;
  ControllerOptions<std::string> options;
  options.name = "test";
  options.clock = &clock;
  options.metrics_provider = &provider;
  options.reconcile_async = [](const std::string&, const AsyncReconcileContext&,
                               ReconcileCompletion done) {
    Thread([done] { done(absl::OkStatus()); }).join();
    throw std::runtime_error("thrown");
  };
  const auto controller = *Controller<std::string>::Create(std::move(options));
  ASSERT_EQ(controller->Start(), absl::OkStatus());
  controller->queue().Add("a");
  controller->AwaitIdle();
  const auto sums = provider.record().sums();
  EXPECT_EQ(sums.count("test success"), 1);
  EXPECT_EQ(sums.count("test panics"), 0);
}

TEST_P(ControllerMetricsTest, WhatAMetricThrowsIsDropped) {
  provider_.throws = true;
  const auto controller = Reporting(FailTimes(1));
  AddAndAwait(*controller, "a");
  Step(*controller, 5 * kMs);
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}, {"a", 5, 1}}));
}

TEST(ControllerMetricsProviderTest, WhatItThrowsLeavesNothingInTheLoop) {
  for (const char* metric : {"max", "sources", "parked", "parked total"}) {
    FakeClock clock;
    RecordingProvider provider;
    provider.refused = metric;
    const auto loop = std::make_shared<WaitingLoop>(&clock, [] {});
    ControllerOptions<std::string> options;
    options.name = "test";
    options.clock = loop;
    options.metrics_provider = &provider;
    options.failures.max_failures = 3;
    options.reconcile_async = [](const std::string&,
                                 const AsyncReconcileContext&,
                                 ReconcileCompletion) {};
    const auto controller = Controller<std::string>::Create(std::move(options));
    EXPECT_TRUE(absl::IsInternal(controller.status())) << metric;
    EXPECT_EQ(loop->RunDue(), absl::InfiniteFuture()) << metric;
  }
}

TEST(AsyncControllerMetricsTest, AReconciliationThatCannotBeginIsNotCounted) {
  FakeClock clock;
  RecordingLog log;
  RecordingProvider provider;
  ControllerOptions<FragileKey> options;
  options.name = "test";
  options.clock = &clock;
  options.log_sink = &log;
  options.metrics_provider = &provider;
  options.max_in_flight = 1;
  options.reconcile_async = [](const FragileKey&, const AsyncReconcileContext&,
                               ReconcileCompletion done) {
    done(absl::OkStatus());
  };
  const auto controller =
      *Controller<FragileKey, FragileHash, FragileEq>::Create(
          std::move(options));
  ASSERT_EQ(controller->Start(), absl::OkStatus());
  Fuse::ArmForOthers(FragileOp::kCopy, 1);
  controller->queue().Add(FragileKey(1));
  clock.Step(absl::ZeroDuration());
  EXPECT_TRUE(Fuse::Disarm());
  EXPECT_EQ(provider.record().sums(),
            (std::map<std::string, double>{{"test max", 1}}));
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(
      provider.record().sums(),
      (std::map<std::string, double>{{"test max", 1}, {"test success", 1}}));
}

#endif  // ABSL_HAVE_EXCEPTIONS

WORKQUEUE_INSTANTIATE(ControllerMetricsTest);

}  // namespace
}  // namespace workqueue::controller_metrics_test
