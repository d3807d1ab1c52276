// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/simulation/controller_life.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "test/simulation/any_executor.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/metrics.h"
#include "workqueue/metrics.h"
#include "workqueue/priority_queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/retry_after.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/snapshot.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {

using simulation::AtRest;
using simulation::Check;
using simulation::Choose;
using simulation::NextEvent;

class ControllerLife::Metrics final : public ControllerMetricsProvider {
 public:
  size_t active_workers() const { return active_workers_; }
  size_t running_sources() const { return running_sources_; }

  std::unique_ptr<GaugeMetric> NewActiveWorkersMetric(
      absl::string_view) override {
    return std::make_unique<Gauge>(&active_workers_);
  }
  std::unique_ptr<GaugeMetric> NewRunningSourcesMetric(
      absl::string_view) override {
    return std::make_unique<Gauge>(&running_sources_);
  }

 private:
  class Gauge final : public GaugeMetric {
   public:
    explicit Gauge(size_t* value) : value_(*value) {}
    void Inc() override { ++value_; }
    void Dec() override {
      Check(value_ > 0, "a number of what is in progress is negative");
      --value_;
    }

   private:
    size_t& value_;
  };

  size_t active_workers_ = 0;
  size_t running_sources_ = 0;
};

ControllerLife::ControllerLife(Options options) : options_(options) {}
ControllerLife::~ControllerLife() = default;

const std::string& ControllerLife::AnyKey() {
  return keys_[Choose(static_cast<int>(keys_.size()))];
}

std::unique_ptr<RateLimitingInterface<std::string>>
ControllerLife::NewSharedQueue(const std::string& client) {
  SharedQueueOptions<Key> options;
  options.name = "q";
  options.engine = engine_.get();
  options.client_name = client;
  if (endless_) options.lease = absl::InfiniteDuration();
  options.codec.decode = [this, decode = options.codec.decode](
                             absl::string_view bytes) -> absl::StatusOr<Key> {
    if (bad_decodes_ > 0 && !looks_) {
      --bad_decodes_;
      return absl::InvalidArgumentError("of another version");
    }
    return decode(bytes);
  };
  return *SharedQueue<Key>::Create(std::move(options));
}

void ControllerLife::MakeLoop() {
  Clock* const clock = Clock::GetRealClock();
  if (OneIn(2)) {
    loop_ = std::make_shared<WaitingLoop>(clock);
    return;
  }
  parker_ = clock->NewParker(Parker::Role::kLoop);
  loop_ = std::make_shared<WaitingLoop>(clock, [this] { parker_->Unpark(); });
  runner_ = sync::Thread([this] {
    while (!destroyed_) parker_->ParkUntil(loop_->RunDue());
  });
}

ControllerOptions<std::string> ControllerLife::MakeOptions() {
  ControllerOptions<Key> options;
  if (options_.shared) {
    engine_ = std::make_unique<MemoryEngine>(nullptr);
    endless_ = !options_.faults && OneIn(2);
    if (OneIn(3)) bad_decodes_ = 1 + Choose(3);
    options.queue = NewSharedQueue("c");
  } else if (OneIn(3)) {
    options.queue = std::make_unique<RateLimitingQueue<Key>>();
  }
  if (OneIn(3)) {
    MakeLoop();
    options.clock = loop_;
  }
  if (OneIn(3)) {
    metrics_ = std::make_unique<Metrics>();
    options.name = "c";
    options.metrics_provider = metrics_.get();
  }
  if (options_.async) {
    options.max_in_flight = 1 + Choose(3);
    max_running_ = options.max_in_flight;
    if (OneIn(2)) {
      executor_ = AnyExecutor();
      options.executor = executor_.get();
    } else {
      options.workers = 1 + Choose(2);
    }
    options.reconcile_async = [this](const Key& key,
                                     const AsyncReconcileContext& context,
                                     ReconcileCompletion done) {
      ReconcileAsync(key, context, std::move(done));
    };
  } else {
    options.workers = 1 + Choose(3);
    max_running_ = options.workers;
    options.reconcile = [this](const Key& key,
                               const ReconcileContext& context) {
      return Reconcile(key, context);
    };
  }
  if (OneIn(3)) {
    timed_ = true;
    options.reconcile_timeout = absl::Seconds(1);
  }
  if (OneIn(3)) {
    parks_ = true;
    options.failures.max_failures = 1 + Choose(2);
    options.failures.unpark_on_add = OneIn(2);
  }
  if (OneIn(3)) options.sync_timeout = absl::Seconds(1);
  for (int i = Choose(3); i > 0; --i) options.sources.push_back(AnySource(i));
  if (options_.stands_by) options.sources.push_back(TermSource());
  num_sources_ = options.sources.size();
  for (const Source<Key>& it : options.sources) awaited_ += it.wait_for_sync;
  return options;
}

