// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Does for controllers what guide_test.cc does for queues.

#include <atomic>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "ratelimit/default_rate_limiters.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "ratelimit/jitter.h"
#include "ratelimit/with_jitter_rate_limiter.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/interfaces.h"
#include "workqueue/log_sink.h"
#include "workqueue/priority_queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/retry_after.h"

namespace controller_guide_test {

using Controller = workqueue::Controller<std::string>;

absl::Status Deploy(const std::string& key);  // your work
void AwaitSignal();                           // your service's

absl::Status RunDeployments() {
  workqueue::ControllerOptions<std::string> options;
  options.name = "deployments";
  options.reconcile = Deploy;  // The controller retries a key after an error.
  auto controller =
      workqueue::Controller<std::string>::Create(std::move(options));
  if (!controller.ok()) return controller.status();
  absl::Status started = (*controller)->Start();
  if (!started.ok()) return started;

  (*controller)->queue().Add("default/web");  // from any thread

  AwaitSignal();
  (*controller)->Stop();
  return absl::OkStatus();
}

TEST(DeploymentsTest, RetriesAFailure) {
  workqueue::FakeClock clock;
  int calls = 0;
  workqueue::ControllerOptions<std::string> options;
  options.clock = &clock;
  options.reconcile = [&calls](const std::string&) {
    return ++calls == 1 ? absl::UnavailableError("not yet") : absl::OkStatus();
  };
  auto controller =
      workqueue::Controller<std::string>::Create(std::move(options));
  ASSERT_TRUE(controller.ok());
  ASSERT_TRUE((*controller)->Start().ok());

  (*controller)->queue().Add("default/web");
  (*controller)->AwaitIdle();
  EXPECT_EQ(calls, 1);
  clock.Step(absl::Milliseconds(5));  // the delay before the first retry
  (*controller)->AwaitIdle();
  EXPECT_EQ(calls, 2);
}

namespace {

using Strings = std::vector<std::string>;

// The arguments of the calls of `Deploy()`.
Strings* deployed = new Strings;

TEST(DeploymentsTest, RunDeployments) {
  EXPECT_EQ(RunDeployments(), absl::OkStatus());
  EXPECT_EQ(*deployed, Strings{"default/web"});
}

// The object that a controller in the guide reconciles.
struct Deployment {
  bool valid = true;
};

class Cluster {
 public:
  absl::StatusOr<Deployment> Find(const std::string& key) {
    found.push_back(key);
    if (key == "default/gone") return absl::NotFoundError(key);
    if (key == "default/away") return absl::UnavailableError(key);
    return Deployment{/*valid=*/key != "default/bad"};
  }
  absl::Status Apply(const Deployment&, absl::Duration timeout) {
    timeouts.push_back(timeout);
    return timeouts.size() == 1 ? absl::AbortedError("once") : absl::OkStatus();
  }
  Strings List() { return {"default/web", "default/bad", "default/gone"}; }
  std::optional<std::string> NextChange(const absl::Notification& stop) {
    stop.WaitForNotification();
    return std::nullopt;
  }

