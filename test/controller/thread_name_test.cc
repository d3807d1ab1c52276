// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The names of the library's threads.

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/source.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/queue_clock.h"
#include "workqueue/timer/scheduler.h"
#include "workqueue/timer/waiting_loop.h"

#if defined(__linux__) || defined(__APPLE__)

#include <pthread.h>

namespace workqueue::thread_name_test {
namespace {

std::string ThisThread() {
  char name[64] = {};
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return name;
}

std::string Named(absl::string_view owner, absl::string_view role) {
  std::string name;
  Thread thread([&] {
    internal::NameThisThread(owner, role);
    name = ThisThread();
  });
  thread.join();
  return name;
}

TEST(ThreadNameTest, IsOwnerAndRole) {
  EXPECT_EQ(Named("pods", "worker"), "pods:worker");
  EXPECT_EQ(Named("", "loop"), "workqueue:loop");
}

TEST(ThreadNameTest, ALongOwnerIsCut) {
  EXPECT_EQ(Named("deployments", "worker"), "deployme:worker");
  EXPECT_EQ(Named("", "worker"), "workqueu:worker");
}

TEST(ThreadNameTest, IsPrintable) {
  EXPECT_EQ(Named(absl::string_view("a\n\0\033\x80", 5), "loop"), "a????:loop");
}

TEST(ThreadNameTest, OfAController) {
  std::string source_name, worker_name;
  absl::Notification reconciled;
  ControllerOptions<std::string> options;
  options.name = "web";
  options.reconcile = [&](const std::string&) {
    worker_name = ThisThread();
    reconciled.Notify();
    return absl::OkStatus();
  };
  for (const char* name : {"pods", ""}) {
    Source<std::string> source;
    source.name = name;
    source.wait_for_sync = true;
    source.run = [&source_name, name](SourceContext<std::string>& context) {
      if (*name == '\0') source_name = ThisThread();
      EXPECT_EQ(ThisThread(), *name == '\0' ? "web:source" : "pods:source");
      context.queue.Add("a");
      return absl::OkStatus();
    };
    options.sources.push_back(std::move(source));
  }
  const auto controller = *Controller<std::string>::Create(std::move(options));
  ASSERT_EQ(controller->Start(), absl::OkStatus());
  reconciled.WaitForNotification();
  EXPECT_EQ(source_name, "web:source");
  EXPECT_EQ(worker_name, "web:worker");
}

// Returns the name of the thread that sets the gauges of a queue.
std::string LoopOf(QueueClock (*make_clock)(FakeClock*)) {
  FakeClock clock;
  RecordingMetrics metrics;
  std::string name;
  metrics.on_call = [&name](MetricKind) { name = ThisThread(); };
  DelayingQueueOptions<std::string> options;
  options.name = "web";
  options.metrics_provider = &metrics;
  options.clock = make_clock(&clock);
  const DelayingQueue<std::string> queue(std::move(options));
  clock.Step(absl::Seconds(1));
  return name;
}

TEST(ThreadNameTest, OfAQueue) {
  EXPECT_EQ(LoopOf([](FakeClock* clock) { return QueueClock(clock); }),
            "web:loop");
}

TEST(ThreadNameTest, OfASharedLoop) {
  EXPECT_EQ(LoopOf([](FakeClock* clock) {
              return QueueClock(std::make_shared<WaitingLoop>(clock, "all"));
            }),
            "all:loop");
}

TEST(ThreadNameTest, OfAScheduler) {
  SchedulerOptions options;
  options.name = "cron";
  const auto scheduler = *Scheduler::Create(std::move(options));
  std::string name;
  absl::Notification ran;
  const auto task = scheduler->ScheduleOnce(
      [&] {
        name = ThisThread();
        ran.Notify();
      },
      absl::ZeroDuration());
  ASSERT_TRUE(task.ok());
  ran.WaitForNotification();
  EXPECT_EQ(name, "cron:sched");
}

}  // namespace
}  // namespace workqueue::thread_name_test

#endif  // defined(__linux__) || defined(__APPLE__)