Source<std::string> ControllerLife::AnySource(int index) {
  Source<Key> source;
  source.name = absl::StrCat("source ", index);
  source.wait_for_sync = OneIn(2);
  if (OneIn(2)) source.restart_backoff.emplace();
  const bool fails = OneIn(4);
  if (loop_ != nullptr && OneIn(2)) {
    GiveNoThread(&source, fails);
  } else {
    GiveThread(&source, fails);
  }
  return source;
}

void ControllerLife::AddFromSource(SourceContext<Key>& context) {
  Check(!over_, "a source runs after the stop");
  const Key key = AnyKey();
  const int64_t begin = NextEvent();
  if (!context.queue.Add(key)) return;
  Item& item = items_[key];
  item.added = (std::max)(item.added, begin);
  item.kept |= options_.faults;
}

void ControllerLife::GiveThread(Source<Key>* source, bool fails) {
  const bool waits = source->wait_for_sync;
  const bool fails_for_ever = !source->restart_backoff.has_value();
  source->run = [this, waits, fails, fails_for_ever,
                 run = 0](SourceContext<Key>& context) mutable -> absl::Status {
    ++run;
    ++sources_running_;
    const absl::Cleanup ended = [this] { --sources_running_; };
    AddFromSource(context);
    if (fails && run == 1) {
      has_failed_ |= fails_for_ever && waits;
      return absl::UnavailableError("no server");  // and never in sync
    }
    if (waits && run <= 2) ++synced_;
    context.mark_synced();
    for (int n = Choose(2); n > 0; --n) {
      if (!context.Sleep(absl::Milliseconds(500))) break;
      context.queue.Add(AnyKey());
    }
    if (OneIn(2)) context.Sleep(absl::InfiniteDuration());
    return absl::OkStatus();
  };
}

void ControllerLife::GiveNoThread(Source<Key>* source, bool fails) {
  const bool waits = source->wait_for_sync;
  // Those that the stop ends.
  const auto ends = std::make_shared<std::vector<SourceDone>>();
  const auto end_all = [ends] {
    std::vector<SourceDone> all;
    all.swap(*ends);
    for (const SourceDone& done : all) done(absl::OkStatus());
  };
  source->on_stop = end_all;
  const bool is_awaited = waits && !source->restart_backoff.has_value();
  source->run_async = [this, waits, fails, is_awaited, ends, end_all, run = 0](
                          std::shared_ptr<SourceContext<Key>> context,
                          SourceDone done) mutable {
    ++run;
    ++sources_running_;
    done = [this, done = std::move(done)](const absl::Status& status) {
      --sources_running_;
      done(status);
    };
    AddFromSource(*context);
    if (fails && run == 1) {
      const auto fail = [this, done = std::move(done), is_awaited] {
        has_failed_ |= is_awaited;
        done(absl::UnavailableError("no server"));
      };
      if (OneIn(2)) return fail();
      completers_.Start([fail] {
        simulation::Sleep(absl::Milliseconds(200));
        fail();
      });
      return;
    }
    if (waits && run <= 2) ++synced_;
    context->mark_synced();
    switch (Choose(3)) {
      case 0:
        ends->push_back(std::move(done));
        if (context->stop.HasBeenNotified()) end_all();
        break;
      case 1:
        done(absl::OkStatus());
        break;
      default:
        completers_.Start([done = std::move(done)] {
          simulation::Sleep(absl::Milliseconds(500));
          done(absl::OkStatus());
        });
    }
  };
}

