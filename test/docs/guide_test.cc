// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Contains the code of README.md, docs/from-client-go.md and docs/guide.md, and
// tests that the code does what these documents say. `documents_test` checks
// that this file has each block of theirs, line for line.

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ratelimit/bucket_rate_limiter.h"
#include "ratelimit/default_rate_limiters.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "ratelimit/max_of_rate_limiter.h"
#include "ratelimit/rate_limiter.h"
#include "ratelimit/token_bucket.h"
#include "test/workqueue/hooked_queue.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/parallelize_until.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/failure_ledger.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/log_sink.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/retry_after.h"
#include "workqueue/snapshot.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/scheduler.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timer/waiting_set_options.h"

namespace guide_test {
namespace {

using Strings = std::vector<std::string>;

// The keys that have been reconciled. "default/bad" fails.
Strings* reconciled = new Strings;

absl::Status Reconcile(const std::string& key) {
  reconciled->push_back(key);
  return key == "default/bad" ? absl::InternalError("bad") : absl::OkStatus();
}

class GuideTest : public testing::Test {
 protected:
  GuideTest() { reconciled->clear(); }
};

TEST_F(GuideTest, ALoopOfYourOwn) {
  workqueue::RateLimitingQueue<std::string> queue;
  queue.Add("default/web");
  queue.Add("default/bad");
  queue.ShutDown();
  while (std::optional<std::string> key = queue.Get()) {
    if (Reconcile(*key).ok()) {
      queue.Forget(*key);  // its next failure is its first again
    } else {
      queue.AddRateLimited(*key);  // once more, a little later each time
    }
    queue.Done(*key);
  }
  EXPECT_EQ(*reconciled, (Strings{"default/web", "default/bad"}));
  EXPECT_EQ(queue.NumRequeues("default/bad"), 1);
}

TEST_F(GuideTest, ADelayThatTheErrorChooses) {
  workqueue::FakeClock clock;
  workqueue::RateLimitingQueueOptions<std::string> options;
  options.clock = &clock;
  workqueue::RateLimitingQueue<std::string> queue(std::move(options));
  workqueue::Snapshot<std::string> snapshot;
  const auto Put = [&](const std::string& key) -> absl::Status {
    const absl::Status error = absl::UnavailableError("busy");
    if (key == "default/bad") return error;
    if (key == "default/busy") {
      return workqueue::RetryAfterError(error, absl::Seconds(30));
    }
    snapshot = *queue.TakeSnapshot();
    queue.ShutDown();
    return absl::OkStatus();
  };
  queue.AddAll({"default/bad", "default/busy", "default/web"});
  while (std::optional<std::string> key = queue.Get()) {
    const absl::Status status = Put(*key);
    if (status.ok()) {
      queue.Forget(*key);
    } else if (auto delay = workqueue::RetryAfterOf(status)) {
      queue.AddRateLimitedAfter(*key, *delay);  // counts as a failure, too
    } else {
      queue.AddRateLimited(*key);
    }
    queue.Done(*key);
  }
  ASSERT_EQ(snapshot.waiting.size(), 2u);
  EXPECT_EQ(snapshot.waiting[0].item, "default/bad");
  EXPECT_EQ(snapshot.waiting[0].ready_at,
            clock.TimeNow() + absl::Milliseconds(5));
  EXPECT_EQ(snapshot.waiting[1].item, "default/busy");
  EXPECT_EQ(snapshot.waiting[1].ready_at, clock.TimeNow() + absl::Seconds(30));
  EXPECT_EQ(snapshot.waiting[1].failures, 1);
}

// Gives up on an item at its tenth failure.
absl::Status GiveUp() {
  workqueue::FailureLedgerOptions failures;
  failures.max_failures = 10;
  auto ledger = workqueue::FailureLedger<std::string>::Create(failures);
  if (!ledger.ok()) return ledger.status();

  workqueue::RateLimitingQueueOptions<std::string> options;
  options.rate_limiter =
      *workqueue::ItemExponentialFailureRateLimiter<std::string>::Create(
          absl::ZeroDuration(), absl::ZeroDuration());
  workqueue::RateLimitingQueue<std::string> queue(std::move(options));
  queue.Add("default/web");
  int calls = 0;
  absl::Notification tenth;
  const auto Reconcile = [&](const std::string&) -> absl::Status {
    if (++calls == 10) tenth.Notify();
    return absl::UnavailableError("never");
  };
  std::thread worker([&] {
    workqueue::Lease<std::string> lease;
    while (queue.AcquireNext(&lease).ok()) {
      if (!(*ledger)->ShouldProcess(*lease)) continue;  // It is parked.
      const absl::Status status = Reconcile(*lease);
      if (status.ok()) {
        (*ledger)->Forget(*lease);
        queue.Forget(*lease);
      } else if ((*ledger)->RecordFailure(*lease, status)) {
        queue.Forget(*lease);  // It is parked now: do not retry it.
      } else {
        queue.AddRateLimited(*lease);
      }
    }
  });
  tenth.WaitForNotification();
  queue.ShutDownWithDrain();
  worker.join();
  EXPECT_EQ(calls, 10);
  EXPECT_EQ((*ledger)->num_parked(), 1u);
  workqueue::RateLimitingQueue<std::string> other;
  EXPECT_TRUE((*ledger)->Unpark("default/web", &other));
  return absl::OkStatus();
}

TEST_F(GuideTest, GivingUp) { EXPECT_EQ(GiveUp(), absl::OkStatus()); }

TEST_F(GuideTest, TheSameLoop) {
  workqueue::RateLimitingQueueOptions<std::string> options;
  options.name = "pods";
  workqueue::RateLimitingQueue<std::string> queue(std::move(options));

  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&queue] {
      while (std::optional<std::string> key = queue.Get()) {
        if (!Reconcile(*key).ok()) {
          queue.AddRateLimited(*key);
        } else {
          queue.Forget(*key);
        }
        queue.Done(*key);
      }
    });
  }

  queue.Add("default/web");
  queue.AddAfter("default/db", absl::Seconds(30));

  queue.ShutDownWithDrain();
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(*reconciled, Strings{"default/web"});
}