  Strings found;
  std::vector<absl::Duration> timeouts;
};

TEST(ControllerGuideTest, TheController) {
  Cluster cluster;
  workqueue::ControllerOptions<std::string> options;
  options.name = "deployments";
  options.workers = 2;
  options.reconcile_timeout = absl::Minutes(1);
  options.reconcile = [&cluster](const std::string& key,
                                 const workqueue::ReconcileContext& context)
      -> absl::StatusOr<workqueue::ReconcileResult> {
    absl::StatusOr<Deployment> deployment = cluster.Find(key);
    if (absl::IsNotFound(deployment.status()))
      return workqueue::ReconcileResult();
    if (!deployment.ok()) return deployment.status();
    if (!deployment->valid) {
      return workqueue::TerminalError(
          absl::InvalidArgumentError("trying again would not help"));
    }
    absl::Status applied = cluster.Apply(*deployment, context.Remaining());
    if (!applied.ok()) return applied;
    return workqueue::ReconcileResult{/*requeue_after=*/absl::Hours(1)};
  };

  workqueue::Source<std::string> source;
  source.name = "deployments";
  source.wait_for_sync = true;
  source.run = [&cluster](workqueue::SourceContext<std::string>& context) {
    context.queue.AddAll(cluster.List());
    context.mark_synced();
    while (std::optional<std::string> key = cluster.NextChange(context.stop)) {
      context.queue.Add(*key);
    }
    return absl::OkStatus();
  };
  options.sources.push_back(std::move(source));

  workqueue::FakeClock clock;
  options.clock = &clock;
  options.workers = 1;  // so that the test knows the order
  auto created = Controller::Create(std::move(options));
  ASSERT_TRUE(created.ok());
  Controller& controller = **created;
  ASSERT_TRUE(controller.Start().ok());
  controller.AwaitIdle();
  EXPECT_EQ(cluster.found, cluster.List());
  clock.Step(absl::Milliseconds(5));
  controller.AwaitIdle();
  clock.Step(absl::Hours(1) - absl::Nanoseconds(1));
  controller.AwaitIdle();
  EXPECT_EQ(cluster.found.size(), 4u);
  clock.Step(absl::Nanoseconds(1));
  controller.AwaitIdle();
  EXPECT_EQ(cluster.found,
            (Strings{"default/web", "default/bad", "default/gone",
                     "default/web", "default/web"}));
  EXPECT_EQ(cluster.timeouts[0], absl::Minutes(1));
}

struct Answer {
  int code;
  std::string text;
  absl::Duration retry_after;
};

// Refuses the first request.
class Server {
 public:
  Answer Put(const std::string&) {
    if (++requests == 1) return {503, "busy", absl::Seconds(30)};
    return {200, "", absl::ZeroDuration()};
  }

