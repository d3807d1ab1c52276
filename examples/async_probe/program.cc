// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/async_probe/program.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "examples/async_probe/beast_client.h"
#include "examples/async_probe/event_loop.h"
#include "examples/async_probe/http_server.h"
#include "examples/async_probe/options.h"
#include "examples/async_probe/probe_stats.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/controller.h"

namespace async_probe {
namespace {

using Controller = workqueue::Controller<std::string>;

// Returns the number in the line of /proc/self/status that begins with `name`.
int64_t ProcessStatus(absl::string_view name) {
  std::ifstream status("/proc/self/status");
  int64_t value = 0;
  for (std::string line; std::getline(status, line);) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(": \t"), absl::SkipEmpty());
    if (words.size() > 1 && words[0] == name &&
        absl::SimpleAtoi(words[1], &value)) {
      break;
    }
  }
  return value;
}

// Returns the server, whose answers do not depend on the endpoint.
absl::StatusOr<std::unique_ptr<HttpServer>> StartServer(
    absl::Duration latency) {
  HttpServerOptions options;
  options.latency = latency;
  options.answer = [requests = 0](const std::string&) mutable {
    ++requests;
    if (requests % 1000 == 0) return std::optional<int>();
    return std::optional<int>(requests % 100 == 50 ? 503 : 200);
  };
  return HttpServer::Start(std::move(options));
}

absl::StatusOr<std::unique_ptr<Controller>> StartController(
    const Options& options, workqueue::Executor* executor,
    workqueue::AsyncReconcileFunction<std::string> prober) {
  auto backoff =
      workqueue::ItemExponentialFailureRateLimiter<std::string>::Create(
          /*base_delay=*/std::min(absl::Milliseconds(100), options.period),
          /*max_delay=*/options.period);
  if (!backoff.ok()) return backoff.status();
  workqueue::ControllerOptions<std::string> controller_options;
  controller_options.name = "probe";
  controller_options.reconcile_async = std::move(prober);
  controller_options.executor = executor;
  controller_options.max_in_flight = options.in_flight;
  controller_options.reconcile_timeout = options.timeout;
  controller_options.rate_limiter = *std::move(backoff);
  auto controller = Controller::Create(std::move(controller_options));
  if (!controller.ok()) return controller.status();
  absl::Status started = (*controller)->Start();
  if (!started.ok()) return started;
  return controller;
}

int64_t Ended(const ProbeCounts& counts) {
  return counts.healthy + counts.unhealthy + counts.cancelled;
}

// Prints a line each second.
void Watch(const ProbeStats& stats, int seconds, absl::Time start,
           workqueue::Clock* clock) {
  int64_t before = 0;
  for (int i = 1; i <= seconds; ++i) {
    clock->SleepUntil(start + absl::Seconds(i));
    const ProbeCounts counts = stats.counts();
    absl::PrintF("%3d s: %d probes, %d in flight, %d endpoints have answered\n",
                 i, Ended(counts) - before, counts.in_flight, counts.endpoints);
    std::fflush(stdout);
    before = Ended(counts);
  }
}

std::string Rounded(absl::Duration d) {
  return absl::FormatDuration(absl::Trunc(d, absl::Microseconds(100)));
}

void PrintSummary(const Options& options, const ProbeStats& stats,
                  absl::Duration took) {
  const ProbeCounts counts = stats.counts();
  absl::PrintF(
      "%d endpoints: %d have answered\n"
      "%d probes in %s, %.0f per second\n"
      "latency: p50 %s, p99 %s\n"
      "%d probes failed, %d were cancelled at their deadline\n"
      "peak memory: %.1f MB, with the server\n"
      "%d threads: %d that probe, 1 of the server, the main thread, the "
      "queue's and the deadlines'\n",
      options.endpoints, counts.endpoints, Ended(counts), Rounded(took),
      Ended(counts) / absl::ToDoubleSeconds(took),
      Rounded(stats.latency().Percentile(0.5)),
      Rounded(stats.latency().Percentile(0.99)), counts.unhealthy,
      counts.cancelled, ProcessStatus("VmHWM") * 1024 / 1e6,
      ProcessStatus("Threads"), options.threads);
}

absl::Status Run(const Options& options, const ProberFactory& make_prober) {
  workqueue::Clock* const clock = workqueue::Clock::GetRealClock();
  const auto server = StartServer(options.latency);
  if (!server.ok()) return server.status();
  ProbeStats stats(clock);
  EventLoop loop(options.threads);
  AsioExecutor executor(loop.get());
  BeastClient client(loop.get(), (*server)->port());
  auto controller = StartController(
      options, &executor, make_prober(&client, options.period, &stats));
  if (!controller.ok()) return controller.status();

  const absl::Time start = clock->TimeNow();
  // The first probes are spread over a period, and so all others are, too.
  for (int i = 0; i < options.endpoints; ++i) {
    (*controller)
        ->queue()
        .AddAfter(absl::StrCat("/endpoints/", i),
                  i * (options.period / options.endpoints));
  }
  Watch(stats, options.seconds, start, clock);
  PrintSummary(options, stats, clock->TimeNow() - start);

  // Cancels the probes in flight. Their callbacks use the objects above until
  // the loop has been stopped.
  (*controller)->Stop(absl::ZeroDuration());
  controller->reset();
  loop.Stop();
  return absl::OkStatus();
}

}  // namespace

int RunProgram(const char* name, int argc, char* argv[],
               const ProberFactory& make_prober) {
  Options options;
  absl::Status status = ParseOptions(argc, argv, &options);
  if (!status.ok()) {
    absl::FPrintF(stderr, "%s: %s\n", name, status.message());
    return 2;
  }
  if (options.help) {
    PrintUsage(name);
    return 0;
  }
  status = Run(options, make_prober);
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "%s: %s\n", name, status.message());
  return 1;
}

}  // namespace async_probe