Source<std::string> ControllerLife::TermSource() {
  Source<Key> source;
  source.name = "term";
  source.term = [this] { return term_; };
  source.run = [this](SourceContext<Key>& context) {
    uint64_t seen = 0;
    while (true) {
      seen = term_changed_.AwaitOther(seen);
      if (context.stop.HasBeenNotified()) return absl::OkStatus();
      context.wake_workers();
    }
  };
  source.on_stop = [this] { term_changed_.Notify(); };
  return source;
}

void ControllerLife::SetTerm(bool leads) {
  term_ = leads ? ++last_term_ : 0;
  no_term_ = false;
  term_changed_.Notify();
}

void ControllerLife::Add(const Key& key) {
  RateLimitingInterface<Key>& queue = controller_->queue();
  const int64_t begin = NextEvent();
  Item& item = items_[key];
  Note("add ", key, " at ", begin);
  switch (Choose(6)) {
    case 4:
      item.waits = true;
      if (queue.AddAfter(key, absl::Milliseconds(300))) {
        item.owed = (std::max)(item.owed, begin);
      }
      break;
    case 5:
      item.waits = true;
      item.counted = false;
      if (queue.AddRateLimited(key)) {
        item.owed = (std::max)(item.owed, begin);
      }
      break;
    default:
      if (queue.Add(key)) item.added = (std::max)(item.added, begin);
      break;
  }
}

void ControllerLife::AddSome() {
  for (int n = 1 + Choose(3); n > 0; --n) Add(AnyKey());
}

void ControllerLife::Begin(const Key& key, int failures, int64_t token) {
  Check(!destroyed_, "a reconciliation begins after the end");
  Check(!stopped_ && !over_, "a reconciliation begins after the stop");
  Check(starting_, "a reconciliation begins before the start");
  Check(!no_term_, "a reconciliation begins without a term");
  Item& item = items_[key];
  Check(++item.running == 1, "an item is reconciled twice at a time");
  Check(++running_ <= max_running_, "too many are reconciled");
  if (options_.shared) {
    Check(token > item.token, "the tokens of an item do not grow");
    item.token = token;
  }
  if (options_.stands_by && !options_.shared) {
    Check(token >= 0 && token <= last_term_, "there is no such term");
  }
  if (item.counted && !stopping_ && !options_.stands_by && !options_.shared) {
    Check(failures == item.failures, "the failures are counted wrongly");
  }
  item.begun = NextEvent();
  Note("begin ", key, " at ", item.begun);
}

ControllerLife::Outcome ControllerLife::ChooseOutcome() {
  Outcome outcome;
  const int kind = trouble_ > 0 ? Choose(12) : 0;
  if (kind <= 3) return outcome;
  --trouble_;
  ReconcileResult result;
  switch (kind) {
    case 4:
    case 5:
      outcome.result = absl::UnavailableError("fails");
      break;
    case 6:
      outcome.result = RetryAfterError(absl::UnavailableError("later"),
                                       absl::Milliseconds(400));
      break;
    case 7:
      outcome.result = TerminalError(absl::InternalError("fails for ever"));
      break;
    case 8:
      result.requeue_after = absl::Milliseconds(Choose(2) == 0 ? 600 : -1);
      outcome.result = result;
      break;
    case 9:
      outcome.result = ReconcileResult::NotNow(absl::ZeroDuration());
      break;
    case 10:
      outcome.result = ReconcileResult::NotNow(absl::Milliseconds(200));
      break;
    default:
      (options_.async ? outcome.drops : outcome.throws) = true;
      outcome.result = absl::AbortedError("");
      break;
  }
  return outcome;
}

