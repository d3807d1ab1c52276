// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/shared/database_elections.h"
#include "test/shared/election_fixture.h"
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

void LoseData(const std::string& path) {
  sqlite3* connection = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &connection), SQLITE_OK);
  sqlite3_busy_timeout(connection, 10000);
  EXPECT_EQ(
      sqlite3_exec(connection, "DELETE FROM entry", nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(connection);
}

}  // namespace

std::vector<TestElectionStore> TestElectionStores() {
  return {{"Sqlite", [](FakeClock* clock) {
             const auto folder = std::make_shared<TemporaryFolder>();
             const std::string path = folder->path() + "/elections.db";
             return std::make_unique<DatabaseElections>(
                 *SqliteEngine::Create(path, clock),
                 *SqliteEngine::Create(path, clock),
                 [folder, path] { LoseData(path); });
           }}};
}

std::vector<TestEngine> TestEngines() {
  return {
      {"Sqlite", [](FakeClock*) { return std::make_unique<SqliteSource>(); }}};
}

}  // namespace workqueue
