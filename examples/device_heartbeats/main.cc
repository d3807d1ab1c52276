// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A simulated fleet of devices, each of which sends a heartbeat once per
// period, and a watchdog that finds the devices that have fallen silent. The
// program runs in real time.
//
// Continue reading in
//
//     watchdog.h   the delay queue, and how the watchdog uses it
//     fleet.cc     the devices, which are tasks of a scheduler
//     report.cc    which devices the watchdog should have found

#include <getopt.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "examples/command_line.h"
#include "examples/device_heartbeats/fleet.h"
#include "examples/device_heartbeats/report.h"
#include "workqueue/clock/clock.h"

namespace device_heartbeats {
namespace {

constexpr char kUsage[] = R"(usage: device_heartbeats [flags]

Simulates many devices that send heartbeats. One in a thousand devices falls
silent. A watchdog finds the missing devices.

  --devices N    number of devices, 1 to 1000000 (default: 300000)
  --workers N    number of threads that send heartbeats, 1 to 1024 (default: 4)
  --period D     time between two heartbeats of a device (default: 3s)
  --timeout D    time without a heartbeat after which a device is missing; must
                 be longer than the period (default: 5s)
  --duration D   time to watch; must be at least the period plus one and a half
                 timeouts (default: 12s)
  --seed N       seed of the random choices, 0 to 1000000 (default: 1)
  --help         print this text and exit

Exit status: 0 if every device that stayed silent was found and no device was
found before its timeout, 1 if not, 2 if a flag is wrong.
)";

absl::Duration Rounded(absl::Duration d) {
  return absl::Trunc(d, absl::Microseconds(100));
}

// Returns the CPU time that all threads of this process have used.
absl::Duration CpuTime() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return absl::DurationFromTimeval(usage.ru_utime) +
         absl::DurationFromTimeval(usage.ru_stime);
}

// Blocks until `end` and prints the progress. On a terminal, the progress stays
// on one line.
void Watch(const Fleet& fleet, absl::Time end, workqueue::Clock* clock) {
  const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  const absl::Duration step =
      is_terminal ? absl::Seconds(0.5) : absl::Seconds(3);
  for (absl::Time now = clock->TimeNow(); now < end; now = clock->TimeNow()) {
    clock->SleepUntil(std::min(end, now + step));
    absl::PrintF("%s%d heartbeats, %d devices missing%s",
                 is_terminal ? "\r" : "", fleet.heartbeats(), fleet.missing(),
                 is_terminal ? "\033[K" : "\n");
    std::fflush(stdout);
  }
  if (is_terminal) absl::PrintF("\n");
}

int Run(const FleetOptions& options) {
  const absl::Time start = options.clock->TimeNow();
  const absl::StatusOr<std::unique_ptr<Fleet>> fleet = Fleet::Start(options);
  if (!fleet.ok()) {
    absl::FPrintF(stderr, "device_heartbeats: %s\n", fleet.status().message());
    return 1;
  }
  Watch(**fleet, options.clock->TimeNow() + options.duration, options.clock);
  const Record record = (*fleet)->Stop();
  const absl::Duration took = record.watched_until - start;
  const absl::Duration cpu_time = CpuTime();
  const Report report = Examine(record, options.timeout);

  absl::PrintF(
      "%d devices sent %d heartbeats, %.0f per second\n"
      "%d fell silent: %d found missing, at most %s late; %d came back\n"
      "%s of CPU time in %s\n",
      record.devices.size(), (*fleet)->heartbeats(),
      (*fleet)->heartbeats() / absl::ToDoubleSeconds(took), report.silent,
      report.found, absl::FormatDuration(Rounded(report.max_lateness)),
      report.came_back, absl::FormatDuration(Rounded(cpu_time)),
      absl::FormatDuration(Rounded(took)));
  if (report.false_alarms + report.overlooked > 0) {
    absl::PrintF(
        "The machine was too busy: %d alarms were false because a heartbeat "
        "was sent too\nlate, and %d devices came back before they were found\n",
        report.false_alarms, report.overlooked);
  }
  if (report.errors.empty()) return 0;
  absl::PrintF("WRONG: %d\n", report.errors.size());
  for (const std::string& each : report.errors) absl::PrintF("  %s\n", each);
  return 1;
}

absl::Status ParseFlags(int argc, char* argv[], FleetOptions* options,
                        bool* help) {
  enum Id {
    kHelp = examples::kHelp,
    kDevices,
    kWorkers,
    kPeriod,
    kTimeout,
    kDuration,
    kSeed
  };
  constexpr struct option kOptions[] = {
      {"help", no_argument, nullptr, kHelp},
      {"devices", required_argument, nullptr, kDevices},
      {"workers", required_argument, nullptr, kWorkers},
      {"period", required_argument, nullptr, kPeriod},
      {"timeout", required_argument, nullptr, kTimeout},
      {"duration", required_argument, nullptr, kDuration},
      {"seed", required_argument, nullptr, kSeed},
      {nullptr, 0, nullptr, 0},
  };
  const auto set = [&](int id, absl::string_view value) {
    using examples::ParseInt;
    using examples::ParsePeriod;
    switch (id) {
      case kDevices:
        return ParseInt("--devices", value, 1, 1000000, &options->devices);
      case kWorkers:
        return ParseInt("--workers", value, 1, 1024, &options->workers);
      case kPeriod:
        return ParsePeriod("--period", value, &options->period);
      case kTimeout:
        return ParsePeriod("--timeout", value, &options->timeout);
      case kDuration:
        return ParsePeriod("--duration", value, &options->duration);
      case kSeed:
        return ParseInt("--seed", value, 0, 1000000, &options->seed);
    }
    *help = true;
    return absl::OkStatus();
  };
  absl::Status status = examples::ParseCommandLine(argc, argv, kOptions, set);
  if (!status.ok() || *help) return status;
  if (options->timeout <= options->period) {
    return examples::BadOption("--timeout",
                               absl::FormatDuration(options->timeout),
                               "must be longer than --period");
  }
  if (options->duration < options->period + 1.5 * options->timeout) {
    return examples::BadOption(
        "--duration", absl::FormatDuration(options->duration),
        "must be at least --period plus one and a half times --timeout");
  }
  return absl::OkStatus();
}

int Main(int argc, char* argv[]) {
  FleetOptions options;
  bool help = false;
  const absl::Status status = ParseFlags(argc, argv, &options, &help);
  if (!status.ok()) {
    absl::FPrintF(stderr, "device_heartbeats: %s\n", status.message());
    return 2;
  }
  if (help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  return Run(options);
}

}  // namespace
}  // namespace device_heartbeats

int main(int argc, char* argv[]) { return device_heartbeats::Main(argc, argv); }