void ControllerLife::End(const Key& key, const Outcome& outcome) {
  Item& item = items_[key];
  Check(--item.running == 0, "an item is reconciled twice at a time");
  --running_;
  Note("end ", key, " ", outcome.result.status().ToString());
  const absl::StatusOr<ReconcileResult>& result = outcome.result;
  if (result.ok() && result->not_now) {
    item.owed = NextEvent();
    item.waits |= result->requeue_after > absl::ZeroDuration();
    return;
  }
  if (result.ok() && result->requeue_after != absl::ZeroDuration()) {
    item.owed = NextEvent();
    item.waits |= result->requeue_after > absl::ZeroDuration();
  }
  if (result.ok() || IsTerminalError(result.status())) {
    item.failures = 0;
    return;
  }
  item.owed = NextEvent();
  item.waits = true;
  ++item.failures;
  if (parks_) item.counted = false;
}

absl::StatusOr<ReconcileResult> ControllerLife::Reconcile(
    const Key& key, const ReconcileContext& context) {
  Begin(key, context.failures, context.token);
  switch (Choose(8)) {
    case 4:
      simulation::Sleep(absl::Milliseconds(700));
      break;
    case 5:
      if (!stopping_) AddSome();
      break;
    case 6:
      // As long as it may.
      if (timed_ || options_.stands_by) {
        for (int i = 0; i < 8 && !context.Cancelled(); ++i) {
          simulation::Sleep(absl::Milliseconds(250));
        }
        Check(!timed_ || context.Cancelled(), "a deadline does not come");
      }
      break;
    case 7:
      if (!options_.shared && OneIn(4)) {
        stopping_ = stops_itself_ = true;
        Check(!controller_->Stop(), "it stops itself, and waits");
      } else {
        items_[key].counted = false;
        controller_->Forget(key);
      }
      break;
    default:
      break;
  }
  const Outcome outcome = ChooseOutcome();
  const bool is_error = !outcome.result.ok();
  const bool gives_back = is_error &&
                          !IsTerminalError(outcome.result.status()) &&
                          (context.stop.HasBeenNotified() || context.Lost());
  End(key, outcome);
  if (gives_back) items_[key].given_back = NextEvent();
  if (outcome.throws) throw std::runtime_error("thrown");
  return outcome.result;
}

void ControllerLife::ReconcileAsync(const Key& key,
                                    const AsyncReconcileContext& context,
                                    ReconcileCompletion done) {
  Begin(key, context.failures(), context.token());
  const auto call = std::make_shared<Call>(
      Call{key, context, std::move(done), ChooseOutcome()});
  calls_.push_back(call);
  const int kind = Choose(8);
  if (kind == 7 && OneIn(2)) {
    call->outcome.drops = true;
    call->outcome.result = absl::AbortedError("");
    End(key, call->outcome);
    call->ended = true;
    call->done = ReconcileCompletion();
    throw std::runtime_error("thrown");
  }
  const bool twice = !call->outcome.drops && OneIn(3);
  if (kind == 5 && timed_) {
    // Only the end of its time completes it.
    call->on_cancel = true;
    context.OnCancel([this, call] {
      Check(!call->cancelled, "a reconciliation is cancelled twice");
      call->cancelled = true;
      completers_.Start([this, call] { Complete(call); });
    });
    if (!twice) return;
  }
  if (!timed_ && options_.stands_by) {
    // The end of its term cancels it.
    call->on_cancel = true;
    context.OnCancel([call] { call->cancelled = true; });
  }
  switch (kind) {
    case 0:
      Complete(call);
      break;
    case 6:
      completers_.Start([this, call] {
        simulation::Sleep(absl::Milliseconds(700 + 2000 * Choose(2)));
        Complete(call);
      });
      break;
    default:
      completers_.Start([this, call] { Complete(call); });
      break;
  }
  if (twice) completers_.Start([this, call] { Complete(call); });
}

