// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Elections in memory.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "test/simulation/scenario.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/shared/testing/memory_engine.h"

namespace workqueue {
namespace {

using simulation::AtRest;
using simulation::Check;
using simulation::Choose;

bool OneIn(int count) { return Choose(count) == count - 1; }

// Electors that come, are cut off and stop. No two lead at a time, the terms of
// a process have growing tokens, each term that begins ends, and somebody leads
// in the end.
const AddScenario election("election", "several LeaderElectors", [] {
  MemoryEngine engine(nullptr);
  struct Process {
    std::unique_ptr<LeaderElector> elector;
    bool in_term = false;
    int64_t token = 0;
  };
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 1 + Choose(3); i > 0; --i) {
    processes.push_back(std::make_unique<Process>());
    Process* const process = processes.back().get();
    LeaderElectorOptions options;
    options.name = "simulated";
    options.identity = absl::StrCat("process", i);
    options.engine = &engine;
    options.release_on_stop = !OneIn(3);
    options.on_started_leading = [process](const Leadership& it) {
      Check(!process->in_term, "a term begins in another one");
      process->in_term = true;
      Check(it.token() > process->token, "a term has an old token");
      process->token = it.token();
      if (OneIn(2)) {
        it.WaitUntilStopping();
      } else {
        it.Sleep(absl::Seconds(Choose(20)));
      }
    };
    options.on_stopped_leading = [process] {
      Check(process->in_term, "a term ends that has not begun");
      process->in_term = false;
    };
    process->elector = *LeaderElector::Create(std::move(options));
  }
  const auto check = [&](bool one_leads) {
    AtRest([&] {
      int leaders = 0;
      for (const auto& it : processes) leaders += it->elector->IsLeader();
      Check(leaders <= 1, "two lead at a time");
      if (one_leads && leaders == 0) one_leads = false;
    });
    return one_leads;
  };
  Threads threads;
  for (const auto& it : processes) {
    LeaderElector* const elector = it->elector.get();
    threads.Start([elector] { elector->Start().IgnoreError(); });
  }
  for (int n = Choose(4); n > 0; --n) {
    MemoryEngine::Faults faults;
    switch (Choose(4)) {
      case 0:
        faults.away = true;
        break;
      case 1:
        faults.loses_answers = true;
        break;
      case 2:
        faults.seed = 1 + Choose(50);
        break;
      default:
        break;
    }
    engine.SetFaults(faults, absl::StrCat("process", 1 + Choose(3)));
    simulation::Sleep(absl::Seconds(1 + Choose(15)));
    check(false);
    engine.SetFaults({});
  }
  threads.Join();
  bool led = false;
  for (int n = 0; n < 60 && !led; ++n) {
    simulation::Sleep(absl::Seconds(5));
    led = check(true);
  }
  Check(led, "nobody leads");
  for (const auto& it : processes) {
    if (OneIn(2)) it->elector->Stop();
  }
  for (const auto& it : processes) {
    it->elector.reset();
    Check(!it->in_term, "a term does not end");
  }
});

}  // namespace
}  // namespace workqueue
