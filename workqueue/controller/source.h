// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_SOURCE_H_
#define WORKQUEUE_CONTROLLER_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

// SourceContext
//
// The context of a source's `run`. Valid until `run` returns.
template <typename T>
struct SourceContext {
  // The controller's queue, to which the source adds items.
  //
  // If the queue does not take an item, because it throws, or because its
  // engine does not answer or refuses it, as after a password has changed, the
  // controller keeps the item and tries each second to add it, and the call
  // returns OK. Meanwhile `Controller::Healthy()` returns an
  // `absl::UnavailableError` that says how many items are kept, and calls do
  // not wait for the engine. An item is kept once, however often it is added. A
  // call blocks as long as a million items are kept, but not during a stop:
  // then it returns `absl::CancelledError`. The controller loses what is still
  // kept when it stops, and `Controller::Stop()` then returns false. Items that
  // a rate limiter delays, and `Reschedule()`, are not kept: the call returns
  // the error. `CancelDelayed()` and `Reschedule()` do not find what is kept.
  //
  // An item that the queue calls wrong (`absl::InvalidArgumentError`), as one
  // that is too long for the engine, is not kept either: the call adds the
  // other items, and returns the error. If the item has been kept since an
  // outage, the controller drops it and logs the error, and
  // `Controller::Stop()` returns false.
  //
  // An item that cannot be added keeps no other item from being added. Those
  // that are added in one call with it may be added more than once. A try ends
  // after a thousand calls that fail, and the next one begins with the items
  // that are left.
  RateLimitingInterface<T>& queue;

  // Notified when the controller is being stopped.
  const sync::Notification& stop;

  // The controller's clock.
  Clock* clock;

  // The source calls this function when it has added all items that exist at
  // the start; see `Source::wait_for_sync`. A source that is restarted calls it
  // in each run; see also `RestartBackoff`. May be called from any thread and
  // more than once.
  std::function<void()> mark_synced;

  // The implementation of `Sleep()`.
  std::function<bool(absl::Duration d)> sleep;

  // Blocks until `d` has passed on the controller's clock, and returns true.
  // When the controller is being stopped, returns false at once. For a source
  // that polls:
  //
  //     do {
  //       context.queue.AddAll(pods.List());
  //     } while (context.Sleep(absl::Minutes(1)));
  //
  // `d` may be infinite. If `d` is zero or negative, does not block. May be
  // called from any thread, but aborts the program instead of blocking the
  // thread of a loop that the program drives. `FakeClock::Step()` waits until
  // the calls whose time has come have returned, and not for what the source
  // does then.
  bool Sleep(absl::Duration d) const { return sleep(d); }

  // A source that goes on after an error calls this function with the error,
  // which must not be OK. `Controller::Healthy()` then returns the error until
  // the source calls `mark_synced()`. The controller does not log the error.
  // May be called from any thread and more than once, but not after `run` has
  // returned.
  std::function<void(const absl::Status& error)> mark_unhealthy =
      [](const absl::Status&) {};

  // A source that has a `Source::term` calls this function after each change of
  // the term, so that workers that stand by look at it. One that has come and
  // gone since the last call is a change, too: reconciliations may have begun
  // in it, which this call cancels. May be called from any thread and more than
  // once, but not after `run` has returned.
  std::function<void()> wake_workers = [] {};
};

// RestartBackoff
//
// The delays before the restarts of a source. The first delay is `base_delay`.
// Each delay is twice as long as the one before, up to `max_delay`. After a run
// that has been healthy for at least two minutes, which are those of client-go,
// the next delay is `base_delay` again. The time that a run takes to fail does
// not count.
//
// A run of a source is healthy from `SourceContext::mark_synced()` on, or, if
// the source has never called it and `Source::wait_for_sync` is not set, from
// its begin; `SourceContext::mark_unhealthy()` ends that. An informer is
// healthy while it watches.
struct RestartBackoff {
  absl::Duration base_delay = absl::Seconds(1);  // positive, finite
  absl::Duration max_delay = absl::Minutes(1);  // at least `base_delay`; finite
};

// SourceDone
//
// Ends a run of a source that has no thread; see `Source::run_async`. Copyable.
using SourceDone = std::function<void(const absl::Status& status)>;

// Source
//
// A source of a controller's items. It watches for events, and adds an item to
// the queue each time that the item may need a reconciliation.
//
// Example:
//
//     workqueue::Source<std::string> source;
//     source.name = "pods";
//     source.wait_for_sync = true;
//     source.run = [&pods](workqueue::SourceContext<std::string>& context) {
//       context.queue.AddAll(pods.List());
//       context.mark_synced();
//       while (std::optional<std::string> key = pods.NextChange(context.stop))
//       {
//         context.queue.Add(*key);
//       }
//       return absl::OkStatus();
//     };
template <typename T>
struct Source {
  // The source's name in messages.
  std::string name;

