// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <libpq-fe.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "test/shared/database_elections.h"
#include "test/shared/election_fixture.h"
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

void LoseData(const std::string& schema) {
  PGconn* const connection =
      PQconnectdb(PostgresServerOfThisProgram().address().c_str());
  PGresult* const result = PQexec(
      connection, absl::StrCat("DELETE FROM ", schema, ".entry").c_str());
  EXPECT_EQ(PQresultStatus(result), PGRES_COMMAND_OK);
  PQclear(result);
  PQfinish(connection);
}

}  // namespace

std::vector<TestElectionStore> TestElectionStores() {
  return {{"Postgres", [](FakeClock* clock) {
             static std::atomic<int> schemas{0};
             const std::string schema = absl::StrCat("elections_", ++schemas);
             const std::string address = absl::StrCat(
                 PostgresServerOfThisProgram().address(), "&schema=", schema);
             EXPECT_EQ(PostgresEngine::Migrate(address), absl::OkStatus());
             return std::make_unique<DatabaseElections>(
                 *PostgresEngine::Create(address, clock),
                 *PostgresEngine::Create(address, clock),
                 [schema] { LoseData(schema); });
           }}};
}

std::vector<TestEngine> TestEngines() {
  return {{"Postgres",
           [](FakeClock*) { return std::make_unique<PostgresSource>(); }}};
}

}  // namespace workqueue
