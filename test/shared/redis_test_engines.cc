// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The engines that the library has without an optional part: in a server, and
// in memory.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "test/shared/election_fixture.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/test_engines.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/leader_election/election.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/redis_engine.h"
#include "workqueue/shared/testing/memory_engine.h"

namespace workqueue {
namespace {

class RedisSource final : public internal::EngineSource {
 public:
  bool UsesClocksOfQueues() const override { return true; }
  std::unique_ptr<internal::Engine> NewEngine(
      const std::string& name, size_t partitions,
      const std::string& /*client_name*/) override {
    RedisOptions options;
    options.address = ServerOfThisProgram();
    return std::make_unique<internal::RedisEngine>(name, partitions, options);
  }
};

class ElectionsInMemory final : public ElectionStore {
 public:
  explicit ElectionsInMemory(FakeClock* clock) : engine_(clock) {}

  internal::ElectionSource* source() override { return &engine_; }
  void Leave() override {
    MemoryEngine::Faults faults;
    faults.away = true;
    engine_.SetFaults(faults);
  }
  void Return() override { engine_.SetFaults({}); }
  void LoseData() override { engine_.LoseData(); }

 private:
  MemoryEngine engine_;
};

}  // namespace

std::vector<TestElectionStore> TestElectionStores() {
  return {{"Server", nullptr},
          {"Memory", [](FakeClock* clock) {
             return std::make_unique<ElectionsInMemory>(clock);
           }}};
}

std::vector<TestEngine> TestEngines() {
  return {
      {"Server", [](FakeClock*) { return std::make_unique<RedisSource>(); }},
      {"Memory",
       [](FakeClock* clock) { return std::make_unique<MemoryEngine>(clock); }}};
}

}  // namespace workqueue
