// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/postgres_server.h"
#include "test/shared/test_engines.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/postgres/postgres_engine.h"

namespace workqueue {
namespace {

// The database of this program: its queues have different names.
class PostgresSource final : public internal::EngineSource {
 public:
  bool UsesClocksOfQueues() const override { return true; }
  std::unique_ptr<internal::Engine> NewEngine(
      const std::string& name, size_t partitions,
      const std::string& client_name) override {
    static const auto engine =
        PostgresEngine::Create(PostgresServerOfThisProgram().address());
    if (!engine.ok()) DieOf(engine.status());
    internal::EngineSource& source = **engine;
    return source.NewEngine(name, partitions, client_name);
  }
};

}  // namespace

std::vector<TestEngine> TestEngines() {
  return {{"Postgres",
           [](FakeClock*) { return std::make_unique<PostgresSource>(); }}};
}

}  // namespace workqueue