  int requests = 0;
};

TEST(ControllerGuideTest, ADelayThatTheErrorChooses) {
  Server server;
  workqueue::FakeClock clock;
  workqueue::ControllerOptions<std::string> options;
  options.clock = &clock;
  options.reconcile = [&server](const std::string& key) -> absl::Status {
    const Answer answer = server.Put(key);
    if (answer.code == 503) {
      return workqueue::RetryAfterError(absl::UnavailableError(answer.text),
                                        answer.retry_after);
    }
    return absl::OkStatus();
  };
  auto created = Controller::Create(std::move(options));
  ASSERT_TRUE(created.ok());
  Controller& controller = **created;
  ASSERT_TRUE(controller.Start().ok());
  controller.queue().Add("default/web");
  controller.AwaitIdle();
  clock.Step(absl::Seconds(30) - absl::Nanoseconds(1));
  controller.AwaitIdle();
  EXPECT_EQ(server.requests, 1);
  clock.Step(absl::Nanoseconds(1));
  controller.AwaitIdle();
  EXPECT_EQ(server.requests, 2);
}

absl::Status UseJitter(workqueue::ControllerOptions<std::string>& options) {
  auto jitter = workqueue::Jitter::Create(workqueue::JitterOptions::Equal());
  if (!jitter.ok()) return jitter.status();
  auto limiter = workqueue::WithJitterRateLimiter<std::string>::Create(
      workqueue::DefaultItemBasedRateLimiter<std::string>(),
      *std::move(jitter));
  if (!limiter.ok()) return limiter.status();
  options.rate_limiter = *std::move(limiter);
  return absl::OkStatus();
}

// The first listing is spread over a minute, and the next looks over two tenths
// of an hour.
TEST(ControllerGuideTest, Jitter) {
  Cluster cluster;
  const auto full =
      *workqueue::Jitter::Create(workqueue::JitterOptions::Full());
  const auto ten_percent =
      *workqueue::Jitter::Create(workqueue::JitterOptions::PlusMinus(0.1));
  workqueue::FakeClock clock;
  workqueue::ControllerOptions<std::string> options;
  options.clock = &clock;
  options.reconcile = [&](const std::string& key)
      -> absl::StatusOr<workqueue::ReconcileResult> {
    cluster.found.push_back(key);
    if (cluster.found.size() == 1) return absl::UnavailableError("once");
    return workqueue::ReconcileResult{
        /*requeue_after=*/ten_percent->Vary(absl::Hours(1))};
  };
  workqueue::Source<std::string> source;
  source.wait_for_sync = true;
  source.run = [&](workqueue::SourceContext<std::string>& context) {
    for (const std::string& key : cluster.List()) {
      context.queue.AddAfter(key, full->Vary(absl::Minutes(1)));
    }
    context.mark_synced();
    return absl::OkStatus();
  };
  options.sources.push_back(std::move(source));
  ASSERT_TRUE(UseJitter(options).ok());
  auto created = Controller::Create(std::move(options));
  ASSERT_TRUE(created.ok());
  Controller& controller = **created;
  ASSERT_TRUE(controller.Start().ok());
  clock.Step(absl::Minutes(1));
  controller.AwaitIdle();
  clock.Step(absl::Milliseconds(5));
  controller.AwaitIdle();
  EXPECT_EQ(cluster.found.size(), 4u);  // with the retry
  clock.Step(absl::Minutes(52));
  controller.AwaitIdle();
  EXPECT_EQ(cluster.found.size(), 4u);
  clock.Step(absl::Minutes(14));
  controller.AwaitIdle();
  EXPECT_EQ(cluster.found.size(), 7u);
}

// 64-bit FNV-1a.
uint64_t StableHash(const std::string& key) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : key) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

TEST(ControllerGuideTest, Sharding) {
  constexpr uint64_t replicas = 2;
  workqueue::RateLimitingQueue<std::string> queues[replicas];
  for (const std::string key : {"a", "b", "c", "d"}) {
    for (uint64_t ordinal = 0; ordinal < replicas; ++ordinal) {
      struct {
        workqueue::RateLimitingQueue<std::string>& queue;
      } context = {queues[ordinal]};
      if (StableHash(key) % replicas == ordinal) context.queue.Add(key);
    }
  }
  EXPECT_EQ(queues[0].Len() + queues[1].Len(), 4u);
  EXPECT_GT(queues[0].Len(), 0u);
  EXPECT_GT(queues[1].Len(), 0u);
}

TEST(ControllerGuideTest, GivingUp) {
  int calls = 0;
  workqueue::FakeClock clock;
  workqueue::ControllerOptions<std::string> options;
  options.clock = &clock;
  options.reconcile = [&calls](const std::string&) {
    ++calls;
    return absl::UnavailableError("never");
  };
  options.failures.max_failures = 10;
  options.failures.max_failing_time = absl::Hours(24);
  auto created = Controller::Create(std::move(options));
  ASSERT_TRUE(created.ok());
  Controller& controller = **created;
  ASSERT_TRUE(controller.Start().ok());
  controller.queue().Add("default/web");
  for (int i = 0; i < 20; ++i) {
    controller.AwaitIdle();
    clock.Step(absl::Hours(1));
  }
  EXPECT_EQ(calls, 10);
  EXPECT_EQ(controller.failures().Numbers()->parked, 1u);
  testing::internal::CaptureStderr();
  const auto put_back = [&controller]() -> absl::Status {
    const auto parked = controller.failures().Parked(/*max=*/100);
    if (!parked.ok()) return parked.status();
    for (const auto& it : *parked) {
      std::cerr << it.item << ": " << it.last_error << "\n";
    }
    const absl::StatusOr<bool> unparked =
        controller.failures().Unpark("default/web");
    const absl::StatusOr<size_t> number = controller.failures().UnparkAll();
    return number.status();
  };
  EXPECT_TRUE(put_back().ok());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "default/web: UNAVAILABLE: never\n");
  controller.AwaitIdle();
  EXPECT_EQ(calls, 11);
}

TEST(ControllerGuideTest, APriorityInASource) {
  Cluster cluster;
  workqueue::PriorityQueue<std::string> queue;
  absl::Notification stop;
  workqueue::SourceContext<std::string> context = {
      queue, stop, workqueue::Clock::GetRealClock(), /*mark_synced=*/[] {},
      /*sleep=*/[](absl::Duration) { return true; }};
  workqueue::AddOptions initial;
  initial.priority = -100;
  context.queue.AddWithOptions(initial, cluster.List());
  queue.Add("default/gone");
  EXPECT_EQ(queue.Get(), "default/gone");
}

