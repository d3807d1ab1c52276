// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that a `SharedQueue` comes back in line by itself when an operator has
// deleted one of its keys. The entries of the items are the truth.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/redis_server.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/failures.h"
#include "workqueue/interfaces.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::shared_queue_repair_test {
namespace {

using Queue = SharedQueue<std::string>;

constexpr absl::Duration kLease = absl::Seconds(30);

class SharedQueueRepairTest : public testing::Test {
 protected:
  std::unique_ptr<Queue> NewClient() {
    auto options = NewSharedQueueOptions<std::string>(&clock_);
    options.name = name_;
    options.lease = kLease;
    options.log_sink = &log_;
    return NewSharedQueue(std::move(options));
  }

  // Deletes a key of the queue, or `field` of it.
  void Delete(absl::string_view key, absl::string_view field = "") {
    const std::string name = absl::StrCat("{", name_, "}:workqueue:", key);
    std::vector<absl::string_view> words = {"DEL", name};
    if (!field.empty()) words = {"HDEL", name, field};
    const auto reply = SendTo(ServerOfThisProgram(), words);
    ASSERT_TRUE(reply.ok()) << reply.status();
  }

  // Lets one or more clients make the request that repairs.
  void StepToRepair() { clock_.Step(WaitingLoop::Heartbeat()); }

  // Blocks until a client has told that it has repaired `n` items.
  void AwaitRepair(int n) {
    const std::string message = log_.Await(1);
    EXPECT_TRUE(
        absl::StrContains(message, absl::StrCat("has put ", n, " items back")))
        << message;
  }

  FakeClock clock_;
  RecordingLog log_;
  const std::string name_ = NewQueueName();
  std::unique_ptr<Queue> a_ = NewClient();
  std::unique_ptr<Queue> b_ = NewClient();
};

TEST_F(SharedQueueRepairTest, ReadyItemsAreHandedOut) {
  a_->AddWithOptions({absl::ZeroDuration(), false, 1}, {"x", "y"});
  a_->Add("z");
  a_->AddWithOptions({absl::ZeroDuration(), false, 2}, {"first"});
  Delete("ready");
  EXPECT_TRUE(a_->Add("x"));
  StepToRepair();
  AwaitRepair(4);
  for (const char* item : {"first", "x", "y", "z"}) {
    EXPECT_EQ(b_->Get(), item);
  }
}

TEST_F(SharedQueueRepairTest, AWorkerThatWaitsGetsThem) {
  a_->Add("x");
  Delete("ready");
  auto got = Async([this] { return b_->Get(); });
  clock_.AwaitWaiters(3);
  StepToRepair();
  EXPECT_EQ(got.get(), "x");
}

TEST_F(SharedQueueRepairTest, ALeaseOfADeadProcessExpires) {
  a_->Add("x");
  ASSERT_EQ(a_->Get(), "x");
  a_.reset();
  Delete("leases");
  StepToRepair();
  AwaitRepair(1);
  clock_.Step(kLease);
  EXPECT_EQ(b_->NumRequeues("x"), 1);
  clock_.Step(absl::Milliseconds(5));
  EXPECT_EQ(b_->Get(), "x");
}

TEST_F(SharedQueueRepairTest, ALeaseThatLivesIsRenewed) {
  a_->Add("x");
  ASSERT_EQ(a_->Get(), "x");
  Delete("leases");
  for (int i = 0; i < 20; ++i) {
    clock_.Step(kLease / 6);
    EXPECT_EQ(b_->Len(), 0u);
  }
  EXPECT_TRUE(a_->Done("x"));
}

TEST_F(SharedQueueRepairTest, WhatWaitsComesAtOnce) {
  a_->AddAfter("x", absl::Hours(1));
  a_->AddRateLimited("y");
  Delete("waiting");
  StepToRepair();
  AwaitRepair(2);
  EXPECT_EQ(b_->Len(), 2u) << "their times are lost";
  EXPECT_EQ(b_->TakeSnapshot()->num_waiting, 0u);
}

TEST_F(SharedQueueRepairTest, CallsWorkBeforeTheRepair) {
  for (const char* item : {"x", "y", "z", "w"}) {
    a_->AddAfter(item, absl::Hours(1));
  }
  Delete("waiting");
  EXPECT_TRUE(a_->TakeSnapshotOf("x").ok());
  EXPECT_TRUE(a_->AddAfter("x", absl::Seconds(2)));
  EXPECT_TRUE(a_->Reschedule("y", absl::Seconds(2)));
  EXPECT_TRUE(a_->AddRateLimited("z"));
  EXPECT_TRUE(a_->CancelDelayed("w"));
  clock_.Step(absl::Seconds(2));
  EXPECT_EQ(a_->Len(), 3u);
}

TEST_F(SharedQueueRepairTest, AWorkerWhoseClientIsUnknownIsServed) {
  for (const char* key : {"waiters", "clients"}) {
    auto got = Async([this] { return b_->Get(); });
    clock_.AwaitWaiters(3);
    EXPECT_EQ(a_->Len(), 0u);
    Delete(key);
    EXPECT_TRUE(a_->Add("x")) << key;
    StepToRepair();
    EXPECT_EQ(got.get(), "x") << key;
    EXPECT_TRUE(b_->Done("x"));
    // And from then on as ever.
    got = Async([this] { return b_->Get(); });
    clock_.AwaitWaiters(3);
    EXPECT_TRUE(a_->Add("y")) << key;
    EXPECT_EQ(got.get(), "y") << key;
    EXPECT_TRUE(b_->Done("y"));
  }
}

TEST_F(SharedQueueRepairTest, AnItemWithoutAnEntryIsNotThere) {
  a_->Add("queued");
  a_->AddAfter("waiting", absl::Seconds(1));
  a_->Add("processing");
  ASSERT_EQ(a_->Get(), "queued");
  a_->Add("last");
  Delete("items", "queued");
  Delete("items", "processing");
  Delete("items", "waiting");
  EXPECT_FALSE(a_->Done("queued"));
  EXPECT_EQ(a_->Get(), "last");
  EXPECT_TRUE(a_->Done("last"));
  clock_.Step(kLease);
  EXPECT_EQ(a_->Len(), 0u);
  const auto counts = a_->Count();
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->waiting, 0u);
  EXPECT_TRUE(a_->AddAll({"queued", "processing", "waiting"}));
  EXPECT_EQ(a_->Len(), 3u);
}

