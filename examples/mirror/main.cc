// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A controller that keeps one directory tree a copy of another one. It works
// like a Kubernetes controller, but on files.
//
// Continue reading in
//
//     mirror.cc        the controller
//     reconciler.h     how a worker reconciles a path
//     tree_watcher.h   how the controller learns which paths have changed

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "examples/mirror/console.h"
#include "examples/mirror/demo.h"
#include "examples/mirror/metrics_server.h"
#include "examples/mirror/mirror.h"
#include "examples/mirror/options.h"
#include "examples/mirror/report.h"
#include "examples/mirror/shared_queue.h"
#include "examples/mirror/stop_signals.h"
#include "examples/mirror/tree.h"
#include "workqueue/metrics.h"

namespace mirror {
namespace {

// With --once, the mirror gives a path up after this many tries, which take
// 2.6 s.
constexpr int kTriesWithOnce = 10;

// Raises the limit of open files, because each worker has several files open.
void RaiseFileLimit() {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int RunMirror(const Options& options, Mirror::Options mirror_options,
              StopSignals& signals, Console& console) {
  if (mkdir(options.to.c_str(), 0700) != 0 && errno != EEXIST) {
    console.Line(ErrnoStatus("create directory", options.to).message());
    return 1;
  }
  mirror_options.from = options.from;
  mirror_options.to = options.to;
  mirror_options.watch = !options.once;
  if (options.once) mirror_options.max_tries = kTriesWithOnce;
  const absl::StatusOr<std::unique_ptr<Mirror>> mirror =
      Mirror::Start(std::move(mirror_options), &console);
  if (!mirror.ok()) {
    console.Line(mirror.status().message());
    return 1;
  }

  bool said_in_sync = false;
  while (!signals.Wait(absl::Milliseconds(options.once ? 5 : 200))) {
    if (options.once && (*mirror)->Finished()) break;
    if (!said_in_sync && (*mirror)->InSync()) {
      console.Line("in sync");
      said_in_sync = true;
    }
    console.Progress((*mirror)->Progress());
  }
  const bool all_done = (*mirror)->Stop(signals);
  console.ClearProgress();
  std::fputs((*mirror)->Summary().c_str(), stdout);
  if (!all_done) console.Line("stopped before everything was mirrored");

  bool ok = ReportFailures((*mirror)->failures()) && all_done;
  if (options.once && all_done) {
    ok = ReportComparison(Tree(options.from), Tree(options.to)) && ok;
  }
  return ok ? 0 : 1;
}

int Main(int argc, char* argv[]) {
  Console console;
  const absl::StatusOr<Options> options = ParseOptions(argc, argv);
  if (!options.ok()) {
    console.Line(options.status().message());
    return 2;
  }
  if (options->help) {
    std::fputs(std::string(Usage()).c_str(), stdout);
    return 0;
  }
  // Without this, a closed pipe would end the demo before it removes its files.
  signal(SIGPIPE, SIG_IGN);
  RaiseFileLimit();
  StopSignals signals;

  Mirror::Options mirror_options;
  mirror_options.workers = options->workers;
  mirror_options.resync = options->resync;
  if (!options->shared.empty()) {
    mirror_options.make_queue = [&](workqueue::MetricsProvider* metrics) {
      return OpenSharedQueue(options->shared, options->queue, &console,
                             metrics);
    };
  }
  std::unique_ptr<MetricsServer> metrics;
  if (options->metrics_port.has_value()) {
    auto started = MetricsServer::Start(*options->metrics_port);
    if (!started.ok()) {
      console.Line(started.status().message());
      return 2;
    }
    metrics = *std::move(started);
    mirror_options.queue_metrics = metrics->provider();
    mirror_options.controller_metrics = metrics->provider();
    mirror_options.inspection = metrics->inspection();
    console.Line(absl::StrCat("metrics: ", metrics->MetricsUrl()));
    console.Line(absl::StrCat("page: ", metrics->PageUrl()));
  }
  return (options->from.empty() ? RunDemo : RunMirror)(
      *options, std::move(mirror_options), signals, console);
}

}  // namespace
}  // namespace mirror

int main(int argc, char* argv[]) { return mirror::Main(argc, argv); }
