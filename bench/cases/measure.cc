// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/cases/measure.h"

#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace workqueue {
namespace {

// The activity of all threads of this process since their start.
struct Activity {
  static Activity Now() {
    Activity sum;
    for (const auto& thread :
         std::filesystem::directory_iterator("/proc/self/task")) {
      int64_t ns = 0;
      std::ifstream(thread.path() / "schedstat") >> ns;
      sum.cpu += absl::Nanoseconds(ns);

      std::ifstream status(thread.path() / "status");
      std::string word;
      while (status >> word && word != "voluntary_ctxt_switches:") {
      }
      int64_t switches = 0;
      status >> switches;
      sum.wakeups += switches;
    }
    return sum;
  }

  int64_t wakeups = 0;  // voluntary context switches
  absl::Duration cpu;
};

absl::Duration TimeOf(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return absl::DurationFromTimespec(time);
}

}  // namespace

void Report(absl::string_view name, double value, absl::string_view unit) {
  absl::PrintF("%s\t%.1f\t%s\n", name, value, unit);
  std::fflush(stdout);
}

absl::Duration ThreadCpuTime() { return TimeOf(CLOCK_THREAD_CPUTIME_ID); }
absl::Duration ProcessCpuTime() { return TimeOf(CLOCK_PROCESS_CPUTIME_ID); }

double ResidentBytes() {
  malloc_trim(0);
  double total = 0;
  double resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

void ReportIdle(absl::Duration time) {
  absl::SleepFor(absl::Seconds(1));  // until the work of starting has ended
  const Activity before = Activity::Now();
  absl::SleepFor(time);
  const Activity after = Activity::Now();
  const double minutes = absl::ToDoubleMinutes(time);
  Report("idle_wakeups", (after.wakeups - before.wakeups) / minutes, "1/min");
  Report("idle_cpu",
         absl::ToDoubleMicroseconds(after.cpu - before.cpu) / minutes,
         "us/min");
}

}  // namespace workqueue
