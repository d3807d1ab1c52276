// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/internal/async_workers.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/gate.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/trampoline.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller_options.h"
#include "workqueue/controller/internal/controller_core.h"
#include "workqueue/controller/internal/leased_item.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/executor.h"
#include "workqueue/internal/submit_task.h"
#include "workqueue/loop_executor.h"
#include "workqueue/thread_pool.h"
#include "workqueue/timer/scheduler.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::internal {
namespace {

// The most threads that call a queue on an engine. Such a queue sends one
// request at a time, with all calls that wait. So each request ends up to so
// many items.
constexpr size_t kEngineThreads = 8;

// How often to look for leases and terms that are lost.
constexpr absl::Duration kLookForLost = absl::Seconds(1);

// The object whose reconcile function the calling thread runs, or null.
thread_local const AsyncWorkers* running = nullptr;

absl::Status MakePool(const ControllerOptionsBase& options, Clock* clock,
                      size_t threads, std::unique_ptr<Executor>* pool) {
  ThreadPoolOptions pool_options;
  pool_options.name = options.name;
  pool_options.threads = threads;
  pool_options.clock = clock;
  pool_options.log_sink = options.log_sink;
  auto made = ThreadPool::Create(std::move(pool_options));
  if (made.ok()) *pool = *std::move(made);
  return made.status();
}

}  // namespace

struct AsyncGate {
  Gate gate;
  AsyncWorkers* workers;
};

absl::StatusOr<std::shared_ptr<AsyncWorkers>> MakeAsyncWorkers(
    const ControllerOptionsBase& options, const GivenOptions& given) {
  if (!given.reconcile_async) return nullptr;
  const std::shared_ptr<AsyncWorkers> workers(
      new AsyncWorkers(options.max_in_flight));
  Clock* const clock = ClockOf(options, given.queue_clock);
  absl::Status status;
  const std::shared_ptr<WaitingLoop> driven = options.clock.DrivenLoop();
  workers->on_driven_loop_ = driven != nullptr && !given.shared;
  if (options.executor == nullptr && driven != nullptr) {
    auto executor = std::make_unique<LoopExecutor>(driven, options.log_sink);
    workers->loop_executor_ = executor.get();
    workers->pool_ = std::move(executor);
  } else if (options.executor == nullptr) {
    status = MakePool(options, clock, options.workers, &workers->pool_);
    if (!status.ok()) {
      status = absl::Status(status.code(),
                            absl::StrCat("workers: ", status.message()));
    }
  }
  if (status.ok() && given.shared) {
    status = MakePool(options, clock,
                      std::min(options.max_in_flight, kEngineThreads),
                      &workers->engine_calls_);
  }
  if (!status.ok()) return status;
  workers->executor_ =
      workers->pool_ != nullptr ? workers->pool_.get() : options.executor;
  const bool timed = options.reconcile_timeout < absl::InfiniteDuration();
  workers->looks_for_lost_ = given.shared || given.term;
  if (!timed && !workers->looks_for_lost_ && driven == nullptr) return workers;
  SchedulerOptions scheduler_options;
  scheduler_options.name = options.name;
  if (driven != nullptr) {
    scheduler_options.clock = driven;
  } else {
    scheduler_options.clock = clock;
    scheduler_options.workers = 1;
  }
  scheduler_options.log_sink = options.log_sink;
  auto deadlines = Scheduler::Create(std::move(scheduler_options));
  if (!deadlines.ok()) return deadlines.status();
  workers->deadlines_ = *std::move(deadlines);
  return workers;
}

AsyncWorkers::AsyncWorkers(size_t max_in_flight)
    : max_in_flight_(max_in_flight), gate_(std::make_shared<AsyncGate>()) {
  gate_->workers = this;
}

AsyncWorkers::~AsyncWorkers() = default;

bool Flight::LeaseLost() const {
  return leased().lost() || gate_->workers->core_->HasLostTerm(info().term);
}

bool Flight::OnComplete(absl::StatusOr<ReconcileResult> result) {
  const Gate::Pass pass(&gate_->gate);
  if (pass) gate_->workers->End(shared_from_this(), result);
  return static_cast<bool>(pass);
}

void Flight::OnCompletedTwice() {
  const Gate::Pass pass(&gate_->gate);
  if (!pass) return;
  gate_->workers->core_->queue_errors().Write(
      [] { return "completing a reconciliation"; },
      absl::Status(absl::StatusCode::kFailedPrecondition,
                   "it has been completed before"));
}

bool AsyncWorkers::RunsThisThread() const { return running == this; }

void AsyncWorkers::Start() {
  if (looks_for_lost_) {
    // Without memory for a task, the function must ask `Cancelled()`.
    TryCall([this] {
      deadlines_->ScheduleEvery([this] { CancelFlights(); }, kLookForLost)
          .IgnoreError();
    });
  }
  AcquireMore();
}

