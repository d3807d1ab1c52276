// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Controllers.

#include <cstddef>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "test/simulation/any_executor.h"
#include "test/simulation/controller_life.h"
#include "test/simulation/scenario.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/executor.h"
#include "workqueue/leader_election/leader_election_source.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/shared/testing/memory_engine.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {
namespace {

using simulation::AtRest;
using simulation::Check;
using simulation::Choose;

void Live(bool async, bool shared, bool faults, bool stands_by) {
  ControllerLife::Options options;
  options.async = async;
  options.shared = shared;
  options.faults = faults;
  options.stands_by = stands_by;
  ControllerLife(options).Live();
}

const AddScenario sync_life("controller", "a Controller with workers",
                            [] { Live(false, false, false, false); });
const AddScenario async_life("async_controller",
                             "a Controller with completions",
                             [] { Live(true, false, false, false); });
const AddScenario sync_term("standby_controller",
                            "a Controller that leads at times",
                            [] { Live(false, false, false, true); });
const AddScenario async_term("standby_async_controller",
                             "the same with completions",
                             [] { Live(true, false, false, true); });
const AddScenario sync_shared(
    "shared_controller", "a Controller of a SharedQueue",
    [] { Live(false, true, false, false); }, /*exact_time=*/true);
const AddScenario async_shared(
    "shared_async_controller", "the same with completions",
    [] { Live(true, true, false, false); }, /*exact_time=*/true);
const AddScenario sync_faults(
    "faulty_controller", "a Controller of a SharedQueue with faults",
    [] { Live(false, true, true, false); }, /*exact_time=*/true);
const AddScenario async_faults(
    "faulty_async_controller", "the same with completions",
    [] { Live(true, true, true, false); }, /*exact_time=*/true);
const AddScenario sync_shared_term(
    "standby_shared_controller",
    "a Controller of a SharedQueue that leads at times",
    [] { Live(false, true, false, true); }, /*exact_time=*/true);
const AddScenario async_shared_term(
    "standby_shared_async_controller", "the same with completions",
    [] { Live(true, true, false, true); }, /*exact_time=*/true);

// The callback of a start or of a stop may destroy the controller.
const AddScenario ended(
    "controller_end", "a Controller that a callback destroys", [] {
      using Key = std::string;
      const bool asynchronous = OneIn(2);
      const std::unique_ptr<Executor> executor = AnyExecutor();
      // Where a program sleeps that drives the loop.
      const std::unique_ptr<Parker> poll =
          asynchronous && OneIn(2)
              ? Clock::GetRealClock()->NewParker(Parker::Role::kCaller)
              : nullptr;
      const auto loop =
          poll == nullptr
              ? std::make_shared<WaitingLoop>(Clock::GetRealClock())
              : std::make_shared<WaitingLoop>(Clock::GetRealClock(),
                                              [&poll] { poll->Unpark(); });
      // A destructor on the loop that the program drives must not wait.
      const bool start_destroys = poll == nullptr && OneIn(2);
      const bool source_stops = OneIn(2);
      std::unique_ptr<Controller<Key>> owned;
      Controller<Key>* controller = nullptr;
      int started = 0;
      int stops = 0;
      int stopped = 0;
      bool gone = false;
      const auto destroy = [&] {
        owned.reset();
        gone = true;
      };
      const auto stop = [&] {
        ++stops;
        const absl::Status begun = controller->StopAsync(
            OneIn(2) ? absl::InfiniteDuration() : absl::ZeroDuration(),
            [&](bool) {
              ++stopped;
              if (!start_destroys) destroy();
            });
        Check(begun.ok(), begun.message());
      };
      ControllerOptions<Key> options;
      options.clock = loop;
      if (asynchronous) {
        options.executor = executor.get();
        options.reconcile_async = [](const Key&, const AsyncReconcileContext&,
                                     ReconcileCompletion done) {
          done(absl::OkStatus());
        };
      } else {
        options.workers = 1 + Choose(2);
        options.reconcile = [](const Key&) { return absl::OkStatus(); };
      }
      Source<Key> source;
      source.name = "source";
      source.wait_for_sync = start_destroys;
      source.run = [&](SourceContext<Key>& context) {
        context.queue.Add("a");
        // The stop waits for the start, which it ends.
        if (start_destroys && source_stops) stop();
        return absl::OkStatus();
      };
      options.sources.push_back(std::move(source));
      owned = *Controller<Key>::Create(std::move(options));
      controller = owned.get();
      const absl::Status begun =
          controller->StartAsync([&](const absl::Status&) {
            ++started;
            if (start_destroys) destroy();
          });
      Check(begun.ok(), begun.message());
      if (!start_destroys) stop();
      while (!gone) {
        if (poll == nullptr) {
          sync::Yield();
        } else {
          const absl::Time next = loop->RunDue();
          if (!gone) poll->ParkUntil(next);
        }
      }
      Check(started == 1 && stopped == stops,
            "a callback is not called, or twice");
    });

// Processes with an elector and a controller each, of which the leader's
// reconciles. Some stop, and the engine of the election may not answer.
class LedControllers {
 public:
  explicit LedControllers(bool faults) : faults_(faults) {}

