// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Elections: several electors on an engine whose requests and answers come
// late or never, with clocks that differ.
//
// At each rest, one elector at most leads, and its term is the newest. The
// callbacks of each come in their order. When the faults are over, somebody
// leads in the end, and after a release at once.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "test/simulation/any_executor.h"
#include "test/simulation/scenario.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/leader_election/leader_election_source.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/shared/testing/memory_engine.h"

namespace workqueue {
namespace {

using simulation::AtRest;
using simulation::Check;
using simulation::Choose;

// The real clock, which says another time.
class OffsetClock final : public Clock {
 public:
  explicit OffsetClock(absl::Duration offset) : offset_(offset) {}

  absl::Time TimeNow() override { return real().TimeNow() + offset_; }
  void Sleep(absl::Duration d) override { real().Sleep(d); }
  void SleepUntil(absl::Time wakeup_time) override {
    real().SleepUntil(wakeup_time - offset_);
  }
  bool AwaitWithDeadline(sync::Mutex* mu, const absl::Condition& cond,
                         absl::Time deadline) override {
    return real().AwaitWithDeadline(mu, cond, deadline - offset_);
  }

 private:
  static Clock& real() { return *Clock::GetRealClock(); }

  const absl::Duration offset_;
};

class ElectionLife {
 public:
  explicit ElectionLife(bool faults) : faults_(faults) {}

  void Live() {
    for (int i = 2 + Choose(2); i > 0; --i) Make();
    {
      Threads others;
      for (Process& it : processes_) {
        others.Start([&it] {
          Check(it.elector->Start().ok() || it.stopping, "it does not start");
        });
      }
      for (int i = Choose(2); i > 0; --i) others.Start([this] { StopOne(); });
      if (faults_) {
        others.Start([this] {
          for (int n = 1 + Choose(2); n > 0; --n) Break();
          engine_.SetFaults({});
        });
      } else {
        AtRest([this] { CheckRest(); });
      }
    }
    AwaitLeader();
    for (int n = Choose(4); n > 0; --n) {
      switch (Choose(3)) {
        case 0:
          Release();
          break;
        case 1:
          simulation::Sleep(absl::Seconds(1 + 9 * Choose(2)));
          break;
        default:
          if (faults_) {
            Break();
            engine_.SetFaults({});
          }
          break;
      }
      AtRest([this] { CheckRest(); });
    }
    AwaitLeader();
    processes_.clear();  // some of them lead
  }

 private:
  struct Process {
    std::string name;
    std::unique_ptr<Clock> clock;
    std::unique_ptr<LeaderElector> elector;
    std::string told;  // the last leader
    bool told_self = false;
    bool in_term = false;
    bool leads = false;  // on_started_leading has not returned
    bool stopping = false;
    bool stopped = false;
    bool ends = false;    // after its first term
    bool pauses = false;  // after a term that threw
    bool threw = false;   // in this term
    int64_t token = 0;    // of the last term
  };

  void Make() {
    Process& it = processes_.emplace_back();
    it.name = absl::StrCat("e", processes_.size() - 1);
    if (OneIn(2)) {
      it.clock =
          std::make_unique<OffsetClock>(absl::Seconds(100) * (1 + Choose(3)));
    }
    LeaderElectorOptions options;
    options.name = "e";
    options.identity = it.name;
    options.engine = &engine_;
    options.clock = it.clock.get();
    options.release_on_stop = releases_;
    options.run_again = !OneIn(4);
    it.ends = !options.run_again;
    const int kind = Choose(5);
    options.on_started_leading = [this, &it, kind](const Leadership& term) {
      Check(!it.in_term, "two terms of an elector at a time");
      Check(it.told_self, "a leader is not told of itself");
      Check(term.token() > it.token, "the tokens do not grow");
      Check(tokens_.insert(term.token()).second, "two terms have one token");
      it.in_term = it.leads = true;
      it.threw = false;
      it.token = term.token();
      Note(it.name, " leads with ", it.token);
      switch (kind) {
        case 1:
          term.Sleep(absl::Seconds(3));
          break;
        case 2:
          term.Sleep(absl::Seconds(1));
          if (OneIn(3)) {
            it.leads = false;
            it.pauses = it.threw = true;
            throw std::runtime_error("thrown");
          }
          term.WaitUntilStopping();
          break;
        case 3:
          if (OneIn(3)) {
            it.stopping = true;
            it.elector->Stop();
          }
          term.WaitUntilStopping();
          break;
        case 4:
          term.WaitUntilStopping();
          simulation::Sleep(absl::Seconds(2));
          break;
        default:
          term.WaitUntilStopping();
          Check(term.Stopping(), "a wait for the end of a term ends early");
          break;
      }
      it.leads = false;
    };
    options.on_stopped_leading = [&it] {
      Check(it.in_term && !it.leads, "the callbacks come in a wrong order");
      Note(it.name, " leads no more");
      it.in_term = false;
    };
    options.on_new_leader = [&it](const std::string& leader) {
      Check(leader != it.told, "the same leader is told again");
      it.told = leader;
      it.told_self |= leader == it.name;
    };
    auto made = LeaderElector::Create(std::move(options));
    Check(made.ok(), made.status().message());
    it.elector = *std::move(made);
  }