TEST_F(GuideTest, Leases) {
  workqueue::RateLimitingQueue<std::string> queue;
  queue.Add("default/web");
  queue.Add("default/bad");
  queue.ShutDown();
  workqueue::Lease<std::string> lease;
  while (queue.AcquireNext(&lease).ok()) {
    if (Reconcile(*lease).ok()) {
      queue.Forget(*lease);
    } else {
      queue.AddRateLimited(*lease);
    }
  }
  EXPECT_EQ(*reconciled, (Strings{"default/web", "default/bad"}));
  EXPECT_EQ(queue.NumRequeues("default/bad"), 1);
  EXPECT_TRUE(queue.ShutDownWithDrain());
}

TEST_F(GuideTest, TryGet) {
  workqueue::RateLimitingQueue<std::string> queue;
  queue.Add("default/web");
  absl::StatusOr<std::string> key = queue.TryGet();
  if (key.ok()) {
    Reconcile(*key).IgnoreError();
    queue.Done(*key);
  } else if (absl::IsDeadlineExceeded(key.status())) {
    // There is nothing now.
  } else if (absl::IsCancelled(key.status())) {
    // There never will be: the queue has been shut down and is empty.
  }
  EXPECT_EQ(*reconciled, Strings{"default/web"});
  EXPECT_TRUE(absl::IsDeadlineExceeded(queue.TryGet().status()));
  queue.ShutDown();
  EXPECT_TRUE(absl::IsCancelled(queue.TryGet().status()));
}

TEST_F(GuideTest, Batches) {
  workqueue::RateLimitingQueue<std::string> queue;
  {
    queue.AddAll({"default/web", "default/db", "default/cache"});
    absl::StatusOr<workqueue::LeaseBatch<std::string>> batch =
        queue.AcquireUpTo(100);
    if (batch.ok()) {
      for (workqueue::Lease<std::string>& lease : *batch) {
        Reconcile(*lease).IgnoreError();
      }
    }
  }
  EXPECT_EQ(*reconciled,
            (Strings{"default/web", "default/db", "default/cache"}));
  EXPECT_TRUE(queue.ShutDownWithDrain());
}