void ControllerLife::Complete(const std::shared_ptr<Call>& call) {
  if (!call->ended) {
    call->ended = true;
    End(call->key, call->outcome);
  }
  if (call->outcome.drops) {
    call->done = ReconcileCompletion();
    return;
  }
  const ReconcileCompletion done = call->done;
  ++call->completing;
  const bool was_destroyed = destroyed_;
  const bool taken = done(call->outcome.result);
  --call->completing;
  if (taken) {
    Check(++call->taken == 1, "a result is taken twice");
    Check(!was_destroyed, "a result is taken after the end");
  } else {
    Check(call->taken + call->completing > 0 || stopping_,
          "a result is not taken");
  }
}

void ControllerLife::Look() {
  switch (Choose(5)) {
    case 0:
      controller_->Healthy().IgnoreError();
      break;
    case 1:
      controller_->TakeSnapshot().IgnoreError();
      break;
    case 2: {
      const Key key = AnyKey();
      const int64_t begin = NextEvent();
      const absl::StatusOr<bool> unparked = controller_->failures().Unpark(key);
      Item& item = items_[key];
      item.counted = false;
      if (unparked.ok() && *unparked && !controller_->queue().ShuttingDown()) {
        item.owed = (std::max)(item.owed, begin);
      }
      break;
    }
    case 3: {
      const Key key = AnyKey();
      items_[key].counted = false;
      controller_->Forget(key);
      break;
    }
    default:
      if (options_.stands_by) {
        SetTerm(term_ == 0);
      }
      break;
  }
}

void ControllerLife::Break() {
  MemoryEngine::Faults faults;
  switch (Choose(5)) {
    case 0:
      faults.away = true;
      break;
    case 1:
      faults.loses_answers = true;
      break;
    case 2:
      faults.seed = 1 + Choose(200);
      break;
    case 3:
      faults.request_delay = faults.answer_delay = absl::Milliseconds(100);
      break;
    default:
      engine_->Restart();
      return;
  }
  engine_->SetFaults(faults);
  simulation::Sleep(absl::Milliseconds(200 + 3000 * Choose(2)));
  engine_->SetFaults({});
}

// Waits for the callback if that is how it starts.
absl::Status ControllerLife::Start() {
  ++starts_;
  const absl::Cleanup started = [this] { --starts_; };
  if (loop_ == nullptr || OneIn(2)) return controller_->Start();
  const auto told = std::make_shared<sync::Notification>();
  absl::Status result;
  const absl::Status begun =
      controller_->StartAsync([told, &result](const absl::Status& status) {
        result = status;
        told->Notify();
      });
  if (!begun.ok()) return begun;
  told->WaitForNotification();
  return result;
}

bool ControllerLife::Stop(absl::Duration timeout) {
  is_patient_ &= timeout == absl::InfiniteDuration();
  ++stops_;
  const absl::Cleanup stopped = [this] { --stops_; };
  if (loop_ == nullptr || OneIn(2)) return controller_->Stop(timeout);
  const auto told = std::make_shared<sync::Notification>();
  bool result = false;
  const absl::Status begun =
      controller_->StopAsync(timeout, [told, &result](bool stopped) {
        result = stopped;
        told->Notify();
      });
  Check(begun.ok(), begun.message());
  told->WaitForNotification();
  return result;
}

void ControllerLife::CheckCalls() {
  if (options_.shared) return;  // They ask the engine.
  Check(starts_ == 0 || (synced_ < awaited_ && stops_ == 0 && !has_failed_),
        "a start goes on that is over");
  if (stops_ == 0 || !started_ || starts_ > 0) return;
  if (sources_running_ > 0 || running_ > 0) return;
  const absl::StatusOr<Snapshot<Key>> snapshot = controller_->TakeSnapshot();
  Check(snapshot.ok(), "a snapshot fails");
  // What an asynchronous one has not ended is processed still.
  Check(snapshot->num_queued + snapshot->num_processing > 0,
        "a stop goes on that is over");
}