  void Stop(Process& it) {
    it.stopping = true;
    it.elector->Stop();
    Check(!it.in_term, "a term goes on after the stop");
    Check(!it.elector->IsLeader(), "it leads after the stop");
    it.stopped = true;
  }

  void StopOne() {
    Stop(*std::next(processes_.begin(),
                    Choose(static_cast<int>(processes_.size()))));
  }

  // The leader stops. Another one leads without a wait, if nothing is wrong.
  void Release() {
    for (Process& it : processes_) {
      if (!it.elector->IsLeader()) continue;
      Stop(it);
      break;
    }
    if (faults_ || !releases_) return;
    AtRest([this] {
      CheckRest();
      Check(leader_ != nullptr || CandidatesAre(false) || OnePauses(),
            "nobody leads after a release");
    });
  }

  bool OnePauses() const {
    bool found = false;
    // Or its function has not seen the end of its term.
    for (const Process& it : processes_) found |= it.pauses || it.in_term;
    return found;
  }

  bool CandidatesAre(bool any) const {
    bool found = false;
    for (const Process& it : processes_) found |= !it.stopping && !it.ends;
    return found == any;
  }

  void Break() {
    MemoryEngine::Faults faults;
    switch (Choose(5)) {
      case 0:
        faults.away = true;
        break;
      case 1:
        faults.loses_answers = true;
        break;
      case 2:
        faults.loses_requests = true;
        break;
      case 3:
        faults.request_delay = absl::Seconds(Choose(3) * 4);
        faults.answer_delay = absl::Seconds(Choose(3) * 4);
        break;
      default:
        engine_.Restart();
        return;
    }
    const std::string whose = OneIn(3) ? "" : absl::StrCat("e", Choose(3));
    engine_.SetFaults(faults, whose);
    for (int seconds = 1 + 6 * Choose(4); seconds > 0; --seconds) {
      simulation::Sleep(absl::Seconds(1));
      AtRest([this] { CheckRest(); });
    }
    if (OneIn(2)) engine_.SetFaults({}, whose);
  }

  void CheckRest() {
    leader_ = nullptr;
    for (Process& it : processes_) {
      if (!it.elector->IsLeader()) continue;
      Check(leader_ == nullptr, "two lead at a time");
      Check(!it.threw, "a leader whose function has failed leads");
      leader_ = &it;
      const int64_t token = it.elector->token();
      Check(token > 0, "a leader has no token");
      Check(tokens_.empty() || token >= *tokens_.rbegin(),
            "the leader's term is not the newest");
    }
  }

  // Somebody leads, or will when leases have ended and terms are over.
  void AwaitLeader() {
    for (int tries = 30;; simulation::Sleep(absl::Seconds(5))) {
      AtRest([this] { CheckRest(); });
      if (leader_ != nullptr || CandidatesAre(false)) return;
      Check(--tries > 0, "nobody leads");
    }
  }

  const bool faults_;
  const bool releases_ = !OneIn(3);
  MemoryEngine engine_{nullptr};
  std::list<Process> processes_;
  std::set<int64_t> tokens_;
  Process* leader_ = nullptr;
};

// Processes whose controllers reconcile while their electors lead. At each
// rest, one process at most reconciles and does not know of the loss of its
// term, and a leader reconciles what is queued.
class StandbyLife {
 public:
  void Live() {
    for (int i = 0; i < 2; ++i) Make();
    {
      Threads others;
      for (Process& it : processes_) {
        others.Start([&it] {
          Check(it.elector->Start().ok() && it.controller->Start().ok(),
                "it does not start");
        });
      }
    }
    for (int n = Choose(6); n > 0; --n) {
      switch (Choose(3)) {
        case 0:
          Add();
          break;
        case 1:
          simulation::Sleep(absl::Seconds(1 + 9 * Choose(2)));
          break;
        default:
          Break();
          break;
      }
      AtRest([this] { CheckRest(); });
    }
    engine_.SetFaults({});
    Add();
    for (Process& it : processes_) {
      AwaitDone();
      it.controller->Stop();
      Check(it.running == 0, "a reconciliation goes on after the stop");
      it.elector->Stop();
      it.stopped = true;
    }
    completers_.Join();
    processes_.clear();
  }