TEST_F(GuideTest, CancelAndReschedule) {
  workqueue::RateLimitingQueue<std::string> queue;
  queue.AddAfter("default/web", absl::Minutes(5));
  queue.Reschedule("default/web", absl::Minutes(10));  // later, after all
  const bool was_waiting = queue.CancelDelayed("default/web");
  EXPECT_TRUE(was_waiting);
  EXPECT_FALSE(queue.CancelDelayed("default/web"));
}

TEST_F(GuideTest, Debounce) {
  workqueue::FakeClock clock;
  workqueue::DelayingQueueOptions<std::string> options;
  options.clock = &clock;
  workqueue::DelayingQueue<std::string> queue(std::move(options));
  auto on_change = [&queue](const std::string& key) {
    queue.Reschedule(key, absl::Milliseconds(500));
  };
  for (int i = 0; i < 10; ++i) {
    on_change("default/web");
    clock.Step(absl::Milliseconds(499));
    EXPECT_EQ(queue.Len(), 0u);
  }
  clock.Step(absl::Milliseconds(1));
  EXPECT_EQ(queue.Len(), 1u);
}

TEST_F(GuideTest, AddSupersedesWaiting) {
  workqueue::RateLimitingQueueOptions<std::string> options;
  options.add_supersedes_waiting = true;
  workqueue::RateLimitingQueue<std::string> queue(std::move(options));

  queue.AddAfter("default/web", absl::Minutes(5));
  queue.Add("default/web");  // now, and not in five minutes
  EXPECT_EQ(queue.Len(), 1u);
  EXPECT_FALSE(queue.CancelDelayed("default/web"));
}

TEST_F(GuideTest, Priorities) {
  workqueue::PriorityQueue<std::string> queue;

  workqueue::AddOptions initial;
  initial.priority = -100;
  queue.AddWithOptions(initial, {"default/web", "default/db", "default/mail"});
  queue.Add("default/mail");  // changed: it is the next one now

  std::optional<workqueue::ItemWithPriority<std::string>> next =
      queue.GetWithPriority();
  EXPECT_EQ(next->item, "default/mail");
  EXPECT_EQ(next->priority, 0);
}

TEST_F(GuideTest, RetryKeepsThePriority) {
  workqueue::FakeClock clock;
  workqueue::PriorityQueueOptions<std::string> options;
  options.clock = &clock;
  workqueue::PriorityQueue<std::string> queue(std::move(options));
  workqueue::AddOptions first;
  first.priority = 7;
  queue.AddWithOptions(first, {"default/bad"});
  std::thread worker([&queue] {
    workqueue::Lease<std::string> lease;
    while (queue.AcquireNext(&lease).ok()) {
      workqueue::AddOptions again;
      again.rate_limited = true;
      again.priority = lease.priority();
      if (Reconcile(*lease).ok()) {
        queue.Forget(*lease);
      } else {
        queue.AddWithOptions(again, {*lease});
      }
    }
  });
  queue.ShutDownWithDrain();
  worker.join();
  EXPECT_EQ(*reconciled, Strings{"default/bad"});
}

absl::Status UseFairOrdering() {
  auto ordering = workqueue::FairOrdering<std::string>::Create(
      [](const std::string& key) { return key.substr(0, key.find('/')); });
  if (!ordering.ok()) return ordering.status();

  workqueue::RateLimitingQueueOptions<std::string> options;
  options.ordering = *std::move(ordering);
  workqueue::RateLimitingQueue<std::string> queue(std::move(options));
  queue.AddAll({"noisy/1", "noisy/2", "quiet/1"});
  EXPECT_EQ(queue.Get(), "noisy/1");
  EXPECT_EQ(queue.Get(), "quiet/1");
  return absl::OkStatus();
}

TEST_F(GuideTest, FairOrdering) { EXPECT_TRUE(UseFairOrdering().ok()); }