TEST_F(SharedQueueRepairTest, FailuresAreListedAgain) {
  FailureLedgerOptions limits;
  for (const char* item : {"fails", "parked"}) {
    a_->Add(item);
    auto lease = a_->TryAcquire();
    ASSERT_TRUE(lease.ok());
    ASSERT_TRUE(
        a_->Fail(&*lease, absl::AbortedError("bad"), limits, std::nullopt)
            .ok());
    limits.max_failures = 1;
  }
  Delete("failing");
  Delete("parked");
  StepToRepair();
  AwaitRepair(2);
  EXPECT_EQ(b_->Failing(9)->at(0).item, "fails");
  EXPECT_EQ(b_->Parked(9)->at(0).last_error, "ABORTED: bad");
  // And not any more, if their entries are gone.
  Delete("items");
  for (int i = 0; i < 100 && b_->Numbers()->parked > 0; ++i) {
    clock_.AwaitWaiters(2);
    StepToRepair();
  }
  EXPECT_EQ(b_->Numbers()->failing, 0u);
  EXPECT_EQ(b_->Numbers()->parked, 0u);
}

// The server serves nobody else meanwhile.
TEST_F(SharedQueueRepairTest, ARequestRepairsAPart) {
  constexpr size_t kItems = 5000;
  std::vector<std::string> items;
  for (size_t i = 0; i < kItems; ++i) {
    items.push_back(absl::StrCat("a long name of an item with number ", i));
  }
  EXPECT_TRUE(a_->AddAll(items));
  Delete("ready");
  b_.reset();
  StepToRepair();
  log_.Await(1);
  EXPECT_GT(a_->Len(), 0u);
  EXPECT_LT(a_->Len(), kItems / 2);
  for (int i = 0; i < 1000 && a_->Len() < kItems; ++i) {
    clock_.AwaitWaiters(1);
    StepToRepair();
  }
  EXPECT_EQ(a_->Len(), kItems);
}

}  // namespace
}  // namespace workqueue::shared_queue_repair_test