void ControllerLife::AwaitIdle() {
  const int64_t begin = NextEvent();
  controller_->AwaitIdle();
  if (stopping_) return;
  for (const auto& [key, item] : items_) {
    Check(item.running == 0 || item.begun > begin,
          "an item is reconciled though all is idle");
    // A source may be about to add one, and one that cannot be decoded waits.
    Check(item.added > begin || item.begun > item.added || parks_ ||
              num_sources_ > 0 || options_.shared,
          "an item is queued though all is idle");
  }
}

void ControllerLife::StopOnce(absl::Duration timeout) {
  stopping_ = true;
  const int64_t begin = NextEvent();
  const bool leads = term_ != 0;
  Note("stop within ", absl::FormatDuration(timeout), " at ", begin);
  const bool stopped = Stop(timeout);
  stop_returned_ = true;
  Check(absl::IsCancelled(controller_->Healthy()) || !started_,
        "a controller that is stopped is healthy");
  if (stopped || timeout == absl::InfiniteDuration()) {
    Check(sources_running_ == 0, "a source runs after the stop");
  }
  if (started_ && is_patient_ && !stops_itself_ && !options_.stands_by &&
      !options_.shared) {
    Check(stopped, "a stop that waits for ever leaves something");
  }
  if (!stopped || options_.stands_by) return;
  // Others may have what this process has had for too long.
  if (options_.shared && !endless_) return;
  Check(running_ == 0, "a reconciliation goes on after the stop");
  stopped_ = true;
  if (!started_ || options_.shared || !leads) return;
  for (const auto& [key, item] : items_) {
    Check(item.added > begin || item.begun > item.added || parks_,
          "an item is not reconciled before the stop");
  }
}

// Returns what is wrong, or nothing.
std::string ControllerLife::Lost(const Snapshot<Key>& snapshot, bool strictly) {
  const auto parked = controller_->failures().Parked(100);
  for (const auto& [key, item] : items_) {
    bool is_queued = false;
    bool waits = false;
    bool is_processed = false;
    for (const auto& it : snapshot.queued) is_queued |= it.item == key;
    for (const auto& it : snapshot.waiting) waits |= it.item == key;
    for (const auto& it : snapshot.processing) {
      if (it.item != key) continue;
      is_processed = true;
      if (item.running > 0 && item.added > item.begun && !it.added_again) {
        return "an item that is added meanwhile is not reconciled again";
      }
    }
    bool is_parked = false;
    if (parks_ && parked.ok()) {
      for (const auto& it : *parked) is_parked |= it.item == key;
    }
    if (is_parked || is_queued || is_processed) continue;
    if (item.begun < item.given_back && !options_.shared) {
      return absl::StrCat("an item is not given back: ", key);
    }
    if (item.begun < item.added &&
        !(waits && (item.waits || options_.shared))) {
      return absl::StrCat("an item that was added is lost: ", key);
    }
    if (strictly && item.begun < item.owed && !waits) {
      return absl::StrCat("an item that was to come again is lost: ", key);
    }
  }
  return "";
}

// Fails if something is wrong for longer than a queue in an engine collects
// what it sends or, after faults, than a lease and a retry may take.
void ControllerLife::CheckRest() {
  const absl::Duration pause =
      endless_ ? absl::Milliseconds(10) : absl::Seconds(10);
  for (int tries = options_.shared ? 12 : 1;; simulation::Sleep(pause)) {
    std::string error;
    AtRest([&] { error = RestError(); });
    if (error.empty()) return;
    Check(--tries > 0, error);
  }
}

