// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that processes of several versions of the library can share a queue, as
// far as one version can show it: the test changes the entries in the server to
// what another version would have written.

#include <future>  // NOLINT(build/c++11)
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/redis_server.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/snapshot.h"
#include "workqueue/testing/thread.h"
#include "workqueue/version.h"

namespace workqueue::mixed_versions_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using Queue = SharedQueue<std::string>;

std::string ThisVersion() {
  return absl::StrCat(WORKQUEUE_VERSION_MAJOR, ".", WORKQUEUE_VERSION_MINOR,
                      ".", WORKQUEUE_VERSION_PATCH);
}

class MixedVersionsTest : public testing::Test {
 protected:
  MixedVersionsTest()
      : name_(NewQueueName()), a_(NewClient("a")), b_(NewClient("b")) {}

  SharedQueueOptions<std::string> Options(const std::string& process) {
    auto options = NewSharedQueueOptions<std::string>(&clock_);
    options.name = name_;
    options.client_name = process;
    return options;
  }

  std::unique_ptr<Queue> NewClient(const std::string& process) {
    return NewSharedQueue(Options(process));
  }

  std::string Meta() const { return absl::StrCat("{", name_, "}:workqueue"); }

  // Sends a command to the server, whose reply is a text if it matters.
  static std::string Command(const std::vector<absl::string_view>& words) {
    const auto reply = SendTo(ServerOfThisProgram(), words);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() && (*reply)->str != nullptr ? (*reply)->str : "";
  }

  // Lets `lua` change each entry `e` of a hash. Returns what it returns.
  std::string Edit(const std::string& hash, const std::string& lua) {
    return Command(
        {"EVAL",
         absl::StrCat("for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do "
                      "local e = cmsgpack.unpack(redis.call('HGET', KEYS[1], "
                      "field)) ",
                      lua,
                      " redis.call('HSET', KEYS[1], field, cmsgpack.pack(e)) "
                      "end"),
         "1", absl::StrCat(Meta(), ":", hash)});
  }

  // The clients in a snapshot, with their versions.
  std::vector<std::pair<std::string, std::string>> Clients() {
    SnapshotOptions<std::string> what;
    what.details = true;
    std::vector<std::pair<std::string, std::string>> clients;
    const auto snapshot = b_->TakeSnapshotWith(what);
    for (const auto& it : snapshot->clients) {
      clients.emplace_back(it.name, it.version);
    }
    return clients;
  }

  // Returns what `b` gets when it waits, and `a` then adds "pushed".
  std::optional<std::string> Push(const std::string& change_of_clients) {
    auto got = Async([this] { return b_->Get(); });
    SnapshotOptions<std::string> what;
    what.details = true;
    for (bool waits = false; !waits;) {
      const auto snapshot = a_->TakeSnapshotWith(what);
      for (const auto& it : snapshot->clients) waits |= it.waiting_workers > 0;
    }
    Edit("clients", change_of_clients);
    EXPECT_TRUE(a_->Add("pushed"));
    return got.get();
  }

  FakeClock clock_;
  const std::string name_;
  const std::unique_ptr<Queue> a_, b_;
};

TEST_F(MixedVersionsTest, AnotherLayoutIsRefused) {
  for (const char* version : {"1", "99"}) {
    Command({"HSET", Meta(), "version", version});
    const absl::Status status = Queue::Create(Options("c")).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(
        std::string(status.message()),
        HasSubstr(absl::StrCat("another version of this library, or a client "
                               "with another number of partitions, wrote the "
                               "keys: they have layout ",
                               version)));
    EXPECT_EQ(a_->AddItems({}, {"x"}).code(),
              absl::StatusCode::kFailedPrecondition);
  }
}

TEST_F(MixedVersionsTest, WhatANewerOneAddsIsKept) {
  a_->AddAll({"x", "y"});
  a_->AddRateLimited("z");
  Edit("items", "e.later = 'kept' e[16] = 'too'");
  Command({"HSET", Meta(), "later", "x"});
  Command({"SPUBLISH", Meta(), "later 1"});
  auto x = b_->TryAcquire();
  ASSERT_TRUE(x.ok()) << x.status();
  EXPECT_TRUE(b_->Reschedule("z", absl::Seconds(1)));
  const std::string kept =
      "if e.later ~= 'kept' or e[16] ~= 'too' then return field end";
  EXPECT_EQ(Edit("items", kept), "");
  EXPECT_TRUE(x->Done());
  EXPECT_EQ(b_->Get(), "y");
  b_->Done("y");
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(b_->Get(), "z");
  b_->Done("z");
  EXPECT_EQ(b_->NumRequeues("z"), 1);
  EXPECT_EQ(Push("e.later = 1 e[12] = 2"), "pushed");
}

TEST_F(MixedVersionsTest, WhatAnOlderOneLacksIsNotNeeded) {
  a_->Add("x");
  auto x = a_->TryAcquire();
  ASSERT_TRUE(x.ok()) << x.status();
  Edit("items", "for i = 10, #e do e[i] = nil end");
  EXPECT_EQ(b_->TakeSnapshot()->processing[0].holder, "");
  EXPECT_TRUE(x->Done());
  EXPECT_EQ(Push("for i = 6, #e do e[i] = nil end"), "pushed");
  EXPECT_THAT(Clients(),
              UnorderedElementsAre(Pair("a", ThisVersion()), Pair("", "")))
      << "who holds the item is not known";
}

TEST_F(MixedVersionsTest, ASnapshotTellsTheVersionOfEachClient) {
  Edit("clients", "if e[6] == 'a' then e[7] = '0.9.9' end");
  EXPECT_THAT(Clients(), UnorderedElementsAre(Pair("a", "0.9.9"),
                                              Pair("b", ThisVersion())));
}

}  // namespace
}  // namespace workqueue::mixed_versions_test
