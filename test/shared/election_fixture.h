// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SHARED_ELECTION_FIXTURE_H_
#define WORKQUEUE_TEST_SHARED_ELECTION_FIXTURE_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/redis_fixture.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/shared/testing/memory_engine.h"

namespace workqueue {

enum class Store { kServer, kMemory };

// ElectionFixture
//
// A fixture of tests of elections in a server of each test's own, or in memory.
// Their times are those of `clock_`.
class ElectionFixture : public RedisFixture,
                        public testing::WithParamInterface<Store> {
 protected:
  void SetUp() override {
    if (!in_memory()) RedisFixture::SetUp();
  }

  bool in_memory() const { return GetParam() == Store::kMemory; }

  // Lets an elector use the store.
  void UseStore(LeaderElectorOptions* options) {
    options->clock = &clock_;
    if (in_memory()) {
      options->engine = &memory_;
    } else {
      options->redis = Server();
      options->clock_is_the_servers = true;
    }
  }

  RedisOptions Server() const {
    RedisOptions redis;
    redis.address = server()->socket_path();
    return redis;
  }

  // The store is away until `Return()`, and then has its data.
  void Leave() {
    MemoryEngine::Faults faults;
    faults.away = true;
    in_memory() ? memory_.SetFaults(faults) : server()->Kill();
  }
  void Return() {
    if (in_memory()) return memory_.SetFaults({});
    ASSERT_TRUE(server()->Restart().ok());
  }

  void LoseData() { in_memory() ? memory_.LoseData() : Send({"FLUSHALL"}); }

  // Sends a command to the server.
  void Send(const std::vector<absl::string_view>& command) {
    auto connection =
        internal::RedisConnection::Connect(Server(), absl::Seconds(10));
    ASSERT_TRUE(connection.ok()) << connection.status();
    const auto reply = (*connection)->Call(command, absl::Seconds(10));
    ASSERT_TRUE(reply.ok()) << reply.status();
  }

  FakeClock clock_;
  MemoryEngine memory_{&clock_};
};

// Runs the tests of a fixture on both stores.
#define INSTANTIATE_ELECTION_TESTS(Fixture)                             \
  INSTANTIATE_TEST_SUITE_P(                                             \
      Stores, Fixture, testing::Values(Store::kServer, Store::kMemory), \
      [](const auto& store) {                                           \
        return store.param == Store::kMemory ? "Memory" : "Server";     \
      })

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_ELECTION_FIXTURE_H_