std::string ControllerLife::RestError() {
  over_ = stop_returned_;
  if (metrics_ != nullptr) {
    Check(metrics_->active_workers() == running_,
          "the metric of active workers is wrong");
  }
  if (broken_) return "";
  looks_ = true;
  const absl::StatusOr<Snapshot<Key>> snapshot = controller_->TakeSnapshot();
  looks_ = false;
  Check(snapshot.ok(), "a snapshot fails");
  Note("rest: ", snapshot->num_queued, " queued, ", snapshot->num_processing,
       " processed, ", snapshot->num_waiting, " wait, ", running_, " run");
  no_term_ = options_.stands_by && term_ == 0 && started_ && !stopping_ &&
             !options_.shared;
  if (started_ && !stopping_ && snapshot->num_processing != running_) {
    return "the queue and the controller do not agree";
  }
  if (started_ && !stopping_ && term_ != 0) {
    if (snapshot->num_queued > 0 && running_ < max_running_) {
      return "a worker waits while an item is queued";
    }
    for (const auto& it : snapshot->waiting) {
      if (it.ready_at <= snapshot->taken_at) return "an item waits that is due";
    }
    const absl::Status healthy = controller_->Healthy();
    if (!healthy.ok() && num_sources_ == 0) return healthy.ToString();
  }
  if (stopping_) return "";
  for (const std::shared_ptr<Call>& call : calls_) {
    Check(
        !call->on_cancel || call->ended || call->cancelled ||
            call->context.Remaining() > absl::ZeroDuration(),
        "a reconciliation is not cancelled when its time or its term is over");
    Check(call->context.Cancelled() || !call->ended, "a call goes on");
    Check(call->context.Cancelled() ||
              call->context.Remaining() > absl::ZeroDuration(),
          "a deadline does not cancel");
  }
  return Lost(*snapshot, /*strictly=*/true);
}

void ControllerLife::DrainShared() {
  if (!options_.shared) return;
  engine_->SetFaults({});
  looks_ = true;
  const auto queue = NewSharedQueue("d");
  for (int empty = 0; empty < 100;) {
    const absl::StatusOr<Key> key = queue->GetWithTimeout(absl::Seconds(60));
    if (!key.ok()) {
      Check(absl::IsDeadlineExceeded(key.status()), "a shared queue ends");
      const absl::StatusOr<Snapshot<Key>> left = queue->TakeSnapshotUpTo(0);
      Check(left.ok(), "a snapshot fails");
      if (left->num_queued + left->num_processing + left->num_waiting == 0) {
        break;
      }
      Check(++empty < 100, "a shared queue does not hand out its items");
      continue;
    }
    items_[*key].begun = NextEvent();
    queue->Done(*key);
  }
  for (const auto& [key, item] : items_) {
    Check(item.begun > item.added || parks_ || item.kept,
          "an item that was added is lost");
    Check(item.begun > item.owed || parks_ || options_.faults,
          "an item is lost that was to be tried again");
  }
}

