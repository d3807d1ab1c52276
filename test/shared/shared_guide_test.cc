// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The code of the guide's chapter about several processes on one queue.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/redis_fixture.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/leader_election/leader_election_source.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/lease.h"
#include "workqueue/shared/shared_queue.h"

namespace {

class SharedGuideTest : public workqueue::RedisFixture {};

TEST_F(SharedGuideTest, Tls) {
  workqueue::SharedQueueOptions<std::string> shared;
  shared.name = "pods";
  shared.address = "rediss://redis.example:6380";
  shared.redis.tls = workqueue::RedisTlsOptions();
  shared.redis.tls->ca_file = "/etc/redis/ca.pem";
  shared.redis.tls->certificate_file = "/etc/redis/client.pem";
  shared.redis.tls->key_file = "/etc/redis/client.key";
  shared.call_timeout = absl::Milliseconds(10);
  EXPECT_FALSE(
      workqueue::SharedQueue<std::string>::Create(std::move(shared)).ok());
}

TEST_F(SharedGuideTest, Partitions) {
  workqueue::SharedQueueOptions<std::string> shared;
  shared.name = "pods in partitions";
  shared.address = "10.0.0.1:6379,10.0.0.2:6379";  // any nodes
  shared.partitions = 6;
  shared.address = server()->socket_path();
  const auto queue =
      *workqueue::SharedQueue<std::string>::Create(std::move(shared));
  for (int i = 0; i < 20; ++i) queue->Add(absl::StrCat(i));
  EXPECT_EQ(queue->Len(), 20u);
}

TEST_F(SharedGuideTest, Groups) {
  const std::string address = server()->socket_path();
  std::unique_ptr<workqueue::SharedQueue<std::string>> opened;
  const auto open = [&]() -> absl::Status {
    workqueue::SharedQueueOptions<std::string> shared;
    shared.name = "pods by namespace";
    shared.address = address;
    shared.fair.dimensions.resize(1);
    shared.fair.dimensions[0].group_of = [](const std::string& key) {
      return key.substr(0, key.find('/'));
    };
    shared.fair.dimensions[0].max_in_process = 5;
    shared.fair.max_retries_in_process = 20;
    auto queue = workqueue::SharedQueue<std::string>::Create(std::move(shared));
    if (!queue.ok()) return queue.status();
    opened = *std::move(queue);
    return absl::OkStatus();
  };
  ASSERT_TRUE(open().ok());
  for (int i = 0; i < 9; ++i) opened->Add(absl::StrCat("flood/", i));
  opened->Add("default/web");
  EXPECT_EQ(opened->Get(), "flood/0");
  EXPECT_EQ(opened->Get(), "default/web");
}

TEST_F(SharedGuideTest, LeaderElection) {
  const std::string address = server()->socket_path();
  absl::Notification cleaned_up;
  const auto CleanUp = [&](int64_t token) {
    EXPECT_GT(token, 0);
    cleaned_up.Notify();
  };
  std::unique_ptr<workqueue::LeaderElector> running;
  const auto start = [&]() -> absl::Status {
    workqueue::LeaderElectorOptions election;
    election.name = "pods";
    election.address = address;
    election.on_started_leading = [&](const workqueue::Leadership& leadership) {
      do {
        CleanUp(leadership.token());
      } while (leadership.Sleep(absl::Minutes(1)));
    };
    auto elector = workqueue::LeaderElector::Create(std::move(election));
    if (!elector.ok()) return elector.status();
    absl::Status started = (*elector)->Start();
    running = *std::move(elector);
    return started;
  };
  ASSERT_TRUE(start().ok());
  cleaned_up.WaitForNotification();
  running->Stop();
}

TEST_F(SharedGuideTest, ALeaderElectionSource) {
  absl::Notification reconciled;
  const auto AwaitSignal = [&] { reconciled.WaitForNotification(); };
  workqueue::LeaderElectorOptions election;
  election.name = "pods";
  election.address = server()->socket_path();
  workqueue::ControllerOptions<std::string> options;
  options.reconcile = [&](const std::string& key,
                          const workqueue::ReconcileContext& context) {
    EXPECT_EQ(key, "default/web");
    EXPECT_GT(context.token, 0);
    reconciled.Notify();
    return absl::OkStatus();
  };
  workqueue::Source<std::string> pods;
  pods.run = [](workqueue::SourceContext<std::string>& context) {
    context.queue.Add("default/web");
    return absl::OkStatus();
  };
  options.sources.push_back(std::move(pods));
  const auto run = [&]() -> absl::Status {
    auto elector = workqueue::LeaderElector::Create(std::move(election));
    if (!elector.ok()) return elector.status();
    options.sources.push_back(
        workqueue::MakeLeaderElectionSource<std::string>(**elector));
    auto controller =
        workqueue::Controller<std::string>::Create(std::move(options));
    if (!controller.ok()) return controller.status();
    absl::Status status = (*controller)->Start();
    if (status.ok()) status = (*elector)->Start();
    if (!status.ok()) return status;

    AwaitSignal();
    (*controller)->Stop();
    (*elector)->Stop();  // now another process may lead
    return status;
  };
  EXPECT_EQ(run(), absl::OkStatus());
}

TEST_F(SharedGuideTest, Fencing) {
  workqueue::SharedQueueOptions<std::string> shared;
  shared.name = "pods";
  shared.address = server()->socket_path();
  const auto queue =
      *workqueue::SharedQueue<std::string>::Create(std::move(shared));
  queue->Add("default/web");
  int64_t written = 0;
  const auto WriteUnlessNewer = [&](const std::string&, int64_t token) {
    if (token <= written) return absl::AbortedError("a newer worker wrote");
    written = token;
    return absl::OkStatus();
  };
  absl::Status status = absl::UnknownError("");
  absl::StatusOr<workqueue::Lease<std::string>> lease = queue->Acquire();
  if (!lease.ok()) return;
  status = WriteUnlessNewer(**lease, lease->token());
  if (!lease->Done()) {
    // Another worker may have the item. Nothing is left to do here.
  }
  EXPECT_TRUE(status.ok());
  EXPECT_GT(written, 0);
}

}  // namespace
