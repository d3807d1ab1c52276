// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Does for "Your own event loop" what guide_test.cc does for the other
// chapters.

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/source.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/scheduler.h"
#include "workqueue/timer/waiting_loop.h"

namespace {

using ::testing::ElementsAre;

int PollTimeout(absl::Duration left) {
  left = std::clamp(left, absl::ZeroDuration(), absl::Hours(1));
  return static_cast<int>(
      absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1))));
}

TEST(EventLoopGuideTest, RoundsUp) {
  EXPECT_EQ(PollTimeout(-absl::Seconds(1)), 0);
  EXPECT_EQ(PollTimeout(absl::Nanoseconds(1)), 1);
  EXPECT_EQ(PollTimeout(absl::InfiniteDuration()), 3600000);
}

// The loop of a program on the real clock. Another thread adds an item, which
// is due soon after.
TEST(EventLoopGuideTest, AProgramDrivesTheLoop) {
  workqueue::Clock* const clock = workqueue::Clock::GetRealClock();
  bool stopped = false;
  const int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  auto loop = std::make_shared<workqueue::WaitingLoop>(
      clock, [event] { eventfd_write(event, 1); });
  workqueue::DelayQueueOptions options;
  options.clock = loop;
  workqueue::DelayQueue<std::string> queue(
      std::move(options),
      [&](std::string value) { stopped = value == "stop"; });
  workqueue::Thread adder(
      [&queue] { queue.Push("stop", absl::Milliseconds(1)); });
  while (!stopped) {
    // Also wait for your own events here.
    pollfd polled = {event, POLLIN, 0};
    poll(&polled, 1, PollTimeout(loop->NextRun() - clock->TimeNow()));
    eventfd_t wakes;
    eventfd_read(event, &wakes);  // Before RunDue(), or a wake-up is lost.
    loop->RunDue();
  }
  adder.join();
  EXPECT_EQ(queue.Len(), 0u);
  close(event);
}

class EventLoopGuide : public testing::Test {
 protected:
  workqueue::FakeClock fake_clock;
  std::shared_ptr<workqueue::WaitingLoop> loop =
      std::make_shared<workqueue::WaitingLoop>(&fake_clock, [] {});
};

int reports = 0;
std::vector<std::string>* const cancelled = new std::vector<std::string>;

void Report() { ++reports; }
void CancelOrder(const std::string& order) { cancelled->push_back(order); }

class TimedGuide : public EventLoopGuide {
 protected:
  absl::Status Run() {
    workqueue::DelayingQueueOptions<std::string> queue_options;
    queue_options.clock = loop;
    workqueue::DelayingQueue<std::string> queue(std::move(queue_options));

    workqueue::SchedulerOptions scheduler_options;
    scheduler_options.clock = loop;
    auto scheduler = workqueue::Scheduler::Create(std::move(scheduler_options));
    if (!scheduler.ok()) return scheduler.status();
    auto report = (*scheduler)->ScheduleEvery(Report, absl::Minutes(1));

    workqueue::DelayQueueOptions delay_queue_options;
    delay_queue_options.clock = loop;
    workqueue::DelayQueue<std::string> unpaid(
        std::move(delay_queue_options),
        [](std::string order) { CancelOrder(order); });

    queue.AddAfter("pod", absl::Seconds(10));
    unpaid.Push("order", absl::Seconds(20));
    EXPECT_EQ(queue.Len(), 0u);
    fake_clock.Step(absl::Seconds(30));
    loop->RunDue();
    EXPECT_EQ(queue.Len(), 1u);
    EXPECT_THAT(*cancelled, ElementsAre("order"));
    EXPECT_EQ(reports, 0);
    fake_clock.Step(absl::Seconds(30));
    loop->RunDue();
    EXPECT_EQ(reports, 1);
    return report.status();
  }
};

TEST_F(TimedGuide, EverythingWithATimeTakesTheLoop) {
  EXPECT_EQ(Run(), absl::OkStatus());
}

// A service on the program's loop. The test sends its events.
struct Service {
  using OnEndOf = absl::AnyInvocable<void(absl::Status) &&>;

  void Ship(const std::string& order, OnEndOf on_end) {
    shipping[order] = std::move(on_end);
  }
  void OnOrder(std::function<void(const std::string&)> f) {
    on_order = std::move(f);
  }
  void OnEnd(workqueue::SourceDone f) { on_end = std::move(f); }
  void EndOrders() { on_end(absl::OkStatus()); }

  std::map<std::string, OnEndOf> shipping;
  std::function<void(const std::string&)> on_order;
  workqueue::SourceDone on_end;
};

class ControllerGuide : public EventLoopGuide {
 protected:
  absl::Status Run() {
    Service service;
    std::optional<absl::Status> started;
    std::optional<bool> stopped;
    workqueue::ControllerOptions<std::string> options;
    options.name = "orders";
    options.clock = loop;
    options.reconcile_async = [&](const std::string& order,
                                  const workqueue::AsyncReconcileContext&,
                                  workqueue::ReconcileCompletion done) {
      service.Ship(order, [done](absl::Status status) { done(status); });
    };
    workqueue::Source<std::string> source;
    source.name = "orders";
    source.run_async = [&](auto context, workqueue::SourceDone done) {
      service.OnOrder(
          [context](const std::string& order) { context->queue.Add(order); });
      service.OnEnd(done);  // Call it when no more orders will come.
    };
    source.on_stop = [&] { service.EndOrders(); };
    options.sources.push_back(std::move(source));
    auto controller =
        workqueue::Controller<std::string>::Create(std::move(options));
    if (!controller.ok()) return controller.status();
    absl::Status begun = (*controller)->StartAsync([&](absl::Status status) {
      started = status;
    });
    if (!begun.ok()) return begun;
    RunAll();
    EXPECT_EQ(started, absl::OkStatus());
    service.on_order("one");
    RunAll();
    EXPECT_EQ(service.shipping.count("one"), 1u);
    absl::Status stopping =
        (*controller)->StopAsync(absl::Seconds(25), [&](bool all_done) {
          stopped = all_done;
        });
    RunAll();
    EXPECT_EQ(stopped, std::nullopt);
    std::move(service.shipping["one"])(absl::OkStatus());
    RunAll();
    EXPECT_EQ(stopped, true);
    return stopping;
  }

  void RunAll() {
    while (loop->RunDue() <= fake_clock.TimeNow()) {
    }
  }
};

TEST_F(ControllerGuide, AControllerIsOnTheLoop) {
  EXPECT_EQ(Run(), absl::OkStatus());
}

}  // namespace