bool AsyncWorkers::MayAcquire() const {
  const size_t most = engine_calls_ != nullptr ? kEngineThreads : 1;
  return !stopped_acquiring_ && !standing_by_ && !retries_acquire_ &&
         acquiring_ < most && in_flight_.size() + acquiring_ < max_in_flight_;
}

void AsyncWorkers::AcquireMore() {
  size_t more = 0;
  {
    MutexLock lock(&mu_);
    for (; MayAcquire(); ++more) ++acquiring_;
  }
  for (; more > 0; --more) Acquire(nullptr);
}

void AsyncWorkers::Acquire(LeasedItem* ended) {
  const absl::Status status =
      CatchAsStatus([&] { core_->AcquireNextAsync(ended, caller(), gate_); });
  if (!status.ok()) RetryAcquire(status);
}

void ControllerCore::OnAcquired(const std::shared_ptr<AsyncGate>& to,
                                const absl::Status& status, LeasedItem& item) {
  // Open, because AsyncWorkers::Close() waits until nothing is being acquired.
  const Gate::Pass pass(&to->gate);
  to->workers->OnAcquired(status, item);
}

void AsyncWorkers::RetryAcquire(const absl::Status& error) {
  const bool waits = !core_->IsOfOneItem(error);
  if (waits) core_->cannot_acquire().Lasts(error);
  if (on_driven_loop_) {
    {
      MutexLock lock(&mu_);
      acquires_later_ = true;
    }
    if (CallLater([gate = gate_] {
          const Gate::Pass pass(&gate->gate);
          if (!pass) return;
          {
            MutexLock lock(&gate->workers->mu_);
            gate->workers->acquires_later_ = false;
          }
          gate->workers->AcquireAgain();
        })) {
      return;
    }
    MutexLock lock(&mu_);
    acquires_later_ = false;
  }
  {
    MutexLock lock(&mu_);
    if (std::exchange(retries_acquire_, true)) {
      EndAcquire();  // One thread at most waits.
      return;
    }
  }
  const auto retry = [gate = gate_, waits = waits && !on_driven_loop_] {
    const Gate::Pass pass(&gate->gate);  // Open, as in Acquire().
    AsyncWorkers* const self = gate->workers;
    if (waits) self->core_->AwaitRetry(self->core_->abandoning());
    {
      MutexLock lock(&self->mu_);
      self->retries_acquire_ = false;
    }
    self->AcquireAgain();
  };
  SubmitTask(caller(), retry);  // Only such a thread may block.
}

bool AsyncWorkers::CallLater(absl::AnyInvocable<void()> retry) {
  bool later = false;
  TryCall([&] {
    later = deadlines_->ScheduleOnce(std::move(retry), RetryDelay()).ok();
  });
  return later;
}

void AsyncWorkers::AcquireAgain() {
  if (core_->abandoning().HasBeenNotified()) {
    StopAcquiring();
  } else {
    Acquire(nullptr);
  }
}

void AsyncWorkers::OnAcquired(const absl::Status& status, LeasedItem& item) {
  if (absl::IsCancelled(status)) {
    StopAcquiring();
    return;
  }
  if (status.ok()) core_->cannot_acquire().Over();
  const int64_t term = core_->Term();
  if (status.ok() && core_->StandsBy(term)) {
    core_->GiveBack(item);
    core_->stopping().HasBeenNotified() ? StopAcquiring() : StandBy();
    return;
  }
  if (core_->abandoning().HasBeenNotified()) {
    if (status.ok()) core_->GiveBack(item);
    StopAcquiring();
    return;
  }
  if (!status.ok()) {
    RetryAcquire(status);
    return;
  }
  if (!core_->ShouldProcess(item)) {
    Acquire(&item);
    core_->OnItemDone();
    return;
  }
  FlightPtr flight;
  const absl::Status made = CatchAsStatus(
      [&] { flight = item.TakeOff(gate_, core_->InfoOf(item, term)); });
  if (!made.ok()) {
    core_->GiveBack(item);
    RetryAcquire(made);
    return;
  }
  {
    MutexLock lock(&mu_);
    flight->self_ = flight;
    in_flight_.PushBack(flight.get());
    EndAcquire();
  }
  // Before the reconcile function is called, which may take a while.
  AcquireMore();
  if (engine_calls_ == nullptr) {
    Begin(flight);
    return;
  }
  SubmitTask(executor_, [gate = gate_, flight] {
    const Gate::Pass pass(&gate->gate);
    if (pass) gate->workers->Begin(flight);
  });
}

void AsyncWorkers::Cancel(const FlightPtr& flight) {
  core_->queue_errors().Try([] { return "cancelling a reconciliation"; },
                            [&flight] { flight->Cancel(); });
}

