// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/mirror.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "examples/mirror/console.h"
#include "examples/mirror/inspection.h"
#include "examples/mirror/reconciler.h"
#include "examples/mirror/stop_signals.h"
#include "examples/mirror/tree_watcher.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/interfaces.h"
#include "workqueue/snapshot.h"

namespace mirror {
namespace {

// The number of times that Stop() tries the failed paths again.
constexpr int kLastTries = 5;

// If another process changes a path during a reconciliation, the mirror retries
// the path. The mirror reports the failure only after this many tries.
constexpr int kPatience = 8;

// Signals wait for the line that tells the progress.
constexpr absl::Duration kProgressTimeout = absl::Milliseconds(100);

double ToMilliseconds(absl::Duration d) {
  return absl::ToDoubleMilliseconds(d);
}

}  // namespace

Mirror::Mirror(Options options, Console* console)
    : options_(std::move(options)),
      console_(console),
      metrics_(options_.queue_metrics),
      reconciler_(options_.from, options_.to,
                  {/*enqueue=*/[this](const std::string& path) {
                     return Enqueue(controller_->queue(), path);
                   },
                   /*before_change=*/options_.before_change},
                  /*shared=*/options_.make_queue != nullptr) {}

absl::StatusOr<std::unique_ptr<Mirror>> Mirror::Start(Options options,
                                                      Console* console) {
  auto mirror = absl::WrapUnique(new Mirror(std::move(options), console));
  absl::Status status;
  if (mirror->options_.watch) status = mirror->CreateWatcher();
  if (status.ok()) status = mirror->CreateController();
  if (status.ok()) status = mirror->controller_->Start();
  if (!status.ok()) return status;
  return mirror;
}

absl::Status Mirror::CreateWatcher() {
  TreeWatcher::Options options;
  options.resync = options_.resync;
  options.on_change = [this](const std::string& path) { EnqueueChange(path); };
  options.on_failure = [this](const absl::Status& status) {
    console_->Failure(status);
  };
  auto watcher = TreeWatcher::Create(options_.from, std::move(options));
  if (!watcher.ok()) return watcher.status();
  watcher_ = *std::move(watcher);
  return absl::OkStatus();
}

absl::Status Mirror::CreateController() {
  workqueue::ControllerOptions<std::string> options;
  options.name = "mirror";
  options.workers = options_.workers;
  options.reconcile = [this](const std::string& path,
                             const workqueue::ReconcileContext& context) {
    return Reconcile(path, context);
  };
  if (options_.make_queue) {
    absl::StatusOr<SharedQueue> made = options_.make_queue(&metrics_);
    if (!made.ok()) return made.status();
    options.queue = std::move(made->queue);
    idle_ = std::move(made->idle);
  } else {
    // The default limiter's delays grow to 1000 s. The mirror should react
    // sooner, for example when a full disk has space again.
    options.rate_limiter =
        *workqueue::ItemExponentialFailureRateLimiter<std::string>::Create(
            kFirstRetry, kLongestRetry);
    options.queue_metrics_provider = &metrics_;
  }
  options.metrics_provider = options_.controller_metrics;
  if (watcher_ != nullptr) options.sources.push_back(WatcherSource());
  if (options_.inspection != nullptr) {
    inspection_ = std::make_unique<Inspection>(options_.inspection);
    const absl::Status status = inspection_->RecordHistory(&options);
    if (!status.ok()) return status;
  }
  auto controller =
      workqueue::Controller<std::string>::Create(std::move(options));
  if (!controller.ok()) return controller.status();
  controller_ = *std::move(controller);
  if (inspection_ != nullptr) {
    const absl::Status status = inspection_->Show(controller_.get());
    if (!status.ok()) return status;
  }
  // Without a watcher, no other code adds paths. The root stands for the whole
  // tree.
  if (watcher_ == nullptr) return Enqueue(controller_->queue(), "");
  return absl::OkStatus();
}

workqueue::Source<std::string> Mirror::WatcherSource() {
  workqueue::Source<std::string> source;
  source.name = "watcher";
  source.run = [this](workqueue::SourceContext<std::string>& context) {
    // It keeps what the shared queue does not take, and adds it again.
    source_queue_ = &context.queue;
    watcher_->Run();
    return absl::OkStatus();
  };
  source.on_stop = [this] { watcher_->Cancel(); };
  return source;
}

absl::Status Mirror::Reconcile(const std::string& path,
                               const workqueue::ReconcileContext& context) {
  absl::Status status = reconciler_.Reconcile(path, context.stop);
  if (status.ok()) {
    failures_.Erase(path);
    return status;
  }
  if (!absl::IsCancelled(status)) ++failed_reconciles_;
  const bool others_change_it =
      absl::IsAborted(status) && context.failures < kPatience;
  if (!others_change_it && !absl::IsCancelled(status)) {
    console_->Failure(status);
  }
  const bool gives_up = context.failures + 1 >= options_.max_tries;
  if (gives_up) status = workqueue::TerminalError(std::move(status));
  // Another process may try the path of a shared queue again.
  if (!shared() || gives_up) failures_.Insert(path, status);
  return status;
}

absl::Status Mirror::Enqueue(
    workqueue::RateLimitingInterface<std::string>& queue,
    const std::string& path) {
  const absl::Status status = queue.AddItems({}, {path});
  if (status.ok()) ++enqueued_;
  return status;
}

void Mirror::EnqueueChange(const std::string& path) {
  const absl::Status status = Enqueue(*source_queue_, path);
  if (status.ok() || absl::IsCancelled(status)) return;
  // The queue never takes this path, for example because it is too long.
  console_->Failure(status);
  failures_.Insert(path, workqueue::TerminalError(status));
}

Mirror::~Mirror() { Abort(); }

bool Mirror::Finished() const {
  if (shared()) return idle_();
  const int64_t done = metrics_.done();  // must be read first; see Quiet()
  return !failures_.any_retried() && metrics_.adds() == done;
}

bool Mirror::InSync() const {
  // In this order: a watcher that is in sync has added all paths, a healthy
  // controller keeps none that the queue has not taken, and a reconciliation
  // that fails is a failure before it counts as done.
  return watcher_ != nullptr && watcher_->synced() &&
         controller_->Healthy().ok() && Quiet() && failures_.size() == 0;
}

bool Mirror::Quiet() const {
  if (shared()) return idle_();
  // `done` must be read first, because it never exceeds the number of paths
  // added. If the two are equal, everything was done at the time of this line,
  // and nothing has been added since.
  const int64_t done = metrics_.done();
  return metrics_.adds() == done;
}

bool Mirror::Stop(StopSignals& signals) {
  if (watcher_ != nullptr) watcher_->Stop();
  if (shared()) return StopShared(signals);
  // A reconciliation in progress may enqueue more paths. The controller would
  // reject them once it is being stopped.
  bool quiet = AwaitQuiet(signals);
  for (int i = 0; i < kLastTries && quiet; ++i) {
    for (const std::string& path : failures_.retried()) {
      // This queue is in memory, so it takes everything.
      Enqueue(controller_->queue(), path).IgnoreError();
    }
    quiet = AwaitQuiet(signals);
  }
  if (!quiet) {
    signals.Restore();  // Let a third signal end the process.
    Abort();
    return false;
  }
  return controller_->Stop();
}

bool Mirror::StopShared(StopSignals& signals) {
  // On a thread of its own, so that this one can wait for a signal. A timeout
  // of the call would cancel what this process has begun.
  absl::Notification stopped;
  bool all_done = false;
  std::thread stopper([&] {
    all_done = controller_->Stop();
    stopped.Notify();
  });
  while (!stopped.HasBeenNotified()) {
    if (!signals.Wait(absl::Milliseconds(20))) continue;
    signals.Restore();  // Let a third signal end the process.
    Abort();
    break;
  }
  stopper.join();
  return all_done;
}

bool Mirror::AwaitQuiet(StopSignals& signals) {
  while ((watcher_ != nullptr && !watcher_->ended()) || !Quiet()) {
    if (signals.Wait(absl::Milliseconds(20))) return false;
    console_->Progress(Progress());
  }
  return true;
}

void Mirror::Abort() {
  if (controller_ == nullptr) return;
  // The queued paths are dropped, and count as failed. Those of a shared queue
  // stay there.
  if (!shared()) {
    const auto snapshot = controller_->queue().TakeSnapshot();
    for (const auto& queued : snapshot->queued) {
      failures_.Insert(queued.item, absl::CancelledError("stopped"));
    }
  }
  controller_->Stop(absl::ZeroDuration());
  // Waits for the reconciliations in progress, which were cancelled above.
  controller_->Stop();
}

std::string Mirror::Progress() const {
  workqueue::SnapshotOptions<std::string> numbers;
  numbers.max = 0;
  numbers.waiting = false;
  numbers.timeout = kProgressTimeout;
  const auto snapshot = controller_->queue().TakeSnapshotWith(numbers);
  return absl::StrFormat(
      "events %d, reconciles %d, queued %s, failing %d",
      watcher_ != nullptr ? watcher_->events() : 0, metrics_.done(),
      snapshot.ok() ? absl::StrCat(snapshot->num_queued) : "?",
      failures_.size());
}

std::string Mirror::Summary() const {
  const int64_t asked = enqueued_ + metrics_.retries();
  // The retries that come due in a shared queue may count in another process.
  const int64_t deduplicated = std::max<int64_t>(0, asked - metrics_.adds());
  return absl::StrFormat(
      "  events seen         %9d\n"
      "  paths added         %9d\n"
      "    deduplicated      %9d  (%.1f%%: the path was queued already)\n"
      "  reconciles run      %9d\n"
      "  files copied        %9d\n"
      "  retries             %9d\n"
      "  time in the queue   p50 %.2f ms, p99 %.2f ms\n"
      "  special files       %9d  (ignored)\n"
      "  failed reconciles   %9d\n"
      "  failing at the end  %9d\n",
      watcher_ != nullptr ? watcher_->events() : 0, asked, deduplicated,
      asked > 0 ? 100.0 * deduplicated / asked : 0.0, metrics_.done(),
      reconciler_.copied_files(), metrics_.retries(),
      ToMilliseconds(metrics_.latency().Percentile(0.50)),
      ToMilliseconds(metrics_.latency().Percentile(0.99)),
      reconciler_.special_files(), failed_reconciles_.load(), failures_.size());
}

}  // namespace mirror
