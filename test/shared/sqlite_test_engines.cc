// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "test/shared/new_shared_queue.h"
#include "test/shared/temporary_folder.h"
#include "test/shared/test_engines.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/sqlite/sqlite_engine.h"

namespace workqueue {
namespace {

// The file of this program: its queues have different names.
class SqliteSource final : public internal::EngineSource {
 public:
  bool UsesClocksOfQueues() const override { return true; }
  std::unique_ptr<internal::Engine> NewEngine(
      const std::string& name, size_t partitions,
      const std::string& client_name) override {
    static const TemporaryFolder folder;
    static const auto engine = SqliteEngine::Create(folder.path() + "/q.db");
    if (!engine.ok()) DieOf(engine.status());
    internal::EngineSource& source = **engine;
    return source.NewEngine(name, partitions, client_name);
  }
};

}  // namespace

std::vector<TestEngine> TestEngines() {
  return {
      {"Sqlite", [](FakeClock*) { return std::make_unique<SqliteSource>(); }}};
}

}  // namespace workqueue
