// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/async_probe/options.h"

#include <getopt.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "examples/command_line.h"

namespace async_probe {
namespace {

constexpr char kUsage[] = R"( [flags]

Starts an HTTP server on this machine, and keeps many endpoints of it probed on
a few threads. Of 1000 requests, the server answers ten with an error, and one
never.

  --endpoints N   number of endpoints, 1 to 1000000 (default: 10000)
  --threads N     number of threads that probe, 1 to 1024 (default: 4)
  --in_flight N   maximum number of probes at the same time, 1 to 100000
                  (default: 2000)
  --seconds N     time to run, 1 to 86400 seconds (default: 10)
  --period D      time from an answer to the next probe of the endpoint
                  (default: 5s)
  --latency D     time from a request to its answer (default: 500ms)
  --timeout D     time after which a probe is cancelled; must be longer than the
                  latency (default: 2s)
  --help          print this text and exit

Exit status: 0 if the program ran to its end, 1 if not, 2 if a flag is wrong.
)";

// Makes sure that the process may have two sockets for each probe: the client's
// and the server's.
absl::Status AllowSockets(int in_flight) {
  const rlim_t needed = 2 * static_cast<rlim_t>(in_flight) + 100;
  struct rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= needed) return absl::OkStatus();
  limit.rlim_cur = std::min(needed, limit.rlim_max);
  if (limit.rlim_cur == needed && setrlimit(RLIMIT_NOFILE, &limit) == 0) {
    return absl::OkStatus();
  }
  return examples::BadOption(
      "--in_flight", absl::StrCat(in_flight),
      absl::StrCat("requires ", needed, " open files, but the limit is ",
                   limit.rlim_max, " (ulimit -Hn)"));
}

}  // namespace

void PrintUsage(const char* program) {
  std::printf("usage: %s%s", program, kUsage);
}

absl::Status ParseOptions(int argc, char* argv[], Options* options) {
  enum Id {
    kHelp = examples::kHelp,
    kEndpoints,
    kThreads,
    kInFlight,
    kSeconds,
    kPeriod,
    kLatency,
    kTimeout
  };
  constexpr struct option kOptions[] = {
      {"help", no_argument, nullptr, kHelp},
      {"endpoints", required_argument, nullptr, kEndpoints},
      {"threads", required_argument, nullptr, kThreads},
      {"in_flight", required_argument, nullptr, kInFlight},
      {"seconds", required_argument, nullptr, kSeconds},
      {"period", required_argument, nullptr, kPeriod},
      {"latency", required_argument, nullptr, kLatency},
      {"timeout", required_argument, nullptr, kTimeout},
      {nullptr, 0, nullptr, 0},
  };
  const auto set = [&](int id, absl::string_view value) {
    using examples::ParseInt;
    using examples::ParsePeriod;
    switch (id) {
      case kEndpoints:
        return ParseInt("--endpoints", value, 1, 1000000, &options->endpoints);
      case kThreads:
        return ParseInt("--threads", value, 1, 1024, &options->threads);
      case kInFlight:
        return ParseInt("--in_flight", value, 1, 100000, &options->in_flight);
      case kSeconds:
        return ParseInt("--seconds", value, 1, 86400, &options->seconds);
      case kPeriod:
        return ParsePeriod("--period", value, &options->period);
      case kLatency:
        return ParsePeriod("--latency", value, &options->latency);
      case kTimeout:
        return ParsePeriod("--timeout", value, &options->timeout);
    }
    options->help = true;
    return absl::OkStatus();
  };
  absl::Status status = examples::ParseCommandLine(argc, argv, kOptions, set);
  if (!status.ok() || options->help) return status;
  if (options->timeout <= options->latency) {
    return examples::BadOption("--timeout",
                               absl::FormatDuration(options->timeout),
                               "must be longer than --latency");
  }
  return AllowSockets(options->in_flight);
}

}  // namespace async_probe
