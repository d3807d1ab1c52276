// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SHARED_ELECTION_FIXTURE_H_
#define WORKQUEUE_TEST_SHARED_ELECTION_FIXTURE_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/redis_fixture.h"
#include "test/shared/redis_server.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/leader_election/election.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/redis/redis_options.h"

namespace workqueue {

// ElectionStore
//
// Where elections are, if not in a server.
class ElectionStore {
 public:
  virtual ~ElectionStore() = default;

  virtual internal::ElectionSource* source() = 0;

  // It is away until `Return()`, and then has its data.
  virtual void Leave() = 0;
  virtual void Return() = 0;
  virtual void LoseData() = 0;
};

struct TestElectionStore {
  friend void PrintTo(const TestElectionStore& store, std::ostream* os) {
    *os << store.name;
  }

  std::string name;

  // Makes an empty one, whose time is that of `clock`. Null: a server of each
  // test's own.
  std::function<std::unique_ptr<ElectionStore>(FakeClock* clock)> make;
};

// The stores of this test program, which has one file that defines them.
std::vector<TestElectionStore> TestElectionStores();

// Those of them that are servers.
inline std::vector<TestElectionStore> TestElectionServers() {
  std::vector<TestElectionStore> servers;
  for (TestElectionStore& it : TestElectionStores()) {
    if (it.make == nullptr) servers.push_back(std::move(it));
  }
  return servers;
}

// ElectionFixture
//
// A fixture of tests of elections. Their times are those of `clock_`.
class ElectionFixture : public RedisFixture,
                        public testing::WithParamInterface<TestElectionStore> {
 protected:
  void SetUp() override {
    if (GetParam().make == nullptr) return RedisFixture::SetUp();
    store_ = GetParam().make(&clock_);
  }

  bool in_server() const { return store_ == nullptr; }
  internal::ElectionSource* source() const { return store_->source(); }

  // Lets an elector use the store.
  void UseStore(LeaderElectorOptions* options) {
    options->clock = &clock_;
    if (in_server()) {
      options->redis = Server();
    } else {
      options->engine = source();
    }
    options->clock_is_the_servers = true;
  }

  RedisOptions Server() const {
    RedisOptions redis;
    redis.address = server()->socket_path();
    return redis;
  }

  // The store is away until `Return()`, and then has its data.
  void Leave() { in_server() ? server()->Kill() : store_->Leave(); }
  void Return() {
    if (!in_server()) return store_->Return();
    ASSERT_TRUE(server()->Restart().ok());
  }

  void LoseData() { in_server() ? Send({"FLUSHALL"}) : store_->LoseData(); }

  // Sends a command to the server.
  void Send(const std::vector<absl::string_view>& words) {
    const auto reply = SendTo(server()->socket_path(), words);
    ASSERT_TRUE(reply.ok()) << reply.status();
  }

  FakeClock clock_;
  std::unique_ptr<ElectionStore> store_;
};

// Runs the tests of a fixture on all stores.
#define INSTANTIATE_ELECTION_TESTS(Fixture)                         \
  INSTANTIATE_TEST_SUITE_P(Stores, Fixture,                         \
                           testing::ValuesIn(TestElectionStores()), \
                           [](const auto& store) { return store.param.name; })

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_ELECTION_FIXTURE_H_
