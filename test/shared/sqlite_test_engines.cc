// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <sqlite3.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/election_fixture.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/temporary_folder.h"
#include "test/shared/test_engines.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/leader_election/election.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/sqlite/sqlite_engine.h"

namespace workqueue {
namespace {

using internal::Election;
using internal::MutexLock;

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

// Elections in a file of the test's own, which two processes use. A file is
// never away as a server is: its calls fail without being made.
class ElectionsInAFile final : public ElectionStore,
                               private internal::ElectionSource {
 public:
  explicit ElectionsInAFile(FakeClock* clock)
      : processes_{*SqliteEngine::Create(path_, clock),
                   *SqliteEngine::Create(path_, clock)} {}

  internal::ElectionSource* source() override { return this; }

  void Leave() override { is_away_ = true; }
  void Return() override {
    is_away_ = false;
    MutexLock lock(&mu_);
    for (const auto& [elector, heard] : listeners_) heard();
  }

  void LoseData() override {
    sqlite3* connection = nullptr;
    EXPECT_EQ(sqlite3_open(path_.c_str(), &connection), SQLITE_OK);
    sqlite3_busy_timeout(connection, 10000);
    EXPECT_EQ(sqlite3_exec(connection, "DELETE FROM entry", nullptr, nullptr,
                           nullptr),
              SQLITE_OK);
    sqlite3_close(connection);
  }

 private:
  class Elector final : public Election {
   public:
    Elector(ElectionsInAFile* store, std::unique_ptr<Election> election)
        : store_(*store), election_(std::move(election)) {}
    ~Elector() override { StopListening(); }

    absl::StatusOr<State> Take() override {
      return Try([&] { return election_->Take(); });
    }
    absl::StatusOr<State> Renew(int64_t token, absl::Duration d) override {
      return Try([&] { return election_->Renew(token, d); });
    }
    absl::StatusOr<State> Look() override {
      return Try([&] { return election_->Look(); });
    }
    absl::StatusOr<State> Release(int64_t token, absl::Duration d) override {
      return Try([&] { return election_->Release(token, d); });
    }
    void Interrupt() override { election_->Interrupt(); }

    absl::Status Listen(
        std::function<void()> heard,
        std::function<void(const absl::Status&)> denied) override {
      MutexLock lock(&store_.mu_);
      store_.listeners_[this] = heard;
      return election_->Listen(std::move(heard), std::move(denied));
    }
    void StopListening() override {
      election_->StopListening();
      MutexLock lock(&store_.mu_);
      store_.listeners_.erase(this);
    }

   private:
    template <typename F>
    absl::StatusOr<State> Try(F f) {
      if (store_.is_away_) return absl::UnavailableError("the file is away");
      return f();
    }

    ElectionsInAFile& store_;
    const std::unique_ptr<Election> election_;
  };

  std::unique_ptr<Election> NewElection(
      const internal::ElectionOptions& options) override {
    internal::ElectionSource& source = *processes_[++electors_ % 2];
    return std::make_unique<Elector>(this, source.NewElection(options));
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/elections.db";
  const std::unique_ptr<SqliteEngine> processes_[2];
  std::atomic<size_t> electors_{0};
  std::atomic<bool> is_away_{false};
  absl::Mutex mu_;
  std::map<Elector*, std::function<void()>> listeners_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

std::vector<TestElectionStore> TestElectionStores() {
  return {{"Sqlite", [](FakeClock* clock) {
             return std::make_unique<ElectionsInAFile>(clock);
           }}};
}

std::vector<TestEngine> TestEngines() {
  return {
      {"Sqlite", [](FakeClock*) { return std::make_unique<SqliteSource>(); }}};
}

}  // namespace workqueue
