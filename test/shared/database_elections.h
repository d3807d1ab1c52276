// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SHARED_DATABASE_ELECTIONS_H_
#define WORKQUEUE_TEST_SHARED_DATABASE_ELECTIONS_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "test/shared/election_fixture.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/leader_election/election.h"

namespace workqueue {

// DatabaseElections
//
// Elections in a database of the test's own, which two processes use. When it
// is away, calls fail without being made.
class DatabaseElections final : public ElectionStore,
                                private internal::ElectionSource {
 public:
  using Source = std::unique_ptr<internal::ElectionSource>;

  // `lose_data` removes all entries.
  DatabaseElections(Source a, Source b, std::function<void()> lose_data)
      : processes_{std::move(a), std::move(b)},
        lose_data_(std::move(lose_data)) {}

  internal::ElectionSource* source() override { return this; }

  void Leave() override { is_away_ = true; }
  void Return() override {
    is_away_ = false;
    internal::MutexLock lock(&mu_);
    for (const auto& [elector, heard] : listeners_) heard();
  }

  void LoseData() override { lose_data_(); }

 private:
  class Elector final : public internal::Election {
   public:
    Elector(DatabaseElections* store,
            std::unique_ptr<internal::Election> election)
        : store_(*store), election_(std::move(election)) {}
    ~Elector() override { StopListening(); }

    absl::StatusOr<State> Do(Call call, int64_t token,
                             absl::Duration timeout) override {
      return Try([&] { return election_->Do(call, token, timeout); });
    }
    void Interrupt() override { election_->Interrupt(); }

    absl::Status Listen(
        std::function<void()> heard,
        std::function<void(const absl::Status&)> denied) override {
      internal::MutexLock lock(&store_.mu_);
      store_.listeners_[this] = heard;
      return election_->Listen(std::move(heard), std::move(denied));
    }
    void StopListening() override {
      election_->StopListening();
      internal::MutexLock lock(&store_.mu_);
      store_.listeners_.erase(this);
    }

   private:
    template <typename F>
    absl::StatusOr<State> Try(F f) {
      if (store_.is_away_)
        return absl::UnavailableError("the database is away");
      return f();
    }

    DatabaseElections& store_;
    const std::unique_ptr<internal::Election> election_;
  };

  std::unique_ptr<internal::Election> NewElection(
      const internal::ElectionOptions& options) override {
    internal::ElectionSource& source = *processes_[++electors_ % 2];
    return std::make_unique<Elector>(this, source.NewElection(options));
  }

  const Source processes_[2];
  const std::function<void()> lose_data_;
  std::atomic<size_t> electors_{0};
  std::atomic<bool> is_away_{false};
  absl::Mutex mu_;
  std::map<Elector*, std::function<void()>> listeners_ ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_DATABASE_ELECTIONS_H_