// Keys are `cluster/namespace/name`.
std::string ClusterOf(const std::string& key) {
  return key.substr(0, key.find('/'));
}
std::string NamespaceOf(const std::string& key) {
  return ClusterOf(key.substr(key.find('/') + 1));
}

absl::Status UseFairDimensions() {
  workqueue::FairOrderingOptions<std::string> fair;
  fair.dimensions.resize(2);
  fair.dimensions[0].group_of = ClusterOf;
  fair.dimensions[1].group_of = NamespaceOf;
  auto ordering = workqueue::FairOrdering<std::string>::Create(std::move(fair));
  if (!ordering.ok()) return ordering.status();

  workqueue::ControllerOptions<std::string> options;
  options.ordering = *std::move(ordering);
  options.reconcile = Reconcile;
  auto controller =
      workqueue::Controller<std::string>::Create(std::move(options));
  if (!controller.ok()) return controller.status();
  (*controller)->queue().AddAll({"a/x/1", "a/x/2", "a/y/1", "b/x/1"});
  if (absl::Status status = (*controller)->Start(); !status.ok()) {
    return status;
  }
  (*controller)->Stop();
  EXPECT_EQ(*reconciled, Strings({"a/x/1", "b/x/1", "a/y/1", "a/x/2"}));
  return absl::OkStatus();
}

TEST_F(GuideTest, FairDimensions) { EXPECT_TRUE(UseFairDimensions().ok()); }

TEST_F(GuideTest, Bounds) {
  constexpr size_t workers = 4;
  workqueue::FairOrderingOptions<std::string> fair;
  fair.dimensions.resize(2);
  fair.dimensions[0].group_of = ClusterOf;
  fair.dimensions[1].group_of = NamespaceOf;
  fair.dimensions[1].max_in_process = 2;
  fair.max_retries_in_process = workers / 4;
  workqueue::PriorityQueueOptions<std::string> options;
  options.ordering =
      *workqueue::FairOrdering<std::string>::Create(std::move(fair));
  workqueue::PriorityQueue<std::string> queue(std::move(options));
  queue.AddAll({"a/x/1", "a/x/2", "a/x/3", "a/y/1"});
  workqueue::AddOptions retry;
  retry.retry = true;
  queue.AddWithOptions(retry, {"b/x/1", "b/x/2"});
  std::vector<std::string> got;
  for (auto item = queue.TryGet(); item.ok(); item = queue.TryGet()) {
    got.push_back(*item);
  }
  EXPECT_THAT(
      got, ::testing::UnorderedElementsAre("a/x/1", "a/x/2", "a/y/1", "b/x/1"));
  EXPECT_EQ(queue.Len(), 2u);
}

void LogWarning(const std::string&) {}

TEST_F(GuideTest, Drain) {
  workqueue::RateLimitingQueue<std::string> queue;
  if (!queue.ShutDownWithDrainWithin(absl::Seconds(30))) {
    LogWarning("not all was done in 30 s");
  }
  EXPECT_TRUE(queue.ShuttingDown());
}

absl::Status UseBucket() {
  workqueue::RateLimitingQueueOptions<std::string> options;
  auto bucket = workqueue::TokenBucket::Create(/*rate=*/50, /*burst=*/200);
  if (!bucket.ok()) return bucket.status();
  auto together =
      workqueue::BucketRateLimiter<std::string>::Create(*std::move(bucket));
  if (!together.ok()) return together.status();
  std::vector<std::unique_ptr<workqueue::RateLimiter<std::string>>> limiters;
  limiters.push_back(workqueue::DefaultItemBasedRateLimiter<std::string>());
  limiters.push_back(*std::move(together));
  auto limiter =
      workqueue::MaxOfRateLimiter<std::string>::Create(std::move(limiters));
  if (!limiter.ok()) return limiter.status();
  options.rate_limiter = *std::move(limiter);
  EXPECT_EQ(options.rate_limiter->When("default/web"), absl::Milliseconds(1));
  return absl::OkStatus();
}

TEST_F(GuideTest, Bucket) { EXPECT_TRUE(UseBucket().ok()); }

