// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// This header defines what makes random requests to an engine, from several
// threads, and checks the history of each item.

#ifndef WORKQUEUE_TEST_SHARED_ENGINE_HISTORY_H_
#define WORKQUEUE_TEST_SHARED_ENGINE_HISTORY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "test/shared/queue_history.h"
#include "workqueue/shared/internal/engine.h"

namespace workqueue {

// EngineHistory
//
// What clients did with a queue. The begins and ends are numbers of one
// counter. The queue's time is that of the requests: it passes now and then, so
// that some leases expire.
//
// Thread-safe.
class EngineHistory {
 public:
  // A place in a log of what the engine does. It grows.
  using Place = std::function<int64_t()>;

  // `place` returns the place to which the log has come.
  explicit EngineHistory(Place place = nullptr) : place_(std::move(place)) {}

  // Makes `requests` requests as the client `name`, or less if there is a cut.
  // What fails with `absl::UnknownError` is sent again.
  void Use(internal::Engine& engine, const std::string& name, int requests,
           uint32_t seed);

  // From now on nobody knows how a request ends that is in progress, and
  // nobody makes one, until `Resume()`.
  void Cut();
  void Resume();

  // Returns the history so far if the log had ended at `end`: nobody knows how
  // a request ended that was in progress then, and later ones were not made. It
  // can go on with another log. Nobody may use this history meanwhile.
  std::unique_ptr<EngineHistory> Until(int64_t end, Place place = nullptr);

  // When all leases have ended, takes all items, and ends their processing.
  // Returns what is wrong with the history then, or an empty string.
  std::string Drain(internal::Engine& engine);

 private:
  static constexpr int64_t kLease = 1000;

  struct Moment {
    int64_t number = QueueOperation::kNever;
    int64_t place = QueueOperation::kNever;
  };

  // A request, or a look that has found that an item is not there.
  struct Call {
    Moment begin, end;
    internal::EngineRequest request;
    std::optional<internal::EngineReply> reply;  // if it is known
    std::string gone;                            // the item, of a look
  };

  struct Lease {
    std::string item;
    int64_t now;  // It was handed out, or renewed, not before that.
    int64_t alive_at = 0;
  };

  Moment Now() {
    const int64_t place = place_ != nullptr ? place_() : 0;
    return {++moments_, place};
  }
  // Makes the request now. Returns its reply if that is known.
  std::optional<internal::EngineReply> Send(internal::Engine& engine,
                                            internal::EngineRequest& request);
  // Notes if the item is not there.
  void Look(internal::Engine& engine, const std::string& item);
  void PassTime(int64_t ticks);
  // Adds what a request did.
  static void Note(const Call& call,
                   std::map<std::string, std::vector<QueueOperation>>* items,
                   std::map<int64_t, Lease>* leases);

  const Place place_;
  std::atomic<int64_t> moments_{0};
  // No time passes during a request. If it did, the next one would come with an
  // earlier time, which the engine corrects for ever.
  absl::Mutex time_mu_ ABSL_ACQUIRED_BEFORE(mu_);
  int64_t now_ ABSL_GUARDED_BY(time_mu_) = 1'000'000;
  // What the time has come to, and the moment of that.
  std::vector<std::pair<int64_t, Moment>> times_ ABSL_GUARDED_BY(time_mu_);
  absl::Mutex mu_;
  bool is_cut_ ABSL_GUARDED_BY(mu_) = false;
  // In the order of their ends.
  std::vector<Call> calls_ ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_ENGINE_HISTORY_H_
