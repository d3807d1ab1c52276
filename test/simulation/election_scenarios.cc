// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Elections: several electors on an engine whose requests and answers come
// late or never, with clocks that differ.
//
// At each rest, one elector at most leads, and its term is the newest. The
// callbacks of each come in their order. When the faults are over, somebody
// leads in the end, and after a release at once.

#include <cstdint>
#include <iterator>
#include <list>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "test/simulation/any_executor.h"
#include "test/simulation/scenario.h"
#include "workqueue/clock/clock.h"
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
    const int kind = Choose(4);
    options.on_started_leading = [this, &it, kind](const Leadership& term) {
      Check(!it.in_term, "two terms of an elector at a time");
      Check(it.told_self, "a leader is not told of itself");
      Check(term.token() > it.token, "the tokens do not grow");
      Check(tokens_.insert(term.token()).second, "two terms have one token");
      it.in_term = it.leads = true;
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
            it.pauses = true;
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
    for (const Process& it : processes_) found |= it.pauses;
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

const AddScenario election("election", "LeaderElectors that start and stop",
                           [] { ElectionLife(false).Live(); });
const AddScenario faulty("faulty_election",
                         "the same with faults of the engine",
                         [] { ElectionLife(true).Live(); });

}  // namespace
}  // namespace workqueue