absl::Status UseBoundedLimiter() {
  auto limiter =
      workqueue::ItemExponentialFailureRateLimiter<std::string>::Create(
          absl::Milliseconds(5), absl::Seconds(1000),
          /*max_tracked_items=*/10000);
  if (!limiter.ok()) return limiter.status();

  workqueue::RateLimitingQueueOptions<std::string> options;
  options.rate_limiter = *std::move(limiter);
  workqueue::RateLimitingQueue<std::string> queue(std::move(options));
  queue.AddRateLimited("default/web");
  EXPECT_EQ(queue.NumRequeues("default/web"), 1);
  return absl::OkStatus();
}

TEST_F(GuideTest, BoundedLimiter) { EXPECT_TRUE(UseBoundedLimiter().ok()); }

TEST_F(GuideTest, Snapshot) {
  workqueue::FakeClock clock;
  workqueue::RateLimitingQueueOptions<std::string> options;
  options.clock = &clock;
  workqueue::RateLimitingQueue<std::string> queue(std::move(options));
  queue.Add("default/web");
  testing::internal::CaptureStderr();
  std::cerr << *queue.TakeSnapshot();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "1 queued:\n  default/web for 0\n0 processing\n0 waiting\n");
}

TEST_F(GuideTest, BoundedSnapshots) {
  workqueue::FakeClock clock;
  workqueue::RateLimitingQueueOptions<std::string> options;
  options.clock = &clock;
  workqueue::RateLimitingQueue<std::string> queue(std::move(options));
  queue.AddAll({"default/db", "default/mail", "default/web"});
  testing::internal::CaptureStderr();
  std::cerr << *queue.TakeSnapshotUpTo(2);
  std::cerr << *queue.TakeSnapshotOf("default/web");
  const size_t waiting = queue.TakeSnapshotUpTo(0)->num_waiting;  // no copies
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "2 of 3 queued:\n  default/db for 0\n  default/mail for 0\n"
            "0 processing\n0 waiting\n"
            "1 of 3 queued:\n  default/web for 0\n"
            "0 processing\n0 waiting\n");
  EXPECT_EQ(waiting, 0u);
}

struct PodName {
  std::string space, name;

  friend std::ostream& operator<<(std::ostream& os, const PodName& pod) {
    return os << pod.space << "/" << pod.name;
  }
  friend bool operator==(const PodName& a, const PodName& b) {
    return a.space == b.space && a.name == b.name;
  }
  template <typename H>
  friend H AbslHashValue(H h, const PodName& pod) {
    return H::combine(std::move(h), pod.space, pod.name);
  }
};

TEST_F(GuideTest, SnapshotOfStructs) {
  workqueue::FakeClock clock;
  workqueue::QueueOptions<PodName> options;
  options.clock = &clock;
  workqueue::Queue<PodName> queue(std::move(options));
  queue.Add({"default", "web"});
  std::ostringstream os;
  os << *queue.TakeSnapshot();
  EXPECT_EQ(os.str(),
            "1 queued:\n  default/web for 0\n0 processing\n0 waiting\n");
}

TEST_F(GuideTest, SharedLoop) {
  auto loop = std::make_shared<workqueue::WaitingLoop>(
      workqueue::Clock::GetRealClock());
  std::vector<std::unique_ptr<workqueue::RateLimitingQueue<std::string>>>
      queues;
  for (int i = 0; i < 100; ++i) {
    workqueue::RateLimitingQueueOptions<std::string> options;
    options.clock = loop;
    queues.push_back(
        std::make_unique<workqueue::RateLimitingQueue<std::string>>(
            std::move(options)));
  }
  for (auto& queue : queues) {
    queue->AddAfter("default/web", absl::Nanoseconds(1));
  }
  for (auto& queue : queues) EXPECT_EQ(queue->Get(), "default/web");
}

struct Session {
  void Close() {}
};

TEST_F(GuideTest, DelayQueue) {
  workqueue::DelayQueue<std::unique_ptr<Session>> expiring;
  workqueue::DelayQueueHandle handle =
      expiring.Push(std::make_unique<Session>(), absl::Minutes(30));
  expiring.Reset(handle, absl::Minutes(60));  // it has been used

  std::thread closer([&expiring] {
    for (std::unique_ptr<Session> session : expiring.Stream()) {
      session->Close();
    }
  });
  EXPECT_TRUE(expiring.Cancel(handle));
  expiring.ShutDown();
  closer.join();
}

