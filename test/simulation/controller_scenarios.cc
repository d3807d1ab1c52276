// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Controllers.

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "test/simulation/scenario.h"
#include "workqueue/controller/controller.h"
#include "workqueue/priority_queue.h"

namespace workqueue {
namespace {

using simulation::AtRest;
using simulation::Check;
using simulation::Choose;
using Key = std::string;

bool OneIn(int count) { return Choose(count) == count - 1; }

// A controller of objects whose states change. Whenever nothing is left to do,
// it must have seen the last state of each. Sources add keys and fail, the
// reconcile function fails and asks for more, and the controller is stopped at
// any moment, by several threads or by a reconciliation.
class ControllerLife {
 public:
  explicit ControllerLife(bool async) : async_(async) {}

  void Live() {
    for (int i = 1 + Choose(3); i > 0; --i) {
      objects_[std::string(1, static_cast<char>('a' + i))] = {};
    }
    ControllerOptions<Key> options;
    options.name = "simulated";
    options.workers = 1 + Choose(3);
    if (async_) {
      options.max_in_flight = 1 + Choose(3);
      options.reconcile_async = [this](const Key& key,
                                       const AsyncReconcileContext& context,
                                       ReconcileCompletion done) {
        ReconcileAsync(key, context, std::move(done));
      };
    } else {
      options.reconcile = [this](const Key& key,
                                 const ReconcileContext& context) {
        return Reconcile(key, context);
      };
    }
    if (OneIn(2)) options.queue = std::make_unique<PriorityQueue<Key>>();
    for (int i = Choose(3); i > 0; --i) options.sources.push_back(AnySource());
    controller_ = *Controller<Key>::Create(std::move(options));
    this_controller_ = controller_.get();
    Threads others;
    if (OneIn(2)) Change();
    bool started = false;
    if (OneIn(8)) {
      others.Start([this] { Stop(); });
    }
    if (!OneIn(16)) {
      const absl::Status status = controller_->Start();
      started = status.ok();
      Check(started || stops_ > 0 || source_fails_ ||
                simulation::Now() >= absl::Minutes(2),
            "a start fails");
    }
    {
      Threads changers;
      for (int i = 1 + Choose(2); i > 0; --i) {
        changers.Start([this] {
          for (int n = 1 + Choose(3); n > 0; --n) Change();
        });
      }
      if (OneIn(4)) others.Start([this] { Stop(); });
    }
    for (int n = Choose(3); n > 0; --n) {
      simulation::Sleep(absl::Seconds(1));
      AtRest([&] { CheckRest(started); });
    }
    // By then all retries are over. Time may pass while a thread can go on.
    bool settled = !started || stops_ > 0;
    for (int n = 0; n < 50 && !settled; ++n) {
      simulation::Sleep(absl::Seconds(20));
      AtRest([&] {
        CheckRest(started);
        settled = true;
        for (const auto& [key, object] : objects_) {
          settled = settled && object.seen == object.state;
        }
      });
      settled = settled || stops_ > 0;
    }
    Check(settled, "a change is not seen");
    if (OneIn(2)) Change();
    if (!OneIn(3)) Stop();
    others.Join();
    if (!completions_.empty() && OneIn(2)) CompleteAll();
    controller_.reset();
    Check(async_ || in_progress_ == 0,
          "a reconciliation outlives its controller");
    Check(running_sources_ == 0, "a source outlives its controller");
    ended_ = true;
    CompleteAll();
  }

 private:
  struct Object {
    int state = 0;
    int seen = 0;
    bool in_hand = false;
    int failures = 0;
  };

  Source<Key> AnySource() {
    Source<Key> source;
    source.name = "source";
    source.wait_for_sync = OneIn(2);
    if (OneIn(2)) source.restart_backoff = RestartBackoff();
    const bool restarts = source.restart_backoff.has_value();
    auto failures = std::make_shared<int>(OneIn(3) ? 1 : 0);
    source.run = [this, failures, restarts](SourceContext<Key>& context) {
      ++running_sources_;
      absl::Status result;
      for (const auto& [key, object] : objects_) {
        if (OneIn(2)) context.queue.Add(key);
      }
      if (*failures > 0) {
        --*failures;
        if (!restarts) source_fails_ = true;
        result = absl::UnavailableError("simulated");
      } else {
        context.mark_synced();
        while (context.Sleep(absl::Seconds(30))) {
          if (simulation::Now() < absl::Minutes(1)) Change();
        }
        Check(context.stop.HasBeenNotified(), "a source is not stopped");
      }
      --running_sources_;
      return result;
    };
    return source;
  }

  void Change() {
    auto it = objects_.begin();
    std::advance(it, Choose(static_cast<int>(objects_.size())));
    ++it->second.state;
    this_controller_->queue().Add(it->first);
  }