void AsyncWorkers::Begin(const FlightPtr& flight) {
  if (core_->abandoning().HasBeenNotified() ||
      core_->HasLostTerm(flight->info().term)) {
    // It has waited for the executor too long. The item is given back.
    flight->Complete(absl::Status(absl::StatusCode::kCancelled, ""));
    return;
  }
  flight->begun_ = true;
  core_->OnBegin(flight->leased());
  const absl::Duration remaining = flight->Remaining();
  if (remaining <= absl::ZeroDuration()) {
    Cancel(flight);  // Its time or its lease is over.
  } else if (remaining < absl::InfiniteDuration()) {
    // Without memory for a task, the function must observe its deadline.
    TryCall([&] {
      auto task = deadlines_->ScheduleOnce(
          [flight] { flight->gate_->workers->Cancel(flight); }, remaining);
      if (task.ok()) flight->deadline_ = *task;
    });
    // The clock may have been set meanwhile: the task has a delay.
    if (flight->Remaining() <= absl::ZeroDuration()) Cancel(flight);
  }
  // If the function throws, its argument is no dropped completion.
  const ReconcileCompletion held(flight);
  const AsyncWorkers* const outer = std::exchange(running, this);
  const absl::Status status = CatchAsStatus([&flight] {
    flight->Start(AsyncReconcileContext(flight), ReconcileCompletion(flight));
  });
  running = outer;
  if (status.ok()) return;
  if (flight->TakeEnd()) {
    flight->threw_ = true;
    flight->OnComplete(status);
    return;
  }
  core_->queue_errors().Write(
      [] { return "a reconcile function after its completion"; }, status);
}

void AsyncWorkers::End(const FlightPtr& flight,
                       const absl::StatusOr<ReconcileResult>& result) {
  if (deadlines_ != nullptr) deadlines_->Cancel(flight->deadline_);
  if (flight->begun_) {
    flight->after_ =
        core_->OnEnd(flight->leased(), flight->info(), flight->threw_, result);
  } else {
    flight->after_.give_back = true;
  }
  if (engine_calls_ != nullptr) {
    {
      MutexLock lock(&mu_);
      ++ending_;
      ++unanswered_;
    }
    SubmitTask(engine_calls_.get(), [this, flight] { CallEnd(flight); });
    return;
  }
  if (core_->TryEnd(flight->leased(), flight->after_)) {
    EndLease(flight);
    return;
  }
  // The queue does not take the item. Only a thread of the executor may block.
  if (on_driven_loop_) {
    RetryEndLater(flight);
    return;
  }
  const auto retry = [flight, gate = gate_] {
    const Gate::Pass pass(&gate->gate);
    if (!pass) return;
    gate->workers->core_->RetryEnd(flight->leased(), flight->after_);
    gate->workers->EndLease(flight);
  };
  SubmitTask(executor_, retry);
}

void AsyncWorkers::RetryEndLater(const FlightPtr& flight) {
  const auto retry = [flight, gate = gate_] {
    const Gate::Pass pass(&gate->gate);
    if (!pass) return;
    if (gate->workers->core_->TryEnd(flight->leased(), flight->after_)) {
      gate->workers->EndLease(flight);
    } else {
      gate->workers->RetryEndLater(flight);
    }
  };
  if (!CallLater(retry)) SubmitTask(executor_, retry);
}

void AsyncWorkers::CallEnd(const FlightPtr& flight) {
  if (core_->TryEnd(flight->leased(), flight->after_)) {
    EndLease(flight);
    MutexLock lock(&mu_);
    if (--ending_ == 0) none_ending_.SignalAll();
    return;
  }
  {
    MutexLock lock(&mu_);
    flight->next_retry_ = std::move(retries_);
    retries_ = flight;
    if (flight->next_retry_ != nullptr) return;
  }
  SubmitTask(engine_calls_.get(), [this] { RetryEnds(); });
}

void AsyncWorkers::RetryEnds() {
  core_->AwaitRetry(core_->stopping());
  FlightPtr flight;
  {
    MutexLock lock(&mu_);
    flight = std::move(retries_);
  }
  // When the last one has been submitted, Close() may return.
  while (flight != nullptr) {
    FlightPtr next = std::move(flight->next_retry_);
    SubmitTask(engine_calls_.get(), [this, flight] { CallEnd(flight); });
    flight = std::move(next);
  }
}