 private:
  struct Process {
    std::unique_ptr<LeaderElector> elector;
    std::unique_ptr<Controller<std::string>> controller;
    size_t workers = 1;
    size_t running = 0;
    int64_t token = 0;   // of the last reconciliation
    int64_t begun = -1;  // the event of its begin
    int64_t added = -1;  // the event of the last add
    bool stopped = false;
  };
  // A reconciliation.
  struct Run {
    Process* process;
    std::function<bool()> lost;
    bool tells = false;  // It must be told when it is lost.
    bool told = false;
  };

  void Make() {
    Process& it = processes_.emplace_back();
    LeaderElectorOptions election;
    election.name = "e";
    election.identity = absl::StrCat("e", processes_.size() - 1);
    election.engine = &engine_;
    auto elector = LeaderElector::Create(std::move(election));
    Check(elector.ok(), elector.status().message());
    it.elector = *std::move(elector);
    ControllerOptions<std::string> options;
    options.workers = it.workers = 1 + Choose(2);
    options.sources.push_back(
        MakeLeaderElectionSource<std::string>(*it.elector));
    if (OneIn(2)) {
      options.max_in_flight = it.workers;
      options.reconcile_async = [this, &it](
                                    const std::string& /*key*/,
                                    const AsyncReconcileContext& context,
                                    const ReconcileCompletion& done) {
        const auto run = std::make_shared<Run>();
        run->process = &it;
        run->lost = [context] { return context.Lost(); };
        run->tells = true;
        context.OnCancel([run] { run->told = true; });
        completers_.Start([this, run, token = context.token(), done] {
          Reconcile(*run, token);
          done(absl::OkStatus());
        });
      };
    } else {
      options.reconcile = [this, &it](const std::string& /*key*/,
                                      const ReconcileContext& context) {
        Run run;
        run.process = &it;
        run.lost = [&context] { return context.Lost(); };
        Reconcile(run, context.token);
        return absl::OkStatus();
      };
    }
    auto controller = Controller<std::string>::Create(std::move(options));
    Check(controller.ok(), controller.status().message());
    it.controller = *std::move(controller);
  }

  void Reconcile(Run& run, int64_t token) {
    Process& it = *run.process;
    Check(token > 0, "a reconciliation has no token");
    Check(token >= it.token, "a reconciliation has an earlier term");
    Check(leaders_.try_emplace(token, &it).first->second == &it,
          "two processes have a term");
    it.token = token;
    it.begun = simulation::NextEvent();
    ++it.running;
    const auto place = runs_.insert(runs_.end(), &run);
    for (int n = Choose(2) * Choose(12); n > 0; --n) {
      simulation::Sleep(absl::Seconds(2));
    }
    runs_.erase(place);
    --it.running;
  }

  void Add() {
    for (Process& it : processes_) {
      if (it.stopped) continue;
      it.added = simulation::NextEvent();
      it.controller->queue().Add(OneIn(2) ? "b" : "a");
    }
  }

  void Break() {
    MemoryEngine::Faults faults;
    switch (Choose(4)) {
      case 0:
        faults.away = true;
        break;
      case 1:
        faults.loses_answers = true;
        break;
      case 2:
        slow_ = true;
        faults.request_delay = faults.answer_delay =
            absl::Seconds(1 + 6 * Choose(2));
        break;
      default:
        engine_.Restart();
        break;
    }
    engine_.SetFaults(faults, OneIn(3) ? "" : absl::StrCat("e", Choose(2)));
    for (int n = 1 + 8 * Choose(3); n > 0; --n) {
      simulation::Sleep(absl::Seconds(1));
      AtRest([this] { CheckRest(); });
    }
    if (OneIn(2)) engine_.SetFaults({});
  }

