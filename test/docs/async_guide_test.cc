// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Does for "Many at a time on a few threads" what guide_test.cc does for the
// other chapters.

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/executor.h"
#include "workqueue/lease.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/thread_pool.h"

namespace async_guide_test {
namespace {

using Controller = workqueue::Controller<std::string>;

// A service whose calls do not block. The test ends the calls.
class Service {
 public:
  void Deploy(const std::string& key,
              absl::AnyInvocable<void(absl::Status) &&> on_end) {
    ++begun;
    calls[key] = std::move(on_end);
  }
  void Cancel(const std::string& key) {
    End(key, absl::CancelledError("cancelled"));
  }
  void End(const std::string& key, absl::Status status) {
    const auto it = calls.find(key);
    if (it == calls.end()) return;
    auto on_end = std::move(it->second);
    calls.erase(it);
    std::move(on_end)(std::move(status));
  }

  int begun = 0;
  std::map<std::string, absl::AnyInvocable<void(absl::Status) &&>> calls;
};

void DeployByCalls(Service& service,
                   workqueue::ControllerOptions<std::string>& options) {
  options.name = "deployments";
  options.max_in_flight = 1000;
  options.reconcile_timeout = absl::Seconds(30);
  options.reconcile_async = [&service](
                                const std::string& key,
                                const workqueue::AsyncReconcileContext& context,
                                workqueue::ReconcileCompletion done) {
    service.Deploy(key, [done](absl::Status status) { done(status); });
    context.OnCancel([&service, key] { service.Cancel(key); });
  };
}

absl::Status ShareAPool(workqueue::ControllerOptions<std::string>& options,
                        std::unique_ptr<workqueue::ThreadPool>& owner) {
  auto pool = workqueue::ThreadPool::Create();
  if (!pool.ok()) return pool.status();
  options.executor = pool->get();
  owner = *std::move(pool);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Controller>> Started(
    workqueue::ControllerOptions<std::string> options) {
  auto controller = Controller::Create(std::move(options));
  if (!controller.ok()) return controller.status();
  absl::Status started = (*controller)->Start();
  if (!started.ok()) return started;
  return controller;
}

TEST(AsyncGuideTest, RetriesAndDeadlines) {
  Service service;
  workqueue::FakeClock clock;
  workqueue::ControllerOptions<std::string> options;
  DeployByCalls(service, options);
  options.clock = &clock;
  auto created = Started(std::move(options));
  ASSERT_TRUE(created.ok());
  Controller& controller = **created;

  controller.queue().Add("default/web");
  clock.Step(absl::ZeroDuration());  // The call has begun.
  service.End("default/web", absl::UnavailableError("not yet"));
  clock.Step(absl::Milliseconds(5));  // The second call has begun.
  EXPECT_EQ(service.begun, 2);
  clock.Step(absl::Seconds(30));  // The deadline has cancelled it.
  EXPECT_EQ(service.calls.size(), 0u);
  clock.Step(absl::Milliseconds(10));  // The third call has begun.
  service.End("default/web", absl::OkStatus());
  controller.AwaitIdle();

  EXPECT_EQ(service.begun, 3);
  EXPECT_EQ(controller.queue().NumRequeues("default/web"), 0);
}

TEST(AsyncGuideTest, ManyAtATime) {
  Service service;
  workqueue::FakeClock clock;
  workqueue::ControllerOptions<std::string> options;
  DeployByCalls(service, options);
  options.clock = &clock;
  auto controller = Started(std::move(options));
  ASSERT_TRUE(controller.ok());
  for (int i = 0; i < 1500; ++i) (*controller)->queue().Add(absl::StrCat(i));
  clock.Step(absl::ZeroDuration());
  EXPECT_EQ(service.calls.size(), 1000u);
}

TEST(AsyncGuideTest, InlineExecutor) {
  Service service;
  workqueue::InlineExecutor executor;
  workqueue::ControllerOptions<std::string> options;
  DeployByCalls(service, options);
  options.executor = &executor;
  auto controller = Started(std::move(options));
  ASSERT_TRUE(controller.ok());
  (*controller)->queue().Add("default/web");
  EXPECT_EQ(service.calls.size(), 1u);
}

TEST(AsyncGuideTest, SharedPool) {
  Service service;
  std::unique_ptr<workqueue::ThreadPool> pool;
  workqueue::ControllerOptions<std::string> options;
  DeployByCalls(service, options);
  ASSERT_EQ(ShareAPool(options, pool), absl::OkStatus());
  auto controller = Started(std::move(options));
  ASSERT_TRUE(controller.ok());
  EXPECT_TRUE((*controller)->Stop());
}

// Keeps one item in flight. Call it n times to keep up to n in flight.
void DeployNext(workqueue::RateLimitingQueue<std::string>& queue,
                workqueue::Executor& executor, Service& service) {
  queue.AcquireAsync(&executor, [&queue, &executor, &service](auto lease) {
    if (!lease.ok()) return;  // The queue has been shut down.
    const std::string key = **lease;
    service.Deploy(key, [&queue, &executor, &service,
                         lease = *std::move(lease)](absl::Status s) mutable {
      if (s.ok()) {
        queue.Forget(*lease);
      } else {
        queue.AddRateLimited(*lease);
      }
      lease.Done();
      DeployNext(queue, executor, service);
    });
  });
}

TEST(AsyncGuideTest, AcquireAsync) {
  Service service;
  workqueue::InlineExecutor executor;
  workqueue::RateLimitingQueue<std::string> queue;
  for (int i = 0; i < 2; ++i) DeployNext(queue, executor, service);
  queue.AddAll({"default/web", "default/db", "default/cache"});
  EXPECT_EQ(service.calls.size(), 2u);
  service.End("default/web", absl::OkStatus());
  EXPECT_EQ(service.calls.size(), 2u);
  EXPECT_EQ(service.calls.count("default/cache"), 1u);
  service.End("default/db", absl::UnavailableError("not yet"));
  EXPECT_EQ(queue.NumRequeues("default/db"), 1);
  service.End("default/cache", absl::OkStatus());
  queue.ShutDown();
}

}  // namespace
}  // namespace async_guide_test