void AsyncWorkers::EndLease(const FlightPtr& flight) {
  bool acquire = false;
  {
    MutexLock lock(&mu_);
    in_flight_.Remove(flight.get());
    flight->self_.reset();  // `flight` is another owner.
    if (engine_calls_ == nullptr) ++unanswered_;
    acquire = MayAcquire();
    if (acquire) ++acquiring_;
  }
  if (acquire) {
    Acquire(&flight->leased());
  } else {
    core_->EndLease(flight->leased());
  }
  {
    MutexLock lock(&mu_);
    --unanswered_;
    // The end has queued the item if it was added meanwhile. In memory, perhaps
    // nobody waits any more, or is about to learn that the queue had been
    // closed and empty.
    const bool looks = !acquire && engine_calls_ == nullptr;
    acquire =
        looks && stopped_acquiring_ && !core_->abandoning().HasBeenNotified();
    if (acquire) ++acquiring_;
    if (looks && !acquire) ends_uncollected_ = true;
  }
  if (acquire) Acquire(nullptr);
  core_->OnItemDone();
  EndIfOver();
}

void AsyncWorkers::StandBy() {
  {
    MutexLock lock(&mu_);
    if (std::exchange(standing_by_, true)) {
      EndAcquire();
      return;
    }
  }
  // A change before that has not been noticed.
  if (!core_->StandsBy() || core_->stopping().HasBeenNotified()) GoOn();
}

void AsyncWorkers::GoOn() {
  {
    MutexLock lock(&mu_);
    if (!std::exchange(standing_by_, false)) return;
  }
  SubmitTask(caller(), [gate = gate_] {
    const Gate::Pass pass(&gate->gate);  // Open, as in Acquire().
    AsyncWorkers* const self = gate->workers;
    if (!self->core_->StandsBy()) {
      self->Acquire(nullptr);
    } else if (self->core_->stopping().HasBeenNotified()) {
      self->StopAcquiring();
    } else {
      self->StandBy();
    }
  });
}

void AsyncWorkers::StopAcquiring() {
  bool again = false;
  {
    MutexLock lock(&mu_);
    again = std::exchange(ends_uncollected_, false) &&
            !core_->abandoning().HasBeenNotified();
    if (!again) {
      stopped_acquiring_ = true;
      EndAcquire();
    }
  }
  if (again) {
    Acquire(nullptr);
  } else {
    EndIfOver();
  }
}

void AsyncWorkers::EndAcquire() {
  if (--acquiring_ == 0) not_acquiring_.SignalAll();
}

void AsyncWorkers::EndIfOver() {
  {
    MutexLock lock(&mu_);
    if (!stopped_acquiring_ || acquiring_ > 0 || ended_ ||
        !in_flight_.empty() || unanswered_ > 0) {
      return;
    }
    ended_ = true;
  }
  core_->OnWorkersEnded();
}

void AsyncWorkers::CancelFlights() {
  size_t left = 0;
  {
    MutexLock lock(&mu_);
    left = in_flight_.size();
  }
  // Each goes from the front to the back. Another call that moves one meanwhile
  // sees what this call is about, and cancels it.
  for (; left > 0; --left) {
    FlightPtr flight;
    {
      MutexLock lock(&mu_);
      if (in_flight_.empty()) return;
      in_flight_.PushBack(in_flight_.PopFront());
      flight = in_flight_.back()->self_;
    }
    if (core_->abandoning().HasBeenNotified() || flight->Lost()) {
      Cancel(flight);
    }
  }
}

void AsyncWorkers::Close() {
  Trampoline::RunDeferred();
  {
    MutexLock lock(&mu_);
    stopped_acquiring_ = true;
    if (acquires_later_) acquiring_ = 0;
    // This thread may be the one that runs the loop.
    while (acquiring_ > 0 && loop_executor_ != nullptr) {
      MutexUnlock unlock(&mu_);
      if (!loop_executor_->RunNext()) {
        Clock::GetRealClock()->Sleep(absl::Milliseconds(1));
      }
    }
    if (acquiring_ > 0 && ((on_driven_loop_ && core_->IsOnDrivenLoop()) ||
                           caller()->RunsHere())) {
      Fatal(absl::StrCat(
          core_->queue_errors().who(),
          " is destroyed on the thread that runs its waiting loop or its "
          "executor, which has tasks; stop it first, and let the loop run"));
    }
    while (acquiring_ > 0) not_acquiring_.Wait(&mu_);
  }
  gate_->gate.Close();
  {
    MutexLock lock(&mu_);
    while (ending_ > 0) none_ending_.Wait(&mu_);
  }
  CancelFlights();
  while (true) {
    FlightPtr flight;
    {
      MutexLock lock(&mu_);
      if (in_flight_.empty()) break;
      flight = std::move(in_flight_.PopFront()->self_);
    }
    // The gate is closed, so this only makes the later completions do nothing.
    flight->Complete(absl::Status(absl::StatusCode::kCancelled, ""));
    core_->GiveBack(flight->leased());
  }
  deadlines_ = nullptr;  // Blocks until no callback of OnCancel() runs.
}

}  // namespace workqueue::internal