  void Live() {
    for (int i = 1 + Choose(2); i > 0; --i) Make();
    {
      Threads others;
      for (Process& it : processes_) {
        others.Start([this, &it] {
          Check(it.elector->Start().ok(), "an elector does not start");
          Check(it.controller->Start().ok(), "a controller does not start");
          it.starts = true;
          for (int n = 1 + Choose(2); n > 0; --n) Add(it);
        });
      }
      if (faults_) {
        others.Start([this] {
          MemoryEngine::Faults away;
          away.away = true;
          engine_.SetFaults(away, OneIn(2) ? "" : "e0");
          simulation::Sleep(absl::Seconds(Choose(3) * 10));
          engine_.SetFaults({});
        });
      }
    }
    for (int n = 1 + Choose(4); n > 0; --n) {
      AtRest([this] { CheckRest(); });
      switch (Choose(3)) {
        case 0:
          Add(AnyProcess());
          break;
        case 1:
          AnyProcess().elector->Stop();
          break;
        default:
          simulation::Sleep(absl::Seconds(Choose(3) * 10));
      }
    }
    AtRest([this] { CheckRest(); });
    for (Process& it : processes_) {
      if (OneIn(2)) it.controller->Stop(absl::Seconds(1));
    }
    for (Process& it : processes_) it.controller.reset();
    processes_.clear();
  }

 private:
  using Key = std::string;

  struct Process {
    std::unique_ptr<LeaderElector> elector;
    std::unique_ptr<Controller<Key>> controller;
    std::list<const ReconcileContext*> running;
    bool starts = false;
  };

  void Make() {
    const std::string name = absl::StrCat("e", processes_.size());
    Process& it = processes_.emplace_back();
    LeaderElectorOptions election;
    election.name = "e";
    election.identity = name;
    election.engine = &engine_;
    it.elector = *LeaderElector::Create(std::move(election));
    ControllerOptions<Key> options;
    options.workers = 1 + Choose(2);
    options.reconcile = [&it](const Key&, const ReconcileContext& context) {
      const auto self = it.running.insert(it.running.end(), &context);
      if (OneIn(3)) simulation::Sleep(absl::Seconds(1 + 20 * Choose(2)));
      it.running.erase(self);
      return absl::OkStatus();
    };
    options.sources.push_back(MakeLeaderElectionSource<Key>(*it.elector));
    it.controller = *Controller<Key>::Create(std::move(options));
  }

  Process& AnyProcess() {
    return *std::next(processes_.begin(),
                      Choose(static_cast<int>(processes_.size())));
  }

  void Add(Process& it) {
    it.controller->queue().Add(
        std::string(1, static_cast<char>('a' + Choose(3))));
  }

  void CheckRest() {
    int leading = 0;  // that reconcile in a term
    for (Process& it : processes_) {
      bool leads = false;
      for (const ReconcileContext* context : it.running) {
        leads |= !context->Lost();
      }
      leading += leads;
      if (!it.starts || !it.elector->IsLeader()) continue;
      const size_t workers = it.controller->max_concurrent_reconciles();
      Check(it.running.size() == workers || it.controller->queue().Len() == 0,
            "a leader does not reconcile");
    }
    Check(leading <= 1, "two processes reconcile");
  }

  const bool faults_;
  MemoryEngine engine_{nullptr};
  std::list<Process> processes_;
};

const AddScenario led(
    "led_controller", "Controllers of which the leader's reconciles",
    [] { LedControllers(false).Live(); }, /*exact_time=*/true);
const AddScenario faulty_led(
    "faulty_led_controller", "the same with faults",
    [] { LedControllers(true).Live(); }, /*exact_time=*/true);

}  // namespace
}  // namespace workqueue