  void CheckRest() {
    const Process* active = nullptr;
    for (Run* run : runs_) {
      if (run->lost()) {
        // This engine does not end a slow request at its deadline.
        Check(run->told || !run->tells || slow_,
              "nobody is told of a lost term");
        continue;
      }
      Check(active == nullptr || active == run->process,
            "two processes reconcile");
      active = run->process;
    }
    for (const Process& it : processes_) {
      if (it.stopped || !it.elector->IsLeader()) continue;
      Check(active == nullptr || active == &it, "another process reconciles");
      Check(it.controller->queue().Len() == 0 || it.running >= it.workers,
            "a worker waits although its process leads");
    }
  }

  // Somebody leads, and has reconciled what was added.
  void AwaitDone() {
    for (int tries = 60;; simulation::Sleep(absl::Seconds(2))) {
      bool done = false;
      AtRest([&] {
        CheckRest();
        for (const Process& it : processes_) {
          done |= !it.stopped && it.elector->IsLeader() && it.begun > it.added;
        }
      });
      if (done) break;
      Check(--tries > 0, "nobody reconciles");
    }
  }

  MemoryEngine engine_{nullptr};
  std::list<Process> processes_;
  std::list<Run*> runs_;
  std::map<int64_t, Process*> leaders_;  // by the token
  bool slow_ = false;                    // Requests are, or were.
  Threads completers_;
};

// The engine answers a leader late, and then not at all. Another one leads when
// the first one knows that it does so no longer, and its function has ended.
const AddScenario late(
    "late_election", "a leader that loses its lease",
    [] {
      MemoryEngine engine(nullptr);
      bool in_term = false;
      const bool sleeps = OneIn(2);
      const auto make = [&](const char* name) {
        LeaderElectorOptions options;
        options.name = "e";
        options.identity = name;
        options.engine = &engine;
        if (*name == 'a') {
          options.on_started_leading = [&](const Leadership& term) {
            Check(!term.Stopping(), "a term begins that is over");
            in_term = true;
            if (sleeps) {
              term.Sleep(absl::Hours(1));
            } else {
              term.WaitUntilStopping();
            }
            in_term = false;
          };
        }
        return *LeaderElector::Create(std::move(options));
      };
      const auto a = make("a"), b = make("b");
      MemoryEngine::Faults faults;
      if (OneIn(4)) {
        // It has the lease when that would be too old to lead.
        faults.answer_delay = absl::Seconds(12);
        engine.SetFaults(faults, "a");
        Check(a->Start().ok() && b->Start().ok(), "they do not start");
        simulation::Sleep(absl::Seconds(13));
        AtRest([&] {
          Check(b->IsLeader(), "a lease that comes too late is kept");
        });
        return;
      }
      Check(a->Start().ok(), "it does not start");
      AtRest([&] { Check(a->IsLeader(), "the only elector does not lead"); });
      Check(b->Start().ok(), "it does not start");
      // The last delay is longer than a term without a renewal.
      const int delay = Choose(4);
      const bool asks = OneIn(2);  // Who asks lets the elector see the time.
      const auto check = [&] {
        Check(!in_term || !b->IsLeader(), "two lead at a time");
        Check(!asks || a->IsLeader() == in_term, "it does not see the end");
        Check(delay < 3 || simulation::Now() <= absl::Seconds(12) || !in_term,
              "a function does not see the end of its term");
      };
      const auto pass = [&](int seconds) {
        for (; seconds > 0; --seconds) {
          simulation::Sleep(absl::Seconds(1));
          AtRest(check);
        }
      };
      faults.answer_delay = absl::Seconds(delay == 3 ? 20 : 4 * delay);
      engine.SetFaults(faults, "a");
      pass(Choose(16));
      faults.answer_delay = absl::ZeroDuration();
      (OneIn(2) ? faults.away : faults.loses_requests) = true;
      engine.SetFaults(faults, "a");
      pass(30);
      Check(b->IsLeader(), "nobody leads");
      engine.SetFaults({});
      pass(5);
      const absl::Duration before = simulation::Now();
      a->Stop();
      b->Stop();
      Check(simulation::Now() == before, "a stop waits for time to pass");
    },
    /*exact_time=*/true);

const AddScenario standby("standby_election",
                          "Controllers that reconcile while they lead",
                          [] { StandbyLife().Live(); });
const AddScenario election("election", "LeaderElectors that start and stop",
                           [] { ElectionLife(false).Live(); });
const AddScenario faulty("faulty_election",
                         "the same with faults of the engine",
                         [] { ElectionLife(true).Live(); });

}  // namespace
}  // namespace workqueue