void ControllerLife::Live() {
  for (int i = 1 + Choose(3); i > 0; --i) {
    keys_.push_back(std::string(1, static_cast<char>('a' + keys_.size())));
  }
  auto made = Controller<Key>::Create(MakeOptions());
  Check(made.ok(), made.status().message());
  owner_ = *std::move(made);
  controller_ = owner_.get();
  if (options_.stands_by && OneIn(2)) SetTerm(false);
  {
    Threads others;
    for (int i = 1 + Choose(2); i > 0; --i) others.Start([this] { AddSome(); });
    if (OneIn(2)) others.Start([this] { Look(); });
    if (options_.stands_by) {
      others.Start([this] {
        for (int n = 1 + Choose(3); n > 0; --n) {
          SetTerm(term_ == 0 || OneIn(2));
        }
      });
    }
    if (OneIn(3)) {
      others.Start([this] {
        StopOnce(Choose(3) == 0   ? absl::InfiniteDuration()
                 : Choose(2) == 0 ? absl::ZeroDuration()
                                  : absl::Seconds(1));
      });
    }
    if (OneIn(3)) others.Start([this] { AtRest([this] { CheckCalls(); }); });
    if (options_.faults) {
      broken_ = true;
      others.Start([this] {
        for (int n = 1 + Choose(2); n > 0; --n) Break();
      });
    }
    if (!OneIn(10)) {
      starting_ = true;
      const bool was_stopped = stop_returned_;
      const absl::Status status = Start();
      started_ = status.ok();
      if (started_) {
        Check(!was_stopped, "it starts after its end");
        Check(!controller_->Start().ok(), "it starts twice");
        Check(synced_ >= awaited_, "a source is not in sync");
      } else {
        Check(stopping_ || num_sources_ > 0, status.message());
        stopping_ = true;
      }
    }
    if (!options_.faults) CheckRest();
  }
  if (options_.faults) {
    broken_ = false;
  }
  CheckRest();
  for (int n = Choose(4); n > 0 && !stopping_; --n) {
    switch (Choose(4)) {
      case 0:
        AddSome();
        break;
      case 1:
        Look();
        break;
      case 2:
        simulation::Sleep(absl::Milliseconds(500 + 2000 * Choose(2)));
        break;
      default:
        // Somebody else may keep it from being idle for ever.
        if (started_ && !options_.stands_by && (!options_.shared || endless_)) {
          AwaitIdle();
        }
        break;
    }
    CheckRest();
  }
  if (!OneIn(4)) {
    Threads others;
    if (OneIn(3)) others.Start([this] { AddSome(); });
    if (OneIn(4)) others.Start([this] { StopOnce(absl::Milliseconds(400)); });
    // A stop ends it.
    if (started_ && !options_.shared && !options_.stands_by && OneIn(4)) {
      others.Start([this] { controller_->AwaitIdle(); });
    }
    if (OneIn(2)) others.Start([this] { AtRest([this] { CheckCalls(); }); });
    StopOnce(Choose(2) == 0 ? absl::InfiniteDuration() : absl::Seconds(1));
  }
  AtRest([this] { over_ = stop_returned_; });
  if (over_ && started_ && !options_.shared) {
    const auto snapshot = controller_->TakeSnapshot();
    Check(snapshot.ok(), "a snapshot fails");
    Check(snapshot->num_processing == 0 || !stopped_,
          "an item is processed after the stop");
    for (const std::shared_ptr<Call>& call : calls_) {
      Check(stopped_ || !call->on_cancel || call->ended || call->cancelled,
            "a reconciliation is not cancelled at the end of a stop");
    }
    const std::string lost = Lost(*snapshot, /*strictly=*/false);
    Check(lost.empty(), lost);
  }
  stopping_ = true;
  Note("destroys it");
  // The destructor calls the callbacks that wait.
  int told = 0;
  int expected = 0;
  if (loop_ != nullptr && OneIn(2)) {
    if (!starting_ && OneIn(2)) {
      starting_ = true;
      if (controller_->StartAsync([&told](const absl::Status&) { ++told; })
              .ok()) {
        ++expected;
      }
    }
    ++expected;
    controller_->StopAsync(absl::InfiniteDuration(), [&told](bool) { ++told; })
        .IgnoreError();
  }
  owner_.reset();
  destroyed_ = true;
  if (runner_.joinable()) {
    parker_->Unpark();
    runner_.join();
  }
  loop_.reset();
  Check(told == expected, "a callback of a start or a stop is not called");
  Check(metrics_ == nullptr || metrics_->running_sources() == 0,
        "a source runs after the end");
  completers_.Join();
  for (const std::shared_ptr<Call>& call : calls_) {
    Check(call->ended, "a reconciliation does not end");
    Check(call->context.Cancelled(), "a call goes on after the end");
  }
  DrainShared();
  calls_.clear();
  executor_.reset();
}

}  // namespace workqueue