  void Begin(const Key& key) {
    Object& object = objects_[key];
    Check(!object.in_hand, "two workers have an item");
    object.in_hand = true;
    ++in_progress_;
  }

  absl::StatusOr<ReconcileResult> End(const Key& key, int state) {
    Object& object = objects_[key];
    ReconcileResult result;
    absl::Status status;
    switch (Choose(5)) {
      case 3:
        // Three times at most, so that an end comes.
        if (object.failures == 3) break;
        ++object.failures;
        status = absl::UnavailableError("simulated");
        break;
      case 4:
        if (object.failures == 3) break;
        ++object.failures;
        result.requeue_after = absl::Milliseconds(500);
        break;
      default:
        break;
    }
    if (status.ok()) object.seen = (std::max)(object.seen, state);
    object.in_hand = false;
    --in_progress_;
    if (!status.ok()) return status;
    return result;
  }

  absl::StatusOr<ReconcileResult> Reconcile(const Key& key,
                                            const ReconcileContext& context) {
    Begin(key);
    const int state = objects_[key].state;
    switch (Choose(8)) {
      case 5:
        simulation::Sleep(absl::Milliseconds(300));
        break;
      case 6:
        if (objects_[key].failures < 3) {
          ++objects_[key].failures;
          Change();
        }
        break;
      case 7:
        if (OneIn(4)) {
          ++stops_;
          this_controller_->Stop();
        }
        break;
      default:
        sync::Yield();
    }
    static_cast<void>(context.Cancelled());
    return End(key, state);
  }

  void ReconcileAsync(const Key& key, const AsyncReconcileContext& context,
                      ReconcileCompletion done) {
    Begin(key);
    const int state = objects_[key].state;
    auto complete = [this, key, state, done = std::move(done)] {
      if (ended_) {
        done(absl::OkStatus());
        return;
      }
      done(End(key, state));
    };
    switch (Choose(4)) {
      case 0:
        complete();
        break;
      case 1:
        threads_.Start(complete);
        break;
      case 2:
        threads_.Start([complete] {
          simulation::Sleep(absl::Milliseconds(200));
          complete();
        });
        break;
      default:
        context.OnCancel([this] { CompleteAll(); });
        completions_.push_back(complete);
        threads_.Start([this] {
          simulation::Sleep(absl::Seconds(2));
          CompleteAll();
        });
        break;
    }
  }

  void CompleteAll() {
    while (!completions_.empty()) {
      const std::function<void()> complete = std::move(completions_.back());
      completions_.pop_back();
      complete();
    }
  }

  void Stop() {
    ++stops_;
    const bool forever = OneIn(2);
    const bool stopped =
        this_controller_->Stop(forever ? absl::InfiniteDuration()
                                       : absl::Milliseconds(500 * Choose(3)));
    Check(!stopped || running_sources_ == 0, "a source runs after a stop");
    Check(!stopped || in_progress_ == 0, "a stop leaves a reconciliation");
  }

  void CheckRest(bool started) {
    if (!started || stops_ > 0) return;
    const auto snapshot = controller_->queue().TakeSnapshot();
    Check(snapshot.ok(), "a snapshot fails");
    int in_hand = 0;
    for (const auto& [key, object] : objects_) in_hand += object.in_hand;
    Check(static_cast<int>(snapshot->num_processing) == in_hand,
          "what is processed is not what is reconciled");
    if (in_hand == 0) {
      Check(snapshot->num_queued == 0, "an item waits while a worker is idle");
    }
    for (const auto& it : snapshot->waiting) {
      Check(it.ready_at > snapshot->taken_at, "an item waits that is due");
    }
    for (const auto& [key, object] : objects_) {
      if (object.seen == object.state || object.in_hand) continue;
      bool is_there = false;
      for (const auto& it : snapshot->queued) is_there |= it.item == key;
      for (const auto& it : snapshot->processing) is_there |= it.item == key;
      for (const auto& it : snapshot->waiting) is_there |= it.item == key;
      Check(is_there, "a change is lost");
    }
  }

  const bool async_;
  std::map<Key, Object> objects_;
  int in_progress_ = 0;
  int running_sources_ = 0;
  int stops_ = 0;
  bool source_fails_ = false;
  bool ended_ = false;
  std::vector<std::function<void()>> completions_;
  std::unique_ptr<Controller<Key>> controller_;
  // Not null in its destructor either.
  Controller<Key>* this_controller_ = nullptr;
  Threads threads_;
};

const AddScenario sync_controller("controller", "a Controller, to its end",
                                  [] { ControllerLife(false).Live(); });
const AddScenario async_controller("async_controller",
                                   "one that reconciles asynchronously",
                                   [] { ControllerLife(true).Live(); });

}  // namespace
}  // namespace workqueue