absl::Status UseTimingWheel() {
  auto wheel = workqueue::WaitingSetOptions::TimingWheel(
      /*tick=*/absl::Milliseconds(10), /*slots=*/256);
  if (!wheel.ok()) return wheel.status();

  workqueue::DelayQueueOptions options;
  options.waiting_set = *wheel;
  workqueue::DelayQueue<std::string> timeouts(options);
  timeouts.Push("default/web", absl::ZeroDuration());
  EXPECT_EQ(timeouts.Take(), "default/web");
  return absl::OkStatus();
}

TEST_F(GuideTest, TimingWheel) { EXPECT_TRUE(UseTimingWheel().ok()); }

class Connection {
 public:
  void SendHeartbeat() { ++heartbeats_; }
  void GiveUp() { heartbeats_ = -1; }
  void Close() { EXPECT_EQ(heartbeats_, 0); }

 private:
  std::atomic<int> heartbeats_{0};
};

absl::Status UseScheduler() {
  Connection connection;
  absl::StatusOr<std::unique_ptr<workqueue::Scheduler>> scheduler =
      workqueue::Scheduler::Create();
  if (!scheduler.ok()) return scheduler.status();

  absl::StatusOr<workqueue::TaskId> heartbeat =
      (*scheduler)
          ->ScheduleEvery([&connection] { connection.SendHeartbeat(); },
                          absl::Seconds(10));
  absl::StatusOr<workqueue::TaskId> timeout =
      (*scheduler)
          ->ScheduleOnce([&connection] { connection.GiveUp(); },
                         absl::Minutes(1));
  EXPECT_EQ((*scheduler)->Len(), 2u);

  (*scheduler)->Cancel(*timeout);  // there was an answer
  (*scheduler)->CancelAndWait(*heartbeat);
  connection.Close();  // no run is in progress, and none will be
  EXPECT_EQ((*scheduler)->Len(), 0u);
  return absl::OkStatus();
}

TEST_F(GuideTest, Scheduler) { EXPECT_TRUE(UseScheduler().ok()); }

void Score(int& node) { ++node; }

TEST_F(GuideTest, ParallelizeUntil) {
  std::vector<int> nodes(100);
  absl::Notification stop;
  absl::Status status =
      workqueue::ParallelizeUntil(&stop, /*workers=*/16, nodes.size(),
                                  [&nodes](size_t i) { Score(nodes[i]); });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(nodes, std::vector<int>(100, 1));
}

class StderrLog final : public workqueue::LogSink {
 public:
  void Log(absl::LogSeverity severity, absl::string_view message) override {
    absl::FPrintF(stderr, "%s %s\n", absl::LogSeverityName(severity), message);
  }
};

TEST_F(GuideTest, Messages) {
  workqueue::FakeClock clock;
  StderrLog log;
  workqueue::DelayingQueueOptions<std::string> options;
  options.name = "deployments";
  options.log_sink = &log;
  options.clock = &clock;
  const auto queue = *workqueue::DelayingQueue<std::string>::Create(
      std::make_unique<workqueue::HookedQueue<std::string>>(
          [](const std::string&) { return false; }, &clock),
      std::move(options));
  queue->AddAfter("default/web", absl::Seconds(1));
  testing::internal::CaptureStderr();
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "ERROR queue deployments: default/web is due and cannot be added "
            "yet: UNAVAILABLE: out of reach\n");
}

TEST_F(GuideTest, FakeClock) {
  workqueue::FakeClock clock;
  workqueue::RateLimitingQueueOptions<std::string> options;
  options.clock = &clock;
  workqueue::RateLimitingQueue<std::string> queue(std::move(options));

  queue.AddAfter("default/web", absl::Seconds(30));
  clock.Step(absl::Seconds(30));
  EXPECT_EQ(queue.Get(), "default/web");
}

}  // namespace
}  // namespace guide_test