TEST(ControllerGuideTest, ASourceThatPolls) {
  Cluster cluster;
  workqueue::FakeClock clock;
  std::atomic<int> calls{0};
  workqueue::ControllerOptions<std::string> options;
  options.clock = &clock;
  options.reconcile = [&calls](const std::string&) {
    ++calls;
    return absl::OkStatus();
  };
  workqueue::Source<std::string> source;
  source.wait_for_sync = true;
  source.run = [&cluster](workqueue::SourceContext<std::string>& context) {
    do {
      context.queue.AddAll(cluster.List());
      context.mark_synced();
    } while (context.Sleep(absl::Minutes(1)));
    return absl::OkStatus();
  };
  options.sources.push_back(std::move(source));
  auto created = Controller::Create(std::move(options));
  ASSERT_TRUE(created.ok());
  Controller& controller = **created;
  ASSERT_TRUE(controller.Start().ok());
  clock.AwaitWaiters(2);
  controller.AwaitIdle();
  EXPECT_EQ(calls, 3);
  clock.Step(absl::Minutes(1));
  clock.AwaitWaiters(2);  // the source, and the waiting loop of the queue
  controller.AwaitIdle();
  EXPECT_EQ(calls, 6);
  EXPECT_TRUE(controller.Stop());
  EXPECT_EQ(calls, 6);
}

TEST(ControllerGuideTest, ASourceThatFails) {
  workqueue::FakeClock clock;
  std::atomic<int> runs{0};
  absl::Notification synced;
  workqueue::ControllerOptions<std::string> options;
  options.name = "deployments";
  options.clock = &clock;
  options.reconcile = [](const std::string&) { return absl::OkStatus(); };
  workqueue::Source<std::string> source;
  source.name = "deployments";
  source.run = [&](workqueue::SourceContext<std::string>& context) {
    if (++runs == 1) return absl::UnavailableError("torn");
    context.mark_synced();
    synced.Notify();
    context.stop.WaitForNotification();
    return absl::OkStatus();
  };
  source.restart_backoff = {/*base_delay=*/absl::Seconds(1),
                            /*max_delay=*/absl::Minutes(1)};
  options.sources.push_back(std::move(source));
  auto created = Controller::Create(std::move(options));
  ASSERT_TRUE(created.ok());
  const Controller& controller = **created;
  ASSERT_TRUE((*created)->Start().ok());
  clock.AwaitWaiters(2);  // the source, and the queue's waiting loop
  {
    const absl::Status healthy = controller.Healthy();
    const int http_status = healthy.ok() ? 200 : 503;
    const std::string http_body = healthy.ToString();
    EXPECT_EQ(http_status, 503);
    EXPECT_EQ(http_body,
              "UNAVAILABLE: controller deployments: source deployments: torn "
              "(it is being restarted)");
  }
  clock.Step(absl::Seconds(1));
  synced.WaitForNotification();
  EXPECT_EQ(controller.Healthy(), absl::OkStatus());
}

TEST(ControllerGuideTest, AnotherQueue) {
  workqueue::ControllerOptions<std::string> options;
  options.queue = std::make_unique<workqueue::RateLimitingQueue<std::string>>();
  options.reconcile = [](const std::string&) { return absl::OkStatus(); };
  auto created = Controller::Create(std::move(options));
  ASSERT_TRUE(created.ok());
  EXPECT_EQ((*created)->queue().AsPriorityQueue(), nullptr);
}

absl::Status SetRateLimiter(
    workqueue::ControllerOptions<std::string>& options) {
  auto limiter =
      workqueue::ItemExponentialFailureRateLimiter<std::string>::Create(
          /*base_delay=*/absl::Milliseconds(100),
          /*max_delay=*/absl::Minutes(1));
  if (!limiter.ok()) return limiter.status();
  options.rate_limiter = *std::move(limiter);
  return absl::OkStatus();
}

TEST(ControllerGuideTest, RetriesInATest) {
  workqueue::FakeClock clock;
  auto reconciled = std::make_unique<Strings>();
  workqueue::ControllerOptions<std::string> options;
  options.clock = &clock;
  options.reconcile = [&reconciled](const std::string& key) {
    reconciled->push_back(key);
    return absl::InternalError("bad");
  };
  auto created = Controller::Create(std::move(options));
  ASSERT_TRUE(created.ok());
  Controller& controller = **created;
  ASSERT_TRUE(controller.Start().ok());
  controller.queue().Add("default/bad");
  controller.AwaitIdle();
  EXPECT_EQ(*reconciled, Strings({"default/bad"}));
  clock.Step(absl::Milliseconds(5));
  controller.AwaitIdle();
  clock.Step(absl::Milliseconds(10));
  controller.AwaitIdle();
  EXPECT_EQ(*reconciled, Strings(3, "default/bad"));
}

