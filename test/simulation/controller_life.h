// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SIMULATION_CONTROLLER_LIFE_H_
#define WORKQUEUE_TEST_SIMULATION_CONTROLLER_LIFE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "test/simulation/scenario.h"
#include "workqueue/clock/parker.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/leader_election/leader_election_source.h"
#include "workqueue/shared/testing/memory_engine.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {

// ControllerLife
//
// What a controller does, from its making to its destruction: threads and
// sources add items while it starts, runs and stops, reconciliations succeed,
// fail, ask for another time or are completed by other threads, and it is
// stopped or destroyed at any time.
//
// At each rest, no worker may be idle while an item is queued, and what was
// added, has failed or was given back must have been reconciled since, or be in
// the queue. An item is reconciled by one worker at a time. At the end nothing
// that was added before the stop is lost.
class ControllerLife {
 public:
  using Key = std::string;

  struct Options {
    bool async = false;
    bool shared = false;  // a SharedQueue on a MemoryEngine
    bool faults = false;  // of that engine
    bool stands_by = false;
  };

  explicit ControllerLife(Options options);
  ~ControllerLife();

  void Live();

 private:
  struct Item {
    int running = 0;
    int64_t begun = -1;  // the event of the last begin
    // It must begin after this event, or be queued or processed.
    int64_t added = -2;
    // The same, or it waits.
    int64_t owed = -2;
    // The same, but the item does not wait.
    int64_t given_back = -2;
    int failures = 0;     // consecutive
    bool counted = true;  // `failures` is exact.
    bool waits = false;   // It may wait for a delay.
    bool kept = false;    // A source has added it while the engine was broken.
    int64_t token = 0;    // the last one
  };
  // How a reconciliation ends.
  struct Outcome {
    absl::StatusOr<ReconcileResult> result = ReconcileResult();
    bool throws = false;
    bool drops = false;
  };
  // An asynchronous one.
  struct Call {
    Key key;
    AsyncReconcileContext context;
    ReconcileCompletion done;
    Outcome outcome;
    bool ended = false;
    int completing = 0;  // threads
    int taken = 0;       // completions that returned true
    bool on_cancel = false;
    bool cancelled = false;
  };

  // Counts what is in progress.
  class Metrics;

  void MakeLoop();
  ControllerOptions<Key> MakeOptions();
  Source<Key> AnySource(int index);
  void GiveThread(Source<Key>* source, bool fails);
  void GiveNoThread(Source<Key>* source, bool fails);
  // The begin of a run of a source.
  void AddFromSource(SourceContext<Key>& context);
  Source<Key> TermSource();
  void AddSome();
  void Add(const Key& key);
  void Begin(const Key& key, int failures, int64_t token);
  Outcome ChooseOutcome();
  void End(const Key& key, const Outcome& outcome);
  absl::StatusOr<ReconcileResult> Reconcile(const Key& key,
                                            const ReconcileContext& context);
  void ReconcileAsync(const Key& key, const AsyncReconcileContext& context,
                      ReconcileCompletion done);
  void Complete(const std::shared_ptr<Call>& call);
  void Look();
  void Break();
  void SetTerm(bool leads);
  absl::Status Start();
  bool Stop(absl::Duration timeout);
  void StopOnce(absl::Duration timeout);
  void AwaitIdle();
  // At a rest: a start or a stop that is in progress has something to wait for.
  void CheckCalls();
  void CheckRest();
  std::string RestError();
  std::string Lost(const Snapshot<Key>& snapshot, bool strictly);
  void DrainShared();
  const Key& AnyKey();
  std::unique_ptr<RateLimitingInterface<Key>> NewSharedQueue(
      const std::string& client);

  const Options options_;
  std::vector<Key> keys_;
  std::unique_ptr<Metrics> metrics_;   // may be null
  std::shared_ptr<WaitingLoop> loop_;  // may be null
  std::unique_ptr<Parker> parker_;     // of the thread that drives the loop
  sync::Thread runner_;                // that thread, if there is one
  std::unique_ptr<MemoryEngine> engine_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Controller<Key>> owner_;
  Controller<Key>* controller_ = nullptr;  // also while it is destroyed
  std::map<Key, Item> items_;
  std::vector<std::shared_ptr<Call>> calls_;
  Threads completers_;
  size_t max_running_ = 0;
  size_t running_ = 0;
  size_t num_sources_ = 0;
  size_t synced_ = 0;  // of the sources that the start waits for
  size_t awaited_ = 0;
  int trouble_ = 4;      // how many more outcomes are no success
  int bad_decodes_ = 0;  // how often an item cannot be decoded
  bool looks_ = false;   // and now it can
  bool parks_ = false;
  bool timed_ = false;     // Reconciliations have deadlines.
  bool started_ = false;   // Start() has returned OK.
  bool starting_ = false;  // It has been called.
  bool stopping_ = false;  // A stop has begun.
  int starts_ = 0;         // calls in progress
  int stops_ = 0;
  size_t sources_running_ = 0;
  bool has_failed_ = false;    // a source, for ever, that the start waits for
  bool is_patient_ = true;     // No stop has a timeout.
  bool stops_itself_ = false;  // A reconciliation has stopped it.
  bool stop_returned_ = false;
  bool over_ = false;     // It had returned at the last rest.
  bool stopped_ = false;  // Stop() has returned true.
  bool destroyed_ = false;
  bool endless_ = false;  // Leases of an engine do not expire.
  bool broken_ = false;   // The engine does not answer at times.
  int64_t term_ = 1;
  int64_t last_term_ = 1;
  bool no_term_ = false;  // since the last rest
  internal::SourceSignal term_changed_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SIMULATION_CONTROLLER_LIFE_H_
