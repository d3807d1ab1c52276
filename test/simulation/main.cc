// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs scenarios in many schedules: see README.md.

#include <sys/personality.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "test/simulation/scenario.h"
#include "workqueue/clock/clock.h"
#include "workqueue/simulation/simulation.h"

namespace workqueue {
namespace {

constexpr char kUsage[] =
    R"(usage: %s [--scenario=NAME,...] [--schedules=N] [--seconds=S] [--seed=N]
  [--strategy=mixed|uniform|random|pct|exhaustive] [--depth=N] [--preemptions=N]
  [--time_passes=BOOL] [--spurious_wake_ups=BOOL] [--store_buffers=BOOL]
  [--trace=TRACE] [--shrink=BOOL] [--steps] [--list]
Without --scenario, runs all. --seconds and --schedules are for each of them.
--steps prints the steps of each schedule.
)";

bool ParseStrategy(absl::string_view text, simulation::Strategy* strategy) {
  using simulation::Strategy;
  for (const auto& [name, value] :
       {std::pair<absl::string_view, Strategy>{"mixed", Strategy::kMixed},
        {"uniform", Strategy::kUniform},
        {"random", Strategy::kRandom},
        {"pct", Strategy::kPct},
        {"exhaustive", Strategy::kExhaustive}}) {
    if (text == name) {
      *strategy = value;
      return true;
    }
  }
  return false;
}

int Main(int argc, char** argv) {
  // Addresses are the same in each run: hash tables depend on them.
  const int persona = personality(0xffffffff);
  if (persona != -1 && (persona & ADDR_NO_RANDOMIZE) == 0 &&
      personality(persona | ADDR_NO_RANDOMIZE) != -1) {
    execv("/proc/self/exe", argv);
  }
  simulation::Options options;
  std::string chosen;
  std::optional<bool> time_passes;
  std::optional<bool> spurious_wake_ups;
  for (int i = 1; i < argc; ++i) {
    const std::pair<absl::string_view, absl::string_view> flag =
        absl::StrSplit(argv[i], absl::MaxSplits('=', 1));
    const auto [name, value] = flag;
    double seconds = 0;
    bool good = true;
    if (name == "--scenario") {
      chosen = std::string(value);
    } else if (name == "--schedules") {
      good = absl::SimpleAtoi(value, &options.schedules);
    } else if (name == "--seconds") {
      good = absl::SimpleAtod(value, &seconds);
      options.duration = absl::Seconds(seconds);
      options.schedules = UINT64_MAX;
    } else if (name == "--seed") {
      good = absl::SimpleAtoi(value, &options.seed);
    } else if (name == "--strategy") {
      good = ParseStrategy(value, &options.strategy);
    } else if (name == "--depth") {
      good = absl::SimpleAtoi(value, &options.depth);
    } else if (name == "--preemptions") {
      good = absl::SimpleAtoi(value, &options.preemptions);
    } else if (name == "--time_passes") {
      time_passes.emplace();
      good = absl::SimpleAtob(value, &*time_passes);
    } else if (name == "--spurious_wake_ups") {
      spurious_wake_ups.emplace();
      good = absl::SimpleAtob(value, &*spurious_wake_ups);
    } else if (name == "--store_buffers") {
      good = absl::SimpleAtob(value, &options.store_buffers);
    } else if (name == "--shrink") {
      good = absl::SimpleAtob(value, &options.shrink);
    } else if (name == "--steps") {
      options.report_steps = true;
      prints_notes = true;
    } else if (name == "--trace") {
      options.trace = std::string(value);
    } else if (name == "--list") {
      for (const Scenario& it : Scenarios()) {
        printf("%s: %s\n", it.name, it.what);
      }
      return 0;
    } else {
      good = false;
    }
    if (!good) {
      fprintf(stderr, "wrong: %s\n", argv[i]);
      fprintf(stderr, kUsage, argv[0]);
      return 2;
    }
  }
  // Before the first schedule, so that none makes it.
  Clock::GetRealClock();
  int found = 0;
  for (const Scenario& it : Scenarios()) {
    bool is_chosen = chosen.empty();
    for (absl::string_view name : absl::StrSplit(chosen, ',')) {
      is_chosen = is_chosen || name == it.name;
    }
    if (!is_chosen) continue;
    ++found;
    options.time_passes = time_passes.value_or(!it.exact_time);
    options.spurious_wake_ups =
        spurious_wake_ups.value_or(it.spurious_wake_ups);
    // A shared queue asks its engine again and again while it is away.
    options.max_steps = 500000;
    const simulation::Result result = simulation::Explore(options, it.run);
    const double seconds = absl::ToDoubleSeconds(result.time);
    printf(
        "%s: %llu schedules in %.1f s (%.0f per s), of %.0f steps and %.0f "
        "switches%s, hash %016llx\n",
        it.name,
        static_cast<unsigned long long>(  // NOLINT(runtime/int)
            result.schedules),
        seconds, result.schedules / seconds,
        static_cast<double>(result.steps) / result.schedules,
        static_cast<double>(result.switches) / result.schedules,
        result.complete ? ": all of them" : "",
        static_cast<unsigned long long>(result.hash));  // NOLINT(runtime/int)
    if (result.failed) {
      printf(
          "%s FAILS with seed %llu\n", it.name,
          static_cast<unsigned long long>(result.seed));  // NOLINT(runtime/int)
    }
    if (!result.report.empty()) puts(result.report.c_str());
    if (result.failed) return 1;
    fflush(stdout);
  }
  if (found == 0) {
    fprintf(stderr, "no scenario %s\n", chosen.c_str());
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace workqueue

int main(int argc, char** argv) { return workqueue::Main(argc, argv); }
