// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/mirror.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "examples/mirror/console.h"
#include "examples/mirror/controller.h"
#include "examples/mirror/reconciler.h"
#include "examples/mirror/stop_signals.h"
#include "examples/mirror/tree_watcher.h"

namespace mirror {
namespace {

constexpr int kLastTries = 5;

double ToMilliseconds(absl::Duration d) {
  return absl::ToDoubleMilliseconds(d);
}

}  // namespace

Mirror::Mirror(const Options& options, Console* console) : console_(console) {
  Reconciler::Hooks hooks;
  hooks.enqueue = [this](const std::string& path) {
    controller_->Enqueue(path);
  };
  hooks.before_change = options.before_change;
  reconciler_ =
      std::make_unique<Reconciler>(options.from, options.to, std::move(hooks));

  Controller::Options controller;
  controller.workers = options.workers;
  controller.max_tries = options.max_tries;
  controller.reconcile = [this](const std::string& path) {
    return reconciler_->Reconcile(path);
  };
  controller.on_failure = [this](const absl::Status& status) {
    console_->Failure(status);
  };
  controller_ = std::make_unique<Controller>(std::move(controller));
}

absl::StatusOr<std::unique_ptr<Mirror>> Mirror::Start(Options options,
                                                      Console* console) {
  auto mirror = absl::WrapUnique(new Mirror(options, console));
  if (!options.watch) {
    mirror->controller_->Enqueue("");  // The root stands for the whole tree.
    return mirror;
  }
  TreeWatcher::Options watcher;
  watcher.resync = options.resync;
  watcher.on_change = [mirror = mirror.get()](const std::string& path) {
    mirror->controller_->Enqueue(path);
  };
  watcher.on_failure = [console](const absl::Status& status) {
    console->Failure(status);
  };
  auto created = TreeWatcher::Create(options.from, std::move(watcher));
  if (!created.ok()) return created.status();
  mirror->watcher_ = *std::move(created);
  return mirror;
}

Mirror::~Mirror() { Abort(); }

bool Mirror::Stop(StopSignals& signals) {
  if (watcher_ != nullptr) watcher_->Stop();
  // What is being reconciled may enqueue more, which a queue that is shutting
  // down would not take.
  bool quiet = AwaitQuiet(signals);
  for (int i = 0; i < kLastTries && quiet; ++i) {
    controller_->RetryNow();
    quiet = AwaitQuiet(signals);
  }
  if (!quiet) {
    signals.Restore();  // A third one is not for us.
    Abort();
    return false;
  }
  controller_->Drain();
  return true;
}

bool Mirror::AwaitQuiet(StopSignals& signals) {
  while (!controller_->Quiet()) {
    if (signals.Wait(absl::Milliseconds(20))) return false;
    console_->Progress(Progress());
  }
  return true;
}

void Mirror::Abort() {
  if (watcher_ != nullptr) watcher_->Stop();
  reconciler_->Cancel();  // What is still queued is done with quickly.
  controller_->Drain();
}

std::string Mirror::Progress() const {
  return absl::StrFormat("events %d, reconciles %d, queued %d, failing %d",
                         watcher_ != nullptr ? watcher_->events() : 0,
                         controller_->metrics().done(), controller_->Len(),
                         controller_->num_failures());
}

std::string Mirror::Summary() const {
  const QueueMetrics& metrics = controller_->metrics();
  const int64_t asked = controller_->enqueued() + metrics.retries();
  const int64_t folded = controller_->folded();
  return absl::StrFormat(
      "  events seen         %9d\n"
      "  paths to be queued  %9d\n"
      "    folded away       %9d  (%.1f%%: the path was queued already)\n"
      "  reconciles run      %9d\n"
      "  retries             %9d\n"
      "  time in the queue   p50 %.2f ms, p99 %.2f ms\n"
      "  special files       %9d  (passed over)\n"
      "  failing             %9d\n",
      watcher_ != nullptr ? watcher_->events() : 0, asked, folded,
      asked > 0 ? 100.0 * folded / asked : 0.0, metrics.done(),
      metrics.retries(), ToMilliseconds(metrics.latency().Percentile(0.50)),
      ToMilliseconds(metrics.latency().Percentile(0.99)),
      reconciler_->special_files(), controller_->num_failures());
}

}  // namespace mirror