  // Adds items to the queue. The controller calls `run` on a thread of its own.
  // `run` must return soon after `context.stop` is notified.
  //
  // `run` may return earlier. OK means that the source will add no more items,
  // which the controller logs. After an error or an exception, the source is
  // restarted if there is a `restart_backoff`. Otherwise the error makes
  // `Controller::Start()` fail if the start is still in progress. After the
  // start, the error is logged, and `Controller::Healthy()` returns it.
  std::function<absl::Status(SourceContext<T>& context)> run;

  // In the place of `run`: a source whose events come from the program's event
  // loop, and so needs no thread. `ControllerOptions::clock` must be a
  // `WaitingLoop`, whose thread calls this. It must not block.
  //
  // The source calls `done` once, on any thread, where `run` would return, with
  // the same result. Until then, and until `context->stop` is notified, it may
  // use the context. The controller waits for the call when it stops, but not
  // when it is destroyed: a later call does nothing. On a thread that is not
  // the loop's, the source must stop the controller by `StopAsync()` or
  // `Stop(absl::ZeroDuration())`: another `Stop()` would wait for `done`.
  //
  //     source.run_async = [&](auto context, auto done) {
  //       events.OnChange([=](const std::string& key) {
  //         context->queue.Add(key);
  //       });
  //       events.OnEnd(std::move(done));
  //       context->mark_synced();
  //     };
  //     source.on_stop = [&] { events.Cancel(); };  // calls `done`
  std::function<void(std::shared_ptr<SourceContext<T>> context,
                     SourceDone done)>
      run_async;

  // If set, called once after `context.stop` has been notified. Use it to wake
  // a `run` that blocks where the notification does not wake it, for example in
  // poll(2) or in a read from a server.
  //
  // The thread that stops the controller calls `on_stop`; that thread may be
  // another source's. The call may come before `run` begins, after `run` has
  // returned, or although `run` is never called. `on_stop` must not block, and
  // must not stop the controller. An exception from it is logged.
  std::function<void()> on_stop;

  // Whether the workers start only when `run` has called `mark_synced()` or has
  // returned OK.
  bool wait_for_sync = false;

  // If set, `run` is called again after an error or an exception, when a delay
  // has passed on the controller's clock. An error during the start then does
  // not make `Controller::Start()` fail before `sync_timeout`.
  std::optional<RestartBackoff> restart_backoff;

  // If set, the controller reconciles only while this process leads. Returns
  // the number of its present term, which is positive and not that of another
  // term, or zero while it does not lead. `MakeLeaderElectionSource()`
  // (workqueue/leader_election/leader_election_source.h) makes such a source.
  // At most one source of a controller may have it.
  //
  // Without a term the controller stands by, and is healthy: the sources run
  // and fill the queue, and workers begin no reconciliation. When the term of a
  // reconciliation in progress is over, `ReconcileContext::Lost()` is true. An
  // error that it then returns is no failure: the item is given back. If the
  // queue's leases have no token, `ReconcileContext::token` is the term.
  //
  // Workers call it before and after each reconciliation, and `Lost()` does,
  // also after `run` has returned. Called from any thread. Must not block, nor
  // throw.
  std::function<int64_t()> term;
};

namespace internal {

// Returns an `absl::InvalidArgumentError` that names the field if a delay is
// out of its range. `name` is the name of the option that `backoff` is.
absl::Status CheckRestartBackoff(absl::string_view name,
                                 const RestartBackoff& backoff);

// RestartDelays
//
// The delays that a `RestartBackoff` describes. Knows how long each run is
// healthy: a run that takes long to fail does not count as a good one.
//
// Not thread-safe.
class RestartDelays {
 public:
  // The run becomes healthy, or ceases to be healthy, at `now`. Does nothing if
  // that is so already. A run begins unhealthy.
  void SetHealthy(bool healthy, absl::Time now);

  // Ends the run at `now`. Returns the delay before the next run.
  absl::Duration Next(const RestartBackoff& backoff, absl::Time now);

 private:
  absl::Duration delay_ = absl::ZeroDuration();  // the last one
  // How long the run has been healthy, and since when it is healthy again.
  absl::Duration healthy_ = absl::ZeroDuration();
  std::optional<absl::Time> healthy_since_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_SOURCE_H_