TEST(ControllerGuideTest, ARateLimiter) {
  workqueue::FakeClock clock;
  int calls = 0;
  workqueue::ControllerOptions<std::string> options;
  options.clock = &clock;
  options.reconcile = [&calls](const std::string&) {
    ++calls;
    return absl::InternalError("bad");
  };
  ASSERT_TRUE(SetRateLimiter(options).ok());
  auto created = Controller::Create(std::move(options));
  ASSERT_TRUE(created.ok());
  ASSERT_TRUE((*created)->Start().ok());
  (*created)->queue().Add("default/bad");
  (*created)->AwaitIdle();
  clock.Step(absl::Milliseconds(99));
  (*created)->AwaitIdle();
  EXPECT_EQ(calls, 1);
  clock.Step(absl::Milliseconds(1));
  (*created)->AwaitIdle();
  EXPECT_EQ(calls, 2);
}

// The objects that JsonLog has written.
auto* const written = new std::vector<std::map<std::string, std::string>>;

void Write(const std::map<std::string, absl::string_view>& object) {
  written->emplace_back(object.begin(), object.end());
}

class JsonLog final : public workqueue::LogSink {
 public:
  void Log(absl::LogSeverity severity, absl::string_view message) override {
    Write(
        {{"severity", absl::LogSeverityName(severity)}, {"message", message}});
  }

  void LogFailure(const workqueue::ReconcileFailure& failure) override {
    Write({{"controller", failure.controller},
           {"key", failure.item},
           {"failures", absl::StrCat(failure.failures)},
           {"error", failure.error.ToString()},
           {"retry_after", failure.retry_after.has_value()
                               ? absl::FormatDuration(*failure.retry_after)
                               : "unknown"},
           {"left_out", absl::StrCat(failure.left_out)}});
  }
};

TEST(ControllerGuideTest, FailuresAsData) {
  JsonLog log;
  workqueue::FakeClock clock;
  workqueue::ControllerOptions<std::string> options;
  options.name = "deployments";
  options.clock = &clock;
  options.log_sink = &log;
  options.reconcile = [](const std::string&) {
    return absl::InternalError("bad");
  };
  auto controller = Controller::Create(std::move(options));
  ASSERT_TRUE(controller.ok());
  ASSERT_TRUE((*controller)->Start().ok());
  (*controller)->queue().Add("default/bad");
  (*controller)->AwaitIdle();
  using Object = std::map<std::string, std::string>;
  EXPECT_EQ(*written,
            (std::vector<Object>{
                {{"severity", "INFO"},
                 {"message", "controller deployments: starting"}},
                {{"severity", "INFO"},
                 {"message", "controller deployments: starting workers: 1"}},
                {{"controller", "deployments"},
                 {"key", "default/bad"},
                 {"failures", "1"},
                 {"error", "INTERNAL: bad"},
                 {"retry_after", "5ms"},
                 {"left_out", "0"}}}));
}

TEST(ControllerGuideTest, Stop) {
  workqueue::FakeClock clock;
  Strings warnings;
  const auto LogWarning = [&warnings](const std::string& warning) {
    warnings.push_back(warning);
  };
  workqueue::ControllerOptions<std::string> options;
  options.clock = &clock;
  options.reconcile = [](const std::string&) { return absl::OkStatus(); };
  auto created = Controller::Create(std::move(options));
  ASSERT_TRUE(created.ok());
  Controller& controller = **created;
  ASSERT_TRUE(controller.Start().ok());
  controller.queue().Add("default/web");
  if (!controller.Stop(absl::Seconds(25))) {
    LogWarning("not all was reconciled");
  }
  EXPECT_EQ(warnings, Strings());
}

}  // namespace

absl::Status Deploy(const std::string& key) {
  deployed->push_back(key);
  return absl::OkStatus();
}

void AwaitSignal() {}

}  // namespace controller_guide_test
